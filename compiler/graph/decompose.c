/* decompose.c: composites become primitives.
 *
 *   %y: bf16[4, 8] = softmax(%x, dim=1, dtype=None)
 * ->
 *   %convert: f32[4, 8] = convert(%x, dtype=f32)
 *   %amax: f32[4, 1] = amax(%convert, dim=[1], keepdim=True)
 *   %sub: f32[4, 8] = sub(%convert, %amax, alpha=1)
 *   %exp: f32[4, 8] = exp(%sub)
 *   %sum: f32[4, 1] = sum(%exp, dim=[1], keepdim=True, dtype=None)
 *   %div: f32[4, 8] = div(%exp, %sum)
 *   %convert_1: bf16[4, 8] = convert(%div, dtype=bf16)
 *
 * A few primitives have forms that no kernel should see and are rewritten as PyTorch's kernels do:
 * add and sub with an alpha, pow with a small constant exponent, rounding of integers, sums into
 * another type; sums, products and powers in u8, i8 and i16, which are made in i32. */
#include "graph/decompose.h"
#include "graph/loop.h"
#include "graph/traits.h"

/* Every composite, and those primitives. tests/unit/test_graph_ops.c checks that no composite is
 * missing. */
static expansion *const expand[OP_COUNT] = {
    [OP_ADD] = expand_add,
    [OP_SUB] = expand_add,
    [OP_POW] = expand_pow,
    [OP_FLOOR] = expand_round,
    [OP_CEIL] = expand_round,
    [OP_ROUND] = expand_round,
    [OP_TRUNC] = expand_round,
    [OP_SUM] = expand_sum,
    [OP_PROD] = expand_sum,
    [OP_CUMSUM] = expand_scan,
    [OP_CUMPROD] = expand_scan,
    [OP_GELU] = expand_gelu,
    [OP_SILU] = expand_silu,
    [OP_SQUARE] = expand_square,
    [OP_CLAMP] = expand_clamp,
    [OP_CLAMP_MIN] = expand_clamp,
    [OP_CLAMP_MAX] = expand_clamp,
    [OP_SOFTPLUS] = expand_softplus,
    [OP_SOFTSIGN] = expand_softsign,
    [OP_LEAKY_RELU] = expand_leaky_relu,
    [OP_ELU] = expand_elu,
    [OP_SELU] = expand_selu,
    [OP_RELU6] = expand_relu6,
    [OP_HARDTANH] = expand_hardtanh,
    [OP_HARDSIGMOID] = expand_hardsigmoid,
    [OP_HARDSWISH] = expand_hardswish,
    [OP_MISH] = expand_mish,
    [OP_LOGSIGMOID] = expand_logsigmoid,
    [OP_CELU] = expand_celu,
    [OP_PRELU] = expand_prelu,
    [OP_HARDSHRINK] = expand_hardshrink,
    [OP_SOFTSHRINK] = expand_softshrink,
    [OP_TANHSHRINK] = expand_tanhshrink,
    [OP_THRESHOLD] = expand_threshold,
    [OP_FRAC] = expand_frac,
    [OP_FMAX] = expand_fmax,
    [OP_FMIN] = expand_fmax,
    [OP_LOGADDEXP] = expand_logaddexp,
    [OP_XLOGY] = expand_xlogy,
    [OP_NAN_TO_NUM] = expand_nan_to_num,
    [OP_ADDCMUL] = expand_addc,
    [OP_ADDCDIV] = expand_addc,
    [OP_LERP] = expand_lerp,
    [OP_MASKED_FILL] = expand_masked_fill,
    [OP_BITWISE_NOT] = expand_bitwise_not,
    [OP_FLOAT] = expand_cast,
    [OP_HALF] = expand_cast,
    [OP_BFLOAT16] = expand_cast,
    [OP_DOUBLE] = expand_cast,
    [OP_LONG] = expand_cast,
    [OP_INT] = expand_cast,
    [OP_SHORT] = expand_cast,
    [OP_CHAR] = expand_cast,
    [OP_BYTE] = expand_cast,
    [OP_BOOL] = expand_cast,
    [OP_TYPE_AS] = expand_cast,
    [OP_SOFTMAX] = expand_softmax,
    [OP_LOG_SOFTMAX] = expand_log_softmax,
    [OP_LOGSUMEXP] = expand_logsumexp,
    [OP_MEAN] = expand_mean,
    [OP_VAR] = expand_var,
    [OP_STD] = expand_std,
    [OP_NORM] = expand_norm,
    [OP_NORMALIZE] = expand_normalize,
    [OP_MAX] = expand_extremum,
    [OP_MIN] = expand_extremum,
    [OP_MAX_DIM] = expand_extremum,
    [OP_MIN_DIM] = expand_extremum,
    [OP_ANY] = expand_any,
    [OP_ALL] = expand_all,
    [OP_LAYER_NORM] = expand_layer_norm,
    [OP_RMS_NORM] = expand_rms_norm,
    [OP_GROUP_NORM] = expand_group_norm,
    [OP_BATCH_NORM] = expand_batch_norm,
    [OP_MSE_LOSS] = expand_difference_loss,
    [OP_L1_LOSS] = expand_difference_loss,
    [OP_SMOOTH_L1_LOSS] = expand_difference_loss,
    [OP_HUBER_LOSS] = expand_difference_loss,
    [OP_BCE] = expand_bce,
    [OP_BCE_LOGITS] = expand_bce_logits,
    [OP_KL_DIV] = expand_kl_div,
    [OP_HINGE_EMBEDDING_LOSS] = expand_hinge_embedding_loss,
    [OP_MARGIN_RANKING_LOSS] = expand_margin_ranking_loss,
    [OP_SOFT_MARGIN_LOSS] = expand_soft_margin_loss,
    [OP_POISSON_NLL_LOSS] = expand_poisson_nll_loss,
    [OP_GAUSSIAN_NLL_LOSS] = expand_gaussian_nll_loss,
    [OP_NLL_LOSS] = expand_nll_loss,
    [OP_CROSS_ENTROPY] = expand_cross_entropy,
    [OP_MM] = expand_product,
    [OP_BMM] = expand_product,
    [OP_MATMUL] = expand_matmul,
    [OP_LINEAR] = expand_linear,
    [OP_ADDMM] = expand_addmm,
    [OP_BADDBMM] = expand_addmm,
    [OP_ATTENTION] = expand_attention,
    [OP_FLATTEN] = expand_reshape,
    [OP_UNFLATTEN] = expand_reshape,
    [OP_VIEW_AS] = expand_reshape,
    [OP_TRANSPOSE] = expand_transpose,
    [OP_T] = expand_transpose,
    [OP_MT] = expand_transpose,
    [OP_MOVEDIM] = expand_transpose,
    [OP_NARROW] = expand_narrow,
    [OP_SELECT] = expand_select,
    [OP_EXPAND_AS] = expand_expand_as,
    [OP_CONTIGUOUS] = expand_copy,
    [OP_CLONE] = expand_copy,
    [OP_DETACH] = expand_detach,
    [OP_GIVE_GRADIENT] = expand_detach,
    [OP_SET_DATA] = expand_set_data,
    [OP_TRIL] = expand_triangle,
    [OP_TRIU] = expand_triangle,
    [OP_CAT] = expand_cat,
    [OP_CONSTANT_PAD] = expand_constant_pad,
    [OP_WINDOWS] = expand_windows,
    [OP_GATHER] = expand_gather,
    [OP_STACK] = expand_stack,
    [OP_PAD] = expand_pad,
    [OP_ROLL] = expand_roll,
    [OP_REPEAT] = expand_repeat,
    [OP_TILE] = expand_repeat,
    [OP_REPEAT_INTERLEAVE] = expand_repeat_interleave,
    [OP_DIAGONAL] = expand_diagonal,
    [OP_DIAG] = expand_diag,
    [OP_EYE] = expand_eye,
    [OP_INDEX_SELECT] = expand_index_select,
    [OP_EMBEDDING] = expand_embedding,
    [OP_TAKE] = expand_take,
    [OP_TAKE_ALONG_DIM] = expand_take_along_dim,
    [OP_SCATTER] = expand_scatter,
    [OP_SCATTER_ADD] = expand_scatter,
    [OP_INDEX_ADD] = expand_index_add,
    [OP_ONE_HOT] = expand_one_hot,
    [OP_MAX_POOL] = expand_max_pool,
    [OP_AVG_POOL] = expand_avg_pool,
    [OP_ADAPTIVE_AVG_POOL] = expand_adaptive_pool,
    [OP_ADAPTIVE_MAX_POOL] = expand_adaptive_pool,
    [OP_UPSAMPLE_NEAREST] = expand_resize,
    [OP_IM2COL] = expand_unfold,
    [OP_CONVOLVE] = expand_product,
    [OP_CONVOLVE_PHASES] = expand_product,
    [OP_CONVOLUTION] = expand_convolution,
    [OP_UNFOLD] = expand_tensor_unfold,
    [OP_ZEROS] = expand_fill,
    [OP_ONES] = expand_fill,
    [OP_EMPTY] = expand_fill,
    [OP_TANGENT] = expand_fill,
    [OP_ZEROS_LIKE] = expand_fill,
    [OP_ONES_LIKE] = expand_fill,
    [OP_EMPTY_LIKE] = expand_fill,
    [OP_FULL_LIKE] = expand_fill,
    [OP_RAND_LIKE] = expand_random_like,
    [OP_RANDN_LIKE] = expand_random_like,
    [OP_ERROR_ROUND] = expand_error_round,
    [OP_ERROR_PRODUCT] = expand_error_product,
    [OP_ERROR_QUOTIENT] = expand_error_quotient,
    [OP_ERROR_FLIP] = expand_error_flip,
};

