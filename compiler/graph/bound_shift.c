/* bound_shift.c: how far off logsumexp and softmax may be, which take the same number from all
 * elements of a row, and give it back.
 *
 *   %m = amax(%x); %d = sub(%x, %m); %t = exp(%d); %s = sum(%t); %y = add(log(%s), %m)
 *
 * Taken apart, %d is off by e_x + e_m, %t by a factor of up to e^(e_x + e_m), and where that is
 * more than 2, %s might as well be 0 and its logarithm without end. But whatever number stands for
 * %m, %y is the same: with m' in place of m every t is t e^(m - m'), and so is s; log s is larger
 * by m - m', and what is added is m'. So %y moves by no more than all x do: logsumexp is
 * 1-Lipschitz in the maximum norm. Beside the shift m' - m, a value of such a computation is off by
 *
 *   a term      e: as elsewhere, of results as large as |d| + e_x + e_m
 *   a factor    e^r or e^-r, as all are positive: r = e - log(1 - k u)
 *   a sum       r = log(sum of t e^r / s) - log(1 - h u): by Cauchy and Schwarz that of t e^-r is
 *               no further below s than that of t e^r is above it
 *   a quotient  of two with one shift: r of the one and r of the other
 *
 * A t that its type does not hold is lost: of n in a row, each e^(e_m) times as large beside s.
 * Where s or a t may overflow, nothing is known. m' is one number wherever it is read if it is an
 * input, a reduction or a product, which no kernel makes again (schedule/recompute.c); anything
 * else may be made twice, and be off by e_m each time. */
#include <math.h>

#include "graph/bound.h"
#include "graph/eval.h"
#include "graph/traits.h"

struct shifted {
    node_id by;    /* m, of the graph that is bounded */
    node_id error; /* e of a term, r of a factor; beside the shift */
};

static const struct node *node_of(const struct bounds *w, node_id id) {
    return &w->from->nodes.at[id];
}

static bool takes_floats(const struct node *n) {
    for (int i = 0; i < 2; i++)
        if (n->args[i].kind != ARG_NODE) return false;
    return dtype_is_float(n->meta.dtype);
}

/* How much faster than its result what an operator adds may grow: rows of bounds.def by less than
 * two units for each 1 of the operand, functions of 16 bits by less than this. */
static double growth(const struct bounds *w, node_id id) {
    enum dtype t = node_of(w, id)->meta.dtype;
    return 2 * roundoff_of(w, t) + (w->half ? 0.0005 : 0) + (w->stored[id] ? storing(t) : 0);
}

/* e and the operator's own roundings, of a result that is off by e, and by `moves` besides. */
static node_id with_own(struct bounds *w, node_id id, node_id e, node_id moves) {
    enum dtype t = node_of(w, id)->meta.dtype;
    struct arg besides, share = own_share(w, id, &besides);
    if (!is_exact(&besides)) e = plus(w, as_error(w, besides, bounds_meta(w, w->value[id])), e);
    if (moves != EXACT) e = plus(w, e, scalar(&w->b, OP_MUL, moves, growth(w, id)));
    return rounded(w, w->value[id], as_arg(e), share, w->stored[id] ? t : maths_of(w, t));
}

/* -log(1 - x) */
static node_id as_exponent(struct bounds *w, node_id x) {
    node_id most = scalar(&w->b, OP_MINIMUM, x, 0.5);
    return unary(&w->b, OP_NEG, unary(&w->b, OP_LOG1P, unary(&w->b, OP_NEG, most)));
}

/* The reduction of one element, which is that element. */
static bool is_of_one(struct bounds *w, const struct node *n) {
    if (n->op != OP_AMAX && n->op != OP_AMIN && n->op != OP_SUM) return false;
    const struct meta *x = &node_of(w, n->args[0].node)->meta;
    uint32_t set = dims_of((struct graph *)w->from, n, "dim", x->rank);
    bool one = true;
    for (int i = 0; i < x->rank; i++)
        if (set >> i & 1) one &= bounds_size(w, x->size[i]) == 1;
    return one;
}

