/* test_reports_figures.c: from rows to the model and to what gnuplot is given: roofs, sweeps,
 * labels, intervals, and device against device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/devices.h"

enum { MOST = 64 };

static struct result_row rows[MOST];
static struct results file = {.rows = rows};

static struct result_row *add(enum result_role role, const char *workload, const char *axes,
                              const char *device, double us) {
    struct result_row *r = &rows[file.n++];
    *r = result_row_new();
    r->run_id = "run1";
    r->timestamp = "2026-09-01T02:00:00Z";
    r->git_rev = "abc";
    r->host = r->driver = r->toolchain = r->timer = r->graph = r->guard = r->config = r->arch = "";
    r->throttle = r->pipe = r->stall = r->counters = r->reference = r->error_at = r->precision =
        r->weights = "";
    r->device = device;
    r->workload = workload;
    r->mode = "fwd";
    r->dtype = "f32";
    r->axes = axes;
    r->kernel = role == ROLE_variant ? "k_0" : "program";
    r->role = role;
    r->n = 100;
    r->median_us = us;
    r->ci_us = us * 0.001;
    r->bytes = 1e6;
    r->flops = 1e6;
    r->gbps = 1e3 / us;
    r->roof_pct = 50;
    return r;
}

static struct model m;
static struct benches benches;

static void build(void) {
    benches_add(&benches, &file, NULL);
    model_build(&m, &file, 1, &benches);
}

static int clear(void **state) {
    model_free(&m);
    benches_free(&benches);
    file.n = 0;
    return 0;
}

static void expect_in(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("no '%s' in:\n%s", part, text);
}

static void expect_label(const char *expected, size_t i, bool workload, size_t most) {
    struct text t = {0};
    case_label(&t, &m, &m.cases[i], workload, most);
    assert_string_equal(text_str(&t), expected);
    text_free(&t);
}

static void expect_ratio(const char *expected, double value, double low, double high) {
    struct text t = {0};
    put_ratio(&t, &(struct estimate){value, low, high});
    assert_string_equal(text_str(&t), expected);
    text_free(&t);
}

/* Decimals that the interval does not know are not written. */
static void test_numbers(void **state) {
    expect_ratio("1.84", 1.836, 1.83, 1.842);
    expect_ratio("1.8", 1.836, 1.7, 1.97);
    expect_ratio("~2", 1.836, 0.9, 3);
    expect_ratio("~110", 110.33, 1, INFINITY);
    expect_ratio("11.7", 11.68, NAN, NAN);
    expect_ratio("–", NAN, NAN, NAN);
    struct text t = {0};
    put_us(&t, 16098);
    text_puts(&t, " ");
    put_us(&t, 9.5);
    text_puts(&t, " ");
    put_thousands(&t, 1234567, 0);
    assert_string_equal(t.p, "16.1\u00a0ms 9.50\u00a0µs 1\u202f234\u202f567");
    text_free(&t);
    struct result_row *a = add(ROLE_eager, "w", "", "G", 36.96),
                      *b = add(ROLE_tuned, "w", "", "G", 18.48);
    struct estimate s = speedup_of(a, b);
    assert_true(fabs(s.value - 2) < 1e-9 && s.low < 2 && s.low > 1.99 && s.high > 2 &&
                s.high < 2.01);
    assert_int_equal(speedup_sign(&s), 1);
    assert_false(row_unsteady(a));
    a->ci_us = 2;
    assert_true(row_unsteady(a));
    b->status = STATUS_implausible;
    assert_true(isnan(speedup_of(a, b).value));
}

/* The newest copy bandwidth by its time, not by its place in the file; a peak for each type, from
 * what its rows were judged by. */
