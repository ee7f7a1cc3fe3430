/* What bounds a kernel and what to try, from planted counters: one case for every verdict, every
 * pipe and every stall; and the words that come of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "runtime/vtable.h"
#include "tuner/profile.h"
#include "tuner/record.h"

static struct device_limits gpu = {.kind = DEVICE_CUDA,
                                   .units = 132,
                                   .l2_bytes = 60 << 20,
                                   .f32_tflops = 60,
                                   .matrix_tflops = 990,
                                   .peak_gbps = 4800};
static struct device_limits cpu = {.kind = DEVICE_CPU, .units = 2};
static struct roof gpu_roof = {&gpu, 4000}, cpu_roof = {&cpu, 20};
static struct config keeping, reading_twice;

/* 40 MB of a row kernel in 20 us: half of the copy bandwidth, nothing busy, nothing wrong. */
static struct profile_facts plain(void) {
    struct profile_facts f = {.kernel = "k",
                              .kind = "reduce",
                              .config_text = "x=1",
                              .config = &keeping,
                              .roof = &gpu_roof,
                              .work = {.bytes = 40e6, .flops = 1e7},
                              .us = 20,
                              .n_launches = 1,
                              .blocks = 4096,
                              .fits = 0.75,
                              .counted = true,
                              .counters = counters_unknown()};
    keeping.knob[KNOB_keep] = 1;
    struct counters *c = &f.counters;
    c->dram_read_bytes = c->dram_write_bytes = 20e6;
    c->local_bytes = c->bank_conflicts = 0;
    c->cycles = 40000;
    c->occupancy = 0.7;
    c->l2_hit_pct = 30, c->l2_busy_pct = 40, c->issue_pct = 20;
    for (int i = 0; i < N_PIPES; i++) c->pipe_pct[i] = 5;
    for (int i = 0; i < N_STALLS; i++) c->stall_pct[i] = 3;
    c->stall_pct[STALL_long_scoreboard] = 60;
    return f;
}

static void expect(const struct profile_facts *f, enum profile_bound bound, unsigned advice) {
    struct profile_verdict v = profile_judge(f);
    if (v.bound != bound || v.advice != advice)
        fail_msg("%s, advice %x; expected %s, %x", profile_bound_name(v.bound), v.advice,
                 profile_bound_name(bound), advice);
}

#define BIT(name) (1u << ADVICE_##name)

static const char *words(const struct profile_facts *f, struct arena *a) {
    struct buf b = buf_new(a);
    profile_words(&b, f);
    for (char *p = b.p; *p; p++) /* where lines are broken is not looked at here */
        if (*p == '\n' || (*p == ' ' && p[1] == ' ')) *p = ' ';
    struct buf one = buf_new(a);
    for (const char *p = b.p; *p; p++)
        if (*p != ' ' || (p > b.p && p[-1] != ' ')) buf_printf(&one, "%c", *p);
    return one.p;
}

static void expect_words(const struct profile_facts *f, const char *said) {
    struct arena *a = arena_new();
    const char *text = words(f, a);
    if (!strstr(text, said)) fail_msg("'%s' is not in:\n%s", said, text);
    arena_free(a);
}

static void expect_silence(const struct profile_facts *f, const char *unsaid) {
    struct arena *a = arena_new();
    const char *text = words(f, a);
    if (strstr(text, unsaid)) fail_msg("'%s' is in:\n%s", unsaid, text);
    arena_free(a);
}

/* ---- what bounds it -------------------------------------------------------------------------- */

static void test_memory(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.us = 11;
    expect(&f, BOUND_memory, BIT(fewer_bytes));
    expect_words(&f, "bound by DRAM: 40.0 MB in 11.00 us are 3636 GB/s, 91 % of the measured copy "
                     "bandwidth.");
    expect_words(&f, "DRAM moved 20.0 MB in and 20.0 MB out, 1.00 times the least possible.");
    expect_words(&f, "To try: fewer bytes (fusing it with a neighbour, a narrower dtype).");
    /* A pipe that is busy meanwhile is no reason: the memory is. */
    f.counters.pipe_pct[PIPE_xu] = 95;
    expect(&f, BOUND_memory, BIT(fewer_bytes));
    f.work.write_bytes = f.work.bytes / 2;
    expect(&f, BOUND_memory, BIT(fewer_bytes) | BIT(stores_first));
    expect_words(&f, "stores that reach memory while it is read (stay_l2=1)");
    struct config stays = {.knob[KNOB_stay_l2] = 1};
    f.config = &stays;
    expect(&f, BOUND_memory, BIT(fewer_bytes));
}

