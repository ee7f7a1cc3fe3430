/* csv_table.h: a CSV file as a table of strings, and whole rows appended to one by many processes
 * at once.
 *
 * Invariants of a file that only table_append wrote:
 *   T1  the first row is the header; every other row has as many fields;
 *   T2  the file is empty or ends in a newline, unless a writer was killed in its last write: what
 *       follows the last whole row is then a half row, which readers ignore and the next writer
 *       moves aside to FILE.damaged;
 *   T3  a failed append leaves the file as it was.
 *
 * Ownership: a table owns its strings; table_free ends them all. */
#ifndef REPORTS_CSV_TABLE_H
#define REPORTS_CSV_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "reports/error.h"
#include "reports/text.h"

struct table {
    size_t n_columns, n_rows; /* n_rows does not count the header */
    struct text warnings;     /* complete lines: what was ignored while reading */
    /* Private to csv_table.c. */
    struct text pool; /* every field, 0-terminated */
    size_t *cells;    /* offsets into pool, row by row, the header first */
    size_t n_cells, cap_cells;
};

/* Read the file under a shared lock. An empty file is an empty table. Rows of another width are
 * left out with a warning, as is a half-written last row. *t must be freed even after an error. */
enum report_status table_read(const char *path, struct table *t, struct report_error *e);
void table_free(struct table *t);

const char *table_header(const struct table *t, size_t column);
const char *table_cell(const struct table *t, size_t row, size_t column);
int table_column(const struct table *t, const char *name); /* -1 if there is none */

/* The number in a cell; an empty one is NAN (not measured). False if the text is something else. */
bool table_number(const char *cell, double *value);

/* Append n_rows rows of n_columns cells (row by row) under an exclusive lock, in one write, synced
 * to disk; the header is written first if the file is new or empty. Refuses a file with another
 * header. Half a row that a killed writer left is moved to FILE.damaged; notes (may be NULL) then
 * gets a line that says so. */
enum report_status table_append(const char *path, const char *const *columns, size_t n_columns,
                                const char *const *cells, size_t n_rows, struct text *notes,
                                struct report_error *e);

#endif
