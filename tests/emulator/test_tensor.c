/* Products whose sums lie in tensor memory: a right kernel passes in every order and computes what
 * a plain loop computes; of wrong ones the mistake is found, or the numbers are wrong, in every
 * order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka needs the first ones of these */
#include <cmocka.h>

#include "base/base.h"
#include "emit/emit.h"
#include "tests/emulator/emu.h"

/* ---- kernels --------------------------------------------------------------------------------- */

/* y = a b, a: [M, K], b: [64, K] in bf16, tiles of ROWS x 64, all of which one block does. Thread 0
 * loads, thread 32 issues, the second warpgroup reads. Two stages of 64 of the depth. */
static const char TENSOR_TEXT[] =
    "enum { NO_BUG, NO_READ_WAIT, NO_FULL_WAIT, NO_EMPTY, FREE_EARLY, NO_OFFER_WAIT, NO_LD_WAIT,\n"
    "       NO_BEFORE, NO_AFTER, NO_AFTER_ISSUE, EARLY_ARRIVE, COLUMN, SET, LANES, VERSION,\n"
    "       SWIZZLE, STRIDE, SAYS_COLUMNS, SAYS_ROWS, SAYS_TYPE, SAYS_SUMS, SAYS_MAJOR, "
    "SAYS_OTHER,\n"
    "       KIND, ADDS, NO_FREE, NO_MAKE, FEW_COLUMNS, NO_MEETING, FREED_OTHER };\n"
    "template <int BUG> K_DEVICE unsigned long long operand(unsigned char *s, int d) {\n"
    "    enum { SAYS = BUG == SWIZZLE ? 64 : 128 };\n"
    "    const unsigned stride = BUG == STRIDE ? 512 : 1024;\n"
    "    if (BUG == VERSION) return k_operand<SAYS>(s + d * 2, 0, stride);\n"
    "    return k_tensor_operand<SAYS>(k_in_shared(s + d * 2), 16, stride);\n"
    "}\n"
    "template <int ROWS, int SETS, int BUG = 0>\n"
    "K_DEVICE void tensor_tiles(const k_map *a, const k_map *b, float *y, int m, int k) {\n"
    "    extern __shared__ __align__(1024) unsigned char k_smem[];\n"
    "    __shared__ unsigned long long full[2], empty[2], offered[SETS], read[SETS];\n"
    "    __shared__ unsigned at_tensor[4];\n"
    "    enum { COLUMNS = BUG == FEW_COLUMNS ? 32 : 64 * SETS, A = ROWS * 128, STAGE = A + 8192 "
    "};\n"
    "    const int t = (int)threadIdx.x, tiles = (m + ROWS - 1) / ROWS, steps = (k + 63) / 64;\n"
    "    if (t == 0) {\n"
    "        for (int i = 0; i < 2; i++) k_mbar_init(full + i, 1), k_mbar_init(empty + i, 1);\n"
    "        for (int i = 0; i < SETS; i++) k_mbar_init(offered + i, 1), k_mbar_init(read + i, "
    "4);\n"
    "        k_fence_mbar_init();\n"
    "    }\n"
    "    if (t / 32 == 1 && BUG != NO_MAKE) k_tensor_make<COLUMNS>(k_in_shared(at_tensor));\n"
    "    if (t == 0 && BUG == NO_MAKE) at_tensor[0] = 0;\n"
    "    k_tensor_fence_before();\n"
    "    __syncthreads();\n"
    "    k_tensor_fence_after();\n"
    "    const unsigned tensor = k_load_shared(k_in_shared(at_tensor));\n"
    "    if (t == 0) {\n"
    "        for (int i = 0; i < tiles * steps; i++) {\n"
    "            const int s = i % 2, phase = i / 2 & 1;\n"
    "            unsigned char *at = k_smem + s * STAGE;\n"
    "            if (BUG != NO_EMPTY) k_mbar_wait(empty + s, phase ^ 1);\n"
    "            k_mbar_arrive_expect_tx(full + s, STAGE);\n"
    "            k_map_load(at, a, full + s, i % steps * 64, i / steps * ROWS);\n"
    "            k_map_load(at + A, b, full + s, i % steps * 64, 0);\n"
    "        }\n"
    "    } else if (t == 32) {\n"
    "        unsigned what = 0x490 | (BUG == SAYS_COLUMNS ? 4 : 8) << 17\n"
    "                              | (BUG == SAYS_ROWS ? 4 : ROWS / 16) << 24;\n"
    "        if (BUG == SAYS_TYPE) what ^= 0x480;\n"
    "        if (BUG == SAYS_SUMS) what ^= 0x10;\n"
    "        if (BUG == SAYS_MAJOR) what |= 0x10000;\n"
    "        if (BUG == SAYS_OTHER) what |= 0x2000;\n"
    "        for (int i = 0; i < tiles * steps; i++) {\n"
    "            const int s = i % 2, phase = i / 2 & 1, tile = i / steps, set = tile % SETS;\n"
    "            unsigned char *at = k_smem + s * STAGE;\n"
    "            if (i % steps == 0 && BUG != NO_READ_WAIT)\n"
    "                k_mbar_wait(read + set, (tile / SETS & 1) ^ 1);\n"
    "            if (BUG != NO_FULL_WAIT) k_mbar_wait(full + s, phase);\n"
    "            if (BUG != NO_AFTER_ISSUE) k_tensor_fence_after();\n"
    "            for (int d = 0; d < 64; d += 16)\n"
    "                k_tensor_multiply<BUG == KIND ? 1 : 0>(tensor + set * 64, operand<BUG>(at, "
    "d),\n"
    "                    operand<NO_BUG>(at + A, d), what, BUG == ADDS || i % steps + d);\n"
    "            if (BUG == FREE_EARLY) k_mbar_arrive(empty + s);" /* no line of its own */
    "            else k_tensor_commit(k_in_shared(empty + s));\n"
    "            if (i % steps == steps - 1) k_tensor_commit(k_in_shared(offered + set));\n"
    "        }\n"
    "    } else if (t >= 128) {\n"
    "        const int warp = t / 32 % 4;\n"
    "        for (int tile = 0; tile < tiles; tile++) {\n"
    "            const int set = tile % SETS;\n"
    "            float d[ROWS / 2];\n"
    "            if (BUG != NO_OFFER_WAIT) k_mbar_wait(offered + set, tile / SETS & 1);\n"
    "            if (BUG != NO_AFTER) k_tensor_fence_after();\n"
    "            const unsigned from = tensor + (BUG == SET ? 1 - set : set) * 64 +\n"
    "                ((BUG == LANES ? warp ^ 1 : warp) << 21) + (BUG == COLUMN ? 8 : 0);\n"
    "            for (int f = 0; f < ROWS / 64; f++)\n"
    "                emu_tensor_load(d + f * 32, BUG == COLUMN ? 4 : 8, from + (f << 20));\n"
    "            if (BUG == EARLY_ARRIVE) {\n"
    "                k_tensor_fence_before();\n"
    "                __syncwarp();\n"
    "                if (t % 32 == 0) k_mbar_arrive(read + set);\n"
    "            }\n"
    "            if (BUG != NO_LD_WAIT) emu_tensor_wait();\n"
    "            if (BUG != NO_BEFORE && BUG != EARLY_ARRIVE) k_tensor_fence_before();\n"
    "            if (BUG != EARLY_ARRIVE) {\n"
    "                __syncwarp();\n"
    "                if (t % 32 == 0) k_mbar_arrive(read + set);\n"
    "            }\n"
    "            for (int i = 0; i < ROWS / 2; i++) {\n"
    "                const int r = tile * ROWS + warp * (ROWS / 4) + i / 32 * 16 + t % 32 / 4 +\n"
    "                              8 * (i / 2 % 2);\n"
    "                const int c = i % 32 / 4 * 8 + 2 * (t % 4) + i % 2;\n"
    "                if (r < m) y[r * 64 + c] = d[i];\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    __syncwarp();\n"
    "    k_tensor_fence_before();\n"
    "    if (BUG != NO_MEETING) __syncthreads();\n"
    "    if (t / 32 == 1 && BUG != NO_FREE && BUG != NO_MAKE) {\n"
    "        k_tensor_fence_after();\n"
    "        k_tensor_free<COLUMNS>(BUG == FREED_OTHER ? tensor + 8 : tensor);\n"
    "    }\n"
    "}\n"
    "#define TILES(name, ...) extern \"C\" __global__ void __launch_bounds__(256, 1)\\\n"
    "name(const __grid_constant__ k_map a, const __grid_constant__ k_map b, float *y, int m,\\\n"
    "     int k) { tensor_tiles<__VA_ARGS__>(&a, &b, y, m, k); }\n";

