/* test_reports_compare.c: verdicts, exit codes, and what the comparison says about runs that
 * differ. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/benches.h"
#include "reports/compare.h"
#include "reports/row_json.h"
#include "tests/unit/heap_test.h"

static char folder[] = "/tmp/test_reports_compare.XXXXXX";
static char path[64];

static int make_folder(void **state) {
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/r.csv", folder);
    return 0;
}
static int empty_folder(void **state) { return unlink(path); }
static int remove_folder(void **state) { return rmdir(folder); }

/* 30 samples around `us` with quartiles `spread` (relative) away. */
static struct result_row timed(const char *run, enum result_role role, double us, double spread) {
    struct result_row r = result_row_new();
    r.run_id = run;
    r.device = "NVIDIA H200";
    r.driver = "580.1";
    r.workload = "softmax";
    r.mode = "fwd";
    r.dtype = "f32";
    r.axes = "dim=4096 rows=4096";
    r.kernel = "program";
    r.role = role;
    r.n = 30;
    r.median_us = us;
    r.q1_us = us * (1 - spread);
    r.q3_us = us * (1 + spread);
    r.clock_mhz = 1980;
    return r;
}

static void append(struct result_row row) {
    struct report_error e = {0};
    if (result_append(path, &row, 1, NULL, &e) != REPORT_OK) fail_msg("%s", e.text);
}

static enum verdict verdict(double base, double now, double spread) {
    struct result_row b = timed("a", ROLE_tuned, base, spread),
                      n = timed("b", ROLE_tuned, now, spread);
    return compare_rows(&b, &n, 0.02).verdict;
}

/* A night before schema 3 against one after it: both without the gaps between kernels. */
static void test_older_times(void **state) {
    struct result_row base = timed("a", ROLE_tuned, 100, 0.005),
                      now = timed("b", ROLE_tuned, 110, 0.005);
    now.kernels_us = 100;
    assert_int_equal(compare_rows(&base, &now, 0.02).verdict, VERDICT_SLOWER);
    base.schema = 2;
    assert_int_equal(compare_rows(&base, &now, 0.02).verdict, VERDICT_SAME);
    assert_int_equal(compare_rows(&now, &base, 0.02).verdict, VERDICT_SAME);
    now.kernels_us = 110;
    assert_int_equal(compare_rows(&base, &now, 0.02).verdict, VERDICT_SLOWER);
}

static void test_two_gates(void **state) {
    assert_int_equal(verdict(100, 100, 0.005), VERDICT_SAME);
    assert_int_equal(verdict(100, 110, 0.005), VERDICT_SLOWER);
    assert_int_equal(verdict(110, 100, 0.005), VERDICT_FASTER);
    assert_int_equal(verdict(100, 101, 0.001),
                     VERDICT_SAME); /* disjoint, but below the threshold */
    assert_int_equal(verdict(100, 104, 0.05),
                     VERDICT_UNSURE); /* above it, but the intervals overlap */
    assert_int_equal(verdict(100, 100, 0.2), VERDICT_UNSURE); /* 2 % could not be seen */
    assert_int_equal(verdict(100, 102.5, 0.005), VERDICT_SLOWER);
    assert_int_equal(verdict(102.5, 100, 0.005), VERDICT_FASTER);
}

static void test_thin_evidence(void **state) {
    struct result_row b = timed("a", ROLE_tuned, 100, 0.001),
                      n = timed("b", ROLE_tuned, 150, 0.001);
    n.n = COMPARE_MIN_SAMPLES - 1;
    assert_int_equal(compare_rows(&b, &n, 0.02).verdict, VERDICT_UNSURE);
    n.n = NAN;
    assert_int_equal(compare_rows(&b, &n, 0.02).verdict, VERDICT_UNSURE);
    n.n = 30;
    n.q1_us = NAN;
    assert_int_equal(compare_rows(&b, &n, 0.02).verdict, VERDICT_UNSURE);
    n = timed("b", ROLE_tuned, 100.1, 0.001);
    n.ci_us = 5; /* the row's own interval says more than its quartiles */
    assert_int_equal(compare_rows(&b, &n, 0.02).verdict, VERDICT_UNSURE);
    n.status = STATUS_wrong;
    assert_int_equal(compare_rows(&b, &n, 0.02).verdict, VERDICT_BROKEN);
}

