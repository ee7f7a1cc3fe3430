/* test_tuner_suite.c: who gets which case, whatever devices and cases do; files of cases; lists of
 * devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/suite_file.h"
#include "tuner/suite_plan.h"

/* ---- the plan -------------------------------------------------------------------------------- */

enum { MOST_DEVICES = 4, MOST_CASES = 12 };

/* Devices that have been lost from the start or are lost on the way, and cases that end nowhere. */
struct world {
    int n_devices, n_cases;
    int lost_at[MOST_DEVICES]; /* after so many events; a lost device lets no case end */
    bool bad[MOST_CASES];
    int running[MOST_DEVICES]; /* the case, or -1 */
    int ran[MOST_CASES], ended_well[MOST_CASES];
};

static struct world world_new(unsigned seed) {
    struct world w = {0};
    srand(seed);
    w.n_devices = 1 + rand() % MOST_DEVICES;
    w.n_cases = 1 + rand() % MOST_CASES;
    for (int d = 0; d < MOST_DEVICES; d++) {
        w.running[d] = -1;
        /* Two are lost at most, and never the last one. */
        w.lost_at[d] = d && d < 3 && rand() % 2 ? rand() % 20 : INT32_MAX;
    }
    /* Fewer than make a good device seem lost. */
    for (int bad = rand() % SUITE_LOST; bad; bad--) w.bad[rand() % w.n_cases] = true;
    return w;
}

static void check_case(const struct world *w, int device, int i) {
    assert_true(i < w->n_cases);
    assert_int_equal(w->ended_well[i], 0);
    for (int d = 0; d < w->n_devices; d++) assert_true(d == device || w->running[d] != i);
}

static void test_every_case_once(void **state) {
    for (unsigned seed = 0; seed < 3000; seed++) {
        struct arena *a = arena_new();
        struct world w = world_new(seed);
        struct suite_plan p = suite_plan_new(w.n_cases, w.n_devices, a);
        int events = 0;
        for (; !suite_plan_over(&p); events++) {
            int d = rand() % w.n_devices, i = w.running[d];
            assert_true(events < 10000);
            if (i < 0) {
                w.running[d] = i = suite_plan_next(&p, d);
                if (i < 0) continue;
                check_case(&w, d, i);
                w.ran[i]++;
            } else if (w.bad[i] || events >= w.lost_at[d]) {
                suite_plan_failed(&p, i, d);
                w.running[d] = -1;
            } else {
                suite_plan_done(&p, i, d);
                w.running[d] = -1;
                w.ended_well[i]++;
            }
        }
        int left = 0;
        for (int i = 0; i < w.n_cases; i++) {
            assert_int_equal(w.ended_well[i], !w.bad[i]);
            assert_true(w.ran[i] <= SUITE_TRIES);
            if (w.bad[i])
                assert_true(w.ran[i] >=
                            2); /* even on a device of its own: it may have been killed */
            left += w.bad[i];
        }
        assert_int_equal(suite_plan_left(&p), left);
        for (int d = 0; d < w.n_devices; d++) assert_int_equal(suite_plan_next(&p, d), -1);
        arena_free(a);
    }
}

/* The others do what a lost device leaves, and it is not asked again; the last one is never given
 * up. */
static void test_lost_device(void **state) {
    struct arena *a = arena_new();
    struct suite_plan p = suite_plan_new(9, 2, a);
    for (int i = 0; i < SUITE_LOST; i++) {
        assert_false(p.devices[1].lost);
        suite_plan_failed(&p, suite_plan_next(&p, 1), 1);
    }
    assert_true(p.devices[1].lost);
    assert_int_equal(suite_plan_next(&p, 1), -1);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(suite_plan_next(&p, 0), i);
        suite_plan_done(&p, i, 0);
    }
    assert_true(suite_plan_over(&p));
    assert_int_equal(suite_plan_left(&p), 0);

    p = suite_plan_new(9, 2, a); /* one that is done between: from the first on again */
    suite_plan_failed(&p, suite_plan_next(&p, 1), 1);
    suite_plan_done(&p, suite_plan_next(&p, 1), 1);
    for (int i = 0; i < SUITE_LOST; i++) {
        assert_false(p.devices[1].lost);
        suite_plan_failed(&p, suite_plan_next(&p, 1), 1);
    }
    assert_true(p.devices[1].lost);

    p = suite_plan_new(9, 1, a);
    for (int i = 0; i < 2 * 9; i++) suite_plan_failed(&p, suite_plan_next(&p, 0), 0);
    assert_false(p.devices[0].lost);
    assert_true(suite_plan_over(&p));
    arena_free(a);
}

