/* test_graph_scans_last.c: which scans move behind a concatenation, which must not, and that no
 * value changes. */
#include "graph_test.h"

static void same_values(const struct graph *g, const struct graph *h) {
    struct value in[MAX_TEST_VALUES], want[MAX_TEST_VALUES], got[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_eval(g, in, want);
    must_eval(h, in, got);
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        assert_int_equal(got[o].n, want[o].n);
        for (int64_t i = 0; i < got[o].n; i++)
            assert_true(value_number(&got[o], i) == value_number(&want[o], i));
    }
    free_values(in, g->inputs.n);
    free_values(want, g->outputs.n);
    free_values(got, h->outputs.n);
}

static void becomes(const char *inputs, const char *body, const char *want) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    const char *text = arena_printf(a, "graph(%s) {\n%s}\n", inputs, body);
    struct graph *g = graph_parse(a, exprs_new(a), test_source(a, text), &d);
    if (!g) fail_msg("%s", d.text);
    g = graph_simplify(graph_decompose(graph_simplify(g)));
    struct graph *h = graph_scans_last(g);
    const char *why = graph_verify(h, true);
    if (why) fail_msg("%s\n%s", why, printed(h));
    assert_string_equal(printed(h), printed(graph_simplify(h))); /* nothing is dead */
    assert_string_equal(operators(h), want);
    same_values(g, h);
    arena_free(a);
}

#define X "%x: f32[5, 9]"
#define ZEROS "%z = full([5, 1], 0.0)\n"

static void test_moves(void **state) {
    becomes(X, ZEROS "%c = cumsum(%x, 1)\n%y = cat([%z, %c], 1)\nreturn %y\n", "full cat cumsum");
    becomes(X,
            ZEROS "%n = slice(%x, 1, 0, 8)\n%c = cumsum(%n, 1)\n%y = cat([%z, %c], -1)\n"
                  "%e = exp(%y)\nreturn %e\n",
            "full slice cat cumsum exp");
    becomes(X, "%o = full([5, 2], 1.0)\n%c = cumprod(%x, 1)\n%y = cat([%o, %c], 1)\nreturn %y\n",
            "full cat cumprod");
    becomes(X, ZEROS "%c = cumsum(%x, 1)\n%y = cat([%z, %z, %c], 1)\nreturn %y\n",
            "full cat cumsum");
    becomes("%x: i32[5, 9]",
            "%z = full([5, 1], 0)\n%c = cumsum(%x, 1)\n%y = cat([%z, %c], 1)\nreturn %y\n",
            "full convert cat cumsum");
}

/* Others read it, it stands elsewhere, goes along another axis, or begins with other numbers. */
static void test_stays(void **state) {
    becomes(X, ZEROS "%c = cumsum(%x, 1)\n%y = cat([%z, %c], 1)\nreturn %y, %c\n",
            "full cumsum cat");
    becomes(X, ZEROS "%c = cumsum(%x, 1)\n%y = cat([%c, %z], 1)\nreturn %y\n", "full cumsum cat");
    becomes(X, ZEROS "%c = cumsum(%x, 0)\n%y = cat([%z, %c], 1)\nreturn %y\n", "full cumsum cat");
    becomes(X, ZEROS "%c = cumprod(%x, 1)\n%y = cat([%z, %c], 1)\nreturn %y\n", "full cumprod cat");
    becomes(X, "%o = full([5, 1], 1.0)\n%c = cumsum(%x, 1)\n%y = cat([%o, %c], 1)\nreturn %y\n",
            "full cumsum cat");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
