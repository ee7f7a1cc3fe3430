/* The prelude's own helpers, for every element type and pack size: what is loaded, unpacked, packed
 * and stored comes out the same, and rows and columns of every width reduce to the right value. */
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

static const enum dtype TYPES[] = {DT_BOOL, DT_U8,   DT_I8,  DT_I16, DT_I32,    DT_I64,
                                   DT_F16,  DT_BF16, DT_F32, DT_F64, DT_F8E4M3, DT_F8E5M2};
enum { N_TYPES = sizeof TYPES / sizeof *TYPES, MAX_PACK = 16, THREADS = 64, MAX_KERNELS = 192 };

/* Kernels gathered in one text: a batch compiles much faster than one by one. */
struct batch {
    struct arena *a;
    struct emu *e;
    struct buf text;
    const char *names[MAX_KERNELS];
    int n;
    struct emu_module *m;
};

static struct batch begin_with(const char *defines) {
    struct batch b = {.a = arena_new(), .e = emu_new()};
    b.text = buf_new(b.a);
    buf_puts(&b.text, defines);
    buf_puts(&b.text, prelude_cuda);
    return b;
}

static struct batch begin(void) { return begin_with(""); }

static const char *add_kernel(struct batch *b, const char *params, const char *body) {
    assert_true(b->n < MAX_KERNELS);
    const char *name = b->names[b->n] = arena_printf(b->a, "kernel%d", b->n);
    b->n++;
    buf_printf(&b->text, "extern \"C\" __global__ void %s(%s) {\n%s}\n", name, params, body);
    return name;
}

static void compile(struct batch *b) {
    struct diag d = diag_new(b->a);
    b->m = emu_open(b->e, b->text.p, b->names, b->n, &d);
    if (!b->m) fail_msg("%s", d.text);
}

static void end(struct batch *b) {
    emu_free(b->e);
    arena_free(b->a);
}

static void check(struct batch *b, const char *kernel, unsigned threads, void **args, int n) {
    struct emu_launch l = {
        .kernel = kernel, .threads = {threads}, .shared = 8192, .args = args, .n_args = n};
    struct emu_report r = emu_check(b->m, &l);
    if (!r.ok) fail_msg("%s", r.message);
}

/* Values that each type holds: small ones, and for wide types some that need all bits. */
static double value(enum dtype t, size_t i) {
    if (t == DT_BOOL) return i % 3 == 0;
    if (t == DT_I64) return (double)((int64_t)i - 70) * 1099511627777.0;
    if (t == DT_F64) return ((double)i - 70) / 3;
    if (t == DT_I32) return ((double)i - 70) * 16777217;
    if (dtype_is_narrow(t)) return ((double)i - 70) * 257; /* the low bits of these */
    return ((double)i - 70) / 4;
}

static void test_packs(void **state) {
    struct batch b = begin();
    const char *names[N_TYPES][MAX_PACK + 1] = {{0}};
    for (int t = 0; t < N_TYPES; t++)
        for (int n = 1; n <= MAX_PACK && n * dtype_bytes(TYPES[t]) <= 32; n *= 2) {
            const char *type = dtype_name(TYPES[t]);
            names[t][n] = add_kernel(
                &b, arena_printf(b.a, "const k_%s *x, k_%s *y", type, type),
                arena_printf(b.a,
                             "    k_pack<k_%s, %d> p = k_load<k_%s, %d>(x + threadIdx.x * %d), q;\n"
                             "    k_math<k_%s>::type v[%d];\n"
                             "    for (int i = 0; i < %d; i++) v[i] = k_get(p, i);\n"
                             "    k_put(q, v);\n"
                             "    k_store<k_%s, %d, 1>(y + threadIdx.x * %d, q);\n",
                             type, n, type, n, n, type, n, n, type, n, n));
        }
    compile(&b);
    for (int t = 0; t < N_TYPES; t++)
        for (int n = 1; n <= MAX_PACK; n *= 2) {
            if (!names[t][n]) continue;
            size_t bytes = (size_t)(THREADS * n * dtype_bytes(TYPES[t]));
            void *x = emu_alloc(b.e, "x", bytes), *y = emu_alloc(b.e, "y", bytes);
            for (size_t i = 0; i < (size_t)(THREADS * n); i++)
                dtype_store(TYPES[t], x, i, value(TYPES[t], i));
            check(&b, names[t][n], THREADS, (void *[]){&x, &y}, 2);
            assert_memory_equal(x, y, bytes);
            emu_release(b.e, x);
            emu_release(b.e, y);
        }
    end(&b);
}

