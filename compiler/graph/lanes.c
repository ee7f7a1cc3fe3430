/* lanes.c: the operators of a loop's body for several loops at once, one dimension in front.
 *
 *   %p: f32[10, 1024] = linear(%h, %u, %b)         %t: f32[6, 256, 1024] = mT(%u)
 *   %s: f32[10, 256] = slice(%p, dim=1, ..)   ->   %m: f32[6, 10, 1024] = matmul(%h, %t)
 *   %y: f32[10, 256] = tanh(%s)                    %v: f32[6, 1, 1024] = unsqueeze(%b, dim=1)
 *                                                  %p: f32[6, 10, 1024] = add(%m, %v)
 *                                                  %s: f32[6, 10, 256] = slice(%p, dim=2, ..)
 *                                                  %y: f32[6, 10, 256] = tanh(%s)
 *
 * What has no lanes stays as it is, and goes with what has by broadcasting. Operators that count
 * dimensions from the front count one more; what is not listed here is not known. */
#include "graph/lanes.h"

#include <string.h>

#include "graph/traits.h"

#define NONE UINT32_MAX

struct laning {
    struct graph *to;
    const struct graph *from;
    int64_t lanes;
    struct lane_value *x; /* by node of from */
};

static int rank_of(const struct laning *w, node_id id) { return w->from->nodes.at[id].meta.rank; }

/* Node `id`, whose dimensions are the last ones of `rank`. */
static node_id aligned(struct laning *w, struct build *b, node_id id, int rank) {
    node_id x = w->x[id].node;
    for (int k = rank_of(w, id); w->x[id].differs && k < rank; k++)
        x = call(b, OP_UNSQUEEZE, arg_node(x), arg_int(b->g, 1));
    return x;
}

/* The arguments with nodes of `to`, in the order of from's. */
static struct arg *mapped(struct laning *w, struct build *b, const struct node *n, int rank) {
    struct arg *args = NEW_ARRAY(w->to->arena, struct arg, n->n_args);
    for (int i = 0; i < n->n_args; i++) {
        args[i] = arg_copy(w->to, &n->args[i]);
        if (args[i].kind == ARG_NODE) args[i].node = aligned(w, b, n->args[i].node, rank);
        for (uint32_t k = 0; args[i].kind == ARG_NODES && k < args[i].nodes.n; k++)
            args[i].nodes.at[k] = aligned(w, b, n->args[i].nodes.at[k], rank);
    }
    return args;
}

/* An element of each operand makes one. */
static bool is_elementwise(const struct node *n) {
    int tensors = 0;
    for (int i = 0; i < n->n_args; i++) tensors += n->args[i].kind == ARG_NODE;
    const struct op_info *op = op_info(n->op);
    return op->class == POINTWISE || (op->class == COMPOSITE && op->elementwise && tensors == 1);
}

/* ---- products -------------------------------------------------------------------------------- */

static node_id product(struct laning *w, struct build *b, node_id x, node_id y, int rank) {
    return call(b, OP_MATMUL, arg_node(aligned(w, b, x, rank)), arg_node(aligned(w, b, y, rank)));
}

static bool is_one(const struct laning *w, const struct arg *a) {
    return (a->kind == ARG_INT || a->kind == ARG_FLOAT) && arg_number(w->from, a) == 1;
}

static node_id add_linear(struct laning *w, struct build *b, const struct node *n) {
    node_id x = n->args[0].node, y = n->args[1].node;
    int rank = rank_of(w, x);
    if (rank < 2) return NONE;
    node_id turned = call(b, OP_MT, arg_node(w->x[y].node));
    for (int k = 2; w->x[y].differs && k < rank; k++)
        turned = call(b, OP_UNSQUEEZE, arg_node(turned), arg_int(b->g, 1));
    node_id p = call(b, OP_MATMUL, arg_node(w->x[x].node), arg_node(turned));
    if (n->args[2].kind != ARG_NODE) return p;
    return binary(b, OP_ADD, p, aligned(w, b, n->args[2].node, rank));
}

static node_id add_product(struct laning *w, struct build *b, const struct node *n) {
    if (n->op == OP_LINEAR) return add_linear(w, b, n);
    if (n->op == OP_ADDMM) {
        if (!is_one(w, &n->args[3]) || !is_one(w, &n->args[4])) return NONE;
        node_id p = product(w, b, n->args[1].node, n->args[2].node, 2);
        return binary(b, OP_ADD, aligned(w, b, n->args[0].node, 2), p);
    }
    node_id x = n->args[0].node, y = n->args[1].node;
    if (rank_of(w, x) < 2 || rank_of(w, y) < 2) return NONE;
    return product(w, b, x, y, n->meta.rank);
}

