/* device_smoke.c: does the runtime work on this GPU? Run it first on a new machine.
 *
 *   device_smoke [cuda:0]
 *
 * Opens the device, compiles axpy with NVRTC, runs and checks it, times it with CUPTI against a
 * plausible floor, compares special values, measures the copy bandwidth, provokes launch errors
 * and, last, an illegal access and a reset. Every step prints what it saw. Exit 0: all fine, 1:
 * something is wrong, 3: no usable device. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/vtable.h"

static const char SOURCE[] =
    "extern \"C\" __global__ void axpy(float *y, const float *x, float a, long long n) {\n"
    "    long long i = blockIdx.x * 256ll + threadIdx.x;\n"
    "    if (i < n) y[i] += a * x[i];\n"
    "}\n"
    "extern \"C\" __global__ void shift(float *y, const float *x, long long n) {\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
    "    asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n"
    "#endif\n"
    "    long long i = blockIdx.x * 256ll + threadIdx.x;\n"
    "    float v;\n"
    "    if (i >= n) return;\n"
    "    asm volatile(\"ld.global.nc.f32 %0, [%1];\" : \"=f\"(v) : \"l\"(x + (i + 1) % n));\n"
    "    y[i] = v + 1;\n"
    "}\n"
    "extern \"C\" __global__ void big_smem(float *y) {\n"
    "    extern __shared__ float s[];\n"
    "    s[threadIdx.x] = y[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    y[threadIdx.x] = s[255 - threadIdx.x];\n"
    "}\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "extern \"C\" __global__ void __cluster_dims__(16, 1, 1) clustered(float *y) {\n"
    "    if (threadIdx.x == 0) y[blockIdx.x] = blockIdx.x;\n"
    "}\n"
    "#endif\n"
    "extern \"C\" __global__ void wild(float *y) { y[1ll << 40] = 1; }\n";

enum { SAMPLES = 20 };
static const int64_t N = 64 << 20; /* elements: 256 MiB each */

struct smoke {
    struct arena *arena;
    struct env env;
    struct device *dev;
    struct toolchain *nvrtc;
    struct module *m;
    dptr x, y;
    int failures;
};

/* One step's outcome. A failing status prints its message. */
static bool check(struct smoke *s, bool ok, const struct diag *d, const char *what) {
    printf("%s %s\n", ok ? "ok   " : "FAIL ", what);
    if (!ok && d && d->text) printf("      %s", d->text);
    if (!ok) s->failures++;
    fflush(stdout);
    return ok;
}

static struct diag fresh(struct smoke *s) { return diag_new(s->arena); }

static void print_device(struct smoke *s, const char *why) {
    const struct device_facts *f = device_facts(s->dev);
    const struct device_limits *l = device_limits(s->dev);
    struct health h;
    device_health(s->dev, &h);
    printf("      %s\n", why);
    printf("      facts: name '%s' driver '%s' timer '%s' id '%s' uuid '%s'\n", f->name, f->driver,
           f->timer, f->id, f->uuid);
    printf("      limits: %s units %d warp %d threads/block %d threads/unit %d blocks/unit %d regs "
           "%lld\n",
           l->arch, l->units, l->warp, l->max_threads_block, l->max_threads_unit,
           l->max_blocks_unit, (long long)l->regs_unit);
    printf("              smem/block %lld smem/unit %lld L2 %lld clock %.3f GHz peak %.0f GB/s f32 "
           "%.1f matrix %.0f\n",
           (long long)l->smem_block, (long long)l->smem_unit, (long long)l->l2_bytes, l->clock_ghz,
           l->peak_gbps, l->f32_tflops, l->matrix_tflops);
    printf("      health: clock %d MHz mem %d MHz temp %d C power %d W throttle %s (0x%llx)\n",
           h.clock_mhz, h.mem_clock_mhz, h.temp_c, h.power_w, h.throttle,
           (unsigned long long)h.throttle_bits);
}

