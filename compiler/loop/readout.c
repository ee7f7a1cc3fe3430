/* readout.c: sums behind a recurrence, of what its steps left, are taken in its steps, where
 * registers have that: else it is stored for all steps, to be read for this.
 *
 *   512 steps of  b6[i0: 4, i1: 1536, i2: 16] = ..             memory b5
 *   b9[i0: 4, i1: 512, i2: 1536] = sum over r0: 16 of b5[511 - i1, i0, i2, r0] * b2[i1, i0, r0]
 * ->
 *   512 steps of  b6 = ..
 *                 b11[i0, i1] = sum over r0: 16 of b6[i0, i1, r0] * b12[i0, r0]    memory b10
 *   b9[i0, i1, i2] = b10[511 - i1, i0, i2]
 *
 * So may it be if steps go along one of the sum's axes and each of their elements is one of its. If
 * the sum goes along the steps, too, each element adds up its own from step to step, as one more
 * that is carried, and the sum behind is of these alone. And if it goes along more axes than steps
 * have for lanes, they sum along one of these, and the sum behind along the others.
 *
 * What else the sum reads is read at places that have the step's number in them, of which sink.c
 * makes windows. Part of the pass of recurrence.c. */
#include <string.h>

#include "loop/recurrence_impl.h"

enum {
    TURNS = 2,  /* steps that what is added up has memory for: the last alone is read */
    ALIGN = 64, /* bytes: each step's memory begins where a vector does */
};

struct taking {
    struct sinking s;
    struct nest sum;
    uint32_t at;          /* where it is */
    ex alone;             /* of what it reduces, that which steps do; EX_NONE: all */
    ex tau;               /* of its axes that along which the steps go; EX_NONE: not known */
    int64_t sign, offset; /* tau is sign * t + offset */
    int n_order;
    ex order[WS_MAX_RANK]; /* axes of an element, as the loop's memory has them */
};

/* The loop's nest that leaves memory b, of all steps. */
static const struct nest *leaves(const struct taking *x, buffer_id b) {
    const struct loops *l = x->s.l;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        const struct buffer *out = &l->buffers.at[n->out];
        if (loop_of(n->epoch) == x->s.loop && out->kind == BUFFER_WINDOW && out->window.of == b &&
            !out->window.ring)
            return n;
    }
    return NULL;
}

/* Is it there before the loop begins? */
static bool is_before(const struct taking *x, buffer_id b) {
    const struct loops *l = x->s.l;
    const uint32_t begin = 2 * x->s.loop + 1;
    if (l->buffers.at[b].kind == BUFFER_INPUT) return true;
    if (l->buffers.at[b].kind == BUFFER_WINDOW) return false;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        const struct buffer *out = &l->buffers.at[n->out];
        bool writes = n->out == b || (out->kind == BUFFER_WINDOW && out->window.of == b);
        if (writes && n->epoch >= begin) return false;
    }
    return true;
}

/* By operators alone, behind the loop. */
static bool is_made_behind(const struct taking *x, buffer_id b) {
    const struct loops *l = x->s.l;
    if (x->s.writer[b] == NONE || l->buffers.at[b].kind == BUFFER_WINDOW) return false;
    const struct nest *n = &l->nests.at[x->s.writer[b]];
    return !n->n_reduce && !n->scan && loop_of(n->epoch) == NO_LOOP && n->epoch > 2 * x->s.loop + 1;
}

/* The first load says which axis is the steps'. */
static bool find_tau(struct taking *x, const struct loop_window *w, ex place) {
    struct exprs *p = x->s.l->ex;
    ex by, rest;
    int64_t a, c, size;
    for (int i = 0; i < x->sum.n_axes + x->sum.n_reduce; i++) {
        ex axis = i < x->sum.n_axes ? x->sum.axes[i] : x->sum.reduce[i - x->sum.n_axes];
        if (!ex_uses(p, place, axis)) continue;
        if (!ex_linear(p, place, axis, &by, &rest) || !ex_is_const(p, by, &a) ||
            !ex_is_const(p, rest, &c) || !ex_is_const(p, ex_symbol(p, axis)->bound, &size))
            return false;
        if ((a != 1 && a != -1) || (w->way != 1 && w->way != -1)) return false;
        if (size != x->s.l->steps.at[x->s.loop]) return false;
        x->tau = axis;
        x->sign = a * w->way;
        x->offset = a * (w->first - c);
        return true;
    }
    return false;
}

