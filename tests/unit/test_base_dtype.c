/* test_base_dtype.c: names, promotion and, for every one of the 65536 values of f16 and bf16,
 * conversion there and back with rounding to nearest even between each two neighbours. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"

static uint16_t stored(enum dtype d, double v) {
    uint16_t bits = 0;
    dtype_store(d, &bits, 0, v);
    return bits;
}

static double loaded(enum dtype d, uint16_t bits) { return dtype_load(d, &bits, 0); }

static uint16_t infinity_of(enum dtype d) { return d == DT_F16 ? 0x7c00 : 0x7f80; }

/* The value of the bits, from the definition of the format: (-1)^s * 1.m * 2^(e - bias). */
static double by_definition(enum dtype d, uint16_t bits) {
    int mantissa_bits = d == DT_F16 ? 10 : 7, bias = d == DT_F16 ? 15 : 127;
    int m = bits & ((1 << mantissa_bits) - 1), e = (bits & 0x7fff) >> mantissa_bits;
    double v = e == 0 ? ldexp(m, 1 - bias - mantissa_bits)
                      : ldexp(m + (1 << mantissa_bits), e - bias - mantissa_bits);
    return bits & 0x8000 ? -v : v;
}

static void round_trip(enum dtype d) {
    for (unsigned b = 0; b <= 0xffff; b++) {
        uint16_t bits = (uint16_t)b, magnitude = bits & 0x7fff;
        double v = loaded(d, bits);
        if (magnitude > infinity_of(d)) {
            assert_true(isnan(v));
            assert_true((stored(d, v) & 0x7fff) > infinity_of(d));
            continue;
        }
        if (magnitude == infinity_of(d))
            assert_true(v == (bits & 0x8000 ? -INFINITY : INFINITY));
        else
            assert_true(v == by_definition(d, bits));
        assert_int_equal(signbit(v) != 0, bits >> 15);
        assert_int_equal(stored(d, v), bits);
    }
}

/* Between two neighbours the nearer one is stored; exactly half way, the even one; above the last
 * one, infinity. "A little" is a double's last bit, far below a float's: rounding twice, first to
 * float, would get these wrong. */
static void round_to_nearest_even(enum dtype d) {
    uint16_t inf = infinity_of(d);
    for (uint16_t low = 0; low < inf; low++) {
        uint16_t high = low + 1, even = low & 1 ? high : low;
        double a = loaded(d, low), step = a - loaded(d, low ? low - 1 : 1);
        double b = high < inf ? loaded(d, high) : a + fabs(step);
        double half = a + (b - a) / 2;
        assert_int_equal(stored(d, half), even);
        assert_int_equal(stored(d, nextafter(half, 0)), low);
        assert_int_equal(stored(d, nextafter(half, INFINITY)), high);
        assert_int_equal(stored(d, nextafter(a, INFINITY)), low);
        assert_int_equal(stored(d, nextafter(b, 0)), high);
        assert_int_equal(stored(d, -half), even | 0x8000);
        assert_int_equal(stored(d, -nextafter(half, INFINITY)), high | 0x8000);
    }
    assert_int_equal(stored(d, DBL_MAX), inf);
    assert_int_equal(stored(d, -DBL_MAX), inf | 0x8000);
    assert_int_equal(stored(d, DBL_TRUE_MIN), 0);
    assert_int_equal(stored(d, -DBL_TRUE_MIN), 0x8000);
}

static void test_f16_round_trip(void **state) { round_trip(DT_F16); }
static void test_bf16_round_trip(void **state) { round_trip(DT_BF16); }
static void test_f16_rounding(void **state) { round_to_nearest_even(DT_F16); }
static void test_bf16_rounding(void **state) { round_to_nearest_even(DT_BF16); }

static void test_well_known_values(void **state) {
    assert_int_equal(stored(DT_F16, 1.0), 0x3c00);
    assert_int_equal(stored(DT_F16, 65504.0), 0x7bff);
    assert_int_equal(stored(DT_F16, 65519.99), 0x7bff);
    assert_int_equal(stored(DT_F16, 65520.0), 0x7c00);
    assert_int_equal(stored(DT_F16, -0.0), 0x8000);
    assert_int_equal(stored(DT_BF16, 1.0), 0x3f80);
    assert_int_equal(stored(DT_BF16, 3.14159265), 0x4049);
    assert_int_equal(stored(DT_BF16, 1.0 + 1.0 / 256), 0x3f80); /* half way to 1 + 1/128 */
}

