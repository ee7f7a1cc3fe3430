/* cuda_fixture.h: a device of the fake driver (fake_cuda.c), for the tests of runtime/cuda/. */
#ifndef WS_CUDA_FIXTURE_H
#define WS_CUDA_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "tests/unit/fake_cuda.h"

static const char *const NAMES[] = {"libcuda.so.1", "libcupti.so.13", "libnvrtc.so.13",
                                    "libnvidia-ml.so.1"};
enum { N_NAMES = sizeof NAMES / sizeof *NAMES };

/* The fake toolkit, built once: a folder with lib64/ and one object under four names. */
struct toolkit {
    char home[64];
    struct fake *fake;
};

struct fixture {
    struct toolkit *kit;
    struct arena *arena;
    struct env env;
    struct diag diag;
    struct device *dev;
};

static const char *lib_path(struct arena *a, const struct toolkit *kit, const char *name) {
    return arena_printf(a, "%s/lib64/%s", kit->home, name);
}

static void write_file(const char *path, const void *p, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void build_fake(struct toolkit *kit, struct arena *a) {
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct toolchain *cc = NULL;
    struct compiled c;
    const struct source *source = source_read(a, "tests/unit/fake_cuda.c", &d);
    char here[4096]; /* the compiler runs elsewhere */
    assert_non_null(getcwd(here, sizeof here));
    env.cc = arena_printf(a, "%s -I%s -I%s/compiler", env.cc, here, here);
    if (!source || toolchain_open(DEVICE_CPU, NULL, &env, a, &d, &cc) != WS_OK)
        fail_msg("%s", d.text);
    toolchain_compile(cc, "fake_cuda.c", source->text, false, &c);
    if (!c.ok) fail_msg("%s", c.log);
    write_file(lib_path(a, kit, NAMES[0]), c.binary, c.size);
    compiled_free(&c);
    for (int i = 1; i < N_NAMES; i++)
        assert_int_equal(symlink(NAMES[0], lib_path(a, kit, NAMES[i])), 0);
}

static int make_toolkit(void **state) {
    static struct toolkit kit;
    struct arena *a = arena_new();
    snprintf(kit.home, sizeof kit.home, P_tmpdir "/fake-cuda-XXXXXX");
    assert_non_null(mkdtemp(kit.home));
    assert_int_equal(mkdir(arena_printf(a, "%s/lib64", kit.home), 0700), 0);
    build_fake(&kit, a);
    void *handle = dlopen(lib_path(a, &kit, NAMES[0]), RTLD_NOW);
    if (!handle) fail_msg("%s", dlerror());
    void *p = dlsym(handle, "fake");
    struct fake *(*fake)(void);
    assert_non_null(p);
    memcpy(&fake, &p, sizeof p);
    kit.fake = fake();
    *state = &kit;
    arena_free(a);
    return 0;
}

static int remove_toolkit(void **state) {
    struct toolkit *kit = *state;
    struct arena *a = arena_new();
    for (int i = 0; i < N_NAMES; i++) unlink(lib_path(a, kit, NAMES[i]));
    rmdir(arena_printf(a, "%s/lib64", kit->home));
    rmdir(kit->home);
    arena_free(a);
    return 0;
}

static struct fixture fixture;

static int setup(void **state) {
    struct fixture *f = &fixture;
    *f = (struct fixture){.kit = *state, .arena = arena_new()};
    *f->kit->fake = (struct fake){.gpus = 2, .major = 9};
    f->env = env_read(f->arena);
    f->env.cuda_home = f->kit->home;
    f->diag = diag_new(f->arena);
    *state = f;
    return 0;
}

/* Whatever a test did, closing leaves nothing behind in the driver. */
static int teardown(void **state) {
    struct fixture *f = *state;
    device_close(f->dev);
    struct fake *fake = f->kit->fake;
    int left = fake->contexts || fake->subscriptions || fake->leaked || fake->profilers ||
               fake->hosts || fake->misused;
    arena_free(f->arena);
    *state = f->kit;
    return left ? -1 : 0;
}

static void open_device(struct fixture *f) {
    const char *why;
    if (device_open("cuda:1", &f->env, f->arena, &f->diag, &f->dev, &why) != WS_OK)
        fail_msg("%s", f->diag.text);
}

__attribute__((unused)) static struct module *load(struct fixture *f) {
    unsigned char image[128] = {0x7f, 'E', 'L', 'F'};
    struct module *m = NULL;
    assert_int_equal(device_load(f->dev, image, sizeof image, &m, &f->diag), WS_OK);
    return m;
}

__attribute__((unused)) static struct launch launch(struct module *m, const char *entry) {
    return (struct launch){.module = m, .entry = entry, .grid = {4, 1, 1}, .threads = 256};
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
