/* prelude_vector.h: whole vectors of floats, behind prelude_c.h in generated C kernels. A k_v has
 * as many lanes as the widest register of the machine that compiles it; a k_m is what comparing two
 * of them gives, 0 or -1 a lane. bf16 and f16 in memory are widened and rounded on the way.
 * Arithmetic is C's, on vectors (GCC and clang have it); the functions here are those of
 * prelude_c.h for all lanes at once, with the same formulas and bounds. Only what gcc does not find
 * by itself is spelt in AVX-512, by its builtins: maxima that keep NaN, masks, scaling. clang finds
 * it.
 */
#if defined(__AVX512F__) && defined(__AVX512DQ__) && !defined(__clang__)
#define K_AVX512 1
#define K_FIRST(n) ((unsigned short)((1u << (n)) - 1)) /* a mask of n lanes */
#define K_ROUND_CURRENT 4                              /* as the processor is set */
#define K_UNORDERED(a)                                 /* a mask of NaNs */                        \
    (unsigned short)__builtin_ia32_cmpps512_mask((a), (a), 3, (unsigned short)-1, K_ROUND_CURRENT)
#endif

typedef int32_t k_m __attribute__((vector_size(4 * K_LANES)));

K_INLINE k_v k_splat(float x) { return x - (k_v){0}; } /* not x + 0: that loses the sign of -0 */
K_INLINE k_v k_as_v(k_m x) { return (k_v)x; }
K_INLINE k_m k_as_m(k_v x) { return (k_m)x; }
K_INLINE k_v k_select(k_m which, k_v a, k_v b) {
    return k_as_v((which & k_as_m(a)) | (~which & k_as_m(b)));
}

/* ---- memory ---------------------------------------------------------------------------------- */

K_INLINE k_v k_load_v(const float *p) { return *(const k_v_at *)p; }
K_INLINE void k_store_v(float *p, k_v x) { *(k_v_at *)p = x; }

/* The first n < K_LANES lanes alone: memory past them is not touched, they load as 0. */
K_INLINE k_v k_load_n(const float *p, int n) {
#if defined(K_AVX512)
    return __builtin_ia32_loadups512_mask(p, (k_v){0}, K_FIRST(n));
#else
    float lanes[K_LANES] = {0};
    memcpy(lanes, p, (size_t)n * sizeof *p);
    return k_load_v(lanes);
#endif
}
K_INLINE void k_store_n(float *p, k_v x, int n) {
#if defined(K_AVX512)
    __builtin_ia32_storeups512_mask(p, x, K_FIRST(n));
#else
    memcpy(p, &x, (size_t)n * sizeof *p);
#endif
}
/* All lanes or none; those below n; the number of each. */
K_INLINE k_m k_all(int yes) { return (k_m){0} - (yes != 0); }
K_INLINE k_m k_lanes(void) {
    k_m number;
    for (int l = 0; l < K_LANES; l++) number[l] = l;
    return number;
}
K_INLINE int k_any(k_m which) {
#if defined(K_AVX512)
    return __builtin_ia32_cvtd2mask512(which) != 0;
#else
    uint64_t words[K_LANES / 2], any = 0;
    memcpy(words, &which, sizeof words);
    for (int i = 0; i < K_LANES / 2; i++) any |= words[i];
    return any != 0;
#endif
}
K_INLINE k_m k_below(int n) { return k_lanes() < n; }
/* A lane, -1 if it is one before them, K_LANES if behind. */
K_INLINE int k_near(long long lane) { return lane < 0 ? -1 : lane > K_LANES ? K_LANES : (int)lane; }

/* The number, or one as far from 0 as no lane is from its neighbours. */
K_INLINE int k_within(long long v) {
    const long long most = 1 << 30;
    return (int)(v < -most ? -most : v > most ? most : v);
}

/* A mask of every second of 32 elements. */
K_INLINE uint32_t k_apart(uint32_t m) {
#if defined(__BMI2__)
    return __builtin_ia32_pdep_si(m, 0x55555555u);
#else
    m = (m | m << 8) & 0x00ff00ffu, m = (m | m << 4) & 0x0f0f0f0fu;
    return m = (m | m << 2) & 0x33333333u, (m | m << 1) & 0x55555555u;
#endif
}
/* Lane l from p[l * step], step 1 or 2, where `which` is set; else 0, and memory is not touched. */
K_INLINE k_v k_load_if(k_m which, const float *p, int step) {
#if defined(K_AVX512)
    unsigned short m = __builtin_ia32_cvtd2mask512(which);
    if (step == 1) return __builtin_ia32_loadups512_mask(p, (k_v){0}, m);
    uint32_t apart = k_apart(m);
    k_v low = __builtin_ia32_loadups512_mask(p, (k_v){0}, (unsigned short)apart),
        high = __builtin_ia32_loadups512_mask(p + 16, (k_v){0}, (unsigned short)(apart >> 16));
    return __builtin_shuffle(low, high, k_lanes() * 2);
#else
    k_v x = {0};
    for (int l = 0; l < K_LANES; l++)
        if (which[l]) x[l] = p[l * step];
    return x;
#endif
}

/* The last lane first. */
K_INLINE k_v k_backwards(k_v x) {
#if defined(__clang__)
    k_v y;
    for (int l = 0; l < K_LANES; l++) y[l] = x[K_LANES - 1 - l];
    return y;
#else
    return __builtin_shuffle(x, K_LANES - 1 - k_lanes());
#endif
}

/* New values in the first n lanes, old ones in the others. */
K_INLINE k_v k_first_n(k_v now, k_v old, int n) {
#if defined(K_AVX512)
    return __builtin_ia32_movaps512_mask(now, old, K_FIRST(n));
#else
    memcpy(&old, &now, (size_t)n * sizeof(float));
    return old;
#endif
}

