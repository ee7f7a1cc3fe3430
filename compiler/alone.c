/* alone.c: the kernels of a program side by side, as a graph: what each of them should write, from
 * what it reads.
 *
 *   k0 reads x, writes b1:  b1 = exp(x)              graph(x, b1) {
 *   k1 reads b1, writes y:  y = sum(b1 * 2, 1)   ->      return exp(x), sum(b1 * 2, 1),
 *                                                               bound of k0, bound of k1 }
 *
 * What a kernel reads of another is an input here, and exact: an error belongs to the kernel that
 * made it, however many are behind it, and bounds stay as tight as those of a program of one
 * kernel. Within a kernel any value may be rounded to its type, as where a product's is before what
 * follows takes it. A kernel's part of the graph is what its buffers are the elements of, back to
 * what it reads. Where what it reads is no tensor of the graph, as the parts of a reduction along
 * rows (schedule/by_rows.c), its part goes on to what that was made of. Where what it writes is
 * none, nothing is known of it. Of a tensor that only a part is read of, a buffer holds that
 * (loop/trim.c).
 *
 * A kernel of all steps of a loop is judged step by step: each should have made what it left of
 * what the step before has left, which is in memory, and an input here (steps_alone.h).
 *
 * Some kernels are much more work so than as kernels: of what is put at indices, where it is not
 * added up (graph/landed.c), the part has an element for each pair of a source and a place. So
 * parts are made first, with what each of them costs, and joined to a graph by whoever chooses
 * among them. */
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "schedule/schedule.h"
#include "steps_alone.h"
#include "ws_tune.h"

#define NONE UINT32_MAX

/* What a kernel writes: values and bounds over the same inputs, which are nodes of `all`. */
struct part {
    struct graph *values, *bounds; /* NULL: nothing is known */
    VEC(node_id) inputs;
    VEC(int) outputs; /* buffers */
};

struct alone {
    const struct ws_program *p;
    const struct graph *g; /* of the whole program */
    struct arena *arena;
    struct graph *all; /* the inputs of every part */
    node_id *read;     /* by buffer: its node in `all`; NONE: no input of it */
    VEC(int) inputs;   /* buffers */
    /* by node of g, while a kernel's part is made: the buffer that the kernel reads it from, and
     * its node in the part; NONE */
    buffer_id *from;
    node_id *part;
    VEC(node_id) needed;
    uint32_t loop;      /* the kernel's, of all steps; NO_LOOP */
    VEC(buffer_id) has; /* memory of all steps that these read of the step before, */
    node_id *left;      /* and by buffer its node in the part */
    struct part *parts; /* by kernel */
    struct ws_alone_part *said;
};

/* Empty. */
static struct graph *graph_in(struct arena *a, const struct graph *like) {
    struct graph given = *like;
    given.arena = a;
    return graph_like(&given);
}

static const struct buffer *buffer_at(const struct alone *x, int buffer) {
    return &x->p->loops->buffers.at[buffer];
}

/* Rows that begin at lines of memory, pieces of a whole, steps that begin where vectors do. */
static bool has_gaps(const struct alone *x, const struct buffer *b) {
    return (b->kind == BUFFER_TEMP || b->kind == BUFFER_WINDOW || b->kind == BUFFER_STACK) &&
           !meta_is_contiguous(x->p->loops->ex, &b->meta);
}

static bool has_sizes(const struct meta *a, const struct meta *b) {
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++) same = a->size[d] == b->size[d];
    return same;
}

/* The node of g whose elements the buffer holds, row-major, or all of them that are read; NONE. */
static node_id node_of(const struct alone *x, int buffer) {
    const struct buffer *b = buffer_at(x, buffer);
    if (!b->node) return NONE;
    const struct meta *m = &x->g->nodes.at[b->node - 1].meta;
    bool same =
        m->dtype == b->meta.dtype &&
        (has_gaps(x, b) ? has_sizes(&b->meta, m)
         : b->first     ? m->rank == b->meta.rank
                    : ex_value(x->g->ex, meta_numel(x->g->ex, m)) == x->p->buffers[buffer].numel);
    return same || b->kind == BUFFER_INPUT ? b->node - 1 : NONE;
}

/* Whose steps the kernel goes through, all of them; NO_LOOP: none's, or a recurrence's, which keeps
 * in registers what its steps have of the one before. */
static uint32_t loop_of_kernel(const struct alone *x, int kernel) {
    const struct kernel *k = x->p->kernels[kernel].ir;
    if (k->kind != KERNEL_PERSISTENT) return NO_LOOP;
    const struct group *g = &k->schedule->groups.at[k->group];
    return loop_of(x->p->loops->nests.at[g->members.at[0].nest].epoch);
}

