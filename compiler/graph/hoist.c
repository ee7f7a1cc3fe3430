/* hoist.c: products of a loop that no step has to wait for, as one product over all steps.
 *
 *   loop([h0, xs, w, u], .., body=graph(%h, %x, %w, %u) {    ps = linear(xs, w)
 *       p = linear(%x, %w)                                -> loop([h0, ps, u], .., body=graph(..) {
 *       return tanh(p + mm(%h, %u)) })                           return tanh(%p + mm(%h, %u)) })
 *
 *   s = loop([s0, ..], .., body=graph(%s, ..) {              as, bs = loop([..], ..)
 *       return .., %s + mm(t(a), b) }, output=k)[last]    -> s = s0 + mm(t(as), bs)
 *
 * Before the loop goes what depends on slices alone: products with the input in a user's own loop
 * over cells, and in a loop that goes back those of the forward pass, whose carried values are
 * known by then. Behind it go sums that are carried, read by nobody, and wanted at the end only:
 * gradients of weights. In its step, a product of few rows reads all of a weight, or reads and
 * writes all of its gradient.
 *
 * Only what leads to a product goes before a loop, and a sum behind it if what is stacked for it is
 * no more than the loop would have moved. What is large in a step, as logits are, is not stacked.
 * Needs: numbers for sizes. Keeps: every input. */
#include <math.h>
#include <string.h>

#include "graph/decompose.h"
#include "graph/graph_impl.h"
#include "graph/loop.h"
#include "graph/traits.h"

#define NONE UINT32_MAX
#define MOST_STACKED 0x1p28 /* elements of all steps: 1 GiB of f32 */

/* One operand of the new loop. */
struct taken {
    node_id x;                   /* in the new graph */
    int64_t carried, first, way; /* carried: an old output, or -1 */
    node_id is;                  /* node of the old body */
};

/* A carried sum that goes behind the loop. */
struct late {
    uint32_t operand, output;
    node_id product, a, b; /* of the body: mm or sum; its factors, or what is summed and NONE */
    bool turned;           /* the first factor is t(a) */
    node_id result;        /* in the new graph */
};

struct hoisting {
    struct graph *from, *to;
    node_id *map; /* from -> to; NONE */

    /* One loop. */
    const struct node *loop;
    const struct graph *body;
    int64_t steps;
    bool *changes;   /* by node of the body: with the step */
    bool *wide;      /* it does, and can be computed for all steps at once */
    bool *early;     /* goes before the loop, and is used by what stays */
    bool *live;      /* is wanted of a step */
    node_id *all;    /* of all steps, or of what is whole, in the new graph; NONE */
    bool *wanted;    /* by output */
    uint32_t *place; /* by node of the body: the new output that it is; NONE */
    node_id *stack;  /* by new output: its node in the new graph */
    uint32_t n_outputs;
    int64_t way; /* of what goes before, 1 or -1 */
    VEC(struct late) late;
    VEC(struct taken) taken;
};

static const struct node *body_node(const struct hoisting *h, node_id id) {
    return &h->body->nodes.at[id];
}

static struct loop_role role_of(const struct hoisting *h, uint32_t i) {
    return loop_role(h->from, h->loop->args, i);
}

static node_id input_node(const struct hoisting *h, uint32_t i) {
    return h->body->inputs.at[i].node;
}

static uint32_t input_number(const struct hoisting *h, node_id id) {
    uint32_t i = 0;
    while (input_node(h, i) != id) i++;
    return i;
}

static double elements(const struct hoisting *h, node_id id) {
    const struct meta *m = &body_node(h, id)->meta;
    double n = 1;
    for (int k = 0; k < m->rank; k++) n *= (double)ex_value(h->from->ex, m->size[k]);
    return n;
}

/* ---- what goes before ------------------------------------------------------------------------ */

static bool is_product(enum op op) { return op == OP_LINEAR || op == OP_MATMUL || op == OP_MM; }

/* Is one more dimension in front of what changes no more than that to the product? */
static bool product_is_wide(const struct hoisting *h, const struct node *n) {
    node_id x = n->args[0].node, y = n->args[1].node;
    int rank_x = body_node(h, x)->meta.rank, rank_y = body_node(h, y)->meta.rank;
    if (n->op == OP_LINEAR)
        return !h->changes[y] && (n->args[2].kind != ARG_NODE || !h->changes[n->args[2].node]);
    if (h->changes[x] && h->changes[y]) return rank_x == rank_y && rank_x >= 2;
    return h->changes[x] ? rank_y <= 2 : rank_x == 2 && rank_y >= 2;
}

