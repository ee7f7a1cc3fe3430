/* remote_device.c: a device in a process of its own.
 *
 *   this process                          the worker
 *   remote_fill()  op, bytes
 *   remote_run() ─ op, launches ─▶  device_worker(): the same calls on the real device
 *                ◀─ status, text ─
 *
 * What generated code does to a process (an illegal access, a stack overflow, an endless loop, a
 * context that the driver cannot mend) it does to the worker. The call that was under way fails,
 * the device is lost, and a reset starts a new worker. Modules are known by number here; device
 * pointers are the worker's own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/remote/wire.h"
#include "runtime/vtable.h"

#define OPS(OP)                                                                                    \
    OP(open)                                                                                       \
    OP(alloc)                                                                                      \
    OP(free)                                                                                       \
    OP(upload)                                                                                     \
    OP(download)                                                                                   \
    OP(fill)                                                                                       \
    OP(keep)                                                                                       \
    OP(load)                                                                                       \
    OP(unload)                                                                                     \
    OP(function_facts)                                                                             \
    OP(run)                                                                                        \
    OP(time)                                                                                       \
    OP(count)                                                                                      \
    OP(compare)                                                                                    \
    OP(take)                                                                                       \
    OP(share)                                                                                      \
    OP(find_changed)                                                                               \
    OP(memory_left)                                                                                \
    OP(health)                                                                                     \
    OP(copy_gbps)

enum op {
#define OP(name) OP_##name,
    OPS(OP)
#undef OP
};

/* ============================================================================================== */
/* The caller's side                                                                              */

struct module {
    uint64_t number;
    int generation;
};

struct remote_device {
    struct device base;
    struct arena *arena;
    const char *name; /* as given; NULL: the default device */
    const char *why;
    struct worker worker;
    struct packet out, in;
    size_t deferred; /* bytes at the beginning of `out`: calls that go with the next one */
    double limit_ms;
};

static struct remote_device *remote(struct device *dev) { return (struct remote_device *)dev; }

/* Behind what is deferred; of a call that was begun and not made, nothing is left. */
static struct packet *begin(struct device *dev, enum op op) {
    struct packet *out = &remote(dev)->out;
    size_t deferred = remote(dev)->deferred;
    packet_clear(out);
    out->n = deferred;
    packet_put_u64(out, op);
    return out;
}

/* What has no result goes with the next call, before it, and fails as that does: checks of small
 * kernels are mostly messages. */
static void defer(struct device *dev) { remote(dev)->deferred = remote(dev)->out.n; }

/* The worker is gone, or has to go. */
static enum ws_status lose(struct remote_device *r, enum wire_result what, struct diag *d) {
    bool killed = false;
    const char *end = r->worker.pid ? worker_bury(&r->worker, what == WIRE_GONE, r->arena, &killed)
                                    : "not running";
    if (what == WIRE_STOPPED) {
        r->base.loss = DEVICE_KILLED;
        r->base.lost = "interrupted";
        return diag_fail(d, WS_MACHINE, "device %s: interrupted", r->base.facts.id);
    }
    r->base.loss = what == WIRE_LATE ? DEVICE_HUNG : killed ? DEVICE_KILLED : DEVICE_DIED;
    r->base.lost = what == WIRE_LATE
                       ? arena_printf(r->arena, "no answer within %.1f s", r->limit_ms / 1e3)
                       : arena_printf(r->arena, "its process was %s", end);
    return diag_fail(d, WS_MACHINE, "device %s: %s", r->base.facts.id,
                     what == WIRE_LATE
                         ? arena_printf(d->arena, "%s: it hangs, and was stopped", r->base.lost)
                         : r->base.lost);
}

static enum ws_status send_request(struct remote_device *r, struct diag *d) {
    enum wire_result sent = wire_send(r->worker.fd, &r->out);
    r->deferred = 0;
    return sent == WIRE_OK ? WS_OK : lose(r, sent, d);
}

