/* judge.c: tell a wrong result from a rounded one, element by element.
 *
 *   %y = sub(%a, %b)         where a and b agree in 6 digits: the result has 1 correct digit
 *   %z = floor(%y)           and this jumps
 *
 * No tolerance by type fits such graphs. A result that is not within the tolerance of its type is
 * therefore compared with what rounding does to the reference: the decomposed graph is evaluated
 * again with every float result multiplied by 1 +- one rounding error of its type, or none, and
 * rounded to it, each time with other signs (Monte Carlo arithmetic; Parker 1997). Each drawing of
 * signs is followed by its opposite, so that what lies next to a jump falls on the other side in
 * one of the two. In some of them 16-bit values are kept in f32, as fused kernels do, what is too
 * small for a normal f32 is 0, and what was moved errs once more, as where a kernel compares its
 * own y[i] with the y that another kernel has stored. Products are made of two parts, cut somewhere
 * else each time: a part may overflow where the whole does not. An element may be off by a few
 * times what it changed by; if it became infinite or NaN, by anything.
 *
 * Integers have no rounding. Where one overflows, or is infinite because of a division by zero, the
 * reference (doubles) and every machine differ, and the graph is called wild. */
#include "tests/fuzz/judge.h"

#include <math.h>
#include <stdlib.h>

#include "tests/fuzz/drive.h"

enum { PAIRS = 12, SLACK = 4 };

struct judge {
    struct arena *a;
    struct graph *g;
    const struct value *in, *want;
    double **spread; /* per output: the largest change of each element; NULL before it is needed */
    int64_t forgiven;
};

struct judge *judge_new(struct arena *a, struct graph *g, const struct value *in,
                        const struct value *want) {
    struct judge *j = NEW(a, struct judge);
    *j = (struct judge){.a = a, .g = g, .in = in, .want = want};
    return j;
}

int64_t judge_forgiven(const struct judge *j) { return j->forgiven; }

static const struct meta *output_meta(const struct judge *j, uint32_t o) {
    return &j->g->nodes.at[j->g->outputs.at[o]].meta;
}

static double as_stored(enum dtype t, double v) {
    double cell;
    dtype_store(t, &cell, 0, v);
    return dtype_load(t, &cell, 0);
}

/* ---- the graph with rounding errors ---------------------------------------------------------- */

/* What a computation in this type may be off by, relative to its result. More than half a unit for
 * f32 and f64: sums have many terms, and functions are approximated. */
static double rounding_error(enum dtype t) {
    switch (t) {
    case DT_F8E4M3: return 0x1p-4;
    case DT_F8E5M2: return 0x1p-3;
    case DT_BF16: return 0x1p-8;
    case DT_F16: return 0x1p-11;
    case DT_F32: return 0x1p-20;
    case DT_F64: return 0x1p-46;
    case DT_BOOL:
    case DT_U8:
    case DT_I8:
    case DT_I16:
    case DT_I32:
    case DT_I64:
    case DT_COUNT: break;
    }
    return 0;
}

static node_id must_call(struct graph *g, enum op op, const struct arg *args, int n) {
    struct diag d = diag_new(g->arena);
    node_id out;
    if (!graph_call(g, op, args, n, (struct span){0}, &d, &out)) WS_BUG("noise: %s", d.text);
    return out;
}

/* How one evaluation errs. */
struct errors {
    double sign;     /* of all relative errors; 0: none */
    uint32_t stream; /* of random tensors: far from those of the graph, another for each draw */
    enum {
        STORED,
        KEPT,
        SOME_KEPT
    } narrow;   /* 16-bit values: rounded to their type or kept in f32 */
    bool flush; /* what is too small for a normal f32 becomes 0 */
    bool again; /* what is moved was computed once more, with errors of its own */
};

/* Between fused operators a value of 16 bits is one of f32, unless the user casts it. */
static bool is_kept(const struct errors *e, const struct graph *g, node_id n) {
    const struct node *x = &g->nodes.at[n];
    if (x->op == OP_CAST || dtype_opmath(x->meta.dtype) == x->meta.dtype) return false;
    return e->narrow == KEPT || (e->narrow == SOME_KEPT && random_uniform(e->stream, 1, n) < 0.5);
}

