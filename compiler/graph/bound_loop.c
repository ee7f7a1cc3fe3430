/* bound_loop.c: how far off the steps of a loop may be: a loop that carries values and what they
 * may be off by.
 *
 *   loop([%h0, %xs, %u], carried=[0, -1, -1], ..)
 * ->
 *   loop([%h0, %xs, %u, %e0, %ex], carried=[0, -1, -1, 1, -1], ..)     body: h', e of h'
 *
 * Within a step everything is as outside, but for products: what their factors are off by from
 * steps before is taken as independent from element to element, |A|^2 e_B^2 summed up and its root
 * taken, as random errors add up. In absolute values a matrix of n columns would make an error up
 * to n times the largest entry as large in each step, whatever a right program does, and nothing
 * could be said of the 20th; with the roots it grows as the loop itself makes a difference grow. */
#include "graph/bound.h"
#include "graph/loop.h"

struct bounded {
    struct graph *body;
    VEC(node_id) operands;
    VEC(ex) role[LOOP_STEPS]; /* carried, first, way */
};

static void add_operand(struct bounds *w, struct bounded *l, node_id x, const struct loop_role *r,
                        uint32_t output) {
    struct graph *g = bounds_graph(w);
    bool carried = r->is == LOOP_IS_CARRIED;
    vec_push(g->arena, &l->operands, x);
    vec_push(g->arena, &l->role[LOOP_CARRIED], ex_const(g->ex, carried ? (int64_t)output : -1));
    vec_push(g->arena, &l->role[LOOP_FIRST], ex_const(g->ex, r->first));
    vec_push(g->arena, &l->role[LOOP_WAY], ex_const(g->ex, r->way));
}

static node_id error_input(struct bounds *in, const char *name, const struct meta *m) {
    struct meta f64 = *m;
    f64.dtype = DT_F64;
    meta_contiguous(bounds_graph(in)->ex, &f64);
    uint32_t n = bounds_graph(in)->inputs.n;
    return graph_input(bounds_graph(in), name, INPUT_ARG, NULL, &f64, n);
}

/* Inputs of the body: its own, then what those may be off by. */
static void add_inputs(struct bounds *w, struct bounds *in, struct bounded *l,
                       const struct node *n) {
    const struct graph *body = in->from;
    for (uint32_t i = 0; i < body->inputs.n; i++) {
        struct loop_role r = loop_role(w->from, n->args, i);
        node_id id = body->inputs.at[i].node;
        in->value[id] = graph_copy(bounds_graph(in), body, id, NULL);
        in->error[id] = EXACT;
        add_operand(w, l, w->value[n->args[LOOP_OPERANDS].nodes.at[i]], &r, r.output);
    }
    for (uint32_t i = 0; i < body->inputs.n; i++) {
        struct loop_role r = loop_role(w->from, n->args, i);
        node_id id = body->inputs.at[i].node, x = n->args[LOOP_OPERANDS].nodes.at[i];
        node_id e = w->error[x];
        if (e == EXACT && r.is != LOOP_IS_CARRIED) continue;
        if (e == EXACT) e = zeros_like(w, w->value[x]);
        in->error[id] = error_input(in, "error", &body->nodes.at[id].meta);
        add_operand(w, l, e, &r, body->outputs.n + r.output);
    }
}

static node_id make_loop(struct bounds *w, const struct bounded *l, const struct node *n,
                         uint32_t output) {
    struct graph *g = bounds_graph(w);
    struct arg args[LOOP_ARGUMENTS];
    args[LOOP_OPERANDS] = (struct arg){.kind = ARG_NODES};
    args[LOOP_OPERANDS].nodes.at = l->operands.at;
    args[LOOP_OPERANDS].nodes.n = l->operands.n;
    for (int k = LOOP_CARRIED; k <= LOOP_WAY; k++)
        args[k] = arg_ints(g, l->role[k].at, l->role[k].n);
    args[LOOP_STEPS] = n->args[LOOP_STEPS];
    args[LOOP_BODY] = (struct arg){.kind = ARG_GRAPH, .graph = l->body};
    args[LOOP_OUTPUT] = arg_int(g, output);
    return build_call(&w->b, OP_LOOP, args, LOOP_ARGUMENTS);
}

static void bound_body(struct bounds *w, struct bounded *l, const struct node *n) {
    struct graph *body = n->args[LOOP_BODY].graph, *to = graph_like(body);
    struct bounds in = bounds_new(body, to, w->how);
    in.in_loop = true;
    add_inputs(w, &in, l, n);
    bounds_pass(&in);
    for (uint32_t i = 0; i < body->outputs.n; i++)
        vec_push(to->arena, &to->outputs, in.value[body->outputs.at[i]]);
    for (uint32_t i = 0; i < body->outputs.n; i++) {
        node_id x = body->outputs.at[i], e = in.error[x];
        vec_push(to->arena, &to->outputs, e == EXACT ? zeros_like(&in, in.value[x]) : e);
    }
    l->body = to;
}

node_id bound_loop(struct bounds *w, node_id id) {
    const struct node *n = &w->from->nodes.at[id];
    uint32_t n_outputs = n->args[LOOP_BODY].graph->outputs.n;
    node_id first = 0;
    while (!loop_same(&w->from->nodes.at[first], n)) first++;
    if (!w->loops) w->loops = NEW_ARRAY(w->from->arena, struct bounded *, w->from->nodes.n);
    if (!w->loops[first]) {
        w->loops[first] = NEW(w->from->arena, struct bounded);
        bound_body(w, w->loops[first], n);
    }
    uint32_t k = loop_output(w->from, n->args);
    w->value[id] = make_loop(w, w->loops[first], n, k); /* beside the errors, made once */
    return make_loop(w, w->loops[first], n, n_outputs + k);
}
