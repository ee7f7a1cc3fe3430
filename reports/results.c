/* results.c: rows of strings <-> struct result_row, driven by columns.def.
 *
 *   1,...,softmax,fwd,f32,...,ok,tuned,...,36.96   <->   {.schema = 1, .workload = "softmax",
 *                                                         .status = STATUS_ok, ...} */
#include "reports/results.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/estimate.h"

enum column_kind { KIND_TEXT, KIND_COUNT, KIND_REAL, KIND_STATUS, KIND_ROLE };

struct column {
    const char *name;
    enum column_kind kind;
    size_t offset; /* in struct result_row */
};

static const struct column columns[] = {
#define COLUMN(kind, name) {#name, KIND_##kind, offsetof(struct result_row, name)},
#include "reports/columns.def"
};
enum { N_COLUMNS = RESULT_COLUMNS };

enum {
#define COLUMN(kind, name) COLUMN_##name,
#include "reports/columns.def"
};

/* Oldest first; each has the columns of the one before it, and more. */
static const struct result_schema {
    int number;
    size_t n_columns;
} schemas[] = {
#define SCHEMA(number, last) {number, COLUMN_##last + 1},
#include "reports/columns.def"
};
enum { N_SCHEMAS = sizeof schemas / sizeof *schemas };

static const char *const status_names[] = {
#define STATUS(name) #name,
#include "reports/columns.def"
};

static const char *const role_names[] = {
#define ROLE(name, shown) #name,
#include "reports/columns.def"
};

static const char *const roles_shown[] = {
#define ROLE(name, shown) shown,
#include "reports/columns.def"
};

const char *result_status_name(enum result_status s) { return status_names[s]; }
const char *result_role_name(enum result_role r) { return role_names[r]; }
const char *result_role_shown(enum result_role r) { return roles_shown[r]; }

static void *field(struct result_row *r, size_t c) { return (char *)r + columns[c].offset; }

struct result_row result_row_new(void) {
    struct result_row r = {0};
    for (size_t c = 0; c < N_COLUMNS; c++)
        if (columns[c].kind == KIND_COUNT || columns[c].kind == KIND_REAL)
            *(double *)field(&r, c) = NAN;
    r.schema = RESULT_SCHEMA;
    r.is_winner = 0;
    return r;
}

static bool is_measured(enum result_status status, double median_us) {
    return status == STATUS_ok && isfinite(median_us) && median_us > 0;
}

bool result_row_measured(const struct result_row *r) {
    return r && is_measured(r->status, r->median_us);
}

bool result_brief_measured(const struct result_brief *b) {
    return is_measured(b->status, b->median_us);
}

