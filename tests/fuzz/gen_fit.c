/* gen_fit.c: arguments for operators whose sizes must fit each other.
 *
 *   mm(%x: f32[13, 8], ?)          -> a new input f32[8, n]
 *   view(%x: f32[4, 6], ?)         -> dimensions merged or split: [24], [4, 2, 3], [-1, 6]
 *   layer_norm(%x: f32[2, 3, 64])  -> normalized_shape [3, 64] or [64], parameters of that shape */
#include "tests/fuzz/gen_impl.h"

static struct arg int_arg(struct gen *x, int64_t v) { return arg_int(x->g, v); }

static struct arg ints_arg(struct gen *x, const int64_t *v, int n) {
    ex at[2 * WS_MAX_RANK];
    for (int i = 0; i < n; i++) at[i] = ex_const(x->g->ex, v[i]);
    return arg_ints(x->g, at, (uint32_t)n);
}

/* A new input of these sizes and n's type. */
static struct arg partner(struct gen *x, node_id n, int rank, const int64_t *size) {
    return arg_node(new_input_like(x, meta_at(x, n)->dtype, rank, size));
}

static int64_t pick_size(struct gen *x) { return 1 + below(x, 3) * below(x, 12); }

/* ---- products -------------------------------------------------------------------------------- */

static void fit_mm(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 2, 2);
    int64_t size[] = {size_at(x, meta_at(x, a), 1), random_size(x)};
    c->args[0] = arg_node(a);
    c->args[1] = partner(x, a, 2, size);
}

static void fit_bmm(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 3, 3);
    const struct meta *m = meta_at(x, a);
    int64_t size[] = {size_at(x, m, 0), size_at(x, m, 2), random_size(x)};
    c->args[0] = arg_node(a);
    c->args[1] = partner(x, a, 3, size);
}

/* Any ranks; the batch dimensions of the right side are the left's, 1 or missing. */
static void fit_matmul(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    const struct meta *m = meta_at(x, a);
    int64_t size[WS_MAX_RANK], k = size_at(x, m, m->rank - 1);
    int batch = m->rank > 2 ? m->rank - 2 : 0, from = below(x, batch + 1), n = 0;
    bool vector = percent(x, 15);
    for (int i = from; i < batch && !vector; i++) size[n++] = percent(x, 30) ? 1 : size_at(x, m, i);
    size[n++] = k;
    if (!vector) size[n++] = random_size(x);
    c->args[0] = arg_node(a);
    c->args[1] = partner(x, a, n, size);
}

static void fit_linear(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    const struct meta *m = meta_at(x, a);
    int64_t size[] = {random_size(x), size_at(x, m, m->rank - 1)};
    c->args[0] = arg_node(a);
    c->args[1] = partner(x, a, 2, size);
    c->args[2] = percent(x, 60) ? partner(x, a, 1, size) : arg_none();
}

/* convolution: an operand of 2 or more dimensions, the last of which slide; all numbers vary */
static void fit_convolution(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 2, MAX_GEN_RANK);
    const struct meta *m = meta_at(x, a);
    int n = m->rank == 2 ? 1 : m->rank - 1 - percent(x, 60), batch = m->rank - 1 - n;
    if (n > 3) n = 3, batch = m->rank - 4;
    int64_t channels = size_at(x, m, batch), groups = percent(x, 30) && channels ? channels : 1;
    bool transposed = percent(x, 40);
    int64_t filters = groups * (1 + below(x, 3)), weight[5], list[4][3];
    weight[0] = transposed ? channels : filters;
    weight[1] = (transposed ? filters : channels) / groups;
    for (int k = 0; k < n; k++) {
        weight[2 + k] = 1 + below(x, 3);
        list[0][k] = 1 + below(x, 3);
        list[1][k] = below(x, (int)weight[2 + k]);
        list[2][k] = percent(x, 25) ? 2 : 1;
        list[3][k] = transposed ? below(x, (int)list[0][k]) : 0;
    }
    c->args[0] = arg_node(a);
    c->args[1] = partner(x, a, n + 2, weight);
    c->args[2] = percent(x, 50) ? partner(x, a, 1, &filters) : arg_none();
    for (int i = 0; i < 3; i++) c->args[3 + i] = ints_arg(x, list[i], n);
    c->args[6] = arg_bool(transposed);
    c->args[7] = ints_arg(x, list[3], n);
    c->args[8] = int_arg(x, groups);
    c->args[9] = int_arg(x, n);
}

