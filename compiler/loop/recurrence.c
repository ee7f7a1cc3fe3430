/* recurrence.c: loops each of whose elements goes its own way through all steps, as
 * h = a[t] * h + b[t] does, or a selective scan's states, of which a step sums up few.
 *
 *   512 steps of  b55[i0: 4, i1: 1536, i2: 16] = mul of b47 (a[t]), b50 (carried)
 *                 b56[i0: 4, i1: 1536, i2: 16] = add of b55, b52 (b[t]), for the next step
 *                 b58[i0: 4, i1: 1536] = sum over r0: 16 of b56[i0, i1, r0] * b57[i0, r0]
 *
 * What is carried is read where it was left: nobody waits for anybody else, and whoever has an
 * element, with its neighbours along what steps reduce, keeps it in registers from the first step
 * to the last. So steps have axes in common: those of all, x, and those that steps reduce, r.
 *
 * What no step has to wait for leaves the loop first (distribute.c), if that alone is in the way,
 * and a loop may be several behind each other (fission.c).
 *
 * Needs: loops that were lowered for a device whose kernels take such loops whole; nothing else
 * reads windows of any strides. Adds windows, drops nests that nobody reads any more. */
#include <string.h>

#include "loop/recurrence_impl.h"

enum { MOST_NESTS = 96 /* of a step */ };

static int64_t bound_of(const struct loops *l, ex axis) {
    int64_t size;
    return ex_is_const(l->ex, ex_symbol(l->ex, axis)->bound, &size) ? size : 0;
}

/* ---- the axes of steps ----------------------------------------------------------------------- */

/* Axes of a loop's nests: which of them are one. */
struct axes {
    const struct loops *l;
    uint32_t loop;
    VEC(ex) of;
    VEC(uint32_t) like; /* by axis: another of the same class; the first of a class: itself */
};

static uint32_t number_of(const struct axes *x, ex axis) {
    for (uint32_t i = 0; i < x->of.n; i++)
        if (x->of.at[i] == axis) return i;
    WS_BUG("no axis of a step");
}

static uint32_t class_of(const struct axes *x, ex axis) {
    uint32_t i = number_of(x, axis);
    while (x->like.at[i] != i) i = x->like.at[i];
    return i;
}

static void join(struct axes *x, ex a, ex b) {
    uint32_t i = class_of(x, a), k = class_of(x, b);
    if (i < k)
        x->like.at[k] = i;
    else
        x->like.at[i] = k;
}

static bool is_of(const struct axes *x, const struct nest *n) {
    return loop_of(n->epoch) == x->loop;
}

/* The nest of the loop that leaves what is read: in the same step, or in the one before. */
static const struct nest *maker_of(const struct axes *x, buffer_id read) {
    const struct buffer *b = &x->l->buffers.at[read];
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        const struct nest *n = &x->l->nests.at[k];
        const struct buffer *out = &x->l->buffers.at[n->out];
        if (!is_of(x, n)) continue;
        if (n->out == read) return n;
        if (b->kind == BUFFER_WINDOW && b->window.carried && out->kind == BUFFER_WINDOW &&
            out->window.of == b->window.of)
            return n;
    }
    return NULL;
}

/* Is what is read of the loop read where it is made, element by element? */
static bool meets(struct axes *x, const struct nest *maker, const struct inst *load) {
    for (int d = 0; d < load->n_index; d++) {
        bool made = ex_kind(x->l->ex, maker->out_index[d]) == EX_SYM,
             read = ex_kind(x->l->ex, load->index[d]) == EX_SYM;
        if (made != read) return false;
        if (!made && maker->out_index[d] != load->index[d]) return false;
        if (made && bound_of(x->l, maker->out_index[d]) != bound_of(x->l, load->index[d]))
            return false;
        if (made) join(x, maker->out_index[d], load->index[d]);
    }
    return true;
}

static bool takes(const struct loops *l, const struct nest *n) {
    const struct inst *last = &n->insts.at[n->insts.n - 1];
    if (n->scan || (n->n_reduce && !reduction_of_values(last->reduction))) return false;
    for (int i = 0; i < n->n_axes; i++)
        if (!bound_of(l, n->axes[i])) return false;
    for (int i = 0; i < n->n_reduce; i++)
        if (!bound_of(l, n->reduce[i])) return false;
    return true;
}