/* Busy, but not at its limit: what else is in the way? */
static void test_nearly_memory(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.us = 12.5;
    expect(&f, BOUND_memory, BIT(fewer_bytes) | BIT(bytes_in_flight));
    expect_words(&f, "3200 GB/s, 80 % of the measured copy bandwidth (L2 40 %, issue slots "
                     "20 %, busiest pipe alu 5 %).");
    f.counters.issue_pct = 78;
    expect(&f, BOUND_memory, BIT(fewer_bytes) | BIT(fewer_instructions));
    f.counters.issue_pct = 82; /* busier still */
    expect(&f, BOUND_issue, BIT(fewer_instructions));
    f.counters.issue_pct = 20;
    f.counters.pipe_pct[PIPE_xu] = 75;
    expect(&f, BOUND_memory, BIT(fewer_bytes) | BIT(cheaper_functions));
    f.counted = false;
    expect(&f, BOUND_memory, BIT(fewer_bytes));
}

/* Twice the bytes at full speed: not memory that is too slow, but reading that is done twice. */
static void test_read_again(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.us = 22;
    f.counters.dram_read_bytes = 60e6;
    f.config = &reading_twice;
    expect(&f, BOUND_memory, BIT(read_once));
    expect_words(&f, "2.00 times the least possible: something is read again, or in part.");
    expect_words(&f, "keep=1");
    f.config = &keeping; /* it does that already, so sectors are read in part */
    expect(&f, BOUND_memory, BIT(whole_sectors));
    f.config = &reading_twice;
    f.kind = "pointwise"; /* no rows */
    expect(&f, BOUND_memory, BIT(whole_sectors));
    f.us = 60; /* and where memory is not the bound, it is said as well */
    expect(&f, BOUND_latency, BIT(bytes_in_flight) | BIT(whole_sectors));
}

/* What is written last stays in the L2: the memory was as busy as if it had been written. */
static void test_still_in_the_cache(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.us = 11;
    f.counters.dram_write_bytes = 0;
    expect(&f, BOUND_memory, BIT(fewer_bytes));
    expect_words(&f, "40.0 MB in 11.00 us are 3636 GB/s");
    expect_words(&f, "0.50 times the least possible: the rest is still in the L2");
}

static void test_pipes(void **state) {
    static const unsigned advice[N_PIPES] = {[PIPE_alu] = BIT(fewer_instructions),
                                             [PIPE_fma] = BIT(fewer_instructions),
                                             [PIPE_xu] = BIT(cheaper_functions),
                                             [PIPE_lsu] = BIT(wider_loads),
                                             [PIPE_tensor] = 0,
                                             [PIPE_fp64] = BIT(single_precision)};
    (void)state;
    for (int i = 0; i < N_PIPES; i++) {
        struct profile_facts f = plain();
        f.counters.pipe_pct[i] = 85;
        expect(&f, BOUND_pipe, advice[i]);
    }
    struct profile_facts f = plain();
    f.counters.pipe_pct[PIPE_xu] = 92;
    expect_words(&f, "bound by one pipe: the pipe of special functions (exp, log, sin, sqrt, "
                     "divisions, conversions) is 92 % busy (DRAM 50 % of the copy bandwidth");
    /* A product on the ordinary units, of numbers that the matrix units would take. */
    f = plain();
    f.kind = "matmul";
    f.work.matrix = true;
    f.counters.pipe_pct[PIPE_fma] = 85;
    f.counters.pipe_pct[PIPE_tensor] = 0;
    expect(&f, BOUND_pipe, BIT(fewer_instructions) | BIT(matrix_units));
    expect_words(&f, "(larger tm= and tn=); the matrix units (which this product leaves idle).");
    f.counters.pipe_pct[PIPE_tensor] = 30;
    expect(&f, BOUND_pipe, BIT(fewer_instructions));
}

