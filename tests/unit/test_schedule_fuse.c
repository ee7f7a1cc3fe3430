/* test_schedule_fuse.c: which nests become one kernel and why others do not, one graph per rule and
 * per refusal; then launch order, the memory plan, and each invariant of schedule.h broken by hand
 * and found. */
#include "lower_test.h"

struct fusion {
    const char *text;
    uint32_t kernels;
    const char *log[3]; /* lines that the log must hold */
};

static void check_all(const struct fusion *cases, size_t n, const struct device_limits *limits,
                      bool eager) {
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct schedule *s = must_schedule(a, cases[i].text, "", limits, eager);
        for (int k = 0; k < 3 && cases[i].log[k]; k++)
            if (!strstr(s->log.p, cases[i].log[k]))
                fail_msg("%s\nexpected %s in\n%s", cases[i].text, cases[i].log[k], s->log.p);
        if (s->groups.n != cases[i].kernels)
            fail_msg("%s\n%u kernels, expected %u\n%s", cases[i].text, s->groups.n,
                     cases[i].kernels, s->log.p);
        arena_free(a);
    }
}

static void check(const struct fusion *cases, size_t n) {
    struct device_limits limits = test_gpu("sm_90a");
    check_all(cases, n, &limits, false);
}
#define CHECK(cases) check(cases, sizeof cases / sizeof *cases)

/* ---- what fuses ------------------------------------------------------------------------------ */

static void test_producer_and_reader(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 6]) {\n %a = exp(%x)\n %b = neg(%a)\n return %b\n}\n",
         1,
         {"a  with  b: fused, saves 384 bytes\n"}}, /* a is neither written nor read */
        {"graph(%x: f32[8, 6]) {\n %a = exp(%x)\n %b = neg(%a)\n return %a, %b\n}\n",
         1,
         {"a  with  b: fused, saves 192 bytes\n"}}, /* a is an output: only one read less */
        {"graph(%x: f32[8, 6]) {\n %s = sum(%x, 1, True)\n %y = div(%x, %s)\n return %y\n}\n",
         1,
         {"s  with  y: fused, saves 256 bytes\n"}}, /* a row's sum is read at its own row */
        {"graph(%x: f32[8, 6]) {\n %a = exp(%x)\n %s = sum(%a, 0)\n return %s\n}\n",
         1,
         {"a  with  s: fused"}},
        {"graph(%x: f32[8, 6]) {\n %s = sum(%x, 1)\n %r = sqrt(%s)\n return %r\n}\n",
         1,
         {"s  with  r: fused, saves 64 bytes\n"}}, /* what follows per row */
        {"graph(%x: f32[2, 3, 4]) {\n %s = sum(%x, [0, 2], True)\n %y = sub(%x, %s)\n return "
         "%y\n}\n",
         1,
         {"s  with  y: fused"}},
    };
    CHECK(cases);
}

/* A product stores what it comes to in the order that is wanted, whoever else would have the copy:
 * here what is reduced of %z, which comes before it. */
static void test_copy_of_product(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: bf16[2, 16, 8, 8], %w: bf16[512, 16, 1, 1], %z: bf16[2, 8, 8, 512]) {\n"
         " %s = sum(%z, [0, 1, 2])\n %d = sub(%z, %s)\n %c = convolution(%x, %w)\n"
         " %p = permute(%c, [0, 2, 3, 1])\n %l = convert(%p, dtype=bf16)\n"
         " %y = add(%d, %l)\n %m = amax(%y, [0, 1, 2])\n return %y, %m\n}\n",
         2,
         {"convolve  with  l: fused"}},
    };
    CHECK(cases);
}

static void test_shared_input(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 6]) {\n %a = exp(%x)\n %b = neg(%x)\n return %a, %b\n}\n",
         1,
         {"a  with  b: fused, saves 192 bytes\n"}},
        {"graph(%x: f32[8, 6]) {\n %s = sum(%x, 1)\n %m = amax(%x, 1)\n return %s, %m\n}\n",
         1,
         {"s  with  m: fused"}},
        {"graph(%x: f32[8, 8]) {\n %s = sum(%x, 1)\n %m = sum(%x, 0)\n return %s, %m\n}\n",
         2, /* row k and column k have one element in common */
         {"s  with  m: not fused: 8 rows cannot fill 132 units and sum up columns\n"}},
        {"graph(%x: f32[8, 8]) {\n %e = exp(%x)\n %s = sum(%e, 1)\n %n = neg(%s)\n %m = sum(%e, "
         "0)\n "
         "return %n, %m, %e\n}\n",
         2,
         {"not fused: 8 rows cannot fill 132 units and sum up columns\n"}},
    };
    CHECK(cases);
}

/* What is compared with the largest of itself is one number: no kernel computes it and reads it. */
static void test_once(void **state) {
    static const char *const reason =
        "not fused: what is compared with its own extremum is computed once, and stored";
    const struct fusion cases[] = {
        {"graph(%a: f32[8, 6], %b: f32[8, 6]) {\n %p = mul(%a, %b)\n %x = add(%p, %a)\n"
         " %m = amax(%x, 1, True)\n %h = eq(%x, %m)\n return %h\n}\n",
         2,
         {reason}},
        /* through a choice of its elements */
        {"graph(%a: f32[8, 6], %b: f32[8, 6], %c: bool[8, 6]) {\n %p = mul(%a, %b)\n"
         " %n = neg(%p)\n %x = sub(%a, %n)\n"
         " %r = where(%c, 0, %x)\n %m = amin(%r, 1)\n %u = unsqueeze(%m, 1)\n"
         " %h = lt(%x, %u)\n return %h\n}\n",
         2,
         {reason}},
        /* in two steps */
        {"graph(%a: f32[8, 6], %b: f32[8, 6]) {\n %p = mul(%a, %b)\n %x = add(%p, %b)\n"
         " %r = amax(%x, 1)\n %m = amax(%r)\n %h = eq(%x, %m)\n return %r, %h\n}\n",
         4,
         {reason}},
        /* a function that may add to its operand; 16 bits, which are rounded where they are
         * stored */
        {"graph(%a: f32[8, 6], %b: f32[8, 6]) {\n %p = mul(%a, %b)\n %x = log1p(%p)\n"
         " %m = amax(%x, 1, True)\n %h = eq(%x, %m)\n return %h\n}\n",
         2,
         {reason}},
        {"graph(%a: bf16[8, 6], %b: bf16[8, 6]) {\n %x = mul(%a, %b)\n %m = amax(%x, 1, True)\n"
         " %h = eq(%x, %m)\n return %h\n}\n",
         2,
         {reason}},
        /* one number wherever it is computed: products, sums of no products, moves */
        {"graph(%a: f32[8, 6], %b: f32[8, 6]) {\n %e = exp(%a)\n %x = mul(%e, %b)\n"
         " %m = amax(%x, 1, True)\n %h = eq(%x, %m)\n return %h\n}\n",
         1,
         {"x  with  m+h: fused"}},
        {"graph(%a: f32[8, 6], %b: f32[8, 6]) {\n %s = add(%a, %b)\n %x = mul(%s, %b)\n"
         " %m = amax(%x, 1, True)\n %h = eq(%x, %m)\n return %h\n}\n",
         1,
         {0}},
        {"graph(%a: bf16[8, 6], %b: bf16[8, 6]) {\n %x = maximum(%a, %b)\n"
         " %m = amax(%x, 1, True)\n %h = eq(%x, %m)\n return %h\n}\n",
         1,
         {0}},
        /* an input is so anyway, and another's extremum is another number */
        {"graph(%x: f32[8, 6]) {\n %m = amax(%x, 1, True)\n %h = eq(%x, %m)\n return %h\n}\n",
         1,
         {0}},
        {"graph(%a: f32[8, 6], %b: f32[8, 6]) {\n %x = mul(%a, %b)\n %m = amax(%a, 1, True)\n"
         " %h = eq(%x, %m)\n return %h\n}\n",
         1,
         {0}},
        {"graph(%a: f32[8, 6], %b: f32[8, 6]) {\n %x = mul(%a, %b)\n %m = amax(%x, 1, True)\n"
         " %h = sub(%x, %m)\n return %h\n}\n",
         1,
         {0}},
    };
    CHECK(cases);
}

/* A pointwise producer that is read at other indices than its own is computed where it is read. */
static void test_inlining(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 6]) {\n %a = exp(%x)\n %t = slice(%a, 1, 1, 6, 2)\n %y = neg(%t)\n "
         "return "
         "%y\n}\n",
         1,
         {"a  with  y: inlined"}},
        {"graph(%b: f32[6], %x: f32[8, 6]) {\n %e = exp(%b)\n %y = add(%x, %e)\n return %y\n}\n",
         1,
         {"e  with  y: inlined"}},
        {"graph(%x: f32[8, 6]) {\n %a = exp(%x)\n %t = slice(%a, 1, 1, 6, 2)\n %y = neg(%t)\n "
         "return "
         "%a, %y\n}\n",
         2, /* somebody else wants all of it */
         {"a  with  y: not fused: iteration spaces differ"}},
    };
    CHECK(cases);
}

/* What is turned round is stored from its end, on a GPU; a CPU's vectors go forwards. */
static void test_backwards(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 40]) {\n %f = flip(%x, [1])\n %c = cumsum(%f, 1)\n %r = flip(%c, [1])\n"
         " return %r\n}\n",
         1,
         {NULL}},
        {"graph(%x: f32[8, 40]) {\n %m = amax(%x, 1)\n %r = flip(%m, [0])\n %y = add(%r, 1)\n"
         " return %y\n}\n",
         1,
         {NULL}},
    };
    static const struct fusion apart[] = {
        {"graph(%x: f32[8, 40]) {\n %c = cumsum(%x, 1)\n %r = flip(%c, [1])\n %y = add(%r, %c)\n"
         " return %y\n}\n",
         2, /* an element and the one at the other end */
         {NULL}},
    };
    struct device_limits cpu = test_cpu();
    CHECK(cases);
    CHECK(apart);
    struct fusion on_cpu = cases[1];
    on_cpu.kernels = 2;
    check_all(&on_cpu, 1, &cpu, false);
}

