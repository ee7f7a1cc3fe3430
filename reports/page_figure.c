/* page_figure.c: a figure of the page: gnuplot's SVG as a part of it, and the caption.
 *
 *   <path stroke='rgb( 47, 109, 158)' .../>   ->   <path stroke='var(--x2f6d9e,#2f6d9e)' .../>
 *
 * so that the page's style can give another colour in the dark. */
#include "reports/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- SVG ------------------------------------------------------------------------------------- */

static bool starts(const char *p, const char *with) {
    return *p == *with && strncmp(p, with, strlen(with)) == 0;
}

/* rgb(47, 109, 158) at p; its length, or 0. */
static size_t read_colour(const char *p, unsigned *colour) {
    char text[32] = ""; /* sscanf looks for the end of what it is given, which may be megabytes */
    int r, g, b, n = 0;
    strncpy(text, p, sizeof text - 1);
    if (sscanf(text, "rgb(%d ,%d ,%d)%n", &r, &g, &b, &n) != 3 || n == 0) return 0;
    *colour = (unsigned)(r & 255) << 16 | (unsigned)(g & 255) << 8 | (unsigned)(b & 255);
    return (size_t)n;
}

/* What a piece at p becomes; its length in the file, 0: it stays. */
static size_t put_changed(struct text *out, const char *p, size_t number) {
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"color=\"black\"", ""},
        {"color=\"#FFFFFF\"", ""},
        {"stroke='black'", "stroke='currentColor'"},
        {"fill=\"black\"", "fill=\"currentColor\""},
        {" font-family=\"sans-serif\"", ""},
        {" stroke-width=\"1.00\" stroke-linecap=\"butt\" stroke-linejoin=\"miter\"", ""}};
    unsigned colour;
    size_t n;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (starts(p, changes[i].from)) {
            text_puts(out, changes[i].to);
            return strlen(changes[i].from);
        }
    if (*p == 'r' && (n = read_colour(p, &colour)) > 0) {
        text_printf(out, "var(--x%06x,#%06x)", colour, colour);
        return n;
    }
    if (starts(p, "id='") || starts(p, "id=\"")) {
        text_printf(out, "id=%cf%zu", p[3], number);
        return 4;
    }
    if (starts(p, "href='#")) {
        text_printf(out, "href='#f%zu", number);
        return 7;
    }
    if (starts(p, "url(#")) {
        text_printf(out, "url(#f%zu", number);
        return 5;
    }
    if (starts(p, "<title>"))
        return strcspn(p + 7, "<") + 7 + strlen("</title>"); /* gnuplot's: a line of its script */
    if (starts(p, "<rect x=\"0\" y=\"0\"") && strstr(p, "/>"))
        return (size_t)(strstr(p, "/>") - p) + 2;
    return 0;
}

/* A group of nothing between > and </g>, as gnuplot writes many: its length. */
static size_t empty_group(const char *p) {
    if (!starts(p, "<g ")) return 0;
    const char *end = strchr(p, '>');
    if (!end) return 0;
    end++;
    end += strspn(end, "\n\t ");
    return starts(end, "</g>") ? (size_t)(end - p) + 4 : 0;
}

void put_svg(struct text *html, const char *svg, const char *css_class, const char *alt,
             size_t number) {
    const char *open = strstr(svg, "<svg"), *box = open ? strstr(open, "viewBox=\"0 0 ") : NULL;
    const char *body = open ? strchr(open, '>') : NULL, *end = body ? strstr(body, "</svg>") : NULL;
    double width = 0, height = 0;
    if (!end || !box || sscanf(box, "viewBox=\"0 0 %lf %lf\"", &width, &height) != 2) return;
    text_printf(
        html,
        "<svg class=%s role=img width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" aria-label=\"",
        css_class, width, height, width, height);
    text_html(html, alt);
    text_puts(html, "\">");
    for (const char *p = body + 1; p < end;) {
        size_t n = empty_group(p);
        if (!n) n = put_changed(html, p, number);
        if (n) {
            p += n;
            continue;
        }
        bool blank = *p == '\n' || *p == '\t';
        if (starts(p, "<desc>")) {
            p = strstr(p, "</desc>") + strlen("</desc>");
        } else {
            if (!blank || (p[1] != '\n' && p[1] != '\t')) text_write(html, blank ? "\n" : p, 1);
            p++;
        }
    }
    text_puts(html, "</svg>");
}

static struct text read_text(const char *prefix, const char *suffix) {
    struct text path = {0}, out = {0};
    char block[4096];
    text_printf(&path, "%s%s", prefix, suffix);
    FILE *f = fopen(path.p, "r");
    for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;) text_write(&out, block, n);
    if (f) fclose(f);
    text_free(&path);
    return out;
}

/* ---- caption --------------------------------------------------------------------------------- */

