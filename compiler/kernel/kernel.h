/* kernel.h: one group of nests as a kernel: first its *body* (what is computed per element,
 * independent of any config), then, with a config, a *block program* (who computes it: tiles,
 * threads, phases).
 *
 * Body. All nests of the group are expanded into one value-numbered list over flat axes:
 *
 *     rows    x: 0 <= x < nx        (all parallel axes of the group, merged where memory allows)
 *     columns r: 0 <= r < nr        (the reduce axes; in a pointwise kernel the innermost parallel
 *                                   axis)
 *     matmul  z, m, n and r = k     (batch, rows, columns, depth)
 *
 * A guarded load is 0 where its guard (a value) does not hold. A subscript is an integer value made
 * an index (loop.h); the symbol that stands for it appears in the indices of others, which have it
 * among their arguments. A guard or subscript that is the same for a whole vector leaves a vector
 * load whole: a row of an embedding is read 16 bytes at a time, wherever it lies.
 *
 * A value varies with a set of these axes (its mask) and has a level: how many reductions stand
 * between it and the inputs. Softmax over [4096, 4096]:
 *
 *     v0 = load b0[x*4096 + r]   {x r}  level 0
 *     v1 = reduce amax v0        {x}    level 1
 *     v2 = sub v0 v1             {x r}  level 1
 *     v3 = exp v2                {x r}  level 1
 *     v4 = reduce sum v3         {x}    level 2
 *     v5 = div v3 v4             {x r}  level 2
 *     store b5[x*4096 + r] = v5
 *
 * Block program. Phase p runs over the columns and does every reduction of a level-p value and
 * every store of a level-p value; after it the rows' values of level p+1 are computed. See block.c.
 *
 * Columns. A reduction may be *across*: along x, of a column over all rows. It has the mask {r} and
 * its argument's level; the phase of that level accumulates it. Its block program is *persistent*:
 * a fixed number of blocks goes over the rows with a stride, a thread has the same columns in each
 * row and keeps their sums in registers, a block writes them when its rows are through, and a
 * second launch adds up the blocks and computes what stands on the sums (masks without x; the store
 * of such a value is the *column's*). Backward of a layer norm:
 *
 *     v2 = mul v0 v1            {x r}  level 0
 *     v3 = reduce sum v2        {x}    level 1     for dx
 *     v4 = reduce sum v2 over x {r}    level 0     dw
 *
 * Behind a product. What a matrix product has summed up may be reduced along m, along n, or both,
 * with batches or without: all such reductions of a kernel go along the same axes, `over`. A tile
 * has a part of each result; another launch adds up the parts and computes what stands on them
 * (masks without `over`). relu(a @ b).sum(1):
 *
 *     v3 = reduce sum v2             {m n}  level 1     the product
 *     v4 = relu v3                   {m n}  level 1
 *     v5 = reduce sum v4 over n      {m}    level 2
 *
 * Of m and n a result may take a `span` alone, as the pixels of one of several images, or these
 * and the channels of a group: a norm's statistics, a mean of each image. Each warp then leaves
 * what its columns of a row come to, one part for each image that these are of.
 *
 * If elements read what their rows come to, as softmax does, all is done in one launch: a tile that
 * has whole rows knows it; else the blocks that share rows are all at work at a time, leave their
 * parts, wait for each other, and go on with what they have in registers (tile.h). Columns are not
 * read so.
 *
 * Chained products (chained.c). Behind a product, and what is computed of its elements and of what
 * rows of them come to, stands another one, along n, whose columns are an axis of their own, c.
 * What does not vary with n has left the sum, so that its terms can be had before a row is known
 * whole:
 *
 *     v2 = reduce sum v1             {z m n}  level 1
 *     v3 = reduce amax v2 over n     {z m}    level 2
 *     v5 = exp(v2 - v3)              {z m n}  level 2
 *     v6 = reduce sum v5 over n      {z m}    level 3
 *     v9 = reduce sum v5 * v7 over n {z m c}  level 3      the second product
 *     v10 = v9 / v6                  {z m c}  level 3
 *
 * What is between may stand on two first products, of the same rows and columns, if no row of it is
 * reduced: a gradient's terms, of scores and of what their own gradient is made of. And two second
 * products, twins, may stand behind the same first ones, if they have the same rows, go along the
 * same n and have as many columns: gradients of keys and of values.
 *
 * A scan kernel does both of its phases on one tile after the other; what the rows have so far is
 * carried along. A scan's values vary with r and have the next level. What it reduces is carried
 * along, too, unless it is wanted along the row: then a tile is a whole row (whole_rows).
 *
 * Invariants (kernel_verify reports these numbers):
 *   K1  a value's arguments are values before it;
 *   K2  mask = union of the arguments' masks and of the axes in the index; a reduction removes the
 *       axes that it goes along, a scan adds {r}; a subscript in an index is an argument;
 *   K3  level = the largest of the arguments' levels, plus 1 for a reduction, but for one across,
 *       or scan;
 *   K4  a store's index varies with every axis that its value varies with;
 *   K5  every store's index is injective over its axes, and every element of an output buffer is
 *       stored exactly once, all by one store but for arms (arms.c);
 *   K6  what stands on a reduction across (`column`) does not vary with x, and nothing in the rows
 *       needs it;
 *   K7  a reduction goes along r, or across along x; behind a product along all of the axes `over`,
 *       none of which is r; where it has a span of n, not along z, and no place is looked for;
 *   K8  of chained products, what varies with n goes along with the second one: it stands on no
 *       more than a maximum of which it can be rescaled; and nothing is stored that varies with n.
 *
 * Ownership: in kernel.arena. */
#ifndef WS_KERNEL_H
#define WS_KERNEL_H

#include "base/tensor_map.h"
#include "kernel/config.h"
#include "schedule/schedule.h"

enum kernel_kind { KERNEL_POINTWISE, KERNEL_REDUCE, KERNEL_SCAN, KERNEL_MATMUL, KERNEL_CHAINED };
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

struct store_node {
    buffer_id buffer;
    ex index; /* element offset */
    ex guard; /* MATMUL: it stores nothing where this does not hold; EX_NONE: it always does */
    value_id value;
    uint8_t mask; /* axes of the index */
};

/* Every reduction's terms change nothing but where `equal` holds: where `target`, which varies with
 * r alone, is the row x // inner, or x // inner % rows; and nowhere where `unless`, of r alone, is
 * `unless_holds`. See hits.c. */
