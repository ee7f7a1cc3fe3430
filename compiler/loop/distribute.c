/* distribute.c: what no step of a loop has to wait for leaves it (loop distribution), so that what
 * stays is a recurrence: sums along others' elements, as gradients of what all of them read are.
 *
 *   512 steps of  b47[i0: 4, i1: 64, i2: 32] = add of b40 (carried), ..
 *                 b48[i0, i1, i2] = mul of b47, g[t], for the next step
 *                 b52[i0, i1] = sum over r0: 32 of b47[i0, i1, r0] * v[t][i0, r0]
 * ->
 *   512 steps of  b47 = .., b48 = ..
 *                 b63[i0, i1, i2] = b47[i0, i1, i2]                      memory b62, of all steps
 *   b52[t: 512, i0: 4, i1: 64] = sum over r0: 32 of b62[t, i0, i1, r0] * v[t][i0, r0]
 *
 * What stands on nothing carried goes before the loop, what only stands on it, behind. Of the
 * former that may be all that no staying nest reads; or, where steps sum what they were given, all
 * that is such a sum or stands on one, of which what stays is given windows. The latter
 * reads what steps left; where that was in no memory of all steps it has some now, unless it is
 * made anew of what was there before. What is added up from step to step, for nobody but itself
 * and who reads the last of it, is a sum along the steps behind the loop, as a parameter's gradient
 * is.
 *
 * Part of the pass of recurrence.c, with what that needs: windows are of all steps, as they were
 * lowered, or carried. Adds buffers and nests. */
#include <string.h>

#include "loop/recurrence_impl.h"

enum place { STAYS, BEFORE, BEHIND };

struct parts {
    struct loops *l;
    uint32_t loop;
    enum place *place; /* by nest of the loop */
    bool *carried;     /* by nest of the loop: stands on what is carried */
    bool *needed;      /* by nest of the loop: what is carried stands on it */
    bool *adds;        /* by nest of the loop: it adds up, for the last step alone */
    bool *cheap;       /* by nest of the loop: of what was there before it, by operators alone */
    uint32_t *writer;  /* by buffer: the nest; NONE */
    buffer_id *kept;   /* by buffer: the memory of all steps that it has got; NONE */
    bool gives;        /* what stays may read what leaves */
    buffer_id *given;  /* by buffer: the window of what has left, for what stays; NONE */
    buffer_id *anew;   /* by nest that stays: what is made before the loop of it, too; NONE */
    VEC(struct nest) copies;         /* the last of the loop: to memory of all steps */
    VEC(struct nest) before, behind; /* with their step as the outermost axis */
};

static bool is_of(const struct parts *x, uint32_t k) {
    return loop_of(x->l->nests.at[k].epoch) == x->loop;
}

/* The nest of the loop that makes b; NONE. */
static uint32_t maker_of(const struct parts *x, buffer_id b) {
    uint32_t k = x->writer[b];
    return k != NONE && is_of(x, k) ? k : NONE;
}

static bool is_carried(const struct parts *x, buffer_id b) {
    return x->l->buffers.at[b].kind == BUFFER_WINDOW && x->l->buffers.at[b].window.carried;
}

/* ---- which go where -------------------------------------------------------------------------- */

/* Is it, and what reads it is, of any number of axes more? */
static bool may_leave(const struct parts *x, uint32_t k) {
    const struct nest *n = &x->l->nests.at[k];
    const struct buffer *out = &x->l->buffers.at[n->out];
    return !n->scan && n->n_axes < WS_MAX_RANK && out->meta.rank < WS_MAX_RANK && !out->window.ring;
}

static void find_carried(struct parts *x) {
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        const struct nest *n = &x->l->nests.at[k];
        for (inst_id i = 0; i < n->insts.n && is_of(x, k); i++) {
            if (n->insts.at[i].kind != INST_LOAD) continue;
            uint32_t maker = maker_of(x, n->insts.at[i].buffer);
            x->carried[k] |= is_carried(x, n->insts.at[i].buffer);
            x->carried[k] |= maker != NONE && x->carried[maker];
        }
        x->cheap[k] = is_of(x, k) && !x->carried[k] && !n->n_reduce && may_leave(x, k);
        for (inst_id i = 0; i < n->insts.n && x->cheap[k]; i++) {
            uint32_t maker =
                n->insts.at[i].kind == INST_LOAD ? maker_of(x, n->insts.at[i].buffer) : NONE;
            x->cheap[k] &= maker == NONE || x->cheap[maker];
        }
    }
}

