/* sweep.h: axes given with -D, and the points that their values span.
 *
 *   -D rows=4 -D dim=1024,4096   ->   rows=4 dim=1024;  rows=4 dim=4096 */
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
};

/* Commas inside brackets or quotes do not separate: -D shape=(2,3),(4,5) has two values. WS_USAGE:
 * no '=', an empty name or value, an axis given twice, more than SWEEP_MOST points. */
enum ws_status sweep_parse(const struct texts *given, struct arena *a, struct sweep *out,
                           struct diag *d);
enum { SWEEP_MOST = 10000 };

/* The axes of point i; the last axis varies fastest. */
struct ws_axis *sweep_point(const struct sweep *s, int i, struct arena *a);

#endif