/* x rounded to type `precise`, as a value of type t. */
static node_id cast_to(struct graph *g, node_id x, enum dtype precise, enum dtype t) {
    struct arg rounded[] = {arg_node(x), arg_dtype(precise)};
    node_id out = must_call(g, OP_CAST, rounded, 2);
    struct arg as[] = {arg_node(out), arg_dtype(t)};
    return precise == t ? out : must_call(g, OP_CONVERT, as, 2); /* which does not round */
}

static node_id flush(struct graph *g, node_id x) {
    struct arg small[] = {arg_node(graph_op1(g, OP_ABS, x)), arg_float(0x1p-126)};
    struct arg where[] = {arg_node(must_call(g, OP_LT, small, 2)), arg_float(0), arg_node(x)};
    return must_call(g, OP_WHERE, where, 3);
}

/* x * (1 + u * k), rounded to the type of x. k is -1, 0 or 1, rarely more: now and then a value
 * keeps its exact place, where a comparison with it decides. */
static node_id add_errors(struct graph *g, node_id x, const struct errors *e, bool kept,
                          node_id origin) {
    const struct meta m = g->nodes.at[x].meta;
    enum dtype precise = kept ? dtype_opmath(m.dtype) : m.dtype;
    double u = e->sign * rounding_error(precise);
    struct arg normal[] = {arg_ints(g, m.size, m.rank), arg_int(g, e->stream + origin),
                           arg_dtype(DT_F64)};
    node_id k = graph_op1(g, OP_ROUND, must_call(g, OP_RANDN, normal, 3));
    node_id factor = graph_op2s(g, OP_ADD, graph_op2s(g, OP_MUL, k, u), 1);
    node_id y = graph_op2(g, OP_MUL, x, factor);
    if (e->flush && m.dtype != DT_F64) y = flush(g, y);
    return cast_to(g, y, precise, m.dtype);
}

static node_id slice(struct graph *g, node_id x, int64_t dim, int64_t from, int64_t to) {
    struct arg args[] = {arg_node(x), arg_int(g, dim), arg_int(g, from), arg_int(g, to)};
    return must_call(g, OP_SLICE, args, 4);
}

/* What the prod or cumprod `like` makes of x, as it is kept or stored. */
static node_id product_of(struct graph *g, const struct node *like, node_id x, bool kept) {
    struct arg args[MAX_PARAMS];
    for (int i = 0; i < like->n_args; i++) args[i] = like->args[i];
    args[0] = arg_node(x);
    enum dtype t = like->meta.dtype;
    return cast_to(g, must_call(g, like->op, args, like->n_args), kept ? dtype_opmath(t) : t, t);
}

/* 0, but NaN where the factors above 1 overflow by themselves: some part of the product may, and
 * then it is NaN if there is a 0, too. */
static node_id overflow(struct graph *g, node_id whole, bool kept) {
    const struct node n = g->nodes.at[whole];
    node_id above = graph_op2s(g, OP_MAXIMUM, graph_op1(g, OP_ABS, n.args[0].node), 1);
    node_id big = product_of(g, &n, above, kept);
    return graph_op2(g, OP_SUB, big, big);
}

/* A product, or products, of x: those of x[0:cut] by those of x[cut:n], along a dimension that is
 * multiplied up. */
