/* remote_toolchain.c: a compiler in processes of its own, one for every thread that compiles.
 *
 * NVRTC is a library of a hundred megabytes that is fed generated text: when it crashes or never
 * ends, that costs the one variant. A thread takes an idle worker or starts one, and puts it back;
 * one that died is not replaced before somebody needs it. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/remote/wire.h"
#include "runtime/vtable.h"

enum { COMPILE_MOST_MS = 60000 };

struct remote_toolchain {
    struct toolchain base;
    const char *arch;
    pthread_mutex_t lock; /* guards what follows */
    struct worker *idle;
    int n_idle, cap_idle;
};

/* ---- the caller's side ----------------------------------------------------------------------- */

static bool take_idle(struct remote_toolchain *t, struct worker *w) {
    pthread_mutex_lock(&t->lock);
    bool found = t->n_idle > 0;
    if (found) *w = t->idle[--t->n_idle];
    pthread_mutex_unlock(&t->lock);
    return found;
}

static void put_idle(struct remote_toolchain *t, const struct worker *w) {
    pthread_mutex_lock(&t->lock);
    if (t->n_idle == t->cap_idle) {
        t->cap_idle = 2 * t->cap_idle + 8;
        t->idle = realloc(t->idle, sizeof *t->idle * (size_t)t->cap_idle);
        if (!t->idle) WS_BUG("out of memory for %d workers", t->cap_idle);
    }
    t->idle[t->n_idle++] = *w;
    pthread_mutex_unlock(&t->lock);
}

static char *take_bytes(struct packet *k, size_t *size) {
    size_t n = packet_get_u64(k);
    const void *from = packet_take(k, n);
    char *p = malloc(n + 1);
    if (!p || !from) WS_BUG("a compiler's answer of %zu bytes cannot be read", n);
    memcpy(p, from, n);
    p[n] = 0;
    *size = n;
    return p;
}

static void read_compiled(struct packet *k, struct compiled *out) {
    size_t n;
    out->ok = packet_get_u64(k);
    out->serialized = packet_get_u64(k);
    bool has_ptx = packet_get_u64(k);
    char *binary = take_bytes(k, &out->size);
    out->log = take_bytes(k, &n);
    char *ptx = take_bytes(k, &n);
    if (out->ok) out->binary = (unsigned char *)binary;
    if (has_ptx) out->ptx = ptx;
    if (!out->ok) free(binary);
    if (!has_ptx) free(ptx);
}

static void refuse(struct compiled *out, const char *what) {
    out->ok = false;
    out->log = strdup(what);
}

/* False if the worker is lost. */
static bool compile_in(struct worker *w, struct packet *k, const char *name, const char *source,
                       bool want_ptx, bool (*stopped)(void), struct compiled *out) {
    char text[160];
    packet_put_text(k, name);
    packet_put_text(k, source);
    packet_put_u64(k, want_ptx);
    enum wire_result r = wire_send(w->fd, k);
    if (r == WIRE_OK) r = wire_receive(w->fd, k, COMPILE_MOST_MS, stopped);
    if (r == WIRE_OK) return read_compiled(k, out), true;
    struct arena *a = arena_new();
    const char *end = worker_bury(w, r == WIRE_GONE, a, &out->killed);
    if (r == WIRE_LATE)
        snprintf(text, sizeof text, "error: the compiler took longer than %d s",
                 COMPILE_MOST_MS / 1000);
    else if (r == WIRE_STOPPED)
        snprintf(text, sizeof text, "error: interrupted");
    else
        snprintf(text, sizeof text, "error: the compiler crashed: its process was %s", end);
    arena_free(a);
    refuse(out, text);
    return false;
}

static void remote_compile(struct toolchain *base, const char *name, const char *source,
                           bool want_ptx, struct compiled *out) {
    struct remote_toolchain *t = (struct remote_toolchain *)base;
    struct packet k = {0};
    struct worker w;
    if (!take_idle(t, &w)) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        bool started = worker_start(&w, "toolchain", false, false, &d) == WS_OK;
        if (!started) refuse(out, d.message);
        arena_free(a);
        if (!started) return;
        packet_put_text(&k, t->arch); /* the first message of a worker's life says for what */
        wire_send(w.fd, &k);          /* if it is gone, the next message will tell */
        packet_clear(&k);
    }
    if (compile_in(&w, &k, name, source, want_ptx, base->stopped, out)) put_idle(t, &w);
    packet_free(&k);
}

static void remote_toolchain_close(struct toolchain *base) {
    struct remote_toolchain *t = (struct remote_toolchain *)base;
    for (int i = 0; i < t->n_idle; i++) worker_hang_up(&t->idle[i]);
    for (int i = 0; i < t->n_idle; i++) worker_stop(&t->idle[i]);
    free(t->idle);
    t->idle = NULL;
    t->n_idle = t->cap_idle = 0;
}

static const struct toolchain_ops ops = {.compile = remote_compile,
                                         .close = remote_toolchain_close};

struct toolchain *remote_toolchain_open(const struct toolchain *real, const char *arch,
                                        struct arena *a) {
    struct remote_toolchain *t = NEW(a, struct remote_toolchain);
    *t = (struct remote_toolchain){
        .base = {.ops = &ops, .version = real->version, .settings = real->settings},
        .arch = arena_strdup(a, arch)};
    pthread_mutex_init(&t->lock, NULL);
    return &t->base;
}

/* ---- the worker's side ----------------------------------------------------------------------- */

static void put_bytes(struct packet *k, const void *p, size_t n) {
    packet_put_u64(k, p ? n : 0);
    packet_put(k, p, p ? n : 0);
}

/* Who waits for the answer ends a worker that is late; one whose parent is gone ends itself. */
static void compile_with_alarm(struct toolchain *t, const char *name, const char *source,
                               bool want_ptx, struct compiled *c) {
    alarm(2 * COMPILE_MOST_MS / 1000);
    toolchain_compile(t, name, source, want_ptx, c);
    alarm(0);
}

static void answer(struct toolchain *t, const struct diag *d, struct packet *k) {
    const char *name = packet_get_text(k), *source = packet_get_text(k);
    bool want_ptx = packet_get_u64(k);
    struct compiled c = {0};
    if (t)
        compile_with_alarm(t, name, source, want_ptx, &c);
    else
        c.log = strdup(d->message);
    packet_clear(k);
    packet_put_u64(k, c.ok);
    packet_put_u64(k, c.serialized);
    packet_put_u64(k, c.ptx != NULL);
    put_bytes(k, c.binary, c.size);
    put_bytes(k, c.log, c.log ? strlen(c.log) : 0);
    put_bytes(k, c.ptx, c.ptx ? strlen(c.ptx) : 0);
    compiled_free(&c);
}

int toolchain_worker(void) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct packet k = {0};
    struct toolchain *t = NULL;
    if (wire_receive(WORKER_SOCKET, &k, INFINITY, NULL) != WIRE_OK) return 0;
    const char *arch = arena_strdup(a, packet_get_text(&k));
    toolchain_open(DEVICE_CUDA, arch, &env, a, &d, &t);
    while (wire_receive(WORKER_SOCKET, &k, INFINITY, NULL) == WIRE_OK) {
        answer(t, &d, &k);
        if (wire_send(WORKER_SOCKET, &k) != WIRE_OK) break;
    }
    return 0;
}
