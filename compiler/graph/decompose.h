/* decompose.h: what the decomposition files share: a builder and one function per composite.
 *
 * An expansion gets the node with its arguments already in the new graph, emits operators there and
 * returns the one that stands for it. It may emit other composites, which are expanded in the next
 * round. Maths is done in the opmath type of the result; the driver casts what is returned to the
 * node's own type. */
#ifndef WS_GRAPH_DECOMPOSE_H
#define WS_GRAPH_DECOMPOSE_H

#include "graph/graph_impl.h"

struct build {
    struct graph *g;
    struct span where;
};

typedef node_id expansion(struct build *b, const struct node *n);
#define KEEP UINT32_MAX /* an expansion's answer: this node is a primitive as it stands */

/* call(b, OP_SUM, arg_node(x), dim, arg_bool(true)) */
node_id build_call(struct build *b, enum op op, const struct arg *args, int n);
#define call(b, op, ...)                                                                           \
    build_call(b, op, (struct arg[]){__VA_ARGS__},                                                 \
               (int)(sizeof((struct arg[]){__VA_ARGS__}) / sizeof(struct arg)))

node_id unary(struct build *b, enum op op, node_id x);
node_id binary(struct build *b, enum op op, node_id x, node_id y);
node_id scalar(struct build *b, enum op op, node_id x, double y);
node_id cast(struct build *b, node_id x, enum dtype d); /* x itself if it is of that type */
/* Argument i in n's opmath type, by way of n's dtype argument if that is given. */
node_id operand(struct build *b, const struct node *n, int i);
struct arg operand_arg(struct build *b, const struct node *n,
                       int i); /* the same; numbers stay numbers */
node_id reshape(struct build *b, node_id x, const struct meta *m); /* x itself if of that shape */
/* [C, 1, 1, ...]: one element per channel against m, [N, C, ...] */
struct meta channel_shape(struct build *b, const struct meta *m);
node_id full(struct build *b, const struct meta *m, double v);
const struct meta *meta_of(const struct build *b, node_id x);
double number_of(const struct build *b, const struct arg *a);

/* The node of b->g that stands for n, whose arguments are there; KEEP for a primitive. */
node_id decompose_node(struct build *b, const struct node *n);

/* 0, 1, .. size-1; x[.., index, ..]; x[.., start:end, ..]; dimensions in another order */
struct arg nodes_arg(node_id *at, uint32_t n);
node_id iota(struct build *b, ex size);
node_id index_one(struct build *b, node_id x, node_id index, int dim);
node_id cut(struct build *b, node_id x, int dim, ex start, ex end);
node_id reorder(struct build *b, node_id x, const int *from);
node_id move_dim(struct build *b, node_id x, int from, int to);
/* x with dimension `dim` of so many rows of `inner` elements as two; with dim and dim + 1 as one */
node_id split_dim(struct build *b, node_id x, int dim, ex outer, ex inner);
node_id join_dims(struct build *b, node_id x, int dim);

/* decompose_pointwise.c */
expansion expand_add, expand_pow, expand_round; /* primitives in forms that no kernel should see */
expansion expand_gelu, expand_silu, expand_square, expand_clamp, expand_softplus, expand_softsign;
expansion expand_leaky_relu, expand_elu, expand_selu, expand_relu6, expand_hardtanh;
expansion expand_hardsigmoid, expand_hardswish, expand_mish, expand_logsigmoid, expand_addc;
expansion expand_lerp, expand_masked_fill, expand_bitwise_not, expand_cast;
expansion expand_celu, expand_prelu, expand_hardshrink, expand_softshrink, expand_tanhshrink;
expansion expand_threshold, expand_frac, expand_fmax, expand_logaddexp, expand_xlogy;
expansion expand_nan_to_num;

/* decompose_reduce.c */
expansion expand_sum, expand_scan;
expansion expand_softmax, expand_log_softmax, expand_logsumexp, expand_mean, expand_var, expand_std;
expansion expand_norm, expand_normalize, expand_extremum, expand_any, expand_all;
expansion expand_layer_norm, expand_rms_norm, expand_group_norm, expand_batch_norm;
expansion expand_one_pass; /* what one_pass.c has made, as it was before */
/* sum, amax, ... of x over dims (none: all of them); its mean; x - its maximum; how many elements
 * of x the dimensions name; a list of one dimension */
node_id reduce(struct build *b, enum op op, node_id x, struct arg dims, bool keepdim);
node_id mean(struct build *b, node_id x, struct arg dims, bool keepdim);
node_id shifted(struct build *b, node_id x, struct arg dims);
ex count(struct build *b, node_id x, const struct arg *dims);
struct arg one_dim(struct build *b, int dim);

/* decompose_loss.c */
expansion expand_difference_loss, expand_bce, expand_bce_logits, expand_kl_div;
expansion expand_hinge_embedding_loss, expand_margin_ranking_loss, expand_soft_margin_loss;
expansion expand_poisson_nll_loss, expand_gaussian_nll_loss, expand_nll_loss, expand_cross_entropy;

/* decompose_view.c: matrix products, views and creation */
node_id as_matrix(struct build *b, node_id x); /* [..., k] as [all of it, k] */
expansion expand_product, expand_matmul, expand_linear, expand_addmm, expand_attention;
expansion expand_reshape, expand_transpose, expand_narrow, expand_select, expand_expand_as;
expansion expand_copy, expand_detach, expand_set_data, expand_triangle, expand_fill,
    expand_random_like;

/* decompose_move.c */
node_id concat_many(struct build *b, node_id *at, uint32_t n, int dim);
expansion expand_cat, expand_stack, expand_constant_pad, expand_pad, expand_roll, expand_repeat;
expansion expand_repeat_interleave, expand_diagonal, expand_diag, expand_eye, expand_gather;
expansion expand_index_select, expand_embedding, expand_take, expand_take_along_dim;
expansion expand_scatter, expand_index_add, expand_one_hot;

/* landed_known.c: for each of `places` along dim, the sum of the sources whose index it is; KEEP:
 * the graph does not say which these are. */
node_id land_known(struct build *b, node_id index, ex places, node_id source, int dim);

/* decompose_pool.c */
node_id max_windows(struct build *b, const struct node *n);
node_id max_places(struct build *b, const struct node *n);
expansion expand_windows, expand_max_pool, expand_avg_pool, expand_adaptive_pool, expand_resize;
expansion expand_unfold, expand_tensor_unfold;

/* decompose_error.c */
expansion expand_error_round, expand_error_product, expand_error_quotient, expand_error_flip;

/* decompose_convolution.c */
expansion expand_convolution;

/* decompose_phases.c: is n a transposed convolution that has a stride? units: it will be computed
 * on matrix units. */
bool has_phases(const struct graph *g, const struct node *n);
node_id expand_phases(struct build *b, const struct node *n, const struct device_limits *units);

#endif