/* Is nest k c + v, where c is what it was in the step before, for nothing else of the loop, and is
 * only the last of it wanted? */
static bool adds_up(const struct parts *x, uint32_t k) {
    const struct loops *l = x->l;
    const struct nest *n = &l->nests.at[k];
    const struct buffer *out = &l->buffers.at[n->out];
    const struct inst *last = &n->insts.at[n->insts.n - 1];
    int own = 0;
    if (out->kind != BUFFER_WINDOW || !out->window.ring || n->n_reduce || n->scan ||
        l->buffers.at[out->window.of].kind != BUFFER_STACK || last->kind != INST_OP ||
        last->op != OP_ADD || n->n_axes == WS_MAX_RANK)
        return false;
    for (uint32_t r = 0; r < l->nests.n; r++)
        for (inst_id i = 0; i < l->nests.at[r].insts.n; i++) {
            const struct inst *load = &l->nests.at[r].insts.at[i];
            const struct loop_window *w = &l->buffers.at[load->buffer].window;
            if (load->kind != INST_LOAD) continue;
            if (load->buffer == n->out) return false; /* the sum so far, in this step */
            if (!is_carried(x, load->buffer)) continue;
            if (w->start == out->window.of) return false;
            if (w->of != out->window.of) continue;
            if (r != k || load->guarded || load->dtype != last->dtype) return false;
            for (int d = 0; d < load->n_index; d++)
                if (load->index[d] != n->out_index[d]) return false;
            own += last->args[0] == i || last->args[1] == i;
            for (inst_id j = 0; j + 1 < n->insts.n; j++)
                for (int a = 0; a < n->insts.at[j].n_args; a++)
                    if (n->insts.at[j].args[a] == i) return false;
        }
    return own == 1 && last->args[0] != last->args[1] && dtype_is_float(last->dtype);
}

static bool is_carried_on(const struct parts *x, buffer_id out) {
    const struct buffer *o = &x->l->buffers.at[out];
    for (buffer_id b = 0; b < x->l->buffers.n && o->kind == BUFFER_WINDOW; b++)
        if (is_carried(x, b) && x->l->buffers.at[b].window.of == o->window.of) return true;
    return false;
}

static void find_needed(struct parts *x) {
    for (uint32_t k = x->l->nests.n; k-- > 0;) {
        const struct nest *n = &x->l->nests.at[k];
        if (!is_of(x, k)) continue;
        x->needed[k] |= !x->adds[k] && is_carried_on(x, n->out);
        for (inst_id i = 0; i < n->insts.n && x->needed[k]; i++) {
            if (n->insts.at[i].kind != INST_LOAD) continue;
            uint32_t maker = maker_of(x, n->insts.at[i].buffer);
            if (maker != NONE) x->needed[maker] = true;
        }
    }
}

/* Do all nests of the loop that read k go to this place? And is it read by any? */
static bool all_readers(const struct parts *x, uint32_t k, enum place place, bool *any) {
    *any = false;
    for (uint32_t r = k + 1; r < x->l->nests.n; r++) {
        const struct nest *n = &x->l->nests.at[r];
        for (inst_id i = 0; i < n->insts.n && is_of(x, r); i++) {
            if (n->insts.at[i].kind != INST_LOAD || n->insts.at[i].buffer != x->l->nests.at[k].out)
                continue;
            *any = true;
            if (x->place[r] != place) return false;
        }
    }
    return true;
}

