/* test_graph_wide_filters.c: of which convolutions neighbouring outputs become filters, that values
 * stay the same, and that what each way takes is asked. */
#include "graph_test.h"

static bool has_op(const struct graph *g, enum op op) {
    bool any = false;
    for (uint32_t i = 0; i < g->nodes.n; i++) any |= g->nodes.at[i].op == op;
    return any;
}

/* us: of filters beside each other, and of others, in thousandths of what those take. */
static double wide_takes(struct graph *g, void *ctx) {
    const int *thousandths = ctx;
    assert_null(graph_verify(g, false));
    return has_op(g, OP_CAT) ? *thousandths : 1000;
}

static struct graph *parsed(struct arena *a, const char *body) {
    return graph_simplify(must_parse(
        a, arena_printf(a,
                        "graph(%%x: f32[2, 16, 9, 8], %%w: f32[4, 16, 5, 7], %%b: f32[4],\n"
                        "      %%t: f32[16, 4, 3, 5], %%g: f32[4, 8, 5, 7],\n"
                        "      %%l: f32[2, 16, 24], %%k: f32[4, 16, 9], %%o: f32[16, 24],\n"
                        "      %%d: f32[2, 16, 5, 6, 7], %%v: f32[16, 4, 3, 3, 5],\n"
                        "      %%m: f32[96, 16, 5, 7], %%h: f16[2, 16, 9, 8],\n"
                        "      %%q: f16[4, 16, 5, 7]) {\n%s}\n",
                        body)));
}

/* The convolution has `filters`, and values are what they were. */
static void becomes(const char *body, int64_t filters) {
    struct arena *a = arena_new();
    int less = 500;
    struct graph *g = parsed(a, body), *h = graph_widen_filters(g, 1, wide_takes, &less);
    const char *why = graph_verify(h, false);
    if (why) fail_msg("%s\n%s", why, printed(h));
    for (uint32_t i = 0; i < h->nodes.n; i++) {
        const struct node *n = &h->nodes.at[i];
        if (n->op != OP_CONVOLUTION) continue;
        int dim = n->meta.rank - (int)ex_value(h->ex, n->args[9].i) - 1;
        assert_int_equal(ex_value(h->ex, n->meta.size[dim]), filters);
    }
    struct value in[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_stay_near(g, h, in, 1e-6);
    free_values(in, g->inputs.n);
    arena_free(a);
}

static void test_plain(void **state) {
    becomes("%c = convolution(%x, %w, %b, padding=[2, 3])\n return %c\n", 4 * 3 * 8);
    becomes("%c = convolution(%x, %w, None, padding=[2, 1])\n return %c\n", 4 * 3 * 4);
    becomes("%c = convolution(%x, %w, %b, stride=[2, 1], padding=[3, 3])\n return %c\n", 4 * 2 * 8);
    becomes("%c = convolution(%l, %k, %b, padding=[4], spatial=1)\n return %c\n", 4 * 8);
    becomes("%c = convolution(%o, %k, %b, padding=[4], spatial=1)\n return %c\n", 4 * 8);
}

static void test_transposed(void **state) {
    becomes("%c = convolution(%x, %t, %b, transposed=True)\n return %c\n", 4 * 1 * 6);
    becomes("%c = convolution(%d, %v, %b, padding=[1, 0, 1], transposed=True, spatial=3)\n"
            " %r = relu(%c)\n return %r, %c\n",
            4 * 5 * 2 * 3);
}

static void test_stays(void **state) {
    becomes("%c = convolution(%x, %w, %b, dilation=[1, 1], padding=[1, 3])\n return %c\n",
            4 * 7 * 4);
    becomes("%c = convolution(%x, %w, %b, padding=[2, 3], dilation=[2, 1])\n return %c\n", 4);
    becomes("%c = convolution(%x, %g, None, padding=[2, 3], groups=2)\n return %c\n", 4);
    becomes("%c = convolution(%x, %t, None, stride=[2], transposed=True)\n return %c\n", 4);
    becomes("%c = convolution(%x, %t, None, padding=[3, 5], transposed=True)\n return %c\n", 4);
    becomes("%c = convolution(%x, %m, None, padding=[2, 3])\n return %c\n", 96);
    becomes("%c = convolution(%h, %q, None, padding=[2, 3])\n return %c\n", 4);
}

/* Of a depth of 240 zeros make none of 512, from which on pairs of f16 are as exact as f32. */
static void test_depth_counts(void **state) {
    becomes("%c = convolution(%x, %t, None, padding=[1, 2], transposed=True)\n return %c\n",
            4 * 3 * 2);
}

static void test_is_asked(void **state) {
    struct arena *a = arena_new();
    struct graph *g = parsed(a, "%c = convolution(%x, %w, padding=[2, 3])\n return %c\n");
    int more = 920, less = 850;
    assert_ptr_equal(graph_widen_filters(g, 1, wide_takes, &more), g);
    assert_ptr_not_equal(graph_widen_filters(g, 1, wide_takes, &less), g);
    double work = 2.0 * 4 * 9 * 8 * 16 * 5 * 7;
    assert_ptr_equal(graph_widen_filters(g, work + 1, wide_takes, &less), g);
    assert_ptr_not_equal(graph_widen_filters(g, work, wide_takes, &less), g);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),    cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_stays),    cmocka_unit_test(test_depth_counts),
        cmocka_unit_test(test_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
