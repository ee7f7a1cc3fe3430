/* cuda_ahead.c: blocks that ask L2 for what one reads that begins later: about when the block itself
 * ends. A block that keeps its rows loads, reduces and stores, one after the other, and few of them
 * fit a multiprocessor; so memory has something to read while they are at the rest.
 *
 *     const k_idx later = px + 330;
 *     if (tr == 0 && later * 1 < nx) {
 *         const k_idx px = later;
 *         const k_idx x = k_clamp(px * 1 + tx, nx - 1), r = base;
 *         k_prefetch_within(p0 + (4096*x + r), r_end - r);
 *     } */
#include "emit/cuda_rows.h"

/* Is it asked for: what lies along rows, or along x where threads do? */
bool asks_ahead(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    enum axis inner = w->y->rows_inner ? AXIS_X : AXIS_R;
    ex step, rest;
    return w->k->limits->tma && x->kind == INST_LOAD && !x->n_args && x->mask >> inner & 1 &&
           ex_linear(w->k->ex, x->index, w->k->axis[inner], &step, &rest) &&
           step == ex_const(w->k->ex, 1);
}

/* Somewhat more than there are at a time, as others have begun; what they read stays in half of L2
 * until then. */
int64_t blocks_ahead(struct emitter *w, const struct phase *f) {
    const struct device_limits *d = w->k->limits;
    int64_t bytes = 0, blocks = (int64_t)kernel_blocks_resident(w->k, w->y) * d->units * 5 / 4;
    for (uint32_t i = 0; i < f->loads.n; i++)
        if (asks_ahead(w, f->loads.at[i]))
            bytes += (int64_t)w->y->bx * w->y->br *
                     dtype_bytes(buffer_dtype(w, w->k->values.at[f->loads.at[i]].buffer));
    if (!bytes) return 0;
    return blocks < d->l2_bytes / 2 / bytes ? blocks : d->l2_bytes / 2 / bytes;
}

/* Down columns a thread asks for a row of the tile, each of its steps; along rows for a row. */
static void open_later(struct emitter *w) {
    const struct layout *y = w->y;
    if (y->rows_inner) {
        line(w, "const k_idx x = px * %d;", y->bx);
        open_unrolled(w, "u", y->ur);
        line(w, "const k_idx r = base + u * %d + tr;", y->t1);
        line(w, "if (r >= r_end) continue;");
        return;
    }
    open_unrolled(w, "e", y->ex);
    line(w, "const k_idx x = k_clamp(px * %d + e * %d + tx, nx - 1), r = %s;", y->bx, y->t0,
         y->one_read ? "base" : "r_begin");
}

void put_ahead(struct emitter *w) {
    const struct layout *y = w->y;
    const struct phase *f = &w->p->phases.at[0];
    int64_t ahead = y->ahead ? blocks_ahead(w, f) : 0;
    if (!ahead) return;
    line(w, "const k_idx later = px + %lld;", (long long)(ahead / y->cluster));
    open_brace(w, arena_printf(w->arena, "if (%s == 0 && later * %d < nx)",
                               y->rows_inner ? "tx" : "tr", y->bx));
    line(w, "const k_idx px = later;");
    open_later(w);
    for (uint32_t i = 0; i < f->loads.n; i++) {
        const struct value_node *v = &w->k->values.at[f->loads.at[i]];
        if (!asks_ahead(w, f->loads.at[i])) continue;
        const char *n = y->rows_inner ? arena_printf(w->arena, "k_clamp(nx - x, (k_idx)%d)", y->bx)
                                      : "r_end - r";
        line(w, "k_prefetch_within(p%d + (%s), %s);", argument_of(w, v->buffer),
             ex_text(w, v->index), n);
    }
    close_brace(w);
    close_brace(w);
}