static bool is_wide(const struct hoisting *h, node_id id) {
    const struct node *n = body_node(h, id);
    if (!h->changes[id]) return false;
    if (n->op == OP_INPUT) return role_of(h, input_number(h, id)).is == LOOP_IS_SLICED;
    if (!is_product(n->op) && op_info(n->op)->class != POINTWISE) return false;
    for (int i = 0; i < n->n_args; i++) {
        const node_id *at;
        for (int k = arg_nodes(&n->args[i], &at); k-- > 0;) {
            if (h->changes[at[k]] && !h->wide[at[k]]) return false;
            int rank = body_node(h, at[k])->meta.rank;
            if (is_product(n->op)) continue;
            if (h->changes[at[k]] ? rank != n->meta.rank : rank > n->meta.rank) return false;
        }
    }
    bool fits = elements(h, id) * (double)h->steps <= MOST_STACKED;
    return !is_product(n->op) || (fits && product_is_wide(h, n));
}

static void find_wide(struct hoisting *h) {
    for (uint32_t i = 0; i < h->body->inputs.n; i++)
        h->changes[input_node(h, i)] = role_of(h, i).is != LOOP_IS_WHOLE;
    for (node_id id = 0; id < h->body->nodes.n; id++) {
        const struct node *n = body_node(h, id);
        for (int i = 0; i < n->n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&n->args[i], &at); k-- > 0;) h->changes[id] |= h->changes[at[k]];
        }
        h->wide[id] = is_wide(h, id);
    }
}

/* Wide products that something else than wide products, by way of whatever is wide, uses. */
static void find_early(struct hoisting *h) {
    uint32_t n = h->body->nodes.n;
    bool *leads = NEW_ARRAY(h->to->arena, bool, n);
    for (uint32_t i = 0; i < h->body->outputs.n; i++) h->early[h->body->outputs.at[i]] = true;
    for (node_id id = n; id-- > 0;) {
        bool to_product = h->wide[id] && (is_product(body_node(h, id)->op) || leads[id]);
        h->early[id] &= h->wide[id] && is_product(body_node(h, id)->op);
        for (int i = 0; i < body_node(h, id)->n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&body_node(h, id)->args[i], &at); k-- > 0;)
                *(to_product ? &leads[at[k]] : &h->early[at[k]]) = true;
        }
    }
}

/* The slices that operand i has, one behind the other, as those of steps forwards or backwards. */
static node_id slices_of(struct hoisting *h, uint32_t i, int64_t way) {
    struct build b = {h->to, h->loop->where};
    struct loop_role r = role_of(h, i);
    node_id x = h->map[h->loop->args[LOOP_OPERANDS].nodes.at[i]];
    int64_t each = r.way < 0 ? -r.way : r.way, span = (h->steps - 1) * each;
    int64_t least = r.way < 0 ? r.first - span : r.first;
    ex zero = ex_const(h->to->ex, 0);
    bool whole =
        !least && each == 1 && ex_value(h->to->ex, h->to->nodes.at[x].meta.size[0]) == h->steps;
    if (!whole)
        x = call(&b, OP_SLICE, arg_node(x), arg_int(h->to, 0), arg_int(h->to, least),
                 arg_int(h->to, least + span + 1), arg_int(h->to, each));
    bool along = (r.way > 0) == (way > 0) || h->steps == 1;
    return along ? x : call(&b, OP_FLIP, arg_node(x), arg_ints(h->to, &zero, 1));
}

/* A node of the body that is wide, or does not change, in the new graph. */
static node_id in_all(struct hoisting *h, node_id id) {
    const struct node *n = body_node(h, id);
    if (h->all[id] != NONE) return h->all[id];
    if (n->op == OP_INPUT) {
        uint32_t i = input_number(h, id);
        return h->all[id] = h->changes[id] ? slices_of(h, i, h->way)
                                           : h->map[h->loop->args[LOOP_OPERANDS].nodes.at[i]];
    }
    struct build b = {h->to, n->where};
    struct arg *args = NEW_ARRAY(h->to->arena, struct arg, n->n_args);
    for (int i = 0; i < n->n_args; i++) {
        const node_id *at;
        for (int k = arg_nodes(&n->args[i], &at); k-- > 0;) in_all(h, at[k]);
        args[i] = arg_map(h->to, &n->args[i], h->all);
    }
    enum op op = h->changes[id] && n->op == OP_MM ? OP_MATMUL : n->op;
    return h->all[id] = build_call(&b, op, args, n->n_args);
}

