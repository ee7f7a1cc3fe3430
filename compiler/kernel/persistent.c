/* persistent.c: a loop's steps as a body, what a config means for them, and what they take: see
 * persistent.h. */
#include "kernel/persistent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/traits.h"
#include "kernel/builder.h"
#include "kernel/space.h"

enum {
    MOST_OF_TILE = 64, /* sums of a thread */
    MOST_THREADS = 512,
    MOST_REGISTERS = 255,
    OTHER_REGISTERS = 56, /* of a thread on the matrix units */
    MOST_VECTORS = 12,    /* that a thread waits for at a time */
};

/* ---- the body -------------------------------------------------------------------------------- */

static bool is_stored_here(const struct kernel *k, buffer_id b) {
    bool any = false;
    for (uint32_t i = 0; i < k->stores.n; i++) any |= k->stores.at[i].buffer == b;
    return any;
}

/* Is v made of what no step changes? */
static bool is_invariant(const struct kernel *k, value_id v) {
    const bool *parts = kernel_parts(k, v);
    for (value_id i = 0; i <= v; i++) {
        const struct value_node *x = &k->values.at[i];
        if (parts[i] && x->kind == INST_LOAD &&
            (k->schedule->loops->buffers.at[x->buffer].kind == BUFFER_WINDOW ||
             is_stored_here(k, x->buffer)))
            return false;
    }
    return true;
}

static int slab_of(struct kernel *k, struct steps *s, value_id a) {
    for (uint32_t i = 0; i < s->slabs.n; i++)
        if (s->slabs.at[i] == a) return (int)i;
    vec_push(k->arena, &s->slabs, a);
    return (int)s->slabs.n - 1;
}

static bool stands_on_a_sum(const struct kernel *k, value_id v) {
    const bool *parts = kernel_parts(k, v);
    for (value_id i = 0; i <= v; i++)
        if (parts[i] && k->values.at[i].kind == INST_REDUCE) return true;
    return false;
}

/* Of a value, its arguments being known: behind the store of what it loads. */
static int phase_of(const struct kernel *k, const struct steps *s, value_id v) {
    const struct value_node *x = &k->values.at[v];
    int phase = 0;
    for (int a = 0; a < x->n_args; a++)
        if (s->phase[x->args[a]] > phase) phase = s->phase[x->args[a]];
    for (uint32_t i = 0; i < k->stores.n && x->kind == INST_LOAD; i++) {
        value_id stored = k->stores.at[i].value;
        if (k->stores.at[i].buffer == x->buffer && phase <= s->phase[stored])
            phase = s->phase[stored] + 1;
    }
    return phase;
}

/* What is loaded may have a lower number than what is stored there. */
static void find_phases(struct kernel *k, struct steps *s) {
    s->phase = NEW_ARRAY(k->arena, int, k->values.n);
    for (bool changed = true; changed;) {
        changed = false;
        for (value_id v = 0; v < k->values.n; v++) {
            int phase = phase_of(k, s, v);
            changed |= phase != s->phase[v];
            s->phase[v] = phase;
            if (phase >= s->phases) s->phases = phase + 1;
        }
    }
}

