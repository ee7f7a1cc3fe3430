/* test_reports_change.c: steps, drifts and quiet nights. CHANGE_CSV=FILE writes the table of all
 * histories, of the seed CHANGE_SEED (scripts/bench_history.sh), else a few of each are looked
 * at. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/change.h"
#include "reports/nights.h"

/* ---- made histories -------------------------------------------------------------------------- */

struct random {
    uint64_t state;
};

/* splitmix64 */
static double uniform(struct random *r) {
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct random *r) {
    double a = uniform(r), b = uniform(r);
    return sqrt(-2 * log(a)) * cos(2 * M_PI * b);
}

enum kind { QUIET, TWO_LEVELS, STEP, DRIFT };
enum { SEED = 28, MADE = 5000, NIGHTS = 100, AT = 60, FOUND_WITHIN = 3, DRIFT_WITHIN = 20 };

/* One run a night, and nothing is run again: the hardest case. Noise is a standard deviation, from
 * night to night; some nights lie above the others by the change where there are two levels. */
static const struct history_case {
    const char *name;
    enum kind kind;
    double noise, change, often; /* change: of a step, or a night; often: slow nights, a share */
} cases[] = {
    {"nothing, noise 0.3 %", QUIET, 0.003, 0, 0},
    {"nothing, noise 1 %", QUIET, 0.01, 0, 0},
    {"nothing, noise 3 %", QUIET, 0.03, 0, 0},
    {"two levels, 5 % apart, 30 % of nights slow", TWO_LEVELS, 0.005, 0.05, 0.3},
    {"two levels, 5 % apart, 10 % of nights slow", TWO_LEVELS, 0.005, 0.05, 0.1},
    {"step of 3 %, noise 1 %", STEP, 0.01, 0.03, 0},
    {"step of 3 %, noise 0.3 %", STEP, 0.003, 0.03, 0},
    {"step of 10 %, noise 3 %", STEP, 0.03, 0.1, 0},
    {"step of -3 %, noise 1 %", STEP, 0.01, -0.03, 0},
    {"drift of 0.3 % a night, noise 1 %", DRIFT, 0.01, 0.003, 0},
    {"drift of 1.5 % a night, noise 1 %", DRIFT, 0.01, 0.015, 0},
    {"two levels, 5 % apart, 50 % of nights slow", TWO_LEVELS, 0.005, 0.05, 0.5},
    {"noise 1 %, but 5 % of nights 20 % slow", TWO_LEVELS, 0.01, 0.2, 0.05},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static void make_history(const struct history_case *c, struct random *r,
                         struct change_night nights[NIGHTS]) {
    for (int i = 0; i < NIGHTS; i++) {
        double v = log(100) + c->noise * normal(r);
        if (c->kind == TWO_LEVELS && uniform(r) < c->often) v += log1p(c->change);
        if (c->kind == STEP && i >= AT) v += log1p(c->change);
        if (c->kind == DRIFT && i >= AT) v += log1p(c->change) * (i - AT + 1);
        nights[i] = (struct change_night){v, fmax(0.01, c->noise), 1, false};
    }
}

struct tally {
    int histories, nights, found, dated, alarms, shaped; /* alarms: changes where there is none */
    int delay[NIGHTS];
};

static bool is_alarm(const struct change *c) { return c->verdict == CHANGE_SLOWER; }

static void tally_history(const struct history_case *c, struct random *r, struct tally *t) {
    struct change_night nights[NIGHTS];
    struct change is[NIGHTS];
    make_history(c, r, nights);
    change_follow(nights, NIGHTS, NIGHTS_THRESHOLD, is);
    bool changes = c->kind == STEP || c->kind == DRIFT;
    enum change_verdict want = c->change > 0 ? CHANGE_SLOWER : CHANGE_FASTER;
    int quiet = changes ? AT : NIGHTS, at = -1;
    t->histories++;
    t->nights += quiet;
    for (int i = 1; i < quiet; i++) t->alarms += is_alarm(&is[i]) && !is_alarm(&is[i - 1]);
    if (!changes) return;
    for (int i = AT; i < NIGHTS && at < 0; i++)
        if (is[i].verdict == want) at = i;
    int within = c->kind == STEP ? FOUND_WITHIN : DRIFT_WITHIN;
    if (at < 0 || at >= AT + within) return;
    t->found++;
    /* dated three nights after it was found; a faster level is the baseline by then, and said
     * once */
    int later = c->change > 0 && at + 3 < NIGHTS ? at + 3 : at;
    if (is[later].verdict != want) later = at;
    t->dated += abs((int)is[later].since - AT) <= 1;
    t->shaped += is[NIGHTS - 1].shape == (c->kind == DRIFT ? CHANGE_DRIFT : CHANGE_STEP);
}

static struct tally tally_case(int c, uint64_t seed, int histories) {
    struct random r = {(uint64_t)c * 1000003 + seed};
    struct tally t = {0};
    for (int i = 0; i < histories; i++) tally_history(&cases[c], &r, &t);
    return t;
}

static void write_table(const char *path, uint64_t seed, int histories) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("seed,case,histories,quiet_nights,false_alarms,alarms_per_1000_nights,found,found_pct,"
          "within,"
          "dated_within_1,dated_pct\n",
          f);
    for (int c = 0; c < N_CASES; c++) {
        struct tally t = tally_case(c, seed, histories);
        fprintf(f, "%" PRIu64 ",\"%s\",%d,%d,%d,%.2f,", seed, cases[c].name, t.histories, t.nights,
                t.alarms, 1e3 * t.alarms / t.nights);
        if (cases[c].kind == STEP || cases[c].kind == DRIFT)
            fprintf(f, "%d,%.1f,%d,%d,%.1f\n", t.found, 100.0 * t.found / t.histories,
                    cases[c].kind == STEP ? FOUND_WITHIN : DRIFT_WITHIN, t.dated,
                    t.found ? 100.0 * t.dated / t.found : 0);
        else
            fputs(",,,,\n", f);
    }
    assert_int_equal(fclose(f), 0);
}