/* What was done before is not done again. */
static void test_goes_on(void **state) {
    struct arena *a = arena_new();
    struct suite_plan p = suite_plan_new(3, 1, a);
    suite_plan_done(&p, 1, -1);
    assert_int_equal(suite_plan_next(&p, 0), 0);
    assert_int_equal(suite_plan_next(&p, 0), 2);
    assert_int_equal(suite_plan_next(&p, 0), -1);
    assert_false(suite_plan_over(&p));
    arena_free(a);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct suite_lines read_text(const char *text, struct arena *a, struct diag *d) {
    char path[] = "/tmp/test_tuner_suite.XXXXXX";
    int fd = mkstemp(path);
    struct suite_lines out;
    *d = diag_new(a);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    suite_read(path, a, &out, d);
    close(fd);
    unlink(path);
    return out;
}

static void test_file(void **state) {
    struct arena *a = arena_new();
    struct diag d;
    struct suite_lines x = read_text(
        "# all\n\n  softmax --config \"x=1 warps=8\" -D dim='8'9 # why\r\nsoftmax", a, &d);
    assert_int_equal(d.status, WS_OK);
    assert_int_equal(x.n, 2);
    assert_int_equal(x.at[0].number, 3);
    assert_int_equal(x.at[0].words.n, 5);
    assert_string_equal(x.at[0].words.at[2], "x=1 warps=8");
    assert_string_equal(x.at[0].words.at[4], "dim=89");
    assert_int_equal(x.at[1].words.n, 1);

    x = read_text("softmax\t-D\tdim=8\t--mode\tfwd\n", a, &d); /* as `nightly cases` prints it */
    assert_int_equal(d.status, WS_OK);
    assert_int_equal(x.at[0].words.n, 5);

    static const struct {
        const char *text, *said;
    } wrong[] = {{"", "has no case"},
                 {"softmax\nsofmax\n", "line 2: no workload 'sofmax'"},
                 {"softmax 'a", "line 1: a quote is not closed"},
                 {"softmax --dtype f3", "line 1: --dtype takes one of"},
                 {"softmax --device cpu", "line 1: not in a case: --device"},
                 {"softmax --results x", "line 1: not in a case: --results"},
                 {"softmax --json", "line 1: not in a case: --json"},
                 {"softmax --help", "line 1: --help stands alone"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        read_text(wrong[i].text, a, &d);
        assert_int_equal(d.status, WS_USAGE);
        if (!strstr(d.text, wrong[i].said)) fail_msg("'%s' not in: %s", wrong[i].said, d.text);
    }
    struct suite_lines none;
    d = diag_new(a);
    assert_int_equal(suite_read("/nowhere", a, &none, &d), WS_USAGE);
    arena_free(a);
}

static void test_devices(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct texts t;
    assert_int_equal(suite_devices("cpu,cpu", a, &t, &d), WS_OK);
    assert_int_equal(t.n, 2);
    assert_string_equal(t.at[1], "cpu");
    assert_int_equal(suite_devices(NULL, a, &t, &d), WS_OK);
    assert_true(t.n == 1 && !t.at[0]);
    assert_int_equal(suite_devices("all", a, &t, &d), WS_OK);
    assert_true(t.n >= 1); /* GPUs, or the CPU */
    static const char *const wrong[] = {
        "", "cpu,", "gpu", "cuda:", "cuda:x", "all,cpu", "cuda:0 cuda:1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        d = diag_new(a);
        enum ws_status s = suite_devices(wrong[i], a, &t, &d);
        assert_true(s == WS_USAGE ||
                    (strstr(wrong[i], "cuda") && s == WS_MACHINE)); /* no driver here */
    }
    d = diag_new(a);
    assert_int_equal(suite_devices("cuda:1023", a, &t, &d), WS_MACHINE);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case_once), cmocka_unit_test(test_lost_device),
        cmocka_unit_test(test_goes_on),         cmocka_unit_test(test_file),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
