/* bound.h: what the files share that make a graph of error bounds (bound.c says of what): the two
 * graphs, and errors as they are composed. A node_id of an error is a node of the new graph, of
 * f64, or EXACT; `id` is a node of the graph that is bounded. */
#ifndef WS_GRAPH_BOUND_H
#define WS_GRAPH_BOUND_H

#include "graph/decompose.h"
#include "graph/eval.h"

/* Additions, of what is then added up as a tree; on a CPU, 64 of a task's terms and 16 of parts
 * that tasks have summed up (kernel/chain.c). */
enum { CHAIN = 128, CPU_CHAIN = 64 + 16 };
/* Numbers further from 0 have errors without end because they may overflow: the largest of f16 is
 * 65504. */
#define FAR 60000.0
#define EXACT UINT32_MAX /* in place of a node: the error is 0 */

struct bounds {
    struct build b;
    const struct graph *from;
    struct rounding how;
    node_id *value, *error; /* by node of `from`; error: f64, or EXACT */
    bool *stored;           /* is its value rounded to its type? */
    bool half;              /* cheaper functions are exact enough for all outputs */
    bool in_loop;           /* products: see bound_loop.c */
    struct bounded **loops; /* by the first node of each loop; NULL: there has been none */
};

/* bound.c: of `from`, as nodes of `to`; the inputs are the caller's to put there. */
struct bounds bounds_new(const struct graph *from, struct graph *to, struct rounding how);
void bounds_pass(struct bounds *w); /* every node but the inputs */

/* bound_loop.c */
node_id bound_loop(struct bounds *w, node_id id);

struct arg as_arg(node_id e);
bool is_exact(const struct arg *e);
struct graph *bounds_graph(struct bounds *w);
const struct meta *bounds_meta(struct bounds *w, node_id n);
int64_t bounds_size(struct bounds *w, ex e);
bool same_sizes(const struct meta *a, const struct meta *b);
int64_t bounds_numel(struct bounds *w, const struct meta *m);
double sum_depth(const struct bounds *w, int64_t n);
enum dtype maths_of(const struct bounds *w, enum dtype t);
double roundoff_of(const struct bounds *w, enum dtype t);
double rounding_of(enum dtype t);
double storing(enum dtype t);
node_id wide(struct bounds *w, node_id x);
node_id rounded(struct bounds *w, node_id value, struct arg error, struct arg unit, enum dtype t);
node_id magnitude(struct bounds *w, node_id x);
node_id moved(struct bounds *w, node_id x, node_id e, bool up);
node_id plus(struct bounds *w, node_id x, node_id e);
node_id largest(struct bounds *w, node_id x, node_id e);
node_id or_infinite(struct bounds *w, node_id where, node_id e);
node_id wrapped(struct bounds *w, node_id id, node_id up, node_id down);
node_id as_error(struct bounds *w, struct arg e, const struct meta *m);
node_id zeros_like(struct bounds *w, node_id x);
node_id again(struct bounds *w, const struct node *n, enum op op, node_id x, node_id y);
node_id reduce_as(struct bounds *w, const struct node *n, enum op op, node_id x, bool keep);
struct node bounds_copy(struct bounds *w, node_id id);
int64_t bounds_terms(struct bounds *w, const struct node *n);
node_id stored_result(struct bounds *w, node_id id, node_id e);

/* bound_pointwise.c */
node_id bound_pointwise(struct bounds *w, node_id id);
node_id bound_conversion(struct bounds *w, node_id id);
/* What the operator at id adds by itself: a share of its result, and *besides, absolutely. */
struct arg own_share(struct bounds *w, node_id id, struct arg *besides);

/* bound_shift.c: an error, or a number of 0 where nothing is shared. */
struct arg bound_shared(struct bounds *w, node_id id);

/* bound_reduce.c */
node_id bound_sum(struct bounds *w, node_id id);
node_id bound_product(struct bounds *w, node_id id);
node_id bound_extremum(struct bounds *w, node_id id);
node_id bound_m2(struct bounds *w, node_id id);
node_id bound_expsum(struct bounds *w, node_id id);
node_id bound_argument(struct bounds *w, node_id id);
node_id bound_matmul(struct bounds *w, node_id id);

/* bound_move.c */
node_id bound_shown(struct bounds *w, node_id id);
node_id bound_move(struct bounds *w, node_id id);
node_id bound_landing(struct bounds *w, node_id id);

#endif
