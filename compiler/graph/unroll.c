/* unroll.c: loops as the nodes of their steps.
 *
 *   %hs = loop([%h0, %xs], .., steps=2, body=..)  ->  %x = select(%xs, 0, 0); %h = <body>(%h0, %x)
 *                                                      ...; %hs = stack([%h, %h_1])
 *
 * Gradients are taken of these, and roll.c finds loops in what comes of it. */
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/loop.h"

struct unrolling {
    struct graph *to;
    const struct graph *from;
    node_id *map;
};

static node_id must_call(struct unrolling *u, enum op op, const struct arg *args, int n,
                         struct span where) {
    struct diag d = diag_new(u->to->arena);
    node_id out;
    if (!graph_call(u->to, op, args, n, where, &d, &out)) graph_refused(u->to, "unroll", &d);
    return out;
}

static node_id slice_at(struct unrolling *u, node_id x, int64_t at, struct span where) {
    struct arg args[] = {arg_node(x), arg_int(u->to, 0), arg_int(u->to, at)};
    return must_call(u, OP_SELECT, args, 3, where);
}

/* The body once more, over these inputs. */
static void add_step(struct unrolling *u, const struct graph *body, node_id *map, node_id origin) {
    for (node_id id = 0; id < body->nodes.n; id++) {
        if (body->nodes.at[id].op == OP_INPUT) continue;
        map[id] = graph_copy(u->to, body, id, map);
        u->to->nodes.at[map[id]].origin = origin;
    }
}

/* The outputs of all steps: outputs[k * steps + t]. */
static node_id *add_steps(struct unrolling *u, const struct node *n, node_id origin) {
    const struct graph *g = u->from;
    struct graph *body = graph_unroll(n->args[LOOP_BODY].graph);
    uint32_t steps = (uint32_t)loop_steps(g, n->args), n_outputs = body->outputs.n;
    node_id *outputs = NEW_ARRAY(u->to->arena, node_id, steps * n_outputs);
    node_id *map = NEW_ARRAY(u->to->arena, node_id, body->nodes.n);
    for (uint32_t t = 0; t < steps; t++) {
        for (uint32_t i = 0; i < body->inputs.n; i++) {
            struct loop_role r = loop_role(g, n->args, i);
            node_id x = u->map[n->args[LOOP_OPERANDS].nodes.at[i]];
            if (r.is == LOOP_IS_SLICED) x = slice_at(u, x, r.first + r.way * t, n->where);
            if (r.is == LOOP_IS_CARRIED && t) x = outputs[r.output * steps + t - 1];
            map[body->inputs.at[i].node] = x;
        }
        add_step(u, body, map, origin);
        for (uint32_t k = 0; k < n_outputs; k++) outputs[k * steps + t] = map[body->outputs.at[k]];
    }
    return outputs;
}

static void unroll_loop(struct unrolling *u, node_id id, node_id **outputs) {
    const struct node *n = &u->from->nodes.at[id];
    node_id first = 0;
    while (!loop_same(&u->from->nodes.at[first], n)) first++;
    if (first == id) outputs[id] = add_steps(u, n, n->origin);
    uint32_t steps = (uint32_t)loop_steps(u->from, n->args);
    struct arg stacked = {.kind = ARG_NODES};
    stacked.nodes.at = outputs[first] + loop_output(u->from, n->args) * steps;
    stacked.nodes.n = steps;
    struct arg args[] = {stacked, arg_int(u->to, 0)};
    u->map[id] = must_call(u, OP_STACK, args, 2, n->where);
    u->to->nodes.at[u->map[id]].origin = n->origin;
}

struct graph *graph_unroll(struct graph *g) {
    bool any = false;
    for (node_id id = 0; id < g->nodes.n; id++) any |= g->nodes.at[id].op == OP_LOOP;
    if (!any) return g;
    struct unrolling u = {graph_like(g), g, NEW_ARRAY(g->arena, node_id, g->nodes.n)};
    node_id **outputs = NEW_ARRAY(g->arena, node_id *, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++) {
        if (g->nodes.at[id].op == OP_LOOP)
            unroll_loop(&u, id, outputs);
        else
            u.map[id] = graph_copy(u.to, g, id, u.map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &u.to->outputs, u.map[g->outputs.at[i]]);
    return u.to;
}
