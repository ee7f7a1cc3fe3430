/* autograd_loop.c: the gradient of a loop, which is a loop that goes back.
 *
 *   hs = loop([h0, xs, u], carried=[0, -1, -1], way=[0, 1, 0])          h' = f(h, x, u)
 * ->
 *   loop([hs one step before, xs, u, grad, 0, 0], steps backwards)      h, x, u, g, dh, du ->
 *                                                                   (dh', dx, du') = df(g + dh)
 *
 * Its body is the forward's once more with its own backward behind it: what a step has made on the
 * way is made again, and what was carried is read from the stacked outputs. What gradients of
 * whole operands come to is carried, in opmath; those of slices are stacked.
 *
 * What a sum or a product takes of what a step left, and of no gradient that is carried, as
 * dC = dy^T h of a selective scan's, may be taken of all steps at once, and it reads the stacked
 * outputs then: to make them once more would take memory of all steps. */
#include "graph/autograd_loop.h"

#include "graph/autograd.h"
#include "graph/graph_impl.h"

struct back {
    struct build *b; /* the graph that the loop is in */
    const struct node *n;
    const struct loop_gradient *x;
    struct graph *body, *joint, *to; /* of a step: forward; both; what is run */
    int64_t steps;
    bool *wants;            /* by operand */
    node_id *value, *carry; /* by operand: inputs of `to`; NO_NODE */
    node_id *grad;          /* by output: an input of `to`; NO_NODE */
    node_id *left;          /* by output: an input of `to`, what the step has left; NO_NODE */
    uint32_t *made;         /* by operand: the output of `to` that is its gradient */
    VEC(node_id) operands;
    VEC(ex) role[LOOP_STEPS];
};

static struct loop_role role_of(const struct back *k, uint32_t i) {
    return loop_role(k->b->g, k->n->args, i);
}

static const struct meta *input_meta(const struct back *k, uint32_t i) {
    return &k->body->nodes.at[k->body->inputs.at[i].node].meta;
}

static uint32_t n_operands(const struct back *k) { return k->body->inputs.n; }

