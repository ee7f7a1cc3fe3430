/* cpu_stream.c: long runs through memory: first touch and fill, cache flush, copy bandwidth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/cpu/cpu_device.h"

enum {
    CHUNK = 1 << 20,          /* bytes a thread takes at a time, the same ones every time */
    LINE = 64,                /* bytes of a cache's line, or a part of one */
    FLUSH_ENOUGH = 512 << 20, /* bytes; more only for caches that are larger yet */
    COPY_LEAST = 64 << 20,    /* bytes of each of the two buffers */
    COPY_MOST = 1 << 30,
    COPY_SAMPLES = 15,
};

struct fill {
    char *p;
    int byte;
    size_t bytes;
};

static void fill_chunk(void *arg, int64_t i) {
    const struct fill *f = arg;
    size_t at = (size_t)i * CHUNK, n = f->bytes - at < CHUNK ? f->bytes - at : CHUNK;
    memset(f->p + at, f->byte, n);
}

void cpu_fill_parallel(const struct cpu_device *c, void *p, int byte, size_t bytes) {
    struct fill f = {p, byte, bytes};
    if (bytes > CHUNK)
        cpu_each(c, (int64_t)((bytes + CHUNK - 1) / CHUNK), fill_chunk, &f);
    else
        memset(p, byte, bytes);
}

struct long_copy {
    char *to;
    const char *from;
    size_t bytes;
};

static void copy_part(void *arg, int64_t i) {
    const struct long_copy *c = arg;
    size_t at = (size_t)i * CHUNK, n = c->bytes - at < CHUNK ? c->bytes - at : CHUNK;
    memcpy(c->to + at, c->from + at, n);
}

void cpu_copy_parallel(const struct cpu_device *c, void *to, const void *from, size_t bytes) {
    struct long_copy l = {to, from, bytes};
    cpu_each(c, (int64_t)((bytes + CHUNK - 1) / CHUNK), copy_part, &l);
}

/* ---- flush ----------------------------------------------------------------------------------- */

size_t cpu_flush_size(int64_t cache) {
    int64_t twice = 2 * cache, least = cache + cache / 4;
    int64_t bytes = twice < FLUSH_ENOUGH ? twice : least > FLUSH_ENOUGH ? least : FLUSH_ENOUGH;
    return (size_t)(bytes + CHUNK - 1) / CHUNK * CHUNK;
}

enum ws_status cpu_flush_prepare(struct cpu_device *c, struct diag *d) {
    if (c->flush) return WS_OK;
    c->flush_bytes = cpu_flush_size(c->base.limits.l2_bytes);
    c->flush = aligned_alloc(LINE, c->flush_bytes);
    if (!c->flush)
        return diag_fail(d, WS_MACHINE, "cannot allocate %zu bytes to flush the caches",
                         c->flush_bytes);
    cpu_fill_parallel(c, c->flush, 0, c->flush_bytes); /* pages lie near who will sweep them */
    return WS_OK;
}

static void sweep_chunk(void *arg, int64_t i) {
    volatile unsigned char *p = (unsigned char *)arg + i * CHUNK;
    for (int k = 0; k < CHUNK; k += LINE) p[k]++;
}

/* Read and write more than the last-level caches hold: what the workload left there is evicted.
 * Both by plain loads and stores: memset's way of writing long runs leaves a fifth of 1 MiB in a
 * cache of 32 MiB (measured on an EPYC). */
void cpu_flush(struct cpu_device *c) {
    cpu_each(c, (int64_t)(c->flush_bytes / CHUNK), sweep_chunk, c->flush);
}

/* ---- copy bandwidth -------------------------------------------------------------------------- */

/* Stores that bypass the caches: without them every written line is first read, and the copy moves
 * half as much more. */
static void copy_chunk(char *to, const char *from, size_t bytes) {
#if defined(__x86_64__)
    for (size_t i = 0; i < bytes; i += 64) {
        __m128i a = _mm_load_si128((const __m128i *)(from + i));
        __m128i b = _mm_load_si128((const __m128i *)(from + i + 16));
        __m128i e = _mm_load_si128((const __m128i *)(from + i + 32));
        __m128i f = _mm_load_si128((const __m128i *)(from + i + 48));
        _mm_stream_si128((__m128i *)(to + i), a);
        _mm_stream_si128((__m128i *)(to + i + 16), b);
        _mm_stream_si128((__m128i *)(to + i + 32), e);
        _mm_stream_si128((__m128i *)(to + i + 48), f);
    }
    _mm_sfence();
#else
    memcpy(to, from, bytes);
#endif
}

struct copy {
    char *to;
    const char *from;
};

static void copy_one(void *arg, int64_t i) {
    const struct copy *p = arg;
    copy_chunk(p->to + i * CHUNK, p->from + i * CHUNK, CHUNK);
}

/* The best of some: a roof is not lower because others use the machine. */
enum ws_status cpu_copy_gbps(struct device *dev, double *gbps, struct diag *d) {
    const struct cpu_device *c = (const struct cpu_device *)dev;
    int64_t bytes = 4 * dev->limits.l2_bytes;
    bytes = bytes < COPY_LEAST ? COPY_LEAST : bytes > COPY_MOST ? COPY_MOST : bytes;
    bytes -= bytes % CHUNK;
    double least = INFINITY;
    dptr from = 0, to = 0;
    if (device_alloc(dev, (size_t)bytes, &from, d) == WS_OK &&
        device_alloc(dev, (size_t)bytes, &to, d) == WS_OK) {
        for (int i = -1; i < COPY_SAMPLES; i++) { /* -1: warm-up */
            struct copy copy = {(char *)(uintptr_t)to, (const char *)(uintptr_t)from};
            double start = cpu_now_us();
            cpu_each(c, bytes / CHUNK, copy_one, &copy);
            double t = cpu_now_us() - start;
            if (i >= 0 && t < least) least = t;
        }
        *gbps = 2.0 * (double)bytes / (least * 1e3); /* bytes a ns = GB/s */
    }
    device_free(dev, to);
    device_free(dev, from);
    return d->status;
}