static void test_epilogue(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 6], %w: f32[6, 4], %b: f32[4]) {\n %m = mm(%x, %w)\n %a = add(%m, %b)\n "
         "%y = relu(%a)\n"
         " return %y\n}\n",
         1,
         {"m  with  a: fused", "m+a  with  y: fused"}},
        {"graph(%x: f32[8, 6], %w: f32[6, 8]) {\n %m = mm(%x, %w)\n %t = permute(%m, [1, 0])\n %y "
         "= add(%m, %t)\n"
         " return %y\n}\n",
         2, /* the transposed element belongs to another tile */
         {"m  with  y: not fused: a reduction is read at other rows than its own"}},
    };
    CHECK(cases);
}

/* The product reads x along its depth, the epilogue at its columns, even where both are as long. */
static void test_residual(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 8], %w: f32[8, 8]) {\n %m = mm(%x, %w)\n %y = add(%x, %m)\n return "
         "%y\n}\n",
         1,
         {"m  with  y: fused"}},
    };
    CHECK(cases);
}

/* The merge that saves most comes first: the chain from the large tensor, not the pair of small
 * ones. */
static void test_largest_saving_first(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    static const char text[] =
        "graph(%x: f32[64, 64], %b: f32[64]) {\n %p = exp(%b)\n %q = neg(%p)\n %u = exp(%x)\n"
        " %v = neg(%u)\n return %q, %v\n}\n";
    struct schedule *s = must_schedule(a, text, "", &limits, false);
    const char *large = strstr(s->log.p, "u  with  v: fused"),
               *small = strstr(s->log.p, "p  with  q: fused");
    assert_non_null(large);
    assert_non_null(small);
    assert_true(large < small);
    assert_string_equal(must_schedule(a, text, "", &limits, false)->log.p, s->log.p);
    arena_free(a);
}

/* ---- what does not --------------------------------------------------------------------------- */

static void test_eager(void **state) {
    struct device_limits limits = test_gpu("sm_90a");
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 6]) {\n %a = exp(%x)\n %b = neg(%a)\n return %b\n}\n",
         2,
         {"a  with  b: not fused: eager: they are different operators"}},
        {"graph(%x: f32[8, 6]) {\n %y = softmax(%x, 1)\n return %y\n}\n",
         1,
         {"sub  with  exp: fused"}},
    };
    check_all(cases, sizeof cases / sizeof *cases, &limits, true);
}

static void test_another_between(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 8], %w: f32[8, 8]) {\n %a = exp(%x)\n %m = mm(%a, %w)\n %y = add(%a, "
         "%m)\n return %y\n}\n",
         2,
         {"a  with  y: not fused: another kernel stands between them",
          "a  with  m: not fused: a producer would be recomputed for every tile of the matrix "
          "product"}},
    };
    CHECK(cases);
}

static void test_different_spaces(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[12, 50]) {\n %s = sum(%x, 1)\n %t = amax(%s)\n return %t\n}\n",
         2,
         {"s  with  t: not fused: iteration spaces differ\n"}},
        {"graph(%x: f32[4, 6], %b: f32[6]) {\n %e = exp(%b)\n %y = add(%x, %b)\n return %e, "
         "%y\n}\n",
         2,
         {"e  with  y: not fused: iteration spaces differ: not every row is covered"}},
        {"graph(%x: f32[2, 3, 4], %z: f32[2, 3]) {\n %u = unsqueeze(%z, 2)\n %p = add(%x, %u)\n"
         " %s = sum(%p, [1, 2])\n %e = exp(%z)\n return %s, %e\n}\n",
         2,
         {"not fused: iteration spaces differ: some reduced axes are covered, some not"}},
    };
    CHECK(cases);
}

static void test_other_rows(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[512, 512]) {\n %s = sum(%x, 1)\n %y = mul(%x, %s)\n return %y\n}\n",
         2,
         {"s  with  y: not fused: a reduction is read at other rows than its own"}},
    };
    CHECK(cases);
}

/* Whether rows are few depends on the device, and only where a second phase needs the whole row. */
static void test_few_rows(void **state) {
    static const char two_phases[] =
        "graph(%x: f32[4, 65536]) {\n %m = amax(%x, 1, True)\n %y = sub(%x, %m)\n"
        " return %y\n}\n";
    static const struct fusion apart[] = {
        {two_phases,
         2,
         {"m  with  y: not fused: 4 rows cannot fill 132 units; apart, the reduction can be "
          "split"}},
        {"graph(%x: f32[64, 2000000]) {\n %m = amax(%x, 1, True)\n %y = sub(%x, %m)\n"
         " return %y\n}\n",
         2, /* no cluster keeps them, nor L2 64 of them, and blocks would meet often */
         {"m  with  y: not fused: a row of 8000000 bytes would be read from memory twice"}},
        {"graph(%x: f32[4000000]) {\n %m = amax(%x)\n %y = sub(%x, %m)\n return %y\n}\n",
         2, /* stays in L2 from launch to launch */
         {"m  with  y: not fused: 1 rows cannot fill 132 units; apart, the reduction can be "
          "split"}},
        {"graph(%w: bf16[64, 16], %x: bf16[16, 2000000]) {\n %c = mm(%w, %x)\n"
         " %s = sum(%c, 1, True)\n %y = sub(%c, %s)\n return %y\n}\n",
         2, /* so the product has the sum */
         {"c  with  s: fused", "s  with  y: not fused: a row of 8000000 bytes"}},
    };
    static const struct fusion together[] = {
        {"graph(%x: f32[64, 400000]) {\n %m = amax(%x, 1, True)\n %y = sub(%x, %m)\n"
         " return %y\n}\n",
         1, /* a cluster's shared memory keeps them */
         {"m  with  y: fused"}},
        {"graph(%x: f32[8, 1900000]) {\n %m = amax(%x, 1, True)\n %y = sub(%x, %m)\n"
         " return %y\n}\n",
         1, /* or that of all blocks, which meet */
         {"m  with  y: fused"}},
        {"graph(%x: f32[32000000]) {\n %m = amax(%x)\n %y = sub(%x, %m)\n return %y\n}\n",
         1,
         {"m  with  y: fused"}},
        {"graph(%x: f32[1, 128, 131072], %w: f32[128]) {\n %v = view(%x, [1, 8, 2097152])\n"
         " %m = amax(%v, 2, True)\n %y = sub(%v, %m)\n %z = view(%y, [1, 128, 131072])\n"
         " %u = unsqueeze(%w, 1)\n %r = mul(%z, %u)\n return %r\n}\n",
         1, /* of which a reshape splits the axes; all of a row read few weights */
         {"m  with  y+r: fused, axes split"}},
        {"graph(%x: f32[4, 65536]) {\n %s = sum(%x, 1)\n %y = exp(%x)\n return %s, %y\n}\n",
         1, /* parts of a row can store their elements, too */
         {"s  with  y: fused"}},
        {"graph(%h: bf16[4, 65536]) {\n %x = convert(%h, f32)\n %m = amax(%x, 1)\n %t = expsum(%x, "
         "1)\n %l = log(%t)\n %y = add(%l, %m)\n return %y\n}\n",
         1, /* what both reductions read, and what takes both */
         {"x+m  with  t+l: fused", "x+m+t+l  with  y: fused"}},
        {"graph(%x: f32[4, 65536]) {\n %c = cumsum(%x, 1)\n %y = mul(%c, 2)\n return %y\n}\n",
         1, /* a scan has its results as it goes along */
         {"c  with  y: fused"}},
        {"graph(%x: f32[4, 65536]) {\n %e = exp(%x)\n %s = sum(%e, 1)\n return %s, %e\n}\n",
         1,
         {"e  with  s: fused"}},
        {"graph(%x: f32[4, 65536]) {\n %a = exp(%x)\n %s = sum(%a, 1)\n %q = sqrt(%s)\n return "
         "%q\n}\n",
         1, /* what comes before the reduction, and what needs the finished row only */
         {"a  with  s+q: fused", "s  with  q: fused"}},
        {"graph(%x: f32[4, 65536]) {\n %s = sum(%x, 1)\n %m = amax(%x, 1)\n return %s, %m\n}\n",
         1,
         {"s  with  m: fused"}},
        {"graph(%x: f32[4, 65535]) {\n %m = amax(%x, 1, True)\n %y = sub(%x, %m)\n return %y\n}\n",
         1,
         {NULL}},
        {"graph(%x: f32[33, 65536]) {\n %m = amax(%x, 1, True)\n %y = sub(%x, %m)\n return %y\n}\n",
         1,
         {NULL}},
    };
    CHECK(apart);
    CHECK(together);
    /* Of 8 cores of a CPU, too; more than half of them would rather not go over rows again. */
    struct device_limits cpu = test_cpu();
    static const struct fusion on_cpu[] = {
        {two_phases,
         2,
         {"m  with  y: not fused: 4 rows cannot fill 8 units; apart, the reduction can be split"}},
        {"graph(%x: f32[5, 65536]) {\n %m = amax(%x, 1, True)\n %y = sub(%x, %m)\n return %y\n}\n",
         1,
         {"m  with  y: fused"}},
        {"graph(%x: f32[65536, 32]) {\n %m = amax(%x, 0, True)\n %y = sub(%x, %m)\n return %y\n}\n",
         2, /* four vectors of columns */
         {"m  with  y: not fused: 32 rows cannot fill 8 units"}},
        {"graph(%x: f32[65536, 40]) {\n %m = amax(%x, 0, True)\n %y = sub(%x, %m)\n return %y\n}\n",
         1,
         {"m  with  y: fused"}},
    };
    check_all(on_cpu, sizeof on_cpu / sizeof *on_cpu, &cpu, false);
}

