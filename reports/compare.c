/* compare.c: `warpsmith compare`: match the program rows of two sides, judge each, print a table,
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
 * samples in one run shows: COMPARE_RUNS_DIFFER stands for it, on few degrees of freedom, and what
 * several runs show. */
#include "reports/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/benches.h"
#include "reports/change.h"
#include "reports/estimate.h"
#include "reports/row_json.h"
#include "reports/side.h"

/* ---- the decision ---------------------------------------------------------------------------- */

/* How well the median is known, relative to it. */
static double median_error(const struct result_row *r) { return row_half_us(r) / r->median_us; }

static bool is_usable(const struct result_row *r) {
    return r->n >= COMPARE_MIN_SAMPLES && r->q1_us <= r->median_us && r->median_us <= r->q3_us;
}

/* Runs of a side, as change_compare wants them. */
struct measured {
    double *logs;   /* of the medians */
    double mean;    /* of these */
    double scatter; /* of the samples: of the run whose scatter the most */
    double own;     /* standard error that the mean has of what was sampled */
    double error;   /* how well the medians are known by their samples: of the least well known */
};

static struct measured measure(const struct result_row *const *rows, size_t n, bool without_gaps) {
    struct measured m = {.logs = memory_resize(NULL, n, sizeof *m.logs)};
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        struct result_row r = without_gaps ? result_row_without_gaps(rows[i]) : *rows[i];
        m.logs[i] = log(r.median_us);
        m.mean += m.logs[i] / (double)n;
        m.scatter = fmax(m.scatter, row_scatter(&r));
        m.error = fmax(m.error, median_error(&r));
        squares += pow(median_error(&r) / 1.96, 2);
    }
    m.own = sqrt(squares) / (double)n;
    return m;
}

static bool are_usable(const struct result_row *const *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!is_usable(rows[i])) return false;
    return true;
}

static size_t count_older(const struct result_row *const *rows, size_t n) {
    size_t older = 0;
    for (size_t i = 0; i < n; i++) older += rows[i]->schema < 3;
    return older;
}

struct judgement compare_runs(const struct result_row *const *base, size_t n_base,
                              const struct result_row *const *now, size_t n_now, double threshold) {
    struct judgement j = {VERDICT_UNSURE, NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < n_now; i++)
        if (!result_row_measured(now[i])) return j.verdict = VERDICT_BROKEN, j;
    size_t older = count_older(base, n_base) + count_older(now, n_now), n = n_base + n_now;
    bool without_gaps = older && older < n; /* their times did not mean the same */
    struct measured a = measure(base, n_base, without_gaps), b = measure(now, n_now, without_gaps);
    j.change = expm1(b.mean - a.mean);
    if (are_usable(base, n_base) && are_usable(now, n_now)) {
        double own[2] = {a.own, b.own}, least = log1p(threshold);
        double differ = fmax(COMPARE_RUNS_DIFFER, RUNS_SCATTER * fmax(a.scatter, b.scatter));
        struct change_between c = change_compare(a.logs, n_base, b.logs, n_now, differ, own);
        j.low = expm1(c.low), j.high = expm1(c.high), j.confidence = c.confidence;
        bool known = fmax(a.error, b.error) <= threshold;
        if (n > 2) known = known && (c.high - c.low) / 2 <= least;
        if (fabs(c.shift) >= least) {
            if (c.low > 0) j.verdict = VERDICT_SLOWER;
            if (c.high < 0) j.verdict = VERDICT_FASTER;
        } else if (known) {
            j.verdict = VERDICT_SAME;
        }
    }
    free(a.logs);
    free(b.logs);
    return j;
}

struct judgement compare_rows(const struct result_row *base, const struct result_row *now,
                              double threshold) {
    return compare_runs(&base, 1, &now, 1, threshold);
}

static const char *const verdict_names[] = {"SAME", "FASTER", "SLOWER", "UNSURE", "BROKEN"};

/* ---- the table ------------------------------------------------------------------------------- */

static const enum result_role roles[] = {ROLE_tuned, ROLE_default, ROLE_eager};
enum { N_ROLES = sizeof roles / sizeof *roles };

struct pair {
    const struct result_row *base,
        *now;                       /* the newest runs; of the new side the newest broken one */
    size_t n_base, n_now, n_broken; /* runs */
    double base_us, now_us;         /* geometric means */
    struct judgement is;
};