struct landing {
    value_id equal, target, unless; /* unless: NO_VALUE if there is no such condition */
    bool unless_holds;
    ex inner, rows;
    bool wraps; /* rows begin again along x */
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
    const struct landing *landing; /* NULL: terms count wherever they are */
    bool unrolled;   /* taps or arms (taps.c, arms.c): several loads and stores a point are of one
                        buffer */
    bool wide_index; /* element offsets need 64 bits */
    struct known_windows *known_windows; /* window.c: what its layouts have asked for before */
    struct ranking *ranking;             /* space.c: the first of its configs, once it is known */
    double bytes_read, bytes_written, flops;
};

/* chained.c: why the products of a group that schedule_chain has made are no kernel; NULL: they
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
/* The buffer whose memory b is: of an input, the output that takes its place; else b. */
buffer_id kernel_place_of(const struct kernel *k, buffer_id b);
bool kernel_stores_in_place(const struct kernel *k, buffer_id b);

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

/* How many tiles of that size there are, the last one not always full. */
static inline int64_t tile_count(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

/* cost.c */
double kernel_flops(const struct kernel *k);
int64_t kernel_size_of_element(const struct kernel *k); /* instructions, about */
/* Is it a load of a row that all rows are combined with, and that is too long to stay in L1? */
bool load_is_long_row(const struct kernel *k, const struct value_node *x);
bool dtype_takes_vectors(enum dtype t); /* the C prelude loads and stores k_v of it */

/* space.c: every legal config worth trying, default first; *pruned counts those left out by the
 * cost model. */
void kernel_configs(const struct kernel *k, struct arena *a, const struct config **out, int *n,
                    int *pruned);
/* The first of them alone. */
struct config kernel_default_config(const struct kernel *k, struct arena *a);
/* What v is made of, itself included, by value. */
bool *kernel_parts(const struct kernel *k, value_id v);
/* What the cost model has for the default, *best unless NULL; infinite: no config is legal. */
double kernel_least_cost(const struct kernel *k, struct config *best, struct arena *a);
struct ranking *ranking_unknown(struct arena *a); /* of a kernel that is being made */

/* ---- block programs -------------------------------------------------------------------------- */

/* Whole vectors that several loads take their elements from, see window.c. Piece p of a window is
 * `unit` elements from base + number*unit on, where r is a vector's first column; it is read where
 * one of its conditions holds. Element v of a tap is at base + at[v], which is the place[v]th of
 * all pieces. */
enum { WINDOW_LANES = 16 };

struct window_piece {
    int64_t number;
    VEC(ex) when;
};

struct window {
    buffer_id buffer;
    int unit, apart; /* apart: elements from one vector's to the next one's, about */
    ex base;
    bool by_row;                     /* it varies with x */
    VEC(struct window_piece) pieces; /* in order; none: the window was given up */
};

struct window_tap {
    value_id load;
    uint32_t window;
    int64_t at[WINDOW_LANES];
    int place[WINDOW_LANES];
    bool masked; /* its guard may fail in a piece that is read */
};

struct windows {
    VEC(struct window) all;
    VEC(struct window_tap) taps;
};

/* chain.c: how often an accumulator is folded into those above it. levels: of these; 0: it is not,
 * and has all `terms`. block: terms between two folds; radix: folds that an upper one takes. */
struct folds {
    int64_t terms;
    int block, radix, levels;
};

static inline int64_t round_up(int64_t v, int64_t to) { return (v + to - 1) / to * to; }

/* ---- products on the matrix units: operand.c, matrix.c, epilogue.c --------------------------- */

/* im2col.c: a factor that is read through windows: of an image that has, innermost first, channels,
 * up to three dimensions that windows slide along, and images. The rows (or columns) of the
 * product are windows, image by image; its depth are taps and channels; or the other way round.
 * Position `first + i * step + t * apart` of a dimension is that of window i and tap t, and the
 * element is 0 outside of the image. */
enum { IM2COL_DIMS = 3, LYING_UNIT = 8, LYING_BEHIND = 40, LYING_SLOT = 4 };
struct im2col {
    int n;
    struct im2col_dim {
        int64_t size, windows, taps;
        int64_t step, apart, first;  /* step, apart > 0 */
        int window_digit, tap_digit; /* of the axes; tap_digit -1: one tap */
        bool backward;               /* tap t is number taps - 1 - t of the other axis's digit */
        ex shift;                    /* of all positions, by the batch z; EX_NONE: none */
        const int64_t *shift_of;     /* the same for each z, from 0 to most_shift */
        int64_t most_shift;
    } dim[IM2COL_DIMS]; /* innermost first */
    int64_t images, channels, taps;
    value_id guard;        /* the factor is 0 where it does not hold; NO_VALUE: it always does */
    enum axis axis, other; /* of the windows; of taps and channels */
    ex image, channel;     /* where in the image, as symbols, */
    ex at[IM2COL_DIMS];
    ex tap; /* and a tap, those of the innermost dimension beside each other */
    struct axis_digits digits[2]; /* that these axes are made of, of windows perhaps fewer */
    ex window_digit[GROUP_MAX_AXES], other_digit[GROUP_MAX_AXES]; /* as symbols */
    uint32_t image_digits, channel_digits; /* bits of those that are neither windows nor taps */
    /* Of runs (im2col_runs), what these are made of, else NULL; a pixel's elements, of which the
     * first pixel_taps * of->channels count; dimensions from 1 on whose taps a pixel has. */
    const struct im2col *of;
    int64_t pixel, pixel_taps;
    int folded;
    /* Batches are phases, which all look at the same images: by their shift, and, unless EX_NONE,
     * at those taps alone for which this holds, of z and tap; the same is is_there[z * taps + tap].
     */
    bool phases;
    ex there;
    const bool *is_there;
};

/* NULL if the factor is none, or its windows are pixels beside each other. */
const struct im2col *im2col_find(const struct kernel *k, value_id factor, enum axis axis,
                                 enum axis other);
/* Is a window more than a pixel where it lies? */
bool im2col_has_taps(const struct im2col *w); /* NULL: no */
/* A load's index in terms of image, at and channel; that of the other axis in terms of tap and
 * channel. */
ex im2col_index(const struct kernel *k, const struct im2col *w, ex index);
ex im2col_other(const struct kernel *k, const struct im2col *w);
/* How far tap `tap` is from the window's first one along dimension d. */
int64_t im2col_offset(const struct im2col *w, int d, int64_t tap);
/* phases: has batch z the tap, and how far is it from there? */
bool im2col_is_there(const struct im2col *w, int64_t z, int64_t tap);
int64_t im2col_shift(const struct im2col *w, int d, int64_t z);
/* The same windows with all taps of the innermost dimension as channels of one tap, if these lie
 * side by side: a run of memory, where a pixel has `pixel` elements. Windows then are positions of
 * the innermost dimension, and of so many next ones, `folded`, the taps of which are in a pixel:
 * [tap][channel]. The symbols are those of w. NULL: taps are apart, or but one. */
const struct im2col *im2col_runs(const struct im2col *w, int folded, int64_t pixel,
                                 struct arena *a);
/* Taps of dimensions 1 to `folded`. */
int64_t im2col_folded_taps(const struct im2col *w, int folded);
/* Pixels that the windows of the innermost dimension reach, from the first one on. */
int64_t im2col_reach(const struct im2col *w);

/* A factor of a product as tiles of it are copied to shared memory: a matrix [batch][row][depth],
 * or [batch][depth][row] where it runs `along` the rows, which are m of the first factor and n of
 * the second. It is what `load` reads; or, `packed`, an image of the factor's values that a launch
 * before the product writes into the workspace. A number of 24 bits is a sum of three of 8:
 * planes of bf16, one matrix behind another, or, where f32 is `stored`, made of it in registers by
 * the warps that multiply. They add up to it 2^PLANE_SCALE times over, so that
 * the last bit of the smallest f32, 2^-149, is still a bf16. Or it is a pair of f16: see
 * matrix.c. */
struct operand {
    value_id factor, load; /* load: NO_VALUE if packed */
    enum axis axis;        /* AXIS_M or AXIS_N */
    enum dtype dtype;      /* that is multiplied; f32: its tf32, see matrix.c */
    enum dtype stored;     /* in shared memory: dtype, or f32 of which planes are made */
    int planes;
    bool along;
    /* The left factor of wgmma, which threads read out of the tile: of tf32 in lines along the
     * rows, which the units do not take from there; of f32, of which the threads make planes. */
    bool in_registers;
    bool made;    /* neither: warps of the block write its tiles themselves */
    bool splits;  /* pairs: a tile of f32 becomes its two planes where it lies, in as many bytes */
    bool stays;   /* all of a block's tiles have the same of it, which shared memory holds whole */
    bool once;    /* each tile of it is copied for one tile of the product alone */
    bool at_load; /* packed: once, into memory that is kept across calls */
    bool across;  /* packed: what is read runs along the rows, unlike the image */
    /* Two planes, packed: lines of the image have 32 of the depth of the first, then the same of
     * the second, and so on: a step of 32 copies whole lines of memory, of both planes. */
    bool paired;
    /* Packed at load: lines of 128 bytes along the depth, those of all rows one behind the other,
     * and then the next ones along the depth. So a box is one piece of memory, and blocks that go
     * along the depth side by side read all of it, piece by piece: where lines of a row lie beside
     * each other instead, they read 128 bytes here and there, whole rows of it apart. */
    bool stacked;
    int64_t rows, depth, batches; /* batches: 1 if it does not vary with z */
    int64_t pitch, batch, plane;  /* elements from a line, batch, plane to the next */
    int64_t offset;               /* of the first, in what `load` reads */
    /* along, unless 0: so many rows lie side by side, and the next `jump` elements from there: the
     * pixels of images */
    int64_t run, jump;
    int piece; /* bytes that a thread copies at once: less than 16 where these are not aligned */
    /* Its depth, or `along` its rows, are taps, of each all channels, so many of which are 0 that
     * lines of a tile have one tap; NULL: both are as the product has them. */
    const struct im2col *order;
    int64_t channels;
    int line;     /* windows: bytes of a tile's lines */
    bool windows; /* each pixel is there once, and rows, or the depth, are windows of it: in the
                     image [image][position][plane][batch][channel], or [plane][batch][image]
                     [position][channel] of runs, or in what `load` reads */
    /* windows: all positions of the image, with what its taps reach around it, are rows, so that a
     * tap is so many rows on; those that are no windows count for nothing */
    bool flat;
    int64_t padded[IM2COL_DIMS]; /* flat: positions along each dimension */
    /* flat: in the image as it lies in memory, whose positions, not channels, are neighbours.
     * Lines of a tile are one channel's, of all its rows and LYING_BEHIND more, so that eight
     * neighbours of LYING_SLOT channels lie in all banks; it has those channels' lines for each
     * line of taps, from LYING_UNIT before where the first of these reads at most; threads read it
     * `in_registers`. An image has so many rows, whole tiles, of which the last ones are no
     * windows. The depth of both factors goes by steps of some neighbouring taps, or some whole
     * lines of taps, of each some channels, [taps / step_taps][channels / step_channels]
     * [step_places][step_channels], of which places behind step_taps are none's and not
     * multiplied; 0: it is [taps][channels] */
    bool lying;
    int64_t positions;
    int step_taps, step_places, step_channels;
    int64_t step[IM2COL_DIMS + 1]; /* elements from a position to the next, along each dimension,
                                      innermost first; from an image to the next */
    int64_t bytes;                 /* of the image */
};

/* The steps along the depth that batches have, where these are phases that lack some taps: batch z
 * has n[z], of which number i is at[z * most + i]; all together are `total`. */
struct batch_steps {
    int64_t most, total;
    const int *n, *at;
};

/* Of the steps along the depth, number `at` of each `every` has so much of it that may be other
 * than 0, in whole instructions: no more of it is copied, in whole lines, or multiplied. every 0:
 * all of all steps may be. */
struct short_steps {
    int depth;
    int64_t every, at;
};

/* Sums of products of planes, small ones first; what has summed up `promote` of the depth, if not
 * 0, goes to a total of its own (f32: products of tensor cores are cut off, not rounded). */
enum {
    MOST_PASSES = 6,
    PROMOTE_DEPTH = 64,
    PROMOTE_LYING = 72,
    PROMOTE_TF32 = 32,
    PROMOTE_F8 = 128,
    PLANE_SCALE = 16
};
/* Of pairs of f16: what the first plane leaves of a factor is 2^PAIR_SHIFT times as large in the
 * second; products of first planes sum up PROMOTE_DEPTH, or half of it where the depth is less than
 * PAIRS_DEEP; those of a first and a second plane have sums of their own, which go to the total
 * every CROSS_STEPS steps. */
/* Elements from a column to the next in what a warpgroup turns: four threads' columns lie in other
 * banks. */
enum { TURNED_PITCH = 68 };
enum { PAIR_SHIFT = 11, PAIRS_DEEP = 1024, CROSS_STEPS = 64, PAIRED_DEPTH = 32 };
struct product {
    struct operand a, b;
    struct {
        int a, b;
        bool crossed;
    } pass[MOST_PASSES];
    int n_passes;
    bool flat, lying;   /* windows of an operand are */
    bool pairs, shares; /* shares: as of the kernel */
    bool splits;        /* pairs: who multiplies makes those of factors that lie as maps want */
    int promote_pairs;  /* of pairs: the depth that products of first planes sum up */
    bool by_warp; /* mma.sync: a warp waits for its products, and all warps copy; else wgmma */
    bool tensor;  /* else, tcgen05: a thread has products made, whose sums lie in tensor memory */
    int sums_at_once;   /* tensor: sets of a tile's sums there, which are filled in turn, */
    int tensor_columns; /* and columns of 128 words that a block has of it */
    int warpgroups; /* that multiply: 64 rows of a tile each; by_warp, and tensor, 1: all of them */
    int in_turn;    /* ping-pong: so many warpgroups have a tile each, all rows of it; 1: they all
                    share one */
    int group_threads;
    bool crowded; /* registers are too few for planes of the left factor */
    int makers;   /* warpgroups that make one operand's tiles, in turn; 0: all tiles are copied */
    int warp_rows, warp_columns; /* of the sums that the threads of a warp have between them */
    int resident;                /* blocks of a multiprocessor */
    int copier_registers, multiplier_registers; /* of blocks that share a multiprocessor */
    /* Tiles of all batches at one place are done together, for these store beside each other. */
    bool batches_beside;
    int band; /* tiles along m that are done before the next ones along n */
    bool promotes;
    bool shares_a; /* a cluster's tiles are neighbours along n and share A's, else along m, B's */
    int parts;     /* of the depth, that blocks have, */
    int64_t whole; /* of tiles from this one on, in the order of numbers; those before are whole */
    struct folds folds;              /* of promoted sums */
    const struct batch_steps *steps; /* NULL: batches have all */
    bool bounded;                    /* tiles have those steps that the kernel's edges leave, */
    double mean_steps;               /* so many in the mean; of others all */
    struct short_steps shorts;       /* by_warp: none */
    int a_bytes, b_bytes;            /* of a step */
    int sharing;  /* tiles whose blocks wait for each other: what their rows come to; 1: none */
    bool online;  /* these meet once: epilogue_is_online */
    int exchange; /* bytes in which warps leave what they have of the epilogue's reductions, of
                     those in turn each its own; or, */
    int turned;   /* if not 0, warpgroups so many columns of what they store, whose rows lie side by
                     side, but begin within sectors of memory: a warp has 16 of them; */
    int beside;   /* and so many columns between these, or 1: phases of a transposed convolution */
};

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
    int columns;              /* of a second product, filled up */
    int stage, first;         /* bytes of a stage of b and c; where the stages begin, behind a */
    bool skips;               /* steps go along a list of tiles that count: see skipped.c */
    struct own own[MOST_OWN]; /* what columns have of their own: a warp makes it once a step, for */
    int n_own, own_floats;    /* all of its rows, while the first products are under way; of a */
    int own_at;               /* column so many floats, from this byte on */
    int64_t images;           /* bytes of those that are turned */
};

