/* test_kernel_config.c: configs as text and back, every mistake in one; what each knob means in a
 * layout, and every reason for which layout.c refuses a config. */
#include "lower_test.h"

/* ---- text ------------------------------------------------------------------------------------ */

static struct config parsed(struct arena *a, const char *text) {
    struct diag d = diag_new(a);
    struct config c;
    if (!config_parse(text, &c, &d)) fail_msg("%s", d.text);
    return c;
}

static void test_round_trip(void **state) {
    struct arena *a = arena_new();
    struct config all, none = {0};
    for (int k = 0; k < KNOB_COUNT; k++) {
        struct config one = {0};
        one.knob[k] = all.knob[k] = 1 << (k % 30);
        const char *text = config_str(a, &one);
        assert_string_equal(text, arena_printf(a, "%s=%d", knob_name((enum knob)k), one.knob[k]));
        struct config back = parsed(a, text);
        assert_true(config_equal(&back, &one));
        assert_false(config_equal(&back, &none));
        assert_true(strlen(knob_help((enum knob)k)) > 0);
    }
    struct config back = parsed(a, config_str(a, &all));
    assert_true(config_equal(&back, &all));
    arena_free(a);
}

/* A knob that is 0 does not exist: it is not printed, and giving it changes nothing. */
static void test_zero_knobs(void **state) {
    struct arena *a = arena_new();
    struct config with = parsed(a, " x=2  keep=0\tr=64 "), without = parsed(a, "r=64 x=2"),
                  none = {0};
    assert_true(config_equal(&with, &without));
    assert_string_equal(config_str(a, &with), "x=2 r=64");
    assert_string_equal(config_str(a, &none), "");
    assert_int_equal(parsed(a, "r=1073741824").knob[KNOB_r], 1 << 30);
    arena_free(a);
}

static void test_parse_errors(void **state) {
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "empty config"},
        {"  \t ", "empty config"},
        {"x=1 width=4", "config 'x=1 width=4': no knob 'width'; knobs: x, r, warps, vec, rows"},
        {"=4", "no knob ''"},
        {"X=4", "no knob 'X'"},
        {"x", "expected '=' after 'x'"},
        {"x =4", "expected '=' after 'x'"},
        {"x=", "x needs a number from 0 to 2^30"},
        {"x= r=2", "x needs a number from 0 to 2^30"},
        {"x=4,r=2", "x needs a number"},
        {"x=4.5", "x needs a number"},
        {"x=-1", "x needs a number"},
        {"x=1073741825", "x needs a number"},
        {"x=99999999999999999999", "x needs a number"},
        {"x=0x10", "x needs a number"},
        {"x=1 r=2 x=1", "x is given twice"},
        {"keep=0 keep=0", "keep is given twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct config c;
        assert_false(config_parse(cases[i].text, &c, &d));
        assert_int_equal(d.status, WS_USAGE);
        if (!strstr(d.text, cases[i].why))
            fail_msg("'%s': %snot %s", cases[i].text, d.text, cases[i].why);
        arena_free(a);
    }
}

/* Of any knob, the last of them too, it is known that it was given. */
static void test_given_twice(void **state) {
    struct arena *a = arena_new();
    for (enum knob k = 0; k < KNOB_COUNT; k++) {
        struct diag d = diag_new(a);
        struct config c;
        const char *name = knob_name(k);
        assert_true(config_parse(arena_printf(a, "%s=0", name), &c, &d));
        assert_false(config_parse(arena_printf(a, "%s=0 %s=1", name, name), &c, &d));
        assert_non_null(strstr(d.text, arena_printf(a, "%s is given twice", name)));
    }
    arena_free(a);
}

/* ---- legality -------------------------------------------------------------------------------- */

static const char softmax[] = "graph(%x: f32[100, 1000]) {\n %y = softmax(%x, 1)\n return %y\n}\n";
static const char long_softmax[] = "graph(%x: f32[60000]) {\n %y = softmax(%x, 0)\n return %y\n}\n";
static const char softmax_columns[] =
    "graph(%x: f32[1000, 100]) {\n %y = softmax(%x, 0)\n return %y\n}\n";
static const char odd_columns[] = /* 8 divides their elements, 16 does not */
    "graph(%x: bf16[520, 99]) {\n %y = sum(%x, 0)\n return %y\n}\n";
static const char narrow_columns[] = /* fewer than a vector has */
    "graph(%x: bf16[520, 3]) {\n %y = sum(%x, 0)\n return %y\n}\n";
static const char odd_columns_stored[] = /* beside their sums, which are stored first */
    "graph(%x: bf16[520, 99]) {\n %y = sum(%x, 0)\n %z = mul(%x, 2)\n return %y, %z\n}\n";
static const char rows_behind[] =
    "graph(%x: bf16[512, 128], %y: bf16[128, 512]) {\n %p = mm(%x, %y)\n %z = softmax(%p, 1)\n "
    "return %z\n}\n";
static const char odd_softmax[] =
    "graph(%x: bf16[520, 99]) {\n %y = softmax(%x, 0)\n return %y\n}\n";
static const char column_scan[] =
    "graph(%x: f32[1000, 70]) {\n %y = cumsum(%x, 0)\n return %y\n}\n";
static const char row_scan[] = "graph(%x: f32[2, 1000]) {\n %y = cumsum(%x, 1)\n return %y\n}\n";
static const char outer_sum[] =
    "graph(%x: f32[100, 1], %y: f32[1, 1000]) {\n %z = add(%x, %y)\n return %z\n}\n";
static const char deviation[] = /* from what stands on no sum: infinite where x is */
    "graph(%x: f32[100, 1000]) {\n %m = amin(%x, 1, True)\n %d = sub(%x, %m)\n %q = mul(%d, %d)\n"
    " %y = sum(%q, 1)\n return %y\n}\n";
static const char variance[] = "graph(%x: f32[100, 1000]) {\n %y = var(%x, 1)\n return %y\n}\n";
static const char short_rows[] =
    "graph(%x: f32[100, 3], %z: f32[3]) {\n %y = add(%x, %z)\n return %y\n}\n";
static const char odd_strides[] =
    "graph(%x: f32[1, 33][66, 2]) {\n %y = sum(%x, 1)\n return %y\n}\n";
static const char row_sum[] = "graph(%x: f32[2, 4096]) {\n %y = sum(%x, 1)\n return %y\n}\n";
static const char sum_and_exp[] =
    "graph(%x: f32[8, 4096]) {\n %y = sum(%x, 1)\n %e = exp(%x)\n return %y, %e\n}\n";
static const char transposed[] =
    "graph(%x: f32[48, 96]) {\n %t = permute(%x, [1, 0])\n %y = exp(%t)\n return %y\n}\n";
static const char odd_bias[] =
    "graph(%x: bf16[9, 101], %b: bf16[101]) {\n %y = add(%x, %b)\n return %y\n}\n";
