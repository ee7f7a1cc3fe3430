/* kernels.c: launches the runtime's own kernels (helpers.cu): flush, copy bandwidth, compare,
 * take, find what has changed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

enum {
    THREADS = 256,
    COPY_TILE = THREADS * 8 * 16, /* bytes a block of the largest copy moves */
    COPY_SAMPLES = 15,
};

/* As helpers.cu has them. */
struct tally {
    unsigned long long bad, unbounded, index;
    unsigned worst, unused;
};
struct compare_result {
    struct tally all;
    unsigned char element[8], reference[8];
    float allowed;
    unsigned n_done;
};
struct squares {
    double sum;
    unsigned long long finite, share;
};

union found {
    struct compare_result compared;
    struct squares squares;
    unsigned long long changed;
};

/* helpers.cu, 0-terminated */
extern const char helper_source[];
__asm__(".section .rodata\n.global helper_source\nhelper_source:\n"
        ".incbin \"compiler/runtime/cuda/helpers.cu\"\n.byte 0\n.previous\n");

/* The text above with the element types' numbers in front of it. */
const char *helpers_source(struct arena *a) {
    struct buf b = buf_new(a);
#define DTYPE(name, ...) buf_printf(&b, "#define DT_%s %d\n", #name, DT_##name);
    DTYPES(DTYPE)
#undef DTYPE
    buf_puts(&b, helper_source);
    return b.p;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Their binary, made once, by a thread of its own where one could be started. */
struct helpers_made {
    const struct cuda_device *of;
    struct arena *arena;
    struct diag d; /* why NVRTC cannot be used */
    struct compiled out;
    pthread_t thread;
    bool running;
};

static void *make(void *arg) {
    struct helpers_made *m = arg;
    const struct cuda_device *c = m->of;
    struct toolchain *nvrtc;
    double begun = clock_ms();
    if (toolchain_open(DEVICE_CUDA, c->base.limits.arch, &c->env, m->arena, &m->d, &nvrtc) == WS_OK)
        toolchain_compile(nvrtc, "helpers.cu", helpers_source(m->arena), false, &m->out);
    stage_log(c->env.logs, "cuda: helpers", begun);
    return NULL;
}

static void make_anew(struct cuda_device *c, bool ahead) {
    struct arena *a = arena_new();
    struct helpers_made *m = c->made = NEW(a, struct helpers_made);
    *m = (struct helpers_made){.of = c, .arena = a, .d = diag_new(a)};
    m->running = ahead && pthread_create(&m->thread, NULL, make, m) == 0;
    if (!m->running && !ahead) make(m);
}

void helpers_begin(struct cuda_device *c) {
    make_anew(c, true);
    if (!c->made->running) helpers_end(c);
}

static void wait_for(struct helpers_made *m) {
    if (m->running) pthread_join(m->thread, NULL);
    m->running = false;
}

void helpers_end(struct cuda_device *c) {
    if (!c->made) return;
    wait_for(c->made);
    compiled_free(&c->made->out);
    arena_free(c->made->arena);
    c->made = NULL;
}

static enum ws_status load_module(struct cuda_device *c, struct diag *d) {
    if (!c->made) make_anew(c, false);
    wait_for(c->made);
    const struct compiled *out = &c->made->out;
    if (c->made->d.status != WS_OK)
        diag_fail(d, c->made->d.status, "%s", c->made->d.message);
    else if (!out->ok)
        diag_fail(d, WS_MACHINE, "the runtime's helper kernels do not compile for %s: %s",
                  c->base.limits.arch, out->log);
    else
        return device_load(&c->base, out->binary, out->size, &c->helpers.module, d);
    helpers_end(c); /* another try is another one */
    return d->status;
}

/* Of a kernel that goes over elements. */
static int64_t most_blocks(const struct cuda_device *c) { return c->base.limits.units * 16; }

enum ws_status helpers_prepare(struct cuda_device *c, struct diag *d) {
    struct helpers *h = &c->helpers;
    if (!h->module && load_module(c, d) != WS_OK) return d->status;
    if (!h->result && device_alloc(&c->base, sizeof(union found), &h->result, d) != WS_OK)
        return d->status;
    size_t parts = sizeof(struct tally) * (size_t)most_blocks(c);
    if (!h->parts && device_alloc(&c->base, parts, &h->parts, d) != WS_OK) return d->status;
    if (h->flush_buffer) return WS_OK;
    h->flush_bytes = 2 * c->base.limits.l2_bytes;
    return device_alloc(&c->base, (size_t)h->flush_bytes, &h->flush_buffer, d);
}

void helpers_release(struct cuda_device *c) {
    device_free(&c->base, c->helpers.flush_buffer);
    device_free(&c->base, c->helpers.result);
    device_free(&c->base, c->helpers.parts);
    device_free(&c->base, c->helpers.places);
    device_unload(&c->base, c->helpers.module);
    c->helpers = (struct helpers){0};
}

/* Lines that a kernel has asked to stay in the L2 outlive whatever is written over it: on an H200 a
 * softmax of bf16[4096, 4096] took 16.7 us for 18.5 behind one that had. They are made lines like
 * others first, which a device does at once, so that what was launched must be over. */
static enum ws_status forget_persisting(struct cuda_device *c, struct diag *d) {
    if (cuda_synchronize(c, "kernels before a flush", d) != WS_OK) return d->status;
    cu_status s = c->api.ctx_reset_l2();
    return s == CU_OK || s == CU_ERR_NOT_SUPPORTED
               ? WS_OK
               : cuda_fail(c, d, s, "cuCtxResetPersistingL2Cache");
}

enum ws_status helpers_flush(struct cuda_device *c, int times, struct diag *d) {
    struct helpers *h = &c->helpers;
    int64_t n = h->flush_bytes / 16;
    struct launch l = {.module = h->module,
                       .entry = "ws_flush",
                       .grid = {(n + THREADS - 1) / THREADS, 1, 1},
                       .threads = THREADS,
                       .n_args = 2,
                       .args = {&h->flush_buffer, &n}};
    struct ready r;
    if (forget_persisting(c, d) != WS_OK || cuda_ready(c, &l, false, &r, d) != WS_OK)
        return d->status;
    for (int i = 0; i < times && d->status == WS_OK; i++) cuda_submit(c, &r, d);
    return d->status;
}

enum ws_status helpers_drain_launch(struct cuda_device *c, struct diag *d) {
    struct helpers *h = &c->helpers;
    int64_t n = h->flush_bytes / 16;
    struct launch l = {.module = h->module,
                       .entry = "ws_drain",
                       .grid = {c->base.limits.units * 8, 1, 1},
                       .threads = THREADS,
                       .n_args = 2,
                       .args = {&h->flush_buffer, &n}};
    struct ready r;
    if (cuda_ready(c, &l, false, &r, d) != WS_OK) return d->status;
    return cuda_submit(c, &r, d);
}

/* ---- compare --------------------------------------------------------------------------------- */

/* Over n elements; the first argument is what results are found in. */
static struct launch over(struct cuda_device *c, const char *entry, int64_t n) {
    int64_t blocks = (n + THREADS - 1) / THREADS, most = most_blocks(c);
    return (struct launch){.module = c->helpers.module,
                           .entry = entry,
                           .grid = {blocks < most ? blocks : most, 1, 1},
                           .threads = THREADS,
                           .n_args = 1,
                           .args = {&c->helpers.result}};
}

/* Checks of small kernels are many: of a launch nothing is waited for but what it leaves. */
static enum ws_status run_and_read(struct cuda_device *c, const struct launch *l, void *result,
                                   size_t bytes, struct diag *d) {
    struct ready r;
    if (cuda_ready(c, l, false, &r, d) != WS_OK || cuda_submit(c, &r, d) != WS_OK) return d->status;
    return device_download(&c->base, result, c->helpers.result, bytes, d);
}

enum ws_status cuda_compare(struct device *dev, dptr got, struct runs runs, enum dtype dtype,
                            dptr want, int64_t n, dptr bound, struct mismatch *out,
                            struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    struct compare_result r;
    int code = dtype, bytes = dtype_bytes(dtype);
    if (helpers_prepare(c, d) != WS_OK) return d->status;
    struct launch l = over(c, "ws_compare", n);
    void *args[] = {&c->helpers.parts, &got,       &code, &bytes, &want, &bound, &n,
                    &runs.length,      &runs.pitch};
    memcpy(&l.args[1], args, sizeof args);
    l.n_args = 10;
    if (device_fill(dev, c->helpers.result, 0, sizeof r, d) != WS_OK ||
        run_and_read(c, &l, &r, sizeof r, d) != WS_OK)
        return d->status;
    if (n < 1 || r.all.index >= (unsigned long long)n)
        return diag_fail(d, WS_MACHINE, "ws_compare found no worst element");
    *out = (struct mismatch){.bad = (int64_t)r.all.bad,
                             .unbounded = (int64_t)r.all.unbounded,
                             .worst = (int64_t)r.all.index};
    mismatch_values(out, dtype, r.element, r.reference, &r.allowed, 0);
    return WS_OK;
}

/* ---- references of what is trusted ---------------------------------------------------------- */

static enum ws_status add_squares(struct cuda_device *c, dptr p, int dtype, int64_t n,
                                  struct diag *d) {
    struct launch l = over(c, "ws_squares", n);
    l.args[1] = &p, l.args[2] = &dtype, l.args[3] = &n;
    l.n_args = 4;
    if (device_fill(&c->base, c->helpers.result, 0, sizeof(struct squares), d) != WS_OK)
        return d->status;
    return device_run(&c->base, &l, 1, d);
}

enum ws_status cuda_take(struct device *dev, dptr from, enum dtype dtype, dptr want, int64_t n,
                         double share, dptr bound, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    int code = dtype;
    if (helpers_prepare(c, d) != WS_OK || (bound && add_squares(c, from, code, n, d) != WS_OK))
        return d->status;
    struct launch l = over(c, "ws_take", n);
    void *args[] = {&from, &code, &want, &bound, &n, &share};
    memcpy(&l.args[1], args, sizeof args);
    l.n_args = 7;
    return device_run(dev, &l, 1, d);
}

enum ws_status cuda_share(struct device *dev, enum dtype dtype, dptr want, dptr bound, int64_t n,
                          double *share, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    struct squares s;
    int code = dtype_reference(dtype);
    if (helpers_prepare(c, d) != WS_OK || add_squares(c, want, code, n, d) != WS_OK)
        return d->status;
    struct launch l = over(c, "ws_share", n);
    void *args[] = {&want, &code, &bound, &n};
    memcpy(&l.args[1], args, sizeof args);
    l.n_args = 5;
    if (run_and_read(c, &l, &s, sizeof s, d) == WS_OK) memcpy(share, &s.share, sizeof *share);
    return d->status;
}

/* ---- what has changed ------------------------------------------------------------------------ */

static enum ws_status place(struct cuda_device *c, const dptr *at, int n, struct diag *d) {
    struct helpers *h = &c->helpers;
    if (n > h->most_places) {
        device_free(&c->base, h->places);
        h->places = 0, h->most_places = 0;
        if (device_alloc(&c->base, sizeof *at * (size_t)n, &h->places, d) != WS_OK)
            return d->status;
        h->most_places = n;
    }
    return device_upload(&c->base, h->places, at, sizeof *at * (size_t)n, d);
}

enum ws_status cuda_find_changed(struct device *dev, const dptr *at, int n, size_t bytes, int byte,
                                 int *first, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    unsigned long long found, none = ~0ull;
    int64_t pieces = n, each = (int64_t)bytes;
    if (helpers_prepare(c, d) != WS_OK || place(c, at, n, d) != WS_OK ||
        device_fill(dev, c->helpers.result, 0xFF, sizeof none, d) != WS_OK)
        return d->status;
    struct launch l = over(c, "ws_find_changed", pieces * THREADS);
    void *args[] = {&c->helpers.places, &pieces, &each, &byte};
    memcpy(&l.args[1], args, sizeof args);
    l.n_args = 5;
    if (run_and_read(c, &l, &found, sizeof found, d) == WS_OK && found != none) *first = (int)found;
    return d->status;
}

/* ---- copy bandwidth -------------------------------------------------------------------------- */

static enum ws_status time_copies(struct cuda_device *c, dptr to, dptr from, int64_t bytes,
                                  double *gbps, struct diag *d) {
    static const struct {
        const char *entry;
        int bytes; /* a thread copies */
    } shapes[] = {
        {"ws_copy_2x1", 8},   {"ws_copy_2x2", 16},
        {"ws_copy_2x4", 32},  {"ws_copy_2x4_streaming", 32},
        {"ws_copy_2x8", 64},  {"ws_copy_2x8_streaming", 64},
        {"ws_copy_4x1", 16},  {"ws_copy_4x2", 32},
        {"ws_copy_4x4", 64},  {"ws_copy_4x4_streaming", 64},
        {"ws_copy_4x8", 128}, {"ws_copy_4x8_streaming", 128},
    };
    struct launch l = {.module = c->helpers.module,
                       .grid = {1, 1, 1},
                       .threads = THREADS,
                       .n_args = 2,
                       .args = {&to, &from}};
    if (device_fill(&c->base, from, 0x5a, (size_t)bytes, d) != WS_OK) return d->status;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        double us[COPY_SAMPLES];
        l.entry = shapes[i].entry;
        l.grid[0] = bytes / (THREADS * shapes[i].bytes);
        if (device_time(&c->base, &l, 1, COPY_SAMPLES, false, us, NULL, d) != WS_OK)
            return d->status;
        double rate =
            2.0 * (double)bytes / (median(us, COPY_SAMPLES) * 1e3); /* bytes a ns = GB/s */
        if (rate > *gbps) *gbps = rate;
    }
    return WS_OK;
}

enum ws_status cuda_copy_gbps(struct device *dev, double *gbps, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    size_t left = 0, total = 0;
    dptr from = 0, to = 0;
    if (cuda_enter(c, d) != WS_OK || helpers_prepare(c, d) != WS_OK) return d->status;
    cu_status s = c->api.mem_info(&left, &total);
    if (s != CU_OK) return cuda_fail(c, d, s, "cuMemGetInfo");
    int64_t bytes = (int64_t)1 << 30;
    if (bytes > (int64_t)(left / 4)) bytes = (int64_t)(left / 4);
    bytes -= bytes % COPY_TILE;
    if (bytes < 4 * dev->limits.l2_bytes)
        return diag_fail(d, WS_MACHINE,
                         "too little free memory on %s to measure its bandwidth: %zu bytes",
                         dev->facts.id, left);
    if (device_alloc(dev, (size_t)bytes, &from, d) == WS_OK &&
        device_alloc(dev, (size_t)bytes, &to, d) == WS_OK)
        time_copies(c, to, from, bytes, gbps, d);
    device_free(dev, to);
    device_free(dev, from);
    return d->status;
}
