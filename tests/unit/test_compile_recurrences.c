/* Kernels of loops whose elements go their own way: generated CUDA on the emulator, and C on the
 * CPU, against the reference interpreter. The graphs are those of
 * tests/fuzz/cases_recurrences.c. */
#include "generated_test.h"
#include "graph_test.h"
#include "ws_tune.h"

/* No step is a launch, going back neither; but where the gradient of a maximum is looked up by
 * where it was. */
static void test_one_kernel(void **state) {
    struct arena *a = arena_new();
    case_vec all = {0};
    cases_recurrences(a, &all);
    for (uint32_t i = 0; i < all.n; i++) {
        struct ws_captured *c = NEW(a, struct ws_captured);
        struct device_limits *limits = NEW(a, struct device_limits);
        struct diag d = diag_new(a);
        assert_true(device_limits_for_arch("sm_90a", limits));
        *c = (struct ws_captured){.arena = a, .guards = "", .workload = "test"};
        c->graph = must_parse(a, all.at[i].text);
        struct ws_program *p = ws_lower(c, limits, WS_FUSE, NULL, &d);
        if (!p) fail_msg("%s", d.text);
        if (strstr(all.at[i].text, "amax(%n") && strstr(all.at[i].text, "tangent")) continue;
        int recurrences = 0;
        for (int k = 0; k < p->n_kernels; k++)
            recurrences += !strcmp(p->kernels[k].kind, "recurrence");
        if (i == all.n - 1) assert_int_equal(recurrences, 2); /* rather than states in memory */
        for (int k = 0; k < p->n_kernels; k++)
            if (p->kernels[k].loop && strcmp(p->kernels[k].kind, "recurrence"))
                fail_msg("%s is a launch in each step of\n%s", p->kernels[k].name, all.at[i].text);
    }
    arena_free(a);
}

int main(int argc, char **argv) {
    const struct CMUnitTest own[] = {cmocka_unit_test(test_one_kernel)};
    int failed = cmocka_run_group_tests(own, NULL, NULL);
    failed += generated_main(argc, argv, cases_recurrences, 1, "test_emulated", test_emulated);
    return failed + generated_main(argc, argv, cases_recurrences, 1, "test_cpu", test_cpu_device);
}
