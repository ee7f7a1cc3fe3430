/* autograd.c: the joint graph of outputs and gradients.
 *
 *   graph(%x: f32[4, 8], %w: f32[8]) {         graph(%x: .., %w: .., %tangent: f32[4, 8]) {
 *     %mul = mul(%x, %w)                         %mul = mul(%x, %w)
 *     return %mul                                %mul_1 = mul(%tangent, %w)
 *   }                                            %mul_2 = mul(%tangent, %x)
 *                                                %sum = sum(%mul_2, dim=[0], keepdim=True)
 *                                       ->       %view = view(%sum, size=[8])
 *                                                return %mul, %mul_1, %view
 *                                              }
 *
 * One walk against the order of the nodes: when a node's turn comes, all that it contributes to is
 * done, so its gradient is complete; its rule (derivatives.def) adds to those of its operands. A
 * composite without a rule is expanded as decompose would, behind everything made so far, and the
 * walk goes through its parts before it goes on; simplify later finds the parts that the forward
 * computes as well.
 *
 * Gradients follow PyTorch's conventions: of an operand's shape and dtype; integers and bools have
 * none; ties of extrema share. */
#include "graph/autograd.h"

#include "graph/autograd_loop.h"

#include "graph/derivatives.h"

struct adjoint {
    node_id grad; /* the gradient so far, or NO_NODE */
    bool active;  /* floating, and made of a wanted input */
};

struct backward {
    struct graph *g;
    struct diag *d;
    VEC(struct adjoint) at; /* by node of g */
    const struct rule *rules[OP_COUNT];
};

/* ---- adjoints -------------------------------------------------------------------------------- */

static struct adjoint *adjoint_of(struct backward *w, node_id n) {
    while (w->at.n <= n) vec_push(w->g->arena, &w->at, ((struct adjoint){NO_NODE, false}));
    return &w->at.at[n];
}

static bool is_active(struct backward *w, node_id n) { return adjoint_of(w, n)->active; }

/* Nodes first .. end-1: what is made of something active is active, unless its operator is flat. */
static void mark_active(struct backward *w, node_id first, node_id end) {
    for (node_id i = first; i < end; i++) {
        const struct node *n = &w->g->nodes.at[i];
        bool active = false;
        for (int k = 0; k < n->n_args; k++) {
            const node_id *at;
            int count = arg_nodes(&n->args[k], &at);
            while (count--) active |= is_active(w, at[count]);
        }
        active &= dtype_is_float(n->meta.dtype) && derivative_of(n->op)->kind != DERIVATIVE_ZERO;
        adjoint_of(w, i)->active |= active;
    }
}

/* ---- the shape and type of an operand -------------------------------------------------------- */

/* Which dimensions of g the operand was repeated along. */
static uint32_t repeated_dims(struct build *b, const struct meta *g, const struct meta *m) {
    ex one = ex_const(b->g->ex, 1);
    uint32_t set = 0;
    for (int i = 0; i < g->rank; i++) {
        int k = i - (g->rank - m->rank);
        if (k < 0 || (m->size[k] == one && g->size[i] != one)) set |= 1u << i;
    }
    return set;
}

static node_id sum_repeated(struct build *b, node_id x, const struct meta *m) {
    struct meta g = *meta_of(b, x);
    uint32_t set = repeated_dims(b, &g, m);
    ex dims[WS_MAX_RANK];
    uint32_t n = 0;
    for (int i = 0; i < g.rank; i++)
        if (set >> i & 1) dims[n++] = ex_const(b->g->ex, i);
    bool leading = n == (uint32_t)(g.rank - m->rank); /* none of them is left as 1 */
    return n ? call(b, OP_SUM, arg_node(x), arg_ints(b->g, dims, n), arg_bool(!leading)) : x;
}

/* A gradient as its operand needs it: summed over what was broadcast, repeated over what was
 * reduced, cast. */
static node_id fit(struct build *b, node_id x, const struct meta *m) {
    x = sum_repeated(b, x, m);
    if (meta_of(b, x)->rank > m->rank) x = reshape(b, x, m);
    const struct meta *g = meta_of(b, x);
    bool same = g->rank == m->rank;
    for (int i = 0; same && i < m->rank; i++) same = g->size[i] == m->size[i];
    if (!same) x = call(b, OP_EXPAND, arg_node(x), arg_ints(b->g, m->size, m->rank));
    return cast(b, x, dtype_is_float8(m->dtype) ? DT_F32 : m->dtype); /* which has no sums */
}

static void accumulate(struct backward *w, node_id n, node_id grad) {
    node_id have = adjoint_of(w, n)->grad;
    if (have != NO_NODE) grad = graph_op2(w->g, OP_ADD, have, grad);
    w->at.at[n].grad = grad;
}

