/* decompose_pool.c: pooling as reductions over windows, resizing as an index.
 *
 *   max_pool(x, 3, stride=2, padding=1)  ->  amax(windows(x, [3, 3], ..., value=-inf), dim=[4, 5])
 *   avg_pool(x, 2)                       ->  sum(windows(x, [2, 2], ...), dim=[4, 5]) / 4
 *
 * A window of x is read where x has elements; nothing is padded or copied. */
#include <math.h>
#include <string.h>

#include "graph/decompose.h"

static ex number(const struct build *b, int64_t v) { return ex_const(b->g->ex, v); }

struct slide {
    int n; /* windowed dimensions, the last ones */
    int64_t kernel[3], stride[3], padding[3], dilation[3];
    bool ceil;
};

/* Arguments 1 to 3 of n are kernel, stride and padding; dilation is NULL where there is none. */
static struct slide slide_of(const struct build *b, const struct node *n, int windowed,
                             const struct arg *dilation, bool ceil) {
    struct slide s = {.n = windowed, .ceil = ceil};
    for (int k = 0; k < windowed; k++) {
        uint32_t i = (uint32_t)k;
        s.kernel[k] = arg_entry(b->g, &n->args[1], i, 1);
        s.stride[k] = arg_entry(b->g, &n->args[2], i, s.kernel[k]);
        s.padding[k] = arg_entry(b->g, &n->args[3], i, 0);
        s.dilation[k] = dilation ? arg_entry(b->g, dilation, i, 1) : 1;
    }
    return s;
}

static struct arg list_arg(const struct build *b, const int64_t *v, int n) {
    ex at[3];
    for (int k = 0; k < n; k++) at[k] = number(b, v[k]);
    return arg_ints(b->g, at, (uint32_t)n);
}

static node_id windows(struct build *b, node_id x, const struct slide *s, double fill) {
    return call(b, OP_WINDOWS, arg_node(x), list_arg(b, s->kernel, s->n),
                list_arg(b, s->stride, s->n), list_arg(b, s->padding, s->n),
                list_arg(b, s->dilation, s->n), arg_bool(s->ceil), arg_float(fill));
}

static struct arg last_dims(const struct build *b, node_id x, int n) {
    ex at[3];
    for (int k = 0; k < n; k++) at[k] = number(b, meta_of(b, x)->rank - n + k);
    return arg_ints(b->g, at, (uint32_t)n);
}

/* The windows of an adaptive pool, if they are all of one length. */
static bool even_slide(const struct build *b, const struct node *n, struct slide *s) {
    bool even = true;
    *s = (struct slide){.n = (int)n->args[1].ints.n};
    for (int k = 0; k < s->n; k++) {
        int64_t want = ex_value(b->g->ex, n->args[1].ints.at[k]);
        int dim = n->meta.rank - s->n + k;
        int64_t have = ex_value(b->g->ex, meta_of(b, n->args[0].node)->size[dim]);
        s->kernel[k] = s->stride[k] = have / want;
        s->dilation[k] = 1;
        even &= have % want == 0;
    }
    return even;
}

/* A window of nothing has no extremum: an operand without elements makes padding alone. */
node_id expand_windows(struct build *b, const struct node *n) {
    bool empty = meta_numel(b->g->ex, meta_of(b, n->args[0].node)) == number(b, 0);
    return empty ? full(b, &n->meta, number_of(b, &n->args[6])) : KEEP;
}

/* No element is less, and it is of their type: what is beyond an integer's end is cut off. */
static double least(struct build *b, node_id x) {
    enum dtype t = meta_of(b, x)->dtype;
    return dtype_is_float(t) ? -INFINITY : (double)int_least(t);
}

