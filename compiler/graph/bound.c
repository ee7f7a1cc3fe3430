/* bound.c: how far off a computation in floating point may be, element by element, as a graph.
 *
 *   %y: f32[8] = sum(mul(%x, %w), dim=[1])        x, w: f32[8, 64], exact
 * ->
 *   %e = error_round(%mul, 0, u, ..)              u |x w|: the product is rounded
 *   %r = error_round(%mul, %e, 64 u, ..)          e + 64 u (|x w| + e): a chain of 64 additions
 *   %bound = sum(%r, dim=[1])
 *
 * This is running error analysis (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd
 * ed., section 3.3): beside every value goes a bound on its error, made of the operands' bounds and
 * of what the operator itself adds. With u the roundoff of the type that an operator computes in,
 *
 *   pointwise   the largest change of f when its operands change by their errors, however large
 *               they are, + k u |f|; f and k stand in bounds.def
 *   sum         sum of e_i + h u sum of (|x_i| + e_i)
 *   product     |A| e_B + e_A |B| + e_A e_B + h u (|A| + e_A)(|B| + e_B)
 *   extremum    max of e_i
 *   moves       e, moved likewise
 *
 * (Higham, 4.2 and 3.5), where h is how many additions a term passes through. A sum of n terms is
 * made of chains of at most CHAIN, whose results are added up as a tree: h is n, but at most
 * CHAIN + 4 log2(n) (Blanchard, Higham and Mary, A class of fast and accurate summation algorithms,
 * 2020). A matrix product's chains are longer; their roundings are taken as independent: at most
 * CHAIN + 4 sqrt(n) (Higham and Mary, A new approach to probabilistic rounding error analysis,
 * 2019). On a GPU, products of 16 bits are added up in steps of 16 without rounding to nearest:
 * n / 8 more; of tf32 in steps of 8.
 *
 * Where a product may be made of tf32, A and B are rounded to 11 bits, to R(A) and R(B). What that
 * does is known, as they are: |A B - R(A) R(B)|, and then the product is as above, of R(A) and R(B)
 * with what they may be off by, which is 0 but where a value lies between two of 11 bits, as close
 * as its own error. Roundings to one side would add up like the depth, and are not allowed for: a
 * term that is missing, or cut off, is seen in sums of thousands. f32's own product is right, too.
 *
 * Values that jump: a comparison that errors may decide either way has the error 1, unless an
 * element is compared with the largest of all and no other may be that: both are one number then,
 * however far off it is. `where` has the distance of its two values, floor and the like what they
 * are at both ends, and argmax the distance to the furthest element that may be the largest. What
 * is looked up at an index that is in doubt may be any element. An integer that may wrap around its
 * type's end may be at the other.
 *
 * A value of 16 bits is rounded once more where it may be stored: everywhere, if the whole program
 * is to hold (`stores`); of one kernel, what it stores and what its product takes.
 *
 * The reference is computed in doubles: where the computation is, too, both err, and k and h count
 * twice. Of two computations of the reference itself (`doubles`) everything is, whatever its type
 * says, nothing is stored, and all terms of a sum are one chain; what both round, numbers and the
 * user's casts, may fall to neighbours.
 *
 * Infinite bounds are where a value may overflow, a pole may be hit, or an index is in doubt. An
 * infinite or nan value is expected as such: what makes it is no rounding. */
#include <float.h>
#include <math.h>

#include "graph/derivatives.h"
#include "graph/eval.h"
#include "graph/traits.h"

enum { CHAIN = 128 };
/* A double's reference is 0 where it underflows, too: what was lost on the way is some units. */
enum { UNDERFLOWS = 64 };
#define EXACT UINT32_MAX /* in place of a node: the error is 0 */

static const struct row {
    const char *cpu, *cuda, *half, *error;
} rows[OP_COUNT] = {
#define BOUND(id, ...) [OP_##id] = {__VA_ARGS__},
#include "graph/bounds.def"
#undef BOUND
};

struct bounds {
    struct build b;
    const struct graph *from;
    struct rounding how;
    node_id *value, *error; /* by node of `from`; error: f64, or EXACT */
    bool *stored;           /* is its value rounded to its type? */
    bool half;              /* cheaper functions are exact enough for all outputs */
};

static struct graph *g_of(struct bounds *w) { return w->b.g; }
static const struct meta *meta_at(struct bounds *w, node_id n) {
    return &g_of(w)->nodes.at[n].meta;
}
static bool is_exact(const struct arg *e) { return e->kind != ARG_NODE && e->f == 0; }
static struct arg as_arg(node_id e) { return e == EXACT ? arg_float(0) : arg_node(e); }

static int64_t size_of(struct bounds *w, ex e) { return ex_value(g_of(w)->ex, e); }

static bool same_sizes(const struct meta *a, const struct meta *b) {
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->size[i] == b->size[i];
    return same;
}

static int64_t numel_of(struct bounds *w, const struct meta *m) {
    return size_of(w, meta_numel(g_of(w)->ex, m));
}

/* ---- roundings ------------------------------------------------------------------------------- */

static double sum_depth(const struct bounds *w, int64_t n) {
    double x = (double)n;
    return x <= CHAIN || w->how.doubles ? x : fmin(x, CHAIN + 4 * log2(x));
}

static double product_depth(const struct bounds *w, int64_t n, enum dtype t, bool tf32) {
    double x = (double)n, h = fmin(x, CHAIN + 4 * sqrt(x));
    bool tensor_cores = w->how.device == DEVICE_CUDA && dtype_opmath(t) != t;
    return w->how.doubles ? x : tf32 ? h + x / 4 : tensor_cores ? h + x / 8 : h;
}

