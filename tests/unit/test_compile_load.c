/* test_compile_load.c: factors of products that are the same in every call are packed by launches
 * at load, in front of those of the calls, which find them in memory of their own. On the
 * emulator, which runs the calls twice, on a workspace that is poisoned between. */
#include "lower_test.h"
#include "tests/fuzz/drive.h"

#define PRODUCT                                                                                    \
    "graph(%x: f32[136, 72] = L['x'], %w: f32[24, 72] = KIND L['self'].w) {\n"                     \
    "  %t = t(%w)\n  %y = matmul(%x, %t)\n  %r = relu(%y)\n  return %r\n}\n"
#define FIRST                                                                                      \
    "graph(%x: f32[72, 136] = L['x'], %w: f32[24, 72] = KIND L['self'].w) {\n"                     \
    "  %y = matmul(%w, %x)\n  return %y\n}\n"
#define UPDATED                                                                                    \
    "graph(%x: f32[136, 72] = L['x'], %w: f32[24, 72] = KIND L['self'].w) {\n"                     \
    "  %t = t(%w)\n  %y = matmul(%x, %t)\n  %u = mul(%w, 2)\n  return %y, %w = %u\n}\n"
#define QUANTISED                                                                                  \
    "graph(%x: bf16[16, 128] = L['x'], %w: i8[64, 128] = KIND L['self'].w) {\n"                    \
    "  %f = bfloat16(%w)\n  %t = t(%f)\n  %y = matmul(%x, %t)\n  return %y\n}\n"
#define WINDOWS                                                                                    \
    "graph(%x: f32[2, 16, 9, 9] = L['x'], %w: f32[32, 16, 3, 3] = KIND L['self'].w) {\n"           \
    "  %y = convolution(%x, %w, None, [1, 1], [1, 1])\n  return %y\n}\n"

/* Whole lines of 128 bytes, and steps of these: pairs, or planes; one plane, of batches; one that
 * runs across, of bytes. */
#define STACKED                                                                                    \
    "graph(%x: f32[72, 576] = L['x'], %w: f32[136, 576] = KIND L['self'].w) {\n"                   \
    "  %t = t(%w)\n  %y = matmul(%x, %t)\n  return %y\n}\n"
#define STACKED_BATCHES                                                                            \
    "graph(%x: bf16[3, 40, 256] = L['x'], %w: i8[3, 72, 256] = KIND L['self'].w) {\n"              \
    "  %f = bfloat16(%w)\n  %t = permute(%f, [0, 2, 1])\n  %y = bmm(%x, %t)\n  return %y\n}\n"
#define STACKED_ACROSS                                                                             \
    "graph(%x: i8[40, 256] = L['x'], %w: i8[256, 72] = KIND L['self'].w) {\n"                      \
    "  %a = int(%x)\n  %b = int(%w)\n  %y = mm(%a, %b)\n  return %y\n}\n"

static const char *replaced(struct arena *a, const char *text, const char *word, const char *by) {
    const char *at = strstr(text, word);
    assert_non_null(at);
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, by, at + strlen(word));
}

struct found {
    int load, packs; /* launches at load; others before the product */
    int stacked;     /* configs whose image is */
    size_t kept;
};

/* Under each config that some `step` picks. */
static bool some(void *ctx, int config, int n) {
    const int *step = ctx;
    (void)n;
    return config % *step == 0;
}

static struct found run(const char *text, const char *kind, bool fixed, const char *arch) {
    struct device_limits limits = test_gpu(arch);
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    int step = 7;
    struct emulation *s = emulation_new(a);
    struct graph *g = must_parse(a, replaced(a, text, "KIND", kind));
    g->fixed = fixed;
    struct drive *b = drive_begin(a, g, drive_inputs(g, 7), &limits, WS_FUSE, &d);
    if (!b || !emulation_add_all(s, b, some, &step, &d) || !emulation_compile(s, &d))
        fail_msg("%s", d.text);
    struct found out = {0};
    for (uint32_t i = 0; i < s->variants.n; i++) {
        const struct ws_source *v = &s->variants.at[i].source;
        int load = 0;
        out.stacked += strstr(v->block, "lines of all rows together") != NULL;
        for (int l = 0; l < v->n_launches; l++) {
            if (!v->launches[l].at_load) continue;
            assert_int_equal(load++, l); /* in front */
        }
        assert_int_equal(v->kept > 0, load > 0);
        if (load > out.load) out.load = load;
        if (v->kept > out.kept) out.kept = v->kept;
        if (v->n_launches - load - 1 > out.packs) out.packs = v->n_launches - load - 1;
        if (!emulation_case(s, i, false, &d)) fail_msg("%s", d.text);
    }
    emulation_free(s);
    drive_end(b);
    arena_free(a);
    return out;
}

/* read: of calls' own factors threads read the fixed one as it lies, and pack the other one. */
static void expect(const char *text, const char *arch, bool read) {
    struct found each = run(text, "parameter", false, arch);
    struct found once = run(text, "parameter", true, arch);
    struct found argument = run(text, "", true, arch);
    assert_int_equal(each.load, 0);
    assert_int_equal(argument.load, 0);
    assert_int_equal(once.load, 1);
    assert_true(once.kept > 0);
    /* Planes of f32 that warps make for themselves have no launch to save. */
    assert_true(once.packs < each.packs + read || !each.packs);
}

