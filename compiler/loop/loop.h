/* loop.h: loop nests over symbolic indices: what each primitive node computes, element by element.
 *
 * Lowering turns every POINTWISE, REDUCE, SCAN, MATMUL and MOVE node into one nest that fills one
 * buffer. VIEW nodes vanish: they become the index with which a reader reads. A nest prints as
 *
 *   b3[i0: 4096, i1: 4096] = f32 exp_1                         # softmax, workloads/softmax.py:12
 *       v0 = load b0[i0, i1] : f32
 *       v1 = load b1[i0] : f32
 *       v2 = sub(v0, v1) : f32
 *       v3 = exp(v2) : f32
 *   b1[i0: 4096] = f32 amax_0, reduce r0: 4096
 *       v0 = load b0[i0, r0] : f32
 *       reduce amax v0
 *
 * A load may be *guarded*: it reads where its guard holds and is 0 elsewhere, so that a window over
 * an edge, a padding or a piece of a concatenation needs no copy. And a dimension may be looked up:
 * a *subscript* is an integer value made an index, negative ones counted from the end, those out of
 * range moved to the nearest end. It defines a symbol $k that indices after it may use.
 *
 *   b2[i0: 10] = f32 pad                          b3[i0: 6, i1: 64] = f32 embedding
 *       v0 = index 2 <= i0 : bool                     v0 = load b1[i0] : i64
 *       v1 = load b0[-2 + i0] if v0 : f32             v1 = subscript v0 of 100 as $0 : i32
 *       v2 = const 0 : f32                            v2 = load b0[$0, i1] : f32
 *       v3 = where(v0, v1, v2) : f32
 *
 * Invariants (loops_verify reports these numbers):
 *   L1  a nest's axes and reduce axes are index symbols of its own, each with a bound; axes of size
 *       1 do not exist (a buffer dimension of size 1 is indexed by the constant 0);
 *   L2  an instruction's arguments are instructions before it;
 *   L3  a load has as many indices as its buffer has dimensions, using only the nest's axes, its
 *       subscripts before the load, and size symbols;
 *   L4  nests come in dependency order: a buffer is written (by exactly one nest) before it is
 *       read; inputs never;
 *   L5  a nest without reduce axes has no reduction, one with has exactly one, and it is the last
 *       instruction;
 *   L6  the same of scans and the scan axis; no nest has both;
 *   L7  nests come in the order of their epochs: a loop's are run again and again, all of them a
 *       step; what they make is read outside through stacks alone.
 *
 * Ownership: everything in loops.arena, expressions in loops.ex (shared with the graph). */
#ifndef WS_LOOP_H
#define WS_LOOP_H

#include "graph/graph.h"

typedef uint32_t buffer_id;
typedef uint32_t inst_id;

/* How a reduction combines, what it starts from, and the prelude's name for it.
 *   REDUCTION(name, identity as C, combine over a and b in double, prelude operator) */
#define REDUCTIONS(R)                                                                              \
    R(SUM, "sum", 0.0, a + b, "k_sum")                                                             \
    R(PROD, "prod", 1.0, a *b, "k_prod")                                                           \
    R(AMAX, "amax", -INFINITY, a != a || a > b ? a : b, "k_amax")                                  \
    R(AMIN, "amin", INFINITY, a != a || a < b ? a : b, "k_amin")                                   \
    R(M2, "m2", 0.0, 0, "k_m2")                                                                    \
    R(EXPSUM, "expsum", 0.0, 0, "k_expsum")                                                        \
    R(ARGMAX, "argmax", -INFINITY, 0, "k_argmax")                                                  \
    R(ARGMIN, "argmin", INFINITY, 0, "k_argmin")

enum reduction {
#define R(id, ...) REDUCTION_##id,
    REDUCTIONS(R)
#undef R
        REDUCTION_COUNT
};
const char *reduction_name(enum reduction r);
const char *reduction_operator(enum reduction r);
/* Of pairs of a value, args[0], and its number, args[1]; the result is the number of the extremum:
 * the least of those that share it. */
