/* plain.h: what plain kernels (emit/plain.c) compute on a device, against the interpreter. */
#ifndef FUZZ_PLAIN_H
#define FUZZ_PLAIN_H

#include "reference.h"
#include "tests/fuzz/drive.h"

struct plain_place {
    struct device *dev;
    struct toolchain *cc;
    bool cuda;
    size_t memory; /* bytes that temporaries may take, so that there are slices; 0: any */
    struct reference_binaries *kept; /* of what was compiled there before; NULL: each by itself */
};

/* Each returns NULL, or what is wrong. */

struct plain_seen {
    int64_t slices; /* 0: nothing was compared, as lowering or the interpreter refuses the graph */
    int64_t asked, judged; /* elements that were computed by themselves, too (graph/sample.h) */
};
/* The outputs of g, from values that drive_inputs made. */
const char *plain_check_graph(const struct plain_place *at, struct graph *g, struct value *in,
                              uint64_t seed, struct plain_seen *seen);
/* g, and how far its outputs may be off: as references are made. */
struct graph *plain_with_bound(struct graph *g);
/* The same values in every type that memory has, row-major and with other strides: to the last bit
 * what dtype_store stores. */
const char *plain_check_places(const struct plain_place *at, struct arena *a);
/* Random numbers, to the last bit. */
const char *plain_check_random(const struct plain_place *at, struct arena *a);

#endif
