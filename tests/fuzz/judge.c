/* judge.c: tell a wrong result from a rounded one, element by element.
 *
 *   %y = sub(%a, %b)         where a and b agree in 6 digits: the result has 1 correct digit
 *   %z = floor(%y)           and this jumps
 *
 * No tolerance by type fits such graphs: an element may be as far from the reference as the bound
 * of its own says that roundings take it (graph/bound.c), wherever values are stored.
 *
 * Integers have no rounding. Where one overflows, or is infinite because of a division by zero, the
 * reference (doubles) and every machine differ, and the graph is called wild. */
#include "tests/fuzz/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/drive.h"

struct judge {
    struct arena *a;
    struct graph *g;
    const struct value *in, *want;
    double **bound; /* of each output; NULL before it is needed */
    bool keeps_nan;
    int64_t forgiven;
};

struct judge *judge_new(struct arena *a, struct graph *g, const struct value *in,
                        const struct value *want) {
    struct judge *j = NEW(a, struct judge);
    *j = (struct judge){.a = a, .g = g, .in = in, .want = want};
    return j;
}

void judge_keeps_nan(struct judge *j) { j->keeps_nan = true; }

int64_t judge_forgiven(const struct judge *j) { return j->forgiven; }

static const struct meta *output_meta(const struct judge *j, uint32_t o) {
    return &j->g->nodes.at[j->g->outputs.at[o]].meta;
}

static double as_stored(enum dtype t, double v) {
    double cell;
    dtype_store(t, &cell, 0, v);
    return dtype_load(t, &cell, 0);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static void make_bounds(struct judge *j) {
    struct rounding how = {.device = DEVICE_CUDA, .stores = true};
    struct diag d = diag_new(j->a);
    uint32_t n = j->g->outputs.n;
    if (j->bound) return;
    struct value *out = calloc(n, sizeof *out);
    if (!graph_eval(graph_bound(graph_sums_either_way(j->g), how), j->in, out, &d))
        WS_BUG("bounds: %s", d.text);
    j->bound = NEW_ARRAY(j->a, double *, n);
    for (uint32_t o = 0; o < n; o++) { /* of the arena, as j is */
        j->bound[o] = NEW_ARRAY(j->a, double, out[o].n);
        for (int64_t i = 0; i < out[o].n; i++) j->bound[o][i] = out[o].v[i];
    }
    for (uint32_t o = 0; o < n; o++) value_free(&out[o]);
    free(out);
}

static bool is_within(double got, double want, double bound) {
    if (bound == INFINITY || isnan(bound)) return true;
    return isfinite(got) && isfinite(want) && fabs(got - want) <= bound;
}

bool judge_output(struct judge *j, uint32_t o, const double *got, struct diag *d) {
    const struct value *want = &j->want[o];
    enum dtype t = output_meta(j, o)->dtype;
    for (int64_t i = 0; i < want->n; i++) {
        double g = got[i], w = value_number(want, i);
        if ((isnan(g) && isnan(w)) || g == w || g == as_stored(t, w)) continue;
        make_bounds(j);
        double bound = j->bound[o][i];
        j->forgiven += bound == INFINITY || isnan(bound);
        bool lost = j->keeps_nan && isnan(w);
        if (!lost && is_within(g, w, bound)) continue;
        diag_fail(d, WS_WRONG, "output %u: element %lld is %.9g, not %.9g (off by %.3g at most)", o,
                  (long long)i, g, w, bound);
        return false;
    }
    return true;
}

/* ---- integers -------------------------------------------------------------------------------- */

static node_id must_call(struct graph *g, enum op op, const struct arg *args, int n) {
    struct diag d = diag_new(g->arena);
    node_id out;
    if (!graph_call(g, op, args, n, (struct span){0}, &d, &out)) WS_BUG("judge: %s", d.text);
    return out;
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
    const struct node n = g->nodes.at[product];
    struct arg args[MAX_PARAMS], as[] = {n.args[0], arg_dtype(DT_F64)};
    for (int i = 0; i < n.n_args; i++)
        args[i] = n.args[i].kind == ARG_DTYPE ? arg_none() : n.args[i];
    args[0] = arg_node(must_call(g, OP_CAST, as, 2));
    return must_call(g, n.op, args, n.n_args);
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
