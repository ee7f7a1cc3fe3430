/* driver.c: one GPU through the driver API: context, memory, modules, launches.
 *
 * The primary context and its default stream are used, so that launches run in order. An error that
 * poisons the context (an illegal access, say) marks the device lost: runtime.c then refuses
 * everything but close and reset. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

struct module {
    cu_module handle;
    int generation;
    bool timed;
    /* What was launched of it last: a recurrent net's reference launches some 10^5 times. */
    struct {
        char *entry;
        cu_function function;
        int smem;
    } last;
};

/* ---- errors ---------------------------------------------------------------------------------- */

static bool is_sticky(cu_status s) {
    switch (s) {
#define E(name, value, sticky)                                                                     \
    case CU_ERR_##name: return sticky;
        CU_ERRORS(E)
#undef E
    }
    return false;
}

enum ws_status cuda_fail(struct cuda_device *c, struct diag *d, cu_status s, const char *fmt, ...) {
    const char *name = NULL, *text = NULL;
    if (c->api.error_name(s, &name) != CU_OK || !name) name = "unknown CUDA error";
    if (c->api.error_string(s, &text) != CU_OK || !text) text = "no description";
    va_list ap;
    va_start(ap, fmt);
    const char *what = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    if (is_sticky(s) && !c->base.lost)
        c->base.lost = arena_printf(c->arena, "%s in %s", name, what);
    return diag_fail(d, WS_MACHINE, "%s on %s: %s (%d: %s)", what,
                     *c->base.facts.id ? c->base.facts.id : "cuda", name, s, text);
}

enum ws_status cuda_enter(struct cuda_device *c, struct diag *d) {
    cu_status s = c->api.ctx_set_current(c->ctx);
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "cuCtxSetCurrent");
}

enum ws_status cuda_synchronize(struct cuda_device *c, const char *after, struct diag *d) {
    cu_status s = c->api.ctx_synchronize();
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "running %s", after);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t cuda_memory_left(struct device *dev) {
    struct cuda_device *c = (struct cuda_device *)dev;
    struct diag quiet = diag_new(c->arena);
    size_t left = 0, total = 0;
    bool known = cuda_enter(c, &quiet) == WS_OK && c->api.mem_info(&left, &total) == CU_OK;
    return known ? left : SIZE_MAX;
}

static enum ws_status cuda_alloc(struct device *dev, size_t bytes, dptr *out, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    size_t left = 0, total = 0;
    if (cuda_enter(c, d) != WS_OK) return d->status;
    cu_status s = c->api.mem_alloc(out, bytes);
    if (s == CU_OK) return WS_OK;
    if (c->api.mem_info(&left, &total) != CU_OK)
        return cuda_fail(c, d, s, "cuMemAlloc of %zu bytes", bytes);
    return cuda_fail(c, d, s, "cuMemAlloc of %zu bytes (%zu of %zu bytes free)", bytes, left,
                     total);
}

/* The driver clears what was freed behind the caller's back, at some 600 GB/s on an H200, and what
 * runs meanwhile has so much less of memory: a kernel of 1885 us took 2160 for a tenth of a second
 * after 40 GiB were freed. Times wait until that is over (timing.c). */
static void cuda_free(struct device *dev, dptr p) {
    const double CLEARED = 0.5e9; /* bytes in a ms */
    struct cuda_device *c = (struct cuda_device *)dev;
    size_t before = 0, after = 0, total;
    if (c->api.ctx_set_current(c->ctx) != CU_OK) return;
    bool known = c->api.mem_info(&before, &total) == CU_OK;
    c->api.mem_free(p);
    if (!known || c->api.mem_info(&after, &total) != CU_OK || after <= before) return;
    double now = clock_ms();
    c->cleared_ms =
        (c->cleared_ms > now ? c->cleared_ms : now) + (double)(after - before) / CLEARED;
}

static enum ws_status cuda_upload(struct device *dev, dptr to, const void *from, size_t bytes,
                                  struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    if (cuda_enter(c, d) != WS_OK) return d->status;
    cu_status s = c->api.memcpy_htod(to, from, bytes);
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "cuMemcpyHtoD of %zu bytes", bytes);
}

