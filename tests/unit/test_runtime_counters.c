/* Hardware counters: how they add up, how the range profiler is driven, against the fake of
 * fake_profiler.h, and what happens when there is nothing to count with. No GPU needed; where the
 * real CUPTI is installed, the names of the metrics are held against it. */
#include <math.h>
#include <stddef.h>

#include "tests/unit/cuda_fixture.h"

#include "runtime/cuda/cuda_device.h"

enum { PASSES = 3 };

static void open_counting(struct fixture *f) {
    f->kit->fake->passes = PASSES;
    open_device(f);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void test_total(void **state) {
    (void)state;
    struct counters c[3] = {counters_unknown(), counters_unknown(), counters_unknown()};
    c[0].cycles = 900, c[1].cycles = 100, c[2].cycles = 0; /* the third has an empty grid */
    c[0].dram_read_bytes = 4096, c[1].dram_read_bytes = 16, c[2].dram_read_bytes = 0;
    c[0].issue_pct = 50, c[1].issue_pct = 10;
    c[0].stall_pct[STALL_barrier] = 10, c[1].stall_pct[STALL_barrier] = 20;
    struct counters t = counters_total(c, 3);
    assert_true(t.cycles == 1000 && t.dram_read_bytes == 4112);
    assert_true(fabs(t.issue_pct - 46) < 1e-9 && fabs(t.stall_pct[STALL_barrier] - 11) < 1e-9);
    assert_true(isnan(t.dram_write_bytes) && isnan(t.occupancy));
    assert_true(isnan(counters_total(c, 0).cycles));
}

/* Each counter by itself, of two launches as long as each other: its sum or its mean is the
 * total's, and no other counter is known by it. All are doubles, one behind the other. */
static void test_each(void **state) {
    enum { N = sizeof(struct counters) / sizeof(double) };
    static const char how[] = {
#define SUM 's'
#define MEAN 'm'
#define C(name, kind) [offsetof(struct counters, name) / sizeof(double)] = kind,
        COUNTERS(C)
#undef C
#undef SUM
#undef MEAN
            [N] = 0}; /* of shares of pipes and stalls: 0, which are means */
    (void)state;
    for (int k = 0; k < N; k++) {
        struct counters c[2] = {counters_unknown(), counters_unknown()};
        ((double *)&c[0])[k] = 30, ((double *)&c[1])[k] = 30;
        struct counters t = counters_total(c, 2);
        for (int i = 0; i < N; i++) {
            double got = ((double *)&t)[i];
            if (i == k ? got != (how[k] == 's' ? 60 : 30) : !isnan(got))
                fail_msg("counter %d of what has counter %d: %g", i, k, got);
        }
    }
}

static void test_largest(void **state) {
    (void)state;
    struct counters c = counters_unknown();
    assert_int_equal(counters_busiest_pipe(&c), -1);
    c.pipe_pct[PIPE_alu] = 0;
    assert_int_equal(counters_busiest_pipe(&c), -1);
    c.pipe_pct[PIPE_xu] = 70, c.pipe_pct[PIPE_lsu] = 30;
    assert_int_equal(counters_busiest_pipe(&c), PIPE_xu);
    assert_string_equal(counter_pipe_name(PIPE_xu), "xu");
    c.stall_pct[STALL_wait] = 5;
    assert_int_equal(counters_top_stall(&c), STALL_wait);
    assert_string_equal(counter_stall_name(STALL_wait), "wait");
}

/* ---- counting -------------------------------------------------------------------------------- */

static enum ws_status count(struct fixture *f, struct counters out[3]) {
    struct module *m = load(f);
    struct launch l[] = {launch(m, "a"), launch(m, "b"), launch(m, "a")};
    l[2].grid[0] = 0;
    f->diag = diag_new(f->arena);
    enum ws_status s = device_count(f->dev, l, 3, out, &f->diag);
    device_unload(f->dev, m);
    return s;
}

static void expect_time(struct fixture *f) {
    struct module *m = load(f);
    struct launch l = launch(m, "b");
    double us[4];
    f->diag = diag_new(f->arena);
    if (device_time(f->dev, &l, 1, 4, true, us, NULL, &f->diag) != WS_OK)
        fail_msg("%s", f->diag.text);
    for (int i = 0; i < 4; i++) assert_true(us[i] == 2.0);
    device_unload(f->dev, m);
}

static void test_count(void **state) {
    struct fixture *f = *state;
    struct counters c[3];
    open_counting(f);
    if (count(f, c) != WS_OK) fail_msg("%s", f->diag.text);
    assert_true(c[0].dram_read_bytes == 4096 && c[1].dram_read_bytes == 8192);
    assert_true(c[2].dram_read_bytes == 0 && isnan(c[2].occupancy));
    /* A counter of two metrics is their sum; one that is told in percent can be a fraction. */
    assert_true(c[0].local_bytes ==
                (double)(strlen("l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum") +
                         strlen("l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum")));
    double warps = (double)strlen("sm__warps_active.avg.pct_of_peak_sustained_active") / 100;
    assert_true(fabs(c[0].occupancy - warps) < 1e-9);
    for (int i = 0; i < N_PIPES; i++) assert_true(c[0].pipe_pct[i] > 0);
    for (int i = 0; i < N_STALLS; i++) assert_true(c[1].stall_pct[i] > 0);
    /* Two launches, each with the other in every pass, after one that loads them; flushed once. */
    assert_int_equal(f->kit->fake->flushes, 2 * PASSES);
    assert_int_equal(f->kit->fake->launches, 2 + 2 * PASSES * (2 + 2));
}

/* In any order, and again: neither leaves anything behind that the other minds. */
static void test_count_and_time(void **state) {
    struct fixture *f = *state;
    struct counters c[3];
    open_counting(f);
    expect_time(f);
    for (int i = 0; i < 3; i++) {
        if (count(f, c) != WS_OK) fail_msg("%s", f->diag.text);
        assert_true(c[1].dram_read_bytes == 8192);
        assert_int_equal(count(f, c), WS_OK); /* two in a row enable the profiler once */
        assert_true(f->kit->fake->profilers == 1 && !f->kit->fake->tracing);
        expect_time(f);
        assert_true(f->kit->fake->profilers == 0 && f->kit->fake->tracing);
        assert_int_equal(f->kit->fake->enables, i + 1);
    }
    assert_int_equal(f->kit->fake->asked, 2); /* size and image: what there is was asked once */
}

static void test_untimed_device(void **state) {
    struct fixture *f = *state;
    struct counters c[3];
    f->kit->fake->passes = PASSES;
    assert_int_equal(device_open_untimed("cuda:0", &f->env, f->arena, &f->diag, &f->dev), WS_OK);
    if (count(f, c) != WS_OK) fail_msg("%s", f->diag.text);
    assert_true(c[0].dram_read_bytes == 4096);
}

static void test_count_after_reset(void **state) {
    struct fixture *f = *state;
    struct counters c[3];
    open_counting(f);
    assert_int_equal(count(f, c), WS_OK);
    f->kit->fake->sync_status = 700;
    assert_int_equal(count(f, c), WS_MACHINE);
    assert_true(device_is_lost(f->dev) && isnan(c[0].dram_read_bytes));
    f->diag = diag_new(f->arena);
    assert_int_equal(device_reset(f->dev, &f->diag), WS_OK);
    if (count(f, c) != WS_OK) fail_msg("%s", f->diag.text);
    assert_true(c[0].dram_read_bytes == 4096);
    /* Lost by another, while it is still enabled. */
    struct module *m = load(f);
    struct launch l = launch(m, "a");
    f->kit->fake->sync_status = 700;
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    device_unload(f->dev, m);
    f->diag = diag_new(f->arena);
    assert_int_equal(device_reset(f->dev, &f->diag), WS_OK);
    assert_true(f->kit->fake->profilers == 0 && f->kit->fake->tracing);
    if (count(f, c) != WS_OK) fail_msg("%s", f->diag.text);
}

/* ---- what is not there ----------------------------------------------------------------------- */

/* Whatever the reason that a metric has no value, the others have theirs. */
static void test_metrics_that_are_not_there(void **state) {
    struct fixture *f = *state;
    struct counters c[3];
    struct fake *fake = f->kit->fake;
    strcpy(fake->unknown_metric, "stalled_gmma");
    strcpy(fake->missing_metric, "dram__bytes_write");
    strcpy(fake->broken_metric, "local_op_st");
    open_counting(f);
    if (count(f, c) != WS_OK) fail_msg("%s", f->diag.text);
    assert_true(isnan(c[0].stall_pct[STALL_gmma]) && isnan(c[0].dram_write_bytes));
    assert_true(isnan(c[0].local_bytes)); /* half a sum is none */
    assert_true(c[0].dram_read_bytes == 4096 && c[0].stall_pct[STALL_wait] > 0);
    assert_int_equal(fake->hosts, 1);
}

/* The message is the same at every call, and nothing is asked of CUPTI again; time goes on. */
static void expect_refused(struct fixture *f, const char *said) {
    struct counters c[3];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(count(f, c), WS_MACHINE);
        if (!strstr(f->diag.text, said)) fail_msg("%s", f->diag.text);
        assert_non_null(strstr(f->diag.text, "no hardware counters"));
        assert_true(isnan(c[0].dram_read_bytes) && isnan(c[1].pipe_pct[PIPE_xu]));
        assert_int_equal(f->kit->fake->profilers, 0);
        f->kit->fake->availability_status = f->kit->fake->enable_status = 0;
        f->kit->fake->start_status = 0;
    }
    assert_false(device_is_lost(f->dev));
    expect_time(f);
}

