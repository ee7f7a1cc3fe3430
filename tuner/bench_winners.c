/* bench_winners.c: which config each kernel of the fused program gets: the one that --config says,
 * the one that the store holds, or the one that tuning finds. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/bench.h"
#include "tuner/configs.h"
#include "tuner/interrupt.h"
#include "tuner/search.h"
#include "tuner/winners.h"

/* ---- --config -------------------------------------------------------------------------------- */

static enum ws_status replay(struct bench_point *b) {
    const struct config **given;
    if (configs_parse(b->fused_program, &b->run->line.configs, b->arena, &given, b->d) != WS_OK)
        return b->d->status;
    for (int k = 0; k < b->fused_program->n_kernels; k++) {
        struct tune *t = &b->tunes[k];
        t->winner = given[k] ? tune_find(t, given[k]) : &t->variants[0];
        t->winner->spill_allowed = INT_MAX;
    }
    return WS_OK;
}

/* ---- the store ------------------------------------------------------------------------------- */

/* Sets winner if the store has one, else a hint if it has an old one. */
static enum ws_status look_up(struct bench_point *b, struct tune *t, struct winner *w) {
    if (winner_look_up(b->run->store, &t->key, b->fused_program, t->kernel, w, b->arena, b->d) !=
        WS_OK)
        return b->d->status;
    if (w->stale) tune_hint(t, w->evidence.config);
    if (!w->config) return WS_OK;
    t->winner = tune_find(t, w->config);
    variant_take_source(t->winner, &w->source, b->arena);
    t->winner->spill_allowed = INT_MAX;
    t->winner->is_winner = true;
    t->winner->timing.us = w->evidence.us;
    t->n_tied = w->evidence.tied;
    return WS_OK;
}

static void say_stale(const struct bench_point *b, const struct tune *t, const struct winner *w) {
    const char *name = b->fused_program->kernels[t->kernel].name;
    printf("stale: %s: %s; %s is %s\n", name, w->why, w->evidence.config,
           b->run->line.no_search ? "not used"
           : t->hint < 0          ? "none of its configs any more"
                                  : "tried first");
}

/* The guard column of a rung's rows. */
static void name_rung(struct bench_point *b) {
    const struct sweep *s = &b->run->sweep;
    const struct sweep_axis *x = &s->axes[s->ladder];
    const char *guard =
        arena_printf(b->arena, "%s == %s", x->name, x->values.at[sweep_rung(s, b->point)]);
    for (int k = 0; k < b->fused_program->n_kernels; k++)
        b->fused_program->kernels[k].guard = guard;
}

static int count_missing(const struct bench_point *b, bool different) {
    int n = 0;
    for (int k = 0; k < b->fused_program->n_kernels; k++)
        n += !b->tunes[k].winner && !(different && b->fused_program->kernels[k].same != k);
    return n;
}

/* Why the first kernel without a winner has none: at this size, and of its ranges. */
static const char *why_missing(const struct bench_point *b, const char *at_point) {
    for (int k = 0; k < b->fused_program->n_kernels; k++)
        if (!b->tunes[k].winner && b->lookups[k].why)
            return arena_printf(b->arena, "%s at this size, and of ranges: %s", at_point,
                                b->lookups[k].why);
    return at_point;
}

const char *bench_text_hash(struct bench_point *b) {
    struct buf all = buf_new(b->arena);
    for (int k = 0; k < b->fused_program->n_kernels; k++) {
        variant_emit(b->tunes[k].winner, b->arena);
        buf_puts(&all, b->tunes[k].winner->text_hash);
    }
    return arena_printf(b->arena, "%016llx", (unsigned long long)hash_bytes(all.p, all.n));
}

