/* merge.h: result files of several hosts or devices become one folder of them.
 *
 *   a/softmax.csv: r1 r2    b/softmax.csv: r2 r3    DIR/softmax.csv: r1    ->    DIR/softmax.csv: r1 r2 r3
 *
 * Files meet by name. A row that is in several of them is one row: to merge a second time, or what was merged in part,
 * adds nothing twice. A file with the same row twice has two.
 *
 *   M1  all files or none: each new file is whole beside the old one before the first takes its place. A process that is
 *       killed between two of these leaves whole files, and merging again does the rest;
 *   M2  what a file of the folder had stays, byte for byte, in front (csv_table.h, T4);
 *   M3  one measurement (run, host, device, benchmark, kernel, config, role) with one set of rows here and another there,
 *       neither a part of the other, is a conflict: each is said, and nothing is written. */
#ifndef REPORTS_MERGE_H
#define REPORTS_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "reports/error.h"
#include "reports/text.h"

struct merge_request {
    const char *const *inputs; /* folders and .csv files */
    size_t n;
    const char *folder; /* is there */
    bool
        apart; /* every input is known to be measured by itself: equal rows in two of them are two, and nothing is a
                   conflict */
};

struct merged {
    size_t n_files;      /* written */
    size_t n_new, n_old; /* rows of the inputs that the folder had not, and had */
};

/* notes: complete lines about what was left out. WRONG: a conflict, or a file that is none of ours; MACHINE: it cannot be
 * written. */
enum report_status merge_results(const struct merge_request *r, struct merged *out,
                                 struct text *notes, struct report_error *e);

#endif
