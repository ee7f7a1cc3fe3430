/* wide_scores.c: products of f16 or bf16 that are converted wherever they are read are
 * summed up in f32, and never rounded: f16 has nothing beyond 65,504, bf16 three digits.
 *
 *   %s = bmm(%q, %k): f16                %a = convert(%q, f32), %b = convert(%k, f32)
 *   %v = view(%s, [2, 4, 8, 8])          %s = bmm(%a, %b): f32
 *   %c = convert(%v, dtype=f32)          %c = view(%s, [2, 4, 8, 8])
 *
 * Attention's scores are such. For whom products are no faster in f16: a CPU, and the interpreter.
 * A cast that the user wrote rounds, and so does what is stored.
 *
 * Needs: a decomposed graph. Breaks: nothing. */
#include "graph/graph_impl.h"

static bool is_product(const struct node *n) {
    bool half = n->meta.dtype == DT_F16 || n->meta.dtype == DT_BF16;
    return half && (n->op == OP_MM || n->op == OP_BMM || n->op == OP_MATMUL);
}

static bool widens(const struct node *n) { return n->op == OP_CONVERT && n->meta.dtype == DT_F32; }

/* Which nodes are read as they are, rounded: by anything but views and conversions, or outputs. */
static bool *rounded_nodes(const struct graph *g) {
    bool *rounded = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (uint32_t i = 0; i < g->outputs.n; i++) rounded[g->outputs.at[i]] = true;
    for (node_id i = g->nodes.n; i-- > 0;) {
        const struct node *n = &g->nodes.at[i];
        bool passes = widens(n) || (op_info(n->op)->class == VIEW && !rounded[i]);
        for (int k = 0; k < n->n_args && !passes; k++) {
            const struct arg *a = &n->args[k];
            if (a->kind == ARG_NODE) rounded[a->node] = true;
            for (uint32_t j = 0; a->kind == ARG_NODES && j < a->nodes.n; j++)
                rounded[a->nodes.at[j]] = true;
        }
    }
    return rounded;
}

static node_id call(struct graph *to, enum op op, struct arg x, struct arg y, struct span where) {
    struct arg args[] = {x, y};
    struct diag d = diag_new(to->arena);
    node_id out;
    if (!graph_call(to, op, args, 2, where, &d, &out)) graph_refused(to, "wide scores", &d);
    return out;
}

struct graph *graph_widen_scores(struct graph *g) {
    bool any = false, *rounded = rounded_nodes(g);
    for (node_id i = 0; i < g->nodes.n; i++) any |= is_product(&g->nodes.at[i]) && !rounded[i];
    if (!any) return g;
    struct graph *to = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    node_id *wide = NEW_ARRAY(g->arena, node_id, g->nodes.n); /* the same in f32, or NO_NODE */
    for (node_id i = 0; i < g->nodes.n; i++) {
        const struct node *n = &g->nodes.at[i];
        node_id of = n->n_args && n->args[0].kind == ARG_NODE ? n->args[0].node : NO_NODE;
        node_id x = of == NO_NODE ? NO_NODE : wide[of];
        wide[i] = NO_NODE;
        if (is_product(n) && !rounded[i]) {
            struct arg f32 = arg_dtype(DT_F32);
            node_id a = call(to, OP_CONVERT, arg_node(map[of]), f32, n->where);
            node_id b = call(to, OP_CONVERT, arg_node(map[n->args[1].node]), f32, n->where);
            wide[i] = call(to, n->op, arg_node(a), arg_node(b), n->where);
        } else if (x != NO_NODE && op_info(n->op)->class == VIEW && !rounded[i]) {
            struct arg *args = NEW_ARRAY(to->arena, struct arg, n->n_args);
            memcpy(args, n->args, sizeof *args * (size_t)n->n_args);
            args[0] = arg_node(x);
            wide[i] = graph_call_like(to, "wide scores", n, args);
        }
        map[i] = x != NO_NODE && widens(n) ? x : graph_copy(to, g, i, map);
        if (wide[i] != NO_NODE) to->nodes.at[wide[i]].origin = n->origin;
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return graph_prune(to);
}
