/* rotate.c: loops whose steps end with products that the next step wants, begun with them.
 *
 *   loop([%0, ..], body=graph(%sum, ..) {         loop([%0, %0, ..], body=graph(%f, %g, ..) {
 *     .. = add(%grad, %sum)                         %p = mm(%f, slice(%w, 0, 0, 32))
 *     %f = ..                                       %q = mm(%g, slice(%w, 0, 32, 64))
 *     %g = ..                                  ->   %sum = add(%p, %q)
 *     %d = pad(%f, [0, 32]) + pad(%g, [32, 0])      .. = add(%grad, %sum)
 *     %m = mm(%d, %w)                               %f = ..
 *     return %m, %d })                              return %f', %g' })
 *                                                 %ds = cat([%fs, %gs])
 *
 * So are the gradients of recurrent layers: a step is pointwise work on what is carried, and ends
 * with a product of that. Begun with the product, it is as a step forward is: one that stands on
 * products of what the step before has left, which one kernel may do for all steps
 * (schedule/persistent.c). What is carried is what the products read, then, not what they come to:
 * both have to begin as zeros, which products and sums keep.
 *
 * A factor that is put together of pieces, as the gradients of gates are, has a product for each of
 * them, with rows of the weight of its own: then all that a step leaves has one shape. The whole,
 * of all steps, is put together behind the loop. */
#include "graph/decompose.h"
#include "graph/graph_impl.h"
#include "graph/loop.h"

enum { MOST_PIECES = 8 };

struct piece {
    node_id node;
    int64_t begin, size; /* along the last dimension */
};

/* A value that the end of a step reads, and the next one begins with, or that a step leaves: whole,
 * which is one piece, or in several. */
struct bridge {
    node_id node;
    bool ends; /* the next step begins with it */
    int n;
    struct piece at[MOST_PIECES];
    uint32_t input[MOST_PIECES], output[MOST_PIECES]; /* of the new body */
};

struct rotation {
    const struct graph *g; /* that the loop is in */
    const struct node *n;
    const struct graph *body;
    bool *varies; /* by node of the body: from step to step */
    bool *ends;   /* it is, or stands on, a product of the step */
    bool *zero;   /* of these and of bridges: zeros, if all that they read of bridges are */
    struct bridge *bridges;
    uint32_t n_bridges;
    struct graph *to;     /* the new body */
    VEC(node_id) outputs; /* of that, nodes of the old one */
    VEC(struct loop_role) roles;
    VEC(node_id) operands; /* of g, or NO_NODE: zeros, of: */
    VEC(node_id) like;     /* a node of the body */
};

static const struct node *node_at(const struct rotation *r, node_id n) {
    return &r->body->nodes.at[n];
}

static enum op_class class_of(const struct rotation *r, node_id n) {
    return op_info(node_at(r, n)->op)->class;
}

/* ---- what a step ends with ------------------------------------------------------------------- */

static bool is_zero(const struct graph *g, node_id n) {
    const struct node *x = &g->nodes.at[n];
    if (x->op == OP_FULL) return arg_number(g, &x->args[1]) == 0;
    bool shows = op_info(x->op)->class == VIEW || x->op == OP_CAST;
    return shows && is_zero(g, x->args[0].node);
}

/* Does anybody read output k of more steps than of the last one? */
static bool is_read(const struct rotation *r, uint32_t k) {
    bool *of = NEW_ARRAY(r->g->arena, bool, r->g->nodes.n), any = false;
    for (node_id id = 0; id < r->g->nodes.n; id++) {
        const struct node *n = &r->g->nodes.at[id];
        of[id] = loop_same(r->n, n) && loop_output(r->g, n->args) == k;
        for (int i = 0; i < n->n_args; i++) {
            const node_id *at;
            for (int q = arg_nodes(&n->args[i], &at); q-- > 0;)
                any |= of[at[q]] && !loop_shows_last(r->g, id);
        }
    }
    for (uint32_t i = 0; i < r->g->outputs.n; i++) any |= of[r->g->outputs.at[i]];
    return any;
}

