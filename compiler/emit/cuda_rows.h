/* cuda_rows.h: what the files share that write rows in CUDA. Private to them. */
#ifndef WS_EMIT_CUDA_ROWS_H
#define WS_EMIT_CUDA_ROWS_H

#include "emit/impl.h"

/* cuda_rows.c */
bool phase_rounds(struct emitter *w, const struct phase *f); /* any of its reductions */
bool rows_exact(const struct emitter *w); /* no row of a block lies beyond the last */
bool columns_exact(const struct emitter *w);
/* Where element v of a vector is, which begins at `first`: "r0 + v". Of a row's last vector some
 * are behind it (cut): they are where the row's last is. */
const char *element_place(struct emitter *w, const char *first);
const char *row_is_real(struct emitter *w);
struct ws_launch *open_kernel(struct emitter *w, const char *name, int threads);
void put_row_values(struct emitter *w, const value_id *list, uint32_t n);
void put_x(struct emitter *w, bool element); /* declares the thread's x */
void put_own_x(struct emitter *w); /* of an element; goes on to the next if another has it */
void open_unrolled(struct emitter *w, const char *name, int n);
void close_rows(struct emitter *w);
void put_r(struct emitter *w);
void open_columns(struct emitter *w); /* a loop over the thread's column steps u; declares r */
void close_columns(struct emitter *w);
void close_column(struct emitter *w); /* the step's text, but not the loop */
void open_row(struct emitter *w);     /* inside of it, over the thread's rows e; declares x */
void close_row(struct emitter *w);

/* cuda_load.c: loads of a tile. declare_packs: the registers they fill; put_turns: those through
 * shared memory; unpack_text: element v of one that is there. load_hint: a template argument, and
 * l2_hint, of what is loaded once; "" for none. */
void declare_packs(struct emitter *w, const struct phase *f);
const char *l2_hint(const struct emitter *w);
const char *load_hint(struct emitter *w, buffer_id b, bool once);
/* The thread's vector of load v at the step at hand; NULL if that is no load, or of no vector. */
const char *whole_pack(struct emitter *w, value_id v);
/* The registers that load v fills; those of heads and tails are others. */
const char *pack_name(struct emitter *w, value_id v);
const char *unpack_text(struct emitter *w, value_id v);
void put_turns(struct emitter *w, const struct phase *f, int *smem);
void put_loads(struct emitter *w, const struct phase *f);

/* cuda_tile.c: the arithmetic of a tile, or of heads and tails, between loads and the row's end. */
void put_tile(struct emitter *w, const struct phase *f);

/* cuda_store.c: its stores, in this order about the loop over a vector's elements; exact: all rows
 * of the block are real. put_row_stores: of values without r, by the first thread of each row. */
void declare_shifted_stores(struct emitter *w, const struct phase *f);
void declare_results(struct emitter *w, const struct phase *f);
void put_element_stores(struct emitter *w, const struct phase *f, bool exact);
void put_vector_stores(struct emitter *w, const struct phase *f, bool exact);
void put_shifted_stores(struct emitter *w, const struct phase *f);
void put_row_stores(struct emitter *w);

/* cuda_combine.c */
const char *accumulator_dims(struct emitter *w);
void open_accumulators(struct emitter *w); /* loops over those dims, and the subscript of one */
void declare_accumulators(struct emitter *w, const struct phase *f);
void declare_carries(struct emitter *w,
                     const struct phase *f); /* of scans, before the first tile */
void put_combines(struct emitter *w, const struct phase *f, int *smem); /* over the row's threads */
/* Of row e along its columns: t[u] is what stands before the thread's vector of step u in the tile,
 * and then, all, in the row; what the tile has is added to the carry. */
void put_tile_scan(struct emitter *w, value_id v, const char *t, const char *carry, int *smem);
void put_scanned(struct emitter *w, value_id v, const char *t, const char *all);
void settle_carried(struct emitter *w,
                    int *smem); /* what a scan's kernel reduces, and values of it */

/* cuda_fold.c: declare_folds: what is above a phase's accumulators, those of w->folds; in turns it
 * is made nothing, by clear_folds, when the first fold is due. They are folded, if that is due,
 * after a step u of a tile, after a tile, or after `at_once` parts; put_unfolded: they get all.
 * uppers: `levels` above each of `cells` accumulators v, of so many bytes. put_upper_step: of one,
 * whose subscript it is, between open and close_uppers; radix 0: acc gets all. */
struct uppers {
    value_id v;
    const char *type, *dims;
    int bytes, cells, levels;
};
void declare_uppers(struct emitter *w, const struct uppers *u);
void open_uppers(struct emitter *w, const struct uppers *u);
void close_uppers(struct emitter *w, const struct uppers *u, bool fold);
void put_upper_step(struct emitter *w, const struct uppers *u, const char *op, const char *acc,
                    const char *subscript, const char *none, int radix);
