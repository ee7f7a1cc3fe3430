/* wavefront.c: loops of equal steps as one loop, whose step is a step of each.
 *
 * Stacked: each reads what the one before stacks. A step of a layer needs the same step of the
 * layer before, and its own step before, so that steps along a diagonal go together: a wavefront,
 * or a software pipeline of loops.
 *
 *   a = loop([h0, linear(x, w0), u0], steps=T, ..)     hs = loop([stack(h0, h1), cat(linear(x, w0),
 *   b = loop([h1, linear(a, w1), u1], steps=T, ..)  ->        zeros), stack(u0, u1), w1, ..],
 *                                                            steps=T + 1, body=graph(..) { .. })
 *                                                      a = hs[:T, 0];  b = hs[1:, 1]
 *
 * Step s of the loop is step s - l of layer l (a lane). All layers' carried values lie beside each
 * other; what layer l > 0 reads is made, in the loop, of what layer l - 1 carries: of its step
 * before. Layers that have not begun or have ended keep what they carry, by a table of which are
 * at work in which step. Their product with that value and their own one with it become one
 * (lanes.c).
 *
 * Beside each other: none needs another, as the two directions of a layer. Each lane's slices stay
 * as they are, and are put together in the step.
 *
 * A step's kernels are small: a GPU is idle but for a few multiprocessors, and of one loop after
 * the other each launch is waited for. Large steps stay.
 *
 * Needs: a captured, simplified graph. Keeps: every input; values, each lane's to the operation. */
#include <string.h>

#include "graph/lanes.h"
#include "graph/loop.h"
#include "graph/traits.h"

#define NONE UINT32_MAX
#define MOST_WORK 0x1p28 /* elements that a step of a loop multiplies and makes: some us */
enum { LEAST_STEPS = 8, MOST_LANES = 16 };

/* One of the loops. */
struct lane {
    const struct node *loop;
    int64_t steps; /* stacked: at most those of the one before */
    /* What it makes of what the lane before stacks, of a row of it: output i is sliced operand i's;
     * input i is leaf i: an output of that loop, or what is the same in each step. */
    struct graph *rows;
    VEC(node_id) leaves;
};

enum how { AS_IT_IS, OF_LANES, OF_FIRST, AT_WORK, ZEROS, ROWS_OF };

/* An operand of the new loop. */
struct taken {
    enum how how;
    node_id of[MOST_LANES];      /* nodes of the old graph */
    int64_t carried, first, way; /* as a loop says it */
    const struct taken *rows;    /* what has the rows */
    uint32_t n_rows;
};

struct wavefront {
    struct graph *from;
    node_id id[MOST_LANES]; /* their first nodes */
    struct lane lane[MOST_LANES];
    uint32_t n;
    bool skewed;
    bool *behind; /* by node: depends on one of the loops */
    const struct graph *body;
    int64_t steps; /* of the first */

    struct graph *inner; /* the new body */
    VEC(struct taken) taken;
};

static struct loop_role role_of(const struct wavefront *w, uint32_t lane, uint32_t i) {
    return loop_role(w->from, w->lane[lane].loop->args, i);
}

static node_id operand_of(const struct wavefront *w, uint32_t lane, uint32_t i) {
    return w->lane[lane].loop->args[LOOP_OPERANDS].nodes.at[i];
}

static int64_t skew(const struct wavefront *w, uint32_t lane) { return w->skewed ? lane : 0; }

static int64_t all_steps(const struct wavefront *w) { return w->steps + skew(w, w->n - 1); }

static void mark_behind(const struct graph *g, bool *behind) {
    for (node_id id = 0; id < g->nodes.n; id++)
        for (int i = 0; i < g->nodes.at[id].n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&g->nodes.at[id].args[i], &at); k-- > 0;)
                behind[id] |= behind[at[k]];
        }
}

/* Every node of lane `lane`'s loop, and what depends on it. */
static void mark_lane(struct wavefront *w, uint32_t lane) {
    for (node_id id = 0; id < w->from->nodes.n; id++)
        w->behind[id] |= loop_same(&w->from->nodes.at[id], w->lane[lane].loop);
    mark_behind(w->from, w->behind);
}

/* ---- are they equal? ------------------------------------------------------------------------- */

static bool same_arg(const struct arg *a, const struct arg *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case ARG_NONE: return true;
    case ARG_NODE: return a->node == b->node;
    case ARG_NODES:
        return a->nodes.n == b->nodes.n &&
               !memcmp(a->nodes.at, b->nodes.at, a->nodes.n * sizeof(node_id));
    case ARG_INT: return a->i == b->i;
    case ARG_INTS:
        return a->ints.n == b->ints.n && !memcmp(a->ints.at, b->ints.at, a->ints.n * sizeof(ex));
    case ARG_FLOAT: return !memcmp(&a->f, &b->f, sizeof a->f);
    case ARG_BOOL: return a->b == b->b;
    case ARG_DTYPE: return a->dtype == b->dtype;
    case ARG_STR: return !strcmp(a->s, b->s);
    case ARG_GRAPH: return false;
    }
    return false;
}

