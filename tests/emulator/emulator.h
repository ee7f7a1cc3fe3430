/* emulator.h: CUDA C++ for the host compiler. Included by the kernel text under WS_EMULATOR.
 *
 * A CUDA thread is a fiber of the runtime (block.c); what it does to memory and what it waits for
 * goes through the hooks of hooks.h. Three things make the text work unchanged:
 *   __shared__ is thread_local, which at block scope means static: one copy for all fibers of a
 *       host thread, for `extern __shared__ T name[];` and `__shared__ T name[32];` alike;
 *   the text is compiled with -fsanitize=thread but without its library: the compiler then calls
 *       __tsan_read4(p) and the like before each access to memory, and these functions are ours;
 *   a launch unpacks void **args by the types of the kernel's parameters (EMU_ENTRY below).
 *
 * No header of the C++ library: a kernel compiles in a fraction of a second. */
#ifndef EMU_EMULATOR_H
#define EMU_EMULATOR_H

#include "hooks.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...) /* struct emu_launch says it */
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
#define __shared__ thread_local
#define EMU_CALLED static inline /* module.c puts it in front of the prelude's void functions */

/* ---- the launch --------------------------------------------------------------------------- */

static struct emu_host emu_host;
static struct emu_index threadIdx, blockIdx, blockDim, gridDim;
enum { warpSize = 32 };

static inline unsigned emu_lane() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;
}

/* What talks to the runtime is no access of the kernel's. */
#define EMU_QUIET __attribute__((noinline, no_sanitize("thread")))

/* ---- memory ------------------------------------------------------------------------------- */

#define EMU_HOOK extern "C" __attribute__((used, no_sanitize("thread")))
#define EMU_SIZED(n)                                                                               \
    EMU_HOOK void __tsan_read##n(void *p) { emu_host.access(emu_host.emu, p, n, EMU_READ, 1); }    \
    EMU_HOOK void __tsan_write##n(void *p) { emu_host.access(emu_host.emu, p, n, EMU_WRITE, 1); }  \
    EMU_HOOK void __tsan_unaligned_read##n(void *p) {                                              \
        emu_host.access(emu_host.emu, p, n, EMU_READ, 0);                                          \
    }                                                                                              \
    EMU_HOOK void __tsan_unaligned_write##n(void *p) {                                             \
        emu_host.access(emu_host.emu, p, n, EMU_WRITE, 0);                                         \
    }                                                                                              \
    EMU_HOOK void __tsan_volatile_read##n(void *p) { __tsan_read##n(p); }                          \
    EMU_HOOK void __tsan_volatile_write##n(void *p) { __tsan_write##n(p); }
EMU_SIZED(1)
EMU_SIZED(2)
EMU_SIZED(4)
EMU_SIZED(8)
EMU_SIZED(16)
#undef EMU_SIZED

EMU_HOOK void __tsan_read_range(void *p, unsigned long n) {
    emu_host.access(emu_host.emu, p, (unsigned)n, EMU_READ, 0);
}
EMU_HOOK void __tsan_write_range(void *p, unsigned long n) {
    emu_host.access(emu_host.emu, p, (unsigned)n, EMU_WRITE, 0);
}
EMU_HOOK void __tsan_init() {}
EMU_HOOK void __tsan_func_entry(void *) {}
EMU_HOOK void __tsan_func_exit() {}

/* What the prelude's loads and stores become: n is 1, 2, 4, 8, 16 or a multiple of 16, and the
 * address a multiple of it (of 16 at most). A load of less than a word clears the word's rest. It
 * is of what the launch does not write, as ld.global.nc is, but for loads `now`. */
