/* test_graph_phases.c: transposed convolutions with strides are dense ones after decomposition,
 * that compute the same from the terms that there are and no others. */
#include "graph_test.h"

/* Some of the numbers are infinite: a term that is not there makes no NaN of them. */
static void put_infinities(const struct graph *g, struct value *in) {
    for (uint32_t k = 0; k < g->inputs.n; k++)
        for (int64_t i = 0; i < in[k].n; i++)
            if (random_uniform(5, k, (uint64_t)i) < 0.05) in[k].v[i] = INFINITY;
}

static void same_values(const struct graph *g, const struct graph *h, bool infinities) {
    struct value in[MAX_TEST_VALUES], want[MAX_TEST_VALUES], got[MAX_TEST_VALUES];
    random_inputs(g, in);
    if (infinities) put_infinities(g, in);
    must_eval(g, in, want);
    must_eval(h, in, got);
    assert_int_equal(got->n, want->n);
    for (int64_t i = 0; i < got->n; i++) {
        double x = value_number(got, i), y = value_number(want, i);
        if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= 1e-5 * (1 + fabs(y))))
            fail_msg("element %lld is %g, not %g, of\n%s", (long long)i, x, y, printed(h));
    }
    free_values(in, g->inputs.n);
    free_values(want, g->outputs.n);
    free_values(got, h->outputs.n);
}

/* What is left has no strides. How many products it adds up, for all outputs. */
static int64_t terms_of(const struct graph *g) {
    int64_t terms = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const struct node *n = &g->nodes.at[i];
        if (n->op != OP_CONVOLVE) continue;
        const struct meta *w = &g->nodes.at[n->args[1].node].meta;
        int64_t each = ex_value(g->ex, meta_numel(g->ex, &n->meta));
        for (uint32_t d = 0; d < n->args[2].ints.n; d++)
            assert_int_equal(ex_value(g->ex, n->args[2].ints.at[d]), 1);
        for (int d = 2; d < w->rank; d++) each *= ex_value(g->ex, w->size[d]);
        terms += each;
    }
    return terms;
}

static struct graph *dense(struct graph *g) {
    struct device_limits gpu;
    assert_true(device_limits_for_arch("sm_80", &gpu));
    struct graph *h = graph_simplify(graph_decompose_for(g, &gpu));
    const char *why = graph_verify(h, true);
    if (why) fail_msg("%s\n%s", why, printed(h));
    assert_string_equal(printed(must_parse(g->arena, printed(h))), printed(h));
    return h;
}

/* 1-D, all numbers; a size is what a strided convolution of some size may have had. */
static void check_line(int taps, int stride, int dilation, int padding, int more) {
    enum { SIZE = 6 };
    int size = (SIZE - 1) * stride + dilation * (taps - 1) + 1 + more - 2 * padding;
    if (size < 1) return;
    struct arena *a = arena_new();
    struct graph *g =
        one_op(a, arena_printf(a, "%%x: f32[2, 1, 2, %d], %%y: f32[1, 3, 2, %d]", SIZE, taps),
               arena_printf(a, "convolve(%%x, %%y, [%d], [%d], [%d], True, [%d])", stride, padding,
                            dilation, size));
    struct graph *h = dense(g);
    same_values(g, h, false);
    same_values(g, h, true);
    int64_t each = (size + stride - 1) / stride + 1; /* outputs of a phase; every tap is in one */
    assert_true(terms_of(h) <= 2 * 3 * 2 * taps * each);
    arena_free(a);
}

static void test_lines(void **state) {
    for (int taps = 1; taps <= 5; taps++)
        for (int stride = 1; stride <= 5; stride++)
            for (int dilation = 1; dilation <= 4; dilation++)
                for (int padding = 0; padding <= 3; padding++)
                    for (int more = 0; more < 3; more++)
                        check_line(taps, stride, dilation, padding, more);
}

static void check(const char *inputs, const char *call, const char *want, bool infinities) {
    struct arena *a = arena_new();
    struct graph *g = one_op(a, inputs, call), *h = dense(g);
    if (want) assert_string_equal(operators(h), want);
    same_values(g, h, false);
    if (infinities) same_values(g, h, true);
    arena_free(a);
}