static enum ws_status cuda_download(struct device *dev, void *to, dptr from, size_t bytes,
                                    struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    if (cuda_enter(c, d) != WS_OK) return d->status;
    cu_status s = c->api.memcpy_dtoh(to, from, bytes);
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "cuMemcpyDtoH of %zu bytes", bytes);
}

/* What follows waits for it on the device. */
static enum ws_status cuda_fill(struct device *dev, dptr p, int byte, size_t bytes,
                                struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    if (cuda_enter(c, d) != WS_OK) return d->status;
    cu_status s = c->api.memset_d8(p, (unsigned char)byte, bytes);
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "cuMemsetD8 of %zu bytes", bytes);
}

/* ---- modules --------------------------------------------------------------------------------- */

static enum ws_status cuda_load(struct device *dev, const void *binary, size_t size,
                                struct module **out, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'};
    if (cuda_enter(c, d) != WS_OK) return d->status;
    /* cuModuleLoadData is not told the size: anything but an ELF image could be read past its end.
     */
    if (size < 64 || memcmp(binary, elf, sizeof elf) != 0)
        return diag_fail(d, WS_MACHINE, "cannot load a module of %zu bytes on %s: it is no cubin",
                         size, dev->facts.id);
    struct module *m = calloc(1, sizeof *m);
    if (!m) return diag_fail(d, WS_MACHINE, "out of memory for a module");
    cu_status s = c->api.module_load(&m->handle, binary);
    if (s != CU_OK) {
        free(m);
        return cuda_fail(c, d, s, "cuModuleLoadData of %zu bytes", size);
    }
    m->generation = dev->generation;
    *out = m;
    return WS_OK;
}

static void cuda_unload(struct device *dev, struct module *m) {
    struct cuda_device *c = (struct cuda_device *)dev;
    if (!dev->lost && m->generation == dev->generation && c->api.ctx_set_current(c->ctx) == CU_OK)
        c->api.module_unload(m->handle);
    free(m->last.entry);
    free(m);
}

static enum ws_status find_function(struct cuda_device *c, struct module *m, const char *entry,
                                    cu_function *out, struct diag *d) {
    if (m->generation != c->base.generation)
        return diag_fail(d, WS_MACHINE, "'%s' was loaded before %s was reset: load it again", entry,
                         c->base.facts.id);
    cu_status s = c->api.module_function(out, m->handle, entry);
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "cuModuleGetFunction of '%s'", entry);
}

/* Let f use `smem` dynamic bytes and clusters of more than 8 blocks: both must be asked for. */
static enum ws_status opt_in(struct cuda_device *c, cu_function f, const char *entry, int smem,
                             struct diag *d) {
    if (c->base.limits.sm >= 90)
        c->api.func_set_attribute(f, CU_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                  1); /* a wish: the launch will tell */
    if (smem <= 0) return WS_OK;
    cu_status s = c->api.func_set_attribute(f, CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem);
    if (s == CU_OK) return WS_OK;
    return cuda_fail(c, d, s, "'%s' with %d bytes of shared memory (at most %lld a block)", entry,
                     smem, (long long)c->base.limits.smem_block);
}

static enum ws_status cuda_function_facts(struct device *dev, struct module *m, const char *entry,
                                          int threads, int smem, struct function_facts *out,
                                          struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    cu_function f;
    if (cuda_enter(c, d) != WS_OK || find_function(c, m, entry, &f, d) != WS_OK) return d->status;
    const struct {
        int attribute, *to;
    } facts[] = {{CU_FUNC_NUM_REGS, &out->regs},
                 {CU_FUNC_LOCAL_SIZE_BYTES, &out->spill_bytes},
                 {CU_FUNC_SHARED_SIZE_BYTES, &out->smem_static}};
    for (unsigned i = 0; i < sizeof facts / sizeof *facts; i++) {
        cu_status s = c->api.func_get_attribute(facts[i].to, facts[i].attribute, f);
        if (s != CU_OK) return cuda_fail(c, d, s, "cuFuncGetAttribute of '%s'", entry);
    }
    if (threads <= 0 || threads > dev->limits.max_threads_block ||
        out->smem_static + smem > dev->limits.smem_block)
        return WS_OK;    /* blocks_per_unit 0: cannot launch */
    free(m->last.entry); /* the next launch may ask for another size of shared memory */
    m->last.entry = NULL;
    if (opt_in(c, f, entry, smem, d) != WS_OK) return d->status;
    cu_status s =
        c->api.occupancy(&out->blocks_per_unit, f, threads, (size_t)(smem > 0 ? smem : 0));
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "occupancy of '%s'", entry);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Programmatic dependent launch came with sm_90. */
static bool can_overlap(const struct cuda_device *c) {
    return !c->env.no_overlap && c->base.limits.sm >= 90;
}

