/* prelude_c.h: the head of every generated C kernel (CPU device). The same k_ names as prelude/;
 * float versions are straight-line so that the compiler's vectoriser takes them into SIMD loops.
 * Error bounds are against the exact value. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef float k_f32;
typedef double k_f64;
typedef unsigned char k_u8;
typedef signed char k_i8;
typedef short k_i16;
typedef int k_i32;
typedef long long k_i64;
typedef unsigned short k_bf16, k_f16;
typedef unsigned char k_bool, k_f8e4m3, k_f8e5m2;
typedef int k_flag; /* a bool as a value */

#define K_INLINE static inline __attribute__((always_inline, unused))
#ifdef K_LARGE /* of many instructions each: called where there would be thousands of these */
#define K_MATHS K_FAR
#else
#define K_MATHS K_INLINE
#endif
#define K_FAR static __attribute__((noinline, unused)) /* once, not at each call */

K_INLINE float k_as_float(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
K_INLINE uint32_t k_as_uint(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
K_INLINE float k_inf(void) { return __builtin_inff(); }
K_INLINE float k_nan(void) { return __builtin_nanf(""); }

/* ---- memory <-> value ------------------------------------------------------------------------ */

#define k_from_f32(x) (x)
#define k_from_f64(x) (x)
#define k_from_u8(x) ((int)(x))
#define k_from_i8(x) ((int)(x))
#define k_from_i16(x) ((int)(x))
#define k_from_i32(x) (x)
#define k_from_i64(x) (x)
#define k_from_bool(x) ((x) != 0)
#define k_to_f32(x) (x)
#define k_to_f64(x) (x)
#define k_to_u8(x) ((k_u8)(x))
#define k_to_i8(x) ((k_i8)(x))
#define k_to_i16(x) ((k_i16)(x))
#define k_to_i32(x) (x)
#define k_to_i64(x) (x)
#define k_to_bool(x) ((x) != 0)
K_INLINE float k_from_bf16(k_bf16 h) { return k_as_float((uint32_t)h << 16); }
K_INLINE k_bf16 k_to_bf16(float f) {
    uint32_t u = k_as_uint(f);
    return (k_bf16)(f != f ? 0x7fc0u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
#ifdef __FLT16_MAX__
K_INLINE float k_from_f16(k_f16 h) {
    _Float16 x;
    memcpy(&x, &h, 2);
    return (float)x;
}
K_INLINE k_f16 k_to_f16(float f) {
    _Float16 x = (_Float16)f;
    k_f16 h;
    memcpy(&h, &x, 2);
    return h;
}
#else
K_INLINE float k_from_f16(k_f16 h) {
    uint32_t m = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    float f = k_as_float(m) *
              k_as_float(0x77800000u); /* 2^112 moves the exponent; subnormals come right */
    if ((h & 0x7c00) == 0x7c00) f = k_as_float(m | 0x7f800000u);
    return k_as_float(k_as_uint(f) | sign);
}
K_INLINE k_f16 k_to_f16(float f) {
    uint32_t u = k_as_uint(f), sign = (u >> 16) & 0x8000u;
    float a = k_as_float(u & 0x7fffffffu);
    if (f != f) return (k_f16)(sign | 0x7e00u);
    if (a >= 65520.0f) return (k_f16)(sign | 0x7c00u);
    if (a < 6.103515625e-5f) return (k_f16)(sign | (k_as_uint(a + 0.5f) - k_as_uint(0.5f)));
    u = k_as_uint(a) + 0xfffu + ((k_as_uint(a) >> 13) & 1u);
    return (k_f16)(sign | ((u - 0x38000000u) >> 13));
}
#endif

/* Cut to 3 and 2 digits behind the first; see base/dtype.c. What is subnormal there is rounded by
 * adding a number whose last bit is theirs. */
K_INLINE float k_from_f8e4m3(k_f8e4m3 h) {
    uint32_t m = (uint32_t)(h & 0x7f) << 20, sign = (uint32_t)(h & 0x80) << 24;
    float f = k_as_float(m) * k_as_float(0x7b800000u); /* 2^120 */
    if ((h & 0x7f) == 0x7f) f = k_nan();
    return k_as_float(k_as_uint(f) | sign);
}
K_INLINE k_f8e4m3 k_to_f8e4m3(float f) {
    uint32_t u = k_as_uint(f), sign = (u >> 24) & 0x80u, a = u & 0x7fffffffu;
    uint32_t small = k_as_uint(k_as_float(a) + k_as_float(0x46800000u)) - 0x46800000u;
    uint32_t usual = (a - 0x3c000000u + 0x7ffffu + ((a >> 20) & 1u)) >> 20;
    return (k_f8e4m3)(sign | (a >= 0x43f00000u ? 0x7fu : a < 0x3c800000u ? small : usual));
}
K_INLINE float k_from_f8e5m2(k_f8e5m2 h) { return k_from_f16((k_f16)(h << 8)); }
K_INLINE k_f8e5m2 k_to_f8e5m2(float f) {
    uint32_t u = k_as_uint(f), sign = (u >> 24) & 0x80u, a = u & 0x7fffffffu;
    uint32_t small = k_as_uint(k_as_float(a) + k_as_float(0x43000000u)) - 0x43000000u;
    uint32_t usual = (a - 0x38000000u + 0xfffffu + ((a >> 21) & 1u)) >> 21;
    uint32_t large = a > 0x7f800000u ? 0x7fu : 0x7cu;
    return (k_f8e5m2)(sign | (a >= 0x47800000u ? large : a < 0x38800000u ? small : usual));
}

K_INLINE float k_round_bf16_f(float f) { return k_from_bf16(k_to_bf16(f)); }
K_INLINE float k_round_f16_f(float f) { return k_from_f16(k_to_f16(f)); }
K_INLINE float k_round_f8e4m3(float f) { return k_from_f8e4m3(k_to_f8e4m3(f)); }
K_INLINE float k_round_f8e5m2(float f) { return k_from_f8e5m2(k_to_f8e5m2(f)); }

/* n floats to memory past the caches, where the address allows it. The widest registers of a
 * machine have K_LANES floats; <immintrin.h> would take as long to read as a kernel to compile. */
#if defined(__AVX512F__)
#define K_LANES 16
#elif defined(__AVX__)
#define K_LANES 8
#else
#define K_LANES 4
#endif
typedef float k_v __attribute__((vector_size(4 * K_LANES)));
typedef float k_v_at __attribute__((vector_size(4 * K_LANES), aligned(4), may_alias));

#if defined(__clang__)
#define K_STREAM(to, x) __builtin_nontemporal_store((x), (k_v *)(to))
#elif defined(__AVX512F__)
#define K_STREAM(to, x) __builtin_ia32_movntps512((to), (x))
#elif defined(__AVX__)
#define K_STREAM(to, x) __builtin_ia32_movntps256((to), (x))
#endif
K_INLINE void k_stream(float *to, const float *from, int n) {
    int i = 0;
#if defined(K_STREAM)
    if ((uintptr_t)to % sizeof(k_v) == 0)
        for (; i + K_LANES <= n; i += K_LANES) K_STREAM(to + i, *(const k_v_at *)(from + i));
#endif
    for (; i < n; i++) to[i] = from[i];
}
K_INLINE void k_stream_end(void) {
#if defined(__AVX__)
    __builtin_ia32_sfence();
#endif
}

/* ---- maths, float ---------------------------------------------------------------------------- */

/* exp, <= 1.5 ulp. 2^n in two factors, so that results in the subnormal range and overflow come out
 * right. */
K_INLINE float k_exp_f(float a) {
    float x = a < -104.0f ? -104.0f : a;
    x = x > 89.0f ? 89.0f : x;
    float n = __builtin_rintf(x * 1.44269504f);
    float f = __builtin_fmaf(n, -0.693145752f, x);
    f = __builtin_fmaf(n, -1.42860677e-6f, f);
    float p = __builtin_fmaf(f, 8.29027221e-3f, 4.18981612e-2f);
    p = __builtin_fmaf(p, f, 1.66676387e-1f);
    p = __builtin_fmaf(p, f, 4.99991477e-1f);
    p = __builtin_fmaf(p, f, 0.999999702f);
    p = __builtin_fmaf(p, f, 1.0f);
    int i = (int)(x == x ? n : 0.0f), half = i >> 1;
    return p * k_as_float((uint32_t)(half + 127) << 23) *
           k_as_float((uint32_t)(i - half + 127) << 23);
}

/* erf, <= 1 ulp: beyond 15/16 as 1 - exp(a polynomial). */
K_MATHS float k_erf_f(float a) {
    float t = __builtin_fabsf(a), s = a * a;
    float r = __builtin_fmaf(-1.72853470e-5f, t, 3.83197126e-4f);
    float u = __builtin_fmaf(-3.88396438e-3f, t, 2.42546219e-2f);
    r = __builtin_fmaf(r, s, u);
    r = __builtin_fmaf(r, t, -1.06777877e-1f);
    r = __builtin_fmaf(r, t, -6.34846687e-1f);
    r = __builtin_fmaf(r, t, -1.28717512e-1f);
    r = 1.0f - k_exp_f(__builtin_fmaf(r, t, -t));
    float p = __builtin_fmaf(s, -5.96761703e-4f, 4.99119423e-3f);
    p = __builtin_fmaf(p, s, -2.67681349e-2f);
    p = __builtin_fmaf(p, s, 1.12819925e-1f);
    p = __builtin_fmaf(p, s, -3.76125336e-1f);
    p = __builtin_fmaf(p, s, 1.28379166e-1f);
    return t > 0.927734375f ? __builtin_copysignf(r, a) : __builtin_fmaf(p, a, a);
}

/* The normal distribution function, of relative error 1e-6 (z^2 is rounded: 1e-5 at -13). With z =
 * |a| it is exp(-z^2 / 2) t p(t), t = 1 / (1 + 0.36 z), below 0; what that leaves of 1, above. */
K_MATHS float k_ndtr_f(float a) {
    float z = __builtin_fabsf(a), t = 1.0f / __builtin_fmaf(0.36f, z, 1.0f);
    float p = __builtin_fmaf(-0.0302395565f, t, 0.13951368f);
    p = __builtin_fmaf(p, t, -0.223608439f);
    p = __builtin_fmaf(p, t, 0.107377047f);
    p = __builtin_fmaf(p, t, -3.90364909e-4f);
    p = __builtin_fmaf(p, t, 0.0960385183f);
    p = __builtin_fmaf(p, t, 0.124009568f);
    p = __builtin_fmaf(p, t, 0.143681896f);
    p = __builtin_fmaf(p, t, 0.143617664f);
    float tail = p * t * k_exp_f(z * z * -0.5f);
    return a > 0 ? 1.0f - tail : tail;
}

/* tanh, <= 1.3 ulp. */
K_MATHS float k_tanh_f(float a) {
    float x = __builtin_fabsf(a), s = a * a;
    float p = __builtin_fmaf(s, -5.70498872745e-3f, 2.06390887954e-2f);
    p = __builtin_fmaf(p, s, -5.37397155531e-2f);
    p = __builtin_fmaf(p, s, 1.33314422036e-1f);
    p = __builtin_fmaf(p, s, -3.33332819422e-1f);
    float large = 1.0f - 2.0f / (k_exp_f(x + x) + 1.0f);
    float small = __builtin_fmaf(p * s, x, x); /* of -0.0 the sign is kept, too */
    return __builtin_copysignf(x >= 0.625f ? large : small, a);
}

/* log, <= 1 ulp: of m 2^e with sqrt(1/2) <= m < sqrt(2). */
K_MATHS float k_log_f(float a) {
    int tiny = a < 1.17549435e-38f;
    float x = tiny ? a * 0x1p23f : a;
    int e = (int)(k_as_uint(x) - 0x3f3504f3u) >> 23;
    float f = k_as_float(k_as_uint(x) - ((uint32_t)e << 23)) - 1.0f, s = f * f;
    float n = (float)(e - (tiny ? 23 : 0));
    float p = __builtin_fmaf(f, 7.0376836292e-2f, -1.1514610310e-1f);
    p = __builtin_fmaf(p, f, 1.1676998740e-1f);
    p = __builtin_fmaf(p, f, -1.2420140846e-1f);
    p = __builtin_fmaf(p, f, 1.4249322787e-1f);
    p = __builtin_fmaf(p, f, -1.6668057665e-1f);
    p = __builtin_fmaf(p, f, 2.0000714765e-1f);
    p = __builtin_fmaf(p, f, -2.4999993993e-1f);
    p = __builtin_fmaf(p, f, 3.3333331174e-1f);
    float y = __builtin_fmaf(n, -2.12194440e-4f, p * f * s);
    y = __builtin_fmaf(n, 0.693359375f, f + __builtin_fmaf(s, -0.5f, y));
    y = a == k_inf() ? a : y;
    y = a == 0 ? -k_inf() : y;
    return a < 0 || a != a ? k_nan() : y;
}
/* What 1 + a was rounded by changes the logarithm by that over 1 + a. No call, so that loops over
 * it become vectors. */
K_MATHS float k_log1p_f(float a) {
    float u = 1.0f + a, lost = (a - (u - 1.0f)) / u, y = k_log_f(u);
    y = a == -1.0f || a == k_inf() ? y : y + lost;
    return u == 1.0f ? a : y;
}

K_INLINE float k_max_f(float a, float b) { return a != a || a > b ? a : b; }
K_INLINE float k_min_f(float a, float b) { return a != a || a < b ? a : b; }
K_INLINE float k_relu_f(float a) { return a < 0 ? 0 : a; } /* -0.0 stays, and nan */
K_INLINE float k_sign_f(float a) { return (float)((a > 0) - (a < 0)); }
K_INLINE float k_sigmoid_f(float a) { return 1.0f / (1.0f + k_exp_f(-a)); }
K_INLINE float k_rsqrt_f(float a) { return 1.0f / sqrtf(a); }
K_INLINE float k_exp2_f(float a) { return exp2f(a); }

K_INLINE double k_max_d(double a, double b) { return a != a || a > b ? a : b; }
K_INLINE double k_min_d(double a, double b) { return a != a || a < b ? a : b; }
K_INLINE double k_relu_d(double a) { return a < 0 ? 0 : a; }
K_INLINE double k_sign_d(double a) { return (a > 0) - (a < 0); }
K_INLINE double k_ndtr_d(double a) { return erfc(a * -0.70710678118654752) / 2; }
K_INLINE double k_sigmoid_d(double a) { return 1 / (1 + exp(-a)); }
K_INLINE double k_rsqrt_d(double a) { return 1 / sqrt(a); }
/* Integers wrap, by way of unsigned ones: C leaves open what an overflow is. */
#define K_WRAP(T, s)                                                                               \
    K_INLINE T k_wrap_add_##s(T a, T b) { return (T)((unsigned T)a + (unsigned T)b); }             \
    K_INLINE T k_wrap_sub_##s(T a, T b) { return (T)((unsigned T)a - (unsigned T)b); }             \
    K_INLINE T k_wrap_mul_##s(T a, T b) { return (T)((unsigned T)a * (unsigned T)b); }             \
    K_INLINE T k_wrap_neg_##s(T a) { return (T)(0 - (unsigned T)a); }                              \
    K_INLINE T k_abs_##s(T a) { return a < 0 ? k_wrap_neg_##s(a) : a; }
K_WRAP(int, s)
K_WRAP(long long, l)
#define K_INT2(x, y, name)                                                                         \
    _Generic((x) + (y), long long : k_##name##_l, default : k_##name##_s)(x, y)
#define k_wrap_add(x, y) K_INT2(x, y, wrap_add)
#define k_wrap_sub(x, y) K_INT2(x, y, wrap_sub)
#define k_wrap_mul(x, y) K_INT2(x, y, wrap_mul)
#define k_wrap_neg(x) _Generic((x), long long : k_wrap_neg_l, default : k_wrap_neg_s)(x)
/* A float cut off to an integer. What does not fit, and nan, is the least one, as x86 has it. */
K_INLINE int k_int_f(float a) { return a >= -0x1p31f && a < 0x1p31f ? (int)a : -2147483647 - 1; }
K_INLINE int k_int_d(double a) { return a > -0x1p31 - 1 && a < 0x1p31 ? (int)a : -2147483647 - 1; }
K_INLINE long long k_long_f(float a) {
    return a >= -0x1p63f && a < 0x1p63f ? (long long)a : -9223372036854775807LL - 1;
}
K_INLINE long long k_long_d(double a) {
    return a >= -0x1p63 && a < 0x1p63 ? (long long)a : -9223372036854775807LL - 1;
}
#define k_int(x) _Generic((x), double : k_int_d, default : k_int_f)(x)
#define k_long(x) _Generic((x), double : k_long_d, default : k_long_f)(x)
K_INLINE int k_max_s(int a, int b) { return a > b ? a : b; }
K_INLINE int k_min_s(int a, int b) { return a < b ? a : b; }
K_INLINE int k_relu_s(int a) { return a > 0 ? a : 0; }
K_INLINE int k_sign_s(int a) { return (a > 0) - (a < 0); }
K_INLINE long long k_max_l(long long a, long long b) { return a > b ? a : b; }
K_INLINE long long k_min_l(long long a, long long b) { return a < b ? a : b; }
K_INLINE long long k_relu_l(long long a) { return a > 0 ? a : 0; }
K_INLINE long long k_sign_l(long long a) { return (a > 0) - (a < 0); }
/* An integer as an index into n > 0 elements: negative ones count from the end, others go to the
 * nearest. */
K_INLINE long long k_subscript(long long i, long long n) {
    i = i < 0 ? i + n : i;
    return i < 0 ? 0 : i < n ? i : n - 1;
}
#define k_min_i(a, b) k_min_l(a, b)
#define k_max_i(a, b) k_max_l(a, b)

K_INLINE float k_remainder_f(float a, float b) {
    float m = fmodf(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
K_INLINE double k_remainder_d(double a, double b) {
    double m = fmod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
/* As PyTorch: a/b rounded to f32 may reach an integer that the exact quotient does not. */
#define K_FLOOR_DIV(T, s, fmod, floor, copysign)                                                   \
    K_INLINE T k_floor_div_##s(T a, T b) {                                                         \
        T m = fmod(a, b), q = (a - m) / b;                                                         \
        q = b == 0 ? a / b : m != 0 && (m < 0) != (b < 0) ? q - 1 : q;                             \
        T whole = floor(q);                                                                        \
        whole = q - whole > (T)0.5 ? whole + 1 : whole;                                            \
        return b == 0 ? q : whole == 0 ? copysign(0, a / b) : whole;                               \
    }
K_FLOOR_DIV(float, f, fmodf, floorf, copysignf)
K_FLOOR_DIV(double, d, fmod, floor, copysign)
/* Integers: division by zero gives 0 (undefined in PyTorch's kernels too, but never a trap). By a
 * count out of range no bit stays of what is shifted to the left, and the sign of the other. */
#define K_INTEGER(T, s)                                                                            \
    K_INLINE T k_shift_left_##s(T a, T b) {                                                        \
        return b < 0 || b >= (T)(8 * sizeof a) ? 0 : (T)((unsigned T)a << b);                      \
    }                                                                                              \
    K_INLINE T k_shift_right_##s(T a, T b) {                                                       \
        const T most = 8 * sizeof a - 1;                                                           \
        return a >> (b < 0 || b > most ? most : b);                                                \
    }                                                                                              \
    K_INLINE T k_fmod_##s(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; }                      \
    K_INLINE T k_floor_div_##s(T a, T b) {                                                         \
        T q = b == 0 ? 0 : b == -1 ? k_wrap_neg_##s(a) : a / b;                                    \
        return q - (k_fmod_##s(a, b) != 0 && (a < 0) != (b < 0));                                  \
    }                                                                                              \
    K_INLINE T k_remainder_##s(T a, T b) {                                                         \
        T m = k_fmod_##s(a, b);                                                                    \
        return m != 0 && (m < 0) != (b < 0) ? m + b : m;                                           \
    }                                                                                              \
    K_INLINE T k_pow_##s(T a, T b) {                                                               \
        T r = 1;                                                                                   \
        if (b < 0) return a == 1 || (a == -1 && !(b & 1)) ? 1 : a == -1 ? -1 : 0;                  \
        for (; b > 0; b >>= 1, a = k_wrap_mul_##s(a, a))                                           \
            if (b & 1) r = k_wrap_mul_##s(r, a);                                                   \
        return r;                                                                                  \
    }
K_INTEGER(int, s)
K_INTEGER(long long, l)

/* Element i of random tensor `tensor` under `seed`, as graph/random.c has it: Philox 4x32-10. */
K_INLINE void k_philox(long long i, long long tensor, long long seed, uint32_t r[4]) {
    uint64_t block = (uint64_t)i / 4;
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = (uint32_t)tensor,
             c3 = (uint32_t)((uint64_t)tensor >> 32), k0 = (uint32_t)seed,
             k1 = (uint32_t)((uint64_t)seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53 * c0, b = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0, c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1, c3 = (uint32_t)a;
        k0 += 0x9E3779B9, k1 += 0xBB67AE85;
    }
    r[0] = c0, r[1] = c1, r[2] = c2, r[3] = c3;
}
K_INLINE uint32_t k_word(const uint32_t r[4], int k) {
    uint32_t low = k & 1 ? r[1] : r[0], high = k & 1 ? r[3] : r[2];
    return k & 2 ? high : low;
}
K_INLINE float k_rand(long long i, long long tensor, long long seed) {
    uint32_t r[4];
    k_philox(i, tensor, seed, r);
    return (float)(k_word(r, (int)(i & 3)) >> 8) * 0x1p-24f;
}
/* log((r + 1) / 2^32), exact near 1, too */
K_INLINE float k_log_word(uint32_t r) {
    return r < 0x80000000u ? logf(((float)r + 1.0f) * 0x1p-32f) : log1pf(-(float)~r * 0x1p-32f);
}
K_INLINE float k_randn_float(long long i, long long tensor, long long seed) {
    uint32_t r[4];
    k_philox(i, tensor, seed, r);
    float angle = (float)(int32_t)k_word(r, (int)(i & 2) + 1) * (6.2831853f * 0x1p-32f);
    float length = sqrtf(-2.0f * k_log_word(k_word(r, (int)(i & 2))));
    return length * (i & 1 ? sinf(angle) : cosf(angle));
}
K_INLINE double k_randn_double(long long i, long long tensor, long long seed) {
    uint32_t r[4];
    k_philox(i, tensor, seed, r);
    double angle =
        (int32_t)k_word(r, (int)(i & 2) + 1) * (6.283185307179586476925286766559 * 0x1p-32);
    double length = sqrt(-2 * log((k_word(r, (int)(i & 2)) + 1.0) * 0x1p-32));
    return length * (i & 1 ? sin(angle) : cos(angle));
}

#define K_FLOAT1(x, f, d, v) _Generic((x), double : d, k_v : v, default : f)(x)
#define K_FLOAT2(x, y, f, d, v) _Generic((x) + (y), double : d, k_v : v, default : f)(x, y)
#define K_ANY1(x, f, d, s, l, v)                                                                   \
    _Generic((x), float : f, double : d, long long : l, k_v : v, default : s)(x)
#define K_ANY2(x, y, f, d, s, l, v)                                                                \
    _Generic((x) + (y), float : f, double : d, long long : l, k_v : v, default : s)(x, y)

#define k_round_bf16(x) _Generic((x), k_v : k_round_bf16_v, default : k_round_bf16_f)(x)
#define k_round_f16(x) _Generic((x), k_v : k_round_f16_v, default : k_round_f16_f)(x)
#define k_exp(x) K_FLOAT1(x, k_exp_f, exp, k_exp_v)
#define k_exp2(x) K_FLOAT1(x, k_exp2_f, exp2, k_exp2_v)
#define k_erf(x) K_FLOAT1(x, k_erf_f, erf, k_erf_v)
#define k_ndtr(x) K_FLOAT1(x, k_ndtr_f, k_ndtr_d, k_ndtr_v)
#define k_tanh(x) K_FLOAT1(x, k_tanh_f, tanh, k_tanh_v)
#define k_sigmoid(x) K_FLOAT1(x, k_sigmoid_f, k_sigmoid_d, k_sigmoid_v)
#define k_log(x) K_FLOAT1(x, k_log_f, log, k_log_v)
#define k_sqrt(x) K_FLOAT1(x, sqrtf, sqrt, k_sqrt_v)
#define k_rsqrt(x) K_FLOAT1(x, k_rsqrt_f, k_rsqrt_d, k_rsqrt_v)
#define k_sin(x) K_FLOAT1(x, sinf, sin, k_sin_v)
#define k_cos(x) K_FLOAT1(x, cosf, cos, k_cos_v)
#define k_tan(x) K_FLOAT1(x, tanf, tan, k_tan_v)
#define k_atan(x) K_FLOAT1(x, atanf, atan, k_atan_v)
#define k_asin(x) K_FLOAT1(x, asinf, asin, k_asin_v)
#define k_acos(x) K_FLOAT1(x, acosf, acos, k_acos_v)
#define k_sinh(x) K_FLOAT1(x, sinhf, sinh, k_sinh_v)
#define k_cosh(x) K_FLOAT1(x, coshf, cosh, k_cosh_v)
#define k_asinh(x) K_FLOAT1(x, asinhf, asinh, k_asinh_v)
#define k_acosh(x) K_FLOAT1(x, acoshf, acosh, k_acosh_v)
#define k_atanh(x) K_FLOAT1(x, atanhf, atanh, k_atanh_v)
#define k_erfc(x) K_FLOAT1(x, erfcf, erfc, k_erfc_v)
#define k_atan2(x, y) K_FLOAT2(x, y, atan2f, atan2, k_atan2_v)
#define k_hypot(x, y) K_FLOAT2(x, y, hypotf, hypot, k_hypot_v)
#define k_copysign(x, y) K_FLOAT2(x, y, copysignf, copysign, k_copysign_v)
#define k_floor(x) K_FLOAT1(x, floorf, floor, k_floor_v)
#define k_ceil(x) K_FLOAT1(x, ceilf, ceil, k_ceil_v)
#define k_round(x) K_FLOAT1(x, rintf, rint, k_round_v)
#define k_trunc(x) K_FLOAT1(x, truncf, trunc, k_trunc_v)
#define k_expm1(x) K_FLOAT1(x, expm1f, expm1, k_expm1_v)
#define k_log2(x) K_FLOAT1(x, log2f, log2, k_log2_v)
#define k_log10(x) K_FLOAT1(x, log10f, log10, k_log10_v)
#define k_log1p(x) K_FLOAT1(x, k_log1p_f, log1p, k_log1p_v)
#define k_isnan(x) ((x) != (x))
#define k_isfinite(x) ((x) - (x) == 0)
#define k_isinf(x) (((x) == (x)) & ((x) - (x) != 0))
#define k_pow(x, y) K_ANY2(x, y, powf, pow, k_pow_s, k_pow_l, k_pow_v)
#define k_fmod(x, y) K_ANY2(x, y, fmodf, fmod, k_fmod_s, k_fmod_l, k_fmod_v)
#define k_remainder(x, y)                                                                          \
    K_ANY2(x, y, k_remainder_f, k_remainder_d, k_remainder_s, k_remainder_l, k_remainder_v)
#define k_floor_div(x, y)                                                                          \
    K_ANY2(x, y, k_floor_div_f, k_floor_div_d, k_floor_div_s, k_floor_div_l, k_floor_div_v)
#define k_shift_left(x, y) K_INT2(x, y, shift_left)
#define k_shift_right(x, y) K_INT2(x, y, shift_right)
#define k_div(x, y) ((x) / (y))
#define k_max(x, y) K_ANY2(x, y, k_max_f, k_max_d, k_max_s, k_max_l, k_max_v)
#define k_min(x, y) K_ANY2(x, y, k_min_f, k_min_d, k_min_s, k_min_l, k_min_v)
#define k_abs(x) K_ANY1(x, fabsf, fabs, k_abs_s, k_abs_l, k_abs_v)
#define k_relu(x) K_ANY1(x, k_relu_f, k_relu_d, k_relu_s, k_relu_l, k_relu_v)
#define k_sign(x) K_ANY1(x, k_sign_f, k_sign_d, k_sign_s, k_sign_l, k_sign_v)

/* argmax and argmin: a value and its number. Of equal values the one with the least number wins;
 * nan beats all. */
#define K_PAIR(name, T)                                                                            \
    typedef struct {                                                                               \
        T value;                                                                                   \
        long long at;                                                                              \
    } k_pair_##name;                                                                               \
    K_INLINE int k_wins_##name(T b, T a, int larger, int first) {                                  \
        int both = (a == b) | ((a != a) & (b != b));                                               \
        return larger | ((b != b) & (a == a)) | (both & first);                                    \
    }                                                                                              \
    K_INLINE k_pair_##name k_argmax_##name(k_pair_##name a, k_pair_##name b) {                     \
        return k_wins_##name(b.value, a.value, b.value > a.value, b.at < a.at) ? b : a;            \
    }                                                                                              \
    K_INLINE k_pair_##name k_argmin_##name(k_pair_##name a, k_pair_##name b) {                     \
        return k_wins_##name(b.value, a.value, b.value < a.value, b.at < a.at) ? b : a;            \
    }
/* m2: a mean, the sum of squared deviations from it, and of how many; expsum: a maximum, and the
 * sum of exp(x - maximum). Joined as the prelude of CUDA does. */
#define K_STATES(name, T, EXP)                                                                     \
    typedef struct {                                                                               \
        T mean, squares, n;                                                                        \
    } k_m2_state_##name;                                                                           \
    K_INLINE T k_m2_value_##name(k_m2_state_##name a) { return a.squares; }                        \
    K_INLINE k_m2_state_##name k_m2_##name(k_m2_state_##name a, k_m2_state_##name b) {             \
        T n = a.n + b.n, part = n > 0 ? b.n / n : 0, d = b.mean - a.mean;                          \
        return (k_m2_state_##name){a.mean + d * part, a.squares + b.squares + d * d * a.n * part,  \
                                   n};                                                             \
    }                                                                                              \
    typedef struct {                                                                               \
        T max, sum;                                                                                \
    } k_expsum_state_##name;                                                                       \
    K_INLINE T k_expsum_value_##name(k_expsum_state_##name a) {                                    \
        return a.sum * (a.max - a.max + 1);                                                        \
    }                                                                                              \
    K_INLINE k_expsum_state_##name k_expsum_##name(k_expsum_state_##name a,                        \
                                                   k_expsum_state_##name b) {                      \
        if (b.max == -INFINITY && b.sum == b.sum) return a;                                        \
        T d = b.max - a.max, e = EXP(d > 0 ? -d : d);                                              \
        k_expsum_state_##name larger = {b.max, a.sum * e + b.sum}, as_large = {a.max, 0};          \
        as_large.sum = a.sum + b.sum * e;                                                          \
        return d > 0 ? larger : as_large;                                                          \
    }
/* x added to a, which has beside it what its additions have lost: a + lost is right to its last
 * digit, however many they were. What is infinite has lost nothing. */
#define K_CARRY(name, T)                                                                           \
    K_INLINE void k_carry_##name(T *a, T *lost, T x) {                                             \
        T sum = *a + x, part = sum - *a, e = (*a - (sum - part)) + (x - part);                     \
        *lost += e == e ? e : 0;                                                                   \
        *a = sum;                                                                                  \
    }
K_CARRY(f32, float)
K_CARRY(f64, double)
K_STATES(f32, float, k_exp_f)
K_STATES(f64, double, exp)
K_PAIR(f32, float)
K_PAIR(f64, double)
K_PAIR(i32, int)
K_PAIR(i64, long long)