/* Run `compare --base path<base> --new path<now>`; *said gets both streams. */
static int compare_as(enum compare_output output, const char *base, const char *now,
                      struct text *said) {
    char b[96], n[96], *p = NULL;
    const char *base_given = b, *now_given = n;
    size_t size;
    snprintf(b, sizeof b, "%s%s", path, base);
    snprintf(n, sizeof n, "%s%s", path, now);
    FILE *f = open_memstream(&p, &size);
    struct compare_request r = {&base_given, &now_given, 1, 1, 0.02, output};
    int rc = compare_files(&r, f, f);
    fclose(f);
    text_puts(said, p);
    free(p);
    return rc;
}

static int compare(const char *base, const char *now, struct text *said) {
    return compare_as(COMPARE_TABLE, base, now, said);
}

static void expect(int want, const char *base, const char *now, const char *says) {
    struct text said = {0};
    int rc = compare(base, now, &said);
    if (rc != want || !strstr(text_str(&said), says))
        fail_msg("exit %d, expected %d and '%s', said:\n%s", rc, want, says, text_str(&said));
    text_free(&said);
}

/* A program's kernels have rows, too, before its own. */
static void test_kernels_do_not_count(void **state) {
    for (int run = 0; run < 2; run++) {
        struct result_row kernel = timed(run ? "run2" : "run1", ROLE_tuned, run ? 50 : 5, 0.004);
        struct result_row program = kernel;
        kernel.kernel = "k_sum_0";
        program.median_us = 100, program.q1_us = 99.8, program.q3_us = 100.2;
        append(kernel);
        append(program);
    }
    expect(0, "@prev", "@last", "1 same");
}

static void test_exit_codes(void **state) {
    append(timed("run1", ROLE_tuned, 100, 0.004));
    append(timed("run1", ROLE_eager, 200, 0.004));
    expect(2, "@prev", "@last", "no run 'prev' (nothing of the last run was measured before)");
    append(timed("run2", ROLE_tuned, 100.4, 0.004));
    append(timed("run2", ROLE_eager, 199, 0.004));
    expect(0, "@prev", "@last", "2 same");
    append(timed("run3", ROLE_tuned, 120, 0.004));
    append(timed("run3", ROLE_eager, 199, 0.004));
    expect(4, "@prev", "@last", "SLOWER");
    expect(0, "@run3", "@run2", "FASTER");
    expect(0, "@run3", "@run2", "geometric mean of base/new, tuned: 1.195x over 1 row");
    append(timed("run4", ROLE_tuned, 125, 0.10));
    expect(1, "@prev", "@last", "UNSURE");
    expect(1, "@prev", "@last", /* what is lost is not fine */
           "only in base: softmax fwd f32 dim=4096 rows=4096 unfused on NVIDIA H200");
    struct result_row broken = timed("run5", ROLE_tuned, 1, 0);
    broken.status = STATUS_wrong;
    append(broken);
    expect(1, "@prev", "@last", "BROKEN: wrong");
    expect(0, "", "",
           "same"); /* the newest rows of both sides; what is broken on both is not compared */
    expect(2, "@run1", "@nosuch", "has no run 'nosuch'");
}

/* Another type, and a run that was cut off, lie between; samples scatter widely, but there are
 * many. */
static void test_own_previous(void **state) {
    append(timed("run1", ROLE_tuned, 100, 0.004));
    struct result_row other = timed("run2", ROLE_tuned, 50, 0.004);
    other.dtype = "bf16";
    append(other);
    struct result_row cut = timed("run3", ROLE_variant, 1, 0.004);
    cut.kernel = "k_0";
    append(cut);
    struct result_row wrong = timed("run4", ROLE_tuned, 100, 0.004);
    wrong.status = STATUS_wrong;
    append(wrong);
    append(timed("run5", ROLE_tuned, 110, 0.004));
    expect(4, "@prev", "@last", "SLOWER");
    struct result_row b = timed("a", ROLE_tuned, 100, 0.06), n = timed("b", ROLE_tuned, 110, 0.06);
    b.n = n.n = 240;
    assert_int_equal(compare_rows(&b, &n, 0.02).verdict, VERDICT_SLOWER);
    n.median_us = 105;
    assert_int_equal(compare_rows(&b, &n, 0.02).verdict, VERDICT_UNSURE);
}