/* Where a tile's elements are: threads, then elements of a thread. In a ROWS layout of a pointwise
 * or reduce kernel
 *
 *     columns inner  tid = tx*t1 + tr  x = px*bx + e*t0 + tx
 *                                      r = base + (u*t1 + tr)*vec + v
 *     rows inner     tid = tr*t0 + tx  x = px*bx + (e*t0 + tx)*vec + v
 *                                      r = base + u*t1 + tr, of a scan base + tr*ur + u
 *
 * for e < ex, u < ur, v < vec. */
struct layout {
    int threads, t0, t1; /* t0 threads along x, t1 along r */
    int ex, ur, vec;     /* elements of a thread: rows, column steps, vector */
    int bx, br;          /* tile: rows of a block, columns of an iteration */
    int smem;            /* bytes of shared memory a block needs */
    bool rows_inner;
    bool
        one_read; /* one iteration covers the row: raw loads live in registers through all phases */
    int split;    /* blocks along r, >= 1 */
    bool last_block; /* of the split: it reduces the partial results */
    bool in_words;   /* last_block, columns inner: blocks leave these in words that have a flag */
    int cluster;     /* blocks that share a row, >= 1: through each other's shared memory, unless */
    bool apart;      /* these need to know nothing of each other: only columns are summed up */
    int stages;      /* blocks: rows under way, of which all but one are copied to shared memory */
    int kept;        /* tiles of a row that is kept in shared memory; 0: of none */
    int ring;        /* both: from this byte on */
    int blocks; /* blocks, or clusters or rows of blocks apart, of a persistent grid, each over many
                   rows; sums of columns have a part of each (CPU: of each task); 0: none */
    bool look_back; /* scan: each tile of a row is a block's */
    int hits;       /* sources that a thread tests at a time, to list those that land in its block's
                       tiles (CPU: in any); 0: all are gone along. See hits.c */
    bool sorted;    /* hits: sources are sorted by where they land, before; see cuda_sort.c */
    int held;       /* hits: tiles of bx rows whose results a block has in shared memory */
    bool turn;      /* pointwise: what lies across the columns is read along the rows, see below */
    bool grid_r;    /* pointwise: columns are spread over blocks, not looped over */
    bool streaming; /* non-temporal stores */
    bool ahead;     /* CPU: the next row, or a page ahead, is asked for before it is needed */
    bool skip_l1;   /* loads leave no copy in L1 */
    bool leave_l2;  /* what is loaded once leaves L2 before what is stored */
    bool stay_l2;   /* or after it */
    int head_unit;  /* peel: heads end at multiples of it */
    bool peel;      /* vec does not divide the rows: each has a head and a tail, see peel.c */
    bool shift;     /* peel, rows inner: what is out of step is put together from two vectors */
    bool ragged;    /* rows inner: vec does not divide x, so that the last two vectors overlap */
    bool cut;      /* window: vec does not divide the rows: each one's last vector ends behind it */
    int slack;     /* shift: columns at a row's end that its whole vectors leave alone */
    bool one_head; /* peel: all rows of a thread have heads of one length */
    int fit;       /* blocks of a multiprocessor that registers must suffice for; 0: for one */
    int online;    /* level of reductions with which the sums relative to them go along; 0: none */
    ex start;      /* peel: elements before row x, whose remainder by vec says where heads end */
    const struct windows *windows; /* pointwise: loads that share vectors; NULL if none do */
    const struct product *product; /* matmul: on the matrix units; NULL: by plain arithmetic */
    const struct chained *chained; /* chained products; NULL of others */
    const struct flat_tile *flat;  /* matmul on a CPU: windows stay in an image; NULL: in panels */
};