static const char shifted[] =
    "graph(%x: f32[8, 66]) {\n %a = slice(%x, 1, 1, 65)\n %y = exp(%a)\n return %y\n}\n";
static const char tf32[] = "graph(%a: f32[64, 128], %b: f32[96, 128]) products tf32 {\n"
                           "  %t = permute(%b, [1, 0])\n  %c: f32[64, 96] = mm(%a, %t)\n"
                           "  return %c\n}\n";
static const char strict[] = "graph(%a: f32[64, 128], %b: f32[128, 96]) products strict {\n"
                             "  %c: f32[64, 96] = mm(%a, %b)\n"
                             "  return %c\n}\n";
static const char product[] =
    "graph(%x: bf16[256, 128], %w: bf16[128, 64]) {\n %y = mm(%x, %w)\n return %y\n}\n";
static const char both_turned[] = /* rows of a lie along its lines, columns of b along the depth */
    "graph(%a: bf16[128, 256], %b: bf16[200, 128]) {\n %x = permute(%a, [1, 0])\n"
    " %w = permute(%b, [1, 0])\n %y = mm(%x, %w)\n return %y\n}\n";
static const char product64[] =
    "graph(%x: f64[256, 128], %w: f64[128, 64]) {\n %y = mm(%x, %w)\n return %y\n}\n";
static const char product32[] =
    "graph(%x: f32[256, 128], %w: f32[128, 64]) {\n %y = mm(%x, %w)\n return %y\n}\n";
static const char every_second[] = /* of a row; what is stored is contiguous, and little */
    "graph(%x: f32[100, 1000]) {\n %s = slice(%x, 1, 0, 1000, 2)\n %y = sum(%s, 1)\n return "
    "%y\n}\n";
static const char pooled_rows[] = /* 64 bytes from one element to the next, but all are read */
    "graph(%x: f32[64, 1, 1024]) {\n %w = windows(%x, kernel=[16], stride=[16], padding=[0], "
    "dilation=[1], ceil_mode=False, value=0.0)\n %s = sum(%w, dim=[3], keepdim=False, dtype=None)\n"
    " %e = exp(%s)\n %y = amax(%e, dim=[1, 2], keepdim=False)\n return %y\n}\n";
static const char landing[] = /* tiles of 256 are of two rows, and of one */
    "graph(%x: f32[100, 192], %i: i64[64], %s: f32[64, 192]) {\n %y = index_add(%x, 0, %i, %s)\n"
    " return %y\n}\n";
static const char landing_huge[] = /* terms that no memory holds */
    "graph(%x: bf16[128256, 8192], %i: i64[131072], %s: bf16[131072, 8192]) {\n"
    " %y = index_add(%x, 0, %i, %s)\n return %y\n}\n";
static const char landing_masked[] =
    "graph(%i: i64[64], %s: f32[64]) {\n %r = arange(0, 100, 1)\n %u = unsqueeze(%r, 1)\n"
    " %q = eq(%u, %i)\n %p = gt(%s, 0)\n %b = logical_and(%p, %q)\n %w = where(%b, %s, -inf)\n"
    " %y = amax(%w, 1)\n return %y\n}\n";
static const char landing_elsewhere[] = /* what does not is no zero */
    "graph(%i: i64[64], %s: f32[64]) {\n %r = arange(0, 100, 1)\n %u = unsqueeze(%r, 1)\n"
    " %q = eq(%u, %i)\n %w = where(%q, %s, 1)\n %y = sum(%w, 1)\n return %y\n}\n";
static const char many_rows[] =
    "graph(%x: i64[100, 100], %y: f32[4294967296, 4]) {\n %s = sum(%y, 1)\n return %s\n}\n";

static const char mixed[] = "graph(%x: bf16[4096, 1000]) {\n %s = sum(%x, 1, True)\n"
                            " %y = sub(%x, %s)\n %c = sum(%y, 0)\n return %y, %c\n}\n";

struct refusal {
    const char *text, *config, *why; /* NULL: legal */
};

static void check(const struct device_limits *limits, const struct refusal *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const struct kernel *k = first_kernel(a, c[i].text, limits);
        struct config config = parsed(a, c[i].config);
        struct layout y;
        const char *why = kernel_layout(k, &config, &y, a);
        if (!why != !c[i].why || (why && strncmp(why, c[i].why, strlen(c[i].why))))
            fail_msg("%s\n%s: %s\nnot %s", c[i].text, c[i].config, why ? why : "legal",
                     c[i].why ? c[i].why : "legal");
        if (!why) block_build(k, &config, a);
        arena_free(a);
    }
}

