/* partition.h: a joint graph (autograd.h) as two: a forward that keeps what the backward will need,
 * and the backward. */
#ifndef WS_GRAPH_PARTITION_H
#define WS_GRAPH_PARTITION_H

#include "graph/graph.h"

/* A tensor that the backward reads: an input of the forward or one of its outputs. */
struct saved_tensor {
    node_id node; /* of the joint graph */
    bool is_input;
    uint32_t index; /* which input or output of the forward */
};

struct partition {
    struct graph *joint;
    uint32_t n_outputs; /* of the function; those of `forward` behind them are for the backward */
    struct graph *forward;
    struct graph *backward; /* inputs: the saved tensors, then the tangents; outputs: gradients */
    VEC(struct saved_tensor) saved;
    VEC(node_id)
    recomputed; /* pointwise nodes of the joint graph that the backward computes again */
};

/* joint: of a function with that many inputs and outputs; decomposed, perhaps but for landings, and
 * simplified. Lives in its arena. */
struct partition *graph_partition(struct graph *joint, uint32_t n_inputs, uint32_t n_outputs);

/* What is saved, its bytes, and what is recomputed. */
void partition_print(struct buf *b, const struct partition *p);

#endif