void declare_folds(struct emitter *w, const struct phase *f);
void clear_folds(struct emitter *w, const struct phase *f);
void put_step_folds(struct emitter *w, const struct phase *f);
void put_tile_folds(struct emitter *w, const struct phase *f);
void put_unfolded(struct emitter *w, const struct phase *f);
void put_part_folds(struct emitter *w, const struct phase *f, int at_once); /* of last_block */

/* cuda_exchange.c: what the blocks of a cluster have of a row, by mbarriers (exchanges):
 * put_mbarriers at the kernel's begin. open_exchange: threads bring so many bytes for each row;
 * put_give, of one row, in a loop over e; close_exchange: the slots, one for each block, are full.
 */
bool exchanges(const struct layout *y);
void put_mbarriers(struct emitter *w, int *smem);
void open_exchange(struct emitter *w, const char *bytes);
const char *exchange_slots(struct emitter *w, const char *type, int at);
void put_give(struct emitter *w, const char *value, const char *slots);
void close_exchange(struct emitter *w);

/* cuda_peel.c: heads and tails of rows. put_row_ends: what the rows of a thread have of them.
 * open_ends, close_ends: text in between is of these elements. open_row_columns: in the scope of a
 * row, its column r at the step at hand, if the row has it; open_common_columns: the same where all
 * rows of the thread have it. */
void put_row_ends(struct emitter *w);
struct ends_scope {
    const struct layout *y;
    struct layout ends;
};
void open_ends(struct emitter *w, struct ends_scope *s);
void close_ends(struct emitter *w, const struct ends_scope *s);
void open_row_columns(struct emitter *w);
void open_common_columns(struct emitter *w);
void close_common_columns(struct emitter *w);

/* cuda_copy.c: what goes through shared memory. put_tile_copies: copies of the tile at hand into
 * `slot`, whose thread's part put_copied takes up again, of the loads in f; copied_loads: those of
 * f that are copied. put_row_copies, put_kept: the same of all tiles of a row that is kept there,
 * and of the tile at hand, between open_slots and close_slots. */
struct phase copied_loads(struct emitter *w, const struct phase *f);
void put_tile_copies(struct emitter *w);
void put_copied(struct emitter *w, const struct phase *f);
void put_row_copies(struct emitter *w);
void open_slots(struct emitter *w); /* a loop over the kept tiles; declares slot and base */
void close_slots(struct emitter *w);
void put_kept(struct emitter *w, const struct phase *f, bool first);

/* cuda_window.c: vectors that several loads share. put_windows: those that vary with x, or not;
 * where r is a vector's first column. tap_text: element v of a load that takes its elements from
 * one. */
void declare_windows(struct emitter *w);
bool any_window(const struct emitter *w, bool by_row);
void put_windows(struct emitter *w, bool by_row);
const char *tap_text(struct emitter *w, const struct window_tap *t);
const char *condition_at(struct emitter *w, ex e); /* at element v of a vector */

/* cuda_online.c: sums of exp(x - max) that go along with the maximum. In the order of a chunk:
 * remember the maxima, accumulate them, rescale the sums, accumulate these. combine_online:
 * reduction v over the row's threads, if it is one of these; true if nothing is left to do. */
void remember_maxima(struct emitter *w, const struct phase *f);
void rescale_sums(struct emitter *w, const struct phase *f);
bool combine_online(struct emitter *w, const struct phase *f, value_id v, int *smem);

/* cuda_best.c: where extrema are, by vectors. goes_by_vectors: is reduction v such a one, and
 * gathers_vector: of computed elements, c7[v], that have to become a vector first? is_of_vectors:
 * no element is combined with v, as it is one of these, or the extremum that one of f looks for.
 * put_best: of the vector at hand; settle_best: when the phase's vectors are through. */
bool goes_by_vectors(struct emitter *w, value_id v);
bool gathers_vector(struct emitter *w, value_id v);
bool is_of_vectors(struct emitter *w, const struct phase *f, value_id v);
void declare_best(struct emitter *w, const struct phase *f);
void put_best(struct emitter *w, const struct phase *f);
void settle_best(struct emitter *w, const struct phase *f);

/* cuda_squares.c: sums of squares about what is known only after the phase. put_squares: of the
 * element at hand; settle_squares: when the phase's other reductions are done, with the values that
 * stand on them, of which *rest has what is left. may_move: of an element, a condition for
 * k_add_near. */
const char *may_move(struct emitter *w);
void declare_squares(struct emitter *w, const struct phase *f);
void put_squares(struct emitter *w, const struct phase *f);
void settle_squares(struct emitter *w, const struct phase *f, int *smem, struct phase *rest);

/* cuda_sort.c: what the kernel behind launches that sort sources by where they land has of
 * that; its loop over what lands in its tiles, and as much of that as the list has room for, each
 * with its place: the text of that of `target`. */