static bool same_graph(const struct graph *a, const struct graph *b) {
    if (a->nodes.n != b->nodes.n || a->inputs.n != b->inputs.n || a->outputs.n != b->outputs.n)
        return false;
    for (node_id id = 0; id < a->nodes.n; id++) {
        const struct node *x = &a->nodes.at[id], *y = &b->nodes.at[id];
        if (x->op != y->op || x->n_args != y->n_args || !meta_same_shape(&x->meta, &y->meta))
            return false;
        for (int i = 0; i < x->n_args; i++)
            if (!same_arg(&x->args[i], &y->args[i])) return false;
    }
    for (uint32_t i = 0; i < a->inputs.n; i++)
        if (a->inputs.at[i].node != b->inputs.at[i].node) return false;
    return !memcmp(a->outputs.at, b->outputs.at, a->outputs.n * sizeof(node_id));
}

/* The same steps, of operands that come in the same ways. */
static bool same_loop(const struct wavefront *w, const struct node *n) {
    int64_t steps = loop_steps(w->from, n->args), before = w->lane[w->n - 1].steps;
    if ((w->skewed ? steps > before : steps != before) ||
        !same_graph(n->args[LOOP_BODY].graph, w->body))
        return false;
    for (uint32_t i = 0; i < w->body->inputs.n; i++) {
        struct loop_role a = role_of(w, 0, i), b = loop_role(w->from, n->args, i);
        if (a.is != b.is || (a.is == LOOP_IS_CARRIED && a.output != b.output)) return false;
        bool along = b.is != LOOP_IS_SLICED || (b.first == 0 && b.way == 1);
        if (w->skewed && !along) return false;
    }
    return true;
}

/* ---- what a layer makes of the one before ---------------------------------------------------- */

struct rows {
    struct wavefront *w;
    struct lane *lane;
    const struct node *before; /* the loop that it reads */
    struct graph *to;
    bool *timed; /* by node: has a row for each step, along dimension axis[] */
    int *axis;
    node_id *map;
};

static node_id row_sizes(struct rows *r, struct build *b, const struct node *n) {
    if (r->axis[n->args[0].node] != 0 || n->meta.rank < 1 ||
        n->meta.size[0] != ex_const(b->g->ex, r->w->lane[r->w->n - 1].steps))
        return NONE;
    struct meta row = {.rank = (uint8_t)(n->meta.rank - 1)};
    memcpy(row.size, n->meta.size + 1, row.rank * sizeof *row.size);
    return reshape(b, r->map[n->args[0].node], &row);
}

static node_id row_permuted(struct rows *r, struct build *b, const struct node *n, int *axis) {
    int from[WS_MAX_RANK], order[WS_MAX_RANK] = {0}, rank = n->meta.rank, k = 0;
    bool moves = false; /* more than the rows */
    permutation_of(b->g->ex, n->op, n->args, rank, from);
    for (int d = 0; d < rank; d++)
        if (from[d] == r->axis[n->args[0].node])
            *axis = d;
        else
            order[k++] = from[d] - (from[d] > r->axis[n->args[0].node]);
    while (k-- > 0) moves |= order[k] != k;
    return !moves ? r->map[n->args[0].node] : reorder(b, r->map[n->args[0].node], order);
}

/* Is it made element by element of operands that have their rows along one dimension of the result,
 * and of others that have none there? */
static bool is_rowwise(const struct rows *r, const struct node *n, int *axis) {
    *axis = -1;
    if (op_info(n->op)->class != POINTWISE) return false;
    for (int i = 0; i < n->n_args; i++) {
        const node_id *at;
        for (int k = arg_nodes(&n->args[i], &at); k-- > 0;) {
            if (!r->timed[at[k]]) continue;
            int mine = n->meta.rank - r->w->from->nodes.at[at[k]].meta.rank + r->axis[at[k]];
            if (*axis >= 0 && *axis != mine) return false;
            *axis = mine;
        }
    }
    for (int i = 0; i < n->n_args; i++) {
        const node_id *at;
        for (int k = arg_nodes(&n->args[i], &at); k-- > 0;)
            if (!r->timed[at[k]] &&
                r->w->from->nodes.at[at[k]].meta.rank > n->meta.rank - 1 - *axis)
                return false;
    }
    return true;
}

static bool is_permutation(enum op op) {
    return op == OP_PERMUTE || op == OP_TRANSPOSE || op == OP_T || op == OP_MT || op == OP_MOVEDIM;
}

