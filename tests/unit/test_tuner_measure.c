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
#include <unistd.h>

#include "runtime/vtable.h"
#include "tuner/check.h"
#include "tuner/measure.h"
#include "tuner/roof.h"

/* Sample k takes base_us, plus noise_us for every other k. */
struct clockwork {
    struct device base;
    double base_us, noise_us;
    int taken, batches;
    int throttled_batches;     /* the first so many, after the warm-up; */
    int throttled_every;       /* and one in so many; 0: none */
    double throttled_us;       /* that a launch takes longer then */
    int stopped_at;            /* the process is stopped for seconds during this one; 0: never */
    double gap_us;             /* between launches */
    int behind_every;          /* of so many repetitions one has gaps of the host's; 0: none */
    int cools_after;           /* so many looks at its health a throttled device is so no more */
    int looks, hot_begins;     /* at it since the last batch; batches that began while it was hot */
    int fails_at;              /* this call of device_time fails; 0: none */
    int sleeps_ms;             /* in each sample, as if it took so long */
    const struct launch *slow; /* no other launch sleeps; NULL: all do */
    double limit_ms, most_ms;  /* of the call; the longest that was given */
};

static bool is_throttled(const struct clockwork *c) {
    int batch = c->batches - 1;
    return batch > 0 && (batch <= c->throttled_batches ||
                         (c->throttled_every && batch % c->throttled_every == 0));
}

/* Since a throttled batch nobody has waited long enough. */
static bool is_hot(const struct clockwork *c) {
    return is_throttled(c) && c->looks <= c->cools_after;
}

static enum ws_status fake_time(struct device *dev, const struct launch *l, int n, int samples,
                                bool flush, double *us, struct sample_extra *extra,
                                struct diag *d) {
    struct clockwork *c = (struct clockwork *)dev;
    assert_true(flush);
    c->hot_begins += is_hot(c);
    c->looks = 0;
    c->batches++;
    c->most_ms = fmax(c->most_ms, c->limit_ms);
    if (c->batches == c->fails_at) return diag_fail(d, WS_MACHINE, "it hangs");
    for (int s = 0; s < samples; s++, c->taken++) {
        double all = c->base_us + (c->taken % 2 ? c->noise_us : 0);
        if (is_throttled(c)) all += c->throttled_us;
        if (c->stopped_at && c->taken == c->stopped_at) all += 5e6;
        if (!c->slow || c->slow == l) usleep(1000 * (useconds_t)c->sleeps_ms);
        bool behind = c->behind_every && c->taken % c->behind_every == 0;
        for (int i = 0; i < n; i++) us[s * n + i] = all / n;
        if (extra)
            extra[s] = (struct sample_extra){.host_us = 5,
                                             .span_us = all + (behind ? 500 : c->gap_us * (n - 1)),
                                             .queued = !behind};
    }
    return WS_OK;
}

static void fake_health(struct device *dev, struct health *out) {
    struct clockwork *c = (struct clockwork *)dev;
    out->clock_mhz = 1980;
    out->temp_c = 40;
    out->throttle_bits = is_hot(c) ? 4 : 0;
    c->looks++;
    strcpy(out->throttle, out->throttle_bits ? "sw_power_cap" : "none");
}

static void fake_limit(struct device *dev, double ms) { ((struct clockwork *)dev)->limit_ms = ms; }

static const struct device_ops ops = {
    .time = fake_time, .health = fake_health, .limit = fake_limit};

static struct clockwork made(double base_us, double noise_us) {
    return (struct clockwork){
        .base = {.ops = &ops}, .base_us = base_us, .noise_us = noise_us, .gap_us = 3};
}

/* Launches that only have to look launchable. */
static struct launch launches[2] = {
    {.module = (struct module *)1, .entry = "a", .grid = {1, 1, 1}, .threads = 1},
    {.module = (struct module *)1, .entry = "b", .grid = {1, 1, 1}, .threads = 1}};

/* A busy machine may take half a second between two samples: time is no reason to end here, and
 * two samples may do where one seems to take very long. */
enum { LEAST = 2 };

