/* Choosing a device, and what is said where there is none. Works with and without a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "runtime/vtable.h"

struct fixture {
    struct arena *arena;
    struct env env;
    struct diag diag;
};

static int setup(void **state) {
    static struct fixture f;
    f.arena = arena_new();
    f.env = env_read(f.arena);
    f.diag = diag_new(f.arena);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    arena_free(((struct fixture *)*state)->arena);
    return 0;
}

/* How many GPUs the driver shows, or -1 where there is no driver at all. */
static int gpus(struct fixture *f) {
    struct diag quiet = diag_new(f->arena);
    int count = 0;
    return cuda_count(&f->env, f->arena, &quiet, &count) == WS_OK ? count : -1;
}

static void test_unknown_names(void **state) {
    struct fixture *f = *state;
    static const char *const names[] = {"tpu",    "",        "cuda:",
                                        "cuda:x", "cuda:-1", "cuda:1x",
                                        "cuda0",  "cpu:0",   "cuda:99999999999999999999"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct diag d = diag_new(f->arena);
        struct device *dev = (struct device *)&d;
        const char *why = NULL;
        assert_int_equal(device_open(names[i], &f->env, f->arena, &d, &dev, &why), WS_USAGE);
        assert_null(dev);
        assert_non_null(strstr(d.text, arena_printf(f->arena, "unknown device '%s'", names[i])));
    }
}

static void test_no_driver_names_every_place(void **state) {
    struct fixture *f = *state;
    struct device *dev;
    const char *why;
    if (gpus(f) != -1) skip();
    f->env.cuda_home = "/somewhere/cuda";
    assert_int_equal(device_open("cuda:0", &f->env, f->arena, &f->diag, &dev, &why), WS_MACHINE);
    assert_null(dev);
    static const char *const said[] = {"libcuda.so.1", "/somewhere/cuda/lib64", "the loader's path",
                                       "/usr/local/cuda*/lib64", "/usr/lib/x86_64-linux-gnu"};
    for (unsigned i = 0; i < sizeof said / sizeof *said; i++)
        assert_non_null(strstr(f->diag.text, said[i]));
    /* Everybody may lie in wait in the current folder: no place depends on it. */
    for (const char *p = f->diag.text; (p = strstr(p, "\n    ")) != NULL;) {
        p += 5;
        if (*p != '/' && strncmp(p, "the loader's path", 17) != 0)
            fail_msg("looked in '%.*s'", (int)strcspn(p, "\n"), p);
    }
}

static void test_no_such_gpu(void **state) {
    struct fixture *f = *state;
    struct device *dev;
    const char *why;
    if (gpus(f) == -1) skip();
    assert_int_equal(device_open("cuda:1000", &f->env, f->arena, &f->diag, &dev, &why), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "no such GPU: cuda:1000"));
}

static void test_default_is_the_cpu_without_gpu(void **state) {
    struct fixture *f = *state;
    struct device *dev;
    const char *why;
    if (gpus(f) > 0) skip();
    assert_int_equal(device_open(NULL, &f->env, f->arena, &f->diag, &dev, &why), WS_OK);
    assert_string_equal(device_facts(dev)->id, "cpu");
    assert_non_null(strstr(why, "device cpu: "));
    assert_non_null(strstr(why, "default: no"));
    assert_null(strchr(why, '\n'));
    assert_int_equal(f->diag.status, WS_OK); /* looking for a GPU in vain is no error */
    device_close(dev);
}

static void test_why_may_be_null(void **state) {
    struct fixture *f = *state;
    struct device *dev;
    assert_int_equal(device_open("cpu", &f->env, f->arena, &f->diag, &dev, NULL), WS_OK);
    device_close(dev);
    device_close(NULL);
}

static void test_median(void **state) {
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};
    (void)state;
    assert_true(median(odd, 3) == 2);
    assert_true(median(even, 4) == 2.5);
    assert_true(median(one, 1) == 7);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_unknown_names),   TEST(test_no_driver_names_every_place),
        TEST(test_no_such_gpu),     TEST(test_default_is_the_cpu_without_gpu),
        TEST(test_why_may_be_null), TEST(test_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
