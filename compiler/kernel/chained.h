/* chained.h: products behind products: what a config means for them.
 *
 * A part of a layout; what a chain is stands in the body. chained_layout.c, skipped.c. */
#ifndef WS_KERNEL_CHAINED_H
#define WS_KERNEL_CHAINED_H

#include "kernel/product.h"

/* Chained products: by warps, mma=2, or, as products are, by warpgroups and a role that copies. A
 * factor's tile lies in shared memory as those of `operand` do, in lines along its rows, or along
 * the depth; rows and depth in elements, filled up to sixteens. whole: pieces of 16 bytes are
 * copied; else threads compute the elements. f32 is tf32, rounded on its way, or by warps where it
 * lies, which may make planes of it instead. */
struct factor {
    value_id value;
    enum axis axis, along; /* of rows, of the depth */
    enum dtype dtype;
    bool across; /* lines run along the rows */
    bool whole;
    int rows, depth, line, bytes;
    /* mma=1: tensor maps take it: boxes at element, line and matrix, which is of z. */
    bool boxed;
    int64_t pitch;
    ex matrix;
    struct tensor_map map;
    int at;      /* byte where it lies, of the block's rows or of a stage */
    bool shared; /* a second product's: it lies where a first one's right factor does, as that */
    /* A second product's, mma=1 in tf32, which the units take along the depth alone: boxes are of
     * an image [z][row][depth] that a launch before writes (emit/cuda_chained_turned.c), `pitch`
     * elements a row. The terms' threads have neighbours 2 i and 2 i + 1 of the depth where the
     * units look for i and i + 4, so that the image has each eight in this order. */
    bool turned;
    int64_t image; /* byte where that begins, of the block's images */
};
enum { MOST_FIRST = 2, MOST_SECOND = 2 };
static inline int factor_piece(const struct factor *f) { return 16 / dtype_bytes(f->dtype); }
struct chained {
    bool by_warp;
    bool planes; /* f32 is three of bf16, as in matrix.c, in lines of 128 bytes; else tf32 */
    int warpgroups, registers, copier_registers; /* mma=1: that multiply; 0: as launched */
    int resident;                                /* mma=1: blocks that a multiprocessor has */
    bool ping_pong;                              /* these begin their products in turn */
    bool persists; /* a block has tile after tile, whichever is next: their rows, and what the first
                      steps read, are copied while the epilogue of the one before goes on */
    int barriers;  /* where they lie */
    int n_first, n_second;
    struct factor a[MOST_FIRST], b[MOST_FIRST], c[MOST_SECOND]; /* the first products'; the second
                                                                   ones' right factors */
    int warp_rows;
    /* By warps, of what is between: all that a tile has, or, where a tile's rows are one warp's, a
     * share of them, and what warps have come to is joined in shared memory behind the steps. */
    int warp_columns, shares;
    int columns;      /* of a second product, filled up */
    int stage, first; /* bytes of a stage of b and c; where the stages begin, behind a */
    bool skips;       /* steps go along a list of tiles that count: see skipped.c */
    /* What columns have of their own, so many floats each, from byte own_at on: a stage's, which a
     * warp beside the one that copies makes (own_apart); or, of blocks that persist, each warp's,
     * which makes it once a step for all of its rows, while the first products are under way. */
    struct own own[MOST_OWN];
    int n_own, own_floats, own_at, own_bytes;
    bool own_apart;
    int64_t images; /* bytes of those that are turned */
};
/* skipped.c: lists of tiles that count, of a config that has them, and numbers in each. */
int64_t skipped_lists(const struct kernel *k, const struct layout *y);
int64_t skipped_length(const struct kernel *k, const struct layout *y);
/* chained_layout.c: the same of chained products. */
/* Floats of a thread that a part leaves for the block that comes last, where y->split > 1. */
int chained_part_floats(const struct kernel *k, const struct chained *x);
/* Bytes of what warps have come to, where they share columns. */
int chained_join_bytes(const struct kernel *k, const struct chained *x);
/* Of the rows that a thread has, those that there may be: one of two, of eight rows at most. */
int chained_part_rows(const struct kernel *k, const struct chained *x);
/* Do a step's second products follow its first ones? By warps; of twins; of parts, which may have
 * no steps, and wait for memory. Else the next step's first product begins before. */
bool chained_is_in_turn(const struct layout *y);
/* Does a stage have the second product's tile of the step before, as that is made along with the
 * step's first product? Both are read at the same time then; but where they are one tile. */
bool chained_lags(const struct layout *y);
/* Words of 8 bytes, by warpgroups: of each stage that it is full, and empty; of turns; of blocks
 * that persist, that a tile's rows have been read, and the number of the tile. */
int chained_barriers(const struct layout *y);
int chained_rows_barrier(const struct layout *y);
const char *chained_layout(const struct kernel *k, const struct config *c, struct layout *y,
                           struct arena *a);

#endif
