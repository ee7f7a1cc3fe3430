/* bench.h: one tuning run, for the files bench*.c. */
#ifndef TUNER_BENCH_H
#define TUNER_BENCH_H

#include "tuner/command_line.h"
#include "tuner/cost.h"
#include "tuner/record.h"
#include "tuner/sweep.h"
#include "tuner/symbolic_view.h"
#include "tuner/tune.h"

/* The command: what all points of a sweep share. */
struct bench_run {
    struct arena *arena;
    struct command_line line;
    json_t *json_rows; /* of --json; NULL: not asked for */
    struct sweep sweep;
    struct machine machine;
    struct store *store; /* NULL: --config replays, and stores nothing */
    struct recorder recorder;
    struct roof roof;
    bool replay;
    double started_ms;
    bool opened;                /* the store, and what is needed from it */
    bool no_counters;           /* that there are none has been said */
    struct range_table *ranges; /* what the store knew when it was opened; NULL: replay */
    struct bench_rung *rungs;   /* of a ladder, by point; bench_ladder.c */
};

/* What the ranges say of a kernel. */
struct bench_lookup {
    enum lookup how;
    const char *axis; /* the symbol, and its size here; NULL: what is nearest is no range */
    int64_t size;
    const struct config *config;
    const char *guard; /* that it was tuned for, with the axis for the symbol */
    const char *why;   /* a miss */
    bool stale;        /* what is known has another text: other sizes' will have, too */
};

/* One point: one workload with all axes fixed. */
struct bench_point {
    struct bench_run *run;
    int point;           /* of the sweep */
    struct arena *arena; /* ends with the point */
    struct diag *d;
    double started_ms, searching_since_ms;

    struct stages stages;
    struct ws_captured *captured;
    struct ws_program *eager_program, *fused_program;
    enum ws_fusion fusion;
    bool open;                 /* whether they had better be is to be found out */
    struct bench_point *other; /* the same point by rule, whose time is known */
    bool shares;               /* the other's values, and its eager program, compiled and right */

    struct tuning tuning;
    struct cost cost;
    struct tune *tunes; /* one a kernel of the fused program */
    bool all_found;     /* every winner is stored, and the program's evidence */
    bool trusts;        /* the eager program's outputs are the reference */
    bool reference_begun;
    struct store_program evidence;
    struct bench_lookup *lookups; /* one a kernel */
    bool untuned;                 /* some winner is a range's, or none: no evidence is kept */
    bool defaulted;               /* some kernel has no winner, and may not be searched */
    bool killed; /* somebody has ended the device's process while programs were timed, once */

    struct builder builder;
    struct data *data; /* the other's, if it shares */
    struct plan eager, dflt, tuned;
    struct buffers *eager_memory, fused_memory; /* the first likewise */
    struct testbed bed;
    double program_ms; /* wall time of checking the slower of eager and default */
    struct timing eager_time, default_time, tuned_time;
    struct data_worst eager_worst, default_worst, tuned_worst; /* that their checks found */
    const char *kernels_judged;                                /* alone: a line, or "" or NULL */
    const char *profile; /* words for every kernel; NULL: not asked for */
};

/* bench_winners.c: which config each kernel gets. */
enum ws_status bench_look_up(struct bench_point *b); /* what the store knows, or --config says */
enum ws_status bench_begin_tuning(struct bench_point *b); /* what is tried first is compiled */
enum ws_status bench_tune_kernels(struct bench_point *b); /* what it does not */
const char *bench_text_hash(struct bench_point *b);       /* of all winners; all are there */

/* bench_programs.c: eager, default and tuned as wholes. */
/* Does what the store remembers of the reference save making it? Then b->trusts. */
enum ws_status bench_recall_reference(struct bench_point *b);
enum ws_status bench_check_eager(struct bench_point *b);
enum ws_status bench_check_default(struct bench_point *b);
enum ws_status bench_time_programs(struct bench_point *b);

/* bench_profile.c: --profile: counters of every kernel, into the rows and into words. */
enum ws_status bench_profile(struct bench_point *b);
/* bench_ranges.c: sizes that are not in the store. */
/* The point with an axis as a symbol. */
struct symbolic_view bench_symbolic(struct bench_point *b, const char *axis);
enum ws_status bench_look_up_ranges(struct bench_point *b);  /* winners of ranges that hold */
enum ws_status bench_look_up_nearest(struct bench_point *b); /* else sizes that were tuned */
void bench_settle(struct bench_point *b); /* says what is nearest; takes it under --no-search */

/* bench_ladder.c: from the points of a ladder to ranges. */
const char *bench_rung_before(const struct bench_point *b, int kernel); /* its winner, or NULL */
enum ws_status bench_note_rung(struct bench_point *b);
enum ws_status bench_ladder(struct bench_run *r, struct diag *d); /* when all points are done */

/* bench_print.c: what the user reads. */
void bench_print_subject(const struct bench_point *b);
void bench_print_results(const struct bench_point *b);
void bench_print_known(const struct bench_run *r); /* how many configs the store had, and whence */

#endif