/* What lies beside a product's results is stored with them, in sectors of its own. */
static void test_arms(void **state) {
#define INPUTS "graph(%x: f32[64, 32], %w: f32[32, 48], %r: f32[64, 48]) {\n %m = mm(%x, %w)\n"
    static const struct fusion cases[] = {
        {INPUTS " %s = stack([%r, %m], 1)\n return %s\n}\n",
         1,
         {"m  with  cat: fused, axes split"}},
        {INPUTS " %s = stack([%r, %m], 2)\n return %s\n}\n",
         2, /* half of each sector would be stored at a time */
         {"m  with  cat: not fused: iteration spaces differ"}},
        {INPUTS " %s = stack([%m, %r, %m], 1)\n %y = relu(%s)\n return %y\n}\n",
         1,
         {"m  with  cat+y: fused, axes split"}},
        {INPUTS " %b = neg(%m)\n %s = stack([%r, %b], 1)\n %t = sub(%m, %r)\n"
                " return %b, %s, %t\n}\n",
         1,
         {"m+b+t  with  cat: fused, axes split"}},
        {INPUTS " %s = stack([%m, %r, %m, %m, %r, %m, %m, %r, %r], 1)\n return %s\n}\n",
         2, /* nine elements of each sum */
         {"m  with  cat: not fused: iteration spaces differ"}},
        {INPUTS " %s = stack([%r, %m], 1)\n return %m, %s\n}\n",
         1, /* the results alone have no such axis */
         {"m  with  cat: fused, axes split"}},
        {INPUTS " %s = stack([%r, %m], 1)\n %t = sum(%s, [0])\n return %s, %t\n}\n",
         2,
         {"m+cat  with  t: not fused: what reads the product stores several elements of each sum"}},
    };
#undef INPUTS
    CHECK(cases);
}

/* What is made of a reduction is stored in parts; large tensors in no parts of less than a sector.
 */
static void test_arms_of_reductions(void **state) {
#define ROWS "graph(%x: f32[64, 9, 9]) {\n %s = sum(%x, [1])\n %e = exp(%s)\n"
    static const struct fusion cases[] = {
        {ROWS " %c = cat([%s, %e], 1)\n return %c\n}\n", 1, {"s+e  with  c: fused, axes split"}},
        {ROWS " %c = cat([%s, %e, %s], 0)\n %y = mul(%c, 2)\n %m = neg(%s)\n return %y, %m\n}\n",
         1,
         {"s+e+m  with  c+y: fused, axes split"}},
        {ROWS " %c = cat([%s, %e, %s], 0)\n %r = amax(%x, [1])\n return %c, %r\n}\n",
         1,
         {"s+e+r  with  c: fused, axes split"}},
        {"graph(%x: f32[64, 9, 9], %w: f32[5, 9]) {\n %s = sum(%x, [1])\n %t = unsqueeze(%s, 1)\n"
         " %y = mul(%t, %w)\n return %y\n}\n",
         2, /* nothing is chosen */
         {"s  with  y: not fused: iteration spaces differ"}},
        {"graph(%x: f32[100000, 4, 6]) {\n %e = exp(%x)\n %s = sum(%x, [1])\n"
         " %c = cat([%x, %e], 2)\n return %s, %c\n}\n",
         2,
         {"s  with  e+c: not fused: "}},
    };
#undef ROWS
    CHECK(cases);
}

/* Equal spaces, nothing in common. */
static void test_abreast(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 6], %y: f32[8, 6]) {\n %a = exp(%x)\n %b = neg(%y)\n return %a, %b\n}\n",
         1,
         {"a  with  b: fused, saves a launch\n"}},
        {"graph(%x: f32[8, 6], %y: f32[8, 6], %z: f32[6, 8]) {\n %a = exp(%x)\n %b = neg(%y)\n"
         " %c = sin(%z)\n return %a, %b, %c\n}\n",
         2, /* another shape */
         {"a  with  b: fused, saves a launch\n"}},
        {"graph(%x: f32[2048, 1024], %y: f32[2048, 1024]) {\n %a = exp(%x)\n %b = neg(%y)\n"
         " return %a, %b\n}\n",
         2, /* a launch is little beside that */
         {NULL}},
        {"graph(%x: f32[8, 8], %w: f32[8, 8]) {\n %a = exp(%x)\n %m = mm(%a, %w)\n"
         " %t = permute(%m, [1, 0])\n %g = mul(%m, %t)\n return %g\n}\n",
         3, /* what stands on the other, if only through others, is later */
         {NULL}},
    };
    CHECK(cases);
}

/* A reduction of a reduction. */
static void test_nested(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[12, 50]) {\n %s = sum(%x, 1)\n %t = sum(%s)\n return %t\n}\n", 1, {NULL}},
        {"graph(%x: bf16[4, 12, 50]) {\n %e = exp(%x)\n %s = sum(%e, [0, 2])\n %m = mean(%s)\n"
         " return %m\n}\n",
         1, /* a cast to f32 stands between */
         {NULL}},
        {"graph(%x: f32[4, 12, 50]) {\n %s = amax(%x, 2)\n %t = amax(%s, 1)\n %u = amax(%t, 0)\n"
         " return %u\n}\n",
         1,
         {NULL}},
    };
    static const struct fusion apart[] = {
        {"graph(%x: f32[12, 50]) {\n %s = sum(%x, 1)\n %t = sum(%s)\n return %t, %s\n}\n",
         2, /* somebody wants the rows */
         {NULL}},
        {"graph(%x: f32[12, 50]) {\n %s = sum(%x, 1)\n %q = sqrt(%s)\n %t = sum(%q)\n"
         " return %t\n}\n",
         2,
         {NULL}},
        {"graph(%x: f32[12, 50]) {\n %s = sum(%x, 1)\n %h = half(%s)\n %t = sum(%h)\n"
         " return %t\n}\n",
         2, /* digits are lost between */
         {NULL}},
        {"graph(%x: f32[8, 6], %w: f32[6, 8]) products strict {\n %m = mm(%x, %w)\n"
         " %t = sum(%m)\n return %t\n}\n",
         2,
         {NULL}},
    };
    CHECK(cases);
    CHECK(apart);
}

/* A reduction of rows, and of all of them. */
static void test_by_rows(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[64, 50], %y: f32[64, 50]) {\n %l = log_softmax(%x, 1)\n"
         " %p = softmax(%y, 1)\n %k = kl_div(%l, %p, 'batchmean')\n return %k\n}\n",
         2,
         {NULL}},
        {"graph(%x: f32[4, 16, 50]) {\n %p = softmax(%x, 2)\n %q = mul(%p, %p)\n"
         " %s = sum(%q)\n %m = amax(%q, [0, 2])\n return %s, %m\n}\n",
         3, /* both along the rows of p; what each makes of these is its own */
         {"s_rows  with", "m_rows"}},
        {"graph(%x: f32[4, 50, 32]) {\n %p = softmax(%x, 1)\n %s = prod(%p)\n return %s\n}\n",
         2, /* neighbours are other rows */
         {NULL}},
        {"graph(%x: f32[64, 50]) {\n %p = softmax(%x, 1)\n %e = mul(%p, %x)\n %s = sum(%e, 1)\n"
         " %m = mean(%s)\n return %m\n}\n",
         2, /* nested.c has made one of them */
         {NULL}},
        {"graph(%x: f32[8, 12, 6, 6]) {\n %n = group_norm(%x, 3)\n %q = mul(%n, %n)\n"
         " %s = mean(%q)\n return %s\n}\n",
         2, /* a group is some channels */
         {NULL}},
        {"graph(%x: f32[8, 6, 50]) {\n %p = softmax(%x, 2)\n %v = view(%p, [2400])\n"
         " %s = sum(%v)\n return %s\n}\n",
         2, /* the rows of a view */
         {NULL}},
        {"graph(%x: f32[12, 50], %r: f32[12]) {\n %v = unsqueeze(%r, 1)\n %y = sub(%x, %v)\n"
         " %s = sum(%y)\n return %s\n}\n",
         1, /* a number for each row, but nothing is reduced to it */
         {NULL}},
    };
    static const struct fusion apart[] = {
        {"graph(%x: f32[64, 50], %y: f32[64, 50]) {\n %r = sum(%x, 1, True)\n %d = mul(%y, %r)\n"
         " %s = sum(%d)\n return %s\n}\n",
         2, /* of other elements */
         {NULL}},
        {"graph(%x: f32[64, 2], %w: f32[64, 2]) {\n %r = amax(%x, 1, True)\n %d = sub(%x, %r)\n"
         " %m = mul(%d, %r)\n %s = sum(%m)\n return %s, %r\n}\n",
         2, /* which are fewer bytes than what the rows come to, stored and read */
         {NULL}},
        {"graph(%x: f32[4, 65536]) {\n %m = amax(%x, 1, True)\n %d = sub(%x, %m)\n"
         " %s = sum(%d)\n return %s\n}\n",
         2, /* rows for some multiprocessors only */
         {"m  with  d+s: not fused"}},
        {"graph(%x: f32[64, 32], %w: f32[32, 32]) products strict {\n %p = softmax(%x, 1)\n"
         " %y = mm(%p, %w)\n %q = mul(%p, %y)\n %s = sum(%q)\n return %s\n}\n",
         3, /* a product of the rows is another kernel, before what reads it */
         {NULL}},
        {"graph(%h: bf16[64, 50]) {\n %x = convert(%h, f32)\n %p = softmax(%x, 1)\n"
         " %m = mean(%x)\n %q = mul(%p, %m)\n %s = sum(%q)\n return %s\n}\n",
         2, /* m stands between the rows' kernel and s: cut, it would be one more */
         {NULL}},
        {"graph(%x: f32[64, 32]) {\n %r = amax(%x, 1, True)\n %d = sub(%x, %r)\n"
         " %s = sum(%d, 0)\n return %s\n}\n",
         2, /* columns */
         {NULL}},
    };
    CHECK(cases);
    CHECK(apart);
}

