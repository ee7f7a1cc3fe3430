/* eval.c: the reference interpreter: nodes in order, floats in doubles and integers in 64 bits,
 * memory freed after the last use. Neighbours that go element by element over one shape are
 * computed together: what they alone read of each other takes no memory.
 *
 * The loops of primitives are in eval_pointwise.c (from the `ref` column, of integers from the
 * table of eval_int.c), eval_reduce.c, eval_move.c and eval_ops.c (views, products, creation);
 * those of composites in eval_composite.c. OpenMP runs over elements or lines; sums are added in
 * fixed blocks, so the result does not depend on the number of threads. */
#include "graph/eval.h"
#include "graph/loop.h"
#include "graph/traits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double value_round(enum dtype d, double v) {
    union {
        float f;
        uint16_t h;
        uint8_t b;
    } memory;
    if (d == DT_F64) return v;
    if (d == DT_F32) return (double)(float)v;
    if (!dtype_is_float(d)) return (double)int_of_double(d, v);
    dtype_store(d, &memory, 0, v);
    return dtype_load(d, &memory, 0);
}

bool value_alloc(struct value *v, enum dtype d, int64_t n) {
    *v = (struct value){.n = n};
    if (dtype_is_float(d))
        v->v = large_alloc((size_t)n * sizeof *v->v);
    else
        v->w = large_alloc((size_t)n * sizeof *v->w);
    return v->v || v->w;
}

void value_free(struct value *v) {
    free(v->v);
    free(v->w);
    *v = (struct value){0};
}

double value_number(const struct value *v, int64_t i) { return v->w ? (double)v->w[i] : v->v[i]; }

bool cell_shape(const struct graph *g, const struct node *n, struct cell *c, struct diag *d) {
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
    struct value made;
    bool ok = value_alloc(&made, c->dtype, c->n);
    c->v = made.v;
    c->w = made.w;
    if (!ok)
        diag_fail(d, WS_MACHINE, "%%%s: no memory for %lld elements of the reference", name,
                  (long long)c->n);
    return ok;
}

static void free_cell(struct cell *c) {
    free(c->v);
    free(c->w);
    c->v = NULL;
    c->w = NULL;
}

static void copy_cell(struct cell *to, const struct cell *from) {
    if (to->w)
        memcpy(to->w, from->w, (size_t)to->n * sizeof *to->w);
    else
        memcpy(to->v, from->v, (size_t)to->n * sizeof *to->v);
}

static void load_input(struct cell *c, const struct value *in, bool exact) {
    WS_ASSERT(in->n == c->n);
#pragma omp parallel for if (c->n > EVAL_SMALL)
    for (int64_t i = 0; i < c->n; i++)
        if (c->w)
            c->w[i] = in->w ? int_wrap(c->dtype, in->w[i]) : int_of_double(c->dtype, in->v[i]);
        else
            c->v[i] = exact ? in->v[i] : value_round(c->dtype, in->v[i]);
}

static void run_loop(const struct job *j) {
    const struct op_info *op = op_info(j->node->op);
    if (op->elementwise) return eval_elementwise(j, 1);
    switch (op->class) {
    case REDUCE: return eval_reduce(j);
    case SCAN: return eval_scan(j);
    case VIEW: return eval_view(j);
    case MATMUL: return op_convolves(j->node->op) ? eval_convolve(j) : eval_matmul(j);
    case CREATE: return eval_create(j);
    case MOVE: return eval_move(j);
    case COMPOSITE: return eval_composite(j);
    case POINTWISE:
    case LOOP:
    case INPUT: break;
    }
    WS_BUG("%s cannot be evaluated", op->name);
}

static double *doubles_for(const struct cell *c) {
    double *v = large_alloc((size_t)c->n * sizeof *v);
    if (!v) WS_BUG("no memory for %lld integers", (long long)c->n);
    return v;
}

/* Integers in doubles: what a loop without integers is given. */
static struct cell in_doubles(const struct cell *c) {
    struct cell out = *c;
    if (!c->w) return out;
    out.w = NULL;
    out.v = doubles_for(c);
#pragma omp parallel for if (c->n > EVAL_SMALL)
    for (int64_t i = 0; i < c->n; i++) out.v[i] = (double)c->w[i];
    return out;
}

