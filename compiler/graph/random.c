/* random.c: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2,
 * 3; SC 2011).
 *
 * Counter-based: ten rounds of multiply and xor turn the counter (element, tensor) under the key
 * (seed) into four random words, so a kernel makes any element alone and in any order. One element
 * uses one counter; the first word makes a uniform, the first two a normal by Box and Muller. */
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

static void draw(uint64_t seed, uint64_t index, uint64_t i, uint32_t out[4]) {
    uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), (uint32_t)index,
                           (uint32_t)(index >> 32)};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    philox(counter, key, out);
}

/* 24 bits, so that the value is exact in f32 and never rounds up to 1. */
double random_uniform(uint64_t seed, uint64_t index, uint64_t i) {
    uint32_t r[4];
    draw(seed, index, i, r);
    return (r[0] >> 8) * 0x1p-24;
}

double random_normal(uint64_t seed, uint64_t index, uint64_t i) {
    uint32_t r[4];
    draw(seed, index, i, r);
    double u = (r[0] + 1.0) * 0x1p-32,
           v = r[1] * 0x1p-32; /* u in (0, 1]: its logarithm is finite */
    return sqrt(-2 * log(u)) * cos(6.283185307179586476925286766559 * v);
}