/* To memory past the caches, where the address allows it. */
K_INLINE void k_stream_v(float *p, k_v x) {
#if defined(K_STREAM)
    if ((uintptr_t)p % sizeof x == 0)
        K_STREAM(p, x);
    else
        k_store_v(p, x);
#else
    k_store_v(p, x);
#endif
}
/* Elements from p to the next line of memory, n at most. */
#define k_head(p, n) k_head_of((uintptr_t)(p), sizeof *(p), (n))
K_INLINE long long k_head_of(uintptr_t p, size_t bytes, long long n) {
    long long head = (long long)((0 - p) % 64 / bytes);
    return head < n ? head : n;
}
#define k_ahead(p) __builtin_prefetch((p), 0, 2)

/* ---- floats of 16 bits in memory ------------------------------------------------------------- */

typedef uint16_t k_h __attribute__((vector_size(2 * K_LANES)));
typedef uint16_t k_h_at __attribute__((vector_size(2 * K_LANES), aligned(2), may_alias));
typedef uint32_t k_u __attribute__((vector_size(4 * K_LANES)));
#if defined(K_AVX512) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define K_AVX512_SHORTS 1
#endif
typedef short k_shorts __attribute__((vector_size(2 * K_LANES))); /* as builtins have them */
typedef long long k_words __attribute__((vector_size(2 * K_LANES)));

/* Widened and cut; gcc goes by halves. */
K_INLINE k_u k_words_of(k_h h) {
#if defined(K_AVX512)
    return (k_u)__builtin_ia32_pmovzxwd512_mask((k_shorts)h, (k_m){0}, (unsigned short)-1);
#else
    return __builtin_convertvector(h, k_u);
#endif
}
K_INLINE k_h k_shorts_of(k_u u) {
#if defined(K_AVX512)
    return (k_h)__builtin_ia32_pmovdw512_mask((k_m)u, (k_shorts){0}, (unsigned short)-1);
#else
    return __builtin_convertvector(u, k_h);
#endif
}
K_INLINE k_v k_of_bf16(k_h h) { return (k_v)(k_words_of(h) << 16); }
K_INLINE k_h k_as_bf16(k_v x) {
    k_u u = (k_u)x, rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
#if defined(K_AVX512)
    return k_shorts_of(
        (k_u)__builtin_ia32_blendmd_512_mask((k_m)rounded, (k_m){0} + 0x7fc0, K_UNORDERED(x)));
#else
    k_m is_nan = x != x;
    return k_shorts_of((k_u)((is_nan & 0x7fc0) | (~is_nan & (k_m)rounded)));
#endif
}
K_INLINE k_v k_of_f16(k_h h) {
#if defined(K_AVX512)
    return __builtin_ia32_vcvtph2ps512_mask((k_shorts)h, (k_v){0}, (unsigned short)-1,
                                            K_ROUND_CURRENT);
#elif defined(__F16C__) && K_LANES == 8 && !defined(__clang__)
    return __builtin_ia32_vcvtph2ps256((k_shorts)h);
#else
    k_v x;
    for (int l = 0; l < K_LANES; l++) x[l] = k_from_f16(h[l]);
    return x;
#endif
}
K_INLINE k_h k_as_f16(k_v x) {
#if defined(K_AVX512)
    return (k_h)__builtin_ia32_vcvtps2ph512_mask(x, 0, (k_shorts){0}, (unsigned short)-1);
#elif defined(__F16C__) && K_LANES == 8 && !defined(__clang__)
    return (k_h)__builtin_ia32_vcvtps2ph256(x, 0);
#else
    k_h h;
    for (int l = 0; l < K_LANES; l++) h[l] = k_to_f16(x[l]);
    return h;
#endif
}
K_INLINE k_h k_load_h(const uint16_t *p) { return *(const k_h_at *)p; }
K_INLINE void k_store_h(uint16_t *p, k_h x) { *(k_h_at *)p = x; }
K_INLINE k_h k_load_n_h(const uint16_t *p, int n) {
#if defined(K_AVX512_SHORTS)
    return (k_h)__builtin_ia32_loaddquhi256_mask((const short *)p, (k_shorts){0}, K_FIRST(n));
#else
    uint16_t lanes[K_LANES] = {0};
    memcpy(lanes, p, (size_t)n * sizeof *p);
    return k_load_h(lanes);
#endif
}
K_INLINE void k_store_n_h(uint16_t *p, k_h x, int n) {
#if defined(K_AVX512_SHORTS)
    __builtin_ia32_storedquhi256_mask((short *)p, (k_shorts)x, K_FIRST(n));
#else
    memcpy(p, &x, (size_t)n * sizeof *p);
#endif
}
K_INLINE k_h k_load_if_h(k_m which, const uint16_t *p, int step) {
#if defined(K_AVX512_SHORTS)
    const k_shorts none = {0};
    const short *q = (const short *)p;
    unsigned short m = __builtin_ia32_cvtd2mask512(which);
    if (step == 1) return (k_h)__builtin_ia32_loaddquhi256_mask(q, none, m);
    uint32_t apart = k_apart(m);
    k_shorts low = __builtin_ia32_loaddquhi256_mask(q, none, (unsigned short)apart),
             high = __builtin_ia32_loaddquhi256_mask(q + 16, none, (unsigned short)(apart >> 16));
    return (k_h)__builtin_shuffle(
        low, high, (k_shorts){0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});
#else
    k_h x = {0};
    for (int l = 0; l < K_LANES; l++)
        if (which[l]) x[l] = p[l * step];
    return x;
#endif
}
#if defined(__clang__)
#define K_STREAM_H(to, x) __builtin_nontemporal_store((x), (k_h *)(to))
#elif K_LANES == 16
#define K_STREAM_H(to, x) __builtin_ia32_movntdq256((k_words *)(to), (k_words)(x))
#elif K_LANES == 8
#define K_STREAM_H(to, x) __builtin_ia32_movntdq((k_words *)(to), (k_words)(x))
#endif
K_INLINE void k_stream_h(uint16_t *p, k_h x) {
#if defined(K_STREAM_H)
    if ((uintptr_t)p % sizeof x == 0)
        K_STREAM_H(p, x);
    else
        k_store_h(p, x);
#else
    k_store_h(p, x);
#endif
}
#define K_SHORTS(t)                                                                                \
    K_INLINE k_v k_load_v_##t(const uint16_t *p) { return k_of_##t(k_load_h(p)); }                 \
    K_INLINE k_v k_load_n_##t(const uint16_t *p, int n) { return k_of_##t(k_load_n_h(p, n)); }     \
    K_INLINE k_v k_load_if_##t(k_m which, const uint16_t *p, int step) {                           \
        return k_of_##t(k_load_if_h(which, p, step));                                              \
    }                                                                                              \
    K_INLINE void k_store_v_##t(uint16_t *p, k_v x) { k_store_h(p, k_as_##t(x)); }                 \
    K_INLINE void k_store_n_##t(uint16_t *p, k_v x, int n) { k_store_n_h(p, k_as_##t(x), n); }     \
    K_INLINE void k_stream_v_##t(uint16_t *p, k_v x) { k_stream_h(p, k_as_##t(x)); }               \
    K_INLINE k_v k_round_##t##_v(k_v x) { return k_of_##t(k_as_##t(x)); }