static struct timing alone(struct clockwork *c, struct measure_rule rule) {
    rule.wall_ms = INFINITY;
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
    assert_true(fabs(t.us.median - 33) < 1e-9); /* both launches, and the gap between them */
    assert_true(fabs(t.kernels_us - 30) < 1e-9);
    assert_true(t.us.n >= LEAST && t.us.n < 40);
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
    assert_true(t.us.n >= LEAST && t.us.n < 40);
    assert_true(c.taken > 10 * t.us.n);
    assert_true(fabs(t.us.median - 9) < 0.5);
}

static void test_hopeless_is_dropped(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    struct measure_rule rule = measure_rule_default(100);
    rule.drop_us = 20;
    struct timing t = alone(&c, rule);
    assert_true(t.dropped);
    assert_true(t.us.n <= 2); /* one alone may have met something else */
    rule.drop_us = 34;
    assert_false(alone(&c, rule).dropped);
}

/* Where a sample takes long, the warm-up and one sample are two that say so; and three that agree
 * are enough, of those that are reported five, of very long ones two. */
static void test_slow_ones_need_few_samples(void **state) {
    (void)state;
    enum { SLOW_MS = 21, LONG_MS = 201 };
    struct measure_rule rule = measure_rule_default(100), final = measure_rule_final(100, 1);
    struct clockwork c = made(30, 0.2);
    c.sleeps_ms = SLOW_MS;
    int n = alone(&c, rule).us.n;
    assert_true(n == 3 || n == 2); /* a busy machine makes one very long */
    c = made(30, 0.03);
    c.sleeps_ms = SLOW_MS;
    n = alone(&c, final).us.n;
    assert_true(n >= 2 && n <= 5);
    c = made(30, 0);
    c.sleeps_ms = LONG_MS;
    assert_int_equal(alone(&c, final).us.n, 2);
    c = made(30, 0);
    c.sleeps_ms = SLOW_MS;
    rule.drop_us = 20;
    struct timing t = alone(&c, rule);
    assert_true(t.dropped && t.us.n == 1);
    c = made(30, 3); /* which do not agree go on */
    c.sleeps_ms = SLOW_MS;
    assert_int_equal(alone(&c, measure_rule_default(7)).us.n, 7);
}

/* What is slow and known waits for nobody. */
static void test_slow_ones_have_their_turns(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct subject s[2] = {{.launches = launches, .n = 1}, {.launches = launches + 1, .n = 1}};
    struct measure_rule rule = measure_rule_final(100, 2);
    rule.wall_ms = INFINITY;
    c.sleeps_ms = 201;
    c.slow = launches;
    assert_int_equal(measure_together(&c.base, s, 2, &rule, &d), WS_OK);
    assert_int_equal(s[0].timing.us.n, 2);
    assert_true(s[1].timing.us.n >= LEAST);
    arena_free(a);
}

/* A process that is stopped in the middle of a sample (Ctrl-Z, a laptop's lid): whichever sample it
 * is, the warm-up included, the median is that of the others, and nothing is dropped. */
static void test_stopped_in_a_sample(void **state) {
    (void)state;
    for (int at = 0; at < 12; at++) {
        struct clockwork c = made(100, 0);
        struct measure_rule rule = measure_rule_default(100);
        c.stopped_at = at;
        rule.drop_us = 150;
        struct timing t = alone(&c, rule);
        assert_false(t.dropped);
        assert_true(t.us.median == 103 && t.us.q3 == 103 && t.kernels_us == 100);
    }
}

/* Gaps between launches are what the caller waits for, too; unless they are a slow host's. */
static void test_several_launches_are_judged_by_their_span(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    c.behind_every = 3;
    struct timing t = alone(&c, measure_rule_default(100));
    assert_true(t.us.median == 33 && t.us.q3 == 33 && t.span_us == 33 && t.kernels_us == 30);
    c = made(30, 0);
    c.behind_every = 1;
    t = alone(&c, measure_rule_default(100));
    assert_true(t.us.median == 30 && t.kernels_us == 30 && isnan(t.span_us));
}

/* Whose turn it was when the device failed; and every call had a limit that grows with the batch.
 */
