/* Correct kernels pass in every order and compute what a plain loop computes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka needs the first ones of these */
#include <cmocka.h>

#include "base/base.h"
#include "emit/emit.h"
#include "tests/emulator/emu.h"

struct fix {
    struct arena *a;
    struct emu *e;
    struct emu_module *m;
};

/* The prelude and then the text, compiled. */
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

static void assert_ok(struct emu_report r) {
    if (!r.ok) fail_msg("%s", r.message);
}

/* Small numbers of both signs that every type holds exactly. */
static float number(size_t i) { return (float)((int)((i * 2654435761u) >> 7 & 63) - 31) / 8; }

static void fill(enum dtype t, void *p, size_t n) {
    for (size_t i = 0; i < n; i++) dtype_store(t, p, i, number(i));
}

/* ---- softmax of rows ------------------------------------------------------------------------ */

/* T0 rows of T1 threads a block, V elements a thread at a time, C such chunks a row. */
#define SOFTMAX(name, T, T0, T1, V, C)                                                             \
    "extern \"C\" __global__ void __launch_bounds__(" #T0 " * " #T1 ")\n" #name "(const " #T       \
    " *__restrict__ x, " #T " *__restrict__ y, long long rows) {\n"                                \
    "    extern __shared__ __align__(16) unsigned char k_smem[];\n"                                \
    "    const int t1 = (int)threadIdx.x % " #T1 ", n = " #T1 " * " #V " * " #C ";\n"              \
    "    const long long row = (long long)blockIdx.x * " #T0 " + threadIdx.x / " #T1 ";\n"         \
    "    const bool in = row < rows;\n"                                                            \
    "    k_pack<" #T ", " #V "> p[" #C "];\n"                                                      \
    "    float top = -INFINITY, sum = 0, v[" #V "];\n"                                             \
    "    for (int c = 0; c < " #C "; c++) {\n"                                                     \
    "        if (!in) break;\n"                                                                    \
    "        p[c] = k_load<" #T ", " #V ">(x + row * n + (c * " #T1 " + t1) * " #V ");\n"          \
    "        for (int i = 0; i < " #V "; i++) top = k_max(top, k_get(p[c], i));\n"                 \
    "    }\n"                                                                                      \
    "    float *smem = (float *)k_smem;\n"                                                         \
    "    top = k_reduce_row<k_amax, " #T1 ">(top, smem);\n"                                        \
    "    for (int c = 0; in && c < " #C "; c++)\n"                                                 \
    "        for (int i = 0; i < " #V "; i++) sum += k_exp(k_get(p[c], i) - top);\n"               \
    "    sum = k_reduce_row<k_sum, " #T1 ">(sum, smem + " #T0 " * " #T1 " / 32);\n"                \
    "    for (int c = 0; in && c < " #C "; c++) {\n"                                               \
    "        for (int i = 0; i < " #V "; i++) v[i] = k_exp(k_get(p[c], i) - top) / sum;\n"         \
    "        k_put(p[c], v);\n"                                                                    \
    "        k_store<" #T ", " #V ", 1>(y + row * n + (c * " #T1 " + t1) * " #V ", p[c]);\n"       \
    "    }\n"                                                                                      \
    "}\n"

static const char SOFTMAX_TEXT[] =
    "#ifdef WS_EMULATOR\n#define INFINITY __builtin_inff()\n#endif\n" SOFTMAX(
        bf16_8, k_bf16, 32, 8, 8, 2) SOFTMAX(bf16_32, k_bf16, 4, 32, 8, 1)
        SOFTMAX(bf16_256, k_bf16, 1, 256, 2, 1) SOFTMAX(f32_8, k_f32, 4, 8, 4, 1)
            SOFTMAX(f32_32, k_f32, 2, 32, 1, 3) SOFTMAX(f32_256, k_f32, 1, 256, 4, 1);

struct softmax {
    const char *kernel;
    enum dtype type;
    unsigned t0, t1;
    int vec, chunks;
};

static const struct softmax SOFTMAXES[] = {
    {"bf16_8", DT_BF16, 32, 8, 8, 2},    {"bf16_32", DT_BF16, 4, 32, 8, 1},
    {"bf16_256", DT_BF16, 1, 256, 2, 1}, {"f32_8", DT_F32, 4, 8, 4, 1},
    {"f32_32", DT_F32, 2, 32, 1, 3},     {"f32_256", DT_F32, 1, 256, 4, 1},
};
enum { N_SOFTMAXES = sizeof SOFTMAXES / sizeof *SOFTMAXES };

