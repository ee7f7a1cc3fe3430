/* report_page.h: the text of the report page. */
#ifndef REPORTS_REPORT_PAGE_H
#define REPORTS_REPORT_PAGE_H

#include "reports/benches.h"

struct report_page {
    const struct results *files; /* n_files of them */
    size_t n_files;
    const struct benches *benches;
    const char *speedup_svg, *roofline_svg; /* whole SVG files, or NULL */
    const char *notes;                      /* lines: what was left out */
};

/* Append the page to *html. Every text of a result file is escaped. */
void report_page(struct text *html, const struct report_page *page);

#endif
