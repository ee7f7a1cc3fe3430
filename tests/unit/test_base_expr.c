/* Symbolic integers: canonical forms, division and modulo with symbolic bounds, text round trip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>

#include "base/base.h"

struct fix {
    struct arena *a;
    struct exprs *p;
};

static struct fix begin(void) {
    struct arena *a = arena_new();
    return (struct fix){a, exprs_new(a)};
}

static void check(struct fix *f, ex e, const char *want) {
    assert_string_equal(ex_str(f->a, f->p, e), want);
}

static void test_sums(void **state) {
    struct fix f = begin();
    ex s0 = ex_size(f.p, "s0", 2, 64), s1 = ex_size(f.p, "s1", 2, 32);
    ex sum = ex_add(f.p, ex_mul(f.p, s1, s0), ex_const(f.p, 3));
    check(&f, sum, "s0*s1 + 3");
    assert_int_equal(ex_sub(f.p, sum, sum), ex_const(f.p, 0));
    assert_int_equal(ex_add(f.p, s0, s1), ex_add(f.p, s1, s0));
    check(&f, ex_mul(f.p, ex_add(f.p, s0, ex_const(f.p, 1)), ex_const(f.p, 4)), "s0*4 + 4");
    check(&f, ex_sub(f.p, s0, ex_const(f.p, 1)), "s0 - 1");
    assert_int_equal(ex_hint(f.p, sum), 64 * 32 + 3);
    arena_free(f.a);
}

static void test_division(void **state) {
    struct fix f = begin();
    ex s0 = ex_size(f.p, "s0", 2, 64), s1 = ex_size(f.p, "s1", 2, 32);
    ex i = ex_index(f.p, "i", s0), j = ex_index(f.p, "j", s1);
    ex flat = ex_add(f.p, ex_mul(f.p, i, s1), j);
    assert_int_equal(ex_div(f.p, flat, s1), i);
    assert_int_equal(ex_mod(f.p, flat, s1), j);
    assert_int_equal(ex_div(f.p, flat, ex_mul(f.p, s0, s1)), ex_const(f.p, 0));
    assert_int_equal(ex_mod(f.p, flat, ex_mul(f.p, s0, s1)), flat);
    ex c4 = ex_const(f.p, 4), k = ex_index(f.p, "k", c4);
    ex deep = ex_add(f.p, ex_mul(f.p, i, c4), k); /* k is less than one of i */
    check(&f, ex_div(f.p, deep, ex_mul(f.p, s1, c4)), "i // s1");
    check(&f, ex_div(f.p, ex_add(f.p, ex_mul(f.p, s0, c4), ex_const(f.p, 9)), c4), "s0 + 2");
    check(&f, ex_div(f.p, s0, c4), "s0 // 4");
    check(&f, ex_div(f.p, ex_div(f.p, s0, c4), c4), "s0 // 16");
    check(&f, ex_ceildiv(f.p, s0, c4), "(s0 + 3) // 4");
    assert_int_equal(ex_div(f.p, ex_const(f.p, -1), c4), ex_const(f.p, -1));
    assert_int_equal(ex_mod(f.p, ex_const(f.p, -1), c4), ex_const(f.p, 3));
    arena_free(f.a);
}

static void test_static_index(void **state) {
    struct fix f = begin();
    ex i = ex_index(f.p, "i", ex_const(f.p, 6)), j = ex_index(f.p, "j", ex_const(f.p, 8));
    ex flat = ex_add(f.p, ex_mul(f.p, i, ex_const(f.p, 8)), j);
    assert_int_equal(ex_div(f.p, flat, ex_const(f.p, 8)), i);
    assert_int_equal(ex_mod(f.p, flat, ex_const(f.p, 8)), j);
    /* (4 (3 i) + 2) % (4 * 2) */
    ex twelve = ex_add(f.p, ex_mul(f.p, i, ex_const(f.p, 12)), ex_const(f.p, 2)),
       of_two = ex_mod(f.p, ex_mul(f.p, i, ex_const(f.p, 3)), ex_const(f.p, 2));
    assert_int_equal(ex_mod(f.p, twelve, ex_const(f.p, 8)),
                     ex_add(f.p, ex_mul(f.p, of_two, ex_const(f.p, 4)), ex_const(f.p, 2)));
    check(&f, ex_div(f.p, flat, ex_const(f.p, 16)), "i // 2");
    check(&f, ex_div(f.p, flat, ex_const(f.p, 12)), "(i*8 + j) // 12"); /* j reaches 4 */
    check(&f, ex_div(f.p, ex_add(f.p, flat, j), ex_const(f.p, 16)), "(i*4 + j) // 8");
    assert_true(ex_divides(f.p, 8, ex_mul(f.p, i, ex_const(f.p, 8))));
    assert_false(ex_divides(f.p, 8, flat));
    ex c, r;
    assert_true(ex_linear(f.p, flat, i, &c, &r));
    assert_int_equal(c, ex_const(f.p, 8));
    assert_int_equal(r, j);
    assert_false(ex_linear(f.p, ex_mod(f.p, i, ex_const(f.p, 4)), i, &c, &r));
    arena_free(f.a);
}