/* ---- one node -------------------------------------------------------------------------------- */

static void walk(struct backward *w, node_id first, node_id end);

static bool no_elements(struct backward *w, const struct meta *m) {
    return meta_numel(w->g->ex, m) == ex_const(w->g->ex, 0);
}

/* Differentiate what the composite decomposes to. */
static void expand_node(struct backward *w, struct backprop *p) {
    node_id first = w->g->nodes.n;
    node_id r = decompose_node(p->b, &p->node);
    WS_ASSERT(r != KEEP);
    mark_active(w, first, w->g->nodes.n);
    if (!is_active(w, r)) return; /* as of zeros_like(x) */
    accumulate(w, r, p->grad);
    walk(w, first, w->g->nodes.n);
}

static enum derivative_answer gradient_of(struct backward *w, struct backprop *p, int param,
                                          node_id *out) {
    const struct derivative *d = derivative_of(p->node.op);
    if (d->kind == DERIVATIVE_CODE) return d->code(p, param, out);
    const struct rule **rule = &w->rules[p->node.op];
    if (!*rule) *rule = rule_parse(w->g->arena, d->text);
    p->rule = *rule;
    return derivative_evaluate(p, param, out);
}

/* false: the node is to be expanded instead. */
static bool apply_rule(struct backward *w, struct backprop *p) {
    for (int k = 0; k < p->node.n_args; k++) {
        const node_id *at;
        int n = arg_nodes(&p->node.args[k], &at);
        for (p->element = 0; p->element < n; p->element++) {
            node_id grad, x = at[p->element];
            if (!is_active(w, x)) continue;
            enum derivative_answer answer = gradient_of(w, p, k, &grad);
            if (answer == EXPAND_INSTEAD) return false;
            if (answer == NO_GRADIENT) continue;
            struct meta m = *meta_of(p->b, x);
            accumulate(w, x, fit(p->b, grad, &m));
        }
    }
    return true;
}

/* What a node's gradient becomes is one operator to the eager program, as PyTorch's backward
 * functions are. */
static void backward_node(struct backward *w, node_id id) {
    struct build b = {w->g, w->g->nodes.at[id].where};
    struct backprop p = {.b = &b, .node = w->g->nodes.at[id], .result = id};
    node_id first = w->g->nodes.n;
    enum derivative_kind kind = derivative_of(p.node.op)->kind;
    p.grad = adjoint_of(w, id)->grad;
    if (no_elements(w, &p.node.meta)) return;
    bool composite = op_info(p.node.op)->class == COMPOSITE;
    if (kind == DERIVATIVE_MISSING && !composite) {
        diag_fail_at(w->d, WS_WRONG, w->g->src, p.node.where, "%s has no derivative",
                     op_info(p.node.op)->name);
        return;
    }
    if (kind == DERIVATIVE_MISSING || !apply_rule(w, &p)) expand_node(w, &p);
    for (node_id i = first; i < w->g->nodes.n; i++) {
        w->g->nodes.at[i].origin = first;
        w->g->nodes.at[i].where = p.node.where;
    }
}

/* Of all nodes of the loop that node `id` is the first of: what comes behind them is done. */
static void backward_loop(struct backward *w, node_id id) {
    const struct node n = w->g->nodes.at[id];
    struct arena *a = w->g->arena;
    struct build b = {w->g, n.where};
    uint32_t operands = n.args[LOOP_OPERANDS].nodes.n, outputs = n.args[LOOP_BODY].graph->outputs.n;
    node_id *grads = NEW_ARRAY(a, node_id, outputs), first = w->g->nodes.n;
    bool *active = NEW_ARRAY(a, bool, operands), any = false;
    struct loop_gradient x = {grads, active, NEW_ARRAY(a, node_id, operands)};
    for (uint32_t o = 0; o < outputs; o++) grads[o] = NO_NODE;
    for (node_id i = id; i < first; i++) {
        node_id grad = adjoint_of(w, i)->grad;
        if (grad == NO_NODE || !loop_same(&w->g->nodes.at[i], &n)) continue;
        grads[loop_output(w->g, w->g->nodes.at[i].args)] = grad;
        any = true;
    }
    for (uint32_t i = 0; i < operands; i++)
        active[i] = is_active(w, n.args[LOOP_OPERANDS].nodes.at[i]);
    if (!any || !loop_backward(&b, &n, &x, w->d)) return;
    for (uint32_t i = 0; i < operands; i++)
        if (x.out[i] != NO_NODE) accumulate(w, n.args[LOOP_OPERANDS].nodes.at[i], x.out[i]);
    for (node_id i = first; i < w->g->nodes.n; i++) w->g->nodes.at[i].origin = first;
}