/* Rows of another precision are not held against each other; those of schemas without are f32's. */
static void test_precisions(void **state) {
    append(timed("run1", ROLE_tuned, 100, 0.004));
    struct result_row tf32 = timed("run2", ROLE_tuned, 50, 0.004);
    tf32.precision = "tf32";
    append(tf32);
    expect(2, "@run1", "@run2", "no measured benchmark in common");
    expect(2, "@prev", "@last", "no run 'prev'");
    struct result_row f32 = timed("run3", ROLE_tuned, 120, 0.004);
    f32.precision = "f32";
    append(f32);
    expect(4, "@prev", "@last", "SLOWER");
    tf32.run_id = "run4";
    append(tf32);
    expect(0, "@prev", "@last", "f32 tf32");
}

/* Slow beats noisy: a certain regression is not hidden by an uncertain neighbour. */
static void test_slow_beats_noisy(void **state) {
    append(timed("run1", ROLE_tuned, 100, 0.1));
    append(timed("run1", ROLE_default, 100, 0.001));
    append(timed("run2", ROLE_tuned, 104, 0.1));
    append(timed("run2", ROLE_default, 130, 0.001));
    expect(4, "@prev", "@last", "1 slower, 0 faster, 0 same, 1 unsure");
}

static void test_machine_changes(void **state) {
    append(timed("run1", ROLE_tuned, 100, 0.001));
    struct result_row other = timed("run2", ROLE_tuned, 50, 0.001);
    other.device = "NVIDIA A100";
    append(other);
    expect(2, "@run1", "@run2", "only in base: softmax");
    expect(2, "@run1", "@run2", "no measured benchmark in common");
    expect(2, "@prev", "@last", "no run 'prev'"); /* run1 is of another device */
    struct result_row newer = timed("run3", ROLE_tuned, 100, 0.001);
    newer.driver = "580.2";
    newer.clock_mhz = 1700;
    append(newer);
    expect(0, "@prev", "@last", "driver of NVIDIA H200 changed: 580.1 -> 580.2");
    expect(0, "@prev", "@last",
           "clock of softmax dim=4096 rows=4096 tuned changed: 1980 -> 1700 MHz");
}

/* Rows of real PyTorch come from runs of their own: neither the last run nor the one before. */
static void test_torch_rows_are_no_run(void **state) {
    append(timed("run1", ROLE_tuned, 100, 0.001));
    append(timed("run2", ROLE_tuned, 101, 0.001));
    struct result_row peer = timed("torch", ROLE_torch_compile, 90, 0.001);
    peer.config = "default";
    append(peer);
    peer.config = "max-autotune";
    peer.median_us = 80;
    append(peer);
    expect(0, "@prev", "@last", "1 same");

    struct report_error e = {0};
    struct results r;
    struct benches b = {0};
    assert_int_equal(results_read(path, &r, &e), REPORT_OK);
    assert_string_equal(run_find(&r, "last"), "run2");
    benches_add(&b, &r, "run2");
    assert_int_equal(b.n, 1);
    assert_int_equal(b.all[0].n_compiled, 2);
    assert_string_equal(bench_best_compiled(&b.all[0])->config, "max-autotune");
    benches_free(&b);
    results_free(&r);
}

static void test_unreadable(void **state) {
    FILE *null = fopen("/dev/null", "w");
    assert_non_null(null);
    const char *no_such = "/no/such.csv";
    struct compare_request none = {&no_such, &no_such, 1, 1, 0.02, COMPARE_TABLE};
    assert_int_equal(compare_files(&none, null, null), 2);
    fclose(null);
}

/* --json: the value alone on out, with both rows of each pair; the table goes to err. */
static void test_json(void **state) {
    append(timed("run1", ROLE_tuned, 100, 0.001));
    append(timed("run1", ROLE_eager, 200, 0.001));
    append(timed("run2", ROLE_tuned, 150, 0.001));
    char base[96], now[96], *p = NULL;
    size_t size;
    snprintf(base, sizeof base, "%s@run1", path);
    snprintf(now, sizeof now, "%s@run2", path);
    FILE *f = open_memstream(&p, &size), *null = fopen("/dev/null", "w");
    const char *base_given = base, *now_given = now;
    struct compare_request r = {&base_given, &now_given, 1, 1, 0.02, COMPARE_JSON};
    assert_int_equal(compare_files(&r, f, null), 1);
    fclose(f);
    fclose(null);
    json_t *all = json_loads(p, 0, NULL);
    assert_non_null(all);
    json_t *pair = json_array_get(json_object_get(all, "pairs"), 0);
    assert_string_equal(json_string_value(json_object_get(pair, "verdict")), "SLOWER");
    assert_int_equal(json_integer_value(json_object_get(pair, "base_runs")), 1);
    json_t *row = json_object_get(pair, "new");
    assert_true(json_number_value(json_object_get(row, "median_us")) == 150);
    assert_string_equal(json_string_value(json_object_get(row, "axes")), "dim=4096 rows=4096");
    assert_null(json_object_get(row, "host_us")); /* not measured */
    assert_int_equal(json_array_size(json_object_get(all, "only_in_base")), 1);
    json_decref(all);
    free(p);
}

