/* history.c: rows of many runs -> a series of nights for every benchmark -> verdicts.
 *
 *   softmax f32 tuned   run 20261101T020000Z.1   33.9      night 20261101T020000Z   33.9
 *   softmax f32 tuned   run 20261101T020000Z.2   34.0  ->  night 20261102T020000Z   37.4  SLOWER
 *   softmax f32 tuned   run 20261102T020000Z.1   37.4 */
#include "reports/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/benches.h"
#include "reports/change.h"
#include "reports/estimate.h"

struct night {
    const struct result_row *row; /* of its first run that was measured, else of its first */
    double *us;                   /* of those that were measured */
    size_t runs, of;              /* of: rows in all */
    double prior, clock;
    const char *why; /* what starts the baseline anew; NULL: nothing does */
};

struct series_of {
    const struct result_row *key;
    struct night *nights; /* in the order of time */
    size_t n;
    struct change *is; /* one for each night that was measured */
    size_t *measured;  /* these nights */
    size_t n_measured;
};

struct history {
    struct results *files;
    size_t n_files;
    struct series_of *all;
    size_t n;
    const struct result_row *last; /* a row of the newest night */
    struct text accepted;          /* rows as table_put_row writes them, one after the other */
    bool damaged;
    FILE *err; /* where it says what it leaves out */
};

/* ---- reading --------------------------------------------------------------------------------- */

static size_t night_length(const char *run_id) {
    const char *dot = strrchr(run_id, '.');
    return dot && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1)
               ? (size_t)(dot - run_id)
               : strlen(run_id);
}

static bool same_night(const struct result_row *a, const struct result_row *b) {
    size_t n = night_length(a->run_id);
    return n == night_length(b->run_id) && !memcmp(a->run_id, b->run_id, n);
}

static void put_night(struct text *t, const struct result_row *r) {
    text_write(t, r->run_id, night_length(r->run_id));
}

static void read_file(const char *path, void *context) {
    struct history *h = context;
    struct report_error e = {0};
    h->files = memory_resize(h->files, h->n_files + 1, sizeof *h->files);
    if (results_read(path, &h->files[h->n_files++], &e) != REPORT_OK) {
        fprintf(h->err, "left out: %s\n", e.text);
        h->damaged = true;
    }
}

static int by_time(const void *a, const void *b) {
    const struct result_row *x = *(const struct result_row *const *)a,
                            *y = *(const struct result_row *const *)b;
    int order = strcmp(x->timestamp, y->timestamp);
    return order ? order : (x > y) - (x < y);
}

static struct series_of *find_series(struct history *h, const struct result_row *row) {
    for (size_t i = 0; i < h->n; i++)
        if (h->all[i].key->role == row->role && bench_same_key(h->all[i].key, row))
            return &h->all[i];
    h->all = memory_resize(h->all, h->n + 1, sizeof *h->all);
    h->all[h->n] = (struct series_of){.key = row};
    return &h->all[h->n++];
}

static bool is_valid(const struct result_row *r) {
    return result_row_measured(r) &&
           (!r->throttle || !*r->throttle || !strcmp(r->throttle, "none"));
}

static void add_row(struct history *h, const struct result_row *row) {
    struct series_of *s = find_series(h, row);
    if (!s->n || !same_night(s->nights[s->n - 1].row, row)) {
        s->nights = memory_resize(s->nights, s->n + 1, sizeof *s->nights);
        s->nights[s->n++] = (struct night){.row = row};
    }
    struct night *n = &s->nights[s->n - 1];
    n->of++;
    if (!is_valid(row)) return;
    if (!n->runs) n->row = row;
    double spread = row_scatter(row);
    n->prior += isfinite(spread) ? spread : 0;
    n->clock += row->clock_mhz;
    n->us = memory_resize(n->us, n->runs + 1, sizeof *n->us);
    n->us[n->runs++] = row->median_us;
}

static void add_rows(struct history *h) {
    const struct result_row **rows = NULL;
    size_t n = 0;
    for (size_t f = 0; f < h->n_files; f++) {
        rows = memory_resize(rows, n + h->files[f].n, sizeof *rows);
        for (size_t i = 0; i < h->files[f].n; i++) {
            const struct result_row *r = &h->files[f].rows[i];
            bool ours = r->role == ROLE_tuned || r->role == ROLE_default || r->role == ROLE_eager;
            if (ours && !strcmp(r->kernel, "program")) rows[n++] = r;
        }
    }
    if (n) qsort(rows, n, sizeof *rows, by_time);
    for (size_t i = 0; i < n; i++) add_row(h, rows[i]);
    if (n) h->last = rows[n - 1];
    free(rows);
}

