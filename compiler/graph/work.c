/* work.c: what an evaluation of a graph costs, as a count of the elements that its operators read
 * or make.
 *
 *   %y = matmul(%x, %w)       x: [64, 256], w: [256, 32]      64 * 32 * 256
 *   %s = sum(%y, dim=[1])                                     64 * 32
 *   %v = view(%s, [8, 8])                                     0
 *
 * Good for comparing two graphs that are evaluated by the same means. */
#include "graph/graph.h"
#include "graph/loop.h"
#include "graph/traits.h"

static double elements(const struct graph *g, node_id id) {
    return (double)ex_value(g->ex, meta_numel(g->ex, &g->nodes.at[id].meta));
}

/* How many terms a product adds up. */
static double depth(const struct graph *g, const struct node *n) {
    const struct meta *y = &g->nodes.at[n->args[1].node].meta;
    double terms = 1;
    if (!op_convolves(n->op)) return (double)ex_value(g->ex, y->size[y->rank - 2]);
    for (int i = 2; i < y->rank; i++) terms *= (double)ex_value(g->ex, y->size[i]);
    return terms;
}

static double most_read(const struct graph *g, const struct node *n) {
    double most = 0;
    for (int k = 0; k < n->n_args; k++) {
        const node_id *at;
        int count = arg_nodes(&n->args[k], &at);
        while (count--)
            if (elements(g, at[count]) > most) most = elements(g, at[count]);
    }
    return most;
}

static double work_of(const struct graph *g, node_id id) {
    const struct node *n = &g->nodes.at[id];
    double made = elements(g, id), read;
    switch (op_info(n->op)->class) {
    case INPUT:
    case VIEW: return 0;
    case CREATE:
    case POINTWISE:
    case MOVE: return made;
    case MATMUL: return made * depth(g, n);
    case LOOP: return loop_work(g, id);
    case REDUCE:
    case SCAN:
    case COMPOSITE: break;
    }
    read = most_read(g, n);
    return read > made ? read : made;
}

double graph_work(const struct graph *g) {
    double all = 0;
    for (node_id id = 0; id < g->nodes.n; id++) all += work_of(g, id);
    return all;
}
