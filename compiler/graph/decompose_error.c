/* decompose_error.c: bounds on rounding errors as arithmetic, so that a device can compute them.
 *
 *   error_product(x, e, y, f) -> (abs(x) + e) * f + abs(y) * e
 *
 * As the `ref` column of ops.def has them, case by case. */
#include <math.h>

#include "graph/decompose.h"

/* An operand in f64; a number as a tensor of no dimensions. */
static node_id wide(struct build *b, const struct node *n, int i) {
    struct meta none = {.dtype = DT_F64};
    if (n->args[i].kind == ARG_NODE) return operand(b, n, i);
    return full(b, &none, number_of(b, &n->args[i]));
}

static node_id choose(struct build *b, node_id where, node_id x, node_id y) {
    return call(b, OP_WHERE, arg_node(where), arg_node(x), arg_node(y));
}

static node_id or_zero(struct build *b, node_id where, node_id x) {
    return call(b, OP_WHERE, arg_node(where), arg_node(x), arg_float(0));
}

static node_id or_infinite(struct build *b, node_id where, node_id x) {
    return call(b, OP_WHERE, arg_node(where), arg_node(x), arg_float(INFINITY));
}

node_id expand_error_round(struct build *b, const struct node *n) {
    node_id v = wide(b, n, 0), error = wide(b, n, 1), unit = wide(b, n, 2);
    node_id size = binary(b, OP_ADD, unary(b, OP_ABS, v), error);
    node_id rounded = binary(b, OP_ADD, error, binary(b, OP_MUL, unit, size));
    node_id tiny = call(b, OP_WHERE, arg_node(scalar(b, OP_GT, size, 0)), n->args[4], arg_float(0));
    rounded = binary(b, OP_ADD, rounded, tiny);
    rounded = or_infinite(b, call(b, OP_LE, arg_node(size), n->args[3]), rounded);
    node_id lost = scalar(b, OP_EQ, error, INFINITY);
    return choose(b, unary(b, OP_ISFINITE, v), rounded, or_zero(b, lost, error));
}

node_id expand_error_product(struct build *b, const struct node *n) {
    node_id x = unary(b, OP_ABS, wide(b, n, 0)), e = wide(b, n, 1);
    node_id y = unary(b, OP_ABS, wide(b, n, 2)), f = wide(b, n, 3);
    node_id most = binary(b, OP_MUL, binary(b, OP_ADD, x, e), f);
    return binary(b, OP_ADD, most, binary(b, OP_MUL, y, e));
}

node_id expand_error_quotient(struct build *b, const struct node *n) {
    node_id x = wide(b, n, 0), e = wide(b, n, 1), y = wide(b, n, 2), f = wide(b, n, 3);
    node_id most = unary(b, OP_ABS, y), ratio = unary(b, OP_ABS, binary(b, OP_DIV, x, y));
    node_id exact = or_zero(b, scalar(b, OP_NE, e, 0), binary(b, OP_DIV, e, most));
    node_id above = binary(b, OP_ADD, e, binary(b, OP_MUL, ratio, f));
    node_id off = binary(b, OP_DIV, above, binary(b, OP_SUB, most, f));
    off = or_infinite(b, binary(b, OP_GT, most, f), off);
    return choose(b, scalar(b, OP_EQ, f, 0), exact, off);
}

node_id expand_error_flip(struct build *b, const struct node *n) {
    node_id x = wide(b, n, 0), y = wide(b, n, 2);
    node_id both = binary(b, OP_ADD, wide(b, n, 1), wide(b, n, 3));
    node_id near = binary(b, OP_LE, unary(b, OP_ABS, binary(b, OP_SUB, x, y)), both);
    node_id may = binary(b, OP_LOGICAL_AND, near, scalar(b, OP_GT, both, 0));
    return cast(b, may, DT_F64);
}
