/* eval.c: the reference interpreter: nodes in order, doubles throughout, memory freed after the
 * last use.
 *
 * The loops are in eval_ops.c (primitives; element by element operators from the `ref` column) and
 * eval_composite.c; moves are in eval_move.c. OpenMP runs over elements or lines; sums are added in
 * fixed blocks, so the result does not depend on the number of threads. */
#include "graph/eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double value_round(enum dtype d, double v) {
    switch (d) {
    case DT_F64: return v;
    case DT_BOOL: return v != 0;
    case DT_I32:
        return v != v ? 0 : v >= 0x1p31 ? 0x1p31 - 1 : v <= -0x1p31 ? -0x1p31 : trunc(v) + 0.0;
    case DT_I64: return v != v ? 0 : v >= 0x1p63 ? 0x1p63 : v <= -0x1p63 ? -0x1p63 : trunc(v) + 0.0;
    case DT_U8:
    case DT_I8:
    case DT_I16:
    case DT_F8E4M3:
    case DT_F8E5M2:
    case DT_F16:
    case DT_BF16:
    case DT_F32: break;
    case DT_COUNT: WS_BUG("no such type");
    }
    union {
        float f;
        uint16_t h;
    } memory;
    dtype_store(d, &memory, 0, v);
    return dtype_load(d, &memory, 0);
}

/* Integers keep their low bits, as far as doubles have them: 53. What comes from floats is in range
 * already. */
static double wrapped(enum dtype d, double v) {
    double modulus = d == DT_I32 ? 0x1p32 : 0x1p64;
    if (v >= -modulus / 2 && v < modulus / 2) return v;
    v = fmod(v, modulus);
    return v >= modulus / 2 ? v - modulus : v < -modulus / 2 ? v + modulus : v;
}

double value_convert(enum dtype to, enum dtype from, double v) {
    bool wraps = (to == DT_I32 || to == DT_I64) && !dtype_is_float(from);
    return wraps ? wrapped(to, v) : value_round(to, v);
}

/* Sizes of n as numbers; false if one is symbolic or the whole does not fit memory. */
static bool shape_cell(const struct graph *g, const struct node *n, struct cell *c,
                       struct diag *d) {
    c->rank = n->meta.rank;
    c->dtype = n->meta.dtype;
    c->n = 1;
    for (int i = 0; i < c->rank; i++) {
        if (!ex_is_const(g->ex, n->meta.size[i], &c->size[i])) {
            diag_fail_at(d, WS_WRONG, g->src, n->where, "%%%s: size %s is not a constant", n->name,
                         ex_str(d->arena, g->ex, n->meta.size[i]));
            return false;
        }
        c->n *= c->size[i];
    }
    return true;
}

static bool alloc_cell(struct cell *c, const char *name, struct diag *d) {
    c->v = large_alloc((size_t)c->n * sizeof *c->v);
    if (!c->v)
        diag_fail(d, WS_MACHINE, "%%%s: no memory for %lld doubles of the reference", name,
                  (long long)c->n);
    return c->v != NULL;
}

static void load_input(struct cell *c, const struct value *in) {
    WS_ASSERT(in->n == c->n);
#pragma omp parallel for if (c->n > EVAL_SMALL)
    for (int64_t i = 0; i < c->n; i++) c->v[i] = value_round(c->dtype, in->v[i]);
}

/* Operators whose result has the elements of the operand in the same order. */
static bool only_reshapes(enum op op) {
    return op == OP_VIEW || op == OP_UNSQUEEZE || op == OP_SQUEEZE || op == OP_FLATTEN ||
           op == OP_UNFLATTEN || op == OP_VIEW_AS || op == OP_CONTIGUOUS || op == OP_CLONE ||
           op == OP_DETACH;
}

static void compute(const struct job *j) {
    const struct op_info *op = op_info(j->node->op);
    if (op->elementwise) return eval_elementwise(j);
    switch (op->class) {
    case REDUCE: return eval_reduce(j);
    case SCAN: return eval_scan(j);
    case VIEW: return eval_view(j);
    case MATMUL: return j->node->op == OP_CONVOLVE ? eval_convolve(j) : eval_matmul(j);
    case CREATE: return eval_create(j);
    case MOVE: return eval_move(j);
    case COMPOSITE: return eval_composite(j);
    case POINTWISE:
    case INPUT: break;
    }
    WS_BUG("%s cannot be evaluated", op->name);
}

struct eval {
    const struct graph *g;
    struct cell *cells;
    uint32_t *uses; /* left */
    struct diag *d;
    bool stopping;
};

static void release(struct eval *e, node_id n) {
    if (--e->uses[n]) return;
    free(e->cells[n].v);
    e->cells[n].v = NULL;
}

static void release_args(struct eval *e, const struct node *n) {
    for (int i = 0; i < n->n_args; i++) {
        const node_id *at;
        int k = arg_nodes(&n->args[i], &at);
        while (k--) release(e, at[k]);
    }
}

