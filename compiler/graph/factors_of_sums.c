/* factors_of_sums.c: a factor that is the same for all that is summed up, taken of the sum, where
 * it has to be waited for.
 *
 *   %q = mul(%x, %x)                           %q = mul(%x, %x)
 *   %s = rsqrt(mean(%q, dims, True))           %s = rsqrt(mean(%q, dims, True))
 *   %y = mul(%x, %s)                           %t = sum(%x, dims, True)
 *   %a = sum(%y, dims, True)                   %a = mul(%t, %s)
 *
 * The sum of y would go along x a second time, when the mean is there; that of x goes along with
 * the mean's. So do extrema, of which a factor below 0 makes the other one; sums of squares, and
 * variances, which it scales twice: where the factor is made of x's squares, too. x / amax(abs(x))
 * is what programs take squares of so that these are in range. That pays where the pass that the
 * factor waits for is one of its own: of rows that are too few to fill the device, or too long to
 * be kept, on a GPU.
 *
 * An extremum that is compared with what it is one of stays: both have to be one number.
 *
 * Needs: a decomposed, simplified graph, in which one_pass.c has found variances. Keeps: values,
 * but for rounding, and but for a factor that is infinite. */
#include "graph/decompose.h"
#include "graph/traits.h"

struct scales {
    const struct graph *from;
    const struct device_limits *limits;
    bool *waits;    /* per node: it stands on a reduction that has a pass of its own */
    bool *compared; /* per node: a comparison takes it, or a view, a float or a difference of it */
};

/* What a reduction is of: x * s, or x / s, perhaps as another float, or the squares of that. */
struct scaled {
    node_id x, s;
    enum op by;
    bool squared;
};

static const struct node *at(const struct scales *c, node_id n) { return &c->from->nodes.at[n]; }

static bool keeps_order(enum op op) {
    return op_info(op)->class == VIEW || op == OP_CONVERT || op == OP_CAST || op == OP_SUB ||
           op == OP_NEG || op == OP_ABS;
}

static void find_waiting(struct scales *c) {
    const struct graph *g = c->from;
    for (node_id n = 0; n < g->nodes.n; n++) {
        const struct node *x = at(c, n);
        for (int i = 0; i < x->n_args; i++) {
            const struct arg *a = &x->args[i];
            c->waits[n] |= a->kind == ARG_NODE && c->waits[a->node];
            for (uint32_t k = 0; a->kind == ARG_NODES && k < a->nodes.n; k++)
                c->waits[n] |= c->waits[a->nodes.at[k]];
        }
        if (op_info(x->op)->class != REDUCE || x->args[0].kind != ARG_NODE) continue;
        c->waits[n] |= graph_rows_have_passes(g, at(c, x->args[0].node), &x->args[1], c->limits);
    }
    for (node_id n = g->nodes.n; n-- > 0;) {
        const struct node *x = at(c, n);
        bool compares =
            op_info(x->op)->class == POINTWISE && (x->meta.dtype == DT_BOOL || x->op == OP_SIGN);
        if (!compares && !(c->compared[n] && keeps_order(x->op))) continue;
        for (int i = 0; i < x->n_args; i++)
            if (x->args[i].kind == ARG_NODE) c->compared[x->args[i].node] = true;
    }
}

/* Is s the same along all dimensions of m that are reduced? */
static bool is_of_rows(const struct scales *c, node_id s, const struct meta *m, uint32_t dims) {
    const struct meta *f = &at(c, s)->meta;
    for (int i = 0; i < f->rank; i++)
        if (dims >> (m->rank - f->rank + i) & 1 && f->size[i] != ex_const(c->from->ex, 1))
            return false;
    return f->rank <= m->rank;
}

static bool has_shape(const struct scales *c, node_id x, const struct meta *m) {
    const struct meta *f = &at(c, x)->meta;
    for (int i = 0; i < f->rank && f->rank == m->rank; i++)
        if (f->size[i] != m->size[i]) return false;
    return f->rank == m->rank;
}

/* Is y = x * s, of which s is waited for, and x is not? */
static bool is_scaled(const struct scales *c, node_id y, uint32_t dims, struct scaled *out) {
    const struct node *n = at(c, y);
    bool product = n->op == OP_MUL;
    if ((!product && n->op != OP_DIV) || n->args[0].kind != ARG_NODE ||
        n->args[1].kind != ARG_NODE || !dtype_is_float(n->meta.dtype))
        return false;
    for (int side = 0; side < (product ? 2 : 1); side++) {
        node_id x = n->args[side].node, s = n->args[!side].node;
        bool fits = has_shape(c, x, &n->meta) && is_of_rows(c, s, &n->meta, dims) &&
                    dtype_is_float(at(c, x)->meta.dtype) && dtype_is_float(at(c, s)->meta.dtype);
        if (!fits || c->waits[x] || !c->waits[s]) continue;
        *out = (struct scaled){.x = x, .s = s, .by = n->op};
        return true;
    }
    return false;
}

