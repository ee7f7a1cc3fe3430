/* csv_table.c: the only file that knows libcsv. Reads a CSV file into a table, appends whole rows
 * to one.
 *
 *   schema,workload,config           table_header(t, 1)  = "workload"
 *   1,softmax,"x=1, r=4096"    ->    table_cell(t, 0, 2) = "x=1, r=4096"
 *   1,soft                           warning: half-written last row ignored
 *
 * Appending takes an exclusive flock on the file itself, so any number of processes share one file;
 * every batch is one write(2) to a descriptor in append mode. What can go wrong in between (disk
 * full, a quota, a short write) is undone by cutting the file back to the length it had. */
#include "reports/csv_table.h"

#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file as bytes ----------------------------------------------------------------------- */

static int lock(int fd, int how) {
    int r;
    do r = flock(fd, how);
    while (r != 0 && errno == EINTR);
    return r;
}

/* Open and lock a regular file; -1 after report_fail. Closing the descriptor gives the lock back.
 */
static int open_locked(const char *path, int flags, int how, struct report_error *e) {
    struct stat st;
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0 || fstat(fd, &st) != 0) {
        bool misnamed = errno == ENOENT && !(flags & O_CREAT);
        report_fail(e, misnamed ? REPORT_USAGE : REPORT_WRONG, "cannot open '%s': %s", path,
                    strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        report_fail(e, REPORT_WRONG, "'%s' is not a regular file", path);
    } else if (lock(fd, how) != 0) {
        report_fail(e, REPORT_MACHINE, "cannot lock '%s': %s", path, strerror(errno));
    } else {
        return fd;
    }
    if (fd >= 0) close(fd);
    return -1;
}

static enum report_status read_all(int fd, const char *path, struct text *out,
                                   struct report_error *e) {
    char block[65536];
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, block, sizeof block, at);
        if (n == 0) return REPORT_OK;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return report_fail(e, REPORT_WRONG, "cannot read '%s': %s", path, strerror(errno));
        text_write(out, block, (size_t)n);
        at += n;
    }
}

/* Length of the whole rows at the start of a file: up to the last newline that is not inside
 * quotes. */
static size_t whole_rows(const char *p, size_t n) {
    size_t whole = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '"') quoted = !quoted;
        if (p[i] == '\n' && !quoted) whole = i + 1;
    }
    return whole;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct table *t;
    size_t first; /* cell where the current row begins */
    size_t row;   /* rows seen, the header included */
};

static void on_field(void *field, size_t n, void *ctx) {
    struct table *t = ((struct reading *)ctx)->t;
    if (t->n_cells == t->cap_cells) {
        t->cap_cells = t->cap_cells ? t->cap_cells * 2 : 256;
        t->cells = memory_resize(t->cells, t->cap_cells, sizeof *t->cells);
    }
    t->cells[t->n_cells++] = t->pool.n;
    text_write(&t->pool, field ? field : "", n);
    text_write(&t->pool, "", 1);
}

static void on_row(int terminator, void *ctx) {
    struct reading *r = ctx;
    struct table *t = r->t;
    size_t width = t->n_cells - r->first;
    if (r->row == 0) {
        t->n_columns = width;
    } else if (width == t->n_columns) {
        t->n_rows++;
    } else {
        text_printf(&t->warnings, "row %zu has %zu fields, expected %zu: ignored\n", r->row, width,
                    t->n_columns);
        t->n_cells = r->first;
    }
    r->first = t->n_cells;
    r->row++;
}

static enum report_status parse(const char *path, const char *p, size_t n, struct table *t,
                                struct report_error *e) {
    struct csv_parser parser;
    struct reading r = {.t = t};
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return report_fail(e, REPORT_MACHINE, "cannot start the CSV reader");
    if (csv_parse(&parser, p, n, on_field, on_row, &r) != n ||
        csv_fini(&parser, on_field, on_row, &r) != 0)
        report_fail(e, REPORT_WRONG, "'%s' is not valid CSV near row %zu: %s", path, r.row,
                    csv_strerror(csv_error(&parser)));
    csv_free(&parser);
    return e->status;
}

enum report_status table_read(const char *path, struct table *t, struct report_error *e) {
    *t = (struct table){0};
    int fd = open_locked(path, O_RDONLY, LOCK_SH, e);
    if (fd < 0) return e->status;
    struct text file = {0};
    if (read_all(fd, path, &file, e) == REPORT_OK) {
        size_t whole = whole_rows(text_str(&file), file.n);
        if (whole < file.n)
            text_printf(&t->warnings, "half-written last row ignored (%zu bytes)\n",
                        file.n - whole);
        parse(path, text_str(&file), whole, t, e);
    }
    text_free(&file);
    close(fd);
    return e->status;
}

void table_free(struct table *t) {
    free(t->cells);
    text_free(&t->pool);
    text_free(&t->warnings);
    *t = (struct table){0};
}

const char *table_header(const struct table *t, size_t column) {
    return t->pool.p + t->cells[column];
}

const char *table_cell(const struct table *t, size_t row, size_t column) {
    return t->pool.p + t->cells[(row + 1) * t->n_columns + column];
}

int table_column(const struct table *t, const char *name) {
    for (size_t c = 0; c < t->n_columns; c++)
        if (strcmp(table_header(t, c), name) == 0) return (int)c;
    return -1;
}

bool table_number(const char *cell, double *value) {
    char *end;
    *value = NAN;
    if (!*cell) return true;
    *value = strtod(cell, &end);
    return !*end && end != cell && isfinite(*value);
}

