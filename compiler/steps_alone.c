/* steps_alone.c: see steps_alone.h. */
#include "steps_alone.h"

#include "graph/loop.h"

#define NONE UINT32_MAX

struct steps_graph {
    struct graph *to, *body;
    const struct graph *g;
    const struct loops *loops;
    uint32_t loop;
    const node_id *needed;
    uint32_t n_needed;
    const node_id *left;
    node_id *part, *in_body; /* by node of g */
    VEC(node_id) operands;
    VEC(ex) role[LOOP_STEPS]; /* carried, first, way */
    VEC(node_id) outputs;     /* nodes of g */
};

static const struct node *node_at(const struct steps_graph *s, node_id n) {
    return &s->g->nodes.at[n];
}

static bool is_in_loop(const struct steps_graph *s, node_id n) {
    return loop_of(s->loops->epoch[n]) == s->loop;
}

/* ---- what is carried ------------------------------------------------------------------------- */

static const struct loop_window *window_of(const struct loops *l, node_id step) {
    for (buffer_id b = 0; b < l->buffers.n; b++)
        if (l->buffers.at[b].kind == BUFFER_WINDOW && l->buffers.at[b].node == step + 1 &&
            l->buffers.at[b].window.carried)
            return &l->buffers.at[b].window;
    return NULL;
}

buffer_id steps_memory(const struct loops *l, node_id step) {
    const struct loop_window *w = window_of(l, step);
    return w && !w->ring && !l->buffers.at[w->of].first ? w->of : (buffer_id)NO_MEMORY;
}

node_id steps_stack(const struct loops *l, node_id step) {
    const struct loop_window *w = window_of(l, step);
    if (!w) WS_BUG("a step has no window");
    return l->buffers.at[w->of].node - 1;
}

/* ---- the body -------------------------------------------------------------------------------- */

static uint32_t output_of(struct steps_graph *s, node_id n) {
    if (node_at(s, n)->op == OP_LOOP_STACK) n = node_at(s, n)->args[0].node;
    for (uint32_t k = 0; k < s->outputs.n; k++)
        if (s->outputs.at[k] == n) return k;
    vec_push(s->to->arena, &s->outputs, n);
    return s->outputs.n - 1;
}

static void add_operand(struct steps_graph *s, node_id n, node_id operand, int64_t carried,
                        int64_t first, int64_t way) {
    struct arena *a = s->to->arena;
    struct meta m = node_at(s, n)->meta;
    meta_contiguous(s->g->ex, &m);
    s->in_body[n] = graph_input(s->body, node_at(s, n)->name, INPUT_ARG, NULL, &m, s->operands.n);
    vec_push(a, &s->operands, operand);
    vec_push(a, &s->role[LOOP_CARRIED], ex_const(s->g->ex, carried));
    vec_push(a, &s->role[LOOP_FIRST], ex_const(s->g->ex, first));
    vec_push(a, &s->role[LOOP_WAY], ex_const(s->g->ex, way));
}

static node_id call(struct graph *g, enum op op, const struct arg *args, int n) {
    struct diag d = diag_new(g->arena);
    node_id out;
    if (!graph_call(g, op, args, n, (struct span){0}, &d, &out)) WS_BUG("steps: %s", d.message);
    return out;
}

static node_id slice(struct graph *g, node_id x, int64_t from, int64_t end) {
    struct arg args[] = {arg_node(x), arg_int(g, 0), arg_int(g, from), arg_int(g, end)};
    return call(g, OP_SLICE, args, 4);
}

static node_id joined(struct graph *g, const node_id *pieces, uint32_t n) {
    struct arg list = {.kind = ARG_NODES};
    list.nodes.at = arena_alloc(g->arena, n * sizeof *pieces);
    for (uint32_t i = 0; i < n; i++) list.nodes.at[i] = pieces[i];
    list.nodes.n = n;
    struct arg args[] = {list, arg_int(g, 0)};
    return call(g, OP_CAT, args, 2);
}

/* What each step had of the one before: first `start`, then what is left. */
static node_id states(struct graph *g, node_id start, node_id left, int64_t steps) {
    struct arg args[] = {arg_node(start), arg_int(g, 0)};
    node_id pieces[] = {call(g, OP_UNSQUEEZE, args, 2), slice(g, left, 0, steps - 1)};
    return steps > 1 ? joined(g, pieces, 2) : pieces[0];
}

