/* c_matmul.h: what c_matmul.c and c_flat.c share. Private to emit/. */
#ifndef WS_EMIT_C_MATMUL_H
#define WS_EMIT_C_MATMUL_H

#include "emit/c_rows.h"

/* What lies between rows as long as powers of two, lest caches have the same place for all. */
enum { GAP = 16 };

/* What the text is of: t is the type of panels and sums, of which a vector has `lanes`; integers
 * are unsigned, which wrap. */
struct panels {
    struct emitter *w;
    const char *t;
    int m, n, tm, tn, depth, lanes;
    const struct flat_tile
        *flat;             /* b is no panel but an image, vectors go along m; NULL: along n */
    bool a_along, b_along; /* the factors run along the depth */
    bool turns;            /* b, of flat ones a, is turned by the prelude */
    bool once;             /* the whole depth is packed at once: a sum is of one block */
    struct c_runs runs;    /* of columns, as b is packed */
    struct c_folds sums;
};

/* The panel `to`, [depth][width], of a factor along m or n: `wide` from `at` on. along: memory runs
 * along the depth; such rows are turned, if any are, by squares of vectors out of `turned`. */
void put_panel(struct panels *q, value_id factor, const char *axis, int width, bool along);

/* The function that makes a block's sums. is_begun: may there be something in its cells that is to
 * be added to? Then it is told. */
void put_block(struct panels *q);
bool is_begun(const struct panels *q);

/* What results of row m stand on that is the same for all columns. A result of it, of the column in
 * scope, in which `sum` is what the factors come to, is stored
 * where the condition holds: "" or "if (...) ". */
void put_uniform_values(struct panels *q);
void put_result(struct panels *q, const char *sum, const char *condition);

/* c_flat.c: how many tiles there are, and which of the depth is where; a task: a tile. */
void put_flat_tiles(struct panels *q);
void put_flat_task(struct panels *q);

#endif