/* ---- the builder ----------------------------------------------------------------------------- */

node_id build_call(struct build *b, enum op op, const struct arg *args, int n) {
    struct diag d = diag_new(b->g->arena);
    node_id out;
    if (!graph_call(b->g, op, args, n, b->where, &d, &out)) graph_refused(b->g, "decompose", &d);
    return out;
}

node_id unary(struct build *b, enum op op, node_id x) { return call(b, op, arg_node(x)); }

node_id binary(struct build *b, enum op op, node_id x, node_id y) {
    return call(b, op, arg_node(x), arg_node(y));
}

node_id scalar(struct build *b, enum op op, node_id x, double y) {
    return graph_op2s(b->g, op, x, y);
}

const struct meta *meta_of(const struct build *b, node_id x) { return &b->g->nodes.at[x].meta; }

node_id cast(struct build *b, node_id x, enum dtype d) {
    return meta_of(b, x)->dtype == d ? x : call(b, OP_CONVERT, arg_node(x), arg_dtype(d));
}

node_id operand(struct build *b, const struct node *n, int i) {
    node_id x = n->args[i].node;
    int k;
    bool given = op_param(n->op, "dtype", &k) && n->args[k].kind == ARG_DTYPE;
    if (given && n->args[k].dtype != meta_of(b, x)->dtype) /* the user's cast: it rounds */
        x = call(b, OP_CAST, arg_node(x), n->args[k]);
    return cast(b, x, dtype_opmath(n->meta.dtype));
}

