/* loop.h: steps that are the same again and again, as one node: what the field calls a scan.
 *
 *   %hs: f32[512, 16, 64] = loop([%h0, %xs, %u], carried=[0, -1, -1], first=[0, 0, 0],
 *                                way=[0, 1, 0], steps=512, body=graph(%h, %x, %w) {
 *       ...
 *       return %tanh }, output=0)
 *
 *   h = h0;  for t in 0 .. 511:  hs[t] = h = body(h, xs[0 + 1 * t], u)[0]
 *
 * Operand i is the body's input i in one of three ways: whole, the same in each step; sliced, the
 * element first + way * t of its outermost dimension; or carried, what output carried[i] of the
 * step before came to, and in step 0 the operand. The node is output `output`, of all steps in a
 * stack. Nodes that differ in that alone are one loop, which whoever runs it runs once: a body is
 * told by its address, and a pass that changes it makes another, the same for all of them.
 *
 * loop_step and loop_stack are what lowering makes of it (loop/flatten.c); no captured graph has
 * them. */
#ifndef WS_GRAPH_LOOP_H
#define WS_GRAPH_LOOP_H

#include "graph/graph.h"

enum loop_argument {
    LOOP_OPERANDS,
    LOOP_CARRIED,
    LOOP_FIRST,
    LOOP_WAY,
    LOOP_STEPS,
    LOOP_BODY,
    LOOP_OUTPUT,
    LOOP_ARGUMENTS
};

enum loop_way { LOOP_IS_WHOLE, LOOP_IS_SLICED, LOOP_IS_CARRIED };
struct loop_role {
    enum loop_way is;
    uint32_t output;    /* carried */
    int64_t first, way; /* sliced */
};

struct loop_role loop_role(const struct graph *g, const struct arg *args, uint32_t operand);
int64_t loop_steps(const struct graph *g, const struct arg *args);
uint32_t loop_output(const struct graph *g, const struct arg *args);
/* Of a step. */
const struct meta *loop_output_meta(const struct graph *g, const struct arg *args);
/* Are they outputs of one loop? */
bool loop_same(const struct node *a, const struct node *b);

/* Is it a slice, of the last step of a loop? */
bool loop_shows_last(const struct graph *g, node_id id);

/* Each body in g once, as f makes it anew. */
void loop_renew_bodies(struct graph *g, struct graph *(*f)(struct graph *, const void *),
                       const void *ctx);

/* As graph_work counts it. */
double loop_work(const struct graph *g, node_id id);

/* roll.c: runs of nodes that are the same steps as loops; what is none stays as it is. Returns a
 * new graph in the same arena, or g. */
struct graph *graph_roll(struct graph *g);

/* assigned.c: tensors whose elements along a dimension are assigned one after the other, as lists
 * of these: a step of graph_roll. Returns a new graph in the same arena, or g. */
struct graph *graph_assigned(struct graph *g);

/* hoist.c: products that no step has to wait for before loops, carried sums of products behind
 * them; part of graph_roll, and of use to loops that autograd has made. Returns a new graph in the
 * same arena, or g. */
struct graph *graph_hoist(struct graph *g);

/* wavefront.c: loops of small, equal steps that need not wait for each other, or for more of each
 * other than a step, as one. Needs: a captured, simplified graph. Returns a new graph in the same
 * arena, or g. */
struct graph *graph_wavefront(struct graph *g);

/* rotate.c: loops whose steps end with products that the next step wants, begun with them; *n:
 * how many. Needs: a decomposed graph. Returns a new graph in the same arena, or g. */
struct graph *graph_rotate(struct graph *g, int *n);

/* unroll.c: the inverse: every loop as the nodes of its steps. */
struct graph *graph_unroll(struct graph *g);

#endif
