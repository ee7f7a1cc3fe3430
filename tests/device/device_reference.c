/* device_reference.c: do the reference's own kernels compute on this GPU what the interpreter does?
 *
 *   device_reference [cuda:0] [N]
 *
 * N random graphs (200), each as a whole and, with little memory, in slices; outputs placed in
 * every type; random numbers. Exit 0: all fine, 1: something is wrong, 3: no usable device. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/gen.h"
#include "tests/fuzz/plain.h"

static int failures;

static bool said(const char *what, uint64_t number, const char *wrong) {
    if (wrong) printf("FAIL %s %llu: %s\n", what, (unsigned long long)number, wrong), failures++;
    return wrong != NULL;
}

/* How often it was compared, and in slices. */
static void check_graph(struct plain_place *at, uint64_t seed, int *compared, int *sliced) {
    struct arena *a = arena_new();
    struct graph *g = gen_graph(a, seed);
    struct plain_seen seen;
    if (!graph_verify(g, false)) {
        struct value *in = drive_inputs(g, seed);
        if (seed % 2) g = plain_with_bound(g);
        at->memory = 0;
        said("graph", seed, plain_check_graph(at, g, in, seed, &seen));
        *compared += seen.slices > 0;
        at->memory = 1; /* as many slices as there are rows */
        if (seen.slices > 0) said("sliced graph", seed, plain_check_graph(at, g, in, seed, &seen));
        *sliced += seen.slices > 1;
        at->memory = 0;
        for (uint32_t i = 0; i < g->inputs.n; i++) value_free(&in[i]);
        free(in);
    }
    arena_free(a);
}

int main(int argc, char **argv) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct plain_place at = {.cuda = true};
    const char *name = argc > 1 ? argv[1] : "cuda:0";
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;
    int compared = 0, sliced = 0;
    if (device_open_untimed(name, &env, a, &d, &at.dev) != WS_OK ||
        toolchain_open(DEVICE_CUDA, device_limits(at.dev)->arch, &env, a, &d, &at.cc) != WS_OK) {
        fprintf(stderr, "%s", d.text);
        return 3;
    }
    said("places", 0, plain_check_places(&at, a));
    said("random numbers", 0, plain_check_random(&at, a));
    for (uint64_t seed = 1; seed <= n; seed++) check_graph(&at, seed, &compared, &sliced);
    printf("device_reference: %d graphs compared, %d of them in slices too, %d failures\n",
           compared, sliced, failures);
    toolchain_close(at.cc);
    device_close(at.dev);
    arena_free(a);
    return failures != 0;
}
