/* bench.h: one tuning run, for the files bench*.c. */
#ifndef TUNER_BENCH_H
#define TUNER_BENCH_H

#include "tuner/command_line.h"
#include "tuner/record.h"
#include "tuner/sweep.h"
#include "tuner/tune.h"

/* The command: what all points of a sweep share. */
struct bench_run {
    struct arena *arena;
    struct command_line line;
    struct sweep sweep;
    struct machine machine;
    struct store *store; /* NULL: --config replays, and stores nothing */
    struct recorder recorder;
    struct roof roof;
    bool replay;
    bool no_counters; /* that there are none has been said */
};

/* One point: one workload with all axes fixed. */
struct bench_point {
    struct bench_run *run;
    int point;           /* of the sweep */
    struct arena *arena; /* ends with the point */
    struct diag *d;
    double started_ms;

    struct stages stages;
    struct ws_captured *captured;
    struct ws_program *eager_program, *fused_program;

    struct tuning tuning;
    struct tune *tunes; /* one a kernel of the fused program */
    bool all_found;     /* every winner is stored, and the program's evidence */
    struct store_program evidence;

    struct builder builder;
    struct data data;
    struct plan eager, dflt, tuned;
    struct buffers eager_memory, fused_memory;
    struct testbed bed;
    struct timing eager_time, default_time, tuned_time;
    const char *profile; /* words for every kernel; NULL: not asked for */
};

/* bench_winners.c: which config each kernel gets. */
enum ws_status bench_look_up(struct bench_point *b); /* what the store knows, or --config says */
enum ws_status bench_tune_kernels(struct bench_point *b); /* what it does not */

/* bench_profile.c: --profile: counters of every kernel, into the rows and into words. */
enum ws_status bench_profile(struct bench_point *b);

/* bench_print.c: what the user reads. */
void bench_print_subject(const struct bench_point *b);
void bench_print_results(const struct bench_point *b);

#endif
