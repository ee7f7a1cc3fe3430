/* Joined texts of many kernels, as device_generated hands them to NVRTC on a GPU, compile here too;
 * skipped where there is no NVRTC. */
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_new_gpu),
                                       cmocka_unit_test(test_old_gpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