static void assert_softmax(enum dtype t, const void *x, const void *y, size_t rows, size_t n) {
    double tolerance = t == DT_F32 ? 1e-6 : 4e-3;
    for (size_t r = 0; r < rows; r++) {
        double top = -INFINITY, sum = 0;
        for (size_t i = 0; i < n; i++) top = fmax(top, dtype_load(t, x, r * n + i));
        for (size_t i = 0; i < n; i++) sum += exp(dtype_load(t, x, r * n + i) - top);
        for (size_t i = 0; i < n; i++) {
            double want = exp(dtype_load(t, x, r * n + i) - top) / sum;
            double got = dtype_load(t, y, r * n + i);
            if (!(fabs(got - want) <= tolerance * (want + 1e-3)))
                fail_msg("row %zu column %zu: %g, not %g", r, i, got, want);
        }
    }
}

static void test_softmax(void **state) {
    const char *names[N_SOFTMAXES];
    for (int i = 0; i < N_SOFTMAXES; i++) names[i] = SOFTMAXES[i].kernel;
    struct fix f = begin(SOFTMAX_TEXT, names, N_SOFTMAXES);
    for (int i = 0; i < N_SOFTMAXES; i++) {
        const struct softmax *s = &SOFTMAXES[i];
        size_t n = (size_t)s->t1 * (size_t)(s->vec * s->chunks);
        size_t rows = 2 * s->t0 + 1, bytes = rows * n * (size_t)dtype_bytes(s->type);
        void *x = emu_alloc(f.e, "x", bytes), *y = emu_alloc(f.e, "y", bytes);
        long long n_rows = (long long)rows;
        fill(s->type, x, rows * n);
        struct emu_launch l = {.kernel = s->kernel,
                               .grid = {3},
                               .threads = {s->t0 * s->t1},
                               .shared = 4096,
                               .args = (void *[]){&x, &y, &n_rows},
                               .n_args = 3};
        assert_ok(emu_check(f.m, &l));
        assert_softmax(s->type, x, y, rows, n);
        emu_release(f.e, x);
        emu_release(f.e, y);
    }
    end(&f);
}

/* ---- sum of columns ------------------------------------------------------------------------- */

static const char COLUMNS_TEXT[] =
    "extern \"C\" __global__ void columns(const k_f16 *x, k_f32 *y, int rows, int n) {\n"
    "    extern __shared__ float partial[];\n"
    "    const int t0 = (int)threadIdx.x % 32, t1 = (int)threadIdx.x / 32;\n"
    "    const int column = (int)blockIdx.x * 32 + t0;\n"
    "    float sum = 0;\n"
    "    for (int r = t1; r < rows && column < n; r += 8)\n"
    "        sum += k_load1(x + (long long)r * n + column);\n"
    "    k_reduce_columns<k_sum, 32, 8, 1>(&sum, partial);\n"
    "    if (t1 == 0 && column < n) k_store1(y + column, sum);\n"
    "}\n";

static void test_columns(void **state) {
    struct fix f = begin(COLUMNS_TEXT, (const char *[]){"columns"}, 1);
    int rows = 37, n = 75;
    uint16_t *x = emu_alloc(f.e, "x", (size_t)(rows * n) * 2);
    float *y = emu_alloc(f.e, "y", (size_t)n * 4);
    fill(DT_F16, x, (size_t)(rows * n));
    struct emu_launch l = {.kernel = "columns",
                           .grid = {3},
                           .threads = {256},
                           .shared = 1024,
                           .args = (void *[]){&x, &y, &rows, &n},
                           .n_args = 4};
    assert_ok(emu_check(f.m, &l));
    for (int c = 0; c < n; c++) {
        float want = 0;
        for (int r = 0; r < rows; r++) want += number((size_t)(r * n + c));
        assert_true(y[c] == want); /* all sums are exact */
    }
    end(&f);
}

/* ---- tiled matmul --------------------------------------------------------------------------- */

