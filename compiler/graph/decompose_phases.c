/* decompose_phases.c: a transposed convolution with a stride as dense ones, one for each phase.
 *
 * Output o takes tap k where (o + padding - k*dilation) mod stride is 0: of 3 taps under a stride
 * of 2, even outputs take one and odd ones two. So the outputs stride*o + phase, for each phase,
 * are those of a convolution of stride 1 with these taps alone, a slice of the weight:
 *
 *   convolve(x [N, G, C, 8], w [G, F, C, 3], stride=[2], padding=[1], transposed=True, size=[15])
 *   ->  even = convolve(x, w[..., 1::2], stride=[1], padding=[0], transposed=True, size=[8])
 *       odd  = convolve(x, w[..., 0::2], stride=[1], padding=[1], transposed=True, size=[8])
 *       view(stack([even, odd], -1), [N, G, F, 16])[..., :15]
 *
 * No tap is multiplied that is not there: neither work is wasted, nor is an infinity made NaN. An
 * output without a tap, as of a stride that is larger than the weight, is 0.
 *
 * Where the stride divides the number of taps, all phases have equally many, and they are one
 * convolution with stride times as many filters over the same windows:
 *
 *   convolve(x [N, G, C, 8], w [G, F, C, 4], stride=[2], padding=[0], transposed=True, size=[18])
 *   ->  y = convolve(x, w' [G, 2F, C, 2], ..., size=[9])       of filter 2*f + phase, taps phase::2
 *       view(permute(view(y, [N, G, F, 2, 9]), ...), [N, G, F, 18])
 *
 * Where the stride is larger than the weight is, each phase has a tap or none. Those that have one
 * are filters of one convolution, whose results are spread between zeros:
 *
 *   convolve(x [N, G, C, 8], w [G, F, C, 2], stride=[5], padding=[0], dilation=[2], size=[38], ...)
 *   ->  y = convolve(x, w' [G, 2F, C, 1], ..., size=[8])                    of filter 2*f + tap
 *       outputs 5*i and 5*i + 2 are taps 0 and 1 at i, others are 0
 *
 * Else, on matrix units, phases that all have taps are a dimension of one product, whose taps and
 * positions depend on the phase, or its taps alone: then phases are filters again, with zeros for
 * the taps that they lack (ops.def, loop/product.c, kernel/axes.c). Of few filters they are filters
 * wherever they can be, as most of a phase's own tiles would be nothing; by plain arithmetic the
 * phases' conditions would cost more than they save. Of groups, and of few channels, there is no
 * image that all phases read: that takes units whose tiles are made (kernel/operand.c), of a depth
 * that these take.
 *
 *   convolve(x [N, 1, C, 8], w [1, F, C, 3], stride=[2], padding=[1], transposed=True, size=[16])
 *   ->  y = convolve_phases(x, w, stride=[2], padding=[1], size=[8])               [N, 1, 2, F, 8]
 *       view(permute(y, ...), [N, 1, F, 16])
 *
 * Where stride and dilation have a common divisor, outputs that take taps are so far apart: these
 * are a convolution of the quotients, and zeros are between them.
 *
 *   convolve(x, w, stride=[2], padding=[1], dilation=[4], transposed=True, size=[15])
 *   ->  y = convolve(x, w, stride=[1], padding=[1], dilation=[2], transposed=True, size=[8])
 *       view(stack([zeros, y], -1), [N, G, F, 16])[..., :15] */
#include "graph/decompose.h"

struct phases {
    struct build *b;
    const struct node *n;
    int dims;                            /* that slide */
    ex padding[3], dilation[3], size[3]; /* of the dense ones; dimensions that are done */
};

static ex number(const struct phases *s, int64_t v) { return ex_const(s->b->g->ex, v); }

static int64_t entry(const struct phases *s, int arg, int d) {
    return ex_value(s->b->g->ex, s->n->args[arg].ints.at[d]);
}

static int64_t stride_of(const struct phases *s, int d) { return entry(s, 2, d); }

bool has_phases(const struct graph *g, const struct node *n) {
    bool any = false;
    if (n->op != OP_CONVOLVE || !n->args[5].b) return false;
    for (uint32_t d = 0; d < n->args[2].ints.n; d++)
        any |= ex_value(g->ex, n->args[2].ints.at[d]) > 1;
    return any;
}

