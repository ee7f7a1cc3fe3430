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
    const struct result_brief **rows; /* in the order of time */
    size_t n_rows;
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
    bool *tonight;                   /* by the group's number: the newest night has one of it */
    const struct result_brief *last; /* a row of the newest night */
    struct accepted accepted;
    double threshold;
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
        h->first = memory_more(h->first, known, sizeof *h->first);
        h->first[number] = 0;
    }
    size_t *end = &h->first[number];
    for (; *end; end = &h->all[*end - 1].next)
        if (bench_same_key(h->all[*end - 1].key, row)) return &h->all[*end - 1];
    *end = h->n + 1;
    h->all = memory_more(h->all, h->n, sizeof *h->all);
    h->all[h->n] = (struct series_of){.key = row, .group = group_of(h, row)};
    return &h->all[h->n++];
}

/* Rows of one time. */
struct moment {
    const char *time;
    size_t number, n; /* n: rows, and then where the next of them goes */
};

/* What finds them by the time's text. */
struct moments {
    struct text_set times;
    struct moment *all;
    size_t *place; /* in all, by number */
};

static size_t moment_of(struct moments *m, const char *time) {
    size_t known = m->times.n, number;
    const char *kept = text_set_keep(&m->times, time, &number);
    if (number < known) return number;
    m->all = memory_more(m->all, known, sizeof *m->all);
    m->all[known] = (struct moment){kept, known, 0};
    return known;
}

static int by_time(const void *a, const void *b) {
    const struct moment *x = a, *y = b;
    return strcmp(x->time, y->time);
}

/* Sorts them, and makes room for the rows of each behind those of earlier ones. */
static void order_moments(struct moments *m) {
    size_t n = m->times.n, before = 0;
    m->place = memory_resize(NULL, n, sizeof *m->place);
    if (n) qsort(m->all, n, sizeof *m->all, by_time);
    for (size_t i = 0; i < n; i++) {
        size_t rows = m->all[i].n;
        m->place[m->all[i].number] = i;
        m->all[i].n = before;
        before += rows;
    }
}

/* All rows by their time; of one time, in the order of files and lines. */
static const struct result_brief **order_rows(const struct history *h, size_t *n) {
    struct moments m = {0};
    uint32_t *moments = NULL; /* of each row */
    size_t all = 0, at = 0;
    for (size_t f = 0; f < h->n_files; f++) all += h->files[f].n_briefs;
    moments = memory_resize(NULL, all, sizeof *moments);
    const struct result_brief **rows = memory_resize(NULL, all, sizeof *rows);
    for (size_t f = 0; f < h->n_files; f++) {
        const struct result_brief *r = h->files[f].briefs;
        for (size_t i = 0; i < h->files[f].n_briefs; i++, at++) {
            bool again = i && r[i].timestamp == r[i - 1].timestamp;
            moments[at] = again ? moments[at - 1] : (uint32_t)moment_of(&m, r[i].timestamp);
            m.all[moments[at]].n++;
        }
    }
    order_moments(&m);
    at = 0;
    for (size_t f = 0; f < h->n_files; f++)
        for (size_t i = 0; i < h->files[f].n_briefs; i++)
            rows[m.all[m.place[moments[at++]]].n++] = &h->files[f].briefs[i];
    free(m.all);
    free(m.place);
    text_set_free(&m.times);
    free(moments);
    *n = all;
    return rows;
}

static void add_rows(struct history *h) {
    size_t n;
    const struct result_brief **rows = order_rows(h, &n);
    for (size_t i = 0; i < n; i++) {
        struct series_of *s = find_series(h, rows[i]->like);
        s->rows = memory_more(s->rows, s->n_rows, sizeof *s->rows);
        s->rows[s->n_rows++] = rows[i];
    }
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
        const struct series_of *s = &h->all[i];
        if (night_same(s->rows[s->n_rows - 1]->run_id, h->last->run_id))
            h->tonight[s->group] = true;
    }
}

/* What is known of all its nights; of one series at a time there is room. */
static struct nights judge_series(const struct history *h, const struct series_of *s) {
    struct nights in = {0};
    for (size_t i = 0; i < s->n_rows; i++) nights_add(&in, s->rows[i]);
    nights_judge(&in, &h->accepted, h->threshold);
    return in;
}

static enum report_status history_read(struct history *h, const struct history_request *r,
                                       struct report_error *e) {
    struct row_choice choice = {.programs_alone = true, .file_from = ROW_INDEX_FROM};
    struct text notes = {0};
    if (row_index_read(r->folder, &choice, take_file, h, &notes, e) == REPORT_OK) {
        accepted_read(&h->accepted, r->folder, e);
        add_rows(h);
        if (!h->last) report_fail(e, REPORT_WRONG, "no results in '%s'", r->folder);
        h->threshold = r->threshold;
        find_tonight(h);
    }
    fputs(text_str(&notes), h->err);
    text_free(&notes);
    return e->status;
}

