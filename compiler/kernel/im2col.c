/* im2col.c: factors of products that are read through windows, found by their indices alone, so
 * that convolutions, their gradients, and whatever else slides are one thing.
 *
 *     n: 16*56*56 are images, rows, columns; r: 64*3*3 channels, taps
 *     where(0 <= row + kh - 1 < 56 && 0 <= column + kw - 1 < 56,
 *           b0[image*200704 + c*3136 + (row + kh - 1)*56 + column + kw - 1], 0)
 *
 *     images 16, channels 64
 *     dim 0  size 56  windows 56  taps 3  step 1  apart 1  first -1
 *     dim 1  size 56  windows 56  taps 3  step 1  apart 1  first -1
 *
 * A dimension is a digit of the windows' axis and at most one of the other's, which move every load
 * by multiples of the same position. The guard says where that is; a dimension that no guard speaks
 * of has the positions that are reached. What the factor is 0 outside of can be read as zeros there
 * then, whatever is computed of the loads. Digits outside of the outermost dimension are images,
 * the other ones of the other axis channels. Windows are what there are more of: of a weight's
 * gradient they are the depth, and taps and channels its columns.
 *
 * Where all of a batch's positions are so far behind those of another, and the guard lets it have
 * some taps only, as the phases of a transposed convolution, batches are phases of the same images.
 *
 * Windows of one tap that are some positions apart, as of a convolution of 1 x 1 with a stride, are
 * windows, too: what lies between them is not copied, and nothing is packed.
 *
 * Few channels would be mostly padding of a tile's lines. Then the taps of the innermost dimension
 * are read together (im2col_runs): of an image with 3 channels, filled up to 4, 7 neighbours are a
 * run of 28 elements, and the window beside it begins 8 elements on if windows are 2 apart:
 *
 *     images 64, channels 28: 7 taps of 4
 *     dim 0  size 112  windows 112  taps 1  step 1  apart 1  first 0
 *     dim 1  size 224  windows 112  taps 7  step 2  apart 1  first -3
 *
 * or, with the 7 taps above each other in a pixel of 24 elements, 21 of which count:
 *
 *     images 64, channels 168: 7 taps of 24
 *     dim 0  size 112  windows 112  taps 1  step 1  apart 1  first 0
 *     dim 1  size 112  windows 112  taps 1  step 1  apart 1  first 0 */
#include "kernel/kernel.h"

/* An index as a sum of multiples of digits, and the rest. */
struct linear {
    int64_t window[GROUP_MAX_AXES], other[GROUP_MAX_AXES];
    ex rest;
};

struct search {
    const struct kernel *k;
    struct im2col *out;
    bool *needed;
    int64_t window_size[GROUP_MAX_AXES], other_size[GROUP_MAX_AXES];
    ex digits[2 * GROUP_MAX_AXES];
    /* of each digit of the windows: the tap's digit; how both move the position, which is c at
     * first; known: by the guard */
    struct slide {
        int tap;
        int64_t a, b, c, size;
        ex shift; /* by the batch; of the guard's bounds */
        bool known, low, high;
    } slide[GROUP_MAX_AXES];
};

static const struct axis_digits *digits_of(const struct im2col *w, enum axis axis) {
    return &w->digits[axis == w->other];
}

/* The sum of digits that an axis is. */
static ex axis_of_digits(struct exprs *p, const struct axis_digits *d, const ex *digit) {
    ex sum = ex_const(p, 0);
    for (int i = 0; i < d->n; i++) sum = ex_add(p, ex_mul(p, sum, d->size[i]), digit[i]);
    return sum;
}

static bool make_digits(const struct kernel *k, const struct axis_digits *d, const char *name,
                        ex *symbol, int64_t *size) {
    for (int i = 0; i < d->n; i++) {
        if (!ex_is_const(k->ex, d->size[i], &size[i]) || size[i] < 1) return false;
        symbol[i] = ex_index(k->ex, name, d->size[i]);
    }
    return true;
}

