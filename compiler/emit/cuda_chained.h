/* cuda_chained.h: what the files of chained products know of a thread's state: sums of the second
 * products, out[] and more_out[], and what its rows have come to, a7[f][h], for each two rows h of
 * its sixteens f. */
#ifndef WS_EMIT_CUDA_CHAINED_H
#define WS_EMIT_CUDA_CHAINED_H

#include "emit/cuda_mma.h"

enum { OCTET = 8, PAIR = 2, SIXTEEN = 16 };

static inline const struct chained *chained(const struct emitter *w) { return w->y->chained; }

/* Of a warp's rows, by sixteens; by octets, of a tile's columns, and of a second product's. */
int chained_sixteens(const struct emitter *w);
int chained_octets(const struct emitter *w);
int chained_column_octets(const struct emitter *w);
void open_chained_loop(struct emitter *w, const char *i, int n); /* unrolled: i from 0 below n */

/* The factors of a ring, and its i-th. */
int chained_factors(const struct emitter *w, int ring);
const struct factor *chained_factor(const struct emitter *w, int ring, int i);
/* The tile of a step; of the one at hand the list is read as it begins. */
const char *chained_tile_of_step(struct emitter *w, const char *step, bool ahead);

/* What the i-th first product has summed up of the tile at hand, in whose place terms of the second
 * one are made; these as a left factor; what that sums up; and tiles of what is between. */
const char *chained_sums_of(int i);
const char *chained_terms_of(int i);
const char *chained_out_of(int i);
int chained_tiles_between(const struct emitter *w);

/* cuda_chained_groups.c: by warpgroups. Roles; boxes of a ring, and of the step before; waits, and
 * turns; the products of a step, of which the second one may read the stage of the step before. */
void put_chained_role(struct emitter *w, bool copies);
void end_chained_role(struct emitter *w, bool copies);
char chained_factor_name(const struct emitter *w, const struct factor *f);
struct ws_arg chained_map_of(struct emitter *w, const struct factor *f);
void put_chained_boxes(struct emitter *w, int ring);
void put_chained_boxes_before(struct emitter *w);
void put_chained_barriers(struct emitter *w);
void put_chained_wait_empty(struct emitter *w, bool in_loop);
void put_chained_pass_turn(struct emitter *w);
void put_chained_wait_rows(struct emitter *w, long long tiles);
void put_chained_next_tile(struct emitter *w, long long tiles);
void put_chained_take_tile(struct emitter *w);
void put_chained_free_rows(struct emitter *w);
void put_chained_before(struct emitter *w);
bool chained_reads_before(const struct emitter *w);
/* Of products one by one (struct block): does a step arrive for the stage of the one before? And
 * has it registers for sums and terms of its own, as those of the one before are used up? */
bool chained_arrives_behind(const struct emitter *w);
bool chained_has_step_registers(const struct emitter *w);
/* n is an instruction's: 0, all; of first products the n-th; of second ones 1, the early one, or 2,
 * those but that. */
bool chained_is_second(const struct emitter *w, int n, int product);
void hold_chained_sums(struct emitter *w, int n);
void hold_chained_out(struct emitter *w, int n);
void put_chained_dot(struct emitter *w, int n);
void put_chained_second_dot(struct emitter *w, const char *s, int n);

/* cuda_chained_own.c: what rows and columns have of their own; rows f, h of a warp, with theirs. */
void open_chained_rows(struct emitter *w, const struct phase *f);
void close_chained_rows(struct emitter *w);
void put_chained_own_of_rows(struct emitter *w);
void put_chained_first_columns(struct emitter *w);
void put_chained_own_of_columns(struct emitter *w);
int chained_own_of(const struct emitter *w, enum axis axis, struct own *own);
void leave_out_chained_own(struct emitter *w, const struct phase *f, enum axis axis);
void put_chained_exponential(struct emitter *w, value_id v, const char *scale, const char *l);

/* cuda_chained_between.c: is it a reduction of what is between the products; is it of a row alone;
 * nothing is there yet; sums and terms; and the second product's sums on another maximum. */
bool chained_is_between(const struct emitter *w, value_id v);
bool chained_of_row(const struct emitter *w, value_id v);
const char *chained_reduce_lanes(struct emitter *w, value_id v, const char *of);
void put_chained_nowhere(struct emitter *w, const struct phase *f);
void put_chained_sums(struct emitter *w);
void put_chained_begin(struct emitter *w);
void put_chained_relate(struct emitter *w, int n);
void put_chained_terms(struct emitter *w, int n);
void put_chained_rescaled(struct emitter *w);

/* Declares part_end and part_from, between which steps are of whole tiles, and step. */
void put_chained_sections(struct emitter *w);

/* cuda_chained_turned.c: the launch before chained products that writes the image of a factor. */
void emit_cuda_turned(struct emitter *w, const struct factor *f);

/* cuda_chained_results.c: what is behind both. */
void put_chained_results(struct emitter *w);

/* cuda_chained_parts.c: blocks that share the columns of what is between. */
void put_chained_parts_parameters(struct emitter *w, struct ws_launch *l);
void put_chained_leave(struct emitter *w);
void put_chained_last(struct emitter *w);
void put_chained_join(struct emitter *w);

/* Columns of what is between that count for the rows from m0 on, by edges: `from` and `end`. */
void put_chained_columns(struct emitter *w);

/* cuda_lists.c: the launch before chained products that skip, which lists tiles that count; the
 * number of the list of batch z and the rows from m0 on; and where all lists are. */
void emit_cuda_lists(struct emitter *w);
const char *chained_list_text(struct emitter *w);
void put_lists_parameter(struct emitter *w, struct ws_launch *l);

#endif