static bool build(struct smoke *s) {
    struct diag d = fresh(s);
    struct compiled c;
    enum ws_status st =
        toolchain_open(DEVICE_CUDA, device_limits(s->dev)->arch, &s->env, s->arena, &d, &s->nvrtc);
    if (!check(s, st == WS_OK, &d, "open NVRTC")) return false;
    toolchain_compile(s->nvrtc, "smoke.cu", SOURCE, true, &c);
    printf("      %s, %zu bytes of cubin, %.1f ms\n", toolchain_version(s->nvrtc), c.size, c.ms);
    if (!check(s, c.ok, NULL, "compile")) printf("      %s\n", c.log);
    bool ok = c.ok && check(s, device_load(s->dev, c.binary, c.size, &s->m, &d) == WS_OK, &d,
                            "load the cubin");
    compiled_free(&c);
    return ok;
}

static bool make_data(struct smoke *s) {
    struct diag d = fresh(s);
    size_t bytes = (size_t)N * sizeof(float);
    float *host = malloc(bytes);
    bool ok = host && device_alloc(s->dev, bytes, &s->x, &d) == WS_OK &&
              device_alloc(s->dev, bytes, &s->y, &d) == WS_OK;
    for (int64_t i = 0; ok && i < N; i++) host[i] = (float)(i % 1021);
    ok = ok && device_upload(s->dev, s->x, host, bytes, &d) == WS_OK;
    ok = ok && device_fill(s->dev, s->y, 0, bytes, &d) == WS_OK;
    free(host);
    return check(s, ok && s->x % 256 == 0, &d, "allocate, upload, fill");
}

struct axpy {
    float a;
    int64_t n;
};

static struct launch axpy_launch(struct smoke *s, struct axpy *p) {
    return (struct launch){.module = s->m,
                           .entry = "axpy",
                           .grid = {(p->n + 255) / 256, 1, 1},
                           .threads = 256,
                           .n_args = 4,
                           .args = {&s->y, &s->x, &p->a, &p->n}};
}

static void run_and_check(struct smoke *s) {
    struct diag d = fresh(s);
    struct axpy p = {2, N};
    struct launch l[2] = {axpy_launch(s, &p), axpy_launch(s, &p)};
    struct mismatch r;
    float *host = malloc((size_t)N * sizeof(float));
    if (!check(s, host && device_run(s->dev, l, 2, &d) == WS_OK, &d, "run axpy twice")) {
        free(host);
        return;
    }
    bool ok = device_download(s->dev, host, s->y, (size_t)N * sizeof(float), &d) == WS_OK;
    for (int64_t i = 0; ok && i < N; i++) ok = host[i] == 4.0f * (float)(i % 1021);
    free(host);
    check(s, ok, &d, "y == 4 x");
    /* As doubles, which references are: pairs of neighbours, of which no two are 0. */
    ok = device_compare(s->dev, s->y, DT_F64, s->y, N / 2, 0, &r, &d) == WS_OK && r.bad == 0 &&
         r.worst == 0;
    check(s, ok, &d, "compare with itself");
    ok = device_compare(s->dev, s->y, DT_F64, s->x, N / 2, 0, &r, &d) == WS_OK;
    printf("      against x: %lld bad of %lld, worst at %lld: got %g want %g\n", (long long)r.bad,
           (long long)N / 2, (long long)r.worst, r.got, r.want);
    check(s, ok && r.bad == N / 2, &d, "compare counts every difference");

    struct function_facts f;
    ok = device_function_facts(s->dev, s->m, "axpy", 256, 0, &f, &d) == WS_OK;
    printf("      axpy: %d registers, %d bytes spilled, %d blocks a multiprocessor\n", f.regs,
           f.spill_bytes, f.blocks_per_unit);
    check(s, ok && f.regs > 0 && f.spill_bytes == 0 && f.blocks_per_unit > 0, &d, "function facts");
}

/* Launches that overlap, each of which reads what the one before has written, through the path for
 * memory that does not change: nothing of it may be an older value. */
