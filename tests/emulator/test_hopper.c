/* Correct kernels with clusters, mbarriers and asynchronous copies pass in every order and compute
 * what a plain loop computes. */
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

/* ---- clusters ------------------------------------------------------------------------------- */

/* y = x minus the sum of the 4 blocks' 256 elements. */
#define CLUSTER_SUM(name, T)                                                                       \
    "extern \"C\" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64)\n" name          \
    "(const k_" T " *x, k_" T " *y) {\n"                                                           \
    "    __shared__ k_" T " warps[2], part;\n"                                                     \
    "    const int t = (int)threadIdx.x;\n"                                                        \
    "    const long long at = (blockIdx.y * gridDim.x + blockIdx.x) * 64ll + t;\n"                 \
    "    const k_" T " v = k_load1(x + at), sum = k_reduce_row<k_sum, 64>(v, warps);\n"            \
    "    if (t == 0) part = sum;\n"                                                                \
    "    k_cluster_sync();\n"                                                                      \
    "    k_" T " all = 0;\n"                                                                       \
    "    for (unsigned r = 0; r < 4; r++) all += k_cluster_load(&part, r);\n"                      \
    "    k_cluster_sync();\n"                                                                      \
    "    k_store1(y + at, v - all);\n"                                                             \
    "}\n"

/* The same by values that are given; a thread of each block has one, of a row of its own. */
#define GIVEN_SUM(name, T)                                                                         \
    "extern \"C\" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64)\n" name          \
    "(const k_" T " *x, k_" T " *y) {\n"                                                           \
    "    __shared__ unsigned long long bars[2];\n"                                                 \
    "    __shared__ k_" T " warps[2], slots[2 * 4];\n"                                             \
    "    const int t = (int)threadIdx.x, rank = (int)k_cluster_rank();\n"                          \
    "    const long long at = (blockIdx.y * gridDim.x + blockIdx.x) * 64ll + t;\n"                 \
    "    k_make_mbarriers<2>(bars, t);\n"                                                          \
    "    const k_" T " v = k_load1(x + at), sum = k_reduce_row<k_sum, 64>(v, warps);\n"            \
    "    k_cluster_wait();\n"                                                                      \
    "    for (int i = 0; i < 2; i++) {\n"                                                          \
    "        k_expect(bars + i, t, 4 * sizeof sum);\n"                                             \
    "        k_give<4, 2>(sum, slots + i * 4, t < 2 ? t : 4, rank, bars + i);\n"                   \
    "        k_mbar_wait(bars + i, 0);\n"                                                          \
    "    }\n"                                                                                      \
    "    k_store1(y + at, v + k_reduce_slots<k_sum, 4>(slots) -\n"                                 \
    "                         2 * k_reduce_slots<k_sum, 4>(slots + 4));\n"                         \
    "}\n"

static const char CLUSTER_TEXT[] =
    GIVEN_SUM("given_f32", "f32") GIVEN_SUM("given_f64", "f64") GIVEN_SUM("given_i64", "i64")
        CLUSTER_SUM("sum_f32", "f32") CLUSTER_SUM("sum_f64", "f64") CLUSTER_SUM("sum_i64", "i64")
    /* Blocks pass their values on, three times, through shared and global memory in turn. */
    "extern \"C\" __global__ void __cluster_dims__(3, 1, 1) pass_on(const k_i32 *x, k_i32 *y) {\n"
    "    extern __shared__ __align__(16) unsigned char k_smem[];\n"
    "    int *s = (int *)k_smem;\n"
    "    const int t = (int)threadIdx.x, n = (int)blockDim.x;\n"
    "    const unsigned r = k_cluster_rank(), next = (r + 1) % 3, first = blockIdx.x - r;\n"
    "    s[t] = x[blockIdx.x * n + t];\n"
    "    k_cluster_sync();\n"
    "    for (int i = 0; i < 3; i++) {\n"
    "        int v = k_cluster_load(s + n - 1 - t, next);\n"
    "        y[(first + next) * n + t] = v + 1;\n"
    "        k_cluster_sync();\n"
    "        s[t] = y[blockIdx.x * n + t];\n"
    "        k_cluster_sync();\n"
    "    }\n"
    "}\n";

/* ---- copies --------------------------------------------------------------------------------- */

