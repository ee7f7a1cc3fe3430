/* test_reports_history.c: results of many nights in one folder, and what is said of the last. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/figures.h"
#include "reports/history.h"

static char folder[] = "/tmp/test_reports_history.XXXXXX";

static int make_folder(void **state) { return mkdtemp(folder) ? 0 : -1; }
static int empty_folder(void **state) {
    static const char *const files[] = {"r.csv", "s.csv", "nightly/nightly.md",
                                        "nightly/timeline.csv", "nightly/accepted.csv"};
    char path[96];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/nightly", folder);
    rmdir(path);
    return 0;
}
static int remove_folder(void **state) { return rmdir(folder); }

/* One run of a night: of f32 softmax, unless changed. */
static struct result_row timed(int night, int run, enum result_role role, double us) {
    static char texts[400][3][32];
    static int used;
    char(*t)[32] = texts[used++ % 400];
    snprintf(t[0], 32, "202611%02dT020000Z.%d", night, run);
    snprintf(t[1], 32, "2026-11-%02dT02:%02d:00Z", night, run);
    snprintf(t[2], 32, "c%d", night);
    struct result_row r = result_row_new();
    r.run_id = t[0], r.timestamp = t[1], r.git_rev = t[2];
    r.device = "NVIDIA H200", r.driver = "580.1", r.throttle = "none";
    r.workload = "softmax", r.mode = "fwd", r.dtype = "f32", r.axes = "dim=4096";
    r.kernel = "program", r.role = role;
    r.n = 30, r.median_us = us, r.q1_us = 0.996 * us, r.q3_us = 1.004 * us, r.clock_mhz = 1980;
    return r;
}

static void append_to(const char *name, struct result_row row) {
    struct report_error e = {0};
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (result_append(path, &row, 1, NULL, &e) != REPORT_OK) fail_msg("%s", e.text);
}
static void append(struct result_row row) { append_to("r.csv", row); }

static void expect(int want, int (*command)(const struct history_request *, FILE *, FILE *),
                   const char *says) {
    char *said = NULL;
    size_t size;
    FILE *f = open_memstream(&said, &size);
    struct history_request r = {folder, NULL, NIGHTS_THRESHOLD};
    int rc = command(&r, f, f);
    assert_int_equal(fclose(f), 0);
    if (rc != want || !strstr(said, says))
        fail_msg("exit %d, expected %d and '%s', said:\n%s", rc, want, says, said);
    free(said);
}

static double wobble(int i) { return 0.1 * (i * 7 % 5 - 2); }

static void quiet_nights(int n) {
    for (int i = 1; i <= n; i++) append(timed(i, 1, ROLE_tuned, 100 + wobble(i)));
}

/* Another type, another mode and a night that was cut off lie between: each benchmark goes by its
 * own nights. */
static void test_own_nights(void **state) {
    for (int i = 1; i <= 12; i++) {
        struct result_row r = timed(i, 1, ROLE_tuned, 100 + wobble(i) + (i >= 10 ? 10 : 0));
        if (i % 2) r.dtype = "bf16", r.median_us = 50 + wobble(i) / 2;
        append(r);
    }
    struct result_row cut = timed(13, 1, ROLE_variant, 1);
    cut.kernel = "k_0";
    append(cut);
    append(timed(14, 1, ROLE_tuned, 110));
    expect(4, history_judge, "softmax fwd f32 dim=4096 tuned | SLOWER");
    expect(4, history_judge, "since 20261110T020000Z, commits c8..c10");
}

/* It alarms every night, until it is accepted. */
static void test_accept(void **state) {
    quiet_nights(10);
    expect(0, history_judge, "1 same");
    expect(0, history_accept, "nothing is slower");
    for (int i = 11; i <= 20; i++) append(timed(i, 1, ROLE_tuned, 110 + wobble(i)));
    expect(4, history_judge, "since 20261111T020000Z");
    expect(0, history_accept, "softmax fwd f32 dim=4096 tuned, +10.0 %, from 20261111T020000Z");
    expect(0, history_judge, "1 same");
    for (int i = 21; i <= 23; i++) append(timed(i, 1, ROLE_tuned, 121 + wobble(i)));
    expect(4, history_judge, "SLOWER");
}

/* One run of a slow night may have met with anything; two more of the same night tell. */
static void test_run_again(void **state) {
    quiet_nights(10);
    append(timed(11, 1, ROLE_tuned, 110));
    expect(5, history_judge, "UNSURE");
    append(timed(11, 2, ROLE_tuned, 110.1));
    append(timed(11, 3, ROLE_tuned, 109.9));
    expect(4, history_judge, "SLOWER | 110.00");
    append(timed(12, 1, ROLE_tuned, 110));
    append(timed(12, 2, ROLE_tuned, 100));
    append(timed(12, 3, ROLE_tuned, 100));
    expect(0, history_judge, "1 same");
}

