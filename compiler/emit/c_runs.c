/* c_runs.c: a loop along an axis whose indices divide it goes by runs, in which quotients stay:
 *
 *     for j in columns:                         for runs of n that have one n / 56:
 *         p0[n / 56 * 58 + n % 56 + ...]   ->       for j in run:
 *                                                       p0[n_q * 58 + n_x + ...]
 *
 * What is left along a run is linear: loads and stores of neighbours, as compilers make vectors of,
 * and no division but those at the loop's beginning. The columns of a convolution are the positions
 * of images, row after row: so its runs are rows. */
#include "emit/c_rows.h"

/* What divides all numbers by which e divides the axis, and d. */
static int64_t divisor_in(const struct exprs *p, ex e, ex axis, int64_t d) {
    enum ex_kind kind = ex_kind(p, e);
    int64_t by;
    if (kind == EX_CONST || kind == EX_SYM || !ex_uses(p, e, axis)) return d;
    bool divides = (kind == EX_DIV || kind == EX_MOD) && ex_lhs(p, e) == axis;
    if (divides) return ex_is_const(p, ex_rhs(p, e), &by) ? common_divisor(by, d) : 1;
    return divisor_in(p, ex_rhs(p, e), axis, divisor_in(p, ex_lhs(p, e), axis, d));
}

struct c_run c_run_of(struct emitter *w, ex index, enum axis axis) {
    struct exprs *p = w->k->ex;
    ex step, rest, symbol = w->k->axis[axis];
    struct c_run out = {0};
    if (!symbol) return out;
    int64_t length = divisor_in(p, index, symbol, 0);
    if (length == 1) return out;
    if (length) {
        ex n = ex_const(p, length), q = ex_index(p, "run_q", ex_ceildiv(p, w->k->bound[axis], n)),
           x = ex_index(p, "run_x", n), is = ex_add(p, ex_mul(p, q, n), x);
        index = ex_subst(p, index, &symbol, &is, 1);
        symbol = x;
    }
    if (!ex_linear(p, index, symbol, &step, &rest) || !ex_is_const(p, step, &out.step))
        return (struct c_run){0};
    out.length = length ? length : 1 << 30;
    return out;
}

struct c_runs c_runs_of(struct emitter *w, enum axis axis, const char *name, const bool *needed,
                        bool stores) {
    const struct kernel *k = w->k;
    struct c_runs out = {.axis = axis, .name = name};
    if (!k->axis[axis]) return out;
    for (value_id v = 0; v < k->values.n; v++)
        if (needed[v] && k->values.at[v].index)
            out.length = divisor_in(k->ex, k->values.at[v].index, k->axis[axis], out.length);
    for (uint32_t s = 0; s < k->stores.n && stores; s++)
        out.length = divisor_in(k->ex, k->stores.at[s].index, k->axis[axis], out.length);
    if (out.length < 2) return (struct c_runs){0};
    ex length = ex_const(k->ex, out.length), all = ex_ceildiv(k->ex, k->bound[axis], length);
    ex q = ex_index(k->ex, arena_printf(w->arena, "%s_q", name), all);
    ex x = ex_index(k->ex, arena_printf(w->arena, "%s_x", name), length);
    out.is = ex_add(k->ex, ex_mul(k->ex, q, length), x);
    out.x = x;
    return out;
}

/* The text of where an index is at element first + l, of which the beginning is declared; NULL if
 * it does not run along. */
static const char *put_place(struct emitter *w, const struct c_runs *r, ex index, const char *name,
                             const char *first) {
    const struct kernel *k = w->k;
    ex step, rest;
    int64_t by;
    index = ex_subst(k->ex, index, &k->axis[r->axis], &r->is, 1);
    if (!ex_linear(k->ex, index, r->x, &step, &rest) || !ex_is_const(k->ex, step, &by) || !by)
        return NULL;
    line(w, "const long long %s = %s + (long long)(%s) * %lld;", name, ex_text(w, rest), first,
         (long long)by);
    return by == 1 ? arena_printf(w->arena, "%s + l", name)
                   : arena_printf(w->arena, "%s + l * %lldLL", name, (long long)by);
}

void put_c_run_loads(struct emitter *w, const struct c_runs *r, const bool *needed,
                     const char *first) {
    w->load_at = NEW_ARRAY(w->arena, const char *, w->k->values.n);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (needed[v] && w->k->values.at[v].kind == INST_LOAD)
            w->load_at[v] =
                put_place(w, r, w->k->values.at[v].index, arena_printf(w->arena, "at%u", v), first);
}

void put_c_run_stores(struct emitter *w, const struct c_runs *r, const char *first) {
    w->store_at = NEW_ARRAY(w->arena, const char *, w->k->stores.n);
    for (uint32_t s = 0; s < w->k->stores.n; s++)
        w->store_at[s] =
            put_place(w, r, w->k->stores.at[s].index, arena_printf(w->arena, "to%u", s), first);
}

void open_c_runs(struct emitter *w, const struct c_runs *r, const char *first, const char *count) {
    long long length = (long long)r->length;
    line(w, "k_idx %s_q = (%s) / %lld, begin_%s = (%s) %% %lld;", r->name, first, length, r->name,
         first, length);
    open_brace(w, "for (int i_%s = 0, run = 0; i_%s < %s; i_%s += run, %s_q++, begin_%s = 0)",
               r->name, r->name, count, r->name, r->name, r->name);
    line(w, "run = (int)(%lld - begin_%s);", length, r->name);
    line(w, "if (run > %s - i_%s) run = %s - i_%s;", count, r->name, count, r->name);
    w->n_is = r->is;
}

void close_c_runs(struct emitter *w) {
    close_brace(w);
    w->n_is = EX_NONE;
}