/* convolve: [N, G, C, S] and a partner [G, F, C, K]; any size of the result will do */
static void fit_convolve(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 4, 4);
    const struct meta *m = meta_at(x, a);
    int64_t weight[] = {size_at(x, m, 1), 1 + below(x, 4), size_at(x, m, 2), 1 + below(x, 4)};
    c->args[0] = arg_node(a);
    c->args[1] = partner(x, a, 4, weight);
    for (int i = 2; i <= 4; i++) c->args[i] = ints_arg(x, (int64_t[]){(i != 3) + below(x, 3)}, 1);
    c->args[5] = arg_bool(percent(x, 40));
    c->args[6] = ints_arg(x, (int64_t[]){random_size(x)}, 1);
}

static void fit_baddbmm(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 3, 3);
    const struct meta *m = meta_at(x, a);
    int64_t right[] = {size_at(x, m, 0), size_at(x, m, 2), random_size(x)};
    int64_t self[] = {percent(x, 50) ? 1 : right[0], size_at(x, m, 1), right[2]};
    c->args[0] = partner(x, a, 3, self);
    c->args[1] = arg_node(a);
    c->args[2] = partner(x, a, 3, right);
    c->args[3] = percent(x, 60) ? int_arg(x, 1) : arg_float(0.5);
    c->args[4] = percent(x, 60) ? int_arg(x, 1) : int_arg(x, 2);
}

/* nll_loss, cross_entropy: input [N, C, ...], target [N, ...] of small integers, some no class */
static void fit_class_loss(struct gen *x, struct call *c) {
    static const char *const how[] = {"none", "mean", "sum"};
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    const struct meta *m = meta_at(x, a);
    int dim = m->rank == 1 ? 0 : 1, n = 0;
    int64_t target[WS_MAX_RANK], classes = size_at(x, m, dim);
    for (int i = 0; i < m->rank; i++)
        if (i != dim) target[n++] = size_at(x, m, i);
    c->args[0] = arg_node(a);
    c->args[1] = arg_node(new_input_like(x, DT_I64, n, target));
    c->args[2] = percent(x, 40) ? partner(x, a, 1, &classes) : arg_none();
    c->args[3] = int_arg(x, percent(x, 50) ? -100 : 1);
    c->args[4] = arg_str(how[below(x, 3)]);
    if (c->op == OP_CROSS_ENTROPY) c->args[5] = arg_float(percent(x, 60) ? 0 : 0.125);
}

static void fit_addmm(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 2, 2);
    int64_t right[] = {size_at(x, meta_at(x, a), 1), random_size(x)};
    int64_t bias[] = {percent(x, 50) ? 1 : size_at(x, meta_at(x, a), 0), right[1]};
    int drop = below(x, 2);
    c->args[0] = partner(x, a, 2 - drop, bias + drop);
    c->args[1] = arg_node(a);
    c->args[2] = partner(x, a, 2, right);
    c->args[3] = percent(x, 60) ? int_arg(x, 1) : arg_float(0.5);
    c->args[4] = percent(x, 60) ? int_arg(x, 1) : int_arg(x, 2);
}

/* query [..., L, E], key [..., S, E], value [..., S, V], mask [L, S] */
static void fit_attention(struct gen *x, struct call *c) {
    node_id q = tensor_of_rank(x, 2, MAX_GEN_RANK);
    const struct meta *m = meta_at(x, q);
    int r = m->rank;
    int64_t key[WS_MAX_RANK], value[WS_MAX_RANK], keys = pick_size(x);
    for (int i = 0; i < r; i++) key[i] = value[i] = size_at(x, m, i);
    int64_t mask[] = {key[r - 2], keys};
    key[r - 2] = value[r - 2] = keys;
    value[r - 1] = percent(x, 60) ? value[r - 1] : pick_size(x);
    c->args[0] = arg_node(q);
    c->args[1] = partner(x, q, r, key);
    c->args[2] = partner(x, q, r, value);
    c->args[3] = percent(x, 25) ? partner(x, q, 2, mask) : arg_none();
    c->args[4] = arg_float(0);
    c->args[5] = arg_bool(c->args[3].kind == ARG_NONE && percent(x, 40));
    c->args[6] = arg_none();
}

/* ---- norms ----------------------------------------------------------------------------------- */

static void fit_last_norm(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    const struct meta *m = meta_at(x, a);
    int n = percent(x, 70) ? 1 : 1 + below(x, m->rank);
    int64_t size[WS_MAX_RANK];
    for (int i = 0; i < n; i++) size[i] = size_at(x, m, m->rank - n + i);
    c->args[0] = arg_node(a);
    c->args[1] = ints_arg(x, size, n);
    c->args[2] = percent(x, 60) ? partner(x, a, n, size) : arg_none();
    c->args[3] = arg_none();
    if (c->op == OP_LAYER_NORM && percent(x, 60)) c->args[3] = partner(x, a, n, size);
    if (c->op == OP_LAYER_NORM) c->args[4] = arg_float(1e-5);
}

