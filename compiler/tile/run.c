/* run.c: does what a tile program says, in plain C: proves waits and roles before any text is
 * printed.
 *
 * All blocks run side by side. Of each one agent copies, or one for each warpgroup that makes tiles
 * does, and one for each warpgroup multiplies, those with tiles in turn too; where all copy, two do
 * both, and where sums lie in tensor memory one issues and two read. Who goes on, until it has to
 * wait, is up to the seed. A copy lands, and a product reads its tiles, as late as it may where the
 * seed is odd, and at once where it is even: a stage that is filled too early, or read, gives wrong
 * numbers.
 *
 * An epilogue that reduces rows is any other one's stand-in: reductions are sums, what reads them
 * subtracts the first and adds the second, and `hold` makes it the tile's own. So x becomes
 * (x - r0) + r1, where r0 is the row's sum, and r1, of a second phase, the sum of x - r0. */
#include <math.h>

#include "tile/tile.h"

enum { MOST_REGIONS = 4, MOST_STAGES = 8, INSTRUCTION = 16, MOST_PHASES = 4, MOST_TURNS = 4 };

struct product_at {
    int stage;
    int64_t step;        /* which is the stage of what stays */
    bool fresh, crosses; /* the sums begin with it; those of crossed products do */
    int depth;           /* of a short step less */
    bool summed;         /* only its crossed products are left */
    bool torn;           /* the registers that it reads have been written meanwhile */
};

/* What the unit of a block does of what its one thread has issued, in that order (tensor). */
enum deed { MULTIPLIES, RELEASES, OFFERS, OFFERS_CROSSED };
struct issued {
    enum deed deed;
    int at; /* set of sums, or, RELEASES, the stage */
    struct product_at product;
};

struct agent {
    uint32_t at, begin, end; /* instruction; of its role */
    int rank, group;         /* block of the cluster; warpgroup, below 0: it copies or makes */
    int64_t tile, step, first, steps; /* tile: of all parts; first: step of the depth */
    int64_t first_tile;
    int stage, before;
    unsigned phase;
    int turn;  /* whose it is, of those that make or have tiles in turn, */
    int whose; /* its number among these; the phase that it waits for */
    unsigned turn_parity;
    bool fresh, crosses, done, met; /* met: it waits for the others of its block */
    unsigned meeting;               /* which one that is */
    int groups;                     /* of copies */
    float *sums, *total, *crossed;
    float *result[MOST_PHASES], *own; /* of rows; own: what `hold` found in the first */
    bool held, kept;
    int left;        /* phase whose partials it left last */
    bool issues;     /* tensor: it has products made; or reads what they come to: */
    int set;         /* of sums, which is at hand */
    unsigned parity; /* of its phase; and of the crossed sums' */
    unsigned crossed_parity;
    VEC(struct product_at) under_way;
};

/* Of a stage. */
struct barrier {
    unsigned phase;
    int arrivals;       /* empty: of readers; full: the copier's, and of who has made a tile */
    int64_t due, there; /* full: bytes */
};

struct copy {
    int ring, rank, stage, first, n; /* lines of the rows: a part of the tile */
    int to;                          /* stage of the ring: the one at hand, or of what stays */
    int agent, group;                /* by_warp: whose copy; of which of its groups */
    int64_t row, depth, z;
    int boxes; /* of the tile's, of a short step fewer */
    bool made; /* no copy: for others it lands when it is given */
    bool landed;
};

struct machine {
    const struct tile_program *t;
    const float *const *in;
    float *out;
    bool *written;
    struct arena *arena;
    uint64_t seed;
    bool late;
    int blocks;
    int readers; /* agents of a block that multiply, an equal part of the rows each */
    int met[4];  /* of these, those who are at a LANDED */
    unsigned meeting[4];
    float *shared[4][RINGS]; /* [rank]: [stage][plane][row][depth] */
    struct barrier full[4][MOST_STAGES], empty[4][MOST_STAGES];
    bool raw[4][MOST_STAGES];            /* it has tiles of f32, which are not split yet */
    struct barrier turns[4][MOST_TURNS]; /* the tile before that of each group has all begun */
    float *set[4][2]; /* tensor: [rank][set of sums], and whether they are there, and are read */
    struct barrier offered[4][2], read[4][2];
    float *crossed[4]; /* the same of crossed sums */
    struct barrier crossed_offered[4], crossed_read[4];
    VEC(struct issued) issued[4];
    VEC(struct copy) copies;
    VEC(struct agent) agents;
    float *left; /* sums of parts: [tile][rank][warpgroup][element] */
    int *n_left;
    float *partials; /* what tiles' rows come to: [phase][z and m of a tile][warpgroup][n][row] */
    int *n_partials; /* [phase][z and m][warpgroup] */
    const char *wrong;
};

static uint64_t draw(struct machine *x) {
    x->seed = x->seed * 6364136223846793005u + 1442695040888963407u;
    return x->seed >> 33;
}

