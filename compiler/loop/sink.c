/* sink.c: what steps of a recurrence read of tensors that were made for them alone, as
 * exp(delta * A) of all steps is, is made where it is read, if its own operands are smaller. Of
 * these a step has windows, whose strides are theirs.
 *
 *   b46[i0: 512, i1, i2, i3] = exp(b41[i1, i0, i2] * b31[i2, i3])
 *   b47: window of b46, 0 + 1 t             ->   b80: window of b41, 0 + 1 t, of other strides
 *   b55[i0, i1, i2] = b47[i0, i1, i2] * ..       b55[i0, i1, i2] = exp(b80[i0, 0, i1] * ..) * ..
 *
 * Part of the pass of recurrence.c, with what that needs. */
#include <math.h>
#include <string.h>

#include "loop/recurrence_impl.h"

/* ---- what is made where it is read ----------------------------------------------------------- */

static double bytes_of(const struct loops *l, buffer_id b) {
    const struct meta *m = &l->buffers.at[b].meta;
    return (double)ex_hint(l->ex, meta_numel(l->ex, m)) * dtype_bytes(m->dtype);
}

/* By operators alone, before the loop, for others to read. */
static bool may_sink(const struct sinking *s, buffer_id b) {
    if (s->writer[b] == NONE) return false;
    const struct nest *n = &s->l->nests.at[s->writer[b]];
    enum buffer_kind kind = s->l->buffers.at[b].kind;
    bool own = kind == BUFFER_TEMP || kind == BUFFER_STACK;
    for (inst_id i = 0; i < n->insts.n; i++) own &= n->insts.at[i].kind != INST_SUBSCRIPT;
    return own && !n->n_reduce && !n->scan && loop_of(n->epoch) == NO_LOOP &&
           n->epoch < 2 * s->loop + 1;
}

/* Per buffer: is it there for others than the loop, or for what only the loop is there for? */
static bool *find_others(const struct loops *l, uint32_t loop) {
    bool *others = NEW_ARRAY(l->arena, bool, l->buffers.n);
    for (buffer_id b = 0; b < l->buffers.n; b++)
        others[b] = l->buffers.at[b].kind == BUFFER_OUTPUT || l->buffers.at[b].kind == BUFFER_INPUT;
    for (uint32_t k = l->nests.n; k-- > 0;) {
        const struct nest *n = &l->nests.at[k];
        const struct buffer *out = &l->buffers.at[n->out];
        bool given = loop_of(n->epoch) != loop && (loop_of(n->epoch) != NO_LOOP || others[n->out]);
        if (given && out->kind == BUFFER_WINDOW) others[out->window.of] = true;
        for (inst_id i = 0; i < n->insts.n && given; i++) {
            const struct buffer *b = &l->buffers.at[n->insts.at[i].buffer];
            if (n->insts.at[i].kind != INST_LOAD) continue;
            others[n->insts.at[i].buffer] = true;
            if (b->kind == BUFFER_WINDOW) others[b->window.of] = others[b->window.start] = true;
        }
    }
    return others;
}

/* Bytes that the loop reads of b, and of what it is made of where it is made there; and what is
 * written for it alone. */
static double moved(struct sinking *s, buffer_id b) {
    double bytes = 0;
    if (s->counted[b]) return 0;
    s->counted[b] = true;
    if (!s->sunk[b] && ++s->n_counted) return bytes_of(s->l, b) * (s->others[b] ? 1 : 2);
    const struct nest *n = &s->l->nests.at[s->writer[b]];
    for (inst_id i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD) bytes += moved(s, n->insts.at[i].buffer);
    return bytes;
}

static bool is_sliced(const struct loops *l, const struct inst *load) {
    const struct buffer *b = &l->buffers.at[load->buffer];
    return load->kind == INST_LOAD && b->kind == BUFFER_WINDOW && !b->window.carried;
}

/* Has its place the step's number in it? */
static bool is_numbered(const struct sinking *s, const struct inst *load) {
    bool uses = false;
    if (load->kind != INST_LOAD || s->l->buffers.at[load->buffer].kind == BUFFER_WINDOW)
        return false;
    for (int d = 0; d < load->n_index; d++)
        uses |= ex_uses(s->l->ex, load->index[d], s->l->step[s->loop]);
    return uses;
}

/* Is it, in each step, a window or another place of what was there before? */
static bool is_given(const struct sinking *s, const struct inst *load) {
    if (is_numbered(s, load)) return true;
    if (!is_sliced(s->l, load)) return false;
    for (uint32_t k = 0; k < s->l->nests.n; k++)
        if (s->l->nests.at[k].out == load->buffer) return false;
    return true;
}

/* What that is. */
static buffer_id given_of(const struct sinking *s, const struct inst *load) {
    const struct buffer *b = &s->l->buffers.at[load->buffer];
    return b->kind == BUFFER_WINDOW ? b->window.of : load->buffer;
}

