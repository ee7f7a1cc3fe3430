/* run_chained.c: does what a program of chained products says, in plain C, block by block: of each
 * one agent copies and each warpgroup is one; by warps two do both. Copies land, and products are
 * made, as late as they may where the seed is odd, and at once where it is even. */
#include <math.h>

#include "tile/tile.h"

enum { MOST_STAGES = 8, MOST_AGENTS = 4 };

struct copy {
    int ring, number, stage, agent, group; /* number: of the first products */
    int first, n;                          /* rows of the tile */
    int64_t step;
    bool landed;
};

struct under_way {
    bool second;
    int stage, number; /* all; one by one, that one alone, from 1 on, or from 2 on all but 1 */
};

struct agent {
    uint32_t at, begin, end;
    int number, stage, before, groups, phase, turns; /* turns: that it has had */
    int64_t step;
    bool copies, done, met;
    float *sums, *more, *terms[MOST_SECOND], *out[MOST_SECOND], *max, *by;
    VEC(struct under_way) products;
};

struct machine {
    const struct tile_program *t;
    const float *const *in;
    float *out;
    struct arena *arena;
    bool late, relative, in_turn, lags; /* in_turn: a step's second products follow its first ones;
                                           lags: their tiles come with the next step's */
    uint64_t seed;
    int64_t z, m0, first, steps;
    int64_t *list; /* the block's tiles, of which steps have one each from the first-th on */
    int n_agents, multiply, met, meeting, passed; /* passed: turns of all warpgroups */
    struct agent agent[MOST_AGENTS];
    float *tile[2 * MOST_FIRST + MOST_SECOND];
    struct agent *left; /* by part and agent: what they have left; n_left: parts so far */
    int part, n_left;
    int due[MOST_STAGES], there[MOST_STAGES], full[MOST_STAGES]; /* full, empty: phases */
    int arrivals[MOST_STAGES], empty[MOST_STAGES];
    VEC(struct copy) copies;
};

static const struct factor *factor(const struct machine *x, int ring) {
    const struct chained *c = x->t->chained;
    return ring == TILE_A ? &c->a[0] : ring == TILE_B ? &c->b[0] : &c->c[0];
}

static int64_t size(const struct machine *x, enum axis a) {
    return kernel_size(x->t->block->kernel, a);
}

/* Factors of a ring; those of c that are not shared are copied. */
static int factors_of(const struct machine *x, int ring) {
    return ring == TILE_C ? x->t->chained->n_second : x->t->chained->n_first;
}

static bool is_copied(const struct machine *x, int ring, int number) {
    return ring != TILE_C || !x->t->chained->c[number].shared;
}

/* Tiles and inputs are a, b, c, and those of the other first product, and second one. */
static int place_of(int ring, int number) { return ring + (number ? TILE_C + 1 : 0); }

static float *tile_of(const struct machine *x, int ring, int number, int stage) {
    const struct chained *c = x->t->chained;
    if (!is_copied(x, ring, number)) { /* as a b has it */
        int at = c->c[number].at;
        for (number = 0; c->b[number].at != at;) number++;
        ring = TILE_B;
    }
    const struct factor *f = factor(x, ring);
    size_t each = (size_t)(f->rows * f->depth);
    return x->tile[place_of(ring, number)] + (size_t)(ring == TILE_A ? 0 : stage) * each;
}

/* Row, and depth, of a factor: a[m][r], b[n][r], c[n][c], of which c has columns as rows. */
static float element(const struct machine *x, int ring, int number, int64_t row, int64_t depth) {
    int64_t rows = size(x, factor(x, ring)->axis), all = size(x, factor(x, ring)->along);
    const float *in = x->in[place_of(ring, number)];
    if (row >= rows || depth >= all) return 0;
    if (ring == TILE_C) return in[(x->z * all + depth) * rows + row];
    return in[(x->z * rows + row) * all + depth];
}

static int64_t tile_at(const struct machine *x, int64_t step) { return x->list[x->first + step]; }

static void land(struct machine *x, struct copy *c) {
    const struct factor *f = factor(x, c->ring);
    float *to = tile_of(x, c->ring, c->number, c->stage);
    /* The rows of a are there where no step has a tile, too. */
    int64_t column = c->ring == TILE_A ? 0 : tile_at(x, c->step) * x->t->block->layout.br,
            row = c->ring == TILE_A   ? x->m0
                  : c->ring == TILE_B ? column
                                      : 0,
            depth = c->ring == TILE_C ? column : 0;
    for (int i = c->first; i < c->first + c->n; i++)
        for (int d = 0; d < f->depth; d++)
            to[i * f->depth + d] = element(x, c->ring, c->number, row + i, depth + d);
    c->landed = true;
    if (!x->t->copiers) return;
    if (++x->there[c->stage] < x->due[c->stage]) return;
    x->there[c->stage] = 0;
    x->full[c->stage]++;
}

