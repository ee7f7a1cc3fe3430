/* test_tuner_cache.c: `warpsmith cache` on a filled store: what it prints and what it returns. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/command_line.h"
#include "tuner/store.h"

struct fixture {
    struct arena *arena;
    const char *folder, *path;
};

static const struct stats times = {30, 36.96, 36.5, 37.1, 36.2, 36.8, 37.05};

/* Entry 1: a winner with two trials; 2: its program; 3: tuning that was cut short. */
static enum ws_status fill(struct fixture *f, const char *path, const char *config,
                           int64_t created) {
    struct diag d = diag_new(f->arena);
    struct store *s;
    const char *note;
    struct store_key k = {"aa", "bb", "rows == 4096", "NVIDIA H200", "580.1", "NVRTC 13.0.88"};
    struct store_key program = k, cut = k;
    struct store_graph g = {"graph(x)\n", "softmax", "fwd", "f32", "rows=4096"};
    struct store_trial t[] = {
        {config, STATUS_ok, times, 32, 0, -1, 41.2, NULL, "r1", created, "0123456789abcdef"},
        {"x=64", STATUS_compile_error, stats_none(), -1, -1, -1, 3, "line 3: bad\nmore", "r1",
         created, NULL}};
    struct store_winner w = {.kernel_name = "softmax_0",
                             .arch = "sm_90a",
                             .config = config,
                             .us = times,
                             .default_us = 44.2,
                             .tried = 17,
                             .tied = 2,
                             .created = created,
                             .health = {"cupti", 1980, NAN, "none"},
                             .run_id = "r1",
                             .text_hash = "0123456789abcdef"};
    struct store_program p = {"sm_90a",
                              {30, 90, 89, 91, 88, 89, 91},
                              times,
                              times,
                              {"cupti", 1980, 41, "none"},
                              "r1",
                              created,
                              NULL};
    program.kernel = STORE_PROGRAM, program.guard = "";
    cut.kernel = "cc";
    if (store_open(path, f->arena, &d, &s, &note) != WS_OK) return d.status;
    store_add_trial(s, &k, &g, &t[0], &d);
    store_add_trial(s, &k, &g, &t[1], &d);
    store_put_winner(s, &k, &g, &w, &d);
    store_put_program(s, &program, &g, &p, &d);
    store_add_trial(s, &cut, &g, &t[0], &d);
    store_close(s);
    return d.status;
}

static int set_up(void **state) {
    struct arena *a = arena_new();
    struct fixture *f = NEW(a, struct fixture);
    char *folder = arena_strdup(a, "/tmp/test_tuner_cache.XXXXXX");
    if (!mkdtemp(folder)) return -1;
    *f = (struct fixture){a, folder, arena_printf(a, "%s/store.db", folder)};
    *state = f;
    setenv("WARPSMITH_CACHE", f->path, 1);
    return fill(f, f->path, "x=1 warps=8", 1700000000);
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    int rc = system(arena_printf(f->arena, "rm -rf %s", f->folder));
    arena_free(f->arena);
    return rc;
}

static const char *read_back(struct arena *a, FILE *in) {
    char *text = arena_alloc(a, 20000);
    rewind(in);
    text[fread(text, 1, 19999, in)] = 0;
    fclose(in);
    return text;
}

/* Run `cache ARGUMENTS` in a process of its own; *out is what it printed, errors included. */
static int run(struct fixture *f, const char *arguments, const char **out) {
    char *argv[8] = {"warpsmith", "cache"};
    int argc = 2;
    for (char *word = strtok(arena_strdup(f->arena, arguments), " "); word;
         word = strtok(NULL, " "))
        argv[argc++] = word;
    FILE *to = tmpfile();
    assert_non_null(to);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(to), 1);
        dup2(fileno(to), 2);
        int rc = command_line_run(argc, argv);
        fflush(stdout);
        _exit(rc);
    }
    int status;
    waitpid(child, &status, 0);
    *out = read_back(f->arena, to);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect(struct fixture *f, const char *arguments, int rc, const char *const *texts) {
    const char *out;
    int got = run(f, arguments, &out);
    if (got != rc) fail_msg("cache %s: exit %d, not %d:\n%s", arguments, got, rc, out);
    for (; *texts; texts++)
        if (!strstr(out, *texts))
            fail_msg("cache %s: expected '%s' in:\n%s", arguments, *texts, out);
}
#define EXPECT(arguments, rc, ...)                                                                 \
    expect(f, arguments, rc, (const char *const[]){__VA_ARGS__, NULL})

