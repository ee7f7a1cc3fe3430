/* ws_backend.h: a backend of one's own for torch.compile, as a shared object.
 *
 *     cc -shared -fPIC -I compiler -o my_backend.so my_backend.c
 *     warpsmith run script.py --backend ./my_backend.so
 *
 * The object exports
 *
 *     int ws_backend(const struct ws_backend_graph *g, struct ws_callable *out);
 *
 * which is called once for every captured graph and returns 0, or anything else to refuse it (the
 * script then gets a RuntimeError). *out comes in as the reference interpreter's callable, so a
 * backend that only wants to look returns it as it is. examples/print_graph.c does that.
 *
 * This header stands alone: nothing else of warpsmith is needed, or linked. */
#ifndef WS_BACKEND_H
#define WS_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#define WS_BACKEND_VERSION 1

struct ws_backend_graph {
    int version;          /* WS_BACKEND_VERSION of who calls */
    const char *text;     /* the graph, one operator a line; sizes may be symbols: f32[s0, 64] */
    const char *readable; /* the same as Python that calls ATen */
    int n_inputs, n_outputs;
};

/* A tensor in host memory. dtype: "f32", "bf16", "f16", "f64", "i64", "i32", "bool". Sizes and
 * strides count elements; outputs are row-major, and there to be filled. */
struct ws_array {
    void *data;
    const char *dtype;
    int rank;
    int64_t size[8], stride[8];
};

/* What runs the graph. run returns 0, or fills message (cap bytes) with why it could not. It is
 * called by one thread at a time; release, if not NULL, once at the end. */
struct ws_callable {
    void *ctx;
    int (*run)(void *ctx, const struct ws_array *inputs, const struct ws_array *outputs,
               char *message, size_t cap);
    void (*release)(void *ctx);
};

typedef int ws_backend_function(const struct ws_backend_graph *g, struct ws_callable *out);

#endif
