/* bench_ladder.c: what the points of a ladder have in common, once all are tuned.
 *
 *   dim=256: x=8   dim=512: x=8   dim=1024: x=1     softmax, each point a workload of its own
 *   with dim as s0, all of them are graph 02ff..., kernel 7a31...
 *   256 <= s0 && s0 < 1024 under x=8;  s0 == 1024 under x=1
 *
 * Ranges end where a rung failed and where the kernels become others. Every claim rests on what is
 * in the store: winners and trials of the rungs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/bench.h"
#include "tuner/interrupt.h"
#include "tuner/ladder.h"
#include "tuner/winners.h"

/* A rung, as long as the run. */
struct bench_rung {
    int64_t size;
    const char *axis, *axes; /* "dim"; "rows=4 dim=s0" */
    const char *why;         /* the axis stays a number */
    struct store_graph graph;
    int n_kernels; /* 0: the point failed, or see why */
    struct rung_kernel {
        const char *name, *winner;
        struct store_key point, range;
    } * kernels;
};

/* ---- at each point --------------------------------------------------------------------------- */

static struct store_key copy_key(struct arena *a, const struct store_key *k) {
    struct store_key out;
#define KEY(name, what) out.name = arena_strdup(a, k->name);
    STORE_KEYS(KEY)
#undef KEY
    return out;
}

static void copy_kernels(struct bench_rung *g, const struct bench_point *b,
                         const struct symbolic_view *v) {
    struct arena *a = b->run->arena;
    g->n_kernels = v->program->n_kernels;
    g->kernels = NEW_ARRAY(a, struct rung_kernel, g->n_kernels);
    for (int k = 0; k < g->n_kernels; k++) {
        struct store_key range = winner_key(&b->run->machine, v->captured, v->program, k, b->arena);
        g->kernels[k].name = arena_strdup(a, v->program->kernels[k].name);
        g->kernels[k].winner = arena_strdup(a, b->tunes[k].winner->text);
        g->kernels[k].point = copy_key(a, &b->tunes[k].key);
        g->kernels[k].range = copy_key(a, &range);
    }
}

/* What won below is tried above, so that there is evidence whether the two can be one range. */
const char *bench_rung_before(const struct bench_point *b, int kernel) {
    const struct bench_run *r = b->run;
    if (r->sweep.ladder < 0 || !r->rungs || !sweep_rung(&r->sweep, b->point)) return NULL;
    const struct bench_rung *below = &r->rungs[b->point - sweep_ladder_stride(&r->sweep)];
    const char *name = b->fused_program->kernels[kernel].name;
    bool same = kernel < below->n_kernels && !strcmp(below->kernels[kernel].name, name);
    return same ? below->kernels[kernel].winner : NULL;
}

/* "rows=4 dim=512" -> "rows=4 dim=s0" */
static const char *symbolic_axes(struct arena *a, const char *axes, const char *axis) {
    struct buf b = buf_new(a);
    size_t n = strlen(axis);
    for (const char *p = axes; *p;) {
        size_t word = strcspn(p, " ");
        bool here = word > n && !strncmp(p, axis, n) && p[n] == '=' && (p == axes || p[-1] == ' ');
        buf_printf(&b, "%.*s%s", (int)(here ? n + 1 : word), p, here ? "s0" : "");
        p += word;
        while (*p == ' ') buf_putc(&b, *p++);
    }
    return b.p;
}

enum ws_status bench_note_rung(struct bench_point *b) {
    struct bench_run *r = b->run;
    if (r->sweep.ladder < 0 || r->replay || interrupted()) return WS_OK;
    if (!r->rungs) r->rungs = NEW_ARRAY(r->arena, struct bench_rung, r->sweep.n_points);
    const struct ws_captured *c = b->captured;
    const char *axis = r->sweep.axes[r->sweep.ladder].name;
    struct symbolic_view v = bench_symbolic(b, axis);
    struct bench_rung *g = &r->rungs[b->point];
    const char *value = r->sweep.axes[r->sweep.ladder].values.at[sweep_rung(&r->sweep, b->point)];
    *g = (struct bench_rung){.size = atoll(value), .axis = axis};
    if (v.why) {
        g->why = arena_strdup(r->arena, v.why);
        return WS_OK;
    }
    struct buf text = buf_new(r->arena);
    ws_explain(v.captured, v.program, &text);
    g->axes = symbolic_axes(r->arena, c->axes, axis);
    g->graph = (struct store_graph){text.p, arena_strdup(r->arena, c->workload), c->mode,
                                    winner_type(c, r->arena), g->axes};
    if (!b->untuned) copy_kernels(g, b, &v);
    return WS_OK;
}