static EMU_QUIET void emu_load(unsigned *words, const void *at, int n) {
    emu_host.load(emu_host.emu, words, at, (unsigned)n);
}
static EMU_QUIET void emu_load_now(unsigned *words, const void *at, int n) {
    emu_host.load_now(emu_host.emu, words, at, (unsigned)n);
}
static EMU_QUIET void emu_look(unsigned *words, const void *at, int n) {
    emu_host.look(emu_host.emu, words, at, (unsigned)n);
}
static EMU_QUIET void emu_store(void *at, const unsigned *words, int n) {
    emu_host.store(emu_host.emu, at, words, (unsigned)n);
}

/* To memory that others look at meanwhile. */
static EMU_QUIET void emu_show(void *at, const unsigned *words, int n) {
    emu_host.access(emu_host.emu, at, (unsigned)n, EMU_ATOMIC, 1);
    __builtin_memcpy(at, words, (unsigned)n);
}

/* ---- synchronisation ---------------------------------------------------------------------- */

static EMU_QUIET unsigned emu_sync_block(int line, int predicate) {
    return emu_host.sync_block(emu_host.emu, line, predicate);
}
static inline void __syncthreads(int line = __builtin_LINE()) { emu_sync_block(line, 0); }
static inline int __syncthreads_count(int p, int line = __builtin_LINE()) {
    return (int)emu_sync_block(line, p != 0);
}
static inline int __syncthreads_or(int p, int line = __builtin_LINE()) {
    return emu_sync_block(line, p != 0) != 0;
}
static inline int __syncthreads_and(int p, int line = __builtin_LINE()) {
    return emu_sync_block(line, p == 0) == 0;
}
static EMU_QUIET void emu_bar_sync(unsigned id, unsigned threads) {
    emu_host.sync_named(emu_host.emu, id, threads, 1);
}
static EMU_QUIET void emu_bar_arrive(unsigned id, unsigned threads) {
    emu_host.sync_named(emu_host.emu, id, threads, 0);
}
static EMU_QUIET void emu_yield() { emu_host.yield(emu_host.emu); }
static inline void __nanosleep(unsigned) { emu_yield(); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}

static EMU_QUIET unsigned long long emu_warp(int op, unsigned mask, unsigned long long value,
                                             unsigned source = 0) {
    return emu_host.warp(emu_host.emu, op, mask, value, source);
}
static inline void __syncwarp(unsigned mask = 0xffffffffu) { emu_warp(EMU_SYNCWARP, mask, 0); }
static inline unsigned __ballot_sync(unsigned mask, int p) {
    return (unsigned)emu_warp(EMU_BALLOT, mask, p != 0);
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, !p) == 0; }
static inline unsigned __activemask() { return 1u << emu_lane(); } /* no lockstep here */

/* Values travel as 64 bits. */
template <typename T> static inline unsigned long long emu_pack(T v) {
    static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
    unsigned long long u = 0;
    __builtin_memcpy(&u, &v, sizeof v);
    return u;
}
template <typename T> static inline T emu_unpack(unsigned long long u) {
    T v;
    __builtin_memcpy(&v, &u, sizeof v);
    return v;
}

/* The lane is cut into segments of `width`; a source outside the own segment is the lane itself. */
template <typename T>
static inline T emu_shuffle(unsigned mask, T v, int source, int width, bool modulo = false) {
    int lane = (int)emu_lane(), first = lane & ~(width - 1);
    if (modulo) source = first + (source & (width - 1));
    if (source < first || source >= first + width) source = lane;
    return emu_unpack<T>(emu_warp(EMU_SHUFFLE, mask, emu_pack(v), (unsigned)source));
}
template <typename T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
    return emu_shuffle(mask, v, from, width, true);
}
template <typename T>
static inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
    return emu_shuffle(mask, v, (int)emu_lane() - (int)delta, width);
}
template <typename T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
    return emu_shuffle(mask, v, (int)(emu_lane() + delta), width);
}
/* An xor may reach into an earlier segment, as on the device. */
template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T v, int lane_mask, int width = 32) {
    int lane = (int)emu_lane(), source = lane ^ lane_mask;
    if (source >= (lane & ~(width - 1)) + width) source = lane;
    return emu_unpack<T>(emu_warp(EMU_SHUFFLE, mask, emu_pack(v), (unsigned)source & 31));
}
template <typename T> static inline unsigned __match_any_sync(unsigned mask, T v) {
    return (unsigned)emu_warp(EMU_MATCH, mask, emu_pack(v));
}