K_SHORTS(bf16)
K_SHORTS(f16)

#if defined(K_AVX512) /* of each quarter, or of all quarters: what of a, then what of b */
#define K_IN_QUARTERS(a, b, i, j, k, l)                                                            \
    __builtin_shuffle((a), (b),                                                                    \
                      (k_m){(i), (j), (k), (l), 4 + (i), 4 + (j), 4 + (k), 4 + (l), 8 + (i),       \
                            8 + (j), 8 + (k), 8 + (l), 12 + (i), 12 + (j), 12 + (k), 12 + (l)})
#define K_PAIRS(a, b, i) K_IN_QUARTERS(a, b, i, 16 + (i), 1 + (i), 17 + (i))
#define K_TWOS(a, b, i) K_IN_QUARTERS(a, b, i, 1 + (i), 16 + (i), 17 + (i))
#define K_QUARTERS(a, b, i)                                                                        \
    __builtin_shuffle((a), (b),                                                                    \
                      (k_m){(i), 1 + (i), 2 + (i), 3 + (i), 8 + (i), 9 + (i), 10 + (i), 11 + (i),  \
                            16 + (i), 17 + (i), 18 + (i), 19 + (i), 24 + (i), 25 + (i), 26 + (i),  \
                            27 + (i)})
#endif
/* A square of K_LANES rows to columns `to_apart` floats from each other. */
K_INLINE void k_turn_square(float *to, long long to_apart, k_v *a) {
#if defined(K_AVX512)
    k_v b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) { /* pairs of rows */
        b[i] = K_PAIRS(a[i], a[i + 1], 0);
        b[i + 1] = K_PAIRS(a[i], a[i + 1], 2);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) /* fours: a[i + k] has columns k, 4 + k, 8 + k and 12 + k */
        for (int k = 0; k < 2; k++) {
            a[i + 2 * k] = K_TWOS(b[i + k], b[i + 2 + k], 0);
            a[i + 2 * k + 1] = K_TWOS(b[i + k], b[i + 2 + k], 2);
        }
#pragma GCC unroll 16
    for (int k = 0; k < 4; k++) { /* the four parts of four registers */
        k_v c = K_QUARTERS(a[k], a[4 + k], 0), d = K_QUARTERS(a[8 + k], a[12 + k], 0),
            e = K_QUARTERS(a[k], a[4 + k], 4), f = K_QUARTERS(a[8 + k], a[12 + k], 4);
        k_store_v(to + k * to_apart, K_QUARTERS(c, d, 0));
        k_store_v(to + (8 + k) * to_apart, K_QUARTERS(c, d, 4));
        k_store_v(to + (4 + k) * to_apart, K_QUARTERS(e, f, 0));
        k_store_v(to + (12 + k) * to_apart, K_QUARTERS(e, f, 4));
    }
#else
    for (int i = 0; i < K_LANES; i++)
        for (int k = 0; k < K_LANES; k++) to[k * to_apart + i] = a[i][k];
#endif
}
/* Its rows are `apart` floats from each other. */
K_INLINE void k_turn_v(float *to, long long to_apart, const float *p, long long apart) {
    k_v a[K_LANES];
#pragma GCC unroll 16
    for (int i = 0; i < K_LANES; i++) a[i] = k_load_v(p + i * apart);
    k_turn_square(to, to_apart, a);
}
/* The same of any size, of rows that are `apart` elements from each other. */
#define K_TURN(name, t, load, one)                                                                 \
    static __attribute__((noinline, unused)) void name(float *to, long long to_apart, const t *p,  \
                                                       long long apart, long long rows,            \
                                                       long long columns) {                        \
        long long i = 0;                                                                           \
        for (; i + K_LANES <= rows; i += K_LANES) {                                                \
            long long k = 0;                                                                       \
            for (; k + K_LANES <= columns; k += K_LANES) {                                         \
                k_v a[K_LANES];                                                                    \
                _Pragma("GCC unroll 16") for (int l = 0; l < K_LANES; l++) a[l] =                  \
                    load(p + (i + l) * apart + k);                                                 \
                k_turn_square(to + k * to_apart + i, to_apart, a);                                 \
            }                                                                                      \
            for (; k < columns; k++)                                                               \
                for (int l = 0; l < K_LANES; l++)                                                  \
                    to[k * to_apart + i + l] = one(p[(i + l) * apart + k]);                        \
        }                                                                                          \
        for (; i < rows; i++)                                                                      \
            for (long long k = 0; k < columns; k++) to[k * to_apart + i] = one(p[i * apart + k]);  \
    }
K_TURN(k_turn, float, k_load_v, (float))
K_TURN(k_turn_bf16, k_bf16, k_load_v_bf16, k_from_bf16)
K_TURN(k_turn_f16, k_f16, k_load_v_f16, k_from_f16)

/* A row of n floats that a thread keeps. */
K_INLINE void *k_row(long long bytes) { return aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64); }

/* ---- maths ----------------------------------------------------------------------------------- */