/* The reply up to its results, which stay in r->in. */
static enum ws_status receive_reply(struct remote_device *r, struct diag *d) {
    enum wire_result got = wire_receive(r->worker.fd, &r->in, r->limit_ms, r->base.stopped);
    if (got != WIRE_OK) return lose(r, got, d);
    enum ws_status s = (enum ws_status)packet_get_u64(&r->in);
    const char *message = packet_get_text(&r->in), *lost = packet_get_text(&r->in);
    if (*lost && !r->base.lost) {
        r->base.lost = arena_strdup(r->arena, lost);
        r->base.loss = DEVICE_POISONED;
    }
    return s == WS_OK ? WS_OK : diag_fail(d, s, "%s", message);
}

static enum ws_status call(struct device *dev, struct diag *d) {
    struct remote_device *r = remote(dev);
    return send_request(r, d) == WS_OK ? receive_reply(r, d) : d->status;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static enum ws_status remote_alloc(struct device *dev, size_t bytes, dptr *out, struct diag *d) {
    packet_put_u64(begin(dev, OP_alloc), bytes);
    if (call(dev, d) == WS_OK) *out = packet_get_u64(&remote(dev)->in);
    return d->status;
}

static void remote_free(struct device *dev, dptr p) {
    packet_put_u64(begin(dev, OP_free), p);
    defer(dev);
}

static size_t piece(size_t bytes, size_t at) {
    return bytes - at < STAGE_HALF ? bytes - at : STAGE_HALF;
}

static enum ws_status ask_piece(struct device *dev, enum op op, dptr at, size_t n, int half,
                                struct diag *d) {
    struct packet *out = begin(dev, op);
    packet_put_u64(out, at);
    packet_put_u64(out, n);
    packet_put_u64(out, (uint64_t)half * STAGE_HALF);
    return send_request(remote(dev), d);
}

/* One half of the stage is filled while the worker empties the other. */
static enum ws_status remote_upload(struct device *dev, dptr to, const void *from, size_t bytes,
                                    struct diag *d) {
    struct remote_device *r = remote(dev);
    int half = 0;
    for (size_t at = 0; at < bytes && d->status == WS_OK; at += STAGE_HALF, half ^= 1) {
        size_t n = piece(bytes, at);
        memcpy(r->worker.stage + half * STAGE_HALF, (const char *)from + at, n);
        if (at && receive_reply(r, d) != WS_OK) return d->status;
        ask_piece(dev, OP_upload, to + at, n, half, d);
    }
    return d->status == WS_OK && bytes ? receive_reply(r, d) : d->status;
}

static enum ws_status remote_download(struct device *dev, void *to, dptr from, size_t bytes,
                                      struct diag *d) {
    struct remote_device *r = remote(dev);
    int half = 0;
    if (bytes) ask_piece(dev, OP_download, from, piece(bytes, 0), half, d);
    for (size_t at = 0; at < bytes && d->status == WS_OK; at += STAGE_HALF, half ^= 1) {
        size_t n = piece(bytes, at), next = at + n;
        if (receive_reply(r, d) != WS_OK) return d->status;
        if (next < bytes) ask_piece(dev, OP_download, from + next, piece(bytes, next), half ^ 1, d);
        if (d->status == WS_OK) memcpy((char *)to + at, r->worker.stage + half * STAGE_HALF, n);
    }
    return d->status;
}

static enum ws_status remote_fill(struct device *dev, dptr p, int byte, size_t bytes,
                                  struct diag *d) {
    struct packet *out = begin(dev, OP_fill);
    packet_put_u64(out, p);
    packet_put_u64(out, (uint64_t)byte);
    packet_put_u64(out, bytes);
    defer(dev);
    return d->status;
}

static enum ws_status remote_keep(struct device *dev, dptr p, size_t bytes, struct diag *d) {
    struct packet *out = begin(dev, OP_keep);
    packet_put_u64(out, p);
    packet_put_u64(out, bytes);
    return call(dev, d);
}

/* ---- modules --------------------------------------------------------------------------------- */

static enum ws_status remote_load(struct device *dev, const void *binary, size_t size,
                                  struct module **out, struct diag *d) {
    struct packet *k = begin(dev, OP_load);
    packet_put_u64(k, size);
    packet_put(k, binary, size);
    if (call(dev, d) != WS_OK) return d->status;
    struct module *m = calloc(1, sizeof *m);
    if (!m) return diag_fail(d, WS_MACHINE, "out of memory for a module");
    *m = (struct module){packet_get_u64(&remote(dev)->in), dev->generation};
    *out = m;
    return WS_OK;
}

static void remote_unload(struct device *dev, struct module *m) {
    if (!dev->lost && m->generation == dev->generation) {
        packet_put_u64(begin(dev, OP_unload), m->number);
        defer(dev);
    }
    free(m);
}

static enum ws_status put_module(struct device *dev, struct packet *out, const struct module *m,
                                 struct diag *d) {
    if (m->generation != dev->generation)
        return diag_fail(d, WS_MACHINE, "a module was loaded before %s was reset: load it again",
                         dev->facts.id);
    packet_put_u64(out, m->number);
    return WS_OK;
}

static enum ws_status remote_function_facts(struct device *dev, struct module *m, const char *entry,
                                            int threads, int smem, struct function_facts *facts,
                                            struct diag *d) {
    struct packet *out = begin(dev, OP_function_facts);
    if (put_module(dev, out, m, d) != WS_OK) return d->status;
    packet_put_text(out, entry);
    packet_put_u64(out, (uint64_t)threads);
    packet_put_u64(out, (uint64_t)smem);
    if (call(dev, d) == WS_OK) packet_get(&remote(dev)->in, facts, sizeof *facts);
    return d->status;
}

/* ---- launches -------------------------------------------------------------------------------- */

static enum ws_status put_launches(struct device *dev, struct packet *out, const struct launch *l,
                                   int n, struct diag *d) {
    packet_put_u64(out, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        if (put_module(dev, out, l[i].module, d) != WS_OK) return d->status;
        packet_put_text(out, l[i].entry);
        packet_put(out, l[i].grid, sizeof l[i].grid);
        packet_put_u64(out, (uint64_t)l[i].threads);
        packet_put_u64(out, (uint64_t)l[i].smem);
        packet_put_u64(out, l[i].overlaps);
        packet_put_u64(out, (uint64_t)l[i].n_args);
        for (int k = 0; k < l[i].n_args; k++) {
            packet_put_u64(out, l[i].maps[k] != NULL);
            if (l[i].maps[k])
                packet_put(out, l[i].maps[k], sizeof *l[i].maps[k]);
            else
                packet_put(out, l[i].args[k], sizeof(uint64_t));
        }
    }
    return WS_OK;
}

static enum ws_status remote_run(struct device *dev, const struct launch *l, int n,
                                 struct diag *d) {
    struct packet *out = begin(dev, OP_run);
    return put_launches(dev, out, l, n, d) == WS_OK ? call(dev, d) : d->status;
}

static enum ws_status remote_time(struct device *dev, const struct launch *l, int n, int samples,
                                  bool flush, double *us, struct sample_extra *extra,
                                  struct diag *d) {
    struct packet *out = begin(dev, OP_time);
    packet_put_u64(out, (uint64_t)samples);
    packet_put_u64(out, flush);
    if (put_launches(dev, out, l, n, d) != WS_OK || call(dev, d) != WS_OK) return d->status;
    struct packet *in = &remote(dev)->in;
    packet_get(in, us, sizeof *us * (size_t)samples * (size_t)n);
    if (extra) packet_get(in, extra, sizeof *extra * (size_t)samples);
    return WS_OK;
}

static enum ws_status remote_count(struct device *dev, const struct launch *l, int n,
                                   struct counters *out, struct diag *d) {
    struct packet *k = begin(dev, OP_count);
    if (put_launches(dev, k, l, n, d) == WS_OK && call(dev, d) == WS_OK)
        packet_get(&remote(dev)->in, out, sizeof *out * (size_t)n);
    return d->status;
}

static enum ws_status remote_compare(struct device *dev, dptr got, struct runs runs,
                                     enum dtype dtype, dptr want, int64_t n, dptr bound,
                                     struct mismatch *m, struct diag *d) {
    struct packet *out = begin(dev, OP_compare);
    packet_put_u64(out, got);
    packet_put(out, &runs, sizeof runs);
    packet_put_u64(out, dtype);
    packet_put_u64(out, want);
    packet_put_u64(out, (uint64_t)n);
    packet_put_u64(out, bound);
    if (call(dev, d) == WS_OK) packet_get(&remote(dev)->in, m, sizeof *m);
    return d->status;
}

static enum ws_status remote_take(struct device *dev, dptr from, enum dtype dtype, dptr want,
                                  int64_t n, double share, dptr bound, struct diag *d) {
    struct packet *out = begin(dev, OP_take);
    packet_put_u64(out, from);
    packet_put_u64(out, dtype);
    packet_put_u64(out, want);
    packet_put_u64(out, (uint64_t)n);
    packet_put(out, &share, sizeof share);
    packet_put_u64(out, bound);
    return call(dev, d);
}

static enum ws_status remote_share(struct device *dev, enum dtype dtype, dptr want, dptr bound,
                                   int64_t n, double *share, struct diag *d) {
    struct packet *out = begin(dev, OP_share);
    packet_put_u64(out, dtype);
    packet_put_u64(out, want);
    packet_put_u64(out, bound);
    packet_put_u64(out, (uint64_t)n);
    if (call(dev, d) == WS_OK) packet_get(&remote(dev)->in, share, sizeof *share);
    return d->status;
}

static enum ws_status remote_find_changed(struct device *dev, const dptr *at, int n, size_t bytes,
                                          int byte, int *first, struct diag *d) {
    struct packet *out = begin(dev, OP_find_changed);
    packet_put_u64(out, (uint64_t)n);
    packet_put(out, at, sizeof *at * (size_t)n);
    packet_put_u64(out, bytes);
    packet_put_u64(out, (uint64_t)byte);
    if (call(dev, d) == WS_OK) packet_get(&remote(dev)->in, first, sizeof *first);
    return d->status;
}

static size_t remote_memory_left(struct device *dev) {
    struct diag quiet = diag_new(remote(dev)->arena);
    begin(dev, OP_memory_left);
    return call(dev, &quiet) == WS_OK ? (size_t)packet_get_u64(&remote(dev)->in) : SIZE_MAX;
}

static void remote_health(struct device *dev, struct health *out) {
    struct diag quiet = diag_new(remote(dev)->arena);
    if (dev->lost) return;
    begin(dev, OP_health);
    if (call(dev, &quiet) == WS_OK) packet_get(&remote(dev)->in, out, sizeof *out);
}

static enum ws_status remote_copy_gbps(struct device *dev, double *gbps, struct diag *d) {
    begin(dev, OP_copy_gbps);
    if (call(dev, d) == WS_OK) packet_get(&remote(dev)->in, gbps, sizeof *gbps);
    return d->status;
}

/* ---- open, close, reset ---------------------------------------------------------------------- */

static enum ws_status start(struct remote_device *r, struct diag *d) {
    r->deferred = 0; /* until there is another process */
    if (worker_start(&r->worker, "device", true, true, d) != WS_OK) return d->status;
    packet_put_text(begin(&r->base, OP_open), r->name);
    if (call(&r->base, d) != WS_OK) return d->status;
    packet_get(&r->in, &r->base.limits, sizeof r->base.limits);
    packet_get(&r->in, &r->base.facts, sizeof r->base.facts);
    r->why = arena_strdup(r->arena, packet_get_text(&r->in));
    return WS_OK;
}

static void remote_close(struct device *dev) {
    struct remote_device *r = remote(dev);
    if (r->worker.pid) worker_stop(&r->worker);
    packet_free(&r->out);
    packet_free(&r->in);
}

static enum ws_status remote_reset(struct device *dev, struct diag *d) {
    struct remote_device *r = remote(dev);
    struct device_facts before = dev->facts;
    if (r->worker.pid) worker_bury(&r->worker, false, r->arena, NULL);
    dev->lost = NULL;
    dev->loss = DEVICE_FINE;
    if (start(r, d) == WS_OK &&
        (strcmp(before.name, dev->facts.name) != 0 || strcmp(before.uuid, dev->facts.uuid) != 0))
        diag_fail(d, WS_MACHINE, "after a reset %s is another device: %s was %s", dev->facts.id,
                  dev->facts.name, before.name);
    if (d->status != WS_OK && !dev->lost) dev->lost = "a reset that failed";
    return d->status;
}

static void remote_limit(struct device *dev, double ms) { remote(dev)->limit_ms = ms; }

static const struct device_ops remote_ops = {
    .close = remote_close,
    .reset = remote_reset,
    .alloc = remote_alloc,
    .free = remote_free,
    .upload = remote_upload,
    .download = remote_download,
    .fill = remote_fill,
    .keep = remote_keep,
    .load = remote_load,
    .unload = remote_unload,
    .function_facts = remote_function_facts,
    .run = remote_run,
    .time = remote_time,
    .count = remote_count,
    .compare = remote_compare,
    .take = remote_take,
    .share = remote_share,
    .find_changed = remote_find_changed,
    .memory_left = remote_memory_left,
    .health = remote_health,
    .copy_gbps = remote_copy_gbps,
    .limit = remote_limit,
};

enum ws_status remote_open(const char *name, struct arena *a, struct diag *d, struct device **out,
                           const char **why) {
    struct remote_device *r = NEW(a, struct remote_device);
    *r = (struct remote_device){
        .base.ops = &remote_ops, .arena = a, .name = name, .limit_ms = INFINITY};
    snprintf(r->base.facts.id, sizeof r->base.facts.id, "%s", name ? name : "default");
    if (start(r, d) != WS_OK) {
        remote_close(&r->base);
        return d->status;
    }
    *why = r->why;
    *out = &r->base;
    return WS_OK;
}

/* ============================================================================================== */
/* The worker's side                                                                              */

struct server {
    struct arena *arena; /* as long as the process: the device's */
    struct env env;
    struct device *dev;
    unsigned char *stage;
    struct packet in, results;
    struct module **modules; /* by number; NULL: unloaded */
    size_t n_modules;
};

static struct module *module_of(struct server *s, uint64_t number) {
    return number < s->n_modules ? s->modules[number] : NULL;
}

static void serve_open(struct server *s, struct diag *d) {
    const char *name = packet_get_text(&s->in), *why = "";
    name = *name ? arena_strdup(s->arena, name) : NULL;
    if (device_open(name, &s->env, s->arena, d, &s->dev, &why) != WS_OK) return;
    if (s->dev->ops->settle) s->dev->ops->settle(s->dev, &s->env);
    packet_put(&s->results, device_limits(s->dev), sizeof(struct device_limits));
    packet_put(&s->results, device_facts(s->dev), sizeof(struct device_facts));
    packet_put_text(&s->results, why);
}

static void serve_alloc(struct server *s, struct diag *d) {
    dptr p = 0;
    device_alloc(s->dev, packet_get_u64(&s->in), &p, d);
    packet_put_u64(&s->results, p);
}

static void serve_free(struct server *s, struct diag *d) {
    (void)d;
    device_free(s->dev, packet_get_u64(&s->in));
}

static void serve_upload(struct server *s, struct diag *d) {
    dptr to = packet_get_u64(&s->in);
    size_t n = packet_get_u64(&s->in), at = packet_get_u64(&s->in);
    device_upload(s->dev, to, s->stage + at, n, d);
}

static void serve_download(struct server *s, struct diag *d) {
    dptr from = packet_get_u64(&s->in);
    size_t n = packet_get_u64(&s->in), at = packet_get_u64(&s->in);
    device_download(s->dev, s->stage + at, from, n, d);
}

static void serve_fill(struct server *s, struct diag *d) {
    dptr p = packet_get_u64(&s->in);
    int byte = (int)packet_get_u64(&s->in);
    device_fill(s->dev, p, byte, packet_get_u64(&s->in), d);
}

static void serve_keep(struct server *s, struct diag *d) {
    dptr p = packet_get_u64(&s->in);
    device_keep(s->dev, p, packet_get_u64(&s->in), d);
}

static void serve_load(struct server *s, struct diag *d) {
    size_t size = packet_get_u64(&s->in);
    struct module *m = NULL;
    if (device_load(s->dev, packet_take(&s->in, size), size, &m, d) != WS_OK) return;
    struct module **more = realloc(s->modules, sizeof *more * (s->n_modules + 1));
    if (!more) WS_BUG("out of memory for %zu modules", s->n_modules);
    s->modules = more;
    s->modules[s->n_modules] = m;
    packet_put_u64(&s->results, s->n_modules++);
}

static void serve_unload(struct server *s, struct diag *d) {
    uint64_t number = packet_get_u64(&s->in);
    struct module *m = module_of(s, number);
    (void)d;
    if (!m) return;
    device_unload(s->dev, m);
    s->modules[number] = NULL;
}

static void serve_function_facts(struct server *s, struct diag *d) {
    struct module *m = module_of(s, packet_get_u64(&s->in));
    const char *entry = packet_get_text(&s->in);
    int threads = (int)packet_get_u64(&s->in), smem = (int)packet_get_u64(&s->in);
    struct function_facts facts;
    device_function_facts(s->dev, m, entry, threads, smem, &facts, d);
    packet_put(&s->results, &facts, sizeof facts);
}

static struct launch *take_launches(struct server *s, int *n, struct arena *a) {
    *n = (int)packet_get_u64(&s->in);
    struct launch *l = NEW_ARRAY(a, struct launch, *n + 1);
    for (int i = 0; i < *n; i++) {
        l[i].module = module_of(s, packet_get_u64(&s->in));
        l[i].entry = arena_strdup(a, packet_get_text(&s->in));
        packet_get(&s->in, l[i].grid, sizeof l[i].grid);
        l[i].threads = (int)packet_get_u64(&s->in);
        l[i].smem = (int)packet_get_u64(&s->in);
        l[i].overlaps = packet_get_u64(&s->in) != 0;
        l[i].n_args = (int)packet_get_u64(&s->in);
        for (int k = 0; k < l[i].n_args; k++) {
            if (packet_get_u64(&s->in)) {
                struct tensor_map *map = NEW(a, struct tensor_map);
                packet_get(&s->in, map, sizeof *map);
                l[i].maps[k] = map;
            } else {
                uint64_t *value = l[i].args[k] = NEW(a, uint64_t);
                *value = packet_get_u64(&s->in);
            }
        }
    }
    return l;
}

static void serve_run(struct server *s, struct diag *d) {
    int n;
    struct launch *l = take_launches(s, &n, d->arena);
    device_run(s->dev, l, n, d);
}

static void serve_time(struct server *s, struct diag *d) {
    int samples = (int)packet_get_u64(&s->in), n;
    bool flush = packet_get_u64(&s->in);
    struct launch *l = take_launches(s, &n, d->arena);
    double *us = NEW_ARRAY(d->arena, double, samples *n + 1);
    struct sample_extra *extra = NEW_ARRAY(d->arena, struct sample_extra, samples + 1);
    device_time(s->dev, l, n, samples, flush, us, extra, d);
    packet_put(&s->results, us, sizeof *us * (size_t)samples * (size_t)n);
    packet_put(&s->results, extra, sizeof *extra * (size_t)samples);
}

static void serve_count(struct server *s, struct diag *d) {
    int n;
    struct launch *l = take_launches(s, &n, d->arena);
    struct counters *out = NEW_ARRAY(d->arena, struct counters, n + 1);
    device_count(s->dev, l, n, out, d);
    packet_put(&s->results, out, sizeof *out * (size_t)n);
}

static void serve_compare(struct server *s, struct diag *d) {
    dptr got = packet_get_u64(&s->in);
    struct runs runs;
    packet_get(&s->in, &runs, sizeof runs);
    enum dtype t = (enum dtype)packet_get_u64(&s->in);
    dptr want = packet_get_u64(&s->in);
    int64_t n = (int64_t)packet_get_u64(&s->in);
    dptr bound = packet_get_u64(&s->in);
    struct mismatch m;
    device_compare_runs(s->dev, got, runs, t, want, n, bound, &m, d);
    packet_put(&s->results, &m, sizeof m);
}

static void serve_take(struct server *s, struct diag *d) {
    dptr from = packet_get_u64(&s->in);
    enum dtype t = (enum dtype)packet_get_u64(&s->in);
    dptr want = packet_get_u64(&s->in);
    int64_t n = (int64_t)packet_get_u64(&s->in);
    double share;
    packet_get(&s->in, &share, sizeof share);
    device_take(s->dev, from, t, want, n, share, packet_get_u64(&s->in), d);
}

static void serve_share(struct server *s, struct diag *d) {
    enum dtype t = (enum dtype)packet_get_u64(&s->in);
    dptr want = packet_get_u64(&s->in), bound = packet_get_u64(&s->in);
    double share;
    device_share(s->dev, t, want, bound, (int64_t)packet_get_u64(&s->in), &share, d);
    packet_put(&s->results, &share, sizeof share);
}

static void serve_find_changed(struct server *s, struct diag *d) {
    int n = (int)packet_get_u64(&s->in), first;
    dptr *at = NEW_ARRAY(d->arena, dptr, n + 1);
    packet_get(&s->in, at, sizeof *at * (size_t)n);
    size_t bytes = packet_get_u64(&s->in);
    device_find_changed(s->dev, at, n, bytes, (int)packet_get_u64(&s->in), &first, d);
    packet_put(&s->results, &first, sizeof first);
}

static void serve_memory_left(struct server *s, struct diag *d) {
    (void)d;
    packet_put_u64(&s->results, device_memory_left(s->dev));
}

static void serve_health(struct server *s, struct diag *d) {
    struct health h;
    (void)d;
    device_health(s->dev, &h);
    packet_put(&s->results, &h, sizeof h);
}

static void serve_copy_gbps(struct server *s, struct diag *d) {
    double gbps = 0;
    device_copy_gbps(s->dev, &gbps, d);
    packet_put(&s->results, &gbps, sizeof gbps);
}

static void (*const serve[])(struct server *, struct diag *) = {
#define OP(name) [OP_##name] = serve_##name,
    OPS(OP)
#undef OP
};
enum { N_OPS = sizeof serve / sizeof *serve };

static enum wire_result answer(struct server *s, struct packet *reply) {
    struct arena *a = arena_new(); /* as long as the request */
    struct diag d = diag_new(a);
    do { /* those that were deferred, then the one that is answered */
        uint64_t op = packet_get_u64(&s->in);
        WS_ASSERT(op < N_OPS);
        packet_clear(&s->results);
        serve[op](s, &d);
        WS_ASSERT(!s->in.bad);
    } while (d.status == WS_OK && s->in.at < s->in.n);
    packet_clear(reply);
    packet_put_u64(reply, d.status);
    packet_put_text(reply, d.status == WS_OK ? "" : d.message);
    packet_put_text(reply, s->dev ? s->dev->lost : "");
    if (d.status == WS_OK) packet_put(reply, s->results.p, s->results.n);
    arena_free(a);
    return wire_send(WORKER_SOCKET, reply);
}

int device_worker(void) {
    struct packet reply = {0};
    struct server s = {.arena = arena_new()};
    s.env = env_read(s.arena);
    s.stage = worker_stage();
    while (wire_receive(WORKER_SOCKET, &s.in, INFINITY, NULL) == WIRE_OK &&
           answer(&s, &reply) == WIRE_OK)
        continue;
    device_close(s.dev);
    return 0;
}
