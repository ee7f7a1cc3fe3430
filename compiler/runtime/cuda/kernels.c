/* kernels.c: the runtime's own kernels, compiled by NVRTC when first needed.
 *
 *   ws_flush           writes a buffer of more than twice the L2: nothing of the workload is left
 * in it ws_copy            8 x 16 bytes in flight a thread ws_copy_streaming  the same past the
 * caches; the better of the two is the copy bandwidth ws_compare         counts bad elements and
 * finds the worst badness ws_find_worst      finds its first index
 *
 * The badness of an element is a 32-bit number: the bits of the float |got - want| / tolerance,
 * which order like the numbers themselves; infinities that differ are +inf, NaN mismatches are
 * above everything. cpu/cpu_compare.c does the same in C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

enum {
    THREADS = 256,
    COPY_UNROLL = 8,
    COPY_TILE = THREADS * COPY_UNROLL * 16, /* bytes a block copies */
    COPY_SAMPLES = 15,
};

/* What ws_compare writes; the layout is repeated in the text below. */
struct compare_result {
    unsigned long long bad, index;
    unsigned worst, unused;
};

static const char SOURCE[] =
    "#define THREADS 256\n"
    "#define UNROLL 8\n"
    "typedef long long i64;\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS) ws_flush(float4 *p, i64 n, unsigned "
    "value) {\n"
    "    float v = __uint_as_float(value);\n"
    "    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * "
    "(i64)THREADS)\n"
    "        p[i] = make_float4(v, v, v, v);\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS) ws_copy(float4 *to, const float4 "
    "*from) {\n"
    "    i64 at = blockIdx.x * (i64)(THREADS * UNROLL) + threadIdx.x;\n"
    "    float4 v[UNROLL];\n"
    "    for (int k = 0; k < UNROLL; k++) v[k] = from[at + k * THREADS];\n"
    "    for (int k = 0; k < UNROLL; k++) to[at + k * THREADS] = v[k];\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS) ws_copy_streaming(float4 *to, const "
    "float4 *from) {\n"
    "    i64 at = blockIdx.x * (i64)(THREADS * UNROLL) + threadIdx.x;\n"
    "    float4 v[UNROLL];\n"
    "    for (int k = 0; k < UNROLL; k++) v[k] = __ldcs(&from[at + k * THREADS]);\n"
    "    for (int k = 0; k < UNROLL; k++) __stcs(&to[at + k * THREADS], v[k]);\n"
    "}\n"
    "static double half_value(unsigned short bits) {\n"
    "    float v;\n"
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(v) : \"h\"(bits));\n"
    "    return v;\n"
    "}\n"
    "static double element(int dtype, const void *p, i64 i) {\n"
    "    switch (dtype) {\n"
    "    case DT_BOOL: return ((const unsigned char *)p)[i] != 0;\n"
    "    case DT_I32: return ((const int *)p)[i];\n"
    "    case DT_I64: return (double)((const i64 *)p)[i];\n"
    "    case DT_F16: return half_value(((const unsigned short *)p)[i]);\n"
    "    case DT_BF16: return __uint_as_float((unsigned)((const unsigned short *)p)[i] << 16);\n"
    "    case DT_F32: return ((const float *)p)[i];\n"
    "    default: return ((const double *)p)[i];\n"
    "    }\n"
    "}\n"
    "static unsigned badness(double got, double want, double rtol, double atol, bool *bad) {\n"
    "    const double inf = __longlong_as_double(0x7ff0000000000000ll);\n"
    "    if (got != got || want != want) {\n"
    "        *bad = (got != got) != (want != want);\n"
    "        return *bad ? 0x7fffffffu : 0;\n"
    "    }\n"
    "    if (fabs(got) == inf || fabs(want) == inf) {\n"
    "        *bad = got != want;\n"
    "        return *bad ? 0x7f800000u : 0;\n"
    "    }\n"
    "    double diff = fabs(got - want), tolerance = atol + rtol * fabs(want);\n"
    "    *bad = !(diff <= tolerance);\n"
    "    return diff == 0 ? 0 : __float_as_uint((float)(diff / tolerance));\n"
    "}\n"
    "struct result {\n"
    "    unsigned long long bad, index;\n"
    "    unsigned worst, unused;\n"
    "};\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS)\n"
    "    ws_compare(result *r, const void *got, int dtype, const float *want, i64 n, double rtol, "
    "double atol) {\n"
    "    __shared__ unsigned long long all_bad;\n"
    "    __shared__ unsigned all_worst;\n"
    "    if (threadIdx.x == 0) all_bad = 0, all_worst = 0;\n"
    "    __syncthreads();\n"
    "    unsigned long long my_bad = 0;\n"
    "    unsigned my_worst = 0;\n"
    "    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * "
    "(i64)THREADS) {\n"
    "        bool bad;\n"
    "        unsigned b = badness(element(dtype, got, i), want[i], rtol, atol, &bad);\n"
    "        my_bad += bad;\n"
    "        my_worst = b > my_worst ? b : my_worst;\n"
    "    }\n"
    "    if (my_bad) atomicAdd(&all_bad, my_bad);\n"
    "    atomicMax(&all_worst, my_worst);\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x != 0) return;\n"
    "    if (all_bad) atomicAdd(&r->bad, all_bad);\n"
    "    atomicMax(&r->worst, all_worst);\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS)\n"
    "    ws_find_worst(result *r, const void *got, int dtype, const float *want, i64 n, double "
    "rtol, double atol) {\n"
    "    unsigned worst = r->worst;\n"
    "    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * "
    "(i64)THREADS) {\n"
    "        bool bad;\n"
    "        if (badness(element(dtype, got, i), want[i], rtol, atol, &bad) != worst) continue;\n"
    "        atomicMin(&r->index, (unsigned long long)i);\n"
    "        return;\n"
    "    }\n"
    "}\n";

