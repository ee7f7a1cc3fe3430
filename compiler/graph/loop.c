/* loop.c: what a loop node says (loop.h), its shape, and its bodies. */
#include "graph/loop.h"

#include <string.h>

#include "graph/meta_shape.h"

static int64_t entry(const struct graph *g, const struct arg *args, enum loop_argument which,
                     uint32_t i) {
    return ex_value(g->ex, args[which].ints.at[i]);
}

struct loop_role loop_role(const struct graph *g, const struct arg *args, uint32_t operand) {
    int64_t output = entry(g, args, LOOP_CARRIED, operand);
    struct loop_role r = {.first = entry(g, args, LOOP_FIRST, operand),
                          .way = entry(g, args, LOOP_WAY, operand)};
    if (output >= 0)
        r = (struct loop_role){.is = LOOP_IS_CARRIED, .output = (uint32_t)output};
    else if (r.way)
        r.is = LOOP_IS_SLICED;
    return r;
}

int64_t loop_steps(const struct graph *g, const struct arg *args) {
    return ex_value(g->ex, args[LOOP_STEPS].i);
}

uint32_t loop_output(const struct graph *g, const struct arg *args) {
    return (uint32_t)ex_value(g->ex, args[LOOP_OUTPUT].i);
}

const struct meta *loop_output_meta(const struct graph *g, const struct arg *args) {
    const struct graph *body = args[LOOP_BODY].graph;
    return &body->nodes.at[body->outputs.at[loop_output(g, args)]].meta;
}

static bool same_ints(const struct arg *a, const struct arg *b) {
    return a->ints.n == b->ints.n && !memcmp(a->ints.at, b->ints.at, a->ints.n * sizeof(ex));
}

bool loop_same(const struct node *a, const struct node *b) {
    if (a->op != OP_LOOP || b->op != OP_LOOP) return false;
    const struct arg *x = a->args, *y = b->args;
    return x[LOOP_BODY].graph == y[LOOP_BODY].graph && x[LOOP_STEPS].i == y[LOOP_STEPS].i &&
           x[LOOP_OPERANDS].nodes.n == y[LOOP_OPERANDS].nodes.n &&
           !memcmp(x[LOOP_OPERANDS].nodes.at, y[LOOP_OPERANDS].nodes.at,
                   x[LOOP_OPERANDS].nodes.n * sizeof(node_id)) &&
           same_ints(&x[LOOP_CARRIED], &y[LOOP_CARRIED]) &&
           same_ints(&x[LOOP_FIRST], &y[LOOP_FIRST]) && same_ints(&x[LOOP_WAY], &y[LOOP_WAY]);
}

bool loop_shows_last(const struct graph *g, node_id id) {
    const struct node *n = &g->nodes.at[id];
    if (n->op != OP_SLICE || g->nodes.at[n->args[0].node].op != OP_LOOP) return false;
    int64_t steps = loop_steps(g, g->nodes.at[n->args[0].node].args);
    return n->args[1].i == ex_const(g->ex, 0) && n->args[2].i == ex_const(g->ex, steps - 1) &&
           n->args[3].i == ex_const(g->ex, steps) && n->args[4].i == ex_const(g->ex, 1);
}

void loop_renew_bodies(struct graph *g, struct graph *(*f)(struct graph *, const void *),
                       const void *ctx) {
    struct map made = map_new(g->arena);
    for (node_id id = 0; id < g->nodes.n; id++) {
        struct node *n = &g->nodes.at[id];
        uint64_t now;
        if (n->op != OP_LOOP) continue;
        struct graph **body = &n->args[LOOP_BODY].graph;
        if (!map_get(&made, body, sizeof(struct graph *), &now)) {
            now = (uintptr_t)f(*body, ctx);
            map_put(&made, body, sizeof(struct graph *), now);
        }
        *body = (struct graph *)(uintptr_t)now;
    }
}

