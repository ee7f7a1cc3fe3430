/* tune.h: the best config of one kernel, by trying them.
 *
 *   tune_open     its configs, and what an earlier, cut-short run measured of them
 *   tune_build    emit and compile
 *   search_run    which configs to try, in which order (search.h)             (trial_run)
 *   tune_choose   time the finalists against each other, store the winner */
#ifndef TUNER_TUNE_H
#define TUNER_TUNE_H

#include "tuner/progress.h"
#include "tuner/roof.h"
#include "tuner/testbed.h"

/* What all kernels of a run share. */
struct tuning {
    struct machine *machine;
    struct store *store; /* NULL: replay, nothing is stored */
    struct builder *builder;
    struct testbed *bed;
    struct roof roof;
    struct arena *arena;
    struct store_graph graph;
    const char *run_id;
    int samples_max;
    bool log;                           /* WS_LOGS=autotune */
    double check_ms, time_ms, count_ms; /* spent */
    uint64_t seed;
    struct progress_whole whole; /* what the kernel being tuned is a part of */
};

struct tune {
    struct tuning *shared;
    const struct ws_program *program;
    int kernel;
    struct work work;
    struct store_key key;

    struct variant *variants; /* config order, best guess first; 0 is the default */
    int n, n_pruned;
    int n_known; /* of these, trials of an earlier run */

    int search;             /* enum search_strategy */
    int hint;               /* a variant that is tried before any other, what won once; -1: none */
    bool added;             /* the hint is one more variant, the last */
    const char *wanted;     /* a config that is tried whatever the search has learnt; NULL: none */
    double deadline_ms;     /* clock_ms at which the search ends; INFINITY: never */
    int trials_left;        /* before it ends; INT_MAX: no limit */
    int pause_after;        /* waves: what the next one asks for is begun alone; 0: no pause */
    struct variant *oracle; /* not NULL: trials are looked up here, none is made, */
    int *order, n_order;    /* and their numbers are noted here */
    double best_us;         /* INFINITY while nothing was timed */
    double part; /* of the program's time, by its roofline, with those that are the same */
    struct progress progress;

    struct variant *winner;
    int n_tried, n_tied; /* n_tried: with a time, known ones included */
    int n_trials;        /* made in this run, whatever came of them */
};

/* Configs of the kernel; nothing is compiled yet. */
void tune_open(struct tune *t, struct tuning *shared, const struct ws_program *p, int kernel,
               struct store_key key);
/* The variant with this config; one that is not among those of the search is made. */
struct variant *tune_find(struct tune *t, const struct config *c);

/* Try that config first, if the space has it. */
void tune_hint(struct tune *t, const char *config);
/* Try that config first, which is legal; if the space has it not, it has now. Once, and only if
 * there is no hint. */
void tune_hint_config(struct tune *t, const struct config *c);
/* Take over what is stored of a run that was cut short, as far as the texts are still the same. */
enum ws_status tune_resume(struct tune *t, struct diag *d);
/* Emit those of n variants, by number, that are not known yet, and start compiling them. */
enum ws_status tune_begin(struct tune *t, const int *which, int n, struct diag *d);
/* The same, and on the CPU wait until they are compiled. */
enum ws_status tune_build(struct tune *t, const int *which, int n, struct diag *d);
/* How many variants a search builds at a time: on a GPU all, for its times do not mind a compiler
 * at work; on the CPU some for every core, and the times are taken when the compilers are done. */
int tune_batch(const struct tune *t);
/* Built, loaded, and its launches; for a variant that was tried. The scratch memory may move: take
 * those of several twice. What could be run before and cannot now is refused, and an error. */
enum ws_status tune_ready(struct tune *t, struct variant *v, struct launches *out, struct diag *d);
/* So many waves of the search, and begin the next one: what compilers make of it while other
 * kernels have their waves need not be waited for. tune_kernel goes on from there. */
enum ws_status tune_ahead(struct tune *t, int waves, struct diag *d);
/* Search, then choose. */
enum ws_status tune_kernel(struct tune *t, struct diag *d);
/* Time the finalists in turns; the winner goes to the store with its evidence. One that hangs,
 * crashes or goes wrong meanwhile is refused, and the others are timed again. */
enum ws_status tune_choose(struct tune *t, struct diag *d);

/* Build, check and time one variant, and store what came out. A variant that fails is refused, and
 * the run goes on; only a failure of the machine itself is an error. */
enum ws_status trial_run(struct tune *t, struct variant *v, struct diag *d);
/* Build, check and time it with no more than so many samples, which are no verdict: trial_run
 * measures it anew. One that is hopeless by then is refused no less, and stored as such. */
enum ws_status trial_glance(struct tune *t, struct variant *v, int samples, struct diag *d);
/* What the hardware counts of a variant that was tried; once a variant. WS_MACHINE where there are
 * no counters. */
enum ws_status trial_count(struct tune *t, struct variant *v, struct diag *d);
/* The device failed while the variant ran: refuse it, and set everything up again if the device is
 * lost. */
enum ws_status trial_blame(struct tune *t, struct variant *v, const char *message, struct diag *d);
/* Check what was just timed; it may be refused. */
enum ws_status trial_check_again(struct tune *t, struct variant *v, struct diag *d);
/* Store what is known of it. */
enum ws_status trial_keep(struct tune *t, const struct variant *v, struct diag *d);
/* Check the variant some more times, as the winner that it is going to be; it may be refused. */
enum ws_status trial_prove(struct tune *t, struct variant *v, struct diag *d);
/* Refuse a variant whose time is below what the device needs at least. */
void trial_judge(struct tune *t, struct variant *v);

#endif
