/* import.h: `warpsmith history import`: rows of other CSVs into a folder of results.
 *
 * A column counts by its name, in any order: one that results do not have is left out, one that is
 * missing is empty, or what MAP says. A row is taken if it has a workload, a device and a time of
 * day, and, in a file without roles, a time. What else is empty is what it is most often: a tuned
 * program's fwd in f32, ok; its run is named by its time of day.
 *
 * MAP is a text with a line for each column that is not found by its name:
 *
 *   workload  = benchmark             # the cell of that column
 *   median_us = mean (ns) * 0.001     # that number, in other units
 *   device    = "Tesla V100"          # this text, in every row
 *
 * Rows go to FOLDER/imported_N.csv, N being their schema: what times mean depends on it. One that is
 * in any CSV of the folder already, cell by cell, is not added again. */
#ifndef REPORTS_IMPORT_H
#define REPORTS_IMPORT_H

#include <stdio.h>

struct import_request {
    const char *folder, *map; /* map: NULL: none */
    const char *const *paths; /* CSV files, and folders of them */
    int n;
};

/* Says what it took, what it skipped, and why. Returns the exit code: 0; 1, a file or a row was
 * refused; 2, no such file or a wrong map; 3, the folder cannot be written. */
int history_import(const struct import_request *r, FILE *out, FILE *err);

#endif
