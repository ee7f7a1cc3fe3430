/* bound_reduce.c: how far off reductions, scans and matrix products may be: what their operands are
 * off by, reduced as they are, and a rounding for each addition that a term passes through.
 *
 *   %y: f32[8] = sum(%x, dim=[1])
 * ->
 *   %r = error_round(%x, %e, 64 u, ..)
 *   %bound = sum(%r, dim=[1]) */
#include <float.h>
#include <math.h>

#include "graph/bound.h"
#include "graph/eval.h"
#include "graph/traits.h"

/* ---- reductions and scans -------------------------------------------------------------------- */

/* sum(e + h u (|x| + e)); running sums likewise. Where this is more than h u times what the type
 * holds, some part of the sum may have overflown. */
node_id bound_sum(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id);
    node_id x = n.args[0].node, e = w->error[w->from->nodes.at[id].args[0].node];
    enum dtype math = maths_of(w, n.meta.dtype);
    if (!dtype_is_float(math))
        return e == EXACT ? e : stored_result(w, id, again(w, &n, n.op, e, EXACT));
    double terms = (double)bounds_terms(w, &n), h = sum_depth(w, bounds_terms(w, &n));
    if (n.op == OP_CUMSUM && !w->how.doubles)
        h = w->how.device == DEVICE_CPU ? fmin(terms, CHAIN) : h + CHAIN;
    double unit = h * roundoff_of(w, math);
    e = again(w, &n, n.op, rounded(w, x, as_arg(e), arg_float(unit), math), EXACT);
    e = or_infinite(w, scalar(&w->b, OP_GT, e, unit * dtype_largest(math)), e);
    return stored_result(w, id, e);
}

/* prod(|x| + e) (1 + n u) - prod(|x|); anything where the factors above 1 by themselves overflow,
 * and all of it where those below 1 vanish. */
node_id bound_product(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id);
    struct build *b = &w->b;
    node_id x = n.args[0].node, e = w->error[w->from->nodes.at[id].args[0].node];
    bool floats = dtype_is_float(n.meta.dtype);
    if (!floats && e == EXACT) return EXACT;
    node_id size = magnitude(w, x), large = largest(w, x, e);
    node_id least = again(w, &n, n.op, size, EXACT), most = least;
    if (e != EXACT) most = again(w, &n, n.op, large, EXACT);
    node_id off = binary(b, OP_SUB, most, least);
    if (!floats) return stored_result(w, id, off);
    enum dtype math = maths_of(w, n.meta.dtype);
    double u = (double)bounds_terms(w, &n) * roundoff_of(w, math);
    off = binary(b, OP_ADD, off, scalar(b, OP_MUL, most, u));
    node_id above = again(w, &n, n.op, scalar(b, OP_MAXIMUM, large, 1), EXACT);
    node_id below = again(w, &n, n.op, scalar(b, OP_MINIMUM, size, 1), EXACT);
    node_id gone = scalar(b, OP_LT, below, dtype_smallest(math));
    off = call(b, OP_WHERE, arg_node(gone), arg_node(most), arg_node(off));
    off = or_infinite(w, scalar(b, OP_GT, above, dtype_largest(math)), off);
    return stored_result(w, id, off);
}

/* How far the extremum moves if all elements do; no more than the one that moves most. */
node_id bound_extremum(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id);
    struct build *b = &w->b;
    node_id e = w->error[w->from->nodes.at[id].args[0].node];
    enum op op = n.op == OP_AMIN ? OP_AMAX : n.op == OP_CUMMIN ? OP_CUMMAX : n.op;
    if (e == EXACT) return e;
    node_id x = wide(w, n.args[0].node), y = wide(w, w->value[id]);
    node_id up = again(w, &n, n.op, moved(w, x, e, true), EXACT);
    node_id down = again(w, &n, n.op, moved(w, x, e, false), EXACT);
    node_id off = binary(b, OP_MAXIMUM, binary(b, OP_SUB, up, y), binary(b, OP_SUB, y, down));
    node_id most = again(w, &n, op, e, EXACT);
    return call(b, OP_WHERE, arg_node(binary(b, OP_LE, off, most)), arg_node(off), arg_node(most));
}

static bool keeps_dims(const struct node *n) {
    int k;
    return op_param(n->op, "keepdim", &k) && n->args[k].b;
}

/* Squared deviations from the mean: the norm of a projection of x, which errors change by their own
 * norm at most; sums in one pass cancel (Chan, Golub and LeVeque 1983). */
