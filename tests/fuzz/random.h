/* random.h: a small generator of random choices, reproducible from its seed (splitmix64). */
#ifndef FUZZ_RANDOM_H
#define FUZZ_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r) {
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* 0 .. n-1 */
static inline int rng_below(struct rng *r, int n) { return (int)(rng_next(r) % (uint64_t)n); }

/* One of n numbers; RNG_ANY(r, 1, 2, 4): one of those. */
static inline int rng_any(struct rng *r, const int *of, size_t n) {
    return of[rng_below(r, (int)n)];
}
#define RNG_ANY(r, ...)                                                                            \
    rng_any(r, (const int[]){__VA_ARGS__}, sizeof(int[]){__VA_ARGS__} / sizeof(int))

static inline bool rng_percent(struct rng *r, int percent) { return rng_below(r, 100) < percent; }

#endif
