/* fake_profiler.h: the range profiler's part of fake_cuda.c, which includes it.
 *
 * A launch between push and pop of a started session is counted. Metrics have the values of
 * fake_metric() in the last pass, and none before it. Misuse - a call out of order, a size that is
 * not its struct's - is state.misused, which the tests hold to be 0. */
#ifndef WS_FAKE_PROFILER_H
#define WS_FAKE_PROFILER_H

#include "runtime/cuda/profiler_api.h"

struct fake_data {
    const char *kernel; /* counted last */
    int n_launches;
    bool decoded;
};

static struct {
    bool enabled, started, pushed, added;
    struct fake_data *data;
    int pass;
    struct fake_data now;
} prof;

#define MISUSED(when)                                                                              \
    do {                                                                                           \
        if (when) {                                                                                \
            state.misused++;                                                                       \
            return 7;                                                                              \
        }                                                                                          \
    } while (0)

/* Kernel "a" reads 4096 bytes, another 8192; all else is as large as its name is long. */
static double fake_metric(const char *name, const char *kernel) {
    if (!strcmp(name, "dram__bytes_read.sum")) return !strcmp(kernel, "a") ? 4096 : 8192;
    return (double)strlen(name);
}

static void profile_launch(const char *kernel) {
    if (prof.enabled && state.tracing) state.misused++;
    if (!prof.pushed) return;
    prof.now.kernel = kernel;
    prof.now.n_launches++;
}

CU(cuptiProfilerInitialize, struct profiler_library *p) {
    MISUSED(p->size != profiler_library_SIZE || p->reserved);
    return CUPTI_OK;
}
CU(cuptiProfilerDeInitialize, struct profiler_library *p) {
    MISUSED(p->size != profiler_library_SIZE);
    return CUPTI_OK;
}
CU(cuptiDeviceGetChipName, struct profiler_chip *p) {
    MISUSED(p->size != profiler_chip_SIZE);
    return p->name = "FAKE100", CUPTI_OK;
}
CU(cuptiProfilerGetCounterAvailability, struct profiler_availability *p) {
    MISUSED(p->size != profiler_availability_SIZE || (p->image && p->image_size != 16));
    state.asked++;
    p->image_size = 16;
    return state.availability_status;
}
CU(cuptiProfilerHostInitialize, struct profiler_host_open *p) {
    MISUSED(p->size != profiler_host_open_SIZE || strcmp(p->chip, "FAKE100") != 0);
    state.hosts++;
    prof.added = false;
    return p->host = (profiler_host)&prof, CUPTI_OK;
}
CU(cuptiProfilerHostDeinitialize, struct profiler_host_close *p) {
    MISUSED(p->size != profiler_host_close_SIZE || !p->host);
    state.hosts--;
    return CUPTI_OK;
}
static bool is_in(const char *name, const char *part) { return *part && strstr(name, part); }
CU(cuptiProfilerHostGetMetricProperties, struct profiler_metric *p) {
    MISUSED(p->size != profiler_metric_SIZE);
    return is_in(p->name, state.unknown_metric) ? 17 : CUPTI_OK;
}
/* A name that is refused spoils the host, and a second call plans passes of its own. */
CU(cuptiProfilerHostConfigAddMetrics, struct profiler_metrics *p) {
    MISUSED(p->size != profiler_metrics_SIZE || prof.added);
    prof.added = true;
    for (size_t i = 0; i < p->n; i++)
        if (is_in(p->names[i], state.unknown_metric) || is_in(p->names[i], state.missing_metric))
            return 1;
    return CUPTI_OK;
}
CU(cuptiProfilerHostGetConfigImageSize, struct profiler_config_size *p) {
    MISUSED(p->size != profiler_config_size_SIZE || !prof.added);
    return p->image_size = 8, CUPTI_OK;
}
CU(cuptiProfilerHostGetConfigImage, struct profiler_config *p) {
    MISUSED(p->size != profiler_config_SIZE || p->image_size != 8);
    return memset(p->image, 1, 8), CUPTI_OK;
}
CU(cuptiProfilerHostEvaluateToGpuValues, struct profiler_values *p) {
    const struct fake_data *data = (const void *)p->data;
    MISUSED(p->size != profiler_values_SIZE || p->range != 0 || p->n != 1 || !data->decoded);
    if (is_in(p->names[0], state.broken_metric)) return 1;
    return *p->values = fake_metric(p->names[0], data->kernel), CUPTI_OK;
}

