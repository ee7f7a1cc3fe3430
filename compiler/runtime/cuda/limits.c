/* limits.c: what this GPU is, from the driver.
 *
 * Rates the driver does not tell (FLOP a cycle of the FMA and matrix units) come from the
 * architecture's row in base/device.c, scaled by this part's multiprocessors and clock; an
 * architecture without a row has them as 0. */
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

/* 9.0 and 10.0 have instructions (wgmma, tcgen05) that only the "a" target admits. */
static void name_arch(int major, int minor, char *out, size_t size) {
    bool a = (major == 9 || major == 10) && minor == 0;
    snprintf(out, size, "sm_%d%d%s", major, minor, a ? "a" : "");
}

/* Rates of the architecture's common part x (units x clock here) / (units x clock there). */
static void scale_rates(struct device_limits *l) {
    struct device_limits common;
    if (!device_limits_for_arch(l->arch, &common)) return;
    double scale = l->units * l->clock_ghz / (common.units * common.clock_ghz);
    l->f32_tflops = common.f32_tflops * scale;
    l->matrix_tflops = common.matrix_tflops * scale;
}

enum ws_status cuda_read_limits(struct cuda_device *c, struct diag *d) {
    int v[256] = {0}; /* by attribute number */
    static const struct {
        int attribute;
        const char *name;
    } attributes[] = {
#define A(name, value) {value, "CU_DEVICE_ATTRIBUTE_" #name},
        CU_DEVICE_ATTRIBUTES(A)
#undef A
    };
    for (unsigned i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        int k = attributes[i].attribute;
        cu_status s = c->api.device_attribute(&v[k], k, c->dev);
        bool optional = k == CU_DEV_CLOCK_RATE || k == CU_DEV_MEMORY_CLOCK_RATE; /* 0: unknown */
        if (s != CU_OK && !optional)
            return cuda_fail(c, d, s, "cuDeviceGetAttribute(%s)", attributes[i].name);
    }
    struct device_limits *l = &c->base.limits;
    *l = (struct device_limits){
        .kind = DEVICE_CUDA,
        .units = v[CU_DEV_MULTIPROCESSOR_COUNT],
        .warp = v[CU_DEV_WARP_SIZE],
        .max_threads_block = v[CU_DEV_MAX_THREADS_PER_BLOCK],
        .max_threads_unit = v[CU_DEV_MAX_THREADS_PER_MULTIPROCESSOR],
        .max_blocks_unit = v[CU_DEV_MAX_BLOCKS_PER_MULTIPROCESSOR],
        .regs_unit = v[CU_DEV_MAX_REGISTERS_PER_MULTIPROCESSOR],
        .smem_block = v[CU_DEV_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN],
        .smem_unit = v[CU_DEV_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR],
        .l2_bytes = v[CU_DEV_L2_CACHE_SIZE],
        .simd_bytes = 16,
        .max_cluster = v[CU_DEV_COMPUTE_CAPABILITY_MAJOR] >= 9 ? 8 : 1, /* the portable size */
        .clock_ghz = v[CU_DEV_CLOCK_RATE] / 1e6,
        /* kHz x 2 transfers a cycle x bytes across the bus */
        .peak_gbps =
            2.0 * v[CU_DEV_MEMORY_CLOCK_RATE] * (v[CU_DEV_GLOBAL_MEMORY_BUS_WIDTH] / 8.0) / 1e6,
    };
    size_t memory;
    if (c->api.device_memory(&memory, c->dev) == CU_OK) l->memory_bytes = (int64_t)memory;
    if (l->smem_block == 0) l->smem_block = v[CU_DEV_MAX_SHARED_MEMORY_PER_BLOCK];
    name_arch(v[CU_DEV_COMPUTE_CAPABILITY_MAJOR], v[CU_DEV_COMPUTE_CAPABILITY_MINOR], l->arch,
              sizeof l->arch);
    device_set_features(l);
    scale_rates(l);
    return WS_OK;
}

/* GPU-7d2f1f0a-...: as nvidia-smi -L prints it. */
static void print_uuid(const unsigned char u[16], char *out, size_t size) {
    snprintf(out, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
             u[14], u[15]);
}

enum ws_status cuda_read_facts(struct cuda_device *c, int ordinal, struct diag *d) {
    struct device_facts *f = &c->base.facts;
    unsigned char uuid[16] = {0};
    int cuda = 0;
    cu_status s = c->api.device_name(f->name, sizeof f->name, c->dev);
    if (s != CU_OK) return cuda_fail(c, d, s, "cuDeviceGetName");
    if (c->api.device_uuid(uuid, c->dev) == CU_OK) print_uuid(uuid, f->uuid, sizeof f->uuid);
    c->api.driver_version(&cuda);
    char driver[32] = "";
    if (nvml_driver_version(c->nvml, driver, sizeof driver))
        snprintf(f->driver, sizeof f->driver, "%s (CUDA %d.%d)", driver, cuda / 1000,
                 cuda % 1000 / 10);
    else
        snprintf(f->driver, sizeof f->driver, "CUDA %d.%d", cuda / 1000, cuda % 1000 / 10);
    snprintf(f->timer, sizeof f->timer, "cupti");
    snprintf(f->id, sizeof f->id, "cuda:%d", ordinal);
    return WS_OK;
}
