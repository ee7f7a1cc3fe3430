/* compile.c: the back end of the pipeline on one screen, and the tuner's view of its result.
 *
 *     graph -> simplify -> decompose -> simplify -> loops -> fuse -> order -> memory -> kernels
 *
 * After each stage its verifier runs, its dump is written and its time recorded; the passes know
 * nothing of that. */
#include <math.h>
#include <string.h>

#include "emit/emit.h"
#include "graph/graph.h"
#include "graph/loop.h"
#include "kernel/kernel.h"
#include "kernel/sequence.h"
#include "limited.h"
#include "loop/loop.h"
#include "schedule/schedule.h"
#include "symbolic.h"
#include "ws_tune.h"

_Static_assert(
    (int)GROUP_MAX_BUFFERS <= 32 && (int)GROUP_MAX_BUFFERS < (int)WS_MAX_ARGS,
    "ws_kernel's lists, and a source's arguments, must be able to hold a group's buffers");
_Static_assert((int)WS_MAX_ARGS <= (int)LAUNCH_MAX_ARGS,
               "a launch must be able to hold a source's arguments");

/* One lowering: what the stages read and write. */
struct compile {
    struct arena *arena;
    struct ws_captured *captured;
    const struct device_limits *limits;
    enum ws_fusion fusion;
    struct stages *stages;
    struct diag *d;
    struct graph *graph;
    struct loops *loops;
    struct schedule *schedule;
    struct ws_program *program;
    struct map costs; /* us of a kernel's text, as bits */
    double again;     /* bytes that are read once more, whatever kernels there are */
    bool may_persist;
    bool done;
};

static void must_hold(const char *stage, const char *violation) {
    if (violation) WS_BUG("after %s: %s", stage, violation);
}

static bool dump(struct compile *c, const char *name, int log,
                 void (*print)(struct buf *, struct compile *)) {
    if (!c->stages || (!c->stages->dump_dir && !c->stages->logs)) return true;
    struct buf b = buf_new(c->arena);
    print(&b, c);
    return stage_dump(c->stages, name, log, b.p, c->d) == WS_OK;
}

static bool stage(struct compile *c, const char *name) {
    if (c->stages) stage_end(c->stages, name);
    return c->d->status == WS_OK;
}

static void print_graph(struct buf *b, struct compile *c) { graph_print(b, c->graph); }
static void print_loops(struct buf *b, struct compile *c) { loops_print(b, c->loops); }
static void print_fusion(struct buf *b, struct compile *c) { buf_puts(b, c->schedule->log.p); }
static void print_schedule(struct buf *b, struct compile *c) { schedule_print(b, c->schedule); }
static void print_memory(struct buf *b, struct compile *c) {
    schedule_print_memory(b, c->schedule);
}

/* ---- the stages ------------------------------------------------------------------------------ */

static struct loops *lower_graph(const struct compile *c, const struct graph *g, struct arena *a,
                                 struct diag *d) {
    struct graph *given = NEW(a, struct graph);
    *given = *g;
    given->keeps_states = c->limits->kind == DEVICE_CUDA;
    struct loops *l = loops_lower(given, a, d);
    if (l && c->fusion != WS_EAGER && c->limits->kind == DEVICE_CUDA && c->limits->sm >= 80)
        loops_results_apart(l, c->limits->units);
    if (l && c->fusion != WS_EAGER) loops_recurrences(l);
    return l;
}

/* What the program would move; infinite if there is none. */
static double bytes_of(struct compile *c, const struct graph *g) {
    struct arena *scratch = arena_within(c->arena);
    struct diag d = diag_new(scratch);
    struct loops *l = lower_graph(c, g, scratch, &d);
    double bytes = l ? schedule_bytes(l, c->limits) : INFINITY;
    arena_free(scratch);
    return bytes;
}

/* Variances in one pass with their means: of what products have made if that moves less, as a
 * kernel that reads their rows may keep them for both. */
static void make_one_pass(struct compile *c) {
    struct graph *behind = graph_simplify(c->graph); /* a copy */
    int n = graph_one_pass(c->graph, c->limits, false),
        more = graph_one_pass(behind, c->limits, true) - n;
    graph_join_twins(c->graph);
    c->graph = graph_simplify(c->graph);
    if (!more) return;
    graph_join_twins(behind);
    behind = graph_simplify(behind);
    if (bytes_of(c, behind) < bytes_of(c, c->graph)) c->graph = behind;
}

static void make_ready(struct schedule *s, bool eager) {
    schedule_order(s);
    schedule_at_load(s, eager);
    schedule_memory(s);
}

/* The shapes of the tensors that a product reads: they say which windows it finds (im2col.c), and
 * no kernel's text has them. */
static void put_shapes(struct buf *b, const struct kernel *k) {
    for (value_id v = 0; v < k->values.n && k->kind == KERNEL_MATMUL; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_LOAD) continue;
        const struct meta *m = &k->schedule->loops->buffers.at[x->buffer].meta;
        buf_printf(b, "; v%u", v);
        for (int d = 0; d < m->rank; d++) {
            buf_puts(b, " ");
            ex_print(b, k->ex, m->size[d]);
            buf_puts(b, ":");
            ex_print(b, k->ex, m->stride[d]);
        }
    }
}

