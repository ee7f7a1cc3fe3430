/* compile_impl.h: what the parts of the back end have in common: compile.c, the stages; program.c,
 * the kernels and buffers of a schedule; sequences.c, small kernels of these as one launch; and
 * configs.c, what the tuner asks of the result. */
#ifndef WS_COMPILE_IMPL_H
#define WS_COMPILE_IMPL_H

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "kernel/sequence.h"
#include "schedule/schedule.h"
#include "ws_tune.h"

/* One lowering: what the stages read and write. */
struct compile {
    struct arena *arena;
    struct ws_captured *captured;
    const struct device_limits *limits;
    enum ws_fusion fusion;
    struct stages *stages;
    struct diag *d;
    struct graph *graph;
    struct loops *loops;
    struct schedule *schedule;
    struct ws_program *program;
    struct map costs; /* us of a kernel's text, as bits */
    double again;     /* bytes that are read once more, whatever kernels there are */
    bool may_persist;
    bool done;
};

/* By kernel that is the first of its text (ws_kernel.same). */
struct ws_configs {
    const struct config *at, *first; /* NULL: not asked for yet */
    int n, pruned;
};

/* compile.c: ends a stage, whose time is recorded; false: it has failed. */
void must_hold(const char *stage, const char *violation);
bool stage(struct compile *c, const char *name);

/* program.c: the program of c's schedule; false: a kernel needs more than a launch has. */
bool build_program(struct compile *c);
/* The shapes of the tensors that a product reads: they say which windows it finds (im2col.c), and
 * no kernel's text has them. */
void put_shapes(struct buf *b, const struct kernel *k);

/* sequences.c: small kernels of the program that follow each other become one. */
void make_sequences(struct compile *c, struct kernel *const *kernels);
static inline struct sequence sequence_of(const struct ws_kernel *k) {
    return (struct sequence){k->n_parts, k->beside, k->parts};
}

#endif
