/* random_maths.h: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
 * 1, 2, 3; SC 2011), and the uniforms and normals that are made of its words, in C that CUDA's
 * compilers read, too: random.c includes it, and it is part of the reference's kernels
 * (emit/plain.c), which make inputs where kernels run.
 *
 * The same numbers everywhere, to the last bit: sums, products, quotients and roots are rounded
 * alike by every processor, library functions are not, so there are none here but frexp and sqrt;
 * and a product that is added to something is rounded before (TIMES; the Makefile says so to C
 * compilers that would rather not). */
#ifndef RANDOM_MATHS
#include <math.h>
#define RANDOM_MATHS static inline
#endif
#ifdef __CUDACC__
#define TIMES(a, b) __dmul_rn(a, b)
#else
#define TIMES(a, b) ((a) * (b))
#endif

/* Ten rounds of multiply and xor under the key k, in place. */
RANDOM_MATHS void random_words(unsigned k0, unsigned k1, unsigned c[4]) {
    for (int round = 0; round < 10; round++) {
        unsigned long long a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
        c[0] = (unsigned)(b >> 32) ^ c[1] ^ k0;
        c[2] = (unsigned)(a >> 32) ^ c[3] ^ k1;
        c[1] = (unsigned)b;
        c[3] = (unsigned)a;
        k0 += 0x9E3779B9u; /* golden ratio */
        k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
    }
}

/* The four words that elements 4*block .. 4*block+3 of a tensor are made of. */
RANDOM_MATHS void random_draw(unsigned long long seed, unsigned long long tensor,
                              unsigned long long block, unsigned out[4]) {
    out[0] = (unsigned)block, out[1] = (unsigned)(block >> 32);
    out[2] = (unsigned)tensor, out[3] = (unsigned)(tensor >> 32);
    random_words((unsigned)seed, (unsigned)(seed >> 32), out);
}

/* 24 bits, so that the value is exact in f32 and never rounds up to 1. */
RANDOM_MATHS double random_uniform_of(unsigned word) { return (word >> 8) * 0x1p-24; }

/* -log((word + 1) / 2^32), which is finite: by atanh's series, of m in (0.7, 1.42). */
RANDOM_MATHS double random_minus_log(unsigned word) {
    int e;
    double m = frexp(word + 1.0, &e);
    if (m < 0.70710678118654752) m *= 2, e--;
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 / 21;
    p = TIMES(p, z) + 1.0 / 19;
    p = TIMES(p, z) + 1.0 / 17;
    p = TIMES(p, z) + 1.0 / 15;
    p = TIMES(p, z) + 1.0 / 13;
    p = TIMES(p, z) + 1.0 / 11;
    p = TIMES(p, z) + 1.0 / 9;
    p = TIMES(p, z) + 1.0 / 7;
    p = TIMES(p, z) + 1.0 / 5;
    p = TIMES(p, z) + 1.0 / 3;
    p = TIMES(p, z) + 1;
    return TIMES(32 - e, 0.69314718055994531) - TIMES(2 * s, p);
}

/* Cosine and sine of word / 2^32 of a turn: quadrant, and Taylor's series up to an eighth. */
RANDOM_MATHS void random_turn(unsigned word, double *cosine, double *sine) {
    unsigned quadrant = (word + (1u << 29)) >> 30;
    double x = TIMES((double)(int)(word - (quadrant << 30)), 6.2831853071795865 * 0x1p-32);
    double z = x * x, s = -1.0 / 1307674368000, c = 1.0 / 20922789888000;
    s = TIMES(s, z) + 1.0 / 6227020800;
    s = TIMES(s, z) - 1.0 / 39916800;
    s = TIMES(s, z) + 1.0 / 362880;
    s = TIMES(s, z) - 1.0 / 5040;
    s = TIMES(s, z) + 1.0 / 120;
    s = TIMES(s, z) - 1.0 / 6;
    s = TIMES(s, z) + 1;
    s = TIMES(s, x);
    c = TIMES(c, z) - 1.0 / 87178291200;
    c = TIMES(c, z) + 1.0 / 479001600;
    c = TIMES(c, z) - 1.0 / 3628800;
    c = TIMES(c, z) + 1.0 / 40320;
    c = TIMES(c, z) - 1.0 / 720;
    c = TIMES(c, z) + 1.0 / 24;
    c = TIMES(c, z) - 0.5;
    c = TIMES(c, z) + 1;
    *cosine = quadrant == 1 ? -s : quadrant == 2 ? -c : quadrant == 3 ? s : c;
    *sine = quadrant == 1 ? c : quadrant == 2 ? -s : quadrant == 3 ? -c : s;
}

/* Box and Muller: two words make two normals. */
RANDOM_MATHS void random_normals_of(const unsigned word[2], double out[2]) {
    double length = sqrt(2 * random_minus_log(word[0])), cosine, sine;
    random_turn(word[1], &cosine, &sine);
    out[0] = length * cosine;
    out[1] = length * sine;
}

/* Element i of a tensor. */
RANDOM_MATHS double random_uniform_at(unsigned long long i, unsigned long long tensor,
                                      unsigned long long seed) {
    unsigned r[4];
    random_draw(seed, tensor, i / 4, r);
    return random_uniform_of(r[i % 4]);
}
RANDOM_MATHS double random_normal_at(unsigned long long i, unsigned long long tensor,
                                     unsigned long long seed) {
    unsigned r[4];
    double two[2];
    random_draw(seed, tensor, i / 4, r);
    random_normals_of(&r[i % 4 & 2], two);
    return two[i % 2];
}