/* Sums that nothing carried stands on, and what is made of them; what is made for them alone. */
static bool find_behind(struct parts *x) {
    bool read, left = false;
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        const struct nest *n = &x->l->nests.at[k];
        if (!is_of(x, k) || !x->carried[k] || x->needed[k]) continue;
        bool behind = n->n_reduce > 0 || x->adds[k];
        for (inst_id i = 0; i < n->insts.n; i++) {
            if (n->insts.at[i].kind != INST_LOAD) continue;
            uint32_t maker = maker_of(x, n->insts.at[i].buffer);
            behind |= maker != NONE && x->place[maker] == BEHIND;
        }
        if (!behind) continue;
        if (!x->adds[k] && !may_leave(x, k)) return false;
        x->place[k] = BEHIND;
        left = true;
    }
    for (uint32_t k = x->l->nests.n; k-- > 0 && left;) {
        if (!is_of(x, k) || !x->carried[k] || x->needed[k] || x->place[k] == BEHIND) continue;
        bool own = x->l->buffers.at[x->l->nests.at[k].out].kind != BUFFER_WINDOW;
        if (own && may_leave(x, k) && all_readers(x, k, BEHIND, &read) && read)
            x->place[k] = BEHIND;
    }
    return left;
}

/* Sums that stand on nothing carried, and what is made of them, or left for others: all else that
 * they need can be made anew. */
static bool find_given(struct parts *x) {
    bool any = false;
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        bool left = x->l->buffers.at[x->l->nests.at[k].out].kind == BUFFER_WINDOW;
        bool next = is_carried_on(x, x->l->nests.at[k].out);
        if (!is_of(x, k) || x->carried[k] || (x->cheap[k] && (!left || next))) continue;
        if (!may_leave(x, k) || next) return false;
        x->place[k] = BEFORE;
        any = true;
    }
    return any;
}

/* What stands on nothing carried, and is read by nothing that stays, nor by the next step; nor
 * reads what stays, unless that can be made anew. */
static bool find_before(struct parts *x) {
    bool any = false;
    if (x->gives) return find_given(x);
    for (uint32_t k = 0; k < x->l->nests.n; k++)
        if (is_of(x, k) && !x->carried[k] && may_leave(x, k) &&
            !is_carried_on(x, x->l->nests.at[k].out))
            x->place[k] = BEFORE;
    for (bool more = true; more;) { /* what stays keeps what it reads, and what reads it */
        more = false;
        for (uint32_t k = 0; k < x->l->nests.n; k++) {
            const struct nest *n = &x->l->nests.at[k];
            for (inst_id i = 0; i < n->insts.n && is_of(x, k); i++) {
                if (n->insts.at[i].kind != INST_LOAD) continue;
                uint32_t maker = maker_of(x, n->insts.at[i].buffer);
                if (maker == NONE || (x->place[k] == BEFORE && x->cheap[maker])) continue;
                uint32_t stays = x->place[k] == STAYS ? maker : k,
                         other = x->place[k] == STAYS ? k : maker;
                if (x->place[other] != STAYS || x->place[stays] != BEFORE) continue;
                x->place[stays] = STAYS;
                more = true;
            }
        }
    }
    for (uint32_t k = 0; k < x->l->nests.n; k++) any |= is_of(x, k) && x->place[k] == BEFORE;
    return any;
}

/* ---- of all steps ---------------------------------------------------------------------------- */

static void add_dimension(struct loops *l, struct meta *m, int64_t steps) {
    memmove(&m->size[1], &m->size[0], (size_t)m->rank * sizeof(ex));
    m->size[0] = ex_const(l->ex, steps);
    m->rank++;
    meta_contiguous(l->ex, m);
}

static void add_index(ex *index, int n, ex first) {
    memmove(&index[1], &index[0], (size_t)n * sizeof(ex));
    index[0] = first;
}

static ex step_axis(const struct parts *x) {
    return ex_index(x->l->ex, "t", ex_const(x->l->ex, x->l->steps.at[x->loop]));
}

/* Memory of all steps for what a step reads as b, which the loop has from now on. */
static buffer_id keep(struct parts *x, buffer_id b) {
    struct loops *l = x->l;
    struct nest n;
    if (x->kept[b] != NONE) return x->kept[b];
    const struct nest *like = NULL;
    for (uint32_t k = 0; k < l->nests.n; k++)
        if (is_of(x, k)) like = &l->nests.at[k];
    WS_ASSERT(like);
    x->kept[b] = recurrence_keep(l, like, b, &n);
    vec_push(l->arena, &x->copies, n);
    return x->kept[b];
}

/* What nest k of the loop makes of what was there before, before it, too. */
static buffer_id make_anew(struct parts *x, uint32_t k);