/* flat.c: CPU: a tile of windows, and the copy of what they reach: [image][channel][position of the
 * outermost dimension]...[of the innermost]. A block has neighbours along the innermost one. */
struct flat_tile {
    const struct im2col *of;
    int64_t channels;                 /* at once, of each all taps */
    int64_t windows[IM2COL_DIMS + 1]; /* of a tile, along each dimension; then images */
    int64_t positions[IM2COL_DIMS];   /* that they reach, those of whole blocks innermost */
    int64_t blocks;                   /* along the innermost dimension */
};

enum { SMEM_RESERVED = 1024 }; /* bytes of shared memory that CUDA takes of each block */

/* layout.c: what a config means for this kernel: fills *out and returns NULL, or says (in arena a)
 * why the config is illegal. This function alone decides legality. */
const char *kernel_layout(const struct kernel *k, const struct config *c, struct layout *out,
                          struct arena *a);

/* Tiles that warps make: a warpgroup's threads have a row each, or `rows` of them, or share one;
 * and of each so many pieces of eight of the depth, the number of which is the part's times that.
 */
struct making {
    int rows, parts, pieces;
    bool along;    /* a thread has `rows` runs of the depth, of a row's `parts`: see cuda_runs.c */
    bool unrolled; /* which of the depth is a number in each step's text */
};
struct making operand_making(const struct kernel *k, const struct operand *o, int rows, int depth);
/* What a run of n along r, RUN at most, reads: `width` elements beside each other from `first` on,
 * of which element i is at[i]; -1: none, for its guard does not hold. */