/* Both floats of 8 bits: every value, what lies half way between two, and what none is near. */
static void test_float8(void **state) {
    const struct {
        enum dtype d;
        double least, most, overflows;
        uint8_t last, beyond;
    } all[] = {{DT_F8E4M3, 0x1p-9, 448, 464, 0x7e, 0x7f},
               {DT_F8E5M2, 0x1p-16, 57344, 61440, 0x7b, 0x7c}};
    for (int k = 0; k < 2; k++) {
        enum dtype d = all[k].d;
        assert_true(loaded(d, 1) == all[k].least && loaded(d, all[k].last) == all[k].most);
        for (unsigned b = 0; b <= all[k].last; b++) {
            double v = loaded(d, (uint16_t)b), next = loaded(d, (uint16_t)(b + 1));
            assert_int_equal((uint8_t)stored(d, v), b);
            assert_int_equal((uint8_t)stored(d, -v), b | 0x80);
            assert_true(loaded(d, (uint16_t)(b | 0x80)) == -v);
            if (b == all[k].last) break;
            assert_true(next > v);
            assert_int_equal((uint8_t)stored(d, (v + next) / 2), b + (b & 1));
            assert_int_equal((uint8_t)stored(d, nextafter((v + next) / 2, 0)), b);
            assert_int_equal((uint8_t)stored(d, nextafter((v + next) / 2, INFINITY)), b + 1);
        }
        assert_int_equal((uint8_t)stored(d, nextafter(all[k].overflows, 0)), all[k].last);
        assert_int_equal((uint8_t)stored(d, nextafter(all[k].overflows, INFINITY)), all[k].beyond);
        assert_int_equal((uint8_t)stored(d, INFINITY), all[k].beyond);
        assert_int_equal((uint8_t)stored(d, -1e300), all[k].beyond | 0x80);
        assert_int_equal((uint8_t)stored(d, NAN) & 0x7f, 0x7f);
        assert_true(isnan(loaded(d, 0x7f)) && isnan(loaded(d, 0xff)));
    }
    assert_int_equal((uint8_t)stored(DT_F8E4M3, 464), 0x7e); /* to even */
    assert_int_equal((uint8_t)stored(DT_F8E5M2, 61440), 0x7c);
    assert_true(loaded(DT_F8E5M2, 0xfc) == -INFINITY);
}

/* Elements are addressed by index, and neighbours are left alone. */
static void test_elements(void **state) {
    for (enum dtype d = 0; d < DT_COUNT; d++) {
        unsigned char memory[4 * 8];
        memset(memory, 0x55, sizeof memory);
        for (size_t i = 1; i < 3; i++) dtype_store(d, memory, i, i == 1 ? 1 : 0);
        assert_true(dtype_load(d, memory, 1) == 1);
        assert_true(dtype_load(d, memory, 2) == 0);
        int n = dtype_bytes(d);
        for (int i = 0; i < n; i++) {
            assert_int_equal(memory[i], 0x55);
            assert_int_equal(memory[3 * n + i], 0x55);
        }
    }
    unsigned char flag[2] = {0, 0};
    dtype_store(DT_BOOL, flag, 0, 0.25);
    dtype_store(DT_BOOL, flag, 1, NAN);
    assert_int_equal(flag[0], 1);
    assert_int_equal(flag[1], 1);
    int16_t cut;
    dtype_store(DT_U8, flag, 0, -1);
    dtype_store(DT_I8, flag, 1, 200.9);
    dtype_store(DT_I16, &cut, 0, 65535 + 65536.0 * 1e4);
    assert_int_equal(flag[0], 255);
    assert_true(dtype_load(DT_I8, flag, 1) == -56);
    assert_int_equal(cut, -1);
    for (enum dtype d = DT_U8; d <= DT_I16; d++) {
        dtype_store(d, &cut, 0, NAN);
        assert_true(dtype_load(d, &cut, 0) == 0);
        dtype_store(d, &cut, 0, -INFINITY);
        assert_true(dtype_load(d, &cut, 0) == 0);
    }
    int64_t large;
    dtype_store(DT_I64, &large, 0, -9007199254740992.0);
    assert_true(large == -9007199254740992);
    static const double beyond[] = {NAN, INFINITY, -INFINITY, 0x1p63, -0x1p64};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        assert_true(int_of_double(DT_I64, beyond[i]) == INT64_MIN);
        assert_true(int_of_double(DT_I32, beyond[i]) == INT32_MIN);
        assert_true(int_of_double(DT_I16, beyond[i]) == 0);
    }
    assert_true(int_of_double(DT_I32, -0x1p31 - 0.5) == INT32_MIN);
    assert_true(int_of_double(DT_I32, 0x1p31 - 0.5) == INT32_MAX);
    assert_true(int_of_double(DT_I64, -0x1p63) == INT64_MIN);
    assert_true(int_wrap(DT_I8, 200) == -56 && int_wrap(DT_U8, -3) == 253);
    float f;
    dtype_store(DT_F32, &f, 0, 0.1);
    assert_true(f == 0.1f);
}