#define EMU_REDUCE(name, T, op)                                                                    \
    static inline T name(unsigned mask, T v) {                                                     \
        return (T)emu_warp(op, mask, (unsigned long long)(long long)v);                            \
    }
EMU_REDUCE(__reduce_add_sync, unsigned, EMU_ADD)
EMU_REDUCE(__reduce_add_sync, int, EMU_ADD)
EMU_REDUCE(__reduce_and_sync, unsigned, EMU_AND)
EMU_REDUCE(__reduce_or_sync, unsigned, EMU_OR)
EMU_REDUCE(__reduce_xor_sync, unsigned, EMU_XOR)
EMU_REDUCE(__reduce_min_sync, int, EMU_MIN_SIGNED)
EMU_REDUCE(__reduce_max_sync, int, EMU_MAX_SIGNED)
EMU_REDUCE(__reduce_min_sync, unsigned, EMU_MIN_UNSIGNED)
EMU_REDUCE(__reduce_max_sync, unsigned, EMU_MAX_UNSIGNED)
#undef EMU_REDUCE

template <typename T> struct emu_same { typedef T type; }; /* keeps T from being deduced */

/* Fibers change places only inside hooks, so what follows the check is atomic. */
#define EMU_ATOMIC_OP(name, expression)                                                            \
    template <typename T> static EMU_QUIET T name(T *at, typename emu_same<T>::type v) {           \
        emu_host.access(emu_host.emu, at, sizeof(T), EMU_ATOMIC, 1);                               \
        T old = *at;                                                                               \
        *at = expression;                                                                          \
        return old;                                                                                \
    }
EMU_ATOMIC_OP(atomicAdd, old + v)
EMU_ATOMIC_OP(atomicSub, old - v)
EMU_ATOMIC_OP(atomicExch, v)
EMU_ATOMIC_OP(atomicMin, v < old ? v : old)
EMU_ATOMIC_OP(atomicMax, v > old ? v : old)
EMU_ATOMIC_OP(atomicAnd, old &v)
EMU_ATOMIC_OP(atomicOr, old | v)
EMU_ATOMIC_OP(atomicXor, old ^ v)
EMU_ATOMIC_OP(atomicInc, old >= v ? 0 : old + 1)
EMU_ATOMIC_OP(atomicDec, old == 0 || old > v ? v : old - 1)
#undef EMU_ATOMIC_OP
template <typename T>
static EMU_QUIET T atomicCAS(T *at, typename emu_same<T>::type expected,
                             typename emu_same<T>::type v) {
    emu_host.access(emu_host.emu, at, sizeof(T), EMU_ATOMIC, 1);
    T old = *at;
    if (old == expected) *at = v;
    return old;
}

/* ---- clusters, mbarriers, asynchronous copies ---------------------------------------------- */

