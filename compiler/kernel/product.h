/* product.h: products on the matrix units: where their factors' tiles come from, who
 * multiplies, and what is behind them.
 *
 * A part of a layout. operand.c, matrix.c, epilogue.c. */
#ifndef WS_KERNEL_PRODUCT_H
#define WS_KERNEL_PRODUCT_H

#include "base/tensor_map.h"
#include "kernel/layout.h"

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
/* Elements from a column to the next in what a warpgroup turns: four threads' columns lie in other
 * banks. */
enum { TURNED_PITCH = 68 };
/* Of pairs of f16: what the first plane leaves of a factor is 2^PAIR_SHIFT times as large in the
 * second; products of first planes sum up PROMOTE_DEPTH, or half of it where the depth is less than
 * PAIRS_DEEP; those of a first and a second plane have sums of their own, which go to the total
 * every CROSS_STEPS steps. */
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
    /* In tf32's place two planes of bf16, which have more digits, and may run along the rows: of
     * factors that have windows along the depth, tf32 needs each of a window's elements written. */
    bool halves;
    bool splits;       /* pairs: who multiplies makes those of factors that lie as maps want */
    int promote_pairs; /* of pairs: the depth that products of first planes sum up */
    bool by_warp;      /* mma.sync: a warp waits for its products, and all warps copy; else wgmma */
    bool tensor; /* else, tcgen05: a thread has products made, whose sums lie in tensor memory */
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
    int lines;    /* if not 0, bytes in which each warp gathers eight rows of what it stores, which
                     has 32 bits, to store whole lines of memory; */
    int lines_at; /* they begin so many behind the exchange's begin */
};

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
/* Columns of eight rows that a warp gathers before it stores them. */
int product_line_columns(const struct product *p);
/* From the first element of the store to that `by` further along an axis; -1: it is not known. */
int64_t store_step(const struct kernel *k, const struct store_node *s, enum axis x, int by);
/* What writing an operand's image takes in us, and its being read once (0: it has none); the clocks
 * that a line of a tile of so many windows takes at least: on an H100, tensor maps bring one in 5,
 * of 32 bytes as of 128. */
double operand_pack_us(const struct kernel *k, const struct operand *o);
double operand_line_clocks(const struct operand *o, int64_t lines, bool by_warp);
/* What a tensor map is told of an operand whose boxes have so many lines, of `line` bytes; windows:
 * where the taps of the last one are must be asked beside. Its address is 0. */
struct tensor_map operand_map(const struct operand *o, int line, int lines);
/* Are so many windows, from a multiple of that on, whole lines of an image's, or whole images?
 * Then they are a box of it, at each tap; `box` has how many of
 * them there are along each dimension, images last. */
bool windows_are_box(const struct operand *o, int64_t lines, int *box);
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
/* Is it of f32, and was tf32 asked for? */
bool product_may_be_tf32(const struct kernel *k);
int stored_planes(const struct operand *o);
/* Bytes of an operand's tile that one line of shared memory has: 32, 64 or 128. */
int operand_line(const struct operand *o, int rows, int depth);

#endif
