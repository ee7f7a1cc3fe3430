/* derivatives_move.c: gradients of what moves elements: each element's gradient goes back to where
 * the element came from.
 *
 *   cat       a slice of the gradient for each piece       pad      the gradient without its border
 *   index     added up where the indices point             windows  added up over the windows that
 *   scatter   looked up by the sources that stayed                  look at an element
 *
 * Nothing is added atomically: scatters and windows become sums over what may contribute. */
#include <string.h>

#include "graph/derivatives.h"

static ex number(const struct backprop *p, int64_t v) { return ex_const(p->b->g->ex, v); }

static const struct meta *meta_at(const struct backprop *p, node_id n) { return meta_of(p->b, n); }

static int dim_at(const struct backprop *p, int arg, uint32_t k) {
    return (int)ex_value(p->b->g->ex, p->node.args[arg].ints.at[k]);
}

/* ---- pieces and pads ------------------------------------------------------------------------- */

enum derivative_answer derivative_cat(struct backprop *p, int param, node_id *out) {
    const struct arg *list = &p->node.args[0];
    int dim = (int)ex_value(p->b->g->ex, p->node.args[1].i);
    const struct meta *m = meta_at(p, list->nodes.at[p->element]);
    ex start = number(p, 0);
    if (m->rank != p->node.meta.rank) return NO_GRADIENT; /* an empty [0] among others */
    for (int k = 0; k < p->element; k++) {
        const struct meta *before = meta_at(p, list->nodes.at[k]);
        if (before->rank == m->rank) start = ex_add(p->b->g->ex, start, before->size[dim]);
    }
    *out = cut(p->b, p->grad, dim, start, ex_add(p->b->g->ex, start, m->size[dim]));
    return GRADIENT;
}

/* What was cut off has the gradient 0. */
enum derivative_answer derivative_pad(struct backprop *p, int param, node_id *out) {
    const struct arg *pad = &p->node.args[1];
    ex back[2 * WS_MAX_RANK];
    for (uint32_t k = 0; k < pad->ints.n; k++)
        back[k] = ex_sub(p->b->g->ex, number(p, 0), pad->ints.at[k]);
    *out = call(p->b, OP_CONSTANT_PAD, arg_node(p->grad), arg_ints(p->b->g, back, pad->ints.n));
    return GRADIENT;
}

/* ---- looked up ------------------------------------------------------------------------------- */

/* The index tensors as one vector of positions among all elements of the indexed dimensions. */
static node_id positions(struct backprop *p, const struct meta *m, const struct meta *wide) {
    const struct arg *list = &p->node.args[1];
    node_id at = 0;
    for (uint32_t k = 0; k < list->nodes.n; k++) {
        ex size = m->size[dim_at(p, 2, k)];
        node_id i = cast(p->b, list->nodes.at[k], DT_I64);
        node_id below = call(p->b, OP_LT, arg_node(i), arg_int(p->b->g, 0)); /* from the end */
        i = call(p->b, OP_WHERE, arg_node(below),
                 arg_node(call(p->b, OP_ADD, arg_node(i), arg_ex(size))), arg_node(i));
        i = call(p->b, OP_EXPAND, arg_node(i), arg_ints(p->b->g, wide->size, wide->rank));
        at = k ? binary(p->b, OP_ADD, call(p->b, OP_MUL, arg_node(at), arg_ex(size)), i) : i;
    }
    struct meta flat = {.rank = 1, .size = {meta_numel(p->b->g->ex, wide)}};
    return reshape(p->b, at, &flat);
}

