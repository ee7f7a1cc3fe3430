/* test_graph_one_pass.c: which sums of squares become m2, and of exponentials expsum, and which do
 * not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"

/* Does the decomposed graph have the operator, on a device of this kind? */
static bool finds(const char *op, enum device_kind kind, bool behind, const char *text) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct source src = {"test", text, strlen(text)};
    struct device_limits limits = {
        .kind = kind, .units = 132, .regs_unit = 65536, .smem_block = 227 << 10, .max_cluster = 8};
    struct graph *g = graph_parse(a, exprs_new(a), &src, &d);
    if (!g) fail_msg("%s", d.text);
    g = graph_simplify(graph_decompose(g));
    graph_one_pass(g, &limits, behind);
    g = graph_simplify(g);
    const char *wrong = graph_verify(g, true);
    if (wrong) fail_msg("%s", wrong);
    struct buf b = buf_new(a);
    graph_print(&b, g);
    bool found = strstr(b.p, op) != NULL;
    arena_free(a);
    return found;
}

static bool has(const char *op, enum device_kind kind, const char *text) {
    return finds(op, kind, false, text);
}

/* Of what a product has made, only if asked. */
static void test_behind(void **state) {
    (void)state;
    static const char text[] = "graph(%x: f32[512, 64], %w: f32[64, 4096]) {\n %m = mm(%x, %w)\n"
                               " %r = relu(%m)\n %g = view(%r, [512, 4, 1024])\n"
                               " %v = var(%g, 2)\n %u = var(%x, 1)\n return %v, %u\n}\n";
    assert_true(finds("= m2(%g", DEVICE_CUDA, true, text));
    assert_false(finds("= m2(%x", DEVICE_CUDA, true, text));
    assert_false(finds("= m2(", DEVICE_CUDA, false, text));
    assert_false(finds("= m2(", DEVICE_CPU, true, text));
}

static void test_rows(void **state) {
    (void)state;
    const char *few = "graph(%x: f32[2, 100000]) {\n %v = var(%x, 1)\n return %v\n}\n";
    assert_true(has("= m2(", DEVICE_CUDA, few));
    assert_false(has("= m2(", DEVICE_CPU, few));
    /* many rows that are kept, many that are too long for it, half precision made f32 */
    assert_false(has("= m2(", DEVICE_CUDA,
                     "graph(%x: f32[512, 100000]) {\n %y = layer_norm(%x, "
                     "[100000])\n return %y\n}\n"));
    assert_false(has("= m2(", DEVICE_CUDA,
                     "graph(%x: f32[512, 400000]) {\n %y = layer_norm(%x, "
                     "[400000])\n return %y\n}\n"));
    assert_true(has("= m2(", DEVICE_CUDA,
                    "graph(%x: f32[512, 600000]) {\n %y = layer_norm(%x, "
                    "[600000])\n return %y\n}\n"));
    assert_true(has("= m2(", DEVICE_CUDA,
                    "graph(%x: bf16[16, 8, 600, 600]) {\n %y = batch_norm(%x, "
                    "None, None, training=True)\n return %y\n}\n"));
}

static void test_exponentials(void **state) {
    (void)state;
    const char *few = "graph(%x: f32[2, 100000]) {\n %y = softmax(%x, 1)\n return %y\n}\n";
    assert_true(has("= expsum(", DEVICE_CUDA, few));
    assert_false(has("= expsum(", DEVICE_CPU, few));
    assert_false(has("= expsum(", DEVICE_CUDA,
                     "graph(%x: f32[16, 100000]) {\n %y = softmax(%x, 1)\n return %y\n}\n"));
    /* many rows that a cluster's shared memory keeps, many that are too long for it */
    assert_false(has("= expsum(", DEVICE_CUDA,
                     "graph(%x: f32[512, 400000]) {\n %y = softmax(%x, 1)\n return %y\n}\n"));
    assert_true(has("= expsum(", DEVICE_CUDA,
                    "graph(%x: f32[512, 600000]) {\n %y = softmax(%x, 1)\n return %y\n}\n"));
    /* columns next to each other: a block takes some of the 64 */
    assert_true(has("= expsum(", DEVICE_CUDA,
                    "graph(%x: f32[100000, 64]) {\n %y = softmax(%x, 0)\n return %y\n}\n"));
    assert_false(has("= expsum(", DEVICE_CUDA,
                     "graph(%x: f32[100000, 4096]) {\n %y = softmax(%x, 0)\n return %y\n}\n"));
    /* columns that a cluster hardly keeps, and ones that half of it does */
    assert_true(has("= expsum(", DEVICE_CUDA,
                    "graph(%x: f32[25088, 512]) {\n %y = softmax(%x, 0)\n return %y\n}\n"));
    assert_false(has("= expsum(", DEVICE_CUDA,
                     "graph(%x: f32[16000, 512]) {\n %y = softmax(%x, 0)\n return %y\n}\n"));
    /* another maximum */
    assert_false(has("= expsum(", DEVICE_CUDA,
                     "graph(%x: f32[2, 100000]) {\n %a = amax(%x, 0, True)\n %d = sub(%x, %a)\n"
                     " %e = exp(%d)\n %t = sum(%e, 1)\n return %t\n}\n"));
}

static void test_lookalikes(void **state) {
    static const char *const texts[] = {
        /* not from the mean: of other dimensions, of another tensor, of another count, or doubled
         */
        "graph(%x: f32[2, 100000]) {\n %s = sum(%x, [0], True)\n %m = div(%s, 2)\n"
        " %d = sub(%x, %m)\n %q = mul(%d, %d)\n %v = sum(%q, [1])\n return %v\n}\n",
        "graph(%x: f32[2, 100000], %y: f32[2, 100000]) {\n %s = sum(%y, [1], True)\n"
        " %m = div(%s, 100000)\n %d = sub(%x, %m)\n %q = mul(%d, %d)\n %v = sum(%q, [1])\n"
        " return %v\n}\n",
        "graph(%x: f32[2, 100000]) {\n %s = sum(%x, [1], True)\n %m = div(%s, 99999)\n"
        " %d = sub(%x, %m)\n %q = mul(%d, %d)\n %v = sum(%q, [1])\n return %v\n}\n",
        "graph(%x: f32[2, 100000]) {\n %s = sum(%x, [1], True)\n %m = div(%s, 100000)\n"
        " %d = sub(%x, %m, alpha=2)\n %q = mul(%d, %d)\n %v = sum(%q, [1])\n return %v\n}\n",
        "graph(%x: f32[2, 100000]) {\n %s = sum(%x, [1], True)\n %m = div(%s, 100000)\n"
        " %d = sub(%x, %m)\n %q = mul(%d, %x)\n %v = sum(%q, [1])\n return %v\n}\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (has("= m2(", DEVICE_CUDA, texts[i])) fail_msg("%s", texts[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_behind),
                                       cmocka_unit_test(test_exponentials),
                                       cmocka_unit_test(test_lookalikes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
