/* prelude.cuh: the head of every generated CUDA kernel. Includes no CUDA header (NVRTC needs 20 ms instead of
 * hundreds). Every operation that only PTX can say sits here behind a k_ name and has a second body under
 * WS_EMULATOR, so that the kernel text below it runs unchanged on the CPU in tests. */
#ifdef WS_EMULATOR
#include "emulator.h" /* __global__, threadIdx, __syncthreads, __shfl_xor_sync, emu_load, emu_store, ... */
#define K_DEVICE static inline __attribute__((always_inline))
#define K_DEVICE_MEMBER static inline __attribute__((always_inline))
#define K_FAR static __attribute__((noinline))
#define K_TABLE static const
#else
#pragma nv_diag_suppress 177 /* declared but never referenced: a kernel uses a part of this */
#define K_DEVICE static __device__ __forceinline__
#define K_DEVICE_MEMBER static __device__ __forceinline__
#define K_FAR static __device__ __noinline__ /* what is rarely reached: it is there once, not at each call */
#define K_TABLE static __device__ const
#endif

/* Functions of many instructions: called where a thread would have thousands of those side by side. */
#ifdef K_LARGE
#define K_MATHS K_FAR
#else
#define K_MATHS K_DEVICE
#endif

/* ---- element types in memory; arithmetic on f16 and bf16 is done in float, on narrow integers in int -- */

typedef float k_f32;
typedef double k_f64;
typedef unsigned char k_u8;
typedef signed char k_i8;
typedef short k_i16;
typedef int k_i32;
typedef long long k_i64;
typedef bool k_flag; /* a bool as a value */
struct k_bf16 { unsigned short bits; };
struct k_f16 { unsigned short bits; };
struct k_f8e4m3 { unsigned char bits; };
struct k_f8e5m2 { unsigned char bits; };
struct k_bool { unsigned char bits; };

template <typename T> struct k_math { typedef T type; };
template <> struct k_math<k_bf16> { typedef float type; };
template <> struct k_math<k_f16> { typedef float type; };
template <> struct k_math<k_f8e4m3> { typedef float type; };
template <> struct k_math<k_f8e5m2> { typedef float type; };
template <> struct k_math<k_bool> { typedef bool type; };
template <> struct k_math<k_u8> { typedef int type; };
template <> struct k_math<k_i8> { typedef int type; };
template <> struct k_math<k_i16> { typedef int type; };

#ifdef WS_EMULATOR
K_DEVICE float k_as_float(unsigned u) { return emu_as_float(u); }
K_DEVICE unsigned k_as_uint(float f) { return emu_as_uint(f); }
K_DEVICE double k_as_double(unsigned lo, unsigned hi) { return emu_as_double(lo, hi); }
K_DEVICE unsigned k_low_word(double d) { return emu_low_word(d); }
K_DEVICE unsigned k_high_word(double d) { return emu_high_word(d); }
K_DEVICE unsigned short k_bf16_bits(float f) { return emu_bf16_bits(f); }
K_DEVICE unsigned k_bf16x2(float lo, float hi) { return emu_bf16_bits(lo) | (unsigned)emu_bf16_bits(hi) << 16; }
K_DEVICE unsigned short k_f16_bits(float f) { return emu_f16_bits(f); }
K_DEVICE float k_f16_float(unsigned short h) { return emu_f16_float(h); }
#else
K_DEVICE float k_as_float(unsigned u) { return __uint_as_float(u); }
K_DEVICE unsigned k_as_uint(float f) { return __float_as_uint(f); }
K_DEVICE double k_as_double(unsigned lo, unsigned hi) { return __hiloint2double((int)hi, (int)lo); }
K_DEVICE unsigned k_low_word(double d) { return (unsigned)__double2loint(d); }
K_DEVICE unsigned k_high_word(double d) { return (unsigned)__double2hiint(d); }
K_DEVICE unsigned short k_bf16_bits(float f) {
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
K_DEVICE unsigned k_bf16x2(float lo, float hi) {
    unsigned w;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(hi), "f"(lo));
    return w;
}
K_DEVICE unsigned short k_f16_bits(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
K_DEVICE float k_f16_float(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
#endif

/* f8: 3 and 2 digits behind the first. What is subnormal there is rounded by adding a number whose last bit is theirs;
 * what is too large becomes nan and infinity, while cvt.rn.satfinite would take the largest. */
K_DEVICE unsigned k_f8e4m3_bits(float f) {
    const unsigned u = k_as_uint(f), sign = (u >> 24) & 0x80u, a = u & 0x7fffffffu;
    const unsigned small = k_as_uint(k_as_float(a) + k_as_float(0x46800000u)) - 0x46800000u;
    const unsigned usual = (a - 0x3c000000u + 0x7ffffu + ((a >> 20) & 1u)) >> 20;
    return sign | (a >= 0x43f00000u ? 0x7fu : a < 0x3c800000u ? small : usual);
}
K_DEVICE float k_f8e4m3_float(unsigned h) {
    const float f = k_as_float((h & 0x7fu) << 20) * k_as_float(0x7b800000u); /* 2^120 */
    return k_as_float(((h & 0x7fu) == 0x7fu ? 0x7fc00000u : k_as_uint(f)) | (h & 0x80u) << 24);
}
K_DEVICE unsigned k_f8e5m2_bits(float f) {
    const unsigned u = k_as_uint(f), sign = (u >> 24) & 0x80u, a = u & 0x7fffffffu;
    const unsigned small = k_as_uint(k_as_float(a) + k_as_float(0x43000000u)) - 0x43000000u;
    const unsigned usual = (a - 0x38000000u + 0xfffffu + ((a >> 21) & 1u)) >> 21;
    const unsigned large = a > 0x7f800000u ? 0x7fu : 0x7cu;
    return sign | (a >= 0x47800000u ? large : a < 0x38800000u ? small : usual);
}
K_DEVICE float k_f8e5m2_float(unsigned h) { return k_f16_float((unsigned short)(h << 8)); }

/* ---- packs: N elements of T as they lie in memory, in 32-bit registers ----------------------- */

template <typename T, int N> struct k_pack {
    enum { BYTES = (int)sizeof(T) * N, WORDS = BYTES < 4 ? 1 : BYTES / 4 };
    unsigned w[WORDS];
};

/* Element i as an arithmetic value. i is a constant after unrolling. */
template <int N> K_DEVICE float k_get(const k_pack<k_f32, N> &p, int i) { return k_as_float(p.w[i]); }
template <int N> K_DEVICE int k_get(const k_pack<k_i32, N> &p, int i) { return (int)p.w[i]; }
template <int N> K_DEVICE int k_get(const k_pack<k_u8, N> &p, int i) { return (k_u8)(p.w[i / 4] >> (8 * (i & 3))); }
template <int N> K_DEVICE int k_get(const k_pack<k_i8, N> &p, int i) { return (k_i8)(p.w[i / 4] >> (8 * (i & 3))); }
template <int N> K_DEVICE int k_get(const k_pack<k_i16, N> &p, int i) { return (k_i16)(p.w[i / 2] >> (16 * (i & 1))); }
template <int N> K_DEVICE double k_get(const k_pack<k_f64, N> &p, int i) { return k_as_double(p.w[2 * i], p.w[2 * i + 1]); }
template <int N> K_DEVICE long long k_get(const k_pack<k_i64, N> &p, int i) {
    return (long long)((unsigned long long)p.w[2 * i + 1] << 32 | p.w[2 * i]);
}
template <int N> K_DEVICE float k_get(const k_pack<k_bf16, N> &p, int i) {
    return k_as_float(i & 1 ? p.w[i / 2] & 0xffff0000u : p.w[i / 2] << 16);
}
template <int N> K_DEVICE float k_get(const k_pack<k_f16, N> &p, int i) {
    return k_f16_float((unsigned short)(p.w[i / 2] >> (16 * (i & 1))));
}
template <int N> K_DEVICE float k_get(const k_pack<k_f8e4m3, N> &p, int i) {
    return k_f8e4m3_float(p.w[i / 4] >> (8 * (i & 3)) & 255);
}
template <int N> K_DEVICE float k_get(const k_pack<k_f8e5m2, N> &p, int i) {
    return k_f8e5m2_float(p.w[i / 4] >> (8 * (i & 3)) & 255);
}
/* A byte as a float, of whose bits it is made: 2^23 and the byte, less 2^23. Conversions are slower. */
template <int N> K_DEVICE float k_get_float(const k_pack<k_u8, N> &p, int i) {
    return k_as_float(0x4b000000u | (p.w[i / 4] >> (8 * (i & 3)) & 255)) - 0x1p23f;
}
template <int N> K_DEVICE float k_get_float(const k_pack<k_i8, N> &p, int i) {
    const unsigned w = p.w[i / 4] ^ 0x80808080u; /* 128 more, which is no less than 0 */
    return k_as_float(0x4b000000u | (w >> (8 * (i & 3)) & 255)) - (0x1p23f + 128);
}
template <int N> K_DEVICE bool k_get(const k_pack<k_bool, N> &p, int i) { return (p.w[i / 4] >> (8 * (i & 3)) & 255) != 0; }

/* Element i, as it lies in memory. */
template <typename T, int N> K_DEVICE k_pack<T, 1> k_pick(const k_pack<T, N> &p, int i) {
    enum { BITS = 8 * (int)sizeof(T), EACH = BITS < 32 ? 32 / BITS : 1, WORDS = k_pack<T, 1>::WORDS };
    k_pack<T, 1> q;
#pragma unroll
    for (int j = 0; j < WORDS; j++) q.w[j] = p.w[i * WORDS / EACH + j];
    if (EACH > 1) q.w[0] = q.w[0] >> (BITS % 32 * (i % EACH)) & ((1u << BITS % 32) - 1);
    return q;
}

/* The low bits of N integers, next to each other. */
template <int BITS, int N> K_DEVICE void k_put_bits(unsigned *w, const int *v) {
    enum { EACH = 32 / BITS };
#pragma unroll
    for (int i = 0; i < (N + EACH - 1) / EACH; i++) w[i] = 0;
#pragma unroll
    for (int i = 0; i < N; i++) w[i / EACH] |= ((unsigned)v[i] & ((1u << BITS) - 1)) << (BITS * (i % EACH));
}
/* N arithmetic values into a pack, rounded to T. */
template <int N> K_DEVICE void k_put(k_pack<k_u8, N> &p, const int *v) { k_put_bits<8, N>(p.w, v); }
template <int N> K_DEVICE void k_put(k_pack<k_i8, N> &p, const int *v) { k_put_bits<8, N>(p.w, v); }
template <int N> K_DEVICE void k_put(k_pack<k_i16, N> &p, const int *v) { k_put_bits<16, N>(p.w, v); }
template <int N> K_DEVICE void k_put(k_pack<k_f32, N> &p, const float *v) {
#pragma unroll
    for (int i = 0; i < N; i++) p.w[i] = k_as_uint(v[i]);
}
template <int N> K_DEVICE void k_put(k_pack<k_i32, N> &p, const int *v) {
#pragma unroll
    for (int i = 0; i < N; i++) p.w[i] = (unsigned)v[i];
}
template <int N> K_DEVICE void k_put(k_pack<k_f64, N> &p, const double *v) {
#pragma unroll
    for (int i = 0; i < N; i++) p.w[2 * i] = k_low_word(v[i]), p.w[2 * i + 1] = k_high_word(v[i]);
}
template <int N> K_DEVICE void k_put(k_pack<k_i64, N> &p, const long long *v) {
#pragma unroll
    for (int i = 0; i < N; i++)
        p.w[2 * i] = (unsigned)(unsigned long long)v[i], p.w[2 * i + 1] = (unsigned)((unsigned long long)v[i] >> 32);
}
template <int N> K_DEVICE void k_put(k_pack<k_bf16, N> &p, const float *v) {
#pragma unroll
    for (int i = 0; i < N / 2; i++) p.w[i] = k_bf16x2(v[2 * i], v[2 * i + 1]);
    if (N & 1) p.w[N / 2] = k_bf16_bits(v[N - 1]);
}
template <int N> K_DEVICE void k_put(k_pack<k_f16, N> &p, const float *v) {
#pragma unroll
    for (int i = 0; i < N / 2; i++) p.w[i] = k_f16_bits(v[2 * i]) | (unsigned)k_f16_bits(v[2 * i + 1]) << 16;
    if (N & 1) p.w[N / 2] = k_f16_bits(v[N - 1]);
}
template <int N> K_DEVICE void k_put(k_pack<k_f8e4m3, N> &p, const float *v) {
    int bits[N];
#pragma unroll
    for (int i = 0; i < N; i++) bits[i] = (int)k_f8e4m3_bits(v[i]);
    k_put_bits<8, N>(p.w, bits);
}
template <int N> K_DEVICE void k_put(k_pack<k_f8e5m2, N> &p, const float *v) {
    int bits[N];
#pragma unroll
    for (int i = 0; i < N; i++) bits[i] = (int)k_f8e5m2_bits(v[i]);
    k_put_bits<8, N>(p.w, bits);
}
template <int N> K_DEVICE void k_put(k_pack<k_bool, N> &p, const bool *v) {
#pragma unroll
    for (int i = 0; i < (N + 3) / 4; i++) p.w[i] = 0;
#pragma unroll
    for (int i = 0; i < N; i++) p.w[i / 4] |= (unsigned)v[i] << (8 * (i & 3));
}

/* ---- global memory. `at` must be aligned to the pack's size; sizes 1, 2, 4, 8, 16, and multiples of 16  */

/* What loads are told, as bits: leave no copy in L1; leave L2 before what is stored does, or after it. */
enum { K_SKIP_L1 = 1, K_LEAVE_L2 = 2, K_STAY_L2 = 4 };
#ifndef WS_EMULATOR
template <int HINTS> K_DEVICE unsigned long long k_l2_policy() {
    unsigned long long policy = 0;
    if (HINTS & K_LEAVE_L2) asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    if (HINTS & K_STAY_L2) asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    return policy;
}
#endif
#define K_LOAD_WORDS(hint, POLICY, policy_input)                                                          \
    if (BYTES == 1) {                                                                                     \
        unsigned short h;                                                                                 \
        asm volatile("ld.global.nc" hint ".u8 %0, [%1]" POLICY(2) ";" : "=h"(h) : "l"(at) policy_input);  \
        w[0] = h;                                                                                         \
    } else if (BYTES == 2) {                                                                              \
        unsigned short h;                                                                                 \
        asm volatile("ld.global.nc" hint ".u16 %0, [%1]" POLICY(2) ";" : "=h"(h) : "l"(at) policy_input); \
        w[0] = h;                                                                                         \
    } else if (BYTES == 4) {                                                                              \
        asm volatile("ld.global.nc" hint ".u32 %0, [%1]" POLICY(2) ";"                                    \
                     : "=r"(w[0]) : "l"(at) policy_input);                                                \
    } else if (BYTES == 8) {                                                                              \
        asm volatile("ld.global.nc" hint ".v2.u32 {%0, %1}, [%2]" POLICY(3) ";"                           \
                     : "=r"(w[0]), "=r"(w[1]) : "l"(at) policy_input);                                    \
    } else {                                                                                              \
        _Pragma("unroll") for (int i = 0; i < BYTES / 16; i++)                                            \
            asm volatile("ld.global.nc" hint ".v4.u32 {%0, %1, %2, %3}, [%4]" POLICY(5) ";"               \
                         : "=r"(w[4 * i]), "=r"(w[4 * i + 1]), "=r"(w[4 * i + 2]), "=r"(w[4 * i + 3])     \
                         : "l"((const char *)at + 16 * i) policy_input);                                  \
    }
#define K_NO_POLICY(operand) ""
#define K_POLICY(operand) ", %" #operand
#define K_POLICY_INPUT , "l"(policy)
template <int BYTES, int HINTS> K_DEVICE void k_load_words(unsigned *w, const void *at) {
#ifdef WS_EMULATOR
    emu_load(w, at, BYTES);
#else
    const unsigned long long policy = k_l2_policy<HINTS>();
    if (HINTS & (K_LEAVE_L2 | K_STAY_L2)) {
        if (HINTS & K_SKIP_L1) {
            K_LOAD_WORDS(".L1::no_allocate.L2::cache_hint", K_POLICY, K_POLICY_INPUT)
        } else {
            K_LOAD_WORDS(".L2::cache_hint", K_POLICY, K_POLICY_INPUT)
        }
    } else if (HINTS & K_SKIP_L1) {
        K_LOAD_WORDS(".L1::no_allocate", K_NO_POLICY, )
    } else {
        K_LOAD_WORDS("", K_NO_POLICY, )
    }
#endif
}

template <int BYTES, int STREAM> K_DEVICE void k_store_words(void *at, const unsigned *w) {
#ifdef WS_EMULATOR
    emu_store(at, w, BYTES);
#else
    if (BYTES == 1) {
        asm volatile("st.global.u8 [%0], %1;" : : "l"(at), "h"((unsigned short)w[0]) : "memory");
    } else if (BYTES == 2) {
        asm volatile("st.global.u16 [%0], %1;" : : "l"(at), "h"((unsigned short)w[0]) : "memory");
    } else if (BYTES == 4) {
        asm volatile("st.global.u32 [%0], %1;" : : "l"(at), "r"(w[0]) : "memory");
    } else if (BYTES == 8) {
        asm volatile("st.global.v2.u32 [%0], {%1, %2};" : : "l"(at), "r"(w[0]), "r"(w[1]) : "memory");
    } else {
#pragma unroll
        for (int i = 0; i < BYTES / 16; i++)
            if (STREAM)
                asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                             : : "l"((char *)at + 16 * i), "r"(w[4 * i]), "r"(w[4 * i + 1]), "r"(w[4 * i + 2]),
                             "r"(w[4 * i + 3]) : "memory");
            else
                asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                             : : "l"((char *)at + 16 * i), "r"(w[4 * i]), "r"(w[4 * i + 1]), "r"(w[4 * i + 2]),
                             "r"(w[4 * i + 3]) : "memory");
    }
#endif
}

template <typename T, int N, int HINTS = 0> K_DEVICE k_pack<T, N> k_load(const T *at) {
    k_pack<T, N> p;
    k_load_words<k_pack<T, N>::BYTES, HINTS>(p.w, at);
    return p;
}
template <typename T, int N, int STREAM> K_DEVICE void k_store(T *at, const k_pack<T, N> &p) {
    k_store_words<k_pack<T, N>::BYTES, STREAM>(at, p.w);
}
/* p[at] and the N - 1 elements behind it, wherever they begin: out of the aligned vector that p[at] lies in and the
 * next, both of which are read, or, WITHIN, no vector but those in which some of these lie. */