static const struct tile_ring *ring(const struct machine *x, int i) { return &x->t->ring[i]; }

static int group_rows(const struct machine *x) { return ring(x, TILE_A)->rows / x->readers; }

/* Rows of its sums. */
static int rows_of(const struct machine *x, const struct agent *g) {
    return g->issues ? ring(x, TILE_A)->rows : group_rows(x);
}

static float *tile_of(struct machine *x, int rank, int i, int stage, int plane) {
    const struct tile_ring *r = ring(x, i);
    return x->shared[rank][i] + ((size_t)stage * (size_t)r->operand->planes + (size_t)plane) *
                                    (size_t)r->rows * (size_t)r->depth;
}

/* Of the stage at hand; of what stays, of the step. */
static int place_in_ring(const struct tile_ring *r, int stage, int64_t step) {
    return r->operand->stays ? (int)step : stage;
}

static bool has_passed(const struct barrier *b, unsigned parity) {
    return (b->phase & 1) != parity;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static float element(struct machine *x, int i, int plane, int64_t z, int64_t row, int64_t depth) {
    const struct operand *o = ring(x, i)->operand;
    if (row >= o->rows || depth >= o->depth) return 0; /* as tensor maps have it */
    if (o->windows) {
        int64_t at = operand_element(o, plane, z, row, depth);
        return at < 0 ? 0 : x->in[i][at];
    }
    if (o->batches == 1) z = 0;
    return x->in[i][((plane * o->batches + z) * o->rows + row) * o->depth + depth];
}

/* Whether all is there that is waited for. */
static void fill_stage(const struct machine *x, struct barrier *b) {
    int all = tile_made(x->t) ? 2 : 1;
    if (b->arrivals != all || b->there != b->due) return;
    b->phase++;
    b->arrivals = 0;
    b->there = b->due = 0;
}

static void land(struct machine *x, struct copy *c) {
    const struct tile_ring *r = ring(x, c->ring);
    const struct operand *o = r->operand;
    int depth = o->along || o->lying ? r->depth : c->boxes * ring_line_elements(r);
    for (int p = 0; p < o->planes; p++) {
        float *to = tile_of(x, c->rank, c->ring, c->to, p);
        for (int i = c->first; i < c->first + c->n; i++)
            for (int d = 0; d < r->depth; d++)
                to[i * r->depth + d] =
                    d < depth ? element(x, c->ring, p, c->z, c->row + i, c->depth + d) : NAN;
    }
    c->landed = true;
    if (c->made) return;
    x->raw[c->rank][c->stage] = x->t->product->splits;
    struct barrier *b = &x->full[c->rank][c->stage];
    b->there += (int64_t)ring_copied_bytes(r, c->boxes) * c->n / r->rows;
    fill_stage(x, b);
}

static bool land_one(struct machine *x) {
    uint32_t from = x->copies.n ? (uint32_t)(draw(x) % x->copies.n) : 0;
    for (uint32_t i = 0; i < x->copies.n; i++) {
        struct copy *c = &x->copies.at[(from + i) % x->copies.n];
        if (!c->landed && !c->made) return land(x, c), true;
    }
    return false;
}

/* The agent's groups but the newest `most` are there. */
static void land_groups(struct machine *x, const struct agent *g, int most) {
    for (uint32_t i = 0; i < x->copies.n; i++) {
        struct copy *c = &x->copies.at[i];
        if (!c->landed && c->agent == g->group && c->group < g->groups - most) land(x, c);
    }
}

/* Waits for the others of the block; false: they are not here yet. */
static bool meets(struct machine *x, struct agent *g) {
    if (!g->met) {
        g->met = true;
        g->meeting = x->meeting[g->rank];
        if (++x->met[g->rank] == x->readers) x->met[g->rank] = 0, x->meeting[g->rank]++;
    }
    if (g->meeting == x->meeting[g->rank]) return false;
    g->met = false;
    return true;
}

/* ---- where an output tile is ----------------------------------------------------------------- */

static int64_t tiles_along(const struct machine *x, enum axis axis) {
    return matrix_tiles(x->t->block->kernel, &x->t->block->layout, axis);
}

static struct tile_drawn drawn(const struct machine *x, const struct agent *g) {
    return tile_drawn(x->t, g->tile);
}

static void place(const struct machine *x, const struct agent *g, int64_t *z, int64_t *m,
                  int64_t *n) {
    tile_place(x->t, drawn(x, g).tile, z, m, n);
    int64_t *shared = x->t->product->shares_a ? n : m;
    *shared = *shared * x->blocks + g->rank;
    *m *= ring(x, TILE_A)->rows;
    *n *= ring(x, TILE_B)->rows;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Which step along the depth is at hand, or so many steps on. */
static int64_t step_number(const struct machine *x, const struct agent *g, int ahead) {
    int64_t z, m, n;
    place(x, g, &z, &m, &n);
    return tile_batch_step(x->t, z, g->first + g->step + ahead);
}

static struct product_at product_of(const struct machine *x, const struct agent *g, bool fresh,
                                    bool crosses) {
    bool is_short = tile_step_is_short(x->t, step_number(x, g, 0));
    return (struct product_at){.stage = g->stage,
                               .step = g->step,
                               .fresh = fresh,
                               .crosses = crosses,
                               .depth =
                                   is_short ? x->t->product->shorts.depth : ring(x, TILE_A)->depth};
}

static void start_copy(struct machine *x, const struct agent *g, int i, int ahead) {
    const struct tile_ring *r = ring(x, i);
    int64_t z, m, n;
    place(x, g, &z, &m, &n);
    int part = r->rows / r->blocks;
    if (g->step + ahead >= g->steps) return;
    if (r->operand->stays && g->tile != g->first_tile) return;
    int64_t number = step_number(x, g, ahead);
    int stage = (g->stage + ahead) % tile_stages(x->t);
    struct copy c = {.ring = i,
                     .boxes = tile_step_is_short(x->t, number) ? ring_boxes_of_short(x->t, r)
                                                               : ring_boxes(r),
                     .stage = stage,
                     .to = place_in_ring(r, stage, number),
                     .first = r->blocks > 1 ? g->rank * part : 0,
                     .n = part,
                     .row = i == TILE_A ? m : n,
                     .depth = number * r->depth,
                     .z = z,
                     .made = r->operand->made,
                     .agent = g->group,
                     .group = g->groups};
    if (x->t->ahead) {
        c.n = r->rows / x->readers;
        c.first = g->group * c.n;
    }
    for (int to = 0; to < x->blocks; to++) {
        if (r->blocks == 1 && to != g->rank) continue;
        c.rank = to;
        vec_push(x->arena, &x->copies, c);
    }
}

/* What the agent has made of the stage is there. */
static void give(struct machine *x, const struct agent *g) {
    for (uint32_t i = 0; i < x->copies.n; i++) {
        struct copy *c = &x->copies.at[i];
        if (c->made && !c->landed && c->agent == g->group) land(x, c);
    }
    struct barrier *b = &x->full[g->rank][g->stage];
    b->arrivals++;
    fill_stage(x, b);
}

/* From so much of the step's depth on, of the passes that are crossed or those that are not. */
static void multiply_part(struct machine *x, struct agent *g, const struct product_at *p,
                          bool crossed, int from, int end) {
    const struct tile_ring *a = ring(x, TILE_A), *b = ring(x, TILE_B);
    const struct product *of = x->t->product;
    for (int q = 0; q < of->n_passes; q++) {
        if (of->pass[q].crossed != crossed) continue;
        float *sums = crossed ? g->crossed : g->sums;
        const float *left =
            tile_of(x, g->rank, TILE_A, place_in_ring(a, p->stage, p->step), of->pass[q].a) +
            g->group * rows_of(x, g) * a->depth;
        const float *right =
            tile_of(x, g->rank, TILE_B, place_in_ring(b, p->stage, p->step), of->pass[q].b);
        for (int d = from; d < end; d += INSTRUCTION)
            for (int i = 0; i < rows_of(x, g); i++)
                for (int j = 0; j < b->rows; j++) {
                    double sum = sums[i * b->rows + j];
                    for (int k = d; k < d + INSTRUCTION && k < end; k++)
                        sum += (double)left[i * a->depth + k] * right[j * b->depth + k];
                    sums[i * b->rows + j] = (float)sum;
                }
    }
}

static void add(const struct machine *x, struct agent *g) {
    for (int i = 0; i < group_rows(x) * ring(x, TILE_B)->rows; i++) g->total[i] += g->sums[i];
}

static void clear(const struct machine *x, const struct agent *g, float *sums) {
    for (int i = 0; i < rows_of(x, g) * ring(x, TILE_B)->rows; i++) sums[i] = 0;
}

static void multiply_sums(struct machine *x, struct agent *g, struct product_at *p) {
    int each = x->t->product->pairs ? x->t->product->promote_pairs : p->depth;
    if (p->summed) return;
    p->summed = true;
    if (p->fresh) clear(x, g, g->sums);
    for (int from = 0; from < p->depth; from += each) {
        if (from) add(x, g), clear(x, g, g->sums);
        multiply_part(x, g, p, false, from, p->depth - from < each ? p->depth : from + each);
    }
    if (p->torn || x->raw[g->rank][p->stage]) g->sums[0] = NAN;
}

static void multiply(struct machine *x, struct agent *g, struct product_at *p) {
    multiply_sums(x, g, p);
    if (!x->t->product->pairs) return;
    if (p->crosses) clear(x, g, g->crossed);
    multiply_part(x, g, p, true, 0, p->depth);
}

static void drain(struct machine *x, struct agent *g, int most) {
    uint32_t n = g->under_way.n > (uint32_t)most ? g->under_way.n - (uint32_t)most : 0;
    for (uint32_t i = 0; i < n; i++) multiply(x, g, &g->under_way.at[i]);
    for (uint32_t i = n; i < g->under_way.n; i++) g->under_way.at[i - n] = g->under_way.at[i];
    g->under_way.n -= n;
}

/* Is the step the last one of so many, or of all? */
static bool ends_steps(const struct agent *g, int steps) {
    return g->step % steps == steps - 1 || g->step + 1 == g->steps;
}

/* False: the crossed sums are not there yet. */
static bool cross(struct machine *x, struct agent *g, int steps) {
    size_t n = (size_t)(group_rows(x) * ring(x, TILE_B)->rows);
    struct barrier *b = &x->crossed_read[g->rank];
    if (!ends_steps(g, steps)) return true;
    if (x->t->issuers) {
        if (!has_passed(&x->crossed_offered[g->rank], g->crossed_parity)) return false;
        memcpy(g->crossed, x->crossed[g->rank] + (size_t)g->group * n, n * sizeof(float));
        if (++b->arrivals == x->readers) b->arrivals = 0, b->phase++;
        g->crossed_parity ^= 1;
    }
    drain(x, g, 0);
    for (size_t i = 0; i < n; i++) g->total[i] += ldexpf(g->crossed[i], -PAIR_SHIFT);
    g->crosses = true;
    return true;
}

/* The oldest thing that the block's thread has issued, but for products what they are followed by:
 * nobody sees a product end. */
static bool finish_one(struct machine *x, int rank) {
    uint32_t n = 0;
    struct agent unit = {.rank = rank, .issues = true};
    for (bool more = x->issued[rank].n > 0; more && n < x->issued[rank].n; n++) {
        struct issued *y = &x->issued[rank].at[n];
        more = y->deed == MULTIPLIES;
        unit.crossed = x->crossed[rank];
        if (more) unit.sums = x->set[rank][y->at], multiply(x, &unit, &y->product);
        if (y->deed == OFFERS) x->offered[rank][y->at].phase++;
        if (y->deed == OFFERS_CROSSED) x->crossed_offered[rank].phase++;
        for (int to = 0; to < x->blocks && y->deed == RELEASES; to++) {
            struct barrier *empty = &x->empty[to][y->at];
            if (++empty->arrivals == x->blocks) empty->arrivals = 0, empty->phase++;
        }
    }
    for (uint32_t i = n; i < x->issued[rank].n; i++)
        x->issued[rank].at[i - n] = x->issued[rank].at[i];
    x->issued[rank].n -= n;
    return n > 0;
}

static void issue(struct machine *x, const struct agent *g, enum deed deed, int at) {
    struct issued y = {.deed = deed, .at = at};
    if (deed == MULTIPLIES) y.product = product_of(x, g, g->fresh, g->step % CROSS_STEPS == 0);
    vec_push(x->arena, &x->issued[g->rank], y);
    while (!x->late && deed != MULTIPLIES && finish_one(x, g->rank)) {}
}

static void next_set(const struct machine *x, struct agent *g) {
    if (++g->set == x->t->product->sums_at_once) g->set = 0, g->parity ^= 1;
}

/* Of its rows; the last one to read them lets others be made. */
static void read_sums(struct machine *x, struct agent *g) {
    size_t n = (size_t)(group_rows(x) * ring(x, TILE_B)->rows);
    struct barrier *b = &x->read[g->rank][g->set];
    memcpy(g->sums, x->set[g->rank][g->set] + (size_t)g->group * n, n * sizeof(float));
    if (++b->arrivals == x->readers) b->arrivals = 0, b->phase++;
    next_set(x, g);
}

static uint32_t matching_begin(const struct tile_program *t, uint32_t at) {
    int depth = 0;
    for (uint32_t i = at;; i--) {
        depth += (t->code.at[i].op == TILE_END) - tile_op_opens(t->code.at[i].op);
        if (!depth) return i;
    }
}

/* Does what stands there stand in a loop, in no region of its own? */
static bool is_in_loop(const struct tile_program *t, uint32_t at) {
    while (t->code.at[at].op != TILE_END) at++;
    return t->code.at[matching_begin(t, at)].op == TILE_LOOP;
}

static void arrive(struct machine *x, const struct agent *g, int stage) {
    int readers = x->readers * x->blocks;
    for (int to = 0; to < x->blocks; to++) {
        struct barrier *b = &x->empty[to][stage];
        if (++b->arrivals == readers) b->arrivals = 0, b->phase++;
    }
}

static size_t place_of_sums(const struct machine *x, const struct agent *g) {
    return (size_t)((drawn(x, g).tile * x->blocks + g->rank) * x->readers + g->group);
}

static float *sums_of(const struct machine *x, struct agent *g) {
    return x->t->product->promotes ? g->total : g->sums;
}

/* Adds the sums to those of the tile's other parts. */
static void leave(struct machine *x, struct agent *g) {
    size_t n = (size_t)(group_rows(x) * ring(x, TILE_B)->rows), at = place_of_sums(x, g);
    for (size_t i = 0; i < n; i++) x->left[at * n + i] += sums_of(x, g)[i];
    x->n_left[at]++;
}

/* False: some parts are not there yet. */
static bool meet(struct machine *x, struct agent *g, int parts) {
    size_t n = (size_t)(group_rows(x) * ring(x, TILE_B)->rows), at = place_of_sums(x, g);
    if (x->n_left[at] < parts) return false;
    memcpy(sums_of(x, g), x->left + at * n, n * sizeof(float));
    return true;
}

/* ---- the epilogue's reductions --------------------------------------------------------------- */

static size_t phases_of(const struct machine *x) { return x->t->block->phases.n; }

/* Of those whose rows the agent has, in a phase. */
static size_t rows_place(const struct machine *x, const struct agent *g, int phase) {
    int64_t z, m, n;
    place(x, g, &z, &m, &n);
    int64_t down = tiles_along(x, AXIS_M) * x->blocks, tile = m / ring(x, TILE_A)->rows;
    int64_t of_phase = (int64_t)phase * tiles_along(x, AXIS_Z) * down;
    return (size_t)((of_phase + z * down + tile) * x->readers + g->group);
}

static float *partial_of(const struct machine *x, const struct agent *g, int phase, int64_t n) {
    size_t tiles = (size_t)tiles_along(x, AXIS_N);
    return x->partials + (rows_place(x, g, phase) * tiles + (size_t)n) * (size_t)group_rows(x);
}

static int64_t columns_of_tile(const struct machine *x, int64_t n) {
    int64_t all = kernel_size(x->t->block->kernel, AXIS_N), wide = ring(x, TILE_B)->rows;
    return all - n * wide < wide ? all - n * wide : wide;
}

static int64_t column_tile(const struct machine *x, const struct agent *g) {
    int64_t z, m, n;
    place(x, g, &z, &m, &n);
    return n / ring(x, TILE_B)->rows;
}

static void reduce(struct machine *x, struct agent *g, int phase) {
    int wide = ring(x, TILE_B)->rows;
    int64_t columns = columns_of_tile(x, column_tile(x, g));
    for (int i = 0; i < group_rows(x); i++) {
        float base = !phase || g->kept ? 0 : g->held ? g->own[i] : g->result[0][i];
        g->result[phase][i] = 0;
        for (int j = 0; j < columns; j++) g->result[phase][i] += sums_of(x, g)[i * wide + j] - base;
    }
}

static void leave_partials(struct machine *x, const struct agent *g, int phase) {
    memcpy(partial_of(x, g, phase, column_tile(x, g)), g->result[phase],
           (size_t)group_rows(x) * sizeof(float));
    x->n_partials[rows_place(x, g, phase)]++;
}

/* False: some tiles are not there yet. */
static bool meet_partials(struct machine *x, struct agent *g, int tiles, int phase) {
    if (x->n_partials[rows_place(x, g, phase)] < tiles) return false;
    for (int i = 0; i < group_rows(x); i++)
        for (int f = g->held ? 0 : phase; f <= phase; f++) {
            g->result[f][i] = 0;
            for (int64_t n = 0; n < tiles_along(x, AXIS_N); n++) {
                float moved = g->held && f ? partial_of(x, g, 0, n)[i] - g->result[0][i] : 0;
                g->result[f][i] += partial_of(x, g, f, n)[i] + moved * (float)columns_of_tile(x, n);
            }
        }
    return true;
}

static void move_sums(struct machine *x, struct agent *g, const float *from, const float *to) {
    int wide = ring(x, TILE_B)->rows;
    for (int i = 0; i < group_rows(x); i++)
        for (int j = 0; j < wide; j++) sums_of(x, g)[i * wide + j] += (from ? from[i] : 0) - to[i];
}

/* What an element of row i becomes. */
static float finished(const struct machine *x, const struct agent *g, float sum, int i) {
    bool second = phases_of(x) > 1 && x->t->block->phases.at[1].reduce.n;
    if (phases_of(x) < 2) return sum;
    return (g->kept ? sum : sum - g->result[0][i]) + (second ? g->result[1][i] : 0);
}

static void store(struct machine *x, const struct agent *g, int phase) {
    if (phase + 1 < (int)phases_of(x)) return;
    const struct kernel *k = x->t->block->kernel;
    const struct tile_ring *b = ring(x, TILE_B);
    const float *sums = x->t->product->promotes ? g->total : g->sums;
    int64_t z, m, n, rows = kernel_size(k, AXIS_M), columns = kernel_size(k, AXIS_N);
    struct tile_drawn of = drawn(x, g);
    place(x, g, &z, &m, &n);
    for (int i = 0; i < group_rows(x); i++)
        for (int j = 0; j < b->rows; j++) {
            int64_t row = m + g->group * group_rows(x) + i, column = n + j;
            row = operand_row(k, &x->t->product->a, row);
            column = operand_row(k, &x->t->product->b, column);
            if (row < 0 || column < 0) continue;
            if ((i + j) % of.parts != of.part) continue; /* the share of another */
            size_t at = (size_t)((z * rows + row) * columns + column);
            if (x->written[at]) x->wrong = "an element is stored twice";
            x->written[at] = true;
            x->out[at] = finished(x, g, sums[i * b->rows + j], i);
        }
}

static uint32_t matching_end(const struct tile_program *t, uint32_t at) {
    int depth = 0;
    for (uint32_t i = at;; i++) {
        depth += tile_op_opens(t->code.at[i].op) - (t->code.at[i].op == TILE_END);
        if (!depth) return i;
    }
}

static void begin_tile(struct machine *x, struct agent *g) {
    size_t n = (size_t)(group_rows(x) * ring(x, TILE_B)->rows);
    struct tile_drawn of = drawn(x, g);
    int64_t z, m, column;
    tile_place(x->t, of.tile, &z, &m, &column);
    struct step_range s = tile_steps_at(x->t, z, m, column);
    int64_t from = of.part * s.n / of.parts;
    g->first = s.first + from;
    g->steps = (of.part + 1) * s.n / of.parts - from;
    for (size_t i = 0; i < n && g->sums; i++) g->sums[i] = g->crossed[i] = NAN, g->total[i] = 0;
    g->crosses = true;
    g->held = g->kept = false;
}

/* The end of a region: again, or on. */
static void turn(struct machine *x, struct agent *g) {
    uint32_t begin = matching_begin(x->t, g->at);
    enum tile_op op = x->t->code.at[begin].op;
    int clusters = (int)(x->t->block->grid / x->blocks);
    if (op == TILE_LOOP && ++g->step < g->steps)
        g->at = begin;
    else if (op == TILE_LOOP && tile_turns_go_on(x->t))
        g->turn += x->t->product->makers - 1;
    if (op == TILE_AHEAD) {
        if (++g->step < x->t->ahead) g->at = begin;
        g->stage = (int)(g->step % x->t->ahead);
    }
    if (op == TILE_DRAW && (g->tile += clusters) < tile_draws(x->t)) {
        g->at = begin;
        begin_tile(x, g);
    } else if (op == TILE_DRAW && x->t->ahead) {
        g->done = true;
    }
    if (op == TILE_ROLE) g->done = true;
}

/* One instruction; false: it has to wait. */
static bool go_on(struct machine *x, struct agent *g) {
    const struct tile_inst *c = &x->t->code.at[g->at];
    switch (c->op) {
    case TILE_ROLE: break;
    case TILE_DRAW: begin_tile(x, g); break;
    case TILE_AHEAD: g->stage = 0; /* fallthrough */
    case TILE_LOOP:
        g->step = 0;
        if (c->op == TILE_LOOP && !g->steps) g->at = matching_end(x->t, g->at);
        break;
    case TILE_END: turn(x, g); break;
    case TILE_WAIT_EMPTY:
        if (!has_passed(&x->empty[g->rank][g->stage], g->phase ^ 1)) return false;
        x->full[g->rank][g->stage].due = tile_copied_bytes(
            x->t, tile_step_is_short(x->t, step_number(x, g, 0)), g->tile == g->first_tile);
        x->full[g->rank][g->stage].arrivals = 1;
        fill_stage(x, &x->full[g->rank][g->stage]);
        break;
    case TILE_TURN:
        if (g->turn++ % c->n != (g->group < 0 ? -1 - g->group : g->whose))
            g->at = matching_end(x->t, g->at);
        break;
    case TILE_SKIP:
        for (int64_t i = 0; g->turn % c->n != g->whose && i < g->steps; i++)
            if (++g->stage == tile_stages(x->t)) g->stage = 0, g->phase ^= 1;
        break;
    case TILE_WAIT_TURN:
        if (!has_passed(&x->turns[g->rank][g->whose], g->turn_parity)) return false;
        g->turn_parity ^= 1;
        break;
    case TILE_PASS_TURN: x->turns[g->rank][(g->whose + 1) % x->t->product->in_turn].phase++; break;
    case TILE_TAKE: break;
    case TILE_MAKE:
        start_copy(x, g, c->ring, 0);
        while (!x->late && land_one(x)) {}
        if (!x->late) land(x, &x->copies.at[x->copies.n - 1]);
        break;
    case TILE_GIVE: give(x, g); break;
    case TILE_COPY:
        start_copy(x, g, c->ring, c->n);
        while (!x->late && land_one(x)) {}
        break;
    case TILE_GROUP: g->groups++; break;
    case TILE_LANDED:
        land_groups(x, g, c->n);
        if (!meets(x, g)) return false;
        break;
    case TILE_WAIT_FULL:
        if (!has_passed(&x->full[g->rank][g->stage], g->phase)) return false;
        break;
    case TILE_SPLIT:
        if (!meets(x, g)) return false;
        x->raw[g->rank][g->stage] = false;
        break;
    case TILE_WAIT_READ:
        if (!has_passed(&x->read[g->rank][g->set], g->parity ^ 1)) return false;
        break;
    case TILE_RELEASE: issue(x, g, RELEASES, g->stage); break;
    case TILE_OFFER:
        if (g->fresh) clear(x, g, x->set[g->rank][g->set]); /* of no steps */
        issue(x, g, OFFERS, g->set);
        next_set(x, g);
        break;
    case TILE_WAIT_CROSSED:
        if (g->step % c->n) break;
        if (!has_passed(&x->crossed_read[g->rank], g->crossed_parity ^ 1)) return false;
        g->crossed_parity ^= 1;
        break;
    case TILE_OFFER_CROSSED:
        if (ends_steps(g, c->n)) issue(x, g, OFFERS_CROSSED, 0);
        break;
    case TILE_READ:
        if (!has_passed(&x->offered[g->rank][g->set], g->parity)) return false;
        read_sums(x, g);
        break;
    case TILE_FILL:
        if (!g->issues) clear(x, g, g->sums);
        g->fresh = true;
        break;
    case TILE_DOT_ADD:
        vec_push(x->arena, &g->under_way, product_of(x, g, true, true));
        drain(x, g, 0);
        add(x, g);
        break;
    case TILE_DOT:
        if (g->issues) {
            issue(x, g, MULTIPLIES, g->set);
            g->fresh = false;
            break;
        }
        for (uint32_t i = 0; i < g->under_way.n; i++)
            g->under_way.at[i].torn = x->t->product->a.in_registers;
        vec_push(x->arena, &g->under_way, product_of(x, g, g->fresh, g->crosses));
        g->fresh = g->crosses = false;
        if (!x->late || x->t->ahead) drain(x, g, 0);
        break;
    case TILE_DRAIN_SUMS:
        drain(x, g, 1);
        if (g->under_way.n) multiply_sums(x, g, &g->under_way.at[0]);
        break;
    case TILE_DRAIN: drain(x, g, c->n); break;
    case TILE_ARRIVE:
        /* of the loop's first step nothing is before it; behind one of no steps nothing is */
        if (c->n && !g->step && is_in_loop(x->t, g->at)) break;
        if (c->n && !g->steps) break;
        arrive(x, g, c->n ? g->before : g->stage);
        break;
    case TILE_NEXT:
        g->before = g->stage;
        if (++g->stage == tile_stages(x->t)) g->stage = 0, g->phase ^= 1;
        break;
    case TILE_ADD: add(x, g); break;
    case TILE_CROSS:
        if (!cross(x, g, c->n)) return false;
        break;
    case TILE_FOLD: break; /* how the total is kept is no business of who waits for whom */
    case TILE_LEAVE:
        if (drawn(x, g).parts > 1) leave(x, g);
        break;
    case TILE_MEET:
        if (drawn(x, g).parts > 1 && !meet(x, g, c->n)) return false;
        break;
    case TILE_STORE: store(x, g, c->n); break;
    case TILE_REDUCE: reduce(x, g, c->n); break;
    case TILE_LEAVE_PARTIALS: leave_partials(x, g, g->left = c->n); break;
    case TILE_MEET_PARTIALS:
        if (!meet_partials(x, g, c->n, g->left)) return false;
        break;
    case TILE_HOLD:
        memcpy(g->own, g->result[0], (size_t)group_rows(x) * sizeof(float));
        g->held = true;
        break;
    case TILE_KEEP:
        move_sums(x, g, NULL, g->held ? g->own : g->result[0]);
        g->kept = true;
        break;
    case TILE_RESCALE: move_sums(x, g, g->own, g->result[0]); break;
    case TILE_RESULTS: break;
    case TILE_COPY_BEFORE:
    case TILE_BEGIN:
    case TILE_WAIT_ROWS:
    case TILE_FREE_ROWS:
    case TILE_REST:
    case TILE_RELATE:
    case TILE_LAST:
    case TILE_TERMS:
    case TILE_DOT_SECOND:
    case TILE_OPS: WS_BUG("no instruction");
    }
    g->at++;
    return true;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void poison(float *at, size_t n) {
    for (size_t i = 0; i < n; i++) at[i] = NAN;
}

static void add_agents(struct machine *x, int rank, int64_t cluster) {
    size_t sums = (size_t)(group_rows(x) * ring(x, TILE_B)->rows);
    for (uint32_t at = 0; at < x->t->code.n; at = matching_end(x->t, at) + 1) {
        bool issues = x->t->issuers && at && matching_end(x->t, 0) + 1 == at;
        bool copies = x->t->copiers && at == 0;
        int makers = x->t->product->makers > 1 ? x->t->product->makers : 1;
        int turns = copies || issues ? 1 : x->t->product->in_turn;
        for (int g = 0; g < (copies ? makers : issues ? 1 : x->readers * turns); g++) {
            struct agent agent = {.at = at,
                                  .rank = rank,
                                  .group = copies ? -1 - g : g / turns,
                                  .whose = g % turns,
                                  .turn_parity = g % turns == 0, /* nobody is before the first */
                                  .issues = issues,
                                  .tile = cluster,
                                  .first_tile = cluster};
            if (!copies && !issues) agent.sums = NEW_ARRAY(x->arena, float, sums);
            if (!copies) agent.total = NEW_ARRAY(x->arena, float, sums);
            if (!copies) agent.crossed = NEW_ARRAY(x->arena, float, sums);
            if (!copies) agent.own = NEW_ARRAY(x->arena, float, group_rows(x));
            for (int f = 0; f < MOST_PHASES && !copies; f++)
                agent.result[f] = NEW_ARRAY(x->arena, float, group_rows(x));
            vec_push(x->arena, &x->agents, agent);
        }
    }
}

static void begin_cluster(struct machine *x, int64_t cluster) {
    for (int rank = 0; rank < x->blocks; rank++) {
        for (int i = 0; i < RINGS; i++) {
            const struct tile_ring *r = ring(x, i);
            size_t n = (size_t)(r->stages * r->operand->planes) * (size_t)(r->rows * r->depth);
            x->shared[rank][i] = NEW_ARRAY(x->arena, float, n);
            poison(x->shared[rank][i], n);
        }
        for (int i = 0; i < x->t->product->sums_at_once; i++) {
            size_t n = (size_t)(ring(x, TILE_A)->rows * ring(x, TILE_B)->rows);
            x->set[rank][i] = NEW_ARRAY(x->arena, float, n);
            poison(x->set[rank][i], n);
        }
        if (x->t->issuers) {
            size_t n = (size_t)(ring(x, TILE_A)->rows * ring(x, TILE_B)->rows);
            x->crossed[rank] = NEW_ARRAY(x->arena, float, n);
            poison(x->crossed[rank], n);
        }
        add_agents(x, rank, cluster);
    }
}

/* Each agent as far as it comes; whether any has come on, or a copy landed. */
static bool run_cluster(struct machine *x, uint32_t *running) {
    uint32_t from = (uint32_t)(draw(x) % x->agents.n), left = 0;
    bool moved = false;
    for (uint32_t i = 0; i < x->agents.n && !x->wrong; i++) {
        struct agent *g = &x->agents.at[(from + i) % x->agents.n];
        while (!g->done && go_on(x, g)) moved = true;
        left += !g->done;
    }
    *running += left;
    if (moved || !left) return moved;
    for (int rank = 0; rank < x->blocks; rank++)
        if (draw(x) % 2 && finish_one(x, rank)) return true;
    if (land_one(x)) return true;
    for (int rank = 0; rank < x->blocks; rank++)
        if (finish_one(x, rank)) return true;
    return false;
}

static const char *run_clusters(struct machine *x, int64_t n) {
    for (;;) {
        uint32_t running = 0;
        bool moved = false;
        for (int64_t c = 0; c < n; c++) {
            moved |= run_cluster(&x[c], &running);
            if (x[c].wrong) return x[c].wrong;
        }
        if (!running) return NULL;
        if (!moved) return "everybody waits, and nothing is under way";
    }
}

const char *tile_run(const struct tile_program *t, const float *const in[RINGS], float *out,
                     uint64_t seed, struct arena *a) {
    const struct kernel *k = t->block->kernel;
    size_t n = (size_t)(kernel_size(k, AXIS_Z) * kernel_size(k, AXIS_M) * kernel_size(k, AXIS_N));
    struct machine x = {.t = t,
                        .in = in,
                        .out = out,
                        .written = NEW_ARRAY(a, bool, n),
                        .arena = a,
                        .seed = seed,
                        .late = seed & 1,
                        .readers = t->product->warpgroups,
                        .blocks = t->block->layout.cluster};
    if ((t->ahead || t->issuers) && t->ring[TILE_A].rows % 2 == 0) x.readers = 2;
    WS_ASSERT((t->copiers || t->ahead) && x.blocks <= 4);
    poison(out, n);
    size_t groups = (size_t)(tile_all(t) * x.blocks * x.readers);
    x.left = NEW_ARRAY(a, float, groups *(size_t)(group_rows(&x) * t->ring[TILE_B].rows));
    x.n_left = NEW_ARRAY(a, int, groups);
    WS_ASSERT(t->block->phases.n <= MOST_PHASES);
    size_t rows = groups * MOST_PHASES * (size_t)group_rows(&x);
    x.partials = NEW_ARRAY(a, float, rows);
    x.n_partials = NEW_ARRAY(a, int, groups *MOST_PHASES);
    for (size_t i = 0; i < rows; i++) x.partials[i] = NAN;
    int64_t clusters = t->block->grid / x.blocks;
    struct machine *all = NEW_ARRAY(a, struct machine, clusters);
    for (int64_t c = 0; c < clusters; c++) {
        all[c] = x;
        all[c].seed += (uint64_t)c * 2;
        begin_cluster(&all[c], c);
    }
    return run_clusters(all, clusters);
}
