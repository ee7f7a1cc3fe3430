/* cuda_device.h: what the files of runtime/cuda/ share.
 *
 *   library.c   opens libcuda, libnvrtc, libcupti, libnvidia-ml
 *   nvrtc.c     CUDA C -> cubin (and PTX)
 *   driver.c    context, memory, modules, launches
 *   map.c       tensor maps, as the driver encodes them
 *   graph.c     several launches as one CUDA graph
 *   limits.c    what the device is: limits, name, clocks
 *   cupti.c     kernel records by correlation id
 *   timing.c    device_time on top of them
 *   profiler.c  device_count: hardware counters
 *   nvml.c      clocks, temperature, power, throttling
 *   kernels.c   helper kernels: flush, copy, compare */
#ifndef WS_RUNTIME_CUDA_DEVICE_H
#define WS_RUNTIME_CUDA_DEVICE_H

#include "runtime/cuda/api.h"
#include "runtime/cuda/profiler_api.h"
#include "runtime/vtable.h"

/* ---- library.c ------------------------------------------------------------------------------- */

/* Fill a table of function pointers from the first library found. WS_MACHINE with every place
 * looked in. */
enum ws_status cuda_api_open(struct cuda_api *api, const struct env *env, struct arena *a,
                             struct diag *d);
enum ws_status nvrtc_api_open(struct nvrtc_api *api, const struct env *env, struct arena *a,
                              struct diag *d);
enum ws_status cupti_api_open(struct cupti_api *api, const struct env *env, struct arena *a,
                              struct diag *d);
enum ws_status profiler_api_open(struct profiler_api *api, const struct env *env, struct arena *a,
                                 struct diag *d);
enum ws_status nvml_api_open(struct nvml_api *api, const struct env *env, struct arena *a,
                             struct diag *d);

/* ---- cupti.c --------------------------------------------------------------------------------- */

struct cupti; /* the process's one subscription */

enum ws_status cupti_open(const struct env *env, struct arena *a, struct diag *d,
                          struct cupti **out);
void cupti_close(struct cupti *c);

/* The correlation id of the last launch, of a kernel or a graph, since the last call, or 0 if CUPTI
 * saw none. */
uint32_t cupti_take_correlation(struct cupti *c);

struct kernel_time {
    uint32_t correlation;
    uint64_t start, end; /* ns */
};

/* Keep the records of kernels that run from now on; the context must be idle. */
void cupti_begin(struct cupti *c);
/* The context has been synchronised: deliver what was kept, sorted by correlation id, and the
 * kernels of a graph, which share one, by their start. At least `expected` records are waited for.
 * The array is valid until the next begin. */
enum ws_status cupti_end(struct cupti *c, int expected, const struct kernel_time **out, int *n,
                         struct diag *d);
/* No records from here on, so that counting and tracing do not meet; both may be called when it is
 * so already. What was not delivered yet is dropped. */
void cupti_pause(struct cupti *c);
enum ws_status cupti_resume(struct cupti *c, struct diag *d);
/* Now, on the clock of the records, in ns; UINT64_MAX if CUPTI does not say. */
uint64_t cupti_now(const struct cupti *c);
/* Records CUPTI said it dropped, since the subscription. */
size_t cupti_dropped(const struct cupti *c);

/* ---- profiler.c ------------------------------------------------------------------------------ */

struct cuda_device;
struct profiler; /* made at the first device_count */

enum ws_status cuda_count_launches(struct device *dev, const struct launch *l, int n,
                                   struct counters *out, struct diag *d);
/* Before anything that wants times, and before the context goes: tracing goes on. Does nothing if
 * it does. */
enum ws_status profiler_leave(struct cuda_device *c, struct diag *d);
void profiler_close(struct profiler *p); /* NULL: was never made */
/* "enable 120.0 ms in 1, start 2.1 ms in 7": what CUPTI's functions have taken so far. */
void profiler_put_costs(const struct cuda_device *c, struct buf *b);
const char *profiler_metric_name(int i); /* of those asked for; NULL past the last */

/* ---- nvml.c ---------------------------------------------------------------------------------- */

struct nvml; /* NULL where the library is missing: every field of health is then unknown */

struct nvml *nvml_open(const char *pci_bus_id, const struct env *env, struct arena *a);
void nvml_close(struct nvml *n);
void nvml_health(struct nvml *n, struct health *out);
bool nvml_driver_version(struct nvml *n, char *out, size_t size);

/* ---- kernels.c ------------------------------------------------------------------------------- */

struct cuda_device;

/* Everything the helper kernels need; allocated at first use, gone with the context. */
struct helpers {
    struct module *module;
    dptr flush_buffer;
    int64_t flush_bytes;
    dptr result; /* of compare, take, share, find_changed */
    dptr parts;  /* of compare: what each block has found */
    dptr places; /* of find_changed: addresses, room for most_places */
    int most_places;
};