/* What maths of the type is done in. */
static enum dtype maths_of(const struct bounds *w, enum dtype t) {
    return w->how.doubles && dtype_is_float(t) ? DT_F64 : dtype_opmath(t);
}

/* Both the computation and its reference, if that is no more precise. */
static double roundoff_of(const struct bounds *w, enum dtype t) {
    enum dtype math = maths_of(w, t);
    return dtype_roundoff(math) * (math == DT_F64 ? 2 : 1);
}

/* The same of what is rounded to the type whatever the maths is done in. */
static double rounding_of(enum dtype t) {
    enum dtype math = dtype_opmath(t);
    return dtype_roundoff(math) * (math == DT_F64 ? 2 : 1);
}

/* What storing a value of this type adds; f32 and f64 are what maths is done in. */
static double storing(enum dtype t) { return dtype_opmath(t) == t ? 0 : dtype_roundoff(t); }

static node_id wide(struct bounds *w, node_id x) { return cast(&w->b, x, DT_F64); }

/* The error of a value that was off by `error` before it was rounded by `unit` of it. */
static node_id rounded(struct bounds *w, node_id value, struct arg error, struct arg unit,
                       enum dtype t) {
    if (is_exact(&error) && is_exact(&unit)) return EXACT;
    /* Overflow is of the type that is stored; what is kept in opmath overflows later still. */
    struct arg most = arg_float(dtype_largest(t)), tiny = arg_float(dtype_smallest(t));
    if (dtype_is_float8(meta_at(w, value)->dtype)) value = wide(w, value); /* no maths there */
    node_id off = call(&w->b, OP_ERROR_ROUND, arg_node(value), error, unit, most, tiny);
    return t == DT_F64 ? scalar(&w->b, OP_ADD, off, UNDERFLOWS * tiny.f) : off;
}

static node_id magnitude(struct bounds *w, node_id x) {
    return wide(w, unary(&w->b, OP_ABS, wide(w, x)));
}

static node_id plus(struct bounds *w, node_id x, node_id e) {
    return e == EXACT ? x : x == EXACT ? e : binary(&w->b, OP_ADD, x, e);
}

/* A finite, stored result: error and h roundings of the largest that x may be. */
static node_id largest(struct bounds *w, node_id x, node_id e) {
    return plus(w, magnitude(w, x), e);
}

/* The integer at id, which may be larger by `up` or smaller by `down` before it is wrapped to its
 * type: where that takes it past an end, it may be at either one. */
static node_id wrapped(struct bounds *w, node_id id, node_id up, node_id down) {
    if (up == EXACT) return EXACT;
    struct build *b = &w->b;
    enum dtype t = w->from->nodes.at[id].meta.dtype;
    double least = (double)int_least(t), most = (double)int_most(t);
    node_id y = wide(w, w->value[id]), off = up == down ? up : binary(b, OP_MAXIMUM, up, down);
    node_id above = scalar(b, OP_GT, binary(b, OP_ADD, y, up), most);
    node_id below = scalar(b, OP_LT, binary(b, OP_SUB, y, down), least);
    node_id far = scalar(b, OP_ADD, unary(b, OP_ABS, scalar(b, OP_SUB, y, (most + least) / 2)),
                         (most - least) / 2);
    return call(b, OP_WHERE, arg_node(binary(b, OP_LOGICAL_OR, above, below)), arg_node(far),
                arg_node(off));
}

/* A reduction of x over n's dimensions. */
static node_id reduce_as(struct bounds *w, const struct node *n, enum op op, node_id x, bool keep) {
    int k;
    op_param(n->op, "dim", &k);
    struct arg dims = n->args[k];
    if (dims.kind == ARG_INT) dims = arg_ints(g_of(w), &dims.i, 1);
    if (dims.kind == ARG_NONE) dims = arg_ints(g_of(w), NULL, 0);
    return call(&w->b, op, arg_node(x), dims, arg_bool(keep));
}

/* ---- an element and the largest of all ------------------------------------------------------- */

/* In place of a graph of bools. */
enum { NOWHERE = UINT32_MAX, EVERYWHERE = UINT32_MAX - 1 };

static struct arg as_truth(node_id where) {
    return where == NOWHERE      ? arg_bool(false)
           : where == EVERYWHERE ? arg_bool(true)
                                 : arg_node(where);
}

/* Where r is the same number as x: r is x, which is computed once (schedule/once.c), or shows it by
 * a `where` that is decided. */
static node_id same_number(struct bounds *w, node_id x, node_id r) {
    const struct node *n = &w->from->nodes.at[r];
    enum dtype t = w->from->nodes.at[x].meta.dtype;
    if (n->meta.dtype != t) return NOWHERE;
    if (x == r) return EVERYWHERE;
    if (n->op != OP_WHERE) return NOWHERE;
    node_id shown[2] = {NOWHERE, NOWHERE};
    for (int i = 0; i < 2; i++)
        if (n->args[1 + i].kind == ARG_NODE) shown[i] = same_number(w, x, n->args[1 + i].node);
    if (shown[0] == NOWHERE && shown[1] == NOWHERE) return NOWHERE;
    node_id condition = n->args[0].node, off = w->error[condition];
    node_id found = call(&w->b, OP_WHERE, arg_node(w->value[condition]), as_truth(shown[0]),
                         as_truth(shown[1]));
    if (off == EXACT) return found;
    return binary(&w->b, OP_LOGICAL_AND, found, scalar(&w->b, OP_EQ, off, 0));
}