/* Sums of a row's every 64th element, with `load` below. */
#define THREADS_COPY(name, bytes)                                                                  \
    "extern \"C\" __global__ void __launch_bounds__(64) " name                                     \
    "(const float *x, float *y, int n) {\n"                                                        \
    "    extern __shared__ __align__(128) unsigned char k_smem[];\n"                               \
    "    float *s = (float *)k_smem, sum = 0;\n"                                                   \
    "    ROW;\n"                                                                                   \
    "    load<" bytes ">(s, xr, 0, n);\n"                                                          \
    "    load<" bytes ">(s, xr, 1, n);\n"                                                          \
    "    for (int c = 0; c * 256 < n; c++) {\n"                                                    \
    "        k_cp_async_wait<1>();\n"                                                              \
    "        __syncthreads();\n"                                                                   \
    "        for (int i = t; i < 256; i += 64) sum += s[c % 3 * 256 + i];\n"                       \
    "        load<" bytes ">(s, xr, c + 2, n);\n"                                                  \
    "    }\n"                                                                                      \
    "    y[blockIdx.x * 64 + t] = sum;\n"                                                          \
    "}\n"

static const char COPY_TEXT[] =
    "#define ROW const float *xr = x + (long long)blockIdx.x * n; const int t = threadIdx.x\n"
    /* Sums of a row's every 64th element: the next 256 elements come while these are added. */
    "extern \"C\" __global__ void __launch_bounds__(64) pipeline(const float *x, float *y, int n)\n"
    "{\n"
    "    extern __shared__ __align__(128) unsigned char k_smem[];\n"
    "    __shared__ unsigned long long full[2];\n"
    "    float *s = (float *)k_smem, sum = 0;\n"
    "    ROW;\n"
    "    if (t == 0) k_mbar_init(full, 1), k_mbar_init(full + 1, 1), k_fence_mbar_init();\n"
    "    __syncthreads();\n"
    "    const int chunks = (n + 255) / 256;\n"
    "    for (int c = -1; c < chunks; c++) {\n"
    "        if (t == 0 && c + 1 < chunks) {\n"
    "            const int stage = c + 1 & 1, from = (c + 1) * 256;\n"
    "            const unsigned bytes = (unsigned)k_clamp(n - from, 256) * 4;\n"
    "            k_mbar_arrive_expect_tx(full + stage, bytes);\n"
    "            k_bulk_g2s(s + stage * 256, xr + from, bytes, full + stage);\n"
    "        }\n"
    "        if (c < 0) continue;\n"
    "        k_mbar_wait(full + (c & 1), c >> 1 & 1);\n"
    "        for (int i = t; i < 256 && c * 256 + i < n; i += 64) sum += s[(c & 1) * 256 + i];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    y[blockIdx.x * 64 + t] = sum;\n"
    "}\n"
    /* The same by a warp that loads and two that add; they never meet at a block's barrier. */
    "extern \"C\" __global__ void __launch_bounds__(96) warps(const float *x, float *y, int n) {\n"
    "    extern __shared__ __align__(128) unsigned char k_smem[];\n"
    "    __shared__ unsigned long long full[2], empty[2];\n"
    "    float *s = (float *)k_smem, sum = 0;\n"
    "    ROW;\n"
    "    if (t < 2) k_mbar_init(full + t, 1), k_mbar_init(empty + t, 64), k_fence_mbar_init();\n"
    "    __syncthreads();\n"
    "    const int chunks = (n + 255) / 256;\n"
    "    for (int c = 0; c < chunks; c++) {\n"
    "        const int stage = c & 1, phase = c >> 1 & 1, from = c * 256;\n"
    "        if (t >= 64) {\n"
    "            k_mbar_wait(empty + stage, phase ^ 1);\n"
    "            if (t > 64) continue;\n"
    "            const unsigned bytes = (unsigned)k_clamp(n - from, 256) * 4;\n"
    "            k_mbar_arrive_expect_tx(full + stage, bytes);\n"
    "            for (unsigned part = 0; part < bytes; part += 256)\n"
    "                k_bulk_g2s((char *)(s + stage * 256) + part, (const char *)(xr + from) + "
    "part,\n"
    "                           (unsigned)k_clamp((int)(bytes - part), 256), full + stage);\n"
    "        } else {\n"
    "            k_mbar_wait(full + stage, phase);\n"
    "            for (int i = t; i < 256 && from + i < n; i += 64) sum += s[stage * 256 + i];\n"
    "            k_mbar_arrive(empty + stage);\n"
    "        }\n"
    "    }\n"
    "    if (t < 64) y[blockIdx.x * 64 + t] = sum;\n"
    "}\n"
    /* The same with copies by every thread, three groups deep, of rows that end anywhere. */
    "template <int BYTES> K_DEVICE void load(float *s, const float *xr, int c, int n) {\n"
    "    const int from = c * 256, each = BYTES / 4;\n"
    "    for (int i = (int)threadIdx.x * each; from < n && i < 256; i += 64 * each) {\n"
    "        const int left = k_max(k_clamp(n - from - i, each), 0);\n"
    "        k_cp_async<BYTES>(s + c % 3 * 256 + i, left ? xr + from + i : xr, left * 4);\n"
    "    }\n"
    "    k_cp_async_commit();\n"
    "}\n" THREADS_COPY("threads16", "16") THREADS_COPY("threads4", "4")
    /* y = 2x, 64 elements at a time, out by bulk copies while the next come in. */
    "extern \"C\" __global__ void __launch_bounds__(64) twice(const float *x, float *y, int n) {\n"
    "    extern __shared__ __align__(128) unsigned char k_smem[];\n"
    "    __shared__ unsigned long long bar;\n"
    "    float *in = (float *)k_smem, *out = in + 64;\n"
    "    const int t = threadIdx.x;\n"
    "    if (t == 0) k_mbar_init(&bar, 1), k_fence_mbar_init();\n"
    "    __syncthreads();\n"
    "    for (int i = 0, p = 0; i < n; i += 64, p ^= 1) {\n"
    "        if (t == 0) k_mbar_arrive_expect_tx(&bar, 256), k_bulk_g2s(in, x + i, 256, &bar);\n"
    "        k_mbar_wait(&bar, p);\n"
    "        const float v = in[t];\n"
    "        if (t == 0) k_bulk_wait_read<0>();\n"
    "        __syncthreads();\n"
    "        out[t] = 2 * v;\n"
    "        k_fence_async_shared();\n"
    "        __syncthreads();\n"
    "        if (t == 0) k_bulk_s2g(y + i, out, 256), k_bulk_commit();\n"
    "    }\n"
    "    if (t == 0) k_bulk_wait_read<0>();\n"
    "}\n";

