/* api.h: the part of NVIDIA's ABI that we use, declared by hand, so that the project builds with no
 * CUDA toolkit.
 *
 * Each library is one X-macro table of functions; library.c turns a table into a struct of function
 * pointers. Each set of constants is a table too: tests/unit/test_runtime_abi.c compares every
 * value and every record offset below with the real headers where they are installed. Values and
 * exported names are NVIDIA's stable binary interface. */
#ifndef WS_RUNTIME_CUDA_API_H
#define WS_RUNTIME_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

/* ---- driver: libcuda.so.1 -------------------------------------------------------------------- */

typedef int cu_status; /* CUresult */
typedef int cu_device;
typedef struct cu_context_ *cu_context;
typedef struct cu_module_ *cu_module;
typedef struct cu_function_ *cu_function;
typedef struct cu_stream_ *cu_stream;
typedef struct cu_graph_ *cu_graph;
typedef struct cu_graph_exec_ *cu_graph_exec;

/* CU_DEVICE_ATTRIBUTE_* */
#define CU_DEVICE_ATTRIBUTES(A)                                                                    \
    A(MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                              \
    A(MAX_THREADS_PER_BLOCK, 1)                                                                    \
    A(WARP_SIZE, 10)                                                                               \
    A(CLOCK_RATE, 13)                                                                              \
    A(MULTIPROCESSOR_COUNT, 16)                                                                    \
    A(MEMORY_CLOCK_RATE, 36)                                                                       \
    A(GLOBAL_MEMORY_BUS_WIDTH, 37)                                                                 \
    A(L2_CACHE_SIZE, 38)                                                                           \
    A(MAX_THREADS_PER_MULTIPROCESSOR, 39)                                                          \
    A(COMPUTE_CAPABILITY_MAJOR, 75)                                                                \
    A(COMPUTE_CAPABILITY_MINOR, 76)                                                                \
    A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                                    \
    A(MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                                                        \
    A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                                       \
    A(MAX_BLOCKS_PER_MULTIPROCESSOR, 106)

/* CU_FUNC_ATTRIBUTE_* */
#define CU_FUNC_ATTRIBUTES(A)                                                                      \
    A(SHARED_SIZE_BYTES, 1)                                                                        \
    A(LOCAL_SIZE_BYTES, 3)                                                                         \
    A(NUM_REGS, 4)                                                                                 \
    A(MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                                            \
    A(NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)

/* CU_LAUNCH_ATTRIBUTE_* */
#define CU_LAUNCH_ATTRIBUTES(A) A(PROGRAMMATIC_STREAM_SERIALIZATION, 6)

/* CUlaunchAttribute, CUlaunchConfig */
struct cu_launch_attribute {
    int id;
    union {
        uint64_t as_wide_as_any[8];
        int allowed; /* PROGRAMMATIC_STREAM_SERIALIZATION */
    } value;
};
struct cu_launch_config {
    unsigned grid[3], block[3], smem;
    cu_stream stream;
    const struct cu_launch_attribute *attributes;
    unsigned n_attributes;
};

/* CUtensorMap: what a kernel takes of a tensor map, by value. The hardware asks for 64 bytes of
 * alignment, the headers since CUDA 13 for 128. */
struct cu_tensor_map {
    _Alignas(128) uint64_t opaque[16];
};

/* CU_TENSOR_MAP_* */
#define CU_TENSOR_MAP_CONSTANTS(A)                                                                 \
    A(DATA_TYPE_UINT8, 0)                                                                          \
    A(DATA_TYPE_UINT16, 1)                                                                         \
    A(DATA_TYPE_INT32, 3)                                                                          \
    A(DATA_TYPE_INT64, 5)                                                                          \
    A(DATA_TYPE_FLOAT16, 6)                                                                        \
    A(DATA_TYPE_FLOAT32, 7)                                                                        \
    A(DATA_TYPE_FLOAT64, 8)                                                                        \
    A(DATA_TYPE_BFLOAT16, 9)                                                                       \
    A(DATA_TYPE_TFLOAT32, 11)                                                                      \
    A(INTERLEAVE_NONE, 0)                                                                          \
    A(SWIZZLE_NONE, 0)                                                                             \
    A(SWIZZLE_32B, 1)                                                                              \
    A(SWIZZLE_64B, 2)                                                                              \
    A(SWIZZLE_128B, 3)                                                                             \
    A(L2_PROMOTION_L2_256B, 3)                                                                     \
    A(FLOAT_OOB_FILL_NONE, 0) /* zeros */

/* CU_STREAM_CAPTURE_MODE_*: other threads may do as they like */
#define CU_STREAM_CAPTURE_MODES(A) A(THREAD_LOCAL, 1)

/* CUDA_ERROR_*: those we must recognise. sticky: the context is gone, later calls fail too. */
#define CU_ERRORS(E)                                                                               \
    E(NO_DEVICE, 100, 0)                                                                           \
    E(ECC_UNCORRECTABLE, 214, 1)                                                                   \
    E(NVLINK_UNCORRECTABLE, 220, 1)                                                                \
    E(CONTAINED, 226, 1)                                                                           \
    E(ILLEGAL_ADDRESS, 700, 1)                                                                     \
    E(LAUNCH_TIMEOUT, 702, 1)                                                                      \
    E(CONTEXT_IS_DESTROYED, 709, 1)                                                                \
    E(ASSERT, 710, 1)                                                                              \
    E(HARDWARE_STACK_ERROR, 714, 1)                                                                \
    E(ILLEGAL_INSTRUCTION, 715, 1)                                                                 \
    E(MISALIGNED_ADDRESS, 716, 1)                                                                  \
    E(INVALID_ADDRESS_SPACE, 717, 1)                                                               \
    E(INVALID_PC, 718, 1)                                                                          \
    E(LAUNCH_FAILED, 719, 1)                                                                       \
    E(TENSOR_MEMORY_LEAK, 721, 1)                                                                  \
    E(NOT_SUPPORTED, 801, 0)                                                                       \
    E(UNKNOWN, 999, 1)

enum {
#define A(name, value) CU_DEV_##name = value,
    CU_DEVICE_ATTRIBUTES(A)
#undef A
};
enum {
#define A(name, value) CU_FUNC_##name = value,
    CU_FUNC_ATTRIBUTES(A)
#undef A
};
enum {
#define A(name, value) CU_LAUNCH_##name = value,
    CU_LAUNCH_ATTRIBUTES(A)
#undef A
};
enum {
#define A(name, value) CU_MAP_##name = value,
    CU_TENSOR_MAP_CONSTANTS(A)
#undef A
};
enum {
#define A(name, value) CU_CAPTURE_##name = value,
    CU_STREAM_CAPTURE_MODES(A)
#undef A
};
enum {
    CU_OK = 0,
#define E(name, value, sticky) CU_ERR_##name = value,
    CU_ERRORS(E)
#undef E
};

#define CU_FUNCTIONS(F)                                                                            \
    F(cu_status, init, "cuInit", (unsigned flags))                                                 \
    F(cu_status, driver_version, "cuDriverGetVersion", (int *version))                             \
    F(cu_status, error_name, "cuGetErrorName", (cu_status s, const char **name))                   \
    F(cu_status, error_string, "cuGetErrorString", (cu_status s, const char **text))               \
    F(cu_status, device_count, "cuDeviceGetCount", (int *count))                                   \
    F(cu_status, device_get, "cuDeviceGet", (cu_device * dev, int ordinal))                        \
    F(cu_status, device_name, "cuDeviceGetName", (char *name, int len, cu_device dev))             \
    F(cu_status, device_uuid, "cuDeviceGetUuid", (unsigned char uuid[16], cu_device dev))          \
    F(cu_status, device_attribute, "cuDeviceGetAttribute",                                         \
      (int *value, int attribute, cu_device dev))                                                  \
    F(cu_status, device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, cu_device dev))            \
    F(cu_status, device_pci_bus_id, "cuDeviceGetPCIBusId", (char *id, int len, cu_device dev))     \
    F(cu_status, primary_retain, "cuDevicePrimaryCtxRetain", (cu_context * ctx, cu_device dev))    \
    F(cu_status, primary_release, "cuDevicePrimaryCtxRelease_v2", (cu_device dev))                 \
    F(cu_status, primary_reset, "cuDevicePrimaryCtxReset_v2", (cu_device dev))                     \
    F(cu_status, ctx_set_current, "cuCtxSetCurrent", (cu_context ctx))                             \
    F(cu_status, ctx_synchronize, "cuCtxSynchronize", (void))                                      \
    F(cu_status, ctx_reset_l2, "cuCtxResetPersistingL2Cache", (void))                              \
    F(cu_status, mem_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))                     \
    F(cu_status, mem_alloc, "cuMemAlloc_v2", (uint64_t * p, size_t bytes))                         \
    F(cu_status, mem_free, "cuMemFree_v2", (uint64_t p))                                           \
    F(cu_status, memcpy_htod, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t bytes))    \
    F(cu_status, memcpy_dtoh, "cuMemcpyDtoH_v2", (void *to, uint64_t from, size_t bytes))          \
    F(cu_status, memset_d8, "cuMemsetD8_v2", (uint64_t p, unsigned char byte, size_t n))           \
    F(cu_status, module_load, "cuModuleLoadData", (cu_module * m, const void *image))              \
    F(cu_status, module_unload, "cuModuleUnload", (cu_module m))                                   \
    F(cu_status, module_function, "cuModuleGetFunction",                                           \
      (cu_function * f, cu_module m, const char *name))                                            \
    F(cu_status, func_get_attribute, "cuFuncGetAttribute",                                         \
      (int *value, int attribute, cu_function f))                                                  \
    F(cu_status, func_set_attribute, "cuFuncSetAttribute",                                         \
      (cu_function f, int attribute, int value))                                                   \
    F(cu_status, occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                         \
      (int *blocks, cu_function f, int threads, size_t smem))                                      \
    F(cu_status, launch_kernel, "cuLaunchKernel",                                                  \
      (cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,             \
       unsigned bz, unsigned smem, cu_stream stream, void **args, void **extra))                   \
    F(cu_status, launch_kernel_ex, "cuLaunchKernelEx",                                             \
      (const struct cu_launch_config *config, cu_function f, void **args, void **extra))           \
    F(cu_status, map_encode, "cuTensorMapEncodeTiled",                                             \
      (struct cu_tensor_map * out, int type, uint32_t rank, void *address, const uint64_t *size,   \
       const uint64_t *stride, const uint32_t *box, const uint32_t *step, int interleave,          \
       int swizzle, int promotion, int fill))                                                      \
    F(cu_status, map_encode_windows, "cuTensorMapEncodeIm2col",                                    \
      (struct cu_tensor_map * out, int type, uint32_t rank, void *address, const uint64_t *size,   \
       const uint64_t *stride, const int *lower, const int *upper, uint32_t channels,              \
       uint32_t pixels, const uint32_t *step, int interleave, int swizzle, int promotion,          \
       int fill))                                                                                  \
    F(cu_status, stream_create, "cuStreamCreate", (cu_stream * s, unsigned flags))                 \
    F(cu_status, stream_destroy, "cuStreamDestroy_v2", (cu_stream s))                              \
    F(cu_status, capture_begin, "cuStreamBeginCapture_v2", (cu_stream s, int mode))                \
    F(cu_status, capture_end, "cuStreamEndCapture", (cu_stream s, cu_graph * g))                   \
    F(cu_status, graph_instantiate, "cuGraphInstantiateWithFlags",                                 \
      (cu_graph_exec * e, cu_graph g, unsigned long long flags))                                   \
    F(cu_status, graph_launch, "cuGraphLaunch", (cu_graph_exec e, cu_stream s))                    \
    F(cu_status, graph_exec_destroy, "cuGraphExecDestroy", (cu_graph_exec e))                      \
    F(cu_status, graph_destroy, "cuGraphDestroy", (cu_graph g))

