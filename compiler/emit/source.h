/* source.h: a kernel under one config as source text, and how to launch it. Plain data: the tuner
 * sees this. */
#ifndef WS_EMIT_SOURCE_H
#define WS_EMIT_SOURCE_H

#include "base/base.h"

enum ws_arg_kind {
    WS_ARG_BUFFER,    /* buffer: index into the program's buffers */
    WS_ARG_SIZE,      /* value: the size, an int64_t */
    WS_ARG_WORKSPACE, /* value: byte offset into this variant's workspace */
    WS_ARG_TICKETS,   /* counters that are 0 before the launch; it leaves them 0 */
};
struct ws_arg {
    enum ws_arg_kind kind;
    int buffer;
    int64_t value;
    ex expr; /* SIZE: what value is of the program's symbolic sizes */
};

enum { WS_MAX_LAUNCHES = 4, WS_MAX_ARGS = 40 };
struct ws_launch {
    const char *entry;
    int64_t grid[3];
    int threads, smem;
    int stack;   /* bytes of local memory that a thread has on purpose: no spilled registers */
    int cluster; /* blocks of a cluster, as the kernel's text declares; 0 or 1: none */
    int n_args;
    struct ws_arg args[WS_MAX_ARGS];
};

struct ws_source {
    const char *text;  /* one translation unit: CUDA C++ or C; no dates, no addresses, no names of
                          what the kernel is one of: kernels that do the same are compiled once */
    const char *block; /* the printed block program, for dumps */
    int n_launches;
    struct ws_launch launches[WS_MAX_LAUNCHES];
    size_t workspace; /* bytes of scratch memory the launches share */
    size_t tickets;   /* bytes of the counters, which any variants may share */
};

#endif