/* The extremum that m shows beside each element that it was taken of, or NULL. */
static const struct node *extremum_of(struct bounds *w, node_id m) {
    const struct node *n = &w->from->nodes.at[m];
    while (n->op == OP_EXPAND) n = &w->from->nodes.at[n->args[0].node];
    const struct meta shown = n->meta;
    while (op_only_reshapes(n->op)) n = &w->from->nodes.at[n->args[0].node];
    if (n->op != OP_AMAX && n->op != OP_AMIN) return NULL;
    const struct meta *of = &w->from->nodes.at[n->args[0].node].meta;
    uint32_t set = dims_of((struct graph *)w->from, n, "dim", of->rank);
    ex one = ex_const(g_of(w)->ex, 1);
    for (int i = 1; i <= of->rank || i <= shown.rank; i++) { /* from the last dimension on */
        bool kept = i <= of->rank && !(set >> (of->rank - i) & 1);
        ex should = kept ? of->size[of->rank - i] : one;
        if ((i <= shown.rank ? shown.size[shown.rank - i] : one) != should) return NULL;
    }
    return n;
}

/* Where one element alone may be the extremum, and is it. */
static node_id alone(struct bounds *w, const struct node *extremum) {
    struct build *b = &w->b;
    node_id r = extremum->args[0].node, e = w->error[r], x = wide(w, w->value[r]);
    node_id above = plus(w, x, e), below = e == EXACT ? x : binary(b, OP_SUB, x, e);
    bool most = extremum->op == OP_AMAX;
    node_id best = most ? reduce_as(w, extremum, OP_AMAX, below, true)
                        : reduce_as(w, extremum, OP_AMIN, above, true);
    node_id may = most ? binary(b, OP_GE, above, best) : binary(b, OP_LE, below, best);
    node_id count = reduce_as(w, extremum, OP_SUM, wide(w, may), true);
    return binary(b, OP_LOGICAL_AND, may, scalar(b, OP_EQ, count, 1));
}

/* The error of a comparison, which is 0 where an element is compared with itself. */
static node_id bound_comparison(struct bounds *w, const struct node *n, node_id off) {
    for (int i = 0; i < 2 && off != EXACT; i++) {
        if (n->args[i].kind != ARG_NODE || n->args[1 - i].kind != ARG_NODE) continue;
        node_id x = n->args[i].node;
        const struct node *extremum = extremum_of(w, n->args[1 - i].node);
        if (!extremum || !same_sizes(&w->from->nodes.at[x].meta, &n->meta) ||
            !same_sizes(&w->from->nodes.at[extremum->args[0].node].meta, &n->meta))
            continue;
        node_id same = same_number(w, x, extremum->args[0].node);
        if (same == NOWHERE) continue;
        node_id itself = alone(w, extremum);
        if (same != EVERYWHERE) itself = binary(&w->b, OP_LOGICAL_AND, itself, same);
        off = call(&w->b, OP_WHERE, arg_node(itself), arg_float(0), arg_node(off));
    }
    return off;
}

/* ---- pointwise ------------------------------------------------------------------------------- */

/* Operands' errors; that of a number is what t, the type in which it is taken, does not hold. */
static void operand_errors(struct bounds *w, const struct node *n, enum dtype t, struct arg *out) {
    const struct op_info *info = op_info(n->op);
    for (int i = 0; i < n->n_args; i++) {
        const struct arg *a = &n->args[i];
        out[i] = arg_float(0);
        if (a->kind == ARG_NODE) out[i] = as_arg(w->error[a->node]);
        if (a->kind != ARG_FLOAT || !strchr("|S", info->params[i].kind)) continue;
        double lost = dtype_is_float(t) ? fabs(a->f - value_round(t, a->f)) : 0;
        if (lost > 0 && isfinite(lost)) out[i] = arg_float(lost);
    }
}

static struct arg clause(struct bounds *w, struct backprop *p, const char *text) {
    const char *named =
        strstr(text, "error:") ? text : arena_printf(g_of(w)->arena, "error: %s", text);
    p->rule = rule_parse(g_of(w)->arena, named);
    for (int i = 0; i < MAX_CLAUSES; i++) p->is_bound[i] = false;
    return rule_value(p, p->rule->clauses[p->rule->n - 1].body);
}

static struct arg add(struct bounds *w, struct arg a, struct arg b) {
    if (is_exact(&a)) return b;
    if (is_exact(&b)) return a;
    if (a.kind != ARG_NODE && b.kind != ARG_NODE) return arg_float(a.f + b.f);
    return a.kind == ARG_NODE ? arg_node(call(&w->b, OP_ADD, a, b))
                              : arg_node(call(&w->b, OP_ADD, b, a));
}

static struct arg times(struct bounds *w, struct arg a, double b) {
    if (a.kind == ARG_INT) a = arg_float(arg_number(g_of(w), &a));
    return a.kind == ARG_NODE ? arg_node(scalar(&w->b, OP_MUL, a.node, b)) : arg_float(a.f * b);
}

static struct arg as_float(struct bounds *w, struct arg a) {
    return a.kind == ARG_NODE ? a : arg_float(arg_number(g_of(w), &a));
}

/* Operators on bits are logical ones of bools. */
static const struct row *row_of(const struct node *n) {
    enum op op = n->op;
    if (n->meta.dtype == DT_BOOL && op == OP_BITWISE_AND) op = OP_LOGICAL_AND;
    if (n->meta.dtype == DT_BOOL && op == OP_BITWISE_OR) op = OP_LOGICAL_OR;
    if (n->meta.dtype == DT_BOOL && op == OP_BITWISE_XOR) op = OP_LOGICAL_XOR;
    return &rows[op];
}

/* A rule's result in the shape of the operator's: what errors are made of may be smaller. */
static node_id as_error(struct bounds *w, struct arg e, const struct meta *m) {
    if (is_exact(&e)) return EXACT;
    struct meta f64 = *m;
    f64.dtype = DT_F64;
    if (e.kind != ARG_NODE) return full(&w->b, &f64, e.f);
    bool same = same_sizes(meta_at(w, e.node), m);
    struct arg size = arg_ints(g_of(w), m->size, m->rank);
    return wide(w, same ? e.node : call(&w->b, OP_EXPAND, e, size));
}

