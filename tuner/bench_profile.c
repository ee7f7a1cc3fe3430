/* bench_profile.c: --profile: what the hardware counts of each kernel's default and winner.
 *
 * After everything is tuned and timed, each of them runs alone once more, with its inputs in place
 * and nothing else on the device. The counters go into the rows of the two, and a paragraph a
 * config says what they mean. Where there are no counters that is said once, and the bytes that a
 * kernel has to move stand for those that it moves. */
#include <math.h>
#include <stdio.h>

#include "tuner/bench.h"
#include "tuner/interrupt.h"
#include "tuner/patience.h"
#include "tuner/profile.h"

/* A kernel's configs, the default first. */
struct pair {
    struct variant *v[2];
    const char *name[2];
    int n;
};

static struct pair pair_of(const struct bench_point *b, int kernel) {
    struct variant *dflt = b->dflt.chosen[kernel], *tuned = b->tuned.chosen[kernel];
    if (dflt == tuned) return (struct pair){{dflt}, {"default"}, 1};
    return (struct pair){{dflt, tuned}, {"default", b->tuned.name}, 2};
}

/* Twice, because the scratch memory may move while the first ones are made ready. */
static enum ws_status make_ready(struct bench_point *b, const struct pair *p, struct launches *l) {
    for (int i = 0; i < 2 * p->n && b->d->status == WS_OK; i++)
        variant_launches(p->v[i % p->n], &b->bed.buffers, &l[i % p->n], b->d);
    return b->d->status;
}

/* Tuning has timed both against each other; what the store remembers is timed anew. */
static enum ws_status time_pair(struct bench_point *b, const struct pair *p,
                                const struct launches *l) {
    struct subject s[2];
    struct measure_rule rule = measure_rule_default(b->run->line.samples_max);
    rule.limit_ms = patience_ms(b->program_ms);
    bool timed = true;
    for (int i = 0; i < p->n; i++) {
        s[i] = (struct subject){.launches = l[i].at, .n = l[i].n};
        timed &= p->v[i]->timing.us.n > 0;
    }
    if (timed && !b->all_found) return WS_OK;
    if (measure_together(b->run->machine.device, s, p->n, &rule, b->d) != WS_OK)
        return b->d->status;
    for (int i = 0; i < p->n; i++) p->v[i]->timing = s[i].timing;
    return WS_OK;
}

static enum ws_status count(struct bench_point *b, struct variant *v, const struct launches *l) {
    struct device *dev = b->run->machine.device;
    struct diag own = diag_new(b->arena);
    if (profile_count(v, l, dev, &own) == WS_OK) return WS_OK;
    if (device_is_lost(dev)) return diag_fail(b->d, own.status, "%s", own.message);
    if (!b->run->no_counters)
        fprintf(stderr, "%s; what kernels have to move at least stands for what they move\n",
                own.message);
    b->run->no_counters = true;
    return WS_OK;
}

/* "launches  kernel_mm_pack_b 25.3 us, kernel_mm 43.2 us": of a config that has several. */
static void say_launches(struct bench_point *b, const struct launches *l, struct buf *out) {
    enum { SAMPLES = 9 };
    double *us = NEW_ARRAY(b->arena, double, SAMPLES *(size_t)l->n), of_launch[SAMPLES];
    if (l->n < 2 ||
        device_time(b->run->machine.device, l->at, l->n, SAMPLES, true, us, NULL, b->d) != WS_OK)
        return;
    buf_puts(out, "    launches");
    for (int i = 0; i < l->n; i++) {
        for (int k = 0; k < SAMPLES; k++) of_launch[k] = us[k * l->n + i];
        buf_printf(out, "%s %s %.1f us", i ? "," : "", l->at[i].entry,
                   stats_of(of_launch, SAMPLES).median);
    }
    buf_puts(out, "\n");
}

static void say(struct bench_point *b, const struct pair *p, const struct launches *l,
                const struct tune *t, struct buf *out) {
    struct profile_facts f[2];
    for (int i = 0; i < p->n; i++) f[i] = profile_facts_of(p->v[i], &t->work, &b->run->roof);
    buf_printf(out, "%s%s (%s)\n", out->n ? "\n" : "", f[0].kernel, f[0].kind);
    profile_table(out, p->name, f, p->n);
    for (int i = 0; i < p->n; i++) {
        buf_printf(out, "  %s  %s\n", p->name[i], f[i].config_text);
        say_launches(b, &l[i], out);
        profile_words(out, &f[i]);
    }
}

static enum ws_status profile_kernel(struct bench_point *b, int kernel, struct buf *out) {
    struct pair p = pair_of(b, kernel);
    struct tune *t = &b->tunes[kernel];
    struct launches l[2] = {0};
    if (make_ready(b, &p, l) != WS_OK || time_pair(b, &p, l) != WS_OK || interrupted())
        return b->d->status;
    for (int i = 0; i < p.n && b->d->status == WS_OK; i++) {
        if (!p.v[i]->counters_from) count(b, p.v[i], &l[i]);
        if (!b->run->replay)
            recorder_set_counters(&b->run->recorder, p.v[i], &t->work, &b->run->roof);
    }
    if (b->d->status == WS_OK) say(b, &p, l, t, out);
    return b->d->status;
}

enum ws_status bench_profile(struct bench_point *b) {
    struct buf out = buf_new(b->arena);
    if (!b->run->line.profile || testbed_open(&b->bed, b->data, &b->dflt, b->arena, b->d) != WS_OK)
        return b->d->status;
    for (int k = 0; k < b->fused_program->n_kernels && b->d->status == WS_OK && !interrupted(); k++)
        profile_kernel(b, k, &out);
    testbed_close(&b->bed);
    b->profile = out.p;
    return b->d->status;
}