/* ---- NVRTC ----------------------------------------------------------------------------------- */

typedef int nvrtc_status;
typedef struct nvrtc_program_ *nvrtc_program;
enum { NVRTC_OK = 0, NVRTC_COMPILATION_ERROR = 6 };

#define NVRTC_FUNCTIONS(F)                                                                         \
    F(const char *, error_string, "nvrtcGetErrorString", (nvrtc_status s))                         \
    F(nvrtc_status, version, "nvrtcVersion", (int *major, int *minor))                             \
    F(nvrtc_status, create, "nvrtcCreateProgram",                                                  \
      (nvrtc_program * p, const char *source, const char *name, int n_headers,                     \
       const char *const *headers, const char *const *include_names))                              \
    F(nvrtc_status, destroy, "nvrtcDestroyProgram", (nvrtc_program * p))                           \
    F(nvrtc_status, compile, "nvrtcCompileProgram",                                                \
      (nvrtc_program p, int n_options, const char *const *options))                                \
    F(nvrtc_status, ptx_size, "nvrtcGetPTXSize", (nvrtc_program p, size_t * size))                 \
    F(nvrtc_status, ptx, "nvrtcGetPTX", (nvrtc_program p, char *ptx))                              \
    F(nvrtc_status, cubin_size, "nvrtcGetCUBINSize", (nvrtc_program p, size_t * size))             \
    F(nvrtc_status, cubin, "nvrtcGetCUBIN", (nvrtc_program p, char *cubin))                        \
    F(nvrtc_status, log_size, "nvrtcGetProgramLogSize", (nvrtc_program p, size_t * size))          \
    F(nvrtc_status, log, "nvrtcGetProgramLog", (nvrtc_program p, char *log))

