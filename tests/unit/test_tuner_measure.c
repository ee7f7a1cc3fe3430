/* measure, check and roof on a device that the test makes up: a vtable of a few functions that says
 * how long things take and how the clock is. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "runtime/vtable.h"
#include "tuner/check.h"
#include "tuner/measure.h"
#include "tuner/roof.h"

/* Sample k takes base_us, plus noise_us for every other k. */
struct clockwork {
    struct device base;
    double base_us, noise_us;
    int taken, batches;
    int throttled_batches; /* the first so many */
};

static enum ws_status fake_time(struct device *dev, const struct launch *l, int n, int samples,
                                bool flush, double *us, struct sample_extra *extra,
                                struct diag *d) {
    struct clockwork *c = (struct clockwork *)dev;
    (void)l, (void)d;
    assert_true(flush);
    for (int s = 0; s < samples; s++) {
        for (int i = 0; i < n; i++)
            us[s * n + i] = (c->base_us + (c->taken % 2 ? c->noise_us : 0)) / n;
        if (extra) extra[s] = (struct sample_extra){.host_us = 5, .span_us = c->base_us + 3};
        c->taken++;
    }
    c->batches++;
    return WS_OK;
}

static void fake_health(struct device *dev, struct health *out) {
    struct clockwork *c = (struct clockwork *)dev;
    out->clock_mhz = 1980;
    out->temp_c = 40;
    bool held = c->batches - 1 <= c->throttled_batches; /* the first is the warm-up */
    out->throttle_bits = held && c->throttled_batches ? 4 : 0;
    strcpy(out->throttle, out->throttle_bits ? "sw_power_cap" : "none");
}

static const struct device_ops ops = {.time = fake_time, .health = fake_health};

static struct clockwork made(double base_us, double noise_us) {
    return (struct clockwork){.base = {.ops = &ops}, .base_us = base_us, .noise_us = noise_us};
}

/* Launches that only have to look launchable. */
static struct launch launches[2] = {
    {.module = (struct module *)1, .entry = "a", .grid = {1, 1, 1}, .threads = 1},
    {.module = (struct module *)1, .entry = "b", .grid = {1, 1, 1}, .threads = 1}};

static struct timing alone(struct clockwork *c, struct measure_rule rule) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct subject s = {.launches = launches, .n = 2};
    assert_int_equal(measure_alone(&c->base, &s, &rule, &d), WS_OK);
    arena_free(a);
    return s.timing;
}

static void test_steady_times_need_few_samples(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    struct timing t = alone(&c, measure_rule_default(100));
    assert_true(fabs(t.us.median - 30) < 1e-9); /* both launches together */
    assert_true(t.us.n >= 10 && t.us.n < 40);
    assert_int_equal(c.taken, t.us.n + 1); /* one warm-up, discarded */
    assert_string_equal(t.throttle, "none");
    assert_true(t.clock_mhz == 1980 && t.temp_c == 40 && t.host_us == 5 && t.span_us == 33);
}

static void test_noisy_times_end_at_the_limit(void **state) {
    (void)state;
    struct clockwork c = made(30, 30);
    assert_int_equal(alone(&c, measure_rule_default(50)).us.n, 50);
}

/* One repetition in two takes twice as long: single ones would never converge, groups do. */
static void test_short_ones_come_in_groups(void **state) {
    (void)state;
    struct clockwork c = made(4, 4);
    struct timing t = alone(&c, measure_rule_default(100));
    assert_true(t.us.n >= 10 && t.us.n < 40);
    assert_true(c.taken > 10 * t.us.n);
    assert_true(fabs(t.us.median - 6) < 0.5);
}

static void test_hopeless_is_dropped(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    struct measure_rule rule = measure_rule_default(100);
    rule.drop_us = 20;
    struct timing t = alone(&c, rule);
    assert_true(t.dropped);
    assert_int_equal(t.us.n, 1);
    rule.drop_us = 31;
    assert_false(alone(&c, rule).dropped);
}

static void test_throttled_samples_are_set_aside(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    c.throttled_batches = 2;
    struct timing t = alone(&c, measure_rule_default(100));
    assert_int_equal(t.n_throttled, 2); /* two batches of one */
    assert_true(t.us.n >= 10);
    assert_string_equal(t.throttle, "sw_power_cap");
}

static void test_never_no_samples(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    c.throttled_batches = 1 << 20; /* always */
    struct timing t = alone(&c, measure_rule_default(100));
    assert_true(t.us.n >= 10 && t.n_throttled > 0);
    assert_string_equal(t.throttle, "sw_power_cap");
}

static void test_in_turns(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct subject s[2] = {{.launches = launches, .n = 1}, {.launches = launches, .n = 2}};
    struct measure_rule rule = measure_rule_default(100);
    assert_int_equal(measure_together(&c.base, s, 2, &rule, &d), WS_OK);
    assert_int_equal(s[0].timing.us.n, s[1].timing.us.n);
    assert_true(s[0].timing.us.n >= 10);
    arena_free(a);
}

static void test_tolerance_scales(void **state) {
    (void)state;
    const float want[] = {3, -4, 0, INFINITY};
    double rtol, atol;
    check_tolerance(DT_BF16, want, 4, &rtol, &atol);
    assert_true(rtol == 1.6e-2);
    assert_true(fabs(atol - rtol * sqrt(25.0 / 3)) < 1e-12); /* the infinity does not count */
    check_tolerance(DT_BOOL, want, 4, &rtol, &atol);
    assert_true(rtol == 0 && atol == 0);
    check_tolerance(DT_F32, want, 0, &rtol, &atol);
    assert_true(rtol == 1e-4 && atol == 0);
}

static void test_roofs(void **state) {
    (void)state;
    struct device_limits l = {
        .peak_gbps = 1000, .f32_tflops = 10, .matrix_tflops = 100, .l2_bytes = 400000};
    struct roof r = {&l, 800};
    struct work stream = {.bytes = 1e6, .write_bytes = 5e5, .flops = 1e6};
    assert_true(fabs(roof_floor_us(&r, &stream) - 1.25) < 1e-9); /* 1 MB at 800 GB/s */
    assert_false(roof_bound_by_compute(&r, &stream));
    /* 0.4 MB of the writes may stay in the cache, the rest goes at the data sheet's rate. */
    assert_true(fabs(roof_physical_us(&r, &stream) - 0.6) < 1e-9);
    struct work dense = {.bytes = 1e6, .write_bytes = 5e5, .flops = 1e9};
    assert_true(fabs(roof_floor_us(&r, &dense) - 100) < 1e-9); /* 1 GFLOP at 10 TFLOP/s */
    assert_true(roof_bound_by_compute(&r, &dense));
    dense.matrix = true;
    assert_true(fabs(roof_floor_us(&r, &dense) - 10) < 1e-9);
    struct device_limits unknown = {0};
    struct roof none = {&unknown, NAN};
    assert_true(isnan(roof_floor_us(&none, &stream)));
    assert_true(roof_physical_us(&none, &stream) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_times_need_few_samples),
        cmocka_unit_test(test_noisy_times_end_at_the_limit),
        cmocka_unit_test(test_short_ones_come_in_groups),
        cmocka_unit_test(test_hopeless_is_dropped),
        cmocka_unit_test(test_throttled_samples_are_set_aside),
        cmocka_unit_test(test_never_no_samples),
        cmocka_unit_test(test_in_turns),
        cmocka_unit_test(test_tolerance_scales),
        cmocka_unit_test(test_roofs),
    };
    return cmocka_run_group_tests_name("tuner measure", tests, NULL, NULL);
}