/* A load of what the steps left: what the step at hand has. */
static inst_id take_load(struct taking *x, const struct nest *maker, struct inst load, bool make) {
    struct exprs *p = x->s.l->ex;
    const struct loop_window *w = &x->s.l->buffers.at[maker->out].window;
    if (load.guarded) return NONE;
    if (!make) return x->tau || find_tau(x, w, load.index[0]) ? 0 : NONE;
    ex now =
        ex_add(p, ex_const(p, w->first), ex_mul(p, x->s.l->step[x->s.loop], ex_const(p, w->way)));
    if (load.index[0] != now) return NONE;
    x->n_order = 0;
    for (int d = 1; d < load.n_index; d++) {
        load.index[d - 1] = load.index[d];
        if (ex_kind(p, load.index[d]) == EX_SYM) x->order[x->n_order++] = load.index[d];
    }
    load.n_index--;
    load.buffer = maker->out;
    return sink_put(&x->s, load);
}

/* Is its place a multiple of the step's number, and what does not stand on that? */
static bool goes_evenly(const struct taking *x, const struct inst *load) {
    struct exprs *p = x->s.l->ex;
    const struct meta *m = &x->s.l->buffers.at[load->buffer].meta;
    ex by, rest, step = x->s.l->step[x->s.loop];
    for (int d = 0; d < load->n_index; d++)
        if (ex_uses(p, load->index[d], step) &&
            (!ex_linear(p, load->index[d], step, &by, &rest) || !ex_is_const(p, by, NULL) ||
             !ex_is_const(p, m->stride[d], NULL)))
            return false;
    return true;
}

/* Value `last` of nest n, whose axes are at these places; NONE: it cannot be made in a step. */
static inst_id take_element(struct taking *x, const struct nest *n, uint32_t last, const ex *axes,
                            const ex *at, int n_axes, int deep, bool make) {
    struct exprs *p = x->s.l->ex;
    inst_id *as = NEW_ARRAY(x->s.l->arena, inst_id, n->insts.n);
    if (deep > DEEPEST) return NONE;
    for (inst_id i = 0; i <= last; i++) {
        struct inst y = n->insts.at[i];
        if (y.kind == INST_SUBSCRIPT || y.kind == INST_SCAN || y.kind == INST_REDUCE) return NONE;
        for (int a = 0; a < y.n_args; a++) y.args[a] = as[y.args[a]];
        for (int d = 0; d < y.n_index || (d == 0 && y.kind == INST_INDEX); d++)
            y.index[d] = ex_subst(p, y.index[d], axes, at, n_axes);
        const struct nest *maker = y.kind == INST_LOAD ? leaves(x, y.buffer) : NULL;
        if (maker) {
            as[i] = take_load(x, maker, y, make);
        } else if (y.kind == INST_LOAD && !y.guarded && is_made_behind(x, y.buffer)) {
            const struct nest *of = &x->s.l->nests.at[x->s.writer[y.buffer]];
            ex places[WS_MAX_RANK];
            for (int k = 0; k < of->n_axes; k++)
                for (int d = 0; d < y.n_index; d++)
                    if (of->out_index[d] == of->axes[k]) places[k] = y.index[d];
            as[i] =
                take_element(x, of, of->insts.n - 1, of->axes, places, of->n_axes, deep + 1, make);
        } else if (y.kind == INST_LOAD) {
            as[i] = !is_before(x, y.buffer) || !goes_evenly(x, &y) ? NONE
                    : make                                         ? sink_put(&x->s, y)
                                                                   : 0;
        } else {
            as[i] = make ? sink_put(&x->s, y) : 0;
        }
        if (as[i] == NONE) return NONE;
    }
    return as[last];
}

/* ---- new memory ------------------------------------------------------------------------------ */