static node_id split(struct phases *s, int d, node_id w);

/* ---- all phases at once ---------------------------------------------------------------------- */

/* Has every phase of dimension d equally many taps, over the same windows? */
static bool goes_together(const struct phases *s, int d, node_id w) {
    int64_t taps, stride = stride_of(s, d);
    if (stride == 1) return true;
    return ex_is_const(s->b->g->ex, meta_of(s->b, w)->size[3 + d], &taps) && taps % stride == 0 &&
           entry(s, 4, d) == 1;
}

/* Output o + padding = stride*i + phase takes taps phase + stride*j of positions i - j. */
static node_id together(struct phases *s, int d, node_id w) {
    struct exprs *p = s->b->g->ex;
    ex stride = number(s, stride_of(s, d)), size = s->n->args[6].ints.at[d];
    ex before = s->n->args[3].ints.at[d], first = ex_div(p, before, stride);
    ex last = ex_div(p, ex_add(p, ex_sub(p, size, number(s, 1)), before), stride);
    s->padding[d] = first;
    s->dilation[d] = s->n->args[4].ints.at[d];
    s->size[d] = ex_add(p, ex_sub(p, last, first), number(s, 1));
    if (stride == number(s, 1)) return split(s, d + 1, w);
    ex filters = meta_of(s->b, w)->size[1], taps = meta_of(s->b, w)->size[3 + d];
    w = split_dim(s->b, w, 3 + d, ex_div(p, taps, stride), stride);
    w = join_dims(s->b, move_dim(s->b, w, 4 + d, 2), 1);
    node_id y = split_dim(s->b, split(s, d + 1, w), 2, filters, stride);
    y = join_dims(s->b, move_dim(s->b, y, 3, 4 + d), 3 + d);
    ex skipped = ex_mod(p, before, stride);
    return cut(s->b, y, 3 + d, skipped, ex_add(p, skipped, size));
}

/* ---- some phases of one tap, others of none -------------------------------------------------- */

/* Has each phase of dimension d one tap at most, and are those that have one of the same window? */
static bool goes_apart(const struct phases *s, int d, node_id w) {
    struct exprs *p = s->b->g->ex;
    int64_t taps, size, stride = stride_of(s, d);
    if (!ex_is_const(p, meta_of(s->b, w)->size[3 + d], &taps) || taps < 1 || taps >= stride)
        return false;
    bool few = ex_is_const(p, s->n->args[6].ints.at[d], &size) && size < stride;
    return !few && entry(s, 4, d) * (taps - 1) < stride;
}

/* y of dimension `dim` with so many zeros behind each of its elements, or behind the last. */
static node_id followed(struct phases *s, node_id y, int dim, int64_t zeros) {
    struct meta m = *meta_of(s->b, y);
    if (!zeros) return y;
    m.size[dim] = number(s, zeros);
    node_id parts[] = {y, full(s->b, &m, 0)};
    return concat_many(s->b, parts, 2, dim);
}

/* Output o + padding = stride*i + dilation*k takes tap k of position i. */
static node_id scattered(struct phases *s, int d, node_id w) {
    struct exprs *p = s->b->g->ex;
    ex stride = number(s, stride_of(s, d)), size = s->n->args[6].ints.at[d];
    ex before = s->n->args[3].ints.at[d], first = ex_div(p, before, stride);
    ex last = ex_div(p, ex_add(p, ex_sub(p, size, number(s, 1)), before), stride);
    ex filters = meta_of(s->b, w)->size[1], taps = meta_of(s->b, w)->size[3 + d];
    int64_t dilation = entry(s, 4, d), all = ex_value(p, taps) * dilation;
    s->padding[d] = first;
    s->dilation[d] = number(s, 1);
    s->size[d] = ex_add(p, ex_sub(p, last, first), number(s, 1));
    w = split_dim(s->b, w, 3 + d, number(s, 1), taps);
    w = join_dims(s->b, move_dim(s->b, w, 4 + d, 2), 1);
    node_id y = split_dim(s->b, split(s, d + 1, w), 2, filters, taps);
    y = move_dim(s->b, y, 3, 4 + d);
    if (dilation > 1) {
        y = call(s->b, OP_UNSQUEEZE, arg_node(y), arg_int(s->b->g, 5 + d));
        y = join_dims(s->b, followed(s, y, 5 + d, dilation - 1), 4 + d);
    }
    if (all > stride_of(s, d)) y = cut(s->b, y, 4 + d, number(s, 0), stride);
    if (all < stride_of(s, d)) y = followed(s, y, 4 + d, stride_of(s, d) - all);
    y = join_dims(s->b, y, 3 + d);
    ex skipped = ex_mod(p, before, stride);
    return cut(s->b, y, 3 + d, skipped, ex_add(p, skipped, size));
}

