/* test_graph_totals_first.c: which sums and means of a convolution's result are taken of what it
 * reads, which are not, and that values stay the same but for rounding. */
#include "graph_test.h"

static struct graph *parsed(struct arena *a, const char *body) {
    return graph_simplify(must_parse(
        a, arena_printf(a,
                        "graph(%%x: f32[2, 6, 9, 8], %%w: f32[4, 6, 3, 3], %%b: f32[4],\n"
                        "      %%t: f32[6, 4, 3, 4], %%u: f32[6, 2, 3, 3], %%g: f32[4, 3, 3, 2],\n"
                        "      %%l: f32[2, 6, 20], %%k: f32[4, 6, 3],\n"
                        "      %%d: f32[2, 4, 5, 6, 7], %%v: f32[4, 3, 2, 3, 3],\n"
                        "      %%h: f16[2, 6, 9, 8], %%q: f16[4, 6, 3, 3]) {\n%s}\n",
                        body)));
}

static void becomes(const char *body, const char *want) {
    struct arena *a = arena_new();
    struct graph *g = parsed(a, body), *h = graph_totals_first(g, 1);
    const char *why = graph_verify(h, false);
    if (why) fail_msg("%s\n%s", why, printed(h));
    assert_string_equal(operators(h), want);
    struct value in[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_stay_near(g, h, in, 1e-6);
    bounds_hold_either_way(graph_totals_either_way(g, 1), g, h, in);
    free_values(in, g->inputs.n);
    arena_free(a);
}

/* Of three taps one reads all at one end, one all at the other, and one all but the last of both.
 */
#define EDGE "slice sum add "
#define EDGES "slice sum " EDGE EDGE EDGE EDGE "cat "

static void test_moves(void **state) {
    becomes("%c = convolution(%x, %w, %b)\n %m = mean(%c, [2, 3])\n return %m\n",
            EDGES EDGES "mul convolution mean");
    becomes("%c = convolution(%x, %w, %b, padding=[1])\n %m = sum(%c, [3], keepdim=True)\n"
            " return %m\n",
            "mul " EDGES "convolution sum");
    becomes("%c = convolution(%x, %w)\n %m = mean(%c)\n return %m\n",
            EDGES EDGES "mul convolution mean");
    becomes("%c = convolution(%l, %k, %b, padding=[2], dilation=[2], spatial=1)\n"
            " %m = adaptive_avg_pool(%c, [1])\n return %m\n",
            EDGES "mul convolution adaptive_avg_pool");
    becomes("%c = convolution(%x, %g, None, padding=[0, 1], groups=2)\n"
            " %n = mul(%c, 3)\n %o = sub(%n, 1.5)\n %m = mean(%o, [2])\n return %m\n",
            EDGES "mul convolution mul sub mean");
}

/* Without padding all taps of a transposed one read all of the input. */
static void test_transposed(void **state) {
    becomes("%c = convolution(%x, %t, %b, transposed=True)\n %m = mean(%c, [2, 3])\n return %m\n",
            "sum mul expand convolution mean");
    becomes("%c = convolution(%x, %t, %b, stride=[2], padding=[1], output_padding=[1],"
            " transposed=True)\n %m = mean(%c, [2, 3])\n return %m\n",
            "slice sum " EDGE EDGE EDGE "cat slice sum " EDGE EDGE "cat mul convolution mean");
    becomes("%c = convolution(%x, %u, None, stride=[3, 1], padding=[2, 0], dilation=[2, 1],"
            " transposed=True, groups=2)\n %m = sum(%c, [2])\n return %m\n",
            "slice sum " EDGE EDGE EDGE EDGE "cat convolution sum");
    becomes("%c = convolution(%d, %v, None, padding=[1], transposed=True, spatial=3)\n"
            " %m = mean(%c, [2], keepdim=True)\n return %m\n",
            "slice sum " EDGE EDGE "cat mul convolution mean");
}

static void test_pools(void **state) {
    const char *wide = "constant_pad_nd avg_pool convolution";
    becomes("%c = convolution(%x, %w, %b)\n %m = avg_pool(%c, [2])\n return %m\n", wide);
    becomes("%c = convolution(%x, %g, None, padding=[2, 0], groups=2)\n"
            " %m = avg_pool(%c, [3, 2], stride=[3, 2])\n return %m\n",
            wide);
    becomes("%c = convolution(%x, %w, %b)\n %s = sum(%b)\n %n = mul(%c, %s)\n"
            " %o = add(%s, %n)\n %m = avg_pool(%o, [3], stride=[2])\n return %m\n",
            "sum constant_pad_nd avg_pool convolution mul add");
    becomes("%c = convolution(%l, %k, spatial=1)\n %m = avg_pool(%c, [4], spatial=1)\n"
            " return %m\n",
            wide);
}

/* All phases of a transposed one at once; results of which the pool's windows leave the last. */
static void test_transposed_pools(void **state) {
    const char *wide = "constant_pad_nd avg_pool slice slice convolution";
    becomes("%c = convolution(%x, %t, %b, stride=[2], padding=[1], transposed=True)\n"
            " %m = avg_pool(%c, [2])\n return %m\n",
            wide);
    becomes("%c = convolution(%x, %u, %b, stride=[3], transposed=True, groups=2)\n"
            " %m = avg_pool(%c, [3])\n return %m\n",
            wide);
    becomes("%c = convolution(%x, %t, None, stride=[2, 3], transposed=True)\n"
            " %m = avg_pool(%c, [2, 3])\n return %m\n",
            "constant_pad_nd avg_pool slice slice convolution slice slice");
    becomes("%c = convolution(%d, %v, None, stride=[2], padding=[0, 1, 1], transposed=True,"
            " spatial=3)\n %m = avg_pool(%c, [2], spatial=3)\n return %m\n",
            "constant_pad_nd avg_pool slice slice slice convolution");
}

static void test_pools_stay(void **state) {
    const char *as_it_is = "convolution avg_pool";
    becomes("%c = convolution(%x, %w)\n %m = avg_pool(%c, [2], stride=[1])\n return %m\n",
            as_it_is);
    becomes("%c = convolution(%x, %w)\n %m = avg_pool(%c, [2], padding=[1])\n return %m\n",
            as_it_is);
    becomes("%c = convolution(%x, %w)\n %m = avg_pool(%c, [2], ceil_mode=True)\n return %m\n",
            as_it_is);
    becomes("%c = convolution(%x, %w, None, stride=[2])\n %m = avg_pool(%c, [2])\n return %m\n",
            as_it_is);
    becomes("%c = convolution(%x, %w, None, dilation=[2])\n %m = avg_pool(%c, [2])\n"
            " return %m\n",
            as_it_is);
    becomes("%c = convolution(%x, %t, None, stride=[2], transposed=True)\n"
            " %m = avg_pool(%c, [3])\n return %m\n",
            as_it_is);
    becomes("%c = convolution(%x, %w)\n %m = avg_pool(%c, [2])\n return %m, %c\n", as_it_is);
    becomes("%c = convolution(%h, %q)\n %m = avg_pool(%c, [2])\n return %m\n", as_it_is);
}

static void test_stays(void **state) {
    becomes("%c = convolution(%x, %w)\n %m = mean(%c, [1])\n return %m\n", "convolution mean");
    becomes("%c = convolution(%x, %w)\n %m = mean(%c, [2])\n return %m, %c\n", "convolution mean");
    becomes("%c = convolution(%x, %w, None, stride=[2])\n %m = mean(%c, [2])\n return %m\n",
            "convolution mean");
    becomes("%c = convolution(%x, %w)\n %n = relu(%c)\n %m = mean(%n, [2])\n return %m\n",
            "convolution relu mean");
    becomes("%c = convolution(%x, %w)\n %n = add(%c, 1)\n %m = sum(%n, [2])\n return %m\n",
            "convolution add sum");
    becomes("%c = convolution(%h, %q)\n %m = mean(%c, [2])\n return %m\n", "convolution mean");
}

static void test_small_ones_stay(void **state) {
    struct arena *a = arena_new();
    struct graph *g = parsed(a, "%c = convolution(%x, %w)\n %m = mean(%c, [2])\n return %m\n");
    assert_ptr_equal(graph_totals_first(g, 2 * 4 * 7 * 6 * 6 * 9 + 1), g);
    assert_ptr_not_equal(graph_totals_first(g, 2 * 4 * 7 * 6 * 6 * 9), g);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),           cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_pools),           cmocka_unit_test(test_transposed_pools),
        cmocka_unit_test(test_pools_stay),      cmocka_unit_test(test_stays),
        cmocka_unit_test(test_small_ones_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