static const char MATMUL_TEXT[] =
    "extern \"C\" __global__ void __launch_bounds__(64)\n"
    "matmul(const k_f32 *__restrict__ a, const k_f32 *__restrict__ b, k_f32 *__restrict__ c,\n"
    "       int m, int n, int k) {\n"
    "    extern __shared__ __align__(16) unsigned char k_smem[];\n"
    "    float (*as)[17] = (float (*)[17])k_smem;\n"
    "    float (*bs)[32] = (float (*)[32])(k_smem + 32 * 17 * 4);\n"
    "    const int tid = (int)threadIdx.x, tr = tid / 8 * 4, tc = tid % 8 * 4;\n"
    "    const int row = (int)blockIdx.y * 32, column = (int)blockIdx.x * 32;\n"
    "    float acc[4][4] = {};\n"
    "    for (int k0 = 0; k0 < k; k0 += 16) {\n"
    "        for (int i = tid; i < 32 * 16; i += 64) {\n"
    "            const int r = i / 16, kk = i % 16;\n"
    "            const bool in = row + r < m && k0 + kk < k;\n"
    "            as[r][kk] = in ? k_load1(a + (row + r) * k + k0 + kk) : 0;\n"
    "        }\n"
    "        for (int i = tid; i < 16 * 32; i += 64) {\n"
    "            const int kk = i / 32, cc = i % 32;\n"
    "            const bool in = k0 + kk < k && column + cc < n;\n"
    "            bs[kk][cc] = in ? k_load1(b + (k0 + kk) * n + column + cc) : 0;\n"
    "        }\n"
    "        __syncthreads();\n"
    "        for (int kk = 0; kk < 16; kk++)\n"
    "            for (int i = 0; i < 4; i++)\n"
    "                for (int j = 0; j < 4; j++) acc[i][j] += as[tr + i][kk] * bs[kk][tc + j];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        for (int j = 0; j < 4; j++)\n"
    "            if (row + tr + i < m && column + tc + j < n)\n"
    "                k_store1(c + (row + tr + i) * n + column + tc + j, acc[i][j]);\n"
    "}\n";

static void test_matmul(void **state) {
    struct fix f = begin(MATMUL_TEXT, (const char *[]){"matmul"}, 1);
    int m = 45, n = 70, k = 37;
    float *a = emu_alloc(f.e, "a", (size_t)(m * k) * 4);
    float *b = emu_alloc(f.e, "b", (size_t)(k * n) * 4);
    float *c = emu_alloc(f.e, "c", (size_t)(m * n) * 4);
    fill(DT_F32, a, (size_t)(m * k));
    fill(DT_F32, b, (size_t)(k * n));
    struct emu_launch l = {.kernel = "matmul",
                           .grid = {3, 2},
                           .threads = {64},
                           .shared = 32 * 17 * 4 + 16 * 32 * 4,
                           .args = (void *[]){&a, &b, &c, &m, &n, &k},
                           .n_args = 6};
    assert_ok(emu_check(f.m, &l));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float want = 0;
            for (int x = 0; x < k; x++) want += a[i * k + x] * b[x * n + j];
            assert_true(c[i * n + j] == want);
        }
    end(&f);
}

/* ---- what the shim offers ------------------------------------------------------------------- */

/* out[thread][0..9] */
static const char WARP_TEXT[] =
    "extern \"C\" __global__ void lanes(long long *out) {\n"
    "    const int t = (int)threadIdx.x, lane = t & 31;\n"
    "    long long *o = out + t * 10;\n"
    "    o[0] = __shfl_xor_sync(0xffffffffu, t, 5);\n"
    "    o[1] = __shfl_down_sync(0xffffffffu, t, 3, 8);\n"
    "    o[2] = __shfl_up_sync(0xffffffffu, (double)t, 2);\n"
    "    o[3] = __shfl_sync(0xffffffffu, t, 9, 16);\n"
    "    o[4] = __ballot_sync(0xffffffffu, lane % 3 == 0);\n"
    "    o[5] = __reduce_max_sync(0xffffffffu, -lane);\n"
    "    o[6] = __reduce_add_sync(0xffffffffu, (unsigned)lane);\n"
    "    o[7] = __any_sync(0xffffffffu, lane == 7) + 2 * __all_sync(0xffffffffu, lane < 31);\n"
    "    /* a mask that fewer lanes share */\n"
    "    if (lane < 16)\n"
    "        o[8] = __shfl_xor_sync(0xffffu, t, 1);\n"
    "    else\n"
    "        o[8] = __match_any_sync(0xffff0000u, lane / 8);\n"
    "    o[9] = __syncthreads_count(t % 5 == 0);\n"
    "}\n";