struct comparison {
    double threshold;
    bool several; /* runs a side, somewhere */
    struct pair *pairs;
    size_t n;
    size_t count[VERDICT_BROKEN + 1];
    size_t lost; /* in the base only */
};

static double mean_us(const struct result_row *const *rows, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += log(rows[i]->median_us);
    return exp(sum / (double)n);
}

static const struct result_row *newest(const struct result_row *const *rows, size_t n,
                                       bool measured) {
    const struct result_row *found = NULL;
    for (size_t i = 0; i < n; i++)
        if (result_row_measured(rows[i]) == measured &&
            (!found || strcmp(rows[i]->timestamp, found->timestamp) >= 0))
            found = rows[i];
    return found;
}

static void add_pair(struct comparison *c, const struct runs *base, const struct runs *now) {
    const struct result_row **measured = memory_resize(NULL, base->n + 1, sizeof *measured);
    struct pair p = {.n_now = now->n, .base = newest(base->rows, base->n, true)};
    for (size_t i = 0; i < base->n; i++)
        if (result_row_measured(base->rows[i])) measured[p.n_base++] = base->rows[i];
    for (size_t i = 0; i < now->n; i++) p.n_broken += !result_row_measured(now->rows[i]);
    if (p.n_base && p.n_now) {
        p.now = newest(now->rows, now->n, !p.n_broken);
        p.base_us = mean_us(measured, p.n_base);
        p.now_us = p.n_broken ? NAN : mean_us(now->rows, p.n_now);
        p.is = compare_runs(measured, p.n_base, now->rows, p.n_now, c->threshold);
        c->count[p.is.verdict]++;
        c->several |= p.n_base > 1 || p.n_now > 1;
        c->pairs = memory_resize(c->pairs, c->n + 1, sizeof *c->pairs);
        c->pairs[c->n++] = p;
    }
    free(measured);
}

static void compare_benches(struct comparison *c, const struct side *base, const struct side *now) {
    for (size_t i = 0; i < base->benches.n; i++)
        for (int r = 0; r < N_ROLES; r++) {
            const struct runs *n = side_runs(now, base->benches.all[i].key, roles[r]);
            if (n) add_pair(c, &base->runs[i][roles[r]], n);
        }
}

static int width(int at_least, const char *s) {
    int n = (int)strlen(s);
    return n > at_least ? n : at_least;
}

/* What both tables say of a pair. */
enum { TYPE, RUNS, BASE, NOW, CHANGE, INTERVAL, SURE, VERDICT, N_CELLS };

static void put_cells(struct text cells[N_CELLS], const struct pair *p) {
    const struct judgement *j = &p->is;
    bench_type(&cells[TYPE], p->base);
    text_printf(&cells[RUNS], "%zu, %zu", p->n_base, p->n_now);
    text_printf(&cells[BASE], "%.2f", p->base_us);
    if (isfinite(p->now_us)) {
        text_printf(&cells[NOW], "%.2f", p->now_us);
        text_printf(&cells[CHANGE], "%+.1f %%", 100 * (p->now_us / p->base_us - 1));
    }
    if (isfinite(j->low)) {
        text_printf(&cells[INTERVAL], "%+.1f to ", 100 * j->low);
        if (j->high < 10)
            text_printf(&cells[INTERVAL], "%+.1f %%", 100 * j->high);
        else
            text_puts(&cells[INTERVAL], "> +1000 %"); /* nobody knows */
        text_printf(&cells[SURE], "%.1f %%", floor(1e3 * j->confidence) / 10);
    }
    text_puts(&cells[VERDICT], verdict_names[j->verdict]);
    if (p->n_broken) text_printf(&cells[VERDICT], ": %s", result_status_name(p->now->status));
    if (p->n_broken && p->n_now > 1)
        text_printf(&cells[VERDICT], " in %zu of %zu runs", p->n_broken, p->n_now);
    for (int k = 0; k < N_CELLS; k++)
        if (!cells[k].n) text_puts(&cells[k], "-");
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
    fprintf(out, "%-*s  %-*s  %-*s  %-*s  %-7s  %s%9s  %9s  %8s  %17s  %7s  %s\n", workload,
            "workload", mode, "mode", dtype, "dtype", axes, "axes", "role",
            c->several ? "  runs  " : "", "base us", "new us", "change", "95 % interval", "sure",
            "verdict");
    for (size_t i = 0; i < c->n; i++) {
        const struct pair *p = &c->pairs[i];
        const struct result_row *b = p->base;
        struct text cells[N_CELLS] = {{0}};
        put_cells(cells, p);
        fprintf(out, "%-*s  %-*s  %-*s  %-*s  %-7s  ", workload, b->workload, mode, b->mode, dtype,
                text_str(&cells[TYPE]), axes, b->axes, result_role_shown(b->role));
        if (c->several) fprintf(out, "%6s  ", cells[RUNS].p);
        fprintf(out, "%9s  %9s  %8s  %17s  %7s  %s\n", cells[BASE].p, cells[NOW].p, cells[CHANGE].p,
                cells[INTERVAL].p, cells[SURE].p, cells[VERDICT].p);
        for (int k = 0; k < N_CELLS; k++) text_free(&cells[k]);
    }
}

