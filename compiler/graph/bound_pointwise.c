/* bound_pointwise.c: how far off pointwise operators may be, by their rows in bounds.def, and
 * conversions.
 *
 *   %y = mul(%x, %w)
 * ->
 *   %e = error_round(%y, |x| e_w + e_x |w| + e_x e_w, u, ..) */
#include <math.h>

#include "graph/bound.h"
#include "graph/derivatives.h"
#include "graph/eval.h"
#include "graph/traits.h"

static const struct row {
    const char *cpu, *cuda, *half, *error;
} rows[OP_COUNT] = {
#define BOUND(id, ...) [OP_##id] = {__VA_ARGS__},
#include "graph/bounds.def"
#undef BOUND
};

static const struct node *node_of(const struct bounds *w, node_id id) {
    return &w->from->nodes.at[id];
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
    ex one = ex_const(bounds_graph(w)->ex, 1);
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

/* ---- how many are the largest ---------------------------------------------------------------- */

static const struct node *below_views(const struct bounds *w, node_id id) {
    const struct node *n = node_of(w, id);
    while (op_only_reshapes(n->op)) n = node_of(w, n->args[0].node);
    return n;
}

/* Size d of `all`, as one of its rank or fewer dimensions shows it, which is broadcast. */
static ex size_shown(struct bounds *w, const struct meta *m, const struct meta *all, int d) {
    int at = d - (all->rank - m->rank);
    return at < 0 ? ex_const(bounds_graph(w)->ex, 1) : m->size[at];
}

/* place == argmax, over `set` of n's dimensions: true at one place, whichever it is. */
static bool is_one_place(struct bounds *w, const struct node *n, uint32_t set, node_id place,
                         node_id best) {
    const struct node *range = below_views(w, place), *found = below_views(w, best);
    struct exprs *p = bounds_graph(w)->ex;
    ex one = ex_const(p, 1), places = one;
    if (range->op != OP_ARANGE || (found->op != OP_ARGMAX && found->op != OP_ARGMIN)) return false;
    for (int d = 0; d < n->meta.rank; d++) {
        bool within = set >> d & 1;
        if (size_shown(w, &node_of(w, place)->meta, &n->meta, d) !=
            (within ? n->meta.size[d] : one))
            return false;
        if (!within) continue;
        if (size_shown(w, &node_of(w, best)->meta, &n->meta, d) != one) return false;
        places = ex_mul(p, places, n->meta.size[d]);
    }
    const struct node *of = node_of(w, found->args[0].node);
    bool all = found->args[1].kind == ARG_NONE || !of->meta.rank;
    ex line = all ? meta_numel(p, &of->meta) : EX_NONE;
    if (!all) line = of->meta.size[bounds_size(w, found->args[1].i)];
    return line == places && range->args[0].kind == ARG_INT && range->args[2].kind == ARG_INT &&
           bounds_size(w, range->args[0].i) == 0 && bounds_size(w, range->args[2].i) == 1;
}

static bool has_one_place(struct bounds *w, node_id id, uint32_t set) {
    const struct node *n = node_of(w, id);
    if (n->op == OP_LOGICAL_OR)
        return has_one_place(w, n->args[0].node, set) || has_one_place(w, n->args[1].node, set);
    for (int i = 0; i < 2 && n->op == OP_EQ; i++)
        if (n->args[i].kind == ARG_NODE && n->args[1 - i].kind == ARG_NODE &&
            is_one_place(w, n, set, n->args[i].node, n->args[1 - i].node))
            return true;
    return false;
}

/* How many elements are the largest, among which the first of them is: 1 at least, however many of
 * the others may be in doubt. */
static bool counts_largest(struct bounds *w, const struct arg *a) {
    if (a->kind != ARG_NODE) return false;
    const struct node *sum = node_of(w, a->node);
    const struct node *hit = sum->op == OP_SUM ? node_of(w, sum->args[0].node) : NULL;
    if (!hit || hit->op != OP_WHERE || hit->args[0].kind != ARG_NODE) return false;
    const struct arg *yes = &hit->args[1], *no = &hit->args[2];
    const struct meta *m = &hit->meta;
    return yes->kind != ARG_NODE && no->kind != ARG_NODE && arg_number(bounds_graph(w), yes) == 1 &&
           arg_number(bounds_graph(w), no) == 0 &&
           same_sizes(&node_of(w, hit->args[0].node)->meta, m) &&
           has_one_place(w, hit->args[0].node,
                         dims_of((struct graph *)w->from, sum, "dim", m->rank));
}

/* A share of what the largest elements have together. */
static const char error_of_share[] =
    "least = maximum(1, other - e_other); most = other + e_other;"
    "error: e_self / least + abs(self) * maximum(1 / least - 1 / other, 1 / other - 1 / most)";

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
        strstr(text, "error:") ? text : arena_printf(bounds_graph(w)->arena, "error: %s", text);
    p->rule = rule_parse(bounds_graph(w)->arena, named);
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
    if (a.kind == ARG_INT) a = arg_float(arg_number(bounds_graph(w), &a));
    return a.kind == ARG_NODE ? arg_node(scalar(&w->b, OP_MUL, a.node, b)) : arg_float(a.f * b);
}

