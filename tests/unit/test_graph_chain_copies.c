/* test_graph_chain_copies.c: which products have what they read behind others for themselves, and
 * that no value changes. */
#include "graph_test.h"

/* Softmax of scores, times v, and the gradients of q, k and v. */
static const char attention[] =
    "graph(%q: bf16[2, 10, 4], %k: bf16[2, 12, 4], %v: bf16[2, 12, 4], %g: bf16[2, 10, 4]) {\n"
    " %kt = permute(%k, [0, 2, 1])\n %s = bmm(%q, %kt)\n %f = convert(%s, f32)\n"
    " %m = amax(%f, [-1], True)\n %d = sub(%f, %m)\n %x = exp(%d)\n %l = sum(%x, [-1], True)\n"
    " %p = div(%x, %l)\n %pb = convert(%p, bf16)\n %o = bmm(%pb, %v)\n"
    " %vt = permute(%v, [0, 2, 1])\n %dp = bmm(%g, %vt)\n %df = convert(%dp, f32)\n"
    " %z = mul(%df, %p)\n %r = sum(%z, [-1], True)\n %e = sub(%df, %r)\n %ds = mul(%p, %e)\n"
    " %db = convert(%ds, bf16)\n %dq = bmm(%db, %k)\n %dbt = permute(%db, [0, 2, 1])\n"
    " %dk = bmm(%dbt, %q)\n %pt = permute(%pb, [0, 2, 1])\n %dv = bmm(%pt, %g)\n"
    " return %o, %dq, %dk, %dv\n}\n";

static int count(const struct graph *g, enum op op) {
    int n = 0;
    for (node_id i = 0; i < g->nodes.n; i++) n += g->nodes.at[i].op == op;
    return n;
}

/* Values are not rounded on the way, so both are as near as doubles are. */
static void check_same(struct graph *a, struct graph *b) {
    struct value in[MAX_TEST_VALUES], x[MAX_TEST_VALUES], y[MAX_TEST_VALUES];
    random_inputs(a, in);
    must_eval(a, in, x);
    must_eval(b, in, y);
    for (uint32_t i = 0; i < a->outputs.n; i++)
        for (int64_t k = 0; k < x[i].n; k++)
            if (fabs(value_number(&x[i], k) - value_number(&y[i], k)) > 1e-2)
                fail_msg("output %u, element %lld: %g, not %g", i, (long long)k,
                         value_number(&y[i], k), value_number(&x[i], k));
    free_values(in, a->inputs.n);
    free_values(x, a->outputs.n);
    free_values(y, a->outputs.n);
}

static void test_attention(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct graph *g = graph_simplify(must_parse(a, attention));
    int chains;
    struct graph *to = graph_chain_copies(g, &chains);
    assert_null(graph_verify(to, true));
    assert_int_equal(chains, 4); /* o, dq, dk, dv */
    /* q kT four times, of which one has the rows' maxima and sums; g vT for dq and dk */
    assert_int_equal(count(to, OP_BMM), 4 + 2 + 4);
    assert_int_equal(count(to, OP_AMAX), 1);
    assert_int_equal(count(to, OP_SUM), 2);
    /* what was a row's sum of 12 is one of 4, of o and its gradient */
    for (node_id i = 0; i < to->nodes.n; i++) {
        const struct node *x = &to->nodes.at[i];
        if (x->op != OP_SUM || x->args[2].b) continue;
        assert_int_equal(ex_value(to->ex, to->nodes.at[x->args[0].node].meta.size[2]), 4);
    }
    check_same(g, to);
    arena_free(a);
}

/* What is dropped or hidden between is a factor of both products, and numbers are counted. */
static void test_factors(void **state) {
    (void)state;
    static const char text[] =
        "graph(%q: bf16[2, 10, 4], %k: bf16[2, 12, 4], %v: bf16[2, 12, 4], %g: bf16[2, 10, 4], "
        "%keep: bool[2, 10, 12], %c: bool[10, 12]) {\n"
        " %kt = permute(%k, [0, 2, 1])\n %s = bmm(%q, %kt)\n %f = convert(%s, f32)\n"
        " %p = sigmoid(%f)\n %h = where(%c, %p, 0.0)\n %n = convert(%keep, f32)\n"
        " %u = mul(%h, %n)\n %w = mul(%u, 1.25)\n %pb = convert(%w, bf16)\n"
        " %o = bmm(%pb, %v)\n %vt = permute(%v, [0, 2, 1])\n %dp = bmm(%g, %vt)\n"
        " %df = convert(%dp, f32)\n %a = mul(%df, 2.5)\n %b = mul(%a, %n)\n"
        " %e = where(%c, %b, 0.0)\n %z = mul(%e, %p)\n %r = sum(%z, [-1], True)\n"
        " return %o, %r\n}\n";
    struct arena *a = arena_new();
    struct graph *g = graph_simplify(must_parse(a, text)), *to = graph_sums_of_products(g);
    assert_null(graph_verify(to, true));
    assert_int_equal(count(to, OP_BMM), 2); /* s, o */
    check_same(g, to);
    /* With another condition it is another product's. */
    char other[sizeof text];
    memcpy(other, text, sizeof text);
    memcpy(strstr(other, "where(%c, %b, 0.0)"), "where(%c, 0.0, %b)", strlen("where(%c, 0.0, %b)"));
    g = graph_simplify(must_parse(a, other));
    assert_ptr_equal(graph_sums_of_products(g), g);
    arena_free(a);
}

