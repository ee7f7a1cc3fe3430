/* The functions of the C kernels' prelude, scalar and by whole vectors, as this machine's compiler
 * makes them, against long double: bit patterns from all of f32, NaN and infinities among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "runtime/runtime.h"

enum { APART = 21001, N = 204528 /* bit patterns so far apart, a multiple of 16 */ };

/* FUNCTION(name, exact value, bound in units in the last place) */
#define FUNCTIONS(F)                                                                               \
    F(exp, expl(a), 2.2)                                                                           \
    F(exp2, exp2l(a), 2.2)                                                                         \
    F(erf, erfl(a), 1.3)                                                                           \
    F(tanh, tanhl(a), 2.0)                                                                         \
    F(log, logl(a), 1.0)                                                                           \
    F(log2, log2l(a), 2.0)                                                                         \
    F(log10, log10l(a), 2.0)                                                                       \
    F(log1p, log1pl(a), 2.0)                                                                       \
    F(expm1, expm1l(a), 2.0)                                                                       \
    F(sin, sinl(a), 2.0)                                                                           \
    F(cos, cosl(a), 2.0)                                                                           \
    F(tan, tanl(a), 3.5)                                                                           \
    F(atan, atanl(a), 2.5)                                                                         \
    F(floor, floorl(a), 0)                                                                         \
    F(ceil, ceill(a), 0)                                                                           \
    F(round, rintl(a), 0)                                                                          \
    F(trunc, truncl(a), 0)                                                                         \
    F(sign, (a > 0) - (a < 0), 0)                                                                  \
    F(ndtr, erfcl(-a *sqrtl(0.5L)) / 2, 130 /* at -13 z^2 is rounded to 1e-5 */)                   \
    F(sigmoid, 1 / (1 + expl(-a)), 3.0)                                                            \
    F(sqrt, sqrtl(a), 0.51)                                                                        \
    F(rsqrt, 1 / sqrtl(a), 1.51)                                                                   \
    F(relu, a != a || a > 0 ? a : 0, 0)                                                            \
    F(abs, fabsl(a), 0)

/* POWER(name, exact value, what is raised, to what): by vectors, by numbers v */
#define POWERS(P)                                                                                  \
    P(pow34, powl(a, 0.75L), v, k_like(v, 0.75f))                                                  \
    P(pow_minus, powl(a, -1.7F), v, k_like(v, -1.7f))                                              \
    P(pow_3, powl(a, 3), v, k_like(v, 3.0f))                                                       \
    P(pow_of, powl(1.3F, a), k_like(v, 1.3f), v)                                                   \
    P(pow_self, powl(a, a), v, v)

static const char entries[] =
    "#define k_like(v, x) _Generic((v), float: (x), default: k_splat(x))\n"
    "#define POWER(f, a, b) \\\n"
    "void vector_##f(void *const *args) { \\\n"
    "    const float *x = *(float **)args[0]; float *y = *(float **)args[1]; \\\n"
    "    for (int i = 0; i < 204528; i += K_LANES) { \\\n"
    "        const k_v v = k_load_v(x + i); k_store_v(y + i, k_pow(a, b)); \\\n"
    "    } \\\n"
    "} \\\n"
    "void scalar_##f(void *const *args) { \\\n"
    "    const float *x = *(float **)args[0]; float *y = *(float **)args[1]; \\\n"
    "    for (int i = 0; i < 204528; i++) { const float v = x[i]; y[i] = k_pow(a, b); } \\\n"
    "}\n"
#define P(name, exact, x, y) "POWER(" #name ", " #x ", " #y ")\n"
    POWERS(P)
#undef P
        "#define ENTRY(f) \\\n"
        "void vector_##f(void *const *args) { \\\n"
        "    const float *x = *(float **)args[0]; float *y = *(float **)args[1]; \\\n"
        "    for (int i = 0; i < 204528; i += K_LANES) k_store_v(y + i, k_##f(k_load_v(x + i))); "
        "\\\n"
        "} \\\n"
        "void scalar_##f(void *const *args) { \\\n"
        "    const float *x = *(float **)args[0]; float *y = *(float **)args[1]; \\\n"
        "    for (int i = 0; i < 204528; i++) y[i] = k_##f(x[i]); \\\n"
        "}\n"
