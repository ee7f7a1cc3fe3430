/* row_index.h: the result files of a folder as one, and where the rows of each benchmark and run
 * are in them, so that what does not need all rows reads those that it needs.
 *
 * The CSVs are the truth. The index is an SQLite file beside them, FOLDER/.warpsmith-index.db, or
 * in memory where they are small, or where none can be written. Of each CSV it knows the size, when
 * it was changed last and a hash of its whole rows: a file that only grew is read from where it
 * ended, one that changed otherwise is read anew, one that is gone is forgotten. An index that is
 * damaged, of another version, or does not say what the CSVs do, is made anew, and one that is
 * deleted, too. All rows are judged as results_read does, whether they are wanted or not. */
#ifndef REPORTS_ROW_INDEX_H
#define REPORTS_ROW_INDEX_H

#include "reports/results.h"

#define ROW_INDEX_NAME ".warpsmith-index.db"
enum { ROW_INDEX_FROM = 32 << 20 }; /* bytes of CSV from which it is worth a file beside them */

/* Rows of whole programs are wanted, ours and PyTorch's, but for those of old runs; the variants of
 * each benchmark's newest run that has any; or, with programs_alone, all of our programs, and these
 * in brief. */
struct row_choice {
    bool programs_alone;
    size_t most;        /* rows of programs, about; older runs are left out from there on */
    uint64_t file_from; /* bytes from which there is a file; ROW_INDEX_FROM */
    /* found */
    size_t runs;     /* newest runs of each benchmark that are in, */
    bool all;        /* which are all */
    size_t n_parsed; /* rows that the index did not know */
};

/* Calls on_file for each FOLDER/NAME.csv, by name: with its wanted rows, in its order, and its
 * warnings, or with what is wrong with it. It takes the results over, and frees them. notes gets a
 * line where no index can be kept. */
typedef void row_file_function(const char *path, struct results *r, const struct report_error *own,
                               void *context);
enum report_status row_index_read(const char *folder, struct row_choice *choice,
                                  row_file_function *on_file, void *context, struct text *notes,
                                  struct report_error *e);

#endif
