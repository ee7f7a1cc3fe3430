/* figures.c: what several figures of the report need: their rows, lists of words, ticks, and points
 * that are called by numbers.
 *
 *   * * *      ->   1-3        1 relu f32 n=512   2 relu bf16 n=512   3 rope f32 seq=64
 *         *                4   4 softmax f32 dim=4096 */
#include "reports/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void figure_add_row(struct figure *f, const struct result_row *r) {
    if (!r) return;
    for (size_t i = f->n_rows; i-- > 0 && f->n_rows - i < 8;)
        if (f->rows[i] == r) return;
    if (!(f->n_rows & (f->n_rows + 1)))
        f->rows = memory_resize(f->rows, 2 * f->n_rows + 1, sizeof *f->rows);
    f->rows[f->n_rows++] = r;
}

void figure_free(struct figure *f) {
    text_free(&f->id);
    text_free(&f->title);
    text_free(&f->alt);
    text_free(&f->note);
    drawing_free(&f->drawing);
    free(f->rows);
    *f = (struct figure){0};
}

void drawing_set_heights(struct drawing *d, double wide, double narrow) {
    gnuplot_set_number(&d->wide, "width", WIDE);
    gnuplot_set_number(&d->wide, "height", wide);
    gnuplot_set_number(&d->narrow, "width", NARROW);
    gnuplot_set_number(&d->narrow, "height", narrow);
}

unsigned opponent_colour(enum opponent o) {
    static const unsigned colours[] = {0x868e9a, 0x4f93c4, 0xb8892f, 0xb06a2c, 0x7d4a1e};
    return colours[o];
}

void put_word(struct text *list, const char *word) {
    if (list->n) text_puts(list, " ");
    for (const char *p = word; *p; p++) {
        if (*p == ' ')
            text_puts(list, "\u00a0");
        else
            text_write(list, p, 1);
    }
}

/* The multiples of powers of ten in the range; out NULL: only counted. */
static size_t put_multiples(struct text *out, const double *steps, size_t n, double low,
                            double high) {
    size_t count = 0;
    for (int power = (int)floor(log10(low)) - 1; power <= (int)ceil(log10(high)); power++)
        for (size_t i = 0; i < n; i++) {
            double v = steps[i] * pow(10, power);
            if (v < low * 0.999 || v > high * 1.001) continue;
            if (out) text_printf(out, "%s%.6g", count ? "," : "", v);
            count++;
        }
    return count;
}

void put_log_list(struct text *out, double low, double high, size_t most) {
    static const double many[] = {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9},
                        more[] = {1, 1.5, 2, 3, 5, 7}, some[] = {1, 2, 5}, few[] = {1};
    static const struct {
        const double *steps;
        size_t n;
    } sets[] = {{many, 16}, {more, 6}, {some, 3}, {few, 1}};
    size_t k = 0;
    while (k < 3 && put_multiples(NULL, sets[k].steps, sets[k].n, low, high) > most) k++;
    while (k > 0 && put_multiples(NULL, sets[k].steps, sets[k].n, low, high) < 2)
        k--; /* one is no scale */
    put_multiples(out, sets[k].steps, sets[k].n, low, high);
}

void put_log_ticks(struct text *out, const char *name, double low, double high) {
    text_printf(out, "%s = \"(", name);
    put_log_list(out, low, high, 8);
    text_puts(out, ")\"\n");
}

/* ---- spots ----------------------------------------------------------------------------------- */

enum { NEAR = 12 }; /* pixels within which points share a label */

static double pixels_x(const struct plane *a, double x) {
    return (x - a->x_min) / (a->x_max - a->x_min) * a->width;
}
static double pixels_y(const struct plane *a, double y) {
    return (y - a->y_min) / (a->y_max - a->y_min) * a->height;
}

static bool are_near(const struct plane *a, const struct spot *s, const struct spot *t) {
    return hypot(pixels_x(a, s->x) - pixels_x(a, t->x), pixels_y(a, s->y) - pixels_y(a, t->y)) <=
           NEAR;
}

static int by_place(const void *p, const void *q) {
    const struct spot *s = p, *t = q;
    if (s->x != t->x) return s->x < t->x ? -1 : 1;
    if (s->y != t->y) return s->y > t->y ? -1 : 1;
    return s->case_ < t->case_ ? -1 : s->case_ > t->case_;
}

/* cluster[i]: the first spot that spot i is near to, or near to one that is. */
static size_t *find_clusters(const struct spot *s, size_t n, const struct plane *a) {
    size_t *cluster = memory_resize(NULL, n, sizeof *cluster);
    for (size_t i = 0; i < n; i++) {
        cluster[i] = i;
        for (size_t k = 0; k < i && cluster[i] == i; k++)
            if (cluster[k] == k && are_near(a, &s[i], &s[k])) cluster[i] = k;
    }
    return cluster;
}

