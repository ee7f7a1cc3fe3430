/* bench from end to end on the CPU with a made-up compiler: every way in which
 * a variant can fail, what is stored and written of it, and the cache hit after
 * it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/flow_test.h"
#include "tuner/sql.h"
#include "tuner/store.h"
#include "tuner/table.h"
#include "tuner/winners.h"

static void test_every_fate_of_a_variant(void **state) {
    struct place *p = *state;
    struct results r;
    assert_int_equal(bench(p, NULL, NULL), 0);
    read_rows(p, &r);
    assert_int_equal(count(&r, ROLE_variant), FAKE_VARIANTS);
    assert_int_equal(find(&r, "x=1", ROLE_variant)->status, STATUS_ok);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->status, STATUS_ok);
    assert_int_equal(find(&r, "x=3", ROLE_variant)->status, STATUS_wrong);
    assert_int_equal(find(&r, "x=4", ROLE_variant)->status, STATUS_compile_error);
    assert_int_equal(find(&r, "x=5", ROLE_variant)->status, STATUS_compile_error);
    assert_int_equal(find(&r, "x=6", ROLE_variant)->status, STATUS_duplicate);
    /* Outputs are poisoned first, so one element that is left out shows. */
    assert_int_equal(find(&r, "x=7", ROLE_variant)->status, STATUS_wrong);
    /* What breaks its process, or what belongs to others, costs nobody else
   * anything. */
    const struct result_row *crashed = find(&r, "x=8", ROLE_variant);
    assert_int_equal(crashed->status, STATUS_launch_error);
    assert_int_equal(find(&r, "x=9", ROLE_variant)->status, STATUS_wrong);
    assert_int_equal(find(&r, "x=10", ROLE_variant)->status, STATUS_wrong);
    int winners = 0;
    for (size_t i = 0; i < r.n; i++) {
        winners += r.rows[i].is_winner == 1;
        if (r.rows[i].is_winner == 1) assert_int_equal(r.rows[i].status, STATUS_ok);
        if (r.rows[i].status == STATUS_ok && r.rows[i].role != ROLE_roof)
            assert_true(r.rows[i].median_us > 0 && r.rows[i].n >= 1);
        else if (r.rows[i].role == ROLE_variant)
            assert_false(r.rows[i].median_us > 0);
    }
    assert_int_equal(winners, 1);
    assert_int_equal(count(&r, ROLE_eager), 1);
    assert_int_equal(count(&r, ROLE_default), 1);
    assert_int_equal(count(&r, ROLE_tuned), 1);
    assert_string_equal(r.rows[0].graph, "00112233445566ff");
    results_free(&r);
}

/* A config that is wrong is a defect: what is said of its kernel names it, and
 * the element. */
static void test_wrong_config_is_said(void **state) {
    struct arena *a = arena_new();
    struct buf said = buf_new(a);
    struct ws_kernel kernel = {.name = "k_sum"};
    struct ws_program program = {.kernels = &kernel, .n_kernels = 1};
    struct variant variants[] = {{.text = "x=1"},
                                 {.text = "x=2", .status = STATUS_wrong, .message = "out0[3] is 1"},
                                 {.text = "x=3", .status = STATUS_spill, .message = "8 bytes"}};
    struct tune t = {
        .program = &program, .variants = variants, .n = 3, .winner = variants, .n_tried = 1};
    table_kernel(&said, &t);
    assert_non_null(strstr(said.p, "    wrong: x=2: out0[3] is 1\n"));
    assert_null(strstr(said.p, "8 bytes"));
    assert_null(strstr(said.p, "more are wrong"));
    arena_free(a);
}

/* Of a kernel that is wrong under most of its configs the first few are said,
 * and how many more. */