static int by_phase(const void *a, const void *b) { /* of some as they come */
    const int *x = a, *y = b;
    if (x[1] != y[1]) return x[1] < y[1] ? -1 : 1;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Slabs in the order of phases. */
static void sort_slabs(struct kernel *k, struct steps *s) {
    int(*order)[2] = (int(*)[2])NEW_ARRAY(k->arena, int, 2 * s->slabs.n);
    int *place = NEW_ARRAY(k->arena, int, s->slabs.n);
    value_id *sorted = NEW_ARRAY(k->arena, value_id, s->slabs.n);
    for (uint32_t i = 0; i < s->slabs.n; i++)
        order[i][0] = (int)i, order[i][1] = s->phase[s->slabs.at[i]];
    qsort(order, s->slabs.n, sizeof *order, by_phase);
    for (uint32_t i = 0; i < s->slabs.n; i++) {
        sorted[i] = s->slabs.at[order[i][0]];
        place[order[i][0]] = (int)i;
    }
    s->slabs.at = sorted;
    for (uint32_t i = 0; i < s->taps.n; i++) s->taps.at[i].slab = place[s->taps.at[i].slab];
}

/* Every sum is of a factor that changes and one that does not. */
static const char *find_taps(struct kernel *k, struct steps *s) {
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_REDUCE) continue;
        const struct value_node *mul = &k->values.at[x->args[0]];
        if (mul->kind != INST_OP || mul->op != OP_MUL || !dtype_is_float(mul->dtype))
            return "a sum is none of products";
        value_id a = mul->args[0], b = mul->args[1];
        if (is_invariant(k, a)) a = mul->args[1], b = mul->args[0];
        if (is_invariant(k, a) || !is_invariant(k, b))
            return "a product is none of what changes and what does not";
        if (stands_on_a_sum(k, a)) return "a product stands on another one that is not stored";
        vec_push(k->arena, &s->taps, ((struct step_sum){v, b, slab_of(k, s, a)}));
    }
    if (!s->taps.n) return "it has no product";
    find_phases(k, s);
    sort_slabs(k, s);
    struct step_sum *sorted = NEW_ARRAY(k->arena, struct step_sum, s->taps.n);
    uint32_t n = 0;
    for (int slab = 0; slab < (int)s->slabs.n; slab++)
        for (uint32_t i = 0; i < s->taps.n; i++)
            if (s->taps.at[i].slab == slab) sorted[n++] = s->taps.at[i];
    s->taps.at = sorted;
    return NULL;
}

/* Rows are those axes that no right factor has; of the others the last one is n. */
static const char *choose_steps_axes(struct kernel *k, const struct group *g, struct steps *s) {
    ex rows[GROUP_MAX_AXES], others[GROUP_MAX_AXES];
    int n_rows = 0, n_others = 0;
    for (int i = 0; i < g->n_x; i++) {
        bool of_b = false;
        for (uint32_t t = 0; t < s->taps.n; t++) of_b |= value_uses(k, s->taps.at[t].b, g->x[i]);
        if (of_b)
            others[n_others++] = g->x[i];
        else
            rows[n_rows++] = g->x[i];
    }
    if (!n_others) return "no right factor has a column";
    for (uint32_t i = 0; i < s->slabs.n; i++)
        if (value_uses(k, s->slabs.at[i], others[n_others - 1]))
            return "a left factor varies with the columns";
    flatten(k, AXIS_Z, "z", others, n_others - 1);
    flatten(k, AXIS_M, "m", rows, n_rows);
    flatten(k, AXIS_N, "n", &others[n_others - 1], 1);
    flatten(k, AXIS_R, "r", g->r, 1);
    return NULL;
}

static bool is_listed(const struct kernel *k, buffer_id b) {
    for (uint32_t i = 0; i < k->buffers.n; i++)
        if (k->buffers.at[i] == b) return true;
    return false;
}

static double bytes_of(const struct kernel *k, buffer_id b) {
    return (double)buffer_bytes(k->schedule->loops, b);
}

/* What does not change is read once, the rest, but for what is carried, once in each step. */
static void find_steps_arguments(struct kernel *k) {
    const struct loops *l = k->schedule->loops;
    double n = (double)k->steps->n;
    for (value_id v = 0; v < k->values.n; v++) {
        buffer_id b = k->values.at[v].buffer;
        if (k->values.at[v].kind != INST_LOAD || is_listed(k, b)) continue;
        vec_push(k->arena, &k->buffers, b);
        bool window = l->buffers.at[b].kind == BUFFER_WINDOW;
        k->bytes_read += persistent_changes(k, b) ? 0 : bytes_of(k, b) * (window ? n : 1);
    }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        buffer_id b = k->stores.at[i].buffer;
        const struct loop_window *x = &l->buffers.at[b].window;
        bool window = l->buffers.at[b].kind == BUFFER_WINDOW;
        if (!is_listed(k, b)) vec_push(k->arena, &k->buffers, b);
        if (window) k->bytes_written += bytes_of(k, b) * (double)(x->ring ? x->ring : k->steps->n);
    }
}

/* Do all steps go along windows whose elements an int counts? */
static bool counts_in_int(const struct kernel *k) {
    enum { MOST = 1 << 30 };
    for (uint32_t i = 0; i < k->buffers.n; i++)
        if (bytes_of(k, k->buffers.at[i]) >= MOST) return false;
    return true;
}