/* Axes of a nest, those that it reduces behind the others. */
static int axes_of(const struct nest *n, ex *all) {
    memcpy(all, n->axes, sizeof *all * (size_t)n->n_axes);
    memcpy(all + n->n_axes, n->reduce, sizeof *all * (size_t)n->n_reduce);
    return n->n_axes + n->n_reduce;
}

/* False if an element goes another way than its own. */
static bool find_classes(struct axes *x) {
    ex all[2 * WS_MAX_RANK];
    uint32_t nests = 0;
    bool carries = false;
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        const struct nest *n = &x->l->nests.at[k];
        if (!is_of(x, n)) continue;
        if (!takes(x->l, n) || ++nests > MOST_NESTS) return false;
        for (int i = axes_of(n, all); i-- > 0;) {
            vec_push(x->l->arena, &x->of, all[i]);
            vec_push(x->l->arena, &x->like, x->of.n - 1);
        }
    }
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        const struct nest *n = &x->l->nests.at[k];
        for (inst_id i = 0; i < n->insts.n && is_of(x, n); i++) {
            const struct inst *load = &n->insts.at[i];
            const struct nest *maker = load->kind == INST_LOAD ? maker_of(x, load->buffer) : NULL;
            if (!maker) continue;
            carries |= maker->out != load->buffer;
            if (!meets(x, maker, load)) return false;
        }
    }
    return carries;
}

static bool has_class(const struct axes *x, const ex *axes, int n, uint32_t class) {
    for (int i = 0; i < n; i++)
        if (class_of(x, axes[i]) == class) return true;
    return false;
}

/* No nest has an axis twice, and none makes what another reduces along. */
static bool are_apart(const struct axes *x) {
    ex all[2 * WS_MAX_RANK];
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        const struct nest *n = &x->l->nests.at[k];
        if (!is_of(x, n)) continue;
        for (int i = axes_of(n, all); i-- > 0;)
            if (has_class(x, all, i, class_of(x, all[i]))) return false;
    }
    return true;
}

static bool is_reduced(const struct axes *x, uint32_t class) {
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        const struct nest *n = &x->l->nests.at[k];
        if (is_of(x, n) && has_class(x, n->reduce, n->n_reduce, class)) return true;
    }
    return false;
}

/* Of what is left for others, the first that has most axes. */
static const struct nest *find_widest(const struct axes *x) {
    const struct nest *widest = NULL;
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        const struct nest *n = &x->l->nests.at[k];
        if (is_of(x, n) && x->l->buffers.at[n->out].kind == BUFFER_WINDOW &&
            (!widest || n->n_axes > widest->n_axes))
            widest = n;
    }
    return widest;
}

/* What is left for others has of r all or nothing; sums go along all of r. What has not all of x is
 * made by all who have the same of it. The first that has most says in which order axes come. */
static bool find_common(const struct axes *x, struct recurrence *out) {
    const struct loops *l = x->l;
    const struct nest *widest = find_widest(x);
    int64_t reduced = 1;
    if (!widest) return false;
    out->n_x = out->n_r = 0;
    for (int i = 0; i < widest->n_axes; i++) {
        if (is_reduced(x, class_of(x, widest->axes[i]))) {
            out->r[out->n_r++] = widest->axes[i];
            reduced *= bound_of(l, widest->axes[i]);
        } else {
            out->x[out->n_x++] = widest->axes[i];
        }
    }
    if (!out->n_x || reduced > l->most_reduced) return false;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        int n_r = 0;
        if (!is_of(x, n)) continue;
        if (n->n_reduce && n->n_reduce != out->n_r) return false;
        for (int i = 0; i < n->n_reduce; i++)
            if (!has_class(x, out->r, out->n_r, class_of(x, n->reduce[i]))) return false;
        for (int i = 0; i < n->n_axes; i++) {
            uint32_t class = class_of(x, n->axes[i]);
            if (has_class(x, out->x, out->n_x, class)) continue;
            if (!has_class(x, out->r, out->n_r, class) || n->n_reduce) return false;
            n_r++;
        }
        bool left = l->buffers.at[n->out].kind == BUFFER_WINDOW;
        if (left && n_r && n_r != out->n_r) return false;
    }
    return true;
}

/* Sums of as many elements of others that nothing has beside these, as of a state's normalizer, go
 * along the same lanes. */
