/* csv_table.c: the only file that knows libcsv. Reads a CSV file row by row, appends whole rows to
 * one.
 *
 *   schema,workload,config           row at line 1: {"schema", "workload", "config"}
 *   1,softmax,"x=1, r=4096"    ->    row at line 2: {"1", "softmax", "x=1, r=4096"}
 *   1,soft                           warning: half-written last row ignored
 *
 * Where a row ends is found here, since libcsv does not say at which byte it is; what stands in it
 * is libcsv's.
 *
 * Appending takes an exclusive flock on the file itself, so any number of processes share one file;
 * every batch is one write(2) to a descriptor in append mode. What can go wrong in between (disk
 * full, a quota, a short write) is undone by cutting the file back to the length it had. */
#define _GNU_SOURCE /* memrchr */
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
#include <xxhash.h>

/* ---- the file as bytes ----------------------------------------------------------------------- */

static int lock(int fd, int how) {
    int r;
    do r = flock(fd, how);
    while (r != 0 && errno == EINTR);
    return r;
}

/* Is the file still the one of that name? While the lock was waited for, merge.c may have put another in its place. */
static bool is_current(int fd, const char *path) {
    struct stat ours, named;
    return fstat(fd, &ours) == 0 && stat(path, &named) == 0 && ours.st_ino == named.st_ino &&
           ours.st_dev == named.st_dev;
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
    } else if (how == LOCK_EX && !is_current(fd, path)) {
        close(fd);
        return open_locked(path, flags, how, e);
    } else {
        return fd;
    }
    if (fd >= 0) close(fd);
    return -1;
}

enum {
    BLOCK = 1 << 20,    /* bytes read at once */
    ROW_MAX = 16 << 20, /* bytes of a row: a quote that nobody closes must not swallow a file */
};

/* The bytes of a file in order, as much of them as is being looked at. */
struct window {
    const struct table_file *file;
    uint64_t next, end; /* in the file: what is read next, and where to stop */
    char *bytes;
    size_t n, cap;
};

static struct window window_at(const struct table_file *f, uint64_t from, uint64_t end) {
    return (struct window){.file = f, .next = from, .end = end < f->size ? end : f->size};
}

/* Read on, behind what is there. False at the end, and after report_fail. */
static bool window_read(struct window *w, struct report_error *e) {
    if (w->next >= w->end) return false;
    size_t most = w->end - w->next < BLOCK ? (size_t)(w->end - w->next) : BLOCK;
    if (w->cap < w->n + most) {
        w->cap = 2 * w->n + most; /* a span of a few rows is not worth a megabyte */
        w->bytes = memory_resize(w->bytes, w->cap, 1);
    }
    ssize_t n;
    do n = pread(w->file->fd, w->bytes + w->n, most, (off_t)w->next);
    while (n < 0 && errno == EINTR);
    if (n < 0) report_fail(e, REPORT_WRONG, "cannot read '%s': %s", w->file->path, strerror(errno));
    if (n <= 0) return false;
    w->n += (size_t)n;
    w->next += (uint64_t)n;
    return true;
}

static void window_drop(struct window *w, size_t n) {
    w->n -= n;
    if (w->n) memmove(w->bytes, w->bytes + n, w->n);
}

/* How far a row has been followed. */
struct row_end {
    size_t seen;  /* bytes, all before the next newline to look at */
    size_t lines; /* newlines among them */
    bool quoted;  /* inside quotes there */
};

static size_t count_byte(const char *p, size_t n, char c) {
    size_t count = 0;
    for (const char *at; (at = memchr(p, c, n)); count++) {
        n -= (size_t)(at + 1 - p);
        p = at + 1;
    }
    return count;
}

/* Does the row that begins at p end within n bytes? r->seen is then its length, newline included.
 * A row ends at a newline that is not inside quotes. */
static bool find_row_end(const char *p, size_t n, struct row_end *r) {
    while (r->seen < n) {
        const char *newline = memchr(p + r->seen, '\n', n - r->seen);
        size_t to = newline ? (size_t)(newline - p) + 1 : n;
        if (count_byte(p + r->seen, to - r->seen, '"') % 2) r->quoted = !r->quoted;
        r->seen = to;
        r->lines += newline != NULL;
        if (newline && !r->quoted) return true;
    }
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum report_status open_as(const char *path, int how, struct table_file *f,
                                  struct report_error *e) {
    struct stat st;
    *f = (struct table_file){.path = path, .fd = open_locked(path, O_RDONLY, how, e)};
    if (f->fd >= 0 && fstat(f->fd, &st) != 0)
        report_fail(e, REPORT_MACHINE, "cannot read '%s': %s", path, strerror(errno));
    if (e->status != REPORT_OK) {
        table_close(f);
        return e->status;
    }
    f->size = (uint64_t)st.st_size;
    f->changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    return REPORT_OK;
}

enum report_status table_open(const char *path, struct table_file *f, struct report_error *e) {
    return open_as(path, LOCK_SH, f, e);
}

enum report_status table_open_alone(const char *path, struct table_file *f,
                                    struct report_error *e) {
    return open_as(path, LOCK_EX, f, e);
}

void table_close(struct table_file *f) {
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
}

/* A row as libcsv takes it apart. */
struct split {
    struct csv_parser parser;
    struct text pool; /* every field, 0-terminated */
    size_t *starts;   /* in pool */
    const char **cells;
    size_t n, cap;
};

static void add_cell(struct split *s, size_t start) {
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 128;
        s->starts = memory_resize(s->starts, s->cap, sizeof *s->starts);
        s->cells = memory_resize(s->cells, s->cap, sizeof *s->cells);
    }
    s->starts[s->n++] = start;
}