static bool is_first_of_loop(const struct graph *g, node_id id) {
    for (node_id k = 0; k < id; k++)
        if (loop_same(&g->nodes.at[k], &g->nodes.at[id])) return false;
    return true;
}

static void walk(struct backward *w, node_id first, node_id end) {
    for (node_id i = end; i-- > first && w->d->status == WS_OK;)
        if (w->g->nodes.at[i].op == OP_LOOP) {
            if (is_first_of_loop(w->g, i)) backward_loop(w, i);
        } else if (w->g->nodes.at[i].op != OP_INPUT && is_active(w, i) &&
                   w->at.at[i].grad != NO_NODE)
            backward_node(w, i);
}

/* ---- the joint graph ------------------------------------------------------------------------- */

static bool has_tangent(const struct graph *forward, uint32_t output) {
    return dtype_has_gradient(forward->nodes.at[forward->outputs.at[output]].meta.dtype);
}

static void add_tangents(struct graph *g, const struct graph *forward) {
    for (uint32_t i = 0; i < forward->outputs.n; i++) {
        struct meta m = forward->nodes.at[forward->outputs.at[i]].meta;
        meta_contiguous(g->ex, &m);
        if (has_tangent(forward, i))
            graph_input(g, "tangent", INPUT_ARG, arena_printf(g->arena, "tangents[%u]", i), &m,
                        g->inputs.n);
    }
}

/* The forward, with the tangents among its inputs. map: node of forward -> node of the result. */
static struct graph *copy_forward(const struct graph *forward, node_id *map) {
    struct graph *g = graph_like(forward);
    for (uint32_t i = 0; i < forward->nodes.n; i++) {
        if (i == forward->inputs.n) add_tangents(g, forward);
        map[i] = graph_copy(g, forward, i, map);
    }
    if (forward->inputs.n == forward->nodes.n) add_tangents(g, forward);
    for (node_id i = 0; i < g->nodes.n; i++) g->nodes.at[i].origin = i;
    for (uint32_t i = 0; i < forward->outputs.n; i++)
        vec_push(g->arena, &g->outputs, map[forward->outputs.at[i]]);
    return g;
}

static void seed_tangents(struct backward *w, const struct graph *forward) {
    uint32_t tangent = forward->inputs.n;
    for (uint32_t i = 0; i < forward->outputs.n; i++) {
        if (!has_tangent(forward, i)) continue;
        if (is_active(w, w->g->outputs.at[i]))
            accumulate(w, w->g->outputs.at[i], w->g->inputs.at[tangent].node);
        tangent++;
    }
}

static void add_gradients(struct backward *w, const bool *wants, uint32_t n_inputs) {
    for (uint32_t i = 0; i < n_inputs; i++) {
        node_id x = w->g->inputs.at[i].node, grad = adjoint_of(w, x)->grad;
        struct build b = {w->g, w->g->nodes.at[x].where};
        struct meta m = *meta_of(&b, x);
        if (!wants[i]) continue;
        vec_push(w->g->arena, &w->g->outputs, grad == NO_NODE ? full(&b, &m, 0) : grad);
    }
}

struct graph *graph_backward(const struct graph *forward, const bool *wants, struct diag *d) {
    node_id *map = NEW_ARRAY(forward->arena, node_id, forward->nodes.n);
    struct backward w = {.g = copy_forward(forward, map), .d = d};
    for (uint32_t i = 0; i < forward->inputs.n; i++) {
        node_id x = w.g->inputs.at[i].node;
        WS_ASSERT(!wants[i] || dtype_is_float(w.g->nodes.at[x].meta.dtype));
        adjoint_of(&w, x)->active = wants[i];
    }
    node_id end = w.g->nodes.n;
    mark_active(&w, 0, end);
    seed_tangents(&w, forward);
    walk(&w, 0, end);
    if (d->status != WS_OK) return NULL;
    add_gradients(&w, wants, forward->inputs.n);
    return graph_simplify(w.g);
}

bool graph_gradients(struct graph *g, const struct gradients_wanted *want, node_id *grads,
                     struct diag *d) {
    struct backward w = {.g = g, .d = d};
    node_id end = g->nodes.n;
    for (uint32_t i = 0; i < want->n_of; i++) adjoint_of(&w, want->of[i])->active = true;
    mark_active(&w, 0, end);
    for (uint32_t i = 0; i < want->n_outputs; i++)
        if (is_active(&w, want->outputs[i])) accumulate(&w, want->outputs[i], want->tangents[i]);
    walk(&w, 0, end);
    for (uint32_t i = 0; i < want->n_of; i++) grads[i] = adjoint_of(&w, want->of[i])->grad;
    return d->status == WS_OK;
}