static void test_refusals_gpu(void **state) {
    static const struct refusal cases[] = {
        {softmax, "x=1 r=1024 warps=8 vec=4 keep=1", NULL},
        {softmax, "x=1 r=1024 warps=8 vec=4 keep=3", "keep is 0, 1 or 2"},
        {softmax, "x=1 r=128 warps=1 vec=4 keep=2", NULL},
        {softmax, "x=1 r=1024 warps=1 vec=1 rows=1 keep=2", NULL},
        {softmax, "x=1 r=32 warps=1 vec=1 keep=2", NULL},
        {row_sum, "x=1 r=1024 warps=8 vec=4 keep=2",
         "keep=2 needs rows that are read twice, on a GPU, and no sums of columns"},
        {softmax, "x=1 r=1024 warps=8 vec=4 skip_l1=1", NULL},
        {softmax, "x=1 r=1024 warps=8 vec=4 skip_l1=2", "skip_l1 is 0 or 1"},
        {softmax, "x=1 r=1024 warps=8 vec=4 leave_l2=1", NULL},
        {softmax, "x=1 r=1024 warps=8 vec=4 leave_l2=2", "leave_l2 is 0 or 1"},
        {softmax, "x=1 r=1024 warps=8 vec=4 stay_l2=1", NULL},
        {softmax, "x=1 r=1024 warps=8 vec=4 leave_l2=1 stay_l2=1",
         "leave_l2=1 and stay_l2=1 are opposites"},
        {outer_sum, "x=1 r=128 warps=1 vec=4 stay_l2=1", "stay_l2=1, but nothing is loaded once"},
        {deviation, "x=1 r=1024 warps=8 vec=4 online=1",
         "online=1 needs sums of exp(x - max) that follow the maximum, or of (x - mean)^2 that "
         "follow the mean, on a GPU"},
        {softmax, "x=1 r=1024 warps=8 vec=4 turn=1",
         "turn=1 needs a pointwise kernel, with whole vectors"},
        {odd_bias, "x=1 r=256 warps=1 vec=8 shift=1", NULL},
        {odd_bias, "x=1 r=256 warps=1 vec=1 shift=1",
         "shift=1, but no operand is out of step with vectors that it could be read by"},
        {softmax, "x=1 r=4096 warps=8 vec=16 shift=1",
         "shift=1, but no operand is out of step with vectors that it could be read by"},
        {shifted, "x=1 r=64 warps=1 vec=2 window=1", NULL},
        {shifted, "x=1 r=64 warps=1 vec=2 window=2", "window is 0 or 1"},
        {row_sum, "x=1 r=1024 warps=8 vec=4 window=1",
         "window=1 needs a pointwise kernel on a GPU, with turn=0 and shift=0"},
        {transposed, "x=32 r=32 warps=4 vec=1 window=1", "window=1, but no loads share vectors"},
        {softmax, "x=1 r=512 warps=4 vec=4 keep=1 cluster=2", NULL},
        {softmax, "x=1 r=512 warps=4 vec=4 cluster=3", "cluster=3; sm_90a has 1 to 8"},
        {softmax, "x=1 r=512 warps=4 vec=4 cluster=16", "cluster=16; sm_90a has 1 to 8"},
        {softmax, "x=1 r=512 warps=4 vec=4 cluster=4", "cluster=4 leaves a block without columns"},
        {softmax, "x=1 r=1024 warps=8 vec=4 nt=7", "nt is 0 or 1"},
        {landing, "x=1024 r=4 warps=2 vec=4 rows=4 hits=8", NULL},
        {landing, "x=256 r=4 warps=2 vec=4 split=4 hits=32", NULL},
        {landing, "x=256 r=4 warps=2 vec=4 hits=4 sort=1", NULL},
        {landing, "x=256 r=4 warps=2 vec=4 sort=1", "sort=1 needs hits, and split=1, on a GPU"},
        {landing, "x=256 r=4 warps=2 vec=4 split=4 hits=4 sort=1",
         "sort=1 needs hits, and split=1, on a GPU"},
        {landing, "x=256 r=4 warps=2 vec=4 hits=1 sort=2", NULL},
        {landing, "x=256 r=4 warps=2 vec=4 hits=1 sort=6", "sort is 0 to 5"},
        {landing, "x=256 r=4 warps=2 vec=4 hits=1 sort=4", NULL},
        {landing, "x=256 r=4 warps=2 vec=4 sort=4",
         "sort=4, or 5, needs hits, and split=1, on a GPU"},
        {landing, "x=256 r=4 warps=2 vec=4 sort=2", "sort=2 needs hits, and split=1, on a GPU"},
        {landing, "x=512 r=4 warps=2 vec=4 rows=2 hits=1 sort=2", "rows=2, but rows begin 1 times"},
        {landing, "x=256 r=32 warps=2 vec=4", NULL},
        {softmax, "x=1 r=1024 warps=8 vec=4 hits=8",
         "hits=8 needs reductions of what lands on a row each"},
        {landing_huge, "x=32768 r=8 warps=16 vec=4 rows=16 hits=8", NULL},
        {landing_masked, "x=32 r=1 warps=1 hits=1", NULL},
        {landing_elsewhere, "x=32 r=1 warps=1 hits=1",
         "hits=1 needs reductions of what lands on a row each"},
        {landing, "x=1024 r=4 warps=2 vec=4 rows=4 hits=33", "hits=33; 32 is the limit"},
        {landing, "x=128 r=4 warps=2 vec=4 hits=8",
         "hits=8 has the threads of a block along x, all 64"},
        {landing, "x=1000 r=4 warps=2 vec=4 rows=3 hits=8", "x=1000 is no multiple of rows=3"},
        {landing, "x=256 r=4 warps=2 vec=4 split=4 last_block=1 hits=8",
         "hits=8 has no keep, cluster, last_block or online"},
        {landing, "x=65536 r=4 warps=2 vec=4 rows=256 hits=8",
         "needs 266760 bytes of shared memory"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 hits=1", "hits is no knob of matrix products"},
        {softmax, "x=1 r=1024 warps=8 vec=4 online=1", NULL},
        {softmax, "x=1 r=1024 warps=8 vec=4 online=2", "online is 0 or 1"},
        {variance, "x=1 r=1024 warps=8 vec=4 online=1", NULL},
        {row_sum, "x=1 r=1024 warps=8 vec=4 online=1",
         "online=1 needs sums of exp(x - max) that follow the maximum, or of (x - mean)^2 that "
         "follow the mean, on a GPU"},
        {row_sum, "x=1 r=1024 warps=8 vec=4 split=4 last_block=1", NULL},
        {softmax, "x=1 r=1024 warps=8 vec=4 keep=1 fit=8", NULL},
        {softmax, "x=1 r=1024 warps=8 vec=4 keep=1 fit=9",
         "fit=9 blocks of 256 threads are more than a multiprocessor holds"},
        {row_sum, "x=1 r=1024 warps=8 vec=4 last_block=1",
         "last_block=1 needs split > 1, on a GPU"},
        {softmax, "x=1 r=128 warps=1 vec=4 split=4 meet=1", NULL},
        {softmax, "x=1 r=128 warps=1 vec=4 split=4 meet=1 keep=2 fit=8", NULL},
        {softmax, "x=1 r=128 warps=1 vec=4 split=4 meet=2", "meet is 0 or 1"},
        {softmax, "x=1 r=128 warps=1 vec=4 meet=1",
         "meet=1 needs split > 1, and no last_block, online, cluster or keep=1"},
        {softmax, "x=2 r=128 warps=2 vec=4 split=4 meet=1",
         "meet=1 needs x=1 of rows that are read twice, along memory, on a GPU"},
        {row_sum, "x=1 r=1024 warps=8 vec=4 split=4 meet=1",
         "meet=1 needs x=1 of rows that are read twice, along memory, on a GPU"},
        {long_softmax, "x=1 r=128 warps=4 vec=1 split=264 meet=1 fit=2", NULL},
        {long_softmax, "x=1 r=128 warps=4 vec=1 split=264 meet=1",
         "split=264, but 132 blocks are at work at a time"},
        {softmax, "x=1 r=1024 warps=8 m=16", "m is a knob of matrix products"},
        {softmax, "x=1 r=1024 warps=8 tn=4", "tn is a knob of matrix products"},
        {softmax, "x=1 r=1024 warps=8 vec=3", "vec=3"},
        {softmax, "x=1 r=1024 warps=8 vec=32", "vec=32"},
        {softmax, "x=1 r=4096 warps=8 vec=16", NULL}, /* heads and tails apart */
        {row_scan, "x=1 r=4096 warps=8 vec=16", "vec=16 does not divide the row length 1000"},
        {short_rows, "x=8 r=16 warps=1 vec=4", "vec=4 does not divide the row length 3"},
        {odd_strides, "x=1 r=128 warps=1 vec=4",
         "vec=4 does not divide the row length 33, and no row is contiguous and as long"},
        {softmax_columns, "x=128 r=32 warps=8 vec=8",
         "vec=8 does not divide the column length 100"},
        {softmax, "x=1 r=1024 vec=4", "warps=0; a block has 1 to 32"},
        {softmax, "x=1 r=1024 warps=33 vec=4", "warps=33; a block has 1 to 32"},
        {softmax, "x=1 r=1024 warps=1073741824", "warps=1073741824; a block has 1 to 32"},
        {softmax, "x=1 r=1024 warps=1 rows=1073741824 vec=4", "1073741824 rows a thread"},
        {softmax, "x=3 r=1024 warps=8 rows=2", "x=3 is no multiple of rows*vec=2"},
        {softmax_columns, "x=6 r=32 warps=8 vec=4", "x=6 is no multiple of rows*vec=4"},
        {softmax, "x=512 r=1024 warps=8", "x=512: 512 thread rows do not divide 256 threads"},
        {softmax, "x=3 r=1024 warps=8", "x=3: 3 thread rows do not divide 256 threads"},
        {softmax, "x=3 r=1024 warps=6", "3 x 64 threads: powers of two are needed"},
        {softmax, "x=1 r=1000 warps=8 vec=4", "r=1000 is no multiple of 256 threads x 4 elements"},
        {softmax, "x=1 r=32768 warps=1", "1024 elements a thread; 512 is the limit"},
        {softmax, "x=1 r=1073741824 warps=1 vec=4", "33554432 elements a thread; 512 is the limit"},
        {softmax_columns, "x=2048 r=64 warps=32 rows=32 vec=4",
         "needs 524288 bytes of shared memory"},
        {many_rows, "x=1 r=32 warps=1", "needs 4294967296 blocks; 2^31 - 1 is the limit"},
        {many_rows, "x=32 r=4 warps=4", NULL},
        {transposed, "x=1 r=96 warps=1 keep=1", "keep=1 but nothing is read twice"},
        {row_sum, "x=1 r=4096 warps=8 keep=1", "keep=1 but nothing is read twice"},
        {softmax, "x=1 r=512 warps=8 keep=1", "keep=1 needs r >= 1000"},
        {softmax, "x=32 r=1024 warps=4 rows=32 vec=4 keep=1",
         "keep=1 would hold 256 registers a thread; 192 is the limit"},
        {softmax, "x=1 r=256 warps=8 split=2",
         "split=2 needs a kernel that goes along its rows once"},
        {transposed, "x=1 r=32 warps=1 split=2",
         "split=2 needs a kernel that goes along its rows once"},
        {sum_and_exp, "x=1 r=256 warps=8 split=2", NULL},
        {row_sum, "x=1 r=1024 warps=8 split=4", NULL},
        {row_sum, "x=1 r=1024 warps=8 split=5", "split=5 but a row has only 4 steps of r=1024"},
        {softmax, "x=1 r=256 warps=8 cluster=4 keep=1", NULL},
        {softmax, "x=1 r=256 warps=8 cluster=2 keep=1", "keep=1 needs r >= 500"},
        {softmax, "x=1 r=256 warps=8 cluster=3", "cluster=3; sm_90a has 1 to 8"},
        {softmax, "x=1 r=32 warps=1 cluster=16", "cluster=16; sm_90a has 1 to 8"},
        {softmax, "x=1 r=256 warps=8 cluster=8", "cluster=8 leaves a block without columns"},
        {row_sum, "x=1 r=1024 warps=8 split=2 cluster=2", "cluster=2 needs a reduction, unsplit"},
        {softmax_columns, "x=128 r=32 warps=8 vec=4 cluster=2", NULL},
        {softmax_columns, "x=128 r=128 warps=8 vec=4 keep=1 cluster=8", NULL},
        {transposed, "x=1 r=32 warps=1 cluster=2", "cluster=2 needs a reduction, unsplit"},
        {mixed, "x=1 r=1024 warps=4 vec=8 keep=1 blocks=2", NULL},
        {mixed, "x=1 r=1024 warps=4 vec=8 keep=1 blocks=2 stages=3", NULL},
        {mixed, "x=1 r=512 warps=2 vec=8 keep=1 cluster=2 blocks=2 stages=2", NULL},
        {mixed, "x=1 r=256 warps=1 vec=8 keep=1 cluster=2 blocks=1",
         "persistent blocks have a row in registers: r=256 must be all 500"},
        {mixed, "x=1 r=1024 warps=4 vec=8 keep=1", "blocks=0; 1 to 32 go over many rows"},
        {mixed, "x=1 r=1024 warps=4 vec=8 keep=1 blocks=33",
         "blocks=33; 1 to 32 go over many rows"},
        {mixed, "x=1 r=1024 warps=4 vec=8 blocks=1", "persistent blocks have keep=1"},
        {mixed, "x=1 r=512 warps=2 vec=8 keep=1 blocks=1",
         "persistent blocks have a row in registers: r=512 must be all 1000"},
        {mixed, "x=1 r=1024 warps=2 vec=16 keep=1 blocks=1",
         "vec=16 does not divide the row length 1000"},
        {mixed, "x=1 r=1024 warps=4 vec=8 keep=1 blocks=1 stages=9", "stages=9; 8 is the limit"},
        {mixed, "x=1 r=1024 warps=1 vec=1 keep=1 blocks=1 stages=2",
         "stages=2, but no load can be copied by vectors"},
        {mixed, "x=64 r=1024 warps=32 vec=8 keep=1 blocks=1 stages=3",
         "needs 393216 bytes of shared memory"},
        {row_sum, "x=1 r=4096 warps=8 blocks=2", "persistent blocks have keep=1"},
        {softmax, "x=1 r=1024 warps=8 vec=4 keep=1 blocks=2 stages=3", NULL},
        {softmax, "x=1 r=512 warps=4 vec=4 keep=1 cluster=2 blocks=2 stages=2", NULL},
        {softmax, "x=1 r=1024 warps=8 vec=4 keep=1 blocks=2 fit=2",
         "fit=2 has a meaning for blocks on a GPU that are not persistent"},
        {softmax, "x=1 r=4096 warps=8 vec=16 keep=1 blocks=2",
         "blocks=2 needs sums of columns or, on a GPU, rows of whole vectors that are reduced"},
        {softmax, "x=1 r=1024 warps=8 vec=4 keep=1 online=1 blocks=2",
         "blocks=2 needs sums of columns or, on a GPU, rows of whole vectors that are reduced"},
        {softmax_columns, "x=32 r=1024 warps=8 vec=4 blocks=2",
         "blocks=2 needs sums of columns or, on a GPU, rows of whole vectors that are reduced"},
        {softmax, "x=1 r=1024 warps=8 vec=4 keep=1 stages=2",
         "stages=2 needs blocks that go over many rows, on a GPU"},
        {row_sum, "x=1 r=1024 warps=8 stages=2",
         "stages=2 needs blocks that go over many rows, on a GPU"},
        {row_scan, "x=1 r=512 warps=4 vec=4 look_back=1", NULL},
        {row_scan, "x=1 r=512 warps=4 vec=4 look_back=2", "look_back is 0 or 1"},
        {row_scan, "x=2 r=512 warps=4 rows=2 vec=4 look_back=1", "look_back=1 needs rows=1"},
        {row_sum, "x=1 r=1024 warps=8 look_back=1",
         "look_back=1 needs scans on a GPU, none of which stands on another"},
        {odd_columns, "x=64 r=64 warps=8 vec=8 shift=1", NULL},
        {odd_columns, "x=64 r=64 warps=8 vec=8", "vec=8 does not divide the column length 99"},
        {odd_columns_stored, "x=64 r=64 warps=8 vec=8 shift=1",
         "vec=8 does not divide the column length 99"},
        {narrow_columns, "x=64 r=64 warps=8 vec=4 shift=1",
         "vec=4 does not divide the column length 3"},
        {odd_columns, "x=128 r=64 warps=8 vec=16 shift=1",
         "shift=1, but no operand is out of step with vectors that it could be read by"},
        {odd_columns, "x=32 r=64 warps=8 vec=1 shift=1",
         "shift=1, but no operand is out of step with vectors that it could be read by"},
        {odd_softmax, "x=64 r=64 warps=8 vec=4 shift=1",
         "vec=4 does not divide the column length 99"},
        {softmax_columns, "x=64 r=64 warps=8 vec=4 shift=1",
         "shift=1, but no operand is out of step with vectors that it could be read by"},
        {column_scan, "x=32 r=64 warps=4 vec=2 look_back=1", NULL},
        {column_scan, "x=32 r=64 warps=4 vec=2", NULL},
        {column_scan, "x=64 r=2 warps=1 vec=2", NULL}, /* a thread has its columns alone */
        {column_scan, "x=64 r=64 warps=4 rows=2 vec=2 look_back=1", "look_back=1 needs rows=1"},
        {column_scan, "x=64 r=64 warps=4 rows=2 vec=2", NULL},
        {column_scan, "x=32 r=64 warps=4 vec=4", "vec=4 does not divide the column length 70"},
        {column_scan, "x=32 r=768 warps=4 vec=2 look_back=1",
         "a scan would hold 384 registers a thread; 192 is the limit"},
        {column_scan, "x=2048 r=1 warps=32 vec=2 look_back=2", "look_back is 0 or 1"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 blocks=1",
         "blocks is no knob of matrix products"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 cluster=2",
         "cluster and band are knobs of products with mma=1 or 2"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 stages=3",
         "panels ahead are of factors that are copied"},
        {strict, "m=32 n=64 k=32 tm=4 tn=4 warps=4 stages=3", NULL},
        {strict, "m=32 n=64 k=32 tm=4 tn=4 warps=4 stages=2", NULL},
        {strict, "m=32 n=64 k=32 tm=4 tn=4 warps=4 stages=5", "stages=5 of k=32: 2 to 4"},
        {strict, "m=32 n=64 k=64 tm=4 tn=4 warps=4 stages=3", "stages=3 of k=64"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 split=4", NULL},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 split=5", "split=5 of 4 steps"},
        {softmax, "x=1 r=1024 warps=8 mma=1", "mma is a knob of matrix products"},
        {product, "mma=3 m=64 n=64 k=64 stages=2 warps=8", "mma is 0, 1 or 2"},
        {product, "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4", NULL},
        {product, "mma=2 m=64 n=64 k=64 stages=2 warps=8", "mma=2 needs tm and tn of sixteens"},
        {product, "mma=2 m=64 n=64 k=64 tm=24 tn=32 stages=2 warps=4", "mma=2 needs tm and tn of"},
        {product, "mma=2 m=64 n=64 k=64 tm=48 tn=32 stages=2 warps=4",
         "m=64 n=64 are no multiples of tm=48"},
        {product, "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=8", "the tile takes 4 warps"},
        {product, "mma=2 m=256 n=256 k=64 tm=16 tn=16 stages=2 warps=256", "8192 threads a block"},
        {product, "mma=2 m=128 n=128 k=64 tm=128 tn=128 stages=2 warps=1", "512 sums a thread"},
        {product, "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 cluster=2 warps=4",
         "cluster is no knob of mma=2"},
        {tf32, "mma=2 m=64 n=64 k=32 tm=32 tn=32 stages=2 warps=4", NULL},
        {tf32, "mma=1 m=64 n=64 k=32 stages=2 warps=8", NULL},
        {tf32, "mma=1 m=64 n=64 k=64 stages=2 warps=8", "k=32 at most where memory runs along it"},
        {strict, "mma=1 m=64 n=64 k=64 stages=2 warps=8",
         "strict products are multiply-adds in f32"},
        {strict, "m=64 n=64 k=16 tm=8 tn=8 warps=2", NULL},
        {product, "mma=1 m=64 n=64 k=64 stages=2 warps=8", NULL},
        {product, "mma=1 m=64 n=64 k=64 stages=2 split=2 warps=8", NULL},
        {product, "mma=1 m=64 n=64 k=64 stages=2 split=3 warps=8", "split=3 of 2 steps"},
        {product, "mma=1 m=64 n=128 k=64 stages=2 split=2 cluster=2 warps=8", NULL},
        {product, "mma=1 m=64 n=64 k=64 stages=1 warps=8", "mma needs 2 to 8 stages"},
        {product, "mma=1 m=64 n=64 k=64 stages=9 warps=8", "mma needs 2 to 8 stages"},
        {product, "mma=1 n=64 k=64 stages=2 warps=8", "mma needs an m and an n"},
        {product, "mma=2 m=64 k=64 tm=16 tn=16", "mma needs an m and an n"},
        {product, "mma=1 m=32 n=64 k=64 stages=2 warps=8", "mma=1 needs m of 64, 128 or 192"},
        {product, "mma=1 m=256 n=64 k=64 stages=2 warps=8", "mma=1 needs m of 64, 128 or 192"},
        {product, "mma=1 m=64 n=60 k=64 stages=2 warps=8", "mma=1 needs an n of eights"},
        {product, "mma=1 m=64 n=264 k=64 stages=2 warps=8", "m and n are 256 at most"},
        {product, "mma=1 m=64 n=64 k=24 stages=2 warps=8", "mma needs a k of sixteens"},
        {product, "mma=1 m=64 n=64 k=128 stages=2 warps=8", "k=64 at most where memory runs"},
        {product, "mma=1 m=64 n=8 k=64 stages=2 warps=8", "lines of 32, 64 or 128 bytes"},
        {product, "mma=1 m=64 n=64 k=64 stages=2 warps=12", "the tile takes 8 warps, but warps=12"},
        {product, "mma=1 m=64 n=64 k=64 stages=2 tm=4 warps=8", "tm and tn are no knobs of mma=1"},
        {product, "mma=1 m=64 n=64 k=64 stages=2 cluster=2 warps=8", NULL},
        {product, "mma=1 m=64 n=64 k=64 stages=2 warps=8 split=2 tail=3", NULL},
        {product, "mma=1 m=64 n=64 k=64 stages=2 warps=8 split=2 tail=4",
         "tail=4 of 4 tiles: these are all"},
        {product, "mma=1 m=64 n=64 k=64 stages=2 warps=8 tail=1", "tail=... needs split"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 tail=1", "tail is a knob of products"},
        {product, "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4 split=2 tail=1",
         "tail is a knob of mma=1"},
        {product, "mma=1 m=64 n=64 k=16 stages=2 cluster=4 warps=8",
         "4 blocks cannot share a tile"},
        {both_turned, "mma=1 m=128 n=40 k=16 stages=4 warps=12",
         "tiles of 4096 and 1280 bytes do not both begin at eights of lines"},
        {both_turned, "mma=1 m=128 n=32 k=16 stages=4 warps=12", NULL},
        {product, "mma=1 m=64 n=32 k=64 stages=2 warps=8 leave_l2=1",
         "leave_l2=1, but tiles of both factors are read again"},
        {product, "mma=1 m=64 n=64 k=64 stages=2 warps=8 skip_l1=1",
         "skip_l1 is a knob of pointwise and reduce kernels"},
        {product, "mma=1 m=64 n=64 k=64 stages=2 cluster=1073741824 warps=8", "cluster=1073741824"},
        {product, "mma=1 m=192 n=64 k=64 stages=2 warps=16 pairs=1",
         "pairs=1 needs an m of 64 or 128"},
        {product, "mma=1 m=192 n=256 k=64 stages=2 warps=16",
         "128 sums a thread; 120 is the limit"},
        {product, "mma=1 m=128 n=256 k=64 stages=8 warps=12",
         "needs 394368 bytes of shared memory"},
        {product, "mma=1 m=64 n=128 k=64 stages=4 warps=8 fit=2", NULL},
        {product, "mma=1 m=128 n=96 k=64 stages=3 warps=12 fit=2", NULL},
        {product, "mma=1 m=64 n=128 k=64 stages=4 warps=8 fit=1", "fit=1; mma=1 has one block"},
        {product, "mma=1 m=64 n=64 k=64 stages=2 warps=8 fit=3", "fit=3 blocks of 256 threads"},
        {product, "mma=1 m=64 n=256 k=64 stages=2 warps=8 fit=2",
         "fit=2: 128 sums of an instruction; 102 is the limit"},
        {product, "mma=1 m=192 n=224 k=64 stages=4 warps=16",
         "112 sums of an instruction by 512 threads; 102 is the limit"},
        {product, "mma=1 m=64 n=128 k=64 stages=5 warps=8 fit=2",
         "fit=2 blocks of 124032 bytes of shared memory are more than 233472"},
        {product, "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4 fit=2",
         "fit and flat are knobs of products with mma=1"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 fit=2",
         "fit and flat are knobs of products with mma=1"},
        {product, "mma=1 m=64 n=128 k=64 stages=4 warps=8 flat=1",
         "flat=1 needs windows that are one apart"},
        {product, "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4 flat=1",
         "fit and flat are knobs of products with mma=1"},
        {rows_behind, "mma=1 m=64 n=128 k=64 stages=2 warps=8", NULL},
        {rows_behind, "mma=1 m=64 n=128 k=64 stages=2 warps=8 band=16",
         "tiles that share rows are done together: band=1"},
        {rows_behind, "mma=1 m=64 n=128 k=64 stages=2 warps=8 cluster=2", NULL},
        {product64, "mma=1 m=64 n=64 k=64 stages=2 warps=8",
         "the matrix units, of sm_80 and later, multiply bf16, f16, f32 and, in i32, bytes"},
        {product32, "mma=1 m=64 n=64 k=64 stages=2 warps=8", NULL},
        {product32, "mma=1 m=64 n=64 k=32 stages=2 warps=8", "sums that begin anew every 64"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4", NULL},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 x=1", "x is no knob of matrix products"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=4 vec=4", "vec is no knob of matrix products"},
        {product, "m=32 n=64 tm=4 tn=4 warps=4", "a matrix product needs m, n, k, tm and tn"},
        {product, "m=30 n=64 k=32 tm=4 tn=4 warps=4", "m=30 n=64 are no multiples of tm=4 tn=4"},
        {product, "m=64 n=64 k=32 tm=16 tn=16 warps=1",
         "tm*tn=256 accumulators a thread; 128 is the limit"},
        {product, "m=1073741824 n=1073741824 k=1 tm=1073741824 tn=1073741824",
         "tm*tn=1152921504606846976 accumulators"},
        {product, "m=32 n=64 k=32 tm=4 tn=4 warps=8", "m/tm * n/tn = 128 threads, but warps=8"},
        {product, "m=1073741824 n=32 k=1 tm=1 tn=1 warps=1073741824",
         "34359738368 threads a block; 1024 is the limit"},
        {product, "m=128 n=128 k=8 tm=2 tn=2 warps=128", "4096 threads a block; 1024 is the limit"},
        {product, "m=128 n=128 k=256 tm=8 tn=8 warps=8",
         "needs 131072 numbers of shared memory; 58112 is the limit"},
        {product64, "m=128 n=128 k=128 tm=8 tn=8 warps=8",
         "needs 65536 numbers of shared memory; 29056 is the limit"},
        {product, "m=32 n=64 k=1073741824 tm=4 tn=4 warps=4",
         "needs 206158430208 numbers of shared memory"},
    };
    struct device_limits limits = test_gpu("sm_90a");
    check(&limits, cases, sizeof cases / sizeof *cases);
}

static const char sliding[] =
    "graph(%x: f32[2, 16, 9, 8], %w: f32[24, 16, 3, 3]) {\n"
    "  %c: f32[2, 24, 9, 8] = convolution(%x, %w, None, 1, 1)\n  return %c\n}\n";

/* Phases of a transposed convolution whose weight ends in the midst of a stride. */
static const char lacking[] =
    "graph(%x: f32[2, 1, 8, 5, 6], %w: f32[1, 24, 8, 3, 3]) {\n"
    "  %c: f32[2, 1, 4, 24, 5, 6] = convolve_phases(%x, %w, [2, 2], [1, 1], [3, 3], [5, 6])\n"
    "  return %c\n}\n";

static void test_refusals_cpu(void **state) {
    static const struct refusal cases[] = {
        {lacking, "m=32 n=32 k=128 tm=16 tn=4 flat=1",
         "flat=1 needs windows that all have all taps"},
        {sliding, "m=32 n=32 k=128 tm=16 tn=4 flat=1", NULL},
        {sliding, "m=32 n=32 k=128 tm=16 tn=4 flat=1 fit=1",
         "fit is a knob of products with mma=1"},
        {sliding, "m=32 n=256 k=128 tm=32 tn=256 flat=1",
         "needs 1029 registers for tm=32 tn=256; 128 is the limit"},
        {sliding, "m=4096 n=32 k=256 tm=32 tn=8 flat=1", "needs "},
        {product, "m=32 n=32 k=128 tm=16 tn=4 flat=1",
         "flat=1 needs columns that are windows of an image"},
        {softmax, "x=1 vec=16 keep=1", NULL},
        {softmax, "vec=16", NULL}, /* no x is one row, no r the whole row, whatever its length */
        {softmax, "x=1 vec=16 cluster=2", "cluster=2; cpu has 1 to 1"},
        {softmax, "x=1 vec=16 keep=1 blocks=1",
         "blocks=1 needs sums of columns or, on a GPU, rows of whole vectors that are reduced"},
        {softmax, "x=1 vec=16 warps=4", "warps has no meaning on the CPU"},
        {softmax, "x=1 vec=16 rows=4", "rows has no meaning on the CPU"},
        {softmax, "x=1 vec=24", "vec=24"},
        {softmax, "x=1 vec=512", "vec=512"},
        {softmax_columns, "x=24 vec=16", "x=24 is no multiple of vec=16"},
        {softmax_columns, "x=16 vec=16 keep=1", NULL},
        {softmax_columns, "x=4096 vec=16 keep=1",
         "keep=1 would keep 16384000 bytes; 524288 is the limit"},
        {landing, "x=16 vec=16 keep=1", "keep=1 but nothing is read twice"},
        {softmax_columns, "x=1073741824 vec=16", "x=1073741824 rows at a time; 4096 is the limit"},
        {row_sum, "x=1 vec=16 keep=1", "keep=1 but nothing is read twice"},
        {softmax, "x=1 vec=16 ahead=1", NULL},
        {row_sum, "x=1 vec=16 ahead=1", NULL},
        {softmax_columns, "x=16 vec=16 ahead=1",
         "ahead=1 needs rows that are read as memory has them, on a CPU"},
        {row_sum, "x=1 r=1024 vec=16 split=5", "split=5 but a row has only 4 steps of r=1024"},
        {landing, "x=256 vec=16 hits=1", NULL},
        {landing, "x=256 vec=16 hits=2", "hits=1, and split=1, on the CPU"},
        {landing, "x=256 r=4 vec=16 split=2 hits=1", "hits=1, and split=1, on the CPU"},
        {row_sum, "x=1 vec=16 split=2", "split=2 but a row has only 1 steps of r=4096"},
        {mixed, "x=1 vec=16 keep=1 blocks=1", NULL},
        {mixed, "x=1 vec=16", "blocks=0; 1 to 32 go over many rows"},
        {mixed, "x=1 vec=16 blocks=1 stages=2",
         "stages=2 needs blocks that go over many rows, on a GPU"},
        {product, "m=32 n=16 k=128 tm=4 tn=16", NULL},
        {product, "m=32 n=16 k=128 tm=4 tn=16 warps=1", "warps has no meaning on the CPU"},
        {product, "m=32 n=32 k=128 tm=4 tn=16", NULL},
        {product, "m=32 n=24 k=128 tm=4 tn=16", "m=32 n=24 are no multiples of tm=4 tn=16"},
        {product, "m=32 n=32 k=128 tm=32 tn=32",
         "needs 133 registers for tm=32 tn=32; 128 is the limit"},
        {product, "m=32 n=16 k=65536 tm=4 tn=16",
         "needs 4198656 bytes of stack; 1048576 is the limit"},
        {product, "m=1073741824 n=1073741824 k=1 tm=1073741824 tn=1073741824", "needs "},
    };
    struct device_limits limits = test_cpu();
    check(&limits, cases, sizeof cases / sizeof *cases);
}

/* ---- meaning --------------------------------------------------------------------------------- */

static struct layout layout_of(struct arena *a, const struct kernel *k, const char *text) {
    struct config c = parsed(a, text);
    struct layout y;
    const char *why = kernel_layout(k, &c, &y, a);
    if (why) fail_msg("%s: %s", text, why);
    return y;
}

/* Threads lie along what memory runs along, if only in steps. */
static void test_inner(void **state) {
    struct arena *a = arena_new();
    struct device_limits gpu = test_gpu("sm_90a");
    assert_false(first_kernel(a, every_second, &gpu)->rows_inner);
    assert_false(first_kernel(a, pooled_rows, &gpu)->rows_inner);
    assert_true(first_kernel(a, softmax_columns, &gpu)->rows_inner);
    arena_free(a);
}

/* Of one image both dimensions of the windows count, too. */
static void test_windows_of_one_image(void **state) {
    static const char text[] =
        "graph(%x: f32[1, 16, 9, 8], %w: f32[24, 16, 3, 3]) {\n"
        "  %c: f32[1, 24, 9, 8] = convolution(%x, %w, None, 1, 1)\n  return %c\n}\n";
    struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    const struct kernel *k = first_kernel(a, text, &gpu);
    const struct im2col *w = k->im2col[0][0] ? k->im2col[0][0] : k->im2col[1][0];
    assert_non_null(w);
    assert_int_equal(w->n, 2);
    assert_int_equal(w->images, 1);
    arena_free(a);
}

/* A step of 64 that counts only 16 of its depth: one in three, or all; or none is short. */
static void test_depth_left(void **state) {
    assert_true(product_depth_left(&(struct short_steps){.depth = 16, .every = 3}, 64) == 0.75);
    assert_true(product_depth_left(&(struct short_steps){.depth = 16, .every = 1}, 64) == 0.25);
    assert_true(product_depth_left(&(struct short_steps){0}, 64) == 1);
}

/* On a CPU windows of the columns may stay in their image; no others are looked for. */
static void test_windows(void **state) {
    struct arena *a = arena_new();
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    const struct kernel *k = first_kernel(a, sliding, &gpu);
    assert_true(k->im2col[0][0] || k->im2col[1][0]);
    k = first_kernel(a, sliding, &cpu);
    assert_int_equal(k->kind, KERNEL_MATMUL);
    assert_false(k->im2col[0][0] || k->im2col[0][1] || k->im2col[1][1]);
    assert_non_null(k->im2col[1][0]);
    struct layout y = layout_of(a, k, "m=32 n=40 k=128 tm=16 tn=4 flat=1");
    assert_int_equal(y.flat->channels, 14); /* of 9 taps each */
    assert_int_equal(y.ur, 126);
    assert_int_equal(y.flat->blocks, 2);
    assert_int_equal(y.flat->windows[1], 5); /* of 9 rows, as equal as can be */
    assert_int_equal(flat_tiles(y.flat, 1), 2);
    assert_int_equal(y.flat->windows[2], 1);
    assert_int_equal(flat_plane(y.flat), 10 * 7);
    arena_free(a);
}

static void test_layouts(void **state) {
    struct arena *a = arena_new();
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    struct layout y =
        layout_of(a, first_kernel(a, softmax, &gpu), "x=4 r=1024 warps=8 vec=4 rows=2 keep=1");
    assert_false(y.rows_inner);
    assert_true(y.one_read);
    assert_int_equal(y.threads, 256);
    assert_int_equal(y.t0, 2); /* 2 thread rows, each of 2 rows */
    assert_int_equal(y.t1, 128);
    assert_int_equal(y.ex, 2);
    assert_int_equal(y.ur, 2);
    assert_int_equal(y.bx, 4);
    assert_int_equal(y.br, 1024);
    assert_int_equal(y.smem, 2 * 8 * 2 * 4); /* two reductions, 8 warps, 2 rows, f32 */
    assert_int_equal(layout_load_words(first_kernel(a, softmax, &gpu), &y), 4 * 2 * 2);

    y = layout_of(a, first_kernel(a, softmax, &gpu), "x=8 r=1024 warps=8 vec=4");
    assert_int_equal(y.t1, 32);
    assert_int_equal(y.smem, 0); /* a row is one warp's: no shared memory */

    y = layout_of(a, first_kernel(a, softmax_columns, &gpu), "x=128 r=32 warps=8 vec=4");
    assert_true(y.rows_inner);
    assert_int_equal(y.t0, 32); /* threads along x, 4 elements each */
    assert_int_equal(y.t1, 8);
    assert_int_equal(y.ur, 4);

    y = layout_of(a, first_kernel(a, mixed, &gpu),
                  "x=2 r=1024 warps=8 vec=8 keep=1 blocks=2 stages=3");
    assert_false(y.rows_inner);
    assert_int_equal(y.blocks, 2 * gpu.units); /* of 2048 tiles */
    assert_int_equal(y.ring, 1024 * 4);        /* half of two rows' sums of columns */
    assert_int_equal(y.smem, y.ring + 2 * 2 * 1024 * 2);

    y = layout_of(a, first_kernel(a, landing, &gpu), "x=1024 r=4 warps=2 vec=4 rows=4 hits=8");
    assert_int_equal(y.bx, 256); /* a tile, of which a block holds 4, and a thread 4 elements */
    assert_int_equal(y.held, 4);
    assert_int_equal(y.ring, 1024 * 4);
    assert_int_equal(y.smem, y.ring + 64 * 9 * 8 + 2 * 4); /* what is listed, and each warp's */
    assert_int_equal(layout_tiles_of_hit(first_kernel(a, landing, &gpu), &y), 2);

    y = layout_of(a, first_kernel(a, transposed, &gpu), "x=8 r=64 warps=2 nt=1");
    assert_true(y.grid_r); /* columns are spread over blocks */
    assert_true(y.streaming);

    y = layout_of(a, first_kernel(a, product, &gpu), "m=32 n=64 k=16 tm=4 tn=4 warps=4");
    assert_int_equal(y.threads, 128);
    assert_int_equal(y.smem, 2 * (32 + 64) * 16 * 4); /* stages; bf16 is multiplied as f32 */

    y = layout_of(a, first_kernel(a, row_sum, &cpu), "vec=16");
    assert_int_equal(y.br, 4096);
    assert_int_equal(y.bx, 1);
    arena_free(a);
}

/* Of another width of a warp, a block has as many threads of those, a row's warps as many slots. */
static void test_warp(void **state) {
    struct arena *a = arena_new();
    struct device_limits gpu = test_gpu("sm_90a");
    gpu.warp = 64;
    const struct kernel *k = first_kernel(a, softmax, &gpu);
    struct layout y = layout_of(a, k, "x=4 r=1024 warps=4 vec=4 rows=2 keep=1");
    assert_int_equal(y.threads, 256);
    assert_int_equal(y.t1, 128);
    assert_int_equal(y.smem, 2 * 4 * 2 * 4); /* two reductions, 4 warps, 2 rows, f32 */
    assert_int_equal(layout_of(a, k, "x=4 r=1024 warps=4 vec=4").smem, 0); /* a row is one warp's */
    struct config many = parsed(a, "x=1 r=2048 warps=17 vec=2");
    assert_string_equal(kernel_layout(k, &many, &y, a), "warps=17; a block has 1 to 16");

    k = first_kernel(a, softmax_columns, &gpu);
    y = layout_of(a, k, "x=128 r=32 warps=4 vec=4");
    assert_int_equal(layout_column_slots(k, &y), 4 * 32 * 4); /* 2 rows of 32 threads a warp */

    k = first_kernel(a, product, &gpu);
    assert_int_equal(layout_of(a, k, "m=32 n=64 k=16 tm=4 tn=4 warps=2").threads, 128);

    const char *texts[] = {softmax, softmax_columns, column_scan, landing, transposed, product};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct config *list;
        int n, pruned;
        k = first_kernel(a, texts[i], &gpu);
        kernel_configs(k, a, &list, &n, &pruned);
        for (int c = 0; c < n; c++) {
            const char *text = config_str(a, &list[c]);
            assert_int_equal(layout_of(a, k, text).threads, 64 * list[c].knob[KNOB_warps]);
        }
    }
    arena_free(a);
}

/* Two ways down from each of forty flags: what a term is without them is not asked along all. */
static void test_landing_of_shared_flags(void **state) {
    struct arena *a = arena_new();
    struct device_limits gpu = test_gpu("sm_90a");
    struct buf b = buf_new(a);
    buf_puts(&b, "graph(%f0: bool[64], %p: bool[64], %q: bool[64], %i: i64[64], %s: f32[64]) {\n");
    for (int i = 0; i < 40; i++)
        buf_printf(&b,
                   " %%a%d = logical_and(%%f%d, %%p)\n %%b%d = logical_and(%%f%d, %%q)\n"
                   " %%f%d = logical_and(%%a%d, %%b%d)\n",
                   i, i, i, i, i + 1, i, i);
    buf_puts(&b, " %r = arange(0, 100, 1)\n %u = unsqueeze(%r, 1)\n %e = eq(%u, %i)\n"
                 " %g = logical_and(%f40, %e)\n %w = where(%g, %s, 0)\n %y = sum(%w, 1)\n"
                 " return %y\n}\n");
    assert_int_equal(first_kernel(a, b.p, &gpu)->kind, KERNEL_REDUCE);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_landing_of_shared_flags),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_zero_knobs),
        cmocka_unit_test(test_parse_errors),
        cmocka_unit_test(test_given_twice),
        cmocka_unit_test(test_refusals_gpu),
        cmocka_unit_test(test_refusals_cpu),
        cmocka_unit_test(test_inner),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_windows_of_one_image),
        cmocka_unit_test(test_depth_left),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_warp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