static void test_issue_and_l2(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.counters.issue_pct = 88;
    f.counters.pipe_pct[PIPE_alu] = 60;
    expect(&f, BOUND_issue, BIT(fewer_instructions));
    expect_words(&f, "bound by issuing instructions: DRAM 50 % of the copy bandwidth, L2 40 %, "
                     "issue slots 88 %, busiest pipe alu 60 %");
    f.counters.pipe_pct[PIPE_xu] = 55; /* a good part of them are expensive */
    expect(&f, BOUND_issue, BIT(fewer_instructions) | BIT(cheaper_functions));
    f = plain();
    f.counters.l2_busy_pct = 85;
    f.counters.issue_pct = 75;
    expect(&f, BOUND_l2, BIT(wider_loads));
}

static void test_stalls(void **state) {
    static const unsigned advice[N_STALLS] = {
        [STALL_long_scoreboard] = BIT(bytes_in_flight),
        [STALL_short_scoreboard] = BIT(less_shared),
        [STALL_barrier] = BIT(fewer_barriers),
        [STALL_membar] = BIT(fewer_fences),
        [STALL_wait] = BIT(fewer_instructions),
        [STALL_math_pipe_throttle] = BIT(fewer_instructions),
        [STALL_mio_throttle] = BIT(less_shared),
        [STALL_lg_throttle] = BIT(wider_loads),
        [STALL_gmma] = 0,
        [STALL_drain] = BIT(wider_loads),
        [STALL_no_instruction] = BIT(smaller_code),
        [STALL_branch_resolving] = BIT(fewer_instructions),
        [STALL_not_selected] = BIT(fewer_instructions),
    };
    (void)state;
    for (int i = 0; i < N_STALLS; i++) {
        struct profile_facts f = plain();
        f.counters.stall_pct[STALL_long_scoreboard] = 3;
        f.counters.stall_pct[i] = 70;
        expect(&f, BOUND_latency, advice[i]);
    }
    struct profile_facts f = plain();
    expect_words(&f, "bound by latency: no unit is busy (DRAM 50 % of the copy bandwidth, L2 40 %, "
                     "issue slots 20 %, busiest pipe alu 5 %); 60 % of the time a resident warp "
                     "waits for data from global or local memory (long_scoreboard); 70 % of the "
                     "warps that a multiprocessor can hold are resident, 75 % would fit.");
}

static void test_two_stalls(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.counters.stall_pct[STALL_barrier] = 40;
    expect(&f, BOUND_latency, BIT(bytes_in_flight) | BIT(fewer_barriers));
    expect_words(&f, "(long_scoreboard), 40 % it waits for the other warps of its block (barrier)");
}

static void test_occupancy(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.counters.occupancy = f.fits = 0.2;
    expect(&f, BOUND_latency, BIT(bytes_in_flight) | BIT(more_warps));
    f.fits = 0.75; /* registers and shared memory allow more than there are */
    expect(&f, BOUND_latency, BIT(bytes_in_flight) | BIT(more_blocks));
    f.fits = 0.2;
    f.blocks = 100; /* more warps a block would not help the multiprocessors that have none */
    expect(&f, BOUND_latency, BIT(bytes_in_flight) | BIT(more_blocks));
    expect_words(&f, "its 100 blocks leave 32 of 132 multiprocessors idle");
}

static void test_launch(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.work.bytes = 4096;
    f.work.flops = 1e4;
    f.us = 2.4;
    f.counters.dram_read_bytes = 8192; /* code weighs in here: no advice on that */
    f.counters.dram_write_bytes = 0;
    expect(&f, BOUND_launch, BIT(fewer_launches));
    expect_words(&f, "bound by its launch: 2.40 us in 1 launch for work of 0.00 us");
    expect_words(&f, "DRAM moved 8.2 kB in and 0.0 kB out, 2.00 times");
    f.us = 50; /* but this is not the launch's fault */
    f.counters.dram_read_bytes = 2048, f.counters.dram_write_bytes = 2048;
    expect(&f, BOUND_latency, BIT(bytes_in_flight));
}

/* ---- remarks --------------------------------------------------------------------------------- */

