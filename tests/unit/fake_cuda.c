/* fake_cuda.c: a make-believe libcuda, libcupti, libnvrtc and libnvidia-ml in one shared object, so
 * that the CUDA half of the runtime is tested on machines without a GPU. test_runtime_cuda.c
 * compiles it and steers it through fake().
 *
 * Device memory is host memory and kernels do nothing, but every launch leaves the CUPTI record a
 * real one would: kernel "a" takes 1 us, "b" 2 us, anything else 50 us. Records are 216 bytes, as
 * in CUDA 13. One that may overlap begins half a microsecond before the one before it ends. Kernel
 * "map" does something: it copies its first and its third argument, tensor maps, to where its
 * second points.
 *
 * A process that cannot call fake(), a worker say, sees as many GPUs as FAKE_CUDA_GPUS says. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/api.h"
#include "tests/unit/fake_cuda.h"

enum { RECORD_BYTES = 216, MAX_RECORDS = 4096, MAX_ALLOCATIONS = 64, MAX_RECORDED = 64 };

static struct fake state;
static int generation;
static cupti_callback callback;
static void *callback_user;
static cupti_buffer_requested buffer_requested;
static cupti_buffer_completed buffer_completed;
static struct cupti_kernel_record records[MAX_RECORDS];
static int n_records;
static void *memory[MAX_ALLOCATIONS];
static uint32_t last_id;
static uint64_t now = 1000;

struct fake *fake(void);
struct fake *fake(void) {
    return &state;
}

__attribute__((constructor)) static void see_gpus(void) {
    const char *gpus = getenv("FAKE_CUDA_GPUS");
    if (gpus) state = (struct fake){.gpus = atoi(gpus), .major = 9};
}

#define EXPORT __attribute__((visibility("default")))
#define CU(name, ...)                                                                              \
    EXPORT int name(__VA_ARGS__);                                                                  \
    EXPORT int name(__VA_ARGS__)

#include "tests/unit/fake_profiler.h"

/* ---- driver -----------------------------------------------------------------------------------
 */