static void test_roofs(void **state) {
    struct result_row *newest = add(ROLE_roof, "w", "", "G", NAN);
    newest->gbps = 117.2, newest->timestamp = "2026-09-02T00:00:00Z";
    struct result_row *older = add(ROLE_roof, "w", "", "G", NAN);
    older->gbps = 102.6, older->tflops = 990;
    add(ROLE_tuned, "w", "n=1", "G", 10);
    struct result_row *bound = add(ROLE_tuned, "w", "n=2", "G", 100);
    bound->dtype = "bf16", bound->flops = 5e9,
    bound->roof_pct = 80; /* a floor of 80 us: 62.5 TFLOP/s */
    build();
    assert_int_equal(m.n_roofs, 2);
    for (size_t i = 0; i < m.n; i++) {
        const struct case_ *c = &m.cases[i];
        assert_true(c->roof->gbps == 117.2);
        if (strcmp(c->bench->key->dtype, "bf16") == 0)
            assert_true(fabs(c->roof->tflops - 62.5) < 1e-9);
        else
            assert_true(isnan(c->roof->tflops));
    }
    struct figure f = {0};
    assert_true(figure_roofline(&f, &m, 0, m.n));
    expect_in(f.drawing.data.p,
              "G\u00a0bf16:\u00a0copies\u00a0117\u00a0GB/s,\u00a0peak\u00a062\u00a0TFLOP/s");
    expect_in(f.drawing.data.p, "n_roofs = 2\n");
    figure_free(&f);
}

/* Of two rows of a role the newer one counts, wherever it stands. */
static void test_newest_row(void **state) {
    add(ROLE_tuned, "w", "n=1", "G", 10)->timestamp = "2026-09-02T00:00:00Z";
    add(ROLE_tuned, "w", "n=1", "G", 20)->timestamp = "2026-09-01T00:00:00Z";
    for (int i = 0; i < 20; i++) add(ROLE_tuned, i % 2 ? "v" : "u", "n=1", "G", 30 + i);
    build();
    assert_int_equal(m.n, 3);
    for (size_t i = 0; i < m.n; i++) {
        const char *name = m.cases[i].bench->key->workload;
        double us = *name == 'w' ? 10 : *name == 'v' ? 49 : 48;
        assert_true(m.cases[i].ours->median_us == us);
    }
}

/* Cases that differ in one axis are a sweep, by size; one that differs in two is not of it. */
static void test_sweep(void **state) {
    static const char *const axes[] = {"dim=1024 rows=64", "dim=256 rows=64", "dim=512 rows=64",
                                       "dim=512 rows=128"};
    for (int i = 0; i < 4; i++) {
        add(ROLE_eager, "rmsnorm", axes[i], "G", 100);
        add(ROLE_tuned, "rmsnorm", axes[i], "G", 50);
    }
    add(ROLE_tuned, "relu", "n=5", "G", 50);
    build();
    assert_int_equal(m.n_workloads, 2);
    assert_string_equal(m.workloads[0].name, "rmsnorm"); /* the fastest over unfused first */
    assert_int_equal(m.n_sweeps, 1);
    const struct sweep *s = &m.sweeps[0];
    assert_int_equal(s->n, 3);
    assert_true(m.cases[s->first].size == 256 && m.cases[s->first + 2].size == 1024);
    struct figure f = {0};
    assert_true(figure_sizes(&f, &m, s));
    expect_in(f.drawing.data.p,
              "$lines << EOD\n256 20 19.98 20.02 0.02 0.01998 0.02002 2 1.996 2.004\n512 ");
    expect_in(f.drawing.data.p, "axis_name = \"dim\"\n");
    expect_in(f.drawing.data.p, "tics = \"(256, 512, 1024)\"\n");
    figure_free(&f);
    assert_true(figure_speedup(&f, &m, 0, m.n));
    expect_in(f.drawing.data.p, "\"f32, 3 sizes of dim\"");
    expect_in(f.drawing.data.p, "opponents = \"over\u00a0unfused\"\n"); /* nothing else is there */
    figure_free(&f);
}

