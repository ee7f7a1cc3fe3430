/* compare.c: `warpsmith compare`: match the program rows of two runs, judge each, print a table,
 * choose an exit code.
 *
 *   workload  role   base us   new us   change  95 % interval    sure     verdict
 *   softmax   tuned    36.96    41.20  +11.5 %   +9.2 to +13.8 %  99.9 %  SLOWER
 *   geometric mean: tuned 0.897x
 *   driver of NVIDIA H200 changed: 580.1 -> 580.2
 *
 * Why two gates: a significance test alone calls a 0.1 % shift a regression once there are enough
 * samples, and a threshold alone fires on noise. Both must agree before a run is called slower. The
 * interval is of the medians, of samples and of what differs from run to run, which no number of
 * samples in one run shows: COMPARE_RUNS_DIFFER stands for it, on few degrees of freedom. */
#include "reports/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/benches.h"
#include "reports/change.h"
#include "reports/estimate.h"
#include "reports/row_json.h"

/* ---- the decision ---------------------------------------------------------------------------- */

/* How well the median is known, relative to it. */
static double median_error(const struct result_row *r) { return row_half_us(r) / r->median_us; }

static bool is_usable(const struct result_row *r) {
    return r->n >= COMPARE_MIN_SAMPLES && r->q1_us <= r->median_us && r->median_us <= r->q3_us;
}

struct judgement compare_rows(const struct result_row *base, const struct result_row *now,
                              double threshold) {
    struct judgement j = {VERDICT_UNSURE, NAN, NAN, NAN};
    if (!result_row_measured(now)) return j.verdict = VERDICT_BROKEN, j;
    struct result_row old[2];
    rows_alike(&base, &now, old);
    if (!is_usable(base) || !is_usable(now)) return j;
    double own[2] = {median_error(base) / 1.96, median_error(now) / 1.96};
    double a = log(base->median_us), b = log(now->median_us);
    double differ = fmax(COMPARE_RUNS_DIFFER, fmax(row_scatter(base), row_scatter(now)) / 4);
    struct change_between c = change_compare(&a, 1, &b, 1, differ, own);
    j.low = expm1(c.low), j.high = expm1(c.high), j.confidence = c.confidence;
    double least = log1p(threshold);
    if (fabs(c.shift) >= least) {
        if (c.low > 0) j.verdict = VERDICT_SLOWER;
        if (c.high < 0) j.verdict = VERDICT_FASTER;
    } else if (median_error(base) <= threshold && median_error(now) <= threshold) {
        j.verdict = VERDICT_SAME;
    }
    return j;
}

static const char *const verdict_names[] = {"SAME", "FASTER", "SLOWER", "UNSURE", "BROKEN"};

/* ---- one side -------------------------------------------------------------------------------- */

struct side {
    const char *option; /* "the base" */
    const char *given;  /* "results/softmax.csv@prev" */
    struct results results;
    struct benches benches;
};

/* A path may contain '@': a run follows the last one unless a file of the whole name exists. */
static char *split_run(const char *given, const char **run) {
    size_t n = strlen(given);
    char *path = memory_resize(NULL, n + 1, 1);
    memcpy(path, given, n + 1);
    FILE *f = fopen(path, "r");
    if (f) fclose(f);
    char *at = f ? NULL : strrchr(path, '@');
    *run = at ? at + 1 : NULL;
    if (at) *at = 0;
    return path;
}

static enum report_status side_read(struct side *s, FILE *err, struct report_error *e) {
    const char *run, *run_id = NULL;
    char *path = split_run(s->given, &run);
    if (results_read(path, &s->results, e) == REPORT_OK) {
        fputs(text_str(&s->results.table.warnings), err);
        bool prev = run && !strcmp(run, "prev");
        if (run) run_id = run_find(&s->results, prev ? "last" : run);
        if (prev && run_id) benches_add_before(&s->benches, &s->results, run_id);
        if (run && (!run_id || (prev && !s->benches.n)))
            report_fail(e, REPORT_USAGE, "%s: '%s' has no run '%s'%s", s->option, path, run,
                        strcmp(run, "prev") == 0 ? " (nothing of the last run was measured before)"
                                                 : "");
        else if (!prev)
            benches_add(&s->benches, &s->results, run_id);
    }
    free(path);
    return e->status;
}

