/* runtime.c: choose a backend, check what any caller can get wrong, forward.
 *
 *   device_open(NULL)      cuda:0 if the driver shows a GPU, else the CPU; `why` says why
 *   device_open("cuda:1")  that GPU or an error, never another device */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/vtable.h"

/* ---- toolchain ------------------------------------------------------------------------------- */

enum ws_status toolchain_open(enum device_kind kind, const char *arch, const struct env *env,
                              struct arena *a, struct diag *d, struct toolchain **out) {
    *out = NULL;
    if (kind == DEVICE_CUDA) return cuda_toolchain_open(arch, env, a, d, out);
    return cpu_toolchain_open(env, a, d, out);
}

void toolchain_stop_when(struct toolchain *t, bool (*stopped)(void)) { t->stopped = stopped; }

void device_stop_when(struct device *dev, bool (*stopped)(void)) { dev->stopped = stopped; }

bool device_is_stopped(const struct device *dev) { return dev->stopped && dev->stopped(); }

enum ws_status toolchain_open_isolated(enum device_kind kind, const char *arch,
                                       const struct env *env, struct arena *a, struct diag *d,
                                       struct toolchain **out) {
    if (toolchain_open(kind, arch, env, a, d, out) == WS_OK && kind == DEVICE_CUDA)
        *out = remote_toolchain_open(*out, arch, a);
    return d->status;
}

/* Its files are read whole, in the background: compilers touch them page after page, in as many
 * processes as there are cores, and on a fresh machine waited 4 s for that, for 0.8 s later. */
static int read_ahead(struct dl_phdr_info *info, size_t size, void *ctx) {
    (void)size, (void)ctx;
    int file = info->dlpi_name && strstr(info->dlpi_name, "libnvrtc")
                   ? open(info->dlpi_name, O_RDONLY | O_CLOEXEC)
                   : -1;
    if (file >= 0) posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED), close(file);
    return 0;
}

/* What it needs of the disk is the same for all architectures. */
static void *open_once(void *arg) {
    const struct toolchain_warming *w = arg;
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct toolchain *t;
    if (toolchain_open(DEVICE_CUDA, "sm_90", &w->env, a, &d, &t) == WS_OK)
        dl_iterate_phdr(read_ahead, NULL);
    arena_free(a);
    return NULL;
}

void toolchain_warm(struct toolchain_warming *w, const struct env *env) {
    *w = (struct toolchain_warming){.env = *env};
    w->running = pthread_create(&w->thread, NULL, open_once, w) == 0;
}

void toolchain_warmed(struct toolchain_warming *w) {
    if (w->running) pthread_join(w->thread, NULL);
    w->running = false;
}

void toolchain_close(struct toolchain *t) {
    if (t->ops->close) t->ops->close(t);
}

const char *toolchain_version(const struct toolchain *t) { return t->version; }

const char *toolchain_key(const struct toolchain *t, struct arena *a) {
    uint64_t hash = hash_bytes(t->settings, strlen(t->settings));
    return arena_printf(a, "%s #%08x", t->version, (unsigned)(hash ^ hash >> 32));
}

void toolchain_compile(struct toolchain *t, const char *name, const char *source, bool want_ptx,
                       struct compiled *out) {
    *out = (struct compiled){0};
    double start = clock_ms();
    t->ops->compile(t, name, source, want_ptx, out);
    out->ms = clock_ms() - start;
}

void compiled_free(struct compiled *c) {
    free(c->binary);
    free(c->log);
    free(c->ptx);
    *c = (struct compiled){0};
}

/* ---- opening --------------------------------------------------------------------------------- */

/* First line of a message without its newline, for use inside another. */
static const char *first_line(struct arena *a, const char *text) {
    return text ? arena_strndup(a, text, strcspn(text, ";\n")) : "unknown reason";
}

