/* partition.c: which tensors to keep between forward and backward: those of the fewest bytes that
 * suffice.
 *
 *   y = sigmoid(x) * w, in f32; the backward reads sigmoid(x), its derivative, and w
 *     keep sigmoid, w   8 bytes an element for sigmoid, which is written and read
 *     keep x, w         4 bytes for x, which is there to be read; sigmoid is computed again
 *
 * Minimum cut (Chen et al. 2016 for the idea; the network is that of AOTAutograd's min-cut
 * partitioner): every node that needs no tangent is an edge whose capacity is the memory traffic of
 * saving its value; the source feeds what the backward must not compute again (inputs, reductions,
 * products), and every value that the backward reads leads to the sink. Pointwise nodes, views,
 * constants and random numbers, which are functions of their place, are free to be computed twice.
 * The cut edges are the tensors to save. */
#include "graph/partition.h"

#include "graph/flow.h"
#include "graph/graph_impl.h"

struct cut {
    struct partition *p;
    struct graph *joint;
    uint32_t n_inputs, n_outputs;
    bool *backward; /* per node: made of a tangent */
    bool *output;   /* per node: the forward returns it */
    bool *saved;    /* per node */
};

/* ---- the network ----------------------------------------------------------------------------- */

static const struct node *node_at(const struct cut *c, node_id n) { return &c->joint->nodes.at[n]; }

static int64_t bytes_of(const struct cut *c, node_id n) {
    const struct meta *m = &node_at(c, n)->meta;
    return ex_hint(c->joint->ex, meta_numel(c->joint->ex, m)) * dtype_bytes(m->dtype);
}

/* Computing it a second time is out of the question. Of a product that stands between its factors
 * and another product, as attention's scores do, it costs less than to write it (schedule/chained.c
 * never does). */
static bool computed_once(const struct cut *c, node_id n) {
    enum op_class class = op_info(node_at(c, n)->op)->class;
    if (class == MATMUL) return !graph_is_between(c->joint, n);
    return class == INPUT || class == REDUCE || class == SCAN || class == COMPOSITE ||
           class == LOOP;
}

/* Bytes moved to have it in the backward: read there; written, unless it is in memory anyway; a
 * view must be read for that, too. A constant takes no room where it is used. */
static int64_t cost_to_save(const struct cut *c, node_id n) {
    enum op_class class = op_info(node_at(c, n)->op)->class;
    if (class == CREATE) return FLOW_INFINITE;
    int64_t times = class == INPUT || c->output[n] ? 1 : class == VIEW ? 3 : 2;
    return times * bytes_of(c, n);
}

static void mark_backward(struct cut *c) {
    for (node_id i = 0; i < c->joint->nodes.n; i++) {
        const struct node *n = node_at(c, i);
        c->backward[i] = n->op == OP_INPUT && i >= c->n_inputs;
        for (int k = 0; k < n->n_args; k++) {
            const node_id *at;
            int count = arg_nodes(&n->args[k], &at);
            while (count--) c->backward[i] |= c->backward[at[count]];
        }
    }
}

/* Node n comes in at vertex 2n and goes out at 2n + 1. */
static struct flow *build_network(struct cut *c, uint32_t source, uint32_t sink) {
    struct flow *f = flow_new(c->joint->arena, sink + 1);
    for (node_id i = 0; i < c->joint->nodes.n; i++) {
        const struct node *n = node_at(c, i);
        if (!c->backward[i]) {
            flow_connect(f, 2 * i, 2 * i + 1, cost_to_save(c, i));
            if (computed_once(c, i)) flow_connect(f, source, 2 * i, FLOW_INFINITE);
        }
        for (int k = 0; k < n->n_args; k++) {
            const node_id *at;
            int count = arg_nodes(&n->args[k], &at);
            while (count--)
                if (!c->backward[at[count]])
                    flow_connect(f, 2 * at[count] + 1, c->backward[i] ? sink : 2 * i,
                                 FLOW_INFINITE);
        }
    }
    for (uint32_t i = c->n_outputs; i < c->joint->outputs.n; i++) /* a gradient of no tangent */
        if (!c->backward[c->joint->outputs.at[i]])
            flow_connect(f, 2 * c->joint->outputs.at[i] + 1, sink, FLOW_INFINITE);
    return f;
}

static void choose_saved(struct cut *c) {
    uint32_t n = c->joint->nodes.n, source = 2 * n, sink = 2 * n + 1;
    bool *after = NEW_ARRAY(c->joint->arena, bool, sink + 1);
    flow_cut(build_network(c, source, sink), source, sink, after);
    for (node_id i = 0; i < n; i++)
        c->saved[i] = !c->backward[i] && !after[2 * i] && after[2 * i + 1];
}

/* ---- the two graphs -------------------------------------------------------------------------- */

static void mark_live(const struct graph *g, node_id n, bool *live) {
    const struct node *x = &g->nodes.at[n];
    for (int k = 0; k < x->n_args; k++) {
        const node_id *at;
        int count = arg_nodes(&x->args[k], &at);
        while (count--) live[at[count]] = true;
    }
}

/* Copy what the live nodes need, but for those that are in the graph already. */
static void copy_live(struct graph *to, const struct graph *from, bool *live, const bool *have,
                      node_id *map) {
    for (node_id i = from->nodes.n; i-- > 0;)
        if (live[i] && !have[i]) mark_live(from, i, live);
    for (node_id i = 0; i < from->nodes.n; i++)
        if (live[i] && !have[i]) map[i] = graph_copy(to, from, i, map);
}

static int output_index(const struct graph *g, uint32_t n, node_id x) {
    for (uint32_t i = 0; i < n; i++)
        if (g->outputs.at[i] == x) return (int)i;
    return -1;
}

