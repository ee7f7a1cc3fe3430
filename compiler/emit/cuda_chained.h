/* cuda_chained.h: what the files of chained products know of a thread's state: sums of the second
 * products, out[] and more_out[], and what its rows have come to, a7[f][h], for each two rows h of
 * its sixteens f. */
#ifndef WS_EMIT_CUDA_CHAINED_H
#define WS_EMIT_CUDA_CHAINED_H

#include "emit/cuda_mma.h"

/* Of the block's rows, by sixteens, and of a second product's columns, by octets. */
int chained_sixteens(const struct emitter *w);
int chained_column_octets(const struct emitter *w);
/* What the i-th second product sums up. */
const char *chained_out_of(int i);
/* Is it a reduction of what is between the products? */
bool chained_is_between(const struct emitter *w, value_id v);

/* cuda_chained_parts.c: blocks that share the columns of what is between. */
void put_chained_parts_parameters(struct emitter *w, struct ws_launch *l);
void put_chained_leave(struct emitter *w);
void put_chained_last(struct emitter *w);

/* Columns of what is between that count for the rows from m0 on, by edges: `from` and `end`. */
void put_chained_columns(struct emitter *w);

/* cuda_lists.c: the launch before chained products that skip, which lists tiles that count; the
 * number of the list of batch z and the rows from m0 on; and where all lists are. */
void emit_cuda_lists(struct emitter *w);
const char *chained_list_text(struct emitter *w);
void put_lists_parameter(struct emitter *w, struct ws_launch *l);

#endif