static void join_sums(struct axes *x) {
    const struct nest *first = NULL;
    for (uint32_t k = 0; k < x->l->nests.n; k++) {
        const struct nest *n = &x->l->nests.at[k];
        if (!is_of(x, n) || !n->n_reduce) continue;
        if (!first) first = n;
        for (int i = 0; i < n->n_reduce && n->n_reduce == first->n_reduce; i++)
            if (bound_of(x->l, n->reduce[i]) == bound_of(x->l, first->reduce[i]))
                join(x, n->reduce[i], first->reduce[i]);
    }
}

/* What meets nothing of the widest, as a normalizer's gradient its state's, goes along with axes of
 * that which are as long. */
static void join_strays(struct axes *x) {
    const struct nest *widest = find_widest(x);
    ex all[2 * WS_MAX_RANK];
    for (uint32_t k = 0; k < x->l->nests.n && widest; k++) {
        const struct nest *n = &x->l->nests.at[k];
        if (!is_of(x, n)) continue;
        int count = axes_of(n, all);
        for (int i = 0; i < count; i++) {
            if (has_class(x, widest->axes, widest->n_axes, class_of(x, all[i]))) continue;
            for (int w = 0; w < widest->n_axes; w++) {
                if (bound_of(x->l, widest->axes[w]) != bound_of(x->l, all[i]) ||
                    has_class(x, all, count, class_of(x, widest->axes[w])))
                    continue;
                join(x, widest->axes[w], all[i]);
                break;
            }
        }
    }
}

static ex common_axis(const struct axes *x, const struct recurrence *r, ex axis) {
    for (int i = 0; i < r->n_x; i++)
        if (class_of(x, r->x[i]) == class_of(x, axis)) return r->x[i];
    for (int i = 0; i < r->n_r; i++)
        if (class_of(x, r->r[i]) == class_of(x, axis)) return r->r[i];
    WS_BUG("an axis of a step alone");
}

static bool are_common(const struct axes *x, struct recurrence *out) {
    return are_apart(x) && find_common(x, out);
}

bool loop_recurs(const struct loops *l, uint32_t loop, struct recurrence *out) {
    struct axes x = {.l = l, .loop = loop};
    *out = (struct recurrence){0};
    if (!find_classes(&x)) return false;
    if (!are_common(&x, out)) {
        join_sums(&x);
        if (!are_common(&x, out)) {
            join_strays(&x);
            if (!are_common(&x, out)) return false;
        }
    }
    for (uint32_t k = 0; k < l->nests.n; k++) {
        struct recurrent_nest of = {.nest = k};
        if (!is_of(&x, &l->nests.at[k])) continue;
        of.n = axes_of(&l->nests.at[k], of.from);
        for (int i = 0; i < of.n; i++) of.to[i] = common_axis(&x, out, of.from[i]);
        vec_push(l->arena, &out->nests, of);
    }
    return true;
}

/* ---- axes that are several ------------------------------------------------------------------- */

/* Of a load, as the batches of a product of heads have it: dimension d is axis // m, and the next
 * one axis % m. */
static bool is_split(struct exprs *p, const struct inst *load, int d, ex *axis, int64_t *m) {
    ex q = load->index[d], r = d + 1 < load->n_index ? load->index[d + 1] : EX_NONE;
    if (!r || ex_kind(p, q) != EX_DIV || ex_kind(p, r) != EX_MOD) return false;
    *axis = ex_lhs(p, q);
    return ex_kind(p, *axis) == EX_SYM && ex_lhs(p, r) == *axis && ex_rhs(p, q) == ex_rhs(p, r) &&
           ex_is_const(p, ex_rhs(p, q), m);
}

/* A buffer's dimension d as two, of which the inner one has m. */
static void split_dimension(struct loops *l, buffer_id b, int d, int64_t m) {
    struct meta *x = &l->buffers.at[b].meta;
    int behind = x->rank - d - 1;
    memmove(&x->size[d + 2], &x->size[d + 1], (size_t)behind * sizeof(ex));
    memmove(&x->stride[d + 2], &x->stride[d + 1], (size_t)behind * sizeof(ex));
    ex size = x->size[d], stride = x->stride[d], by = ex_const(l->ex, m);
    x->size[d] = ex_div(l->ex, size, by), x->size[d + 1] = by;
    x->stride[d] = ex_mul(l->ex, stride, by), x->stride[d + 1] = stride;
    x->rank++;
}