/* What differs comes first, whole words are left out, no number is cut. */
static void test_labels(void **state) {
    add(ROLE_tuned, "cross_entropy", "rows=8192 smoothing=0.0 vocab=32000", "G 1", 50);
    add(ROLE_tuned, "cross_entropy", "rows=8192 smoothing=0.0 vocab=50257", "G 1", 50);
    add(ROLE_tuned, "relu", "n=1", "NVIDIA H200", 50);
    build();
    expect_label("cross_entropy f32 1 vocab=32000 rows=8192 smoothing=0.0", 0, true, 0);
    expect_label("cross_entropy f32 1 vocab=32000 …", 0, true, 40);
    expect_label("f32 1 vocab=50257 rows=8192 …", 1, false, 32);
    expect_label("relu f32 H200 n=1", 2, true, 0);
    struct text t = {0};
    put_file_name(&t, "softmax bf16 ../a/b  <x>");
    assert_string_equal(t.p, "softmax-bf16-..-a-b-x");
    text_free(&t);
}

static void test_speedup_figure(void **state) {
    add(ROLE_eager, "a", "n=1", "G", 300);
    add(ROLE_default, "a", "n=1", "G", 90);
    add(ROLE_tuned, "a", "n=1", "G", 100);
    add(ROLE_eager, "b", "n=1", "G", 200);
    add(ROLE_default, "b", "n=1", "G", 150)->ci_us = 60;
    add(ROLE_tuned, "b", "n=1", "G", 100);
    add(ROLE_eager, "c", "n=1", "G", 110);
    add(ROLE_tuned, "c", "n=1", "G", 20)->status = STATUS_implausible;
    build();
    struct figure f = {0};
    assert_true(figure_speedup(&f, &m, 0, m.n));
    expect_in(f.drawing.data.p,
              "1 0 \"a f32 n=1\" 1\n2 0 \"b f32 n=1\" 3\n3 0 \"c f32 n=1\" 5\nEOD\n");
    expect_in(f.drawing.data.p,
              "1 1 3 2.994 3.006 0 8818330 \"3.00×\" 1\n"
              "2 1 0.9 0.8982 0.9018 1 11817770 \"0.90×\" 1\n" /* slower: red */
              "1 2 2 1.996 2.004 0 8818330 \"2.00×\" 3\n"
              "2 2 1.5 0.8991 2.1021 2 5215172 \"~2×\" 3\n" /* unsteady: hatched */
              "1 3 5.5 5.5 5.5 2 8818330 \"5.50× implausible\" 5\nEOD\n");
    expect_in(f.drawing.data.p, "x_highs = \"3.06 1.2\"\n"); /* set by what is known */
    figure_free(&f);
    struct mean mean = model_mean(&m, 0, m.n, OPPONENT_DEFAULT);
    assert_int_equal(mean.n, 2);
    assert_int_equal(mean.losses, 1);
}

/* The newest run that tried variants, the slowest kernel first, two knobs that explain the times,
 * the winner framed. */
static void test_tuning_figure(void **state) {
    static const char *const configs[] = {"x=1 warps=4 vec=4", "x=1 warps=8 vec=4",
                                          "x=2 warps=4 vec=4", "x=2 warps=8 vec=4"};
    static const double us[] = {40, 20, 44, 24};
    add(ROLE_tuned, "w", "n=1", "G", 20)->run_id = "run3"; /* knew the winner */
    add(ROLE_variant, "w", "n=1", "G", 5)->config = "x=9 warps=9 vec=9";
    for (int i = 0; i < 4; i++) {
        struct result_row *r = add(ROLE_variant, "w", "n=1", "G", us[i]);
        r->run_id = "run2", r->config = configs[i], r->q1_us = us[i] - 1, r->q3_us = us[i] + 1,
        r->min_us = us[i] - 2;
        r->is_winner = i == 1;
    }
    struct result_row *failed = add(ROLE_variant, "w", "n=1", "G", NAN);
    failed->run_id = "run2", failed->config = "x=2 warps=2 vec=4", failed->status = STATUS_spill;
    build();
    assert_string_equal(m.cases[0].tuning.run_id, "run2");
    assert_int_equal(m.cases[0].tuning.kernels[0].n, 5);
    struct figure f = {0};
    assert_true(figure_tuning(&f, &m, &m.cases[0]));
    expect_in(f.drawing.data.p,
              "$trials << EOD\n1 40 40 0\n2 20 20 1\n3 44 20 0\n4 24 20 0\n5 0 20 2\nEOD\n");
    expect_in(f.drawing.data.p, "column_knob = \"warps\"\nrow_knob = \"x\"\n");
    expect_in(f.drawing.data.p, "column_tics = '(\"2\" 1, \"4\" 2, \"8\" 3)'\n");
    expect_in(f.drawing.data.p, "3 1 0 1920890 1 1 \"20.0\"\n"); /* dark, framed, white letters */
    expect_in(f.drawing.data.p, "1 2 0 16777215 0 0 \"×\"\n");
    expect_in(f.drawing.data.p, "1 18 19 20 21 0.02 1 3108254 \"x=1 warps=8, n=100, winner\"\n");
    figure_free(&f);
}

