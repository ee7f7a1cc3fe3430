/* helpers.cu: the runtime's own kernels, compiled by NVRTC when first needed (kernels.c). Includes no header.
 *
 *   ws_flush        inverts a buffer of twice the L2: nothing of the workload is left in it, if none of its lines are
 *                   there to stay. PyTorch's calls follow the same (scripts/torch_peer.py): behind one that only writes,
 *                   a softmax of bf16[4096, 4096] takes an H200 18.3 us for 17.6
 *   ws_drain        reads that buffer: what the flush left to be written back would be counted as the next kernel's
 *   ws_copy_*       streaming copies of several shapes; the fastest is the copy bandwidth
 *   ws_compare      counts elements that are bad or have no bound, and finds the first of the worst
 *   ws_squares      adds up the squares of what is finite, and counts it
 *   ws_take         elements as references, each with a bound in proportion
 *   ws_share        the largest such proportion of bounds
 *   ws_find_changed the first of many pieces of memory that does not hold one byte all over
 *
 * The badness of an element is a 32-bit number: the bits of the float |got - want| / bound, which order like the
 * numbers themselves; infinities that differ are +inf, NaN mismatches are above everything. cpu/cpu_compare.c and
 * cpu_take.c do the same in C. */
#define THREADS 256
typedef long long i64;
extern "C" __global__ void __launch_bounds__(THREADS) ws_flush(uint4 *p, i64 n) {
    i64 i = blockIdx.x * (i64)THREADS + threadIdx.x;
    if (i >= n) return;
    uint4 v = p[i];
    p[i] = make_uint4(~v.x, ~v.y, ~v.z, ~v.w);
}
extern "C" __global__ void __launch_bounds__(THREADS) ws_drain(float4 *p, i64 n) {
    float sum = 0;
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * (i64)THREADS)
        sum += p[i].x;
    if (sum == -1) p[0].x = sum; /* hardly ever; without it nothing would be read */
}
/* Copies of `unroll` elements a thread; which shape is fastest differs between generations, so all are timed. */
#define COPY(name, type, unroll, load, store)                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS) name(type *to, const type *from) {       \
        i64 at = blockIdx.x * (i64)(THREADS * unroll) + threadIdx.x;                               \
        type v[unroll];                                                                            \
        _Pragma("unroll") for (int k = 0; k < unroll; k++) v[k] = load(&from[at + k * THREADS]);   \
        _Pragma("unroll") for (int k = 0; k < unroll; k++) store(&to[at + k * THREADS], v[k]);     \
    }
