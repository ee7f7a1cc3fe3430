/* cuda_circle.c: scans whose rows are spread over blocks that stay on the device and go through all
 * tiles in rounds, every 396th each. What a block waits for is another's meanwhile: while it looks
 * at the totals that others have left since its last tile, and stores that one, its next tile is on
 * its way, and its own total of that is left as soon as it is there, a round before it is used.
 *
 *     for (unsigned round = 0, tile = blockIdx.x;; round++, tile += 396) {
 *         k_pack<k_f32, 4> n0[8];
 *         if (tile < all) { n0[u] = k_load<k_f32, 4>(p0 + ...); }               the next tile
 *         if (round) {                                                          the one at hand
 *             k_look_round<k_sum, 256, 396, 1>(c1[e], ...);
 *             a1[e][u][v] = k_after<k_sum>(c1[e], a1[e][u][v]);
 *             k_store<k_f32, 4, 0>(p1 + ...);
 *         }
 *         if (tile >= all) break;
 *         k_turn_over(q0, n0);                                                  now the next
 *         k_scan_row<k_sum, 256, 8>(t, total, ...);
 *         k_leave_round<256, 396, 1>(words + 0, round, total);
 *     }
 *
 * With stages=2 a tile that has been scanned waits in shared memory while the next is scanned, too,
 * so that its totals and those of others have had a whole round to come; with more stages, tiles to
 * come are copied to shared memory (cuda_copy.c), all but one of so many at a time.
 *
 * A block adds up the totals of one round, from its last tile to this one, to what it had before
 * that: nobody adds up what another has, and the order of all additions is fixed by the number of
 * blocks: the same bits in every run. */
#include "emit/cuda_rows.h"

static const struct phase *scans(const struct emitter *w) { return &w->p->phases.at[0]; }

/* Values without r: those that differ by rows are made anew for each tile. */
static void put_before(struct emitter *w, bool of_rows) {
    VEC(value_id) some = {0};
    for (uint32_t i = 0; i < w->p->before.n; i++)
        if (is_row_value(w, w->p->before.at[i]) == of_rows)
            vec_push(w->arena, &some, w->p->before.at[i]);
    put_row_values(w, some.at, some.n);
}

/* Where tile `tile` is, in the scope at hand. */
static void put_position(struct emitter *w, const char *tile) {
    const struct layout *y = w->y;
    line(w, "const unsigned strip = %s / tiles, of = %s %% tiles;", tile, tile);
    line(w, "const k_idx px = (k_idx)strip, base = (k_idx)of * %d;", y->br);
    line(w, "(void)px; (void)base;");
    put_before(w, true);
}

/* Registers of a tile's: what is loaded, and what is scanned. */
static void declare_tile(struct emitter *w) {
    const struct phase *f = scans(w);
    const struct layout *y = w->y;
    declare_packs(w, f);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        line(w, "%s a%u[%d][%d][%d];", accumulator_type(w, v), v, y->ex, y->ur, y->vec);
    }
}

/* What comes to registers while the tile before it is at hand: what is not copied further ahead. */
static struct phase next_loads(struct emitter *w) {
    struct phase some = {0};
    for (uint32_t i = 0; i < scans(w)->loads.n; i++)
        if (!layout_copies(w->k, w->y, scans(w)->loads.at[i]))
            vec_push(w->arena, &some.loads, scans(w)->loads.at[i]);
    return some;
}

static void put_next_loads(struct emitter *w) {
    const struct phase loads = next_loads(w);
    if (!loads.loads.n) return;
    w->next = true;
    declare_packs(w, &loads);
    open_brace(w, "if (tile < all)");
    put_position(w, "tile");
    put_loads(w, &loads);
    close_brace(w);
    w->next = false;
}

/* Start the copies of tile `tile`, if it is one. */
static void put_copies(struct emitter *w, const char *tile) {
    line(w, "const unsigned ahead = %s;", tile);
    open_brace(w, "if (ahead < all)");
    line(w, "const unsigned strip = ahead / tiles, of = ahead %% tiles;");
    line(w, "const k_idx px = (k_idx)strip, base = (k_idx)of * %d;", w->y->br);
    put_tile_copies(w);
    close_brace(w);
    line(w, "k_cp_async_commit();");
}

/* What has been copied of the tile that is now to be scanned, whose slot the copies of a later one
 * get. */
static void put_ring(struct emitter *w) {
    const struct layout *y = w->y;
    if (y->stages < 2) return;
    const struct phase copied = copied_loads(w, scans(w));
    line(w, "k_cp_async_wait<%d>();", y->stages - 2);
    put_copied(w, &copied);
    open_scope(w);
    put_copies(w, arena_printf(w->arena, "tile + %d", (y->stages - 1) * y->circle));
    close_brace(w);
    line(w, "slot = slot == %d ? 0 : slot + 1;", y->stages - 2);
}

static void open_ring(struct emitter *w) {
    const struct layout *y = w->y;
    if (y->stages < 2) return;
    open_brace(w, "for (int slot = 0; slot < %d; slot++)", y->stages - 1);
    put_copies(w, arena_printf(w->arena, "blockIdx.x + slot * %d", y->circle));
    close_brace(w);
    line(w, "int slot = 0;");
}

/* The words of scan number i begin here. */
static const char *words_text(struct emitter *w, uint32_t i) {
    int64_t at = 0;
    for (uint32_t j = 0; j < i; j++) at += layout_circle_words(w->k, w->y, scans(w)->reduce.at[j]);
    return arena_printf(w->arena, "words + %lld", (long long)at);
}

