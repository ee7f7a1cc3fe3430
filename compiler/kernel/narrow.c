/* narrow.c: whole numbers that are known to fit 32 bits have no more, and a subscript that is known
 * to be inside is not looked at again. Where an image is sampled, as interpolation does:
 *
 *     v2 = floor(v1)             0 <= v1 <= 55.3, of a position
 *     v3 = to(v2) : i64          v3 = to(v2) : i32
 *     v4 = minimum(v3, 55)   ->  v4 = minimum(v3, 55) : i32
 *     v5 = subscript v4 of 56    v4
 *
 * A GPU takes many times as long for 64 bits. What a value may be follows from what its operands
 * may be: an interval each, a little wider than arithmetic that rounds can leave it. */
#include <math.h>
#include <string.h>

#include "graph/traits.h"
#include "kernel/builder.h"

struct narrowing {
    struct builder *w;
    const struct value_node *old; /* the values before */
    struct interval *range;       /* of each of these */
    value_id *now, *narrow;       /* old -> new; in 32 bits, or NO_VALUE */
};

/* What values of a kernel are known to be. or_nan: or nan, and between no numbers on one side. */
struct ranges {
    const struct kernel *k;
    const struct interval *of; /* the values before the one at hand */
    bool or_nan;
};

/* ---- what a value may be --------------------------------------------------------------------- */

static bool is_within(struct interval r, double lo, double hi) { return r.lo >= lo && r.hi <= hi; }

/* What is left of r once it was rounded to t: functions of f32 are a few units off. What is too
 * small for t becomes 0: 1e-8 in f16. */
static struct interval rounded(struct interval r, enum dtype t) {
    const double FUNCTIONS = 0x1p-20, MOST = 0x1p60;
    double part = fmax(2 * dtype_roundoff(t), FUNCTIONS), most = fmin(dtype_largest(t) / 2, MOST),
           least = part * dtype_smallest(t);
    if (!is_within(r, -most, most)) return INTERVAL_ANY;
    double lo = r.lo - part * fabs(r.lo) - least, hi = r.hi + part * fabs(r.hi) + least;
    return (struct interval){r.lo >= 0 ? fmax(lo, 0) : lo, r.hi <= 0 ? fmin(hi, 0) : hi};
}

/* The same, each side by itself. */
static struct interval rounded_or_nan(struct interval r, enum dtype t) {
    struct interval lo = rounded((struct interval){r.lo, r.lo}, t),
                    hi = rounded((struct interval){r.hi, r.hi}, t);
    return (struct interval){lo.lo, hi.hi};
}

/* What numbers of type t are. */
static struct interval of_type(enum dtype t) {
    if (dtype_is_float(t) || t == DT_I64) return INTERVAL_ANY;
    return (struct interval){(double)int_least(t), (double)int_most(t)};
}

/* A result of type t that is r, if the type has that. */
static struct interval result(struct interval r, enum dtype t) {
    if (!(r.lo <= r.hi)) return INTERVAL_ANY;
    if (dtype_is_float(t)) return rounded(r, t);
    struct interval all = t == DT_I64 ? (struct interval){-0x1p62, 0x1p62} : of_type(t);
    return is_within(r, all.lo, all.hi) ? r : of_type(t);
}

/* One of several whole numbers of type t, which overflows nowhere: 55 at most is min(v, 55),
 * whatever v may be. */
static struct interval one_of(struct interval r, enum dtype t) {
    struct interval all = of_type(t);
    if (!(r.lo <= r.hi)) return all;
    return (struct interval){fmax(r.lo, all.lo), fmin(r.hi, all.hi)};
}

/* Of numbers that may be nan nothing is known: max(nan, 0) is nan. Nor of functions that may be
 * taken from cheaper formulas, but where that is said to do. */
static struct interval range_of_result(const struct ranges *p, const struct value_node *x) {
    struct interval a[MAX_VALUE_ARGS];
    bool whole = !dtype_is_float(x->dtype), all = whole || p->or_nan;
    if (op_is_expensive(x->op) && !p->or_nan) return INTERVAL_ANY;
    for (int i = 0; i < x->n_args; i++) {
        a[i] = p->of[x->args[i]];
        if (!all && i >= op_first_number(x->op) && !interval_is_known(a[i])) return INTERVAL_ANY;
    }
    if (p->or_nan && !whole) {
        struct interval r = op_range(x->op, a, x->dtype);
        return r.lo <= r.hi ? rounded_or_nan(r, x->dtype) : INTERVAL_ANY;
    }
    struct interval r = op_range(x->op, a, x->dtype);
    return whole && op_chooses(x->op) ? one_of(r, x->dtype) : result(r, x->dtype);
}

static struct interval range_of(const struct ranges *p, const struct value_node *x) {
    struct interval from = x->kind == INST_CAST ? p->of[x->args[0]] : INTERVAL_ANY;
    int64_t lo, hi;
    switch (x->kind) {
    case INST_CONST:
        return isfinite(x->number) ? (struct interval){x->number, x->number} : INTERVAL_ANY;
    case INST_INDEX:
        ex_range(p->k->ex, x->index, &lo, &hi);
        return result((struct interval){(double)lo, (double)hi}, x->dtype);
    case INST_SUBSCRIPT:
        ex_range(p->k->ex, x->index, &lo, &hi);
        return (struct interval){0, fmax(0, (double)hi - 1)};
    case INST_CAST:
        if (dtype_is_float(x->dtype) && p->or_nan) return rounded_or_nan(from, x->dtype);
        if (dtype_is_float(x->dtype))
            return interval_is_known(from) ? rounded(from, x->dtype) : INTERVAL_ANY;
        if (!interval_is_known(from)) return of_type(x->dtype);
        return result((struct interval){trunc(from.lo), trunc(from.hi)}, x->dtype);
    case INST_OP: return x->dtype == DT_BOOL ? of_type(DT_BOOL) : range_of_result(p, x);
    case INST_LOAD: return of_type(x->dtype);
    case INST_SCAN:
    case INST_REDUCE: break;
    }
    return INTERVAL_ANY;
}

