/* derivatives.c: derivatives.def as a table, and what a rule means at one node.
 *
 *   %y = tanh(%x), "self: grad * (1 - result * result)"
 *     -> %mul = mul(%y, %y); %sub = sub(1, %mul); %mul_1 = mul(%grad, %sub)
 *
 * A term becomes a node, or stays a number (or None, or a list of dimensions) where no tensor is in
 * it. Common parts are emitted as often as they are named: simplify makes them one. */
#include "graph/derivatives.h"

#include <math.h>
#include <string.h>

#include "graph/bound.h"
#include "graph/eval.h"

static derivative_code derivative_norm, derivative_batch_norm, derivative_bce, derivative_extremum;

static const struct derivative derivatives[OP_COUNT] = {
#define DERIV(id, rules) [OP_##id] = {DERIVATIVE_RULE, rules, NULL},
#define DERIV_CODE(id, function) [OP_##id] = {DERIVATIVE_CODE, NULL, function},
#define DERIV_ZERO(id) [OP_##id] = {DERIVATIVE_ZERO, NULL, NULL},
#include "graph/derivatives.def"
#undef DERIV
#undef DERIV_CODE
#undef DERIV_ZERO
};

const struct derivative *derivative_of(enum op op) { return &derivatives[op]; }

static struct arg value_of(struct backprop *p, const struct term *t);

/* ---- names ----------------------------------------------------------------------------------- */

static struct arg widen(struct backprop *p, node_id x) {
    enum dtype t = meta_of(p->b, x)->dtype;
    return arg_node(p->wide && dtype_is_float(t) ? cast(p->b, x, dtype_opmath(t)) : x);
}

/* The first operand, which reductions reduce and views view. */
static const struct meta *subject(const struct backprop *p) {
    return meta_of(p->b, p->node.args[0].node);
}

static uint32_t reduced_dims(const struct backprop *p) {
    return dims_of(p->b->g, &p->node, "dim", subject(p)->rank);
}

static struct arg reduced_count(const struct backprop *p) {
    const struct meta *m = subject(p);
    uint32_t set = reduced_dims(p);
    ex n = ex_const(p->b->g->ex, 1);
    for (int i = 0; i < m->rank; i++)
        if (set >> i & 1) n = ex_mul(p->b->g->ex, n, m->size[i]);
    return arg_ex(n);
}

static struct arg last_dims(const struct backprop *p) {
    int k, rank = subject(p)->rank;
    ex dims[WS_MAX_RANK];
    uint32_t n = 0;
    if (!op_param(p->node.op, "normalized_shape", &k))
        WS_BUG("%s normalizes no dimensions", op_info(p->node.op)->name);
    for (int i = rank - (int)p->node.args[k].ints.n; i < rank; i++)
        dims[n++] = ex_const(p->b->g->ex, i);
    return arg_ints(p->b->g, dims, n);
}

static struct arg other_dims(const struct backprop *p) {
    ex dims[WS_MAX_RANK];
    uint32_t n = 0;
    for (int i = 0; i < subject(p)->rank; i++)
        if (i != 1) dims[n++] = ex_const(p->b->g->ex, i);
    return arg_ints(p->b->g, dims, n);
}

static int binding_of(const struct backprop *p, const char *name) {
    for (int i = 0; i < p->rule->n; i++)
        if (p->rule->clauses[i].binding && !strcmp(p->rule->clauses[i].name, name)) return i;
    return -1;
}

static struct arg bound_value(struct backprop *p, int i) {
    if (!p->is_bound[i]) p->bound[i] = value_of(p, p->rule->clauses[i].body);
    p->is_bound[i] = true;
    return p->bound[i];
}

static struct arg named(struct backprop *p, const char *name) {
    int k = binding_of(p, name);
    if (k >= 0) return bound_value(p, k);
    if (!strcmp(name, "grad")) return widen(p, p->grad);
    if (!strcmp(name, "result")) return widen(p, p->result);
    if (!strcmp(name, "count")) return reduced_count(p);
    if (!strcmp(name, "last")) return last_dims(p);
    if (!strcmp(name, "others")) return other_dims(p);
    if (p->errors && !strcmp(name, "roundoff")) return arg_float(p->roundoff);
    if (p->errors && !strcmp(name, "inf")) return arg_float(INFINITY);
    if (p->errors && !strcmp(name, "far")) return arg_float(FAR);
    if (p->errors && !strncmp(name, "e_", 2) && op_param(p->node.op, name + 2, &k))
        return p->errors[k];
    if (!op_param(p->node.op, name, &k))
        WS_BUG("the rule of %s names '%s'", op_info(p->node.op)->name, name);
    struct arg a = p->node.args[k];
    return a.kind == ARG_NODE ? widen(p, a.node) : a;
}