/* As kernel_build; *why: why it is none. */
static struct kernel *build_steps(const struct schedule *s, uint32_t group,
                                  const struct device_limits *limits, const char **why,
                                  struct arena *a) {
    struct kernel *k = kernel_new(s, limits, a);
    struct builder w = builder_of(k, group);
    w.keeps_choices = true;
    struct steps *steps = NEW(a, struct steps);
    steps->n = nest_steps(s->loops, &s->loops->nests.at[w.g->members.at[0].nest]);
    k->kind = KERNEL_PERSISTENT;
    k->steps = steps;
    name_kernel(&w);
    expand_group(&w);
    for (uint32_t m = 0; m < w.g->members.n; m++) {
        const struct nest *n = &s->loops->nests.at[w.g->members.at[m].nest];
        if (n->n_reduce) k->precision = n->precision;
    }
    *why = find_taps(k, steps);
    if (!*why) *why = choose_steps_axes(k, w.g, steps);
    if (*why) return NULL;
    find_masks(k);
    for (uint32_t i = 0; i < steps->taps.n; i++)
        if (k->values.at[steps->taps.at[i].b].mask & MASK_M) *why = "a right factor has rows";
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->values.at[k->stores.at[i].value].mask & MASK_R) *why = "it stores what has a depth";
    find_steps_arguments(k);
    if (!counts_in_int(k)) *why = "it is large";
    k->flops = kernel_flops(k) * (double)steps->n;
    return *why ? NULL : k;
}

struct kernel *kernel_build_persistent(const struct schedule *s, uint32_t group,
                                       const struct device_limits *limits, struct arena *a) {
    const char *why;
    struct kernel *k = build_steps(s, group, limits, &why, a);
    if (!k) WS_BUG("a loop's steps are no kernel: %s", why);
    return k;
}

const char *kernel_persistent_reason(const struct schedule *s, uint32_t group,
                                     const struct device_limits *limits, double *us,
                                     struct arena *a) {
    const char *why;
    const struct kernel *k = build_steps(s, group, limits, &why, a);
    if (!k) return why;
    if (persistent_memory(k, a).n > GROUP_MAX_BUFFERS) return "it has too many arguments";
    *us = kernel_least_cost(k, NULL, a);
    return isinf(*us) ? "its right factors have no room" : NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void add_memory(buffer_vec *all, buffer_id b, struct arena *a) {
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i] == b) return;
    vec_push(a, all, b);
}

buffer_vec persistent_memory(const struct kernel *k, struct arena *a) {
    buffer_vec all = {0};
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        const struct buffer *b = &k->schedule->loops->buffers.at[k->buffers.at[i]];
        bool window = b->kind == BUFFER_WINDOW;
        bool carried = window && b->window.carried;
        if (!carried || !k->recurrent) /* there registers have it */
            add_memory(&all, window ? b->window.of : k->buffers.at[i], a);
        if (carried && !b->window.from_number) add_memory(&all, b->window.start, a);
    }
    return all;
}

bool persistent_changes(const struct kernel *k, buffer_id b) {
    const struct buffer *x = &k->schedule->loops->buffers.at[b];
    return (x->kind == BUFFER_WINDOW && x->window.carried) || is_stored_here(k, b);
}

int persistent_slabs(const struct kernel *k, int phase) {
    int n = 0;
    for (uint32_t i = 0; i < k->steps->slabs.n; i++)
        n += k->steps->phase[k->steps->slabs.at[i]] < phase;
    return n;
}

int persistent_first(const struct kernel *k, int slab) {
    int n = 0;
    for (uint32_t i = 0; i < k->steps->taps.n; i++) n += k->steps->taps.at[i].slab < slab;
    return n;
}

int persistent_taps(const struct kernel *k, int slab) {
    return persistent_first(k, slab + 1) - persistent_first(k, slab);
}

static bool loads_anything(const struct kernel *k, value_id v) {
    const bool *parts = kernel_parts(k, v);
    for (value_id i = 0; i <= v; i++)
        if (parts[i] && k->values.at[i].kind == INST_LOAD) return true;
    return false;
}