static void test_warp(void **state) {
    struct fix f = begin(WARP_TEXT, (const char *[]){"lanes"}, 1);
    int64_t *out = emu_alloc(f.e, "out", 64 * 10 * 8);
    struct emu_launch l = {
        .kernel = "lanes", .threads = {64}, .args = (void *[]){&out}, .n_args = 1};
    assert_ok(emu_check(f.m, &l));
    for (int t = 0; t < 64; t++) {
        int lane = t & 31, warp = t & ~31;
        const int64_t *o = out + 10 * t;
        assert_int_equal(o[0], t ^ 5);
        assert_int_equal(o[1], lane % 8 < 5 ? t + 3 : t);
        assert_int_equal(o[2], lane < 2 ? t : t - 2);
        assert_int_equal(o[3], warp + (lane & 16) + 9);
        assert_int_equal(o[4], 0x49249249);
        assert_int_equal(o[5], 0);
        assert_int_equal(o[6], 31 * 16);
        assert_int_equal(o[7], 1);
        assert_int_equal(o[8], lane < 16 ? (t ^ 1) : lane < 24 ? 0xff0000 : 0xff000000LL);
        assert_int_equal(o[9], 13);
    }
    end(&f);
}

/* A producer warp hands numbers to a consumer warp through two named barriers. */
static const char NAMED_TEXT[] = "extern \"C\" __global__ void handover(int *out) {\n"
                                 "    __shared__ int slot[32];\n"
                                 "    const int lane = (int)threadIdx.x & 31;\n"
                                 "    for (int i = 0; i < 4; i++)\n"
                                 "        if (threadIdx.x < 32) {\n"
                                 "            if (i > 0) emu_bar_sync(2, 64);\n"
                                 "            slot[lane] = i * 100 + lane;\n"
                                 "            emu_bar_arrive(1, 64);\n"
                                 "        } else {\n"
                                 "            emu_bar_sync(1, 64);\n"
                                 "            out[i * 32 + lane] = slot[31 - lane];\n"
                                 "            if (i < 3) emu_bar_arrive(2, 64);\n"
                                 "        }\n"
                                 "}\n"
                                 "extern \"C\" __global__ void warps(int *out) {\n"
                                 "    __shared__ int slot[64];\n"
                                 "    const int t = (int)threadIdx.x;\n"
                                 "    slot[t] = t;\n"
                                 "    __syncwarp();\n"
                                 "    out[t] = slot[t ^ 1];\n"
                                 "}\n"
                                 "extern \"C\" __global__ void count(int *total, int *slots) {\n"
                                 "    slots[atomicAdd(total, 1)] = 1;\n"
                                 "}\n";

static void test_barriers(void **state) {
    struct fix f = begin(NAMED_TEXT, (const char *[]){"handover", "warps", "count"}, 3);
    int *out = emu_alloc(f.e, "out", 4 * 32 * 4), *two = emu_alloc(f.e, "two", 64 * 4);
    int *total = emu_alloc(f.e, "total", 4);
    struct emu_launch l = {
        .kernel = "handover", .threads = {64}, .args = (void *[]){&out}, .n_args = 1};
    assert_ok(emu_check(f.m, &l));
    for (int i = 0; i < 128; i++) assert_int_equal(out[i], i / 32 * 100 + 31 - i % 32);
    l.kernel = "warps";
    l.args = (void *[]){&two};
    assert_ok(emu_check(f.m, &l));
    for (int i = 0; i < 64; i++) assert_int_equal(two[i], i ^ 1);
    *total = 0;
    struct emu_launch count = {.kernel = "count",
                               .grid = {2},
                               .threads = {32},
                               .args = (void *[]){&total, &two},
                               .n_args = 2,
                               .roles = (enum emu_role[]){EMU_INOUT, EMU_OUT}};
    assert_ok(emu_check(f.m, &count));
    assert_int_equal(*total, 64);
    end(&f);
}