static void test_factors(void **state) {
    static const char *const archs[] = {"sm_80", "sm_90a"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        expect(PRODUCT, archs[i], false);
        expect(FIRST, archs[i], i == 1);
        expect(WINDOWS, archs[i], false);
    }
}

/* An image at load, or tiles of bytes that warps make in each call: both are right. */
static void test_quantised(void **state) {
    (void)state;
    assert_int_equal(run(QUANTISED, "parameter", true, "sm_90a").load, 1);
}

static void test_stacked(void **state) {
    static const char *const graphs[] = {STACKED, STACKED_BATCHES, STACKED_ACROSS};
    (void)state;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct found once = run(graphs[i], "parameter", true, "sm_90a"),
                     each = run(graphs[i], "parameter", false, "sm_90a");
        assert_true(once.stacked > 0);
        assert_int_equal(each.stacked, 0);
    }
}

static void test_updated(void **state) {
    (void)state;
    assert_int_equal(run(UPDATED, "buffer", true, "sm_90a").load, 0);
}

/* Which of the pieces of a cat a channel is of is one question for eight pixels, which are loaded
 * together by the launch that packs them. */
static void test_pieces(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct device_limits limits = test_gpu("sm_90a");
    variant_vec all = {0};
    bool together = false;
    struct graph *g = must_parse(
        a, "graph(%x: bf16[8, 24, 16, 16], %z: bf16[8, 40, 16, 16], %w: bf16[64, 64, 1, 1]) {\n"
           " %c = cat([%x, %z], 1)\n %y = convolution(%c, %w)\n return %y\n}\n");
    struct drive *b = drive_begin(a, g, drive_inputs(g, 7), &limits, WS_FUSE, &d);
    if (!b || !drive_add_variants(a, &all, b, NULL, NULL, &d)) fail_msg("%s", d.text);
    for (uint32_t i = 0; i < all.n; i++) {
        const char *text = all.at[i].source.text;
        if (!strstr(text, "_pack_b(")) continue;
        assert_non_null(strstr(text, "= k_load_if<k_bf16, 8>(v"));
        together = true;
    }
    assert_true(together);
    drive_end(b);
    arena_free(a);
}

/* Layers of a module whose parameters stay, run under some configs; blocks[i] of all kernels' heads
 * is met if want[i]. */
static void run_layers(const char *text, int step, const char *const *names, const bool *want,
                       int n) {
    static const char *const archs[] = {"sm_80", "sm_90a"};
    for (int i = 0; i < 2; i++) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct device_limits limits = test_gpu(archs[i]);
        bool met[4] = {0};
        struct emulation *s = emulation_new(a);
        struct graph *g = must_parse(a, text);
        g->fixed = true;
        struct drive *b = drive_begin(a, g, drive_inputs(g, 7), &limits, WS_FUSE, &d);
        if (!b || !emulation_add_all(s, b, some, &step, &d) || !emulation_compile(s, &d))
            fail_msg("%s", d.text);
        for (uint32_t k = 0; k < s->variants.n; k++) {
            for (int w = 0; w < n; w++)
                met[w] |= strstr(s->variants.at[k].source.block, names[w]) != NULL;
            if (!emulation_case(s, k, false, &d)) fail_msg("%s", d.text);
        }
        for (int w = 0; w < n; w++) assert_int_equal(met[w], want[w]);
        emulation_free(s);
        drive_end(b);
        arena_free(a);
    }
}

/* Queries, keys and values are one product, whose weights are put together at load; queries are
 * scaled behind the next one. */
static void test_joined(void **state) {
    (void)state;
    run_layers("graph(%x: bf16[2, 72, 64] = L['x'], %w: bf16[64, 64] = parameter L['self'].w,\n"
               "      %b: bf16[64] = parameter L['self'].b,\n"
               "      %k: bf16[32, 64] = parameter L['self'].k,\n"
               "      %v: bf16[32, 64] = parameter L['self'].v) {\n"
               "  %q0 = linear(%x, %w, %b)\n  %k0 = linear(%x, %k)\n  %v0 = linear(%x, %v)\n"
               "  %h = view(%q0, [2, 72, 2, 32])\n  %p = permute(%h, [0, 2, 1, 3])\n"
               "  %m = mul(%p, 0.001)\n  %t = transpose(%k0, 1, 2)\n  %u = unsqueeze(%t, 1)\n"
               "  %s = matmul(%m, %u)\n  %e = softmax(%s, 3)\n  %z = unsqueeze(%v0, 1)\n"
               "  %o = matmul(%e, %z)\n  return %o\n}\n",
               5, (const char *const[]){"block k_cat_", "block k_m_"}, (bool[]){true, false}, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined),  cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_factors), cmocka_unit_test(test_quantised),
        cmocka_unit_test(test_stacked), cmocka_unit_test(test_updated)};
    return cmocka_run_group_tests_name("compile_load", tests, NULL, NULL);
}