/* The text above with the element types' numbers in front of it. */
const char *helpers_source(struct arena *a) {
    struct buf b = buf_new(a);
#define DTYPE(name, ...) buf_printf(&b, "#define DT_%s %d\n", #name, DT_##name);
    DTYPES(DTYPE)
#undef DTYPE
    buf_puts(&b, SOURCE);
    return b.p;
}

/* ---- life ------------------------------------------------------------------------------------ */

static enum ws_status load_module(struct cuda_device *c, struct diag *d) {
    if (!c->nvrtc &&
        toolchain_open(DEVICE_CUDA, c->base.limits.arch, &c->env, c->arena, d, &c->nvrtc) != WS_OK)
        return d->status;
    struct compiled out;
    toolchain_compile(c->nvrtc, "helpers.cu", helpers_source(d->arena), false, &out);
    if (!out.ok)
        diag_fail(d, WS_MACHINE, "the runtime's helper kernels do not compile for %s: %s",
                  c->base.limits.arch, out.log);
    else
        device_load(&c->base, out.binary, out.size, &c->helpers.module, d);
    compiled_free(&out);
    return d->status;
}

enum ws_status helpers_prepare(struct cuda_device *c, struct diag *d) {
    struct helpers *h = &c->helpers;
    if (!h->module && load_module(c, d) != WS_OK) return d->status;
    if (!h->result && device_alloc(&c->base, sizeof(struct compare_result), &h->result, d) != WS_OK)
        return d->status;
    if (h->flush_buffer) return WS_OK;
    h->flush_bytes = 2 * c->base.limits.l2_bytes + (32 << 20);
    return device_alloc(&c->base, (size_t)h->flush_bytes, &h->flush_buffer, d);
}

void helpers_release(struct cuda_device *c) {
    device_free(&c->base, c->helpers.flush_buffer);
    device_free(&c->base, c->helpers.result);
    device_unload(&c->base, c->helpers.module);
    c->helpers = (struct helpers){0};
}

enum ws_status helpers_flush_launch(struct cuda_device *c, struct diag *d) {
    struct helpers *h = &c->helpers;
    int64_t n = h->flush_bytes / 16;
    h->flush_value++;
    struct launch l = {.module = h->module,
                       .entry = "ws_flush",
                       .grid = {c->base.limits.units * 8, 1, 1},
                       .threads = THREADS,
                       .n_args = 3,
                       .args = {&h->flush_buffer, &n, &h->flush_value}};
    struct ready r;
    if (cuda_ready(c, &l, &r, d) != WS_OK) return d->status;
    return cuda_submit(c, &r, d);
}

/* ---- compare --------------------------------------------------------------------------------- */

