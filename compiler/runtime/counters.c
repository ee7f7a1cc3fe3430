/* counters.c: what can be said of counters without a device.
 *
 *   two launches of one kernel, 900 and 100 cycles:   total
 *     dram_read_bytes  4096   16                      4112
 *     issue_pct        50     10                      46      (50 * 900 + 10 * 100) / 1000 */
#include <math.h>

#include "runtime/runtime.h"

static const char *const pipe_names[] = {
#define P(name, text) #name,
    COUNTER_PIPES(P)
#undef P
};
static const char *const pipe_texts[] = {
#define P(name, text) text,
    COUNTER_PIPES(P)
#undef P
};
static const char *const stall_names[] = {
#define S(name, text) #name,
    COUNTER_STALLS(S)
#undef S
};
static const char *const stall_texts[] = {
#define S(name, text) text,
    COUNTER_STALLS(S)
#undef S
};

const char *counter_pipe_name(int pipe) { return pipe_names[pipe]; }
const char *counter_pipe_text(int pipe) { return pipe_texts[pipe]; }
const char *counter_stall_name(int stall) { return stall_names[stall]; }
const char *counter_stall_text(int stall) { return stall_texts[stall]; }

struct counters counters_unknown(void) {
    struct counters c;
#define C(name, how) c.name = NAN;
    COUNTERS(C)
#undef C
    for (int i = 0; i < N_PIPES; i++) c.pipe_pct[i] = NAN;
    for (int i = 0; i < N_STALLS; i++) c.stall_pct[i] = NAN;
    return c;
}

/* ---- several launches ------------------------------------------------------------------------ */

/* `at` is a counter of c[0]; the same one of c[i] lies i structs further. */
static double nth(const double *at, int i) {
    const void *there = (const char *)at + (size_t)i * sizeof(struct counters);
    return *(const double *)there;
}

static double total_SUM(const struct counters *c, const double *at, int n) {
    double sum = 0;
    (void)c;
    for (int i = 0; i < n; i++) sum += nth(at, i);
    return sum;
}

/* A launch of no cycles has no weight; where cycles are not known, all weigh the same. */
static double total_MEAN(const struct counters *c, const double *at, int n) {
    double sum = 0, weights = 0;
    for (int i = 0; i < n; i++) {
        double weight = isnan(c[i].cycles) ? 1 : c[i].cycles;
        if (weight > 0) sum += weight * nth(at, i);
        weights += weight;
    }
    return weights > 0 ? sum / weights : NAN;
}

struct counters counters_total(const struct counters *c, int n) {
    struct counters t;
    if (n == 0) return counters_unknown();
#define C(name, how) t.name = total_##how(c, &c->name, n);
    COUNTERS(C)
#undef C
    for (int i = 0; i < N_PIPES; i++) t.pipe_pct[i] = total_MEAN(c, &c->pipe_pct[i], n);
    for (int i = 0; i < N_STALLS; i++) t.stall_pct[i] = total_MEAN(c, &c->stall_pct[i], n);
    return t;
}

/* ---- the largest ----------------------------------------------------------------------------- */

static int largest(const double *x, int n) {
    int best = -1;
    for (int i = 0; i < n; i++)
        if (x[i] > (best < 0 ? 0 : x[best])) best = i; /* NAN is larger than nothing */
    return best;
}

int counters_busiest_pipe(const struct counters *c) { return largest(c->pipe_pct, N_PIPES); }
int counters_top_stall(const struct counters *c) { return largest(c->stall_pct, N_STALLS); }