#if defined(K_AVX512)
#define K_TO_WHOLE(x, mode)                                                                        \
    __builtin_ia32_rndscaleps_mask((x), (mode), (k_v){0}, (unsigned short)-1, K_ROUND_CURRENT)
#define K_ROUND_V(x) K_TO_WHOLE(x, 0)
#define K_OF_ALL(what, a, b)                                                                       \
    __builtin_ia32_##what##ps512_mask((a), (b), (k_v){0}, (unsigned short)-1, K_ROUND_CURRENT)
#else /* |x| < 2^22: what is added shifts the fraction out */
#define K_ROUND_V(x) ((x) + 12582912.0f - 12582912.0f)
#endif
#define K_FMA(a, b, c) ((a) * (b) + (c)) /* which compilers contract */

K_INLINE k_v k_max_v(k_v a, k_v b) {
#if defined(K_AVX512)
    return __builtin_ia32_movaps512_mask(a, K_OF_ALL(max, a, b), K_UNORDERED(a));
#else
    return k_select((a != a) | (a > b), a, b);
#endif
}
K_INLINE k_v k_min_v(k_v a, k_v b) {
#if defined(K_AVX512)
    return __builtin_ia32_movaps512_mask(a, K_OF_ALL(min, a, b), K_UNORDERED(a));
#else
    return k_select((a != a) | (a < b), a, b);
#endif
}
/* x between two numbers; NaN stays. */
K_INLINE k_v k_clamp_v(k_v x, float low, float high) {
#if defined(K_AVX512)
    return K_OF_ALL(min, k_splat(high), K_OF_ALL(max, k_splat(low), x)); /* of a NaN, the second */
#else
    x = k_select(x < low, k_splat(low), x);
    return k_select(x > high, k_splat(high), x);
#endif
}
K_INLINE k_v k_abs_v(k_v a) { return k_as_v(k_as_m(a) & 0x7fffffff); }
K_INLINE k_v k_relu_v(k_v a) {
#if defined(K_AVX512)
    return K_OF_ALL(max, (k_v){0}, a);
#else
    return k_as_v(k_as_m(a) & ~(a < 0));
#endif
}
K_INLINE k_v k_copysign_v(k_v size, k_v sign) {
    return k_as_v((k_as_m(size) & 0x7fffffff) | (k_as_m(sign) & (int32_t)0x80000000));
}
K_INLINE k_v k_sqrt_v(k_v a) {
#if defined(K_AVX512)
    return __builtin_ia32_sqrtps512_mask(a, (k_v){0}, (unsigned short)-1, K_ROUND_CURRENT);
#else
    for (int l = 0; l < K_LANES; l++) a[l] = sqrtf(a[l]);
    return a;
#endif
}
K_INLINE k_v k_rsqrt_v(k_v a) { return 1.0f / k_sqrt_v(a); }
K_INLINE k_v k_sign_v(k_v a) {
    return k_as_v(((a > 0.0f) & k_as_m(k_splat(1.0f))) | ((a < 0.0f) & k_as_m(k_splat(-1.0f))));
}
#if defined(K_AVX512)
#define K_WHOLE(name, mode, f)                                                                     \
    K_INLINE k_v name(k_v a) { return K_TO_WHOLE(a, mode); }
#else
#define K_WHOLE(name, mode, f)                                                                     \
    K_INLINE k_v name(k_v a) {                                                                     \
        for (int l = 0; l < K_LANES; l++) a[l] = f(a[l]);                                          \
        return a;                                                                                  \
    }
#endif
K_WHOLE(k_round_v, 0, rintf)
K_WHOLE(k_floor_v, 1, floorf)
K_WHOLE(k_ceil_v, 2, ceilf)
K_WHOLE(k_trunc_v, 3, truncf)

/* 2^n p, n whole. */
K_INLINE k_v k_scale_v(k_v p, k_v n) {
#if defined(K_AVX512)
    return K_OF_ALL(scalef, p, n);
#else
    k_m i = __builtin_convertvector(n, k_m), half = i >> 1;
    return p * k_as_v((half + 127) << 23) * k_as_v((i - half + 127) << 23);
#endif
}
/* x = n log(2) + what this returns, of -104 <= x <= 89 or NaN. */
K_INLINE k_v k_exp_parts(k_v x, k_v *n) {
    *n = K_ROUND_V(x * 1.44269504f);
    return K_FMA(*n, k_splat(-1.42860677e-6f), K_FMA(*n, k_splat(-0.693145752f), x));
}
/* exp of |f| <= log(2) / 2; of what k_exp_parts takes. */
K_INLINE k_v k_exp_small(k_v f) {
    k_v p = K_FMA(f, k_splat(8.29027221e-3f), k_splat(4.18981612e-2f));
    p = K_FMA(p, f, k_splat(1.66676387e-1f));
    p = K_FMA(p, f, k_splat(4.99991477e-1f));
    p = K_FMA(p, f, k_splat(0.999999702f));
    return K_FMA(p, f, k_splat(1.0f));
}
K_INLINE k_v k_exp_near_v(k_v x) {
    k_v n, f = k_exp_parts(x, &n);
    return k_scale_v(k_exp_small(f), n);
}
K_INLINE k_v k_exp2_v(k_v x) {
    x = k_clamp_v(x, -150.0f, 129.0f);
    k_v n = K_ROUND_V(x);
    return k_scale_v(k_exp_small((x - n) * 0.693147181f), n);
}
K_INLINE k_v k_exp_v(k_v x) { return k_exp_near_v(k_clamp_v(x, -104.0f, 89.0f)); }
K_INLINE k_v k_sigmoid_v(k_v a) { return 1.0f / (1.0f + k_exp_v(-a)); }