/* Whatever it says, it keeps nothing. */
static void test_keeps_no_memory(void **state) {
    enum { WARM = 3, MORE = 3 };
    struct result_row slow = timed("run2", ROLE_tuned, 150, 0.001),
                      elsewhere = timed("run2", ROLE_eager, 200, 0.001);
    elsewhere.driver = "580.2";
    append(timed("run1", ROLE_tuned, 100, 0.001));
    append(timed("run1", ROLE_eager, 200, 0.001));
    append(timed("run1", ROLE_default, 120, 0.001));
    append(slow);
    append(elsewhere);
    static const struct {
        const char *base, *now;
        int exit;
    } calls[] = {{"@run1", "@run2", 1}, {"@run2", "@run1", 0}, {"@run1", "@run1", 0},
                 {"@none", "@run1", 2}, {"x", "@run1", 2},     {"@run1", "x", 2}};
    size_t kept = 0;
    for (int i = 0; i < WARM + MORE; i++) {
        if (i == WARM) kept = heap_in_use();
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            struct text said = {0};
            assert_int_equal(compare(calls[c].base, calls[c].now, &said), calls[c].exit);
            text_free(&said);
        }
    }
    assert_true(heap_in_use() <= kept);
}

/* ---- several runs a side --------------------------------------------------------------------- */

static const struct result_row **of_us(struct result_row *rows, const struct result_row **at,
                                       const double *us, int n) {
    for (int i = 0; i < n; i++) rows[i] = timed("a", ROLE_tuned, us[i], 0.001), at[i] = &rows[i];
    return at;
}

static struct judgement of_runs(const double *base, int n_base, const double *now, int n_now) {
    struct result_row a[8], b[8];
    const struct result_row *at_a[8], *at_b[8];
    return compare_runs(of_us(a, at_a, base, n_base), (size_t)n_base, of_us(b, at_b, now, n_now),
                        (size_t)n_now, 0.02);
}

/* Runs that lie apart make the interval wide, however well each is known; more that lie close make
 * it narrow. */
static void test_runs_scatter(void **state) {
    const double quiet[] = {100, 100.2, 99.9, 100.1, 99.8},
                 up[] = {104, 104.2, 103.9, 104.1, 103.8}, wild[] = {104, 112, 96, 109, 99},
                 calm[] = {98, 106, 100, 94, 103};
    struct judgement one = of_runs(quiet, 1, up, 1), five = of_runs(quiet, 5, up, 5);
    assert_int_equal(one.verdict, VERDICT_SLOWER);
    assert_int_equal(five.verdict, VERDICT_SLOWER);
    assert_true(fabs(five.change - 0.04) < 1e-3 && five.low < 0.04 && 0.04 < five.high);
    assert_true(five.high - five.low < (one.high - one.low) / 2);
    assert_int_equal(of_runs(wild, 1, up, 1).verdict, VERDICT_SAME);
    assert_int_equal(of_runs(calm, 5, wild, 5).verdict, VERDICT_UNSURE);
    assert_int_equal(of_runs(quiet, 5, quiet, 3).verdict, VERDICT_SAME);
    assert_int_equal(of_runs(calm, 5, calm, 5).verdict, VERDICT_UNSURE); /* 2 % is not seen */
}

static void write_runs(const char *night, int n, double us) {
    static char ids[64][16];
    static int used;
    for (int i = 1; i <= n; i++) {
        char *id = ids[used++ % 64];
        snprintf(id, sizeof ids[0], "%s.%d", night, i);
        append(timed(id, ROLE_tuned, us + 0.1 * i, 0.001));
    }
}

