/* lower_impl.h: what the files of lowering share. Private to loop/.
 *
 * A nest is begun with its axes, filled with instructions, and ended: its value becomes a buffer. A
 * value is read with read_node, through whatever views stand before it. */
#ifndef WS_LOOP_LOWER_IMPL_H
#define WS_LOOP_LOWER_IMPL_H

#include "loop/loop.h"

struct lowering {
    const struct graph *g;
    struct loops *l;
    struct diag *d;
    buffer_id *buffer_of; /* per node: the buffer that holds its value */
    bool *has_buffer;
    const struct flat *flat;
    uint32_t epoch; /* of nests that are begun */
};

#define NO_INST UINT32_MAX

struct nest begin_nest(struct lowering *w, node_id id);
void end_nest(struct lowering *w, struct nest *n, node_id id);
inst_id add_inst(struct lowering *w, struct nest *n, struct inst i);
inst_id add_const(struct lowering *w, struct nest *n, double v, enum dtype t);
inst_id add_op(struct lowering *w, struct nest *n, enum op op, enum dtype t, inst_id a, inst_id b,
               inst_id c); /* b, c may be NO_INST */

/* The value of node `id` at `at` (an index of that node's shape), where `guard` holds (NO_INST:
 * everywhere). */
inst_id read_node(struct lowering *w, struct nest *n, node_id id, const ex *at, inst_id guard);

/* The same where the condition on the nest's indices holds, `fill` elsewhere. */
/* NO_INST: it always holds. */
inst_id add_condition(struct lowering *w, struct nest *n, ex condition);
inst_id read_or_fill(struct lowering *w, struct nest *n, node_id id, const ex *at, ex condition,
                     double fill);
/* v as t: to(v), or round(v) if t is a float narrower than what it is computed in, as all are in
 * doubles. */
inst_id add_cast(struct lowering *w, struct nest *n, inst_id v, enum dtype t, bool rounds);
/* v as an operand of maths on t. A narrow integer has the bits of its type wherever it is. */
inst_id convert(struct lowering *w, struct nest *n, inst_id v, enum dtype t);

/* The node whose elements `id` shows, behind all views; index becomes that node's. */
node_id behind_views(struct lowering *w, node_id id, ex *index);
/* index (of node n, a VIEW) becomes the index of its operand. */
void view_index(struct lowering *w, const struct node *n, ex *index);
/* Index into a broadcast operand: trailing dimensions line up, size 1 is read at 0. */
void broadcast_index(struct exprs *p, const struct meta *operand, const ex *index, int rank,
                     ex *out);

/* flatten.c: loops as stretches of nodes of one graph: loop_step for each input of the body that is
 * none of the whole loop, the body, loop_stack for each output. */
struct flat_loop {
    int64_t steps;
    node_id *stack; /* by output of the body; UINT32_MAX: nobody wants it */
    bool *kept;     /* by output: of all steps, which are read behind the loop, or by products in
                       it (graph.keeps_states); else of the last ones */
};
enum { LOOP_TURNS = 2 }; /* steps that have memory where the last alone is read */
struct flat {
    const struct graph *g;
    uint32_t *epoch; /* by node */
    VEC(struct flat_loop) loops;
};
/* NULL: there is no loop. */
const struct flat *graph_flatten(const struct graph *g);

/* steps.c: a loop_step or loop_stack of that. */
void lower_step(struct lowering *w, node_id id);
/* lower.c */
buffer_id add_buffer(struct lowering *w, enum buffer_kind kind, int index, node_id node);
node_id same_elements(struct lowering *w, node_id id, const ex *at);
/* The value of node `id` once more, in buffer out. */
void copy_node(struct lowering *w, node_id id, buffer_id out);

static inline bool is_one(struct exprs *p, ex e) {
    int64_t v;
    return ex_is_const(p, e, &v) && v == 1;
}

/* one_term.c: sums of products of which one is other than 0. */
void loops_one_term(struct loops *l);
/* trim.c: what is read of a tensor is a slice: that is all that is computed. */
void loops_trim(struct loops *l);

/* move.c, product.c: a MOVE node, a MATMUL node as a nest. */
void lower_move(struct lowering *w, node_id id);
void lower_product(struct lowering *w, node_id id);

#endif
