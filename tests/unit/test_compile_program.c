/* What a program says of the work it does: the bytes and operations that its times are judged by.
 * They are lower bounds: a time below them was measured wrong. */
#include "lower_test.h"
#include "ws_tune.h"

static struct ws_program *lower_for(struct arena *a, const char *text,
                                    const struct device_limits *limits) {
    struct ws_captured *c = NEW(a, struct ws_captured);
    struct diag d = diag_new(a);
    *c = (struct ws_captured){
        .arena = a, .graph = must_parse(a, text), .guards = "", .workload = "test"};
    struct ws_program *p = ws_lower(c, limits, WS_FUSE, NULL, &d);
    if (!p) fail_msg("%s", d.text);
    return p;
}

static struct ws_program *lower(struct arena *a, const char *text) {
    struct device_limits *limits = NEW(a, struct device_limits);
    assert_true(device_limits_for_arch("sm_90a", limits));
    return lower_for(a, text, limits);
}

static void test_bytes(void **state) {
    static const struct {
        const char *text;
        double program, kernel; /* bytes; of the first kernel */
    } cases[] = {
        {"graph(%x: f32[64, 32]) {\n %y = exp(%x)\n return %y\n}\n", 16384, 16384},
        /* an input that nobody reads; a part of one */
        {"graph(%x: f32[64, 32], %z: f32[4096]) {\n %y = exp(%x)\n return %y\n}\n", 16384, 16384},
        {"graph(%x: f32[64, 32]) {\n %s = slice(%x, 0, 0, 16)\n %y = exp(%s)\n return %y\n}\n",
         4096, 4096},
        /* read first as one row, then whole */
        {"graph(%x: f32[64, 32]) {\n %s = slice(%x, 0, 0, 1)\n %y = add(%s, %x)\n return %y\n}\n",
         16384, 16384},
        /* two kernels read the same */
        {"graph(%x: f32[64, 32]) {\n %a = sum(%x, 0)\n %b = sum(%x, 1)\n return %a, %b\n}\n", 8576,
         8320},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct ws_program *p = lower(a, cases[i].text);
        if (p->bytes != cases[i].program || p->kernels[0].bytes != cases[i].kernel)
            fail_msg("%g and %g bytes:\n%s", p->bytes, p->kernels[0].bytes, cases[i].text);
        arena_free(a);
    }
}

/* An output that is an input, under another shape too, is not computed, nor moved: unless it lies
 * otherwise, is updated, or there is nothing else to compute. */
static void test_returned_inputs(void **state) {
    static const struct {
        const char *text;
        int returned[3], kernels; /* of each output, the input that it is; -1: none */
        double bytes;
    } cases[] = {
        {"graph(%x: f32[64, 32]) {\n %y = amax(%x, 1)\n return %y, %x\n}\n", {-1, 0}, 1, 8448},
        {"graph(%x: f32[64, 32], %z: f32[9]) {\n %y = exp(%x)\n %v = view(%x, [2048])\n"
         " return %z, %v, %y\n}\n",
         {1, 0, -1},
         1,
         16384},
        {"graph(%x: f32[64, 32]) {\n %t = permute(%x, [1, 0])\n return %x, %t\n}\n",
         {0, -1},
         1,
         16384},
        {"graph(%x: f32[64, 32][1, 64]) {\n %y = exp(%x)\n return %y, %x\n}\n", {-1, -1}, 1, 24576},
        {"graph(%x: f32[64, 32]) {\n %y = exp(%x)\n return %x, %x = %y\n}\n", {-1, -1}, 1, 24576},
        {"graph(%x: f32[64, 32], %z: f32[64, 32]) {\n %y = exp(%x)\n return %y, %z = %x\n}\n",
         {-1, -1},
         1,
         24576},
        {"graph(%x: f32[64, 32]) {\n return %x\n}\n", {-1}, 1, 16384},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct ws_program *p = lower(a, cases[i].text);
        bool same = p->n_kernels == cases[i].kernels && p->bytes == cases[i].bytes;
        for (int o = 0; o < p->captured->n_outputs; o++)
            same &= p->returned_input[o] == cases[i].returned[o];
        if (!same)
            fail_msg("%d kernels, %g bytes, output 0 is %d:\n%s", p->n_kernels, p->bytes,
                     p->returned_input[0], cases[i].text);
        arena_free(a);
    }
}

