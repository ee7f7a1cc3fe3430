/* tune.c: tuning one kernel, from its configs to a stored winner. */
#include "tuner/search.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "tuner/interrupt.h"
#include "tuner/patience.h"

enum { FINALISTS = 5 };
#define FINALIST_WITHIN 0.03 /* of the best */

void tune_open(struct tune *t, struct tuning *shared, const struct ws_program *p, int kernel,
               struct store_key key) {
    const struct config *configs;
    *t = (struct tune){.shared = shared,
                       .program = p,
                       .kernel = kernel,
                       .work = work_of_kernel(p, kernel),
                       .key = key,
                       .search = SEARCH_model,
                       .hint = -1,
                       .deadline_ms = INFINITY,
                       .trials_left = INT_MAX,
                       .best_us = INFINITY,
                       .part = 1};
    ws_configs(p, kernel, &configs, &t->n, &t->n_pruned);
    WS_ASSERT(t->n > 0);
    t->variants = NEW_ARRAY(shared->arena, struct variant, t->n + 1); /* one may come */
    for (int i = 0; i < t->n; i++)
        t->variants[i] = variant_new(p, kernel, &configs[i], shared->arena);
    t->variants[0].is_default = true;
}

struct variant *tune_find(struct tune *t, const struct config *c) {
    for (int i = 0; i < t->n; i++)
        if (config_equal(t->variants[i].config, c)) return &t->variants[i];
    struct config *own = NEW(t->shared->arena, struct config);
    struct variant *v = NEW(t->shared->arena, struct variant);
    *own = *c;
    *v = variant_new(t->program, t->kernel, own, t->shared->arena);
    return v;
}

/* ---- earlier trials -------------------------------------------------------------------------- */

static struct variant *find_text(struct tune *t, const char *text) {
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->variants[i].text, text)) return &t->variants[i];
    return NULL;
}

void tune_hint(struct tune *t, const char *config) {
    const struct variant *v = find_text(t, config);
    t->hint = v ? (int)(v - t->variants) : -1;
}

void tune_hint_config(struct tune *t, const struct config *c) {
    tune_hint(t, config_str(t->shared->arena, c));
    if (t->hint >= 0) return;
    WS_ASSERT(!t->added);
    t->added = true;
    t->variants[t->hint = t->n] = *tune_find(t, c);
    t->n++;
}

/* Was it this text that was tried? What cannot be emitted is refused here, and known as well. */
static bool is_of_text(struct tune *t, struct variant *v, const struct store_trial *trial) {
    return *trial->text_hash && variant_emit(v, t->shared->arena) &&
           !strcmp(v->text_hash, trial->text_hash);
}

/* The default is measured anew: it is what others are compared with. */
enum ws_status tune_resume(struct tune *t, struct diag *d) {
    struct store_trial *trials;
    int n;
    if (store_trials(t->shared->store, &t->key, &trials, &n, d) != WS_OK) return d->status;
    for (int i = 0; i < n; i++) {
        struct variant *v = find_text(t, trials[i].config);
        if (!v || v->is_default || v->timing.us.n || variant_refused(v)) continue;
        if (!is_of_text(t, v, &trials[i])) continue;
        v->status = trials[i].status;
        v->message = trials[i].message;
        v->timing.us = trials[i].us;
        v->regs = trials[i].regs;
        v->spill_bytes = trials[i].spill_bytes;
        v->smem_bytes = trials[i].smem_bytes;
        v->compile_ms = trials[i].compile_ms;
        t->n_known++;
    }
    return WS_OK;
}

/* ---- search ---------------------------------------------------------------------------------- */

enum ws_status tune_begin(struct tune *t, const int *which, int n, struct diag *d) {
    for (int i = 0; i < n && d->status == WS_OK && !interrupted() && !t->oracle; i++) {
        struct variant *v = &t->variants[which[i]];
        if (!v->binary_key && !variant_refused(v) && !v->timing.us.n)
            builder_begin(t->shared->builder, v, d);
    }
    return d->status;
}

int tune_batch(const struct tune *t) {
    enum { A_CORE = 4 };
    return t->shared->machine->limits.kind == DEVICE_CPU ? A_CORE * machine_cores() : t->n;
}

enum ws_status tune_build(struct tune *t, const int *which, int n, struct diag *d) {
    if (tune_begin(t, which, n, d) != WS_OK) return d->status;
    if (t->shared->machine->limits.kind != DEVICE_CPU) return WS_OK;
    for (int i = 0; i < n && d->status == WS_OK; i++)
        if (t->variants[which[i]].binary_key)
            builder_finish(t->shared->builder, &t->variants[which[i]], d);
    return d->status;
}