struct arg operand_arg(struct build *b, const struct node *n, int i) {
    return n->args[i].kind == ARG_NODE ? arg_node(operand(b, n, i)) : n->args[i];
}

node_id reshape(struct build *b, node_id x, const struct meta *m) {
    const struct meta *old = meta_of(b, x);
    bool same = old->rank == m->rank;
    for (int i = 0; same && i < m->rank; i++) same = old->size[i] == m->size[i];
    return same ? x : call(b, OP_VIEW, arg_node(x), arg_ints(b->g, m->size, m->rank));
}

node_id full(struct build *b, const struct meta *m, double v) {
    struct arg value = dtype_is_float(m->dtype) ? arg_float(v) : arg_int(b->g, (int64_t)v);
    return call(b, OP_FULL, arg_ints(b->g, m->size, m->rank), value, arg_dtype(m->dtype));
}

double number_of(const struct build *b, const struct arg *a) { return arg_number(b->g, a); }

/* ---- the pass -------------------------------------------------------------------------------- */

static bool is_empty(const struct build *b, const struct arg *a) {
    return a->kind == ARG_NODE &&
           meta_numel(b->g->ex, meta_of(b, a->node)) == ex_const(b->g->ex, 0);
}

/* Nothing is left to compute: the result has no element, or is a sum or product over none. */
static bool is_trivial(const struct build *b, const struct node *n) {
    enum op_class class = op_info(n->op)->class;
    if (class == INPUT || class == CREATE) return false;
    if (meta_numel(b->g->ex, &n->meta) == ex_const(b->g->ex, 0)) return true;
    return (class == REDUCE || class == MATMUL) && is_empty(b, &n->args[0]);
}

/* What stays as it is for whoever computes it at once. */
enum keep { KEEP_NOTHING, KEEP_LANDINGS, KEEP_ERRORS };

static bool is_error(enum op op) {
    return op == OP_ERROR_ROUND || op == OP_ERROR_PRODUCT || op == OP_ERROR_QUOTIENT ||
           op == OP_ERROR_FLIP;
}