/* A product whose left factor alone has rows for steps, of which it leaves each as it is. */
static bool is_product_of_rows(const struct rows *r, const struct node *n, int axis) {
    const struct node *weights = &r->w->from->nodes.at[n->args[1].node];
    for (int i = 1; i < n->n_args; i++)
        if (n->args[i].kind == ARG_NODE && r->timed[n->args[i].node]) return false;
    return r->timed[n->args[0].node] && n->meta.rank >= 3 && axis != n->meta.rank - 1 &&
           (n->op == OP_LINEAR || weights->meta.rank == 2);
}

static node_id row_of(struct rows *r, const struct node *n, int *axis) {
    struct build b = {r->to, n->where};
    struct arg *args = NEW_ARRAY(r->to->arena, struct arg, n->n_args);
    for (int i = 0; i < n->n_args; i++) args[i] = arg_map(r->to, &n->args[i], r->map);
    bool first = n->n_args && n->args[0].kind == ARG_NODE && r->timed[n->args[0].node];
    *axis = first ? r->axis[n->args[0].node] : -1;
    if (n->op == OP_CONTIGUOUS || n->op == OP_CLONE || n->op == OP_DETACH)
        return first ? r->map[n->args[0].node] : NONE;
    if (n->op == OP_VIEW) return row_sizes(r, &b, n);
    if (is_permutation(n->op)) return row_permuted(r, &b, n, axis);
    bool of_rows = n->op == OP_LINEAR || n->op == OP_MATMUL ? is_product_of_rows(r, n, *axis)
                                                            : is_rowwise(r, n, axis);
    if (!of_rows) return NONE;
    return build_call(&b, n->op, args, n->n_args);
}

/* A leaf: an input of the rows' graph. */
static void add_leaf(struct rows *r, node_id id, bool timed) {
    const struct node *n = &r->w->from->nodes.at[id];
    struct meta m = n->meta;
    if (timed) {
        m.rank--;
        memmove(m.size, m.size + 1, m.rank * sizeof *m.size);
    }
    meta_contiguous(r->to->ex, &m);
    r->map[id] = graph_input(r->to, n->name, INPUT_ARG, NULL, &m, r->to->inputs.n);
    r->timed[id] = timed;
    r->axis[id] = 0;
    vec_push(r->to->arena, &r->lane->leaves, id);
}

/* What the operands need of what depends on the loops so far; false if that is more than the loop
 * before. */
static bool find_needed(struct rows *r, bool *needed, bool *leaf) {
    const struct wavefront *w = r->w;
    for (node_id id = w->from->nodes.n; id-- > 0;) {
        const struct node *n = &w->from->nodes.at[id];
        if (!needed[id]) continue;
        leaf[id] = !w->behind[id] || n->op == OP_LOOP;
        if (w->behind[id] && n->op == OP_LOOP && !loop_same(n, r->before)) return false;
        for (int i = 0; i < n->n_args && !leaf[id]; i++) {
            const node_id *at;
            for (int k = arg_nodes(&n->args[i], &at); k-- > 0;) needed[at[k]] = true;
        }
    }
    return true;
}

static bool make_rows(struct wavefront *w, struct lane *lane) {
    uint32_t n = w->from->nodes.n;
    struct arena *a = w->from->arena;
    struct rows r = {
        .w = w, .lane = lane, .before = w->lane[w->n - 1].loop, .to = graph_like(w->from)};
    bool *needed = NEW_ARRAY(a, bool, n), *leaf = NEW_ARRAY(a, bool, n), any = false;
    r.timed = NEW_ARRAY(a, bool, n);
    r.axis = NEW_ARRAY(a, int, n);
    r.map = NEW_ARRAY(a, node_id, n);
    const node_id *operands = lane->loop->args[LOOP_OPERANDS].nodes.at;
    for (uint32_t i = 0; i < w->body->inputs.n; i++) {
        bool sliced = loop_role(w->from, lane->loop->args, i).is == LOOP_IS_SLICED;
        if (w->behind[operands[i]] != sliced) return false;
        needed[operands[i]] |= sliced;
        any |= sliced;
    }
    if (!any || !find_needed(&r, needed, leaf)) return false;
    for (node_id id = 0; id < n; id++)
        if (leaf[id]) add_leaf(&r, id, w->behind[id]);
    for (node_id id = 0; id < n; id++) {
        if (!needed[id] || leaf[id]) continue;
        r.map[id] = row_of(&r, &w->from->nodes.at[id], &r.axis[id]);
        r.timed[id] = true;
        if (r.map[id] == NONE) return false;
    }
    for (uint32_t i = 0; i < w->body->inputs.n; i++) {
        if (role_of(w, 0, i).is != LOOP_IS_SLICED) continue;
        if (r.axis[operands[i]] != 0) return false;
        vec_push(a, &r.to->outputs, r.map[operands[i]]);
    }
    lane->rows = r.to;
    return true;
}

