/* condition.c: how much the outputs change when the inputs are rounded.
 *
 *   softmax(x @ y), n = 1024, f32: logits of +-150 with an error of 10^-7 of that are 10^-4 off in
 *   the exponent, and so is the result, however well it is computed.
 *
 * No tolerance by type fits such a function. So the reference is evaluated a second time, on inputs
 * each changed by a rounding error of random sign (Monte Carlo arithmetic; Parker 1997), and the
 * largest change of an output's elements, relative to their size plus the tensor's root mean
 * square, is what a correct kernel may be off by there. A function that jumps can change by
 * anything: the change counts up to CONDITION_MOST. Integers jump or stay: what counts is how many
 * of them jump. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/data.h"

/* A rounding error that stands for those of a computation in this type: one unit of the type, but
 * of f32 several, since its sums have thousands of terms. */
static double rounding_error(enum dtype t) {
    switch (t) {
    case DT_F8E4M3: return 0x1p-4;
    case DT_F8E5M2: return 0x1p-3;
    case DT_BF16: return 0x1p-8;
    case DT_F16: return 0x1p-11;
    case DT_F32: return 0x1p-20;
    case DT_F64: return 0x1p-24; /* the reference is compared in f32 */
    case DT_BOOL:
    case DT_U8:
    case DT_I8:
    case DT_I16:
    case DT_I32:
    case DT_I64:
    case DT_COUNT: break;
    }
    return 0;
}

/* A reproducible coin for element i. */
static double random_sign(uint64_t i) {
    i = (i + 1) * 0x9E3779B97F4A7C15u;
    i = (i ^ (i >> 31)) * 0xBF58476D1CE4E5B9u;
    return i >> 63 ? 1 : -1;
}

/* A copy of an input, changed. */
static void *change_input(const struct ws_tensor_info *t, const void *bytes) {
    void *out = malloc(t->bytes + 1);
    double u = rounding_error(t->dtype);
    if (!out) return NULL;
    memcpy(out, bytes, t->bytes);
    for (int64_t i = 0; u > 0 && i < t->numel; i++) {
        double v = dtype_load(t->dtype, bytes, (size_t)i);
        dtype_store(t->dtype, out, (size_t)i, v * (1 + u * random_sign((uint64_t)i)));
    }
    return out;
}

static double largest_change(const float *before, const float *after, int64_t n) {
    double squares = 0, most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(before[i])) squares += (double)before[i] * before[i];
    double rms = n ? sqrt(squares / (double)n) : 0;
    for (int64_t i = 0; i < n; i++) {
        double change = fabs((double)after[i] - before[i]) / (fabs((double)before[i]) + rms);
        if (change > most) most = change; /* not where it is NaN: infinities, 0 of 0 */
    }
    return fmin(most, CONDITION_MOST);
}

static double share_changed(const int64_t *before, const int64_t *after, int64_t n) {
    int64_t changed = 0;
    for (int64_t i = 0; i < n; i++) changed += before[i] != after[i];
    return n ? fmin((double)changed / (double)n, CONDITION_MOST) : 0;
}

static enum ws_status compare_references(struct data *x, void *const *changed, double *change,
                                         struct diag *d) {
    int n = x->captured->n_outputs;
    void **before = calloc((size_t)n + 1, sizeof *before);
    void **after = calloc((size_t)n + 1, sizeof *after);
    if (!before || !after)
        diag_fail(d, WS_MACHINE, "out of memory for %d outputs", n);
    else if (ws_make_reference(x->captured, x->host_inputs, before, d) == WS_OK)
        ws_make_reference(x->captured, changed, after, d);
    for (int i = 0; i < n && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        change[i] = dtype_is_float(t.dtype) ? largest_change(before[i], after[i], t.numel)
                                            : share_changed(before[i], after[i], t.numel);
    }
    for (int i = 0; i < n && before && after; i++) {
        free(before[i]);
        free(after[i]);
    }
    free(before);
    free(after);
    return d->status;
}

enum ws_status data_condition(struct data *x, double *change, struct diag *d) {
    int n = x->captured->n_inputs;
    void **changed = calloc((size_t)n + 1, sizeof *changed);
    bool ok = changed != NULL;
    for (int i = 0; i < n && ok; i++) {
        struct ws_tensor_info t = ws_input_info(x->captured, i);
        changed[i] = change_input(&t, x->host_inputs[i]);
        ok = changed[i] != NULL;
    }
    if (ok)
        compare_references(x, changed, change, d);
    else
        diag_fail(d, WS_MACHINE, "out of memory for %d inputs", n);
    for (int i = 0; i < n && changed; i++) free(changed[i]);
    free(changed);
    return d->status;
}
