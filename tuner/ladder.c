/* ladder.c: rungs from a text, and ranges from what won at them.
 *
 *   256: A   512: B ties A   1024: A   2048: C      ->   256..1024 under A, 2048 under C
 *                                                        256 <= s0 && s0 < 2048 ; s0 == 2048 */
#include "tuner/ladder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the axis -------------------------------------------------------------------------------- */

struct ladder {
    int64_t first, last, step;
    char how; /* '*' or '+' */
};

static bool read_number(const char **p, int64_t *out) {
    char *end;
    if (**p < '0' || **p > '9') return false;
    errno = 0;
    *out = strtoll(*p, &end, 10);
    *p = end;
    return errno == 0;
}

static bool read_ladder(const char *p, struct ladder *l) {
    if (!read_number(&p, &l->first) || *p++ != ':' || !read_number(&p, &l->last) || *p++ != ':')
        return false;
    l->how = *p++;
    return (l->how == '*' || l->how == '+') && read_number(&p, &l->step) && !*p;
}

bool ladder_is(const char *value) {
    struct ladder l;
    return read_ladder(value, &l);
}

enum ws_status ladder_parse(const char *value, struct arena *a, const char ***rungs, int *n,
                            struct diag *d) {
    struct ladder l;
    *n = 0;
    *rungs = NEW_ARRAY(a, const char *, LADDER_MOST);
    if (!read_ladder(value, &l) || l.step < (l.how == '*' ? 2 : 1) || l.first < 1)
        return diag_fail(d, WS_USAGE,
                         "a range of sizes is FIRST:LAST:*FACTOR or FIRST:LAST:+STEP, not '%s'",
                         value);
    for (int64_t v = l.first; v <= l.last;) {
        if (*n == LADDER_MOST)
            return diag_fail(d, WS_USAGE, "'%s' has more than %d sizes", value, LADDER_MOST);
        (*rungs)[(*n)++] = arena_printf(a, "%lld", (long long)v);
        bool ends = l.how == '*' ? v > l.last / l.step : v > l.last - l.step;
        if (ends) break;
        v = l.how == '*' ? v * l.step : v + l.step;
    }
    if (!*n) return diag_fail(d, WS_USAGE, "the range '%s' holds no size", value);
    return WS_OK;
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool accepts(const struct rung *r, const char *config) {
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->candidates[i], config)) return true;
    return false;
}

static bool accepted_by_all(const struct rung *rungs, int from, int to, const char *config) {
    for (int i = from; i <= to; i++)
        if (!accepts(&rungs[i], config)) return false;
    return true;
}

static int wins(const struct rung *rungs, int from, int to, const char *config) {
    int n = 0;
    for (int i = from; i <= to; i++) n += !strcmp(rungs[i].candidates[0], config);
    return n;
}

/* NULL: the rungs have none in common. */
static const char *common_config(const struct rung *rungs, int from, int to) {
    const char *best = NULL;
    for (int i = 0; i < rungs[from].n; i++) {
        const char *c = rungs[from].candidates[i];
        if (!accepted_by_all(rungs, from, to, c)) continue;
        if (!best || wins(rungs, from, to, c) > wins(rungs, from, to, best)) best = c;
    }
    return best;
}

struct rung_range *ladder_merge(const struct rung *rungs, int n, struct arena *a, int *n_ranges) {
    struct rung_range *out = NEW_ARRAY(a, struct rung_range, n);
    *n_ranges = 0;
    for (int from = 0, to; from < n; from = to + 1) {
        const char *config = common_config(rungs, from, to = from), *more;
        while (to + 1 < n && (more = common_config(rungs, from, to + 1))) config = more, to++;
        out[(*n_ranges)++] = (struct rung_range){from, to, config};
    }
    return out;
}

/* ---- guards ---------------------------------------------------------------------------------- */

enum { STEP_MOST = 64 }; /* no vector is longer */

/* The largest power of two up to STEP_MOST that divides every size of the range. */
static int64_t common_step(const struct rung *rungs, const struct rung_range *r) {
    int64_t step = STEP_MOST;
    for (int i = r->from; i <= r->to; i++)
        while (rungs[i].size % step) step /= 2;
    return step;
}

static void add_term(struct guard_range *g, enum guard_test test, int64_t number) {
    g->at[g->n++] = (struct guard_term){test, 0, number};
}

static int64_t round_down(int64_t v, int64_t step) { return v / step * step; }

/* Of the multiples of step in [from, to), whose first is legal, the last one before the first that
 * is not; towards smaller sizes if from > to. */
static int64_t last_legal(const struct ladder_rules *rules, const struct rung_range *r,
                          int64_t step, int64_t from, int64_t to) {
    int64_t way = to > from ? step : -step, legal = 0,
            n = (to - from) / way + 1; /* steps from `from` */
    while (n - legal > 1) {
        int64_t middle = legal + (n - legal) / 2;
        if (rules->legal(rules->ctx, r, step, from + middle * way))
            legal = middle;
        else
            n = middle;
    }
    return from + legal * way;
}

/* Who has the sizes between two ranges: the lower one up to *most, the upper one from *least on. */
static void part(const struct ladder_rules *rules, const struct rung_range *lower,
                 const struct rung_range *upper, const int64_t *step, int64_t *most,
                 int64_t *least) {
    int64_t last = *most, next = *least, up = round_down(next - 1, step[0]),
            down = round_down(last, step[1]) + step[1];
    if (up <= last || rules->legal(rules->ctx, lower, step[0], up)) {
        *most = next - 1;
    } else if (down >= next || rules->legal(rules->ctx, upper, step[1], down)) {
        *least = last + 1;
    } else {
        *most = last_legal(rules, lower, step[0], last, up);
        *least = last_legal(rules, upper, step[1], next, down);
        if (*least <= *most) *least = *most + 1;
    }
}

struct guard_range *ladder_guards(const struct rung *rungs, const struct rung_range *ranges, int n,
                                  const struct ladder_rules *rules, struct arena *a) {
    struct guard_range *out = NEW_ARRAY(a, struct guard_range, n);
    int64_t *step = NEW_ARRAY(a, int64_t, n);
    for (int i = 0; i < n; i++)
        step[i] = rules->step(rules->ctx, &ranges[i], common_step(rungs, &ranges[i]));
    int64_t least = rungs[ranges[0].from].size;
    for (int i = 0; i < n; i++) {
        int64_t most = rungs[ranges[i].to].size, next = 0, next_least = 0;
        if (i + 1 < n) {
            next = next_least = rungs[ranges[i + 1].from].size;
            part(rules, &ranges[i], &ranges[i + 1], &step[i], &most, &next_least);
        }
        if (least == most) {
            add_term(&out[i], GUARD_IS, most);
        } else {
            bool meets = most + 1 == next;
            add_term(&out[i], GUARD_LEAST, least);
            add_term(&out[i], meets ? GUARD_BELOW : GUARD_MOST, meets ? next : most);
            if (step[i] > 1) add_term(&out[i], GUARD_MULTIPLE, step[i]);
        }
        least = next_least;
    }
    return out;
}
