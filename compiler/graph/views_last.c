/* views_last.c: what is scanned is computed on before the axis of the scan is split.
 *
 *   %c = cumsum(%x, 1)                             %c = cumsum(%x, 1)
 *   %v = view(%c, [8, 4, 128, 64])                 %m = mul(%c, 0.5)
 *   %y = mul(%v, 0.5)                              %y = view(%m, [8, 4, 128, 64])
 *
 * A scan goes along its axis as one: what has it in two is another kernel, which reads again all
 * that the scan has stored. Elements do not care about shapes, as long as nothing else is combined
 * with them.
 *
 * Needs: a decomposed, simplified graph. Breaks: nothing. */
#include "graph/graph_impl.h"

/* Has the view a dimension that is the one along which it was scanned? */
static bool keeps_axis(struct graph *g, const struct node *view, const struct node *scan) {
    struct exprs *p = g->ex;
    const struct meta *from = &scan->meta, *to = &view->meta;
    int dim = 0;
    int64_t along;
    if (!ex_is_const(p, scan->args[1].i, &along)) return true;
    along += along < 0 ? from->rank : 0;
    ex before = ex_const(p, 1), reached = ex_const(p, 1);
    for (int d = 0; d < along; d++) before = ex_mul(p, before, from->size[d]);
    while (dim < to->rank && reached != before) reached = ex_mul(p, reached, to->size[dim++]);
    while (dim < to->rank && to->size[dim] == ex_const(p, 1) && from->size[along] != to->size[dim])
        dim++;
    return dim < to->rank && to->size[dim] == from->size[along];
}

static bool splits_scan(struct graph *g, const struct node *n) {
    if (n->op != OP_VIEW) return false;
    const struct node *x = graph_node(g, n->args[0].node);
    return op_info(x->op)->class == SCAN && x->meta.rank && !keeps_axis(g, n, x);
}

struct graph *graph_views_last(struct graph *g) {
    uint32_t n = g->nodes.n;
    node_id *map = NEW_ARRAY(g->arena, node_id, n);
    node_id *inner = NEW_ARRAY(g->arena, node_id, n); /* in the shape of the scan */
    node_id *view = NEW_ARRAY(g->arena, node_id, n);  /* by which it is seen */
    bool any = false;
    for (node_id i = 0; i < n; i++) any |= splits_scan(g, graph_node(g, i));
    if (!any) return g;
    struct graph *to = graph_like(g);
    for (node_id i = 0; i < n; i++) {
        const struct node *x = graph_node(g, i);
        node_id of = only_operand_of(x);
        inner[i] = NO_NODE;
        if (splits_scan(g, x)) inner[i] = map[x->args[0].node], view[i] = i;
        if (of == NO_NODE || inner[of] == NO_NODE) {
            map[i] = graph_copy(to, g, i, map);
            continue;
        }
        struct arg *args = NEW_ARRAY(to->arena, struct arg, x->n_args);
        for (int a = 0; a < x->n_args; a++)
            args[a] = x->args[a].kind == ARG_NODE ? arg_node(inner[of]) : x->args[a];
        inner[i] = graph_call_like(to, "views last", x, args), view[i] = view[of];
        to->nodes.at[inner[i]].origin = x->origin;
        struct arg seen[] = {arg_node(inner[i]), graph_node(g, view[i])->args[1]};
        map[i] = graph_call_like(to, "views last", graph_node(g, view[i]), seen);
        to->nodes.at[map[i]].origin = x->origin;
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return graph_simplify(to);
}