static bool is_carried(const struct rotation *r, uint32_t k) {
    for (uint32_t i = 0; i < r->body->inputs.n; i++) {
        struct loop_role role = loop_role(r->g, r->n->args, i);
        if (role.is == LOOP_IS_CARRIED && role.output == k) return true;
    }
    return false;
}

/* Is output k for the next step alone, and zeros for the first one? */
static bool is_for_next(const struct rotation *r, uint32_t k) {
    bool zeros = true;
    for (uint32_t i = 0; i < r->body->inputs.n; i++) {
        struct loop_role role = loop_role(r->g, r->n->args, i);
        if (role.is == LOOP_IS_CARRIED && role.output == k)
            zeros &= is_zero(r->g, r->n->args[LOOP_OPERANDS].nodes.at[i]);
    }
    return zeros && is_carried(r, k) && !is_read(r, k);
}

/* Products of which all that a step makes is for the next one, and what it makes of them. */
static void find_ends(struct rotation *r) {
    bool *stays = NEW_ARRAY(r->g->arena, bool, r->body->nodes.n); /* something is for others */
    for (uint32_t k = 0; k < r->body->outputs.n; k++)
        stays[r->body->outputs.at[k]] |= !is_for_next(r, k);
    for (node_id id = r->body->nodes.n; id-- > 0;)
        for (int k = 0; stays[id] && k < node_at(r, id)->n_args; k++) {
            const node_id *at;
            for (int q = arg_nodes(&node_at(r, id)->args[k], &at); q-- > 0;) stays[at[q]] = true;
        }
    for (uint32_t i = 0; i < r->body->inputs.n; i++)
        r->varies[r->body->inputs.at[i].node] = loop_role(r->g, r->n->args, i).is != LOOP_IS_WHOLE;
    for (node_id id = 0; id < r->body->nodes.n; id++) {
        r->ends[id] = class_of(r, id) == MATMUL && !stays[id];
        for (int k = 0; k < node_at(r, id)->n_args; k++) {
            const node_id *at;
            for (int q = arg_nodes(&node_at(r, id)->args[k], &at); q-- > 0;) {
                r->varies[id] |= r->varies[at[q]];
                r->ends[id] |= r->ends[at[q]];
            }
        }
    }
}

static int bridge_of(const struct rotation *r, node_id n) {
    for (uint32_t i = 0; i < r->n_bridges; i++)
        if (r->bridges[i].node == n) return (int)i;
    return -1;
}

/* What the ends read that varies, and is none itself; and whatever else a step leaves. */
static void find_bridges(struct rotation *r) {
    r->bridges = NEW_ARRAY(r->g->arena, struct bridge, r->body->nodes.n);
    for (node_id id = 0; id < r->body->nodes.n; id++)
        for (int k = 0; r->ends[id] && k < node_at(r, id)->n_args; k++) {
            const node_id *at;
            int n = arg_nodes(&node_at(r, id)->args[k], &at);
            for (int q = 0; q < n; q++)
                if (r->varies[at[q]] && !r->ends[at[q]] && bridge_of(r, at[q]) < 0)
                    r->bridges[r->n_bridges++] = (struct bridge){.node = at[q], .ends = true};
        }
    for (uint32_t i = 0; i < r->n_bridges; i++) r->zero[r->bridges[i].node] = true;
    for (uint32_t k = 0; k < r->body->outputs.n; k++) {
        node_id id = r->body->outputs.at[k];
        if (!r->ends[id] && bridge_of(r, id) < 0)
            r->bridges[r->n_bridges++] = (struct bridge){.node = id};
    }
}

/* Operators that make zeros of zeros. */
static bool keeps_zeros(const struct rotation *r, node_id id) {
    const struct node *n = node_at(r, id);
    bool first = n->n_args > 0 && n->args[0].kind == ARG_NODE && r->zero[n->args[0].node],
         second = n->n_args > 1 && n->args[1].kind == ARG_NODE && r->zero[n->args[1].node];
    if (class_of(r, id) == VIEW || n->op == OP_CAST) return first;
    if (n->op == OP_ADD || n->op == OP_SUB) return first && second;
    if (n->op == OP_MUL || n->op == OP_MM || n->op == OP_BMM) return first || second;
    return false;
}

