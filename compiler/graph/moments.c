/* moments.c: variances of rows that would be read a second time for them.
 *
 *   %s = sum(%x, dims, True)               %s = sum(%x, dims, True)
 *   %m = div(%s, n)                        %m = div(%s, n)
 *   %d = sub(%x, %m)
 *   %q = mul(%d, %d)
 *   %v = sum(%q, dims)                     %v = m2(%x, dims)
 *
 * Both reductions of the right side go along the elements of x once, and so can be split over
 * blocks. A row that a block or a cluster keeps in its registers is read once as it is, and summing
 * squared differences from a known mean is less work for each element: so this is for rows that are
 * too long to be kept, or too few to fill the device (see too_few_rows in schedule/fuse.c), on a
 * GPU. */
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

static bool pays(const struct graph *g, const struct node *x, uint32_t dims,
                 const struct device_limits *limits) {
    enum { FEW_COLUMNS = 65536 };
    int64_t all = ex_hint(g->ex, meta_numel(g->ex, &x->meta)),
            columns = ex_hint(g->ex, count_of(g, &x->meta, dims));
    int64_t rows = columns ? all / columns : 0;
    if (columns >= FEW_COLUMNS && !device_rows_fill(limits, rows, columns * 4)) return true;
    return columns * dtype_bytes(x->meta.dtype) > device_kept_bytes(limits);
}

static void rewrite(struct graph *g, struct node *v, const struct device_limits *limits) {
    const struct node *q = v->op == OP_SUM ? operand_of(g, v, 0, OP_MUL) : NULL;
    const struct node *d = q ? operand_of(g, q, 0, OP_SUB) : NULL;
    if (!d || q->args[1].kind != ARG_NODE || q->args[1].node != q->args[0].node) return;
    uint32_t dims = dims_set(g->ex, &v->args[1], q->meta.rank);
    if (v->meta.dtype != dtype_opmath(v->meta.dtype) || !is_centered(g, d, dims)) return;
    const struct node *x = &g->nodes.at[d->args[0].node];
    if (x->meta.dtype != v->meta.dtype || !pays(g, x, dims, limits)) return;
    struct arg *args = NEW_ARRAY(g->arena, struct arg, 3);
    args[0] = d->args[0];
    args[1] = v->args[1];
    args[2] = v->args[2];
    v->op = OP_M2;
    v->args = args;
    v->n_args = 3;
}

void graph_take_moments(struct graph *g, const struct device_limits *limits) {
    if (limits->kind == DEVICE_CPU) return;
    for (node_id n = 0; n < g->nodes.n; n++) rewrite(g, &g->nodes.at[n], limits);
}
