/* merge.c: row by row, by hashes: rows of the inputs that the folder has not, behind what it has.
 *
 * Of each row, 40 bytes are kept while its file is merged. Sorted by measurement and row, equal rows stand side by side,
 * and how often each file has one is counted. */
#define _GNU_SOURCE /* basename that does not write */
#include "reports/merge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "reports/csv_table.h"
#include "reports/results.h"

struct source {
    char *path;
    const char *name; /* within path */
    size_t rank;      /* in the order of the call */
    int schema;
    size_t rows;
    uint64_t whole; /* where its whole rows end */
};

struct entry {
    uint64_t measurement;
    XXH128_hash_t row;
    uint32_t source, number, line;
};

/* All files of one name, that of the folder first if it is there. */
struct merging {
    const struct merge_request *request;
    struct text *notes;
    struct source *sources;
    size_t n_sources;
    bool has_target;
    struct entry *entries;
    size_t n, cap;
    struct text cells; /* of the row at hand */
    size_t n_conflicts;
};

/* A new file beside the one that it will replace. */
struct ready {
    char *path, *part;
    struct table_file target; /* locked; fd -1: there is none yet */
};

struct all_ready {
    struct ready *at;
    size_t n, n_conflicts;
};

/* ---- the inputs ------------------------------------------------------------------------------ */

struct inputs {
    struct source *at;
    size_t n;
    bool of_folder; /* of an input that is a folder, where other tables may lie, too */
    struct text *notes;
};

static void find_schema(const struct table_row *header, void *context, struct report_error *e) {
    bool *found = context;
    for (size_t i = 0; i < header->n; i++) *found |= strcmp(header->cells[i], "schema") == 0;
    report_fail(e, REPORT_USAGE, "the header is enough");
}

/* What cannot be read is said when its rows are. */
static bool is_foreign(const char *path) {
    struct report_error e = {0};
    struct table_file f;
    struct text warnings = {0};
    bool found = false;
    if (table_open(path, &f, &e) != REPORT_OK) return false;
    table_scan(&f, &(struct table_place){0, 1}, UINT64_MAX, find_schema, &found, &warnings, &e);
    table_close(&f);
    text_free(&warnings);
    return e.status == REPORT_USAGE && !found;
}

static void add_source(const char *path, void *context) {
    struct inputs *in = context;
    if (in->of_folder && is_foreign(path)) {
        text_printf(in->notes, "'%s' is no result file: left out\n", path);
        return;
    }
    in->at = memory_resize(in->at, in->n + 1, sizeof *in->at);
    char *own = strdup(path);
    in->at[in->n] = (struct source){.path = own, .name = basename(own), .rank = in->n};
    in->n++;
}

static enum report_status list_inputs(const struct merge_request *r, struct inputs *in,
                                      struct report_error *e) {
    for (size_t i = 0; i < r->n && e->status == REPORT_OK; i++) {
        struct stat st;
        in->of_folder = stat(r->inputs[i], &st) == 0 && S_ISDIR(st.st_mode);
        if (in->of_folder)
            results_in_folder(r->inputs[i], add_source, in, e);
        else if (access(r->inputs[i], R_OK) != 0)
            report_fail(e, errno == ENOENT ? REPORT_USAGE : REPORT_WRONG, "cannot read '%s': %s",
                        r->inputs[i], strerror(errno));
        else
            add_source(r->inputs[i], in);
    }
    return e->status;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct merging *m;
    uint32_t source, number; /* of the row */
    struct result_reader reader;
    const unsigned char *chosen; /* by number: which rows to write; NULL: note them all */
    struct text *out;
};

/* What a measurement is known by. Two rows of one are no two measurements. */
static uint64_t measurement_of(struct text *t, const struct result_row *r) {
    const char *const words[] = {r->run_id,    r->host,
                                 r->device,    r->workload,
                                 r->mode,      r->dtype,
                                 r->precision, r->weights,
                                 r->axes,      r->graph,
                                 r->kernel,    r->guard,
                                 r->config,    result_role_name(r->role)};
    t->n = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        text_write(t, words[i], strlen(words[i]) + 1);
    return XXH3_64bits(t->p, t->n);
}

/* The row as it would be written, whatever the order of the columns. */
static void put_row(struct text *out, const struct result_reader *reader,
                    const struct table_row *row) {
    const char *cells[RESULT_COLUMNS];
    size_t n = result_reader_columns(reader);
    for (size_t c = 0; c < n; c++) cells[c] = row->cells[reader->position[c]];
    table_put_row(out, cells, n);
}

