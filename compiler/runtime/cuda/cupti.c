/* cupti.c: when each kernel of ours started and ended, from CUPTI's activity records.
 *
 *   cupti_begin              records from here on are kept
 *   cuLaunchKernel[Ex], cuGraphLaunch
 *                            a driver-API callback notes the launch's correlation id
 *   cupti_take_correlation   that id
 *   (synchronise)
 *   cupti_end                flush; {correlation, start, end} sorted by correlation id
 *
 * The kind is CONCURRENT_KERNEL: KIND_KERNEL would serialise all kernels. It stays enabled from
 * open to close, because CUPTI loses records in the moments after it is enabled; outside begin..end
 * buffers are taken and dropped. It pauses only while hardware counters are read (profiler.c), and
 * from long runs that nobody times to the next time that is asked for: a record costs a launch some
 * microseconds, and a recurrent net's reference has 300,000.
 *
 * We subscribe first: that is how another profiler in the process (a debugger, Nsight, PyTorch's
 * profiler) is found out. CUPTI admits one subscriber a process and its buffer callbacks carry no
 * user pointer, so the one static variable of this folder is forced by its interface. Buffers may
 * come back on a thread of CUPTI's own: hence the mutex. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/cuda/cuda_device.h"

enum {
    BUFFER_BYTES = 1 << 20,
    FLUSH_TRIES = 20, /* with 1 ms between: records are rarely late, never by more than a few ms */
};

struct cupti {
    struct cupti_api api;
    cupti_subscriber subscriber;
    uint32_t correlation; /* of the last launch, written on the launching thread */
    pthread_mutex_t lock; /* guards what follows */
    bool keep;
    struct kernel_time *times; /* malloc'ed: CUPTI's thread appends */
    size_t n, cap;
    size_t dropped;
    bool out_of_memory;
    bool paused; /* of the launching thread alone */
};

static struct cupti *_Atomic active;

/* ---- callbacks ------------------------------------------------------------------------------- */