static void test_names(void **state) {
    for (enum dtype d = 0; d < DT_COUNT; d++) {
        enum dtype back = DT_COUNT;
        assert_true(dtype_parse(dtype_name(d), &back));
        assert_int_equal(back, d);
        assert_true(dtype_parse(dtype_torch_name(d), &back));
        assert_int_equal(back, d);
    }
    const struct {
        const char *alias;
        enum dtype d;
    } aliases[] = {{"half", DT_F16}, {"float", DT_F32},     {"double", DT_F64}, {"int", DT_I32},
                   {"long", DT_I64}, {"bfloat16", DT_BF16}, {"bool", DT_BOOL},  {"short", DT_I16}};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        enum dtype d;
        assert_true(dtype_parse(aliases[i].alias, &d));
        assert_int_equal(d, aliases[i].d);
    }
    const char *unknown[] = {"", "f33", "float3", "BF16", "torch.float32", "bf16 "};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        enum dtype d = DT_I64;
        assert_false(dtype_parse(unknown[i], &d));
        assert_int_equal(d, DT_I64);
    }
}

/* PyTorch's table for tensors of rank >= 1, rows and columns in the order of DTYPES. */
static void test_promotion(void **state) {
    static const char *const torch[DT_COUNT][DT_COUNT] = {
        /* f8 has no promotion in PyTorch, and no operator here asks for one */
        /* bool   */ {"bool", "u8", "i8", "i16", "i32", "i64", "f8e4m3", "f8e5m2", "f16", "bf16",
                      "f32", "f64"},
        /* u8     */
        {"u8", "u8", "i16", "i16", "i32", "i64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"},
        /* i8     */
        {"i8", "i16", "i8", "i16", "i32", "i64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"},
        /* i16    */
        {"i16", "i16", "i16", "i16", "i32", "i64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"},
        /* i32    */
        {"i32", "i32", "i32", "i32", "i32", "i64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"},
        /* i64    */
        {"i64", "i64", "i64", "i64", "i64", "i64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"},
        /* f8e4m3 */
        {"f8e4m3", "f8e4m3", "f8e4m3", "f8e4m3", "f8e4m3", "f8e4m3", "f8e4m3", "f32", "f16", "bf16",
         "f32", "f64"},
        /* f8e5m2 */
        {"f8e5m2", "f8e5m2", "f8e5m2", "f8e5m2", "f8e5m2", "f8e5m2", "f32", "f8e5m2", "f16", "bf16",
         "f32", "f64"},
        /* f16    */
        {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64"},
        /* bf16   */
        {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32",
         "f64"},
        /* f32    */
        {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
        /* f64    */
        {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
    };
    for (enum dtype a = 0; a < DT_COUNT; a++)
        for (enum dtype b = 0; b < DT_COUNT; b++)
            assert_string_equal(dtype_name(dtype_promote(a, b)), torch[a][b]);
}

static void test_classes(void **state) {
    for (enum dtype d = 0; d < DT_COUNT; d++) {
        bool half = d == DT_F16 || d == DT_BF16 || dtype_is_float8(d),
             narrow = d == DT_U8 || d == DT_I8 || d == DT_I16;
        assert_int_equal(dtype_opmath(d), half ? DT_F32 : narrow ? DT_I32 : d);
        assert_int_equal(dtype_is_narrow(d), narrow);
        assert_int_equal(dtype_is_float8(d), d == DT_F8E4M3 || d == DT_F8E5M2);
        assert_int_equal(dtype_is_float(d), half || d == DT_F32 || d == DT_F64);
        assert_int_equal(dtype_is_int(d), narrow || d == DT_I32 || d == DT_I64);
    }
    assert_int_equal(dtype_bytes(DT_BOOL), 1);
    assert_int_equal(dtype_bytes(DT_U8), 1);
    assert_int_equal(dtype_bytes(DT_I8), 1);
    assert_int_equal(dtype_bytes(DT_I16), 2);
    assert_int_equal(dtype_bytes(DT_BF16), 2);
    assert_int_equal(dtype_bytes(DT_F64), 8);
}

/* What the table says of a type is what its elements do: of what it calls the largest, nothing
 * larger comes back, of what it calls 1's last digit, half and more does. */
static void test_precision(void **state) {
    for (enum dtype d = 0; d < DT_COUNT; d++) {
        double cell;
        if (!dtype_is_float(d)) {
            assert_true(int_wrap(d, int_most(d)) == int_most(d));
            assert_true(int_wrap(d, int_least(d)) == int_least(d));
            if (d == DT_BOOL || d == DT_I64) continue;
            assert_true(int_wrap(d, int_most(d) + 1) == int_least(d));
            continue;
        }
        double u = dtype_roundoff(d), most = dtype_largest(d), least = dtype_smallest(d);
        const struct {
            double v, back;
        } cases[] = {
            {1 + 2 * u, 1 + 2 * u},
            {1 + u, 1}, /* half way: to even */
            {1 + 3 * u, 1 + 4 * u},
            {most, most},
            {-most, -most},
            {least, least},
            {least * (1 + 2 * u), least * (1 + 2 * u)},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            dtype_store(d, &cell, 0, cases[i].v);
            assert_true(dtype_load(d, &cell, 0) == cases[i].back);
        }
        /* a step of that size lies beyond what the digits reach below the smallest */
        dtype_store(d, &cell, 0, least / 2 * (1 + 2 * u));
        assert_true(dtype_load(d, &cell, 0) == least / 2);
        if (d == DT_F64) continue;
        dtype_store(d, &cell, 0, most * (1 + 2 * u)); /* of f8e4m3 nan */
        assert_false(isfinite(dtype_load(d, &cell, 0)));
    }
    assert_true(dtype_largest(DT_F32) == FLT_MAX && dtype_largest(DT_F64) == DBL_MAX);
    assert_true(dtype_smallest(DT_F32) == FLT_MIN && dtype_smallest(DT_F64) == DBL_MIN);
    assert_true(2 * dtype_roundoff(DT_F32) == FLT_EPSILON);
    assert_true(2 * dtype_roundoff(DT_F64) == DBL_EPSILON);
}

/* A type holds another if that's largest and least values, and least step, come back from it. */
static void test_holds(void **state) {
    static const double most[DT_COUNT] = {
        [DT_BOOL] = 1,      [DT_U8] = 255,     [DT_I8] = 127,    [DT_I16] = 32767,
        [DT_I32] = 0x1p31,  [DT_I64] = 0x1p63, [DT_F16] = 65504, [DT_BF16] = 0x1.fep127,
        [DT_F32] = FLT_MAX, [DT_F64] = DBL_MAX};
    for (enum dtype a = 0; a < DT_COUNT; a++)
        for (enum dtype d = 0; d < DT_COUNT; d++) {
            bool narrow = most[a] < 0x1p31, same = a == d;
            if (!narrow || dtype_is_float(a)) continue;
            int64_t low = a == DT_BOOL || a == DT_U8 ? 0 : -(int64_t)most[a] - 1;
            bool all = true;
            for (int64_t v = low; v <= (int64_t)most[a]; v++) {
                double cell;
                dtype_store(d, &cell, 0, (double)v);
                all &= dtype_load(d, &cell, 0) == (double)v;
            }
            assert_int_equal(dtype_holds(d, a), all || same);
        }
    assert_true(dtype_holds(DT_I64, DT_I32) && dtype_holds(DT_F64, DT_I32));
    assert_false(dtype_holds(DT_F32, DT_I32) || dtype_holds(DT_F64, DT_I64));
    assert_true(dtype_holds(DT_F32, DT_BF16) && dtype_holds(DT_F64, DT_F32));
    assert_false(dtype_holds(DT_F16, DT_BF16) || dtype_holds(DT_BF16, DT_F16));
    assert_false(dtype_holds(DT_I64, DT_F16) || dtype_holds(DT_BOOL, DT_U8));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_round_trip),    cmocka_unit_test(test_bf16_round_trip),
        cmocka_unit_test(test_f16_rounding),      cmocka_unit_test(test_bf16_rounding),
        cmocka_unit_test(test_well_known_values), cmocka_unit_test(test_float8),
        cmocka_unit_test(test_elements),          cmocka_unit_test(test_names),
        cmocka_unit_test(test_promotion),         cmocka_unit_test(test_classes),
        cmocka_unit_test(test_precision),         cmocka_unit_test(test_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