static struct arg as_float(struct bounds *w, struct arg a) {
    return a.kind == ARG_NODE ? a : arg_float(arg_number(bounds_graph(w), &a));
}

/* Operators on bits are logical ones of bools. */
static const struct row *row_of(const struct node *n) {
    enum op op = n->op;
    if (n->meta.dtype == DT_BOOL && op == OP_BITWISE_AND) op = OP_LOGICAL_AND;
    if (n->meta.dtype == DT_BOOL && op == OP_BITWISE_OR) op = OP_LOGICAL_OR;
    if (n->meta.dtype == DT_BOOL && op == OP_BITWISE_XOR) op = OP_LOGICAL_XOR;
    return &rows[op];
}

/* The operands as rules see them: numbers, as bools have no difference. */
static struct node as_numbers(struct bounds *w, struct node n) {
    struct arg *args = NEW_ARRAY(bounds_graph(w)->arena, struct arg, n.n_args);
    for (int i = 0; i < n.n_args; i++) {
        args[i] = n.args[i];
        bool truth = args[i].kind == ARG_NODE && bounds_meta(w, args[i].node)->dtype == DT_BOOL;
        if (n.op == OP_WHERE && i && truth) args[i].node = wide(w, args[i].node);
    }
    n.args = args;
    return n;
}

/* Of a result that is off by `error`: what the operator itself adds, too. *share is of the result;
 * false: it is exact. */
static bool own_roundings(struct bounds *w, node_id id, struct backprop *p, struct arg *error,
                          struct arg *share) {
    const struct row *row = row_of(node_of(w, id));
    *share = as_float(w, clause(w, p, w->how.device == DEVICE_CUDA ? row->cuda : row->cpu));
    bool rounds = !is_exact(share);
    if (w->half) *error = add(w, *error, as_float(w, clause(w, p, row->half)));
    *share = times(w, *share, p->roundoff);
    if (rounds && w->stored[id])
        *share = add(w, *share, arg_float(storing(node_of(w, id)->meta.dtype)));
    return rounds;
}

/* A node as a rule sees it, whose operands are off by `errors`. */
static struct backprop ruled(struct bounds *w, node_id id, enum dtype math,
                             const struct arg *errors) {
    struct backprop p = {.b = &w->b,
                         .node = as_numbers(w, bounds_graph(w)->nodes.at[w->value[id]]),
                         .result = w->value[id],
                         .errors = errors};
    if (dtype_is_float(math)) p.roundoff = roundoff_of(w, math);
    return p;
}

struct arg own_share(struct bounds *w, node_id id, struct arg *besides) {
    struct arg none[MAX_PARAMS], share;
    for (int i = 0; i < MAX_PARAMS; i++) none[i] = arg_float(0);
    struct backprop p = ruled(w, id, maths_of(w, node_of(w, id)->meta.dtype), none);
    *besides = arg_float(0);
    own_roundings(w, id, &p, besides, &share);
    return share;
}

node_id bound_pointwise(struct bounds *w, node_id id) {
    const struct node *n = &w->from->nodes.at[id];
    const struct row *row = row_of(n);
    enum dtype t = n->meta.dtype, math = dtype_opmath(t);
    if (!row->error) WS_BUG("%s has no bound", op_info(n->op)->name);
    if (op_info(n->op)->dtype == RULE_BOOL) math = graph_compute_dtype((struct graph *)w->from, n);
    struct arg errors[MAX_PARAMS], share;
    struct arg shared = bound_shared(w, id);
    if (!is_exact(&shared)) return as_error(w, shared, &n->meta);
    /* What yields an operand as it is stores a number as such; others take it in their maths. */
    bool shows = dtype_is_float(t) && w->stored[id] && !strcmp(row->cpu, "0");
    operand_errors(w, n, shows ? t : math, errors);
    math = maths_of(w, math);
    struct backprop p = ruled(w, id, math, errors);
    bool share_of_largest = n->op == OP_DIV && counts_largest(w, &n->args[1]);
    struct arg error = as_float(w, clause(w, &p, share_of_largest ? error_of_share : row->error));
    if (!dtype_is_float(t)) {
        node_id off = as_error(w, error, &n->meta);
        if (op_compares(n->op)) return bound_comparison(w, n, off);
        bool wraps = dtype_is_int(t) && (op_wraps(n->op) || n->op == OP_ABS);
        return wraps ? wrapped(w, id, off, off) : off;
    }
    if (!own_roundings(w, id, &p, &error, &share)) return as_error(w, error, &n->meta);
    return rounded(w, w->value[id], error, share, w->stored[id] ? t : math);
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
node_id bound_conversion(struct bounds *w, node_id id) {
    const struct node *n = &w->from->nodes.at[id];
    node_id x = w->value[n->args[0].node], e = w->error[n->args[0].node];
    enum dtype from = bounds_meta(w, x)->dtype, to = n->meta.dtype;
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