static bool meets_integers(const struct job *j) {
    bool any = j->out->w != NULL;
    for (int i = 0; i < j->node->n_args; i++) any |= j->in[i] && j->in[i]->w;
    return any;
}

void eval_job(const struct job *j) {
    if (!meets_integers(j) || eval_takes_integers(j)) return run_loop(j);
    struct cell cells[MAX_PARAMS], result = *j->out;
    struct job with = *j;
    with.out = &result;
    result.w = NULL;
    if (j->out->w) result.v = doubles_for(&result);
    for (int i = 0; i < j->node->n_args; i++) {
        if (!j->in[i]) continue;
        cells[i] = in_doubles(j->in[i]);
        with.in[i] = &cells[i];
    }
    run_loop(&with);
    for (int i = 0; i < j->node->n_args; i++)
        if (j->in[i] && j->in[i]->w) free(cells[i].v);
    if (!j->out->w) return;
    for (int64_t i = 0; i < j->out->n; i++)
        j->out->w[i] = int_of_double(j->out->dtype, result.v[i]);
    free(result.v);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Nodes computed at once: one, or a group of operators, element by element, of one shape. */
struct step {
    node_id at[EVAL_GROUP];
    int n;
};
typedef VEC(struct step) steps;

static bool reads(const struct node *n, const struct step *s) {
    for (int i = 0; i < n->n_args; i++) {
        const node_id *at;
        for (int k = arg_nodes(&n->args[i], &at); k-- > 0;)
            for (int m = 0; m < s->n; m++)
                if (s->at[m] == at[k]) return true;
    }
    return false;
}

static bool is_alike(const struct meta *a, const struct meta *b) {
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->size[i] == b->size[i];
    return same;
}

/* Has it an output that n does not read? That is given away before n is begun. */
static bool is_done(const bool *given, const struct step *s, const struct node *n) {
    bool any = false;
    for (int m = 0; m < s->n; m++) any |= given[s->at[m]];
    return any && !reads(n, s);
}

/* Nodes in order, but that those between the members of a group, which do not read it, come before
 * it. */
static steps plan_steps(const struct graph *g, const uint32_t *uses) {
    steps all = {0};
    struct step group = {.n = 0};
    bool *given = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (uint32_t i = 0; i < g->outputs.n; i++) given[g->outputs.at[i]] = true;
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *n = &g->nodes.at[id],
                          *first = group.n ? &g->nodes.at[group.at[0]] : NULL;
        bool joins = uses[id] && eval_is_elementwise(n);
        if (n->op == OP_INPUT) continue;
        if (first && (group.n == EVAL_GROUP || (joins && is_done(given, &group, n)) ||
                      (!(joins && is_alike(&first->meta, &n->meta)) && reads(n, &group)))) {
            vec_push(g->arena, &all, group);
            group.n = 0;
            first = NULL;
        }
        if (joins && (!first || is_alike(&first->meta, &n->meta)))
            group.at[group.n++] = id;
        else
            vec_push(g->arena, &all, ((struct step){{id}, 1}));
    }
    if (group.n) vec_push(g->arena, &all, group);
    return all;
}

/* How often the members of its group read a node. */
static uint32_t uses_within(const struct graph *g, const struct step *s, node_id id) {
    uint32_t count = 0;
    for (int m = 0; m < s->n; m++) {
        const struct node *n = &g->nodes.at[s->at[m]];
        for (int i = 0; i < n->n_args; i++)
            count += n->args[i].kind == ARG_NODE && n->args[i].node == id;
    }
    return count;
}

/* ---- the interpreter ------------------------------------------------------------------------- */

struct eval {
    const struct graph *g;
    struct cell *cells;
    uint32_t *uses;                  /* left */
    const struct value_taker *taker; /* of outputs, each when nothing else reads it */
    uint32_t *named;                 /* how often outputs name a node */
    struct diag *d;
    bool stopping, failed;
};

/* Outputs of node n. Each is the taker's own: the last to name a node takes its memory, others
 * copy. */
