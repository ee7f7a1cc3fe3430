/* page.c: model and figures -> the HTML of the overview, or of a workload's own page.
 *
 *   device "A<B>"  ->  <td>A&lt;B&gt;</td>
 *
 * One file holds all of a page: style, script and figures. The script sorts and filters the table
 * of cases; without it the page says the same. */
#include "reports/page.h"

#include <stdio.h>
#include <string.h>

#include "reports/embed.h"

EMBED(page_style, "reports/page.css");
EMBED(page_script, "reports/page.js");
extern const char page_style[], page_script[];

static void put_head(struct text *h, const char *title) {
    text_puts(h, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
                 "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<link "
                 "rel=icon href=\"data:,\">\n"
                 "<title>");
    text_html(h, title);
    text_puts(h, "</title>\n<style>\n");
    text_puts(h, page_style);
    text_puts(h, "</style>\n</head>\n<body>\n");
}

/* The distinct values of a column of all rows: "A, B". */
static void put_distinct(struct text *h, const struct model *m, size_t offset) {
    const char *seen[12];
    size_t n = 0, last = 0;
    bool more = false;
    for (size_t f = 0; f < m->n_files; f++)
        for (size_t i = 0; i < m->files[f].n; i++) {
            const char *value = *(const char *const *)((const char *)&m->files[f].rows[i] + offset);
            if (!value || !*value || (n && !strcmp(seen[last], value)))
                continue; /* mostly the one before it */
            size_t k = 0;
            while (k < n && strcmp(seen[k], value) != 0) k++;
            if (k == n && n == sizeof seen / sizeof *seen) {
                more = true;
                continue;
            }
            if (k == n) seen[n++] = value;
            last = k;
        }
    for (size_t k = 0; k < n; k++) {
        if (k) text_puts(h, ", ");
        text_html(h, seen[k]);
    }
    if (more) text_puts(h, " and more");
    if (!n) text_puts(h, "not recorded");
}

/* The device that was measured last: its newest date and how many cases it has. */
static void put_devices(struct text *h, const struct model *m) {
    for (size_t d = 0; d < m->n_devices; d++) {
        size_t cases = 0;
        const char *newest = "";
        for (size_t i = 0; i < m->n; i++) {
            const struct case_ *c = &m->cases[i];
            if (strcmp(c->bench->key->device, m->devices[d]) != 0) continue;
            cases++;
            if (c->ours && strcmp(c->ours->timestamp, newest) > 0) newest = c->ours->timestamp;
        }
        text_puts(h, d ? "; <b>" : "<b>");
        text_html(h, m->devices[d]);
        text_printf(h, "</b>, %zu case%s, newest of %.10s", cases, cases == 1 ? "" : "s",
                    *newest ? newest : "no date");
    }
}

static void put_overview_head(struct text *h, const struct page *p) {
    const struct model *m = p->model;
    const char *first = NULL, *last = NULL; /* ISO 8601 sorts as text */
    size_t rows = 0;
    for (size_t f = 0; f < m->n_files; f++) {
        rows += m->files[f].n_in_file;
        for (size_t i = 0; i < m->files[f].n; i++) {
            const char *t = m->files[f].rows[i].timestamp;
            if (*t && (!first || strcmp(t, first) < 0)) first = t;
            if (*t && (!last || strcmp(t, last) > 0)) last = t;
        }
    }
    text_puts(h, "<h1>warpsmith: results</h1>\n<p>");
    put_devices(h, m);
    text_puts(h, "</p>\n<p class=facts>driver ");
    put_distinct(h, m, offsetof(struct result_row, driver));
    text_puts(h, " · compiled by ");
    put_distinct(h, m, offsetof(struct result_row, toolchain));
    text_puts(h, " · ");
    text_html(h, first ? first : "no date");
    text_puts(h, " to ");
    text_html(h, last ? last : "no date");
    text_puts(h, " · ");
    put_thousands(h, (double)rows, 0);
    text_printf(h, " row%s in %zu file%s · %zu case%s</p>\n", rows == 1 ? "" : "s", m->n_files,
                m->n_files == 1 ? "" : "s", m->n, m->n == 1 ? "" : "s");
    if (*p->notes) {
        text_puts(h, "<p class=bad role=status>");
        text_html(h, p->notes);
        text_puts(h, "</p>\n");
    }
}

static void put_contents(struct text *h, const struct page *p) {
    text_puts(h, "<nav aria-label=Contents>");
    bool tracked = false; /* one link to all histories, too */
    bool searched =
        false; /* one link leads to the searches, of which there may be one for each size */
    if (p->workload) text_puts(h, "<a href=\"index.html\">All workloads</a>");
    for (size_t i = 0; i < p->n_figures; i++) {
        const char *id = text_str(&p->figures[i].id);
        bool search = !strncmp(id, "tuning", 6), history = !strncmp(id, "history", 7);
        if (!p->figures[i].drawing.drawn || !strcmp(id, "devices") || (search && searched) ||
            (history && tracked))
            continue;
        searched |= search;
        tracked |= history;
        text_printf(h, "<a href=\"#%s\">", id);
        text_html(h, search ? "Searches" : history ? "History" : text_str(&p->figures[i].title));
        text_puts(h, "</a>");
    }
    if (p->comparison) text_puts(h, "<a href=\"#devices-all\">Device against device</a>");
    text_puts(
        h,
        "<a href=\"#all\">Table of cases</a><a href=\"#tuning-cost\">Cost of tuning</a></nav>\n");
}

void page_write(struct text *h, const struct page *p) {
    struct text title = {0};
    if (p->workload)
        text_printf(&title, "%s: warpsmith", p->workload->name);
    else
        text_puts(&title, "warpsmith: results");
    put_head(h, title.p);
    text_free(&title);
    if (p->workload) {
        put_contents(h, p);
        text_puts(h, "<h1>");
        text_html(h, p->workload->name);
        text_puts(h, "</h1>\n");
    } else {
        put_overview_head(h, p);
        put_contents(h, p);
    }
    text_puts(h, "<main>\n");
    put_tiles(h, p);
    for (size_t i = 0; i < p->n_figures; i++)
        if (strcmp(text_str(&p->figures[i].id), "devices") != 0)
            put_figure(h, p, &p->figures[i], i);
    if (p->comparison) {
        text_puts(h, "<section id=devices-all><h2>Device against device</h2>\n");
        for (size_t i = 0; i < p->n_figures; i++)
            if (!strcmp(text_str(&p->figures[i].id), "devices"))
                put_figure(h, p, &p->figures[i], i);
        text_puts(h, text_str(p->comparison));
        text_puts(h, "</section>\n");
    }
    put_cases(h, p);
    put_tuning(h, p);
    text_puts(h, "</main>\n<script>\n");
    text_puts(h, page_script);
    text_puts(h, "</script>\n</body>\n</html>\n");
}
