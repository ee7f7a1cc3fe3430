/* check.c: comparison with reference values, each within its bound. */
#include "tuner/check.h"

#include <math.h>
#include <stdlib.h>

/* Of the finite values. */
static double root_mean_square(enum dtype t, const void *x, int64_t n) {
    double sum = 0;
    int64_t finite = 0;
#pragma omp parallel for reduction(+ : sum, finite) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double v = dtype_load(t, x, (size_t)i);
        if (isfinite(v)) sum += v * v, finite++;
    }
    return finite ? sqrt(sum / (double)finite) : 0;
}

double check_share(enum dtype t, const void *want, const float *bound, int64_t n) {
    enum dtype as = dtype_reference(t);
    double most = 0, rms = root_mean_square(as, want, n);
    if (!bound) return 0;
#pragma omp parallel for reduction(max : most) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double size = fabs(dtype_load(as, want, (size_t)i)) + rms, b = (double)bound[i];
        double share = b == 0 || isinf(size) ? 0 : b / size;
        if (!(share <= most)) most = share;
    }
    return most;
}

enum ws_status expected_upload(struct device *dev, enum dtype t, const void *want,
                               const float *bound, int64_t n, struct expected *out,
                               struct diag *d) {
    size_t bytes = (size_t)dtype_bytes(dtype_reference(t)) * (size_t)n;
    *out = (struct expected){.dtype = t, .n = n};
    if (device_alloc(dev, bytes, &out->want, d) == WS_OK)
        device_upload(dev, out->want, want, bytes, d);
    bytes = sizeof *bound * (size_t)n;
    if (bound && d->status == WS_OK && device_alloc(dev, bytes, &out->bound, d) == WS_OK)
        device_upload(dev, out->bound, bound, bytes, d);
    return d->status;
}

static void take_values(enum dtype t, const void *got, int64_t n, void *want) {
    enum dtype as = dtype_reference(t);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        if (as == DT_I64)
            dtype_store_int(as, want, (size_t)i, dtype_load_int(t, got, (size_t)i));
        else
            dtype_store(as, want, (size_t)i, dtype_load(t, got, (size_t)i));
}

/* Infinities are expected as such. */
static void share_out(enum dtype as, const void *want, int64_t n, double share, float *bound) {
    double rms = root_mean_square(as, want, n);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double v = fabs(dtype_load(as, want, (size_t)i));
        bound[i] = (float)(share * ((isfinite(v) ? v : 0) + rms));
    }
}

enum ws_status check_take(struct device *dev, dptr buffer, enum dtype t, int64_t n, double share,
                          void **want, float **bound, struct diag *d) {
    enum dtype as = dtype_reference(t);
    size_t bytes = (size_t)n * (size_t)dtype_bytes(t);
    void *got = large_alloc(bytes);
    *want = large_alloc((size_t)n * (size_t)dtype_bytes(as));
    *bound = share > 0 ? large_alloc((size_t)n * sizeof **bound) : NULL;
    if (!got || !*want || (share > 0 && !*bound))
        diag_fail(d, WS_MACHINE, "out of memory for %lld elements", (long long)n);
    else if (device_download(dev, got, buffer, bytes, d) == WS_OK) {
        take_values(t, got, n, *want);
        if (*bound) share_out(as, *want, n, share, *bound);
    }
    free(got);
    return d->status;
}

void expected_free(struct device *dev, struct expected *e) {
    if (e->want) device_free(dev, e->want);
    if (e->bound) device_free(dev, e->bound);
    *e = (struct expected){0};
}

void check_print_index(struct buf *b, int64_t at, const int64_t *size, int rank) {
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

/* Digits enough to see the difference. */
static void print_values(struct buf *b, enum dtype t, const struct mismatch *m) {
    if (!dtype_is_float(t))
        buf_printf(b, " is %lld, expected %lld", (long long)m->got_int, (long long)m->want_int);
    else if (fabs(m->got - m->want) < 1e-4 * fabs(m->want))
        buf_printf(b, " is %.*g, expected %.*g", t == DT_F64 ? 17 : 9, m->got, t == DT_F64 ? 17 : 9,
                   m->want);
    else
        buf_printf(b, " is %.6g, expected %.6g", m->got, m->want);
}

enum ws_status check_buffer(struct device *dev, dptr got, const struct expected *e,
                            const int64_t *size, int rank, struct mismatch *worst,
                            const char **message, struct diag *d) {
    const struct mismatch *m = worst;
    *message = NULL;
    if (device_compare(dev, got, e->dtype, e->want, e->n, e->bound, worst, d) != WS_OK || !m->bad)
        return d->status;
    struct buf b = buf_new(d->arena);
    check_print_index(&b, m->worst, size, rank);
    print_values(&b, e->dtype, m);
    if (m->bound > 0) buf_printf(&b, ", off by more than %.3g", m->bound);
    buf_printf(&b, " (%lld of %lld elements %s wrong)", (long long)m->bad, (long long)e->n,
               m->bad == 1 ? "is" : "are");
    *message = b.p;
    return WS_OK;
}