/* "cuda" or "cuda:N" -> N. */
static bool parse_cuda(const char *name, int *ordinal) {
    *ordinal = 0;
    if (strncmp(name, "cuda", 4) != 0) return false;
    if (name[4] == 0) return true;
    if (name[4] != ':' || name[5] < '0' || name[5] > '9') return false;
    char *end;
    long n = strtol(name + 5, &end, 10);
    *ordinal = (int)n;
    return *end == 0 && n < 1024;
}

static const char *describe(struct arena *a, const struct device *dev, const struct env *env,
                            const char *reason) {
    const struct device_limits *l = &dev->limits;
    bool cpu = l->kind == DEVICE_CPU;
    const char *cache =
        cpu && env->cpu_cache ? arena_printf(a, ", %s of cache", env->cpu_cache) : "";
    const char *units = !cpu ? "multiprocessors" : l->units == 1 ? "core" : "cores";
    return arena_printf(a, "device %s: %s, %s, %d %s%s (%s)", dev->facts.id, dev->facts.name,
                        l->arch, l->units, units, cache, reason);
}

static enum ws_status open_device(const char *name, bool timed, const struct env *env,
                                  struct arena *a, struct diag *d, struct device **out,
                                  const char **why) {
    const char *reason = "as asked";
    int ordinal = 0;
    bool cpu = name && !strcmp(name, "cpu");
    *out = NULL;
    if (why) *why = "";
    if (name && !cpu && !parse_cuda(name, &ordinal))
        return diag_fail(d, WS_USAGE, "unknown device '%s': expected cpu, cuda or cuda:N", name);
    if (!name) {
        struct diag quiet = diag_new(a);
        int count = 0;
        if (cuda_count(env, a, &quiet, &count) != WS_OK)
            reason = arena_printf(a, "default: no usable GPU: %s", first_line(a, quiet.text));
        else
            reason = count ? "default: a GPU is present" : "default: no GPU";
        cpu = count == 0;
    }
    enum ws_status s = cpu ? cpu_open(env, a, d, out) : cuda_open(ordinal, timed, env, a, d, out);
    if (s == WS_OK && why) *why = describe(a, *out, env, reason);
    return s;
}

enum ws_status device_open(const char *name, const struct env *env, struct arena *a, struct diag *d,
                           struct device **out, const char **why) {
    return open_device(name, true, env, a, d, out, why);
}

enum ws_status device_gpus(const struct env *env, struct arena *a, struct diag *d, int *count) {
    return cuda_count(env, a, d, count);
}

enum ws_status device_open_untimed(const char *name, const struct env *env, struct arena *a,
                                   struct diag *d, struct device **out) {
    return open_device(name, false, env, a, d, out, NULL);
}

enum ws_status device_open_isolated(const char *name, struct arena *a, struct diag *d,
                                    struct device **out, const char **why) {
    *out = NULL;
    *why = "";
    return remote_open(name, a, d, out, why);
}

void device_close(struct device *dev) {
    if (dev) dev->ops->close(dev);
}

const struct device_limits *device_limits(const struct device *dev) { return &dev->limits; }
const struct device_facts *device_facts(const struct device *dev) { return &dev->facts; }
bool device_is_lost(const struct device *dev) { return dev->lost != NULL; }

enum device_loss device_loss(const struct device *dev) {
    return dev->lost && !dev->loss ? DEVICE_POISONED : dev->loss;
}
int device_generation(const struct device *dev) { return dev->generation; }

enum ws_status device_reset(struct device *dev, struct diag *d) {
    dev->generation++;
    return dev->ops->reset(dev, d);
}

void device_limit(struct device *dev, double ms) {
    if (dev->ops->limit) dev->ops->limit(dev, ms);
}

/* ---- forwarding ------------------------------------------------------------------------------ */

static enum ws_status usable(const struct device *dev, struct diag *d) {
    if (!dev->lost) return WS_OK;
    return diag_fail(d, WS_MACHINE, "device %s is lost after %s: it must be reset", dev->facts.id,
                     dev->lost);
}

/* Return unless dev can work. */
#define USABLE(dev, d)                                                                             \
    do {                                                                                           \
        if (usable(dev, d) != WS_OK) return (d)->status;                                           \
    } while (0)