bool reduction_of_pairs(enum reduction r);
/* What it has so far is one value of the type of its operand: neither pairs nor m2, which has
 * moments, nor expsum, which has the maximum, too. */
bool reduction_of_values(enum reduction r);
/* How one of these makes one of two. */
enum op reduction_step(enum reduction r);
/* Bytes of what a reduction of `dtype` has so far. */
int reduction_size(enum reduction r, enum dtype dtype);

enum inst_kind {
    INST_CONST,  /* value */
    INST_INDEX,  /* the integer index[0], as a number */
    INST_LOAD,   /* buffer[index...]; guarded: where args[0] holds, else 0 */
    INST_OP,     /* op(args) */
    INST_CAST,   /* to dtype; if `rounds`, to its nearest value, else dtype_opmath(dtype) will do */
    INST_SCAN,   /* reduction of args[0] over the scan axis up to this element, which counts */
    INST_REDUCE, /* reduction of args[0] over the reduce axes; argmax, argmin: of pairs */
    INST_SUBSCRIPT, /* the integer args[0] as an index; index[0] is the symbol that stands for it,
                       whose bound is the size of what it indexes */
};

enum { INST_MAX_ARGS = 5 };

struct inst {
    enum inst_kind kind;
    enum op op; /* OP */
    enum reduction reduction;
    enum dtype
        dtype;   /* type of the result as the graph sees it; arithmetic is in dtype_opmath(dtype) */
    bool rounds; /* CAST to a float narrower than its opmath type */
    bool guarded; /* LOAD */
    uint8_t n_args, n_index;
    inst_id args[INST_MAX_ARGS];
    double value;
    int64_t whole; /* CONST of integers: the same, exactly */
    buffer_id buffer;
    ex index[WS_MAX_RANK];
};

/* A STACK is a temporary whose outermost dimension the steps of a loop go along: written by one
 * nest, or a WINDOW at a time. */
enum buffer_kind { BUFFER_INPUT, BUFFER_TEMP, BUFFER_OUTPUT, BUFFER_STACK, BUFFER_WINDOW };

/* A piece of a concatenation is a WINDOW of the whole, too, the same in every call: `first`
 * elements behind where that begins, and with its strides (schedule/pieces.c).
 *
 * In step t of its loop a WINDOW is element first + way * t of a buffer, modulo `ring` if that is
 * not 0; carried, what that was in the step before, in step 0 the whole of `start`. */
struct loop_window {
    buffer_id of, start;
    bool carried;
    int64_t first, way, ring;
    int64_t each;       /* elements of `of` from one to the next */
    bool from_number;   /* carried, of a recurrence: all of `start` is this, and nobody makes it */
    struct inst number; /* CONST */
};

struct buffer {
    const char *name;
    enum buffer_kind kind;
    int index; /* INPUT: of graph.inputs; OUTPUT: of graph.outputs */
    struct meta
        meta; /* TEMP, but for its rows' length (schedule/pitch.c), OUTPUT and, of a loop, WINDOW
                         are contiguous; OUTPUT may have another shape
                         than the graph's output, with the same elements in order; of a STACK each
                         element along its outermost dimension is, and begins where vectors do */
    struct loop_window window; /* WINDOW */
    node_id node; /* one more than the node of loops.graph whose elements it holds, in row-major
                     order; 0: it holds parts of them, or of what a pass has made */
    int64_t
        *first; /* by dimension: where those of the node begin that it holds; NULL: it holds all */
};

