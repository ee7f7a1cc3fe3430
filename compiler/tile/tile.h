/* tile.h: tile programs: how a kernel is computed, by whom, in which order; between the block
 * program, which says what a config means, and the text. Straight-line instructions (tile.def) with
 * nested regions, on rings of tiles in shared memory and sums in registers:
 *
 *     program of 384 threads, 66 clusters of 2 blocks
 *     a = p0[1 z, 4096 m, 4096 k] bf16                        tensors that tiles are copied from
 *     b = p1[1 z, 4096 n, 4096 k] bf16
 *     A = bf16[4][128 m, 64 k] lines of 128 bytes             rings of 4 stages
 *     B = bf16[4][256 n, 64 k] lines of 128 bytes, shared by 2 blocks
 *     draw
 *         fill
 *         loop
 *             copy A
 *             copy B
 *             dot
 *         end
 *         store
 *     end
 *
 * is what dot.c makes of a product. pipeline.c makes of it a role that copies ahead and a role that
 * multiplies, with waits in between, or, where warps multiply and copy both, copies some steps
 * ahead; nobody writes a wait by hand. verify.c has the invariants,
 * run.c does what the program says in plain C, with copies and products that are as late as a
 * device may have them. Emitters print instruction by instruction.
 *
 * Invariants (tile_verify reports these numbers):
 *   T1  regions nest, and each END closes one; a role is outermost, and roles' threads are the
 *       block's;
 *   T2  a COPY stands in a LOOP or an AHEAD, a DOT and a MAKE in a LOOP, all in a DRAW, and the
 *       STORE behind the LOOP;
 *   T3  what a DOT reads has been waited for: a WAIT_FULL stands before it in the LOOP, and each
 *       copied tile is of that stage, or a LANDED of all groups but those that are ahead of it, and
 *       each step's copies are a GROUP; what is made is of what was taken in that step, and a GIVE
 *       of each stage follows it; and what is stored has all parts of the depth;
 *   T4  a stage is filled again only behind a WAIT_EMPTY, and every role that reads it arrives once
 *       for each step, behind a DRAIN of those products; or behind a LANDED, at which all meet who
 *       have read it, and less than all stages ahead;
 *   T5  sums are read (ADD, CROSS, FOLD, LEAVE, STORE) only behind a DRAIN of 0, those of pairs in
 *       the LOOP behind a DRAIN_SUMS, and begin with a FILL;
 *   T6  rings lie in shared memory apart from each other, aligned to their swizzle, within the
 *       block's;
 *   T7  a NEXT stands behind each step of a role;
 *   T8  the phases of an epilogue come in their order, each STORE but the last with a REDUCE behind
 *       it; partials are left by who has reduced them; and a STORE that reads what rows come to
 *       stands behind a MEET_PARTIALS of all the tiles that share rows, if there are several;
 *   T9  a line of what is read through windows is of one tap, and there are lines for all taps,
 *       which of shifted rows are in the same line of the image;
 *   T10 of pairs, an ADD and a CROSS stand behind the DOT in the LOOP, or in tensor memory behind
 *       the READ, and the DOT between a WAIT_CROSSED and an OFFER_CROSSED; of others none does;
 *   T11 what a short step leaves out is 0: behind the depth, or behind a tap's channels;
 *   T12 all blocks that a multiprocessor is to have at a time find the registers that their roles
 *       ask for, and their shared memory;
 *   T13 what stays in shared memory, copied in the block's first tile, is the same for all of its
 *       tiles, and has a stage for each step;
 *   T14 of a left factor that threads read into registers a DOT is drained, with none under way,
 *       before the step ends;
 *   T15 each tile is drawn once, and has all steps along the depth whose terms count (bounded):
 *       what is made, or stays, has all steps of every tile; and where the last tiles alone are
 *       in parts, no others differ in steps;
 *   T16 lines of bytes, and of tf32, run along the depth, which goes by whole instructions;
 *   T17 sums that lie in tensor memory begin behind a WAIT_READ and end with an OFFER, one for each
 *       READ; each step's products are followed by a RELEASE, and no other role has any;
 *   T18 a block has a power of two of its columns, from 32 on, and all sets of its sums lie in
 *       these, those of all blocks of a multiprocessor in 512; each warp that reads has the lanes
 *       that its number in its warpgroup gives it;
 *   T19 of chained products, rows and the second sums BEGIN before all steps; of each a DOT, a
 *       RELATE, TERMS and a DOT_SECOND follow each other, and nothing takes their place before it
 *       is used; where c's tiles lag, a stage has that of the step before, COPY_BEFORE, and one
 *       more behind the LOOP that of the last one; where a block has tile after tile, its rows are
 *       copied behind a WAIT_ROWS, there is one FREE_ROWS behind the last DOT, drained, and all
 *       stages are arrived for, and left, before the DRAW ends; where two first products are begun
 *       one by one, so is each step: DOT 1 and 2, RELATE 1 and 2, each behind its product's end,
 *       and TERMS 1 before RELATE 2 takes their place; twins then arrive for the step before, once
 *       its second products have ended;
 *   T20 groups that have tiles in turn are one warpgroup each: a SKIP of the others' steps, which
 *       are as many in all tiles, stands before the TURN, a WAIT_TURN before its LOOP, a PASS_TURN
 *       behind that; and each leaves what its epilogue exchanges in a place of its own. Those of
 *       chained products have the products of a step in turn: each DOT and DOT_SECOND stands
 *       between a WAIT_TURN and a PASS_TURN, as many in all groups;
 *   T21 of factors that become planes where they lie, and of no others, a SPLIT stands before the
 *       DOT, behind the WAIT_FULL.
 *
 * Where sums lie in tensor memory (sm_100a), one role of one thread has products made, and warps
 * read what these come to. So that some are read while others are made there may be two sets of
 * sums, which are at hand in turn:
 *
 *     role 96                   role 128
 *         draw                      draw
 *             wait read                 read
 *             fill                      store
 *             loop                  end
 *                 wait full     end
 *                 dot
 *                 release
 *                 next
 *             end
 *             offer
 *         end
 *     end
 *
 * Where the epilogue reduces, the store is followed by
 *
 *     reduce 0 v5
 *     leave partials 0 v5
 *
 * and a launch behind adds up the tiles' partials; or, where elements read what their rows come to,
 * blocks do, which hold on to their sums meanwhile:
 *
 *     meet partials 16
 *     store 1
 *
 * Sums of exp(x - max), which softmax has, do not wait for the row's maximum (kernel/online.c): a
 * tile has them relative to its own, and rescales them behind the one meeting. The exponentials are
 * kept in place of the sums, which nobody needs any more:
 *
 *     reduce 0 v5           hold                  leave partials 1 v8     store 2
 *     leave partials 0 v5   keep v7               meet partials 16
 *                           store 1               rescale
 *                           reduce 1 v8
 *
 * A factor whose tiles are made (kernel/operand.c) is read before the stage is free, and each
 * warpgroup of the role has a step in turn, so that what one waits for is hidden by another:
 *
 *     role 256
 *         draw
 *             loop
 *                 turn 2
 *                     take B
 *                     wait empty
 *                     copy A
 *                     make B
 *                     give
 *                 end
 *                 next
 *
 * Ownership: in tile_program.arena. */
