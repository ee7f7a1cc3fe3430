/* cpu_compare.c: elements against their f32 reference, as cuda/kernels.c does it.
 *
 * Badness is |got - want| / tolerance rounded to float, so that both devices rank alike; infinities
 * that differ are +inf, a NaN on one side only is above everything (here: NAN_BADNESS). */
#include <math.h>

#include "runtime/cpu/cpu_device.h"

#define NAN_BADNESS 1e300 /* more than any float */

static double badness(double got, double want, double rtol, double atol, bool *bad) {
    if (isnan(got) || isnan(want)) {
        *bad = !isnan(got) != !isnan(want);
        return *bad ? NAN_BADNESS : 0;
    }
    if (isinf(got) || isinf(want)) {
        *bad = got != want;
        return *bad ? (double)INFINITY : 0;
    }
    double diff = fabs(got - want), tolerance = atol + rtol * fabs(want);
    *bad = !(diff <= tolerance);
    return diff == 0 ? 0 : (double)(float)(diff / tolerance);
}

/* NaN mismatches before infinite ones before the rest; of equals the first. */
static bool is_worse(double a, int64_t at, double b, int64_t bt) {
    bool a_nan = a == NAN_BADNESS, b_nan = b == NAN_BADNESS;
    if (a_nan != b_nan) return a_nan;
    return a > b || (a == b && at < bt);
}

enum ws_status cpu_compare(struct device *dev, dptr got, enum dtype dtype, dptr want, int64_t n,
                           double rtol, double atol, struct mismatch *out, struct diag *d) {
    const void *g = (const void *)(uintptr_t)got;
    const float *w = (const float *)(uintptr_t)want;
    int64_t bad = 0, worst = 0;
    double worst_badness = -1;
    (void)d, (void)dev; /* without OpenMP the number of threads has no use */
#pragma omp parallel num_threads(((struct cpu_device *)dev)->threads) reduction(+ : bad)
    {
        int64_t my_worst = 0;
        double my_badness = -1;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) {
            bool is_bad;
            double b = badness(dtype_load(dtype, g, (size_t)i), w[i], rtol, atol, &is_bad);
            bad += is_bad;
            if (is_worse(b, i, my_badness, my_worst)) my_badness = b, my_worst = i;
        }
#pragma omp critical
        if (is_worse(my_badness, my_worst, worst_badness, worst))
            worst_badness = my_badness, worst = my_worst;
    }
    *out = (struct mismatch){bad, worst, dtype_load(dtype, g, (size_t)worst), w[worst]};
    return WS_OK;
}