/* The same rows of the same leaves, of the loop before each? */
static bool same_rows(const struct wavefront *w, const struct lane *x, const struct lane *y) {
    if (!same_graph(x->rows, y->rows)) return false;
    for (uint32_t i = 0; i < x->leaves.n; i++) {
        const struct node *a = &w->from->nodes.at[x->leaves.at[i]];
        const struct node *b = &w->from->nodes.at[y->leaves.at[i]];
        bool stacked = w->behind[x->leaves.at[i]];
        if (stacked != w->behind[y->leaves.at[i]]) return false;
        if (stacked && loop_output(w->from, a->args) != loop_output(w->from, b->args)) return false;
    }
    return true;
}

/* ---- which loops ----------------------------------------------------------------------------- */

/* Is no output carried by several operands? It would have to be kept for each. */
static bool carries_once(const struct wavefront *w) {
    for (uint32_t i = 0; i < w->body->inputs.n; i++)
        for (uint32_t k = 0; k < i; k++) {
            struct loop_role a = role_of(w, 0, i), b = role_of(w, 0, k);
            if (a.is == LOOP_IS_CARRIED && b.is == LOOP_IS_CARRIED && a.output == b.output)
                return false;
        }
    return true;
}

/* Is a loop long, a step of it small, and room for two dimensions: of lanes, and of steps? */
static bool may_go(const struct graph *g, const struct node *n) {
    const struct graph *body = n->args[LOOP_BODY].graph;
    for (node_id id = 0; id < body->nodes.n; id++)
        if (body->nodes.at[id].meta.rank + 2 > WS_MAX_RANK) return false;
    return loop_steps(g, n->args) >= LEAST_STEPS && graph_work(body) <= MOST_WORK;
}

static bool add_lane(struct wavefront *w, node_id id) {
    struct lane lane = {.loop = &w->from->nodes.at[id]};
    lane.steps = loop_steps(w->from, lane.loop->args);
    if (!may_go(w->from, lane.loop) || !same_loop(w, lane.loop)) return false;
    if (w->skewed) {
        if (2 * w->n > w->steps || !make_rows(w, &lane)) return false;
        if (w->n > 1 && !same_rows(w, &w->lane[1], &lane)) return false;
    } else {
        for (uint32_t i = 0; i < w->body->inputs.n; i++)
            if (w->behind[lane.loop->args[LOOP_OPERANDS].nodes.at[i]]) return false;
    }
    w->id[w->n] = id;
    w->lane[w->n++] = lane;
    mark_lane(w, w->n - 1);
    return true;
}

static bool is_first(const struct graph *g, node_id id) {
    if (g->nodes.at[id].op != OP_LOOP) return false;
    for (node_id k = 0; k < id; k++)
        if (loop_same(&g->nodes.at[k], &g->nodes.at[id])) return false;
    return true;
}

/* The loops that go with the one of node `id`; false if there are none. */
static bool find_lanes(struct wavefront *w, const bool *first, node_id id) {
    struct graph *g = w->from;
    w->n = 1;
    w->id[0] = id;
    w->body = g->nodes.at[id].args[LOOP_BODY].graph;
    w->steps = loop_steps(g, g->nodes.at[id].args);
    w->lane[0] = (struct lane){.loop = &g->nodes.at[id], .steps = w->steps};
    w->behind = NEW_ARRAY(g->arena, bool, g->nodes.n);
    w->taken.n = 0;
    if (!may_go(g, &g->nodes.at[id]) || (w->skewed && !carries_once(w))) return false;
    mark_lane(w, 0);
    for (node_id k = id + 1; k < g->nodes.n && w->n < MOST_LANES; k++)
        if (first[k]) add_lane(w, k);
    return w->n > 1;
}

/* ---- the new body ---------------------------------------------------------------------------- */

static struct lane_value take(struct wavefront *w, const struct taken *t, const char *name,
                              const struct meta *m, bool differs) {
    struct meta wide = *m;
    if (differs) {
        wide.size[0] = ex_const(w->inner->ex, w->n);
        memcpy(wide.size + 1, m->size, m->rank * sizeof *m->size);
        wide.rank++;
    }
    meta_contiguous(w->inner->ex, &wide);
    vec_push(w->inner->arena, &w->taken, *t);
    node_id id = graph_input(w->inner, name, INPUT_ARG, NULL, &wide, w->inner->inputs.n);
    return (struct lane_value){id, differs};
}

/* What is the same in each step, of all lanes; apart: each has its own, even if they are equal. */
static struct lane_value take_whole(struct wavefront *w, const node_id *of, const char *name,
                                    const struct meta *m, bool apart) {
    struct taken t = {.how = apart ? OF_LANES : AS_IT_IS, .carried = -1};
    for (uint32_t l = 0; l < w->n; l++) {
        t.of[l] = of[l];
        if (of[l] != of[0]) t.how = OF_LANES;
    }
    return take(w, &t, name, m, t.how == OF_LANES);
}

