/* lanes.h: operators on one more dimension in front: what the field calls vmap. */
#ifndef WS_GRAPH_LANES_H
#define WS_GRAPH_LANES_H

#include "graph/decompose.h"

/* A value for all lanes: [lanes, ...] if it differs between them, else of the shape it has. */
struct lane_value {
    node_id node;
    bool differs;
};

/* Nodes of `from` for all lanes, in `to`: x[] says which nodes of `to` the inputs of `from` are,
 * and is told the others. False if an operator is not known to work so; `to` is of no use then. */
bool lanes_add(struct graph *to, int64_t lanes, const struct graph *from, struct lane_value *x);

/* Products of one value by weights that are inputs of g, W[i] transposed, as one product by a new
 * input, its last, which has the rows of all: weights[] are the numbers of the inputs that it puts
 * together, which are among those that are whole[], the same in each step. Returns a graph in the
 * same arena, or g if there are none (or no more). */
typedef VEC(uint32_t) lanes_weights;
struct graph *lanes_join_products(struct graph *g, const bool *whole, lanes_weights *weights);

#endif
