/* test_tile_program.c: tile programs of products: what the pipeline makes of them, every invariant
 * broken once, and numbers as the interpreter has them, with everything late and at once. */
#include <math.h>
#include <stdio.h>

#include "tile_test.h"

static const char plain[] = "graph(%a: bf16[2, 200, 136], %b: bf16[2, 136, 72]) {\n"
                            "  %c: bf16[2, 200, 72] = bmm(%a, %b)\n"
                            "  return %c\n}\n";
static const char wide[] = "graph(%a: f32[130, 200], %b: f32[200, 40]) {\n"
                           "  %c: f32[130, 40] = mm(%a, %b)\n"
                           "  return %c\n}\n";

/* pairs in steps of 32 */
static const char deep_paired[] = "graph(%a: f32[40, 1056], %b: f32[1056, 24]) {\n"
                                  "  %c: f32[40, 24] = mm(%a, %b)\n"
                                  "  return %c\n}\n";

/* pairs: 67 steps, of which 64 have crossed sums of their own */
static const char deep[] = "graph(%a: f32[40, 4264], %b: f32[4264, 24]) {\n"
                           "  %c: f32[40, 24] = mm(%a, %b)\n"
                           "  return %c\n}\n";
static const char of_pairs[] = "mma=1 m=64 n=32 k=64 stages=2 warps=8 pairs=1";

static const char of_split[] = "mma=1 m=128 n=64 k=64 stages=2 warps=12 pairs=2";

static const char tf32[] = "graph(%a: f32[130, 200], %b: f32[200, 40]) products tf32 {\n"
                           "  %c: f32[130, 40] = mm(%a, %b)\n"
                           "  return %c\n}\n";

static const char bytes[] = "graph(%a: i8[130, 208], %b: u8[208, 40]) {\n"
                            "  %x: i32[130, 208] = int(%a)\n"
                            "  %y: i32[208, 40] = int(%b)\n"
                            "  %c: i32[130, 40] = mm(%x, %y)\n"
                            "  return %c\n}\n";
static const char tf32_across[] = "graph(%a: f32[130, 200], %b: f32[200, 136]) products tf32 {\n"
                                  "  %c: f32[130, 136] = mm(%a, %b)\n"
                                  "  return %c\n}\n";

static const char float8[] = "graph(%a: f8e4m3[130, 272], %b: f8e5m2[272, 40]) {\n"
                             "  %c: f32[130, 40] = mm_float8(%a, %b)\n"
                             "  return %c\n}\n";

/* windows: 3 x 2 taps with holes, paddings, strides; 17 channels are 32 of a line of 64 bytes */
static const char sliding[] =
    "graph(%x: bf16[2, 34, 9, 7], %w: bf16[80, 17, 3, 2]) {\n"
    "  %c: bf16[2, 80, 4, 7] = convolution(%x, %w, None, [2, 1], [1, 1], [2, 2], False, 0, 2)\n"
    "  return %c\n}\n";
static const char sliding_wide[] =
    "graph(%x: f32[3, 40, 30], %w: f32[40, 40, 5]) {\n"
    "  %c: f32[3, 40, 32] = convolution(%x, %w, None, 1, 3, 1, False, 0, 1, 1)\n"
    "  return %c\n}\n";

/* channels last: nothing is packed but the weight */
static const char lying[] = "graph(%x: bf16[2, 9, 7, 40], %w: bf16[80, 40, 3, 3]) {\n"
                            "  %p: bf16[2, 40, 9, 7][2520, 1, 280, 40] = "
                            "permute(%x, [0, 3, 1, 2])\n"
                            "  %c: bf16[2, 80, 5, 4] = convolution(%p, %w, None, [2, 2], [1, 1])\n"
                            "  return %c\n}\n";
/* pooling behind it counts rows and columns in pairs */
static const char pooled[] = "graph(%x: bf16[2, 32, 8, 12], %w: bf16[48, 32, 3, 3]) {\n"
                             "  %c: bf16[2, 48, 8, 12] = convolution(%x, %w, None, 1, 1)\n"
                             "  %p: bf16[2, 48, 4, 6] = max_pool(%c, [2, 2], [2, 2])\n"
                             "  return %p\n}\n";
/* one tap: each image is a batch of what lies as a product wants it */
static const char pointwise[] =
    "graph(%x: bf16[3, 40, 8, 15], %w: bf16[72, 40, 1, 1]) {\n"
    "  %c: bf16[3, 72, 8, 15] = convolution(%x, %w, None, 1, 0, 1, False, 0, 1, 2)\n"
    "  return %c\n}\n";
/* and each second one of them, channels innermost: 5 x 4 windows of one tap */
static const char apart[] = "graph(%x: bf16[3, 9, 7, 64], %w: bf16[72, 64, 1, 1]) {\n"
                            "  %p = permute(%x, [0, 3, 1, 2])\n"
                            "  %c = convolution(%p, %w, None, 2)\n"
                            "  return %c\n}\n";
/* windows are the depth: 5 x 8 of 2 images; 5 x 3 taps of 40 channels are the columns */
static const char gradient[] =
    "graph(%x: bf16[40, 1, 2, 9, 10], %d: bf16[1, 34, 2, 5, 8]) {\n"
    "  %c: bf16[40, 1, 34, 5, 3] = convolve(%x, %d, [1, 1], [0, 0], [1, 1], False, [5, 3])\n"
    "  return %c\n}\n";

/* 4 phases of 9 taps, 1, 2, 2 and 4 of them: filters that share their windows */
static const char phases[] =
    "graph(%x: bf16[2, 1, 40, 5, 6], %w: bf16[1, 72, 40, 3, 3]) {\n"
    "  %c: bf16[2, 1, 4, 72, 5, 6] = convolve_phases(%x, %w, [2, 2], [1, 1], [1, 1], [5, 6])\n"
    "  return %c\n}\n";
/* the same with a dilation, of which each phase has positions of its own */
static const char phases_apart[] =
    "graph(%x: bf16[2, 1, 40, 5, 6], %w: bf16[1, 72, 40, 3, 3]) {\n"
    "  %c: bf16[2, 1, 4, 72, 5, 6] = convolve_phases(%x, %w, [2, 2], [1, 1], [3, 3], [5, 6])\n"
    "  return %c\n}\n";
/* few channels: 7 taps of 3, which are 4, in lines of 32 of 64 bytes; windows are 2 apart */
static const char first[] =
    "graph(%x: bf16[2, 3, 23, 21], %w: bf16[40, 3, 7, 7]) {\n"
    "  %c: bf16[2, 40, 12, 11] = convolution(%x, %w, None, [2, 2], [3, 3])\n"
    "  return %c\n}\n";
/* 1 channel in pieces of 8, in planes, of 2 groups */
static const char first_wide[] =
    "graph(%x: f32[2, 2, 9, 12], %w: f32[32, 1, 3, 5]) {\n"
    "  %c: f32[2, 32, 7, 12] = convolution(%x, %w, None, 1, [0, 2], [1, 1], False, 0, 2)\n"
    "  return %c\n}\n";
static const char first_line[] =
    "graph(%x: f32[3, 3, 50], %w: f32[24, 3, 4]) convolutions tf32 {\n"
    "  %c: f32[3, 24, 51] = convolution(%x, %w, None, 1, 2, 1, False, 0, 1, 1)\n"
    "  return %c\n}\n";
/* an image as it lies: taps in steps of three and of one, edges of the inner dimensions, groups */
static const char lying_plane[] =
    "graph(%x: f32[3, 40, 10, 14], %w: f32[24, 40, 3, 3]) convolutions tf32 {\n"
    "  %c = convolution(%x, %w, None, 1, 1)\n"
    "  return %c\n}\n";
static const char lying_line[] =
    "graph(%x: f32[2, 34, 180], %w: f32[40, 17, 3]) convolutions tf32 {\n"
    "  %c = convolution(%x, %w, None, 1, 1, 2, False, 0, 2, 1)\n"
    "  return %c\n}\n";
static const char lying_solid[] =
    "graph(%x: f32[2, 33, 5, 6, 8], %w: f32[24, 33, 2, 3, 3]) convolutions tf32 {\n"
    "  %c = convolution(%x, %w, None, 1, 1, 1, False, 0, 1, 3)\n"
    "  return %c\n}\n";
static const char first_solid[] =
    "graph(%x: f16[2, 2, 5, 6, 9], %w: f16[24, 2, 3, 2, 3]) {\n"
    "  %c: f16[2, 24, 5, 4, 4] = convolution(%x, %w, None, [1, 1, 2], [1, 0, 0], [1, 2, 1], False, "
    "0, 1, 3)\n"
    "  return %c\n}\n";