/* Has each layer weights of its own? */
static bool has_own(const struct wavefront *w) {
    for (uint32_t i = 0; i < w->body->inputs.n; i++)
        if (role_of(w, 0, i).is == LOOP_IS_WHOLE && operand_of(w, 0, i) != operand_of(w, 1, i))
            return true;
    return false;
}

/* What each lane reads of step after step: an input for each, unless they read the same. */
static void take_slices(struct wavefront *w, uint32_t i, const struct node *n, node_id *slices) {
    for (uint32_t l = 0; l < w->n; l++) {
        struct loop_role r = role_of(w, l, i), zero = role_of(w, 0, i);
        struct taken t = {.how = AS_IT_IS, .carried = -1, .first = r.first, .way = r.way};
        t.of[0] = operand_of(w, l, i);
        bool same =
            l && t.of[0] == operand_of(w, 0, i) && r.first == zero.first && r.way == zero.way;
        slices[l] = same ? slices[0] : take(w, &t, n->name, &n->meta, false).node;
    }
}

static struct lane_value put_together(struct wavefront *w, const node_id *slices) {
    struct build b = {w->inner, w->lane[0].loop->where};
    bool same = true;
    for (uint32_t l = 1; l < w->n; l++) same &= slices[l] == slices[0];
    if (same) return (struct lane_value){slices[0], false};
    node_id *at = NEW_ARRAY(w->inner->arena, node_id, w->n);
    memcpy(at, slices, w->n * sizeof *at);
    return (struct lane_value){call(&b, OP_STACK, nodes_arg(at, w->n), arg_int(b.g, 0)), true};
}

/* The first lane reads its slices, each other one what the lane before makes. */
static struct lane_value put_behind(struct wavefront *w, node_id slice, struct lane_value rows) {
    struct build b = {w->inner, w->lane[0].loop->where};
    node_id at[2] = {call(&b, OP_UNSQUEEZE, arg_node(slice), arg_int(b.g, 0))};
    at[1] = cut(&b, rows.node, 0, ex_const(b.g->ex, 0), ex_const(b.g->ex, w->n - 1));
    return (struct lane_value){call(&b, OP_CAT, nodes_arg(at, 2), arg_int(b.g, 0)), true};
}

/* The input that carries output k; NONE. */
static uint32_t carrier_of(const struct wavefront *w, uint32_t k) {
    for (uint32_t i = 0; i < w->body->inputs.n; i++) {
        struct loop_role r = role_of(w, 0, i);
        if (r.is == LOOP_IS_CARRIED && r.output == k) return i;
    }
    return NONE;
}

/* The leaves of layer l + 1 for lane l; the last lane, whose rows nobody reads, has those of the
 * one before. Layers with weights of their own have all their own: products go together then. */
static void take_leaves(struct wavefront *w, const struct lane_value *x, struct lane_value *y) {
    const struct lane *lane = &w->lane[1];
    bool own = has_own(w);
    for (uint32_t i = 0; i < lane->leaves.n; i++) {
        const struct node *n = &w->from->nodes.at[lane->leaves.at[i]];
        node_id id = lane->rows->inputs.at[i].node, of[MOST_LANES];
        const struct meta *m = &lane->rows->nodes.at[id].meta;
        if (w->behind[lane->leaves.at[i]]) {
            uint32_t k = loop_output(w->from, n->args), carrier = carrier_of(w, k);
            struct taken t = {.how = ZEROS, .carried = k};
            y[id] = carrier == NONE ? take(w, &t, n->name, m, true)
                                    : x[w->body->inputs.at[carrier].node];
            continue;
        }
        for (uint32_t l = 0; l < w->n; l++) of[l] = w->lane[l + 1 < w->n ? l + 1 : l].leaves.at[i];
        y[id] = take_whole(w, of, n->name, m, own);
    }
}

static node_id take_at_work(struct wavefront *w) {
    struct taken t = {.how = AT_WORK, .carried = -1, .way = 1};
    struct meta m = {.dtype = DT_BOOL, .rank = 1, .size = {ex_const(w->inner->ex, w->n)}};
    return take(w, &t, "at_work", &m, false).node;
}