static node_id multiply_in_parts(struct graph *g, node_id whole, const struct errors *e, bool kept,
                                 node_id origin) {
    const struct node n = g->nodes.at[whole];
    const struct meta x = g->nodes.at[n.args[0].node].meta;
    const struct arg *d = &n.args[1];
    int64_t size, dim = 0;
    if (d->kind == ARG_INT) dim = ex_value(g->ex, d->i);
    if (d->kind == ARG_INTS && d->ints.n) dim = ex_value(g->ex, d->ints.at[0]);
    if (!x.rank || !ex_is_const(g->ex, x.size[dim], &size) || size < 2) return whole;
    int64_t cut = 1 + (int64_t)(random_uniform(e->stream, 2, origin) * (double)(size - 1));
    node_id a = product_of(g, &n, slice(g, n.args[0].node, dim, 0, cut), kept),
            b = product_of(g, &n, slice(g, n.args[0].node, dim, cut, size), kept);
    if (n.op == OP_PROD) return graph_op2(g, OP_MUL, a, b);
    node_id both[] = {a, graph_op2(g, OP_MUL, slice(g, a, dim, cut - 1, cut), b)};
    struct arg args[] = {{.kind = ARG_NODES}, arg_int(g, dim)};
    args[0].nodes.at = both, args[0].nodes.n = 2;
    return must_call(g, OP_CAT, args, 2);
}

static bool is_moved(const struct node *n) {
    enum op_class class = op_info(n->op)->class;
    return class == VIEW || class == MOVE;
}

static bool is_rounded(const struct node *n) {
    return dtype_is_float(n->meta.dtype) && op_info(n->op)->class != CREATE && !is_moved(n);
}

/* A float that was computed before it was moved, perhaps several times; inputs never were. */
static bool is_computed(const struct node *n, const bool *computed) {
    if (!is_moved(n)) return is_rounded(n) && op_info(n->op)->class != INPUT;
    const node_id *from;
    int sources = arg_nodes(&n->args[0], &from);
    bool any = false;
    for (int i = 0; i < sources; i++) any |= computed[from[i]];
    return any && dtype_is_float(n->meta.dtype);
}

static struct graph *with_errors(const struct graph *g, const struct errors *e) {
    struct graph *out = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    bool *computed = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const struct node *n = &g->nodes.at[i];
        map[i] = graph_copy(out, g, i, map);
        bool product = (n->op == OP_PROD || n->op == OP_CUMPROD) && is_rounded(n);
        if (product && e->sign != 0) {
            node_id whole = map[i];
            map[i] = multiply_in_parts(out, whole, e, is_kept(e, g, i), i);
            map[i] = graph_op2(out, OP_ADD, map[i], overflow(out, whole, is_kept(e, g, i)));
        }
        computed[i] = is_computed(n, computed);
        if (is_rounded(n) || (e->again && is_moved(n) && computed[i]))
            map[i] = add_errors(out, map[i], e, is_kept(e, g, i), i);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &out->outputs, map[g->outputs.at[i]]);
    return out;
}

static double change(double before, double after) {
    if (before == after || (isnan(before) && isnan(after))) return 0;
    return isfinite(before) && isfinite(after) ? fabs(before - after) : INFINITY;
}

static void add_sample(struct judge *j, const struct graph *noisy) {
    uint32_t n = j->g->outputs.n;
    struct value *out = calloc(n, sizeof *out);
    struct diag d = diag_new(j->a);
    if (!graph_eval(noisy, j->in, out, &d)) WS_BUG("noise: %s", d.text);
    for (uint32_t o = 0; o < n; o++) {
        for (int64_t i = 0; i < out[o].n; i++)
            j->spread[o][i] = fmax(j->spread[o][i],
                                   change(value_number(&j->want[o], i), value_number(&out[o], i)));
        value_free(&out[o]);
    }
    free(out);
}

