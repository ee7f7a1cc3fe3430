/* A device in a process of its own: it answers as the device itself does, and what kills the
 * process costs one call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/remote/wire.h"
#include "runtime/runtime.h"

struct fixture {
    struct arena *arena;
    struct env env;
    struct diag diag;
    struct toolchain *cc;
    struct device *dev;
    const char *why;
};

static int setup(void **state) {
    static struct fixture f;
    f = (struct fixture){.arena = arena_new()};
    f.env = env_read(f.arena);
    f.diag = diag_new(f.arena);
    *state = &f;
    if (toolchain_open(DEVICE_CPU, NULL, &f.env, f.arena, &f.diag, &f.cc) != WS_OK) return -1;
    return device_open_isolated("cpu", f.arena, &f.diag, &f.dev, &f.why) == WS_OK ? 0 : -1;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    device_close(f->dev);
    toolchain_close(f->cc);
    arena_free(f->arena);
    return 0;
}

static struct module *load(struct fixture *f, const char *source) {
    struct compiled c;
    struct module *m = NULL;
    toolchain_compile(f->cc, "test.c", source, false, &c);
    if (!c.ok) fail_msg("%s", c.log);
    assert_int_equal(device_load(f->dev, c.binary, c.size, &m, &f->diag), WS_OK);
    compiled_free(&c);
    return m;
}

static struct launch launch_of(struct module *m, uint64_t *arg) {
    return (struct launch){
        .module = m, .entry = "entry", .grid = {1, 1, 1}, .threads = 1, .n_args = 1, .args = {arg}};
}

#define NEGATE                                                                                     \
    "void entry(void *const *args) {\n"                                                            \
    "    float *x = *(float *const *)args[0];\n"                                                   \
    "    for (long i = 0; i < 1000; i++) x[i] = -x[i];\n"                                          \
    "}\n"

static void test_answers_as_the_device_itself(void **state) {
    struct fixture *f = *state;
    struct device *here;
    const char *why;
    assert_int_equal(device_open("cpu", &f->env, f->arena, &f->diag, &here, &why), WS_OK);
    assert_string_equal(why, f->why);
    assert_memory_equal(device_limits(here), device_limits(f->dev), sizeof(struct device_limits));
    assert_memory_equal(device_facts(here), device_facts(f->dev), sizeof(struct device_facts));
    struct health a, b;
    device_health(here, &a);
    device_health(f->dev, &b);
    assert_int_equal(a.temp_c, b.temp_c);
    device_close(here);
}

/* Fills go with the call behind them, in order, whatever becomes of a call that is not made. */
static void test_what_is_deferred(void **state) {
    struct fixture *f = *state;
    unsigned char x[64], want[64];
    struct diag d = diag_new(f->arena);
    uint64_t at = 0;
    dptr p, other;
    struct module *m = load(f, NEGATE);
    assert_int_equal(device_reset(f->dev, &f->diag), WS_OK);
    struct launch stale = launch_of(m, &at); /* of the process before */
    assert_int_equal(device_alloc(f->dev, sizeof x, &p, &f->diag), WS_OK);
    assert_int_equal(device_alloc(f->dev, sizeof x, &other, &f->diag), WS_OK);
    assert_int_equal(device_fill(f->dev, p, 1, 64, &f->diag), WS_OK);
    assert_int_equal(device_fill(f->dev, p, 2, 32, &f->diag), WS_OK);
    assert_int_equal(device_run(f->dev, &stale, 1, &d), WS_MACHINE);
    assert_int_equal(device_fill(f->dev, p, 3, 16, &f->diag), WS_OK);
    device_free(f->dev, other);
    device_unload(f->dev, m);
    assert_int_equal(device_download(f->dev, x, p, sizeof x, &f->diag), WS_OK);
    memset(want, 1, 64), memset(want, 2, 32), memset(want, 3, 16);
    assert_memory_equal(x, want, sizeof x);
    device_free(f->dev, p);
}