/* Reductions of the same elements along some axes, and along more. */
static void test_rows_beside(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[640, 50]) {\n %s = sum(%x)\n %m = amax(%x, 1)\n return %s, %m\n}\n",
         2,
         {"s_rows  with  m: fused"}},
        {"graph(%x: f32[640, 50]) {\n %m = amax(%x, 0)\n %s = sum(%x)\n return %s, %m\n}\n",
         2, /* columns, and whichever comes first */
         {"m  with  s_rows: fused"}},
        {"graph(%x: f32[8, 60, 50]) {\n %s = sum(%x, [1, 2])\n %m = amax(%x, [0, 1, 2])\n"
         " %n = amin(%x, 2)\n return %s, %m, %n\n}\n",
         3, /* both go along the rows of n, in one kernel; what is left of them has other rows */
         {"s_rows+m_rows  with  n: fused"}},
        {"graph(%x: f32[640, 50]) {\n %y = exp(%x)\n %s = sum(%y)\n %p = softmax(%x, 1)\n"
         " return %s, %p\n}\n",
         2, /* of what both make of these */
         {NULL}},
        {"graph(%x: f32[640, 60]) {\n %h = slice(%x, 1, 2, 58, 2)\n %s = sum(%h)\n"
         " %m = amax(%h, 1)\n return %s, %m\n}\n",
         2, /* a part of it */
         {NULL}},
        {"graph(%x: f32[25088, 512]) {\n %s = sum(%x, 0)\n %m = amax(%x)\n %y = exp(%x)\n"
         " return %s, %m, %y\n}\n",
         2, /* few of them, but there */
         {"s  with  m_rows: fused"}},
        {"graph(%x: f32[3000, 131072]) {\n %q = mul(%x, %x)\n %s = sum(%q)\n %m = amax(%x, 0)\n"
         " %y = mul(%m, %s)\n return %y\n}\n",
         3, /* what takes both comes later than they become one */
         {"q+s_rows  with  m: fused"}},
    };
    static const struct fusion apart[] = {
        {"graph(%x: f32[640, 50]) {\n %a = slice(%x, 1, 0, 40)\n %b = slice(%x, 1, 10, 50)\n"
         " %s = sum(%a)\n %m = amax(%b, 1)\n return %s, %m\n}\n",
         2, /* other elements */
         {"s  with  m: not fused"}},
        {"graph(%x: f32[640, 50]) {\n %a = sum(%x)\n %d = sub(%x, %a)\n %m = amax(%d, 1)\n"
         " return %m\n}\n",
         2, /* the rows need the sum of all */
         {NULL}},
        {"graph(%x: f32[640, 50]) {\n %s = argmax(%x)\n %m = amax(%x, 1)\n"
         " return %s, %m\n}\n",
         2, /* a place is not made of places */
         {NULL}},
    };
    CHECK(cases);
    CHECK(apart);
    struct device_limits cpu = test_cpu();
    check_all(cases, 1, &cpu, false);
}

/* A row is scanned, and reduced. */
static void test_scanned_rows(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[640, 5000]) {\n %c = cumsum(%x, 1)\n %s = sum(%x, 1)\n"
         " %m = amax(%c, 1)\n %t = mul(%s, %m)\n return %c, %t\n}\n",
         1, /* of both, and of what they come to */
         {"c+s  with  m+t: fused"}},
        {"graph(%x: f32[64, 500, 48]) {\n %p = softmax(%x, 1)\n %c = cumsum(%p, 1)\n"
         " return %c\n}\n",
         1, /* a block has all of a row */
         {NULL}},
        {"graph(%x: f32[3, 700]) {\n %p = softmax(%x, 1)\n %c = cumsum(%p, 1)\n"
         " %n = amax(%c, 1, True)\n %y = div(%c, %n)\n return %y\n}\n",
         1, /* of few rows, too; reduced, scanned and reduced again */
         {NULL}},
        {"graph(%x: f32[640, 50, 30]) {\n %c = cumsum(%x, 1)\n %s = sum(%x)\n"
         " %m = amax(%c, [0, 1])\n return %c, %s, %m\n}\n",
         3, /* by the scan's rows first */
         {"c  with  s_rows: fused", "m_rows: fused"}},
    };
    static const struct fusion apart[] = {
        {"graph(%x: f32[3, 70000]) {\n %c = cumsum(%x, 1)\n %s = sum(%x, 1)\n"
         " return %c, %s\n}\n",
         2,
         {"c  with  s: not fused: 3 rows cannot fill 132 units; apart, blocks share a scan"}},
        {"graph(%x: f32[640, 70000]) {\n %m = mean(%x, 1, True)\n %d = sub(%x, %m)\n"
         " %c = cumsum(%d, 1)\n return %c\n}\n",
         2,
         {"not fused: no block holds a row of 70000, to reduce and to scan it"}},
        {"graph(%x: f32[640, 500]) {\n %c = cumsum(%x, 1)\n %s = argmax(%x, 1)\n"
         " return %c, %s\n}\n",
         2, /* a place beside its value */
         {"not fused: a row is scanned or reduced, not both"}},
        {"graph(%x: f32[640, 500]) {\n %c = cumsum(%x, 1)\n %d = cumsum(%c, 1)\n"
         " return %d\n}\n",
         2,
         {"not fused: a scan of a scan goes along the row twice"}},
        {"graph(%x: f32[640, 50, 30]) {\n %c = cumsum(%x, 1)\n %f = flip(%c, [0])\n"
         " %s = sum(%f, [1, 2])\n return %c, %s\n}\n",
         2, /* of other rows */
         {NULL}},
    };
    CHECK(cases);
    CHECK(apart);
    struct device_limits cpu = test_cpu();
    static const struct fusion on_cpu[] = {
        {"graph(%x: f32[640, 500]) {\n %c = cumsum(%x, 1)\n %s = sum(%x)\n return %c, %s\n}\n",
         2,
         {"not fused: a row is scanned or reduced, not both"}},
    };
    check_all(on_cpu, 1, &cpu, false);
}

/* What rows come to is all that is stored between, in opmath; on a CPU, too. */
static void test_by_rows_stores(void **state) {
    static const char text[] = "graph(%x: bf16[64, 50], %y: bf16[64, 50]) {\n %p = softmax(%x, 1)\n"
                               " %l = mse_loss(%p, %y)\n return %l\n}\n";
    struct device_limits limits[] = {test_gpu("sm_90a"), test_cpu()};
    for (int i = 0; i < 2; i++) {
        struct arena *a = arena_new();
        struct schedule *s = must_schedule(a, text, "", &limits[i], false);
        assert_int_equal(s->groups.n, 2);
        assert_int_equal(s->pool_bytes, 64 * 4);
        s = must_schedule(a,
                          "graph(%x: bf16[s0, s1, 48]) {\n %p = softmax(%x, 2)\n"
                          " %v = view(%p, [s0*s1*48])\n %l = mean(%v)\n return %l\n}\n",
                          "s0=64 s1=16", &limits[i], false);
        assert_int_equal(s->groups.n, 2);
        assert_int_equal(s->pool_bytes, 64 * 16 * 4);
        s = must_schedule(a,
                          "graph(%x: bf16[s0, s1]) {\n %p = softmax(%x, 1)\n %l = mean(%p)\n"
                          " return %l\n}\n",
                          "s0=64 s1=50", &limits[i], false);
        assert_int_equal(s->groups.n, 2);
        assert_int_equal(s->pool_bytes, 64 * 4);
        arena_free(a);
    }
}

/* A short reduction that another one reads. */
static void test_unrolled(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[4, 8, 64, 64]) {\n %p = max_pool(%x, [2])\n %h = tanh(%p)\n"
         " %m = mean(%h, [2, 3])\n return %m\n}\n",
         1,
         {NULL}},
        {"graph(%x: f32[64, 16, 32]) {\n %e = exp(%x)\n %p = prod(%e, 1)\n %m = amax(%p, 1)\n"
         " return %m\n}\n",
         1,
         {NULL}},
    };
    static const struct fusion apart[] = {
        {"graph(%x: f32[64, 17, 32]) {\n %p = prod(%x, 1)\n %m = amax(%p, 1)\n return %m\n}\n",
         2, /* not that short */
         {NULL}},
        {"graph(%x: f32[64, 4, 32]) {\n %p = prod(%x, 1)\n %m = amax(%p, 1)\n return %m, %p\n}\n",
         2, /* wanted itself */
         {NULL}},
        {"graph(%x: f32[64, 4, 32]) {\n %p = prod(%x, 1)\n %s = softmax(%p, 1)\n return %s\n}\n",
         2, /* two reductions would load the taps */
         {NULL}},
        {"graph(%x: f32[64, 4, 32]) {\n %p = prod(%x, 1)\n %m = amax(%p, 1)\n %q = argmax(%x, 1)\n"
         " return %m, %q\n}\n",
         2, /* another one of the same elements is found in the same pass */
         {"p  with  q: fused"}},
    };
    CHECK(cases);
    CHECK(apart);
}

/* What follows a sum row by row saves little by joining it, but what reads both could not, else. */
static void test_epilogue_first(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[64, 64]) {\n %s = sum(%x, 1, True)\n %m = div(%s, 64)\n %y = sub(%x, %m)\n "
         "%c = sum(%x, 0)\n return %y, %c\n}\n",
         2,
         {"s  with  m: fused, saves 512 bytes\n", "s+m  with  y: fused",
          "s+m+y  with  c: not fused: 64 rows cannot fill 132 units and sum up columns"}},
    };
    CHECK(cases);
}