/* The operands as rules see them: numbers, as bools have no difference. */
static struct node as_numbers(struct bounds *w, struct node n) {
    struct arg *args = NEW_ARRAY(g_of(w)->arena, struct arg, n.n_args);
    for (int i = 0; i < n.n_args; i++) {
        args[i] = n.args[i];
        bool truth = args[i].kind == ARG_NODE && meta_at(w, args[i].node)->dtype == DT_BOOL;
        if (n.op == OP_WHERE && i && truth) args[i].node = wide(w, args[i].node);
    }
    n.args = args;
    return n;
}

static node_id bound_pointwise(struct bounds *w, node_id id) {
    const struct node *n = &w->from->nodes.at[id];
    const struct row *row = row_of(n);
    enum dtype t = n->meta.dtype, math = dtype_opmath(t);
    if (!row->error) WS_BUG("%s has no bound", op_info(n->op)->name);
    if (op_info(n->op)->dtype == RULE_BOOL) math = graph_compute_dtype((struct graph *)w->from, n);
    struct arg errors[MAX_PARAMS], unit = arg_float(0);
    /* What yields an operand as it is stores a number as such; others take it in their maths. */
    bool shows = dtype_is_float(t) && w->stored[id] && !strcmp(row->cpu, "0");
    operand_errors(w, n, shows ? t : math, errors);
    math = maths_of(w, math);
    struct backprop p = {.b = &w->b,
                         .node = as_numbers(w, g_of(w)->nodes.at[w->value[id]]),
                         .result = w->value[id],
                         .errors = errors};
    if (dtype_is_float(math)) p.roundoff = roundoff_of(w, math);
    struct arg error = as_float(w, clause(w, &p, row->error));
    if (!dtype_is_float(t)) {
        node_id off = as_error(w, error, &n->meta);
        if (op_compares(n->op)) return bound_comparison(w, n, off);
        bool wraps = dtype_is_int(t) && (op_wraps(n->op) || n->op == OP_ABS);
        return wraps ? wrapped(w, id, off, off) : off;
    }
    unit = as_float(w, clause(w, &p, w->how.device == DEVICE_CUDA ? row->cuda : row->cpu));
    bool rounds = !is_exact(&unit);
    if (w->half) error = add(w, error, as_float(w, clause(w, &p, row->half)));
    unit = times(w, unit, p.roundoff);
    if (rounds && w->stored[id]) unit = add(w, unit, arg_float(storing(t)));
    if (!rounds) return as_error(w, error, &n->meta);
    return rounded(w, w->value[id], error, unit, w->stored[id] ? t : math);
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* What is cut off, at both ends of what it may be. */
static node_id whole_ends(struct bounds *w, node_id id, node_id x, node_id e) {
    struct build *b = &w->b;
    node_id y = unary(b, OP_TRUNC, wide(w, x)), v = wide(w, x);
    node_id above = unary(b, OP_TRUNC, binary(b, OP_ADD, v, e));
    node_id below = unary(b, OP_TRUNC, binary(b, OP_SUB, v, e));
    return wrapped(w, id, binary(b, OP_SUB, above, y), binary(b, OP_SUB, y, below));
}

/* Integers beyond the digits of the float are rounded. */
static node_id float_of_integer(struct bounds *w, node_id x, node_id e, enum dtype t) {
    double u = rounding_of(t);
    node_id big = scalar(&w->b, OP_GT, magnitude(w, x), 1 / dtype_roundoff(t));
    node_id unit = call(&w->b, OP_WHERE, arg_node(big), arg_float(u), arg_float(0));
    return rounded(w, x, as_arg(e), arg_node(wide(w, unit)), t);
}

/* A user's cast rounds the reference, too: the same where the operand is exact, and else perhaps to
 * neighbours. */
static node_id bound_conversion(struct bounds *w, node_id id) {
    const struct node *n = &w->from->nodes.at[id];
    node_id x = w->value[n->args[0].node], e = w->error[n->args[0].node];
    enum dtype from = meta_at(w, x)->dtype, to = n->meta.dtype;
    if (from == to) return e;
    if (to == DT_BOOL)
        return e == EXACT ? EXACT
                          : call(&w->b, OP_ERROR_FLIP, arg_node(x), arg_node(e), arg_float(0),
                                 arg_float(0));
    if (dtype_is_float(from) && !dtype_is_float(to))
        return e == EXACT ? e : whole_ends(w, id, x, e);
    if (!dtype_is_float(to)) return dtype_holds(to, from) ? e : wrapped(w, id, e, e);
    if (!dtype_is_float(from))
        return from == DT_I32 || from == DT_I64 ? float_of_integer(w, x, e, to) : e;
    if (n->op == OP_CAST ? e == EXACT : w->how.doubles) return e;
    if (dtype_holds(to, from) && !w->how.doubles) return e;
    double unit = n->op == OP_CAST                          ? 2 * dtype_roundoff(to)
                  : w->stored[id] || dtype_opmath(to) == to ? dtype_roundoff(to)
                                                            : 0;
    return rounded(w, w->value[id], as_arg(e), arg_float(unit), to);
}

/* ---- the same operator on errors ------------------------------------------------------------- */

/* n once more, with other operands in place of its first ones. */
static node_id again(struct bounds *w, const struct node *n, enum op op, node_id x, node_id y) {
    struct arg args[MAX_PARAMS];
    for (int i = 0; i < n->n_args; i++) args[i] = n->args[i];
    args[0] = arg_node(x);
    if (y != EXACT) args[1] = arg_node(y);
    for (int i = 0; i < n->n_args; i++) /* a sum of f64 is one */
        if (op_info(op)->params[i].kind == 'Y') args[i] = arg_none();
    return build_call(&w->b, op, args, n->n_args);
}

/* The node as it stands in the new graph. */
static struct node copy_of(struct bounds *w, node_id id) { return g_of(w)->nodes.at[w->value[id]]; }

static int64_t reduced(struct bounds *w, const struct node *n) {
    const struct meta *x = meta_at(w, n->args[0].node);
    uint32_t set = dims_of(g_of(w), n, "dim", x->rank);
    int64_t count = 1;
    for (int i = 0; i < x->rank; i++)
        if (set >> i & 1) count *= size_of(w, x->size[i]);
    return count;
}

/* The result's own rounding, once it is stored; integers wrap. */
static node_id stored_result(struct bounds *w, node_id id, node_id e) {
    enum dtype t = w->from->nodes.at[id].meta.dtype;
    if (e == EXACT) return e;
    if (!dtype_is_float(t)) return dtype_is_int(t) ? wrapped(w, id, e, e) : e;
    double unit = w->stored[id] ? storing(t) : 0;
    return rounded(w, w->value[id], arg_node(e), arg_float(unit),
                   w->stored[id] ? t : maths_of(w, t));
}

/* ---- reductions and scans -------------------------------------------------------------------- */

static node_id or_infinite(struct bounds *w, node_id where, node_id e) {
    return call(&w->b, OP_WHERE, arg_node(where), arg_float(INFINITY), arg_node(e));
}

/* sum(e + h u (|x| + e)); running sums likewise. Where this is more than h u times what the type
 * holds, some part of the sum may have overflown. */
static node_id bound_sum(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id);
    node_id x = n.args[0].node, e = w->error[w->from->nodes.at[id].args[0].node];
    enum dtype math = maths_of(w, n.meta.dtype);
    if (!dtype_is_float(math))
        return e == EXACT ? e : stored_result(w, id, again(w, &n, n.op, e, EXACT));
    double h = sum_depth(w, reduced(w, &n)) + (n.op == OP_CUMSUM ? CHAIN : 0);
    double unit = h * roundoff_of(w, math);
    e = again(w, &n, n.op, rounded(w, x, as_arg(e), arg_float(unit), math), EXACT);
    e = or_infinite(w, scalar(&w->b, OP_GT, e, unit * dtype_largest(math)), e);
    return stored_result(w, id, e);
}

