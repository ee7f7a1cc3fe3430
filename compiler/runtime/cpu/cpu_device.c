/* cpu_device.c: the CPU as a device.
 *
 *   memory   aligned, touched first by the threads that will use it, so pages lie near them
 *   module   a shared object, loaded from memory through a file descriptor: no file is left behind
 *   launch   a call of  void entry(void *const *args);  the entry's own OpenMP loop is the grid
 *   clock    CLOCK_MONOTONIC around the call
 *   threads  stay on one core each, where the process is the device's alone */
#define _GNU_SOURCE /* memfd_create */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cpu/cpu_device.h"

struct module {
    void *handle;
    void (*set_threads)(int); /* omp_set_num_threads of the OpenMP it runs on, NULL if of none */
    int fd; /* stays open with the module: its number is the object's name in the loader's list */
    char path[40];
};

double cpu_now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t cpu_memory_left(struct device *dev) {
    (void)dev;
    return memory_available();
}

static enum ws_status cpu_alloc(struct device *dev, size_t bytes, dptr *out, struct diag *d) {
    const struct cpu_device *c = (const struct cpu_device *)dev;
    void *p = large_alloc(bytes);
    if (!p) return diag_fail(d, WS_MACHINE, "cannot allocate %zu bytes on cpu", bytes);
    cpu_fill_parallel(c, p, 0, bytes);
    *out = (dptr)(uintptr_t)p;
    return WS_OK;
}

static void cpu_free(struct device *dev, dptr p) {
    (void)dev;
    free((void *)(uintptr_t)p);
}

static enum ws_status cpu_upload(struct device *dev, dptr to, const void *from, size_t bytes,
                                 struct diag *d) {
    (void)dev, (void)d;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return WS_OK;
}

static enum ws_status cpu_download(struct device *dev, void *to, dptr from, size_t bytes,
                                   struct diag *d) {
    (void)dev, (void)d;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return WS_OK;
}

static enum ws_status cpu_fill(struct device *dev, dptr p, int byte, size_t bytes, struct diag *d) {
    (void)d;
    cpu_fill_parallel((const struct cpu_device *)dev, (void *)(uintptr_t)p, byte, bytes);
    return WS_OK;
}

static enum ws_status cpu_find_changed(struct device *dev, const dptr *at, int n, size_t bytes,
                                       int byte, int *first, struct diag *d) {
    (void)dev, (void)d;
    for (int i = 0; i < n && *first < 0; i++) {
        const unsigned char *p = (const void *)(uintptr_t)at[i];
        for (size_t k = 0; k < bytes; k++)
            if (p[k] != (unsigned char)byte) *first = i;
    }
    return WS_OK;
}

static void forget(struct cpu_device *c, const char *p) {
    struct kept **at = &c->kept;
    while (*at && (*at)->p != p) at = &(*at)->next;
    if (!*at) return;
    struct kept *gone = *at;
    *at = gone->next;
    free(gone->copy);
    free(gone);
}

static enum ws_status cpu_keep(struct device *dev, dptr p, size_t bytes, struct diag *d) {
    struct cpu_device *c = (struct cpu_device *)dev;
    char *from = (char *)(uintptr_t)p;
    forget(c, from);
    if (!bytes) return WS_OK;
    struct kept *k = calloc(1, sizeof *k);
    char *copy = large_alloc(bytes);
    if (!k || !copy) {
        free(k);
        free(copy);
        return diag_fail(d, WS_MACHINE, "cannot allocate %zu bytes on cpu", bytes);
    }
    cpu_copy_parallel(c, copy, from, bytes);
    *k = (struct kept){c->kept, from, copy, bytes};
    c->kept = k;
    return WS_OK;
}

static void restore_kept(const struct cpu_device *c) {
    for (const struct kept *k = c->kept; k; k = k->next)
        cpu_copy_parallel(c, k->p, k->copy, k->bytes);
}

/* ---- modules --------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

static enum ws_status open_object(struct module *m, const void *binary, size_t size,
                                  struct diag *d) {
    m->fd = memfd_create("warpsmith-module", MFD_CLOEXEC);
    if (m->fd < 0 || !write_all(m->fd, binary, size))
        return diag_fail(d, WS_MACHINE, "cannot hold a module of %zu bytes in memory: %s", size,
                         strerror(errno));
    snprintf(m->path, sizeof m->path, "/proc/self/fd/%d", m->fd);
    m->handle = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
    if (m->handle) {
        void *p = dlsym(m->handle, "omp_set_num_threads");
        memcpy(&m->set_threads, &p, sizeof p);
        return WS_OK;
    }
    const char *why = dlerror();
    return diag_fail(d, WS_MACHINE, "cannot load a module of %zu bytes on cpu: %s", size,
                     why ? why : "unknown error");
}

static void cpu_unload(struct device *dev, struct module *m) {
    (void)dev;
    if (m->handle) dlclose(m->handle);
    /* An object that refuses to leave keeps its descriptor: were the number used again, dlopen
     * would find the old one. */
    bool stays = m->handle && dlopen(m->path, RTLD_NOW | RTLD_NOLOAD) != NULL;
    if (m->fd >= 0 && !stays) close(m->fd);
    free(m);
}