enum { RUN = 16 };
struct run {
    ex first;
    int width;
    int at[RUN];
};
/* False: it reads no such vector, or nobody knows which. Needs k->run. */
bool operand_run(const struct kernel *k, const struct value_node *load, int n, struct run *out);
/* e at number i of run k->run, of n. */
ex operand_in_run(const struct kernel *k, ex e, int n, int i);
/* Why warps cannot make such tiles; NULL: they can. */
const char *operand_unmakeable(const struct kernel *k, const struct operand *o, int rows, int depth,
                               struct arena *a);
/* Registers of a thread of the role that copies or makes, or multiplies; 0: as many as all have. */
int product_registers(const struct product *p, bool multiplies);
/* Those of a thread as its block is launched: a multiprocessor's blocks have all of them. */
int product_launch_registers(const struct kernel *k, const struct product *p, int threads);

/* operand.c: both factors, for tiles of m by n of so much depth; p->by_warp and p->makers are
 * known. */
void product_operands(const struct kernel *k, struct product *p, int m, int n, int depth,
                      struct arena *a);
/* matrix.c: the layout of a product on the matrix units; NULL, or why it is not legal. */
const char *matrix_layout(const struct kernel *k, const struct config *c, struct layout *y,
                          struct arena *a);
/* skipped.c: lists of tiles that count, of a config that has them, and numbers in each. */
int64_t skipped_lists(const struct kernel *k, const struct layout *y);
int64_t skipped_length(const struct kernel *k, const struct layout *y);
/* chained.c: the same of chained products. */
/* Floats of a thread that a part leaves for the block that comes last, where y->split > 1. */
int chained_part_floats(const struct kernel *k, const struct chained *x);
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
/* Of a config with pairs=1, the one of the product in bf16 that is made where the data are out of
 * range; false: none is legal. */
bool matrix_wide_config(const struct kernel *k, const struct config *c, struct config *wide,
                        struct arena *a);
enum { TENSOR_COLUMNS = 512 }; /* of a multiprocessor's tensor memory */
/* Have crossed sums a set of their own there? */
bool product_crosses_in_tensor(const struct product *p);
/* Bytes of the barriers of a block's stages, and of its sums in tensor memory. */
int product_barrier_bytes(const struct product *p, int stages);
int product_groups(const struct product *p); /* warpgroups that multiply a tile, or read sums */
/* Rows from a warp's sixteen to its next: with in_turn, an instruction's. */
int product_sixteens_apart(const struct product *p);
/* Sums that a thread has of a tile; those that are promoted have a total each beside them. */
int product_thread_sums(const struct product *p);
/* cost.c: are functions behind a product called, not written out for each of a thread's sums? */
bool product_calls_maths(const struct kernel *k, const struct product *p);
/* The part of the depth, in steps of so much, that short ones leave. */
double product_depth_left(const struct short_steps *s, int depth);
/* May its sums not be finite where those of the factors are infinite? Not of pairs: these are of
 * what is in range. */
bool product_may_break(const struct product *p);
/* Are a product's stores rows of 16-bit elements that begin anywhere in memory's vectors? */
bool store_begins_anywhere(const struct kernel *k, const struct product *p,
                           const struct store_node *s);
/* From the first element of the store to that `by` further along an axis; -1: it is not known. */
int64_t store_step(const struct kernel *k, const struct store_node *s, enum axis x, int by);
/* What writing an operand's image takes in us, and its being read once (0: it has none); the clocks
 * that a line of a tile of windows takes at least: on an H100, tensor maps bring one in 5, of 32
 * bytes as of 128. */
double operand_pack_us(const struct kernel *k, const struct operand *o);
double operand_line_clocks(const struct operand *o, bool by_warp);
/* What a tensor map is told of an operand whose boxes have so many lines, of `line` bytes; windows:
 * where the taps of the last one are must be asked beside. Its address is 0. */
struct tensor_map operand_map(const struct operand *o, int line, int lines);
/* Where in the image of an operand of windows that element of the product is; -1: it is 0. */
int64_t operand_element(const struct operand *o, int plane, int64_t z, int64_t row, int64_t depth);
/* Which row (or column) of the product an operand's is; -1: none. */
int64_t operand_row(const struct kernel *k, const struct operand *o, int64_t row);
/* The steps along the depth of an output tile, one of a cluster's blocks, by its number along each
 * axis; in steps of so much. */
struct step_range {
    int64_t first, n;
};
struct step_range matrix_steps(const struct kernel *k, const struct layout *y, int depth, int64_t z,
                               int64_t m, int64_t n);
/* Blocks of a cluster of so many that have the same tile of the factor with this axis, M or N. */
int product_sharers(const struct product *p, int cluster, enum axis x);
/* Rows and columns of such a tile. */
int64_t matrix_tile_size(const struct layout *y, enum axis x);
/* Output tiles along an axis; clusters that are at work at a time; blocks of the launch, each of
 * which does every so manieth tile. */
int64_t matrix_tiles(const struct kernel *k, const struct layout *y, enum axis x);
int64_t matrix_clusters(const struct kernel *k, const struct layout *y);
int64_t matrix_all_tiles(const struct kernel *k, const struct layout *y); /* along all axes */
int64_t matrix_blocks(const struct kernel *k, const struct layout *y);
/* Warps of a block along m or n, each of which has an equal part of the tile. */
int product_warps(const struct layout *y, enum axis x);
/* Of the reductions behind a product: neighbours along m or n that one result takes, and whether
 * that is a part of n; whether a store is of what stands on results, one element for each. */
int64_t kernel_span(const struct kernel *k, enum axis x);
bool kernel_has_spans(const struct kernel *k);
bool store_is_of_results(const struct kernel *k, const struct store_node *s);
/* Results of each, and parts that a result has, one of each tile along the axes reduced; if n has
 * spans, one of each row of the result in each piece, the columns of a warp that its span reaches.
 */