/* The distinct values of a text column in the rows, "A, B and 3 more". */
static void put_distinct(struct text *out, const struct figure *f, size_t offset, size_t most) {
    const char *seen[16];
    size_t n = 0, more = 0;
    for (size_t i = 0; i < f->n_rows; i++) {
        const char *value = *(const char *const *)((const char *)f->rows[i] + offset);
        if (!value || !*value) continue;
        size_t k = 0;
        while (k < n && strcmp(seen[k], value) != 0) k++;
        if (k < n) continue;
        if (n == sizeof seen / sizeof *seen)
            more++;
        else
            seen[n++] = value;
    }
    if (!n) text_puts(out, "not recorded");
    for (size_t i = 0; i < n && i < most; i++) {
        if (i) text_puts(out, ", ");
        text_html(out, seen[i]);
    }
    if (n > most || more) text_printf(out, " and %zu%s more", n - most, more ? "+" : "");
}

/* "n 30 to 262 · median ±0.1 to 1.6 %" */
static void put_ranges(struct text *out, const struct figure *f) {
    double n_low = INFINITY, n_high = 0, low = INFINITY, high = 0;
    const char *first = NULL, *last = NULL;
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct result_row *r = f->rows[i];
        if (r->timestamp && *r->timestamp) {
            if (!first || strcmp(r->timestamp, first) < 0) first = r->timestamp;
            if (!last || strcmp(r->timestamp, last) > 0) last = r->timestamp;
        }
        if (!result_row_measured(r)) continue;
        double share = 100 * row_half_us(r) / r->median_us;
        if (r->n > 0) n_low = fmin(n_low, r->n), n_high = fmax(n_high, r->n);
        if (isfinite(share)) low = fmin(low, share), high = fmax(high, share);
    }
    text_printf(out, " · %.10s", first ? first : "no date");
    if (first && strncmp(first, last, 10) != 0) text_printf(out, " to %.10s", last);
    if (n_high > n_low)
        text_printf(out, " · n %.0f to %.0f", n_low, n_high);
    else if (n_high > 0)
        text_printf(out, " · n %.0f", n_high);
    if (isfinite(low))
        text_printf(out, " · 95&nbsp;%% of the median: ±%.2g to ±%.2g&nbsp;%%", low, high);
    else
        text_puts(out, " · intervals not recorded");
}

/* Links to the files that hold the rows. */
static void put_sources(struct text *out, const struct page *p, const struct figure *f) {
    const struct model *m = p->model;
    size_t n = 0;
    struct text links = {0};
    for (size_t k = 0; k < m->n_files; k++) {
        size_t count = 0;
        const struct result_row *rows = m->files[k].rows;
        for (size_t i = 0; i < f->n_rows; i++)
            count += f->rows[i] >= rows && f->rows[i] < rows + m->files[k].n;
        if (!count) continue;
        const char *slash = strrchr(p->links[k], '/');
        text_puts(&links, n++ ? ", <a href=\"" : "<a href=\"");
        text_html(&links, p->links[k]);
        text_puts(&links, "\">");
        text_html(&links, slash ? slash + 1 : p->links[k]);
        text_printf(&links, "</a> (%zu)", count);
    }
    if (n > 3)
        text_printf(out, "<details><summary>%zu rows of %zu files</summary>%s</details>", f->n_rows,
                    n, links.p);
    else
        text_printf(out, " · rows: %s", text_str(&links));
    text_free(&links);
}

void put_figure(struct text *html, const struct page *p, const struct figure *f, size_t number) {
    const char *prefix = text_str(&f->drawing.prefix), *slash = strrchr(prefix, '/');
    struct text wide = {0}, narrow = {0};
    if (f->drawing.drawn)
        wide = read_text(prefix, ".svg"), narrow = read_text(prefix, ".narrow.svg");
    if (wide.n) {
        text_printf(html, "<section id=\"%s\"><h2>", text_str(&f->id));
        text_html(html, text_str(&f->title));
        text_puts(html, "</h2>\n<figure>");
        put_svg(html, wide.p, narrow.n ? "wide" : "both", text_str(&f->alt), 2 * number);
        if (narrow.n) put_svg(html, narrow.p, "narrow", text_str(&f->alt), 2 * number + 1);
        text_puts(html, "\n<figcaption><p>");
        text_puts(html, text_str(&f->note));
        text_puts(html, "</p><p class=facts>");
        put_distinct(html, f, offsetof(struct result_row, device), 4);
        text_puts(html, " · driver ");
        put_distinct(html, f, offsetof(struct result_row, driver), 3);
        text_puts(html, " · revision ");
        put_distinct(html, f, offsetof(struct result_row, git_rev), 3);
        put_ranges(html, f);
        const char *name = slash ? slash + 1 : prefix;
        text_puts(html, " · ");
        if (!f->drawing.without_png)
            text_printf(html, "<a href=\"figures/%s.png\">PNG</a>, ", name);
        text_printf(html,
                    "<a href=\"figures/%s.svg\">SVG</a>, "
                    "<a href=\"figures/%s.gp\">data and script</a>",
                    name, name);
        put_sources(html, p, f);
        text_puts(html, "</p></figcaption></figure></section>\n");
    }
    text_free(&wide);
    text_free(&narrow);
}