static ex in_digits(const struct kernel *k, const struct im2col *w, ex e) {
    const struct axis_digits *windows = digits_of(w, w->axis), *other = digits_of(w, w->other);
    ex from[] = {k->axis[w->axis], k->axis[w->other]};
    ex to[] = {axis_of_digits(k->ex, windows, w->window_digit),
               axis_of_digits(k->ex, other, w->other_digit)};
    return ex_subst(k->ex, e, from, to, 2);
}

static bool take_terms(const struct kernel *k, ex *rest, const ex *digit, int n, int64_t *c) {
    for (int i = 0; i < n; i++)
        if (!index_take(k, rest, digit[i], &c[i])) return false;
    return true;
}

static bool linear_in_digits(const struct search *s, ex e, struct linear *out) {
    const struct kernel *k = s->k;
    const struct im2col *w = s->out;
    *out = (struct linear){.rest = in_digits(k, w, e)};
    return take_terms(k, &out->rest, w->window_digit, digits_of(w, w->axis)->n, out->window) &&
           take_terms(k, &out->rest, w->other_digit, digits_of(w, w->other)->n, out->other);
}

/* ---- the guard ------------------------------------------------------------------------------- */

/* Is v 0 where the guard does not hold? */
static bool is_zero_without(const struct kernel *k, value_id v, value_id guard) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_LOAD) return x->guarded && x->args[0] == guard;
    if (x->kind == INST_CAST) return is_zero_without(k, x->args[0], guard);
    if (x->kind != INST_OP || x->op != OP_WHERE || x->args[0] != guard) return false;
    const struct value_node *other = &k->values.at[x->args[2]];
    return other->kind == INST_CONST && other->number == 0 && !other->whole;
}

/* What the factor is computed of, once the guard holds. */
static bool mark_inside(struct search *s, value_id v) {
    const struct kernel *k = s->k;
    const struct value_node *x = &k->values.at[v];
    if (v == s->out->guard || s->needed[v]) return true;
    s->needed[v] = true;
    bool ok = x->kind == INST_CONST || x->kind == INST_OP || x->kind == INST_CAST ||
              (x->kind == INST_LOAD && x->n_args == x->guarded &&
               (!x->guarded || x->args[0] == s->out->guard));
    for (int i = 0; i < x->n_args && ok; i++) ok = mark_inside(s, x->args[i]);
    return ok;
}

/* The only digit that counts; -1: none; -2: there are several. */
static int only_digit(const int64_t *c, int n) {
    int found = -1;
    for (int i = 0; i < n; i++)
        if (c[i]) found = found == -1 ? i : -2;
    return found;
}

static int64_t batches(const struct kernel *k) {
    return k->axis[AXIS_Z] ? kernel_size(k, AXIS_Z) : 1;
}

static bool at_batch(const struct kernel *k, ex e, int64_t z, int64_t *v) {
    ex from = k->axis[AXIS_Z], to = ex_const(k->ex, z);
    return ex_is_const(k->ex, from ? ex_subst(k->ex, e, &from, &to, 1) : e, v);
}

/* Of what nothing but the batch moves. */
static bool range_of_batches(const struct kernel *k, ex e, int64_t *least, int64_t *most) {
    enum { MOST = 4096 };
    int64_t n = batches(k), v;
    if (ex_is_const(k->ex, e, least)) return *most = *least, true;
    if (n > MOST || !at_batch(k, e, 0, least)) return false;
    *most = *least;
    for (int64_t z = 1; z < n; z++) {
        if (!at_batch(k, e, z, &v)) return false;
        if (v < *least) *least = v;
        if (v > *most) *most = v;
    }
    return true;
}

/* Where difference >= 0: a bound of one position. */
static bool take_bound(struct search *s, ex difference) {
    const struct kernel *k = s->k;
    struct linear l;
    int64_t least, most;
    if (!linear_in_digits(s, difference, &l) || !range_of_batches(k, l.rest, &least, &most))
        return false;
    int i = only_digit(l.window, digits_of(s->out, s->out->axis)->n);
    int t = only_digit(l.other, digits_of(s->out, s->out->other)->n);
    if (i < 0 || t == -2) return false;
    struct slide *d = &s->slide[i];
    int64_t sign = l.window[i] > 0 ? 1 : -1, a = sign * l.window[i],
            b = t < 0 ? 0 : sign * l.other[t];
    ex shift = sign > 0 ? ex_sub(k->ex, l.rest, ex_const(k->ex, least))
                        : ex_sub(k->ex, ex_const(k->ex, most), l.rest);
    if (d->known && (d->a != a || d->b != b || d->tap != t || d->shift != shift)) return false;
    if (sign > 0 ? d->low : d->high) return false;
    d->known = true;
    d->tap = t;
    d->a = a;
    d->b = b;
    d->shift = shift;
    if (sign > 0)
        d->c = least, d->low = true;
    else
        d->size = most, d->high = true; /* size - 1 - c, until both are known */
    return true;
}