/* ---- the tests ------------------------------------------------------------------------------ */

struct fix {
    struct arena *a;
    struct emu *e;
    struct emu_module *m;
};

static struct fix begin(const char *text, const char *const *kernels, int n) {
    struct fix f = {.a = arena_new(), .e = emu_new()};
    struct diag d = diag_new(f.a);
    f.m = emu_open(f.e, arena_printf(f.a, "%s\n%s", prelude_cuda, text), kernels, n, &d);
    if (!f.m) fail_msg("%s", d.text);
    return f;
}

static void end(struct fix *f) {
    emu_free(f->e);
    arena_free(f->a);
}

static void check(struct fix *f, struct emu_launch l) {
    struct emu_report r = emu_check(f->m, &l);
    if (!r.ok) fail_msg("%s", r.message);
}

/* Small integers, which every type holds, as do all sums of them. */
static float number(size_t i) { return (float)((int)((i * 2654435761u) >> 7 & 63) - 31); }

static void test_cluster_sums(void **state) {
    enum { BLOCKS = 8, ROWS = 2, N = BLOCKS * ROWS * 64 };
    static const char *const NAMES[] = {"sum_f32",   "sum_f64",   "sum_i64",
                                        "given_f32", "given_f64", "given_i64"};
    static const enum dtype TYPES[] = {DT_F32, DT_F64, DT_I64, DT_F32, DT_F64, DT_I64};
    struct fix f = begin(CLUSTER_TEXT, NAMES, 6);
    for (int k = 0; k < 6; k++) {
        void *x = emu_alloc(f.e, "x", N * 8), *y = emu_alloc(f.e, "y", N * 8);
        for (size_t i = 0; i < N; i++) dtype_store(TYPES[k], x, i, (double)number(i));
        check(&f, (struct emu_launch){.kernel = NAMES[k],
                                      .grid = {BLOCKS, ROWS},
                                      .threads = {64},
                                      .cluster = 4,
                                      .args = (void *[]){&x, &y},
                                      .n_args = 2,
                                      .roles = (enum emu_role[]){EMU_IN, EMU_SCRATCH}});
        for (size_t c = 0; c < N; c += 256) {
            double sum = 0;
            for (size_t i = c; i < c + 256; i++) sum += (double)number(i);
            for (size_t i = c; i < c + 256; i++)
                assert_true(dtype_load(TYPES[k], y, i) == (double)number(i) - sum);
        }
        emu_release(f.e, x);
        emu_release(f.e, y);
    }
    end(&f);
}

