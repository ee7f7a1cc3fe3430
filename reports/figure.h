/* figure.h: the figure of one bench. Those of the report are in figures.h. */
#ifndef REPORTS_FIGURE_H
#define REPORTS_FIGURE_H

#include "reports/benches.h"

/* One benchmark run: the variants of its slowest kernel, and unfused, default, tuned against
 * PyTorch. run_id is a run, "last", "prev" or NULL (last). A sweep shows the variants of its last
 * point, and all its points on the right. Drawn as OUT_PREFIX.svg, .png and .gp; NULL: beside the
 * CSV, under a name that no other benchmark's figure has, which *drawn (may be NULL) gets.
 * REPORT_MACHINE: there is no gnuplot (say it once and go on). */
enum report_status figure_bench(const char *csv_path, const char *run_id, const char *out_prefix,
                                struct text *drawn, struct report_error *e);

/* "softmax-bf16-fwd-dim-4096-rows-4096-NVIDIA-H200"; of a sweep: the axes that do not differ, and
 * "sweep". */
void figure_bench_name(struct text *out, const struct benches *b);

/* "unfused", "torch.compile max-autotune": how a row is called in figures and tables; buffer of 64.
 */
const char *figure_row_name(const struct result_row *r, char name[64]);
unsigned figure_row_colour(const struct result_row *r); /* 0xRRGGBB */

#endif