/* ---- functions ------------------------------------------------------------------------------- */

static node_id unreduce(struct backprop *p, node_id x) {
    struct meta kept = *subject(p);
    uint32_t set = reduced_dims(p);
    for (int i = 0; i < kept.rank; i++)
        if (set >> i & 1) kept.size[i] = ex_const(p->b->g->ex, 1);
    return reshape(p->b, x, &kept);
}

static struct arg inverse(struct backprop *p, const struct arg *dims) {
    ex order[WS_MAX_RANK];
    for (uint32_t i = 0; i < dims->ints.n; i++)
        order[ex_value(p->b->g->ex, dims->ints.at[i])] = ex_const(p->b->g->ex, i);
    return arg_ints(p->b->g, order, dims->ints.n);
}

static node_id places(struct backprop *p, ex dim) {
    const struct meta *m = subject(p);
    struct meta line = {.rank = m->rank};
    if (!m->rank) return call(p->b, OP_FULL, arg_ints(p->b->g, NULL, 0), arg_int(p->b->g, 0));
    for (int i = 0; i < m->rank; i++) line.size[i] = ex_const(p->b->g->ex, 1);
    int at = (int)ex_value(p->b->g->ex, dim);
    line.size[at] = m->size[at];
    return reshape(p->b, iota(p->b, m->size[at]), &line);
}

static struct arg channels(struct backprop *p, const struct arg *x) {
    if (x->kind != ARG_NODE) return *x;
    struct meta shape = channel_shape(p->b, subject(p));
    return arg_node(reshape(p->b, x->node, &shape));
}

static struct arg call_function(struct backprop *p, enum function f, struct arg a) {
    switch (f) {
    case FN_UNREDUCE: return arg_node(unreduce(p, a.node));
    case FN_AS_SELF: return arg_node(reshape(p->b, a.node, subject(p)));
    case FN_ROWS: return arg_node(as_matrix(p->b, a.node));
    case FN_INVERSE: return inverse(p, &a);
    case FN_PLACES: return arg_node(places(p, a.i));
    case FN_CHANNELS: return channels(p, &a);
    case FN_TIE: return arg_float(a.kind == ARG_NODE ? 0.5 : 0);
    case FN_COUNT: break;
    }
    WS_BUG("no such function");
}

/* ---- operators ------------------------------------------------------------------------------- */

static bool is_number(const struct arg *a) {
    return a->kind == ARG_INT || a->kind == ARG_FLOAT || a->kind == ARG_BOOL;
}

static bool is_constant(const struct backprop *p, const struct arg *a) {
    return is_number(a) && (a->kind != ARG_INT || ex_is_const(p->b->g->ex, a->i, NULL));
}

static bool is_value(const struct backprop *p, const struct arg *a, double v) {
    return is_constant(p, a) && arg_number(p->b->g, a) == v;
}

static bool is_arithmetic(enum op op) {
    return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV || op == OP_NEG;
}

/* None among the operands: the others stand alone; nothing is out of no bounds. */
static bool drop_none(enum op op, const struct arg *x, int n, struct arg *out) {
    bool none = false;
    for (int i = 0; i < n; i++) none |= x[i].kind == ARG_NONE;
    if (!none) return false;
    *out = n == 2 && x[0].kind == ARG_NONE ? x[1] : x[0];
    if (op_info(op)->dtype == RULE_BOOL) *out = arg_bool(true);
    return op_info(op)->dtype == RULE_BOOL || is_arithmetic(op);
}

