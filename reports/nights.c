/* nights.c: rows of many runs -> a series of nights -> verdicts.
 *
 *   run 20261101T020000Z.1   33.9      night 20261101T020000Z   33.9
 *   run 20261101T020000Z.2   34.0  ->  night 20261102T020000Z   37.4  SLOWER
 *   run 20261102T020000Z.1   37.4 */
#include "reports/nights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/csv_table.h"
#include "reports/estimate.h"

/* ---- nights ---------------------------------------------------------------------------------- */

static size_t night_length(const char *run_id) {
    const char *dot = strrchr(run_id, '.');
    return dot && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1)
               ? (size_t)(dot - run_id)
               : strlen(run_id);
}

bool night_same(const char *run_a, const char *run_b) {
    if (run_a == run_b) return true;
    size_t n = night_length(run_a);
    return n == night_length(run_b) && !memcmp(run_a, run_b, n);
}

void put_night(struct text *t, const char *run_id) { text_write(t, run_id, night_length(run_id)); }

bool nights_have(const struct result_row *r) {
    bool ours = r->role == ROLE_tuned || r->role == ROLE_default || r->role == ROLE_eager;
    return ours && !strcmp(r->kernel, "program");
}

static bool is_valid(const struct result_brief *r) {
    const char *throttle = r->like->throttle;
    return result_brief_measured(r) && (!throttle || !*throttle || !strcmp(throttle, "none"));
}

void nights_add(struct nights *s, const struct result_brief *row) {
    if (!s->n || !night_same(s->all[s->n - 1].row->run_id, row->run_id)) {
        s->all = memory_more(s->all, s->n, sizeof *s->all);
        s->all[s->n++] = (struct night){.row = row, .first = s->n_us};
    }
    struct night *n = &s->all[s->n - 1];
    if (!is_valid(row)) return;
    if (!n->runs++) n->row = row;
    n->prior += isfinite(row->scatter) ? row->scatter : 0;
    n->clock += row->clock_mhz;
    s->us = memory_more(s->us, s->n_us, sizeof *s->us);
    s->us[s->n_us++] = row->median_us;
}

void nights_free(struct nights *s) {
    free(s->all);
    free(s->us);
    free(s->is);
    free(s->measured);
    *s = (struct nights){0};
}

const struct night *nights_at(const struct nights *s, size_t m) { return &s->all[s->measured[m]]; }

double nights_us(const struct nights *s, size_t m) { return nights_at(s, m)->median_us; }

/* ---- accepted levels ------------------------------------------------------------------------- */

static const char *const accepted_columns[] = {"night",     "device",  "workload", "mode", "dtype",
                                               "precision", "weights", "axes",     "role"};
enum { N_ACCEPTED = sizeof accepted_columns / sizeof *accepted_columns };

static void accepted_cells(const struct result_row *key, const char *night,
                           const char *cells[N_ACCEPTED]) {
    const char *const all[N_ACCEPTED] = {night,        key->device, key->workload,
                                         key->mode,    key->dtype,  bench_precision(key),
                                         key->weights, key->axes,   result_role_name(key->role)};
    memcpy(cells, all, sizeof all);
}

static bool is_accepted(const struct accepted *a, const struct result_row *key,
                        const struct night *n) {
    struct text night = {0}, want = {0};
    const char *cells[N_ACCEPTED];
    if (!a || !a->rows.n) return false;
    put_night(&night, n->row->run_id);
    accepted_cells(key, text_str(&night), cells);
    text_puts(&want, "\n"); /* the end of the row before */
    table_put_row(&want, cells, N_ACCEPTED);
    bool found = strstr(text_str(&a->rows), want.p);
    text_free(&night);
    text_free(&want);
    return found;
}

static void take_accepted(const struct table_row *row, void *context, struct report_error *e) {
    struct accepted *a = context;
    if (row->n != N_ACCEPTED)
        report_fail(e, REPORT_WRONG, "line %zu has %zu cells, a list of accepted levels %d",
                    row->line, row->n, N_ACCEPTED);
    else
        table_put_row(&a->rows, row->cells, row->n);
}

