/* Joined texts of many kernels, as device_generated hands them to NVRTC on a GPU, compile here too,
 * and what text relies on the compiler to merge is merged; skipped where there is no NVRTC. */
#include "graph_test.h"
#include "tests/fuzz/cases.h"
#include "tests/fuzz/drive_impl.h"

enum { GRAPHS = 12 };

static bool the_last(void *ctx, int config, int n) { return config == n - 1; }

static void compile_for(const char *arch, uint32_t from) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct toolchain *t = NULL;
    struct device_limits limits;
    struct drive *b[GRAPHS];
    case_vec graphs = {0};
    variant_vec all = {0};
    struct compiled c;
    if (toolchain_open(DEVICE_CUDA, arch, &env, a, &d, &t) != WS_OK) {
        arena_free(a);
        skip();
    }
    assert_true(device_limits_for_arch(arch, &limits));
    cases_shapes(a, &graphs);
    cases_edges(a, &graphs);
    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct graph *g = must_parse(a, graphs.at[from + i * (graphs.n / GRAPHS)].text);
        b[i] = drive_begin(a, g, drive_inputs(g, 1), &limits, WS_FUSE, &d);
        if (!b[i] || !drive_add_variants(a, &all, b[i], the_last, NULL, &d)) fail_msg("%s", d.text);
    }
    toolchain_compile(t, "variants", drive_join(a, &all, 0, all.n), false, &c);
    if (!c.ok) fail_msg("%s", c.log);
    assert_true(c.size > 0);
    compiled_free(&c);
    for (int i = 0; i < GRAPHS; i++) drive_end(b[i]);
    toolchain_close(t);
    arena_free(a);
}

static void test_new_gpu(void **state) { compile_for("sm_90a", 0); }
static void test_old_gpu(void **state) { compile_for("sm_80", 1); }

/* PTX of the first kernel's default config. */
static const char *ptx_of(struct arena *a, const char *text, struct config *config) {
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct toolchain *t = NULL;
    struct device_limits limits;
    variant_vec all = {0};
    struct compiled c;
    if (toolchain_open(DEVICE_CUDA, "sm_90a", &env, a, &d, &t) != WS_OK) {
        arena_free(a);
        skip();
    }
    assert_true(device_limits_for_arch("sm_90a", &limits));
    struct graph *g = must_parse(a, text);
    struct drive *b = drive_begin(a, g, drive_inputs(g, 1), &limits, WS_FUSE, &d);
    if (!b || !drive_add_variants(a, &all, b, NULL, NULL, &d)) fail_msg("%s", d.text);
    toolchain_compile(t, "variant", drive_join(a, &all, 0, 1), true, &c);
    if (!c.ok) fail_msg("%s", c.log);
    const char *ptx = arena_strdup(a, c.ptx);
    *config = all.at[0].config;
    compiled_free(&c);
    drive_end(b);
    toolchain_close(t);
    return ptx;
}

static int occurrences(const char *text, const char *of) {
    int n = 0;
    for (; (text = strstr(text, of)); text++) n++;
    return n;
}

/* Four neighbours are drawn by one generator of ten rounds, each with this factor once. */
static void test_random_blocks(void **state) {
    struct arena *a = arena_new();
    struct config c;
    const char *ptx = ptx_of(a,
                             "graph(%x: bf16[512, 4096]) {\n %r = rand_like(%x)\n"
                             " %k = ge(%r, 0.1)\n %y = mul(%x, %k)\n return %y\n}\n",
                             &c);
    int elements = c.knob[KNOB_x] * c.knob[KNOB_r] / (32 * c.knob[KNOB_warps]);
    int rounds = occurrences(ptx, "3528531795");
    assert_true(elements >= 4);
    assert_in_range(rounds, 1, 10 * elements / 4);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_new_gpu),
                                       cmocka_unit_test(test_old_gpu),
                                       cmocka_unit_test(test_random_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
