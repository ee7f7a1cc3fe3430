/* rebuild.c: graphs made anew from others: without what nobody needs, with numbers in place of
 * symbolic sizes, and with pairs of nodes as something else.
 *
 *   graph(%x: f32[s0], %y: f32[4]) {         prune     graph(%x: f32[s0]) {
 *     %sin = sin(%x)                                     %cos = cos(%x)
 *     %cos = cos(%x)                                     return %cos }
 *     return %cos                            s0 = 7    graph(%x: f32[7]) { %cos: f32[7] ... } */
#include <string.h>

#include "graph/graph_impl.h"

static void mark_arg(const struct arg *a, bool *live) {
    const node_id *at;
    for (int n = arg_nodes(a, &at); n-- > 0;) live[at[n]] = true;
}

/* Which nodes outputs need, and how many they are. */
static bool *find_live(const struct graph *g, uint32_t *kept) {
    bool *live = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (uint32_t i = 0; i < g->outputs.n; i++) live[g->outputs.at[i]] = true;
    for (uint32_t n = g->nodes.n; n-- > 0;)
        for (uint32_t i = 0; live[n] && i < g->nodes.at[n].n_args; i++)
            mark_arg(&g->nodes.at[n].args[i], live);
    *kept = 0;
    for (node_id n = 0; n < g->nodes.n; n++) *kept += live[n];
    return live;
}

void graph_own_origins(struct graph *g) {
    for (node_id n = 0; n < g->nodes.n; n++) g->nodes.at[n].origin = n;
}

struct graph *graph_prune(const struct graph *g) {
    struct graph *out = graph_like(g);
    uint32_t kept;
    bool *live = find_live(g, &kept);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    graph_reserve(out, kept);
    for (int leaves = 1; leaves >= 0; leaves--)
        for (node_id n = 0; n < g->nodes.n; n++)
            if (live[n] && (g->nodes.at[n].op == OP_INPUT) == leaves)
                map[n] = graph_copy(out, g, n, map);
    graph_own_origins(out);
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &out->outputs, map[g->outputs.at[i]]);
    return out;
}

struct graph *graph_drop_unused(const struct graph *g) {
    struct graph *to = graph_like(g);
    uint32_t kept;
    bool *live = find_live(g, &kept);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++) {
        if (!live[id] && g->nodes.at[id].op != OP_INPUT) continue;
        map[id] = graph_copy(to, g, id, map);
        if (id < g->chain.n) vec_push(to->arena, &to->chain, g->chain.at[id]);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &to->outputs, map[g->outputs.at[i]]);
    return to;
}

/* Of inputs first, then of the others: where they will be. */
static node_id *find_places(const struct graph *g, const bool *live) {
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n), next = 0;
    for (int leaves = 1; leaves >= 0; leaves--)
        for (node_id n = 0; n < g->nodes.n; n++)
            if (live[n] && (g->nodes.at[n].op == OP_INPUT) == leaves) map[n] = next++;
    return map;
}

/* Inputs are put aside while the others close up. */
static void move_nodes(struct graph *g, const bool *live) {
    VEC(struct node) inputs = {0};
    node_id first = g->nodes.n;
    for (node_id n = 0; n < g->nodes.n; n++)
        if (live[n] && g->nodes.at[n].op == OP_INPUT) vec_push(g->arena, &inputs, g->nodes.at[n]);
    for (node_id n = g->nodes.n; n-- > 0;)
        if (live[n] && g->nodes.at[n].op != OP_INPUT) g->nodes.at[--first] = g->nodes.at[n];
    if (inputs.n) memcpy(g->nodes.at, inputs.at, inputs.n * sizeof *inputs.at);
    uint32_t others = g->nodes.n - first;
    memmove(g->nodes.at + inputs.n, g->nodes.at + first, others * sizeof *g->nodes.at);
    g->nodes.n = inputs.n + others;
}

static void keep_inputs(struct graph *g, const bool *live, const node_id *map) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        struct graph_input in = g->inputs.at[i];
        if (!live[in.node]) continue;
        in.node = map[in.node];
        g->inputs.at[kept++] = in;
    }
    g->inputs.n = kept;
}

