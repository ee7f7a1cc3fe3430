/* nvrtc.c: CUDA C -> cubin through NVRTC. Needs no driver and no GPU.
 *
 *   toolchain_open(DEVICE_CUDA, "sm_90a")
 *       compiles one empty kernel: proves that the architecture is known, wakes NVRTC up (20-30 ms
 *       once a process), reads the exact version from the PTX header (nvrtcVersion tells 13.0 only)
 *   toolchain_compile
 *       one compile for a real architecture gives cubin and PTX both
 *
 * Thread-safe: programs are independent and the toolchain is read-only after it is opened. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

struct nvrtc_toolchain {
    struct toolchain base;
    struct nvrtc_api api;
    char arch_option[64]; /* "--gpu-architecture=sm_90a" */
};

#define OPTIONS "-default-device", "--std=c++17", "--fmad=true"

static void set_log(struct compiled *out, const char *text) {
    free(out->log);
    out->log = strdup(text ? text : "");
    WS_ASSERT(out->log);
}

/* "C7510: Potential Performance Loss: wgmma.mma_async instructions are serialized ..." */
static bool says_serialized(const char *log) {
    for (const char *p = log; (p = strstr(p, "C75")); p += 3)
        if (isdigit((unsigned char)p[3]) && isdigit((unsigned char)p[4]) &&
            (p == log || !isalnum((unsigned char)p[-1])))
            return true;
    return false;
}

static void read_log(const struct nvrtc_api *api, nvrtc_program p, struct compiled *out) {
    size_t n = 0;
    if (api->log_size(p, &n) != NVRTC_OK || n <= 1) return set_log(out, "");
    free(out->log);
    out->log = calloc(1, n + 1);
    WS_ASSERT(out->log);
    if (api->log(p, out->log) != NVRTC_OK) out->log[0] = 0;
}

static nvrtc_status read_cubin(const struct nvrtc_api *api, nvrtc_program p, struct compiled *out) {
    nvrtc_status s = api->cubin_size(p, &out->size);
    if (s != NVRTC_OK || !out->size) return s;
    out->binary = malloc(out->size);
    WS_ASSERT(out->binary);
    return api->cubin(p, (char *)out->binary);
}

static nvrtc_status read_ptx(const struct nvrtc_api *api, nvrtc_program p, struct compiled *out) {
    size_t n = 0;
    nvrtc_status s = api->ptx_size(p, &n);
    if (s != NVRTC_OK || !n) return s;
    out->ptx = calloc(1, n + 1);
    WS_ASSERT(out->ptx);
    return api->ptx(p, out->ptx);
}

static void nvrtc_compile(struct toolchain *base, const char *name, const char *source,
                          bool want_ptx, struct compiled *out) {
    struct nvrtc_toolchain *t = (struct nvrtc_toolchain *)base;
    const char *options[] = {t->arch_option, OPTIONS};
    nvrtc_program p = NULL;
    nvrtc_status s = t->api.create(&p, source, name, 0, NULL, NULL);
    if (s == NVRTC_OK) {
        s = t->api.compile(p, sizeof options / sizeof *options, options);
        read_log(&t->api, p, out);
        out->serialized = says_serialized(out->log);
        if (s == NVRTC_OK) s = read_cubin(&t->api, p, out);
        if (s == NVRTC_OK && want_ptx) s = read_ptx(&t->api, p, out);
        t->api.destroy(&p);
    }
    out->ok = s == NVRTC_OK && out->size > 0;
    if (!out->ok && (!out->log || !*out->log))
        set_log(out, s == NVRTC_OK ? "NVRTC made no cubin: the architecture is a virtual one"
                                   : t->api.error_string(s));
}

static const struct toolchain_ops ops = {.compile = nvrtc_compile};

/* "sm_90a", "sm_103f": what may follow --gpu-architecture= to give machine code. */
static bool is_real_arch(const char *arch) {
    size_t n = strlen(arch);
    if (n < 5 || n > 23 || strncmp(arch, "sm_", 3) != 0) return false;
    size_t digits = strspn(arch + 3, "0123456789");
    const char *suffix = arch + 3 + digits;
    return digits >= 2 && (!*suffix || ((*suffix == 'a' || *suffix == 'f') && !suffix[1]));
}

/* "13.0.88" out of "// Cuda compilation tools, release 13.0, V13.0.88"; major.minor if the header
 * is not there. */
static const char *read_version(struct nvrtc_toolchain *t, const char *ptx, struct arena *a) {
    int major = 0, minor = 0;
    const char *line = ptx ? strstr(ptx, "release ") : NULL;
    const char *v = line ? strstr(line, ", V") : NULL;
    if (v && isdigit((unsigned char)v[3])) {
        size_t n = strspn(v + 3, "0123456789.");
        return arena_printf(a, "NVRTC %.*s", (int)n, v + 3);
    }
    t->api.version(&major, &minor);
    return arena_printf(a, "NVRTC %d.%d", major, minor);
}

enum ws_status cuda_toolchain_open(const char *arch, const struct env *env, struct arena *a,
                                   struct diag *d, struct toolchain **out) {
    if (!arch || !is_real_arch(arch))
        return diag_fail(d, WS_USAGE, "unknown GPU architecture '%s': expected one like %s",
                         arch ? arch : "", device_arch_names());
    struct nvrtc_toolchain *t = NEW(a, struct nvrtc_toolchain);
    double begun = clock_ms();
    t->base.ops = &ops;
    if (nvrtc_api_open(&t->api, env, a, d) != WS_OK) return d->status;
    stage_log(env->logs, "NVRTC: load", begun);
    snprintf(t->arch_option, sizeof t->arch_option, "--gpu-architecture=%s", arch);

    static const char *const options[] = {OPTIONS};
    struct buf settings = buf_new(a);
    buf_puts(&settings, t->arch_option);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        buf_printf(&settings, " %s", options[i]);
    t->base.settings = settings.p;

    struct compiled probe = {0};
    nvrtc_compile(&t->base, "probe.cu", "extern \"C\" __global__ void probe() {}\n", true, &probe);
    t->base.version = read_version(t, probe.ptx, a);
    if (!probe.ok)
        diag_fail(d, WS_MACHINE, "%s cannot compile for %s: %s", t->base.version, arch, probe.log);
    compiled_free(&probe);
    if (d->status == WS_OK) *out = &t->base;
    return d->status;
}