static bool land_one(struct machine *x) {
    uint32_t n = x->copies.n;
    x->seed = x->seed * 6364136223846793005u + 1442695040888963407u;
    for (uint32_t i = 0; i < n; i++) {
        struct copy *c = &x->copies.at[((x->seed >> 33) + i) % n];
        if (!c->landed) return land(x, c), true;
    }
    return false;
}

static void start_copy(struct machine *x, struct agent *g, int ring, int number, int ahead,
                       bool before) {
    int stages = x->t->block->layout.stages, rows = factor(x, ring)->rows;
    struct copy c = {.ring = ring,
                     .number = number,
                     .stage = (g->stage + ahead) % stages,
                     .agent = g->number,
                     .group = g->groups,
                     .n = rows,
                     .step = g->step + ahead - before};
    if (c.step < 0) return;
    if (ring == TILE_A ? x->t->copiers && g->step : c.step >= x->steps) return;
    if (!x->t->copiers) {
        c.n = rows / x->multiply;
        c.first = c.n * g->number;
    }
    vec_push(x->arena, &x->copies, c);
    if (!x->late) land(x, &x->copies.at[x->copies.n - 1]);
}

/* Rows of an agent. */
static int own_rows(const struct machine *x) { return factor(x, TILE_A)->rows / x->multiply; }

static void multiply_tile(struct machine *x, struct agent *g, const struct under_way *p,
                          int number) {
    int ring = p->second ? TILE_C : TILE_B;
    const struct factor *b = factor(x, ring);
    const float *left = p->second
                            ? g->terms[number]
                            : tile_of(x, TILE_A, number, 0) + g->number * own_rows(x) * b->depth,
                *right = tile_of(x, ring, number, p->stage);
    bool copied = is_copied(x, ring, number); /* else it is there the other way round */
    int row = copied ? b->depth : 1, step = copied ? 1 : b->rows;
    float *to = p->second ? g->out[number] : number ? g->more : g->sums;
    for (int i = 0; i < own_rows(x); i++)
        for (int j = 0; j < b->rows; j++) {
            double sum = p->second ? to[i * b->rows + j] : 0;
            for (int d = 0; d < b->depth; d++)
                sum += (double)left[i * b->depth + d] * right[j * row + d * step];
            to[i * b->rows + j] = (float)sum;
        }
}

/* Is product i, from 0 on, that of instruction n? A second product's 1 is the early one. */
static bool is_of(const struct machine *x, bool second, int n, int i) {
    if (!n) return true;
    int early = second ? chained_early_product(x->t->block) : 1;
    return (i + 1 == early) == (n == 1);
}

static void multiply(struct machine *x, struct agent *g, const struct under_way *p) {
    for (int i = 0; i < factors_of(x, p->second ? TILE_C : TILE_B); i++)
        if (is_of(x, p->second, p->number, i)) multiply_tile(x, g, p, i);
}

static void drain(struct machine *x, struct agent *g, int most) {
    while (g->products.n > (uint32_t)most) {
        multiply(x, g, &g->products.at[0]);
        for (uint32_t i = 1; i < g->products.n; i++) g->products.at[i - 1] = g->products.at[i];
        g->products.n--;
    }
}

static void start_product(struct machine *x, struct agent *g, bool second, bool of_before,
                          int number) {
    struct under_way p = {second, of_before ? g->before : g->stage, number};
    int n = own_rows(x) * factor(x, TILE_B)->rows;
    for (int i = 0; i < n && !second && number != 2; i++) g->sums[i] = NAN;
    for (int i = 0; i < n && !second && number != 1; i++) g->more[i] = NAN;
    vec_push(x->arena, &g->products, p);
    if (!x->late || !x->t->copiers) drain(x, g, 0);
}

/* One by one: of the first sums alone what is positive. */
static void relate_early(struct machine *x, struct agent *g) {
    for (int i = 0; i < own_rows(x) * factor(x, TILE_B)->rows; i++)
        if (!(g->sums[i] > 0)) g->sums[i] = isnan(g->sums[i]) ? NAN : 0;
}

