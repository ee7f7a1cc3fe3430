/* Our hand-written part of NVIDIA's ABI (runtime/cuda/api.h) against the real headers, at compile
 * time. On a machine without the toolkit there is nothing to compare with and the test says that it
 * was skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/cuda/api.h"
#include "runtime/cuda/profiler_api.h"

#if __has_include(<cuda.h>)
#define HAVE_CUDA 1
#include <cuda.h>
#endif
#if __has_include(<nvrtc.h>)
#define HAVE_NVRTC 1
#include <nvrtc.h>
#endif
#if HAVE_CUDA && __has_include(<cupti.h>)
#define HAVE_CUPTI 1
#include <cupti.h>
#endif
#if HAVE_CUPTI && __has_include(<cupti_range_profiler.h>) && __has_include(<cupti_profiler_host.h>)
#define HAVE_PROFILER 1
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#endif

#define SAME(a, b) _Static_assert((long long)(a) == (long long)(b), #a " == " #b)
#define SAME_SIZE(a, b) SAME(sizeof(a), sizeof(b))

#if HAVE_CUDA
#define A(name, value) SAME(value, CU_DEVICE_ATTRIBUTE_##name);
CU_DEVICE_ATTRIBUTES(A)
#undef A
#define A(name, value) SAME(value, CU_FUNC_ATTRIBUTE_##name);
CU_FUNC_ATTRIBUTES(A)
#undef A
#define A(name, value) SAME(value, CU_LAUNCH_ATTRIBUTE_##name);
CU_LAUNCH_ATTRIBUTES(A)
#undef A
#if CUDA_VERSION >= 12000
#define A(name, value) SAME(value, CU_TENSOR_MAP_##name);
CU_TENSOR_MAP_CONSTANTS(A)
#undef A
SAME_SIZE(struct cu_tensor_map, CUtensorMap);
_Static_assert(_Alignof(struct cu_tensor_map) >= _Alignof(CUtensorMap), "tensor maps lie as told");
#endif
#define A(name, value) SAME(value, CU_STREAM_CAPTURE_MODE_##name);
CU_STREAM_CAPTURE_MODES(A)
#undef A
SAME_SIZE(struct cu_launch_attribute, CUlaunchAttribute);
SAME_SIZE(struct cu_launch_config, CUlaunchConfig);
#define FIELD(type, ours, their_type, theirs)                                                      \
    SAME(offsetof(type, ours), offsetof(their_type, theirs))
FIELD(struct cu_launch_attribute, value.allowed, CUlaunchAttribute,
      value.programmaticStreamSerializationAllowed);
FIELD(struct cu_launch_config, grid[2], CUlaunchConfig, gridDimZ);
FIELD(struct cu_launch_config, block, CUlaunchConfig, blockDimX);
FIELD(struct cu_launch_config, smem, CUlaunchConfig, sharedMemBytes);
FIELD(struct cu_launch_config, stream, CUlaunchConfig, hStream);
FIELD(struct cu_launch_config, attributes, CUlaunchConfig, attrs);
FIELD(struct cu_launch_config, n_attributes, CUlaunchConfig, numAttrs);
#undef FIELD
/* Older headers do not know the newest errors. */
#if CUDA_VERSION >= 12080
#define E(name, value, sticky) SAME(value, CUDA_ERROR_##name);
CU_ERRORS(E)
#undef E
#endif
SAME(CU_OK, CUDA_SUCCESS);
SAME_SIZE(cu_status, CUresult);
SAME_SIZE(cu_device, CUdevice);
SAME_SIZE(cu_context, CUcontext);
SAME_SIZE(cu_module, CUmodule);
SAME_SIZE(cu_function, CUfunction);
SAME_SIZE(cu_stream, CUstream);
SAME_SIZE(uint64_t, CUdeviceptr);
SAME_SIZE(unsigned char[16], CUuuid);
#endif

#if HAVE_NVRTC
SAME(NVRTC_OK, NVRTC_SUCCESS);
SAME(NVRTC_COMPILATION_ERROR, NVRTC_ERROR_COMPILATION);
SAME_SIZE(nvrtc_status, nvrtcResult);
SAME_SIZE(nvrtc_program, nvrtcProgram);
#endif

#if HAVE_CUPTI
#define C(name, value) SAME(value, CUPTI_##name);
CUPTI_CONSTANTS(C)
#undef C
SAME(CUPTI_OK, CUPTI_SUCCESS);
SAME_SIZE(cupti_status, CUptiResult);
SAME_SIZE(cupti_subscriber, CUpti_SubscriberHandle);