struct tiles {
    const char *name;
    int rows, sets;
    const char *bug;             /* or NULL */
    enum emu_kind kind, or_kind; /* OK: not found, but the numbers are wrong */
    const char *says;
};

static const struct tiles RIGHT[] = {
    {"tiles_64_1", 64, 1, NULL, EMU_OK, EMU_OK, NULL},
    {"tiles_64_2", 64, 2, NULL, EMU_OK, EMU_OK, NULL},
    {"tiles_128_1", 128, 1, NULL, EMU_OK, EMU_OK, NULL},
    {"tiles_128_2", 128, 2, NULL, EMU_OK, EMU_OK, NULL},
};

static const struct tiles BUGS[] = {
    {"no_read_wait", 64, 1, "NO_READ_WAIT", EMU_RACE, EMU_OK, "of lane"},
    {"no_full_wait", 64, 2, "NO_FULL_WAIT", EMU_RACE, EMU_UNWRITTEN_READ, "of shared memory"},
    {"no_empty", 64, 2, "NO_EMPTY", EMU_RACE, EMU_MBARRIER, ""},
    {"free_early", 64, 2, "FREE_EARLY", EMU_RACE, EMU_OK, "of shared memory"},
    {"no_offer_wait", 64, 2, "NO_OFFER_WAIT", EMU_RACE, EMU_UNWRITTEN_READ, "tcgen05.ld of lane"},
    {"no_ld_wait", 64, 2, "NO_LD_WAIT", EMU_RACE, EMU_MATRIX, ""},
    {"no_before", 64, 1, "NO_BEFORE", EMU_RACE, EMU_OK, "which is being read"},
    {"no_after", 64, 1, "NO_AFTER", EMU_MATRIX, EMU_OK, "tcgen05.ld with no k_tensor_fence_after"},
    {"no_after_issue", 64, 2, "NO_AFTER_ISSUE", EMU_MATRIX, EMU_OK,
     "k_tensor_multiply with no k_tensor_fence_after"},
    {"early_arrive", 64, 1, "EARLY_ARRIVE", EMU_RACE, EMU_OK, "which is being read"},
    {"column", 64, 2, "COLUMN", EMU_OK, EMU_OK, NULL},
    {"set", 64, 2, "SET", EMU_RACE, EMU_UNWRITTEN_READ, "tcgen05.ld of lane"},
    {"lanes", 64, 2, "LANES", EMU_MATRIX, EMU_OK, "by warp"},
    {"version", 64, 2, "VERSION", EMU_MATRIX, EMU_OK, "of no k_tensor_operand"},
    {"swizzle", 64, 2, "SWIZZLE", EMU_OK, EMU_OK, NULL},
    {"stride", 64, 2, "STRIDE", EMU_OK, EMU_OK, NULL},
    {"says_columns", 64, 2, "SAYS_COLUMNS", EMU_UNWRITTEN_READ, EMU_OK, "where nothing is"},
    {"says_rows", 128, 2, "SAYS_ROWS", EMU_UNWRITTEN_READ, EMU_OK, "where nothing is"},
    {"says_type", 64, 2, "SAYS_TYPE", EMU_OK, EMU_OK, NULL},
    {"says_sums", 64, 2, "SAYS_SUMS", EMU_MATRIX, EMU_OK, "sums of type 0"},
    {"says_major", 64, 2, "SAYS_MAJOR", EMU_OK, EMU_OK, NULL},
    {"says_other", 64, 2, "SAYS_OTHER", EMU_MATRIX, EMU_OK, "says what it cannot be"},
    {"kind", 64, 2, "KIND", EMU_MATRIX, EMU_OK, "operands of types 1 and 1"},
    {"adds", 64, 2, "ADDS", EMU_UNWRITTEN_READ, EMU_OK, "where nothing is"},
    {"no_free", 64, 2, "NO_FREE", EMU_MATRIX, EMU_OK, "the block ends and has tensor memory"},
    {"no_make", 64, 2, "NO_MAKE", EMU_MATRIX, EMU_OK, "the block has no tensor memory"},
    {"few_columns", 64, 2, "FEW_COLUMNS", EMU_OUT_OF_BOUNDS, EMU_OK, "of columns"},
    {"no_meeting", 64, 2, "NO_MEETING", EMU_RACE, EMU_MATRIX, ""},
    {"freed_other", 64, 2, "FREED_OTHER", EMU_OUT_OF_BOUNDS, EMU_MATRIX, "k_tensor_free"},
};
enum { N_RIGHT = sizeof RIGHT / sizeof *RIGHT, N_BUGS = sizeof BUGS / sizeof *BUGS };

