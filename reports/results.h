/* results.h: a result file as typed rows. The columns are in columns.def. */
#ifndef REPORTS_RESULTS_H
#define REPORTS_RESULTS_H

#include "reports/csv_table.h"
#include "reports/text_set.h"

enum { RESULT_SCHEMA = 9 }; /* the newest of columns.def */

enum result_status {
#define STATUS(name) STATUS_##name,
#include "reports/columns.def"
    STATUS_COUNT
};

enum result_role {
#define ROLE(name, shown) ROLE_##name,
#include "reports/columns.def"
    ROLE_COUNT
};

const char *result_status_name(enum result_status s);
const char *result_role_name(enum result_role r);  /* in files and JSON: eager */
const char *result_role_shown(enum result_role r); /* where people read: unfused */

#define COLUMN_TYPE_TEXT const char *
#define COLUMN_TYPE_COUNT double
#define COLUMN_TYPE_REAL double
#define COLUMN_TYPE_STATUS enum result_status
#define COLUMN_TYPE_ROLE enum result_role

/* Texts may be NULL (written empty; read back as ""); numbers are NAN where not measured. */
struct result_row {
#define COLUMN(kind, name) COLUMN_TYPE_##kind name;
#include "reports/columns.def"
};

/* A row with the schema set, texts empty and every number not measured. */
struct result_row result_row_new(void);

/* The row was measured: status ok and a time. */
bool result_row_measured(const struct result_row *r);
/* The row as it was before schema 3: times are those of its kernels, without the gaps between. */
struct result_row result_row_without_gaps(const struct result_row *r);

/* Append n rows, all or none. Creates the file, not its folder. A file of an older schema stays of
 * that schema. notes as in table_append, and what such a file will not have, if n is 0. */
enum report_status result_append(const char *path, const struct result_row *rows, size_t n,
                                 struct text *notes, struct report_error *e);

/* Of a row what years of nights are judged by, at an eighth of its bytes. */
struct result_brief {
    const struct result_row *like; /* a row of the same benchmark, role, kernel, host, driver,
                                      toolchain, timer, throttle and schema, for these alone */
    const char *run_id, *timestamp, *git_rev;
    double median_us, scatter, clock_mhz, temp_c; /* scatter: row_scatter of estimate.h */
    enum result_status status;
};
/* Which refers to the row. */
struct result_brief result_brief_of(const struct result_row *r);
bool result_brief_measured(const struct result_brief *b); /* as result_row_measured */

struct results {
    struct result_row *rows; /* in the order of the file */
    size_t n;
    struct result_brief *briefs; /* of rows that are not among these, in the order of the file */
    size_t n_briefs;
    struct result_row **like; /* what these are like, ... */
    struct text_set likes;    /* ... by the number of its texts, ... */
    struct text key;          /* ... as they were put together last */
    size_t n_in_file;         /* rows of the file, of which these may be some */
    struct {
        size_t n_columns;
        struct text warnings; /* complete lines: what was left out */
    } table;
    struct text_set texts; /* those of the rows */
};

/* All rows. Columns may stand in any order, but none of the file's schema may be missing, and none
 * unknown. Rows of another width are left out, with a warning. *r must be freed even after an
 * error. */
enum report_status results_read(const char *path, struct results *r, struct report_error *e);
void results_free(struct results *r);

/* Call on_file for each FOLDER/NAME.csv, by name. */
enum report_status results_in_folder(const char *folder,
                                     void (*on_file)(const char *path, void *context),
                                     void *context, struct report_error *e);

/* ---- row by row ------------------------------------------------------------------------------ */

enum {
    RESULT_COLUMNS = 0
#define COLUMN(kind, name) +1
#include "reports/columns.def"
};

/* Which column of a file is which; {.path, .warnings} before its header is read. */
struct result_reader {
    const char *path;
    struct text *warnings;
    const struct result_schema *schema; /* NULL: no header yet */
    int position[RESULT_COLUMNS];
    size_t n_columns, n_ignored;
};

/* The header, or a row, as table_scan hands it over. True if *out now is the row; its texts live as
 * long as the cells do. */
bool result_reader_take(struct result_reader *r, const struct table_row *row,
                        struct result_row *out, struct report_error *e);
size_t result_reader_columns(const struct result_reader *r); /* of its schema */
int result_reader_schema(const struct result_reader *r);
/* The first line of a file of this schema. */
void result_put_header(struct text *out, int schema);
/* Add the row, its texts kept. */
void results_add(struct results *r, const struct result_row *row);
void results_add_brief(struct results *r, const struct result_row *row);
/* For table_scan, whose context it is: adds each row that the reader takes. */
struct results_reading {
    struct result_reader reader;
    struct results *results;
};
void results_read_row(const struct table_row *row, void *reading, struct report_error *e);

/* ---- column by column: for what is no result file, or one of another program's --------------- */

int result_column_find(const char *name); /* its number; -1: there is none */
const char *result_column_name(int column);
int result_columns_of(int schema); /* how many it has; 0: there is no such schema */
/* False if the cell is no number, or no word of the column's. */
bool result_cell_parse(struct result_row *r, int column, const char *cell);

/* The row as it stands in a file of its schema, with a newline. */
void result_row_put(struct text *out, const struct result_row *r);
/* Append rows that are all of the first one's schema, as they are, to a file of that schema. */
enum report_status result_append_as_is(const char *path, const struct result_row *rows, size_t n,
                                       struct text *notes, struct report_error *e);

#endif
