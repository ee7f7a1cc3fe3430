/* test_graph_join_linears.c: which linear layers of one input become one, and that values stay. */
#include "graph_test.h"

/* us: of one layer, in thousandths of what two or more take. */
static double joined_takes(struct graph *g, void *ctx) {
    const int *thousandths = ctx;
    assert_null(graph_verify(g, false));
    return g->outputs.n == 1 ? *thousandths : 1000;
}

/* All inputs but x and y are parameters of a module that stay. */
static struct graph *parsed(struct arena *a, const char *body) {
    struct graph *g = must_parse(
        a,
        arena_printf(a,
                     "graph(%%x: f32[2, 3, 8], %%y: f32[2, 3, 4], %%q: f32[8, 8], %%k: f32[4, 8],\n"
                     "      %%v: f32[4, 8], %%b: f32[4], %%h: i8[4, 8]) {\n%s}\n",
                     body));
    g->fixed = true;
    for (uint32_t i = 2; i < g->inputs.n; i++) g->inputs.at[i].kind = INPUT_PARAMETER;
    return g;
}

static int layers_of(const struct graph *g) {
    int n = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) n += g->nodes.at[i].op == OP_LINEAR;
    return n;
}

/* So many layers are left, and values are what they were. */
static void leaves(const char *body, int layers) {
    struct arena *a = arena_new();
    int less = 900;
    struct graph *g = parsed(a, body), *h = graph_join_linears(g, joined_takes, &less);
    const char *why = graph_verify(h, false);
    if (why) fail_msg("%s\n%s", why, printed(h));
    if (layers_of(h) != layers) fail_msg("%d layers in\n%s", layers_of(h), printed(h));
    struct value in[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_stay_near(g, h, in, 1e-6);
    free_values(in, g->inputs.n);
    arena_free(a);
}

#define K "%k0 = linear(%x, %k)\n%t = transpose(%k0, 1, 2)\n"
#define Q "%q0 = linear(%x, %q)\n"

static void test_join(void **state) {
    /* attention's three: of other widths, by way of views, one with a bias */
    leaves(Q K "%v0 = linear(%x, %v, %b)\n%c = slice(%q0, 2, 0, 4)\n%s = matmul(%c, %t)\n"
               "%o = matmul(%s, %v0)\n return %o\n",
           1);
    /* a number, which goes behind the next product */
    leaves(K "%v0 = linear(%x, %v, %b)\n%m = mul(%v0, 0.5)\n%s = matmul(%m, %t)\n return %s\n", 1);
    /* a weight that is made of parameters behind the first layer */
    leaves("%v0 = linear(%x, %v)\n%w = mul(%k, 2)\n%k0 = linear(%x, %w)\n"
           "%t = transpose(%k0, 1, 2)\n%s = matmul(%v0, %t)\n return %s\n",
           1);
    /* a part is read besides: it is stored anyway */
    leaves(K "%v0 = linear(%x, %v)\n%a = slice(%v0, 2, 0, 2)\n%z = slice(%v0, 2, 2, 4)\n"
             "%n = neg(%a)\n%c = cat([%n, %z], 2)\n%m = mul(%v0, %y)\n%p = add(%c, %m)\n"
             "%s = matmul(%p, %t)\n return %s\n",
           1);
}

static void test_apart(void **state) {
    /* silu(gate) * up is made behind a product */
    leaves("%g = linear(%x, %k)\n%u = linear(%x, %v)\n%e = silu(%g)\n%m = mul(%e, %u)\n"
           " return %m\n",
           2);
    leaves("%g = linear(%x, %k)\n%u = linear(%x, %v)\n%e = view(%g, [6, 4])\n"
           "%f = view(%u, [6, 4])\n%m = mul(%e, %f)\n%c = softmax(%e, 1)\n%d = softmax(%f, 1)\n"
           " return %m, %c, %d\n",
           2);
    /* so is what only elementwise operators read */
    leaves(K "%v0 = linear(%x, %v)\n%r = relu(%v0)\n%s = matmul(%r, %t)\n return %s\n", 2);
    /* rows may be summed up behind a product */
    leaves(K "%v0 = linear(%x, %v)\n%r = softmax(%v0, 2)\n%s = matmul(%r, %t)\n return %s\n", 2);
    /* an output is stored in its place */
    leaves(K "%v0 = linear(%x, %v)\n%s = matmul(%v0, %t)\n return %s, %v0\n", 2);
    leaves(K "%v0 = linear(%x, %v)\n%o = view(%v0, [6, 4])\n%s = matmul(%v0, %t)\n return %s, %o\n",
           2);
    /* bytes are read as bytes in each call */
    leaves(K "%w = float(%h)\n%v0 = linear(%x, %w)\n%s = matmul(%v0, %t)\n return %s\n", 2);
    /* other inputs, and a weight that is no parameter */
    leaves("%z = neg(%x)\n%v0 = linear(%z, %v)\n" K "%s = matmul(%v0, %t)\n return %s\n", 2);
    leaves("%w = matmul(%y, %v)\n%w0 = select(%w, 0, 1)\n%v0 = linear(%x, %w0)\n"
           "%k0 = linear(%x, %k)\n%s = matmul(%v0, %k0)\n return %s\n",
           2);
}

/* Parameters that change, as in training, would be put together in each call. */
static void test_is_asked(void **state) {
    struct arena *a = arena_new();
    int less = 900, more = 1100;
    struct graph *g = parsed(a, K "%v0 = linear(%x, %v)\n%s = matmul(%v0, %t)\n return %s\n");
    assert_ptr_equal(graph_join_linears(g, joined_takes, &more), g);
    assert_ptr_not_equal(graph_join_linears(g, joined_takes, &less), g);
    g->fixed = false;
    assert_ptr_equal(graph_join_linears(g, joined_takes, &less), g);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_join), cmocka_unit_test(test_apart),

                                       cmocka_unit_test(test_is_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