static int64_t bound_of(const struct loops *l, ex axis) {
    int64_t size;
    return ex_is_const(l->ex, ex_symbol(l->ex, axis)->bound, &size) ? size : 0;
}

static buffer_id add_buffer(struct loops *l, struct buffer b) {
    b.name = arena_printf(l->arena, "b%u", l->buffers.n);
    vec_push(l->arena, &l->buffers, b);
    return l->buffers.n - 1;
}

static struct meta meta_of_axes(struct loops *l, enum dtype t, const ex *axes, int n) {
    struct meta m = {.dtype = t, .rank = (uint8_t)n};
    for (int i = 0; i < n; i++) m.size[i] = ex_const(l->ex, bound_of(l, axes[i]));
    meta_contiguous(l->ex, &m);
    return m;
}

buffer_id recurrence_memory(struct loops *l, enum dtype t, const ex *axes, int n, int64_t steps,
                            bool turns, buffer_id *window) {
    struct meta m = meta_of_axes(l, t, axes, n), all = m;
    int64_t each = ex_value(l->ex, meta_numel(l->ex, &m)), unit = ALIGN / dtype_bytes(t);
    memmove(&all.size[1], &all.size[0], (size_t)n * sizeof(ex));
    all.size[0] = ex_const(l->ex, steps);
    all.rank++;
    meta_contiguous(l->ex, &all);
    each = (each + unit - 1) / unit * unit;
    all.stride[0] = ex_const(l->ex, each);
    buffer_id of = add_buffer(l, (struct buffer){.kind = BUFFER_STACK, .meta = all});
    struct loop_window w = {.of = of, .way = 1, .each = each, .ring = turns ? steps : 0};
    *window = add_buffer(l, (struct buffer){.kind = BUFFER_WINDOW, .meta = m, .window = w});
    return of;
}

static void insert(struct loops *l, uint32_t at, struct nest n) {
    vec_push(l->arena, &l->nests, n);
    memmove(&l->nests.at[at + 1], &l->nests.at[at], (l->nests.n - 1 - at) * sizeof n);
    l->nests.at[at] = n;
}

static struct nest empty_like(const struct nest *n, uint32_t epoch, buffer_id out) {
    struct nest made = *n;
    memset(&made.insts, 0, sizeof made.insts);
    made.n_axes = made.n_reduce = 0;
    made.matmul = false;
    made.epoch = epoch;
    made.out = out;
    return made;
}

static inst_id add_inst(struct loops *l, struct nest *n, struct inst x) {
    vec_push(l->arena, &n->insts, x);
    return n->insts.n - 1;
}

static struct inst load_of(const struct loops *l, buffer_id b, const ex *index, int n) {
    struct inst x = {.kind = INST_LOAD,
                     .buffer = b,
                     .dtype = l->buffers.at[b].meta.dtype,
                     .n_index = (uint8_t)n};
    memcpy(x.index, index, sizeof *index * (size_t)n);
    return x;
}

/* ---- the two ways ---------------------------------------------------------------------------- */

/* What stands for axes of the sum in a step: fresh ones, and for the steps' what that is. */
struct places {
    int n;
    ex axes[2 * WS_MAX_RANK], at[2 * WS_MAX_RANK];
};

static struct places places_of(struct taking *x) {
    struct exprs *p = x->s.l->ex;
    struct places out = {0};
    for (int i = 0; i < x->sum.n_axes + x->sum.n_reduce; i++) {
        ex axis = i < x->sum.n_axes ? x->sum.axes[i] : x->sum.reduce[i - x->sum.n_axes];
        out.axes[out.n] = axis;
        out.at[out.n++] =
            axis == x->tau
                ? ex_add(p, ex_const(p, x->offset),
                         ex_mul(p, x->s.l->step[x->s.loop], ex_const(p, x->sign)))
                : ex_index(p, ex_symbol(p, axis)->name, ex_const(p, bound_of(x->s.l, axis)));
    }
    return out;
}

static ex own_axis(const struct places *at, ex fresh) {
    for (int i = 0; i < at->n; i++)
        if (at->at[i] == fresh) return at->axes[i];
    return EX_NONE;
}

