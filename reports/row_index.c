/* row_index.c: the only file of reports/ that knows SQLite. Result files -> spans of rows.
 *
 * A span is rows that follow each other and are of one kind, benchmark and run:
 *
 *   line 2  run A  softmax f32 variant x=1     span {line 2, 2 rows, softmax f32, A, variants}
 *   line 3  run A  softmax f32 variant x=2
 *   line 4  run A  softmax f32 program tuned   span {line 4, 1 row, softmax f32, A, programs}
 *
 * What the index does not know is read by all cores, a file each. One reading of a folder is one
 * transaction, so that a killed one leaves the index as it was, and two at once wait for each
 * other. */
#include "reports/row_index.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "reports/benches.h"
#include "reports/nights.h"

enum {
    VERSION = 1,          /* of the tables, and of what a span is */
    WAIT_MS = 120000,     /* for another process that is making the same index */
    SPAN_BYTES = 1 << 20, /* most of them, so that reading goes by pieces */
    READERS = 8,          /* most threads */
};

enum kind { PROGRAMS, TORCH, VARIANTS };

struct span {
    uint64_t offset, length;
    size_t line, rows;
    size_t bench, run;
    int64_t time; /* 20260901020000 */
    enum kind kind;
};

/* ---- the files ------------------------------------------------------------------------------- */

/* What is known of a file. */
struct known {
    int64_t id; /* in the index; 0: it is not there */
    int64_t size, changed_ns;
    uint64_t header, whole;    /* bytes of the first row, and of all whole rows */
    uint64_t hash;             /* of these */
    size_t line, rows;         /* of the first row behind them; of results */
    struct text ignored, half; /* warnings: of rows in between, of the last one */
};

struct csv {
    struct text path;
    const char *name; /* in path */
    struct known known;
    bool same;          /* as the index knows it: nothing to write */
    bool anew;          /* what the index knows of it is wrong */
    struct span *spans; /* that it does not know; benches and runs by the numbers below */
    size_t n_spans, n_parsed;
    struct text_set benches, runs;         /* keys and run ids, numbered */
    const char **bench_texts, **run_texts; /* by number */
    struct report_error error;
};

struct csv_files {
    struct csv *all;
    size_t n;
    uint64_t bytes;
};

static void add_csv(const char *path, void *context) {
    struct csv_files *f = context;
    struct stat st;
    f->all = memory_resize(f->all, f->n + 1, sizeof *f->all);
    struct csv *c = &f->all[f->n++];
    *c = (struct csv){0};
    text_puts(&c->path, path);
    c->name = strrchr(c->path.p, '/') + 1;
    if (stat(path, &st) == 0) f->bytes += (uint64_t)st.st_size;
}

/* What was found in it by an attempt. */
static void csv_clear(struct csv *c) {
    text_free(&c->known.ignored);
    text_free(&c->known.half);
    free(c->spans);
    free(c->bench_texts);
    free(c->run_texts);
    text_set_free(&c->benches);
    text_set_free(&c->runs);
    *c = (struct csv){.path = c->path, .name = c->name};
}

static void csv_files_free(struct csv_files *f) {
    for (size_t i = 0; i < f->n; i++) {
        csv_clear(&f->all[i]);
        text_free(&f->all[i].path);
    }
    free(f->all);
}

/* ---- a file into spans ----------------------------------------------------------------------- */

struct indexing {
    struct csv *csv;
    struct result_reader reader;
    struct text key; /* scratch */
};

static enum kind kind_of(const struct result_row *r) {
    if (r->role == ROLE_variant) return VARIANTS;
    return r->role == ROLE_torch_eager || r->role == ROLE_torch_compile ? TORCH : PROGRAMS;
}

static size_t number_of(struct text_set *set, const char ***texts, const char *text) {
    size_t before = set->n, number;
    const char *kept = text_set_keep(set, text, &number);
    if (number < before) return number;
    *texts = memory_more(*texts, before, sizeof **texts);
    (*texts)[number] = kept;
    return number;
}

