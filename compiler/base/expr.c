/* expr.c: hash-consed symbolic integers. Arithmetic works on two small normal forms that are
 * unpacked from and packed into nodes: a sum (terms with constant coefficients) and a product
 * (sorted factors).
 *
 *   (s0*4 + 8) // 4        -> s0 + 2
 *   (i*s1 + j) // s1       -> i          when j is an index below s1
 *   (i*s1 + j) % s1        -> j */
#include "base/expr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"

struct ex_node {
    int32_t kind;
    ex a, b;
    uint32_t zero; /* nodes are hashed as bytes: no padding */
    int64_t value;
};

struct exprs {
    struct arena *arena;
    VEC(struct ex_node) nodes;
    VEC(struct ex_symbol) symbols;
    struct map ids; /* node bytes -> id */
    bool overflowed;
    struct ex_escape escape;
};

enum { MAX_TERMS = 48 };

struct sum {
    int n;
    int64_t k; /* the constant */
    struct {
        int64_t c;
        ex t;
    } at[MAX_TERMS];
};

struct exprs *exprs_new(struct arena *a) {
    struct exprs *p = NEW(a, struct exprs);
    p->arena = a;
    p->ids = map_new(a);
    vec_push(a, &p->nodes, (struct ex_node){0}); /* id 0 is EX_NONE */
    return p;
}

struct ex_escape ex_set_escape(struct exprs *p, struct ex_escape e) {
    struct ex_escape old = p->escape;
    p->escape = e;
    return old;
}

bool ex_overflowed(struct exprs *p) {
    bool yes = p->overflowed;
    p->overflowed = false;
    return yes;
}

void ex_overflow(struct exprs *p, const char *why) {
    p->overflowed = true;
    if (p->escape.leave) p->escape.leave(p->escape.ctx, why);
}

static const char too_large[] = "a size has no 64 bits", too_long[] = "a size has too many terms";

static int64_t add(struct exprs *p, int64_t a, int64_t b) {
    int64_t r;
    if (add_fits(a, b, &r)) return r;
    ex_overflow(p, too_large);
    return sat_add(a, b);
}

static int64_t mul(struct exprs *p, int64_t a, int64_t b) {
    int64_t r;
    if (mul_fits(a, b, &r)) return r;
    ex_overflow(p, too_large);
    return sat_mul(a, b);
}

static const struct ex_node *at(const struct exprs *p, ex e) {
    WS_ASSERT(e && e < p->nodes.n);
    return &p->nodes.at[e];
}

static ex make(struct exprs *p, enum ex_kind kind, ex a, ex b, int64_t value) {
    struct ex_node n = {.kind = kind, .a = a, .b = b, .value = value};
    uint64_t id;
    if (map_get(&p->ids, &n, sizeof n, &id)) return (ex)id;
    id = p->nodes.n;
    vec_push(p->arena, &p->nodes, n);
    map_put(&p->ids, &n, sizeof n, id);
    return (ex)id;
}

ex ex_const(struct exprs *p, int64_t v) { return make(p, EX_CONST, 0, 0, v); }

static ex new_symbol(struct exprs *p, struct ex_symbol s) {
    s.name = arena_strdup(p->arena, s.name);
    vec_push(p->arena, &p->symbols, s);
    return make(p, EX_SYM, 0, 0, p->symbols.n - 1);
}

ex ex_size(struct exprs *p, const char *name, int64_t lo, int64_t hint) {
    return new_symbol(p, (struct ex_symbol){.name = name, .lo = lo, .hi = INT64_MAX, .hint = hint});
}

ex ex_index(struct exprs *p, const char *name, ex bound) {
    int64_t lo, hi;
    ex_range(p, bound, &lo, &hi);
    return new_symbol(p, (struct ex_symbol){.name = name,
                                            .hi = hi == INT64_MAX || hi < 1 ? hi : hi - 1,
                                            .bound = bound});
}