/* The function, let do what the launch asks for. */
static enum ws_status find_launched(struct cuda_device *c, const struct launch *l, cu_function *out,
                                    struct diag *d) {
    struct module *m = l->module;
    bool known = m->last.entry && m->generation == c->base.generation && m->last.smem == l->smem &&
                 !strcmp(m->last.entry, l->entry);
    if (known) return *out = m->last.function, WS_OK;
    if (find_function(c, m, l->entry, out, d) != WS_OK ||
        opt_in(c, *out, l->entry, l->smem, d) != WS_OK)
        return d->status;
    free(m->last.entry);
    m->last.entry = strdup(l->entry);
    m->last.function = *out;
    m->last.smem = l->smem;
    return WS_OK;
}

enum ws_status cuda_ready(struct cuda_device *c, const struct launch *l, bool follows,
                          struct ready *out, struct diag *d) {
    *out = (struct ready){
        .entry = l->entry, .threads = (unsigned)l->threads, .smem = (unsigned)l->smem};
    if (launch_is_empty(l)) return WS_OK;
    if (l->threads <= 0 || l->threads > c->base.limits.max_threads_block)
        return diag_fail(d, WS_MACHINE,
                         "cannot launch '%s' with %d threads a block: %s allows 1 to %d", l->entry,
                         l->threads, c->base.facts.id, c->base.limits.max_threads_block);
    if (l->grid[1] > 65535 || l->grid[2] > 65535)
        return diag_fail(
            d, WS_MACHINE,
            "cannot launch '%s': a grid of %lld x %lld x %lld blocks is over 65535 in y or z",
            l->entry, (long long)l->grid[0], (long long)l->grid[1], (long long)l->grid[2]);
    if (find_launched(c, l, &out->function, d) != WS_OK) return d->status;
    for (int i = 0; i < 3; i++) out->grid[i] = (unsigned)l->grid[i];
    for (int i = 0; i < l->n_args; i++) out->args[i] = l->args[i];
    if (cuda_encode_maps(c, l, out, d) != WS_OK) return d->status;
    out->overlaps = follows && l->overlaps && can_overlap(c);
    return WS_OK;
}

static cu_status submit_overlapping(struct cuda_device *c, const struct ready *r) {
    struct cu_launch_attribute early = {.id = CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION,
                                        .value.allowed = 1};
    struct cu_launch_config config = {.grid = {r->grid[0], r->grid[1], r->grid[2]},
                                      .block = {r->threads, 1, 1},
                                      .smem = r->smem,
                                      .stream = r->stream,
                                      .attributes = &early,
                                      .n_attributes = 1};
    return c->api.launch_kernel_ex(&config, r->function, (void **)r->args, NULL);
}

enum ws_status cuda_submit(struct cuda_device *c, const struct ready *r, struct diag *d) {
    if (!r->function) return WS_OK;
    cu_status s = r->overlaps ? submit_overlapping(c, r)
                              : c->api.launch_kernel(r->function, r->grid[0], r->grid[1],
                                                     r->grid[2], r->threads, 1, 1, r->smem,
                                                     r->stream, (void **)r->args, NULL);
    if (s == CU_OK) return WS_OK;
    return cuda_fail(
        c, d, s,
        "cuLaunchKernel of '%s' (grid %u x %u x %u, %u threads, %u bytes of shared memory)",
        r->entry, r->grid[0], r->grid[1], r->grid[2], r->threads, r->smem);
}