static size_t bench_of(struct indexing *in, const struct result_row *r) {
    const char *parts[] = {r->device, r->workload,        r->axes,   r->dtype,
                           r->mode,   bench_precision(r), r->weights};
    in->key.n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (i) text_write(&in->key, "\x1f", 1);
        text_puts(&in->key, parts[i]);
    }
    return number_of(&in->csv->benches, &in->csv->bench_texts, in->key.p);
}

static int64_t digits_of(const char *timestamp) {
    int64_t v = 0;
    for (int n = 0; *timestamp && n < 14; timestamp++)
        if (*timestamp >= '0' && *timestamp <= '9') v = 10 * v + (*timestamp - '0'), n++;
    return v;
}

static void index_row(const struct table_row *at, void *context, struct report_error *e) {
    struct indexing *in = context;
    struct csv *c = in->csv;
    struct result_row r;
    if (!result_reader_take(&in->reader, at, &r, e)) {
        if (!c->known.header) c->known.header = at->offset + at->length;
        return;
    }
    struct span *s = c->n_spans ? &c->spans[c->n_spans - 1] : NULL;
    size_t bench = bench_of(in, &r), run = number_of(&c->runs, &c->run_texts, r.run_id);
    enum kind kind = kind_of(&r);
    if (!s || s->bench != bench || s->run != run || s->kind != kind || s->length > SPAN_BYTES) {
        c->spans = memory_more(c->spans, c->n_spans, sizeof *s);
        s = &c->spans[c->n_spans++];
        *s = (struct span){at->offset, 0, at->line, 0, bench, run, digits_of(r.timestamp), kind};
    }
    s->length = at->offset + at->length - s->offset;
    s->rows++;
    c->n_parsed++;
}

/* Rows from known.whole on. */
static void index_tail(struct csv *c, const struct table_file *f, struct report_error *e) {
    struct known *k = &c->known;
    struct indexing in = {.csv = c, .reader = {.path = f->path, .warnings = &k->ignored}};
    struct table_place at = {k->whole, k->line};
    text_free(&k->half);
    if (k->whole) /* its header */
        table_scan(f, &(struct table_place){0, 1}, k->header, index_row, &in, &k->half, e);
    if (e->status == REPORT_OK) table_scan(f, &at, UINT64_MAX, index_row, &in, &k->half, e);
    text_free(&in.key);
    k->whole = at.offset;
    k->line = at.line;
    k->rows += c->n_parsed;
    if (e->status == REPORT_OK) table_hash(f, k->whole, &k->hash, e);
}

/* Are the whole rows that are known still there? */
static bool starts_alike(const struct table_file *f, const struct known *k,
                         struct report_error *e) {
    uint64_t hash = 0;
    if (!k->whole || f->size < k->whole) return false;
    return table_hash(f, k->whole, &hash, e) == REPORT_OK && hash == k->hash;
}

/* A file that was changed within the last second may be changed again without being newer. */
static int64_t settled(int64_t changed_ns) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return now_ns - changed_ns > 1000000000 ? changed_ns : -1;
}

static void look_at(struct csv *c) {
    struct known *k = &c->known;
    struct report_error *e = &c->error;
    struct table_file f;
    if (table_open(c->path.p, &f, e) != REPORT_OK) return;
    c->same = k->id && k->size == (int64_t)f.size && k->changed_ns == f.changed_ns;
    if (!c->same && !starts_alike(&f, k, e)) {
        text_free(&k->ignored);
        text_free(&k->half);
        *k = (struct known){.id = k->id, .line = 1};
        c->anew = true;
    }
    if (!c->same && e->status == REPORT_OK) index_tail(c, &f, e);
    if (!c->same) k->size = (int64_t)f.size, k->changed_ns = settled(f.changed_ns);
    table_close(&f);
}

static int readers(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > READERS ? READERS : cores > 1 ? (int)cores : 1;
}

static void look_at_all(struct csv_files *f) {
#pragma omp parallel for schedule(dynamic) num_threads(readers())
    for (size_t i = 0; i < f->n; i++) look_at(&f->all[i]);
}

/* ---- SQLite ---------------------------------------------------------------------------------- */

