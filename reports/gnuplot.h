/* gnuplot.h: draw figures by running gnuplot on scripts of this folder.
 *
 * The scripts (reports/NAME.gp) are part of the binary, so a figure needs no file of ours at run
 * time. What is drawn stays beside the picture as PREFIX.gp, data and script in one: change it and
 * run `gnuplot PREFIX.gp` to draw it again. */
#ifndef REPORTS_GNUPLOT_H
#define REPORTS_GNUPLOT_H

#include <stdbool.h>

#include "reports/error.h"
#include "reports/text.h"

extern const char gnuplot_bench[], gnuplot_speedup[], gnuplot_roofline[], gnuplot_sizes[],
    gnuplot_tuning[], gnuplot_gain[], gnuplot_devices[], gnuplot_history[];

/* Drawn as PREFIX.svg, PREFIX.png unless that is left out, and, if narrow has settings,
 * PREFIX.narrow.svg for a screen of 400 pixels. */
struct drawing {
    struct text prefix;       /* path without its ending */
    struct text data;         /* data blocks and what both widths share */
    struct text wide, narrow; /* settings that differ; no data blocks */
    const char *script;
    bool without_png; /* which takes two thirds of the time; one that is there is removed */
    bool drawn;
};

/* Write each PREFIX.gp and draw them all, a process a core, while others go on: the drawings stay
 * where they are until the end. REPORT_MACHINE if there is no gnuplot or one of them failed: the
 * others are drawn. */
struct gnuplot_work *gnuplot_begin(struct drawing *drawings, size_t n);
enum report_status gnuplot_end(struct gnuplot_work *w, struct report_error *e);
/* Both. */
enum report_status gnuplot_draw(struct drawing *drawings, size_t n, struct report_error *e);
void drawing_free(struct drawing *d);

/* Lines of the settings: `name = "value"` and `name = value`. */
void gnuplot_set_text(struct text *settings, const char *name, const char *value);
void gnuplot_set_number(struct text *settings, const char *name, double value);

#endif