static void test_a_failure_has_its_subject(void **state) {
    (void)state;
    for (int at = 1; at <= 7; at++) {
        struct clockwork c = made(30, 0);
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct subject s[3];
        struct measure_rule rule = measure_rule_default(100);
        for (int i = 0; i < 3; i++) s[i] = (struct subject){.launches = launches, .n = 1};
        c.fails_at = at;
        rule.limit_ms = 700;
        assert_int_equal(measure_together(&c.base, s, 3, &rule, &d), WS_MACHINE);
        for (int i = 0; i < 3; i++) assert_int_equal(s[i].failed, i == (at - 1) % 3);
        assert_true(c.most_ms >= 700 && c.most_ms < 1e6 && c.limit_ms == 700);
        arena_free(a);
    }
}

static void test_throttled_samples_are_set_aside(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    c.throttled_batches = 2;
    struct timing t = alone(&c, measure_rule_default(100));
    assert_int_equal(t.n_throttled, 2); /* two batches of one */
    assert_true(t.us.n >= LEAST);
    assert_string_equal(t.throttle, "sw_power_cap");
}

/* Now and then throttled, in a way that shows: none of it is in what is said. */
static void test_throttled_now_and_then(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    c.throttled_every = 2;
    c.throttled_us = 40;
    struct timing t = alone(&c, measure_rule_default(100));
    assert_true(t.n_throttled > 0 && t.us.n >= LEAST);
    assert_true(t.us.median == 33 && t.us.q3 == 33 && t.kernels_us == 30 && t.span_us == 33);
}

static void test_never_no_samples(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    c.throttled_batches = 1 << 20; /* always */
    struct timing t = alone(&c, measure_rule_default(100));
    assert_true(t.us.n >= LEAST && t.n_throttled > 0);
    assert_string_equal(t.throttle, "sw_power_cap");
}

/* After each throttled batch, also of those that count in the end, it waits until the device is
 * fine again; but not for ever. */
static void test_waits_until_it_is_cool(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    c.throttled_batches = 1 << 20;
    c.cools_after = 2;
    struct measure_rule rule = measure_rule_default(10);
    int tuning = rule.rests;
    rule.rests = measure_rule_final(10, 1).rests;
    assert_true(0 < tuning && tuning < rule.rests);
    struct timing t = alone(&c, rule);
    assert_true(t.us.n >= LEAST && t.n_throttled == 3);
    assert_int_equal(c.hot_begins, 0);
    c = made(30, 0);
    c.throttled_batches = c.cools_after = 1 << 20;
    t = alone(&c, rule);
    assert_true(t.us.n >= LEAST && c.hot_begins == c.batches - 2);
    rule.rests = 0; /* none */
    c = made(30, 0);
    c.throttled_batches = 1 << 20;
    c.cools_after = 2;
    t = alone(&c, rule);
    assert_true(t.us.n >= LEAST && c.hot_begins > 0);
}

/* The whole is known better than its parts have to be; a bound on samples stays one. */
static void test_parts(void **state) {
    (void)state;
    struct measure_rule final = measure_rule_final(100, 5), r = measure_rule_of_part(final, 0.25);
    assert_memory_equal(&r, &final, sizeof r);
    r = measure_rule_of_part(final, 0.125);
    assert_true(fabs(r.rel_ci - 0.006) < 1e-12 && r.min_n == 15 && r.max_n == 200);
    assert_true(r.wall_ms == final.wall_ms / 2);
    r = measure_rule_of_part(final, 0);
    assert_true(fabs(r.rel_ci - 0.02) < 1e-12 && r.min_n == 10 && r.max_n >= r.min_n);
    for (int most = 1; most <= 100; most++) {
        r = measure_rule_of_part(measure_rule_default(most), 0.001);
        assert_true(r.max_n <= most && r.max_n >= 1 && fabs(r.rel_ci - 0.02) < 1e-12);
    }
}

static void test_in_turns(void **state) {
    (void)state;
    struct clockwork c = made(30, 0);
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct subject s[2] = {{.launches = launches, .n = 1}, {.launches = launches, .n = 2}};
    struct measure_rule rule = measure_rule_default(100);
    rule.wall_ms = INFINITY;
    assert_int_equal(measure_together(&c.base, s, 2, &rule, &d), WS_OK);
    assert_true(s[0].timing.us.n >= LEAST && s[1].timing.us.n >= LEAST);
    int taken = s[0].timing.us.n + s[1].timing.us.n;
    assert_int_equal(c.taken, taken + 2); /* one warm-up each, discarded */
    arena_free(a);
}

