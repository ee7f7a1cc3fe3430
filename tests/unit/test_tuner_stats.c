/* test_tuner_stats.c: medians, intervals, when to stop sampling, and which config wins. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tuner/stats.h"

#define NEAR 1e-12
#define assert_near(got, want, tolerance) assert_true(fabs((got) - (want)) <= (tolerance))

/* Pseudo-random samples, median `at`, spread +- rel; the same for the same seed. */
static void fill(double *x, int n, double at, double rel, unsigned seed) {
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = at * (1 + rel * (2.0 * (seed >> 8) / (1 << 24) - 1));
    }
}

static struct stats sampled(int n, double at, double rel, unsigned seed) {
    double x[1000];
    fill(x, n, at, rel, seed);
    return stats_of(x, n);
}

static void test_order_does_not_matter(void **state) {
    const double x[] = {31, 10.4, 9.8, 10.2, 10.1, 10.3, 9.9, 10};
    struct stats s = stats_of(x, 8);
    assert_int_equal(s.n, 8);
    assert_near(s.median, 10.15, NEAR);
    assert_near(s.q1, 9.975, NEAR);
    assert_near(s.q3, 10.325, NEAR);
    assert_near(s.min, 9.8, NEAR);
    assert_near(x[0], 31, 0); /* untouched */
}

static void test_few_samples(void **state) {
    struct stats none = stats_of(NULL, 0);
    assert_int_equal(none.n, 0);
    assert_true(isnan(none.median) && isnan(stats_ci(&none)) && isnan(stats_rel_ci(&none)));
    const double x[] = {4, 2};
    struct stats one = stats_of(x, 1), two = stats_of(x, 2);
    assert_near(one.median, 4, 0);
    assert_near(one.q1, 4, 0);
    assert_near(stats_ci(&one), 0, 0);
    assert_near(two.median, 3, NEAR);
    assert_near(two.lo, 2, 0);
    assert_near(two.hi, 4, 0);
}

/* Ranks of the 95 % interval from published tables (Conover, table A3 with p = 1/2). */
static void test_interval_ranks(void **state) {
    static const struct {
        int n, j;
    } known[] = {{6, 1}, {8, 1}, {9, 2}, {10, 2}, {15, 4}, {20, 6}, {25, 8}, {30, 10}, {100, 40}};
    double x[1000];
    for (int i = 0; i < 1000; i++) x[i] = i + 1;
    for (size_t t = 0; t < sizeof known / sizeof *known; t++) {
        struct stats s = stats_of(x, known[t].n);
        assert_near(s.lo, known[t].j, 0);
        assert_near(s.hi, known[t].n + 1 - known[t].j, 0);
    }
    /* The normal approximation goes on where the exact rank ends. */
    struct stats exact = stats_of(x, 200), normal = stats_of(x, 201);
    assert_true(fabs(exact.lo - normal.lo) <= 1);
    assert_near(stats_of(x, 1000).lo, 469, 1);
}

/* Of many sample sets, about 95 % of the intervals must hold the true median. */
static void test_interval_covers(void **state) {
    int covered = 0;
    for (unsigned seed = 0; seed < 2000; seed++) {
        struct stats s = sampled(25, 10, 0.1, seed * 7919u + 1);
        covered += s.lo <= 10 && 10 <= s.hi;
    }
    assert_in_range(covered, 1860, 2000);
}

static void test_outliers_move_nothing(void **state) {
    double x[30];
    fill(x, 30, 10, 0.01, 1);
    struct stats before = stats_of(x, 30);
    for (int i = 0; i < 30; i++)
        if (x[i] == before.min) x[(i + 1) % 30] = fmax(x[(i + 1) % 30], 10) * 100;
    struct stats after = stats_of(x, 30);
    assert_true(fabs(after.median - before.median) < 0.05);
    assert_true(after.hi < 11);
}