#ifndef WS_TILE_TILE_H
#define WS_TILE_TILE_H

#include "kernel/kernel.h"

enum tile_op {
#define TILE(name, text, opens, what) TILE_##name,
#include "tile/tile.def"
#undef TILE
    TILE_OPS
};
const char *tile_op_name(enum tile_op op); /* "wait full" */
bool tile_op_opens(enum tile_op op);

/* What the text of an instruction is made of: "copy A 2", "drain 0", "reduce 0 v5". */
struct tile_words {
    const char *text;
    bool ring;              /* "A" or "B" stands behind it, */
    bool counts, may_count; /* then tile_inst.n; or only if that is not 0 */
    bool phase;             /* which is a phase of the epilogue */
};
struct tile_words tile_op_words(enum tile_op op);

struct tile_inst {
    enum tile_op op;
    int ring; /* COPY, TAKE, MAKE: which */
    int n;
};

/* Tiles of an operand in shared memory, one for each stage and plane: rows of `depth` elements, or,
 * `along`, lines along the rows. A tile is made of boxes as wide as a line, one behind another;
 * 16-byte pieces of a line are swizzled as its width has it. */
struct tile_ring {
    const char *name; /* "A" */
    const struct operand *operand;
    int rows, depth;
    int line;           /* bytes: 32, 64, 128 */
    int stages, planes; /* stages: of what stays all steps, each of which is copied once */
    int offset;         /* of the first stage; stages are `stage` bytes apart, planes `bytes` */
    int stage, bytes;
    int blocks; /* of a cluster that copy a part each, for all of them; 1: none */
};

