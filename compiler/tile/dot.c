/* dot.c: the schedule of matrix products.
 *
 *     v4 += dot(v1, v3) over r      draw
 *                                       fill
 *                                       loop
 *                                           copy A
 *                                           copy B
 *                                           dot
 *                                       end
 *                                       store
 *                                   end
 *
 * Behind it come the epilogue's reductions: see tile.h. Sums that are promoted begin anew in each
 * step, and are added to a total behind it; of planes made in registers DOT_ADD does all that. Of
 * pairs, the small products have sums of their own, which CROSS adds to the total now and then. */
#include "tile/tile.h"

static void put(struct tile_program *t, enum tile_op op, int ring, int n) {
    vec_push(t->arena, &t->code, ((struct tile_inst){op, ring, n}));
}

int ring_line_elements(const struct tile_ring *r) {
    return r->line / dtype_bytes(r->operand->stored) / (r->operand->paired ? r->planes : 1);
}
int ring_boxes(const struct tile_ring *r) {
    if (r->operand->lying) return operand_lines_of_taps(r->operand);
    return (r->operand->along ? r->rows : r->depth) / ring_line_elements(r);
}
int ring_box_lines(const struct tile_ring *r) {
    if (r->operand->lying) return r->rows;
    return r->operand->along ? r->depth : r->rows;
}
int ring_box_sharers(const struct tile_ring *r) {
    int boxes = ring_boxes(r);
    if (!r->operand->along || (boxes > r->blocks && boxes % r->blocks)) return r->blocks;
    return r->blocks > boxes ? r->blocks / boxes : 1;
}

struct tile_ring ring_of_planes(const struct tile_ring *r, struct arena *a) {
    struct tile_ring planes = *r;
    if (!r->operand->splits) return planes;
    struct operand *o = NEW(a, struct operand);
    *o = *r->operand;
    o->stored = o->dtype;
    planes.operand = o;
    planes.planes = o->planes;
    planes.bytes = r->bytes / o->planes;
    return planes;
}

bool tile_step_is_short(const struct tile_program *t, int64_t i) {
    const struct short_steps *s = &t->product->shorts;
    return s->every && i % s->every == s->at;
}

bool tile_has_both_steps(const struct tile_program *t) { return t->product->shorts.every > 1; }

/* Lines along the rows are of one depth each, all of which a box has. */
int ring_boxes_of_short(const struct tile_program *t, const struct tile_ring *r) {
    int elements = ring_line_elements(r);
    if (r->operand->along || r->operand->lying) return ring_boxes(r);
    return (t->product->shorts.depth + elements - 1) / elements;
}

int ring_copied_bytes(const struct tile_ring *r, int boxes) {
    return operand_copied_bytes(r->operand, r->rows, r->depth) * r->planes / ring_boxes(r) * boxes;
}

int tile_copied_bytes(const struct tile_program *t, bool is_short, bool first) {
    int bytes = 0;
    for (int i = 0; i < RINGS; i++) {
        const struct tile_ring *r = &t->ring[i];
        if (r->operand->made || (r->operand->stays && !first)) continue;
        bytes += ring_copied_bytes(r, is_short ? ring_boxes_of_short(t, r) : ring_boxes(r));
    }
    return bytes;
}

const struct tile_ring *tile_made(const struct tile_program *t) {
    for (int i = 0; i < RINGS; i++)
        if (t->ring[i].operand->made) return &t->ring[i];
    return NULL;
}

int tile_stages(const struct tile_program *t) { return t->block->layout.stages; }

const struct tile_ring *tile_staying(const struct tile_program *t) {
    for (int i = 0; i < RINGS; i++)
        if (t->ring[i].operand->stays) return &t->ring[i];
    return NULL;
}

int64_t tile_steps(const struct tile_program *t) {
    return (t->product->a.depth + t->ring[TILE_A].depth - 1) / t->ring[TILE_A].depth;
}

bool tile_turns_go_on(const struct tile_program *t) {
    int makers = t->product->makers;
    return makers > 1 && makers < tile_stages(t) && tile_steps(t) % makers == 0;
}