CU(cuInit, unsigned flags) {
    (void)flags;
    return state.gpus ? CU_OK : CU_ERR_NO_DEVICE;
}
CU(cuDriverGetVersion, int *v) { return *v = 13000, CU_OK; }
CU(cuGetErrorName, int s, const char **name) {
    *name = s == CU_ERR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : s == 500                  ? "CUDA_ERROR_NOT_FOUND"
                                        : "CUDA_ERROR_FAKE";
    return CU_OK;
}
CU(cuGetErrorString, int s, const char **text) {
    (void)s;
    *text = "as told by the fake";
    return CU_OK;
}
CU(cuDeviceGetCount, int *n) { return *n = state.gpus, CU_OK; }
CU(cuDeviceGet, int *dev, int ordinal) { return *dev = ordinal, CU_OK; }
CU(cuDeviceGetName, char *name, int len, int dev) {
    (void)dev;
    strncpy(name, "Fake H200", (size_t)len);
    return CU_OK;
}
CU(cuDeviceGetUuid, unsigned char uuid[16], int dev) {
    for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)(16 * dev + i);
    return CU_OK;
}
CU(cuDeviceGetAttribute, int *v, int attribute, int dev) {
    static const int values[][2] = {{CU_DEV_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
                                    {CU_DEV_MAX_THREADS_PER_BLOCK, 1024},
                                    {CU_DEV_WARP_SIZE, 32},
                                    {CU_DEV_CLOCK_RATE, 1980000},
                                    {CU_DEV_MULTIPROCESSOR_COUNT, 132},
                                    {CU_DEV_MEMORY_CLOCK_RATE, 3201000},
                                    {CU_DEV_GLOBAL_MEMORY_BUS_WIDTH, 6144},
                                    {CU_DEV_L2_CACHE_SIZE, 1 << 20},
                                    {CU_DEV_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
                                    {CU_DEV_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
                                    {CU_DEV_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
                                    {CU_DEV_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
                                    {CU_DEV_MAX_BLOCKS_PER_MULTIPROCESSOR, 32}};
    (void)dev;
    if (attribute == CU_DEV_COMPUTE_CAPABILITY_MAJOR) return *v = state.major, CU_OK;
    if (attribute == CU_DEV_COMPUTE_CAPABILITY_MINOR) return *v = state.minor, CU_OK;
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i][0] == attribute) return *v = values[i][1], CU_OK;
    return 1;
}
CU(cuDeviceGetPCIBusId, char *id, int len, int dev) {
    (void)dev;
    strncpy(id, "0000:01:00.0", (size_t)len);
    return CU_OK;
}
/* A context takes its memory with it, as a real one does; what a healthy one still holds was
 * forgotten. */
static void end_context(void) {
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (!memory[i]) continue;
        if (state.sync_status == CU_OK) state.leaked++;
        free(memory[i]);
        memory[i] = NULL;
    }
}
CU(cuDevicePrimaryCtxRetain, cu_context *ctx, int dev) {
    (void)dev;
    state.contexts++;
    *ctx = (cu_context)&generation;
    return CU_OK;
}
CU(cuDevicePrimaryCtxRelease_v2, int dev) {
    (void)dev;
    state.contexts--;
    end_context();
    return CU_OK;
}
CU(cuDevicePrimaryCtxReset_v2, int dev) {
    (void)dev;
    if (state.reset_status == CU_OK) state.sync_status = CU_OK;
    return state.reset_status;
}
CU(cuCtxSetCurrent, cu_context ctx) {
    (void)ctx;
    return CU_OK;
}
CU(cuCtxSynchronize, void) { return state.sync_status; }
CU(cuCtxResetPersistingL2Cache, void) {
    state.l2_resets++;
    return state.l2_status;
}
CU(cuDeviceTotalMem_v2, size_t *bytes, int dev) {
    (void)dev;
    return *bytes = (size_t)141 << 30, CU_OK;
}
static size_t taken, sizes[MAX_ALLOCATIONS]; /* of a quarter of memory and more */
CU(cuMemGetInfo_v2, size_t *left, size_t *total) {
    *total = 1 << 30;
    return *left = *total - taken, CU_OK;
}
CU(cuMemAlloc_v2, uint64_t *p, size_t bytes) {
    void *q = bytes > 1u << 30 ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
    int i = 0;
    while (i < MAX_ALLOCATIONS && memory[i]) i++;
    if (!q || i == MAX_ALLOCATIONS) return 2;
    memory[i] = q;
    taken += sizes[i] = bytes >> 28 ? bytes : 0;
    return *p = (uint64_t)(uintptr_t)q, CU_OK;
}
CU(cuMemFree_v2, uint64_t p) {
    for (int i = 0; i < MAX_ALLOCATIONS; i++)
        if (memory[i] == (void *)(uintptr_t)p) {
            free(memory[i]);
            memory[i] = NULL;
            taken -= sizes[i];
            return CU_OK;
        }
    return 1;
}
CU(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t n) {
    return memcpy((void *)(uintptr_t)to, from, n), CU_OK;
}
CU(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t n) {
    return memcpy(to, (void *)(uintptr_t)from, n), CU_OK;
}
CU(cuMemsetD8_v2, uint64_t p, unsigned char byte, size_t n) {
    return memset((void *)(uintptr_t)p, byte, n), CU_OK;
}
CU(cuModuleLoadData, cu_module *m, const void *image) {
    (void)image;
    state.loaded++;
    return *m = (cu_module)&state, CU_OK;
}
CU(cuModuleUnload, cu_module m) {
    (void)m;
    state.loaded--;
    return CU_OK;
}
/* A function is its name; "missing" does not exist. */
CU(cuModuleGetFunction, cu_function *f, cu_module m, const char *name) {
    static const char *const known[] = {
        "a", "b", "map", "ws_flush", "ws_drain", "ws_compare", "ws_find_changed", "ws_copy"};
    (void)m;
    if (!strncmp(name, "ws_copy_", 8)) name = "ws_copy"; /* all shapes are alike */
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i])) return *f = (cu_function)(uintptr_t)known[i], CU_OK;
    return 500;
}
CU(cuFuncGetAttribute, int *v, int attribute, cu_function f) {
    (void)f;
    *v = attribute == CU_FUNC_NUM_REGS ? 40 : attribute == CU_FUNC_LOCAL_SIZE_BYTES ? 16 : 1024;
    return CU_OK;
}
CU(cuFuncSetAttribute, cu_function f, int attribute, int v) {
    (void)f;
    return attribute == CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES && v > 232448 ? 1 : CU_OK;
}
CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, cu_function f, int threads,
   size_t smem) {
    (void)f, (void)smem;
    return *blocks = 2048 / threads, CU_OK;
}

