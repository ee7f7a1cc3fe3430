/* device_counters.c: do the hardware counters say what kernels with a known answer do?
 *
 *   device_counters [cuda:0]
 *
 * A copy moves what it copies and spills nothing; a kernel of exponentials keeps the
 * special-function pipe busy; one with an array indexed at run time has local memory; a column of
 * shared memory has bank conflicts. Times are taken before, between and after. Exit 0: all fine, 1:
 * something is wrong, 3: no usable device, or no permission to count. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/cuda_device.h"

static const char SOURCE[] =
    "typedef long long i64;\n"
    "extern \"C\" __global__ void copy(float4 *y, const float4 *x, i64 n) {\n"
    "    for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) y[i] = "
    "x[i];\n"
    "}\n"
    "extern \"C\" __global__ void stay(float4 *y, const float4 *x, i64 n) {\n"
    "    i64 last;\n"
    "    asm(\"createpolicy.fractional.L2::evict_last.b64 %0;\" : \"=l\"(last));\n"
    "    float v, sum = 0;\n"
    "    for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {\n"
    "        asm volatile(\"ld.global.L2::cache_hint.f32 %0, [%1], %2;\" : \"=f\"(v) : \"l\"(x + "
    "i), \"l\"(last));\n"
    "        sum += v;\n"
    "    }\n"
    "    y[blockIdx.x * 256ll + threadIdx.x].x = sum;\n"
    "}\n"
    "extern \"C\" __global__ void exps(float4 *y, const float4 *x, i64 n) {\n"
    "    float v = x[threadIdx.x].x;\n"
    "    for (int i = 0; i < 2000; i++) asm volatile(\"ex2.approx.ftz.f32 %0, %0;\" : \"+f\"(v));\n"
    "    y[blockIdx.x * 256ll + threadIdx.x].x = v;\n"
    "}\n"
    "extern \"C\" __global__ void local(float4 *y, const float4 *x, i64 n) {\n"
    "    float a[64];\n"
    "    for (int i = 0; i < 64; i++) a[i] = x[i + threadIdx.x].x;\n"
    "    float v = 0;\n"
    "    for (int i = 0; i < 64; i++) v += a[((int)x[i].y + i * 7) & 63];\n"
    "    y[blockIdx.x * 256ll + threadIdx.x].x = v;\n"
    "}\n"
    "extern \"C\" __global__ void column(float4 *y, const float4 *x, i64 n) {\n"
    "    __shared__ float s[32 * 256];\n"
    "    for (int i = 0; i < 32; i++) s[i * 256 + threadIdx.x] = x[i].x;\n"
    "    __syncthreads();\n"
    "    float v = 0;\n"
    "    for (int i = 0; i < 32; i++) v += s[threadIdx.x * 32 + i];\n"
    "    y[blockIdx.x * 256ll + threadIdx.x].x = v;\n"
    "}\n";

static const int64_t BYTES = (int64_t)2 << 30; /* much more than an L2: what stays in it is small */

struct test {
    struct arena *arena;
    struct device *dev;
    struct module *m;
    dptr x, y;
    int64_t n;
    int failures;
};

static bool check(struct test *t, bool ok, const char *what) {
    printf("%s %s\n", ok ? "ok   " : "FAIL ", what);
    if (!ok) t->failures++;
    fflush(stdout);
    return ok;
}

/* Unknown counters settle nothing: another chip may not have them. */
static bool within(double v, double least, double most) {
    return isnan(v) || (v >= least && v <= most);
}

static struct launch launch_of(struct test *t, const char *entry, int64_t blocks) {
    return (struct launch){.module = t->m,
                           .entry = entry,
                           .grid = {blocks, 1, 1},
                           .threads = 256,
                           .n_args = 3,
                           .args = {&t->y, &t->x, &t->n}};
}

