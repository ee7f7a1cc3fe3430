/* recurrence.c: a recurrence as a body, what a config means for it, and what it takes: see
 * recurrence.h. */
#include "kernel/recurrence.h"

#include <math.h>
#include <string.h>

#include "graph/traits.h"
#include "kernel/builder.h"
#include "kernel/space.h"

enum {
    MOST_WARPS = 8,
    MOST_AHEAD = 64,
    MOST_REGISTERS = 240,     /* of a thread's 255 */
    MOST_INSTRUCTIONS = 6000, /* of all steps that are written out: they stay at hand */
    VECTOR = 16,              /* bytes */
};

/* ---- the body -------------------------------------------------------------------------------- */

static const struct buffer *buffer_at(const struct kernel *k, buffer_id b) {
    return &k->schedule->loops->buffers.at[b];
}

static bool is_carried(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    return x->kind == INST_LOAD && buffer_at(k, x->buffer)->kind == BUFFER_WINDOW &&
           buffer_at(k, x->buffer)->window.carried;
}

/* The value that the step before has left where v is read. */
static value_id next_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        if (buffer_at(k, s->buffer)->window.of == buffer_at(k, x->buffer)->window.of &&
            s->index == x->index)
            return s->value;
    }
    WS_BUG("v%u is read where no step leaves it", v);
}

/* Does anything behind the loop read memory `of`? */
static bool is_read_behind(const struct kernel *k, const struct nest *own, buffer_id of) {
    const struct loops *l = k->schedule->loops;
    if (l->buffers.at[of].kind == BUFFER_OUTPUT) return true;
    for (uint32_t i = 0; i < l->nests.n; i++) {
        const struct nest *n = &l->nests.at[i];
        for (inst_id j = 0; j < n->insts.n && n->epoch != own->epoch; j++) {
            const struct buffer *b = &l->buffers.at[n->insts.at[j].buffer];
            if (n->insts.at[j].kind != INST_LOAD) continue;
            if (n->insts.at[j].buffer == of || (b->kind == BUFFER_WINDOW && b->window.of == of) ||
                (b->kind == BUFFER_WINDOW && b->window.carried && b->window.start == of))
                return true;
        }
    }
    return false;
}

/* What is carried, and of what is stored that which is wanted behind the loop. */
static void find_carries(struct kernel *k, struct recurrent *r, const struct nest *own) {
    uint32_t kept = 0;
    for (value_id v = 0; v < k->values.n; v++)
        if (is_carried(k, v)) vec_push(k->arena, &r->carries, ((struct carry){v, next_of(k, v)}));
    r->last = NEW_ARRAY(k->arena, bool, k->stores.n);
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct loop_window *w = &buffer_at(k, k->stores.at[i].buffer)->window;
        if (!is_read_behind(k, own, w->of)) continue;
        r->last[kept] = w->ring > 0;
        k->stores.at[kept++] = k->stores.at[i];
    }
    k->stores.n = kept;
}

static void add_argument(struct kernel *k, buffer_id b) {
    for (uint32_t i = 0; i < k->buffers.n; i++)
        if (k->buffers.at[i] == b) return;
    vec_push(k->arena, &k->buffers, b);
}

static double bytes_of(const struct kernel *k, buffer_id b) {
    return (double)buffer_bytes(k->schedule->loops, b);
}

/* All that a window goes along, once. */
static double bytes_of_steps(const struct kernel *k, buffer_id b) {
    const struct buffer *x = buffer_at(k, b);
    if (x->kind != BUFFER_WINDOW) return bytes_of(k, b);
    return fmin(bytes_of(k, b) * (double)k->recurrent->n, bytes_of(k, x->window.of));
}