struct row_index {
    sqlite3 *db;
    const char *path; /* NULL: in memory */
    bool useless;     /* damaged, or it does not say what the files do */
};

static enum report_status fail(struct row_index *ix, struct report_error *e) {
    int code = sqlite3_errcode(ix->db);
    /* SQLITE_ERROR: the tables are not what this program made. */
    ix->useless |= code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
    return report_fail(e, REPORT_MACHINE, "'%s': %s", ix->path ? ix->path : "index in memory",
                       sqlite3_errmsg(ix->db));
}

static enum report_status run_sql(struct row_index *ix, const char *sql, struct report_error *e) {
    if (e->status == REPORT_OK && sqlite3_exec(ix->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(ix, e);
    return e->status;
}

static sqlite3_stmt *prepare(struct row_index *ix, const char *sql, struct report_error *e) {
    sqlite3_stmt *s = NULL;
    if (e->status == REPORT_OK && sqlite3_prepare_v2(ix->db, sql, -1, &s, NULL) != SQLITE_OK)
        fail(ix, e);
    return s;
}

/* Is there a row? */
static bool step(struct row_index *ix, sqlite3_stmt *s, struct report_error *e) {
    int rc = s && e->status == REPORT_OK ? sqlite3_step(s) : SQLITE_DONE;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) fail(ix, e);
    return rc == SQLITE_ROW;
}

static const char *column_text(sqlite3_stmt *s, int c) {
    const char *t = (const char *)sqlite3_column_text(s, c);
    return t ? t : "";
}

static int64_t ask_number(struct row_index *ix, const char *sql, struct report_error *e) {
    sqlite3_stmt *s = prepare(ix, sql, e);
    int64_t n = step(ix, s, e) ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return n;
}

/* The newest spans of a benchmark lie together: all are read in this order. */
static const char tables[] =
    "CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size, changed_ns, header, whole,"
    " line, hash, rows, ignored, half);"
    "CREATE TABLE benches (id INTEGER PRIMARY KEY, key TEXT UNIQUE);"
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
    "CREATE TABLE spans (bench, kind, time, file, offset, length, line, rows, run,"
    " PRIMARY KEY (bench, kind, time DESC, file DESC, offset DESC)) WITHOUT ROWID;";

static void index_open(struct row_index *ix, const char *path, struct report_error *e) {
    *ix = (struct row_index){.path = path};
    if (sqlite3_open(path ? path : ":memory:", &ix->db) != SQLITE_OK) fail(ix, e);
    sqlite3_busy_timeout(ix->db, WAIT_MS);
    /* What a power cut damages is made anew; what a kill leaves, the journal mends. */
    run_sql(ix, "PRAGMA synchronous = OFF; PRAGMA cache_size = -65536; BEGIN IMMEDIATE", e);
    if (ask_number(ix, "PRAGMA user_version", e) != VERSION && e->status == REPORT_OK) {
        struct text sql = {0};
        text_printf(&sql,
                    "DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS benches;"
                    "DROP TABLE IF EXISTS runs; DROP TABLE IF EXISTS spans;"
                    "%sPRAGMA user_version = %d",
                    tables, VERSION);
        run_sql(ix, sql.p, e);
        text_free(&sql);
    }
}

static void index_close(struct row_index *ix) {
    for (sqlite3_stmt *s; (s = sqlite3_next_stmt(ix->db, NULL));) sqlite3_finalize(s);
    sqlite3_close(ix->db);
}

/* ---- what the index knows of files ----------------------------------------------------------- */

static void recall_files(struct row_index *ix, struct csv_files *f, struct report_error *e) {
    sqlite3_stmt *s = prepare(ix,
                              "SELECT id, size, changed_ns, header, whole, hash, line, rows,"
                              " ignored, half FROM files WHERE name = ?",
                              e);
    for (size_t i = 0; i < f->n && e->status == REPORT_OK; i++) {
        struct known *k = &f->all[i].known;
        sqlite3_bind_text(s, 1, f->all[i].name, -1, SQLITE_STATIC);
        *k = (struct known){.line = 1};
        if (step(ix, s, e)) {
            k->id = sqlite3_column_int64(s, 0);
            k->size = sqlite3_column_int64(s, 1);
            k->changed_ns = sqlite3_column_int64(s, 2);
            k->header = (uint64_t)sqlite3_column_int64(s, 3);
            k->whole = (uint64_t)sqlite3_column_int64(s, 4);
            k->hash = (uint64_t)sqlite3_column_int64(s, 5);
            k->line = (size_t)sqlite3_column_int64(s, 6);
            k->rows = (size_t)sqlite3_column_int64(s, 7);
            text_puts(&k->ignored, column_text(s, 8));
            text_puts(&k->half, column_text(s, 9));
        }
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
}

static void forget_file(struct row_index *ix, int64_t id, struct report_error *e) {
    struct text sql = {0};
    text_printf(&sql, "DELETE FROM spans WHERE file = %lld; DELETE FROM files WHERE id = %lld",
                (long long)id, (long long)id);
    run_sql(ix, sql.p, e);
    text_free(&sql);
}

/* Those that are not in the folder any more. */
static void forget_gone(struct row_index *ix, const struct csv_files *f, struct report_error *e) {
    int64_t *gone = NULL;
    size_t n = 0;
    sqlite3_stmt *s = prepare(ix, "SELECT id FROM files", e);
    while (step(ix, s, e)) {
        int64_t id = sqlite3_column_int64(s, 0);
        bool there = false;
        for (size_t i = 0; i < f->n && !there; i++) there = f->all[i].known.id == id;
        if (there) continue;
        gone = memory_resize(gone, n + 1, sizeof *gone);
        gone[n++] = id;
    }
    sqlite3_finalize(s);
    for (size_t i = 0; i < n; i++) forget_file(ix, gone[i], e);
    free(gone);
}

/* Numbers in the index of n texts. */
static int64_t *ids_of(struct row_index *ix, const char *const *texts, size_t n, const char *find,
                       const char *put, struct report_error *e) {
    int64_t *ids = memory_resize(NULL, n + 1, sizeof *ids);
    sqlite3_stmt *look = prepare(ix, find, e), *insert = prepare(ix, put, e);
    for (size_t i = 0; i < n && e->status == REPORT_OK; i++) {
        sqlite3_bind_text(look, 1, texts[i], -1, SQLITE_STATIC);
        bool there = step(ix, look, e);
        if (there) ids[i] = sqlite3_column_int64(look, 0);
        sqlite3_reset(look);
        if (there || e->status != REPORT_OK) continue;
        sqlite3_bind_text(insert, 1, texts[i], -1, SQLITE_STATIC);
        step(ix, insert, e);
        ids[i] = sqlite3_last_insert_rowid(ix->db);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(look);
    sqlite3_finalize(insert);
    return ids;
}

static void keep_known(struct row_index *ix, struct csv *c, struct report_error *e) {
    struct known *k = &c->known;
    sqlite3_stmt *s = prepare(ix, "INSERT OR REPLACE INTO files VALUES (?,?,?,?,?,?,?,?,?,?,?)", e);
    if (!s) return;
    const int64_t values[] = {k->size,           k->changed_ns,    (int64_t)k->header,
                              (int64_t)k->whole, (int64_t)k->line, (int64_t)k->hash,
                              (int64_t)k->rows};
    if (k->id) sqlite3_bind_int64(s, 1, k->id);
    sqlite3_bind_text(s, 2, c->name, -1, SQLITE_STATIC);
    for (int i = 0; i < 7; i++) sqlite3_bind_int64(s, i + 3, values[i]);
    sqlite3_bind_text(s, 10, text_str(&k->ignored), -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 11, text_str(&k->half), -1, SQLITE_STATIC);
    step(ix, s, e);
    if (!k->id) k->id = sqlite3_last_insert_rowid(ix->db);
    sqlite3_finalize(s);
}

static int by_bench_and_time(const void *a, const void *b) {
    const struct span *x = a, *y = b;
    if (x->bench != y->bench) return x->bench < y->bench ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->time != y->time) return x->time > y->time ? -1 : 1;
    return x->offset > y->offset ? -1 : x->offset < y->offset;
}

static void keep_spans(struct row_index *ix, struct csv *c, struct report_error *e) {
    int64_t *benches =
                ids_of(ix, c->bench_texts, c->benches.n, "SELECT id FROM benches WHERE key = ?",
                       "INSERT INTO benches (key) VALUES (?)", e),
            *runs = ids_of(ix, c->run_texts, c->runs.n, "SELECT id FROM runs WHERE name = ?",
                           "INSERT INTO runs (name) VALUES (?)", e);
    sqlite3_stmt *s = prepare(ix, "INSERT INTO spans VALUES (?,?,?,?,?,?,?,?,?)", e);
    if (c->n_spans) qsort(c->spans, c->n_spans, sizeof *c->spans, by_bench_and_time);
    for (size_t i = 0; i < c->n_spans && e->status == REPORT_OK; i++) {
        const struct span *p = &c->spans[i];
        const int64_t values[] = {
            benches[p->bench],  p->kind,          p->time,          c->known.id, (int64_t)p->offset,
            (int64_t)p->length, (int64_t)p->line, (int64_t)p->rows, runs[p->run]};
        for (int v = 0; v < 9; v++) sqlite3_bind_int64(s, v + 1, values[v]);
        step(ix, s, e);
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
    free(benches);
    free(runs);
}

/* Into the index, and into the choice's count. */
static void take_in(struct row_index *ix, struct csv_files *f, struct row_choice *choice,
                    struct report_error *e) {
    recall_files(ix, f, e);
    if (e->status == REPORT_OK) look_at_all(f);
    for (size_t i = 0; i < f->n && e->status == REPORT_OK; i++) {
        struct csv *c = &f->all[i];
        choice->n_parsed += c->n_parsed;
        if (c->known.id && (c->anew || c->error.status != REPORT_OK)) {
            forget_file(ix, c->known.id, e);
            c->known.id = 0;
        }
        if (c->error.status != REPORT_OK || c->same) continue;
        keep_known(ix, c, e);
        keep_spans(ix, c, e);
        free(c->spans);
        c->spans = NULL;
    }
    forget_gone(ix, f, e);
    run_sql(ix, "COMMIT", e);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Of a span what is needed to read it. */
struct piece {
    int64_t file;
    uint64_t offset, length;
    size_t line, rows;
};

struct chosen {
    struct piece *all; /* by file and offset */
    size_t n;
};

/* The spans of one benchmark and kind, which are handed over newest first. */
struct age {
    int64_t bench, kind, run;
    size_t runs; /* newer ones, and this */
};

static void grow_old(struct age *a, int64_t bench, int64_t kind, int64_t run) {
    if (a->runs && a->bench == bench && a->kind == kind) {
        a->runs += a->run != run;
        a->run = run;
    } else {
        *a = (struct age){bench, kind, run, 1};
    }
}

/* How many of the newest runs make at most `most` rows. At least one. */
static void count_runs(struct row_index *ix, struct row_choice *choice, struct report_error *e) {
    size_t *rows = NULL, n = 0, sum = 0; /* of the newest run of each, of the one before, ... */
    struct age age = {0};
    sqlite3_stmt *s = prepare(ix,
                              "SELECT bench, kind, run, rows FROM spans WHERE kind < 2"
                              " ORDER BY bench, kind, time DESC, file DESC, offset DESC",
                              e);
    while (step(ix, s, e)) {
        grow_old(&age, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
                 sqlite3_column_int64(s, 2));
        for (; n < age.runs; n++) {
            rows = memory_more(rows, n, sizeof *rows);
            rows[n] = 0;
        }
        rows[age.runs - 1] += (size_t)sqlite3_column_int64(s, 3);
    }
    sqlite3_finalize(s);
    choice->runs = 0;
    while (choice->runs < n && (!choice->runs || sum + rows[choice->runs] <= choice->most))
        sum += rows[choice->runs++];
    choice->all = choice->runs == n;
    free(rows);
}

static void add_piece(struct chosen *c, sqlite3_stmt *s) {
    c->all = memory_more(c->all, c->n, sizeof *c->all);
    c->all[c->n++] =
        (struct piece){sqlite3_column_int64(s, 0), (uint64_t)sqlite3_column_int64(s, 1),
                       (uint64_t)sqlite3_column_int64(s, 2), (size_t)sqlite3_column_int64(s, 3),
                       (size_t)sqlite3_column_int64(s, 4)};
}

#define PIECE "file, offset, length, line, rows"

static void choose_programs(struct row_index *ix, const struct row_choice *choice, struct chosen *c,
                            struct report_error *e) {
    struct age age = {0};
    sqlite3_stmt *s = prepare(ix,
                              "SELECT " PIECE ", bench, kind, run FROM spans WHERE kind < ?"
                              " ORDER BY bench, kind, time DESC, file DESC, offset DESC",
                              e);
    if (s) sqlite3_bind_int64(s, 1, choice->programs_alone ? TORCH : VARIANTS);
    while (step(ix, s, e)) {
        grow_old(&age, sqlite3_column_int64(s, 5), sqlite3_column_int64(s, 6),
                 sqlite3_column_int64(s, 7));
        if (age.runs <= choice->runs) add_piece(c, s);
    }
    sqlite3_finalize(s);
}

/* Of the run whose id is last, as the model has it. */
static void choose_variants(struct row_index *ix, struct chosen *c, struct report_error *e) {
    sqlite3_stmt *s = prepare(
        ix,
        "WITH newest AS (SELECT spans.bench, max(name) AS name FROM spans JOIN runs ON runs.id ="
        " spans.run WHERE kind = 2 GROUP BY spans.bench) SELECT " PIECE " FROM newest JOIN runs"
        " USING (name) JOIN spans ON spans.bench = newest.bench AND kind = 2 AND run = runs.id",
        e);
    while (step(ix, s, e)) add_piece(c, s);
    sqlite3_finalize(s);
}

static int by_place(const void *a, const void *b) {
    const struct piece *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void choose(struct row_index *ix, struct row_choice *choice, struct chosen *c,
                   struct report_error *e) {
    if (choice->programs_alone)
        choice->runs = SIZE_MAX, choice->all = true;
    else
        count_runs(ix, choice, e);
    choose_programs(ix, choice, c, e);
    if (!choice->programs_alone) choose_variants(ix, c, e);
    if (c->n) qsort(c->all, c->n, sizeof *c->all, by_place);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A file's rows on their way to results. */
struct reading {
    struct results_reading to;
    bool in_brief;
    size_t n;
};

static void read_row(const struct table_row *at, void *context, struct report_error *e) {
    struct reading *r = context;
    struct result_row row;
    if (!result_reader_take(&r->to.reader, at, &row, e)) return;
    r->n++;
    if (!r->in_brief)
        results_add(r->to.results, &row);
    else if (nights_have(&row))
        results_add_brief(r->to.results, &row);
}

/* Those of a file's pieces, which begin at `first`. False if they are not where they should be. */
static bool read_pieces(const struct csv *c, const struct piece *first, size_t n, bool in_brief,
                        struct results *r) {
    struct report_error e = {0};
    struct table_file f;
    struct text none = {0}; /* what rows are warned of was said when they came in */
    struct reading t = {{{.path = c->path.p, .warnings = &none}, r}, in_brief, 0};
    size_t rows = 0;
    if (table_open(c->path.p, &f, &e) != REPORT_OK) return false;
    if (f.size < c->known.whole) report_fail(&e, REPORT_WRONG, "shorter");
    struct table_place at = {0, 1};
    uint64_t end = c->known.header;
    table_scan(&f, &at, end, read_row, &t, &none, &e);
    for (size_t i = 0; i < n && e.status == REPORT_OK && at.offset == end;) {
        at = (struct table_place){first[i].offset, first[i].line};
        end = first[i].offset;
        while (i < n && first[i].offset == end) { /* what follows each other is read at once */
            end += first[i].length;
            rows += first[i++].rows;
        }
        table_scan(&f, &at, end, read_row, &t, &none, &e);
    }
    r->table.n_columns = t.to.reader.n_columns;
    text_free(&none);
    table_close(&f);
    return e.status == REPORT_OK && at.offset == end && t.n == rows;
}

static bool read_file(const struct csv *c, const struct chosen *pieces, bool in_brief,
                      struct results *r) {
    size_t first = 0, n = 0;
    for (size_t low = 0, high = pieces->n; low < high;) {
        size_t at = low + (high - low) / 2;
        if (pieces->all[at].file < c->known.id)
            low = at + 1;
        else
            high = at;
        first = low;
    }
    while (first + n < pieces->n && pieces->all[first + n].file == c->known.id) n++;
    *r = (struct results){.n_in_file = c->known.rows};
    text_printf(&r->table.warnings, "%s%s", text_str(&c->known.ignored), text_str(&c->known.half));
    return read_pieces(c, &pieces->all[first], n, in_brief, r);
}

/* All files, or REPORT_MACHINE. */
static void read_by(struct row_index *ix, struct csv_files *f, struct row_choice *choice,
                    struct results *results, struct report_error *e) {
    struct chosen pieces = {0};
    choice->n_parsed = 0;
    take_in(ix, f, choice, e);
    choose(ix, choice, &pieces, e);
    size_t changed = f->n; /* a file that did while it was read */
    if (e->status == REPORT_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(readers())
        for (size_t i = 0; i < f->n; i++) {
            const struct csv *c = &f->all[i];
            if (c->error.status == REPORT_OK &&
                !read_file(c, &pieces, choice->programs_alone, &results[i])) {
#pragma omp atomic write
                changed = i;
            }
        }
    }
    if (changed < f->n) {
        ix->useless = true;
        report_fail(e, REPORT_MACHINE, "'%s' changed while it was read", f->all[changed].path.p);
    }
    free(pieces.all);
}

static void attempt(const char *path, struct csv_files *f, struct row_choice *choice,
                    struct results *results, bool *useless, struct report_error *e) {
    struct row_index ix;
    index_open(&ix, path, e);
    if (e->status == REPORT_OK) read_by(&ix, f, choice, results, e);
    *useless = ix.useless;
    index_close(&ix);
    if (e->status == REPORT_OK) return;
    for (size_t i = 0; i < f->n; i++) {
        csv_clear(&f->all[i]);
        results_free(&results[i]);
    }
}

/* Nothing is lost. A journal that stayed would be played back into the next one. */
static void remove_index(const char *path) {
    struct text journal = {0};
    text_printf(&journal, "%s-journal", path);
    unlink(path);
    unlink(journal.p);
    text_free(&journal);
}

/* Beside the files; anew, where that is damaged; in memory, where it cannot be. */
static void read_somehow(const char *path, struct csv_files *f, struct row_choice *choice,
                         struct results *results, struct text *notes, struct report_error *e) {
    struct report_error own = {0};
    bool useless = true;
    for (int tries = 0; path && tries < 2 && useless; tries++) {
        own = (struct report_error){0};
        attempt(path, f, choice, results, &useless, &own);
        if (own.status == REPORT_OK) return;
        if (useless) remove_index(path);
    }
    if (path) text_printf(notes, "no index is kept: %s\n", own.text);
    attempt(NULL, f, choice, results, &useless, e);
}

enum report_status row_index_read(const char *folder, struct row_choice *choice,
                                  row_file_function *on_file, void *context, struct text *notes,
                                  struct report_error *e) {
    struct csv_files f = {0};
    struct text path = {0};
    if (results_in_folder(folder, add_csv, &f, e) == REPORT_OK) {
        struct results *results = memory_resize(NULL, f.n + 1, sizeof *results);
        memset(results, 0, f.n * sizeof *results);
        text_printf(&path, "%s/" ROW_INDEX_NAME, folder);
        read_somehow(f.bytes >= choice->file_from ? path.p : NULL, &f, choice, results, notes, e);
        for (size_t i = 0; i < f.n && e->status == REPORT_OK; i++)
            on_file(f.all[i].path.p, &results[i], &f.all[i].error, context);
        free(results);
    }
    text_free(&path);
    csv_files_free(&f);
    return e->status;
}