static void print_counters(const char *entry, const struct counters *c, double ms) {
    printf("      %s, counted in %.1f ms:\n     ", entry, ms);
#define C(name, how) printf(" %s %.6g", #name, c->name);
    COUNTERS(C)
#undef C
    printf("\n      pipes:");
    for (int i = 0; i < N_PIPES; i++) printf(" %s %.2f", counter_pipe_name(i), c->pipe_pct[i]);
    printf("\n      stalls:");
    for (int i = 0; i < N_STALLS; i++) printf(" %s %.2f", counter_stall_name(i), c->stall_pct[i]);
    printf("\n");
}

static enum ws_status count(struct test *t, const char *entry, int64_t blocks, struct counters *c) {
    struct diag d = diag_new(t->arena);
    struct launch l = launch_of(t, entry, blocks);
    double begun = clock_ms();
    if (device_count(t->dev, &l, 1, c, &d) != WS_OK) {
        printf("      %s", d.text);
        return d.status;
    }
    print_counters(entry, c, clock_ms() - begun);
    /* Each stall is counted in one of several passes, which are not alike to the cycle. */
    double shares = 0;
    for (int i = 0; i < N_STALLS; i++) shares += isnan(c->stall_pct[i]) ? 0 : c->stall_pct[i];
    check(t, within(c->occupancy, 0.001, 1.001), "occupancy is a fraction");
    check(t, within(c->l2_hit_pct, 0, 100) && within(c->issue_pct, 0, 100), "shares are percent");
    check(t, within(shares, 0.1, 110), "the stalls are shares of one whole");
    check(t, c->cycles > 0, "it took cycles");
    return WS_OK;
}

static void time_copy(struct test *t) {
    struct diag d = diag_new(t->arena);
    struct launch l = launch_of(t, "copy", device_limits(t->dev)->units * 8);
    double us[10];
    bool ok = device_time(t->dev, &l, 1, 10, true, us, NULL, &d) == WS_OK;
    if (ok) printf("      copy: %.1f us\n", median(us, 10));
    if (!check(t, ok, "time the copy")) printf("      %s", d.text);
}

static enum ws_status count_copy(struct test *t) {
    struct counters c;
    double bytes = (double)t->n * 16;
    int64_t blocks = device_limits(t->dev)->units * 8;
    if (count(t, "copy", blocks, &c) != WS_OK) return WS_MACHINE;
    printf("      read %.4f, written %.4f of what is copied\n", c.dram_read_bytes / bytes,
           c.dram_write_bytes / bytes);
    check(t, within(c.dram_read_bytes, 0.95 * bytes, 1.05 * bytes), "bytes read within 5 %");
    check(t, within(c.dram_write_bytes, 0.95 * bytes, 1.05 * bytes), "bytes written within 5 %");
    check(t, within(c.occupancy, 0.5, 1.001), "2048 threads are resident most of the time");
    check(t, within(c.local_bytes, 0, 0), "nothing is spilled");
    check(t, counters_top_stall(&c) == STALL_long_scoreboard || isnan(c.stall_pct[0]),
          "a copy waits for memory");
    return WS_OK;
}

/* What one kernel has asked to stay in the L2 is not there for the next one that is looked at. */
static void count_after_stay(struct test *t) {
    struct diag d = diag_new(t->arena);
    struct counters c;
    int64_t blocks = device_limits(t->dev)->units * 8, all = t->n;
    t->n = (16 << 20) / 16; /* less than an L2 */
    struct launch l = launch_of(t, "stay", blocks);
    bool ran = device_run(t->dev, &l, 1, &d) == WS_OK && device_run(t->dev, &l, 1, &d) == WS_OK;
    if (check(t, ran, "read what is to stay") && count(t, "copy", blocks, &c) == WS_OK)
        check(t, within(c.dram_read_bytes, 0.95 * (double)t->n * 16, INFINITY),
              "what was to stay in the L2 is read again");
    t->n = all;
}