static dptr uploaded(struct device *dev, const void *from, size_t bytes, struct diag *d) {
    dptr p = 0;
    assert_int_equal(device_alloc(dev, bytes, &p, d), WS_OK);
    assert_int_equal(device_upload(dev, p, from, bytes, d), WS_OK);
    return p;
}

/* What is remembered of bounds lets nothing be wrong that they let pass, and what is trusted later
 * is given bounds of that share. */
static void test_shares(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct device *dev = NULL;
    double share, rms = sqrt(25.0 / 3), back[4];
    const double want[] = {3, -4, 0, INFINITY};
    const float bound[] = {0.5f, 0.5f, 0, 0}, endless[] = {0, INFINITY, 0, 0};
    const float got[] = {3, -4, 0, INFINITY};
    float bounds[4];
    struct expected e;
    if (device_open_untimed("cpu", &env, a, &d, &dev) != WS_OK) fail_msg("%s", d.text);
    dptr w = uploaded(dev, want, sizeof want, &d), b = uploaded(dev, bound, sizeof bound, &d);
    dptr o = uploaded(dev, endless, sizeof endless, &d), g = uploaded(dev, got, sizeof got, &d);
    device_share(dev, DT_F32, w, b, 4, &share, &d);
    assert_true(fabs(share - 0.5 / (3 + rms)) < 1e-12);
    device_share(dev, DT_F32, w, 0, 4, &share, &d);
    assert_true(share == 0);
    device_share(dev, DT_F32, w, o, 4, &share, &d);
    assert_true(isinf(share));
    assert_int_equal(expected_take(dev, g, DT_F32, 4, 0.25, &e, &d), WS_OK);
    device_download(dev, back, e.want, sizeof back, &d);
    device_download(dev, bounds, e.bound, sizeof bounds, &d);
    assert_memory_equal(back, want, sizeof want);
    for (int i = 0; i < 4; i++)
        assert_true(bounds[i] == (float)(0.25 * ((isfinite(want[i]) ? fabs(want[i]) : 0) + rms)));
    expected_free(dev, &e);
    device_free(dev, w), device_free(dev, b), device_free(dev, o), device_free(dev, g);
    device_close(dev);
    arena_free(a);
}

/* Integers are equal but where their bound says that they were floats next to a jump. */
static void test_integers(void **state) {
    (void)state;
    enum { N = 64 };
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct device *dev = NULL;
    const struct {
        enum dtype t;
        int by;
        float bound;
        const char *message;
    } cases[] = {
        {DT_I8, 0, 0, NULL},
        {DT_I8, 1, 1, NULL},
        {DT_U8, 2, 1, "[7] is 9, expected 7, off by more than 1 (1 of 64 elements is wrong)"},
        {DT_I16, -1, 0, "[7] is 6, expected 7 (1 of 64 elements is wrong)"},
    };
    if (device_open_untimed("cpu", &env, a, &d, &dev) != WS_OK) fail_msg("%s", d.text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t want[N];
        unsigned char got[N * 8];
        float bound[N];
        const char *message;
        struct expected e;
        struct mismatch worst;
        dptr p;
        for (int k = 0; k < N; k++) {
            want[k] = k;
            bound[k] = cases[i].bound;
            dtype_store(cases[i].t, got, (size_t)k, k + (k == 7) * cases[i].by);
        }
        size_t bytes = (size_t)(N * dtype_bytes(cases[i].t));
        assert_int_equal(device_alloc(dev, bytes, &p, &d), WS_OK);
        device_upload(dev, p, got, bytes, &d);
        assert_int_equal(
            expected_upload(dev, cases[i].t, want, cases[i].bound > 0 ? bound : NULL, N, &e, &d),
            WS_OK);
        assert_int_equal(check_buffer(dev, p, NULL, &e, NULL, 0, &worst, &message, &d), WS_OK);
        if (cases[i].message)
            assert_string_equal(message, cases[i].message);
        else
            assert_null(message);
        expected_free(dev, &e);
        device_free(dev, p);
    }
    device_close(dev);
    arena_free(a);
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
    assert_false(roof_is_beaten(&r, &stream, 1.2)); /* it reads more than it writes, may be */
    assert_true(roof_is_beaten(&r, &stream, 1.1));
    assert_false(roof_is_beaten(&r, &stream, NAN));
    assert_false(roof_is_beaten(&r, &dense, 1)); /* no bandwidth is in that floor */
    l.sm = 90;                                   /* float8: twice as fast */
    dense = (struct work){.bytes = 1e6, .write_bytes = 5e5, .flops = 1e9, .float8 = true};
    assert_true(fabs(roof_floor_us(&r, &dense) - 5) < 1e-9);
    assert_true(fabs(roof_physical_us(&r, &dense) - 5) < 1e-9);
    dense.spared = 1e9; /* what data may hide: bytes are left */
    assert_true(fabs(roof_floor_us(&r, &dense) - 1.25) < 1e-9);
    assert_false(roof_implausible(&r, &dense, 0.6));
    struct device_limits unknown = {0};
    struct roof none = {&unknown, NAN};
    assert_true(isnan(roof_floor_us(&none, &stream)));
    assert_true(roof_physical_us(&none, &stream) == 0);
}