/* ---- appending ------------------------------------------------------------------------------- */

/* Quoted only where it must be, so that a result file stays easy to read and to diff. libcsv trims
 * blanks around a plain field, so a field with blanks at its ends is quoted as well. */
static bool needs_quotes(const char *s) {
    size_t n = strlen(s);
    return strpbrk(s, ",\"\r\n") || (n && (strchr(" \t", s[0]) || strchr(" \t", s[n - 1])));
}

static void put_row(struct text *out, const char *const *cells, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *s = cells[i] ? cells[i] : "";
        if (i) text_puts(out, ",");
        if (needs_quotes(s)) {
            size_t len = csv_write(NULL, 0, s, strlen(s));
            char *quoted = memory_resize(NULL, len, 1);
            csv_write(quoted, len, s, strlen(s));
            text_write(out, quoted, len);
            free(quoted);
        } else {
            text_puts(out, s);
        }
    }
    text_puts(out, "\n");
}

/* REPORT_OK if the first row of the file names exactly these columns in this order. */
static enum report_status check_header(const char *path, const char *p, size_t n,
                                       const char *const *columns, size_t n_columns,
                                       struct report_error *e) {
    struct table t = {0};
    const char *newline = memchr(p, '\n', n);
    size_t length = newline ? (size_t)(newline - p) + 1 : n;
    if (parse(path, p, length, &t, e) == REPORT_OK) {
        for (size_t c = 0; c < n_columns && c < t.n_columns; c++)
            if (strcmp(table_header(&t, c), columns[c]) != 0)
                report_fail(e, REPORT_WRONG,
                            "'%s' has another header: column %zu is '%s', expected '%s'; nothing "
                            "was written",
                            path, c + 1, table_header(&t, c), columns[c]);
        if (t.n_columns != n_columns)
            report_fail(e, REPORT_WRONG,
                        "'%s' has another header: %zu columns, expected %zu; nothing was written",
                        path, t.n_columns, n_columns);
    }
    table_free(&t);
    return e->status;
}

/* Bytes p[0..n) to the end of the descriptor in one call; false with errno set, and the file cut
 * back to `length`. */
static bool write_or_undo(int fd, const char *p, size_t n, off_t length) {
    ssize_t done;
    do done = write(fd, p, n);
    while (done < 0 && errno == EINTR);
    if (done >= 0 && (size_t)done < n) errno = ENOSPC;
    if (done == (ssize_t)n && fsync(fd) == 0) return true;
    int why = errno;
    if (ftruncate(fd, length) != 0) why = errno;
    errno = why;
    return false;
}

/* Keep the half row that a killed writer left in FILE.damaged, then cut it off. */
static enum report_status move_half_row(int fd, const char *path, const char *p, size_t n,
                                        off_t whole, struct text *notes, struct report_error *e) {
    struct text aside = {0};
    text_printf(&aside, "%s.damaged", path);
    int to = open(aside.p, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    struct stat st;
    struct text line = {0};
    text_write(&line, p, n);
    text_puts(&line, "\n");
    if (to < 0 || fstat(to, &st) != 0 || !write_or_undo(to, line.p, line.n, st.st_size))
        report_fail(e, REPORT_MACHINE, "cannot move a half-written row to '%s': %s", aside.p,
                    strerror(errno));
    else if (ftruncate(fd, whole) != 0)
        report_fail(e, REPORT_MACHINE, "cannot cut a half-written row off '%s': %s", path,
                    strerror(errno));
    else if (notes)
        text_printf(notes, "'%s' ended in a half-written row (%zu bytes): moved to '%s'\n", path, n,
                    aside.p);
    if (to >= 0) close(to);
    text_free(&line);
    text_free(&aside);
    return e->status;
}

/* The file is ours, or empty, and ends in whole rows when this returns REPORT_OK; *length is then
 * its length. */
static enum report_status prepare(int fd, const char *path, const char *const *columns,
                                  size_t n_columns, off_t *length, struct text *notes,
                                  struct report_error *e) {
    struct text file = {0}, header = {0};
    put_row(&header, columns, n_columns);
    if (read_all(fd, path, &file, e) == REPORT_OK) {
        const char *p = text_str(&file);
        size_t whole = whole_rows(p, file.n), half = file.n - whole;
        bool half_header = !whole && half < header.n && memcmp(p, header.p, half) == 0;
        if (file.n && !half_header) check_header(path, p, file.n, columns, n_columns, e);
        if (e->status == REPORT_OK && half)
            move_half_row(fd, path, p + whole, half, (off_t)whole, notes, e);
        *length = (off_t)whole;
    }
    text_free(&file);
    text_free(&header);
    return e->status;
}

enum report_status table_append(const char *path, const char *const *columns, size_t n_columns,
                                const char *const *cells, size_t n_rows, struct text *notes,
                                struct report_error *e) {
    int fd = open_locked(path, O_RDWR | O_CREAT | O_APPEND, LOCK_EX, e);
    if (fd < 0) return e->status;
    off_t length = 0;
    if (prepare(fd, path, columns, n_columns, &length, notes, e) == REPORT_OK) {
        struct text batch = {0};
        if (length == 0) put_row(&batch, columns, n_columns);
        for (size_t r = 0; r < n_rows; r++) put_row(&batch, cells + r * n_columns, n_columns);
        if (batch.n && !write_or_undo(fd, batch.p, batch.n, length))
            report_fail(e, REPORT_MACHINE, "cannot append to '%s': %s; nothing was written", path,
                        strerror(errno));
        text_free(&batch);
    }
    close(fd);
    return e->status;
}
