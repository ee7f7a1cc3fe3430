/* random.c: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2,
 * 3; SC 2011).
 *
 * Counter-based: ten rounds of multiply and xor turn the counter (block, tensor) under the key
 * (seed) into four random words, so a kernel makes any element alone and in any order. Four
 * neighbouring elements share a block: a word makes a uniform, two words make two normals. */
#define _GNU_SOURCE /* sincos */
#include "graph/random.h"

#include <math.h>

static void philox_round(uint32_t c[4], const uint32_t k[2]) {
    uint64_t a = (uint64_t)0xD2511F53 * c[0], b = (uint64_t)0xCD9E8D57 * c[2];
    uint32_t r0 = (uint32_t)(b >> 32) ^ c[1] ^ k[0], r2 = (uint32_t)(a >> 32) ^ c[3] ^ k[1];
    c[0] = r0;
    c[1] = (uint32_t)b;
    c[2] = r2;
    c[3] = (uint32_t)a;
}

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t k[2] = {key[0], key[1]};
    for (int i = 0; i < 4; i++) out[i] = counter[i];
    for (int round = 0; round < 10; round++) {
        philox_round(out, k);
        k[0] += 0x9E3779B9; /* golden ratio */
        k[1] += 0xBB67AE85; /* sqrt(3) - 1 */
    }
}

/* The four words that elements 4*b .. 4*b+3 of a tensor are made of. */
static void draw(uint64_t seed, uint64_t index, uint64_t b, uint32_t out[4]) {
    uint32_t counter[4] = {(uint32_t)b, (uint32_t)(b >> 32), (uint32_t)index,
                           (uint32_t)(index >> 32)};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    philox(counter, key, out);
}

/* 24 bits, so that the value is exact in f32 and never rounds up to 1. */
static void make_uniforms(const uint32_t r[4], double out[4]) {
    for (int k = 0; k < 4; k++) out[k] = (r[k] >> 8) * 0x1p-24;
}

/* Box and Muller: two words make two normals. */
static void make_normals(const uint32_t r[4], double out[4]) {
    for (int k = 0; k < 4; k += 2) {
        double u = (r[k] + 1.0) * 0x1p-32; /* in (0, 1]: its logarithm is finite */
        double length = sqrt(-2 * log(u)), sine, cosine;
        sincos(6.283185307179586476925286766559 * 0x1p-32 * r[k + 1], &sine, &cosine);
        out[k] = length * cosine;
        out[k + 1] = length * sine;
    }
}

static void fill(uint64_t seed, uint64_t index, uint64_t first, int64_t n, double *out,
                 void (*make)(const uint32_t r[4], double out[4])) {
    for (int64_t i = 0; i < n;) {
        uint32_t r[4];
        double four[4];
        draw(seed, index, (first + (uint64_t)i) / 4, r);
        make(r, four);
        for (uint64_t k = (first + (uint64_t)i) % 4; k < 4 && i < n; k++) out[i++] = four[k];
    }
}

void random_uniforms(uint64_t seed, uint64_t index, uint64_t first, int64_t n, double *out) {
    fill(seed, index, first, n, out, make_uniforms);
}

void random_normals(uint64_t seed, uint64_t index, uint64_t first, int64_t n, double *out) {
    fill(seed, index, first, n, out, make_normals);
}

double random_uniform(uint64_t seed, uint64_t index, uint64_t i) {
    double v;
    random_uniforms(seed, index, i, 1, &v);
    return v;
}

double random_normal(uint64_t seed, uint64_t index, uint64_t i) {
    double v;
    random_normals(seed, index, i, 1, &v);
    return v;
}