static void split_index(ex *index, int n, int d, ex outer, ex inner) {
    memmove(&index[d + 2], &index[d + 1], (size_t)(n - d - 1) * sizeof(ex));
    index[d] = outer, index[d + 1] = inner;
}

/* What nest k writes, and whoever reads it: false if others go along with it. */
static bool split_output(struct loops *l, uint32_t k, ex axis, int64_t m, ex outer, ex inner) {
    struct nest *n = &l->nests.at[k];
    buffer_id b = n->out;
    const struct buffer *out = &l->buffers.at[b];
    struct exprs *p = l->ex;
    int d = 0;
    while (d < out->meta.rank && n->out_index[d] != axis) d++;
    if (d == out->meta.rank || out->meta.rank == WS_MAX_RANK) return false;
    for (buffer_id c = 0; c < l->buffers.n && out->kind == BUFFER_WINDOW; c++)
        if (l->buffers.at[c].kind == BUFFER_WINDOW && l->buffers.at[c].window.carried &&
            l->buffers.at[c].window.of == out->window.of)
            return false;
    split_index(n->out_index, out->meta.rank, d, outer, inner);
    split_dimension(l, b, d, m);
    l->buffers.at[b].node = 0;
    for (uint32_t r = 0; r < l->nests.n; r++)
        for (inst_id i = 0; i < l->nests.at[r].insts.n; i++) {
            struct inst *load = &l->nests.at[r].insts.at[i];
            ex by = ex_const(p, m), e = load->index[d];
            if (load->kind != INST_LOAD || load->buffer != b) continue;
            split_index(load->index, load->n_index++, d, ex_div(p, e, by), ex_mod(p, e, by));
        }
    return true;
}

/* Axis i of nest k as two. */
static bool split_axis(struct loops *l, uint32_t k, int i, int64_t m) {
    struct nest *n = &l->nests.at[k];
    struct exprs *p = l->ex;
    ex axis = n->axes[i], by = ex_const(p, m);
    if (n->n_axes == WS_MAX_RANK || bound_of(l, axis) % m || bound_of(l, axis) == m) return false;
    ex outer = ex_index(p, ex_symbol(p, axis)->name, ex_const(p, bound_of(l, axis) / m)),
       inner = ex_index(p, ex_symbol(p, axis)->name, by);
    if (!split_output(l, k, axis, m, outer, inner)) return false;
    ex both = ex_add(p, ex_mul(p, outer, by), inner);
    for (inst_id j = 0; j < n->insts.n; j++)
        for (int d = 0; d < n->insts.at[j].n_index; d++)
            n->insts.at[j].index[d] = ex_subst(p, n->insts.at[j].index[d], &axis, &both, 1);
    split_index(n->axes, n->n_axes++, i, outer, inner);
    return true;
}

/* An axis of two, outer * m + inner, as what reads a product's batches by heads has them. */
static bool is_joined(struct exprs *p, const struct nest *n, ex index, int64_t *m) {
    for (int i = 0; i < n->n_axes + n->n_reduce; i++) {
        ex axis = i < n->n_axes ? n->axes[i] : n->reduce[i - n->n_axes], by, rest;
        int64_t bound;
        if (index == axis || !ex_uses(p, index, axis) || !ex_linear(p, index, axis, &by, &rest) ||
            !ex_is_const(p, by, m) || ex_kind(p, rest) != EX_SYM)
            continue;
        if (ex_is_const(p, ex_symbol(p, rest)->bound, &bound) && bound == *m) return true;
    }
    return false;
}

static bool split_axis_of(struct loops *l, uint32_t k, ex axis, int64_t m) {
    const struct nest *n = &l->nests.at[k];
    for (int i = 0; i < n->n_axes; i++)
        if (n->axes[i] == axis && split_axis(l, k, i, m)) return true;
    return false;
}

static bool split_nest(struct loops *l, uint32_t k, uint32_t loop) {
    struct axes x = {.l = l, .loop = loop};
    const struct nest *n = &l->nests.at[k];
    for (inst_id j = 0; j < n->insts.n; j++) {
        const struct inst *load = &n->insts.at[j];
        const struct nest *maker = load->kind == INST_LOAD ? maker_of(&x, load->buffer) : NULL;
        for (int d = 0; maker && d < load->n_index; d++) {
            ex axis;
            int64_t m;
            if (is_split(l->ex, load, d, &axis, &m) && split_axis_of(l, k, axis, m)) return true;
            if (maker->out == load->buffer && is_joined(l->ex, n, load->index[d], &m) &&
                split_axis_of(l, (uint32_t)(maker - l->nests.at), maker->out_index[d], m))
                return true;
        }
    }
    return false;
}