/* prod(|x| + e) (1 + n u) - prod(|x|); anything where the factors above 1 by themselves overflow,
 * and all of it where those below 1 vanish. */
static node_id bound_product(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id);
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
    double u = (double)reduced(w, &n) * roundoff_of(w, math);
    off = binary(b, OP_ADD, off, scalar(b, OP_MUL, most, u));
    node_id above = again(w, &n, n.op, scalar(b, OP_MAXIMUM, large, 1), EXACT);
    node_id below = again(w, &n, n.op, scalar(b, OP_MINIMUM, size, 1), EXACT);
    node_id gone = scalar(b, OP_LT, below, dtype_smallest(math));
    off = call(b, OP_WHERE, arg_node(gone), arg_node(most), arg_node(off));
    off = or_infinite(w, scalar(b, OP_GT, above, dtype_largest(math)), off);
    return stored_result(w, id, off);
}

static node_id bound_extremum(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id);
    node_id e = w->error[w->from->nodes.at[id].args[0].node];
    enum op op = n.op == OP_AMIN ? OP_AMAX : n.op == OP_CUMMIN ? OP_CUMMAX : n.op;
    return e == EXACT ? e : again(w, &n, op, e, EXACT);
}

static bool keeps_dims(const struct node *n) {
    int k;
    return op_param(n->op, "keepdim", &k) && n->args[k].b;
}

/* Squared deviations from the mean: the norm of a projection of x, which errors change by their own
 * norm at most; sums in one pass cancel (Chan, Golub and LeVeque 1983). */
static node_id bound_m2(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id);
    struct build *b = &w->b;
    node_id x = wide(w, n.args[0].node), e = w->error[w->from->nodes.at[id].args[0].node];
    bool keep = keeps_dims(&n);
    double h = (sum_depth(w, reduced(w, &n)) + 4) * roundoff_of(w, n.meta.dtype);
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
static node_id bound_expsum(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id);
    struct build *b = &w->b;
    node_id x = wide(w, n.args[0].node), e = w->error[w->from->nodes.at[id].args[0].node];
    double u = roundoff_of(w, n.meta.dtype);
    node_id max = reduce_as(w, &n, OP_AMAX, x, true), d = binary(b, OP_SUB, x, max);
    node_id off = scalar(b, OP_MUL, unary(b, OP_ABS, d), 3 * u);
    if (e != EXACT) off = plus(w, off, plus(w, e, reduce_as(w, &n, OP_AMAX, e, true)));
    node_id t = unary(b, OP_EXP, d);
    t = call(b, OP_ERROR_ROUND, arg_node(t),
             arg_node(binary(b, OP_MUL, t, unary(b, OP_EXPM1, off))),
             arg_float((sum_depth(w, reduced(w, &n)) + 8) * u), arg_float(DBL_MAX), arg_float(0));
    return stored_result(w, id, reduce_as(w, &n, OP_SUM, t, keeps_dims(&n)));
}