static EMU_QUIET unsigned emu_cluster_rank() { return emu_host.cluster_rank(emu_host.emu); }
static EMU_QUIET void emu_cluster_sync(int line) { emu_host.cluster_sync(emu_host.emu, line); }
static EMU_QUIET void emu_cluster_arrive() { emu_host.cluster_arrive(emu_host.emu); }
static EMU_QUIET void emu_cluster_wait(int line) { emu_host.cluster_wait(emu_host.emu, line); }
static EMU_QUIET void emu_cluster_load(void *to, const void *mine, unsigned bytes, unsigned rank) {
    emu_host.cluster_load(emu_host.emu, to, mine, bytes, rank);
}
static EMU_QUIET void emu_cluster_put(void *to, const void *value, unsigned bytes, unsigned rank,
                                      void *bar) {
    emu_host.cluster_put(emu_host.emu, to, value, bytes, rank, bar);
}
static EMU_QUIET void emu_mbar_init(void *bar, unsigned count) {
    emu_host.mbar_init(emu_host.emu, bar, count);
}
static EMU_QUIET void emu_mbar_arrive(void *bar, unsigned bytes) {
    emu_host.mbar_arrive(emu_host.emu, bar, bytes);
}
static EMU_QUIET void emu_mbar_wait(void *bar, unsigned parity) {
    emu_host.mbar_wait(emu_host.emu, bar, parity);
}
static EMU_QUIET void emu_cp_async(void *to, const void *from, unsigned bytes, unsigned valid) {
    emu_host.cp_async(emu_host.emu, to, from, bytes, valid);
}
static EMU_QUIET void emu_cp_async_commit() { emu_host.commit(emu_host.emu, 0); }
static EMU_QUIET void emu_cp_async_wait(unsigned n) { emu_host.wait(emu_host.emu, 0, n, 0); }
static EMU_QUIET void emu_bulk_load(void *to, const void *from, unsigned bytes, void *bar) {
    emu_host.bulk(emu_host.emu, to, from, bytes, bar);
}
static EMU_QUIET void emu_bulk_store(void *to, const void *from, unsigned bytes) {
    emu_host.bulk(emu_host.emu, to, from, bytes, nullptr);
}
static EMU_QUIET void emu_bulk_commit() { emu_host.commit(emu_host.emu, 1); }
static EMU_QUIET void emu_bulk_wait(unsigned n, int sources) {
    emu_host.wait(emu_host.emu, 1, n, sources);
}
static EMU_QUIET void emu_fence_async() { emu_host.fence_async(emu_host.emu); }

/* ---- tensor maps, matrix units -------------------------------------------------------------- */

static EMU_QUIET void emu_map_prefetch(const void *map) {
    emu_host.map_prefetch(emu_host.emu, map);
}
static EMU_QUIET void emu_map_load(void *to, const void *map, void *bar, unsigned blocks, int rank,
                                   int c0, int c1, int c2, int c3, int c4) {
    const int at[5] = {c0, c1, c2, c3, c4};
    emu_host.map_load(emu_host.emu, to, map, bar, blocks, rank, at, nullptr);
}
static EMU_QUIET void emu_map_load_windows(void *to, const void *map, void *bar, unsigned blocks,
                                           int rank, int c0, int c1, int c2, int c3, int c4, int o0,
                                           int o1, int o2) {
    const int at[5] = {c0, c1, c2, c3, c4}, offset[3] = {o0, o1, o2};
    emu_host.map_load(emu_host.emu, to, map, bar, blocks, rank, at, offset);
}
static EMU_QUIET void emu_mbar_arrive_at(void *mine, unsigned rank) {
    emu_host.mbar_arrive_at(emu_host.emu, mine, rank);
}
static EMU_QUIET void emu_registers(unsigned n, int more) {
    emu_host.registers(emu_host.emu, n, more);
}
static EMU_QUIET unsigned long long emu_operand(const void *at, unsigned lead, unsigned stride,
                                                unsigned type) {
    return emu_host.operand(emu_host.emu, at, lead, stride, type);
}
/* The calling thread's share of a product by the 128 threads of its warpgroup. a_registers: the
 * left operand, or NULL: it is in shared memory too, at a. */