static bool is_product(enum op op) {
    return op == OP_LINEAR || op == OP_MATMUL || op == OP_MM || op == OP_BMM || op == OP_ADDMM;
}

/* ---- dimensions ------------------------------------------------------------------------------ */

static bool is_permutation(enum op op) {
    return op == OP_PERMUTE || op == OP_TRANSPOSE || op == OP_T || op == OP_MT || op == OP_MOVEDIM;
}

static node_id add_permutation(struct laning *w, struct build *b, const struct node *n) {
    int from[WS_MAX_RANK] = {0}, rank = n->meta.rank;
    permutation_of(w->from->ex, n->op, n->args, rank, from + 1);
    for (int d = 1; d <= rank; d++) from[d]++;
    return reorder(b, w->x[n->args[0].node].node, from);
}

/* view and expand: all sizes are given. */
static node_id add_sizes(struct laning *w, struct build *b, const struct node *n) {
    ex size[WS_MAX_RANK];
    size[0] = ex_const(w->to->ex, w->lanes);
    memcpy(size + 1, n->meta.size, n->meta.rank * sizeof *size);
    uint32_t rank = n->meta.rank + 1U;
    int operand = n->op == OP_EXPAND ? n->meta.rank : rank_of(w, n->args[0].node);
    node_id x = aligned(w, b, n->args[0].node, operand);
    return call(b, n->op, arg_node(x), arg_ints(w->to, size, rank));
}

/* Does it do the same to each element of a dimension that it does not name? */
static bool names_dims(enum op op) {
    return op == OP_SLICE || op == OP_SELECT || op == OP_NARROW || op == OP_UNSQUEEZE ||
           op == OP_SQUEEZE || op == OP_CAT || op == OP_FLIP || op == OP_SOFTMAX ||
           op == OP_LOG_SOFTMAX || op_info(op)->class == REDUCE || op_info(op)->class == SCAN;
}

static node_id all_lanes(struct laning *w, struct build *b, node_id id) {
    ex size[WS_MAX_RANK];
    const struct meta *m = &w->from->nodes.at[id].meta;
    if (w->x[id].differs) return w->x[id].node;
    size[0] = ex_const(w->to->ex, w->lanes);
    memcpy(size + 1, m->size, m->rank * sizeof *size);
    node_id x = call(b, OP_UNSQUEEZE, arg_node(w->x[id].node), arg_int(b->g, 0));
    return call(b, OP_EXPAND, arg_node(x), arg_ints(w->to, size, m->rank + 1U));
}

static node_id add_dims(struct laning *w, struct build *b, const struct node *n) {
    struct exprs *p = w->to->ex;
    struct arg *args = mapped(w, b, n, 0);
    for (int i = 0; i < n->n_args; i++) {
        bool dim = op_info(n->op)->params[i].kind == 'D';
        if (dim && args[i].kind != ARG_INT && !(args[i].kind == ARG_INTS && args[i].ints.n))
            return NONE; /* all of them */
        if (dim && args[i].kind == ARG_INT) args[i].i = ex_add(p, args[i].i, ex_const(p, 1));
        for (uint32_t k = 0; dim && args[i].kind == ARG_INTS && k < args[i].ints.n; k++)
            args[i].ints.at[k] = ex_add(p, args[i].ints.at[k], ex_const(p, 1));
        for (uint32_t k = 0; args[i].kind == ARG_NODES && k < args[i].nodes.n; k++)
            args[i].nodes.at[k] = all_lanes(w, b, n->args[i].nodes.at[k]);
    }
    return build_call(b, n->op, args, n->n_args);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static node_id add_node(struct laning *w, const struct node *n) {
    struct build b = {w->to, n->where};
    if (n->meta.rank == WS_MAX_RANK) return NONE;
    if (is_elementwise(n)) return build_call(&b, n->op, mapped(w, &b, n, n->meta.rank), n->n_args);
    if (is_product(n->op)) return add_product(w, &b, n);
    if (is_permutation(n->op)) return add_permutation(w, &b, n);
    if (n->op == OP_VIEW || n->op == OP_EXPAND) return add_sizes(w, &b, n);
    if (names_dims(n->op)) return add_dims(w, &b, n);
    if (n->op == OP_CONTIGUOUS || n->op == OP_CLONE || n->op == OP_DETACH)
        return build_call(&b, n->op, mapped(w, &b, n, 0), n->n_args);
    return NONE;
}

bool lanes_add(struct graph *to, int64_t lanes, const struct graph *from, struct lane_value *x) {
    struct laning w = {to, from, lanes, x};
    for (node_id id = 0; id < from->nodes.n; id++) {
        const struct node *n = &from->nodes.at[id];
        if (n->op == OP_INPUT) continue;
        if (n->op == OP_LOOP || op_is_random(n->op)) return false;
        bool differs = false;
        for (int i = 0; i < n->n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&n->args[i], &at); k-- > 0;) differs |= x[at[k]].differs;
        }
        if (differs) {
            x[id].node = add_node(&w, n);
        } else {
            struct build b = {to, n->where};
            x[id].node = build_call(&b, n->op, mapped(&w, &b, n, 0), n->n_args);
        }
        x[id].differs = differs;
        if (x[id].node == NONE) return false;
    }
    return true;
}

