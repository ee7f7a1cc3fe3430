/* decompose_pointwise.c: element by element composites as arithmetic.
 *
 *   silu(x) -> x * sigmoid(x)          clamp(x, 0, 6) -> minimum(maximum(x, 0), 6) */
#include <math.h>
#include <string.h>

#include "graph/decompose.h"

static node_id add(struct build *b, node_id x, node_id y) { return binary(b, OP_ADD, x, y); }
static node_id mul(struct build *b, node_id x, node_id y) { return binary(b, OP_MUL, x, y); }
static node_id times(struct build *b, node_id x, double y) { return scalar(b, OP_MUL, x, y); }
static node_id plus(struct build *b, node_id x, double y) { return scalar(b, OP_ADD, x, y); }

/* x where x > 0, else y */
static node_id positive_or(struct build *b, node_id x, node_id y) {
    return call(b, OP_WHERE, arg_node(scalar(b, OP_GT, x, 0)), arg_node(x), arg_node(y));
}

/* Of equal ones, which may be zeros of two signs, maximum and minimum yield the second: x. */
static node_id clamp_to(struct build *b, node_id x, struct arg lo, struct arg hi) {
    if (lo.kind != ARG_NONE) x = call(b, OP_MAXIMUM, lo, arg_node(x));
    if (hi.kind != ARG_NONE) x = call(b, OP_MINIMUM, hi, arg_node(x));
    return x;
}

/* ---- primitives in a form no kernel should see ----------------------------------------------- */

static bool is_int(const struct build *b, const struct arg *a, int64_t v) {
    if (a->kind == ARG_FLOAT) return a->f == (double)v;
    if (a->kind == ARG_BOOL) return a->b == v;
    return a->i == ex_const(b->g->ex, v);
}

/* add(x, y, alpha=k) -> add(x, mul(y, k)); the same for sub. A number times k is a number. */
node_id expand_add(struct build *b, const struct node *n) {
    const struct arg *alpha = &n->args[2];
    if (is_int(b, alpha, 1)) return KEEP;
    struct arg y = operand_arg(b, n, 1);
    bool whole = y.kind == ARG_INT && alpha->kind == ARG_INT;
    if (y.kind == ARG_NODE)
        y = arg_node(call(b, OP_MUL, y, *alpha));
    else if (whole)
        y = arg_ex(ex_mul(b->g->ex, y.i, alpha->i));
    else
        y = arg_float(number_of(b, &y) * number_of(b, alpha));
    return call(b, n->op, operand_arg(b, n, 0), y);
}

/* The exponents PyTorch's own kernel special-cases; a power of narrow integers is made in i32. */
node_id expand_pow(struct build *b, const struct node *n) {
    const struct arg *e = &n->args[1];
    bool integer = !dtype_is_float(n->meta.dtype);
    if (dtype_is_narrow(n->meta.dtype))
        return call(b, OP_POW, operand_arg(b, n, 0), operand_arg(b, n, 1));
    if (n->args[0].kind != ARG_NODE || e->kind == ARG_NODE) return KEEP;
    if (e->kind == ARG_INT && !ex_is_const(b->g->ex, e->i, NULL)) return KEEP;
    double p = number_of(b, e);
    if (p != 1 && p != 2 && p != 3 && (integer || (p != 0.5 && p != -0.5 && p != -1 && p != -2)))
        return KEEP;
    node_id x = operand(b, n, 0);
    if (p == 1) return x;
    if (p == 0.5) return unary(b, OP_SQRT, x);
    if (p == -0.5) return unary(b, OP_RSQRT, x);
    if (p == -1) return unary(b, OP_RECIPROCAL, x);
    node_id square = mul(b, x, x);
    return p == 2 ? square : p == 3 ? mul(b, square, x) : unary(b, OP_RECIPROCAL, square);
}

/* floor, ceil, round and trunc of integers are the integers. */
node_id expand_round(struct build *b, const struct node *n) {
    return dtype_is_float(n->meta.dtype) ? KEEP : n->args[0].node;
}

