/* positions.c: sums of positions are positions, as are their products with numbers, quotients and
 * remainders; and comparing two of them is a condition on where one is, as guards are. Of a causal
 * mask's arithmetic one comparison is left:
 *
 *     v0 = index r, v1 = index x % 1024, v2 = sub(v0, v1), v3 = ge(v2, 1)
 *     v4 = where(v3, 1, 0), v5 = to(v4) : bool
 * ->
 *     v3 = index 1 <= r - x % 1024
 *
 * and |v2| <= 7 is that v2 <= 7 and -v2 <= 7. It needs no 64 bits, may be known, and is a mask of
 * whole vectors on a CPU. And what a position that is known to be inside of a tensor reads there
 * lies at a place like any other's: rolling, and repeating elements, look nothing up. */
#include <math.h>

#include "graph/traits.h"
#include "kernel/builder.h"

/* v as an expression: an i64 position, or a whole number. */
static bool position(const struct builder *w, value_id v, ex *out) {
    const struct value_node *x = &w->k->values.at[v];
    if (x->dtype != DT_I64 || x->n_args) return false;
    if (x->kind == INST_INDEX) return *out = x->index, true;
    bool holds = x->kind == INST_CONST && fabs(x->number) <= INT32_MAX;
    if (!holds || x->number != (int32_t)x->number) return false;
    *out = ex_const(w->k->ex, (int32_t)x->number);
    return true;
}

/* Is v a number, and is it 0? */
static bool is_number(const struct builder *w, value_id v, bool *zero) {
    const struct value_node *x = &w->k->values.at[v];
    int64_t n;
    if (x->kind == INST_CAST && w->k->values.at[x->args[0]].dtype == DT_BOOL)
        x = &w->k->values.at[x->args[0]];
    if (x->kind == INST_CONST) return *zero = x->number == 0, true;
    if (x->kind != INST_INDEX || !ex_is_const(w->k->ex, x->index, &n)) return false;
    return *zero = n == 0, true;
}

/* Is it, in 32 bits, and for division of what is not negative? */
static bool fits(const struct exprs *p, ex e, int64_t least) {
    int64_t lo, hi;
    ex_range(p, e, &lo, &hi);
    return lo >= least && hi <= INT32_MAX;
}

bool op_of_sums(struct exprs *p, enum op op, ex a, ex b, ex *out) {
    switch (op_index(op)) {
    case INDEX_MUL:
        if (!ex_is_const(p, a, NULL) && !ex_is_const(p, b, NULL)) return false; /* fallthrough */
    case INDEX_ADD:
    case INDEX_SUB:
    case INDEX_EQ:
    case INDEX_NE:
    case INDEX_LT:
    case INDEX_LE:
    case INDEX_GT:
    case INDEX_GE: return op_of_indices(p, op, a, b, out);
    case INDEX_DIV:
    case INDEX_MOD:
    case INDEX_MIN: /* of positions, they are not looked for */
    case INDEX_MAX:
    case INDEX_NONE:
    case INDEX_COUNT: break;
    }
    return false;
}

static bool fold(struct exprs *p, enum op op, ex a, ex b, ex *out) {
    enum op_index i = op_index(op);
    if (i == INDEX_DIV || i == INDEX_MOD) return fits(p, a, 0) && op_of_indices(p, op, a, b, out);
    return op_of_sums(p, op, a, b, out) && (i != INDEX_MUL || fits(p, *out, INT32_MIN));
}

/* |x| < y, or <=, of positions x, y: x is less, and -x is. */
static bool fold_distance(const struct builder *w, const struct value_node *v, ex *out) {
    struct exprs *p = w->k->ex;
    enum op_index op = v->kind == INST_OP && v->n_args == 2 ? op_index(v->op) : INDEX_NONE;
    bool greater = op == INDEX_GT || op == INDEX_GE, strict = op == INDEX_LT || op == INDEX_GT;
    ex x, y;
    if (!strict && op != INDEX_LE && op != INDEX_GE) return false;
    const struct value_node *distance = &w->k->values.at[v->args[greater]];
    if (distance->kind != INST_OP || distance->op != OP_ABS) return false;
    if (!position(w, distance->args[0], &x) || !position(w, v->args[!greater], &y)) return false;
    enum ex_kind kind = strict ? EX_LT : EX_LE;
    ex back = ex_sub(p, ex_const(p, 0), x);
    *out = ex_and(p, ex_compare(p, kind, x, y), ex_compare(p, kind, back, y));
    return true;
}

value_id fold_positions(struct builder *w, const struct value_node *v) {
    ex a, b;
    struct value_node at = {.kind = INST_INDEX, .dtype = v->dtype};
    bool zero[2];
    if (v->kind == INST_OP && v->n_args == 2 && position(w, v->args[0], &a) &&
        position(w, v->args[1], &b) && fold(w->k->ex, v->op, a, b, &at.index)) {
        w->folds = true;
        return number(w, at);
    }
    if (fold_distance(w, v, &at.index)) {
        w->folds = true;
        return number(w, at);
    }
    if (v->kind != INST_CAST || v->dtype != DT_BOOL) return NO_VALUE;
    const struct value_node *x = &w->k->values.at[v->args[0]];
    if (x->kind != INST_OP || x->op != OP_WHERE || !is_number(w, x->args[1], &zero[0]) ||
        !is_number(w, x->args[2], &zero[1]) || zero[0] || !zero[1])
        return NO_VALUE;
    w->folds = true;
    return x->args[0];
}

bool position_inside(const struct builder *w, value_id v, ex size, ex *at) {
    int64_t least, most;
    ex_range(w->k->ex, size, &least, &most);
    if (!position(w, v, at) || !fits(w->k->ex, *at, 0)) return false;
    return ex_range(w->k->ex, *at, &(int64_t){0}, &most), most < least;
}