static void test_spills(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.us = 11;
    expect_silence(&f, "Spilled");
    f.counters.local_bytes = 3e6;
    expect(&f, BOUND_memory, BIT(fewer_bytes) | BIT(fewer_registers));
    expect_words(&f, "Spilled registers and local arrays move 3.00 MB besides.");
    /* As many as there are too many bytes: nothing is read twice but what was spilled. */
    f.counters.local_bytes = 30e6;
    f.counters.dram_write_bytes = 40e6;
    f.us = 16;
    expect(&f, BOUND_memory, BIT(fewer_registers));
    expect_words(&f, "1.50 times the least possible: spilled registers are among them.");
    f.counters.local_bytes = 3e6; /* these are not it */
    expect(&f, BOUND_memory, BIT(whole_sectors) | BIT(fewer_registers));
    f = plain();
    f.us = 11;
    f.counters.local_bytes = NAN; /* the compiler knows as well */
    f.spill_bytes = 48;
    expect(&f, BOUND_memory, BIT(fewer_bytes) | BIT(fewer_registers));
    expect_words(&f, "Every thread spills 48 bytes of registers.");
}

static void test_conflicts(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.counters.bank_conflicts = 0.5 * f.counters.cycles * gpu.units;
    expect(&f, BOUND_latency, BIT(bytes_in_flight) | BIT(no_conflicts));
}

/* ---- what is not known ----------------------------------------------------------------------- */

static void test_no_counters(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.roof = &cpu_roof;
    f.counted = false;
    f.counters = counters_unknown();
    f.us = 4000; /* 10 of 20 GB/s */
    expect(&f, BOUND_unknown, 0);
    expect_words(&f, "not explained: 4000.00 us are 50 % of the measured copy bandwidth");
    expect_words(&f, "It has to move 40.0 MB at least; what it moved was not counted.");
    f.us = 2200;
    expect(&f, BOUND_memory, BIT(fewer_bytes));
    f.us = NAN;
    expect(&f, BOUND_unknown, 0);
    expect_words(&f, "it was not timed");
}

/* What is bound by arithmetic is held against its peak, not against a copy. */
static void test_no_counters_of_a_product(void **state) {
    struct device_limits peak = {.kind = DEVICE_CPU, .units = 2, .f32_tflops = 0.2};
    struct roof roof = {&peak, 20};
    struct profile_facts f = plain();
    (void)state;
    f.roof = &roof;
    f.kind = "matmul";
    f.counted = false;
    f.counters = counters_unknown();
    f.work.flops = 2e9; /* 10 ms at the peak, 2 ms of memory */
    f.us = 12500;
    expect(&f, BOUND_compute, BIT(fewer_instructions));
    expect_words(&f, "bound by arithmetic: 2000 MFLOP in 12500.00 us are 0.160 TFLOP/s, 80 % of "
                     "the peak arithmetic.");
    f.us = 20000;
    expect(&f, BOUND_unknown, 0);
    expect_words(&f, "not explained: 20000.00 us are 50 % of the peak arithmetic");
}