static enum ws_status look_up_all(struct bench_point *b) {
    const char *first_why = NULL;
    int n = b->fused_program->n_kernels, found = 0;
    struct winner *stored = NEW_ARRAY(b->arena, struct winner, n);
    if (b->run->sweep.ladder >= 0) name_rung(b);
    for (int k = 0; k < n && !b->run->line.retune; k++) {
        struct winner *w = &stored[k];
        if (look_up(b, &b->tunes[k], w) != WS_OK) return b->d->status;
        b->lookups[k].stale = w->stale;
        found += b->tunes[k].winner != NULL;
        if (b->tunes[k].winner)
            range_count_point(b->run->ranges, b->tunes[k].key.graph, b->tunes[k].key.kernel);
        else if (!first_why)
            first_why = w->stale ? "its winner is stale" : w->why;
    }
    /* A ladder tunes its rungs. */
    bool ranges = found < n && !b->run->line.retune && b->run->sweep.ladder < 0;
    if (ranges && (bench_look_up_ranges(b) != WS_OK || bench_look_up_nearest(b) != WS_OK))
        return b->d->status;
    for (int k = 0; k < n; k++)
        if (stored[k].stale && !b->tunes[k].winner) say_stale(b, &b->tunes[k], &stored[k]);
    struct store_key key =
        winner_key(&b->run->machine, b->captured, b->fused_program, -1, b->arena);
    bool program = false;
    if (found == n &&
        store_lookup_program(b->run->store, &key, &b->evidence, &program, NULL, b->d) != WS_OK)
        return b->d->status;
    b->all_found = program && !strcmp(b->evidence.text_hash, bench_text_hash(b));
    int missing = count_missing(b, false), different = count_missing(b, true);
    if (b->all_found)
        printf("cache hit: tuned by run %s, nothing to search\n", b->evidence.run_id);
    else if (b->run->line.retune)
        puts("tuning again, as asked");
    else if (found == n)
        puts("the kernels are tuned, their program was not measured yet");
    else if (!missing)
        puts("nothing to search: ranges hold for these sizes");
    else if (!b->run->line.no_search)
        printf("tuning %d of %d kernel%s%s: %s\n", missing, n, n == 1 ? "" : "s",
               different < missing ? arena_printf(b->arena, " (%d different)", different) : "",
               why_missing(b, first_why));
    bench_settle(b);
    fflush(stdout);
    return WS_OK;
}

enum ws_status bench_look_up(struct bench_point *b) {
    return b->run->replay ? replay(b) : look_up_all(b);
}

/* ---- tuning ---------------------------------------------------------------------------------- */

/* Kernels that are the same are tuned once. */
static bool is_first(const struct bench_point *b, int kernel) {
    return b->fused_program->kernels[kernel].same == kernel;
}

/* By its roofline, and that of those that are the same. */
static double floor_us(const struct bench_point *b, int kernel) {
    double us = 0;
    for (int k = kernel; k < b->fused_program->n_kernels; k++) {
        if (b->fused_program->kernels[k].same != kernel) continue;
        double own = roof_floor_us(&b->run->roof, &b->tunes[k].work);
        us += own > 0 ? own : 1;
    }
    return us;
}

/* Each kernel gets a share of what is left of the budget by the time that its roofline asks for. */
static double share_of_budget(const struct bench_point *b, int kernel) {
    double left = b->run->line.budget_s * 1e3 - (clock_ms() - b->searching_since_ms);
    double mine = floor_us(b, kernel), all = 0;
    if (isinf(left)) return INFINITY;
    for (int k = kernel; k < b->fused_program->n_kernels; k++)
        if (!b->tunes[k].winner && is_first(b, k)) all += floor_us(b, k);
    return all > 0 && left > 0 ? left * mine / all : 0;
}

static double part_of_program(const struct bench_point *b, int kernel) {
    double all = 0;
    for (int k = 0; k < b->fused_program->n_kernels; k++)
        if (is_first(b, k)) all += floor_us(b, k);
    return floor_us(b, kernel) / all;
}

/* What a kernel gains, the program gains by its part of the program's time: a kernel that is a
 * quarter of it or more has as many trials as its search wants, others have fewer. Of a network's
 * kernels most are less than a thousandth, and their trials took most of the compilers' time. */
static int share_of_trials(const struct bench_point *b, int kernel) {
    enum { ENOUGH = 24, LEAST = 4, LEAST_OF_SMALL = 2, PARTS = 4, SMALL = 1000 };
    if (b->run->line.budget_trials < INT_MAX || b->run->line.search != SEARCH_model)
        return b->run->line.budget_trials;
    double part = part_of_program(b, kernel);
    if (PARTS * part >= 1) return INT_MAX;
    return fmax(SMALL * part < 1 ? LEAST_OF_SMALL : LEAST, PARTS * ENOUGH * part);
}

static void add_rows(struct bench_point *b, const struct tune *t) {
    for (int i = 0; i < t->n; i++) {
        const struct variant *v = &t->variants[i];
        if (variant_refused(v) || v->timing.us.n)
            recorder_add_variant(&b->run->recorder, v, &t->work, &b->run->roof);
    }
}

