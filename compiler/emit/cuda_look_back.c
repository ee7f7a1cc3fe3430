/* cuda_look_back.c: scans whose rows are spread over blocks, a tile each. A block scans its tile,
 * leaves the tile's total in the workspace, and adds up what the tiles before it have left: all
 * groups of 32 tiles that are whole, and the tiles of its own group.
 *
 *     const unsigned turn = k_take_turn(tickets, gridDim.x), tile = turn % tiles;
 *     k_scan_row<k_sum, 256, 4>(t, c1[e], ...);
 *     c1[e] = k_look_back<k_sum, 256, 8, 32>(c1[e], ...);
 *     ...
 *     k_end_look_back<256>(tickets, gridDim.x, 1056);
 *
 * Blocks take their tiles in the order in which they begin, so that each waits only for blocks that
 * run or have run. Nobody waits for what another has added up but for whole groups, and the order
 * of all additions is fixed: the same bits in every run.
 *
 * The counters: whose turn it is, who has ended, and for each scan and tile of rows a flag for each
 * tile and then for each group. The block that ends last lowers the flags. */
#include "emit/cuda_rows.h"

static int count_scans(const struct emitter *w) { return (int)w->p->phases.at[0].reduce.n; }

void put_look_back_position(struct emitter *w) {
    const struct layout *y = w->y;
    line(w, "const unsigned tiles = (unsigned)((nr + %d) / %d), slots = tiles + tiles / %d;",
         y->br - 1, y->br, LOOK_BACK_GROUP);
    line(w, "const unsigned turn = k_take_turn(tickets, gridDim.x), tile = turn %% tiles;");
    line(w, "const k_idx px = (k_idx)(turn / tiles), base = (k_idx)tile * %d, r_end = nr;", y->br);
}

void put_look_back_parameters(struct emitter *w, struct ws_launch *l) {
    const struct phase *f = &w->p->phases.at[0];
    int64_t offset = 0;
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        buf_printf(&w->b, ", %s *part%u", accumulator_type(w, f->reduce.at[i]), f->reduce.at[i]);
        offset = add_partial(w, l, f->reduce.at[i], offset);
    }
    add_tickets(w, l);
}

/* Between a tile's scan and its use: what row e has before the tile, in c7[e]. */
void put_look_back(struct emitter *w, value_id v, int *smem) {
    const struct layout *y = w->y;
    const struct phase *f = &w->p->phases.at[0];
    const struct value_node *x = &w->k->values.at[v];
    const char *t = accumulator_type(w, v);
    int slots = y->t1 > 32 ? y->threads / 32 : 0, scan = 0;
    while (f->reduce.at[scan] != v) scan++;
    const char *part = arena_printf(w->arena, "part%u + (long long)px * slots * %d + tx", v, y->bx);
    const char *flags = arena_printf(
        w->arena, "tickets + 2 + (%d * (gridDim.x / tiles) + (unsigned)px) * slots", scan);
    line(w,
         "c%u[e] = k_look_back<%s, %d, %d, %d>(c%u[e], (%s)%s, %s, %d, %s, tile, tiles, (%s "
         "*)(k_smem + %d));",
         v, reduction_operator(x->reduction), y->t1, slots, LOOK_BACK_GROUP, v, t,
         identity_text(w, v), part, y->bx, flags, t, *smem);
    *smem = (*smem + 2 * slots * reduction_bytes(w->k, v) + 15) / 16 * 16;
}

void end_look_back(struct emitter *w) {
    line(w, "k_end_look_back<%d>(tickets, gridDim.x, %d * (gridDim.x / tiles) * slots);",
         w->y->threads, count_scans(w));
}
