/* scans_last.c: what begins with numbers that change no result is scanned with them in front.
 *
 *   %z = full([64, 1], 0.0)                        %z = full([64, 1], 0.0)
 *   %c = cumsum(%x, 1)                             %p = cat([%z, %x], 1)
 *   %y = cat([%z, %c], 1)                          %y = cumsum(%p, 1)
 *
 * An exclusive sum, as it is written: 0 + x = x, and 1 * x = x for products. The concatenation is
 * then of what a kernel reads and not of what it has made, so that the scan's rows are those that
 * are stored: of x[:, :-1] as long as memory has them, with vectors, and in one kernel.
 *
 * Needs: a decomposed, simplified graph. Breaks: nothing, but for the sign of a sum that is 0. */
#include "graph/graph_impl.h"

/* Does every element of n leave what a scan has so far as it is? */
static bool is_identity(const struct graph *g, const struct node *n, enum op scan) {
    if (n->op != OP_FULL) return false;
    const struct arg *fill = &n->args[1];
    bool known = fill->kind != ARG_INT || ex_is_const(g->ex, fill->i, NULL);
    return known && arg_number(g, fill) == (scan == OP_CUMPROD ? 1 : 0);
}

/* The scan that stands last in a concatenation, behind nothing but such elements; or NO_NODE. */
static node_id scan_of(const struct graph *g, const struct node *cat, const uint32_t *uses) {
    if (cat->op != OP_CAT || cat->args[0].nodes.n < 2) return NO_NODE;
    const struct arg *parts = &cat->args[0];
    node_id last = parts->nodes.at[parts->nodes.n - 1];
    const struct node *scan = graph_node(g, last);
    if ((scan->op != OP_CUMSUM && scan->op != OP_CUMPROD) || uses[last] != 1) return NO_NODE;
    const struct node *x = graph_node(g, scan->args[0].node);
    bool one_type = x->meta.dtype == scan->meta.dtype && cat->meta.dtype == scan->meta.dtype;
    if (!one_type || scan->args[1].i != cat->args[1].i) return NO_NODE;
    for (uint32_t i = 0; i + 1 < parts->nodes.n; i++) {
        const struct node *p = graph_node(g, parts->nodes.at[i]);
        if (p->meta.dtype != cat->meta.dtype || !is_identity(g, p, scan->op)) return NO_NODE;
    }
    return last;
}

/* The concatenation of what the scan is of, scanned. */
static node_id put_scan(struct graph *to, const struct node *cat, const struct node *scan,
                        const node_id *map) {
    struct arg all = cat->args[0];
    node_id *parts = NEW_ARRAY(to->arena, node_id, all.nodes.n);
    for (uint32_t i = 0; i < all.nodes.n; i++) parts[i] = map[all.nodes.at[i]];
    parts[all.nodes.n - 1] = map[scan->args[0].node];
    all.nodes.at = parts;
    struct arg of_cat[] = {all, cat->args[1]};
    struct arg of_scan[] = {arg_node(graph_call_like(to, "scans last", cat, of_cat)), scan->args[1],
                            scan->args[2]};
    return graph_call_like(to, "scans last", scan, of_scan);
}

struct graph *graph_scans_last(struct graph *g) {
    return graph_replace_pairs(g, scan_of, put_scan);
}