/* How long it takes: the first after a time enables the profiler, each launch takes its passes. */
static void cost_of_counting(struct test *t) {
    struct diag d = diag_new(t->arena);
    int64_t blocks = device_limits(t->dev)->units * 8;
    struct launch l[3];
    struct counters c[3];
    for (int i = 0; i < 3; i++) l[i] = launch_of(t, "column", blocks);
    for (int n = 1; n <= 3; n++) {
        double begun = clock_ms();
        bool ok = device_count(t->dev, l, n, c, &d) == WS_OK;
        printf("      %d launches counted in %.1f ms\n", n, clock_ms() - begun);
        check(t, ok && c[n - 1].cycles > 0, "count several");
    }
    struct buf b = buf_new(t->arena);
    profiler_put_costs((struct cuda_device *)t->dev, &b);
    printf("      CUPTI took: %s\n", b.n ? b.p : "nothing");
}

static void count_others(struct test *t) {
    struct counters c;
    int64_t blocks = device_limits(t->dev)->units * 8;
    if (check(t, count(t, "exps", blocks, &c) == WS_OK, "count exps")) {
        check(t, counters_busiest_pipe(&c) == PIPE_xu && c.pipe_pct[PIPE_xu] > 50,
              "exponentials keep the special-function pipe busy");
        check(t, within(c.dram_read_bytes, 0, 4e6), "and read nothing");
    }
    if (check(t, count(t, "local", blocks, &c) == WS_OK, "count local"))
        check(t, !(c.local_bytes < 256 * 64 * 4), "an array indexed at run time is local memory");
    if (check(t, count(t, "column", blocks, &c) == WS_OK, "count column"))
        check(t, !(c.bank_conflicts < 1000), "a column of shared memory has bank conflicts");
}

static bool prepare(struct test *t, const struct env *env) {
    struct diag d = diag_new(t->arena);
    struct toolchain *nvrtc;
    struct compiled c = {0};
    t->n = BYTES / 16;
    if (toolchain_open(DEVICE_CUDA, device_limits(t->dev)->arch, env, t->arena, &d, &nvrtc) ==
        WS_OK)
        toolchain_compile(nvrtc, "counters.cu", SOURCE, false, &c);
    bool ok = c.ok && device_load(t->dev, c.binary, c.size, &t->m, &d) == WS_OK &&
              device_alloc(t->dev, (size_t)BYTES, &t->x, &d) == WS_OK &&
              device_alloc(t->dev, (size_t)BYTES, &t->y, &d) == WS_OK &&
              device_fill(t->dev, t->x, 0x11, (size_t)BYTES, &d) == WS_OK &&
              device_fill(t->dev, t->y, 0, (size_t)BYTES, &d) == WS_OK;
    if (!check(t, ok, "compile, allocate")) printf("      %s%s", c.log ? c.log : "", d.text);
    compiled_free(&c);
    return ok;
}

int main(int argc, char **argv) {
    struct test t = {.arena = arena_new()};
    struct env env = env_read(t.arena);
    struct diag d = diag_new(t.arena);
    const char *why;
    if (device_open(argc > 1 ? argv[1] : "cuda:0", &env, t.arena, &d, &t.dev, &why) != WS_OK) {
        printf("no device: %s", d.text);
        arena_free(t.arena);
        return WS_MACHINE;
    }
    enum ws_status counted = WS_OK;
    printf("      %s\n", why);
    if (prepare(&t, &env)) {
        time_copy(&t);
        counted = count_copy(&t);
        time_copy(&t);
        if (counted == WS_OK) {
            count_others(&t);
            count_after_stay(&t);
            time_copy(&t);
            cost_of_counting(&t);
        }
        if (counted == WS_OK) counted = count_copy(&t);
        time_copy(&t);
    }
    device_free(t.dev, t.y);
    device_free(t.dev, t.x);
    device_unload(t.dev, t.m);
    device_close(t.dev);
    printf("%s: %d failures\n", t.failures ? "FAILED" : "PASSED", t.failures);
    arena_free(t.arena);
    return t.failures ? WS_WRONG : (int)counted;
}
