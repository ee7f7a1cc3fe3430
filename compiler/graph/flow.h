/* flow.h: the cheapest way to cut a network in two, for partition.c. */
#ifndef WS_GRAPH_FLOW_H
#define WS_GRAPH_FLOW_H

#include "base/base.h"

#define FLOW_INFINITE (INT64_MAX / 4) /* a capacity that no cut pays for */

struct flow_edge {
    uint32_t to;
    int64_t left; /* capacity not used yet; edge e ^ 1 is its reverse */
};

struct flow {
    struct arena *arena;
    uint32_t n; /* vertices */
    VEC(struct flow_edge) edges;
    VEC(uint32_t) * of; /* per vertex: its edges */
};

struct flow *flow_new(struct arena *a, uint32_t n_vertices);
void flow_connect(struct flow *f, uint32_t from, uint32_t to, int64_t capacity);

/* A minimum cut between source and sink: which vertices lie on the sink's side. Of several, the one
 * nearest to the sink. Returns the capacity cut. */
int64_t flow_cut(struct flow *f, uint32_t source, uint32_t sink, bool *sink_side);

#endif
