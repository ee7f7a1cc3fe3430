/* Single elements of graphs far too large to be evaluated: inputs are functions of the index, so
 * that no tensor is anywhere. That elements are what the interpreter computes is held for every
 * operator and type in test_graph_ops.c, test_graph_decompose.c and test_compile_plain.c. */
#include <stdio.h>

#include "graph_test.h"

enum { DEEP = 1024 };

/* Element `at` of input i, as its type holds it. */
static double element(uint32_t i, int64_t at) {
    uint64_t x = (uint64_t)at * 0x9E3779B97F4A7C15u + (i + 1) * 0xD1B54A32D192ED03u;
    return (double)(float)((double)(x >> 11) * 0x1p-52 - 1);
}

static bool load_elements(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v,
                          int64_t *w, struct diag *d) {
    int64_t below = *(int64_t *)ctx; /* of integers */
    for (int64_t k = 0; k < n; k++)
        if (w)
            w[k] = at[k] % below;
        else
            v[k] = element(i, at[k]);
    return true;
}

static int64_t below = 1 << 20;
static const struct sample_source inputs = {&below, load_elements};

#define PRODUCT                                                                                    \
    "graph(%x: f32[1048576, 1024], %y: f32[1024, 65536]) {\n  %p = matmul(%x, %y)\n"               \
    "  %r = relu(%p)\n  return %r, %p\n}\n"

/* The product by the other order of terms, and in long doubles; off where a fault is planted. */
struct product {
    int64_t planted;
    double off;
};

static bool load_product(void *ctx, uint32_t o, const int64_t *at, int64_t n, double *v, int64_t *w,
                         struct diag *d) {
    const struct product *p = ctx;
    for (int64_t k = 0; k < n; k++) {
        long double sum = 0;
        int64_t row = at[k] / 65536, column = at[k] % 65536;
        for (int64_t t = DEEP; t-- > 0;)
            sum += (long double)element(0, row * DEEP + t) * element(1, t * 65536 + column);
        v[k] = o == 0 && sum < 0 ? 0 : (double)sum;
        if (o == 1 && at[k] == p->planted) v[k] += p->off;
    }
    return true;
}

static struct sample_verdict checked(struct graph *g, struct product *p, uint64_t seed) {
    struct diag d = diag_new(g->arena);
    struct sample_source reference = {p, load_product};
    struct sample_options o = SAMPLE_DEFAULTS;
    struct sample_verdict v;
    o.seed = seed;
    if (!sample_check(g, &inputs, &reference, &o, &v, &d)) fail_msg("%s", d.text);
    return v;
}

/* 2^36 elements of 1024 terms each. */
static void test_large_product(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, PRODUCT);
    struct product right = {-1, 0}, wrong = {0, 1e-9};
    struct sample_verdict v = checked(g, &right, 5);
    assert_false(v.differs);
    assert_int_equal(v.asked, 512);
    assert_true(v.judged >= 256);
    int64_t at[256];
    assert_int_equal(sample_choose(5, 1, 1LL << 36, 256, at), 256);
    wrong.planted = at[1];
    v = checked(g, &wrong, 5);
    assert_true(v.differs);
    assert_int_equal(v.output, 1);
    assert_int_equal(v.element, at[1]);
    assert_true(fabs(v.got - v.want - 1e-9) < 1e-12);
    assert_true(v.allowed > 1e-14 && v.allowed < 1e-9);
    assert_false(checked(g, &wrong, 6).differs); /* others are looked at */
    arena_free(a);
}

/* The same for the same seed, others for another; each once, all over. */
static void test_choice(void **state) {
    enum { N = 256 };
    const int64_t most = 1LL << 45;
    int64_t one[N], two[N], three[N];
    assert_int_equal(sample_choose(1, 0, most, N, one), N);
    assert_int_equal(sample_choose(1, 0, most, N, two), N);
    assert_memory_equal(one, two, sizeof one);
    assert_int_equal(sample_choose(2, 0, most, N, three), N);
    assert_memory_not_equal(one, three, sizeof one);
    bool met[N] = {false}, odd = false;
    for (int i = 0; i < N; i++) {
        int64_t stretch = one[i] / (most / N);
        assert_true(one[i] >= 0 && one[i] < most && !met[stretch]);
        met[stretch] = true;
        odd |= one[i] % 2;
    }
    assert_true(odd);
    assert_int_equal(sample_choose(1, 0, 3, N, one), 3);
    assert_int_equal(one[0] + one[1] + one[2], 3);
    assert_int_equal(sample_choose(1, 0, 0, N, one), 0);
}

