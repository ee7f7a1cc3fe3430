/* plain.h: a program as the plainest kernels that compute it, in doubles (plain.c). */
#ifndef WS_EMIT_PLAIN_H
#define WS_EMIT_PLAIN_H

#include "emit/source.h"
#include "loop/loop.h"

struct plain {
    const char *text;               /* CUDA C++ or C */
    VEC(struct ws_launch) launches; /* in order; buffers are those of the loops */
    size_t workspace;               /* bytes that they share */
    /* while it is written */
    struct buf functions;
    struct map texts;
};

/* What lies in a buffer: an input as it is given, else doubles, or integers as they are. */
enum dtype plain_dtype(const struct buffer *b);

/* False: a nest has no plain text. Sizes are numbers. */
bool emit_plain(const struct loops *l, bool cuda, struct arena *a, struct plain *out);

extern const char prelude_plain[];

#endif
