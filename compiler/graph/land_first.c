/* land_first.c: what lands on fewer rows is scanned there, along another axis.
 *
 *   %c = cumsum(%x, 0)                             # f32[16, 9, 64]
 *   %y = index_add(%z, 1, %i, %c)                  # %z: zeros [16, 2, 64]
 *   ->  %p = index_add(%z, 1, %i, %x)
 *       %y = cumsum(%p, 0)
 *
 * A sum of prefixes is the prefix of the sums. Rows that are scanned are fewer then, and few
 * sources are straight-line arithmetic in the scan's kernel (schedule/unroll.c), one launch for
 * two. In f32 and f64 alone: in 16 bits sums would be rounded before they are scanned.
 *
 * Needs: a captured, simplified graph. Keeps: values, but for rounding. */
#include "graph/graph_impl.h"

static bool is_nothing(const struct graph *g, const struct node *n) {
    return n->op == OP_ZEROS || (n->op == OP_FULL && arg_is_number(g, &n->args[1], 0));
}

/* The scan that n adds up along another axis, to fewer rows, and that nobody else reads; or
 * NO_NODE. */
static node_id scan_of(const struct graph *g, const struct node *n, const uint32_t *uses) {
    if (n->op != OP_INDEX_ADD || n->args[3].kind != ARG_NODE) return NO_NODE;
    node_id id = n->args[3].node;
    const struct node *scan = graph_node(g, id), *self = graph_node(g, n->args[0].node);
    enum dtype t = n->meta.dtype;
    int64_t dim, along, rows, sources;
    if (scan->op != OP_CUMSUM || uses[id] != 1 || (t != DT_F32 && t != DT_F64)) return NO_NODE;
    if (scan->meta.dtype != t || graph_node(g, scan->args[0].node)->meta.dtype != t) return NO_NODE;
    if (!is_nothing(g, self) || !arg_is_number(g, &n->args[4], 1)) return NO_NODE;
    if (!ex_is_const(g->ex, n->args[1].i, &dim) || !ex_is_const(g->ex, scan->args[1].i, &along))
        return NO_NODE;
    int rank = scan->meta.rank;
    dim += dim < 0 ? rank : 0, along += along < 0 ? rank : 0;
    if (dim == along || dim >= rank || n->meta.rank != rank) return NO_NODE;
    bool known = ex_is_const(g->ex, n->meta.size[dim], &rows) &&
                 ex_is_const(g->ex, scan->meta.size[dim], &sources);
    return known && rows <= sources ? id : NO_NODE;
}

/* What lands, scanned. */
static node_id put_scan(struct graph *to, const struct node *n, const struct node *scan,
                        const node_id *map) {
    struct arg of_sum[5], of_scan[3];
    for (int i = 0; i < 5; i++) of_sum[i] = arg_map(to, &n->args[i], map);
    of_sum[3] = arg_node(map[scan->args[0].node]);
    of_scan[0] = arg_node(graph_call_like(to, "land first", n, of_sum));
    of_scan[1] = scan->args[1], of_scan[2] = scan->args[2];
    return graph_call_like(to, "land first", scan, of_scan);
}

struct graph *graph_land_first(struct graph *g) {
    return graph_replace_pairs(g, scan_of, put_scan);
}