/* Output k of a step, [lanes, ...]; what is carried stays as it is where a lane is not at work. */
static node_id output_of(struct wavefront *w, uint32_t k, const struct lane_value *x, node_id now) {
    struct build b = {w->inner, w->lane[0].loop->where};
    node_id out = w->body->outputs.at[k];
    const struct meta *m = &w->body->nodes.at[out].meta;
    uint32_t carrier = carrier_of(w, k);
    node_id y = x[out].node;
    if (!x[out].differs) {
        ex size[WS_MAX_RANK];
        size[0] = ex_const(b.g->ex, w->n);
        memcpy(size + 1, m->size, m->rank * sizeof *size);
        y = call(&b, OP_UNSQUEEZE, arg_node(y), arg_int(b.g, 0));
        y = call(&b, OP_EXPAND, arg_node(y), arg_ints(b.g, size, m->rank + 1U));
    }
    if (!w->skewed || carrier == NONE) return y;
    for (int d = 0; d < m->rank; d++) now = call(&b, OP_UNSQUEEZE, arg_node(now), arg_int(b.g, 1));
    node_id old = x[w->body->inputs.at[carrier].node].node;
    return call(&b, OP_WHERE, arg_node(now), arg_node(y), arg_node(old));
}

/* Inputs that nothing reads any more. */
static void drop_unread(struct wavefront *w) {
    struct graph *to = graph_like(w->inner);
    node_id *map = NEW_ARRAY(to->arena, node_id, w->inner->nodes.n);
    bool *live = NEW_ARRAY(to->arena, bool, w->inner->nodes.n);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->inner->outputs.n; i++) live[w->inner->outputs.at[i]] = true;
    for (node_id id = w->inner->nodes.n; id-- > 0;)
        for (int i = 0; live[id] && i < w->inner->nodes.at[id].n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&w->inner->nodes.at[id].args[i], &at); k-- > 0;)
                live[at[k]] = true;
        }
    for (node_id id = 0; id < w->inner->nodes.n; id++)
        if (live[id]) map[id] = graph_copy(to, w->inner, id, map);
    for (uint32_t i = 0; i < w->inner->inputs.n; i++)
        if (live[w->inner->inputs.at[i].node]) w->taken.at[kept++] = w->taken.at[i];
    w->taken.n = kept;
    for (uint32_t i = 0; i < w->inner->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[w->inner->outputs.at[i]]);
    w->inner = to;
}

static void join_products(struct wavefront *w) {
    lanes_weights weights = {0};
    for (;;) {
        bool *whole = NEW_ARRAY(w->inner->arena, bool, w->taken.n);
        for (uint32_t i = 0; i < w->taken.n; i++)
            whole[i] = w->taken.at[i].carried < 0 && !w->taken.at[i].way;
        struct graph *joined = lanes_join_products(w->inner, whole, &weights);
        if (joined == w->inner) return;
        struct taken *rows = NEW_ARRAY(w->inner->arena, struct taken, weights.n);
        for (uint32_t i = 0; i < weights.n; i++) rows[i] = w->taken.at[weights.at[i]];
        struct taken t = {.how = ROWS_OF, .carried = -1, .rows = rows, .n_rows = weights.n};
        vec_push(w->inner->arena, &w->taken, t);
        w->inner = joined;
        drop_unread(w);
    }
}

/* False if an operator does not work for several lanes at once. */
static bool make_body(struct wavefront *w) {
    const struct graph *body = w->body;
    struct lane_value *x = NEW_ARRAY(w->from->arena, struct lane_value, body->nodes.n), *y = NULL;
    node_id *slices = NEW_ARRAY(w->from->arena, node_id, body->inputs.n * w->n), now = NONE;
    node_id of[MOST_LANES];
    w->inner = graph_like(body);
    for (uint32_t i = 0; i < body->inputs.n; i++) {
        const struct node *n = &body->nodes.at[body->inputs.at[i].node];
        struct lane_value *v = &x[body->inputs.at[i].node];
        struct loop_role r = role_of(w, 0, i);
        struct taken t = {.how = OF_LANES, .carried = r.output};
        for (uint32_t l = 0; l < w->n; l++) of[l] = t.of[l] = operand_of(w, l, i);
        if (r.is == LOOP_IS_WHOLE) *v = take_whole(w, of, n->name, &n->meta, false);
        if (r.is == LOOP_IS_CARRIED) *v = take(w, &t, n->name, &n->meta, true);
        if (r.is == LOOP_IS_SLICED && !w->skewed) take_slices(w, i, n, slices + i * w->n);
        if (r.is == LOOP_IS_SLICED && w->skewed) {
            t = (struct taken){.how = OF_FIRST, .carried = -1, .first = r.first, .way = r.way};
            t.of[0] = of[0];
            slices[i * w->n] = take(w, &t, n->name, &n->meta, false).node;
        }
    }
    if (w->skewed) {
        now = take_at_work(w);
        y = NEW_ARRAY(w->from->arena, struct lane_value, w->lane[1].rows->nodes.n);
        take_leaves(w, x, y);
        if (!lanes_add(w->inner, w->n, w->lane[1].rows, y)) return false;
    }
    for (uint32_t i = 0, k = 0; i < body->inputs.n; i++) {
        if (role_of(w, 0, i).is != LOOP_IS_SLICED) continue;
        x[body->inputs.at[i].node] =
            w->skewed ? put_behind(w, slices[i * w->n], y[w->lane[1].rows->outputs.at[k++]])
                      : put_together(w, slices + i * w->n);
    }
    if (!lanes_add(w->inner, w->n, body, x)) return false;
    for (uint32_t k = 0; k < body->outputs.n; k++)
        vec_push(w->inner->arena, &w->inner->outputs, output_of(w, k, x, now));
    drop_unread(w);
    join_products(w);
    graph_own_origins(w->inner);
    return true;
}