bool persistent_copies(const struct kernel *k, const struct persistent *p, int slab) {
    const struct value_node *x = &k->values.at[k->steps->slabs.at[slab]];
    bool zeros = !x->guarded ||
                 (!loads_anything(k, x->args[0]) && !(k->values.at[x->args[0]].mask & MASK_R));
    return zeros && x->kind == INST_LOAD &&
           k->schedule->loops->buffers.at[x->buffer].meta.dtype == p->type &&
           load_is_vector(k, x, AXIS_R, p->vec);
}

/* ---- what is waited for by looking at it ----------------------------------------------------- */

/* Windows into the same memory, of which each step has its own. */
static bool go_along(const struct kernel *k, buffer_id a, buffer_id b) {
    const struct buffer *x = &k->schedule->loops->buffers.at[a],
                        *y = &k->schedule->loops->buffers.at[b];
    return x->kind == BUFFER_WINDOW && y->kind == BUFFER_WINDOW && x->window.of == y->window.of;
}

static bool has_all_steps(const struct kernel *k, buffer_id b) {
    const struct buffer *x = &k->schedule->loops->buffers.at[b];
    return x->kind == BUFFER_WINDOW && !x->window.ring;
}

bool persistent_looked_at(const struct kernel *k, buffer_id stored) {
    bool any = false;
    for (uint32_t i = 0; i < k->steps->slabs.n; i++)
        any |= go_along(k, k->values.at[k->steps->slabs.at[i]].buffer, stored);
    return any;
}

int persistent_vectors(const struct kernel *k, const struct persistent *p, int threads) {
    int of_slab = p->by_warp ? threads / (int)k->steps->slabs.n : threads;
    return (int)tile_count(kernel_size(k, AXIS_M) * kernel_size(k, AXIS_R) / p->vec, of_slab);
}

/* Of all slabs that a thread waits for. */
static int all_vectors(const struct kernel *k, const struct persistent *p, int threads) {
    return persistent_vectors(k, p, threads) * (p->by_warp ? 1 : (int)k->steps->slabs.n);
}

/* Is it what the same thread has left in the step before? */
static bool is_own(const struct kernel *k, const struct value_node *load) {
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (go_along(k, load->buffer, k->stores.at[i].buffer) &&
            load->index == k->stores.at[i].index)
            return true;
    return false;
}

static const char *check_looks(const struct kernel *k, const struct persistent *p, int threads,
                               struct arena *a) {
    int vectors = all_vectors(k, p, threads);
    if (k->steps->phases > 1) return "look_back=1, but products stand on others of their step";
    if (p->type != DT_F32 && dtype_bytes(p->type) != 2) return "look_back=1 is of f32 or 16 bits";
    for (int s = 0; s < (int)k->steps->slabs.n; s++) {
        const struct value_node *x = &k->values.at[k->steps->slabs.at[s]];
        bool stored = false;
        for (uint32_t i = 0; i < k->stores.n && x->kind == INST_LOAD; i++)
            stored |= go_along(k, x->buffer, k->stores.at[i].buffer);
        if (!stored || !persistent_copies(k, p, s) || !has_all_steps(k, x->buffer))
            return "look_back=1 needs left factors as they lie, of all steps";
    }
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind == INST_LOAD && persistent_changes(k, x->buffer) && !(x->mask & MASK_R) &&
            !is_own(k, x))
            return "look_back=1, but points read others' elements";
    }
    if (vectors > MOST_VECTORS)
        return arena_printf(a, "look_back=1: %d vectors of a thread; %d is the limit", vectors,
                            MOST_VECTORS);
    return NULL;
}

/* ---- the layout ------------------------------------------------------------------------------ */

/* What the factors are kept as: 16 bits where all have them, else what they are multiplied in. */
static enum dtype factor_type(const struct kernel *k) {
    const struct steps *s = k->steps;
    enum dtype t = k->values.at[s->taps.at[0].b].dtype;
    for (uint32_t i = 0; i < s->taps.n; i++)
        if (k->values.at[s->taps.at[i].b].dtype != t ||
            k->values.at[s->slabs.at[s->taps.at[i].slab]].dtype != t)
            return k->values.at[s->taps.at[i].sum].dtype == DT_F64 ? DT_F64 : DT_F32;
    return t == DT_BF16 || t == DT_F16 ? t : dtype_opmath(t);
}

