/* expr.c: hash-consed symbolic integers. Arithmetic works on two small normal forms that are
 * unpacked from and packed into nodes: a sum (terms with constant coefficients) and a product
 * (sorted factors).
 *
 *   (s0*4 + 8) // 4        -> s0 + 2
 *   (i*s1 + j) // s1       -> i          when j is an index below s1
 *   (i*s1 + j) % s1        -> j */
#include "base/expr_impl.h"

#include <string.h>

#include "base/checked.h"
#include "base/diag.h"

struct exprs *exprs_new(struct arena *a) {
    struct exprs *p = NEW(a, struct exprs);
    p->arena = a;
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

int64_t ex_times(struct exprs *p, int64_t a, int64_t b) {
    int64_t r;
    if (mul_fits(a, b, &r)) return r;
    ex_overflow(p, too_large);
    return sat_mul(a, b);
}

const struct ex_node *ex_at(const struct exprs *p, ex e) {
    WS_ASSERT(e && e < p->nodes.n);
    return &p->nodes.at[e];
}

/* The slot that has the node's number, or where it belongs. */
static uint32_t *slot_of(const struct exprs *p, const struct ex_node *n) {
    uint64_t h = ((uint64_t)n->a << 32 | n->b) * 0x9E3779B97F4A7C15u ^
                 (uint64_t)n->value * 0xC2B2AE3D27D4EB4Fu ^ (uint64_t)n->kind << 40;
    uint32_t mask = p->n_slots - 1, i = (uint32_t)((h * 0x9FB21C651E98DF25u) >> 32) & mask;
    for (; p->slots[i]; i = (i + 1) & mask) {
        const struct ex_node *x = &p->nodes.at[p->slots[i]];
        if (x->a == n->a && x->b == n->b && x->value == n->value && x->kind == n->kind) break;
    }
    return &p->slots[i];
}

static void grow(struct exprs *p) {
    p->n_slots = p->n_slots ? 2 * p->n_slots : 64;
    p->slots = NEW_ARRAY(p->arena, uint32_t, p->n_slots);
    for (uint32_t i = 1; i < p->nodes.n; i++) *slot_of(p, &p->nodes.at[i]) = i;
}

ex ex_make(struct exprs *p, enum ex_kind kind, ex a, ex b, int64_t value) {
    struct ex_node n = {.kind = kind, .a = a, .b = b, .value = value};
    if (2 * p->nodes.n >= p->n_slots) grow(p);
    uint32_t *slot = slot_of(p, &n);
    if (!*slot) {
        *slot = p->nodes.n;
        vec_push(p->arena, &p->nodes, n);
    }
    return *slot;
}

ex ex_const(struct exprs *p, int64_t v) { return ex_make(p, EX_CONST, 0, 0, v); }

static ex new_symbol(struct exprs *p, struct ex_symbol s) {
    s.name = arena_strdup(p->arena, s.name);
    vec_push(p->arena, &p->symbols, s);
    return ex_make(p, EX_SYM, 0, 0, p->symbols.n - 1);
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

enum ex_kind ex_kind(const struct exprs *p, ex e) { return (enum ex_kind)ex_at(p, e)->kind; }
ex ex_lhs(const struct exprs *p, ex e) { return ex_at(p, e)->a; }
ex ex_rhs(const struct exprs *p, ex e) { return ex_at(p, e)->b; }

const struct ex_symbol *ex_symbol(const struct exprs *p, ex e) {
    WS_ASSERT(ex_kind(p, e) == EX_SYM);
    return &p->symbols.at[ex_at(p, e)->value];
}

bool ex_is_const(const struct exprs *p, ex e, int64_t *v) {
    const struct ex_node *n = ex_at(p, e);
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

int ex_order(const struct exprs *p, ex a, ex b) {
    if (a == b) return 0;
    const struct ex_node *x = ex_at(p, a), *y = ex_at(p, b);
    if (x->kind != y->kind) {
        if (x->kind == EX_SYM || y->kind == EX_SYM) return x->kind == EX_SYM ? -1 : 1;
        return x->kind < y->kind ? -1 : 1;
    }
    if (x->kind == EX_SYM) {
        int c = strcmp(ex_symbol(p, a)->name, ex_symbol(p, b)->name);
        return c ? c : x->value < y->value ? -1 : 1;
    }
    if (x->kind == EX_CONST) return x->value < y->value ? -1 : 1;
    int c = ex_order(p, x->a, y->a);
    return c ? c : ex_order(p, x->b, y->b);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Factors of a term that is not a sum; the constant is split off. */
int ex_factors(struct exprs *p, ex e, ex *out, int n, int64_t *c) {
    const struct ex_node *x = ex_at(p, e);
    if (x->kind == EX_CONST) return *c = ex_times(p, *c, x->value), n;
    if (x->kind == EX_MUL) {
        n = ex_factors(p, x->a, out, n, c);
        return ex_factors(p, ex_at(p, e)->b, out, n, c);
    }
    if (n == MAX_TERMS) return ex_overflow(p, too_long), n;
    out[n] = e;
    return n + 1;
}

ex ex_pack_product(struct exprs *p, ex *f, int n) {
    for (int i = 1; i < n; i++) /* insertion sort: a handful of factors */
        for (int j = i; j > 0 && ex_order(p, f[j - 1], f[j]) > 0; j--) {
            ex t = f[j];
            f[j] = f[j - 1];
            f[j - 1] = t;
        }
    ex e = f[0];
    for (int i = 1; i < n; i++) e = ex_make(p, EX_MUL, e, f[i], 0);
    return e;
}

/* ---- sums ------------------------------------------------------------------------------------ */

void ex_sum_add(struct exprs *p, struct sum *s, int64_t c, ex e) {
    const struct ex_node *x = ex_at(p, e);
    if (c == 0) return;
    if (x->kind == EX_CONST) {
        s->k = add(p, s->k, ex_times(p, c, x->value));
    } else if (x->kind == EX_ADD) {
        ex_sum_add(p, s, c, x->a);
        ex_sum_add(p, s, c, ex_at(p, e)->b);
    } else {
        ex f[MAX_TERMS];
        int64_t k = 1;
        int nf = ex_factors(p, e, f, 0, &k);
        ex t = k == 1 ? e : ex_pack_product(p, f, nf);
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
        s->at[i].c = add(p, s->at[i].c, ex_times(p, c, k));
    }
}

struct sum ex_unpack(struct exprs *p, ex e) {
    struct sum s = {0};
    ex_sum_add(p, &s, 1, e);
    return s;
}

/* a // n * n + a % n is a: what was split into dimensions and put together again. */
static void rejoin(struct exprs *p, struct sum *s) {
    for (int i = 0; i < s->n && s->n > 1; i++) {
        const struct ex_node *x = ex_at(p, s->at[i].t);
        ex a = x->a, n = x->b;
        if (x->kind != EX_MOD || !s->at[i].c) continue;
        struct sum whole = ex_unpack(p, ex_mul(p, ex_div(p, a, n), n));
        if (whole.n != 1 || whole.k) continue;
        int j = 0;
        while (j < s->n && s->at[j].t != whole.at[0].t) j++;
        int64_t c = s->at[i].c;
        if (j == s->n || s->at[j].c != ex_times(p, c, whole.at[0].c)) continue;
        if (s->n + ex_unpack(p, a).n > MAX_TERMS) continue;
        s->at[i].c = s->at[j].c = 0;
        ex_sum_add(p, s, c, a);
        i = -1; /* a may be a remainder, too */
    }
}

ex ex_pack(struct exprs *p, struct sum *s) {
    int n = 0;
    rejoin(p, s);
    for (int i = 0; i < s->n; i++)
        if (s->at[i].c) s->at[n++] = s->at[i];
    s->n = n;
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && ex_order(p, s->at[j - 1].t, s->at[j].t) > 0; j--) {
            __typeof__(s->at[0]) t = s->at[j];
            s->at[j] = s->at[j - 1];
            s->at[j - 1] = t;
        }
    ex e = EX_NONE;
    for (int i = 0; i < n; i++) {
        ex t = s->at[i].c == 1 ? s->at[i].t
                               : ex_make(p, EX_MUL, s->at[i].t, ex_const(p, s->at[i].c), 0);
        e = e ? ex_make(p, EX_ADD, e, t, 0) : t;
    }
    if (!e) return ex_const(p, s->k);
    return s->k ? ex_make(p, EX_ADD, e, ex_const(p, s->k), 0) : e;
}

/* Sizes are mostly numbers: what is computed of them needs no sums. */
static bool are_const(const struct exprs *p, ex a, ex b, int64_t *x, int64_t *y) {
    return ex_is_const(p, a, x) && ex_is_const(p, b, y);
}

ex ex_add(struct exprs *p, ex a, ex b) {
    int64_t x, y;
    if (are_const(p, a, b, &x, &y)) return ex_const(p, add(p, x, y));
    struct sum s = ex_unpack(p, a);
    ex_sum_add(p, &s, 1, b);
    return ex_pack(p, &s);
}

ex ex_sub(struct exprs *p, ex a, ex b) {
    int64_t x, y;
    if (are_const(p, a, b, &x, &y)) return ex_const(p, add(p, x, ex_times(p, -1, y)));
    struct sum s = ex_unpack(p, a);
    ex_sum_add(p, &s, -1, b);
    return ex_pack(p, &s);
}

ex ex_mul(struct exprs *p, ex a, ex b) {
    int64_t u, v;
    if (are_const(p, a, b, &u, &v)) return ex_const(p, ex_times(p, u, v));
    struct sum x = ex_unpack(p, a), y = ex_unpack(p, b), s = {0};
    s.k = ex_times(p, x.k, y.k);
    for (int i = 0; i < x.n; i++) ex_sum_add(p, &s, ex_times(p, x.at[i].c, y.k), x.at[i].t);
    for (int j = 0; j < y.n; j++) ex_sum_add(p, &s, ex_times(p, y.at[j].c, x.k), y.at[j].t);
    for (int i = 0; i < x.n; i++)
        for (int j = 0; j < y.n; j++) {
            ex f[MAX_TERMS];
            int64_t one = 1;
            int n = ex_factors(p, x.at[i].t, f, 0, &one);
            n = ex_factors(p, y.at[j].t, f, n, &one);
            ex_sum_add(p, &s, ex_times(p, x.at[i].c, y.at[j].c), ex_pack_product(p, f, n));
        }
    return ex_pack(p, &s);
}
