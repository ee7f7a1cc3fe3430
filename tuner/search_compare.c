/* search_compare.c: what each strategy would have found, from the times of all configs.
 *
 * After an exhaustive search every strategy runs again, its trials looked up instead of made: how
 * many does it need until it has something within 2 % of the best, and what would it have cost?
 * Hardware counters, where a strategy asks for them, are counted for real.
 *
 *   searches.csv: one row a kernel and strategy, as in SEARCH_COLUMNS */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reports/csv_table.h"
#include "tuner/search.h"

#define WITHIN 1.02

#define SEARCH_COLUMNS(C)                                                                          \
    C(run_id)                                                                                      \
    C(device)                                                                                      \
    C(workload)                                                                                    \
    C(mode)                                                                                        \
    C(dtype)                                                                                       \
    C(axes)                                                                                        \
    C(kernel)                                                                                      \
    C(configs) /* in the space */                                                                  \
    C(best_us) /* of all */                                                                        \
    C(strategy)                                                                                    \
    C(trials)      /* until it ended */                                                            \
    C(found_us)    /* the best of these */                                                         \
    C(near_trials) /* until something within 2 % of the best; empty: never */                      \
    C(near_s)      /* seconds of these trials, and of their share of compiling on all cores */     \
    C(all_s)       /* of all its trials */

enum column {
#define C(name) COLUMN_##name,
    SEARCH_COLUMNS(C)
#undef C
        N_COLUMNS
};
static const char *const columns[] = {
#define C(name) #name,
    SEARCH_COLUMNS(C)
#undef C
};

/* One strategy's way through the space. */
struct replay {
    enum search_strategy strategy;
    int trials, near_trials; /* -1: never near */
    double found_us, near_s, all_s;
};

/* A copy of t that knows nothing yet. */
static struct tune forgetful(const struct tune *t, enum search_strategy s) {
    struct arena *a = t->shared->arena;
    struct tune r = *t;
    r.variants = NEW_ARRAY(a, struct variant, t->n);
    for (int i = 0; i < t->n; i++) {
        const struct variant *v = &t->variants[i];
        r.variants[i] = variant_new(v->program, v->kernel, v->config, a);
        r.variants[i].is_default = v->is_default;
        r.variants[i].source = v->source;
        r.variants[i].occupancy = v->occupancy;
    }
    r.oracle = t->variants;
    r.order = NEW_ARRAY(a, int, t->n);
    r.n_order = 0;
    r.search = (int)s;
    r.hint = -1;
    r.best_us = INFINITY;
    r.n_tried = r.n_trials = 0;
    return r;
}

static enum ws_status replay(const struct tune *t, enum search_strategy s, double best_us,
                             struct replay *out, struct diag *d) {
    struct tune r = forgetful(t, s);
    double counting = t->shared->count_ms;
    *out = (struct replay){.strategy = s, .near_trials = -1, .found_us = INFINITY, .near_s = NAN};
    if (search_run(&r, d) != WS_OK) return d->status;
    for (int i = 0; i < r.n_order; i++) {
        const struct variant *v = &t->variants[r.order[i]];
        double compile_ms = isnan(v->compile_ms) ? 0 : v->compile_ms;
        out->all_s += (v->trial_ms + compile_ms / machine_cores()) / 1e3;
        if (!variant_refused(v) && v->timing.us.n)
            out->found_us = fmin(out->found_us, v->timing.us.median);
        out->trials++;
        if (out->near_trials >= 0 || out->found_us > WITHIN * best_us) continue;
        out->near_trials = out->trials;
        out->near_s = out->all_s;
    }
    out->all_s += (t->shared->count_ms - counting) / 1e3;
    return WS_OK;
}

static const char *number(struct arena *a, const char *format, double x) {
    return isfinite(x) ? arena_printf(a, format, x) : "";
}

static enum ws_status append(const struct tune *t, const struct replay *all, int n, double best_us,
                             const char *folder, struct diag *d) {
    struct arena *a = t->shared->arena;
    const struct store_graph *g = &t->shared->graph;
    const char **cells = NEW_ARRAY(a, const char *, n *N_COLUMNS);
    struct report_error e = {0};
    for (int i = 0; i < n; i++) {
        const struct replay *r = &all[i];
        const char **c = cells + (size_t)i * N_COLUMNS;
        c[COLUMN_run_id] = t->shared->run_id;
        c[COLUMN_device] = device_facts(t->shared->machine->device)->name;
        c[COLUMN_workload] = g->workload;
        c[COLUMN_mode] = g->mode;
        c[COLUMN_dtype] = g->dtype;
        c[COLUMN_axes] = g->axes;
        c[COLUMN_kernel] = t->program->kernels[t->kernel].name;
        c[COLUMN_configs] = arena_printf(a, "%d", t->n);
        c[COLUMN_best_us] = number(a, "%.3f", best_us);
        c[COLUMN_strategy] = search_name(r->strategy);
        c[COLUMN_trials] = arena_printf(a, "%d", r->trials);
        c[COLUMN_found_us] = number(a, "%.3f", r->found_us);
        c[COLUMN_near_trials] = number(a, "%.0f", r->near_trials < 0 ? NAN : r->near_trials);
        c[COLUMN_near_s] = number(a, "%.3f", r->near_s);
        c[COLUMN_all_s] = number(a, "%.3f", r->all_s);
    }
    const char *path = arena_printf(a, "%s/searches.csv", folder);
    table_append(path, columns, N_COLUMNS, cells, (size_t)n, NULL, &e);
    return e.status == REPORT_OK ? WS_OK : diag_fail(d, (enum ws_status)e.status, "%s", e.text);
}

enum ws_status search_compare(struct tune *t, const char *folder, struct diag *d) {
    struct replay all[SEARCH_COUNT];
    int best = search_best(t);
    if (best < 0) return WS_OK;
    double best_us = t->variants[best].timing.us.median;
    printf("  %s: %d configs, the best %.2f us\n", t->program->kernels[t->kernel].name, t->n,
           best_us);
    for (int s = 0; s < SEARCH_COUNT; s++) {
        struct replay *r = &all[s];
        if (replay(t, (enum search_strategy)s, best_us, r, d) != WS_OK) return d->status;
        printf("    %-11s %3d trials, %.2fx the best in the end; ", search_name(r->strategy),
               r->trials, r->found_us / best_us);
        if (r->near_trials > 0)
            printf("within 2 %% after %d trials, %.2f s\n", r->near_trials, r->near_s);
        else
            puts("never within 2 %");
    }
    fflush(stdout);
    return append(t, all, SEARCH_COUNT, best_us, folder, d);
}
