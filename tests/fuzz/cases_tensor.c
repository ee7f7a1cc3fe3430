/* cases_tensor.c: products whose sums lie in tensor memory (sm_100a): those of the other files that
 * are by warpgroups on sm_90a, whose configs mean the same here, and some of their own. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/cases.h"

static const struct {
    const char *text, *config;
} own[] = {
    /* one set of sums, which is read before the next is made; two; of a wide tile; two blocks */
    {"graph(%x: bf16[200, 136], %y: bf16[136, 700]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=256 k=64 stages=2 warps=12"},
    {"graph(%x: f16[300, 72], %y: f16[72, 300]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=96 k=32 stages=3 warps=12"},
    {"graph(%x: bf16[200, 72], %y: bf16[136, 72]) {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=1 m=64 n=24 k=64 stages=4 warps=8"},
    {"graph(%x: bf16[300, 136], %y: bf16[136, 300]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=64 k=64 stages=3 warps=12 fit=2"},
    {"graph(%x: f32[200, 328], %y: f32[328, 136]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=96 k=64 stages=2 warps=12"},
    /* pairs: crossed sums of several tiles, out of their range, lines of both planes, reduced */
    {"graph(%x: f32[300, 1096], %y: f32[1096, 40]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=32 k=64 stages=3 warps=8 pairs=1"},
    {"graph(%x: f32[70, 1024], %y: f32[1024, 40]) {\n %m = gt(%x, 2)\n"
     " %a = where(%m, inf, %x)\n %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[200, 544], %y: f32[136, 544]) {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=1 m=128 n=64 k=32 stages=3 warps=12 pairs=1"},
    {"graph(%x: f32[130, 1024], %y: f32[1024, 72]) {\n %z = mm(%x, %y)\n %s = sum(%z, [1])\n"
     " return %s, %z\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8 pairs=1"},
    /* i32, both signs */
    {"graph(%x: i8[136, 80], %y: i8[88, 80]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %t = permute(%b, [1, 0])\n %z = mm(%a, %t)\n return %z\n}\n",
     "mma=1 m=128 n=48 k=64 stages=2 warps=12"},
    {"graph(%x: u8[40, 76], %y: i8[76, 52], %s: f32[52]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %z = mm(%a, %b)\n %d = mul(%z, %s)\n return %d\n}\n",
     "mma=1 m=64 n=16 k=32 stages=3 warps=8"},
};

/* The config with sums in tensor memory; NULL: it has none. Beside warps that make tiles there are
 * four more, one of which issues products. */
static const char *tensor_config(struct arena *a, const char *config) {
    const char *warps = config ? strstr(config, "warps=") : NULL;
    if (!warps || !strstr(config, "mma=1") || strstr(config, "m=192")) return NULL;
    if (!strstr(config, "make=")) return config;
    char *end;
    warps += strlen("warps=");
    long n = strtol(warps, &end, 10);
    return arena_printf(a, "%.*s%ld%s", (int)(warps - config), config, n + 4, end);
}

/* In make test every eighth one: the same graphs are there for sm_90a. */
static void take(struct arena *a, const case_vec *from, case_vec *out) {
    uint32_t each = getenv("TEST_LONG") ? 1 : 8, found = 0;
    for (uint32_t i = 0; i < from->n; i++) {
        struct case_graph g = from->at[i];
        g.config = tensor_config(a, g.config);
        if (!g.config || found++ % each) continue;
        g.old = false;
        g.tensor = g.maybe = true;
        g.every = CASES_DEFAULT;
        vec_push(a, out, g);
    }
}

void cases_tensor(struct arena *a, case_vec *out) {
    enum { RANDOM = 32, CONVOLUTIONS = 24 };
    case_vec products = {0}, random = {0}, convolutions = {0};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = own[i].text,
                                      .every = CASES_DEFAULT,
                                      .tensor = true,
                                      .tiny = true,
                                      .config = own[i].config}));
    cases_products(a, &products);
    cases_random_products(a, 100, RANDOM, &random);
    cases_convolutions(a, 100, CONVOLUTIONS, &convolutions);
    take(a, &products, out);
    take(a, &random, out);
    take(a, &convolutions, out);
}
