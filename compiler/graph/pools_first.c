/* pools_first.c: means of windows, taken of what a convolution reads and not of what it writes.
 *
 *   %c = convolution(%x, %w, %b)   # 1x1           %p = avg_pool(%x, [2])
 *   %p = avg_pool(%c, [2])                         %c = convolution(%p, %w, %b)
 *
 * A convolution whose filters have one tap makes of each pixel what it makes of it alone, and sums:
 * the mean of what it makes of some pixels is what it makes of their mean. So it has a quarter of
 * the pixels to make, and none of them is stored for the pool. Each window must count its elements
 * alone, or a bias, and padding, would weigh otherwise. In f32 alone: a mean of 16 bits would be
 * rounded before it is multiplied, and what the convolution sums up may be far less than its terms.
 *
 * Pays where no more is stored: q*C_in elements for C_out, if one of 1/q pixels is left.
 *
 * Needs: a captured, simplified graph. Keeps: values, but for rounding. */
#include "graph/graph_impl.h"

static bool all_are(const struct graph *g, const struct arg *list, int64_t want) {
    int64_t v;
    for (uint32_t k = 0; list->kind == ARG_INTS && k < list->ints.n; k++)
        if (!ex_is_const(g->ex, list->ints.at[k], &v) || v != want) return false;
    return true;
}

/* One tap, which is where the result is. */
static bool is_pixelwise(const struct graph *g, const struct node *n) {
    if (n->op != OP_CONVOLUTION || n->meta.dtype != DT_F32 || n->args[6].b) return false;
    const struct meta *w = &g->nodes.at[n->args[1].node].meta;
    for (int d = 2; d < w->rank; d++)
        if (w->size[d] != ex_const(g->ex, 1)) return false;
    return all_are(g, &n->args[3], 1) && all_are(g, &n->args[4], 0);
}

static bool is_mean(const struct graph *g, const struct node *n) {
    return n->op == OP_AVG_POOL && all_are(g, &n->args[3], 0) && !n->args[4].b &&
           n->args[6].kind == ARG_NONE;
}

static int64_t elements(const struct graph *g, const struct meta *m) {
    return ex_hint(g->ex, meta_numel(g->ex, m));
}

/* The convolution that goes behind pool n; NO_NODE: it stays in front. */
static node_id moves_behind(const struct graph *g, const struct node *n, const uint32_t *uses) {
    if (!is_mean(g, n)) return NO_NODE;
    const struct node *c = &g->nodes.at[n->args[0].node];
    if (uses[n->args[0].node] != 1 || !is_pixelwise(g, c)) return NO_NODE;
    const struct meta *x = &g->nodes.at[c->args[0].node].meta;
    if (x->rank != c->meta.rank || c->meta.rank != n->meta.rank) return NO_NODE;
    double left = (double)elements(g, &n->meta) / (double)elements(g, &c->meta);
    bool pays = left < 1 && left * (double)elements(g, x) <= (double)elements(g, &c->meta);
    return pays ? n->args[0].node : NO_NODE;
}

static struct graph *rebuild(struct graph *g, bool both) {
    uint32_t n = g->nodes.n;
    const uint32_t *uses = graph_use_counts(g);
    node_id *behind = NEW_ARRAY(g->arena, node_id, n), *map = NEW_ARRAY(g->arena, node_id, n);
    bool *moved = NEW_ARRAY(g->arena, bool, n), any = false;
    for (node_id i = 0; i < n; i++) {
        behind[i] = moves_behind(g, &g->nodes.at[i], uses);
        if (behind[i] != NO_NODE) any = moved[behind[i]] = true;
    }
    if (!any) return g;
    struct graph *to = graph_like(g);
    for (node_id i = 0; i < n; i++) {
        node_id c = behind[i], as_it_was = NO_NODE;
        bool goes = moved[i] && !both;
        if (c != NO_NODE && both) {
            as_it_was = graph_copy(to, g, i, map);
            map[c] = map[g->nodes.at[c].args[0].node];
        }
        map[i] = goes ? map[g->nodes.at[i].args[0].node] : graph_copy(to, g, i, map);
        if (c == NO_NODE) continue;
        node_id x = g->nodes.at[c].args[0].node, was = map[x];
        map[x] = map[i];
        map[i] = graph_copy(to, g, c, map);
        map[x] = was;
        if (both) map[i] = graph_op2(to, OP_MINIMUM, as_it_was, map[i]);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return to;
}

struct graph *graph_pools_first(struct graph *g) {
    return rebuild(g, false);
}

struct graph *graph_pools_either_way(struct graph *g) {
    return rebuild(g, true);
}
