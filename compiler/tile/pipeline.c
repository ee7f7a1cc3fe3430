/* pipeline.c: copies run ahead of products: two roles, and what each waits for.
 *
 *     draw                  role 128                role 256
 *         fill                  draw                    draw
 *         loop                      loop                    fill
 *             copy A                    wait empty          loop
 *             copy B                    copy A                  wait full
 *             dot                       copy B                  dot
 *         end                           next                    drain 1
 *         store                     end                         arrive 1
 *     end                       end                             next
 *                           end                             end
 *                                                           drain 0
 *                                                           arrive 1
 *                                                           store
 *                                                       end
 *                                                   end
 *
 * A step's products are under way while the next one's begin, so that a stage is free a step later;
 * not where the sums are read in every step, or registers are written that a factor is read from.
 *
 * Warpgroups with a tile each, in turn, two to four, have the ring's stages tile by tile
 * (ping-pong): one begins its products when the one's before have all begun, and is at its epilogue
 * meanwhile.
 *
 *     role 256
 *         draw
 *             skip 2
 *             turn 2
 *                 fill
 *                 wait turn
 *                 loop
 *                     ...
 *                 end
 *                 pass turn
 *                 drain 0
 *                 arrive 1
 *                 store
 *             end
 *         end
 *     end
 *
 * Where warps multiply by themselves there is one role, of all. At the head of a step its tiles are
 * there, and all have read those of the step before, whose stage is filled again:
 *
 *     draw
 *         fill
 *         ahead 3
 *             copy A
 *             copy B
 *             group
 *         end
 *         loop
 *             landed 2
 *             copy A 3
 *             copy B 3
 *             group
 *             dot
 *             next
 *         end
 *         landed 0
 *         store
 *     end */
#include "tile/tile.h"

static bool copies(enum tile_op op) { return op == TILE_COPY || op == TILE_MAKE; }
static bool is_region(enum tile_op op) {
    return op == TILE_DRAW || op == TILE_LOOP || op == TILE_END;
}

static void put(struct tile_program *t, enum tile_op op, int ring, int n) {
    vec_push(t->arena, &t->code, ((struct tile_inst){op, ring, n}));
}

/* Before a step's copies, and behind them. */
static void begin_step(struct tile_program *t) {
    const struct tile_ring *made = tile_made(t);
    if (t->product->makers > 1) put(t, TILE_TURN, 0, t->product->makers);
    if (made) put(t, TILE_TAKE, (int)(made - t->ring), 0);
    put(t, TILE_WAIT_EMPTY, 0, 0);
}

static void end_step(struct tile_program *t) {
    if (tile_made(t)) put(t, TILE_GIVE, 0, 0);
    if (t->product->makers > 1) put(t, TILE_END, 0, 0);
    put(t, TILE_NEXT, 0, 0);
}

static void put_copiers(struct tile_program *t, const struct tile_inst *code, uint32_t n) {
    bool waited = false, in_loop = false;
    put(t, TILE_ROLE, 0, t->copiers);
    for (uint32_t i = 0; i < n; i++) {
        const struct tile_inst *x = &code[i];
        if (!copies(x->op) && !is_region(x->op)) continue;
        if (copies(x->op) && !waited) begin_step(t);
        waited |= copies(x->op);
        if (x->op == TILE_END && in_loop) end_step(t);
        in_loop = x->op == TILE_LOOP || (in_loop && x->op != TILE_END);
        vec_push(t->arena, &t->code, *x);
    }
    put(t, TILE_END, 0, 0);
}

/* Behind the instruction: its sums or registers are needed, or only its tiles are no more. Crossed
 * products of pairs go on while the sums of the others are added. */
static void put_after_dot(struct tile_program *t, bool drains) {
    bool pairs = t->product->pairs;
    put(t, pairs ? TILE_DRAIN_SUMS : TILE_DRAIN, 0, pairs || drains ? 0 : 1);
    put(t, TILE_ARRIVE, 0, drains ? 0 : 1);
}

static void put_multipliers(struct tile_program *t, const struct tile_inst *code, uint32_t n) {
    bool pairs = t->product->pairs, in_loop = false;
    bool drains = (t->product->promotes && !pairs) || t->product->a.in_registers;
    int in_turn = t->product->in_turn;
    put(t, TILE_ROLE, 0, t->threads - t->copiers);
    for (uint32_t i = 0; i < n; i++) {
        const struct tile_inst *x = &code[i];
        if (copies(x->op)) continue;
        if (in_turn > 1 && x->op == TILE_LOOP) put(t, TILE_WAIT_TURN, 0, 0);
        if (in_turn > 1 && x->op == TILE_END && !in_loop) put(t, TILE_END, 0, 0); /* the draw's */
        if (x->op == (t->product->splits ? TILE_SPLIT : TILE_DOT)) put(t, TILE_WAIT_FULL, 0, 0);
        if (x->op == TILE_CROSS || (x->op == TILE_END && in_loop && !pairs))
            put(t, TILE_NEXT, 0, 0);
        vec_push(t->arena, &t->code, *x);
        if (in_turn > 1 && x->op == TILE_DRAW) {
            put(t, TILE_SKIP, 0, in_turn);
            put(t, TILE_TURN, 0, in_turn);
        }
        if (in_turn > 1 && x->op == TILE_END && in_loop) put(t, TILE_PASS_TURN, 0, 0);
        if (x->op == TILE_DOT) put_after_dot(t, drains);
        if (x->op == TILE_END && in_loop && !drains) {
            if (!pairs) put(t, TILE_DRAIN, 0, 0); /* the last CROSS has */
            put(t, TILE_ARRIVE, 0, 1);
        }
        in_loop = x->op == TILE_LOOP || (in_loop && x->op != TILE_END);
    }
    put(t, TILE_END, 0, 0);
}