/* ---- text ------------------------------------------------------------------------------------ */

static void test_print(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t =
        program_of(a, plain, "mma=1 m=128 n=128 k=64 stages=3 cluster=2 warps=12");
    struct buf b = buf_new(a);
    tile_print(&b, t);
    assert_string_equal(b.p, "program of 384 threads, 99456 bytes shared\n"
                             "a = v0, bf16[2 z, 200 m, 136 k], lines 136 apart\n"
                             "b = v1, bf16[2 z, 136 k, 72 n], lines 72 apart\n"
                             "A = bf16[3][128 m, 64 k], lines of 128 bytes\n"
                             "B = bf16[3][64 k, 128 n], lines of 128 bytes, copied by 2 blocks\n"
                             "16 of k in the last of each 3 steps\n"
                             "role 128\n"
                             "    draw\n"
                             "        loop\n"
                             "            wait empty\n"
                             "            copy A\n"
                             "            copy B\n"
                             "            next\n"
                             "        end\n"
                             "    end\n"
                             "end\n"
                             "role 256\n"
                             "    draw\n"
                             "        fill\n"
                             "        loop\n"
                             "            wait full\n"
                             "            dot\n"
                             "            drain 1\n"
                             "            arrive 1\n"
                             "            next\n"
                             "        end\n"
                             "        drain 0\n"
                             "        arrive 1\n"
                             "        store\n"
                             "    end\n"
                             "end\n");
    arena_free(a);
}

/* Of tf32 what runs across is packed, or read into registers, if it is or becomes the left factor:
 * then products are through before the next ones' registers are written. */
static void test_print_tf32(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, tf32_across, "mma=1 m=64 n=64 k=32 stages=2 warps=8");
    struct buf b = buf_new(a);
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "a = v1, tf32[1 z, 200 k, 136 m], lines 136 apart\n"
                                "b = v0, tf32[1 z, 130 n, 200 k], lines 200 apart\n"
                                "A = tf32[2][32 k, 64 m], lines of 128 bytes, read into registers\n"
                                "B = tf32[2][64 n, 32 k], lines of 128 bytes\n"));
    assert_non_null(strstr(b.p, "            dot\n            drain 0\n            arrive 0\n"));
    b = buf_new(a);
    t = program_of(a, tf32, "mma=1 m=64 n=64 k=32 stages=2 warps=8");
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "a = v0, tf32[1 z, 130 m, 200 k], lines 200 apart\n"
                                "b = image of v1, tf32[1 z, 40 n, 200 k], lines 224 apart\n"
                                "A = tf32[2][64 m, 32 k], lines of 128 bytes\n"
                                "B = tf32[2][64 n, 32 k], lines of 128 bytes\n"));
    /* beside so large a result that an image of the right factor takes no time, packed, too */
    static const char large[] = "graph(%a: f32[1048576, 256], %b: f32[256, 768]) products tf32 {\n"
                                " %z = mm(%a, %b)\n return %z\n}\n";
    b = buf_new(a);
    t = program_of(a, large, "mma=1 m=64 n=64 k=32 stages=2 warps=8");
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "a = v0, tf32[1 z, 1048576 m, 256 k], lines 256 apart\n"
                                "b = image of v1, tf32[1 z, 768 n, 256 k], lines 256 apart\n"));
    /* of 64 it takes as long as it gains */
    static const char shallow[] = "graph(%a: f32[1048576, 64], %b: f32[64, 768]) products tf32 {\n"
                                  " %z = mm(%a, %b)\n return %z\n}\n";
    b = buf_new(a);
    t = program_of(a, shallow, "mma=1 m=64 n=64 k=32 stages=2 warps=8");
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "a = v1, tf32[1 z, 64 k, 768 m], lines 768 apart\n"));
    arena_free(a);
}

/* Bytes lie along the depth, too; nothing widens them. */
static void test_print_bytes(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, bytes, "mma=1 m=64 n=48 k=64 stages=2 warps=8");
    struct buf b = buf_new(a);
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "a = v0, i8[1 z, 130 m, 208 k], lines 208 apart\n"
                                "b = image of v3, u8[1 z, 40 n, 208 k], lines 208 apart\n"
                                "A = i8[2][64 m, 64 k], lines of 64 bytes\n"
                                "B = u8[2][48 n, 64 k], lines of 64 bytes\n"));
    arena_free(a);
}

/* Rows that lie side by side in memory are turned where they begin within sectors: images of 100
 * pixels, not of 144. */
static void test_turned_rows(void **state) {
    static const struct {
        const char *graph;
        int turned;
    } cases[] = {{"graph(%x: f32[3, 8, 12, 12], %w: f32[24, 8, 3, 3]) convolutions tf32 {\n"
                  "  %c: f32[3, 24, 10, 10] = convolution(%x, %w, None, 1, 0)\n  return %c\n}\n",
                  8},
                 {"graph(%x: f32[3, 8, 14, 14], %w: f32[24, 8, 3, 3]) convolutions tf32 {\n"
                  "  %c: f32[3, 24, 12, 12] = convolution(%x, %w, None, 1, 0)\n  return %c\n}\n",
                  0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        const struct tile_program *t =
            program_of(a, cases[i].graph, "mma=1 m=64 n=24 k=32 stages=2 warps=12 make=2");
        assert_int_equal(t->product->turned, cases[i].turned);
        assert_int_equal(t->product->exchange, cases[i].turned * TURNED_PITCH * 4);
        assert_true(t->exchange + t->product->exchange <= t->smem);
        arena_free(a);
    }
}

/* Float8 likewise; sums begin anew in each step. */
static void test_print_float8(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, float8, "mma=1 m=64 n=40 k=128 stages=2 warps=8");
    struct buf b = buf_new(a);
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "a = v0, f8e4m3[1 z, 130 m, 272 k], lines 272 apart\n"
                                "b = image of v1, f8e5m2[1 z, 40 n, 272 k], lines 272 apart\n"
                                "A = f8e4m3[2][64 m, 128 k], lines of 128 bytes\n"
                                "B = f8e5m2[2][40 n, 128 k], lines of 128 bytes\n"));
    assert_non_null(strstr(b.p, "add\n"));
    arena_free(a);
}

/* Whole lines of windows that are one apart are boxes of the image; others are not. */
static void test_boxes_of_windows(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, pooled, "mma=1 m=64 n=24 k=32 stages=2 warps=8");
    struct tensor_map m = operand_map(&t->product->b, 64, 24);
    assert_false(m.windows);
    assert_int_equal(m.rank, 4);
    assert_memory_equal(m.box, ((int[]){32, 12, 2, 1}), 4 * sizeof(int));
    m = operand_map(&t->product->b, 64, 6); /* half of a line */
    assert_false(m.windows);
    assert_memory_equal(m.box, ((int[]){32, 6, 1, 1}), 4 * sizeof(int));
    m = operand_map(&t->product->b, 64, 192); /* both images */
    assert_false(m.windows);
    assert_memory_equal(m.box, ((int[]){32, 12, 8, 2}), 4 * sizeof(int));
    assert_true(operand_map(&t->product->b, 64, 32).windows);
    assert_true(operand_map(&t->product->b, 64, 36).windows); /* 3 lines of 8 */
    t = program_of(a, lying, "mma=1 m=64 n=32 k=64 stages=2 warps=8");
    assert_true(operand_map(&t->product->b, 128, 20).windows); /* two apart */
    arena_free(a);
}