static void set_limits(const struct bench_point *b, struct tune *t) {
    t->deadline_ms = clock_ms() + share_of_budget(b, t->kernel);
    t->trials_left = share_of_trials(b, t->kernel);
    t->part = part_of_program(b, t->kernel);
    t->wanted = bench_rung_before(b, t->kernel);
    doing_what(b->run->machine.doing,
               arena_printf(b->arena, "tuning %s", b->fused_program->kernels[t->kernel].name));
}

/* One process tunes a key at a time; who had to wait finds the other's winner. */
static enum ws_status tune_alone(struct bench_point *b, struct tune *t) {
    struct store *s = b->run->store;
    struct store_claim claim;
    if (store_tune_begin(s, &t->key, false, &claim, b->d) != WS_OK) return b->d->status;
    if (!claim.held) {
        printf("another process tunes %s: waiting for it\n",
               b->fused_program->kernels[t->kernel].name);
        fflush(stdout);
        if (store_tune_begin(s, &t->key, true, &claim, b->d) != WS_OK) return b->d->status;
        struct winner w;
        look_up(b, t, &w);
    }
    if (b->d->status == WS_OK && !t->winner) {
        if (!b->run->line.retune) tune_resume(t, b->d);
        set_limits(b, t);
        if (b->d->status == WS_OK) tune_kernel(t, b->d);
        if (b->d->status == WS_OK && b->run->line.compare_searches && !interrupted())
            search_compare(t, b->run->line.results, b->d);
        add_rows(b, t); /* appended with the programs', which may have more to say in them */
    }
    store_tune_end(&claim);
    return b->d->status;
}

/* Of kernels whose search has several waves, if there are more of these than one: a wave of each,
 * then the next of each, which was compiled meanwhile. Nobody waits for a key that another process
 * tunes. */
static bool has_waves(const struct bench_point *b, int kernel) {
    enum { A_WAVE = 8 };
    const struct command_line *line = &b->run->line;
    return b->run->machine.limits.kind == DEVICE_CUDA && line->search == SEARCH_model &&
           !(line->budget_s < INFINITY) && !b->tunes[kernel].winner && is_first(b, kernel) &&
           share_of_trials(b, kernel) > A_WAVE;
}

static enum ws_status tune_wave(struct bench_point *b, struct tune *t, int waves) {
    struct store_claim claim;
    if (store_tune_begin(b->run->store, &t->key, false, &claim, b->d) != WS_OK || !claim.held)
        return b->d->status;
    set_limits(b, t);
    tune_ahead(t, waves, b->d);
    store_tune_end(&claim);
    return b->d->status;
}

/* Kernel k of this point, among all kernels of all points of the sweep: as if each took as long. */
static struct progress_whole part_of_whole(const struct bench_point *b, int k) {
    int points = b->run->sweep.n_points, kernels = b->fused_program->n_kernels;
    return (struct progress_whole){
        .plain = b->run->machine.env.plain_terminal,
        .started_ms = b->run->started_ms,
        .before = (b->point + (double)k / kernels) / points,
        .share = 1.0 / kernels / points,
        .where = points > 1 ? arena_printf(b->arena, "size %d of %d", b->point + 1, points) : NULL};
}

static enum ws_status tune_in_turns(struct bench_point *b) {
    enum { WAVES = 2 }; /* and what is left, a kernel after the other */
    int n = b->fused_program->n_kernels, several = 0;
    for (int k = 0; k < n; k++) several += has_waves(b, k);
    for (int waves = 1; waves <= WAVES && several > 1; waves++)
        for (int k = 0; k < n && b->d->status == WS_OK && !interrupted(); k++) {
            if (!has_waves(b, k)) continue;
            b->tuning.whole = part_of_whole(b, k);
            tune_wave(b, &b->tunes[k], waves);
        }
    return b->d->status;
}

static int count_jobs(const struct tune *t) {
    int n = 0;
    for (int i = 0; i < t->n; i++) n += t->variants[i].job != NULL;
    return n;
}

/* Cores that first waves leave compile what may be asked for next. */
static enum ws_status begin_next(struct bench_point *b) {
    int n = b->fused_program->n_kernels, cores = machine_cores(), several = 0;
    for (int k = 0; k < n; k++) {
        cores -= count_jobs(&b->tunes[k]);
        several += has_waves(b, k);
    }
    for (int k = 0; k < n && cores >= several && b->d->status == WS_OK; k++) {
        struct tune *t = &b->tunes[k];
        if (!has_waves(b, k)) continue;
        int *which = NEW_ARRAY(b->arena, int, t->n);
        tune_begin(t, which, search_model_next(t, which, cores / several), b->d);
    }
    return b->d->status;
}

