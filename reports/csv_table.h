/* csv_table.h: a CSV file row by row, and whole rows appended to one by many processes at once.
 *
 * Invariants of a file that only table_append wrote:
 *   T1  the first row is the header; every other row has as many fields;
 *   T2  the file is empty or ends in a newline, unless a writer was killed in its last write: what
 *       follows the last whole row is then a half row, which readers ignore and the next writer
 *       moves aside to FILE.damaged;
 *   T3  a failed append leaves the file as it was;
 *   T4  bytes that were whole rows once stay as they are: a file grows at its end.
 *
 * Nothing here holds a whole file in memory: a file of gigabytes needs a few megabytes. */
#ifndef REPORTS_CSV_TABLE_H
#define REPORTS_CSV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reports/error.h"
#include "reports/text.h"

/* A row where it stands, valid until the function that it was given to returns. */
struct table_row {
    size_t line;     /* of its first byte, from 1; rows may take several */
    uint64_t offset; /* of its first byte in the file */
    size_t length;   /* bytes, the newline included */
    size_t n;
    const char *const *cells;
};

/* A file that is open under a shared lock. */
struct table_file {
    const char *path; /* the caller's */
    int fd;
    uint64_t size;
    int64_t changed_ns; /* when it was written, or renamed, last: no copy that keeps times keeps it */
};

enum report_status table_open(const char *path, struct table_file *f, struct report_error *e);
/* The same under an exclusive lock: whoever appends waits, and appends to what the name then stands for. */
enum report_status table_open_alone(const char *path, struct table_file *f, struct report_error *e);
void table_close(struct table_file *f);
/* Its first `length` bytes to the end of another file. */
enum report_status table_copy(const struct table_file *f, uint64_t length, int to,
                              struct report_error *e);

/* Where a scan begins, and, when it is over, where the whole rows end. */
struct table_place {
    uint64_t offset;
    size_t line; /* 1 at offset 0 */
};

/* To stop, the function fills *e. */
typedef void table_row_function(const struct table_row *row, void *context, struct report_error *e);

/* Call `on_row` for each row from *at to `end` (UINT64_MAX: of the file). A half-written last row
 * is left out, and warnings gets a line. Refused by its line: what is no CSV, a row of over 16 MB,
 * a NUL byte. A byte order mark in front is skipped. */
enum report_status table_scan(const struct table_file *f, struct table_place *at, uint64_t end,
                              table_row_function *on_row, void *context, struct text *warnings,
                              struct report_error *e);

/* Of the first `length` bytes. */
enum report_status table_hash(const struct table_file *f, uint64_t length, uint64_t *hash,
                              struct report_error *e);

/* The number in a cell; an empty one is NAN (not measured). False if the text is something else. */
bool table_number(const char *cell, double *value);

/* A row as table_append writes it, with its newline. */
void table_put_row(struct text *out, const char *const *cells, size_t n);

/* Append n_rows rows of n_columns cells (row by row) under an exclusive lock, in one write, synced
 * to disk; the header is written first if the file is new or empty. Refuses a file with another
 * header. Half a row that a killed writer left is moved to FILE.damaged; notes (may be NULL) then
 * gets a line that says so. */
enum report_status table_append(const char *path, const char *const *columns, size_t n_columns,
                                const char *const *cells, size_t n_rows, struct text *notes,
                                struct report_error *e);

#endif