K_DEVICE unsigned k_funnel(unsigned low, unsigned high, unsigned bits) {
#ifdef WS_EMULATOR
    return bits ? low >> bits | high << (32 - bits) : low;
#else
    return __funnelshift_r(low, high, bits);
#endif
}
template <typename T, int N, int HINTS = 0, bool WITHIN = false, typename I>
K_DEVICE k_pack<T, N> k_load_shifted(const T *p, I at) {
    enum { WORDS = k_pack<T, N>::WORDS, PARTS = sizeof(T) < 4 };
    const unsigned past = (unsigned)at & (N - 1), bytes = past * (unsigned)sizeof(T);
    const T *from = p + (at - (I)past);
    const k_pack<T, N> a = k_load<T, N, HINTS>(from);
    const k_pack<T, N> b = k_load<T, N, HINTS>(WITHIN && !past ? from : from + N);
    unsigned w[2 * WORDS];
#pragma unroll
    for (int i = 0; i < WORDS; i++) w[i] = a.w[i], w[WORDS + i] = b.w[i];
#pragma unroll
    for (int s = WORDS / 2; s > 0; s /= 2) /* words first, by powers of two: what is left needs ever fewer */
#pragma unroll
        for (int i = 0; i < WORDS + s - 1 + PARTS; i++) w[i] = bytes & (4u * (unsigned)s) ? w[i + s] : w[i];
    k_pack<T, N> v;
#pragma unroll
    for (int i = 0; i < WORDS; i++) v.w[i] = PARTS ? k_funnel(w[i], w[i + PARTS], 8 * (bytes & 3)) : w[i];
    return v;
}
/* Where c holds; else zeros, and nothing is read. */
template <typename T, int N, int HINTS = 0> K_DEVICE k_pack<T, N> k_load_if(bool c, const T *at) {
    k_pack<T, N> p;
#pragma unroll
    for (int i = 0; i < (int)(sizeof p.w / sizeof *p.w); i++) p.w[i] = 0;
    if (c) k_load_words<k_pack<T, N>::BYTES, HINTS>(p.w, at);
    return p;
}
/* One element. */
template <typename T> K_DEVICE typename k_math<T>::type k_load1_if(bool c, const T *at) {
    return k_get(k_load_if<T, 1>(c, at), 0);
}
template <typename T> K_DEVICE typename k_math<T>::type k_load1(const T *at) { return k_get(k_load<T, 1>(at), 0); }
template <int STREAM = 0, typename T> K_DEVICE void k_store1(T *at, typename k_math<T>::type v) {
    k_pack<T, 1> p;
    k_put(p, &v);
    k_store<T, 1, STREAM>(at, p);
}

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
/* Cody and Waite: pi / 2 in three parts. Of -0 -0 is left: q is 0 then, for which something is added to nothing. */
K_DEVICE k_turned k_turn_near(float a) {
    const float q = rintf(fmaf(a, 0.636619772f, 0.0f));
    return k_turned{fmaf(q, -5.39030253e-15f, fmaf(q, -3.13916473e-7f, fmaf(q, -1.57079601f, a))), (int)q};
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
K_MATHS float k_sin(float a) { return k_wave(k_turn(a)); }
K_MATHS float k_cos(float a) { return k_wave(k_quarter_on(k_turn(a))); }
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

/* ---- reductions: thread -> warp -> block ----------------------------------------------------- */

struct k_sum { template <typename T> K_DEVICE_MEMBER T of(T a, T b) { return k_wrap_add(a, b); } };
struct k_prod { template <typename T> K_DEVICE_MEMBER T of(T a, T b) { return k_wrap_mul(a, b); } };
struct k_amax { template <typename T> K_DEVICE_MEMBER T of(T a, T b) { return k_max(a, b); } };
struct k_amin { template <typename T> K_DEVICE_MEMBER T of(T a, T b) { return k_min(a, b); } };

/* argmax and argmin: a value and its number. Of equal values the one with the least number wins; nan beats all. */
template <typename T, typename I> struct k_pair { T value; I at; };
template <typename T> K_DEVICE bool k_wins(T b, T a, bool larger, bool first) {
    const bool both = a == b || (a != a && b != b);
    return larger || (b != b && a == a) || (both && first);
}
struct k_argmax {
    template <typename P> K_DEVICE_MEMBER P of(P a, P b) {
        return k_wins(b.value, a.value, b.value > a.value, b.at < a.at) ? b : a;
    }
    template <typename T> K_DEVICE_MEMBER T most(T a, T b) { return k_max(a, b); }
    template <typename T> K_DEVICE_MEMBER unsigned most(T t, unsigned a, unsigned b) { return k_max2(t, a, b); }
    template <typename T> K_DEVICE_MEMBER bool within(T b, T a) { return b <= a; }
};
struct k_argmin {
    template <typename P> K_DEVICE_MEMBER P of(P a, P b) {
        return k_wins(b.value, a.value, b.value < a.value, b.at < a.at) ? b : a;
    }
    template <typename T> K_DEVICE_MEMBER T most(T a, T b) { return k_min(a, b); }
    template <typename T> K_DEVICE_MEMBER unsigned most(T t, unsigned a, unsigned b) { return k_min2(t, a, b); }
    template <typename T> K_DEVICE_MEMBER bool within(T b, T a) { return b >= a; }
};

/* The extremum of a vector; nan if one is. Those of 16 bits go by twos. */
template <typename OP, typename T, int N> K_DEVICE typename k_math<T>::type k_most(const k_pack<T, N> &p) {
    typename k_math<T>::type m[N];
#pragma unroll
    for (int i = 0; i < N; i++) m[i] = k_get(p, i);
#pragma unroll
    for (int s = N / 2; s > 0; s /= 2)
#pragma unroll
        for (int i = 0; i < s; i++) m[i] = OP::most(m[i], m[i + s]);
    return m[0];
}
template <typename OP, typename T, int N> K_DEVICE float k_most_by_twos(k_pack<T, N> p) {
#pragma unroll
    for (int s = N / 4; s > 0; s /= 2)
#pragma unroll
        for (int i = 0; i < s; i++) p.w[i] = OP::most(T(), p.w[i], p.w[i + s]);
    return OP::most(k_get(p, 0), k_get(p, 1));
}
template <typename OP, int N> K_DEVICE float k_most(const k_pack<k_bf16, N> &p) { return k_most_by_twos<OP>(p); }
template <typename OP, int N> K_DEVICE float k_most(const k_pack<k_f16, N> &p) { return k_most_by_twos<OP>(p); }
/* Vectors of one row in the order of their numbers: the first with the extremum so far is kept, and its first number.
 * The first vector is, whatever it has. */
template <typename OP, typename P, typename V, typename T, typename I>
K_DEVICE void k_keep(P &a, V &kept, T most, I at, const V &p) {
    if ((!OP::within(decltype(a.value)(most), a.value) & (a.value == a.value)) | (at < a.at))
        a.value = most, a.at = at, kept = p;
}
/* The place in there of its first element that is the extremum; 0 if no vector was kept. */
template <typename T, int N, typename M> K_DEVICE int k_place(const k_pack<T, N> &kept, M most) {
    int place = 0;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) {
        const M b = k_get(kept, i);
        if (b == most || b != b) place = i;
    }
    return place;
}

/* How many, and sums of their differences from a number near them, and of the squares of these; n counts from 0 by ones.
 * The number is the first of them, and at every power of two from 8 on their mean so far: were the first far from all
 * others, sums of its distance would lose the digits of theirs. */
template <typename T> struct k_m2_state { T n, near, sum, squares; };
template <typename T> struct k_squares { int n; T near, sum, squares; };
K_DEVICE bool k_is_power_of_two(int n) { return (n & (n - 1)) == 0; } /* or 0 */
K_DEVICE bool k_is_power_of_two(float n) { return k_as_uint(n) << 9 == 0; }
K_DEVICE bool k_is_power_of_two(double n) { return k_is_power_of_two((int)n); }
template <typename S, typename T> K_DEVICE S k_come_near(S a, T x) {
    if (a.n == 0) a.near = x;
    if (a.n < 8) return a;
    const T n = (T)a.n, e = k_div(a.sum, n);
    a.squares -= e * ((T)2 * a.sum - n * e);
    a.sum -= n * e;
    a.near += e;
    return a;
}
template <typename S, typename T> K_DEVICE S k_add_near(S a, T x, bool may_move) {
    if (may_move && k_is_power_of_two(a.n)) a = k_come_near(a, x);
    const T d = x - a.near;
    a.n += 1;
    a.sum += d;
    a.squares += d * d;
    return a;
}

/* Of a thread's part of a sum of (x - u)^2, whose u is known later. */
template <typename T> K_DEVICE T k_squares_about(k_squares<T> a, T u) {
    const T e = u - a.near;
    return a.n ? a.squares - e * ((T)2 * a.sum - (T)a.n * e) : (T)0;
}

/* m2: of two, each is made to differ from its mean, and they are joined as Chan, Golub and LeVeque do (Updating
 * formulae, 1979). */
template <typename T> K_DEVICE T k_m2_off(k_m2_state<T> a) { return a.sum == (T)0 ? (T)0 : k_div(a.sum, a.n); }
template <typename T> K_DEVICE T k_m2_value(k_m2_state<T> a) {
    return a.n > (T)0 ? a.squares - a.sum * k_div(a.sum, a.n) : (T)0;
}
struct k_m2 {
    template <typename T> K_DEVICE_MEMBER k_m2_state<T> of(k_m2_state<T> a, T x) { return k_add_near(a, x, true); }
    /* The same of a few, whose first is near enough: its own square is a part of what they come to. */
    template <typename T> K_DEVICE_MEMBER k_m2_state<T> few(k_m2_state<T> a, T x) {
        if (a.n == (T)0) a.near = x;
        return k_add_near(a, x, false);
    }
    /* What lanes and tiles leave differs from its mean already. Of one that has none, or beside such, d counts 0 times. */
    template <typename T> K_DEVICE_MEMBER k_m2_state<T> of(k_m2_state<T> a, k_m2_state<T> b) {
        const T n = a.n + b.n, part = n > (T)0 ? k_div(b.n, n) : (T)0, off_a = k_m2_off(a), off_b = k_m2_off(b),
                mean = a.near + off_a, d = b.near + off_b - mean;
        return k_m2_state<T>{n, mean + d * part, (T)0,
                             a.squares - a.sum * off_a + (b.squares - b.sum * off_b) + d * part * a.n * d};
    }
};

/* expsum: the largest so far, and the sum of exp(x - that). */
template <typename T> struct k_expsum_state { T max, sum; };
template <typename T> K_DEVICE T k_expsum_value(k_expsum_state<T> a) { return a.sum * (a.max - a.max + (T)1); }
struct k_expsum {
    template <typename T> K_DEVICE_MEMBER k_expsum_state<T> of(k_expsum_state<T> a, T x) {
        if (x == (T)-k_inf()) return a;
        const T d = x - a.max, e = k_exp(d > (T)0 ? -d : d);
        return d > (T)0 ? k_expsum_state<T>{x, a.sum * e + (T)1} : k_expsum_state<T>{a.max, a.sum + e};
    }
    template <typename T> K_DEVICE_MEMBER k_expsum_state<T> of(k_expsum_state<T> a, k_expsum_state<T> b) {
        if (b.max == (T)-k_inf() && b.sum == b.sum) return a; /* a NaN may stand beside no maximum yet */
        const T d = b.max - a.max, e = k_exp(d > (T)0 ? -d : d);
        return d > (T)0 ? k_expsum_state<T>{b.max, a.sum * e + b.sum} : k_expsum_state<T>{a.max, a.sum + b.sum * e};
    }
};

/* Accumulators above one (kernel/chain.c), which has had a block of terms, after `n` others: it is added to the first of
 * them, and has nothing again; RADIX blocks make one of the next. The thread gets all of them in the end. */
template <typename OP, int RADIX, int LEVELS, typename T> K_DEVICE void k_fold(T (&above)[LEVELS], T &a, T none, unsigned n) {
    T x = a;
    a = none;
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
        above[l] = OP::of(above[l], x);
        if (l + 1 == LEVELS || (n + 1) % RADIX) return;
        n /= RADIX;
        x = above[l];
        above[l] = none;
    }
}
template <typename OP, int LEVELS, typename T> K_DEVICE T k_unfold(const T (&above)[LEVELS], T a) {
#pragma unroll
    for (int l = 0; l < LEVELS; l++) a = OP::of(above[l], a);
    return a;
}
/* They are in local memory: registers are for what is added to all the time. Compilers do not know that they begin where
 * they are, so many layers on as the grid has but the first: none. */
template <typename T> K_DEVICE T &k_in_memory(T &above) {
    T *at = &above;
#ifndef WS_EMULATOR
    asm volatile("add.u64 %0, %0, %1;" : "+l"(at) : "l"((unsigned long long)(gridDim.z - 1)));
#endif
    return *at;
}
struct k_join_squares {
    template <typename T> K_DEVICE_MEMBER k_squares<T> of(k_squares<T> a, k_squares<T> b) {
        if (a.n == 0) return b;
        if (b.n == 0) return a;
        const T part = (T)b.n / (T)(a.n + b.n), e = a.sum / (T)a.n, f = b.sum / (T)b.n, d = b.near + f - (a.near + e);
        return k_squares<T>{a.n + b.n, a.near + e + d * part, (T)0,
                            a.squares - a.sum * e + (b.squares - b.sum * f) + d * d * (T)a.n * part};
    }
};

template <typename T> K_DEVICE T k_shfl(T v, int from, int width) { return __shfl_sync(0xffffffffu, v, from, width); }
template <typename T> K_DEVICE T k_shfl_xor(T v, int lane_mask) { return __shfl_xor_sync(0xffffffffu, v, lane_mask); }
template <typename T, typename I> K_DEVICE k_pair<T, I> k_shfl_xor(k_pair<T, I> v, int lane_mask) {
    v.value = k_shfl_xor(v.value, lane_mask);
    v.at = k_shfl_xor(v.at, lane_mask);
    return v;
}
template <typename T> K_DEVICE k_m2_state<T> k_shfl_xor(k_m2_state<T> v, int lane_mask) {
    return k_m2_state<T>{k_shfl_xor(v.n, lane_mask), k_shfl_xor(v.near, lane_mask), k_shfl_xor(v.sum, lane_mask),
                        k_shfl_xor(v.squares, lane_mask)};
}
template <typename T> K_DEVICE k_expsum_state<T> k_shfl_xor(k_expsum_state<T> v, int lane_mask) {
    return k_expsum_state<T>{k_shfl_xor(v.max, lane_mask), k_shfl_xor(v.sum, lane_mask)};
}

/* What sums of exp(x - own) are to be multiplied by, to be those of exp(x - max): own is max, less, or -inf. */
template <typename T> K_DEVICE T k_rescale(T own, T max) { return k_exp(own - max); }

/* What lanes have that are FROM, 2*FROM, ... below TO apart: each gets it of all of them. */
template <typename OP, int FROM, int TO, typename T> K_DEVICE T k_reduce_lanes(T v) {
#pragma unroll
    for (int m = FROM; m < TO; m *= 2) v = OP::of(v, k_shfl_xor(v, m));
    return v;
}
/* Of lanes' states: first their mean, by how far each is from one of them, then what they are off by. Two divisions, where
 * joining them two by two takes three a step. */
template <int FROM, int TO, typename T> K_DEVICE k_m2_state<T> k_m2_lanes(k_m2_state<T> v) {
    const T near = k_shfl(v.near, (int)threadIdx.x & 31 & ~(TO - FROM), 32);
    const T off = v.n > (T)0 ? k_div(v.sum, v.n) : (T)0, own = v.n > (T)0 ? v.near - near + off : (T)0;
    const T n = k_reduce_lanes<k_sum, FROM, TO>(v.n), all = k_reduce_lanes<k_sum, FROM, TO>(v.n * own);
    const T mean = n > (T)0 ? k_div(all, n) : (T)0, d = own - mean;
    return k_m2_state<T>{n, near + mean, (T)0, k_reduce_lanes<k_sum, FROM, TO>(v.squares - v.sum * off + v.n * d * d)};
}

/* Of N states that lie side by side, in the same way. */
template <int N, typename T> K_DEVICE k_m2_state<T> k_m2_parts(const k_m2_state<T> *v) {
    const T near = v[0].near;
    T n = 0, all = 0, own[N], squares = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        own[i] = v[i].n > (T)0 ? v[i].near - near + k_div(v[i].sum, v[i].n) : (T)0;
        n += v[i].n;
        all += v[i].n * own[i];
    }
    const T mean = n > (T)0 ? k_div(all, n) : (T)0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const T d = own[i] - mean;
        squares += k_m2_value(v[i]) + v[i].n * d * d;
    }
    return k_m2_state<T>{n, near + mean, (T)0, squares};
}

/* Of N states `apart` from each other, each of which differs from its mean already. */
template <int N, typename T> K_DEVICE k_m2_state<T> k_m2_settled(const k_m2_state<T> *v, int apart) {
    const T near = v->near;
    T n = 0, all = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        n += v[i * apart].n;
        all += v[i * apart].n * (v[i * apart].near - near);
    }
    const T mean = n > (T)0 ? k_div(all, n) : (T)0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const T d = v[i * apart].near - near - mean;
        squares += v[i * apart].squares + v[i * apart].n * d * d;
    }
    return k_m2_state<T>{n, near + mean, (T)0, squares};
}

/* What a block has left is about its mean: no division to find how far off it is. */
template <typename T> K_DEVICE k_m2_state<T> k_settled(k_m2_state<T> a) { return k_m2_state<T>{a.n, a.near, (T)0, a.squares}; }

/* The two halves of k_reduce_row, between which the caller puts a barrier, one for several reductions. */
template <typename OP, int T1, typename T> K_DEVICE T k_reduce_warps(T v, T *smem) {
#pragma unroll
    for (int m = (T1 < 32 ? T1 : 32) / 2; m > 0; m /= 2) v = OP::of(v, k_shfl_xor(v, m));
    const int tid = (int)threadIdx.x;
    if (T1 > 32 && (tid & 31) == 0) smem[tid / 32] = v;
    return v;
}
template <typename OP, int T1, typename T> K_DEVICE k_m2_state<T> k_reduce_warps(k_m2_state<T> v, k_m2_state<T> *smem) {
    v = k_m2_lanes<1, (T1 < 32 ? T1 : 32)>(v);
    const int tid = (int)threadIdx.x;
    if (T1 > 32 && (tid & 31) == 0) smem[tid / 32] = v;
    return v;
}
template <typename OP, int T1, typename T> K_DEVICE T k_reduce_parts(T v, const T *smem) {
    if (T1 <= 32) return v;
    const int W = T1 < 32 ? 1 : T1 / 32, row = (int)threadIdx.x / T1;
    T part[W];
#pragma unroll
    for (int i = 0; i < W; i++) part[i] = smem[row * W + i];
#pragma unroll
    for (int apart = 1; apart < W; apart *= 2)
#pragma unroll
        for (int i = 0; i < W; i += 2 * apart) part[i] = OP::of(part[i], part[i + apart]);
    return part[0];
}