static double all_moved(struct sinking *s) {
    double bytes = 0;
    memset(s->counted, 0, s->l->buffers.n * sizeof *s->counted);
    s->n_counted = 0;
    for (uint32_t k = 0; k < s->l->nests.n; k++) {
        const struct nest *n = &s->l->nests.at[k];
        if (loop_of(n->epoch) != s->loop) continue;
        for (inst_id i = 0; i < n->insts.n; i++)
            if (is_given(s, &n->insts.at[i])) bytes += moved(s, given_of(s, &n->insts.at[i]));
    }
    return s->n_counted > MOST_READ ? INFINITY : bytes;
}

inst_id sink_put(struct sinking *s, struct inst x) {
    vec_push(s->l->arena, &s->made, x);
    return s->made.n - 1;
}

static buffer_id add_window(struct loops *l, buffer_id of, struct loop_window x) {
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        const struct buffer *w = &l->buffers.at[b];
        if (w->kind == BUFFER_WINDOW && !w->window.carried && w->window.of == of &&
            w->window.first == x.first && w->window.way == x.way && w->window.each == x.each &&
            !w->window.ring && w->meta.rank == l->buffers.at[of].meta.rank)
            return b;
    }
    struct buffer b = {.kind = BUFFER_WINDOW, .meta = l->buffers.at[of].meta, .window = x};
    b.name = arena_printf(l->arena, "b%u", l->buffers.n);
    if (l->buffers.at[of].kind == BUFFER_TEMP) l->buffers.at[of].kind = BUFFER_STACK;
    vec_push(l->arena, &l->buffers, b);
    return l->buffers.n - 1;
}

/* A load of what is there, in a step: of a window unless it is the same in each. NONE: its places
 * are no multiple of the step's. make: else it is only asked. */
static inst_id read_given(struct sinking *s, struct inst x, bool make) {
    struct exprs *p = s->l->ex;
    struct loop_window w = s->along;
    int64_t each, stride;
    int varies = 0, along = 0;
    w.of = x.buffer;
    w.each = 0;
    for (int d = 0; d < x.n_index; d++) {
        ex by, rest;
        if (!ex_uses(p, x.index[d], s->step)) continue;
        if (!ex_linear(p, x.index[d], s->step, &by, &rest) || !ex_is_const(p, by, &each) ||
            !ex_is_const(p, s->l->buffers.at[x.buffer].meta.stride[d], &stride))
            return NONE;
        varies++;
        along = d;
        w.each += each * stride;
        x.index[d] = rest;
    }
    int64_t begin;
    if (varies == 1 && ex_is_const(p, x.index[along], &begin) && begin % each == 0) {
        w.first += begin / each; /* one window of what lies in the same places */
        x.index[along] = ex_const(p, 0);
    }
    if (w.each < 0) w.each = -w.each, w.first = -w.first, w.way = -w.way;
    if (varies && make) x.buffer = add_window(s->l, x.buffer, w);
    return sink_put(s, x);
}

/* The place along the window's steps, of the loop's step. */
static ex place_in_step(const struct sinking *s) {
    struct exprs *p = s->l->ex;
    return ex_add(p, ex_const(p, s->along.first),
                  ex_mul(p, s->l->step[s->loop], ex_const(p, s->along.way)));
}

/* What nest n makes, at these places of its axes; NONE: it cannot be made so. */
static inst_id make_element(struct sinking *s, const struct nest *n, const ex *at, bool make) {
    inst_id *as = NEW_ARRAY(s->l->arena, inst_id, n->insts.n);
    for (inst_id i = 0; i < n->insts.n; i++) {
        struct inst x = n->insts.at[i];
        for (int a = 0; a < x.n_args; a++) x.args[a] = as[x.args[a]];
        for (int d = 0; d < x.n_index; d++)
            x.index[d] = ex_subst(s->l->ex, x.index[d], n->axes, at, n->n_axes);
        bool given = x.kind == INST_LOAD;
        if (x.kind == INST_INDEX) {
            ex at_step = place_in_step(s);
            x.index[0] = ex_subst(s->l->ex, x.index[0], &s->step, &at_step, 1);
        }
        if (given && s->sunk[x.buffer] && !x.guarded) {
            const struct nest *maker = &s->l->nests.at[s->writer[x.buffer]];
            ex places[WS_MAX_RANK];
            for (int k = 0; k < maker->n_axes; k++)
                for (int d = 0; d < x.n_index; d++)
                    if (maker->out_index[d] == maker->axes[k]) places[k] = x.index[d];
            as[i] = make_element(s, maker, places, make);
        } else {
            as[i] = given ? read_given(s, x, make) : sink_put(s, x);
        }
        if (as[i] == NONE) return NONE;
    }
    return as[n->insts.n - 1];
}

/* Places are along a window's steps, or by the loop's. */
static void go_along(struct sinking *s, const struct inst *load) {
    const struct loop_window *w = &s->l->buffers.at[load->buffer].window;
    if (is_numbered(s, load)) {
        s->along = (struct loop_window){.way = 1};
        s->step = s->l->step[s->loop];
        return;
    }
    s->along = *w;
    s->step = ex_index(s->l->ex, "step", s->l->buffers.at[w->of].meta.size[0]);
}