static void test_enough(void **state) {
    double x[200];
    fill(x, 200, 10, 0.05, 3);
    assert_false(stats_enough(x, 0, 0.5, 0));
    assert_false(stats_enough(x, 5, 0.5, 0)); /* five samples give no 95 % interval */
    assert_true(stats_enough(x, 6, 0.5, 0));
    assert_false(stats_enough(x, 6, 0.5, 10));
    assert_false(stats_enough(x, 20, 0.001, 10)); /* noise of 5 % is not 0.1 % after 20 samples */
    assert_true(stats_enough(x, 200, 0.02, 10));
    const double same[] = {2, 2, 2, 2, 2, 2};
    assert_true(stats_enough(same, 6, 0, 6));
}

static void test_tied(void **state) {
    struct stats a = sampled(100, 10, 0.002, 1), b = sampled(100, 10.03, 0.002, 2);
    struct stats c = sampled(100, 10.3, 0.002, 3), noisy = sampled(10, 10.3, 0.2, 4);
    struct stats none = stats_none();
    assert_true(stats_tied(&a, &b)); /* disjoint, but 0.3 % */
    assert_true(a.hi < b.lo);
    assert_false(stats_tied(&a, &c)); /* 3 % and disjoint */
    assert_false(stats_tied(&c, &a));
    assert_true(stats_tied(&a, &noisy)); /* overlapping */
    assert_false(stats_tied(&a, &none));
    assert_false(stats_tied(&none, &none));
}

static void test_winner_is_first_of_ties(void **state) {
    struct stats c[] = {sampled(50, 12, 0.002, 1), stats_none(), sampled(50, 10.05, 0.002, 2),
                        sampled(50, 10, 0.002, 3), sampled(50, 10.04, 0.002, 4)};
    bool tied[5];
    assert_int_equal(stats_winner(c, 5, tied), 2);
    const bool want[] = {false, false, true, true, true};
    assert_memory_equal(tied, want, sizeof want);
    assert_int_equal(stats_winner(c, 5, NULL), 2);
    assert_int_equal(stats_winner(c, 2, tied), 0);
    assert_int_equal(stats_winner(c + 1, 1, tied), -1);
    assert_false(tied[0]);
    assert_int_equal(stats_winner(c, 0, NULL), -1);
}

/* The same configs measured again and again under noise: always the same choice. */
static void test_winner_is_stable(void **state) {
    for (unsigned seed = 1; seed < 200; seed++) {
        struct stats c[] = {sampled(30, 10.5, 0.004, seed), sampled(30, 10, 0.004, seed * 3),
                            sampled(30, 10, 0.004, seed * 5), sampled(30, 10, 0.004, seed * 7)};
        assert_int_equal(stats_winner(c, 4, NULL), 1);
    }
}

static void test_noise_does_not_win_by_order(void **state) {
    struct stats c[] = {sampled(8, 13, 0.5, 7), sampled(50, 10, 0.002, 3)};
    assert_true(stats_tied(&c[0], &c[1]));
    assert_true(c[0].median > 10.6);
    assert_int_equal(stats_winner(c, 2, NULL), 1);
}

static void test_geomean(void **state) {
    const double x[] = {1, 4, 2}, zero[] = {1, 0}, nan[] = {NAN};
    assert_near(stats_geomean(x, 3), 2, NEAR);
    assert_true(isnan(stats_geomean(zero, 2)));
    assert_true(isnan(stats_geomean(nan, 1)));
    assert_true(isnan(stats_geomean(x, 0)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_few_samples),
        cmocka_unit_test(test_interval_ranks),
        cmocka_unit_test(test_interval_covers),
        cmocka_unit_test(test_outliers_move_nothing),
        cmocka_unit_test(test_enough),
        cmocka_unit_test(test_tied),
        cmocka_unit_test(test_winner_is_first_of_ties),
        cmocka_unit_test(test_winner_is_stable),
        cmocka_unit_test(test_noise_does_not_win_by_order),
        cmocka_unit_test(test_geomean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