static void round_cell(struct cell *c) {
#pragma omp parallel for if (c->n > EVAL_SMALL)
    for (int64_t i = 0; i < c->n; i++) c->v[i] = value_round(c->dtype, c->v[i]);
}

static void wrap_cell(struct cell *c) {
#pragma omp parallel for if (c->n > EVAL_SMALL)
    for (int64_t i = 0; i < c->n; i++) c->v[i] = wrapped(c->dtype, c->v[i]);
}

static bool eval_node(struct eval *e, node_id id) {
    const struct node *n = &e->g->nodes.at[id];
    struct cell *c = &e->cells[id];
    struct job j = {
        .g = e->g, .node = n, .cells = e->cells, .out = c, .d = e->d, .stopping = &e->stopping};
    if (!shape_cell(e->g, n, c, e->d)) return false;
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i].kind == ARG_NODE) j.in[i] = &e->cells[n->args[i].node];
    if (only_reshapes(n->op) && e->uses[n->args[0].node] == 1) {
        c->v = j.in[0]->v; /* nobody else reads it: take it over */
        e->cells[n->args[0].node].v = NULL;
    } else {
        if (!alloc_cell(c, n->name, e->d)) return false;
        if (only_reshapes(n->op))
            memcpy(c->v, j.in[0]->v, (size_t)c->n * sizeof *c->v);
        else
            compute(&j);
        if (e->d->status != WS_OK) return false;
    }
    if (eval_stops(&j, 0)) return diag_fail(e->d, WS_MACHINE, "interrupted"), false;
    if (c->dtype == DT_I32 || c->dtype == DT_I64) wrap_cell(c);
    if (e->g->stores_values || dtype_is_narrow(c->dtype)) round_cell(c);
    release_args(e, n);
    return true;
}

static bool eval_inputs(struct eval *e, const struct value *inputs) {
    for (uint32_t i = 0; i < e->g->inputs.n; i++) {
        node_id id = e->g->inputs.at[i].node;
        const struct node *n = &e->g->nodes.at[id];
        if (!shape_cell(e->g, n, &e->cells[id], e->d)) return false;
        if (!e->uses[id]) continue;
        if (!alloc_cell(&e->cells[id], n->name, e->d)) return false;
        load_input(&e->cells[id], &inputs[i]);
    }
    return true;
}

/* Each output is the caller's own: the last to name a node takes its memory, others copy. */
static bool take_outputs(struct eval *e, struct value *outputs) {
    for (uint32_t i = 0; i < e->g->outputs.n; i++) {
        node_id id = e->g->outputs.at[i];
        struct cell copy = e->cells[id];
        if (e->uses[id]-- > 1) {
            if (!alloc_cell(&copy, e->g->nodes.at[id].name, e->d)) return false;
            memcpy(copy.v, e->cells[id].v, (size_t)copy.n * sizeof *copy.v);
        } else {
            e->cells[id].v = NULL;
        }
        outputs[i] = (struct value){copy.v, copy.n};
    }
    return true;
}

static double cell_bytes(const struct graph *g, node_id id) {
    const struct meta *m = &g->nodes.at[id].meta;
    double bytes = sizeof(double);
    int64_t size;
    for (int i = 0; i < m->rank; i++)
        bytes *= ex_is_const(g->ex, m->size[i], &size) ? (double)size : 0;
    return bytes;
}

/* The steps of graph_eval, without the values. */
double graph_eval_bytes(const struct graph *g) {
    uint32_t *uses = graph_use_counts(g);
    double now = 0, most = 0;
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (uses[g->inputs.at[i].node]) now += cell_bytes(g, g->inputs.at[i].node);
    most = now;
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *n = &g->nodes.at[id];
        if (n->op == OP_INPUT) continue;
        bool takes_over = uses[id] && only_reshapes(n->op) && uses[n->args[0].node] == 1;
        if (uses[id]) now += cell_bytes(g, id);
        if (now > most && !takes_over) most = now;
        for (int i = 0; i < n->n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&n->args[i], &at); k-- > 0;)
                if (--uses[at[k]] == 0) now -= cell_bytes(g, at[k]);
        }
    }
    return most;
}

bool graph_eval(const struct graph *g, const struct value *inputs, struct value *outputs,
                struct diag *d) {
    struct eval e = {g, calloc(g->nodes.n, sizeof *e.cells), graph_use_counts(g), d, false};
    memset(outputs, 0, g->outputs.n * sizeof *outputs);
    bool ok = e.cells != NULL && eval_inputs(&e, inputs);
    for (uint32_t i = 0; ok && i < g->nodes.n; i++)
        if (g->nodes.at[i].op != OP_INPUT && e.uses[i])
            ok = eval_node(&e, i);
        else if (g->nodes.at[i].op != OP_INPUT)
            release_args(&e, &g->nodes.at[i]);
    ok = ok && take_outputs(&e, outputs);
    for (uint32_t i = 0; e.cells && i < g->nodes.n; i++) free(e.cells[i].v);
    free(e.cells);
    for (uint32_t i = 0; !ok && i < g->outputs.n; i++) {
        free(outputs[i].v);
        outputs[i].v = NULL;
    }
    return ok;
}
