/* landed.c: sums over pairs of a source and a place, as decompose_move.c makes them of what lands
 * by index, put together again: an element for each pair is too many for a reference.
 *
 *   eq([1, 1, N] index, [S, 1, 1] arange) ; where(eq, source [1, C, N], 0) ; sum over N
 * ->
 *   index_add(zeros [S, C], 0, index [N], source [N, C])
 *
 * What lands nowhere is a 0 at place 0, which changes nothing. */
#include "graph/decompose.h"
#include "graph/graph_impl.h"

static int64_t size_at(const struct graph *g, const struct meta *m, int d) {
    return ex_value(g->ex, m->size[d]);
}

/* The only dimension that is not 1; -1: there is another one. */
static int only_dim(const struct graph *g, const struct meta *m) {
    int only = -1;
    for (int d = 0; d < m->rank; d++) {
        if (size_at(g, m, d) == 1) continue;
        if (only >= 0) return -1;
        only = d;
    }
    return only;
}

static bool is_reshaped(enum op op) {
    return op == OP_VIEW || op == OP_UNSQUEEZE || op == OP_SQUEEZE;
}

/* 0, 1, 2, .. along dimension d. */
static bool is_places(const struct graph *g, node_id id, int d) {
    if (only_dim(g, &graph_node(g, id)->meta) != d) return false;
    while (is_reshaped(graph_node(g, id)->op)) id = graph_node(g, id)->args[0].node;
    const struct node *n = graph_node(g, id);
    return n->op == OP_ARANGE && arg_number(g, &n->args[0]) == 0 && arg_number(g, &n->args[2]) == 1;
}

static bool is_zero(const struct graph *g, const struct arg *a) {
    return (a->kind == ARG_INT || a->kind == ARG_FLOAT) && arg_number(g, a) == 0;
}

/* Is the source as large as the pairs, but for its place, of which it has one? */
static bool has_source(const struct graph *g, const struct meta *pairs, const struct meta *source,
                       int dim) {
    bool same = source->rank == pairs->rank && size_at(g, source, dim) == 1;
    for (int d = 0; d < pairs->rank && same; d++)
        same = d == dim || size_at(g, source, d) == size_at(g, pairs, d);
    return same;
}

bool graph_find_landed(const struct graph *g, node_id id, struct landed *out) {
    const struct node *n = graph_node(g, id);
    if (n->op != OP_SUM || n->args[0].kind != ARG_NODE || n->args[1].kind != ARG_INTS) return false;
    const struct node *where = graph_node(g, n->args[0].node);
    int last = where->meta.rank - 1;
    if (where->op != OP_WHERE || n->meta.rank != last || n->args[1].ints.n != 1 ||
        ex_value(g->ex, n->args[1].ints.at[0]) != last || n->meta.dtype != where->meta.dtype)
        return false;
    const struct node *eq = graph_node(g, where->args[0].node);
    if (where->args[1].kind != ARG_NODE || !is_zero(g, &where->args[2]) || eq->op != OP_EQ ||
        eq->args[0].kind != ARG_NODE || eq->args[1].kind != ARG_NODE)
        return false;
    *out = (struct landed){
        .hit = where->args[0].node, .pairs = n->args[0].node, .source = where->args[1].node};
    for (int side = 0; side < 2; side++) {
        node_id places = eq->args[!side].node;
        out->index = eq->args[side].node;
        out->dim = only_dim(g, &graph_node(g, places)->meta);
        const struct node *index = graph_node(g, out->index), *source = graph_node(g, out->source);
        if (out->dim >= 0 && out->dim < last && is_places(g, places, out->dim) &&
            dtype_is_int(index->meta.dtype) && only_dim(g, &index->meta) == last &&
            index->meta.rank == last + 1 && source->meta.dtype == n->meta.dtype &&
            has_source(g, &where->meta, &source->meta, out->dim))
            return true;
    }
    return false;
}

node_id graph_land(struct graph *to, const struct meta *sum, const struct landed *l, node_id index,
                   node_id source) {
    struct build b = {to, {0}};
    struct meta all = *meta_of(&b, source), vector = {.rank = 1}, column = {.rank = sum->rank};
    int last = all.rank - 1;
    ex order[WS_MAX_RANK];
    vector.size[0] = all.size[last];
    for (int d = 0; d < sum->rank; d++)
        column.size[d] = d == l->dim ? all.size[last] : ex_const(to->ex, 1);
    for (int d = 0; d <= last; d++)
        order[d] = ex_const(to->ex, d == l->dim ? last : d == last ? l->dim : d);
    source = call(&b, OP_PERMUTE, arg_node(source), arg_ints(to, order, (uint32_t)all.rank));
    source = call(&b, OP_SQUEEZE, arg_node(source), arg_int(to, last));
    index = reshape(&b, index, &vector);
    node_id low = call(&b, OP_GE, arg_node(index), arg_int(to, 0)),
            high = call(&b, OP_LT, arg_node(index), arg_ex(sum->size[l->dim])),
            lands = call(&b, OP_BITWISE_AND, arg_node(low), arg_node(high));
    index = call(&b, OP_WHERE, arg_node(lands), arg_node(index), arg_int(to, 0));
    source = call(&b, OP_WHERE, arg_node(reshape(&b, lands, &column)), arg_node(source),
                  dtype_is_float(sum->dtype) ? arg_float(0) : arg_int(to, 0));
    return call(&b, OP_INDEX_ADD, arg_node(full(&b, sum, 0)), arg_int(to, l->dim), arg_node(index),
                arg_node(source));
}