static void test_no_permission(void **state) {
    struct fixture *f = *state;
    open_counting(f);
    f->kit->fake->availability_status = CUPTI_C_ERROR_INSUFFICIENT_PRIVILEGES;
    expect_refused(f, "for administrators");
    assert_int_equal(f->kit->fake->asked, 1);
}

/* Some drivers say so only when it starts. */
static void test_no_permission_to_start(void **state) {
    struct fixture *f = *state;
    open_counting(f);
    f->kit->fake->start_status = CUPTI_C_ERROR_INSUFFICIENT_PRIVILEGES;
    expect_refused(f, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)");
}

static void test_busy(void **state) {
    struct fixture *f = *state;
    open_counting(f);
    f->kit->fake->enable_status = CUPTI_C_ERROR_HARDWARE_BUSY;
    expect_refused(f, "another profiler uses them");
}

static void test_lost_ranges(void **state) {
    struct fixture *f = *state;
    struct counters c[3];
    open_counting(f);
    f->kit->fake->dropped_ranges = 1;
    assert_int_equal(count(f, c), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "lost what it counted of 'a'"));
    f->kit->fake->dropped_ranges = 0;
    f->kit->fake->passes = 1000000;
    assert_int_equal(count(f, c), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "100 passes"));
    expect_time(f);
}