static void on_field(void *field, size_t n, void *ctx) {
    struct split *s = ctx;
    add_cell(s, s->pool.n);
    text_write(&s->pool, field ? field : "", n);
    text_write(&s->pool, "", 1);
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* A row with nothing but commas between its cells, as most are, at a fifth of libcsv's time. False
 * if it has more. Blanks around a cell are none of it, as libcsv has it. */
static bool split_plain(struct split *s, const char *p, size_t n) {
    if (memchr(p, '"', n) || memchr(p, '\r', n)) return false;
    if (n && p[n - 1] == '\n') n--;
    size_t blank = 0;
    while (blank < n && is_blank(p[blank])) blank++;
    if (blank == n) return true; /* an empty line */
    text_write(&s->pool, p, n);
    for (size_t at = 0; at <= n;) {
        const char *comma = memchr(s->pool.p + at, ',', n - at);
        size_t end = comma ? (size_t)(comma - s->pool.p) : n, next = end + 1;
        while (at < end && is_blank(s->pool.p[at])) at++;
        while (end > at && is_blank(s->pool.p[end - 1])) end--;
        s->pool.p[end] = 0;
        add_cell(s, at);
        at = next;
    }
    return true;
}

static bool split_row(struct split *s, const char *p, size_t n) {
    s->n = s->pool.n = 0;
    bool fine = split_plain(s, p, n) || (csv_parse(&s->parser, p, n, on_field, NULL, s) == n &&
                                         csv_fini(&s->parser, on_field, NULL, s) == 0);
    for (size_t i = 0; i < s->n; i++) s->cells[i] = s->pool.p + s->starts[i];
    return fine;
}

static void split_free(struct split *s) {
    csv_free(&s->parser);
    text_free(&s->pool);
    free(s->starts);
    free(s->cells);
}

static void take_row(struct split *s, const struct table_file *f, struct table_place at,
                     const char *p, size_t n, table_row_function *on_row, void *context,
                     struct report_error *e) {
    if (memchr(p, 0, n)) {
        report_fail(e, REPORT_WRONG, "'%s', line %zu: a NUL byte: no text, or not UTF-8", f->path,
                    at.line);
    } else if (!split_row(s, p, n)) {
        report_fail(e, REPORT_WRONG, "'%s', line %zu: not valid CSV: %s", f->path, at.line,
                    csv_strerror(csv_error(&s->parser)));
    } else if (s->n) { /* else an empty line */
        struct table_row row = {at.line, at.offset, n, s->n, s->cells};
        on_row(&row, context, e);
    }
}

static const char byte_order_mark[] = "\xef\xbb\xbf";
enum { MARK = sizeof byte_order_mark - 1 };

enum report_status table_scan(const struct table_file *f, struct table_place *at, uint64_t end,
                              table_row_function *on_row, void *context, struct text *warnings,
                              struct report_error *e) {
    struct split s = {0};
    if (csv_init(&s.parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return report_fail(e, REPORT_MACHINE, "cannot start the CSV reader");
    struct window w = window_at(f, at->offset, end);
    size_t done = 0; /* bytes of the window that were whole rows */
    struct row_end row = {0};
    for (;;) {
        if (!at->offset && w.n >= MARK && memcmp(w.bytes, byte_order_mark, MARK) == 0)
            at->offset += MARK, done += MARK;
        if (e->status == REPORT_OK && find_row_end(w.bytes + done, w.n - done, &row)) {
            take_row(&s, f, *at, w.bytes + done, row.seen, on_row, context, e);
            at->offset += row.seen;
            at->line += row.lines;
            done += row.seen;
            row = (struct row_end){0};
            continue;
        }
        if (e->status != REPORT_OK) break;
        window_drop(&w, done);
        done = 0;
        if (w.n > ROW_MAX)
            report_fail(e, REPORT_WRONG, "'%s', line %zu: the row that begins here has no end%s",
                        f->path, at->line, row.quoted ? ": a quote is not closed" : "");
        if (e->status != REPORT_OK || !window_read(&w, e)) break;
    }
    /* Of a half row the start is right: a stray quote that swallows what follows is not. */
    if (e->status == REPORT_OK && w.n &&
        csv_parse(&s.parser, w.bytes, w.n, NULL, NULL, NULL) != w.n)
        report_fail(e, REPORT_WRONG, "'%s', line %zu: not valid CSV: %s", f->path, at->line,
                    csv_strerror(csv_error(&s.parser)));
    if (e->status == REPORT_OK && w.n)
        text_printf(warnings, "line %zu: half-written last row ignored (%zu bytes)\n", at->line,
                    w.n);
    free(w.bytes);
    split_free(&s);
    return e->status;
}

enum report_status table_hash(const struct table_file *f, uint64_t length, uint64_t *hash,
                              struct report_error *e) {
    XXH3_state_t *state = XXH3_createState();
    if (!state) return report_fail(e, REPORT_MACHINE, "out of memory");
    XXH3_64bits_reset(state);
    struct window w = window_at(f, 0, length);
    for (; window_read(&w, e); window_drop(&w, w.n)) XXH3_64bits_update(state, w.bytes, w.n);
    *hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    free(w.bytes);
    return e->status;
}

/* Powers of ten that a double holds exactly. */
static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11};
enum { PLAIN_DIGITS = 15 }; /* that make a whole number below 2^53 */

/* 123.25, as most are: a whole number below 2^53 over a power of ten, both exact, so that their
 * quotient is what strtod says, at a fifth of its time. False if it is written otherwise. */
static bool plain_number(const char *p, double *value) {
    uint64_t whole = 0;
    int digits = 0, behind = -1;
    for (; digits <= PLAIN_DIGITS; p++) {
        if (*p >= '0' && *p <= '9') {
            whole = 10 * whole + (uint64_t)(*p - '0');
            digits++;
            behind += behind >= 0;
        } else if (*p == '.' && behind < 0) {
            behind = 0;
        } else {
            break;
        }
    }
    if (*p || !digits || digits > PLAIN_DIGITS) return false;
    if (behind >= (int)(sizeof powers / sizeof *powers)) return false;
    *value = behind > 0 ? (double)whole / powers[behind] : (double)whole;
    return true;
}

bool table_number(const char *cell, double *value) {
    char *end;
    *value = NAN;
    if (!*cell || plain_number(cell, value)) return true;
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

void table_put_row(struct text *out, const char *const *cells, size_t n) {
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

struct header_check {
    const char *path;
    const char *const *columns;
    size_t n;
};

/* The first row of a file names exactly these columns in this order. */
static void check_header(const struct table_row *row, void *context, struct report_error *e) {
    struct header_check *h = context;
    for (size_t c = 0; c < h->n && c < row->n; c++)
        if (strcmp(row->cells[c], h->columns[c]) != 0)
            report_fail(e, REPORT_WRONG,
                        "'%s' has another header: column %zu is '%s', expected '%s'; nothing "
                        "was written",
                        h->path, c + 1, row->cells[c], h->columns[c]);
    if (row->n != h->n)
        report_fail(e, REPORT_WRONG,
                    "'%s' has another header: %zu columns, expected %zu; nothing was written",
                    h->path, row->n, h->n);
}

/* The header, without the rows behind it; the whole file if it does not end in a newline. */
static enum report_status read_header(const struct table_file *f, struct text *out,
                                      struct report_error *e) {
    struct window w = window_at(f, 0, UINT64_MAX);
    struct row_end row = {0};
    while (!find_row_end(w.bytes, w.n, &row) && w.n <= ROW_MAX && window_read(&w, e)) continue;
    text_write(out, w.bytes ? w.bytes : "", row.seen);
    free(w.bytes);
    return e->status;
}

/* Length of the whole rows at the start of a file. Of blocks without a quote only the last newline
 * is looked for, so that gigabytes take a fraction of a second. */
static enum report_status find_whole(const struct table_file *f, uint64_t *whole,
                                     struct report_error *e) {
    struct window w = window_at(f, 0, UINT64_MAX);
    bool quoted = false;
    *whole = 0;
    for (uint64_t at = 0; window_read(&w, e); at += w.n, w.n = 0) {
        for (size_t i = 0; i < w.n;) {
            const char *quote = memchr(w.bytes + i, '"', w.n - i);
            size_t to = quote ? (size_t)(quote - w.bytes) : w.n;
            const char *newline = quoted ? NULL : memrchr(w.bytes + i, '\n', to - i);
            if (newline) *whole = at + (uint64_t)(newline - w.bytes) + 1;
            if (quote) quoted = !quoted;
            i = to + 1;
        }
    }
    free(w.bytes);
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

enum report_status table_copy(const struct table_file *f, uint64_t length, int to,
                              struct report_error *e) {
    struct window w = window_at(f, 0, length);
    while (window_read(&w, e)) {
        for (size_t done = 0; done < w.n && e->status == REPORT_OK;) {
            ssize_t n = write(to, w.bytes + done, w.n - done);
            if (n < 0 && errno != EINTR)
                report_fail(e, REPORT_MACHINE, "cannot copy '%s': %s", f->path, strerror(errno));
            if (n > 0) done += (size_t)n;
        }
        window_drop(&w, w.n);
    }
    free(w.bytes);
    return e->status;
}

/* Keep the half row that a killed writer left in FILE.damaged, then cut it off. */
static enum report_status move_half_row(const struct table_file *f, uint64_t whole,
                                        struct text *notes, struct report_error *e) {
    size_t n = (size_t)(f->size - whole);
    if (n > ROW_MAX)
        return report_fail(e, REPORT_WRONG,
                           "the last row of '%s' has %zu bytes and no end; nothing was written",
                           f->path, n);
    struct text aside = {0}, line = {0};
    struct window w = window_at(f, whole, UINT64_MAX);
    while (window_read(&w, e)) continue;
    text_write(&line, w.bytes, w.n);
    text_puts(&line, "\n");
    free(w.bytes);
    text_printf(&aside, "%s.damaged", f->path);
    int to = open(aside.p, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    struct stat st;
    if (to < 0 || fstat(to, &st) != 0 || !write_or_undo(to, line.p, line.n, st.st_size))
        report_fail(e, REPORT_MACHINE, "cannot move a half-written row to '%s': %s", aside.p,
                    strerror(errno));
    else if (ftruncate(f->fd, (off_t)whole) != 0)
        report_fail(e, REPORT_MACHINE, "cannot cut a half-written row off '%s': %s", f->path,
                    strerror(errno));
    else if (notes)
        text_printf(notes, "'%s' ended in a half-written row (%zu bytes): moved to '%s'\n", f->path,
                    n, aside.p);
    if (to >= 0) close(to);
    text_free(&line);
    text_free(&aside);
    return e->status;
}

/* The file is ours, or empty, and ends in whole rows when this returns REPORT_OK; *length is then
 * its length. */
static enum report_status prepare(const struct table_file *f, const char *const *columns,
                                  size_t n_columns, uint64_t *length, struct text *notes,
                                  struct report_error *e) {
    struct text first = {0}, header = {0};
    struct split s = {0};
    if (csv_init(&s.parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return report_fail(e, REPORT_MACHINE, "cannot start the CSV reader");
    table_put_row(&header, columns, n_columns);
    if (read_header(f, &first, e) == REPORT_OK) {
        bool half_header = first.n == f->size && first.n < header.n &&
                           memcmp(text_str(&first), header.p, first.n) == 0;
        size_t mark = first.n >= MARK && !memcmp(first.p, byte_order_mark, MARK) ? MARK : 0;
        struct header_check check = {f->path, columns, n_columns};
        if (f->size && !half_header)
            take_row(&s, f, (struct table_place){mark, 1}, first.p + mark, first.n - mark,
                     check_header, &check, e);
        if (e->status == REPORT_OK && find_whole(f, length, e) == REPORT_OK && *length < f->size)
            move_half_row(f, *length, notes, e);
    }
    split_free(&s);
    text_free(&first);
    text_free(&header);
    return e->status;
}

enum report_status table_append(const char *path, const char *const *columns, size_t n_columns,
                                const char *const *cells, size_t n_rows, struct text *notes,
                                struct report_error *e) {
    struct table_file f = {.path = path};
    struct stat st;
    f.fd = open_locked(path, O_RDWR | O_CREAT | O_APPEND, LOCK_EX, e);
    if (f.fd < 0) return e->status;
    uint64_t length = 0;
    if (fstat(f.fd, &st) != 0)
        report_fail(e, REPORT_MACHINE, "cannot read '%s': %s", path, strerror(errno));
    else
        f.size = (uint64_t)st.st_size;
    if (e->status == REPORT_OK && prepare(&f, columns, n_columns, &length, notes, e) == REPORT_OK) {
        struct text batch = {0};
        if (length == 0) table_put_row(&batch, columns, n_columns);
        for (size_t r = 0; r < n_rows; r++) table_put_row(&batch, cells + r * n_columns, n_columns);
        if (batch.n && !write_or_undo(f.fd, batch.p, batch.n, (off_t)length))
            report_fail(e, REPORT_MACHINE, "cannot append to '%s': %s; nothing was written", path,
                        strerror(errno));
        text_free(&batch);
    }
    table_close(&f);
    return e->status;
}
