/* suite_plan.h: which case of a suite which device gets next. Knows no process: suite.c tells it what ends how.
 *
 *   P1  a case runs on one device at a time, and never again once it is done;
 *   P2  a case that failed is tried on a device that it has not failed on, SUITE_TRIES times at most; where there is none,
 *       once more on one that it has failed on;
 *   P3  a device on which SUITE_LOST cases in a row failed gets no more, unless it is the last one. */
#ifndef TUNER_SUITE_PLAN_H
#define TUNER_SUITE_PLAN_H

#include "ws.h"

enum { SUITE_TRIES = 3, SUITE_LOST = 3 };

struct suite_plan {
    struct suite_case {
        bool done, running;
        int tries;
        bool *failed_on; /* by device */
    } * cases;
    struct suite_device {
        bool lost;
        int failed; /* in a row */
    } * devices;
    int n_cases, n_devices;
};

struct suite_plan suite_plan_new(int n_cases, int n_devices, struct arena *a);

/* The case runs now; -1: there is none for this device, yet or at all. */
int suite_plan_next(struct suite_plan *p, int device);
void suite_plan_done(struct suite_plan *p, int i, int device); /* device -1: it was done before */
void suite_plan_failed(struct suite_plan *p, int i,
                       int device); /* the device, or somebody else, did not let it end */

/* Nothing runs, and no device may have what is left. */
bool suite_plan_over(const struct suite_plan *p);
int suite_plan_left(const struct suite_plan *p); /* not done */

#endif