static void find_arguments(struct kernel *k) {
    enum { NARROW = 1 << 30 };
    for (value_id v = 0; v < k->values.n; v++) {
        buffer_id b = k->values.at[v].buffer;
        if (k->values.at[v].kind != INST_LOAD) continue;
        uint32_t n = k->buffers.n;
        add_argument(k, b);
        if (n == k->buffers.n) continue;
        if (!is_carried(k, v))
            k->bytes_read += bytes_of_steps(k, b);
        else if (!buffer_at(k, b)->window.from_number)
            k->bytes_read += bytes_of(k, buffer_at(k, b)->window.start);
    }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        buffer_id b = k->stores.at[i].buffer;
        add_argument(k, b);
        k->bytes_written += bytes_of(k, b) * (double)(k->recurrent->last[i] ? 1 : k->recurrent->n);
    }
    for (uint32_t i = 0; i < k->buffers.n; i++)
        k->wide_index |= buffer_storage(k->schedule->loops, k->buffers.at[i]) >= NARROW;
}

struct kernel *kernel_build_recurrence(const struct schedule *s, uint32_t group,
                                       const struct device_limits *limits, struct arena *a) {
    struct kernel *k = kernel_new(s, limits, a);
    struct builder w = builder_of(k, group);
    const struct nest *own = &s->loops->nests.at[w.g->members.at[0].nest];
    struct steps *steps = NEW(a, struct steps);
    struct recurrent *r = NEW(a, struct recurrent);
    ex x[GROUP_MAX_AXES];
    steps->n = r->n = nest_steps(s->loops, own);
    r->step = s->loops->step[loop_of(own->epoch)];
    k->kind = KERNEL_RECURRENCE;
    k->steps = steps;
    k->recurrent = r;
    name_kernel(&w);
    expand_group(&w);
    memcpy(x, w.g->x, sizeof x);
    flatten(k, AXIS_X, "x", x, merge_axes(k, x, w.g->n_x));
    if (w.g->n_r) flatten(k, AXIS_R, "r", w.g->r, w.g->n_r);
    find_masks(k);
    find_carries(k, r, own);
    find_arguments(k);
    k->flops = kernel_flops(k) * (double)r->n;
    return k;
}

const struct carry *recurrence_carry(const struct kernel *k, value_id load) {
    for (uint32_t i = 0; i < k->recurrent->carries.n; i++)
        if (k->recurrent->carries.at[i].load == load) return &k->recurrent->carries.at[i];
    return NULL;
}

static bool uses_step(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    return x->kind == INST_INDEX && ex_uses(k->ex, x->index, k->recurrent->step);
}

bool recurrence_changes(const struct kernel *k, value_id v) {
    const bool *parts = kernel_parts(k, v);
    for (value_id i = 0; i <= v; i++)
        if (parts[i] && ((k->values.at[i].kind == INST_LOAD &&
                          buffer_at(k, k->values.at[i].buffer)->kind == BUFFER_WINDOW) ||
                         uses_step(k, i)))
            return true;
    return false;
}

bool recurrence_counts(const struct kernel *k, value_id v) {
    return uses_step(k, v) && k->values.at[v].mask == 0;
}

bool recurrence_loads_ahead(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind != INST_LOAD || is_carried(k, v)) return false;
    for (int a = 0; a < x->n_args; a++)
        if (recurrence_changes(k, x->args[a]) &&
            !(x->guarded && a == 0 && recurrence_counts(k, x->args[a])))
            return false;
    return buffer_at(k, x->buffer)->kind == BUFFER_WINDOW;
}

static void need(const struct kernel *k, bool *needed, value_id v) {
    const bool *parts = kernel_parts(k, v);
    for (value_id i = 0; i <= v && !needed[v]; i++) needed[i] |= parts[i] && i != v;
    needed[v] = true;
}

bool *recurrence_needed(const struct kernel *k, struct arena *a) {
    const struct recurrent *r = k->recurrent;
    bool *needed = NEW_ARRAY(a, bool, k->values.n);
    for (uint32_t i = 0; i < k->stores.n; i++) need(k, needed, k->stores.at[i].value);
    for (uint32_t n = 0; n <= r->carries.n; n++) /* one may need the one before it in the list */
        for (uint32_t i = 0; i < r->carries.n; i++)
            if (needed[r->carries.at[i].load]) need(k, needed, r->carries.at[i].next);
    return needed;
}

/* ---- the layout ------------------------------------------------------------------------------ */

static int longest_vector(const struct recurrent_layout *y, enum dtype t) {
    int vec = 1;
    while (y->own % (2 * vec) == 0 && 2 * vec * dtype_bytes(t) <= VECTOR) vec *= 2;
    return vec;
}

