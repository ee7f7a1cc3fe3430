/* ref_maths.h: what the operators' texts of the reference call, in C that CUDA's compilers read,
 * too: the interpreter includes it, and it is part of the reference's kernels (emit/plain.c). */
#ifndef REF_MATHS
#include <math.h>
#define REF_MATHS static inline
#endif

/* ---- integers --------------------------------------------------------------------------------
 *
 * As PyTorch has them: 64 bits, of which a result keeps those of its type. Arithmetic wraps.
 * Division by zero yields 0, and the least integer divided by -1 is itself. A shift by a count out
 * of range leaves no bit of what goes to the left, and the sign of what goes to the right. */

REF_MATHS long long int_add(long long a, long long b) {
    return (long long)((unsigned long long)a + (unsigned long long)b);
}
REF_MATHS long long int_sub(long long a, long long b) {
    return (long long)((unsigned long long)a - (unsigned long long)b);
}
REF_MATHS long long int_mul(long long a, long long b) {
    return (long long)((unsigned long long)a * (unsigned long long)b);
}
REF_MATHS long long int_quotient(long long a, long long b) {
    return b == 0 ? 0 : b == -1 ? int_sub(0, a) : a / b;
}
REF_MATHS long long int_rest(long long a, long long b) { return b == 0 || b == -1 ? 0 : a % b; }
/* The remainder's sign is not the divisor's. */
REF_MATHS int int_is_below(long long a, long long b) {
    return int_rest(a, b) != 0 && (a < 0) != (b < 0);
}
/* Of a negative exponent what is whole: 1 and -1 alone have a reciprocal. */
REF_MATHS long long int_power(long long a, long long b) {
    long long r = 1;
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (; b; b >>= 1, a = int_mul(a, a))
        if (b & 1) r = int_mul(r, a);
    return r;
}
REF_MATHS long long int_left(long long a, long long b) {
    return b < 0 || b > 63 ? 0 : (long long)((unsigned long long)a << b);
}
REF_MATHS long long int_right(long long a, long long b) { return a >> (b < 0 || b > 63 ? 63 : b); }
REF_MATHS long long int_larger(long long a, long long b) { return a > b ? a : b; }
REF_MATHS long long int_smaller(long long a, long long b) { return a < b ? a : b; }

/* ---- doubles --------------------------------------------------------------------------------- */

/* What no formula of the column says without losing digits. */

/* The normal distribution function: erfc(t) / 2 of t = -x / sqrt(2), which is rounded; far below 0
 * that costs t^2 units, so that what the rounding left is added by erfc's derivative. */
REF_MATHS double ref_ndtr(double x) {
    const double root = 0x1.6a09e667f3bcdp-1, rest = -0x1.bdd3413b26456p-55; /* of sqrt(1/2) */
    double t = -x * root, left = fma(-x, root, -t) - x * rest;
    double slope = isfinite(x) ? 2 / sqrt(M_PI) * exp(-t * t) : 0;
    return (erfc(t) - (slope > 0 ? left * slope : 0)) / 2;
}

/* log(1 + exp(x)) */
REF_MATHS double ref_softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }

/* x - tanh(x) = (x cosh(x) - sinh(x)) / cosh(x), whose numerator is a sum of like signs. */
REF_MATHS double ref_tanhshrink(double x) {
    double sum = 0, term = x;
    if (!(fabs(x) < 1)) return x - tanh(x);
    for (int k = 1; k <= 10; k++) {
        term *= x * x / ((2 * k) * (2 * k + 1));
        sum += 2 * k * term;
    }
    return sum / cosh(x);
}

/* As PyTorch's, signs of zeros included. */
REF_MATHS double ref_floor_divide(double a, double b) {
    double rest = fmod(a, b), whole = rint((a - rest) / b);
    if (b == 0) return a / b;
    if (rest != 0 && (rest < 0) != (b < 0)) whole -= 1;
    return whole == 0 ? copysign(0.0, a / b) : whole;
}
