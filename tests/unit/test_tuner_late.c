/* Variants that are right and by far the fastest, for a while: what is planted in them shows only
 * among the finalists, in the final program, or now and then. None of them may win, each has one
 * row that says why, and the run goes on. */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "tests/unit/flow_test.h"
#include "tuner/store.h"

/* The last status that the store has of a config. */
static enum result_status stored_status(struct place *p, const char *config) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct store *s;
    struct store_entry *e;
    struct store_trial *t;
    const char *note;
    int n, n_trials, status = -1;
    assert_int_equal(store_open(p->store, a, &d, &s, &note), WS_OK);
    assert_int_equal(store_entries(s, &e, &n, &d), WS_OK);
    for (int i = 0; i < n; i++) {
        assert_int_equal(store_entry_trials(s, e[i].id, &t, &n_trials, &d), WS_OK);
        for (int k = 0; k < n_trials; k++)
            if (!strcmp(t[k].config, config)) status = (int)t[k].status;
    }
    store_close(s);
    arena_free(a);
    return (enum result_status)status;
}

/* What is planted in the fastest variant keeps it from winning, in one row that says so; the run
 * goes on to its end, and the default, which is right, wins. */
static void expect_unmasked(struct place *p, const char *when, const char *code,
                            enum result_status status) {
    struct results r;
    fake_plant.when = when;
    fake_plant.code = code;
    assert_int_equal(bench(p, "--samples-max", "4"), 0);
    fake_plant.when = NULL;
    read_rows(p, &r);
    assert_int_equal(count(&r, ROLE_variant), 2);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->status, status);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->is_winner, 0);
    assert_int_equal(find(&r, "x=1", ROLE_variant)->is_winner, 1);
    assert_true(find(&r, "x=1", ROLE_tuned)->median_us > 0);
    assert_int_equal(stored_status(p, "x=2"), status);
    if (status != STATUS_ok) assert_false(find(&r, "x=2", ROLE_variant)->median_us > 0);
    results_free(&r);
}

#define CRASH "*(volatile int *)8 = 1"
#define HANG "for (volatile int k = 0;;) k++"
#define WRONG "y[4095] = 0"

/* Without the plant it wins: what the tests below see is the plant's doing. */
static void test_the_fastest_wins(void **state) {
    struct place *p = *state;
    struct results r;
    fake_plant.when = "0";
    fake_plant.code = "";
    assert_int_equal(bench(p, "--samples-max", "4"), 0);
    fake_plant.when = NULL;
    read_rows(p, &r);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->is_winner, 1);
    results_free(&r);
}

static void test_finalist_that_hangs(void **state) {
    expect_unmasked(*state, "loads == 2 && calls == 3", HANG, STATUS_timeout);
}
static void test_finalist_that_crashes(void **state) {
    expect_unmasked(*state, "loads == 2 && calls == 3", CRASH, STATUS_launch_error);
}
static void test_finalist_that_goes_wrong(void **state) {
    expect_unmasked(*state, "loads == 2 && calls > 3", WRONG, STATUS_wrong);
}
static void test_finalist_that_gets_slow(void **state) {
    expect_unmasked(*state, "loads == 2", "usleep(40000)", STATUS_ok);
}
static void test_program_that_crashes(void **state) {
    expect_unmasked(*state, "EAGER > 1", CRASH, STATUS_launch_error);
}
static void test_program_that_goes_wrong(void **state) {
    expect_unmasked(*state, "EAGER > 1", WRONG, STATUS_wrong);
}
/* Of two kernels the one that fails again alone; if none does, any may have been it. */
static const struct result_row *find_of(const struct results *r, const char *kernel,
                                        const char *config) {
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->rows[i].kernel, kernel) && !strcmp(r->rows[i].config, config))
            return &r->rows[i];
    fail_msg("no row of %s under '%s'", kernel, config);
    return NULL;
}

static void expect_of_two(struct place *p, const char *when, bool first_stays) {
    struct results r;
    fake_plant.when = when;
    fake_plant.code = CRASH;
    fake_plant.two = true;
    assert_int_equal(bench(p, "--samples-max", "4"), 0);
    fake_plant.when = NULL;
    fake_plant.two = false;
    read_rows(p, &r);
    assert_int_equal(count(&r, ROLE_variant), 4);
    assert_int_equal(find_of(&r, "second", "x=2")->status, STATUS_launch_error);
    assert_int_equal(find_of(&r, "second", "x=1")->is_winner, 1);
    assert_int_equal(find_of(&r, "first", "x=2")->status,
                     first_stays ? STATUS_ok : STATUS_launch_error);
    assert_int_equal(find_of(&r, "first", "x=2")->is_winner, first_stays);
    assert_int_equal(find_of(&r, "first", "x=1")->is_winner, !first_stays);
    assert_int_equal(count(&r, ROLE_tuned), 1);
    results_free(&r);
}

static void test_one_of_two_kernels(void **state) { expect_of_two(*state, "EAGER > 1", true); }
static void test_none_of_two_alone(void **state) {
    expect_of_two(*state, "EAGER > 1 && ONCE", false);
}

/* What a crash leaves is not believed: on the device that begins anew, the eager program is checked
 * before anything else is compared with it. */
static void test_eager_is_checked_again(void **state) {
    struct place *p = *state;
    fake_plant.when = "EAGER > 1 && ONCE";
    fake_plant.code = CRASH;
    fake_plant.eager = "ASKED";
    assert_int_equal(bench(p, "--samples-max", "4"), 1);
    fake_plant.when = fake_plant.eager = NULL;
}

