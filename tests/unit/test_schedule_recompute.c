/* test_schedule_recompute.c: which values are computed again by the kernels that read them, and
 * that the schedule is sound afterwards. */
#include "lower_test.h"

struct test {
    const char *text;
    uint32_t kernels;
    const char *log; /* of the pass; NULL: it does nothing */
};

static void check(const struct test *t) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    struct schedule *s = must_schedule(a, t->text, "", &limits, false); /* verifies */
    const char *log = strstr(s->log.p, "computed again");
    if (!log != !t->log || (log && !strstr(s->log.p, t->log)))
        fail_msg("%s\nexpected %s in\n%s", t->text, t->log ? t->log : "nothing", s->log.p);
    if (s->groups.n != t->kernels)
        fail_msg("%s\n%u kernels, expected %u\n%s", t->text, s->groups.n, t->kernels, s->log.p);
    const char *why = loops_verify(s->loops);
    if (why) fail_msg("%s\n%s", why, t->text);
    arena_free(a);
}

static void check_all(const struct test *tests, size_t n) {
    for (size_t i = 0; i < n; i++) check(&tests[i]);
}
#define CHECK(tests) check_all(tests, sizeof tests / sizeof *tests)

/* Sums over rows and over columns are two kernels. */
static void test_two_reductions(void **state) {
    static const struct test tests[] = {
        /* e is written and read once; then x is read instead of it */
        {"graph(%x: f32[8, 6]) {\n %e = exp(%x)\n %s = sum(%e, 1)\n %c = sum(%e, 0)\n return %s, "
         "%c\n}\n",
         2, "e: computed again where it is read, saves 192 bytes\n"},
        /* two operands instead of one: the write alone is saved, and a read more costs as much */
        {"graph(%x: f32[8, 6], %y: f32[8, 6]) {\n %e = mul(%x, %y)\n %s = sum(%e, 1)\n %c = "
         "sum(%e, "
         "0)\n return %s, %c\n}\n",
         2, NULL},
        /* a row more is not much */
        {"graph(%x: f32[8, 6], %y: f32[6]) {\n %e = mul(%x, %y)\n %s = sum(%e, 1)\n %c = sum(%e, "
         "0)\n return %s, %c\n}\n",
         2, "e: computed again where it is read, saves 168 bytes\n"},
        /* an output is stored anyway */
        {"graph(%x: f32[8, 6]) {\n %e = exp(%x)\n %s = sum(%e, 1)\n %c = sum(%e, 0)\n return %s, "
         "%c, "
         "%e\n}\n",
         2, NULL},
        /* through a chain, to what is in memory */
        {"graph(%x: f32[8, 6]) {\n %a = neg(%x)\n %e = exp(%a)\n %s = sum(%e, 1)\n %c = sum(%e, "
         "0)\n "
         "return %s, %c\n}\n",
         2, "e: computed again where it is read"},
    };
    CHECK(tests);
}

/* Two ways to one value: it is made once, and nothing is left in memory. */
static void test_diamond(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    struct schedule *s = must_schedule(
        a,
        "graph(%x: f32[64, 48]) {\n %n = neg(%x)\n %e = exp(%n)\n %y = mul(%n, %e)\n %s = sum(%y, "
        "1)\n %c = sum(%y, 0)\n return %s, %c\n}\n",
        "", &limits, false);
    assert_non_null(strstr(s->log.p, "y: computed again"));
    assert_int_equal(s->groups.n, 2);
    assert_int_equal(s->pool_bytes, 0);
    arena_free(a);
}

/* A value of a row is small; made again for each element it would be much work. */
static void test_work(void **state) {
    static const struct test tests[] = {
        {"graph(%x: f32[64, 64]) {\n %s = sum(%x, 1, True)\n %r = rsqrt(%s)\n %y = mul(%x, %r)\n "
         "%c = sum(%y, 0)\n return %c\n}\n",
         2, NULL},
    };
    CHECK(tests);
}

/* With few, long rows the reductions stay alone; exp joins its readers, and its kernel is gone. */
static void test_kernel_goes(void **state) {
    static const struct test tests[] = {
        {"graph(%x: f32[2, 131072]) {\n %y = softmax(%x, 1)\n return %y\n}\n", 3,
         "exp: computed again where it is read"},
        /* of calls only exp and the root are much work */
        {"graph(%x: f32[2, 131072]) {\n %a = abs(%x)\n %m = maximum(%a, 0.5)\n %n = minimum(%m, "
         "9.0)"
         "\n %e = exp(%n)\n %q = sqrt(%e)\n %s = sum(%q, 1, True)\n %y = sub(%q, %s)\n return "
         "%y\n}\n",
         2, "q: computed again where it is read, saves 1048576 bytes\n"},
    };
    CHECK(tests);
}