/* ---- activations ----------------------------------------------------------------------------- */

/* none: x ndtr(x)
 * tanh: x/2 (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3) */
node_id expand_gelu(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    if (strcmp(n->args[1].s, "tanh")) return mul(b, x, unary(b, OP_NDTR, x));
    double k = 2 * sqrt(2 / M_PI);
    node_id slope = plus(b, times(b, mul(b, x, x), 0.044715 * k), k);
    return mul(b, x, unary(b, OP_SIGMOID, mul(b, x, slope)));
}

node_id expand_silu(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return mul(b, x, unary(b, OP_SIGMOID, x));
}

node_id expand_square(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return mul(b, x, x);
}

/* A number, an integer as the nearest that the type of n has. */
static struct arg nearest_in(struct build *b, const struct node *n, struct arg a) {
    enum dtype d = n->meta.dtype;
    int64_t v;
    if (!dtype_is_int(d) || a.kind != ARG_INT || !ex_is_const(b->g->ex, a.i, &v)) return a;
    return arg_int(b->g, v < int_least(d) ? int_least(d) : v > int_most(d) ? int_most(d) : v);
}

node_id expand_clamp(struct build *b, const struct node *n) {
    struct arg lo = n->op == OP_CLAMP_MAX ? arg_none() : operand_arg(b, n, 1);
    struct arg hi =
        n->op == OP_CLAMP_MIN ? arg_none() : operand_arg(b, n, n->op == OP_CLAMP ? 2 : 1);
    return clamp_to(b, operand(b, n, 0), nearest_in(b, n, lo), nearest_in(b, n, hi));
}

node_id expand_relu6(struct build *b, const struct node *n) {
    return clamp_to(b, operand(b, n, 0), arg_int(b->g, 0), arg_int(b->g, 6));
}

/* A number as the type of n has it. */
static struct arg number_in(struct build *b, const struct node *n, const struct arg *a) {
    bool cut = dtype_is_int(n->meta.dtype) && a->kind == ARG_FLOAT;
    return cut ? arg_int(b->g, int_of_double(DT_I64, a->f)) : *a;
}

node_id expand_hardtanh(struct build *b, const struct node *n) {
    return clamp_to(b, operand(b, n, 0), number_in(b, n, &n->args[1]),
                    number_in(b, n, &n->args[2]));
}

/* relu6(x + 3) */
static node_id hard_gate(struct build *b, node_id x) {
    return clamp_to(b, plus(b, x, 3), arg_int(b->g, 0), arg_int(b->g, 6));
}

node_id expand_hardsigmoid(struct build *b, const struct node *n) {
    return scalar(b, OP_DIV, hard_gate(b, operand(b, n, 0)), 6);
}

node_id expand_hardswish(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return scalar(b, OP_DIV, mul(b, x, hard_gate(b, x)), 6);
}

/* x where beta x > threshold, else log1p(exp(beta x)) / beta */
node_id expand_softplus(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    node_id bx = call(b, OP_MUL, arg_node(x), n->args[1]);
    node_id soft = unary(b, OP_LOG1P, unary(b, OP_EXP, bx));
    node_id linear = call(b, OP_GT, arg_node(bx), n->args[2]);
    return call(b, OP_WHERE, arg_node(linear), arg_node(x),
                arg_node(call(b, OP_DIV, arg_node(soft), n->args[1])));
}

node_id expand_softsign(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return binary(b, OP_DIV, x, plus(b, unary(b, OP_ABS, x), 1));
}

node_id expand_leaky_relu(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return positive_or(b, x, call(b, OP_MUL, arg_node(x), n->args[1]));
}

node_id expand_elu(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return positive_or(b, x, call(b, OP_MUL, arg_node(unary(b, OP_EXPM1, x)), n->args[1]));
}

node_id expand_selu(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    node_id low = times(b, unary(b, OP_EXPM1, x), 1.6732632423543772848170429916717);
    return times(b, positive_or(b, x, low), 1.0507009873554804934193349852946);
}