/* ---- judging --------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n) {
    if (!n) return NAN;
    qsort(v, n, sizeof *v, by_size);
    return n % 2 ? v[n / 2] : sqrt(v[n / 2 - 1] * v[n / 2]);
}

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

static bool is_accepted(const struct history *h, const struct series_of *s, const struct night *n) {
    struct text night = {0}, want = {0};
    const char *cells[N_ACCEPTED];
    put_night(&night, n->row);
    accepted_cells(s->key, text_str(&night), cells);
    text_puts(&want, "\n"); /* the end of the row before */
    table_put_row(&want, cells, N_ACCEPTED);
    bool found = strstr(text_str(&h->accepted), want.p);
    text_free(&night);
    text_free(&want);
    return found;
}

static void take_accepted(const struct table_row *row, void *context, struct report_error *e) {
    struct history *h = context;
    if (row->n != N_ACCEPTED)
        report_fail(e, REPORT_WRONG, "line %zu has %zu cells, a list of accepted levels %d",
                    row->line, row->n, N_ACCEPTED);
    else
        table_put_row(&h->accepted, row->cells, row->n);
}

/* It need not be there. */
static void read_accepted(struct history *h, const char *path, struct report_error *e) {
    struct table_file f;
    struct table_place at = {0, 1};
    struct text warnings = {0}; /* half a row that a killed writer left accepts nothing */
    struct report_error none = {0};
    if (table_open(path, &f, &none) == REPORT_OK) {
        if (table_scan(&f, &at, UINT64_MAX, take_accepted, h, &warnings, &none) != REPORT_OK)
            report_fail(e, none.status, "'%s': %s", path, none.text);
        table_close(&f);
    } else if (none.status != REPORT_USAGE) {
        report_fail(e, none.status, "%s", none.text);
    }
    text_free(&warnings);
}

/* What makes times of the two no evidence about the code: not a regression, but named. */
static const char *what_changed(const struct result_row *a, const struct result_row *b) {
    if (strcmp(a->driver, b->driver)) return "driver";
    if (strcmp(a->toolchain, b->toolchain)) return "toolchain";
    if (strcmp(a->timer, b->timer)) return "timer";
    if (strcmp(a->host, b->host)) return "host";
    return (a->schema < 3) != (b->schema < 3) ? "meaning of times (schema 3)" : NULL;
}

static void judge_series(const struct history *h, struct series_of *s, double threshold) {
    struct change_night *nights = memory_resize(NULL, s->n, sizeof *nights);
    const struct night *before = NULL;
    s->measured = memory_resize(NULL, s->n, sizeof *s->measured);
    s->is = memory_resize(NULL, s->n, sizeof *s->is);
    for (size_t i = 0; i < s->n; i++) {
        struct night *n = &s->nights[i];
        if (!n->runs) continue;
        /* Samples may scatter by more than nights ever do: then they say nothing about these. */
        n->prior = fmin(0.05, fmax(0.01, n->prior / (double)n->runs));
        n->clock /= (double)n->runs;
        if (before) n->why = what_changed(before->row, n->row);
        if (!n->why && is_accepted(h, s, n)) n->why = "accepted";
        before = n;
        nights[s->n_measured] =
            (struct change_night){log(median(n->us, n->runs)), n->prior, n->runs, n->why != NULL};
        s->measured[s->n_measured++] = i;
    }
    if (s->n_measured) change_follow(nights, s->n_measured, threshold, s->is);
    free(nights);
}

static double night_us(const struct series_of *s, size_t m) {
    const struct night *n = &s->nights[s->measured[m]];
    return median(n->us, n->runs);
}

static double recent_us(const struct series_of *s, size_t m) {
    double us[HISTORY_RECENT];
    size_t n = 0;
    for (; n < HISTORY_RECENT && n < m; n++) us[n] = night_us(s, m - 1 - n);
    return median(us, n);
}