/* What stands behind conversions of floats. */
static node_id unconverted(const struct scales *c, node_id n) {
    while ((at(c, n)->op == OP_CONVERT || at(c, n)->op == OP_CAST) &&
           dtype_is_float(at(c, n)->meta.dtype) &&
           dtype_is_float(at(c, at(c, n)->args[0].node)->meta.dtype))
        n = at(c, n)->args[0].node;
    return n;
}

/* Is s made of sums of x's squares, or of its variances? If those of x * s are in range, these are,
 * or s is nothing already. */
static bool is_of_squares(const struct scales *c, node_id s, node_id x) {
    bool *below = NEW_ARRAY(c->from->arena, bool, s + 1);
    below[s] = true;
    for (node_id id = s + 1; id-- > 0;) {
        const struct node *n = at(c, id);
        if (!below[id] || !c->waits[id]) continue;
        if (n->op == OP_SUM || n->op == OP_M2) {
            node_id of = unconverted(c, n->args[0].node);
            const struct node *q = at(c, of);
            bool square = q->op == OP_MUL && q->args[0].kind == ARG_NODE &&
                          q->args[1].kind == ARG_NODE && q->args[0].node == q->args[1].node;
            if (n->op == OP_SUM && square) of = unconverted(c, q->args[0].node);
            if ((n->op == OP_M2 || square) && of == unconverted(c, x)) return true;
        }
        for (int i = 0; i < n->n_args; i++) {
            const node_id *of;
            for (int k = arg_nodes(&n->args[i], &of); k-- > 0;) below[of[k]] = true;
        }
    }
    return false;
}

/* Is reduction n of something scaled? Sums are kept in the type that they are made in, or what is
 * not scaled yet might be out of its range, or be rounded. */
static bool find_scaled(const struct scales *c, node_id id, struct scaled *out) {
    const struct node *n = at(c, id);
    bool extremum = n->op == OP_AMAX || n->op == OP_AMIN;
    if (!extremum && n->op != OP_SUM && n->op != OP_M2) return false;
    if (n->args[0].kind != ARG_NODE || !dtype_is_float(n->meta.dtype)) return false;
    if (extremum ? c->compared[id] : n->meta.dtype != dtype_opmath(n->meta.dtype)) return false;
    uint32_t dims = dims_set(c->from->ex, &n->args[1], at(c, n->args[0].node)->meta.rank);
    node_id y = extremum ? n->args[0].node : unconverted(c, n->args[0].node);
    if (is_scaled(c, y, dims, out)) return n->op != OP_M2 || is_of_squares(c, out->s, out->x);
    const struct node *q = at(c, y);
    if (n->op != OP_SUM || q->op != OP_MUL || q->args[0].kind != ARG_NODE ||
        q->args[1].kind != ARG_NODE || q->args[0].node != q->args[1].node)
        return false;
    return out->squared = is_scaled(c, unconverted(c, q->args[0].node), dims, out) &&
                          is_of_squares(c, out->s, out->x);
}

static node_id scaled_by(struct build *b, enum op by, node_id t, node_id s) {
    return cast(b, binary(b, by, t, s), meta_of(b, t)->dtype);
}

/* Reduction n of the new graph's x, and then what it is scaled by. */
static node_id scale_last(struct build *b, const struct node *n, const struct scaled *y, node_id x,
                          node_id s) {
    bool extremum = n->op == OP_AMAX || n->op == OP_AMIN, twice = y->squared || n->op == OP_M2;
    enum dtype t = n->meta.dtype;
    x = cast(b, x, t);
    s = cast(b, s, t);
    if (y->squared) x = binary(b, OP_MUL, x, x);
    node_id out = scaled_by(b, y->by, reduce(b, n->op, x, n->args[1], true), s);
    if (twice) out = scaled_by(b, y->by, out, s); /* s * s may be out of range */
    if (extremum) { /* of both, whatever the factor's sign; NaN, if either is */
        bool most = n->op == OP_AMAX;
        node_id other = reduce(b, most ? OP_AMIN : OP_AMAX, x, n->args[1], true);
        out = binary(b, most ? OP_MAXIMUM : OP_MINIMUM, out, scaled_by(b, y->by, other, s));
    }
    return reshape(b, out, &n->meta);
}

struct graph *graph_factors_of_sums(struct graph *g, const struct device_limits *limits) {
    uint32_t n = g->nodes.n;
    struct scales c = {.from = g,
                       .limits = limits,
                       .waits = NEW_ARRAY(g->arena, bool, n),
                       .compared = NEW_ARRAY(g->arena, bool, n)};
    struct scaled y = {0};
    bool any = false;
    if (limits->kind != DEVICE_CUDA) return g;
    find_waiting(&c);
    for (node_id i = 0; i < n; i++) any |= find_scaled(&c, i, &y);
    if (!any) return g;
    struct graph *to = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, n);
    for (node_id i = 0; i < n; i++) {
        struct build b = {.g = to, .where = at(&c, i)->where};
        y = (struct scaled){0};
        bool moves = find_scaled(&c, i, &y);
        map[i] =
            moves ? scale_last(&b, at(&c, i), &y, map[y.x], map[y.s]) : graph_copy(to, g, i, map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return graph_simplify(to);
}
