/* device_isolation.c: a GPU in a process of its own: what breaks the context, or never ends, costs
 * one call.
 *
 *   device_isolation [cuda:0]
 *
 * An illegal access, a trap and a hang, each followed by a reset, a right result and a time. Exit
 * 0: all fine, 1: something is wrong, 3: no usable device. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"

static const char SOURCE[] =
    "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n"
    "extern \"C\" __global__ void wild(float *x) { x[(1ll << 42) + threadIdx.x] = 1; }\n"
    "extern \"C\" __global__ void trap(float *x) { asm volatile(\"trap;\"); }\n"
    "extern \"C\" __global__ void hang(volatile float *x) { while (x[0] != -1) x[1] += 1; }\n";

enum { N = 256 };

struct test {
    struct arena *arena;
    struct device *dev;
    struct compiled code;
    struct diag d;
    int failures;
};

static void check(struct test *t, bool ok, const char *what) {
    printf("%s %s%s%s\n", ok ? "ok   " : "FAIL ", what, t->d.text && !ok ? ": " : "",
           t->d.text && !ok ? t->d.text : "");
    t->failures += !ok;
    fflush(stdout);
}

/* Load, upload 0 1 2 ..., launch `entry`, and keep memory and module for who goes on. */
static enum ws_status launch(struct test *t, const char *entry, dptr *p, struct module **m) {
    float x[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    t->d = diag_new(t->arena);
    if (device_load(t->dev, t->code.binary, t->code.size, m, &t->d) != WS_OK ||
        device_alloc(t->dev, sizeof x, p, &t->d) != WS_OK ||
        device_upload(t->dev, *p, x, sizeof x, &t->d) != WS_OK)
        return t->d.status;
    struct launch l = {
        .module = *m, .entry = entry, .grid = {1, 1, 1}, .threads = N, .n_args = 1, .args = {p}};
    return device_run(t->dev, &l, 1, &t->d);
}

static void works(struct test *t) {
    struct module *m = NULL;
    dptr p = 0;
    float x[N] = {0};
    double us[8] = {0};
    bool ok = launch(t, "twice", &p, &m) == WS_OK &&
              device_download(t->dev, x, p, sizeof x, &t->d) == WS_OK;
    for (int i = 0; i < N; i++) ok &= x[i] == 2 * (float)i;
    check(t, ok, "a kernel is right");
    struct launch l = {
        .module = m, .entry = "twice", .grid = {1, 1, 1}, .threads = N, .n_args = 1, .args = {&p}};
    ok = m && device_time(t->dev, &l, 1, 8, true, us, NULL, &t->d) == WS_OK;
    for (int i = 0; i < 8; i++) ok &= us[i] > 0 && us[i] < 1000;
    check(t, ok, "and is timed");
    device_unload(t->dev, m);
    device_free(t->dev, p);
}

static void breaks(struct test *t, const char *entry, enum device_loss loss, double limit_ms) {
    struct module *m = NULL;
    dptr p = 0;
    device_limit(t->dev, limit_ms);
    bool failed = launch(t, entry, &p, &m) == WS_MACHINE;
    printf("      %s: %s", entry, t->d.text ? t->d.text : "nothing\n");
    check(t, failed && device_loss(t->dev) == loss, "it is lost as expected");
    device_limit(t->dev, INFINITY);
    double begun = clock_ms();
    t->d = diag_new(t->arena);
    check(t, device_reset(t->dev, &t->d) == WS_OK, "another process takes over");
    printf("      in %.0f ms\n", clock_ms() - begun);
    device_unload(t->dev, m);
    works(t);
}

int main(int argc, char **argv) {
    worker_main(argc - 1, argv + 1);
    struct test t = {.arena = arena_new()};
    struct env env = env_read(t.arena);
    struct toolchain *nvrtc;
    const char *why;
    t.d = diag_new(t.arena);
    if (device_open_isolated(argc > 1 ? argv[1] : "cuda:0", t.arena, &t.d, &t.dev, &why) != WS_OK ||
        toolchain_open_isolated(DEVICE_CUDA, device_limits(t.dev)->arch, &env, t.arena, &t.d,
                                &nvrtc) != WS_OK) {
        fputs(t.d.text, stderr);
        return 3;
    }
    puts(why);
    toolchain_compile(nvrtc, "isolation.cu", SOURCE, false, &t.code);
    check(&t, t.code.ok, "compile");
    if (t.code.ok) {
        works(&t);
        breaks(&t, "wild", DEVICE_POISONED, INFINITY);
        breaks(&t, "trap", DEVICE_POISONED, INFINITY);
        breaks(&t, "hang", DEVICE_HUNG, 3000);
    } else {
        fputs(t.code.log, stdout);
    }
    device_close(t.dev);
    toolchain_close(nvrtc);
    compiled_free(&t.code);
    arena_free(t.arena);
    return t.failures != 0;
}