/* Two-dimensional blocks and grids, and atomics on shared memory. */
static const char INDEX_TEXT[] =
    "extern \"C\" __global__ void where(int *out) {\n"
    "    int block = (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));\n"
    "    int thread = (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));\n"
    "    out[block * 60 + thread] = (int)(threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z +\n"
    "                                     1000 * blockIdx.x + 10000 * blockIdx.y);\n"
    "}\n"
    "extern \"C\" __global__ void atomics(int *out) {\n"
    "    __shared__ int s[5];\n"
    "    const int t = (int)threadIdx.x;\n"
    "    if (t < 5) s[t] = 0;\n"
    "    __syncthreads();\n"
    "    atomicAdd(&s[0], t);\n"
    "    atomicMax(&s[1], t);\n"
    "    atomicMin(&s[2], -t);\n"
    "    atomicOr(&s[3], 1 << t % 8);\n"
    "    for (int seen = 0, old; (old = atomicCAS(&s[4], seen, seen + 2)) != seen; seen = old) {}\n"
    "    __syncthreads();\n"
    "    if (t < 5) out[t] = s[t];\n"
    "}\n";

static void test_indices(void **state) {
    struct fix f = begin(INDEX_TEXT, (const char *[]){"where", "atomics"}, 2);
    int *out = emu_alloc(f.e, "out", 6 * 60 * 4), *five = emu_alloc(f.e, "five", 5 * 4);
    struct emu_launch l = {.kernel = "where",
                           .grid = {3, 2},
                           .threads = {5, 4, 3},
                           .args = (void *[]){&out},
                           .n_args = 1};
    assert_ok(emu_check(f.m, &l));
    for (int i = 0; i < 360; i++) {
        int t = i % 60, b = i / 60;
        assert_int_equal(out[i], t % 5 + 10 * (t / 5 % 4) + 100 * (t / 20) + 1000 * (b % 3) +
                                     10000 * (b / 3));
    }
    struct emu_launch atomics = {
        .kernel = "atomics", .threads = {48}, .args = (void *[]){&five}, .n_args = 1};
    assert_ok(emu_check(f.m, &atomics));
    const int want[] = {47 * 24, 47, -47, 255, 96};
    assert_memory_equal(five, want, sizeof want);
    end(&f);
}

/* Every f16 value survives, and the rounding is that of the host's reference. */
static const char ROUND_TEXT[] =
    "extern \"C\" __global__ void round_trip(const k_f32 *x, k_bf16 *b, k_f16 *h, int n) {\n"
    "    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);\n"
    "    if (i >= n) return;\n"
    "    k_store1(b + i, x[i]);\n"
    "    k_store1(h + i, x[i]);\n"
    "}\n";

static void test_rounding(void **state) {
    struct fix f = begin(ROUND_TEXT, (const char *[]){"round_trip"}, 1);
    int n = 20000;
    float *x = emu_alloc(f.e, "x", (size_t)n * 4);
    uint16_t *b = emu_alloc(f.e, "b", (size_t)n * 2), *h = emu_alloc(f.e, "h", (size_t)n * 2);
    for (int i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)i * 214783u; /* all over the floats, NaNs too */
        if (i % 2) bits = (0x33000000u + (uint32_t)i * 13421u) | (uint32_t)(i % 4 == 1) << 31;
        memcpy(x + i, &bits, 4);
    }
    struct emu_launch l = {.kernel = "round_trip",
                           .grid = {(unsigned)(n + 127) / 128},
                           .threads = {128},
                           .args = (void *[]){&x, &b, &h, &n},
                           .n_args = 4};
    assert_ok(emu_check(f.m, &l));
    for (int i = 0; i < n; i++) {
        uint16_t want[2];
        dtype_store(DT_BF16, want, 0, (double)x[i]);
        dtype_store(DT_F16, want, 1, (double)x[i]);
        if (isnan(x[i])) {
            assert_true(b[i] == 0x7fff && h[i] == 0x7fff);
        } else {
            assert_int_equal(b[i], want[0]);
            assert_int_equal(h[i], want[1]);
        }
    }
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),  cmocka_unit_test(test_columns),
        cmocka_unit_test(test_matmul),   cmocka_unit_test(test_warp),
        cmocka_unit_test(test_barriers), cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