/* Nothing to do where the space does not have it. */
static enum ws_status try_wanted(struct tune *t, struct diag *d) {
    const struct variant *v = find_text(t, t->wanted);
    int which = v ? (int)(v - t->variants) : -1;
    return v && !search_seen(t, which) ? search_wave(t, &which, 1, d) : WS_OK;
}

static void forget_counts(struct tune *t) {
    t->n_tried = t->n_tied = 0;
    t->best_us = INFINITY;
    for (int i = 0; i < t->n; i++) t->variants[i].counted = false;
}

static enum ws_status search(struct tune *t, struct diag *d) {
    forget_counts(t);
    int most = t->n < t->trials_left ? t->n : t->trials_left;
    t->progress = progress_start(t->program->kernels[t->kernel].name, most, t->shared->whole);
    if (t->hint >= 0) search_wave(t, &t->hint, 1, d);
    if (d->status == WS_OK) search_run(t, d);
    if (d->status == WS_OK && t->wanted && !t->pause_after) try_wanted(t, d);
    progress_end(&t->progress);
    return d->status;
}

enum ws_status tune_ahead(struct tune *t, int waves, struct diag *d) {
    t->pause_after = waves;
    search(t, d);
    t->pause_after = 0;
    return d->status == WS_OK ? testbed_restore(t->shared->bed, t->kernel, d) : d->status;
}

enum ws_status tune_kernel(struct tune *t, struct diag *d) {
    if (search(t, d) == WS_OK && !interrupted()) tune_choose(t, d);
    if (d->status == WS_OK) testbed_restore(t->shared->bed, t->kernel, d);
    return d->status;
}

/* ---- choice ---------------------------------------------------------------------------------- */

static bool is_timed(const struct variant *v) { return !variant_refused(v) && v->timing.us.n > 0; }

/* How many were timed faster than v. */
static int rank(const struct tune *t, const struct variant *v) {
    int faster = 0;
    for (int i = 0; i < t->n; i++)
        faster +=
            is_timed(&t->variants[i]) && t->variants[i].timing.us.median < v->timing.us.median;
    return faster;
}

/* Of what is left: what the search went by may have been refused since. */
static double best_time(const struct tune *t) {
    double best = INFINITY;
    for (int i = 0; i < t->n; i++)
        if (is_timed(&t->variants[i])) best = fmin(best, t->variants[i].timing.us.median);
    return best;
}

/* In config order, which is the fixed order that breaks ties. */
static int pick_finalists(struct tune *t, struct variant **finalists) {
    double best = best_time(t);
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        struct variant *v = &t->variants[i];
        bool near = is_timed(v) && v->timing.us.median <= (1 + FINALIST_WITHIN) * best &&
                    rank(t, v) < FINALISTS && n <= FINALISTS;
        if (near || (v->is_default && !variant_refused(v))) finalists[n++] = v;
    }
    return n;
}

/* A finalist may be known from an earlier run alone, and then was not built in this one. */
enum ws_status tune_ready(struct tune *t, struct variant *v, struct launches *out, struct diag *d) {
    struct builder *b = t->shared->builder;
    if (!v->binary_key && builder_begin(b, v, d) != WS_OK) return d->status;
    if (builder_finish(b, v, d) != WS_OK) return d->status;
    if (!variant_loaded(v, t->shared->machine) && v->binary &&
        variant_load(v, t->shared->machine, d) != WS_OK)
        return d->status;
    if (v->module) return variant_launches(v, &t->shared->bed->buffers, out, d);
    variant_refuse(v, STATUS_launch_error, "it cannot be loaded any more");
    return diag_fail(d, WS_MACHINE, "'%s' could be run before and cannot now: %s", v->text,
                     v->message);
}

/* Made ready twice, because the scratch memory may move while the first ones are. Returns whose
 * fault it is if `own` fails; NULL: nobody's. */
static struct variant *time_in_turns(struct tune *t, struct variant **v, int n, struct diag *own) {
    struct subject s[FINALISTS + 1];
    struct launches l;
    struct measure_rule rule =
        measure_rule_of_part(measure_rule_choice(t->shared->samples_max, n), t->part);
    struct variant *guilty = NULL;
    rule.limit_ms = patience_ms(t->shared->bed->default_ms);
    for (int i = 0; i < 2 * n && own->status == WS_OK; i++) {
        if (tune_ready(t, v[i % n], &l, own) == WS_OK)
            s[i % n] = (struct subject){.launches = l.at, .n = l.n};
        else if (device_is_lost(t->shared->machine->device) || variant_refused(v[i % n]))
            guilty = v[i % n];
    }
    if (own->status != WS_OK) return guilty;
    measure_together(t->shared->machine->device, s, n, &rule, own);
    for (int i = 0; i < n; i++) {
        if (s[i].failed) guilty = v[i];
        if (own->status == WS_OK && !interrupted()) v[i]->timing = s[i].timing;
    }
    return guilty;
}

