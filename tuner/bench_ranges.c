/* bench_ranges.c: sizes that were never tuned, and the ranges that may hold for them.
 *
 *   softmax -D dim=1536     captured at dim=1536, and once more with dim as s0
 *                           the two are the same graph, kernel by kernel
 *                           256 <= s0 && s0 < 4096 holds for s0 = 1536: its config, not searched
 *
 * Only the axes that some ladder has climbed are tried; a workload that has none pays nothing. */
#include <stdio.h>
#include <string.h>

#include "tuner/bench.h"
#include "tuner/interrupt.h"
#include "tuner/winners.h"

/* ---- the same workload with a symbol --------------------------------------------------------- */

static bool same_kernels(const struct ws_program *p, const struct ws_program *q) {
    bool same = p->n_kernels == q->n_kernels;
    for (int k = 0; same && k < p->n_kernels; k++)
        same = !strcmp(p->kernels[k].name, q->kernels[k].name);
    return same;
}

struct bench_symbolic bench_symbolic(struct bench_point *b, const char *axis) {
    struct bench_run *r = b->run;
    struct bench_symbolic v = {.axis = axis};
    struct diag own = diag_new(b->arena);
    struct stages quiet = stages_new(b->arena, NULL, 0);
    struct ws_axis *axes = sweep_point(&r->sweep, b->point, b->arena);
    struct ws_captured *c =
        capture_symbolic(&r->line, axes, r->sweep.n_axes, axis, b->arena, &quiet, &own);
    const char *why = "";
    if (!c) {
        v.why = own.message ? own.message : "the axis is no size";
    } else if (!c->n_symbols) {
        v.why = "no size of the graph follows it";
    } else if (!ws_captures_same(c, b->captured, &why)) {
        v.why = arena_printf(b->arena, "a number of the graph follows it: %s", why);
    } else {
        struct ws_program *p = ws_lower(c, &r->machine.limits, WS_FUSE, &quiet, &own);
        if (!p)
            v.why = own.message ? own.message : "it cannot be compiled";
        else if (!same_kernels(p, b->fused_program))
            v.why = "the kernels are others than those for one size";
        v.captured = v.why ? NULL : c;
        v.program = v.why ? NULL : p;
        v.size = ex_hint(c->graph->ex, c->symbols[0]);
    }
    return v;
}

/* ---- lookups --------------------------------------------------------------------------------- */

struct judge {
    const struct ws_program *program;
    int kernel;
    struct arena *arena;
};

static bool is_legal(void *ctx, const struct config *c) {
    const struct judge *j = ctx;
    return !ws_config_illegal(j->program, j->kernel, c, j->arena);
}

static const char *with_axis(struct arena *a, const struct guard_range *g, const char *axis) {
    const char *names[GUARD_SYMBOLS] = {axis};
    struct buf b = buf_new(a);
    for (int i = 1; i < GUARD_SYMBOLS; i++) names[i] = "?";
    guard_range_print(&b, g, names);
    return b.p;
}

/* The better answer stands: that of an axis asked before, or this one's. */
static enum ws_status ask(struct bench_point *b, const struct bench_symbolic *v, int kernel) {
    struct bench_lookup *l = &b->lookups[kernel];
    struct judge judge = {b->fused_program, kernel, b->arena};
    struct range_question q = {.graph = v->captured->graph_hash,
                               .kernel = v->program->kernels[kernel].hash,
                               .sizes = &v->size,
                               .n_sizes = 1,
                               .legal = is_legal,
                               .ctx = &judge};
    const struct range_entry *e;
    enum lookup how = range_look_up(b->run->ranges, &q, &e);
    if (how == LOOKUP_MISS && !l->why) {
        struct store_key key =
            winner_key(&b->run->machine, v->captured, v->program, kernel, b->arena);
        if (store_why_no_range(b->run->store, &key, &l->why, b->d) != WS_OK) return b->d->status;
    }
    if (how >= l->how) return WS_OK;
    l->how = how;
    l->axis = v->axis;
    l->size = v->size;
    l->entry = e;
    l->guard = with_axis(b->arena, &e->guard, v->axis);
    return WS_OK;
}

/* A range holds: its config is the winner, without evidence of its own. */
static void take(struct bench_point *b, int kernel) {
    const struct bench_lookup *l = &b->lookups[kernel];
    struct tune *t = &b->tunes[kernel];
    t->winner = tune_find(t, &l->entry->config);
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
        struct bench_symbolic v = bench_symbolic(b, axes[i]);
        for (int k = 0; v.program && k < n_kernels; k++)
            if (!b->tunes[k].winner && b->lookups[k].how != LOOKUP_RANGE && ask(b, &v, k) != WS_OK)
                return b->d->status;
    }
    for (int k = 0; k < n_kernels; k++) {
        const struct bench_lookup *l = &b->lookups[k];
        if (b->tunes[k].winner || l->how != LOOKUP_RANGE) continue;
        take(b, k);
        printf("hit: %s at %s=%lld: %s, tuned for %s\n", b->fused_program->kernels[k].name, l->axis,
               (long long)l->size, l->entry->config_text, l->guard);
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

void bench_settle(struct bench_point *b) {
    bool search = !b->run->line.no_search;
    fflush(stdout);
    for (int k = 0; k < b->fused_program->n_kernels; k++) {
        const struct bench_lookup *l = &b->lookups[k];
        if (b->tunes[k].winner) continue;
        if (l->how == LOOKUP_MISS && !l->why) range_count_miss(b->run->ranges);
        if (l->how == LOOKUP_NEAREST)
            fprintf(stderr,
                    "warning: %s: no range holds for %s=%lld; the nearest, %s, has %s: %s\n",
                    b->fused_program->kernels[k].name, l->axis, (long long)l->size, l->guard,
                    l->entry->config_text, search ? "tuning anew" : "taken unmeasured");
        if (!search) make_do(b, k);
    }
}