/* A night's runs, all runs, those of a folder; of two rows of a run the newer. */
static void test_sides_of_several_runs(void **state) {
    write_runs("n1", 3, 100);
    append(timed("n1.3", ROLE_tuned, 100.3, 0.001));
    write_runs("n2", 2, 110);
    expect(4, "@n1", "@n2", " 3, 2     100.20     110.15    +9.9 %");
    expect(4, "@n1", "@last", " 3, 1     100.20     110.20   +10.0 %");
    expect(5, "@all", "@all", " 5, 5     104.07     104.07    +0.0 %");
    expect(2, "@n1", "@n4", "the new: '");
    const char *files[] = {path, path}, *in = folder;
    char newest[96], wrong[96];
    snprintf(newest, sizeof newest, "%s@n1", folder);
    snprintf(wrong, sizeof wrong, "%s@last", folder);
    const char *night = newest, *last = wrong;
    const struct compare_request requests[] = {{&night, &in, 1, 1, 0.02, COMPARE_TABLE},
                                               {&night, files, 1, 2, 0.02, COMPARE_TABLE},
                                               {&night, &last, 1, 1, 0.02, COMPARE_TABLE}};
    const char *const says[] = {" 3, 5 ", " 3, 5 ", "'last' is of one file, and '"};
    for (int i = 0; i < 3; i++) {
        char *said = NULL;
        size_t size;
        FILE *f = open_memstream(&said, &size);
        int rc = compare_files(&requests[i], f, f);
        fclose(f);
        if (rc != (i < 2 ? 5 : 2) || !strstr(said, says[i]))
            fail_msg("%d: exit %d, no '%s' in:\n%s", i, rc, says[i], said);
        free(said);
    }
    append(timed("n3.1", ROLE_tuned, 100, 0.001));
    append(timed("n3.2", ROLE_tuned, 5000, 0.001));
    expect(5, "@n1", "@n3", "-26.3 to > +1000 %");
    struct result_row broken = timed("n2.3", ROLE_tuned, 110, 0.001);
    broken.status = STATUS_wrong;
    append(broken);
    expect(1, "@n1", "@n2", "BROKEN: wrong in 1 of 3 runs");
}

static void test_markdown(void **state) {
    append(timed("run1", ROLE_tuned, 100, 0.001));
    append(timed("run1", ROLE_eager, 200, 0.001));
    struct result_row newer = timed("run2", ROLE_tuned, 150, 0.001);
    newer.driver = "590.2";
    append(newer);
    struct text said = {0}, want = {0};
    assert_int_equal(compare_as(COMPARE_MARKDOWN, "@run1", "@run2", &said), 1);
    text_printf(&want,
                "# 1 slower, 0 faster, 0 same, 0 unsure, 0 broken; threshold 2 %%\n\n"
                "Base: `%s@run1`; new: `%s@run2`\n\n"
                "| workload | mode | dtype | axes | role | runs | base us | new us | change | "
                "95 %% interval | sure | verdict |\n"
                "|---|---|---|---|---|---:|---:|---:|---:|---:|---:|---|\n"
                "| softmax | fwd | f32 | dim=4096 rows=4096 | tuned | 1, 1 | 100.00 | 150.00 | "
                "+50.0 %% | +48.5 to +51.5 %% | 99.9 %% | SLOWER |\n\n"
                "* geometric mean of base/new, tuned: 0.667x over 1 row\n"
                "* driver of NVIDIA H200 changed: 580.1 -> 590.2\n"
                "* only in base: softmax fwd f32 dim=4096 rows=4096 unfused on NVIDIA H200\n",
                path, path);
    assert_string_equal(said.p, want.p);
    text_free(&said);
    text_free(&want);
}

static void test_foreign_file(void **state) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("a,b\n1,2\n", f);
    fclose(f);
    expect(1, "", "", "column 'schema' is missing");
}

int main(int argc, char **argv) {
    heap_exact(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_times),
        cmocka_unit_test(test_two_gates),
        cmocka_unit_test(test_thin_evidence),
        cmocka_unit_test_teardown(test_kernels_do_not_count, empty_folder),
        cmocka_unit_test_teardown(test_exit_codes, empty_folder),
        cmocka_unit_test_teardown(test_own_previous, empty_folder),
        cmocka_unit_test_teardown(test_precisions, empty_folder),
        cmocka_unit_test_teardown(test_slow_beats_noisy, empty_folder),
        cmocka_unit_test_teardown(test_machine_changes, empty_folder),
        cmocka_unit_test_teardown(test_torch_rows_are_no_run, empty_folder),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test_teardown(test_json, empty_folder),
        cmocka_unit_test_teardown(test_keeps_no_memory, empty_folder),
        cmocka_unit_test(test_runs_scatter),
        cmocka_unit_test_teardown(test_sides_of_several_runs, empty_folder),
        cmocka_unit_test_teardown(test_markdown, empty_folder),
        cmocka_unit_test_teardown(test_foreign_file, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