static void test_ls(void **state) {
    struct fixture *f = *state;
    EXPECT("ls", 0, "id  workload  mode  dtype  axes       kernel     device",
           " 1  softmax   fwd   f32    rows=4096  softmax_0  NVIDIA H200  x=1 warps=8      36.96  "
           "     30      2",
           "(program)", "(cut short)", "3 entries in ");
}

static void test_show(void **state) {
    struct fixture *f = *state;
    EXPECT("show 1", 0, "driver       580.1\n", "config       x=1 warps=8\n",
           "text         0123456789abcdef\n", "compile ms  text      message\n", "41.2  01234567\n",
           "median 36.960 us", "30 samples", "1.196 over the default",
           "fastest of 17 tried; 1 more as fast", "stored       2023-11-14T22:13:20Z",
           "compile_error", "line 3: bad\n");
    EXPECT("show 2", 0, "unfused      median 90.000", "2.435 over unfused kernels");
    EXPECT("show 3", 0, "cut short");
}

static void test_rm(void **state) {
    struct fixture *f = *state;
    const char *out;
    EXPECT("rm 1", 0, "");
    EXPECT("rm 1", 1, "no entry 1");
    EXPECT("ls", 0, "2 entries");
    EXPECT("rm --older-than 10000", 0, "removed 0 entries");
    EXPECT("rm --older-than 99999999999", 0, "removed 0 entries");
    EXPECT("rm --older-than 0", 0, "removed 2 entries");
    assert_int_equal(fill(f, f->path, "x=1", 0), WS_OK);
    EXPECT("rm --all", 0, "removed 3 entries");
    assert_int_equal(run(f, "ls", &out), 0);
    assert_null(strstr(out, "softmax"));
}

static void test_export_import(void **state) {
    struct fixture *f = *state;
    const char *file = arena_printf(f->arena, "%s/out.db", f->folder);
    const char *other = arena_printf(f->arena, "%s/other.db", f->folder);
    EXPECT(arena_printf(f->arena, "export %s", file), 0, "wrote 2 tuned kernels");
    assert_int_equal(fill(f, other, "x=2 warps=4", 1600000000), WS_OK);
    setenv("WARPSMITH_CACHE", other, 1);
    EXPECT("ls", 0, "x=2 warps=4");
    EXPECT(arena_printf(f->arena, "import %s", file), 0, "2 tuned kernels new or newer");
    EXPECT("ls", 0, "x=1 warps=8", "3 entries");
    EXPECT(arena_printf(f->arena, "import %s", file), 0, "0 tuned kernels new or newer");
    EXPECT("import /dev/null", 1, "not an exported store");
    EXPECT("import /none/x.db", 2, "No such file");
    EXPECT("export /none/x.db", 3, "cannot export");
}

static void test_usage(void **state) {
    struct fixture *f = *state;
    EXPECT("", 2, "cache what? There are: ls, show");
    EXPECT("list", 2, "no command 'cache list'");
    EXPECT("ls 1", 2, "what is '1'?");
    EXPECT("show", 2, "which ID?");
    EXPECT("show 1 2", 2, "one ID at a time, not also '2'");
    EXPECT("show x", 2, "an ID is a number, not 'x'");
    EXPECT("show -- -1", 2, "a number, not '-1'");
    EXPECT("show 99999999999999999999", 2, "a number");
    EXPECT("show 99", 1, "no entry 99");
    EXPECT("rm", 2, "one ID, --all or --older-than DAYS");
    EXPECT("rm --older-than", 2, "--older-than needs a value");
    EXPECT("rm --older-than soon", 2, "--older-than takes a whole number");
    EXPECT("export", 2, "which FILE?");
    /* A wrong call is a wrong call even where there is no store to be had, and makes none. */
    setenv("WARPSMITH_CACHE", "/proc/none/store.db", 1);
    EXPECT("list", 2, "no command");
    EXPECT("ls", 3, "/proc/none/store.db");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_ls), TEST(test_show), TEST(test_rm),
                                       TEST(test_export_import), TEST(test_usage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
