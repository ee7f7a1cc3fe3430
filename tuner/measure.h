/* measure.h: how long launches take, and how well that is known.
 *
 * A sample is the device time of one repetition of a list of launches, with the caches flushed
 * before it; of what is short, the middle mean of several repetitions. Of several launches that is
 * the span: from the start of the first to the end of the last, as the caller feels it. Samples
 * come in batches; after each the device's health is read, and a batch during which the clock was
 * held back is set aside: counted, and used only if there is nothing else. */
#ifndef TUNER_MEASURE_H
#define TUNER_MEASURE_H

#include "tuner/stats.h"
#include "ws_tune.h"

enum { TIMING_THROTTLE = 64 };

struct timing {
    struct stats us;          /* n = 0: not timed */
    double host_us;           /* median time to submit one repetition; NAN: unknown */
    double kernels_us;        /* median of its launches' times, added up; NAN: unknown */
    double span_us;           /* median time from its first start to its last end; NAN: unknown */
    double load_us;           /* of a program: of what runs once at load; NAN: unknown */
    double kept_bytes;        /* and memory that this takes across calls; NAN: unknown */
    double clock_mhz, temp_c; /* medians over the batches; NAN: unknown */
    char throttle[TIMING_THROTTLE]; /* of the last throttled batch, else "none"; "": unknown */
    int n_throttled;                /* samples set aside */
    bool dropped;                   /* stopped early: far slower than the best */
};

struct timing timing_none(void);

struct measure_rule {
    double rel_ci;   /* enough once the median is known this well, */
    int min_n;       /* from at least so many samples, */
    int slow_n;      /* or so many where one takes 20 ms or more; of more than 200 ms, 2 */
    int max_n;       /* and enough anyway after so many */
    double wall_ms;  /* or, past min_n, after so long */
    double drop_us;  /* give up after two samples if both are slower; INFINITY: never */
    double limit_ms; /* a device call that takes longer, and far longer than those before, hangs:
                        it fails, and the device is lost. INFINITY: none */
    int rests;       /* of 50 ms while the device holds its clock back, at most */
};

/* 1 % from 10 samples, at most max_n or a quarter of a second: enough to tell who may be the best.
 */
struct measure_rule measure_rule_default(int max_n);
/* 0.3 % from 30 samples, at most 4 max_n or half a second for each of n subjects in turns: for
 * times that are reported. */
struct measure_rule measure_rule_final(int max_n, int n);
/* The same in half the time: among those who may be the best, who is. */
struct measure_rule measure_rule_choice(int max_n, int n);
/* The same for what is such a part of what its user waits for, 0 to 1: from a quarter on as it is,
 * of less as much less exactly, at most to 2 %, for what the whole takes is known better than that.
 */
struct measure_rule measure_rule_of_part(struct measure_rule r, double part);

/* What is timed: a variant, or a program. */
struct subject {
    const struct launch *launches;
    int n;
    struct timing timing; /* out */
    bool failed;          /* out: the device failed while this one had its turn */
};

/* One warm-up, then samples by the rule. */
enum ws_status measure_alone(struct device *dev, struct subject *s, const struct measure_rule *r,
                             struct diag *d);

/* All subjects in turns, so that a drift of clock or temperature meets them alike; until each is
 * known by the rule. No subject is dropped; a slow one that is known has no more turns. */
enum ws_status measure_together(struct device *dev, struct subject *s, int n,
                                const struct measure_rule *r, struct diag *d);

#endif