/* Does each step of the window begin where such vectors do? */
static bool is_aligned(const struct buffer *b, int vec) {
    const struct loop_window *w = &b->window;
    return b->kind != BUFFER_WINDOW ||
           (w->each * w->first % vec == 0 && w->each * w->way % vec == 0);
}

int recurrence_load_vector(const struct kernel *k, const struct recurrent_layout *y,
                           value_id load) {
    const struct value_node *x = &k->values.at[load];
    const struct buffer *b = buffer_at(k, x->buffer);
    int vec = longest_vector(y, b->meta.dtype);
    if (!(x->mask & MASK_R)) return 1;
    while (vec > 1 && !(load_is_vector(k, x, AXIS_R, vec) && is_aligned(b, vec))) vec /= 2;
    return vec;
}

int recurrence_store_vector(const struct kernel *k, const struct recurrent_layout *y,
                            const struct store_node *s) {
    const struct buffer *b = buffer_at(k, s->buffer);
    int vec = longest_vector(y, b->meta.dtype);
    if (!(s->mask & MASK_R)) return 1;
    while (vec > 1 && !(index_is_vector(k, s->index, AXIS_R, vec) && is_aligned(b, vec))) vec /= 2;
    return vec;
}

static int words_of(enum dtype t) { return dtype_bytes(t) == 8 ? 2 : 1; }

/* Of a thread: what is carried, what no step changes, and what is under way. */
static int64_t counted_registers(const struct kernel *k, const struct recurrent_layout *y) {
    int64_t n = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        int64_t each = x->mask & MASK_R ? y->own : 1;
        if (x->kind == INST_CONST) continue;
        if (recurrence_loads_ahead(k, v)) {
            int64_t vec = recurrence_load_vector(k, y, v),
                    words = tile_count(vec * dtype_bytes(x->dtype), 4);
            n += each / vec * words * y->block * (y->doubles ? 2 : 1);
            if (!x->guarded) n += 2; /* its address */
        } else if (recurrence_carry(k, v) || (x->kind == INST_LOAD && !recurrence_changes(k, v))) {
            n += each * words_of(x->dtype);
        }
    }
    return n;
}

/* The compiler's own come beside these; where a register is loaded again while others of its step
 * are in use, it takes a second one for many: of 30 kernels 1.1 to 1.5 times those counted. So many
 * at most, or about, which decides how many warps a multiprocessor has at once: neighbours of a
 * fit take twice as long or half, so that it has to be near. */
static int64_t registers_of(const struct kernel *k, const struct recurrent_layout *y) {
    int64_t n = counted_registers(k, y);
    return y->doubles ? n + 40 : n * 8 / 5;
}

static int64_t likely_registers(const struct kernel *k, const struct recurrent_layout *y) {
    const int64_t UNIT = 8, OWN = 26;
    int64_t n = counted_registers(k, y);
    return tile_count(y->doubles ? n + OWN : n * 13 / 10 + UNIT, UNIT) * UNIT;
}

/* Of a step: each is copied, when the next block's have arrived. */
static int64_t words_of_step(const struct kernel *k, const struct recurrent_layout *y) {
    int64_t n = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!recurrence_loads_ahead(k, v)) continue;
        int64_t vec = recurrence_load_vector(k, y, v);
        n += (x->mask & MASK_R ? y->own : 1) / vec * tile_count(vec * dtype_bytes(x->dtype), 4);
    }
    return n;
}

/* Is it added to something, in one instruction with the product that it is made of? */
static bool multiplies_and_adds(const struct kernel *k, const struct value_node *x) {
    bool adds = (x->kind == INST_OP && (x->op == OP_ADD || x->op == OP_SUB)) ||
                (x->kind == INST_REDUCE && x->reduction == REDUCTION_SUM);
    for (int a = 0; a < x->n_args && adds; a++) {
        const struct value_node *of = &k->values.at[x->args[a]];
        if (of->kind == INST_OP && of->op == OP_MUL && dtype_is_float(of->dtype)) return true;
    }
    return false;
}

static bool is_renamed(const struct kernel *k, const struct value_node *x) {
    return x->kind == INST_CAST && !x->rounds &&
           dtype_opmath(x->dtype) == dtype_opmath(k->values.at[x->args[0]].dtype);
}

