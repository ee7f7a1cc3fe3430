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
 *   extremum    how far it moves when all elements do
 *   moves       e, moved likewise
 *
 * (Higham, 4.2 and 3.5), where h is how many additions a term passes through. A sum of n terms is
 * made of chains of at most CHAIN, whose results are added up as a tree: h is n, but at most
 * CHAIN + 4 log2(n) (Blanchard, Higham and Mary, A class of fast and accurate summation algorithms,
 * 2020). A CPU's chains are shorter, CPU_CHAIN. Prefixes of more than CHAIN terms are carried with
 * what their additions lose; a GPU's may pass through a second chain, of what tiles come to. A
 * matrix product's chains are longer; their roundings are taken as independent: at most
 * CHAIN + 4 sqrt(n) (Higham and Mary, A new approach to probabilistic rounding error analysis,
 * 2019). On a GPU, products of 16 bits are added up in steps of 16 without rounding to nearest:
 * n / 8 more; of tf32 in steps of 8. Those of f32 may be six of 16 bits, each cut off: h is 12 at
 * least. Of float8, where a graph asks for what its units have, 33/2048 of sum|x y| are theirs.
 *
 * Where a product may be made of tf32, A and B are rounded to 11 bits, to R(A) and R(B). What that
 * does is known, as they are: |A B - R(A) R(B)|, and then the product is as above, of R(A) and R(B)
 * with what they may be off by, which is 0 but where a value lies between two of 11 bits, as close
 * as its own error. Roundings to one side would add up like the depth, and are not allowed for: a
 * term that is missing, or cut off, is seen in sums of thousands. f32's own product is right, too.
 *
 * Of a loop, products differ (bound_loop.c).
 *
 * Values that jump: a comparison that errors may decide either way has the error 1, unless an
 * element is compared with the largest of all and no other may be that: both are one number then,
 * however far off it is. Elements that are the largest are one at least, if the first of them
 * counts whatever a comparison says: what is shared among them has a bound. `where` has the
 * distance of its two values, floor and the like what they are at both ends, and argmax the
 * distance to the furthest element that may be the largest. What
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
 * What is subtracted from all elements of a row, and given back behind a logarithm or in a
 * quotient, is no error of the result, whatever it is off by: bound_shift.c.
 *
 * Infinite bounds are where a value may overflow, a pole may be hit, or an index is in doubt. An
 * infinite or nan value is expected as such: what makes it is no rounding. What may overflow far
 * below 0 has the exponential 0 all the same, and is not the largest of its row. */
#include <float.h>
#include <math.h>

#include "graph/bound.h"
#include "graph/eval.h"
#include "graph/traits.h"

/* A double's reference is 0 where it underflows, too: what was lost on the way is some units. */
enum { UNDERFLOWS = 64 };

struct graph *bounds_graph(struct bounds *w) {
    return w->b.g;
}
const struct meta *bounds_meta(struct bounds *w, node_id n) {
    return &bounds_graph(w)->nodes.at[n].meta;
}
bool is_exact(const struct arg *e) { return e->kind != ARG_NODE && e->f == 0; }
struct arg as_arg(node_id e) {
    return e == EXACT ? arg_float(0) : arg_node(e);
}

int64_t bounds_size(struct bounds *w, ex e) { return ex_value(bounds_graph(w)->ex, e); }

bool same_sizes(const struct meta *a, const struct meta *b) {
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->size[i] == b->size[i];
    return same;
}

int64_t bounds_numel(struct bounds *w, const struct meta *m) {
    return bounds_size(w, meta_numel(bounds_graph(w)->ex, m));
}

/* ---- roundings ------------------------------------------------------------------------------- */

double sum_depth(const struct bounds *w, int64_t n) {
    double x = (double)n, chain = w->how.device == DEVICE_CPU ? CPU_CHAIN : CHAIN;
    return x <= chain || w->how.doubles ? x : fmin(x, chain + 4 * log2(x));
}

/* What maths of the type is done in. */
enum dtype maths_of(const struct bounds *w, enum dtype t) {
    return w->how.doubles && dtype_is_float(t) ? DT_F64 : dtype_opmath(t);
}

/* Both the computation and its reference, if that is no more precise. */
double roundoff_of(const struct bounds *w, enum dtype t) {
    enum dtype math = maths_of(w, t);
    return dtype_roundoff(math) * (math == DT_F64 ? 2 : 1);
}

