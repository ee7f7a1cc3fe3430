/* meta_convolution.c: sizes of convolutions.
 *
 *   convolution  [N, C, 8, 8] with [F, C, 3, 3], stride 2, padding 1  -> [N, F, 4, 4]
 *   transposed   [N, C, 4, 4] with [C, F, 3, 3], stride 2, padding 1  -> [N, F, 7, 7] */
#include "graph/meta_shape.h"

/* ---- the product: everything is said by its arguments ---------------------------------------- */

/* Of groups [N, G] of channels C and a weight of as many. */
static bool need_factors(const struct infer *in) {
    const struct meta *x = infer_meta(in, 0), *w = infer_meta(in, 1);
    uint32_t n = in->args[2].ints.n;
    if (n < 1 || n > 3 || x->rank != 3 + (int)n || w->rank != x->rank)
        return infer_fail(in, "%s and %s do not fit %u sliding dimensions", infer_shape(in, x),
                          infer_shape(in, w), n);
    if (x->size[1] != w->size[0] || x->size[2] != w->size[2])
        return infer_fail(in, "groups and channels of %s and %s differ", infer_shape(in, x),
                          infer_shape(in, w));
    for (int i = 2; i < in->op->n_params; i++)
        if (in->args[i].kind == ARG_INTS && in->args[i].ints.n != n)
            return infer_fail(in, "%s needs one entry for each sliding dimension",
                              in->op->params[i].name);
    return true;
}

static void append_all(struct meta *out, const struct arg *sizes) {
    for (uint32_t k = 0; k < sizes->ints.n; k++) append(out, sizes->ints.at[k], EX_NONE);
}

bool shape_convolve(const struct infer *in, struct meta *out) {
    if (!need_factors(in)) return false;
    append(out, infer_meta(in, 0)->size[0], EX_NONE);
    append(out, infer_meta(in, 0)->size[1], EX_NONE);
    append(out, infer_meta(in, 1)->size[1], EX_NONE);
    append_all(out, &in->args[6]);
    return true;
}

bool shape_convolve_phases(const struct infer *in, struct meta *out) {
    int64_t phases = 1;
    if (!need_factors(in)) return false;
    for (uint32_t k = 0; k < in->args[2].ints.n; k++) {
        int64_t stride = infer_entry(in, 2, k, 1);
        if (stride < 1) return infer_fail(in, "non-positive stride is not supported");
        phases = sat_mul(phases, stride);
    }
    append(out, infer_meta(in, 0)->size[0], EX_NONE);
    append(out, infer_meta(in, 0)->size[1], EX_NONE);
    append(out, constant(in, phases), EX_NONE);
    append(out, infer_meta(in, 1)->size[1], EX_NONE);
    append_all(out, &in->args[5]);
    return true;
}

/* ---- what users call ------------------------------------------------------------------------- */

enum { X, W, BIAS, STRIDE, PADDING, DILATION, TRANSPOSED, OUTPUT_PADDING, GROUPS, SPATIAL };

static bool need_ranks(const struct infer *in, int64_t spatial) {
    const struct meta *x = infer_meta(in, X), *w = infer_meta(in, W);
    if (spatial < 1 || spatial > 3)
        return infer_fail(in, "1 to 3 dimensions slide, not %lld", (long long)spatial);
    int n = (int)spatial;
    if (w->rank != n + 2)
        return infer_fail(in, "expected a %dD weight for a convolution of %dD, but got %s", n + 2,
                          n, infer_shape(in, w));
    if (x->rank != n + 1 && x->rank != n + 2)
        return infer_fail(in,
                          "Expected %dD (unbatched) or %dD (batched) input to conv%s%dd, but got "
                          "input of size: %s",
                          n + 1, n + 2, in->args[TRANSPOSED].b ? "_transpose" : "", n,
                          infer_shape(in, x));
    return true;
}

static bool need_numbers(const struct infer *in, uint32_t n) {
    for (int i = STRIDE; i <= OUTPUT_PADDING; i++)
        if (i != TRANSPOSED && !infer_entries(in, i, n, false)) return false;
    for (uint32_t k = 0; k < n; k++) {
        int64_t stride = infer_entry(in, STRIDE, k, 1), dilation = infer_entry(in, DILATION, k, 1);
        int64_t more = infer_entry(in, OUTPUT_PADDING, k, 0);
        if (stride < 1) return infer_fail(in, "non-positive stride is not supported");
        if (dilation < 1) return infer_fail(in, "dilation should be greater than zero");
        if (infer_entry(in, PADDING, k, 0) < 0)
            return infer_fail(in, "negative padding is not supported");
        if (more < 0 || (more && more >= stride && more >= dilation))
            return infer_fail(in,
                              "output padding must be smaller than either stride or dilation, but "
                              "got output_padding %lld, stride %lld and dilation %lld",
                              (long long)more, (long long)stride, (long long)dilation);
    }
    return true;
}