/* A lane has one of them: all by each thread would be more than the rest of a short row. */
template <typename OP, int T1, typename T> K_DEVICE k_m2_state<T> k_reduce_parts(k_m2_state<T> v, const k_m2_state<T> *smem) {
    const int W = T1 <= 32 ? 1 : T1 / 32, row = (int)threadIdx.x / T1;
    return T1 <= 32 ? v : k_m2_lanes<1, W>(smem[row * W + (int)threadIdx.x % W]);
}

/* Threads of a block form T0 rows of T1 threads, a row's threads adjacent (tid = row*T1 + column). Every thread gets
 * the reduction of its row. T1 is a power of two; smem holds T0*T1/32 values and is not reused without a barrier. */
template <typename OP, int T1, typename T> K_DEVICE T k_reduce_row(T v, T *smem) {
    v = k_reduce_warps<OP, T1>(v, smem);
    if (T1 > 32) __syncthreads();
    return k_reduce_parts<OP, T1>(v, smem);
}

/* A maximum, and N sums of exponentials that are relative to it. */
template <int N, typename T> struct k_online { T max, sum[N]; };
/* The factor by which sums relative to `from` become relative to a larger maximum; of no elements, 0. */
template <typename T> K_DEVICE T k_online_scale(T from, T to) { return k_exp(from - (to == (T)-k_inf() ? (T)0 : to)); }
struct k_join_online {
    template <int N, typename T> K_DEVICE_MEMBER k_online<N, T> of(k_online<N, T> a, k_online<N, T> b) {
        const T max = k_max(a.max, b.max), from_a = k_online_scale(a.max, max), from_b = k_online_scale(b.max, max);
#pragma unroll
        for (int n = 0; n < N; n++) a.sum[n] = a.sum[n] * from_a + b.sum[n] * from_b;
        a.max = max;
        return a;
    }
};
template <typename S> K_DEVICE S k_no_online() {
    S none = {};
    none.max = -k_inf();
    return none;
}
/* As k_reduce_row, in one go: an exponential for each warp, not for each step. */
template <int T1, int N, typename T> K_DEVICE k_online<N, T> k_online_row(k_online<N, T> v, k_online<N, T> *smem) {
    const T own = v.max;
#pragma unroll
    for (int m = (T1 < 32 ? T1 : 32) / 2; m > 0; m /= 2) v.max = k_max(v.max, k_shfl_xor(v.max, m));
    const T scale = k_online_scale(own, v.max);
#pragma unroll
    for (int n = 0; n < N; n++) {
        v.sum[n] *= scale;
#pragma unroll
        for (int m = (T1 < 32 ? T1 : 32) / 2; m > 0; m /= 2) v.sum[n] += k_shfl_xor(v.sum[n], m);
    }
    if (T1 <= 32) return v;
    const int tid = (int)threadIdx.x, first = tid / T1 * (T1 / 32);
    if ((tid & 31) == 0) smem[tid / 32] = v;
    __syncthreads();
    v.max = smem[first].max;
#pragma unroll
    for (int i = 1; i < T1 / 32; i++) v.max = k_max(v.max, smem[first + i].max);
#pragma unroll
    for (int n = 0; n < N; n++) v.sum[n] = 0;
#pragma unroll
    for (int i = 0; i < T1 / 32; i++) {
        const T part = k_online_scale(smem[first + i].max, v.max);
#pragma unroll
        for (int n = 0; n < N; n++) v.sum[n] += smem[first + i].sum[n] * part;
    }
    return v;
}

/* The other way round: tid = column*T0 + row, T1 columns; a thread brings v[N], one for each of N rows, and gets their
 * reductions. A warp's columns are combined by shuffles, so W parts of each row go through shared memory: as they lie
 * there, part*N*T0 + n*T0 + row, one thread adds up each of the N*T0 rows. smem holds W*N*T0 values. */
template <typename OP, int T0, int T1, int N, typename T> K_DEVICE void k_reduce_columns(T *v, T *smem) {
    const int S = T0 < 32 ? 32 / T0 : 1, W = T1 / S, ROWS = N * T0;
#pragma unroll
    for (int m = T0; m < 32; m *= 2)
#pragma unroll
        for (int n = 0; n < N; n++) v[n] = OP::of(v[n], k_shfl_xor(v[n], m));
    if (W > 1) {
        const int tid = (int)threadIdx.x, row = tid % T0, part = tid / (T0 * S);
        if (S == 1 || (tid & 31) < T0)
#pragma unroll
            for (int n = 0; n < N; n++) smem[part * ROWS + n * T0 + row] = v[n];
        __syncthreads();
#pragma unroll
        for (int from = 0; from < ROWS; from += T0 * T1) {
            const int i = from + tid;
            if (i >= ROWS) break;
            T sum = smem[i];
#pragma unroll
            for (int p = 1; p < W; p++) sum = OP::of(sum, smem[p * ROWS + i]);
            smem[i] = sum;
        }
        __syncthreads();
#pragma unroll
        for (int n = 0; n < N; n++) v[n] = smem[n * T0 + row];
    }
}
/* States are joined in two sums, their mean's and that of what they are off by it: as text, two by two, they would be most
 * of a kernel, and instructions that nobody has had before come from memory as well. */
template <typename OP, int T0, int T1, int N, typename T>
K_DEVICE void k_reduce_columns(k_m2_state<T> *v, k_m2_state<T> *smem) {
    const int S = T0 < 32 ? 32 / T0 : 1, W = T1 / S, ROWS = N * T0;
#pragma unroll
    for (int n = 0; n < N; n++) v[n] = k_m2_lanes<(T0 < 32 ? T0 : 32), 32>(v[n]);
    if (W > 1) {
        const int tid = (int)threadIdx.x, row = tid % T0, part = tid / (T0 * S);
        if (S == 1 || (tid & 31) < T0)
#pragma unroll
            for (int n = 0; n < N; n++) smem[part * ROWS + n * T0 + row] = v[n];
        __syncthreads();
#pragma unroll 1
        for (int i = tid; i < ROWS; i += T0 * T1) smem[i] = k_m2_settled<W>(smem + i, ROWS);
        __syncthreads();
#pragma unroll
        for (int n = 0; n < N; n++) v[n] = smem[n * T0 + row];
    }
}

/* Sources that the threads of a block have tested, EACH in a row of warps: thread t has found bit i of `found` of
 * source from + (t / 32 * EACH + i) * 32 + t % 32. What is found is appended to the n that are listed, in order, each
 * with its place; returns how many they are now. counts[] holds a number for each warp. */
template <int THREADS, int EACH, typename I>
K_DEVICE int k_list_hits(unsigned found, const int *place, I from, int n, I *hits, int *places, int *counts) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const bool any = __any_sync(0xffffffffu, found != 0);
    int own = 0, before = 0, all = 0;
    if (any)
        for (int i = 0; i < EACH; i++) own += __popc(__ballot_sync(0xffffffffu, found >> i & 1));
    if (lane == 0) counts[warp] = own;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < THREADS / 32; w++) {
        const int count = counts[w];
        before += w < warp ? count : 0;
        all += count;
    }
    int at = n + before;
    if (any)
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const unsigned mask = __ballot_sync(0xffffffffu, found >> i & 1);
            const int slot = at + __popc(mask & ((1u << lane) - 1));
            if (found >> i & 1) hits[slot] = from + (I)((warp * EACH + i) * 32 + lane), places[slot] = place[i];
            at += __popc(mask);
        }
    __syncthreads();
    return n + all;
}

/* Sources are sorted by their keys, 8 bits in a pass, by blocks of 256 threads; of `n` sources each has as many, which
 * follow one another. counts[digit][block] is how many keys of the block's own have the digit. */
K_DEVICE unsigned k_sort_begin(unsigned n, unsigned block) {
    return (unsigned)((unsigned long long)n * block / gridDim.x);
}
K_DEVICE void k_sort_count(const unsigned *keys, unsigned n, int shift, unsigned *counts) {
    extern __shared__ __align__(16) unsigned char k_smem[];
    unsigned *const own = (unsigned *)k_smem;
    const unsigned tid = threadIdx.x, end = k_sort_begin(n, blockIdx.x + 1);
    own[tid] = 0;
    __syncthreads();
    for (unsigned i = k_sort_begin(n, blockIdx.x) + tid; i < end; i += 256) atomicAdd(own + (keys[i] >> shift & 255), 1u);
    __syncthreads();
    counts[tid * gridDim.x + blockIdx.x] = own[tid];
}

/* What threads before this one have of 256, in all; own is shared memory for a number of each, which nobody uses. */
K_DEVICE unsigned k_sort_before(unsigned v, unsigned *own) {
    const unsigned tid = threadIdx.x;
    unsigned sum = v;
    for (unsigned apart = 1; apart < 256; apart *= 2) {
        own[tid] = sum;
        __syncthreads();
        sum += tid >= apart ? own[tid - apart] : 0;
        __syncthreads();
    }
    return sum - v;
}

/* Block d: counts[d] become what blocks before have of digit d; totals[d]: what all have. */
K_DEVICE void k_sort_scan(unsigned *counts, unsigned blocks, unsigned *totals) {
    extern __shared__ __align__(16) unsigned char k_smem[];
    unsigned *const own = (unsigned *)k_smem, *const all = counts + blockIdx.x * blocks;
    unsigned so_far = 0;
    for (unsigned from = 0; from < blocks; from += 256) {
        const unsigned i = from + threadIdx.x, v = i < blocks ? all[i] : 0, before = k_sort_before(v, own);
        if (i < blocks) all[i] = so_far + before;
        own[threadIdx.x] = before + v;
        __syncthreads();
        so_far += own[255];
        __syncthreads();
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = so_far;
}

/* Keys and sources to where they belong by the digit: those of equal digits keep their order. FIRST: sources are as they
 * come. next[d]: where the next of digit d goes; warps[w][d]: the same of warp w. */
template <bool FIRST>
K_DEVICE void k_sort_move(const unsigned *keys, const unsigned *order, unsigned n, int shift, const unsigned *counts,
                          const unsigned *totals, unsigned *keys_to, unsigned *order_to) {
    extern __shared__ __align__(16) unsigned char k_smem[];
    unsigned *const next = (unsigned *)k_smem, *const warps = next + 256;
    const unsigned tid = threadIdx.x, lane = tid & 31, end = k_sort_begin(n, blockIdx.x + 1);
    unsigned *const own = warps + tid / 32 * 256;
    const unsigned smaller = k_sort_before(totals[tid], next);
    next[tid] = smaller + counts[tid * gridDim.x + blockIdx.x];
    for (unsigned from = k_sort_begin(n, blockIdx.x); from < end; from += 256) {
        const unsigned i = from + tid;
        const bool counted = i < end;
        const unsigned key = counted ? keys[i] : 0, source = FIRST || !counted ? i : order[i];
        const unsigned digit = counted ? key >> shift & 255 : 256;
        for (int w = 0; w < 8; w++) warps[w * 256 + tid] = 0;
        __syncthreads();
        const unsigned peers = __match_any_sync(0xffffffffu, digit), rank = __popc(peers & ((1u << lane) - 1));
        if (counted && rank == 0) own[digit] = __popc(peers);
        __syncthreads();
        unsigned at = next[tid];
        for (int w = 0; w < 8; w++) {
            const unsigned count = warps[w * 256 + tid];
            warps[w * 256 + tid] = at;
            at += count;
        }
        next[tid] = at;
        __syncthreads();
        if (counted) keys_to[own[digit] + rank] = key, order_to[own[digit] + rank] = source;
        __syncthreads();
    }
}

/* The first of n sorted keys that is not less. */
template <typename I> K_DEVICE I k_sort_bound(const unsigned *keys, I n, I key) {
    I lo = 0, hi = n;
    while (lo < hi) {
        const I at = lo + (hi - lo) / 2;
        if ((I)keys[at] < key)
            lo = at + 1;
        else
            hi = at;
    }
    return lo;
}

/* How many blocks have asked before this one, whose writes they see, and which sees theirs: of one thread. */
K_DEVICE unsigned k_blocks_before(unsigned *ticket, unsigned blocks) {
#ifdef WS_EMULATOR
    return atomicInc(ticket, blocks - 1);
#else
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(ticket), "r"(blocks - 1) : "memory");
    return before;
#endif
}
/* Blocks that share rows: each calls this with what it has in memory; the last to come finds the others' there, too.
 * Every thread learns whether its block is that. *ticket is 0 before the first and after the last. */
K_DEVICE bool k_is_last_block(unsigned *ticket, unsigned blocks) {
    unsigned before = 0;
    __syncthreads();
    if (threadIdx.x == 0) before = k_blocks_before(ticket, blocks);
    return __syncthreads_or(threadIdx.x == 0 && before == blocks - 1);
}
/* The same of blocks of which one warp has written something, and asks. */
K_DEVICE bool k_is_last_warp(unsigned *ticket, unsigned blocks) {
    unsigned before = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) before = k_blocks_before(ticket, blocks);
    return k_shfl(before, 0, 32) == blocks - 1;
}
/* N values that another block of this launch has written, from where all of them see it; aligned to their size or 16. */
template <int N, typename T> K_DEVICE void k_load_parts(T *v, const T *at) {
#ifdef WS_EMULATOR
    for (int i = 0; i < N; i++) v[i] = at[i];
#else
    enum { BYTES = N * (int)sizeof(T) };
    union { unsigned w[(BYTES + 3) / 4]; unsigned char b[BYTES]; T v[N]; } u;
    if (BYTES % 16 == 0)
#pragma unroll
        for (int i = 0; i < BYTES / 16; i++)
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(u.w[4 * i]), "=r"(u.w[4 * i + 1]), "=r"(u.w[4 * i + 2]), "=r"(u.w[4 * i + 3])
                         : "l"((const char *)at + 16 * i) : "memory");
    else if (BYTES == 8)
        asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];" : "=r"(u.w[0]), "=r"(u.w[BYTES > 4]) : "l"(at) : "memory");
    else if (BYTES % 4 == 0)
#pragma unroll
        for (int i = 0; i < BYTES / 4; i++)
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(u.w[i]) : "l"((const char *)at + 4 * i) : "memory");
    else
#pragma unroll
        for (int i = 0; i < BYTES; i++) {
            unsigned b;
            asm volatile("ld.global.cg.u8 %0, [%1];" : "=r"(b) : "l"((const char *)at + i) : "memory");
            u.b[i] = (unsigned char)b;
        }
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = u.v[i];
#endif
}
template <typename T> K_DEVICE T k_load_part(const T *at) {
    T v;
    k_load_parts<1>(&v, at);
    return v;
}

/* A list of tiles, { steps, tile * 2 + whole, ... }: each of `tiles` blocks has one of them, of which some elements count,
 * or others do not. The last block to come leaves out tiles that have none; if all are left out, the first one stays. */
K_DEVICE void k_list_tile(int *list, unsigned *ticket, int tile, int tiles, bool some, bool others, int first) {
    some = __syncthreads_or(some);
    others = __syncthreads_or(others);
    if (threadIdx.x == 0) list[1 + tile] = some ? tile * 2 + !others : -1;
    if (!k_is_last_block(ticket, tiles) || threadIdx.x >= 32) return;
    int steps = 0;
    for (int i = 0; i < tiles; i += 32) {
        const int lane = (int)threadIdx.x, x = i + lane < tiles ? k_load_part(list + 1 + i + lane) : -1;
        const unsigned counting = __ballot_sync(0xffffffffu, x >= 0);
        __syncwarp();
        if (x >= 0) list[1 + steps + __popc(counting & ((1u << lane) - 1))] = x;
        steps += __popc(counting);
    }
    __syncwarp();
    if (threadIdx.x != 0) return;
    if (!steps) list[1] = first * 2;
    *list = steps ? steps : 1;
}

/* A word is 0 until another block leaves 32 bits in it, and above them that they are there: one access has both, so
 * nobody needs a fence (about 1 us) for them; FENCE: what else the block has written is there, too. Strong accesses:
 * ptxas takes it that a weak load sees no other thread's store, and deletes the loop around it. */
template <bool FENCE> K_DEVICE void k_leave_word(unsigned long long *word, unsigned bits) {
#ifdef WS_EMULATOR
    atomicExch((unsigned *)word, bits);
    atomicExch((unsigned *)word + 1, 1u);
#else
    const unsigned long long there = 1ull << 32 | bits;
    if (FENCE)
        asm volatile("st.release.gpu.global.u64 [%0], %1;" : : "l"(word), "l"(there) : "memory");
    else
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(word), "l"(there) : "memory");
#endif
}
template <bool FENCE> K_DEVICE unsigned long long k_look_at(unsigned long long *word) {
    unsigned long long there;
#ifdef WS_EMULATOR
    there = (unsigned long long)atomicOr((unsigned *)word + 1, 0u) << 32;
    there |= atomicOr((unsigned *)word, 0u);
#else
    if (FENCE)
        asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(there) : "l"(word) : "memory");
    else
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(there) : "l"(word) : "memory");
#endif
    return there;
}
/* Before a thread looks again. */
K_DEVICE void k_look_away() {
#ifdef WS_EMULATOR
    emu_yield();
#endif
}

/* Blocks that share rows, a few values each: as a block begins, thread 0 draws a number, which nothing waits for until
 * the block has left its parts. Who has drawn the last one finishes the rows: all that it waits for have begun, in
 * whatever order blocks do. *ticket is 0 before the first and after the last. */
K_DEVICE unsigned k_draw(unsigned *ticket, unsigned blocks) {
    return threadIdx.x == 0 ? atomicInc(ticket, blocks - 1) : 0;
}
K_DEVICE bool k_has_drawn_last(unsigned drawn, unsigned blocks) {
    return __syncthreads_or(threadIdx.x == 0 && drawn == blocks - 1);
}
/* A part, in as many words as it takes, which lie `apart`. The finisher's threads look at U parts at a time, every STEPth
 * of the n from *word on. They test the last word first, and each test waits for the one before: else ptxas, to save a
 * register, tests some before the rest is under way, which is another trip to L2. Who has taken a part clears its words,
 * for the next launch: no other thread looks at them. */
