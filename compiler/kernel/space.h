/* space.h: what the parts of space.c share: proposals, each for one kind of kernel, on a grid of
 * powers of two. kernel_layout refuses what is illegal, the cost model orders the rest. */
#ifndef WS_KERNEL_SPACE_H
#define WS_KERNEL_SPACE_H

#include "kernel/kernel.h"

enum {
    MAX_CONFIGS = 64,
    MAX_HINTED = 12,  /* of these, how many are tried with each of the hints as well */
    MAX_STAYING = 32, /* ... with loads that leave L2 last; these seldom lose, and often win */
    MAX_STREAMED = 4, /* ... and with streaming stores */
    MAX_LEAVING = 4,  /* ... and with loads that leave L2 first */
    N_HINTS = 6,
    MAX_AHEAD = 8,    /* configs that copy rows ahead where no columns are summed up */
    MAX_LISTING = 8,  /* configs that list what lands in a tile */
    MAX_OWN = 4,      /* configs whose threads have lists of their own; or take sources in turns */
    MAX_AGAIN = 6,    /* configs that read rows again, of those that the cost model ruled out */
    MAX_LOOKING = 2,  /* configs whose tiles of a scan look back, of those */
    LONG_ROW = 8192,  /* columns from which a cluster of blocks may share a row */
    MOST_ALONE = 128, /* columns of a row that a thread has to itself, one by one */
};

struct candidate {
    struct config c;
    double cost;
    uint32_t place; /* among those of the same cost */
};

struct space {
    const struct kernel *k;
    struct arena *arena;
    VEC(struct candidate) all;
    struct map met; /* their configs */
    bool lies;      /* windows of the left factor may be read as they lie, */
    bool in_memory; /* there, or in an image that a launch before writes */
};

/* A size for the grids below; an empty axis counts as 1. */
static inline int64_t size_of(const struct kernel *k, enum axis x) {
    int64_t n = kernel_size(k, x);
    return n ? n : 1;
}

static inline int64_t next_power_of_two(int64_t v) {
    int64_t p = 1;
    while (p < v) p *= 2;
    return p;
}

#define CONFIG(...) ((struct config){.knob = {__VA_ARGS__}})
#define K(name, v) [KNOB_##name] = (v)

static inline bool stores_columns(const struct kernel *k) {
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->stores.at[i].mask & MASK_R && !is_column_store(k, &k->stores.at[i])) return true;
    return false;
}

/* Does an operand lie across the columns? */
static inline bool has_across(const struct kernel *k) {
    const struct layout turning = {.turn = true};
    for (value_id v = 0; v < k->values.n; v++)
        if (layout_turns(k, &turning, v)) return true;
    return false;
}

static inline int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* space.c. kernel_rank_by_warps: the best config of each number of warps, from 1 in powers of two,
 * and what it takes, infinite if there is none, of those whose layouts are allowed. */
enum { RANKED_WARPS = 6 };
struct ranked {
    bool (*allows)(const struct layout *y);
    struct config of[RANKED_WARPS];
    double us[RANKED_WARPS];
};
void kernel_rank_by_warps(const struct kernel *k, struct ranked *r, struct arena *a);
void propose(struct space *s, struct config c);

/* space_rows.c. widest_vector: that moves 16 bytes of the widest element along that axis. */
int widest_vector(const struct kernel *k, enum axis inner);
void propose_columns(struct space *s);
void propose_blocks(struct space *s);
void propose_rows(struct space *s);
void propose_hits(struct space *s);
void propose_own_hits(struct space *s);
void propose_in_turn(struct space *s);
void propose_turns_adds(struct space *s);
void propose_adds(struct space *s);
void propose_sort(struct space *s);
void propose_scan_rows(struct space *s);
void propose_pointwise(struct space *s);

/* space_products.c */
void propose_chained(struct space *s);
void propose_matmul(struct space *s);

/* persistent.c */
void propose_persistent(struct space *s);

/* recurrence.c */
void propose_recurrence(struct space *s);

/* space_cpu.c */
void propose_cpu(struct space *s);

#endif