/* A chip that knows none of the metrics but some. */
static void test_unknown_metrics(void **state) {
    struct profile_facts f = plain();
    (void)state;
    f.counters = counters_unknown();
    expect(&f, BOUND_latency, 0);
    expect_words(&f, "no unit is busy (DRAM 50 % of the copy bandwidth, L2 ? %, issue slots ? %)");
    f.counters.issue_pct = 90;
    expect(&f, BOUND_issue, BIT(fewer_instructions));
    f.roof = &(struct roof){&gpu, NAN}; /* nor is the copy bandwidth */
    expect(&f, BOUND_issue, BIT(fewer_instructions));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What was counted goes into the row that waits to be appended, or into a new one. */
static void test_rows(void **state) {
    struct arena *a = arena_new();
    struct ws_kernel kernel = {.name = "k", .kind = "reduce", .guard = ""};
    struct ws_program program = {.n_kernels = 1, .kernels = &kernel};
    struct config one = {.knob = {1}}, two = {.knob = {2}};
    struct recorder r = {.arena = a, .row_arena = a, .common = result_row_new()};
    struct variant v = variant_new(&program, 0, &one, a), other = variant_new(&program, 0, &two, a);
    struct profile_facts f = plain();
    (void)state;
    v.occupancy = 0.75;
    recorder_add_variant(&r, &v, &f.work, &gpu_roof);
    assert_true(r.n == 1 && !r.rows[0].counters && r.rows[0].occupancy == 0.75);
    assert_true(isnan(r.rows[0].dram_bytes));
    v.counters = f.counters;
    v.counters.pipe_pct[PIPE_xu] = 48.5;
    v.counters_from = "cupti";
    recorder_set_counters(&r, &v, &f.work, &gpu_roof);
    const struct result_row *row = &r.rows[0];
    assert_int_equal(r.n, 1);
    assert_string_equal(row->counters, "cupti");
    assert_true(row->dram_bytes == 40e6 && row->dram_read_bytes == 20e6);
    assert_true(row->occupancy == 0.7 && row->l2_hit_pct == 30 && row->issue_pct == 20);
    assert_string_equal(row->pipe, "xu");
    assert_string_equal(row->stall, "long_scoreboard");
    assert_true(row->pipe_pct == 48.5 && row->stall_pct == 60 && row->local_bytes == 0);
    other.counters_from = "counted";
    recorder_set_counters(&r, &other, &f.work, &gpu_roof);
    assert_int_equal(r.n, 2);
    row = &r.rows[1];
    assert_string_equal(row->config, "x=2");
    assert_string_equal(row->counters, "counted");
    assert_true(row->dram_bytes == f.work.bytes && isnan(row->dram_read_bytes) && !row->pipe);
    arena_free(a);
}

static enum ws_status count_nothing(struct device *dev, const struct launch *l, int n,
                                    struct counters *out, struct diag *d) {
    return WS_OK;
}

/* Where the counters come from is said, and that they could not be read. */
static void test_counted_where(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct device_ops with = {.count = count_nothing}, without = {0};
    struct device dev = {.ops = &with, .facts.id = "cuda:0"};
    struct variant v = {0};
    struct launches l = {0};
    assert_int_equal(profile_count(&v, &l, &dev, &d), WS_OK);
    assert_string_equal(v.counters_from, "cupti");
    dev.ops = &without;
    assert_int_equal(profile_count(&v, &l, &dev, &d), WS_MACHINE);
    assert_string_equal(v.counters_from, "counted");
    arena_free(a);
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void test_lines(void **state) {
    static const char *const names[] = {"default", "tuned"};
    struct profile_facts f[] = {plain(), plain()};
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    (void)state;
    f[1].us = 11;
    f[0].counters.occupancy = 0.1; /* a long paragraph */
    f[0].counters.local_bytes = 3e6;
    profile_words(&b, &f[0]);
    f[0].counters.occupancy = 0.7;
    f[0].counters.local_bytes = 0;
    for (const char *p = b.p, *end; *p; p = end + 1) {
        end = strchr(p, '\n');
        assert_true(end && end - p <= 100 && !strncmp(p, "    ", 4) && end[-1] != ' ');
        assert_false(end[-1] >= '0' && end[-1] <= '9'); /* its unit follows */
    }
    b = buf_new(a);
    profile_table(&b, names, f, 2);
    assert_non_null(strstr(b.p,
                           "    default       20.00      40.00     2000    50.0    1.00   0.70 "
                           "    40      30     20      alu 5   long_scoreboard 60      0.00\n"));
    assert_non_null(strstr(b.p, "    tuned         11.00      40.00     3636    90.9 "));
    size_t width = strcspn(b.p, "\n");
    for (const char *p = b.p; *p; p += width + 1) assert_int_equal(strcspn(p, "\n"), width);
    f[0].counted = f[1].counted = false;
    b = buf_new(a);
    profile_table(&b, names, f, 2);
    assert_null(strstr(b.p, "stall"));
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counted_where),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_nearly_memory),
        cmocka_unit_test(test_read_again),
        cmocka_unit_test(test_still_in_the_cache),
        cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_issue_and_l2),
        cmocka_unit_test(test_stalls),
        cmocka_unit_test(test_two_stalls),
        cmocka_unit_test(test_occupancy),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_spills),
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_no_counters),
        cmocka_unit_test(test_no_counters_of_a_product),
        cmocka_unit_test(test_unknown_metrics),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