static void print_means(const struct comparison *c, const char *bullet, FILE *out) {
    for (int r = 0; r < N_ROLES; r++) {
        double sum = 0;
        size_t n = 0;
        for (size_t i = 0; i < c->n; i++) {
            const struct pair *p = &c->pairs[i];
            if (p->base->role != roles[r] || p->n_broken) continue;
            sum += log(p->base_us / p->now_us);
            n++;
        }
        if (n)
            fprintf(out, "%sgeometric mean of base/new, %s: %.3fx over %zu row%s\n", bullet,
                    result_role_shown(roles[r]), exp(sum / (double)n), n, n == 1 ? "" : "s");
    }
}

static void print_counts(const struct comparison *c, FILE *out) {
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
                "  UNSURE: samples or runs vary too much to tell %g %%; run it again when nothing "
                "else runs\n",
                percent);
    if (c->count[VERDICT_BROKEN]) fputs("  BROKEN: the new run could not time it\n", out);
    if (c->n)
        fputs("  unfused: one operator a kernel; default: fused, by rule; tuned: fastest config\n",
              out);
}

/* What may explain a change: other driver, compiler or clock. Each difference is said once. */
static void print_changes(const struct comparison *c, const char *bullet, FILE *out) {
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
            text_printf(&line, "%s%s of %s changed: %s -> %s\n", bullet, facts[f].what, b->device,
                        facts[f].from, facts[f].to);
            if (!strstr(text_str(&said), line.p)) text_puts(&said, line.p);
        }
        if (fabs(n->clock_mhz / b->clock_mhz - 1) > 0.03)
            text_printf(&said, "%sclock of %s %s %s changed: %.0f -> %.0f MHz\n", bullet,
                        b->workload, b->axes, result_role_shown(b->role), b->clock_mhz,
                        n->clock_mhz);
    }
    fputs(text_str(&said), out);
    text_free(&said);
    text_free(&line);
}

/* The newest row of a bench that only this side has; NULL: the other has it, too, or neither. */
static const struct result_row *missing_row(const struct side *from, size_t bench,
                                            enum result_role role, const struct side *in) {
    const struct bench *b = &from->benches.all[bench];
    const struct runs *other = side_runs(in, b->key, role);
    return other && other->n ? NULL : b->role[role];
}

/* Says what only one side has; returns how much that is. */
static size_t print_missing(const struct side *from, const struct side *in, const char *bullet,
                            FILE *out) {
    size_t n = 0;
    for (size_t i = 0; i < from->benches.n; i++)
        for (int r = 0; r < N_ROLES; r++) {
            const struct result_row *row = missing_row(from, i, roles[r], in);
            if (!row) continue;
            fprintf(out, "%sonly in %s: %s %s %s %s %s on %s\n", bullet, from->name, row->workload,
                    row->mode, row->dtype, row->axes, result_role_shown(roles[r]), row->device);
            n++;
        }
    return n;
}

static json_t *missing_json(const struct side *from, const struct side *in) {
    json_t *rows = json_array();
    for (size_t i = 0; i < from->benches.n; i++)
        for (int r = 0; r < N_ROLES; r++) {
            const struct result_row *row = missing_row(from, i, roles[r], in);
            if (row) json_array_append_new(rows, result_row_json(row));
        }
    return rows;
}

