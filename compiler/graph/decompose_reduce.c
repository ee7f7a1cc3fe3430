/* decompose_reduce.c: composites around a reduction.
 *
 *   layer_norm(x) -> m = sum(x) / n; d = x - m; v = sum(d d) / n; d rsqrt(v + eps) weight + bias */
#include <math.h>
#include <string.h>

#include "graph/decompose.h"

node_id reduce(struct build *b, enum op op, node_id x, struct arg dims, bool keepdim) {
    bool extremum = op == OP_AMAX || op == OP_AMIN;
    if (extremum && dims.kind == ARG_NONE) dims = arg_ints(b->g, NULL, 0); /* amax takes no None */
    return call(b, op, arg_node(x), dims, arg_bool(keepdim));
}

/* How many elements of x the dimensions name. */
ex count(struct build *b, node_id x, const struct arg *dims) {
    const struct meta *m = meta_of(b, x);
    uint32_t set = dims_set(b->g->ex, dims, m->rank);
    ex n = ex_const(b->g->ex, 1);
    for (int i = 0; i < m->rank; i++)
        if (set >> i & 1) n = ex_mul(b->g->ex, n, m->size[i]);
    return n;
}

node_id mean(struct build *b, node_id x, struct arg dims, bool keepdim) {
    node_id sum = reduce(b, OP_SUM, x, dims, keepdim);
    return call(b, OP_DIV, arg_node(sum), arg_ex(count(b, x, &dims)));
}

/* max(n - correction, 0) */
static struct arg var_divisor(struct build *b, ex n, const struct arg *correction) {
    double k = number_of(b, correction);
    int64_t v; /* a fractional correction comes with constant sizes only */
    if (ex_is_const(b->g->ex, n, &v) && (k != floor(k) || fabs(k) > MAX_NUMEL))
        return arg_float(fmax((double)v - k, 0));
    k = fmin(fmax(k, -MAX_NUMEL), MAX_NUMEL); /* no size is larger */
    ex rest = ex_sub(b->g->ex, n, ex_const(b->g->ex, (int64_t)k));
    return arg_ex(ex_max(b->g->ex, rest, ex_const(b->g->ex, 0)));
}

/* x minus its mean; its variance (reduced dimensions kept) goes to *var. */
static node_id center(struct build *b, node_id x, struct arg dims, const struct arg *correction,
                      bool keepdim, node_id *var) {
    node_id d = binary(b, OP_SUB, x, mean(b, x, dims, true));
    node_id squares = reduce(b, OP_SUM, binary(b, OP_MUL, d, d), dims, keepdim);
    *var = call(b, OP_DIV, arg_node(squares), var_divisor(b, count(b, x, &dims), correction));
    return d;
}

struct arg one_dim(struct build *b, int dim) {
    ex d = ex_const(b->g->ex, dim);
    return arg_ints(b->g, &d, 1);
}

static struct arg dims_of_list(struct build *b, int first, int last) {
    ex d[WS_MAX_RANK];
    for (int i = first; i < last; i++) d[i - first] = ex_const(b->g->ex, i);
    return arg_ints(b->g, d, (uint32_t)(last - first));
}

/* The elements are cast before they are added: operand and result have one type. That of narrow
 * integers is i32, of which the result is the low bits. */
static enum dtype sum_dtype(const struct node *n) {
    return dtype_is_narrow(n->meta.dtype) ? DT_I32 : n->meta.dtype;
}

/* sum, prod */
node_id expand_sum(struct build *b, const struct node *n) {
    node_id x = n->args[0].node;
    enum dtype t = sum_dtype(n);
    if (meta_of(b, x)->dtype == t && t == n->meta.dtype) return KEEP;
    return call(b, n->op, arg_node(cast(b, x, t)), n->args[1], n->args[2], arg_dtype(t));
}

/* cumsum, cumprod */
node_id expand_scan(struct build *b, const struct node *n) {
    node_id x = n->args[0].node;
    enum dtype t = sum_dtype(n);
    if (meta_of(b, x)->dtype == t && t == n->meta.dtype) return KEEP;
    return call(b, n->op, arg_node(cast(b, x, t)), n->args[1], arg_dtype(t));
}

/* ---- softmax and its family ------------------------------------------------------------------ */

/* exp(x - max): no exponent is positive. What is made of it does not depend on the maximum, so no
 * gradient flows through that. */
node_id shifted(struct build *b, node_id x, struct arg dims) {
    return binary(b, OP_SUB, x, reduce(b, OP_AMAX, unary(b, OP_DETACH, x), dims, true));
}