/* What a row's reductions are made of, summed up over all rows. */
static void test_columns(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[400, 64]) {\n %s = sum(%x, 1)\n %c = sum(%x, 0)\n return %s, %c\n}\n",
         1,
         {"s  with  c: fused, saves 102400 bytes\n"}},
        {"graph(%x: f32[400, 64]) {\n %c = amax(%x, 0)\n %n = neg(%c)\n %s = sum(%x, 1, True)\n"
         " %y = sub(%x, %s)\n return %y, %n\n}\n",
         1, /* the columns come first in the program; their sums' readers join */
         {"c  with  n: fused", "c+n  with  s+y: fused"}},
        {"graph(%x: f32[20, 30, 64], %g: f32[20, 30, 64]) {\n %n = mul(%x, %g)\n"
         " %s = sum(%n, 2, True)\n %d = sub(%g, %s)\n %w = sum(%n, [0, 1])\n"
         " %b = sum(%g, [0, 1])\n return %d, %w, %b\n}\n",
         1, /* rows of two axes */
         {NULL}},
        {"graph(%x: f32[400, 64]) {\n %e = exp(%x)\n %c = sum(%e, 0)\n %m = amax(%e, 1, True)\n"
         " %d = sub(%e, %m)\n return %e, %c, %d\n}\n",
         1, /* rows need what columns are made of, not what they come to */
         {NULL}},
        {"graph(%x: f32[40, 21, 5]) {\n %s = sum(%x, 2)\n %m = amax(%x, 1)\n return %s, %m\n}\n",
         1, /* columns of each batch */
         {"s  with  m: fused, saves 16800 bytes\n"}},
        {"graph(%x: f32[16, 200, 64]) {\n %m = sum(%x, 0)\n %c = cumsum(%x, 2)\n return %m, "
         "%c\n}\n",
         1,
         {"m  with  c: fused, saves 819200 bytes\n"}},
        {"graph(%x: f32[400, 120000]) {\n %s = sum(%x, 1)\n %c = sum(%x, 0)\n %m = amax(%x, 0)\n"
         " return %s, %c, %m\n}\n",
         2, /* by slabs; then what each has of a row */
         {"s_rows+c  with  m: fused", NULL}},
    };
    static const struct fusion apart[] = {
        {"graph(%x: f32[40, 21, 5]) {\n %s = sum(%x, 2)\n %m = amax(%x, [1, 2])\n return %s, "
         "%m\n}\n",
         2, /* of the columns nothing is left */
         {NULL}},
        {"graph(%x: f32[400, 64]) {\n %c = sum(%x, 0, True)\n %y = sub(%x, %c)\n"
         " %s = sum(%y, 1)\n return %s\n}\n",
         2,
         {"not fused: rows need finished columns\n"}},
        {"graph(%x: f32[400, 64]) {\n %s = sum(%x, 1)\n %c = sum(%x, 0)\n %y = sub(%x, %c)\n"
         " return %s, %y\n}\n",
         2, /* whoever reads a column's sum per element waits for all rows */
         {NULL}},
        {"graph(%x: f32[400, 120011]) {\n %s = sum(%x, 1)\n %c = sum(%x, 0)\n %m = amax(%x, 0)\n"
         " return %s, %c, %m\n}\n",
         2, /* no slabs of whole vectors */
         {"a row of 120011 columns and their sums take 960088 bytes of 262144 in registers", NULL}},
        {"graph(%x: f32[200, 64]) {\n %s = sum(%x, 1)\n %c = sum(%x, 0)\n return %s, %c\n}\n",
         2,
         {"s  with  c: not fused: columns' sums of 200 blocks are 51200 bytes, no less than what "
          "is saved\n"}},
        {"graph(%x: f32[64, 400][1, 64], %y: f32[64, 400][1, 64]) {\n %p = mul(%x, %y)\n"
         " %s = sum(%p, 1, True)\n %z = sub(%p, %s)\n %c = sum(%p, 0)\n return %z, %c\n}\n",
         2,
         {"not fused: "}},
    };
    CHECK(cases);
    CHECK(apart);
}

static void test_matrix_products(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 8], %w: f32[8, 8]) {\n %m = mm(%x, %w)\n %n = mm(%m, %w)\n return "
         "%n\n}\n",
         2,
         {"m  with  n: not fused: two matrix products"}},
        {"graph(%x: f32[8, 6], %w: f32[6, 4]) {\n %a = relu(%x)\n %m = mm(%a, %w)\n return %m\n}\n",
         2,
         {"a  with  m: not fused: a producer would be recomputed for every tile of the matrix "
          "product"}},
        {"graph(%x: f32[8, 6], %w: f32[6, 4]) {\n %a = relu(%x)\n %m = mm(%x, %w)\n return %m, "
         "%a\n}\n",
         2,
         {"a  with  m: not fused: it shares no result with the matrix product"}},
    };
    CHECK(cases);
}

/* What a product has summed up is reduced where it is: along n, m or both, whatever is done to it
 * before, and the results' own epilogue with it. */
static void test_reductions_behind_products(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[8, 6], %w: f32[6, 4]) {\n %m = mm(%x, %w)\n %s = sum(%m, 1)\n return "
         "%s\n}\n",
         1,
         {"m  with  s: fused, saves 256 bytes"}},
        {"graph(%x: bf16[64, 6], %w: bf16[6, 40]) {\n %m = mm(%x, %w)\n %r = gelu(%m)\n"
         " %s = mean(%r, 0)\n %t = sqrt(%s)\n return %r, %t\n}\n",
         1,
         {"fused"}},
        {"graph(%x: bf16[3, 64, 6], %w: bf16[3, 6, 40]) {\n %m = bmm(%x, %w)\n"
         " %s = sum(%m, [1, 2])\n %q = mul(%m, %m)\n %t = sum(%q, [1, 2])\n return %s, %t\n}\n",
         1,
         {"fused"}},
        {"graph(%x: bf16[64, 6], %w: bf16[6, 600]) {\n %m = mm(%x, %w)\n"
         " %v = view(%m, [16, 4, 3, 200])\n %s = sum(%v, [1, 3])\n return %s\n}\n",
         1, /* a span of both */
         {"m  with  s: fused"}},
    };
    static const struct fusion read[] = {
        {"graph(%x: bf16[64, 6], %w: bf16[6, 1000]) {\n %m = mm(%x, %w)\n"
         " %s = softmax(%m, 1)\n return %s\n}\n",
         1,
         {"fused"}},
        {"graph(%x: bf16[64, 6], %w: bf16[6, 1000]) {\n %m = mm(%x, %w)\n"
         " %s = softmax(%m, 0)\n return %s\n}\n",
         1, /* its columns are rows then */
         {"fused"}},
        {"graph(%x: bf16[64, 6], %w: bf16[6, 1000]) {\n %m = mm(%x, %w)\n"
         " %s = amax(%m, [0, 1], True)\n %d = sub(%m, %s)\n return %d\n}\n",
         2,
         {"not fused: elements read what more than their row, or their column, comes to"}},
        {"graph(%x: f32[2, 16, 9, 9], %w: f32[40, 16, 2, 2]) {\n"
         " %c = convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
         " %r = relu(%c)\n %p = max_pool(%r, [2, 2], [2, 2], [0, 0])\n return %p\n}\n",
         2,
         {"not fused: windows go along with who reduces them"}},
        {"graph(%x: bf16[64, 6], %w: bf16[6, 40000]) {\n %m = mm(%x, %w)\n"
         " %s = softmax(%m, 1)\n return %s\n}\n",
         2,
         {"not fused: 157 tiles share a row; 132 blocks are at work at a time"}},
        {"graph(%x: bf16[1024, 6], %w: bf16[6, 17500]) {\n %m = mm(%x, %w)\n"
         " %s = softmax(%m, 1)\n return %s\n}\n",
         2,
         {"not fused: 69 tiles share a row, which leaves 63 units idle"}},
    };
    CHECK(read);
    static const struct fusion apart[] = {
        {"graph(%x: f32[8, 6], %w: f32[6, 4]) products strict {\n %m = mm(%x, %w)\n"
         " %s = sum(%m, 1)\n return %s\n}\n",
         2,
         {"m  with  s: not fused: the sums of its elements are not in registers, as those of "
          "matrix "
          "units are"}},
        {"graph(%x: f64[8, 6], %w: f64[6, 4]) {\n %m = mm(%x, %w)\n %s = sum(%m, 1)\n"
         " return %s\n}\n",
         2,
         {"m  with  s: not fused: the sums of its elements are not in registers"}},
        {"graph(%x: bf16[8, 6], %w: bf16[6, 4]) {\n %m = mm(%x, %w)\n %s = sum(%m, 1)\n"
         " %t = sum(%m, 0)\n return %s, %t\n}\n",
         2,
         {"not fused: the product's reductions go along different axes"}},
        {"graph(%x: bf16[3, 8, 6], %w: bf16[3, 6, 4]) {\n %m = bmm(%x, %w)\n %s = sum(%m, 0)\n"
         " return %s\n}\n",
         2,
         {"m  with  s: not fused: a reduction goes along the product's batches alone"}},
        {"graph(%x: bf16[8, 32, 6], %w: bf16[6, 64]) {\n %m = matmul(%x, %w)\n"
         " %s = sum(%m, 1)\n return %s\n}\n",
         2,
         {"not fused: a reduction goes along some of the product's rows or columns"}},
        {"graph(%x: bf16[8, 6], %w: bf16[6, 640]) {\n %m = mm(%x, %w)\n"
         " %v = view(%m, [8, 10, 64])\n %s = sum(%v, 2)\n return %s\n}\n",
         2,
         {"not fused: a reduction goes along few of the product's columns"}},
        {"graph(%x: f32[24, 6], %w: f32[6, 640]) {\n %m = mm(%x, %w)\n"
         " %v = view(%m, [24, 2, 320])\n %s = sum(%v, 2)\n return %s\n}\n",
         2,
         {"not fused: few rows of a product are columns, if nothing goes along a part of the "
          "others"}},
        {"graph(%x: bf16[8, 6], %w: bf16[6, 640]) {\n %m = mm(%x, %w)\n"
         " %v = view(%m, [8, 2, 320])\n %s = sum(%v, 1)\n return %s\n}\n",
         2, /* neighbours are of different results */
         {"not fused: a reduction goes along some of the product's rows or columns"}},
        {"graph(%x: bf16[8, 6], %w: bf16[6, 640]) {\n %m = mm(%x, %w)\n"
         " %v = view(%m, [8, 2, 320])\n %s = argmax(%v, 2)\n return %s\n}\n",
         2,
         {"not fused: a place is looked for along some of the product's columns"}},
        {"graph(%x: bf16[8, 6], %w: bf16[6, 640]) {\n %m = mm(%x, %w)\n"
         " %v = view(%m, [8, 2, 320])\n %s = softmax(%v, 2)\n return %s\n}\n",
         2,
         {"not fused: elements read what a part of their row comes to"}},
        {"graph(%x: bf16[8, 6], %w: bf16[6, 64][1, 0]) {\n %m = mm(%x, %w)\n %s = sum(%m, 1)\n"
         " return %s\n}\n", /* all columns are one */
         2,
         {"not fused: the product is no product of matrices"}},
        {"graph(%x: bf16[64, 9000], %w: bf16[9000, 64]) {\n %m = mm(%x, %w)\n"
         " %s = sum(%m, 1)\n return %s\n}\n",
         2,
         {"m  with  s: not fused: 1 tiles cannot fill 132 units, but parts of the depth"}},
    };
    CHECK(cases);
    CHECK(apart);
}