/* What windows are read through is copied once, and the other factor is as deep. */
static void test_print_windows(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t =
        program_of(a, sliding, "mma=1 m=64 n=64 k=32 stages=2 cluster=2 warps=8");
    struct buf b = buf_new(a);
    tile_print(&b, t);
    assert_non_null(
        strstr(b.p, "a = image of v0, bf16[2 z, 40 m, 192 k], lines 192 apart\n"
                    "b = windows of v2, bf16[2 images, 9 x 7, 2 z, 32 channels], 3 x 2 taps 2 x 2 "
                    "apart, 4 x 7 windows from -1 x -1 on by 2 x 1\n"
                    "A = bf16[2][64 m, 32 k], lines of 64 bytes, copied by 2 blocks\n"
                    "B = bf16[2][64 n, 32 k], lines of 64 bytes\n"));
    t = program_of(a, lying, "mma=1 m=64 n=32 k=64 stages=2 warps=8");
    b = buf_new(a);
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "b = windows of v2 as it lies, bf16[2 images, 9 x 7, 1 z, 64 "
                                "channels], 3 x 3 taps"));
    assert_int_equal(t->product->b.bytes, 0);
    t = program_of(a, pooled, "mma=1 m=64 n=32 k=32 stages=2 warps=8");
    b = buf_new(a);
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "b = windows of v2, bf16[2 images, 8 x 12, 1 z, 32 channels], "
                                "3 x 3 taps 1 x 1 apart, 8 x 12 windows from -1 x -1 on"));
    t = program_of(a, first, "mma=1 m=64 n=64 k=64 stages=2 warps=8");
    b = buf_new(a);
    tile_print(&b, t);
    assert_non_null(strstr(
        b.p, "a = image of v0, bf16[1 z, 40 m, 192 k], lines 192 apart\n"
             "b = windows of v2, bf16[2 images, 12 x 11, 1 z, 192 channels], runs of 7 pixels of "
             "24, 2 apart, 7 taps each, 1 x 1 taps 1 x 1 apart, 12 x 11 windows from 0 x 0 on by "
             "1 x 1\n"));
    t = program_of(a, apart, "mma=1 m=64 n=64 k=64 stages=2 warps=8");
    b = buf_new(a);
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "a = v0, bf16[1 z, 72 m, 64 k], lines 64 apart\n"
                                "b = windows of v1 as it lies, bf16[3 images, 9 x 7, 1 z, 64 "
                                "channels], 1 x 1 taps 1 x 1 apart, 5 x 4 windows from 0 x 0 on by "
                                "2 x 2\n"));
    t = program_of(a, pointwise, "mma=1 m=64 n=64 k=64 stages=2 warps=8");
    b = buf_new(a);
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "a = v0, bf16[1 z, 72 m, 40 k], lines 40 apart\n"
                                "b = v1, bf16[3 z, 40 k, 120 n], lines 120 apart\n"));
    arena_free(a);
}

/* Warps make what else would be packed, a warpgroup each step in turn. */
static void test_print_made(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, first, "mma=1 m=64 n=64 k=64 stages=2 warps=12 make=2");
    struct buf b = buf_new(a);
    tile_print(&b, t);
    assert_int_equal(t->product->b.bytes, 0);
    assert_non_null(strstr(b.p, "a = image of v0, bf16[1 z, 40 m, 147 k], lines 152 apart\n"
                                "b = made of v2, bf16[1 z, 264 n, 147 k]\n"));
    assert_non_null(strstr(b.p, "role 256\n"
                                "    draw\n"
                                "        loop\n"
                                "            turn 2\n"
                                "                take B\n"
                                "                wait empty\n"
                                "                copy A\n"
                                "                make B\n"
                                "                give\n"
                                "            end\n"
                                "            next\n"
                                "        end\n"
                                "    end\n"
                                "end\n"));
    arena_free(a);
}