static void test_many_wrong_configs(void **state) {
    enum { ALL = 100, SAID = 8 };
    struct arena *a = arena_new();
    struct buf said = buf_new(a);
    struct ws_kernel kernel = {.name = "k_sum"};
    struct ws_program program = {.kernels = &kernel, .n_kernels = 1};
    struct variant variants[ALL] = {{.text = "x=0"}};
    struct tune t = {
        .program = &program, .variants = variants, .n = ALL, .winner = variants, .n_tried = 1};
    int lines = 0;
    for (int i = 1; i < ALL; i++)
        variants[i] = (struct variant){
            .text = arena_printf(a, "x=%d", i), .status = STATUS_wrong, .message = "out0[3] is 1"};
    table_kernel(&said, &t);
    for (const char *p = said.p; (p = strstr(p, "    wrong: x=")); p++) lines++;
    assert_int_equal(lines, SAID);
    assert_non_null(strstr(said.p, "    wrong: x=8: out0[3] is 1\n    and 91 more are wrong\n"));
    arena_free(a);
}

/* Bench of a program that may be had in two: which is tuned, what is written,
 * and what the store says later. */
static void tune_both(struct place *p, int spins, int spins_apart, bool apart_wins) {
    struct results r;
    fake_spins = spins;
    fake_spins_apart = spins_apart;
    fake_references = 0;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(bench(p, "--samples-max", "8"), 0);
        read_rows(p, &r);
        size_t fused = 0, split = 0;
        for (size_t i = 0; i < r.n; i++) {
            fused += r.rows[i].role == ROLE_variant && !strcmp(r.rows[i].kernel, "mul_add");
            split += r.rows[i].role == ROLE_variant && !strncmp(r.rows[i].kernel, "split_", 6);
        }
        /* Both are tried, once; the one that has lost leaves no times of programs.
     */
        assert_int_equal(fused, 1);
        assert_int_equal(split, 2);
        assert_int_equal(fake_references, 1); /* of both; later the eager program is trusted */
        assert_int_equal(count(&r, ROLE_tuned), (apart_wins ? 2 : 1) + again);
        const struct result_row *last = NULL;
        for (size_t i = 0; i < r.n; i++)
            if (r.rows[i].role == ROLE_tuned) last = &r.rows[i];
        assert_int_equal(strstr(last->config, "split_mul") != NULL, apart_wins);
        assert_true(again || last->reference_s < last->all_check_s);
        results_free(&r);
    }
    fake_spins = fake_spins_apart = 0;
}

static void test_reductions_had_better_be_apart(void **state) {
    tune_both(*state, 2000000, 20000, true);
}
static void test_reductions_had_better_be_fused(void **state) {
    tune_both(*state, 20000, 2000000, false);
}

/* There is no memory for the one that is apart: what was measured of the other
 * is the result. */
static void test_reductions_do_not_fit_apart(void **state) {
    struct place *p = *state;
    struct results r;
    fake_spins = fake_spins_apart = 20000;
    fake_bytes_apart = (size_t)1 << 52;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(bench(p, "--samples-max", "8"), 0);
        read_rows(p, &r);
        assert_int_equal(count(&r, ROLE_tuned), 1 + again);
        results_free(&r);
    }
    fake_spins = fake_spins_apart = 0;
    fake_bytes_apart = 0;
    /* And that is known: with memory for it, too, it is not tried again. */
    fake_spins = 20000;
    assert_int_equal(bench(p, "--samples-max", "8"), 0);
    fake_spins = 0;
    read_rows(p, &r);
    for (size_t i = 0; i < r.n; i++) assert_string_not_equal(r.rows[i].kernel, "split_mul");
    results_free(&r);
}

static void test_a_variant_that_never_ends(void **state) {
    struct place *p = *state;
    struct results r;
    fake_hangs = true;
    assert_int_equal(bench(p, NULL, NULL), 0);
    fake_hangs = false;
    read_rows(p, &r);
    assert_int_equal(find(&r, "x=11", ROLE_variant)->status, STATUS_timeout);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->status, STATUS_ok);
    assert_int_equal(count(&r, ROLE_tuned), 1);
    results_free(&r);
}