void put_sort_parameters(struct emitter *w, struct ws_launch *l);
void open_sorted(struct emitter *w);
void put_lists(struct emitter *w); /* declares order and begin where a kernel before made them */
void put_sorted_listing(struct emitter *w, const char *place);

/* cuda_columns.c: sums of columns over the rows of a block. open_block_rows: before the first row;
 * put_column_sums: of an element, if `condition`; close_block_rows: after the last. */
bool is_of_all_rows(const struct emitter *w, value_id v);
void open_block_rows(struct emitter *w);
void put_column_sums(struct emitter *w, const struct phase *f, const char *condition);
void close_block_rows(struct emitter *w);
void put_column_parameters(struct emitter *w, struct ws_launch *l);
void emit_column_finish(struct emitter *w);

/* cuda_look_back.c: scans by blocks of one tile each. */
void put_look_back_position(struct emitter *w);
void put_look_back_parameters(struct emitter *w, struct ws_launch *l);
void put_look_back(struct emitter *w, value_id v, int *smem);
void put_look_back_columns(struct emitter *w, value_id v, int smem);
void arrive_look_back(struct emitter *w);
void end_look_back(struct emitter *w);

/* cuda_circle.c: scans by blocks that go through all tiles in rounds: all of the kernel's text but
 * its head. */
void put_circle(struct emitter *w);

/* cuda_hits.c: all of the kernel's text but its head. open_hit: in the loop over steps u, what is
 * at hand of the listed sources: its r, its tile px of those held, and what its rows are.
 * sum_of_hit: where reduction v is accumulated. */
void put_hits(struct emitter *w);
void open_hit(struct emitter *w);
const char *sum_of_hit(struct emitter *w, value_id v);

/* cuda_turns.c: the loop over a block's sources where threads have a source each; in it open_turn,
 * in the loop over steps u, and the reductions, in turn. put_rows_of_tile: see cuda_hits.c. */
void put_turns_loop(struct emitter *w, const struct phase *f);
void open_turn(struct emitter *w);
void put_turn_sums(struct emitter *w, const struct phase *f);
void put_rows_of_tile(struct emitter *w, bool for_columns);
void put_all_folds(struct emitter *w, const struct phase *f); /* of cuda_fold.c: now */

/* cuda_own.c: the same where a thread goes along the sources of its own elements: open_own_hit, and
 * what put_x and row_is_real are there. */
void put_own_hits(struct emitter *w);
void open_own_hit(struct emitter *w);
void put_own_hit_x(struct emitter *w, bool element);
const char *own_hit_is_real(struct emitter *w);

/* cuda_adds.c: the same where launches before have added up what lands, as whole numbers: those
 * launches, in which open_add is in the loop over a thread's sources u, and put_adds of what one
 * brings; and all of the kernel's text but its head. */
void emit_cuda_adds(struct emitter *w);
void open_add(struct emitter *w);
void put_adds(struct emitter *w, const struct phase *f);
void put_added(struct emitter *w);
/* sort=3 by several warps: what a block has found adds up; reduction i of its tile `held`. */
void put_sums_of_block(struct emitter *w, const struct phase *f);
const char *block_sum(struct emitter *w, const struct phase *f, uint32_t i);
void put_added_here(struct emitter *w); /* sort=5: one launch, in shared memory */

/* cuda_split.c: split > 1. add_tickets: a parameter, the counters. put_draw: as a block begins.
 * spread_parts: more threads along the parts of so many columns, if these are too many for a thread
 * to have under way together. put_parts_sum: adds those of a thread, every t1th from tr on, to what
 * it has. Of a batch, loads come first, then the additions, in their order. */
struct parts {
    const value_id *sums; /* n of them: a4 += part4[s * width + at] */
    uint32_t n;
    int parts, t1;
    int rows; /* of a result, each with parts of its own: a4 += part4[s / rows * width + at * rows +
                   s % rows]; 0: one */
    int chunks; /* parts are every so many of them, from `chunk` on, the last of which may not be
                   there; 0: all */
    const char *width, *at, *subscript; /* of a4 */
};
void add_tickets(struct emitter *w, struct ws_launch *l);
void put_draw(struct emitter *w);
void put_partials(struct emitter *w);
void put_partial_parameters(struct emitter *w, struct ws_launch *l);
void put_last_block(struct emitter *w);
/* meet=1: the accumulators of a phase have what a thread has of all blocks' parts. */
void put_meeting(struct emitter *w, uint32_t phase, int smem);
void spread_parts(const struct kernel *k, const value_id *sums, uint32_t n, int parts,
                  int64_t columns, struct layout *y);
/* Part s of them, of sum v; all of them. */
const char *part_at(struct emitter *w, const struct parts *p, value_id v, const char *s);
void put_parts_sum(struct emitter *w, const struct parts *p, int threads);
void emit_finish(struct emitter *w);

#endif