void graph_prune_in_place(struct graph *g) {
    uint32_t kept;
    bool *live = find_live(g, &kept);
    node_id *map = find_places(g, live);
    for (node_id n = 0; n < g->nodes.n; n++)
        map_puts(&g->names, g->nodes.at[n].name, live[n] ? map[n] : NO_NODE);
    g->suffixes = map_new(g->arena); /* as of a graph made anew */
    keep_inputs(g, live, map);
    move_nodes(g, live);
    for (node_id n = 0; n < g->nodes.n; n++) {
        struct node *x = &g->nodes.at[n];
        x->origin = n;
        for (int i = 0; i < x->n_args; i++) {
            if (x->args[i].kind == ARG_NODE) x->args[i].node = map[x->args[i].node];
            for (uint32_t k = 0; x->args[i].kind == ARG_NODES && k < x->args[i].nodes.n; k++)
                x->args[i].nodes.at[k] = map[x->args[i].nodes.at[k]];
        }
    }
    for (uint32_t i = 0; i < g->outputs.n; i++) g->outputs.at[i] = map[g->outputs.at[i]];
}

/* ---- sizes for symbols ----------------------------------------------------------------------- */

struct sizes {
    const ex *from, *to;
    int n;
};

static ex size_of(struct graph *g, const struct sizes *s, ex e) {
    return e == EX_NONE || ex_is_const(g->ex, e, NULL) ? e
                                                       : ex_subst(g->ex, e, s->from, s->to, s->n);
}

static struct arg substitute_arg(struct graph *g, const struct sizes *s, const struct arg *a) {
    struct arg out = arg_copy(g, a);
    if (a->kind == ARG_INT) out.i = size_of(g, s, a->i);
    for (uint32_t i = 0; a->kind == ARG_INTS && i < a->ints.n; i++)
        out.ints.at[i] = size_of(g, s, a->ints.at[i]);
    return out;
}

struct graph *graph_substitute(const struct graph *g, const ex *symbols, const ex *to, uint32_t n,
                               struct arena *a) {
    struct graph *out = graph_new(a, g->ex, g->src);
    struct sizes s = {.from = symbols, .to = to, .n = (int)n};
    out->seed = g->seed;
    out->n_random = g->n_random;
    out->products = g->products;
    out->convolutions = g->convolutions;
    out->fixed = g->fixed;
    out->random_base = size_of(out, &s, g->random_base);
    for (node_id i = 0; i < g->nodes.n; i++) {
        struct node x = g->nodes.at[i];
        x.args = NEW_ARRAY(a, struct arg, x.n_args);
        for (int k = 0; k < x.n_args; k++)
            x.args[k] = substitute_arg(out, &s, &g->nodes.at[i].args[k]);
        for (int k = 0; k < x.meta.rank; k++) {
            x.meta.size[k] = size_of(out, &s, x.meta.size[k]);
            x.meta.stride[k] = size_of(out, &s, x.meta.stride[k]);
        }
        graph_push(out, x, x.name);
    }
    for (uint32_t i = 0; i < g->inputs.n; i++) vec_push(a, &out->inputs, g->inputs.at[i]);
    for (uint32_t i = 0; i < g->outputs.n; i++) vec_push(a, &out->outputs, g->outputs.at[i]);
    return out;
}

struct graph *graph_specialize(const struct graph *g, const ex *symbols, const int64_t *values,
                               uint32_t n, struct arena *a) {
    ex *to = NEW_ARRAY(a, ex, n);
    for (uint32_t i = 0; i < n; i++) to[i] = ex_const(g->ex, values[i]);
    return graph_substitute(g, symbols, to, n, a);
}

struct graph *graph_replace_pairs(struct graph *g, graph_find_fn *find, graph_put_fn *put) {
    uint32_t n = g->nodes.n;
    const uint32_t *uses = graph_use_counts(g);
    node_id *with = NEW_ARRAY(g->arena, node_id, n), *map = NEW_ARRAY(g->arena, node_id, n);
    bool *taken = NEW_ARRAY(g->arena, bool, n), any = false;
    for (node_id i = 0; i < n; i++)
        if ((with[i] = find(g, graph_node(g, i), uses)) != NO_NODE) taken[with[i]] = any = true;
    if (!any) return g;
    struct graph *to = graph_like(g);
    for (node_id i = 0; i < n; i++) {
        if (taken[i]) continue;
        map[i] = with[i] == NO_NODE ? graph_copy(to, g, i, map)
                                    : put(to, graph_node(g, i), graph_node(g, with[i]), map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return to;
}