K_MATHS k_v k_erf_v(k_v a) {
    k_v t = k_abs_v(a), s = a * a;
    k_v r = K_FMA(t, k_splat(-1.72853470e-5f), k_splat(3.83197126e-4f));
    k_v u = K_FMA(t, k_splat(-3.88396438e-3f), k_splat(2.42546219e-2f));
    r = K_FMA(r, s, u);
    r = K_FMA(r, t, k_splat(-1.06777877e-1f));
    r = K_FMA(r, t, k_splat(-6.34846687e-1f));
    r = K_FMA(r, t, k_splat(-1.28717512e-1f));
    r = 1.0f - k_exp_v(K_FMA(r, t, -t));
    k_v p = K_FMA(s, k_splat(-5.96761703e-4f), k_splat(4.99119423e-3f));
    p = K_FMA(p, s, k_splat(-2.67681349e-2f));
    p = K_FMA(p, s, k_splat(1.12819925e-1f));
    p = K_FMA(p, s, k_splat(-3.76125336e-1f));
    p = K_FMA(p, s, k_splat(1.28379166e-1f));
    return k_select(t > 0.927734375f, k_copysign_v(r, a), K_FMA(p, a, a));
}
K_MATHS k_v k_ndtr_v(k_v a) {
    k_v z = k_abs_v(a), t = 1.0f / K_FMA(z, k_splat(0.36f), k_splat(1.0f));
    k_v p = K_FMA(t, k_splat(-0.0302395565f), k_splat(0.13951368f));
    p = K_FMA(p, t, k_splat(-0.223608439f));
    p = K_FMA(p, t, k_splat(0.107377047f));
    p = K_FMA(p, t, k_splat(-3.90364909e-4f));
    p = K_FMA(p, t, k_splat(0.0960385183f));
    p = K_FMA(p, t, k_splat(0.124009568f));
    p = K_FMA(p, t, k_splat(0.143681896f));
    p = K_FMA(p, t, k_splat(0.143617664f));
    k_v tail = p * t * k_exp_v(z * z * -0.5f);
    return k_select(a > 0.0f, 1.0f - tail, tail);
}
K_MATHS k_v k_tanh_v(k_v a) {
    k_v x = k_abs_v(a), s = a * a;
    k_v p = K_FMA(s, k_splat(-5.70498872745e-3f), k_splat(2.06390887954e-2f));
    p = K_FMA(p, s, k_splat(-5.37397155531e-2f));
    p = K_FMA(p, s, k_splat(1.33314422036e-1f));
    p = K_FMA(p, s, k_splat(-3.33332819422e-1f));
    k_v large = 1.0f - 2.0f / (k_exp_v(x + x) + 1.0f);
    return k_copysign_v(k_select(x >= 0.625f, large, K_FMA(p * s, x, x)), a);
}
/* 2^n (1 + r) - 1, r = e^f - 1, |f| <= log(2) / 2; by halves, as 2^128 is too much. */
K_MATHS k_v k_expm1_v(k_v x) {
    x = k_clamp_v(x, -104.0f, 89.0f);
    k_v n, f = k_exp_parts(x, &n);
    k_v p = K_FMA(f, k_splat(1.98412698e-4f), k_splat(1.38888889e-3f));
    p = K_FMA(p, f, k_splat(8.33333333e-3f));
    p = K_FMA(p, f, k_splat(4.16666667e-2f));
    p = K_FMA(p, f, k_splat(1.66666667e-1f));
    p = K_FMA(p, f, k_splat(0.5f));
    k_v r = K_FMA(p * f, f, f), half = k_scale_v(k_splat(1.0f), n - 1.0f);
    k_v y = 2.0f * K_FMA(r, half, half - 0.5f);
    return k_select(k_abs_v(x) < 1e-8f, x, y); /* the sign of -0 */
}
/* a = 2^n m, sqrt(1/2) <= m < sqrt(2), f = m - 1: log m is f - f^2 / 2 and what this returns. */
K_INLINE k_v k_log_parts(k_v a, k_v *n, k_v *f) {
    k_m tiny = a < 1.17549435e-38f;
    k_v x = k_select(tiny, a * 0x1p23f, a);
    k_m e = (k_as_m(x) - 0x3f3504f3) >> 23;
    k_v g = k_as_v(k_as_m(x) - (e << 23)) - 1.0f, s = g * g;
    *n = __builtin_convertvector(e - (tiny & 23), k_v);
    *f = g;
    k_v p = K_FMA(g, k_splat(7.0376836292e-2f), k_splat(-1.1514610310e-1f));
    p = K_FMA(p, g, k_splat(1.1676998740e-1f));
    p = K_FMA(p, g, k_splat(-1.2420140846e-1f));
    p = K_FMA(p, g, k_splat(1.4249322787e-1f));
    p = K_FMA(p, g, k_splat(-1.6668057665e-1f));
    p = K_FMA(p, g, k_splat(2.0000714765e-1f));
    p = K_FMA(p, g, k_splat(-2.4999993993e-1f));
    p = K_FMA(p, g, k_splat(3.3333331174e-1f));
    return p * g * s;
}
/* y, a logarithm of a, where a > 0. */
K_INLINE k_v k_log_ends(k_v a, k_v y) {
    y = k_select(a == k_inf(), a, y);
    y = k_select(a == 0.0f, k_splat(-k_inf()), y);
    return k_select((a < 0.0f) | (a != a), k_splat(k_nan()), y);
}
K_MATHS k_v k_log_v(k_v a) {
    k_v n, f, p = k_log_parts(a, &n, &f);
    k_v y = K_FMA(n, k_splat(-2.12194440e-4f), p);
    y = K_FMA(n, k_splat(0.693359375f), f + K_FMA(f * f, k_splat(-0.5f), y));
    return k_log_ends(a, y);
}
/* Of powers of the base 2, whole. */
K_MATHS k_v k_log2_v(k_v a) {
    k_v n, f, p = k_log_parts(a, &n, &f), y = f + K_FMA(f * f, k_splat(-0.5f), p);
    return k_log_ends(a, K_FMA(y, k_splat(1.44269504f), n));
}
K_MATHS k_v k_log10_v(k_v a) {
    k_v n, f, p = k_log_parts(a, &n, &f), y = f + K_FMA(f * f, k_splat(-0.5f), p);
    y = K_FMA(n, k_splat(4.60503898e-6f), y * 0.434294482f); /* log10(2), in two parts */
    return k_log_ends(a, K_FMA(n, k_splat(0.301025391f), y));
}
/* What 1 + a was rounded by changes the logarithm by that over 1 + a. */
K_MATHS k_v k_log1p_v(k_v a) {
    k_v u = 1.0f + a, lost = (a - (u - 1.0f)) / u, y = k_log_v(u);
    return k_select((a == -1.0f) | (a == k_inf()), y, k_select(u == 1.0f, a, y + lost));
}