/* The clock is lower by as much as the time is longer, but for the threshold. */
static bool is_clock(const struct series_of *s, size_t m, double threshold) {
    const struct change *c = &s->is[m];
    if (c->verdict != CHANGE_SLOWER) return false;
    double now = s->nights[s->measured[m]].clock,
           base = s->nights[s->measured[c->base_first]].clock;
    return now < 0.99 * base && c->shift + log(now / base) < log1p(threshold);
}

static const char *verdict_name(const struct series_of *s, size_t m, double threshold) {
    static const char *const names[] = {"new", "same", "FASTER", "SLOWER", "UNSURE"};
    return is_clock(s, m, threshold) ? "clock" : names[s->is[m].verdict];
}

static enum report_status history_read(struct history *h, const struct history_request *r,
                                       struct report_error *e) {
    struct text path = {0};
    if (results_in_folder(r->folder, read_file, h, e) == REPORT_OK) {
        text_printf(&path, "%s/nightly/accepted.csv", r->folder);
        read_accepted(h, path.p, e);
        add_rows(h);
        if (!h->last) report_fail(e, REPORT_WRONG, "no results in '%s'", r->folder);
        for (size_t i = 0; i < h->n; i++) judge_series(h, &h->all[i], r->threshold);
    }
    text_free(&path);
    return e->status;
}