/* No counters on the CPU: the bytes that were counted on paper stand for them,
 * marked, in the rows of the default and the winner alone. What the store knows
 * gets rows with fresh times. */
static void test_profile(void **state) {
    struct place *p = *state;
    struct results r;
    assert_int_equal(bench(p, "--profile", NULL), 0);
    read_rows(p, &r);
    assert_int_equal(count(&r, ROLE_variant), FAKE_VARIANTS);
    size_t counted = 0;
    for (size_t i = 0; i < r.n; i++) {
        const struct result_row *row = &r.rows[i];
        if (!*row->counters) continue;
        assert_string_equal(row->counters, "counted");
        assert_true(row->is_winner == 1 || !strcmp(row->config, "x=1"));
        assert_true(row->dram_bytes == row->bytes && isnan(row->dram_read_bytes));
        counted++;
    }
    assert_string_equal(find(&r, "x=1", ROLE_variant)->counters, "counted");
    assert_true(counted == 1 || counted == 2);
    results_free(&r);
    assert_int_equal(bench(p, "--profile", NULL), 0); /* a cache hit */
    read_rows(p, &r);
    assert_int_equal(count(&r, ROLE_variant), FAKE_VARIANTS + counted);
    for (size_t i = r.n; i-- > 0;) {
        const struct result_row *now = &r.rows[i], *before = r.rows;
        if (strcmp(now->run_id, r.rows[r.n - 1].run_id) != 0 || now->role != ROLE_variant) continue;
        assert_true(now->n > 0 && !strcmp(now->counters, "counted"));
        while (before->role != ROLE_variant || strcmp(before->config, now->config) != 0) before++;
        assert_ptr_not_equal(before, now);
        assert_true(before->median_us != now->median_us || before->ci_us != now->ci_us);
    }
    results_free(&r);
}

/* Faster than the device can be: something was not measured, or not done.
 * Nothing of it wins. */
static void test_implausible_times_never_win(void **state) {
    struct place *p = *state;
    struct results r;
    fake_flops = 1e15;
    assert_int_equal(bench(p, NULL, NULL), WS_NOISY);
    fake_flops = 0;
    read_rows(p, &r);
    assert_int_equal(find(&r, "x=1", ROLE_variant)->status, STATUS_implausible);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->status, STATUS_implausible);
    for (size_t i = 0; i < r.n; i++) assert_true(r.rows[i].is_winner != 1);
    assert_int_equal(count(&r, ROLE_tuned), 0);
    results_free(&r);
}

static void test_hit_then_retune(void **state) {
    struct place *p = *state;
    struct results r;
    assert_int_equal(bench(p, NULL, NULL), 0);
    assert_int_equal(bench(p, NULL, NULL), 0);
    read_rows(p, &r);
    assert_int_equal(count(&r, ROLE_variant), FAKE_VARIANTS); /* the first run's */
    assert_int_equal(count(&r, ROLE_tuned), 2);
    results_free(&r);
    assert_int_equal(bench(p, "--retune", NULL), 0);
    read_rows(p, &r);
    assert_int_equal(count(&r, ROLE_variant), 2 * FAKE_VARIANTS);
    assert_int_equal(count(&r, ROLE_tuned), 3);
    results_free(&r);
}

/* How often a config was measured, by the store. */
static int trials_of(struct place *p, const char *config) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct store *s;
    struct store_entry *e;
    struct store_trial *t;
    const char *note;
    int n, n_trials, count = 0;
    assert_int_equal(store_open(p->store, a, &d, &s, &note), WS_OK);
    assert_int_equal(store_entries(s, &e, &n, &d), WS_OK);
    for (int i = 0; i < n; i++) {
        assert_int_equal(store_entry_trials(s, e[i].id, &t, &n_trials, &d), WS_OK);
        for (int k = 0; k < n_trials; k++) count += !strcmp(t[k].config, config);
    }
    store_close(s);
    arena_free(a);
    return count;
}

