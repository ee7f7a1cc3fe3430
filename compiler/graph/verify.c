/* verify.c: the invariants G1..G6 of graph.h. Read-only; says the first one broken and where. */
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/loop.h"

static const char *check_order(struct graph *g, node_id id) {
    const struct node *n = &g->nodes.at[id];
    for (int i = 0; i < n->n_args; i++) {
        const node_id *at;
        int k = arg_nodes(&n->args[i], &at);
        while (k--)
            if (at[k] >= id)
                return arena_printf(g->arena, "G1: %%%s uses node %u, which is not before it",
                                    n->name, at[k]);
    }
    return NULL;
}

static bool kind_fits(const struct param *p, enum arg_kind k) {
    bool number = k == ARG_INT || k == ARG_FLOAT || k == ARG_BOOL;
    if (k == ARG_NONE) return p->optional;
    switch (p->kind) {
    case 'T': return k == (p->list ? ARG_NODES : ARG_NODE);
    case '|': return k == ARG_NODE || number;
    case 'I':
    case 'D': return k == (p->list ? ARG_INTS : ARG_INT);
    case 'S': return number;
    case 'F': return k == ARG_FLOAT;
    case 'B': return k == ARG_BOOL;
    case 'Y': return k == ARG_DTYPE;
    case 's': return k == ARG_STR;
    case 'G': return k == ARG_GRAPH;
    }
    return false;
}

static const char *check_schema(struct graph *g, const struct node *n) {
    const struct op_info *op = op_info(n->op);
    if (n->n_args != op->n_params)
        return arena_printf(g->arena, "G2: %%%s has %d arguments, %s takes %d", n->name, n->n_args,
                            op->name, op->n_params);
    for (int i = 0; i < n->n_args; i++)
        if (!kind_fits(&op->params[i], n->args[i].kind))
            return arena_printf(g->arena, "G2: %%%s: argument '%s' is of the wrong kind", n->name,
                                op->params[i].name);
    return NULL;
}

static bool meta_equal(const struct meta *a, const struct meta *b) {
    size_t n = a->rank * sizeof(ex);
    return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->size, b->size, n) &&
           !memcmp(a->stride, b->stride, n);
}

static const char *check_meta(struct graph *g, const struct node *n) {
    struct diag d = diag_new(g->arena);
    struct meta m;
    if (n->op == OP_INPUT) return NULL;
    if (!graph_meta(g, n->op, n->args, n->where, &d, &m))
        return arena_printf(g->arena, "G3: %%%s cannot be: %s", n->name, d.text);
    if (!meta_equal(&m, &n->meta))
        return arena_printf(g->arena, "G3: %%%s: type is not what %s yields", n->name,
                            op_info(n->op)->name);
    return NULL;
}

/* Can input i have the value of node n? Memory may lie otherwise. */
static bool is_value_of(const struct graph *g, uint32_t i, node_id n) {
    const struct meta *in = &g->nodes.at[i].meta, *m = &g->nodes.at[n].meta;
    return in->dtype == m->dtype && in->rank == m->rank &&
           !memcmp(in->size, m->size, in->rank * sizeof(ex));
}

static const char *check_leaves(struct graph *g) {
    uint32_t n_inputs = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) n_inputs += g->nodes.at[i].op == OP_INPUT;
    if (n_inputs != g->inputs.n) return "G4: INPUT nodes and graph.inputs differ in number";
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i].node != i || g->nodes.at[i].op != OP_INPUT)
            return arena_printf(g->arena, "G4: input %u is not node %u", i, i);
    if (!g->outputs.n) return "G4: there is no output";
    for (uint32_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i] >= g->nodes.n)
            return arena_printf(g->arena, "G4: output %u is no node", i);
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        uint32_t k = g->inputs.at[i].becomes;
        bool fits = !k || (k <= g->outputs.n && is_value_of(g, i, g->outputs.at[k - 1]));
        for (uint32_t j = 0; k && j < i; j++) fits &= g->inputs.at[j].becomes != k;
        if (!fits)
            return arena_printf(g->arena, "G4: %%%s cannot become output %u", g->nodes.at[i].name,
                                k - 1);
    }
    return NULL;
}

static const char *check_names(struct graph *g) {
    struct arena *scratch = arena_new();
    struct map seen = map_new(scratch);
    const char *why = NULL;
    map_reserve(&seen, g->nodes.n);
    for (uint32_t i = 0; !why && i < g->nodes.n; i++) {
        const char *name = g->nodes.at[i].name;
        if (!name || !is_identifier(name))
            why = arena_printf(g->arena, "G5: node %u has no name", i);
        else if (!map_puts(&seen, name, i))
            why = arena_printf(g->arena, "G5: two nodes are called %%%s", name);
    }
    arena_free(scratch);
    return why;
}

static bool seen_body(const struct graph *g, node_id id) {
    for (node_id k = 0; k < id; k++)
        if (g->nodes.at[k].op == OP_LOOP &&
            g->nodes.at[k].args[LOOP_BODY].graph == g->nodes.at[id].args[LOOP_BODY].graph)
            return true;
    return false;
}

const char *graph_verify(struct graph *g, bool decomposed) {
    const char *why = check_names(g);
    if (!why) why = check_leaves(g);
    for (uint32_t i = 0; !why && i < g->nodes.n; i++) {
        const struct node *n = &g->nodes.at[i];
        why = check_order(g, i);
        if (!why) why = check_schema(g, n);
        if (!why) why = check_meta(g, n);
        if (!why && n->op == OP_LOOP && !seen_body(g, i))
            why = graph_verify(n->args[LOOP_BODY].graph, decomposed);
        if (!why && decomposed && op_info(n->op)->class == COMPOSITE)
            why =
                arena_printf(g->arena, "G6: %%%s is a composite %s", n->name, op_info(n->op)->name);
    }
    return why;
}