static void measure_spread(struct judge *j) {
    if (j->spread) return;
    j->spread = NEW_ARRAY(j->a, double *, j->g->outputs.n);
    for (uint32_t o = 0; o < j->g->outputs.n; o++)
        j->spread[o] = NEW_ARRAY(j->a, double, j->want[o].n);
    for (int narrow = STORED; narrow <= KEPT; narrow++) /* rounded to nearest, nothing else */
        add_sample(j,
                   with_errors(j->g, &(struct errors){.narrow = narrow, .flush = narrow == KEPT}));
    for (int s = 0; s < 2 * PAIRS; s++) {
        struct errors e = {.sign = s % 2 ? -1 : 1,
                           .stream = (uint32_t)(s / 2 + 1) * (1u << 20),
                           .narrow = s / 2 % 3,
                           .flush = s / 2 % 4 == 3,
                           .again = s / 2 % 4 == 1};
        add_sample(j, with_errors(j->g, &e));
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

bool judge_output(struct judge *j, uint32_t o, const double *got, struct diag *d) {
    const struct value *want = &j->want[o];
    enum dtype t = output_meta(j, o)->dtype;
    double tol = drive_tolerance(t), rms = drive_rms(want);
    for (int64_t i = 0; i < want->n; i++) {
        double g = got[i], w = value_number(want, i);
        if ((isnan(g) && isnan(w)) || g == w || g == as_stored(t, w)) continue;
        if (fabs(g - w) <= tol * (fabs(w) + rms)) continue;
        measure_spread(j);
        if (j->spread[o][i] == INFINITY || fabs(g - w) <= SLACK * j->spread[o][i]) {
            j->forgiven++;
            continue;
        }
        diag_fail(d, WS_WRONG,
                  "output %u: element %lld is %.9g, not %.9g (rounding changes it by %.3g)", o,
                  (long long)i, g, w, j->spread[o][i]);
        return false;
    }
    return true;
}

/* The first element that is no integer of this type, or -1. */
static int64_t find_wild(enum dtype t, const struct value *x) {
    double most = t == DT_I64 ? 0x1p52 : 0x1p31 - 1;
    for (int64_t i = 0; i < x->n; i++)
        if (!(fabs(value_number(x, i)) <= most)) return i;
    return -1;
}

/* Node n has an integer that is none, or is cast from one. */
static const char *node_wild(struct arena *a, const struct graph *g, node_id n,
                             const struct value *values) {
    const struct node *x = &g->nodes.at[n];
    bool cast = x->op == OP_CAST || x->op == OP_CONVERT;
    if (!dtype_is_int(x->meta.dtype)) return NULL;
    const struct value *v = &values[cast ? x->args[0].node : n];
    int64_t i = find_wild(x->meta.dtype, v);
    return i < 0 ? NULL : arena_printf(a, "%%%s: integer %.9g", x->name, value_number(v, i));
}

/* A product of integers once more, of floats: what is left of one that overflows may look small. */
static node_id product_in_floats(struct graph *g, node_id product) {
    struct node n = g->nodes.at[product];
    n.meta.dtype = DT_F64;
    for (int i = 0; i < n.n_args; i++)
        if (n.args[i].kind == ARG_DTYPE) n.args[i] = arg_none();
    struct arg as[] = {n.args[0], arg_dtype(DT_F64)};
    return product_of(g, &n, must_call(g, OP_CAST, as, 2), false);
}

const char *judge_wild(const struct judge *j) {
    struct graph *all = graph_like(j->g);
    node_id *map = NEW_ARRAY(j->a, node_id, j->g->nodes.n);
    VEC(node_id) products = {0};
    for (uint32_t i = 0; i < j->g->nodes.n; i++) {
        const struct node *n = &j->g->nodes.at[i];
        map[i] = graph_copy(all, j->g, i, map);
        if ((n->op == OP_PROD || n->op == OP_CUMPROD) && dtype_is_int(n->meta.dtype))
            vec_push(j->a, &products, product_in_floats(all, map[i]));
    }
    for (node_id n = 0; n < all->nodes.n; n++) vec_push(j->a, &all->outputs, n);
    struct value *out = calloc(all->outputs.n, sizeof *out);
    struct diag d = diag_new(j->a);
    const char *wild = graph_eval(all, j->in, out, &d) ? NULL : d.text;
    for (node_id n = 0; n < all->nodes.n && !wild; n++) wild = node_wild(j->a, all, n, out);
    for (uint32_t i = 0; i < products.n && !wild; i++)
        if (find_wild(DT_I64, &out[products.at[i]]) >= 0) wild = "a product of integers";
    for (node_id n = 0; n < all->nodes.n; n++) value_free(&out[n]);
    free(out);
    return wild;
}