/* Angles as quarters of a turn, of which only the last two bits count, and what is left of them:
 * pi / 2 in four parts (Cody and Waite), the first three of so few digits that their products with
 * numbers up to K_NEAR_TURNS are exact. */
#define K_NEAR_TURNS 8192.0f
K_INLINE k_v k_angle_v(k_v a, k_m *quarters) {
    k_v q = K_ROUND_V(a * 0.636619772f) + 0.0f; /* -0 stays what is left of it */
    *quarters = __builtin_convertvector(q, k_m);
    k_v rest = K_FMA(q, k_splat(-1.5703125f), a);
    rest = K_FMA(q, k_splat(-0x1.fb4p-12f), rest);
    rest = K_FMA(q, k_splat(-0x1.444p-24f), rest);
    return K_FMA(q, k_splat(-0x1.68c234p-39f), rest);
}
/* The sine, by the series that prelude/maths.cuh has. */
K_INLINE k_v k_wave_v(k_v rest, k_m quarters) {
    k_m odd = (quarters & 1) != 0;
    k_v s = rest * rest, x = k_select(odd, k_splat(1.0f), rest);
    k_v p = k_select(odd, k_splat(2.44331571e-5f), k_splat(-1.95152959e-4f));
    p = K_FMA(p, s, k_select(odd, k_splat(-1.38873162e-3f), k_splat(8.33216087e-3f)));
    p = K_FMA(p, s, k_select(odd, k_splat(4.16666456e-2f), k_splat(-1.66666546e-1f)));
    p = k_select(odd, K_FMA(p, s, k_splat(-0.5f)), p);
    p = K_FMA(p, K_FMA(s, x, k_splat(0.0f)), x);
    return k_as_v(k_as_m(p) ^ (quarters & 2) << 30);
}
K_INLINE k_v k_sin_near(k_v a) {
    k_m quarters;
    k_v rest = k_angle_v(a, &quarters);
    return k_wave_v(rest, quarters);
}
K_INLINE k_v k_cos_near(k_v a) {
    k_m quarters;
    k_v rest = k_angle_v(a, &quarters);
    return k_wave_v(rest, quarters + 1);
}
K_INLINE k_v k_tan_near(k_v a) {
    k_m quarters;
    k_v rest = k_angle_v(a, &quarters), s = rest * rest;
    k_v p = K_FMA(s, k_splat(9.38540185543e-3f), k_splat(3.11992232697e-3f));
    p = K_FMA(p, s, k_splat(2.44301354525e-2f));
    p = K_FMA(p, s, k_splat(5.34112807005e-2f));
    p = K_FMA(p, s, k_splat(1.33387994085e-1f));
    p = K_FMA(p, s, k_splat(3.33331568548e-1f));
    p = K_FMA(p * s, rest, rest);
    return k_select((quarters & 1) != 0, -1.0f / p, p);
}
/* Lanes of more than some thousand turns, infinite ones and NaN one at a time. */
#define K_TURNS(name, f)                                                                           \
    K_FAR k_v k_##name##_far(k_v a, k_v y) {                                                       \
        for (int l = 0; l < K_LANES; l++)                                                          \
            if (!(__builtin_fabsf(a[l]) <= K_NEAR_TURNS)) y[l] = f(a[l]);                          \
        return y;                                                                                  \
    }                                                                                              \
    K_MATHS k_v k_##name##_v(k_v a) {                                                              \
        k_m near = k_abs_v(a) <= K_NEAR_TURNS;                                                     \
        k_v y = k_##name##_near(k_select(near, a, k_splat(0.0f)));                                 \
        return k_any(~near) ? k_##name##_far(a, y) : y;                                            \
    }
K_TURNS(sin, sinf)
K_TURNS(cos, cosf)
K_TURNS(tan, tanf)
/* Of at most tan(pi / 8) by the series of Cephes; else pi / 4 or pi / 2 and that of another. */
K_MATHS k_v k_atan_v(k_v a) {
    k_v t = k_abs_v(a);
    k_m far = t > 2.41421356f, middle = t > 0.414213562f;
    k_v over = k_select(far, k_splat(-1.0f), k_select(middle, t - 1.0f, t));
    k_v under = k_select(far, t, k_select(middle, t + 1.0f, k_splat(1.0f)));
    k_v from =
        k_select(far, k_splat(1.57079633f), k_select(middle, k_splat(0.785398163f), k_splat(0.0f)));
    k_v low = k_select(far, k_splat(-4.37113900e-8f),
                       k_select(middle, k_splat(-2.18556950e-8f), k_splat(0.0f)));
    k_v x = over / under, s = x * x;
    k_v p = K_FMA(s, k_splat(8.05374449538e-2f), k_splat(-1.38776856032e-1f));
    p = K_FMA(p, s, k_splat(1.99777106478e-1f));
    p = K_FMA(p, s, k_splat(-3.33329491539e-1f));
    p = K_FMA(p * s, x, x) + low;
    return k_copysign_v(from + p, a);
}

/* What is called a lane at a time, out of line: a call more, and not as many more as lanes wherever
 * it is used. */
#define K_EACH1(name, f)                                                                           \
    K_FAR k_v k_##name##_v(k_v a) {                                                                \
        for (int l = 0; l < K_LANES; l++) a[l] = f(a[l]);                                          \
        return a;                                                                                  \
    }
#define K_EACH2(name, f)                                                                           \
    K_FAR k_v k_##name##_v(k_v a, k_v b) {                                                         \
        for (int l = 0; l < K_LANES; l++) a[l] = f(a[l], b[l]);                                    \
        return a;                                                                                  \
    }
