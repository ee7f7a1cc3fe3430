/* test_kernel_chain.c: no accumulator takes more than some hundred additions one after the other,
 * whatever the config (kernel/chain.c): of all that are proposed, and of random ones that are
 * legal, for reductions, scans, columns and products of all lengths, known and unknown, on both
 * devices. */
#include "lower_test.h"
#include "part.h"

static uint64_t state = 1;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static struct config random_config(const struct kernel *k) {
    struct config c = {0};
    bool dot = k->kind == KERNEL_MATMUL, gpu = k->limits->kind == DEVICE_CUDA;
    static const enum knob dots[] = {KNOB_m, KNOB_n, KNOB_k, KNOB_tm, KNOB_tn};
    static const enum knob sizes[] = {KNOB_x, KNOB_r, KNOB_vec};
    static const enum knob others[] = {KNOB_rows, KNOB_split, KNOB_cluster, KNOB_blocks, KNOB_hits};
    static const enum knob switches[] = {KNOB_keep, KNOB_last_block, KNOB_online, KNOB_look_back,
                                         KNOB_shift};
    for (size_t i = 0; i < 5 && dot; i++) c.knob[dots[i]] = 1 << below(9);
    for (size_t i = 0; i < 3 && !dot; i++) c.knob[sizes[i]] = 1 << below(i == 2 ? 5 : 14);
    for (size_t i = 0; i < 5 && !dot; i++)
        if (!below(5)) c.knob[others[i]] = 1 << below(13);
    for (size_t i = 0; i < 5 && !dot; i++) c.knob[switches[i]] = !below(5);
    if (gpu) c.knob[KNOB_warps] = 1 << below(6);
    return c;
}

static bool has_scan(const struct kernel *k) {
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_SCAN) return true;
    return false;
}

/* Is it legal? Its sums are folded then: none is refused for them. Those of a CPU are as short as
 * graph/bound.h says, CPU_CHAIN. */
static bool check_config(const struct kernel *k, const struct config *c, struct arena *a) {
    struct layout y;
    const char *why = kernel_layout(k, c, &y, a);
    if (why && strstr(why, "additions"))
        fail_msg("%s on %s: %s", config_str(a, c), k->limits->arch, why);
    if (!why && k->limits->kind == DEVICE_CPU && k->kind != KERNEL_MATMUL && !has_scan(k))
        assert_true(layout_chain(k, c, &y) <= 64);
    return !why;
}

static void check_graph(const char *text, const struct device_limits *limits) {
    struct arena *a = arena_new();
    struct schedule *s = must_schedule(a, text, "s0=300 s1=100000", limits, false);
    for (uint32_t g = 0; g < s->groups.n; g++) {
        const struct kernel *k = must_build(s, g, limits);
        const struct config *c;
        int n, pruned, legal = 0;
        kernel_configs(k, a, &c, &n, &pruned);
        for (int i = 0; i < n; i++) assert_true(check_config(k, &c[i], a));
        for (int i = 0; i < 1000 && legal < 50; i++) {
            const struct config any = random_config(k);
            legal += check_config(k, &any, a);
        }
    }
    arena_free(a);
}

static const char *const bodies[] = {
    "%%y = sum(%%x, 1)",
    "%%y = sum(%%x, 0)",
    "%%y = sum(%%x)",
    "%%y = prod(%%x, 1)",
    "%%y = m2(%%x, [1])",
    "%%y = expsum(%%x, [0])",
    "%%y = softmax(%%x, 1)",
    "%%y = softmax(%%x, 0)",
    "%%y = var(%%x, 1)",
    "%%y = cumsum(%%x, 1)",
    "%%y = cumsum(%%x, 0)",
    "%%s = sum(%%x, 1, True)\n %%d = sub(%%x, %%s)\n %%m = mul(%%d, %%d)\n %%y = sum(%%m, 0)",
    "%%m = mul(%%x, %%x)\n %%s = sum(%%m, 0)\n %%y = add(%%m, %%s)",
    "%%p = permute(%%x, [1, 0])\n %%y = mm(%%p, %%x)",
};

static void test_chains(void **unused) {
    static const char *const sizes[] = {"1, 268435456", "268435456, 1", "300, 100000",
                                        "100000, 300",  "4096, 4096",   "70000, 1000",
                                        "40, 129",      "s0, s1",       "s1, s0"};
    static const char *const types[] = {"f32", "bf16", "f64"};
    struct device_limits devices[] = {test_gpu("sm_90a"), test_gpu("sm_80"), test_cpu()};
    struct arena *a = arena_new();
    size_t count = 0;
    for (size_t d = 0; d < 3; d++)
        for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
            for (size_t j = (d + i) % PART; j < sizeof sizes / sizeof *sizes; j += PART) {
                struct buf b = buf_new(a);
                bool dot = strstr(bodies[i], "mm") != NULL, long_row = j == 0;
                if (dot && long_row) continue; /* a result of so many squared */
                buf_printf(&b, "graph(%%x: %s[%s]) {\n ", types[count++ % 3], sizes[j]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
                buf_printf(&b, bodies[i]);
#pragma GCC diagnostic pop
                buf_puts(&b, "\n return %y\n}\n");
                check_graph(b.p, &devices[d]);
            }
    arena_free(a);
}

/* What lands on one row may be all there is. */
static void test_landing(void **unused) {
    static const char text[] = "graph(%x: f32[500, 64], %i: i64[100000], %s: f32[100000, 64]) {\n"
                               " %y = index_add(%x, 0, %i, %s)\n return %y\n}\n";
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    check_graph(text, &gpu);
    check_graph(text, &cpu);
}

/* Short sums are left as they are. */
static void test_short(void **unused) {
    struct arena *a = arena_new();
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    for (int d = 0; d < 2; d++) {
        const struct device_limits *limits = d ? &cpu : &gpu;
        struct schedule *s = must_schedule(
            a, "graph(%x: f32[4096, 256]) {\n %y = sum(%x, 1)\n return %y\n}\n", "", limits, false);
        const struct kernel *k = must_build(s, 0, limits);
        const struct config *c;
        struct layout y;
        int n, pruned;
        kernel_configs(k, a, &c, &n, &pruned);
        assert_null(kernel_layout(k, &c[0], &y, a));
        assert_int_equal(layout_row_folds(k, &y).levels, 0);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chains),
                                       cmocka_unit_test(test_landing),
                                       cmocka_unit_test(test_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