/* ---- reductions ----------------------------------------------------------------------------- */

static const char *const OPS[] = {"sum", "amax", "amin"};
enum { N_OPS = 3, MAX_THREADS_OF_ROW = 256 };

static double combine(int op, double a, double b) {
    return op == 0 ? a + b : op == 1 ? fmax(a, b) : fmin(a, b);
}

/* T1 threads make a row, 256/T1 rows a block; x[thread] is its value, y[thread] its row's. */
static void add_reduction(struct batch *b, const char *type, const char *op, const char *call) {
    add_kernel(b, arena_printf(b->a, "const k_%s *x, k_%s *y", type, type),
               arena_printf(b->a,
                            "    extern __shared__ __align__(16) unsigned char k_smem[];\n"
                            "    k_%s *const smem = (k_%s *)k_smem;\n"
                            "    k_%s v = k_load1(x + threadIdx.x);\n"
                            "    typedef k_%s OP;\n"
                            "    %s;\n"
                            "    k_store1(y + threadIdx.x, v);\n",
                            type, type, type, op, call));
}

static void check_reduction(struct batch *b, const char *kernel, enum dtype t, int op, int t1,
                            bool rows) {
    enum { N = MAX_THREADS_OF_ROW };
    void *x = emu_alloc(b->e, "x", N * 8), *y = emu_alloc(b->e, "y", N * 8);
    for (size_t i = 0; i < N; i++) dtype_store(t, x, i, (double)((int)(i * 37 % 101) - 50));
    struct emu_launch l = {.kernel = kernel,
                           .threads = {N},
                           .shared = N * 8,
                           .args = (void *[]){&x, &y},
                           .n_args = 2,
                           .roles = (enum emu_role[]){EMU_IN, EMU_SCRATCH}};
    struct emu_report r = emu_check(b->m, &l);
    if (!r.ok) fail_msg("%s", r.message);
    for (int i = 0; i < N; i++) {
        /* a row's threads are adjacent, or 256/T1 apart */
        int step = rows ? 1 : N / t1, first = rows ? i / t1 * t1 : i % (N / t1);
        double want = dtype_load(t, x, (size_t)first);
        for (int k = 1; k < t1; k++)
            want = combine(op, want, dtype_load(t, x, (size_t)(first + k * step)));
        if (dtype_load(t, y, (size_t)i) != want)
            fail_msg("%s: thread %d has %g, not %g", kernel, i, dtype_load(t, y, (size_t)i), want);
    }
    emu_release(b->e, x);
    emu_release(b->e, y);
}

static void reductions(bool rows) {
    static const enum dtype REDUCED[] = {DT_F32, DT_I64, DT_F64};
    struct batch b = begin();
    for (int t = 0; t < 3; t++)
        for (int op = 0; op < N_OPS; op++)
            for (int t1 = 1; t1 <= MAX_THREADS_OF_ROW; t1 *= 4)
                add_reduction(&b, dtype_name(REDUCED[t]), OPS[op],
                              rows ? arena_printf(b.a, "v = k_reduce_row<OP, %d>(v, smem)", t1)
                                   : arena_printf(b.a, "k_reduce_columns<OP, %d, %d, 1>(&v, smem)",
                                                  MAX_THREADS_OF_ROW / t1, t1));
    compile(&b);
    int k = 0;
    for (int t = 0; t < 3; t++)
        for (int op = 0; op < N_OPS; op++)
            for (int t1 = 1; t1 <= MAX_THREADS_OF_ROW; t1 *= 4)
                check_reduction(&b, b.names[k++], REDUCED[t], op, t1, rows);
    end(&b);
}

static void test_rows(void **state) { reductions(true); }
static void test_columns(void **state) { reductions(false); }

/* ---- lists ----------------------------------------------------------------------------------- */

enum { LISTING = 96, EACH = 3, SOURCES = 1000 };