static void note_row(struct reading *r, const struct table_row *row,
                     const struct result_row *result) {
    struct merging *m = r->m;
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 1024;
        m->entries = memory_resize(m->entries, m->cap, sizeof *m->entries);
    }
    m->sources[r->source].rows++;
    struct entry *x = &m->entries[m->n++];
    *x = (struct entry){.source = r->source, .number = r->number, .line = (uint32_t)row->line};
    x->measurement = measurement_of(&m->cells, result);
    m->cells.n = 0;
    put_row(&m->cells, &r->reader, row);
    x->row = XXH3_128bits(m->cells.p, m->cells.n);
}

static void on_row(const struct table_row *row, void *context, struct report_error *e) {
    struct reading *r = context;
    struct source *s = &r->m->sources[r->source];
    struct result_row result;
    bool taken = result_reader_take(&r->reader, row, &result, e);
    if (r->reader.schema) s->schema = result_reader_schema(&r->reader);
    if (!taken) return;
    if (!r->chosen)
        note_row(r, row, &result);
    else if (r->chosen[r->number])
        put_row(r->out, &r->reader, row);
    r->number++;
}

/* All of a source, or, the second time, up to where it ended then. */
static void read_source(struct reading *r, const struct table_file *f, uint64_t end,
                        struct report_error *e) {
    struct source *s = &r->m->sources[r->source];
    struct text warnings = {0};
    struct table_place at = {0, 1};
    r->reader = (struct result_reader){.path = s->path, .warnings = &warnings};
    r->number = 0;
    table_scan(f, &at, end, on_row, r, &warnings, e);
    s->whole = at.offset;
    if (!r->chosen && warnings.n) text_printf(r->m->notes, "'%s': %s", s->path, warnings.p);
    text_free(&warnings);
}

/* ---- which rows are new ---------------------------------------------------------------------- */

#define ORDER(x, y) (((x) > (y)) - ((x) < (y)))

static int by_row(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = ORDER(x->measurement, y->measurement);
    if (!order) order = ORDER(x->row.high64, y->row.high64);
    if (!order) order = ORDER(x->row.low64, y->row.low64);
    if (!order) order = ORDER(x->source, y->source);
    return order ? order : ORDER(x->number, y->number);
}

static bool same_row(const struct entry *x, const struct entry *y) {
    return x->measurement == y->measurement && XXH128_isEqual(x->row, y->row);
}

static bool is_target(const struct merging *m, const struct entry *x) {
    return m->has_target && x->source == 0;
}

/* Of n equal rows, those to be written are marked in chosen[source]; returns as how many rows they count. */
static size_t choose_equal(const struct merging *m, const struct entry *x, size_t n,
                           unsigned char **chosen) {
    size_t had = 0, most = 0, from = 0;
    while (had < n && is_target(m, &x[had])) had++;
    if (m->request->apart) {
        for (size_t i = had + had; i < n; i++) chosen[x[i].source][x[i].number] = 1;
        return n - had > had ? n - had : had;
    }
    for (size_t i = had, end; i < n; i = end) { /* the file that has it most often */
        for (end = i; end < n && x[end].source == x[i].source;) end++;
        if (end - i > most) most = end - i, from = i;
    }
    for (size_t i = had; i < most; i++) chosen[x[from + i].source][x[from + i].number] = 1;
    return most > had ? most : had;
}

enum { CONFLICTS_SAID = 10 };

/* The first row of x's measurement that the source of `not_in` has not, or NULL. */
static const struct entry *first_alone(const struct entry *x, size_t n, uint32_t of,
                                       uint32_t not_in) {
    for (size_t i = 0; i < n; i++) {
        bool there = x[i].source != of;
        for (size_t j = 0; j < n && !there; j++)
            there = x[j].source == not_in && same_row(&x[i], &x[j]);
        if (!there) return &x[i];
    }
    return NULL;
}

/* Two files of which neither has all rows of the measurement that the other has. */
static void say_conflict(struct merging *m, const struct entry *x, size_t n) {
    if (m->n_conflicts++ >= CONFLICTS_SAID) return;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (x[i].source >= x[j].source) continue;
            const struct entry *a = first_alone(x, n, x[i].source, x[j].source);
            const struct entry *b = first_alone(x, n, x[j].source, x[i].source);
            if (!a || !b) continue;
            text_printf(m->notes, "'%s' line %u and '%s' line %u: one measurement, other numbers\n",
                        m->sources[a->source].path, a->line, m->sources[b->source].path, b->line);
            return;
        }
    text_printf(m->notes, "'%s' line %u: its measurement is in parts in several files\n",
                m->sources[x->source].path, x->line);
}

static size_t rows_of(const struct entry *x, size_t n, uint32_t source) {
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) rows += x[i].source == source;
    return rows;
}

