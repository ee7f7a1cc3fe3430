/* history.c: rows of many runs -> the nights of every benchmark -> a page and a time line. */
#include "reports/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/estimate.h"
#include "reports/row_index.h"

struct series_of {
    const struct result_row *key;
    struct nights in;
    size_t next;  /* 1-based: the next of all that differs in its weights alone; 0: none */
    size_t group; /* of those that are run together */
};

struct history {
    struct results *files;
    size_t n_files;
    struct series_of *all;
    size_t n;
    struct text_set
        keys;      /* of series, but for the weights, which may match without being the same */
    size_t *first; /* 1-based, by the key's number: the first of all that has it */
    struct text_set groups;
    bool *tonight;                 /* by the group's number: the newest night has one of it */
    const struct result_row *last; /* a row of the newest night */
    struct accepted accepted;
    bool damaged;
    FILE *err; /* where it says what it leaves out */
};

/* ---- reading --------------------------------------------------------------------------------- */

static void take_file(const char *path, struct results *r, const struct report_error *own,
                      void *context) {
    struct history *h = context;
    if (own->status != REPORT_OK) {
        fprintf(h->err, "left out: %s\n", own->text);
        h->damaged = true;
    }
    h->files = memory_resize(h->files, h->n_files + 1, sizeof *h->files);
    h->files[h->n_files++] = *r;
}

static int by_time(const void *a, const void *b) {
    const struct result_row *x = *(const struct result_row *const *)a,
                            *y = *(const struct result_row *const *)b;
    int order = strcmp(x->timestamp, y->timestamp);
    return order ? order : (x > y) - (x < y);
}

/* Number of texts in a set, in which equal ones are one. */
static size_t number_of(struct text_set *set, const char *const *texts, size_t n) {
    struct text key = {0};
    size_t number;
    for (size_t i = 0; i < n; i++) {
        text_puts(&key, texts[i]);
        text_write(&key, "\x1f", 1);
    }
    text_set_keep(set, text_str(&key), &number);
    text_free(&key);
    return number;
}

static size_t group_of(struct history *h, const struct result_row *r) {
    const char *const texts[] = {r->workload, r->device, r->mode, r->dtype, bench_precision(r)};
    return number_of(&h->groups, texts, sizeof texts / sizeof *texts);
}

static struct series_of *find_series(struct history *h, const struct result_row *row) {
    const char *const texts[] = {row->workload,
                                 row->device,
                                 row->mode,
                                 row->dtype,
                                 bench_precision(row),
                                 row->axes,
                                 result_role_name(row->role)};
    size_t known = h->keys.n, number = number_of(&h->keys, texts, sizeof texts / sizeof *texts);
    if (number == known) {
        if ((known & (known - 1)) == 0) /* a power of two, or 0: full */
            h->first = memory_resize(h->first, known ? 2 * known : 1, sizeof *h->first);
        h->first[number] = 0;
    }
    size_t *end = &h->first[number];
    for (; *end; end = &h->all[*end - 1].next)
        if (bench_same_key(h->all[*end - 1].key, row)) return &h->all[*end - 1];
    *end = h->n + 1;
    if ((h->n & (h->n - 1)) == 0)
        h->all = memory_resize(h->all, h->n ? 2 * h->n : 1, sizeof *h->all);
    h->all[h->n] = (struct series_of){.key = row, .group = group_of(h, row)};
    return &h->all[h->n++];
}

static void add_rows(struct history *h) {
    const struct result_row **rows = NULL;
    size_t n = 0;
    for (size_t f = 0; f < h->n_files; f++) {
        rows = memory_resize(rows, n + h->files[f].n, sizeof *rows);
        for (size_t i = 0; i < h->files[f].n; i++) {
            const struct result_row *r = &h->files[f].rows[i];
            if (nights_have(r)) rows[n++] = r;
        }
    }
    if (n) qsort(rows, n, sizeof *rows, by_time);
    for (size_t i = 0; i < n; i++) nights_add(&find_series(h, rows[i])->in, rows[i]);
    if (n) h->last = rows[n - 1];
    free(rows);
}