/* More expressions than are remembered, each asked for twice and by two symbols. */
static void test_lines(void **state) {
    enum { MANY = 5000 };
    struct fix f = begin();
    ex i = ex_index(f.p, "i", ex_const(f.p, 6)), j = ex_index(f.p, "j", ex_const(f.p, 8));
    for (int k = 0; k < 2 * MANY; k++) {
        int n = k % MANY + 1;
        ex c, r, jn = ex_mul(f.p, j, ex_const(f.p, n)), in = ex_mul(f.p, i, ex_const(f.p, n + 1));
        ex e = ex_add(f.p, in, jn);
        assert_true(ex_linear(f.p, e, i, &c, &r));
        assert_true(c == ex_const(f.p, n + 1) && r == jn);
        assert_true(ex_linear(f.p, e, j, &c, &r));
        assert_true(c == ex_const(f.p, n) && r == in);
    }
    arena_free(f.a);
}

/* What was split and is put together again is whole. */
static void test_rejoined(void **state) {
    struct fix f = begin();
    ex s0 = ex_size(f.p, "s0", 2, 64), x = ex_index(f.p, "x", ex_const(f.p, 120));
    ex four = ex_const(f.p, 4), five = ex_const(f.p, 5);
    ex low = ex_mod(f.p, x, five), high = ex_div(f.p, x, five);
    assert_int_equal(ex_add(f.p, ex_mul(f.p, high, five), low), x);
    ex rest = ex_add(f.p, ex_mul(f.p, ex_mod(f.p, high, four), five), low);
    ex top = ex_mul(f.p, ex_div(f.p, high, four), ex_const(f.p, 20));
    assert_int_equal(ex_add(f.p, top, rest), x);
    check(&f, ex_mul(f.p, ex_add(f.p, ex_mul(f.p, high, five), low), four), "x*4");
    check(&f, ex_add(f.p, ex_mul(f.p, high, four), low), "x // 5*4 + x % 5");
    ex whole = ex_add(f.p, ex_mul(f.p, ex_div(f.p, x, s0), s0), ex_mod(f.p, x, s0));
    assert_int_equal(whole, x);
    arena_free(f.a);
}

static void test_compare(void **state) {
    struct fix f = begin();
    ex s0 = ex_size(f.p, "s0", 2, 64);
    assert_int_equal(ex_compare(f.p, EX_LT, ex_const(f.p, 1), s0), ex_const(f.p, 1));
    assert_int_equal(ex_compare(f.p, EX_EQ, s0, ex_const(f.p, 1)), ex_const(f.p, 0));
    check(&f, ex_compare(f.p, EX_EQ, ex_mod(f.p, s0, ex_const(f.p, 8)), ex_const(f.p, 0)),
          "s0 % 8 == 0");
    assert_int_equal(ex_min(f.p, s0, ex_const(f.p, 1)), ex_const(f.p, 1));
    arena_free(f.a);
}

