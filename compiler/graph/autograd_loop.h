/* autograd_loop.h: what autograd.c asks of autograd_loop.c. */
#ifndef WS_GRAPH_AUTOGRAD_LOOP_H
#define WS_GRAPH_AUTOGRAD_LOOP_H

#include "graph/decompose.h"
#include "graph/loop.h"

struct loop_gradient {
    const node_id *grads; /* by output of the body: of all steps, stacked; UINT32_MAX: none */
    const bool *active;   /* by operand: its gradient is wanted */
    node_id *out;         /* by operand; UINT32_MAX: none */
};
/* n: any node of the loop. False: said in d. */
bool loop_backward(struct build *b, const struct node *n, const struct loop_gradient *x,
                   struct diag *d);

#endif