/* Rows of one measurement. A file that has them all is the whole of it. */
static void choose_measurement(struct merging *m, const struct entry *x, size_t n,
                               unsigned char **chosen) {
    size_t all = 0, most = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && same_row(&x[i], &x[end]);) end++;
        all += choose_equal(m, x + i, end - i, chosen);
    }
    if (m->request->apart) return;
    for (size_t i = 0; i < n && most < all; i++) {
        size_t rows = rows_of(x, n, x[i].source);
        if (rows > most) most = rows;
    }
    if (most < all) say_conflict(m, x, n);
}

static void choose_rows(struct merging *m, unsigned char **chosen) {
    qsort(m->entries, m->n, sizeof *m->entries, by_row);
    for (size_t i = 0, end; i < m->n; i = end) {
        for (end = i; end < m->n && m->entries[end].measurement == m->entries[i].measurement;)
            end++;
        choose_measurement(m, m->entries + i, end - i, chosen);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_all(int fd, const char *path, const char *p, size_t n, struct report_error *e) {
    while (n && e->status == REPORT_OK) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0)
            report_fail(e, REPORT_MACHINE, "cannot write '%s': %s; nothing was merged", path,
                        strerror(errno));
        if (done > 0) p += done, n -= (size_t)done;
    }
}

/* The file that takes the target's place: what that has, then the chosen rows. */
static void write_part(struct merging *m, struct ready *to, unsigned char **chosen,
                       struct report_error *e) {
    int fd = open(to->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        report_fail(e, REPORT_MACHINE, "cannot make '%s': %s; nothing was merged", to->part,
                    strerror(errno));
        return;
    }
    flock(fd, LOCK_EX | LOCK_NB); /* it has an owner: remove_stale */
    struct text out = {0};
    bool header = !m->has_target || m->sources[0].whole == 0;
    if (m->has_target) table_copy(&to->target, m->sources[0].whole, fd, e);
    for (uint32_t s = m->has_target; s < m->n_sources && e->status == REPORT_OK; s++) {
        struct reading r = {.m = m, .source = s, .chosen = chosen[s], .out = &out};
        struct table_file f;
        if (table_open(m->sources[s].path, &f, e) != REPORT_OK) continue;
        read_source(&r, &f, m->sources[s].whole, e);
        if (header && out.n) {
            struct text names = {0};
            result_put_header(&names, m->sources[s].schema);
            write_all(fd, to->part, names.p, names.n, e);
            text_free(&names);
            header = false;
        }
        write_all(fd, to->part, text_str(&out), out.n, e);
        out.n = 0;
        table_close(&f);
    }
    text_free(&out);
    if (e->status == REPORT_OK && fsync(fd) != 0)
        report_fail(e, REPORT_MACHINE, "cannot write '%s': %s; nothing was merged", to->part,
                    strerror(errno));
    close(fd);
}

/* What a process that was killed while it merged has left. */
static void remove_stale(const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *x; dir && (x = readdir(dir));) {
        if (!strstr(x->d_name, ".csv.part-")) continue;
        struct text path = {0};
        text_printf(&path, "%s/%s", folder, x->d_name);
        int fd = open(path.p, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(path.p);
        if (fd >= 0) close(fd);
        text_free(&path);
    }
    if (dir) closedir(dir);
}

/* All files are whole: each takes its place. */
static void replace(struct ready *to, struct report_error *e) {
    int rc = to->target.fd >= 0 ? rename(to->part, to->path) : link(to->part, to->path);
    if (rc != 0)
        report_fail(e, REPORT_MACHINE, "cannot make '%s': %s; merge again", to->path,
                    strerror(errno));
}

static void close_ready(struct ready *to) {
    unlink(to->part);
    table_close(&to->target);
    free(to->path);
    free(to->part);
}

/* ---- the files of one name ------------------------------------------------------------------- */

static void check_schemas(const struct merging *m, struct report_error *e) {
    const struct source *first = NULL;
    for (size_t i = 0; i < m->n_sources; i++) {
        const struct source *s = &m->sources[i];
        if (!s->schema) continue; /* an empty file */
        if (!first) first = s;
        if (s->schema != first->schema)
            report_fail(e, REPORT_WRONG,
                        "'%s' is of schema %d and '%s' of %d: merge files of one schema; nothing "
                        "was merged",
                        first->path, first->schema, s->path, s->schema);
    }
}

static void read_sources(struct merging *m, const struct ready *to, struct report_error *e) {
    for (uint32_t s = 0; s < m->n_sources && e->status == REPORT_OK; s++) {
        struct reading r = {.m = m, .source = s};
        struct table_file own;
        bool target = m->has_target && s == 0;
        if (!target && table_open(m->sources[s].path, &own, e) != REPORT_OK) return;
        read_source(&r, target ? &to->target : &own, UINT64_MAX, e);
        if (!target) table_close(&own);
    }
    check_schemas(m, e);
}

