/* layout.h: where a tile's elements are: what a config means for threads, rows and columns.
 *
 * Of a body and a config; blocks and texts are made of it. layout.c, which alone decides legality,
 * and what it asks: chain.c, flat.c, hits.c, online.c, peel.c, window.c, arms.c. */
#ifndef WS_KERNEL_LAYOUT_H
#define WS_KERNEL_LAYOUT_H

#include "kernel/config.h"
#include "kernel/im2col.h"
#include "kernel/index.h"

struct product;
struct chained;
struct persistent;
struct recurrent_layout;

/* How many tiles of that size there are, the last one not always full. */
static inline int64_t tile_count(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

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
    bool meets; /* of the split: all its blocks do, and go along the row again; see cuda_meet.c */
    bool in_words; /* last_block, columns inner: blocks leave these in words that have a flag */
    int cluster;   /* blocks that share a row, >= 1: through each other's shared memory, unless */
    bool apart;    /* these need to know nothing of each other: only columns are summed up */
    int stages;    /* blocks: rows under way, of which all but one are copied to shared memory */
    int kept;      /* tiles of a row that is kept in shared memory; 0: of none. Those that meet
                        keep so many at the end of what they have, and read the others again */
    int ring;      /* both: from this byte on */
    int folded;    /* matmul by threads: from this byte of shared memory on there is what lies
                        above a thread's sums; 0: it is in local memory */
    int turned; /* matmul by threads: 1: the left factor is an image [z][depth][row] that a launch
                        before writes, 2: the right one, 3: both */
    int blocks; /* blocks, or clusters or rows of blocks apart, of a persistent grid, each over many
                   rows; sums of columns have a part of each (CPU: of each task); 0: none. Where
                   batches of rows have columns of their own, each batch has so many of them */
    bool whole_columns; /* blocks: one for each such batch, which stores its columns itself */
    bool look_back;     /* scan: each tile of a row is a block's */
    int circle;    /* look_back: so many blocks, which are on the device together, go through all
                       tiles in rounds, a tile each; 0: a block has one tile */
    bool waits;    /* circle: a tile that has been scanned waits a round in shared memory, */
    int held_from; /* from this byte on */
    int hits;      /* sources that a thread tests at a time, to list those that land in its block's
                       tiles (CPU: in any); 0: all are gone along. See hits.c */
    bool sorted;   /* hits: sources are sorted by where they land, before; see cuda_sort.c */
    bool own;      /* sorted: a thread goes along the sources of its own vector, which has one row;
                       x = (group*ex + e)*span + tile*t0*vec + tx*vec + v, span being all rows */
    int held;      /* hits: tiles of bx rows whose results a block has in shared memory */
    bool turns;    /* sorted: only by blocks of a warp, whose threads have a source each; what goes
                       to one row is added in turn */
    bool turn;     /* pointwise: what lies across the columns is read along the rows, see below */
    bool grid_r;   /* pointwise: columns are spread over blocks, not looped over */
    /* Blocks go by runs of `mirrored` places, of which a block has `mirror_each` and each has
     * `mirror_inner` blocks: from both ends, or by both halves, see mirror.c; 0: in order. */
    int64_t mirrored, mirror_each, mirror_inner;
    bool streaming; /* non-temporal stores */
    bool ahead;     /* CPU: the next row, or a page ahead, is asked for before it is needed */
    bool skip_l1;   /* loads leave no copy in L1 */
    bool leave_l2;  /* what is loaded once leaves L2 before what is stored */
    bool stay_l2;   /* or after it */
    int head_unit;  /* peel: heads end at multiples of it */
    bool peel;      /* vec does not divide the rows: each has a head and a tail, see peel.c */
    bool shift;     /* peel, rows inner: what is out of step is put together from two vectors */
    bool ragged;    /* rows inner: vec does not divide x, so that the last two vectors overlap */
    bool cut;       /* window, one scanned row: each row's last vector ends behind it */
    int slack;      /* shift: columns at a row's end that its whole vectors leave alone */
    bool one_head;  /* peel: all rows of a thread have heads of one length */
    int fit;        /* blocks of a multiprocessor that registers must suffice for; 0: for one */
    int online;     /* level of reductions with which the sums relative to them go along; 0: none */
    ex start;       /* peel: elements before row x, whose remainder by vec says where heads end */
    const struct windows *windows; /* pointwise: loads that share vectors; NULL if none do */
    const struct product *product; /* matmul: on the matrix units; NULL: by plain arithmetic */
    const struct chained *chained; /* chained products; NULL of others */
    const struct persistent *persistent;      /* a loop's steps; NULL of others */
    const struct recurrent_layout *recurrent; /* a recurrence; NULL of others */
    const struct flat_tile *flat; /* matmul on a CPU: windows stay in an image; NULL: in panels */
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
/* matmul by plain arithmetic: of a thread's tm or tn elements, how many lie side by side. */
int layout_unit(int elements);
/* Numbers of all panels ahead, whose rows have a gap behind them: what is written across a panel
 * goes to all banks. */
enum { PANEL_GAP = 4 };
bool factor_is_copied(const struct kernel *k, value_id factor); /* by cp.async, as it is */
/* Of a factor that is turned: elements from a line of its image to the next; bytes of the image. */
int64_t turned_pitch(const struct kernel *k, enum axis axis);
int64_t turned_bytes(const struct kernel *k, enum axis axis);
/* Is that one of the factors that the layout has turned? */
bool is_turned(const struct layout *y, enum axis axis);
int64_t layout_panels(const struct layout *y, int depth);

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
/* Is it out of step with vectors, and yet stored by them? Lanes pass on what their neighbour's
 * vector begins with. */
bool layout_store_shifts(const struct kernel *k, const struct layout *y,
                         const struct store_node *s);
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

/* Is all of a row in shared memory? */
bool layout_keeps_row(const struct layout *y);

/* Meeting blocks: tiles that each has of a row, at most. */
int64_t layout_tiles_met(const struct kernel *k, const struct layout *y);

/* Blocks of a cluster, in which the device places them: 1 if those that share a row are apart. */
int layout_cluster(const struct layout *y);
/* Are only columns summed up, so that blocks that share rows may be apart? */
bool kernel_only_columns(const struct kernel *k);
/* Multiprocessors of which clusters have all blocks: they lie in one group of multiprocessors each,
 * which they do not always fill. */
int64_t layout_units(const struct kernel *k, const struct layout *y);

/* Is each element of the load wanted by one row and column alone? */
bool kernel_loads_once(const struct kernel *k, value_id load);

/* Is the last vector of a scanned row cut? Of it, no more is read or stored than there is. */
static inline bool layout_scan_is_cut(const struct kernel *k, const struct layout *y) {
    return y->cut && k->kind == KERNEL_SCAN;
}

/* 32-bit registers that hold the raw loads of one tile, per thread. */
int layout_load_words(const struct kernel *k, const struct layout *y);
/* Those that hold what scans have made of it. */
int layout_scan_words(const struct kernel *k, const struct layout *y);

/* Is the load copied into shared memory, ahead or to stay there, and the bytes of all such loads of
 * a tile? */
bool layout_copies(const struct kernel *k, const struct layout *y, value_id load);
int64_t layout_stage_bytes(const struct kernel *k, const struct layout *y);

/* mirror.c: in which order blocks go where something is read twice, far apart. */
void layout_mirror(const struct kernel *k, struct layout *y);

/* Pointwise: is the load one of an operand whose neighbours are those of other rows, so that it is
 * read along the rows into shared memory, and taken up from there along the columns? How many
 * columns of it are there: where each row has a head, its vectors are up to one further on. And how
 * many of its elements a thread reads at a time: those of a word. */
bool layout_turns(const struct kernel *k, const struct layout *y, value_id load);
int layout_turn_columns(const struct layout *y);
/* Does a word of the tile have two neighbours along the columns, of 16 bits each? */
bool layout_turns_pairs(const struct kernel *k, const struct layout *y, value_id load);
int layout_turn_pitch(const struct layout *y); /* words from one to the next */
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
 * array with a number for each source. Few are counted instead, in one launch, where what follows
 * wants no keys: layout_counts_sort. Behind that a list of where each row's begin, from byte
 * layout_sort_begin on; bytes of all. */
enum { SORT_BITS = 8, SORT_DIGITS = 1 << SORT_BITS };
int layout_sort_passes(const struct kernel *k);
int64_t layout_sort_blocks(const struct kernel *k);
int64_t layout_sort_array(const struct kernel *k);
bool layout_counts_sort(const struct kernel *k, const struct layout *y);
/* Some more are listed by blocks, in one launch as well: rows of a block, and its shared memory. */
bool layout_lists_sort(const struct kernel *k, const struct layout *y);
int64_t layout_list_rows(const struct kernel *k);
int64_t layout_list_bytes(const struct kernel *k);
/* Others are sorted by blocks of so many rows first, a power of two, then by row in each of these,
 * which takes four launches, if there are not too many of them; else digit by digit. */
bool layout_buckets_sort(const struct kernel *k, const struct layout *y);
int layout_bucket_bits(const struct kernel *k);
/* Turns: blocks of rows, by which alone sources are sorted; or those of layout_buckets_sort. */
enum { MOST_BUCKETS = 4096 };
int64_t layout_buckets(const struct kernel *k, const struct layout *y);
/* Blocks that sort by these, their threads, how many sources each has at a time, BUCKET_EACH at
 * most, and bytes of shared memory. */
enum { BUCKET_EACH = 16 };
int layout_bucket_each(const struct kernel *k, const struct layout *y);
int64_t layout_bucket_blocks(const struct kernel *k, const struct layout *y);
int layout_bucket_threads(const struct kernel *k, const struct layout *y);
int64_t layout_bucket_bytes(const struct kernel *k, const struct layout *y);
int64_t layout_sort_begin(const struct kernel *k, const struct layout *y);
int64_t layout_sort_bytes(const struct kernel *k, const struct layout *y);
/* Own: where the sources in order, and the places at which rows begin, lie. */
int64_t layout_order_begin(const struct kernel *k, const struct layout *y);
int64_t layout_rows_begin(const struct kernel *k, const struct layout *y);
/* Are there launches before, that sort? Not where a kernel before has, but for turns, which sort by
 * blocks. */
bool layout_sorts(const struct kernel *k, const struct layout *y);
/* Turns: the one number by which what a source brings stands on the source, of f32: the launches
 * before bring it along, and nobody has to look the source up. NO_VALUE: there is no such one. */
value_id layout_carried(const struct kernel *k, const struct layout *y);
/* Own: elements of x before rows begin again, and how often they do. */
int64_t layout_span(const struct kernel *k);
int64_t layout_spans(const struct kernel *k);
/* Rows are read again after their first reduction: keeping them saves traffic. */
bool kernel_reads_twice(const struct kernel *k);
/* Sources that a block lists before it goes along them: these at most. */
int layout_listed(const struct layout *y);

/* look_back: tiles whose totals are summed up once for all that come later; and what of tiles and
 * groups of them has a total. */
enum { LOOK_BACK_GROUP = 32 };
int64_t layout_totals(const struct kernel *k, const struct layout *y);
/* circle: rounds whose totals are kept. A block that leaves its own of round n has looked at those
 * of round n - 3 of all others, if tiles wait, who then had looked at all of round n - 6. */
enum { ROUNDS_KEPT = 8 };
int64_t layout_circle_words(const struct kernel *k, const struct layout *y, value_id scan);
/* Is load v wanted again behind a scan? Then it waits for that, too. Bytes of shared memory that
 * a scan's or load's part of a tile waits in. */
bool layout_load_waits(const struct kernel *k, value_id v);
int64_t layout_waiting_bytes(const struct kernel *k, const struct layout *y, value_id v);
/* Of the flags of one of these: one, or for each row a word with a total. */
int64_t layout_flag_bytes(const struct layout *y);

/* Rows inner: values that one reduction of a thread's vector sends through shared memory. */
int layout_column_slots(const struct kernel *k, const struct layout *y);
int layout_warps(const struct kernel *k, const struct layout *y); /* of a block */
/* Columns inner: do threads of several warps share a row? Then each warp of the block leaves what
 * it has of its row in a slot of shared memory; else there are none. */
bool layout_joins_warps(const struct kernel *k, const struct layout *y);
int layout_row_slots(const struct kernel *k, const struct layout *y);

/* Is it a sum, or another reduction or scan, each of whose steps rounds? */
bool reduction_rounds(const struct kernel *k, value_id v);
int64_t folds_chain(const struct folds *f); /* additions one after the other, at most */
/* Of a phase's reductions along r; of a block's (CPU: task's) sums of columns; of so many parts of
 * a result that one thread adds up; of a matrix product, whose depth goes by steps, in parts. */
struct folds layout_row_folds(const struct kernel *k, const struct layout *y);
struct folds layout_column_folds(const struct kernel *k, const struct layout *y);
struct folds layout_part_folds(const struct kernel *k, int64_t parts);
struct folds layout_depth_folds(const struct kernel *k, int depth, int parts);
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
/* Has what a scan, or such a reduction, carries along what its additions have lost beside it? */
bool layout_carries_error(const struct kernel *k, value_id scan);
/* Does a GPU's thread add up each vector of its row before it adds it to what it has? Not where it
 * has one. */
bool layout_sums_vectors(const struct kernel *k, const struct layout *y);
/* The longest chain of additions under a config, of any accumulator of any launch: MOST_CHAIN at
 * most where it is legal. */
enum { MOST_CHAIN = 160 };
int64_t layout_chain(const struct kernel *k, const struct config *c, const struct layout *y);

#endif