static void record_launch(const char *name, bool overlaps) {
    uint64_t ns = !strcmp(name, "a") ? 1000 : !strcmp(name, "b") ? 2000 : 50000;
    struct cupti_kernel_record r = {.kind = CUPTI_C_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                    .correlation_id = last_id};
    state.launches++;
    state.flushes += !strcmp(name, "ws_flush");
    if (strcmp(name, "ws_flush") != 0 && state.drop > 0) {
        state.drop--;
        return;
    }
    r.start = now - (overlaps ? 500 : 0);
    r.end = now += ns;
    if (strcmp(name, "ws_flush") != 0 && state.zero > 0) state.zero--, r.start = r.end = 0;
    if (state.tracing && n_records < MAX_RECORDS) records[n_records++] = r;
}

/* There is one stream but for the default, and it records from beginning to end of a capture. */
static struct {
    bool records;
    int n;
    struct {
        const char *name;
        bool overlaps;
    } launches[MAX_RECORDED];
} stream, graph;

/* What the kernel of that name leaves in its result: struct compare_result of cuda/kernels.c. */
static void compare(void **args) {
    unsigned long long *result = *(unsigned long long **)args[0];
    const char *got = *(const char **)args[2], *want = *(const char **)args[5];
    const float *bound = *(const float **)args[6];
    size_t bytes = (size_t) * (const int *)args[4];
    result[0] = state.bad;
    result[1] = state.unbounded;
    result[2] = state.worst;
    if (state.worst >= *(const uint64_t *)args[7]) return;
    memcpy(&result[4], got + state.worst * bytes, bytes);
    memcpy(&result[5], want + state.worst * 8, 8);
    if (bound) memcpy(&result[6], &bound[state.worst], sizeof *bound);
}

static int launch(uint32_t cbid, bool overlaps, cu_stream on, cu_function f, void **args) {
    struct cupti_callback_data data = {.site = 0, .correlation_id = ++last_id};
    if (state.sync_status != CU_OK) return state.sync_status;
    profile_launch((const char *)f);
    if (callback && !state.silent) callback(callback_user, 1, cbid, &data);
    if (!strcmp((const char *)f, "map")) { /* arguments are taken when it is submitted */
        struct cu_tensor_map *to = *(struct cu_tensor_map **)args[1];
        memcpy(&to[0], args[0], sizeof *to);
        memcpy(&to[1], args[2], sizeof *to);
    }
    if (on && stream.records && stream.n < MAX_RECORDED) {
        stream.launches[stream.n].name = (const char *)f;
        stream.launches[stream.n++].overlaps = overlaps;
        return CU_OK;
    }
    record_launch((const char *)f, overlaps);
    if (!strcmp((const char *)f, "ws_compare")) compare(args);
    data.site = 1;
    if (callback && !state.silent) callback(callback_user, 1, cbid, &data);
    return CU_OK;
}