#define FIELD(ours, theirs)                                                                        \
    SAME(offsetof(struct cupti_kernel_record, ours), offsetof(KERNEL_RECORD, theirs));             \
    SAME_SIZE(((struct cupti_kernel_record *)0)->ours, ((KERNEL_RECORD *)0)->theirs)
#define KERNEL_FIELDS()                                                                            \
    FIELD(kind, kind);                                                                             \
    FIELD(registers_per_thread, registersPerThread);                                               \
    FIELD(start, start);                                                                           \
    FIELD(end, end);                                                                               \
    FIELD(completed, completed);                                                                   \
    FIELD(device_id, deviceId);                                                                    \
    FIELD(stream_id, streamId);                                                                    \
    FIELD(grid[0], gridX);                                                                         \
    FIELD(block[2], blockZ);                                                                       \
    FIELD(static_smem, staticSharedMemory);                                                        \
    FIELD(dynamic_smem, dynamicSharedMemory);                                                      \
    FIELD(local_memory_per_thread, localMemoryPerThread);                                          \
    FIELD(correlation_id, correlationId);                                                          \
    FIELD(grid_id, gridId);                                                                        \
    FIELD(name, name)
#define KERNEL_RECORD CUpti_ActivityKernel4
KERNEL_FIELDS();
#undef KERNEL_RECORD
#define KERNEL_RECORD CUpti_ActivityKernel9
KERNEL_FIELDS();
#undef KERNEL_RECORD
#if CUPTI_API_VERSION >= 130000
#define KERNEL_RECORD CUpti_ActivityKernel10
KERNEL_FIELDS();
#undef KERNEL_RECORD
#endif

SAME(offsetof(struct cupti_callback_data, site), offsetof(CUpti_CallbackData, callbackSite));
SAME(offsetof(struct cupti_callback_data, context), offsetof(CUpti_CallbackData, context));
SAME(offsetof(struct cupti_callback_data, correlation_id),
     offsetof(CUpti_CallbackData, correlationId));
SAME_SIZE(struct cupti_callback_data, CUpti_CallbackData);
#endif

#if HAVE_PROFILER
#define C(name, value) SAME(value, CUPTI_##name);
PROFILER_CONSTANTS(C)
#undef C
/* Where the last member is decides the size that is told, and most offsets before it. */
#define P(ours, last, theirs, their_last)                                                          \
    SAME(offsetof(struct ours, last), offsetof(theirs, their_last));                               \
    SAME(ours##_SIZE, theirs##_STRUCT_SIZE);
PROFILER_PARAMS(P)
#undef P
/* These are passed where the table names another of the same shape. */
SAME(profiler_library_SIZE, CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE);
SAME(profiler_call_SIZE, CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
SAME(profiler_call_SIZE, CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
#define MEMBER(ours, member, theirs, their_member)                                                 \
    SAME(offsetof(struct ours, member), offsetof(theirs, their_member));                           \
    SAME_SIZE(((struct ours *)0)->member, ((theirs *)0)->their_member)
MEMBER(profiler_setup, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
MEMBER(profiler_setup, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
MEMBER(profiler_setup, range, CUpti_RangeProfiler_SetConfig_Params, range);
MEMBER(profiler_setup, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
MEMBER(profiler_setup, most_ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
MEMBER(profiler_setup, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
MEMBER(profiler_setup, first_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
MEMBER(profiler_data_size, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
MEMBER(profiler_data_size, most_ranges, CUpti_RangeProfiler_GetCounterDataSize_Params,
       maxNumOfRanges);
MEMBER(profiler_data_size, most_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
       maxNumRangeTreeNodes);
MEMBER(profiler_values, data, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
MEMBER(profiler_values, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
MEMBER(profiler_values, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
MEMBER(profiler_host_open, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
MEMBER(profiler_metric, name, CUpti_Profiler_Host_GetMetricProperties_Params, pMetricName);
MEMBER(profiler_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
#endif

/* The tables name each exported symbol once; a doubled line would leave a pointer of another type.
 */
static const char *const symbols[] = {
#define F(type, field, symbol, args) symbol,
    CU_FUNCTIONS(F) NVRTC_FUNCTIONS(F) CUPTI_FUNCTIONS(F) PROFILER_FUNCTIONS(F) NVML_FUNCTIONS(F)
#undef F
};

static void test_symbols_are_distinct(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        for (size_t k = 0; k < i; k++) assert_string_not_equal(symbols[i], symbols[k]);
}

static void test_headers_agree(void **state) {
    (void)state;
#if !HAVE_CUDA || !HAVE_NVRTC || !HAVE_CUPTI
    skip();
#endif
    assert_int_equal(sizeof(struct cupti_kernel_record), 112);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbols_are_distinct),
        cmocka_unit_test(test_headers_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