static void test_text(void **state) {
    struct fix f = begin();
    ex_size(f.p, "s0", 2, 64), ex_size(f.p, "s1", 2, 32);
    const char *texts[] = {"s0*s1 + 3",
                           "(s0 + 3) // 4",
                           "s0 % 8 == 0",
                           "min(s0, s1)",
                           "s0 < s1 and 4 <= s0",
                           "(s0 % 8)*4 + s1",
                           "-5",
                           "s0 - s1 * 2",
                           "-9223372036854775808",
                           "9223372036854775807"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *end;
        ex e = ex_parse(f.p, texts[i], &end, false);
        assert_true(e != EX_NONE && *end == 0);
        const char *printed = ex_str(f.a, f.p, e);
        assert_int_equal(ex_parse(f.p, printed, &end, false), e);
    }
    const char *bad[] = {"s0 +",
                         "(s0",
                         "s9",
                         "s0 // 0",
                         "",
                         "min(s0)",
                         "1 + inf",
                         "-9223372036854775809",
                         "s0 - 9223372036854775808",
                         "-9223372036854775808 - 1",
                         "-9223372036854775808 // 2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *end;
        assert_int_equal(ex_parse(f.p, bad[i], &end, i == 6), EX_NONE);
    }
    arena_free(f.a);
}

/* Every constructor agrees with plain arithmetic, on random trees evaluated at random points. */
static int64_t value_of(void *ctx, ex sym) {
    struct fix *f = ((void **)ctx)[0];
    const int64_t *v = ((void **)ctx)[1];
    return v[ex_symbol(f->p, sym)->name[1] - '0'];
}

static void test_random_trees(void **state) {
    struct fix f = begin();
    uint64_t seed = 42;
#define RND(n)                                                                                     \
    ((int64_t)((seed = seed * 6364136223846793005ull + 1442695040888963407ull) >> 33) % (n))
    ex s[3] = {ex_size(f.p, "s0", 2, 0), ex_size(f.p, "s1", 2, 0), ex_size(f.p, "s2", 2, 0)};
    int64_t v[3];
    void *ctx[2] = {&f, v};
    for (int round = 0; round < 3000; round++) {
        ex e[12];
        int64_t want[12];
        for (int i = 0; i < 3; i++) {
            v[i] = 2 + RND(30);
            e[i] = s[i];
            want[i] = v[i];
        }
        for (int n = 3; n < 12; n++) {
            int a = (int)RND(n), b = (int)RND(n);
            int64_t c = 1 + RND(9);
            ex k = ex_const(f.p, c);
            switch (RND(7)) {
            case 0: e[n] = ex_add(f.p, e[a], e[b]), want[n] = want[a] + want[b]; break;
            case 1: e[n] = ex_sub(f.p, e[a], e[b]), want[n] = want[a] - want[b]; break;
            case 2: e[n] = ex_mul(f.p, e[a], k), want[n] = want[a] * c; break;
            case 3:
                e[n] = ex_div(f.p, e[a], k), want[n] = (want[a] - ((want[a] % c) + c) % c) / c;
                break;
            case 4: e[n] = ex_mod(f.p, e[a], k), want[n] = ((want[a] % c) + c) % c; break;
            case 5:
                e[n] = ex_min(f.p, e[a], e[b]), want[n] = want[a] < want[b] ? want[a] : want[b];
                break;
            default:
                e[n] = ex_max(f.p, e[a], e[b]), want[n] = want[a] > want[b] ? want[a] : want[b];
                break;
            }
            assert_int_equal(ex_eval(f.p, e[n], value_of, ctx), want[n]);
            int64_t lo, hi;
            ex_range(f.p, e[n], &lo, &hi);
            assert_true(lo <= want[n] && want[n] <= hi);
        }
    }
    arena_free(f.a);
}

