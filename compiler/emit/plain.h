/* plain.h: a program as the plainest kernels that compute it, in doubles (plain.c). */
#ifndef WS_EMIT_PLAIN_H
#define WS_EMIT_PLAIN_H

#include "emit/source.h"
#include "loop/loop.h"

/* How an output is to lie in memory: row-major elements go where sizes and strides say. */
struct placement {
    enum dtype dtype;
    bool up; /* f32: what is above it, if it is not the value itself; infinity for NaN */
    int rank;
    int64_t size[WS_MAX_RANK], stride[WS_MAX_RANK]; /* elements */
};

/* What a launch makes: so many outputs of a nest, in rows of its outermost axis; and which text
 * has its kernel. */
struct plain_made {
    uint32_t nest, text;
    int64_t outputs;
};

/* A text while it is written, and the operators that it calls, of floats and of integers. */
struct plain_unit {
    struct buf functions;
    int n;
    bool used[OP_COUNT][2];
};

struct plain {
    VEC(const char *) texts; /* CUDA C++ or C, each compiled by itself */
    /* In order. Buffers are those of the loops; behind them, one for each output, where they are
     * placed. On CUDA two more arguments say which outputs: the first, and the one behind the last,
     * both int64_t. */
    VEC(struct ws_launch) launches;
    VEC(struct plain_made) made; /* by them */
    size_t workspace;            /* bytes that they share */
    /* while it is written, and how many there are */
    VEC(struct plain_unit) units; /* the texts without their heads */
    struct map functions;         /* text -> number */
};

/* What lies in a buffer: an input as it is given, else doubles, or integers as they are. */
enum dtype plain_dtype(const struct buffer *b);

/* Does it lie as it is to be placed? Then it is there, and is not placed. */
bool plain_lies_so(const struct buffer *b, const struct placement *p);

/* Are the results the same on every device, to the last bit, if they are emitted so? */
bool plain_is_exact(const struct loops *l);

/* False: a nest has no plain text. Sizes are numbers. outputs, of the graph, may be NULL: none is
 * placed. */
bool emit_plain(const struct loops *l, const struct placement *outputs, bool exact, bool cuda,
                struct arena *a, struct plain *out);

extern const char prelude_plain[];

#endif
