/* ladder.h: sizes of an axis tuned one by one, and the ranges that their winners hold for.
 *
 *   -D dim=256:131072:*2    256, 512, ... 131072
 *   -D dim=64:512:+64       64, 128, ... 512
 *
 * Neighbours that share a winner are merged: a config is acceptable at a rung if it is the winner
 * there, or was measured there and ties with it. A range takes as many rungs as have an acceptable
 * config in common; of those that have it, the one that won most rungs, then the one that comes
 * first at the first rung. Nothing is claimed below the first rung and above the last, nor across
 * a break: a rung that failed, or where the kernels are others. */
#ifndef TUNER_LADDER_H
#define TUNER_LADDER_H

#include "tuner/guard_range.h"
#include "tuner/stats.h"
#include "ws.h"

/* ---- the axis -------------------------------------------------------------------------------- */

enum { LADDER_MOST = 1000 }; /* rungs */

/* Is the value of an axis written as a ladder? */
bool ladder_is(const char *value);
/* Its rungs as texts. WS_USAGE: no step forward, an empty ladder, too many rungs. */
enum ws_status ladder_parse(const char *value, struct arena *a, const char ***rungs, int *n,
                            struct diag *d);

/* ---- ranges ---------------------------------------------------------------------------------- */

/* One kernel at one size. candidates[0] is the winner; the others tie with it, in a fixed order. */
struct rung {
    int64_t size;
    const char *const *candidates; /* configs as text */
    int n;
};

/* Rungs from..to, both included, under one config. */
struct rung_range {
    int from, to;
    const char *config;
};

/* rungs: of one kernel, by size, without a break. */
struct rung_range *ladder_merge(const struct rung *rungs, int n, struct arena *a, int *n_ranges);

/* What a config wants of a size. */
struct ladder_rules {
    void *ctx;
    /* The least step, at most `most`, such that the config is as good at its multiples as it was at
     * rungs from..to, which all are multiples of `most`. */
    int64_t (*step)(void *ctx, const struct rung_range *r, int64_t most);
    bool (*legal)(void *ctx, const struct rung_range *r, int64_t step, int64_t size);
};

/* The guards of ranges that follow each other, on symbol s0. Between two ranges the lower config
 * holds if it is legal up to the next rung, else the upper one if it is legal from the last rung
 * on; else each holds as far as it is legal, and in the middle neither does. */
struct guard_range *ladder_guards(const struct rung *rungs, const struct rung_range *ranges, int n,
                                  const struct ladder_rules *rules, struct arena *a);

#endif
