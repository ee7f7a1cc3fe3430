/* bound_move.c: how far off what views and moves show may be, and what lands: errors go where their
 * values go.
 *
 *   %y = gather(%x, 0, %i)
 * ->
 *   %e = gather(%e_x, 0, %i), or anything that x holds where %i is in doubt */
#include <math.h>

#include "graph/bound.h"
#include "graph/eval.h"
#include "graph/traits.h"

/* ---- views and moves ------------------------------------------------------------------------- */

static node_id bound_cat(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id);
    const struct arg *list = &w->from->nodes.at[id].args[0];
    node_id *at = NEW_ARRAY(bounds_graph(w)->arena, node_id, list->nodes.n);
    bool exact = true;
    for (uint32_t i = 0; i < list->nodes.n; i++) exact &= w->error[list->nodes.at[i]] == EXACT;
    if (exact) return EXACT;
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        node_id x = list->nodes.at[i], e = w->error[x];
        at[i] = e == EXACT ? zeros_like(w, w->value[x]) : e;
    }
    return call(&w->b, OP_CAT, nodes_arg(at, list->nodes.n), n.args[1]);
}

/* Any element of x, off by what any is. */
static node_id any_element(struct bounds *w, node_id x, node_id e) {
    struct build *b = &w->b;
    struct arg all = arg_ints(bounds_graph(w), NULL, 0);
    node_id span = wide(w, x);
    span = binary(b, OP_SUB, reduce(b, OP_AMAX, span, all, false),
                  reduce(b, OP_AMIN, span, all, false));
    return e == EXACT ? span : binary(b, OP_ADD, span, reduce(b, OP_AMAX, e, all, false));
}

/* Where the looked up index is in doubt. */
static node_id doubtful(struct bounds *w, node_id e, node_id off, node_id any,
                        const struct meta *m) {
    struct arg in_doubt = arg_node(scalar(&w->b, OP_GT, off, 0));
    return as_error(w, arg_node(call(&w->b, OP_WHERE, in_doubt, arg_node(any), as_arg(e))), m);
}

static node_id bound_gather(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id), *old = &w->from->nodes.at[id];
    node_id x = n.args[0].node, e = w->error[old->args[0].node], off = w->error[old->args[2].node];
    node_id moved = e == EXACT ? EXACT : again(w, &n, OP_GATHER, e, EXACT);
    return off == EXACT ? moved : doubtful(w, moved, off, any_element(w, x, e), &n.meta);
}

/* Where the indices broadcast to in the result, with 1 for its other dimensions. */
static node_id among_result(struct bounds *w, const struct node *n, node_id x, int rank) {
    struct exprs *p = bounds_graph(w)->ex;
    const struct meta *m = bounds_meta(w, x);
    int at = graph_index_position(p, &n->args[2], bounds_meta(w, n->args[0].node)->rank);
    struct meta to = {.rank = n->meta.rank};
    for (int i = 0; i < to.rank; i++) {
        int k = i - at - (rank - m->rank);
        to.size[i] = k >= 0 && k < m->rank ? m->size[k] : ex_const(p, 1);
    }
    return reshape(&w->b, x, &to);
}

static node_id bound_index(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id), *old = &w->from->nodes.at[id];
    node_id x = n.args[0].node, e = w->error[old->args[0].node];
    node_id out = e == EXACT ? EXACT : again(w, &n, OP_INDEX, e, EXACT);
    const struct arg *list = &old->args[1];
    int rank = 0;
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        int r = bounds_meta(w, w->value[list->nodes.at[i]])->rank;
        if (r > rank) rank = r;
    }
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        node_id off = w->error[list->nodes.at[i]];
        if (off == EXACT) continue;
        out = doubtful(w, out, among_result(w, &n, off, rank), any_element(w, x, e), &n.meta);
    }
    return out;
}

/* e, shown or moved as the values are; what is around them is exact. */
node_id bound_shown(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id);
    int k;
    node_id e = w->error[w->from->nodes.at[id].args[0].node];
    if (e == EXACT) return e;
    struct arg args[MAX_PARAMS];
    for (int i = 0; i < n.n_args; i++) args[i] = n.args[i];
    if (op_param(n.op, "value", &k)) args[k] = arg_float(0);
    args[0] = arg_node(e);
    return build_call(&w->b, n.op, args, n.n_args);
}

node_id bound_move(struct bounds *w, node_id id) {
    switch (op_move(w->from->nodes.at[id].op)) {
    case MOVE_CAT: return bound_cat(w, id);
    case MOVE_GATHER: return bound_gather(w, id);
    case MOVE_INDEX: return bound_index(w, id);
    case MOVE_CONSTANT_PAD:
    case MOVE_FLIP:
    case MOVE_WINDOWS: break;
    }
    return bound_shown(w, id);
}

/* ---- landings -------------------------------------------------------------------------------- */

/* e where something lands, of what lands; sums by how many do. What lands times a number has that
 * number's size, whatever its sign. Anything, if an index is in doubt. */
node_id bound_landing(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id), *old = &w->from->nodes.at[id];
    struct build *b = &w->b;
    node_id x = n.args[0].node, e = w->error[old->args[0].node];
    bool number = n.args[3].kind != ARG_NODE, adds = n.op != OP_SCATTER;
    node_id f = number ? EXACT : w->error[old->args[3].node], off = w->error[old->args[2].node];
    struct arg args[MAX_PARAMS];
    node_id sum = EXACT;
    double alpha = n.op == OP_INDEX_ADD ? fabs(arg_number(bounds_graph(w), &n.args[4])) : 1;
    for (int i = 0; i < n.n_args; i++) args[i] = n.args[i];
    if (n.op == OP_INDEX_ADD) args[4] = arg_float(alpha);
    if (adds && dtype_is_float(n.meta.dtype)) { /* how many land, and how much */
        node_id source = n.args[3].node;
        args[0] = arg_node(zeros_like(w, x));
        args[3] = arg_node(scalar(b, OP_ADD, zeros_like(w, source), 1));
        int more = alpha == 1 ? 1 : 3; /* alpha is rounded, and so is the product */
        node_id count = scalar(b, OP_ADD, call(b, n.op, args[0], args[1], args[2], args[3]), more);
        double h = sum_depth(w, bounds_numel(w, bounds_meta(w, source))) + more - 1;
        count = call(b, OP_MINIMUM, arg_node(count), arg_float(h));
        args[0] = arg_node(largest(w, x, e));
        args[3] = arg_node(largest(w, source, f));
        sum = scalar(b, OP_MUL, build_call(b, n.op, args, n.n_args), roundoff_of(w, n.meta.dtype));
        sum = binary(b, OP_MUL, sum, count);
    }
    if (e != EXACT || f != EXACT) {
        args[0] = arg_node(e == EXACT ? zeros_like(w, x) : e);
        if (f != EXACT)
            args[3] = arg_node(f);
        else
            args[3] = number ? arg_float(0) : arg_node(zeros_like(w, n.args[3].node));
        sum = plus(w, sum, build_call(b, n.op, args, n.n_args));
    }
    if (off != EXACT) {
        node_id doubt = reduce(b, OP_AMAX, off, arg_ints(bounds_graph(w), NULL, 0), false);
        if (sum == EXACT) sum = zeros_like(w, w->value[id]);
        sum = or_infinite(w, scalar(b, OP_GT, doubt, 0), sum);
    }
    return stored_result(w, id, sum);
}
