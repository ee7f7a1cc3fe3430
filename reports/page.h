/* page.h: the text of the report's pages. */
#ifndef REPORTS_PAGE_H
#define REPORTS_PAGE_H

#include "reports/figures.h"

struct page {
    const struct model *model;
    const struct workload *workload; /* whose own page; NULL: the overview */
    const char *const *links;        /* of each file of the model, from the page's folder */
    struct figure *figures;          /* their drawing.prefix is FOLDER/figures/NAME */
    size_t n_figures;
    const char *notes;             /* lines: what was left out */
    const struct text *comparison; /* HTML: device against device; NULL: one device */
};

/* Append the page to *html. Every text of a result file is escaped. */
void page_write(struct text *html, const struct page *page);

/* ---- its parts ------------------------------------------------------------------------------- */

/* A figure with its caption: device, driver, dates, revisions, n and intervals of its rows, and
 * links to them, to its PNG and to its script. Where it was not drawn: nothing. */
void put_figure(struct text *html, const struct page *page, const struct figure *f, size_t number);

/* The text of an SVG file of gnuplot's, as part of a page: without its prologue and background, its
 * ids made the page's own by `number`, its colours those of the page's style where that has them.
 */
void put_svg(struct text *html, const char *svg, const char *css_class, const char *alt,
             size_t number);

void put_tiles(struct text *html, const struct page *page);
void put_cases(struct text *html, const struct page *page);
void put_tuning(struct text *html,
                const struct page *page); /* cost, winners and what became of the trials */

#endif
