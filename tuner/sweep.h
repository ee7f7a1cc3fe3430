/* sweep.h: axes given with -D, and the points that their values span.
 *
 *   -D rows=4 -D dim=1024,4096   ->   rows=4 dim=1024;  rows=4 dim=4096
 *   -D dim=256:1024:*2           ->   dim=256;  dim=512;  dim=1024: a ladder (ladder.h) */
#ifndef TUNER_SWEEP_H
#define TUNER_SWEEP_H

#include "tuner/command_line.h"

struct sweep_axis {
    const char *name;
    struct texts values;
};

struct sweep {
    struct sweep_axis *axes;
    int n_axes;
    int n_points; /* at least 1 */
    int ladder;   /* the axis that is a ladder; -1: none */
};

/* Commas inside brackets or quotes do not separate: -D shape=(2,3),(4,5) has two values. WS_USAGE:
 * no '=', an empty name or value, an axis given twice, more than SWEEP_MOST points, a second
 * ladder. */
enum ws_status sweep_parse(const struct texts *given, struct arena *a, struct sweep *out,
                           struct diag *d);
enum { SWEEP_MOST = 10000 };

/* The axes of point i; the last axis varies fastest. */
struct ws_axis *sweep_point(const struct sweep *s, int i, struct arena *a);

/* Points i, i + stride, i + 2*stride, ... are the rungs of a ladder, where sweep_rung(s, i) is 0.
 */
int sweep_rung(const struct sweep *s, int i);
int sweep_ladder_stride(const struct sweep *s);

#endif