template <typename T, int U> struct k_left { unsigned long long w[U][(sizeof(T) + 3) / 4]; };
template <typename T> K_DEVICE void k_leave_part(unsigned long long *word, long long apart, T part) {
    enum { WORDS = (sizeof(T) + 3) / 4 };
    union { unsigned w[WORDS]; T v; } u;
    u.w[WORDS - 1] = 0; /* a bool is less than a word */
    u.v = part;
#pragma unroll
    for (int i = 0; i < WORDS; i++) k_leave_word<false>(word + i * apart, u.w[i]);
}
template <int STEP, typename T, int U>
K_DEVICE void k_look_at_parts(k_left<T, U> &left, unsigned long long *word, long long apart, int n) {
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
        for (int i = 0; i < (int)(sizeof left.w[0] / 8); i++)
            left.w[u][i] = u * STEP < n ? k_look_at<false>(word + u * STEP + i * apart) : 1ull << 32;
}
template <typename T, int U> K_DEVICE unsigned k_are_there(unsigned there, const k_left<T, U> &left) {
#pragma unroll
    for (int u = U - 1; u >= 0; u--)
#pragma unroll
        for (int i = (int)(sizeof left.w[0] / 8) - 1; i >= 0; i--) {
            const unsigned high = (unsigned)(left.w[u][i] >> 32);
#ifdef WS_EMULATOR
            there &= high;
#else
            asm volatile("and.b32 %0, %0, %1;" : "+r"(there) : "r"(high));
#endif
        }
    return there;
}
template <typename T, int U> K_DEVICE T k_part(const k_left<T, U> &left, int u) {
    enum { WORDS = (sizeof(T) + 3) / 4 };
    union { unsigned w[WORDS]; T v; } part;
#pragma unroll
    for (int i = 0; i < WORDS; i++) part.w[i] = (unsigned)left.w[u][i];
    return part.v;
}
template <int STEP, typename T, int U>
K_DEVICE void k_clear_parts(const k_left<T, U> &left, unsigned long long *word, long long apart, int n) {
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
        for (int i = 0; i < (int)(sizeof left.w[0] / 8); i++)
            if (u * STEP < n) word[u * STEP + i * apart] = 0;
}

template <typename T> K_DEVICE T k_shfl_up(T v, unsigned lanes, int width) {
    return __shfl_up_sync(0xffffffffu, v, lanes, width);
}

/* What a scan carries along: of a long sum, with what its additions have lost (kernel/chain.c), so that the two are right
 * to the last digit; what is infinite has lost nothing. k_after: x, with all before it. */
template <typename T> struct k_carry { T sum, lost; };
template <typename OP, typename T> K_DEVICE T k_after(T carry, T x) { return OP::of(carry, x); }
template <typename OP, typename T> K_DEVICE T k_after(k_carry<T> carry, T x) { return carry.sum + (carry.lost + x); }
template <typename OP, typename T> K_DEVICE void k_carry_on(T &carry, T x) { carry = OP::of(carry, x); }
template <typename OP, typename T> K_DEVICE void k_carry_on(k_carry<T> &carry, T x) {
    const T sum = carry.sum + x, part = sum - carry.sum, e = (carry.sum - (sum - part)) + (x - part);
    carry.lost += e == e ? e : (T)0;
    carry.sum = sum;
}

/* The T1 threads of a row (as in k_reduce_row) go along it in U steps, all threads in each; v[u] is what a thread
 * brings in step u. It becomes what stands before that: the carry, the steps before, the threads before; the carry
 * becomes all of the row so far. smem holds T0*U*T1/32 values and may be used again at once. */
template <typename OP, int T1, int U, typename T, typename C> K_DEVICE void k_scan_row(T *v, C &carry, T none, T *smem) {
    const int W = T1 < 32 ? T1 : 32, tid = (int)threadIdx.x, lane = tid % W;
    T total[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        T x = v[u];
#pragma unroll
        for (int d = 1; d < W; d *= 2) {
            const T before = k_shfl_up(x, d, W);
            if (lane >= d) x = OP::of(before, x);
        }
        const T before = k_shfl_up(x, 1, W);
        v[u] = lane ? before : none;
        total[u] = k_shfl(x, W - 1, W);
    }
    if (T1 <= 32) {
#pragma unroll
        for (int u = 0; u < U; u++) v[u] = k_after<OP>(carry, v[u]), k_carry_on<OP>(carry, total[u]);
        return;
    }
    const int warps = T1 > 32 ? T1 / 32 : 1, warp = tid / 32 % warps;
    T *row = smem + tid / T1 * (U * warps);
    if (lane == 0)
#pragma unroll
        for (int u = 0; u < U; u++) row[u * warps + warp] = total[u];
    __syncthreads();
#pragma unroll
    for (int u = 0; u < U; u++) {
        T step = row[u * warps];
#pragma unroll
        for (int i = 1; i < warps; i++) {
            if (i == warp) v[u] = OP::of(step, v[u]);
            step = OP::of(step, row[u * warps + i]);
        }
        v[u] = k_after<OP>(carry, v[u]);
        k_carry_on<OP>(carry, step);
    }
    __syncthreads();
}

/* The same of rows as in k_reduce_columns: a thread brings v[N], what it has of N rows, and each row has a carry.
 * smem holds T1/S*N*T0 values, where S of a row's threads are in a warp, and may be used again at once. */
template <typename OP, int T0, int T1, int N, typename T, typename C>
K_DEVICE void k_scan_columns(T *v, C *carry, T none, T *smem) {
    const int S = T0 < 32 ? 32 / T0 : 1, W = T1 / S, ROWS = N * T0;
    const int tid = (int)threadIdx.x, lane = tid & 31, row = tid % T0, part = tid / (T0 * S);
    T total[N];
#pragma unroll
    for (int n = 0; n < N; n++) {
        T x = v[n];
#pragma unroll
        for (int d = T0; d < 32; d *= 2) {
            const T before = k_shfl_up(x, (unsigned)d, 32);
            if (lane >= d) x = OP::of(before, x);
        }
        total[n] = S > 1 ? k_shfl(x, 32 - T0 + lane % T0, 32) : x;
        const T before = S > 1 ? k_shfl_up(x, (unsigned)T0, 32) : none;
        v[n] = lane >= T0 ? before : none;
    }
    if (W > 1) {
        if (S == 1 || lane < T0)
#pragma unroll
            for (int n = 0; n < N; n++) smem[part * ROWS + n * T0 + row] = total[n];
        __syncthreads();
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
        T step = W > 1 ? smem[n * T0 + row] : total[n];
#pragma unroll
        for (int p = 1; p < W; p++) {
            if (p == part) v[n] = OP::of(step, v[n]);
            step = OP::of(step, smem[p * ROWS + n * T0 + row]);
        }
        v[n] = k_after<OP>(carry[n], v[n]);
        k_carry_on<OP>(carry[n], step);
    }
    if (W > 1) __syncthreads();
}

/* ---- scans over blocks ------------------------------------------------------------------------- */

/* Blocks take turns as they begin: whose turn came before has begun. *ticket is 0 before the first and after the last. */
K_DEVICE unsigned k_take_turn(unsigned *ticket, unsigned blocks) {
    __shared__ unsigned turn;
    if (threadIdx.x == 0) turn = atomicInc(ticket, blocks - 1);
    __syncthreads();
    return turn;
}
/* All that the block has written is in memory, and then the flag is up: a release by one thread, behind a barrier, is one
 * by all. k_await's loads must be strong ones: ptxas takes it that a weak load sees no other thread's store, and deletes
 * the loop. */
K_DEVICE void k_raise(unsigned *flag) {
    __syncthreads();
    if (threadIdx.x) return;
#ifdef WS_EMULATOR
    atomicExch(flag, 1u);
#else
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(flag), "r"(1u) : "memory");
#endif
}
K_DEVICE void k_await(unsigned *flag) {
#ifdef WS_EMULATOR
    while (!atomicOr(flag, 0u)) emu_yield();
#else
    unsigned up;
    do {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(up) : "l"(flag) : "memory");
    } while (!up);
    asm volatile("fence.acq_rel.gpu;" : : : "memory");
#endif
}
/* A total, for other blocks, and that it is there: in one word where it fits, which takes one trip to L2 and no fence;
 * else the word says that it is in *part. Words are 0 until then. */
template <typename T> K_DEVICE void k_leave(unsigned long long *word, T *part, T total) {
    enum { FITS = sizeof(T) <= 4 };
    union { unsigned w; T v; } u;
    u.w = 0;
    if (FITS)
        u.v = total;
    else
        *part = total;
    k_leave_word<!FITS>(word, FITS ? u.w : 0);
}
template <typename T> K_DEVICE T k_take(unsigned long long *word, const T *part) {
    enum { FITS = sizeof(T) <= 4 };
    union { unsigned w; T v; } u;
    unsigned long long there;
    while (!((there = k_look_at<!FITS>(word)) >> 32)) k_look_away();
    u.w = (unsigned)there;
    return FITS ? u.v : k_load_part(part);
}
enum { LOOK_BACK_BLOCK = 64 }; /* totals that a thread adds up before it folds them, LEVELS times */
/* What a row has before the block's tile, where `total` is what it has in it: to all T1 threads of the row. Of the
 * block's `rows` rows, words[i * rows] is this one's total of tile i, words[(tiles + i) * rows] of GROUP tiles; likewise
 * part. The row's first warp sees to the tiles of the own group, and leaves what that has, if this is its last, before it
 * waits for anything else. smem holds 2*WARPS values if T1 > 32. */
template <typename OP, int T1, int WARPS, int GROUP, int LEVELS, typename T>
K_DEVICE T k_look_back(T total, T none, T *part, unsigned long long *words, int rows, unsigned tile, unsigned tiles,
                       T *smem) {
    enum { W = T1 < 32 ? T1 : 32 };
    const unsigned tr = threadIdx.x % T1, row = threadIdx.x / T1, group = tile / GROUP, first = group * GROUP;
    T before = none, inside = none, above[LEVELS ? LEVELS : 1];
    if (tr == 0) k_leave(words + (long long)tile * rows, part + (long long)tile * rows, total);
    if (tr < W) {
        for (unsigned i = first + tr; i < tile; i += W)
            inside = OP::of(inside, k_take(words + (long long)i * rows, part + (long long)i * rows));
        inside = k_reduce_row<OP, W>(inside, smem);
        const long long at = (long long)(tiles + group) * rows;
        if (tr == 0 && tile % GROUP == GROUP - 1) k_leave(words + at, part + at, OP::of(inside, total));
        if (tr == 0 && T1 > 32) smem[WARPS + row] = inside;
    }
#pragma unroll
    for (int l = 0; l < LEVELS; l++) above[l] = none;
    for (unsigned i = tr, n = 0; i < group; i += T1) {
        const long long at = (long long)(tiles + i) * rows;
        before = OP::of(before, k_take(words + at, part + at));
        if (LEVELS && ++n % LOOK_BACK_BLOCK == 0)
            k_fold<OP, LOOK_BACK_BLOCK>(above, before, none, n / LOOK_BACK_BLOCK - 1);
    }
    if (LEVELS) before = k_unfold<OP>(above, before);
    before = k_reduce_row<OP, T1>(before, smem);
    if (T1 > 32) inside = smem[WARPS + row];
    return OP::of(before, inside);
}

/* The same of rows as in k_reduce_columns: v[N] is what this thread's N rows have in the tile, and becomes what they have
 * before it. Threads await a flag each, and then read parts, which lie `rows` apart, some at once. smem as there. */
template <typename OP, int T0, int T1, int N, int GROUP, int LEVELS, typename T>
K_DEVICE void k_sum_parts(T *v, T none, T *part, int rows, unsigned *flags, unsigned n, T *smem) {
    enum { PARTS = GROUP / T1, MOST = N * sizeof(T) > 16 ? 2 : 4, AT_ONCE = PARTS < 1 ? 1 : PARTS < MOST ? PARTS : MOST,
           EVERY = LOOK_BACK_BLOCK / AT_ONCE };
    const unsigned tid = threadIdx.x;
    for (unsigned i = tid; i < n; i += T0 * T1) k_await(flags + i);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = none;
    T above[N][LEVELS ? LEVELS : 1];
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int l = 0; l < LEVELS; l++) above[j][l] = none;
    unsigned batches = 0;
#pragma unroll 1
    for (unsigned i = tid / T0; i < n; i += AT_ONCE * T1) {
        T other[AT_ONCE][N];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
#pragma unroll
            for (int j = 0; j < N; j++) other[k][j] = none;
            if (i + k * T1 < n) k_load_parts<N>(other[k], part + (long long)(i + k * T1) * rows);
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
            for (int j = 0; j < N; j++) v[j] = OP::of(v[j], other[k][j]);
        if (LEVELS && ++batches % EVERY == 0)
#pragma unroll
            for (int j = 0; j < N; j++) k_fold<OP, LOOK_BACK_BLOCK>(above[j], v[j], none, batches / EVERY - 1);
    }
    if (LEVELS)
#pragma unroll
        for (int j = 0; j < N; j++) v[j] = k_unfold<OP>(above[j], v[j]);
    k_reduce_columns<OP, T0, T1, N>(v, smem);
}
template <int N, typename T> K_DEVICE void k_store_parts(T *at, const T *v) {
    union { unsigned w[(N * sizeof(T) + 3) / 4]; T v[N]; } u;
#pragma unroll
    for (int j = 0; j < N; j++) u.v[j] = v[j];
    k_store_words<N * (int)sizeof(T), 0>(at, u.w);
}
template <typename OP, int T0, int T1, int N, int GROUP, int LEVELS, typename T>
K_DEVICE void k_look_back_columns(T *v, T none, T *part, int rows, unsigned *flags, unsigned tile, unsigned tiles, T *smem) {
    const unsigned group = tile / GROUP, first = group * GROUP;
    const bool writes = threadIdx.x < T0;
    T total[N];
#pragma unroll
    for (int j = 0; j < N; j++) total[j] = v[j], v[j] = none;
    if (writes) k_store_parts<N>(part + (long long)tile * rows, total);
    k_raise(flags + tile);
    if (tile > first)
        k_sum_parts<OP, T0, T1, N, GROUP, 0>(v, none, part + (long long)first * rows, rows, flags + first, tile - first, smem);
    if (tile % GROUP == GROUP - 1) {
#pragma unroll
        for (int j = 0; j < N; j++) total[j] = OP::of(v[j], total[j]);
        if (writes) k_store_parts<N>(part + (long long)(tiles + group) * rows, total);
        k_raise(flags + tiles + group);
    }
    if (group) {
        T before[N];
        k_sum_parts<OP, T0, T1, N, GROUP, LEVELS>(before, none, part + (long long)tiles * rows, rows, flags + tiles, group,
                                                  smem);
#pragma unroll
        for (int j = 0; j < N; j++) v[j] = OP::of(before[j], v[j]);
    }
}
/* The block has left its totals and taken those of others: how many have before it, in thread 0. A release: without one a
 * total that nobody waits for might reach memory after the last block has lowered its flag. */
K_DEVICE unsigned k_arrive_look_back(unsigned *tickets, unsigned blocks) {
    unsigned before = 0;
    __syncthreads();
    if (threadIdx.x == 0)
#ifdef WS_EMULATOR
        before = atomicInc(tickets + 1, blocks - 1);
#else
        asm volatile("atom.release.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(before) : "l"(tickets + 1), "r"(blocks - 1) : "memory");
#endif
    return before;
}
/* The last block to arrive lowers the flags behind the two counters, `n` words of 4 bytes, for the next launch. */
template <int THREADS> K_DEVICE void k_end_look_back(unsigned before, unsigned *tickets, unsigned blocks, unsigned n) {
    const bool last = threadIdx.x == 0 && before == blocks - 1;
    if (last) __threadfence();
    if (!__syncthreads_or(last)) return;
    for (unsigned i = threadIdx.x; i < n; i += THREADS) tickets[2 + i] = 0;
}

/* ---- copies that go on while the thread does (sm_80) ------------------------------------------- */

#if defined WS_EMULATOR || __CUDA_ARCH__ >= 800
#ifndef WS_EMULATOR
K_DEVICE unsigned k_shared_address(const void *at) {
    unsigned a;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(at));
    return a;
}
#endif

/* An address in shared memory, of 32 bits: what loops compute with it takes no generic addresses of 64. */
#ifdef WS_EMULATOR
typedef unsigned char *k_shared;
K_DEVICE k_shared k_in_shared(void *at) { return (k_shared)at; }
K_DEVICE unsigned k_load_shared(k_shared at) { return *(const unsigned *)at; }
K_DEVICE void k_load_shared(float (&v)[2], k_shared at) { v[0] = ((const float *)at)[0], v[1] = ((const float *)at)[1]; }
#else
typedef unsigned k_shared;
K_DEVICE k_shared k_in_shared(const void *at) { return k_shared_address(at); }
K_DEVICE unsigned k_load_shared(k_shared at) {
    unsigned v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
    return v;
}
K_DEVICE void k_load_shared(float (&v)[2], k_shared at) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v[0]), "=f"(v[1]) : "r"(at) : "memory");
}
#endif

/* N floats (2 or 4) that lie at a multiple of their bytes. */
template <int N> K_DEVICE void k_shared_get(float (&v)[N], k_shared at) {
    static_assert(N == 2 || N == 4, "a vector of shared memory");
#ifdef WS_EMULATOR
    for (int i = 0; i < N; i++) v[i] = ((const float *)at)[i];
#else
    if (N == 2)
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v[0]), "=f"(v[1]) : "r"(at) : "memory");
    else
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[N - 2]), "=f"(v[N - 1]) : "r"(at) : "memory");
#endif
}
template <int N> K_DEVICE void k_shared_put(k_shared at, const float (&v)[N]) {
    static_assert(N == 2 || N == 4, "a vector of shared memory");
#ifdef WS_EMULATOR
    for (int i = 0; i < N; i++) ((float *)at)[i] = v[i];
#else
    if (N == 2)
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" : : "r"(at), "f"(v[0]), "f"(v[1]) : "memory");
    else
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                     : : "r"(at), "f"(v[0]), "f"(v[1]), "f"(v[N - 2]), "f"(v[N - 1]) : "memory");
#endif
}

/* BYTES (4, 8 or 16, both sides aligned to it) from global to shared memory; 16 go round the L1. At an edge only the
 * first `valid` bytes are read and the rest becomes 0. The thread's copies up to a commit are a group; a wait leaves at
 * most N of its newest groups under way. Other threads see the bytes after a barrier that follows the wait. */