/* ---- each phase for itself ------------------------------------------------------------------- */

/* The first tap that outputs stride*o + phase of dimension d take. */
static int64_t first_tap(const struct phases *s, int d, int64_t phase) {
    int64_t stride = stride_of(s, d), dilation = entry(s, 4, d), padding = entry(s, 3, d);
    for (int64_t k = 0; k < stride; k++)
        if ((phase + padding - k * dilation) % stride == 0) return k;
    WS_BUG("stride and dilation have a common divisor");
}

/* The outputs of that phase; KEEP if they take no tap. */
static node_id one_phase(struct phases *s, int d, node_id w, int64_t phase) {
    struct exprs *p = s->b->g->ex;
    int64_t stride = stride_of(s, d), dilation = entry(s, 4, d), taps;
    int64_t k = first_tap(s, d, phase);
    ex all = meta_of(s->b, w)->size[3 + d];
    if (ex_is_const(p, all, &taps) && taps <= k) return KEEP;
    s->padding[d] = number(s, (phase + entry(s, 3, d) - k * dilation) / stride);
    s->dilation[d] = number(s, dilation);
    return split(s, d + 1,
                 call(s->b, OP_SLICE, arg_node(w), arg_int(s->b->g, 3 + d), arg_int(s->b->g, k),
                      arg_ex(all), arg_int(s->b->g, stride)));
}

/* Outputs that take no tap, of so many phases. */
static node_id nothing(struct phases *s, int d, node_id w, int64_t phases) {
    struct meta m = s->n->meta;
    m.size[2] = meta_of(s->b, w)->size[1];
    for (int k = 0; k <= d; k++) m.size[3 + k] = s->size[k];
    memmove(&m.size[3 + d + 2], &m.size[3 + d + 1], sizeof(ex) * (size_t)(s->dims - d - 1));
    m.size[3 + d + 1] = number(s, phases);
    m.rank++;
    return full(s->b, &m, 0);
}

static node_id apart(struct phases *s, int d, node_id w) {
    struct exprs *p = s->b->g->ex;
    int64_t stride = stride_of(s, d), phases = stride, outputs, without = 0;
    ex size = s->n->args[6].ints.at[d];
    if (ex_is_const(p, size, &outputs) && outputs < phases) phases = outputs;
    ex each = ex_ceildiv(p, size, number(s, phases));
    node_id *at = NEW_ARRAY(s->b->g->arena, node_id, phases);
    uint32_t n = 0;
    s->size[d] = each;
    for (int64_t phase = 0; phase < phases; phase++) {
        node_id y = one_phase(s, d, w, phase);
        without += y == KEEP;
        bool ends = y != KEEP || phase + 1 == phases;
        if (without && ends) at[n++] = nothing(s, d, w, without);
        if (y == KEEP) continue;
        without = 0;
        at[n++] = call(s->b, OP_UNSQUEEZE, arg_node(y), arg_int(s->b->g, 4 + d));
    }
    node_id y = join_dims(s->b, concat_many(s->b, at, n, 4 + d), 3 + d);
    return cut(s->b, y, 3 + d, number(s, 0), size);
}

/* Dimensions d and those behind it; w has the taps that those before it leave. */
static node_id split(struct phases *s, int d, node_id w) {
    struct graph *g = s->b->g;
    uint32_t n = (uint32_t)s->dims;
    ex ones[3];
    if (d < s->dims)
        return (goes_together(s, d, w) ? together
                : goes_apart(s, d, w)  ? scattered
                                       : apart)(s, d, w);
    for (uint32_t k = 0; k < n; k++) ones[k] = number(s, 1);
    return call(s->b, OP_CONVOLVE, s->n->args[0], arg_node(w), arg_ints(g, ones, n),
                arg_ints(g, s->padding, n), arg_ints(g, s->dilation, n), arg_bool(true),
                arg_ints(g, s->size, n));
}