/* Much work, which its reader has time for while memory is at what else it moves, or has not. */
static void test_hidden(void **state) {
    static const struct test tests[] = {
        {"graph(%x: f32[2, 131072], %u: f32[2, 131072], %v: f32[2, 131072], %w: f32[2, 131072]) {\n"
         " %a = sin(%x)\n %b = cos(%a)\n %c = erf(%b)\n %d = exp(%c)\n %e = log(%d)\n"
         " %f = tanh(%e)\n %s = sum(%f, 1, True)\n %t = mul(%f, %s)\n %p = mul(%u, %v)\n"
         " %q = mul(%p, %w)\n %y = add(%t, %q)\n return %y\n}\n",
         2, "f: computed again where it is read, saves 1048576 bytes\n"},
        {"graph(%x: f32[2, 131072]) {\n %a = sin(%x)\n %b = cos(%a)\n %c = erf(%b)\n"
         " %d = exp(%c)\n %e = log(%d)\n %f = tanh(%e)\n %s = sum(%f, 1, True)\n"
         " %y = mul(%f, %s)\n return %y\n}\n",
         2, NULL},
    };
    CHECK(tests);
}

/* What it stores moves no less for each value alone; together, its reads are saved, too. */
static void test_kernel_goes_whole(void **state) {
    static const struct test tests[] = {
        {"graph(%x: f32[8, 6], %y: f32[8, 6]) {\n %g = mul(%x, %y)\n %t = slice(%g, 0, 0, 7)\n"
         " %u = slice(%g, 0, 1, 8)\n %s = sum(%t, 1)\n %c = sum(%u, 0)\n return %s, %c\n}\n",
         2, "g: its kernel's values are computed again where they are read, saves 192 bytes\n"},
        /* the work of two places is more than it saves */
        {"graph(%x: f32[8, 6], %y: f32[8, 6]) {\n %e = exp(%x)\n %f = sin(%e)\n %h = erf(%f)\n"
         " %i = log(%h)\n %g = mul(%i, %y)\n %t = slice(%g, 0, 0, 7)\n %u = slice(%g, 0, 1, 8)\n"
         " %s = sum(%t, 1)\n %c = sum(%u, 0)\n return %s, %c\n}\n",
         3, NULL},
    };
    CHECK(tests);
}

/* Of a product's result that is masked and widened the masked one is stored: who reads it wants no
 * mask. */
static void test_masked_result(void **state) {
    static const struct test tests[] = {
        {"graph(%x: bf16[65536, 32], %w: bf16[32, 64], %c: bool[65536, 64]) {\n %m = mm(%x, %w)\n "
         "%t "
         "= "
         "where(%c, 0.0, %m)\n %f = convert(%t, f32)\n %s = sum(%f, 0)\n %y = sub(%f, %s)\n"
         " return %y\n}\n",
         2, "f: computed again where it is read, saves 16777216 bytes\n"},
    };
    CHECK(tests);
}

/* A sum is stored as it is rounded, through what is added to it, and made wider where it is read;
 * what lands on rows makes a value of a row, or of a source, once for each; few bytes hide no
 * work. */
static void test_rounded_sums(void **state) {
    static const struct test tests[] = {
        {"graph(%x: bf16[4096, 64]) {\n %w = float(%x)\n %s = sum(%w, 1)\n %p = add(%s, 1)\n"
         " %a = bfloat16(%p)\n %f = float(%a)\n %e = mul(%f, 2)\n %m = sum(%e, 0)\n"
         " %d = div(%e, %m)\n %b = bfloat16(%d)\n return %b\n}\n",
         2, "e: computed again where it is read, saves 16384 bytes"},
        {"graph(%x: bf16[8192], %i: i64[8192], %s: bf16[8192]) {\n %g = sigmoid(%x)\n"
         " %f = float(%g)\n %q = mul(%f, %f)\n %m = sum(%q, 0)\n %z = zeros([8192], bf16)\n"
         " %a = index_add(%z, 0, %i, %s)\n %h = float(%a)\n %d = div(%f, %m)\n"
         " %y = add(%h, %d)\n return %y\n}\n",
         2, "to: computed again where it is read"},
    };
    CHECK(tests);
}