template <int BYTES, int HINTS = 0> K_DEVICE void k_cp_async(void *smem, const void *gmem) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "a thread copies 4, 8 or 16 bytes");
#ifdef WS_EMULATOR
    emu_cp_async(smem, gmem, BYTES, BYTES);
#else
    const unsigned long long policy = k_l2_policy<HINTS>();
    const bool hinted = (HINTS & (K_LEAVE_L2 | K_STAY_L2)) != 0;
    if (hinted && BYTES == 16)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "l"(policy) : "memory");
    else if (hinted)
        asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(BYTES & 15 ? BYTES : 4), "l"(policy) : "memory");
    else if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(k_shared_address(smem)), "l"(gmem) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(BYTES & 15 ? BYTES : 4) : "memory");
#endif
}
template <int BYTES> K_DEVICE void k_cp_async(void *smem, const void *gmem, unsigned valid) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "a thread copies 4, 8 or 16 bytes");
#ifdef WS_EMULATOR
    emu_cp_async(smem, gmem, BYTES, valid);
#else
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "r"(valid) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(BYTES & 15 ? BYTES : 4), "r"(valid) : "memory");
#endif
}
K_DEVICE void k_cp_async_commit() {
#ifdef WS_EMULATOR
    emu_cp_async_commit();
#else
    asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
template <int N> K_DEVICE void k_cp_async_wait() {
#ifdef WS_EMULATOR
    emu_cp_async_wait(N);
#else
    asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
}
#endif

/* N elements that k_cp_async has left in shared memory, aligned to their size or 16. */
struct __align__(8) k_two_words { unsigned w[2]; };
struct __align__(16) k_four_words { unsigned w[4]; };
template <typename T, int N> K_DEVICE k_pack<T, N> k_load_shared(const unsigned char *at) {
    k_pack<T, N> p;
    if (k_pack<T, N>::BYTES == 4) {
        p.w[0] = *(const unsigned *)at;
    } else if (k_pack<T, N>::BYTES == 8) {
        const k_two_words q = *(const k_two_words *)at;
        p.w[0] = q.w[0], p.w[1] = q.w[1];
    } else {
#pragma unroll
        for (int i = 0; i < k_pack<T, N>::BYTES / 16; i++) {
            const k_four_words q = ((const k_four_words *)at)[i];
#pragma unroll
            for (int j = 0; j < 4; j++) p.w[4 * i + j] = q.w[j];
        }
    }
    return p;
}

/* ---- launches ----------------------------------------------------------------------------------- */

/* Where a kernel begins, and before it looks at memory: the launches before it have ended, and what they wrote is there;
 * the launch after it may be made ready meanwhile. Without effect on one that was launched like any other. */
K_DEVICE void k_enter() {
#if !defined(WS_EMULATOR) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* ---- clusters, mbarriers and bulk copies (sm_90) ----------------------------------------------- */

/* A cluster is the N adjacent blocks of `__global__ void __cluster_dims__(N, 1, 1) name(...)`. k_cluster_sync: all
 * threads of all its blocks. k_cluster_load: what lies in block `rank` where `mine` lies in the own one; that block
 * may not end before a k_cluster_sync that follows the load, or before a k_cluster_wait whose k_cluster_arrive follows
 * it: what a thread does between the two keeps nobody waiting. k_cluster_arrive waits for what the thread has written,
 * to any memory, to be seen (a microsecond); k_cluster_arrive_relaxed does not, and tells of nothing but mbarriers made
 * before k_fence_mbar_init. */
#ifdef WS_EMULATOR
K_DEVICE unsigned k_cluster_rank() { return emu_cluster_rank(); }
K_DEVICE void k_cluster_sync(int line = __builtin_LINE()) { emu_cluster_sync(line); }
K_DEVICE void k_cluster_arrive() { emu_cluster_arrive(); }
K_DEVICE void k_cluster_wait(int line = __builtin_LINE()) { emu_cluster_wait(line); }
K_DEVICE void k_cluster_arrive_relaxed() { emu_cluster_arrive(); }
template <typename T> K_DEVICE T k_cluster_load(const T *mine, unsigned rank) {
    T v;
    emu_cluster_load(&v, mine, sizeof v, rank);
    return v;
}
#elif __CUDA_ARCH__ >= 900
K_DEVICE unsigned k_cluster_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
K_DEVICE void k_cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory"); }
K_DEVICE void k_cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory"); }
K_DEVICE void k_cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory"); }
K_DEVICE void k_cluster_sync() { k_cluster_arrive(), k_cluster_wait(); }
template <typename T> K_DEVICE T k_cluster_load(const T *mine, unsigned rank) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a remote load takes 4 or 8 bytes");
    unsigned at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(k_shared_address(mine)), "r"(rank));
    union { unsigned w[sizeof(T) / 4]; T v; } u;
    if (sizeof(T) == 4)
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(u.w[0]) : "r"(at) : "memory");
    else
        asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];"
                     : "=r"(u.w[0]), "=r"(u.w[sizeof(T) / 4 - 1]) : "r"(at) : "memory");
    return u.v;
}
#endif

/* An mbarrier (8 bytes of shared memory, 8-aligned) counts phases. A phase ends when `count` arrivals came and as many
 * bytes as they expected; k_mbar_wait(bar, p & 1) returns when phase p, from 0, has ended, and with it what other blocks
 * of the cluster have sent. One thread makes it:
 *
 *     if (threadIdx.x == 0) k_mbar_init(bar, 1), k_fence_mbar_init();
 *     __syncthreads();
 *     if (threadIdx.x == 0) k_mbar_arrive_expect_tx(bar, bytes), k_bulk_g2s(smem, gmem, bytes, bar);
 *     k_mbar_wait(bar, 0);
 *
 * Bulk copies take addresses and sizes that are multiples of 16. k_bulk_s2g belongs to groups as k_cp_async does; what
 * it reads must be written before k_fence_async_shared() by the writing threads and then a barrier. k_bulk_wait_read:
 * the shared memory may be written again; k_bulk_wait: the global memory is written too. */
#ifdef WS_EMULATOR
K_DEVICE void k_mbar_init(unsigned long long *bar, unsigned count) { emu_mbar_init(bar, count); }
K_DEVICE void k_mbar_arrive(k_shared bar) { emu_mbar_arrive(bar, 0); }
K_DEVICE void k_mbar_arrive_expect_tx(k_shared bar, unsigned bytes) { emu_mbar_arrive(bar, bytes); }
K_DEVICE void k_mbar_wait(unsigned long long *bar, unsigned parity) { emu_mbar_wait(bar, parity); }
K_DEVICE void k_mbar_wait_block(k_shared bar, unsigned parity) { emu_mbar_wait(bar, parity); }
K_DEVICE void k_fence_mbar_init() {}
template <typename W> K_DEVICE void k_cluster_put(W *slot, W v, unsigned rank, unsigned long long *bar) {
    emu_cluster_put(slot, &v, sizeof v, rank, bar);
}
K_DEVICE void k_fence_async_shared() { emu_fence_async(); }
K_DEVICE void k_bulk_g2s(void *smem, const void *gmem, unsigned bytes, unsigned long long *bar) {
    emu_bulk_load(smem, gmem, bytes, bar);
}
K_DEVICE void k_bulk_s2g(void *gmem, const void *smem, unsigned bytes) { emu_bulk_store(gmem, smem, bytes); }
K_DEVICE void k_bulk_commit() { emu_bulk_commit(); }
template <int N> K_DEVICE void k_bulk_wait() { emu_bulk_wait(N, 0); }
template <int N> K_DEVICE void k_bulk_wait_read() { emu_bulk_wait(N, 1); }
#elif __CUDA_ARCH__ >= 900
K_DEVICE void k_mbar_init(unsigned long long *bar, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(k_shared_address(bar)), "r"(count) : "memory");
}
K_DEVICE void k_mbar_arrive(k_shared bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(bar) : "memory");
}
K_DEVICE void k_mbar_arrive_expect_tx(k_shared bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 : : "r"(bar), "r"(bytes) : "memory");
}
K_DEVICE void k_mbar_wait(unsigned long long *bar, unsigned parity) {
    const unsigned at = k_shared_address(bar);
    unsigned ended;
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(ended) : "r"(at), "r"(parity) : "memory");
    while (!ended);
}
/* k_mbar_wait where only copies and threads of the own block bring what it waits for: L1 stays as it is. */
K_DEVICE void k_mbar_wait_block(k_shared bar, unsigned parity) {
    unsigned ended;
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(ended) : "r"(bar), "r"(parity) : "memory");
    while (!ended);
}
/* v to where slot lies in the block of that rank, and its bytes to where bar, which expects them, does. */
K_DEVICE void k_cluster_put(unsigned *slot, unsigned v, unsigned rank, unsigned long long *bar) {
    asm volatile("{ .reg .u32 to, at; mapa.shared::cluster.u32 to, %0, %3; mapa.shared::cluster.u32 at, %2, %3;"
                 " st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [to], %1, [at]; }"
                 : : "r"(k_shared_address(slot)), "r"(v), "r"(k_shared_address(bar)), "r"(rank) : "memory");
}
K_DEVICE void k_cluster_put(unsigned long long *slot, unsigned long long v, unsigned rank, unsigned long long *bar) {
    asm volatile("{ .reg .u32 to, at; mapa.shared::cluster.u32 to, %0, %3; mapa.shared::cluster.u32 at, %2, %3;"
                 " st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [to], %1, [at]; }"
                 : : "r"(k_shared_address(slot)), "l"(v), "r"(k_shared_address(bar)), "r"(rank) : "memory");
}
K_DEVICE void k_fence_mbar_init() { asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory"); }
K_DEVICE void k_fence_async_shared() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }
K_DEVICE void k_bulk_g2s(void *smem, const void *gmem, unsigned bytes, unsigned long long *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 : : "r"(k_shared_address(smem)), "l"(gmem), "r"(bytes), "r"(k_shared_address(bar)) : "memory");
}
K_DEVICE void k_bulk_s2g(void *gmem, const void *smem, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 : : "l"(gmem), "r"(k_shared_address(smem)), "r"(bytes) : "memory");
}
K_DEVICE void k_bulk_commit() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }
template <int N> K_DEVICE void k_bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" : : "n"(N) : "memory"); }
template <int N> K_DEVICE void k_bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(N) : "memory");
}
#endif
K_DEVICE void k_mbar_arrive(unsigned long long *bar) { k_mbar_arrive(k_in_shared(bar)); }
K_DEVICE void k_mbar_arrive_expect_tx(unsigned long long *bar, unsigned bytes) {
    k_mbar_arrive_expect_tx(k_in_shared(bar), bytes);
}

/* The last step of a reduction whose row is spread over the C blocks of a cluster: `writer` is one thread of the block's
 * part of the row, slot its shared memory. Every thread gets the result. */
#if defined(WS_EMULATOR) || __CUDA_ARCH__ >= 900
template <typename T, typename I> K_DEVICE k_pair<T, I> k_cluster_load(const k_pair<T, I> *mine, unsigned rank) {
    k_pair<T, I> v;
    v.value = k_cluster_load(&mine->value, rank);
    v.at = k_cluster_load(&mine->at, rank);
    return v;
}
template <typename T> K_DEVICE k_m2_state<T> k_cluster_load(const k_m2_state<T> *mine, unsigned rank) {
    return k_m2_state<T>{k_cluster_load(&mine->n, rank), k_cluster_load(&mine->near, rank),
                        k_cluster_load(&mine->sum, rank), k_cluster_load(&mine->squares, rank)};
}
template <typename T> K_DEVICE k_expsum_state<T> k_cluster_load(const k_expsum_state<T> *mine, unsigned rank) {
    return k_expsum_state<T>{k_cluster_load(&mine->max, rank), k_cluster_load(&mine->sum, rank)};
}
template <typename OP, int C, typename T> K_DEVICE T k_read_slots(const T *slot) {
    T v = k_cluster_load(slot, 0);
#pragma unroll
    for (unsigned i = 1; i < C; i++) v = OP::of(v, k_cluster_load(slot, i));
    return v;
}
template <typename OP, int C, typename T> K_DEVICE T k_reduce_cluster(T v, T *slot, bool writer) {
    if (writer) *slot = v;
    k_cluster_sync();
    return k_read_slots<OP, C>(slot);
}

/* The same by mbarriers that count one phase each, of k_cluster_put: N of them are made; the next, of which each block
 * has one, is to bring so many bytes; the T1 threads of a row give what the block has of it to all C blocks, which have C
 * slots for it; and, when the mbarrier's phase has ended, what is in these becomes one. All threads call k_cluster_wait
 * between the making and the first k_give. */
template <int N> K_DEVICE void k_make_mbarriers(unsigned long long *bars, int tid) {
    if (tid == 0) {
#pragma unroll
        for (int i = 0; i < N; i++) k_mbar_init(bars + i, 1);
        k_fence_mbar_init();
    }
    k_cluster_arrive_relaxed();
}
K_DEVICE void k_expect(unsigned long long *bar, int tid, unsigned bytes) {
    if (tid == 0) k_mbar_arrive_expect_tx(bar, bytes);
}
template <bool WIDE> struct k_word_of { typedef unsigned type; };
template <> struct k_word_of<true> { typedef unsigned long long type; };
template <int C, int T1, typename T> K_DEVICE void k_give(T v, T *slots, int tr, int rank, unsigned long long *bar) {
    static_assert(sizeof(T) % 4 == 0, "a value goes by words of 4 or 8 bytes");
    typedef typename k_word_of<sizeof(T) % 8 == 0>::type word;
    enum { WORDS = sizeof(T) / sizeof(word) };
    union { T v; word w[WORDS]; } u;
    u.v = v;
#pragma unroll
    for (int from = 0; from < C; from += T1) {
        const int to = from + tr;
        if (to >= C) break;
#pragma unroll
        for (int i = 0; i < WORDS; i++) k_cluster_put((word *)(slots + rank) + i, u.w[i], to, bar);
    }
}
template <typename OP, int C, typename T> K_DEVICE T k_reduce_slots(const T *slots) {
    T v = slots[0];
#pragma unroll
    for (int i = 1; i < C; i++) v = OP::of(v, slots[i]);
    return v;
}
template <typename OP, int C, typename T> K_DEVICE k_m2_state<T> k_reduce_slots(const k_m2_state<T> *slots) {
    return k_m2_parts<C>(slots);
}
template <int C, int N, typename T> K_DEVICE k_online<N, T> k_online_slots(const k_online<N, T> *slots) {
    k_online<N, T> v = slots[0];
#pragma unroll
    for (int i = 1; i < C; i++) v.max = k_max(v.max, slots[i].max);
#pragma unroll
    for (int n = 0; n < N; n++) v.sum[n] = 0;
#pragma unroll
    for (int i = 0; i < C; i++) {
        const T part = k_online_scale(slots[i].max, v.max);
#pragma unroll
        for (int n = 0; n < N; n++) v.sum[n] += slots[i].sum[n] * part;
    }
    return v;
}

/* The same of the rows that k_reduce_columns has reduced, N of each of T0 threads: each block leaves its own where the
 * others find them, and a thread adds up one row of all blocks. `own` and `all` hold N*T0 values each. */
template <typename OP, int T0, int T1, int N, int C, typename T>
K_DEVICE void k_reduce_columns_cluster(T *v, T *own, T *all) {
    const int tid = (int)threadIdx.x, row = tid % T0, ROWS = N * T0;
    if (tid < T0)
#pragma unroll
        for (int n = 0; n < N; n++) own[n * T0 + row] = v[n];
    k_cluster_sync();
    for (int i = tid; i < ROWS; i += T0 * T1) {
        T sum = k_cluster_load(own + i, 0);
#pragma unroll
        for (unsigned c = 1; c < C; c++) sum = OP::of(sum, k_cluster_load(own + i, c));
        all[i] = sum;
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < N; n++) v[n] = all[n * T0 + row];
}
#endif

/* ---- matrix units and tensor maps -------------------------------------------------------------- */

/* A tensor in global memory and a box of it, as the driver describes them: a CUtensorMap, which a kernel takes as
 * `const __grid_constant__ k_map a` and passes on as &a. k_map_load brings the box at these coordinates, the innermost
 * first, to shared memory, swizzled as the map says; what lies outside of the tensor, on any side, is 0. A box begins at
 * a multiple of 16 bytes of the innermost dimension: anywhere else the instruction is illegal (seen on an H100). All bytes
 * of the box, these zeros too, complete on the mbarrier, which expects them as those of bulk copies. k_map_load_multicast:
 * to that place of each block of the cluster whose bit is in `blocks`, on the mbarrier at that place of it. */
struct __align__(64) k_map { unsigned long long word[16]; };
#ifdef WS_EMULATOR
#define K_MAP_LOAD(rank, at, c0, c1, c2, c3, c4) emu_map_load(smem, m, bar, 0, rank, c0, c1, c2, c3, c4)
#define K_MAP_LOAD_MANY(rank, at, c0, c1, c2, c3, c4) emu_map_load(smem, m, bar, blocks, rank, c0, c1, c2, c3, c4)
#else
#define K_MAP_LOAD(rank, at, c0, c1, c2, c3, c4)                                                         \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes"   \
                 " [%0], [%1, {" at "}], [%2];"                                                          \
                 : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1),  \
                 "r"(c2), "r"(c3), "r"(c4) : "memory")
#define K_MAP_LOAD_MANY(rank, at, c0, c1, c2, c3, c4)                                                    \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes"   \
                 ".multicast::cluster [%0], [%1, {" at "}], [%2], %8;"                                   \
                 : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1),  \
                 "r"(c2), "r"(c3), "r"(c4), "h"(blocks) : "memory")
