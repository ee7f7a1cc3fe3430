/* random.c: the streams of random numbers: element i of tensor `index` under a seed.
 *
 * Counter-based: a kernel makes any element alone and in any order. Four neighbouring elements
 * share a block of four words: a word makes a uniform, two words make two normals
 * (random_maths.h). */
#include "graph/random.h"

#include "graph/random_maths.h"

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    for (int i = 0; i < 4; i++) out[i] = counter[i];
    random_words(key[0], key[1], out);
}

static void make_uniforms(const uint32_t r[4], double out[4]) {
    for (int k = 0; k < 4; k++) out[k] = random_uniform_of(r[k]);
}

static void make_normals(const uint32_t r[4], double out[4]) {
    for (int k = 0; k < 4; k += 2) random_normals_of(&r[k], &out[k]);
}

static void fill(uint64_t seed, uint64_t index, uint64_t first, int64_t n, double *out,
                 void (*make)(const uint32_t r[4], double out[4])) {
    for (int64_t i = 0; i < n;) {
        uint32_t r[4];
        double four[4];
        random_draw(seed, index, (first + (uint64_t)i) / 4, r);
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
    return random_uniform_at(i, index, seed);
}

double random_normal(uint64_t seed, uint64_t index, uint64_t i) {
    return random_normal_at(i, index, seed);
}