int64_t matrix_results(const struct kernel *k);
int64_t matrix_pieces(const struct kernel *k, const struct layout *y);
int64_t matrix_partials(const struct kernel *k, const struct layout *y);
/* How many reductions behind the product each value stands on, one on another. Does any that varies
 * along the axes reduced, or another reduction, stand on one? */
int *epilogue_stages(const struct kernel *k);
/* Instructions for an element behind the product; of several phases, those of sums that stay, which
 * are for each phase from theirs on. */
double epilogue_size(const struct kernel *k, int phases);
bool epilogue_reads_results(const struct kernel *k);
/* How many loads there are behind a product for each of its elements. */
int epilogue_loads(const struct kernel *k);
/* Are all reductions that stand on another one sums of exp(x - max), which tiles may have relative
 * to their own maximum, and nothing else reads a maximum before? epilogue_kept: the terms of such a
 * sum, if all that comes later reads these instead of the product; NO_VALUE: it does not. */
bool epilogue_is_online(const struct kernel *k);
value_id epilogue_kept(const struct kernel *k);
/* Results that the warps of a tile have between them, parts of each; bytes of a reduction's. */
int exchange_results(const struct kernel *k, const struct layout *y);
int exchange_parts(const struct kernel *k, const struct layout *y);
int exchange_bytes(const struct kernel *k, const struct layout *y, value_id v);
/* flat: so many rows on a tap is. */
int64_t operand_flat_offset(const struct operand *o, int64_t tap);
/* The tap and the channel that a number of an operand's depth is, which `order` says; channels
 * beyond those of the image are 0. */
void operand_tap(const struct operand *o, int64_t depth, int64_t *tap, int64_t *channel);
/* Does the edge of dimension d cut windows off which other positions follow in memory (lying)? */
bool operand_has_edge(const struct operand *o, int d);
/* May threads read the windows of the left factor, 0, or the right one, 1, as they lie (lying), if
 * it is the left one? */
bool windows_may_lie(const struct kernel *k, int side, bool *in_memory, struct arena *a);
/* The most of so many taps that are part of a line of taps, or whole lines, as a step has. */
int lying_taps(const struct im2col *w, int most);
/* Bytes of a plane's tile in shared memory, of which so many are copied. */
int operand_tile_bytes(const struct operand *o, int rows, int depth);
int operand_copied_bytes(const struct operand *o, int rows, int depth);
/* lying: lines of taps of a step; elements from a channel's line of a tile to the next. */
int operand_lines_of_taps(const struct operand *o);
/* Of its order, planes: of sixteen of the depth, an instruction's, lane i of four has numbers 2 i,
 * 2 i + 1, 2 i + 8 and 2 i + 9, which are channel i of four slots. */
bool operand_has_pairs_of_slots(const struct operand *o);
int operand_lying_pitch(int rows);
/* Of a stacked one: lines of a row. */
int64_t operand_lines(const struct operand *o);
/* Are its rows in an order of their own: taps and channels (im2col.c), or positions of images? */
bool operand_has_order(const struct operand *o);
/* Are its windows runs (im2col_runs)? */
bool operand_has_runs(const struct operand *o);
/* Warps make its planes of what is stored; planes in shared memory. */
bool operand_makes_planes(const struct operand *o);
/* Is it one of integers, both of whose factors fit bytes? */
bool product_is_of_bytes(const struct kernel *k);
int stored_planes(const struct operand *o);
/* Bytes of an operand's tile that one line of shared memory has: 32, 64 or 128. */
int operand_line(const struct operand *o, int rows, int depth);
/* matmul by plain arithmetic: of a thread's tm or tn elements, how many lie side by side. */
int layout_unit(int elements);

/* peel.c: how far before its first element rows start, in the tensors that a kernel whose row
 * length vec does not divide reads and writes by vectors; EX_NONE if it has none. */
ex kernel_row_start(const struct kernel *k, int vec);
int kernel_head_unit(const struct kernel *k, ex start, int vec);
/* How long heads may at most be for rows t0 apart to have heads of one length, which is worth it if
 * they read something that is the same for all rows; 0: there are none or it is not. */
int kernel_common_unit(const struct kernel *k, const struct layout *y);
/* Columns that whole vectors may have, and, pointwise, tiles of them; the first block of a row has
 * its head and tail, too. */
int64_t layout_whole_columns(const struct kernel *k, bool peel, int vec);
int64_t layout_column_tiles(const struct kernel *k, const struct layout *y);
/* Elements of a row's head and tail that one thread has; 0 if there are none. */
int layout_ends(const struct layout *y);
/* Does a thread read or write its vec elements at once? */
bool layout_load_is_vector(const struct kernel *k, const struct layout *y,
                           const struct value_node *load);
/* So, but from its last to its first: a gradient of a running sum goes along its rows backwards. */
bool layout_load_reverses(const struct kernel *k, const struct layout *y,
                          const struct value_node *load);
bool layout_store_reverses(const struct kernel *k, const struct layout *y,
                           const struct store_node *s);
/* Or one for all of them: a weight of the channel that they lie in. */
bool layout_load_is_uniform(const struct kernel *k, const struct layout *y,
                            const struct value_node *load);
/* shift: is it out of step, and yet read at once? */
bool layout_load_shifts(const struct kernel *k, const struct layout *y,
                        const struct value_node *load);
/* Does it go past the caches? What has just been read there is in them already. */
bool layout_streams(const struct kernel *k, const struct layout *y, const struct store_node *s);
bool layout_store_is_vector(const struct kernel *k, const struct layout *y,
                            const struct store_node *s);
/* arms.c: n stores whose elements lie between each other and are a vector together; 1: store has
 * none beside it. place: where its elements are among those of all, from 0 on; first: the store
 * whose are at 0. */
struct interleaved {
    int n, place;
    uint32_t first;
};
struct interleaved layout_interleaved(const struct kernel *k, const struct layout *y,
                                      uint32_t store);

/* window.c: of a layout with whole vectors along r; NULL if no load shares any. They live as long
 * as the kernel, which has them for its other layouts; none of a new one. */
const struct windows *windows_find(const struct kernel *k, const struct layout *y);
struct known_windows *windows_unknown(struct arena *a);
const struct window_tap *layout_tap(const struct layout *y, value_id load); /* NULL if it is none */
/* Does a comparison hold at element v of every vector? */
bool layout_always(const struct kernel *k, const struct layout *y, ex comparison, int v);
/* The elements of a vector, as bits, of which it is known, and of these those where it holds. */
int64_t layout_lanes(const struct kernel *k, const struct layout *y, ex comparison, int64_t *known);
int layout_window_words(const struct kernel *k, const struct layout *y); /* registers of a thread */

