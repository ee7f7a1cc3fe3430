/* test_base_options.c: what the environment means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"

/* Every variable that env_read looks at is unset before each test. */
static int setup(void **state) {
    const char *names[] = {"WS_LOGS", "WARPSMITH_CACHE", "XDG_CACHE_HOME", "WARPSMITH_CPU_CACHE",
                           "HOME",    "CUDA_HOME",       "CUDA_PATH",      "CC",
                           "TMPDIR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    return *state = arena_new(), 0;
}

static int teardown(void **state) { return arena_free(*state), 0; }

static uint32_t logs(struct arena *a, const char *value) {
    setenv("WS_LOGS", value, 1);
    struct env e = env_read(a);
    assert_null(e.bad_log);
    return e.logs;
}

static void test_empty_environment(void **state) {
    struct env e = env_read(*state);
    assert_int_equal(e.logs, 0);
    assert_null(e.bad_log);
    assert_null(e.cuda_home);
    assert_string_equal(e.cc, "cc");
    char store[64];
    snprintf(store, sizeof store, "/tmp/warpsmith-store-%u/store.db", (unsigned)geteuid());
    assert_string_equal(e.store_path, store);
    assert_string_equal(e.tmp, "/tmp");
}

static void test_logs(void **state) {
    struct arena *a = *state;
    assert_int_equal(logs(a, ""), 0);
    assert_int_equal(logs(a, "graph_breaks"), 1u << LOG_GRAPH_BREAKS);
    assert_int_equal(logs(a, "guards,fusion"), 1u << LOG_GUARDS | 1u << LOG_FUSION);
    assert_int_equal(logs(a, ",autotune,,"), 1u << LOG_AUTOTUNE);
    assert_int_equal(logs(a, "+schedule"), 1u << LOG_SCHEDULE);
    assert_int_equal(logs(a, "all"), (1u << LOG_COUNT) - 1);
    assert_int_equal(logs(a, "guards,all"), (1u << LOG_COUNT) - 1);
}

/* Each name that a message lists is a name. */
static void test_log_names(void **state) {
    char list[256];
    strncpy(list, log_names(), sizeof list - 1);
    list[sizeof list - 1] = 0;
    uint32_t seen = 0;
    int n = 0;
    for (char *save, *w = strtok_r(list, ", ", &save); w; w = strtok_r(NULL, ", ", &save), n++)
        if (strcmp(w, "all") != 0) seen |= logs(*state, w);
    assert_int_equal(n, LOG_COUNT + 1);
    assert_int_equal(seen, (1u << LOG_COUNT) - 1);
}

static void test_unknown_log(void **state) {
    const char *bad[] = {"fusions", "fus", "allx", "Guards", "+"};
    for (size_t i = 0; i + 1 < sizeof bad / sizeof *bad; i++) {
        setenv("WS_LOGS", bad[i], 1);
        struct env e = env_read(*state);
        assert_string_equal(e.bad_log, bad[i]);
        assert_int_equal(e.logs, 0);
    }
    setenv("WS_LOGS", "guards,nonsense,fusion", 1);
    struct env e = env_read(*state);
    assert_string_equal(e.bad_log, "nonsense");
    assert_int_equal(e.logs, 1u << LOG_GUARDS | 1u << LOG_FUSION);
}

/* The more particular variable wins; an empty one counts as not set. */
static void test_store_path(void **state) {
    setenv("HOME", "/home/ada", 1);
    assert_string_equal(env_read(*state).store_path, "/home/ada/.cache/warpsmith/store.db");
    setenv("XDG_CACHE_HOME", "/var/cache", 1);
    assert_string_equal(env_read(*state).store_path, "/var/cache/warpsmith/store.db");
    setenv("WARPSMITH_CACHE", "/fast/ws.db", 1);
    assert_string_equal(env_read(*state).store_path, "/fast/ws.db");
    setenv("WARPSMITH_CACHE", "", 1);
    setenv("XDG_CACHE_HOME", "", 1);
    assert_string_equal(env_read(*state).store_path, "/home/ada/.cache/warpsmith/store.db");
}

static void test_tools(void **state) {
    setenv("CUDA_PATH", "/opt/cuda", 1);
    setenv("CC", "clang", 1);
    struct env e = env_read(*state);
    assert_string_equal(e.cuda_home, "/opt/cuda");
    assert_string_equal(e.cc, "clang");
    assert_null(e.cpu_cache);
    setenv("WARPSMITH_CPU_CACHE", "32M", 1);
    assert_string_equal(env_read(*state).cpu_cache, "32M");
    setenv("CUDA_HOME", "/usr/local/cuda-13.0", 1);
    assert_string_equal(env_read(*state).cuda_home, "/usr/local/cuda-13.0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_empty_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_logs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_log_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_log, setup, teardown),
        cmocka_unit_test_setup_teardown(test_store_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tools, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
