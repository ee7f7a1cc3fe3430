/* maths.cuh: behind memory.cuh: functions of numbers, and random ones. */
/* ---- maths ----------------------------------------------------------------------------------- */

#ifdef WS_EMULATOR
K_DEVICE float k_max(float a, float b) { return emu_max(a, b); } /* NaN if either is */
K_DEVICE float k_min(float a, float b) { return emu_min(a, b); }
K_DEVICE float k_exp2_approx(float a) { return emu_exp2(a); }
K_DEVICE float k_log2_approx(float a) { return log2f(a); }
K_DEVICE float k_rcp_approx(float a) { return 1.0f / a; }
K_DEVICE float k_rsqrt(float a) { return 1.0f / sqrtf(a); }
K_DEVICE float k_div(float a, float b) { return a / b; }
K_DEVICE float k_tanh_approx(float a) { return tanhf(a); }
#else
K_DEVICE float k_max(float a, float b) {
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
K_DEVICE float k_min(float a, float b) {
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
K_DEVICE float k_exp2_approx(float a) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
K_DEVICE float k_log2_approx(float a) { /* absolute error 2^-22 near 1 */
    float r;
    asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
K_DEVICE float k_rcp_approx(float a) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
K_DEVICE float k_rsqrt(float a) { /* 2 ulp */
    float r;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
K_DEVICE float k_div(float a, float b) { /* 2 ulp over the full range */
    float r;
    asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
K_DEVICE float k_tanh_approx(float a) { /* relative error 2^-11 */
    float r;
    asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
#endif
/* Of both halves of a word. */
#ifdef WS_EMULATOR
#define K_EXTREMUM2(name, T, ptx, of)                                                                      \
    K_DEVICE unsigned name(T, unsigned a, unsigned b) {                                                    \
        k_pack<T, 2> p = {{a}}, q = {{b}};                                                                 \
        const float v[2] = {of(k_get(p, 0), k_get(q, 0)), of(k_get(p, 1), k_get(q, 1))};                   \
        k_put(p, v);                                                                                       \
        return p.w[0];                                                                                     \
    }
#else
#define K_EXTREMUM2(name, T, ptx, of)                                                                      \
    K_DEVICE unsigned name(T, unsigned a, unsigned b) {                                                    \
        unsigned r;                                                                                        \
        asm(ptx " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));                                                \
        return r;                                                                                          \
    }
#endif
K_EXTREMUM2(k_max2, k_bf16, "max.NaN.bf16x2", k_max)
K_EXTREMUM2(k_max2, k_f16, "max.NaN.f16x2", k_max)
K_EXTREMUM2(k_min2, k_bf16, "min.NaN.bf16x2", k_min)
K_EXTREMUM2(k_min2, k_f16, "min.NaN.f16x2", k_min)
K_DEVICE double k_max(double a, double b) { return a != a || a > b ? a : b; }
K_DEVICE double k_min(double a, double b) { return a != a || a < b ? a : b; }
/* Integers wrap, by way of unsigned ones: C++ leaves open what an overflow is. Other types add up as they do. */
template <typename T> K_DEVICE T k_wrap_add(T a, T b) { return a + b; }
template <typename T> K_DEVICE T k_wrap_mul(T a, T b) { return a * b; }
K_DEVICE int k_wrap_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
K_DEVICE int k_wrap_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
K_DEVICE int k_wrap_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
K_DEVICE int k_wrap_neg(int a) { return (int)(0 - (unsigned)a); }
K_DEVICE long long k_wrap_add(long long a, long long b) { return (long long)((unsigned long long)a + (unsigned long long)b); }
K_DEVICE long long k_wrap_sub(long long a, long long b) { return (long long)((unsigned long long)a - (unsigned long long)b); }
K_DEVICE long long k_wrap_mul(long long a, long long b) { return (long long)((unsigned long long)a * (unsigned long long)b); }
K_DEVICE long long k_wrap_neg(long long a) { return (long long)(0 - (unsigned long long)a); }
/* A float cut off to an integer. What does not fit, and nan, is the least one, as x86 has it. */
K_DEVICE int k_int(float a) { return a >= -2147483648.0f && a < 2147483648.0f ? (int)a : -2147483647 - 1; }
K_DEVICE int k_int(double a) { return a > -2147483649.0 && a < 2147483648.0 ? (int)a : -2147483647 - 1; }
K_DEVICE long long k_long(float a) {
    return a >= -9223372036854775808.0f && a < 9223372036854775808.0f ? (long long)a : -9223372036854775807LL - 1;
}
K_DEVICE long long k_long(double a) {
    return a >= -9223372036854775808.0 && a < 9223372036854775808.0 ? (long long)a : -9223372036854775807LL - 1;
}
K_DEVICE int k_max(int a, int b) { return a > b ? a : b; }
K_DEVICE int k_min(int a, int b) { return a < b ? a : b; }
K_DEVICE long long k_max(long long a, long long b) { return a > b ? a : b; }
K_DEVICE long long k_min(long long a, long long b) { return a < b ? a : b; }
K_DEVICE long long k_min_i(long long a, long long b) { return a < b ? a : b; }
K_DEVICE long long k_max_i(long long a, long long b) { return a > b ? a : b; }

/* An integer as an index into n > 0 elements: negative ones count from the end, others go to the nearest. */
K_DEVICE long long k_subscript(long long i, long long n) {
    i = i < 0 ? i + n : i;
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* The smaller one; for indices. */
K_DEVICE int k_clamp(int a, int limit) { return a < limit ? a : limit; }
K_DEVICE long long k_clamp(long long a, long long limit) { return a < limit ? a : limit; }
/* The block whose turn it is, of n places of `inner` blocks each: those from both ends by turns, as 0 9 1 8 2 ..., or, if n is
 * even, of both HALVES, 0 5 1 6 2 ...; and of two of these the inner ones, one after the other. */
template <bool HALVES> K_DEVICE unsigned k_mirror(unsigned block, unsigned n, unsigned inner) {
    const unsigned pair = block / (2 * inner), within = block % (2 * inner);
    if (pair == n / 2) return pair * inner + within; /* the one in the middle */
    return (within % 2 ? (HALVES ? n / 2 + pair : n - 1 - pair) : pair) * inner + within / 2;
}
/* The same in each run of `size` places, of which a block has `each`. */
template <bool HALVES>
K_DEVICE unsigned k_mirror_runs(unsigned block, unsigned size, unsigned each, unsigned inner, unsigned blocks) {
    const unsigned run = block / inner * each / size, all = blocks / inner, end = ((run + 1) * size + each - 1) / each;
    const unsigned first = (run * size + each - 1) / each, n = (end < all ? end : all) - first;
    return first * inner + k_mirror<HALVES>(block - first * inner, n, inner);
}
/* Elements from `start` to the next multiple of N, a power of two; at most n. */
template <int N, typename I> K_DEVICE I k_head(I start, I n) { return k_clamp((I)(-(unsigned)start & (N - 1)), n); }
K_DEVICE float k_inf() { return k_as_float(0x7f800000u); }
K_DEVICE float k_nan() { return k_as_float(0x7fc00000u); }

/* exp(a) = 2^(a*log2 e). Relative error at most 2 ulp of ex2 plus |a| * 2^-24 from rounding the product, as in Triton. */
K_DEVICE float k_exp(float a) { return k_exp2_approx(a * 1.44269504f); }
K_DEVICE float k_exp2(float a) { return k_exp2_approx(a); }
/* exp(a - b) of bf16 a and their maximum b. b * log2 e is rounded: a factor that is the same for all a, at most 3.5e-4 off
 * 1. Beyond 8192, where neighbours are 64 apart, e^(a - b) is 1 or nothing, and 2^(a - b) as well. */
K_DEVICE float k_exp_below(float a, float b) {
    const float scale = fabsf(b) < 8192.0f ? 1.44269504f : 1.0f;
    return k_exp2_approx(fmaf(a, scale, b * -scale));
}
K_DEVICE float k_sqrt(float a) { return sqrtf(a); }
/* The same of what is known to be no less than 2^-100, as sqrtf has it behind a look at what it is given. */
K_DEVICE float k_sqrt_normal(float a) {
#ifdef WS_EMULATOR
    return sqrtf(a < 0x1p-100f ? -1.0f : a); /* of others it may be anything */
#else
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    const float s = a * r, v = fmaf(fmaf(-s, s, a), 0.5f * r, s);
    return a == k_inf() ? a : v;
#endif
}
/* An angle as quarters of a turn, of which only the last two bits count, and what is left of it: at most about pi / 4. */
struct k_turned {
    float rest;
    int quarters;
};
K_TABLE unsigned k_two_over_pi[] = {0, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u};
/* Beyond some thousand turns (Payne and Hanek): the mantissa times those 96 bits of 2 / pi that it makes neither whole
 * turns of, nor less than a float shows. p has two bits of quarters, and 62 below. */
K_FAR k_turned k_turn_far(float a) {
    const unsigned bits = k_as_uint(a), m = (bits | 0x800000u) << 8;
    const int exponent = (int)(bits >> 23 & 255u);
    if (exponent == 255) return k_turned{a - a, 0};
    const int word = (exponent - 128) >> 5, shift = (exponent - 128) & 31;
    unsigned w[3];
    for (int i = 0; i < 3; i++) {
        const unsigned long long two = (unsigned long long)k_two_over_pi[word + i] << 32 | k_two_over_pi[word + i + 1];
        w[i] = (unsigned)(two << shift >> 32);
    }
    unsigned long long p = ((unsigned long long)m * w[0] << 32) + (unsigned long long)m * w[1];
    p += (unsigned long long)m * w[2] >> 32;
    p += 1ull << 61; /* to the nearest quarter */
    const int quarters = (int)(p >> 62);
    const long long rest = (long long)(p & 0x3fffffffffffffffull) - (1ll << 61);
    const float r = (float)((double)rest * 3.4061215800304e-19); /* pi / 2^63 */
    return bits >> 31 ? k_turned{-r, -quarters} : k_turned{r, quarters};
}
/* Cody and Waite: pi / 2 in three parts. Beside 1.5 * 2^23 a float's last bits are whole numbers: two additions round to the
 * nearest and show its last two bits, where rintf and a conversion to int run at a quarter of their rate. Of -0 -0 is
 * left: q is 0 then, for which something is added to nothing. */
K_DEVICE k_turned k_turn_near(float a) {
    const float shifted = fmaf(a, 0.636619772f, 0.0f) + 12582912.0f, q = shifted - 12582912.0f;
    return k_turned{fmaf(q, -5.39030253e-15f, fmaf(q, -3.13916473e-7f, fmaf(q, -1.57079601f, a))), (int)k_as_uint(shifted)};
}
K_DEVICE k_turned k_turn(float a) {
    k_turned t = k_turn_near(a);
    if (!(fabsf(a) <= 65536.0f)) t = k_turn_far(a);
    return t;
}
/* The sine, by series that are those of Cephes for sine and cosine within pi / 4. */
K_DEVICE float k_wave(k_turned t) {
    const bool odd = t.quarters & 1;
    const float s = t.rest * t.rest, x = odd ? 1.0f : t.rest;
    float p = fmaf(odd ? 2.44331571e-5f : -1.95152959e-4f, s, odd ? -1.38873162e-3f : 8.33216087e-3f);
    p = fmaf(p, s, odd ? 4.16666456e-2f : -1.66666546e-1f);
    if (odd) p = fmaf(p, s, -0.5f);
    p = fmaf(p, fmaf(s, x, 0.0f), x); /* -0 stays -0 */
    return t.quarters & 2 ? -p : p;
}
K_DEVICE k_turned k_quarter_on(k_turned t) { return k_turned{t.rest, t.quarters + 1}; }
#if defined K_OUTPUT_DIGITS && !defined K_FULL_WAVES
/* Every output of this kernel has 16 bits, and sums and products of waves alone are in it: the sine of what is left of half
 * turns within 1e-6 of itself, the cosine within 2.2e-7 and 1 where it is nearest, neither above 1, by minimax series within
 * pi / 2. Both are of one rest, so that where an angle has both, as a sine and its gradient do, turns are taken off once. Pi
 * in two parts: of 20861 halves 1e-10 is left. */
K_DEVICE float k_rise(float rest, unsigned halves) {
    const float r = k_as_float(k_as_uint(rest) ^ halves << 31), s = rest * rest;
    return r * fmaf(fmaf(fmaf(-1.84881376e-4f, s, 8.31189976e-3f), s, -0.166655541f), s, 0.999999061f);
}
K_DEVICE float k_fall(float rest, unsigned halves) {
    const float s = rest * rest, p = fmaf(fmaf(fmaf(2.31539297e-5f, s, -1.38537042e-3f), s, 4.16635847e-2f), s, -0.499999054f);
    return k_as_float(k_as_uint(fmaf(p, s, 1.0f)) ^ halves << 31);
}
K_DEVICE float k_less_halves(float a, float halves) { return fmaf(halves, 8.74227766e-8f, fmaf(halves, -3.14159274f, a)); }
#else
/* The sine of what is left of half turns, within pi / 2, negated for odd ones, whose number is the last bit of halves: one
 * series, where quarters choose one of two by a select for each factor. Within 2.2 units in the last place, 1 where it is
 * nearest and never above, for which the factors were searched around those of least error. */
K_DEVICE float k_rise(float rest, unsigned halves) {
    const float r = k_as_float(k_as_uint(rest) ^ halves << 31), s = r * r;
    const float p = fmaf(fmaf(fmaf(2.60499041e-6f, s, -1.98096866e-4f), s, 8.33305996e-3f), s, -1.66666567e-1f);
    return fmaf(p, fmaf(s, r, 0.0f), r); /* -0 stays -0 */
}
/* a less that many half turns, as k_turn_near does it. */
K_DEVICE float k_less_halves(float a, float halves) {
    return fmaf(halves, -1.07806051e-14f, fmaf(halves, -6.27832946e-7f, fmaf(halves, -3.14159203f, a)));
}
#endif
K_FAR float k_sin_far(float a) { return k_wave(k_turn_far(a)); }
K_FAR float k_cos_far(float a) { return k_wave(k_quarter_on(k_turn_far(a))); }
/* Of what is known to be within a quarter turn; within 65536. */
K_DEVICE float k_sin_small(float a) { return k_rise(a, 0); }
K_DEVICE float k_sin_near(float a) {
    const float shifted = fmaf(a, 0.318309886f, 12582912.0f);
    return k_rise(k_less_halves(a, shifted - 12582912.0f), k_as_uint(shifted));
}
K_MATHS float k_sin(float a) {
    float v = k_sin_near(a);
    if (!(fabsf(a) <= 65536.0f)) v = k_sin_far(a);
    return v;
}
#if defined K_OUTPUT_DIGITS && !defined K_FULL_WAVES
K_DEVICE float k_cos_near(float a) {
    const float shifted = fmaf(a, 0.318309886f, 12582912.0f);
    return k_fall(k_less_halves(a, shifted - 12582912.0f), k_as_uint(shifted));
}
#else
/* The sine of a and a quarter turn: the nearest odd quarter is taken off. */
K_DEVICE float k_cos_near(float a) {
    const float shifted = fmaf(a, 0.318309886f, -0.5f) + 12582912.0f;
    return k_rise(k_less_halves(a, shifted - 12582912.0f + 0.5f), k_as_uint(shifted) + 1);
}
#endif
/* The same of any angle, if the caller computes all of them again by k_sin and k_cos where one that was seen is far: a
 * vector's elements are computed side by side, without a branch each. */
K_DEVICE float k_sin_seen(float a, float &most) {
    most = fmaxf(most, fabsf(a));
    return k_sin_near(a);
}
K_DEVICE float k_cos_seen(float a, float &most) {
    most = fmaxf(most, fabsf(a));
    return k_cos_near(a);
}
K_DEVICE bool k_seen_far(float most) { return most > 65536.0f; }
K_MATHS float k_cos(float a) {
    float v = k_cos_near(a);
    if (!(fabsf(a) <= 65536.0f)) v = k_cos_far(a);
    return v;
}
K_MATHS float k_tan(float a) {
    const k_turned t = k_turn(a);
    const float s = t.rest * t.rest;
    float p = fmaf(fmaf(9.38540185543e-3f, s, 3.11992232697e-3f), s, 2.44301354525e-2f);
    p = fmaf(fmaf(fmaf(p, s, 5.34112807005e-2f), s, 1.33387994085e-1f), s, 3.33331568548e-1f);
    p = fmaf(p * s, t.rest, t.rest);
    return t.quarters & 1 ? -1.0f / p : p;
}
#ifdef K_OUTPUT_DIGITS
/* Every output of this kernel is f16 or bf16, with so many binary digits (11 or 8): cheaper functions are exact enough.
 * erf: Abramowitz and Stegun 7.1.26, absolute error 2e-7. */
K_MATHS float k_tanh(float a) { return k_tanh_approx(a); }
/* log and log1p: relative error 1.1e-5, the most where the series, up to 1/64, ends. */
K_DEVICE float k_log_near_1(float t, float one_more) {
    const float p = fmaf(fmaf(-0.25f, t, 0.333333343f), t, -0.5f);
    return fabsf(t) < 0.015625f ? fmaf(p * t, t, t) : k_log2_approx(one_more) * 0.693147182f;
}
K_MATHS float k_log(float a) { return k_log_near_1(a - 1.0f, a); }
K_MATHS float k_log1p(float a) { return k_log_near_1(a, a + 1.0f); }
K_MATHS float k_erf(float a) {
    float x = fabsf(a), t = k_rcp_approx(fmaf(0.3275911f, x, 1.0f));
    float p = fmaf(1.061405429f, t, -1.453152027f);
    p = fmaf(p, t, 1.421413741f);
    p = fmaf(p, t, -0.284496736f);
    p = fmaf(p, t, 0.254829592f) * t;
    return copysignf(fmaf(-p, k_exp2_approx(x * x * -1.44269504f), 1.0f), a);
}
#else
K_MATHS float k_tanh(float a) { return tanhf(a); }
K_MATHS float k_log(float a) { return logf(a); }
/* 1 + a is (1 + m) 2^e, with m from -1/4 to 1/2: 1.3 ulp. It has no branch, as log1pf has, so that a thread's elements are
 * computed side by side. */
K_MATHS float k_log1p(float a) {
    const float one_more = a + 1.0f;
    const unsigned e = (k_as_uint(one_more) - 0x3f400000u) & 0xff800000u; /* times 2^23 */
    const float m = k_as_float(k_as_uint(a) - e) + fmaf(0.25f, k_as_float(0x40800000u - e), -1.0f);
    float p = fmaf(fmaf(-0.0449155644f, m, 0.104497038f), m, -0.131630957f);
    p = fmaf(fmaf(fmaf(p, m, 0.14482148f), m, -0.16647698f), m, 0.199905932f);
    p = fmaf(fmaf(fmaf(p, m, -0.250000566f), m, 0.333334535f), m, -0.5f);
    p = fmaf((float)(int)e, 8.26295832e-8f, fmaf(p * m, m, m));
    const bool inside = one_more > 0.0f && one_more <= 3.40282347e38f;
    return a == 0.0f ? a : inside ? p : k_log2_approx(one_more); /* NaN, and infinities of both signs */
}
K_MATHS float k_erf(float a) { return erff(a); }
#endif
/* The normal distribution function. */
#if defined K_OUTPUT_DIGITS && K_OUTPUT_DIGITS <= 8
/* 1 / (1 + 2^(a p(a^2))): relative error 1.1e-3 down to a = -4.4, then absolute error 1e-8, which is nothing in gelu;
 * p < 0 everywhere. */
K_MATHS float k_ndtr(float a) {
    float s = a * a;
    float p = fmaf(-1.22824013e-5f, s, 1.40694017e-3f);
    p = fmaf(p, s, -0.109332718f);
    p = fmaf(p, s, -2.29751921f);
    return k_rcp_approx(1.0f + k_exp2_approx(a * p));
}
#else
/* With z = |a| it is 2^(-z^2 log2(e)/2) t p(t), t = 1 / (1 + 0.36 z), below 0; what that leaves of 1, above. Relative
 * error 2e-6 (z^2 is rounded: 1e-5 at -13). */
K_MATHS float k_ndtr(float a) {
    float z = fabsf(a), t = k_rcp_approx(fmaf(0.36f, z, 1.0f));
    float p = fmaf(-0.0302395565f, t, 0.13951368f);
    p = fmaf(p, t, -0.223608439f);
    p = fmaf(p, t, 0.107377047f);
    p = fmaf(p, t, -3.90364909e-4f);
    p = fmaf(p, t, 0.0960385183f);
    p = fmaf(p, t, 0.124009568f);
    p = fmaf(p, t, 0.143681896f);
    p = fmaf(p, t, 0.143617664f);
    float tail = p * t * k_exp2_approx(z * z * -0.721347520f);
    return a > 0 ? 1.0f - tail : tail;
}
#endif
K_MATHS float k_pow(float a, float b) { return powf(a, b); }
K_DEVICE float k_abs(float a) { return fabsf(a); }
K_DEVICE float k_relu(float a) { return k_max(a, 0.0f); }
K_DEVICE float k_sigmoid(float a) { return k_rcp_approx(1.0f + k_exp(-a)); }
K_DEVICE float k_sign(float a) { return (float)((a > 0.0f) - (a < 0.0f)); }
K_MATHS double k_exp(double a) { return exp(a); }
K_MATHS double k_exp2(double a) { return exp2(a); }
K_MATHS double k_log(double a) { return log(a); }
K_DEVICE double k_sqrt(double a) { return sqrt(a); }
K_MATHS double k_rsqrt(double a) { return 1.0 / sqrt(a); }
K_MATHS double k_sin(double a) { return sin(a); }
K_MATHS double k_cos(double a) { return cos(a); }
K_MATHS double k_tanh(double a) { return tanh(a); }
K_MATHS double k_erf(double a) { return erf(a); }
K_MATHS double k_ndtr(double a) { return erfc(a * -0.70710678118654752) / 2; }
K_MATHS double k_pow(double a, double b) { return pow(a, b); }
K_DEVICE double k_abs(double a) { return fabs(a); }
K_MATHS double k_div(double a, double b) { return a / b; }
K_DEVICE double k_relu(double a) { return a != a || a > 0 ? a : 0; }
K_MATHS double k_sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }
K_DEVICE double k_sign(double a) { return (a > 0) - (a < 0); }
K_DEVICE float k_floor(float a) { return floorf(a); }
K_DEVICE float k_ceil(float a) { return ceilf(a); }
K_DEVICE float k_round(float a) { return rintf(a); }
K_DEVICE float k_trunc(float a) { return truncf(a); }
K_MATHS float k_expm1(float a) { return expm1f(a); }
K_MATHS float k_log2(float a) { return log2f(a); }
K_MATHS float k_log10(float a) { return log10f(a); }
K_MATHS float k_atan(float a) { return atanf(a); }
K_MATHS float k_asin(float a) { return asinf(a); }
K_MATHS float k_acos(float a) { return acosf(a); }
K_MATHS float k_sinh(float a) { return sinhf(a); }
K_MATHS float k_cosh(float a) { return coshf(a); }
K_MATHS float k_asinh(float a) { return asinhf(a); }
K_MATHS float k_acosh(float a) { return acoshf(a); }
K_MATHS float k_atanh(float a) { return atanhf(a); }
K_MATHS float k_erfc(float a) { return erfcf(a); }
K_MATHS float k_atan2(float a, float b) { return atan2f(a, b); }
K_MATHS float k_hypot(float a, float b) { return hypotf(a, b); }
K_DEVICE float k_copysign(float a, float b) { return copysignf(a, b); }
K_FAR float k_fmod(float a, float b) { return fmodf(a, b); }
K_MATHS float k_remainder(float a, float b) {
    float m = k_fmod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
/* As PyTorch: a/b rounded to its type may reach an integer that the exact quotient does not. */
K_MATHS float k_floor_div(float a, float b) {
    if (b == 0) return a / b;
    float m = k_fmod(a, b), q = (a - m) / b;
    if (m != 0 && (m < 0) != (b < 0)) q -= 1;
    float whole = floorf(q);
    if (q - whole > 0.5f) whole += 1;
    return whole == 0 ? copysignf(0.0f, a / b) : whole;
}
K_DEVICE double k_floor(double a) { return floor(a); }
K_DEVICE double k_ceil(double a) { return ceil(a); }
K_DEVICE double k_round(double a) { return rint(a); }
K_DEVICE double k_trunc(double a) { return trunc(a); }
K_MATHS double k_expm1(double a) { return expm1(a); }
K_MATHS double k_log2(double a) { return log2(a); }
K_MATHS double k_log10(double a) { return log10(a); }
K_MATHS double k_log1p(double a) { return log1p(a); }
K_MATHS double k_tan(double a) { return tan(a); }
K_MATHS double k_atan(double a) { return atan(a); }
K_MATHS double k_asin(double a) { return asin(a); }
K_MATHS double k_acos(double a) { return acos(a); }
K_MATHS double k_sinh(double a) { return sinh(a); }
K_MATHS double k_cosh(double a) { return cosh(a); }
K_MATHS double k_asinh(double a) { return asinh(a); }
K_MATHS double k_acosh(double a) { return acosh(a); }
K_MATHS double k_atanh(double a) { return atanh(a); }
K_MATHS double k_erfc(double a) { return erfc(a); }
K_MATHS double k_atan2(double a, double b) { return atan2(a, b); }
K_MATHS double k_hypot(double a, double b) { return hypot(a, b); }
K_DEVICE double k_copysign(double a, double b) { return copysign(a, b); }
K_FAR double k_fmod(double a, double b) { return fmod(a, b); }
K_MATHS double k_remainder(double a, double b) {
    double m = k_fmod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
K_MATHS double k_floor_div(double a, double b) {
    if (b == 0) return a / b;
    double m = k_fmod(a, b), q = (a - m) / b;
    if (m != 0 && (m < 0) != (b < 0)) q -= 1;
    double whole = floor(q);
    if (q - whole > 0.5) whole += 1;
    return whole == 0 ? copysign(0.0, a / b) : whole;
}
template <typename T> K_DEVICE bool k_isnan(T a) { return a != a; }
template <typename T> K_DEVICE bool k_isfinite(T a) { return a - a == 0; }
template <typename T> K_DEVICE bool k_isinf(T a) { return a == a && a - a != 0; }
/* Integers: division by zero gives 0 (undefined in PyTorch's kernels too, but never a trap). */
template <typename T> K_DEVICE T k_int_fmod(T a, T b) { return b == 0 ? 0 : b == -1 ? 0 : a % b; }
template <typename T> K_DEVICE T k_int_floor_div(T a, T b) {
    T q = b == 0 ? 0 : b == -1 ? k_wrap_neg(a) : a / b;
    return q - (k_int_fmod(a, b) != 0 && (a < 0) != (b < 0));
}
template <typename T> K_DEVICE T k_int_remainder(T a, T b) {
    T m = k_int_fmod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
template <typename T> K_DEVICE T k_int_pow(T a, T b) {
    T r = 1;
    if (b < 0) return a == 1 || (a == -1 && !(b & 1)) ? 1 : a == -1 ? -1 : 0;
    for (; b > 0; b >>= 1, a = k_wrap_mul(a, a))
        if (b & 1) r = k_wrap_mul(r, a);
    return r;
}
/* As PyTorch's: no bit stays of what is shifted to the left by a count out of range, and the sign of what is to the right. */
K_DEVICE int k_shift_left(int a, int b) { return (unsigned)b < 32 ? (int)((unsigned)a << b) : 0; }
K_DEVICE int k_shift_right(int a, int b) { return a >> ((unsigned)b < 32 ? b : 31); }
K_DEVICE long long k_shift_left(long long a, long long b) {
    return (unsigned long long)b < 64 ? (long long)((unsigned long long)a << b) : 0;
}
K_DEVICE long long k_shift_right(long long a, long long b) { return a >> ((unsigned long long)b < 64 ? b : 63); }
K_DEVICE int k_fmod(int a, int b) { return k_int_fmod(a, b); }
K_DEVICE int k_remainder(int a, int b) { return k_int_remainder(a, b); }
K_DEVICE int k_floor_div(int a, int b) { return k_int_floor_div(a, b); }
K_DEVICE int k_pow(int a, int b) { return k_int_pow(a, b); }
K_DEVICE long long k_fmod(long long a, long long b) { return k_int_fmod(a, b); }
K_DEVICE long long k_remainder(long long a, long long b) { return k_int_remainder(a, b); }
K_DEVICE long long k_floor_div(long long a, long long b) { return k_int_floor_div(a, b); }
K_DEVICE long long k_pow(long long a, long long b) { return k_int_pow(a, b); }
K_DEVICE int k_abs(int a) { return a < 0 ? k_wrap_neg(a) : a; }
K_DEVICE int k_relu(int a) { return a > 0 ? a : 0; }
K_DEVICE int k_sign(int a) { return (a > 0) - (a < 0); }
K_DEVICE long long k_abs(long long a) { return a < 0 ? k_wrap_neg(a) : a; }
K_DEVICE long long k_relu(long long a) { return a > 0 ? a : 0; }
K_DEVICE long long k_sign(long long a) { return (a > 0) - (a < 0); }

K_DEVICE float k_round_bf16(float f) { return k_as_float((unsigned)k_bf16_bits(f) << 16); }
K_DEVICE float k_round_f16(float f) { return k_f16_float(k_f16_bits(f)); }
K_DEVICE float k_round_f8e4m3(float f) { return k_f8e4m3_float(k_f8e4m3_bits(f)); }
K_DEVICE float k_round_f8e5m2(float f) { return k_f8e5m2_float(k_f8e5m2_bits(f)); }

/* ---- random numbers: element i of random tensor `tensor` under `seed`, as graph/random.c has it: Philox 4x32-10 --- */

struct k_words { unsigned r[4]; };
/* i as the block of four that it is drawn with, and its place there. */
struct k_number { unsigned long long block; int place; };
K_DEVICE k_number k_number_of(long long i) { return k_number{(unsigned long long)i / 4, (int)(i & 3)}; }
K_DEVICE k_words k_philox(unsigned long long block, long long tensor, long long seed) {
    unsigned c0 = (unsigned)block, c1 = (unsigned)(block >> 32);
    unsigned c2 = (unsigned)tensor, c3 = (unsigned)((unsigned long long)tensor >> 32);
    unsigned k0 = (unsigned)seed, k1 = (unsigned)((unsigned long long)seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const unsigned long long a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
        c0 = (unsigned)(b >> 32) ^ c1 ^ k0, c1 = (unsigned)b;
        c2 = (unsigned)(a >> 32) ^ c3 ^ k1, c3 = (unsigned)a;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    k_words w = {{c0, c1, c2, c3}};
    return w;
}
K_DEVICE unsigned k_word(const k_words &w, int k) {
    const unsigned low = k & 1 ? w.r[1] : w.r[0], high = k & 1 ? w.r[3] : w.r[2];
    return k & 2 ? high : low;
}
K_MATHS float k_rand(k_number i, long long tensor, long long seed) {
    return (float)(k_word(k_philox(i.block, tensor, seed), i.place) >> 8) * 5.96046448e-8f; /* 2^-24 */
}
/* log((r + 1) / 2^32), exact near 1, too */
K_DEVICE float k_log_word(unsigned r) {
    const float unit = 2.32830644e-10f; /* 2^-32 */
    return r < 0x80000000u ? logf(((float)r + 1.0f) * unit) : log1pf(-(float)~r * unit);
}
K_MATHS float k_randn_float(k_number i, long long tensor, long long seed) {
    const k_words w = k_philox(i.block, tensor, seed);
    const float angle = (float)(int)k_word(w, (i.place & 2) + 1) * 1.46291808e-9f; /* 2 pi / 2^32 */
    const float length = sqrtf(-2.0f * k_log_word(k_word(w, i.place & 2)));
    const k_turned t = k_turn_near(angle);
    return length * k_wave(i.place & 1 ? t : k_quarter_on(t));
}
K_MATHS double k_randn_double(k_number i, long long tensor, long long seed) {
    const k_words w = k_philox(i.block, tensor, seed);
    const double angle = (int)k_word(w, (i.place & 2) + 1) * 1.4629180792671596e-9;
    const double length = sqrt(-2.0 * log((k_word(w, i.place & 2) + 1.0) / 4294967296.0));
    return length * (i.place & 1 ? sin(angle) : cos(angle));
}
K_DEVICE float k_rand(long long i, long long tensor, long long seed) { return k_rand(k_number_of(i), tensor, seed); }
K_DEVICE float k_randn_float(long long i, long long tensor, long long seed) {
    return k_randn_float(k_number_of(i), tensor, seed);
}
K_DEVICE double k_randn_double(long long i, long long tensor, long long seed) {
    return k_randn_double(k_number_of(i), tensor, seed);
}