/* How far apart the shift may be where it is read twice. */
static node_id apart(struct bounds *w, node_id m, node_id e) {
    enum dtype t = node_of(w, m)->meta.dtype;
    node_id e_m = w->error[m];
    const struct node *n = node_of(w, m);
    while (op_only_reshapes(n->op) || n->op == OP_EXPAND || is_of_one(w, n))
        n = node_of(w, n->args[0].node);
    enum op_class class = op_info(n->op)->class;
    bool once = class == INPUT || class == REDUCE || class == MATMUL || e_m == EXACT;
    if (!once) e = plus(w, e, scalar(&w->b, OP_MUL, e_m, 2));
    if (w->stored[m] && storing(t) > 0)
        e = plus(w, e, scalar(&w->b, OP_MUL, largest(w, w->value[m], e_m), storing(t)));
    return e;
}

static bool shifted_sum(struct bounds *w, node_id id, struct shifted *out);

/* x - m, or the logarithm of a sum of such exponentials */
static bool shifted_term(struct bounds *w, node_id id, struct shifted *out) {
    const struct node *n = node_of(w, id);
    struct shifted s;
    if (n->op == OP_LOG && shifted_sum(w, n->args[0].node, &s)) {
        *out = (struct shifted){s.by, with_own(w, id, s.error, plus(w, s.error, w->error[s.by]))};
        return true;
    }
    if (n->op != OP_SUB || !takes_floats(n)) return false;
    node_id x = n->args[0].node, m = n->args[1].node;
    if (w->error[x] == EXACT && w->error[m] == EXACT) return false;
    *out = (struct shifted){m, with_own(w, id, w->error[x], w->error[m])};
    return true;
}

/* exp(x - m) */
static bool shifted_exponential(struct bounds *w, node_id id, struct shifted *out) {
    struct build *b = &w->b;
    const struct node *n = node_of(w, id);
    struct shifted d;
    if (n->op != OP_EXP || !shifted_term(w, n->args[0].node, &d)) return false;
    struct arg besides, share = own_share(w, id, &besides);
    node_id t = wide(w, w->value[id]), moves = plus(w, d.error, w->error[d.by]);
    node_id own = scalar(b, OP_MUL, moves, growth(w, id));
    own = call(b, OP_ADD, arg_node(own), share);
    if (besides.kind == ARG_NODE) /* a share, too */
        own = plus(w, own,
                   call(b, OP_WHERE, arg_node(scalar(b, OP_GT, t, 0)),
                        arg_node(binary(b, OP_DIV, wide(w, besides.node), t)), arg_float(0)));
    *out = (struct shifted){d.by, plus(w, d.error, as_exponent(w, own))};
    return true;
}

/* t e^r - t, where t = e^d: 0 where d is so far below 0 that r has no end. */
static node_id risen(struct bounds *w, node_id d, node_id t, node_id r) {
    struct build *b = &w->b;
    node_id near = binary(b, OP_MUL, t, unary(b, OP_EXPM1, r));
    node_id far = binary(b, OP_SUB, unary(b, OP_EXP, moved(w, d, r, true)), t);
    return call(b, OP_WHERE, arg_node(scalar(b, OP_LT, r, 1)), arg_node(near), arg_node(far));
}

static bool is_constant_along(struct bounds *w, node_id m, const struct node *reduces) {
    const struct meta *x = &node_of(w, reduces->args[0].node)->meta, *by = &node_of(w, m)->meta;
    uint32_t set = dims_of((struct graph *)w->from, reduces, "dim", x->rank);
    for (int i = 0; i < x->rank; i++)
        if (set >> i & 1 && (by->rank != x->rank || bounds_size(w, by->size[i]) != 1)) return false;
    return true;
}

static node_id below_shift(struct bounds *w, node_id m, node_id r) { /* e^(e_m + r) */
    return unary(&w->b, OP_EXP, plus(w, r, w->error[m]));
}