/* ---- the new graph --------------------------------------------------------------------------- */

/* The slices of the steps that the first lane has, in order of memory, and zeros for those in which
 * the others end. */
static node_id first_slices(struct wavefront *w, struct build *b, node_id x, struct taken *t) {
    int64_t each = t->way < 0 ? -t->way : t->way, span = (w->steps - 1) * each;
    int64_t least = t->way < 0 ? t->first - span : t->first, more = skew(w, w->n - 1);
    if (least || each != 1 || meta_of(b, x)->size[0] != ex_const(b->g->ex, w->steps))
        x = call(b, OP_SLICE, arg_node(x), arg_int(b->g, 0), arg_int(b->g, least),
                 arg_int(b->g, least + span + 1), arg_int(b->g, each));
    struct meta m = *meta_of(b, x);
    m.size[0] = ex_const(b->g->ex, more);
    node_id zeros = full(b, &m, 0);
    node_id at[] = {t->way > 0 ? x : zeros, t->way > 0 ? zeros : x};
    t->first = t->way > 0 ? 0 : all_steps(w) - 1;
    t->way = t->way > 0 ? 1 : -1;
    return call(b, OP_CAT, nodes_arg(at, 2), arg_int(b->g, 0));
}

/* How many steps each lane has: a number, or [lanes]. */
static struct arg lane_steps(struct wavefront *w, struct build *b) {
    struct meta m = {.dtype = DT_I64, .rank = 1, .size = {ex_const(b->g->ex, 1)}};
    node_id *at = NEW_ARRAY(b->g->arena, node_id, w->n);
    if (w->lane[w->n - 1].steps == w->steps) return arg_int(b->g, w->steps);
    for (uint32_t l = 0; l < w->n; l++) at[l] = full(b, &m, (double)w->lane[l].steps);
    return arg_node(call(b, OP_CAT, nodes_arg(at, w->n), arg_int(b->g, 0)));
}

/* Is lane l at work in step s? 0 <= s - l < steps, [all steps, lanes] */
static node_id at_work(struct wavefront *w, struct build *b) {
    node_id s = iota(b, ex_const(b->g->ex, all_steps(w))), l = iota(b, ex_const(b->g->ex, w->n));
    node_id step = binary(b, OP_SUB, call(b, OP_UNSQUEEZE, arg_node(s), arg_int(b->g, 1)), l);
    return binary(b, OP_LOGICAL_AND, call(b, OP_GE, arg_node(step), arg_int(b->g, 0)),
                  call(b, OP_LT, arg_node(step), lane_steps(w, b)));
}

static node_id operand_node(struct wavefront *w, struct build *b, struct taken *t,
                            const struct meta *m, const node_id *map) {
    uint32_t n = t->how == ROWS_OF ? t->n_rows : w->n;
    node_id *at = NEW_ARRAY(b->g->arena, node_id, n);
    switch (t->how) {
    case AS_IT_IS: return map[t->of[0]];
    case OF_FIRST: return first_slices(w, b, map[t->of[0]], t);
    case AT_WORK: return at_work(w, b);
    case ZEROS: return full(b, m, 0);
    case OF_LANES:
        for (uint32_t l = 0; l < n; l++) at[l] = map[t->of[l]];
        return call(b, OP_STACK, nodes_arg(at, n), arg_int(b->g, 0));
    case ROWS_OF:
        for (uint32_t i = 0; i < n; i++) {
            struct taken part = t->rows[i];
            at[i] = operand_node(w, b, &part, NULL, map);
        }
        return call(b, OP_CAT, nodes_arg(at, n), arg_int(b->g, meta_of(b, at[0])->rank - 2));
    }
    return NONE;
}

