/* report.h: one static page from all results. */
#ifndef REPORTS_REPORT_H
#define REPORTS_REPORT_H

#include <stdio.h>

/* `warpsmith report [--results results] [--out results/report/index.html]`; argv[0] is "report".
 * Reads every *.csv of the folder. Returns the exit code: 0 fine, 1 a file could not be read (it is
 * left out and said so) or there is no result at all, 2 usage, 3 the page could not be written. */
int report_command(int argc, char **argv, FILE *out, FILE *err);
int report_main(int argc, char **argv);

#endif
