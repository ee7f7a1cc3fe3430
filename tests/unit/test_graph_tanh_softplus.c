/* test_graph_tanh_softplus.c: which tanh of a logarithm becomes a quotient, which must not, and
 * that values stay within roundings. */
#include "graph_test.h"

static bool near(double got, double want) {
    if (want != want) return got != got;
    return got == want || fabs(got - want) <= 1e-6 * fabs(want);
}

/* Inputs on both sides of the threshold, and where exp is 0 or infinite. */
static void same_values(const struct graph *g, const struct graph *h) {
    static const double of[] = {-100, -20,  -3, -0.5, 0,   1e-3,     2,
                                15,   19.5, 21, 45,   100, INFINITY, NAN};
    struct value in[MAX_TEST_VALUES], want[MAX_TEST_VALUES], got[MAX_TEST_VALUES];
    random_inputs(g, in);
    for (int64_t i = 0; i < in[0].n; i++) in[0].v[i] = of[i % (int)(sizeof of / sizeof *of)];
    must_eval(g, in, want);
    must_eval(h, in, got);
    for (uint32_t o = 0; o < g->outputs.n; o++)
        for (int64_t i = 0; i < got[o].n; i++) {
            double a = value_number(&got[o], i), b = value_number(&want[o], i);
            if (!near(a, b)) fail_msg("element %d is %a, not %a", (int)i, a, b);
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
    struct graph *h = graph_divide_softplus(g);
    const char *why = graph_verify(h, true);
    if (why) fail_msg("%s\n%s", why, printed(h));
    assert_string_equal(printed(h), printed(graph_simplify(h))); /* nothing is dead */
    assert_string_equal(operators(h), want);
    same_values(g, h);
    arena_free(a);
}

#define X "%x: f32[5, 9]"

static void test_quotients(void **state) {
    becomes(X, "%y = mish(%x)\nreturn %y\n", "minimum exp add mul add div mul");
    becomes("%x: f64[5, 9]", "%y = mish(%x)\nreturn %y\n", "minimum exp add mul add div mul");
    becomes("%x: bf16[5, 9]", "%y = mish(%x)\nreturn %y\n",
            "convert minimum exp add mul add div mul convert");
    becomes(X, "%s = softplus(%x)\n%y = tanh(%s)\nreturn %y\n", "minimum exp add mul add div");
    becomes(X, "%y = mish(%x)\n%z = mish(%y)\nreturn %z\n",
            "minimum exp add mul add div mul minimum exp add mul add div mul");
}

/* Others read the logarithm, the threshold is low, a softplus is scaled; f16 has no exp(40). */
static void test_stays(void **state) {
    becomes(X, "%e = exp(%x)\n%l = log1p(%e)\n%t = tanh(%l)\nreturn %t, %l\n", "exp log1p tanh");
    becomes(X, "%s = softplus(%x, 1, 3)\n%y = tanh(%s)\nreturn %y\n", "exp log1p gt where tanh");
    becomes(X, "%s = softplus(%x, 2)\n%y = tanh(%s)\nreturn %y\n",
            "mul exp log1p gt div where tanh");
    becomes("%x: f16[5, 9]", "%e = exp(%x)\n%l = log1p(%e)\n%t = tanh(%l)\nreturn %t\n",
            "exp log1p tanh");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quotients),
                                       cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