/* Of many filters, phases that all have taps are a dimension of one product on matrix units. */
static void test_many_filters(void **state) {
    static const char PHASES[] = "convolve_phases view permute view";
    for (int taps = 1; taps <= 5; taps++)
        for (int stride = 2; stride <= 3; stride++)
            for (int padding = 0; padding <= 3; padding++)
                for (int more = 0; more < stride; more++) {
                    struct arena *a = arena_new();
                    int size = 5 * stride + taps + more - 2 * padding, count = more ? 32 : 5;
                    bool together = taps % stride == 0;
                    struct graph *g =
                        one_op(a,
                               arena_printf(a, "%%x: f32[2, 1, 8, 6], %%y: f32[1, %d, 8, %d]",
                                            count, taps),
                               arena_printf(a, "convolve(%%x, %%y, [%d], [%d], [1], True, [%d])",
                                            stride, padding, size));
                    struct graph *h = dense(g);
                    bool whole = padding % stride == 0 && size % stride == 0;
                    /* 4 of each 12 bytes are too few to store at a time */
                    bool filters = together && (whole || count < 32 || stride > 2);
                    bool phases = strstr(operators(h), PHASES);
                    assert_int_equal(phases, !filters && taps >= stride);
                    same_values(g, h, false);
                    same_values(g, h, true);
                    arena_free(a);
                }
    struct arena *a = arena_new();
    struct graph *g = one_op(a, "%x: f32[2, 1, 8, 5], %y: f32[1, 32, 8, 3]",
                             "convolve(%x, %y, [2], [1], [1], True, [9])");
    assert_null(strstr(operators(graph_decompose(g)), "convolve_phases"));
    arena_free(a);
    check("%x: f32[2, 1, 8, 4, 5], %y: f32[1, 32, 8, 3, 4]",
          "convolve(%x, %y, [2, 3], [1, 1], [1, 1], True, [8, 12])",
          "convolve_phases view permute view permute view", true);
    check("%x: f32[2, 1, 8, 4, 5], %y: f32[1, 2, 8, 3, 3]",
          "convolve(%x, %y, [1, 2], [1, 0], [2, 1], True, [5, 11])",
          "convolve_phases permute view permute view slice", true);
    check("%x: f32[1, 1, 8, 2, 3, 2], %y: f32[1, 32, 8, 3, 2, 3]",
          "convolve(%x, %y, [2, 2, 2], [1, 1, 0], [1, 1, 1], True, [4, 4, 5])",
          "convolve_phases view permute view permute view permute view slice slice", true);
}

/* As many taps a phase make one product; else each has its own, of its own taps. */
static void test_forms(void **state) {
    check("%x: f32[2, 1, 3, 4, 5], %y: f32[1, 2, 3, 2, 2]",
          "convolve(%x, %y, [2, 2], [0, 0], [1, 1], True, [8, 10])",
          "view permute view permute view convolve view permute view permute view", true);
    check("%x: f32[2, 1, 3, 5], %y: f32[1, 2, 3, 4]", "convolve(%x, %y, [2], [1], [1], True, [10])",
          "view permute view convolve view permute view slice", true);
    check("%x: f32[2, 1, 3, 5], %y: f32[1, 2, 3, 3]", "convolve(%x, %y, [2], [1], [1], True, [9])",
          "slice convolve unsqueeze slice convolve unsqueeze cat view slice", true);
    /* outputs without a tap are one zero */
    check("%x: f32[2, 1, 3, 5], %y: f32[1, 2, 3, 1]", "convolve(%x, %y, [4], [0], [1], True, [17])",
          "view permute view convolve view permute full cat view slice", true);
    /* those that have one are filters of one convolution; zeros between them, and behind */
    check("%x: f32[2, 1, 3, 5], %y: f32[1, 2, 3, 2]", "convolve(%x, %y, [4], [0], [1], True, [18])",
          "view permute view convolve view permute full cat view slice", true);
    check("%x: f32[2, 1, 3, 4, 5], %y: f32[1, 2, 3, 3, 3]",
          "convolve(%x, %y, [5, 1], [1, 1], [2, 2], True, [18, 7])", NULL, true);
    /* outputs that take taps are a convolution, and others are between them */
    check("%x: f32[2, 1, 3, 5], %y: f32[1, 2, 3, 3]", "convolve(%x, %y, [2], [1], [2], True, [11])",
          "convolve unsqueeze full cat view slice", true);
    check("%x: f32[2, 1, 3, 5], %y: f32[1, 2, 3, 3]", "convolve(%x, %y, [6], [3], [4], True, [27])",
          NULL, true);
    check("%x: f32[1, 1, 1, 1], %y: f32[1, 1, 1, 1]", "convolve(%x, %y, [3], [2], [1], True, [1])",
          "full view", true);
    /* wholes become wholes */
    check("%x: u8[1, 1, 2, 5], %y: u8[1, 2, 2, 3]", "convolve(%x, %y, [2], [1], [1], True, [9])",
          NULL, false);
    check("%x: i64[1, 1, 2, 5], %y: i64[1, 2, 2, 4]", "convolve(%x, %y, [2], [0], [1], True, [12])",
          NULL, false);
}

