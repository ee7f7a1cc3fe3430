/* side.c: files and folders, and a run of each -> rows of each benchmark, one a run.
 *
 *   before/   run N.1 softmax tuned 36.9          softmax tuned   {36.9, 37.1}
 *             run N.2 softmax tuned 37.1    ->    softmax default {41.0}
 *             run N.2 softmax default 41.0 */
#include "reports/side.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/nights.h"

static const char *const ALL = "all"; /* runs */

/* ---- rows ------------------------------------------------------------------------------------ */

static void take_row(struct side *s, const struct result_row *row) {
    size_t known = s->benches.n, i = (size_t)(benches_add_row(&s->benches, row) - s->benches.all);
    if (i == known) {
        s->runs = memory_more(s->runs, known, sizeof *s->runs);
        memset(&s->runs[i], 0, sizeof s->runs[i]);
    }
    struct runs *of = &s->runs[i][row->role];
    of->rows = memory_more(of->rows, of->n, sizeof *of->rows);
    of->rows[of->n++] = row;
}

static bool is_of_run(const struct result_row *row, const char *run) {
    if (run == ALL || !strcmp(row->run_id, run)) return true;
    struct text night = {0};
    put_night(&night, row->run_id);
    bool is = !strcmp(text_str(&night), run);
    text_free(&night);
    return is;
}

static size_t take_runs(struct side *s, const struct results *r, const char *run) {
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (!nights_have(&r->rows[i]) || !is_of_run(&r->rows[i], run)) continue;
        take_row(s, &r->rows[i]);
        n++;
    }
    return n;
}

static size_t take_benches(struct side *s, const struct benches *b) {
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        for (int role = 0; role < ROLE_COUNT; role++) {
            const struct result_row *row = b->all[i].role[role];
            if (!row || !nights_have(row)) continue;
            take_row(s, row);
            n++;
        }
    return n;
}

static int by_run(const void *a, const void *b) {
    const struct result_row *x = *(const struct result_row *const *)a,
                            *y = *(const struct result_row *const *)b;
    int order = strcmp(x->run_id, y->run_id);
    if (!order) order = strcmp(x->timestamp, y->timestamp);
    return order ? order : (x > y) - (x < y);
}

/* Of two rows of a run the newer counts. */
static void one_of_each_run(struct runs *r) {
    size_t kept = 0;
    if (r->n) qsort(r->rows, r->n, sizeof *r->rows, by_run);
    for (size_t i = 0; i < r->n; i++)
        if (i + 1 == r->n || strcmp(r->rows[i]->run_id, r->rows[i + 1]->run_id) != 0)
            r->rows[kept++] = r->rows[i];
    r->n = kept;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A path may contain '@': a run follows the last one unless there is something of the whole name.
 */
static char *split_run(const char *given, const char **run) {
    size_t n = strlen(given);
    char *path = memory_resize(NULL, n + 1, 1);
    memcpy(path, given, n + 1);
    struct stat is;
    char *at = stat(path, &is) == 0 ? NULL : strrchr(path, '@');
    *run = at ? at + 1 : NULL;
    if (at) *at = 0;
    return path;
}

struct reading {
    struct side *side;
    const char *run;
    FILE *err;
    size_t n; /* rows that count */
};

/* Rows stay where they are when there are more files. */
static struct results *add_file(struct side *s) {
    s->files = memory_resize(s->files, s->n_files + 1, sizeof *s->files);
    s->files[s->n_files] = (struct results){0};
    return &s->files[s->n_files++];
}

static void read_of_folder(const char *path, void *context) {
    struct reading *reading = context;
    struct report_error own = {0};
    struct results *r = add_file(reading->side);
    if (results_read(path, r, &own) == REPORT_OK) {
        fputs(text_str(&r->table.warnings), reading->err);
        reading->n += take_runs(reading->side, r, reading->run);
    } else {
        fprintf(reading->err, "left out: %s\n", own.text);
        reading->side->damaged = true;
    }
}

/* Of one file: its newest rows, or those of a run that is called last or prev. */
static size_t take_newest(struct side *s, const struct results *r, const char *run) {
    struct benches b = {0};
    const char *last = run ? run_find(r, "last") : NULL;
    if (!run || (last && !strcmp(run, "last")))
        benches_add(&b, r, last);
    else if (last)
        benches_add_before(&b, r, last);
    size_t n = take_benches(s, &b);
    benches_free(&b);
    return n;
}

static enum report_status read_one(struct side *s, const char *given, FILE *err,
                                   struct report_error *e) {
    struct reading reading = {.side = s, .err = err};
    struct stat is;
    char *path = split_run(given, &reading.run);
    const char *run = reading.run;
    bool folder = stat(path, &is) == 0 && S_ISDIR(is.st_mode);
    bool newest = run && (!strcmp(run, "last") || !strcmp(run, "prev"));
    if (run && !strcmp(run, ALL)) run = ALL;
    if (folder && newest) {
        report_fail(e, REPORT_USAGE, "the %s: '%s' is of one file, and '%s' is a folder", s->name,
                    run, path);
    } else if (folder) {
        reading.run = run ? run : ALL;
        results_in_folder(path, read_of_folder, &reading, e);
    } else {
        struct results *r = add_file(s);
        if (results_read(path, r, e) == REPORT_OK) {
            fputs(text_str(&r->table.warnings), err);
            if (!run && s->n_given > 1) run = ALL;
            reading.n = run && !newest ? take_runs(s, r, run) : take_newest(s, r, run);
        }
    }
    if (e->status == REPORT_OK && !reading.n && run && run != ALL)
        report_fail(e, REPORT_USAGE, "the %s: '%s' has no run '%s'%s", s->name, path, run,
                    !strcmp(run, "prev") ? " (nothing of the last run was measured before)" : "");
    free(path);
    return e->status;
}

enum report_status side_read(struct side *s, FILE *err, struct report_error *e) {
    for (size_t i = 0; i < s->n_given; i++)
        if (read_one(s, s->given[i], err, e) != REPORT_OK) return e->status;
    for (size_t i = 0; i < s->benches.n; i++)
        for (int role = 0; role < ROLE_COUNT; role++) one_of_each_run(&s->runs[i][role]);
    return REPORT_OK;
}

void side_free(struct side *s) {
    for (size_t i = 0; i < s->benches.n; i++)
        for (int role = 0; role < ROLE_COUNT; role++) free(s->runs[i][role].rows);
    free(s->runs);
    benches_free(&s->benches);
    for (size_t i = 0; i < s->n_files; i++) results_free(&s->files[i]);
    free(s->files);
}

const struct runs *side_runs(const struct side *s, const struct result_row *key,
                             enum result_role role) {
    struct benches find = s->benches; /* which remembers what was found last */
    const struct bench *b = benches_find(&find, key);
    return b ? &s->runs[b - s->benches.all][role] : NULL;
}