/* The loop's nests with axes of their own for what reads others' by quotients and remainders. */
static void split_loop(struct loops *l, uint32_t loop) {
    for (uint32_t k = 0; k < l->nests.n; k++)
        while (loop_of(l->nests.at[k].epoch) == loop && split_nest(l, k, loop)) continue;
}

struct saved recurrence_save(const struct loops *l) {
    struct saved x = {.nests = NEW_ARRAY(l->arena, struct nest, l->nests.n),
                      .buffers = NEW_ARRAY(l->arena, struct buffer, l->buffers.n),
                      .steps = NEW_ARRAY(l->arena, int64_t, l->steps.n),
                      .epoch = l->epoch,
                      .recurs = l->recurs,
                      .step = l->step,
                      .n_nests = l->nests.n,
                      .n_buffers = l->buffers.n,
                      .n_steps = l->steps.n};
    memcpy(x.steps, l->steps.at, l->steps.n * sizeof *x.steps);
    memcpy(x.buffers, l->buffers.at, l->buffers.n * sizeof *x.buffers);
    memcpy(x.nests, l->nests.at, l->nests.n * sizeof *x.nests);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        struct inst *insts = NEW_ARRAY(l->arena, struct inst, l->nests.at[k].insts.n);
        memcpy(insts, l->nests.at[k].insts.at, l->nests.at[k].insts.n * sizeof *insts);
        x.nests[k].insts.at = insts;
        x.nests[k].insts.cap = x.nests[k].insts.n;
    }
    return x;
}

void recurrence_restore(struct loops *l, struct saved x) {
    l->nests.n = x.n_nests;
    l->buffers.n = x.n_buffers;
    l->steps.n = x.n_steps;
    l->epoch = x.epoch;
    l->recurs = x.recurs;
    l->step = x.step;
    memcpy(l->steps.at, x.steps, l->steps.n * sizeof *x.steps);
    memcpy(l->nests.at, x.nests, l->nests.n * sizeof *x.nests);
    memcpy(l->buffers.at, x.buffers, l->buffers.n * sizeof *x.buffers);
}

bool recurrence_reads_too_many(const struct loops *l, const struct recurrence *r) {
    bool *read = NEW_ARRAY(l->arena, bool, l->buffers.n);
    int n = 0;
    for (uint32_t k = 0; k < r->nests.n; k++) {
        const struct nest *nest = &l->nests.at[r->nests.at[k].nest];
        for (inst_id i = 0; i < nest->insts.n; i++) {
            if (nest->insts.at[i].kind != INST_LOAD || read[nest->insts.at[i].buffer]) continue;
            n += l->buffers.at[nest->insts.at[i].buffer].kind != BUFFER_TEMP;
            read[nest->insts.at[i].buffer] = true;
        }
    }
    return n > MOST_READ;
}

static bool becomes_recurrence(struct loops *l, uint32_t loop);

/* Is it several recurrences behind each other? */
static bool becomes_several(struct loops *l, uint32_t loop) {
    struct saved before = recurrence_save(l);
    split_loop(l, loop);
    if (recurrence_split(l, loop) && becomes_recurrence(l, loop + 1) && becomes_recurrence(l, loop))
        return true;
    recurrence_restore(l, before);
    return false;
}

/* Is it a recurrence, or one but for what its steps need not have in them? Then that leaves it.
 * Windows of it are of all steps, as they were lowered. */