CU(cuLaunchKernel, cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
   unsigned bz, unsigned smem, cu_stream on, void **args, void **extra) {
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)smem, (void)extra;
    return launch(CUPTI_C_DRIVER_TRACE_CBID_cuLaunchKernel, false, on, f, args);
}
CU(cuLaunchKernelEx, const struct cu_launch_config *l, cu_function f, void **args, void **extra) {
    bool overlaps = l->n_attributes == 1 &&
                    l->attributes->id == CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION &&
                    l->attributes->value.allowed;
    (void)extra;
    state.overlapping += overlaps;
    return launch(CUPTI_C_DRIVER_TRACE_CBID_cuLaunchKernelEx, overlaps, l->stream, f, args);
}

CU(cuTensorMapEncodeTiled, struct cu_tensor_map *out, int type, uint32_t rank, void *address,
   const uint64_t *size, const uint64_t *stride, const uint32_t *box, const uint32_t *step,
   int interleave, int swizzle, int promotion, int fill) {
    struct fake_map m = {.address = (uint64_t)(uintptr_t)address,
                         .type = (uint8_t)type,
                         .rank = (uint8_t)rank,
                         .swizzle = (uint8_t)swizzle,
                         .promotion = (uint8_t)promotion,
                         .plain = interleave == 0 && fill == 0};
    if ((uintptr_t)out % 128) state.misused++;
    if (state.map_status != CU_OK) return state.map_status;
    for (uint32_t i = 0; i < rank; i++) {
        m.size[i] = size[i];
        if (i + 1 < rank) m.stride[i] = stride[i];
        m.box[i] = (uint16_t)box[i];
        m.plain &= step[i] == 1;
    }
    memset(out, 0, sizeof *out);
    memcpy(out, &m, sizeof m);
    state.maps++;
    return CU_OK;
}

CU(cuTensorMapEncodeIm2col, struct cu_tensor_map *out, int type, uint32_t rank, void *address,
   const uint64_t *size, const uint64_t *stride, const int *lower, const int *upper,
   uint32_t channels, uint32_t pixels, const uint32_t *step, int interleave, int swizzle,
   int promotion, int fill) {
    struct fake_map m = {.address = (uint64_t)(uintptr_t)address,
                         .type = (uint8_t)type,
                         .rank = (uint8_t)rank,
                         .swizzle = (uint8_t)swizzle,
                         .promotion = (uint8_t)promotion,
                         .windows = true,
                         .plain = interleave == 0 && fill == 0 && step[0] == 1,
                         .box = {(uint16_t)channels, (uint16_t)pixels}};
    if ((uintptr_t)out % 128) state.misused++;
    if (state.map_status != CU_OK) return state.map_status;
    for (uint32_t i = 0; i < rank; i++) {
        m.size[i] = size[i];
        if (i + 1 < rank) m.stride[i] = stride[i];
    }
    for (uint32_t d = 0; d + 2 < rank; d++) {
        m.lower[d] = (int16_t)lower[d];
        m.upper[d] = (int16_t)upper[d];
        m.step[d] = (uint8_t)step[d + 1];
    }
    memset(out, 0, sizeof *out);
    memcpy(out, &m, sizeof m);
    state.maps++;
    return CU_OK;
}

