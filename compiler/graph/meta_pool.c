/* meta_pool.c: sizes of what looks at windows of the last dimensions.
 *
 *   windows [N, C, 8, 8] kernel=[3, 3] stride=[2, 2] padding=[1, 1]   -> [N, C, 4, 4, 3, 3]
 *   max_pool the same                                                 -> [N, C, 4, 4] */
#include <string.h>

#include "graph/meta_shape.h"

bool infer_entries(const struct infer *in, int arg, uint32_t n, bool optional) {
    const struct arg *a = &in->args[arg];
    const char *name = in->op->params[arg].name;
    if (a->kind == ARG_NONE || (optional && !a->ints.n)) return true;
    if (a->ints.n != 1 && a->ints.n != n)
        return infer_fail(in, "%s must be one int or %u of them, not %u", name, n, a->ints.n);
    for (uint32_t i = 0; i < a->ints.n; i++)
        if (!ex_is_const(in->g->ex, a->ints.at[i], NULL))
            return infer_fail(in, "%s must be constant, not %s", name,
                              infer_text(in, a->ints.at[i]));
    return true;
}

struct window {
    int64_t kernel, stride, padding, dilation;
    bool ceil;
};

/* How many windows lie in a dimension of that size. */
static bool count_windows(const struct infer *in, const struct window *w, ex size, ex *out) {
    struct exprs *p = in->g->ex;
    int64_t lo, hi, n, span = sat_add(sat_mul(w->dilation, w->kernel - 1), 1);
    if (w->kernel < 1) return infer_fail(in, "kernel size should be greater than zero");
    if (w->stride < 1) return infer_fail(in, "stride should be greater than zero");
    if (w->dilation < 1) return infer_fail(in, "dilation should be greater than zero");
    if (w->padding < 0)
        return infer_fail(in, "pad must be non-negative, but got pad: %lld", (long long)w->padding);
    if (span > (int64_t)MAX_NUMEL) {
        ex_overflow(p, NULL);
        return infer_fail(in, TOO_LARGE);
    }
    ex room = ex_add(p, size, ex_const(p, 2 * w->padding - span)); /* for the first to move in */
    ex_range(p, room, &lo, &hi);
    if (w->ceil && !ex_is_const(p, size, &n))
        return infer_fail(in, "ceil_mode needs constant sizes, not %s", infer_text(in, size));
    if (w->ceil) {
        int64_t windows = (lo + w->stride - 1) / w->stride + 1;
        if ((windows - 1) * w->stride >= n + w->padding) windows--; /* starts inside */
        if (lo + w->stride - 1 >= 0 && windows > 0) return *out = ex_const(p, windows), true;
    } else if (lo >= 0) {
        *out = ex_add(p, ex_div(p, room, ex_const(p, w->stride)), ex_const(p, 1));
        return true;
    }
    return infer_fail(
        in,
        "Output size is too small: a window of %lld elements over a dimension of size "
        "%s with padding %lld",
        (long long)span, infer_text(in, size), (long long)w->padding);
}

/* [..., S...] -> [..., O...]. Arguments 1 .. are kernel, stride, padding and, where there is one,
 * dilation. */