static void run_overlapping(struct smoke *s) {
    enum { STEPS = 200, ELEMENTS = 1 << 18 };
    struct diag d = fresh(s);
    struct launch l[STEPS];
    int64_t n = ELEMENTS;
    float *host = malloc(sizeof *host * ELEMENTS);
    for (int i = 0; i < STEPS; i++)
        l[i] = (struct launch){.module = s->m,
                               .entry = "shift",
                               .grid = {ELEMENTS / 256, 1, 1},
                               .threads = 256,
                               .overlaps = true,
                               .n_args = 3,
                               .args = {i % 2 ? &s->x : &s->y, i % 2 ? &s->y : &s->x, &n}};
    for (int i = 0; host && i < ELEMENTS; i++) host[i] = (float)i;
    bool ok = host && device_upload(s->dev, s->x, host, sizeof *host * ELEMENTS, &d) == WS_OK &&
              device_run(s->dev, l, STEPS, &d) == WS_OK &&
              device_download(s->dev, host, s->x, sizeof *host * ELEMENTS, &d) == WS_OK;
    for (int i = 0; ok && i < ELEMENTS; i++)
        ok = host[i] == (float)((i + STEPS) % ELEMENTS + STEPS);
    free(host);
    check(s, ok, &d, "200 launches that overlap, each reading what the one before wrote");

    enum { TIMED = 10 };
    double us[TIMED * SAMPLES];
    struct sample_extra extra[SAMPLES];
    for (int overlaps = 1; ok && overlaps >= 0; overlaps--) {
        for (int i = 0; i < TIMED; i++) l[i].overlaps = overlaps;
        ok = device_time(s->dev, l, TIMED, SAMPLES, true, us, extra, &d) == WS_OK;
        printf("      10 of them, us from start to end, %s:", overlaps ? "overlapping" : "apart");
        for (int i = 0; ok && i < SAMPLES; i += 4) printf(" %.2f", extra[i].span_us);
        printf("\n");
    }
    check(s, ok, &d, "time launches that overlap");
}

/* No faster than the memory and not absurdly slow; a driver that does not tell the memory's clock
 * settles nothing. */
static bool plausible(double rate, double peak) {
    return rate > 0 && isfinite(rate) && (peak == 0 || (rate > 0.3 * peak && rate < 1.1 * peak));
}

static void time_and_check(struct smoke *s, bool flush) {
    struct diag d = fresh(s);
    struct axpy p = {0.5f, N}, small = {0.5f, 1 << 20};
    struct launch l[2] = {axpy_launch(s, &p), axpy_launch(s, &small)};
    double us[2 * SAMPLES], big[SAMPLES], little[SAMPLES];
    struct sample_extra extra[SAMPLES];
    enum ws_status st = device_time(s->dev, l, 2, SAMPLES, flush, us, extra, &d);
    if (!check(s, st == WS_OK, &d, flush ? "time, L2 flushed" : "time, L2 warm")) return;
    for (int i = 0; i < SAMPLES; i++) big[i] = us[2 * i], little[i] = us[2 * i + 1];
    printf("      axpy 256 MiB, us:");
    for (int i = 0; i < SAMPLES; i++) printf(" %.2f", big[i]);
    printf("\n      axpy 4 MiB, us:");
    for (int i = 0; i < SAMPLES; i++) printf(" %.2f", little[i]);
    printf("\n      host, us:");
    for (int i = 0; i < SAMPLES; i++) printf(" %.1f", extra[i].host_us);
    int queued = 0;
    for (int i = 0; i < SAMPLES; i++) queued += extra[i].queued;
    printf("\n      submitted before they began: %d of %d", queued, SAMPLES);
    double t = median(big, SAMPLES), rate = 3.0 * (double)N * 4 / (t * 1e3);
    double peak = device_limits(s->dev)->peak_gbps;
    printf("\n      median %.2f us = %.0f GB/s; small %.2f us\n", t, rate, median(little, SAMPLES));
    check(s, plausible(rate, peak), NULL, "bandwidth is plausible");
}