static void add_step(struct steps_graph *s, node_id n) {
    const struct node *x = node_at(s, n);
    node_id operand = s->part[x->args[0].node];
    int64_t first = ex_value(s->g->ex, x->args[2].i), way = ex_value(s->g->ex, x->args[3].i);
    buffer_id memory = steps_memory(s->loops, n);
    if (way)
        add_operand(s, n, operand, -1, first, way);
    else if (memory == (buffer_id)NO_MEMORY || s->left[memory] == NONE)
        add_operand(s, n, operand, output_of(s, steps_stack(s->loops, n)), 0, 0);
    else
        add_operand(s, n, states(s->to, operand, s->left[memory], s->loops->steps.at[s->loop]), -1,
                    0, 1);
}

/* Of what the steps read, a graph begins with it: slices, what is carried, and the rest whole. */
static void add_operands(struct steps_graph *s) {
    for (uint32_t i = 0; i < s->n_needed; i++) {
        node_id id = s->needed[i];
        const struct node *n = node_at(s, id);
        if (!is_in_loop(s, id) || n->op == OP_LOOP_STACK) continue;
        if (n->op == OP_LOOP_STEP) add_step(s, id);
        for (int k = 0; n->op != OP_LOOP_STEP && k < n->n_args; k++) {
            const node_id *at;
            for (int q = arg_nodes(&n->args[k], &at); q-- > 0;)
                if (!is_in_loop(s, at[q]) && s->in_body[at[q]] == NONE)
                    add_operand(s, at[q], s->part[at[q]], -1, 0, 0);
        }
    }
}

static void fill_body(struct steps_graph *s) {
    for (uint32_t i = 0; i < s->n_needed; i++) {
        node_id n = s->needed[i];
        if (!is_in_loop(s, n) || op_info(node_at(s, n)->op)->class == LOOP) continue;
        s->in_body[n] = graph_copy(s->body, s->g, n, s->in_body);
    }
    for (uint32_t k = 0; k < s->outputs.n; k++)
        vec_push(s->to->arena, &s->body->outputs, s->in_body[s->outputs.at[k]]);
}

/* ---- what they come to ----------------------------------------------------------------------- */

static node_id make_loop(struct steps_graph *s, uint32_t output) {
    struct graph *g = s->to;
    struct arg args[LOOP_ARGUMENTS];
    args[LOOP_OPERANDS] = (struct arg){.kind = ARG_NODES};
    args[LOOP_OPERANDS].nodes.at = s->operands.at;
    args[LOOP_OPERANDS].nodes.n = s->operands.n;
    for (int k = LOOP_CARRIED; k <= LOOP_WAY; k++)
        args[k] = arg_ints(g, s->role[k].at, s->role[k].n);
    args[LOOP_STEPS] = arg_int(g, s->loops->steps.at[s->loop]);
    args[LOOP_BODY] = (struct arg){.kind = ARG_GRAPH, .graph = s->body};
    args[LOOP_OUTPUT] = arg_int(g, output);
    return call(g, OP_LOOP, args, LOOP_ARGUMENTS);
}

/* Memory of a few steps has the last ones, in turns; what is no stack is of the last one. */
static node_id as_left(struct steps_graph *s, node_id n, node_id all) {
    int64_t steps = s->loops->steps.at[s->loop];
    if (node_at(s, n)->op != OP_LOOP_STACK) {
        struct arg args[] = {arg_node(slice(s->to, all, steps - 1, steps)), arg_int(s->to, 0)};
        return call(s->to, OP_SQUEEZE, args, 2);
    }
    int64_t turns = ex_value(s->g->ex, node_at(s, n)->meta.size[0]);
    if (turns == steps) return all;
    node_id *pieces = NEW_ARRAY(s->to->arena, node_id, turns);
    for (int64_t i = 0; i < turns; i++) {
        int64_t t = steps - 1 - (steps - 1 - i) % turns;
        pieces[i] = slice(s->to, all, t, t + 1);
    }
    return joined(s->to, pieces, (uint32_t)turns);
}

void steps_add(struct graph *to, const struct loops *l, uint32_t loop, const node_id *needed,
               uint32_t n_needed, const node_id *wanted, uint32_t n_wanted, const node_id *left,
               node_id *part) {
    struct steps_graph s = {.to = to,
                            .body = graph_like(to),
                            .g = l->graph,
                            .loops = l,
                            .loop = loop,
                            .needed = needed,
                            .n_needed = n_needed,
                            .left = left,
                            .part = part};
    s.in_body = NEW_ARRAY(to->arena, node_id, l->graph->nodes.n);
    for (node_id n = 0; n < l->graph->nodes.n; n++) s.in_body[n] = NONE;
    for (uint32_t i = 0; i < n_wanted; i++) output_of(&s, wanted[i]);
    add_operands(&s);
    fill_body(&s);
    for (uint32_t i = 0; i < n_wanted; i++)
        part[wanted[i]] = as_left(&s, wanted[i], make_loop(&s, output_of(&s, wanted[i])));
}
