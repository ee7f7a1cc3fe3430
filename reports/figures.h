/* figures.h: the figures of the report: each is filled in from the model, and drawn by
 * gnuplot_draw. */
#ifndef REPORTS_FIGURES_H
#define REPORTS_FIGURES_H

#include "reports/gnuplot.h"
#include "reports/model.h"

struct figure {
    struct text id;                 /* part of a page, and of a file's name */
    struct text title;              /* heading */
    struct text alt;                /* what it shows, for those who cannot see it */
    struct text note;               /* how to read it; HTML */
    const struct result_row **rows; /* drawn from these */
    size_t n_rows;
    struct drawing drawing; /* prefix is left to the page */
};

void figure_add_row(struct figure *f, const struct result_row *r); /* NULL: nothing */
void figure_free(struct figure *f);

/* Each fills *f, which is {0}, and is false if there is nothing to draw: free it then, too. */
bool figure_speedup(struct figure *f, const struct model *m, size_t first, size_t n);
bool figure_roofline(struct figure *f, const struct model *m, size_t first, size_t n);
bool figure_gain(struct figure *f, const struct model *m, size_t first, size_t n);
bool figure_sizes(struct figure *f, const struct model *m, const struct sweep *s);
bool figure_history(struct figure *f, const struct model *m, const struct case_ *c);
bool figure_tuning(struct figure *f, const struct model *m, const struct case_ *c);

/* ---- what several of them need --------------------------------------------------------------- */

enum { WIDE = 960, NARROW = 380 }; /* pixels: of a page, and of a small screen */
/* Both drawings' widths, and their heights in pixels. */
void drawing_set_heights(struct drawing *d, double wide, double narrow);

unsigned opponent_colour(enum opponent o);

/* Words for gnuplot's word(), which splits at blanks: those within a word become no-break spaces.
 */
void put_word(struct text *list, const char *word);
/* "1,2,5": ticks on a logarithmic axis, about `most` of them; and NAME = "(1,2,5)". */
void put_log_list(struct text *out, double low, double high, size_t most);
void put_log_ticks(struct text *out, const char *name, double low, double high);

/* Points that are called by numbers, and the list of what the numbers are. */
struct spot {
    double x, y; /* as drawn: log10 on a logarithmic axis */
    size_t case_;
};
struct plane {
    double x_min, x_max, y_min, y_max; /* likewise */
    bool log_x, log_y;
    double width, height; /* pixels inside the axes */
};
/* Sorts the spots: spot i is called i + 1. Points too close to tell apart share a label, "3–7". */
void spots_number(struct spot *s, size_t n, const struct plane *a);
void put_spot_numbers(struct text *out, const char *block, const struct spot *s, size_t n,
                      const struct plane *a);
/* The settings of the list: n_list, list_width, list_texts, list_columns, list_lines and below, its
 * height, which is returned. */
double put_spot_list(struct text *out, const struct model *m, const struct spot *s, size_t n,
                     size_t columns, double width);

#endif
