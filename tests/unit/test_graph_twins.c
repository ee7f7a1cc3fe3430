/* test_graph_twins.c: which reductions become views of others, and which are no twins. */
#include <time.h>

#include "graph_test.h"

/* The operators of the graph over %x: f32[2, 3, 4], inputs aside, once twins are joined. */
static void becomes(const char *body, const char *want) {
    struct arena *a = arena_new();
    struct graph *g =
        graph_simplify(must_parse(a, arena_printf(a, "graph(%%x: f32[2, 3, 4]) {\n%s}\n", body)));
    struct value in[MAX_TEST_VALUES], old[MAX_TEST_VALUES], now[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_eval(g, in, old);
    graph_join_twins(g);
    g = graph_simplify(g);
    const char *why = graph_verify(g, true);
    if (why) fail_msg("%s\n%s", why, printed(g));
    must_eval(g, in, now);
    if (strcmp(operators(g), want))
        fail_msg("'%s', expected '%s' of\n%s", operators(g), want, printed(g));
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        assert_int_equal(now[o].n, old[o].n);
        for (int64_t i = 0; i < now[o].n; i++)
            assert_true(value_number(&now[o], i) == value_number(&old[o], i));
    }
    free_values(in, g->inputs.n);
    free_values(old, g->outputs.n);
    free_values(now, g->outputs.n);
    arena_free(a);
}

static void test_twins(void **state) {
    (void)state;
    becomes(" %s = sum(%x, [0, 2])\n %t = sum(%x, [0, 2], True)\n return %s, %t\n", "sum view");
    becomes(" %s = sum(%x, [0, 2], True)\n %t = sum(%x, [2, 0])\n return %s, %t\n", "sum view");
    becomes(" %s = amax(%x, [1])\n %t = amax(%x, [1], True)\n %u = amax(%x, [1], True)\n"
            " return %s, %t, %u\n",
            "amax view");
}

static void test_others(void **state) {
    (void)state;
    becomes(" %s = sum(%x, [0])\n %t = sum(%x, [1], True)\n return %s, %t\n", "sum sum");
    becomes(" %s = amin(%x, [0])\n %t = amax(%x, [0], True)\n return %s, %t\n", "amin amax");
    becomes(" %y = exp(%x)\n %s = sum(%x, [0])\n %t = sum(%y, [0], True)\n return %s, %t\n",
            "exp sum sum");
    becomes(" %s = sum(%x, [0])\n %t = sum(%x, [0], True, dtype=f64)\n return %s, %t\n", "sum sum");
}

/* Looking for twins, and copying what is left, takes time that grows as the graph does: a second
 * of it would be 20 times what this takes. */
static void test_many(void **state) {
    (void)state;
    enum { MANY = 40000 };
    struct arena *a = arena_new();
    struct graph *g = graph_new(a, exprs_new(a), NULL);
    struct meta m = {.dtype = DT_F32, .rank = 1, .size = {ex_const(g->ex, 2)}};
    meta_contiguous(g->ex, &m);
    for (uint32_t i = 0; i < MANY; i++) graph_input(g, "x", INPUT_ARG, "x", &m, i);
    for (node_id i = 0; i < MANY; i++) vec_push(a, &g->outputs, graph_op1(g, OP_SUM, i));
    clock_t begun = clock();
    graph_join_twins(g);
    g = graph_prune(g);
    double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    if (seconds > 1) fail_msg("%d reductions take %g s", MANY, seconds);
    assert_int_equal(g->nodes.n, 2 * MANY);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_twins), cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