static void build_forward(struct cut *c) {
    struct graph *g = c->joint, *to = c->p->forward = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    bool *live = NEW_ARRAY(g->arena, bool, g->nodes.n),
         *have = NEW_ARRAY(g->arena, bool, g->nodes.n);
    uint32_t n = c->n_outputs;
    for (node_id i = 0; i < c->n_inputs; i++) map[i] = graph_copy(to, g, i, map), have[i] = true;
    for (uint32_t i = 0; i < n; i++) live[g->outputs.at[i]] = true;
    for (node_id i = 0; i < g->nodes.n; i++) live[i] |= c->saved[i];
    copy_live(to, g, live, have, map);
    for (uint32_t i = 0; i < n; i++) vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    for (node_id i = 0; i < g->nodes.n; i++) {
        if (!c->saved[i]) continue;
        struct saved_tensor s = {.node = i, .is_input = i < c->n_inputs, .index = i};
        int index = output_index(g, n, i);
        if (!s.is_input) {
            s.index = index >= 0 ? (uint32_t)index : to->outputs.n;
            if (index < 0) vec_push(to->arena, &to->outputs, map[i]);
        }
        vec_push(g->arena, &c->p->saved, s);
    }
}

static node_id add_saved_input(struct cut *c, struct graph *to, node_id n) {
    const struct node *x = node_at(c, n);
    struct meta m = x->meta;
    uint32_t init = to->inputs.n;
    if (x->op == OP_INPUT) {
        const struct graph_input *in = &c->joint->inputs.at[n];
        return graph_input(to, x->name, in->kind, in->source, &m, init);
    }
    meta_contiguous(to->ex, &m); /* as the forward writes its outputs */
    const char *source = arena_printf(to->arena, "saved['%s']", x->name);
    return graph_input(to, x->name, INPUT_ARG, source, &m, init);
}

static void build_backward(struct cut *c) {
    struct graph *g = c->joint, *to = c->p->backward = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    bool *live = NEW_ARRAY(g->arena, bool, g->nodes.n),
         *have = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (uint32_t i = 0; i < c->p->saved.n; i++) {
        node_id n = c->p->saved.at[i].node;
        map[n] = add_saved_input(c, to, n), have[n] = true;
    }
    for (uint32_t i = c->n_inputs; i < g->inputs.n; i++) {
        uint32_t init = to->inputs.n;
        map[i] = graph_copy(to, g, i, map), have[i] = true;
        to->inputs.at[init].init = init;
    }
    for (uint32_t i = c->n_outputs; i < g->outputs.n; i++) live[g->outputs.at[i]] = true;
    copy_live(to, g, live, have, map);
    for (uint32_t i = c->n_outputs; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    for (node_id i = 0; i < g->nodes.n; i++)
        if (live[i] && !have[i] && !c->backward[i] &&
            op_info(node_at(c, i)->op)->class == POINTWISE)
            vec_push(g->arena, &c->p->recomputed, i);
}

struct partition *graph_partition(struct graph *joint, uint32_t n_inputs, uint32_t n_outputs) {
    struct arena *a = joint->arena;
    joint = graph_sums_of_products(joint);
    struct partition *p = NEW(a, struct partition);
    *p = (struct partition){.joint = joint, .n_outputs = n_outputs};
    struct cut c = {p, joint, n_inputs, n_outputs, .backward = NEW_ARRAY(a, bool, joint->nodes.n)};
    c.output = NEW_ARRAY(a, bool, joint->nodes.n);
    c.saved = NEW_ARRAY(a, bool, joint->nodes.n);
    for (uint32_t i = 0; i < n_outputs; i++) c.output[joint->outputs.at[i]] = true;
    mark_backward(&c);
    choose_saved(&c);
    build_forward(&c);
    build_backward(&c);
    return p;
}

/* ---- as text --------------------------------------------------------------------------------- */

static void print_saved(struct buf *b, const struct partition *p, const struct saved_tensor *s) {
    const struct node *n = &p->joint->nodes.at[s->node];
    ex bytes = ex_mul(p->joint->ex, meta_numel(p->joint->ex, &n->meta),
                      ex_const(p->joint->ex, dtype_bytes(n->meta.dtype)));
    buf_printf(b, "  %%%s: ", n->name);
    print_meta(b, p->joint, &n->meta);
    buf_printf(b, "  %s bytes", ex_str(b->arena, p->joint->ex, bytes));
    if (s->is_input)
        buf_printf(b, ", input %u\n", s->index);
    else if (s->index < p->n_outputs)
        buf_printf(b, ", output %u\n", s->index);
    else
        buf_puts(b, "\n");
}

void partition_print(struct buf *b, const struct partition *p) {
    ex sum = ex_const(p->joint->ex, 0);
    for (uint32_t i = 0; i < p->saved.n; i++) {
        const struct meta *m = &p->joint->nodes.at[p->saved.at[i].node].meta;
        ex bytes = ex_const(p->joint->ex, dtype_bytes(m->dtype));
        sum = ex_add(p->joint->ex, sum, ex_mul(p->joint->ex, meta_numel(p->joint->ex, m), bytes));
    }
    buf_printf(b, "saved: %u tensor%s, %s bytes\n", p->saved.n, p->saved.n == 1 ? "" : "s",
               ex_str(b->arena, p->joint->ex, sum));
    for (uint32_t i = 0; i < p->saved.n; i++) print_saved(b, p, &p->saved.at[i]);
    buf_puts(b, "recomputed:");
    for (uint32_t i = 0; i < p->recomputed.n; i++)
        buf_printf(b, " %%%s", p->joint->nodes.at[p->recomputed.at[i]].name);
    buf_puts(b, p->recomputed.n ? "\n" : " nothing\n");
}