static void history_free(struct history *h) {
    for (size_t i = 0; i < h->n; i++) {
        for (size_t n = 0; n < h->all[i].n; n++) free(h->all[i].nights[n].us);
        free(h->all[i].nights);
        free(h->all[i].is);
        free(h->all[i].measured);
    }
    for (size_t i = 0; i < h->n_files; i++) results_free(&h->files[i]);
    free(h->files);
    free(h->all);
    text_free(&h->accepted);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static double percent(double log_ratio) { return 100 * expm1(log_ratio); }

/* In the newest night: measured; there, but not measured; or lost: its workload was run in the same
 * type and mode on its device, and it was measured at some earlier time. */
enum state { ELSEWHERE, MEASURED, BROKEN, LOST };

static enum state state_of(const struct history *h, const struct series_of *s) {
    const struct night *last = &s->nights[s->n - 1];
    if (same_night(last->row, h->last)) return last->runs ? MEASURED : BROKEN;
    if (!s->n_measured) return ELSEWHERE;
    for (size_t i = 0; i < h->n; i++) {
        const struct series_of *o = &h->all[i];
        const struct result_row *a = o->key, *b = s->key;
        if (same_night(o->nights[o->n - 1].row, h->last) && !strcmp(a->workload, b->workload) &&
            !strcmp(a->device, b->device) && !strcmp(a->mode, b->mode) &&
            !strcmp(a->dtype, b->dtype) && !strcmp(bench_precision(a), bench_precision(b)))
            return LOST;
    }
    return ELSEWHERE;
}

static void put_name(struct text *t, const struct result_row *k) {
    text_printf(t, "%s %s ", k->workload, k->mode);
    bench_type(t, k);
    text_printf(t, " %s %s", k->axes, result_role_shown(k->role));
}

static void put_since(struct text *t, const struct series_of *s, const struct change *c) {
    const struct result_row *at = s->nights[s->measured[c->since]].row;
    text_puts(t, c->shape == CHANGE_DRIFT ? "drifting since " : "since ");
    put_night(t, at);
    if (c->since && c->shape == CHANGE_STEP) {
        const struct result_row *before = s->nights[s->measured[c->since - 1]].row;
        text_printf(t, ", commits %s..%s", before->git_rev, at->git_rev);
    }
}

struct counts {
    size_t slower, faster, unsure, same, fresh, broken, lost, clock;
};

static void put_measured(struct text *md, const struct series_of *s, double threshold,
                         struct counts *n) {
    size_t m = s->n_measured - 1;
    const struct change *c = &s->is[m];
    const struct night *night = &s->nights[s->measured[m]];
    const char *verdict = verdict_name(s, m, threshold);
    bool clock = is_clock(s, m, threshold);
    n->clock += clock;
    n->slower += c->verdict == CHANGE_SLOWER && !clock;
    n->faster += c->verdict == CHANGE_FASTER;
    n->unsure += c->verdict == CHANGE_UNSURE;
    n->same += c->verdict == CHANGE_SAME;
    n->fresh += c->verdict == CHANGE_NEW;
    text_puts(md, "| ");
    put_name(md, s->key);
    text_printf(md, " | %s | %.2f |", verdict, night_us(s, m));
    if (isfinite(c->base))
        text_printf(md, " %.2f | %.2f | %+.1f %% (%+.1f to %+.1f) | %.2f %% |", exp(c->base),
                    recent_us(s, m), percent(c->shift), percent(c->low), percent(c->high),
                    floor(1e4 * c->confidence) / 100);
    else
        text_puts(md, " | | | |");
    text_puts(md, " ");
    if (c->verdict == CHANGE_SLOWER || c->verdict == CHANGE_FASTER) put_since(md, s, c);
    if (night->why && m) {
        const struct night *before = &s->nights[s->measured[m - 1]];
        text_printf(md, "%s: %+.1f %% against the night before, which is not judged", night->why,
                    percent(log(night_us(s, m) / night_us(s, m - 1))));
        if (!strcmp(night->why, "driver"))
            text_printf(md, " (%s -> %s)", before->row->driver, night->row->driver);
        if (!strcmp(night->why, "toolchain"))
            text_printf(md, " (%s -> %s)", before->row->toolchain, night->row->toolchain);
    }
    if (clock)
        text_printf(md, "; the clock was %.0f MHz, now %.0f",
                    s->nights[s->measured[c->base_first]].clock, night->clock);
    text_puts(md, " |\n");
}

static enum report_status put_page(const struct history *h, double threshold, struct text *md) {
    struct counts n = {0};
    text_puts(md, "# Night ");
    put_night(md, h->last);
    text_printf(md, "\n\n%s, driver %s, %s, commit %s\n\n", h->last->device, h->last->driver,
                h->last->toolchain, h->last->git_rev);
    struct text rows = {0}, missing = {0};
    for (size_t i = 0; i < h->n; i++) {
        const struct series_of *s = &h->all[i];
        enum state is = state_of(h, s);
        if (is == MEASURED) put_measured(&rows, s, threshold, &n);
        if (is != BROKEN && is != LOST) continue;
        const struct night *last = &s->nights[s->n - 1];
        n.broken += is == BROKEN, n.lost += is == LOST;
        text_puts(&missing, is == LOST ? "* lost: " : "* BROKEN: ");
        put_name(&missing, s->key);
        if (is == BROKEN)
            text_printf(&missing, ": %s\n",
                        result_row_measured(last->row) ? last->row->throttle
                                                       : result_status_name(last->row->status));
        else {
            text_puts(&missing, ", last measured in ");
            put_night(&missing, s->nights[s->measured[s->n_measured - 1]].row);
            text_puts(&missing, "\n");
        }
    }
    text_printf(
        md,
        "%zu slower, %zu faster, %zu unsure, %zu same, %zu new, %zu by the clock, %zu broken, "
        "%zu lost; threshold %g %%\n\n",
        n.slower, n.faster, n.unsure, n.same, n.fresh, n.clock, n.broken, n.lost, 100 * threshold);
    if (missing.n) text_printf(md, "%s\n", missing.p);
    if (rows.n)
        text_printf(md,
                    "| benchmark | verdict | us | baseline us | last nights us | change (95 %%) | "
                    "confidence | |\n|---|---|---:|---:|---:|---:|---:|---|\n%s",
                    rows.p);
    text_free(&rows);
    text_free(&missing);
    if (n.broken || n.lost || h->damaged) return REPORT_WRONG;
    if (n.slower) return REPORT_SLOWER;
    return n.unsure ? REPORT_NOISY : REPORT_OK;
}

/* ---- the time line --------------------------------------------------------------------------- */

static void put_timeline(struct text *t, const struct series_of *s, double threshold) {
    for (size_t m = 0; m < s->n_measured; m++) {
        const struct night *n = &s->nights[s->measured[m]];
        const struct change *c = &s->is[m];
        const struct result_row *r = n->row;
        bool changed = c->verdict == CHANGE_SLOWER || c->verdict == CHANGE_FASTER;
        struct text night = {0}, since = {0};
        put_night(&night, r);
        if (changed) put_night(&since, s->nights[s->measured[c->since]].row);
        const char *const texts[] = {r->device,
                                     r->workload,
                                     r->mode,
                                     r->dtype,
                                     bench_precision(r),
                                     r->weights,
                                     r->axes,
                                     result_role_name(r->role),
                                     night.p,
                                     r->timestamp,
                                     r->git_rev,
                                     r->driver,
                                     r->toolchain};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            if (i) text_puts(t, ",");
            text_csv(t, texts[i]);
        }
        const double numbers[] = {
            n->clock,        r->temp_c,         (double)n->runs, night_us(s, m),   exp(c->base),
            recent_us(s, m), percent(c->shift), percent(c->low), percent(c->high), c->confidence};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            text_puts(t, ",");
            text_csv_number(t, numbers[i]);
        }
        text_printf(t, ",%s,%s,%s,%d\n", verdict_name(s, m, threshold),
                    !changed                   ? ""
                    : c->shape == CHANGE_DRIFT ? "drift"
                                               : "step",
                    text_str(&since), n->why != NULL || m == 0);
        text_free(&night);
        text_free(&since);
    }
}

