/* recurrence.h: all steps of a recurrence (loop/recurrence.c) in one kernel: what is carried stays
 * in registers, and nobody waits for anybody else.
 *
 *     v4 is v9 of the step before, at first 0                                          {x r}
 *     v2 = load p0[x]         0 + 1 t of 6144 in memory 0: delta                       {x}
 *     v3 = exp(v2 * v1)       v1 = load p1[..], the same in each step                  {x r}
 *     v9 = v3 * v4 + ..                                                                {x r}
 *     v11 = reduce sum v9 * v10                                                        {x}
 *     store p5[x] = v11       0 + 1 t of 6144 in memory 5
 *
 * On a GPU a point x is `lanes` threads' of a warp, each of which has `own` elements along r,
 * neighbours. Steps go by blocks that are written out: registers hold what a block's steps read.
 * They are loaded again for the next block as soon as their step is done, or, with ahead=1, the
 * next block has registers of its own, which are loaded before the block's first step. On a CPU
 * a thread takes `points` neighbours x, which are lanes of vectors, with all of r, through all
 * steps, and then the next ones: what is carried stays in the first cache. */
#ifndef WS_KERNEL_RECURRENCE_H
#define WS_KERNEL_RECURRENCE_H

#include "kernel/body.h"

struct config;
struct layout;

/* What load is in a step, `next` was in the one before. */
struct carry {
    value_id load, next;
};
/* Of a body. */
struct recurrent {
    int64_t n; /* steps */
    ex step;   /* which of them: t, as INDEX may have it */
    VEC(struct carry) carries;
    bool *last; /* by store: only the last step's is wanted */
};

/* Of a layout. */
struct recurrent_layout {
    int lanes, own;
    int block;    /* steps that are written out */
    bool doubles; /* the next block has registers of its own */
    int points;   /* CPU; else 0 */
    int64_t blocks;
};

/* body.c makes these by it. */
struct kernel *kernel_build_recurrence(const struct schedule *s, uint32_t group,
                                       const struct device_limits *limits, struct arena *a);
/* Is v another number in each step? And is it a load of such, whose place is known before? */
bool recurrence_changes(const struct kernel *k, value_id v);
bool recurrence_loads_ahead(const struct kernel *k, value_id v);
/* Is it a number that stands on nothing but the step? */
bool recurrence_counts(const struct kernel *k, value_id v);
/* The carry that a load is of; NULL. */
const struct carry *recurrence_carry(const struct kernel *k, value_id load);
/* By value: does what is stored, or carried on for it, stand on it? */
bool *recurrence_needed(const struct kernel *k, struct arena *a);
/* Elements along r, neighbours of a thread, that are loaded or stored at once. */
int recurrence_load_vector(const struct kernel *k, const struct recurrent_layout *y, value_id load);
int recurrence_store_vector(const struct kernel *k, const struct recurrent_layout *y,
                            const struct store_node *s);

const char *recurrence_layout(const struct kernel *k, const struct config *c, struct layout *y,
                              struct arena *a);
double recurrence_cost(const struct kernel *k, const struct layout *y);

#endif