static bool slide(const struct infer *in, struct meta *out, int n, bool half) {
    const struct meta *m = infer_meta(in, 0);
    int dilation, ceil_mode;
    bool dilates = op_param(in->op->id, "dilation", &dilation) != NULL;
    bool rounds = op_param(in->op->id, "ceil_mode", &ceil_mode) != NULL;
    if (m->rank < n)
        return infer_fail(in, "needs at least %d dimensions, got %s", n, infer_shape(in, m));
    if (!infer_entries(in, 1, (uint32_t)n, false) || !infer_entries(in, 2, (uint32_t)n, true) ||
        !infer_entries(in, 3, (uint32_t)n, false) ||
        (dilates && !infer_entries(in, dilation, (uint32_t)n, false)))
        return false;
    out->rank = m->rank;
    memcpy(out->size, m->size, sizeof out->size);
    for (int k = 0; k < n; k++) {
        struct window w = {.kernel = infer_entry(in, 1, (uint32_t)k, 1), .dilation = 1};
        w.stride = infer_entry(in, 2, (uint32_t)k, w.kernel);
        w.padding = infer_entry(in, 3, (uint32_t)k, 0);
        if (dilates) w.dilation = infer_entry(in, dilation, (uint32_t)k, 1);
        w.ceil = rounds && in->args[ceil_mode].b;
        if (half && w.padding > sat_add(sat_mul(w.dilation, w.kernel - 1), 1) / 2)
            return infer_fail(in,
                              "pad should be at most half of effective kernel size, but got "
                              "pad=%lld, kernel_size=%lld and dilation=%lld",
                              (long long)w.padding, (long long)w.kernel, (long long)w.dilation);
        int dim = m->rank - n + k;
        if (!count_windows(in, &w, m->size[dim], &out->size[dim])) return false;
    }
    return true;
}

/* Every list has one entry a windowed dimension. */
bool shape_windows(const struct infer *in, struct meta *out) {
    uint32_t n = in->args[1].ints.n;
    for (int i = 1; i <= 4; i++)
        if (in->args[i].ints.n != n || !n)
            return infer_fail(in, "%s needs one entry for each windowed dimension",
                              in->op->params[i].name);
    if (!slide(in, out, (int)n, false)) return false;
    if (out->rank + n > WS_MAX_RANK)
        return infer_fail(in, "at most %d dimensions are supported", WS_MAX_RANK);
    for (uint32_t k = 0; k < n; k++) append(out, in->args[1].ints.at[k], EX_NONE);
    return true;
}

/* The `spatial` parameter says how many dimensions the windows have; what is before them is one or
 * two: channels, with or without a batch. */
static bool need_spatial(const struct infer *in, int arg, int *n) {
    const struct meta *m = infer_meta(in, 0);
    int64_t spatial = ex_value(in->g->ex, in->args[arg].i);
    if (spatial < 1 || spatial > 3)
        return infer_fail(in, "windows have 1 to 3 dimensions, not %lld", (long long)spatial);
    *n = (int)spatial;
    if (m->rank != *n + 1 && m->rank != *n + 2)
        return infer_fail(in, "expected %dD or %dD input, but got %s", *n + 1, *n + 2,
                          infer_shape(in, m));
    for (int k = 1; k < m->rank; k++)
        if (m->size[k] == constant(in, 0))
            return infer_fail(in,
                              "Expected %dD or %dD (batch mode) tensor with optional 0 dim batch "
                              "size for input, but got: %s",
                              *n + 1, *n + 2, infer_shape(in, m));
    return true;
}

/* max_pool, avg_pool */
bool shape_pool(const struct infer *in, struct meta *out) {
    int spatial, divisor, n = 0;
    enum dtype d = infer_meta(in, 0)->dtype;
    op_param(in->op->id, "spatial", &spatial);
    if (!need_spatial(in, spatial, &n)) return false;
    if (d == DT_BOOL || (in->op->id == OP_AVG_POOL && !dtype_is_float(d)))
        return infer_fail(in, "not implemented for %s", dtype_name(d));
    if (op_param(in->op->id, "divisor_override", &divisor) && in->args[divisor].kind == ARG_INT &&
        ex_value(in->g->ex, in->args[divisor].i) == 0)
        return infer_fail(in, "divisor must be not zero");
    if (!slide(in, out, n, true)) return false;
    struct meta windows = *out; /* which are reduced, have an element for each place in each */
    for (int k = 0; k < n; k++)
        append(&windows, constant(in, infer_entry(in, 1, (uint32_t)k, 1)), EX_NONE);
    if (meta_is_addressable(in->g->ex, &windows)) return true;
    ex_overflow(in->g->ex, NULL);
    return infer_fail(in, "its windows %s are too large", infer_shape(in, &windows));
}