#define F(name, ...) "ENTRY(" #name ")\n"
    FUNCTIONS(F)
#undef F
        "void partial(void *const *args) {\n" /* of every length: lanes past n stay as they were */
        "    float *x = *(float **)args[0], *y = *(float **)args[1];\n"
        "    for (int n = 0; n <= K_LANES; n++) {\n"
        "        k_v old = k_splat(7.0f), v = k_load_n(x, n);\n"
        "        k_store_v(y, old); k_store_n(y, v, n); y += K_LANES;\n"
        "        k_store_v(y, k_first_n(v, old, n)); y += K_LANES;\n"
        "    }\n"
        "}\n"
        "void scans(void *const *args) {\n"
        "    float *x = *(float **)args[0], *y = *(float **)args[1];\n"
        "    k_v v = k_load_v(x);\n"
        "    k_store_v(y, k_scan_sum(v)), k_store_v(y + 16, k_scan_amin(k_splat(9.0f) - v));\n"
        "    k_store_v(y + 32, k_last(v)), v[2] = k_nan(), k_store_v(y + 48, k_scan_amax(v));\n"
        "    k_store_v(y + 64, k_scan_prod(k_splat(2.0f)));\n"
        "}\n"
        "void picks(void *const *args) {\n" /* every third, one apart and two; then lanes below 3 */
        "    float *x = *(float **)args[0], *y = *(float **)args[1];\n"
        "    k_m third = k_lanes() % 3 == 0;\n"
        "    k_store_v(y, k_load_if(third, x, 1)), k_store_v(y + 16, k_load_if(third, x, 2));\n"
        "    k_store_v(y + 32, k_load_if(k_all(1) & k_below(3), x, 2));\n"
        "    k_store_v(y + 48, k_load_if(k_all(0), (float *)0, 2));\n"
        "}\n"
        "void draws(void *const *args) {\n" /* from every place in a block, and where its high word
                                                changes */
        "    static const long long from[] = {0, 1, 6, 11, 17179869179LL};\n"
        "    float *y = *(float **)args[1];\n"
        "    for (int k = 0; k < 5; k++, y += 2 * K_LANES) {\n"
        "        k_store_v(y, k_rand_v(from[k], 3, -7));\n"
        "        for (int l = 0; l < K_LANES; l++) y[K_LANES + l] = k_rand(from[k] + l, 3, -7);\n"
        "    }\n"
        "}\n"
        "void turn(void *const *args) {\n" /* 37 rows of 41 to columns of 40 */
        "    float *x = *(float **)args[0], *y = *(float **)args[1];\n"
        "    k_turn(y, 40, x, 41, 37, 41);\n"
        "}\n"
        "#define SHORTS(t) \\\n" /* how many differ from what single numbers become, of each way */
        "void shorts_##t(void *const *args) { \\\n"
        "    const float *x = *(float **)args[0]; float *y = *(float **)args[1], f[K_LANES]; \\\n"
        "    uint16_t h[4 * K_LANES] __attribute__((aligned(64))); \\\n"
        "    for (int k = 0; k < 6; k++) y[k] = 0; \\\n"
        "    for (int i = 0; i < 204528; i += K_LANES) { \\\n"
        "        k_store_v_##t(h, k_load_v(x + i)), k_stream_v_##t(h + K_LANES, k_load_v(x + i)); "
        "\\\n"
        "        k_stream_v_##t(h + 2 * K_LANES + 1, k_load_v(x + i)); \\\n"
        "        for (int l = 0; l < K_LANES; l++) { \\\n"
        "            float a = x[i + l], b = k_from_##t(k_to_##t(a)), c = k_from_##t(h[l]); \\\n"
        "            y[0] += k_as_uint(b) != k_as_uint(c) && !(a != a && c != c); \\\n"
        "            y[1] += h[l] != h[K_LANES + l] || h[l] != h[2 * K_LANES + 1 + l]; \\\n"
        "        } \\\n"
        "    } \\\n"
        "    for (int i = 0; i < 65536; i += K_LANES) { \\\n"
        "        for (int l = 0; l < K_LANES; l++) h[l] = (uint16_t)(i + l); \\\n"
        "        k_store_v(f, k_load_v_##t(h)); \\\n"
        "        for (int l = 0; l < K_LANES; l++) { \\\n"
        "            float b = k_from_##t(h[l]); \\\n"
        "            y[2] += k_as_uint(b) != k_as_uint(f[l]) && !(b != b && f[l] != f[l]); \\\n"
        "        } \\\n"
        "    } \\\n"
        "    for (int n = 0; n <= K_LANES; n++) { \\\n"
        "        for (int l = 0; l < K_LANES; l++) h[l] = 7; \\\n"
        "        k_store_n_##t(h, k_splat(1.0f), n), k_store_v(f, k_load_n_##t(h, n)); \\\n"
        "        for (int l = 0; l < K_LANES; l++) { \\\n"
        "            y[3] += l < n ? f[l] != 1 : h[l] != 7 || f[l] != 0; \\\n"
        "        } \\\n"
        "    } \\\n"
        "    for (int l = 0; l < 2 * K_LANES; l++) h[l] = k_to_##t((float)(l + 1)); \\\n"
        "    for (int step = 1; step < 3; step++) { \\\n"
        "        k_store_v(f, k_load_if_##t(k_lanes() % 3 == 0, h, step)); \\\n"
        "        for (int l = 0; l < K_LANES; l++) \\\n"
        "            y[4] += f[l] != (l % 3 ? 0 : l * step + 1); \\\n"
        "    } \\\n"
        "    k_store_v(f, k_load_if_##t(k_all(0), (uint16_t *)0, 2)); \\\n"
        "    for (int l = 0; l < K_LANES; l++) { \\\n"
        "        float third = k_round_##t(1.0f / 3 + (float)l); \\\n"
        "        k_v all = k_round_##t(k_splat(1.0f / 3 + (float)l)); \\\n"
        "        y[5] += f[l] != 0 || all[l] != third; \\\n"
        "    } \\\n"
        "}\n"
        "SHORTS(bf16)\n"
        "SHORTS(f16)\n"
        "void folds(void *const *args) {\n"
        "    float *x = *(float **)args[0], *y = *(float **)args[1];\n"
        "    y[0] = k_fold_sum(k_load_v(x)), y[1] = k_fold_prod(k_load_v(x));\n"
        "    y[2] = k_fold_amax(k_load_v(x)), y[3] = k_fold_amin(k_load_v(x));\n"
        "    k_v v = k_load_v(x);\n"
        "    v[1] = k_nan();\n"
        "    y[4] = k_fold_amax(v), y[5] = k_fold_amin(v), y[6] = K_LANES;\n"
        "}\n";