/* Is the condition, where difference >= 0, one of the batch and the other axis alone? */
static bool is_of_taps(const struct search *s, ex difference) {
    struct linear l;
    ex z = s->k->axis[AXIS_Z];
    return z && linear_in_digits(s, difference, &l) && ex_uses(s->k->ex, l.rest, z) &&
           only_digit(l.window, digits_of(s->out, s->out->axis)->n) == -1;
}

static bool take_condition(struct search *s, ex e) {
    struct exprs *p = s->k->ex;
    enum ex_kind kind = ex_kind(p, e);
    int64_t v;
    if (ex_is_const(p, e, &v)) return v != 0;
    if (kind == EX_AND) return take_condition(s, ex_lhs(p, e)) && take_condition(s, ex_rhs(p, e));
    if (kind != EX_LE && kind != EX_LT) return false;
    ex difference = ex_sub(p, ex_rhs(p, e), ex_lhs(p, e));
    difference = ex_sub(p, difference, ex_const(p, kind == EX_LT));
    if (!is_of_taps(s, difference)) return take_bound(s, difference);
    e = in_digits(s->k, s->out, e);
    s->out->there = s->out->there ? ex_and(p, s->out->there, e) : e;
    return true;
}

static bool take_guard(struct search *s, value_id v) {
    const struct value_node *x = &s->k->values.at[v];
    if (x->kind == INST_INDEX && !x->n_args) return take_condition(s, x->index);
    return x->kind == INST_OP && x->op == OP_LOGICAL_AND && take_guard(s, x->args[0]) &&
           take_guard(s, x->args[1]);
}

static value_id guard_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST) return guard_of(k, x->args[0]);
    if (x->kind == INST_LOAD) return x->guarded ? x->args[0] : NO_VALUE;
    return x->kind == INST_OP && x->op == OP_WHERE ? x->args[0] : NO_VALUE;
}

/* ---- dimensions ------------------------------------------------------------------------------ */

/* The dimension of a buffer in which a step of so many elements goes; -1: none. */
static int dimension_of(const struct kernel *k, const struct meta *m, int64_t step) {
    int found = -1;
    int64_t largest = 0, size, stride;
    if (step < 0) step = -step;
    for (int d = 0; d < m->rank; d++) {
        if (!ex_is_const(k->ex, m->size[d], &size) || !ex_is_const(k->ex, m->stride[d], &stride))
            return -1;
        if (size > 1 && stride > largest && stride <= step) largest = stride, found = d;
    }
    return found;
}

/* Of what no guard speaks: a digit of the other axis that goes along the same dimension of memory
 * as one of the windows is its tap. */
static bool pair_digits(struct search *s, const struct value_node *load) {
    const struct kernel *k = s->k;
    const struct meta *m = &k->schedule->loops->buffers.at[load->buffer].meta;
    int windows = digits_of(s->out, s->out->axis)->n, others = digits_of(s->out, s->out->other)->n;
    bool *taken = NEW_ARRAY(k->arena, bool, others + 1);
    struct linear l;
    if (!linear_in_digits(s, load->index, &l)) return false;
    for (int i = 0; i < windows; i++)
        if (s->slide[i].tap >= 0) taken[s->slide[i].tap] = true;
    for (int t = 0; t < others; t++) {
        int d = taken[t] || !l.other[t] ? -1 : dimension_of(k, m, l.other[t]);
        for (int i = 0; i < windows && d >= 0; i++) {
            struct slide *x = &s->slide[i];
            if (!l.window[i] || dimension_of(k, m, l.window[i]) != d) continue;
            if (x->known || x->tap >= 0) return false;
            int64_t unit = common_divisor(l.window[i], l.other[t]);
            *x = (struct slide){.tap = t, .a = l.window[i] / unit, .b = l.other[t] / unit};
        }
    }
    return true;
}

