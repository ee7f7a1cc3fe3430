/* impl.h: what the emitters share. Private to emit/.
 *
 * While text is written, every value is either a local "v7" in the scope at hand, an array element
 * "a7[e]" of a value that was computed earlier for each row of the thread, or a literal.
 * emitter.where says which. */
#ifndef WS_EMIT_IMPL_H
#define WS_EMIT_IMPL_H

#include "emit/emit.h"

/* CHUNK: a maximum so far, b7[e], while sums are made that are relative to it. UNIFORM: a local
 * that is one number where others are vectors. */
enum where { NOWHERE, LOCAL, ARRAY, CHUNK, UNIFORM };

struct emitter {
    struct arena *arena;
    struct buf b;
    const struct block *p;
    const struct kernel *k;
    const struct layout *y;
    struct ws_source *out;
    struct diag *d;
    bool cuda;
    bool vectors; /* C: the text at hand is of whole vectors: what is one number is splat */
    ex x_is;      /* C: what x is, in the scope at hand, if more is known of it; else EX_NONE */
    ex n_is;      /* C: the same of n */
    const char *load_if;  /* the text at hand loads where this holds, too; NULL */
    const char **load_at; /* C, of loads: their index in the text at hand, if more is known of it */
    const char **store_at; /* the same of stores */
    bool by_sixteens;      /* CUDA: the text at hand has both eights of 16 rows in turn */
    bool here;             /* CUDA: loads stay before what waits or stores behind them */
    bool rows_ahead;    /* CUDA: what rows have alone has been loaded before, for both of sixteen */
    bool columns_ahead; /* CUDA: what columns have alone has been loaded before, for each octet */
    int ahead;          /* CUDA: chunks of a row whose loads come before the first is stored */
    bool depth_is_number; /* CUDA: what the depth is in the text at hand is known to the compiler */
    int indent;
    uint8_t *where; /* per value: enum where */
    const struct interval
        *ranges;             /* CUDA, per value: what it may be, or nan; NULL: not asked yet */
    uint8_t *forms;          /* C, per value: what c_vector.c has found of it; 0: nothing yet */
    uint8_t *by_lanes;       /* C, per value: and c_lanes.c: 1 yes, 2 no */
    const uint8_t *kept;     /* C, per value: what c_keep.c has found of all; NULL: nothing yet */
    int exchanges;           /* CUDA: of the cluster's blocks, so far */
    const value_id *carried; /* CUDA: the value that is there for each source; NULL */
    bool scales;             /* CUDA, adds: the text at hand finds the largest numbers */
    bool by_source;          /* CUDA: each thread is at a source, and x is where that lands */
    bool ends;               /* CUDA: the text at hand is of the heads and tails of rows */
    bool far_seen;           /* CUDA: sines of the text at hand note in `far` how far angles are */
    bool next;               /* CUDA: the text at hand loads the tile behind the one at hand */
    bool whole;              /* CUDA, chained: and here of tiles whose columns are all there */
    int section; /* CUDA, chained: of sections the loop at hand, from 1 on; 2: of whole tiles */
    struct folds folds;    /* CUDA: of the phase at hand */
    const char *part;      /* CUDA: the text at hand is this function, of a sequence's part, whose
                                block is `turn`; NULL: a kernel, whose block is blockIdx.x */
    buffer_vec written;    /* part: what those before it have stored */
    buffer_vec memory;     /* of a kernel of all steps of a loop (step_memory.c) */
    const char *subscript; /* of ARRAY values in the scope at hand: "[e]", "[e][v]", "[l]", "" */
};