/* Of a thread's step. */
static double instructions_of(const struct kernel *k, const struct recurrent_layout *y) {
    double n = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        double each = x->mask & MASK_R ? y->own : 1;
        if (x->kind == INST_CONST || recurrence_carry(k, v) || !recurrence_changes(k, v)) continue;
        if (x->kind == INST_REDUCE)
            n += (multiplies_and_adds(k, x) ? 0 : y->own) + 2 * log2(y->lanes);
        else if (multiplies_and_adds(k, x) || is_renamed(k, x))
            continue;
        else if (x->kind == INST_LOAD)
            n += 2 * each / recurrence_load_vector(k, y, v) + each;
        else
            n += each * (x->kind == INST_OP ? op_size(x->op, x->dtype) : 1);
    }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        double each = s->mask & MASK_R ? y->own : 1;
        n += 2 * each / recurrence_store_vector(k, y, s) + 1;
    }
    return n;
}

static const char *check_knobs(const struct config *c, bool cpu, struct arena *a) {
    for (int i = 0; i < KNOB_COUNT; i++) {
        bool needed = cpu ? i == KNOB_x : i == KNOB_r || i == KNOB_warps || i == KNOB_stages;
        if (i == KNOB_ahead && !cpu) continue;
        if (needed != (c->knob[i] > 0))
            return arena_printf(a, needed ? "it needs %s" : "%s is no knob of a recurrence",
                                knob_name((enum knob)i));
    }
    if (c->knob[KNOB_ahead] && (c->knob[KNOB_ahead] != 1 || c->knob[KNOB_stages] % 2))
        return "ahead=1 wants two blocks of stages";
    return c->knob[KNOB_warps] > MOST_WARPS || c->knob[KNOB_stages] > MOST_AHEAD
               ? "too many warps or stages"
               : NULL;
}

/* Bytes of a thread's arrays: what is carried, and what no step changes. */
static int64_t kept_bytes(const struct kernel *k, int64_t points) {
    int64_t bytes = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        bool kept = recurrence_carry(k, v) || (x->kind == INST_LOAD && !recurrence_changes(k, v));
        if (!kept) continue;
        bytes += (x->mask & MASK_X ? points : 1) * dtype_bytes(dtype_opmath(x->dtype)) *
                 (x->mask & MASK_R ? kernel_size(k, AXIS_R) : 1);
    }
    return bytes;
}

/* So many points of a task. */
static const char *points_layout(const struct kernel *k, int points, struct layout *y,
                                 struct recurrent_layout *r, struct arena *a) {
    const int64_t MOST = 512 << 10; /* of a thread's stack */
    if (points > 1 && kept_bytes(k, points) > MOST)
        return arena_printf(a, "x=%d: too much is carried", points);
    r->points = points;
    r->lanes = r->block = 1;
    r->own = (int)kernel_size(k, AXIS_R);
    r->blocks = tile_count(kernel_size(k, AXIS_X), points);
    y->threads = 1;
    y->recurrent = r;
    return NULL;
}

const char *recurrence_layout(const struct kernel *k, const struct config *c, struct layout *y,
                              struct arena *a) {
    struct recurrent_layout *r = NEW(a, struct recurrent_layout);
    bool cpu = k->limits->kind == DEVICE_CPU;
    const char *bad = check_knobs(c, cpu, a);
    int64_t n = kernel_size(k, AXIS_R);
    if (bad) return bad;
    if (cpu) return points_layout(k, c->knob[KNOB_x], y, r, a);
    r->own = c->knob[KNOB_r];
    r->doubles = c->knob[KNOB_ahead] == 1;
    r->block = c->knob[KNOB_stages] / (r->doubles ? 2 : 1);
    r->lanes = 1;
    if (r->own > n) return arena_printf(a, "r=%d", r->own);
    while (r->lanes * r->own < n) r->lanes *= 2;
    if (r->lanes > k->limits->warp)
        return arena_printf(a, "r=%d: %d lanes; a warp has %d", r->own, r->lanes, k->limits->warp);
    if (c->knob[KNOB_stages] > k->recurrent->n)
        return arena_printf(a, "stages=%d", c->knob[KNOB_stages]);
    bool least = c->knob[KNOB_stages] == 1 && r->lanes == k->limits->warp; /* there has to be one */
    if (!least && registers_of(k, r) > MOST_REGISTERS)
        return arena_printf(a, "%lld registers; %d is the limit", (long long)registers_of(k, r),
                            MOST_REGISTERS);
    if (r->block > 1 && instructions_of(k, r) * r->block > MOST_INSTRUCTIONS)
        return "too many instructions";
    y->threads = c->knob[KNOB_warps] * k->limits->warp;
    r->blocks = tile_count(kernel_size(k, AXIS_X) * r->lanes, y->threads);
    y->recurrent = r;
    return NULL;
}