/* ---- running them ---------------------------------------------------------------------------- */

struct fix {
    struct arena *a;
    struct emu *e;
    struct emu_module *m;
    void *x, *w; /* M x K, N x K */
    float *y;
};

/* M leaves a rest of a tile. */
enum { M = 424, N = 64, K = 128 };

/* Small integers, which every type holds, as do all sums of their products. */
static void *fill(struct fix *f, const char *name, size_t n, size_t from) {
    void *x = emu_alloc(f->e, name, n * 2);
    for (size_t i = 0; i < n; i++)
        dtype_store(DT_BF16, x, i, (double)((int)(((i + from) * 2654435761u) >> 7 & 31) - 15));
    return x;
}

static struct fix begin(const struct tiles *tiles, int n) {
    struct fix f = {.a = arena_new(), .e = emu_new()};
    struct diag d = diag_new(f.a);
    const char **names = NEW_ARRAY(f.a, const char *, n);
    struct buf text = buf_new(f.a);
    buf_printf(&text, "%s\n%s", prelude_cuda, TENSOR_TEXT);
    for (int i = 0; i < n; i++) {
        names[i] = tiles[i].name;
        buf_printf(&text, "TILES(%s, %d, %d, %s)\n", names[i], tiles[i].rows, tiles[i].sets,
                   tiles[i].bug ? tiles[i].bug : "0");
    }
    f.m = emu_open(f.e, text.p, names, n, &d);
    if (!f.m) fail_msg("%s", d.text);
    f.x = fill(&f, "a", (size_t)M * K, 0);
    f.w = fill(&f, "b", (size_t)N * K, 7);
    f.y = emu_alloc(f.e, "y", (size_t)M * N * 4);
    return f;
}