static void side_free(struct side *s) {
    benches_free(&s->benches);
    results_free(&s->results);
}

static const struct bench *find_bench(const struct side *s, const struct result_row *key) {
    for (size_t i = 0; i < s->benches.n; i++)
        if (bench_same_key(s->benches.all[i].key, key)) return &s->benches.all[i];
    return NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const enum result_role roles[] = {ROLE_tuned, ROLE_default, ROLE_eager};
enum { N_ROLES = sizeof roles / sizeof *roles };

struct pair {
    const struct result_row *base, *now;
    struct judgement is;
};

struct comparison {
    double threshold;
    struct pair *pairs;
    size_t n;
    size_t count[VERDICT_BROKEN + 1];
    size_t lost; /* in the base only */
};

static void compare_benches(struct comparison *c, const struct side *base, const struct side *now) {
    for (size_t i = 0; i < base->benches.n; i++) {
        const struct bench *b = &base->benches.all[i];
        const struct bench *n = find_bench(now, b->key);
        for (int r = 0; n && r < N_ROLES; r++) {
            struct pair p = {b->role[roles[r]], n->role[roles[r]], {0}};
            if (!result_row_measured(p.base) || !p.now) continue;
            p.is = compare_rows(p.base, p.now, c->threshold);
            c->count[p.is.verdict]++;
            c->pairs = memory_resize(c->pairs, c->n + 1, sizeof *c->pairs);
            c->pairs[c->n++] = p;
        }
    }
}

static int width(int at_least, const char *s) {
    int n = (int)strlen(s);
    return n > at_least ? n : at_least;
}

static void print_pairs(const struct comparison *c, FILE *out) {
    int workload = 8, mode = 4, dtype = 5, axes = 4;
    for (size_t i = 0; i < c->n; i++) {
        const struct result_row *r = c->pairs[i].base;
        workload = width(workload, r->workload);
        mode = width(mode, r->mode);
        struct text type = {0};
        bench_type(&type, r);
        dtype = width(dtype, text_str(&type));
        text_free(&type);
        axes = width(axes, r->axes);
    }
    fprintf(out, "%-*s  %-*s  %-*s  %-*s  %-7s  %9s  %9s  %8s  %-17s  %7s  %s\n", workload,
            "workload", mode, "mode", dtype, "dtype", axes, "axes", "role", "base us", "new us",
            "change", "95 % interval", "sure", "verdict");
    for (size_t i = 0; i < c->n; i++) {
        const struct result_row *b = c->pairs[i].base, *n = c->pairs[i].now;
        struct text type = {0};
        bench_type(&type, b);
        fprintf(out, "%-*s  %-*s  %-*s  %-*s  %-7s  %9.2f  ", workload, b->workload, mode, b->mode,
                dtype, text_str(&type), axes, b->axes, result_role_shown(b->role), b->median_us);
        text_free(&type);
        if (result_row_measured(n)) {
            const struct judgement *j = &c->pairs[i].is;
            fprintf(out, "%9.2f  %+6.1f %%  ", n->median_us,
                    100 * (n->median_us / b->median_us - 1));
            if (isfinite(j->low))
                fprintf(out, "%+6.1f to %+5.1f %%  %5.1f %%", 100 * j->low, 100 * j->high,
                        floor(1e3 * j->confidence) / 10);
            else
                fprintf(out, "%-17s  %7s", "-", "-");
            fprintf(out, "  %s\n", verdict_names[j->verdict]);
        } else
            fprintf(out, "%9s  %8s  %-17s  %7s  %s: %s\n", "-", "-", "-", "-",
                    verdict_names[c->pairs[i].is.verdict], result_status_name(n->status));
    }
}

static void print_means(const struct comparison *c, FILE *out) {
    for (int r = 0; r < N_ROLES; r++) {
        double sum = 0;
        size_t n = 0;
        for (size_t i = 0; i < c->n; i++) {
            const struct pair *p = &c->pairs[i];
            if (p->base->role != roles[r] || !result_row_measured(p->now)) continue;
            sum += log(p->base->median_us / p->now->median_us);
            n++;
        }
        if (n)
            fprintf(out, "geometric mean of base/new, %s: %.3fx over %zu row%s\n",
                    result_role_shown(roles[r]), exp(sum / (double)n), n, n == 1 ? "" : "s");
    }
    fprintf(out, "%zu slower, %zu faster, %zu same, %zu unsure, %zu broken; threshold %g %%\n",
            c->count[VERDICT_SLOWER], c->count[VERDICT_FASTER], c->count[VERDICT_SAME],
            c->count[VERDICT_UNSURE], c->count[VERDICT_BROKEN], 100 * c->threshold);
}

/* What the verdicts that stand there mean. */
static void print_verdicts(const struct comparison *c, FILE *out) {
    double percent = 100 * c->threshold;
    if (c->count[VERDICT_SLOWER] || c->count[VERDICT_FASTER])
        fprintf(out, "  SLOWER, FASTER: by %g %% or more, and the interval is without 0\n",
                percent);
    if (c->count[VERDICT_UNSURE])
        fprintf(out,
                "  UNSURE: the samples vary too much to tell %g %%; run it again when nothing else "
                "runs\n",
                percent);
    if (c->count[VERDICT_BROKEN]) fputs("  BROKEN: the new run could not time it\n", out);
    if (c->n)
        fputs("  unfused: one operator a kernel; default: fused, by rule; tuned: fastest config\n",
              out);
}

/* What may explain a change: other driver, compiler or clock. Each difference is said once. */
static void print_changes(const struct comparison *c, FILE *out) {
    struct text said = {0}, line = {0};
    for (size_t i = 0; i < c->n; i++) {
        const struct result_row *b = c->pairs[i].base, *n = c->pairs[i].now;
        const struct {
            const char *what, *from, *to;
        } facts[] = {{"driver", b->driver, n->driver},
                     {"toolchain", b->toolchain, n->toolchain},
                     {"timer", b->timer, n->timer},
                     {"host", b->host, n->host}};
        for (size_t f = 0; f < sizeof facts / sizeof *facts; f++) {
            if (strcmp(facts[f].from, facts[f].to) == 0) continue;
            text_free(&line);
            text_printf(&line, "%s of %s changed: %s -> %s\n", facts[f].what, b->device,
                        facts[f].from, facts[f].to);
            if (!strstr(text_str(&said), line.p)) text_puts(&said, line.p);
        }
        if (fabs(n->clock_mhz / b->clock_mhz - 1) > 0.03)
            text_printf(&said, "clock of %s %s %s changed: %.0f -> %.0f MHz\n", b->workload,
                        b->axes, result_role_shown(b->role), b->clock_mhz, n->clock_mhz);
    }
    fputs(text_str(&said), out);
    text_free(&said);
    text_free(&line);
}

/* Says what only one side has; returns how much that is. */
static size_t print_missing(const struct side *from, const struct side *in, const char *where,
                            FILE *out) {
    size_t n = 0;
    for (size_t i = 0; i < from->benches.n; i++) {
        const struct bench *b = &from->benches.all[i], *other = find_bench(in, b->key);
        for (int r = 0; r < N_ROLES; r++) {
            if (!b->role[roles[r]] || (other && other->role[roles[r]])) continue;
            fprintf(out, "only in %s: %s %s %s %s %s on %s\n", where, b->key->workload,
                    b->key->mode, b->key->dtype, b->key->axes, result_role_shown(roles[r]),
                    b->key->device);
            n++;
        }
    }
    return n;
}

static json_t *missing_json(const struct side *from, const struct side *in) {
    json_t *rows = json_array();
    for (size_t i = 0; i < from->benches.n; i++) {
        const struct bench *b = &from->benches.all[i], *other = find_bench(in, b->key);
        for (int r = 0; r < N_ROLES; r++)
            if (b->role[roles[r]] && !(other && other->role[roles[r]]))
                json_array_append_new(rows, result_row_json(b->role[roles[r]]));
    }
    return rows;
}

/* Both rows of each pair with the verdict, and what only one side has. */
static json_t *comparison_json(const struct comparison *c, const struct side *base,
                               const struct side *now) {
    json_t *o = json_object(), *pairs = json_array(), *counts = json_object();
    for (size_t i = 0; i < c->n; i++) {
        const struct pair *p = &c->pairs[i];
        json_t *pair = json_object();
        json_object_set_new(pair, "verdict", json_text(verdict_names[p->is.verdict]));
        json_object_set_new(pair, "change_low", json_number(p->is.low));
        json_object_set_new(pair, "change_high", json_number(p->is.high));
        json_object_set_new(pair, "confidence", json_number(p->is.confidence));
        json_object_set_new(pair, "ratio", json_number(p->now->median_us / p->base->median_us));
        json_object_set_new(pair, "base", result_row_json(p->base));
        json_object_set_new(pair, "new", result_row_json(p->now));
        json_array_append_new(pairs, pair);
    }
    for (int v = 0; v <= VERDICT_BROKEN; v++)
        json_object_set_new(counts, verdict_names[v], json_integer((json_int_t)c->count[v]));
    json_object_set_new(o, "threshold", json_number(c->threshold));
    json_object_set_new(o, "counts", counts);
    json_object_set_new(o, "pairs", pairs);
    json_object_set_new(o, "only_in_base", missing_json(base, now));
    json_object_set_new(o, "only_in_new", missing_json(now, base));
    return o;
}

static enum report_status exit_code(const struct comparison *c) {
    if (c->count[VERDICT_BROKEN] || c->lost) return REPORT_WRONG;
    if (c->count[VERDICT_SLOWER]) return REPORT_SLOWER;
    if (c->count[VERDICT_UNSURE]) return REPORT_NOISY;
    return REPORT_OK;
}

static void print_comparison(struct comparison *c, const struct side *base, const struct side *now,
                             FILE *out) {
    if (c->n) {
        print_pairs(c, out);
        print_means(c, out);
        print_verdicts(c, out);
        print_changes(c, out);
    }
    c->lost = print_missing(base, now, "base", out);
    print_missing(now, base, "new", out);
}

static enum report_status compare_sides(struct side *base, struct side *now,
                                        const struct compare_request *r, FILE *out, FILE *err,
                                        struct report_error *e) {
    if (side_read(base, err, e) != REPORT_OK || side_read(now, err, e) != REPORT_OK)
        return e->status;
    struct comparison c = {.threshold = r->threshold};
    compare_benches(&c, base, now);
    print_comparison(&c, base, now, r->json ? err : out);
    enum report_status status = c.n ? exit_code(&c) : REPORT_USAGE;
    if (r->json && json_print(comparison_json(&c, base, now), out) != REPORT_OK)
        status = report_fail(e, REPORT_MACHINE, "the output could not be written");
    free(c.pairs);
    if (!c.n)
        return report_fail(e, REPORT_USAGE, "'%s' and '%s' have no measured benchmark in common",
                           base->given, now->given);
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

int compare_files(const struct compare_request *r, FILE *out, FILE *err) {
    struct side base = {.option = "the base", .given = r->base},
                now = {.option = "the new", .given = r->now};
    struct report_error e = {0};
    enum report_status status = compare_sides(&base, &now, r, out, err, &e);
    if (e.status != REPORT_OK) fprintf(err, "warpsmith compare: %s\n", e.text);
    side_free(&base);
    side_free(&now);
    return (int)status;
}