/* us that a kernel takes, about; of those with the same text that is asked once. */
static double kernel_us(struct compile *c, const struct kernel *k) {
    struct buf text = buf_new(k->arena);
    union {
        double us;
        uint64_t bits;
    } known;
    kernel_print(&text, k);
    put_shapes(&text, k);
    if (map_gets(&c->costs, text.p, &known.bits)) return known.us;
    known.us = kernel_least_cost(k, NULL, k->arena);
    map_puts(&c->costs, text.p, known.bits);
    return known.us;
}

/* The same of a group's; infinite if it is to be small, one that others may go beside, and is not.
 * The kernel, and all configs of it that were looked at, are gone: of a network these are hundreds
 * of megabytes. */
static double us_of(struct compile *c, struct schedule *s, uint32_t group, bool small) {
    struct arena *scratch = arena_within(c->arena);
    const struct kernel *k = kernel_build(s, group, c->limits, scratch);
    bool asked = !small || (k->kind == KERNEL_REDUCE && !k->landing);
    double us = asked ? kernel_us(c, k) : INFINITY;
    arena_free(scratch);
    return us;
}

static double small_us(struct schedule *s, uint32_t group, void *ctx) {
    return us_of(ctx, s, group, true);
}

static double group_us(struct schedule *s, uint32_t group, void *ctx) {
    return us_of(ctx, s, group, false);
}

/* How the sources of a group's kernel are sorted. */
static bool sort_key(struct schedule *s, uint32_t group, struct nest *key, const char **text,
                     void *ctx) {
    struct compile *c = ctx;
    struct arena *scratch = arena_within(c->arena);
    const struct kernel *k = kernel_build(s, group, c->limits, scratch);
    bool any = kernel_sort_key(k, c->arena, key, text);
    arena_free(scratch);
    return any;
}

/* What is fused by rule, all of it. */
static bool is_by_rule(const struct compile *c) {
    return c->fusion == WS_FUSE || c->fusion == WS_PERSISTENT;
}

/* Why a group of chained products is no kernel. */
static const char *chain_reason(struct schedule *s, uint32_t group, double *us, void *ctx) {
    struct compile *c = ctx;
    struct arena *scratch = arena_within(c->arena);
    const char *bad = kernel_chain_reason(s, group, c->limits, us, scratch);
    if (bad) bad = arena_strdup(c->arena, bad);
    arena_free(scratch);
    return bad;
}

static void chain(struct compile *c, struct schedule *s) {
    schedule_chain(s, c->limits, chain_reason, is_by_rule(c) ? group_us : NULL, c);
}

/* The loops of a graph, fused, with what products have apart; NULL if there are none. */
static struct schedule *fuse_anew(struct compile *c, const struct graph *g,
                                  const struct apart_marks *marks, struct arena *a) {
    struct diag d = diag_new(a);
    struct loops *l = lower_graph(c, g, a, &d);
    if (!l) return NULL;
    struct schedule *s = schedule_fuse_apart(l, c->limits, marks, a);
    schedule_recompute(s, c->limits);
    return s;
}

/* How many chains of products the kernels of a graph have; *moved: what these kernels move. */
static int count_chains(struct compile *c, const struct graph *g, double *moved) {
    int n = 0;
    struct arena *scratch = arena_within(c->arena);
    struct schedule *s = fuse_anew(c, g, NULL, scratch);
    if (s) chain(c, s);
    for (uint32_t i = 0; s && i < s->groups.n; i++) {
        const struct group *G = &s->groups.at[i];
        if (G->n_between) n += G->twin == NO_NEST ? 1 : 2;
    }
    *moved = s ? schedule_moved(s, c->limits) : INFINITY;
    arena_free(scratch);
    return n;
}

/* What several products read behind the same ones is made for each where all of them go along with
 * theirs then: one that does not would leave copies in memory. And only where that moves less: a
 * norm between linear layers of few columns would have its sums in kernels of their own. */
static void make_chains(struct compile *c) {
    int chains = 0;
    double with, without;
    if (c->limits->kind != DEVICE_CUDA || c->limits->sm < 80) return;
    struct graph *g = graph_chain_copies(c->graph, &chains);
    if (!chains || count_chains(c, g, &with) < chains) return;
    count_chains(c, c->graph, &without);
    if (c->fusion == WS_CHAINED || with <= without) c->graph = g;
}

/* us that the kernels of a graph take in each call, about, or those of products alone; infinite if
 * it cannot be lowered. */
static double graph_us(struct compile *c, const struct graph *g, bool products) {
    struct arena *scratch = arena_within(c->arena);
    double us = 0;
    struct schedule *s = fuse_anew(c, g, NULL, scratch);
    if (s) make_ready(s, false);
    for (uint32_t i = 0; s && i < s->groups.n; i++)
        if (products ? s->groups.at[i].matmul : !s->groups.at[i].at_load) us += group_us(s, i, c);
    arena_free(scratch);
    return s ? us : INFINITY;
}

/* The same of a captured graph's products. */
static double products_us(struct graph *g, void *ctx) {
    struct compile *c = ctx;
    g = graph_simplify(graph_decompose_for(graph_simplify(g), c->limits));
    return graph_us(c, graph_store_reshaped(graph_turn_products(graph_channels_last(g))), true);
}

static bool makes_chains(const struct compile *c) {
    return is_by_rule(c) || c->fusion == WS_CHAINED;
}