/* ---- inputs of all --------------------------------------------------------------------------- */

static void add_read(struct alone *x, int buffer) {
    node_id n = node_of(x, buffer);
    if (x->read[buffer] != NONE || n == NONE) return;
    bool all = !buffer_at(x, buffer)->first;
    struct meta m = all ? x->g->nodes.at[n].meta : buffer_at(x, buffer)->meta;
    meta_contiguous(x->g->ex, &m);
    if (has_gaps(x, buffer_at(x, buffer))) m = buffer_at(x, buffer)->meta;
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
    for (int k = 0; k < p->n_kernels; k++) {
        const struct ws_kernel *kernel = &p->kernels[k];
        for (int i = 0; i < kernel->n_reads; i++) add_read(x, kernel->reads[i]);
        for (int i = 0; i < kernel->n_writes && loop_of_kernel(x, k) != NO_LOOP; i++)
            if (buffer_at(x, kernel->writes[i])->kind == BUFFER_STACK)
                add_read(x, kernel->writes[i]);
    }
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

/* Does the kernel sum up, by itself, what lands on each place? Of its pairs nothing is needed. */
static bool sums_landed(const struct alone *x, node_id n, struct landed *l) {
    return x->from[n] == NONE && graph_find_landed(x->g, n, l) && x->from[l->hit] == NONE &&
           x->from[l->pairs] == NONE;
}

static bool is_of_loop(const struct alone *x, node_id n) {
    return x->loop != NO_LOOP && loop_of(x->p->loops->epoch[n]) == x->loop;
}

/* What a step has of the one before. */
static void need_before(struct alone *x, node_id step) {
    buffer_id memory = steps_memory(x->p->loops, step);
    bool carried = !ex_value(x->g->ex, x->g->nodes.at[step].args[3].i), known = false;
    if (!carried) return;
    if (memory == (buffer_id)NO_MEMORY || x->read[memory] == NONE) {
        need(x, steps_stack(x->p->loops, step));
        return;
    }
    for (uint32_t i = 0; i < x->has.n; i++) known |= x->has.at[i] == memory;
    if (!known) vec_push(x->arena, &x->has, memory);
}

/* All that these nodes are made of, up to what the kernel reads. */
static void find_needed(struct alone *x) {
    for (uint32_t i = 0; i < x->needed.n; i++) {
        node_id id = x->needed.at[i];
        const struct node *n = &x->g->nodes.at[id];
        struct landed l;
        if (n->op == OP_LOOP_STEP && is_of_loop(x, id)) need_before(x, id);
        if (sums_landed(x, id, &l)) {
            need(x, l.index);
            need(x, l.source);
            continue;
        }
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

/* Are these of loops that the kernel is one step of, or none? */
static bool needs_loop(const struct alone *x) {
    bool any = false;
    for (uint32_t i = 0; i < x->needed.n; i++) {
        node_id n = x->needed.at[i];
        any |=
            x->from[n] == NONE && op_info(x->g->nodes.at[n].op)->class == LOOP && !is_of_loop(x, n);
    }
    return any;
}

static node_id call(struct graph *g, enum op op, const struct arg *args, int n) {
    struct diag d = diag_new(g->arena);
    node_id out;
    if (!graph_call(g, op, args, n, (struct span){0}, &d, &out)) WS_BUG("alone: %s", d.message);
    return out;
}

/* Zeros stand for those of the node's elements that nobody reads, and no buffer holds. */
static node_id with_unread(struct alone *x, struct graph *g, node_id held, const struct buffer *b) {
    const struct meta *m = &x->g->nodes.at[b->node - 1].meta;
    ex pad[2 * WS_MAX_RANK];
    for (int d = 0; d < m->rank; d++) {
        ex before = ex_const(g->ex, b->first[d]);
        pad[2 * (m->rank - 1 - d)] = before;
        pad[2 * (m->rank - 1 - d) + 1] =
            ex_sub(g->ex, ex_sub(g->ex, m->size[d], b->meta.size[d]), before);
    }
    struct arg args[] = {arg_node(held), arg_ints(g, pad, 2 * (uint32_t)m->rank), arg_float(0)};
    return call(g, OP_CONSTANT_PAD, args, 3);
}

/* Those of the node's elements that the buffer holds. */
static node_id held_of(struct alone *x, struct graph *g, node_id all, int buffer) {
    const struct buffer *b = buffer_at(x, buffer);
    for (int d = 0; b->first && d < b->meta.rank; d++) {
        ex begin = ex_const(g->ex, b->first[d]);
        struct arg args[] = {arg_node(all), arg_int(g, d), arg_ex(begin),
                             arg_ex(ex_add(g->ex, begin, b->meta.size[d]))};
        all = call(g, OP_SLICE, args, 4);
    }
    return all;
}

/* The part's own of an input of all. */
static node_id add_input(struct alone *x, struct part *part, node_id of_all) {
    const struct node *in = &x->all->nodes.at[of_all];
    struct graph *g = part->values;
    vec_push(x->arena, &part->inputs, of_all);
    return graph_input(g, in->name, INPUT_ARG, "", &in->meta, g->inputs.n);
}

static void add_leaf(struct alone *x, struct part *part, node_id n) {
    node_id of_all = x->from[n] != NONE ? x->read[x->from[n]] : NONE;
    for (uint32_t i = 0; of_all == NONE && i < x->g->inputs.n; i++)
        if (x->g->inputs.at[i].node == n) of_all = x->all->inputs.at[i].node;
    x->part[n] = add_input(x, part, of_all);
}

/* What a step leaves that is wanted. */
static void add_steps(struct alone *x, struct part *part) {
    node_id *wanted = NEW_ARRAY(x->arena, node_id, part->outputs.n);
    for (uint32_t i = 0; i < part->outputs.n; i++) wanted[i] = node_of(x, part->outputs.at[i]);
    steps_add(part->values, x->p->loops, x->loop, x->needed.at, x->needed.n, wanted,
              part->outputs.n, x->left, x->part);
}

static void make_part(struct alone *x, struct part *part) {
    struct rounding how = {.device = x->p->limits.kind, .stores = true};
    struct graph *g = part->values = graph_in(x->arena, x->g);
    for (uint32_t i = 0; i < x->needed.n; i++) /* a graph begins with its inputs */
        if (is_leaf(x, x->needed.at[i])) add_leaf(x, part, x->needed.at[i]);
    for (uint32_t i = 0; i < x->has.n; i++)
        x->left[x->has.at[i]] = add_input(x, part, x->read[x->has.at[i]]);
    for (uint32_t i = 0; i < x->needed.n; i++) {
        node_id n = x->needed.at[i];
        struct landed l;
        if (is_of_loop(x, n)) continue;
        if (sums_landed(x, n, &l))
            x->part[n] =
                graph_land(g, &x->g->nodes.at[n].meta, &l, x->part[l.index], x->part[l.source]);
        else if (!is_leaf(x, n))
            x->part[n] = graph_copy(g, x->g, n, x->part);
        else if (x->from[n] != NONE && buffer_at(x, (int)x->from[n])->first)
            x->part[n] = with_unread(x, g, x->part[n], buffer_at(x, (int)x->from[n]));
    }
    if (x->loop != NO_LOOP) add_steps(x, part);
    for (uint32_t i = 0; i < part->outputs.n; i++)
        vec_push(x->arena, &g->outputs,
                 held_of(x, g, x->part[node_of(x, part->outputs.at[i])], part->outputs.at[i]));
    part->bounds = graph_bound(g, how);
}

static void add_kernel(struct alone *x, int kernel) {
    const struct ws_kernel *k = &x->p->kernels[kernel];
    struct part *part = &x->parts[kernel];
    struct ws_alone_part *said = &x->said[kernel];
    x->needed.n = x->has.n = 0;
    x->loop = loop_of_kernel(x, kernel);
    for (int i = 0; i < k->n_reads; i++) {
        node_id n = node_of(x, k->reads[i]);
        if (n != NONE && x->p->buffers[k->reads[i]].kind != WS_BUF_INPUT)
            x->from[n] = (buffer_id)k->reads[i];
    }
    for (int i = 0; i < k->n_writes; i++) {
        const struct ws_buffer *b = &x->p->buffers[k->writes[i]];
        node_id n = node_of(x, k->writes[i]);
        if (n == NONE) {
            said->n_unknown++;
            continue;
        }
        vec_push(x->arena, &part->outputs, k->writes[i]);
        said->bytes += (double)b->numel * (dtype_bytes(dtype_reference(b->dtype)) + sizeof(float));
        need(x, n);
    }
    find_needed(x);
    if (needs_loop(x)) { /* the steps before its own, of which nothing is left */
        said->n_unknown += (int)part->outputs.n;
        said->bytes = 0;
        part->outputs.n = 0;
    }
    said->n_known = (int)part->outputs.n;
    if (part->outputs.n) {
        make_part(x, part);
        said->work = graph_work(part->values) + graph_work(part->bounds);
    }
    for (uint32_t i = 0; i < x->needed.n; i++) x->part[x->needed.at[i]] = NONE;
    for (uint32_t i = 0; i < x->has.n; i++) x->left[x->has.at[i]] = NONE;
    for (int i = 0; i < k->n_reads; i++)
        if (node_of(x, k->reads[i]) != NONE) x->from[node_of(x, k->reads[i])] = NONE;
}

struct ws_alone ws_alone_of(const struct ws_program *p, struct arena *a) {
    const struct graph *g = p->loops->graph;
    struct alone *x = NEW(a, struct alone);
    *x = (struct alone){.p = p, .g = g, .arena = a, .all = graph_in(a, g)};
    x->read = NEW_ARRAY(a, node_id, p->n_buffers);
    x->left = NEW_ARRAY(a, node_id, p->n_buffers);
    x->from = NEW_ARRAY(a, buffer_id, g->nodes.n);
    x->part = NEW_ARRAY(a, node_id, g->nodes.n);
    x->parts = NEW_ARRAY(a, struct part, p->n_kernels);
    x->said = NEW_ARRAY(a, struct ws_alone_part, p->n_kernels);
    memset(x->from, 0xff, sizeof *x->from * g->nodes.n);
    memset(x->part, 0xff, sizeof *x->part * g->nodes.n);
    memset(x->left, 0xff, sizeof *x->left * (size_t)p->n_buffers);
    add_inputs(x);
    for (int k = 0; k < p->n_kernels; k++) add_kernel(x, k);
    return (struct ws_alone){x->said, (int)x->inputs.n, x->inputs.at, x};
}

/* ---- some of them ---------------------------------------------------------------------------- */

static struct graph *inputs_of(const struct alone *x, struct arena *a) {
    struct graph *g = graph_in(a, x->all);
    for (uint32_t i = 0; i < x->all->inputs.n; i++)
        graph_copy(g, x->all, x->all->inputs.at[i].node, NULL);
    return g;
}

/* Its outputs without the bounds behind them. */
static struct graph *without_bounds(const struct graph *all, uint32_t n) {
    struct graph *g = NEW(all->arena, struct graph);
    *g = *all;
    g->outputs.n = n;
    return g;
}

/* Values first, then the bounds. */
static void join(const struct alone *x, const bool *kernels, struct graph *all) {
    struct joining *joining = joining_new(all);
    VEC(node_id) bounds = {0};
    for (int k = 0; k < x->p->n_kernels; k++) {
        const struct part *part = &x->parts[k];
        node_id *made = NEW_ARRAY(all->arena, node_id, part->outputs.n);
        if (!kernels[k] || !part->values) continue;
        joining_add(joining, part->values, part->inputs.at, made);
        for (uint32_t i = 0; i < part->outputs.n; i++) vec_push(all->arena, &all->outputs, made[i]);
        joining_add(joining, part->bounds, part->inputs.at, made);
        for (uint32_t i = 0; i < part->outputs.n; i++) vec_push(all->arena, &bounds, made[i]);
    }
    for (uint32_t i = 0; i < bounds.n; i++) vec_push(all->arena, &all->outputs, bounds.at[i]);
}

struct ws_captured *ws_alone_join(const struct ws_alone *x, const bool *kernels, struct arena *a,
                                  const int **outputs) {
    const struct alone *made = x->made;
    const struct ws_captured *c = made->p->captured;
    struct graph *all = inputs_of(made, a);
    struct ws_captured *out = NEW(a, struct ws_captured);
    VEC(int) buffers = {0};
    join(made, kernels, all);
    for (int k = 0; k < made->p->n_kernels; k++)
        for (uint32_t i = 0; kernels[k] && i < made->parts[k].outputs.n; i++)
            vec_push(a, &buffers, made->parts[k].outputs.at[i]);
    *out = (struct ws_captured){.arena = a,
                                .workload = c->workload,
                                .axes = c->axes,
                                .dtype = c->dtype,
                                .mode = c->mode,
                                .weights = "",
                                .guards = "",
                                .graph = without_bounds(all, buffers.n),
                                .seed = c->seed,
                                .limits = c->limits,
                                .n_inputs = x->n_inputs,
                                .n_outputs = (int)buffers.n};
    out->values = NEW_ARRAY(a, struct ws_values, DEVICE_KINDS);
    out->values[made->p->limits.kind].reference = all;
    *outputs = buffers.at;
    return out;
}