/* A ring as products read it: of tiles that are split, that of their planes. */
struct tile_ring ring_of_planes(const struct tile_ring *r, struct arena *a);

enum { RINGS = 2, TILE_A = 0, TILE_B = 1, TILE_C = 2 /* chained */ };
/* Has a step tiles of second products of its own? */
static inline bool chained_copies_c(const struct chained *x) {
    bool copies = false;
    for (int i = 0; i < x->n_second; i++) copies |= !x->c[i].shared;
    return copies;
}

struct tile_program {
    struct arena *arena;
    const struct block *block;
    const struct product *product; /* NULL of chained ones */
    const struct chained *chained; /* NULL of others; these have no rings, but one tile of a, and
                                      stages of b and c */
    struct tile_ring ring[RINGS];
    VEC(struct tile_inst) code;
    int threads;  /* of a block */
    int copiers;  /* of them, those that copy or make tiles; 0: there are no roles, or not yet */
    int issuers;  /* and those, of which one thread has products made; 0: who multiplies does */
    int ahead;    /* by_warp: steps that copies are ahead of products; 0: not yet */
    int barriers; /* where the stages' barriers lie; by_warp there are none */
    int exchange; /* and what the warps leave of the epilogue's reductions, */
    int exchange_apart; /* those of each warpgroup in turn so many bytes behind the last one's */
    int smem;           /* bytes of shared memory */
    int64_t workspace;
    int64_t kept;         /* bytes of memory that holds what is packed at load across calls */
    int64_t image[RINGS]; /* where packed operands begin in the one or the other */
    int64_t flags[RINGS]; /* pairs: where launches that packed say what is out of range, a word for
                             each of their blocks, and what takes their scale back, behind the
                             image; */
    int64_t verdict;      /* and the product whether anything is, a word of the workspace; */
    const struct tile_program *beside; /* of bf16, made if so: the one of pairs; NULL: none */
    int64_t parts;                     /* and the sums that parts of the depth leave */
    int64_t partials;                  /* and what tiles leave of the epilogue's reductions */
    int64_t tickets;                   /* bytes of the counters of these */
    const int *order; /* bounded: tiles as they are drawn, those with most steps first, by their
                         numbers; NULL: in that order */
};

/* dot.c: a product's block program as a tile program without roles and waits. */
struct tile_program *tile_dot(const struct block *p, struct arena *a);
/* chained.c: chained products' block program as one that copies ahead; why it is wrong, or NULL;
 * its head as text. */
struct tile_program *tile_chained(const struct block *p, struct arena *a);
const char *tile_verify_chained(const struct tile_program *t, struct arena *a);
void tile_print_chained(struct buf *b, const struct tile_program *t);
/* What such a program makes of factors a[z][m][r], b[z][n][r], c[z][n][c], in out[z][m][c]: rows of
 * a b^T, x say, times c; relative: of exp(x - max x). Of two first products, whose factors are
 * in[3] and in[4], x is theirs multiplied; of two second ones the other's is in[5], its rows are
 * half of x, and what they make lies behind the first one's. counts: where the program skips, of
 * each z, tile of rows and tile of columns, whether it counts. Copies land as late as they may, or
 * at once, by `seed`; what nobody has written is NaN. */
const char *tile_run_chained(const struct tile_program *t, const float *const in[], float *out,
                             bool relative, const bool *counts, uint64_t seed, struct arena *a);
/* Blocks of the launch that packs an operand, whose threads have eight elements at a time; of those
 * that are turned, tiles of so many lines and elements. */
enum { PACK_EACH = 8, PACK_THREADS = 256, PACK_TILE = 64 };
int64_t tile_pack_blocks(const struct tile_program *t, int ring);
/* pipeline.c: roles that copy and that multiply, or copies ahead, and what each waits for.
 * needs: neither. keeps: the numbers. */
void tile_pipeline(struct tile_program *t);

void tile_print(struct buf *b, const struct tile_program *t);
void tile_print_head(struct buf *b, const struct tile_program *t); /* what stands above the code */
void tile_print_inst(struct buf *b, const struct tile_program *t, const struct tile_inst *c);
/* parse.c: the program of the block whose code a text is, and whose head, if it has one. NULL with
 * a diag; whether the program is right is for tile_verify to say. */