/* What waits of a tile goes to shared memory, or comes back. */
static void put_waiting(struct emitter *w, bool back) {
    const struct phase *f = scans(w);
    const struct layout *y = w->y;
    int at = y->held_from;
    for (uint32_t i = 0; i < f->reduce.n + f->loads.n; i++) {
        bool scan = i < f->reduce.n;
        value_id v = scan ? f->reduce.at[i] : f->loads.at[i - f->reduce.n];
        if (!scan && !layout_load_waits(w->k, v)) continue;
        if (back)
            line(w, "k_take_held<%d>(%s%u, k_smem + %d);", y->threads, scan ? "a" : "q", v, at);
        else
            line(w, "k_hold<%d>(k_smem + %d, %s%u);", y->threads, at, scan ? "a" : "q", v);
        at += (int)layout_waiting_bytes(w->k, y, v);
    }
    WS_ASSERT(at <= y->smem);
}

/* The tile at hand: what its row has before it, and all that stands on that. */
static void put_tile_at_hand(struct emitter *w, int smem) {
    const struct layout *y = w->y;
    const struct phase *f = scans(w);
    line(w, "const unsigned last = tile - %d;", (y->waits ? 2 : 1) * y->circle);
    put_position(w, "last");
    if (y->waits) {
        declare_tile(w);
        put_waiting(w, true);
    }
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *op = reduction_operator(w->k->values.at[v].reduction),
                   *type = accumulator_type(w, v);
        open_unrolled(w, "e", y->ex);
        line(w,
             "k_look_round<%s, %d, %d, %d>(c%u[e], (%s)%s, %s, round - %d, of, (%s *)(k_smem + "
             "%d));",
             op, y->t1, y->circle, y->bx, v, type, identity_text(w, v), words_text(w, i),
             y->waits ? 2 : 1, type, smem);
        open_unrolled(w, "u", y->ur);
        line(w, "#pragma unroll");
        line(w, "for (int v = 0; v < %d; v++) a%u[e][u][v] = k_after<%s>(c%u[e], a%u[e][u][v]);",
             y->vec, v, op, v, v);
        close_brace(w);
        close_brace(w);
        w->where[v] = ARRAY;
        smem = (smem + layout_row_slots(w->k, y) * reduction_bytes(w->k, v) + 15) / 16 * 16;
    }
    WS_ASSERT(smem <= y->smem);
    for (uint32_t i = 1; i < w->p->phases.n; i++) {
        declare_packs(w, &w->p->phases.at[i]);
        put_loads(w, &w->p->phases.at[i]);
        put_tile(w, &w->p->phases.at[i]);
    }
}

/* The next tile is at hand: its values, scanned; and its totals are left. Returns the bytes of
 * shared memory that takes. */
static int put_next_tile(struct emitter *w) {
    const struct layout *y = w->y;
    const struct phase *f = scans(w);
    int smem = 0;
    put_position(w, "tile");
    put_ring(w);
    const struct phase next = next_loads(w);
    for (uint32_t i = 0; i < next.loads.n; i++)
        line(w, "k_turn_over(q%u, n%u);", next.loads.at[i], next.loads.at[i]);
    declare_accumulators(w, f);
    put_tile(w, f);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        open_unrolled(w, "e", y->ex);
        const char *type = accumulator_type(w, v);
        line(w, "%s t[%d], total = %s;", type, y->ur, identity_text(w, v));
        put_tile_scan(w, v, "t", "total", &smem);
        line(w, "k_leave_round<%d, %d, %d>(%s, round, total);", y->t1, y->circle, y->bx,
             words_text(w, i));
        put_scanned(w, v, "t", NULL);
        close_brace(w);
    }
    return smem;
}

void put_circle(struct emitter *w) {
    const struct layout *y = w->y;
    int64_t words = 0;
    for (uint32_t i = 0; i < scans(w)->reduce.n; i++)
        words += layout_circle_words(w->k, y, scans(w)->reduce.at[i]);
    line(w,
         "const unsigned tiles = (unsigned)((nr + %d) / %d), all = (unsigned)((nx + %d) / %d) * "
         "tiles;",
         y->br - 1, y->br, y->bx - 1, y->bx);
    line(w, "unsigned long long *const words = (unsigned long long *)(tickets + 2);");
    put_before(w, false);
    declare_carries(w, scans(w));
    declare_tile(w);
    open_ring(w);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (unsigned round = 0, tile = blockIdx.x;; round++, tile += %d)", y->circle);
    put_next_loads(w);
    /* the text of the next tile says how much shared memory it takes, and comes last */
    struct buf text = w->b;
    w->b = buf_new(w->arena);
    open_scope(w);
    int smem = put_next_tile(w);
    close_brace(w);
    struct buf next = w->b;
    w->b = text;
    open_brace(w, y->waits ? "if (round > 1)" : "if (round)");
    put_tile_at_hand(w, smem);
    close_brace(w);
    if (y->waits) {
        open_brace(w, "if (round && tile - %d < all)", y->circle);
        put_waiting(w, false);
        close_brace(w);
        line(w, "if (tile >= all + %d) break;", y->circle);
        line(w, "if (tile < all)");
    } else {
        line(w, "if (tile >= all) break;");
    }
    buf_puts(&w->b, next.p);
    if (y->waits) line(w, "else __syncthreads(); /* as scanning does, between two looks */");
    close_brace(w);
    line(w, "const unsigned arrived = k_arrive_look_back(tickets, gridDim.x);");
    line(w, "k_end_look_back<%d>(arrived, tickets, gridDim.x, %lld);", y->threads,
         (long long)words * 2);
    close_brace(w);
}
