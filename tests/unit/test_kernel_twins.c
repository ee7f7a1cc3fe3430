/* test_kernel_twins.c: which two products behind the same ones are one kernel's, whose values of
 * what is between are then one; and which stay apart. */
#include "chained_test.h"

/* Groups of chained products, and the one of twins, if there is one. */
static int count(const struct schedule *s, uint32_t *twins) {
    int n = 0;
    *twins = NO_NEST;
    for (uint32_t g = 0; g < s->groups.n; g++) {
        const struct group *G = &s->groups.at[g];
        n += G->n_between > 0;
        if (!G->n_between || G->twin == NO_NEST) continue;
        assert_int_equal(*twins, NO_NEST);
        *twins = g;
    }
    return n;
}

/* Attention and its gradients, of heads that are `size` wide. `out` puts dk into another shape. */
static const char *attention(struct arena *a, int rows, int size, const char *out) {
    const char *x = arena_printf(a, "bf16[8, %d, %d]", rows, size);
    return arena_printf(
        a,
        "graph(%%q: %s, %%k: %s, %%v: %s, %%g: %s) {\n"
        " %%kt = permute(%%k, [0, 2, 1])\n %%s = bmm(%%q, %%kt)\n %%f = to(%%s, f32)\n"
        " %%p = softmax(%%f, -1)\n %%pb = to(%%p, bf16)\n %%o = bmm(%%pb, %%v)\n"
        " %%vt = permute(%%v, [0, 2, 1])\n %%dp = bmm(%%g, %%vt)\n %%df = to(%%dp, f32)\n"
        " %%z = mul(%%df, %%p)\n %%zr = sum(%%z, [-1], True)\n %%e = sub(%%df, %%zr)\n"
        " %%ds = mul(%%p, %%e)\n %%db = to(%%ds, bf16)\n %%dq = bmm(%%db, %%k)\n"
        " %%pt = permute(%%pb, [0, 2, 1])\n %%dv = bmm(%%pt, %%g)\n%s"
        " return %%o, %%dq, %%dk, %%dv\n}\n",
        x, x, x, x, out);
}

static const char straight[] = " %dbt = permute(%db, [0, 2, 1])\n %dk = bmm(%dbt, %q)\n";
/* As autograd leaves it of q @ k.T: its axes are others' parts, in another order. */
static const char turned[] =
    " %qt = permute(%q, [0, 2, 1])\n %kt2 = bmm(%qt, %db)\n"
    " %kv = view(%kt2, [2, 4, -1, 512])\n %kp = permute(%kv, [0, 1, 3, 2])\n"
    " %dk = contiguous(%kp)\n";

static void test_gradients(void **state) {
    (void)state;
    static const char *const archs[] = {"sm_80", "sm_90a"}, *const outs[] = {straight, turned};
    for (int i = 0; i < 4; i++) {
        struct arena *a = arena_new();
        uint32_t g;
        struct schedule *s = chained(a, attention(a, 512, 64, outs[i / 2]), archs[i % 2]);
        int n = count(s, &g);
        if (n != 3 || g == NO_NEST) fail_msg("%d chains\n%s", n, s->log.p);
        const struct kernel *k = must_build(s, g, &gpu);
        assert_int_equal(k->kind, KERNEL_CHAINED);
        assert_int_equal(k->stores.n, 2);
        int products = 0, exponentials = 0;
        for (value_id v = 0; v < k->values.n; v++) {
            const struct value_node *x = &k->values.at[v];
            products += x->kind == INST_REDUCE;
            exponentials += x->kind == INST_OP && x->op == OP_EXP;
            /* by what a query's exponentials come to, which is a column's here: once for it */
            bool divides = x->kind == INST_OP && (x->op == OP_DIV || x->op == OP_RECIPROCAL);
            assert_false(divides && x->mask & MASK_M);
        }
        assert_int_equal(products, 4);
        assert_int_equal(exponentials, 1);
        assert_true(k->beside != NO_VALUE && k->twin != NO_VALUE);
        arena_free(a);
    }
}

/* Steps are as long as there are registers for: an H200 takes 2206 us for dK and dV of 4 x 32 x
 * 4096 rows by 96 columns with heads of 64, 2313 by 64; of 128 there are none for more than 64. */
static void test_steps(void **state) {
    (void)state;
    static const int sizes[][2] = {{64, 96}, {128, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct arena *a = arena_new();
        uint32_t g;
        struct schedule *s = chained(a, attention(a, 4096, sizes[i][0], straight), "sm_90a");
        assert_int_equal(count(s, &g), 3);
        assert_int_not_equal(g, NO_NEST);
        const struct config *c;
        int n, pruned;
        kernel_configs(must_build(s, g, &gpu), a, &c, &n, &pruned);
        assert_true(n > 0);
        assert_int_equal(c[0].knob[KNOB_n], sizes[i][1]);
        arena_free(a);
    }
}

/* Sums of both would not fit beside each other. */
static void test_wide(void **state) {
    (void)state;
    struct arena *a = arena_new();
    uint32_t g;
    struct schedule *s = chained(a, attention(a, 512, 256, straight), "sm_90a");
    assert_true(count(s, &g) > 1);
    assert_int_equal(g, NO_NEST);
    arena_free(a);
}

/* Rows that are rescaled by a maximum of their own, other columns, and one behind the other. */
static void test_apart(void **state) {
    (void)state;
    static const char head[] = "graph(%q: bf16[8, 512, 64], %y: bf16[8, 64, 512], "
                               "%v: bf16[8, 512, 64], %w: bf16[8, 512, 64], "
                               "%u: bf16[8, 512, 32]) {\n %s = bmm(%q, %y)\n";
    static const char *const rest[] = {
        " %p = softmax(%s, -1)\n %o = bmm(%p, %v)\n %e = bmm(%p, %w)\n return %o, %e\n}\n",
        " %p = relu(%s)\n %o = bmm(%p, %v)\n %e = bmm(%p, %u)\n return %o, %e\n}\n",
        (" %p = relu(%s)\n %o = bmm(%p, %v)\n %x = sum(%o)\n %h = mul(%p, %x)\n"
         " %e = bmm(%h, %w)\n return %o, %e\n}\n"),
    };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        struct arena *a = arena_new();
        uint32_t g;
        struct schedule *s = chained(a, arena_printf(a, "%s%s", head, rest[i]), "sm_90a");
        if (count(s, &g) != 2 || g != NO_NEST) fail_msg("%zu: %s", i, s->log.p);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