/* A winner of an earlier run that fails today is forgotten, and its kernel tuned again. */
static void test_stored_winner_that_crashes(void **state) {
    struct place *p = *state;
    struct results r;
    fake_plant.code = CRASH;
    fake_plant.when = "0";
    assert_int_equal(bench(p, "--samples-max", "4"), 0);
    fake_plant.when = "1";
    assert_int_equal(bench(p, "--samples-max", "4"), 0);
    read_rows(p, &r);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->status, STATUS_launch_error);
    assert_int_equal(find(&r, "x=1", ROLE_variant)->is_winner, 1);
    assert_true(find(&r, "x=1", ROLE_tuned)->median_us > 0);
    size_t variants = count(&r, ROLE_variant);
    results_free(&r);
    assert_int_equal(bench(p, "--samples-max", "4"), 0); /* a cache hit: nothing is tried */
    fake_plant.when = NULL;
    read_rows(p, &r);
    assert_int_equal(count(&r, ROLE_variant), variants);
    assert_string_equal(r.rows[r.n - 1].config, "x=1");
    results_free(&r);
}

/* It leaves what its first call has written. */
static void test_lazy_variant(void **state) {
    expect_unmasked(*state, "calls > 1", "for (int i = 0; i < 4096; i++) y[i] = was[i]",
                    STATUS_wrong);
}
static void test_untouched_output(void **state) {
    expect_unmasked(*state, "1", "for (int i = 0; i < 4096; i++) y[i] = was[i]", STATUS_wrong);
}
static void test_racing_variant(void **state) {
    expect_unmasked(*state, "calls % 3 == 0", WRONG, STATUS_wrong);
}
static void test_writes_behind_its_output_later(void **state) {
    expect_unmasked(*state, "calls > 5", "y[4096] = 0", STATUS_wrong);
}

/* ---- ended by somebody else ------------------------------------------------------------------ */

#define KILLED(by) "extern int kill(int, int); kill(getpid(), " #by ")"

/* It costs a repetition, and is no verdict. */
static void expect_forgiven(struct place *p, const char *when) {
    struct results r;
    fake_plant.when = when;
    fake_plant.code = KILLED(9);
    assert_int_equal(bench(p, "--samples-max", "4"), 0);
    fake_plant.when = NULL;
    read_rows(p, &r);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->status, STATUS_ok);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->is_winner, 1);
    assert_int_equal(stored_status(p, "x=2"), STATUS_ok);
    results_free(&r);
}

static void test_trial_that_is_killed(void **state) { expect_forgiven(*state, "ONCE"); }
static void test_finalist_that_is_killed(void **state) {
    expect_forgiven(*state, "loads == 2 && calls == 3 && ONCE");
}
static void test_proof_that_is_killed(void **state) {
    expect_forgiven(*state, "loads == 2 && calls == 16 && ONCE");
}
static void test_program_that_is_killed(void **state) {
    expect_forgiven(*state, "EAGER > 1 && ONCE");
}
/* As where it takes more memory than there is. */
static void test_killed_every_time(void **state) {
    expect_unmasked(*state, "1", KILLED(9), STATUS_launch_error);
}
/* `timeout`, a terminal and ^C mean the whole group; a worker's parent ends it. */
static void test_signals_of_the_group(void **state) {
    struct place *p = *state;
    struct results r;
    fake_plant.when = "calls == 2";
    fake_plant.code = KILLED(15) "; kill(getpid(), 1); kill(getpid(), 2)";
    assert_int_equal(bench(p, "--samples-max", "4"), 0);
    fake_plant.when = NULL;
    read_rows(p, &r);
    assert_int_equal(find(&r, "x=2", ROLE_variant)->is_winner, 1);
    results_free(&r);
}

/* What fails once the run was told to end is neither stored nor in a row. */
static void test_failure_of_an_interrupted_run(void **state) {
    struct place *p = *state;
    struct results r;
    int status;
    fake_plant.when = "calls == 2";
    fake_plant.code = "extern int kill(int, int); kill(getppid(), 15); usleep(100000); " CRASH;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(bench(p, "--samples-max", "4"));
    waitpid(child, &status, 0);
    fake_plant.when = NULL;
    assert_int_equal(WEXITSTATUS(status), 143);
    assert_int_not_equal(stored_status(p, "x=2"), STATUS_launch_error);
    read_rows(p, &r);
    for (size_t i = 0; i < r.n; i++) assert_int_not_equal(r.rows[i].status, STATUS_launch_error);
    results_free(&r);
}

int main(int argc, char **argv) {
    worker_main(argc - 1, argv + 1);
    const struct CMUnitTest tests[] = {
        TEST(test_failure_of_an_interrupted_run), /* forks: before there are threads of OpenMP */
        TEST(test_the_fastest_wins),
        TEST(test_finalist_that_hangs),
        TEST(test_finalist_that_crashes),
        TEST(test_finalist_that_goes_wrong),
        TEST(test_finalist_that_gets_slow),
        TEST(test_program_that_crashes),
        TEST(test_program_that_goes_wrong),
        TEST(test_one_of_two_kernels),
        TEST(test_none_of_two_alone),
        TEST(test_eager_is_checked_again),
        TEST(test_stored_winner_that_crashes),
        TEST(test_lazy_variant),
        TEST(test_untouched_output),
        TEST(test_racing_variant),
        TEST(test_writes_behind_its_output_later),
        TEST(test_trial_that_is_killed),
        TEST(test_finalist_that_is_killed),
        TEST(test_proof_that_is_killed),
        TEST(test_program_that_is_killed),
        TEST(test_killed_every_time),
        TEST(test_signals_of_the_group),
    };
    return cmocka_run_group_tests_name("tuner late", tests, NULL, NULL);
}