int64_t tile_batch_steps(const struct tile_program *t, int64_t z) {
    return t->product->steps ? t->product->steps->n[z] : tile_steps(t);
}

int64_t tile_batch_step(const struct tile_program *t, int64_t z, int64_t i) {
    const struct batch_steps *s = t->product->steps;
    return s ? s->at[z * s->most + i] : i;
}

int64_t tile_turns(const struct tile_program *t) {
    int64_t blocks = t->block->grid / t->block->layout.cluster,
            batches = matrix_tiles(t->block->kernel, &t->block->layout, AXIS_Z);
    return blocks / common_divisor(blocks, batches) * batches;
}

int64_t tile_all(const struct tile_program *t) {
    return matrix_all_tiles(t->block->kernel, &t->block->layout);
}

int64_t tile_draws(const struct tile_program *t) {
    const struct product *p = t->product;
    return p->whole + (tile_all(t) - p->whole) * p->parts;
}

struct tile_drawn tile_drawn(const struct tile_program *t, int64_t i) {
    const struct product *p = t->product;
    if (i < p->whole) return (struct tile_drawn){i, 0, 1};
    i -= p->whole;
    return (struct tile_drawn){p->whole + i / p->parts, (int)(i % p->parts), p->parts};
}

void tile_place(const struct tile_program *t, int64_t i, int64_t *z, int64_t *m, int64_t *n) {
    const struct kernel *k = t->block->kernel;
    const struct layout *y = &t->block->layout;
    int64_t down = matrix_tiles(k, y, AXIS_M), wide = matrix_tiles(k, y, AXIS_N);
    int64_t tile = t->order ? t->order[i] : i, of_z = tile % (down * wide);
    *z = tile / (down * wide);
    if (t->product->batches_beside) {
        int64_t batches = matrix_tiles(k, y, AXIS_Z);
        of_z = tile / batches;
        *z = (tile + tile / tile_turns(t)) % batches;
    }
    int64_t band = t->product->band, first = of_z / (band * wide) * band;
    int64_t high = down - first < band ? down - first : band, at = of_z - first * wide;
    *m = first + at % high;
    *n = at / high;
}

struct step_range tile_steps_at(const struct tile_program *t, int64_t z, int64_t m, int64_t n) {
    const struct block *p = t->block;
    if (!t->product->bounded) return (struct step_range){0, tile_batch_steps(t, z)};
    return matrix_steps(p->kernel, &p->layout, t->ring[TILE_A].depth, z, m, n);
}

/* Tiles with most steps first, those with as many as they come; there and back again over all
 * blocks, which have a tile of each round: so their steps are about as many. Tiles that share rows
 * are done together, as they come. */
static void order_tiles(struct tile_program *t) {
    enum { MOST = 1 << 13 }; /* of more, each block has so many that they are even */
    int64_t n = tile_all(t), most = tile_steps(t), at = 0;
    int64_t blocks = t->block->grid / t->block->layout.cluster;
    if (!t->product->bounded || t->product->sharing > 1 || n > MOST || n <= blocks) return;
    int64_t *steps = NEW_ARRAY(t->arena, int64_t, n);
    int *sorted = NEW_ARRAY(t->arena, int, n), *order = NEW_ARRAY(t->arena, int, n);
    int64_t *first = NEW_ARRAY(t->arena, int64_t, most + 2); /* place of those with so many less */
    for (int64_t i = 0; i < n; i++) {
        int64_t z, row, column;
        tile_place(t, i, &z, &row, &column);
        steps[i] = tile_steps_at(t, z, row, column).n;
        first[most - steps[i] + 1]++;
    }
    for (int64_t i = 0; i <= most; i++) first[i + 1] += first[i];
    for (int64_t i = 0; i < n; i++) sorted[first[most - steps[i]]++] = (int)i;
    for (int64_t round = 0; at < n; round++) {
        int64_t of_round = n - at < blocks ? n - at : blocks, begin = at;
        for (int64_t i = 0; i < of_round; i++, at++)
            order[at] = sorted[round % 2 ? begin + of_round - 1 - i : at];
    }
    t->order = order;
}

int64_t tile_part_floats(const struct tile_program *t) {
    return (int64_t)t->ring[TILE_A].rows * t->ring[TILE_B].rows;
}