/* An error of 0 has no consequences, whatever it meets. */
static bool without_error(const struct backprop *p, enum op op, const struct arg *x,
                          struct arg *out) {
    bool pair = op == OP_ERROR_PRODUCT || op == OP_ERROR_QUOTIENT || op == OP_ERROR_FLIP;
    bool sum = op == OP_ADD || op == OP_MAXIMUM, less = op == OP_MUL || op == OP_MINIMUM;
    bool neither = op == OP_WHERE && is_value(p, &x[1], 0) && is_value(p, &x[2], 0);
    if (neither || (pair && is_value(p, &x[1], 0) && is_value(p, &x[3], 0)) ||
        ((less || op == OP_DIV) && is_value(p, &x[0], 0)) || (less && is_value(p, &x[1], 0))) {
        *out = arg_float(0);
        return true;
    }
    for (int i = 0; i < 2 && sum; i++)
        if (is_value(p, &x[i], 0)) {
            *out = x[1 - i];
            return true;
        }
    return false;
}

/* What is known without looking at any element. */
static bool shortcut(struct backprop *p, enum op op, const struct arg *x, int n, struct arg *out) {
    if (drop_none(op, x, n, out)) return true;
    if (p->errors && without_error(p, op, x, out)) return true;
    if (op == OP_LOGICAL_AND)
        for (int i = 0; i < 2; i++)
            if (is_constant(p, &x[i])) {
                *out = is_value(p, &x[i], 0) ? arg_bool(false) : x[1 - i];
                return true;
            }
    if (op == OP_WHERE && is_constant(p, &x[0])) {
        *out = is_value(p, &x[0], 0) ? x[2] : x[1];
        return true;
    }
    for (int i = 0; i < 2 && op == OP_MUL; i++)
        if (is_value(p, &x[i], 1)) {
            *out = x[1 - i];
            return true;
        }
    return false;
}

/* An operator on numbers is a number, symbolic if it can be. */
static bool fold(struct backprop *p, enum op op, const struct arg *x, int n, struct arg *out) {
    struct exprs *e = p->b->g->ex;
    double v[5] = {0, 0, 1, 0, 0}; /* alpha is 1 */
    bool whole = true, constant = true;
    for (int i = 0; i < n; i++) {
        if (!is_number(&x[i])) return false;
        whole &= x[i].kind == ARG_INT;
        constant &= is_constant(p, &x[i]);
    }
    if (whole && (op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_NEG)) {
        ex a = op == OP_NEG ? ex_const(e, 0) : x[0].i, b = op == OP_NEG ? x[0].i : x[1].i;
        *out = arg_ex(op == OP_ADD   ? ex_add(e, a, b)
                      : op == OP_MUL ? ex_mul(e, a, b)
                                     : ex_sub(e, a, b));
        return true;
    }
    if (!constant || !op_info(op)->elementwise) return false;
    for (int i = 0; i < n; i++) v[i] = arg_number(p->b->g, &x[i]);
    double y = eval_ref(op, v);
    *out = op_info(op)->dtype == RULE_BOOL ? arg_bool(y != 0) : arg_float(y);
    return true;
}

/* A tensor of no dimensions, where an operator wants one and has numbers only. */
static struct arg as_tensor(struct backprop *p, struct arg a) {
    struct arg shape = arg_ints(p->b->g, NULL, 0);
    return arg_node(call(p->b, OP_FULL, shape, a));
}

static struct arg call_op(struct backprop *p, enum op op, struct arg *x, int n) {
    struct arg out;
    bool tensors = false;
    if (shortcut(p, op, x, n, &out) || fold(p, op, x, n, &out)) return out;
    for (int i = 0; i < n; i++) tensors |= x[i].kind == ARG_NODE;
    if (!tensors) x[0] = as_tensor(p, x[0]);
    return arg_node(build_call(p->b, op, x, n));
}

static struct arg value_of(struct backprop *p, const struct term *t) {
    struct arg x[MAX_TERM_ARGS];
    switch (t->kind) {
    case TERM_NUMBER:
        return t->number.kind == ARG_INT ? arg_int(p->b->g, (int64_t)t->number.f) : t->number;
    case TERM_NAME: return named(p, t->name);
    case TERM_OP:
        for (int i = 0; i < t->n; i++) x[i] = value_of(p, t->args[i]);
        return call_op(p, t->op, x, t->n);
    case TERM_FUNCTION: return call_function(p, t->function, value_of(p, t->args[0]));
    }
    WS_BUG("no such term");
}

