/* test_graph_scales_last.c: which factors are scaled behind their product, and that values stay. */
#include "graph_test.h"

/* The operators become `want`, and values are what they were. */
static void becomes(const char *type, const char *body, const char *want) {
    struct arena *a = arena_new();
    struct graph *g =
        must_parse(a, arena_printf(a, "graph(%%x: %s[2, 8, 12], %%k: %s[2, 4, 8]) {\n%s}\n", type,
                                   type, body));
    struct graph *h = graph_simplify(graph_scales_last(g));
    const char *why = graph_verify(h, true);
    if (why) fail_msg("%s\n%s", why, printed(h));
    assert_string_equal(operators(h), want);
    struct value in[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_stay_near(g, h, in, 1e-5);
    free_values(in, g->inputs.n);
    arena_free(a);
}

#define SLICE "%q = slice(%x, dim=2, start=4, end=8)\n"
#define HALF SLICE "%m = mul(%q, 0.5)\n"

static void test_behind(void **state) {
    becomes("f32", HALF "%s = bmm(%m, %k)\n return %s\n", "slice bmm mul");
    becomes("bf16", HALF "%s = bmm(%m, %k)\n return %s\n", "slice bmm mul");
    becomes("f32", SLICE "%m = div(%q, 8)\n%s = bmm(%m, %k)\n return %s\n", "slice bmm mul");
    /* numbers of both factors are one, and views are on the way */
    becomes("f32",
            HALF "%v = view(%m, [2, 4, 8])\n%l = mul(%k, 3)\n%t = permute(%l, [0, 2, 1])\n"
                 "%s = bmm(%v, %t)\n%e = neg(%s)\n return %e\n",
            "slice view permute bmm mul neg");
    /* all who read it are products */
    becomes("f32",
            HALF "%t = permute(%m, [0, 2, 1])\n%s = bmm(%m, %k)\n%u = bmm(%t, %s)\n"
                 " return %s, %u\n",
            "slice permute bmm mul bmm mul");
}

static void test_stays(void **state) {
    /* f16 may be scaled so that nothing overflows */
    becomes("f16", HALF "%s = bmm(%m, %k)\n return %s\n", "slice mul bmm");
    /* it is wanted itself, or made along with what is computed anyway */
    becomes("f32", HALF "%s = bmm(%m, %k)\n return %s, %m\n", "slice mul bmm");
    becomes("f32", HALF "%e = exp(%m)\n%s = bmm(%m, %k)\n return %s, %e\n", "slice mul exp bmm");
    becomes("f32", SLICE "%e = exp(%q)\n%m = mul(%e, 0.5)\n%s = bmm(%m, %k)\n return %s\n",
            "slice exp mul bmm");
    /* no number */
    becomes("f32", SLICE "%m = mul(%q, %q)\n%s = bmm(%m, %k)\n return %s\n", "slice mul bmm");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_behind), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