bool is_epilogue_reduction(const struct kernel *k, value_id v) {
    return k->values.at[v].kind == INST_REDUCE && v != k->dot;
}

bool tile_leaves_partials(const struct tile_program *t) {
    return t->block->phases.n == 1 || t->product->sharing > 1;
}

int64_t tile_partial_bytes(const struct tile_program *t, value_id v) {
    const struct kernel *k = t->block->kernel;
    int64_t n = matrix_results(k) * matrix_partials(k, &t->block->layout) * reduction_bytes(k, v);
    return (n + 15) / 16 * 16;
}

int64_t tile_partials(const struct tile_program *t, value_id v) {
    int64_t at = t->partials;
    for (value_id u = 0; u < v; u++)
        if (is_epilogue_reduction(t->block->kernel, u)) at += tile_partial_bytes(t, u);
    return at;
}

int tile_exchange(const struct tile_program *t, value_id v) {
    const struct kernel *k = t->block->kernel;
    int at = t->exchange;
    for (value_id u = 0; u < v; u++)
        if (is_epilogue_reduction(k, u)) at += exchange_bytes(k, &t->block->layout, u);
    return at;
}

static struct tile_ring make_ring(const char *name, const struct operand *o, int rows,
                                  const struct block *p) {
    int depth = p->config.knob[KNOB_k];
    int64_t steps = (o->depth + depth - 1) / depth;
    return (struct tile_ring){.name = name,
                              .operand = o,
                              .rows = rows,
                              .depth = depth,
                              .line = operand_line(o, rows, depth),
                              .stages = o->stays ? (int)steps : p->layout.stages,
                              .planes = stored_planes(o),
                              .bytes = operand_tile_bytes(o, rows, depth),
                              .blocks = 1};
}

/* Stages of both rings lie beside each other: A's planes, then B's; behind them all steps of what
 * stays. Tiles begin at multiples of eight lines, which is what a swizzle counts in. */
static void place_rings(struct tile_program *t) {
    enum { ALIGNMENT = 1024 };
    int stages = tile_stages(t), stage = 0;
    for (int i = 0; i < RINGS; i++) {
        struct tile_ring *r = &t->ring[i];
        if (r->operand->stays) continue;
        r->offset = stage;
        stage += r->bytes * r->planes;
    }
    t->barriers = stage * stages;
    for (int i = 0; i < RINGS; i++) {
        struct tile_ring *r = &t->ring[i];
        r->stage = r->operand->stays ? r->bytes * r->planes : stage;
        if (!r->operand->stays) continue;
        r->offset = t->barriers;
        t->barriers += r->stage * r->stages;
    }
    t->exchange = t->barriers + product_barrier_bytes(t->product, stages);
    t->exchange_apart = t->product->exchange / t->product->in_turn;
    t->smem = t->block->layout.smem;
    int aligned = t->product->by_warp ? 0 : ALIGNMENT;
    WS_ASSERT(t->exchange + t->product->exchange + aligned <= t->smem);
}

int64_t tile_pack_blocks(const struct tile_program *t, int ring) {
    enum { AT_ONCE = 8 };
    const struct operand *o = t->ring[ring].operand;
    int64_t elements = o->bytes / stored_planes(o) / dtype_bytes(o->stored);
    int64_t work = (elements + PACK_EACH * PACK_THREADS - 1) / (PACK_EACH * PACK_THREADS);
    if (o->across)
        work = ((o->rows + PACK_TILE - 1) / PACK_TILE) * ((o->depth + PACK_TILE - 1) / PACK_TILE) *
               o->batches;
    int64_t most = (int64_t)t->block->kernel->limits->units * AT_ONCE;
    return work < most ? work : most;
}

/* A part of each block's tile, and a counter for each of its warpgroups. */
static void place_parts(struct tile_program *t) {
    int64_t tiles = (tile_all(t) - t->product->whole) * t->block->layout.cluster;
    t->workspace += tiles * t->product->parts * tile_part_floats(t) * 4;
    t->tickets = tiles * t->product->warpgroups * 4;
}

/* Phases whose results nobody in the kernel reads, or that are whole in each tile, leave nothing to
 * meet for. */