/* Quotients by sizes that are known only then: by 1 nothing changes, by 0 is no error. */
static void test_divided_by_sizes(void **state) {
    struct fix f = begin();
    ex s0 = ex_size(f.p, "s0", 0, 0), s1 = ex_size(f.p, "s1", 0, 0);
    ex quotient = ex_div(f.p, s0, s1), rest = ex_mod(f.p, s0, s1);
    static const int64_t cases[][4] = {{7, 1, 7, 0}, {7, 2, 3, 1}, {7, 0, 0, 0}, {0, 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t v[2] = {cases[i][0], cases[i][1]};
        void *ctx[2] = {&f, v};
        assert_int_equal(ex_eval(f.p, quotient, value_of, ctx), cases[i][2]);
        assert_int_equal(ex_eval(f.p, rest, value_of, ctx), cases[i][3]);
    }
    arena_free(f.a);
}

/* C rounds quotients towards 0: where a dividend may be negative, it is moved up first. */
static void test_print_c(void **state) {
    struct fix f = begin();
    ex r = ex_index(f.p, "r", ex_const(f.p, 6));
    ex down = ex_sub(f.p, ex_const(f.p, 5), r), third = ex_const(f.p, 3);
    struct buf b = buf_new(f.a);
    ex_print_c(&b, f.p, ex_div(f.p, down, third));
    assert_string_equal(b.p, "((r*-1 + 2 + 3) / 3 - 1) + 1");
    b = buf_new(f.a);
    ex_print_c(&b, f.p, ex_mod(f.p, down, third));
    assert_string_equal(b.p, "((r*-1 + 2 + 3) % 3)");
    b = buf_new(f.a);
    ex_print_c(&b, f.p, ex_div(f.p, r, third));
    assert_string_equal(b.p, "r / 3");
    arena_free(f.a);
}

/* Nothing wraps round: the pool remembers, or leaves. */
static void test_overflow(void **state) {
    struct fix f = begin();
    ex s0 = ex_size(f.p, "s0", 2, 64), most = ex_const(f.p, INT64_MAX),
       least = ex_const(f.p, INT64_MIN), two = ex_const(f.p, 2);
    assert_false(ex_overflowed(f.p));
    assert_int_equal(ex_add(f.p, most, two), most);
    assert_true(ex_overflowed(f.p));
    assert_false(ex_overflowed(f.p));
    assert_int_equal(ex_sub(f.p, least, two), least);
    assert_true(ex_overflowed(f.p));
    assert_int_equal(ex_mul(f.p, least, two), least);
    assert_true(ex_overflowed(f.p));
    ex_mul(f.p, ex_mul(f.p, s0, most), two);
    assert_true(ex_overflowed(f.p));
    ex_add(f.p, ex_add(f.p, s0, most), two);
    assert_true(ex_overflowed(f.p));
    ex sum = s0; /* more terms than there is room for */
    for (int i = 0; i < 60; i++)
        sum = ex_add(f.p, sum, ex_size(f.p, arena_printf(f.a, "t%d", i), 2, 2));
    assert_true(ex_overflowed(f.p));

    /* what can be said is said */
    assert_true(ex_at_most(f.p, least, most));
    assert_false(ex_at_most(f.p, most, least));
    assert_int_equal(ex_max(f.p, least, most), most);
    assert_int_equal(ex_min(f.p, least, most), least);
    assert_int_equal(ex_compare(f.p, EX_LT, least, most), ex_const(f.p, 1));
    assert_int_equal(ex_value(f.p, ex_div(f.p, most, two)), INT64_MAX / 2);
    assert_int_equal(ex_value(f.p, ex_div(f.p, least, most)), -2);
    assert_int_equal(ex_value(f.p, ex_mod(f.p, least, most)), INT64_MAX - 1);
    assert_int_equal(ex_value(f.p, ex_ceildiv(f.p, most, most)), 1);
    assert_int_equal(ex_value(f.p, ex_ceildiv(f.p, least, most)), -1);
    ex far = ex_const(f.p, INT64_C(1) << 40);
    check(&f, ex_div(f.p, ex_div(f.p, s0, far), far), "(s0 // 1099511627776) // 1099511627776");
    assert_false(ex_overflowed(f.p));
    arena_free(f.a);
}

static void leave(void *ctx, const char *why) {
    assert_non_null(why);
    longjmp(*(jmp_buf *)ctx, 1);
}

static void test_escape(void **state) {
    struct fix f = begin();
    jmp_buf out;
    ex_set_escape(f.p, (struct ex_escape){leave, &out});
    if (!setjmp(out)) {
        ex_mul(f.p, ex_const(f.p, INT64_MAX), ex_const(f.p, INT64_MAX));
        fail();
    }
    ex_set_escape(f.p, (struct ex_escape){0});
    assert_true(ex_overflowed(f.p));
    arena_free(f.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_division),
        cmocka_unit_test(test_static_index),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_rejoined),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_random_trees),
        cmocka_unit_test(test_divided_by_sizes),
        cmocka_unit_test(test_print_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
