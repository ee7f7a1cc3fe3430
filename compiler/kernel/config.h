/* config.h: what a config is. A flat set of named integers, printable, parsable, replayable with
 * --config:
 *
 *     x=1 r=4096 warps=8 vec=8 keep=1
 *
 * A knob that is 0 is not printed and means "as if this knob did not exist": a new knob therefore
 * never changes the meaning of a stored config. What the knobs mean to a kernel, and which sets are
 * legal, is decided in config.c alone; a search only proposes.
 *
 *   KNOB(name, what it sets) */
#ifndef WS_KERNEL_CONFIG_H
#define WS_KERNEL_CONFIG_H

#include "base/base.h"

#define KNOBS(KNOB)                                                                                \
    KNOB(x, "rows (outer elements) per block; on the CPU per task")                                \
    KNOB(r, "columns (inner elements) per iteration of a block; on the CPU per tile")              \
    KNOB(warps, "warps per block")                                                                 \
    KNOB(vec, "elements per vector load or store")                                                 \
    KNOB(rows, "rows per thread")                                                                  \
    KNOB(keep, "1: the row is read once and kept in registers (CPU: in an L1 tile); 2: in shared " \
               "memory, r "                                                                        \
               "columns at a time")                                                                \
    KNOB(split, "blocks that share one reduction; their partial results are reduced by a second "  \
                "launch, of products by the last blocks")                                          \
    KNOB(m, "matmul: rows of the output tile of a block")                                          \
    KNOB(n, "matmul: columns of the output tile of a block")                                       \
    KNOB(k, "matmul: depth of one step")                                                           \
    KNOB(tm, "matmul: rows of the output tile of a thread; mma=2: of a warp")                      \
    KNOB(tn, "matmul: columns of the output tile of a thread; mma=2: of a warp")                   \
    KNOB(nt, "1: streaming (non-temporal) stores")                                                 \
    KNOB(cluster, "blocks that share one row, as a cluster if anything is reduced along it")       \
    KNOB(skip_l1, "1: loads leave no copy in L1")                                                  \
    KNOB(leave_l2, "1: what is loaded leaves L2 before what is stored")                            \
    KNOB(stay_l2, "1: what is loaded leaves L2 after what is stored")                              \
    KNOB(last_block, "1: the last block of a split reduction to end, or to begin, reduces the "    \
                     "partial results, without a second launch")                                   \
    KNOB(meet, "1: blocks of a split reduction meet, and go along their part of the row again "    \
               "with what all of it comes to; with keep=2 the end of it is in shared memory")      \
    KNOB(online,                                                                                   \
         "1: sums of exp(x - max) are made along with the maximum, of (x - mean)^2 along with "    \
         "the mean")                                                                               \
    KNOB(blocks, "blocks per multiprocessor, each for many rows, or tiles of chained products; "   \
                 "they may sum up columns; with look_back=1, a scan's, each of which has a tile "  \
                 "in every round")                                                                 \
    KNOB(fit, "blocks that the registers of a multiprocessor must suffice for; 0: for one")        \
    KNOB(stages, "with blocks: rows under way at a time, all but one of them copied ahead into "   \
                 "shared memory; a scan's in rounds: 2: a scanned tile waits a round for the "     \
                 "others' totals, more: and tiles to come are copied ahead; recurrences on a "     \
                 "GPU: steps whose loads registers hold")                                          \
    KNOB(turn, "1: pointwise operands that lie across are transposed in shared memory; matmul by " \
               "threads: 1, 2, 3: the left factor, the right one, or both, whose memory runs "     \
               "along the depth, are transposed by a launch before")                               \
    KNOB(window, "1: pointwise loads that overlap or have gaps share whole vectors")               \
    KNOB(look_back,                                                                                \
         "1: tiles of a scanned axis are blocks, which look back at the totals of those before; "  \
         "blocks of a loop's steps look at what they read of the step before until it is there, "  \
         "and do not meet")                                                                        \
    KNOB(ahead,                                                                                    \
         "1: on the CPU, what is read next is prefetched: the next row, or a page further on; "    \
         "recurrences on a GPU: the next half of the stages' steps has registers of its own, "     \
         "which are loaded before this half's first step")                                         \
    KNOB(shift, "1: operands out of step with vectors are read by two of them, and shifted")       \
    KNOB(mma, "matmul: on the matrix units; m, n and k are a block's tile; 1: by warpgroups, "     \
              "which have 64 rows of it each (sm_90a, and sm_100a, whose sums lie in tensor "      \
              "memory), 2: by warps (sm_80 on)")                                                   \
    KNOB(flat,                                                                                     \
         "matmul: 1: windows of an image are its rows, one behind the other, with the zeros "      \
         "around it; those beyond its edges are multiplied for nothing; 2: the same of an image "  \
         "of f32 as it lies in memory, which threads read into registers: none is packed; on "     \
         "the CPU, 1: they stay in a copy of their part of it, and vectors go along the filters")  \
    KNOB(pairs,                                                                                    \
         "1: products of f32 with mma=1 are three of pairs of f16, where the data are in "         \
         "range of these; 2: the same, and factors that lie as tensor maps want are copied "       \
         "as f32, which those who multiply split where it lies: none of them is packed; "          \
         "0: six of bf16")                                                                         \
    KNOB(band, "matmul: tiles of a band, down which blocks go before they move a column on")       \
    KNOB(tail, "matmul: so many tiles at the end (of a cluster) are done in split parts, so that " \
               "all multiprocessors are done at about the same time; 0: all tiles")                \
    KNOB(make, "matmul: warpgroups that make tiles of a factor out of what it reads, in turn; no " \
               "image of it is packed (mma=1)")                                                    \
    KNOB(pingpong,                                                                                 \
         "matmul: 1, 2, 3: two warpgroups, or as many more, have whole tiles, in turn: one "       \
         "multiplies while the epilogues of others go on (mma=1); chained products: 1: "           \
         "warpgroups begin their "                                                                 \
         "products in turn, and one is at what is between them while another's are made")          \
    KNOB(hits, "scatter: sources that a thread tests at a time for whether they go to the x rows " \
               "of its block, which then reads those only; sort=3: times 256 threads of the "      \
               "blocks that sort; on the CPU 1: all are sorted by where they go")                  \
    KNOB(sort,                                                                                     \
         "scatter, with hits: 1: launches before sort all sources by where they go, and a block "  \
         "looks at its own; 2: they list where each row's begin, too, and a thread goes along "    \
         "those of its own elements, of which it has `rows`, in as many rows of the outer axes; "  \
         "3: they sort by blocks alone, of a warp each, whose threads take a source each, in "     \
         "turns where they go to one row, or of more, as 5; 4: nothing is sorted: what sources "   \
         "bring is added up as "                                                                   \
         "whole numbers, by atomics, r sources a thread; 5: by atomics in shared memory of each "  \
         "block, which looks at all sources of its x rows")                                        \
    KNOB(skip,                                                                                     \
         "chained products: 1: a launch before lists the tiles of which masks of data leave "      \
         "something, and steps go along these")

enum knob {
#define KNOB(name, what) KNOB_##name,
    KNOBS(KNOB)
#undef KNOB
        KNOB_COUNT
};

struct config {
    int32_t knob[KNOB_COUNT];
};

const char *knob_name(enum knob k);
const char *knob_help(enum knob k);

void config_print(struct buf *b, const struct config *c);
const char *config_str(struct arena *a, const struct config *c);
/* Inverse of config_print. Unknown knob, missing '=', bad number, a knob given twice: WS_USAGE in
 * d. */
bool config_parse(const char *text, struct config *out, struct diag *d);
bool config_equal(const struct config *a, const struct config *b);

#endif
