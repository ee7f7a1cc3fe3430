/* figure.h: the figures. Each call writes PREFIX.svg, PREFIX.png and PREFIX.gp (its data and
 * script). */
#ifndef REPORTS_FIGURE_H
#define REPORTS_FIGURE_H

#include "reports/benches.h"

/* One benchmark run: the variants of its slowest kernel, and eager, default, tuned against PyTorch.
 * run_id is a run, "last", "prev" or NULL (last). A sweep shows the variants of its last point, and
 * all its points on the right. REPORT_MACHINE: there is no gnuplot (say it once and go on). */
enum report_status figure_bench(const char *csv_path, const char *run_id, const char *out_prefix,
                                struct report_error *e);

/* All benchmarks: speedups over unfused kernels as bars; achieved against attainable GFLOP/s. `all`
 * has n results. */
enum report_status figure_speedup(const struct benches *b, const char *out_prefix,
                                  struct report_error *e);
enum report_status figure_roofline(const struct benches *b, const struct results *all, size_t n,
                                   const char *out_prefix, struct report_error *e);

/* "eager", "torch.compile max-autotune": how a row is called in figures and tables; buffer of 64.
 */
const char *figure_row_name(const struct result_row *r, char name[64]);
unsigned figure_row_colour(const struct result_row *r); /* 0xRRGGBB */

#endif