/* A program may use whatever units one of its kernels may: which these are says the type of what it
 * multiplies, and in which precision. */
static void test_work_of_program(void **state) {
    static const struct {
        const char *kind;
        enum dtype dtype;
        enum precision precision;
        bool matrix, planes, tf32, float8;
    } cases[] = {
        {"pointwise", DT_BF16, PRECISION_F32, false, false, false, false},
        {"matmul", DT_BF16, PRECISION_F32, true, false, false, false},
        {"matmul", DT_F32, PRECISION_F32, false, true, false, false},
        {"matmul", DT_F32, PRECISION_TF32, false, false, true, false},
        {"matmul", DT_F8E4M3, PRECISION_F8, false, false, false, true},
        {"matmul", DT_F64, PRECISION_F32, false, false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_buffer buffers[] = {{.dtype = cases[i].dtype}, {.dtype = DT_F64, .bytes = 64}};
        buffers[1].kind = WS_BUF_OUTPUT;
        struct ws_kernel kernels[] = {{.kind = "scan", .n_writes = 1, .writes = {1}},
                                      {.kind = cases[i].kind, .n_reads = 1, .n_writes = 1},
                                      {.kind = "reduce", .n_writes = 1, .writes = {1}}};
        for (int k = 0; k < 3; k++) kernels[k].bytes = 48, kernels[k].precision = PRECISION_F32;
        kernels[1].precision = cases[i].precision, kernels[1].writes[0] = 1;
        const struct ws_program p = {
            .n_buffers = 2, .buffers = buffers, .n_kernels = 3, .kernels = kernels, .bytes = 144};
        const struct work of_kernel = work_of_kernel(&p, 1), all = work_of_program(&p);
        for (int program = 0; program < 2; program++) {
            const struct work *w = program ? &all : &of_kernel;
            assert_int_equal(w->matrix, cases[i].matrix);
            assert_int_equal(w->planes, cases[i].planes);
            assert_int_equal(w->tf32, cases[i].tf32);
            assert_int_equal(w->float8, cases[i].float8);
        }
        assert_true(of_kernel.write_bytes == 48 && all.write_bytes == 64);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_times_need_few_samples),
        cmocka_unit_test(test_noisy_times_end_at_the_limit),
        cmocka_unit_test(test_short_ones_come_in_groups),
        cmocka_unit_test(test_hopeless_is_dropped),
        cmocka_unit_test(test_slow_ones_need_few_samples),
        cmocka_unit_test(test_slow_ones_have_their_turns),
        cmocka_unit_test(test_stopped_in_a_sample),
        cmocka_unit_test(test_several_launches_are_judged_by_their_span),
        cmocka_unit_test(test_a_failure_has_its_subject),
        cmocka_unit_test(test_throttled_now_and_then),
        cmocka_unit_test(test_throttled_samples_are_set_aside),
        cmocka_unit_test(test_never_no_samples),
        cmocka_unit_test(test_waits_until_it_is_cool),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_in_turns),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_roofs),
        cmocka_unit_test(test_work_of_program),
    };
    return cmocka_run_group_tests_name("tuner measure", tests, NULL, NULL);
}