/* text.c */
void line(struct emitter *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void open_brace(struct emitter *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void open_scope(struct emitter *w);
void close_brace(struct emitter *w);
const char *math_type(enum dtype t); /* "float": what values are computed in */
const char *memory_type(const struct emitter *w, enum dtype t); /* "k_bf16": what lies in memory */
/* Of a product's tile whose first row and column, and how many it has of them, are given, and of
 * batch z: r_from and r_end, between which terms may count. */
void put_depth_range(struct emitter *w, const char *type, const char *m0, int64_t rows,
                     const char *n0, int64_t columns, const char *depth);
const char *ex_text(struct emitter *w, ex e); /* an index or size as C */
/* Declares r_from and r_end, between which terms may count for a product's tile of batch z (of a
 * type, like all of these): of so many rows and columns, from m0 and n0 on. Of no depth r_end is
 * r_from or less. */
void put_depth_range(struct emitter *w, const char *type, const char *m0, int64_t rows,
                     const char *n0, int64_t columns, const char *depth);
const char *const_text(struct emitter *w, const struct value_node *x); /* a CONST as C */
/* Is v the sine or cosine of an angle in f32 that may be far from 0, for which turns are taken off
 * in another way? */
bool asks_if_far(struct emitter *w, value_id v);
const char *ref(struct emitter *w, value_id v); /* how the scope at hand names v */
const char *value_text(struct emitter *w,
                       value_id v);       /* right-hand side of a CONST, INDEX, OP or CAST */
bool is_pair(const struct value_node *x); /* an argmax or argmin, not a scan: a value, its number */
/* Of reduction v: the type of what it has so far; what one element brings, in the scope at hand;
 * two of these combined; what it starts from. */
const char *accumulator_type(struct emitter *w, value_id v);
const char *operand_text(struct emitter *w, value_id v);
const char *combine_text(struct emitter *w, value_id v, const char *a, const char *b);
const char *identity_text(struct emitter *w, value_id v);
/* The statement sum += a * b in type t. */
const char *multiply_add_text(struct emitter *w, enum dtype t, const char *sum, const char *a,
                              const char *b);
bool is_row_value(const struct emitter *w,
                  value_id v); /* one per row: varies with x, or stands on a reduction */
int argument_of(const struct emitter *w, buffer_id b);
enum dtype value_math(const struct emitter *w, value_id v); /* dtype the value is computed in */
void put_parameters(struct emitter *w); /* "const k_f32 *p0, k_f32 *p1, long long s0" */
void add_arguments(struct emitter *w, struct ws_launch *l); /* the same as ws_args */
/* One more argument: the partial results of a split reduction, at `offset` of the workspace;
 * returns the next offset. */
int64_t add_partial(struct emitter *w, struct ws_launch *l, value_id reduction, int64_t offset);
void add_stack(struct ws_launch *l, int bytes); /* a thread has them in local memory, on purpose */

/* Of a sequence's part: have others before it written b, in this launch? */
bool part_changes(const struct emitter *w, buffer_id b);
const char *load_text(struct emitter *w,
                      value_id v); /* one element, scalar: right-hand side of a LOAD */
const char *source_text(struct emitter *w, value_id v); /* load_text of a LOAD, else value_text */
void put_local(struct emitter *w,
               value_id v); /* "const float v7 = ...;" for any value but a reduction */
const char *put_expression(struct emitter *w,
                           value_id v); /* all that v needs as locals, then v's name */
void mark_needed(struct emitter *w, value_id v, bool *marks);
enum dtype buffer_dtype(const struct emitter *w, buffer_id b); /* in memory */
/* One element; where its guard holds. */
void put_store1(struct emitter *w, const struct store_node *s, const char *condition);
void put_guarded_store1(struct emitter *w, const struct store_node *s);

/* step_memory.c: of emitter.memory, which is persistent_memory's, parameters m0, m1, ..: a list of
 * CUDA's, or C's first lines; and p0, p1, .. of buffers that are no windows. */
const struct buffer *buffer_of(const struct emitter *w, buffer_id b);
int memory_of(const struct emitter *w, buffer_id b); /* 1: m1 */
const char *type_in_memory(const struct emitter *w, buffer_id b);
void put_step_memory(struct emitter *w, struct ws_launch *l);
void put_unmoved_memory(struct emitter *w);

/* hits.c. put_target: at column r, locals for what the landing's target and condition stand on; the
 * target's name, and text that says whether it counts. put_landing_range: the first and the last
 * row, lo and hi, of elements from `first` to `last`. */
const char *put_target(struct emitter *w, const char **counts);
void put_landing_range(struct emitter *w, const char *first, const char *last);

/* cuda_rows.c, cuda_mma.c, cuda_matmul.c, cuda_persistent.c, cuda_recurrence.c, c_rows.c,
 * c_recurrence.c, c_matmul.c */
void emit_cuda_rows(struct emitter *w);
void emit_cuda_mma(struct emitter *w);
void emit_cuda_chained(struct emitter *w);
void emit_cuda_matmul(struct emitter *w);
void emit_cuda_persistent(struct emitter *w);
void emit_cuda_recurrence(struct emitter *w);
/* Of a sequence (kernel/sequence.h) a part: a function that makes one of its blocks. */
void emit_cuda_part(struct emitter *w);
void emit_cuda_sort(struct emitter *w); /* cuda_sort.c: the launches that sort sources */
void emit_c_rows(struct emitter *w);
void emit_c_recurrence(struct emitter *w);
void emit_c_matmul(struct emitter *w);

#endif