static void alter_store(struct place *p, const char *statement) {
    struct arena *a = arena_new();
    struct sql *db = sql_open(p->store, false, a);
    sql_run(db, statement);
    assert_int_equal(sql_fault(db), SQL_FINE);
    sql_close(db);
    arena_free(a);
}

/* Both are tuned, and which one stays is not known: the one with all fused
 * trusts its eager program, and the other one has a reference made. */
static void test_which_stays_is_forgotten(void **state) {
    struct place *p = *state;
    struct results r;
    tune_both(p, 20000, 2000000, false);
    fake_spins = 20000;
    fake_spins_apart = 2000000;
    alter_store(p, "DELETE FROM facts WHERE key LIKE 'apart %'");
    assert_int_equal(bench(p, "--samples-max", "8"), 0);
    fake_spins = fake_spins_apart = 0;
    assert_int_equal(fake_references, 2);
    read_rows(p, &r);
    assert_int_equal(count(&r, ROLE_tuned), 3);
    results_free(&r);
}

static void forget_winners(struct place *p) { alter_store(p, "DELETE FROM winners"); }

static int bench_all_briefly(struct place *p) {
    char *argv[] = {
        "warpsmith",    "bench",    p->file,      "--device",      "cpu", "--results", p->folder,
        "--no-figures", "--search", "exhaustive", "--samples-max", "4",   NULL};
    return command_line_run(12, argv);
}

/* A config means what it meant before a knob came: what was measured of it is
 * taken over. */
static void test_a_new_knob(void **state) {
    struct place *p = *state;
    struct results r;
    assert_int_equal(bench_all_briefly(p), 0);
    int others = trials_of(p, "x=2");
    assert_int_equal(others, 1);
    assert_int_equal(trials_of(p, "x=1 k=1"), 0);
    forget_winners(p);
    fake_knob = true;
    assert_int_equal(bench_all_briefly(p), 0);
    fake_knob = false;
    for (int x = 2; x <= FAKE_VARIANTS; x++) {
        char config[16];
        snprintf(config, sizeof config, "x=%d", x);
        if (trials_of(p, config) > 1) fail_msg("%s was measured again", config);
    }
    assert_int_equal(trials_of(p, "x=1 k=1"), 1);
    read_rows(p, &r);
    assert_int_equal(find(&r, "x=1 k=1", ROLE_variant)->status, STATUS_ok);
    results_free(&r);
}

/* ---- stale winners
 * ---------------------------------------------------------------------------
 */

/* The number that a query has. */
static int64_t ask_store(struct place *p, const char *select) {
    struct arena *a = arena_new();
    struct sql *db = sql_open(p->store, false, a);
    struct query q = sql_query(db, select);
    int64_t n = query_int(&q);
    assert_int_equal(sql_fault(db), SQL_FINE);
    sql_close(db);
    arena_free(a);
    return n;
}

#define TRIALS_OF                                                                                  \
    "SELECT count(*) FROM trials JOIN keys ON keys.id = trials.key WHERE "                         \
    "kernel = "
static void expect_trials(struct place *p, int64_t first, int64_t second) {
    assert_int_equal(ask_store(p, TRIALS_OF "'first'"), first);
    assert_int_equal(ask_store(p, TRIALS_OF "'second'"), second);
}

/* Only the kernel whose text is another is tuned again, of which all trials are
 * of the old one. And integers between two kernels are right only if they are
 * equal. */