/* Runs in the order of their times; a new driver is marked where it came. */
static void test_history_figure(void **state) {
    struct result_row *r = add(ROLE_tuned, "w", "n=1", "G", 21);
    r->timestamp = "2026-09-03T02:00:00Z", r->driver = "580.2", r->run_id = "run3";
    r = add(ROLE_tuned, "w", "n=1", "G", 20);
    r->timestamp = "2026-09-01T02:00:00Z", r->driver = "580.1";
    build();
    struct figure f = {0};
    assert_false(figure_history(&f, &m, &m.cases[0])); /* two runs are no history */
    model_free(&m);
    benches_free(&benches);
    r = add(ROLE_tuned, "w", "n=1", "G", 40);
    r->timestamp = "2026-09-02T02:00:00Z", r->driver = "580.1", r->ci_us = 9, r->run_id = "run2";
    build();
    assert_true(figure_history(&f, &m, &m.cases[0]));
    expect_in(f.drawing.data.p, "$runs << EOD\n2026-09-01T02:00:00Z 20 19.98 20.02 0\n"
                                "2026-09-02T02:00:00Z 40 31 49 1\n"
                                "2026-09-03T02:00:00Z 21 20.979 21.021 0\nEOD\n");
    expect_in(f.drawing.data.p, "n_events = 1\nevent_times = \"2026-09-03T02:00:00Z\"\n"
                                "event_texts = \"driver\u00a0580.2\"\n");
    figure_free(&f);
}

/* Of very many runs the last 500. */
static void test_long_history(void **state) {
    add(ROLE_tuned, "w", "n=1", "G", 20);
    build();
    const struct result_row *many[600];
    for (int i = 0; i < 600; i++) many[i] = &rows[0];
    struct case_ c = m.cases[0];
    c.history = many;
    c.n_history = 600;
    struct figure f = {0};
    assert_true(figure_history(&f, &m, &c));
    assert_string_equal(f.title.p, "History: f32 n=1, last 500 of 600 runs");
    figure_free(&f);
}

/* A step is dated to its first night, and the revisions on either side are named. */
static void test_step_in_history(void **state) {
    static char times[30][40], nights[30][40]; /* as wide as the compiler takes an int to be */
    for (int i = 0; i < 30; i++) {
        double us = (i < 20 ? 20 : 21) * (1 + 0.002 * (i % 3));
        struct result_row *r = add(ROLE_tuned, "w", "n=1", "G", us);
        snprintf(times[i], sizeof times[i], "2026-09-%02dT02:00:00Z", i + 1);
        snprintf(nights[i], sizeof nights[i], "202609%02dT020000Z.1", i + 1);
        r->timestamp = times[i], r->run_id = nights[i];
        r->git_rev = i < 20 ? "aaaaaaaaaaaa" : "bbbbbbbbbbbb";
    }
    build();
    struct figure f = {0};
    assert_true(figure_history(&f, &m, &m.cases[0]));
    expect_in(f.drawing.data.p, "n_changes = 1\nchange_times = \"2026-09-21T02:00:00Z\"\n"
                                "change_texts = \"+");
    expect_in(f.drawing.data.p, "\u00a0%,\u00a0aaaaaaaa..bbbbbbbb\"\n");
    expect_in(f.note.p, "SLOWER by +");
    expect_in(f.note.p, " since 20260921T020000Z, commits aaaaaaaaaaaa..bbbbbbbbbbbb.");
    figure_free(&f);
}