/* adaptive_avg_pool, adaptive_max_pool: output_size has one entry for each last dimension */
bool shape_adaptive_pool(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    const struct arg *size = &in->args[1];
    int n = (int)size->ints.n;
    if (n < 1 || n > 3 || (m->rank != n + 1 && m->rank != n + 2))
        return infer_fail(in, "an output_size of %d does not fit the input %s", n,
                          infer_shape(in, m));
    if (!dtype_is_float(m->dtype))
        return infer_fail(in, "not implemented for %s", dtype_name(m->dtype));
    out->rank = m->rank;
    memcpy(out->size, m->size, sizeof out->size);
    for (int k = 0; k < n; k++) {
        int dim = m->rank - n + k;
        int64_t have, want;
        if (!ex_is_const(in->g->ex, m->size[dim], &have) ||
            !ex_is_const(in->g->ex, size->ints.at[k], &want))
            return infer_fail(in, "needs constant sizes, not %s", infer_text(in, m->size[dim]));
        if (want < 0)
            return infer_fail(in, "elements of output_size must be greater than or equal to 0");
        if (have == 0)
            return infer_fail(in,
                              "Expected input to have non-zero size for non-batch dimensions, but "
                              "input has sizes %s with dimension %d being empty",
                              infer_shape(in, m), dim);
        out->size[dim] = constant(in, want);
    }
    return true;
}

/* upsample_nearest: the last dimensions get other sizes */
bool shape_resize(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    const struct arg *size = &in->args[1];
    int n = (int)size->ints.n;
    if (n < 1 || n > 3 || m->rank != n + 2)
        return infer_fail(in, "a size of %d entries does not fit the input %s", n,
                          infer_shape(in, m));
    out->rank = m->rank;
    memcpy(out->size, m->size, sizeof out->size);
    for (int k = 0; k < n; k++) {
        int64_t have, want;
        if (!ex_is_const(in->g->ex, m->size[2 + k], &have) ||
            !ex_is_const(in->g->ex, size->ints.at[k], &want))
            return infer_fail(in, "needs constant sizes, not %s", infer_text(in, m->size[2 + k]));
        if (want < 1 || have < 1)
            return infer_fail(in,
                              "Input and output sizes should be greater than 0, but got input %s "
                              "and output size %s",
                              infer_shape(in, m), infer_text(in, size->ints.at[k]));
        out->size[2 + k] = constant(in, want);
    }
    return true;
}

/* im2col: [N, C, H, W] -> [N, C KH KW, OH OW] */
bool shape_unfold(const struct infer *in, struct meta *out) {
    struct exprs *p = in->g->ex;
    const struct meta *m = infer_meta(in, 0);
    struct meta windows = {0};
    if (m->rank != 3 && m->rank != 4)
        return infer_fail(in, "Expected 3D or 4D (batch mode) tensor, but got %s",
                          infer_shape(in, m));
    if (!slide(in, &windows, 2, false)) return false;
    ex area =
        ex_mul(p, constant(in, infer_entry(in, 1, 0, 1)), constant(in, infer_entry(in, 1, 1, 1)));
    if (m->rank == 4) append(out, m->size[0], EX_NONE);
    append(out, ex_mul(p, m->size[m->rank - 3], area), EX_NONE);
    append(out, ex_mul(p, windows.size[m->rank - 2], windows.size[m->rank - 1]), EX_NONE);
    return true;
}

/* x.unfold(dim, size, step): windows of one dimension, their elements last */
bool shape_tensor_unfold(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    struct window w = {.dilation = 1};
    if (!m->rank || m->rank == WS_MAX_RANK)
        return infer_fail(in, "cannot be applied to a tensor of %d dimensions", m->rank);
    if (!ex_is_const(in->g->ex, in->args[2].i, &w.kernel) ||
        !ex_is_const(in->g->ex, in->args[3].i, &w.stride))
        return infer_fail(in, "size and step must be constants");
    out->rank = m->rank;
    memcpy(out->size, m->size, sizeof out->size);
    int dim = dim_at(in, 1);
    if (!count_windows(in, &w, m->size[dim], &out->size[dim])) return false;
    append(out, in->args[2].i, EX_NONE);
    return true;
}