enum report_status accepted_read(struct accepted *a, const char *folder, struct report_error *e) {
    struct table_file f;
    struct table_place at = {0, 1};
    struct text path = {0},
                warnings = {0}; /* half a row that a killed writer left accepts nothing */
    struct report_error none = {0};
    text_printf(&path, "%s/nightly/accepted.csv", folder);
    if (table_open(path.p, &f, &none) == REPORT_OK) {
        if (table_scan(&f, &at, UINT64_MAX, take_accepted, a, &warnings, &none) != REPORT_OK)
            report_fail(e, none.status, "'%s': %s", path.p, none.text);
        table_close(&f);
    } else if (none.status != REPORT_USAGE) {
        report_fail(e, none.status, "%s", none.text);
    }
    text_free(&path);
    text_free(&warnings);
    return e->status;
}

enum report_status accepted_append(const char *folder, const struct result_brief *from,
                                   struct report_error *e) {
    struct text path = {0}, night = {0};
    const char *cells[N_ACCEPTED];
    text_printf(&path, "%s/nightly", folder);
    mkdir(path.p, 0777); /* what fails here fails again below */
    text_puts(&path, "/accepted.csv");
    put_night(&night, from->run_id);
    accepted_cells(from->like, text_str(&night), cells);
    table_append(path.p, accepted_columns, N_ACCEPTED, cells, 1, NULL, e);
    text_free(&path);
    text_free(&night);
    return e->status;
}

void accepted_free(struct accepted *a) { text_free(&a->rows); }

/* ---- judging --------------------------------------------------------------------------------- */

/* What makes times of the two no evidence about the code: not a regression, but named. */
static const char *what_changed(const struct result_row *a, const struct result_row *b) {
    if (a == b) return NULL;
    if (strcmp(a->driver, b->driver)) return "driver";
    if (strcmp(a->toolchain, b->toolchain)) return "toolchain";
    if (strcmp(a->timer, b->timer)) return "timer";
    if (strcmp(a->host, b->host)) return "host";
    return (a->schema < 3) != (b->schema < 3) ? "meaning of times (schema 3)" : NULL;
}

void nights_judge(struct nights *s, const struct accepted *accepted, double threshold) {
    struct change_night *nights = memory_resize(NULL, s->n, sizeof *nights);
    const struct night *before = NULL;
    s->threshold = threshold;
    s->measured = memory_resize(NULL, s->n, sizeof *s->measured);
    s->is = memory_resize(NULL, s->n, sizeof *s->is);
    for (size_t i = 0; i < s->n; i++) {
        struct night *n = &s->all[i];
        if (!n->runs) continue;
        /* Samples may scatter by more than nights ever do: then they say nothing about these. */
        n->prior = fmin(0.05, fmax(0.01, RUNS_SCATTER * n->prior / (double)n->runs));
        n->clock /= (double)n->runs;
        n->median_us = median_time(&s->us[n->first], n->runs);
        if (before) n->why = what_changed(before->row->like, n->row->like);
        if (!n->why && is_accepted(accepted, s->all[0].row->like, n)) n->why = "accepted";
        before = n;
        nights[s->n_measured] =
            (struct change_night){log(n->median_us), n->prior, n->runs, n->why != NULL};
        s->measured[s->n_measured++] = i;
    }
    if (s->n_measured) change_follow(nights, s->n_measured, threshold, s->is);
    free(nights);
}

bool nights_by_clock(const struct nights *s, size_t m) {
    const struct change *c = &s->is[m];
    if (c->verdict != CHANGE_SLOWER) return false;
    double now = nights_at(s, m)->clock, base = nights_at(s, c->base_first)->clock;
    return now < 0.99 * base && c->shift + log(now / base) < log1p(s->threshold);
}

const char *nights_verdict(const struct nights *s, size_t m) {
    static const char *const names[] = {"new", "same", "FASTER", "SLOWER", "UNSURE"};
    return nights_by_clock(s, m) ? "clock" : names[s->is[m].verdict];
}

bool nights_changed(const struct nights *s, size_t m) {
    return s->is[m].verdict == CHANGE_SLOWER || s->is[m].verdict == CHANGE_FASTER;
}

void put_since(struct text *t, const struct nights *s, size_t m) {
    const struct change *c = &s->is[m];
    const struct result_brief *at = nights_at(s, c->since)->row;
    text_puts(t, c->shape == CHANGE_DRIFT ? "drifting since " : "since ");
    put_night(t, at->run_id);
    if (c->since && c->shape == CHANGE_STEP) {
        const struct result_brief *before = nights_at(s, c->since - 1)->row;
        text_printf(t, ", commits %s..%s", before->git_rev, at->git_rev);
    }
}
