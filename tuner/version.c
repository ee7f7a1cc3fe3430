/* version.c: `warpsmith --version`.
 *
 *   warpsmith 0.2.0, revision 0cd4edbf1d02, built by gcc 12.2.0
 *   C compiler:  gcc (Debian 12.2.0-14+deb12u1) 12.2.0 -O3 -march=native
 *   NVRTC:       NVRTC 13.0.88
 *   GPU:         libcuda.so not found */
#include "tuner/version.h"

#include <string.h>

#include "ws_tune.h"

#ifndef WS_GIT_REV /* the Makefile says it */
#define WS_GIT_REV ""
#endif
const char *const version_revision = WS_GIT_REV;

/* What was found, or the first line of why nothing was. */
static void put_found(struct buf *b, const char *what, const char *found, const struct diag *d) {
    const char *text = found ? found : d->text;
    buf_printf(b, "%-12s %.*s\n", what, (int)strcspn(text, ";\n"), text);
}

static void put_toolchain(struct buf *b, const char *what, enum device_kind kind,
                          const struct env *env) {
    struct diag d = diag_new(b->arena);
    struct toolchain *t = NULL;
    toolchain_open(kind, "sm_90a", env, b->arena, &d, &t);
    put_found(b, what, t ? toolchain_version(t) : NULL, &d);
    if (t) toolchain_close(t);
}

static void put_gpu(struct buf *b, const struct env *env) {
    struct diag d = diag_new(b->arena);
    struct device *device = NULL;
    const char *why = NULL;
    device_open("cuda", env, b->arena, &d, &device, &why);
    const struct device_facts *f = device ? device_facts(device) : NULL;
    put_found(b, "GPU:",
              f ? arena_printf(b->arena, "%s, driver %s, timed by %s", f->name, f->driver, f->timer)
                : NULL,
              &d);
    if (device) device_close(device);
}

void version_print(struct buf *b) {
    struct env env = env_read(b->arena);
    buf_printf(b, "warpsmith %s%s%s, built by %s %s\n", WS_VERSION,
               *version_revision ? ", revision " : "", version_revision,
#ifdef __clang__
               "clang", __clang_version__
#else
               "gcc", __VERSION__
#endif
    );
    put_toolchain(b, "C compiler:", DEVICE_CPU, &env);
    put_toolchain(b, "NVRTC:", DEVICE_CUDA, &env);
    put_gpu(b, &env);
}