/* How far the furthest element is that may be the extremum. */
static node_id bound_argument(struct bounds *w, node_id id) {
    struct node n = copy_of(w, id);
    struct build *b = &w->b;
    node_id x = n.args[0].node, e = w->error[w->from->nodes.at[id].args[0].node];
    bool largest_one = n.op == OP_ARGMAX;
    bool all = n.args[1].kind == ARG_NONE || !meta_at(w, x)->rank;
    if (e == EXACT) return EXACT;
    struct meta line = {.rank = 1, .size = {meta_numel(g_of(w)->ex, meta_at(w, x))}};
    if (all) x = reshape(b, x, &line), e = reshape(b, e, &line);
    int dim = all ? 0 : (int)size_of(w, n.args[1].i), rank = meta_at(w, x)->rank;
    struct meta places = {.rank = (uint8_t)rank}, kept = *meta_at(w, x);
    for (int i = 0; i < rank; i++) places.size[i] = ex_const(g_of(w)->ex, 1);
    places.size[dim] = kept.size[dim];
    kept.size[dim] = ex_const(g_of(w)->ex, 1);
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

/* ---- views and moves ------------------------------------------------------------------------- */

static node_id zeros_like(struct bounds *w, node_id x) {
    struct meta m = *meta_at(w, x);
    m.dtype = DT_F64;
    return full(&w->b, &m, 0);
}

static node_id bound_cat(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id);
    const struct arg *list = &w->from->nodes.at[id].args[0];
    node_id *at = NEW_ARRAY(g_of(w)->arena, node_id, list->nodes.n);
    bool exact = true;
    for (uint32_t i = 0; i < list->nodes.n; i++) exact &= w->error[list->nodes.at[i]] == EXACT;
    if (exact) return EXACT;
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        node_id x = list->nodes.at[i], e = w->error[x];
        at[i] = e == EXACT ? zeros_like(w, w->value[x]) : e;
    }
    return call(&w->b, OP_CAT, nodes_arg(at, list->nodes.n), n.args[1]);
}

/* Any element of x, off by what any is. */
static node_id any_element(struct bounds *w, node_id x, node_id e) {
    struct build *b = &w->b;
    struct arg all = arg_ints(g_of(w), NULL, 0);
    node_id span = wide(w, x);
    span = binary(b, OP_SUB, reduce(b, OP_AMAX, span, all, false),
                  reduce(b, OP_AMIN, span, all, false));
    return e == EXACT ? span : binary(b, OP_ADD, span, reduce(b, OP_AMAX, e, all, false));
}

/* Where the looked up index is in doubt. */
static node_id doubtful(struct bounds *w, node_id e, node_id off, node_id any,
                        const struct meta *m) {
    struct arg in_doubt = arg_node(scalar(&w->b, OP_GT, off, 0));
    return as_error(w, arg_node(call(&w->b, OP_WHERE, in_doubt, arg_node(any), as_arg(e))), m);
}

static node_id bound_gather(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id), *old = &w->from->nodes.at[id];
    node_id x = n.args[0].node, e = w->error[old->args[0].node], off = w->error[old->args[2].node];
    node_id moved = e == EXACT ? EXACT : again(w, &n, OP_GATHER, e, EXACT);
    return off == EXACT ? moved : doubtful(w, moved, off, any_element(w, x, e), &n.meta);
}

/* Where the indices broadcast to in the result, with 1 for its other dimensions. */
static node_id among_result(struct bounds *w, const struct node *n, node_id x, int rank) {
    struct exprs *p = g_of(w)->ex;
    const struct meta *m = meta_at(w, x);
    int at = graph_index_position(p, &n->args[2], meta_at(w, n->args[0].node)->rank);
    struct meta to = {.rank = n->meta.rank};
    for (int i = 0; i < to.rank; i++) {
        int k = i - at - (rank - m->rank);
        to.size[i] = k >= 0 && k < m->rank ? m->size[k] : ex_const(p, 1);
    }
    return reshape(&w->b, x, &to);
}

static node_id bound_index(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id), *old = &w->from->nodes.at[id];
    node_id x = n.args[0].node, e = w->error[old->args[0].node];
    node_id out = e == EXACT ? EXACT : again(w, &n, OP_INDEX, e, EXACT);
    const struct arg *list = &old->args[1];
    int rank = 0;
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        int r = meta_at(w, w->value[list->nodes.at[i]])->rank;
        if (r > rank) rank = r;
    }
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        node_id off = w->error[list->nodes.at[i]];
        if (off == EXACT) continue;
        out = doubtful(w, out, among_result(w, &n, off, rank), any_element(w, x, e), &n.meta);
    }
    return out;
}

/* e, shown or moved as the values are; what is around them is exact. */
static node_id bound_shown(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id);
    int k;
    node_id e = w->error[w->from->nodes.at[id].args[0].node];
    if (e == EXACT) return e;
    struct arg args[MAX_PARAMS];
    for (int i = 0; i < n.n_args; i++) args[i] = n.args[i];
    if (op_param(n.op, "value", &k)) args[k] = arg_float(0);
    args[0] = arg_node(e);
    return build_call(&w->b, n.op, args, n.n_args);
}

static node_id bound_move(struct bounds *w, node_id id) {
    switch (op_move(w->from->nodes.at[id].op)) {
    case MOVE_CAT: return bound_cat(w, id);
    case MOVE_GATHER: return bound_gather(w, id);
    case MOVE_INDEX: return bound_index(w, id);
    case MOVE_CONSTANT_PAD:
    case MOVE_FLIP:
    case MOVE_WINDOWS: break;
    }
    return bound_shown(w, id);
}

/* ---- matrix products ------------------------------------------------------------------------- */

static int64_t product_terms(struct bounds *w, const struct node *n) {
    const struct meta *y = meta_at(w, n->args[1].node);
    int64_t count = 1;
    if (!op_convolves(n->op)) return size_of(w, y->size[y->rank - 2]);
    for (int i = 2; i < y->rank; i++) count *= size_of(w, y->size[i]); /* [G, F, C, K...] */
    return count;
}