/* A region is the step's where sums are read in each, else the tile's. */
static void put_issuers(struct tile_program *t, const struct tile_inst *code, uint32_t n) {
    bool in_loop = false, pairs = t->product->pairs;
    put(t, TILE_ROLE, 0, t->issuers);
    for (uint32_t i = 0; i < n; i++) {
        const struct tile_inst *x = &code[i];
        if (!is_region(x->op) && x->op != TILE_FILL && x->op != TILE_DOT) continue;
        if (x->op == TILE_FILL) put(t, TILE_WAIT_READ, 0, 0);
        if (x->op == TILE_DOT && pairs) put(t, TILE_WAIT_CROSSED, 0, CROSS_STEPS);
        if (x->op == TILE_DOT) put(t, TILE_WAIT_FULL, 0, 0);
        if (x->op == TILE_END && in_loop) put(t, TILE_NEXT, 0, 0);
        vec_push(t->arena, &t->code, *x);
        if (x->op == TILE_DOT) put(t, TILE_RELEASE, 0, 0);
        if (x->op == TILE_DOT && pairs) put(t, TILE_OFFER_CROSSED, 0, CROSS_STEPS);
        if (t->product->promotes ? x->op == TILE_DOT : x->op == TILE_END && in_loop)
            put(t, TILE_OFFER, 0, 0);
        in_loop = x->op == TILE_LOOP || (in_loop && x->op != TILE_END);
    }
    put(t, TILE_END, 0, 0);
}

static void put_readers(struct tile_program *t, const struct tile_inst *code, uint32_t n) {
    bool promotes = t->product->promotes, in_loop = false;
    put(t, TILE_ROLE, 0, t->threads - t->copiers - t->issuers);
    for (uint32_t i = 0; i < n; i++) {
        const struct tile_inst *x = &code[i];
        bool ends = x->op == TILE_END && in_loop;
        in_loop = x->op == TILE_LOOP || (in_loop && x->op != TILE_END);
        if (promotes ? x->op == TILE_DOT : ends) put(t, TILE_READ, 0, 0);
        if (copies(x->op) || x->op == TILE_FILL || x->op == TILE_DOT) continue;
        if (!promotes && (ends || in_loop)) continue; /* nothing is done in a step */
        vec_push(t->arena, &t->code, *x);
    }
    put(t, TILE_END, 0, 0);
}

static void put_copies(struct tile_program *t, int ahead) {
    put(t, TILE_COPY, TILE_A, ahead);
    put(t, TILE_COPY, TILE_B, ahead);
    put(t, TILE_GROUP, 0, 0);
}

static void put_warps(struct tile_program *t, const struct tile_inst *code, uint32_t n) {
    bool in_loop = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct tile_inst *x = &code[i];
        if (copies(x->op)) continue;
        if (x->op == TILE_LOOP) {
            put(t, TILE_AHEAD, 0, t->ahead);
            put_copies(t, 0);
            put(t, TILE_END, 0, 0);
        }
        if (x->op == TILE_END && in_loop) put(t, TILE_NEXT, 0, 0);
        vec_push(t->arena, &t->code, *x);
        if (x->op == TILE_LOOP) {
            put(t, TILE_LANDED, 0, t->ahead - 1);
            put_copies(t, t->ahead);
        }
        if (x->op == TILE_END && in_loop) put(t, TILE_LANDED, 0, 0);
        in_loop = x->op == TILE_LOOP || (in_loop && x->op != TILE_END);
    }
}

void tile_pipeline(struct tile_program *t) {
    enum { WARPGROUP = 128 };
    struct tile_inst *code = t->code.at;
    uint32_t n = t->code.n;
    WS_ASSERT(!t->copiers && !t->ahead);
    memset(&t->code, 0, sizeof t->code);
    if (t->product->by_warp) {
        t->ahead = t->ring[TILE_A].stages - 1;
        put_warps(t, code, n);
        return;
    }
    t->copiers = WARPGROUP * (t->product->makers ? t->product->makers : 1);
    if (t->product->tensor) { /* a warp copies; one of the others of its warpgroup issues */
        if (!t->product->makers) t->copiers = t->block->kernel->limits->warp;
        t->issuers = t->product->makers ? WARPGROUP : WARPGROUP - t->copiers;
        put_copiers(t, code, n);
        put_issuers(t, code, n);
        put_readers(t, code, n);
        return;
    }
    put_copiers(t, code, n);
    put_multipliers(t, code, n);
}