static bool hand_over(struct eval *e, node_id n) {
    const struct value_taker *t = e->taker;
    struct cell *c = &e->cells[n];
    for (uint32_t i = 0; e->named[n] && i < e->g->outputs.n; i++) {
        struct cell own = *c;
        if (e->g->outputs.at[i] != n) continue;
        e->uses[n]--;
        if (--e->named[n]) {
            own.v = NULL;
            own.w = NULL;
            if (!alloc_cell(&own, e->g->nodes.at[n].name, e->d)) return false;
            copy_cell(&own, c);
        } else {
            c->v = NULL;
            c->w = NULL;
        }
        if (!t->take(t->ctx, i, (struct value){own.v, own.n, own.w}, e->d)) return false;
    }
    return true;
}

/* One user less: none, or but outputs, may be left. */
static void release(struct eval *e, node_id n) {
    uint32_t left = --e->uses[n];
    if (left == 0) free_cell(&e->cells[n]);
    if (left && left == e->named[n] && !e->failed) e->failed = !hand_over(e, n);
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

static struct job job_of(struct eval *e, node_id id) {
    const struct node *n = &e->g->nodes.at[id];
    struct job j = {.g = e->g,
                    .node = n,
                    .cells = e->cells,
                    .out = &e->cells[id],
                    .d = e->d,
                    .stopping = &e->stopping};
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i].kind == ARG_NODE) j.in[i] = &e->cells[n->args[i].node];
    return j;
}

/* All outputs that are wanted, whichever node comes first. */
static bool eval_loop_node(struct eval *e, node_id id) {
    const struct graph *g = e->g;
    const struct node *n = &g->nodes.at[id];
    struct cell **out = NEW_ARRAY(g->arena, struct cell *, n->args[LOOP_BODY].graph->outputs.n);
    struct job j = job_of(e, id);
    if (e->cells[id].v || e->cells[id].w) return true;
    for (node_id k = id; k < g->nodes.n; k++) {
        struct cell *c = &e->cells[k];
        if (!e->uses[k] || !loop_same(&g->nodes.at[k], n) ||
            out[loop_output(g, g->nodes.at[k].args)])
            continue;
        if (!cell_shape(g, &g->nodes.at[k], c, e->d) || !alloc_cell(c, n->name, e->d)) return false;
        out[loop_output(g, g->nodes.at[k].args)] = c;
    }
    eval_loop(&j, out);
    return e->d->status == WS_OK;
}

static bool eval_node(struct eval *e, node_id id) {
    const struct node *n = &e->g->nodes.at[id];
    struct cell *c = &e->cells[id];
    struct job j = job_of(e, id);
    if (n->op == OP_LOOP) return eval_loop_node(e, id);
    if (!cell_shape(e->g, n, c, e->d)) return false;
    if (op_only_reshapes(n->op) && e->uses[n->args[0].node] == 1) {
        struct cell *from = &e->cells[n->args[0].node];
        c->v = from->v; /* nobody else reads it: take it over */
        c->w = from->w;
        from->v = NULL;
        from->w = NULL;
    } else {
        if (!alloc_cell(c, n->name, e->d)) return false;
        if (op_only_reshapes(n->op))
            copy_cell(c, j.in[0]);
        else
            eval_job(&j);
        if (e->d->status != WS_OK) return false;
    }
    if (e->g->stores_values && c->v) round_cell(c);
    return true;
}

/* Members that others read, too, get memory. */
static bool eval_group(struct eval *e, const struct step *s) {
    struct job jobs[EVAL_GROUP];
    for (int i = 0; i < s->n; i++) {
        const struct node *n = &e->g->nodes.at[s->at[i]];
        struct cell *c = &e->cells[s->at[i]];
        bool kept = e->uses[s->at[i]] > uses_within(e->g, s, s->at[i]);
        if (!cell_shape(e->g, n, c, e->d) || (kept && !alloc_cell(c, n->name, e->d))) return false;
        jobs[i] = job_of(e, s->at[i]);
    }
    eval_elementwise(jobs, s->n);
    return true;
}