/* A factor that is read through windows of enough channels is written as often as it is there, one
 * of fewer once for each tap. */
static void test_images_behind_reductions(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[16, 1, 16, 1024, 1024], %w: f32[1, 64, 16, 3, 3]) {\n"
         " %c = convolve(%x, %w, [1, 1], [0, 0], [1, 1], False, [1022, 1022])\n"
         " %m = amin(%c, 2)\n return %m\n}\n",
         1,
         {"c  with  m: fused"}},
        {"graph(%x: f32[16, 1, 8, 1024, 1024], %w: f32[1, 64, 8, 5, 5]) {\n"
         " %c = convolve(%x, %w, [1, 1], [0, 0], [1, 1], False, [1020, 1020])\n"
         " %m = amin(%c, 2)\n return %m\n}\n",
         2,
         {"c  with  m: not fused: a factor's image would be too large"}},
        {"graph(%x: f32[60000, 60000], %w: f32[60000, 64]) {\n %c = mm(%x, %w)\n"
         " %m = amin(%c, 1)\n return %m\n}\n",
         2,
         {"c  with  m: not fused: a factor's image would be too large"}},
        {"graph(%x: bf16[2147483648, 2], %w: bf16[2, 64]) {\n %c = mm(%x, %w)\n"
         " %m = amin(%c, 1)\n return %m\n}\n",
         2,
         {"c  with  m: not fused: the product is larger than matrix units are told of"}},
    };
    CHECK(cases);
}

/* One launch passes a limited number of arguments: a sum of forty tensors is more than one kernel.
 */
static void test_many_arguments(void **state) {
    struct arena *a = arena_new();
    struct buf head = buf_new(a), body = buf_new(a), results = buf_new(a);
    for (int i = 0; i < 40; i++) {
        buf_printf(&head, "%s%%x%d: f32[64]", i ? ", " : "", i);
        if (i) buf_printf(&body, " %%s%d = add(%%%s%d, %%x%d)\n", i, i == 1 ? "x" : "s", i - 1, i);
    }
    struct device_limits limits = test_gpu("sm_90a");
    char *text = arena_printf(a, "graph(%s) {\n%s return %%s39\n}\n", head.p, body.p);
    struct schedule *s = must_schedule(a, text, "", &limits, false);
    assert_non_null(strstr(s->log.p, "not fused: 33 tensors are too many for a kernel"));
    assert_int_equal(s->groups.n, 2);

    /* Twenty sums of one tensor: a split kernel would also pass their partial results. */
    body = buf_new(a);
    for (int i = 0; i < 20; i++) {
        buf_printf(&body, " %%m%d = mul(%%x, %d.5)\n %%s%d = sum(%%m%d)\n", i, i, i, i);
        buf_printf(&results, "%s%%s%d", i ? ", " : "", i);
    }
    text = arena_printf(a, "graph(%%x: f32[640]) {\n%s return %s\n}\n", body.p, results.p);
    s = must_schedule(a, text, "", &limits, false);
    assert_non_null(strstr(s->log.p, "not fused: 33 tensors are too many for a kernel"));
    assert_int_equal(s->groups.n, 2);
    arena_free(a);
}

/* However cheap operators are, a kernel holds so many; of expensive ones fewer, and fewer behind a
 * product. */
static void test_many_operators(void **state) {
    static const struct {
        const char *head, *op;
        int n;
        uint32_t kernels;
        const char *why;
    } cases[] = {
        {"graph(%y0: f32[64]) {\n", "sigmoid", GROUP_MAX_NESTS + 1, 2,
         "not fused: 129 operators are too many for a kernel"},
        {"graph(%y0: f32[64]) {\n", "sin", 61, 2,
         "not fused: 2074 instructions an element are too many for a kernel"},
        {"graph(%y0: f64[64]) {\n", "asinh", 13, 2,
         "not fused: 2184 instructions an element are too many for a kernel"},
        {"graph(%a: f32[64, 64], %b: f32[64, 64]) {\n %y0 = mm(%a, %b)\n", "sin", 8, 2,
         "instructions an element are too many behind a product"},
        {"graph(%a: f32[64, 64], %b: f32[64, 64]) {\n %y0 = mm(%a, %b)\n", "sin", 7, 1, ""},
    };
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = buf_new(a);
        buf_puts(&text, cases[i].head);
        for (int k = 1; k <= cases[i].n; k++)
            buf_printf(&text, " %%y%d = %s(%%y%d)\n", k, cases[i].op, k - 1);
        buf_printf(&text, " return %%y%d\n}\n", cases[i].n);
        struct schedule *s = must_schedule(a, text.p, "", &limits, false);
        if (s->groups.n != cases[i].kernels || !strstr(s->log.p, cases[i].why))
            fail_msg("%u kernels of %s, and no '%s' in:\n%s", s->groups.n, cases[i].op,
                     cases[i].why, s->log.p);
    }
    arena_free(a);
}

/* A tensor that many read pairs those that are near, so that a program's pairs grow as it does. */
static void test_many_readers(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    uint32_t length[2];
    for (int i = 0; i < 2; i++) {
        struct buf text = buf_new(a), results = buf_new(a);
        buf_puts(&text, "graph(%x: f32[64]) {\n");
        for (int k = 0; k < 400 << i; k++) {
            buf_printf(&text, " %%y%d = mul(%%x, %d.5)\n", k, k);
            buf_printf(&results, "%s%%y%d", k ? ", " : "", k);
        }
        buf_printf(&text, " return %s\n}\n", results.p);
        struct schedule *s = must_schedule(a, text.p, "", &limits, false);
        assert_int_equal(s->groups.n, ((400 << i) + 30) / 31); /* of 32 tensors one is read */
        length[i] = s->log.n;
    }
    assert_in_range(length[1], length[0], length[0] * 5 / 2);
    arena_free(a);
}

/* Each step of a stencil reads the one before at three places: eight in one kernel would make the
 * first thousands of times. Where all read at one place, as many operators are one kernel. */
static void test_many_copies(void **state) {
    struct arena *a = arena_new();
    struct buf body = buf_new(a), plain = buf_new(a);
    for (int i = 1; i <= 8; i++) {
        int j = i - 1;
        buf_printf(&body, " %%r%d = roll(%%y%d, [1, %d], [0, 1])\n", i, j, i);
        buf_printf(&body, " %%s%d = roll(%%y%d, [-1, %d], [0, 1])\n", i, j, 2 * i);
        buf_printf(&body, " %%t%d = add(%%r%d, %%s%d)\n %%y%d = mul(%%t%d, %%y%d)\n", i, i, i, i, i,
                   j);
        buf_printf(&plain, " %%t%d = add(%%y%d, %%y%d)\n %%y%d = mul(%%t%d, %%y%d)\n", i, j, j, i,
                   i, j);
    }
    struct device_limits limits = test_gpu("sm_90a");
    char *text = arena_printf(a, "graph(%%y0: f32[64, 64]) {\n%s return %%y8\n}\n", body.p);
    struct schedule *s = must_schedule(a, text, "", &limits, false);
    assert_non_null(strstr(s->log.p, "not fused: what is read at several places would be made too "
                                     "often"));
    assert_true(s->groups.n > 1 && s->groups.n <= 8);
    text = arena_printf(a, "graph(%%y0: f32[64, 64]) {\n%s return %%y8\n}\n", plain.p);
    s = must_schedule(a, text, "", &limits, false);
    assert_int_equal(s->groups.n, 1);
    arena_free(a);
}

/* A dense block: each layer reads all before it. What is asked about its pairs, most of which may
 * not be fused, is forgotten: DenseNet-201 took more than a gigabyte for its answers. */
static void test_dense(void **state) {
    enum { LAYERS = 60, MOST = 8 << 20 };
    struct arena *a = arena_new();
    struct buf text = buf_new(a), all = buf_new(a);
    buf_puts(&text, "graph(%x: f32[64, 32]) {\n");
    buf_puts(&all, "%x");
    for (int k = 0; k < LAYERS; k++) {
        buf_printf(&text, " %%c%d = cat([%s], 1)\n %%r%d = relu(%%c%d)\n", k, all.p, k, k);
        buf_printf(&text, " %%y%d = sum(%%r%d, 1, True)\n", k, k);
        buf_printf(&all, ", %%y%d", k);
    }
    buf_printf(&text, " return %%y%d\n}\n", LAYERS - 1);
    struct device_limits limits = test_gpu("sm_90a");
    struct loops *l = must_lower(a, text.p, "");
    size_t before = arena_used(a);
    schedule_fuse(l, &limits, FUSING_ALL, a);
    assert_in_range(arena_used(a) - before, 1, MOST);
    arena_free(a);
}