/* ---- phases as a dimension ------------------------------------------------------------------- */

/* Are phases filters of one product, none of whose outputs is left out? */
static bool are_filters(const struct phases *s) {
    int64_t size;
    for (int d = 0; d < s->dims; d++) {
        int64_t stride = stride_of(s, d);
        if (!goes_together(s, d, s->n->args[1].node) || entry(s, 3, d) % stride) return false;
        if (!ex_is_const(s->b->g->ex, s->n->args[6].ints.at[d], &size) || size % stride)
            return false;
    }
    return true;
}

/* Steps along the depth of a phase's product: of each channel the most taps that a phase has. False
 * if one has none: it takes as long to step through, and to store, as others. Three taps under a
 * stride of 5 and a dilation of 2, of whose 25 phases 16 have none, took twice as long so. */
static bool depth_of_phase(const struct phases *s, int64_t channels, int64_t *depth) {
    const struct meta *w = meta_of(s->b, s->n->args[1].node);
    int64_t taps;
    *depth = channels;
    for (int d = 0; d < s->dims; d++) {
        int64_t stride = stride_of(s, d);
        if (!ex_is_const(s->b->g->ex, w->size[3 + d], &taps) || taps < stride) return false;
        *depth = sat_mul(*depth, (taps + stride - 1) / stride);
    }
    return true;
}

/* Tiles are of one phase: where phases could be filters, there must be many of these, and what a
 * tile stores of each 8 bytes must be something. Else one group, whose phases then are all batches
 * that there are, and channels that lines of tiles are not mostly filled up with; or tiles that are
 * made. */
static bool are_a_dimension(const struct phases *s, const struct device_limits *device) {
    enum { FEW = 32, FEWEST = 2, CHANNELS = 8, BYTES = 8, MADE_DEPTH = 256, OF_GROUP = 8 };
    const struct meta *w = meta_of(s->b, s->n->args[1].node);
    struct exprs *p = s->b->g->ex;
    int64_t groups, filters, channels, depth;
    bool together = true;
    if (!ex_is_const(p, w->size[0], &groups) || are_filters(s)) return false;
    if (!ex_is_const(p, w->size[2], &channels) || !depth_of_phase(s, channels, &depth))
        return false;
    for (int d = 0; d < s->dims; d++) together &= goes_together(s, d, s->n->args[1].node);
    if (!ex_is_const(p, w->size[1], &filters) || filters < (together ? FEW : FEWEST)) return false;
    if (groups > 1 || channels < CHANNELS) {
        if (!device->wgmma || depth > MADE_DEPTH) return false;
        if (groups > 1 && filters < OF_GROUP) return false;
    }
    int64_t apart = stride_of(s, s->dims - 1) * dtype_bytes(s->n->meta.dtype);
    return !together || apart <= BYTES;
}

int64_t phase_positions(int64_t taps, int64_t stride, int64_t padding, int64_t *last) {
    *last = (stride - 1 + padding) / stride;
    return *last + (taps - 1 - padding + stride * taps) / stride - taps + 1;
}

/* Outputs before the first one that phases are counted from, so that all phases read the same
 * windows, as loop/product.c has it: output o + padding = stride*i + phase takes taps phase +
 * stride*j of positions i - j. Counted from output 0 of 4 taps under a stride of 2 and a padding of
 * 1, even outputs would take positions i - 1 and i, odd ones i and i + 1. */
static int64_t outputs_before(const struct phases *s, int d) {
    int64_t stride = stride_of(s, d), padding = entry(s, 3, d), taps, last;
    if (entry(s, 4, d) > 1) return 0;
    if (!ex_is_const(s->b->g->ex, meta_of(s->b, s->n->args[1].node)->size[3 + d], &taps)) return 0;
    bool share = phase_positions(taps, stride, padding, &last) <= (taps + stride - 1) / stride;
    return share ? 0 : padding % stride;
}