/* May it be made of tf32? */
static bool is_tf32(struct bounds *w, const struct node *n) {
    enum precision p = op_convolves(n->op) ? w->from->convolutions : w->from->products;
    return p == PRECISION_TF32 && n->meta.dtype == DT_F32 && !w->how.doubles &&
           w->how.device == DEVICE_CUDA;
}

/* x, of doubles, to the nearest number of 11 bits (Dekker's split, whose products are exact). */
static node_id to_tf32(struct bounds *w, node_id x) {
    struct build *b = &w->b;
    node_id c = binary(b, OP_ADD, scalar(b, OP_MUL, x, 0x1p42), x);
    node_id near = binary(b, OP_SUB, c, binary(b, OP_SUB, c, x));
    node_id finite = scalar(b, OP_LT, unary(b, OP_ABS, x), INFINITY);
    return call(b, OP_WHERE, arg_node(finite), arg_node(near), arg_node(x));
}

/* How far from to_tf32(x) the factor may be that is used: rounded, of a value that is off by e,
 * to either side where it is in the middle; or as it is. */
static node_id tf32_error(struct bounds *w, node_id x, node_id e) {
    const double SAME = 0x1p-26, MOST = 0x1.ffdp127, TINY = 0x1p-136;
    struct build *b = &w->b;
    node_id off = plus(w, scalar(b, OP_MUL, unary(b, OP_ABS, x), SAME), e);
    node_id above = to_tf32(w, binary(b, OP_ADD, x, off));
    node_id below = to_tf32(w, binary(b, OP_SUB, x, off));
    node_id far = binary(b, OP_SUB, above, below);
    if (e != EXACT) far = binary(b, OP_MAXIMUM, far, e);
    node_id top = binary(b, OP_ADD, unary(b, OP_ABS, x), off);
    node_id finite = scalar(b, OP_LT, unary(b, OP_ABS, x), INFINITY);
    node_id overflows = binary(b, OP_LOGICAL_AND, scalar(b, OP_GT, top, MOST), finite);
    return call(b, OP_WHERE, arg_node(overflows), arg_float(INFINITY),
                arg_node(scalar(b, OP_ADD, far, TINY)));
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
    const struct node n = copy_of(w, id);
    node_id x = wide(w, n.args[0].node), y = wide(w, n.args[1].node);
    node_id a = to_tf32(w, x), c = to_tf32(w, y);
    e = tf32_error(w, x, e), f = tf32_error(w, y, f);
    node_id own = product_error(w, &n, a, c, e, f, h, DT_F32);
    node_id moved = binary(b, OP_SUB, wide(w, w->value[id]), wide(w, again(w, &n, n.op, a, c)));
    return binary(b, OP_ADD, scalar(b, OP_MUL, own, NOT_ROUNDED), unary(b, OP_ABS, moved));
}

static node_id bound_matmul(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id), *old = &w->from->nodes.at[id];
    node_id x = n.args[0].node, y = n.args[1].node;
    node_id e = w->error[old->args[0].node], f = w->error[old->args[1].node];
    bool floats = dtype_is_float(n.meta.dtype), tf32 = is_tf32(w, &n);
    if (!floats && e == EXACT && f == EXACT) return EXACT;
    enum dtype math = maths_of(w, n.meta.dtype);
    double terms = floats ? product_depth(w, product_terms(w, &n), meta_at(w, x)->dtype, tf32) : 0;
    double h = floats ? terms * roundoff_of(w, math) : 0;
    node_id sum = tf32 ? tf32_product_error(w, id, e, f, h)
                       : product_error(w, &n, x, y, e, f, h, floats ? math : DT_F64);
    if (floats) sum = or_infinite(w, scalar(&w->b, OP_GT, sum, h * dtype_largest(math)), sum);
    return stored_result(w, id, sum);
}

/* ---- landings -------------------------------------------------------------------------------- */

/* e where something lands, of what lands; sums by how many do. What lands times a number has that
 * number's size, whatever its sign. Anything, if an index is in doubt. */
static node_id bound_landing(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id), *old = &w->from->nodes.at[id];
    struct build *b = &w->b;
    node_id x = n.args[0].node, e = w->error[old->args[0].node];
    bool number = n.args[3].kind != ARG_NODE, adds = n.op != OP_SCATTER;
    node_id f = number ? EXACT : w->error[old->args[3].node], off = w->error[old->args[2].node];
    struct arg args[MAX_PARAMS];
    node_id sum = EXACT;
    double alpha = n.op == OP_INDEX_ADD ? fabs(arg_number(g_of(w), &n.args[4])) : 1;
    for (int i = 0; i < n.n_args; i++) args[i] = n.args[i];
    if (n.op == OP_INDEX_ADD) args[4] = arg_float(alpha);
    if (adds && dtype_is_float(n.meta.dtype)) { /* how many land, and how much */
        node_id source = n.args[3].node;
        args[0] = arg_node(zeros_like(w, x));
        args[3] = arg_node(scalar(b, OP_ADD, zeros_like(w, source), 1));
        int more = alpha == 1 ? 1 : 3; /* alpha is rounded, and so is the product */
        node_id count = scalar(b, OP_ADD, call(b, n.op, args[0], args[1], args[2], args[3]), more);
        double h = sum_depth(w, numel_of(w, meta_at(w, source))) + more - 1;
        count = call(b, OP_MINIMUM, arg_node(count), arg_float(h));
        args[0] = arg_node(largest(w, x, e));
        args[3] = arg_node(largest(w, source, f));
        sum = scalar(b, OP_MUL, build_call(b, n.op, args, n.n_args), roundoff_of(w, n.meta.dtype));
        sum = binary(b, OP_MUL, sum, count);
    }
    if (e != EXACT || f != EXACT) {
        args[0] = arg_node(e == EXACT ? zeros_like(w, x) : e);
        if (f != EXACT)
            args[3] = arg_node(f);
        else
            args[3] = number ? arg_float(0) : arg_node(zeros_like(w, n.args[3].node));
        sum = plus(w, sum, build_call(b, n.op, args, n.n_args));
    }
    if (off != EXACT) {
        node_id doubt = reduce(b, OP_AMAX, off, arg_ints(g_of(w), NULL, 0), false);
        if (sum == EXACT) sum = zeros_like(w, w->value[id]);
        sum = or_infinite(w, scalar(b, OP_GT, doubt, 0), sum);
    }
    return stored_result(w, id, sum);
}