/* Backwards where all slices are: what a loop that goes back stacks is turned round anyway. */
static int64_t way_of_slices(const struct hoisting *h) {
    bool back = false;
    for (uint32_t i = 0; i < h->body->inputs.n; i++) {
        if (role_of(h, i).is != LOOP_IS_SLICED) continue;
        if (role_of(h, i).way > 0) return 1;
        back = true;
    }
    return back ? -1 : 1;
}

/* Is what it is in all steps there without the loop? */
static bool is_given(const struct hoisting *h, node_id id) {
    return h->early[id] || (body_node(h, id)->op == OP_INPUT && h->wide[id]);
}

/* ---- what goes behind ------------------------------------------------------------------------ */

static bool is_last(const struct hoisting *h, const struct node *n) {
    struct exprs *p = h->from->ex;
    return n->op == OP_SELECT && n->args[1].i == ex_const(p, 0) &&
           n->args[2].i == ex_const(p, h->steps - 1);
}

/* Is what output k comes to in the last step all that anybody wants of it? */
static bool wants_last(const struct hoisting *h, uint32_t k) {
    const struct graph *g = h->from;
    bool *is = NEW_ARRAY(h->to->arena, bool, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++) {
        is[id] = loop_same(&g->nodes.at[id], h->loop) && loop_output(g, g->nodes.at[id].args) == k;
        for (int i = 0; i < g->nodes.at[id].n_args; i++) {
            const node_id *at;
            for (int q = arg_nodes(&g->nodes.at[id].args[i], &at); q-- > 0;)
                if (is[at[q]] && !is_last(h, &g->nodes.at[id])) return false;
        }
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        if (is[g->outputs.at[i]]) return false;
    return true;
}

static uint32_t count_uses(const struct hoisting *h, node_id x) {
    uint32_t uses = 0;
    for (node_id id = 0; id < h->body->nodes.n; id++)
        for (int i = 0; i < body_node(h, id)->n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&body_node(h, id)->args[i], &at); k-- > 0;) uses += at[k] == x;
        }
    for (uint32_t i = 0; i < h->body->outputs.n; i++) uses += h->body->outputs.at[i] == x;
    return uses;
}

static bool same_shape(const struct meta *a, const struct meta *b) {
    return a->rank == b->rank && !memcmp(a->size, b->size, a->rank * sizeof(ex));
}

/* What is added to carried operand i in each step; NONE if it is more than that. */
static node_id added(const struct hoisting *h, uint32_t i) {
    node_id sum = input_node(h, i), out = h->body->outputs.at[role_of(h, i).output];
    const struct node *n = body_node(h, out);
    ex one;
    if (n->op != OP_ADD || n->args[0].kind != ARG_NODE || n->args[1].kind != ARG_NODE) return NONE;
    if (n->args[2].kind == ARG_INT)
        one = n->args[2].i;
    else
        return NONE;
    node_id x = n->args[0].node == sum ? n->args[1].node : n->args[0].node;
    bool adds = one == ex_const(h->from->ex, 1) && x != sum &&
                (n->args[0].node == sum || n->args[1].node == sum);
    uint32_t carried = 0;
    for (uint32_t k = 0; k < h->body->inputs.n; k++)
        carried +=
            role_of(h, k).is == LOOP_IS_CARRIED && role_of(h, k).output == role_of(h, i).output;
    adds &= carried == 1 && count_uses(h, sum) == 1 && count_uses(h, out) == 1 &&
            same_shape(&body_node(h, x)->meta, &n->meta);
    return adds && wants_last(h, role_of(h, i).output) ? x : NONE;
}

/* x or what it was cast of. */
static node_id uncast(const struct hoisting *h, node_id x) {
    return body_node(h, x)->op == OP_CONVERT ? body_node(h, x)->args[0].node : x;
}

/* Elements that would have to be stacked for x. */
static double new_elements(const struct hoisting *h, node_id x) {
    if (is_given(h, x)) return 0;
    for (uint32_t i = 0; i < h->body->outputs.n; i++)
        if (h->body->outputs.at[i] == x) return 0;
    for (uint32_t i = 0; i < h->late.n; i++)
        if (h->late.at[i].a == x || h->late.at[i].b == x) return 0;
    return elements(h, x);
}