static void fit_channel_norm(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 2, MAX_GEN_RANK);
    int64_t channels = size_at(x, meta_at(x, a), 1);
    bool group = c->op == OP_GROUP_NORM;
    c->args[0] = arg_node(a);
    int i = 1;
    if (group) {
        c->args[i++] = int_arg(x, percent(x, 50) ? 1 : channels % 2 ? channels : 2);
    } else {
        c->args[i++] = partner(x, a, 1, &channels);
        struct call square = {.op = OP_SQUARE, .args = {partner(x, a, 1, &channels)}, .n = 1};
        struct diag d = diag_new(x->g->arena);
        node_id variance;
        if (!graph_call(x->g, square.op, square.args, 1, (struct span){0}, &d, &variance))
            variance = square.args[0].node;
        c->args[i++] = arg_node(variance);
    }
    for (int k = 0; k < 2; k++)
        c->args[i++] = percent(x, 60) ? partner(x, a, 1, &channels) : arg_none();
    if (!group) c->args[i++] = arg_bool(false), c->args[i++] = arg_float(0.1);
    c->args[i] = arg_float(1e-5);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Some neighbours merged, some dimensions split, a -1 now and then. */
static void fit_view(struct gen *x, struct call *c) {
    node_id a = any_tensor(x);
    const struct meta *m = meta_at(x, a);
    int64_t size[2 * WS_MAX_RANK];
    int n = 0;
    for (int i = 0; i < m->rank; i++) {
        int64_t s = size_at(x, m, i), half = s % 2 ? 3 : 2;
        if (n && percent(x, 40))
            size[n - 1] *= s;
        else if (s && s % half == 0 && percent(x, 30))
            size[n++] = half, size[n++] = s / half;
        else
            size[n++] = s;
    }
    if (percent(x, 10)) size[n++] = 1;
    if (n && percent(x, 20)) size[below(x, n)] = -1;
    c->args[0] = arg_node(a);
    c->args[1] = ints_arg(x, size, n);
}

static void shuffle(struct gen *x, int64_t *v, int n) {
    for (int i = n - 1; i > 0; i--) {
        int j = below(x, i + 1);
        int64_t t = v[i];
        v[i] = v[j];
        v[j] = t;
    }
}

static void fit_permute(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    int64_t dims[WS_MAX_RANK];
    int n = meta_at(x, a)->rank;
    for (int i = 0; i < n; i++) dims[i] = i;
    shuffle(x, dims, n);
    c->args[0] = arg_node(a);
    c->args[1] = ints_arg(x, dims, n);
}

/* Dimensions of size 1 grow, and new ones come in front. */
static void fit_expand(struct gen *x, struct call *c) {
    node_id a = any_tensor(x);
    if (percent(x, 60)) { /* make one to expand */
        const struct meta *m = meta_at(x, a);
        struct arg args[] = {arg_node(a), int_arg(x, below(x, m->rank + 1))};
        struct diag d = diag_new(x->g->arena);
        graph_call(x->g, OP_UNSQUEEZE, args, 2, (struct span){0}, &d, &a);
    }
    const struct meta *m = meta_at(x, a);
    int64_t size[2 * WS_MAX_RANK];
    int n = 0, front = percent(x, 25);
    if (front) size[n++] = 1 + below(x, 4);
    for (int i = 0; i < m->rank; i++) {
        int64_t s = size_at(x, m, i);
        size[n++] = s == 1 && percent(x, 70) ? 1 + below(x, 9) : percent(x, 20) ? -1 : s;
    }
    c->args[0] = arg_node(a);
    c->args[1] = ints_arg(x, size, n);
}

/* The second argument of expand_as and view_as has the sizes that an expand or view would make. */
static void fit_like(struct gen *x, struct call *c) {
    struct call sizes = {.op = c->op == OP_VIEW_AS ? OP_VIEW : OP_EXPAND, .n = 2};
    struct diag d = diag_new(x->g->arena);
    node_id shaped;
    call_that_fits(x, sizes.op, &sizes);
    c->args[0] = c->args[1] = sizes.args[0];
    if (!graph_call(x->g, sizes.op, sizes.args, 2, (struct span){0}, &d, &shaped)) return;
    const struct meta *m = meta_at(x, shaped);
    int64_t size[WS_MAX_RANK];
    for (int i = 0; i < m->rank; i++) size[i] = size_at(x, m, i);
    c->args[1] = arg_node(new_input_like(x, any_dtype(x), m->rank, size));
}

