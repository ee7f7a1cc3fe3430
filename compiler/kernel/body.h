/* body.h: what a kernel computes, element by element: values, stores and what is known of them.
 *
 * Independent of any config: nothing here knows of a layout or a block; kernel.h says what a body
 * is. Made by body.c; chained.c, edges.c, skipped.c, in_place.c ask and change it. */
#ifndef WS_KERNEL_BODY_H
#define WS_KERNEL_BODY_H

#include "schedule/schedule.h"

enum kernel_kind {
    KERNEL_POINTWISE,
    KERNEL_REDUCE,
    KERNEL_SCAN,
    KERNEL_MATMUL,
    KERNEL_CHAINED,
    KERNEL_PERSISTENT, /* all steps of a loop: see persistent.h */
    KERNEL_RECURRENCE, /* and of one whose elements go their own way: see recurrence.h */
    KERNEL_SORT        /* of sources by the rows that they land on: see sorted.c */
};
enum axis { AXIS_X, AXIS_R, AXIS_Z, AXIS_M, AXIS_N, AXIS_C, AXIS_COUNT };
enum {
    MASK_X = 1 << AXIS_X,
    MASK_R = 1 << AXIS_R,
    MASK_Z = 1 << AXIS_Z,
    MASK_M = 1 << AXIS_M,
    MASK_N = 1 << AXIS_N,
    MASK_C = 1 << AXIS_C
};

typedef uint32_t value_id;
#define NO_VALUE UINT32_MAX

/* A load's guard and the subscripts in its index, of all the nests that it is read through. */
enum { MAX_VALUE_ARGS = GROUP_MAX_SUBSCRIPTS + 1 };

/* What stands for a subscript in indices. */
struct subscript {
    ex symbol;
    value_id value;
};

struct value_node {
    enum inst_kind kind;
    enum op op;
    enum reduction reduction;
    enum dtype dtype; /* as the graph sees it; arithmetic in dtype_opmath */
    bool rounds;      /* CAST */
    bool guarded;     /* LOAD: args[0] is the guard */
    uint8_t over;     /* REDUCE: the axes that it goes along */
    bool column;      /* it stands on a reduction across */
    uint8_t n_args;
    value_id args[MAX_VALUE_ARGS];
    double number;    /* CONST */
    int64_t whole;    /* CONST of integers: the same, exactly */
    buffer_id buffer; /* LOAD */
    ex index; /* LOAD: element offset in the buffer; INDEX: the number; SUBSCRIPT: the size of what
                 it indexes */
    uint8_t mask, level;
};

/* Along x, of columns. */
static inline bool goes_across(const struct value_node *v) { return v->over == MASK_X; }

enum { KEEPS_MOST = 2 };
struct store_node {
    buffer_id buffer;
    ex index; /* element offset */
    ex guard; /* MATMUL, RECURRENCE: it stores nothing where this does not hold; EX_NONE: it
                 always does */
    value_id value;
    uint8_t mask; /* axes of the index */
    /* Where the value, a choice, takes what lay there before, memory stays as it is: argument 1 or
     * 2 of it alone is stored, and of this one, if it is a choice, too, argument keeps[1] of that;
     * 0: it is all stored. See in_place.c. */
    uint8_t keeps[KEEPS_MOST];
};

/* Every reduction's terms change nothing but where `equal` holds: where `target`, which varies with
 * r alone, less `first` and divided by `step`, is the row x // inner, or x // inner % rows; and
 * nowhere where `unless`, of r alone, is `unless_holds`. See hits.c. */
struct landing {
    value_id equal, target, unless; /* unless: NO_VALUE if there is no such condition */
    bool unless_holds;
    ex inner, rows;
    int64_t first, step; /* of what is a slice of all that something lands on */
    bool wraps;          /* rows begin again along x */
};

/* mirror.c: along a digit of n of an axis, of each of whose values there are `inner` places,
 * something is read from both ends, or by both halves. */
enum turning { IN_ORDER, FROM_ENDS, BY_HALVES };
struct mirror {
    enum turning turning;
    enum axis axis;
    int64_t n, inner;
};

/* The output is the input's new value, and lies where the input does: see in_place.c. */
struct update {
    buffer_id input, output;
};

/* edges.c: MATMUL: a term at (z, m, n, r) counts only where first + the sum of by[axis] times its
 * place along it is 0 or more. While the edges of chained products are looked for, there are those
 * that ask a value, too: a term counts only where value number asks - 1 is `holds`; 0: none. */
enum { MOST_EDGES = 8 };
struct edge {
    int64_t first, by[AXIS_COUNT];
    uint32_t asks, holds;
};
/* skipped.c, CHAINED: a term counts only where this value is `holds`, which the data say. */
struct asked_value {
    value_id value;
    bool holds;
};

