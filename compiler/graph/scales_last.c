/* scales_last.c: a factor that is scaled by a number, as the product scaled by it.
 *
 *   %q = slice(%qkv, ..)                    %q = slice(%qkv, ..)
 *   %m = mul(%q, 0.125)                     %s = bmm(%q, %kt)
 *   %s = bmm(%m, %kt)                       %m = mul(%s, 0.125)
 *   %e = exp(%m - amax(%m))                 %e = exp(%m - amax(%m))
 *
 * Queries are part of what a product has stored, and matrix units take factors from memory: scaled
 * ones would be written there by a kernel of their own. Behind the product a number costs nothing.
 * What is made element by element, or is all of a product, takes the number along itself.
 *
 * f16 stays: a factor may be scaled so that the product does not overflow; and so do numbers that
 * may be there for that in f32. Needs: a decomposed,
 * simplified graph. Keeps: values, but for roundings. */
#include <math.h>

#include "graph/graph_impl.h"

static bool is_product(const struct node *n) { return n->op == OP_MM || n->op == OP_BMM; }
static bool is_view(const struct node *n) { return op_info(n->op)->class == VIEW; }

/* Which nodes are factors of products alone, by way of views. */
static bool *find_factors(const struct graph *g) {
    bool *factor = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++) factor[id] = true;
    for (uint32_t i = 0; i < g->outputs.n; i++) factor[g->outputs.at[i]] = false;
    for (node_id id = g->nodes.n; id-- > 0;) {
        const struct node *n = graph_node(g, id);
        bool passes = is_product(n) || (is_view(n) && factor[id]);
        for (int i = 0; i < n->n_args && !passes; i++) {
            const node_id *of;
            for (int k = arg_nodes(&n->args[i], &of); k-- > 0;) factor[of[k]] = false;
        }
    }
    return factor;
}

/* Does it lie in memory as a part of something, or as an input? */
static bool is_part(const struct graph *g, node_id id) {
    for (; is_view(graph_node(g, id)); id = graph_node(g, id)->args[0].node)
        if (graph_node(g, id)->op == OP_SLICE) return true;
    return graph_node(g, id)->op == OP_INPUT;
}

/* The tensor and the number of such a scaling; false: it is none. */
static bool find_scale(const struct graph *g, node_id id, const bool *factor, double *by) {
    const struct node *n = graph_node(g, id);
    enum dtype d = n->meta.dtype;
    if ((n->op != OP_MUL && n->op != OP_DIV) || !factor[id] || (d != DT_F32 && d != DT_BF16))
        return false;
    if (n->args[0].kind != ARG_NODE || graph_node(g, n->args[0].node)->meta.dtype != d)
        return false;
    if (n->args[1].kind != ARG_INT && n->args[1].kind != ARG_FLOAT) return false;
    if (n->args[1].kind == ARG_INT && !ex_is_const(g->ex, n->args[1].i, NULL)) return false;
    static const double MOST_SCALE = 1 << 16;
    double number = arg_number(g, &n->args[1]);
    if (n->op == OP_DIV) number = 1 / number;
    if (fabs(number) < 1 / MOST_SCALE || fabs(number) > MOST_SCALE || !is_part(g, n->args[0].node))
        return false;
    *by = number;
    return true;
}

static node_id scaled(struct graph *to, node_id x, double by, struct span where) {
    struct arg args[] = {arg_node(x), arg_float(by)};
    struct diag d = diag_new(to->arena);
    node_id out;
    if (!graph_call(to, OP_MUL, args, 2, where, &d, &out)) graph_refused(to, "scales last", &d);
    return out;
}

struct graph *graph_scales_last(struct graph *g) {
    bool any = false, *factor = find_factors(g);
    double *by = NEW_ARRAY(g->arena, double, g->nodes.n); /* what a factor is yet to be scaled by */
    for (node_id id = 0; id < g->nodes.n; id++) any |= find_scale(g, id, factor, &by[id]);
    if (!any) return g;
    struct graph *to = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *n = graph_node(g, id);
        by[id] = 1;
        if (find_scale(g, id, factor, &by[id])) {
            map[id] = map[n->args[0].node];
            by[id] *= by[n->args[0].node];
        } else if (is_view(n) && by[n->args[0].node] != 1) {
            struct arg *args = NEW_ARRAY(to->arena, struct arg, n->n_args);
            for (int i = 0; i < n->n_args; i++) args[i] = arg_map(to, &n->args[i], map);
            map[id] = graph_call_like(to, "scales last", n, args);
            by[id] = by[n->args[0].node];
        } else {
            map[id] = graph_copy(to, g, id, map);
            double all = is_product(n) ? by[n->args[0].node] * by[n->args[1].node] : 1;
            if (all == 1) continue;
            map[id] = scaled(to, map[id], all, n->where);
            to->nodes.at[map[id]].origin = n->origin;
        }
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return graph_prune(to);
}