/* ---- CUPTI ----------------------------------------------------------------------------------- */

typedef int cupti_status;
typedef struct cupti_subscriber_ *cupti_subscriber;

/* CUPTI_* */
#define CUPTI_CONSTANTS(C)                                                                         \
    C(ERROR_MAX_LIMIT_REACHED, 12)                                                                 \
    C(ERROR_INSUFFICIENT_PRIVILEGES, 35)                                                           \
    C(ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39)                                                \
    C(ACTIVITY_KIND_KERNEL, 3)                                                                     \
    C(ACTIVITY_KIND_CONCURRENT_KERNEL, 10)                                                         \
    C(ACTIVITY_FLAG_FLUSH_FORCED, 1)                                                               \
    C(CB_DOMAIN_DRIVER_API, 1)                                                                     \
    C(DRIVER_TRACE_CBID_cuLaunchKernel, 307)                                                       \
    C(DRIVER_TRACE_CBID_cuLaunchKernelEx, 652)                                                     \
    C(DRIVER_TRACE_CBID_cuGraphLaunch, 514)                                                        \
    C(API_ENTER, 0)

enum {
    CUPTI_OK = 0,
#define C(name, value) CUPTI_C_##name = value,
    CUPTI_CONSTANTS(C)
#undef C
};

/* Common prefix of CUpti_ActivityKernel4 .. CUpti_ActivityKernel10 (CUDA 9 .. 13): NVIDIA appends,
 * never moves. The record is packed to 8 bytes, and so are these members. */
