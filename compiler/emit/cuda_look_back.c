/* cuda_look_back.c: scans whose rows are spread over blocks, a tile each. A block scans its tile,
 * leaves the tile's total in the workspace, and adds up what the tiles before it have left: the
 * tiles of its own group of 32, and all groups before that.
 *
 *     const unsigned turn = k_take_turn(tickets, gridDim.x), tile = turn % tiles;
 *     k_scan_row<k_sum, 256, 4>(t, c1[e], ...);
 *     c1[e] = k_look_back<k_sum, 256, 8, 32, 0>(c1[e], ...);
 *     const unsigned arrived = k_arrive_look_back(tickets, gridDim.x);
 *     ...
 *     k_end_look_back<256>(arrived, tickets, gridDim.x, 1056);
 *
 * Where threads lie along x, a tile has some columns of as many rows, k_look_back_columns has the
 * totals of a thread's vector, and blocks go along x first, as memory does.
 *
 * Blocks take their tiles in the order in which they begin, so that each waits only for blocks that
 * run or have run. Nobody waits for what another has added up but for whole groups, and the order
 * of all additions is fixed: the same bits in every run.
 *
 * The counters: whose turn it is, how many need no totals of others any more, and for each scan and
 * tile of rows a flag for each tile and then for each group; where threads lie along rows, for each
 * row a word that has the total beside the flag. The last block to need none lowers the flags. */
#include "emit/cuda_rows.h"

static int count_scans(const struct emitter *w) { return (int)w->p->phases.at[0].reduce.n; }

/* May a block ask L2 for its part of a row before it knows which one that is? It is the block's own
 * number, or nearly so, that says: whoever takes up the tile finds it there. */
static bool is_asked_for(struct emitter *w, value_id v) {
    enum { LEAST = 16 }; /* bytes */
    const struct value_node *x = &w->k->values.at[v];
    ex step, rest;
    return w->k->limits->tma && !w->y->rows_inner && !x->n_args && x->mask & MASK_R &&
           layout_load_is_vector(w->k, w->y, x) &&
           w->y->vec * dtype_bytes(buffer_dtype(w, x->buffer)) == LEAST &&
           ex_linear(w->k->ex, x->index, w->k->axis[AXIS_R], &step, &rest) &&
           step == ex_const(w->k->ex, 1);
}

static void put_prefetch(struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    const struct layout *y = w->y;
    bool any = false;
    for (uint32_t i = 0; i < f->loads.n; i++) any |= is_asked_for(w, f->loads.at[i]);
    if (!any) return;
    open_brace(w, "if (tr == 0)");
    line(w, "const k_idx x = k_clamp((k_idx)(blockIdx.x / tiles) * %d + tx, nx - 1);", y->bx);
    line(w, "const k_idx r = (k_idx)(blockIdx.x %% tiles) * %d;", y->br);
    line(w, "(void)x;");
    for (uint32_t i = 0; i < f->loads.n; i++) {
        const struct value_node *v = &w->k->values.at[f->loads.at[i]];
        if (is_asked_for(w, f->loads.at[i]))
            line(w, "k_prefetch(p%d + (%s), k_clamp(nr - r, (k_idx)%d));",
                 argument_of(w, v->buffer), ex_text(w, v->index), y->br);
    }
    close_brace(w);
}

void put_look_back_position(struct emitter *w) {
    const struct layout *y = w->y;
    line(w, "const unsigned tiles = (unsigned)((nr + %d) / %d), slots = tiles + tiles / %d;",
         y->br - 1, y->br, LOOK_BACK_GROUP);
    put_prefetch(w);
    line(w, "const unsigned turn = k_take_turn(tickets, gridDim.x), strips = gridDim.x / tiles;");
    if (y->rows_inner)
        line(w, "const unsigned tile = turn / strips, strip = turn %% strips;");
    else
        line(w, "const unsigned tile = turn %% tiles, strip = turn / tiles;");
    line(w, "const k_idx px = (k_idx)strip, base = (k_idx)tile * %d, r_end = nr;", y->br);
}

void put_look_back_parameters(struct emitter *w, struct ws_launch *l) {
    const struct phase *f = &w->p->phases.at[0];
    int64_t offset = 0;
    for (uint32_t i = 0; i < f->reduce.n && !w->y->circle; i++) {
        buf_printf(&w->b, ", %s *part%u", accumulator_type(w, f->reduce.at[i]), f->reduce.at[i]);
        offset = add_partial(w, l, f->reduce.at[i], offset);
    }
    add_tickets(w, l);
}

/* Where the totals of the thread's first row are, and the flags: of a row each, with a total that
 * fits beside it, where threads lie along rows, else of all of the block's. */
static const char *part_text(struct emitter *w, value_id v) {
    int vec = w->y->rows_inner ? w->y->vec : 1;
    return arena_printf(w->arena, "part%u + (long long)px * slots * %d + tx%s", v, w->y->bx,
                        vec > 1 ? arena_printf(w->arena, " * %d", vec) : "");
}

static const char *flags_text(struct emitter *w, value_id v) {
    const struct phase *f = &w->p->phases.at[0];
    int scan = 0;
    while (f->reduce.at[scan] != v) scan++;
    if (w->y->rows_inner)
        return arena_printf(w->arena, "tickets + 2 + (%d * strips + strip) * slots", scan);
    return arena_printf(w->arena,
                        "(unsigned long long *)(tickets + 2) + (long long)(%d * strips + strip) * "
                        "slots * %d + tx",
                        scan, w->y->bx);
}

/* Between a tile's scan and its use: what row e has before the tile, in c7[e]. */
void put_look_back(struct emitter *w, value_id v, int *smem) {
    const struct layout *y = w->y;
    const struct value_node *x = &w->k->values.at[v];
    const char *t = accumulator_type(w, v);
    int slots = layout_row_slots(w->k, y);
    const char *part = part_text(w, v), *flags = flags_text(w, v);
    line(w,
         "c%u[e] = k_look_back<%s, %d, %d, %d, %d>(c%u[e], (%s)%s, %s, %s, %d, tile, tiles, (%s "
         "*)(k_smem + %d));",
         v, reduction_operator(x->reduction), y->t1, slots, LOOK_BACK_GROUP,
         layout_look_back_levels(w->k, y), v, t, identity_text(w, v), part, flags, y->bx, t, *smem);
    *smem = (*smem + 2 * slots * reduction_bytes(w->k, v) + 15) / 16 * 16;
}

/* The same of the thread's vector of rows, in c7[e][v]. */
void put_look_back_columns(struct emitter *w, value_id v, int smem) {
    const struct layout *y = w->y;
    const char *t = accumulator_type(w, v);
    line(w,
         "k_look_back_columns<%s, %d, %d, %d, %d, %d>(c%u[e], (%s)%s, %s, %d, %s, tile, tiles, (%s "
         "*)(k_smem + %d));",
         reduction_operator(w->k->values.at[v].reduction), y->t0, y->t1, y->vec, LOOK_BACK_GROUP,
         layout_look_back_levels(w->k, y), v, t, identity_text(w, v), part_text(w, v), y->bx,
         flags_text(w, v), t, smem);
}

/* Before the tile is stored, so that a release does not wait for these stores. */
void arrive_look_back(struct emitter *w) {
    line(w, "const unsigned arrived = k_arrive_look_back(tickets, gridDim.x);");
}

void end_look_back(struct emitter *w) {
    int words = (int)layout_flag_bytes(w->y) / 4;
    line(w, "k_end_look_back<%d>(arrived, tickets, gridDim.x, %d * strips * slots);", w->y->threads,
         count_scans(w) * words);
}