#define PLAIN_LOAD(p) __ldg(p)
#define PLAIN_STORE(p, v) (*(p) = (v))
COPY(ws_copy_2x1, float2, 1, PLAIN_LOAD, PLAIN_STORE)
COPY(ws_copy_2x2, float2, 2, PLAIN_LOAD, PLAIN_STORE)
COPY(ws_copy_2x4, float2, 4, PLAIN_LOAD, PLAIN_STORE)
COPY(ws_copy_2x4_streaming, float2, 4, __ldcs, __stcs)
COPY(ws_copy_2x8, float2, 8, PLAIN_LOAD, PLAIN_STORE)
COPY(ws_copy_2x8_streaming, float2, 8, __ldcs, __stcs)
COPY(ws_copy_4x1, float4, 1, PLAIN_LOAD, PLAIN_STORE)
COPY(ws_copy_4x2, float4, 2, PLAIN_LOAD, PLAIN_STORE)
COPY(ws_copy_4x4, float4, 4, PLAIN_LOAD, PLAIN_STORE)
COPY(ws_copy_4x4_streaming, float4, 4, __ldcs, __stcs)
COPY(ws_copy_4x8, float4, 8, PLAIN_LOAD, PLAIN_STORE)
COPY(ws_copy_4x8_streaming, float4, 8, __ldcs, __stcs)
static double half_value(unsigned short bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}
static float f8e4m3_value(unsigned bits) {
    if ((bits & 0x7f) == 0x7f) return __uint_as_float(0x7fc00000u);
    float v = __uint_as_float((bits & 0x7f) << 20) * __uint_as_float(0x7b800000u); /* 2^120 */
    return bits & 0x80 ? -v : v;
}
static double element(int dtype, const void *p, i64 i) {
    switch (dtype) {
    case DT_F8E4M3: return f8e4m3_value(((const unsigned char *)p)[i]);
    case DT_F8E5M2: return half_value((unsigned short)(((const unsigned char *)p)[i] << 8));
    case DT_F16: return half_value(((const unsigned short *)p)[i]);
    case DT_BF16: return __uint_as_float((unsigned)((const unsigned short *)p)[i] << 16);
    case DT_F32: return ((const float *)p)[i];
    default: return ((const double *)p)[i];
    }
}
static bool is_float(int dtype) {
    return dtype == DT_F8E4M3 || dtype == DT_F8E5M2 || dtype == DT_F16 || dtype == DT_BF16 || dtype == DT_F32 ||
           dtype == DT_F64;
}
static i64 int_element(int dtype, const void *p, i64 i) {
    switch (dtype) {
    case DT_BOOL: return ((const unsigned char *)p)[i] != 0;
    case DT_U8: return ((const unsigned char *)p)[i];
    case DT_I8: return ((const signed char *)p)[i];
    case DT_I16: return ((const short *)p)[i];
    case DT_I32: return ((const int *)p)[i];
    default: return ((const i64 *)p)[i];
    }
}
static unsigned distance_badness(double diff, double bound, bool *bad) {
    *bad = !(diff <= bound);
    return diff == 0 ? 0 : __float_as_uint((float)(diff / bound));
}
static unsigned float_badness(double got, double want, double bound, bool *bad) {
    const double inf = __longlong_as_double(0x7ff0000000000000ll);
    *bad = false;
    if (bound == inf) return 0;
    if (got != got || want != want) {
        *bad = (got != got) != (want != want);
        return *bad ? 0x7fffffffu : 0;
    }
    if (fabs(got) == inf || fabs(want) == inf) {
        *bad = got != want;
        return *bad ? 0x7f800000u : 0;
    }
    return distance_badness(fabs(got - want), bound, bad);
}
/* 64 bits do not fit a double, but their difference decides no less there. */
static unsigned int_badness(i64 got, i64 want, double bound, bool *bad) {
    unsigned long long g = got, w = want;
    return distance_badness((double)(got > want ? g - w : w - g), bound, bad);
}
/* want: f64 of floats, i64 of the rest; bound: 0 if all must be equal; at: where element i of `got` lies */
static unsigned badness(int dtype, const void *got, i64 at, const void *want, const float *bound, i64 i, bool *bad) {
    double off = bound ? bound[i] : 0;
    return is_float(dtype) ? float_badness(element(dtype, got, at), ((const double *)want)[i], off, bad)
                           : int_badness(int_element(dtype, got, at), ((const i64 *)want)[i], off, bad);
}
/* Of some elements: how many are wrong, how many have no bound, and the first of the worst. */
struct tally {
    unsigned long long bad, unbounded, index;
    unsigned worst, unused;
};
struct result {
    tally all;
    unsigned char element[8], reference[8]; /* the worst one's, as they lie in memory */
    float allowed;
    unsigned n_done; /* blocks */
};
static void add(tally *to, const tally *from) {
    to->bad += from->bad;
    to->unbounded += from->unbounded;
    if (from->worst < to->worst || (from->worst == to->worst && from->index >= to->index)) return;
    to->worst = from->worst;
    to->index = from->index;
}
/* Of all threads of a block; thread 0 has it. */
static void add_threads(tally *mine) {
    __shared__ tally of[THREADS];
    of[threadIdx.x] = *mine;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) add(&of[threadIdx.x], &of[threadIdx.x + half]);
    }
    *mine = of[0];
}
static void copy_bytes(unsigned char *to, const void *p, i64 i, int bytes) {
    for (int k = 0; k < bytes; k++) to[k] = ((const unsigned char *)p)[i * bytes + k];
}
/* Others' memory may lie between runs of what is compared. */
static i64 place_of(i64 i, i64 run, i64 pitch) { return run == pitch ? i : i / run * pitch + i % run; }
/* One pass over what is compared: the block that is done last adds up what all have left in `parts`. */
extern "C" __global__ void __launch_bounds__(THREADS)
    ws_compare(result *r, tally *parts, const void *got, int dtype, int bytes, const void *want, const float *bound,
               i64 n, i64 run, i64 pitch) {
    __shared__ bool is_last;
    tally mine = {0, 0, ~0ull, 0, 0};
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * (i64)THREADS) {
        bool bad;
        unsigned worst = badness(dtype, got, place_of(i, run, pitch), want, bound, i, &bad);
        tally one = {bad, bound && __float_as_uint(bound[i]) == 0x7f800000u, (unsigned long long)i, worst, 0};
        add(&mine, &one);
    }
    add_threads(&mine);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = mine;
        __threadfence();
        is_last = atomicAdd(&r->n_done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    mine = {0, 0, ~0ull, 0, 0};
    for (unsigned k = threadIdx.x; k < gridDim.x; k += THREADS) add(&mine, &parts[k]);
    __syncthreads();
    add_threads(&mine);
    if (threadIdx.x != 0) return;
    r->all = mine;
    copy_bytes(r->element, got, place_of((i64)mine.index, run, pitch), bytes);
    copy_bytes(r->reference, want, (i64)mine.index, 8);
    if (bound) r->allowed = bound[mine.index];
}
/* ---- references of what is trusted ------------------------------------------------------------- */
static double number(int dtype, const void *p, i64 i) {
    return is_float(dtype) ? element(dtype, p, i) : (double)int_element(dtype, p, i);
}
static bool is_finite(double v) { return fabs(v) < __longlong_as_double(0x7ff0000000000000ll); }
struct squares {
    double sum;
    unsigned long long finite, share; /* the share's bits, which order like the numbers: it is positive */
};
static double root_mean_square(const squares *s) { return s->finite ? sqrt(s->sum / s->finite) : 0; }
extern "C" __global__ void __launch_bounds__(THREADS) ws_squares(squares *s, const void *p, int dtype, i64 n) {
    __shared__ double all_sum;
    __shared__ unsigned long long all_finite;
    if (threadIdx.x == 0) all_sum = 0, all_finite = 0;
    __syncthreads();
    double my_sum = 0;
    unsigned long long my_finite = 0;
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * (i64)THREADS) {
        double v = number(dtype, p, i);
        if (is_finite(v)) my_sum += v * v, my_finite++;
    }
    atomicAdd(&all_sum, my_sum);
    atomicAdd(&all_finite, my_finite);
    __syncthreads();
    if (threadIdx.x != 0) return;
    atomicAdd(&s->sum, all_sum);
    atomicAdd(&s->finite, all_finite);
}
/* want: f64 of floats, i64 of the rest; bound: 0 if nobody asks for it */
extern "C" __global__ void __launch_bounds__(THREADS)
    ws_take(const squares *s, const void *from, int dtype, void *want, float *bound, i64 n, double share) {
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * (i64)THREADS) {
        double v = number(dtype, from, i);
        if (is_float(dtype))
            ((double *)want)[i] = v;
        else
            ((i64 *)want)[i] = int_element(dtype, from, i);
        if (bound) bound[i] = (float)(share * ((is_finite(v) ? fabs(v) : 0) + root_mean_square(s)));
    }
}
/* dtype: of the references. A bound that is NaN is beyond any share. */
extern "C" __global__ void __launch_bounds__(THREADS)
    ws_share(squares *s, const void *want, int dtype, const float *bound, i64 n) {
    double most = 0;
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * (i64)THREADS) {
        double size = fabs(number(dtype, want, i)) + root_mean_square(s), b = bound[i];
        double share = b == 0 || size == __longlong_as_double(0x7ff0000000000000ll) ? 0 : b / size;
        if (!(share <= most)) most = fabs(share);
    }
    if (most != 0) atomicMax(&s->share, (unsigned long long)__double_as_longlong(most));
}
/* ---- what has changed -------------------------------------------------------------------------- */
extern "C" __global__ void __launch_bounds__(THREADS)
    ws_find_changed(unsigned long long *first, const unsigned char *const *at, i64 n, i64 bytes, int byte) {
    for (i64 piece = blockIdx.x; piece < n; piece += gridDim.x)
        for (i64 i = threadIdx.x; i < bytes; i += THREADS)
            if (at[piece][i] != (unsigned char)byte) atomicMin(first, (unsigned long long)piece);
}