/* What a max pool takes the extrema of; KEEP where windows differ in length. */
node_id max_windows(struct build *b, const struct node *n) {
    struct slide s;
    if (n->op == OP_MAX_POOL)
        s = slide_of(b, n, (int)number_of(b, &n->args[6]), &n->args[4], n->args[5].b);
    else if (!even_slide(b, n, &s))
        return KEEP;
    return windows(b, n->args[0].node, &s, least(b, n->args[0].node));
}

node_id expand_max_pool(struct build *b, const struct node *n) {
    node_id w = max_windows(b, n);
    int windowed = meta_of(b, w)->rank - n->meta.rank;
    return call(b, OP_AMAX, arg_node(w), last_dims(b, w, windowed));
}

/* ---- averages -------------------------------------------------------------------------------- */

static node_id add_number(struct build *b, node_id x, ex v) {
    return v == number(b, 0) ? x : call(b, OP_ADD, arg_node(x), arg_ex(v));
}

static node_id times(struct build *b, node_id x, ex v) {
    return v == number(b, 1) ? x : call(b, OP_MUL, arg_node(x), arg_ex(v));
}

/* A vector as dimension `dim` of a tensor of that rank. */
static node_id as_dim(struct build *b, node_id x, int dim, int rank) {
    struct meta m = {.rank = (uint8_t)rank};
    for (int k = 0; k < rank; k++) m.size[k] = number(b, 1);
    m.size[dim] = meta_of(b, x)->size[0];
    return reshape(b, x, &m);
}

/* Do all windows of a dimension count the same number of elements? */
static bool counts_alike(const struct build *b, const struct slide *s, int k, bool with_padding) {
    return !s->ceil && (with_padding || s->padding[k] == 0);
}

/* How many elements each window of dimension k counts: with the padding, from its start to its end
 * or the end of the padding; without, those that x has. */
static node_id counted(struct build *b, const struct slide *s, int k, ex size, ex n,
                       bool with_padding) {
    struct exprs *p = b->g->ex;
    node_id start = times(b, iota(b, n), number(b, s->stride[k]));
    start = add_number(b, start, number(b, -s->padding[k]));
    ex limit = with_padding ? ex_add(p, size, number(b, s->padding[k])) : size;
    node_id end =
        call(b, OP_MINIMUM, arg_node(add_number(b, start, number(b, s->kernel[k]))), arg_ex(limit));
    if (!with_padding) start = call(b, OP_MAXIMUM, arg_node(start), arg_int(b->g, 0));
    return binary(b, OP_SUB, end, start);
}

node_id expand_avg_pool(struct build *b, const struct node *n) {
    struct slide s = slide_of(b, n, (int)number_of(b, &n->args[7]), NULL, n->args[4].b);
    enum dtype t = dtype_opmath(n->meta.dtype);
    bool with_padding = n->args[5].b;
    node_id w = windows(b, cast(b, n->args[0].node, t), &s, 0);
    node_id sum = call(b, OP_SUM, arg_node(w), last_dims(b, w, s.n));
    if (n->args[6].kind == ARG_INT) return scalar(b, OP_DIV, sum, number_of(b, &n->args[6]));
    double alike = 1;
    int rank = n->meta.rank;
    for (int k = 0; k < s.n; k++) {
        int dim = rank - s.n + k;
        if (counts_alike(b, &s, k, with_padding)) {
            alike *= (double)s.kernel[k];
            continue;
        }
        node_id c = counted(b, &s, k, meta_of(b, n->args[0].node)->size[dim], n->meta.size[dim],
                            with_padding);
        sum = binary(b, OP_DIV, sum, as_dim(b, c, dim, rank));
    }
    return alike == 1 ? sum : scalar(b, OP_DIV, sum, alike);
}

/* ---- adaptive -------------------------------------------------------------------------------- */

/* floor((i * have + add) / want) for each i */
static node_id scaled(struct build *b, node_id i, int64_t have, int64_t add, int64_t want) {
    node_id x = add_number(b, times(b, i, number(b, have)), number(b, add));
    return want == 1 ? x : call(b, OP_FLOOR_DIVIDE, arg_node(x), arg_int(b->g, want));
}