/* One element of output 0, from text; returns how. */
static enum sampled one(const char *text, int64_t at, int64_t budget, double *v, int64_t *spent,
                        const char **why) {
    static char said[256];
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct graph *g = graph_simplify(graph_decompose_but_landings(must_parse(a, text)));
    struct sampler *s = sampler_new(g, &inputs, &d);
    if (!s) fail_msg("%s", d.text);
    enum sampled how = sample_elements(s, 0, &at, 1, budget, v, NULL, spent, &d);
    snprintf(said, sizeof said, "%s", d.text ? d.text : "");
    *why = said;
    arena_free(a);
    return how;
}

/* A fraction of what is there is read, and each element of it once. */
static void test_reads_little(void **state) {
    double v;
    int64_t spent;
    const char *why;
    const char *attention = "graph(%q: f32[32, 32, 512, 1024], %k: f32[32, 32, 512, 1024], %v: "
                            "f32[32, 32, 512, 1024]) {\n"
                            "  %a = scaled_dot_product_attention(%q, %k, %v)\n  return %a\n}\n";
    assert_int_equal(one(attention, 1 << 28, 4 << 20, &v, &spent, &why), SAMPLED);
    assert_true(spent < 5 * 512 * 1024); /* 512 dots of 1024 */
    const char *table = "graph(%i: i64[64, 4096], %w: f32[1048576, 8192]) {\n"
                        "  %e = embedding(%i, %w)\n  return %e\n}\n";
    assert_int_equal(one(table, 5 * 8192 + 17, 100, &v, &spent, &why), SAMPLED);
    assert_true(v == element(1, 5 * 8192 + 17));
    const char *scan = "graph(%x: f32[1000000, 1000000]) {\n  %c = cumsum(%x, 1)\n  return %c\n}\n";
    assert_int_equal(one(scan, 1000002, 100, &v, &spent, &why), SAMPLED);
    assert_true(v == element(0, 1000000) + element(0, 1000001) + element(0, 1000002));
    assert_int_equal(spent, 3);
}

static void test_refuses(void **state) {
    double v;
    int64_t spent;
    const char *why;
    const char *sum = "graph(%x: f32[1000000, 1000000]) {\n  %s = sum(%x)\n  return %s\n}\n";
    assert_int_equal(one(sum, 0, 4 << 20, &v, &spent, &why), SAMPLE_REFUSED);
    const char *scan = "graph(%x: f32[1000000, 1000000]) {\n  %c = cumsum(%x, 0)\n  return %c\n}\n";
    assert_int_equal(one(scan, 999999000000, 900000, &v, &spent, &why), SAMPLE_REFUSED);
    const char *product = "graph(%x: f32[4, 1000], %y: f32[1000, 4]) {\n"
                          "  %p = matmul(%x, %y)\n  return %p\n}\n";
    assert_int_equal(one(product, 0, 1999, &v, &spent, &why), SAMPLE_REFUSED);
    assert_int_equal(one(product, 0, 4001, &v, &spent, &why), SAMPLED);
    const char *deep =
        "graph(%x: f32[1000, 300], %y: f32[300, 1000]) {\n"
        "  %p = matmul(%x, %y)\n  %r = relu(%p)\n  %s = sum(%r, [1])\n  return %s\n}\n";
    int64_t all = 1000 + 1000 + 2 * 1000 * 300; /* of the sum, of relu, of products */
    assert_int_equal(one(deep, 0, all - 1, &v, &spent, &why), SAMPLE_REFUSED);
    assert_int_equal(spent, 0); /* before anything is looked at */
    assert_int_equal(one(deep, 0, all, &v, &spent, &why), SAMPLED);
    const char *table = "graph(%i: i64[2097152], %w: f32[1000000, 2]) {\n"
                        "  %e = embedding(%i, %w)\n  return %e\n}\n";
    assert_int_equal(one(table, 2 * 1048000, 100, &v, &spent, &why), SAMPLE_FAILED);
    assert_non_null(
        strstr(why, "index 1048000 is out of bounds for dimension 0 with size 1000000"));
}

/* What is refused is counted as not judged. */
static void test_counts_refused(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[1048576, 1024], %y: f32[1024, 65536]) {\n"
                                    "  %p = matmul(%x, %y)\n  %s = sum(%x)\n  return %s, %p\n}\n");
    struct product right = {-1, 0};
    struct sample_verdict v = checked(g, &right, 5);
    assert_false(v.differs);
    assert_int_equal(v.asked, 257);
    assert_true(v.judged >= 128 && v.judged <= 256);
    arena_free(a);
}

