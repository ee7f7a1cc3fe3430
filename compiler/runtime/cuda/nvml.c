/* nvml.c: the GPU's clocks, temperature, power and the reasons its clock is held down. Optional:
 * without the library every field stays unknown. */
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

/* nvmlClocksEventReason*: bits that mean the clock is lower than the work could use. GPU idle
 * (0x1), clocks the administrator set (0x2, 0x100) are states, not throttling, and masked out. */
#define THROTTLE_REASONS(R)                                                                        \
    R(0x04, "sw_power_cap")                                                                        \
    R(0x08, "hw_slowdown")                                                                         \
    R(0x10, "sync_boost")                                                                          \
    R(0x20, "sw_thermal")                                                                          \
    R(0x40, "hw_thermal")                                                                          \
    R(0x80, "hw_power_brake")

struct nvml {
    struct nvml_api api;
    nvml_device dev;
};

struct nvml *nvml_open(const char *pci_bus_id, const struct env *env, struct arena *a) {
    struct diag quiet = diag_new(a);
    struct nvml *n = NEW(a, struct nvml);
    if (nvml_api_open(&n->api, env, a, &quiet) != WS_OK || n->api.init() != NVML_OK) return NULL;
    if (n->api.by_pci_bus_id(pci_bus_id, &n->dev) == NVML_OK) return n;
    n->api.shutdown();
    return NULL;
}

void nvml_close(struct nvml *n) {
    if (n) n->api.shutdown();
}

static void describe_throttle(struct health *out) {
    size_t used = 0;
    static const struct {
        uint64_t bit;
        const char *name;
    } reasons[] = {
#define R(bit, name) {bit, name},
        THROTTLE_REASONS(R)
#undef R
    };
    snprintf(out->throttle, sizeof out->throttle, "none");
    for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (!(out->throttle_bits & reasons[i].bit) || used >= sizeof out->throttle) continue;
        int n = snprintf(out->throttle + used, sizeof out->throttle - used, "%s%s", used ? "+" : "",
                         reasons[i].name);
        used += (size_t)n;
    }
}

void nvml_health(struct nvml *n, struct health *out) {
    unsigned v;
    unsigned long long bits;
    if (!n) return;
    if (n->api.clock_info(n->dev, NVML_CLOCK_SM, &v) == NVML_OK) out->clock_mhz = (int)v;
    if (n->api.clock_info(n->dev, NVML_CLOCK_MEM, &v) == NVML_OK) out->mem_clock_mhz = (int)v;
    if (n->api.temperature(n->dev, NVML_TEMPERATURE_GPU, &v) == NVML_OK) out->temp_c = (int)v;
    if (n->api.power_usage(n->dev, &v) == NVML_OK) out->power_w = (int)((v + 500) / 1000);
    if (n->api.throttle_reasons(n->dev, &bits) != NVML_OK) return;
#define R(bit, name) | bit
    out->throttle_bits = bits & (0 THROTTLE_REASONS(R));
#undef R
    describe_throttle(out);
}

bool nvml_driver_version(struct nvml *n, char *out, size_t size) {
    return n && n->api.driver_version(out, (unsigned)size) == NVML_OK;
}