/* ---- judging --------------------------------------------------------------------------------- */

static double recent_us(const struct nights *s, size_t m) {
    double us[HISTORY_RECENT];
    size_t n = 0;
    for (; n < HISTORY_RECENT && n < m; n++) us[n] = nights_us(s, m - 1 - n);
    return median_time(us, n);
}

static void find_tonight(struct history *h) {
    h->tonight = memory_resize(NULL, h->groups.n + 1, sizeof *h->tonight);
    memset(h->tonight, 0, (h->groups.n + 1) * sizeof *h->tonight);
    for (size_t i = 0; i < h->n; i++) {
        const struct nights *in = &h->all[i].in;
        if (night_same(in->all[in->n - 1].row, h->last)) h->tonight[h->all[i].group] = true;
    }
}

static enum report_status history_read(struct history *h, const struct history_request *r,
                                       struct report_error *e) {
    struct row_choice choice = {.programs_alone = true, .file_from = ROW_INDEX_FROM};
    struct text notes = {0};
    if (row_index_read(r->folder, &choice, take_file, h, &notes, e) == REPORT_OK) {
        accepted_read(&h->accepted, r->folder, e);
        add_rows(h);
        if (!h->last) report_fail(e, REPORT_WRONG, "no results in '%s'", r->folder);
        for (size_t i = 0; i < h->n; i++) nights_judge(&h->all[i].in, &h->accepted, r->threshold);
        find_tonight(h);
    }
    fputs(text_str(&notes), h->err);
    text_free(&notes);
    return e->status;
}

