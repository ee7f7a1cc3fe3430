/* builtins_math.c: module math, on Python's numbers. A tensor here is a graph break: torch has the
 * same functions. */
#include <math.h>

#include "capture/vm.h"

static struct py in_domain(struct vm *vm, bool ok, double f) {
    if (!ok) vm_raise(vm, EXC_ValueError, "math domain error");
    return py_float(f);
}

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
    NATIVE(math_##name) {                                                                          \
        double x = v[0].f;                                                                         \
        return in_domain(vm, x != x || (domain), value);                                           \
    }
FUNCTIONS(FUNCTION)
#undef FUNCTION

NATIVE(math_log) {
    double x = v[0].f;
    if (!GIVEN(1)) return in_domain(vm, x > 0, log(x));
    double base = v[1].f;
    return in_domain(vm, x > 0 && base > 0 && base != 1, log(x) / log(base));
}

/* FUNCTION2(name, domain, value) of two real numbers x and y. */
#define FUNCTIONS2(FUNCTION)                                                                       \
    FUNCTION(atan2, true, atan2(x, y))                                                             \
    FUNCTION(hypot, true, hypot(x, y))                                                             \
    FUNCTION(fmod, y != 0, fmod(x, y))                                                             \
    FUNCTION(copysign, true, copysign(x, y))

#define FUNCTION(name, domain, value)                                                              \
    NATIVE(math_##name) {                                                                          \
        double x = v[0].f, y = v[1].f;                                                             \
        return in_domain(vm, x != x || (domain), value);                                           \
    }
FUNCTIONS2(FUNCTION)
#undef FUNCTION

NATIVE(math_pow) { return py_float(pow(v[0].f, v[1].f)); }

static struct py whole(struct vm *vm, double f) {
    if (!(fabs(f) < 0x1p62)) vm_raise(vm, EXC_OverflowError, "cannot convert float to integer");
    return py_int((int64_t)f);
}
NATIVE(math_floor) { return v[0].kind == PY_INT ? v[0] : whole(vm, floor(v[0].f)); }
NATIVE(math_ceil) { return v[0].kind == PY_INT ? v[0] : whole(vm, ceil(v[0].f)); }
NATIVE(math_trunc) { return v[0].kind == PY_INT ? v[0] : whole(vm, trunc(v[0].f)); }

NATIVE(math_isnan) { return py_bool(isnan(v[0].f) != 0); }
NATIVE(math_isinf) { return py_bool(isinf(v[0].f) != 0); }

NATIVE(math_isfinite) { return py_bool(isfinite(v[0].f) != 0); }

NATIVE(math_isclose) {
    double a = v[0].f, b = v[1].f;
    double rel = !GIVEN(2) ? 1e-9 : v[2].f;
    double abs = !GIVEN(3) ? 0 : v[3].f;
    return py_bool(a == b || fabs(a - b) <= fmax(rel * fmax(fabs(a), fabs(b)), abs));
}

NATIVE(math_isqrt) {
    int64_t n = v[0].i;
    if (n < 0) vm_raise(vm, EXC_ValueError, "isqrt() argument must be nonnegative");
    int64_t root = (int64_t)sqrt((double)n);
    while (root > 0 && root > n / root) root--;
    while (root + 1 <= n / (root + 1)) root++;
    return py_int(root);
}

NATIVE(math_factorial) {
    int64_t n = v[0].i;
    if (n < 0) vm_raise(vm, EXC_ValueError, "factorial() not defined for negative values");
    struct py total = py_int(1);
    for (int64_t i = 2; i <= n; i++) total = vm_binary(vm, BINARY_MUL, total, py_int(i), false);
    return total;
}

NATIVE(math_prod) {
    struct py total = py_int(1), it = vm_iter(vm, v[0]), item;
    while (vm_next(vm, it, &item)) total = vm_binary(vm, BINARY_MUL, total, item, false);
    return total;
}

NATIVE(math_gcd) {
    int64_t a = v[0].i, b = v[1].i;
    while (b) {
        int64_t t = b == -1 ? 0 : a % b;
        a = b, b = t;
    }
    return a < 0 ? vm_unary(vm, UNARY_NEG, py_int(a)) : py_int(a);
}

void math_open(struct vm *vm, struct module *m) {
    natives_put(vm, m->dict, PLACE_MATH);
    dict_puts(vm->arena, m->dict, "pi", py_float(M_PI));
    dict_puts(vm->arena, m->dict, "e", py_float(M_E));
    dict_puts(vm->arena, m->dict, "tau", py_float(2 * M_PI));
    dict_puts(vm->arena, m->dict, "inf", py_float(INFINITY));
    dict_puts(vm->arena, m->dict, "nan", py_float(NAN));
}
