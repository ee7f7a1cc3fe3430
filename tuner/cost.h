/* cost.h: what tuning has cost, and after how many calls of the tuned program that has paid. */
#ifndef TUNER_COST_H
#define TUNER_COST_H

#include "ws.h"

/* Seconds of wall time, parts of all; trials: variants built, checked or timed. */
struct cost {
    double all, compile, check, measure, count; /* compile: waited for; count: hardware counters */
    int trials;                                 /* 0: nothing was tuned */
};

/* What is left: proposing configs, emitting, loading, the store. */
double cost_of_search(const struct cost *c);
/* Calls after which the time saved by each, against one of slow_us, adds up to what was spent;
 * INFINITY if a call saves nothing, NAN if nothing was tuned. */
double cost_calls(const struct cost *c, double slow_us, double fast_us);

/* "tuning      0.61 s: 0.20 compiling, 0.05 checking, 0.30 measuring, 0.06 searching; 18 trials
 *  saves      15.2 us a call over the default (worth the tuning after 40,132
 *  calls), 38.1 us a call over unfused kernels (worth the tuning after 16,010 calls)" */
void cost_print(struct buf *b, const struct cost *c, double eager_us, double default_us,
                double tuned_us);

#endif