static void test_runs_times_and_compares(void **state) {
    struct fixture *f = *state;
    float x[1000];
    double want[1000];
    uint64_t at;
    dptr p, w;
    for (int i = 0; i < 1000; i++) x[i] = (float)i, want[i] = -i;
    assert_int_equal(device_alloc(f->dev, sizeof x, &p, &f->diag), WS_OK);
    assert_int_equal(device_alloc(f->dev, sizeof want, &w, &f->diag), WS_OK);
    assert_int_equal(device_upload(f->dev, p, x, sizeof x, &f->diag), WS_OK);
    assert_int_equal(device_upload(f->dev, w, want, sizeof want, &f->diag), WS_OK);
    struct launch l = launch_of(load(f, NEGATE), &at);
    at = p;
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_OK);
    struct mismatch m;
    assert_int_equal(device_compare(f->dev, p, DT_F32, w, 1000, 0, &m, &f->diag), WS_OK);
    assert_int_equal(m.bad, 0);
    struct runs second = {1, 2}; /* of 0, -1, -2, .. every second one */
    assert_int_equal(device_compare_runs(f->dev, p, second, DT_F32, w, 500, 0, &m, &f->diag),
                     WS_OK);
    assert_int_equal(m.bad, 499);
    int changed;
    dptr places[2] = {p, p + sizeof(float)}; /* -0, and another */
    assert_int_equal(device_find_changed(f->dev, places, 2, 3, 0, &changed, &f->diag), WS_OK);
    assert_int_equal(changed, 1);
    double us[5];
    struct sample_extra extra[5];
    assert_int_equal(device_time(f->dev, &l, 1, 5, true, us, extra, &f->diag), WS_OK);
    for (int i = 0; i < 5; i++) assert_true(us[i] > 0 && us[i] < 1e6 && extra[i].span_us >= us[i]);
    /* one run, a warm-up and five samples */
    assert_int_equal(device_download(f->dev, x, p, sizeof x, &f->diag), WS_OK);
    assert_true(x[7] == -7);
    assert_int_equal(device_keep(f->dev, p, sizeof x, &f->diag), WS_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_OK);
    assert_int_equal(device_download(f->dev, x, p, sizeof x, &f->diag), WS_OK);
    assert_true(x[7] == 7);
    struct function_facts facts;
    assert_int_equal(device_function_facts(f->dev, l.module, "entry", 1, 0, &facts, &f->diag),
                     WS_OK);
    assert_int_equal(facts.blocks_per_unit, 1);
    assert_int_equal(device_function_facts(f->dev, l.module, "nothing", 1, 0, &facts, &f->diag),
                     WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "no entry 'nothing'"));
    assert_false(device_is_lost(f->dev));
    device_unload(f->dev, l.module);
}

/* More than both halves of the shared memory, and a rest. */
static void test_large_tensors_pass(void **state) {
    struct fixture *f = *state;
    size_t n = 2 * (size_t)STAGE_BYTES + 12345;
    unsigned char *out = malloc(n), *back = calloc(1, n);
    dptr p;
    assert_true(out && back);
    for (size_t i = 0; i < n; i++) out[i] = (unsigned char)(i * 2654435761u >> 13);
    assert_int_equal(device_alloc(f->dev, n, &p, &f->diag), WS_OK);
    assert_int_equal(device_upload(f->dev, p, out, n, &f->diag), WS_OK);
    assert_int_equal(device_download(f->dev, back, p, n, &f->diag), WS_OK);
    assert_memory_equal(out, back, n);
    free(out);
    free(back);
}