/* The same of what is rounded to the type whatever the maths is done in. */
double rounding_of(enum dtype t) {
    enum dtype math = dtype_opmath(t);
    return dtype_roundoff(math) * (math == DT_F64 ? 2 : 1);
}

/* What storing a value of this type adds; f32 and f64 are what maths is done in. */
double storing(enum dtype t) { return dtype_opmath(t) == t ? 0 : dtype_roundoff(t); }

node_id wide(struct bounds *w, node_id x) { return cast(&w->b, x, DT_F64); }

/* The error of a value that was off by `error` before it was rounded by `unit` of it. */
node_id rounded(struct bounds *w, node_id value, struct arg error, struct arg unit, enum dtype t) {
    if (is_exact(&error) && is_exact(&unit)) return EXACT;
    /* Overflow is of the type that is stored; what is kept in opmath overflows later still. */
    struct arg most = arg_float(dtype_largest(t)), tiny = arg_float(dtype_smallest(t));
    if (dtype_is_float8(bounds_meta(w, value)->dtype)) value = wide(w, value); /* no maths there */
    node_id off = call(&w->b, OP_ERROR_ROUND, arg_node(value), error, unit, most, tiny);
    return t == DT_F64 ? scalar(&w->b, OP_ADD, off, UNDERFLOWS * tiny.f) : off;
}

node_id magnitude(struct bounds *w, node_id x) { return wide(w, unary(&w->b, OP_ABS, wide(w, x))); }

node_id plus(struct bounds *w, node_id x, node_id e) {
    return e == EXACT ? x : x == EXACT ? e : binary(&w->b, OP_ADD, x, e);
}

/* A finite, stored result: error and h roundings of the largest that x may be. */
node_id largest(struct bounds *w, node_id x, node_id e) { return plus(w, magnitude(w, x), e); }

/* x + e, or x - e if `up` is false. What may overflow keeps its sign: x, if that leads away from 0.
 */
node_id moved(struct bounds *w, node_id x, node_id e, bool up) {
    struct build *b = &w->b;
    node_id far = up ? scalar(b, OP_LT, x, -FAR) : scalar(b, OP_GT, x, FAR);
    node_id stays = binary(b, OP_LOGICAL_AND, far, scalar(b, OP_EQ, e, INFINITY));
    return call(b, OP_WHERE, arg_node(stays), arg_node(x),
                arg_node(binary(b, up ? OP_ADD : OP_SUB, x, e)));
}

/* The integer at id, which may be larger by `up` or smaller by `down` before it is wrapped to its
 * type: where that takes it past an end, it may be at either one. */