static const char *check_steps_knobs(const struct config *c, struct arena *a) {
    bool by_warp = c->knob[KNOB_mma] != 0;
    for (int i = 0; i < KNOB_COUNT; i++) {
        bool needed = i == KNOB_n || i == KNOB_tn || i == KNOB_warps ||
                      (by_warp ? i == KNOB_mma : i == KNOB_tm || i == KNOB_k);
        bool may_be = i == KNOB_look_back || (by_warp && i == KNOB_keep);
        if (needed && !c->knob[i]) return arena_printf(a, "it needs %s", knob_name((enum knob)i));
        if (c->knob[i] && !needed && !may_be)
            return arena_printf(a, "%s is no knob of a loop's steps", knob_name((enum knob)i));
    }
    if (by_warp && c->knob[KNOB_mma] != 2) return "of a loop's steps mma is 0 or 2";
    if (c->knob[KNOB_look_back] > 1) return "look_back is 0 or 1";
    return c->knob[KNOB_keep] > 1 ? "keep is 0 or 1" : NULL;
}

/* By multiply-adds. They would not round factors to tf32, so that steps behind each other went
 * another way than on the units, by more than what tells a wrong config from a right one. */
static const char *tile_of_lanes(const struct kernel *k, const struct config *c,
                                 struct persistent *p, struct arena *a) {
    if (p->type == DT_F32 && k->precision == PRECISION_TF32 && k->limits->sm >= 80)
        return "tf32 is of the matrix units: it needs mma=2";
    p->lanes = c->knob[KNOB_k] / p->vec;
    if (p->lanes * p->vec != c->knob[KNOB_k] || (p->lanes != 8 && p->lanes != 16 && p->lanes != 32))
        return arena_printf(a, "k=%d: 8, 16 or 32 times %d", c->knob[KNOB_k], p->vec);
    p->rows = c->knob[KNOB_tm], p->across = c->knob[KNOB_tn];
    if (p->rows * p->across > MOST_OF_TILE || p->rows > kernel_size(k, AXIS_M) + 3)
        return arena_printf(a, "tm=%d tn=%d", p->rows, p->across);
    p->line = round_up(kernel_size(k, AXIS_R), c->knob[KNOB_k]);
    p->depth = p->line / p->lanes;
    p->parts = 1;
    return NULL;
}

/* On the matrix units: a warp for each tile and part of the depth. Lines end in a gap of 16 bytes:
 * rows of an instruction lie in banks of their own. */
static const char *tile_of_warp(const struct kernel *k, const struct config *c,
                                struct persistent *p, struct arena *a) {
    bool takes = dtype_bytes(p->type) == 2 || (p->type == DT_F32 && k->precision == PRECISION_TF32);
    int64_t tiles = p->column_tiles * k->steps->slabs.n;
    int step = MMA_WORDS * 4 / dtype_bytes(p->type);
    if (!takes || k->limits->sm < 80) return "mma=2 needs factors of 16 bits, or tf32";
    if (p->across % MMA_COLUMNS) return arena_printf(a, "tn=%d: eights", p->across);
    if (c->knob[KNOB_warps] % tiles)
        return arena_printf(a, "%lld tiles for %d warps", (long long)tiles, c->knob[KNOB_warps]);
    p->parts = (int)(c->knob[KNOB_warps] / tiles);
    p->depth = round_up(tile_count(kernel_size(k, AXIS_R), p->parts), step);
    p->line = p->depth * p->parts + p->vec;
    p->lanes = 1;
    p->rows = MMA_ROWS;
    p->in_registers = c->knob[KNOB_keep] == 1;
    int64_t sums = tile_count(kernel_size(k, AXIS_M), p->rows) * (p->across / 2),
            kept = p->in_registers ? p->across / 4 * (p->depth / step) : p->across / 4,
            most = k->limits->regs_unit / (c->knob[KNOB_warps] * k->limits->warp);
    if (most > MOST_REGISTERS) most = MOST_REGISTERS;
    return sums + kept + OTHER_REGISTERS <= most
               ? NULL
               : arena_printf(a, "%lld registers; %lld is the limit",
                              (long long)(sums + kept + OTHER_REGISTERS), (long long)most);
}