/* Run a program that is bad for its process, and expect the loss; then everything works again. */
static void expect_loss_within(struct fixture *f, const char *source, double limit_ms,
                               enum device_loss loss, const char *text) {
    uint64_t at;
    dptr p;
    assert_int_equal(device_alloc(f->dev, 4000, &p, &f->diag), WS_OK);
    struct module *m = load(f, source);
    struct launch l = launch_of(m, &at);
    at = p;
    int generation = device_generation(f->dev);
    device_limit(f->dev, limit_ms); /* of this call alone: loading may take its time */
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    if (!strstr(f->diag.text, text)) fail_msg("'%s' is not in: %s", text, f->diag.text);
    assert_true(device_is_lost(f->dev));
    assert_int_equal(device_loss(f->dev), loss);
    device_free(f->dev, p);
    device_limit(f->dev, INFINITY);

    f->diag = diag_new(f->arena);
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "must be reset"));
    f->diag = diag_new(f->arena);
    assert_int_equal(device_reset(f->dev, &f->diag), WS_OK);
    assert_int_equal(device_generation(f->dev), generation + 1);
    assert_false(device_is_lost(f->dev));
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "load it again"));
    f->diag = diag_new(f->arena);
    device_unload(f->dev, m);
    test_runs_times_and_compares((void **)&f);
}

static void expect_loss(struct fixture *f, const char *source, enum device_loss loss,
                        const char *text) {
    expect_loss_within(f, source, INFINITY, loss, text);
}

static void test_a_crash(void **state) {
    expect_loss(*state, "void entry(void *const *args) { *(volatile int *)8 = 1; }\n", DEVICE_DIED,
                "killed by signal 11");
}

static void test_an_abort(void **state) {
    expect_loss(*state, "void abort(void);\nvoid entry(void *const *args) { abort(); }\n",
                DEVICE_DIED, "killed by signal 6");
}

static void test_an_exit(void **state) {
    expect_loss(*state, "void _exit(int);\nvoid entry(void *const *args) { _exit(7); }\n",
                DEVICE_DIED, "ended with status 7");
}

static void test_a_hang(void **state) {
    expect_loss_within(*state,
                       "void entry(void *const *args) { for (volatile int i = 0;;) i++; }\n", 300,
                       DEVICE_HUNG, "it hangs");
}

static void test_killed_by_somebody(void **state) {
    expect_loss(*state,
                "#include <signal.h>\n#include <unistd.h>\n"
                "void entry(void *const *args) { kill(getpid(), SIGKILL); }\n",
                DEVICE_KILLED, "killed by signal 9");
}

/* They are sent to whole groups: the parent decides. */
static void test_signals_that_are_the_parents(void **state) {
    struct fixture *f = *state;
    uint64_t at;
    dptr p;
    assert_int_equal(device_alloc(f->dev, 4000, &p, &f->diag), WS_OK);
    struct module *m = load(f, "#include <signal.h>\n"
                               "void entry(void *const *args) {\n"
                               "    raise(SIGINT), raise(SIGTERM), raise(SIGHUP);\n"
                               "}\n");
    struct launch l = launch_of(m, &at);
    at = p;
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_OK);
    device_unload(f->dev, m);
}

/* ---- stopped processes ----------------------------------------------------------------------- */

/* What ps calls the state of a process: R, S, T (stopped), ...; 0: it is gone. */
static char state_of(pid_t pid) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1) state = 0;
    if (f) fclose(f);
    return state;
}

static bool wait_until_stopped(pid_t pid) {
    for (int i = 0; i < 6000 && state_of(pid) && state_of(pid) != 'T'; i++) usleep(10000);
    return state_of(pid) == 'T';
}

/* In a process of its own: its exit status. The kernel stops it and the worker, as Ctrl-Z does, in
 * the middle of a launch. */
static int run_and_be_stopped(void) {
    struct fixture *f = NULL;
    uint64_t at;
    dptr p;
    if (setup((void **)&f) != 0 || device_alloc(f->dev, 4000, &p, &f->diag) != WS_OK) return 2;
    struct module *m = load(f, "#include <signal.h>\n"
                               "#include <unistd.h>\n"
                               "void entry(void *const *args) {\n"
                               "    kill(getppid(), SIGSTOP);\n"
                               "    kill(getpid(), SIGSTOP);\n"
                               "}\n");
    struct launch l = launch_of(m, &at);
    at = p;
    device_limit(f->dev, 1500);
    int failed = device_run(f->dev, &l, 1, &f->diag) != WS_OK;
    if (failed) fputs(f->diag.text, stderr);
    device_close(f->dev);
    return failed;
}

