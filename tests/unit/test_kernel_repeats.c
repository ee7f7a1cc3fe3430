/* test_kernel_repeats.c: heads that share keys and values are rows of one batch where queries are
 * few; and blocks share the keys of few batches. */
#include "chained_test.h"

/* Attention of `heads` heads, of which `own` have keys and values. They are repeated for the
 * others: neighbours have the same ones, or those have that are `own` apart. `mask` makes %m of how
 * far a key is behind a query, %d. */
static const char *attention(struct arena *a, int heads, int own, bool apart, int queries, int keys,
                             const char *mask) {
    int shared = heads / own;
    struct buf b = buf_new(a);
    const char *of = apart ? "[2, 1, %d, %d, 64]" : "[2, %d, 1, %d, 64]",
               *as = arena_printf(a, "[2, %d, %d, %d, 64]", apart ? shared : own,
                                  apart ? own : shared, keys);
    const char *own_ones = arena_printf(a, of, own, keys);
    buf_printf(&b, "graph(%%q: bf16[2, %d, %d, 64], %%k: bf16%s, %%v: bf16%s) {\n", heads, queries,
               own_ones, own_ones);
    for (const char *x = "kv"; *x; x++)
        buf_printf(&b,
                   " %%%cx = expand(%%%c, %s)\n %%%cc = contiguous(%%%cx)\n"
                   " %%%cv = view(%%%cc, [2, %d, %d, 64])\n",
                   *x, *x, as, *x, *x, *x, *x, heads, keys);
    if (mask)
        buf_printf(&b,
                   " %%j = arange(0, %d)\n %%a = arange(%d, %d)\n %%i = unsqueeze(%%a, -1)\n"
                   " %%d = sub(%%j, %%i)\n%s",
                   keys, keys - queries, keys, mask);
    buf_printf(&b, " %%o = scaled_dot_product_attention(%%q, %%kv, %%vv%s)\n return %%o\n}\n",
               mask ? ", %m" : "");
    return b.p;
}

static const struct kernel *build(struct arena *a, const char *text, const char *arch) {
    struct schedule *s = chained(a, text, arch);
    if (s->groups.n != 1) fail_msg("%u kernels\n%s\n%s", s->groups.n, text, s->log.p);
    const struct kernel *k = must_build(s, 0, &gpu);
    assert_int_equal(k->kind, KERNEL_CHAINED);
    return k;
}

static void expect_size(const struct kernel *k, int z, int m) {
    assert_int_equal(kernel_size(k, AXIS_Z), z);
    assert_int_equal(kernel_size(k, AXIS_M), m);
}

static void test_few_queries(void **state) {
    (void)state;
    static const char *const archs[] = {"sm_80", "sm_90a"};
    for (int i = 0; i < 4; i++) {
        struct arena *a = arena_new();
        const char *arch = archs[i % 2];
        bool apart = i / 2;
        expect_size(build(a, attention(a, 8, 2, apart, 1, 500, NULL), arch), 4, 4);
        expect_size(build(a, attention(a, 6, 2, apart, 3, 500, NULL), arch), 4, 9);
        /* a tile has rows enough */
        expect_size(build(a, attention(a, 8, 2, apart, 16, 500, NULL), arch), 16, 16);
        arena_free(a);
    }
}

/* Of a window of 100 no more than that is gone along, by a row's own query. */
static void test_window(void **state) {
    (void)state;
    struct arena *a = arena_new();
    const char *mask = " %x = le(%d, 0)\n %y = gt(%d, -100)\n %m = bitwise_and(%x, %y)\n";
    const struct kernel *k = build(a, attention(a, 8, 2, false, 3, 500, mask), "sm_80");
    expect_size(k, 4, 12);
    for (int64_t row = 0; row < 12; row++) {
        struct depth_range r = chained_range(k, 0, row, 1);
        int64_t query = row / 4 + 497;
        assert_int_equal(r.from, query - 99);
        assert_int_equal(r.end, query + 1);
    }
    arena_free(a);
}

/* Few batches leave most of a device idle, or its memory waiting, unless blocks share keys. */
static void test_first_guess(void **state) {
    (void)state;
    struct arena *a = arena_new();
    const struct kernel *k = build(a, attention(a, 16, 4, false, 1, 32768, NULL), "sm_90a");
    const struct config *c;
    struct layout y;
    int n, pruned;
    expect_size(k, 8, 4);
    kernel_configs(k, a, &c, &n, &pruned);
    assert_null(kernel_layout(k, &c[0], &y, a));
    assert_true(8 * y.split * 10 >= k->limits->units * 9);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_queries),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_first_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