static void add_late(struct hoisting *h, uint32_t i) {
    if (role_of(h, i).is != LOOP_IS_CARRIED) return;
    node_id x = added(h, i);
    if (x == NONE) return;
    struct late l = {.operand = i, .output = role_of(h, i).output, .product = uncast(h, x)};
    const struct node *n = body_node(h, l.product);
    double most = fmin(2 * elements(h, input_node(h, i)), MOST_STACKED / (double)h->steps), stacked;
    l.a = n->n_args ? n->args[0].node : NONE;
    l.b = NONE;
    if (n->op == OP_SUM && n->args[1].kind == ARG_INTS && n->args[1].ints.n) {
        stacked = new_elements(h, l.a);
    } else if (n->op == OP_MM || (n->op == OP_MATMUL && n->meta.rank == 2)) {
        l.b = n->args[1].node;
        l.turned = body_node(h, l.a)->op == OP_T;
        if (l.turned) l.a = body_node(h, l.a)->args[0].node;
        if (body_node(h, l.a)->meta.rank != 2 || body_node(h, l.b)->meta.rank != 2 ||
            !h->changes[l.b])
            return;
        stacked = new_elements(h, l.a) + new_elements(h, l.b);
    } else {
        return;
    }
    if (h->changes[l.a] && stacked <= most) vec_push(h->to->arena, &h->late, l);
}

/* Products first: what they have stacked, others may sum. */
static void find_late(struct hoisting *h) {
    for (int sums = 0; sums < 2; sums++)
        for (uint32_t i = 0; i < h->body->inputs.n; i++) {
            node_id x = role_of(h, i).is == LOOP_IS_CARRIED ? added(h, i) : NONE;
            if (x != NONE && (body_node(h, uncast(h, x))->op == OP_SUM) == sums) add_late(h, i);
        }
}

static bool goes_late(const struct hoisting *h, uint32_t output) {
    for (uint32_t i = 0; i < h->late.n; i++)
        if (h->late.at[i].output == output) return true;
    return false;
}

/* ---- the new loop ---------------------------------------------------------------------------- */

static void keep(struct hoisting *h, node_id id) {
    if (id != NONE && !is_given(h, id)) h->live[id] = true;
}

static void find_live(struct hoisting *h) {
    const struct graph *g = h->from;
    bool more = true;
    for (node_id id = 0; id < g->nodes.n; id++)
        if (loop_same(&g->nodes.at[id], h->loop))
            h->wanted[loop_output(g, g->nodes.at[id].args)] = true;
    for (uint32_t k = 0; k < h->body->outputs.n; k++) /* unless they are carried */
        h->wanted[k] &= !goes_late(h, k) && !h->early[h->body->outputs.at[k]];
    for (uint32_t i = 0; i < h->late.n; i++) {
        keep(h, h->late.at[i].a);
        keep(h, h->late.at[i].b);
    }
    while (more) {
        more = false;
        for (uint32_t k = 0; k < h->body->outputs.n; k++)
            if (h->wanted[k]) h->live[h->body->outputs.at[k]] = true;
        for (node_id id = h->body->nodes.n; id-- > 0;)
            for (int i = 0; h->live[id] && !h->early[id] && i < body_node(h, id)->n_args; i++) {
                const node_id *at;
                for (int k = arg_nodes(&body_node(h, id)->args[i], &at); k-- > 0;)
                    h->live[at[k]] = true;
            }
        for (uint32_t i = 0; i < h->body->inputs.n; i++) {
            struct loop_role r = role_of(h, i);
            if (r.is != LOOP_IS_CARRIED || !h->live[input_node(h, i)] || h->wanted[r.output])
                continue;
            h->wanted[r.output] = more = true;
        }
    }
}

static void add_output(struct hoisting *h, node_id id) {
    if (h->place[id] == NONE) h->place[id] = h->n_outputs++;
}

static void add_factor(struct hoisting *h, node_id id) {
    if (id != NONE && !is_given(h, id)) add_output(h, id);
}

static void take(struct hoisting *h, node_id is, node_id x, int64_t carried, int64_t first,
                 int64_t way) {
    vec_push(h->to->arena, &h->taken, ((struct taken){x, carried, first, way, is}));
}

