/* builtins_math.c: module math, on Python's numbers. A tensor here is a graph break: torch has the
 * same functions. */
#include <math.h>

#include "capture/vm.h"

static double number(struct vm *vm, struct py x) {
    x = tensor_value(vm, py_plain(vm, x));
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
    FUNCTION(erfc, true, erfc(x))                                                                  \
    FUNCTION(sinh, true, sinh(x))                                                                  \
    FUNCTION(cosh, true, cosh(x))                                                                  \
    FUNCTION(asin, x >= -1 && x <= 1, asin(x))                                                     \
    FUNCTION(acos, x >= -1 && x <= 1, acos(x))                                                     \
    FUNCTION(asinh, true, asinh(x))                                                                \
    FUNCTION(acosh, x >= 1, acosh(x))                                                              \
    FUNCTION(atanh, x > -1 && x < 1, atanh(x))                                                     \
    FUNCTION(cbrt, true, cbrt(x))                                                                  \
    FUNCTION(exp2, true, exp2(x))                                                                  \
    FUNCTION(gamma, x > 0 || x != floor(x), tgamma(x))                                             \
    FUNCTION(lgamma, x > 0 || x != floor(x), lgamma(x))                                            \
    FUNCTION(degrees, true, x *(180 / M_PI))                                                       \
    FUNCTION(radians, true, x *(M_PI / 180))                                                       \
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

/* FUNCTION2(name, domain, value) of two real numbers x and y. */
#define FUNCTIONS2(FUNCTION)                                                                       \
    FUNCTION(atan2, true, atan2(x, y))                                                             \
    FUNCTION(hypot, true, hypot(x, y))                                                             \
    FUNCTION(fmod, y != 0, fmod(x, y))                                                             \
    FUNCTION(copysign, true, copysign(x, y))

#define FUNCTION(name, domain, value)                                                              \
    NATIVE(name) {                                                                                 \
        double x = number(vm, v[0]), y = number(vm, v[1]);                                         \
        return in_domain(vm, x != x || (domain), value);                                           \
    }
FUNCTIONS2(FUNCTION)
#undef FUNCTION

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

NATIVE(isfinite) { return py_bool(isfinite(number(vm, v[0])) != 0); }

NATIVE(isclose) {
    double a = number(vm, v[0]), b = number(vm, v[1]);
    double rel = v[2].kind == PY_UNSET ? 1e-9 : number(vm, v[2]);
    double abs = v[3].kind == PY_UNSET ? 0 : number(vm, v[3]);
    return py_bool(a == b || fabs(a - b) <= fmax(rel * fmax(fabs(a), fabs(b)), abs));
}

NATIVE(isqrt) {
    int64_t n = vm_index(vm, v[0], "the argument of isqrt()");
    if (n < 0) vm_raise(vm, EXC_ValueError, "isqrt() argument must be nonnegative");
    int64_t root = (int64_t)sqrt((double)n);
    while (root > 0 && root > n / root) root--;
    while (root + 1 <= n / (root + 1)) root++;
    return py_int(root);
}

NATIVE(factorial) {
    int64_t n = vm_index(vm, v[0], "the argument of factorial()");
    if (n < 0) vm_raise(vm, EXC_ValueError, "factorial() not defined for negative values");
    struct py total = py_int(1);
    for (int64_t i = 2; i <= n; i++) total = vm_binary(vm, BINARY_MUL, total, py_int(i), false);
    return total;
}

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
#define FUNCTION(name, domain, value) {#name "(x, y)", math_##name},
        FUNCTIONS2(FUNCTION)
#undef FUNCTION
            {"log(x, base?)", math_log},
    {"pow(x, y)", math_pow},
    {"floor(x)", math_floor},
    {"ceil(x)", math_ceil},
    {"trunc(x)", math_trunc},
    {"isnan(x)", math_isnan},
    {"isinf(x)", math_isinf},
    {"isfinite(x)", math_isfinite},
    {"isclose(a, b, rel_tol?, abs_tol?)", math_isclose},
    {"isqrt(n)", math_isqrt},
    {"factorial(x)", math_factorial},
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