struct result_row result_row_without_gaps(const struct result_row *r) {
    struct result_row old = *r;
    double gaps = r->schema >= 3 && isfinite(r->kernels_us) ? r->median_us - r->kernels_us : 0;
    if (!(gaps > 0)) return old;
    double faster = r->median_us / r->kernels_us;
    old.median_us = r->kernels_us;
    old.q1_us -= gaps;
    old.q3_us -= gaps;
    old.min_us -= gaps;
    old.gbps *= faster;
    old.tflops *= faster;
    old.roof_pct *= faster;
    return old;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum { CELL = 32 }; /* bytes that hold any number as text */

static const char *format(struct result_row *r, size_t c, char number[CELL]) {
    void *p = field(r, c);
    switch (columns[c].kind) {
    case KIND_TEXT: return *(const char **)p;
    case KIND_STATUS: return status_names[*(enum result_status *)p];
    case KIND_ROLE: return role_names[*(enum result_role *)p];
    case KIND_COUNT:
    case KIND_REAL: break;
    }
    double v = *(double *)p;
    if (!isfinite(v)) return "";
    bool whole = columns[c].kind == KIND_COUNT && fabs(v) < 1e18;
    snprintf(number, CELL, whole ? "%.0f" : "%.7g", v);
    return number;
}

static enum report_status append_as_is(const struct result_schema *schema, const char *path,
                                       const struct result_row *rows, size_t n, struct text *notes,
                                       struct report_error *e) {
    const char *names[N_COLUMNS];
    size_t width = schema->n_columns;
    for (size_t c = 0; c < width; c++) names[c] = columns[c].name;
    const char **cells = memory_resize(NULL, n * width, sizeof *cells);
    char(*numbers)[CELL] = memory_resize(NULL, n * width, sizeof *numbers);
    for (size_t i = 0; i < n; i++) {
        struct result_row row = rows[i];
        for (size_t c = 0; c < width; c++)
            cells[i * width + c] = format(&row, c, numbers[i * width + c]);
    }
    table_append(path, names, width, cells, n, notes, e);
    free(cells);
    free(numbers);
    return e->status;
}

static enum report_status append_as(const struct result_schema *schema, const char *path,
                                    const struct result_row *rows, size_t n, struct text *notes,
                                    struct report_error *e) {
    if (schema->number == RESULT_SCHEMA) return append_as_is(schema, path, rows, n, notes, e);
    struct result_row *older = memory_resize(NULL, n, sizeof *older);
    for (size_t i = 0; i < n; i++) {
        older[i] = schema->number < 3 ? result_row_without_gaps(&rows[i]) : rows[i];
        older[i].schema = schema->number;
        /* without the column that says so, they would pass for measured */
        if (rows[i].counters && strcmp(rows[i].counters, "counted") == 0) older[i].dram_bytes = NAN;
    }
    append_as_is(schema, path, older, n, notes, e);
    free(older);
    return e->status;
}

/* A header that is not the newest may be an older one; if it is none, the first error says what it
 * is not. */
enum report_status result_append(const char *path, const struct result_row *rows, size_t n,
                                 struct text *notes, struct report_error *e) {
    const struct result_schema *newest = &schemas[N_SCHEMAS - 1];
    if (append_as(newest, path, rows, n, notes, e) != REPORT_WRONG) return e->status;
    for (const struct result_schema *s = newest; s-- > schemas;) {
        struct report_error own = {0};
        if (append_as(s, path, rows, n, notes, &own) == REPORT_WRONG) continue;
        if (own.status == REPORT_OK && !n && notes)
            text_printf(notes,
                        "'%s' is of schema %d: rows are appended without the columns that came "
                        "later; move it away to have them\n",
                        path, s->number);
        *e = own;
        break;
    }
    return e->status;
}

static const struct result_schema *schema_of(double number) {
    for (size_t i = 0; i < N_SCHEMAS; i++)
        if (schemas[i].number == number) return &schemas[i];
    return NULL;
}

void result_row_put(struct text *out, const struct result_row *r) {
    const char *cells[N_COLUMNS];
    char numbers[N_COLUMNS][CELL];
    struct result_row row = *r;
    size_t width = (size_t)result_columns_of((int)r->schema);
    for (size_t c = 0; c < width; c++) cells[c] = format(&row, c, numbers[c]);
    table_put_row(out, cells, width);
}

enum report_status result_append_as_is(const char *path, const struct result_row *rows, size_t n,
                                       struct text *notes, struct report_error *e) {
    return append_as_is(schema_of(rows->schema), path, rows, n, notes, e);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool find_word(const char *const *words, int n, const char *cell, int *out) {
    for (*out = 0; *out < n; ++*out)
        if (strcmp(words[*out], cell) == 0) return true;
    return false;
}

static bool parse_cell(struct result_row *r, size_t c, const char *cell) {
    void *p = field(r, c);
    int word;
    switch (columns[c].kind) {
    case KIND_TEXT: *(const char **)p = cell; return true;
    case KIND_COUNT:
    case KIND_REAL: return table_number(cell, p);
    case KIND_STATUS:
        if (!find_word(status_names, STATUS_COUNT, cell, &word)) return false;
        *(enum result_status *)p = (enum result_status)word;
        return true;
    case KIND_ROLE:
        if (!find_word(role_names, ROLE_COUNT, cell, &word)) return false;
        *(enum result_role *)p = (enum result_role)word;
        return true;
    }
    return false;
}

int result_column_find(const char *name) {
    for (int c = 0; c < N_COLUMNS; c++)
        if (!strcmp(columns[c].name, name)) return c;
    return -1;
}

const char *result_column_name(int column) { return columns[column].name; }

int result_columns_of(int schema) {
    const struct result_schema *s = schema_of(schema);
    return s ? (int)s->n_columns : 0;
}

bool result_cell_parse(struct result_row *r, int column, const char *cell) {
    return parse_cell(r, (size_t)column, cell);
}

static int find_column(const struct table_row *header, const char *name) {
    for (size_t c = 0; c < header->n; c++)
        if (strcmp(header->cells[c], name) == 0) return (int)c;
    return -1;
}

/* The newest schema whose last column is there. */
static const struct result_schema *find_schema(const struct table_row *header) {
    const struct result_schema *s = &schemas[N_SCHEMAS - 1];
    while (s > schemas && find_column(header, columns[s->n_columns - 1].name) < 0) s--;
    return s;
}

/* position[c] = where column c stands in the file. */
static enum report_status match_header(struct result_reader *r, const struct table_row *header,
                                       struct report_error *e) {
    const struct result_schema *s = find_schema(header);
    for (size_t c = 0; c < s->n_columns; c++) {
        r->position[c] = find_column(header, columns[c].name);
        if (r->position[c] < 0)
            return report_fail(e, REPORT_WRONG,
                               "'%s' is not a result file: column '%s' is missing in line %zu",
                               r->path, columns[c].name, header->line);
    }
    for (size_t i = 0; i < header->n; i++) {
        bool known = false;
        for (size_t c = 0; c < s->n_columns; c++) known |= r->position[c] == (int)i;
        if (!known)
            return report_fail(e, REPORT_WRONG,
                               "'%s' is not a result file of schema %d: column '%s' is unknown or "
                               "doubled in line %zu",
                               r->path, s->number, header->cells[i], header->line);
    }
    r->schema = s;
    r->n_columns = header->n;
    return REPORT_OK;
}

enum { IGNORED_MAX = 10 }; /* rows that are said one by one */

static void ignore_row(struct result_reader *r, const struct table_row *row) {
    if (r->n_ignored++ < IGNORED_MAX)
        text_printf(r->warnings, "line %zu has %zu fields, expected %zu: ignored\n", row->line,
                    row->n, r->n_columns);
    else if (r->n_ignored == IGNORED_MAX + 1)
        text_printf(r->warnings, "line %zu and others have other numbers of fields: ignored\n",
                    row->line);
}

bool result_reader_take(struct result_reader *r, const struct table_row *row,
                        struct result_row *out, struct report_error *e) {
    if (!r->schema) return match_header(r, row, e), false;
    if (row->n != r->n_columns) return ignore_row(r, row), false;
    *out = result_row_new();
    for (size_t c = 0; c < r->schema->n_columns; c++) {
        const char *cell = row->cells[r->position[c]];
        if (!parse_cell(out, c, cell))
            return report_fail(e, REPORT_WRONG, "'%s', line %zu: '%.80s' is not a %s", r->path,
                               row->line, cell, columns[c].name),
                   false;
    }
    if (out->schema != r->schema->number)
        return report_fail(e, REPORT_WRONG,
                           "'%s', line %zu: schema %g in a file of schema %d; this program reads "
                           "up to %d",
                           r->path, row->line, out->schema, r->schema->number, RESULT_SCHEMA),
               false;
    for (size_t c = r->schema->n_columns; c < N_COLUMNS; c++)
        if (columns[c].kind == KIND_TEXT) *(const char **)field(out, c) = "";
    return true;
}

size_t result_reader_columns(const struct result_reader *r) { return r->schema->n_columns; }

int result_reader_schema(const struct result_reader *r) { return r->schema->number; }

void result_put_header(struct text *out, int schema) {
    const char *names[N_COLUMNS];
    size_t n = 0;
    for (size_t s = 0; s < N_SCHEMAS; s++)
        if (schemas[s].number == schema) n = schemas[s].n_columns;
    for (size_t c = 0; c < n; c++) names[c] = columns[c].name;
    table_put_row(out, names, n);
}

static void keep_row(struct results *r, const struct result_row *row, struct result_row *kept) {
    *kept = *row;
    for (size_t c = 0; c < N_COLUMNS; c++)
        if (columns[c].kind == KIND_TEXT) {
            const char **text = field(kept, c);
            *text = **text ? text_set_keep(&r->texts, *text, NULL) : "";
        }
}

void results_add(struct results *r, const struct result_row *row) {
    r->rows = memory_more(r->rows, r->n, sizeof *r->rows);
    keep_row(r, row, &r->rows[r->n++]);
}

/* ---- in brief -------------------------------------------------------------------------------- */

struct result_brief result_brief_of(const struct result_row *r) {
    return (struct result_brief){.like = r,
                                 .run_id = r->run_id,
                                 .timestamp = r->timestamp,
                                 .git_rev = r->git_rev,
                                 .median_us = r->median_us,
                                 .scatter = row_scatter(r),
                                 .clock_mhz = r->clock_mhz,
                                 .temp_c = r->temp_c,
                                 .status = r->status};
}

static const struct result_row *keep_like(struct results *r, const struct result_row *row) {
    const char *const parts[] = {row->workload,  row->axes,
                                 row->dtype,     row->mode,
                                 row->device,    row->weights,
                                 row->precision, row->kernel,
                                 row->host,      row->driver,
                                 row->toolchain, row->timer,
                                 row->throttle,  role_names[row->role]};
    size_t known = r->likes.n, number;
    r->key.n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        text_puts(&r->key, parts[i]);
        text_write(&r->key, "\x1f", 1);
    }
    text_puts(&r->key, row->schema < 3 ? "2" : "3"); /* whose times mean another thing */
    text_set_keep(&r->likes, r->key.p, &number);
    if (number < known) return r->like[number];
    r->like = memory_more(r->like, known, sizeof *r->like);
    r->like[known] = memory_resize(NULL, 1, sizeof **r->like);
    keep_row(r, row, r->like[known]);
    return r->like[known];
}

/* Texts of a night are those of the row before, mostly. */
static const char *keep_again(struct results *r, const char *before, const char *text) {
    return before && !strcmp(before, text) ? before : text_set_keep(&r->texts, text, NULL);
}

void results_add_brief(struct results *r, const struct result_row *row) {
    size_t n = r->n_briefs;
    r->briefs = memory_more(r->briefs, n, sizeof *r->briefs);
    const struct result_brief none = {0}, *before = n ? &r->briefs[n - 1] : &none;
    struct result_brief b = result_brief_of(row);
    b.like = keep_like(r, row);
    b.run_id = keep_again(r, before->run_id, row->run_id);
    b.timestamp = keep_again(r, before->timestamp, row->timestamp);
    b.git_rev = keep_again(r, before->git_rev, row->git_rev);
    r->briefs[r->n_briefs++] = b;
}

void results_read_row(const struct table_row *row, void *reading, struct report_error *e) {
    struct results_reading *r = reading;
    struct result_row result;
    if (result_reader_take(&r->reader, row, &result, e)) results_add(r->results, &result);
}

enum report_status results_read(const char *path, struct results *r, struct report_error *e) {
    *r = (struct results){0};
    struct table_file f;
    if (table_open(path, &f, e) != REPORT_OK) return e->status;
    struct results_reading reading = {{.path = path, .warnings = &r->table.warnings}, r};
    table_scan(&f, &(struct table_place){0, 1}, UINT64_MAX, results_read_row, &reading,
               &r->table.warnings, e);
    r->table.n_columns = reading.reader.n_columns;
    r->n_in_file = r->n;
    table_close(&f);
    return e->status;
}

void results_free(struct results *r) {
    free(r->rows);
    free(r->briefs);
    for (size_t i = 0; i < r->likes.n; i++) free(r->like[i]);
    free(r->like);
    text_set_free(&r->likes);
    text_free(&r->key);
    text_free(&r->table.warnings);
    text_set_free(&r->texts);
    *r = (struct results){0};
}

static int is_csv(const struct dirent *entry) {
    size_t n = strlen(entry->d_name);
    return n > 4 && strcmp(entry->d_name + n - 4, ".csv") == 0;
}

enum report_status results_in_folder(const char *folder,
                                     void (*on_file)(const char *path, void *context),
                                     void *context, struct report_error *e) {
    struct dirent **entries;
    int n = scandir(folder, &entries, is_csv, alphasort);
    if (n < 0)
        return report_fail(e, errno == ENOENT ? REPORT_USAGE : REPORT_WRONG, "cannot read '%s': %s",
                           folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        struct text path = {0};
        text_printf(&path, "%s/%s", folder, entries[i]->d_name);
        on_file(path.p, context);
        text_free(&path);
        free(entries[i]);
    }
    free(entries);
    return REPORT_OK;
}