static bool becomes_recurrence(struct loops *l, uint32_t loop) {
    enum { AS_IT_IS, WITHOUT_BEFORE, WITHOUT_BEHIND, GIVEN, GIVEN_WITHOUT_BEHIND, WAYS };
    struct recurrence r;
    for (int way = 0; way < WAYS; way++) {
        struct saved before = recurrence_save(l);
        split_loop(l, loop);
        bool behind = way == WITHOUT_BEHIND || way == GIVEN_WITHOUT_BEHIND;
        bool recurs = way == AS_IT_IS || recurrence_distribute(l, loop, behind, way >= GIVEN);
        recurs = recurs && loop_recurs(l, loop, &r);
        if (recurs && !recurrence_reads_too_many(l, &r)) return true;
        recurrence_restore(l, before);
        if (recurs) return false;
    }
    return becomes_several(l, loop);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* What a loop begins with, if that is one number everywhere. */
static void find_numbers(struct loops *l, uint32_t loop) {
    for (uint32_t k = 0; k < l->nests.n; k++)
        for (inst_id i = 0; i < l->nests.at[k].insts.n; i++) {
            const struct inst *x = &l->nests.at[k].insts.at[i];
            struct loop_window *w = &l->buffers.at[x->buffer].window;
            if (loop_of(l->nests.at[k].epoch) != loop || x->kind != INST_LOAD || !w->carried)
                continue;
            for (uint32_t m = 0; m < l->nests.n; m++) {
                const struct nest *n = &l->nests.at[m];
                if (n->out != w->start || n->insts.n != 1 || n->insts.at[0].kind != INST_CONST)
                    continue;
                w->from_number = true;
                w->number = n->insts.at[0];
            }
        }
}

/* Memory that nobody reads: of nests, or of windows that nests read or write. */
static void drop_unread(struct loops *l) {
    for (bool more = true; more;) {
        bool *read = NEW_ARRAY(l->arena, bool, l->buffers.n);
        uint32_t kept = 0;
        for (uint32_t k = 0; k < l->nests.n; k++) {
            const struct nest *n = &l->nests.at[k];
            const struct buffer *out = &l->buffers.at[n->out];
            if (out->kind == BUFFER_WINDOW) read[out->window.of] = true;
            for (inst_id i = 0; i < n->insts.n; i++) {
                const struct buffer *b = &l->buffers.at[n->insts.at[i].buffer];
                if (n->insts.at[i].kind != INST_LOAD) continue;
                read[n->insts.at[i].buffer] = true;
                if (b->kind == BUFFER_WINDOW) read[b->window.of] = true;
                if (b->window.carried && !b->window.from_number) read[b->window.start] = true;
            }
        }
        for (uint32_t k = 0; k < l->nests.n; k++) {
            enum buffer_kind kind = l->buffers.at[l->nests.at[k].out].kind;
            bool own = kind == BUFFER_TEMP || kind == BUFFER_STACK;
            if (!own || read[l->nests.at[k].out])
                l->nests.at[kept++] = l->nests.at[k];
            else
                l->buffers.at[l->nests.at[k].out].kind = BUFFER_TEMP; /* in no memory */
        }
        more = kept < l->nests.n;
        l->nests.n = kept;
    }
}

/* A stack of which no step has a window any more is a tensor like others. */
static void drop_windows(struct loops *l) {
    bool *along = NEW_ARRAY(l->arena, bool, l->buffers.n);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        const struct buffer *out = &l->buffers.at[n->out];
        if (out->kind == BUFFER_WINDOW) along[out->window.of] = true;
        for (inst_id i = 0; i < n->insts.n; i++) {
            const struct buffer *b = &l->buffers.at[n->insts.at[i].buffer];
            if (n->insts.at[i].kind != INST_LOAD || b->kind != BUFFER_WINDOW) continue;
            along[b->window.of] = true;
            if (b->window.carried) along[b->window.start] = true;
        }
    }
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        if (l->buffers.at[b].kind != BUFFER_STACK || along[b]) continue;
        l->buffers.at[b].kind = BUFFER_TEMP;
        meta_contiguous(l->ex, &l->buffers.at[b].meta);
    }
}

void loops_recurrences(struct loops *l, int64_t most_reduced, double step_bytes) {
    bool any = false;
    if (!l->steps.n) return;
    l->most_reduced = most_reduced;
    l->recurs = NEW_ARRAY(l->arena, bool, l->steps.n);
    l->step = NEW_ARRAY(l->arena, ex, l->steps.n);
    for (uint32_t loop = 0; loop < l->steps.n; loop++) { /* one may become several */
        if (!becomes_recurrence(l, loop)) continue;
        any = l->recurs[loop] = true;
        if (!l->step[loop]) /* a loop that runs again has one */
            l->step[loop] = ex_index(l->ex, "t", ex_const(l->ex, l->steps.at[loop]));
        recurrence_readouts(l, loop);
        while (recurrence_again(l, loop, step_bytes)) continue;
        recurrence_sink(l, loop);
        find_numbers(l, loop);
    }
    if (any) drop_unread(l);
    if (any) drop_windows(l);
}
