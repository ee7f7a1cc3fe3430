/* bench_programs.c: the eager, the default and the tuned program: checked, then timed in turns.
 *
 * A winner that hangs, crashes or goes wrong only now is withdrawn: its row says why, the store
 * forgets it, its kernel gets the next best, and all three programs are timed again. */
#include <math.h>
#include <stdio.h>

#include "tuner/alone.h"
#include "tuner/bench.h"
#include "tuner/interrupt.h"
#include "tuner/patience.h"

/* Where every winner is stored, the eager program is trusted: of these very texts it was right when
 * the reference was made, of which the store remembers how far off its outputs may be. */
static const char *share_key(const struct bench_point *b, int output) {
    struct arena *scratch = arena_new();
    struct buf texts = buf_new(scratch);
    for (int k = 0; k < b->eager_program->n_kernels; k++)
        if (variant_emit(b->eager.chosen[k], b->arena))
            buf_puts(&texts, b->eager.chosen[k]->text_hash);
    const char *key = arena_printf(b->arena, "bound %s %016llx %llu %d", b->captured->graph_hash,
                                   (unsigned long long)hash_bytes(texts.p, texts.n),
                                   (unsigned long long)b->captured->seed, output);
    arena_free(scratch);
    return key;
}

static enum ws_status remember_shares(struct bench_point *b) {
    for (int i = 0; b->run->store && !b->trusts && i < b->captured->n_outputs; i++) {
        struct ws_tensor_info t = ws_output_info(b->captured, i);
        const struct expected *e = &b->data->expected[i];
        double share;
        if (device_share(b->run->machine.device, t.dtype, e->want, e->bound, t.numel, &share,
                         b->d) != WS_OK)
            return b->d->status;
        store_put_fact(b->run->store, share_key(b, i), share, b->d);
    }
    return b->d->status;
}