/* ---- split axes ------------------------------------------------------------------------------ */

static void test_split_axes(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[64, 96], %w: f32[4, 1, 1]) {\n %s = softmax(%x, 1)\n"
         " %v = view(%s, [16, 4, 8, 12])\n %y = mul(%v, %w)\n %a = add(%x, 1)\n"
         " %u = view(%a, [64, 8, 12])\n %z = mul(%u, 2)\n return %y, %z\n}\n",
         1,
         {"fused, axes split, saves"}},
        {"graph(%x: f32[64, 16, 8, 8], %w: f32[16], %b: f32[16]) {\n"
         " %y = group_norm(%x, 4, %w, %b)\n return %y\n}\n",
         1,
         {"fused, axes split, saves"}},
        {"graph(%x: f32[64, 9, 64]) {\n %y = layer_norm(%x, [64])\n"
         " %v = view(%y, [64, 9, 4, 16])\n %p = permute(%v, [0, 2, 1, 3])\n return %p\n}\n",
         1,
         {"fused, axes split, saves"}},
        {"graph(%x: f32[8, 9, 16], %w: f32[24, 16], %b: f32[24]) {\n %y = linear(%x, %w, %b)\n"
         " %z = relu(%y)\n return %z\n}\n",
         1, /* rows of the product; its depth stays whole */
         {"mm  with  add: fused, axes split, saves"}},
        {"graph(%x: f32[4, 32, 24, 16]) {\n %y = layer_norm(%x, [16])\n"
         " %v = view(%y, [4, 4, 8, 3, 8, 16])\n %p = permute(%v, [0, 1, 3, 2, 4, 5])\n"
         " %w = view(%p, [48, 64, 16])\n %z = mul(%w, 2)\n return %z\n}\n",
         1, /* 12 windows of a picture */
         {"fused, axes split, saves"}},
        {"graph(%x: f32[8, 32, 28]) {\n %y = relu(%x)\n %v = view(%y, [8, 2, 16, 28])\n"
         " %p = permute(%v, [0, 2, 1, 3])\n %u = view(%p, [8, 32, 28])\n %z = add(%u, 1)\n"
         " return %y, %z\n}\n",
         1, /* as they are, x would be read twice */
         {"y  with  z: fused, axes split, saves"}},
        {"graph(%x: f32[8, 60]) {\n %a = exp(%x)\n %v = view(%a, [2, 4, 6, 10])\n"
         " %b = neg(%v)\n return %a, %b\n}\n",
         1,
         {"a  with  b: fused, axes split, saves"}},
        {"graph(%x: f32[1024, 24], %g: f32[64, 16, 24]) {\n %v = view(%x, [64, 16, 24])\n"
         " %p = mul(%v, %g)\n %s = sum(%p, 2, True)\n %q = sub(%p, %s)\n"
         " %u = view(%q, [1024, 24])\n %c = sum(%u, 0)\n return %q, %c\n}\n",
         1, /* rows and the sums of their columns */
         {NULL}},
    };
    CHECK(cases);
}

static void test_not_split(void **state) {
    static const struct fusion cases[] = {
        {"graph(%x: f32[640, 9, 64]) {\n %y = layer_norm(%x, [64])\n"
         " %v = view(%y, [640, 9, 16, 4])\n %p = permute(%v, [0, 2, 1, 3])\n return %p\n}\n",
         2,
         {"not fused: memory would lie in small pieces"}},
        {"graph(%x: f32[16, 9, 64]) {\n %y = layer_norm(%x, [64])\n"
         " %v = view(%y, [16, 9, 16, 4])\n %p = permute(%v, [0, 2, 1, 3])\n return %p\n}\n",
         1, /* moved while a kernel is launched */
         {NULL}},
        {"graph(%x: f32[4096, 2048]) {\n %s = sum(%x, 1)\n %v = view(%s, [64, 64])\n"
         " %p = permute(%v, [1, 0])\n %y = mul(%p, 2)\n return %y\n}\n",
         1, /* little beside what is read */
         {NULL}},
        {"graph(%x: f32[64, 32, 64]) {\n %y = layer_norm(%x, [64])\n"
         " %v = view(%y, [64, 32, 2, 32])\n %p = permute(%v, [0, 2, 3, 1])\n return %p\n}\n",
         2,
         {"not fused: memory runs along different axes"}},
        {"graph(%x: f32[64, 48]) {\n %s = softmax(%x, 1)\n %v = view(%s, [96, 32])\n"
         " %y = neg(%v)\n return %y\n}\n",
         2, /* rows of 48 and of 32 */
         {"not fused: iteration spaces differ"}},
        {"graph(%x: f32[64, 48], %w: f32[3, 1]) {\n %c = cumsum(%x, 1)\n"
         " %v = view(%c, [64, 3, 16])\n %y = mul(%v, %w)\n return %y\n}\n",
         2, /* scanned along */
         {"not fused: iteration spaces differ"}},
        {"graph(%x: f32[8, 6], %y: f32[8, 6]) {\n %a = add(%x, %y)\n %v = view(%a, [4, 2, 6])\n"
         " %b = neg(%v)\n return %b\n}\n",
         1, /* nothing to split for what vanishes */
         {"a  with  b: inlined"}},
    };
    CHECK(cases);
}

/* Axes of symbolic sizes are split where the halves divide. */
static void test_split_symbolic(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    struct schedule *s =
        must_schedule(a,
                      "graph(%x: f32[s0, s1, 64], %w: f32[64]) {\n %y = rms_norm(%x, [64], %w)\n"
                      " %v = view(%y, [s0*s1, 4, 16])\n %n = neg(%v)\n return %n, %y\n}\n",
                      "s0=64 s1=9", &limits, false);
    assert_int_equal(s->groups.n, 1);
    const struct group *G = &s->groups.at[0];
    assert_int_equal(G->n_x, 2);
    assert_int_equal(G->n_r, 2);
    assert_string_equal(ex_symbol(s->loops->ex, G->r[1])->name, "r0b");
    assert_int_equal(ex_value(s->loops->ex, ex_symbol(s->loops->ex, G->r[1])->bound), 16);
    arena_free(a);
}

/* ---- order and memory ------------------------------------------------------------------------ */

static const char chain[] =
    "graph(%x: f32[16, 16], %w: f32[16, 16]) {\n %a = mm(%x, %w)\n %b = mm(%a, %w)\n"
    " %c = mm(%b, %w)\n %d = mm(%c, %w)\n return %d\n}\n";

static void test_order(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    /* s's group starts with the nest of %e, but stands on %t, which comes later in the program. */
    struct schedule *s = must_schedule(
        a,
        "graph(%x: f32[6, 5], %z: f32[70, 6]) {\n %e = exp(%x)\n %t = sum(%z, 0)\n"
        " %u = unsqueeze(%t, 1)\n %p = mul(%e, %u)\n %s = sum(%p, 1)\n return %s\n}\n",
        "", &limits, false);
    assert_int_equal(s->groups.n, 2);
    assert_int_equal(s->group_of[0], 1);
    assert_int_equal(s->group_of[1], 0);
    arena_free(a);
}

static void test_memory(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    struct schedule *s = must_schedule(a, chain, "", &limits, false);
    assert_int_equal(s->pool_bytes, 2048);
    assert_int_equal(s->offset[2], 0);
    assert_int_equal(s->offset[3], 1024);
    assert_int_equal(s->offset[4], 0);

    /* Places start at multiples of 256 bytes; the largest is placed first. */
    s = must_schedule(a,
                      "graph(%x: f32[3, 90], %y: f32[100, 90]) {\n %a = sum(%x, 1)\n %b = sum(%y, "
                      "1)\n %c = amax(%a)\n"
                      " %d = amax(%b)\n %e = add(%c, %d)\n return %e\n}\n",
                      "", &limits, false);
    size_t at_a = s->offset[s->loops->nests.at[0].out], at_b = s->offset[s->loops->nests.at[1].out];
    assert_int_equal(at_b, 0);
    assert_int_equal(at_a % 256, 0);
    assert_true(at_a >= 400);

    /* What a kernel keeps to itself has no place; what is empty takes none. */
    s = must_schedule(a, "graph(%x: f32[8, 6]) {\n %y = softmax(%x, 1)\n return %y\n}\n", "",
                      &limits, false);
    assert_int_equal(s->pool_bytes, 0);
    s = must_schedule(
        a,
        "graph(%x: f32[0, 6], %w: f32[6, 4]) {\n %a = relu(%x)\n %m = mm(%a, %w)\n return %m\n}\n",
        "", &limits, false);
    assert_int_equal(s->pool_bytes, 0);
    arena_free(a);
}

/* ---- the verifier ---------------------------------------------------------------------------- */

static void expect(const struct schedule *s, const char *start) {
    const char *why = schedule_verify(s);
    if (!why) fail_msg("found nothing, expected %s", start);
    if (strncmp(why, start, strlen(start))) fail_msg("found %s, expected %s", why, start);
}

