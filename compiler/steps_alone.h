/* steps_alone.h: the steps of a loop as a node again, each from what the one before has left in
 * memory, not from what it should have left.
 *
 *   %h = loop_step(%h0), carried         %before = cat([unsqueeze(%h0, 0), slice(%b4, 0, 0, 511)])
 *   %x = loop_step(%a), sliced      ->   %hs = loop([%before, %a, %u], carried=[-1, -1, -1],
 *   ..                                              first=[0, 0, 0], way=[1, 1, 0], steps=512,
 *   %hs = loop_stack(%tanh)                         body=graph(%h, %x, %w) { .. }, output=0)
 *
 * So a step that is wrong is wrong in itself, and how far off one may be is what one step adds,
 * however many are before it. What is carried in memory of a few steps only is not there any more:
 * the node carries it, with what it may be off by. */
#ifndef WS_STEPS_ALONE_H
#define WS_STEPS_ALONE_H

#include "loop/loop.h"

/* Of a loop_step that is carried: the memory of all steps of what it carries; NO_MEMORY: there is
 * none, or it is a slice. */
enum { NO_MEMORY = UINT32_MAX };
buffer_id steps_memory(const struct loops *l, node_id step);
/* The loop_stack of what a loop_step carries. */
node_id steps_stack(const struct loops *l, node_id step);

/* Of loop number `loop`, whose nodes among `needed` these are made of, in order. part: by node of
 * l->graph, which node of `to` it is: those outside are there already, and those of the loop that
 * are wanted[] come to be: a stack, or else what the last step has made. left: by buffer, memory of
 * all steps as a node of `to`; (node_id)-1: nothing of it can be read. */
void steps_add(struct graph *to, const struct loops *l, uint32_t loop, const node_id *needed,
               uint32_t n_needed, const node_id *wanted, uint32_t n_wanted, const node_id *left,
               node_id *part);

#endif