struct tile_program *tile_parse(const struct block *p, const struct source *src, struct arena *a,
                                struct diag *d);
const char *tile_verify(const struct tile_program *t, struct arena *a); /* NULL: it is fine */

/* Boxes of which a tile of the ring is made, and rows or steps along the depth that each has. */
int ring_boxes(const struct tile_ring *r);
int ring_box_lines(const struct tile_ring *r);
int ring_line_elements(const struct tile_ring *r);
/* Bytes that so many boxes bring. */
int ring_copied_bytes(const struct tile_ring *r, int boxes);
/* Blocks of a cluster that copy some lines of each box; where lines run along the rows these have
 * boxes of their own, if there are enough, and as many for each. */
int ring_box_sharers(const struct tile_ring *r);
/* Is step number i along the depth a short one, and how many of its boxes a step then copies. */
bool tile_step_is_short(const struct tile_program *t, int64_t i);
bool tile_has_both_steps(const struct tile_program *t); /* and are others not? */
int ring_boxes_of_short(const struct tile_program *t, const struct tile_ring *r);
/* Bytes that all copies of a step, which may be a short one, bring into a block, in its first tile
 * or in a later one. */
int tile_copied_bytes(const struct tile_program *t, bool is_short, bool first);
int tile_stages(const struct tile_program *t); /* which copies are ahead of products by, and one */
/* The ring whose tiles are made; NULL: all are copied. That which all tiles of a block share; NULL:
 * none. */
const struct tile_ring *tile_made(const struct tile_program *t);
const struct tile_ring *tile_staying(const struct tile_program *t);
/* Steps along the depth, of which parts have one in turn: what they read at a time lies together.
 * Floats that a part of a block's tile leaves. */
int64_t tile_steps(const struct tile_program *t);
/* Those of a batch, and where along the depth number i of them is. */
int64_t tile_batch_steps(const struct tile_program *t, int64_t z);
int64_t tile_batch_step(const struct tile_program *t, int64_t z, int64_t i);
int64_t tile_part_floats(const struct tile_program *t);
/* Tiles of all blocks of a cluster; of the one drawn as number i, parts of the depth apart, which
 * it is along each axis; and its steps, of all parts. */
int64_t tile_all(const struct tile_program *t);
/* What is drawn: tiles, whole or a part of `parts` of one; numbers of these. */
struct tile_drawn {
    int64_t tile;
    int part, parts;
};
struct tile_drawn tile_drawn(const struct tile_program *t, int64_t i);
int64_t tile_draws(const struct tile_program *t);
void tile_place(const struct tile_program *t, int64_t i, int64_t *z, int64_t *m, int64_t *n);
struct step_range tile_steps_at(const struct tile_program *t, int64_t z, int64_t m, int64_t n);
/* Who makes has the same of each tile's steps, all long or all short ones, unless who has a tile's
 * last has the next one's first. No turn comes later than so many steps as there are stages: a wait
 * tells this round of a stage from the one before, and no more. */
bool tile_turns_go_on(const struct tile_program *t);
/* product.batches_beside: tile number i is of batch (i + i / n) % batches, for this n, and of place
 * i / batches: so a block has all batches in turn, which differ in steps. */
int64_t tile_turns(const struct tile_program *t);
/* Do tiles leave what they have of the epilogue's reductions? Not if rows are whole in each. */
bool tile_leaves_partials(const struct tile_program *t);
/* Where the partials of the epilogue's reduction v begin in the workspace, and bytes of them. */
int64_t tile_partials(const struct tile_program *t, value_id v);
int64_t tile_partial_bytes(const struct tile_program *t, value_id v);
/* Where warps leave what they have of it in shared memory. */
int tile_exchange(const struct tile_program *t, value_id v);
bool is_epilogue_reduction(const struct kernel *k, value_id v);

/* run.c: the sums of each output element as the program makes them, out[z][m][n], from planes of
 * the two factors, in[0][plane][z][m][k] and in[1][plane][z][n][k] (z of 1 where it does not vary);
 * of one that is read through windows, of the image that operand_element counts in.
 * Copies land, and products are made, as late as they may, or as early, by `seed`. What nobody has
 * written is NaN. NULL, or what went wrong: a wait that never ends, say. */
const char *tile_run(const struct tile_program *t, const float *const in[RINGS], float *out,
                     uint64_t seed, struct arena *a);

#endif