/* ---- creation -------------------------------------------------------------------------------- */

static bool is_whole(struct bounds *w, const struct arg *a) {
    double v = arg_number(g_of(w), a);
    return v == trunc(v) && fabs(v) < 0x1p24;
}

/* Numbers are those of the type; uniform ones have 24 bits; normal ones are made of a logarithm, a
 * root (of at most 6.7) and a cosine, of an angle that is rounded. */
static node_id bound_created(struct bounds *w, node_id id) {
    const struct node n = copy_of(w, id);
    enum dtype t = n.meta.dtype;
    if (!dtype_is_float(t)) return EXACT;
    double u = rounding_of(t), far = 0;
    if (n.op == OP_ARANGE && !(is_whole(w, &n.args[0]) && is_whole(w, &n.args[2])))
        far = 2 * fabs(arg_number(g_of(w), &n.args[0]));
    else if (n.op == OP_RANDN)
        far = 40;
    else
        return EXACT;
    double unit = 8 * u + (w->stored[id] ? storing(t) : 0);
    return rounded(w, w->value[id], arg_float(far * u), arg_float(unit), t);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static node_id bound_fold(struct bounds *w, node_id id) {
    enum op op = w->from->nodes.at[id].op;
    switch (op_fold(op)) {
    case FOLD_SUM: return bound_sum(w, id);
    case FOLD_PROD: return bound_product(w, id);
    case FOLD_AMAX:
    case FOLD_AMIN: return bound_extremum(w, id);
    case FOLD_M2: return bound_m2(w, id);
    case FOLD_EXPSUM: return bound_expsum(w, id);
    case FOLD_ARGMAX:
    case FOLD_ARGMIN: return bound_argument(w, id);
    case FOLD_NONE:
    case FOLD_COUNT: break;
    }
    WS_BUG("%s has no bound", op_info(op)->name);
}

static bool is_conversion(enum op op) { return op == OP_CAST || op == OP_CONVERT; }

static node_id bound_node(struct bounds *w, node_id id) {
    const struct node *n = &w->from->nodes.at[id];
    const struct op_info *info = op_info(n->op);
    if (numel_of(w, &n->meta) == 0) return EXACT;
    switch (info->class) {
    case INPUT: return EXACT;
    case CREATE: return bound_created(w, id);
    case POINTWISE: return is_conversion(n->op) ? bound_conversion(w, id) : bound_pointwise(w, id);
    case VIEW: return bound_shown(w, id);
    case MOVE: return bound_move(w, id);
    case MATMUL: return bound_matmul(w, id);
    case SCAN:
    case REDUCE: return bound_fold(w, id);
    case COMPOSITE: break;
    }
    if (op_lands(n->op)) return bound_landing(w, id);
    WS_BUG("%s has no bound", info->name);
}

/* What is rounded to its own type: everything, or outputs and what products take, which views and
 * moves show. */
static void find_stored(struct bounds *w) {
    const struct graph *g = w->from;
    if (w->how.doubles) return;
    for (uint32_t i = 0; i < g->outputs.n; i++) w->stored[g->outputs.at[i]] = true;
    for (node_id id = g->nodes.n; id-- > 0;) {
        const struct node *n = &g->nodes.at[id];
        enum op_class class = op_info(n->op)->class;
        bool shows = (class == VIEW || class == MOVE) && w->stored[id];
        w->stored[id] |= w->how.stores;
        for (int k = 0; k < n->n_args && (shows || class == MATMUL); k++) {
            const node_id *at;
            int count = arg_nodes(&n->args[k], &at);
            while (count--) w->stored[at[count]] = true;
        }
    }
}

/* Has every output of a GPU's kernel 16 bits? Some kernel's may, if any value has. */
static bool is_half(const struct bounds *w) {
    const struct graph *g = w->from;
    bool any = false, all = true;
    for (node_id id = 0; id < g->nodes.n; id++) {
        enum dtype t = g->nodes.at[id].meta.dtype;
        any |= dtype_is_float(t) && dtype_opmath(t) != t;
    }
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        enum dtype t = g->nodes.at[g->outputs.at[i]].meta.dtype;
        all &= dtype_is_float(t) && dtype_opmath(t) != t;
    }
    return w->how.device == DEVICE_CUDA && !w->how.doubles && (w->how.stores ? any : all);
}

struct graph *graph_bound(const struct graph *g, struct rounding how) {
    struct graph *out = graph_like(g);
    struct bounds w = {.b = {.g = out}, .from = g, .how = how};
    w.value = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    w.error = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    w.stored = NEW_ARRAY(g->arena, bool, g->nodes.n);
    find_stored(&w);
    w.half = is_half(&w);
    for (node_id id = 0; id < g->nodes.n; id++) { /* inputs come first */
        w.value[id] = graph_copy(out, g, id, w.value);
        w.error[id] = EXACT;
        if (op_info(g->nodes.at[id].op)->class == INPUT) continue;
        w.b.where = g->nodes.at[id].where;
        w.error[id] = bound_node(&w, id);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        node_id x = g->outputs.at[i], e = w.error[x];
        vec_push(g->arena, &out->outputs, e == EXACT ? zeros_like(&w, w.value[x]) : e);
    }
    return graph_simplify(out);
}