enum ws_status bench_recall_reference(struct bench_point *b) {
    enum { BOTH = 2 }; /* what is trusted may be off as well */
    b->trusts = b->all_found && !b->shares;
    for (int i = 0; b->trusts && i < b->captured->n_outputs; i++) {
        if (store_get_fact(b->run->store, share_key(b, i), &b->data->share[i], &b->trusts, b->d) !=
            WS_OK)
            return b->d->status;
        b->trusts &= isfinite(b->data->share[i]); /* else some elements are not judged */
        b->data->share[i] *= BOTH;
    }
    return b->d->status;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Checks a program, and remembers how long the slowest one takes. */
static enum ws_status check_program(struct bench_point *b, const struct plan *p,
                                    struct buffers *memory, bool trust) {
    struct device *dev = b->run->machine.device;
    struct diag own = diag_new(b->arena);
    double begun = clock_ms();
    patience_set(dev, NAN);
    if (buffers_place(memory, b->data, p->program, false, b->arena, &own) == WS_OK)
        plan_check(p, b->data, memory, trust, &own);
    if (own.status != WS_OK) {
        const char *who = own.status == WS_WRONG ? alone_blame(b->data, p, b->arena) : "";
        return diag_fail(b->d, own.status, "%s%s%s", own.message, *who ? "\n" : "", who);
    }
    double took = clock_ms() - begun;
    b->program_ms = fmax(b->program_ms, took);
    b->tuning.check_ms += took;
    patience_set(dev, b->program_ms);
    return WS_OK;
}

enum ws_status bench_check_eager(struct bench_point *b) {
    if (b->shares) return WS_OK;
    if (plan_finish(&b->eager, &b->builder, b->d) != WS_OK || interrupted() ||
        check_program(b, &b->eager, b->eager_memory, b->trusts) != WS_OK)
        return b->d->status;
    if (!b->trusts) b->eager_worst = data_worst(b->data);
    return remember_shares(b);
}

/* Variants are compared with what the default's kernels write. */
static enum ws_status judge_kernels(struct bench_point *b) {
    double begun = clock_ms();
    alone_judge(b->data, &b->dflt, &b->bed, b->arena, &b->kernels_judged, b->d);
    b->tuning.check_ms += clock_ms() - begun;
    patience_set(b->run->machine.device, b->program_ms);
    return b->d->status;
}

enum ws_status bench_check_default(struct bench_point *b) {
    if (plan_finish(&b->dflt, &b->builder, b->d) != WS_OK || interrupted()) return b->d->status;
    if (check_program(b, &b->dflt, &b->fused_memory, false) != WS_OK) return b->d->status;
    if (!b->trusts) judge_kernels(b);
    b->default_worst = data_worst(b->data);
    return b->d->status;
}

/* again: what load has left is what calls have left of it, unless the default's was run since. */
static enum ws_status check_tuned(struct bench_point *b, bool again, struct diag *d) {
    double begun = clock_ms();
    if ((again ? plan_check_again(&b->tuned, b->data, &b->fused_memory, d)
               : plan_check(&b->tuned, b->data, &b->fused_memory, false, d)) == WS_OK)
        b->tuned_worst = data_worst(b->data);
    b->tuning.check_ms += clock_ms() - begun;
    machine_log_stage(&b->run->machine, "bench programs: check", begun);
    return d->status;
}

/* ---- times ----------------------------------------------------------------------------------- */

static bool same_plan(const struct plan *a, const struct plan *b) {
    for (int k = 0; k < a->program->n_kernels; k++)
        if (a->chosen[k] != b->chosen[k]) return false;
    return true;
}

/* Device time of what runs at load, and what that keeps. */
static enum ws_status time_load(struct bench_point *b, const struct launches *l, struct timing *t,
                                struct diag *d) {
    struct measure_rule rule = measure_rule_default(b->run->line.samples_max);
    struct subject s = {.launches = l->load, .n = l->n_load};
    t->load_us = 0;
    t->kept_bytes = (double)l->kept;
    if (!l->n_load || d->status != WS_OK) return d->status;
    rule.limit_ms = patience_ms(b->program_ms);
    if (measure_alone(b->run->machine.device, &s, &rule, d) == WS_OK)
        t->load_us = isnan(s.timing.kernels_us) ? s.timing.us.median : s.timing.kernels_us;
    return d->status;
}

/* If every default won, the tuned program is the default one, and is timed once. */
static enum ws_status time_in_turns(struct bench_point *b, bool *tuned_failed, struct diag *d) {
    struct launches eager, dflt, tuned;
    struct measure_rule rule = measure_rule_final(b->run->line.samples_max, 3);
    bool same = same_plan(&b->dflt, &b->tuned);
    double begun = clock_ms();
    rule.limit_ms = patience_ms(b->program_ms);
    /* Twice: the second time no scratch memory moves any more. */
    for (int i = 0; i < 2; i++)
        if (plan_launches(&b->eager, b->eager_memory, &eager, d) != WS_OK ||
            plan_launches(&b->dflt, &b->fused_memory, &dflt, d) != WS_OK ||
            plan_launches(&b->tuned, &b->fused_memory, &tuned, d) != WS_OK)
            return d->status;
    struct subject s[] = {{.launches = eager.at, .n = eager.n},
                          {.launches = dflt.at, .n = dflt.n},
                          {.launches = tuned.at, .n = tuned.n}};
    measure_together(b->run->machine.device, s, same ? 2 : 3, &rule, d);
    b->eager_time = s[0].timing;
    b->default_time = s[1].timing;
    b->tuned_time = s[same ? 1 : 2].timing;
    *tuned_failed = s[2].failed;
    time_load(b, &eager, &b->eager_time, d);
    time_load(b, &dflt, &b->default_time, d);
    time_load(b, &tuned, &b->tuned_time, d); /* last: what it has left is what is checked next */
    b->tuning.time_ms += clock_ms() - begun;
    machine_log_stage(&b->run->machine, "bench programs: timing", begun);
    return d->status;
}

/* Right before, timed, and right afterwards? */
static enum ws_status time_programs(struct bench_point *b, bool *tuned_failed, struct diag *d) {
    patience_set(b->run->machine.device, b->program_ms);
    *tuned_failed = true;
    if (check_tuned(b, false, d) != WS_OK || time_in_turns(b, tuned_failed, d) != WS_OK ||
        interrupted())
        return d->status;
    *tuned_failed = true;
    return check_tuned(b, true, d);
}

/* ---- a winner that is none ------------------------------------------------------------------- */

/* Everything in place again, on a device that may have been lost. */
static enum ws_status recover(struct bench_point *b) {
    struct device *dev = b->run->machine.device;
    patience_endless(dev);
    if (device_reset(dev, b->d) != WS_OK || data_restore(b->data, b->d) != WS_OK)
        return b->d->status;
    patience_set(dev, b->program_ms);
    return plan_check(&b->eager, b->data, b->eager_memory, false, b->d);
}

/* Winners that are not the default are tried alone once more. Who fails then was it; else any of
 * them may have been, and all go. */
static enum ws_status find_guilty(struct bench_point *b, enum result_status what,
                                  const char *message) {
    int n = b->fused_program->n_kernels;
    bool found = false;
    for (int k = 0; k < n && b->d->status == WS_OK; k++) {
        struct variant *v = b->tuned.chosen[k];
        struct launches l;
        if (v == b->dflt.chosen[k]) continue;
        if (tune_ready(&b->tunes[k], v, &l, b->d) == WS_OK) trial_prove(&b->tunes[k], v, b->d);
        found |= variant_refused(v);
    }
    for (int k = 0; k < n && !found; k++)
        if (b->tuned.chosen[k] != b->dflt.chosen[k])
            variant_refuse(b->tuned.chosen[k], what, message);
    return b->d->status;
}

static enum ws_status withdraw(struct bench_point *b, int kernel) {
    struct tune *t = &b->tunes[kernel];
    struct variant *v = b->tuned.chosen[kernel];
    fprintf(stderr, "%s: '%s' is withdrawn: %s: %s\n", variant_kernel(v)->name, v->text,
            result_status_name(v->status), v->message);
    variant_unload(v, &b->run->machine);
    v->is_winner = false;
    v->timing = timing_none();
    t->winner = NULL;
    recorder_add_variant(&b->run->recorder, v, &t->work, &b->run->roof);
    if (trial_keep(t, v, b->d) != WS_OK) return b->d->status;
    return store_drop_winner(b->run->store, &t->key, b->d);
}

static enum ws_status withdraw_guilty(struct bench_point *b, enum result_status what,
                                      const char *message) {
    if (recover(b) != WS_OK || testbed_open(&b->bed, b->data, &b->dflt, b->arena, b->d) != WS_OK ||
        find_guilty(b, what, message) != WS_OK)
        return b->d->status;
    testbed_close(&b->bed);
    for (int k = 0; k < b->fused_program->n_kernels && b->d->status == WS_OK; k++)
        if (variant_refused(b->tuned.chosen[k]) && b->tuned.chosen[k] != b->dflt.chosen[k])
            withdraw(b, k);
    b->all_found = false;
    return b->d->status;
}

enum ws_status bench_time_programs(struct bench_point *b) {
    const struct ws_program *p = b->fused_program;
    const struct device *dev = b->run->machine.device;
    b->tuned = plan_new(b->run->replay ? "config" : "tuned", p, b->arena);
    for (;;) {
        struct diag own = diag_new(b->arena);
        bool tuned_failed;
        double begun = clock_ms();
        for (int k = 0; k < p->n_kernels; k++) b->tuned.chosen[k] = b->tunes[k].winner;
        plan_begin(&b->tuned, &b->builder, b->d);
        if (b->d->status == WS_OK) plan_finish(&b->tuned, &b->builder, b->d);
        machine_log_stage(&b->run->machine, "bench tuned: build", begun);
        if (b->d->status != WS_OK || interrupted() ||
            time_programs(b, &tuned_failed, &own) == WS_OK || interrupted())
            return b->d->status;
        if (device_loss(dev) == DEVICE_KILLED && !b->killed) { /* by somebody else: once more */
            b->killed = true;
            if (recover(b) != WS_OK) return b->d->status;
            continue;
        }
        bool another = !b->run->replay && !b->run->line.no_search;
        if (!tuned_failed || !another || same_plan(&b->dflt, &b->tuned))
            return diag_fail(b->d, own.status, "%s", own.message);
        enum result_status what = device_loss(dev) == DEVICE_HUNG ? STATUS_timeout
                                  : device_is_lost(dev)           ? STATUS_launch_error
                                                                  : STATUS_wrong;
        if (withdraw_guilty(b, what, own.message) != WS_OK || bench_tune_kernels(b) != WS_OK ||
            interrupted())
            return b->d->status;
    }
}
