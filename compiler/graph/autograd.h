/* autograd.h: reverse-mode differentiation, ahead of time: from a graph to the graph of its outputs
 * and gradients, by the rules of derivatives.def. */
#ifndef WS_GRAPH_AUTOGRAD_H
#define WS_GRAPH_AUTOGRAD_H

#include "graph/graph.h"

/* The joint graph of `forward`.
 *   inputs   those of forward, in order; then one tangent for each output of floating dtype, in
 *            order: the gradient of whatever is wanted with respect to that output
 *   outputs  those of forward, in order; then the gradient of each wanted input, in order, in that
 *            input's shape and dtype
 * wants[i]: is the gradient of input i wanted? It must be floating. An input that no tangent
 * reaches has a gradient of zeros.
 *
 * The init of tangent k is n + k, where n is the number of forward's inputs.
 *
 * Needs: a verified graph, composites or not. Keeps: composites of the forward part. Returns NULL
 * with a message at the operator's place if one on the way has no derivative. */
struct graph *graph_backward(const struct graph *forward, const bool *wants, struct diag *d);

/* Appends to g the gradients of `of` under the tangents of `outputs`; grads[i] is NO_GRADIENT_NODE
 * where no tangent reaches of[i]. false: a message is in d. */
#define NO_GRADIENT_NODE UINT32_MAX
struct gradients_wanted {
    const node_id *outputs, *tangents, *of;
    uint32_t n_outputs, n_of;
};
bool graph_gradients(struct graph *g, const struct gradients_wanted *want, node_id *grads,
                     struct diag *d);

#endif
