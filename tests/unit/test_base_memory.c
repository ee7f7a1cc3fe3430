/* test_base_memory.c: what is left of a machine's memory, and of a container's inside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/base.h"

static struct arena *a;
static char root[] = "/tmp/warpsmith-memory-XXXXXX";

/* A file below root, with its folders. */
static void put(const char *path, const char *text) {
    char *full = arena_printf(a, "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(full, 0700);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int setup(void **state) {
    a = arena_new();
    strcpy(root + strlen(root) - 6, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state) {
    int status = system(arena_printf(a, "rm -rf '%s'", root));
    arena_free(a);
    return status;
}

static void test_nobody_says(void **state) {
    assert_true(memory_available_in(root) == SIZE_MAX);
    assert_true(memory_available() > 0);
}

static void test_machine(void **state) {
    put("proc/meminfo", "MemTotal:       100 kB\nMemFree: 7 kB\nMemAvailable:    50 kB\n");
    assert_int_equal(memory_available_in(root), 50 * 1024);
}

static void test_version_2(void **state) {
    put("proc/meminfo", "MemAvailable:    50 kB\n");
    put("proc/self/cgroup", "0::/outer/inner\n");
    put("sys/fs/cgroup/outer/inner/memory.max", "max\n");
    put("sys/fs/cgroup/outer/inner/memory.current", "9000\n");
    put("sys/fs/cgroup/outer/memory.max", "20000\n"); /* the one around it is the narrower */
    put("sys/fs/cgroup/outer/memory.current", "15000\n");
    put("sys/fs/cgroup/outer/memory.stat", "anon 3000\ninactive_file 2000\n");
    assert_int_equal(memory_available_in(root), 7000);
    put("sys/fs/cgroup/outer/memory.current", "30000\n"); /* as happens when a limit is lowered */
    assert_int_equal(memory_available_in(root), 0);
}

static void test_version_1(void **state) {
    put("proc/meminfo", "MemAvailable:    50 kB\n");
    put("proc/self/cgroup", "4:memory:/job\n1:cpu:/\n0::/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "6000\n");
    put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000\n");
    assert_int_equal(memory_available_in(root), 5000);
}

/* A limit of the process itself; the one on what is resident Linux passes over. */
static void test_own_limits(void **state) {
#ifdef __SANITIZE_ADDRESS__ /* which maps more than any address space that is limited */
    static const int limits[] = {RLIMIT_RSS};
#else
    static const int limits[] = {RLIMIT_RSS, RLIMIT_AS};
#endif
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit before, less;
        assert_int_equal(getrlimit(limits[i], &before), 0);
        less = (struct rlimit){(rlim_t)1 << 44, before.rlim_max};
        if (before.rlim_max < less.rlim_cur) continue;
        assert_int_equal(setrlimit(limits[i], &less), 0);
        size_t much = memory_available();
        less.rlim_cur = limits[i] == RLIMIT_AS ? (rlim_t)1 << 20 : (rlim_t)1 << 12;
        assert_int_equal(setrlimit(limits[i], &less), 0);
        size_t nothing = memory_available();
        assert_int_equal(setrlimit(limits[i], &before), 0);
        assert_true(much > 0);
        assert_int_equal(nothing, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody_says, setup, teardown),
        cmocka_unit_test_setup_teardown(test_machine, setup, teardown),
        cmocka_unit_test_setup_teardown(test_version_2, setup, teardown),
        cmocka_unit_test(test_own_limits),
        cmocka_unit_test_setup_teardown(test_version_1, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
