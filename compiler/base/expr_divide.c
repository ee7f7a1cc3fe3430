/* expr_divide.c: where a symbolic integer lies, and what follows from it: quotients, remainders,
 * extrema, comparisons.
 *
 *   (i*s1 + j) // s1       -> i          when j is an index below s1
 *   min(i, s0)             -> i          when i is an index below s0 */
#include "base/expr_impl.h"

#include "base/checked.h"
#include "base/diag.h"

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Of a bound: "any" stays. */
static int64_t bound_div(int64_t a, int64_t b) {
    return a == INT64_MAX || a == INT64_MIN ? a : floor_div(a, b);
}

void ex_range(const struct exprs *p, ex e, int64_t *lo, int64_t *hi) {
    const struct ex_node *x = ex_at(p, e);
    int64_t al, ah, bl, bh;
    if (x->kind == EX_CONST) {
        *lo = *hi = x->value;
        return;
    }
    if (x->kind == EX_SYM) {
        *lo = p->symbols.at[x->value].lo;
        *hi = p->symbols.at[x->value].hi;
        return;
    }
    ex_range(p, x->a, &al, &ah);
    ex_range(p, x->b, &bl, &bh);
    switch ((enum ex_kind)x->kind) {
    case EX_ADD:
        *lo = sat_add(al, bl);
        *hi = sat_add(ah, bh);
        break;
    case EX_MUL: {
        int64_t c[4] = {sat_mul(al, bl), sat_mul(al, bh), sat_mul(ah, bl), sat_mul(ah, bh)};
        *lo = *hi = c[0];
        for (int i = 1; i < 4; i++) {
            if (c[i] < *lo) *lo = c[i];
            if (c[i] > *hi) *hi = c[i];
        }
        break;
    }
    case EX_DIV:
        if (bl < 1) bl = 1;
        *lo = bound_div(al, al >= 0 ? bh : bl);
        *hi = bound_div(ah, ah >= 0 ? bl : bh);
        if (al >= 0 && bh == INT64_MAX) *lo = 0;
        break;
    case EX_MOD:
        *lo = 0;
        *hi = bh == INT64_MAX ? INT64_MAX : bh - 1;
        if (al >= 0 && ah < *hi) *hi = ah;
        break;
    case EX_MIN:
        *lo = al < bl ? al : bl;
        *hi = ah < bh ? ah : bh;
        break;
    case EX_MAX:
        *lo = al > bl ? al : bl;
        *hi = ah > bh ? ah : bh;
        break;
    case EX_CONST:
    case EX_SYM:
    case EX_EQ:
    case EX_NE:
    case EX_LT:
    case EX_LE:
    case EX_AND:
        *lo = 0;
        *hi = 1;
        break;
    }
}

/* 0 <= e < d, provably. First by intervals; then by putting every index with a non-negative factor
 * at its largest value, which decides i*s1 + j < s0*s1 for i < s0, j < s1. */
static bool is_below(struct exprs *p, ex e, ex d) {
    int64_t lo, hi, dlo, dhi;
    ex_range(p, e, &lo, &hi);
    ex_range(p, d, &dlo, &dhi);
    if (lo < 0) return false;
    if (hi < dlo) return true;
    struct sum s = ex_unpack(p, e);
    for (int i = 0; i < s.n; i++)
        if (s.at[i].c < 0) return false;
    ex syms[MAX_TERMS], top = e;
    int n = ex_symbols(p, e, syms, MAX_TERMS);
    for (int i = 0; i < n; i++) {
        const struct ex_symbol *y = ex_symbol(p, syms[i]);
        ex c, rest;
        if (!y->bound) continue;
        if (!ex_linear(p, top, syms[i], &c, &rest)) return false;
        ex last = ex_sub(p, y->bound, ex_const(p, 1));
        top = ex_add(p, ex_mul(p, c, last), rest);
    }
    ex_range(p, ex_sub(p, d, top), &lo, &hi);
    return lo >= 1;
}

/* ---- division -------------------------------------------------------------------------------- */

uint64_t ex_magnitude(int64_t a) { return a < 0 ? -(uint64_t)a : (uint64_t)a; }

int64_t common_divisor(int64_t x, int64_t y) {
    uint64_t a = ex_magnitude(x), b = ex_magnitude(y);
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a > INT64_MAX ? INT64_MAX / 2 + 1 : (int64_t)a; /* 2^63 is twice 2^62 */
}

