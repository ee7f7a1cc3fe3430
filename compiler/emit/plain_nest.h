/* plain_nest.h: what the files share that write plain kernels (plain.c): the text of a nest, which
 * CUDA and C have in common, and one function for each of them. */
#ifndef WS_EMIT_PLAIN_NEST_H
#define WS_EMIT_PLAIN_NEST_H

#include "emit/plain.h"
#include "graph/graph.h"

enum { PLAIN_THREADS = 256 }; /* of a block */

struct plain_emitter {
    const struct loops *l;
    const struct nest *n;
    uint32_t nest; /* its number */
    bool cuda, exact;
    const struct placement *placed; /* of the graph's outputs; NULL: none */
    struct arena *whole;            /* for all nests, ... */
    struct arena *arena;            /* and for the one that is written */
    struct buf b;
    int indent;
    bool used[OP_COUNT][2]; /* by the function that is written: of floats, of integers */
    buffer_id args[WS_MAX_ARGS];
    int n_args;
    int64_t sizes[WS_MAX_ARGS]; /* that the text takes as arguments: see plain_size */
    double reals[WS_MAX_ARGS];  /* and constants */
    int n_sizes, n_reals;
    bool literal; /* it takes none */
    struct plain *out;
};

/* plain_nest.c */
void plain_put(struct plain_emitter *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int64_t plain_bound(const struct plain_emitter *w, ex axis);
const char *plain_value_type(enum dtype t);
const char *plain_index(struct plain_emitter *w, ex e);
const char *plain_size(struct plain_emitter *w, int64_t size);
const char *plain_long_size(struct plain_emitter *w, int64_t size);
int plain_operands_of(enum op op);
void plain_put_insts(struct plain_emitter *w);
void plain_put_insts_that(struct plain_emitter *w, const bool *moves, bool move);
enum dtype plain_operand(const struct plain_emitter *w);
const char *plain_identity(const struct plain_emitter *w);
const char *plain_step(struct plain_emitter *w, const char *a, const char *at, const char *v,
                       const char *number);
bool plain_of_pairs(const struct plain_emitter *w);
void plain_put_step(struct plain_emitter *w, const char *a, const char *at);
int64_t plain_points(const struct plain_emitter *w, const ex *axes, int n);
void plain_put_axes(struct plain_emitter *w, const char *from, ex skip);
void plain_open_loop(struct plain_emitter *w, int k, const char *from, int64_t step);
void plain_open(struct plain_emitter *w, int n, ex shared, const char *from, int64_t step);
void plain_close(struct plain_emitter *w, int n);
bool plain_lies_along(const struct plain_emitter *w, ex axis);
void plain_put_store(struct plain_emitter *w, const char *value);
void plain_put_accumulator(struct plain_emitter *w);
const char *plain_result(const struct plain_emitter *w);
void plain_put_scan(struct plain_emitter *w, const char *from, const char *end, bool stores);
void plain_put_whole_scan(struct plain_emitter *w);

/* plain_cuda.c: lanes share a reduction, or the lines of a scan. */
struct lanes {
    ex shared; /* the axis that is dealt out; the last one, ... */
    bool all;  /* ... if that are the steps of all axes */
    int64_t n;
    bool first; /* neighbours are lanes, not outputs */
};

struct lanes plain_lanes_of(const struct plain_emitter *w, int64_t outputs);
void plain_open_threads(struct plain_emitter *w, int64_t times);
int64_t plain_put_cuda(struct plain_emitter *w, const struct lanes *s, int64_t outputs);
void plain_put_fold(struct plain_emitter *w, int64_t n, int64_t lanes, int64_t outputs);
/* Of scans, behind the totals in `part`: what comes before each part, in its place; the results.
 * Both return the threads that they are for. */
int64_t plain_put_before(struct plain_emitter *w, const struct lanes *s, int64_t outputs);
int64_t plain_put_scanned(struct plain_emitter *w, const struct lanes *s, int64_t outputs);

/* plain_c.c */
void plain_put_c(struct plain_emitter *w);

#endif