static node_id integer_call(struct back *k, enum op op, node_id x, int64_t first, int64_t second) {
    struct graph *g = k->b->g;
    if (op == OP_SELECT) return call(k->b, op, arg_node(x), arg_int(g, first), arg_int(g, second));
    return cut(k->b, x, 0, ex_const(g->ex, first), ex_const(g->ex, second));
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Its input in `to`, of one step. */
static node_id add_operand(struct back *k, const char *name, node_id x, const struct meta *step,
                           int64_t first, int64_t way) {
    struct graph *g = k->b->g;
    vec_push(g->arena, &k->operands, x);
    vec_push(g->arena, &k->role[LOOP_CARRIED], ex_const(g->ex, -1));
    vec_push(g->arena, &k->role[LOOP_FIRST], ex_const(g->ex, first));
    vec_push(g->arena, &k->role[LOOP_WAY], ex_const(g->ex, way));
    struct meta m = *step;
    if (way) meta_contiguous(g->ex, &m);
    return graph_input(k->to, name, INPUT_ARG, NULL, &m, k->to->inputs.n);
}

static node_id output_node(struct back *k, const struct node *n, uint32_t output) {
    struct arg args[LOOP_ARGUMENTS];
    memcpy(args, n->args, sizeof args);
    args[LOOP_OUTPUT] = arg_int(k->b->g, output);
    return build_call(k->b, OP_LOOP, args, LOOP_ARGUMENTS);
}

/* What a carried operand was in each step. */
static node_id before_steps(struct back *k, node_id init, uint32_t output) {
    struct graph *g = k->b->g;
    node_id all = output_node(k, k->n, output);
    node_id parts[2] = {call(k->b, OP_UNSQUEEZE, arg_node(init), arg_int(g, 0))};
    if (k->steps == 1) return parts[0];
    parts[1] = integer_call(k, OP_SLICE, all, 0, k->steps - 1);
    return call(k->b, OP_CAT, nodes_arg(parts, 2), arg_int(g, 0));
}

static void add_values(struct back *k) {
    for (uint32_t i = 0; i < n_operands(k); i++) {
        struct loop_role r = role_of(k, i);
        node_id x = k->n->args[LOOP_OPERANDS].nodes.at[i];
        int64_t last = k->steps - 1,
                first = r.is == LOOP_IS_CARRIED ? last : r.first + r.way * last;
        int64_t way = r.is == LOOP_IS_CARRIED ? -1 : -r.way;
        if (r.is == LOOP_IS_CARRIED) x = before_steps(k, x, r.output);
        if (r.is == LOOP_IS_WHOLE) first = way = 0;
        k->value[i] = add_operand(k, "value", x, input_meta(k, i), first, way);
    }
    for (uint32_t o = 0; o < k->body->outputs.n; o++) {
        const struct meta *m = &k->body->nodes.at[k->body->outputs.at[o]].meta;
        k->grad[o] = NO_NODE;
        if (k->x->grads[o] != NO_NODE)
            k->grad[o] = add_operand(k, "grad", k->x->grads[o], m, k->steps - 1, -1);
    }
}

/* Gradients of what is carried, and of what is whole, so far. */
static void add_carries(struct back *k) {
    for (uint32_t i = 0; i < n_operands(k); i++) {
        struct meta m = *input_meta(k, i);
        k->carry[i] = NO_NODE;
        if (!k->wants[i] || role_of(k, i).is == LOOP_IS_SLICED) continue;
        if (role_of(k, i).is == LOOP_IS_WHOLE) m.dtype = dtype_opmath(m.dtype);
        meta_contiguous(k->to->ex, &m);
        k->carry[i] = add_operand(k, "sum", full(k->b, &m, 0), &m, 0, 0);
        k->made[i] = k->operands.n - 1; /* until its output is known */
    }
}

/* ---- the body -------------------------------------------------------------------------------- */

/* The gradient of output o in a step: of the stacked outputs, and of the steps that come later. */
static node_id tangent_of(struct back *k, struct build *b, uint32_t o) {
    node_id sum = k->grad[o];
    for (uint32_t i = 0; i < n_operands(k); i++) {
        struct loop_role r = role_of(k, i);
        if (r.is != LOOP_IS_CARRIED || r.output != o || k->carry[i] == NO_NODE) continue;
        sum = sum == NO_NODE ? k->carry[i] : binary(b, OP_ADD, sum, k->carry[i]);
    }
    return sum == NO_NODE ? full(b, &k->body->nodes.at[k->body->outputs.at[o]].meta, 0) : sum;
}

/* Outputs of `to`, each after the one before. */
static void add_output(struct back *k, uint32_t i, node_id x) {
    if (k->carry[i] != NO_NODE)
        k->role[LOOP_CARRIED].at[k->made[i]] = ex_const(k->to->ex, k->to->outputs.n);
    k->made[i] = k->to->outputs.n;
    vec_push(k->to->arena, &k->to->outputs, x);
}

static bool is_carried_back(const struct back *k, uint32_t o) {
    for (uint32_t i = 0; i < n_operands(k); i++) {
        struct loop_role r = role_of(k, i);
        if (r.is == LOOP_IS_CARRIED && r.output == o && k->carry[i] != NO_NODE) return true;
    }
    return false;
}

/* By node of the joint body: does it stand on gradients, and on none that is carried? */
static bool *find_given(const struct back *k) {
    const struct graph *g = k->joint;
    bool *given = NEW_ARRAY(g->arena, bool, g->nodes.n),
         *carried = NEW_ARRAY(g->arena, bool, g->nodes.n);
    uint32_t tangent = n_operands(k);
    for (uint32_t o = 0; o < k->body->outputs.n; o++) {
        if (!dtype_has_gradient(k->body->nodes.at[k->body->outputs.at[o]].meta.dtype)) continue;
        node_id input = g->inputs.at[tangent++].node;
        carried[input] = is_carried_back(k, o);
        given[input] = !carried[input];
    }
    for (node_id id = 0; id < g->nodes.n; id++)
        for (int a = 0; a < g->nodes.at[id].n_args; a++) {
            const node_id *at;
            for (int q = arg_nodes(&g->nodes.at[id].args[a], &at); q-- > 0;)
                given[id] |= given[at[q]], carried[id] |= carried[at[q]];
        }
    for (node_id id = 0; id < g->nodes.n; id++) given[id] &= !carried[id];
    return given;
}

/* By node: does a product or a sum that is given take it, by way of nothing but such nodes that
 * that alone reads? */
static bool *find_taken(const struct back *k, const bool *given) {
    const struct graph *g = k->joint;
    bool *taken = NEW_ARRAY(g->arena, bool, g->nodes.n);
    uint32_t *readers = NEW_ARRAY(g->arena, uint32_t, g->nodes.n);
    for (uint32_t i = 0; i < g->outputs.n; i++) readers[g->outputs.at[i]] = 2;
    for (node_id id = 0; id < g->nodes.n; id++)
        for (int a = 0; a < g->nodes.at[id].n_args; a++) {
            const node_id *at;
            for (int q = arg_nodes(&g->nodes.at[id].args[a], &at); q-- > 0;) readers[at[q]]++;
        }
    for (node_id id = g->nodes.n; id-- > 0;) {
        enum op_class class = op_info(g->nodes.at[id].op)->class;
        bool sums = class == MATMUL || class == REDUCE;
        if (!given[id] || (!sums && (!taken[id] || readers[id] > 1))) continue;
        taken[id] = true;
        for (int a = 0; a < g->nodes.at[id].n_args; a++) {
            const node_id *at;
            for (int q = arg_nodes(&g->nodes.at[id].args[a], &at); q-- > 0;) taken[at[q]] = true;
        }
    }
    for (node_id id = 0; id < g->nodes.n; id++) taken[id] &= given[id];
    return taken;
}

/* The one node that it moves, or makes another of; NO_NODE. */
static node_id only_operand(const struct node *n) {
    enum op_class class = op_info(n->op)->class;
    node_id only = NO_NODE;
    if (class == MATMUL || class == REDUCE || class == LOOP || class == INPUT) return NO_NODE;
    for (int a = 0; a < n->n_args; a++) {
        const node_id *at;
        for (int q = arg_nodes(&n->args[a], &at); q-- > 0;) {
            if (only != NO_NODE) return NO_NODE;
            only = at[q];
        }
    }
    return only;
}

/* The carried output that node id is, as it is or moved; NO_NODE. */
static uint32_t output_behind(const struct back *k, node_id id) {
    for (; id != NO_NODE && k->joint->nodes.at[id].op != OP_INPUT;
         id = only_operand(&k->joint->nodes.at[id]))
        for (uint32_t o = 0; o < k->body->outputs.n; o++)
            if (k->joint->outputs.at[o] == id && is_carried_back(k, o)) return o;
    return NO_NODE;
}

/* Of outputs that are taken so. */
static void add_left(struct back *k, const bool *taken) {
    k->left = NEW_ARRAY(k->to->arena, node_id, k->body->outputs.n);
    for (uint32_t o = 0; o < k->body->outputs.n; o++) k->left[o] = NO_NODE;
    for (node_id id = 0; id < k->joint->nodes.n; id++)
        for (int a = 0; a < k->joint->nodes.at[id].n_args && taken[id]; a++) {
            const node_id *at;
            for (int q = arg_nodes(&k->joint->nodes.at[id].args[a], &at); q-- > 0;) {
                uint32_t o = taken[at[q]] ? NO_NODE : output_behind(k, at[q]);
                if (o == NO_NODE || k->left[o] != NO_NODE) continue;
                const struct meta *m = &k->body->nodes.at[k->body->outputs.at[o]].meta;
                k->left[o] = add_operand(k, "left", output_node(k, k->n, o), m, k->steps - 1, -1);
            }
        }
}

/* Node id of the joint body, made of what is `left` in place of what would be made again. */
static node_id copy_left(struct back *k, node_id id, node_id *map) {
    for (uint32_t o = 0; o < k->body->outputs.n; o++)
        if (k->joint->outputs.at[o] == id && k->left[o] != NO_NODE) return k->left[o];
    node_id from = only_operand(&k->joint->nodes.at[id]), own = map[from];
    map[from] = copy_left(k, from, map);
    node_id made = graph_copy(k->to, k->joint, id, map);
    map[from] = own;
    return made;
}

static node_id copy_taken(struct back *k, node_id id, node_id *map, const bool *taken) {
    const struct node *n = &k->joint->nodes.at[id];
    node_id *own = NEW_ARRAY(k->to->arena, node_id, k->joint->nodes.n);
    memcpy(own, map, k->joint->nodes.n * sizeof *own);
    for (int a = 0; a < n->n_args; a++) {
        const node_id *at;
        for (int q = arg_nodes(&n->args[a], &at); q-- > 0;)
            if (!taken[at[q]] && output_behind(k, at[q]) != NO_NODE)
                own[at[q]] = copy_left(k, at[q], map);
    }
    return graph_copy(k->to, k->joint, id, own);
}

static void make_body(struct back *k) {
    struct build b = {k->to, k->n->where};
    const struct graph *joint = k->joint;
    node_id *map = NEW_ARRAY(k->to->arena, node_id, joint->nodes.n);
    uint32_t tangent = n_operands(k), made = k->body->outputs.n;
    const bool *taken = find_taken(k, find_given(k));
    add_left(k, taken);
    for (uint32_t i = 0; i < n_operands(k); i++) map[joint->inputs.at[i].node] = k->value[i];
    for (uint32_t o = 0; o < k->body->outputs.n; o++)
        if (dtype_has_gradient(k->body->nodes.at[k->body->outputs.at[o]].meta.dtype))
            map[joint->inputs.at[tangent++].node] = tangent_of(k, &b, o);
    for (node_id id = 0; id < joint->nodes.n; id++)
        if (joint->nodes.at[id].op != OP_INPUT)
            map[id] = taken[id] ? copy_taken(k, id, map, taken) : graph_copy(k->to, joint, id, map);
    for (uint32_t i = 0; i < n_operands(k); i++) {
        if (!k->wants[i]) continue;
        node_id grad = map[joint->outputs.at[made++]];
        if (role_of(k, i).is == LOOP_IS_WHOLE) {
            enum dtype t = k->to->nodes.at[k->carry[i]].meta.dtype;
            grad = binary(&b, OP_ADD, k->carry[i], cast(&b, grad, t));
        }
        add_output(k, i, grad);
    }
}

static struct node loop_back(struct back *k) {
    struct graph *g = k->b->g;
    struct node n = {.op = OP_LOOP, .args = NEW_ARRAY(g->arena, struct arg, LOOP_ARGUMENTS)};
    n.args[LOOP_OPERANDS] = nodes_arg(k->operands.at, k->operands.n);
    for (int r = LOOP_CARRIED; r <= LOOP_WAY; r++)
        n.args[r] = arg_ints(g, k->role[r].at, k->role[r].n);
    n.args[LOOP_STEPS] = k->n->args[LOOP_STEPS];
    n.args[LOOP_BODY] = (struct arg){.kind = ARG_GRAPH, .graph = k->to};
    return n;
}

/* ---- what the operands get ------------------------------------------------------------------- */

static node_id zeros(struct back *k, const struct meta *like, int64_t n) {
    struct meta m = *like;
    m.size[0] = ex_const(k->b->g->ex, n);
    return full(k->b, &m, 0);
}

/* [x0, 0, 0, x1, 0, 0, ..]: each followed by n - 1 of zeros. */
static node_id spread(struct back *k, node_id x, int64_t n) {
    struct graph *g = k->b->g;
    struct meta m = *meta_of(k->b, x), gaps = {.dtype = m.dtype, .rank = (uint8_t)(m.rank + 1)};
    gaps.size[0] = m.size[0];
    gaps.size[1] = ex_const(g->ex, n - 1);
    memcpy(&gaps.size[2], &m.size[1], (size_t)(m.rank - 1) * sizeof(ex));
    node_id parts[2] = {call(k->b, OP_UNSQUEEZE, arg_node(x), arg_int(g, 1)), full(k->b, &gaps, 0)};
    m.size[0] = ex_const(g->ex, k->steps * n);
    return reshape(k->b, call(k->b, OP_CAT, nodes_arg(parts, 2), arg_int(g, 1)), &m);
}

/* The stacked gradients of slices, backwards in steps, where the slices were. */
static node_id unsliced(struct back *k, node_id x, const struct loop_role *r, node_id operand) {
    struct graph *g = k->b->g;
    int64_t every = r->way < 0 ? -r->way : r->way, parts = 0;
    int64_t least = r->way < 0 ? r->first + r->way * (k->steps - 1) : r->first;
    const struct meta m = *meta_of(k->b, operand);
    int64_t size = ex_value(g->ex, m.size[0]), n = k->steps * every;
    ex zero = ex_const(g->ex, 0);
    node_id part[3];
    if (r->way > 0) x = call(k->b, OP_FLIP, arg_node(x), arg_ints(g, &zero, 1));
    if (every > 1) x = spread(k, x, every);
    if (n > size - least) x = integer_call(k, OP_SLICE, x, 0, n = size - least);
    if (least) part[parts++] = zeros(k, meta_of(k->b, x), least);
    part[parts++] = x;
    if (least + n < size) part[parts++] = zeros(k, meta_of(k->b, x), size - least - n);
    return parts == 1 ? x : call(k->b, OP_CAT, nodes_arg(part, (uint32_t)parts), arg_int(g, 0));
}

static void take_gradients(struct back *k) {
    const struct node made = loop_back(k);
    for (uint32_t i = 0; i < n_operands(k); i++) {
        struct loop_role r = role_of(k, i);
        node_id operand = k->n->args[LOOP_OPERANDS].nodes.at[i];
        k->x->out[i] = NO_NODE;
        if (!k->wants[i] || !k->x->active[i]) continue;
        node_id x = output_node(k, &made, k->made[i]);
        x = r.is == LOOP_IS_SLICED ? unsliced(k, x, &r, operand)
                                   : integer_call(k, OP_SELECT, x, 0, k->steps - 1);
        k->x->out[i] = cast(k->b, x, meta_of(k->b, operand)->dtype);
    }
}

bool loop_backward(struct build *b, const struct node *n, const struct loop_gradient *x,
                   struct diag *d) {
    struct arena *a = b->g->arena;
    struct graph *body = n->args[LOOP_BODY].graph;
    uint32_t inputs = body->inputs.n;
    struct back k = {.b = b, .n = n, .x = x, .body = body, .to = graph_like(body)};
    k.steps = loop_steps(b->g, n->args);
    k.wants = NEW_ARRAY(a, bool, inputs);
    k.value = NEW_ARRAY(a, node_id, inputs);
    k.carry = NEW_ARRAY(a, node_id, inputs);
    k.made = NEW_ARRAY(a, uint32_t, inputs);
    k.grad = NEW_ARRAY(a, node_id, body->outputs.n);
    for (uint32_t i = 0; i < inputs; i++)
        k.wants[i] = dtype_has_gradient(input_meta(&k, i)->dtype) &&
                     (x->active[i] || role_of(&k, i).is == LOOP_IS_CARRIED);
    k.joint = graph_backward(body, k.wants, d);
    if (!k.joint) return false;
    add_values(&k);
    add_carries(&k);
    make_body(&k);
    take_gradients(&k);
    return true;
}