static void take_operands(struct hoisting *h) {
    for (uint32_t i = 0; i < h->body->inputs.n; i++) {
        struct loop_role r = role_of(h, i);
        if (h->live[input_node(h, i)])
            take(h, input_node(h, i), h->map[h->loop->args[LOOP_OPERANDS].nodes.at[i]],
                 r.is == LOOP_IS_CARRIED ? (int64_t)r.output : -1, r.first, r.way);
    }
    for (node_id id = 0; id < h->body->nodes.n; id++)
        if (h->live[id] && h->early[id])
            take(h, id, in_all(h, id), -1, h->way > 0 ? 0 : h->steps - 1, h->way);
}

static struct graph *make_body(struct hoisting *h) {
    struct graph *to = graph_like(h->body);
    node_id *map = NEW_ARRAY(to->arena, node_id, h->body->nodes.n),
            *outputs = NEW_ARRAY(to->arena, node_id, h->n_outputs);
    for (node_id id = 0; id < h->body->nodes.n; id++) map[id] = NONE;
    for (uint32_t i = 0; i < h->taken.n; i++) {
        const struct node *n = body_node(h, h->taken.at[i].is);
        struct meta m = n->meta;
        if (n->op != OP_INPUT) meta_contiguous(to->ex, &m);
        map[h->taken.at[i].is] = graph_input(to, n->name, INPUT_ARG, NULL, &m, to->inputs.n);
    }
    for (node_id id = 0; id < h->body->nodes.n; id++) {
        if (h->live[id] && map[id] == NONE) map[id] = graph_copy(to, h->body, id, map);
        if (h->place[id] != NONE) outputs[h->place[id]] = map[id];
    }
    for (uint32_t k = 0; k < h->n_outputs; k++) vec_push(to->arena, &to->outputs, outputs[k]);
    graph_own_origins(to);
    return to;
}

static void make_loop(struct hoisting *h) {
    struct graph *g = h->to;
    struct build b = {g, h->loop->where};
    uint32_t n = h->taken.n;
    struct arg args[LOOP_ARGUMENTS];
    node_id *x = NEW_ARRAY(g->arena, node_id, n);
    ex *role = NEW_ARRAY(g->arena, ex, n * LOOP_STEPS);
    for (uint32_t i = 0; i < n; i++) {
        const struct taken *t = &h->taken.at[i];
        int64_t from = t->carried < 0 ? -1 : (int64_t)h->place[h->body->outputs.at[t->carried]];
        x[i] = t->x;
        role[i] = ex_const(g->ex, from);
        role[n + i] = ex_const(g->ex, t->first);
        role[2 * n + i] = ex_const(g->ex, t->way);
    }
    args[LOOP_OPERANDS] = nodes_arg(x, n);
    for (uint32_t k = 0; k < 3; k++) args[LOOP_CARRIED + k] = arg_ints(g, role + k * n, n);
    args[LOOP_STEPS] = arg_int(g, h->steps);
    args[LOOP_BODY] = (struct arg){.kind = ARG_GRAPH, .graph = make_body(h)};
    h->stack = NEW_ARRAY(g->arena, node_id, h->n_outputs);
    for (uint32_t k = 0; k < h->n_outputs; k++) {
        args[LOOP_OUTPUT] = arg_int(g, k);
        h->stack[k] = build_call(&b, OP_LOOP, args, LOOP_ARGUMENTS);
    }
}

/* ---- behind it ------------------------------------------------------------------------------- */

/* What goes before in the order of steps, or the other way round. */
static node_id turned(struct hoisting *h, node_id x) {
    struct build b = {h->to, h->loop->where};
    ex zero = ex_const(h->to->ex, 0);
    return h->way > 0 ? x : call(&b, OP_FLIP, arg_node(x), arg_ints(h->to, &zero, 1));
}

static node_id stack_of(struct hoisting *h, node_id id) {
    if (is_given(h, id)) return in_all(h, id);
    return turned(h, h->stack[h->place[id]]);
}

/* [steps, rows, columns] as [steps * rows, columns]; across: [steps, columns, rows]. */
static node_id rows_of(struct hoisting *h, struct build *b, node_id id, bool across) {
    node_id x = stack_of(h, id);
    if (across) x = move_dim(b, x, 2, 1);
    return as_matrix(b, x);
}