struct fixture {
    struct arena *arena;
    struct env env;
    struct diag diag;
    struct toolchain *cc;
    struct device *dev;
    struct module *module;
    float *x, *y; /* N each, on the device, which is the host */
};

static float *floats(struct fixture *f) {
    dptr p;
    assert_int_equal(device_alloc(f->dev, N * sizeof(float), &p, &f->diag), WS_OK);
    return (float *)(uintptr_t)p;
}

static int setup(void **state) {
    static struct fixture f;
    const char *why;
    struct compiled c;
    f = (struct fixture){.arena = arena_new()};
    f.env = env_read(f.arena);
    f.diag = diag_new(f.arena);
    *state = &f;
    if (toolchain_open(DEVICE_CPU, NULL, &f.env, f.arena, &f.diag, &f.cc) != WS_OK) return -1;
    if (device_open("cpu", &f.env, f.arena, &f.diag, &f.dev, &why) != WS_OK) return -1;
    toolchain_compile(f.cc, "maths.c", arena_printf(f.arena, "%s%s", prelude_c, entries), false,
                      &c);
    if (!c.ok) fail_msg("%s", c.log);
    assert_int_equal(device_load(f.dev, c.binary, c.size, &f.module, &f.diag), WS_OK);
    compiled_free(&c);
    f.x = floats(&f), f.y = floats(&f);
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    device_free(f->dev, (dptr)(uintptr_t)f->x);
    device_free(f->dev, (dptr)(uintptr_t)f->y);
    device_unload(f->dev, f->module);
    device_close(f->dev);
    toolchain_close(f->cc);
    arena_free(f->arena);
    return 0;
}

