/* bench_lookup.c: what a lookup among stored ranges costs, for scripts/bench_lookup.sh.
 *
 *   $ bench_lookup 16
 *   hit 0.071          microseconds a lookup: in one of 16 ranges of the kernel,
 *   nearest 0.185      outside of all of them,
 *   miss 0.062         of a kernel that nothing is known of
 *
 * The table is that of a store of 64 other kernels with as many ranges each; sizes and kernels are
 * asked for in an order that no cache line foresees. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tuner/range_table.h"

enum { KERNELS = 64, LOOKUPS = 200000, ROUNDS = 9, WIDTH = 512 /* sizes of a range */ };

static const char *hash_of(struct arena *a, uint64_t n) {
    return arena_printf(a, "%016llx", (unsigned long long)hash_bytes(&n, sizeof n));
}

static struct range_table *make_table(struct arena *a, int n, const char **graph,
                                      const char **kernel) {
    struct store_config *c = NEW_ARRAY(a, struct store_config, n * KERNELS);
    for (int k = 0; k < KERNELS; k++) {
        graph[k] = hash_of(a, (uint64_t)k);
        kernel[k] = hash_of(a, (uint64_t)k + 1000);
        for (int i = 0; i < n; i++)
            c[k * n + i] = (struct store_config){
                .id = k * n + i + 1,
                .graph = graph[k],
                .kernel = kernel[k],
                .guard = arena_printf(a, "%d <= s0 && s0 < %d && s0 %% 8 == 0", WIDTH * (i + 1),
                                      WIDTH * (i + 2)),
                .config = arena_printf(a, "x=%d r=1024 warps=8 vec=8 keep=1", i + 1)};
    }
    return range_table_new(a, c, n * KERNELS);
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over rounds. Sizes lie between least and most, steps of 8. */
static double cost(struct range_table *t, const char *const *graph, const char *const *kernel,
                   int64_t least, int64_t most, enum lookup expected) {
    double us[ROUNDS];
    uint64_t state = 1;
    for (int r = 0; r < ROUNDS; r++) {
        double begun = now_us();
        for (int i = 0; i < LOOKUPS; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            int k = (int)(state >> 33) % KERNELS;
            int64_t size = least + (int64_t)(state >> 40) % ((most - least) / 8) * 8;
            struct range_question q = {graph[k], kernel[k], &size, 1, NULL, NULL};
            const struct range_entry *e;
            if (range_look_up(t, &q, &e) != expected) {
                fprintf(stderr, "bench_lookup: not what was to be measured at %lld\n",
                        (long long)size);
                exit(1);
            }
        }
        us[r] = (now_us() - begun) / LOOKUPS;
    }
    qsort(us, ROUNDS, sizeof *us, ascending);
    return us[ROUNDS / 2];
}

int main(int argc, char **argv) {
    int n = argc == 2 ? atoi(argv[1]) : 0;
    if (n < 1 || n > 100000) {
        fputs("usage: bench_lookup RANGES\n", stderr);
        return 2;
    }
    struct arena *a = arena_new();
    const char *graph[KERNELS], *kernel[KERNELS];
    struct range_table *t = make_table(a, n, graph, kernel);
    int64_t first = WIDTH, end = WIDTH * (int64_t)(n + 1);
    printf("hit %.3f\n", cost(t, graph, kernel, first, end, LOOKUP_RANGE));
    printf("nearest %.3f\n", cost(t, graph, kernel, end, 2 * end, LOOKUP_NEAREST));
    printf("miss %.3f\n", cost(t, kernel, graph, first, end, LOOKUP_MISS));
    arena_free(a);
    return 0;
}
