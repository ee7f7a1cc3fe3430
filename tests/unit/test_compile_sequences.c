/* test_compile_sequences.c: which kernels of a program are one launch (compiler/sequences.c), and
 * which of these are the same. */
#include "graph_test.h"
#include "kernel/kernel.h"
#include "ws_tune.h"

static struct ws_program *program_of(struct arena *a, const char *text) {
    struct ws_captured *c = NEW(a, struct ws_captured);
    struct device_limits *limits = NEW(a, struct device_limits);
    struct diag d = diag_new(a);
    assert_true(device_limits_for_arch("sm_90a", limits));
    limits->sequences = true;
    *c = (struct ws_captured){.arena = a, .guards = "", .workload = "test"};
    c->graph = must_parse(a, text);
    struct ws_program *p = ws_lower(c, limits, WS_FUSE, NULL, &d);
    if (!p) fail_msg("%s", d.text);
    return p;
}

/* Parts of the same texts, of which the last reads what the first does, or another one. */
#define WIRED(last)                                                                                \
    "graph(%x: f32[32, 32], %y: f32[32, 32]) {\n %q = mul(%x, %x)\n %m = mean(%q, [0], True)\n"    \
    " %c = sub(%y, %m)\n %s = softmax(%c, 1)\n %t = amax(%s, [0], True)\n"                         \
    " %z = sub(" last ", %t)\n %r = sum(%z, 1)\n return %r\n}\n"

static void test_hash_says_what_is_shared(void **state) {
    struct arena *a = arena_new();
    const struct ws_program *one = program_of(a, WIRED("%x")), *again = program_of(a, WIRED("%x")),
                            *other = program_of(a, WIRED("%y"));
    assert_int_equal(one->n_kernels, 1);
    assert_int_equal(other->n_kernels, 1);
    const struct ws_kernel *k = one->kernels, *o = other->kernels;
    assert_string_equal(k->kind, "sequence");
    assert_int_equal(k->n_parts, o->n_parts);
    assert_string_equal(k->hash, again->kernels[0].hash);
    assert_string_not_equal(k->hash, o->hash);
    arena_free(a);
}

/* Where two kernels store pieces of a whole, nobody who reads that is in one launch with them. */
static void test_wholes_are_read_behind(void **state) {
    struct arena *a = arena_new();
    const struct ws_program *p = program_of(
        a, "graph(%x: f32[24, 64], %y: f32[40, 64]) {\n %a = cumsum(%x, 0)\n %b = cumsum(%y, 0)\n"
           " %c = cat([%a, %b], 0)\n %v = view(%c, [4, 32, 32])\n"
           " %z = cumsum(%v, 1)\n %u = cumsum(%z, 0)\n return %c, %u\n}\n");
    int wholes = 0;
    for (int b = 0; b < p->n_buffers; b++) wholes += p->buffers[b].kind == WS_BUF_WINDOW;
    assert_int_equal(wholes, 2);
    for (int k = 0; k < p->n_kernels; k++)
        for (int i = 0; i < p->kernels[k].n_reads && p->kernels[k].n_parts; i++)
            for (int b = 0; b < p->n_buffers; b++) {
                size_t from;
                if (p->buffers[b].kind == WS_BUF_WINDOW)
                    assert_int_not_equal(p->kernels[k].reads[i], ws_window_at(p, b, 0, &from));
            }
    arena_free(a);
}

/* Kernels that need nothing of each other are one launch where that is most of what they take. */
static void test_small_ones_beside(void **state) {
    static const struct { int n, kernels; } cases[] = {{16, 1}, {700, 2}};
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = cases[i].n;
        const struct ws_program *p = program_of(
            a, arena_printf(a,
                            "graph(%%x: f32[%d, %d], %%y: f32[%d, %d]) {\n %%a = sum(%%x, 1)\n"
                            " %%b = amax(%%y, [0])\n return %%a, %%b\n}\n",
                            n, n, n, n + 1));
        assert_int_equal(p->n_kernels, cases[i].kernels);
    }
    arena_free(a);
}

/* What lands by an index is compared with each place there, if these are few pairs. */
static void test_few_that_land(void **state) {
    static const struct {
        int sources, places, kernels;
    } cases[] = {{256, 256, 1}, {8192, 4096, 2}};
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = cases[i].sources, places = cases[i].places;
        const struct ws_program *p = program_of(
            a, arena_printf(a,
                            "graph(%%x: f32[%d], %%t: f32[%d], %%i: i64[%d]) {\n"
                            " %%z = zeros(size=[%d], dtype=f32)\n"
                            " %%a = index_add(%%z, dim=0, index=%%i, source=%%x, alpha=1)\n"
                            " %%b = index_select(%%t, dim=0, index=%%i)\n return %%a, %%b\n}\n",
                            n, places, n, places));
        assert_int_equal(p->n_kernels, cases[i].kernels);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hash_says_what_is_shared),
                                       cmocka_unit_test(test_wholes_are_read_behind),
                                       cmocka_unit_test(test_small_ones_beside),
                                       cmocka_unit_test(test_few_that_land)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
