/* profiler_api.h: the part of CUPTI's range profiler that we use, declared by hand as in api.h.
 *
 * Every function takes one struct of parameters that begins with its own size: how a newer library
 * knows which members an older caller has. That size ends with the last member, not with the
 * padding behind it, so the table below names the last one. */
#ifndef WS_RUNTIME_CUDA_PROFILER_API_H
#define WS_RUNTIME_CUDA_PROFILER_API_H

#include "runtime/cuda/api.h"

/* CUPTI_* */
#define PROFILER_CONSTANTS(C)                                                                      \
    C(ERROR_HARDWARE_BUSY, 26)                                                                     \
    C(ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, 40)                                        \
    C(PROFILER_TYPE_RANGE_PROFILER, 0)                                                             \
    C(UserRange, 2)                                                                                \
    C(UserReplay, 3)

enum {
#define C(name, value) CUPTI_C_##name = value,
    PROFILER_CONSTANTS(C)
#undef C
};

#define PARAMS_BEGIN                                                                               \
    size_t size;                                                                                   \
    void *reserved

/* The library: initialise, de-initialise. */
struct profiler_library {
    PARAMS_BEGIN;
};
struct profiler_chip {
    PARAMS_BEGIN;
    size_t device;
    const char *name; /* out */
};
struct profiler_availability {
    PARAMS_BEGIN;
    cu_context ctx;
    size_t image_size; /* in and out */
    uint8_t *image;
};

/* The host side: metrics by name, with no device. */
typedef struct profiler_host_ *profiler_host;

struct profiler_host_open {
    PARAMS_BEGIN;
    int type;
    const char *chip;
    const uint8_t *availability;
    profiler_host host; /* out */
};
struct profiler_host_close {
    PARAMS_BEGIN;
    profiler_host host;
};
struct profiler_metric {
    PARAMS_BEGIN;
    profiler_host host;
    const char *name;
    const char *description, *unit, *dimension; /* out */
    int type;                                   /* out */
};
struct profiler_metrics {
    PARAMS_BEGIN;
    profiler_host host;
    const char **names;
    size_t n;
};
struct profiler_config_size {
    PARAMS_BEGIN;
    profiler_host host;
    size_t image_size; /* out */
};
struct profiler_config {
    PARAMS_BEGIN;
    profiler_host host;
    size_t image_size;
    uint8_t *image; /* filled */
};
struct profiler_values {
    PARAMS_BEGIN;
    profiler_host host;
    const uint8_t *data;
    size_t data_size;
    size_t range;
    const char **names;
    size_t n;
    double *values; /* filled */
};

/* The target side: one context. */
typedef struct profiler_object_ *profiler_object;

struct profiler_enable {
    PARAMS_BEGIN;
    cu_context ctx;
    profiler_object object; /* out */
};
/* Disable, start, pop. */
struct profiler_call {
    PARAMS_BEGIN;
    profiler_object object;
};
struct profiler_data_size {
    PARAMS_BEGIN;
    profiler_object object;
    const char **names;
    size_t n;
    size_t most_ranges;
    uint32_t most_nodes;
    size_t data_size; /* out */
};
struct profiler_data_clear {
    PARAMS_BEGIN;
    profiler_object object;
    size_t data_size;
    uint8_t *data; /* filled */
};
struct profiler_setup {
    PARAMS_BEGIN;
    profiler_object object;
    size_t config_size;
    const uint8_t *config;
    size_t data_size;
    uint8_t *data;
    int range, replay;
    size_t most_ranges;
    uint16_t levels, first_level;
    size_t pass;
    uint16_t target_level;
};
struct profiler_push {
    PARAMS_BEGIN;
    profiler_object object;
    const char *name;
};
struct profiler_stop {
    PARAMS_BEGIN;
    profiler_object object;
    size_t pass, target_level; /* out */
    uint8_t all_submitted;     /* out */
};
struct profiler_decode {
    PARAMS_BEGIN;
    profiler_object object;
    size_t dropped; /* out */
};
struct profiler_data_info {
    PARAMS_BEGIN;
    const uint8_t *data;
    size_t data_size;
    size_t n_ranges; /* out */
};

