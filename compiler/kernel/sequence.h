/* sequence.h: small kernels that follow each other as one launch of one block, which goes through
 * the blocks of each, one after the other, and meets between two of them:
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
 * A *part* is a kernel like any other, with a body, config, layout and text. All have the threads
 * of the sequence, whose only knob is `warps`; a part's config follows from these. */
#ifndef WS_KERNEL_SEQUENCE_H
#define WS_KERNEL_SEQUENCE_H

#include "kernel/kernel.h"

enum { SEQUENCE_MOST = 16 }; /* parts: compilers take time for each, and registers are those of the
                                one with most */

struct sequence {
    int n; /* 2 at least */
    const struct kernel *const *parts;
};

/* May it be a part: are its blocks independent of each other, and is all of it little work? */
bool sequence_takes(const struct kernel *k);

/* Part i's config of a sequence's; NULL if it is legal for it, else why not. */
const char *sequence_config(const struct sequence *s, int part, const struct config *c,
                            struct config *out, struct arena *a);

/* Estimated microseconds, with the launch; infinite if the config is illegal. */
double sequence_cost(const struct sequence *s, const struct config *c, struct arena *a);

/* All legal configs, best guess first; there is one. */
int sequence_configs(const struct sequence *s, struct arena *a, const struct config **out);

/* What of n kernels, in launch order, are sequences: length[i], of those from i on; 1: it stays
 * alone. takes[i]: may kernel i be a part? */
void sequences_find(const struct kernel *const *kernels, const bool *takes, int n, int *length,
                    struct arena *a);

#endif
