/* trial.c: one variant from source to a verdict.
 *
 *   build -> the same code as an earlier one? -> load -> check -> time -> plausible? -> store */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/alone.h"
#include "tuner/interrupt.h"
#include "tuner/patience.h"
#include "tuner/profile.h"
#include "tuner/tune.h"

/* A variant whose fastest of a few samples is slower than this times the best is not sampled on. */
#define HOPELESS 1.5

static const struct variant *find_same(const struct tune *t, const struct variant *v) {
    for (const struct variant *u = t->variants; u < v; u++)
        if (u->status != STATUS_duplicate && variant_same(u, v)) return u;
    return NULL;
}

/* What failed on the device is the variant's fault, unless somebody ended the device's process:
 * then it has another try. (Where memory is short the system ends it again.) After a crash, a hang
 * or an illegal access everything has to be set up again. */
enum ws_status trial_blame(struct tune *t, struct variant *v, const char *message, struct diag *d) {
    struct device *dev = t->shared->machine->device;
    if (interrupted()) return WS_OK; /* nothing that fails now is believed, or needed */
    if (device_loss(dev) == DEVICE_KILLED && !v->killed) {
        v->killed = v->again = true;
    } else {
        variant_refuse(v, device_loss(dev) == DEVICE_HUNG ? STATUS_timeout : STATUS_launch_error,
                       message);
        v->timing = timing_none();
    }
    return device_is_lost(dev) ? testbed_recover(t->shared->bed, d) : WS_OK;
}

/* Refused, or to be tried again from the start. */
static bool is_out(const struct variant *v) { return variant_refused(v) || v->again; }

static enum ws_status check(struct tune *t, struct variant *v, bool again, struct diag *d) {
    struct diag own = diag_new(t->shared->arena);
    const char *message;
    bool spoilt;
    double begun = clock_ms();
    enum ws_status s = testbed_check(t->shared->bed, v, again, &message, &spoilt, &own);
    if (s == WS_OK && message && !spoilt) s = alone_acquit(t->shared->bed, v, &message, &own);
    t->shared->check_ms += clock_ms() - begun;
    if (s != WS_OK) return trial_blame(t, v, own.message, d);
    if (message) variant_refuse(v, STATUS_wrong, message);
    return spoilt ? testbed_recover(t->shared->bed, d) : WS_OK;
}

/* Outputs are poisoned anew: a race may have let the first run pass, and what does nothing any more
 * would leave what it wrote then. */
enum ws_status trial_check_again(struct tune *t, struct variant *v, struct diag *d) {
    int runs = v->timing.us.n;
    if (check(t, v, true, d) != WS_OK) return d->status;
    if (v->status == STATUS_wrong) {
        v->message = arena_printf(
            t->shared->arena, "right at first, but not after %d more runs: %s", runs, v->message);
        v->timing = timing_none();
    }
    return WS_OK;
}

enum ws_status trial_count(struct tune *t, struct variant *v, struct diag *d) {
    struct variant *real = t->oracle ? &t->oracle[v - t->variants] : v;
    struct device *dev = t->shared->machine->device;
    struct diag recovery = diag_new(d->arena); /* what fails then fails again at the next trial */
    struct launches l;
    double begun = clock_ms();
    /* Counting replays kernels under a profiler: that it fails says nothing about the variant. */
    if (!real->counters_from && tune_ready(t, real, &l, d) == WS_OK &&
        profile_count(real, &l, dev, d) != WS_OK && device_is_lost(dev))
        testbed_recover(t->shared->bed, &recovery);
    t->shared->count_ms += clock_ms() - begun;
    if (d->status == WS_OK && strcmp(real->counters_from, "cupti") != 0)
        diag_fail(d, WS_MACHINE, "there are no counters");
    v->counters = real->counters;
    v->counters_from = real->counters_from;
    if (!v->is_default && v->module && d->status == WS_OK) variant_unload(v, t->shared->machine);
    return d->status;
}

enum ws_status trial_prove(struct tune *t, struct variant *v, struct diag *d) {
    enum { RUNS = 12, LEAST = 4 };
    double end = clock_ms() + 200;
    for (int i = 0; i < RUNS && !is_out(v) && !interrupted(); i++) {
        if (i >= LEAST && clock_ms() > end) break;
        if (check(t, v, false, d) != WS_OK) return d->status;
    }
    if (variant_refused(v)) v->timing = timing_none();
    return WS_OK;
}

void trial_judge(struct tune *t, struct variant *v) {
    const struct roof *r = &t->shared->roof;
    if (!roof_implausible(r, &t->work, v->timing.us.median)) return;
    variant_refuse(v, STATUS_implausible,
                   arena_printf(t->shared->arena, "%.2f us, but the device needs %.2f us at least",
                                v->timing.us.median, roof_physical_us(r, &t->work)));
}

static enum ws_status measure(struct tune *t, struct variant *v, int samples, struct diag *d) {
    struct tuning *shared = t->shared;
    struct diag own = diag_new(shared->arena);
    struct measure_rule rule = measure_rule_of_part(measure_rule_default(samples), t->part);
    struct launches l;
    rule.drop_us = HOPELESS * t->best_us;
    rule.limit_ms = patience_ms(shared->bed->default_ms);
    double begun = clock_ms();
    if (variant_launches(v, &shared->bed->buffers, &l, &own) == WS_OK) {
        struct subject s = {.launches = l.at, .n = l.n};
        measure_alone(shared->machine->device, &s, &rule, &own);
        v->timing = s.timing;
    }
    shared->time_ms += clock_ms() - begun;
    if (own.status != WS_OK) return trial_blame(t, v, own.message, d);
    trial_judge(t, v);
    return WS_OK;
}