struct cupti_kernel_record {
    uint32_t kind;
    uint8_t cache_config, shared_memory_config;
    uint16_t registers_per_thread;
    uint32_t partitioned_cache[2];
    uint64_t start, end, completed; /* ns; start and end both 0: no timing could be collected */
    uint32_t device_id, context_id, stream_id;
    int32_t grid[3], block[3];
    int32_t static_smem, dynamic_smem;
    uint32_t local_memory_per_thread, local_memory_total;
    uint32_t correlation_id;
    int64_t grid_id;
    const char *name;
};

/* CUpti_CallbackData */
struct cupti_callback_data {
    int site; /* API_ENTER or exit */
    const char *function_name;
    const void *params;
    void *return_value;
    const char *symbol_name;
    cu_context context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation_id;
};

typedef void (*cupti_callback)(void *user, int domain, uint32_t cbid, const void *data);
typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_completed)(cu_context ctx, uint32_t stream, uint8_t *buffer,
                                       size_t size, size_t valid);

#define CUPTI_FUNCTIONS(F)                                                                         \
    F(cupti_status, result_string, "cuptiGetResultString", (cupti_status s, const char **text))    \
    F(cupti_status, subscribe, "cuptiSubscribe",                                                   \
      (cupti_subscriber * s, cupti_callback callback, void *user))                                 \
    F(cupti_status, unsubscribe, "cuptiUnsubscribe", (cupti_subscriber s))                         \
    F(cupti_status, enable_callback, "cuptiEnableCallback",                                        \
      (uint32_t on, cupti_subscriber s, int domain, uint32_t cbid))                                \
    F(cupti_status, register_buffers, "cuptiActivityRegisterCallbacks",                            \
      (cupti_buffer_requested r, cupti_buffer_completed c))                                        \
    F(cupti_status, activity_enable, "cuptiActivityEnable", (int kind))                            \
    F(cupti_status, activity_disable, "cuptiActivityDisable", (int kind))                          \
    F(cupti_status, flush_all, "cuptiActivityFlushAll", (uint32_t flag))                           \
    F(cupti_status, next_record, "cuptiActivityGetNextRecord",                                     \
      (uint8_t * buffer, size_t valid, void **record))                                             \
    F(cupti_status, dropped, "cuptiActivityGetNumDroppedRecords",                                  \
      (cu_context ctx, uint32_t stream, size_t * n))                                               \
    F(cupti_status, timestamp, "cuptiGetTimestamp", (uint64_t * ns))