/* One element of each kind of trouble, in every floating type. */
static void compare_special(struct smoke *s) {
    static const enum dtype types[] = {DT_F16, DT_BF16, DT_F32, DT_F64};
    static const float got[] = {1, 1, NAN, NAN, 1, INFINITY, -INFINITY, 1, 0};
    static const double want[] = {1, 1.5, NAN, 1, NAN, INFINITY, INFINITY, INFINITY, 0};
    enum { COUNT = sizeof got / sizeof *got };
    float bound[COUNT];
    for (int i = 0; i < COUNT; i++) bound[i] = 0.2f;
    dptr bounds = s->x + 1024;
    struct diag d = fresh(s);
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++) {
        unsigned char bytes[COUNT * 8];
        struct mismatch r = {0};
        for (int i = 0; i < COUNT; i++) dtype_store(types[t], bytes, (size_t)i, got[i]);
        bool ok = device_upload(s->dev, s->y, bytes, sizeof bytes, &d) == WS_OK &&
                  device_upload(s->dev, s->x, want, sizeof want, &d) == WS_OK &&
                  device_upload(s->dev, bounds, bound, sizeof bound, &d) == WS_OK &&
                  device_compare(s->dev, s->y, types[t], s->x, COUNT, bounds, &r, &d) == WS_OK;
        check(s, ok && r.bad == 5 && r.worst == 3, &d,
              arena_printf(s->arena, "compare NaN and inf in %s: %lld bad, worst %lld",
                           dtype_name(types[t]), (long long)r.bad, (long long)r.worst));
    }
}

/* What doubles take for equal is not. */
/* The first of many pieces that is not all of one byte, wherever they begin. */
static void find_changed(struct smoke *s) {
    enum { PIECES = 5000, EACH = 1024 };
    struct diag d = fresh(s);
    dptr *at = NEW_ARRAY(s->arena, dptr, PIECES);
    int first = 0;
    for (int i = 0; i < PIECES; i++) at[i] = s->x + (dptr)i * (EACH + 7) + 3;
    bool ok = device_fill(s->dev, s->x, 0xa5, PIECES * (EACH + 7) + 3, &d) == WS_OK &&
              device_find_changed(s->dev, at, PIECES, EACH, 0xa5, &first, &d) == WS_OK;
    check(s, ok && first == -1, &d, "no piece has changed");
    ok = device_fill(s->dev, at[4321] + EACH, 0, 7, &d) == WS_OK &&
         device_find_changed(s->dev, at, PIECES, EACH, 0xa5, &first, &d) == WS_OK;
    check(s, ok && first == -1, &d, "what lies between pieces does not matter");
    ok = device_fill(s->dev, at[4321] + EACH - 1, 0, 1, &d) == WS_OK &&
         device_fill(s->dev, at[4999], 0xa4, 1, &d) == WS_OK &&
         device_find_changed(s->dev, at, PIECES, EACH, 0xa5, &first, &d) == WS_OK;
    check(s, ok && first == 4321, &d, "the first piece that has changed is found");
}

static void compare_integers(struct smoke *s) {
    static const int64_t got[] = {INT64_MAX, INT64_MIN, (1ll << 53) + 1, -1};
    static const int64_t want[] = {INT64_MAX, INT64_MIN, 1ll << 53, -1};
    struct diag d = fresh(s);
    struct mismatch r = {0};
    bool ok = device_upload(s->dev, s->y, got, sizeof got, &d) == WS_OK &&
              device_upload(s->dev, s->x, want, sizeof want, &d) == WS_OK &&
              device_compare(s->dev, s->y, DT_I64, s->x, 4, 0, &r, &d) == WS_OK;
    check(s, ok && r.bad == 1 && r.worst == 2 && r.got_int == got[2] && r.want_int == want[2], &d,
          "compare integers beyond 2^53");
}

/* An error that must not cost us the device. */
static void refused(struct smoke *s, enum ws_status st, const struct diag *d, const char *what) {
    check(s, st == WS_MACHINE && !device_is_lost(s->dev), NULL, what);
    printf("      %s", d->text ? d->text : "no message\n");
}

static void provoke(struct smoke *s) {
    struct axpy p = {1, 1};
    struct launch l = axpy_launch(s, &p);
    unsigned char junk[4096] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    struct module *m;
    dptr q;
    struct diag d = fresh(s);
    l.entry = "no_such_kernel";
    refused(s, device_run(s->dev, &l, 1, &d), &d, "a missing entry is an error");
    d = fresh(s);
    l = axpy_launch(s, &p);
    l.smem = 10 << 20;
    refused(s, device_run(s->dev, &l, 1, &d), &d, "too much shared memory is an error");
    d = fresh(s);
    refused(s, device_alloc(s->dev, (size_t)1 << 46, &q, &d), &d, "too much memory is an error");
    d = fresh(s);
    refused(s, device_load(s->dev, junk, sizeof junk, &m, &d), &d, "a bad cubin is an error");
}