/* index_add into a tensor whose indexed dimensions are one and come first; then they go back. */
enum derivative_answer derivative_index(struct backprop *p, int param, node_id *out) {
    struct exprs *e = p->b->g->ex;
    const struct meta m = *meta_at(p, p->node.args[0].node);
    const struct arg *dims = &p->node.args[2];
    int n = (int)dims->ints.n, wide_rank = p->node.meta.rank - (m.rank - n);
    int first = graph_index_position(e, dims, m.rank), order[WS_MAX_RANK], count = 0;
    struct meta wide = {.rank = (uint8_t)wide_rank}, rows = {.rank = 1}, apart = {0};
    memcpy(wide.size, p->node.meta.size + first, sizeof(ex) * (size_t)wide_rank);
    for (int i = 0; i < wide_rank; i++) order[count++] = first + i;
    for (int i = 0; i < p->node.meta.rank; i++)
        if (i < first || i >= first + wide_rank) order[count++] = i;
    node_id grad = reorder(p->b, p->grad, order); /* [indices.., rest..] */
    rows.size[0] = meta_numel(e, &wide);
    for (int i = wide_rank; i < p->node.meta.rank; i++)
        rows.size[rows.rank++] = meta_at(p, grad)->size[i];
    grad = reshape(p->b, grad, &rows);
    uint32_t indexed = 0;
    ex all = number(p, 1);
    for (int k = 0; k < n; k++) {
        int d = dim_at(p, 2, (uint32_t)k);
        indexed |= 1u << d;
        all = ex_mul(e, all, m.size[d]);
        order[d] = k; /* where dimension d of self comes from */
        apart.size[apart.rank++] = m.size[d];
    }
    for (int d = 0; d < m.rank; d++)
        if (!(indexed >> d & 1)) {
            order[d] = apart.rank;
            apart.size[apart.rank++] = m.size[d];
        }
    node_id at = positions(p, &m, &wide);
    rows.size[0] = all;
    rows.dtype = meta_at(p, grad)->dtype;
    node_id sum = call(p->b, OP_INDEX_ADD, arg_node(full(p->b, &rows, 0)), arg_int(p->b->g, 0),
                       arg_node(at), arg_node(grad));
    *out = reorder(p->b, reshape(p->b, sum, &apart), order);
    return GRADIENT;
}

/* ---- scattered ------------------------------------------------------------------------------- */

/* x, which is as large as `from`, with 0 behind it along each dimension up to what `to` is. */
static node_id filled_up(struct backprop *p, node_id x, const struct meta *from,
                         const struct meta *to) {
    ex pad[2 * WS_MAX_RANK];
    bool same = true;
    for (int k = 0; k < to->rank; k++) {
        int at = 2 * (to->rank - 1 - k);
        pad[at] = number(p, 0);
        pad[at + 1] = ex_sub(p->b->g->ex, to->size[k], from->size[k]);
        same &= to->size[k] == from->size[k];
    }
    if (same) return x;
    return call(p->b, OP_CONSTANT_PAD, arg_node(x), arg_ints(p->b->g, pad, 2 * (uint32_t)to->rank));
}

/* What was overwritten has none, and each source has the gradient of where it went: if several went
 * to one element, as PyTorch's do, all of them, though the last alone is there. */
enum derivative_answer derivative_scatter(struct backprop *p, int param, node_id *out) {
    const struct arg dim = p->node.args[1], index = p->node.args[2], *src = &p->node.args[3];
    const struct meta places = *meta_at(p, index.node);
    if (!p->node.meta.rank || !places.rank) return EXPAND_INSTEAD;
    if (param == 0) {
        *out = call(p->b, OP_SCATTER, arg_node(p->grad), dim, index, arg_int(p->b->g, 0));
        return GRADIENT;
    }
    const struct meta sources = *meta_at(p, src->node);
    node_id grad = call(p->b, OP_GATHER, arg_node(p->grad), dim, index);
    *out = filled_up(p, grad, &places, &sources);
    return GRADIENT;
}

/* Each source is asked what its place wants; expanded, all places would be asked by each. */
enum derivative_answer derivative_scatter_add(struct backprop *p, int param, node_id *out) {
    const struct arg dim = p->node.args[1], index = p->node.args[2], *src = &p->node.args[3];
    const struct meta places = *meta_at(p, index.node), sources = *meta_at(p, src->node);
    if (!p->node.meta.rank || !places.rank) return EXPAND_INSTEAD;
    *out = p->grad;
    if (param == 0) return GRADIENT;
    node_id grad = call(p->b, OP_GATHER, arg_node(p->grad), dim, index);
    *out = filled_up(p, grad, &places, &sources);
    return GRADIENT;
}

enum derivative_answer derivative_index_add(struct backprop *p, int param, node_id *out) {
    const struct arg dim = p->node.args[1], index = p->node.args[2], *alpha = &p->node.args[4];
    if (!p->node.meta.rank || !meta_at(p, index.node)->rank) return EXPAND_INSTEAD;
    *out = p->grad;
    if (param == 0) return GRADIENT;
    *out = call(p->b, OP_INDEX_SELECT, arg_node(p->grad), dim, index);
    if (arg_number(p->b->g, alpha) != 1) *out = call(p->b, OP_MUL, arg_node(*out), *alpha);
    return GRADIENT;
}

