/* import.c: CSVs with other columns -> result rows -> those that a folder does not have.
 *
 *   benchmark,mean (ns),when            workload = benchmark           softmax, 33.9 us,
 *   softmax,33900,2021-03-01 02:00  +   median_us = mean (ns) * 0.001  ->  2021-03-01T02:00:00Z
 *
 * A file is read twice: first whether it is a CSV to its end, so that none is taken in half. */
#define _GNU_SOURCE /* timegm */
#include "reports/import.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "reports/results.h"

enum {
    BATCH = 20000,  /* rows that are written at once: some 60 MB */
    REASONS = 10,   /* that are said of a file */
    NAMES = 8,      /* of columns, in a list */
    MAP_MAX = 1000, /* bytes of a line of the map */
};

/* ---- the map --------------------------------------------------------------------------------- */

struct source {
    struct text from; /* a column of the file, or the text itself */
    bool given;       /* by the map */
    bool is_text;
    double factor; /* 1: as it is */
};

struct map {
    struct source of[RESULT_COLUMNS];
};

static char *trim(char *s) {
    while (isspace((unsigned char)*s)) s++;
    for (size_t n = strlen(s); n && isspace((unsigned char)s[n - 1]);) s[--n] = 0;
    return s;
}

/* "mean (ns) * 0.001": the factor is cut off. */
static double take_factor(char *s) {
    char *star = strrchr(s, '*'), *end;
    if (!star) return 1;
    double factor = strtod(star + 1, &end);
    if (end == star + 1 || *trim(end) || !(factor > 0)) return 1; /* a part of the name */
    *star = 0;
    trim(s);
    return factor;
}

static void read_map_line(struct map *m, char *line, size_t number, struct report_error *e) {
    char *equals = strchr(line, '=');
    if (!*trim(line) || *trim(line) == '#') return;
    if (!equals) {
        report_fail(e, REPORT_USAGE, "line %zu: no '=': COLUMN = THEIR COLUMN", number);
        return;
    }
    *equals = 0;
    char *name = trim(line), *from = trim(equals + 1);
    int column = result_column_find(name);
    if (column < 0) {
        report_fail(e, REPORT_USAGE, "line %zu: '%s' is no column of results", number, name);
        return;
    }
    struct source *s = &m->of[column];
    *s = (struct source){.given = true, .factor = 1};
    if (*from == '"') {
        char *close = strchr(from + 1, '"');
        char *rest = close ? trim(close + 1) : NULL;
        if (!close || (*rest && *rest != '#')) {
            report_fail(e, REPORT_USAGE, "line %zu: a text ends in a quote", number);
            return;
        }
        *close = 0;
        s->is_text = true;
        text_puts(&s->from, from + 1);
        return;
    }
    char *comment = *from == '#' ? from : strstr(from, " #");
    if (comment) *comment = 0;
    from = trim(from);
    s->factor = take_factor(from);
    if (!*from) report_fail(e, REPORT_USAGE, "line %zu: '%s' of what?", number, name);
    text_puts(&s->from, from);
}

static void read_map(struct map *m, const char *path, struct report_error *e) {
    char line[MAP_MAX];
    FILE *f = fopen(path, "r");
    if (!f) {
        report_fail(e, REPORT_USAGE, "cannot open '%s': %s", path, strerror(errno));
        return;
    }
    for (size_t n = 1; e->status == REPORT_OK && fgets(line, sizeof line, f); n++) {
        struct report_error own = {0};
        if (!strchr(line, '\n') && !feof(f))
            report_fail(&own, REPORT_USAGE, "line %zu is longer than %d bytes", n, MAP_MAX);
        else
            read_map_line(m, line, n, &own);
        if (own.status != REPORT_OK) report_fail(e, own.status, "'%s', %s", path, own.text);
    }
    fclose(f);
}

static void map_free(struct map *m) {
    for (int c = 0; c < RESULT_COLUMNS; c++) text_free(&m->of[c].from);
}

/* ---- rows that are there --------------------------------------------------------------------- */

/* Hashes of rows as they are written, of 64 bits: of 5 million rows two are alike in one of a
 * million cases. 0 is a free slot. */
struct row_set {
    uint64_t *slots;
    size_t n, n_slots;
    struct text row; /* scratch */
};

/* False if it was there. */
static bool add_hash(struct row_set *s, uint64_t hash) {
    if (2 * s->n >= s->n_slots) {
        struct row_set wider = {.n_slots = s->n_slots ? 2 * s->n_slots : 1024};
        wider.slots = memory_resize(NULL, wider.n_slots, sizeof *wider.slots);
        memset(wider.slots, 0, wider.n_slots * sizeof *wider.slots);
        for (size_t i = 0; i < s->n_slots; i++)
            if (s->slots[i]) add_hash(&wider, s->slots[i]);
        free(s->slots);
        s->slots = wider.slots;
        s->n_slots = wider.n_slots;
    }
    size_t at = (size_t)hash & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1))
        if (s->slots[at] == hash) return false;
    s->slots[at] = hash;
    s->n++;
    return true;
}

