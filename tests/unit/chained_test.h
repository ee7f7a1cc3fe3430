/* chained_test.h: schedules with chained products, as compile.c makes them. */
#ifndef CHAINED_TEST_H
#define CHAINED_TEST_H

#include "lower_test.h"

static struct device_limits gpu;

static inline const char *reason(struct schedule *s, uint32_t group, double *us, void *ctx) {
    (void)ctx;
    return kernel_chain_reason(s, group, &gpu, us, s->arena);
}

static inline struct schedule *chained(struct arena *a, const char *text, const char *arch) {
    struct diag d = diag_new(a);
    int chains;
    gpu = test_gpu(arch);
    struct graph *g = graph_chain_copies(parse_primitive(a, text, ""), &chains);
    struct loops *l = loops_lower(g, a, &d);
    if (!l) fail_msg("%s", d.text);
    struct schedule *s = schedule_fuse(l, &gpu, FUSING_ALL, a);
    schedule_recompute(s, &gpu);
    schedule_chain(s, &gpu, reason, NULL, NULL);
    schedule_order(s);
    schedule_at_load(s, false);
    schedule_memory(s);
    const char *why = schedule_verify(s);
    if (why) fail_msg("%s\n%s", why, text);
    return s;
}

#endif