static bool eval_step(struct eval *e, const struct step *s) {
    const struct node *first = &e->g->nodes.at[s->at[0]];
    if (e->uses[s->at[0]] > 0) {
        bool group = eval_is_elementwise(first);
        if (!(group ? eval_group(e, s) : eval_node(e, s->at[0]))) return false;
        if (e->stopping || graph_is_stopped(e->g))
            return diag_fail(e->d, WS_MACHINE, "interrupted"), false;
    }
    for (int i = 0; i < s->n; i++) release_args(e, &e->g->nodes.at[s->at[i]]);
    for (int i = 0; i < s->n && !e->failed; i++) {
        node_id id = s->at[i];
        if (e->named[id] && e->uses[id] == e->named[id]) e->failed = !hand_over(e, id);
    }
    return !e->failed;
}

static bool eval_inputs(struct eval *e, const struct value *inputs) {
    for (uint32_t i = 0; i < e->g->inputs.n; i++) {
        node_id id = e->g->inputs.at[i].node;
        const struct node *n = &e->g->nodes.at[id];
        if (!cell_shape(e->g, n, &e->cells[id], e->d)) return false;
        if (!e->uses[id]) continue;
        if (!alloc_cell(&e->cells[id], n->name, e->d)) return false;
        load_input(&e->cells[id], &inputs[i], e->g->given_exactly);
    }
    return true;
}

/* Those of inputs that nothing reads. */
static bool hand_over_inputs(struct eval *e) {
    for (uint32_t i = 0; i < e->g->inputs.n; i++)
        if (!hand_over(e, e->g->inputs.at[i].node)) return false;
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
    steps all = plan_steps(g, uses);
    double now = 0, most = 0;
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (uses[g->inputs.at[i].node]) now += cell_bytes(g, g->inputs.at[i].node);
    most = now;
    for (uint32_t i = 0; i < all.n; i++) {
        const struct step *s = &all.at[i];
        const struct node *n = &g->nodes.at[s->at[0]];
        bool takes_over = uses[s->at[0]] && op_only_reshapes(n->op) && uses[n->args[0].node] == 1;
        bool kept[EVAL_GROUP];
        for (int m = 0; m < s->n; m++) {
            kept[m] = uses[s->at[m]] > uses_within(g, s, s->at[m]);
            if (kept[m]) now += cell_bytes(g, s->at[m]);
        }
        if (now > most && !takes_over) most = now;
        for (int m = 0; m < s->n; m++) {
            n = &g->nodes.at[s->at[m]];
            for (int k = 0; k < n->n_args; k++) {
                const node_id *at;
                for (int q = arg_nodes(&n->args[k], &at); q-- > 0;) {
                    if (--uses[at[q]]) continue;
                    bool within = false;
                    for (int o = 0; o < s->n; o++) within |= s->at[o] == at[q] && !kept[o];
                    if (!within) now -= cell_bytes(g, at[q]);
                }
            }
        }
    }
    return most;
}

bool graph_eval_each(const struct graph *g, const struct value *inputs,
                     const struct value_taker *taker, struct diag *d) {
    struct eval e = {.g = g,
                     .cells = calloc(g->nodes.n, sizeof *e.cells),
                     .uses = graph_use_counts(g),
                     .taker = taker,
                     .named = calloc(g->nodes.n, sizeof *e.named),
                     .d = d};
    bool ok = e.cells && e.named;
    for (uint32_t i = 0; ok && i < g->outputs.n; i++) e.named[g->outputs.at[i]]++;
    ok = ok && eval_inputs(&e, inputs);
    steps all = plan_steps(g, e.uses);
    for (uint32_t i = 0; ok && i < all.n; i++) ok = eval_step(&e, &all.at[i]);
    ok = ok && hand_over_inputs(&e);
    for (uint32_t i = 0; e.cells && i < g->nodes.n; i++) free_cell(&e.cells[i]);
    free(e.cells);
    free(e.named);
    return ok;
}

static bool keep(void *outputs, uint32_t i, struct value v, struct diag *d) {
    ((struct value *)outputs)[i] = v;
    return true;
}

bool graph_eval(const struct graph *g, const struct value *inputs, struct value *outputs,
                struct diag *d) {
    struct value_taker all = {keep, outputs};
    memset(outputs, 0, g->outputs.n * sizeof *outputs);
    bool ok = graph_eval_each(g, inputs, &all, d);
    for (uint32_t i = 0; !ok && i < g->outputs.n; i++) value_free(&outputs[i]);
    return ok;
}