static void fit_slice(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    int dim = below(x, meta_at(x, a)->rank), n = (int)size_at(x, meta_at(x, a), dim);
    int from = below(x, n + 1), to = from + below(x, n - from + 1);
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, dim);
    c->args[2] = percent(x, 20) ? arg_none() : int_arg(x, percent(x, 15) ? from - n : from);
    c->args[3] = percent(x, 20) ? arg_none() : int_arg(x, to);
    c->args[4] = int_arg(x, percent(x, 60) ? 1 : 1 + below(x, 3));
}

/* narrow: dim, start, length; select: dim, index */
static void fit_narrow(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    int dim = below(x, meta_at(x, a)->rank), n = (int)size_at(x, meta_at(x, a), dim);
    int from = below(x, n ? n : 1);
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, dim);
    c->args[2] = int_arg(x, from);
    if (c->op == OP_NARROW) c->args[3] = int_arg(x, below(x, n - from + 1));
}

static void fit_unflatten(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, 3);
    int dim = below(x, meta_at(x, a)->rank);
    int64_t n = size_at(x, meta_at(x, a), dim), half = n % 2 ? n % 3 ? 1 : 3 : 2;
    int64_t size[] = {half, percent(x, 50) ? -1 : n / half};
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, dim);
    c->args[2] = ints_arg(x, size, 2);
}

static void fit_flatten(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    int rank = meta_at(x, a)->rank, from = below(x, rank);
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, from);
    c->args[2] = int_arg(x, from + below(x, rank - from));
}

static void fit_movedim(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    int rank = meta_at(x, a)->rank;
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, below(x, rank));
    c->args[2] = int_arg(x, below(x, rank) - (percent(x, 30) ? rank : 0));
}

/* ---- creation -------------------------------------------------------------------------------- */

static void fit_created(struct gen *x, struct call *c) {
    int64_t size[3];
    int n = below(x, 3), i = 1;
    for (int k = 0; k < n; k++) size[k] = pick_size(x);
    c->args[0] = ints_arg(x, size, n);
    if (c->op == OP_FULL) c->args[i++] = percent(x, 50) ? arg_float(0.5) : int_arg(x, 3);
    c->args[i] = percent(x, 50) ? arg_none() : arg_dtype(x->theme);
}

static void fit_arange(struct gen *x, struct call *c) {
    c->args[0] = int_arg(x, below(x, 5));
    c->args[1] = int_arg(x, 5 + below(x, 60));
    c->args[2] = int_arg(x, 1 + below(x, 3));
    c->args[3] = percent(x, 50) ? arg_none() : arg_dtype(x->theme);
}

/* ---- which ----------------------------------------------------------------------------------- */

static fit_fn *const fits[OP_COUNT] = {
    [OP_MM] = fit_mm,
    [OP_BMM] = fit_bmm,
    [OP_MATMUL] = fit_matmul,
    [OP_LINEAR] = fit_linear,
    [OP_CONVOLVE] = fit_convolve,
    [OP_CONVOLUTION] = fit_convolution,
    [OP_ADDMM] = fit_addmm,
    [OP_BADDBMM] = fit_baddbmm,
    [OP_NLL_LOSS] = fit_class_loss,
    [OP_CROSS_ENTROPY] = fit_class_loss,
    [OP_ATTENTION] = fit_attention,
    [OP_LAYER_NORM] = fit_last_norm,
    [OP_RMS_NORM] = fit_last_norm,
    [OP_GROUP_NORM] = fit_channel_norm,
    [OP_BATCH_NORM] = fit_channel_norm,
    [OP_VIEW] = fit_view,
    [OP_PERMUTE] = fit_permute,
    [OP_EXPAND] = fit_expand,
    [OP_EXPAND_AS] = fit_like,
    [OP_VIEW_AS] = fit_like,
    [OP_SLICE] = fit_slice,
    [OP_NARROW] = fit_narrow,
    [OP_SELECT] = fit_narrow,
    [OP_UNFLATTEN] = fit_unflatten,
    [OP_FLATTEN] = fit_flatten,
    [OP_MOVEDIM] = fit_movedim,
    [OP_FULL] = fit_created,
    [OP_ZEROS] = fit_created,
    [OP_ONES] = fit_created,
    [OP_ARANGE] = fit_arange,
};

bool call_that_fits(struct gen *x, enum op op, struct call *c) {
    fit_fn *fit = fits[op] ? fits[op] : gen_moves[op];
    if (!fit) return false;
    *c = (struct call){.op = op};
    fit(x, c);
    c->n = op_info(op)->n_params;
    return true;
}