#endif
K_DEVICE void k_map_prefetch(const k_map *m) {
#ifdef WS_EMULATOR
    emu_map_prefetch(m);
#else
    asm volatile("prefetch.tensormap [%0];" : : "l"(m) : "memory");
#endif
}
/* So many elements from a multiple of 16 bytes on are on their way to L2. */
template <typename T, typename I> K_DEVICE void k_prefetch(const T *at, I n) {
#ifndef WS_EMULATOR
    const unsigned bytes = (unsigned)n * (unsigned)sizeof(T) / 16 * 16;
    if (bytes) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" : : "l"(at), "r"(bytes) : "memory");
#else
    (void)at, (void)n;
#endif
}
K_DEVICE void k_map_load(k_shared smem, const k_map *m, k_shared bar, int c0, int c1) {
    K_MAP_LOAD(2, "%3, %4", c0, c1, 0, 0, 0);
}
K_DEVICE void k_map_load(k_shared smem, const k_map *m, k_shared bar, int c0, int c1, int c2) {
    K_MAP_LOAD(3, "%3, %4, %5", c0, c1, c2, 0, 0);
}
K_DEVICE void k_map_load(k_shared smem, const k_map *m, k_shared bar, int c0, int c1, int c2, int c3) {
    K_MAP_LOAD(4, "%3, %4, %5, %6", c0, c1, c2, c3, 0);
}
K_DEVICE void k_map_load(k_shared smem, const k_map *m, k_shared bar, int c0, int c1, int c2, int c3, int c4) {
    K_MAP_LOAD(5, "%3, %4, %5, %6, %7", c0, c1, c2, c3, c4);
}
K_DEVICE void k_map_load_multicast(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks,
                                   int c0, int c1) {
    K_MAP_LOAD_MANY(2, "%3, %4", c0, c1, 0, 0, 0);
}
K_DEVICE void k_map_load_multicast(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks,
                                   int c0, int c1, int c2) {
    K_MAP_LOAD_MANY(3, "%3, %4, %5", c0, c1, c2, 0, 0);
}
K_DEVICE void k_map_load_multicast(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks,
                                   int c0, int c1, int c2, int c3) {
    K_MAP_LOAD_MANY(4, "%3, %4, %5, %6", c0, c1, c2, c3, 0);
}
K_DEVICE void k_map_load_multicast(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks,
                                   int c0, int c1, int c2, int c3, int c4) {
    K_MAP_LOAD_MANY(5, "%3, %4, %5, %6, %7", c0, c1, c2, c3, c4);
}
/* The same of what nobody reads again: it leaves L2 first. */
#ifdef WS_EMULATOR
#define K_MAP_LOAD_LEAVING(how, to) emu_map_load(smem, m, bar, blocks, 3, c0, c1, c2, 0, 0)
#else
#define K_MAP_LOAD_LEAVING(how, to)                                                                  \
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes" how       \
                 ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2]" to ", %7;"                             \
                 : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "h"(blocks),                \
                 "l"(k_l2_policy<K_LEAVE_L2>()) : "memory")
#endif
K_DEVICE void k_map_load_leaving(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks, int c0, int c1,
                                 int c2) {
    if (blocks)
        K_MAP_LOAD_LEAVING(".multicast::cluster", ", %6");
    else
        K_MAP_LOAD_LEAVING("", "");
}
/* Through windows: from that one on, of so many channels from c on, the tap that is o0, o1, o2 from the window's first. */
#ifdef WS_EMULATOR
#define K_MAP_LOAD_WINDOWS(rank, at, off, c0, c1, c2, c3, c4, o0, o1, o2)                                \
    emu_map_load_windows(smem, m, bar, blocks, rank, c0, c1, c2, c3, c4, o0, o1, o2)
#else
#define K_MAP_LOAD_WINDOWS(rank, at, off, c0, c1, c2, c3, c4, o0, o1, o2)                                \
    if (blocks)                                                                                          \
        asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.im2col"                     \
                     ".mbarrier::complete_tx::bytes.multicast::cluster"                                  \
                     " [%0], [%1, {" at "}], [%2], {" off "}, %11;"                                      \
                     : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4),       \
                     "h"((unsigned short)(o0)), "h"((unsigned short)(o1)), "h"((unsigned short)(o2)),    \
                     "h"(blocks) : "memory");                                                            \
    else                                                                                                 \
        asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.im2col"                     \
                     ".mbarrier::complete_tx::bytes [%0], [%1, {" at "}], [%2], {" off "};"              \
                     : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4),       \
                     "h"((unsigned short)(o0)), "h"((unsigned short)(o1)), "h"((unsigned short)(o2))     \
                     : "memory")
#endif
K_DEVICE void k_map_load_windows(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks, int c, int w,
                                 int image, int o0) {
    K_MAP_LOAD_WINDOWS(3, "%3, %4, %5", "%8", c, w, image, 0, 0, o0, 0, 0);
}
K_DEVICE void k_map_load_windows(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks, int c, int w,
                                 int h, int image, int o0, int o1) {
    K_MAP_LOAD_WINDOWS(4, "%3, %4, %5, %6", "%8, %9", c, w, h, image, 0, o0, o1, 0);
}
K_DEVICE void k_map_load_windows(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks, int c, int w,
                                 int h, int d, int image, int o0, int o1, int o2) {
    K_MAP_LOAD_WINDOWS(5, "%3, %4, %5, %6, %7", "%8, %9, %10", c, w, h, d, image, o0, o1, o2);
}
template <typename... C> K_DEVICE void k_map_load(void *smem, const k_map *m, unsigned long long *bar, C... at) {
    k_map_load(k_in_shared(smem), m, k_in_shared(bar), at...);
}
template <typename... C> K_DEVICE void k_map_load_multicast(void *smem, const k_map *m, unsigned long long *bar,
                                                            unsigned short blocks, C... at) {
    k_map_load_multicast(k_in_shared(smem), m, k_in_shared(bar), blocks, at...);
}

/* An arrival at the mbarrier of block `rank` of the cluster that lies where `mine` does in the own one. That block may not
 * end before: it waits for the phase, or for a k_cluster_sync. It tells of nothing that the thread has written: a release
 * to the cluster is a fence that waits for L2, and made products 1.3 to 1.7 times as long on an H200. */
K_DEVICE void k_mbar_arrive_at(k_shared mine, unsigned rank) {
#ifdef WS_EMULATOR
    emu_mbar_arrive_at(mine, rank);
#else
    asm volatile("{ .reg .b32 at; mapa.shared::cluster.u32 at, %0, %1;"
                 " mbarrier.arrive.shared::cluster.b64 _, [at]; }"
                 : : "r"(mine), "r"(rank) : "memory");
#endif
}
K_DEVICE void k_mbar_arrive_at(unsigned long long *mine, unsigned rank) { k_mbar_arrive_at(k_in_shared(mine), rank); }

/* Some warps meet: `threads` of them (a multiple of 32) at barrier `id`, 1 to 15; 0 is that of __syncthreads. */
K_DEVICE void k_barrier_sync(int id, int threads) {
#ifdef WS_EMULATOR
    emu_bar_sync((unsigned)id, (unsigned)threads);
#else
    asm volatile("bar.sync %0, %1;" : : "r"(id), "r"(threads) : "memory");
#endif
}

/* From here on the threads of a warpgroup, four warps from a multiple of four on, have N registers each: all of them say
 * so, those who want more wait until others have given theirs away. */
template <int N> K_DEVICE void k_more_registers() {
    static_assert(N % 8 == 0 && N >= 24 && N <= 256, "registers come by eights, 24 to 256 of them");
#ifdef WS_EMULATOR
    emu_registers(N, 1);
#else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(N));
#endif
}
template <int N> K_DEVICE void k_fewer_registers() {
    static_assert(N % 8 == 0 && N >= 24 && N <= 256, "registers come by eights, 24 to 256 of them");
#ifdef WS_EMULATOR
    emu_registers(N, 0);
#else
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(N));
#endif
}

/* wgmma (sm_90a): the four warps of a warpgroup multiply operands in shared memory, or the left one in registers, while
 * their threads go on:
 *
 *     k_wgmma_hold(acc), k_wgmma_begin();
 *     wgmma ... acc, k_operand<128>(a, 0, 1024), k_operand<128>(b, 0, 1024) ...
 *     k_wgmma_commit();
 *     k_wgmma_wait<0>(), k_wgmma_hold(acc);      at most so many of the newest groups are under way still
 *
 * Until the wait acc, the left operand's registers and the shared memory are the matrix unit's. What threads have stored
 * there must be passed on by k_fence_async_shared and a barrier. k_operand: of an operand in shared memory from smem on, in
 * lines of SWIZZLE bytes (0: 16, not swizzled), the distances in bytes to the next lines along its two axes. */
template <int SWIZZLE> K_DEVICE unsigned long long k_operand(k_shared smem, unsigned lead, unsigned stride) {
    static_assert(SWIZZLE == 0 || SWIZZLE == 32 || SWIZZLE == 64 || SWIZZLE == 128, "lines of 32, 64 or 128 bytes");
    const unsigned long long type = SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2 : SWIZZLE == 32 ? 3 : 0;
#ifdef WS_EMULATOR
    return emu_operand(smem, lead, stride, type);
#else
    return type << 62 | (unsigned long long)(stride >> 4 & 0x3fff) << 32 | (lead >> 4 & 0x3fff) << 16 |
           (smem >> 4 & 0x3fff);
#endif
}
template <int SWIZZLE> K_DEVICE unsigned long long k_operand(const void *smem, unsigned lead, unsigned stride) {
    return k_operand<SWIZZLE>(k_in_shared((void *)smem), lead, stride);
}
/* The operand that lies 16 n bytes on. */
K_DEVICE unsigned long long k_operand_on(unsigned long long operand, unsigned n) {
    return (operand & 0xffffffff00000000ull) | ((unsigned)operand + n);
}
K_DEVICE void k_wgmma_begin() {
#ifdef WS_EMULATOR
    emu_wgmma_begin();
#else
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
#endif
}
K_DEVICE void k_wgmma_commit() {
#ifdef WS_EMULATOR
    emu_wgmma_commit();
#else
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
#endif
}
template <int N> K_DEVICE void k_wgmma_wait() {
    static_assert(N >= 0 && N <= 7, "up to 7 groups may be under way");
#ifdef WS_EMULATOR
    emu_wgmma_wait(N);
#else
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(N) : "memory");
#endif
}
/* Keeps the compiler from moving what it does with these registers across. */
template <int N> K_DEVICE void k_wgmma_hold(float (&acc)[N]) {
#ifndef WS_EMULATOR
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(acc[i]) : : "memory");
#endif
}
template <int N> K_DEVICE void k_wgmma_hold(int (&acc)[N]) {
#ifndef WS_EMULATOR
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+r"(acc[i]) : : "memory");
#endif
}
/* x is there before what is waited for behind this: ptxas moves arithmetic across such waits, but no store. `at`: of the
 * thread alone, and read by nobody. */
K_DEVICE void k_before(k_shared at, float x) {
#ifdef WS_EMULATOR
    *(float *)at = x;
#else
    asm volatile("st.shared.f32 [%0], %1;" : : "r"(at), "f"(x) : "memory");
#endif
}
/* tcgen05 (sm_100a): one thread has products made, of operands in shared memory; their sums lie in tensor memory, which
 * has 128 lanes of 512 columns of 32 bits: at lane << 16 | column.
 *
 *     if (warp == 1) k_tensor_make<256>(at);                            all its threads; 32 to 512 columns, for the block
 *     k_tensor_fence_before(), __syncthreads(), k_tensor_fence_after();
 *     k_tensor_multiply<0>(sums, k_tensor_operand<128>(a, ...), ..., what, add);      one thread
 *     k_tensor_commit(bar);                                             an arrival, once they have ended
 *     k_mbar_wait_block(bar, 0), k_tensor_fence_after();                who reads: tcgen05.ld, tcgen05.wait::ld
 *     k_tensor_fence_before(), __syncthreads();
 *     if (warp == 1) k_tensor_fence_after(), k_tensor_free<256>(sums);
 *
 * Of whatever else orders threads, these fences tell the units. The bits of operands (k_operand's, but for bit 46, a
 * version: 1; and bits 61 to 63, the swizzle, of which k_operand's two are the upper ones) are those of SmemDescriptor,
 * those of `what` of InstrDescriptor, in CUTLASS, include/cute/arch/mma_sm100_desc.hpp: bits 4 and 5 say what sums are (f32 1, s32 2),
 * 7 to 9 and 10 to 12 what the operands are (KIND 0: f16 0, bf16 1; 1: tf32 2; 2: u8 0, s8 1; 3: e4m3 0, e5m2 1), 15 and
 * 16 whether their lines run along the rows, 17 to 22 are columns / 8, 24 to 28 rows / 16. */
template <int COLUMNS> K_DEVICE void k_tensor_make(k_shared at) {
    static_assert(COLUMNS >= 32 && COLUMNS <= 512 && (COLUMNS & COLUMNS - 1) == 0, "32, 64, 128, 256 or 512 columns");
#ifdef WS_EMULATOR
    emu_tensor_make(at, COLUMNS);
#else
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" : : "r"(at), "n"(COLUMNS) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" : : : "memory");
#endif
}
template <int COLUMNS> K_DEVICE void k_tensor_free(unsigned sums) {
#ifdef WS_EMULATOR
    emu_tensor_free(sums, COLUMNS);
#else
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" : : "r"(sums), "n"(COLUMNS) : "memory");
#endif
}
K_DEVICE void k_tensor_fence_before() {
#ifdef WS_EMULATOR
    emu_tensor_fence(0);
#else
    asm volatile("tcgen05.fence::before_thread_sync;" : : : "memory");
#endif
}
K_DEVICE void k_tensor_fence_after() {
#ifdef WS_EMULATOR
    emu_tensor_fence(1);
#else
    asm volatile("tcgen05.fence::after_thread_sync;" : : : "memory");
#endif
}
template <int SWIZZLE> K_DEVICE unsigned long long k_tensor_operand(k_shared smem, unsigned lead, unsigned stride) {
    return k_operand<SWIZZLE>(smem, lead, stride) | 1ull << 46;
}
#define K_TENSOR_MULTIPLY(kind)                                                                                          \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, p; }"  \
                 : : "r"(sums), "l"(a), "l"(b), "r"(what), "r"(add) : "memory")
template <int KIND>
K_DEVICE void k_tensor_multiply(unsigned sums, unsigned long long a, unsigned long long b, unsigned what, int add) {
    static_assert(KIND >= 0 && KIND <= 3, "16 bits, tf32, bytes, f8");
#ifdef WS_EMULATOR
    emu_tensor_multiply(KIND, sums, a, b, what, add);
#else
    if constexpr (KIND == 0) K_TENSOR_MULTIPLY("f16");
    if constexpr (KIND == 1) K_TENSOR_MULTIPLY("tf32");
    if constexpr (KIND == 2) K_TENSOR_MULTIPLY("i8");
    if constexpr (KIND == 3) K_TENSOR_MULTIPLY("f8f6f4");
#endif
}
/* At the mbarrier there, of each block of the cluster whose bit is set; or of the own block. */
K_DEVICE void k_tensor_commit(k_shared bar) {
#ifdef WS_EMULATOR
    emu_tensor_commit(bar, 0);
#else
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" : : "r"(bar) : "memory");
#endif
}
K_DEVICE void k_tensor_commit_to(k_shared bar, unsigned short blocks) {
#ifdef WS_EMULATOR
    emu_tensor_commit(bar, blocks);
#else
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
                 : : "r"(bar), "h"(blocks) : "memory");
#endif
}
/* x. What is computed of it stands behind the waits before. */
K_DEVICE float k_now(float x) {
#ifndef WS_EMULATOR
    asm volatile("" : "+f"(x) : : "memory");
#endif
    return x;
}

/* The left operand of wgmma in registers, out of a tile of f32 in boxes of lines of 128 bytes, whose pieces of 16 are
 * swizzled: 64 rows, ALONG the lines, in two boxes, with a line for each of the depth; or with a line for each row, in a
 * box for each 32 of the depth. A box has `box` bytes. A thread's rows are lane / 4 of its warp's and 8 on; of tf32 its
 * depths are lane % 4 and 4 on, of 16 bits 2 (lane % 4), one on, and 8 on both. Half of the threads read the one before
 * the other, so that all that a warp reads at once lies in other banks. k_left_of_lane: where its first line is. */
template <bool ALONG> K_DEVICE k_shared k_left_of_lane(k_shared tile, int box) {
    const unsigned warp = threadIdx.x / 32 % 4, row = threadIdx.x / 4 % 8, depth = threadIdx.x % 4;
    return ALONG ? tile + (warp / 2 * box + depth * 128 + row % 4 * 4) : tile + (warp * 16 + row) * 128 + depth % 2 * 8;
}
template <int N> K_DEVICE void k_left_across(unsigned (&r)[N][4], k_shared of_lane) {
    const unsigned odd = threadIdx.x & 1, depth = threadIdx.x % 4, piece = threadIdx.x / 32 % 2 * 4 + threadIdx.x / 16 % 2;
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            unsigned x[2];
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const unsigned on = (j ^ odd) * 4; /* of the depth */
                x[j] = k_load_shared(of_lane + (on * 128 + ((piece + 2 * i) ^ (depth + on)) * 16) + n * 1024);
            }
            r[n][i] = odd ? x[1] : x[0];
            r[n][i + 2] = odd ? x[0] : x[1];
        }
}
/* A channel of an image as it lies, for each of four lanes: at the thread's row, and at the eighth behind it. EDGES: only
 * what is inside counts. */
template <bool EDGES> K_DEVICE void k_left_of_lying(unsigned (&lain)[2], k_shared at, const unsigned (&inside)[2]) {
    lain[0] = k_load_shared(at) & (EDGES ? inside[0] : ~0u);
    lain[1] = k_load_shared(at + 32) & (EDGES ? inside[1] : ~0u);
}
/* mma.sync: a warp multiplies. k_ldmatrix4: four matrices of 8 rows of 16 bytes, the rows at the addresses of lanes 0 to
 * 7, 8 to 15, ...; lane l gets word l % 4 of row l / 4 of each; TRANSPOSED: halves of the columns' words. */
template <bool TRANSPOSED> K_DEVICE void k_ldmatrix4(unsigned (&r)[4], const void *smem) {
#ifdef WS_EMULATOR
    emu_ldmatrix4(r, smem, TRANSPOSED);
#else
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(k_shared_address(smem)) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(k_shared_address(smem)) : "memory");
#endif
}

/* d += a b: 16 rows by 16 deep (tf32: 8) of a, 8 columns of b. */
template <typename T> struct k_is_f16 { enum { IS = 0 }; };
template <> struct k_is_f16<k_f16> { enum { IS = 1 }; };
#ifndef WS_EMULATOR
#define K_MMA(shape_and_types)                                                                   \
    asm volatile("mma.sync.aligned." shape_and_types                                             \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"              \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif
template <typename T> K_DEVICE void k_mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    static_assert(sizeof(T) == 2, "of bf16 or f16");
#ifdef WS_EMULATOR
    emu_mma(d, a, b, k_is_f16<T>::IS);
#else
    if (k_is_f16<T>::IS)
        K_MMA("m16n8k16.row.col.f32.f16.f16.f32");
    else
        K_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
#endif
}
K_DEVICE void k_mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef WS_EMULATOR
    emu_mma(d, a, b, 2);
#else
    K_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