static void test_cpu(void **state) {
    struct fixture *f = *state;
    struct counters c;
    assert_int_equal(device_open_untimed("cpu", &f->env, f->arena, &f->diag, &f->dev), WS_OK);
    assert_int_equal(device_count(f->dev, NULL, 0, &c, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "cpu has no hardware counters"));
}

/* ---- the real CUPTI -------------------------------------------------------------------------- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/* Its host side needs no GPU: every metric exists on the chip that they were chosen for. It loads
 * its parts in a way that the address sanitizer refuses. */
static void test_real_names(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    struct arena *a = arena_new();
    struct env env = env_read(a);
    struct diag d = diag_new(a);
    struct profiler_api api;
    struct profiler_host_open open = {.size = profiler_host_open_SIZE, .chip = "GH100"};
    if (profiler_api_open(&api, &env, a, &d) != WS_OK || api.host_open(&open) != CUPTI_OK) {
        arena_free(a);
        skip();
    }
    const char *name;
    for (int i = 0; (name = profiler_metric_name(i)); i++) {
        struct profiler_metric m = {.size = profiler_metric_SIZE, .host = open.host, .name = name};
        if (api.metric(&m) != CUPTI_OK) fail_msg("%s", name);
    }
    struct profiler_host_close close = {.size = profiler_host_close_SIZE, .host = open.host};
    assert_int_equal(api.host_close(&close), CUPTI_OK);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_total),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_largest),
        TEST(test_count),
        TEST(test_count_and_time),
        TEST(test_untimed_device),
        TEST(test_count_after_reset),
        TEST(test_metrics_that_are_not_there),
        TEST(test_no_permission),
        TEST(test_no_permission_to_start),
        TEST(test_busy),
        TEST(test_lost_ranges),
        TEST(test_cpu),
        cmocka_unit_test(test_real_names),
    };
    return cmocka_run_group_tests(tests, make_toolkit, remove_toolkit);
}