/* Do steps go along it? */
static bool reduces(const struct taking *x, const struct places *at, ex fresh) {
    for (int i = 0; i < x->sum.n_reduce; i++)
        if (x->sum.reduce[i] == own_axis(at, fresh))
            return x->alone == EX_NONE || x->alone == x->sum.reduce[i];
    return false;
}

/* All of the sum's axes but the steps' are an element's. */
static bool are_elements(const struct taking *x, const struct places *at) {
    if (x->n_order + 1 != at->n) return false;
    for (int i = 0; i < x->n_order; i++)
        if (!own_axis(at, x->order[i]) || own_axis(at, x->order[i]) == x->tau) return false;
    return true;
}

/* Where the loop's nests end. */
static uint32_t behind_loop(const struct loops *l, uint32_t loop) {
    uint32_t at = 0;
    for (uint32_t k = 0; k < l->nests.n; k++)
        if (loop_of(l->nests.at[k].epoch) == loop) at = k + 1;
    return at;
}

/* A sum in each step, which the nest behind the loop finds in memory. */
static void take_each(struct taking *x, struct nest *in, const struct places *at, inst_id value) {
    struct loops *l = x->s.l;
    struct exprs *p = l->ex;
    const struct inst *sum = &x->sum.insts.at[x->sum.insts.n - 1];
    ex own[WS_MAX_RANK];
    int n = 0;
    for (int i = 0; i < x->n_order; i++) {
        if (reduces(x, at, x->order[i])) {
            in->reduce[in->n_reduce++] = x->order[i];
            continue;
        }
        own[n++] = own_axis(at, x->order[i]);
        in->axes[in->n_axes] = in->out_index[in->n_axes] = x->order[i];
        in->n_axes++;
    }
    enum dtype t = l->buffers.at[x->sum.out].meta.dtype;
    buffer_id memory = recurrence_memory(l, x->alone ? dtype_opmath(t) : t, own, n,
                                         l->steps.at[x->s.loop], false, &in->out);
    struct inst last = *sum;
    if (x->alone) last.dtype = dtype_opmath(t);
    last.args[0] = value;
    add_inst(l, in, last);
    ex index[WS_MAX_RANK];
    index[0] =
        ex_add(p, ex_const(p, -x->sign * x->offset), ex_mul(p, x->tau, ex_const(p, x->sign)));
    memcpy(&index[1], own, sizeof *own * (size_t)n);
    struct nest behind = empty_like(&x->sum, x->sum.epoch, x->sum.out);
    behind.n_axes = x->sum.n_axes;
    for (int i = 0; i < x->sum.n_reduce && x->alone; i++)
        if (x->sum.reduce[i] != x->alone) behind.reduce[behind.n_reduce++] = x->sum.reduce[i];
    inst_id part = add_inst(l, &behind, load_of(l, memory, index, n + 1));
    struct inst all = *sum;
    all.args[0] = part;
    if (behind.n_reduce) add_inst(l, &behind, all);
    l->nests.at[x->at] = behind;
}