/* A load of a nest that leaves, in step t. */
static void load_whole(struct parts *x, struct inst *load, ex t) {
    struct loops *l = x->l;
    struct exprs *p = l->ex;
    const struct buffer *b = &l->buffers.at[load->buffer];
    uint32_t maker = maker_of(x, load->buffer);
    if (b->kind != BUFFER_WINDOW && maker == NONE) return;
    ex at = t;
    if (maker != NONE && x->place[maker] == STAYS && x->cheap[maker]) {
        load->buffer = make_anew(x, maker);
    } else if (maker != NONE && x->given[load->buffer] != NONE) {
        load->buffer = l->buffers.at[x->given[load->buffer]].window.of;
    } else if (is_carried(x, load->buffer) || (maker != NONE && x->place[maker] == STAYS &&
                                               (b->kind != BUFFER_WINDOW || b->window.ring))) {
        load->buffer = keep(x, load->buffer);
    } else if (b->kind == BUFFER_WINDOW) {
        at = ex_add(p, ex_const(p, b->window.first), ex_mul(p, t, ex_const(p, b->window.way)));
        load->buffer = b->window.of;
    }
    add_index(load->index, load->n_index++, at);
}

/* Nest n, with its steps as the outermost axis. */
static void make_whole(struct parts *x, struct nest *n) {
    ex t = step_axis(x);
    for (inst_id i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD) load_whole(x, &n->insts.at[i], t);
    add_index(n->axes, n->n_axes++, t);
    add_index(n->out_index, x->l->buffers.at[n->out].meta.rank, t);
}

static buffer_id make_anew(struct parts *x, uint32_t k) {
    struct loops *l = x->l;
    struct nest n = l->nests.at[k];
    if (x->anew[k] != NONE) return x->anew[k];
    struct inst *insts = NEW_ARRAY(l->arena, struct inst, n.insts.n);
    memcpy(insts, n.insts.at, n.insts.n * sizeof *insts);
    n.insts.at = insts, n.insts.cap = n.insts.n;
    make_whole(x, &n);
    struct buffer b = {.kind = BUFFER_TEMP, .meta = l->buffers.at[n.out].meta};
    b.name = arena_printf(l->arena, "b%u", l->buffers.n);
    add_dimension(l, &b.meta, l->steps.at[x->loop]);
    vec_push(l->arena, &l->buffers, b);
    n.out = x->anew[k] = l->buffers.n - 1;
    n.epoch = 2 * x->loop;
    vec_push(l->arena, &x->before, n);
    return n.out;
}

