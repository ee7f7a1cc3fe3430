/* flatten.c: a graph with loops as one list of nodes.
 *
 *   %a = ..                                         epoch 0   %a = ..
 *   %hs = loop([%h0, %a, %u], ..,             ->          1   %h = loop_step(%h0), carried
 *              body=graph(%h, %x, %w) { .. })              1   %x = loop_step(%a), sliced
 *   %b = sum(%hs)                                          1   ..
 *                                                          1   %hs = loop_stack(%tanh)
 *                                                          2   %b = sum(%hs)
 *
 * What in a body depends on no step comes before it, in the epoch before. A loop in a loop is
 * unrolled. */
#include "graph/loop.h"
#include "loop/lower_impl.h"

struct flattening {
    struct graph *to;
    const struct graph *from;
    struct flat *flat;
    node_id *map;
    const bool *last; /* by node of `from` */
    uint32_t epoch;
    VEC(uint32_t) epochs;
};

#define NONE UINT32_MAX

/* Nodes that have been made since are of this epoch. */
static void mark(struct flattening *f, uint32_t epoch) {
    while (f->epochs.n < f->to->nodes.n) vec_push(f->to->arena, &f->epochs, epoch);
}

static node_id must_call(struct flattening *f, enum op op, const struct arg *args, int n,
                         const struct node *like) {
    struct diag d = diag_new(f->to->arena);
    node_id out;
    if (!graph_call(f->to, op, args, n, like->where, &d, &out)) WS_BUG("flatten: %s", d.text);
    return out;
}

static void add_inputs(struct flattening *f, const struct node *n, node_id *map) {
    const struct graph *body = n->args[LOOP_BODY].graph;
    for (uint32_t i = 0; i < body->inputs.n; i++) {
        struct loop_role r = loop_role(f->from, n->args, i);
        node_id x = f->map[n->args[LOOP_OPERANDS].nodes.at[i]];
        bool sliced = r.is == LOOP_IS_SLICED;
        struct arg args[] = {arg_node(x), arg_int(f->to, sliced ? -1 : (int64_t)r.output),
                             arg_int(f->to, r.first), arg_int(f->to, sliced ? r.way : 0)};
        if (r.is != LOOP_IS_WHOLE) x = must_call(f, OP_LOOP_STEP, args, 4, n);
        map[body->inputs.at[i].node] = x;
    }
    mark(f, f->epoch + 1);
}

/* Of the body, by node: does it depend on the step? */
static bool *find_changing(struct flattening *f, const struct node *n) {
    const struct graph *body = n->args[LOOP_BODY].graph;
    bool *changes = NEW_ARRAY(f->to->arena, bool, body->nodes.n);
    for (uint32_t i = 0; i < body->inputs.n; i++)
        changes[body->inputs.at[i].node] = loop_role(f->from, n->args, i).is != LOOP_IS_WHOLE;
    for (node_id id = 0; id < body->nodes.n; id++)
        for (int k = 0; k < body->nodes.at[id].n_args; k++) {
            const node_id *at;
            for (int q = arg_nodes(&body->nodes.at[id].args[k], &at); q-- > 0;)
                changes[id] |= changes[at[q]];
        }
    return changes;
}

/* Operators of a body are none of the graph that it is in. */
static node_id own_origin(const struct flattening *f, node_id origin) {
    enum { BODY = 1 << 20 /* nodes that a body, or a graph, has at most */ };
    return (f->epoch / 2 + 1) * BODY + origin;
}

static void add_body(struct flattening *f, const struct node *n, node_id *map) {
    const struct graph *body = n->args[LOOP_BODY].graph;
    const bool *changes = find_changing(f, n);
    for (uint32_t step = 0; step < 2; step++) {
        for (node_id id = 0; id < body->nodes.n; id++) {
            if (body->nodes.at[id].op == OP_INPUT || changes[id] != (step == 1)) continue;
            map[id] = graph_copy(f->to, body, id, map);
            f->to->nodes.at[map[id]].origin = own_origin(f, body->nodes.at[id].origin);
        }
        mark(f, f->epoch + step);
    }
}

static bool is_carried(struct flattening *f, const struct node *n, uint32_t output) {
    const struct graph *body = n->args[LOOP_BODY].graph;
    for (uint32_t i = 0; i < body->inputs.n; i++) {
        struct loop_role r = loop_role(f->from, n->args, i);
        if (r.is == LOOP_IS_CARRIED && r.output == output) return true;
    }
    return false;
}

/* Does a product of the body read what this input is made into? */
static bool feeds_product(struct flattening *f, const struct graph *body, node_id input) {
    bool *from = NEW_ARRAY(f->to->arena, bool, body->nodes.n), any = false;
    from[input] = true;
    for (node_id id = 0; id < body->nodes.n; id++) {
        bool reads = false;
        for (int k = 0; k < body->nodes.at[id].n_args; k++) {
            const node_id *at;
            for (int q = arg_nodes(&body->nodes.at[id].args[k], &at); q-- > 0;)
                reads |= from[at[q]];
        }
        bool product = op_info(body->nodes.at[id].op)->class == MATMUL;
        any |= reads && product;
        from[id] |= reads && !product;
    }
    return any;
}

/* A step's products wait for all of what the step before has left. Where that has memory of its own
 * in each step they need not meet those who still read it, and the step can be judged by itself. */