CU(cuStreamCreate, cu_stream *s, unsigned flags) {
    (void)flags;
    state.leaked++;
    return *s = (cu_stream)&stream, CU_OK;
}
CU(cuStreamDestroy_v2, cu_stream s) {
    (void)s;
    state.leaked--;
    return CU_OK;
}
CU(cuStreamBeginCapture_v2, cu_stream s, int mode) {
    (void)s;
    stream.records = true;
    stream.n = 0;
    return mode == CU_CAPTURE_THREAD_LOCAL ? CU_OK : 1;
}
CU(cuStreamEndCapture, cu_stream s, cu_graph *g) {
    (void)s;
    stream.records = false;
    state.leaked++;
    return *g = (cu_graph)&stream, CU_OK;
}
CU(cuGraphInstantiateWithFlags, cu_graph_exec *e, cu_graph g, unsigned long long flags) {
    (void)g, (void)flags;
    if (state.graph_status != CU_OK) return state.graph_status;
    graph = stream;
    state.leaked++;
    return *e = (cu_graph_exec)&graph, CU_OK;
}
/* Its launches have one correlation id. */
CU(cuGraphLaunch, cu_graph_exec e, cu_stream s) {
    struct cupti_callback_data data = {.site = 0, .correlation_id = ++last_id};
    (void)e, (void)s;
    if (state.sync_status != CU_OK) return state.sync_status;
    state.graph_launches++;
    if (callback && !state.silent)
        callback(callback_user, 1, CUPTI_C_DRIVER_TRACE_CBID_cuGraphLaunch, &data);
    for (int i = 0; i < graph.n; i++)
        record_launch(graph.launches[i].name, graph.launches[i].overlaps);
    return CU_OK;
}
CU(cuGraphExecDestroy, cu_graph_exec e) {
    (void)e;
    state.leaked--;
    return CU_OK;
}
CU(cuGraphDestroy, cu_graph g) {
    (void)g;
    state.leaked--;
    return CU_OK;
}

/* ---- CUPTI ------------------------------------------------------------------------------------
 */

CU(cuptiGetResultString, int s, const char **text) {
    *text = s == 39   ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
            : s == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                      : "CUPTI_ERROR_FAKE";
    return CUPTI_OK;
}
CU(cuptiSubscribe, cupti_subscriber *s, cupti_callback c, void *user) {
    if (state.subscribe_status != CUPTI_OK) return state.subscribe_status;
    if (callback) return CUPTI_C_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    state.subscriptions++;
    callback = c;
    callback_user = user;
    *s = (cupti_subscriber)&state;
    return CUPTI_OK;
}
CU(cuptiUnsubscribe, cupti_subscriber s) {
    (void)s;
    state.subscriptions--;
    callback = NULL;
    return CUPTI_OK;
}
CU(cuptiEnableCallback, uint32_t on, cupti_subscriber s, int domain, uint32_t cbid) {
    (void)on, (void)s, (void)domain, (void)cbid;
    return CUPTI_OK;
}
CU(cuptiActivityRegisterCallbacks, cupti_buffer_requested r, cupti_buffer_completed c) {
    buffer_requested = r;
    buffer_completed = c;
    return CUPTI_OK;
}
CU(cuptiActivityEnable, int kind) {
    state.tracing = 1;
    return kind == CUPTI_C_ACTIVITY_KIND_CONCURRENT_KERNEL ? CUPTI_OK : 1;
}
CU(cuptiActivityDisable, int kind) {
    (void)kind;
    state.tracing = 0;
    return CUPTI_OK;
}
CU(cuptiActivityFlushAll, uint32_t flag) {
    (void)flag;
    for (int done = 0; done < n_records;) {
        uint8_t *buffer = NULL;
        size_t size = 0, most = 0, fit;
        buffer_requested(&buffer, &size, &most);
        fit = size / RECORD_BYTES;
        if (!buffer || !fit) return 8;
        if (fit > (size_t)(n_records - done)) fit = (size_t)(n_records - done);
        /* newest first: records come in no order */
        for (size_t i = 0; i < fit; i++) {
            memset(buffer + i * RECORD_BYTES, 0xee, RECORD_BYTES);
            memcpy(buffer + i * RECORD_BYTES, &records[n_records - 1 - done - (int)i],
                   sizeof *records);
        }
        done += (int)fit;
        buffer_completed(NULL, 0, buffer, size, fit * RECORD_BYTES);
    }
    n_records = 0;
    return CUPTI_OK;
}
CU(cuptiActivityGetNextRecord, uint8_t *buffer, size_t valid, void **record) {
    uint8_t *next = *record ? (uint8_t *)*record + RECORD_BYTES : buffer;
    if (next >= buffer + valid) return CUPTI_C_ERROR_MAX_LIMIT_REACHED;
    return *record = next, CUPTI_OK;
}
CU(cuptiActivityGetNumDroppedRecords, cu_context ctx, uint32_t stream, size_t *n) {
    (void)ctx, (void)stream;
    return *n = 0, CUPTI_OK;
}