static void test_verify(void **state) {
    static const char softmax[] = "graph(%x: f32[8, 6]) {\n %y = softmax(%x, 1)\n return %y\n}\n";
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
#define FRESH(text) must_schedule(a, text, "", &limits, false)
    struct schedule *s = FRESH(chain);
    s->groups.at[1].members.at[0].nest = 0;
    expect(s, "S1: a is in 2 groups");
    s = FRESH(softmax);
    s->groups.at[0].members.n--;
    expect(s, "S1: div is in 0 groups");

    s = FRESH(chain);
    s->group_of[0] = 1, s->group_of[1] = 0;
    expect(s, "S2: b runs before what it reads");

    s = FRESH(softmax);
    s->groups.at[0].members.at[1].to[0] = ex_const(s->loops->ex, 0);
    expect(s, "S4: sub does not cover X");
    s = FRESH("graph(%x: f32[64, 32], %w: f32[32, 48], %r: f32[64, 48]) {\n %m = mm(%x, %w)\n"
              " %s = stack([%r, %m], 1)\n return %s\n}\n");
    s->groups.at[0].n_arms = 0;
    expect(s, "S4: m does not cover X");
    s->groups.at[0].n_arms = 2;
    s->groups.at[0].members.at[0].to[1] = s->groups.at[0].x[2];
    expect(s, "S4: m is a product, and covers arms");
    s = FRESH("graph(%x: f32[2, 3, 4]) {\n %s = sum(%x, [1, 2])\n return %s\n}\n");
    s->groups.at[0].members.at[0].to[2] = ex_const(s->loops->ex, 0);
    expect(s, "S4: s covers part of R");
    s = FRESH(softmax);
    s->groups.at[0].members.at[0].inlined = true;
    expect(s, "S4: amax is inlined but needed");
    s = FRESH(softmax);
    s->groups.at[0].members.at[4].inlined = true;
    expect(s, "S4: div is inlined but needed");

    s = FRESH(chain);
    s->offset[3] = 1280;
    expect(s, "S5: b3 lies outside the pool");
    s = FRESH(chain);
    s->offset[3] = 1020;
    expect(s, "S5: b2 and b3 overlap");
#undef FRESH
    arena_free(a);
}

/* What is added where it lands has a kernel for each index, and one for all that land by it. */
static void test_landing(void **state) {
    static const struct fusion cases[] = {
        {"graph(%i: i64[50], %j: i64[50], %s: f32[50, 8], %x: f32[90, 8]) {\n"
         " %a = index_add(%x, 0, %i, %s)\n %b = index_add(%x, 0, %j, %s)\n return %a, %b\n}\n",
         2,
         {"not fused: they go along the sources of different rows"}},
        {"graph(%i: i64[50], %t: f32[50, 8], %s: f32[50, 8], %x: f32[90, 8]) {\n"
         " %a = index_add(%x, 0, %i, %s)\n %b = index_add(%x, 0, %i, %t)\n return %a, %b\n}\n",
         1,
         {NULL}},
        {"graph(%x: f32[50, 90], %t: i64[50]) {\n %y = cross_entropy(%x, %t, reduction='none')\n"
         " return %y\n}\n", /* what is compared with columns lands on no row */
         1,
         {NULL}},
    };
    CHECK(cases);
}

/* Two ways down from each of forty flags: whether anything lands is not asked along all of them. */
static void test_landing_of_shared_flags(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    struct buf b = buf_new(a);
    buf_puts(&b,
             "graph(%f0: bool[50, 90], %p: bool[50, 90], %q: bool[50, 90], %x: f32[50, 90]) {\n");
    for (int i = 0; i < 40; i++)
        buf_printf(&b,
                   " %%a%d = logical_and(%%f%d, %%p)\n %%b%d = logical_and(%%f%d, %%q)\n"
                   " %%f%d = logical_and(%%a%d, %%b%d)\n",
                   i, i, i, i, i + 1, i, i);
    buf_puts(&b,
             " %w = where(%f40, %x, 0)\n %s = sum(%w, 1)\n %m = amax(%w, 1)\n return %s, %m\n}\n");
    assert_int_equal(must_schedule(a, b.p, "", &limits, false)->groups.n, 1);
    arena_free(a);
}

/* Softmax behind a product, and the same of the product apart. */
static void test_reductions_apart(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    const char *text = "graph(%x: bf16[512, 64], %w: bf16[64, 256]) {\n %m = mm(%x, %w)\n"
                       " %r = relu(%m)\n %s = softmax(%r, 1)\n return %s\n}\n";
    struct schedule *all = schedule_fuse(must_lower(a, text, ""), &limits, FUSING_ALL, a),
                    *apart = schedule_fuse(must_lower(a, text, ""), &limits, FUSING_APART, a);
    assert_true(all->may_be_apart);
    assert_int_equal(all->groups.n, 1);
    assert_false(apart->may_be_apart);
    assert_int_equal(apart->groups.n, 2);
    assert_non_null(strstr(apart->log.p, "what a product comes to is reduced by another kernel"));
    arena_free(a);
}

/* For schedule_apart: a graph, and what kernels are said to take, by how many nests they have. */
struct said {
    struct arena *a;
    const char *text;
    struct device_limits limits;
    double us[16];
    int made;
};

static struct schedule *make_said(const struct apart_marks *marks, struct arena *a, void *ctx) {
    struct said *x = ctx;
    struct loops *l = must_lower(a, x->text, "");
    struct schedule *s = schedule_fuse_apart(l, &x->limits, marks, a);
    schedule_recompute(s, &x->limits);
    schedule_order(s);
    x->made++;
    return s;
}

static double said_us(struct schedule *s, uint32_t group, void *ctx) {
    const struct said *x = ctx;
    assert_in_range(s->groups.at[group].members.n, 0, 15);
    return x->us[s->groups.at[group].members.n];
}

/* How many kernels there are by that, and how many schedules were made to find out. */
static uint32_t kernels_said(struct said *x, int *made) {
    struct schedule *s = make_said(NULL, x->a, x);
    x->made = 0;
    struct apart_marks marks = schedule_apart(s, &x->limits, make_said, said_us, x);
    *made = x->made;
    return marks.any ? make_said(&marks, x->a, x)->groups.n : s->groups.n;
}

static struct said said_of(struct arena *a, const char *body) {
    const char *head = "graph(%x: bf16[512, 64], %w: bf16[64, 256]) {\n %m = mm(%x, %w)\n";
    struct said x = {.a = a, .text = arena_printf(a, "%s%s}\n", head, body)};
    x.limits = test_gpu("sm_90a");
    for (int i = 0; i < 16; i++) x.us[i] = 100;
    return x;
}

/* A product's own kernel and another one, where both are faster than one, by a margin. */
static void test_apart_by_cost(void **state) {
    struct arena *a = arena_new();
    int made;
    struct said x = said_of(a, " %r = relu(%m)\n %s = softmax(%r, 1)\n return %s\n");
    assert_int_equal(kernels_said(&x, &made), 1); /* 200 us for 100 */
    assert_int_equal(made, 1);
    uint32_t all = make_said(NULL, a, &x)->groups.at[0].members.n;
    x.us[all] = 204; /* a launch costs 1.5, and 3 % and 2 us may be an error */
    assert_int_equal(kernels_said(&x, &made), 1);
    x.us[all] = 220;
    assert_int_equal(kernels_said(&x, &made), 2);
    arena_free(a);
}

/* Functions of many instructions; of few nobody asks, nor of sums that no element waits for. */
static void test_dear_apart(void **state) {
    struct arena *a = arena_new();
    int made;
    struct said x = said_of(a, " %p = log(%m)\n %q = log1p(%p)\n return %q\n");
    assert_int_equal(kernels_said(&x, &made), 1);
    uint32_t all = make_said(NULL, a, &x)->groups.at[0].members.n;
    x.us[all] = 300;
    assert_int_equal(kernels_said(&x, &made), 2);
    assert_int_equal(made, 1);
    x = said_of(a, " %p = sigmoid(%m)\n return %p\n");
    assert_int_equal(kernels_said(&x, &made), 1);
    assert_int_equal(made, 0);
    x = said_of(a, " %r = relu(%m)\n %s = sum(%r, 1)\n return %r, %s\n");
    assert_int_equal(kernels_said(&x, &made), 1);
    assert_int_equal(made, 0);
    arena_free(a);
}

/* Of two products one had better have its softmax apart, and the other one not. */
static void test_apart_each(void **state) {
    struct arena *a = arena_new();
    int made;
    struct said x = said_of(a, "");
    x.text = "graph(%x: bf16[512, 64], %w: bf16[64, 256], %v: bf16[64, 256]) {\n"
             " %m = mm(%x, %w)\n %s = softmax(%m, 1)\n"
             " %n = mm(%x, %v)\n %r = relu(%n)\n %e = exp(%r)\n %t = softmax(%e, 1)\n"
             " return %s, %t\n}\n";
    struct schedule *s = make_said(NULL, a, &x);
    assert_int_equal(s->groups.n, 2);
    uint32_t one = s->groups.at[0].members.n, other = s->groups.at[1].members.n;
    assert_int_not_equal(one, other);
    x.us[one > other ? one : other] = 300;
    assert_int_equal(kernels_said(&x, &made), 3);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apart_by_cost),
        cmocka_unit_test(test_dear_apart),
        cmocka_unit_test(test_apart_each),
        cmocka_unit_test(test_producer_and_reader),
        cmocka_unit_test(test_copy_of_product),
        cmocka_unit_test(test_shared_input),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_inlining),
        cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_epilogue),
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_largest_saving_first),
        cmocka_unit_test(test_eager),
        cmocka_unit_test(test_another_between),
        cmocka_unit_test(test_different_spaces),
        cmocka_unit_test(test_other_rows),
        cmocka_unit_test(test_split_axes),
        cmocka_unit_test(test_not_split),
        cmocka_unit_test(test_split_symbolic),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_epilogue_first),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_by_rows),
        cmocka_unit_test(test_rows_beside),
        cmocka_unit_test(test_scanned_rows),
        cmocka_unit_test(test_by_rows_stores),
        cmocka_unit_test(test_unrolled),
        cmocka_unit_test(test_arms),
        cmocka_unit_test(test_arms_of_reductions),
        cmocka_unit_test(test_abreast),
        cmocka_unit_test(test_landing),
        cmocka_unit_test(test_landing_of_shared_flags),
        cmocka_unit_test(test_matrix_products),
        cmocka_unit_test(test_reductions_behind_products),
        cmocka_unit_test(test_images_behind_reductions),
        cmocka_unit_test(test_reductions_apart),
        cmocka_unit_test(test_many_arguments),
        cmocka_unit_test(test_many_operators),
        cmocka_unit_test(test_many_readers),
        cmocka_unit_test(test_many_copies),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