struct kernel {
    struct arena *arena;
    struct exprs *ex;
    const struct schedule *schedule;
    const struct device_limits *limits;
    enum kernel_kind kind;
    const char *name;     /* of this kernel alone */
    const char *entry;    /* what its function is called: the same in kernels of one text */
    uint32_t group;       /* of the schedule */
    ex axis[AXIS_COUNT];  /* the flat index symbols; EX_NONE where the kind has none */
    ex bound[AXIS_COUNT]; /* their sizes */
    ex run;               /* which of runs along r; EX_NONE: it is not made of these */
    struct axis_digits {  /* and those of the axes that an index is made of, outermost first */
        int n;
        ex size[GROUP_MAX_AXES];
    } digits[AXIS_COUNT];
    /* MATMUL: of a factor that is read through windows, how; [1]: these are the depth. Or NULL. On
     * a CPU of the second factor's columns alone. */
    const struct im2col *im2col[2][2];
    VEC(struct value_node) values;
    VEC(struct store_node) stores;
    VEC(struct subscript) subscripts;
    VEC(buffer_id) buffers; /* arguments, in order: loaded ones, then stored ones */
    VEC(struct update) updates;
    VEC(ex) sizes; /* size symbols the kernel takes as arguments, after the buffers */
    int levels;    /* number of phases with a reduction */
    uint8_t over;  /* MATMUL: axes along which what the product has summed up is reduced; 0: none */
    int64_t span[AXIS_COUNT]; /* of m, n among them, how many neighbours one result takes; 0: all */
    value_id dot_a, dot_b,
        dot; /* MATMUL: the two factors (functions of z,m,r and of z,n,r) and the reduction */
    value_id second_a, second_b, second; /* CHAINED: the same of the product behind it */
    value_id beside_a, beside_b, beside; /* CHAINED: of another first one; NO_VALUE */
    value_id twin_a, twin_b, twin;       /* CHAINED: of another second one; NO_VALUE */
    /* MATMUL: a factor is not 0 where the other one is, as it is in what is multiplied: sums that
     * are not finite are made of this, the arguments of the dot's argument. */
    bool shares;
    ex counts; /* MATMUL: where this does not hold, one of the factors is 0 in memory; EX_NONE:
                  neither is known to be so anywhere */
    VEC(struct edge) edges;            /* MATMUL: none: all terms may count */
    VEC(struct asked_value) questions; /* CHAINED, beside edges: see skipped.c */
    double hidden;            /* CHAINED: the low number of elements that edges leave out and sums
                                 of exponentials count, in rows that have no others; 0: none does */
    bool a_fixed, b_fixed;    /* MATMUL: the factor is the same in every call: of constants alone */
    enum precision precision; /* MATMUL, CHAINED: of f32 */
    bool rows_inner; /* most bytes are contiguous along x, not along r: threads and vectors lie
                        along x */
    bool columns;    /* some reductions are across */
    bool of_vector;  /* REDUCE: rows of a matrix, multiplied by one vector */
    bool whole_rows; /* SCAN: what a row comes to is wanted along it, by elements, a scan or another
                        reduction: a tile is a whole row */
    const struct steps *steps;         /* PERSISTENT; of a RECURRENCE their number alone */
    const struct recurrent *recurrent; /* RECURRENCE */
    const struct landing *landing;     /* NULL: terms count wherever they are; SORT: of which
                                          `equal` is none */
    buffer_id lists; /* one more than the argument in which a kernel before has left where sources
                        land, or, of a SORT, this one does; 0: there is none */
    struct mirror mirror;
    bool below;      /* a thread has windows one below the other (taps.c) */
    bool unrolled;   /* taps or arms (taps.c, arms.c): several loads and stores a point are of one
                        buffer */
    bool wide_index; /* element offsets need 64 bits */
    struct known_windows *known_windows; /* window.c: what its layouts have asked for before */
    struct ranking *ranking;             /* space.c: the first of its configs, once it is known */
    double bytes_read, bytes_written, flops;
};

/* chained_own.c: why the products of a group that schedule_chain has made are no kernel; NULL: they
 * are, which takes *us by the cost model. */
const char *kernel_chain_reason(const struct schedule *s, uint32_t group,
                                const struct device_limits *limits, double *us, struct arena *a);
/* Is v a sum along r? */
static inline bool is_first_product(const struct kernel *k, value_id v) {
    return v == k->dot || v == k->beside;
}
/* Is v a product behind these? */
static inline bool is_second_product(const struct kernel *k, value_id v) {
    return v == k->second || v == k->twin;
}
/* The maximum that sums along n, the second product among them, are relative to; NO_VALUE: none. */
value_id chained_maximum(const struct kernel *k);
value_id chained_scaled(const struct kernel *k, value_id max, double *by);

