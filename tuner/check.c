/* check.c: comparison with reference values, each within its bound. */
#include "tuner/check.h"

#include <math.h>

enum ws_status expected_upload(struct device *dev, enum dtype t, const void *want,
                               const float *bound, int64_t n, struct expected *out,
                               struct diag *d) {
    if (expected_alloc(dev, t, bound != NULL, n, out, d) != WS_OK) return d->status;
    device_upload(dev, out->want, want, (size_t)dtype_bytes(dtype_reference(t)) * (size_t)n, d);
    if (bound) device_upload(dev, out->bound, bound, sizeof *bound * (size_t)n, d);
    return d->status;
}

enum ws_status expected_alloc(struct device *dev, enum dtype t, bool bound, int64_t n,
                              struct expected *out, struct diag *d) {
    size_t cells = n > 0 ? (size_t)n : 1;
    *out = (struct expected){.dtype = t, .n = n};
    device_alloc(dev, (size_t)dtype_bytes(dtype_reference(t)) * cells, &out->want, d);
    if (bound && d->status == WS_OK) device_alloc(dev, sizeof(float) * cells, &out->bound, d);
    if (d->status != WS_OK) expected_free(dev, out);
    return d->status;
}

enum ws_status expected_take(struct device *dev, dptr buffer, enum dtype t, int64_t n, double share,
                             struct expected *out, struct diag *d) {
    if (expected_alloc(dev, t, share > 0, n, out, d) != WS_OK) return d->status;
    return device_take(dev, buffer, t, out->want, n, share, out->bound, d);
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

enum ws_status check_buffer(struct device *dev, dptr got, const struct runs *runs,
                            const struct expected *e, const int64_t *size, int rank,
                            struct mismatch *worst, const char **message, struct diag *d) {
    const struct mismatch *m = worst;
    *message = NULL;
    if (device_compare_runs(dev, got, runs ? *runs : (struct runs){e->n, e->n}, e->dtype, e->want,
                            e->n, e->bound, worst, d) != WS_OK ||
        !m->bad)
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