/* Of operators that kernels have. */
static void decompose(struct compile *c) {
    c->graph = graph_simplify(graph_decompose_for(c->graph, c->limits));
    if (c->fusion == WS_EAGER) return; /* eager runs what the user wrote */
    c->graph = graph_views_last(graph_scans_last(graph_extrema_first(c->graph)));
    c->graph = graph_slice_scans(c->graph);
    c->graph = graph_join_pads(c->graph);
    c->graph = graph_divide_softplus(c->graph);
    if (c->limits->kind == DEVICE_CUDA && c->limits->sm >= 80)
        c->graph = graph_store_reshaped(graph_turn_products(graph_channels_last(c->graph)));
    if (c->limits->kind != DEVICE_CUDA) c->graph = graph_simplify(graph_widen_scores(c->graph));
    make_one_pass(c);
}

/* The same with outputs as filters, where that takes less by itself, and in all: what sums up the
 * results may not go along with them then. */
static void decompose_widely(struct compile *c) {
    struct graph *g = c->graph, *wide = graph_widen_filters(g, WIDE_FILTERS_PAY, products_us, c),
                 *plain;
    decompose(c);
    if (wide == g) return;
    plain = c->graph;
    c->graph = graph_simplify(wide);
    decompose(c);
    if (graph_us(c, c->graph, false) >= graph_us(c, plain, false)) c->graph = plain;
}

/* A cost is off by 20 % at times, and launches have less that can go wrong. */
static bool persists(struct schedule *s, uint32_t group, double launches, void *ctx) {
    const double WORTH = 0.8; /* of what the launches take */
    struct compile *c = ctx;
    struct arena *scratch = arena_within(c->arena);
    double us;
    const char *bad = kernel_persistent_reason(s, group, c->limits, &us, scratch);
    bool pays = !bad && us < WORTH * launches;
    if (bad)
        buf_printf(&s->log, "steps: no kernel of their own: %s\n", bad);
    else
        buf_printf(&s->log, "steps: %.0f us as launches, %.0f us as one kernel\n", launches, us);
    arena_free(scratch);
    c->may_persist |= !bad && !pays;
    return !bad && (pays || c->fusion == WS_PERSISTENT);
}

/* Loops of a graph as kernels of all their steps: how many, and what all kernels take, in us. */
struct stepping {
    int kernels;
    double us;
    bool may_persist; /* there might be more */
};

static struct stepping steps_of(struct compile *c, const struct graph *g) {
    struct stepping out = {.us = INFINITY};
    struct arena *scratch = arena_within(c->arena);
    struct schedule *s = fuse_anew(c, g, NULL, scratch);
    bool might = c->may_persist;
    c->may_persist = false;
    if (s) {
        out.us = 0;
        make_ready(s, false);
        out.kernels = schedule_persistent(s, group_us, persists, c);
    }
    for (uint32_t i = 0; s && i < s->groups.n; i++) {
        const struct group *G = &s->groups.at[i];
        int64_t steps = nest_steps(s->loops, &s->loops->nests.at[G->members.at[0].nest]);
        if (!G->at_load)
            out.us += (double)(G->persistent ? 1 : steps) * (LAUNCH_US + group_us(s, i, c));
    }
    out.may_persist = c->may_persist;
    c->may_persist = might;
    arena_free(scratch);
    return out;
}

/* Steps begin with what they ended with where that makes kernels of all steps, which are faster. */
static void rotate_loops(struct compile *c) {
    int n = 0;
    if (!is_by_rule(c) || c->limits->kind != DEVICE_CUDA) return;
    struct graph *g = graph_rotate(c->graph, &n);
    if (!n) return;
    g = graph_simplify(g);
    struct stepping as_is = steps_of(c, c->graph), rotated = steps_of(c, g);
    bool more = rotated.kernels > as_is.kernels,
         pays = rotated.us < as_is.us || c->fusion == WS_PERSISTENT;
    if (more && pays)
        c->graph = g;
    else
        c->may_persist |= more || rotated.may_persist;
}

static bool transform(struct compile *c) {
    c->captured->graph->seed = c->captured->seed; /* of what forward draws */
    c->graph = graph_simplify(c->captured->graph);
    if (c->fusion != WS_EAGER && c->limits->kind == DEVICE_CUDA)
        c->graph = graph_wavefront(c->graph);
    if (c->fusion != WS_EAGER)
        c->graph = graph_totals_first(graph_pools_first(c->graph), TOTALS_PAY);
    bool wide = makes_chains(c) && c->limits->kind == DEVICE_CUDA && c->limits->wgmma;
    (wide ? decompose_widely : decompose)(c);
    rotate_loops(c);
    if (makes_chains(c)) make_chains(c);
    if (c->fusion != WS_EAGER && c->limits->kind == DEVICE_CUDA)
        c->graph = graph_round_once(c->graph);
    must_hold("decompose", graph_verify(c->graph, true));
    return dump(c, "fx_graph_transformed.txt", LOG_AOT_GRAPHS, print_graph) &&
           stage(c, "decompose");
}

/* Bytes that a device holds where no kernel needs memory for them. */
static double on_chip(const struct device_limits *limits) {
    enum { REGISTER = 4 };
    double each = (double)limits->smem_unit + REGISTER * (double)limits->regs_unit;
    return (double)limits->l2_bytes + limits->units * each;
}

static bool lower(struct compile *c) {
    c->loops = lower_graph(c, c->graph, c->arena, c->d);
    if (!c->loops) return false;
    must_hold("lower", loops_verify(c->loops));
    c->again = loops_bytes_again(c->loops, on_chip(c->limits), c->arena);
    return dump(c, "ir_pre_fusion.txt", -1, print_loops) && stage(c, "lower");
}

static struct schedule *ready_anew(const struct apart_marks *marks, struct arena *a, void *ctx) {
    struct compile *c = ctx;
    struct schedule *s = fuse_anew(c, c->graph, marks, a);
    make_ready(s, false);
    return s;
}