/* A reduction is never computed again, nor what a product of matrices reads. */
static void test_never(void **state) {
    static const struct test tests[] = {
        {"graph(%x: f32[8, 6], %w: f32[6, 4]) {\n %e = exp(%x)\n %m = mm(%e, %w)\n %c = sum(%e, "
         "0)\n "
         "return %m, %c\n}\n",
         2, NULL},
        {"graph(%x: f32[8, 8]) {\n %s = sum(%x, 1, True)\n %d = sub(%x, %s)\n %c = sum(%d, 0)\n %q "
         "= "
         "prod(%d, 1)\n return %c, %q\n}\n",
         2, "computed again where it is read, saves"}, /* but its result is stored for that */
    };
    CHECK(tests);
}

/* A mask of positions, or of little, is made again behind a product, but for a factor it is stored.
 */
static void test_masks(void **state) {
    static const struct test tests[] = {
        {"graph(%x: f32[8, 6], %w: f32[6, 4]) {\n %m = mm(%x, %w)\n %t = triu(%m)\n return %t\n}\n",
         1, "ge: computed again where it is read, saves 64 bytes\n"},
        {"graph(%x: f32[8, 6], %w: f32[6, 4], %v: f32[6, 4]) {\n %m = mm(%x, %w)\n %t = triu(%m)\n"
         " %q = mm(%x, %v)\n %u = triu(%q)\n return %t, %u\n}\n",
         2, "ge: computed again where it is read"},
        /* of many matrices, which are many times its bytes: a load takes no less */
        {"graph(%x: f32[512, 8, 6], %w: f32[512, 6, 8], %v: f32[512, 6, 8]) {\n"
         " %i = arange(0, 8, 1)\n %j = unsqueeze(%i, 1)\n %b = le(%i, %j)\n %m = bmm(%x, %w)\n"
         " %t = where(%b, %m, 0.0)\n %q = bmm(%x, %v)\n %u = where(%b, %q, 1.0)\n"
         " return %t, %u\n}\n",
         2, "b: computed again where it is read, saves 192 bytes\n"},
        /* nor does what rows and columns have, of which a mask is 64 times as much */
        {"graph(%x: f32[128, 64, 6], %w: f32[128, 6, 64], %v: f32[128, 6, 64], %d: bool[64]) {\n"
         " %i = unsqueeze(%d, 1)\n %b = eq(%i, %d)\n %m = bmm(%x, %w)\n"
         " %t = where(%b, %m, 0.0)\n %q = bmm(%x, %v)\n %u = where(%b, %q, 1.0)\n"
         " return %t, %u\n}\n",
         2, "b: computed again where it is read"},
        {"graph(%x: f32[128, 63, 6], %w: f32[128, 6, 63], %v: f32[128, 6, 63], %d: bool[63]) {\n"
         " %i = unsqueeze(%d, 1)\n %b = eq(%i, %d)\n %m = bmm(%x, %w)\n"
         " %t = where(%b, %m, 0.0)\n %q = bmm(%x, %v)\n %u = where(%b, %q, 1.0)\n"
         " return %t, %u\n}\n",
         3, NULL},
        {"graph(%x: f32[8, 6], %w: f32[6, 4]) {\n %a = tril(%x)\n %m = mm(%a, %w)\n return %m\n}\n",
         2, NULL},
    };
    CHECK(tests);
}

/* Behind a product a value is made again of what it is made of, which lies in memory. */
static void test_behind_products(void **state) {
    static const struct test tests[] = {
        {"graph(%a: f32[64, 32], %w: f32[32, 48], %x: f32[64, 48]) {\n %e = exp(%x)\n"
         " %c = sum(%e, 0)\n %m = mm(%a, %w)\n %y = mul(%m, %e)\n return %c, %y\n}\n",
         2, "e: computed again where it is read, saves 12288 bytes\n"},
        /* two operands for one: as many bytes are read more as are not written */
        {"graph(%a: f32[64, 32], %w: f32[32, 48], %x: f32[64, 48], %z: f32[64, 48]) {\n"
         " %e = mul(%x, %z)\n %c = sum(%e, 0)\n %m = mm(%a, %w)\n %y = mul(%m, %e)\n"
         " return %c, %y\n}\n",
         2, NULL},
        /* what puts a product into another order is stored, and not the product */
        {"graph(%a: bf16[64, 32], %w: bf16[32, 48]) {\n %m = mm(%a, %w)\n"
         " %p = permute(%m, [1, 0])\n %l = convert(%p, bf16)\n %f = convert(%l, f32)\n"
         " %c = sum(%f, 1, True)\n %y = sub(%f, %c)\n %z = exp(%y)\n return %z\n}\n",
         1, NULL},
    };
    CHECK(tests);
}