struct arg rule_value(struct backprop *p, const struct term *t) {
    return value_of(p, t);
}

/* ---- in which type --------------------------------------------------------------------------- */

/* Does the operator round? Comparisons, choices and moves do not; products accumulate wide. */
static bool rounds(enum op op) {
    const struct op_info *info = op_info(op);
    if (info->dtype == RULE_BOOL || op == OP_WHERE || op == OP_T || op == OP_MT || op == OP_MATMUL)
        return false;
    return info->class == POINTWISE || info->class == REDUCE || info->class == SCAN ||
           info->class == COMPOSITE;
}

static bool is_number_term(const struct backprop *p, const struct term *t) {
    int k;
    if (t->kind == TERM_NUMBER) return true;
    if (t->kind == TERM_NAME)
        return !strcmp(t->name, "count") ||
               (op_param(p->node.op, t->name, &k) && is_number(&p->node.args[k]));
    for (int i = 0; i < t->n; i++)
        if (!is_number_term(p, t->args[i])) return false;
    return true;
}

/* Roundings of a term on tensors, at least; what is bound is taken for several. */
static int roundings(const struct backprop *p, const struct term *t) {
    if (is_number_term(p, t)) return 0;
    if (t->kind == TERM_NAME) return binding_of(p, t->name) >= 0 ? 2 : 0;
    int n = t->kind == TERM_OP && rounds(t->op);
    for (int i = 0; i < t->n; i++) n += roundings(p, t->args[i]);
    return n;
}

enum derivative_answer derivative_evaluate(struct backprop *p, int param, node_id *out) {
    const char *name = op_info(p->node.op)->params[param].name;
    for (int i = 0; i < p->rule->n; i++) {
        const struct clause *c = &p->rule->clauses[i];
        if (c->binding || strcmp(c->name, name)) continue;
        p->wide = roundings(p, c->body) > 1;
        struct arg v = value_of(p, c->body);
        if (is_value(p, &v, 0)) return NO_GRADIENT;
        WS_ASSERT(v.kind == ARG_NODE);
        *out = v.node;
        return GRADIENT;
    }
    return NO_GRADIENT;
}

/* ---- in C ------------------------------------------------------------------------------------ */

/* The root of a sum: flat at 0, where the general formula divides by it. The norms without a root
 * are differentiated as what they expand to. */
static enum derivative_answer derivative_norm(struct backprop *b, int param, node_id *out) {
    static const char two[] = "self: self * unreduce(where(result == 0, 0, grad / result))";
    static const char any[] =
        "power = where((self == 0) & (p < 1), 0, sign(self) * pow(abs(self), p - 1));"
        "self: power * unreduce(where(result == 0, 0, grad / pow(result, p - 1)))";
    double p = arg_number(b->b->g, &b->node.args[1]);
    if (p == 0) return NO_GRADIENT;
    if (p == 1 || isinf(p)) return EXPAND_INSTEAD;
    b->rule = rule_parse(b->b->g->arena, p == 2 ? two : any);
    return derivative_evaluate(b, param, out);
}

/* In training two sums of a channel are all that the input's gradient needs, and they are those of
 * the weight and of the bias. In inference it is what it expands to. */
static enum derivative_answer derivative_batch_norm(struct backprop *b, int param, node_id *out) {
    static const char rule[] = "d = input - mean(input, others, True); r = rsqrt(mean(d * d, "
                               "others, True) + eps); n = d * r;"
                               "input: r * channels(weight) * (grad - mean(grad, others, True) -"
                               " n * mean(grad * n, others, True));"
                               "weight: sum(grad * n, others); bias: sum(grad, others)";
    if (!b->node.args[5].b) return EXPAND_INSTEAD;
    b->rule = rule_parse(b->b->g->arena, rule);
    return derivative_evaluate(b, param, out);
}

