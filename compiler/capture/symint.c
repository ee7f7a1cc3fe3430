/* symint.c: ints that sizes decide, as a trace with symbolic sizes sees them.
 *
 *   n = x.shape[0] // 2     SYMINT s0 // 2
 *   if n > 4:               guard 4 < s0 // 2, as it is for the sizes at hand
 *   range(n)                guard s0 // 2 == 8: a loop needs the number
 *
 * What has no meaning here becomes a plain int under a guard. */
#include "capture/dynamo.h"

static ex of(struct vm *vm, struct py v) {
    if (v.kind == PY_SYMINT) return v.symbolic;
    return ex_const(vm->ex, v.kind == PY_BOOL ? v.b : v.i);
}

bool symint_possible(const struct vm *vm) { return vm->trace || vm->options->symbolic; }

/* A workload's graph is held to the one captured with numbers instead (symbolic.c). */
static void assume(struct vm *vm, ex condition) {
    struct trace *t = vm->trace;
    int64_t known;
    if (!t || ex_is_const(vm->ex, condition, &known)) return;
    for (uint32_t i = 0; i < t->conditions.n; i++)
        if (t->conditions.at[i] == condition) return;
    vec_push(vm->arena, &t->conditions, condition);
}

static ex negation(struct exprs *p, ex e) {
    ex a = ex_lhs(p, e), b = ex_rhs(p, e);
    switch (ex_kind(p, e)) {
    case EX_EQ: return ex_compare(p, EX_NE, a, b);
    case EX_NE: return ex_compare(p, EX_EQ, a, b);
    case EX_LT: return ex_compare(p, EX_LE, b, a);
    case EX_LE: return ex_compare(p, EX_LT, b, a);
    default: return ex_compare(p, EX_EQ, e, ex_const(p, 0));
    }
}

bool symint_holds(struct vm *vm, ex condition) {
    int64_t known;
    if (ex_is_const(vm->ex, condition, &known)) return known != 0;
    bool holds = ex_hint(vm->ex, condition) != 0;
    assume(vm, holds ? condition : negation(vm->ex, condition));
    return holds;
}

struct py symint_fix(struct vm *vm, struct py v) {
    if (v.kind == PY_SYMFLOAT) {
        struct py f = py_float(v.f);
        f.source = v.source;
        guard_value(vm, f);
        return f;
    }
    if (v.kind != PY_SYMINT) return v;
    int64_t n = ex_hint(vm->ex, v.symbolic);
    assume(vm, ex_compare(vm->ex, EX_EQ, v.symbolic, ex_const(vm->ex, n)));
    return py_int(n);
}

static struct py made(struct vm *vm, ex e) {
    int64_t n;
    return ex_is_const(vm->ex, e, &n) ? py_int(n) : py_symint(e);
}

static bool is_int(struct py v) {
    return v.kind == PY_SYMINT || v.kind == PY_INT || v.kind == PY_BOOL;
}

static bool ints_with_symbol(struct py x, struct py y) {
    return is_int(x) && is_int(y) && (x.kind == PY_SYMINT || y.kind == PY_SYMINT);
}

/* x op y where that stays symbolic; false if plain ints are needed. */
bool symint_binary(struct vm *vm, enum binary_operator op, struct py x, struct py y,
                   struct py *out) {
    if (!is_int(x) || !is_int(y)) return false;
    ex a = of(vm, x), b = of(vm, y);
    int64_t lo, hi;
    ex_range(vm->ex, b, &lo, &hi);
    switch (op) {
    case BINARY_ADD: return *out = made(vm, ex_add(vm->ex, a, b)), true;
    case BINARY_SUB: return *out = made(vm, ex_sub(vm->ex, a, b)), true;
    case BINARY_MUL:
        if (!ex_mul_fits(vm->ex, a, b)) return false;
        return *out = made(vm, ex_mul(vm->ex, a, b)), true;
    case BINARY_FLOORDIV:
        if (lo < 1) return false;
        return *out = made(vm, ex_div(vm->ex, a, b)), true;
    case BINARY_MOD:
        if (lo < 1) return false;
        return *out = made(vm, ex_mod(vm->ex, a, b)), true;
    default: return false;
    }
}

bool symint_compare(struct vm *vm, enum compare_operator op, struct py x, struct py y, bool *out) {
    if (!ints_with_symbol(x, y)) return false;
    ex a = of(vm, x), b = of(vm, y);
    switch (op) {
    case COMPARE_EQ: return *out = symint_holds(vm, ex_compare(vm->ex, EX_EQ, a, b)), true;
    case COMPARE_NE: return *out = symint_holds(vm, ex_compare(vm->ex, EX_NE, a, b)), true;
    case COMPARE_LT: return *out = symint_holds(vm, ex_compare(vm->ex, EX_LT, a, b)), true;
    case COMPARE_LE: return *out = symint_holds(vm, ex_compare(vm->ex, EX_LE, a, b)), true;
    case COMPARE_GT: return *out = symint_holds(vm, ex_compare(vm->ex, EX_LT, b, a)), true;
    case COMPARE_GE: return *out = symint_holds(vm, ex_compare(vm->ex, EX_LE, b, a)), true;
    default: return false;
    }
}