/* A GPU's times do not mind a compiler at work, so there compiling starts with the run. */
enum ws_status bench_begin_tuning(struct bench_point *b) {
    if (b->run->replay || b->run->machine.limits.kind != DEVICE_CUDA ||
        b->run->line.budget_s < INFINITY)
        return WS_OK;
    for (int k = 0; k < b->fused_program->n_kernels && b->d->status == WS_OK; k++) {
        struct tune *t = &b->tunes[k];
        if (t->winner || !is_first(b, k)) continue;
        if (!b->run->line.retune && tune_resume(t, b->d) != WS_OK) return b->d->status;
        if (t->hint >= 0 && tune_begin(t, &t->hint, 1, b->d) != WS_OK) return b->d->status;
        int *which = NEW_ARRAY(b->arena, int, t->n), most = share_of_trials(b, k);
        int n = search_first_wave(t, which);
        tune_begin(t, which, n < most ? n : most, b->d);
    }
    return b->d->status == WS_OK ? begin_next(b) : b->d->status;
}

/* Seconds of this point so far. */
static struct cost spent(const struct bench_point *b) {
    return (struct cost){.all = clock_ms() / 1e3,
                         .compile = b->builder.waited_ms / 1e3,
                         .check = b->tuning.check_ms / 1e3,
                         .measure = b->tuning.time_ms / 1e3,
                         .count = b->tuning.count_ms / 1e3};
}

/* The winner of a kernel that is the same, unless it went wrong here. */
static bool take_winner(struct bench_point *b, struct tune *t) {
    const struct tune *from = &b->tunes[b->fused_program->kernels[t->kernel].same];
    if (from == t || !from->winner) return false;
    struct variant *v = tune_find(t, from->winner->config);
    if (variant_refused(v)) return false;
    v->spill_allowed = from->winner->spill_allowed;
    v->timing = from->winner->timing;
    v->is_winner = true;
    t->winner = v;
    t->n_tied = from->n_tied;
    return true;
}

static void log_share(const struct bench_point *b, const char *what, double seconds) {
    machine_log_stage(&b->run->machine, arena_printf(b->arena, "bench trials: %s", what),
                      clock_ms() - 1e3 * seconds);
}

static int count_trials(const struct bench_point *b) {
    int trials = 0;
    for (int k = 0; k < b->fused_program->n_kernels; k++) trials += b->tunes[k].n_trials;
    return trials;
}

/* It is where kernels were judged alone, if they were. */
static enum ws_status open_bed(struct bench_point *b) {
    if (b->bed.machine) return testbed_know(&b->bed, b->d);
    return testbed_open(&b->bed, b->data, &b->dflt, b->arena, b->d);
}

enum ws_status bench_tune_kernels(struct bench_point *b) {
    int n = b->fused_program->n_kernels, missing = 0;
    for (int k = 0; k < n; k++) missing += !b->tunes[k].winner;
    if (!missing) return testbed_close(&b->bed), WS_OK;
    struct cost before = spent(b);
    double begun = clock_ms();
    if (open_bed(b) != WS_OK) return b->d->status;
    b->tuning.check_ms += clock_ms() - begun;
    machine_log_stage(&b->run->machine, "bench trials: inputs in place", begun);
    b->searching_since_ms = clock_ms(); /* what has taken long before is no search */
    int trials = count_trials(b);
    tune_in_turns(b);
    for (int k = 0; k < n && b->d->status == WS_OK && !interrupted(); k++) {
        if (b->tunes[k].winner || take_winner(b, &b->tunes[k])) continue;
        b->tuning.whole = part_of_whole(b, k);
        tune_alone(b, &b->tunes[k]);
    }
    b->cost.trials += count_trials(b) - trials;
    testbed_close(&b->bed);
    struct cost after = spent(b);
    log_share(b, "compilers", after.compile - before.compile);
    log_share(b, "checks", after.check - before.check);
    log_share(b, "timing", after.measure - before.measure);
    b->cost.all += after.all - before.all;
    b->cost.compile += after.compile - before.compile;
    b->cost.check += after.check - before.check;
    b->cost.measure += after.measure - before.measure;
    b->cost.count += after.count - before.count;
    return b->d->status;
}