enum ex_kind ex_kind(const struct exprs *p, ex e) { return (enum ex_kind)at(p, e)->kind; }
ex ex_lhs(const struct exprs *p, ex e) { return at(p, e)->a; }
ex ex_rhs(const struct exprs *p, ex e) { return at(p, e)->b; }

const struct ex_symbol *ex_symbol(const struct exprs *p, ex e) {
    WS_ASSERT(ex_kind(p, e) == EX_SYM);
    return &p->symbols.at[at(p, e)->value];
}

bool ex_is_const(const struct exprs *p, ex e, int64_t *v) {
    const struct ex_node *n = at(p, e);
    if (n->kind != EX_CONST) return false;
    if (v) *v = n->value;
    return true;
}

int64_t ex_value(const struct exprs *p, ex e) {
    int64_t v;
    if (!ex_is_const(p, e, &v)) WS_BUG("size is not a constant");
    return v;
}

/* ---- order: symbols by name, then terms by structure ----------------------------------------- */

static int compare(const struct exprs *p, ex a, ex b) {
    if (a == b) return 0;
    const struct ex_node *x = at(p, a), *y = at(p, b);
    if (x->kind != y->kind) {
        if (x->kind == EX_SYM || y->kind == EX_SYM) return x->kind == EX_SYM ? -1 : 1;
        return x->kind < y->kind ? -1 : 1;
    }
    if (x->kind == EX_SYM) {
        int c = strcmp(ex_symbol(p, a)->name, ex_symbol(p, b)->name);
        return c ? c : x->value < y->value ? -1 : 1;
    }
    if (x->kind == EX_CONST) return x->value < y->value ? -1 : 1;
    int c = compare(p, x->a, y->a);
    return c ? c : compare(p, x->b, y->b);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Factors of a term that is not a sum; the constant is split off. */
static int factors(struct exprs *p, ex e, ex *out, int n, int64_t *c) {
    const struct ex_node *x = at(p, e);
    if (x->kind == EX_CONST) return *c = mul(p, *c, x->value), n;
    if (x->kind == EX_MUL) {
        n = factors(p, x->a, out, n, c);
        return factors(p, at(p, e)->b, out, n, c);
    }
    if (n == MAX_TERMS) return ex_overflow(p, too_long), n;
    out[n] = e;
    return n + 1;
}

static ex pack_product(struct exprs *p, ex *f, int n) {
    for (int i = 1; i < n; i++) /* insertion sort: a handful of factors */
        for (int j = i; j > 0 && compare(p, f[j - 1], f[j]) > 0; j--) {
            ex t = f[j];
            f[j] = f[j - 1];
            f[j - 1] = t;
        }
    ex e = f[0];
    for (int i = 1; i < n; i++) e = make(p, EX_MUL, e, f[i], 0);
    return e;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void sum_add(struct exprs *p, struct sum *s, int64_t c, ex e) {
    const struct ex_node *x = at(p, e);
    if (c == 0) return;
    if (x->kind == EX_CONST) {
        s->k = add(p, s->k, mul(p, c, x->value));
    } else if (x->kind == EX_ADD) {
        sum_add(p, s, c, x->a);
        sum_add(p, s, c, at(p, e)->b);
    } else {
        ex f[MAX_TERMS];
        int64_t k = 1;
        int nf = factors(p, e, f, 0, &k);
        ex t = k == 1 ? e : pack_product(p, f, nf);
        int i = 0;
        while (i < s->n && s->at[i].t != t) i++;
        if (i == MAX_TERMS) {
            ex_overflow(p, too_long);
            return;
        }
        if (i == s->n) {
            s->at[s->n].t = t;
            s->at[s->n++].c = 0;
        }
        s->at[i].c = add(p, s->at[i].c, mul(p, c, k));
    }
}

static struct sum unpack(struct exprs *p, ex e) {
    struct sum s = {0};
    sum_add(p, &s, 1, e);
    return s;
}

/* a // n * n + a % n is a: what was split into dimensions and put together again. */
static void rejoin(struct exprs *p, struct sum *s) {
    for (int i = 0; i < s->n && s->n > 1; i++) {
        const struct ex_node *x = at(p, s->at[i].t);
        ex a = x->a, n = x->b;
        if (x->kind != EX_MOD || !s->at[i].c) continue;
        struct sum whole = unpack(p, ex_mul(p, ex_div(p, a, n), n));
        if (whole.n != 1 || whole.k) continue;
        int j = 0;
        while (j < s->n && s->at[j].t != whole.at[0].t) j++;
        int64_t c = s->at[i].c;
        if (j == s->n || s->at[j].c != mul(p, c, whole.at[0].c)) continue;
        if (s->n + unpack(p, a).n > MAX_TERMS) continue;
        s->at[i].c = s->at[j].c = 0;
        sum_add(p, s, c, a);
        i = -1; /* a may be a remainder, too */
    }
}

static ex pack(struct exprs *p, struct sum *s) {
    int n = 0;
    rejoin(p, s);
    for (int i = 0; i < s->n; i++)
        if (s->at[i].c) s->at[n++] = s->at[i];
    s->n = n;
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && compare(p, s->at[j - 1].t, s->at[j].t) > 0; j--) {
            __typeof__(s->at[0]) t = s->at[j];
            s->at[j] = s->at[j - 1];
            s->at[j - 1] = t;
        }
    ex e = EX_NONE;
    for (int i = 0; i < n; i++) {
        ex t =
            s->at[i].c == 1 ? s->at[i].t : make(p, EX_MUL, s->at[i].t, ex_const(p, s->at[i].c), 0);
        e = e ? make(p, EX_ADD, e, t, 0) : t;
    }
    if (!e) return ex_const(p, s->k);
    return s->k ? make(p, EX_ADD, e, ex_const(p, s->k), 0) : e;
}

ex ex_add(struct exprs *p, ex a, ex b) {
    struct sum s = unpack(p, a);
    sum_add(p, &s, 1, b);
    return pack(p, &s);
}

ex ex_sub(struct exprs *p, ex a, ex b) {
    struct sum s = unpack(p, a);
    sum_add(p, &s, -1, b);
    return pack(p, &s);
}

ex ex_mul(struct exprs *p, ex a, ex b) {
    struct sum x = unpack(p, a), y = unpack(p, b), s = {0};
    s.k = mul(p, x.k, y.k);
    for (int i = 0; i < x.n; i++) sum_add(p, &s, mul(p, x.at[i].c, y.k), x.at[i].t);
    for (int j = 0; j < y.n; j++) sum_add(p, &s, mul(p, y.at[j].c, x.k), y.at[j].t);
    for (int i = 0; i < x.n; i++)
        for (int j = 0; j < y.n; j++) {
            ex f[MAX_TERMS];
            int64_t one = 1;
            int n = factors(p, x.at[i].t, f, 0, &one);
            n = factors(p, y.at[j].t, f, n, &one);
            sum_add(p, &s, mul(p, x.at[i].c, y.at[j].c), pack_product(p, f, n));
        }
    return pack(p, &s);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Of a bound: "any" stays. */
static int64_t bound_div(int64_t a, int64_t b) {
    return a == INT64_MAX || a == INT64_MIN ? a : floor_div(a, b);
}

void ex_range(const struct exprs *p, ex e, int64_t *lo, int64_t *hi) {
    const struct ex_node *x = at(p, e);
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
    struct sum s = unpack(p, e);
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

static uint64_t magnitude(int64_t a) { return a < 0 ? -(uint64_t)a : (uint64_t)a; }

int64_t common_divisor(int64_t x, int64_t y) {
    uint64_t a = magnitude(x), b = magnitude(y);
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a > INT64_MAX ? INT64_MAX / 2 + 1 : (int64_t)a; /* 2^63 is twice 2^62 */
}

/* t / d when d's factors all occur in t (d one term without a coefficient); EX_NONE otherwise. */
static ex term_quotient(struct exprs *p, ex t, ex d) {
    ex f[MAX_TERMS], g[MAX_TERMS];
    int64_t one = 1;
    int n = factors(p, t, f, 0, &one), m = factors(p, d, g, 0, &one);
    for (int j = 0; j < m; j++) {
        int i = 0;
        while (i < n && f[i] != g[j]) i++;
        if (i == n) return EX_NONE;
        f[i] = f[--n];
    }
    return n ? pack_product(p, f, n) : ex_const(p, 1);
}

/* Split a = q*d + r where every term of q*d is divisible by d term by term. d > 0. */
static void split(struct exprs *p, ex a, ex d, ex *q, ex *r) {
    struct sum s = unpack(p, a), dd = unpack(p, d), qs = {0}, rs = {0};
    int64_t c;
    if (ex_is_const(p, d, &c)) {
        for (int i = 0; i < s.n; i++) {
            struct sum *to = s.at[i].c % c == 0 ? &qs : &rs;
            to->at[to->n].t = s.at[i].t;
            to->at[to->n++].c = to == &qs ? s.at[i].c / c : s.at[i].c;
        }
        qs.k = floor_div(s.k, c);
        rs.k = s.k - mul(p, qs.k, c);
    } else if (dd.n == 1 && dd.k == 0) {
        for (int i = 0; i < s.n; i++) {
            ex t = s.at[i].c % dd.at[0].c == 0 ? term_quotient(p, s.at[i].t, dd.at[0].t) : EX_NONE;
            if (t)
                sum_add(p, &qs, s.at[i].c / dd.at[0].c, t);
            else
                sum_add(p, &rs, s.at[i].c, s.at[i].t);
        }
        rs.k = s.k;
    } else {
        rs = s;
    }
    *q = pack(p, &qs);
    *r = pack(p, &rs);
}

/* (g*t + r) // (g*m) == t // m, if r is below g: which a factor g of some term and of b may show.
 */
static ex divide_in_steps(struct exprs *p, ex a, ex b) {
    struct sum s = unpack(p, a), d = unpack(p, b);
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
        struct sum s = unpack(p, a);
        int64_t g = y;
        for (int i = 0; i < s.n; i++) g = common_divisor(g, s.at[i].c);
        if (g > 1) {
            for (int i = 0; i < s.n; i++) s.at[i].c /= g;
            s.k = floor_div(s.k, g);
            return ex_div(p, pack(p, &s), ex_const(p, y / g));
        }
        const struct ex_node *n = at(p, a);
        if (n->kind == EX_DIV && ex_is_const(p, n->b, &x) && mul_fits(x, y, &x))
            return ex_div(p, n->a, ex_const(p, x));
    }
    return make(p, EX_DIV, a, b, 0);
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
    const struct ex_node *n = at(p, r);
    if (n->kind == EX_MOD && n->b == b) return r;
    return make(p, EX_MOD, r, b, 0);
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
    return compare(p, a, b) < 0 ? make(p, EX_MIN, a, b, 0) : make(p, EX_MIN, b, a, 0);
}

ex ex_max(struct exprs *p, ex a, ex b) {
    if (ex_at_most(p, a, b)) return b;
    if (ex_at_most(p, b, a)) return a;
    return compare(p, a, b) < 0 ? make(p, EX_MAX, a, b, 0) : make(p, EX_MAX, b, a, 0);
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
    return make(p, k, a, b, 0);
}

ex ex_and(struct exprs *p, ex a, ex b) {
    int64_t v;
    if (a == b) return a;
    if (ex_is_const(p, a, &v)) return v ? b : a;
    if (ex_is_const(p, b, &v)) return v ? a : b;
    return make(p, EX_AND, a, b, 0);
}

/* ---- walks ----------------------------------------------------------------------------------- */

bool ex_uses(const struct exprs *p, ex e, ex sym) {
    if (e == sym) return true;
    const struct ex_node *x = at(p, e);
    return x->a && (ex_uses(p, x->a, sym) || ex_uses(p, x->b, sym));
}

int ex_symbols(const struct exprs *p, ex e, ex *out, int cap) {
    ex stack[256];
    int top = 0, n = 0;
    stack[top++] = e;
    while (top) {
        ex t = stack[--top];
        const struct ex_node *x = at(p, t);
        if (x->kind == EX_SYM) {
            int i = 0;
            while (i < n && out[i] != t) i++;
            if (i == n && n < cap) out[n++] = t;
        } else if (x->a) {
            WS_ASSERT(top + 2 <= 256);
            stack[top++] = x->b;
            stack[top++] = x->a;
        }
    }
    return n;
}

bool ex_linear(struct exprs *p, ex e, ex sym, ex *coeff, ex *rest) {
    struct sum s = unpack(p, e), c = {0}, r = {.k = s.k};
    for (int i = 0; i < s.n; i++) {
        if (!ex_uses(p, s.at[i].t, sym)) {
            sum_add(p, &r, s.at[i].c, s.at[i].t);
            continue;
        }
        ex q = term_quotient(p, s.at[i].t, sym);
        if (!q || ex_uses(p, q, sym)) return false;
        sum_add(p, &c, s.at[i].c, q);
    }
    *coeff = pack(p, &c);
    *rest = pack(p, &r);
    return true;
}

static ex rebuild(struct exprs *p, enum ex_kind k, ex a, ex b) {
    switch (k) {
    case EX_ADD: return ex_add(p, a, b);
    case EX_MUL: return ex_mul(p, a, b);
    case EX_DIV: return ex_div(p, a, b);
    case EX_MOD: return ex_mod(p, a, b);
    case EX_MIN: return ex_min(p, a, b);
    case EX_MAX: return ex_max(p, a, b);
    case EX_EQ:
    case EX_NE:
    case EX_LT:
    case EX_LE: return ex_compare(p, k, a, b);
    case EX_AND: return ex_and(p, a, b);
    case EX_CONST:
    case EX_SYM: break;
    }
    WS_BUG("leaf rebuilt");
}

ex ex_subst(struct exprs *p, ex e, const ex *from, const ex *to, int n) {
    for (int i = 0; i < n; i++)
        if (e == from[i]) return to[i];
    struct ex_node x = *at(p, e);
    if (!x.a) return e;
    ex a = ex_subst(p, x.a, from, to, n), b = ex_subst(p, x.b, from, to, n);
    return a == x.a && b == x.b ? e : rebuild(p, (enum ex_kind)x.kind, a, b);
}

bool ex_divides(const struct exprs *p, int64_t k, ex e) {
    const struct ex_node *x = at(p, e);
    if (k == 1) return true;
    switch ((enum ex_kind)x->kind) {
    case EX_CONST: return x->value % k == 0;
    case EX_ADD:
    case EX_MIN:
    case EX_MAX: return ex_divides(p, k, x->a) && ex_divides(p, k, x->b);
    case EX_MUL: {
        int64_t c;
        if (ex_is_const(p, x->b, &c)) return ex_divides(p, k / common_divisor(k, c), x->a);
        return ex_divides(p, k, x->a) || ex_divides(p, k, x->b);
    }
    case EX_MOD: return ex_divides(p, k, x->a) && ex_divides(p, k, x->b);
    case EX_SYM:
    case EX_DIV:
    case EX_EQ:
    case EX_NE:
    case EX_LT:
    case EX_LE:
    case EX_AND: break;
    }
    return false;
}

static int64_t apply(enum ex_kind k, int64_t a, int64_t b) {
    switch (k) {
    case EX_ADD: return sat_add(a, b);
    case EX_MUL: return sat_mul(a, b);
    case EX_DIV: return b > 0 ? floor_div(a, b) : 0; /* a size of 0, which no guard lets through */
    case EX_MOD: return b > 0 ? floor_mod(a, b) : 0;
    case EX_MIN: return a < b ? a : b;
    case EX_MAX: return a > b ? a : b;
    case EX_EQ: return a == b;
    case EX_NE: return a != b;
    case EX_LT: return a < b;
    case EX_LE: return a <= b;
    case EX_AND: return a && b;
    case EX_CONST:
    case EX_SYM: break;
    }
    WS_BUG("leaf applied");
}

int64_t ex_eval(const struct exprs *p, ex e, int64_t (*of)(void *ctx, ex sym), void *ctx) {
    const struct ex_node *x = at(p, e);
    if (x->kind == EX_CONST) return x->value;
    if (x->kind == EX_SYM) return of(ctx, e);
    return apply((enum ex_kind)x->kind, ex_eval(p, x->a, of, ctx), ex_eval(p, x->b, of, ctx));
}

void ex_set_hint(struct exprs *p, ex sym, int64_t hint) {
    WS_ASSERT(ex_kind(p, sym) == EX_SYM);
    p->symbols.at[at(p, sym)->value].hint = hint;
}

static int64_t hint_of(void *ctx, ex sym) { return ex_symbol(ctx, sym)->hint; }

int64_t ex_hint(const struct exprs *p, ex e) { return ex_eval(p, e, hint_of, (void *)p); }

ex ex_find(const struct exprs *p, const char *name) {
    for (uint32_t e = 1; e < p->nodes.n; e++)
        if (p->nodes.at[e].kind == EX_SYM && !strcmp(ex_symbol(p, e)->name, name)) return e;
    return EX_NONE;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const struct {
    const char *python, *c;
    int level; /* binds tighter when larger */
} ops[] = {
    [EX_ADD] = {" + ", " + ", 4}, [EX_MUL] = {"*", "*", 5},      [EX_DIV] = {" // ", " / ", 5},
    [EX_MOD] = {" % ", " % ", 5}, [EX_EQ] = {" == ", " == ", 2}, [EX_NE] = {" != ", " != ", 2},
    [EX_LT] = {" < ", " < ", 3},  [EX_LE] = {" <= ", " <= ", 3}, [EX_AND] = {" and ", " && ", 1},
};

static void put(struct buf *b, const struct exprs *p, ex e, int level, bool c);

/* C divides towards 0, we towards the smaller: a dividend that may be below 0, but not by more than
 * some multiples of the divisor, is moved up by these. (5 - r) // 3 is 1 + (2 - r) // 3 here, and
 * with r < 6 it prints as 1 + ((2 - r + 3) / 3 - 1). */
static bool put_moved(struct buf *b, const struct exprs *p, const struct ex_node *x) {
    int64_t lo, hi, d;
    ex_range(p, x->a, &lo, &hi);
    const int64_t most = INT64_C(1) << 61; /* lo and a divisor are moved by no more than that */
    if (lo >= 0 || lo < -most || !ex_is_const(p, x->b, &d) || d > most) return false;
    int64_t up = (-lo + d - 1) / d;
    bool division = x->kind == EX_DIV;
    buf_puts(b, "((");
    put(b, p, x->a, ops[EX_ADD].level, true);
    buf_printf(b, " + %lld) %c %lld", (long long)(up * d), division ? '/' : '%', (long long)d);
    if (division) buf_printf(b, " - %lld", (long long)up);
    buf_putc(b, ')');
    return true;
}

static void put(struct buf *b, const struct exprs *p, ex e, int level, bool c) {
    const struct ex_node *x = at(p, e);
    enum ex_kind k = (enum ex_kind)x->kind;
    if (c && (k == EX_DIV || k == EX_MOD) && put_moved(b, p, x)) return;
    if (k == EX_CONST) {
        buf_printf(b, "%lld", (long long)x->value);
    } else if (k == EX_SYM) {
        const struct ex_symbol *s = ex_symbol(p, e);
        buf_printf(b, "%s%s", c && s->bound == EX_NONE ? "size_" : "", s->name);
    } else if (k == EX_MIN || k == EX_MAX) {
        if (c) {
            buf_puts(b, k == EX_MIN ? "k_min_i(" : "k_max_i(");
        } else {
            buf_puts(b, k == EX_MIN ? "min(" : "max(");
        }
        put(b, p, x->a, 0, c);
        buf_puts(b, ", ");
        put(b, p, x->b, 0, c);
        buf_putc(b, ')');
    } else {
        int64_t v;
        bool paren = ops[k].level < level, minus = k == EX_ADD && ex_is_const(p, x->b, &v) && v < 0;
        bool tight = k == EX_DIV ||
                     k == EX_MOD; /* (a*b) // c keeps its order; products under // get brackets */
        if (paren) buf_putc(b, '(');
        put(b, p, x->a, ops[k].level + tight, c);
        buf_puts(b, minus ? " - " : c ? ops[k].c : ops[k].python);
        if (minus)
            buf_printf(b, "%llu", (unsigned long long)magnitude(v));
        else
            put(b, p, x->b, ops[k].level + (k != EX_ADD && k != EX_AND), c);
        if (paren) buf_putc(b, ')');
    }
}

void ex_print(struct buf *b, const struct exprs *p, ex e) { put(b, p, e, 0, false); }
void ex_print_c(struct buf *b, const struct exprs *p, ex e) { put(b, p, e, 0, true); }

const char *ex_str(struct arena *a, const struct exprs *p, ex e) {
    struct buf b = buf_new(a);
    ex_print(&b, p, e);
    return b.p;
}

struct parser {
    struct exprs *p;
    const char *s, *error;
    bool create;
    int depth;
};

static void skip(struct parser *q) { q->s += strspn(q->s, " \t"); }

static bool eat(struct parser *q, const char *word) {
    skip(q);
    size_t n = strlen(word);
    if (strncmp(q->s, word, n) != 0) return false;
    q->s += n;
    return true;
}

static ex fail(struct parser *q) {
    if (!q->error) q->error = q->s;
    return ex_const(q->p, 0);
}

/* How many terms and factors e has at most, and how large its numbers are: what arrives as text
 * must not overflow what an expression can hold. */
struct bulk {
    double terms, factors, number;
};

static struct bulk bulk_of(const struct exprs *p, ex e) {
    const struct ex_node *x = at(p, e);
    if (x->kind == EX_CONST) return (struct bulk){1, 1, fmax(1, fabs((double)x->value))};
    if (x->kind == EX_SYM) return (struct bulk){1, 1, 1};
    struct bulk a = bulk_of(p, x->a), b = bulk_of(p, x->b);
    if (x->kind == EX_ADD)
        return (struct bulk){a.terms + b.terms, fmax(a.factors, b.factors), a.number + b.number};
    if (x->kind == EX_MUL)
        return (struct bulk){a.terms * b.terms, a.factors + b.factors, a.number * b.number};
    return (struct bulk){1, 1, a.number * b.number};
}

static const int64_t MOST = 1ll << 56; /* the size of a number beside others */

/* Is the combination of a and b too much? Division multiplies, too: (a // 4) // 6 is a // 24. */
static bool is_bulky(const struct exprs *p, enum ex_kind k, ex a, ex b) {
    struct bulk x = bulk_of(p, a), y = bulk_of(p, b);
    bool adds = k != EX_MUL && k != EX_DIV && k != EX_MOD;
    return (adds ? x.terms + y.terms : x.terms * y.terms) > MAX_TERMS ||
           x.factors + y.factors > MAX_TERMS ||
           (adds ? x.number + y.number : x.number * y.number) > (double)MOST;
}

/* What is accepted is well below those limits, so that it reads back in whatever order it prints.
 */
static bool is_modest(struct bulk x) {
    return x.terms <= MAX_TERMS / 2 && x.factors <= MAX_TERMS / 2 && x.number <= 0x1p50;
}

bool ex_mul_fits(const struct exprs *p, ex a, ex b) {
    struct bulk x = bulk_of(p, a), y = bulk_of(p, b);
    return is_modest((struct bulk){x.terms * y.terms, x.factors + y.factors, x.number * y.number});
}

static ex parse_level(struct parser *q, int level);

static ex parse_atom(struct parser *q) {
    skip(q);
    if (++q->depth > 200) return fail(q);
    ex e;
    if (eat(q, "(")) {
        e = parse_level(q, 1);
        if (!eat(q, ")")) return fail(q);
    } else if (eat(q, "min(") || eat(q, "max(")) {
        bool is_min = q->s[-3] == 'i';
        ex a = parse_level(q, 1);
        if (!eat(q, ",")) return fail(q);
        ex b = parse_level(q, 1);
        if (!eat(q, ")") || is_bulky(q->p, EX_MIN, a, b)) return fail(q);
        e = is_min ? ex_min(q->p, a, b) : ex_max(q->p, a, b);
    } else if ((*q->s >= '0' && *q->s <= '9') || *q->s == '-') {
        char *end;
        errno = 0;
        long long v = strtoll(q->s, &end, 10);
        if (end == q->s || errno) return fail(q);
        q->s = end;
        e = ex_const(q->p, v);
    } else {
        size_t n = 0;
        while (q->s[n] == '_' || (q->s[n] >= '0' && q->s[n] <= '9') ||
               (q->s[n] >= 'a' && q->s[n] <= 'z') || (q->s[n] >= 'A' && q->s[n] <= 'Z'))
            n++;
        if (!n) return fail(q);
        char *name = arena_strndup(q->p->arena, q->s, n);
        if (!strcmp(name, "inf") || !strcmp(name, "nan")) return fail(q); /* no integers */
        e = ex_find(q->p, name);
        if (!e && !q->create) return fail(q);
        if (!e) e = ex_size(q->p, name, 2, 0);
        q->s += n;
    }
    q->depth--;
    return e;
}

/* One precedence level: and, == !=, < <=, + -, * // %. */
static ex parse_level(struct parser *q, int level) {
    if (level == 6) return parse_atom(q);
    ex a = parse_level(q, level + 1);
    while (!q->error) {
        skip(q);
        enum ex_kind k;
        bool minus = false;
        int64_t lo, hi;
        if (level == 1 && eat(q, "and "))
            k = EX_AND;
        else if (level == 2 && eat(q, "=="))
            k = EX_EQ;
        else if (level == 2 && eat(q, "!="))
            k = EX_NE;
        else if (level == 3 && eat(q, "<="))
            k = EX_LE;
        else if (level == 3 && eat(q, "<"))
            k = EX_LT;
        else if (level == 4 && eat(q, "+"))
            k = EX_ADD;
        else if (level == 4 && eat(q, "-"))
            k = EX_ADD, minus = true;
        else if (level == 5 && eat(q, "//"))
            k = EX_DIV;
        else if (level == 5 && eat(q, "*"))
            k = EX_MUL;
        else if (level == 5 && eat(q, "%"))
            k = EX_MOD;
        else
            break;
        ex b = parse_level(q, level + 1);
        if (is_bulky(q->p, k, a, b)) return fail(q);
        if (k == EX_DIV || k == EX_MOD) {
            ex_range(q->p, b, &lo, &hi);
            if (lo <= 0) return fail(q);
        }
        a = minus ? ex_sub(q->p, a, b) : rebuild(q->p, k, a, b);
    }
    return a;
}

ex ex_parse(struct exprs *p, const char *text, const char **end, bool create) {
    struct parser q = {.p = p, .s = text, .create = create};
    ex e = parse_level(&q, 1);
    bool lone = ex_is_const(p, e, NULL); /* any number may stand alone */
    if (!q.error && !lone && !is_modest(bulk_of(p, e))) q.error = text;
    *end = q.error ? q.error : q.s;
    return q.error ? EX_NONE : e;
}