static enum ws_status time_finalists(struct tune *t, struct variant **v, int n, struct diag *d) {
    struct diag own = diag_new(t->shared->arena);
    double begun = clock_ms();
    struct variant *guilty = time_in_turns(t, v, n, &own);
    t->shared->time_ms += clock_ms() - begun;
    if (own.status != WS_OK)
        return guilty ? trial_blame(t, guilty, own.message, d)
                      : diag_fail(d, own.status, "%s", own.message);
    for (int i = 0; i < n && d->status == WS_OK && !interrupted(); i++) {
        struct launches l;
        trial_judge(t, v[i]);
        if (variant_refused(v[i]) || tune_ready(t, v[i], &l, d) != WS_OK) continue;
        trial_check_again(t, v[i], d);
    }
    return d->status;
}

/* Has somebody ended the process that one of them ran in? */
static bool take_again(struct variant **v, int n) {
    bool any = false;
    for (int i = 0; i < n; i++) {
        any |= v[i]->again;
        v[i]->again = false;
    }
    return any;
}

/* Stored as refused, so that no later run takes them for what they seemed to be. */
static enum ws_status keep_refused(struct tune *t, struct variant **v, int n, int *refused,
                                   struct diag *d) {
    *refused = 0;
    for (int i = 0; i < n && d->status == WS_OK; i++) {
        if (!variant_refused(v[i])) continue;
        trial_keep(t, v[i], d);
        ++*refused;
    }
    return d->status;
}

static enum ws_status keep_winner(struct tune *t, struct diag *d) {
    const struct variant *w = t->winner, *dflt = &t->variants[0];
    if (!t->shared->store) return WS_OK;
    struct store_winner stored = {
        .kernel_name = variant_kernel(w)->name,
        .arch = t->shared->machine->limits.arch,
        .config = w->text,
        .us = w->timing.us,
        .default_us = is_timed(dflt) ? dflt->timing.us.median : NAN,
        .tried = t->n_tried,
        .tied = t->n_tied,
        .health = {.timer = device_facts(t->shared->machine->device)->timer,
                   .clock_mhz = w->timing.clock_mhz,
                   .temp_c = w->timing.temp_c,
                   .throttle = w->timing.throttle},
        .run_id = t->shared->run_id,
        .text_hash = w->text_hash,
    };
    return store_put_winner(t->shared->store, &t->key, &t->shared->graph, &stored, d);
}

/* One round: *winner is NULL if one of the finalists was refused, or the round was disturbed, and
 * they are to be judged anew. */
static enum ws_status judge(struct tune *t, struct variant **finalists, int n,
                            struct variant **winner, struct diag *d) {
    struct stats us[FINALISTS + 1];
    bool tied[FINALISTS + 1];
    struct launches l;
    int refused;
    *winner = NULL;
    if ((n > 1 || !is_timed(finalists[0])) && time_finalists(t, finalists, n, d) != WS_OK)
        return d->status;
    if (interrupted() || keep_refused(t, finalists, n, &refused, d) != WS_OK || refused ||
        take_again(finalists, n))
        return d->status;
    for (int i = 0; i < n; i++) us[i] = finalists[i]->timing.us;
    struct variant *best = finalists[stats_winner(us, n, tied)];
    if (tune_ready(t, best, &l, d) != WS_OK || trial_prove(t, best, d) != WS_OK) return d->status;
    if (variant_refused(best)) return trial_keep(t, best, d);
    if (interrupted() || take_again(finalists, n)) return d->status;
    *winner = best;
    t->n_tied = 0;
    for (int i = 0; i < n; i++) t->n_tied += tied[i];
    return WS_OK;
}

static enum ws_status choose(struct tune *t, struct diag *d) {
    struct variant *finalists[FINALISTS + 1];
    for (t->winner = NULL; !t->winner;) {
        int n = pick_finalists(t, finalists);
        if (!n)
            return diag_fail(d, t->variants[0].status == STATUS_implausible ? WS_NOISY : WS_WRONG,
                             "no config of kernel %s could be measured; the default: %s",
                             t->program->kernels[t->kernel].name, t->variants[0].message);
        if (judge(t, finalists, n, &t->winner, d) != WS_OK || interrupted()) return d->status;
    }
    t->winner->is_winner = true;
    return keep_winner(t, d);
}

enum ws_status tune_choose(struct tune *t, struct diag *d) {
    choose(t, d);
    for (int i = 0; i < t->n; i++)
        if (&t->variants[i] != t->winner && !t->variants[i].is_default)
            variant_unload(&t->variants[i], t->shared->machine);
    return d->status;
}