CU(cuptiGetTimestamp, uint64_t *ns) {
    *ns = state.behind > 0 ? now : 0;
    if (state.behind > 0) state.behind--;
    return CUPTI_OK;
}

/* ---- NVRTC ------------------------------------------------------------------------------------
 */

EXPORT const char *nvrtcGetErrorString(int s);
EXPORT const char *nvrtcGetErrorString(int s) {
    return s == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_FAKE";
}
CU(nvrtcVersion, int *major, int *minor) { return *major = 13, *minor = 9, NVRTC_OK; }
CU(nvrtcCreateProgram, nvrtc_program *p, const char *source, const char *name, int n,
   const char *const *headers, const char *const *names) {
    (void)source, (void)name, (void)n, (void)headers, (void)names;
    return *p = (nvrtc_program)&state, NVRTC_OK;
}
CU(nvrtcDestroyProgram, nvrtc_program *p) { return *p = NULL, NVRTC_OK; }
CU(nvrtcCompileProgram, nvrtc_program p, int n, const char *const *options) {
    (void)p, (void)n, (void)options;
    return state.bad_nvrtc ? NVRTC_COMPILATION_ERROR : NVRTC_OK;
}
static const char PTX[] = "// Cuda compilation tools, release 13.9, V13.9.7\n";
CU(nvrtcGetPTXSize, nvrtc_program p, size_t *n) {
    (void)p;
    return *n = sizeof PTX, NVRTC_OK;
}
CU(nvrtcGetPTX, nvrtc_program p, char *ptx) {
    (void)p;
    return memcpy(ptx, PTX, sizeof PTX), NVRTC_OK;
}
CU(nvrtcGetCUBINSize, nvrtc_program p, size_t *n) {
    (void)p;
    return *n = 128, NVRTC_OK;
}
CU(nvrtcGetCUBIN, nvrtc_program p, char *cubin) {
    (void)p;
    memset(cubin, 0, 128);
    memcpy(cubin, "\177ELF", 4);
    return NVRTC_OK;
}
CU(nvrtcGetProgramLogSize, nvrtc_program p, size_t *n) {
    (void)p;
    return *n = 1, NVRTC_OK;
}
CU(nvrtcGetProgramLog, nvrtc_program p, char *log) {
    (void)p;
    return *log = 0, NVRTC_OK;
}

/* ---- NVML -------------------------------------------------------------------------------------
 */

CU(nvmlInit_v2, void) { return NVML_OK; }
CU(nvmlShutdown, void) { return NVML_OK; }
CU(nvmlSystemGetDriverVersion, char *v, unsigned len) {
    return strncpy(v, "580.1.2", len), NVML_OK;
}
CU(nvmlDeviceGetHandleByPciBusId_v2, const char *id, nvml_device *dev) {
    if (strcmp(id, "0000:01:00.0") != 0) return 6;
    return *dev = (nvml_device)&state, NVML_OK;
}
CU(nvmlDeviceGetClockInfo, nvml_device dev, int type, unsigned *mhz) {
    (void)dev;
    return *mhz = type == NVML_CLOCK_SM ? 1980 : 3201, NVML_OK;
}
CU(nvmlDeviceGetTemperature, nvml_device dev, int sensor, unsigned *celsius) {
    (void)dev, (void)sensor;
    return *celsius = 41, NVML_OK;
}
CU(nvmlDeviceGetPowerUsage, nvml_device dev, unsigned *mw) {
    (void)dev;
    return *mw = 123600, NVML_OK;
}
CU(nvmlDeviceGetCurrentClocksThrottleReasons, nvml_device dev, unsigned long long *bits) {
    (void)dev;
    return *bits = state.throttle, NVML_OK;
}