static void put_epilogue(struct tile_program *t) {
    uint32_t phases = t->block->phases.n;
    int sharing = t->product->sharing;
    put(t, TILE_STORE, 0, 0);
    for (uint32_t i = 0; i < phases; i++) {
        if (i == 1 && t->product->online) put(t, TILE_HOLD, 0, 0);
        if (i == 1 && t->block->kept != NO_VALUE) put(t, TILE_KEEP, 0, 0);
        if (i) put(t, TILE_STORE, 0, (int)i);
        if (!t->block->phases.at[i].reduce.n) continue;
        put(t, TILE_REDUCE, 0, (int)i);
        if (tile_leaves_partials(t)) put(t, TILE_LEAVE_PARTIALS, 0, (int)i);
        if (phases > 1 && sharing > 1 && (i || !t->product->online))
            put(t, TILE_MEET_PARTIALS, 0, sharing);
        if (i == 1 && t->product->online && t->block->kept != NO_VALUE) put(t, TILE_RESCALE, 0, 0);
    }
    if (phases > 1 && t->block->column_stores.n) put(t, TILE_RESULTS, 0, 0);
}

struct tile_program *tile_dot(const struct block *p, struct arena *a) {
    struct tile_program *t = NEW(a, struct tile_program);
    const struct product *x = p->layout.product;
    *t = (struct tile_program){.arena = a, .block = p, .product = x, .threads = p->layout.threads};
    t->ring[TILE_A] = make_ring("A", &x->a, p->layout.bx, p);
    t->ring[TILE_B] = make_ring("B", &x->b, p->layout.br, p);
    t->ring[x->shares_a ? TILE_A : TILE_B].blocks = p->layout.cluster;
    place_rings(t);
    for (int i = 0; i < RINGS; i++) {
        const struct operand *o = t->ring[i].operand;
        int64_t *bytes = o->at_load ? &t->kept : &t->workspace;
        t->image[i] = *bytes;
        *bytes += o->bytes;
        t->flags[i] = *bytes;
        if (x->pairs) *bytes += (tile_pack_blocks(t, i) * 4 + 4 + 15) / 16 * 16;
    }
    order_tiles(t);
    t->parts = t->partials = t->workspace;
    if (x->parts > 1) place_parts(t);
    for (value_id v = 0; v < p->kernel->values.n; v++)
        if (is_epilogue_reduction(p->kernel, v) && tile_leaves_partials(t))
            t->workspace += tile_partial_bytes(t, v);
    if (x->sharing > 1)
        t->tickets = matrix_tiles(p->kernel, &p->layout, AXIS_Z) *
                     matrix_tiles(p->kernel, &p->layout, AXIS_M) * p->layout.cluster *
                     x->warpgroups * p->phases.n * 4;
    put(t, TILE_DRAW, 0, 0);
    if (!x->promotes) put(t, TILE_FILL, 0, 0);
    put(t, TILE_LOOP, 0, 0);
    for (int i = 0; i < RINGS; i++)
        if (!t->ring[i].operand->made) put(t, TILE_COPY, i, 0);
    for (int i = 0; i < RINGS; i++)
        if (t->ring[i].operand->made) put(t, TILE_MAKE, i, 0);
    if (x->by_warp && (operand_makes_planes(&x->a) || operand_makes_planes(&x->b))) {
        put(t, TILE_DOT_ADD, 0, 0);
    } else {
        if (x->splits) put(t, TILE_SPLIT, 0, 0);
        if (x->promotes) put(t, TILE_FILL, 0, 0);
        put(t, TILE_DOT, 0, 0);
        if (x->promotes) put(t, TILE_ADD, 0, 0);
    }
    if (x->folds.levels) put(t, TILE_FOLD, 0, x->folds.block);
    if (x->pairs) put(t, TILE_CROSS, 0, CROSS_STEPS);
    put(t, TILE_END, 0, 0);
    if (x->parts > 1) put(t, TILE_LEAVE, 0, 0);
    if (x->parts > 1) put(t, TILE_MEET, 0, x->parts);
    put_epilogue(t);
    put(t, TILE_END, 0, 0);
    return t;
}