node_id bound_m2(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id);
    struct build *b = &w->b;
    node_id x = wide(w, n.args[0].node), e = w->error[w->from->nodes.at[id].args[0].node];
    bool keep = keeps_dims(&n);
    double h = (sum_depth(w, bounds_terms(w, &n)) + 4) * roundoff_of(w, n.meta.dtype);
    node_id squares = reduce_as(w, &n, OP_SUM, binary(b, OP_MUL, x, x), keep), m2 = w->value[id];
    node_id root = unary(b, OP_SQRT, binary(b, OP_MUL, wide(w, m2), squares));
    node_id off = scalar(b, OP_MUL, binary(b, OP_ADD, wide(w, m2), scalar(b, OP_MUL, root, 2)), h);
    off = plus(w, off, scalar(b, OP_MUL, squares, h * h));
    if (e != EXACT) {
        node_id errors = reduce_as(w, &n, OP_SUM, binary(b, OP_MUL, e, e), keep);
        root = unary(b, OP_SQRT, binary(b, OP_MUL, wide(w, m2), errors));
        off = plus(w, plus(w, off, errors), scalar(b, OP_MUL, root, 2));
    }
    return stored_result(w, id, off);
}

/* sum of t = exp(x - max): each is off by a factor e^(e_x + e_max + u |x - max|) and its own. */
node_id bound_expsum(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id);
    struct build *b = &w->b;
    node_id x = wide(w, n.args[0].node), e = w->error[w->from->nodes.at[id].args[0].node];
    double u = roundoff_of(w, n.meta.dtype);
    node_id max = reduce_as(w, &n, OP_AMAX, x, true), d = binary(b, OP_SUB, x, max);
    node_id off = scalar(b, OP_MUL, unary(b, OP_ABS, d), 3 * u);
    if (e != EXACT) off = plus(w, off, plus(w, e, reduce_as(w, &n, OP_AMAX, e, true)));
    node_id t = unary(b, OP_EXP, d), near = binary(b, OP_MUL, t, unary(b, OP_EXPM1, off)),
            far = unary(b, OP_EXP, moved(w, d, off, true)); /* 0, where d is so far below it */
    off = call(b, OP_WHERE, arg_node(scalar(b, OP_LT, off, 1)), arg_node(near), arg_node(far));
    t = call(b, OP_ERROR_ROUND, arg_node(t), arg_node(off),
             arg_float((sum_depth(w, bounds_terms(w, &n)) + 8) * u), arg_float(DBL_MAX),
             arg_float(0));
    return stored_result(w, id, reduce_as(w, &n, OP_SUM, t, keeps_dims(&n)));
}

/* How far the furthest element is that may be the extremum. */
node_id bound_argument(struct bounds *w, node_id id) {
    struct node n = bounds_copy(w, id);
    struct build *b = &w->b;
    node_id x = n.args[0].node, e = w->error[w->from->nodes.at[id].args[0].node];
    bool largest_one = n.op == OP_ARGMAX;
    bool all = n.args[1].kind == ARG_NONE || !bounds_meta(w, x)->rank;
    if (e == EXACT) return EXACT;
    struct meta line = {.rank = 1, .size = {meta_numel(bounds_graph(w)->ex, bounds_meta(w, x))}};
    if (all) x = reshape(b, x, &line), e = reshape(b, e, &line);
    int dim = all ? 0 : (int)bounds_size(w, n.args[1].i), rank = bounds_meta(w, x)->rank;
    struct meta places = {.rank = (uint8_t)rank}, kept = *bounds_meta(w, x);
    for (int i = 0; i < rank; i++) places.size[i] = ex_const(bounds_graph(w)->ex, 1);
    places.size[dim] = kept.size[dim];
    kept.size[dim] = ex_const(bounds_graph(w)->ex, 1);
    struct arg dims = one_dim(b, dim);
    node_id above = binary(b, OP_ADD, wide(w, x), e), below = binary(b, OP_SUB, wide(w, x), e);
    node_id best =
        largest_one ? reduce(b, OP_AMAX, below, dims, true) : reduce(b, OP_AMIN, above, dims, true);
    node_id may = largest_one ? binary(b, OP_GE, above, best) : binary(b, OP_LE, below, best);
    node_id at = wide(w, reshape(b, iota(b, places.size[dim]), &places));
    node_id found = wide(w, reshape(b, w->value[id], &kept));
    node_id away = unary(b, OP_ABS, binary(b, OP_SUB, at, found));
    away = call(b, OP_WHERE, arg_node(may), arg_node(away), arg_float(0));
    return reshape(b, reduce(b, OP_AMAX, away, dims, true), &n.meta);
}

