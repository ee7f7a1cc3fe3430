/* source.h: a kernel under one config as source text, and how to launch it. Plain data: the tuner
 * sees this. */
#ifndef WS_EMIT_SOURCE_H
#define WS_EMIT_SOURCE_H

#include "base/base.h"

/* A tensor as TMA reads and writes it: `rank` dimensions, innermost first (base/tensor_map.h). */
enum { WS_MAP_RANK = TENSOR_MAP_RANK };
struct ws_map {
    enum dtype dtype; /* of its elements */
    bool tf32;        /* f32: rounded to tf32 on the way */
    int rank;
    int64_t size[WS_MAP_RANK];                           /* elements */
    int64_t stride[WS_MAP_RANK];                         /* bytes; stride[0] is the element's */
    ex size_expr[WS_MAP_RANK], stride_expr[WS_MAP_RANK]; /* what these are of the program's symbolic
                                                            sizes; EX_NONE where constant */
    int box[WS_MAP_RANK];                                /* elements */
    int swizzle;                                         /* 0, 32, 64, 128 bytes */
    bool windows;
    struct tensor_windows window[TENSOR_MAP_WINDOWS];
};

enum ws_arg_kind {
    WS_ARG_BUFFER,    /* buffer: index into the program's buffers */
    WS_ARG_SIZE,      /* value: the size, an int64_t */
    WS_ARG_WORKSPACE, /* value: byte offset into this variant's workspace */
    WS_ARG_KEPT,      /* value: byte offset into memory that holds, across calls, what was written
                         at load */
    WS_ARG_TICKETS,   /* counters that are 0 before the launch; it leaves them 0 */
    WS_ARG_MAP,       /* a tensor map, by value, of a tensor in what base says: value bytes into the
                         buffer, the workspace or what is kept */
};
struct ws_arg {
    enum ws_arg_kind kind;
    int buffer;
    int64_t value;
    ex expr;                  /* SIZE: what value is of the program's symbolic sizes */
    enum ws_arg_kind base;    /* MAP: BUFFER, WORKSPACE or KEPT */
    const struct ws_map *map; /* MAP */
};

/* What the runtime is given of a MAP whose tensor begins there; with 0, what tensor_map_illegal and
 * tensor_map_str take. */
static inline struct tensor_map ws_map_at(const struct ws_map *m, uint64_t address) {
    struct tensor_map t = {.address = address,
                           .dtype = m->dtype,
                           .tf32 = m->tf32,
                           .rank = m->rank,
                           .swizzle = m->swizzle,
                           .windows = m->windows};
    for (int i = 0; i < TENSOR_MAP_WINDOWS; i++) t.window[i] = m->window[i];
    for (int i = 0; i < WS_MAP_RANK; i++) {
        t.size[i] = m->size[i];
        t.stride[i] = m->stride[i];
        t.box[i] = m->box[i];
    }
    return t;
}

enum { WS_MAX_LAUNCHES = 16, WS_MAX_ARGS = 40 };
struct ws_launch {
    const char *entry;
    int64_t grid[3];
    int threads, smem;
    int stack;    /* bytes of local memory that a thread has on purpose: no spilled registers */
    int cluster;  /* blocks of a cluster, as the kernel's text declares; 0 or 1: none */
    bool at_load; /* it runs once, before all calls, and writes what is kept alone; those that run
                     in each come behind */
    bool alone;   /* it begins when those before it have ended: the program has no other, or it
                     needs the device to itself; its text does not wait for them */
    int together; /* blocks that wait for each other, so that all of them have to be on the device;
                     0: none waits */
    int n_args;
    struct ws_arg args[WS_MAX_ARGS];
};

struct ws_source {
    const char *text;  /* one translation unit: CUDA C++ or C; no dates, no addresses, no names of
                          what the kernel is one of: kernels that do the same are compiled once */
    const char *block; /* the printed block program, for dumps */
    int n_launches;
    struct ws_launch *launches; /* WS_MAX_LAUNCHES at most */
    size_t workspace;           /* bytes of scratch memory the launches share */
    size_t kept;                /* bytes that launches at load write for all calls; */
    uint64_t load;  /* hash of their texts: of one kernel the same hash leaves the same there */
    size_t tickets; /* bytes of the counters, which any variants may share */
};

#endif