static void end(struct fix *f) {
    emu_free(f->e);
    arena_free(f->a);
}

static struct emu_map map_of(void *at, int rows, int box_rows) {
    return (struct emu_map){.address = at,
                            .rank = 2,
                            .bytes = 2,
                            .swizzle = 128,
                            .size = {K, rows},
                            .stride = {2, K * 2},
                            .box = {64, box_rows}};
}

typedef struct emu_report runner(struct emu_module *, const struct emu_launch *);

static struct emu_report run_tiles(struct fix *f, const struct tiles *x, enum emu_order order,
                                   runner *run) {
    struct emu_map a = map_of(f->x, M, x->rows), b = map_of(f->w, N, N);
    int m = M, k = K;
    struct emu_launch l = {.kernel = x->name,
                           .threads = {256},
                           .shared = (size_t)(x->rows + N) * 256,
                           .args = (void *[]){&a, &b, (void *)&f->y, &m, &k},
                           .n_args = 5,
                           .order = order,
                           .seed = 3};
    return run(f->m, &l);
}

static int wrong_numbers(const struct fix *f) {
    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int d = 0; d < K; d++)
                sum += dtype_load(DT_BF16, f->x, (size_t)(i * K + d)) *
                       dtype_load(DT_BF16, f->w, (size_t)(j * K + d));
            wrong += !((double)f->y[i * N + j] == sum);
        }
    return wrong;
}

static void test_right(void **state) {
    struct fix f = begin(RIGHT, N_RIGHT);
    for (int i = 0; i < N_RIGHT; i++) {
        struct emu_report report = run_tiles(&f, &RIGHT[i], EMU_FORWARD, emu_check);
        if (!report.ok) fail_msg("%s: %s", RIGHT[i].name, report.message);
        int wrong = wrong_numbers(&f);
        if (wrong) fail_msg("%s: %d wrong numbers", RIGHT[i].name, wrong);
    }
    end(&f);
}

/* What is wrong with what a run said; NULL: nothing. */
static const char *misjudged(const struct fix *f, const struct tiles *x,
                             const struct emu_report *report) {
    if (report->ok && x->kind != EMU_OK) return "not found";
    if (report->ok) return wrong_numbers(f) ? NULL : "the numbers are right";
    if (report->kind != x->kind && (x->or_kind == EMU_OK || report->kind != x->or_kind))
        return "found as something else";
    return strstr(report->message, x->says) ? NULL : "found, in other words";
}

static void test_bugs(void **state) {
    struct fix f = begin(BUGS, N_BUGS);
    int wrong = 0;
    for (int i = 0; i < N_BUGS; i++)
        for (enum emu_order order = EMU_FORWARD; order <= EMU_RANDOM; order++) {
            struct emu_report report = run_tiles(&f, &BUGS[i], order, emu_run);
            const char *why = misjudged(&f, &BUGS[i], &report);
            if (!why) continue;
            print_message("%s: %s: %s\n", BUGS[i].name, why, report.message);
            wrong++;
        }
    assert_int_equal(wrong, 0);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_bugs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