/* ---- matrix products ------------------------------------------------------------------------- */

/* A product of f32 may be one of its factors' pieces of 16 bits: at least so many instructions,
 * each of which cuts its sum off instead of rounding it, by up to two units. */
enum { PIECES = 6, CUT_UNITS = 2 };

static double product_depth(const struct bounds *w, int64_t n, enum dtype t, bool tf32) {
    double x = (double)n, h = fmin(x, CHAIN + 4 * sqrt(x));
    bool gpu = w->how.device == DEVICE_CUDA, tensor_cores = gpu && dtype_opmath(t) != t;
    if (w->how.doubles) return x;
    if (gpu && t == DT_F32 && !tf32) return fmax(h, PIECES * CUT_UNITS);
    return tf32 ? h + x / 4 : tensor_cores ? h + x / 8 : h;
}

static int64_t product_terms(struct bounds *w, const struct node *n) {
    const struct meta *y = bounds_meta(w, n->args[1].node);
    int64_t count = 1;
    if (!op_convolves(n->op)) return bounds_size(w, y->size[y->rank - 2]);
    for (int i = 2; i < y->rank; i++) count *= bounds_size(w, y->size[i]); /* [G, F, C, K...] */
    return count;
}

/* May it be made of tf32? */
static bool is_tf32(struct bounds *w, const struct node *n) {
    enum precision p = op_convolves(n->op) ? w->from->convolutions : w->from->products;
    return p == PRECISION_TF32 && n->meta.dtype == DT_F32 && !w->how.doubles &&
           w->how.device == DEVICE_CUDA;
}

/* What units of float8 cut off, of sums that begin anew every 128: of each of four instructions the
 * 32 products and what there is already lose less than 2^-13 of the largest of them, which is no
 * more than all products of the 128 together. */
static double float8_cuts(const struct bounds *w, const struct node *n) {
    const double INSTRUCTIONS = 4, TERMS = 33, LOST = 0x1p-13;
    bool units = n->op == OP_MM_FLOAT8 && w->how.device == DEVICE_CUDA && !w->how.doubles;
    return units ? INSTRUCTIONS * TERMS * LOST : 0;
}

/* x, of doubles, to the nearest number of 11 bits (Dekker's split, whose products are exact). */
static node_id to_tf32(struct bounds *w, node_id x) {
    struct build *b = &w->b;
    node_id c = binary(b, OP_ADD, scalar(b, OP_MUL, x, 0x1p42), x);
    node_id near = binary(b, OP_SUB, c, binary(b, OP_SUB, c, x));
    node_id finite = scalar(b, OP_LT, unary(b, OP_ABS, x), INFINITY);
    return call(b, OP_WHERE, arg_node(finite), arg_node(near), arg_node(x));
}

/* Has node n factors, which a kernel may multiply by, or divide, what a product behind it sums up,
 * as chained products do with what softmax's rows come to? */
static bool has_factors(const struct graph *g, node_id n) {
    const struct node *x = &g->nodes.at[n];
    bool keeps = op_info(x->op)->class == VIEW || x->op == OP_CONVERT || x->op == OP_CAST;
    if (keeps) return x->args[0].kind == ARG_NODE && has_factors(g, x->args[0].node);
    if (x->op == OP_WHERE)
        return (x->args[1].kind == ARG_NODE && has_factors(g, x->args[1].node)) ||
               (x->args[2].kind == ARG_NODE && has_factors(g, x->args[2].node));
    return x->op == OP_MUL || x->op == OP_DIV;
}

/* How far from to_tf32(x) the factor may be that is used: rounded, of a value that is off by e,
 * to either side where it is in the middle; or as it is. scaled: or rounded before others of its
 * own factors, which leaves it as near to x as one of 11 bits is. */
static node_id tf32_error(struct bounds *w, node_id x, node_id e, bool scaled) {
    const double SAME = 0x1p-26, MOST = 0x1.ffdp127, TINY = 0x1p-136, ELEVEN_BITS = 0x1p-10;
    struct build *b = &w->b;
    node_id off = plus(w, scalar(b, OP_MUL, unary(b, OP_ABS, x), SAME), e);
    node_id above = to_tf32(w, binary(b, OP_ADD, x, off));
    node_id below = to_tf32(w, binary(b, OP_SUB, x, off));
    node_id far = binary(b, OP_SUB, above, below);
    if (e != EXACT) far = binary(b, OP_MAXIMUM, far, e);
    if (scaled) far = plus(w, far, scalar(b, OP_MUL, unary(b, OP_ABS, x), ELEVEN_BITS));
    node_id top = binary(b, OP_ADD, unary(b, OP_ABS, x), off);
    node_id finite = scalar(b, OP_LT, unary(b, OP_ABS, x), INFINITY);
    node_id overflows = binary(b, OP_LOGICAL_AND, scalar(b, OP_GT, top, MOST), finite);
    return call(b, OP_WHERE, arg_node(overflows), arg_float(INFINITY),
                arg_node(scalar(b, OP_ADD, far, TINY)));
}