static void add_device(const char *device, double gbps, double memory_us, double product_us,
                       double torch_us) {
    struct result_row *roof = add(ROLE_roof, "w", "", device, NAN);
    roof->gbps = gbps, roof->tflops = 100;
    struct result_row *r = add(ROLE_tuned, "copy", "n=1", device, memory_us);
    r->bytes = gbps * 1e3 * memory_us * 0.9, r->roof_pct = 90; /* moving them is the floor */
    r = add(ROLE_tuned, "matmul", "n=1", device, product_us);
    r->bytes = 1, r->roof_pct = 80, r->flops = 1e9;
    add(ROLE_torch_eager, "copy", "n=1", device, torch_us);
}

static void test_devices(void **state) {
    add_device("NVIDIA H200", 4200, 10, 50, 12);
    add_device("NVIDIA H100", 3000, 14, 55, 16.8);
    add(ROLE_tuned, "only", "n=1", "NVIDIA H200", 5);
    build();
    struct comparison_of_devices c;
    devices_compare(&c, &m);
    assert_string_equal(c.devices[0].name, "NVIDIA H100"); /* the slower memory is A */
    assert_int_equal(c.n, 2);
    assert_int_equal(c.only_one, 1);
    struct text t = {0};
    put_devices_markdown(&t, &c);
    expect_in(t.p, "NVIDIA H200 over NVIDIA H100: 1.24× in the geometric mean of 2 cases, PyTorch "
                   "itself 1.40× of 1. "
                   "Roofs: copies 1.40× (4200 over 3000 GB/s), highest peak 1.00×.");
    expect_in(t.p, "1 case of one device alone is left out.");
    expect_in(t.p, "| copy f32 n=1 | NVIDIA H200 | 14 | 2026-09-01 | 10 | 2026-09-01 | 1.40× | "
                   "1.397 to 1.403 | 1.40× | "
                   "1.40× | memory's |\n");
    expect_in(t.p, "| 1.10× | 1.098 to 1.102 | 1.00× | – | arithmetic's, and 1.10× of ours |\n");
    t.n = 0;
    put_devices_csv(&t, &c);
    expect_in(t.p, "\"copy\",\"fwd\",\"f32\",\"f32\",\"n=1\",\"NVIDIA H100\",\"NVIDIA H200\",");
    text_free(&t);
    struct figure f = {0};
    assert_true(figure_devices(&f, &m, &c));
    expect_in(f.drawing.data.p,
              "1 1.4 1.3972 1.4028 0 \"1.40×\" 1.4 1.4\n2 1.1 1.0978 1.1022 0 \"1.10×\" 1 nan\n");
    figure_free(&f);
    devices_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_numbers, clear),
        cmocka_unit_test_teardown(test_roofs, clear),
        cmocka_unit_test_teardown(test_newest_row, clear),
        cmocka_unit_test_teardown(test_sweep, clear),
        cmocka_unit_test_teardown(test_labels, clear),
        cmocka_unit_test_teardown(test_speedup_figure, clear),
        cmocka_unit_test_teardown(test_tuning_figure, clear),
        cmocka_unit_test_teardown(test_history_figure, clear),
        cmocka_unit_test_teardown(test_step_in_history, clear),
        cmocka_unit_test_teardown(test_long_history, clear),
        cmocka_unit_test_teardown(test_devices, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
