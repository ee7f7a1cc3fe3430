/* one_pass.c: reductions that stand on another one of the same elements, made to go along with it.
 *
 *   %s = sum(%x, dims, True)               %s = sum(%x, dims, True)
 *   %m = div(%s, n)                        %m = div(%s, n)
 *   %d = sub(%x, %m)
 *   %q = mul(%d, %d)
 *   %v = sum(%q, dims)                     %v = m2(%x, dims)
 *
 *   %a = amax(%x, dims, True)              %a = amax(%x, dims, True)
 *   %d = sub(%x, %a)
 *   %e = exp(%d)
 *   %t = sum(%e, dims)                     %t = expsum(%x, dims)
 *
 * Both reductions of the right side go along the elements of x once, and so can be split over
 * blocks. A row that a block or a cluster keeps in its registers is read once as it is, and squared
 * differences from a known mean are less work for each element: so this is for rows that are too
 * few to fill the device (see too_few_rows in schedule/fuse.c) and for those too long to be kept,
 * on a GPU. Of other rows kernel/online.c makes one pass, if a config says so.
 *
 * What a product has made has its variance where it is made, if that goes along with its mean. So
 * these may be asked for, too: whoever asks knows whether the program moves less then. */
#include "graph/graph_impl.h"

static const struct node *operand_of(const struct graph *g, const struct node *n, int i,
                                     enum op op) {
    if (n->args[i].kind != ARG_NODE) return NULL;
    const struct node *x = &g->nodes.at[n->args[i].node];
    return x->op == op ? x : NULL;
}

static ex count_of(const struct graph *g, const struct meta *m, uint32_t dims) {
    ex n = ex_const(g->ex, 1);
    for (int i = 0; i < m->rank; i++)
        if (dims >> i & 1) n = ex_mul(g->ex, n, m->size[i]);
    return n;
}

/* Is it x - mean(x, dims, keepdim=True)? */
static bool is_centered(const struct graph *g, const struct node *d, uint32_t dims) {
    if (d->args[0].kind != ARG_NODE || arg_number(g, &d->args[2]) != 1) return false;
    const struct node *m = operand_of(g, d, 1, OP_DIV);
    const struct node *s = m ? operand_of(g, m, 0, OP_SUM) : NULL;
    if (!s || s->args[0].kind != ARG_NODE || s->args[0].node != d->args[0].node) return false;
    const struct meta *x = &g->nodes.at[d->args[0].node].meta;
    return s->args[2].b && dims_set(g->ex, &s->args[1], x->rank) == dims &&
           m->args[1].kind == ARG_INT && m->args[1].i == count_of(g, x, dims);
}

/* exp(x - amax(x, dims, keepdim=True)): x, or NULL */
static const struct node *shifted_exponent(const struct graph *g, const struct node *v) {
    const struct node *e = operand_of(g, v, 0, OP_EXP), *d = e ? operand_of(g, e, 0, OP_SUB) : NULL;
    const struct node *a = d ? operand_of(g, d, 1, OP_AMAX) : NULL;
    if (!a || d->args[0].kind != ARG_NODE || a->args[0].node != d->args[0].node) return NULL;
    int rank = e->meta.rank;
    uint32_t dims = dims_set(g->ex, &v->args[1], rank);
    bool same = a->args[2].b && dims_set(g->ex, &a->args[1], rank) == dims &&
                arg_number(g, &d->args[2]) == 1;
    return same ? &g->nodes.at[d->args[0].node] : NULL;
}

/* (x - mean(x, dims))^2: x, or NULL */
static const struct node *squared_deviation(const struct graph *g, const struct node *v) {
    const struct node *q = operand_of(g, v, 0, OP_MUL), *d = q ? operand_of(g, q, 0, OP_SUB) : NULL;
    if (!d || q->args[1].kind != ARG_NODE || q->args[1].node != q->args[0].node) return NULL;
    uint32_t dims = dims_set(g->ex, &v->args[1], q->meta.rank);
    return is_centered(g, d, dims) ? &g->nodes.at[d->args[0].node] : NULL;
}

/* Do neighbours in memory belong to different rows? */
static bool rows_are_inner(const struct graph *g, const struct meta *m, uint32_t dims) {
    for (int i = 0; i < m->rank; i++)
        if (m->stride[i] == ex_const(g->ex, 1) && m->size[i] != ex_const(g->ex, 1))
            return !(dims >> i & 1);
    return false;
}

/* Per node: is it computed of a product, element by element? */
static bool *behind_products(const struct graph *g) {
    bool *is = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (node_id n = 0; n < g->nodes.n; n++) {
        const struct node *x = &g->nodes.at[n];
        enum op_class class = op_info(x->op)->class;
        is[n] = class == MATMUL;
        for (int i = 0; i < x->n_args && (class == POINTWISE || class == VIEW); i++)
            is[n] |= x->args[i].kind == ARG_NODE && is[x->args[i].node];
    }
    return is;
}

bool graph_rows_have_passes(const struct graph *g, const struct node *x, const struct arg *dims,
                            const struct device_limits *limits) {
    uint32_t set = dims_set(g->ex, dims, x->meta.rank);
    ex count = count_of(g, &x->meta, set);
    int64_t all = ex_hint(g->ex, meta_numel(g->ex, &x->meta)), columns = ex_hint(g->ex, count);
    int64_t rows = columns ? all / columns : 0;
    bool inner = rows_are_inner(g, &x->meta, set);
    if (device_rows_apart(limits, rows, columns, inner)) return true;
    return columns * dtype_bytes(x->meta.dtype) > device_kept_bytes(limits, inner);
}

static bool rewrite(struct graph *g, struct node *v, const struct device_limits *limits,
                    const bool *behind) {
    enum op op = OP_M2;
    if (v->op != OP_SUM || v->meta.dtype != dtype_opmath(v->meta.dtype)) return false;
    const struct node *x = squared_deviation(g, v);
    if (!x) op = OP_EXPSUM, x = shifted_exponent(g, v);
    if (!x || x->meta.dtype != v->meta.dtype) return false;
    bool asked = behind && op == OP_M2 && behind[x - g->nodes.at];
    if (!asked && !graph_rows_have_passes(g, x, &v->args[1], limits)) return false;
    struct arg *args = NEW_ARRAY(g->arena, struct arg, 3);
    args[0] = arg_node((node_id)(x - g->nodes.at));
    args[1] = v->args[1];
    args[2] = v->args[2];
    v->op = op;
    v->args = args;
    v->n_args = 3;
    return true;
}

int graph_one_pass(struct graph *g, const struct device_limits *limits, bool behind) {
    int rewritten = 0;
    if (limits->kind == DEVICE_CPU) return 0;
    const bool *of = behind ? behind_products(g) : NULL;
    for (node_id n = 0; n < g->nodes.n; n++) rewritten += rewrite(g, &g->nodes.at[n], limits, of);
    return rewritten;
}