node_id expand_mish(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return mul(b, x, unary(b, OP_TANH, unary(b, OP_LOG1P, unary(b, OP_EXP, x))));
}

/* min(x, 0) - log1p(exp(-|x|)): no overflow on either side */
node_id expand_logsigmoid(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    node_id tail = unary(b, OP_LOG1P, unary(b, OP_EXP, unary(b, OP_NEG, unary(b, OP_ABS, x))));
    return binary(b, OP_SUB, scalar(b, OP_MINIMUM, x, 0), tail);
}

/* x where x > 0, else alpha expm1(x / alpha) */
node_id expand_celu(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    node_id low = unary(b, OP_EXPM1, call(b, OP_DIV, arg_node(x), n->args[1]));
    return positive_or(b, x, call(b, OP_MUL, arg_node(low), n->args[1]));
}

node_id expand_prelu(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return positive_or(b, x, mul(b, x, operand(b, n, 1)));
}

/* 0 between -lambda and lambda; else x */
node_id expand_hardshrink(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    double lambda = number_of(b, &n->args[1]);
    node_id above = scalar(b, OP_GE, x, -lambda), below = scalar(b, OP_LE, x, lambda);
    node_id small = binary(b, OP_LOGICAL_AND, above, below);
    return call(b, OP_WHERE, arg_node(small), arg_int(b->g, 0), arg_node(x));
}

/* towards 0 by lambda, and no further; nan stays */
node_id expand_softshrink(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    double lambda = number_of(b, &n->args[1]);
    node_id none = call(b, OP_WHERE, arg_node(unary(b, OP_ISNAN, x)), arg_node(x), arg_float(0));
    node_id low = call(b, OP_WHERE, arg_node(scalar(b, OP_LT, x, -lambda)),
                       arg_node(plus(b, x, lambda)), arg_node(none));
    return call(b, OP_WHERE, arg_node(scalar(b, OP_GT, x, lambda)), arg_node(plus(b, x, -lambda)),
                arg_node(low));
}

node_id expand_tanhshrink(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return binary(b, OP_SUB, x, unary(b, OP_TANH, x));
}

node_id expand_threshold(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), low = call(b, OP_LE, arg_node(x), n->args[1]);
    return call(b, OP_WHERE, arg_node(low), n->args[2], arg_node(x));
}

node_id expand_frac(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0);
    return binary(b, OP_SUB, x, unary(b, OP_TRUNC, x));
}

/* inf, -inf and nan become numbers: the largest, the least of the type and 0 unless given */
node_id expand_nan_to_num(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), y = x;
    if (!dtype_is_float(n->meta.dtype)) return x;
    double largest = dtype_largest(n->meta.dtype);
    struct arg to[3] = {n->args[1], n->args[2], n->args[3]};
    for (int i = 0; i < 3; i++)
        if (to[i].kind == ARG_NONE) to[i] = arg_float(i == 0 ? 0 : i == 1 ? largest : -largest);
    y = call(b, OP_WHERE, arg_node(scalar(b, OP_EQ, x, -INFINITY)), to[2], arg_node(y));
    y = call(b, OP_WHERE, arg_node(scalar(b, OP_EQ, x, INFINITY)), to[1], arg_node(y));
    return call(b, OP_WHERE, arg_node(unary(b, OP_ISNAN, x)), to[0], arg_node(y));
}

/* ---- several operands ------------------------------------------------------------------------ */

/* fmax, fmin: of a number and nan, the number */
node_id expand_fmax(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), y = operand(b, n, 1);
    node_id both =
        binary(b, n->op == OP_FMAX ? OP_MAXIMUM : OP_MINIMUM, y, x); /* x of equal ones */
    if (!dtype_is_float(n->meta.dtype)) return both;
    node_id r = call(b, OP_WHERE, arg_node(unary(b, OP_ISNAN, y)), arg_node(x), arg_node(both));
    return call(b, OP_WHERE, arg_node(unary(b, OP_ISNAN, x)), arg_node(y), arg_node(r));
}