/* Samples all over the place excuse no night that takes twice as long. */
static void test_wide_samples(void **state) {
    for (int i = 1; i <= 2; i++) {
        struct result_row r = timed(i, 1, ROLE_tuned, 100 * i);
        r.q1_us = 0.3 * r.median_us, r.q3_us = 8 * r.median_us;
        append(r);
    }
    expect(5, history_judge, "UNSURE");
}

static void test_lost_and_broken(void **state) {
    append(timed(1, 1, ROLE_tuned, 100));
    append(timed(1, 1, ROLE_eager, 200));
    append(timed(2, 1, ROLE_eager, 200));
    expect(1, history_judge, "lost: softmax fwd f32 dim=4096 tuned, last measured in 20261101T");
    struct result_row broken = timed(2, 2, ROLE_tuned, 100);
    broken.status = STATUS_implausible;
    append(broken);
    expect(1, history_judge, "BROKEN: softmax fwd f32 dim=4096 tuned: implausible");
}

/* Fixed and changing weights are two benchmarks; rows from before there were any go with the first
 * that they meet. */
static void test_weights(void **state) {
    append(timed(1, 1, ROLE_tuned, 100));
    static const char *const weights[] = {"fixed", "changing"};
    for (int night = 2; night <= 3; night++)
        for (int i = 0; i < 2; i++) {
            struct result_row r = timed(night, 1, ROLE_tuned, 100);
            r.weights = weights[i], r.axes = "dim=64";
            append(r);
            if (i) continue;
            r.axes = "dim=4096";
            append(r);
        }
    expect(0, history_judge, "3 same, 0 new");
    expect(0, history_judge, "softmax fwd f32, changing weights dim=64 tuned | same");
    expect(0, history_judge, "softmax fwd f32, fixed weights dim=64 tuned | same");
    expect(0, history_judge, "softmax fwd f32 dim=4096 tuned | same");
}

/* What is new in the machine is named, and no regression. */
static void test_machine(void **state) {
    quiet_nights(10);
    struct result_row newer = timed(11, 1, ROLE_tuned, 130);
    newer.driver = "590.2";
    append(newer);
    expect(0, history_judge,
           "driver: +30.3 % against the night before, which is not judged (580.1 -> 590.2)");
    for (int i = 12; i <= 20; i++) {
        newer = timed(i, 1, ROLE_tuned, i < 18 ? 130 + wobble(i) : 143 + wobble(i));
        newer.driver = "590.2", newer.clock_mhz = i < 18 ? 1980 : 1800;
        append(newer);
    }
    expect(0, history_judge, "| clock |");
    newer = timed(21, 1, ROLE_tuned, 200);
    newer.driver = "590.2", newer.throttle = "sw_power_cap";
    append(newer);
    expect(1, history_judge, "BROKEN: softmax fwd f32 dim=4096 tuned: sw_power_cap");
}

/* The page's time line says of the tuned program what is judged: several nights of a day, a night
 * of two days, an accepted level, a step between the thresholds of nights and of compare. */
static void expect_figure(const char *changes, const char *events, const char *says) {
    struct results file = {0};
    struct report_error e = {0};
    struct benches benches = {0};
    struct model m;
    struct accepted accepted = {0};
    struct figure f = {0};
    char path[96];
    snprintf(path, sizeof path, "%s/r.csv", folder);
    assert_int_equal(results_read(path, &file, &e), REPORT_OK);
    assert_int_equal(accepted_read(&accepted, folder, &e), REPORT_OK);
    benches_add(&benches, &file, NULL);
    model_build(&m, &file, 1, &benches);
    m.accepted = &accepted;
    assert_true(figure_history(&f, &m, &m.cases[0]));
    if (!strstr(f.drawing.data.p, changes) || !strstr(f.drawing.data.p, events) ||
        !strstr(f.note.p, says))
        fail_msg("no '%s', '%s', '%s' in:\n%s\n%s", changes, events, says, f.drawing.data.p,
                 f.note.p);
    figure_free(&f);
    model_free(&m);
    benches_free(&benches);
    results_free(&file);
    accepted_free(&accepted);
}

