/* gnuplot.h: draw a figure by running gnuplot on a script of this folder.
 *
 * The scripts (reports/NAME.gp) are part of the binary, so a figure needs no file of ours at run
 * time. What is drawn stays beside the picture as PREFIX.gp, data and script in one: change it and
 * run `gnuplot PREFIX.gp` to draw it again. */
#ifndef REPORTS_GNUPLOT_H
#define REPORTS_GNUPLOT_H

#include "reports/error.h"
#include "reports/text.h"

extern const char gnuplot_bench[], gnuplot_speedup[], gnuplot_roofline[];

/* Write PREFIX.gp (settings, then script) and draw PREFIX.svg and PREFIX.png. REPORT_MACHINE if
 * there is no gnuplot or it fails. */
enum report_status gnuplot_draw(const char *prefix, const struct text *settings, const char *script,
                                struct report_error *e);

/* Lines of the settings: `name = "value"` and `name = value`. */
void gnuplot_set_text(struct text *settings, const char *name, const char *value);
void gnuplot_set_number(struct text *settings, const char *name, double value);

#endif
