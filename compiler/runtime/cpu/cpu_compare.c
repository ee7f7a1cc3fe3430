/* cpu_compare.c: elements against their reference, as cuda/kernels.c does it.
 *
 * Badness is |got - want| / bound rounded to float, so that both devices rank alike; infinities
 * that differ are +inf, a NaN on one side only is above everything (here: NAN_BADNESS). */
#include <math.h>

#include "runtime/cpu/cpu_device.h"

#define NAN_BADNESS 1e300 /* more than any float */

static double distance_badness(double diff, double bound, bool *bad) {
    *bad = !(diff <= bound);
    return diff == 0 ? 0 : (double)(float)(diff / bound);
}

static double badness(double got, double want, double bound, bool *bad) {
    *bad = false;
    if (bound == (double)INFINITY) return 0;
    if (isnan(got) || isnan(want)) {
        *bad = !isnan(got) != !isnan(want);
        return *bad ? NAN_BADNESS : 0;
    }
    if (isinf(got) || isinf(want)) {
        *bad = got != want;
        return *bad ? (double)INFINITY : 0;
    }
    return distance_badness(fabs(got - want), bound, bad);
}

/* 64 bits do not fit a double, but their difference decides no less there. */
static double int_badness(int64_t got, int64_t want, double bound, bool *bad) {
    uint64_t diff = got > want ? (uint64_t)got - (uint64_t)want : (uint64_t)want - (uint64_t)got;
    return distance_badness((double)diff, bound, bad);
}

/* NaN mismatches before infinite ones before the rest; of equals the first. */
static bool is_worse(double a, int64_t at, double b, int64_t bt) {
    bool a_nan = a == NAN_BADNESS, b_nan = b == NAN_BADNESS;
    if (a_nan != b_nan) return a_nan;
    return a > b || (a == b && at < bt);
}

/* What one part of the elements has found; a line of its own, so that parts do not take it from
 * each other. */
struct found {
    _Alignas(64) int64_t bad;
    int64_t unbounded;
    int64_t worst;
    double badness;
};

struct comparison {
    const void *got;
    struct runs runs;
    enum dtype dtype;
    const void *want;
    int64_t n, parts;
    const float *bound;  /* NULL: 0 */
    struct found *found; /* of every part */
};

static bool is_unbounded(const struct comparison *c, int64_t i) {
    return c->bound && c->bound[i] == INFINITY;
}

/* Where element i of what is compared lies. */
static size_t place_of(const struct comparison *c, int64_t i) {
    return (size_t)(i / c->runs.length * c->runs.pitch + i % c->runs.length);
}

static double badness_at(const struct comparison *c, size_t i, bool *bad) {
    enum dtype r = dtype_reference(c->dtype);
    double bound = c->bound ? (double)c->bound[i] : 0;
    size_t at = place_of(c, (int64_t)i);
    return r == DT_I64
               ? int_badness(dtype_load_int(c->dtype, c->got, at), dtype_load_int(r, c->want, i),
                             bound, bad)
               : badness(dtype_load(c->dtype, c->got, at), dtype_load(r, c->want, i), bound, bad);
}

static void compare_part(void *arg, int64_t part) {
    const struct comparison *c = arg;
    struct found f = {.badness = -1};
    for (int64_t i = c->n * part / c->parts; i < c->n * (part + 1) / c->parts; i++) {
        bool is_bad;
        double b = badness_at(c, (size_t)i, &is_bad);
        f.bad += is_bad;
        f.unbounded += is_unbounded(c, i);
        if (is_worse(b, i, f.badness, f.worst)) f.badness = b, f.worst = i;
    }
    c->found[part] = f;
}

enum ws_status cpu_compare(struct device *dev, dptr got, struct runs runs, enum dtype dtype,
                           dptr want, int64_t n, dptr bound, struct mismatch *out, struct diag *d) {
    const struct cpu_device *dc = (const struct cpu_device *)dev;
    struct found found[MAX_CPUS], all = {.badness = -1};
    struct comparison c = {(const void *)(uintptr_t)got,    runs, dtype,
                           (const void *)(uintptr_t)want,   n,    dc->threads,
                           (const float *)(uintptr_t)bound, found};
    (void)d;
    cpu_each(dc, c.parts, compare_part, &c);
    for (int64_t i = 0; i < c.parts; i++) {
        all.bad += found[i].bad;
        all.unbounded += found[i].unbounded;
        if (is_worse(found[i].badness, found[i].worst, all.badness, all.worst))
            all.badness = found[i].badness, all.worst = found[i].worst;
    }
    *out = (struct mismatch){.bad = all.bad, .unbounded = all.unbounded, .worst = all.worst};
    size_t worst = (size_t)all.worst;
    const char *element =
        (const char *)c.got + place_of(&c, all.worst) * (size_t)dtype_bytes(dtype);
    mismatch_values(out, dtype, element, (const char *)c.want + 8 * worst,
                    c.bound ? c.bound + worst : NULL, 0);
    return WS_OK;
}
