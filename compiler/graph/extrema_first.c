/* extrema_first.c: non-decreasing functions, taken of an extremum and not of all that it is one of.
 *
 *   %f = relu(%x)
 *   %w = windows(%f, [3, 3], ..., value=-inf)      %w = windows(%x, [3, 3], ..., value=-inf)
 *   %a = amax(%w, [4, 5])                          %a = amax(%w, [4, 5])
 *                                                  %f = relu(%a)
 *
 * f(max(a, b)) = max(f(a), f(b)), NaN included; which of -0.0 and 0.0 comes of both together is
 * open on either side. In a fused kernel f is called once a window, not once for each of its 9
 * elements. What stands between f and the extremum only rearranges elements, and nobody else may
 * read any of it: an argmax or a gradient keeps f where it is. A window that holds padding alone is
 * -inf in PyTorch, and would be f(-inf): so each must provably hold an element. */
#include <math.h>

#include "graph/graph_impl.h"
#include "graph/traits.h"

struct pass {
    const struct graph *from;
    const uint32_t *uses;
    node_id *first, *next; /* of an extremum: what moves behind it, the innermost function first */
    bool *moved;
};

static const struct node *node_at(const struct pass *s, node_id n) { return &s->from->nodes.at[n]; }

/* From one float to another: to the nearest of these, which keeps the order. It goes along with
 * functions, but alone it is no gain, as kernels compute in opmath anyway. */
static bool is_cast(const struct pass *s, const struct node *n) {
    return (n->op == OP_CAST || n->op == OP_CONVERT) && dtype_is_float(n->meta.dtype) &&
           dtype_is_float(node_at(s, n->args[0].node)->meta.dtype);
}

/* The tensor that a function of one is of: the other operand may be a number, on either side. */
static node_id operand_of(const struct node *n) {
    return n->args[n->args[0].kind == ARG_NODE ? 0 : 1].node;
}

/* Of one tensor, and of its type, as is what is left of a clamp; or a cast. */
static bool is_non_decreasing(const struct pass *s, const struct node *n) {
    int tensors = 0;
    if (is_cast(s, n)) return true;
    for (int i = 0; i < n->n_args; i++) tensors += n->args[i].kind == ARG_NODE;
    return op_is_monotone(n->op) && tensors == 1 &&
           n->meta.dtype == node_at(s, operand_of(n))->meta.dtype;
}

struct window {
    ex size;
    int64_t kernel, padding, dilation;
};

static struct window window_at(const struct pass *s, const struct node *n, uint32_t k) {
    const struct exprs *p = s->from->ex;
    const struct meta *x = &node_at(s, n->args[0].node)->meta;
    return (struct window){.size = x->size[x->rank - (int)n->args[1].ints.n + (int)k],
                           .kernel = ex_value(p, n->args[1].ints.at[k]),
                           .padding = ex_value(p, n->args[3].ints.at[k]),
                           .dilation = ex_value(p, n->args[4].ints.at[k])};
}

/* No window ever leaves the operand. */
static bool stays_inside(const struct pass *s, const struct node *n) {
    bool inside = !n->args[5].b;
    for (uint32_t k = 0; k < n->args[1].ints.n; k++) inside &= window_at(s, n, k).padding == 0;
    return inside;
}

/* Does every window hold an element? No window begins behind the last one, if its span is at least
 * the padding (see count_windows in meta_pool.c). One that begins in the padding before the first
 * reaches that or what follows it within `dilation` elements. */
static bool never_empty(const struct pass *s, const struct node *n) {
    for (uint32_t k = 0; k < n->args[1].ints.n; k++) {
        struct window w = window_at(s, n, k);
        int64_t lo, hi;
        ex_range(s->from->ex, w.size, &lo, &hi);
        bool reaches = w.padding <= w.dilation * (w.kernel - 1) && lo >= w.dilation;
        if (w.padding && !reaches) return false;
    }
    return true;
}

/* Are the extrema of f(x)'s windows those of x's, under f? The dimensions of n are still those that
 * `extremum` reduces if `whole` is set. */
static bool windows_commute(const struct pass *s, const struct node *n, const struct node *extremum,
                            bool whole) {
    if (stays_inside(s, n)) return true;
    double nothing = extremum->op == OP_AMAX ? -INFINITY : INFINITY;
    uint32_t dims = dims_of(s->from, extremum, "dim", n->meta.rank);
    for (uint32_t k = 0; k < n->args[1].ints.n; k++)
        whole &= dims >> (n->meta.rank - 1 - (int)k) & 1;
    return whole && dtype_is_float(n->meta.dtype) && arg_number(s->from, &n->args[6]) == nothing &&
           never_empty(s, n);
}

/* Is no element of f(x) less often taken of x, behind the extremum? */
static bool pays(const struct pass *s, const struct node *n, const struct node *extremum) {
    struct exprs *p = s->from->ex;
    return ex_hint(p, meta_numel(p, &extremum->meta)) <= ex_hint(p, meta_numel(p, &n->meta));
}

/* From the extremum up to where its operand is read by others, or made of something else. */
static void find_functions(struct pass *s, node_id id) {
    const struct node *extremum = node_at(s, id);
    bool whole = true, goes = true;
    node_id x = extremum->args[0].node;
    while (goes && s->uses[x] == 1) {
        const struct node *n = node_at(s, x);
        if (is_non_decreasing(s, n)) {
            goes = pays(s, n, extremum);
            if (goes) s->next[x] = s->first[id], s->first[id] = x;
        } else {
            goes = n->op == OP_WINDOWS ? windows_commute(s, n, extremum, whole)
                                       : n->op == OP_FLIP || op_info(n->op)->class == VIEW;
            whole = false;
        }
        if (goes) x = operand_of(n);
    }
    while (s->first[id] != NO_NODE && is_cast(s, node_at(s, s->first[id])))
        s->first[id] = s->next[s->first[id]];
    for (x = s->first[id]; x != NO_NODE; x = s->next[x]) s->moved[x] = true;
}

/* x under what has moved behind it. */
static node_id put_functions(const struct pass *s, struct graph *to, node_id id, node_id *map) {
    node_id out = map[id];
    for (node_id f = s->first[id]; f != NO_NODE; f = s->next[f]) {
        node_id operand = operand_of(node_at(s, f)), was = map[operand];
        map[operand] = out;
        out = graph_copy(to, s->from, f, map);
        map[operand] = was;
    }
    return out;
}

struct graph *graph_extrema_first(struct graph *g) {
    uint32_t n = g->nodes.n;
    struct pass s = {.from = g,
                     .uses = graph_use_counts(g),
                     .first = NEW_ARRAY(g->arena, node_id, n),
                     .next = NEW_ARRAY(g->arena, node_id, n),
                     .moved = NEW_ARRAY(g->arena, bool, n)};
    struct graph *to = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, n);
    for (node_id i = 0; i < n; i++) s.first[i] = NO_NODE;
    for (node_id i = 0; i < n; i++)
        if (g->nodes.at[i].op == OP_AMAX || g->nodes.at[i].op == OP_AMIN) find_functions(&s, i);
    for (node_id i = 0; i < n; i++) {
        map[i] = s.moved[i] ? map[operand_of(&g->nodes.at[i])] : graph_copy(to, g, i, map);
        map[i] = put_functions(&s, to, i, map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return to;
}