double loop_work(const struct graph *g, node_id id) {
    const struct arg *args = g->nodes.at[id].args;
    for (node_id k = 0; k < id; k++)
        if (loop_same(&g->nodes.at[k], &g->nodes.at[id])) return 0; /* counted there */
    return (double)loop_steps(g, args) * graph_work(args[LOOP_BODY].graph);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Of a step. */
static void slice_meta(const struct meta *m, struct meta *out) {
    out->rank = (uint8_t)(m->rank - 1);
    memcpy(out->size, m->size + 1, out->rank * sizeof(ex));
}

static bool fits_slices(const struct infer *in, const struct meta *m, const struct loop_role *r) {
    int64_t n, last = r->first + r->way * (loop_steps(in->g, in->args) - 1);
    return m->rank && ex_is_const(in->g->ex, m->size[0], &n) && r->first >= 0 && r->first < n &&
           last >= 0 && last < n;
}

static bool check_operand(const struct infer *in, uint32_t i) {
    const struct arg *args = in->args;
    const struct graph *body = args[LOOP_BODY].graph;
    const struct meta *given = &in->g->nodes.at[args[LOOP_OPERANDS].nodes.at[i]].meta;
    const struct meta *want = &body->nodes.at[body->inputs.at[i].node].meta;
    struct loop_role r = loop_role(in->g, args, i);
    struct meta step = {.dtype = given->dtype};
    if (r.is == LOOP_IS_CARRIED) {
        if (r.output >= body->outputs.n) return infer_fail(in, "the body has no such output");
        const struct meta *next = &body->nodes.at[body->outputs.at[r.output]].meta;
        if (!meta_same_shape(next, want)) return infer_fail(in, "operand %u changes its shape", i);
    }
    if (r.is == LOOP_IS_SLICED) {
        if (!fits_slices(in, given, &r)) return infer_fail(in, "operand %u has no such slices", i);
        slice_meta(given, &step);
    }
    return meta_same_shape(r.is == LOOP_IS_SLICED ? &step : given, want) ||
           infer_fail(in, "operand %u is not what the body takes", i);
}

bool shape_loop(const struct infer *in, struct meta *out) {
    const struct arg *args = in->args;
    const struct graph *body = args[LOOP_BODY].graph;
    uint32_t n = args[LOOP_OPERANDS].nodes.n;
    int64_t steps, output;
    if (n != body->inputs.n || args[LOOP_CARRIED].ints.n != n || args[LOOP_FIRST].ints.n != n ||
        args[LOOP_WAY].ints.n != n)
        return infer_fail(in, "the body has %u inputs", body->inputs.n);
    if (!ex_is_const(in->g->ex, args[LOOP_STEPS].i, &steps) || steps < 1)
        return infer_fail(in, "needs steps");
    if (!ex_is_const(in->g->ex, args[LOOP_OUTPUT].i, &output) || output < 0 ||
        output >= body->outputs.n)
        return infer_fail(in, "the body has %u outputs", body->outputs.n);
    for (uint32_t i = 0; i < n; i++)
        if (!check_operand(in, i)) return false;
    const struct meta *m = loop_output_meta(in->g, args);
    if (m->rank == WS_MAX_RANK) return infer_fail(in, "has too many dimensions");
    out->rank = (uint8_t)(m->rank + 1);
    out->size[0] = args[LOOP_STEPS].i;
    memcpy(out->size + 1, m->size, m->rank * sizeof(ex));
    return true;
}

/* loop_step, of a slice where it has a way, else of what is carried; loop_stack. */
bool shape_loop_step(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    if (ex_value(in->g->ex, in->args[3].i))
        slice_meta(m, out);
    else
        memcpy(out->size, m->size, sizeof(ex) * (out->rank = m->rank));
    return true;
}

bool shape_loop_stack(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    out->rank = (uint8_t)(m->rank + 1);
    out->size[0] = in->args[1].i;
    memcpy(out->size + 1, m->size, m->rank * sizeof(ex));
    return true;
}