/* What it expands to divides by x and by 1 - x, of which one is 0 where a sigmoid has rounded. */
static enum derivative_answer derivative_bce(struct backprop *b, int param, node_id *out) {
    static const char rule[] =
        "g = grad * weight;"
        "input: g * (input - target) / maximum((1 - input) * input, 1.0e-12);"
        "target: g * (log(1 - input) - log(input));"
        "weight: grad * ((target - 1) * maximum(log1p(-input), -100) - target * "
        "maximum(log(input), -100))";
    node_id whole = b->grad;
    if (!strcmp(b->node.args[3].s, "mean")) {
        struct arg n = arg_ex(meta_numel(b->b->g->ex, subject(b)));
        b->grad = call(b->b, OP_DIV, arg_node(whole), n);
    }
    b->rule = rule_parse(b->b->g->arena, rule);
    enum derivative_answer answer = derivative_evaluate(b, param, out);
    b->grad = whole;
    return answer;
}

/* Is element i of the reduced dimensions, in row-major order, the first extremum? */
static node_id is_first(struct backprop *p, node_id x) {
    const struct meta m = *meta_of(p->b, x);
    uint32_t set = reduced_dims(p);
    struct meta rows = {.rank = 0}, places = {.rank = m.rank};
    int order[WS_MAX_RANK], at = 0;
    ex one = ex_const(p->b->g->ex, 1), n = reduced_count(p).i;
    for (int d = 0; d < m.rank; d++) {
        bool reduced = set >> d & 1;
        places.size[d] = reduced ? m.size[d] : one;
        if (reduced) continue;
        order[at++] = d;
        rows.size[rows.rank++] = m.size[d];
    }
    for (int d = 0; d < m.rank; d++)
        if (set >> d & 1) order[at++] = d;
    rows.size[rows.rank++] = n;
    enum op op = p->node.op == OP_AMAX ? OP_ARGMAX : OP_ARGMIN;
    node_id line = reshape(p->b, reorder(p->b, x, order), &rows);
    node_id first = call(p->b, op, arg_node(line), arg_int(p->b->g, -1));
    return binary(p->b, OP_EQ, unreduce(p, first), reshape(p->b, iota(p->b, n), &places));
}

/* Equal extrema share the gradient. What one kernel finds to be the extremum another may compute
 * again, with other roundings, and find no element that is equal: the first one counts in any case.
 */
static enum derivative_answer derivative_extremum(struct backprop *p, int param, node_id *out) {
    node_id x = p->node.args[0].node;
    node_id hit = binary(p->b, OP_EQ, x, unreduce(p, p->result));
    if (p->b->g->nodes.at[x].op != OP_INPUT) hit = binary(p->b, OP_LOGICAL_OR, hit, is_first(p, x));
    enum dtype t = dtype_opmath(meta_of(p->b, x)->dtype);
    node_id most = call(p->b, OP_WHERE, arg_node(hit), arg_float(1), arg_float(0));
    node_id all = call(p->b, OP_SUM, arg_node(most), p->node.args[1], arg_bool(true));
    node_id part = binary(p->b, OP_MUL, cast(p->b, unreduce(p, p->grad), t), most);
    *out = binary(p->b, OP_DIV, part, all);
    return GRADIENT;
}

/* ---- gradients that the program has given ---------------------------------------------------- */

static bool reads_copies(const struct graph *g, node_id id, const node_id *map) {
    for (int k = 0; k < g->nodes.at[id].n_args; k++) {
        const node_id *at;
        int n = arg_nodes(&g->nodes.at[id].args[k], &at);
        while (n--)
            if (map[at[n]] != at[n]) return true;
    }
    return false;
}

/* give_gradient: gradients[element], which the program has made of `tangent`, made again of the
 * gradient that has come. */
enum derivative_answer derivative_given(struct backprop *p, int param, node_id *out) {
    enum { TANGENT = 1, INPUTS, GRADIENTS };
    struct graph *g = p->b->g;
    node_id tangent = p->node.args[TANGENT].node, end = p->result;
    if (param != INPUTS) return NO_GRADIENT;
    node_id *map = NEW_ARRAY(g->arena, node_id, end);
    for (node_id i = 0; i < end; i++) map[i] = i;
    map[tangent] = p->grad;
    for (node_id i = tangent + 1; i < end; i++)
        if (reads_copies(g, i, map)) map[i] = graph_copy(g, g, i, map);
    *out = map[p->node.args[GRADIENTS].nodes.at[p->element]];
    return GRADIENT;
}