enum ws_status cuda_ready_all(struct cuda_device *c, const struct launch *l, int n, bool apart,
                              struct ready **out, struct diag *d) {
    bool follows = false;
    struct ready *r = *out = calloc((size_t)n, sizeof *r);
    if (!r) return diag_fail(d, WS_MACHINE, "out of memory for %d launches", n);
    for (int i = 0; i < n && d->status == WS_OK; i++) {
        cuda_ready(c, &l[i], follows && !apart, &r[i], d);
        follows = follows || r[i].function;
    }
    return d->status;
}

bool cuda_first_timed(const struct launch *l, int n) {
    bool first = false;
    for (int i = 0; i < n; i++) {
        if (launch_is_empty(&l[i])) continue;
        first |= !l[i].module->timed;
        l[i].module->timed = true;
    }
    return first;
}

void cuda_ready_free(struct ready *r, int n) {
    for (int i = 0; r && i < n; i++) free(r[i].maps);
    free(r);
}

static enum ws_status submit_all(struct cuda_device *c, const struct ready *r, int n,
                                 struct diag *d) {
    if (!cuda_wants_graph(c, r, n)) {
        for (int i = 0; i < n && d->status == WS_OK; i++) cuda_submit(c, &r[i], d);
        return d->status;
    }
    cu_graph_exec graph = NULL;
    if (cuda_graph_record(c, r, n, &graph, d) == WS_OK) cuda_graph_submit(c, graph, r[0].entry, d);
    cuda_graph_free(c, graph); /* what runs is kept until it has run */
    return d->status;
}

static enum ws_status cuda_run(struct device *dev, const struct launch *l, int n, struct diag *d) {
    enum { LONG = 128 }; /* launches */
    struct cuda_device *c = (struct cuda_device *)dev;
    if (cuda_enter(c, d) != WS_OK) return d->status;
    if (n >= LONG && c->cupti) cupti_pause(c->cupti);
    struct ready *ready;
    if (cuda_ready_all(c, l, n, false, &ready, d) == WS_OK) submit_all(c, ready, n, d);
    cuda_ready_free(ready, n);
    if (d->status != WS_OK) return d->status;
    const char *after = n == 1 ? arena_printf(d->arena, "'%s'", l[0].entry)
                               : arena_printf(d->arena, "%d kernels from '%s' to '%s'", n,
                                              l[0].entry, l[n - 1].entry);
    return cuda_synchronize(c, after, d);
}

static void cuda_health(struct device *dev, struct health *out) {
    nvml_health(((struct cuda_device *)dev)->nvml, out);
}

/* ---- open, close, reset ---------------------------------------------------------------------- */

static enum ws_status start_driver(struct cuda_device *c, const struct env *env, struct arena *a,
                                   struct diag *d, int *count) {
    *count = 0;
    if (cuda_api_open(&c->api, env, a, d) != WS_OK) return d->status;
    cu_status s = c->api.init(0);
    if (s == CU_ERR_NO_DEVICE) return WS_OK;
    if (s != CU_OK) return cuda_fail(c, d, s, "cuInit");
    s = c->api.device_count(count);
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "cuDeviceGetCount");
}

enum ws_status cuda_count(const struct env *env, struct arena *a, struct diag *d, int *count) {
    struct cuda_device *c = NEW(a, struct cuda_device);
    c->arena = a;
    return start_driver(c, env, a, d, count);
}

static void release(struct cuda_device *c) {
    c->api.ctx_set_current(NULL);
    if (c->ctx) c->api.primary_release(c->dev);
    c->ctx = NULL;
}

static enum ws_status retain(struct cuda_device *c, struct diag *d) {
    cu_status s = c->api.primary_retain(&c->ctx, c->dev);
    if (s != CU_OK) return cuda_fail(c, d, s, "cuDevicePrimaryCtxRetain");
    if (cuda_enter(c, d) == WS_OK) return WS_OK;
    release(c);
    return d->status;
}