/* Of a step, clocks behind each other: what is made of what is carried. */
static double chain_of(const struct kernel *k, const struct recurrent_layout *y) {
    const double OP = 5, FAR = 20, LANES = 26;
    double *at = NEW_ARRAY(k->arena, double, k->values.n), longest = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        bool carried = recurrence_carry(k, v) != NULL;
        at[v] = carried ? 0 : -INFINITY;
        for (int a = 0; a < x->n_args && !carried; a++) at[v] = fmax(at[v], at[x->args[a]]);
        if (carried || x->kind == INST_CAST) continue;
        if (x->kind == INST_REDUCE)
            at[v] += OP * y->own + LANES * log2(y->lanes);
        else
            at[v] += x->kind == INST_OP && op_size(x->op, x->dtype) > 2 ? FAR : OP;
    }
    for (uint32_t i = 0; i < k->recurrent->carries.n; i++)
        longest = fmax(longest, at[k->recurrent->carries.at[i].next]);
    return longest;
}

/* What a thread loads, or stores. */
struct access_of {
    ex index;
    uint8_t mask;
    int vec, bytes; /* elements at once, and of one of them */
    bool stores;
};

/* How much of the sectors that a warp touches at once counts: neighbours are a thread's vector,
 * those of lanes that have one each, or points side by side. */
static double used_of_sectors(const struct kernel *k, const struct recurrent_layout *y,
                              const struct access_of *a) {
    const double SECTOR = 32;
    int warp = k->limits->warp, points = warp / y->lanes;
    bool wide = a->mask & MASK_R, along = wide && index_stride(k, a->index, AXIS_R) == 1;
    int64_t by_x =
        a->mask & MASK_X && points > 1 ? index_stride_inside(k, a->index, AXIS_X, points) : 0;
    double run = a->bytes;
    if (!(a->mask & MASK_X) || (!wide && by_x == 0)) return 1; /* all threads' */
    if (along) run *= a->vec == y->own ? y->own * y->lanes : a->stores ? a->vec : y->own;
    if (by_x == 1) run *= points;
    return fmin(1, run / SECTOR);
}

/* Bytes of the sectors that loads ask for. */
static double bytes_of_loads(const struct kernel *k, const struct recurrent_layout *y) {
    double bytes = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!recurrence_loads_ahead(k, v)) continue;
        struct access_of a = {x->index, x->mask, recurrence_load_vector(k, y, v),
                              dtype_bytes(buffer_at(k, x->buffer)->meta.dtype), false};
        bytes += bytes_of_steps(k, x->buffer) / used_of_sectors(k, y, &a);
    }
    return bytes;
}

/* Bytes that stores leave out of the sectors they go to: others fill them later. */
static double bytes_left_out(const struct kernel *k, const struct recurrent_layout *y) {
    double bytes = 0;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        const struct buffer *b = buffer_at(k, s->buffer);
        struct access_of a = {s->index, s->mask, recurrence_store_vector(k, y, s),
                              dtype_bytes(b->meta.dtype), true};
        if (k->recurrent->last[i]) continue;
        bytes +=
            bytes_of(k, s->buffer) * (double)k->recurrent->n * (1 / used_of_sectors(k, y, &a) - 1);
    }
    return bytes;
}

/* Clocks of a step of a thread's, where a scheduler has so many warps: their instructions, and part
 * of what is behind each other in it. Where registers are loaded again in place, its part of a way
 * to memory comes behind. Where the next block has its own, that is under way meanwhile, but for
 * what the block's end waits for, and each word is copied. */