static pid_t child_of(pid_t pid) {
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &child) != 1) child = 0;
    if (f) fclose(f);
    return child;
}

/* Stopped for longer than the limit: nobody had time to answer, so nothing hangs. */
static void test_stopped_is_no_hang(void **state) {
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(run_and_be_stopped());
    if (!wait_until_stopped(pid)) {
        waitpid(pid, &status, 0);
        fail_msg("not stopped: status %x", status);
    }
    pid_t worker = child_of(pid);
    assert_true(worker > 0 && wait_until_stopped(worker));
    usleep(2000000);
    kill(worker, SIGCONT);
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_an_unknown_device(void **state) {
    struct fixture *f = *state;
    struct device *none;
    const char *why;
    assert_int_equal(device_open_isolated("tpu", f->arena, &f->diag, &none, &why), WS_USAGE);
    assert_non_null(strstr(f->diag.text, "unknown device 'tpu'"));
    assert_null(none);
}

static void test_no_counters_is_an_answer(void **state) {
    struct fixture *f = *state;
    struct counters c;
    uint64_t at;
    dptr p;
    assert_int_equal(device_alloc(f->dev, 4000, &p, &f->diag), WS_OK);
    struct launch l = launch_of(load(f, NEGATE), &at);
    at = p;
    assert_int_equal(device_count(f->dev, &l, 1, &c, &f->diag), WS_MACHINE);
    device_unload(f->dev, l.module);
    assert_false(device_is_lost(f->dev));
}

/* ---- compilers ------------------------------------------------------------------------------- */

static void compile_answer(struct toolchain *t, bool ok, const char *source, const char *log) {
    struct compiled c;
    toolchain_compile(t, "test.cu", source, false, &c);
    assert_int_equal(c.ok, ok);
    assert_int_equal(c.ok, c.binary && c.size > 64);
    if (!strstr(c.log, log)) fail_msg("'%s' is not in: %s", log, c.log);
    compiled_free(&c);
}

static pid_t youngest_child(void) {
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%d", &pid) == 1) continue;
    if (f) fclose(f);
    assert_true(pid > 1);
    return pid;
}

/* NVRTC where it is installed; its process is killed as if it had crashed. */
static void test_a_compiler_that_dies(void **state) {
    struct fixture *f = *state;
    struct toolchain *t;
    const char *good = "extern \"C\" __global__ void f(float *x) { x[threadIdx.x] = 1; }\n";
    if (toolchain_open_isolated(DEVICE_CUDA, "sm_90a", &f->env, f->arena, &f->diag, &t) != WS_OK)
        skip();
    compile_answer(t, true, good, "");
    compile_answer(t, false, "oops\n", "error");
    kill(youngest_child(), SIGKILL);
    compile_answer(t, false, good, "crashed: its process was killed by signal 9");
    compile_answer(t, true, good, "");
    toolchain_close(t);
}

int main(int argc, char **argv) {
    worker_main(argc - 1, argv + 1);
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(test_answers_as_the_device_itself),
        T(test_what_is_deferred),
        T(test_runs_times_and_compares),
        T(test_large_tensors_pass),
        T(test_a_crash),
        T(test_an_abort),
        T(test_an_exit),
        T(test_a_hang),
        T(test_killed_by_somebody),
        T(test_signals_that_are_the_parents),
        T(test_stopped_is_no_hang),
        T(test_an_unknown_device),
        T(test_no_counters_is_an_answer),
        T(test_a_compiler_that_dies),
#undef T
    };
    return cmocka_run_group_tests_name("runtime_remote", tests, NULL, NULL);
}