/* [N, G, P, F, I...] -> [N, G, F, O...] */
static node_id as_a_dimension(struct phases *s) {
    struct graph *g = s->b->g;
    struct exprs *p = g->ex;
    const struct arg *a = s->n->args;
    ex size[3], padding[3], before[3];
    for (int d = 0; d < s->dims; d++) {
        before[d] = number(s, outputs_before(s, d));
        padding[d] = ex_sub(p, a[3].ints.at[d], before[d]);
        size[d] = ex_ceildiv(p, ex_add(p, before[d], a[6].ints.at[d]), number(s, stride_of(s, d)));
    }
    node_id y =
        call(s->b, OP_CONVOLVE_PHASES, a[0], a[1], a[2], arg_ints(g, padding, (uint32_t)s->dims),
             a[4], arg_ints(g, size, (uint32_t)s->dims));
    ex images = meta_of(s->b, y)->size[0], groups = meta_of(s->b, y)->size[1];
    y = join_dims(s->b, y, 0);
    for (int d = 0; d < s->dims; d++) { /* the rest of P, which is 1 at last */
        ex stride = number(s, stride_of(s, d)), phases = meta_of(s->b, y)->size[1];
        y = split_dim(s->b, y, 1, stride, ex_div(p, phases, stride));
        y = join_dims(s->b, move_dim(s->b, y, 1, 4 + d), 3 + d);
    }
    if (groups != number(s, 1)) y = split_dim(s->b, join_dims(s->b, y, 0), 0, images, groups);
    for (int d = 0; d < s->dims; d++)
        y = cut(s->b, y, 3 + d, before[d], ex_add(p, before[d], a[6].ints.at[d]));
    return y;
}

/* ---- outputs between which others take no tap ------------------------------------------------ */

/* The greatest number by which stride and dilation of dimension d can be divided. */
static int64_t common_of(const struct phases *s, int d) {
    return common_divisor(stride_of(s, d), entry(s, 4, d));
}

/* Of so many outputs that follow each other the one that takes taps. */
static int64_t taken_of(const struct phases *s, int d) {
    int64_t common = common_of(s, d);
    return (common - entry(s, 3, d) % common) % common;
}

/* A convolution of these outputs alone. */
static node_id taken(struct phases *s, const struct device_limits *units) {
    struct graph *g = s->b->g;
    struct node n = *s->n;
    uint32_t dims = (uint32_t)s->dims;
    ex stride[3], padding[3], dilation[3], size[3];
    for (int d = 0; d < s->dims; d++) {
        int64_t common = common_of(s, d);
        stride[d] = number(s, stride_of(s, d) / common);
        padding[d] = number(s, (entry(s, 3, d) + taken_of(s, d)) / common);
        dilation[d] = number(s, entry(s, 4, d) / common);
        n.meta.size[3 + d] = size[d] =
            ex_ceildiv(g->ex, s->n->args[6].ints.at[d], number(s, common));
    }
    struct arg args[] = {n.args[0],
                         n.args[1],
                         arg_ints(g, stride, dims),
                         arg_ints(g, padding, dims),
                         arg_ints(g, dilation, dims),
                         n.args[5],
                         arg_ints(g, size, dims)};
    n.args = args;
    return expand_phases(s->b, &n, units);
}

/* Zeros around each element of y, which the outputs of dimension d are then. */
static node_id spread(struct phases *s, node_id y, int d) {
    int64_t common = common_of(s, d), at = taken_of(s, d);
    struct meta before, after;
    node_id parts[3];
    uint32_t n = 0;
    if (common == 1) return y;
    y = call(s->b, OP_UNSQUEEZE, arg_node(y), arg_int(s->b->g, 4 + d));
    before = after = *meta_of(s->b, y);
    before.size[4 + d] = number(s, at);
    after.size[4 + d] = number(s, common - 1 - at);
    if (at) parts[n++] = full(s->b, &before, 0);
    parts[n++] = y;
    if (at < common - 1) parts[n++] = full(s->b, &after, 0);
    y = join_dims(s->b, concat_many(s->b, parts, n, 4 + d), 3 + d);
    return cut(s->b, y, 3 + d, number(s, 0), s->n->args[6].ints.at[d]);
}

node_id expand_phases(struct build *b, const struct node *n, const struct device_limits *units) {
    struct phases s = {.b = b, .n = n, .dims = n->meta.rank - 3};
    bool all = true;
    for (int d = 0; d < s.dims; d++) all &= common_of(&s, d) == 1;
    if (all && units && are_a_dimension(&s, units)) return as_a_dimension(&s);
    if (all) return split(&s, 0, n->args[1].node);
    node_id y = taken(&s, units);
    for (int d = s.dims; d-- > 0;) y = spread(&s, y, d);
    return y;
}