/* What is between chained products without a maximum, and rows or columns have of their own: f32
 * that goes back to loads, for elements to read. An exponential exp(f - b) reads two numbers that
 * are made of such a b, not b: see chained_unscaled. */
enum { MOST_OWN = 4 };
struct own {
    value_id value; /* the exponential's */
    bool exponent;
};
int chained_own(const struct kernel *k, enum axis axis, struct own *own);
/* What is subtracted from the exponent of v, an exponential of the f32 above; NO_VALUE: none is. */
value_id chained_subtracted(const struct kernel *k, value_id v);
/* Its exponent f without a positive number that it is multiplied by: *by, or 1. If *mask is a
 * value, f is where(c, x * by, -inf), and what is returned is x. */
value_id chained_unscaled(const struct kernel *k, value_id f, value_id *mask, double *by);
/* Does v vary along that axis alone of m, n, r and c, and is made of no product? */
bool chained_is_of(const struct kernel *k, value_id v, enum axis axis);
/* Does nothing read a difference but exponentials that read what is made of its right side? */
bool chained_is_exponent(const struct kernel *k, value_id sub);

/* body.c: group -> kernel. Needs: order. */
struct kernel *kernel_build(const struct schedule *s, uint32_t group,
                            const struct device_limits *limits, struct arena *a);
void kernel_print(struct buf *b, const struct kernel *k);
/* Comments: which lines of the user's program the kernel is. Kernels that do the same differ here,
 * so it is no part of their text. */
void kernel_print_lines(struct buf *b, const struct kernel *k);
const char *kernel_kind_name(enum kernel_kind kind); /* "pointwise" */
const char *kernel_verify(const struct kernel *k);

/* Distinct elements of b that the kernel reads: at least so many bytes come from memory; 0 if it
 * reads none. */
double kernel_bytes_of(const struct kernel *k, buffer_id b);

/* in_place.c. From here on the kernel writes `output` where `input` is: true if it can. No kernel
 * that runs later may read the input. */
bool kernel_update_in_place(struct kernel *k, buffer_id input, buffer_id output);
/* And where output is a choice between a value and the input: it stores the value alone, where that
 * is chosen, and the input is no argument any more. No other kernel may read the input at all. */
bool kernel_keeps_rest(struct kernel *k, buffer_id input, buffer_id output);
/* Condition number i of a store that keeps something: it stores where all `hold`. NO_VALUE: there
 * are no more. */
value_id store_condition(const struct kernel *k, const struct store_node *s, int i, bool *holds);
/* The buffer whose memory b is: of an input, the output that takes its place; else b. */
buffer_id kernel_place_of(const struct kernel *k, buffer_id b);
bool kernel_stores_in_place(const struct kernel *k, buffer_id b);

/* narrow.c: what each value lies in, unless it is nan; an infinite end: nothing is known of that
 * side. Functions of what leaves in 16 bits may be off by a little more. */
struct interval;
const struct interval *kernel_ranges(const struct kernel *k, struct arena *a);

/* edges.c: of a product: the part of the depth whose terms may count for so many rows and columns
 * from there on, 0 to 0 if none do; the part of all terms that counts, 1 or nearly so if nothing is
 * known of them. */
struct depth_range {
    int64_t from, end;
};
struct depth_range kernel_depth(const struct kernel *k, int64_t z, int64_t m, int64_t rows,
                                int64_t n, int64_t columns);
double kernel_counts(const struct kernel *k);
/* The columns of the first product whose terms may count for so many rows from m on; the first one
 * if none does, for kernels take a step at least. */
struct depth_range chained_range(const struct kernel *k, int64_t z, int64_t m, int64_t rows);
double
chained_counts(const struct kernel *k); /* the part of its terms that counts, of rows alike */
/* Is value v a condition of places that is the same, *holds, wherever all edges are 0 or more? */
bool edges_decide(const struct kernel *k, value_id v, bool *holds);
/* skipped.c. May value v be asked before any product is made? How many batches in a row have the
 * same answers to all questions, at least. */
bool may_ask(const struct kernel *k, value_id v);
int64_t chained_alike(const struct kernel *k);
/* What a question's value is, if edges or questions decide it wherever terms count. */
bool questions_decide(const struct kernel *k, value_id v, bool *holds);
/* What v is made of, itself included, by value. */
bool *kernel_parts(const struct kernel *k, value_id v);
/* Is v a reduction whose tiles are carried along, as a scan's are? */
bool scan_carries(const struct kernel *k, value_id v);

#endif
