/* What tuning cost, against what it gained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "tuner/cost.h"

static const struct cost spent = {
    .all = 0.6, .compile = 0.2, .check = 0.1, .measure = 0.25, .trials = 18};

static void test_the_rest_is_search(void **state) {
    (void)state;
    assert_true(fabs(cost_of_search(&spent) - 0.05) < 1e-12);
    struct cost odd = {.all = 1, .compile = 2};
    assert_true(cost_of_search(&odd) == 0);
}

static void test_calls_until_it_has_paid(void **state) {
    (void)state;
    assert_true(cost_calls(&spent, 30, 15) == 40000);
    assert_true(isinf(cost_calls(&spent, 15, 15)));
    struct cost none = {0};
    assert_true(isnan(cost_calls(&none, 30, 15)));
}

static void test_words(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    cost_print(&b, &spent, 50, 15, 15);
    assert_string_equal(
        b.p, "tuning         0.60 s: 0.20 compiling, 0.10 checking, 0.25 measuring, "
             "0.05 searching; 18 trials\n"
             "saves    nothing over the default, 35.00 us a call over unfused kernels (worth "
             "the tuning after 17,143 calls)\n");
    struct cost none = {0};
    struct buf empty = buf_new(a);
    cost_print(&empty, &none, 50, 15, 15);
    assert_int_equal(empty.n, 0);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_rest_is_search),
        cmocka_unit_test(test_calls_until_it_has_paid),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests_name("tuner_cost", tests, NULL, NULL);
}