/* Windows of one position each, some positions apart in memory: the digits that go so, along what
 * the first load reads. Returns the outermost of them; -1: there are none. */
static int find_steps(struct search *s) {
    const struct kernel *k = s->k;
    int n = digits_of(s->out, s->out->axis)->n, outermost = -1;
    value_id v = 0;
    while (v < k->values.n && !(s->needed[v] && k->values.at[v].kind == INST_LOAD)) v++;
    struct linear l;
    if (v == k->values.n || !linear_in_digits(s, k->values.at[v].index, &l)) return -1;
    const struct meta *m = &k->schedule->loops->buffers.at[k->values.at[v].buffer].meta;
    for (int i = n - 1; i >= 0; i--) {
        int64_t stride, size;
        int d = l.window[i] > 0 ? dimension_of(k, m, l.window[i]) : -1;
        if (d < 0 || !ex_is_const(k->ex, m->stride[d], &stride) ||
            !ex_is_const(k->ex, m->size[d], &size))
            continue;
        int64_t step = l.window[i] / stride;
        if (step < 2 || l.window[i] % stride || (s->window_size[i] - 1) * step >= size) continue;
        s->slide[i].a = step;
        outermost = i;
    }
    return outermost;
}

static bool set_shift(const struct kernel *k, ex shift, struct im2col_dim *out) {
    int64_t least, n = batches(k);
    if (!shift || ex_is_const(k->ex, shift, &least)) return true;
    if (!range_of_batches(k, shift, &least, &out->most_shift)) return false;
    int64_t *of = NEW_ARRAY(k->arena, int64_t, n);
    for (int64_t z = 0; z < n; z++)
        if (!at_batch(k, shift, z, &of[z])) return false;
    out->shift = shift;
    out->shift_of = of;
    return true;
}

/* Where the position begins, and ends at the latest. */
static bool settle(struct search *s, int i, struct im2col_dim *out) {
    struct slide *x = &s->slide[i];
    int64_t taps = x->tap < 0 ? 1 : s->other_size[x->tap], windows = s->window_size[i];
    int64_t least = x->b < 0 ? x->b * (taps - 1) : 0; /* of all taps, from c */
    if (!x->a) x->a = 1;
    if (x->a < 0) return false;
    if (!x->low) x->c = -least;
    int64_t size = x->size + x->c + 1, end;
    *out = (struct im2col_dim){.windows = windows,
                               .taps = taps,
                               .step = x->a,
                               .apart = x->b < 0 ? -x->b
                                        : x->b   ? x->b
                                                 : 1,
                               .first = x->c + least,
                               .window_digit = i,
                               .tap_digit = x->tap,
                               .backward = x->b < 0};
    if (!set_shift(s->k, x->shift, out)) return false;
    end = out->first + (windows - 1) * out->step + (taps - 1) * out->apart + out->most_shift + 1;
    out->size = x->high && size < end ? size : end;
    return out->size > 0;
}

/* By how much of memory a position of dimension d moves the load; false: window and tap differ. */
static bool position_stride(const struct linear *l, const struct im2col_dim *d, int64_t *stride) {
    int64_t by_window = l->window[d->window_digit];
    int64_t by_tap = d->tap_digit < 0 ? 0 : l->other[d->tap_digit];
    if (d->backward) by_tap = -by_tap;
    if (by_window % d->step) return false;
    *stride = by_window / d->step;
    return d->tap_digit < 0 || by_tap == *stride * d->apart;
}

/* Every load's digits move it as the dimensions say. */
static bool loads_agree(const struct search *s) {
    const struct kernel *k = s->k;
    for (value_id v = 0; v < k->values.n; v++) {
        struct linear l;
        int64_t stride;
        if (!s->needed[v] || k->values.at[v].kind != INST_LOAD) continue;
        if (!linear_in_digits(s, k->values.at[v].index, &l)) return false;
        for (int d = 0; d < s->out->n; d++)
            if (!position_stride(&l, &s->out->dim[d], &stride)) return false;
    }
    return true;
}