/* Channels of the input, the weight and the bias fit; *filters is how many the result has. */
static bool need_channels(const struct infer *in, int n, ex *filters) {
    struct exprs *p = in->g->ex;
    const struct meta *x = infer_meta(in, X), *w = infer_meta(in, W);
    bool transposed = in->args[TRANSPOSED].b;
    ex have = x->size[x->rank - n - 1], groups = in->args[GROUPS].i;
    int64_t g, first;
    if (!ex_is_const(p, groups, &g) || g < 1)
        return infer_fail(in, "groups must be a positive constant, not %s", infer_text(in, groups));
    if (!ex_is_const(p, w->size[0], &first) || first % g || first < g)
        return infer_fail(in, "Given groups=%lld, weight of size %s cannot be divided into them",
                          (long long)g, infer_shape(in, w));
    ex want = transposed ? w->size[0] : ex_mul(p, w->size[1], groups);
    *filters = transposed ? ex_mul(p, w->size[1], groups) : w->size[0];
    if (have != want)
        return infer_fail(in,
                          "Given groups=%lld, weight of size %s, expected input%s to have %s "
                          "channels, but got %s channels instead",
                          (long long)g, infer_shape(in, w), infer_shape(in, x),
                          infer_text(in, want), infer_text(in, have));
    const struct meta *b = in->args[BIAS].kind == ARG_NODE ? infer_meta(in, BIAS) : NULL;
    if (b && (b->rank != 1 || b->size[0] != *filters))
        return infer_fail(in,
                          "Given weight of size %s, expected bias to be 1-dimensional with %s "
                          "elements, but got bias of size %s instead",
                          infer_shape(in, w), infer_text(in, *filters), infer_shape(in, b));
    return true;
}

/* How many elements dimension k of the result has. */
static bool slid(const struct infer *in, uint32_t k, ex size, ex kernel, ex *out) {
    struct exprs *p = in->g->ex;
    int64_t taps, lo, hi, stride = infer_entry(in, STRIDE, k, 1);
    int64_t padding = infer_entry(in, PADDING, k, 0), more = infer_entry(in, OUTPUT_PADDING, k, 0);
    if (!ex_is_const(p, kernel, &taps) || taps < 1)
        return infer_fail(in, "kernel sizes must be positive constants, not %s",
                          infer_text(in, kernel));
    int64_t span = sat_add(sat_mul(infer_entry(in, DILATION, k, 1), taps - 1), 1);
    if (span > (int64_t)MAX_NUMEL) {
        ex_overflow(p, NULL);
        return infer_fail(in, TOO_LARGE);
    }
    if (in->args[TRANSPOSED].b) {
        ex moved = ex_mul(p, ex_sub(p, size, constant(in, 1)), constant(in, stride));
        *out = ex_add(p, moved, constant(in, span + more - 2 * padding));
        ex_range(p, *out, &lo, &hi);
        return lo > 0 || infer_fail(in, "the result would have size %s in a dimension of input %s",
                                    infer_text(in, *out), infer_shape(in, infer_meta(in, X)));
    }
    ex room = ex_add(p, size, constant(in, 2 * padding - span));
    ex_range(p, room, &lo, &hi);
    *out = ex_add(p, ex_div(p, room, constant(in, stride)), constant(in, 1));
    return lo >= 0 ||
           infer_fail(in,
                      "Calculated padded input size: %s. Kernel size: %lld. Kernel size "
                      "can't be greater than actual input size",
                      infer_text(in, ex_add(p, size, constant(in, 2 * padding))), (long long)span);
}

bool shape_convolution(const struct infer *in, struct meta *out) {
    const struct meta *x = infer_meta(in, X), *w = infer_meta(in, W);
    int64_t spatial = ex_value(in->g->ex, in->args[SPATIAL].i);
    int n = (int)spatial;
    ex filters = EX_NONE;
    if (!need_ranks(in, spatial) || !need_numbers(in, (uint32_t)n) ||
        !need_channels(in, n, &filters))
        return false;
    if (x->rank == n + 2) append(out, x->size[0], EX_NONE);
    append(out, filters, EX_NONE);
    for (int k = 0; k < n; k++) {
        ex size = EX_NONE;
        if (!slid(in, (uint32_t)k, x->size[x->rank - n + k], w->size[2 + k], &size)) return false;
        append(out, size, EX_NONE);
    }
    return true;
}