static void test_pass_on(void **state) {
    enum { BLOCKS = 6, THREADS = 33, N = BLOCKS * THREADS };
    struct fix f = begin(CLUSTER_TEXT, (const char *[]){"pass_on"}, 1);
    int *x = emu_alloc(f.e, "x", N * 4), *y = emu_alloc(f.e, "y", N * 4);
    for (int i = 0; i < N; i++) x[i] = i;
    struct emu_launch l = {.kernel = "pass_on",
                           .grid = {BLOCKS},
                           .threads = {THREADS},
                           .cluster = 3,
                           .shared = THREADS * 4,
                           .args = (void *[]){&x, &y},
                           .n_args = 2};
    check(&f, l);
    /* Three times mirrored, each time one more. */
    for (int i = 0; i < N; i++)
        assert_int_equal(y[i], i / THREADS * THREADS + THREADS - 1 - i % THREADS + 3);
    l.cluster = 1; /* what __cluster_dims__ says is the launch's to repeat */
    assert_false(emu_run(f.m, &l).ok);
    end(&f);
}

static void test_row_sums(void **state) {
    enum { ROWS = 3 };
    static const struct {
        const char *kernel;
        unsigned threads;
        int n; /* bulk copies begin and end at multiples of 4 elements */
    } CASES[] = {{"pipeline", 64, 1024},  {"pipeline", 64, 844},  {"pipeline", 64, 4},
                 {"warps", 96, 1536},     {"warps", 96, 1300},    {"warps", 96, 256},
                 {"threads16", 64, 1024}, {"threads16", 64, 708}, {"threads4", 64, 601},
                 {"threads4", 64, 5}};
    struct fix f =
        begin(COPY_TEXT, (const char *[]){"pipeline", "warps", "threads16", "threads4"}, 4);
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        int n = CASES[k].n;
        float *x = emu_alloc(f.e, "x", (size_t)(ROWS * n) * 4);
        float *y = emu_alloc(f.e, "y", (size_t)ROWS * 64 * 4);
        for (int i = 0; i < ROWS * n; i++) x[i] = number((size_t)i);
        check(&f, (struct emu_launch){.kernel = CASES[k].kernel,
                                      .grid = {ROWS},
                                      .threads = {CASES[k].threads},
                                      .shared = 3 * 1024,
                                      .args = (void *[]){&x, &y, &n},
                                      .n_args = 3});
        for (int i = 0; i < ROWS * 64; i++) {
            float want = 0;
            for (int j = i % 64; j < n; j += 64) want += x[i / 64 * n + j];
            if (y[i] != want)
                fail_msg("%s of %d: sum %d is %g, not %g", CASES[k].kernel, n, i, (double)y[i],
                         (double)want);
        }
        emu_release(f.e, x);
        emu_release(f.e, y);
    }
    end(&f);
}

static void test_bulk_stores(void **state) {
    int n = 320;
    struct fix f = begin(COPY_TEXT, (const char *[]){"twice"}, 1);
    float *x = emu_alloc(f.e, "x", (size_t)n * 4), *y = emu_alloc(f.e, "y", (size_t)n * 4);
    for (int i = 0; i < n; i++) x[i] = number((size_t)i);
    check(&f, (struct emu_launch){.kernel = "twice",
                                  .threads = {64},
                                  .shared = 512,
                                  .args = (void *[]){&x, &y, &n},
                                  .n_args = 3});
    for (int i = 0; i < n; i++) assert_true(y[i] == 2 * x[i]);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster_sums),
        cmocka_unit_test(test_pass_on),
        cmocka_unit_test(test_row_sums),
        cmocka_unit_test(test_bulk_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