/* P(ours, our last member, CUPTI's name, its last member) */
#define PROFILER_PARAMS(P)                                                                         \
    P(profiler_library, reserved, CUpti_Profiler_Initialize_Params, pPriv)                         \
    P(profiler_chip, name, CUpti_Device_GetChipName_Params, pChipName)                             \
    P(profiler_availability, image, CUpti_Profiler_GetCounterAvailability_Params,                  \
      pCounterAvailabilityImage)                                                                   \
    P(profiler_host_open, host, CUpti_Profiler_Host_Initialize_Params, pHostObject)                \
    P(profiler_host_close, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject)             \
    P(profiler_metric, type, CUpti_Profiler_Host_GetMetricProperties_Params, metricType)           \
    P(profiler_metrics, n, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics)                \
    P(profiler_config_size, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params,             \
      configImageSize)                                                                             \
    P(profiler_config, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage)             \
    P(profiler_values, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues)      \
    P(profiler_enable, object, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject)            \
    P(profiler_call, object, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject)               \
    P(profiler_data_size, data_size, CUpti_RangeProfiler_GetCounterDataSize_Params,                \
      counterDataSize)                                                                             \
    P(profiler_data_clear, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,           \
      pCounterData)                                                                                \
    P(profiler_setup, target_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel)      \
    P(profiler_push, name, CUpti_RangeProfiler_PushRange_Params, pRangeName)                       \
    P(profiler_stop, all_submitted, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted)           \
    P(profiler_decode, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped)          \
    P(profiler_data_info, n_ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges)

enum {
#define P(ours, last, theirs, their_last)                                                          \
    ours##_SIZE = offsetof(struct ours, last) + sizeof(((struct ours *)0)->last),
    PROFILER_PARAMS(P)
#undef P
};

#define PROFILER_FUNCTIONS(F)                                                                      \
    F(cupti_status, initialize, "cuptiProfilerInitialize", (struct profiler_library * p))          \
    F(cupti_status, deinitialize, "cuptiProfilerDeInitialize", (struct profiler_library * p))      \
    F(cupti_status, chip_name, "cuptiDeviceGetChipName", (struct profiler_chip * p))               \
    F(cupti_status, availability, "cuptiProfilerGetCounterAvailability",                           \
      (struct profiler_availability * p))                                                          \
    F(cupti_status, host_open, "cuptiProfilerHostInitialize", (struct profiler_host_open * p))     \
    F(cupti_status, host_close, "cuptiProfilerHostDeinitialize", (struct profiler_host_close * p)) \
    F(cupti_status, metric, "cuptiProfilerHostGetMetricProperties", (struct profiler_metric * p))  \
    F(cupti_status, add_metrics, "cuptiProfilerHostConfigAddMetrics",                              \
      (struct profiler_metrics * p))                                                               \
    F(cupti_status, config_size, "cuptiProfilerHostGetConfigImageSize",                            \
      (struct profiler_config_size * p))                                                           \
    F(cupti_status, config, "cuptiProfilerHostGetConfigImage", (struct profiler_config * p))       \
    F(cupti_status, values, "cuptiProfilerHostEvaluateToGpuValues", (struct profiler_values * p))  \
    F(cupti_status, enable, "cuptiRangeProfilerEnable", (struct profiler_enable * p))              \
    F(cupti_status, disable, "cuptiRangeProfilerDisable", (struct profiler_call * p))              \
    F(cupti_status, data_size, "cuptiRangeProfilerGetCounterDataSize",                             \
      (struct profiler_data_size * p))                                                             \
    F(cupti_status, data_clear, "cuptiRangeProfilerCounterDataImageInitialize",                    \
      (struct profiler_data_clear * p))                                                            \
    F(cupti_status, setup, "cuptiRangeProfilerSetConfig", (struct profiler_setup * p))             \
    F(cupti_status, start, "cuptiRangeProfilerStart", (struct profiler_call * p))                  \
    F(cupti_status, stop, "cuptiRangeProfilerStop", (struct profiler_stop * p))                    \
    F(cupti_status, push, "cuptiRangeProfilerPushRange", (struct profiler_push * p))               \
    F(cupti_status, pop, "cuptiRangeProfilerPopRange", (struct profiler_call * p))                 \
    F(cupti_status, decode, "cuptiRangeProfilerDecodeData", (struct profiler_decode * p))          \
    F(cupti_status, data_info, "cuptiRangeProfilerGetCounterDataInfo",                             \
      (struct profiler_data_info * p))

#define F(type, field, symbol, args) type(*field) args;
struct profiler_api {
    PROFILER_FUNCTIONS(F)
};
#undef F

#endif