/* Are the ends zeros of zeros? */
static bool may_rotate(struct rotation *r) {
    bool any = false;
    for (node_id id = 0; id < r->body->nodes.n; id++) {
        if (!r->ends[id]) continue;
        if (!r->varies[id] || !(r->zero[id] = keeps_zeros(r, id))) return false;
        any = true;
    }
    return any;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* A sum of pieces with zeros around them along the last dimension. */
static bool find_pieces(const struct rotation *r, node_id id, struct bridge *b) {
    const struct node *n = node_at(r, id);
    struct exprs *p = r->body->ex;
    if (n->op == OP_ADD) {
        for (int k = 0; k < 2; k++)
            if (n->args[k].kind != ARG_NODE || !find_pieces(r, n->args[k].node, b)) return false;
        return n->n_args < 3 || arg_number(r->body, &n->args[2]) == 1;
    }
    if (n->op != OP_CONSTANT_PAD || b->n == MOST_PIECES || arg_number(r->body, &n->args[2]) != 0)
        return false;
    const struct meta *m = &node_at(r, n->args[0].node)->meta;
    int64_t begin = ex_value(p, n->args[1].ints.at[0]);
    for (uint32_t i = 0; i < n->args[1].ints.n; i++) {
        int64_t pad = ex_value(p, n->args[1].ints.at[i]);
        if (pad < 0 || (i > 1 && pad)) return false;
    }
    b->at[b->n++] = (struct piece){n->args[0].node, begin, ex_value(p, m->size[m->rank - 1])};
    return true;
}

/* In their order, side by side. */
static bool sort_pieces(struct bridge *b, int64_t size) {
    int64_t end = 0;
    for (int i = 1; i < b->n; i++)
        for (int k = i; k > 0 && b->at[k].begin < b->at[k - 1].begin; k--) {
            struct piece x = b->at[k];
            b->at[k] = b->at[k - 1];
            b->at[k - 1] = x;
        }
    for (int i = 0; i < b->n; i++) {
        if (b->at[i].begin != end) return false;
        end += b->at[i].size;
    }
    return end == size;
}

/* Is it read as the depth of products by what no step changes alone? */
static bool is_left_factor(const struct rotation *r, node_id id) {
    for (node_id n = 0; n < r->body->nodes.n; n++)
        for (int k = 0; r->ends[n] && k < node_at(r, n)->n_args; k++) {
            const node_id *at;
            for (int q = arg_nodes(&node_at(r, n)->args[k], &at); q-- > 0;) {
                if (at[q] != id) continue;
                if (class_of(r, n) != MATMUL || k != 0) return false;
                if (r->varies[node_at(r, n)->args[1].node]) return false;
            }
        }
    return true;
}

static void choose_pieces(struct rotation *r) {
    for (uint32_t i = 0; i < r->n_bridges; i++) {
        struct bridge *b = &r->bridges[i];
        const struct meta *m = &node_at(r, b->node)->meta;
        bool carried = false;
        for (uint32_t k = 0; k < r->body->outputs.n; k++)
            carried |= r->body->outputs.at[k] == b->node && is_carried(r, k);
        if (!carried && is_left_factor(r, b->node) && find_pieces(r, b->node, b) &&
            sort_pieces(b, ex_value(r->body->ex, m->size[m->rank - 1])))
            continue;
        b->n = 1;
        b->at[0] = (struct piece){.node = b->node};
    }
}

/* The new number of what a step leaves. */
static uint32_t output_number(struct rotation *r, node_id n) {
    for (uint32_t k = 0; k < r->outputs.n; k++)
        if (r->outputs.at[k] == n) return k;
    vec_push(r->g->arena, &r->outputs, n);
    return r->outputs.n - 1;
}

static void number_outputs(struct rotation *r) {
    for (uint32_t i = 0; i < r->n_bridges; i++) {
        struct bridge *b = &r->bridges[i];
        for (int k = 0; k < b->n; k++) b->output[k] = output_number(r, b->at[k].node);
    }
}

/* ---- the body -------------------------------------------------------------------------------- */

static node_id add_input(struct rotation *r, node_id like, struct loop_role role, node_id operand) {
    struct graph *to = r->to;
    struct meta m = node_at(r, like)->meta;
    bool input = node_at(r, like)->op == OP_INPUT;
    if (!input) meta_contiguous(to->ex, &m);
    vec_push(to->arena, &r->roles, role);
    vec_push(to->arena, &r->operands, operand);
    vec_push(to->arena, &r->like, like);
    return graph_input(to, node_at(r, like)->name, INPUT_ARG, NULL, &m, to->inputs.n);
}

/* Old ones but for what the ends came to, then what they read. */
static void add_inputs(struct rotation *r, node_id *map) {
    for (uint32_t i = 0; i < r->body->inputs.n; i++) {
        struct loop_role role = loop_role(r->g, r->n->args, i);
        node_id id = r->body->inputs.at[i].node, operand = r->n->args[LOOP_OPERANDS].nodes.at[i];
        bool gone = role.is == LOOP_IS_CARRIED && r->ends[r->body->outputs.at[role.output]];
        if (role.is == LOOP_IS_CARRIED && !gone)
            role.output = output_number(r, r->body->outputs.at[role.output]);
        if (!gone) map[id] = add_input(r, id, role, operand);
    }
    for (uint32_t i = 0; i < r->n_bridges; i++) {
        struct bridge *b = &r->bridges[i];
        for (int k = 0; k < b->n && b->ends; k++) {
            struct loop_role role = {.is = LOOP_IS_CARRIED, .output = b->output[k]};
            b->input[k] = r->to->inputs.n;
            add_input(r, b->at[k].node, role, NO_NODE);
        }
    }
}

/* Sum of the products of pieces by their rows of the other factor. */
static node_id product_of_pieces(const struct rotation *r, struct build *b, node_id id,
                                 const struct bridge *x, const node_id *left,
                                 const node_id *value) {
    node_id right = value[node_at(r, id)->args[1].node], sum = NO_NODE;
    int dim = meta_of(b, right)->rank - 2;
    for (int k = 0; k < x->n; k++) {
        ex begin = ex_const(b->g->ex, x->at[k].begin),
           end = ex_const(b->g->ex, x->at[k].begin + x->at[k].size);
        node_id product = call(b, node_at(r, id)->op, arg_node(left[k]),
                               arg_node(cut(b, right, dim, begin, end)));
        sum = sum == NO_NODE ? product : binary(b, OP_ADD, sum, product);
    }
    return sum;
}

typedef node_id piece_values[MOST_PIECES];

/* What a step ends with, in graph b->g: `left` has the pieces of bridges there, value[] what does
 * not vary, of which inputs are there, and then the ends. */
static void make_ends(const struct rotation *r, struct build *b, piece_values *left,
                      node_id *value) {
    for (node_id id = 0; id < r->body->nodes.n; id++) {
        const struct node *n = node_at(r, id);
        int bridge = bridge_of(r, id);
        int factor = class_of(r, id) == MATMUL ? bridge_of(r, n->args[0].node) : -1;
        if (bridge >= 0 && r->bridges[bridge].ends)
            value[id] = left[bridge][0];
        else if (r->ends[id] && factor >= 0 && r->bridges[factor].n > 1)
            value[id] = product_of_pieces(r, b, id, &r->bridges[factor], left[factor], value);
        else if (r->ends[id] || (!r->varies[id] && n->op != OP_INPUT))
            value[id] = graph_copy(b->g, r->body, id, value);
    }
}

/* What the step before would have ended with, of what it has left. */
static void add_ends(struct rotation *r, node_id *map) {
    struct build b = {r->to, r->n->where};
    node_id *value = NEW_ARRAY(r->to->arena, node_id, r->body->nodes.n);
    piece_values *left = NEW_ARRAY(r->to->arena, piece_values, r->n_bridges);
    memcpy(value, map, sizeof *value * r->body->nodes.n);
    for (uint32_t i = 0; i < r->n_bridges; i++)
        for (int k = 0; k < r->bridges[i].n && r->bridges[i].ends; k++)
            left[i][k] = r->to->inputs.at[r->bridges[i].input[k]].node;
    make_ends(r, &b, left, value);
    for (node_id id = 0; id < r->body->nodes.n; id++)
        if (!r->varies[id]) map[id] = value[id];
    for (uint32_t i = 0; i < r->body->inputs.n; i++) {
        struct loop_role role = loop_role(r->g, r->n->args, i);
        node_id end = role.is == LOOP_IS_CARRIED ? r->body->outputs.at[role.output] : 0;
        if (role.is == LOOP_IS_CARRIED && r->ends[end])
            map[r->body->inputs.at[i].node] = value[end];
    }
}

static void make_body(struct rotation *r) {
    node_id *map = NEW_ARRAY(r->g->arena, node_id, r->body->nodes.n);
    number_outputs(r);
    add_inputs(r, map);
    add_ends(r, map);
    for (node_id id = 0; id < r->body->nodes.n; id++)
        if (r->varies[id] && !r->ends[id] && node_at(r, id)->op != OP_INPUT)
            map[id] = graph_copy(r->to, r->body, id, map);
    for (uint32_t k = 0; k < r->outputs.n; k++)
        vec_push(r->to->arena, &r->to->outputs, map[r->outputs.at[k]]);
}

/* NULL: it does not end so. */
static struct rotation *rotate(const struct graph *g, const struct node *n) {
    struct rotation *r = NEW(g->arena, struct rotation);
    *r = (struct rotation){.g = g, .n = n, .body = n->args[LOOP_BODY].graph};
    uint32_t size = r->body->nodes.n;
    r->varies = NEW_ARRAY(g->arena, bool, size);
    r->ends = NEW_ARRAY(g->arena, bool, size);
    r->zero = NEW_ARRAY(g->arena, bool, size);
    find_ends(r);
    find_bridges(r);
    if (!may_rotate(r)) return NULL;
    choose_pieces(r);
    r->to = graph_like(r->body);
    make_body(r);
    return r;
}

/* ---- around the loop ------------------------------------------------------------------------- */

static node_id loop_of_output(struct build *b, const struct rotation *r, const node_id *operands,
                              uint32_t output) {
    struct graph *g = b->g;
    uint32_t n = r->roles.n;
    struct arg args[LOOP_ARGUMENTS];
    ex *role[LOOP_STEPS];
    for (int k = LOOP_CARRIED; k <= LOOP_WAY; k++) role[k] = NEW_ARRAY(g->arena, ex, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct loop_role *x = &r->roles.at[i];
        role[LOOP_CARRIED][i] = ex_const(g->ex, x->is == LOOP_IS_CARRIED ? (int64_t)x->output : -1);
        role[LOOP_FIRST][i] = ex_const(g->ex, x->first);
        role[LOOP_WAY][i] = ex_const(g->ex, x->way);
    }
    args[LOOP_OPERANDS] = (struct arg){.kind = ARG_NODES};
    args[LOOP_OPERANDS].nodes.at = (node_id *)operands;
    args[LOOP_OPERANDS].nodes.n = n;
    for (int k = LOOP_CARRIED; k <= LOOP_WAY; k++) args[k] = arg_ints(g, role[k], n);
    args[LOOP_STEPS] = r->n->args[LOOP_STEPS];
    args[LOOP_BODY] = (struct arg){.kind = ARG_GRAPH, .graph = r->to};
    args[LOOP_OUTPUT] = arg_int(g, output);
    return build_call(b, OP_LOOP, args, LOOP_ARGUMENTS);
}

/* What stood for output k of all steps. */
static node_id output_of(struct build *b, const struct rotation *r, const node_id *operands,
                         uint32_t k) {
    const struct bridge *x = &r->bridges[bridge_of(r, r->body->outputs.at[k])];
    node_id pieces[MOST_PIECES];
    for (int i = 0; i < x->n; i++) pieces[i] = loop_of_output(b, r, operands, x->output[i]);
    if (x->n == 1) return pieces[0];
    return concat_many(b, pieces, (uint32_t)x->n, meta_of(b, pieces[0])->rank - 1);
}

/* What the last step ends with. */
static node_id last_end(struct build *b, const struct rotation *r, const node_id *operands,
                        const node_id *map, uint32_t k) {
    struct graph *g = b->g;
    int64_t steps = loop_steps(r->g, r->n->args);
    node_id *value = NEW_ARRAY(g->arena, node_id, r->body->nodes.n);
    piece_values *left = NEW_ARRAY(g->arena, piece_values, r->n_bridges);
    for (uint32_t i = 0; i < r->n_bridges; i++)
        for (int q = 0; q < r->bridges[i].n && r->bridges[i].ends; q++) {
            node_id all = loop_of_output(b, r, operands, r->bridges[i].output[q]);
            node_id last = cut(b, all, 0, ex_const(g->ex, steps - 1), ex_const(g->ex, steps));
            left[i][q] = call(b, OP_SQUEEZE, arg_node(last), arg_int(g, 0));
        }
    for (uint32_t i = 0; i < r->body->inputs.n; i++)
        if (loop_role(r->g, r->n->args, i).is == LOOP_IS_WHOLE)
            value[r->body->inputs.at[i].node] = map[r->n->args[LOOP_OPERANDS].nodes.at[i]];
    make_ends(r, b, left, value);
    return call(b, OP_UNSQUEEZE, arg_node(value[r->body->outputs.at[k]]), arg_int(g, 0));
}

static node_id *operands_of(struct build *b, const struct rotation *r, const node_id *map) {
    node_id *operands = NEW_ARRAY(b->g->arena, node_id, r->operands.n);
    for (uint32_t i = 0; i < r->operands.n; i++) {
        struct meta m = node_at(r, r->like.at[i])->meta;
        meta_contiguous(b->g->ex, &m);
        operands[i] = r->operands.at[i] == NO_NODE ? full(b, &m, 0) : map[r->operands.at[i]];
    }
    return operands;
}

/* By node of g that is the first of a loop: it, rotated, and its operands. */
struct rotated {
    struct rotation *r;
    node_id *operands;
};

static node_id first_of(const struct graph *g, node_id loop) {
    node_id first = 0;
    while (!loop_same(&g->nodes.at[first], &g->nodes.at[loop])) first++;
    return first;
}

static bool is_end(const struct rotation *r, uint32_t k) { return r->ends[r->body->outputs.at[k]]; }

static node_id rebuilt(struct build *b, const struct graph *g, node_id id,
                       const struct rotated *made, const node_id *map) {
    const struct node *x = &g->nodes.at[id];
    bool last = loop_shows_last(g, id);
    node_id loop = x->op == OP_LOOP ? id : last ? x->args[0].node : NO_NODE;
    const struct rotated *of = loop == NO_NODE ? NULL : &made[first_of(g, loop)];
    if (!of || !of->r) return graph_copy(b->g, g, id, map);
    uint32_t k = loop_output(g, g->nodes.at[loop].args);
    if (is_end(of->r, k)) return last ? last_end(b, of->r, of->operands, map, k) : NO_NODE;
    return last ? graph_copy(b->g, g, id, map) : output_of(b, of->r, of->operands, k);
}

struct graph *graph_rotate(struct graph *g, int *n) {
    struct graph *to = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    struct rotated *made = NEW_ARRAY(g->arena, struct rotated, g->nodes.n);
    *n = 0;
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *x = &g->nodes.at[id];
        struct build b = {to, x->where};
        if (x->op == OP_LOOP && first_of(g, id) == id && (made[id].r = rotate(g, x))) {
            made[id].operands = operands_of(&b, made[id].r, map);
            ++*n;
        }
        map[id] = rebuilt(&b, g, id, made, map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &to->outputs, map[g->outputs.at[i]]);
    return *n ? to : g;
}