K_EACH1(asin, asinf)
K_EACH1(acos, acosf)
K_EACH1(sinh, sinhf)
K_EACH1(cosh, coshf)
K_EACH1(asinh, asinhf)
K_EACH1(acosh, acoshf)
K_EACH1(atanh, atanhf)
K_EACH1(erfc, erfcf)
K_EACH2(atan2, atan2f)
K_EACH2(hypot, hypotf)
K_EACH2(fmod, fmodf)
K_EACH2(remainder, k_remainder_f)
K_EACH2(floor_div, k_floor_div_f)

/* x^y = 2^(y log2 x) in double precision, of which the product leaves enough; of normal x > 0 and
 * finite y. log2 is the series of atanh, whose argument is 0.172 at most. */
K_INLINE float k_pow_near(float x, float y) {
    int32_t bits, e;
    int64_t power;
    float m;
    __builtin_memcpy(&bits, &x, 4);
    e = (bits - 0x3f3504f3) >> 23;
    bits -= e << 23; /* sqrt(1/2) <= m < sqrt(2) */
    __builtin_memcpy(&m, &bits, 4);
    double s = ((double)m - 1) / ((double)m + 1), z = s * s, p = 1.0 / 13, q, t, n, scale;
    p = p * z + 1.0 / 11, p = p * z + 1.0 / 9, p = p * z + 1.0 / 7, p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3, p = p * z + 1;
    t = (double)y * ((double)e + s * p * 2.8853900817779268); /* 2 / log(2) */
    t = t > 200 ? 200 : t < -200 ? -200 : t;
    n = t + 0x1.8p52; /* its last digits are t, rounded */
    __builtin_memcpy(&power, &n, 8);
    power = (int64_t)((uint64_t)(power + 1023) << 52);
    __builtin_memcpy(&scale, &power, 8);
    t = (t - (n - 0x1.8p52)) * 0.69314718055994531;
    q = 1.0 / 3628800 * t + 1.0 / 362880, q = q * t + 1.0 / 40320, q = q * t + 1.0 / 5040;
    q = q * t + 1.0 / 720, q = q * t + 1.0 / 120, q = q * t + 1.0 / 24, q = q * t + 1.0 / 6;
    q = q * t + 0.5, q = q * t + 1, q = q * t + 1;
    return (float)(q * scale);
}
K_FAR k_v k_pow_v(k_v a, k_v b) {
    float x[K_LANES], y[K_LANES], z[K_LANES];
    k_m rest = ~((a >= 1.17549435e-38f) & (a < k_inf()) & (k_abs_v(b) < k_inf()));
    __builtin_memcpy(x, &a, sizeof x);
    __builtin_memcpy(y, &b, sizeof y);
    for (int l = 0; l < K_LANES; l++) z[l] = k_pow_near(x[l], y[l]);
    for (int l = 0; l < K_LANES; l++)
        if (rest[l]) z[l] = powf(x[l], y[l]);
    __builtin_memcpy(&a, z, sizeof z);
    return a;
}

