/* search.c: what all strategies share. */
#include "tuner/search.h"

#include <math.h>
#include <string.h>

#include "tuner/interrupt.h"

static const struct {
    const char *name;
    enum ws_status (*run)(struct tune *, struct diag *);
} searches[] = {
#define SEARCH(name, what) {#name, search_##name},
    SEARCHES(SEARCH)
#undef SEARCH
};

const char *search_name(enum search_strategy s) { return searches[s].name; }

bool search_parse(const char *name, enum search_strategy *out) {
    for (int i = 0; i < SEARCH_COUNT; i++)
        if (!strcmp(searches[i].name, name)) return *out = (enum search_strategy)i, true;
    return false;
}

const char *search_names(struct arena *a) {
    struct buf b = buf_new(a);
    for (int i = 0; i < SEARCH_COUNT; i++) buf_printf(&b, "%s%s", i ? ", " : "", searches[i].name);
    return b.p;
}

enum ws_status search_run(struct tune *t, struct diag *d) { return searches[t->search].run(t, d); }

int search_first_wave(const struct tune *t, int *which) {
    enum { GUESSES = 4 };
    bool all = t->search == SEARCH_exhaustive || t->search == SEARCH_halving;
    if (t->search == SEARCH_model) return search_model_first(t, which);
    int n = all || t->n < GUESSES ? t->n : GUESSES;
    for (int i = 0; i < n; i++) which[i] = i;
    return n;
}

/* Where the best is as fast as the roofline little is to be gained, and a dozen configs find it.
 * The roofline is that of a copy: who reads more than he writes, or reads alone, or asks the L2 to
 * keep what he reads, may be faster yet. One that was measured too low is no reason to stop. */
enum { LEAST_TRIED = 12 };

static bool as_good_as_it_gets(const struct tune *t) {
    const struct roof *r = &t->shared->roof;
    return t->n_tried >= LEAST_TRIED && roof_floor_us(r, &t->work) >= t->best_us &&
           !roof_is_beaten(r, &t->work, t->best_us);
}

bool search_goes_on(const struct tune *t) {
    if (interrupted()) return false;
    if (!(t->best_us < INFINITY)) return true;
    if (t->search != SEARCH_exhaustive && as_good_as_it_gets(t)) return false;
    return t->trials_left > 0 && clock_ms() < t->deadline_ms;
}

/* What there are trials for is compiled; while nothing works, the others as well. */
enum ws_status search_wave(struct tune *t, const int *which, int n, struct diag *d) {
    int sure = n < t->trials_left ? n : t->trials_left > 0 ? t->trials_left : 0;
    if (t->best_us < INFINITY) n = sure;
    if (tune_build(t, which, sure, d) != WS_OK) return d->status;
    for (int i = 0; i < n && search_goes_on(t); i++) {
        if (i >= sure && tune_build(t, &which[i], 1, d) != WS_OK) return d->status;
        if (trial_run(t, &t->variants[which[i]], d) != WS_OK) return d->status;
    }
    return d->status;
}

int search_best(const struct tune *t) {
    int best = -1;
    for (int i = 0; i < t->n; i++) {
        const struct variant *v = &t->variants[i];
        if (variant_refused(v) || !v->timing.us.n) continue;
        if (best < 0 || v->timing.us.median < t->variants[best].timing.us.median) best = i;
    }
    return best;
}

bool search_seen(const struct tune *t, int i) {
    return t->variants[i].timing.us.n || variant_refused(&t->variants[i]);
}