static EMU_QUIET void emu_wgmma(float *acc, int n, int type, const unsigned *a_registers,
                                unsigned long long a, unsigned long long b, int transposed_a,
                                int transposed_b, int add) {
    const emu_product p = {acc, n, type, a_registers, a, b, transposed_a, transposed_b, add};
    emu_host.wgmma(emu_host.emu, &p);
}
static EMU_QUIET void emu_wgmma_begin() { emu_host.wgmma_begin(emu_host.emu); }
static EMU_QUIET void emu_wgmma_commit() { emu_host.wgmma_commit(emu_host.emu); }
static EMU_QUIET void emu_wgmma_wait(unsigned n) { emu_host.wgmma_wait(emu_host.emu, n); }
static EMU_QUIET void emu_tensor_make(void *at, unsigned columns) {
    emu_host.tensor_make(emu_host.emu, at, columns);
}
static EMU_QUIET void emu_tensor_free(unsigned sums, unsigned columns) {
    emu_host.tensor_free(emu_host.emu, sums, columns);
}
static EMU_QUIET void emu_tensor_fence(int after) { emu_host.tensor_fence(emu_host.emu, after); }
static EMU_QUIET void emu_tensor_multiply(int kind, unsigned sums, unsigned long long a,
                                          unsigned long long b, unsigned what, int add) {
    const emu_tensor_product p = {kind, sums, what, a, b, add};
    emu_host.tensor_multiply(emu_host.emu, &p);
}
static EMU_QUIET void emu_tensor_commit(void *bar, unsigned blocks) {
    emu_host.tensor_commit(emu_host.emu, bar, blocks);
}
/* The calling thread's share of a load: see k_read_sums. */
template <typename T> static EMU_QUIET void emu_tensor_load(T *d, unsigned eights, unsigned at) {
    static_assert(sizeof(T) == 4, "registers have 32 bits");
    emu_host.tensor_load(emu_host.emu, (float *)d, eights, at);
}
static EMU_QUIET void emu_tensor_wait() { emu_host.tensor_wait(emu_host.emu); }
static EMU_QUIET void emu_ldmatrix4(unsigned *r, const void *row, int transposed) {
    emu_host.ldmatrix(emu_host.emu, r, row, transposed);
}
static EMU_QUIET void emu_mma(float *d, const unsigned *a, const unsigned *b, int type) {
    emu_host.mma(emu_host.emu, d, a, b, type);
}

/* ---- bits and numbers --------------------------------------------------------------------- */

static inline float emu_as_float(unsigned u) { return emu_unpack<float>(u); }
static inline unsigned emu_as_uint(float f) { return (unsigned)emu_pack(f); }
static inline double emu_as_double(unsigned lo, unsigned hi) {
    return emu_unpack<double>((unsigned long long)hi << 32 | lo);
}
static inline unsigned emu_low_word(double d) { return (unsigned)emu_pack(d); }
static inline unsigned emu_high_word(double d) { return (unsigned)(emu_pack(d) >> 32); }