static void run(struct fixture *f, const char *entry) {
    struct launch l = {.module = f->module,
                       .entry = entry,
                       .grid = {1, 1, 1},
                       .threads = 1,
                       .args = {&f->x, &f->y},
                       .n_args = 2};
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_OK);
}

/* How far got is from want, in units in the last place of an f32 of want's size. Below the normal
 * numbers, where 1/x has nothing to divide by any more, the unit is that of the least of them. */
static double distance(float got, long double want) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf((float)want) || isinf(got)) return got == (float)want ? 0 : INFINITY;
    int e;
    frexpl(want, &e);
    return (double)(fabsl(got - want) / ldexpl(1, (e < -125 ? -125 : e) - 24));
}

static void check(struct fixture *f, const char *form, const char *name, double bound,
                  long double (*exact)(long double)) {
    double worst = 0;
    float at = 0;
    run(f, arena_printf(f->arena, "%s_%s", form, name));
    for (int i = 0; i < N; i++) {
        long double want = exact(f->x[i]);
        if (fabsl(want) < 0x1p-126L && fabsf(f->y[i]) < 0x1p-126f) continue; /* subnormal */
        double d = distance(f->y[i], want);
        if (d > worst) worst = d, at = f->x[i];
    }
    if (worst > bound)
        fail_msg("%s_%s(%.9g) is off by %.3f ulp; %.2f is the bound", form, name, (double)at, worst,
                 bound);
}

#define F(name, value, bound)                                                                      \
    static long double exact_##name(long double a) { return value; }                               \
    static void test_##name(void **state) {                                                        \
        check(*state, "vector", #name, bound, exact_##name);                                       \
        check(*state, "scalar", #name, bound, exact_##name);                                       \
    }
FUNCTIONS(F)
#define P(name, value, x, y) F(name, value, 0.6)
POWERS(P)
#undef P
#undef F

static int fill(void **state) {
    struct fixture *f = *state;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t bits = i * (uint32_t)APART;
        memcpy(&f->x[i], &bits, 4);
    }
    f->x[1] = INFINITY, f->x[2] = -INFINITY, f->x[3] = NAN;
    f->x[4] = 88.72f, f->x[5] = -87.3f, f->x[6] = 3e38f, f->x[7] = -3e38f;
    return 0;
}

static int count(void **state) {
    struct fixture *f = *state;
    for (int i = 0; i < N; i++) f->x[i] = (float)(i % 16 + 1);
    return 0;
}

static void test_partial(void **state) {
    struct fixture *f = *state;
    run(f, "folds");
    int lanes = (int)f->y[6];
    assert_true(lanes == 4 || lanes == 8 || lanes == 16);
    run(f, "partial");
    for (int n = 0; n <= lanes; n++)
        for (int l = 0; l < 2 * lanes; l++) {
            float want = l % lanes < n ? (float)(l % lanes + 1) : 7;
            assert_true(f->y[2 * n * lanes + l] == want);
        }
}