/* Elements of inputs that were read, and of a reference that has none. */
struct reads {
    int64_t n;
};

static bool count_reads(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v, int64_t *w,
                        struct diag *d) {
    ((struct reads *)ctx)->n += n;
    for (int64_t k = 0; k < n; k++) v[k] = 1;
    return true;
}

static bool load_depth(void *ctx, uint32_t o, const int64_t *at, int64_t n, double *v, int64_t *w,
                       struct diag *d) {
    for (int64_t k = 0; k < n; k++) v[k] = 500;
    return true;
}

/* Of many outputs, of one element and of many, no more is read than the budget for all allows, and
 * most of that is used. */
static void test_budget(void **state) {
    enum { OUTPUTS = 48, DEPTH = 500, LEAST = 2 * DEPTH };
    for (int rows = 1; rows <= 64; rows *= 4)
        for (int64_t all = 4000; all <= 1 << 20; all *= 2) {
            struct arena *a = arena_new();
            struct diag d = diag_new(a);
            struct buf b = buf_new(a);
            for (int i = 0; i < OUTPUTS; i++)
                buf_printf(&b, "%s%%x%d: f32[%d, %d]", i ? ", " : "graph(", i, rows, DEPTH);
            buf_puts(&b, ") {\n");
            for (int i = 0; i < OUTPUTS; i++) buf_printf(&b, " %%s%d = sum(%%x%d, 1)\n", i, i);
            for (int i = 0; i < OUTPUTS; i++) buf_printf(&b, "%s%%s%d", i ? ", " : " return ", i);
            buf_puts(&b, "\n}\n");
            struct reads reads = {0};
            struct sample_source in = {&reads, count_reads}, reference = {NULL, load_depth};
            struct sample_options o = {3, 256, 1 << 20, all};
            struct sample_verdict v;
            if (!sample_check(must_parse(a, b.p), &in, &reference, &o, &v, &d))
                fail_msg("%s", d.text);
            int64_t wanted = (int64_t)OUTPUTS * rows,
                    most = all < wanted * DEPTH ? all : wanted * DEPTH;
            assert_false(v.differs);
            assert_int_equal(v.asked, wanted);
            if (reads.n > all || (all > 64 * LEAST && reads.n < most / 8))
                fail_msg("%lld of %lld read for %lld of %lld elements", (long long)reads.n,
                         (long long)all, (long long)v.judged, (long long)wanted);
            arena_free(a);
        }
}

struct portions {
    int64_t reads, most; /* in all; at once */
};

static bool load_portion(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v, int64_t *w,
                         struct diag *d) {
    struct portions *p = ctx;
    p->reads += n;
    if (n > p->most) p->most = n;
    for (int64_t k = 0; k < n; k++) v[k] = 1;
    return true;
}

static bool load_constant(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v,
                          int64_t *w, struct diag *d) {
    for (int64_t k = 0; k < n; k++) v[k] = *(double *)ctx;
    return true;
}

/* 256 elements of 2 x 4096 terms each are not in memory together; 7 that all read the same million
 * are not read one by one. */
static void test_in_portions(void **state) {
    static const struct {
        const char *text;
        double is;
        int64_t judged, reads, most;
    } cases[] = {
        {"graph(%x: f32[1048576, 4096], %y: f32[4096, 65536]) {\n %p = matmul(%x, %y)\n"
         " return %p\n}\n",
         4096, 256, 256 * 2 * 4096, 1 << 18},
        {"graph(%x: f32[1024, 1024]) {\n %m = sum(%x)\n %r = sub(%m, %x)\n return %r\n}\n",
         (1 << 20) - 1, 7, 4 << 20, 1 << 20},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct portions read = {0};
        double is = cases[k].is;
        struct sample_source in = {&read, load_portion}, reference = {&is, load_constant};
        struct sample_options o = SAMPLE_DEFAULTS;
        struct sample_verdict v;
        if (!sample_check(must_parse(a, cases[k].text), &in, &reference, &o, &v, &d))
            fail_msg("%s", d.text);
        assert_false(v.differs);
        if (v.judged < cases[k].judged || read.reads > cases[k].reads || read.most > cases[k].most)
            fail_msg("%lld judged of %lld reads, %lld at once", (long long)v.judged,
                     (long long)read.reads, (long long)read.most);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_product),  cmocka_unit_test(test_choice),
        cmocka_unit_test(test_reads_little),   cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_counts_refused), cmocka_unit_test(test_budget),
        cmocka_unit_test(test_in_portions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