#endif
}
/* Of bytes, 32 deep, of the two factors in types of their own; integers' sums wrap. */
template <typename T> struct k_byte { enum { NUMBER = 0 }; };
template <> struct k_byte<k_u8> { enum { NUMBER = 1 }; };
template <> struct k_byte<k_f8e4m3> { enum { NUMBER = 2 }; };
template <> struct k_byte<k_f8e5m2> { enum { NUMBER = 3 }; };
#ifndef WS_EMULATOR
#define K_MMA_BYTES(types)                                                                       \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." types ".s32"                           \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"              \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif
template <typename A, typename B> K_DEVICE void k_mma_bytes(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    static_assert(sizeof(A) == 1 && sizeof(B) == 1, "of bytes");
    const int both = k_byte<A>::NUMBER * 4 + k_byte<B>::NUMBER;
#ifdef WS_EMULATOR
    emu_mma((float *)d, a, b, 3 + both);
#else
    if (both == 0)
        K_MMA_BYTES("s8.s8");
    else if (both == 1)
        K_MMA_BYTES("s8.u8");
    else if (both == 4)
        K_MMA_BYTES("u8.s8");
    else
        K_MMA_BYTES("u8.u8");
#endif
}
/* Of float8, from sm_89 on. */
template <typename A, typename B> K_DEVICE void k_mma_bytes(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    static_assert(sizeof(A) == 1 && sizeof(B) == 1, "of bytes");
    const int both = k_byte<A>::NUMBER * 4 + k_byte<B>::NUMBER;
#ifdef WS_EMULATOR
    emu_mma(d, a, b, 3 + both);
#else
    if (both == 10)
        K_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
    else if (both == 11)
        K_MMA("m16n8k32.row.col.f32.e4m3.e5m2.f32");
    else if (both == 14)
        K_MMA("m16n8k32.row.col.f32.e5m2.e4m3.f32");
    else
        K_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32");
#endif
}
/* The nearest tf32; the units ignore its last 13 bits. */
K_DEVICE unsigned k_tf32_bits(float f) {
#ifdef WS_EMULATOR
    return emu_tf32_bits(f);
#else
    unsigned w;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(w) : "f"(f));
    return w;
#endif
}

/* ---- products on the matrix units (cuda_mma.c) -------------------------------------------------- */

template <int N> K_DEVICE unsigned char *k_aligned(unsigned char *smem) {
#ifdef WS_EMULATOR
    return smem + (-(unsigned long long)smem & (N - 1));
#else
    return smem + (-k_shared_address(smem) & (N - 1));
#endif
}
/* A warpgroup, or a block of THREADS, which meets at barrier `id`, has left its part, and waits until all `parts` are there,
 * whose blocks are all at work. The counter is 0 before the first and after the last. Who comes last waits for one
 * round trip to L2, not for what an atom returns and then for a load; and a load that acquires is no second fence. */
template <int THREADS> K_DEVICE void k_meet_parts(unsigned *counter, unsigned parts, int id) {
    k_barrier_sync(id, THREADS);
    if (threadIdx.x % THREADS == 0) {
#ifdef WS_EMULATOR
        atomicInc(counter, 2 * parts - 1);
        while (atomicOr(counter, 0u) < parts) emu_yield();
        atomicInc(counter, 2 * parts - 1);
#else
        unsigned there;
        asm volatile("red.release.gpu.global.inc.u32 [%0], %1;" : : "l"(counter), "r"(2 * parts - 1) : "memory");
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(counter) : "memory");
        while (there < parts);
        asm volatile("red.relaxed.gpu.global.inc.u32 [%0], %1;" : : "l"(counter), "r"(2 * parts - 1) : "memory");
#endif
    }
    k_barrier_sync(id, THREADS);
}
/* N neighbours in shared memory, aligned to their size, or to 16 bytes. */
template <typename T, int N> struct k_side_by_side { alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) T v[N]; };
template <typename T, int N> K_DEVICE void k_get_side_by_side(T *to, const T *smem) {
    const k_side_by_side<T, N> x = *(const k_side_by_side<T, N> *)smem;
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = x.v[i];
}
template <typename T, int N> K_DEVICE void k_put_side_by_side(T *smem, const T *from) {
    k_side_by_side<T, N> x;
#pragma unroll
    for (int i = 0; i < N; i++) x.v[i] = from[i];
    *(k_side_by_side<T, N> *)smem = x;
}
template <typename T, int N> K_DEVICE void k_zero(T (&v)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = 0;
}
/* A tile in shared memory is made of boxes of `lines` lines of LINE bytes, one behind another; the 16-byte pieces of a
 * line are swizzled as tensor maps have it. k_piece: where piece number `piece` of a line of the tile is, counted through
 * all boxes. */
template <int LINE> K_DEVICE unsigned char *k_piece(unsigned char *tile, int lines, int line, int piece) {
    const int PIECES = LINE / 16, SAME = 128 / LINE; /* lines with the same swizzle */
    return tile + (piece / PIECES * lines + line) * LINE + ((piece % PIECES) ^ (line / SAME % PIECES)) * 16;
}
/* x, which compilers take for another number each time: what follows from it is computed where it is wanted, and not
 * for all steps of a loop before these, in registers that there are not. */
K_DEVICE int k_anew(int x) {
#ifndef WS_EMULATOR
    asm volatile("" : "+r"(x));
#endif
    return x;
}
K_DEVICE long long k_anew(long long x) {
#ifndef WS_EMULATOR
    asm volatile("" : "+l"(x));
#endif
    return x;
}
/* The same as an address in shared memory; and piece `half` of what is put there. */
template <int LINE> K_DEVICE k_shared k_place(k_shared tile, int lines, int line, int piece) {
    const int PIECES = LINE / 16, SAME = 128 / LINE;
    return tile + (piece / PIECES * lines + line) * LINE + ((piece % PIECES) ^ (line / SAME % PIECES)) * 16;
}
template <typename T> K_DEVICE void k_put_piece(k_shared at, const k_pack<T, 8> &w, int half) {
    const unsigned u[] = {w.w[half * 4], w.w[half * 4 + 1], w.w[half * 4 + 2], w.w[half * 4 + 3]};
#ifdef WS_EMULATOR
    for (int i = 0; i < 4; i++) ((unsigned *)at)[i] = u[i];
#else
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
                 : : "r"(at), "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]) : "memory");
#endif
}
/* 16 bytes of elements, number `at` of line `line` of a matrix on, into such a place; what is not in it is 0. */
template <typename T>
K_DEVICE void k_copy_piece(void *smem, const T *matrix, long long pitch, int line, int lines, int at, int width) {
    const int left = line < lines ? width - at : 0, all = 16 / (int)sizeof(T);
    const unsigned valid = left >= all ? 16u : left > 0 ? (unsigned)(left * (int)sizeof(T)) : 0u;
    k_cp_async<16>(smem, matrix + (valid ? line * pitch + at : 0), valid);
}
/* So many bytes of elements, number `at` on, of which so many are left, into a part of such a place; then zeros. */
template <int BYTES, typename T> K_DEVICE void k_copy_part(void *smem, const T *from, long long at, int left) {
    const int all = BYTES / (int)sizeof(T);
    const unsigned valid = left >= all ? (unsigned)BYTES : left > 0 ? (unsigned)(left * (int)sizeof(T)) : 0u;
    k_cp_async<BYTES>(smem, from + (valid ? at : 0), valid);
}
/* 16 bytes of elements into such a place, or as many zeros. */
template <typename T> K_DEVICE void k_copy_piece_if(void *smem, const T *from, long long at, bool inside) {
    k_cp_async<16>(smem, from + (inside ? at : 0), inside ? 16u : 0u);
}
/* Of which the first n count. */
template <typename T> K_DEVICE void k_copy_piece_if_of(void *smem, const T *from, long long at, bool inside, int n) {
    const int valid = inside ? k_clamp(n, 16 / (int)sizeof(T)) : 0;
    k_cp_async<16>(smem, from + (valid > 0 ? at : 0), valid > 0 ? (unsigned)(valid * (int)sizeof(T)) : 0u);
}
/* What k_mma takes of such a tile from a row and a depth on: 16 rows by 16 deep of the left factor, of the right one 16
 * rows (columns of the product): two operands. ALONG: lines run along the rows. The depth is counted in elements of two
 * bytes, of tf32 in halves. */
template <int LINE, bool ALONG> K_DEVICE void k_left_factor(unsigned (&r)[4], unsigned char *tile, int lines, int row, int depth) {
    const int lane = (int)threadIdx.x % 32, of8 = lane % 8, second = lane / 8 % 2, third = lane / 16;
    if (ALONG)
        k_ldmatrix4<true>(r, k_piece<LINE>(tile, lines, depth + third * 8 + of8, row / 8 + second));
    else
        k_ldmatrix4<false>(r, k_piece<LINE>(tile, lines, row + second * 8 + of8, depth / 8 + third));
}
template <int LINE, bool ALONG>
K_DEVICE void k_right_factor(unsigned (&r)[2][2], unsigned char *tile, int lines, int row, int depth) {
    const int lane = (int)threadIdx.x % 32, of8 = lane % 8, second = lane / 8 % 2, third = lane / 16;
    unsigned w[4];
    if (ALONG)
        k_ldmatrix4<true>(w, k_piece<LINE>(tile, lines, depth + second * 8 + of8, row / 8 + third));
    else
        k_ldmatrix4<false>(w, k_piece<LINE>(tile, lines, row + third * 8 + of8, depth / 8 + second));
    r[0][0] = w[0], r[0][1] = w[1], r[1][0] = w[2], r[1][1] = w[3];
}
/* Words of f32, to the nearest tf32. */
template <int N> K_DEVICE void k_round_to_tf32(unsigned (&w)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) w[i] = k_tf32_bits(k_as_float(w[i]));
}
/* All threads round what lies in shared memory. */
template <int THREADS> K_DEVICE void k_round_tile(unsigned char *tile, int bytes) {
#pragma unroll 4
    for (int i = (int)threadIdx.x * 16; i < bytes; i += THREADS * 16) {
        unsigned w[4];
        k_get_side_by_side<unsigned, 4>(w, (const unsigned *)(tile + i));
        k_round_to_tf32(w);
        k_put_side_by_side<unsigned, 4>((unsigned *)(tile + i), w);
    }
}
/* What k_mma_tf32 takes of tiles of f32, likewise, 8 deep. */
template <int LINE> K_DEVICE unsigned k_word_along(unsigned char *tile, int lines, int row, int depth) {
    return *(const unsigned *)(k_piece<LINE>(tile, lines, depth, row / 4) + row % 4 * 4);
}
template <int LINE, bool ALONG>
K_DEVICE void k_left_factor_tf32(unsigned (&r)[4], unsigned char *tile, int lines, int row, int depth) {
    const int lane = (int)threadIdx.x % 32;
    if (!ALONG) k_left_factor<LINE, false>(r, tile, lines, row, depth * 2);
#pragma unroll
    for (int i = 0; i < 4 && ALONG; i++)
        r[i] = k_word_along<LINE>(tile, lines, row + lane / 4 + i % 2 * 8, depth + lane % 4 + i / 2 * 4);
}
template <int LINE, bool ALONG>
K_DEVICE void k_right_factor_tf32(unsigned (&r)[2][2], unsigned char *tile, int lines, int row, int depth) {
    const int lane = (int)threadIdx.x % 32;
    if (!ALONG) k_right_factor<LINE, false>(r, tile, lines, row, depth * 2);
#pragma unroll
    for (int i = 0; i < 4 && ALONG; i++)
        r[i / 2][i % 2] =
            k_word_along<LINE>(tile, lines, row + i / 2 * 8 + lane / 4, depth + lane % 4 + i % 2 * 4);
}
/* The same with a depth in another order: neighbours of a thread's sums, which are number 2 i and 2 i + 1, are at i and
 * i + 4. row, depth: of eights, so that what a lane adds to their place differs from lane to lane alone. */
K_DEVICE void k_left_pairs(unsigned (&r)[4], const float *sums) {
#pragma unroll
    for (int i = 0; i < 4; i++) r[i] = k_tf32_bits(sums[i % 2 * 2 + i / 2]);
}
template <int LINE, bool ALONG>
K_DEVICE void k_right_pairs(unsigned (&r)[2][2], unsigned char *tile, int lines, int row, int depth) {
    enum { PIECES = LINE / 16, SAME = 128 / LINE, STEP = ALONG ? 1 : 2 };
    const unsigned lane = threadIdx.x % 32, eighth = lane / 4, two = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i += STEP) { /* e: of the two, if they lie apart */
        const unsigned e = ALONG ? i % 2 : 0, line = ALONG ? two + e : eighth, at = ALONG ? eighth : two;
        const int down = ALONG ? depth : row + i / 2 * 8, piece = (ALONG ? row + i / 2 * 8 : depth) / 4;
        const unsigned swizzled = (at / 4 ^ line / SAME % PIECES) * 16 ^ piece % PIECES * 16;
        const unsigned char *from =
            tile + (line * LINE + at % 4 * 4) + swizzled + (piece / PIECES * lines + down) * LINE;
        if (ALONG) {
            r[i / 2][i % 2] = *(const unsigned *)from;
        } else {
            const k_two_words q = *(const k_two_words *)from;
            r[i / 2][0] = q.w[0], r[i / 2][1] = q.w[1];
        }
    }
}
/* Such a place in a tile of f32, whose lines of 128 bytes are swizzled so that k_two_deep's reads meet in no bank. */
template <bool ALONG> K_DEVICE unsigned char *k_piece_f32(unsigned char *tile, int lines, int line, int piece) {
    return tile + (piece / 8 * lines + line) * 128 + ((piece % 8) ^ ((ALONG ? line / 2 : line) % 4 * 2)) * 16;
}
/* A lane's two neighbours along the depth, of eight rows and eight of the depth: of each row four lanes have two. row,
 * depth: of eights, so that what a lane adds to their place differs from lane to lane alone. */
template <bool ALONG> K_DEVICE void k_two_deep(float (&x)[2], unsigned char *tile, int lines, int row, int depth) {
    const unsigned eighth = threadIdx.x % 32 / 4, fourth = threadIdx.x % 4, line = ALONG ? fourth * 2 : eighth;
    const unsigned at = ALONG ? eighth : fourth * 2, swizzle = (ALONG ? fourth : eighth % 4) * 2;
    const int down = ALONG ? depth : row, piece = (ALONG ? row : depth) / 4;
    const unsigned char *from = tile + (line * 128 + at % 4 * 4) + ((at / 4 ^ swizzle) * 16 ^ piece % 8 * 16) +
                                (piece / 8 * lines + down) * 128;
    if (ALONG) {
        x[0] = *(const float *)from, x[1] = *(const float *)(from + 128);
    } else {
        const k_two_words q = *(const k_two_words *)from;
        x[0] = k_as_float(q.w[0]), x[1] = k_as_float(q.w[1]);
    }
}
/* Its planes, as k_split makes them; of what is not finite, some plane is not. */
K_DEVICE void k_split_pair(unsigned &a, unsigned &b, unsigned &c, const float (&pair)[2]) {
    float x[2];
    unsigned u[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        x[i] = pair[i] * 65536.0f;
        u[i] = k_as_uint(x[i]) & 0xffff0000u;
        x[i] -= k_as_float(u[i]);
    }
    a = u[0] >> 16 | u[1];
    b = k_bf16x2(x[0], x[1]);
    x[0] -= k_as_float(b << 16), x[1] -= k_as_float(b & 0xffff0000u);
    c = k_bf16x2(x[0], x[1]);
}
/* Two channels, or taps, of an image as it lies. */
template <int N> K_DEVICE void k_planes_of_lying(unsigned (&r)[3][N][4], int n, int i, unsigned x0, unsigned x1) {
    const float pair[2] = {k_as_float(x0), k_as_float(x1)};
    k_split_pair(r[0][n][i], r[1][n][i], r[2][n][i], pair);
}
/* k_left_across of f32 as planes, of which k_split_pair makes three. */
template <bool ALONG, int BOX, int N> K_DEVICE void k_left_planes_of_lane(unsigned (&r)[3][N][4], k_shared of_lane) {
    static_assert(N % 2 == 0, "threads that begin with an instruction's depth, and those that do with the next");
    const unsigned depth = threadIdx.x % 4, row = threadIdx.x / 4 % 8, odd = row & 1;
    const unsigned along = threadIdx.x / 32 % 2 * 4 + row / 4;
#pragma unroll
    for (int n = 0; n < N; n += 2)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float x[2][2];
#pragma unroll
            for (int j = 0; j < 2; j++) {
                if (ALONG) {
                    const k_shared at = of_lane + (depth + (n + j) * 16 + i / 2 * 8) * 128;
                    const unsigned piece = along + i % 2 * 2;
                    x[j][0] = k_as_float(k_load_shared(at + (piece ^ depth * 2) * 16));
                    x[j][1] = k_as_float(k_load_shared(at + 128 + (piece ^ (depth * 2 + 1)) * 16));
                } else { /* of the two an odd row has the second one first */
                    const unsigned piece = i / 2 * 2 + depth / 2;
                    k_load_shared(x[j], of_lane + (n / 2 * BOX + i % 2 * 1024) + ((piece + (j ^ odd) * 4) ^ row) * 16);
                }
            }
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const bool swap = !ALONG && odd;
                const float pair[2] = {swap ? x[1 - j][0] : x[j][0], swap ? x[1 - j][1] : x[j][1]};
                k_split_pair(r[0][n + j][i], r[1][n + j][i], r[2][n + j][i], pair);
            }
        }
}
K_DEVICE void k_split_all(k_pack<k_bf16, 8> (&planes)[3], const float (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float pair[] = {x[i * 2], x[i * 2 + 1]};
        k_split_pair(planes[0].w[i], planes[1].w[i], planes[2].w[i], pair);
    }
}
/* What k_left_factor and k_right_factor give of the three planes of f32. */
template <bool ALONG>
K_DEVICE void k_left_planes(unsigned (&a)[4], unsigned (&b)[4], unsigned (&c)[4], unsigned char *tile, int lines, int row,
                            int depth) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float x[2];
        k_two_deep<ALONG>(x, tile, lines, row + i % 2 * 8, depth + i / 2 * 8);
        k_split_pair(a[i], b[i], c[i], x);
    }
}
template <bool ALONG>
K_DEVICE void k_right_planes(unsigned (&a)[2][2], unsigned (&b)[2][2], unsigned (&c)[2][2], unsigned char *tile, int lines,
                             int row, int depth) {
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float x[2];
            k_two_deep<ALONG>(x, tile, lines, row + j * 8, depth + i * 8);
            k_split_pair(a[j][i], b[j][i], c[j][i], x);
        }
}
/* Of a thread's sums of sixteen columns, as a left factor of that depth. */
K_DEVICE void k_split_terms(unsigned (&a)[4], unsigned (&b)[4], unsigned (&c)[4], const float *sums) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float x[2] = {sums[i * 2 % 4 + i / 2 * 4], sums[i * 2 % 4 + i / 2 * 4 + 1]};
        k_split_pair(a[i], b[i], c[i], x);
    }
}
/* d += the product of such planes, the small ones first. */
K_DEVICE void k_mma_planes(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[4], const unsigned (&c)[4],
                           const unsigned (&x)[2], const unsigned (&y)[2], const unsigned (&z)[2]) {
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    k_mma<k_bf16>(sum, c, x);
    k_mma<k_bf16>(sum, b, y);
    k_mma<k_bf16>(sum, a, z);
    k_mma<k_bf16>(sum, b, x);
    k_mma<k_bf16>(sum, a, y);
    k_mma<k_bf16>(sum, a, x);
#pragma unroll
    for (int i = 0; i < 4; i++) d[i] += sum[i] * 0x1p-32f;
}
/* The next of the planes of bf16 whose sum is x 2^16, of which what is left stays in x: a bf16 holds no less than 2^-133, a
 * float has bits down to 2^-149. The first plane is cut off, for it would round to infinity; what is no number, or gets
 * too large for one, is there as it is, or infinite. */
