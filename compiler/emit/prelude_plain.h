/* prelude_plain.h: the head of the reference's kernels (emit/plain.c), before graph/ref_maths.h
 * and graph/random_maths.h,
 * for a C compiler and for NVRTC: types as they lie in memory, and values, which are doubles and
 * 64-bit integers. Nothing here is fast. */
#ifdef __CUDACC__
#define FN static __device__ inline
#define INFINITY __longlong_as_double(0x7ff0000000000000LL)
#define NAN __longlong_as_double(0x7ff8000000000000LL)
#else
#include <math.h>
#include <string.h>
#define FN static inline __attribute__((unused))
#endif
#define REF_MATHS FN
#define RANDOM_MATHS FN
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

typedef unsigned char m_bool, m_u8, m_f8e4m3, m_f8e5m2;
typedef signed char m_i8;
typedef short m_i16;
typedef int m_i32;
typedef long long m_i64, wide;
typedef unsigned short m_f16, m_bf16;
typedef float m_f32;
typedef double m_f64;

/* ---- floats of few bits: `digits` behind the first, the least of them worth 2^least ---------- */

FN double of_bits(unsigned h, int digits, int bits, int least) {
    unsigned field = h & ((1u << (bits - 1)) - 1), e = field >> digits,
             m = field & ((1u << digits) - 1);
    double v =
        e ? ldexp((double)(m + (1u << digits)), least + (int)e - 1) : ldexp((double)m, least);
    return h >> (bits - 1) & 1 ? -v : v;
}
FN double of_f8e4m3(m_f8e4m3 h) { return (h & 0x7f) == 0x7f ? NAN : of_bits(h, 3, 8, -9); }
FN double of_f16(m_f16 h) {
    if ((h & 0x7c00) != 0x7c00) return of_bits(h, 10, 16, -24);
    return h & 0x3ff ? NAN : h & 0x8000 ? -INFINITY : INFINITY;
}
FN double of_f8e5m2(m_f8e5m2 h) { return of_f16((m_f16)(h << 8)); }
FN double of_bf16(m_bf16 h) {
    unsigned u = (unsigned)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
FN double of_f32(m_f32 v) { return v; }
FN double of_f64(m_f64 v) { return v; }
FN wide of_bool(m_bool v) { return v != 0; }
FN wide of_u8(m_u8 v) { return v; }
FN wide of_i8(m_i8 v) { return v; }
FN wide of_i16(m_i16 v) { return v; }
FN wide of_i32(m_i32 v) { return v; }
FN wide of_i64(m_i64 v) { return v; }

/* The nearest value with so many digits; from `beyond` on, `above`. */
FN double nearest(double v, int digits, int least, double beyond, double above) {
    int e;
    double a = fabs(v);
    if (v != v || a == 0) return v;
    if (a >= beyond) return v < 0 ? -above : above;
    frexp(a, &e);
    e = e - 1 - digits < least ? least : e - 1 - digits;
    return ldexp(rint(ldexp(v, -e)), e);
}
FN double to_f8e4m3(double v) { return nearest(v, 3, -9, 0x1.d000000000001p8, NAN); }
FN double to_f8e5m2(double v) { return nearest(v, 2, -16, 61440, INFINITY); }
FN double to_f16(double v) { return nearest(v, 10, -24, 65520, INFINITY); }
FN double to_bf16(double v) { return nearest(v, 7, -133, 0x1.ffp127, INFINITY); }
FN double to_f32(double v) { return (float)v; }
FN double to_f64(double v) { return v; }

/* As it lies in memory: v is rounded, to what `digits` and `least` say. */
FN unsigned bits_of(double v, int digits, int bits, int least) {
    unsigned sign = (v < 0 || (v == 0 && 1 / v < 0)) ? 1u << (bits - 1) : 0;
    double a = fabs(v);
    int e;
    if (a < ldexp(1.0, least + digits)) return sign | (unsigned)ldexp(a, -least);
    frexp(a, &e);
    e -= 1 + digits;
    return sign | (((unsigned)(e - least) << digits) + (unsigned)ldexp(a, -e));
}
FN m_f8e4m3 as_f8e4m3(double v) {
    v = to_f8e4m3(v);
    return (m_f8e4m3)(v != v ? 0x7f : bits_of(v, 3, 8, -9));
}
FN m_f16 as_f16(double v) {
    v = to_f16(v);
    if (v != v) return 0x7e00;
    if (fabs(v) == INFINITY) return (m_f16)(v < 0 ? 0xfc00 : 0x7c00);
    return (m_f16)bits_of(v, 10, 16, -24);
}
FN m_f8e5m2 as_f8e5m2(double v) { return (m_f8e5m2)(as_f16(to_f8e5m2(v)) >> 8); }
FN m_bf16 as_bf16(double v) {
    float f = (float)to_bf16(v);
    unsigned u;
    memcpy(&u, &f, 4);
    return (m_bf16)(v != v ? 0x7fc0 : u >> 16);
}
FN m_f32 as_f32(double v) { return (float)v; }
FN m_f64 as_f64(double v) { return v; }
FN m_bool as_bool(wide v) { return v != 0; }
FN m_u8 as_u8(wide v) { return (m_u8)v; }
FN m_i8 as_i8(wide v) { return (m_i8)v; }
FN m_i16 as_i16(wide v) { return (m_i16)v; }
FN m_i32 as_i32(wide v) { return (m_i32)v; }
FN m_i64 as_i64(wide v) { return v; }
FN m_f32 as_up(double v) {
    float f = (float)v;
    return v != v ? (float)INFINITY : (double)f < v ? nextafterf(f, (float)INFINITY) : f;
}

/* ---- integers -------------------------------------------------------------------------------- */

FN wide to_bool(wide v) { return v != 0; }
FN wide to_u8(wide v) { return (m_u8)v; }
FN wide to_i8(wide v) { return (m_i8)v; }
FN wide to_i16(wide v) { return (m_i16)v; }
FN wide to_i32(wide v) { return (m_i32)v; }
FN wide to_i64(wide v) { return v; }

FN wide whole64(double v) { return v >= -0x1p63 && v < 0x1p63 ? (wide)v : (wide)1 << 63; }
FN wide whole32(double v) { return v > -0x1p31 - 1 && v < 0x1p31 ? (wide)v : -0x80000000LL; }
FN double real32(wide v) { return (float)v; } /* as maths in f32 sees it */
FN double real64(wide v) { return (double)v; }

/* Subscript v of n: negative ones count from the end; what is out of range is the nearest end. */
FN wide inside(wide v, wide n) {
    if (v < 0) v += n;
    return v < 0 ? 0 : v >= n ? n - 1 : v;
}

/* Of indices. */
FN wide k_min_i(wide a, wide b) { return a < b ? a : b; }
FN wide k_max_i(wide a, wide b) { return a > b ? a : b; }