/* t / d when d's factors all occur in t (d one term without a coefficient); EX_NONE otherwise. */
ex ex_term_quotient(struct exprs *p, ex t, ex d) {
    ex f[MAX_TERMS], g[MAX_TERMS];
    int64_t one = 1;
    int n = ex_factors(p, t, f, 0, &one), m = ex_factors(p, d, g, 0, &one);
    for (int j = 0; j < m; j++) {
        int i = 0;
        while (i < n && f[i] != g[j]) i++;
        if (i == n) return EX_NONE;
        f[i] = f[--n];
    }
    return n ? ex_pack_product(p, f, n) : ex_const(p, 1);
}

/* Split a = q*d + r where every term of q*d is divisible by d term by term. d > 0. */
static void split(struct exprs *p, ex a, ex d, ex *q, ex *r) {
    struct sum s = ex_unpack(p, a), dd = ex_unpack(p, d), qs = {0}, rs = {0};
    int64_t c;
    if (ex_is_const(p, d, &c)) {
        for (int i = 0; i < s.n; i++) {
            struct sum *to = s.at[i].c % c == 0 ? &qs : &rs;
            to->at[to->n].t = s.at[i].t;
            to->at[to->n++].c = to == &qs ? s.at[i].c / c : s.at[i].c;
        }
        qs.k = floor_div(s.k, c);
        rs.k = s.k - ex_times(p, qs.k, c);
    } else if (dd.n == 1 && dd.k == 0) {
        for (int i = 0; i < s.n; i++) {
            ex t =
                s.at[i].c % dd.at[0].c == 0 ? ex_term_quotient(p, s.at[i].t, dd.at[0].t) : EX_NONE;
            if (t)
                ex_sum_add(p, &qs, s.at[i].c / dd.at[0].c, t);
            else
                ex_sum_add(p, &rs, s.at[i].c, s.at[i].t);
        }
        rs.k = s.k;
    } else {
        rs = s;
    }
    *q = ex_pack(p, &qs);
    *r = ex_pack(p, &rs);
}

/* (g*t + r) // (g*m) == t // m, if r is below g: which a factor g of some term and of b may show.
 */
static ex divide_in_steps(struct exprs *p, ex a, ex b) {
    struct sum s = ex_unpack(p, a), d = ex_unpack(p, b);
    int64_t c = d.n == 0 ? d.k : d.n == 1 && d.k == 0 ? d.at[0].c : 1;
    for (int i = 0; i < s.n; i++) {
        int64_t g = common_divisor(c, s.at[i].c);
        ex step = ex_const(p, g), q, r;
        if (g == 1 || step == b) continue;
        split(p, a, step, &q, &r);
        if (is_below(p, r, step)) return ex_div(p, q, ex_div(p, b, step));
    }
    return EX_NONE;
}

ex ex_div(struct exprs *p, ex a, ex b) {
    int64_t x, y;
    if (ex_is_const(p, b, &y)) {
        if (y <= 0) WS_BUG("division by %lld", (long long)y);
        if (y == 1) return a;
        if (ex_is_const(p, a, &x)) return ex_const(p, floor_div(x, y));
    }
    if (a == b) return ex_const(p, 1);
    ex q, r;
    split(p, a, b, &q, &r);
    if (is_below(p, r, b)) return q;
    if (!ex_is_const(p, q, &x) || x != 0) return ex_add(p, q, ex_div(p, r, b));
    ex in_steps = divide_in_steps(p, a, b);
    if (in_steps) return in_steps;
    if (ex_is_const(p, b, &y)) {
        /* (g*t + k) // (g*m) == (t + k//g) // m */
        struct sum s = ex_unpack(p, a);
        int64_t g = y;
        for (int i = 0; i < s.n; i++) g = common_divisor(g, s.at[i].c);
        if (g > 1) {
            for (int i = 0; i < s.n; i++) s.at[i].c /= g;
            s.k = floor_div(s.k, g);
            return ex_div(p, ex_pack(p, &s), ex_const(p, y / g));
        }
        const struct ex_node *n = ex_at(p, a);
        if (n->kind == EX_DIV && ex_is_const(p, n->b, &x) && mul_fits(x, y, &x))
            return ex_div(p, n->a, ex_const(p, x));
    }
    return ex_make(p, EX_DIV, a, b, 0);
}

