/* lower_test.h: what the tests of the back end share: graphs as text, with symbolic sizes, brought
 * as far down the pipeline as a test needs. Each function uses its own stage and those before it.
 */
#ifndef LOWER_TEST_H
#define LOWER_TEST_H

#include "graph_test.h"
#include "kernel/kernel.h"

/* A CPU that no machine is, so that expected texts are the same everywhere. */
static inline struct device_limits test_cpu(void) {
    return (struct device_limits){.kind = DEVICE_CPU,
                                  .arch = "cpu",
                                  .units = 8,
                                  .warp = 1,
                                  .max_threads_block = 1,
                                  .max_cluster = 1,
                                  .l2_bytes = 32 << 20,
                                  .simd_bytes = 32,
                                  .clock_ghz = 3,
                                  .peak_gbps = 100,
                                  .f32_tflops = 0.8};
}

static inline struct device_limits test_gpu(const char *arch) {
    struct device_limits l;
    assert_true(device_limits_for_arch(arch, &l));
    return l;
}

/* "s0=64 s1=100" in the words of `sizes` (other words are passed over): symbols s0 and s1 with
 * these hints. */
static inline void define_sizes(struct arena *a, struct exprs *ex, const char *sizes) {
    char *rest, *copy = arena_strdup(a, sizes);
    for (char *w = strtok_r(copy, " \n", &rest); w; w = strtok_r(NULL, " \n", &rest)) {
        char *equals = strchr(w, '=');
        if (!equals) continue;
        *equals = 0;
        ex_size(ex, w, 2, atoll(equals + 1));
    }
}

/* graph_parse as the stages want it: sizes defined first, nothing composite left; functions behind
 * extrema unless "eager" is among the words of `sizes`; parameters that stay if "fixed" is. */
static inline struct graph *parse_primitive(struct arena *a, const char *text, const char *sizes) {
    struct diag d = diag_new(a);
    struct exprs *ex = exprs_new(a);
    define_sizes(a, ex, sizes);
    struct graph *g = graph_parse(a, ex, test_source(a, text), &d);
    if (!g) fail_msg("%s", d.text);
    g->fixed = strstr(sizes, "fixed") != NULL;
    g = graph_simplify(graph_decompose(graph_simplify(g)));
    if (!strstr(sizes, "eager"))
        g = graph_divide_softplus(graph_scans_last(graph_extrema_first(g)));
    const char *why = graph_verify(g, true);
    if (why) fail_msg("%s\n%s", why, text);
    return g;
}

static inline struct loops *must_lower(struct arena *a, const char *text, const char *sizes) {
    struct diag d = diag_new(a);
    struct loops *l = loops_lower(parse_primitive(a, text, sizes), a, &d);
    if (!l) fail_msg("%s", d.text);
    const char *why = loops_verify(l);
    if (why) fail_msg("%s\n%s", why, text);
    return l;
}

static inline struct schedule *must_schedule(struct arena *a, const char *text, const char *sizes,
                                             const struct device_limits *limits, bool eager) {
    struct schedule *s =
        schedule_fuse(must_lower(a, text, sizes), limits, eager ? FUSING_EAGER : FUSING_ALL, a);
    if (!eager) schedule_recompute(s, limits);
    schedule_order(s);
    schedule_memory(s);
    const char *why = schedule_verify(s);
    if (why) fail_msg("%s\n%s", why, text);
    return s;
}

static inline struct kernel *must_build(const struct schedule *s, uint32_t group,
                                        const struct device_limits *limits) {
    struct kernel *k = kernel_build(s, group, limits, s->arena);
    const char *why = kernel_verify(k);
    if (why) fail_msg("%s", why);
    return k;
}

/* The first kernel of the fused graph. limits must outlive it. */
static inline struct kernel *first_kernel(struct arena *a, const char *text,
                                          const struct device_limits *limits) {
    return must_build(must_schedule(a, text, "", limits, false), 0, limits);
}

#endif