static void history_free(struct history *h) {
    for (size_t i = 0; i < h->n; i++) nights_free(&h->all[i].in);
    for (size_t i = 0; i < h->n_files; i++) results_free(&h->files[i]);
    free(h->files);
    free(h->all);
    free(h->first);
    free(h->tonight);
    text_set_free(&h->keys);
    text_set_free(&h->groups);
    accepted_free(&h->accepted);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static double percent(double log_ratio) { return 100 * expm1(log_ratio); }

/* In the newest night: measured; there, but not measured; or lost: its workload was run in the same
 * type and mode on its device, and it was measured at some earlier time. */
enum state { ELSEWHERE, MEASURED, BROKEN, LOST };

static enum state state_of(const struct history *h, const struct series_of *s) {
    const struct night *last = &s->in.all[s->in.n - 1];
    if (night_same(last->row, h->last)) return last->runs ? MEASURED : BROKEN;
    return s->in.n_measured && h->tonight[s->group] ? LOST : ELSEWHERE;
}

static void put_name(struct text *t, const struct result_row *k) {
    text_printf(t, "%s %s ", k->workload, k->mode);
    bench_type(t, k);
    text_printf(t, " %s %s", k->axes, result_role_shown(k->role));
}

struct counts {
    size_t slower, faster, unsure, same, fresh, broken, lost, clock;
};

static void put_measured(struct text *md, const struct result_row *key, const struct nights *s,
                         struct counts *n) {
    size_t m = s->n_measured - 1;
    const struct change *c = &s->is[m];
    const struct night *night = nights_at(s, m);
    bool clock = nights_by_clock(s, m);
    n->clock += clock;
    n->slower += c->verdict == CHANGE_SLOWER && !clock;
    n->faster += c->verdict == CHANGE_FASTER;
    n->unsure += c->verdict == CHANGE_UNSURE;
    n->same += c->verdict == CHANGE_SAME;
    n->fresh += c->verdict == CHANGE_NEW;
    text_puts(md, "| ");
    put_name(md, key);
    text_printf(md, " | %s | %.2f |", nights_verdict(s, m), nights_us(s, m));
    if (isfinite(c->base))
        text_printf(md, " %.2f | %.2f | %+.1f %% (%+.1f to %+.1f) | %.2f %% |", exp(c->base),
                    recent_us(s, m), percent(c->shift), percent(c->low), percent(c->high),
                    floor(1e4 * c->confidence) / 100);
    else
        text_puts(md, " | | | |");
    text_puts(md, " ");
    if (nights_changed(s, m)) put_since(md, s, m);
    if (night->why && m) {
        const struct night *before = nights_at(s, m - 1);
        text_printf(md, "%s: %+.1f %% against the night before, which is not judged", night->why,
                    percent(log(nights_us(s, m) / nights_us(s, m - 1))));
        if (!strcmp(night->why, "driver"))
            text_printf(md, " (%s -> %s)", before->row->driver, night->row->driver);
        if (!strcmp(night->why, "toolchain"))
            text_printf(md, " (%s -> %s)", before->row->toolchain, night->row->toolchain);
    }
    if (clock)
        text_printf(md, "; the clock was %.0f MHz, now %.0f", nights_at(s, c->base_first)->clock,
                    night->clock);
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
        if (is == MEASURED) put_measured(&rows, s->key, &s->in, &n);
        if (is != BROKEN && is != LOST) continue;
        const struct night *last = &s->in.all[s->in.n - 1];
        n.broken += is == BROKEN, n.lost += is == LOST;
        text_puts(&missing, is == LOST ? "* lost: " : "* BROKEN: ");
        put_name(&missing, s->key);
        if (is == BROKEN)
            text_printf(&missing, ": %s\n",
                        result_row_measured(last->row) ? last->row->throttle
                                                       : result_status_name(last->row->status));
        else {
            text_puts(&missing, ", last measured in ");
            put_night(&missing, nights_at(&s->in, s->in.n_measured - 1)->row);
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

static void put_timeline(struct text *t, const struct nights *s) {
    for (size_t m = 0; m < s->n_measured; m++) {
        const struct night *n = nights_at(s, m);
        const struct change *c = &s->is[m];
        const struct result_row *r = n->row;
        bool changed = nights_changed(s, m);
        struct text night = {0}, since = {0};
        put_night(&night, r);
        if (changed) put_night(&since, nights_at(s, c->since)->row);
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
            n->clock,        r->temp_c,         (double)n->runs, nights_us(s, m),  exp(c->base),
            recent_us(s, m), percent(c->shift), percent(c->low), percent(c->high), c->confidence};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            text_puts(t, ",");
            text_csv_number(t, numbers[i]);
        }
        text_printf(t, ",%s,%s,%s,%d\n", nights_verdict(s, m),
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
        for (size_t i = 0; i < h.n; i++) put_timeline(&line, &h.all[i].in);
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
    struct text night = {0}, name = {0};
    size_t n = 0;
    history_read(&h, r, &e);
    for (size_t i = 0; i < h.n && e.status == REPORT_OK; i++) {
        const struct nights *s = &h.all[i].in;
        const struct result_row *key = h.all[i].key;
        if (!s->n_measured || (r->workload && strcmp(r->workload, key->workload) != 0)) continue;
        const struct change *c = &s->is[s->n_measured - 1];
        if (c->verdict != CHANGE_SLOWER) continue;
        size_t from = c->shape == CHANGE_DRIFT ? s->n_measured - 1 : c->since;
        if (accepted_append(r->folder, nights_at(s, from)->row, &e) == REPORT_OK) {
            put_name(&name, key);
            put_night(&night, nights_at(s, from)->row);
            fprintf(out, "accepted: %s, %+.1f %%, from %s on\n", name.p, percent(c->shift),
                    night.p);
            n++;
        }
        text_free(&name);
        text_free(&night);
    }
    if (e.status == REPORT_OK && !n) fputs("nothing is slower: nothing to accept\n", out);
    history_free(&h);
    return say_error("accept", &e, err);
}
