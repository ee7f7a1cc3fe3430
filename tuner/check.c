/* check.c: comparison with reference values.
 *
 * An element is bad if |got - want| > rtol * |want| + atol, with atol = rtol * rms(want): errors of
 * a sum scale with the size of its terms, not with that of a result that happens to be near zero.
 *
 * rtol by type. Maths is done in f32 whatever the tensors' type, so what differs from the reference
 * is the rounding of the result (half a unit: 2^-9 of bf16, 2^-12 of f16) and of whatever was
 * stored in between, plus the order in which f32 sums were made:
 *
 *   bf16  1.6e-2   four units: results, and intermediates that a program stores
 *   f16   2e-3     the same four units
 *   f8    0.13     one unit of f8e4m3, twice that of f8e5m2: what lies between two goes either way
 *   f32   1e-4     sums of some 10^4 terms, in any order, and approximate functions
 *   f64   1e-6     the reference itself is handed over in f32
 *   ints  0        equal: integers are compared as such
 *   bool  0        equal
 *
 * u8, i8 and i16 are equal, too, but most of them were floats: one that lies half way between two
 * integers, or next to one where it is cut off, goes either way by its last bit. So a small share
 * of them may be off by one. Where rounding the inputs changes more of them (condition.c), as many
 * may be off, and by the units that a bf16 may be off besides. */
#include "tuner/check.h"

#include <math.h>
#include <stdlib.h>

static double relative_tolerance(enum dtype t) {
    switch (t) {
    case DT_BOOL:
    case DT_U8:
    case DT_I8:
    case DT_I16:
    case DT_I32:
    case DT_I64: return 0;
    case DT_F8E4M3: return 0.13;
    case DT_F8E5M2: return 0.26;
    case DT_F16: return 2e-3;
    case DT_BF16: return 1.6e-2;
    case DT_F32: return 1e-4;
    case DT_F64: return 1e-6;
    case DT_COUNT: break;
    }
    WS_BUG("no dtype: %d", (int)t);
}

/* Of f32 between -128 and 127 that are a few units off, one in 10^5 is rounded the other way; where
 * 16-bit values were rounded before, more. */
static double other_way(enum dtype t) { return dtype_is_narrow(t) ? 0x1p-10 : 0; }

/* Of the finite values. */
static double root_mean_square(const float *x, int64_t n) {
    double sum = 0;
    int64_t finite = 0;
#pragma omp parallel for reduction(+ : sum, finite) schedule(static)
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i])) sum += (double)x[i] * x[i], finite++;
    return finite ? sqrt(sum / (double)finite) : 0;
}

void check_tolerance(enum dtype t, const void *want, int64_t n, double *rtol, double *atol) {
    *rtol = relative_tolerance(t);
    *atol = dtype_is_float(t) ? *rtol * root_mean_square(want, n) : 0;
}

enum ws_status expected_upload(struct device *dev, enum dtype t, const void *want, int64_t n,
                               struct expected *out, struct diag *d) {
    *out = (struct expected){.dtype = t, .n = n, .share = other_way(t)};
    check_tolerance(t, want, n, &out->rtol, &out->atol);
    size_t bytes = (size_t)dtype_bytes(dtype_reference(t)) * (size_t)n;
    if (device_alloc(dev, bytes, &out->want, d) == WS_OK)
        device_upload(dev, out->want, want, bytes, d);
    return d->status;
}

enum ws_status expected_snapshot(struct device *dev, dptr buffer, enum dtype t, int64_t n,
                                 struct expected *out, struct diag *d) {
    enum dtype as = dtype_reference(t);
    size_t bytes = (size_t)n * (size_t)dtype_bytes(t);
    void *got = large_alloc(bytes);
    void *want = large_alloc((size_t)n * (size_t)dtype_bytes(as));
    if (!got || !want)
        diag_fail(d, WS_MACHINE, "out of memory for %lld elements", (long long)n);
    else if (device_download(dev, got, buffer, bytes, d) == WS_OK) {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < n; i++)
            if (as == DT_I64)
                dtype_store_int(as, want, (size_t)i, dtype_load_int(t, got, (size_t)i));
            else
                dtype_store(as, want, (size_t)i, dtype_load(t, got, (size_t)i));
        expected_upload(dev, t, want, n, out, d);
    }
    free(got);
    free(want);
    return d->status;
}

void expected_free(struct device *dev, struct expected *e) {
    if (e->want) device_free(dev, e->want);
    *e = (struct expected){0};
}

/* Element `at` of a row-major tensor: "[3, 17]". */
static void print_index(struct buf *b, int64_t at, const int64_t *size, int rank) {
    const int64_t flat = INT64_MAX;
    int64_t index[8] = {at};
    if (rank < 1) rank = 1, size = &flat;
    for (int i = rank - 1; i >= 0; i--) {
        index[i] = size[i] ? at % size[i] : 0;
        at = size[i] ? at / size[i] : 0;
    }
    for (int i = 0; i < rank; i++) buf_printf(b, "%s%lld", i ? ", " : "[", (long long)index[i]);
    buf_puts(b, "]");
}

enum ws_status check_buffer(struct device *dev, dptr got, const struct expected *e,
                            const int64_t *size, int rank, const char **message, struct diag *d) {
    struct mismatch m;
    *message = NULL;
    if (device_compare(dev, got, e->dtype, e->want, e->n, e->rtol, e->atol, &m, d) != WS_OK)
        return d->status;
    if (!m.bad) return WS_OK;
    if ((double)m.bad <= e->share * (double)e->n) {
        struct mismatch far;
        double units = e->share > other_way(e->dtype) ? relative_tolerance(DT_BF16) : 0;
        if (device_compare(dev, got, e->dtype, e->want, e->n, units, 1, &far, d) != WS_OK)
            return d->status;
        if (!far.bad) return WS_OK;
    }
    struct buf b = buf_new(d->arena);
    print_index(&b, m.worst, size, rank);
    if (dtype_is_float(e->dtype))
        buf_printf(&b, " is %.6g, expected %.6g", m.got, m.want);
    else
        buf_printf(&b, " is %lld, expected %lld", (long long)m.got_int, (long long)m.want_int);
    buf_printf(&b, " (%lld of %lld elements differ by more than %.2g relative + %.2g)",
               (long long)m.bad, (long long)e->n, e->rtol, e->atol);
    *message = b.p;
    return WS_OK;
}