static node_id with_number(struct backprop *p, enum op op, node_id x, ex v) {
    return call(p->b, op, arg_node(x), arg_ex(v));
}

static node_id all_of(struct backprop *p, node_id x, node_id y) {
    return binary(p->b, OP_LOGICAL_AND, x, y);
}

/* Of positions `from` those that are i*stride for an i below n: i, and whether there is one. */
static node_id unstride(struct backprop *p, node_id from, ex stride, ex n, node_id *exists) {
    node_id i = with_number(p, OP_MAXIMUM, from, number(p, 0));
    *exists = with_number(p, OP_GE, from, number(p, 0));
    if (stride != number(p, 1)) {
        node_id rest = with_number(p, OP_REMAINDER, i, stride);
        *exists = all_of(p, *exists, with_number(p, OP_EQ, rest, number(p, 0)));
        i = with_number(p, OP_FLOOR_DIVIDE, i, stride);
    }
    *exists = all_of(p, *exists, with_number(p, OP_LT, i, n));
    return with_number(p, OP_MINIMUM, i, ex_sub(p->b->g->ex, n, number(p, 1)));
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Without a step the gradient is padded; with one, each element asks whether it was taken. */
enum derivative_answer derivative_slice(struct backprop *p, int param, node_id *out) {
    struct exprs *e = p->b->g->ex;
    const struct meta m = *meta_at(p, p->node.args[0].node);
    int dim = (int)ex_value(e, p->node.args[1].i);
    ex start = p->node.args[2].i, step = p->node.args[4].i, n = p->node.meta.size[dim];
    if (step == number(p, 1)) {
        ex pad[2 * WS_MAX_RANK];
        uint32_t at = 2 * (uint32_t)(m.rank - 1 - dim);
        for (uint32_t k = 0; k < at; k++) pad[k] = number(p, 0);
        pad[at] = start;
        pad[at + 1] = ex_sub(e, m.size[dim], ex_add(e, start, n));
        *out = call(p->b, OP_CONSTANT_PAD, arg_node(p->grad), arg_ints(p->b->g, pad, at + 2));
        return GRADIENT;
    }
    struct meta column = {.rank = m.rank};
    for (int k = 0; k < m.rank; k++) column.size[k] = number(p, 1);
    column.size[dim] = m.size[dim];
    node_id exists, from = with_number(p, OP_SUB, iota(p->b, m.size[dim]), start);
    node_id i = unstride(p, from, step, n, &exists);
    *out = call(p->b, OP_WHERE, arg_node(reshape(p->b, exists, &column)),
                arg_node(index_one(p->b, p->grad, i, dim)), arg_int(p->b->g, 0));
    return GRADIENT;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* A vector along dimension `dim` of a tensor of that rank. */
static node_id along(struct backprop *p, ex size, int dim, int rank) {
    struct meta m = {.rank = (uint8_t)rank};
    for (int k = 0; k < rank; k++) m.size[k] = number(p, 1);
    m.size[dim] = size;
    return reshape(p->b, iota(p->b, size), &m);
}

/* How many windows an element may be in, where these are fewer than a window has elements; else 0.
 * Windows that do not overlap have each element once. */
static int64_t windows_of_element(const struct exprs *e, const struct arg *args, int k) {
    int64_t size, stride, dilation;
    bool known = ex_is_const(e, args[1].ints.at[k], &size) &&
                 ex_is_const(e, args[2].ints.at[k], &stride) &&
                 ex_is_const(e, args[4].ints.at[k], &dilation);
    if (!known || dilation != 1 || stride < 2 || size < 2) return 0;
    return (size - 1) / stride + 1;
}

/* One dimension of the gradient of windows, as it is read for each place and tap. What is beside it
 * is 0: `before` windows, `behind` windows, and `beyond` elements at the end of each. */
struct taps {
    node_id window, element;
    node_id exists; /* KEEP: always */
    ex before, behind, beyond;
};

/* As many zeros as there must be behind n windows, for positions of x count to `last`. */
static ex zeros_behind(struct backprop *p, ex last, ex n, ex stride) {
    struct exprs *e = p->b->g->ex;
    ex at = ex_sub(e, ex_div(e, last, stride), ex_sub(e, n, number(p, 1)));
    return ex_max(e, at, number(p, 0));
}

/* Position i, from the start of the padding, is element e of window o where i = o*stride +
 * e*dilation: for each i and e there is one such o or none. The last e comes first, so that o
 * grows. */
static struct taps taps_by_element(struct backprop *p, node_id from, const struct arg *args, int k,
                                   int rank) {
    struct exprs *e = p->b->g->ex;
    ex stride = args[2].ints.at[k], dilation = args[4].ints.at[k], zero = number(p, 0);
    ex last = ex_sub(e, args[1].ints.at[k], number(p, 1)), reach = ex_mul(e, last, dilation);
    struct taps t = {
        .exists = KEEP, .before = ex_ceildiv(e, reach, stride), .behind = zero, .beyond = zero};
    node_id tap = along(p, args[1].ints.at[k], rank / 2 + k, rank);
    t.element = call(p->b, OP_SUB, arg_ex(last), arg_node(tap));
    node_id at = with_number(p, OP_ADD, from, ex_sub(e, ex_mul(e, t.before, stride), reach));
    t.window = binary(p->b, OP_ADD, at, with_number(p, OP_MUL, tap, dilation));
    if (stride == number(p, 1)) return t;
    node_id rest = with_number(p, OP_REMAINDER, t.window, stride);
    t.exists = with_number(p, OP_EQ, rest, zero);
    t.window = with_number(p, OP_FLOOR_DIVIDE, t.window, stride);
    return t;
}

/* The windows that end behind i, to the last that begins before it: a few for each i. */
static struct taps taps_by_window(struct backprop *p, node_id from, const struct arg *args, int k,
                                  int rank, int64_t windows) {
    struct exprs *e = p->b->g->ex;
    ex stride = args[2].ints.at[k], all = ex_mul(e, number(p, windows), stride);
    struct taps t = {.exists = KEEP,
                     .before = number(p, windows - 1),
                     .behind = number(p, 0),
                     .beyond = ex_sub(e, all, args[1].ints.at[k])};
    t.window = with_number(p, OP_FLOOR_DIVIDE, from, stride);
    t.element = with_number(p, OP_REMAINDER, from, stride);
    if (windows == 1) return t;
    node_id tap = along(p, number(p, windows), rank / 2 + k, rank);
    t.window = binary(p->b, OP_ADD, t.window, tap);
    t.element = with_number(p, OP_ADD, t.element, ex_sub(e, all, stride));
    t.element = binary(p->b, OP_SUB, t.element, with_number(p, OP_MUL, tap, stride));
    return t;
}

/* d x[i] = sum over taps of grad[window, element], which is 0 beside the windows that there are:
 * so nothing is read there, and positions need not be held inside. */
static node_id fold(struct backprop *p, node_id grad, const struct meta *m,
                    const struct arg *args) {
    struct exprs *e = p->b->g->ex;
    int n = (int)args[1].ints.n, lead = m->rank - n;
    node_id index[6], valid = KEEP;
    ex dims[6], sums[3], pad[12];
    bool pads = false;
    for (int k = 0; k < n; k++) {
        ex padding = args[3].ints.at[k], size = m->size[lead + k];
        node_id from = with_number(p, OP_ADD, along(p, size, k, 2 * n), padding);
        int64_t windows = windows_of_element(e, args, k);
        struct taps t = windows ? taps_by_window(p, from, args, k, 2 * n, windows)
                                : taps_by_element(p, from, args, k, 2 * n);
        ex last = ex_sub(e, ex_add(e, size, padding), number(p, 1));
        t.behind = zeros_behind(p, last, meta_at(p, grad)->size[lead + k], args[2].ints.at[k]);
        index[k] = t.window;
        index[n + k] = t.element;
        if (t.exists != KEEP) valid = valid == KEEP ? t.exists : all_of(p, valid, t.exists);
        dims[k] = number(p, lead + k);
        dims[n + k] = sums[k] = number(p, lead + n + k);
        ex *of_elements = pad + 2 * (n - 1 - k), *of_windows = of_elements + 2 * n;
        of_windows[0] = t.before, of_windows[1] = t.behind;
        of_elements[0] = number(p, 0), of_elements[1] = t.beyond;
    }
    for (int i = 0; i < 4 * n; i++) pads |= pad[i] != number(p, 0);
    if (pads)
        grad = call(p->b, OP_CONSTANT_PAD, arg_node(grad), arg_ints(p->b->g, pad, 4 * (uint32_t)n));
    node_id each = call(p->b, OP_INDEX, arg_node(grad), nodes_arg(index, 2 * (uint32_t)n),
                        arg_ints(p->b->g, dims, 2 * (uint32_t)n));
    if (valid != KEEP)
        each = call(p->b, OP_WHERE, arg_node(valid), arg_node(each), arg_int(p->b->g, 0));
    return call(p->b, OP_SUM, arg_node(each), arg_ints(p->b->g, sums, (uint32_t)n));
}

enum derivative_answer derivative_windows(struct backprop *p, int param, node_id *out) {
    const struct meta m = *meta_at(p, p->node.args[0].node);
    *out = fold(p, p->grad, &m, p->node.args);
    return GRADIENT;
}

/* The number of an element of a window, which is kept for the backward: in a byte, if it fits. */
static node_id short_number(struct backprop *p, node_id number, ex elements) {
    enum { MOST = 256 };
    bool fits = ex_at_most(p->b->g->ex, elements, ex_const(p->b->g->ex, MOST));
    return fits ? cast(p->b, number, DT_U8) : number;
}

/* The gradient goes to the first of a window's greatest elements, as in PyTorch: behind a ReLU many
 * are equal. */
enum derivative_answer derivative_max_pool(struct backprop *p, int param, node_id *out) {
    const struct meta m = *meta_at(p, p->node.args[0].node);
    node_id w = max_windows(p->b, &p->node);
    if (w == KEEP) return EXPAND_INSTEAD;
    const struct meta all = *meta_at(p, w);
    struct meta flat = p->node.meta, column = flat;
    flat.size[flat.rank++] = number(p, 1);
    for (int k = p->node.meta.rank; k < all.rank; k++)
        flat.size[flat.rank - 1] = ex_mul(p->b->g->ex, flat.size[flat.rank - 1], all.size[k]);
    column.size[column.rank++] = number(p, 1);
    node_id first = call(p->b, OP_ARGMAX, arg_node(reshape(p->b, w, &flat)), arg_int(p->b->g, -1));
    first = short_number(p, first, flat.size[flat.rank - 1]);
    node_id hit =
        binary(p->b, OP_EQ, reshape(p->b, first, &column), iota(p->b, flat.size[flat.rank - 1]));
    node_id each = call(p->b, OP_WHERE, arg_node(hit), arg_node(reshape(p->b, p->grad, &column)),
                        arg_int(p->b->g, 0));
    struct arg args[7];
    memcpy(args, p->b->g->nodes.at[w].args, sizeof args);
    *out = fold(p, reshape(p->b, each, &all), &m, args);
    return GRADIENT;
}

/* The same where windows differ in length: what each element is the first maximum of, added up. */
enum derivative_answer derivative_adaptive_max_pool(struct backprop *p, int param, node_id *out) {
    if (max_windows(p->b, &p->node) != KEEP) return derivative_max_pool(p, param, out);
    const struct meta m = *meta_at(p, p->node.args[0].node);
    int windowed = (int)p->node.args[1].ints.n, lead = m.rank - windowed;
    struct meta from = {.rank = (uint8_t)lead}, to = {.rank = (uint8_t)lead};
    memcpy(from.size, m.size, sizeof(ex) * (size_t)lead);
    memcpy(to.size, m.size, sizeof(ex) * (size_t)lead);
    from.size[from.rank++] = to.size[to.rank++] = number(p, 1);
    for (int k = lead; k < m.rank; k++) {
        from.size[lead] = ex_mul(p->b->g->ex, from.size[lead], p->node.meta.size[k]);
        to.size[lead] = ex_mul(p->b->g->ex, to.size[lead], m.size[k]);
    }
    to.dtype = meta_at(p, p->grad)->dtype;
    node_id at = reshape(p->b, max_places(p->b, &p->node), &from);
    node_id sum = call(p->b, OP_SCATTER_ADD, arg_node(full(p->b, &to, 0)), arg_int(p->b->g, lead),
                       arg_node(at), arg_node(reshape(p->b, p->grad, &from)));
    *out = reshape(p->b, sum, &m);
    return GRADIENT;
}
