/* graph_impl.h: what the files of this folder share and nobody else sees. */
#ifndef WS_GRAPH_IMPL_H
#define WS_GRAPH_IMPL_H

#include "graph/graph.h"

#define NO_NODE UINT32_MAX

static inline const struct node *graph_node(const struct graph *g, node_id n) {
    return &g->nodes.at[n];
}

/* graph.c */
/* A pass made a call that was refused: sizes that no tensor has leave by the escape of the pool
 * (base/expr.h), as an operator may be small and what it is made of not; anything else is a bug. */
void graph_refused(struct graph *g, const char *pass, const struct diag *d)
    __attribute__((noreturn));
/* A pass calls the operator of `like` with other arguments, which it must not refuse. */
node_id graph_call_like(struct graph *g, const char *pass, const struct node *like,
                        const struct arg *args);
node_id graph_push(struct graph *g, struct node n, const char *hint); /* names it, appends it */
void graph_rename(struct graph *g, node_id n, const char *name);      /* name must be free */
bool is_identifier(const char *s);
struct arg arg_copy(struct graph *g, const struct arg *a); /* lists get their own memory */
struct arg arg_map(struct graph *g, const struct arg *a, const node_id *map);

double arg_number(const struct graph *g, const struct arg *a); /* a constant INT, FLOAT or BOOL */
/* Is it an INT or a FLOAT, known, and this? */
bool arg_is_number(const struct graph *g, const struct arg *a, double number);
/* Number k of a list of constants, or of one for all, or of none: then `absent`. */
int64_t arg_entry(const struct graph *g, const struct arg *a, uint32_t k, int64_t absent);

/* The one tensor that a node computes on, element by element; NO_NODE: several, or none. */
node_id only_operand_of(const struct node *n);

/* rebuild.c: g with pairs of nodes as one thing; g itself if there are none. Which node, read by
 * nobody else, n takes in, or NO_NODE; and what stands for both, from operands by way of map. */
typedef node_id graph_find_fn(const struct graph *g, const struct node *n, const uint32_t *uses);
typedef node_id graph_put_fn(struct graph *to, const struct node *n, const struct node *with,
                             const node_id *map);
struct graph *graph_replace_pairs(struct graph *g, graph_find_fn *find, graph_put_fn *put);

/* meta.c */
/* Sizes count elements, and those lie in storage of at most MAX_NUMEL elements: index arithmetic
 * does not overflow. That is far more than any memory holds, as what is reduced need never lie
 * there: the terms of an embedding's gradient are tokens x vocabulary x columns. A stride of
 * EX_NONE is not looked at. */
#define MAX_NUMEL 0x1p59
#define TOO_LARGE "a tensor of such sizes is too large"
bool meta_is_addressable(struct exprs *p, const struct meta *m);
const struct param *op_param(enum op op, const char *name, int *index); /* NULL if there is none */
struct infer {
    struct graph *g;
    const struct op_info *op;
    const struct arg *args;
    struct span where;
    struct diag *d;
};
/* Record "add: ..." at the call; always false. */
bool infer_fail(const struct infer *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const struct meta *infer_meta(const struct infer *in,
                              int i); /* of argument i; NULL unless a node */
const char *infer_shape(const struct infer *in, const struct meta *m); /* "[4, 8]" for messages */
/* Which dimensions a D or D[] argument names (None and () are all), as a bit set. */
uint32_t dims_set(struct exprs *p, const struct arg *a, int rank);
uint32_t dims_of(const struct graph *g, const struct node *n, const char *param, int rank);
/* one_pass.c: are x's rows, which dims reduce, too few to fill the device, or too long to be
 * kept, so that each reduction of them that another one waits for is a pass over memory? */
bool graph_rows_have_passes(const struct graph *g, const struct node *x, const struct arg *dims,
                            const struct device_limits *limits);

/* A tensor of shape [0], which cat passes over beside tensors of any rank. */
bool meta_is_nothing(const struct graph *g, node_id n);

/* meta_shape.c: out->rank and size (and strides for views). */
bool infer_size(const struct infer *in, struct meta *out);

/* Dimension i of what permute, transpose, t, mT or movedim yields is from[i] of the operand. */
void permutation_of(struct exprs *p, enum op op, const struct arg *args, int rank, int *from);

/* print.c */
void print_float(struct buf *b, double v); /* as Python's repr: 1.0, 1e-05, inf */
void print_meta(struct buf *b, const struct graph *g, const struct meta *m); /* f32[8, 4][1, 8] */

#endif
