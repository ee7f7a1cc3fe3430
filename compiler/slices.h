/* slices.h: which nests of a program can be computed some rows at a time (slices.c). */
#ifndef WS_SLICES_H
#define WS_SLICES_H

#include "loop/loop.h"

enum slice_phase {
    SLICE_BEFORE, /* computed as a whole, before any slice */
    SLICE_EACH,   /* by each slice, its own rows */
    SLICE_AFTER,  /* as a whole, when all slices are done */
};

struct slices {
    int64_t rows;            /* of the axis; at most so many slices */
    enum slice_phase *nests; /* by number */
    bool *buffers;           /* temporaries that only the slices know: they hold a slice's rows */
};

struct slices slices_of(const struct loops *l, struct arena *a);

#endif