/* What launches, with the names that errors have. */
static const struct {
    uint32_t cbid;
    const char *enable;
} launching[] = {
    {CUPTI_C_DRIVER_TRACE_CBID_cuLaunchKernel, "cuptiEnableCallback(cuLaunchKernel)"},
    {CUPTI_C_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuptiEnableCallback(cuLaunchKernelEx)"},
    {CUPTI_C_DRIVER_TRACE_CBID_cuGraphLaunch, "cuptiEnableCallback(cuGraphLaunch)"},
};
enum { N_LAUNCHING = sizeof launching / sizeof *launching };

static void on_launch(void *user, int domain, uint32_t cbid, const void *data) {
    const struct cupti_callback_data *call = data;
    struct cupti *c = user;
    bool launches = false;
    for (int i = 0; i < N_LAUNCHING; i++) launches |= cbid == launching[i].cbid;
    if (domain == CUPTI_C_CB_DOMAIN_DRIVER_API && launches && call->site == CUPTI_C_API_ENTER)
        c->correlation = call->correlation_id;
}

static void on_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records) {
    *buffer = aligned_alloc(64, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0; /* as many as fit */
}

static void keep_record(struct cupti *c, const struct cupti_kernel_record *r) {
    if (c->n == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 1024;
        struct kernel_time *grown = realloc(c->times, cap * sizeof *grown);
        if (!grown) {
            c->out_of_memory = true;
            return;
        }
        c->times = grown;
        c->cap = cap;
    }
    c->times[c->n++] = (struct kernel_time){r->correlation_id, r->start, r->end};
}

static void on_buffer_completed(cu_context ctx, uint32_t stream, uint8_t *buffer, size_t size,
                                size_t valid) {
    struct cupti *c = active;
    (void)size;
    if (c) {
        pthread_mutex_lock(&c->lock);
        void *record = NULL;
        while (c->keep && valid && c->api.next_record(buffer, valid, &record) == CUPTI_OK) {
            const struct cupti_kernel_record *r = record;
            if (r->kind == CUPTI_C_ACTIVITY_KIND_CONCURRENT_KERNEL ||
                r->kind == CUPTI_C_ACTIVITY_KIND_KERNEL)
                keep_record(c, r);
        }
        size_t dropped = 0;
        if (c->api.dropped(ctx, stream, &dropped) == CUPTI_OK) c->dropped += dropped;
        pthread_mutex_unlock(&c->lock);
    }
    free(buffer);
}

/* ---- open and close -------------------------------------------------------------------------- */

static enum ws_status cupti_fail(const struct cupti *c, struct diag *d, cupti_status s,
                                 const char *what) {
    const char *text = NULL;
    if (s == CUPTI_C_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return diag_fail(d, WS_MACHINE,
                         "CUPTI is taken by another profiler in this process (%s: "
                         "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED); kernels cannot be "
                         "timed. Run without nsys, ncu, "
                         "a CUDA debugger or NVTX_INJECTION64_PATH",
                         what);
    if (c->api.result_string(s, &text) != CUPTI_OK || !text) text = "unknown CUPTI error";
    return diag_fail(d, WS_MACHINE, "%s: %s (%d)%s", what, text, s,
                     s == CUPTI_C_ERROR_INSUFFICIENT_PRIVILEGES
                         ? "; the driver restricts profiling to administrators"
                         : "");
}

enum ws_status cupti_open(const struct env *env, struct arena *a, struct diag *d,
                          struct cupti **out) {
    if (active)
        return diag_fail(d, WS_MACHINE,
                         "a CUDA device is already open in this process: CUPTI times one at a "
                         "time; close it first");
    struct cupti *c = NEW(a, struct cupti);
    if (cupti_api_open(&c->api, env, a, d) != WS_OK) return d->status;
    pthread_mutex_init(&c->lock, NULL);
    cupti_status s = c->api.subscribe(&c->subscriber, on_launch, c);
    if (s != CUPTI_OK) return cupti_fail(c, d, s, "cuptiSubscribe");
    active = c;
    const char *what = NULL;
    for (int i = 0; i < N_LAUNCHING && s == CUPTI_OK; i++) {
        what = launching[i].enable;
        s = c->api.enable_callback(1, c->subscriber, CUPTI_C_CB_DOMAIN_DRIVER_API,
                                   launching[i].cbid);
    }
    if (s == CUPTI_OK) {
        what = "cuptiActivityRegisterCallbacks";
        s = c->api.register_buffers(on_buffer_requested, on_buffer_completed);
    }
    if (s == CUPTI_OK) {
        what = "cuptiActivityEnable(CONCURRENT_KERNEL)";
        s = c->api.activity_enable(CUPTI_C_ACTIVITY_KIND_CONCURRENT_KERNEL);
    }
    if (s == CUPTI_OK) return *out = c, WS_OK;
    cupti_close(c);
    return cupti_fail(c, d, s, what);
}

void cupti_close(struct cupti *c) {
    c->api.activity_disable(CUPTI_C_ACTIVITY_KIND_CONCURRENT_KERNEL);
    c->api.flush_all(CUPTI_C_ACTIVITY_FLAG_FLUSH_FORCED);
    c->api.unsubscribe(c->subscriber);
    active = NULL; /* a buffer that comes back later still is only freed */
    free(c->times);
    c->times = NULL;
    c->n = c->cap = 0;
}

/* ---- collecting ------------------------------------------------------------------------------ */

uint32_t cupti_take_correlation(struct cupti *c) {
    uint32_t id = c->correlation;
    c->correlation = 0;
    return id;
}

void cupti_begin(struct cupti *c) {
    c->api.flush_all(0); /* what ran before is of no interest */
    pthread_mutex_lock(&c->lock);
    c->n = 0;
    c->keep = true;
    c->out_of_memory = false;
    pthread_mutex_unlock(&c->lock);
    c->correlation = 0;
}

static int by_correlation(const void *a, const void *b) {
    const struct kernel_time *x = a, *y = b;
    if (x->correlation != y->correlation) return x->correlation < y->correlation ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static size_t count_records(struct cupti *c) {
    pthread_mutex_lock(&c->lock);
    size_t n = c->n;
    pthread_mutex_unlock(&c->lock);
    return n;
}

enum ws_status cupti_end(struct cupti *c, int expected, const struct kernel_time **out, int *n,
                         struct diag *d) {
    cupti_status s = c->api.flush_all(0);
    for (int i = 0; i < FLUSH_TRIES && s == CUPTI_OK && count_records(c) < (size_t)expected; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        /* Everything is done by now, so a forced flush cannot hand out unfinished records. */
        s = c->api.flush_all(i < FLUSH_TRIES / 2 ? 0 : CUPTI_C_ACTIVITY_FLAG_FLUSH_FORCED);
    }
    pthread_mutex_lock(&c->lock);
    c->keep = false;
    bool full = c->out_of_memory;
    pthread_mutex_unlock(&c->lock);
    if (s != CUPTI_OK) return cupti_fail(c, d, s, "cuptiActivityFlushAll");
    if (full) return diag_fail(d, WS_MACHINE, "out of memory for %zu kernel records", c->n);
    if (c->n) qsort(c->times, c->n, sizeof *c->times, by_correlation);
    *out = c->times;
    *n = (int)c->n;
    return WS_OK;
}

void cupti_pause(struct cupti *c) {
    if (c->paused) return;
    c->paused = true;
    c->api.flush_all(CUPTI_C_ACTIVITY_FLAG_FLUSH_FORCED);
    c->api.activity_disable(CUPTI_C_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

enum ws_status cupti_resume(struct cupti *c, struct diag *d) {
    if (!c->paused) return WS_OK;
    c->paused = false;
    cupti_status s = c->api.activity_enable(CUPTI_C_ACTIVITY_KIND_CONCURRENT_KERNEL);
    return s == CUPTI_OK ? WS_OK : cupti_fail(c, d, s, "cuptiActivityEnable(CONCURRENT_KERNEL)");
}

size_t cupti_dropped(const struct cupti *c) { return c->dropped; }

uint64_t cupti_now(const struct cupti *c) {
    uint64_t ns = 0;
    return c->api.timestamp(&ns) == CUPTI_OK ? ns : UINT64_MAX;
}