/* What threads find is listed in the order of the sources, from none of a step to all of it. */
static void test_lists(void **state) {
    struct batch b = begin();
    const char *kernel = add_kernel(
        &b, "const k_i32 *x, k_i32 *y, int sources",
        arena_printf(b.a,
                     "    extern __shared__ unsigned char k_smem[];\n"
                     "    int *hits = (int *)k_smem, *places = hits + %d, *counts = places + %d;\n"
                     "    int n = 0;\n"
                     "    for (int from = 0; from < sources; from += %d) {\n"
                     "        unsigned found = 0;\n"
                     "        int place[%d];\n"
                     "        for (int i = 0; i < %d; i++) {\n"
                     "            int r = from + (threadIdx.x / 32 * %d + i) * 32 + threadIdx.x %% "
                     "32;\n"
                     "            place[i] = r < sources ? k_load1(x + r) : 0;\n"
                     "            found |= (unsigned)(place[i] != 0) << i;\n"
                     "        }\n"
                     "        n = k_list_hits<%d, %d>(found, place, from, n, hits, places, "
                     "counts);\n"
                     "    }\n"
                     "    if (threadIdx.x == 0) k_store1(y, n);\n"
                     "    for (int i = threadIdx.x; i < %d; i += %d)\n"
                     "        k_store1(y + 1 + i, i < n ? hits[i] * 8 + places[i] : 0);\n",
                     SOURCES, SOURCES, LISTING * EACH, EACH, EACH, EACH, LISTING, EACH, SOURCES,
                     LISTING));
    compile(&b);
    int32_t *x = emu_alloc(b.e, "x", SOURCES * 4), *y = emu_alloc(b.e, "y", (SOURCES + 1) * 4);
    int sources = SOURCES;
    for (int every = 1; every <= SOURCES + 1; every = every < 8 ? every + 1 : every * 11) {
        int n = 0;
        for (int r = 0; r < SOURCES; r++) x[r] = (r + 1) % every == 0 ? 1 + r % 7 : 0;
        check(&b, kernel, LISTING, (void *[]){&x, &y, &sources}, 3);
        for (int r = 0; r < SOURCES; r++)
            if (x[r] && y[1 + n++] != r * 8 + x[r])
                fail_msg("entry %d of every %d is %d, not %d", n - 1, every, y[n], r * 8 + x[r]);
        assert_int_equal(y[0], n);
    }
    end(&b);
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* What blocks that run side by side leave for the last of them to begin, in one word and in more.
 */
static const struct {
    const char *type, *part, *of; /* the part of a block whose number is x; x of part p */
} PARTS[] = {
    {"bool", "x != 3", "p * x"},
    {"float", "x", "p"},
    {"double", "x * 1073741825.0", "(float)(p / 1073741825.0)"},
    {"long long", "(long long)x << 33 | 5", "(p & 7) == 5 ? (float)(p >> 33) : -1"},
    {"k_m2_state<float>", "k_m2_state<float>{x, 1, 2, 3 * x}", "p.squares - 2 * p.n"},
};
enum { N_PARTS = sizeof PARTS / sizeof *PARTS, PART_BLOCKS = 13, TAKERS = 3, AT_ONCE = 2 };

static void test_parts(void **state) {
    struct batch b = begin();
    for (int i = 0; i < N_PARTS; i++) {
        const char *t = PARTS[i].type;
        add_kernel(
            &b, "const k_f32 *numbers, k_f32 *y, unsigned *tickets",
            arena_printf(
                b.a,
                "    const unsigned drawn = k_draw(tickets, %d);\n"
                "    unsigned long long *const words = (unsigned long long *)(tickets + 2);\n"
                "    float x = k_load1(numbers + blockIdx.x);\n"
                "    for (int i = blockIdx.x %% 3; i < 2; i++) /* some are late */\n"
                "        for (int k = 0; k < 8; k++) __syncthreads();\n"
                "    if (threadIdx.x == 40)\n"
                "        k_leave_part(words + blockIdx.x, %d, (%s)(%s));\n"
                "    if (!k_has_drawn_last(drawn, %d) || threadIdx.x >= %d) return;\n"
                "    for (int s = threadIdx.x; s < %d; s += %d) {\n"
                "        k_left<%s, %d> left;\n"
                "        while (k_look_at_parts<%d>(left, words + s, %d, %d - s),\n"
                "               !k_are_there(1, left))\n"
                "            k_look_away();\n"
                "        for (int u = 0; u < %d && s + u * %d < %d; u++) {\n"
                "            const %s p = k_part(left, u);\n"
                "            x = k_load1(numbers + s + u * %d);\n"
                "            k_store1(y + s + u * %d, %s);\n"
                "        }\n"
                "        k_clear_parts<%d>(left, words + s, %d, %d - s);\n"
                "    }\n",
                PART_BLOCKS, PART_BLOCKS, t, PARTS[i].part, PART_BLOCKS, TAKERS, PART_BLOCKS,
                TAKERS * AT_ONCE, t, AT_ONCE, TAKERS, PART_BLOCKS, PART_BLOCKS, AT_ONCE, TAKERS,
                PART_BLOCKS, t, TAKERS, TAKERS, PARTS[i].of, TAKERS, PART_BLOCKS, PART_BLOCKS));
    }
    compile(&b);
    enum { BYTES = 8 + PART_BLOCKS * 4 * 8 }; /* a counter, and words of the largest */
    float *x = emu_alloc(b.e, "x", PART_BLOCKS * 4), *y = emu_alloc(b.e, "y", PART_BLOCKS * 4);
    unsigned char *tickets = emu_alloc(b.e, "tickets", BYTES);
    memset(tickets, 0, BYTES);
    for (int i = 0; i < PART_BLOCKS; i++) x[i] = (float)i;
    for (int i = 0; i < N_PARTS * 2; i++) { /* the second launch finds what the first has left */
        struct emu_launch l = {.kernel = b.names[i / 2],
                               .grid = {PART_BLOCKS},
                               .cluster = i % 2 ? 1 : PART_BLOCKS, /* which run side by side */
                               .threads = {THREADS},
                               .args = (void *[]){&x, &y, &tickets},
                               .n_args = 3,
                               .roles = (enum emu_role[]){EMU_IN, EMU_OUT, EMU_INOUT},
                               .blocks_communicate = true};
        struct emu_report r = emu_check(b.m, &l);
        if (!r.ok) fail_msg("%s: %s", PARTS[i / 2].type, r.message);
        for (int k = 0; k < PART_BLOCKS; k++)
            if (y[k] != (i / 2 == 0 && k == 3 ? 0 : x[k]))
                fail_msg("%s: part %d has %g", PARTS[i / 2].type, k, (double)y[k]);
        for (int k = 0; k < BYTES; k++)
            if (tickets[k]) fail_msg("%s: byte %d is not 0 again", PARTS[i / 2].type, k);
    }
    end(&b);
}

/* ---- maths ---------------------------------------------------------------------------------- */

struct maths {
    const char *of;
    double (*want)(double);
    double from, to;
    double slope; /* relative error of the result per unit of the argument, in 2^-24 */
};

static double sigmoid(double a) { return 1 / (1 + exp(-a)); }
static double reciprocal_root(double a) { return 1 / sqrt(a); }
static double relu(double a) { return a > 0 ? a : 0; }
static double ndtr(double a) { return erfc(-a / sqrt(2)) / 2; }

static const struct maths MATHS[] = {
    {"k_exp", exp, -87, 88, 1},         {"k_exp2", exp2, -126, 127, 0},
    {"k_log", log, 1e-6, 1e6, 0},       {"k_sqrt", sqrt, 0, 1e6, 0},
    {"k_sin", sin, -9, 9, 0},           {"k_rsqrt", reciprocal_root, 1e-6, 1e6, 0},
    {"k_cos", cos, -9, 9, 0},           {"k_tanh", tanh, -9, 9, 0},
    {"k_erf", erf, -4, 4, 0},           {"k_abs", fabs, -4, 4, 0},
    {"k_sigmoid", sigmoid, -30, 30, 1}, {"k_relu", relu, -4, 4, 0},
    {"k_ndtr", ndtr, -12, 12, 10},      {"k_tan", tan, -9, 9, 0},
    {"k_sin", sin, -7e4, 6.6e4, 0},     {"k_sin", sin, -3e38, 2e38, 0},
    {"k_cos", cos, -7e4, 6.6e4, 0},     {"k_cos", cos, -1e20, 3e22, 0},
    {"k_sin", sin, 1.5697, 1.5719, 0},  {"k_cos", cos, -1e-3, 1e-3, 0},
    {"k_tan", tan, -7e4, 6.6e4, 0},     {"k_tan", tan, -3e30, 3e38, 0},
    {"k_log1p", log1p, -1, 2, 0},       {"k_log1p", log1p, 0, 3.4e38, 0},
    {"k_log1p", log1p, -1e-6, 1e-6, 0},
};
enum { N_MATHS = sizeof MATHS / sizeof *MATHS };

static void add_function(struct batch *b, const char *f) {
    add_kernel(
        b, "const k_f32 *x, k_f32 *y",
        arena_printf(b->a, "    k_store1(y + threadIdx.x, %s(k_load1(x + threadIdx.x)));\n", f));
}

static void test_maths(void **state) {
    struct batch b = begin();
    for (int i = 0; i < N_MATHS; i++) add_function(&b, MATHS[i].of);
    compile(&b);
    float *x = emu_alloc(b.e, "x", THREADS * 4), *y = emu_alloc(b.e, "y", THREADS * 4);
    for (int i = 0; i < N_MATHS; i++) {
        const struct maths *m = &MATHS[i];
        for (int t = 0; t < THREADS; t++)
            x[t] = (float)(m->from + (m->to - m->from) * t / (THREADS - 1));
        check(&b, b.names[i], THREADS, (void *[]){&x, &y}, 2);
        for (int t = 0; t < THREADS; t++) {
            double want = m->want((double)x[t]);
            if ((m->want == sin || m->want == cos) && fabsf(y[t]) > 1)
                fail_msg("%s(%a) is %a", m->of, (double)x[t], (double)y[t]);
            if ((double)y[t] == want) continue; /* infinities, too */
            double relative = 4e-7 + ldexp(m->slope * fabs((double)x[t]), -24);
            if (!(fabs((double)y[t] - want) <= relative * fabs(want) + 1e-37))
                fail_msg("%s(%a) is %a, not %a", m->of, (double)x[t], (double)y[t], want);
        }
    }
    end(&b);
}

/* What log1p has no series for. */
static void test_log1p_of_anything(void **state) {
    static const float of[] = {-1, -1.5f, -INFINITY, INFINITY, NAN, 0, -0.0f, 1e-45f, -1e-45f};
    enum { N = sizeof of / sizeof *of };
    struct batch b = begin();
    add_function(&b, "k_log1p");
    compile(&b);
    float *x = emu_alloc(b.e, "x", sizeof of), *y = emu_alloc(b.e, "y", sizeof of);
    memcpy(x, of, sizeof of);
    check(&b, b.names[0], N, (void *[]){&x, &y}, 2);
    for (int i = 0; i < N; i++) {
        float want = log1pf(of[i]);
        bool same = want != want ? y[i] != y[i] : y[i] == want && !signbit(y[i]) == !signbit(want);
        if (!same) fail_msg("k_log1p(%a) is %a, not %a", (double)of[i], (double)y[i], (double)want);
    }
    end(&b);
}

/* Where outputs are bf16, which rounds by up to 2e-3. */
static void test_maths_of_few_digits(void **state) {
    static const struct {
        const char *of;
        double (*want)(double);
        double relative, absolute, apart; /* of what it is asked of */
    } few[] = {{"k_ndtr", ndtr, 1.2e-3, 1e-8, 0.25}, {"k_log", log, 1.1e-5, 1e-9, 0.25},
               {"k_log1p", log1p, 1.1e-5, 0, 0.25},  {"k_sin", sin, 1.2e-6, 3e-10, 0.037},
               {"k_sin", sin, 1.2e-6, 1e-9, 1031.7}, {"k_sin", sin, 1.2e-6, 1e-9, 1e30},
               {"k_cos", cos, 0, 3e-7, 0.037},       {"k_cos", cos, 0, 3e-7, 1031.7}};
    enum { N = sizeof few / sizeof *few };
    struct batch b = begin_with("#define K_OUTPUT_DIGITS 8\n");
    for (int i = 0; i < N; i++) add_function(&b, few[i].of);
    compile(&b);
    float *x = emu_alloc(b.e, "x", THREADS * 4), *y = emu_alloc(b.e, "y", THREADS * 4);
    for (int i = 0; i < N; i++) {
        for (int t = 0; t < THREADS; t++) x[t] = (float)((t - THREADS / 2) * few[i].apart);
        x[0] = -INFINITY, x[1] = INFINITY, x[2] = -1e30f, x[3] = 1e30f, x[4] = NAN, x[5] = 1e-40f;
        for (int t = 6; t < 20; t++) x[t] = (float)(t % 2 ? 1 + ldexp(1, -t) : -ldexp(1, -t));
        check(&b, b.names[i], THREADS, (void *[]){&x, &y}, 2);
        for (int t = 0; t < THREADS; t++) {
            double want = few[i].want((double)x[t]), got = (double)y[t];
            bool same = got == want || (got != got && want != want);
            if ((few[i].want == sin || few[i].want == cos) && fabs(got) > 1)
                fail_msg("%s(%a) is %a", few[i].of, (double)x[t], got);
            if (!same && !(fabs(got - want) <= few[i].relative * fabs(want) + few[i].absolute))
                fail_msg("%s(%a) is %a, not %a", few[i].of, (double)x[t], got, want);
        }
    }
    end(&b);
}

/* Where waves are divided by, or rounded down: cosines near 0 and 1, with outputs of 16 bits. */
static void test_full_waves(void **state) {
    static const float at[] = {0,           1e-5f, 1.57079637f,  1.5708f,
                               4.71238899f, 1.5f,  -1.57079637f, 33000};
    enum { N = sizeof at / sizeof *at };
    struct batch b = begin_with("#define K_OUTPUT_DIGITS 8\n#define K_FULL_WAVES\n");
    add_function(&b, "k_cos");
    compile(&b);
    float *x = emu_alloc(b.e, "x", THREADS * 4), *y = emu_alloc(b.e, "y", THREADS * 4);
    for (int t = 0; t < THREADS; t++) x[t] = at[t % N];
    check(&b, b.names[0], THREADS, (void *[]){&x, &y}, 2);
    for (int t = 0; t < N; t++) {
        double want = cos((double)x[t]), got = (double)y[t];
        if ((x[t] == 0 && got != 1) || !(fabs(got - want) <= 1e-3 * fabs(want)))
            fail_msg("cos(%a) is %a, not %a", (double)x[t], got, want);
    }
    end(&b);
}

/* Of the bf16 below a maximum, up to the largest there are. */
static void test_exp_below(void **state) {
    static const float maxima[] = {
        0, 3, -200, 8128, -8192, 1e5f, 3.3895314e38f, -3.3895314e38f, INFINITY};
    enum { N = sizeof maxima / sizeof *maxima };
    struct batch b = begin();
    add_kernel(
        &b, "const k_bf16 *x, const k_bf16 *m, k_f32 *y",
        "    k_store1(y + threadIdx.x, k_exp_below(k_load1(x + threadIdx.x), k_load1(m)));\n");
    compile(&b);
    uint16_t *x = emu_alloc(b.e, "x", THREADS * 2), *m = emu_alloc(b.e, "m", 2);
    float *y = emu_alloc(b.e, "y", THREADS * 4);
    for (int i = 0; i < N; i++) {
        dtype_store(DT_BF16, m, 0, (double)maxima[i]);
        double most = dtype_load(DT_BF16, m, 0);
        for (int t = 0; t < THREADS; t++) dtype_store(DT_BF16, x, (size_t)t, most - t / 4.0);
        dtype_store(DT_BF16, x, 1, -INFINITY);
        dtype_store(DT_BF16, x, 2, -3.3895313892515355e38);
        dtype_store(DT_BF16, x, 3, NAN);
        check(&b, b.names[0], THREADS, (void *[]){&x, &m, &y}, 3);
        for (int t = 0; t < THREADS; t++) {
            double a = dtype_load(DT_BF16, x, (size_t)t), want = exp(a - most), got = (double)y[t];
            double relative = 4e-7 + ldexp(fmin(fabs(most), 8192) + fmin(most - a, 100), -24);
            bool same = got == want || (got != got && want != want);
            if (!same && !(fabs(got - want) <= relative * want + 1e-19))
                fail_msg("k_exp_below(%a, %a) is %a, not %a", a, most, got, want);
        }
    }
    end(&b);
}

/* Rows that begin anywhere in a sector, one end of memory's row among their octets, or none: after
 * each octet no sector is stored in part but those where a row of memory begins or ends. */
static void test_sectors(void **state) {
    enum { ROWS = 8, OCTETS = 9, ENDS = 40, PITCH = 250, ALL = ROWS * PITCH };
    struct batch b = begin();
    for (int ends = 0; ends < 2; ends++)
        add_kernel(
            &b, "k_f32 *y, k_f32 *parts",
            arena_printf(
                b.a,
                "    const int row = threadIdx.x / 4, q = threadIdx.x %% 4;\n"
                "    k_rest<k_f32> rest = {};\n"
                "    for (int i = threadIdx.x; i < 2000; i += 32) k_store1(y + i, 0);\n"
                "    __syncthreads();\n"
                "    for (int g = 0; g <= 9; g++) {\n"
                "        const int n = g * 8 + q * 2, at = row * 250 + n + (n < 40 ? 0 : %d);\n"
                "        const float v[2] = {n + 1.0f, n + 2.0f};\n"
                "        k_pack<k_f32, 2> x;\n"
                "        k_put(x, v);\n"
                "        if (g < 9) k_store_sectors<%s, 0>(rest, y + at, x, row != 5 || n != 4);\n"
                "        else k_store_rest<0>(rest);\n"
                "        __syncthreads();\n"
                "        int parted = 0;\n"
                "        for (int i = row * 250 & ~7; i < row * 250 + 250 && q == 0; i += 8) {\n"
                "            int there = 0;\n"
                "            for (int j = i; j < i + 8; j++)\n"
                "                if (j >= row * 250 && j < row * 250 + 250) there += y[j] != 0;\n"
                "            parted += there > 0 && there < 8;\n"
                "        }\n"
                "        if (q == 0 && g < 9) k_store1(parts + row * 9 + g, (float)parted);\n"
                "        __syncthreads();\n"
                "    }\n",
                ends ? 50 : 0, ends ? "true" : "false"));
    compile(&b);
    float *y = emu_alloc(b.e, "y", ALL * 4), *parts = emu_alloc(b.e, "parts", ROWS * OCTETS * 4);
    for (int ends = 0; ends < 2; ends++) {
        check(&b, b.names[ends], ROWS * 4, (void *[]){&y, &parts}, 2);
        for (int i = 0; i < ROWS * OCTETS * 8; i++) {
            int row = i / (OCTETS * 8), n = i % (OCTETS * 8);
            bool there = row != 5 || n / 2 != 2;
            float want = there ? (float)(n + 1) : 0,
                  got = y[row * PITCH + n + (ends && n >= ENDS ? 50 : 0)];
            if (got != want)
                fail_msg("row %d, column %d: %g, not %g", row, n, (double)got, (double)want);
            int most = ends && n >= ENDS ? 3 : 1;
            if (row != 5 && parts[row * OCTETS + n / 8] > (float)most)
                fail_msg("row %d, octet %d: %g sectors in part", row, n / 8,
                         (double)parts[row * OCTETS + n / 8]);
        }
    }
    end(&b);
}

/* Rows of 16 bits of all lengths that begin anywhere in a sector, each elsewhere, as 133 columns
 * have them, or by words, as 134: what lies beside a row stays, and of the sectors that lie in it
 * each is stored at once. */
static void test_moved_rows(void **state) {
    (void)state;
    enum { ROWS = 8, STARTS = 16, LENGTHS = 12, PITCH = 134, CASE = 1104, PLACES = CASE * STARTS };
    static const int length[LENGTHS] = {-3, 0, 1, 2, 7, 8, 15, 16, 31, 33, 63, 64};
    struct batch b = begin();
    for (int kind = 0; kind < 4; kind++) {
        int octets = kind / 2 ? 2 : 4, pairs = kind % 2;
        add_kernel(
            &b, "k_bf16 *y, k_f32 *parts, int columns",
            arena_printf(
                b.a,
                "    const int row = threadIdx.x / 4, q = threadIdx.x %% 4;\n"
                "    for (int start = 0; start < 16; start++) {\n"
                "        k_bf16 *const first = y + start * 1104 + start / %d * %d + row * %d;\n"
                "        for (int i = threadIdx.x; i < 1104; i += 32)\n"
                "            k_store1(y + start * 1104 + i, 0);\n"
                "        __syncthreads();\n"
                "        k_moved moved = k_not_moved();\n"
                "        int parted = 0;\n"
                "        for (int g = 0; g <= %d; g++) {\n"
                "            float v[8];\n"
                "            for (int i = 0; i < 8; i++)\n"
                "                v[i] = g * %d + i / 2 * 8 + q * 2 + i %% 2 + 1;\n"
                "            if (g < %d)\n"
                "                k_store_row<%d, %d, 0>(moved, first, columns, g, v);\n"
                "            else\n"
                "                k_end_row<%d, %d, 0>(moved, first, columns, g);\n"
                "            __syncthreads();\n"
                "            const int skew = (unsigned long long)first / 2 %% 16;\n"
                "            for (int i = (16 - skew) %% 16; i + 16 <= columns; i += 16) {\n"
                "                int there = 0;\n"
                "                for (int j = i; j < i + 16; j++)\n"
                "                    there += k_load1_now(first + j) != 0;\n"
                "                parted += there > 0 && there < 16;\n"
                "            }\n"
                "            __syncthreads();\n"
                "        }\n"
                "        if (q == 0) k_store1(parts + start * 8 + row, (float)parted);\n"
                "    }\n",
                1 + pairs, 1 + pairs, PITCH - 1 + pairs, 8 / octets, octets * 8, 8 / octets, octets,
                pairs, octets, pairs));
    }
    compile(&b);
    uint16_t *y = emu_alloc(b.e, "y", PLACES * 2);
    float *parts = emu_alloc(b.e, "parts", STARTS * ROWS * 4);
    for (int kind = 0; kind < 4; kind++)
        for (int l = 0; l < LENGTHS; l++) {
            int columns = length[l], pairs = kind % 2, pitch = PITCH - 1 + pairs;
            check(&b, b.names[kind], ROWS * 4, (void *[]){&y, &parts, &columns}, 3);
            for (int start = 0; start < STARTS; start++)
                for (int i = 0; i < CASE; i++) {
                    int at = i - start / (1 + pairs) * (1 + pairs), row = at < 0 ? -1 : at / pitch,
                        n = at - row * pitch;
                    bool is = row >= 0 && row < ROWS && n < columns;
                    double want = is ? n + 1 : 0,
                           got = dtype_load(DT_BF16, y, (size_t)(start * CASE + i));
                    if (got != want)
                        fail_msg("kind %d, %d columns from %d on, row %d, column %d: %g, not %g",
                                 kind, columns, start, row, n, got, want);
                    if (is && parts[start * ROWS + row] > 0)
                        fail_msg("kind %d, %d columns from %d on, row %d: sectors in part", kind,
                                 columns, start, row);
                }
        }
    end(&b);
}

/* Lists of tiles, of which a block has one each, and the last one to come those that are left:
 * every third tile of the first list has nothing, the others all or some; of the second one no tile
 * has anything, so that the fifth stays. */
static void test_listed(void **state) {
    (void)state;
    enum { LISTS = 2, TILES = 70, LENGTH = TILES + 1, FIRST = 5 };
    struct batch b = begin();
    add_kernel(&b, "int *lists, unsigned *tickets",
               arena_printf(b.a,
                            "    const int list = blockIdx.x / %d, tile = blockIdx.x %% %d;\n"
                            "    const bool some = !list && tile %% 3 && threadIdx.x == 7;\n"
                            "    const bool others = tile %% 3 != 1 && threadIdx.x == 40;\n"
                            "    k_list_tile(lists + list * %d, tickets + list, tile, %d, some,\n"
                            "                others, %d);\n",
                            TILES, TILES, LENGTH, TILES, FIRST));
    compile(&b);
    int *lists = emu_alloc(b.e, "lists", LISTS * LENGTH * 4), n = 0;
    unsigned *tickets = emu_alloc(b.e, "tickets", LISTS * 4);
    memset(tickets, 0, LISTS * 4);
    for (int i = 0; i < 2; i++) { /* the second launch finds what the first has left */
        struct emu_launch l = {.kernel = b.names[0],
                               .grid = {LISTS * TILES},
                               .threads = {THREADS},
                               .args = (void *[]){&lists, &tickets},
                               .n_args = 2,
                               .roles = (enum emu_role[]){EMU_OUT, EMU_INOUT},
                               .blocks_communicate = true};
        struct emu_report r = emu_check(b.m, &l);
        if (!r.ok) fail_msg("%s", r.message);
        assert_int_equal(tickets[0] | tickets[1], 0);
    }
    for (int tile = 0; tile < TILES; tile++)
        if (tile % 3) assert_int_equal(lists[++n], tile * 2 + (tile % 3 == 1));
    assert_int_equal(lists[0], n);
    assert_int_equal(lists[LENGTH], 1);
    assert_int_equal(lists[LENGTH + 1], FIRST * 2);
    end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packs),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_maths),
        cmocka_unit_test(test_log1p_of_anything),
        cmocka_unit_test(test_maths_of_few_digits),
        cmocka_unit_test(test_full_waves),
        cmocka_unit_test(test_exp_below),
        cmocka_unit_test(test_sectors),
        cmocka_unit_test(test_moved_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
