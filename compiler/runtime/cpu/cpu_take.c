/* cpu_take.c: what a trusted kernel left becomes a reference, and what is remembered of one, as
 * cuda/helpers.cu does it. */
#include <math.h>

#include "runtime/cpu/cpu_device.h"

struct taking {
    enum dtype dtype, as; /* of what is read; of references */
    const void *from;
    void *want;
    float *bound;
    int64_t n, parts;
    double share, rms;
    double *found; /* of every part, a line apart */
    int64_t *finite;
};

enum { LINE = 8 }; /* doubles, so that parts do not take them from each other */

static int64_t part_begin(const struct taking *t, int64_t part) { return t->n * part / t->parts; }

static void add_squares(void *arg, int64_t part) {
    const struct taking *t = arg;
    double sum = 0;
    int64_t finite = 0;
    for (int64_t i = part_begin(t, part); i < part_begin(t, part + 1); i++) {
        double v = dtype_load(t->dtype, t->from, (size_t)i);
        if (isfinite(v)) sum += v * v, finite++;
    }
    t->found[part * LINE] = sum;
    t->finite[part * LINE] = finite;
}

/* Of the finite values. */
static double root_mean_square(const struct cpu_device *dev, struct taking *t) {
    double sum = 0;
    int64_t finite = 0;
    cpu_each(dev, t->parts, add_squares, t);
    for (int64_t p = 0; p < t->parts; p++) sum += t->found[p * LINE], finite += t->finite[p * LINE];
    return finite ? sqrt(sum / (double)finite) : 0;
}

static void take_part(void *arg, int64_t part) {
    const struct taking *t = arg;
    for (int64_t i = part_begin(t, part); i < part_begin(t, part + 1); i++) {
        if (t->as == DT_I64)
            dtype_store_int(t->as, t->want, (size_t)i,
                            dtype_load_int(t->dtype, t->from, (size_t)i));
        else
            dtype_store(t->as, t->want, (size_t)i, dtype_load(t->dtype, t->from, (size_t)i));
        if (!t->bound) continue;
        double v = fabs(dtype_load(t->dtype, t->from, (size_t)i));
        t->bound[i] = (float)(t->share * ((isfinite(v) ? v : 0) + t->rms));
    }
}

enum ws_status cpu_take(struct device *dev, dptr from, enum dtype dtype, dptr want, int64_t n,
                        double share, dptr bound, struct diag *d) {
    const struct cpu_device *dc = (const struct cpu_device *)dev;
    double found[MAX_CPUS * LINE];
    int64_t finite[MAX_CPUS * LINE];
    struct taking t = {.dtype = dtype,
                       .as = dtype_reference(dtype),
                       .from = (const void *)(uintptr_t)from,
                       .want = (void *)(uintptr_t)want,
                       .bound = (float *)(uintptr_t)bound,
                       .n = n,
                       .parts = dc->threads,
                       .share = share,
                       .found = found,
                       .finite = finite};
    (void)d;
    if (bound) t.rms = root_mean_square(dc, &t);
    cpu_each(dc, t.parts, take_part, &t);
    return WS_OK;
}

static void share_part(void *arg, int64_t part) {
    const struct taking *t = arg;
    double most = 0;
    for (int64_t i = part_begin(t, part); i < part_begin(t, part + 1); i++) {
        double size = fabs(dtype_load(t->dtype, t->from, (size_t)i)) + t->rms;
        double b = (double)t->bound[i], share = b == 0 || isinf(size) ? 0 : b / size;
        if (!(share <= most)) most = share;
    }
    t->found[part * LINE] = most;
}

enum ws_status cpu_share(struct device *dev, enum dtype dtype, dptr want, dptr bound, int64_t n,
                         double *share, struct diag *d) {
    const struct cpu_device *dc = (const struct cpu_device *)dev;
    double found[MAX_CPUS * LINE];
    int64_t finite[MAX_CPUS * LINE];
    struct taking t = {.dtype = dtype_reference(dtype),
                       .from = (const void *)(uintptr_t)want,
                       .bound = (float *)(uintptr_t)bound,
                       .n = n,
                       .parts = dc->threads,
                       .found = found,
                       .finite = finite};
    (void)d;
    t.rms = root_mean_square(dc, &t);
    cpu_each(dc, t.parts, share_part, &t);
    for (int64_t p = 0; p < t.parts; p++)
        if (!(found[p * LINE] <= *share)) *share = found[p * LINE];
    return WS_OK;
}