static float nearest_bf16(double x) {
    union {
        float f;
        uint32_t u;
    } y = {(float)x};
    y.u = (y.u + 0x7fff + (y.u >> 16 & 1)) & 0xffff0000u;
    return y.f;
}

/* The rounding of the other product is within the bound if the sum may be made of it: of products
 * that are next to nothing, as %v is the same in pairs of columns, and %g the opposite. */
static void test_bounds(void **state) {
    (void)state;
    enum { M = 4, N = 3, C = 64 };
    static const char text[] =
        "graph(%p: bf16[4, 3], %v: bf16[3, 64], %g: bf16[4, 64]) {\n %o = mm(%p, %v)\n"
        " %t = permute(%v, [1, 0])\n %d = mm(%g, %t)\n %f = convert(%d, f32)\n"
        " %e = convert(%p, f32)\n %m = mul(%f, %e)\n %r = sum(%m, [-1])\n return %r, %o\n}\n";
    struct arena *a = arena_new();
    struct graph *g = graph_simplify(must_parse(a, text)), *either = graph_sums_either_way(g);
    assert_null(graph_verify(either, true));
    assert_ptr_not_equal(g, either);
    check_same(g, either);
    struct rounding how = {.device = DEVICE_CUDA, .stores = true};
    struct value in[MAX_TEST_VALUES], exact[MAX_TEST_VALUES], own[MAX_TEST_VALUES],
        both[MAX_TEST_VALUES];
    random_inputs(g, in);
    for (int i = 0; i < M * N; i++) in[0].v[i] = nearest_bf16(0.2 + 0.03 * i);
    for (int i = 0; i < N * C; i++)
        in[1].v[i] = nearest_bf16((1 + 0.013 * (i / 2 % 37)) * (i % 2 ? 1.01 : 1));
    for (int i = 0; i < M * C; i++) in[2].v[i] = i % 2 ? -1 : 1;
    must_eval(g, in, exact);
    must_eval(graph_join(g, graph_bound(g, how)), in, own);
    must_eval(graph_join(g, graph_bound(either, how)), in, both);
    int outside = 0;
    for (int m = 0; m < M; m++) {
        double sum = 0;
        for (int c = 0; c < C; c++) {
            double o = 0;
            for (int n = 0; n < N; n++) o += in[0].v[m * N + n] * in[1].v[n * C + c];
            sum += in[2].v[m * C + c] * nearest_bf16(o);
        }
        double off = fabs(sum - exact[0].v[m]);
        outside += off > own[2].v[m];
        assert_true(off <= both[2].v[m] && own[2].v[m] <= both[2].v[m]);
    }
    assert_true(outside > 0);
    free_values(in, g->inputs.n);
    free_values(exact, 2);
    free_values(own, 4);
    free_values(both, 4);
    arena_free(a);
}

/* One product behind another needs no copies; what is random is drawn once. */
static void test_nothing(void **state) {
    (void)state;
    static const char *const graphs[] = {
        "graph(%q: bf16[2, 10, 4], %k: bf16[2, 4, 12], %v: bf16[2, 12, 4]) {\n"
        " %s = bmm(%q, %k)\n %r = relu(%s)\n %o = bmm(%r, %v)\n return %o\n}\n",
        "graph(%q: f32[2, 10, 4], %k: f32[2, 4, 12], %v: f32[2, 12, 4], %w: f32[2, 12, 4])\n"
        "products strict {\n"
        " %s = bmm(%q, %k)\n %r = relu(%s)\n %o = bmm(%r, %v)\n %u = bmm(%r, %w)\n"
        " return %o, %u\n}\n",
        /* a sum of one product and something else than the other's factor */
        "graph(%q: bf16[2, 10, 4], %k: bf16[2, 4, 12], %p: bf16[2, 10, 12], %v: bf16[2, 12, 4]) {\n"
        " %s = bmm(%q, %k)\n %f = convert(%s, f32)\n %e = convert(%p, f32)\n %m = mul(%f, %e)\n"
        " %r = sum(%m, [-1], True)\n %o = bmm(%p, %v)\n return %r, %o\n}\n",
    };
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct arena *a = arena_new();
        struct graph *g = graph_simplify(must_parse(a, graphs[i]));
        int chains, products = count(g, OP_BMM);
        struct graph *to = graph_chain_copies(g, &chains);
        assert_int_equal(chains, 0);
        assert_int_equal(count(to, OP_BMM), products);
        assert_ptr_equal(graph_sums_of_products(g), g);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
