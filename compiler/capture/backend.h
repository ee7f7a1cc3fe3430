/* backend.h: who computes a captured graph. capture knows two, eager and aot_eager, which evaluate
 * it by the reference interpreter; others are handed in with the options of a script. */
#ifndef WS_CAPTURE_BACKEND_H
#define WS_CAPTURE_BACKEND_H

#include "graph/graph.h"

/* A tensor in memory. */
struct array {
    void *bytes; /* its first element */
    enum dtype dtype;
    int rank;
    int64_t size[WS_MAX_RANK], stride[WS_MAX_RANK]; /* elements */
};

/* The sizes of a call: symbol i of the graph's expressions is value i. */
struct bindings {
    const ex *symbols;
    const int64_t *values;
    uint32_t n;
    bool draws; /* the last one numbers random tensors, and is another at every call */
};
int64_t bindings_value(const struct bindings *b, struct exprs *p, ex e);

struct backend {
    const char *name;
    void *ctx;
    void (*set_logs)(void *ctx, uint32_t logs); /* topics from now on; NULL: it says nothing */
    /* Something that can be run, or NULL with a diag. The graph lives as long as the program. */
    void *(*compile)(void *ctx, struct graph *g, struct diag *d);
    /* outputs are row-major, with memory. False with a diag. */
    bool (*run)(void *ctx, void *callable, const struct bindings *b, uint64_t seed,
                const struct array *inputs, const struct array *outputs, struct diag *d);
};

extern const struct backend backend_eager, backend_aot_eager;

#endif
