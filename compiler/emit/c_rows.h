/* c_rows.h: what c_rows.c and c_vector.c share. Private to emit/. */
#ifndef WS_EMIT_C_ROWS_H
#define WS_EMIT_C_ROWS_H

#include "emit/impl.h"

/* Lanes of a vector of floats on any machine (prelude_vector.h): so many are whole vectors. */
enum { WIDEST = 16 };

/* c_fold.c: accumulators that are folded (kernel/chain.c). `cells` of each, which is a text, of
 * `type`; a loop over them is opened by `loop`, in which `at` is one's subscript. put_c_folds: the
 * accumulators, acc7, have a block; put_c_unfolded: they get all. */
struct c_folds {
    struct folds f;
    const value_id *list;
    uint32_t n;
    char acc;         /* 'c', or 's' of columns */
    const char *type; /* NULL: each has its own */
    const char *cells, *loop, *at;
    bool rows; /* they are rows in memory, that put_fold_rows makes and frees */
};
void declare_c_folds(struct emitter *w, const struct c_folds *c);
void put_fold_rows(struct emitter *w, const struct c_folds *c, bool declare);
void put_c_folds(struct emitter *w, const struct c_folds *c);
void put_c_unfolded(struct emitter *w, const struct c_folds *c);
/* a7 of the parts of reduction v: `part` is the text of part s. */
void put_c_parts(struct emitter *w, value_id v, int parts, const char *part);

/* c_rows.c: those of a phase's reductions; loops over columns in blocks, after each of which they
 * are folded. */
struct c_folds c_folds_of(struct emitter *w, const struct phase *f, const char *type,
                          const char *cells, const char *at);
void open_columns_block(struct emitter *w, const struct c_folds *c, int lanes);
void close_columns_block(struct emitter *w, const struct c_folds *c);
void open_rows_block(struct emitter *w, const struct c_folds *c, const char *type, const char *name,
                     const char *begin, const char *end, int step);
void close_rows_block(struct emitter *w, const struct c_folds *c);

/* c_rows.c: the values as a4; if threads lie along x, of a tile's rows. */
void put_c_row_values(struct emitter *w, const value_id *list, uint32_t n);

/* c_rows.c: threads share what follows, `what` a pragma's rest, if it is of more than a few
 * elements. */
void put_team(struct emitter *w, const char *what, const char *elements);

/* c_keep.c: phase `index` keeps value v for a later one; or v is there already. */
bool worth_keeping(struct emitter *w, uint32_t index, value_id v);
bool computed_before(struct emitter *w, uint32_t index, value_id v);
/* Per value: does the phase need it, beside those that are there already? */
const bool *needed_beside_kept(struct emitter *w, uint32_t index);
const char *kept_place(struct emitter *w, value_id v); /* where it is, at r; of a tile, at l */
void put_row_buffers(struct emitter *w, bool declare); /* a thread's, made or freed */

/* c_vector.c: can all of the phase be said in vectors of floats? If so, its loop over the columns,
 * after which its reductions are floats a4. */
bool phase_is_vector(struct emitter *w, uint32_t index);
void put_vector_phase(struct emitter *w, uint32_t index);
/* The same of a scan's two. */
bool scan_is_vector(struct emitter *w);
void put_vector_scan(struct emitter *w);
/* Pointwise: a task's tiles of operands that lie across. */
void put_turned(struct emitter *w);

/* c_lanes.c: can a lane have it by itself, without calls? For a vector at x or r, and l, of which
 * the first n lanes count where `part`: put_lane_values makes floats and masks v7 of those in the
 * list; put_lane_store stores v7, as which `vector` is at hand, or what lanes make of it (NULL). */
bool goes_by_lanes(struct emitter *w, value_id v);
void put_lane_values(struct emitter *w, const value_id *list, uint32_t n, bool part);
void put_lane_store(struct emitter *w, const struct store_node *st, const char *vector, bool part);
/* The same of a load that is whole vectors from the last to the first, or parts of vectors; false:
 * it is not. */
bool put_run_load(struct emitter *w, value_id v, bool part);

/* c_places.c: by how many neighbours along the axis, of `most`, a scalar loop of the phase goes at
 * a time, so that indices that divide it grow evenly; 0 if none does, or by too few. */
int c_even_tile(struct emitter *w, uint32_t index, enum axis axis, int most);
/* Before a loop over so many from `first` on, a multiple of them; `lane` is its text of how many it
 * has come. Until end_c_places; of several phases one after the other. */
void put_c_places(struct emitter *w, uint32_t index, enum axis axis, int tile, const char *first,
                  const char *lane);
void end_c_places(struct emitter *w);

/* c_runs.c: an index along an axis, which it divides: from each multiple of `length` on it grows by
 * `step` so many times, 2^30 where nothing is divided; 0: it does not. */
struct c_run {
    int64_t length, step;
};
struct c_run c_run_of(struct emitter *w, ex index, enum axis axis);

/* c_runs.c: how long the runs of an axis are in which nothing changes by which these values, and
 * the stores, divide it; 0: they do not. Inside of a loop over the runs of `count` elements from
 * `first` on, `run` of them from element i_n on, n is n_is, and n_x is to be declared: begin_n and
 * on. */
struct c_runs {
    enum axis axis;
    const char *name;
    int64_t length;
    ex is, x; /* x: n_x */
};
struct c_runs c_runs_of(struct emitter *w, enum axis axis, const char *name, const bool *needed,
                        bool stores);
void open_c_runs(struct emitter *w, const struct c_runs *r, const char *first, const char *count);
void close_c_runs(struct emitter *w);
/* Inside, before a loop of l from element `first` of the axis on: where loads begin that run along,
 * 64 bits wide, lest the compiler see a gather in what it loads under a condition. Until load_at is
 * NULL again. */
void put_c_run_loads(struct emitter *w, const struct c_runs *r, const bool *needed,
                     const char *first);
/* The same of the kernel's stores and store_at. */
void put_c_run_stores(struct emitter *w, const struct c_runs *r, const char *first);

#endif
