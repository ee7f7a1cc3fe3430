/* test_graph_join_pads.c: which sums of pads are concatenations, which must not be, and that no
 * value changes. */
#include "graph_test.h"

static void becomes(const char *body, const char *want) {
    struct arena *a = arena_new();
    must_become(arena_printf(a,
                             "graph(%%x: f32[3, 2], %%y: f32[3, 5], %%z: f32[3, 1], %%w: f32[3, 8])"
                             " {\n%s}\n",
                             body),
                graph_join_pads, want);
    arena_free(a);
}

#define PADS                                                                                       \
    "%p = constant_pad_nd(%x, [0, 6])\n"                                                           \
    "%q = constant_pad_nd(%y, [2, 1])\n"                                                           \
    "%r = constant_pad_nd(%z, [7, 0])\n"

static void test_joins(void **state) {
    becomes(PADS "%s = add(%p, %q)\n%t = add(%s, %r)\nreturn %t\n", "cat");
    becomes(PADS "%s = add(%r, %p)\n%t = add(%q, %s)\nreturn %t\n", "cat");
    becomes("%p = constant_pad_nd(%x, [0, 5])\n%q = constant_pad_nd(%y, [2, 0])\n"
            "%s = add(%p, %q)\n%t = mul(%s, 0.5)\n%u = exp(%t)\nreturn %u\n",
            "mul mul exp exp cat");
    becomes("%p = constant_pad_nd(%x, [0, 5])\n%q = constant_pad_nd(%y, [2, 0])\n"
            "%s = add(%p, %q)\n%t = mul(%s, 0.5)\nreturn %s, %t\n",
            "cat mul");
}

/* They leave a gap, or overlap, or something else is added, or another number or multiple. */
static void test_stays(void **state) {
    becomes(PADS "%s = add(%p, %r)\nreturn %s\n", "constant_pad_nd constant_pad_nd add");
    becomes("%p = constant_pad_nd(%x, [0, 6])\n%q = constant_pad_nd(%y, [1, 2])\n"
            "%s = add(%p, %q)\nreturn %s\n",
            "constant_pad_nd constant_pad_nd add");
    becomes("%p = constant_pad_nd(%x, [0, 6])\n%s = add(%p, %w)\nreturn %s\n",
            "constant_pad_nd add");
    becomes("%p = constant_pad_nd(%x, [0, 5], 1.0)\n%q = constant_pad_nd(%y, [2, 0])\n"
            "%s = add(%p, %q)\nreturn %s\n",
            "constant_pad_nd constant_pad_nd add");
    becomes("%p = constant_pad_nd(%x, [0, 5])\n%q = constant_pad_nd(%y, [2, 0])\n"
            "%s = add(%p, %q, alpha=2)\nreturn %s\n",
            "constant_pad_nd constant_pad_nd mul add");
    becomes("%p = constant_pad_nd(%x, [0, 5, 1, 0])\n%q = constant_pad_nd(%y, [2, 0, 0, 1])\n"
            "%s = add(%p, %q)\nreturn %s\n",
            "constant_pad_nd constant_pad_nd add");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_joins), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