static void history_free(struct history *h) {
    for (size_t i = 0; i < h->n; i++) free(h->all[i].rows);
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

static enum state state_of(const struct history *h, const struct series_of *s,
                           const struct nights *in) {
    const struct night *last = &in->all[in->n - 1];
    if (night_same(last->row->run_id, h->last->run_id)) return last->runs ? MEASURED : BROKEN;
    return in->n_measured && h->tonight[s->group] ? LOST : ELSEWHERE;
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
            text_printf(md, " (%s -> %s)", before->row->like->driver, night->row->like->driver);
        if (!strcmp(night->why, "toolchain"))
            text_printf(md, " (%s -> %s)", before->row->like->toolchain,
                        night->row->like->toolchain);
    }
    if (clock)
        text_printf(md, "; the clock was %.0f MHz, now %.0f", nights_at(s, c->base_first)->clock,
                    night->clock);
    text_puts(md, " |\n");
}

/* ---- the time line --------------------------------------------------------------------------- */

static void put_timeline(struct text *t, const struct nights *s) {
    for (size_t m = 0; m < s->n_measured; m++) {
        const struct night *n = nights_at(s, m);
        const struct change *c = &s->is[m];
        const struct result_brief *b = n->row;
        const struct result_row *r = b->like;
        bool changed = nights_changed(s, m);
        struct text night = {0}, since = {0};
        put_night(&night, b->run_id);
        if (changed) put_night(&since, nights_at(s, c->since)->row->run_id);
        const char *const texts[] = {r->device,
                                     r->workload,
                                     r->mode,
                                     r->dtype,
                                     bench_precision(r),
                                     r->weights,
                                     r->axes,
                                     result_role_name(r->role),
                                     night.p,
                                     b->timestamp,
                                     b->git_rev,
                                     r->driver,
                                     r->toolchain};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            if (i) text_puts(t, ",");
            text_csv(t, texts[i]);
        }
        const double numbers[] = {
            n->clock,        b->temp_c,         (double)n->runs, nights_us(s, m),  exp(c->base),
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

/* ---- all of it ---------------------------------------------------------------------------- */

/* What is said of one series, and of all. */
struct said {
    struct text rows, missing, timeline;
    struct counts n;
};

static void said_free(struct said *s) {
    text_free(&s->rows);
    text_free(&s->missing);
    text_free(&s->timeline);
}

static void put_missing(const struct series_of *s, const struct nights *in, enum state is,
                        struct said *out) {
    const struct night *last = &in->all[in->n - 1];
    out->n.broken += is == BROKEN, out->n.lost += is == LOST;
    text_puts(&out->missing, is == LOST ? "* lost: " : "* BROKEN: ");
    put_name(&out->missing, s->key);
    if (is == BROKEN)
        text_printf(&out->missing, ": %s\n",
                    result_brief_measured(last->row) ? last->row->like->throttle
                                                     : result_status_name(last->row->status));
    else {
        text_puts(&out->missing, ", last measured in ");
        put_night(&out->missing, nights_at(in, in->n_measured - 1)->row->run_id);
        text_puts(&out->missing, "\n");
    }
}

static void say_series(const struct history *h, const struct series_of *s, struct said *out) {
    struct nights in = judge_series(h, s);
    enum state is = state_of(h, s, &in);
    if (is == MEASURED) put_measured(&out->rows, s->key, &in, &out->n);
    if (is == BROKEN || is == LOST) put_missing(s, &in, is, out);
    put_timeline(&out->timeline, &in);
    nights_free(&in);
}

static void add_counts(struct counts *all, const struct counts *n) {
    all->slower += n->slower, all->faster += n->faster, all->unsure += n->unsure;
    all->same += n->same, all->fresh += n->fresh, all->clock += n->clock;
    all->broken += n->broken, all->lost += n->lost;
}

enum { AT_ONCE = 64 }; /* series whose time lines are held: some 100 KB each of a year's nights */

/* All series, by all cores, in their order; the time line's part of it goes to a file, which may be
 * NULL. */
static void say_all(const struct history *h, struct said *all, FILE *timeline) {
    for (size_t first = 0; first < h->n; first += AT_ONCE) {
        struct said said[AT_ONCE] = {0};
        size_t n = h->n - first < AT_ONCE ? h->n - first : AT_ONCE;
#pragma omp parallel for schedule(dynamic)
        for (size_t i = 0; i < n; i++) say_series(h, &h->all[first + i], &said[i]);
        for (size_t i = 0; i < n; i++) {
            text_puts(&all->rows, text_str(&said[i].rows));
            text_puts(&all->missing, text_str(&said[i].missing));
            if (timeline) fputs(text_str(&said[i].timeline), timeline);
            add_counts(&all->n, &said[i].n);
            said_free(&said[i]);
        }
    }
}

static enum report_status put_page(const struct history *h, const struct said *said,
                                   struct text *md) {
    const struct counts *n = &said->n;
    const struct result_row *like = h->last->like;
    text_puts(md, "# Night ");
    put_night(md, h->last->run_id);
    text_printf(md, "\n\n%s, driver %s, %s, commit %s\n\n", like->device, like->driver,
                like->toolchain, h->last->git_rev);
    text_printf(
        md,
        "%zu slower, %zu faster, %zu unsure, %zu same, %zu new, %zu by the clock, %zu broken, "
        "%zu lost; threshold %g %%\n\n",
        n->slower, n->faster, n->unsure, n->same, n->fresh, n->clock, n->broken, n->lost,
        100 * h->threshold);
    if (said->missing.n) text_printf(md, "%s\n", said->missing.p);
    if (said->rows.n)
        text_printf(md,
                    "| benchmark | verdict | us | baseline us | last nights us | change (95 %%) | "
                    "confidence | |\n|---|---|---:|---:|---:|---:|---:|---|\n%s",
                    said->rows.p);
    if (n->broken || n->lost || h->damaged) return REPORT_WRONG;
    if (n->slower) return REPORT_SLOWER;
    return n->unsure ? REPORT_NOISY : REPORT_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Of nightly/, which is made. */
static FILE *begin_file(const char *folder, const char *name, struct text *path,
                        struct report_error *e) {
    text_printf(path, "%s/nightly", folder);
    mkdir(path->p, 0777); /* what fails here fails again below */
    text_printf(path, "/%s", name);
    FILE *f = fopen(path->p, "w");
    if (!f) report_fail(e, REPORT_MACHINE, "cannot write '%s': %s", path->p, strerror(errno));
    return f;
}

static void end_file(FILE *f, const char *path, struct report_error *e) {
    bool ok = !f || !ferror(f);
    if (f && fclose(f) != 0) ok = false;
    if (!ok) report_fail(e, REPORT_MACHINE, "cannot write '%s': %s", path, strerror(errno));
}

/* ---- the commands ---------------------------------------------------------------------------- */

static int say_error(const char *command, const struct report_error *e, FILE *err) {
    if (e->status != REPORT_OK) fprintf(err, "warpsmith nightly %s: %s\n", command, e->text);
    return (int)e->status;
}

static enum report_status say_history(const struct history *h, const char *folder, FILE *out,
                                      struct report_error *e) {
    struct said said = {0};
    struct text path = {0}, line_path = {0}, md = {0};
    FILE *page = begin_file(folder, "nightly.md", &path, e),
         *line = begin_file(folder, "timeline.csv", &line_path, e);
    if (line)
        fputs("device,workload,mode,dtype,precision,weights,axes,role,night,timestamp,git_rev,"
              "driver,toolchain,clock_mhz,temp_c,runs,median_us,base_us,recent_us,change_pct,"
              "low_pct,high_pct,confidence,verdict,shape,since,starts\n",
              line);
    say_all(h, &said, line);
    enum report_status is = put_page(h, &said, &md);
    fputs(md.p, out);
    if (page) fputs(md.p, page);
    end_file(page, path.p, e);
    end_file(line, line_path.p, e);
    text_free(&path);
    text_free(&line_path);
    text_free(&md);
    said_free(&said);
    return is;
}

int history_judge(const struct history_request *r, FILE *out, FILE *err) {
    struct history h = {.err = err};
    struct report_error e = {0};
    enum report_status is = REPORT_OK;
    if (history_read(&h, r, &e) == REPORT_OK) is = say_history(&h, r->folder, out, &e);
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
        const struct result_row *key = h.all[i].key;
        if (r->workload && strcmp(r->workload, key->workload) != 0) continue;
        struct nights s = judge_series(&h, &h.all[i]);
        const struct change *c = s.n_measured ? &s.is[s.n_measured - 1] : NULL;
        if (c && c->verdict == CHANGE_SLOWER) {
            size_t from = c->shape == CHANGE_DRIFT ? s.n_measured - 1 : c->since;
            const struct result_brief *row = nights_at(&s, from)->row;
            if (accepted_append(r->folder, row, &e) == REPORT_OK) {
                put_name(&name, key);
                put_night(&night, row->run_id);
                fprintf(out, "accepted: %s, %+.1f %%, from %s on\n", name.p, percent(c->shift),
                        night.p);
                n++;
            }
        }
        nights_free(&s);
        text_free(&name);
        text_free(&night);
    }
    if (e.status == REPORT_OK && !n) fputs("nothing is slower: nothing to accept\n", out);
    history_free(&h);
    return say_error("accept", &e, err);
}