/* Round to nearest even; a NaN becomes the one that the device writes. */
static inline unsigned short emu_bf16_bits(float f) {
    unsigned u = emu_as_uint(f);
    if (f != f) return 0x7fff;
    return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float emu_f16_float(unsigned short h) {
    unsigned sign = (unsigned)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return emu_as_float(sign | 0x7f800000 | fraction << 13);
    if (exponent) return emu_as_float(sign | (exponent + 112) << 23 | fraction << 13);
    float small = (float)fraction * 0x1p-24f;
    return sign ? -small : small;
}
static inline unsigned short emu_f16_bits(float f) {
    unsigned u = emu_as_uint(f), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    if (f != f) return 0x7fff;
    if (magnitude >= 0x477ff000) return (unsigned short)(sign | 0x7c00); /* 65520 and above */
    if (magnitude < 0x38800000) { /* below 2^-14: a multiple of 2^-24, rounded by the addition */
        float half_ulp_one = emu_as_float(magnitude) + 0.5f; /* one ulp of 0.5 is 2^-24 */
        return (unsigned short)(sign | (emu_as_uint(half_ulp_one) - 0x3f000000));
    }
    unsigned rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return (unsigned short)(sign | (rounded - 0x38000000) >> 13);
}
/* Nearest, ties away from 0. */
static inline unsigned emu_tf32_bits(float f) {
    unsigned u = emu_as_uint(f);
    if (f != f) return 0x7fffffff;
    return (u & 0x7fffffff) == 0x7f800000 ? u : (u + 0x1000) & 0xffffe000;
}

static inline unsigned __float_as_uint(float f) { return emu_as_uint(f); }
static inline int __float_as_int(float f) { return (int)emu_as_uint(f); }
static inline float __uint_as_float(unsigned u) { return emu_as_float(u); }
static inline float __int_as_float(int i) { return emu_as_float((unsigned)i); }
static inline double __hiloint2double(int hi, int lo) {
    return emu_as_double((unsigned)lo, (unsigned)hi);
}
static inline int __double2loint(double d) { return (int)emu_low_word(d); }
static inline int __double2hiint(double d) { return (int)emu_high_word(d); }
/* By hand: kernels are linked without the compiler's own library. */
static inline int __popc(unsigned u) {
    int n = 0;
    for (; u; u &= u - 1) n++;
    return n;
}
static inline int __clz(int i) { return i ? __builtin_clz((unsigned)i) : 32; }
static inline int __ffs(int i) { return __builtin_ffs(i); }

/* libm's own names: in a device's text they need no header either. */
#define EMU_UNARY(name)                                                                            \
    extern "C" float name##f(float) noexcept;                                                      \
    extern "C" double name(double) noexcept;
#define EMU_BINARY(name)                                                                           \
    extern "C" float name##f(float, float) noexcept;                                               \
    extern "C" double name(double, double) noexcept;
// clang-format off
EMU_UNARY(sqrt) EMU_UNARY(cbrt) EMU_UNARY(exp) EMU_UNARY(exp2) EMU_UNARY(exp10) EMU_UNARY(expm1)
EMU_UNARY(log) EMU_UNARY(log2) EMU_UNARY(log10) EMU_UNARY(log1p)
EMU_UNARY(sin) EMU_UNARY(cos) EMU_UNARY(tan) EMU_UNARY(asin) EMU_UNARY(acos) EMU_UNARY(atan)
EMU_UNARY(sinh) EMU_UNARY(cosh) EMU_UNARY(tanh) EMU_UNARY(asinh) EMU_UNARY(acosh) EMU_UNARY(atanh)
EMU_UNARY(erf) EMU_UNARY(erfc) EMU_UNARY(tgamma) EMU_UNARY(lgamma)
EMU_UNARY(fabs) EMU_UNARY(floor) EMU_UNARY(ceil) EMU_UNARY(trunc) EMU_UNARY(round) EMU_UNARY(rint)
EMU_UNARY(nearbyint)
EMU_BINARY(pow) EMU_BINARY(atan2) EMU_BINARY(fmod) EMU_BINARY(remainder) EMU_BINARY(hypot)
EMU_BINARY(fmin) EMU_BINARY(fmax) EMU_BINARY(fdim) EMU_BINARY(copysign)
// clang-format on
#undef EMU_UNARY
#undef EMU_BINARY
                                    extern "C" float fmaf(float, float, float) noexcept;
extern "C" double fma(double, double, double) noexcept;
static inline float rsqrtf(float a) { return 1.0f / sqrtf(a); }
static inline double rsqrt(double a) { return 1.0 / sqrt(a); }
static inline float __expf(float a) { return expf(a); }
static inline float __logf(float a) { return logf(a); }
static inline float __fdividef(float a, float b) { return a / b; }

static inline float emu_max(float a, float b) { return a != a || a > b ? a : b; }
static inline float emu_min(float a, float b) { return a != a || a < b ? a : b; }
/* ex2.approx.ftz: no subnormal results. */
static inline float emu_exp2(float a) {
    float r = exp2f(a);
    return r < 0x1p-126f ? 0.0f : r;
}

#define EMU_VECTOR(T, name)                                                                        \
    struct __align__(2 * sizeof(T)) name##2 {                                                      \
        T x, y;                                                                                    \
    };                                                                                             \
    struct name##3 {                                                                               \
        T x, y, z;                                                                                 \
    };                                                                                             \
    struct __align__(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 {                            \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                              \
    static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                      \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMU_VECTOR(float, float)
EMU_VECTOR(double, double)
EMU_VECTOR(int, int)
EMU_VECTOR(unsigned, uint)
EMU_VECTOR(unsigned short, ushort)
EMU_VECTOR(long long, longlong)
EMU_VECTOR(unsigned long long, ulonglong)
#undef EMU_VECTOR

/* ---- how the runtime calls a kernel ------------------------------------------------------- */

template <int... I> struct emu_list {};
template <int N, int... I> struct emu_count : emu_count<N - 1, N - 1, I...> {};
template <int... I> struct emu_count<0, I...> { typedef emu_list<I...> type; };

template <typename T> struct emu_kind {
    enum { of = sizeof(T) == 128 && alignof(T) == 64 ? 'm' : 'v' };
};
template <typename T> struct emu_kind<T *> {
    enum { of = 'p' };
};
template <typename T> struct emu_kind<const T *> {
    enum { of = 'c' };
};

template <auto Kernel> struct emu_call;
template <typename... A, void (*Kernel)(A...)> struct emu_call<Kernel> {
    static constexpr unsigned short sizes[] = {sizeof(A)..., 0};
    static constexpr char kinds[] = {(char)emu_kind<A>::of..., 0};
    template <int... I> static EMU_QUIET void unpack(void **args, emu_list<I...>) {
        Kernel(*(A *)args[I]...);
    }
    static EMU_QUIET void invoke(void **args) {
        unpack(args, typename emu_count<sizeof...(A)>::type());
    }
    static constexpr emu_entry entry(const char *name) {
        return {name, invoke, sizes, kinds, (int)sizeof...(A)};
    }
};
#define EMU_ENTRY(name) emu_call<name>::entry(#name)

/* `extern __shared__ T name[];` declares a thread-local symbol that nobody defines. All of them
 * become names of one block of thread-local memory. */
#define EMU_TEXT_(x) #x
#define EMU_TEXT(x) EMU_TEXT_(x)
#define EMU_VISIBLE extern "C" __attribute__((visibility("default")))
#define EMU_SHARED(name)                                                                           \
    asm(".hidden " #name "\n"                                                                      \
        ".type " #name ", %tls_object\n"                                                           \
        ".set " #name ", emu_dynamic_shared\n");
#define EMU_MODULE(...)                                                                            \
    extern __attribute__((visibility("hidden"))) thread_local unsigned char emu_dynamic_shared[];  \
    asm(".section .tbss, \"awT\", %nobits\n"                                                       \
        ".balign 1024\n"                                                                           \
        ".hidden emu_dynamic_shared\n"                                                             \
        ".type emu_dynamic_shared, %tls_object\n"                                                  \
        "emu_dynamic_shared:\n"                                                                    \
        ".zero " EMU_TEXT(EMU_SHARED_MAX) " + " EMU_TEXT(EMU_SHARED_RED_ZONE) "\n"                 \
                                                                              ".text\n");          \
    static unsigned char *emu_shared() { return emu_dynamic_shared; }                              \
    static constexpr emu_entry emu_entries[] = {__VA_ARGS__};                                      \
    EMU_VISIBLE emu_module_table emu_module;                                                       \
    emu_module_table emu_module = {&threadIdx,                                                     \
                                   &blockIdx,                                                      \
                                   &blockDim,                                                      \
                                   &gridDim,                                                       \
                                   emu_shared,                                                     \
                                   emu_entries,                                                    \
                                   sizeof emu_entries / sizeof(emu_entry)};                        \
    EMU_VISIBLE EMU_QUIET void emu_connect(const struct emu_host *host) { emu_host = *host; }

#endif