/* What the factors are off by as random errors add up: the root of A^2 e_B^2 + e_A^2 B^2. */
static node_id product_deviation(struct bounds *w, const struct node *n, node_id x, node_id y,
                                 node_id e, node_id f) {
    struct build *b = &w->b;
    node_id a = wide(w, x), c = wide(w, y), sum = EXACT;
    if (f != EXACT) sum = again(w, n, n->op, binary(b, OP_MUL, a, a), binary(b, OP_MUL, f, f));
    if (e != EXACT)
        sum = plus(w, again(w, n, n->op, binary(b, OP_MUL, e, e), binary(b, OP_MUL, c, c)), sum);
    return sum == EXACT ? EXACT : unary(b, OP_SQRT, sum);
}

/* (|A| + e_A) (e_B + h u (|B| + e_B)) + e_A |B|, or, of an exact B, (e_A + h u (|A| + e_A)) |B| */
static node_id product_error(struct bounds *w, const struct node *n, node_id x, node_id y,
                             node_id e, node_id f, double h, enum dtype most) {
    if (f == EXACT) {
        node_id left = rounded(w, x, as_arg(e), arg_float(h), most);
        return again(w, n, n->op, left, magnitude(w, y));
    }
    node_id right = rounded(w, y, arg_node(f), arg_float(h), most);
    node_id sum = again(w, n, n->op, largest(w, x, e), right);
    if (e == EXACT) return sum;
    return binary(&w->b, OP_ADD, sum, again(w, n, n->op, e, magnitude(w, y)));
}

static node_id tf32_product_error(struct bounds *w, node_id id, node_id e, node_id f, double h) {
    const double NOT_ROUNDED = 1 + 0x1p-9; /* factors may be left as they are */
    struct build *b = &w->b;
    const struct node n = bounds_copy(w, id);
    node_id x = wide(w, n.args[0].node), y = wide(w, n.args[1].node);
    node_id a = to_tf32(w, x), c = to_tf32(w, y);
    const struct node *old = &w->from->nodes.at[id];
    e = tf32_error(w, x, e, has_factors(w->from, old->args[0].node));
    f = tf32_error(w, y, f, has_factors(w->from, old->args[1].node));
    node_id own = product_error(w, &n, a, c, e, f, h, DT_F32);
    node_id moved = binary(b, OP_SUB, wide(w, w->value[id]), wide(w, again(w, &n, n.op, a, c)));
    return binary(b, OP_ADD, scalar(b, OP_MUL, own, NOT_ROUNDED), unary(b, OP_ABS, moved));
}

node_id bound_matmul(struct bounds *w, node_id id) {
    struct node n = bounds_copy(w, id);
    const struct node *old = &w->from->nodes.at[id];
    node_id x = n.args[0].node, y = n.args[1].node;
    node_id e = w->error[old->args[0].node], f = w->error[old->args[1].node];
    bool floats = dtype_is_float(n.meta.dtype), tf32 = is_tf32(w, &n);
    if (!floats && e == EXACT && f == EXACT) return EXACT;
    enum dtype math = maths_of(w, n.meta.dtype);
    double terms =
        floats ? product_depth(w, product_terms(w, &n), bounds_meta(w, x)->dtype, tf32) : 0;
    double cuts = float8_cuts(w, &n), h = floats ? terms * roundoff_of(w, math) + cuts : 0;
    bool random = w->in_loop && floats && !tf32 && !op_convolves(n.op) && !cuts;
    if (n.op == OP_MM_FLOAT8) n.op = OP_MM; /* of errors, which are none */
    node_id apart = random ? product_deviation(w, &n, x, y, e, f) : EXACT;
    if (random) e = f = EXACT;
    node_id sum = tf32 ? tf32_product_error(w, id, e, f, h)
                       : product_error(w, &n, x, y, e, f, h, floats ? math : DT_F64);
    sum = plus(w, sum, apart);
    if (floats) sum = or_infinite(w, scalar(&w->b, OP_GT, sum, h * dtype_largest(math)), sum);
    return stored_result(w, id, sum);
}