/* ... if these are not too many instructions: 250 of what is there, 6 of the chain. */
#define LONG_EPILOGUE(behind, last)                                                                \
    "graph(%a: f32[64, 32], %w: f32[32, 48], %x: f32[64, 48], %z: f32[64, 48]) {\n"                \
    " %n = neg(%x)\n %e = exp(%n)\n %c = sum(%e, 0)\n %m = mm(%a, %w)\n %y0 = mul(%m, %e)\n"       \
    " %y1 = erf(%y0)\n %y2 = erf(%y1)\n %y3 = erf(%y2)\n %y4 = erf(%y3)\n %y5 = erf(%y4)\n"        \
    " %y6 = erf(%y5)\n %y7 = erf(%y6)\n %y8 = erf(%y7)\n %y9 = erf(%y8)\n %y10 = erf(%y9)\n"       \
    " %y11 = erf(%y10)\n" behind " return %c, " last "\n}\n"

static void test_room_behind_products(void **state) {
    static const struct test tests[] = {
        {LONG_EPILOGUE(" %p = mul(%y11, %z)\n %q = neg(%p)\n", "%q"), 2,
         "e: computed again where it is read, saves 12288 bytes\n"},
        {LONG_EPILOGUE(" %p = neg(%y11)\n %q = abs(%p)\n %r = neg(%q)\n", "%r"), 2, NULL},
    };
    _Static_assert(GROUP_MAX_EPILOGUE == 256, "250 and 6");
    CHECK(tests);
}

#define DEQUANTISED(rows, type)                                                                    \
    "graph(%x: bf16[" rows ", 4096], %w: " type "[1024, 4096], %s: bf16[1024, 1]) {\n"             \
    " %f = bfloat16(%w)\n %d = mul(%f, %s)\n %t = permute(%d, [1, 0])\n %y = mm(%x, %t)\n"         \
    " return %y\n}\n"

/* A product's factor is made where it is read, if one tile wants it, and it is worth it. */
static void test_factors(void **state) {
    static const struct test tests[] = {
        {DEQUANTISED("1", "i8"), 1, "computed again where it is read, saves"},
        {DEQUANTISED("16", "i8"), 1, "computed again where it is read, saves"},
        {DEQUANTISED("16", "f8e4m3"), 1, "computed again where it is read, saves"},
        {DEQUANTISED("128", "bf16"), 1, "computed again where it is read, saves"},
        {DEQUANTISED("129", "i8"), 2, NULL}, /* for two tiles it would be made twice */
        /* what two products read */
        {"graph(%x: bf16[16, 4096], %w: i8[4096, 1024], %v: bf16[16, 4096]) {\n"
         " %f = bfloat16(%w)\n %y = mm(%x, %f)\n %z = mm(%v, %f)\n return %y, %z\n}\n",
         2, "computed again where it is read, saves"},
        /* of a table only what is looked up is read */
        {"graph(%x: bf16[16, 1024], %w: bf16[100000, 1024], %i: i64[4096]) {\n"
         " %f = index(%w, [%i], [0])\n %t = permute(%f, [1, 0])\n %y = mm(%x, %t)\n return %y\n}\n",
         1, "computed again where it is read, saves"},
        /* a choice between two tensors, and among so many that each element takes long to find */
        {"graph(%x: bf16[16, 4096], %w: i8[2048, 1024], %v: i8[2048, 1024]) {\n"
         " %c = cat([%w, %v], 0)\n %f = bfloat16(%c)\n %y = mm(%x, %f)\n return %y\n}\n",
         1, "computed again where it is read, saves"},
        {"graph(%a: bf16[2048, 64], %b: bf16[2048, 64], %c: bf16[2048, 64], %d: bf16[2048, 64],"
         " %e: bf16[2048, 64], %f: bf16[2048, 64]) {\n"
         " %x = cat([%a, %b, %c, %d, %e, %f], 1)\n %v = view(%x, [2048, 6, 64])\n"
         " %t = permute(%v, [0, 2, 1])\n %y = bmm(%v, %t)\n return %y\n}\n",
         2, NULL},
        /* much work, and of many tensors */
        {"graph(%x: bf16[16, 4096], %w: bf16[4096, 1024], %a: bf16[4096, 1], %b: bf16[4096, 1]) {\n"
         " %p = mul(%w, %a)\n %q = add(%p, %b)\n %r = sigmoid(%q)\n %f = mul(%r, %q)\n"
         " %y = mm(%x, %f)\n return %y\n}\n",
         1, "computed again where it is read, saves"},
        {"graph(%x: bf16[16, 4096], %w: bf16[4096, 1024], %a: bf16[4096, 1], %b: bf16[4096, 1],\n"
         " %m: bf16[4096, 1]) {\n %o = sub(%w, %m)\n %p = mul(%o, %a)\n %q = add(%p, %b)\n"
         " %r = sigmoid(%q)\n %f = mul(%r, %q)\n %y = mm(%x, %f)\n return %y\n}\n",
         2, NULL},
        /* small ones, and what is stored anyway */
        {"graph(%x: bf16[16, 32], %w: i8[32, 64]) {\n %f = bfloat16(%w)\n %y = mm(%x, %f)\n"
         " return %y\n}\n",
         2, NULL},
        {"graph(%x: bf16[16, 4096], %w: i8[4096, 1024]) {\n %f = bfloat16(%w)\n"
         " %y = mm(%x, %f)\n return %y, %f\n}\n",
         2, NULL},
    };
    CHECK(tests);
}