static void test_a_changed_text(void **state) {
    struct place *p = *state;
    fake_plant.two = fake_plant.whole = true;
    assert_int_equal(bench_all_briefly(p), 0);
    assert_int_equal(ask_store(p, TRIALS_OF "'first' AND config = 'x=3' AND status = 'wrong'"), 1);
    assert_int_equal(ask_store(p, TRIALS_OF "'second' AND status = 'wrong'"), 0);
    int64_t first = ask_store(p, TRIALS_OF "'first'"), second = ask_store(p, TRIALS_OF "'second'");
    fake_comment[1] = "better";
    assert_int_equal(bench_all_briefly(p), 0);
    expect_trials(p, first, 2 * second);
    /* A winner's hash is all that counts, and trials of the same texts are known.
   */
    alter_store(p, "UPDATE winners SET text_hash = 'other' WHERE key = (SELECT "
                   "id FROM keys WHERE "
                   "kernel = 'first')");
    assert_int_equal(bench_all_briefly(p), 0);
    expect_trials(p, first + 1, 2 * second); /* the default is measured anew */
    assert_int_equal(ask_store(p, "SELECT count(*) FROM winners WHERE text_hash = 'other'"), 0);
    assert_int_equal(ask_store(p, "SELECT count(*) FROM winners"), 2);
    fake_comment[1] = "";
    fake_plant.two = fake_plant.whole = false;
}

/* What won before its text changed is tried before the default and all others;
 * run does not use it. */
static void test_a_stale_winner(void **state) {
    struct place *p = *state;
    char *run[] = {"warpsmith", "run", p->file, "--device", "cpu", "--check", NULL};
    assert_int_equal(bench_all_briefly(p), 0);
    alter_store(p, "UPDATE winners SET config = 'x=3'"); /* which computes something else */
    int64_t before = ask_store(p, "SELECT max(id) FROM trials");
    fake_comment[0] = "better";
    assert_int_equal(command_line_run(6, run), 0);
    assert_int_equal(bench_all_briefly(p), 0);
    fake_comment[0] = "";
    int64_t first = ask_store(p, "SELECT max(id) FROM trials WHERE config = 'x=3'");
    assert_int_equal(first, before + 1);
    assert_int_equal(ask_store(p, "SELECT count(*) FROM winners WHERE config = 'x=3'"), 0);
    assert_int_equal(ask_store(p, "SELECT tried FROM winners"),
                     ask_store(p, "SELECT count(DISTINCT config) FROM trials WHERE status = 'ok'"));
}

static void test_replay(void **state) {
    struct place *p = *state;
    assert_int_equal(bench(p, "--config", "x=2"), 0);
    assert_int_equal(bench(p, "--config", "x=2"), 0);
    assert_int_equal(bench(p, "--config", "x=3"), WS_WRONG);      /* computes something else */
    assert_int_equal(bench(p, "--config", "x=4"), WS_WRONG);      /* does not compile */
    assert_int_equal(bench(p, "--config", "x=9"), WS_WRONG);      /* writes behind y */
    assert_int_equal(bench(p, "--config", "x=99"), WS_USAGE);     /* illegal */
    assert_int_equal(bench(p, "--config", "add: x=1"), WS_USAGE); /* no such kernel */
    assert_int_not_equal(access(p->csv, F_OK), 0);
    assert_int_not_equal(access(p->store, F_OK), 0);
}

static void test_budget_measures_something(void **state) {
    struct place *p = *state;
    struct results r;
    assert_int_equal(bench(p, "--budget", "0"), 0);
    read_rows(p, &r);
    assert_int_equal(find(&r, "x=1", ROLE_variant)->is_winner, 1);
    for (size_t i = 0; i < r.n; i++) /* nothing else was timed */
        if (r.rows[i].role == ROLE_variant && r.rows[i].status == STATUS_ok)
            assert_string_equal(r.rows[i].config, "x=1");
    results_free(&r);
}

static void test_run_checks(void **state) {
    struct place *p = *state;
    char *right[] = {"warpsmith", "run", p->file, "--device", "cpu", "--check", NULL};
    char *wrong[] = {"warpsmith", "run",      p->file, "--device", "cpu",
                     "--check",   "--config", "x=7",   NULL};
    assert_int_equal(command_line_run(6, right), 0);
    assert_int_equal(command_line_run(8, wrong), WS_WRONG);
}