static void test_layers(void **state) {
    static const char *const calls[][2] = {
        {"%x: f32[2, 4, 5, 6], %y: f32[4, 3, 3, 3], %z: f32[6]",
         "convolution(%x, %y, %z, 2, 1, 1, True, 1, 2)"},
        {"%x: f32[2, 4, 5, 6], %y: f32[4, 3, 4, 2], %z: f32[3]",
         "convolution(%x, %y, %z, [2, 3], [1, 0], 1, True, [0, 1])"},
        {"%x: f32[4, 5, 6], %y: f32[4, 1, 3, 3], %z: f32[4]",
         "convolution(%x, %y, %z, [1, 2], 1, 2, True, [0, 1], 4)"},
        {"%x: f32[2, 3, 3, 4, 3], %y: f32[3, 2, 3, 3, 3], %z: f32[2]",
         "convolution(%x, %y, %z, 2, 1, 1, True, 1, 1, 3)"},
        {"%x: f32[1, 2, 3, 2, 3], %y: f32[2, 2, 3, 5, 2], %z: f32[2]",
         "convolution(%x, %y, %z, [3, 2, 2], [0, 1, 0], [1, 2, 1], True, [1, 0, 1], 1, 3)"},
        {"%x: f32[1, 2, 3, 3], %y: f32[2, 2, 3, 3]", "convolution(%x, %y, None, 5, 0, 2, True)"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        check(calls[i][0], calls[i][1], NULL, false);
}

/* What judges values keeps convolutions, as derivatives do. */
static void test_kept(void **state) {
    struct arena *a = arena_new();
    struct graph *g = one_op(a, "%x: f32[2, 1, 3, 5], %y: f32[1, 2, 3, 3]",
                             "convolve(%x, %y, [2], [1], [1], True, [9])");
    assert_string_equal(operators(graph_decompose_but_landings(g)), "convolve");
    arena_free(a);
}

static void test_symbolic(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct exprs *p = exprs_new(a);
    ex s0 = ex_size(p, "s0", 2, 5);
    for (int i = 0; i < 4; i++) {
        int taps = 3 + i % 2;
        struct graph *g = graph_parse(
            a, p,
            test_source(a, arena_printf(a,
                                        "graph(%%x: f32[2, 8, s0], %%w: f32[8, %d, %d]) {\n"
                                        " %%y = convolution(%%x, %%w, None, 2, 1, 1, True, "
                                        "spatial=1)\n return %%y\n}\n",
                                        i < 2 ? 2 : 32, taps)),
            &d);
        if (!g) fail_msg("%s", d.text);
        struct graph *h = dense(g);
        for (int64_t size = 2; size < 6; size++)
            same_values(graph_specialize(g, &s0, &size, 1, a),
                        graph_specialize(h, &s0, &size, 1, a), false);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines), cmocka_unit_test(test_many_filters),
        cmocka_unit_test(test_forms), cmocka_unit_test(test_layers),
        cmocka_unit_test(test_kept),  cmocka_unit_test(test_symbolic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