static void test_folds(void **state) {
    struct fixture *f = *state;
    run(f, "folds");
    float lanes = f->y[6], product = 1;
    for (float i = 1; i <= lanes; i++) product *= i;
    assert_true(f->y[0] == lanes * (lanes + 1) / 2);
    assert_true(fabsf(f->y[1] / product - 1) < 1e-6f);
    assert_true(f->y[2] == lanes && f->y[3] == 1);
    assert_true(isnan(f->y[4]) && isnan(f->y[5]));
}

/* 16 bits: stores, stores past the caches, loads, parts, loads that pick, roundings. */
static void expect_no_differences(struct fixture *f, const char *entry) {
    static const char *const ways[] = {"stores", "streams", "loads", "parts", "picks", "rounds"};
    run(f, entry);
    for (int k = 0; k < 6; k++)
        if (f->y[k] != 0) fail_msg("%s: %g %s are wrong", entry, (double)f->y[k], ways[k]);
}
static void test_bf16(void **state) { expect_no_differences(*state, "shorts_bf16"); }
static void test_f16(void **state) { expect_no_differences(*state, "shorts_f16"); }

static void test_scans(void **state) {
    struct fixture *f = *state;
    run(f, "folds");
    int lanes = (int)f->y[6];
    run(f, "scans");
    for (int l = 0; l < lanes; l++) {
        assert_true(f->y[l] == (float)((l + 1) * (l + 2) / 2));
        assert_true(f->y[16 + l] == (float)(8 - l));
        assert_true(f->y[32 + l] == (float)lanes);
        assert_true(l < 2 ? f->y[48 + l] == (float)(l + 1) : isnan(f->y[48 + l]));
        assert_true(f->y[64 + l] == (float)(2 << l));
    }
}

static void test_picks(void **state) {
    struct fixture *f = *state;
    run(f, "folds");
    int lanes = (int)f->y[6];
    for (int i = 0; i < 32; i++) f->x[i] = (float)(i + 1);
    run(f, "picks");
    for (int l = 0; l < lanes; l++) {
        assert_true(f->y[l] == (l % 3 ? 0 : (float)(l + 1)));
        assert_true(f->y[16 + l] == (l % 3 ? 0 : (float)(2 * l + 1)));
        assert_true(f->y[32 + l] == (l < 3 ? (float)(2 * l + 1) : 0));
        assert_true(f->y[48 + l] == 0);
    }
}

static void test_draws(void **state) {
    struct fixture *f = *state;
    run(f, "folds");
    int lanes = (int)f->y[6];
    run(f, "draws");
    for (int k = 0; k < 5; k++)
        for (int l = 0; l < lanes; l++) {
            float vector = f->y[2 * k * lanes + l], scalar = f->y[(2 * k + 1) * lanes + l];
            assert_true(vector == scalar && vector >= 0 && vector < 1);
        }
    assert_true(f->y[0] != f->y[1]);
}

static void test_turn(void **state) {
    enum { ROWS = 37, COLUMNS = 41, APART = 40 };
    struct fixture *f = *state;
    for (int i = 0; i < ROWS * COLUMNS; i++) f->x[i] = (float)i;
    for (int i = 0; i < COLUMNS * APART; i++) f->y[i] = -1;
    run(f, "turn");
    for (int k = 0; k < COLUMNS; k++)
        for (int i = 0; i < APART; i++)
            assert_true(f->y[k * APART + i] == (i < ROWS ? (float)(i * COLUMNS + k) : -1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define F(name, ...) cmocka_unit_test_setup(test_##name, fill),
        FUNCTIONS(F)
#define P(name, ...) F(name)
            POWERS(P)
#undef P
#undef F
                cmocka_unit_test_setup(test_bf16, fill),
        cmocka_unit_test_setup(test_f16, fill),
        cmocka_unit_test_setup(test_partial, count),
        cmocka_unit_test_setup(test_folds, count),
        cmocka_unit_test_setup(test_scans, count),
        cmocka_unit_test_setup(test_picks, count),
        cmocka_unit_test_setup(test_draws, count),
        cmocka_unit_test(test_turn),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
