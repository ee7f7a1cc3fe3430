/* memory.cuh: elements, vectors of them, and global memory. It is the beginning of CUDA's prelude, the head of every
 * generated kernel, which is memory.cuh, maths.cuh, reduce.cuh, copies.cuh, tensor.cuh and products.cuh in one text
 * (emit/prelude.c). Includes no CUDA header (NVRTC needs 20 ms instead of
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
K_DEVICE unsigned k_f16x2(float lo, float hi) { return emu_f16_bits(lo) | (unsigned)emu_f16_bits(hi) << 16; }
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
K_DEVICE unsigned k_f16x2(float lo, float hi) {
    unsigned w;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(hi), "f"(lo));
    return w;
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
/* Of values that were loaded as bf16 and only moved: nothing is rounded, and compilers see that halves of words become
 * halves of words. */
template <int N> K_DEVICE void k_put_moved(k_pack<k_bf16, N> &p, const float *v) {
#pragma unroll
    for (int i = 0; i < N / 2; i++) p.w[i] = (k_as_uint(v[2 * i + 1]) & 0xffff0000u) | k_as_uint(v[2 * i]) >> 16;
    if (N & 1) p.w[N / 2] = k_as_uint(v[N - 1]) >> 16;
}
template <int N> K_DEVICE void k_put(k_pack<k_f16, N> &p, const float *v) {
#pragma unroll
    for (int i = 0; i < N / 2; i++) p.w[i] = k_f16x2(v[2 * i], v[2 * i + 1]);
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

/* What loads are told, as bits: leave no copy in L1; leave L2 before what is stored does, or after it; stay where the text
 * has them, before the stores and waits that follow; see what threads of the block have stored before. Compilers move other loads down to where they are used, one behind
 * the other, as soon as registers are few. */
enum { K_SKIP_L1 = 1, K_LEAVE_L2 = 2, K_STAY_L2 = 4, K_HERE = 8, K_NOW = 16 };
#ifndef WS_EMULATOR
template <int HINTS> K_DEVICE unsigned long long k_l2_policy() {
    unsigned long long policy = 0;
    if (HINTS & K_LEAVE_L2) asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    if (HINTS & K_STAY_L2) asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    return policy;
}
#endif
/* What is narrower than a register fills it up with zeros, as 16 bits of their own would not. */
#define K_LOAD_WORDS(IF, OUT, condition, kind, hint, POLICY, ...)                                                 \
    if (BYTES == 1) {                                                                                             \
        asm volatile(IF(2) "ld.global" kind hint ".u8 %0, [%1]" POLICY(3) ";}"                                    \
                     : OUT "r"(w[0]) : "l"(at), condition __VA_ARGS__);                                           \
    } else if (BYTES == 2) {                                                                                      \
        asm volatile(IF(2) "ld.global" kind hint ".u16 %0, [%1]" POLICY(3) ";}"                                   \
                     : OUT "r"(w[0]) : "l"(at), condition __VA_ARGS__);                                           \
    } else if (BYTES == 4) {                                                                                      \
        asm volatile(IF(2) "ld.global" kind hint ".u32 %0, [%1]" POLICY(3) ";}"                                   \
                     : OUT "r"(w[0]) : "l"(at), condition __VA_ARGS__);                                           \
    } else if (BYTES == 8) {                                                                                      \
        asm volatile(IF(3) "ld.global" kind hint ".v2.u32 {%0, %1}, [%2]" POLICY(4) ";}"                          \
                     : OUT "r"(w[0]), OUT "r"(w[1]) : "l"(at), condition __VA_ARGS__);                            \
    } else {                                                                                                      \
        _Pragma("unroll") for (int i = 0; i < BYTES / 16; i++)                                                    \
            asm volatile(IF(5) "ld.global" kind hint ".v4.u32 {%0, %1, %2, %3}, [%4]" POLICY(6) ";}"              \
                         : OUT "r"(w[4 * i]), OUT "r"(w[4 * i + 1]), OUT "r"(w[4 * i + 2]), OUT "r"(w[4 * i + 3]) \
                         : "l"((const char *)at + 16 * i), condition __VA_ARGS__);                                \
    }
#define K_ALWAYS(operand) "{"
#define K_WHERE(operand) "{.reg .pred c; setp.ne.s32 c, %" #operand ", 0; @c "
#define K_NO_POLICY(operand) ""
#define K_POLICY(operand) ", %" #operand
#define K_POLICY_INPUT , "l"(policy)
#define K_LOAD_AS(kind, hint, POLICY, ...)                                       \
    if (IF) {                                                                    \
        K_LOAD_WORDS(K_WHERE, "+", "r"((int)c), kind, hint, POLICY, __VA_ARGS__) \
    } else {                                                                     \
        K_LOAD_WORDS(K_ALWAYS, "=", "n"(1), kind, hint, POLICY, __VA_ARGS__)     \
    }
/* IF: where c holds; else w stays as it is. The load itself has the condition: a branch around each would keep compilers
 * from moving them together, and make a policy anew behind each. */
template <int BYTES, int HINTS, bool IF = false> K_DEVICE void k_load_words(unsigned *w, const void *at, bool c = true) {
#ifdef WS_EMULATOR
    if (IF && !c) return;
    if (HINTS & K_NOW)
        emu_load_now(w, at, BYTES);
    else
        emu_load(w, at, BYTES);
#else
    const unsigned long long policy = k_l2_policy<HINTS>();
    if (HINTS & (K_HERE | K_NOW)) {
        if (HINTS & (K_LEAVE_L2 | K_STAY_L2)) {
            K_LOAD_AS("", ".L2::cache_hint", K_POLICY, K_POLICY_INPUT)
        } else {
            K_LOAD_AS("", "", K_NO_POLICY, )
        }
    } else if (HINTS & (K_LEAVE_L2 | K_STAY_L2)) {
        if (HINTS & K_SKIP_L1) {
            K_LOAD_AS(".nc", ".L1::no_allocate.L2::cache_hint", K_POLICY, K_POLICY_INPUT)
        } else {
            K_LOAD_AS(".nc", ".L2::cache_hint", K_POLICY, K_POLICY_INPUT)
        }
    } else if (HINTS & K_SKIP_L1) {
        K_LOAD_AS(".nc", ".L1::no_allocate", K_NO_POLICY, )
    } else {
        K_LOAD_AS(".nc", "", K_NO_POLICY, )
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
/* Of two vectors, one behind the other, the one that begins so many bytes, less than a vector's, behind the first. */
template <typename T, int N>
K_DEVICE k_pack<T, N> k_out_of_two(const k_pack<T, N> &a, const k_pack<T, N> &b, unsigned bytes) {
    enum { WORDS = k_pack<T, N>::WORDS, PARTS = sizeof(T) < 4 };
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
template <typename T, int N, int HINTS = 0, bool WITHIN = false, typename I>
K_DEVICE k_pack<T, N> k_load_shifted(const T *p, I at) {
    const unsigned past = (unsigned)at & (N - 1);
    const T *from = p + (at - (I)past);
    const k_pack<T, N> a = k_load<T, N, HINTS>(from);
    const k_pack<T, N> b = k_load<T, N, HINTS>(WITHIN && !past ? from : from + N);
    return k_out_of_two(a, b, past * (unsigned)sizeof(T));
}
/* A vector of each lane of a warp, one behind the other from wherever `at` is: a lane takes what the one before it has in
 * the vector of memory that its own begin in, and stores that. What lies in no such vector, at both ends, goes one by one.
 * left: elements that are to be stored, from the lane's first on. All lanes come here. */
template <typename T, int N, int STREAM, typename I>
K_DEVICE void k_store_shifted(T *at, const k_pack<T, N> &p, I left) {
    enum { WORDS = k_pack<T, N>::WORDS };
    const int past = (int)((unsigned long long)at / sizeof(T) & (N - 1)), own = N - past;
    const int lane = (int)threadIdx.x & 31;
    k_pack<T, N> before;
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const unsigned w = __shfl_up_sync(0xffffffffu, p.w[i], 1);
        before.w[i] = past ? w : p.w[i];
    }
    const k_pack<T, N> v = k_out_of_two(before, p, (unsigned)(past ? own : 0) * (unsigned)sizeof(T));
    const bool whole = (lane > 0 || !past) && left >= (I)own, next = lane < 31 && left >= (I)(N + own);
    if (whole) k_store<T, N, STREAM>(at - past, v);
    const int begin = whole ? own : 0, end = next ? own : left < (I)N ? (int)left : N;
    const unsigned ends = begin < end ? ((1u << end) - 1) >> begin << begin : 0;
    if (ends)
#pragma unroll
        for (int i = 0; i < N; i++)
            if (ends >> i & 1) k_store<T, 1, STREAM>(at + i, k_pick(p, i));
}
/* Where c holds; else zeros, and nothing is read. */
template <typename T, int N, int HINTS = 0> K_DEVICE k_pack<T, N> k_load_if(bool c, const T *at) {
    k_pack<T, N> p;
#pragma unroll
    for (int i = 0; i < (int)(sizeof p.w / sizeof *p.w); i++) p.w[i] = 0;
    k_load_words<k_pack<T, N>::BYTES, HINTS, true>(p.w, at, c);
    return p;
}
/* The first n of them, or all; for others zeros, and they are not read. */
template <typename T, int N, int HINTS = 0, typename I> K_DEVICE k_pack<T, N> k_load_some(const T *at, I n) {
    enum { BITS = 8 * (int)sizeof(T), EACH = BITS < 32 ? 32 / BITS : 1, WORDS = k_pack<T, 1>::WORDS };
    k_pack<T, N> p = k_load_if<T, N, HINTS>(n >= N, at);
    if (n >= N) return p;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const k_pack<T, 1> q = k_load_if<T, 1, HINTS & K_NOW>(i < n, at + i);
#pragma unroll
        for (int j = 0; j < WORDS; j++) p.w[i * WORDS / EACH + j] |= q.w[j] << (EACH > 1 ? i % EACH * BITS : 0);
    }
    return p;
}
template <typename T, int N, int STREAM, typename I> K_DEVICE void k_store_some(T *at, const k_pack<T, N> &p, I n) {
    if (n >= N) {
        k_store<T, N, STREAM>(at, p);
        return;
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        if (i < n) k_store<T, 1, STREAM>(at + i, k_pick(p, i));
}
/* One element. */
template <typename T> K_DEVICE typename k_math<T>::type k_load1_if(bool c, const T *at) {
    return k_get(k_load_if<T, 1>(c, at), 0);
}
template <typename T> K_DEVICE typename k_math<T>::type k_load1(const T *at) { return k_get(k_load<T, 1>(at), 0); }
/* One that a block of this launch has left: from L2, and by no load that need not see it. */
template <typename T> K_DEVICE typename k_math<T>::type k_load1_if_now(bool c, const T *at) {
    enum { BYTES = k_pack<T, 1>::BYTES };
    k_pack<T, 1> p;
    unsigned *const w = p.w;
#pragma unroll
    for (int i = 0; i < (int)(sizeof p.w / sizeof *p.w); i++) w[i] = 0;
    if (c) {
#ifdef WS_EMULATOR
        emu_load_now(w, at, BYTES);
#else
        K_LOAD_WORDS(K_ALWAYS, "=", "n"(1), ".cg", "", K_NO_POLICY, )
#endif
    }
    return k_get(p, 0);
}
template <typename T> K_DEVICE typename k_math<T>::type k_load1_now(const T *at) { return k_load1_if_now(true, at); }
template <int STREAM = 0, typename T> K_DEVICE void k_store1(T *at, typename k_math<T>::type v) {
    k_pack<T, 1> p;
    k_put(p, &v);
    k_store<T, 1, STREAM>(at, p);
}
