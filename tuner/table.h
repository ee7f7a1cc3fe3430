/* table.h: what bench prints at the end. Text into a buffer: nothing here knows where it goes. */
#ifndef TUNER_TABLE_H
#define TUNER_TABLE_H

#include "tuner/tune.h"

struct table_line {
    const char *name;
    const struct timing *timing;
};

/* One line a program: us, GB/s or TFLOP/s, % of roof, how much faster than the first line.
 *
 *               us    +-     GB/s   % roof   speed-up
 *   eager    56.80  0.20   2362.8     55.1
 *   default  43.60  0.10   3078.2     71.8      1.30x
 *   tuned    33.90  0.10   3959.1     92.3      1.68x */
void table_programs(struct buf *b, const struct table_line *lines, int n, const struct work *w,
                    const struct roof *roof);

/* A line if something runs once at load, which no call's time has:
 *   at load, once: 14.20 us for the default, 9.80 us tuned; 25.2 MB are kept across calls */
void table_load(struct buf *b, const struct timing *dflt, const struct timing *tuned);

/* What the words of that table mean, in two lines of at most 80 columns. */
void table_legend(struct buf *b, const struct work *w, const struct roof *roof);

/* A line if the median of one is known less well than ties may differ: such times decide nothing.
 */
void table_unsteady(struct buf *b, const struct table_line *lines, int n);

/* Two lines if a program's time is less than the device can take: roof_implausible. */
void table_implausible(struct buf *b, const struct table_line *line, const struct work *w,
                       const struct roof *roof);

/* The tuned config of a kernel and what was tried for it:
 *   softmax_0  x=1 warps=8 vec=8   33.90 us, 1.28x default
 *     120 configs: 100 timed, 14 pruned, 4 wrong, 2 spill; 3 more as fast, within noise */
void table_kernel(struct buf *b, const struct tune *t);

#endif