/* Its new file is written beside it, if it needs one. */
static bool merge_name(struct merging *m, struct ready *to, struct merged *out,
                       struct report_error *e) {
    size_t n_chosen = 0, n_inputs = 0;
    read_sources(m, to, e);
    if (e->status != REPORT_OK) return false;
    unsigned char **chosen = memory_resize(NULL, m->n_sources, sizeof *chosen);
    for (uint32_t s = 0; s < m->n_sources; s++) {
        size_t rows = m->sources[s].rows;
        chosen[s] = memory_resize(NULL, rows + 1, 1);
        memset(chosen[s], 0, rows + 1);
        if (!m->has_target || s) n_inputs += rows;
    }
    choose_rows(m, chosen);
    for (size_t i = 0; i < m->n; i++)
        n_chosen += chosen[m->entries[i].source][m->entries[i].number];
    out->n_new += n_chosen;
    out->n_old += n_inputs - n_chosen;
    bool writes = n_chosen && !m->n_conflicts;
    if (writes) write_part(m, to, chosen, e);
    for (size_t s = 0; s < m->n_sources; s++) free(chosen[s]);
    free(chosen);
    return writes;
}

/* The folder's file of this name is opened, after what a killed writer has left of a row is out of the way. */
static void open_target(struct ready *to, struct text *notes, struct report_error *e) {
    struct text own = {0};
    to->target.fd = -1;
    if (access(to->path, F_OK) == 0 && result_append(to->path, NULL, 0, &own, e) == REPORT_OK)
        table_open_alone(to->path, &to->target, e);
    text_puts(notes, text_str(&own));
    text_free(&own);
}

/* The folder may be one of its inputs: it has its rows. */
static bool is_target_file(const struct ready *to, const char *path) {
    struct stat target, own;
    return to->target.fd >= 0 && fstat(to->target.fd, &target) == 0 && stat(path, &own) == 0 &&
           target.st_ino == own.st_ino && target.st_dev == own.st_dev;
}

static int by_name(const void *a, const void *b) {
    const struct source *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : ORDER(x->rank, y->rank);
}

/* The sources have one name. What is to take the place of the folder's is added to *ready. */
static void merge_files(const struct merge_request *r, const struct source *sources, size_t n,
                        struct all_ready *ready, struct merged *out, struct text *notes,
                        struct report_error *e) {
    struct text path = {0}, part = {0};
    text_printf(&path, "%s/%s", r->folder, sources->name);
    text_printf(&part, "%s.part-%ld", path.p, (long)getpid());
    struct ready to = {.path = path.p, .part = part.p};
    open_target(&to, notes, e);
    struct merging m = {.request = r, .notes = notes, .has_target = to.target.fd >= 0};
    m.sources = memory_resize(NULL, n + 1, sizeof *m.sources);
    if (m.has_target) m.sources[m.n_sources++] = (struct source){.path = to.path};
    for (size_t i = 0; i < n; i++)
        if (!is_target_file(&to, sources[i].path)) m.sources[m.n_sources++] = sources[i];
    bool writes = e->status == REPORT_OK && merge_name(&m, &to, out, e);
    ready->n_conflicts += m.n_conflicts;
    if (m.n_conflicts > CONFLICTS_SAID)
        text_printf(notes, "%s: %zu more\n", sources->name, m.n_conflicts - CONFLICTS_SAID);
    free(m.sources);
    free(m.entries);
    text_free(&m.cells);
    if (writes && e->status == REPORT_OK) {
        ready->at = memory_resize(ready->at, ready->n + 1, sizeof *ready->at);
        ready->at[ready->n++] = to;
    } else {
        close_ready(&to);
    }
}

enum report_status merge_results(const struct merge_request *r, struct merged *out,
                                 struct text *notes, struct report_error *e) {
    struct inputs in = {.notes = notes};
    struct all_ready ready = {0};
    *out = (struct merged){0};
    list_inputs(r, &in, e);
    remove_stale(r->folder);
    if (in.n) qsort(in.at, in.n, sizeof *in.at, by_name);
    for (size_t i = 0, end; i < in.n && e->status == REPORT_OK; i = end) {
        for (end = i; end < in.n && !strcmp(in.at[end].name, in.at[i].name);) end++;
        merge_files(r, in.at + i, end - i, &ready, out, notes, e);
    }
    if (ready.n_conflicts)
        report_fail(e, REPORT_WRONG,
                    "%zu conflict%s: nothing was merged; leave one of the files out",
                    ready.n_conflicts, ready.n_conflicts == 1 ? "" : "s");
    for (size_t i = 0; i < ready.n && e->status == REPORT_OK; i++) replace(&ready.at[i], e);
    out->n_files = ready.n;
    for (size_t i = 0; i < ready.n; i++) close_ready(&ready.at[i]);
    for (size_t i = 0; i < in.n; i++) free(in.at[i].path);
    free(in.at);
    free(ready.at);
    return e->status;
}