static void relate(struct machine *x, struct agent *g) {
    int columns = factor(x, TILE_B)->rows;
    int64_t first = tile_at(x, g->step) * columns, all = size(x, AXIS_N);
    for (int i = 0; i < own_rows(x); i++) {
        float *row = g->sums + i * columns, max = g->max[i];
        for (int j = 0; j < columns && first + j < all; j++) max = fmaxf(max, row[j]);
        g->by[i] = x->relative ? expf(g->max[i] - max) : 1;
        g->max[i] = max;
        for (int j = 0; j < columns && x->t->chained->n_first > 1; j++)
            row[j] *= g->more[i * columns + j];
        for (int j = 0; j < columns; j++) {
            if (x->relative) row[j] = expf(row[j] - max);
            if (first + j >= all) row[j] = 0;
        }
    }
}

/* Of instruction n. */
static void take_terms(struct machine *x, struct agent *g, int n) {
    int columns = factor(x, TILE_B)->rows, wide = factor(x, TILE_C)->rows;
    for (int i = 0; i < own_rows(x); i++) {
        for (int j = 0; j < wide && !n; j++) g->out[0][i * wide + j] *= g->by[i];
        for (int p = 0; p < MOST_SECOND; p++)
            for (int j = 0; j < columns && is_of(x, true, n, p); j++)
                g->terms[p][i * columns + j] = g->sums[i * columns + j] / (float)(p + 1);
    }
}

static void store(struct machine *x, const struct agent *g) {
    int64_t nm = size(x, AXIS_M), nc = size(x, AXIS_C);
    int wide = factor(x, TILE_C)->rows;
    for (int p = 0; p < x->t->chained->n_second; p++)
        for (int i = 0; i < own_rows(x); i++) {
            int64_t m = x->m0 + g->number * own_rows(x) + i,
                    row = (p * size(x, AXIS_Z) + x->z) * nm + m;
            for (int c = 0; c < nc && m < nm; c++) x->out[row * nc + c] = g->out[p][i * wide + c];
        }
}

/* Waits for the others of the block. */
static bool meets(struct machine *x, struct agent *g) {
    if (!g->met) {
        g->met = true;
        g->phase = x->meeting;
        if (++x->met == x->multiply) x->met = 0, x->meeting++;
    }
    if (g->phase == x->meeting) return false;
    g->met = false;
    return true;
}

static float *copy_of(struct machine *x, const float *from, int n) {
    float *to = NEW_ARRAY(x->arena, float, n);
    for (int i = 0; i < n; i++) to[i] = from[i];
    return to;
}

static void leave(struct machine *x, const struct agent *g) {
    struct agent *to = &x->left[x->part * MOST_AGENTS + g->number];
    int rows = own_rows(x);
    to->max = copy_of(x, g->max, rows);
    for (int p = 0; p < MOST_SECOND; p++)
        to->out[p] = copy_of(x, g->out[p], rows * factor(x, TILE_C)->rows);
}

/* Each part stands on its own maximum. */
static void take_parts(struct machine *x, struct agent *g) {
    int rows = own_rows(x), wide = factor(x, TILE_C)->rows, parts = x->t->block->layout.split;
    for (int i = 0; i < rows; i++) {
        float max = -INFINITY;
        for (int s = 0; s < parts; s++)
            max = fmaxf(max, x->left[s * MOST_AGENTS + g->number].max[i]);
        for (int p = 0; p < MOST_SECOND; p++)
            for (int j = 0; j < wide; j++) {
                float sum = 0;
                for (int s = 0; s < parts; s++) {
                    const struct agent *l = &x->left[s * MOST_AGENTS + g->number];
                    sum += l->out[p][i * wide + j] * (x->relative ? expf(l->max[i] - max) : 1);
                }
                g->out[p][i * wide + j] = sum;
            }
    }
}

static void begin(struct machine *x, struct agent *g) {
    int wide = factor(x, TILE_C)->rows;
    for (int i = 0; i < own_rows(x); i++) {
        g->max[i] = -INFINITY;
        for (int j = 0; j < wide; j++) g->out[0][i * wide + j] = g->out[1][i * wide + j] = 0;
    }
}

static uint32_t end_of(const struct tile_program *t, uint32_t at) {
    int depth = 0;
    for (;; at++) {
        depth += tile_op_opens(t->code.at[at].op) - (t->code.at[at].op == TILE_END);
        if (!depth) return at;
    }
}

