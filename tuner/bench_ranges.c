/* bench_ranges.c: sizes that were never tuned, and the ranges, or sizes, that may do for them.
 *
 *   dim=1536   256 <= dim && dim < 4096 holds           its config, not searched
 *   dim=6000   none holds, that one is the nearest      tuned, that config first; under
 *              or none is there; dim=4096 was tuned     --no-search, that config
 *
 * Only the axes that some ladder has climbed are tried: a workload that has none is not captured
 * with a symbol. */
#include <stdio.h>

#include "tuner/bench.h"
#include "tuner/winners.h"

struct symbolic_view bench_symbolic(struct bench_point *b, const char *axis) {
    const struct bench_run *r = b->run;
    return symbolic_view(&r->line, sweep_point(&r->sweep, b->point, b->arena), r->sweep.n_axes,
                         axis, b->fused_program, b->arena);
}

/* ---- lookups --------------------------------------------------------------------------------- */

/* The better answer stands: that of an axis asked before, or this one's. */
static enum ws_status ask(struct bench_point *b, struct symbolic_view *v, int kernel) {
    struct bench_lookup *l = &b->lookups[kernel];
    const struct range_entry *e;
    enum lookup how = symbolic_look_up(b->run->ranges, v, b->fused_program, kernel, b->arena, &e);
    if (how == LOOKUP_MISS && range_met_stale(b->run->ranges)) {
        l->why = "the text changed since they were tuned";
        l->stale = true;
    } else if (how == LOOKUP_MISS && !l->why) {
        struct store_key key =
            winner_key(&b->run->machine, v->captured, v->program, kernel, b->arena);
        if (store_why_no_range(b->run->store, &key, &l->why, b->d) != WS_OK) return b->d->status;
    }
    if (how >= l->how) return WS_OK;
    l->how = how;
    l->axis = v->axis;
    l->size = v->size;
    l->config = &e->config;
    l->guard = symbolic_guard(e, v->axis, b->arena);
    return WS_OK;
}

/* A range holds: its config is the winner, without evidence of its own. */
static void take(struct bench_point *b, int kernel) {
    const struct bench_lookup *l = &b->lookups[kernel];
    struct tune *t = &b->tunes[kernel];
    t->winner = tune_find(t, l->config);
    t->winner->is_default = true; /* whatever it spills at this size, it is what was asked for */
    b->fused_program->kernels[kernel].guard = l->guard;
    b->untuned = true;
}

enum ws_status bench_look_up_ranges(struct bench_point *b) {
    const char **axes;
    int n, n_kernels = b->fused_program->n_kernels;
    if (store_ladder_axes(b->run->store, b->captured->workload, &axes, &n, b->d) != WS_OK)
        return b->d->status;
    for (int i = 0; i < n; i++) {
        struct symbolic_view v = bench_symbolic(b, axes[i]);
        for (int k = 0; v.program && k < n_kernels; k++)
            if (!b->tunes[k].winner && b->lookups[k].how != LOOKUP_RANGE && ask(b, &v, k) != WS_OK)
                return b->d->status;
    }
    for (int k = 0; k < n_kernels; k++) {
        const struct bench_lookup *l = &b->lookups[k];
        if (b->tunes[k].winner || l->how != LOOKUP_RANGE) continue;
        take(b, k);
        printf("hit: %s at %s=%lld: %s, tuned for %s\n", b->fused_program->kernels[k].name, l->axis,
               (long long)l->size, b->tunes[k].winner->text, l->guard);
    }
    return WS_OK;
}

/* ---- other sizes ----------------------------------------------------------------------------- */

static void ask_nearest(struct bench_point *b, const struct store_near *near, int n, int kernel) {
    struct bench_lookup *l = &b->lookups[kernel];
    struct config *c = NEW(b->arena, struct config);
    const struct store_near *found = winner_nearest(near, n, b->fused_program, kernel, c, b->arena);
    if (!found) return;
    range_count_nearest(b->run->ranges, found->graph, found->kernel, l->why);
    l->how = LOOKUP_NEAREST;
    l->config = c;
    l->guard = winner_near_guard(found, b->captured->axes, b->arena);
}

enum ws_status bench_look_up_nearest(struct bench_point *b) {
    struct store_near *near;
    int n;
    if (store_nearest(b->run->store, &b->tunes[0].key, &b->tuning.graph, &near, &n, b->d) != WS_OK)
        return b->d->status;
    for (int k = 0; k < b->fused_program->n_kernels; k++) {
        const struct bench_lookup *l = &b->lookups[k];
        if (!b->tunes[k].winner && l->how == LOOKUP_MISS && !l->stale) ask_nearest(b, near, n, k);
    }
    return WS_OK;
}

/* ---- no range holds -------------------------------------------------------------------------- */

/* --no-search: whatever is nearest, else the default by rule. */
static void make_do(struct bench_point *b, int kernel) {
    const struct bench_lookup *l = &b->lookups[kernel];
    if (l->how == LOOKUP_NEAREST) {
        take(b, kernel);
        return;
    }
    printf("miss: %s runs under its default config\n", b->fused_program->kernels[kernel].name);
    b->tunes[kernel].winner = &b->tunes[kernel].variants[0];
    b->untuned = b->defaulted = true;
}

/* It is what a search tries first, unless that has an old winner of these very sizes. */
static const char *use_nearest(struct bench_point *b, int kernel) {
    struct tune *t = &b->tunes[kernel];
    if (b->run->line.no_search) return "taken unmeasured";
    if (t->hint >= 0) return "tuning anew";
    tune_hint_config(t, b->lookups[kernel].config);
    return "tried first";
}

/* Of kernels that are the same once. */
static void say_nearest(struct bench_point *b, int kernel) {
    const struct bench_lookup *l = &b->lookups[kernel];
    const struct ws_kernel *k = &b->fused_program->kernels[kernel];
    const char *use = use_nearest(b, kernel), *gap = "never tuned at these sizes";
    if (l->axis)
        gap = arena_printf(b->arena, "no range holds for %s=%lld", l->axis, (long long)l->size);
    if (k->same == kernel)
        fprintf(stderr, "warning: %s: %s; the nearest, %s, has %s: %s\n", k->name, gap, l->guard,
                config_str(b->arena, l->config), use);
}

void bench_settle(struct bench_point *b) {
    fflush(stdout);
    for (int k = 0; k < b->fused_program->n_kernels; k++) {
        const struct bench_lookup *l = &b->lookups[k];
        if (b->tunes[k].winner) continue;
        if (l->how == LOOKUP_MISS && !l->why) range_count_miss(b->run->ranges);
        if (l->how == LOOKUP_NEAREST) say_nearest(b, k);
        if (b->run->line.no_search) make_do(b, k);
    }
}