template <bool FIRST> K_DEVICE void k_split(k_pack<k_bf16, 8> &plane, float (&x)[8]) {
    float y[8];
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] *= FIRST ? 65536.0f : 1.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        y[i] = FIRST && k_isfinite(x[i]) ? k_as_float(k_as_uint(x[i]) & 0xffff0000u) : x[i];
    k_put(plane, y);
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = k_isfinite(x[i]) ? x[i] - k_get(plane, i) : 0.0f;
}
/* The pair of f16 that x times the scale is: the nearest one, and the nearest to what that leaves, 2^11 times over, which
 * stays in x. */
template <bool FIRST> K_DEVICE void k_halve(k_pack<k_f16, 8> &plane, float (&x)[8], float scale) {
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] *= FIRST ? scale : 1.0f;
    k_put(plane, x);
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = (x[i] - k_get(plane, i)) * 2048.0f;
}
/* The largest magnitude of finite numbers, as bits; the power of two that makes of the largest one of all threads of the
 * block about 2^10. */
K_DEVICE void k_top_finite(unsigned &most, const float (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const unsigned bits = k_as_uint(x[i]) & 0x7fffffffu;
        most = bits < 0x7f800000u && bits > most ? bits : most;
    }
}
K_DEVICE float k_scale_of_pairs(unsigned most) {
    __shared__ unsigned of_warps[32];
#pragma unroll
    for (int d = 16; d; d /= 2) {
        const unsigned other = __shfl_xor_sync(0xffffffffu, most, d);
        most = other > most ? other : most;
    }
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
    __syncthreads();
    for (int i = 0; i < (int)blockDim.x / 32; i++) most = of_warps[i] > most ? of_warps[i] : most;
    const int by = most ? 10 + 127 - (int)(most >> 23) : 0;
    return k_as_float((unsigned)(127 + (by > 56 ? 56 : by < -56 ? -56 : by)) << 23);
}
/* The largest magnitude, as bits: of all eight, or of each and those before. */
K_DEVICE void k_top(unsigned (&top)[1], const float (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const unsigned bits = k_as_uint(x[i]) & 0x7fffffffu;
        top[0] = bits > top[0] ? bits : top[0];
    }
}
K_DEVICE void k_top(unsigned (&top)[8], const float (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const unsigned bits = k_as_uint(x[i]) & 0x7fffffffu;
        top[i] = bits > top[i] ? bits : top[i];
    }
}
/* Of those of LANES lanes, from a multiple of these on. */
template <int LANES> K_DEVICE void k_top_of_lanes(unsigned (&top)[1]) {
    const unsigned first = threadIdx.x % 32 & ~(LANES - 1u);
    const unsigned mask = LANES == 32 ? 0xffffffffu : ((1u << LANES % 32) - 1) << first;
#pragma unroll
    for (int d = 1; d < LANES; d *= 2) {
        const unsigned other = __shfl_xor_sync(mask, top[0], d);
        top[0] = other > top[0] ? other : top[0];
    }
}
/* Is a group of numbers with this largest one out of the range of pairs? It is in range where all are 0, or the largest
 * times the scale is from 2^-14 on and becomes no infinity. */
template <int N> K_DEVICE bool k_out_of_range(const unsigned (&top)[N], float scale) {
    const unsigned by = k_as_uint(scale) - 0x3f800000u, least = 0x38800000u - by, end = 0x477ff000u - by;
    bool out = false;
#pragma unroll
    for (int i = 0; i < N; i++) out |= top[i] && (top[i] < least || top[i] >= end);
    return out;
}
/* A tile of f32 in swizzled lines of 128 bytes becomes the two planes of its pairs where it lies: LINES lines, of each
 * CHUNKS of eight numbers, first in boxes of 32, then, of each plane, of 64. A chunk is two pieces of one box and one of
 * each plane, all at the line's own place, and a warp has whole lines, so that it meets nobody else: it reads, then writes.
 * Eight threads have four chunks each of two lines that are 5 apart in the bits of their numbers: they read even pieces of
 * the one and odd ones of the other, and write lower and upper ones. odd: of eight neighbours along the depth, or ALONG
 * the lines of as many as a warp has of one, or more, some are out of range. */
template <int LINES, int CHUNKS, int THREADS, bool ALONG>
K_DEVICE void k_split_in_place(k_shared tile, int thread, float scale, bool &odd) {
    enum { STEP = THREADS / CHUNKS, TOPS = ALONG ? 8 : 1 };
    static_assert((CHUNKS == 8 || CHUNKS == 16) && STEP % 8 == 0 && LINES % STEP == 0, "warps have whole lines");
    const unsigned chunk = thread % 4 + thread / 8 % (CHUNKS / 4) * 4, two = thread / (2 * CHUNKS);
    const unsigned of8 = two % 4 ^ (thread / 4 % 2 ? 5u : 0u), first = two / 4 * 8 + of8;
    const k_shared from = tile + (chunk / 4 * LINES + first) * 128, to = tile + (chunk / 8 * LINES + first) * 128;
    const unsigned read = (chunk % 4 * 2 ^ of8) * 16, written = (chunk % 8 ^ of8) * 16;
    unsigned top[TOPS];
#pragma unroll
    for (int i = 0; i < TOPS; i++) top[i] = 0;
#pragma unroll
    for (int l = 0; l < LINES; l += STEP) {
        float half[2][4], x[8];
        k_pack<k_f16, 8> plane[2];
        k_shared_get(half[0], from + l * 128 + read);
        k_shared_get(half[1], from + l * 128 + (read ^ 16));
#pragma unroll
        for (int i = 0; i < 8; i++) x[i] = half[i / 4][i % 4];
        if (!ALONG) top[0] = 0;
        k_top(top, x);
        if (!ALONG) odd |= k_out_of_range(top, scale);
        k_halve<true>(plane[0], x, scale);
        k_halve<false>(plane[1], x, scale);
        __syncwarp();
        k_put_piece(to + l * 128 + written, plane[0], 0);
        k_put_piece(to + (CHUNKS / 8 * LINES + l) * 128 + written, plane[1], 0);
    }
    if (!ALONG) return;
#pragma unroll
    for (int d = CHUNKS == 8 ? 16 : 4; d; d = d == 16 ? 4 : 0)
#pragma unroll
        for (int i = 0; i < TOPS; i++) {
            const unsigned other = __shfl_xor_sync(0xffffffffu, top[i], d);
            top[i] = other > top[i] ? other : top[i];
        }
    odd |= k_out_of_range(top, scale);
}
/* A word of the block's: did any thread find something; behind those of all blocks, what takes the scale back. And whether
 * any of so many blocks found something, which all threads ask. */
K_DEVICE void k_leave_flag(unsigned *flags, bool found, float scale) {
    const int any = __syncthreads_or(found);
    if (threadIdx.x == 0) flags[blockIdx.x] = any != 0;
    if (threadIdx.x == 0 && blockIdx.x == 0) flags[gridDim.x] = k_as_uint(1.0f / scale);
}
K_DEVICE bool k_any_flag(const unsigned *a, int n_a, const unsigned *b, int n_b) {
    unsigned any = 0;
    for (int i = (int)threadIdx.x; i < n_a; i += (int)blockDim.x) any |= a[i];
    for (int i = (int)threadIdx.x; i < n_b; i += (int)blockDim.x) any |= b[i];
    return __syncthreads_or(any != 0) != 0;
}
/* Pairs of a row, eight elements of four bytes beside each other in four threads, and the next eight in the next call.
 * Those that lie in the eight's second sector of memory wait, and are stored with the first ones of the next. Where a
 * row of memory ends between the two, both are stored. */
template <typename T> struct k_rest {
    k_pack<T, 2> x;
    T *at;
    bool is;
};
template <int STREAM, typename T>
K_DEVICE void k_store_sectors(k_rest<T> &rest, T *at, const k_pack<T, 2> &x, bool there) {
    const bool later = ((unsigned)(unsigned long long)at & 31u) < (threadIdx.x & 3) * 8;
    const bool now = there && !later;
    k_pack<T, 2> y;
#pragma unroll
    for (int i = 0; i < 2; i++) y.w[i] = rest.is ? rest.x.w[i] : x.w[i];
    if (rest.is || now) k_store<T, 2, STREAM>(rest.is ? rest.at : at, y);
    if (rest.is && now) k_store<T, 2, STREAM>(at, x);
    rest.x = x, rest.at = at, rest.is = there && later;
}
template <int STREAM, typename T> K_DEVICE void k_store_rest(const k_rest<T> &rest) {
    if (rest.is) k_store<T, 2, STREAM>(rest.at, rest.x);
}
/* Rows of 16-bit elements that begin anywhere in memory. Four threads have a row, a pair each of every eight columns; its
 * words, for memory, are pairs of neighbours or, where it begins at half a word, a pair's second element and the first
 * one of the pair behind. Word i of the row is word i + skew from the begin of the sector that its first one lies in: what
 * is number q of the four's becomes number (q + skew) % 4, and its octets come (q + skew) / 4 later. So it is as if the row
 * began with a sector: turned, each of the four has a vector, all of them two sectors. What comes later is kept for the
 * next octets, as is the vector that the row ends within, and stored by k_end_row: but for the row's first vectors nothing
 * branches, so that one octet's exchanges hide behind another's. `first`: where the row's `columns` elements begin; v: those
 * of the thread's of OCTETS octets from number chunk * OCTETS on. */
struct k_moved {
    unsigned before[2], last, rest[4];
    int at; /* of `rest`, from the row's first element on, in bytes; behind all of it: there is none */
};
K_DEVICE k_moved k_not_moved() { return k_moved{{0, 0}, 0, {0, 0, 0, 0}, 0x7fffffff}; }
K_DEVICE unsigned k_bytes(unsigned low, unsigned high, unsigned which) {
#ifdef WS_EMULATOR
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned byte = which >> (4 * i) & 7;
        r |= ((byte < 4 ? low : high) >> (8 * (byte & 3)) & 0xffu) << (8 * i);
    }
    return r;
#else
    return __byte_perm(low, high, which);
#endif
}
/* Bytes from `from` to `end` of a vector. */
K_DEVICE void k_store_within(char *at, const unsigned (&w)[4], int from, int end) {
#pragma unroll 1
    for (int i = 0; i < 16; i += 8) {
        const unsigned half[2] = {i ? w[2] : w[0], i ? w[3] : w[1]};
        if (from <= i && i + 8 <= end) {
            k_store_words<8, 0>(at + i, half);
            continue;
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const int low = i + 4 * j;
            const unsigned second = half[j] >> 16;
            if (from <= low && low + 4 <= end)
                k_store_words<4, 0>(at + low, half + j);
            else if (from <= low && low + 2 <= end)
                k_store_words<2, 0>(at + low, half + j);
            else if (from <= low + 2 && low + 4 <= end)
                k_store_words<2, 0>(at + low + 2, &second);
        }
    }
}
template <int OCTETS, int PAIRS, int STREAM>
K_DEVICE void k_move_row(k_moved &moved, char *first, int columns, int chunk, unsigned (&w)[4]) {
    const unsigned quad = threadIdx.x & 3, four = threadIdx.x & 28, begin = (unsigned)(unsigned long long)first & 31,
                   skew = begin / 4, q = (quad + skew) & 3, late = (quad + skew) / 4;
    if (!PAIRS) {
        const unsigned last = w[OCTETS - 1], words[4] = {w[0], w[1], w[2], w[3]};
#pragma unroll
        for (int i = 0; i < OCTETS; i += 2) { /* those of number 3 go to number 0 of the next octet */
            const unsigned a = quad < 3 ? words[i] : i ? words[i > 0 ? i - 1 : 0] : moved.last,
                           b = quad < 3 ? words[i + 1] : words[i],
                           seconds = __shfl_sync(0xffffffffu, k_bytes(a, b, 0x7632), four | ((quad - 1) & 3));
            w[i] = k_bytes(seconds, words[i], begin & 2 ? 0x5410 : 0x7654);
            w[i + 1] = k_bytes(seconds, words[i + 1], begin & 2 ? 0x5432 : 0x7654);
        }
        moved.last = last;
    }
    unsigned x[4] = {0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < OCTETS; j++) {
        const unsigned one = j ? w[j > 0 ? j - 1 : 0] : moved.before[1], two = j > 1 ? w[j > 1 ? j - 2 : 0] : moved.before[j & 1];
        x[j] = late == 0 ? w[j] : late == 1 ? one : two;
    }
    moved.before[0] = w[OCTETS - 2], moved.before[1] = w[OCTETS - 1];
#pragma unroll
    for (unsigned d = 1; d < 4; d *= 2)
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            if (i & d) continue;
            const unsigned got = __shfl_sync(0xffffffffu, q & d ? x[i] : x[i | d], four | (((q ^ d) - skew) & 3));
            if (q & d)
                x[i] = got;
            else
                x[i | d] = got;
        }
    const int vector = chunk * OCTETS * 16 + (int)q * 16 - (int)begin, end = q < OCTETS ? columns * 2 - vector : 0;
    if (vector >= 0 && end >= 16) k_store_words<16, STREAM>(first + vector, x);
    const bool ends = vector >= 0 && end > 0 && end < 16;
#pragma unroll
    for (int i = 0; i < 4; i++) moved.rest[i] = ends ? x[i] : moved.rest[i];
    moved.at = ends ? vector : moved.at;
    if (chunk == 0 && vector < 0 && vector > -16 && end > -vector) k_store_within(first + vector, x, -vector, end);
}
template <int OCTETS, int PAIRS, int STREAM, typename T>
K_DEVICE void k_store_row(k_moved &moved, T *first, int columns, int chunk, const float *v) {
    unsigned w[4] = {0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < OCTETS; j++) {
        k_pack<T, 2> pair;
        k_put(pair, v + 2 * j);
        w[j] = pair.w[0];
    }
    k_move_row<OCTETS, PAIRS, STREAM>(moved, (char *)first, columns, chunk, w);
}
template <int OCTETS, int PAIRS, int STREAM, typename T>
K_DEVICE void k_end_row(k_moved &moved, T *first, int columns, int chunk) {
    unsigned w[4] = {0, 0, 0, 0};
    k_move_row<OCTETS, PAIRS, STREAM>(moved, (char *)first, columns, chunk, w);
    if (moved.at < columns * 2) k_store_within((char *)first + moved.at, moved.rest, 0, columns * 2 - moved.at);
}
/* A matrix of 8 x 8 elements of 16 bits, of which thread 4*i + j of a warp has row i, columns 2*j and 2*j + 1: transposed.
 * The thread then has column i, rows 2*j and 2*j + 1. */
K_DEVICE unsigned k_turn_matrix(unsigned x) {
#ifdef WS_EMULATOR
    const int lane = (int)threadIdx.x & 31, from = lane % 4 * 8 + lane / 8;
    const unsigned first = __shfl_sync(0xffffffffu, x, from), second = __shfl_sync(0xffffffffu, x, from + 4);
    return lane / 4 & 1 ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
#else
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x));
    return x;
#endif
}
/* Two rows each of a column's lower and upper eight, as k_turn_matrix leaves them: a thread stores four neighbours, an even
 * one of the lower eight from row quad / 2 * 4 on, an odd one of the upper, so that four threads store a whole sector. */
template <int STREAM, typename T>
K_DEVICE void k_store_across(T *at, unsigned lower, unsigned upper, bool there) {
    const bool odd = threadIdx.x & 1;
    const unsigned got = __shfl_xor_sync(0xffffffffu, odd ? lower : upper, 1);
    k_pack<T, 4> x;
    x.w[0] = odd ? got : lower;
    x.w[1] = odd ? upper : got;
    if (there) k_store<T, 4, STREAM>(at, x);
}
/* The other way round: four rows of a column that a thread has loaded, an even one of four of the lower eight, an odd one
 * of the upper, become pairs of columns of a lower and an upper row. Bytes take turns as 16 bits. */
template <typename T> K_DEVICE void k_turn_rows(k_pack<T, 2> (&pair)[2], const k_pack<T, 4> &x) {
    const bool odd = threadIdx.x & 1, bytes = sizeof(T) == 1;
    const unsigned first = bytes ? k_bytes(x.w[0], 0, 0x4140) : x.w[0],
                   second = bytes ? k_bytes(x.w[0], 0, 0x4342) : x.w[sizeof(T) / 2],
                   got = __shfl_xor_sync(0xffffffffu, odd ? first : second, 1),
                   lower = k_turn_matrix(odd ? got : first), upper = k_turn_matrix(odd ? second : got);
    pair[0].w[0] = bytes ? k_bytes(lower, 0, 0x4420) : lower;
    pair[1].w[0] = bytes ? k_bytes(upper, 0, 0x4420) : upper;
}
/* Word j of the thread that is number i of four goes to number j, as its word i. */
K_DEVICE void k_transpose_quad(unsigned (&w)[4]) {
    const unsigned q = threadIdx.x & 3;
#pragma unroll
    for (int d = 1; d < 4; d *= 2)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i & d) continue;
            const unsigned got = __shfl_xor_sync(0xffffffffu, q & d ? w[i] : w[i | d], d);
            if (q & d)
                w[i] = got;
            else
                w[i | d] = got;
        }
}
