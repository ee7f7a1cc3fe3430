/* test_tile_tensor.c: tile programs of products whose sums lie in tensor memory (sm_100a): their
 * text, their invariants broken once each, and numbers with everything late and at once. */
#include "tile_test.h"

static const char plain[] = "graph(%a: bf16[2, 200, 136], %b: bf16[2, 136, 72]) {\n"
                            "  %c: bf16[2, 200, 72] = bmm(%a, %b)\n"
                            "  return %c\n}\n";
static const char wide[] = "graph(%a: f32[200, 200], %b: f32[200, 40]) {\n"
                           "  %c: f32[200, 40] = mm(%a, %b)\n"
                           "  return %c\n}\n";
static const char bytes[] = "graph(%a: i8[130, 208], %b: u8[208, 40]) {\n"
                            "  %x: i32[130, 208] = int(%a)\n"
                            "  %y: i32[208, 40] = int(%b)\n"
                            "  %c: i32[130, 40] = mm(%x, %y)\n"
                            "  return %c\n}\n";
static const char tf32[] = "graph(%a: f32[130, 200], %b: f32[200, 136]) products tf32 {\n"
                           "  %c: f32[130, 136] = mm(%a, %b)\n"
                           "  return %c\n}\n";
/* windows, of 17 channels with holes, and of few */
static const char sliding[] =
    "graph(%x: bf16[2, 34, 9, 7], %w: bf16[80, 17, 3, 2]) {\n"
    "  %c: bf16[2, 80, 4, 7] = convolution(%x, %w, None, [2, 1], [1, 1], [2, 2], False, 0, 2)\n"
    "  return %c\n}\n";
static const char first[] =
    "graph(%x: bf16[2, 3, 23, 21], %w: bf16[40, 3, 7, 7]) {\n"
    "  %c: bf16[2, 40, 12, 11] = convolution(%x, %w, None, [2, 2], [3, 3])\n"
    "  return %c\n}\n";

/* pairs: 67 steps, of which 64 have crossed sums of their own; of too small a depth */
static const char deep[] = "graph(%a: f32[40, 4264], %b: f32[4264, 24]) {\n"
                           "  %c: f32[40, 24] = mm(%a, %b)\n"
                           "  return %c\n}\n";
/* ... and a block has two tiles of an odd number of steps */
static const char deep_tiles[] = "graph(%a: f32[260, 4264], %b: f32[4264, 8]) {\n"
                                 "  %c: f32[260, 8] = mm(%a, %b)\n"
                                 "  return %c\n}\n";
static const char shallow[] = "graph(%a: f32[40, 640], %b: f32[640, 24]) {\n"
                              "  %c: f32[40, 24] = mm(%a, %b)\n"
                              "  return %c\n}\n";
static const char of_pairs[] = "mma=1 m=64 n=32 k=64 stages=4 warps=8 pairs=1";

/* So many stages that more products than there are sets of sums may go ahead of who reads. */
static const char usual[] = "mma=1 m=64 n=32 k=64 stages=8 warps=8";
static const char promoted[] = "mma=1 m=64 n=32 k=64 stages=5 warps=8";

static struct tile_program *tensor_program(struct arena *a, const char *text, const char *config) {
    return program_on(a, text, config, "sm_100a");
}

static void test_print(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    tile_print(&b, tensor_program(a, plain, "mma=1 m=128 n=128 k=64 stages=3 cluster=2 warps=12"));
    assert_string_equal(b.p, "program of 384 threads, 99504 bytes shared\n"
                             "a = v0, bf16[2 z, 200 m, 136 k], lines 136 apart\n"
                             "b = v1, bf16[2 z, 136 k, 72 n], lines 72 apart\n"
                             "A = bf16[3][128 m, 64 k], lines of 128 bytes\n"
                             "B = bf16[3][64 k, 128 n], lines of 128 bytes, copied by 2 blocks\n"
                             "sums = 2 of [128 m, 128 n] in 256 columns of tensor memory\n"
                             "16 of k in the last of each 3 steps\n"
                             "role 32\n"
                             "    draw\n"
                             "        loop\n"
                             "            wait empty\n"
                             "            copy A\n"
                             "            copy B\n"
                             "            next\n"
                             "        end\n"
                             "    end\n"
                             "end\n"
                             "role 96\n"
                             "    draw\n"
                             "        wait read\n"
                             "        fill\n"
                             "        loop\n"
                             "            wait full\n"
                             "            dot\n"
                             "            release\n"
                             "            next\n"
                             "        end\n"
                             "        offer\n"
                             "    end\n"
                             "end\n"
                             "role 256\n"
                             "    draw\n"
                             "        read\n"
                             "        store\n"
                             "    end\n"
                             "end\n");
    arena_free(a);
}

