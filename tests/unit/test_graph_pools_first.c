/* test_graph_pools_first.c: which means of windows move in front of a convolution, which must not,
 * and that values stay the same but for rounding. */
#include "graph_test.h"

static void becomes(const char *body, const char *want) {
    struct arena *a = arena_new();
    struct graph *g = graph_simplify(must_parse(
        a, arena_printf(a,
                        "graph(%%x: f32[2, 6, 8, 8], %%w: f32[4, 6, 1, 1], %%b: f32[4],\n"
                        "      %%v: f32[4, 6, 3, 3], %%h: f16[2, 6, 8, 8], %%u: f16[4, 6, 1, 1],\n"
                        "      %%s: f32[1, 6, 1, 1]) {\n%s}\n",
                        body)));
    struct graph *h = graph_pools_first(g);
    const char *why = graph_verify(h, false);
    if (why) fail_msg("%s\n%s", why, printed(h));
    assert_string_equal(operators(h), want);
    assert_string_equal(printed(h), printed(graph_simplify(h))); /* nothing is dead */
    struct value in[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_stay_near(g, h, in, 1e-9);
    bounds_hold_either_way(graph_pools_either_way(g), g, h, in);
    free_values(in, g->inputs.n);
    arena_free(a);
}

static void test_moves(void **state) {
    becomes("%c = convolution(%x, %w, %b)\n %p = avg_pool(%c, [2])\n return %p\n",
            "avg_pool convolution");
    becomes("%c = convolution(%x, %w)\n %p = avg_pool(%c, [3], stride=[2])\n return %p\n",
            "avg_pool convolution");
    becomes("%r = relu(%x)\n %c = convolution(%r, %w)\n %p = avg_pool(%c, [2])\n"
            " %q = add(%p, 1)\n return %q\n",
            "relu avg_pool convolution add");
}

static void test_stays(void **state) {
    const char *as_it_is = "convolution avg_pool";
    becomes("%c = convolution(%x, %v)\n %p = avg_pool(%c, [2])\n return %p\n", as_it_is);
    becomes("%c = convolution(%x, %w, None, stride=[2])\n %p = avg_pool(%c, [2])\n return %p\n",
            as_it_is);
    becomes("%c = convolution(%x, %w, %b, padding=[1])\n %p = avg_pool(%c, [2])\n return %p\n",
            as_it_is);
    becomes("%c = convolution(%x, %w, %b)\n %p = avg_pool(%c, [2], padding=[1])\n return %p\n",
            as_it_is);
    becomes("%c = convolution(%x, %w, %b)\n"
            " %p = avg_pool(%c, [2], divisor_override=3)\n return %p\n",
            as_it_is);
    becomes("%c = convolution(%h, %u)\n %p = avg_pool(%c, [2])\n return %p\n", as_it_is);
    becomes("%c = convolution(%x, %w)\n %p = avg_pool(%c, [2])\n return %p, %c\n", as_it_is);
    /* six channels of 49 pixels would be stored, for four of 64 */
    becomes("%c = convolution(%x, %w)\n %p = avg_pool(%c, [2], stride=[1])\n return %p\n",
            as_it_is);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
