/* alone.c: the kernels of a program side by side, as a graph: what each of them should write, from
 * what it reads.
 *
 *   k0 reads x, writes b1:  b1 = exp(x)              graph(x, b1) {
 *   k1 reads b1, writes y:  y = sum(b1 * 2, 1)   ->      return exp(x), sum(b1 * 2, 1),
 *                                                               bound of k0, bound of k1 }
 *
 * What a kernel reads of another is an input here, and exact: an error belongs to the kernel that
 * made it, however many are behind it, and bounds stay as tight as those of a program of one
 * kernel. A kernel's part of the graph is what its buffers are the elements of, back to what it
 * reads. Where what it reads is no tensor of the graph, as the parts of a reduction along rows
 * (schedule/by_rows.c), its part goes on to what that was made of, and all on the way may have been
 * stored. Where what it writes is none, nothing is known of it. */
#include <stdlib.h>
#include <string.h>

#include "schedule/schedule.h"
#include "ws_tune.h"

#define NONE UINT32_MAX

struct alone {
    const struct ws_program *p;
    const struct graph *g; /* of the whole program */
    struct arena *arena;
    struct graph *all;
    struct joining *joining;
    node_id *read;               /* by buffer: its node in `all`; NONE: no input of it */
    VEC(int) inputs, outputs;    /* buffers */
    VEC(node_id) values, bounds; /* of them, in `all` */
    /* by node of g, while a kernel's part is made: the buffer that the kernel reads it from, and
     * its node in the part; NONE */
    buffer_id *from;
    node_id *part;
    VEC(node_id) needed;
    VEC(node_id) part_inputs; /* of the part, in `all` */
    int unknown;
};

/* The node of g whose elements the buffer holds, row-major; NONE. */
static node_id node_of(const struct alone *x, int buffer) {
    const struct buffer *b = &x->p->loops->buffers.at[buffer];
    if (!b->node) return NONE;
    const struct meta *m = &x->g->nodes.at[b->node - 1].meta;
    bool same = m->dtype == b->meta.dtype &&
                ex_value(x->g->ex, meta_numel(x->g->ex, m)) == x->p->buffers[buffer].numel;
    return same || b->kind == BUFFER_INPUT ? b->node - 1 : NONE;
}

/* ---- inputs of all --------------------------------------------------------------------------- */

static void add_read(struct alone *x, int buffer) {
    node_id n = node_of(x, buffer);
    if (x->read[buffer] != NONE || n == NONE) return;
    struct meta m = x->g->nodes.at[n].meta;
    meta_contiguous(x->g->ex, &m);
    x->read[buffer] =
        graph_input(x->all, x->p->buffers[buffer].name, INPUT_ARG, "", &m, x->all->inputs.n);
    vec_push(x->arena, &x->inputs, buffer);
}

/* Those of the program, then whatever kernels read of others. */
static void add_inputs(struct alone *x) {
    const struct ws_program *p = x->p;
    for (int b = 0; b < p->n_buffers; b++) x->read[b] = NONE;
    for (uint32_t i = 0; i < x->g->inputs.n; i++) {
        graph_copy(x->all, x->g, x->g->inputs.at[i].node, NULL);
        vec_push(x->arena, &x->inputs, -1);
    }
    for (int b = 0; b < p->n_buffers; b++) {
        if (p->buffers[b].kind != WS_BUF_INPUT) continue;
        x->read[b] = x->all->inputs.at[p->buffers[b].index].node;
        x->inputs.at[p->buffers[b].index] = b;
    }
    for (int k = 0; k < p->n_kernels; k++)
        for (int i = 0; i < p->kernels[k].n_reads; i++) add_read(x, p->kernels[k].reads[i]);
}

/* ---- a kernel's part ------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
    node_id x = *(const node_id *)a, y = *(const node_id *)b;
    return (x > y) - (x < y);
}

static void need(struct alone *x, node_id n) {
    if (x->part[n] != NONE) return;
    x->part[n] = 0;
    vec_push(x->arena, &x->needed, n);
}

/* All that these nodes are made of, up to what the kernel reads. */
static void find_needed(struct alone *x) {
    for (uint32_t i = 0; i < x->needed.n; i++) {
        node_id id = x->needed.at[i];
        const struct node *n = &x->g->nodes.at[id];
        for (int k = 0; x->from[id] == NONE && k < n->n_args; k++) {
            const node_id *at;
            int count = arg_nodes(&n->args[k], &at);
            while (count--) need(x, at[count]);
        }
    }
    if (x->needed.n) qsort(x->needed.at, x->needed.n, sizeof *x->needed.at, by_number);
}

static bool is_leaf(const struct alone *x, node_id n) {
    return x->from[n] != NONE || x->g->nodes.at[n].op == OP_INPUT;
}