/* Window o begins rest*o/want mod 1 behind an element, which is any multiple of step/want, and ends
 * have/want after it. */
static int64_t longest_window(int64_t have, int64_t want) {
    int64_t rest = have % want, step = want, r = rest;
    while (r) {
        int64_t t = step % r;
        step = r, r = t;
    }
    return have / want + (rest == 0 ? 0 : rest == step ? 1 : 2);
}

/* Windows of unlike length: window o is floor(o * have / want) .. ceil((o + 1) * have / want) - 1;
 * what a shorter one lacks is `fill`. *lengths divides a sum into an average. */
static node_id ragged(struct build *b, node_id x, int n, const int64_t *want, double fill,
                      node_id *lengths) {
    int rank = meta_of(b, x)->rank;
    node_id index[3], valid = 0;
    ex dims[3];
    for (int k = 0; k < n; k++) {
        int64_t have = ex_value(b->g->ex, meta_of(b, x)->size[rank - n + k]);
        node_id o = iota(b, number(b, want[k]));
        node_id begin = scaled(b, o, have, 0, want[k]);
        node_id end = scaled(b, o, have, have + want[k] - 1, want[k]);
        node_id step = as_dim(b, iota(b, number(b, longest_window(have, want[k]))), n + k, 2 * n);
        node_id at = binary(b, OP_ADD, as_dim(b, begin, k, 2 * n), step);
        node_id inside = binary(b, OP_LT, at, as_dim(b, end, k, 2 * n));
        node_id length = as_dim(b, binary(b, OP_SUB, end, begin), k, n);
        index[k] = call(b, OP_MINIMUM, arg_node(at), arg_int(b->g, have - 1));
        dims[k] = number(b, rank - n + k);
        valid = k ? binary(b, OP_LOGICAL_AND, valid, inside) : inside;
        *lengths = k ? binary(b, OP_MUL, *lengths, length) : length;
    }
    node_id w = call(b, OP_INDEX, arg_node(x), nodes_arg(index, (uint32_t)n),
                     arg_ints(b->g, dims, (uint32_t)n));
    struct arg outside = dtype_is_float(meta_of(b, x)->dtype) ? arg_float(fill) : arg_int(b->g, 0);
    return call(b, OP_WHERE, arg_node(valid), arg_node(w), outside);
}

/* Where the first maximum of each window of an adaptive max pool stands: its row-major number in
 * the windowed dimensions of the input. */
node_id max_places(struct build *b, const struct node *n) {
    node_id x = n->args[0].node, lengths = 0;
    const struct meta m = *meta_of(b, x);
    struct meta numbers = {.rank = 0}, line = {.rank = 0}, rows, column;
    int windowed = (int)n->args[1].ints.n;
    int64_t want[3] = {0};
    ex all = number(b, 1), window = number(b, 1);
    for (int k = 0; k < windowed; k++) {
        want[k] = ex_value(b->g->ex, n->args[1].ints.at[k]);
        numbers.size[numbers.rank++] = m.size[m.rank - windowed + k];
        all = ex_mul(b->g->ex, all, numbers.size[k]);
    }
    node_id values = ragged(b, x, windowed, want, least(b, x), &lengths);
    node_id at = ragged(b, reshape(b, iota(b, all), &numbers), windowed, want, 0, &lengths);
    for (int k = 0; k < windowed; k++)
        window = ex_mul(b->g->ex, window, meta_of(b, at)->size[windowed + k]);
    rows = column = n->meta;
    rows.size[rows.rank++] = window;
    column.size[column.rank++] = number(b, 1);
    for (int k = 0; k < windowed; k++) line.size[line.rank++] = number(b, want[k]);
    line.size[line.rank++] = window;
    at = call(b, OP_EXPAND, arg_node(reshape(b, at, &line)), arg_ints(b->g, rows.size, rows.rank));
    node_id first = call(b, OP_ARGMAX, arg_node(reshape(b, values, &rows)), arg_int(b->g, -1));
    at = call(b, OP_GATHER, arg_node(at), arg_int(b->g, -1), arg_node(reshape(b, first, &column)));
    return reshape(b, at, &n->meta);
}

