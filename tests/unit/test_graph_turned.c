/* test_graph_turned.c: which products are computed the other way round, which must not, and that no
 * value changes. */
#include "graph_test.h"

static struct graph *primitive(struct arena *a, const char *text) {
    struct diag d = diag_new(a);
    struct graph *g = graph_parse(a, exprs_new(a), test_source(a, text), &d);
    if (!g) fail_msg("%s", d.text);
    return graph_simplify(graph_decompose(graph_simplify(g)));
}

/* Of inputs %a and %b; the outputs keep their sizes, strides and values, bit for bit. */
static void becomes(const char *inputs, const char *body, const char *want) {
    struct arena *a = arena_new();
    struct value in[MAX_TEST_VALUES], was[MAX_TEST_VALUES], is[MAX_TEST_VALUES];
    struct graph *g = primitive(a, arena_printf(a, "graph(%s) {\n%s}\n", inputs, body));
    struct graph *to = graph_turn_products(g);
    const char *why = graph_verify(to, true);
    if (why) fail_msg("%s\n%s", why, printed(to));
    if (strcmp(operators(to), want))
        fail_msg("'%s', expected '%s' of\n%s", operators(to), want, printed(g));
    random_inputs(g, in);
    must_eval(g, in, was);
    must_eval(to, in, is);
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        const struct meta *x = &g->nodes.at[g->outputs.at[o]].meta,
                          *y = &to->nodes.at[to->outputs.at[o]].meta;
        assert_int_equal(x->rank, y->rank);
        for (int d = 0; d < x->rank; d++)
            assert_true(x->size[d] == y->size[d] && x->stride[d] == y->stride[d]);
        for (int64_t i = 0; i < was[o].n; i++)
            assert_true(value_number(&was[o], i) == value_number(&is[o], i));
    }
    free_values(in, g->inputs.n);
    free_values(was, g->outputs.n);
    free_values(is, to->outputs.n);
    arena_free(a);
}

static const char *const batches = "%a: f32[6, 5, 7], %b: f32[6, 7, 9]";

static void test_reduced(void **state) {
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = sum(%p, [0], True)\nreturn %r\n",
            "permute permute bmm sum");
    becomes(batches,
            "%x = bmm(%a, %b)\n%v = view(%x, [3, 2, 5, 9])\n%p = permute(%v, [0, 1, 3, 2])\n"
            "%r = sum(%p, [1])\nreturn %r\n",
            "permute permute bmm view sum");
    becomes("%a: f32[5, 7], %b: f32[7, 9]",
            "%x = mm(%a, %b)\n%p = permute(%x, [1, 0])\n%r = amax(%p, 0)\nreturn %r\n",
            "permute permute mm amax");
    /* what reads it reduces, and both do */
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = sum(%p, [0])\n"
            "%m = amax(%p, 1)\nreturn %r, %m\n",
            "permute permute bmm sum amax");
    (void)state;
}

static void test_stays(void **state) {
    becomes(batches, "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\nreturn %p\n", "bmm permute");
    becomes(batches, "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = exp(%p)\nreturn %r\n",
            "bmm permute exp");
    /* someone takes the product as it is */
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = sum(%p, [0])\nreturn %r, %x\n",
            "bmm permute sum");
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = sum(%p, [0])\n%e = exp(%p)\n"
            "return %r, %e\n",
            "bmm permute sum exp");
    /* other dimensions, and rows that are no longer those of the product */
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [2, 1, 0])\n%r = sum(%p, [0])\nreturn %r\n",
            "bmm permute sum");
    becomes(batches,
            "%x = bmm(%a, %b)\n%v = view(%x, [3, 10, 9])\n%p = permute(%v, [0, 2, 1])\n"
            "%r = sum(%p, [0])\nreturn %r\n",
            "bmm view permute sum");
    (void)state;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reduced),
                                       cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