static void finish(struct hoisting *h, struct late *l) {
    const struct node *n = body_node(h, l->product);
    struct build b = {h->to, n->where};
    node_id x, operand = h->map[h->loop->args[LOOP_OPERANDS].nodes.at[l->operand]];
    if (n->op == OP_SUM) {
        uint32_t dims = n->args[1].ints.n + 1;
        ex *dim = NEW_ARRAY(h->to->arena, ex, dims);
        dim[0] = ex_const(h->to->ex, 0);
        for (uint32_t k = 1; k < dims; k++)
            dim[k] = ex_const(h->to->ex, 1 + ex_value(h->to->ex, n->args[1].ints.at[k - 1]));
        x = call(&b, OP_SUM, arg_node(stack_of(h, l->a)), arg_ints(h->to, dim, dims), n->args[2],
                 n->args[3]);
        x = reshape(&b, x, &n->meta);
    } else {
        node_id y = rows_of(h, &b, l->b, false);
        x = call(&b, OP_T, arg_node(rows_of(h, &b, l->a, !l->turned)));
        x = call(&b, OP_MM, arg_node(x), arg_node(y));
    }
    l->result = binary(&b, OP_ADD, operand, cast(&b, x, h->to->nodes.at[operand].meta.dtype));
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* The loop of node `id`, taken apart; false if it stays. */
static bool open_loop(struct hoisting *h, node_id id) {
    struct arena *a = h->to->arena;
    h->loop = &h->from->nodes.at[id];
    h->body = h->loop->args[LOOP_BODY].graph;
    h->steps = loop_steps(h->from, h->loop->args);
    uint32_t n = h->body->nodes.n;
    h->changes = NEW_ARRAY(a, bool, n);
    h->wide = NEW_ARRAY(a, bool, n);
    h->early = NEW_ARRAY(a, bool, n);
    h->live = NEW_ARRAY(a, bool, n);
    h->all = NEW_ARRAY(a, node_id, n);
    h->place = NEW_ARRAY(a, uint32_t, n);
    h->wanted = NEW_ARRAY(a, bool, h->body->outputs.n);
    h->n_outputs = h->late.n = h->taken.n = 0;
    for (node_id k = 0; k < n; k++) h->all[k] = h->place[k] = NONE;
    find_wide(h);
    find_early(h);
    h->way = way_of_slices(h);
    find_late(h);
    bool any = h->late.n;
    for (node_id k = 0; k < n; k++) any |= h->early[k];
    return any;
}

static void hoist(struct hoisting *h, node_id id) {
    const struct graph *g = h->from;
    find_live(h);
    for (uint32_t k = 0; k < h->body->outputs.n; k++)
        if (h->wanted[k]) add_output(h, h->body->outputs.at[k]);
    for (uint32_t i = 0; i < h->late.n; i++) {
        add_factor(h, h->late.at[i].a);
        add_factor(h, h->late.at[i].b);
    }
    take_operands(h);
    if (h->n_outputs) make_loop(h);
    for (uint32_t i = 0; i < h->late.n; i++) finish(h, &h->late.at[i]);
    for (node_id k = id; k < g->nodes.n; k++) {
        const struct node *n = &g->nodes.at[k];
        if (loop_same(n, h->loop)) {
            uint32_t out = loop_output(g, n->args);
            node_id made = h->body->outputs.at[out];
            if (h->early[made])
                h->map[k] = turned(h, in_all(h, made));
            else if (h->wanted[out])
                h->map[k] = h->stack[h->place[made]];
        } else if (is_last(h, n) && loop_same(&g->nodes.at[n->args[0].node], h->loop)) {
            uint32_t out = loop_output(g, g->nodes.at[n->args[0].node].args);
            for (uint32_t i = 0; i < h->late.n; i++)
                if (h->late.at[i].output == out) h->map[k] = h->late.at[i].result;
        }
    }
}

struct graph *graph_hoist(struct graph *g) {
    struct hoisting h = {.from = g, .to = graph_like(g)};
    bool any = false, *seen = NEW_ARRAY(g->arena, bool, g->nodes.n);
    h.map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++) h.map[id] = NONE;
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *n = &g->nodes.at[id];
        if (n->op == OP_LOOP && !seen[id]) {
            for (node_id k = id; k < g->nodes.n; k++) seen[k] |= loop_same(n, &g->nodes.at[k]);
            if (open_loop(&h, id)) {
                hoist(&h, id);
                any = true;
            }
        }
        if (h.map[id] == NONE) h.map[id] = graph_copy(h.to, g, id, h.map);
    }
    if (!any) return g;
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &h.to->outputs, h.map[g->outputs.at[i]]);
    struct graph *hoisted = graph_drop_unused(h.to);
    graph_own_origins(hoisted);
    return hoisted;
}