/* The nest that makes what is read, for an element of that. */
static inst_id make_read(struct sinking *s, const struct inst *load, bool make) {
    const struct nest *maker = &s->l->nests.at[s->writer[given_of(s, load)]];
    bool numbered = is_numbered(s, load);
    ex places[WS_MAX_RANK];
    go_along(s, load);
    for (int k = 0; k < maker->n_axes; k++)
        for (int d = 0; d < load->n_index + !numbered; d++)
            if (maker->out_index[d] == maker->axes[k])
                places[k] = numbered ? load->index[d] : d ? load->index[d - 1] : s->step;
    return make_element(s, maker, places, make);
}

static bool is_made_here(const struct sinking *s, const struct inst *load) {
    return is_given(s, load) && !load->guarded && s->sunk[given_of(s, load)];
}

/* May all that is to be made where it is read be so? */
static bool can_make(struct sinking *s) {
    for (uint32_t k = 0; k < s->l->nests.n; k++)
        for (inst_id i = 0; i < s->l->nests.at[k].insts.n; i++) {
            const struct inst *load = &s->l->nests.at[k].insts.at[i];
            if (loop_of(s->l->nests.at[k].epoch) != s->loop || !is_made_here(s, load)) continue;
            s->made.n = 0;
            if (make_read(s, load, false) == NONE) return false;
        }
    return true;
}

/* No arithmetic: a copy, or a concatenation. */
static bool only_copies(const struct nest *n) {
    for (inst_id i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind == INST_CAST || (x->kind == INST_OP && x->op != OP_WHERE)) return false;
    }
    return true;
}

/* Less is moved if b is made where it is read, with some of what it is made of. */
static bool sink(struct sinking *s, buffer_id b, double least, int deep) {
    if (s->sunk[b] || !may_sink(s, b) || deep > DEEPEST) return false;
    s->sunk[b] = true;
    double bytes = can_make(s) ? all_moved(s) : INFINITY;
    const struct nest *n = &s->l->nests.at[s->writer[b]];
    bool copies = only_copies(n);
    if (bytes < least || (copies && bytes <= least)) return true;
    for (inst_id i = 0; i < n->insts.n && bytes < 1.01 * least; i++)
        if (n->insts.at[i].kind == INST_LOAD && sink(s, n->insts.at[i].buffer, least, deep + 1))
            return true;
    s->sunk[b] = false;
    return false;
}

/* The next that is worth it; false: nothing is. */
static bool sink_any(struct sinking *s, const struct nest *n, double least) {
    for (inst_id i = 0; i < n->insts.n; i++) {
        const struct inst *load = &n->insts.at[i];
        if (is_given(s, load) && sink(s, given_of(s, load), least, 0)) return true;
    }
    for (buffer_id b = 0; b < s->l->buffers.n; b++) {
        const struct nest *maker = s->sunk[b] ? &s->l->nests.at[s->writer[b]] : NULL;
        for (inst_id i = 0; maker && i < maker->insts.n; i++)
            if (maker->insts.at[i].kind == INST_LOAD &&
                sink(s, maker->insts.at[i].buffer, least, 0))
                return true;
    }
    return false;
}

static void make_nest(struct sinking *s, struct nest *n) {
    inst_id *as = NEW_ARRAY(s->l->arena, inst_id, n->insts.n);
    s->made = (__typeof__(s->made)){0};
    for (inst_id i = 0; i < n->insts.n; i++) {
        struct inst x = n->insts.at[i];
        for (int a = 0; a < x.n_args; a++) x.args[a] = as[x.args[a]];
        if (is_made_here(s, &n->insts.at[i])) {
            as[i] = make_read(s, &n->insts.at[i], true);
        } else if (is_numbered(s, &x)) {
            go_along(s, &x);
            as[i] = read_given(s, x, true);
        } else {
            as[i] = sink_put(s, x);
        }
    }
    n->insts.at = s->made.at;
    n->insts.n = s->made.n;
    n->insts.cap = s->made.cap;
}

uint32_t *loops_writers(const struct loops *l, uint32_t n_buffers) {
    uint32_t *writer = NEW_ARRAY(l->arena, uint32_t, n_buffers);
    for (buffer_id b = 0; b < n_buffers; b++) writer[b] = NONE;
    for (uint32_t k = 0; k < l->nests.n; k++) writer[l->nests.at[k].out] = k;
    return writer;
}

void recurrence_sink(struct loops *l, uint32_t loop) {
    uint32_t n = l->buffers.n;
    struct sinking s = {.l = l, .loop = loop, .writer = loops_writers(l, n)};
    s.sunk = NEW_ARRAY(l->arena, bool, n);
    s.others = find_others(l, loop);
    s.counted = NEW_ARRAY(l->arena, bool, n);
    for (bool more = true; more;) {
        double least = all_moved(&s);
        more = false;
        for (uint32_t k = 0; k < l->nests.n && !more; k++)
            if (loop_of(l->nests.at[k].epoch) == loop) more = sink_any(&s, &l->nests.at[k], least);
    }
    for (uint32_t k = 0; k < l->nests.n; k++)
        if (loop_of(l->nests.at[k].epoch) == loop) make_nest(&s, &l->nests.at[k]);
}