/* ---- evidence -------------------------------------------------------------------------------- */

struct lowered {
    int64_t step, size;
    struct ws_program *program;
};

/* A kernel's ladder without a break: its rungs, and what was measured at each. */
struct climb {
    struct bench_run *run;
    struct arena *arena;
    int kernel, n;
    const struct bench_rung **from; /* the rungs, by size */
    struct rung *rungs;
    struct store_winner *winners;
    struct store_trial **trials;
    int *n_trials;

    struct ws_captured *captured; /* with the axis as a symbol */
    struct symbolic_texts texts;
    VEC(struct lowered) lowered;
};

static const struct store_trial *find_trial(const struct climb *c, int rung, const char *config) {
    for (int i = 0; i < c->n_trials[rung]; i++)
        if (!strcmp(c->trials[rung][i].config, config)) return &c->trials[rung][i];
    return NULL;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *text_hash_at(struct climb *c, int rung, const char *config) {
    const struct bench_rung *g = c->from[rung];
    struct config own;
    struct diag quiet = diag_new(c->arena);
    if (!config_parse(config, &own, &quiet)) return "";
    const char *hash =
        symbolic_text_hash(&c->texts, g->size, c->kernel, g->kernels[c->kernel].name, &own);
    return hash ? hash : "";
}

/* Trials are compared with the winner's own, which was measured among them. */
static void list_candidates(struct climb *c, int rung) {
    const struct store_winner *w = &c->winners[rung];
    const struct store_trial *own = find_trial(c, rung, w->config);
    const struct stats *best = own && own->us.n ? &own->us : &w->us;
    const char **at = NEW_ARRAY(c->arena, const char *, c->n_trials[rung] + 1);
    int n = 0;
    at[n++] = w->config;
    for (int i = 0; i < c->n_trials[rung]; i++) {
        const struct store_trial *t = &c->trials[rung][i];
        bool tied = t->status == STATUS_ok && stats_tied(&t->us, best) &&
                    t->us.median <= (1 + STATS_TIE_MOST) * best->median;
        if (!tied || !strcmp(t->config, w->config)) continue;
        if (!strcmp(t->text_hash, text_hash_at(c, rung, t->config))) at[n++] = t->config;
    }
    qsort(at + 1, (size_t)n - 1, sizeof *at, by_text);
    c->rungs[rung] = (struct rung){c->from[rung]->size, at, n};
}

static enum ws_status read_evidence(struct climb *c, struct diag *d) {
    for (int i = 0; i < c->n; i++) {
        const struct store_key *key = &c->from[i]->kernels[c->kernel].point;
        bool found;
        if (store_lookup(c->run->store, key, &c->winners[i], &found, NULL, d) != WS_OK ||
            store_trials(c->run->store, key, &c->trials[i], &c->n_trials[i], d) != WS_OK)
            return d->status;
        if (!found) return diag_fail(d, WS_MACHINE, "a rung's winner is not in the store any more");
        list_candidates(c, i);
    }
    return WS_OK;
}

/* ---- what a config wants --------------------------------------------------------------------- */

/* The program for a size that is a multiple of step; NULL if it has other kernels there. */
static struct ws_program *lower_at(struct climb *c, int64_t step, int64_t size) {
    for (uint32_t i = 0; i < c->lowered.n; i++)
        if (c->lowered.at[i].step == step && c->lowered.at[i].size == size)
            return c->lowered.at[i].program;
    struct diag own = diag_new(c->arena);
    struct stages quiet = stages_new(c->arena, NULL, 0);
    ex_set_hint(c->captured->graph->ex, c->captured->symbols[0], size);
    struct ws_program *p = ws_lower(ws_captured_stepped(c->captured, &step),
                                    &c->run->machine.limits, WS_FUSE, &quiet, &own);
    const struct bench_rung *g = c->from[0];
    if (p && (p->n_kernels != g->n_kernels ||
              strcmp(p->kernels[c->kernel].name, g->kernels[c->kernel].name) != 0))
        p = NULL;
    vec_push(c->arena, &c->lowered, ((struct lowered){step, size, p}));
    return p;
}

static bool legal_at(void *ctx, const struct rung_range *r, int64_t step, int64_t size) {
    struct climb *c = ctx;
    struct config config;
    struct diag own = diag_new(c->arena);
    struct ws_program *p = lower_at(c, step, size);
    return p && config_parse(r->config, &config, &own) &&
           !ws_config_illegal(p, c->kernel, &config, c->arena);
}

static int vectors_at(struct climb *c, const struct rung_range *r, int64_t step, int64_t size) {
    struct config config;
    struct diag own = diag_new(c->arena);
    struct ws_program *p = lower_at(c, step, size);
    if (!p || !config_parse(r->config, &config, &own)) return 0;
    return ws_config_vectors(p, c->kernel, &config, c->arena);
}

/* Known to be a multiple of `most`, sizes allow all that they allowed at the rungs. */
static int64_t least_step(void *ctx, const struct rung_range *r, int64_t most) {
    struct climb *c = ctx;
    int64_t size = c->rungs[r->to].size;
    if (!legal_at(c, r, most, size)) return most;
    int vectors = vectors_at(c, r, most, size);
    for (int64_t step = 1; step < most; step *= 2)
        if (legal_at(c, r, step, size) && vectors_at(c, r, step, size) == vectors) return step;
    return most;
}

/* ---- from rungs to ranges -------------------------------------------------------------------- */

static struct store_range range_of(struct climb *c, const struct rung_range *r,
                                   const struct guard_range *guard) {
    const struct store_winner *first = &c->winners[r->from];
    struct buf text = buf_new(c->arena);
    guard_range_print(&text, guard, NULL);
    struct store_range out = {.guard = text.p,
                              .winner = *first,
                              .n_rungs = r->to - r->from + 1,
                              .rungs = NEW_ARRAY(c->arena, struct store_rung, r->to - r->from + 1)};
    out.winner.config = r->config;
    out.winner.text_hash = text_hash_at(c, r->from, r->config);
    out.winner.us = stats_none();
    out.winner.default_us = NAN;
    out.winner.tried = 0;
    out.winner.tied = out.n_rungs;
    out.winner.run_id = c->run->recorder.run_id;
    out.winner.created = 0;
    for (int i = r->from; i <= r->to; i++) {
        const struct store_winner *w = &c->winners[i];
        const struct rung_kernel *k = &c->from[i]->kernels[c->kernel];
        const struct store_trial *t = find_trial(c, i, r->config);
        bool won = !strcmp(w->config, r->config);
        out.winner.tried += w->tried;
        out.rungs[i - r->from] = (struct store_rung){.axis = c->from[i]->axis,
                                                     .size = c->from[i]->size,
                                                     .graph = k->point.graph,
                                                     .kernel = k->point.kernel,
                                                     .winner = w->config,
                                                     .us = won ? w->us
                                                           : t ? t->us
                                                               : stats_none(),
                                                     .winner_us = w->us.median,
                                                     .default_us = w->default_us,
                                                     .run_id = w->run_id};
    }
    return out;
}

static void print_ranges(const struct climb *c, const struct guard_range *guards,
                         const struct store_range *ranges, int n) {
    const char *names[GUARD_SYMBOLS] = {c->from[0]->axis};
    printf("  %s\n", c->from[0]->kernels[c->kernel].name);
    for (int i = 0; i < n; i++) {
        struct buf b = buf_new(c->arena);
        guard_range_print(&b, &guards[i], names);
        printf("    %s: %s  (%d size%s measured)\n", b.p, ranges[i].winner.config,
               ranges[i].n_rungs, ranges[i].n_rungs == 1 ? "" : "s");
    }
}

static enum ws_status put_ranges(struct climb *c, struct diag *d) {
    if (read_evidence(c, d) != WS_OK) return d->status;
    int n;
    struct rung_range *merged = ladder_merge(c->rungs, c->n, c->arena, &n);
    const struct ladder_rules rules = {c, least_step, legal_at};
    struct guard_range *guards = ladder_guards(c->rungs, merged, n, &rules, c->arena);
    struct store_range *ranges = NEW_ARRAY(c->arena, struct store_range, n);
    for (int i = 0; i < n; i++) ranges[i] = range_of(c, &merged[i], &guards[i]);
    print_ranges(c, guards, ranges, n);
    return store_put_ranges(c->run->store, &c->from[0]->kernels[c->kernel].range,
                            &c->from[0]->graph, ranges, n, d);
}

/* ---- one ladder ------------------------------------------------------------------------------ */

static bool same_rungs(const struct bench_rung *a, const struct bench_rung *b) {
    bool same = a->n_kernels && a->n_kernels == b->n_kernels;
    for (int k = 0; same && k < a->n_kernels; k++)
        same = !strcmp(a->kernels[k].range.graph, b->kernels[k].range.graph) &&
               !strcmp(a->kernels[k].range.kernel, b->kernels[k].range.kernel);
    return same;
}

/* Rungs from..to of the ladder that starts at `point`, all of one graph. */
static enum ws_status climb(struct bench_run *r, int point, int from, int to, struct diag *d) {
    struct arena *a = arena_new();
    int n = to - from + 1, stride = sweep_ladder_stride(&r->sweep), first = point + from * stride;
    struct stages quiet = stages_new(a, NULL, 0);
    const struct bench_rung **rungs = NEW_ARRAY(a, const struct bench_rung *, n);
    for (int i = 0; i < n; i++) rungs[i] = &r->rungs[first + i * stride];
    struct ws_captured *captured =
        capture_symbolic(&r->line, &r->machine.limits, sweep_point(&r->sweep, first, a),
                         r->sweep.n_axes, rungs[0]->axis, a, &quiet, d);
    for (int k = 0; captured && k < rungs[0]->n_kernels && d->status == WS_OK; k++) {
        struct climb c = {.run = r,
                          .arena = a,
                          .kernel = k,
                          .n = n,
                          .from = rungs,
                          .rungs = NEW_ARRAY(a, struct rung, n),
                          .winners = NEW_ARRAY(a, struct store_winner, n),
                          .trials = NEW_ARRAY(a, struct store_trial *, n),
                          .n_trials = NEW_ARRAY(a, int, n),
                          .captured = captured,
                          .texts = {.captured = captured, .limits = &r->machine.limits}};
        put_ranges(&c, d);
    }
    fflush(stdout);
    arena_free(a);
    return d->status;
}

/* In one line for all rungs whose axis cannot be a symbol. */
static void say_points(const struct bench_rung *at, int n, int stride) {
    const struct bench_rung *first = NULL;
    int more = -1;
    for (int i = 0; i < n; i++) {
        if (!at[i * stride].why) continue;
        if (!first) first = &at[i * stride];
        more++;
    }
    if (!first) return;
    printf("\n%s=%lld", first->axis, (long long)first->size);
    if (more) printf(" and %d more", more);
    printf(" stay%s tuned as points, %s cannot be a symbol there: %s\n", more ? "" : "s",
           first->axis, first->why);
}

static enum ws_status climb_from(struct bench_run *r, int point, struct diag *d) {
    int stride = sweep_ladder_stride(&r->sweep), n = r->sweep.axes[r->sweep.ladder].values.n;
    const struct bench_rung *at = r->rungs + point;
    say_points(at, n, stride);
    bool any = false;
    for (int from = 0, to; from < n && d->status == WS_OK; from = to + 1) {
        to = from;
        if (!at[from * stride].n_kernels) continue;
        while (to + 1 < n && same_rungs(&at[from * stride], &at[(to + 1) * stride])) to++;
        if (!any)
            printf("\nranges of %s, from %s\n", at[from * stride].axis, at[from * stride].axes);
        any = true;
        climb(r, point, from, to, d);
    }
    return d->status;
}

enum ws_status bench_ladder(struct bench_run *r, struct diag *d) {
    for (int i = 0; r->rungs && i < r->sweep.n_points && d->status == WS_OK; i++)
        if (sweep_rung(&r->sweep, i) == 0 && !interrupted()) climb_from(r, i, d);
    return d->status;
}