static void cuda_close(struct device *dev) {
    struct cuda_device *c = (struct cuda_device *)dev;
    if (!dev->lost) {
        c->api.ctx_set_current(c->ctx);
        helpers_release(c);
    }
    struct diag quiet = diag_new(c->arena);
    helpers_end(c);
    profiler_leave(c, &quiet);
    profiler_close(c->profiler);
    if (c->cupti) cupti_close(c->cupti);
    release(c);
    nvml_close(c->nvml);
}

/* Does the context work at all? A byte is allocated, written and waited for. */
static enum ws_status prove_alive(struct cuda_device *c, struct diag *d) {
    dptr p = 0;
    cu_status s = c->api.mem_alloc(&p, 256);
    if (s == CU_OK) s = c->api.memset_d8(p, 0, 256);
    if (s == CU_OK) s = c->api.ctx_synchronize();
    if (s == CU_OK) s = c->api.mem_free(p);
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "the new context after a reset");
}

/* Releasing the last reference resets the primary context; the explicit reset covers references of
 * others. */
static enum ws_status cuda_reset(struct device *dev, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    const char *lost = dev->lost ? dev->lost : "a reset that failed";
    if (c->helpers.module) free(c->helpers.module->last.entry);
    free(c->helpers.module);
    c->helpers = (struct helpers){0};
    struct diag quiet = diag_new(c->arena);
    profiler_leave(c, &quiet);
    release(c);
    cu_status s = c->api.primary_reset(c->dev);
    dev->lost = NULL;
    if (s != CU_OK) cuda_fail(c, d, s, "cuDevicePrimaryCtxReset");
    if (s != CU_OK || retain(c, d) != WS_OK || prove_alive(c, d) != WS_OK) {
        dev->lost = lost;
        return d->status;
    }
    return WS_OK;
}

static const struct device_ops ops = {
    .close = cuda_close,
    .reset = cuda_reset,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .fill = cuda_fill,
    .load = cuda_load,
    .unload = cuda_unload,
    .function_facts = cuda_function_facts,
    .run = cuda_run,
    .time = cuda_time,
    .count = cuda_count_launches,
    .compare = cuda_compare,
    .take = cuda_take,
    .share = cuda_share,
    .find_changed = cuda_find_changed,
    .memory_left = cuda_memory_left,
    .health = cuda_health,
    .copy_gbps = cuda_copy_gbps,
};

/* What has been opened, where the rest cannot be. */
static enum ws_status give_up(struct cuda_device *c, const struct diag *d) {
    helpers_end(c);
    if (c->cupti) cupti_close(c->cupti);
    nvml_close(c->nvml);
    return d->status;
}

enum ws_status cuda_open(int ordinal, bool timed, const struct env *env, struct arena *a,
                         struct diag *d, struct device **out) {
    struct cuda_device *c = NEW(a, struct cuda_device);
    double begun = clock_ms();
    int count;
    *c = (struct cuda_device){.base.ops = &ops, .arena = a, .env = *env};
    if (start_driver(c, env, a, d, &count) != WS_OK) return d->status;
    if (ordinal >= count)
        return diag_fail(d, WS_MACHINE, "no such GPU: cuda:%d; the driver shows %d%s", ordinal,
                         count,
                         count ? arena_printf(a, " (cuda:0%s)", count > 1 ? " and up" : "") : "");
    cu_status s = c->api.device_get(&c->dev, ordinal);
    if (s != CU_OK) return cuda_fail(c, d, s, "cuDeviceGet(%d)", ordinal);
    stage_log(env->logs, "cuda: driver", begun);
    char pci[64] = "";
    if (c->api.device_pci_bus_id(pci, sizeof pci, c->dev) == CU_OK)
        c->nvml = nvml_open(pci, env, a);
    if (cuda_read_facts(c, ordinal, d) != WS_OK || cuda_read_limits(c, d) != WS_OK)
        return give_up(c, d);
    if (timed) helpers_begin(c); /* who times flushes */
    begun = clock_ms();
    if (timed && cupti_open(env, a, d, &c->cupti) != WS_OK) return give_up(c, d);
    stage_log(env->logs, "cuda: CUPTI", begun);
    begun = clock_ms();
    if (retain(c, d) != WS_OK) return give_up(c, d);
    stage_log(env->logs, "cuda: context", begun);
    *out = &c->base;
    return WS_OK;
}