/* online.c: the maximum by which `sum` can be rescaled while both are accumulated, or NO_VALUE. */
value_id kernel_online_maximum(const struct kernel *k, value_id sum);
/* The f of which `sum` adds up (f - u)^2, where u, made of a sum of f, is known only a level later;
 * *about, unless NULL, is u. Or NO_VALUE. */
value_id kernel_online_square(const struct kernel *k, value_id sum, value_id *about);
/* The least level at which all reductions of the next level are such sums, of exponentials if
 * there is one; 0: none. */
int kernel_online_level(const struct kernel *k);
/* Sums of squares, of those that go along with reductions of this level: each is reduced after
 * them. */
int kernel_online_squares(const struct kernel *k, int level);
/* Which phase stores values of this level; the one before has reduced them. */
int layout_phase(const struct layout *y, int level);

/* Blocks of a cluster, in which the device places them: 1 if those that share a row are apart. */
int layout_cluster(const struct layout *y);
/* Are only columns summed up, so that blocks that share rows may be apart? */
bool kernel_only_columns(const struct kernel *k);
/* Multiprocessors of which clusters have all blocks: they lie in one group of multiprocessors each,
 * which they do not always fill. */
int64_t layout_units(const struct kernel *k, const struct layout *y);

/* Is each element of the load wanted by one row and column alone? */
bool kernel_loads_once(const struct kernel *k, value_id load);

/* 32-bit registers that hold the raw loads of one tile, per thread. */
int layout_load_words(const struct kernel *k, const struct layout *y);
/* Those that hold what scans have made of it. */
int layout_scan_words(const struct kernel *k, const struct layout *y);

/* Is the load copied into shared memory, ahead or to stay there, and the bytes of all such loads of
 * a tile? */
bool layout_copies(const struct kernel *k, const struct layout *y, value_id load);
int64_t layout_stage_bytes(const struct kernel *k, const struct layout *y);

/* Pointwise: is the load one of an operand whose neighbours are those of other rows, so that it is
 * read along the rows into shared memory, and taken up from there along the columns? And how many
 * of its elements a thread reads at a time: those of a word. */
bool layout_turns(const struct kernel *k, const struct layout *y, value_id load);
int64_t layout_turn_bytes(const struct kernel *k, const struct layout *y, value_id load);
int layout_turn_vector(const struct kernel *k, const struct layout *y, value_id load);

/* hits.c. Of a layout with hits: is v a comparison that holds wherever what is listed is taken up?
 * In how many neighbouring tiles of a block's may a source land; from the first of its row on,
 * which may lie before the block, or from the first of the block on? How many land in a block,
 * about? */
bool layout_lands_always(const struct kernel *k, const struct layout *y, value_id v);
int layout_tiles_of_hit(const struct kernel *k, const struct layout *y);
bool layout_places_all(const struct kernel *k, const struct layout *y);
double layout_hits(const struct kernel *k, const struct layout *y);
/* Sources that are sorted by where they land, digit by digit: passes; blocks of one; bytes of an
 * array with a number for each source, and of four and the counts. */
enum { SORT_BITS = 8, SORT_DIGITS = 1 << SORT_BITS };
int layout_sort_passes(const struct kernel *k);
int64_t layout_sort_blocks(const struct kernel *k);
int64_t layout_sort_array(const struct kernel *k);
int64_t layout_sort_bytes(const struct kernel *k);
/* Rows are read again after their first reduction: keeping them saves traffic. */
bool kernel_reads_twice(const struct kernel *k);
/* Sources that a block lists before it goes along them: these at most. */
int layout_listed(const struct layout *y);

/* look_back: tiles whose totals are summed up once for all that come later; and what of tiles and
 * groups of them has a total. */
enum { LOOK_BACK_GROUP = 32 };
int64_t layout_totals(const struct kernel *k, const struct layout *y);
/* Of the flags of one of these: one, or for each row a word with a total. */
int64_t layout_flag_bytes(const struct layout *y);

/* Rows inner: values that one reduction of a thread's vector sends through shared memory. */
int layout_column_slots(const struct kernel *k, const struct layout *y);
int layout_warps(const struct kernel *k, const struct layout *y); /* of a block */
/* Columns inner: do threads of several warps share a row? Then each warp of the block leaves what
 * it has of its row in a slot of shared memory; else there are none. */
bool layout_joins_warps(const struct kernel *k, const struct layout *y);
int layout_row_slots(const struct kernel *k, const struct layout *y);

/* Estimated microseconds; only their order matters. */
double kernel_cost(const struct kernel *k, const struct layout *y);
/* Does it, on a GPU, move so little that this takes no longer than to wait for it once? */
bool kernel_is_short(const struct kernel *k);
/* Blocks that a multiprocessor of a GPU has registers for if all that a step loads is under way; 0:
 * it is others' business, as elements take longer than to load. */
int kernel_blocks_loading(const struct kernel *k, const struct layout *y);

/* Is it a sum, or another reduction or scan, each of whose steps rounds? */
bool reduction_rounds(const struct kernel *k, value_id v);
int64_t folds_chain(const struct folds *f); /* additions one after the other, at most */
/* Of a phase's reductions along r; of a block's (CPU: task's) sums of columns; of so many parts of
 * a result that one thread adds up; of a matrix product, whose depth goes by steps. */
struct folds layout_row_folds(const struct kernel *k, const struct layout *y);
struct folds layout_column_folds(const struct kernel *k, const struct layout *y);
struct folds layout_part_folds(const struct kernel *k, int64_t parts);
struct folds layout_depth_folds(const struct kernel *k, int depth);
enum { DEPTH_AT_ONCE = 128 }; /* CPU: of a matrix product, in registers */
/* CPU, matrix products: steps of the depth that are packed at a time under knob k; is that all of
 * it, always? Numbers in each of the vectors that make a block's tn columns; registers that a block
 * of tm*tn sums is made in, with those of what is multiplied, and how many a core has. */
int layout_packed_depth(int depth);
bool layout_packs_once(const struct kernel *k, int depth);
int layout_block_lanes(const struct kernel *k, int tn);
int64_t layout_block_registers(const struct kernel *k, int tm, int tn);
int cpu_vector_registers(const struct device_limits *d);
/* flat.c: what a config with flat=1 means on a CPU, whose m, n, tm and tn y has; or why it is not
 * legal, with so many bytes for a task. */
const char *flat_layout(const struct kernel *k, const struct config *c, int64_t most_bytes,
                        struct layout *y, struct arena *a);