static enum report_status write_text(const char *folder, const char *name, const struct text *t,
                                     struct report_error *e) {
    struct text path = {0};
    text_printf(&path, "%s/nightly", folder);
    mkdir(path.p, 0777); /* what fails here fails again below */
    text_printf(&path, "/%s", name);
    FILE *f = fopen(path.p, "w");
    bool ok = f && fputs(text_str(t), f) != EOF;
    if (f && fclose(f) != 0) ok = false;
    if (!ok) report_fail(e, REPORT_MACHINE, "cannot write '%s': %s", path.p, strerror(errno));
    text_free(&path);
    return e->status;
}

/* ---- the commands ---------------------------------------------------------------------------- */

static int say_error(const char *command, const struct report_error *e, FILE *err) {
    if (e->status != REPORT_OK) fprintf(err, "warpsmith nightly %s: %s\n", command, e->text);
    return (int)e->status;
}

int history_judge(const struct history_request *r, FILE *out, FILE *err) {
    struct history h = {.err = err};
    struct report_error e = {0};
    enum report_status is = REPORT_OK;
    struct text md = {0}, line = {0};
    if (history_read(&h, r, &e) == REPORT_OK) {
        is = put_page(&h, r->threshold, &md);
        text_puts(&line,
                  "device,workload,mode,dtype,precision,weights,axes,role,night,timestamp,git_rev,"
                  "driver,toolchain,clock_mhz,temp_c,runs,median_us,base_us,recent_us,change_pct,"
                  "low_pct,high_pct,confidence,verdict,shape,since,starts\n");
        for (size_t i = 0; i < h.n; i++) put_timeline(&line, &h.all[i], r->threshold);
        fputs(md.p, out);
        write_text(r->folder, "nightly.md", &md, &e);
        write_text(r->folder, "timeline.csv", &line, &e);
    }
    text_free(&md);
    text_free(&line);
    history_free(&h);
    return e.status != REPORT_OK ? say_error("judge", &e, err) : (int)is;
}

int history_accept(const struct history_request *r, FILE *out, FILE *err) {
    struct history h = {.err = err};
    struct report_error e = {0};
    struct text path = {0}, name = {0};
    size_t n = 0;
    text_printf(&path, "%s/nightly", r->folder);
    if (history_read(&h, r, &e) == REPORT_OK) mkdir(path.p, 0777);
    text_puts(&path, "/accepted.csv");
    for (size_t i = 0; i < h.n && e.status == REPORT_OK; i++) {
        const struct series_of *s = &h.all[i];
        if (!s->n_measured || (r->workload && strcmp(r->workload, s->key->workload) != 0)) continue;
        const struct change *c = &s->is[s->n_measured - 1];
        if (c->verdict != CHANGE_SLOWER) continue;
        size_t from = c->shape == CHANGE_DRIFT ? s->n_measured - 1 : c->since;
        const char *cells[N_ACCEPTED];
        struct text night = {0};
        put_night(&night, s->nights[s->measured[from]].row);
        accepted_cells(s->key, night.p, cells);
        if (table_append(path.p, accepted_columns, N_ACCEPTED, cells, 1, NULL, &e) == REPORT_OK) {
            put_name(&name, s->key);
            fprintf(out, "accepted: %s, %+.1f %%, from %s on\n", name.p, percent(c->shift),
                    night.p);
            n++;
        }
        text_free(&name);
        text_free(&night);
    }
    if (e.status == REPORT_OK && !n) fputs("nothing is slower: nothing to accept\n", out);
    text_free(&path);
    history_free(&h);
    return say_error("accept", &e, err);
}
