/* c_rows.h: what c_rows.c and c_vector.c share. Private to emit/. */
#ifndef WS_EMIT_C_ROWS_H
#define WS_EMIT_C_ROWS_H

#include "emit/impl.h"

/* Lanes of a vector of floats on any machine (prelude_vector.h): so many are whole vectors. */
enum { WIDEST = 16 };

/* c_rows.c: the values as a4; if threads lie along x, of a tile's rows. */
void put_c_row_values(struct emitter *w, const value_id *list, uint32_t n);
/* Value v of phase `index` is expensive, and kept for a later phase; or it is there already. */
bool worth_keeping(struct emitter *w, uint32_t index, value_id v);
bool computed_before(struct emitter *w, uint32_t index, value_id v);

/* c_vector.c: can all of the phase be said in vectors of floats? If so, its loop over the columns,
 * after which its reductions are floats a4. */
bool phase_is_vector(struct emitter *w, uint32_t index);
void put_vector_phase(struct emitter *w, uint32_t index);
/* The same of a scan's two. */
bool scan_is_vector(struct emitter *w);
void put_vector_scan(struct emitter *w);
/* Pointwise: a task's tiles of operands that lie across. */
void put_turned(struct emitter *w);

#endif
