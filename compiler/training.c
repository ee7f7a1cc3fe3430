/* training.c: from a captured graph to what --mode train or bwd runs.
 *
 *   init() -> x, w                     train   init() -> x, w, t      graph(x, w, t) -> y, dx, dw
 *   graph(x, w) -> y                   bwd     init() -> x, h, t      graph(x, h, t) -> dx, dw
 *
 * The forward that the backward needs is part of the init graph, so that the values of saved
 * tensors are right, and the reference checks gradients like any outputs. */
#include "training.h"

#include "graph/autograd.h"
#include "graph/loop.h"
#include "graph/partition.h"

static const struct meta *meta_at(const struct graph *g, node_id n) { return &g->nodes.at[n].meta; }

static enum ws_status dump(struct stages *s, const char *name, const char *text, struct diag *d) {
    return s ? stage_dump(s, name, LOG_AOT_GRAPHS, text, d) : WS_OK;
}

/* ---- what is differentiated ------------------------------------------------------------------ */

static bool *wanted_inputs(const struct graph *g, int *n) {
    bool *wants = NEW_ARRAY(g->arena, bool, g->inputs.n);
    *n = 0;
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        const struct graph_input *in = &g->inputs.at[i];
        wants[i] = in->kind != INPUT_BUFFER && dtype_has_gradient(meta_at(g, in->node)->dtype);
        *n += wants[i];
    }
    return wants;
}

static bool has_floating_output(const struct graph *g) {
    for (uint32_t i = 0; i < g->outputs.n; i++)
        if (dtype_has_gradient(meta_at(g, g->outputs.at[i])->dtype)) return true;
    return false;
}

static struct graph *joint_graph(struct ws_captured *c, struct stages *s, struct diag *d) {
    int n;
    bool *wants = wanted_inputs(c->graph, &n);
    if (!n || !has_floating_output(c->graph)) {
        diag_fail(d, WS_WRONG, "%s: nothing to differentiate: no %s is floating", c->workload,
                  n ? "output" : "argument or parameter");
        return NULL;
    }
    struct graph *joint = graph_backward(c->graph, wants, d);
    if (!joint) return NULL;
    joint = graph_hoist(joint);
    const char *why = graph_verify(joint, false);
    if (why) WS_BUG("after autograd: %s", why);
    struct buf b = buf_new(c->arena);
    graph_print(&b, joint);
    return dump(s, "fx_joint_graph.txt", b.p, d) == WS_OK ? joint : NULL;
}

/* ---- values of the inputs -------------------------------------------------------------------- */

static node_id copy_nodes(struct graph *to, const struct graph *from, node_id *map) {
    for (node_id i = 0; i < from->nodes.n; i++)
        if (from->nodes.at[i].op != OP_INPUT) map[i] = graph_copy(to, from, i, map);
    return to->nodes.n;
}

/* The init graph without outputs; values[i] becomes the node that is input i's value. */
static struct graph *reopen_init(const struct ws_captured *c, node_id *values) {
    node_id *map = NEW_ARRAY(c->arena, node_id, c->init->nodes.n);
    struct graph *to = graph_like(c->init);
    copy_nodes(to, c->init, map);
    for (uint32_t i = 0; i < c->graph->inputs.n; i++)
        values[i] = map[c->init->outputs.at[c->graph->inputs.at[i].init]];
    if (to->n_random < c->graph->n_random) to->n_random = c->graph->n_random;
    return to;
}

static node_id make_tangent(struct graph *init, const struct meta *m, bool one) {
    struct diag d = diag_new(init->arena);
    struct arg shape = arg_ints(init, m->size, m->rank);
    struct arg ones[] = {shape, arg_float(1), arg_dtype(m->dtype)};
    struct arg normal[] = {shape, arg_int(init, init->n_random), arg_dtype(m->dtype)};
    node_id out;
    if (!graph_call(init, one ? OP_FULL : OP_RANDN, one ? ones : normal, 3, (struct span){0}, &d,
                    &out))
        WS_BUG("tangent: %s", d.text);
    return out;
}

/* Tangents are the joint graph's last inputs. */
static void add_tangents(const struct ws_captured *c, const struct graph *joint,
                         struct graph *init) {
    const struct graph *g = c->graph;
    bool number = g->outputs.n == 1 && meta_at(g, g->outputs.at[0])->rank == 0;
    for (uint32_t i = g->inputs.n; i < joint->inputs.n; i++) {
        const struct meta *m = meta_at(joint, joint->inputs.at[i].node);
        vec_push(init->arena, &init->outputs, make_tangent(init, m, number));
    }
}

/* The forward, made part of the init graph: node of `forward` -> node of `init`. */
static node_id *inline_forward(const struct graph *forward, struct graph *init,
                               const node_id *values) {
    node_id *map = NEW_ARRAY(init->arena, node_id, forward->nodes.n);
    for (uint32_t i = 0; i < forward->inputs.n; i++) {
        enum dtype want = meta_at(forward, forward->inputs.at[i].node)->dtype;
        WS_ASSERT(meta_at(init, values[i])->dtype == want);
        map[forward->inputs.at[i].node] = values[i];
    }
    copy_nodes(init, forward, map);
    return map;
}

/* ---- the modes ------------------------------------------------------------------------------- */

static enum ws_status train(struct ws_captured *c, struct graph *joint) {
    node_id *values = NEW_ARRAY(c->arena, node_id, c->graph->inputs.n);
    struct graph *init = reopen_init(c, values);
    for (uint32_t i = 0; i < c->graph->inputs.n; i++) {
        vec_push(init->arena, &init->outputs, values[i]);
        joint->inputs.at[i].init = i;
    }
    add_tangents(c, joint, init);
    c->init = init;
    c->graph = joint;
    return WS_OK;
}

static enum ws_status backward(struct ws_captured *c, struct graph *joint, struct stages *s,
                               struct diag *d) {
    joint = graph_simplify(graph_decompose_but_landings(graph_simplify(joint)));
    struct partition *p = graph_partition(joint, c->graph->inputs.n, c->graph->outputs.n);
    const char *why = graph_verify(p->forward, false);
    if (!why) why = graph_verify(p->backward, false);
    if (why) WS_BUG("after partition: %s", why);
    struct buf b = buf_new(c->arena);
    partition_print(&b, p);
    if (dump(s, "saved_tensors.txt", b.p, d) != WS_OK) return d->status;

    node_id *values = NEW_ARRAY(c->arena, node_id, c->graph->inputs.n);
    struct graph *init = reopen_init(c, values);
    node_id *map = inline_forward(p->forward, init, values);
    for (uint32_t i = 0; i < p->saved.n; i++) {
        const struct saved_tensor *t = &p->saved.at[i];
        vec_push(init->arena, &init->outputs,
                 t->is_input ? values[t->index] : map[p->forward->outputs.at[t->index]]);
    }
    add_tangents(c, joint, init);
    c->init = init;
    c->graph = p->backward;
    return WS_OK;
}

enum ws_status differentiate(struct ws_captured *c, enum ws_mode mode, struct stages *s,
                             struct diag *d) {
    struct graph *joint = joint_graph(c, s, d);
    if (!joint) return d->status;
    if (mode == WS_TRAIN)
        train(c, joint);
    else
        backward(c, joint, s, d);
    const char *why = graph_verify(c->init, false);
    if (why) WS_BUG("init graph of mode %s: %s", c->mode, why);
    if (s) stage_end(s, "autograd");
    return d->status;
}