size_t device_memory_left(struct device *dev) {
    return dev->lost ? SIZE_MAX : dev->ops->memory_left(dev);
}

enum ws_status device_alloc(struct device *dev, size_t bytes, dptr *out, struct diag *d) {
    *out = 0;
    USABLE(dev, d);
    return dev->ops->alloc(dev, bytes ? bytes : 1, out, d);
}

void device_free(struct device *dev, dptr p) {
    if (p && !dev->lost) dev->ops->free(dev, p);
}

enum ws_status device_upload(struct device *dev, dptr to, const void *from, size_t bytes,
                             struct diag *d) {
    USABLE(dev, d);
    return bytes ? dev->ops->upload(dev, to, from, bytes, d) : WS_OK;
}

enum ws_status device_download(struct device *dev, void *to, dptr from, size_t bytes,
                               struct diag *d) {
    USABLE(dev, d);
    return bytes ? dev->ops->download(dev, to, from, bytes, d) : WS_OK;
}

enum ws_status device_fill(struct device *dev, dptr p, int byte, size_t bytes, struct diag *d) {
    USABLE(dev, d);
    return bytes ? dev->ops->fill(dev, p, byte, bytes, d) : WS_OK;
}

enum ws_status device_keep(struct device *dev, dptr p, size_t bytes, struct diag *d) {
    USABLE(dev, d);
    if (!dev->ops->keep)
        return diag_fail(d, WS_MACHINE, "%s does not restore memory between launches",
                         dev->facts.id);
    return dev->ops->keep(dev, p, bytes, d);
}

enum ws_status device_load(struct device *dev, const void *binary, size_t size, struct module **out,
                           struct diag *d) {
    *out = NULL;
    USABLE(dev, d);
    if (!binary || !size)
        return diag_fail(d, WS_MACHINE, "cannot load an empty binary on %s", dev->facts.id);
    return dev->ops->load(dev, binary, size, out, d);
}

void device_unload(struct device *dev, struct module *m) {
    if (m) dev->ops->unload(dev, m);
}

enum ws_status device_function_facts(struct device *dev, struct module *m, const char *entry,
                                     int threads, int smem, struct function_facts *out,
                                     struct diag *d) {
    *out = (struct function_facts){0};
    USABLE(dev, d);
    return dev->ops->function_facts(dev, m, entry, threads, smem, out, d);
}

static enum ws_status check_maps(const struct device *dev, const struct launch *l, struct diag *d) {
    for (int i = 0; i < l->n_args; i++) {
        if (!l->maps[i]) continue;
        if (!dev->limits.tma)
            return diag_fail(d, WS_MACHINE,
                             "cannot launch '%s': argument %d is a tensor map, and %s (%s) has no "
                             "TMA to take it",
                             l->entry, i, dev->facts.id, dev->limits.arch);
        const char *why = tensor_map_illegal(l->maps[i], d->arena);
        if (why)
            return diag_fail(d, WS_MACHINE,
                             "cannot launch '%s': argument %d is no tensor map that a TMA takes: "
                             "%s (%s)",
                             l->entry, i, why, tensor_map_str(l->maps[i], d->arena));
    }
    return WS_OK;
}

static enum ws_status check_launches(const struct device *dev, const struct launch *l, int n,
                                     struct diag *d) {
    for (int i = 0; i < n; i++) {
        WS_ASSERT(l[i].module && l[i].entry && l[i].n_args >= 0 && l[i].n_args <= LAUNCH_MAX_ARGS);
        for (int k = 0; k < 3; k++)
            if (l[i].grid[k] < 0 || l[i].grid[k] > INT32_MAX)
                return diag_fail(d, WS_MACHINE,
                                 "cannot launch '%s': a grid of %lld x %lld x %lld blocks",
                                 l[i].entry, (long long)l[i].grid[0], (long long)l[i].grid[1],
                                 (long long)l[i].grid[2]);
        if (!launch_is_empty(&l[i]) && check_maps(dev, &l[i], d) != WS_OK) return d->status;
    }
    return WS_OK;
}