/* The new loop; stacks: its node of each output. */
static void add_loop(struct wavefront *w, struct graph *to, const node_id *map, node_id *stacks) {
    struct build b = {to, w->lane[0].loop->where};
    uint32_t n = w->taken.n;
    struct arg args[LOOP_ARGUMENTS];
    node_id *x = NEW_ARRAY(to->arena, node_id, n);
    ex *role = NEW_ARRAY(to->arena, ex, n * 3);
    for (uint32_t i = 0; i < n; i++) {
        struct taken *t = &w->taken.at[i];
        const struct meta *m = &w->inner->nodes.at[w->inner->inputs.at[i].node].meta;
        x[i] = operand_node(w, &b, t, m, map);
        role[i] = ex_const(to->ex, t->carried);
        role[n + i] = ex_const(to->ex, t->carried < 0 ? t->first : 0);
        role[2 * n + i] = ex_const(to->ex, t->carried < 0 ? t->way : 0);
    }
    args[LOOP_OPERANDS] = nodes_arg(x, n);
    for (uint32_t k = 0; k < 3; k++) args[LOOP_CARRIED + k] = arg_ints(to, role + k * n, n);
    args[LOOP_STEPS] = arg_int(to, all_steps(w));
    args[LOOP_BODY] = (struct arg){.kind = ARG_GRAPH, .graph = w->inner};
    for (uint32_t k = 0; k < w->body->outputs.n; k++) {
        args[LOOP_OUTPUT] = arg_int(to, k);
        stacks[k] = build_call(&b, OP_LOOP, args, LOOP_ARGUMENTS);
    }
}

/* The lane whose loop n is; NONE. */
static uint32_t lane_of(const struct wavefront *w, const struct node *n) {
    for (uint32_t l = 0; l < w->n; l++)
        if (loop_same(n, w->lane[l].loop)) return l;
    return NONE;
}

static node_id lane_stack(struct wavefront *w, struct graph *to, const struct node *n, uint32_t l,
                          node_id stack) {
    struct build b = {to, n->where};
    if (w->skewed)
        stack = cut(&b, stack, 0, ex_const(to->ex, skew(w, l)),
                    ex_const(to->ex, skew(w, l) + w->lane[l].steps));
    return call(&b, OP_SELECT, arg_node(stack), arg_int(to, 1), arg_int(to, l));
}

/* Of a lane's stack the last step, which is the last one of all for what is carried: so it says to
 * those who keep a few steps only (loop/flatten.c). NONE: n is none. */
static node_id last_step(struct wavefront *w, struct graph *to, const struct node *n,
                         const node_id *stacks) {
    struct build b = {to, n->where};
    if ((n->op != OP_SELECT && n->op != OP_SLICE) || n->args[1].i != ex_const(to->ex, 0))
        return NONE;
    const struct node *loop = &w->from->nodes.at[n->args[0].node];
    uint32_t l = lane_of(w, loop);
    if (l == NONE || n->args[2].i != ex_const(to->ex, w->lane[l].steps - 1)) return NONE;
    uint32_t k = loop_output(w->from, loop->args);
    bool empty = n->op == OP_SLICE && n->meta.size[0] != ex_const(to->ex, 1);
    if (empty || (w->skewed && carrier_of(w, k) == NONE)) return NONE;
    node_id x =
        cut(&b, stacks[k], 0, ex_const(to->ex, all_steps(w) - 1), ex_const(to->ex, all_steps(w)));
    x = call(&b, OP_SELECT, arg_node(x), arg_int(to, 1), arg_int(to, l));
    return n->op == OP_SLICE ? x : call(&b, OP_SELECT, arg_node(x), arg_int(to, 0), arg_int(to, 0));
}

/* What depends on none of the loops comes before the new one, the rest behind it. */
static struct graph *rebuild(struct wavefront *w) {
    struct graph *g = w->from, *to = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    node_id *stacks = NEW_ARRAY(g->arena, node_id, w->body->outputs.n);
    for (node_id id = 0; id < g->nodes.n; id++)
        if (!w->behind[id]) map[id] = graph_copy(to, g, id, map);
    add_loop(w, to, map, stacks);
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *n = &g->nodes.at[id];
        if (!w->behind[id]) continue;
        uint32_t l = lane_of(w, n);
        if (l != NONE)
            map[id] = lane_stack(w, to, n, l, stacks[loop_output(g, n->args)]);
        else if ((map[id] = last_step(w, to, n, stacks)) == NONE)
            map[id] = graph_copy(to, g, id, map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &to->outputs, map[g->outputs.at[i]]);
    to = graph_drop_unused(to);
    graph_own_origins(to);
    return to;
}

/* g with the first loops that go together as one; g if there are none. */
static struct graph *join_some(struct graph *g, bool skewed) {
    bool *first = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++) first[id] = is_first(g, id);
    for (node_id id = 0; id < g->nodes.n; id++) {
        struct wavefront w = {.from = g, .skewed = skewed};
        if (first[id] && find_lanes(&w, first, id) && make_body(&w)) return rebuild(&w);
    }
    return g;
}

struct graph *graph_wavefront(struct graph *g) {
    for (int skewed = 1; skewed >= 0; skewed--)
        for (struct graph *to = NULL; to != g;) {
            if (to) g = to;
            to = join_some(g, skewed);
        }
    return g;
}