#define ATTENTION(keys, columns)                                                                   \
    "graph(%q: bf16[64, 64, 32], %k: bf16[64, 32, " keys "], %v: bf16[64, " keys ", " columns "])" \
    " {\n %s = mul(%q, 0.125)\n %d = bmm(%s, %k)\n %p = softmax(%d, -1)\n"                         \
    " %o = bmm(%p, %v)\n return %o\n}\n"

/* A factor stays a tensor where two products may be one kernel then, if that is less to move. */
static void test_chained_factors(void **state) {
    static const struct test tests[] = {
        {ATTENTION("64", "32"), 3, NULL},
        {ATTENTION("64", "512"), 2, "s: computed again where it is read, saves 262144 bytes"},
        {ATTENTION("8", "32"), 2, "s: computed again where it is read, saves 262144 bytes"},
        /* what is moved is a tensor where it lies */
        {"graph(%q: bf16[2, 64, 64], %k: bf16[64, 64, 64], %v: bf16[64, 64, 32]) {\n"
         " %u = unsqueeze(%q, 1)\n %e = expand(%u, [2, 32, 64, 64])\n %c = clone(%e)\n"
         " %s = view(%c, [64, 64, 64])\n %d = bmm(%s, %k)\n %p = softmax(%d, -1)\n"
         " %o = bmm(%p, %v)\n return %o\n}\n",
         2, "computed again where it is read, saves"},
    };
    CHECK(tests);
}

#define CONVOLVED(source)                                                                          \
    "graph(%x: bf16[8, 64, 32, 32], %w: bf16[1, 64, 64, 3, 3], %s: f32[8, 16]) {\n" source         \
    " %v = view(%y, [8, 1, 64, 32, 32])\n"                                                         \
    " %c = convolve(%v, %w, [1, 1], [1, 1], [1, 1], False, [32, 32])\n return %c\n}\n"

/* Windows want an element nine times: what is made at the places of an image's pixels is made in
 * the pass that puts channels innermost; what is not, or lies so, has a kernel of its own. */
static void test_windows(void **state) {
    static const struct test tests[] = {
        {CONVOLVED(" %y = relu(%x)\n"), 1, "y: computed again where it is read, saves"},
        /* each four channels have a scale of their own */
        {CONVOLVED(" %i = view(%x, [8, 16, 4096])\n %t = unsqueeze(%s, 2)\n %m = mul(%i, %t)\n"
                   " %b = bfloat16(%m)\n %y = view(%b, [8, 64, 32, 32])\n"),
         2, NULL},
        /* several images, each with some of the channels */
        {CONVOLVED(" %a = slice(%x, 1, 0, 32)\n %b = slice(%x, 1, 32, 64)\n %n = neg(%b)\n"
                   " %y = cat([%a, %n], 1)\n"),
         2, NULL},
        /* channels are innermost */
        {CONVOLVED(" %p = view(%x, [8, 32, 32, 64])\n %r = relu(%p)\n"
                   " %y = permute(%r, [0, 3, 1, 2])\n"),
         2, NULL},
    };
    static const char *const why[] = {NULL, "windows would have it made for each of their taps\n",
                                      "windows would have it made for each of their taps\n",
                                      "windows are read from where it lies\n"};
    CHECK(tests);
    struct device_limits limits = test_gpu("sm_90a");
    for (int i = 1; i < 4; i++) {
        struct arena *a = arena_new();
        struct schedule *s = must_schedule(a, tests[i].text, "", &limits, false);
        if (!strstr(s->log.p, why[i]))
            fail_msg("%s\nexpected %s in\n%s", tests[i].text, why[i], s->log.p);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_reductions),
        cmocka_unit_test(test_diamond),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_kernel_goes),
        cmocka_unit_test(test_kernel_goes_whole),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_masked_result),
        cmocka_unit_test(test_rounded_sums),
        cmocka_unit_test(test_never),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_chained_factors),
        cmocka_unit_test(test_behind_products),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_room_behind_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