/* Random numbers of elements i, i + 1, ..., as k_rand has them: each lane makes its block. */
typedef uint64_t k_w __attribute__((vector_size(4 * K_LANES))); /* half as many */
K_INLINE k_u k_times_high(k_u a, uint32_t by, k_u *low) {
    const k_w even = ((k_w)a & 0xffffffffu) * by, odd = ((k_w)a >> 32) * by;
    *low = (k_u)((even & 0xffffffffu) | odd << 32);
    return (k_u)(even >> 32 | (odd & ~(uint64_t)0xffffffffu));
}
K_MATHS k_v k_rand_v(long long i, long long tensor, long long seed) {
    const uint64_t block = (uint64_t)i / 4;
    const k_u at = (k_u)k_lanes() + (uint32_t)(i & 3), word = at & 3, none = {0};
    k_u c0 = (at >> 2) + (uint32_t)block,
        c1 = (uint32_t)(block >> 32) - (k_u)(c0 < (uint32_t)block), c2 = none + (uint32_t)tensor,
        c3 = none + (uint32_t)((uint64_t)tensor >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)((uint64_t)seed >> 32);
    for (int round = 0; round < 10; round++) {
        k_u low_a, low_b, high_a = k_times_high(c0, 0xD2511F53u, &low_a),
                          high_b = k_times_high(c2, 0xCD9E8D57u, &low_b);
        c0 = high_b ^ c1 ^ k0, c1 = low_b, c2 = high_a ^ c3 ^ k1, c3 = low_a;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    const k_v even = k_select((k_m)(word == 0), (k_v)c0, (k_v)c2),
              odd = k_select((k_m)(word == 1), (k_v)c1, (k_v)c3);
    const k_u r = (k_u)k_select((k_m)((word & 1) == 0), even, odd);
    return __builtin_convertvector((k_m)(r >> 8), k_v) * 0x1p-24f;
}

/* All lanes of one vector combined, by halves. */
#if defined(K_AVX512)
#define K_TURNED(x, n)                                                                             \
    __builtin_shuffle((x), (k_m){0 ^ (n), 1 ^ (n), 2 ^ (n), 3 ^ (n), 4 ^ (n), 5 ^ (n), 6 ^ (n),    \
                                 7 ^ (n), 8 ^ (n), 9 ^ (n), 10 ^ (n), 11 ^ (n), 12 ^ (n),          \
                                 13 ^ (n), 14 ^ (n), 15 ^ (n)})
#define K_FOLD(name, of_two)                                                                       \
    K_INLINE float name(k_v x) {                                                                   \
        x = of_two(x, K_TURNED(x, 8));                                                             \
        x = of_two(x, K_TURNED(x, 4));                                                             \
        x = of_two(x, K_TURNED(x, 2));                                                             \
        return of_two(x, K_TURNED(x, 1))[0];                                                       \
    }
#else
#define K_FOLD(name, of_two)                                                                       \
    K_INLINE float name(k_v x) {                                                                   \
        float l[K_LANES];                                                                          \
        k_store_v(l, x);                                                                           \
        for (int h = K_LANES / 2; h > 0; h /= 2)                                                   \
            for (int i = 0; i < h; i++) l[i] = of_two(l[i], l[i + h]);                             \
        return l[0];                                                                               \
    }
#endif
/* Each lane combined with those before it; `unit` changes nothing. */
#if !defined(__clang__) && (K_LANES == 16 || (K_LANES == 8 && defined(__AVX2__)))
#define K_SHIFT(x, unit, n) __builtin_shuffle(k_splat(unit), (x), k_lanes() + K_LANES - (n))
#define K_SCAN(name, of_two, unit)                                                                 \
    K_INLINE k_v name(k_v x) {                                                                     \
        x = of_two(K_SHIFT(x, unit, 1), x);                                                        \
        x = of_two(K_SHIFT(x, unit, 2), x);                                                        \
        x = of_two(K_SHIFT(x, unit, 4), x);                                                        \
        return K_LANES > 8 ? of_two(K_SHIFT(x, unit, K_LANES / 2), x) : x;                         \
    }
#else
#define K_SCAN(name, of_two, unit)                                                                 \
    K_INLINE k_v name(k_v x) {                                                                     \
        float l[K_LANES];                                                                          \
        k_store_v(l, x);                                                                           \
        for (int i = 1; i < K_LANES; i++) l[i] = of_two(l[i - 1], l[i]);                           \
        return k_load_v(l);                                                                        \
    }
#endif
/* A sum that is carried from vector to vector is a double, and so is each lane's until it is
 * stored: it rounds once. The lanes of a vector, as two halves of doubles. */
typedef double k_d __attribute__((vector_size(4 * K_LANES)));
typedef double k_both __attribute__((vector_size(8 * K_LANES)));
typedef float k_hf __attribute__((vector_size(2 * K_LANES)));
typedef struct {
    k_d half[2];
} k_wide;
#if !defined(__clang__) && (K_LANES == 16 || (K_LANES == 8 && defined(__AVX2__)))
typedef int64_t k_q __attribute__((vector_size(4 * K_LANES)));
K_INLINE k_d k_shift_d(k_d x, int n) {
    k_q from;
    for (int l = 0; l < K_LANES / 2; l++) from[l] = l + K_LANES / 2 - n;
    return __builtin_shuffle((k_d){0}, x, from);
}
K_INLINE k_d k_scan_d(k_d x) {
    x += k_shift_d(x, 1);
    x += k_shift_d(x, 2);
    return K_LANES > 8 ? x + k_shift_d(x, 4) : x;
}
#else
K_INLINE k_d k_scan_d(k_d x) {
    for (int l = 1; l < K_LANES / 2; l++) x[l] += x[l - 1];
    return x;
}
#endif
/* Each lane added to those before it. */
K_INLINE k_wide k_scan_wide(k_v x) {
    k_wide s;
    for (int i = 0; i < 2; i++) {
        k_hf half;
        memcpy(&half, (const char *)&x + i * sizeof half, sizeof half);
        s.half[i] = k_scan_d(__builtin_convertvector(half, k_d));
    }
    s.half[1] += s.half[0][K_LANES / 2 - 1];
    return s;
}
/* All of them behind what is carried, which then has the last. */
K_INLINE k_v k_behind(double *carry, k_wide s) {
    k_both all;
    for (int i = 0; i < 2; i++) {
        const k_d half = s.half[i] + *carry;
        memcpy((char *)&all + i * sizeof half, &half, sizeof half);
    }
    *carry += s.half[1][K_LANES / 2 - 1];
    return __builtin_convertvector(all, k_v);
}
K_INLINE k_v k_last(k_v x) { return k_splat(x[K_LANES - 1]); }

#define K_ADD(a, b) ((a) + (b))
#define K_MUL(a, b) ((a) * (b))
K_FOLD(k_fold_sum, K_ADD)
K_FOLD(k_fold_prod, K_MUL)
K_FOLD(k_fold_amax, k_max)
K_FOLD(k_fold_amin, k_min)
K_SCAN(k_scan_sum, K_ADD, 0.0f)
K_SCAN(k_scan_prod, K_MUL, 1.0f)
K_SCAN(k_scan_amax, k_max, -k_inf())
K_SCAN(k_scan_amin, k_min, k_inf())

/* argmax and argmin: of each lane, the best so far and its column. A lane meets its columns in
 * order, so that the first of equal ones stays; what it has before the first is no better than any,
 * and at the first. Prelude_c.h's k_pair_f32 says what wins. */
typedef struct {
    k_v value;
    k_m at;
} k_best;
K_INLINE void k_take(k_best *b, k_m wins, k_v value, k_m at) {
    b->value = k_select(wins, value, b->value);
    b->at = (wins & at) | (~wins & b->at);
}
#define K_BEST(name, better, worst)                                                                \
    K_INLINE k_best k_best_##name(int at) { return (k_best){k_splat(worst), k_lanes() + at}; }     \
    K_INLINE k_m k_beats_##name(k_v x, const k_best *b) {                                          \
        return (x better b->value) | ((x != x) & (b->value == b->value));                          \
    }                                                                                              \
    K_INLINE void k_keep_##name(k_best *b, k_v x, int at, k_m which) {                             \
        k_take(b, k_beats_##name(x, b) & which, x, k_lanes() + at);                                \
    }                                                                                              \
    K_INLINE k_pair_f32 k_fold_##name(const k_best *c, int n) {                                    \
        k_best b = c[0];                                                                           \
        for (int u = 1; u < n; u++) {                                                              \
            k_v x = c[u].value;                                                                    \
            k_m same = (x == b.value) | ((x != x) & (b.value != b.value));                         \
            k_take(&b, k_beats_##name(x, &b) | (same & (c[u].at < b.at)), x, c[u].at);             \
        }                                                                                          \
        k_pair_f32 best = {b.value[0], b.at[0]};                                                   \
        for (int l = 1; l < K_LANES; l++)                                                          \
            best = k_##name##_f32(best, (k_pair_f32){b.value[l], b.at[l]});                        \
        return best;                                                                               \
    }
K_BEST(argmax, >, -k_inf())
K_BEST(argmin, <, k_inf())