const char *helpers_source(struct arena *a); /* CUDA C */
/* They are begun to be compiled, beside whatever follows: it takes as long as making a context. */
void helpers_begin(struct cuda_device *c);
void helpers_end(struct cuda_device *c); /* waits for that, and drops it */
/* Waits for what was launched before, then launches so many flushes. */
enum ws_status helpers_flush(struct cuda_device *c, int times, struct diag *d);
/* After a flush: nothing in the L2 is left to be written back. Asynchronous. */
enum ws_status helpers_drain_launch(struct cuda_device *c, struct diag *d);
enum ws_status helpers_prepare(struct cuda_device *c, struct diag *d);
void helpers_release(struct cuda_device *c);
enum ws_status cuda_compare(struct device *dev, dptr got, struct runs runs, enum dtype dtype,
                            dptr want, int64_t n, dptr bound, struct mismatch *out, struct diag *d);
enum ws_status cuda_take(struct device *dev, dptr from, enum dtype dtype, dptr want, int64_t n,
                         double share, dptr bound, struct diag *d);
enum ws_status cuda_share(struct device *dev, enum dtype dtype, dptr want, dptr bound, int64_t n,
                          double *share, struct diag *d);
enum ws_status cuda_find_changed(struct device *dev, const dptr *at, int n, size_t bytes, int byte,
                                 int *first, struct diag *d);
enum ws_status cuda_copy_gbps(struct device *dev, double *gbps, struct diag *d);

/* ---- driver.c -------------------------------------------------------------------------------- */

struct cuda_device {
    struct device base;
    struct cuda_api api;
    struct arena *arena; /* used at open */
    struct env env;
    cu_device dev;
    cu_context ctx;
    struct cupti *cupti;
    struct profiler *profiler;
    struct nvml *nvml;
    struct helpers_made *made; /* what the helper kernels are compiled into; NULL: nothing yet */
    struct helpers helpers;
    double cleared_ms; /* clock_ms() by which what was freed should be cleared */
};

/* "cuMemAlloc of 64 bytes on cuda:0: CUDA_ERROR_OUT_OF_MEMORY (out of memory)"; a sticky error
 * marks dev lost. */
enum ws_status cuda_fail(struct cuda_device *c, struct diag *d, cu_status s, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A launch whose function is resolved, whose attributes are set and whose tensor maps are encoded.
 */
struct ready {
    cu_function function; /* NULL: an empty grid, nothing to do */
    bool overlaps;        /* with the one submitted before it */
    unsigned grid[3], threads, smem;
    cu_stream stream; /* NULL: the default */
    void *args[LAUNCH_MAX_ARGS];
    struct cu_tensor_map *maps; /* those among args; NULL: none */
    const char *entry;
};
/* follows: it may overlap what is submitted before it. */
enum ws_status cuda_ready(struct cuda_device *c, const struct launch *l, bool follows,
                          struct ready *out, struct diag *d);
/* Of launches in a row; apart: none overlaps the one before it. To be freed in any case, and no
 * sooner than they have been submitted for the last time. */
enum ws_status cuda_ready_all(struct cuda_device *c, const struct launch *l, int n, bool apart,
                              struct ready **out, struct diag *d);
void cuda_ready_free(struct ready *r, int n); /* r may be NULL */
/* Is anything in a module that was never timed before? From now on all of them were. */
bool cuda_first_timed(const struct launch *l, int n);
enum ws_status cuda_submit(struct cuda_device *c, const struct ready *r, struct diag *d);
enum ws_status cuda_synchronize(struct cuda_device *c, const char *after, struct diag *d);
enum ws_status cuda_enter(struct cuda_device *c,
                          struct diag *d); /* make the context current in this thread */

/* ---- map.c ----------------------------------------------------------------------------------- */

/* The tensor maps of a launch, encoded, in a malloc'ed array; out->args point into it. */
enum ws_status cuda_encode_maps(struct cuda_device *c, const struct launch *l, struct ready *out,
                                struct diag *d);

/* ---- graph.c --------------------------------------------------------------------------------- */

/* Are these launches to be a graph? Of one there is nothing to gain. */
bool cuda_wants_graph(const struct cuda_device *c, const struct ready *r, int n);
/* Nothing runs yet. Launches that overlap do so in the graph, too. */
enum ws_status cuda_graph_record(struct cuda_device *c, const struct ready *r, int n,
                                 cu_graph_exec *out, struct diag *d);
enum ws_status cuda_graph_submit(struct cuda_device *c, cu_graph_exec g, const char *first,
                                 struct diag *d);
void cuda_graph_free(struct cuda_device *c, cu_graph_exec g); /* NULL is none */

/* ---- limits.c, timing.c ---------------------------------------------------------------------- */

enum ws_status cuda_read_limits(struct cuda_device *c, struct diag *d);
enum ws_status cuda_read_facts(struct cuda_device *c, int ordinal, struct diag *d);
enum ws_status cuda_time(struct device *dev, const struct launch *l, int n, int samples, bool flush,
                         double *us, struct sample_extra *extra, struct diag *d);

#endif