node_id expand_one_pass(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), terms;
    if (n->op == OP_EXPSUM) {
        terms = unary(b, OP_EXP, shifted(b, x, n->args[1]));
    } else {
        node_id off = binary(b, OP_SUB, x, mean(b, x, n->args[1], true));
        terms = binary(b, OP_MUL, off, off);
    }
    return cast(b, reduce(b, OP_SUM, terms, n->args[1], n->args[2].b), n->meta.dtype);
}

node_id expand_softmax(struct build *b, const struct node *n) {
    struct arg dims = arg_ints(b->g, &n->args[1].i, 1);
    node_id e = unary(b, OP_EXP, shifted(b, operand(b, n, 0), dims));
    return binary(b, OP_DIV, e, reduce(b, OP_SUM, e, dims, true));
}

node_id expand_log_softmax(struct build *b, const struct node *n) {
    struct arg dims = arg_ints(b->g, &n->args[1].i, 1);
    node_id s = shifted(b, operand(b, n, 0), dims);
    node_id total = reduce(b, OP_SUM, unary(b, OP_EXP, s), dims, true);
    return binary(b, OP_SUB, s, unary(b, OP_LOG, total));
}

/* An infinite maximum is the result: inf - inf would be nan. Subtracted it is all the same, as sums
 * of exp(x - max) can be made along with the maximum (one_pass.c). */
node_id expand_logsumexp(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    struct arg dims = n->args[1];
    if (count(b, x, &dims) == ex_const(b->g->ex, 0)) return full(b, &n->meta, -INFINITY);
    node_id max = reduce(b, OP_AMAX, x, dims, true);
    node_id e = unary(b, OP_EXP, binary(b, OP_SUB, x, max));
    node_id total = reduce(b, OP_SUM, e, dims, true);
    node_id finite = binary(b, OP_ADD, unary(b, OP_LOG, total), max);
    node_id inf = unary(b, OP_ISINF, max);
    return reshape(b, call(b, OP_WHERE, arg_node(inf), arg_node(max), arg_node(finite)), &n->meta);
}

/* ---- moments --------------------------------------------------------------------------------- */

node_id expand_mean(struct build *b, const struct node *n) {
    return mean(b, operand(b, n, 0), n->args[1], n->args[2].b);
}

node_id expand_var(struct build *b, const struct node *n) {
    node_id var;
    center(b, operand(b, n, 0), n->args[1], &n->args[2], n->args[3].b, &var);
    return var;
}

node_id expand_std(struct build *b, const struct node *n) {
    return unary(b, OP_SQRT, expand_var(b, n));
}

/* (sum |x|^p)^(1/p), with the cheap cases written out */
static node_id vector_norm(struct build *b, node_id x, double p, struct arg dims, bool keepdim) {
    if (p == 2) return unary(b, OP_SQRT, reduce(b, OP_SUM, binary(b, OP_MUL, x, x), dims, keepdim));
    if (p == 0) {
        node_id some = cast(b, scalar(b, OP_NE, x, 0), meta_of(b, x)->dtype);
        return reduce(b, OP_SUM, some, dims, keepdim);
    }
    node_id a = unary(b, OP_ABS, x);
    if (p == 1) return reduce(b, OP_SUM, a, dims, keepdim);
    if (isinf(p)) return reduce(b, p > 0 ? OP_AMAX : OP_AMIN, a, dims, keepdim);
    node_id powers = reduce(b, OP_SUM, scalar(b, OP_POW, a, p), dims, keepdim);
    return scalar(b, OP_POW, powers, 1 / p);
}

node_id expand_norm(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    double p = number_of(b, &n->args[1]);
    if (isinf(p) && count(b, x, &n->args[2]) == ex_const(b->g->ex, 0)) return full(b, &n->meta, 0);
    return vector_norm(b, x, p, n->args[2], n->args[3].b);
}

node_id expand_normalize(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    struct arg dims = arg_ints(b->g, &n->args[2].i, 1);
    node_id norm = call(b, OP_NORM, arg_node(x), n->args[1], dims, arg_bool(true));
    return binary(b, OP_DIV, x, call(b, OP_CLAMP_MIN, arg_node(norm), n->args[3]));
}

/* ---- extrema and truth ----------------------------------------------------------------------- */

node_id expand_extremum(struct build *b, const struct node *n) {
    enum op op = n->op == OP_MAX || n->op == OP_MAX_DIM ? OP_AMAX : OP_AMIN;
    if (n->op == OP_MAX || n->op == OP_MIN) return call(b, op, n->args[0]);
    return reduce(b, op, n->args[0].node, n->args[1], n->args[2].b);
}

/* any: not (no element is true);  all: no element is false. Counts, so that nothing needs a bool
 * reduction. */
node_id expand_any(struct build *b, const struct node *n) {
    node_id some = scalar(b, OP_NE, n->args[0].node, 0);
    return scalar(b, OP_NE, reduce(b, OP_SUM, some, n->args[1], n->args[2].b), 0);
}