static enum ws_status run_compare(struct cuda_device *c, struct launch *l, struct compare_result *r,
                                  struct diag *d) {
    struct device *dev = &c->base;
    *r = (struct compare_result){.index = ~0ull};
    if (device_upload(dev, c->helpers.result, r, sizeof *r, d) != WS_OK) return d->status;
    l->entry = "ws_compare";
    if (device_run(dev, l, 1, d) != WS_OK) return d->status;
    l->entry = "ws_find_worst";
    if (device_run(dev, l, 1, d) != WS_OK) return d->status;
    return device_download(dev, r, c->helpers.result, sizeof *r, d);
}

enum ws_status cuda_compare(struct device *dev, dptr got, enum dtype dtype, dptr want, int64_t n,
                            double rtol, double atol, struct mismatch *out, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    struct compare_result r;
    int code = dtype;
    unsigned char element[8];
    float reference;
    if (helpers_prepare(c, d) != WS_OK) return d->status;
    int64_t blocks = (n + THREADS - 1) / THREADS, most = dev->limits.units * 16;
    struct launch l = {.module = c->helpers.module,
                       .grid = {blocks < most ? blocks : most, 1, 1},
                       .threads = THREADS,
                       .n_args = 7,
                       .args = {&c->helpers.result, &got, &code, &want, &n, &rtol, &atol}};
    if (run_compare(c, &l, &r, d) != WS_OK) return d->status;
    if (r.index >= (unsigned long long)n)
        return diag_fail(d, WS_MACHINE, "ws_compare found no worst element");
    uint64_t size = (uint64_t)dtype_bytes(dtype);
    if (device_download(dev, element, got + r.index * size, size, d) != WS_OK) return d->status;
    if (device_download(dev, &reference, want + r.index * sizeof reference, sizeof reference, d) !=
        WS_OK)
        return d->status;
    *out = (struct mismatch){(int64_t)r.bad, (int64_t)r.index, dtype_load(dtype, element, 0),
                             reference};
    return WS_OK;
}

/* ---- copy bandwidth -------------------------------------------------------------------------- */

static enum ws_status time_copies(struct cuda_device *c, dptr to, dptr from, int64_t bytes,
                                  double *gbps, struct diag *d) {
    static const char *const entries[] = {"ws_copy", "ws_copy_streaming"};
    struct launch l = {.module = c->helpers.module,
                       .grid = {bytes / COPY_TILE, 1, 1},
                       .threads = THREADS,
                       .n_args = 2,
                       .args = {&to, &from}};
    if (device_fill(&c->base, from, 0x5a, (size_t)bytes, d) != WS_OK) return d->status;
    for (unsigned i = 0; i < sizeof entries / sizeof *entries; i++) {
        double us[COPY_SAMPLES];
        l.entry = entries[i];
        if (device_time(&c->base, &l, 1, COPY_SAMPLES, false, us, NULL, d) != WS_OK)
            return d->status;
        double rate =
            2.0 * (double)bytes / (median(us, COPY_SAMPLES) * 1e3); /* bytes a ns = GB/s */
        if (rate > *gbps) *gbps = rate;
    }
    return WS_OK;
}

enum ws_status cuda_copy_gbps(struct device *dev, double *gbps, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    size_t left = 0, total = 0;
    dptr from = 0, to = 0;
    if (cuda_enter(c, d) != WS_OK || helpers_prepare(c, d) != WS_OK) return d->status;
    cu_status s = c->api.mem_info(&left, &total);
    if (s != CU_OK) return cuda_fail(c, d, s, "cuMemGetInfo");
    int64_t bytes = (int64_t)1 << 30;
    if (bytes > (int64_t)(left / 4)) bytes = (int64_t)(left / 4);
    bytes -= bytes % COPY_TILE;
    if (bytes < 4 * dev->limits.l2_bytes)
        return diag_fail(d, WS_MACHINE,
                         "too little free memory on %s to measure its bandwidth: %zu bytes",
                         dev->facts.id, left);
    if (device_alloc(dev, (size_t)bytes, &from, d) == WS_OK &&
        device_alloc(dev, (size_t)bytes, &to, d) == WS_OK)
        time_copies(c, to, from, bytes, gbps, d);
    device_free(dev, to);
    device_free(dev, from);
    return d->status;
}