static bool is_kept(enum keep keep, enum op op) {
    return (keep == KEEP_LANDINGS && op_lands(op)) || (keep == KEEP_ERRORS && is_error(op));
}

node_id decompose_node(struct build *b, const struct node *n) {
    bool composite = op_info(n->op)->class == COMPOSITE;
    if (is_trivial(b, n)) return full(b, &n->meta, n->op == OP_PROD ? 1 : 0);
    if (!expand[n->op] && composite) WS_BUG("%s has no decomposition", op_info(n->op)->name);
    node_id r = expand[n->op] ? expand[n->op](b, n) : KEEP;
    return r == KEEP ? KEEP : cast(b, r, n->meta.dtype);
}

/* An expansion may put a primitive that has one itself: a sum of narrow integers, or the like. */
static bool is_narrow_sum(const struct node *n) {
    expansion *own = expand[n->op];
    return dtype_is_narrow(n->meta.dtype) &&
           (own == expand_sum || own == expand_scan || own == expand_product || own == expand_pow);
}

/* To be lowered: what judges values, and derivatives, take a convolution as one. */
static bool is_split(const struct graph *g, const struct node *n, enum keep keep) {
    return keep != KEEP_LANDINGS && has_phases(g, n);
}

/* Plain kernels have no reduction whose state is more than a number. */
static node_id expand_node(struct build *b, const struct node *n, enum keep keep,
                           const struct device_limits *device) {
    bool splits = is_split(b->g, n, keep) && !dtype_is_narrow(n->meta.dtype) && !is_trivial(b, n);
    bool units = device && device_has_matrix_units(device, n->meta.dtype, b->g->convolutions);
    if (splits) return expand_phases(b, n, units ? device : NULL);
    bool more = n->op == OP_M2 || n->op == OP_EXPSUM;
    return keep == KEEP_ERRORS && more ? expand_one_pass(b, n) : decompose_node(b, n);
}

static struct graph *expand_once(const struct graph *from, enum keep keep,
                                 const struct device_limits *device, bool *again) {
    struct graph *to = graph_like(from);
    node_id *map = NEW_ARRAY(from->arena, node_id, from->nodes.n);
    for (uint32_t i = 0; i < from->nodes.n; i++) {
        struct node n = from->nodes.at[i];
        struct build b = {to, n.where};
        uint32_t first = to->nodes.n;
        const struct arg *old = n.args;
        n.args = NEW_ARRAY(from->arena, struct arg, n.n_args);
        for (int k = 0; k < n.n_args; k++) n.args[k] = arg_map(to, &old[k], map);
        map[i] = is_kept(keep, n.op) ? KEEP : expand_node(&b, &n, keep, device);
        if (map[i] == KEEP) {
            map[i] = graph_copy(to, from, i, map);
            continue;
        }
        for (uint32_t k = first; k < to->nodes.n; k++) {
            to->nodes.at[k].origin = n.origin;
            to->nodes.at[k].where = n.where;
            const struct node *made = &to->nodes.at[k];
            bool composite = op_info(made->op)->class == COMPOSITE;
            *again |= (composite && !is_kept(keep, made->op)) || is_trivial(&b, made) ||
                      is_narrow_sum(made) || is_split(to, made, keep);
        }
    }
    for (uint32_t i = 0; i < from->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[from->outputs.at[i]]);
    return to;
}

struct how {
    enum keep keep;
    const struct device_limits *device;
};

static struct graph *decompose(struct graph *g, enum keep keep, const struct device_limits *device);

static struct graph *decompose_body(struct graph *g, const void *ctx) {
    const struct how *how = ctx;
    return decompose(g, how->keep, how->device);
}

static struct graph *decompose(struct graph *g, enum keep keep,
                               const struct device_limits *device) {
    bool again = true;
    struct how how = {keep, device};
    while (again) {
        again = false;
        g = expand_once(g, keep, device, &again);
    }
    loop_renew_bodies(g, decompose_body, &how);
    return g;
}

struct graph *graph_decompose(struct graph *g) {
    return decompose(g, KEEP_NOTHING, NULL);
}

struct graph *graph_decompose_for(struct graph *g, const struct device_limits *device) {
    return decompose(g, KEEP_NOTHING, device);
}

struct graph *graph_decompose_but_landings(struct graph *g) {
    return decompose(g, KEEP_LANDINGS, NULL);
}

struct graph *graph_decompose_but_errors(struct graph *g) {
    return decompose(g, KEEP_ERRORS, NULL);
}
