/* expr_walk.c: passes over a symbolic integer: its symbols, other values in place of them, its
 * linear part in one of them. */
#include "base/expr_impl.h"

#include <string.h>

#include "base/checked.h"
#include "base/diag.h"

/* ---- walks ----------------------------------------------------------------------------------- */

bool ex_uses(const struct exprs *p, ex e, ex sym) {
    if (e == sym) return true;
    const struct ex_node *x = ex_at(p, e);
    return x->a && (ex_uses(p, x->a, sym) || ex_uses(p, x->b, sym));
}

int ex_symbols(const struct exprs *p, ex e, ex *out, int cap) {
    ex stack[256];
    int top = 0, n = 0;
    stack[top++] = e;
    while (top) {
        ex t = stack[--top];
        const struct ex_node *x = ex_at(p, t);
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

static bool find_linear(struct exprs *p, ex e, ex sym, ex *coeff, ex *rest) {
    struct sum s = ex_unpack(p, e), c = {0}, r = {.k = s.k};
    for (int i = 0; i < s.n; i++) {
        if (!ex_uses(p, s.at[i].t, sym)) {
            ex_sum_add(p, &r, s.at[i].c, s.at[i].t);
            continue;
        }
        ex q = ex_term_quotient(p, s.at[i].t, sym);
        if (!q || ex_uses(p, q, sym)) return false;
        ex_sum_add(p, &c, s.at[i].c, q);
    }
    *coeff = ex_pack(p, &c);
    *rest = ex_pack(p, &r);
    return true;
}

/* Of every config of a kernel the same is asked of the same few indices. What overflows does so
 * each time. */
bool ex_linear(struct exprs *p, ex e, ex sym, ex *coeff, ex *rest) {
    if (!p->lines) p->lines = NEW_ARRAY(p->arena, struct ex_line, EX_LINES);
    struct ex_line *l = &p->lines[(e * 0x9E3779B1u ^ sym * 0x85EBCA6Bu) >> 8 & (EX_LINES - 1)];
    if (l->e != e || l->sym != sym) {
        struct ex_line found = {.e = e, .sym = sym};
        found.linear = find_linear(p, e, sym, coeff, rest);
        if (found.linear) found.coeff = *coeff, found.rest = *rest;
        if (!p->overflowed) *l = found;
        return found.linear;
    }
    if (l->linear) *coeff = l->coeff, *rest = l->rest;
    return l->linear;
}

ex ex_rebuild(struct exprs *p, enum ex_kind k, ex a, ex b) {
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
    struct ex_node x = *ex_at(p, e);
    if (!x.a) return e;
    ex a = ex_subst(p, x.a, from, to, n), b = ex_subst(p, x.b, from, to, n);
    return a == x.a && b == x.b ? e : ex_rebuild(p, (enum ex_kind)x.kind, a, b);
}

bool ex_divides(const struct exprs *p, int64_t k, ex e) {
    const struct ex_node *x = ex_at(p, e);
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
    const struct ex_node *x = ex_at(p, e);
    if (x->kind == EX_CONST) return x->value;
    if (x->kind == EX_SYM) return of(ctx, e);
    return apply((enum ex_kind)x->kind, ex_eval(p, x->a, of, ctx), ex_eval(p, x->b, of, ctx));
}

void ex_set_hint(struct exprs *p, ex sym, int64_t hint) {
    WS_ASSERT(ex_kind(p, sym) == EX_SYM);
    p->symbols.at[ex_at(p, sym)->value].hint = hint;
}

static int64_t hint_of(void *ctx, ex sym) { return ex_symbol(ctx, sym)->hint; }

int64_t ex_hint(const struct exprs *p, ex e) { return ex_eval(p, e, hint_of, (void *)p); }

ex ex_find(const struct exprs *p, const char *name) {
    for (uint32_t e = 1; e < p->nodes.n; e++)
        if (p->nodes.at[e].kind == EX_SYM && !strcmp(ex_symbol(p, e)->name, name)) return e;
    return EX_NONE;
}