/* What had better be apart: what stands behind products, what windows read. */
static void take_apart(struct compile *c) {
    if (!is_by_rule(c) || c->limits->kind != DEVICE_CUDA) return;
    make_ready(c->schedule, false);
    struct apart_marks marks = schedule_apart(c->schedule, c->limits, ready_anew, group_us, c);
    if (!marks.any) return;
    c->schedule = fuse_anew(c, c->graph, &marks, c->arena);
    c->loops = c->schedule->loops;
    chain(c, c->schedule);
}

static bool fuse(struct compile *c) {
    static const enum fusing what[] = {[WS_EAGER] = FUSING_EAGER,
                                       [WS_FUSE] = FUSING_ALL,
                                       [WS_CHAINED] = FUSING_ALL,
                                       [WS_PERSISTENT] = FUSING_ALL,
                                       [WS_APART] = FUSING_APART};
    c->schedule = schedule_fuse(c->loops, c->limits, what[c->fusion], c->arena);
    (c->fusion == WS_EAGER ? schedule_compare_again : schedule_recompute)(c->schedule, c->limits);
    if (makes_chains(c)) chain(c, c->schedule);
    take_apart(c);
    make_ready(c->schedule, c->fusion == WS_EAGER);
    if (c->fusion != WS_EAGER && c->limits->kind == DEVICE_CUDA) {
        schedule_beside(c->schedule, small_us, c);
        schedule_pieces(c->schedule);
        schedule_pitch(c->schedule, group_us, c);
    }
    if (c->fusion != WS_EAGER) {
        schedule_recurrences(c->schedule);
        bool gpu = c->limits->kind == DEVICE_CUDA;
        if (gpu && is_by_rule(c)) schedule_persistent(c->schedule, group_us, persists, c);
        if (gpu) schedule_sorts(c->schedule, sort_key, group_us, c);
        schedule_memory(c->schedule);
    }
    must_hold("schedule", schedule_verify(c->schedule));
    return dump(c, "fusion.txt", LOG_FUSION, print_fusion) &&
           dump(c, "ir_post_fusion.txt", LOG_SCHEDULE, print_schedule) &&
           dump(c, "memory_plan.txt", -1, print_memory) && stage(c, "schedule");
}

static enum ws_buffer_kind kind_of(const struct buffer *b) {
    switch (b->kind) {
    case BUFFER_INPUT: return WS_BUF_INPUT;
    case BUFFER_OUTPUT: return WS_BUF_OUTPUT;
    case BUFFER_WINDOW: return WS_BUF_WINDOW;
    case BUFFER_TEMP:
    case BUFFER_STACK: break;
    }
    return WS_BUF_TEMP;
}

static void count_steps(struct compile *c) {
    const struct loops *l = c->loops;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        int steps = (int)nest_steps(l, n);
        c->program->buffers[n->out].steps = steps;
        for (uint32_t i = 0; i < n->insts.n; i++)
            if (n->insts.at[i].kind == INST_LOAD)
                c->program->buffers[n->insts.at[i].buffer].steps = steps;
    }
}

/* Of a piece of a whole, or of rows that begin at lines of memory: the outer dimensions are stepped
 * through alike. */
static void list_runs(const struct exprs *p, const struct buffer *x, struct ws_buffer *out) {
    const struct meta *m = &x->meta;
    int64_t run = 1, runs = 1;
    for (int d = m->rank; d-- > 0;) {
        int64_t size = ex_value(p, m->size[d]), stride = ex_value(p, m->stride[d]);
        bool more = runs == 1 && (size == 1 || stride == run);
        if (more) run *= size;
        if (!more && runs == 1) out->pitch = (size_t)stride * (size_t)dtype_bytes(m->dtype);
        if (!more) runs *= size;
    }
    out->runs = runs;
    out->run_bytes = (size_t)run * (size_t)dtype_bytes(m->dtype);
}

static void list_buffers(struct compile *c) {
    struct ws_program *p = c->program;
    const struct loops *l = c->loops;
    p->n_buffers = (int)l->buffers.n;
    p->buffers = NEW_ARRAY(c->arena, struct ws_buffer, l->buffers.n);
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        const struct buffer *x = &l->buffers.at[b];
        size_t bytes = (size_t)buffer_storage(l, b);
        p->buffers[b] = (struct ws_buffer){.name = x->name,
                                           .index = x->index,
                                           .dtype = x->meta.dtype,
                                           .offset = c->schedule->offset[b],
                                           .bytes = bytes,
                                           .numel = (int64_t)bytes / dtype_bytes(x->meta.dtype),
                                           .kind = kind_of(x)};
        p->buffers[b].in_place = -1;
        bool own = x->kind == BUFFER_TEMP || x->kind == BUFFER_STACK;
        bool in_memory = !own || c->schedule->stored[b];
        bool runs = x->kind == BUFFER_WINDOW || (own && in_memory);
        if (runs && !meta_is_contiguous(l->ex, &x->meta)) list_runs(l->ex, x, &p->buffers[b]);
        p->buffers[b].fixed = x->kind == BUFFER_TEMP && c->schedule->fixed[b];
        if (!in_memory) p->buffers[b].bytes = 0;
    }
    p->temp_bytes = c->schedule->pool_bytes;
    count_steps(c);
}