/* ---- other sizes ----------------------------------------------------------------------------- */

/* A search tries what it is told first, whether its space has that or not. */
static void test_a_hint(void **state) {
    struct arena *a = arena_new();
    struct ws_options o = {.arena = a};
    struct device_limits limits = {.kind = DEVICE_CPU};
    struct tuning shared = {.arena = a};
    struct ws_program *p = ws_lower(ws_capture(&o, NULL, NULL), &limits, WS_FUSE, NULL, NULL);
    for (int x = 2; x <= FAKE_VARIANTS + 1; x += FAKE_VARIANTS - 1) {
        struct tune t;
        struct config c = {0};
        c.knob[KNOB_x] = x;
        tune_open(&t, &shared, p, 0, (struct store_key){0});
        tune_hint_config(&t, &c);
        assert_int_equal(t.n, x > FAKE_VARIANTS ? FAKE_VARIANTS + 1 : FAKE_VARIANTS);
        assert_int_equal(t.variants[t.hint].config->knob[KNOB_x], x);
    }
    (void)state;
    arena_free(a);
}

/* The nearest sizes may have no kernel of that name, or a config that is not legal here, or cannot
 * be emitted. */
static void test_other_sizes(void **state) {
    static const struct store_near near[] = {
        {.kernel_name = "add", .config = "x=1", .axes = "n=1"},
        {.kernel_name = "mul_add", .config = "x=99", .axes = "n=2"},
        {.kernel_name = "mul_add", .config = "x=5", .axes = "n=3"},
        {.kernel_name = "mul_add", .config = "z=", .axes = "n=4"},
        {.kernel_name = "mul_add", .config = "x=2", .axes = "rows=5 n=8"},
        {.kernel_name = "mul_add", .config = "x=1", .axes = "n=6"},
    };
    struct arena *a = arena_new();
    struct config c;
    struct ws_kernel kernels[] = {{.name = "mul_add"}, {.name = "mul_add_2"}};
    struct ws_program program = {.kernels = kernels, .n_kernels = 1};
    for (int k = 0; k < 2; k++) { /* the second is the same as the first */
        const struct store_near *found = winner_nearest(near, 6, &program, k, &c, a);
        assert_ptr_equal(found, &near[4]);
        assert_int_equal(c.knob[KNOB_x], 2);
        assert_string_equal(winner_near_guard(found, "rows=4 n=4", a), "rows == 5 && n == 8");
        assert_string_equal(winner_near_guard(found, "rows=5 n=80", a), "n == 8");
        assert_string_equal(winner_near_guard(found, "rows=5 n=8", a), "other sizes");
    }
    assert_null(winner_nearest(near, 4, &program, 0, &c, a));
    (void)state;
    arena_free(a);
}

int main(int argc, char **argv) {
    worker_main(argc - 1, argv + 1);
    const struct CMUnitTest tests[] = {
        TEST(test_every_fate_of_a_variant),
        cmocka_unit_test(test_wrong_config_is_said),
        cmocka_unit_test(test_many_wrong_configs),
        TEST(test_a_variant_that_never_ends),
        TEST(test_implausible_times_never_win),
        TEST(test_profile),
        TEST(test_a_new_knob),
        cmocka_unit_test(test_a_hint),
        cmocka_unit_test(test_other_sizes),
        TEST(test_a_changed_text),
        TEST(test_a_stale_winner),
        TEST(test_reductions_had_better_be_apart),
        TEST(test_reductions_do_not_fit_apart),
        TEST(test_which_stays_is_forgotten),
        TEST(test_reductions_had_better_be_fused),
        TEST(test_replay),
        TEST(test_hit_then_retune),
        TEST(test_budget_measures_something),
        TEST(test_run_checks),
    };
    return cmocka_run_group_tests_name("tuner flow", tests, NULL, NULL);
}
