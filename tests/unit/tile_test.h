/* tile_test.h: what the tests of tile programs share: graphs of one product as programs. */
#ifndef TILE_TEST_H
#define TILE_TEST_H

#include "lower_test.h"
#include "tile/tile.h"

static inline struct kernel *product_of(struct arena *a, const char *text) {
    static struct device_limits gpu;
    gpu = test_gpu("sm_90a");
    gpu.units = 4; /* so that a block has several tiles */
    gpu.regs_unit /= 8;
    struct schedule *s = must_schedule(a, text, "", &gpu, false);
    uint32_t group = 0; /* what a factor is made of comes before */
    while (group + 1 < s->groups.n && !s->groups.at[group].matmul) group++;
    return must_build(s, group, &gpu);
}

static inline struct config parsed(struct arena *a, const char *text) {
    struct diag d = diag_new(a);
    struct config c;
    if (!config_parse(text, &c, &d)) fail_msg("%s", d.text);
    return c;
}

static inline struct tile_program *program_of(struct arena *a, const char *text,
                                              const char *config) {
    struct kernel *k = product_of(a, text);
    struct config c = parsed(a, config);
    struct layout y;
    const char *bad = kernel_layout(k, &c, &y, a);
    if (bad) fail_msg("%s: %s", config, bad);
    struct tile_program *t = tile_dot(block_build(k, &c, a), a);
    if ((bad = tile_verify(t, a))) fail_msg("%s", bad);
    tile_pipeline(t);
    if ((bad = tile_verify(t, a))) fail_msg("%s", bad);
    return t;
}

#endif