void spots_number(struct spot *s, size_t n, const struct plane *a) {
    if (!n) return;
    qsort(s, n, sizeof *s, by_place);
    size_t *cluster = find_clusters(s, n, a), filled = 0;
    struct spot *ordered = memory_resize(NULL, n, sizeof *ordered);
    for (size_t c = 0; c < n; c++)
        for (size_t i = c; i < n; i++)
            if (cluster[i] == c) ordered[filled++] = s[i];
    memcpy(s, ordered, n * sizeof *s);
    free(ordered);
    free(cluster);
}

/* "1–3,7": the numbers of a cluster. */
static void put_cluster(struct text *out, const size_t *cluster, size_t n, size_t c) {
    for (size_t i = c; i < n; i++) {
        if (cluster[i] != c) continue;
        size_t last = i;
        while (last + 1 < n && cluster[last + 1] == c) last++;
        if (out->n) text_puts(out, ",");
        if (last > i)
            text_printf(out, "%zu–%zu", i + 1, last + 1);
        else
            text_printf(out, "%zu", i + 1);
        i = last;
    }
}

struct box {
    double x, y, half_width; /* pixels; all are equally high */
};

static bool is_free(const struct box *b, const struct box *all, size_t n, const struct plane *a) {
    const double line = 12;
    if (b->x - b->half_width < 0 || b->x + b->half_width > a->width || b->y < 6 ||
        b->y > a->height - 6)
        return false;
    for (size_t i = 0; i < n; i++)
        if (fabs(b->x - all[i].x) < b->half_width + all[i].half_width &&
            fabs(b->y - all[i].y) < line)
            return false;
    return true;
}

static double drawn(double v, bool logarithmic) { return logarithmic ? pow(10, v) : v; }

/* Points are boxes that labels stay clear of, too: a label takes the first free place around its
 * own. */
void put_spot_numbers(struct text *out, const char *block, const struct spot *s, size_t n,
                      const struct plane *a) {
    static const double around[][2] = {{0, 13},  {0, -13},  {1, 0},   {-1, 0},  {1, 13},  {-1, 13},
                                       {1, -13}, {-1, -13}, {0, 25},  {0, -25}, {2, -20}, {2, 20},
                                       {-2, 20}, {0, 37},   {0, -37}, {2, -37}};
    size_t *cluster = find_clusters(s, n, a), filled = n;
    struct box *boxes = memory_resize(NULL, 2 * n, sizeof *boxes);
    for (size_t i = 0; i < n; i++)
        boxes[i] = (struct box){pixels_x(a, s[i].x), pixels_y(a, s[i].y), 5};
    text_printf(out, "%s << EOD\n", block);
    for (size_t c = 0; c < n; c++) {
        if (cluster[c] != c) continue;
        struct text label = {0};
        put_cluster(&label, cluster, n, c);
        struct box b = {.half_width = 3.4 * (double)label.n + 2};
        size_t k = 0, places = sizeof around / sizeof *around;
        do {
            b.x = boxes[c].x + around[k][0] * (b.half_width + 7);
            b.y = boxes[c].y + around[k][1];
        } while (!is_free(&b, boxes, filled, a) && ++k < places);
        if (k == places) b.x = boxes[c].x, b.y = boxes[c].y + around[0][1];
        boxes[filled++] = b;
        text_printf(out, "%.6g %.6g ",
                    drawn(a->x_min + b.x / a->width * (a->x_max - a->x_min), a->log_x),
                    drawn(a->y_min + b.y / a->height * (a->y_max - a->y_min), a->log_y));
        text_gnuplot(out, label.p);
        text_puts(out, "\n");
        text_free(&label);
    }
    text_puts(out, "EOD\n");
    free(boxes);
    free(cluster);
}

double put_spot_list(struct text *out, const struct model *m, const struct spot *s, size_t n,
                     size_t columns, double width) {
    size_t lines = (n + columns - 1) / columns,
           most = (size_t)((width - 20) / (double)columns / 6.9) - 4;
    struct text texts = {0}, at = {0}, line = {0};
    for (size_t i = 0; i < n; i++) {
        struct text label = {0};
        text_printf(&label, "%zu  ", i + 1);
        case_label(&label, m, &m->cases[s[i].case_], true, most);
        put_word(&texts, label.p);
        text_printf(&at, "%s%zu", i ? " " : "", i / lines);
        text_printf(&line, "%s%zu", i ? " " : "", i % lines + 1);
        text_free(&label);
    }
    gnuplot_set_number(out, "n_list", (double)n);
    gnuplot_set_number(out, "list_width", (width - 20) / (double)columns);
    gnuplot_set_text(out, "list_texts", text_str(&texts));
    gnuplot_set_text(out, "list_columns", text_str(&at));
    gnuplot_set_text(out, "list_lines", text_str(&line));
    double height = 15 * (double)lines + 12;
    gnuplot_set_number(out, "below", height);
    text_free(&texts);
    text_free(&at);
    text_free(&line);
    return height;
}