const struct interval *kernel_ranges(const struct kernel *k, struct arena *a) {
    struct interval *of = NEW_ARRAY(a, struct interval, k->values.n);
    const struct ranges p = {.k = k, .of = of, .or_nan = true};
    for (value_id v = 0; v < k->values.n; v++) of[v] = range_of(&p, &k->values.at[v]);
    return of;
}

/* ---- in 32 bits ------------------------------------------------------------------------------ */

/* Can old value v, and what it is made of, be had in 32 bits? Whatever an operator is of whole
 * numbers, its result is right in as many bits as hold it and the operands. */
static bool narrows(const struct narrowing *p, value_id v) {
    const struct value_node *x = &p->old[v];
    if (x->kind == INST_CONST || x->kind == INST_INDEX) return true;
    if (x->kind == INST_CAST) return interval_is_known(p->range[x->args[0]]);
    if (x->kind != INST_OP) return false;
    for (int a = op_first_number(x->op); a < x->n_args; a++)
        if (p->narrow[x->args[a]] == NO_VALUE) return false;
    return true;
}

/* Does x take its operands in 32 bits, if they are there? Whether a place is the same is asked of
 * both sides. */
static bool takes_narrow(const struct narrowing *p, const struct value_node *x) {
    if (x->kind == INST_CAST || x->kind == INST_SUBSCRIPT) return true;
    if (x->kind != INST_OP || x->n_args != 2 || x->dtype != DT_BOOL) return false;
    return p->narrow[x->args[0]] != NO_VALUE && p->narrow[x->args[1]] != NO_VALUE;
}

static struct value_node moved(const struct narrowing *p, struct value_node x, bool narrow) {
    for (int a = 0; a < x.n_args; a++) {
        value_id v = x.args[a];
        x.args[a] = narrow && p->narrow[v] != NO_VALUE ? p->narrow[v] : p->now[v];
    }
    return x;
}

static value_id cast(struct builder *w, enum dtype t, value_id v) {
    return number(w, (struct value_node){.kind = INST_CAST, .dtype = t, .n_args = 1, .args = {v}});
}

/* Is subscript x known to be inside? */
static bool is_inside(const struct narrowing *p, const struct value_node *x) {
    int64_t least, most;
    if (x->kind != INST_SUBSCRIPT || p->narrow[x->args[0]] == NO_VALUE) return false;
    ex_range(p->w->k->ex, x->index, &least, &most);
    return is_within(p->range[x->args[0]], 0, (double)least - 1);
}

/* drop_unused takes those of its forms that nobody wants. */
static void move_value(struct narrowing *p, value_id v) {
    const struct value_node *x = &p->old[v];
    bool fits = x->dtype == DT_I64 && is_within(p->range[v], INT32_MIN, INT32_MAX);
    if (fits && narrows(p, v)) {
        struct value_node in_32 = moved(p, *x, true);
        in_32.dtype = DT_I32;
        p->narrow[v] = number(p->w, in_32);
        bool plain = x->kind != INST_OP &&
                     !(x->kind == INST_CAST && dtype_is_float(p->old[x->args[0]].dtype));
        p->now[v] = plain ? number(p->w, moved(p, *x, false)) : cast(p->w, DT_I64, p->narrow[v]);
        return;
    }
    if (is_inside(p, x)) {
        p->now[v] = p->narrow[x->args[0]];
        return;
    }
    p->now[v] = number(p->w, moved(p, *x, takes_narrow(p, x)));
    if (x->dtype == DT_I32) p->narrow[v] = p->now[v];
    if (fits) p->narrow[v] = cast(p->w, DT_I32, p->now[v]);
}

/* Only what is made: for numbers and positions alone nothing changes. */
static bool gains(const struct narrowing *p, uint32_t n) {
    for (value_id v = 0; v < n; v++) {
        const struct value_node *x = &p->old[v];
        bool made = x->kind == INST_CAST || x->kind == INST_OP;
        if (made && x->dtype == DT_I64 && is_within(p->range[v], INT32_MIN, INT32_MAX)) return true;
    }
    return false;
}

void narrow_integers(struct builder *w) {
    struct kernel *k = w->k;
    uint32_t n = k->values.n;
    struct narrowing p = {.w = w, .old = k->values.at};
    p.range = NEW_ARRAY(k->arena, struct interval, n);
    p.now = NEW_ARRAY(k->arena, value_id, n);
    p.narrow = NEW_ARRAY(k->arena, value_id, n);
    const struct ranges ranges = {.k = k, .of = p.range};
    for (value_id v = 0; v < n; v++)
        p.range[v] = range_of(&ranges, &p.old[v]), p.narrow[v] = NO_VALUE;
    if (!gains(&p, n)) return;
    memset(&k->values, 0, sizeof k->values);
    w->numbers = map_new(k->arena);
    for (value_id v = 0; v < n; v++) move_value(&p, v);
    renumber(k, p.now, k->subscripts.n);
    drop_unused(w);
}