static bool keeps_state(struct flattening *f, const struct node *n, uint32_t output) {
    enum { MOST = 1 << 26 /* elements of all steps */ };
    const struct graph *body = n->args[LOOP_BODY].graph;
    const struct meta *m = &body->nodes.at[body->outputs.at[output]].meta;
    bool keeps = false;
    if (!f->from->keeps_states) return false;
    if (ex_value(f->to->ex, meta_numel(f->to->ex, m)) > MOST / loop_steps(f->from, n->args))
        return false;
    for (uint32_t i = 0; i < body->inputs.n; i++) {
        struct loop_role r = loop_role(f->from, n->args, i);
        if (r.is == LOOP_IS_CARRIED && r.output == output)
            keeps |= feeds_product(f, body, body->inputs.at[i].node);
    }
    return keeps;
}

/* Every node of the loop, whichever comes first. */
static void add_stacks(struct flattening *f, node_id first, const node_id *map,
                       struct flat_loop *loop) {
    const struct graph *g = f->from;
    const struct node *n = &g->nodes.at[first];
    const struct graph *body = n->args[LOOP_BODY].graph;
    bool *used = NEW_ARRAY(f->to->arena, bool, body->outputs.n);
    for (node_id id = first; id < g->nodes.n; id++) {
        if (!loop_same(n, &g->nodes.at[id])) continue;
        used[loop_output(g, g->nodes.at[id].args)] = true;
        loop->kept[loop_output(g, g->nodes.at[id].args)] |= !f->last[id];
    }
    for (uint32_t k = 0; k < body->outputs.n; k++) {
        loop->kept[k] |= keeps_state(f, n, k);
        bool turns = !loop->kept[k] && loop->steps > LOOP_TURNS;
        struct arg args[] = {arg_node(map[body->outputs.at[k]]),
                             turns ? arg_int(f->to, LOOP_TURNS) : n->args[LOOP_STEPS]};
        bool wanted = used[k] || is_carried(f, n, k);
        loop->stack[k] = wanted ? must_call(f, OP_LOOP_STACK, args, 2, n) : NONE;
    }
    mark(f, f->epoch + 1);
    for (node_id id = first; id < g->nodes.n; id++)
        if (loop_same(n, &g->nodes.at[id]))
            f->map[id] = loop->stack[loop_output(g, g->nodes.at[id].args)];
}

/* By node of a loop: is what the last step has left all that anybody reads? */
static bool *find_last(const struct graph *g) {
    bool *last = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++) last[id] = g->nodes.at[id].op == OP_LOOP;
    for (node_id id = 0; id < g->nodes.n; id++)
        for (int k = 0; k < g->nodes.at[id].n_args; k++) {
            const node_id *at;
            for (int q = arg_nodes(&g->nodes.at[id].args[k], &at); q-- > 0;)
                last[at[q]] &= loop_shows_last(g, id);
        }
    for (uint32_t i = 0; i < g->outputs.n; i++) last[g->outputs.at[i]] = false;
    return last;
}

/* The last step of one that has memory for few. */
static node_id add_last(struct flattening *f, node_id id) {
    const struct node *n = &f->from->nodes.at[id];
    node_id stack = f->map[n->args[0].node];
    int64_t steps = loop_steps(f->from, f->from->nodes.at[n->args[0].node].args);
    int64_t turns = ex_value(f->to->ex, f->to->nodes.at[stack].meta.size[0]);
    int64_t at = (steps - 1) % turns;
    struct arg args[] = {arg_node(stack), arg_int(f->to, 0), arg_int(f->to, at),
                         arg_int(f->to, at + 1), arg_int(f->to, 1)};
    return must_call(f, OP_SLICE, args, 5, n);
}

static void add_loop(struct flattening *f, node_id id) {
    const struct node *n = &f->from->nodes.at[id];
    struct graph *body = n->args[LOOP_BODY].graph;
    node_id *map = NEW_ARRAY(f->to->arena, node_id, body->nodes.n);
    struct flat_loop loop = {.steps = loop_steps(f->from, n->args)};
    loop.stack = NEW_ARRAY(f->to->arena, node_id, body->outputs.n);
    loop.kept = NEW_ARRAY(f->to->arena, bool, body->outputs.n);
    mark(f, f->epoch);
    add_inputs(f, n, map);
    add_body(f, n, map);
    add_stacks(f, id, map, &loop);
    vec_push(f->to->arena, &f->flat->loops, loop);
    f->epoch += 2;
}

static bool is_first(const struct graph *g, node_id id) {
    for (node_id k = 0; k < id; k++)
        if (loop_same(&g->nodes.at[k], &g->nodes.at[id])) return false;
    return true;
}

const struct flat *graph_flatten(const struct graph *g) {
    bool any = false;
    for (node_id id = 0; id < g->nodes.n; id++) any |= g->nodes.at[id].op == OP_LOOP;
    if (!any) return NULL;
    struct flat *flat = NEW(g->arena, struct flat);
    struct flattening f = {.to = graph_like(g), .from = g, .flat = flat};
    f.map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    f.last = find_last(g);
    f.to->stores_values = g->stores_values;
    f.to->in_doubles = g->in_doubles;
    f.to->returns_inputs = g->returns_inputs;
    for (node_id id = 0; id < g->nodes.n; id++) {
        if (loop_shows_last(g, id))
            f.map[id] = add_last(&f, id);
        else if (g->nodes.at[id].op != OP_LOOP)
            f.map[id] = graph_copy(f.to, g, id, f.map);
        else if (is_first(g, id))
            add_loop(&f, id);
        mark(&f, f.epoch);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &f.to->outputs, f.map[g->outputs.at[i]]);
    *flat = (struct flat){.g = f.to, .epoch = f.epochs.at, .loops = flat->loops};
    return flat;
}
