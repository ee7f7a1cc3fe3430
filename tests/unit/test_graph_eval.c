/* The evaluator against values worked out by hand: primitives, views, types, errors. */
#include <malloc.h>
#include <stdio.h>

#include "graph/eval.h"
#include "graph_test.h"

/* Inputs are 0, 1, 2, ... unless given; the result must be `want`, n of them. */
static void gives(const char *inputs, const char *call, const double *want, int64_t n) {
    struct arena *a = arena_new();
    struct graph *g = one_op(a, inputs, call);
    struct value in[MAX_TEST_VALUES], out;
    random_inputs(g, in);
    for (uint32_t k = 0; k < g->inputs.n; k++)
        for (int64_t i = 0; i < in[k].n; i++) in[k].v[i] = (double)i;
    must_eval(g, in, &out);
    assert_int_equal(out.n, n);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(value_number(&out, i) - want[i]) < 1e-15) &&
            !(value_number(&out, i) != value_number(&out, i) && want[i] != want[i]))
            fail_msg("%s[%lld] = %.17g, expected %.17g", call, (long long)i, value_number(&out, i),
                     want[i]);
    free_values(in, g->inputs.n);
    value_free(&out);
    arena_free(a);
}

#define GIVES(inputs, call, ...)                                                                   \
    gives(inputs, call, (double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

static void test_elementwise(void **state) {
    GIVES("%x: f32[4]", "add(%x, 1)", 1, 2, 3, 4);
    GIVES("%x: f32[2]", "add(%x, 1, alpha=3)", 3, 4);
    GIVES("%x: f32[2]", "sub(10, %x)", 10, 9);
    GIVES("%x: f32[2, 1], %y: f32[3]", "mul(%x, %y)", 0, 0, 0, 0, 1, 2);
    GIVES("%x: f32[2], %y: f32[]", "sub(%x, %y)", 0, 1);
    GIVES("%x: f32[]", "exp(%x)", 1);
    GIVES("%x: i64[4]", "remainder(%x, -3)", 0, -2, -1, 0);
    GIVES("%x: i64[4]", "fmod(%x, -3)", 0, 1, 2, 0);
    GIVES("%x: i64[4]", "floor_divide(%x, -2)", 0, -1, -1, -2);
    GIVES("%x: f32[3]", "floor_divide(%x, -inf)", 0, -1, -1); /* as PyTorch: -1, not NaN */
    GIVES("%x: f32[3]", "ge(%x, 1)", 0, 1, 1);
    GIVES("%x: i64[4]", "bitwise_and(%x, 2)", 0, 0, 2, 2);
    GIVES("%x: f32[3]", "maximum(%x, nan)", NAN, NAN, NAN);
    GIVES("%x: f32[4]", "round(%x)", 0, 1, 2, 3);
    GIVES("%c: bool[3], %x: f32[3]", "where(%c, %x, 9)", 9, 1, 2);
}

/* What an integer has no room for, which no tensor is filled with, may be cast to one. */
static void casts(const char *number, const char *dtype, double want) {
    struct arena *a = arena_new();
    struct value out;
    struct graph *g = must_parse(a, arena_printf(a,
                                                 "graph() {\n  %%f = full([1], %s, dtype=f64)\n"
                                                 "  %%r = to(%%f, %s)\n  return %%r\n}\n",
                                                 number, dtype));
    must_eval(g, NULL, &out);
    assert_true(value_number(&out, 0) == want);
    value_free(&out);
    arena_free(a);
}

static void test_casts(void **state) {
    GIVES("", "full([1], 0.1, dtype=f32)", (float)0.1);
    GIVES("", "full([1], 257, dtype=bf16)", 256);
    GIVES("", "full([1], -2.7, dtype=i32)", -2);
    GIVES("", "full([1], 2147483647, dtype=i32)", 2147483647.0);
    casts("1e300", "i32", -2147483648.0);
    casts("nan", "i64", -0x1p63);
    GIVES("", "full([1], 3, dtype=bool)", 1);
    GIVES("%x: f32[3]", "to(%x, bool)", 0, 1, 1);
    GIVES("", "arange(1, 2, 0.25)", 1, 1.25, 1.5, 1.75);
}

static void test_reductions(void **state) {
    GIVES("%x: f32[2, 3]", "sum(%x)", 15);
    GIVES("%x: f32[2, 3]", "sum(%x, 0)", 3, 5, 7);
    GIVES("%x: f32[2, 3]", "sum(%x, 1, True)", 3, 12);
    GIVES("%x: f32[2, 3, 2]", "sum(%x, [0, 2])", 14, 22, 30);
    GIVES("%x: f32[2, 3]", "amax(%x, 0)", 3, 4, 5);
    GIVES("%x: f32[2, 3]", "amin(%x, 1)", 0, 3);
    GIVES("%x: f32[2, 3]", "cumsum(%x, 1)", 0, 1, 3, 3, 7, 12);
    GIVES("%x: f32[2, 3]", "cumprod(%x, 0)", 0, 1, 2, 0, 4, 10);
    GIVES("%x: i64[3]", "cummin(%x, 0)", 0, 0, 0);
    GIVES("%x: bool[2, 3]", "cumsum(%x, -1)", 0, 1, 2, 1, 2, 3);
    GIVES("%x: f32[2, 3]", "argmax(%x, 0)", 1, 1, 1);
    GIVES("%x: f32[2, 3]", "argmin(%x)", 0);
    GIVES("%x: bool[2, 3]", "argmax(%x, 1, True)", 1, 0);
    GIVES("%x: f32[4]", "prod(%x)", 0);
    GIVES("%x: f32[0]", "prod(%x)", 1);
    GIVES("%x: f32[2, 0]", "sum(%x, 1)", 0, 0);
    GIVES("%x: f32[200000]", "sum(%x)", 199999.0 * 100000);
    GIVES("%x: f32[]", "sum(%x)", 0);
}

static void test_views(void **state) {
    GIVES("%x: f32[2, 3]", "permute(%x, 1, 0)", 0, 3, 1, 4, 2, 5);
    GIVES("%x: f32[2, 3]", "view(%x, 3, 2)", 0, 1, 2, 3, 4, 5);
    GIVES("%x: f32[2, 1]", "expand(%x, 2, 2)", 0, 0, 1, 1);
    GIVES("%x: f32[2]", "expand(%x, 2, 2)", 0, 1, 0, 1);
    GIVES("%x: f32[6]", "slice(%x, 0, 1, 6, 2)", 1, 3, 5);
    GIVES("%x: f32[2, 3]", "slice(%x, 1, -1)", 2, 5);
    GIVES("%x: f32[2, 3]", "transpose(%x, 0, 1)", 0, 3, 1, 4, 2, 5);
    GIVES("%x: f32[2, 2, 2]", "movedim(%x, 0, -1)", 0, 4, 1, 5, 2, 6, 3, 7);
    GIVES("%x: f32[2, 3]", "select(%x, 1, 1)", 1, 4);
    GIVES("%x: f32[2, 3]", "narrow(%x, 1, 1, 2)", 1, 2, 4, 5);
    GIVES("%x: f32[2, 3]", "tril(%x)", 0, 0, 0, 3, 4, 0);
}

static void test_products(void **state) {
    GIVES("%x: f32[2, 2], %y: f32[2, 2]", "mm(%x, %y)", 2, 3, 6, 11);
    GIVES("%x: f32[2, 1, 2], %y: f32[2, 2, 1]", "bmm(%x, %y)", 1, 13);
    GIVES("%x: f32[2, 2], %y: f32[2, 2]", "linear(%x, %y)", 1, 3, 3, 13);
    GIVES("%x: f32[3], %y: f32[3]", "matmul(%x, %y)", 5);
}

static int asked;
static bool asks(void) {
    asked++;
    return false;
}

/* Long ones are to end where the user wants it: they ask meanwhile, not only behind them. */
static void test_products_ask(void **state) {
    static const struct {
        const char *inputs, *call;
    } of[] = {{"%x: f32[2, 2], %y: f32[2, 2]", "mm(%x, %y)"},
              {"%x: f32[2, 2], %y: f32[2, 2]", "linear(%x, %y)"},
              {"%b: f32[2], %x: f32[2, 2], %y: f32[2, 2]", "addmm(%b, %x, %y)"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct arena *a = arena_new();
        struct graph *g = one_op(a, of[i].inputs, of[i].call);
        struct value in[MAX_TEST_VALUES], out;
        random_inputs(g, in);
        g->stopped = asks;
        asked = 0;
        must_eval(g, in, &out);
        if (asked < 2) fail_msg("%s asks once it is done", of[i].call);
        free_values(in, g->inputs.n);
        value_free(&out);
        arena_free(a);
    }
}

static void test_composites(void **state) {
    GIVES("%x: f32[2]", "softmax(%x, 0)", 1 / (1 + exp(1)), 1 / (1 + exp(-1)));
    GIVES("%x: f32[3]", "var(%x)", 1);
    GIVES("%x: f32[3]", "layer_norm(%x, [3], eps=0)", -sqrt(1.5), 0, sqrt(1.5));
    GIVES("%x: f32[2]", "gelu(%x)", 0, 0.84134474606854293);
}

/* Inputs are rounded to their type; outputs that name one node twice, or an input, are separate. */
static void test_leaves_and_outputs(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: bf16[2], %u: f32[3]) {\n  %v = view(%x, [2, 1])\n"
                                    "  return %v, %x, %v, %x\n}");
    double x[] = {257, 0.1}, u[3];
    struct value in[] = {{.v = x, .n = 2}, {.v = u, .n = 3}}, out[4];
    must_eval(g, in, out);
    for (int k = 0; k < 4; k++) {
        assert_true(value_number(&out[k], 0) == 256);
        assert_true(value_number(&out[k], 1) == 0.10009765625);
        for (int m = 0; m < k; m++) assert_ptr_not_equal(out[k].v, out[m].v);
    }
    free_values(out, 4);
    arena_free(a);
}

static void test_symbolic_is_refused(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[s0]) {\n  %y = exp(%x)\n  return %y\n}");
    struct diag d = diag_new(a);
    struct value in = {0}, out;
    assert_false(graph_eval(g, &in, &out, &d));
    assert_non_null(strstr(d.text, "%x: size s0 is not a constant"));
    assert_null(out.v);
    arena_free(a);
}

/* The same seed gives the same numbers, another seed others; elements are those of the stream. */
static void test_random(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph() {\n  %r = rand(3, index=2)\n  return %r\n}");
    struct value one, two;
    must_eval(g, NULL, &one);
    for (uint64_t i = 0; i < 3; i++) assert_true(one.v[i] == random_uniform(0, 2, i));
    g->seed = 1;
    must_eval(g, NULL, &two);
    assert_true(one.v[0] != two.v[0]);
    value_free(&one);
    value_free(&two);
    arena_free(a);
}

/* Numbers of narrow types are those of f32, rounded, in the middle between two as well: kernels
 * draw in f32. */
static void test_random_narrow(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph() {\n  %f = randn(400000, index=2)\n"
                                    "  %b = randn(400000, index=2, dtype=bf16)\n"
                                    "  return %f, %b\n}");
    struct value out[2];
    int ties = 0;
    must_eval(g, NULL, out);
    for (int64_t i = 0; i < out[0].n; i++) {
        float f = (float)out[0].v[i];
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        ties += (bits & 0xffff) == 0x8000;
        assert_true(out[1].v[i] == value_round(DT_BF16, out[0].v[i]));
    }
    assert_true(ties > 2);
    value_free(&out[0]);
    value_free(&out[1]);
    arena_free(a);
}

#define LEAST (-9223372036854775807LL - 1)
#define MOST 9223372036854775807LL

/* One operator on integers that doubles do not hold. */
static void test_integers(void **state) {
    const int64_t x[] = {MOST, LEAST, (1LL << 53) + 1, -7}, y[] = {2, -1, 3, 0};
    const struct {
        const char *call, *type;
        int64_t want[4];
    } cases[] = {
        {"add(%x, %y)", "i64[4]", {LEAST + 1, MOST, (1LL << 53) + 4, -7}},
        {"sub(%x, %y)", "i64[4]", {MOST - 2, LEAST + 1, (1LL << 53) - 2, -7}},
        {"mul(%x, %y)", "i64[4]", {-2, LEAST, 3 * ((1LL << 53) + 1), 0}},
        {"mul(%x, %x)", "i64[4]", {1, 0, (1LL << 54) + 1, 49}},
        {"pow(%x, %y)", "i64[4]", {1, 0, 27021597764222977, 1}},
        {"neg(%x)", "i64[4]", {-MOST, LEAST, -(1LL << 53) - 1, 7}},
        {"abs(%x)", "i64[4]", {MOST, LEAST, (1LL << 53) + 1, 7}},
        {"floor_divide(%x, %y)", "i64[4]", {MOST / 2, LEAST, 3002399751580331, 0}},
        {"remainder(%x, -4)", "i64[4]", {-1, 0, -3, -3}},
        {"fmod(%x, 4)", "i64[4]", {3, 0, 1, -3}},
        {"bitwise_xor(%x, %y)", "i64[4]", {MOST - 2, MOST, (1LL << 53) + 2, -7}},
        {"bitwise_not(%x)", "i64[4]", {LEAST, MOST, -(1LL << 53) - 2, 6}},
        {"bitwise_left_shift(%x, %y)", "i64[4]", {-4, 0, (1LL << 56) + 8, -7}},
        {"bitwise_right_shift(%x, 62)", "i64[4]", {1, -2, 0, -1}},
        {"eq(%x, 9007199254740993)", "bool[4]", {0, 0, 1, 0}},
        {"lt(%x, 9007199254740993)", "bool[4]", {0, 1, 0, 1}},
        {"clamp(%x, 9007199254740993, None)",
         "i64[4]",
         {MOST, (1LL << 53) + 1, (1LL << 53) + 1, (1LL << 53) + 1}},
        {"where(%c, %x, 9223372036854775807)", "i64[4]", {MOST, MOST, (1LL << 53) + 1, MOST}},
        {"cumsum(%x, 0)", "i64[4]", {MOST, -1, 1LL << 53, (1LL << 53) - 7}},
        {"cumprod(%x, 0)", "i64[4]", {MOST, LEAST, LEAST, LEAST}},
        {"flip(%x, [0])", "i64[4]", {-7, (1LL << 53) + 1, LEAST, MOST}},
        {"sum(%x)", "i64[]", {(1LL << 53) - 7}},
        {"to(%x, i32)", "i32[4]", {-1, 0, 1, -7}},
        {"to(%x, u8)", "u8[4]", {255, 0, 1, 249}},
        {"full([4], 9007199254740993)",
         "i64[4]",
         {(1LL << 53) + 1, (1LL << 53) + 1, (1LL << 53) + 1, (1LL << 53) + 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct value out;
        const char *call = cases[i].call;
        char text[512];
        snprintf(text, sizeof text,
                 "graph(%%x: i64[4], %%y: i64[4]) {\n  %%c = gt(%%x, 0)\n  %%r: %s = %s\n"
                 "  return %%r\n}\n",
                 cases[i].type, call);
        struct graph *g = must_parse(a, text);
        struct value in[] = {{.w = (int64_t *)x, .n = 4}, {.w = (int64_t *)y, .n = 4}};
        must_eval(g, in, &out);
        for (int k = 0; k < out.n; k++)
            if (out.w[k] != cases[i].want[k])
                fail_msg("%s[%d] = %lld, expected %lld", call, k, (long long)out.w[k],
                         (long long)cases[i].want[k]);
        value_free(&out);
        arena_free(a);
    }
}

/* What the interpreter holds at most: operands go after their last reader, also those of operators
 * that are computed together, as exp and add are. */
static void test_bytes(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[1000], %y: f32[1000]) {\n  %a = exp(%x)\n"
                                    "  %b = add(%a, %y)\n  %c = cumsum(%b, dim=0)\n"
                                    "  %d = cat([%c, %c, %c], dim=0)\n  return %d\n}\n");
    assert_true(graph_eval_bytes(g) == 4 * 8000); /* c, and three times c */
    arena_free(a);
}

struct taken {
    size_t before, most; /* bytes of the heap: before all, and at most when one was given away */
    uint32_t order[4], n;
    uint32_t last; /* the output that is refused */
};

static size_t heap_bytes(void) { return mallinfo2().uordblks + mallinfo2().hblkhd; }

static bool take(void *ctx, uint32_t i, struct value v, struct diag *d) {
    struct taken *t = ctx;
    size_t now = heap_bytes() - t->before;
    if (now > t->most) t->most = now;
    t->order[t->n++] = i;
    assert_true(v.n == 1 << 18);
    value_free(&v);
    return i != t->last || (diag_fail(d, WS_MACHINE, "enough"), false);
}

/* Each output is given away before what does not need it is begun, one that others read behind the
 * last of them, and one that has two names twice; who takes them may have had enough. */
static void test_each(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph() {\n  %a = randn([262144])\n  %c = bfloat16(%a)\n"
                                    "  %b = randn([262144], index=1)\n  %d = bfloat16(%b)\n"
                                    "  return %b, %c, %d, %d\n}\n");
    struct diag d = diag_new(a);
    const size_t one = (size_t)8 << 18;
    struct taken t = {.before = heap_bytes(), .last = 9};
    struct value_taker taker = {take, &t};
    assert_true(graph_eval_each(g, NULL, &taker, &d));
    assert_int_equal(t.n, 4);
    assert_int_equal(t.order[0], 1);
    if (t.most > 3 * one + one / 2) fail_msg("%zu bytes at most, of %zu an output", t.most, one);
    t = (struct taken){.before = heap_bytes(), .last = 1};
    assert_false(graph_eval_each(g, NULL, &taker, &d));
    assert_int_equal(t.n, 1);
    assert_string_equal(d.message, "enough");
    assert_true(heap_bytes() <= t.before + one / 2);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_products_ask),
        cmocka_unit_test(test_composites),
        cmocka_unit_test(test_leaves_and_outputs),
        cmocka_unit_test(test_symbolic_is_refused),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_random_narrow),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