ex ex_mod(struct exprs *p, ex a, ex b) {
    int64_t x, y;
    if (ex_is_const(p, b, &y)) {
        if (y <= 0) WS_BUG("modulo by %lld", (long long)y);
        if (y == 1) return ex_const(p, 0);
        if (ex_is_const(p, a, &x)) return ex_const(p, floor_mod(x, y));
    }
    ex q, r;
    split(p, a, b, &q, &r);
    if (is_below(p, r, b)) return r;
    const struct ex_node *n = ex_at(p, r);
    if (n->kind == EX_MOD && n->b == b) return r;
    if (ex_is_const(p, b, &y)) {
        /* (t % (x*y)) % y == t % y */
        if (n->kind == EX_MOD && ex_is_const(p, n->b, &x) && x % y == 0) return ex_mod(p, n->a, b);
        /* (g*t + k) % (g*m) == g*(t % m) + k, of k below g */
        struct sum s = ex_unpack(p, r);
        int64_t g = y, k = s.k;
        for (int i = 0; i < s.n; i++) g = common_divisor(g, s.at[i].c);
        if (g > 1 && k >= 0 && k < g) {
            for (int i = 0; i < s.n; i++) s.at[i].c /= g;
            s.k = 0;
            ex m = ex_mod(p, ex_pack(p, &s), ex_const(p, y / g));
            return ex_add(p, ex_mul(p, m, ex_const(p, g)), ex_const(p, k));
        }
    }
    return ex_make(p, EX_MOD, r, b, 0);
}

ex ex_ceildiv(struct exprs *p, ex a, ex b) {
    int64_t x, y;
    if (ex_is_const(p, a, &x) && ex_is_const(p, b, &y) && y > 0)
        return ex_const(p, x / y + (x % y > 0));
    return ex_div(p, ex_add(p, a, ex_sub(p, b, ex_const(p, 1))), b);
}

/* The range of a - b, as far as it matters: numbers may be further apart than any number is large.
 */
static void range_between(struct exprs *p, ex a, ex b, int64_t *lo, int64_t *hi) {
    int64_t x, y;
    if (ex_is_const(p, a, &x) && ex_is_const(p, b, &y))
        *lo = *hi = x < y ? -1 : x > y;
    else
        ex_range(p, ex_sub(p, a, b), lo, hi);
}

bool ex_at_most(struct exprs *p, ex a, ex b) {
    int64_t lo, hi;
    range_between(p, b, a, &lo, &hi);
    return lo >= 0;
}

ex ex_min(struct exprs *p, ex a, ex b) {
    if (ex_at_most(p, a, b)) return a;
    if (ex_at_most(p, b, a)) return b;
    return ex_order(p, a, b) < 0 ? ex_make(p, EX_MIN, a, b, 0) : ex_make(p, EX_MIN, b, a, 0);
}

ex ex_max(struct exprs *p, ex a, ex b) {
    if (ex_at_most(p, a, b)) return b;
    if (ex_at_most(p, b, a)) return a;
    return ex_order(p, a, b) < 0 ? ex_make(p, EX_MAX, a, b, 0) : ex_make(p, EX_MAX, b, a, 0);
}

ex ex_compare(struct exprs *p, enum ex_kind k, ex a, ex b) {
    int64_t lo, hi;
    range_between(p, a, b, &lo, &hi);
    bool always = false, never = false;
    switch (k) {
    case EX_EQ: always = lo == 0 && hi == 0, never = lo > 0 || hi < 0; break;
    case EX_NE: always = lo > 0 || hi < 0, never = lo == 0 && hi == 0; break;
    case EX_LT: always = hi < 0, never = lo >= 0; break;
    case EX_LE: always = hi <= 0, never = lo > 0; break;
    case EX_CONST:
    case EX_SYM:
    case EX_ADD:
    case EX_MUL:
    case EX_DIV:
    case EX_MOD:
    case EX_MIN:
    case EX_MAX:
    case EX_AND: WS_BUG("not a comparison");
    }
    if (always || never) return ex_const(p, always);
    return ex_make(p, k, a, b, 0);
}

ex ex_and(struct exprs *p, ex a, ex b) {
    int64_t v;
    if (a == b) return a;
    if (ex_is_const(p, a, &v)) return v ? b : a;
    if (ex_is_const(p, b, &v)) return v ? a : b;
    return ex_make(p, EX_AND, a, b, 0);
}