struct nest {
    const char *name; /* of the graph node, a C identifier */
    node_id origin;   /* node of the captured graph */
    struct span where;
    uint32_t epoch; /* of loop k, 2k + 1; before it 2k */
    uint32_t chain; /* graph.chain: what is made for one chain of products is fused with nothing of
                       others; 0: it is for all */
    bool matmul;    /* from mm/bmm: wants the dot schedule */
    enum precision precision; /* of a product of f32 */
    buffer_id out;
    int n_axes, n_reduce;
    ex scan; /* the one of `axes` that is scanned along; EX_NONE */
    /* Else it is of sources, whose values say on which of so many rows they land, or on none. `out`
     * has the sources in the order of rows, as they come on each, then where each row's begin, and
     * where the last one's end (schedule/sorted.c). EX_NONE */
    ex sorted_rows;
    ex axes[WS_MAX_RANK], reduce[WS_MAX_RANK];
    ex out_index[WS_MAX_RANK]; /* per dimension of out: one of axes, or the constant 0 */
    VEC(struct inst) insts;    /* the last one is the value stored */
};

struct loops {
    struct arena *arena;
    struct exprs *ex;
    const struct graph *graph; /* the decomposed graph */
    VEC(struct buffer) buffers;
    VEC(struct nest) nests;
    VEC(int64_t) steps;    /* by loop */
    bool *recurs;          /* by loop: is it a recurrence (recurrence.c)? NULL: none is */
    ex *step;              /* by loop that recurs: the symbol of its steps, in INDEX; NULL */
    int64_t most_reduced;  /* elements that its steps may sum along */
    const uint32_t *epoch; /* by node of the graph, as nests have it; NULL: it has no loops */
};

/* The loop of an epoch, or NO_LOOP; and how often its nests are run. */
enum { NO_LOOP = UINT32_MAX };
static inline uint32_t loop_of(uint32_t epoch) { return epoch % 2 ? epoch / 2 : (uint32_t)NO_LOOP; }
int64_t nest_steps(const struct loops *l, const struct nest *n);

/* The buffer that b is in step t, and from which element on. */
buffer_id window_at(const struct loops *l, buffer_id b, int64_t t, int64_t *first);

/* lower.c, move.c. Needs: a verified, decomposed graph. */
struct loops *loops_lower(const struct graph *g, struct arena *a, struct diag *d);

/* trim.c: columns of products that are results are products of their own, on a device of so many
 * multiprocessors. */
void loops_results_apart(struct loops *l, int units);

/* within.c: what sums alone read, and is far larger than they are, is computed within them. */
void loops_within(struct loops *l);

/* in_turn.c: bytes that every program of these loops reads once more than the least, as a reduction
 * of more than the chip holds is there before what reads it. */
double loops_bytes_again(struct loops *l, double on_chip, struct arena *a);

/* recurrence.c: a loop's steps whose elements go their own way. Axes that all elements have, x, and
 * that steps reduce, r, are those of one of its nests; `to`, by axis of a nest, those that it
 * reduces behind the others, is which of them it is. False: the loop is none. */
struct recurrent_nest {
    uint32_t nest;
    int n;
    ex from[2 * WS_MAX_RANK], to[2 * WS_MAX_RANK];
};
struct recurrence {
    int n_x, n_r;
    ex x[WS_MAX_RANK], r[WS_MAX_RANK];
    VEC(struct recurrent_nest) nests; /* in order */
};
bool loop_recurs(const struct loops *l, uint32_t loop, struct recurrence *out);
/* Is it one of a loop that `recurs` has? Its sums stay as they are. */
static inline bool nest_recurs(const struct loops *l, const struct nest *n) {
    return l->recurs && loop_of(n->epoch) != NO_LOOP && l->recurs[loop_of(n->epoch)];
}
/* Which loops are, for a device that takes them whole, if their steps sum along so many elements at
 * most: what they read is made where it is read if that moves less, and a loop may be run once more
 * if that is faster: a step of it takes as long as to move so many bytes. From here on their
 * windows have any strides. */
void loops_recurrences(struct loops *l, int64_t most_reduced, double step_bytes);

/* print.c, verify.c */
void loops_print(struct buf *b, const struct loops *l);
void nest_print(struct buf *b, const struct loops *l, const struct nest *n);
void inst_print(struct buf *b, const struct exprs *p, const struct loops *l, const struct inst *i,
                uint32_t id);
const char *loops_verify(const struct loops *l); /* NULL or "L3: ..." */

#endif
