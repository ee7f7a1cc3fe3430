/* report.h: one static page from all results. */
#ifndef REPORTS_REPORT_H
#define REPORTS_REPORT_H

#include <stdbool.h>
#include <stdio.h>

struct report_request {
    const char *folder; /* every *.csv of it is read */
    const char
        *out; /* the page; NULL: FOLDER/report/index.html. Of a figure: PREFIX of .svg and .png */
    const char *figure; /* a CSV: draw the figure of one run instead; NULL: write the page */
    const char *run;    /* which; NULL: the last */
    bool json;          /* to out; what people read goes to err then */
};

/* Returns the exit code: 0 fine, 1 a file could not be read (it is left out and said so) or there
 * is no result at all, 2 --figure without a prefix, 3 the page could not be written. */
int report_write(const struct report_request *r, FILE *out, FILE *err);

#endif