enum ws_status device_run(struct device *dev, const struct launch *l, int n, struct diag *d) {
    USABLE(dev, d);
    if (check_launches(dev, l, n, d) != WS_OK) return d->status;
    return n ? dev->ops->run(dev, l, n, d) : WS_OK;
}

enum ws_status device_time(struct device *dev, const struct launch *l, int n, int samples,
                           bool flush, double *us, struct sample_extra *extra, struct diag *d) {
    USABLE(dev, d);
    if (check_launches(dev, l, n, d) != WS_OK) return d->status;
    if (extra) memset(extra, 0, sizeof *extra * (size_t)(samples > 0 ? samples : 0));
    if (n <= 0 || samples <= 0) return WS_OK;
    return dev->ops->time(dev, l, n, samples, flush, us, extra, d);
}

enum ws_status device_count(struct device *dev, const struct launch *l, int n, struct counters *out,
                            struct diag *d) {
    for (int i = 0; i < n; i++) out[i] = counters_unknown();
    USABLE(dev, d);
    if (check_launches(dev, l, n, d) != WS_OK) return d->status;
    if (!dev->ops->count)
        return diag_fail(d, WS_MACHINE, "%s has no hardware counters that can be read",
                         dev->facts.id);
    return n > 0 ? dev->ops->count(dev, l, n, out, d) : WS_OK;
}

enum ws_status device_compare_runs(struct device *dev, dptr got, struct runs runs, enum dtype dtype,
                                   dptr want, int64_t n, dptr bound, struct mismatch *out,
                                   struct diag *d) {
    *out = (struct mismatch){.worst = -1};
    USABLE(dev, d);
    return n > 0 ? dev->ops->compare(dev, got, runs, dtype, want, n, bound, out, d) : WS_OK;
}

enum ws_status device_compare(struct device *dev, dptr got, enum dtype dtype, dptr want, int64_t n,
                              dptr bound, struct mismatch *out, struct diag *d) {
    return device_compare_runs(dev, got, (struct runs){n, n}, dtype, want, n, bound, out, d);
}

enum ws_status device_take(struct device *dev, dptr from, enum dtype dtype, dptr want, int64_t n,
                           double share, dptr bound, struct diag *d) {
    USABLE(dev, d);
    return n > 0 ? dev->ops->take(dev, from, dtype, want, n, share, bound, d) : WS_OK;
}

enum ws_status device_share(struct device *dev, enum dtype dtype, dptr want, dptr bound, int64_t n,
                            double *share, struct diag *d) {
    *share = 0;
    USABLE(dev, d);
    return n > 0 && bound ? dev->ops->share(dev, dtype, want, bound, n, share, d) : WS_OK;
}

enum ws_status device_find_changed(struct device *dev, const dptr *at, int n, size_t bytes,
                                   int byte, int *first, struct diag *d) {
    *first = -1;
    USABLE(dev, d);
    return n > 0 && bytes ? dev->ops->find_changed(dev, at, n, bytes, byte, first, d) : WS_OK;
}

void mismatch_values(struct mismatch *m, enum dtype t, const void *got, const void *want,
                     const float *bound, size_t i) {
    enum dtype r = dtype_reference(t);
    m->got = dtype_load(t, got, i);
    m->want = dtype_load(r, want, i);
    m->bound = bound ? (double)bound[i] : 0;
    if (dtype_is_float(t)) return;
    m->got_int = dtype_load_int(t, got, i);
    m->want_int = dtype_load_int(r, want, i);
}

void device_health(struct device *dev, struct health *out) {
    *out = (struct health){.clock_mhz = -1, .mem_clock_mhz = -1, .temp_c = -1, .power_w = -1};
    dev->ops->health(dev, out);
}

enum ws_status device_copy_gbps(struct device *dev, double *gbps, struct diag *d) {
    *gbps = 0;
    USABLE(dev, d);
    return dev->ops->copy_gbps(dev, gbps, d);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *x, int n) {
    WS_ASSERT(n > 0);
    qsort(x, (size_t)n, sizeof *x, compare_doubles);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}
