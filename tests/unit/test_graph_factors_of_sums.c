/* test_graph_factors_of_sums.c: which factors are taken of a reduction, which stay, and that values
 * are the same but for rounding. */
#include "graph_test.h"

/* As a GPU's rows that are too few have it: small ones are too long to be kept. */
static const struct device_limits gpu = {
    .kind = DEVICE_CUDA, .units = 132, .regs_unit = 64, .smem_block = 4200, .max_cluster = 1};

static struct graph *primitive(struct arena *a, const char *text) {
    struct diag d = diag_new(a);
    struct graph *g = graph_parse(a, exprs_new(a), test_source(a, text), &d);
    if (!g) fail_msg("%s", d.text);
    g = graph_simplify(graph_decompose(graph_simplify(g)));
    graph_one_pass(g, &gpu, false);
    return graph_simplify(g);
}

static void same_values(const struct graph *g, const struct graph *h) {
    struct value in[MAX_TEST_VALUES], want[MAX_TEST_VALUES], got[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_eval(g, in, want);
    must_eval(h, in, got);
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        assert_int_equal(got[o].n, want[o].n);
        for (int64_t i = 0; i < got[o].n; i++) {
            double x = value_number(&got[o], i), y = value_number(&want[o], i);
            if (isnan(x) && isnan(y)) continue;
            if (!(fabs(x - y) <= 1e-2 * (1e-2 + fabs(y))))
                fail_msg("element %lld is %g, not %g, of\n%s", (long long)i, x, y, printed(h));
        }
    }
    free_values(in, g->inputs.n);
    free_values(want, g->outputs.n);
    free_values(got, h->outputs.n);
}

/* What is computed of %y, which is %x times a factor of its rows, or of all. */
static const char rows[] =
    "graph(%x: f32[3, 400]) {\n %q = mul(%x, %x)\n %m = mean(%q, [1], True)\n"
    " %s = rsqrt(%m)\n %y = mul(%x, %s)\n",
                  all[] = "graph(%x: f32[3, 400]) {\n %q = mul(%x, %x)\n %m = mean(%q)\n"
                          " %s = sub(1, %m)\n %y = div(%x, %s)\n",
                  halves[] = "graph(%x: bf16[3, 400]) {\n %f = float(%x)\n %q = mul(%f, %f)\n"
                             " %m = mean(%q, [1], True)\n %k = rsqrt(%m)\n %s = to(%k, bf16)\n"
                             " %y = mul(%x, %s)\n";

/* Is there a reduction of %y still? */
static void judge(const char *head, const char *body, bool stays) {
    struct arena *a = arena_new();
    struct graph *g = primitive(a, arena_printf(a, "%s%s}\n", head, body));
    struct graph *h = graph_factors_of_sums(g, &gpu);
    const char *why = graph_verify(h, true);
    if (why) fail_msg("%s\n%s", why, printed(h));
    bool is = h == g;
    if (is != stays) fail_msg("it %s:\n%s", is ? "stayed" : "went", printed(h));
    same_values(g, h);
    arena_free(a);
}

static void test_goes(void **state) {
    (void)state;
    judge(rows, " %r = sum(%y, [1])\n return %r\n", false);
    judge(rows, " %r = amin(%y, [1], True)\n return %r, %y\n", false);
    judge(rows, " %t = mul(%y, %y)\n %r = sum(%t, [1])\n return %r\n", false);
    judge(rows, " %r = var(%y, [1])\n return %r\n", false);
    judge(all, " %r = sum(%y, [0])\n %a = amax(%y, [1], True)\n return %r, %a\n", false);
    judge(all, " %t = mul(%y, %y)\n %r = sum(%t)\n return %r\n", false);
    judge(halves, " %r = amax(%y, [1])\n return %r\n", false);
    judge(halves, " %g = to(%y, f32)\n %r = sum(%g, [1])\n return %r\n", false);
}

/* Infinite elements and factors of 0 leave NaN in extrema; squares of x * s are in range where x's
 * are not. */
static void test_ends(void **state) {
    (void)state;
    static const char infinite[] =
        "graph(%x: f32[3, 400]) {\n %b = abs(%x)\n %m = mean(%b, [1], True)\n"
        " %l = lt(%x, 0)\n %z = where(%l, -inf, %x)\n %c = add(%m, -inf)\n"
        " %s = reciprocal(%c)\n %y = mul(%z, %s)\n";
    judge(infinite, " %r = amax(%y, [1])\n %q = amin(%y, [1])\n return %r, %q\n", false);
    static const char large[] = "graph(%x: f32[3, 400]) {\n %z = mul(%x, 1e+25)\n %b = abs(%z)\n"
                                " %s = amax(%b, [1], True)\n %y = div(%z, %s)\n";
    judge(large, " %t = mul(%y, %y)\n %r = sum(%t, [1])\n return %r\n", true);
    judge(large, " %r = var(%y, [1])\n return %r\n", true);
    static const char small[] =
        "graph(%x: f32[3, 400]) {\n %z = mul(%x, 1e-20)\n %b = mul(%z, %z)\n"
        " %m = mean(%b, [1], True)\n %s = rsqrt(%m)\n %y = mul(%z, %s)\n";
    judge(small, " %t = mul(%y, %y)\n %r = sum(%t, [1])\n return %r\n", false);
}

/* A factor that varies along what is reduced; an extremum that is compared; a sum of 16 bits; what
 * waits as long itself; factors that nobody waits for. */
static void test_stays(void **state) {
    (void)state;
    judge(rows, " %r = sum(%y, [0])\n return %r\n", true);
    judge(rows, " %r = amax(%y, [1], True)\n %e = eq(%y, %r)\n return %e\n", true);
    judge(rows, " %r = amax(%y, [1])\n %u = unsqueeze(%r, 1)\n %e = ge(%u, %x)\n return %e\n",
          true);
    judge(rows, " %r = amax(%y, [1], True)\n %d = sub(%y, %r)\n %e = ge(%d, 0)\n return %e\n",
          true);
    judge(halves, " %r = sum(%y, [1])\n return %r\n", true);
    judge(rows, " %c = sub(%x, %m)\n %z = mul(%c, %s)\n %r = amax(%z, [1])\n return %r\n", true);
    judge("graph(%x: f32[3, 400], %s: f32[3, 1]) {\n %y = mul(%x, %s)\n",
          " %r = sum(%y, [1])\n return %r\n", true);
    judge("graph(%x: f32[300, 4]) {\n %m = mean(%x, [1], True)\n %y = mul(%x, %m)\n",
          " %r = sum(%y, [1])\n return %r\n", true); /* a row is kept */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_goes), cmocka_unit_test(test_ends),
                                       cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
