/* Sweeps, axes as rows write them, and the table that bench ends with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tuner/record.h"
#include "tuner/sweep.h"
#include "tuner/table.h"

static struct sweep parse(struct arena *a, const char **words, int n, enum ws_status expected) {
    struct diag d = diag_new(a);
    struct texts given = {words, n};
    struct sweep s = {0};
    assert_int_equal(sweep_parse(&given, a, &s, &d), expected);
    if (expected != WS_OK) assert_non_null(d.text);
    return s;
}

static void test_sweep(void **state) {
    (void)state;
    struct arena *a = arena_new();
    const char *words[] = {"rows=4,8", "shape=(2,3),[4,5],'a,b'"};
    struct sweep s = parse(a, words, 2, WS_OK);
    assert_int_equal(s.n_points, 6);
    const char *expected[][2] = {{"4", "(2,3)"}, {"4", "[4,5]"}, {"4", "'a,b'"},
                                 {"8", "(2,3)"}, {"8", "[4,5]"}, {"8", "'a,b'"}};
    for (int i = 0; i < 6; i++) {
        struct ws_axis *point = sweep_point(&s, i, a);
        assert_string_equal(point[0].name, "rows");
        assert_string_equal(point[0].value, expected[i][0]);
        assert_string_equal(point[1].value, expected[i][1]);
    }
    assert_int_equal(parse(a, NULL, 0, WS_OK).n_points, 1);
    arena_free(a);
}

static void test_bad_sweeps(void **state) {
    (void)state;
    struct arena *a = arena_new();
    const char *bad[] = {"rows", "=4", "rows=", "rows=4,", "rows=4,,8"};
    for (int i = 0; i < 5; i++) parse(a, &bad[i], 1, WS_USAGE);
    const char *twice[] = {"rows=4", "rows=8"};
    parse(a, twice, 2, WS_USAGE);
    char many[3 * 200 + 8] = "x=1";
    for (int i = 0; i < 199; i++) strcat(many, ",1");
    const char *huge[] = {many,
                          "y=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,"
                          "26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,"
                          "48,49,50,51"};
    parse(a, huge, 2, WS_USAGE);
    arena_free(a);
}

static void test_axes_are_sorted(void **state) {
    (void)state;
    struct arena *a = arena_new();
    assert_string_equal(record_axes("rows=4 dim=8", a), "dim=8 rows=4");
    assert_string_equal(record_axes("shape=(2, 3) eps=1e-05", a), "eps=1e-05 shape=(2, 3)");
    assert_string_equal(record_axes("", a), "");
    arena_free(a);
}

static void test_program_table(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct device_limits l = {.f32_tflops = 50};
    struct roof roof = {&l, 4000};
    struct work w = {.bytes = 134217728, .flops = 1e6};
    struct timing eager = timing_none(), tuned = timing_none();
    double slow[] = {56.8, 56.8, 56.8, 56.8, 56.8, 56.8},
           fast[] = {33.9, 33.9, 33.9, 33.9, 33.9, 33.9};
    eager.us = stats_of(slow, 6);
    tuned.us = stats_of(fast, 6);
    const struct table_line lines[] = {{"unfused", &eager}, {"tuned", &tuned}};
    struct buf b = buf_new(a);
    table_programs(&b, lines, 2, &w, &roof);
    assert_string_equal(b.p, "                  us        +-       GB/s   % roof   speed-up\n"
                             "unfused        56.80      0.00     2363.0     59.1\n"
                             "tuned          33.90      0.00     3959.2     99.0      1.68x\n");
    b.n = 0;
    table_legend(&b, &w, &roof);
    for (char *line = strtok(b.p, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 80);
    arena_free(a);
}

static void test_unsteady_times(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct timing steady = timing_none(), wild = timing_none(), none = timing_none();
    double even[] = {100, 101, 100, 101, 100, 101, 100, 101},
           uneven[] = {80, 90, 120, 100, 130, 95, 110, 105};
    steady.us = stats_of(even, 8);
    wild.us = stats_of(uneven, 8);
    const struct table_line lines[] = {{"unfused", &none}, {"default", &steady}, {"tuned", &wild}};
    struct buf b = buf_new(a);
    table_unsteady(&b, lines, 2);
    assert_int_equal(b.n, 0);
    table_unsteady(&b, lines, 3);
    assert_non_null(strstr(b.p, "unsteady: medians are known to +-"));
    arena_free(a);
}

/* A time below the data sheet's is said, with what it is held against; one that can be is not. */
static void test_implausible_times(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct timing fast = timing_none(), slow = timing_none();
    double below[] = {50, 50, 50, 50}, above[] = {150, 150, 150, 150};
    fast.us = stats_of(below, 4);
    slow.us = stats_of(above, 4);
    struct device_limits l = {.peak_gbps = 1000};
    struct roof roof = {&l, NAN};
    struct work w = {.bytes = 1e8}; /* 100 us of them */
    struct buf b = buf_new(a);
    table_implausible(&b, &(struct table_line){"default", &slow}, &w, &roof);
    assert_int_equal(b.n, 0);
    table_implausible(&b, &(struct table_line){"tuned", &fast}, &w, &roof);
    assert_non_null(strstr(b.p, "implausible: tuned takes 50.00 us, and the device's data sheet "
                                "allows no less than 100.00: "));
    arena_free(a);
}

/* What was not measured is a dash, never a nan. */
static void test_table_without_times(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct device_limits l = {0};
    struct roof roof = {&l, NAN};
    struct work w = {.bytes = 1};
    struct timing none = timing_none();
    const struct table_line lines[] = {{"unfused", &none}, {"tuned", &none}};
    struct buf b = buf_new(a);
    table_programs(&b, lines, 2, &w, &roof);
    assert_null(strstr(b.p, "nan"));
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_bad_sweeps),
        cmocka_unit_test(test_axes_are_sorted),
        cmocka_unit_test(test_program_table),
        cmocka_unit_test(test_unsteady_times),
        cmocka_unit_test(test_implausible_times),
        cmocka_unit_test(test_table_without_times),
    };
    return cmocka_run_group_tests_name("tuner command line", tests, NULL, NULL);
}