static enum ws_status cpu_load(struct device *dev, const void *binary, size_t size,
                               struct module **out, struct diag *d) {
    struct module *m = calloc(1, sizeof *m);
    if (!m) return diag_fail(d, WS_MACHINE, "out of memory for a module");
    if (open_object(m, binary, size, d) == WS_OK) {
        cpu_adopt_team((struct cpu_device *)dev, m->handle);
        *out = m;
    } else {
        cpu_unload(dev, m);
    }
    return d->status;
}

typedef void entry_fn(void *const *args);

static enum ws_status find_entry(struct module *m, const char *name, entry_fn **out,
                                 struct diag *d) {
    void *p = dlsym(m->handle, name);
    if (!p) return diag_fail(d, WS_MACHINE, "the module has no entry '%s'", name);
    memcpy(out, &p, sizeof p); /* ISO C has no cast from object to function pointer */
    return WS_OK;
}

static enum ws_status cpu_function_facts(struct device *dev, struct module *m, const char *entry,
                                         int threads, int smem, struct function_facts *out,
                                         struct diag *d) {
    entry_fn *fn;
    (void)dev, (void)threads, (void)smem;
    if (find_entry(m, entry, &fn, d) == WS_OK) out->blocks_per_unit = 1;
    return d->status;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The number of threads is the calling thread's setting in OpenMP, so it is set where the call is
 * made; and in the module's OpenMP, which is another than ours where ours is linked statically. */
static void set_threads(const struct cpu_device *c, const struct module *m) {
    if (m->set_threads) m->set_threads(c->threads);
}

static enum ws_status cpu_run(struct device *dev, const struct launch *l, int n, struct diag *d) {
    restore_kept((const struct cpu_device *)dev);
    for (int i = 0; i < n; i++) {
        entry_fn *fn = NULL;
        if (device_is_stopped(dev)) return diag_fail(d, WS_MACHINE, "interrupted");
        if (find_entry(l[i].module, l[i].entry, &fn, d) != WS_OK) return d->status;
        set_threads((struct cpu_device *)dev, l[i].module);
        if (!launch_is_empty(&l[i])) fn(l[i].args);
    }
    return WS_OK;
}

static void time_sample(const struct launch *l, entry_fn *const *fns, int n, double *us) {
    for (int i = 0; i < n; i++) {
        us[i] = 0;
        if (launch_is_empty(&l[i])) continue;
        double start = cpu_now_us();
        fns[i](l[i].args);
        us[i] = cpu_now_us() - start;
    }
}

static enum ws_status cpu_time(struct device *dev, const struct launch *l, int n, int samples,
                               bool flush, double *us, struct sample_extra *extra, struct diag *d) {
    struct cpu_device *c = (struct cpu_device *)dev;
    if (flush && cpu_flush_prepare(c, d) != WS_OK) return d->status;
    entry_fn **fns = calloc((size_t)n, sizeof *fns);
    if (!fns) return diag_fail(d, WS_MACHINE, "out of memory for %d launches", n);
    enum ws_status s = WS_OK;
    for (int i = 0; i < n && s == WS_OK; i++) {
        s = find_entry(l[i].module, l[i].entry, &fns[i], d);
        set_threads(c, l[i].module);
    }
    if (s == WS_OK) time_sample(l, fns, n, us); /* warm-up: pages in code, wakes the thread pool */
    for (int k = 0; k < samples && s == WS_OK; k++) {
        restore_kept(c);
        if (flush) cpu_flush(c);
        double start = cpu_now_us();
        time_sample(l, fns, n, us + (size_t)k * (size_t)n);
        if (extra)
            extra[k] = (struct sample_extra){.span_us = cpu_now_us() - start, .queued = true};
    }
    free(fns);
    return s;
}

static void cpu_health(struct device *dev, struct health *out) {
    (void)dev;
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "re");
    long khz;
    if (f && fscanf(f, "%ld", &khz) == 1) out->clock_mhz = (int)(khz / 1000);
    if (f) fclose(f);
}

/* ---- open and close -------------------------------------------------------------------------- */

static void cpu_close(struct device *dev) {
    struct cpu_device *c = (struct cpu_device *)dev;
    while (c->kept) forget(c, c->kept->p);
    free(c->flush);
    c->flush = NULL;
}

static enum ws_status cpu_reset(struct device *dev, struct diag *d) {
    (void)dev, (void)d; /* nothing here can be lost without the process */
    return WS_OK;
}

static void cpu_settle(struct device *dev, const struct env *env) {
    struct cpu_device *c = (struct cpu_device *)dev;
    /* Under a quota the cores are others' too: the system knows better which are free. */
    c->pin = !env->threads_placed && c->n_cpus == c->threads;
}

static const struct device_ops ops = {
    .close = cpu_close,
    .reset = cpu_reset,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .upload = cpu_upload,
    .download = cpu_download,
    .fill = cpu_fill,
    .keep = cpu_keep,
    .load = cpu_load,
    .unload = cpu_unload,
    .function_facts = cpu_function_facts,
    .run = cpu_run,
    .time = cpu_time,
    .compare = cpu_compare,
    .take = cpu_take,
    .share = cpu_share,
    .find_changed = cpu_find_changed,
    .memory_left = cpu_memory_left,
    .health = cpu_health,
    .copy_gbps = cpu_copy_gbps,
    .settle = cpu_settle,
};

enum ws_status cpu_open(const struct env *env, struct arena *a, struct diag *d,
                        struct device **out) {
    struct cpu_device *c = NEW(a, struct cpu_device);
    c->base.ops = &ops;
    if (cpu_read_facts(c, env, d) == WS_OK) *out = &c->base;
    return d->status;
}