static uint32_t begin_of(const struct tile_program *t, uint32_t at) {
    int depth = 0;
    for (;; at--) {
        depth += (t->code.at[at].op == TILE_END) - tile_op_opens(t->code.at[at].op);
        if (!depth) return at;
    }
}

/* At an END; true: it goes back. */
static bool goes_back(struct machine *x, struct agent *g) {
    uint32_t from = begin_of(x->t, g->at);
    const struct tile_inst *c = &x->t->code.at[from];
    bool loop = c->op == TILE_LOOP || c->op == TILE_REST;
    if (c->op == TILE_AHEAD) g->stage = (int)++g->step % x->t->block->layout.stages;
    if (loop) g->step++;
    if (loop ? g->step >= x->steps : c->op != TILE_AHEAD || g->step >= c->n) return false;
    g->at = from + 1;
    return true;
}

/* False: it waits. */
static bool go_on(struct machine *x, struct agent *g) {
    const struct tile_inst *c = &x->t->code.at[g->at];
    int stages = x->t->block->layout.stages;
    bool later = false, behind;
    int at;
    switch (c->op) {
    case TILE_AHEAD:
    case TILE_LOOP:
        g->step = 0, g->stage = 0;
        if (x->steps < 1 && c->op == TILE_LOOP) g->at = end_of(x->t, g->at); /* an empty part */
        break;
    case TILE_REST:
        g->step = 1;
        if (x->steps < 2) g->at = end_of(x->t, g->at);
        break;
    case TILE_END:
        if (g->at == g->end) return g->done = true, false;
        if (goes_back(x, g)) return true;
        break;
    case TILE_WAIT_EMPTY:
        if (g->step >= stages && x->empty[g->stage] < (int)(g->step / stages)) return false;
        x->due[g->stage] = g->step < x->steps ? x->t->chained->n_first * (g->step ? 1 : 2) : 0;
        for (int i = 0; i < x->t->chained->n_second && !(x->lags && !g->step); i++)
            x->due[g->stage] += is_copied(x, TILE_C, i);
        break;
    case TILE_WAIT_FULL:
        if (x->full[g->stage] < (int)(g->step / stages) + 1) return false;
        break;
    case TILE_COPY:
        for (int i = 0; i < factors_of(x, c->ring); i++)
            if (is_copied(x, c->ring, i)) start_copy(x, g, c->ring, i, c->n, false);
        break;
    case TILE_COPY_BEFORE: start_copy(x, g, TILE_C, 0, 0, true); break;
    case TILE_GROUP: g->groups++; break;
    case TILE_LANDED:
        for (uint32_t i = 0; i < x->copies.n; i++) {
            struct copy *p = &x->copies.at[i];
            if (!p->landed && p->agent == g->number && p->group < g->groups - c->n) land(x, p);
        }
        if (!meets(x, g)) return false;
        break;
    case TILE_WAIT_TURN:
        if (x->passed < g->turns * x->multiply + g->number) return false;
        break;
    case TILE_PASS_TURN:
        g->turns++;
        x->passed++;
        break;
    case TILE_BEGIN: begin(x, g); break;
    case TILE_DOT: start_product(x, g, false, false, c->n); break;
    case TILE_DOT_SECOND:
        later = !x->in_turn && !x->lags;
        start_product(x, g, true, later, c->n);
        break;
    case TILE_RELATE: (c->n == 1 ? relate_early : relate)(x, g); break;
    case TILE_TERMS: take_terms(x, g, c->n); break;
    case TILE_DRAIN: drain(x, g, c->n); break;
    case TILE_ARRIVE:
        behind = x->in_turn && x->t->block->one_by_one;
        if (behind && !g->step) break; /* for the step before */
        at = (x->in_turn || x->lags) && !behind ? g->stage : g->before;
        if (++x->arrivals[at] == x->multiply) x->arrivals[at] = 0, x->empty[at]++;
        break;
    case TILE_NEXT:
        g->before = g->stage;
        g->stage = (g->stage + 1) % stages;
        break;
    case TILE_LEAVE:
        leave(x, g);
        if (!meets(x, g)) return false;
        break;
    case TILE_LAST:
        if (x->n_left < c->n) return g->done = true, false;
        take_parts(x, g);
        break;
    case TILE_STORE: store(x, g); break;
    default: break;
    }
    g->at++;
    return true;
}