/* ---- NVML: libnvidia-ml.so.1 ----------------------------------------------------------------- */

/* The toolkit's wheels bring no nvml.h: names and values are from NVIDIA's NVML reference. */

typedef int nvml_status;
typedef struct nvml_device_ *nvml_device;
enum { NVML_OK = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0 };

#define NVML_FUNCTIONS(F)                                                                          \
    F(nvml_status, init, "nvmlInit_v2", (void))                                                    \
    F(nvml_status, shutdown, "nvmlShutdown", (void))                                               \
    F(nvml_status, driver_version, "nvmlSystemGetDriverVersion", (char *version, unsigned len))    \
    F(nvml_status, by_pci_bus_id, "nvmlDeviceGetHandleByPciBusId_v2",                              \
      (const char *id, nvml_device *dev))                                                          \
    F(nvml_status, clock_info, "nvmlDeviceGetClockInfo",                                           \
      (nvml_device dev, int type, unsigned *mhz))                                                  \
    F(nvml_status, temperature, "nvmlDeviceGetTemperature",                                        \
      (nvml_device dev, int sensor, unsigned *celsius))                                            \
    F(nvml_status, power_usage, "nvmlDeviceGetPowerUsage",                                         \
      (nvml_device dev, unsigned *milliwatts))                                                     \
    F(nvml_status, throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons",                  \
      (nvml_device dev, unsigned long long *bits))

/* ---- tables as structs ----------------------------------------------------------------------- */

#define F(type, field, symbol, args) type(*field) args;
struct cuda_api {
    CU_FUNCTIONS(F)
};
struct nvrtc_api {
    NVRTC_FUNCTIONS(F)
};
struct cupti_api {
    CUPTI_FUNCTIONS(F)
};
struct nvml_api {
    NVML_FUNCTIONS(F)
};
#undef F

#endif