CU(cuptiRangeProfilerEnable, struct profiler_enable *p) {
    MISUSED(p->size != profiler_enable_SIZE || prof.enabled || !p->ctx);
    if (state.enable_status != CUPTI_OK) return state.enable_status;
    prof.enabled = true;
    state.profilers++;
    state.enables++;
    return p->object = (profiler_object)&prof, CUPTI_OK;
}
CU(cuptiRangeProfilerDisable, struct profiler_call *p) {
    MISUSED(p->size != profiler_call_SIZE || !prof.enabled || prof.started);
    prof.enabled = false;
    state.profilers--;
    return CUPTI_OK;
}
CU(cuptiRangeProfilerGetCounterDataSize, struct profiler_data_size *p) {
    MISUSED(p->size != profiler_data_size_SIZE || !p->n || p->most_nodes < p->most_ranges);
    return p->data_size = sizeof(struct fake_data), CUPTI_OK;
}
CU(cuptiRangeProfilerCounterDataImageInitialize, struct profiler_data_clear *p) {
    MISUSED(p->size != profiler_data_clear_SIZE || p->data_size != sizeof(struct fake_data));
    *(struct fake_data *)(void *)p->data = (struct fake_data){0};
    return CUPTI_OK;
}
CU(cuptiRangeProfilerSetConfig, struct profiler_setup *p) {
    MISUSED(p->size != profiler_setup_SIZE || !prof.enabled || prof.started ||
            p->config_size != 8 || p->config[0] != 1 || p->range != CUPTI_C_UserRange ||
            p->replay != CUPTI_C_UserReplay || p->most_ranges != 1 || p->levels != 1);
    prof.data = (void *)p->data;
    prof.pass = 0;
    prof.now = (struct fake_data){0};
    return CUPTI_OK;
}
CU(cuptiRangeProfilerStart, struct profiler_call *p) {
    MISUSED(p->size != profiler_call_SIZE || !prof.enabled || prof.started || !prof.data);
    if (state.start_status != CUPTI_OK) return state.start_status;
    prof.started = true;
    return CUPTI_OK;
}
CU(cuptiRangeProfilerPushRange, struct profiler_push *p) {
    MISUSED(p->size != profiler_push_SIZE || !prof.started || prof.pushed || !p->name);
    prof.pushed = true;
    return CUPTI_OK;
}
CU(cuptiRangeProfilerPopRange, struct profiler_call *p) {
    MISUSED(p->size != profiler_call_SIZE || !prof.pushed);
    prof.pushed = false;
    return CUPTI_OK;
}
CU(cuptiRangeProfilerStop, struct profiler_stop *p) {
    MISUSED(p->size != profiler_stop_SIZE || !prof.started || prof.pushed);
    prof.started = false;
    p->all_submitted = ++prof.pass == state.passes;
    return CUPTI_OK;
}
CU(cuptiRangeProfilerDecodeData, struct profiler_decode *p) {
    MISUSED(p->size != profiler_decode_SIZE || prof.started || !prof.data);
    *prof.data = prof.now;
    prof.data->decoded = prof.pass == state.passes && prof.now.n_launches == state.passes;
    p->dropped = (size_t)state.dropped_ranges;
    return CUPTI_OK;
}
CU(cuptiRangeProfilerGetCounterDataInfo, struct profiler_data_info *p) {
    const struct fake_data *data = (const void *)p->data;
    MISUSED(p->size != profiler_data_info_SIZE);
    return p->n_ranges = data->kernel ? 1 : 0, CUPTI_OK;
}

#endif