static void add_agents(struct machine *x) {
    const struct tile_program *t = x->t;
    x->n_agents = 0;
    for (uint32_t at = 0; at < t->code.n; at = end_of(t, at) + 1) {
        bool copies = t->copiers && at == 0;
        for (int i = 0; i < (copies ? 1 : x->multiply); i++) {
            struct agent *g = &x->agent[x->n_agents++];
            size_t rows = (size_t)own_rows(x);
            *g = (struct agent){.at = at, .end = end_of(t, at), .number = i, .copies = copies};
            g->sums = NEW_ARRAY(x->arena, float, rows *(size_t)factor(x, TILE_B)->rows);
            g->more = NEW_ARRAY(x->arena, float, rows *(size_t)factor(x, TILE_B)->rows);
            for (int p = 0; p < MOST_SECOND; p++) {
                g->terms[p] = NEW_ARRAY(x->arena, float, rows *(size_t)factor(x, TILE_B)->rows);
                g->out[p] = NEW_ARRAY(x->arena, float, rows *(size_t)factor(x, TILE_C)->rows);
            }
            g->max = NEW_ARRAY(x->arena, float, rows);
            g->by = NEW_ARRAY(x->arena, float, rows);
        }
    }
}

static const char *run_block(struct machine *x) {
    add_agents(x);
    for (int r = 0; r < 2 * (TILE_C + 1); r++) {
        const struct factor *f = factor(x, r % (TILE_C + 1));
        size_t n = (size_t)(f->rows * f->depth) * (size_t)x->t->block->layout.stages;
        x->tile[r] = NEW_ARRAY(x->arena, float, n);
        for (size_t i = 0; i < n; i++) x->tile[r][i] = NAN;
    }
    for (;;) {
        bool moved = false, running = false;
        for (int i = 0; i < x->n_agents; i++) {
            struct agent *g = &x->agent[(i + (int)(x->seed % 7)) % x->n_agents];
            while (!g->done && go_on(x, g)) moved = true;
            running |= !g->done;
        }
        if (!running) return NULL;
        if (!moved && !land_one(x)) return "everybody waits, and nothing is under way";
    }
}

/* The tiles that count for the block, number i of all tiles of rows; how many. */
static int64_t list_tiles(struct machine *x, int64_t i, const bool *counts) {
    const struct kernel *k = x->t->block->kernel;
    int columns = x->t->block->layout.br;
    int64_t n = 0, across = (size(x, AXIS_N) + columns - 1) / columns;
    struct depth_range r = chained_range(k, x->z, x->m0, x->t->block->layout.bx);
    x->list = NEW_ARRAY(x->arena, int64_t, across);
    for (int64_t at = r.from / columns; at < (r.end + columns - 1) / columns; at++)
        if (!x->t->chained->skips || counts[i * across + at]) x->list[n++] = at;
    if (!n) x->list[n++] = r.from / columns;
    return n;
}

const char *tile_run_chained(const struct tile_program *t, const float *const in[], float *out,
                             bool relative, const bool *counts, uint64_t seed, struct arena *a) {
    const struct kernel *k = t->block->kernel;
    int64_t rows = t->block->layout.bx, down = (kernel_size(k, AXIS_M) + rows - 1) / rows;
    int64_t n = kernel_size(k, AXIS_Z) * kernel_size(k, AXIS_M) * kernel_size(k, AXIS_C) *
                t->chained->n_second;
    for (int64_t i = 0; i < n; i++) out[i] = NAN;
    int parts = t->block->layout.split;
    struct agent *left = NEW_ARRAY(a, struct agent, parts * MOST_AGENTS);
    /* Each tile as if it were a block's first. */
    for (int64_t i = 0; i < kernel_size(k, AXIS_Z) * down * parts; i++) {
        int64_t tile = i / parts;
        struct machine x = {.t = t,
                            .in = in,
                            .out = out,
                            .arena = a,
                            .late = seed & 1,
                            .relative = relative,
                            .in_turn = chained_is_in_turn(&t->block->layout),
                            .lags = chained_lags(&t->block->layout),
                            .seed = seed + (uint64_t)i * 2,
                            .z = tile / down,
                            .m0 = tile % down * rows,
                            .multiply = t->copiers ? t->chained->warpgroups : 2,
                            .left = left,
                            .part = (int)((i + (int64_t)seed) % parts), /* whichever comes last */
                            .n_left = (int)(i % parts) + 1};
        int64_t all = list_tiles(&x, tile, counts), each = (all + parts - 1) / parts;
        x.first = x.part * each < all ? x.part * each : all;
        x.steps = all - x.first < each ? all - x.first : each;
        const char *bad = run_block(&x);
        if (bad) return bad;
    }
    return NULL;
}