static void test_print_by_warps(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t =
        program_of(a, wide, "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=3 warps=4 split=2");
    struct buf b = buf_new(a);
    tile_print(&b, t);
    const char *code = strstr(b.p, "draw");
    assert_non_null(code);
    assert_string_equal(code, "draw\n"
                              "    ahead 2\n"
                              "        copy A\n"
                              "        copy B\n"
                              "        group\n"
                              "    end\n"
                              "    loop\n"
                              "        landed 1\n"
                              "        copy A 2\n"
                              "        copy B 2\n"
                              "        group\n"
                              "        dot add\n"
                              "        next\n"
                              "    end\n"
                              "    landed 0\n"
                              "    leave\n"
                              "    meet 2\n"
                              "    store\n"
                              "end\n");
    arena_free(a);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* All windows of few channels are runs, however they are copied. */
static void test_runs(void **state) {
    static const char *const graphs[] = {first, first_wide, first_line, first_solid};
    static const char *const configs[] = {"mma=1 m=64 n=32 k=32 stages=2 warps=8",
                                          "mma=1 m=64 n=32 k=64 stages=2 warps=8",
                                          "mma=2 m=32 n=32 k=32 tm=16 tn=16 stages=2 warps=4",
                                          "mma=2 m=32 n=32 k=64 tm=16 tn=16 stages=2 warps=4"};
    for (int i = 0; i < 8; i++) {
        struct arena *a = arena_new();
        const char *graph = graphs[i / 2]; /* f32 is promoted by 64, tf32 by 32 */
        bool deep = graph == first_wide;
        struct tile_program *t = program_of(a, graph, configs[i % 2 * 2 + deep]);
        assert_true(operand_has_runs(&t->product->a) || operand_has_runs(&t->product->b));
        arena_free(a);
    }
}

static void test_numbers(void **state) {
    static const struct {
        const char *graph, *config;
    } cases[] = {
        {plain, "mma=1 m=128 n=64 k=64 stages=3 warps=12"},
        {plain, "mma=1 m=128 n=128 k=64 stages=2 cluster=2 warps=12 band=1"},
        {plain, "mma=1 m=64 n=64 k=64 stages=2 cluster=4 warps=8"},
        {plain, "mma=1 m=64 n=32 k=16 stages=8 warps=8"},
        {plain, "mma=1 m=64 n=128 k=32 stages=4 cluster=2 warps=8"},
        {plain, "mma=1 m=64 n=128 k=32 stages=4 warps=8 split=3"},
        {wide, "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
        {wide, "mma=1 m=128 n=64 k=64 stages=2 warps=12 split=4"},
        {wide, "mma=1 m=128 n=64 k=64 stages=2 warps=12"},
        {deep, of_pairs},
        {deep, "mma=1 m=64 n=32 k=64 stages=3 warps=8 split=2 pairs=1"},
        {deep, of_split},
        {deep, "mma=1 m=64 n=64 k=64 stages=3 warps=8 cluster=2 split=2 pairs=2"},
        {deep_paired, "mma=1 m=64 n=32 k=32 stages=4 warps=8 split=2 pairs=1"},
        {deep_paired, "mma=1 m=128 n=32 k=32 stages=3 warps=12 cluster=2 pairs=1"},
        {tf32, "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
        {tf32_across, "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
        {tf32_across, "mma=1 m=128 n=32 k=32 stages=3 cluster=2 warps=12"},
        {plain, "mma=1 m=64 n=64 k=32 stages=3 warps=8 split=2 tail=3"},
        {plain, "mma=1 m=128 n=32 k=32 stages=3 warps=12 cluster=2 split=2 tail=5"},
        {tf32, "mma=1 m=64 n=32 k=16 stages=4 warps=8 split=3"},
        {tf32, "mma=2 m=64 n=32 k=32 tm=32 tn=16 stages=3 warps=4"},
        {sliding, "mma=1 m=64 n=64 k=32 stages=2 cluster=2 warps=8"},
        {sliding, "mma=1 m=64 n=32 k=32 stages=2 warps=8 split=2 tail=1"},
        {pointwise, "mma=1 m=128 n=64 k=64 stages=2 cluster=2 warps=12"},
        {deep, "mma=1 m=64 n=16 k=64 stages=2 cluster=2 warps=8 split=2 pairs=1"},
        {sliding, "mma=1 m=64 n=32 k=32 stages=3 warps=8 split=2"},
        {sliding, "mma=2 m=32 n=64 k=64 tm=16 tn=32 stages=2 warps=4"},
        {sliding_wide, "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
        {sliding_wide, "mma=1 m=64 n=64 k=64 stages=2 warps=8 flat=1"},
        {pooled, "mma=1 m=64 n=32 k=32 stages=2 warps=8 flat=1"},
        {pooled, "mma=1 m=64 n=64 k=64 stages=3 warps=8 flat=1 cluster=2"},
        {first_wide, "mma=1 m=64 n=32 k=64 stages=2 warps=8 flat=1"},
        {first_line, "mma=1 m=64 n=32 k=32 stages=2 warps=8 flat=1"},
        {lying_plane, "mma=1 m=64 n=32 k=96 stages=2 warps=8 flat=2"},
        {lying_plane, "mma=1 m=192 n=16 k=32 stages=3 warps=16 flat=2 cluster=2"},
        {lying_line, "mma=1 m=64 n=32 k=96 stages=2 warps=8 flat=2"},
        {lying_line, "mma=1 m=64 n=32 k=32 stages=2 warps=8 flat=2 split=2"},
        {lying_solid, "mma=1 m=128 n=32 k=96 stages=2 warps=12 flat=2"},
        {sliding_wide, "mma=2 m=32 n=32 k=64 tm=16 tn=16 stages=2 warps=4"},
        {pointwise, "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
        {first, "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
        {first, "mma=1 m=64 n=64 k=32 stages=2 cluster=2 warps=8"},
        {first, "mma=2 m=32 n=32 k=64 tm=16 tn=16 stages=2 warps=4"},
        {first_wide, "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
        {first_wide, "mma=2 m=16 n=64 k=64 tm=16 tn=16 stages=2 warps=4"},
        {first_line, "mma=1 m=64 n=32 k=32 stages=2 warps=8"},
        {first_line, "mma=2 m=32 n=32 k=16 tm=16 tn=16 stages=2 warps=4"},
        {first_solid, "mma=1 m=64 n=32 k=16 stages=3 warps=8 split=2"},
        {first_solid, "mma=2 m=32 n=32 k=64 tm=16 tn=16 stages=2 warps=4"},
        {lying, "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
        {lying, "mma=2 m=32 n=32 k=64 tm=16 tn=16 stages=2 warps=4"},
        {phases, "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
        {phases, "mma=1 m=64 n=32 k=16 stages=4 warps=8 split=3"},
        {phases, "mma=2 m=32 n=32 k=32 tm=16 tn=16 stages=3 warps=4"},
        {phases_apart, "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
        {phases_apart, "mma=1 m=64 n=32 k=16 stages=4 warps=8 split=3"},
        {phases_apart, "mma=2 m=32 n=32 k=32 tm=16 tn=16 stages=3 warps=4"},
        {gradient, "mma=1 m=64 n=128 k=16 stages=2 warps=8 cluster=2"},
        {gradient, "mma=1 m=64 n=64 k=16 stages=2 warps=8 split=3"},
        {gradient, "mma=2 m=16 n=64 k=32 tm=16 tn=16 stages=2 warps=4"},
        {sliding, "mma=1 m=64 n=64 k=32 stages=2 warps=8 make=1"},
        {sliding_wide, "mma=1 m=64 n=128 k=64 stages=3 warps=12 make=2"},
        {sliding_wide, "mma=1 m=128 n=32 k=64 stages=2 warps=16 make=2 split=2"},
        {first, "mma=1 m=64 n=32 k=32 stages=3 warps=12 make=2"}, /* turns go on */
        {first, "mma=1 m=64 n=32 k=32 stages=2 warps=12 make=2"},
        {first_line, "mma=1 m=64 n=32 k=32 stages=2 warps=8 make=1"},
        {first_solid, "mma=1 m=128 n=64 k=16 stages=3 warps=16 make=2"},
        {plain, "mma=2 m=64 n=64 k=32 tm=32 tn=32 stages=3 warps=4"},
        {plain, "mma=2 m=128 n=32 k=16 tm=32 tn=32 stages=4 warps=4 split=3"},
        {plain, "mma=2 m=16 n=64 k=128 tm=16 tn=16 stages=2 warps=4"},
        {bytes, "mma=1 m=128 n=48 k=128 stages=2 warps=12"},
        {bytes, "mma=1 m=64 n=24 k=32 stages=4 warps=8 split=3"},
        {bytes, "mma=2 m=64 n=32 k=64 tm=32 tn=16 stages=3 warps=4"},
        {float8, "mma=1 m=128 n=40 k=128 stages=2 warps=12"},
        {float8, "mma=2 m=64 n=32 k=128 tm=32 tn=16 stages=3 warps=4"},
        {wide, "mma=2 m=64 n=32 k=64 tm=32 tn=16 stages=2 warps=4"},
        {plain, "mma=1 m=64 n=64 k=64 stages=2 warps=12 pingpong=1"},
        {plain, "mma=1 m=128 n=32 k=32 stages=3 warps=12 pingpong=1"},
        {plain, "mma=1 m=64 n=64 k=16 stages=4 cluster=2 warps=12 pingpong=1"},
        {sliding, "mma=1 m=64 n=32 k=32 stages=2 warps=12 pingpong=1"},
        {bytes, "mma=1 m=64 n=16 k=64 stages=3 warps=12 pingpong=1"},
        {plain, "mma=1 m=64 n=64 k=64 stages=2 warps=16 pingpong=2"},
        {plain, "mma=1 m=64 n=64 k=16 stages=4 cluster=2 warps=20 pingpong=3"},
        {sliding, "mma=1 m=64 n=32 k=32 stages=2 warps=20 pingpong=3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed < 4; seed += PART) {
            struct arena *a = arena_new();
            const char *why;
            struct tile_program *t = program_of(a, cases[i].graph, cases[i].config);
            int64_t wrong = wrong_of(a, t, seed, &why);
            if (why || wrong)
                fail_msg("%s, seed %d: %s, %lld wrong", cases[i].config, (int)seed, why ? why : "",
                         (long long)wrong);
            arena_free(a);
        }
}

static const char of_groups[] = "mma=1 m=128 n=64 k=16 stages=2 warps=12";
static const char of_warps[] = "mma=2 m=64 n=64 k=32 tm=32 tn=32 stages=3 warps=4";
static const char of_makers[] = "mma=1 m=64 n=64 k=64 stages=3 warps=12 make=2"; /* of `first` */
static const char in_turn[] = "mma=1 m=64 n=32 k=16 stages=2 warps=12 pingpong=1";
static const char of_parts[] = "mma=1 m=64 n=64 k=16 stages=2 warps=8 split=3";

/* ---- rows that elements read ----------------------------------------------------------------- */

static const char softmax[] = "graph(%a: bf16[200, 40], %b: bf16[40, 72]) {\n"
                              "  %c: bf16[200, 72] = mm(%a, %b)\n"
                              "  %s: bf16[200, 72] = softmax(%c, 1)\n"
                              "  return %s\n}\n";
static const char log_softmax[] = "graph(%a: bf16[2, 70, 40], %b: bf16[2, 40, 72]) {\n"
                                  "  %c: bf16[2, 70, 72] = bmm(%a, %b)\n"
                                  "  %s: bf16[2, 70, 72] = log_softmax(%c, 2)\n"
                                  "  return %s\n}\n";
static const char norm[] = "graph(%a: f32[130, 200], %b: f32[200, 40]) {\n"
                           "  %c: f32[130, 40] = mm(%a, %b)\n"
                           "  %s: f32[130, 40] = layer_norm(%c, [40], eps=1e-05)\n"
                           "  return %s\n}\n";

/* The machine's stand-in for an epilogue: see run.c. */
static int64_t wrong_rows(struct arena *a, const struct tile_program *t, uint64_t seed,
                          const char **why) {
    const struct kernel *k = t->block->kernel;
    const float *in[] = {planes_of(a, &t->product->a, 1), planes_of(a, &t->product->b, 2)};
    int64_t rows = kernel_size(k, AXIS_Z) * kernel_size(k, AXIS_M), nm = kernel_size(k, AXIS_M),
            nn = kernel_size(k, AXIS_N), wrong = 0;
    float *out = NEW_ARRAY(a, float, (size_t)(rows * nn));
    double *x = NEW_ARRAY(a, double, (size_t)nn);
    *why = tile_run(t, in, out, seed, a);
    struct passes passes = passes_new(a, t, in);
    for (int64_t r = 0; r < rows; r++) {
        if (r % nm == 0) passes_at(&passes, r / nm);
        double first = 0, second = 0, terms, all = 0;
        for (int64_t n = 0; n < nn; n++)
            first += x[n] = exact(&passes, r % nm, n, &terms), all += terms;
        for (int64_t n = 0; n < nn; n++) second += x[n] - first;
        for (int64_t n = 0; n < nn; n++)
            wrong +=
                !(fabs(out[r * nn + n] - (x[n] - first + second)) <= all * (double)nn * 0x1p-18);
    }
    return wrong;
}

static const char shared_rows[] = "mma=1 m=64 n=32 k=32 stages=2 warps=8";
static const char shared_by_warps[] = "mma=2 m=64 n=32 k=64 tm=32 tn=16 stages=2 warps=4";

static void test_rows(void **state) {
    static const struct {
        const char *graph, *config;
    } cases[] = {{softmax, shared_rows},
                 {softmax, "mma=1 m=128 n=64 k=16 stages=3 warps=12"},
                 {softmax, "mma=1 m=64 n=96 k=32 stages=2 warps=8"},
                 {log_softmax, "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
                 {softmax, "mma=1 m=64 n=32 k=32 stages=2 warps=12 pingpong=1"},
                 {log_softmax, "mma=1 m=64 n=48 k=16 stages=2 warps=12 pingpong=1"},
                 {softmax, "mma=1 m=64 n=64 k=16 stages=3 warps=8 cluster=2"},
                 {log_softmax, "mma=1 m=64 n=64 k=32 stages=2 warps=8 cluster=2"},
                 {softmax, "mma=1 m=64 n=64 k=16 stages=3 warps=12 cluster=2 pingpong=1"},
                 {norm, shared_by_warps},
                 {norm, "mma=2 m=64 n=64 k=64 tm=32 tn=16 stages=2 warps=8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed < 4; seed += PART) {
            struct arena *a = arena_new();
            const char *why;
            struct tile_program *t = program_of(a, cases[i].graph, cases[i].config);
            int64_t wrong = wrong_rows(a, t, seed, &why);
            if (why || wrong)
                fail_msg("%s, seed %d: %s, %lld wrong", cases[i].config, (int)seed, why ? why : "",
                         (long long)wrong);
            arena_free(a);
        }
}

static void test_print_rows(void **state) {
    static const struct {
        const char *graph, *config, *text;
    } cases[] = {{softmax, shared_rows,
                  "        store\n"
                  "        reduce 0 v5\n"
                  "        leave partials 0 v5\n"
                  "        hold\n"
                  "        keep v7\n"
                  "        store 1\n"
                  "        reduce 1 v8\n"
                  "        leave partials 1 v8\n"
                  "        meet partials 3\n"
                  "        rescale\n"
                  "        store 2\n"},
                 {softmax, "mma=1 m=64 n=96 k=32 stages=2 warps=8",
                  "        store\n"
                  "        reduce 0 v5\n"
                  "        keep v7\n"
                  "        store 1\n"
                  "        reduce 1 v8\n"
                  "        store 2\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct buf b = buf_new(a);
        tile_print(&b, program_of(a, cases[i].graph, cases[i].config));
        if (!strstr(b.p, cases[i].text)) fail_msg("%s", b.p);
        arena_free(a);
    }
}

/* ---- where terms count ----------------------------------------------------------------------- */

static const char above[] = "graph(%a: bf16[200, 40], %b: bf16[40, 168]) {\n"
                            "  %c: bf16[200, 168] = mm(%a, %b)\n"
                            "  %t: bf16[200, 168] = triu(%c, 3)\n"
                            "  return %t\n}\n";
static const char below[] = "graph(%a: bf16[200, 168], %b: bf16[168, 72]) {\n"
                            "  %l: bf16[200, 168] = tril(%a, -20)\n"
                            "  %c: bf16[200, 72] = mm(%l, %b)\n"
                            "  return %c\n}\n";
static const char deep_below[] = "graph(%a: f32[136, 552], %b: f32[552, 40]) {\n"
                                 "  %l: f32[136, 552] = tril(%a, 300)\n"
                                 "  %c: f32[136, 40] = mm(%l, %b)\n"
                                 "  return %c\n}\n";
static const char right[] = "graph(%a: bf16[2, 72, 168], %b: bf16[2, 168, 200]) {\n"
                            "  %u: bf16[2, 168, 200] = triu(%b, 5)\n"
                            "  %c: bf16[2, 72, 200] = bmm(%a, %u)\n"
                            "  return %c\n}\n";

/* Does it lie on the side of all edges that vary with these axes alone? */
static bool is_inside(const struct kernel *k, int64_t z, int64_t m, int64_t n, int64_t r,
                      uint8_t axes) {
    const int64_t at[AXIS_COUNT] = {[AXIS_Z] = z, [AXIS_M] = m, [AXIS_N] = n, [AXIS_R] = r};
    for (uint32_t i = 0; i < k->edges.n; i++) {
        int64_t sum = k->edges.at[i].first;
        bool others = false;
        for (int a = 0; a < AXIS_COUNT; a++) {
            sum += k->edges.at[i].by[a] * at[a];
            others |= k->edges.at[i].by[a] && !(axes >> a & 1);
        }
        if (sum < 0 && !others) return false;
    }
    return true;
}

/* What is not is 0 in memory. */
static const float *bounded_planes(struct arena *a, const struct kernel *k, const struct operand *o,
                                   unsigned seed) {
    float *x = planes_of(a, o, seed);
    bool left = o->axis == AXIS_M;
    size_t n = (size_t)(o->batches * o->rows * o->depth);
    for (size_t i = 0; i < n * (size_t)o->planes; i++) {
        int64_t r = (int64_t)i % o->depth, row = (int64_t)i / o->depth % o->rows;
        if (!is_inside(k, 0, row, row, r, MASK_R | (left ? MASK_M : MASK_N))) x[i] = 0;
    }
    return x;
}

static int64_t wrong_inside(struct arena *a, const struct tile_program *t,
                            const struct kernel *right_one, uint64_t seed, const char **why) {
    const struct kernel *k = t->block->kernel;
    const struct operand *x = &t->product->a, *y = &t->product->b;
    const float *in[] = {bounded_planes(a, right_one, x, 1), bounded_planes(a, right_one, y, 2)};
    int64_t nz = kernel_size(k, AXIS_Z), nm = kernel_size(k, AXIS_M), nn = kernel_size(k, AXIS_N);
    float *out = NEW_ARRAY(a, float, (size_t)(nz * nm * nn));
    int64_t wrong = 0;
    *why = tile_run(t, in, out, seed, a);
    struct passes passes = passes_new(a, t, in);
    for (int64_t z = 0; z < nz; z++) {
        passes_at(&passes, z);
        for (int64_t m = 0; m < nm; m++)
            for (int64_t n = 0; n < nn; n++) {
                double terms, want = exact(&passes, m, n, &terms);
                float is = out[(z * nm + m) * nn + n];
                if (!is_inside(right_one, z, m, n, 0, MASK_M | MASK_N))
                    wrong += isnan(is);
                else
                    wrong += !(fabs(is - want) <= terms * 0x1p-20);
            }
    }
    return wrong;
}

static const struct bounded_case {
    const char *graph, *config;
} bounded_cases[] = {
    {above, "mma=1 m=64 n=32 k=16 stages=2 warps=8"},
    {above, "mma=1 m=64 n=64 k=32 stages=3 warps=8"},
    {above, "mma=1 m=64 n=128 k=32 stages=2 cluster=2 warps=8"},
    {above, "mma=2 m=32 n=32 k=16 tm=16 tn=16 stages=3 warps=4"},
    {below, "mma=1 m=64 n=32 k=16 stages=3 warps=8"},
    {below, "mma=1 m=64 n=128 k=64 stages=2 cluster=2 warps=8"},
    {below, "mma=1 m=64 n=64 k=16 stages=3 warps=8 split=3"},
    {below, "mma=2 m=64 n=32 k=32 tm=32 tn=16 stages=3 warps=4"},
    {right, "mma=1 m=64 n=32 k=32 stages=2 warps=8"},
    {right, "mma=2 m=32 n=64 k=32 tm=16 tn=32 stages=2 warps=4 split=2"},
    {deep_below, "mma=1 m=64 n=32 k=64 stages=2 warps=8 pairs=1"},
    {deep_below, "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
};
enum { BOUNDED_CASES = sizeof bounded_cases / sizeof *bounded_cases };

/* Tiles have the steps that count, and no others; all numbers are right, but of results nobody
 * wants. */
static void test_bounded(void **state) {
    for (int i = 0; i < BOUNDED_CASES; i++)
        for (uint64_t seed = 0; seed < 4; seed += PART) {
            struct arena *a = arena_new();
            const struct bounded_case *c = &bounded_cases[i];
            const char *why;
            struct tile_program *t = program_of(a, c->graph, c->config);
            assert_true(t->product->bounded);
            assert_true(t->product->mean_steps < 0.9 * (double)tile_steps(t));
            int64_t wrong = wrong_inside(a, t, t->block->kernel, seed, &why);
            if (why || wrong)
                fail_msg("%s, seed %d: %s, %lld wrong", c->config, (int)seed, why ? why : "",
                         (long long)wrong);
            arena_free(a);
        }
}

/* An edge that is a tile off, or has its other side, leaves out terms that count: the numbers are
 * wrong. A tile that is drawn twice leaves out another. */
static void test_mistakes_of_edges(void **state) {
    for (int i = 0; i < BOUNDED_CASES; i++)
        for (int mistake = 0; mistake < 2; mistake++) {
            struct arena *a = arena_new();
            const struct bounded_case *c = &bounded_cases[i];
            const char *why;
            struct tile_program *t = program_of(a, c->graph, c->config);
            struct kernel *k = (struct kernel *)t->block->kernel, is = *k;
            struct edge e = k->edges.at[0];
            is.edges.at =
                memcpy(NEW_ARRAY(a, struct edge, k->edges.n), k->edges.at, sizeof e * k->edges.n);
            if (!mistake) k->edges.at[0].first = -65 - e.first;
            if (mistake)
                k->edges.at[0].first -= e.by[AXIS_R] ? t->ring[TILE_A].depth : 160;
            else
                for (int x = 0; x < AXIS_COUNT; x++) k->edges.at[0].by[x] = -e.by[x];
            if (!wrong_inside(a, t, &is, 0, &why) && !why)
                fail_msg("%s: nothing is wrong of mistake %d", c->config, mistake);
            arena_free(a);
        }
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, above, bounded_cases[0].config);
    assert_non_null(t->order);
    assert_null(tile_verify(t, a));
    int *order =
        memcpy(NEW_ARRAY(a, int, tile_all(t)), t->order, sizeof(int) * (size_t)tile_all(t));
    order[1] = order[0];
    t->order = order;
    assert_non_null(strstr(tile_verify(t, a), "T15: tile"));
    arena_free(a);
}

/* The last tiles in parts: of which there are some, and whose parts leave their sums and meet. */
static void test_mistakes_of_tail(void **state) {
    struct arena *a = arena_new();
    const char *why = NULL;
    struct tile_program *t =
        program_of(a, plain, "mma=1 m=64 n=64 k=32 stages=3 warps=8 split=2 tail=3");
    struct product *p = NEW(a, struct product);
    *p = *t->product;
    t->product = p;
    assert_int_equal(tile_draws(t), tile_all(t) + 3);
    assert_null(tile_verify(t, a));
    p->whole = tile_all(t);
    assert_non_null(strstr(tile_verify(t, a), "T15: no tile"));
    p->whole = tile_all(t) - 3;
    p->bounded = true;
    assert_non_null(strstr(tile_verify(t, a), "T15: whole tiles"));
    p->bounded = false;
    for (uint32_t i = 0; i < t->code.n; i++) /* parts are stored as if they were all */
        if (t->code.at[i].op == TILE_MEET) t->code.at[i].n = 1;
    int64_t wrong = 0;
    for (uint64_t seed = 0; seed < 8; seed++) wrong += wrong_of(a, t, seed, &why) > 0;
    assert_true(wrong > 0);
    arena_free(a);
}

/* Pairs: no total has more than 16 sums in a row where there is none beside it, or a short one. */
static void test_folds(void **state) {
    static const struct {
        int depth, block, levels;
    } cases[] = {{1024, 1, 0}, {1088, 16, 1}, {2048, 16, 1}, {4032, 16, 1}, {4096, 32, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        int k = cases[i].depth;
        const char *graph = arena_printf(a,
                                         "graph(%%a: f32[64, %d], %%b: f32[%d, 64]) {\n"
                                         "  %%c: f32[64, 64] = mm(%%a, %%b)\n  return %%c\n}\n",
                                         k, k);
        const struct folds *f = &program_of(a, graph, of_pairs)->product->folds;
        assert_int_equal(f->block, cases[i].block);
        assert_int_equal(f->levels, cases[i].levels);
        arena_free(a);
    }
}

/* Blocks have about as many steps: of triangles no block more than one tile above the mean. */
static void test_order(void **state) {
    struct arena *a = arena_new();
    static const char *const graphs[] = {
        "graph(%a: bf16[2048, 512], %b: bf16[512, 2048]) {\n  %c: bf16[2048, 2048] = mm(%a, %b)\n"
        "  %t: bf16[2048, 2048] = triu(%c)\n  return %t\n}\n",
        "graph(%a: bf16[2048, 2048], %b: bf16[2048, 1024]) {\n"
        "  %l: bf16[2048, 2048] = tril(%a)\n  %c: bf16[2048, 1024] = mm(%l, %b)\n"
        "  return %c\n}\n"};
    for (int i = 0; i < 2; i++) {
        struct tile_program *t =
            program_of(a, graphs[i], "mma=1 m=128 n=128 k=64 stages=3 warps=12");
        int64_t blocks = t->block->grid, tiles = tile_all(t), all = 0, most = 0;
        int64_t *steps = NEW_ARRAY(a, int64_t, blocks);
        for (int64_t j = 0; j < tiles; j++) {
            int64_t z, m, n;
            tile_place(t, j, &z, &m, &n);
            int64_t of_tile = tile_steps_at(t, z, m, n).n;
            steps[j % blocks] += of_tile;
            all += of_tile;
        }
        for (int64_t b = 0; b < blocks; b++)
            if (steps[b] > most) most = steps[b];
        assert_true(tiles > 8 * blocks && all * 10 < tiles * tile_steps(t) * 6);
        assert_true(most <= all / blocks + 8);
    }
    arena_free(a);
}

/* Lines of 64 channels, so that a step is of one tap: phases of 1, 2, 2 and 4 have no others. */
static void test_listed_steps(void **state) {
    static const int taps[] = {1, 2, 2, 4};
    struct arena *a = arena_new();
    const struct tile_program *t =
        program_of(a, phases_apart, "mma=1 m=64 n=64 k=64 stages=2 warps=8");
    assert_non_null(t->product->steps);
    for (int z = 0; z < 4; z++) assert_int_equal(t->product->steps->n[z], taps[z]);
    arena_free(a);
}

/* ---- planted mistakes ------------------------------------------------------------------------ */

static const char *graph_of(const char *config) {
    return config == of_pairs || config == of_split ? deep : config == of_makers ? first : plain;
}

/* What the verifier says, and the machine, of a program without the nth of these instructions. */
static void test_mistakes(void **state) {
    static const struct {
        enum tile_op op;
        int nth;
        const char *says;
        const char *config;
    } cases[] = {
        {TILE_WAIT_EMPTY, 0, "T4", of_groups}, {TILE_WAIT_FULL, 0, "T3", of_groups},
        {TILE_DRAIN, 0, "T4", of_groups},      {TILE_DRAIN, 1, "T5", of_groups},
        {TILE_ARRIVE, 0, "T4", of_groups},     {TILE_NEXT, 0, "T7", of_groups},
        {TILE_NEXT, 1, "T7", of_groups},       {TILE_END, 0, "T", of_groups},
        {TILE_FILL, 0, "T5", of_groups},       {TILE_ROLE, 0, "T", of_groups},
        {TILE_LOOP, 0, "T", of_groups},        {TILE_LANDED, 0, "T4", of_warps},
        {TILE_LANDED, 1, "T4", of_warps},      {TILE_GROUP, 0, "T3", of_warps},
        {TILE_GROUP, 1, "T3", of_warps},       {TILE_NEXT, 0, "T7", of_warps},
        {TILE_AHEAD, 0, "T", of_warps},        {TILE_LEAVE, 0, "T3", of_parts},
        {TILE_MEET, 0, "T3", of_parts},        {TILE_TAKE, 0, "T3", of_makers},
        {TILE_MAKE, 0, "T3", of_makers},       {TILE_GIVE, 0, "T3", of_makers},
        {TILE_TURN, 0, "T2", of_makers},       {TILE_WAIT_EMPTY, 0, "T4", of_makers},
        {TILE_ADD, 0, "T10", of_pairs},        {TILE_CROSS, 0, "T10", of_pairs},
        {TILE_DRAIN_SUMS, 0, "T4", of_pairs},  {TILE_SKIP, 0, "T20", in_turn},
        {TILE_TURN, 0, "T", in_turn},          {TILE_WAIT_TURN, 0, "T20", in_turn},
        {TILE_PASS_TURN, 0, "T20", in_turn},   {TILE_SPLIT, 0, "T21", of_split},
        {TILE_WAIT_FULL, 0, "T3", of_split},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct tile_program *t = program_of(a, graph_of(cases[i].config), cases[i].config);
        take_out(t, find(t, cases[i].op, cases[i].nth));
        const char *bad = tile_verify(t, a);
        if (!bad || strncmp(bad, cases[i].says, strlen(cases[i].says)))
            fail_msg("without %s %d: %s", tile_op_name(cases[i].op), cases[i].nth,
                     bad ? bad : "fine");
        arena_free(a);
    }
}

/* Windows whose lines are of two taps, or that end before the last tap. */
static void test_mistakes_of_windows(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, sliding, "mma=1 m=64 n=64 k=32 stages=2 warps=8");
    struct operand o = *t->ring[TILE_B].operand;
    t->ring[TILE_B].operand = &o;
    assert_null(tile_verify(t, a));
    o.channels += 8;
    assert_string_equal(tile_verify(t, a), "T9: lines of B are of several taps");
    o.channels -= 8;
    o.depth -= o.channels;
    assert_string_equal(tile_verify(t, a), "T9: B has not all taps, or more");
    arena_free(a);
}

static void test_mistakes_of_lying(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t =
        program_of(a, lying_plane, "mma=1 m=64 n=32 k=96 stages=2 warps=8 flat=2");
    struct operand o = *t->ring[TILE_A].operand;
    t->ring[TILE_A].operand = &o;
    assert_null(tile_verify(t, a));
    o.positions += 1;
    assert_string_equal(tile_verify(t, a), "T9: tiles of A are of two images");
    o.positions -= 1;
    t->ring[TILE_A].depth = 32;
    assert_string_equal(tile_verify(t, a), "T9: A has not all taps, or more");
    t->ring[TILE_A].depth = 96;
    struct im2col w = *o.order;
    w.dim[0].apart = LYING_BEHIND;
    o.order = &w;
    assert_string_equal(tile_verify(t, a), "T9: taps of A are in no tile");
    arena_free(a);
}

/* A short step that leaves out what counts, at the end of all taps, or of each: the machine has
 * wrong numbers. */
static void test_mistakes_of_shorts(void **state) {
    static const struct {
        const char *graph, *config, *says;
        int depth;
        int64_t every;
    } cases[] = {
        {plain, "mma=1 m=64 n=64 k=64 stages=2 warps=8", "T11: depth 128 of A is left out", 16, 3},
        {sliding_wide, "mma=1 m=64 n=64 k=64 stages=2 warps=8", "T11: depth 192 of A is left out",
         16, 4},
        {first, "mma=1 m=64 n=64 k=64 stages=2 warps=8", "T11: depth 160 of A is left out", 48, 3},
        {first, "mma=1 m=64 n=64 k=64 stages=2 warps=8 split=2", "T11: depth 160 of A is left out",
         48, 3},
        {phases_apart, "mma=1 m=64 n=64 k=64 stages=2 warps=8", "T11: depth 32 of A is left out",
         48, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct tile_program *t = program_of(a, cases[i].graph, cases[i].config);
        struct product p = *t->product;
        const char *why;
        if (p.shorts.depth != cases[i].depth || p.shorts.every != cases[i].every)
            fail_msg("case %d: %d in the last of each %d", (int)i, p.shorts.depth,
                     (int)p.shorts.every);
        t->product = &p;
        for (uint64_t seed = 0; seed < 2; seed++) assert_int_equal(wrong_of(a, t, seed, &why), 0);
        p.shorts.depth -= 16;
        assert_string_equal(tile_verify(t, a), cases[i].says);
        assert_true(wrong_of(a, t, 0, &why) > 0 || why);
        arena_free(a);
    }
}

/* Two blocks of a multiprocessor, of which one has what both need. */
static void test_mistakes_of_blocks(void **state) {
    struct arena *a = arena_new();
    struct device_limits gpu = test_gpu("sm_90a");
    struct kernel *k = first_kernel(a, plain, &gpu);
    struct config c = parsed(a, "mma=1 m=64 n=128 k=64 stages=4 warps=8 fit=2");
    struct layout y;
    assert_null(kernel_layout(k, &c, &y, a));
    struct tile_program *t = tile_dot(block_build(k, &c, a), a);
    tile_pipeline(t);
    assert_null(tile_verify(t, a));
    struct product p = *t->product;
    t->product = &p;
    assert_int_equal(p.resident, 2);
    p.multiplier_registers += 8;
    assert_string_equal(tile_verify(t, a), "T12: registers for fewer blocks");
    p.multiplier_registers -= 8;
    t->smem += 32 << 10;
    assert_string_equal(tile_verify(t, a), "T12: shared memory for fewer blocks");
    /* What one group that makes and two that multiply ask for is too much for four groups. */
    t = program_of(a, first, "mma=1 m=128 n=64 k=64 stages=3 warps=16 make=2");
    p = *t->product;
    t->product = &p;
    assert_null(tile_verify(t, a));
    p.makers = 1;
    assert_string_equal(tile_verify(t, a), "T12: registers for fewer blocks");
    arena_free(a);
}

/* The filters of a convolution stay in shared memory, in a stage for each step; not those of
 * several tiles, of which a block has one or another. */
static void test_mistakes_of_staying(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, first, "mma=1 m=64 n=40 k=64 stages=2 warps=8");
    struct tile_ring *r = &t->ring[TILE_A];
    struct operand o = *r->operand;
    struct buf b = buf_new(a);
    const char *why;
    tile_print(&b, t);
    assert_non_null(strstr(b.p, "A = bf16[3][64 m, 64 k], lines of 128 bytes, copied once\n"));
    assert_int_equal(r->offset, 2 * t->ring[TILE_B].stage);
    r->operand = &o;
    r->stages = 2;
    assert_string_equal(tile_verify(t, a), "T13: A has not a stage for each step");
    r->stages = 3;
    r->offset -= 1024;
    assert_string_equal(tile_verify(t, a), "T6: A lies in what is filled again");
    r->offset += 1024;
    t->barriers -= 1024;
    assert_string_equal(tile_verify(t, a), "T6: barriers at 33792");
    t->barriers += 1024;
    assert_int_equal(wrong_of(a, t, 1, &why), 0);
    struct product p = *t->product;
    t->product = &p;
    p.parts = 2;
    assert_string_equal(tile_verify(t, a), "T13: tiles of a block have others of A");
    arena_free(a);
}

static void test_mistakes_of_bytes(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, bytes, "mma=1 m=64 n=32 k=64 stages=2 warps=8");
    struct tile_ring *r = &t->ring[TILE_B];
    struct operand o = *r->operand;
    struct kernel *k = product_of(a, bytes);
    struct layout y;
    static const struct {
        const char *config, *why;
    } refused[] = {
        {"mma=1 m=64 n=40 k=64 stages=2 warps=8", "needs an n of sixteens"},
        {"mma=1 m=64 n=32 k=48 stages=2 warps=8", "needs a k of thirty-twos"},
        {"mma=1 m=64 n=32 k=64 stages=2 warps=8 make=1", "tiles of bytes are not made"},
        {"mma=1 m=64 n=32 k=64 stages=2 warps=8 pairs=1", "needs two factors"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct config c = parsed(a, refused[i].config);
        const char *bad = kernel_layout(k, &c, &y, a);
        assert_non_null(bad);
        if (!strstr(bad, refused[i].why)) fail_msg("%s", bad);
    }
    r->operand = &o;
    o.along = true;
    assert_string_equal(tile_verify(t, a), "T16: lines of B run along the rows");
    o.along = false;
    r->depth = 48;
    assert_string_equal(tile_verify(t, a), "T16: steps of B end within an instruction");
    arena_free(a);
}

/* The next step's registers are written while products read them. */
static void test_mistakes_of_registers(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, tf32_across, "mma=1 m=64 n=64 k=32 stages=4 warps=8");
    const char *why;
    assert_null(tile_verify(t, a));
    assert_int_equal(wrong_of(a, t, 0, &why), 0);
    t->code.at[find(t, TILE_DRAIN, 0)].n = 1;
    t->code.at[find(t, TILE_ARRIVE, 0)].n = 1;
    assert_non_null(strstr(tile_verify(t, a), "T14: "));
    assert_true(wrong_of(a, t, 0, &why) > 0);
    arena_free(a);
}

static void test_mistakes_of_float8(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, float8, "mma=1 m=64 n=40 k=128 stages=2 warps=8");
    struct kernel *k = product_of(a, float8);
    struct layout y;
    struct operand o = *t->ring[TILE_B].operand;
    static const struct {
        const char *config, *why;
    } refused[] = {
        {"mma=1 m=64 n=40 k=64 stages=2 warps=8", "begin anew every 128 of the depth need k=128"},
        {"mma=1 m=64 n=32 k=128 stages=2 warps=8 make=1", "tiles of bytes are not made"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct config c = parsed(a, refused[i].config);
        const char *bad = kernel_layout(k, &c, &y, a);
        assert_non_null(bad);
        if (!strstr(bad, refused[i].why)) fail_msg("%s", bad);
    }
    t->ring[TILE_B].operand = &o;
    o.along = true;
    assert_string_equal(tile_verify(t, a), "T16: lines of B run along the rows");
    arena_free(a);
}

/* A group whose turn comes later than the ring comes round takes one wait for another. */
static void test_mistakes_of_turns(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, first, "mma=1 m=64 n=32 k=64 stages=3 warps=12 make=2");
    struct product p = *t->product;
    t->product = &p;
    assert_null(tile_verify(t, a));
    p.makers = t->code.at[find(t, TILE_TURN, 0)].n = 4;
    assert_non_null(strstr(tile_verify(t, a), "T4: "));
    assert_non_null(strstr(tile_verify(t, a), "a round of its stage may be left out"));
    arena_free(a);
}

/* Groups with tiles in turn: one space for what both exchange, tiles that differ in steps; and what
 * no group does in turn is refused. */
static void test_mistakes_of_pingpong(void **state) {
    static const char columns[] = "graph(%a: bf16[200, 40], %b: bf16[40, 72]) {\n"
                                  "  %c: bf16[200, 72] = mm(%a, %b)\n"
                                  "  %d: bf16[72] = sum(%c, dim=[0])\n  return %d\n}\n";
    static const struct {
        const char *graph, *config, *says;
    } refused[] = {
        {plain, "mma=1 m=64 n=64 k=64 stages=2 warps=8 pingpong=1", "the tile takes 12 warps"},
        {plain, "mma=1 m=192 n=256 k=64 stages=2 warps=12 pingpong=1", "384 sums a thread"},
        {plain, "mma=1 m=64 n=64 k=64 stages=2 warps=12 fit=2 pingpong=1", "goes without make"},
        {plain, "mma=1 m=64 n=64 k=32 stages=2 warps=12 split=2 pingpong=1", "no parts"},
        {plain, "mma=2 m=64 n=64 k=32 tm=32 tn=32 stages=3 warps=4 pingpong=1", "a knob of mma=1"},
        {wide, "mma=1 m=64 n=64 k=64 stages=2 warps=12 pingpong=1", "sums that begin anew"},
        {below, "mma=1 m=64 n=64 k=64 stages=2 warps=12 pingpong=1", "tiles that have all steps"},
    };
    struct arena *a = arena_new();
    struct tile_program *t =
        program_of(a, columns, "mma=1 m=128 n=32 k=32 stages=2 warps=12 pingpong=1");
    struct product p = *t->product;
    t->product = &p;
    assert_null(tile_verify(t, a));
    assert_true(t->exchange_apart > 0);
    int apart = t->exchange_apart;
    t->exchange_apart = 0;
    assert_string_equal(tile_verify(t, a),
                        "T20: groups leave what they have of their tiles in one place");
    t->exchange_apart = apart;
    p.bounded = true;
    assert_string_equal(tile_verify(t, a), "T20: tiles differ in steps");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct kernel *k = product_of(a, refused[i].graph);
        struct config c = parsed(a, refused[i].config);
        struct layout y;
        const char *bad = kernel_layout(k, &c, &y, a);
        if (!bad || !strstr(bad, refused[i].says))
            fail_msg("%s: %s", refused[i].config, bad ? bad : "fine");
    }
    arena_free(a);
}

/* Of pairs, whose crossed products go on: their stage is filled again while they do. */
static void test_mistakes_of_pairs(void **state) {
    struct arena *a = arena_new();
    struct tile_program *t = program_of(a, deep, of_pairs);
    const char *why;
    int found = 0;
    t->code.at[find(t, TILE_ARRIVE, 0)].n = 0;
    assert_non_null(strstr(tile_verify(t, a), "T4: "));
    for (uint64_t seed = 0; seed < 8; seed++) found += wrong_of(a, t, seed, &why) > 0;
    assert_true(found > 0);
    t = program_of(a, plain, of_groups);
    t->code.at[find(t, TILE_DRAIN, 0)].op = TILE_DRAIN_SUMS;
    assert_non_null(strstr(tile_verify(t, a), "T10: "));
    arena_free(a);
}

/* The machine finds what the verifier does, by numbers or by waiting for ever. */
static void test_machine_finds_mistakes(void **state) {
    static const struct {
        enum tile_op op;
        int nth;
        const char *config;
    } cases[] = {{TILE_WAIT_EMPTY, 0, of_groups}, {TILE_WAIT_FULL, 0, of_groups},
                 {TILE_ARRIVE, 0, of_groups},     {TILE_ARRIVE, 1, of_groups},
                 {TILE_COPY, 1, of_groups},       {TILE_FILL, 0, of_groups},
                 {TILE_DRAIN, 1, of_groups},      {TILE_LANDED, 0, of_warps},
                 {TILE_LANDED, 1, of_warps},      {TILE_GROUP, 1, of_warps},
                 {TILE_COPY, 2, of_warps},        {TILE_LEAVE, 0, of_parts},
                 {TILE_MEET, 0, of_parts},        {TILE_CROSS, 0, of_pairs},
                 {TILE_ADD, 0, of_pairs},         {TILE_DRAIN_SUMS, 0, of_pairs},
                 {TILE_MAKE, 0, of_makers},       {TILE_GIVE, 0, of_makers},
                 {TILE_WAIT_EMPTY, 0, of_makers}, {TILE_SKIP, 0, in_turn},
                 {TILE_WAIT_TURN, 0, in_turn},    {TILE_PASS_TURN, 0, in_turn},
                 {TILE_SPLIT, 0, of_split},       {TILE_WAIT_FULL, 0, of_split}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool found = false;
        for (uint64_t seed = 0; seed < 4 && !found; seed++) {
            struct arena *a = arena_new();
            const char *why;
            struct tile_program *t = program_of(a, graph_of(cases[i].config), cases[i].config);
            take_out(t, find(t, cases[i].op, cases[i].nth));
            found = wrong_of(a, t, seed, &why) || why;
            arena_free(a);
        }
        if (!found) fail_msg("nothing is wrong without %s", tile_op_name(cases[i].op));
    }
}

/* One instruction is missing, or counts `more` tiles: the verifier says so, and the machine has
 * wrong numbers or waits for ever. */
static void test_mistakes_of_rows(void **state) {
    static const struct {
        enum tile_op op;
        int nth, more;
        const char *graph, *config;
    } cases[] = {
        {TILE_MEET_PARTIALS, 0, 0, softmax, shared_rows},
        {TILE_MEET_PARTIALS, 0, 1, softmax, shared_rows},
        {TILE_MEET_PARTIALS, 0, -1, softmax, shared_rows},
        {TILE_LEAVE_PARTIALS, 0, 0, softmax, shared_rows},
        {TILE_LEAVE_PARTIALS, 1, 0, softmax, shared_rows},
        {TILE_HOLD, 0, 0, softmax, shared_rows},
        {TILE_RESCALE, 0, 0, softmax, shared_rows},
        {TILE_REDUCE, 0, 0, softmax, shared_rows},
        {TILE_REDUCE, 1, 0, softmax, shared_rows},
        {TILE_STORE, 2, 0, softmax, shared_rows},
        {TILE_MEET_PARTIALS, 0, 0, norm, shared_by_warps},
        {TILE_MEET_PARTIALS, 1, 0, norm, shared_by_warps},
        {TILE_MEET_PARTIALS, 1, 1, norm, shared_by_warps},
        {TILE_LEAVE_PARTIALS, 1, 0, norm, shared_by_warps},
        {TILE_REDUCE, 1, 0, norm, shared_by_warps},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool found = false;
        for (uint64_t seed = 0; seed < 16 && !found; seed++) {
            struct arena *a = arena_new();
            struct tile_program *t = program_of(a, cases[i].graph, cases[i].config);
            uint32_t at = find(t, cases[i].op, cases[i].nth);
            const char *why;
            if (cases[i].more)
                t->code.at[at].n += cases[i].more;
            else
                take_out(t, at);
            const char *bad = tile_verify(t, a);
            /* a last STORE that is missing is another program: elements are never written */
            if (cases[i].op != TILE_STORE && (!bad || strncmp(bad, "T8", 2)))
                fail_msg("%s %d: %s", tile_op_name(cases[i].op), cases[i].nth, bad ? bad : "fine");
            found = wrong_rows(a, t, seed, &why) || why;
            arena_free(a);
        }
        if (!found)
            fail_msg("nothing is wrong without %s %d", tile_op_name(cases[i].op), cases[i].nth);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_mistakes_of_edges),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_mistakes_of_tail),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_tf32),
        cmocka_unit_test(test_turned_rows),
        cmocka_unit_test(test_boxes_of_windows),
        cmocka_unit_test(test_print_windows),
        cmocka_unit_test(test_print_made),
        cmocka_unit_test(test_print_by_warps),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_listed_steps),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_mistakes_of_windows),
        cmocka_unit_test(test_mistakes_of_lying),
        cmocka_unit_test(test_mistakes_of_shorts),
        cmocka_unit_test(test_mistakes_of_blocks),
        cmocka_unit_test(test_mistakes_of_staying),
        cmocka_unit_test(test_print_bytes),
        cmocka_unit_test(test_print_float8),
        cmocka_unit_test(test_mistakes_of_bytes),
        cmocka_unit_test(test_mistakes_of_float8),
        cmocka_unit_test(test_mistakes_of_turns),
        cmocka_unit_test(test_mistakes_of_registers),
        cmocka_unit_test(test_mistakes_of_pairs),
        cmocka_unit_test(test_mistakes_of_pingpong),
        cmocka_unit_test(test_machine_finds_mistakes),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_print_rows),
        cmocka_unit_test(test_mistakes_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