buffer_id recurrence_keep(struct loops *l, const struct nest *like, buffer_id b,
                          struct nest *copy) {
    const struct meta m = l->buffers.at[b].meta;
    ex axes[WS_MAX_RANK];
    struct inst load = {
        .kind = INST_LOAD, .buffer = b, .dtype = m.dtype, .n_index = (uint8_t)m.rank};
    *copy = (struct nest){
        .name = "copy_step", .epoch = like->epoch, .origin = like->origin, .where = like->where};
    for (int d = 0; d < m.rank; d++) {
        int64_t size = ex_value(l->ex, m.size[d]);
        axes[d] = ex_index(l->ex, "i", m.size[d]);
        copy->out_index[d] = load.index[d] = size == 1 ? ex_const(l->ex, 0) : axes[d];
        if (size != 1) copy->axes[copy->n_axes++] = axes[d];
    }
    vec_push(l->arena, &copy->insts, load);
    return recurrence_memory(l, m.dtype, axes, m.rank, nest_steps(l, like), false, &copy->out);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Does a nest that stays read it? */
static bool is_wanted(const struct parts *x, buffer_id out) {
    bool any = false;
    for (uint32_t k = 0; k < x->l->nests.n; k++)
        for (inst_id i = 0; i < x->l->nests.at[k].insts.n && is_of(x, k); i++)
            any |= x->place[k] == STAYS && x->l->nests.at[k].insts.at[i].kind == INST_LOAD &&
                   x->l->nests.at[k].insts.at[i].buffer == out;
    return any;
}

/* What a nest that leaves fills: all that its windows were of, or of which what stays has some. */
static buffer_id whole_of(struct parts *x, buffer_id out) {
    struct buffer *b = &x->l->buffers.at[out];
    if (b->kind == BUFFER_WINDOW) return b->window.of;
    if (x->gives && is_wanted(x, out)) {
        const struct meta m = b->meta;
        ex axes[WS_MAX_RANK];
        for (int d = 0; d < m.rank; d++) axes[d] = ex_index(x->l->ex, "i", m.size[d]);
        return recurrence_memory(x->l, m.dtype, axes, m.rank, x->l->steps.at[x->loop], false,
                                 &x->given[out]);
    }
    add_dimension(x->l, &b->meta, x->l->steps.at[x->loop]);
    b->node = 0;
    return out;
}

static struct nest leaving(struct parts *x, uint32_t k) {
    struct nest n = x->l->nests.at[k];
    make_whole(x, &n);
    n.out = whole_of(x, n.out);
    n.epoch = 2 * x->loop + (x->place[k] == BEFORE ? 0 : 2);
    return n;
}

/* What nest k adds up, as a sum along the steps; and what is added to that. */
static void put_sum(struct parts *x, uint32_t k) {
    struct loops *l = x->l;
    struct nest n = l->nests.at[k], all = n;
    const struct inst last = vec_last(&n.insts);
    const struct loop_window w = l->buffers.at[n.out].window;
    const struct meta m = l->buffers.at[n.out].meta;
    buffer_id start = 0, sum = l->buffers.n, result = sum + 1;
    inst_id value = 0;
    ex t = step_axis(x);
    for (buffer_id i = sum; i <= result; i++) {
        struct buffer b = {.kind = BUFFER_TEMP, .meta = m};
        b.name = arena_printf(l->arena, "b%u", i);
        vec_push(l->arena, &l->buffers, b);
    }
    all.insts = (__typeof__(all.insts)){0};
    for (int a = 0; a < 2; a++) {
        const struct inst *of = &n.insts.at[last.args[a]];
        bool before = of->kind == INST_LOAD && is_carried(x, of->buffer) &&
                      l->buffers.at[of->buffer].window.of == w.of;
        if (before)
            start = l->buffers.at[of->buffer].window.start;
        else
            value = last.args[a];
    }
    n.epoch = all.epoch = 2 * x->loop + 2;
    n.insts.n--;
    for (inst_id i = 0; i < n.insts.n; i++) {
        struct inst *of = &n.insts.at[i];
        if (of->kind != INST_LOAD) continue;
        if (is_carried(x, of->buffer) && l->buffers.at[of->buffer].window.of == w.of)
            *of = (struct inst){.kind = INST_CONST, .dtype = last.dtype}; /* nobody reads it */
        else
            load_whole(x, of, t);
    }
    struct inst reduce = {.kind = INST_REDUCE, .reduction = REDUCTION_SUM, .dtype = last.dtype};
    reduce.n_args = 1, reduce.args[0] = value;
    vec_push(l->arena, &n.insts, reduce);
    n.reduce[n.n_reduce++] = t;
    n.out = sum;
    vec_push(l->arena, &x->behind, n);
    for (int a = 0; a < 2; a++) {
        struct inst load = {.kind = INST_LOAD, .buffer = a ? sum : start, .dtype = last.dtype};
        load.n_index = m.rank;
        memcpy(load.index, n.out_index, sizeof load.index);
        vec_push(l->arena, &all.insts, load);
    }
    struct inst add = {.kind = INST_OP, .op = OP_ADD, .dtype = last.dtype, .n_args = 2};
    add.args[1] = 1;
    vec_push(l->arena, &all.insts, add);
    all.out = result;
    vec_push(l->arena, &x->behind, all);
    for (uint32_t r = 0; r < l->nests.n; r++)
        for (inst_id i = 0; i < l->nests.at[r].insts.n; i++) {
            struct inst *load = &l->nests.at[r].insts.at[i];
            if (load->kind != INST_LOAD || load->buffer != w.of) continue;
            load->n_index--;
            memmove(load->index, load->index + 1, load->n_index * sizeof *load->index);
            load->buffer = result;
        }
}

/* Is it left for others, or read by what stays? Then so is what it reads. */
static void find_live(const struct parts *x, uint32_t first, uint32_t behind, bool *live) {
    for (uint32_t i = 0; i < x->copies.n; i++) {
        uint32_t maker = maker_of(x, x->copies.at[i].insts.at[0].buffer);
        if (maker != NONE) live[maker] = true;
    }
    for (uint32_t k = behind; k-- > first;) {
        const struct nest *n = &x->l->nests.at[k];
        live[k] |= x->l->buffers.at[n->out].kind == BUFFER_WINDOW;
        live[k] &= x->place[k] == STAYS;
        for (inst_id i = 0; i < n->insts.n && live[k]; i++) {
            uint32_t maker =
                n->insts.at[i].kind == INST_LOAD ? maker_of(x, n->insts.at[i].buffer) : NONE;
            if (maker != NONE) live[maker] = true;
        }
    }
}

static void put_staying(struct parts *x, struct loops *to, struct nest n) {
    for (inst_id i = 0; i < n.insts.n; i++) {
        struct inst *load = &n.insts.at[i];
        if (load->kind == INST_LOAD && x->given[load->buffer] != NONE)
            load->buffer = x->given[load->buffer];
    }
    vec_push(x->l->arena, &to->nests, n);
}

/* The loop's nests: those before it, those that stay, and those behind. */
static void put(struct parts *x, uint32_t first, uint32_t behind) {
    struct loops *l = x->l;
    struct loops to = {.nests = {0}};
    bool *live = NEW_ARRAY(l->arena, bool, l->nests.n);
    for (uint32_t k = 0; k < first; k++) vec_push(l->arena, &to.nests, l->nests.at[k]);
    for (uint32_t k = first; k < behind; k++) {
        if (x->place[k] == STAYS) continue;
        if (x->adds[k]) {
            put_sum(x, k);
            continue;
        }
        struct nest n = leaving(x, k); /* behind what it needs */
        if (x->place[k] == BEFORE)
            vec_push(l->arena, &x->before, n);
        else
            vec_push(l->arena, &x->behind, n);
    }
    for (uint32_t i = 0; i < x->before.n; i++) vec_push(l->arena, &to.nests, x->before.at[i]);
    find_live(x, first, behind, live);
    for (uint32_t k = first; k < behind; k++)
        if (live[k]) put_staying(x, &to, l->nests.at[k]);
    for (uint32_t i = 0; i < x->copies.n; i++) vec_push(l->arena, &to.nests, x->copies.at[i]);
    for (uint32_t i = 0; i < x->behind.n; i++) vec_push(l->arena, &to.nests, x->behind.at[i]);
    for (uint32_t k = behind; k < l->nests.n; k++) vec_push(l->arena, &to.nests, l->nests.at[k]);
    l->nests.at = to.nests.at, l->nests.n = to.nests.n, l->nests.cap = to.nests.cap;
}

bool recurrence_distribute(struct loops *l, uint32_t loop, bool behind, bool gives) {
    struct parts x = {
        .l = l, .loop = loop, .writer = loops_writers(l, l->buffers.n), .gives = gives};
    uint32_t first = 0, end = l->nests.n;
    x.place = NEW_ARRAY(l->arena, enum place, l->nests.n);
    x.carried = NEW_ARRAY(l->arena, bool, l->nests.n);
    x.needed = NEW_ARRAY(l->arena, bool, l->nests.n);
    x.adds = NEW_ARRAY(l->arena, bool, l->nests.n);
    x.cheap = NEW_ARRAY(l->arena, bool, l->nests.n);
    x.anew = NEW_ARRAY(l->arena, buffer_id, l->nests.n);
    x.kept = NEW_ARRAY(l->arena, buffer_id, l->buffers.n);
    x.given = NEW_ARRAY(l->arena, buffer_id, l->buffers.n);
    for (uint32_t k = 0; k < l->nests.n; k++) x.anew[k] = NONE;
    for (buffer_id b = 0; b < l->buffers.n; b++) x.kept[b] = x.given[b] = NONE;
    for (uint32_t k = 0; k < l->nests.n; k++) x.adds[k] = behind && is_of(&x, k) && adds_up(&x, k);
    find_carried(&x);
    find_needed(&x);
    if (behind && !find_behind(&x)) return false;
    if (!find_before(&x) && !behind) return false;
    while (first < end && !is_of(&x, first)) first++;
    while (end > first && !is_of(&x, end - 1)) end--;
    put(&x, first, end);
    return true;
}
