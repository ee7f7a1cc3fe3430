/* gen.h: a random graph from a seed. */
#ifndef FUZZ_GEN_H
#define FUZZ_GEN_H

#include "graph/graph.h"

/* 1 to 12 nodes out of the operator table on small tensors. It is verified by nobody yet; it may
 * compute infinities, and what no back end takes. */
struct graph *gen_graph(struct arena *a, uint64_t seed);
/* The same with sizes as they are in use: too many elements to be computed. */
struct graph *gen_large_graph(struct arena *a, uint64_t seed);

/* What cannot be judged, and is in no such graph: inputs, uninitialised memory, random numbers,
 * shifts by any integer. */
bool gen_excludes(enum op op);

/* g without what no output needs, inputs first. */
struct graph *gen_prune(const struct graph *g);

#endif