const char *persistent_layout(const struct kernel *k, const struct config *c, struct layout *y,
                              struct arena *a) {
    struct persistent *p = NEW(a, struct persistent);
    int64_t m = kernel_size(k, AXIS_M), n = kernel_size(k, AXIS_N);
    const char *bad = check_steps_knobs(c, a);
    if (bad) return bad;
    p->type = factor_type(k);
    p->math = dtype_opmath(p->type);
    p->vec = 16 / dtype_bytes(p->type);
    p->by_warp = c->knob[KNOB_mma] == 2;
    p->across = c->knob[KNOB_tn];
    if ((p->units = c->knob[KNOB_n]) > n) return arena_printf(a, "n=%d", c->knob[KNOB_n]);
    p->slices = tile_count(n, p->units);
    p->blocks = p->slices * kernel_size(k, AXIS_Z);
    if (p->blocks > k->limits->units)
        return arena_printf(a, "%lld blocks wait for each other; there is room for %d",
                            (long long)p->blocks, k->limits->units);
    if (k->steps->n * k->steps->phases > INT32_MAX / p->blocks)
        return "its counter has no room for all steps";
    y->threads = c->knob[KNOB_warps] * k->limits->warp;
    if (y->threads > MOST_THREADS) return arena_printf(a, "warps=%d", c->knob[KNOB_warps]);
    int most = 0, slabs = (int)k->steps->slabs.n;
    for (int s = 0; s < slabs; s++)
        if (persistent_taps(k, s) > most) most = persistent_taps(k, s);
    p->column_tiles = tile_count(most * p->units, p->across);
    p->columns = p->column_tiles * p->across;
    bad = (p->by_warp ? tile_of_warp : tile_of_lanes)(k, c, p, a);
    p->looks = c->knob[KNOB_look_back] == 1;
    if (!bad && p->looks) bad = check_looks(k, p, y->threads, a);
    if (bad) return bad;
    p->row_tiles = tile_count(m, p->rows);
    p->sums = (int64_t)k->steps->taps.n * p->units;
    int64_t bytes = p->line * dtype_bytes(p->type), size = dtype_bytes(p->math);
    p->a_at = p->b_at + slabs * p->columns * bytes;
    p->sums_at = p->a_at + slabs * p->row_tiles * p->rows * bytes;
    p->turns = p->looks && p->by_warp && slabs > 1 ? 2 : 1;
    int64_t smem = round_up(p->sums_at + p->sums * m * size * p->parts * p->turns, 16);
    if (smem > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory; %lld is the limit",
                            (long long)smem, (long long)k->limits->smem_block);
    y->smem = (int)smem;
    y->persistent = p;
    return NULL;
}

/* A thread's share of the depth, or a warp's, and then the parts; lanes are added up by twos. */
int64_t persistent_chain(const struct kernel *k, const struct persistent *p) {
    (void)k;
    return p->depth + p->parts;
}

/* Clocks of an instruction of all warps along their depth: each loads the left factors' fragment
 * and waits for what it has summed, longer where the right factors' are loaded as well, unless the
 * units have more to multiply. Then the sums go to shared memory. */
static double warp_clocks(const struct persistent *p, double warps) {
    const double FRAGMENT = 3.3, KEPT = 36, LOADED = 108, UNITS = 1, SUMS = 13.5;
    double deep = (double)p->depth * dtype_bytes(p->type) / (4 * MMA_WORDS),
           tiles = (double)p->row_tiles * p->across / MMA_COLUMNS;
    double wait = (p->in_registers ? KEPT : LOADED) + FRAGMENT * warps;
    return deep * fmax(wait, UNITS * tiles * warps) + SUMS * tiles * warps;
}

/* Multiply-adds at half their rate, or loads of shared memory; then lanes add up their sums. */
static double lane_clocks(const struct kernel *k, const struct persistent *p, int threads) {
    const double ADDED_UP = 0.75, VECTOR = 60;
    double tiles = (double)(p->row_tiles * p->column_tiles) * k->steps->slabs.n;
    double groups = threads / p->lanes, rounds = ceil(tiles / groups), warps = threads / 32.0;
    double vectors = (double)p->line / (p->lanes * p->vec);
    double sums = p->rows * p->across, lanes = log2(p->lanes);
    double adds = vectors * p->vec * sums * (p->type == p->math ? 1 : 1.5);
    double loads = vectors * (p->rows + 4.0 * p->across);
    return rounds * (warps * (fmax(adds / 4, loads) + ADDED_UP * (sums + p->rows * lanes)) +
                     VECTOR * vectors);
}