/* What needs an attribute of the function to be launched at all. */
static void opt_in(struct smoke *s) {
    struct diag d = fresh(s);
    struct launch l = {.module = s->m,
                       .entry = "big_smem",
                       .grid = {1, 1, 1},
                       .threads = 256,
                       .smem = (int)device_limits(s->dev)->smem_block,
                       .n_args = 1,
                       .args = {&s->y}};
    check(s, device_run(s->dev, &l, 1, &d) == WS_OK, &d, "the opt-in limit of shared memory");
    const char *arch =
        device_limits(s->dev)->arch; /* clusters this large: data-centre parts only */
    if (strncmp(arch, "sm_9", 4) != 0 && strncmp(arch, "sm_10", 5) != 0) return;
    d = fresh(s);
    l.entry = "clustered";
    l.smem = 0;
    l.grid[0] = 16;
    check(s, device_run(s->dev, &l, 1, &d) == WS_OK, &d, "a cluster of 16 blocks");
}

static void lose_and_reset(struct smoke *s) {
    struct diag d = fresh(s);
    struct axpy p = {1, 1};
    struct launch l = {.module = s->m,
                       .entry = "wild",
                       .grid = {1, 1, 1},
                       .threads = 1,
                       .n_args = 1,
                       .args = {&s->y}};
    check(s, device_run(s->dev, &l, 1, &d) == WS_MACHINE && device_is_lost(s->dev), NULL,
          "an illegal access loses the device");
    printf("      %s", d.text ? d.text : "no message\n");
    d = fresh(s);
    check(s, device_fill(s->dev, s->y, 0, 4, &d) == WS_MACHINE, NULL, "a lost device refuses work");
    printf("      %s", d.text ? d.text : "no message\n");

    d = fresh(s);
    if (device_reset(s->dev, &d) !=
        WS_OK) { /* the driver may refuse: that is an answer, not a failure of ours */
        printf("note  the device cannot be reset in this process: %s",
               d.text ? d.text : "no message\n");
        return;
    }
    check(s, !device_is_lost(s->dev), NULL, "reset");
    l = axpy_launch(s, &p);
    check(s, device_run(s->dev, &l, 1, &d) == WS_MACHINE && !device_is_lost(s->dev), NULL,
          "a module from before the reset is refused");
    device_unload(s->dev, s->m);
    s->m = NULL;
    if (!build(s) || !make_data(s)) return;
    run_and_check(s);
    time_and_check(s, true);
}

static void measure_copy(struct smoke *s) {
    struct diag d = fresh(s);
    double gbps = 0, peak = device_limits(s->dev)->peak_gbps;
    enum ws_status st = device_copy_gbps(s->dev, &gbps, &d);
    printf("      copy %.0f GB/s, %.0f%% of the peak\n", gbps, peak ? 100 * gbps / peak : 0);
    check(s, st == WS_OK && plausible(gbps, peak), &d, "copy bandwidth");
}

int main(int argc, char **argv) {
    struct smoke s = {.arena = arena_new()};
    const char *why = "";
    s.env = env_read(s.arena);
    struct diag d = fresh(&s);
    if (device_open(argc > 1 ? argv[1] : "cuda:0", &s.env, s.arena, &d, &s.dev, &why) != WS_OK) {
        printf("no device: %s", d.text);
        arena_free(s.arena);
        return WS_MACHINE;
    }
    if (device_limits(s.dev)->kind != DEVICE_CUDA) {
        printf("%s is no GPU\n", device_facts(s.dev)->id);
        return WS_USAGE;
    }
    print_device(&s, why);
    if (build(&s) && make_data(&s)) {
        run_and_check(&s);
        time_and_check(&s, true);
        time_and_check(&s, false);
        compare_special(&s);
        find_changed(&s);
        compare_integers(&s);
        measure_copy(&s);
        run_overlapping(&s);
        opt_in(&s);
        provoke(&s);
        print_device(&s, why);
        lose_and_reset(&s);
    }
    device_close(s.dev);
    printf("%s: %d failures\n", s.failures ? "FAILED" : "PASSED", s.failures);
    arena_free(s.arena);
    return s.failures ? WS_WRONG : WS_OK;
}