static void test_flops(void **state) {
    struct arena *a = arena_new();
    struct ws_program *p =
        lower(a, "graph(%x: f32[8, 16], %y: f32[16, 4]) {\n %z = mm(%x, %y)\n return %z\n}\n");
    assert_true(p->flops == 2 * 8 * 16 * 4);
    arena_free(a);
}

/* Ways to fuse that are tried, and configs that are only weighed, leave nothing: what a product
 * with something dear behind it may have apart takes no more memory for that. */
static void test_weighing_leaves_no_memory(void **state) {
    enum { N = 6 };
    struct arena *a = arena_new();
    struct buf text = buf_new(a);
    buf_puts(&text, "graph(%x0: bf16[1024, 1024]");
    for (int i = 0; i < N; i++) buf_printf(&text, ", %%w%d: bf16[1024, 1024]", i);
    buf_puts(&text, ") {\n");
    for (int i = 0; i < N; i++)
        buf_printf(
            &text,
            " %%m%d = mm(%%x%d, %%w%d)\n %%g%d = gelu(%%m%d)\n %%s%d = sum(%%g%d, [1], True)\n"
            " %%x%d = div(%%g%d, %%s%d)\n",
            i, i, i, i, i, i, i, i + 1, i, i);
    buf_printf(&text, " return %%x%d\n}\n", N);
    size_t before = arena_used(a);
    const struct ws_program *p = lower(a, text.p);
    size_t a_kernel = (arena_used(a) - before) / (size_t)p->n_kernels;
    if (a_kernel > 400000) fail_msg("%zu bytes a kernel", a_kernel);
    arena_free(a);
}

/* Kernels that do the same have one text, wherever the numbers in their names have these cut: one
 * compilation, one binary. The names of the last ones are cut sooner than the first one's. */
static void test_same_kernels_have_one_text(void **state) {
    enum { N = 12 };
    struct arena *a = arena_new();
    struct buf text = buf_new(a);
    struct diag d = diag_new(a);
    for (int i = 0; i < N; i++)
        buf_printf(&text, "%s%%x%d: f32[8192, 2048]", i ? ", " : "graph(", i);
    buf_puts(&text, ") {\n");
    for (int i = 0; i < N; i++)
        buf_printf(
            &text,
            " %%greatest_%d = amax(%%x%d, [1], True)\n %%off_%d = sub(%%x%d, %%greatest_%d)\n"
            " %%power_%d = exp(%%off_%d)\n %%total_%d = sum(%%power_%d, [1], True)\n"
            " %%quotient_%d = div(%%power_%d, %%total_%d)\n"
            " %%square_%d = mul(%%quotient_%d, %%quotient_%d)\n",
            98 + i, i, i, i, 98 + i, i, i, 98 + i, i, i, i, 98 + i, i, i, i);
    buf_puts(&text, " return ");
    for (int i = 0; i < N; i++) buf_printf(&text, "%s%%square_%d", i ? ", " : "", i);
    buf_puts(&text, "\n}\n");
    struct ws_program *p = lower(a, text.p);
    struct ws_source first, other;
    const struct config *configs;
    int n, pruned;
    assert_int_equal(p->n_kernels, N);
    const struct config *alone = ws_default_config(p, N - 1);
    assert_ptr_equal(ws_default_config(p, 0), alone); /* no list is made for it */
    ws_configs(p, 0, &configs, &n, &pruned);
    assert_true(config_equal(alone, configs));
    assert_ptr_equal(ws_default_config(p, 1), configs);
    assert_int_equal(ws_emit(p, 0, &configs[0], a, &first, &d), WS_OK);
    for (int k = 1; k < N; k++) {
        assert_int_equal(p->kernels[k].same, 0);
        assert_int_equal(ws_emit(p, k, &configs[0], a, &other, &d), WS_OK);
        assert_string_equal(other.text, first.text);
    }
    arena_free(a);
}