static bool make_dimensions(struct search *s) {
    const struct kernel *k = s->k;
    struct im2col *w = s->out;
    int windows = digits_of(w, w->axis)->n, others = digits_of(w, w->other)->n;
    int64_t all = w->images = w->channels = w->taps = 1;
    int outermost = -1;
    for (int i = windows - 1; i >= 0; i--)
        if (s->slide[i].known || s->slide[i].tap >= 0) outermost = i;
    bool apart = outermost < 0 && k->limits->kind == DEVICE_CUDA;
    if (apart) outermost = find_steps(s);
    if (outermost < 0 || windows - outermost > IM2COL_DIMS) return false;
    w->channel_digits = (1u << others) - 1;
    for (int i = windows - 1; i >= outermost; i--) {
        struct im2col_dim *d = &w->dim[w->n++];
        if (!settle(s, i, d)) return false;
        w->taps *= d->taps;
        all *= d->windows;
        if (d->tap_digit >= 0) w->channel_digits &= ~(1u << d->tap_digit);
    }
    w->image_digits = (1u << outermost) - 1;
    for (int i = 0; i < outermost; i++) w->images *= s->window_size[i];
    for (int t = 0; t < others; t++)
        if (w->channel_digits >> t & 1) w->channels *= s->other_size[t];
    w->phases = w->there != EX_NONE;
    for (int d = 0; d < w->n; d++) w->phases |= w->dim[d].shift != EX_NONE;
    return (im2col_has_taps(w) || apart) && w->taps <= all;
}

/* The digits that taps are of, of the number of one. */
static int put_taps(const struct kernel *k, const struct im2col *w, ex *from, ex *to) {
    struct exprs *p = k->ex;
    ex below = ex_const(p, 1);
    int n = 0;
    for (int i = 0; i < w->n; i++) {
        const struct im2col_dim *x = &w->dim[i];
        if (x->tap_digit < 0) continue;
        ex taps = ex_const(p, x->taps), t = ex_mod(p, ex_div(p, w->tap, below), taps);
        from[n] = w->other_digit[x->tap_digit];
        to[n++] = x->backward ? ex_sub(p, ex_const(p, x->taps - 1), t) : t;
        below = ex_mul(p, below, taps);
    }
    return n;
}

static void make_symbols(struct search *s) {
    static const char *const names[] = {"at0", "at1", "at2"};
    struct im2col *w = s->out;
    struct exprs *p = s->k->ex;
    w->image = ex_index(p, "picture", ex_const(p, w->images));
    w->channel = ex_index(p, "channel", ex_const(p, w->channels));
    w->tap = ex_index(p, "tap", ex_const(p, w->taps));
    for (int d = 0; d < w->n; d++) w->at[d] = ex_index(p, names[d], ex_const(p, w->dim[d].size));
}

/* Which taps each phase has, in terms of them. Whatever is read is read of all phases. */
static bool settle_phases(struct search *s) {
    const struct kernel *k = s->k;
    struct im2col *w = s->out;
    ex from[GROUP_MAX_AXES], to[GROUP_MAX_AXES];
    int64_t n = batches(k), v;
    for (value_id i = 0; i < k->values.n; i++)
        if (s->needed[i] && k->values.at[i].kind == INST_LOAD &&
            ex_uses(k->ex, im2col_index(k, w, k->values.at[i].index), k->axis[AXIS_Z]))
            return false;
    if (!w->there) return true;
    w->there = ex_subst(k->ex, w->there, from, to, put_taps(k, w, from, to));
    bool *is = NEW_ARRAY(k->arena, bool, n * w->taps);
    for (int64_t tap = 0; tap < w->taps; tap++) {
        ex symbol = w->tap, number = ex_const(k->ex, tap);
        ex here = ex_subst(k->ex, w->there, &symbol, &number, 1);
        for (int64_t z = 0; z < n; z++) {
            if (!at_batch(k, here, z, &v)) return false; /* it is one of channels, too */
            is[z * w->taps + tap] = v != 0;
        }
    }
    w->is_there = is;
    return true;
}