static double step_on_gpu(const struct kernel *k, const struct recurrent_layout *r, double warps) {
    const double ISSUE = 0.96, ALONE = 2.3, CHAIN = 0.37, IN_PLACE = 600, MEMORY = 660, END = 310;
    double instructions = instructions_of(k, r) + (double)(r->doubles ? words_of_step(k, r) : 0);
    double work = ISSUE * fmax(warps, ALONE) * instructions + CHAIN * chain_of(k, r);
    if (!r->doubles) return work + IN_PLACE / r->block;
    return cbrt(pow(work, 3) + pow(MEMORY / r->block, 3)) + END / r->block;
}

/* us, of an H200, fitted to 133 configs of five programs, all of their texts of today; blocks for
 * which registers do not suffice come behind the others. */
static double cost_on_gpu(const struct kernel *k, const struct layout *y) {
    const double START = 2.5, CLOCK = 1700, BYTES_A_US = 4e6, SECTOR_BYTES_A_US = 5.5e6,
                 LEFT_OUT_A_US = 1e6, SCHEDULERS = 4, REGISTERS = 65536;
    const struct recurrent_layout *r = y->recurrent;
    double blocks = ceil((double)r->blocks / k->limits->units);
    double fit = floor(REGISTERS / (y->threads * fmin((double)likely_registers(k, r), 255)));
    double rounds = ceil(blocks / fmax(1, fit));
    double warps = ceil(fmin(blocks, fmax(1, fit)) * y->threads / k->limits->warp / SCHEDULERS);
    double us = rounds * step_on_gpu(k, r, warps) * (double)k->recurrent->n / CLOCK;
    double moved = fmax((k->bytes_read + k->bytes_written) / BYTES_A_US,
                        bytes_of_loads(k, r) / SECTOR_BYTES_A_US) +
                   bytes_left_out(k, r) / LEFT_OUT_A_US;
    return START + fmax(us, moved) + 0.1 * fmin(us, moved);
}

/* us: a task's step is what its vectors take, and where what is kept is more than the first cache
 * has, as much again; and a little for itself. */
static double cost_on_cores(const struct kernel *k, const struct layout *y) {
    const double START = 5, CLOCK = 3000, A_CYCLE = 2, STEP = 12, L1 = 32 << 10, BYTES_A_US = 2e4;
    const struct recurrent_layout *r = y->recurrent;
    double lanes = k->limits->simd_bytes / 4.0, vectors = ceil(r->points / lanes);
    double step =
        STEP + vectors * instructions_of(k, r) / A_CYCLE * (kept_bytes(k, r->points) > L1 ? 2 : 1);
    double us = ceil((double)r->blocks / k->limits->units) * step * (double)k->recurrent->n / CLOCK;
    return START + fmax(us, (k->bytes_read + k->bytes_written) / BYTES_A_US);
}

double recurrence_cost(const struct kernel *k, const struct layout *y) {
    return (k->limits->kind == DEVICE_CPU ? cost_on_cores : cost_on_gpu)(k, y);
}

/* ---- what is worth trying -------------------------------------------------------------------- */

void propose_recurrence(struct space *s) {
    /* two warps first: the model knows no first cache, where they find each other's data */
    static const int32_t warps[] = {2, 1, 4}, stages[] = {1, 2, 4, 8, 16, 32, 64};
    int64_t n = kernel_size(s->k, AXIS_R);
    for (int x = 1; x <= 512 && s->k->limits->kind == DEVICE_CPU; x *= 2)
        propose(s, CONFIG(K(x, x)));
    for (int32_t lanes = 1; lanes <= 32 && s->k->limits->kind == DEVICE_CUDA; lanes *= 2)
        for (size_t w = 0; w < sizeof warps / sizeof *warps; w++)
            for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
                for (int doubles = 0; doubles < (stages[i] > 1 ? 2 : 1); doubles++)
                    propose(s, CONFIG(K(r, (int32_t)tile_count(n, lanes)), K(warps, warps[w]),
                                      K(stages, stages[i]), K(ahead, doubles)));
}
