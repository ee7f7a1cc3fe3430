/* builtins_math.c: module math, on Python's numbers. A tensor here is a graph break: torch has the
 * same functions. */
#include <math.h>

#include "capture/vm.h"

static double number(struct vm *vm, struct py x) {
    if (py_is_number(x)) return py_number(x);
    if (tensor_is_eager(vm, x)) return py_number(eager_item(vm, x));
    if (x.kind == PY_TENSOR)
        vm_break(vm, "call of math on a tensor",
                 "torch has a function of the same name for tensors");
    vm_raise(vm, EXC_TypeError, "must be real number, not %s", type_name(vm, x));
}

static struct py in_domain(struct vm *vm, bool ok, double f) {
    if (!ok) vm_raise(vm, EXC_ValueError, "math domain error");
    return py_float(f);
}

#define NATIVE(name)                                                                               \
    static struct py math_##name(struct vm *vm, const struct py *v, const struct args *raw)

/* FUNCTION(name, domain, value) of one real number x. */
#define FUNCTIONS(FUNCTION)                                                                        \
    FUNCTION(sqrt, x >= 0, sqrt(x))                                                                \
    FUNCTION(exp, true, exp(x))                                                                    \
    FUNCTION(log2, x > 0, log2(x))                                                                 \
    FUNCTION(log10, x > 0, log10(x))                                                               \
    FUNCTION(log1p, x > -1, log1p(x))                                                              \
    FUNCTION(expm1, true, expm1(x))                                                                \
    FUNCTION(sin, true, sin(x))                                                                    \
    FUNCTION(cos, true, cos(x))                                                                    \
    FUNCTION(tan, true, tan(x))                                                                    \
    FUNCTION(atan, true, atan(x))                                                                  \
    FUNCTION(tanh, true, tanh(x))                                                                  \
    FUNCTION(erf, true, erf(x))                                                                    \
    FUNCTION(fabs, true, fabs(x))

#define FUNCTION(name, domain, value)                                                              \
    NATIVE(name) {                                                                                 \
        double x = number(vm, v[0]);                                                               \
        return in_domain(vm, x != x || (domain), value);                                           \
    }
FUNCTIONS(FUNCTION)
#undef FUNCTION

NATIVE(log) {
    double x = number(vm, v[0]);
    if (v[1].kind == PY_UNSET) return in_domain(vm, x > 0, log(x));
    double base = number(vm, v[1]);
    return in_domain(vm, x > 0 && base > 0 && base != 1, log(x) / log(base));
}

NATIVE(pow) { return py_float(pow(number(vm, v[0]), number(vm, v[1]))); }

static struct py whole(struct vm *vm, double f) {
    if (!(fabs(f) < 0x1p62)) vm_raise(vm, EXC_OverflowError, "cannot convert float to integer");
    return py_int((int64_t)f);
}
NATIVE(floor) { return v[0].kind == PY_INT ? v[0] : whole(vm, floor(number(vm, v[0]))); }
NATIVE(ceil) { return v[0].kind == PY_INT ? v[0] : whole(vm, ceil(number(vm, v[0]))); }
NATIVE(trunc) { return v[0].kind == PY_INT ? v[0] : whole(vm, trunc(number(vm, v[0]))); }

NATIVE(isnan) { return py_bool(isnan(number(vm, v[0])) != 0); }
NATIVE(isinf) { return py_bool(isinf(number(vm, v[0])) != 0); }

NATIVE(prod) {
    struct py total = py_int(1), it = vm_iter(vm, v[0]), item;
    while (vm_next(vm, it, &item)) total = vm_binary(vm, BINARY_MUL, total, item, false);
    return total;
}

NATIVE(gcd) {
    int64_t a = vm_index(vm, v[0], "the argument of gcd()"),
            b = vm_index(vm, v[1], "the argument of gcd()");
    while (b) {
        int64_t t = b == -1 ? 0 : a % b;
        a = b, b = t;
    }
    return a < 0 ? vm_unary(vm, UNARY_NEG, py_int(a)) : py_int(a);
}

static const struct native natives[] = {
#define FUNCTION(name, domain, value) {#name "(x)", math_##name},
    FUNCTIONS(FUNCTION)
#undef FUNCTION
        {"log(x, base?)", math_log},
    {"pow(x, y)", math_pow},
    {"floor(x)", math_floor},
    {"ceil(x)", math_ceil},
    {"trunc(x)", math_trunc},
    {"isnan(x)", math_isnan},
    {"isinf(x)", math_isinf},
    {"prod(iterable)", math_prod},
    {"gcd(a, b)", math_gcd},
};

void math_open(struct vm *vm, struct module *m) {
    natives_put(vm, m->dict, "math.", PY_UNSET, natives, sizeof natives / sizeof *natives);
    dict_puts(vm->arena, m->dict, "pi", py_float(M_PI));
    dict_puts(vm->arena, m->dict, "e", py_float(M_E));
    dict_puts(vm->arena, m->dict, "tau", py_float(2 * M_PI));
    dict_puts(vm->arena, m->dict, "inf", py_float(INFINITY));
    dict_puts(vm->arena, m->dict, "nan", py_float(NAN));
}
