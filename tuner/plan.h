/* plan.h: a program with one variant chosen for each of its kernels, and the memory it runs in. */
#ifndef TUNER_PLAN_H
#define TUNER_PLAN_H

#include "tuner/build.h"
#include "tuner/data.h"

struct plan {
    const char *name; /* "eager", "default", "tuned" */
    const struct ws_program *program;
    struct variant **chosen; /* one a kernel */
};

struct plan plan_new(const char *name, const struct ws_program *p, struct arena *a);
/* The configs in one text: "x=1 warps=8", or "softmax_0: x=1 warps=8; mm_1: m=128" for several. */
const char *plan_text(const struct plan *p, struct arena *a);
/* The distinct guards of the kernels, joined by " && ". */
const char *plan_guard(const struct plan *p, struct arena *a);

/* ---- memory ---------------------------------------------------------------------------------- */

/* What launches of a kernel at load have written for its calls. Variants whose texts do the same
 * there share it. */
struct kept {
    int kernel;
    uint64_t load; /* of ws_source */
    dptr at;
    size_t bytes;
};

/* The buffers of a program. Inputs are those of the data, and outputs are, but those that lie where
 * an input does. */
struct buffers {
    struct machine *machine;
    struct arena *arena;
    struct data *data;
    int generation; /* of the device, when they were placed */
    const struct ws_program *program;
    bool apart; /* every temporary has memory of its own, instead of its place in the pool */
    dptr *at;   /* by buffer */
    dptr pool;
    dptr scratch; /* workspace of whichever variant runs */
    size_t scratch_bytes;
    VEC(struct kept) kept; /* apart, of a plan, or of one kernel alone at a time */
    dptr tickets;          /* counters: 0 between launches */
    size_t ticket_bytes;
};

enum ws_status buffers_place(struct buffers *b, struct data *x, const struct ws_program *p,
                             bool apart, struct arena *a, struct diag *d);
enum ws_status buffers_poison(const struct buffers *b, const int *which, int n, struct diag *d);
/* *message is NULL if nothing was written outside of any of them, else says next to which. */
enum ws_status buffers_check(const struct buffers *b, const char **message, struct diag *d);
void buffers_free(struct buffers *b);

/* ---- launches -------------------------------------------------------------------------------- */

struct launches {
    struct launch *at; /* of a call */
    int n;
    struct launch *load; /* that run once before all calls */
    int n_load;
    size_t kept; /* bytes that these leave for the calls */
};

/* Of one loaded variant, and of all in a plan. The scratch memory grows as needed, which makes
 * launches taken before invalid: take them one after the other. Buffers that went with a lost
 * device are placed again. What runs at load has been run, into poisoned memory. */
enum ws_status variant_launches(const struct variant *v, struct buffers *b, struct launches *out,
                                struct diag *d);
enum ws_status plan_launches(const struct plan *p, struct buffers *b, struct launches *out,
                             struct diag *d);
/* The same, but what runs at load has been run before, and is not run again: calls must not have
 * changed what it left. */
enum ws_status variant_launches_again(const struct variant *v, struct buffers *b,
                                      struct launches *out, struct diag *d);

/* ---- whole programs -------------------------------------------------------------------------- */

/* Emit and compile what is chosen; a kernel that cannot be built ends it with WS_WRONG. */
enum ws_status plan_begin(const struct plan *p, struct builder *b, struct diag *d);
enum ws_status plan_finish(const struct plan *p, struct builder *b, struct diag *d);
void plan_unload(const struct plan *p, struct machine *m);

/* A failure says which program under which configs. */
enum ws_status plan_run(const struct plan *p, struct buffers *b, struct diag *d);
/* Poison outputs and temporaries, load, run, and compare all outputs unless `trust` takes them as
 * the reference. */
enum ws_status plan_check(const struct plan *p, struct data *x, struct buffers *b, bool trust,
                          struct diag *d);
/* After calls: the same, with what load has left as they have left it. */
enum ws_status plan_check_again(const struct plan *p, struct data *x, struct buffers *b,
                                struct diag *d);

#endif
