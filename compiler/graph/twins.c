/* twins.c: reductions that differ in what they keep of their dimensions alone are one.
 *
 *   %s = sum(%x, dim=[0, 2], keepdim=False)      %s = sum(%x, dim=[0, 2], keepdim=False)
 *   %t = sum(%x, dim=[0, 2], keepdim=True)       %t = view(%s, size=[1, 64, 1])
 *
 * A batch norm in training mode has both: what its running statistics take, and what it normalises
 * by. One of the two would go with what computes x, the other one, with what reads it again. */
#include "graph/graph_impl.h"

/* The argument of a reduction that says what is kept; -1: it is none. */
static int keepdim_of(const struct node *n) {
    int k;
    return op_info(n->op)->class == REDUCE && op_param(n->op, "keepdim", &k) ? k : -1;
}

static bool same_argument(const struct graph *g, const struct arg *a, const struct arg *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case ARG_NONE: return true;
    case ARG_NODE: return a->node == b->node;
    case ARG_DTYPE: return a->dtype == b->dtype;
    case ARG_INT: return a->i == b->i;
    case ARG_INTS: {
        int rank = WS_MAX_RANK;
        return dims_set(g->ex, a, rank) == dims_set(g->ex, b, rank);
    }
    case ARG_FLOAT:
    case ARG_BOOL:
    case ARG_STR:
    case ARG_GRAPH:
    case ARG_NODES: return false; /* no reduction has one but keepdim */
    }
    return false;
}

static bool are_twins(const struct graph *g, const struct node *a, const struct node *b) {
    int keepdim = keepdim_of(a);
    if (keepdim < 0 || a->op != b->op || a->meta.dtype != b->meta.dtype) return false;
    for (int i = 0; i < a->n_args; i++)
        if (i != keepdim && !same_argument(g, &a->args[i], &b->args[i])) return false;
    return true;
}

static void make_view(struct graph *g, struct node *n, node_id of) {
    struct arg *args = NEW_ARRAY(g->arena, struct arg, 2);
    args[0] = arg_node(of);
    args[1] = arg_ints(g, n->meta.size, n->meta.rank);
    n->op = OP_VIEW;
    n->args = args;
    n->n_args = 2;
}

void graph_join_twins(struct graph *g) {
    enum { NONE = 0 }; /* nodes count from 1 here: of each operand, its last reduction; before it */
    node_id *last = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    node_id *before = NEW_ARRAY(g->arena, node_id, g->nodes.n + 1);
    for (node_id n = 0; n < g->nodes.n; n++) {
        struct node *x = &g->nodes.at[n];
        if (keepdim_of(x) < 0) continue;
        node_id of = x->args[0].node, twin = last[of];
        while (twin != NONE && !are_twins(g, &g->nodes.at[twin - 1], x)) twin = before[twin];
        if (twin != NONE) {
            make_view(g, x, twin - 1);
        } else {
            before[n + 1] = last[of];
            last[of] = n + 1;
        }
    }
}