node_id expand_all(struct build *b, const struct node *n) {
    node_id none = scalar(b, OP_EQ, n->args[0].node, 0);
    return scalar(b, OP_EQ, reduce(b, OP_SUM, none, n->args[1], n->args[2].b), 0);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* x * weight + bias, where given; each parameter in the shape that broadcasts to x. */
static node_id affine(struct build *b, const struct node *n, node_id x, int weight, int bias,
                      const struct meta *shape) {
    if (n->args[weight].kind == ARG_NODE)
        x = binary(b, OP_MUL, x, reshape(b, operand(b, n, weight), shape));
    if (bias && n->args[bias].kind == ARG_NODE)
        x = binary(b, OP_ADD, x, reshape(b, operand(b, n, bias), shape));
    return x;
}

/* The sizes of the last dimensions of m from `first` on. */
static struct meta tail_shape(const struct meta *m, int first) {
    struct meta t = {.rank = (uint8_t)(m->rank - first)};
    memcpy(t.size, m->size + first, t.rank * sizeof(ex));
    return t;
}

struct meta channel_shape(struct build *b, const struct meta *m) {
    struct meta t = tail_shape(m, 1);
    for (int i = 1; i < t.rank; i++) t.size[i] = ex_const(b->g->ex, 1);
    return t;
}

static node_id standardize(struct build *b, node_id d, node_id var, const struct arg *eps) {
    node_id r = unary(b, OP_RSQRT, call(b, OP_ADD, arg_node(var), *eps));
    return binary(b, OP_MUL, d, r);
}

node_id expand_layer_norm(struct build *b, const struct node *n) {
    int first = n->meta.rank - (int)n->args[1].ints.n;
    struct meta shape = tail_shape(&n->meta, first);
    struct arg dims = dims_of_list(b, first, n->meta.rank), biased = arg_int(b->g, 0);
    node_id var, d = center(b, operand(b, n, 0), dims, &biased, true, &var);
    return affine(b, n, standardize(b, d, var, &n->args[4]), 2, 3, &shape);
}

/* torch.finfo(dtype).eps of the type that rms_norm computes in */
static double maths_eps(enum dtype d) { return 2 * dtype_roundoff(dtype_opmath(d)); }

node_id expand_rms_norm(struct build *b, const struct node *n) {
    int first = n->meta.rank - (int)n->args[1].ints.n;
    struct meta shape = tail_shape(&n->meta, first);
    struct arg eps = n->args[3].kind == ARG_NONE ? arg_float(maths_eps(n->meta.dtype)) : n->args[3];
    node_id x = operand(b, n, 0);
    node_id square = mean(b, binary(b, OP_MUL, x, x), dims_of_list(b, first, n->meta.rank), true);
    return affine(b, n, standardize(b, x, square, &eps), 2, 0, &shape);
}

/* [N, C, ...] seen as [N, groups, the rest], normalized over the rest */
node_id expand_group_norm(struct build *b, const struct node *n) {
    struct exprs *p = b->g->ex;
    struct meta shape = channel_shape(b, &n->meta), grouped = {.rank = 3};
    grouped.size[0] = n->meta.size[0];
    grouped.size[1] = n->args[1].i;
    ex rest = ex_div(p, n->meta.size[1], n->args[1].i);
    for (int i = 2; i < n->meta.rank; i++) rest = ex_mul(p, rest, n->meta.size[i]);
    grouped.size[2] = rest;
    node_id x = reshape(b, operand(b, n, 0), &grouped);
    node_id y = call(b, OP_LAYER_NORM, arg_node(x), arg_ints(b->g, &rest, 1), arg_none(),
                     arg_none(), n->args[4]);
    return affine(b, n, reshape(b, y, &n->meta), 2, 3, &shape);
}

/* In training the statistics are those of the input. */
node_id expand_batch_norm(struct build *b, const struct node *n) {
    struct meta shape = channel_shape(b, &n->meta);
    if (n->args[5].b) {
        ex dims[WS_MAX_RANK];
        uint32_t k = 0;
        for (int i = 0; i < n->meta.rank; i++)
            if (i != 1) dims[k++] = ex_const(b->g->ex, i);
        struct arg others = arg_ints(b->g, dims, k), biased = arg_int(b->g, 0);
        node_id var, d = center(b, operand(b, n, 0), others, &biased, true, &var);
        return affine(b, n, standardize(b, d, var, &n->args[7]), 3, 4, &shape);
    }
    node_id mean = reshape(b, operand(b, n, 1), &shape), var = reshape(b, operand(b, n, 2), &shape);
    node_id d = binary(b, OP_SUB, operand(b, n, 0), mean);
    return affine(b, n, standardize(b, d, var, &n->args[7]), 3, 4, &shape);
}