/* The newest rows of each pair with the verdict, and what only one side has. */
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
        json_object_set_new(pair, "ratio", json_number(p->now_us / p->base_us));
        json_object_set_new(pair, "base_runs", json_integer((json_int_t)p->n_base));
        json_object_set_new(pair, "new_runs", json_integer((json_int_t)p->n_now));
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

static void print_table(struct comparison *c, const struct side *base, const struct side *now,
                        FILE *out) {
    if (c->n) {
        print_pairs(c, out);
        print_means(c, "", out);
        print_counts(c, out);
        print_verdicts(c, out);
        print_changes(c, "", out);
    }
    c->lost = print_missing(base, now, "", out);
    print_missing(now, base, "", out);
}

static void print_markdown_cell(const char *s, FILE *out) {
    fputs(" ", out);
    for (; *s; s++) {
        if (*s == '|' || *s == '\\') fputc('\\', out);
        fputc(*s, out);
    }
    fputs(" |", out);
}

static void print_given(const struct side *s, FILE *out) {
    for (size_t i = 0; i < s->n_given; i++) fprintf(out, "%s`%s`", i ? ", " : "", s->given[i]);
}

static void print_markdown(struct comparison *c, const struct side *base, const struct side *now,
                           FILE *out) {
    fputs("# ", out);
    print_counts(c, out);
    fputs("\nBase: ", out);
    print_given(base, out);
    fputs("; new: ", out);
    print_given(now, out);
    fputs("\n\n| workload | mode | dtype | axes | role | runs | base us | new us | change | "
          "95 % interval | sure | verdict |\n"
          "|---|---|---|---|---|---:|---:|---:|---:|---:|---:|---|\n",
          out);
    for (size_t i = 0; i < c->n; i++) {
        const struct result_row *b = c->pairs[i].base;
        struct text cells[N_CELLS] = {{0}};
        put_cells(cells, &c->pairs[i]);
        const char *const texts[] = {b->workload,
                                     b->mode,
                                     cells[TYPE].p,
                                     b->axes,
                                     result_role_shown(b->role),
                                     cells[RUNS].p,
                                     cells[BASE].p,
                                     cells[NOW].p,
                                     cells[CHANGE].p,
                                     cells[INTERVAL].p,
                                     cells[SURE].p,
                                     cells[VERDICT].p};
        fputs("|", out);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            print_markdown_cell(texts[k], out);
        fputs("\n", out);
        for (int k = 0; k < N_CELLS; k++) text_free(&cells[k]);
    }
    fputs("\n", out);
    print_means(c, "* ", out);
    print_changes(c, "* ", out);
    c->lost = print_missing(base, now, "* ", out);
    print_missing(now, base, "* ", out);
}

static enum report_status compare_sides(struct side *base, struct side *now,
                                        const struct compare_request *r, FILE *out, FILE *err,
                                        struct report_error *e) {
    if (side_read(base, err, e) != REPORT_OK || side_read(now, err, e) != REPORT_OK)
        return e->status;
    struct comparison c = {.threshold = r->threshold};
    compare_benches(&c, base, now);
    if (r->output == COMPARE_MARKDOWN)
        print_markdown(&c, base, now, out);
    else
        print_table(&c, base, now, r->output == COMPARE_JSON ? err : out);
    enum report_status status = exit_code(&c);
    if (base->damaged || now->damaged) status = REPORT_WRONG;
    if (r->output == COMPARE_JSON && json_print(comparison_json(&c, base, now), out) != REPORT_OK)
        status = report_fail(e, REPORT_MACHINE, "the output could not be written");
    free(c.pairs);
    if (!c.n)
        return report_fail(e, REPORT_USAGE, "'%s' and '%s' have no measured benchmark in common",
                           base->given[0], now->given[0]);
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

int compare_files(const struct compare_request *r, FILE *out, FILE *err) {
    struct side base = {.name = "base", .given = r->base, .n_given = r->n_base},
                now = {.name = "new", .given = r->now, .n_given = r->n_now};
    struct report_error e = {0};
    enum report_status status = compare_sides(&base, &now, r, out, err, &e);
    if (e.status != REPORT_OK) fprintf(err, "warpsmith compare: %s\n", e.text);
    side_free(&base);
    side_free(&now);
    return (int)status;
}