static bool set_digits(struct search *s) {
    struct im2col *w = s->out;
    return make_digits(s->k, &w->digits[0], "w", w->window_digit, s->window_size) &&
           make_digits(s->k, &w->digits[1], "d", w->other_digit, s->other_size);
}

/* Does e, or do all that the condition e compares, count digits i and i + 1 of the windows as one
 * number? */
static bool counts_as_one(const struct search *s, ex e, int i) {
    struct exprs *p = s->k->ex;
    enum ex_kind kind = ex_kind(p, e);
    struct linear l;
    if (kind == EX_AND)
        return counts_as_one(s, ex_lhs(p, e), i) && counts_as_one(s, ex_rhs(p, e), i);
    if (kind == EX_LE || kind == EX_LT) e = ex_sub(p, ex_rhs(p, e), ex_lhs(p, e));
    return linear_in_digits(s, e, &l) && l.window[i] == l.window[i + 1] * s->window_size[i + 1];
}

static bool all_count_as_one(const struct search *s, value_id v, int i) {
    const struct value_node *x = &s->k->values.at[v];
    bool ok = x->kind != INST_LOAD && x->kind != INST_INDEX ? true : counts_as_one(s, x->index, i);
    for (int a = 0; a < x->n_args && ok; a++) ok = all_count_as_one(s, x->args[a], i);
    return ok;
}

/* A store, such as one of pooling's windows, may have split what the factor counts in one number:
 *
 *     columns 128*2, x[c, 2*w0 + w1 + t]  ->  columns 256, x[c, w0 + t] */
static bool merge_digits(struct search *s, value_id factor) {
    struct axis_digits *d = &s->out->digits[0];
    for (int i = d->n - 2; i >= 0; i--) {
        if (!all_count_as_one(s, factor, i)) continue;
        d->size[i] = ex_const(s->k->ex, s->window_size[i] * s->window_size[i + 1]);
        d->n--;
        for (int j = i + 1; j < d->n; j++) d->size[j] = d->size[j + 1];
        if (!set_digits(s)) return false;
    }
    return true;
}

static bool search(struct search *s, value_id factor) {
    const struct kernel *k = s->k;
    struct im2col *w = s->out;
    w->digits[0] = k->digits[w->axis];
    w->digits[1] = k->digits[w->other];
    if (!set_digits(s) || !merge_digits(s, factor)) return false;
    w->guard = guard_of(k, factor);
    for (int i = 0; i < GROUP_MAX_AXES; i++) s->slide[i].tap = -1;
    if (w->guard != NO_VALUE && (!is_zero_without(k, factor, w->guard) || !take_guard(s, w->guard)))
        return false;
    if (!mark_inside(s, factor)) return false;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (s->needed[v] && x->kind == INST_LOAD && x->mask & MASK_R && x->mask & 1 << w->axis &&
            !pair_digits(s, x))
            return false;
    }
    if (!make_dimensions(s) || !loads_agree(s)) return false;
    make_symbols(s);
    return !w->phases || settle_phases(s);
}

const struct im2col *im2col_find(const struct kernel *k, value_id factor, enum axis axis,
                                 enum axis other) {
    struct im2col *w = NEW(k->arena, struct im2col);
    struct search s = {.k = k, .out = w, .needed = NEW_ARRAY(k->arena, bool, k->values.n)};
    w->axis = axis;
    w->other = other;
    return search(&s, factor) ? w : NULL;
}

bool im2col_has_taps(const struct im2col *w) { return w && (w->taps > 1 || w->phases); }

/* ---- in terms of the image ------------------------------------------------------------------- */

/* The digits that `bits` are of, of a flat number of them. */
static int put_flat(struct exprs *p, const struct axis_digits *d, uint32_t bits, const ex *digit,
                    ex flat, ex *from, ex *to) {
    int n = 0;
    ex below = ex_const(p, 1);
    for (int i = d->n - 1; i >= 0; i--) {
        if (!(bits >> i & 1)) continue;
        from[n] = digit[i];
        to[n++] = ex_mod(p, ex_div(p, flat, below), d->size[i]);
        below = ex_mul(p, below, d->size[i]);
    }
    return n;
}