/* What each element has added up, which the nest behind the loop finds of the last step. */
static void take_all(struct taking *x, struct nest *in, const struct places *at, inst_id value,
                     struct nest *zeros) {
    struct loops *l = x->s.l;
    struct exprs *p = l->ex;
    enum dtype t = dtype_opmath(in->insts.at[value].dtype);
    ex own[WS_MAX_RANK], index[WS_MAX_RANK];
    for (int i = 0; i < x->n_order; i++) {
        own[i] = own_axis(at, x->order[i]);
        in->axes[i] = in->out_index[i] = x->order[i];
    }
    in->n_axes = x->n_order;
    buffer_id memory = recurrence_memory(l, t, own, x->n_order, TURNS, true, &in->out);
    struct buffer before = l->buffers.at[in->out];
    *zeros = empty_like(&x->sum, 2 * x->s.loop,
                        add_buffer(l, (struct buffer){.kind = BUFFER_TEMP, .meta = before.meta}));
    for (int i = 0; i < x->n_order; i++)
        zeros->axes[i] = zeros->out_index[i] = ex_index(p, "i", ex_const(p, bound_of(l, own[i])));
    zeros->n_axes = x->n_order;
    add_inst(l, zeros, (struct inst){.kind = INST_CONST, .dtype = t});
    before.window.carried = true;
    before.window.start = zeros->out;
    buffer_id carried = add_buffer(l, before);
    inst_id so_far = add_inst(l, in, load_of(l, carried, x->order, x->n_order));
    struct inst add = {.kind = INST_OP, .op = OP_ADD, .dtype = t, .n_args = 2};
    add.args[0] = so_far, add.args[1] = value;
    add_inst(l, in, add);
    index[0] = ex_const(p, (l->steps.at[x->s.loop] - 1) % TURNS);
    memcpy(&index[1], own, sizeof *own * (size_t)x->n_order);
    struct nest behind = empty_like(&x->sum, x->sum.epoch, x->sum.out);
    behind.n_axes = x->sum.n_axes;
    for (int i = 0; i < x->sum.n_reduce; i++)
        if (x->sum.reduce[i] != x->tau) behind.reduce[behind.n_reduce++] = x->sum.reduce[i];
    inst_id all = add_inst(l, &behind, load_of(l, memory, index, x->n_order + 1));
    struct inst sum = x->sum.insts.at[x->sum.insts.n - 1];
    sum.args[0] = all;
    if (behind.n_reduce) add_inst(l, &behind, sum);
    l->nests.at[x->at] = behind;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool is_sum(const struct loops *l, const struct nest *n, uint32_t loop) {
    const struct inst *last = &n->insts.at[n->insts.n - 1];
    bool own = l->buffers.at[n->out].kind != BUFFER_WINDOW;
    if (!own || !n->n_reduce || n->scan || last->kind != INST_REDUCE) return false;
    for (int i = 0; i < n->n_axes; i++)
        if (!bound_of(l, n->axes[i])) return false;
    for (int i = 0; i < n->n_reduce; i++)
        if (!bound_of(l, n->reduce[i])) return false;
    return loop_of(n->epoch) == NO_LOOP && n->epoch > 2 * loop + 1 &&
           reduction_of_values(last->reduction);
}

/* Elements that a sum goes along in a step. */
static int64_t reduced_by(const struct taking *x, ex tau) {
    int64_t n = 1;
    for (int i = 0; i < x->sum.n_reduce; i++)
        if (x->sum.reduce[i] != tau) n *= bound_of(x->s.l, x->sum.reduce[i]);
    return n;
}

static bool goes_along_steps(const struct taking *x) {
    for (int i = 0; i < x->sum.n_reduce; i++)
        if (x->sum.reduce[i] == x->tau) return true;
    return false;
}

/* Is it of what the loop's steps left, and of what was there before? */
static bool is_of_steps(struct taking *x) {
    const ex none = EX_NONE;
    inst_id value = x->sum.insts.at[x->sum.insts.n - 1].args[0];
    return take_element(x, &x->sum, value, &none, &none, 0, 0, false) != NONE && x->tau;
}

/* Does the nest read it, or what that is made of behind the loop? */
static bool reads_memory(const struct taking *x, const struct nest *n, buffer_id memory, int deep) {
    bool any = false;
    for (inst_id i = 0; i < n->insts.n && deep <= DEEPEST; i++) {
        buffer_id b = n->insts.at[i].buffer;
        if (n->insts.at[i].kind != INST_LOAD) continue;
        any |= b == memory;
        if (is_made_behind(x, b))
            any |= reads_memory(x, &x->s.l->nests.at[x->s.writer[b]], memory, deep + 1);
    }
    return any;
}

/* May it be taken in the steps? Then it is, in l. */
static bool take(struct taking *x) {
    struct loops *l = x->s.l;
    const struct inst *last = &x->sum.insts.at[x->sum.insts.n - 1];
    bool along = goes_along_steps(x);
    enum dtype t = l->buffers.at[x->sum.out].meta.dtype;
    if (along && (last->reduction != REDUCTION_SUM || x->alone)) return false;
    if (along && (!dtype_is_float(t) || (x->sum.n_reduce == 1 && dtype_opmath(t) != t)))
        return false;
    struct places at = places_of(x);
    x->s.made.n = 0;
    x->s.made.at = NULL;
    x->s.made.cap = 0;
    inst_id value = take_element(x, &x->sum, last->args[0], at.axes, at.at, at.n, 0, true);
    if (value == NONE || !are_elements(x, &at)) return false;
    struct nest in = empty_like(&x->sum, 2 * x->s.loop + 1, x->sum.out), zeros;
    in.insts.at = x->s.made.at, in.insts.n = x->s.made.n, in.insts.cap = x->s.made.cap;
    if (along)
        take_all(x, &in, &at, value, &zeros);
    else
        take_each(x, &in, &at, value);
    insert(l, behind_loop(l, x->s.loop), in);
    if (along) insert(l, 0, zeros);
    return true;
}

/* As it was, if the loop is no recurrence then. */
static bool try_take(struct loops *l, uint32_t loop, uint32_t k, ex alone) {
    struct taking x = {.s = {.l = l, .loop = loop}, .sum = l->nests.at[k], .at = k, .alone = alone};
    struct recurrence r;
    uint32_t n_nests = l->nests.n, n_buffers = l->buffers.n;
    x.s.writer = loops_writers(l, n_buffers);
    if (!is_of_steps(&x)) return false;
    struct nest *nests = NEW_ARRAY(l->arena, struct nest, n_nests);
    struct buffer *buffers = NEW_ARRAY(l->arena, struct buffer, n_buffers);
    memcpy(nests, l->nests.at, n_nests * sizeof *nests);
    memcpy(buffers, l->buffers.at, n_buffers * sizeof *buffers);
    if (take(&x) && loop_recurs(l, loop, &r) && !recurrence_reads_too_many(l, &r)) return true;
    memcpy(l->nests.at, nests, n_nests * sizeof *nests);
    memcpy(l->buffers.at, buffers, n_buffers * sizeof *buffers);
    l->nests.n = n_nests;
    l->buffers.n = n_buffers;
    return false;
}

bool recurrence_sums(struct loops *l, uint32_t loop, uint32_t k, buffer_id memory) {
    struct taking x = {.s = {.l = l, .loop = loop}, .sum = l->nests.at[k], .at = k};
    x.s.writer = loops_writers(l, l->buffers.n);
    if (!is_sum(l, &x.sum, loop) || !is_of_steps(&x)) return false;
    return reads_memory(&x, &x.sum, memory, 0);
}

/* Along one of the axes that it reduces, those that lie side by side first. */
static bool try_part(struct loops *l, uint32_t loop, uint32_t k) {
    const struct nest *n = &l->nests.at[k];
    for (int i = n->n_reduce; i-- > 0 && n->n_reduce > 1;)
        if (bound_of(l, n->reduce[i]) <= l->most_reduced && try_take(l, loop, k, n->reduce[i]))
            return true;
    return false;
}

/* Those along few elements first: what is reduced has to be the same for all. */
void recurrence_readouts(struct loops *l, uint32_t loop) {
    for (int64_t few = 1; few <= 2 * l->most_reduced; few *= 2)
        for (uint32_t k = 0; k < l->nests.n; k++) {
            struct taking x = {.s = {.l = l, .loop = loop}, .sum = l->nests.at[k]};
            int64_t n = is_sum(l, &x.sum, loop) ? reduced_by(&x, EX_NONE) : 0;
            bool part = n && few > l->most_reduced,
                 now = n && ((n <= few && n <= l->most_reduced) ||
                             (!part && n % l->steps.at[loop] == 0));
            if ((part && try_part(l, loop, k)) || (now && try_take(l, loop, k, EX_NONE)))
                k = UINT32_MAX; /* nests have moved */
        }
}

bool recurrence_readout(struct loops *l, uint32_t loop, uint32_t k) {
    return try_take(l, loop, k, EX_NONE) || try_part(l, loop, k);
}