static void add_leaf(struct alone *x, struct graph *part, node_id n) {
    buffer_id from = x->from[n];
    for (uint32_t i = 0; from == NONE && i < x->g->inputs.n; i++)
        if (x->g->inputs.at[i].node == n)
            vec_push(x->arena, &x->part_inputs, x->all->inputs.at[i].node);
    if (from != NONE) vec_push(x->arena, &x->part_inputs, x->read[from]);
    const struct node *in = &x->all->nodes.at[vec_last(&x->part_inputs)];
    x->part[n] = graph_input(part, in->name, INPUT_ARG, "", &in->meta, part->inputs.n);
}

static struct graph *part_of(struct alone *x, const struct ws_kernel *k) {
    struct graph *part = graph_like(x->g);
    x->part_inputs.n = 0;
    for (int leaves = 1; leaves >= 0; leaves--)
        for (uint32_t i = 0; i < x->needed.n; i++) {
            node_id n = x->needed.at[i];
            if (is_leaf(x, n) != leaves) continue;
            if (leaves)
                add_leaf(x, part, n);
            else
                x->part[n] = graph_copy(part, x->g, n, x->part);
        }
    for (int i = 0; i < k->n_writes; i++)
        if (node_of(x, k->writes[i]) != NONE)
            vec_push(x->arena, &part->outputs, x->part[node_of(x, k->writes[i])]);
    return part;
}

static void join_part(struct alone *x, const struct graph *part, struct rounding how) {
    uint32_t n = part->outputs.n;
    node_id *made = NEW_ARRAY(x->arena, node_id, n);
    joining_add(x->joining, part, x->part_inputs.at, made);
    for (uint32_t i = 0; i < n; i++) vec_push(x->arena, &x->values, made[i]);
    joining_add(x->joining, graph_bound(part, how), x->part_inputs.at, made);
    for (uint32_t i = 0; i < n; i++) vec_push(x->arena, &x->bounds, made[i]);
}

static void add_kernel(struct alone *x, const struct ws_kernel *k) {
    struct rounding how = {.device = x->p->limits.kind};
    x->needed.n = 0;
    for (int i = 0; i < k->n_reads; i++) {
        node_id n = node_of(x, k->reads[i]);
        if (n == NONE)
            how.stores = true;
        else if (x->p->buffers[k->reads[i]].kind != WS_BUF_INPUT)
            x->from[n] = (buffer_id)k->reads[i];
    }
    for (int i = 0; i < k->n_writes; i++) {
        node_id n = node_of(x, k->writes[i]);
        if (n == NONE) {
            x->unknown++;
            continue;
        }
        vec_push(x->arena, &x->outputs, k->writes[i]);
        need(x, n);
    }
    find_needed(x);
    if (x->needed.n) join_part(x, part_of(x, k), how);
    for (uint32_t i = 0; i < x->needed.n; i++) x->part[x->needed.at[i]] = NONE;
    for (int i = 0; i < k->n_reads; i++)
        if (node_of(x, k->reads[i]) != NONE) x->from[node_of(x, k->reads[i])] = NONE;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Its outputs without the bounds behind them. */
static struct graph *without_bounds(const struct graph *all, uint32_t n) {
    struct graph *g = NEW(all->arena, struct graph);
    *g = *all;
    g->outputs.n = n;
    return g;
}

struct ws_alone ws_alone_of(const struct ws_program *p) {
    const struct ws_captured *c = p->captured;
    struct arena *a = p->arena;
    const struct graph *g = p->loops->graph;
    struct alone x = {.p = p, .g = g, .arena = a, .all = graph_like(g)};
    x.joining = joining_new(x.all);
    x.read = NEW_ARRAY(a, node_id, p->n_buffers);
    x.from = NEW_ARRAY(a, buffer_id, g->nodes.n);
    x.part = NEW_ARRAY(a, node_id, g->nodes.n);
    memset(x.from, 0xff, sizeof *x.from * g->nodes.n);
    memset(x.part, 0xff, sizeof *x.part * g->nodes.n);
    add_inputs(&x);
    for (int k = 0; k < p->n_kernels; k++) add_kernel(&x, &p->kernels[k]);
    for (uint32_t i = 0; i < x.values.n; i++) vec_push(a, &x.all->outputs, x.values.at[i]);
    for (uint32_t i = 0; i < x.bounds.n; i++) vec_push(a, &x.all->outputs, x.bounds.at[i]);
    struct ws_captured *all = NEW(a, struct ws_captured);
    *all = (struct ws_captured){.arena = a,
                                .workload = c->workload,
                                .axes = c->axes,
                                .dtype = c->dtype,
                                .mode = c->mode,
                                .guards = "",
                                .graph = without_bounds(x.all, x.values.n),
                                .seed = c->seed,
                                .limits = c->limits,
                                .n_inputs = (int)x.all->inputs.n,
                                .n_outputs = (int)x.values.n};
    all->values = NEW_ARRAY(a, struct ws_values, DEVICE_KINDS);
    all->values[p->limits.kind].reference = x.all;
    return (struct ws_alone){all, x.inputs.at, x.outputs.at, x.unknown};
}