/* A small part of the table: bounds are of what so few histories can show. */
static void test_histories(void **state) {
    const char *path = getenv("CHANGE_CSV"), *seed = getenv("CHANGE_SEED");
    if (path && *path) {
        write_table(path, seed ? strtoull(seed, NULL, 10) : SEED, MADE);
        return;
    }
    enum { FEW = 40 };
    for (int c = 0; c < N_CASES; c++) {
        struct tally t = tally_case(c, SEED, FEW);
        if (t.alarms > 10) fail_msg("%s: %d false alarms", cases[c].name, t.alarms);
        if (cases[c].kind < STEP || cases[c].change < 0) continue;
        if (t.found < 35) fail_msg("%s: %d of %d found", cases[c].name, t.found, FEW);
        if (cases[c].kind == STEP && t.dated < 33) fail_msg("%s: %d dated", cases[c].name, t.dated);
    }
}

static struct change last_of(const double *us, size_t n, const bool *starts, size_t runs) {
    struct change_night nights[64];
    struct change is[64];
    for (size_t i = 0; i < n; i++)
        nights[i] = (struct change_night){log(us[i]), 0.01, runs, starts && starts[i]};
    change_follow(nights, n, 0.015, is);
    return is[n - 1];
}

/* It does not become the new normal: the alarm goes on until the level is accepted. */
static void test_alarm_goes_on(void **state) {
    double us[40];
    bool starts[40] = {false};
    for (int i = 0; i < 40; i++) us[i] = (i < 10 ? 100 : 110) + 0.2 * (i % 3);
    struct change c = last_of(us, 40, starts, 1);
    assert_int_equal(c.verdict, CHANGE_SLOWER);
    assert_int_equal(c.shape, CHANGE_STEP);
    assert_int_equal(c.since, 10);
    assert_true(fabs(c.shift - log(1.1)) < 0.005 && c.low < c.shift && c.shift < c.high);
    starts[30] = true;
    assert_int_equal(last_of(us, 40, starts, 1).verdict, CHANGE_SAME);
    for (int i = 36; i < 40; i++) us[i] = 100;
    starts[30] = false;
    assert_int_equal(last_of(us, 40, starts, 1).verdict, CHANGE_SAME); /* mended */
}

/* Each night is within the threshold of the night before. */
static void test_drift(void **state) {
    double us[30];
    for (int i = 0; i < 30; i++) us[i] = 100 * pow(1.015, i) + 0.1 * (i % 2);
    struct change c = last_of(us, 30, NULL, 1);
    assert_int_equal(c.verdict, CHANGE_SLOWER);
    assert_int_equal(c.shape, CHANGE_DRIFT);
}

/* One run is no change, three of one night are; one far off among three is none. */
static void test_runs(void **state) {
    double us[13] = {100, 101, 99, 100, 100.5, 100, 99.5, 100, 101, 100, 100, 100, 115};
    assert_int_equal(last_of(us, 13, NULL, 1).verdict, CHANGE_UNSURE);
    assert_int_equal(last_of(us, 13, NULL, 3).verdict, CHANGE_SLOWER);
    us[10] = 150, us[12] = 100;
    assert_int_equal(last_of(us, 13, NULL, 1).verdict, CHANGE_SAME);
    assert_int_equal(last_of(us, 1, NULL, 3).verdict, CHANGE_NEW);
    us[1] = 130; /* three runs are enough for the second night */
    assert_int_equal(last_of(us, 2, NULL, 3).verdict, CHANGE_SLOWER);
    assert_int_equal(last_of(us, 2, NULL, 1).verdict, CHANGE_UNSURE);
}

/* Where nights go back and forth between two levels, three slow ones are no change; where they do
 * not, the same three are; and beyond both levels they are, too. */
static void test_two_levels(void **state) {
    double us[48];
    for (int two = 0; two < 2; two++)
        for (int above = 0; above < 2; above++) {
            for (int i = 0; i < 48; i++) {
                bool slow = i >= 45 || (two && (i % 7 == 2 || i % 5 == 3));
                us[i] = (slow ? 105 : 100) + 0.3 * (i % 3) + (i >= 45 ? 5 * above : 0);
            }
            assert_int_equal(last_of(us, 48, NULL, 1).verdict,
                             two && !above ? CHANGE_SAME : CHANGE_SLOWER);
        }
}

static void test_faster_moves_the_baseline(void **state) {
    double us[30];
    for (int i = 0; i < 30; i++) us[i] = (i < 10 || i >= 24 ? 100 : 80) + 0.2 * (i % 3);
    assert_int_equal(last_of(us, 13, NULL, 1).verdict, CHANGE_FASTER);
    assert_int_equal(last_of(us, 20, NULL, 1).verdict, CHANGE_SAME);
    assert_int_equal(last_of(us, 30, NULL, 1).verdict, CHANGE_SLOWER);
}

static void test_student(void **state) {
    assert_true(fabs(change_tail(2.0150, 5) / 0.05 - 1) < 0.01);
    assert_true(fabs(change_tail(3.1634, 11) / 0.0045 - 1) < 0.05);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histories),  cmocka_unit_test(test_alarm_goes_on),
        cmocka_unit_test(test_drift),      cmocka_unit_test(test_runs),
        cmocka_unit_test(test_two_levels), cmocka_unit_test(test_faster_moves_the_baseline),
        cmocka_unit_test(test_student),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