node_id wrapped(struct bounds *w, node_id id, node_id up, node_id down) {
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
node_id reduce_as(struct bounds *w, const struct node *n, enum op op, node_id x, bool keep) {
    int k;
    op_param(n->op, "dim", &k);
    struct arg dims = n->args[k];
    if (dims.kind == ARG_INT) dims = arg_ints(bounds_graph(w), &dims.i, 1);
    if (dims.kind == ARG_NONE) dims = arg_ints(bounds_graph(w), NULL, 0);
    return call(&w->b, op, arg_node(x), dims, arg_bool(keep));
}

node_id or_infinite(struct bounds *w, node_id where, node_id e) {
    return call(&w->b, OP_WHERE, arg_node(where), arg_float(INFINITY), arg_node(e));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* A rule's result in the shape of the operator's: what errors are made of may be smaller. */
node_id as_error(struct bounds *w, struct arg e, const struct meta *m) {
    if (is_exact(&e)) return EXACT;
    struct meta f64 = *m;
    f64.dtype = DT_F64;
    if (e.kind != ARG_NODE) return full(&w->b, &f64, e.f);
    bool same = same_sizes(bounds_meta(w, e.node), m);
    struct arg size = arg_ints(bounds_graph(w), m->size, m->rank);
    return wide(w, same ? e.node : call(&w->b, OP_EXPAND, e, size));
}

node_id zeros_like(struct bounds *w, node_id x) {
    struct meta m = *bounds_meta(w, x);
    m.dtype = DT_F64;
    return full(&w->b, &m, 0);
}

/* ---- the same operator on errors ------------------------------------------------------------- */

/* n once more, with other operands in place of its first ones. */
node_id again(struct bounds *w, const struct node *n, enum op op, node_id x, node_id y) {
    struct arg args[MAX_PARAMS];
    for (int i = 0; i < n->n_args; i++) args[i] = n->args[i];
    args[0] = arg_node(x);
    if (y != EXACT) args[1] = arg_node(y);
    for (int i = 0; i < n->n_args; i++) /* a sum of f64 is one */
        if (op_info(op)->params[i].kind == 'Y') args[i] = arg_none();
    return build_call(&w->b, op, args, n->n_args);
}

/* The node as it stands in the new graph. */
struct node bounds_copy(struct bounds *w, node_id id) {
    return bounds_graph(w)->nodes.at[w->value[id]];
}

int64_t bounds_terms(struct bounds *w, const struct node *n) {
    const struct meta *x = bounds_meta(w, n->args[0].node);
    uint32_t set = dims_of(bounds_graph(w), n, "dim", x->rank);
    int64_t count = 1;
    for (int i = 0; i < x->rank; i++)
        if (set >> i & 1) count *= bounds_size(w, x->size[i]);
    return count;
}

/* The result's own rounding, once it is stored; integers wrap. */
node_id stored_result(struct bounds *w, node_id id, node_id e) {
    enum dtype t = w->from->nodes.at[id].meta.dtype;
    if (e == EXACT) return e;
    if (!dtype_is_float(t)) return dtype_is_int(t) ? wrapped(w, id, e, e) : e;
    double unit = w->stored[id] ? storing(t) : 0;
    return rounded(w, w->value[id], arg_node(e), arg_float(unit),
                   w->stored[id] ? t : maths_of(w, t));
}

/* ---- creation -------------------------------------------------------------------------------- */

static bool is_whole(struct bounds *w, const struct arg *a) {
    double v = arg_number(bounds_graph(w), a);
    return v == trunc(v) && fabs(v) < 0x1p24;
}

/* Numbers are those of the type; uniform ones have 24 bits; normal ones are made of a logarithm, a
 * root (of at most 6.7) and a cosine, of an angle that is rounded. */
static node_id bound_created(struct bounds *w, node_id id) {
    const struct node n = bounds_copy(w, id);
    enum dtype t = n.meta.dtype;
    if (!dtype_is_float(t)) return EXACT;
    double u = rounding_of(t), far = 0;
    if (n.op == OP_ARANGE && !(is_whole(w, &n.args[0]) && is_whole(w, &n.args[2])))
        far = 2 * fabs(arg_number(bounds_graph(w), &n.args[0]));
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
    if (bounds_numel(w, &n->meta) == 0) return EXACT;
    switch (info->class) {
    case INPUT: return EXACT;
    case CREATE: return bound_created(w, id);
    case POINTWISE: return is_conversion(n->op) ? bound_conversion(w, id) : bound_pointwise(w, id);
    case VIEW: return bound_shown(w, id);
    case MOVE: return bound_move(w, id);
    case MATMUL: return bound_matmul(w, id);
    case SCAN:
    case REDUCE: return bound_fold(w, id);
    case LOOP: return bound_loop(w, id);
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

struct bounds bounds_new(const struct graph *from, struct graph *to, struct rounding how) {
    struct bounds w = {.b = {.g = to}, .from = from, .how = how};
    w.value = NEW_ARRAY(from->arena, node_id, from->nodes.n);
    w.error = NEW_ARRAY(from->arena, node_id, from->nodes.n);
    w.stored = NEW_ARRAY(from->arena, bool, from->nodes.n);
    find_stored(&w);
    w.half = is_half(&w);
    return w;
}

void bounds_pass(struct bounds *w) {
    for (node_id id = 0; id < w->from->nodes.n; id++) {
        if (op_info(w->from->nodes.at[id].op)->class == INPUT) continue;
        w->value[id] = graph_copy(bounds_graph(w), w->from, id, w->value);
        w->error[id] = EXACT;
        w->b.where = w->from->nodes.at[id].where;
        w->error[id] = bound_node(w, id);
    }
}

struct graph *graph_bound(const struct graph *g, struct rounding how) {
    struct graph *out = graph_like(g);
    struct bounds w = bounds_new(g, out, how);
    for (uint32_t i = 0; i < g->inputs.n; i++) { /* they come first */
        w.value[i] = graph_copy(out, g, i, NULL);
        w.error[i] = EXACT;
    }
    bounds_pass(&w);
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        node_id x = g->outputs.at[i], e = w.error[x];
        vec_push(g->arena, &out->outputs, e == EXACT ? zeros_like(&w, w.value[x]) : e);
    }
    return graph_simplify(out);
}
