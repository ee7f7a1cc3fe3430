/* land_first.c: what lands on fewer rows is scanned there, along another axis.
 *
 *   %c = cumsum(%x, 0)                             # f32[16, 9, 64]
 *   %y = index_add(%z, 1, %i, %c)                  # %z: zeros [16, 2, 64]
 *   ->  %p = index_add(%z, 1, %i, %x)
 *       %y = cumsum(%p, 0)
 *
 * A sum of prefixes is the prefix of the sums. Rows that are scanned are fewer then, and few
 * sources are straight-line arithmetic in the scan's kernel (schedule/unroll.c): one launch for
 * two.
 *
 * In f32 and f64 alone: in 16 bits sums would be rounded before they are scanned. Needs: a
 * captured, simplified graph. Keeps: values, but for rounding. */
#include "graph/graph_impl.h"

#define NONE UINT32_MAX

static const struct node *at(const struct graph *g, node_id n) { return &g->nodes.at[n]; }

static bool is_number(const struct graph *g, const struct arg *a, double number) {
    bool known = a->kind == ARG_FLOAT || (a->kind == ARG_INT && ex_is_const(g->ex, a->i, NULL));
    return known && arg_number(g, a) == number;
}

static bool is_nothing(const struct graph *g, const struct node *n) {
    return n->op == OP_ZEROS || (n->op == OP_FULL && is_number(g, &n->args[1], 0));
}

/* The scan that n adds up along another axis, to fewer rows, which nobody else reads; or NONE. */
static node_id scan_of(const struct graph *g, const struct node *n, const uint32_t *uses) {
    if (n->op != OP_INDEX_ADD || n->args[3].kind != ARG_NODE) return NONE;
    node_id id = n->args[3].node;
    const struct node *scan = at(g, id), *self = at(g, n->args[0].node);
    enum dtype t = n->meta.dtype;
    int64_t dim, along, rows, sources;
    if (scan->op != OP_CUMSUM || uses[id] != 1 || (t != DT_F32 && t != DT_F64)) return NONE;
    if (scan->meta.dtype != t || at(g, scan->args[0].node)->meta.dtype != t) return NONE;
    if (!is_nothing(g, self) || !is_number(g, &n->args[4], 1)) return NONE;
    if (!ex_is_const(g->ex, n->args[1].i, &dim) || !ex_is_const(g->ex, scan->args[1].i, &along))
        return NONE;
    int rank = scan->meta.rank;
    dim += dim < 0 ? rank : 0, along += along < 0 ? rank : 0;
    if (dim == along || dim >= rank || n->meta.rank != rank) return NONE;
    bool known = ex_is_const(g->ex, n->meta.size[dim], &rows) &&
                 ex_is_const(g->ex, scan->meta.size[dim], &sources);
    return known && rows <= sources ? id : NONE;
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
    uint32_t n = g->nodes.n;
    const uint32_t *uses = graph_use_counts(g);
    node_id *scan = NEW_ARRAY(g->arena, node_id, n), *map = NEW_ARRAY(g->arena, node_id, n);
    bool *moved = NEW_ARRAY(g->arena, bool, n), any = false;
    for (node_id i = 0; i < n; i++)
        if ((scan[i] = scan_of(g, at(g, i), uses)) != NONE) moved[scan[i]] = any = true;
    if (!any) return g;
    struct graph *to = graph_like(g);
    for (node_id i = 0; i < n; i++) {
        if (moved[i]) continue;
        map[i] = scan[i] == NONE ? graph_copy(to, g, i, map)
                                 : put_scan(to, at(g, i), at(g, scan[i]), map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return to;
}