ex im2col_index(const struct kernel *k, const struct im2col *w, ex index) {
    struct exprs *p = k->ex;
    struct search s = {.k = k, .out = (struct im2col *)w};
    ex from[2 * GROUP_MAX_AXES], to[2 * GROUP_MAX_AXES], e = in_digits(k, w, index);
    struct linear l;
    if (!linear_in_digits(&s, index, &l)) WS_BUG("an index that is not linear");
    int n =
        put_flat(p, digits_of(w, w->axis), w->image_digits, w->window_digit, w->image, from, to);
    n += put_flat(p, digits_of(w, w->other), w->channel_digits, w->other_digit, w->channel,
                  from + n, to + n);
    for (int i = 0; i < w->n; i++) {
        const struct im2col_dim *d = &w->dim[i];
        int64_t stride;
        position_stride(&l, d, &stride);
        from[n] = w->window_digit[d->window_digit];
        to[n++] = ex_const(p, 0);
        if (d->tap_digit >= 0) { /* the tap that is at `first` */
            from[n] = w->other_digit[d->tap_digit];
            to[n++] = ex_const(p, d->backward ? d->taps - 1 : 0);
        }
        ex moved = ex_sub(p, w->at[i], ex_const(p, d->first));
        if (d->shift) moved = ex_sub(p, moved, d->shift);
        e = ex_add(p, e, ex_mul(p, moved, ex_const(p, stride)));
    }
    return ex_subst(p, e, from, to, n);
}

ex im2col_other(const struct kernel *k, const struct im2col *w) {
    struct exprs *p = k->ex;
    const struct axis_digits *d = digits_of(w, w->other);
    ex from[GROUP_MAX_AXES], to[GROUP_MAX_AXES];
    int n = put_flat(p, d, w->channel_digits, w->other_digit, w->channel, from, to);
    n += put_taps(k, w, from + n, to + n);
    return ex_subst(p, axis_of_digits(p, d, w->other_digit), from, to, n);
}

bool im2col_is_there(const struct im2col *w, int64_t z, int64_t tap) {
    return !w->is_there || w->is_there[z * w->taps + tap];
}

int64_t im2col_shift(const struct im2col *w, int d, int64_t z) {
    return w->dim[d].shift ? w->dim[d].shift_of[z] : 0;
}

int64_t im2col_offset(const struct im2col *w, int d, int64_t tap) {
    for (int i = 0; i < d; i++) tap /= w->dim[i].taps;
    return tap % w->dim[d].taps * w->dim[d].apart;
}

int64_t im2col_reach(const struct im2col *w) {
    const struct im2col_dim *d = &w->dim[0];
    return (d->windows - 1) * d->step + (d->taps - 1) * d->apart + 1;
}

int64_t im2col_folded_taps(const struct im2col *w, int folded) {
    int64_t taps = 1;
    for (int d = 1; d <= folded; d++) taps *= w->dim[d].taps;
    return taps;
}

/* Each window is a position. */
static struct im2col_dim positions_of(const struct im2col_dim *d) {
    return (struct im2col_dim){.size = d->windows,
                               .windows = d->windows,
                               .taps = 1,
                               .step = 1,
                               .apart = 1,
                               .window_digit = d->window_digit,
                               .tap_digit = -1};
}

const struct im2col *im2col_runs(const struct im2col *w, int folded, int64_t pixel,
                                 struct arena *a) {
    const struct im2col_dim *d = &w->dim[0];
    if (w->of || w->phases || d->taps == 1 || d->apart != 1) return NULL;
    struct im2col *runs = NEW(a, struct im2col);
    *runs = *w;
    runs->of = w;
    runs->pixel = pixel;
    runs->pixel_taps = im2col_folded_taps(w, folded);
    runs->folded = folded;
    runs->channels = d->taps * pixel;
    runs->taps = w->taps / d->taps / runs->pixel_taps;
    for (int i = 0; i <= folded; i++) runs->dim[i] = positions_of(&w->dim[i]);
    return runs;
}