/* us, of an H200: a meeting of all blocks, or a look and some more for each vector; what grows with
 * the warps that wait; the left factors' way from L2, products, and what is left for a point.
 * Where multiply-adds are to follow, looks take longer the more warps look: 8 warps are slower by
 * looks than by meetings, 4 are not. (Why was not measured.) On the units it is not so.
 *
 * Fitted to 110 measured times, those of the fastest weighing most: LSTMs of 10 x 256 of six layers
 * in bf16, TF32 and f32 and of one in two directions in TF32. It is off by 5 to 6 % (root mean
 * square) and 15 % at most, and what it ranks first of each is within 1 % of the fastest. */
double persistent_cost(const struct kernel *k, const struct layout *y) {
    const double MEETING = 1.27, LOOK = 0.58, VECTOR = 0.02, LANES_LOOK = 0.085, WARP = 0.02,
                 L2_BYTES_A_US = 25e3, CLOCK = 1700, POINTS = 0.12;
    const struct persistent *p = y->persistent;
    double warps = y->threads / 32.0, size = dtype_bytes(p->type);
    double slabs = (double)(kernel_size(k, AXIS_M) * p->line) * size * k->steps->slabs.n;
    double points = ceil((double)(p->units * kernel_size(k, AXIS_M)) / y->threads);
    double look =
        LOOK + VECTOR * all_vectors(k, p, y->threads) + (p->by_warp ? 0 : LANES_LOOK * warps);
    double wait = (p->looks ? look : MEETING) + WARP * warps;
    double clocks = p->by_warp ? warp_clocks(p, warps) : lane_clocks(k, p, y->threads);
    double step =
        (wait + POINTS * points) * k->steps->phases + slabs / L2_BYTES_A_US + clocks / CLOCK;
    return step * (double)k->steps->n;
}

/* ---- what is worth trying -------------------------------------------------------------------- */

/* As few columns a block as there are blocks for, or some more; tiles of as many rows as there are,
 * or few. */
void propose_persistent(struct space *s) {
    static const int32_t acrosses[] = {2, 3, 4, 6, 8}, warps[] = {4, 8, 12, 16};
    const struct kernel *k = s->k;
    int64_t m = kernel_size(k, AXIS_M), n = kernel_size(k, AXIS_N), z = kernel_size(k, AXIS_Z);
    int64_t slices = k->limits->units / z;
    enum dtype type = factor_type(k);
    int most = 0;
    for (int i = 0; i < (int)k->steps->slabs.n; i++)
        if (persistent_taps(k, i) > most) most = persistent_taps(k, i);
    if (!slices) return;
    int64_t least = tile_count(n, slices), units[] = {least, round_up(least, 4), 2 * least};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (int32_t tn = MMA_COLUMNS; tn <= 96; tn += MMA_COLUMNS)
            for (int32_t parts = 1; parts <= 8; parts *= 2)
                for (int32_t how = 0; how < 4; how++) {
                    int64_t tiles = tile_count(most * units[u], tn) * k->steps->slabs.n;
                    propose(s,
                            CONFIG(K(n, (int32_t)units[u]), K(tn, tn), K(mma, 2), K(keep, how & 1),
                                   K(look_back, how >> 1), K(warps, (int32_t)(tiles * parts))));
                }
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (int lanes = 8; lanes <= 32; lanes *= 2)
            for (int64_t parts = 1; parts <= 16; parts++) {
                int64_t rows = tile_count(m, parts);
                if (rows > 16 || (parts > 1 && rows == tile_count(m, parts - 1))) continue;
                for (size_t t = 0; t < sizeof acrosses / sizeof *acrosses; t++)
                    for (size_t w = 0; w < 2 * sizeof warps / sizeof *warps; w++)
                        propose(s,
                                CONFIG(K(n, (int32_t)units[u]), K(look_back, w & 1),
                                       K(k, lanes * (16 / dtype_bytes(type))), K(tm, (int32_t)rows),
                                       K(tn, acrosses[t]), K(warps, warps[w / 2])));
            }
}