int ws_window_at(const struct ws_program *p, int b, int64_t t, size_t *from) {
    int64_t first;
    int of = (int)window_at(p->loops, (buffer_id)b, t, &first);
    *from = (size_t)first * (size_t)dtype_bytes(p->buffers[b].dtype);
    return of;
}

int ws_window_last(const struct ws_program *p, int b, size_t *from) {
    return ws_window_at(p, b, p->buffers[b].steps - 1, from);
}

static const struct nest *nest_of(const struct compile *c, const struct kernel *k) {
    return &c->loops->nests.at[c->schedule->groups.at[k->group].members.at[0].nest];
}

static struct ws_kernel describe_kernel(struct compile *c, const struct kernel *k) {
    struct buf text = buf_new(c->arena);
    kernel_print(&text, k);
    struct ws_kernel out = {.name = k->name,
                            .kind = kernel_kind_name(k->kind),
                            .precision = k->precision,
                            .at_load = c->schedule->groups.at[k->group].at_load,
                            .guard = "",
                            .steps = 1,
                            .all_steps = k->steps,
                            .ir = k,
                            .bytes = k->bytes_read + k->bytes_written,
                            .flops = k->flops,
                            .spared = k->questions.n ? k->flops : 0};
    uint32_t loop = loop_of(nest_of(c, k)->epoch);
    if (loop != NO_LOOP && !out.at_load && !k->steps) {
        out.loop = (int)loop + 1;
        out.steps = (int)nest_steps(c->loops, nest_of(c, k));
    }
    const char *canonical = symbols_rename(c->captured, text.p);
    out.hash = arena_printf(c->arena, "%016llx",
                            (unsigned long long)hash_bytes(canonical, strlen(canonical)));
    buffer_vec memory = {0}; /* of all steps: what windows go along */
    if (k->steps) memory = persistent_memory(k, c->arena);
    for (uint32_t i = 0; i < (k->steps ? memory.n : k->buffers.n); i++) {
        buffer_id b = k->steps ? memory.at[i] : k->buffers.at[i];
        bool stored = false;
        for (uint32_t s = 0; s < k->stores.n; s++) {
            buffer_id to = k->stores.at[s].buffer;
            stored |= to == b || (k->steps && c->loops->buffers.at[to].window.of == b);
        }
        if (stored)
            out.writes[out.n_writes++] = (int)b;
        else
            out.reads[out.n_reads++] = (int)b;
    }
    return out;
}

static struct sequence sequence_of(const struct ws_kernel *k) {
    return (struct sequence){k->n_parts, k->beside, k->parts};
}

static bool is_listed(const int *list, int n, int b) {
    for (int i = 0; i < n; i++)
        if (list[i] == b) return true;
    return false;
}

/* Kernel k of the program, and the n - 1 behind it, as one. What one of them writes and another one
 * reads is written, and not read: it is judged like the rest. */
static struct ws_kernel describe_sequence(struct compile *c, const struct ws_kernel *k,
                                          const struct kernel *const *parts, int n, bool beside) {
    struct ws_kernel out = k[0];
    struct buf text = buf_new(c->arena);
    struct map places = map_new(c->arena);
    out.name = arena_printf(c->arena, "%s_%s_%d", k[0].name, beside ? "beside" : "to",
                            (int)parts[n - 1]->group);
    out.kind = beside ? "beside" : "sequence";
    out.beside = beside;
    out.parts = parts;
    out.n_parts = n;
    out.bytes = out.flops = 0;
    out.n_reads = out.n_writes = 0;
    buf_puts(&text, out.kind);
    for (int i = 0; i < n; i++) {
        buf_printf(&text, " %s ", k[i].hash);
        out.flops += k[i].flops;
        for (int j = 0; j < k[i].n_reads; j++) {
            int b = k[i].reads[j];
            if (is_listed(out.writes, out.n_writes, b) || is_listed(out.reads, out.n_reads, b))
                continue;
            out.reads[out.n_reads++] = b;
            out.bytes += kernel_bytes_of(parts[i], (buffer_id)b);
        }
        for (int j = 0; j < k[i].n_writes; j++) {
            int b = k[i].writes[j];
            out.writes[out.n_writes++] = b;
            if (c->program->buffers[b].kind == WS_BUF_OUTPUT)
                out.bytes += (double)buffer_bytes(c->loops, (buffer_id)b);
        }
        /* which buffers of the parts are the same is no part of their texts */
        for (uint32_t j = 0; j < parts[i]->buffers.n; j++) {
            uint64_t place = places.n;
            buffer_id b = parts[i]->buffers.at[j];
            map_put(&places, &b, sizeof b, place);
            if (map_get(&places, &b, sizeof b, &place)) buf_printf(&text, "%d ", (int)place);
        }
    }
    out.hash = arena_printf(c->arena, "%016llx", (unsigned long long)hash_bytes(text.p, text.n));
    return out;
}

/* Does a launch have room for the buffers of both, and those lists? */
static bool has_room(const struct kernel *const *parts, int n) {
    uint32_t all = 0;
    for (int i = 0; i < n; i++) all += parts[i]->buffers.n;
    return all <= GROUP_MAX_BUFFERS;
}

/* Do the kernels touch the same memory, of which at least one writes it? A temporary's place in the
 * pool may be another one's, that is no longer read when launches follow each other. */
