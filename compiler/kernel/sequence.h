/* sequence.h: small kernels that follow each other as one launch. In turn, of one block, which goes
 * through the blocks of each, one after the other, and meets between two of them:
 *
 *   rsqrt(mean(x * x, 0) + e): [32]     2 launches, 2.4 us on an H200
 *   norm(x * that, 1): [32, 32]
 * ->
 *   part 0; __syncthreads(); part 1     1 launch
 *
 * Kernels of a few thousand elements wait for their launch, and for the one before to end, and not
 * for what they do. A block's own stores are seen behind a barrier of its threads, in a fraction of
 * that. Others call it a persistent megakernel, of one block.
 *
 * Or beside each other, where none reads what another one writes, each with its own blocks:
 *
 *   amax(x, [0, 1]): [8]                blocks 0 to 3 are those of part 0
 *   log(x * x + 1): [760, 4, 8]         blocks 4 to 9 are those of part 1
 *
 * (Kernels of one shape have become one before: schedule/beside.c, abreast.c.)
 *
 * A *part* is a kernel like any other, with a body, config, layout and text. All have the threads
 * of the launch, whose only knob is `warps`; a part's config follows from these. */
#ifndef WS_KERNEL_SEQUENCE_H
#define WS_KERNEL_SEQUENCE_H

#include "kernel/kernel.h"

/* Parts: compilers take time for each, and registers are those of the one with most. */
enum { SEQUENCE_MOST = 16 };

struct sequence {
    int n; /* 2 at least */
    bool beside;
    const struct kernel *const *parts;
};

/* Part i's config of a sequence's; NULL if it is legal for it, else why not. */
const char *sequence_config(const struct sequence *s, int part, const struct config *c,
                            struct config *out, struct arena *a);

/* All legal configs, best guess first; there is one. */
int sequence_configs(const struct sequence *s, struct arena *a, const struct config **out);

/* Of kernels in launch order: may kernel i be beside those from `from` on? */
typedef bool independent_fn(int from, int i, void *ctx);
struct sequences {
    int *length;  /* by kernel: of the sequence that it is the first of; 1: it stays alone; 0: it is
                     of one that has begun before */
    bool *beside; /* of the first */
};
/* Which of n kernels are sequences, by least cost. takes[i]: may it be a part? */
struct sequences sequences_find(const struct kernel *const *kernels, const bool *takes, int n,
                                independent_fn *independent, void *ctx, struct arena *a);

#endif
