/* persistent.h: all steps of a loop in one kernel, whose blocks keep what no step changes.
 *
 * Rows are what only the left factors of its products have, as a batch; columns are what the right
 * ones have, which are the same in each step. A block owns some columns, n, of one z, in all rows:
 *
 *     v3 = reduce sum (load p0[m*256 + z*2560 + r]) * (load p1[r + n*256 + z*524288])   {z m n}
 *     ..                                                    what a step makes of its products
 *     store p5[m*256 + z*2560 + n] = v17                    and leaves for the next
 *
 * So what a point of a step needs of each product is a column of its own, as the four gates of a
 * unit are, and the block has its columns' right factors in shared memory for all steps. A step is:
 * wait until all blocks have left the one before, copy the left factors from L2, multiply, and do
 * what remains for each point.
 *
 * look_back=1: blocks do not meet. What all read of the step before begins as a nan that no element
 * is stored as, and a block loads each until it is another number: a step takes one way to L2 and
 * back, not a fence, a counter's, a load's. For that memory has all steps. persistent.c. */
#ifndef WS_KERNEL_PERSISTENT_H
#define WS_KERNEL_PERSISTENT_H

#include "kernel/body.h"

struct config;
struct layout;

/* A product, of `slab` and a right factor. */
struct step_sum {
    value_id sum, b;
    int slab;
};
/* Of a body: its products by their left factors, these in the order of phases. A left factor that
 * is made of sums of the same step is stored by the phase before, and read by all blocks. */
struct steps {
    int64_t n; /* of the loop */
    VEC(struct step_sum) taps;
    VEC(value_id) slabs; /* left factors */
    int phases;
    int *phase; /* of each value, as soon as it may be made */
};

/* Of a layout. In shared memory, of elements `type`, in lines of `line` of them: the right factors'
 * columns, of each slab `columns`; the slabs' rows; and what both come to, in `sums` for each row,
 * `parts` times.
 *
 * By multiply-adds, `lanes` threads share the depth of a tile. On the matrix units (mma=2) a warp
 * has a tile's columns in all rows, and a part of the depth. */
struct persistent {
    enum dtype type, math;
    bool by_warp;                    /* mma=2 */
    bool in_registers;               /* it keeps its columns there */
    bool looks;                      /* look_back=1 */
    int vec, lanes;                  /* elements of 16 bytes; 1 by warp */
    int64_t units, slices;           /* n of a block; blocks of a z */
    int64_t blocks;                  /* of all */
    int rows, across;                /* of a tile, rows and columns */
    int64_t row_tiles, column_tiles; /* of a slab */
    int64_t line, columns;
    int64_t depth; /* of a part */
    int parts;
    int64_t sums;
    int turns;                   /* 2: slabs run ahead, so that sums of two steps are there */
    int64_t b_at, a_at, sums_at; /* bytes */
};
enum { MMA_ROWS = 16, MMA_COLUMNS = 8, MMA_WORDS = 8 }; /* of an instruction; words deep */

/* Why a group is none; NULL: it is, and *us what its kernel takes, about. */
const char *kernel_persistent_reason(const struct schedule *s, uint32_t group,
                                     const struct device_limits *limits, double *us,
                                     struct arena *a);
/* body.c makes these by it: NULL unless the group is one. */
struct kernel *kernel_build_persistent(const struct schedule *s, uint32_t group,
                                       const struct device_limits *limits, struct arena *a);
/* What lies behind its buffers, windows and others: memory that does not move. */
typedef VEC(buffer_id) buffer_vec;
buffer_vec persistent_memory(const struct kernel *k, struct arena *a);
/* Is what b holds left by this launch? */
bool persistent_changes(const struct kernel *k, buffer_id b);
/* The first slab of a phase, or behind all. */
int persistent_slabs(const struct kernel *k, int phase);
/* Of a slab: how many taps are before it, and its own. */
int persistent_first(const struct kernel *k, int slab);
int persistent_taps(const struct kernel *k, int slab);
/* May a slab's rows be copied a vector at a time as they lie? Where its guard does not hold, which
 * no step changes, there are zeros. */
bool persistent_copies(const struct kernel *k, const struct persistent *p, int slab);
/* Do left factors lie in what is stored there? */
bool persistent_looked_at(const struct kernel *k, buffer_id stored);
/* look_back: vectors of a slab, a thread of those that wait for it: on the matrix units the slab's
 * warps, else all. */
int persistent_vectors(const struct kernel *k, const struct persistent *p, int threads);

const char *persistent_layout(const struct kernel *k, const struct config *c, struct layout *y,
                              struct arena *a);
int64_t persistent_chain(const struct kernel *k, const struct persistent *p);
double persistent_cost(const struct kernel *k, const struct layout *y);

#endif