static bool is_in_way(const struct ws_program *p, int a, int b) {
    const struct ws_buffer *x = &p->buffers[a], *y = &p->buffers[b];
    if (a == b) return true;
    if (x->kind != WS_BUF_TEMP || y->kind != WS_BUF_TEMP) return false;
    return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

static bool writes_into(const struct ws_program *p, const struct ws_kernel *from, const int *to,
                        int n) {
    for (int i = 0; i < from->n_writes; i++)
        for (int j = 0; j < n; j++)
            if (is_in_way(p, from->writes[i], to[j])) return true;
    return false;
}

static bool is_independent(int from, int i, void *ctx) {
    const struct ws_program *p = ctx;
    const struct ws_kernel *k = &p->kernels[i];
    for (int j = from; j < i; j++) {
        const struct ws_kernel *o = &p->kernels[j];
        if (writes_into(p, o, k->reads, k->n_reads) || writes_into(p, o, k->writes, k->n_writes) ||
            writes_into(p, k, o->reads, o->n_reads))
            return false;
    }
    return true;
}

/* Small kernels that follow each other become one. */
static void make_sequences(struct compile *c, struct kernel *const *kernels) {
    struct ws_program *p = c->program;
    int n = p->n_kernels, made = 0;
    bool *takes = NEW_ARRAY(c->arena, bool, n);
    const struct kernel **all = NEW_ARRAY(c->arena, const struct kernel *, n);
    if (c->fusion == WS_EAGER || !c->limits->sequences) return;
    for (int i = 0; i < n; i++) {
        all[i] = kernels[i];
        takes[i] = !p->kernels[i].at_load && !p->kernels[i].loop && !p->kernels[i].all_steps;
    }
    struct sequences found = sequences_find(all, takes, n, is_independent, p, c->arena);
    int *length = found.length;
    for (int i = 0; i < n; i += length[i]) {
        while (length[i] > 1 && !has_room(&all[i], length[i])) length[i + --length[i]] = 1;
        p->kernels[made++] = length[i] > 1 ? describe_sequence(c, &p->kernels[i], &all[i],
                                                               length[i], found.beside[i])
                                           : p->kernels[i];
    }
    p->n_kernels = made;
}

struct ws_configs {
    const struct config *at, *first; /* NULL: not asked for yet */
    int n, pruned;
};

/* Sizes that are symbols have other hints under the same text. */
static void find_same(struct compile *c) {
    struct ws_program *p = c->program;
    struct map first = map_new(c->arena);
    for (int k = 0; k < p->n_kernels; k++) {
        uint64_t same = (uint64_t)k;
        struct buf key = buf_new(c->arena);
        buf_puts(&key, p->kernels[k].hash);
        put_shapes(&key, p->kernels[k].ir);
        if (!p->kernels[k].ir->sizes.n && !map_gets(&first, key.p, &same))
            map_puts(&first, key.p, same);
        p->kernels[k].same = (int)same;
    }
}

/* Of a call. Outputs are written once; of an input, or of what load has made, what the kernel that
 * wants most of it reads. */
static double least_bytes(const struct compile *c) {
    const struct ws_program *p = c->program;
    double *most = NEW_ARRAY(c->arena, double, p->n_buffers), sum = 0;
    for (int k = 0; k < p->n_kernels; k++)
        for (int i = 0; i < p->kernels[k].n_reads && !p->kernels[k].at_load; i++) {
            int b = p->kernels[k].reads[i];
            if (p->buffers[b].kind != WS_BUF_INPUT && !p->buffers[b].fixed) continue;
            double bytes = kernel_bytes_of(p->kernels[k].ir, (buffer_id)b);
            if (bytes > most[b]) most[b] = bytes;
        }
    for (int b = 0; b < p->n_buffers; b++) {
        sum += most[b];
        if (p->buffers[b].kind == WS_BUF_OUTPUT)
            sum += (double)buffer_bytes(c->loops, (buffer_id)b);
    }
    return sum;
}

/* The same, with what is read again behind long reductions; no more than what these kernels move.
 */
static double bytes_in_turn(const struct compile *c) {
    const struct ws_program *p = c->program;
    double moved = 0, least = p->bytes + c->again;
    for (int k = 0; k < p->n_kernels; k++)
        if (!p->kernels[k].at_load) moved += p->kernels[k].bytes * p->kernels[k].steps;
    if (moved < least) least = moved;
    return least > p->bytes ? least : p->bytes;
}

static void list_outputs(struct compile *c) {
    const struct graph *g = c->loops->graph;
    c->program->first_output = NEW_ARRAY(c->arena, int, g->outputs.n);
    for (uint32_t i = 0; i < g->outputs.n; i++)
        c->program->first_output[i] = (int)graph_first_output(g, i);
}

/* ---- updates in place ------------------------------------------------------------------------ */

/* Per buffer, one more than the last kernel that reads it; 0 if none does. */
static int *last_readers(const struct compile *c, struct kernel *const *kernels) {
    int *last = NEW_ARRAY(c->arena, int, c->loops->buffers.n);
    for (int k = 0; k < c->program->n_kernels; k++)
        for (value_id v = 0; v < kernels[k]->values.n; v++)
            if (kernels[k]->values.at[v].kind == INST_LOAD)
                last[kernels[k]->values.at[v].buffer] = k + 1;
    return last;
}

/* The buffers of that kind by their index. */
static buffer_id *buffers_of(const struct compile *c, enum buffer_kind kind, uint32_t n) {
    const struct loops *l = c->loops;
    buffer_id *of = NEW_ARRAY(c->arena, buffer_id, n);
    for (uint32_t i = 0; i < n; i++) of[i] = l->buffers.n;
    for (buffer_id b = l->buffers.n; b-- > 0;)
        if (l->buffers.at[b].kind == kind) of[l->buffers.at[b].index] = b;
    return of;
}

/* An input's new value lies where the input does, if all that reads the input elsewhere is over
 * when it is computed, and nobody reads it there: a kernel can then be run alone on the inputs as
 * they were. On the CPU, whose cores follow few streams of memory; on a GPU out of place is as
 * fast.
 */
static void update_in_place(struct compile *c, struct kernel *const *kernels) {
    const struct loops *l = c->loops;
    struct ws_program *p = c->program;
    if (c->limits->kind != DEVICE_CPU) return;
    const buffer_id *inputs = buffers_of(c, BUFFER_INPUT, l->graph->inputs.n);
    const buffer_id *outputs = buffers_of(c, BUFFER_OUTPUT, l->graph->outputs.n);
    const int *last = last_readers(c, kernels);
    for (uint32_t i = 0; i < l->graph->inputs.n; i++) {
        uint32_t becomes = l->graph->inputs.at[i].becomes;
        if (!becomes) continue;
        int index = p->first_output[becomes - 1];
        buffer_id in = inputs[i], out = outputs[index];
        if (in == l->buffers.n || out == l->buffers.n || p->buffers[out].in_place >= 0 ||
            p->buffers[in].bytes != p->buffers[out].bytes)
            continue;
        if (c->schedule->writer[out] == NO_NEST) continue;
        int writer = (int)c->schedule->group_of[c->schedule->writer[out]];
        int reader = last[in] - 1;
        if (last[out] || reader > writer) continue;
        if (reader < writer || kernel_update_in_place(kernels[writer], in, out))
            p->buffers[out].in_place = (int)in;
    }
}

static bool build_kernels(struct compile *c) {
    struct ws_program *p = c->program = NEW(c->arena, struct ws_program);
    *p = (struct ws_program){
        .arena = c->arena, .captured = c->captured, .loops = c->loops, .limits = *c->limits};
    list_buffers(c);
    list_outputs(c);
    p->n_kernels = (int)c->schedule->groups.n;
    p->kernels = NEW_ARRAY(c->arena, struct ws_kernel, p->n_kernels);
    struct kernel **kernels = NEW_ARRAY(c->arena, struct kernel *, p->n_kernels);
    for (int i = 0; i < p->n_kernels; i++)
        kernels[i] = kernel_build(c->schedule, (uint32_t)i, &p->limits, c->arena);
    update_in_place(c, kernels);
    for (int i = 0; i < p->n_kernels; i++) {
        const struct kernel *k = kernels[i];
        must_hold("kernel", kernel_verify(k));
        if (k->buffers.n > GROUP_MAX_BUFFERS || k->buffers.n + k->sizes.n + 4 > WS_MAX_ARGS) {
            diag_fail(c->d, WS_WRONG, "kernel %s needs %u tensors and %u sizes; %d is the limit",
                      k->name, k->buffers.n, k->sizes.n, GROUP_MAX_BUFFERS);
            return false;
        }
        p->kernels[i] = describe_kernel(c, k);
        if (!p->kernels[i].at_load) p->flops += k->flops * p->kernels[i].steps;
    }
    p->bytes = least_bytes(c);
    make_sequences(c, kernels);
    p->bytes_in_turn = bytes_in_turn(c);
    p->may_be_apart = c->schedule->may_be_apart;
    p->may_persist = c->may_persist;
    p->configs = NEW_ARRAY(c->arena, struct ws_configs, p->n_kernels);
    find_same(c);
    return stage(c, "kernel");
}

static void run_stages(void *ctx) {
    struct compile *c = ctx;
    c->done = transform(c) && lower(c) && fuse(c) && build_kernels(c);
}

struct ws_program *ws_lower(struct ws_captured *captured, const struct device_limits *limits,
                            enum ws_fusion fusion, struct stages *s, struct diag *d) {
    struct compile c = {.arena = captured->arena,
                        .captured = captured,
                        .limits = limits,
                        .fusion = fusion,
                        .stages = s,
                        .d = d,
                        .costs = map_new(captured->arena)};
    run_limited(c.arena, captured->graph->ex, &captured->limits, run_stages, &c, d);
    return c.done ? c.program : NULL;
}

/* ---- the tuner's view ------------------------------------------------------------------------ */

void ws_configs(const struct ws_program *p, int k, const struct config **configs, int *n,
                int *pruned) {
    struct ws_configs *c = &p->configs[p->kernels[k].same];
    if (!c->at) {
        struct arena *scratch = arena_new(); /* proposals, layouts: a hundred times as much */
        const struct config *listed;
        const struct ws_kernel *same = &p->kernels[p->kernels[k].same];
        const struct sequence all = sequence_of(same);
        if (all.n)
            c->n = sequence_configs(&all, scratch, &listed), c->pruned = 0;
        else
            kernel_configs(same->ir, scratch, &listed, &c->n, &c->pruned);
        struct config *kept = NEW_ARRAY(p->arena, struct config, c->n);
        memcpy(kept, listed, sizeof *kept * (size_t)c->n);
        c->at = kept;
        arena_free(scratch);
    }
    *configs = c->at;
    *n = c->n;
    *pruned = c->pruned;
}

const struct config *ws_default_config(const struct ws_program *p, int k) {
    struct ws_configs *c = &p->configs[p->kernels[k].same];
    if (!c->at && p->kernels[p->kernels[k].same].n_parts) {
        const struct config *all;
        int n, pruned;
        ws_configs(p, k, &all, &n, &pruned);
    }
    if (c->at) return c->at;
    if (!c->first) {
        struct arena *scratch = arena_new();
        struct config *first = NEW(p->arena, struct config);
        *first = kernel_default_config(p->kernels[p->kernels[k].same].ir, scratch);
        c->first = first;
        arena_free(scratch);
    }
    return c->first;
}

const char *ws_config_illegal(const struct ws_program *p, int k, const struct config *c,
                              struct arena *a) {
    struct layout y;
    const struct sequence all = sequence_of(&p->kernels[k]);
    const char *why = NULL;
    struct config part;
    for (int i = 0; i < all.n && !why; i++) why = sequence_config(&all, i, c, &part, a);
    return all.n ? why : kernel_layout(p->kernels[k].ir, c, &y, a);
}

static int vectors_of(const struct kernel *ir, const struct config *c, struct arena *a) {
    struct layout y;
    int n = 0;
    if (kernel_layout(ir, c, &y, a) || ir->limits->kind == DEVICE_CPU) return 0;
    bool chained = ir->kind == KERNEL_CHAINED, dot = ir->kind == KERNEL_MATMUL || chained;
    enum axis along = chained ? AXIS_C : dot ? AXIS_N : y.rows_inner ? AXIS_X : AXIS_R;
    for (uint32_t i = 0; i < ir->values.n && !dot; i++)
        n += ir->values.at[i].kind == INST_LOAD &&
             load_is_vector(ir, &ir->values.at[i], along, y.vec);
    for (uint32_t i = 0; i < ir->stores.n; i++)
        n += index_is_vector(ir, ir->stores.at[i].index, along,
                             dot && !y.product && !chained ? layout_unit(y.vec) : y.vec);
    return n;
}

int ws_config_vectors(const struct ws_program *p, int k, const struct config *c, struct arena *a) {
    const struct sequence all = sequence_of(&p->kernels[k]);
    struct config part;
    int n = all.n ? 0 : vectors_of(p->kernels[k].ir, c, a);
    for (int i = 0; i < all.n; i++)
        if (!sequence_config(&all, i, c, &part, a)) n += vectors_of(all.parts[i], &part, a);
    return n;
}

static enum ws_status emit_parts(const struct sequence *all, const struct config *c,
                                 struct arena *a, struct ws_source *out, struct diag *d) {
    const struct block **blocks = NEW_ARRAY(a, const struct block *, all->n);
    for (int i = 0; i < all->n; i++) {
        struct config part;
        const char *why = sequence_config(all, i, c, &part, a);
        if (why) return diag_fail(d, WS_USAGE, "illegal config: %s", why);
        blocks[i] = block_build(all->parts[i], &part, a);
    }
    return emit_sequence(blocks, all->n, all->beside, c, a, out, d) ? WS_OK : d->status;
}

enum ws_status ws_emit(const struct ws_program *p, int k, const struct config *c, struct arena *a,
                       struct ws_source *out, struct diag *d) {
    struct layout y;
    const struct sequence all = sequence_of(&p->kernels[k]);
    if (all.n) return emit_parts(&all, c, a, out, d);
    const char *why = kernel_layout(p->kernels[k].ir, c, &y, a);
    if (why) return diag_fail(d, WS_USAGE, "illegal config for %s: %s", p->kernels[k].name, why);
    return emit_source(block_build(p->kernels[k].ir, c, a), a, out, d) ? WS_OK : d->status;
}

void ws_print_lines(struct buf *b, const struct ws_program *p, int k) {
    const struct ws_kernel *at = &p->kernels[k];
    for (int i = 0; i < at->n_parts; i++) kernel_print_lines(b, at->parts[i]);
    if (!at->n_parts) kernel_print_lines(b, at->ir);
}

void ws_explain(const struct ws_captured *c, const struct ws_program *p, struct buf *b) {
    int ops = 0, guards = 0;
    for (uint32_t i = 0; i < c->graph->nodes.n; i++)
        ops += op_info(c->graph->nodes.at[i].op)->class != INPUT;
    for (const char *s = c->guards; *s; s++) guards += *s == '\n';
    buf_printf(b,
               "Graph Count: 1\nGraph Break Count: 0\nOp Count: %d\nGuard Count: %d\nBreak "
               "Reasons: none\n",
               ops, guards);
    buf_printf(b, "\nGuards:\n%s\nGraph:\n", c->guards);
    graph_print(b, c->graph);
    buf_printf(b, "\nKernels: %d\n", p->n_kernels);
    for (int i = 0; i < p->n_kernels; i++) {
        const struct ws_kernel *k = &p->kernels[i];
        buf_printf(b, "  %s  %s%s", k->name, k->kind, k->at_load ? ", once at load" : "");
        if (k->loop) buf_printf(b, ", in each of %d steps", k->steps);
        buf_printf(b, ", moves %.4g MB, computes %.4g MFLOP, hash %s\n", k->bytes / 1e6,
                   k->flops / 1e6, k->hash);
        for (int j = 0; j < k->n_parts; j++)
            buf_printf(b, "    part %d: %s, %s\n", j, k->parts[j]->name,
                       kernel_kind_name(k->parts[j]->kind));
        if (k->ir->a_fixed || k->ir->b_fixed)
            buf_printf(b, "    a factor is the same in every call: what it is packed into is "
                          "packed once at load\n");
    }
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].in_place >= 0)
            buf_printf(b, "  out%d lies where %s does\n", p->buffers[i].index,
                       ws_input_info(c, p->buffers[p->buffers[i].in_place].index).name);
}