/* sum(exp(x - m)), over dimensions that stay */
static bool shifted_sum(struct bounds *w, node_id id, struct shifted *out) {
    struct build *b = &w->b;
    const struct node n = bounds_copy(w, id);
    struct shifted t;
    int k;
    if (n.op != OP_SUM || !op_param(OP_SUM, "keepdim", &k) || !n.args[k].b) return false;
    node_id exp = node_of(w, id)->args[0].node;
    if (!shifted_exponential(w, exp, &t) || !is_constant_along(w, t.by, node_of(w, id)))
        return false;
    enum dtype type = n.meta.dtype, math = maths_of(w, type);
    enum dtype held = w->stored[exp] ? node_of(w, exp)->meta.dtype : math;
    double terms = (double)bounds_terms(w, &n);
    double own = sum_depth(w, bounds_terms(w, &n)) * roundoff_of(w, math) +
                 (w->stored[id] ? storing(type) : 0);
    node_id d = wide(w, w->value[node_of(w, exp)->args[0].node]), s = wide(w, w->value[id]);
    node_id off = risen(w, d, wide(w, w->value[exp]), t.error);
    node_id r = binary(b, OP_DIV, reduce_as(w, &n, OP_SUM, off, true), s);
    r = scalar(b, OP_ADD, unary(b, OP_LOG1P, r), -log1p(-fmin(own, 0.5)));
    node_id rise = below_shift(w, t.by, r);
    node_id lost = binary(b, OP_DIV, scalar(b, OP_MUL, rise, terms * dtype_smallest(held)), s);
    node_id held_all = scalar(b, OP_LE, binary(b, OP_MUL, s, rise), dtype_largest(held));
    node_id known = binary(b, OP_LOGICAL_AND, held_all, scalar(b, OP_LT, lost, 0.5));
    r = plus(w, r, scalar(b, OP_MUL, lost, 2));
    r = call(b, OP_WHERE, arg_node(known), arg_node(r), arg_float(INFINITY));
    *out = (struct shifted){t.by, r};
    return true;
}

/* exp(x - m) / sum(exp(x - m)) */
static bool shared_quotient(struct bounds *w, node_id id, node_id *out) {
    struct build *b = &w->b;
    const struct node *n = node_of(w, id);
    node_id exp = n->args[0].node, sum = n->args[1].node;
    struct shifted t, s;
    if (!shifted_exponential(w, exp, &t) || !shifted_sum(w, sum, &s) || t.by != s.by) return false;
    enum dtype held = w->stored[exp] ? node_of(w, exp)->meta.dtype : maths_of(w, n->meta.dtype);
    node_id d = wide(w, w->value[node_of(w, exp)->args[0].node]);
    node_id r = apart(w, t.by, plus(w, t.error, s.error)), total = wide(w, w->value[sum]);
    node_id off = risen(w, d, wide(w, w->value[exp]), r);
    node_id lost = scalar(b, OP_MUL, below_shift(w, t.by, s.error), dtype_smallest(held));
    off = binary(b, OP_DIV, binary(b, OP_ADD, off, lost), total);
    *out = with_own(w, id, off, EXACT);
    return true;
}

/* log(sum(exp(x - m))) + m, or (x - m) - log(sum(exp(x - m))) */
static bool shared_sum(struct bounds *w, node_id id, node_id *out) {
    const struct node *n = node_of(w, id);
    node_id x = n->args[0].node, y = n->args[1].node;
    struct shifted s, t;
    if (n->op == OP_ADD && node_of(w, x)->op != OP_LOG) x = y, y = n->args[0].node;
    node_id log = n->op == OP_ADD ? x : y, other = n->op == OP_ADD ? y : x;
    if (node_of(w, log)->op != OP_LOG || !shifted_term(w, log, &s)) return false;
    if (n->op == OP_ADD && other != s.by) return false;
    if (n->op == OP_SUB && (!shifted_term(w, other, &t) || t.by != s.by)) return false;
    node_id e = n->op == OP_ADD ? s.error : plus(w, s.error, t.error);
    *out = with_own(w, id, apart(w, s.by, e), EXACT);
    return true;
}

struct arg bound_shared(struct bounds *w, node_id id) {
    const struct node *n = node_of(w, id);
    node_id e = EXACT;
    if (n->op == OP_DIV && takes_floats(n)) shared_quotient(w, id, &e);
    if ((n->op == OP_ADD || n->op == OP_SUB) && takes_floats(n)) shared_sum(w, id, &e);
    return as_arg(e);
}
