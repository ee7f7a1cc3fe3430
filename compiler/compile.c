/* compile.c: the back end of the pipeline: its stages, from a graph to a program.
 *
 *     graph -> simplify -> decompose -> simplify -> loops -> fuse -> order -> memory -> kernels
 *
 * After each stage its verifier runs, its dump is written and its time recorded; the passes know
 * nothing of that. */
#include <math.h>

#include "compile_impl.h"
#include "graph/loop.h"
#include "kernel/layout.h"
#include "limited.h"
#include "loop/loop.h"

void must_hold(const char *stage, const char *violation) {
    if (violation) WS_BUG("after %s: %s", stage, violation);
}

static bool dump(struct compile *c, const char *name, int log,
                 void (*print)(struct buf *, struct compile *)) {
    if (!c->stages || (!c->stages->dump_dir && !c->stages->logs)) return true;
    struct buf b = buf_new(c->arena);
    print(&b, c);
    return stage_dump(c->stages, name, log, b.p, c->d) == WS_OK;
}

bool stage(struct compile *c, const char *name) {
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
    bool gpu = c->limits->kind == DEVICE_CUDA;
    given->keeps_states = gpu;
    given->returns_inputs = true;
    struct loops *l = loops_lower(given, a, d);
    if (l && c->fusion != WS_EAGER && gpu && c->limits->sm >= 80)
        loops_results_apart(l, c->limits->units);
    /* elements that lanes of a warp share, or that a core adds up one after the other; and of a
     * GPU's step 0.12 us at the speed of its memory: cores are not that much faster than theirs */
    const int64_t MOST_REDUCED = gpu ? 512 : MOST_CHAIN;
    const double STEP_BYTES = gpu ? 480e3 : INFINITY;
    if (l && c->fusion != WS_EAGER) loops_recurrences(l, MOST_REDUCED, STEP_BYTES);
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

/* The same of all that is called, launches and all. */
static double calls_us(struct graph *g, void *ctx) {
    struct compile *c = ctx;
    struct arena *scratch = arena_within(c->arena);
    double us = 0;
    g = graph_simplify(graph_decompose_for(graph_simplify(g), c->limits));
    struct schedule *s = fuse_anew(c, g, NULL, scratch);
    if (s) make_ready(s, false);
    for (uint32_t i = 0; s && i < s->groups.n; i++)
        if (!s->groups.at[i].at_load) us += LAUNCH_US + group_us(s, i, c);
    arena_free(scratch);
    return s ? us : INFINITY;
}

/* Of operators that kernels have. */
static void decompose(struct compile *c) {
    c->graph = graph_simplify(graph_decompose_for(c->graph, c->limits));
    if (c->fusion == WS_EAGER) return; /* eager runs what the user wrote */
    c->graph = graph_views_last(graph_scans_last(graph_extrema_first(c->graph)));
    c->graph = graph_slice_scans(c->graph);
    c->graph = graph_join_pads(c->graph);
    c->graph = graph_divide_softplus(c->graph);
    if (c->limits->kind == DEVICE_CUDA) c->graph = graph_simplify(graph_scales_last(c->graph));
    if (c->limits->kind == DEVICE_CUDA && c->limits->sm >= 80)
        c->graph = graph_store_reshaped(graph_turn_products(graph_channels_last(c->graph)));
    if (c->limits->kind != DEVICE_CUDA) c->graph = graph_simplify(graph_widen_scores(c->graph));
    make_one_pass(c);
    c->graph = graph_factors_of_sums(c->graph, c->limits);
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
        c->graph = graph_totals_first(graph_pools_first(graph_land_first(c->graph)), TOTALS_PAY);
    if (makes_chains(c) && c->limits->kind == DEVICE_CUDA)
        c->graph = graph_join_linears(c->graph, calls_us, c);
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

static void run_stages(void *ctx) {
    struct compile *c = ctx;
    c->done = transform(c) && lower(c) && fuse(c) && build_program(c);
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