/* Sums that are promoted are read in each step. */
static void test_print_promoted(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    tile_print(&b, tensor_program(a, wide, promoted));
    assert_non_null(strstr(b.p, "        loop\n"
                                "            wait read\n"
                                "            fill\n"
                                "            wait full\n"
                                "            dot\n"
                                "            release\n"
                                "            offer\n"
                                "            next\n"
                                "        end\n"));
    assert_non_null(strstr(b.p, "        loop\n"
                                "            read\n"
                                "            add\n"
                                "        end\n"
                                "        store\n"));
    arena_free(a);
}

/* Crossed sums are read now and then. */
static void test_print_pairs(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    tile_print(&b, tensor_program(a, deep, of_pairs));
    assert_non_null(strstr(b.p, "sums = 2 of [64 m, 32 n], and crossed ones, in 128 columns"));
    assert_non_null(strstr(b.p, "            wait crossed 64\n"
                                "            wait full\n"
                                "            dot\n"
                                "            release\n"
                                "            offer crossed 64\n"
                                "            offer\n"));
    assert_non_null(strstr(b.p, "            read\n"
                                "            add\n"
                                "            fold 32\n"
                                "            cross 64\n"));
    arena_free(a);
}

static void test_numbers(void **state) {
    static const struct {
        const char *graph, *config;
    } cases[] = {
        {plain, usual},
        {plain, "mma=1 m=128 n=64 k=64 stages=3 warps=12"},
        {plain, "mma=1 m=128 n=128 k=64 stages=2 cluster=2 warps=12 band=1"},
        {plain, "mma=1 m=64 n=128 k=32 stages=4 cluster=2 warps=8"},
        {plain, "mma=1 m=64 n=128 k=32 stages=4 warps=8 split=3"},
        {plain, "mma=1 m=64 n=32 k=16 stages=2 warps=8"},
        {wide, "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
        {deep, of_pairs},
        {sliding, "mma=1 m=64 n=64 k=32 stages=2 warps=12 make=1"},
        {sliding, "mma=1 m=128 n=32 k=32 stages=3 warps=20 make=2 split=2"},
        {first, "mma=1 m=64 n=32 k=32 stages=3 warps=16 make=2"}, /* turns go on */
        {deep, "mma=1 m=64 n=16 k=64 stages=2 cluster=2 warps=8 split=2 pairs=1"},
        {wide, promoted},
        {wide, "mma=1 m=128 n=64 k=64 stages=2 warps=12 split=4"},
        {tf32, "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
        {tf32, "mma=1 m=128 n=32 k=32 stages=3 cluster=2 warps=12"},
        {bytes, "mma=1 m=128 n=48 k=128 stages=2 warps=12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed < 6; seed += PART) {
            struct arena *a = arena_new();
            const char *why;
            struct tile_program *t = tensor_program(a, cases[i].graph, cases[i].config);
            struct product p = *t->product;
            t->product = &p;
            if (seed > 3) p.sums_at_once = 1; /* as of tiles that leave no room for two */
            assert_null(tile_verify(t, a));
            int64_t wrong = wrong_of(a, t, seed, &why);
            if (why || wrong)
                fail_msg("%s, seed %d: %s, %lld wrong", cases[i].config, (int)seed, why ? why : "",
                         (long long)wrong);
            arena_free(a);
        }
}

/* Without the nth of these instructions the verifier says so, and the machine has wrong numbers or
 * waits for ever. */
static void test_mistakes(void **state) {
    static const struct {
        enum tile_op op;
        const char *config, *says;
    } cases[] = {
        {TILE_WAIT_READ, usual, "T17"},
        {TILE_WAIT_READ, promoted, "T17"},
        {TILE_WAIT_FULL, usual, "T3"},
        {TILE_WAIT_EMPTY, usual, "T4"},
        {TILE_RELEASE, usual, "T4"},
        {TILE_RELEASE, promoted, "T4"},
        {TILE_OFFER, usual, "T17"},
        {TILE_OFFER, promoted, "T17"},
        {TILE_READ, usual, "T17"},
        {TILE_READ, promoted, "T17"},
        {TILE_WAIT_CROSSED, of_pairs, "T10"},
        {TILE_OFFER_CROSSED, of_pairs, "T17"},
        {TILE_CROSS, of_pairs, "T10"},
        {TILE_ADD, of_pairs, "T10"},
        {TILE_FILL, usual, "T5"},
        {TILE_FILL, promoted, "T5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool found = false;
        const char *config = cases[i].config;
        const char *graph = config == promoted ? wide : config == of_pairs ? deep_tiles : plain;
        for (uint64_t seed = 0; seed < 8 && !found; seed++) {
            struct arena *a = arena_new();
            const char *why;
            struct tile_program *t = tensor_program(a, graph, cases[i].config);
            take_out(t, find(t, cases[i].op, 0));
            const char *bad = tile_verify(t, a);
            if (!bad || strncmp(bad, cases[i].says, strlen(cases[i].says)) != 0)
                fail_msg("without %s: %s", tile_op_name(cases[i].op), bad ? bad : "fine");
            found = wrong_of(a, t, seed, &why) || why;
            arena_free(a);
        }
        if (!found) fail_msg("nothing is wrong without %s", tile_op_name(cases[i].op));
    }
}

/* What stands elsewhere, or where the sums are in registers. */
static void test_misplaced(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = tensor_program(a, plain, usual);
    uint32_t next = find(t, TILE_NEXT, 1), release = find(t, TILE_RELEASE, 0);
    const char *why;
    bool found = false;
    assert_int_equal(release + 1, next);
    /* The stage is given back before its products are issued. */
    t->code.at[release] = t->code.at[release - 1];
    t->code.at[release - 1] = (struct tile_inst){TILE_RELEASE, 0, 0};
    assert_non_null(strstr(tile_verify(t, a), "T4: "));
    for (uint64_t seed = 0; seed < 8; seed++) found |= wrong_of(a, t, seed, &why) > 0;
    assert_true(found);
    t = tensor_program(a, plain, usual);
    t->code.at[find(t, TILE_OFFER, 0)].op = TILE_RELEASE;
    assert_non_null(strstr(tile_verify(t, a), "T17: "));
    t = program_of(a, plain, usual);
    t->code.at[find(t, TILE_DRAIN, 1)].op = TILE_READ;
    assert_non_null(strstr(tile_verify(t, a), "the sums are in registers"));
    arena_free(a);
}

/* Columns, sets of sums, and who reads which lanes. */
static void test_mistakes_of_sums(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = tensor_program(a, plain, "mma=1 m=128 n=128 k=64 stages=2 warps=12");
    struct product right = *t->product, p = right;
    t->product = &p;
    assert_int_equal(p.tensor_columns, 256);
    assert_int_equal(p.sums_at_once, 2);
    assert_null(tile_verify(t, a));
    p.tensor_columns = 192;
    assert_string_equal(tile_verify(t, a), "T18: 192 columns of tensor memory");
    p.tensor_columns = 16;
    assert_string_equal(tile_verify(t, a), "T18: 16 columns of tensor memory");
    p.tensor_columns = 1024;
    assert_string_equal(tile_verify(t, a), "T18: 1024 columns of tensor memory");
    p.tensor_columns = 128;
    assert_string_equal(tile_verify(t, a), "T18: 2 sets of sums in 128 columns");
    p = right;
    p.warp_rows = 16, p.warp_columns = 128;
    assert_string_equal(tile_verify(t, a),
                        "T18: warps of 16 by 128 sums read others than their lanes");
    p = right;
    t->copiers += 32;
    assert_string_equal(tile_verify(t, a),
                        "T18: warps of 32 by 64 sums read others than their lanes");
    arena_free(a);
}

static void test_refused(void **state) {
    static const struct {
        const char *graph, *config, *why;
    } cases[] = {
        {plain, "mma=1 m=192 n=64 k=64 stages=2 warps=16", "needs an m of 64 or 128"},
        {plain, "mma=1 m=128 n=72 k=64 stages=2 warps=12", "needs an n of sixteens"},
        {bytes, "mma=1 m=64 n=24 k=64 stages=2 warps=8", "needs an n of sixteens"},
        {plain, "mma=1 m=64 n=64 k=64 stages=2 warps=12 make=1", "no factor is packed"},
        {shallow, "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1", "needs a depth of 1024"},
        {wide, "mma=1 m=128 n=256 k=64 stages=2 warps=12", "256 sums a thread"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct layout y;
        struct config c = parsed(a, cases[i].config);
        const char *bad = kernel_layout(product_on(a, cases[i].graph, "sm_100a"), &c, &y, a);
        if (!bad || !strstr(bad, cases[i].why)) fail_msg("%s: %s", cases[i].config, bad ? bad : "");
        arena_free(a);
    }
}

/* The text of such a program is read back. */
static void test_parse(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = tensor_program(a, wide, promoted);
    struct buf b = buf_new(a), again = buf_new(a);
    struct diag d = diag_new(a);
    tile_print(&b, t);
    struct source s = {"program", b.p, b.n};
    struct tile_program *back = tile_parse(t->block, &s, a, &d);
    if (!back) fail_msg("%s", d.text);
    assert_int_equal(back->copiers, t->copiers);
    assert_int_equal(back->issuers, t->issuers);
    assert_null(tile_verify(back, a));
    tile_print(&again, back);
    assert_string_equal(again.p, b.p);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_print_pairs),
                                       cmocka_unit_test(test_print),
                                       cmocka_unit_test(test_print_promoted),
                                       cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_mistakes),
                                       cmocka_unit_test(test_misplaced),
                                       cmocka_unit_test(test_mistakes_of_sums),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_parse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
