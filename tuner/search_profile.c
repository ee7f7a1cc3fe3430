/* search_profile.c: profile-guided: count what the best so far does, let profile_judge say what
 * bounds it, and try what moves the knobs that it names.
 *
 *   latency, 61 % of the stalls wait for memory  ->  more bytes in flight  ->  vec+ rows+ x+ warps+
 *   1.9 times the least bytes                    ->  read once             ->  keep+ cluster+
 *
 * Of the untried configs those come first that go the wanted way and little else. When no advice is
 * left to take, or the advice did not help, the neighbours are asked, as coordinate descent would.
 * Where there are no counters, that is all it does, and it says so once. */
#include <math.h>
#include <stdio.h>

#include "tuner/profile.h"
#include "tuner/search.h"

enum { SEEDS = 4, WAVE = 4, MOST = 28, MOVES = 5 };
#define GAIN 0.005 /* less than this is no step */

struct move {
    enum knob knob;
    int way; /* +1: larger, -1: smaller */
};

/* ADVICE_... in terms of knobs; what cannot be had by a knob has none. */
static const struct move moves[N_ADVICE][MOVES] = {
    [ADVICE_stores_first] = {{KNOB_stay_l2, 1}},
    [ADVICE_read_once] = {{KNOB_keep, 1}, {KNOB_online, 1}, {KNOB_cluster, 1}, {KNOB_r, 1}},
    [ADVICE_whole_sectors] = {{KNOB_r, 1}, {KNOB_vec, 1}, {KNOB_x, -1}, {KNOB_skip_l1, -1}},
    [ADVICE_fewer_registers] =
        {{KNOB_x, -1}, {KNOB_r, -1}, {KNOB_rows, -1}, {KNOB_vec, -1}, {KNOB_keep, -1}},
    [ADVICE_bytes_in_flight] =
        {{KNOB_vec, 1}, {KNOB_rows, 1}, {KNOB_x, 1}, {KNOB_warps, 1}, {KNOB_skip_l1, 1}},
    [ADVICE_more_warps] = {{KNOB_r, -1}, {KNOB_vec, -1}, {KNOB_rows, -1}, {KNOB_warps, 1}},
    [ADVICE_more_blocks] = {{KNOB_x, -1}, {KNOB_split, 1}, {KNOB_cluster, 1}},
    [ADVICE_fewer_barriers] = {{KNOB_warps, -1}, {KNOB_vec, 1}, {KNOB_x, 1}, {KNOB_online, 1}},
    [ADVICE_fewer_fences] = {{KNOB_split, -1}, {KNOB_cluster, -1}},
    [ADVICE_wider_loads] = {{KNOB_vec, 1}},
    [ADVICE_less_shared] = {{KNOB_vec, 1}, {KNOB_warps, -1}, {KNOB_tm, 1}, {KNOB_tn, 1}},
    [ADVICE_no_conflicts] = {{KNOB_r, 1}, {KNOB_vec, -1}, {KNOB_tn, -1}},
    [ADVICE_fewer_instructions] = {{KNOB_vec, 1}, {KNOB_rows, 1}, {KNOB_keep, 1}},
    [ADVICE_smaller_code] = {{KNOB_r, -1}, {KNOB_x, -1}, {KNOB_rows, -1}},
    [ADVICE_fewer_launches] = {{KNOB_last_block, 1}, {KNOB_split, -1}, {KNOB_cluster, 1}},
};

/* Which way each knob should go: the sum of what the advice says. */
static void wanted_ways(unsigned advice, double *way) {
    for (int k = 0; k < KNOB_COUNT; k++) way[k] = 0;
    for (int a = 0; a < N_ADVICE; a++)
        for (int i = 0; i < MOVES && advice >> a & 1; i++) way[moves[a][i].knob] += moves[a][i].way;
}

static double doublings(int from, int to) {
    return log2(1 + (to > 0 ? to : 0)) - log2(1 + (from > 0 ? from : 0));
}

/* How well the step from one config to the other goes the wanted way: 1, that way and nothing else;
 * 0, across; negative, back. Long steps count a little less. */
static double agreement(const struct config *from, const struct config *to, const double *way) {
    double along = 0, step = 0, wanted = 0;
    for (int k = 0; k < KNOB_COUNT; k++) {
        double by = doublings(from->knob[k], to->knob[k]);
        along += by * way[k];
        step += by * by;
        wanted += way[k] * way[k];
    }
    if (!(step > 0) || !(wanted > 0)) return 0;
    return along / sqrt(step * wanted) - 0.02 * sqrt(step);
}

/* The unseen variants that agree best, best first. */
static int choose_advised(const struct tune *t, int best, const double *way, const bool *seen,
                          int *which) {
    double score[WAVE];
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        if (seen[i]) continue;
        double s = agreement(t->variants[best].config, t->variants[i].config, way);
        int at = n;
        if (!(s > 0.3)) continue;
        while (at > 0 && s > score[at - 1]) at--;
        if (at == WAVE) continue;
        if (n < WAVE) n++;
        for (int k = n - 1; k > at; k--) score[k] = score[k - 1], which[k] = which[k - 1];
        score[at] = s;
        which[at] = i;
    }
    return n;
}

/* What profile_judge advises for variant i; 0 where nothing can be counted. */
static unsigned advice_for(struct tune *t, int i, bool *countable) {
    struct variant *v = &t->variants[i];
    struct diag own = diag_new(t->shared->arena);
    if (!*countable) return 0;
    if (trial_count(t, v, &own) != WS_OK) {
        *countable = false;
        fprintf(stderr, "%s; the search asks the neighbours of the best instead\n", own.message);
        return 0;
    }
    struct profile_facts f = profile_facts_of(v, &t->work, &t->shared->roof);
    return profile_judge(&f).advice;
}

enum ws_status search_profile(struct tune *t, struct diag *d) {
    struct search_space s = search_space_of(t);
    bool *seen = NEW_ARRAY(t->shared->arena, bool, t->n), countable = true;
    int which[WAVE], n = 0, counted = -1, rests = 0;
    double way[KNOB_COUNT], before = INFINITY;
    for (; n < SEEDS && n < t->n; n++) which[n] = n;
    for (int tried = 0; n && tried < MOST; tried += n) {
        if (search_wave(t, which, n, d) != WS_OK || !search_goes_on(t)) return d->status;
        for (int i = 0; i < t->n; i++) seen[i] = search_seen(t, i);
        int best = search_best(t);
        rests = t->best_us > (1 - GAIN) * before ? rests + 1 : 0;
        if (rests > 2) return WS_OK;
        before = t->best_us;
        n = 0;
        if (best >= 0 && best != counted) {
            wanted_ways(advice_for(t, best, &countable), way);
            counted = best;
        }
        if (best >= 0 && countable) n = choose_advised(t, best, way, seen, which);
        if (best >= 0 && !n) n = search_nearest(&s, best, seen, which, WAVE);
        for (int i = 0; best < 0 && i < t->n && n < WAVE; i++)
            if (!seen[i]) which[n++] = i;
    }
    return d->status;
}