/* adaptive_avg_pool, adaptive_max_pool */
node_id expand_adaptive_pool(struct build *b, const struct node *n) {
    bool average = n->op == OP_ADAPTIVE_AVG_POOL;
    node_id x = n->args[0].node, lengths = 0, w;
    double fill = average ? 0 : least(b, x);
    if (average) x = cast(b, x, dtype_opmath(n->meta.dtype));
    struct slide s;
    bool even = even_slide(b, n, &s);
    int64_t want[3], area = 1;
    for (int k = 0; k < s.n; k++) {
        want[k] = ex_value(b->g->ex, n->args[1].ints.at[k]);
        area *= s.kernel[k];
    }
    w = even ? windows(b, x, &s, fill) : ragged(b, x, s.n, want, fill, &lengths);
    node_id r = call(b, average ? OP_SUM : OP_AMAX, arg_node(w), last_dims(b, w, s.n));
    if (!average) return r;
    return even ? scalar(b, OP_DIV, r, (double)area) : binary(b, OP_DIV, r, lengths);
}

/* ---- resizing and unfolding ------------------------------------------------------------------ */

/* Element o comes from floor(o * scale) in f32, as PyTorch works it out; where that is
 * o * have / want for every o, the index is that. */
static node_id nearest(struct build *b, int64_t have, int64_t want) {
    float scale = (float)have / (float)want;
    bool exact = true;
    node_id o = iota(b, number(b, want));
    for (int64_t i = 0; exact && i < want; i++)
        exact = (int64_t)floorf((float)i * scale) == (int64_t)((__int128)i * have / want);
    if (exact) return scaled(b, o, have, 0, want);
    node_id at = call(b, OP_MUL, arg_node(cast(b, o, DT_F32)), arg_float(scale));
    at = cast(b, unary(b, OP_FLOOR, at), DT_I64);
    return call(b, OP_MINIMUM, arg_node(at), arg_int(b->g, have - 1));
}

node_id expand_resize(struct build *b, const struct node *n) {
    node_id x = n->args[0].node;
    for (uint32_t k = 0; k < n->args[1].ints.n; k++) {
        int dim = 2 + (int)k;
        int64_t have = ex_value(b->g->ex, meta_of(b, x)->size[dim]);
        int64_t want = ex_value(b->g->ex, n->meta.size[dim]);
        if (have != want) x = index_one(b, x, nearest(b, have, want), dim);
    }
    return x;
}

/* [N, C, OH, OW, KH, KW] -> [N, C KH KW, OH OW] */
node_id expand_unfold(struct build *b, const struct node *n) {
    struct slide s = slide_of(b, n, 2, &n->args[4], false);
    node_id x = n->args[0].node;
    if (n->meta.rank == 2) x = call(b, OP_UNSQUEEZE, arg_node(x), arg_int(b->g, 0));
    node_id w = windows(b, x, &s, 0);
    return reshape(b, reorder(b, w, (int[]){0, 1, 4, 5, 2, 3}), &n->meta);
}

node_id expand_tensor_unfold(struct build *b, const struct node *n) {
    int dim = (int)ex_value(b->g->ex, n->args[1].i), rank = n->meta.rank - 1;
    struct slide s = {.n = 1,
                      .kernel = {ex_value(b->g->ex, n->args[2].i)},
                      .stride = {ex_value(b->g->ex, n->args[3].i)},
                      .dilation = {1}};
    node_id w = windows(b, move_dim(b, n->args[0].node, dim, rank - 1), &s, 0);
    return move_dim(b, w, rank - 1, dim); /* [.., O, K] -> O where the dimension was */
}
