/* rounded_once.c: what is compared with its own extremum, in 16 bits, is rounded wherever it is
 * computed.
 *
 *   %x = mul(%a, %b): bf16                     %x = mul(%a, %b): bf16
 *   %m = amax(%x, 1, True)                     %w = convert(%x, f32), %r = to(%w, bf16)
 *   %h = eq(%x, %m)                     ->     %m = amax(%r, 1, True)
 *                                              %h = eq(%r, %m)
 *
 * A kernel keeps a value of 16 bits wider where it does not store it. Another one that reads it, or
 * its extremum, from memory has a rounded number, which hits nothing that is wider: so x would have
 * to be stored, and be read by both (schedule/once.c). Rounded it is one number everywhere, and so
 * is all that it is made of, which is rounded, too, as PyTorch's is.
 *
 * Not of what products have made, whose tiles are stored anyway. Needs: a decomposed graph that is
 * simplified no more, which would take the conversions for nothing. */
#include "graph/graph_impl.h"
#include "graph/traits.h"

enum { MOST_CHAIN = 24, MOST_STEPS = 64 };

struct marks {
    const struct graph *g;
    bool *rounds; /* per node: its result is rounded */
};

static enum op_class class_of(const struct node *n) { return op_info(n->op)->class; }

static bool is_narrow(const struct node *n) {
    return dtype_is_float(n->meta.dtype) && dtype_bytes(n->meta.dtype) == 2;
}

static node_id behind_views(const struct graph *g, node_id n) {
    while (class_of(graph_node(g, n)) == VIEW && graph_node(g, n)->args[0].kind == ARG_NODE)
        n = graph_node(g, n)->args[0].node;
    return n;
}

static bool is_extremum(const struct node *n) { return n->op == OP_AMAX || n->op == OP_AMIN; }

/* Is n made of x element by element, or an extremum of such? */
static bool made_of(const struct graph *g, node_id n, node_id x, int *steps) {
    const struct node *of = graph_node(g, n);
    const node_id *nodes;
    if (n == x) return true;
    bool passes = class_of(of) == POINTWISE || class_of(of) == VIEW || is_extremum(of);
    if (!passes || --*steps < 0) return false;
    for (int i = 0; i < of->n_args; i++)
        for (int k = arg_nodes(&of->args[i], &nodes); k-- > 0;)
            if (made_of(g, nodes[k], x, steps)) return true;
    return false;
}

/* All of 16 bits that n is made of, as far as it is computed; false: a product's, or too much. */
static bool mark_chain(struct marks *m, node_id n, bool *mark, int *left) {
    const struct node *x = graph_node(m->g, n);
    const node_id *nodes;
    if (x->op == OP_INPUT || mark[n]) return true;
    enum op_class class = class_of(x);
    if (class == MATMUL || op_convolves(x->op) || op_is_random(x->op) || --*left < 0) return false;
    bool rounded = x->op == OP_CAST && is_narrow(x) && x->args[0].kind == ARG_NODE &&
                   graph_node(m->g, x->args[0].node)->meta.dtype != x->meta.dtype;
    mark[n] = is_narrow(x) && !rounded && (class == POINTWISE || class == REDUCE || class == SCAN);
    for (int i = 0; i < x->n_args; i++)
        for (int k = arg_nodes(&x->args[i], &nodes); k-- > 0;)
            if (!mark_chain(m, nodes[k], mark, left)) return false;
    return true;
}

static void note(struct marks *m, node_id x, node_id extremum) {
    const struct graph *g = m->g;
    int steps = MOST_STEPS, left = MOST_CHAIN;
    x = behind_views(g, x);
    extremum = behind_views(g, extremum);
    if (!is_narrow(graph_node(g, x)) || graph_node(g, x)->op == OP_INPUT ||
        !is_extremum(graph_node(g, extremum)) || is_extremum(graph_node(g, x)) ||
        !made_of(g, extremum, x, &steps))
        return;
    bool *mark = NEW_ARRAY(g->arena, bool, g->nodes.n);
    if (!mark_chain(m, x, mark, &left)) return;
    for (node_id n = 0; n < g->nodes.n; n++) m->rounds[n] |= mark[n];
}

static node_id call(struct graph *to, enum op op, node_id x, enum dtype t, struct span where) {
    struct arg args[] = {arg_node(x), arg_dtype(t)};
    struct diag d = diag_new(to->arena);
    node_id out;
    if (!graph_call(to, op, args, 2, where, &d, &out)) graph_refused(to, "rounded once", &d);
    return out;
}

struct graph *graph_round_once(struct graph *g) {
    struct marks m = {.g = g, .rounds = NEW_ARRAY(g->arena, bool, g->nodes.n)};
    bool any = false;
    if (g->chain.n) return g;
    for (node_id n = 0; n < g->nodes.n; n++) {
        const struct node *c = graph_node(g, n);
        if (class_of(c) == LOOP) return g;
        if (!op_compares(c->op) || c->args[0].kind != ARG_NODE || c->args[1].kind != ARG_NODE)
            continue;
        note(&m, c->args[0].node, c->args[1].node);
        note(&m, c->args[1].node, c->args[0].node);
    }
    for (node_id n = 0; n < g->nodes.n; n++) any |= m.rounds[n];
    if (!any) return g;
    struct graph *to = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    for (node_id n = 0; n < g->nodes.n; n++) {
        const struct node *x = graph_node(g, n);
        map[n] = graph_copy(to, g, n, map);
        if (!m.rounds[n]) continue;
        node_id wide = call(to, OP_CONVERT, map[n], DT_F32, x->where);
        map[n] = call(to, OP_CAST, wide, x->meta.dtype, x->where);
        to->nodes.at[wide].origin = to->nodes.at[map[n]].origin = x->origin;
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return to;
}