/* max + log1p(exp(-|x - y|)); two equal infinities are their own result */
node_id expand_logaddexp(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), y = operand(b, n, 1);
    node_id far = unary(b, OP_ABS, binary(b, OP_SUB, x, y));
    node_id tail = unary(b, OP_LOG1P, unary(b, OP_EXP, unary(b, OP_NEG, far)));
    node_id sum = add(b, binary(b, OP_MAXIMUM, x, y), tail);
    node_id same = binary(b, OP_LOGICAL_AND, unary(b, OP_ISINF, x), binary(b, OP_EQ, x, y));
    return call(b, OP_WHERE, arg_node(same), arg_node(x), arg_node(sum));
}

/* Argument i as a tensor, a number as one of no dimension. */
static node_id operand_node(struct build *b, const struct node *n, int i) {
    struct meta none = {.dtype = dtype_opmath(n->meta.dtype)};
    if (n->args[i].kind == ARG_NODE) return operand(b, n, i);
    return full(b, &none, number_of(b, &n->args[i]));
}

/* x log(y); 0 where x is 0, unless y is nan */
node_id expand_xlogy(struct build *b, const struct node *n) {
    node_id x = operand_node(b, n, 0), y = operand_node(b, n, 1);
    node_id zero = binary(b, OP_LOGICAL_AND, scalar(b, OP_EQ, x, 0), binary(b, OP_EQ, y, y));
    node_id product = mul(b, x, unary(b, OP_LOG, y));
    return call(b, OP_WHERE, arg_node(zero), arg_int(b->g, 0), arg_node(product));
}

/* addcmul: x + value * y * z;  addcdiv: x + value * y / z */
node_id expand_addc(struct build *b, const struct node *n) {
    node_id y = operand(b, n, 1);
    if (!is_int(b, &n->args[3], 1)) y = call(b, OP_MUL, arg_node(y), n->args[3]);
    node_id yz = binary(b, n->op == OP_ADDCMUL ? OP_MUL : OP_DIV, y, operand(b, n, 2));
    return add(b, operand(b, n, 0), yz);
}

/* x + w (y - x) where w < 0.5, else y - (y - x) (1 - w): at either end exactly that */
node_id expand_lerp(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), y = operand(b, n, 1), way = binary(b, OP_SUB, y, x);
    struct arg w = operand_arg(b, n, 2);
    bool number = w.kind != ARG_NODE;
    struct arg rest =
        number ? arg_float(1 - number_of(b, &w)) : arg_node(call(b, OP_SUB, arg_int(b->g, 1), w));
    node_id low =
        number && number_of(b, &w) >= 0.5 ? x : add(b, x, call(b, OP_MUL, arg_node(way), w));
    if (number && number_of(b, &w) < 0.5) return low;
    node_id high = binary(b, OP_SUB, y, call(b, OP_MUL, arg_node(way), rest));
    if (number) return high;
    node_id near = call(b, OP_LT, w, arg_float(0.5));
    return call(b, OP_WHERE, arg_node(near), arg_node(low), arg_node(high));
}

node_id expand_masked_fill(struct build *b, const struct node *n) {
    return call(b, OP_WHERE, n->args[1], n->args[2], n->args[0]);
}

/* ~x of a bool is not x, of an integer -x - 1 */
node_id expand_bitwise_not(struct build *b, const struct node *n) {
    node_id x = n->args[0].node;
    if (n->meta.dtype == DT_BOOL) return unary(b, OP_LOGICAL_NOT, x);
    return scalar(b, OP_SUB, unary(b, OP_NEG, x), 1);
}

/* float(), half(), ...: the driver casts to the type of the result. */
node_id expand_cast(struct build *b, const struct node *n) {
    return call(b, OP_CAST, n->args[0], arg_dtype(n->meta.dtype));
}
