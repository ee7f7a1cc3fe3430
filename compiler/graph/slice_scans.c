/* slice_scans.c: scans of which a slice is read begin there, with the sum of what is before it.
 *
 *   %c = cumsum(%x, 1)                             %h = slice(%x, 1, 0, 100)
 *   %y = slice(%c, 1, 100, 900)                    %s = sum(%h, [1], True)
 *                                                  %t = slice(%x, 1, 100, 900)
 *                                                  %c = cumsum(%t, 1)
 *                                                  %y = add(%c, %s)
 *
 * What is scanned has the size of what is made of it then, and is one kernel with it; what is in
 * front is read once and not stored. Narrow floats are summed up as f32 and rounded once, as scans
 * do it. Elements that nobody reads behind the last slice go, too.
 *
 * Needs: a decomposed, simplified graph. Breaks: nothing, but for the rounding of sums. */
#include "graph/decompose.h"
#include "graph/graph_impl.h"

/* The part of its axis that is read of a scan: from `first` on, up to `end`. */
struct part {
    uint32_t readers;
    int64_t first, end;
};

static int64_t axis_of(const struct graph *g, const struct node *scan) {
    int64_t axis;
    if (!ex_is_const(g->ex, scan->args[1].i, &axis)) return -1;
    return axis + (axis < 0 ? scan->meta.rank : 0);
}

/* Which slice of the scan along its axis node n is; false: none that begins at a known place. */
static bool is_slice(const struct graph *g, const struct node *n, int64_t *first, int64_t *end) {
    int64_t dim;
    if (n->op != OP_SLICE || graph_node(g, n->args[0].node)->op != OP_CUMSUM) return false;
    const struct node *scan = graph_node(g, n->args[0].node);
    if (!ex_is_const(g->ex, n->args[1].i, &dim)) return false;
    return dim + (dim < 0 ? scan->meta.rank : 0) == axis_of(g, scan) &&
           ex_is_const(g->ex, n->args[2].i, first) && ex_is_const(g->ex, n->args[3].i, end) &&
           *first < *end;
}

/* By scan: all that is read of it, if slices alone read it and leave out where it begins. */
static struct part *find_parts(struct graph *g, bool *any) {
    const uint32_t *uses = graph_use_counts(g);
    struct part *parts = NEW_ARRAY(g->arena, struct part, g->nodes.n);
    for (node_id i = 0; i < g->nodes.n; i++) {
        const struct node *n = graph_node(g, i);
        int64_t first, end;
        if (!is_slice(g, n, &first, &end)) continue;
        struct part *p = &parts[n->args[0].node];
        if (!p->readers++) *p = (struct part){1, first, end};
        if (first < p->first) p->first = first;
        if (end > p->end) p->end = end;
    }
    for (node_id i = 0; i < g->nodes.n; i++) {
        if (parts[i].readers != uses[i] || parts[i].first == 0) parts[i].readers = 0;
        *any |= parts[i].readers != 0;
    }
    return parts;
}

static node_id put_scan(struct graph *to, const struct node *scan, struct part p, node_id x) {
    struct build b = {to, scan->where};
    struct exprs *e = to->ex;
    enum dtype t = scan->meta.dtype, each = dtype_is_float(t) ? dtype_opmath(t) : t;
    int dim = (int)axis_of(to, scan);
    node_id head = cast(&b, cut(&b, x, dim, ex_const(e, 0), ex_const(e, p.first)), each),
            rest = cast(&b, cut(&b, x, dim, ex_const(e, p.first), ex_const(e, p.end)), each);
    node_id sum = call(&b, OP_SUM, arg_node(head), arg_int(to, dim), arg_bool(true)),
            own = call(&b, OP_CUMSUM, arg_node(rest), arg_int(to, dim));
    return cast(&b, binary(&b, OP_ADD, own, sum), t);
}

/* What shows a slice is a result with the strides of the whole. */
static bool lie_alike(const struct graph *g, const struct graph *to) {
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        const struct meta *m = &graph_node(g, g->outputs.at[i])->meta,
                          *n = &graph_node(to, to->outputs.at[i])->meta;
        for (int d = 0; d < m->rank; d++)
            if (m->stride[d] != n->stride[d]) return false;
    }
    return true;
}

struct graph *graph_slice_scans(struct graph *g) {
    bool any = false;
    const struct part *parts = find_parts(g, &any);
    if (!any) return g;
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    struct graph *to = graph_like(g);
    for (node_id i = 0; i < g->nodes.n; i++) {
        const struct node *n = graph_node(g, i);
        int64_t first, end;
        if (parts[i].readers) {
            map[i] = put_scan(to, n, parts[i], map[n->args[0].node]);
        } else if (is_slice(g, n, &first, &end) && parts[n->args[0].node].readers) {
            const struct part *p = &parts[n->args[0].node];
            struct arg args[] = {arg_node(map[n->args[0].node]), n->args[1],
                                 arg_int(to, first - p->first), arg_int(to, end - p->first),
                                 n->args[4]};
            map[i] = graph_call_like(to, "slice scans", n, args);
        } else {
            map[i] = graph_copy(to, g, i, map);
        }
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return lie_alike(g, to) ? graph_simplify(to) : g;
}