static enum ws_status try_variant(struct tune *t, struct variant *v, int samples, struct diag *d) {
    struct tuning *shared = t->shared;
    if (builder_finish(shared->builder, v, d) != WS_OK || variant_refused(v) || !v->binary)
        return d->status;
    const struct variant *same = find_same(t, v);
    if (same) {
        variant_refuse(v, STATUS_duplicate, arena_printf(shared->arena, "same as %s", same->text));
        return WS_OK;
    }
    struct diag own = diag_new(shared->arena);
    v->spill_allowed = t->variants[0].spill_bytes; /* no worse than what there is, for that */
    if (!variant_loaded(v, shared->machine) && variant_load(v, shared->machine, &own) != WS_OK)
        return trial_blame(t, v, own.message, d);
    if (!v->glanced && !is_out(v) && check(t, v, false, d) != WS_OK) return d->status;
    if (!is_out(v) && measure(t, v, samples, d) != WS_OK) return d->status;
    if (!is_out(v) && trial_check_again(t, v, d) != WS_OK) return d->status;
    if (!v->is_default) variant_unload(v, shared->machine);
    return WS_OK;
}

static enum ws_status try_timed(struct tune *t, struct variant *v, int samples, struct diag *d) {
    double begun = clock_ms(), waited = t->shared->builder->waited_ms;
    do {
        v->again = false;
        try_variant(t, v, samples, d);
    } while (v->again && d->status == WS_OK && !interrupted());
    v->trial_ms += clock_ms() - begun - (t->shared->builder->waited_ms - waited);
    return d->status;
}

/* Whatever ends us ends compilers, too, and who knows what else: from then on no failure is kept.
 */
enum ws_status trial_keep(struct tune *t, const struct variant *v, struct diag *d) {
    if (!t->shared->store || (interrupted() && variant_refused(v))) return WS_OK;
    struct store_trial trial = {.config = v->text,
                                .status = v->status,
                                .us = v->timing.us,
                                .regs = v->regs,
                                .spill_bytes = v->spill_bytes,
                                .smem_bytes = v->smem_bytes,
                                .compile_ms = v->compile_ms,
                                .message = v->message,
                                .run_id = t->shared->run_id,
                                .text_hash = v->text_hash};
    return store_add_trial(t->shared->store, &t->key, &t->shared->graph, &trial, d);
}

/* Once, however often it is come by. */
static void say(struct tune *t, struct variant *v) {
    char line[160];
    if (t->best_us < INFINITY)
        snprintf(line, sizeof line, "best %.2f us  %s", t->best_us, v->text);
    else
        snprintf(line, sizeof line, "%s", v->text);
    progress_step(&t->progress, line);
    if (!t->shared->log || v->said) return;
    v->said = true;
    fprintf(stderr, "[autotune] %s  %s  %s", variant_kernel(v)->name, v->text,
            result_status_name(v->status));
    if (v->timing.us.n) fprintf(stderr, "  %.2f us, n=%d", v->timing.us.median, v->timing.us.n);
    fprintf(stderr, "%s%s\n", *v->message ? "  " : "", v->message);
}

/* What a trial would say, without making it. */
static void look_up(struct tune *t, struct variant *v) {
    const struct variant *known = &t->oracle[v - t->variants];
    if (t->order && !v->timing.us.n && !variant_refused(v))
        t->order[t->n_order++] = (int)(v - t->variants);
    v->status = known->status;
    v->message = known->message;
    v->timing = known->timing;
}

/* Once, whoever asks for it again. */
static void count(struct tune *t, struct variant *v) {
    if (v->counted) return;
    v->counted = true;
    t->trials_left--;
    if (v->timing.us.n) t->n_tried++;
    if (!variant_refused(v) && v->timing.us.n) t->best_us = fmin(t->best_us, v->timing.us.median);
}

/* Nothing more is to be learnt of it. */
static bool is_known(const struct variant *v) {
    return (v->timing.us.n && !v->glanced) || variant_refused(v);
}

/* Cut short: this says nothing about the variant. */
static void forget(struct variant *v) {
    v->timing = timing_none();
    v->status = STATUS_ok;
    v->message = "";
}

enum ws_status trial_run(struct tune *t, struct variant *v, struct diag *d) {
    bool known = is_known(v);
    if (t->oracle) return look_up(t, v), count(t, v), WS_OK;
    if (!known) {
        t->n_trials += !v->glanced;
        if (try_timed(t, v, t->shared->samples_max, d) != WS_OK) return d->status;
        v->glanced = false;
        if (interrupted()) return forget(v), WS_OK;
        if (trial_keep(t, v, d) != WS_OK) return d->status;
    }
    count(t, v);
    say(t, v);
    return WS_OK;
}

enum ws_status trial_glance(struct tune *t, struct variant *v, int samples, struct diag *d) {
    if (t->oracle) return look_up(t, v), WS_OK;
    if (is_known(v)) return WS_OK;
    t->n_trials += !v->glanced;
    if (try_timed(t, v, samples, d) != WS_OK) return d->status;
    if (interrupted()) return forget(v), WS_OK;
    v->glanced = true;
    if (variant_refused(v)) return trial_keep(t, v, d);
    if (v->timing.us.n) t->best_us = fmin(t->best_us, v->timing.us.median);
    return WS_OK;
}
