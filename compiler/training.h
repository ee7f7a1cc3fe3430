/* training.h: what --mode train and --mode bwd run instead of the captured graph. */
#ifndef WS_TRAINING_H
#define WS_TRAINING_H

#include "ws_tune.h"

/* Replaces c->graph and c->init.
 *   train  outputs and gradients as one graph
 *   bwd    the backward alone: its inputs are what the forward would have saved
 * Wanted are the gradients of all floating arguments and parameters, not of buffers. The tangents
 * are made in the init graph: ones if the program returns one number, as loss.backward() has it,
 * else normal. WS_WRONG if there is nothing to differentiate or an operator has no derivative. */
enum ws_status differentiate(struct ws_captured *c, enum ws_mode mode, struct stages *s,
                             struct diag *d);

#endif