/* ---- products that go together --------------------------------------------------------------- */

/* The number of the input, of those that are `whole`, whose rows n multiplies an input by; NONE. */
static uint32_t weight_of(const struct graph *g, const struct node *n, const bool *whole) {
    if (n->op != OP_MATMUL || g->nodes.at[n->args[0].node].op != OP_INPUT) return NONE;
    const struct node *y = &g->nodes.at[n->args[1].node];
    if (y->op != OP_MT || g->nodes.at[y->args[0].node].op != OP_INPUT) return NONE;
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i].node == y->args[0].node) return whole[i] ? i : NONE;
    return NONE;
}

static ex rows_of(const struct graph *g, uint32_t input) {
    const struct meta *m = &g->nodes.at[g->inputs.at[input].node].meta;
    return m->size[m->rank - 2];
}

/* Can the rows of both be one behind the other? */
static bool fit(const struct graph *g, uint32_t a, uint32_t b) {
    const struct meta *x = &g->nodes.at[g->inputs.at[a].node].meta;
    const struct meta *y = &g->nodes.at[g->inputs.at[b].node].meta;
    bool same = x->rank == y->rank && x->dtype == y->dtype;
    for (int d = 0; same && d < x->rank; d++) same = d == x->rank - 2 || x->size[d] == y->size[d];
    return same;
}

/* The node that is multiplied more than once; NONE. */
static node_id find_shared(const struct graph *g, const bool *whole, lanes_weights *weights) {
    for (node_id id = 0; id < g->nodes.n; id++) {
        uint32_t first = weight_of(g, &g->nodes.at[id], whole);
        if (first == NONE) continue;
        weights->n = 0;
        vec_push(g->arena, weights, first);
        for (node_id k = id + 1; k < g->nodes.n; k++) {
            uint32_t other = weight_of(g, &g->nodes.at[k], whole);
            if (other != NONE && g->nodes.at[k].args[0].node == g->nodes.at[id].args[0].node &&
                other != first && fit(g, first, other))
                vec_push(g->arena, weights, other);
        }
        if (weights->n > 1) return g->nodes.at[id].args[0].node;
    }
    return NONE;
}

struct graph *lanes_join_products(struct graph *g, const bool *whole, lanes_weights *weights) {
    struct graph *to = graph_like(g);
    node_id shared = find_shared(g, whole, weights), joint = NONE, weight = NONE;
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    if (shared == NONE) return g;
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *n = &g->nodes.at[id];
        if (n->op != OP_INPUT && weight == NONE) { /* behind all inputs */
            struct meta m = g->nodes.at[g->inputs.at[weights->at[0]].node].meta;
            ex *rows = &m.size[m.rank - 2];
            for (uint32_t i = 1; i < weights->n; i++)
                *rows = ex_add(g->ex, *rows, rows_of(g, weights->at[i]));
            meta_contiguous(g->ex, &m);
            weight = graph_input(to, "weights", INPUT_ARG, NULL, &m, to->inputs.n);
        }
        uint32_t mine = weight_of(g, n, whole), i = 0;
        while (mine != NONE && i < weights->n && weights->at[i] != mine) i++;
        if (mine == NONE || i == weights->n || n->args[0].node != shared) {
            map[id] = graph_copy(to, g, id, map);
            continue;
        }
        struct build b = {to, n->where};
        if (joint == NONE)
            joint = call(&b, OP_MATMUL, arg_node(map[shared]),
                         arg_node(call(&b, OP_MT, arg_node(weight))));
        ex begin = ex_const(g->ex, 0);
        for (uint32_t k = 0; k < i; k++) begin = ex_add(g->ex, begin, rows_of(g, weights->at[k]));
        map[id] = cut(&b, joint, n->meta.rank - 1, begin,
                      ex_add(g->ex, begin, rows_of(g, weights->at[i])));
    }
    for (uint32_t k = 0; k < g->outputs.n; k++)
        vec_push(g->arena, &to->outputs, map[g->outputs.at[k]]);
    return to;
}