/* Tiles of windows along a dimension, or of images; numbers of the copy, of a channel's part. */
int64_t flat_tiles(const struct flat_tile *f, int dim);
int64_t flat_plane(const struct flat_tile *f);
/* Blocks of a tile's windows. */
int64_t flat_blocks(const struct flat_tile *f);
/* Is the depth all channels, one after the other, of each its taps, as they are counted? */
bool flat_depth_in_order(const struct flat_tile *f);
/* GPU: column steps of a tile, and tiles, after which a phase's accumulators are folded. */
int layout_fold_steps(const struct layout *y);
int layout_fold_tiles(const struct layout *y);
/* look_back: levels above what a thread adds up of the totals of groups of tiles. */
int layout_look_back_levels(const struct kernel *k, const struct layout *y);
/* Is v a reduction whose tiles are carried along, as a scan's are? */
bool scan_carries(const struct kernel *k, value_id v);
/* Has what a scan, or such a reduction, carries along what its additions have lost beside it? */
bool layout_carries_error(const struct kernel *k, value_id scan);
/* Does a GPU's thread add up each vector of its row before it adds it to what it has? Not where it
 * has one. */
bool layout_sums_vectors(const struct kernel *k, const struct layout *y);
/* The longest chain of additions under a config, of any accumulator of any launch: MOST_CHAIN at
 * most where it is legal. */
enum { MOST_CHAIN = 160 };
int64_t layout_chain(const struct kernel *k, const struct config *c, const struct layout *y);

struct phase {
    VEC(value_id)
    loads; /* raw loads of values that vary with r, needed here and not yet in registers */
    VEC(value_id) compute; /* values that vary with r, in order, loads included */
    VEC(value_id) reduce;  /* reductions accumulated here */
    VEC(value_id) online;  /* of these, sums that are rescaled when a maximum of them grows */
    VEC(value_id) squares; /* sums about what stands on these, reduced when that is known */
    VEC(value_id) across;  /* those of columns */
    VEC(uint32_t) stores;  /* stores that vary with r */
    VEC(value_id) after;   /* values that do not vary with r, computed when the phase is over */
    value_id at_hand;      /* behind a product: it, or what is kept in its place */
};

struct block {
    const struct kernel *kernel;
    struct config config;
    struct layout layout;
    VEC(value_id) before; /* values without r of level 0 */
    VEC(struct phase) phases;
    VEC(uint32_t) row_stores; /* stores that do not vary with r, at the end */
    value_id kept; /* behind a product: takes the place of its sums after phase 0, by what `keep` */
    struct phase keep;    /* computes; NO_VALUE: nothing does */
    VEC(value_id) across; /* all of the phases */
    VEC(value_id) finish; /* what the columns' stores need, in order */
    VEC(uint32_t) column_stores;
    int64_t grid;     /* blocks of the main launch */
    size_t workspace; /* split: bytes of partial results */
    size_t lists;     /* chained products that skip: where in these the lists lie, */
    size_t images;    /* and of those that turn factors their images */
    size_t tickets;   /* last_block: bytes of a counter for each tile of rows, and of its words;
                         look_back: of two, and a flag for each tile and group of each scan */
};

/* block.c: needs a legal config. */
struct block *block_build(const struct kernel *k, const struct config *c, struct arena *a);
void block_print(struct buf *b, const struct block *p);
/* Of a phase with squares, what follows its reductions before they are settled, and what does
 * after. */
void block_split_after(const struct block *p, const struct phase *f, struct phase *before,
                       struct phase *rest);

/* Facts that config, block and emit share. */
/* Bytes that hold what reduction v has so far: its value, or a pair. */
int reduction_bytes(const struct kernel *k, value_id v);
/* Is it a store of the columns, which the second launch does? */
bool is_column_store(const struct kernel *k, const struct store_node *s);
/* Bytes of the partial results of a split or across reduction, aligned for any type. */
size_t partial_bytes(const struct kernel *k, const struct layout *y, value_id v);
/* in_words: the words, of 8 bytes with 4 of a value, that a part of one row takes. Those of all
 * tiles of rows lie behind the counters, at a multiple of a line of memory. */
int kernel_part_words(const struct kernel *k);
int reduction_words(const struct kernel *k, value_id v); /* of these, a reduction's */
enum { COUNTERS_OF_LINE = 32 };
int64_t kernel_size(const struct kernel *k,
                    enum axis x); /* at the hints; 1 if the axis is missing */
/* Can `index` be loaded or stored `vec` elements at a time along axis x (contiguous, aligned, no
 * vector cut)? */
bool index_is_vector(const struct kernel *k, ex index, enum axis x, int vec);
/* The same, if they run backwards: 255 - r, four at a time, from 252 - r on. */
bool index_is_reversed(const struct kernel *k, ex index, enum axis x, int vec);
/* Elements from the buffer's first to its last: where a vector divides them, one in which any of
 * them lies may be read. */
ex kernel_extent(const struct kernel *k, buffer_id b);
/* Is it contiguous for vec neighbours along the axis, the first of which is a multiple of vec? */
bool index_runs(const struct kernel *k, ex index, enum axis x, int vec);
/* By how much it grows from one of these to the next; -1 if that differs, or is not known. */
int64_t index_stride_inside(const struct kernel *k, ex index, enum axis x, int vec);
/* Is the value the same for such neighbours? */
bool value_is_uniform(const struct kernel *k, value_id v, enum axis x, int vec);
/* Coefficient of axis x in index, or -1 if not a constant. */
int64_t index_stride(const struct kernel *k, ex index, enum axis x);
/* Takes the multiple of a symbol out of an index: by how much it grows with it, 0 of EX_NONE. False
 * if that is no number. */
bool index_take(const struct kernel *k, ex *index, ex symbol, int64_t *step);
/* The same, or by how much it grows between neighbours, if that holds for eights of them: rows that
 * lie apart in memory are long enough to count as contiguous. */
int64_t index_local_stride(const struct kernel *k, ex index, enum axis x);
/* The same almost everywhere: where a row ends, and the next begins elsewhere, is left out. What
 * runs backwards has neighbours as well. */
int64_t index_usual_stride(const struct kernel *k, ex index, enum axis x);
/* The two of a load, whose guard and subscripts may vary along the axis. */
bool load_is_vector(const struct kernel *k, const struct value_node *load, enum axis x, int vec);
bool load_is_reversed(const struct kernel *k, const struct value_node *load, enum axis x, int vec);
/* Is it the same for vec neighbours, the first of which is a multiple of vec? */
bool load_is_uniform(const struct kernel *k, const struct value_node *load, enum axis x, int vec);
int64_t load_stride(const struct kernel *k, const struct value_node *load, enum axis x);
int64_t load_usual_stride(const struct kernel *k, const struct value_node *load, enum axis x);
/* From the first to the second: where rows of any length lie apart, mostly that. */
int64_t load_first_step(const struct kernel *k, const struct value_node *load, enum axis x);

#endif