static bool add_row(struct row_set *s, const struct result_row *row) {
    s->row.n = 0;
    result_row_put(&s->row, row);
    uint64_t hash = XXH3_64bits(s->row.p, s->row.n);
    return add_hash(s, hash ? hash : 1);
}

struct knowing {
    struct row_set *set;
    struct result_reader reader;
};

static void know_row(const struct table_row *at, void *context, struct report_error *e) {
    struct knowing *k = context;
    struct result_row row;
    if (result_reader_take(&k->reader, at, &row, e)) add_row(k->set, &row);
}

struct import {
    struct map map;
    const char *folder;
    struct row_set set;
    FILE *out, *err;
    size_t files, taken, there, skipped;
    enum report_status status; /* the worst of what was said */
};

static void complain(struct import *in, const struct report_error *e) {
    fprintf(in->err, "warpsmith history import: %s\n", e->text);
    if (e->status > in->status) in->status = e->status;
}

/* Rows of what is no result file are nobody's: it only lies there. */
static void know_file(const char *path, void *context) {
    struct import *in = context;
    struct report_error e = {0};
    struct table_file f;
    struct text none = {0};
    struct knowing k = {&in->set, {.path = path, .warnings = &none}};
    if (table_open(path, &f, &e) == REPORT_OK) {
        table_scan(&f, &(struct table_place){0, 1}, UINT64_MAX, know_row, &k, &none, &e);
        table_close(&f);
    }
    text_free(&none);
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* Names of columns, of which the first are said. */
struct names {
    struct text list;
    size_t n;
};

static void add_name(struct names *l, const char *name) {
    if (l->n++ < NAMES) text_printf(&l->list, "%s%s", l->n > 1 ? ", " : "", name);
}

static void say_names(FILE *out, const char *what, const struct names *l) {
    if (l->n) fprintf(out, "  %s: %s", what, l->list.p);
    if (l->n > NAMES) fprintf(out, " and %zu more", l->n - NAMES);
    if (l->n) fputs("\n", out);
}

struct importing {
    struct import *in;
    const char *path;
    size_t n_columns;             /* 0: no header yet */
    int position[RESULT_COLUMNS]; /* of the cell; -1: none */
    struct text header;           /* as a row */
    struct names missing, left_out;
    size_t taken, there, skipped;
    struct text reasons;
    struct results rows; /* a batch, all of one schema */
};

static int position_of(const struct table_row *header, const char *name) {
    for (size_t i = 0; i < header->n; i++)
        if (!strcmp(header->cells[i], name)) return (int)i;
    return -1;
}

static void take_header(struct importing *im, const struct table_row *h, struct report_error *e) {
    const struct map *m = &im->in->map;
    bool *used = memory_resize(NULL, h->n, sizeof *used);
    memset(used, 0, h->n * sizeof *used);
    int last = 0;
    im->n_columns = h->n;
    table_put_row(&im->header, h->cells, h->n);
    for (int c = 0; c < RESULT_COLUMNS; c++) {
        const struct source *s = &m->of[c];
        const char *name = s->given ? text_str(&s->from) : result_column_name(c);
        im->position[c] = s->is_text ? -1 : position_of(h, name);
        if (im->position[c] >= 0) used[im->position[c]] = true;
        if (im->position[c] < 0 && s->given && !s->is_text)
            report_fail(e, REPORT_WRONG, "'%s' has no column '%s', of which the map makes %s",
                        im->path, name, result_column_name(c));
        if (im->position[c] >= 0) last = c;
    }
    for (int c = 0; c < last; c++) /* those behind it came with later schemas */
        if (im->position[c] < 0 && !m->of[c].given) add_name(&im->missing, result_column_name(c));
    static const char *const needed[] = {"workload", "device", "timestamp"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        int c = result_column_find(needed[i]);
        if (im->position[c] < 0 && !m->of[c].is_text)
            report_fail(
                e, REPORT_WRONG,
                "'%s' has no column '%s' in line %zu: a map (--map) says what stands for it",
                im->path, needed[i], h->line);
    }
    for (size_t i = 0; i < h->n; i++) {
        int first = position_of(h, h->cells[i]);
        if (!used[first]) add_name(&im->left_out, h->cells[i]);
        if (used[first] && first != (int)i)
            report_fail(e, REPORT_WRONG, "'%s' has two columns '%s'", im->path, h->cells[i]);
    }
    free(used);
}

__attribute__((format(printf, 3, 4))) static void skip(struct importing *im, size_t line,
                                                       const char *why, ...) {
    va_list arguments;
    char text[200];
    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    if (im->skipped++ < REASONS) text_printf(&im->reasons, "    line %zu: %s\n", line, text);
}

/* 2021-03-01T02:00:00Z of what ISO 8601 allows for it, with a blank for the T, seconds or none, and
 * a zone (UTC where none is said), or of seconds since 1970. */
static bool make_timestamp(const char *cell, char out[32]) {
    int year, month, day, hour, minute, n = 0, zone_hour = 0, zone_minute = 0;
    double second = 0;
    char sign = 0, *end;
    time_t t;
    if (sscanf(cell, "%4d-%2d-%2d%*1[T ]%2d:%2d%n", &year, &month, &day, &hour, &minute, &n) == 5) {
        cell += n;
        if (*cell == ':') {
            second = strtod(cell + 1, &end);
            if (end == cell + 1 || !(second >= 0 && second < 61)) return false;
            cell = end;
        }
        while (*cell == ' ') cell++;
        if (*cell == 'Z') {
            cell++;
        } else if (*cell == '+' || *cell == '-') {
            n = 0;
            sign = *cell;
            if (sscanf(cell + 1, "%2d:%2d%n", &zone_hour, &zone_minute, &n) < 2 || !n)
                if (sscanf(cell + 1, "%2d%2d%n", &zone_hour, &zone_minute, &n) < 2 || !n)
                    return false;
            cell += n + 1;
        }
        if (*cell || hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
        struct tm tm = {.tm_year = year - 1900,
                        .tm_mon = month - 1,
                        .tm_mday = day,
                        .tm_hour = hour,
                        .tm_min = minute,
                        .tm_sec = (int)second};
        t = timegm(&tm);
        if (tm.tm_mday != day || tm.tm_mon != month - 1) return false; /* 31 February */
        t -= (sign == '-' ? -1 : 1) * (zone_hour * 3600 + zone_minute * 60);
    } else {
        double seconds = strtod(cell, &end);
        if (end == cell || *end || !(seconds > 1e8 && seconds < 1e11)) return false;
        t = (time_t)seconds;
    }
    struct tm tm;
    return gmtime_r(&t, &tm) && strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0;
}

/* The rows of the batch go where their schema says. */
static void write_batch(struct importing *im, struct report_error *e) {
    struct results *r = &im->rows;
    struct text path = {0}, notes = {0};
    if (r->n && e->status == REPORT_OK) {
        text_printf(&path, "%s/imported_%.0f.csv", im->in->folder, r->rows[0].schema);
        if (result_append_as_is(path.p, r->rows, r->n, &notes, e) == REPORT_OK) im->taken += r->n;
        fputs(text_str(&notes), im->in->err);
    }
    results_free(r);
    text_free(&path);
    text_free(&notes);
}

/* Cells into *row; false after skip. texts keep what is made of them. */
static bool take_cells(struct importing *im, const struct table_row *at, struct result_row *row) {
    for (int c = 0; c < RESULT_COLUMNS; c++) {
        const struct source *s = &im->in->map.of[c];
        const char *cell = s->is_text            ? text_str(&s->from)
                           : im->position[c] < 0 ? ""
                                                 : at->cells[im->position[c]];
        char number[40];
        double value;
        if (s->given && s->factor != 1 && *cell) {
            if (!table_number(cell, &value))
                return skip(im, at->line, "'%.60s' is no number", cell), false;
            snprintf(number, sizeof number, "%.9g", value * s->factor);
            cell = number;
        }
        if (!*cell && !strcmp(result_column_name(c), "status")) cell = "ok";
        if (!*cell && !strcmp(result_column_name(c), "role")) cell = "tuned";
        if (!*cell && !strcmp(result_column_name(c), "schema")) continue; /* the newest */
        if (!result_cell_parse(row, c, cell))
            return skip(im, at->line, "'%.60s' is no %s", cell, result_column_name(c)), false;
    }
    return true;
}

static void import_row(const struct table_row *at, void *context, struct report_error *e) {
    struct importing *im = context;
    if (!im->n_columns) {
        take_header(im, at, e);
        return;
    }
    struct text again = {0};
    table_put_row(&again, at->cells, at->n);
    bool header = !strcmp(again.p, im->header.p);
    text_free(&again);
    if (header) { /* files that were put one behind the other */
        skip(im, at->line, "the header again");
        return;
    }
    if (at->n != im->n_columns) {
        skip(im, at->line, "%zu fields, expected %zu", at->n, im->n_columns);
        return;
    }
    struct result_row row = result_row_new();
    char timestamp[32], run_id[32];
    if (!take_cells(im, at, &row)) return;
    if (!result_columns_of((int)row.schema) || row.schema != (int)row.schema)
        return skip(im, at->line, "schema %g; this program knows 1 to %d", row.schema,
                    RESULT_SCHEMA);
    if (!*row.workload || !*row.device)
        return skip(im, at->line, "no %s", *row.workload ? "device" : "workload");
    if (!make_timestamp(row.timestamp, timestamp))
        return skip(im, at->line, "'%.60s' is no time of day, as 2021-03-01T02:00:00Z",
                    row.timestamp);
    if (im->position[result_column_find("role")] < 0 && row.status == STATUS_ok &&
        !result_row_measured(&row))
        return skip(im, at->line, "no time: median_us is empty or 0");
    row.timestamp = timestamp;
    if (!*row.run_id) {
        size_t n = 0;
        for (const char *p = timestamp; *p; p++)
            if (*p != '-' && *p != ':') run_id[n++] = *p;
        run_id[n] = 0;
        row.run_id = run_id;
    }
    if (!*row.kernel) row.kernel = "program";
    if (!*row.mode) row.mode = "fwd";
    if (!*row.dtype) row.dtype = "f32";
    if (!add_row(&im->in->set, &row)) {
        im->there++;
        return;
    }
    if (im->rows.n && (im->rows.n == BATCH || im->rows.rows[0].schema != row.schema))
        write_batch(im, e);
    results_add(&im->rows, &row);
}

static void only_look(const struct table_row *at, void *context, struct report_error *e) {}

static void say_file(const struct importing *im) {
    FILE *out = im->in->out;
    fprintf(out, "%s: %zu row%s taken, %zu there already, %zu skipped\n", im->path, im->taken,
            im->taken == 1 ? "" : "s", im->there, im->skipped);
    fputs(text_str(&im->reasons), out);
    if (im->skipped > REASONS) fprintf(out, "    and %zu more\n", im->skipped - REASONS);
    say_names(out, "it has no columns", &im->missing);
    say_names(out, "left out, no columns of results", &im->left_out);
}

static void import_file(const char *path, void *context) {
    struct import *in = context;
    struct importing im = {.in = in, .path = path};
    struct report_error e = {0};
    struct table_file f;
    struct text half = {0};
    if (table_open(path, &f, &e) == REPORT_OK) {
        struct table_place from = {0, 1}, end = from;
        if (table_scan(&f, &end, UINT64_MAX, only_look, NULL, &half, &e) == REPORT_OK)
            table_scan(&f, &from, end.offset, import_row, &im, &half, &e);
        table_close(&f);
    }
    write_batch(&im, &e);
    if (e.status == REPORT_OK && !im.n_columns)
        report_fail(&e, REPORT_WRONG, "'%s' is empty", path);
    if (half.n) {
        im.skipped++;
        text_printf(&im.reasons, "    %s", half.p);
    }
    if (e.status == REPORT_OK || im.taken) say_file(&im);
    if (e.status != REPORT_OK) complain(in, &e);
    if (im.skipped && in->status == REPORT_OK) in->status = REPORT_WRONG;
    in->files++;
    in->taken += im.taken, in->there += im.there, in->skipped += im.skipped;
    text_free(&im.header);
    text_free(&im.missing.list);
    text_free(&im.left_out.list);
    text_free(&im.reasons);
    text_free(&half);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void import_path(struct import *in, const char *path) {
    struct stat st;
    struct report_error e = {0};
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        import_file(path, in);
    else if (results_in_folder(path, import_file, in, &e) != REPORT_OK)
        complain(in, &e);
}

/* The folder, under a lock: of two imports at once the second sees what the first has added. */
static int open_folder(const char *path, struct report_error *e) {
    mkdir(path, 0777); /* what fails here fails again below */
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        report_fail(e, REPORT_MACHINE, "cannot open folder '%s': %s", path, strerror(errno));
        return fd;
    }
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) continue;
    return fd;
}

int history_import(const struct import_request *r, FILE *out, FILE *err) {
    struct import in = {.folder = r->folder, .out = out, .err = err};
    struct report_error e = {0};
    if (r->map) read_map(&in.map, r->map, &e);
    int fd = e.status == REPORT_OK ? open_folder(r->folder, &e) : -1;
    if (e.status == REPORT_OK && results_in_folder(r->folder, know_file, &in, &e) == REPORT_OK) {
        for (int i = 0; i < r->n; i++) import_path(&in, r->paths[i]);
        if (in.files > 1)
            fprintf(out, "in all: %zu row%s taken, %zu there already, %zu skipped\n", in.taken,
                    in.taken == 1 ? "" : "s", in.there, in.skipped);
    }
    if (e.status != REPORT_OK) complain(&in, &e);
    if (fd >= 0) close(fd);
    map_free(&in.map);
    free(in.set.slots);
    text_free(&in.set.row);
    return (int)in.status;
}