static struct result_row of_night(int i, int run, double us) {
    static char texts[80][2][48];
    static int used;
    struct result_row r = timed(i / 4 + 1, run, ROLE_tuned, us);
    char(*t)[48] = texts[used++ % 80];
    snprintf(t[0], sizeof t[0], "202611%02dT%02d0000Z.%d", i / 4 + 1, 6 * (i % 4) + 5, run);
    /* The second run of a night that begins at 23 o'clock is of the next day. */
    snprintf(t[1], sizeof t[1], "2026-11-%02dT%02d:00:00Z", i / 4 + 1 + (i % 4 == 3 && run > 1),
             (6 * (i % 4) + 4 + run) % 24);
    r.run_id = t[0], r.timestamp = t[1];
    return r;
}

static void test_figure_says_the_same(void **state) {
    for (int i = 0; i < 20; i++)
        for (int run = 1; run <= 2; run++)
            append(of_night(i, run, (i < 12 ? 100 : 101.8) + 0.1 * wobble(i + run)));
    expect(4, history_judge, "since 20261104T050000Z, commits c3..c4 |");
    expect_figure("n_changes = 1\nchange_times = \"2026-11-04T05:00:00Z\"\nchange_texts = \"+1.8",
                  "n_events = 0", "SLOWER by +1.8 % since 20261104T050000Z, commits c3..c4.");
    expect(0, history_accept, "from 20261104T050000Z on");
    expect(0, history_judge, "1 same");
    expect_figure(
        "n_changes = 0",
        "n_events = 1\nevent_times = \"2026-11-04T05:00:00Z\"\nevent_texts = \"accepted\"",
        "or more.");
}

/* Benchmarks stand in the order of their first nights; of one night in that of files, and not of
 * where these lie in memory. */
static void test_order(void **state) {
    for (int run = 1; run <= 300; run++) { /* enough that each file's rows are a mapping */
        struct result_row r = timed(run % 20 + 1, run, ROLE_tuned, 100);
        append(r);
        r.dtype = "bf16";
        append_to("s.csv", r);
    }
    struct result_row first = timed(1, 0, ROLE_tuned, 100);
    first.dtype = "f64"; /* is last in the last file */
    append_to("s.csv", first);
    expect(0, history_judge, "2 same");
    char path[96], line[512], found[64] = "";
    snprintf(path, sizeof path, "%s/nightly/timeline.csv", folder);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        const char *type = strstr(line, "f64\"")             ? "f64 "
                           : strstr(line, "bf16\"")          ? "bf16 "
                           : strstr(line, "\"f32\",\"f32\"") ? "f32 "
                                                             : "";
        if (!strstr(found, type)) strcat(found, type);
    }
    fclose(f);
    assert_string_equal(found, "f64 f32 bf16 ");
}

static void test_wrong_calls(void **state) {
    struct history_request none = {"/no/such", NULL, NIGHTS_THRESHOLD};
    FILE *null = fopen("/dev/null", "w");
    assert_int_equal(history_judge(&none, null, null), 2);
    fclose(null);
    expect(1, history_judge, "no results in");
}

/* Six nights, and three runs of the seventh, of a kernel whose samples have two levels: rope in
 * bf16 on an H200 (reports/samples/nights_h200.csv). Samples scatter by 3 %, nights by 0.2 %. */
static void test_scattered_samples(void **state) {
    static const double quiet[] = {32.832, 32.96, 32.864, 32.96, 32.927, 32.864};
    static const double slow[] = {34.40, 34.62, 34.56};
    for (int i = 0; i < 9; i++) {
        struct result_row r =
            timed(i < 6 ? i + 1 : 7, i < 6 ? 1 : i - 5, ROLE_tuned, i < 6 ? quiet[i] : slow[i - 6]);
        r.q1_us = 0.995 * r.median_us, r.q3_us = 1.03 * r.median_us;
        append(r);
        if (i == 5) expect(0, history_judge, "0 slower");
    }
    expect(4, history_judge, "1 slower");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_own_nights, empty_folder),
        cmocka_unit_test_teardown(test_scattered_samples, empty_folder),
        cmocka_unit_test_teardown(test_accept, empty_folder),
        cmocka_unit_test_teardown(test_run_again, empty_folder),
        cmocka_unit_test_teardown(test_wide_samples, empty_folder),
        cmocka_unit_test_teardown(test_lost_and_broken, empty_folder),
        cmocka_unit_test_teardown(test_weights, empty_folder),
        cmocka_unit_test_teardown(test_machine, empty_folder),
        cmocka_unit_test_teardown(test_figure_says_the_same, empty_folder),
        cmocka_unit_test_teardown(test_order, empty_folder),
        cmocka_unit_test_teardown(test_wrong_calls, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