/* Convolutions of one text whose images lie in tensors of other shapes are not the same: windows
 * are found by the shapes, and a default for windows is none for what has none. */
static void test_shapes_tell_kernels_apart(void **state) {
    struct arena *a = arena_new();
    struct device_limits *cpu = NEW(a, struct device_limits);
    *cpu = test_cpu();
    struct ws_program *p = lower_for(
        a,
        "graph(%x: f32[2, 64, 64], %y: f32[2, 32, 128], %w: f32[64, 64, 3, 3], %v: f32[64, 64, 3, "
        "3]) {\n %a = view(%x, [2, 64, 8, 8])\n %b = view(%y, [2, 64, 8, 8])\n"
        " %c = convolution(%a, %w, None, padding=[1])\n"
        " %d = convolution(%b, %v, None, padding=[1])\n return %c, %d\n}\n",
        cpu);
    assert_int_equal(p->n_kernels, 2);
    assert_string_equal(p->kernels[0].hash, p->kernels[1].hash);
    assert_int_equal(p->kernels[1].same, 1);
    for (int k = 0; k < 2; k++) {
        const char *bad = ws_config_illegal(p, k, ws_default_config(p, k), a);
        if (bad) fail_msg("%s", bad);
    }
    arena_free(a);
}

/* Twins have one default, whoever is asked first: only the last of a program's kernels may leave in
 * L2 what it has read, and it has the first one's text. */
static void test_twins_have_one_default(void **state) {
    struct arena *a = arena_new();
    struct ws_program *p =
        lower(a, "graph(%x: f32[8192, 8192], %y: f32[4096, 16384]) {\n %a = relu(%x)\n"
                 " %b = relu(%y)\n return %a, %b\n}\n");
    const struct config *configs;
    int n, pruned;
    assert_int_equal(p->n_kernels, 2);
    assert_int_equal(p->kernels[1].same, 0);
    const struct config *alone = ws_default_config(p, 1);
    ws_configs(p, 0, &configs, &n, &pruned);
    assert_true(config_equal(alone, configs));
    arena_free(a);
}

/* Of a kernel's list the configs stay, and of a reference its texts and launches: what is proposed
 * and written on the way is many times as much, of a network hundreds of megabytes. */
static void test_memory(void **state) {
    struct arena *a = arena_new();
    struct ws_program *p = lower(a, "graph(%x: bf16[512, 4096], %y: bf16[4096, 1024]) {\n"
                                    " %z = mm(%x, %y)\n %r = relu(%z)\n return %r\n}\n");
    struct diag d = diag_new(a);
    const struct config *configs;
    int n, pruned;
    size_t before = arena_used(a);
    (void)state;
    ws_configs(p, 0, &configs, &n, &pruned);
    assert_true(n > 10);
    assert_int_equal(arena_used(a) - before, ((size_t)n * sizeof *configs + 15) / 16 * 16);
    struct loops *l = loops_lower(graph_decompose(p->captured->graph), a, &d);
    struct plain out;
    before = arena_used(a);
    assert_true(emit_plain(l, NULL, false, true, a, &out));
    size_t kept = 0;
    for (uint32_t i = 0; i < out.texts.n; i++) kept += strlen(out.texts.at[i]);
    kept += out.launches.n * (sizeof *out.launches.at + sizeof *out.made.at);
    assert_true(arena_used(a) - before < kept + 1024);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_returned_inputs),
        cmocka_unit_test(test_flops),
        cmocka_unit_test(test_weighing_leaves_no_memory),
        cmocka_unit_test(test_same_kernels_have_one_text),
        cmocka_unit_test(test_shapes_tell_kernels_apart),
        cmocka_unit_test(test_twins_have_one_default),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
