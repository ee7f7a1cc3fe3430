/* cases_run.c: see cases.h. Graphs are taken in lots, as many as give the compiler something to do;
 * a lot's kernels are compiled together. */
#include <stdlib.h>
#include <string.h>

#include "graph/autograd.h"
#include "tests/fuzz/cases.h"
#include "tests/fuzz/judge.h"

enum {
    LOT_EMULATED = 192, /* cases */
    LOT_DEVICE = 512,   /* so that all cores compile */
    MAX_DRIVES = 1024,  /* programs of a lot */
    MAX_LOGGED = 20,    /* failures told in words */
};

struct lot {
    struct cases *c;
    struct arena *a;
    struct emulation *emulation; /* one of both */
    struct trial *trial;
    VEC(struct drive *) drives;
    VEC(const struct case_graph *) graphs; /* of each */
    struct map ran;                        /* hashes of programs */
};

static const variant_vec *variants_of(const struct lot *l) {
    return l->emulation ? &l->emulation->variants : &l->trial->variants;
}

static bool complain(struct cases *c, const struct diag *d, const char *graph) {
    if (c->log && c->failed <= MAX_LOGGED) fprintf(c->log, "%s\n%s\n", d->text, graph);
    return false;
}

/* Which configs: one in `every`, another one for each graph. All are every second or third,
 * if they are many: neighbours differ in little. */
enum { MANY_CONFIGS = 24 };
struct choice {
    int every, phase;
};

static bool pick(void *ctx, int config, int n) {
    const struct choice *x = ctx;
    if (x->every == 1) return config % (1 + n / MANY_CONFIGS) == 0;
    return config % x->every == x->phase;
}

/* No tolerance by type fits products whose factors were rounded to 11 bits, nor says of small
 * results of pairs whether their factors were in range; nor sums of float8's units, nor steps that
 * each round what they carry. */
static bool is_within_bound(struct drive *b, const struct ws_buffer *x, const double *got,
                            struct diag *d) {
    return judge_output(b->ctx, (uint32_t)x->index, got, d);
}

static bool has(const struct graph *g, enum op op) {
    bool any = false;
    for (node_id i = 0; i < g->nodes.n; i++) any |= g->nodes.at[i].op == op;
    return any;
}

static void judge_by_bound(struct drive *b, bool asked) {
    struct graph *g = graph_simplify(graph_decompose(graph_simplify(b->g)));
    bool pairs = b->config && strstr(b->config, "pairs=");
    if (!asked && !pairs && !has(b->g, OP_MM_FLOAT8) && !has(b->g, OP_LOOP) &&
        b->g->products != PRECISION_TF32 && b->g->convolutions != PRECISION_TF32)
        return;
    b->ctx = judge_new(b->a, g, b->in, b->want);
    b->judge = is_within_bound;
}

/* runs: false for what only has to be lowered and printed. */
static bool add_program(struct lot *l, const struct case_graph *g, enum ws_fusion fusion,
                        const struct device_limits *limits, bool runs) {
    struct diag d = diag_new(l->a);
    struct source *s = NEW(l->a, struct source);
    *s = (struct source){"case.graph", g->text, strlen(g->text)};
    struct graph *graph = graph_parse(l->a, exprs_new(l->a), s, &d);
    struct device_limits *own = NEW(l->a, struct device_limits);
    *own = *limits;
    own->sequences = g->sequence && limits->kind == DEVICE_CUDA;
    struct drive *b =
        graph ? drive_begin(l->a, graph, drive_inputs(graph, 7), own, fusion, &d) : NULL;
    if (!b) return complain(l->c, &d, g->text);
    if (own->sequences && (b->p->n_kernels > 1 || !b->p->kernels[0].n_parts)) {
        diag_fail(&d, WS_WRONG, "%d kernels, and not one sequence", b->p->n_kernels);
        return complain(l->c, &d, g->text);
    }
    b->config = g->config;
    judge_by_bound(b, g->bound || g->nans);
    if (g->nans) judge_keeps_nan(b->ctx);
    b->maybe = g->maybe;
    int64_t every = (int64_t)g->every * l->c->every;
    struct choice x = {.every = every < CASES_DEFAULT ? (int)every : CASES_DEFAULT};
    x.phase = g->every == CASES_DEFAULT
                  ? CASES_DEFAULT
                  : (int)(hash_bytes(g->text, strlen(g->text)) % (uint64_t)x.every);
    vec_push(l->a, &l->drives, b);
    vec_push(l->a, &l->graphs, g);
    variant_vec printed = {0};
    bool ok = !runs          ? drive_add_variants(l->a, &printed, b, pick, &x, &d)
              : l->emulation ? emulation_add_all(l->emulation, b, pick, &x, &d)
                             : trial_add_all(l->trial, b, pick, &x, &d);
    return ok || complain(l->c, &d, g->text);
}

const char *case_text(const struct graph *g) {
    struct buf b = buf_new(g->arena);
    graph_print(&b, g);
    return b.p;
}

const char *case_with_gradients(struct arena *a, const char *text) {
    struct diag d = diag_new(a);
    struct source src = {"attention", text, strlen(text)};
    struct graph *g = graph_parse(a, exprs_new(a), &src, &d);
    bool wants[16] = {true, true, true};
    struct graph *joint = g ? graph_backward(g, wants, &d) : NULL;
    if (!joint) WS_BUG("%s%s", d.text, text);
    return case_text(joint);
}

static const struct case_graph *graph_of(const struct lot *l, const struct drive *b) {
    uint32_t i = 0;
    while (l->drives.at[i] != b) i++;
    return l->graphs.at[i];
}

/* Equal for two variants only if the same kernels are run on the same inputs and judged alike. */
static uint64_t program_hash(struct lot *l, const struct variant *v) {
    const struct drive *b = v->program;
    const struct case_graph *g = graph_of(l, b);
    struct buf all = buf_new(l->a);
    buf_printf(&all, "%d %d\n%s", b->judge == is_within_bound, g->nans, g->text);
    for (int k = 0; k < b->p->n_kernels; k++) {
        const struct variant *runs = k == v->kernel ? v : &variants_of(l)->at[b->first[k]];
        buf_printf(&all, " %016llx", (unsigned long long)variant_hash(l->a, runs));
    }
    return hash_bytes(all.p, all.n);
}

/* The defaults of a program's kernels are a case each, and all of these run the same. So do those
 * of a graph that has several configs to be tried. */
static bool is_repeated(struct lot *l, const struct variant *v) {
    uint64_t hash = program_hash(l, v);
    return !map_put(&l->ran, &hash, sizeof hash, 1);
}

/* Bytes of its program's largest buffer. */
static size_t size_of_case(const struct variant *v) {
    const struct ws_program *p = v->program->p;
    size_t most = 0;
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].bytes > most) most = p->buffers[i].bytes;
    return most;
}

/* On the emulator every fourth case runs in several orders of threads: in make test one in 32, and
 * only if it is small. What is large takes long, and the small ones have the same phases and
 * barriers; two threads that use the same bytes with no barrier between are found in any order, so
 * that orders are for what is left: counters, and sums that blocks add to. */
static bool run_case(struct lot *l, uint32_t v, struct diag *d) {
    enum { SMALL = 128 << 10 };
    const struct variant *of = &variants_of(l)->at[v];
    bool every = getenv("TEST_LONG") != NULL;
    bool orders = l->emulation && v % (every ? 4 : 32) == 0 && (every || size_of_case(of) <= SMALL);
    if (is_repeated(l, of) && !orders) return true;
    return l->emulation ? emulation_case(l->emulation, v, orders, d) : trial_case(l->trial, v, d);
}

static bool run_lot(struct lot *l) {
    struct cases *c = l->c;
    struct diag d = diag_new(l->a);
    const variant_vec *all = variants_of(l);
    if (!all->n) return true;
    if (!(l->emulation ? emulation_compile(l->emulation, &d) : trial_compile(l->trial, &d)))
        return complain(c, &d, "");
    for (uint32_t v = 0; v < all->n; v++) {
        struct diag wrong = diag_new(l->a);
        uint64_t hash = variant_hash(l->a, &all->at[v]);
        c->run++;
        if (c->seen) map_put(c->seen, &hash, sizeof hash, 1);
        if (run_case(l, v, &wrong)) continue;
        c->failed++;
        complain(c, &wrong, graph_of(l, all->at[v].program)->text);
        if (l->trial && device_is_lost(l->trial->dev)) return false;
        if (getenv("TEST_STOP")) return false;
    }
    return true;
}

static void end_lot(struct lot *l) {
    emulation_free(l->emulation);
    if (l->trial) trial_free(l->trial);
    for (uint32_t i = 0; i < l->drives.n; i++) drive_end(l->drives.at[i]);
    arena_free(l->a);
}

enum { USUAL, OLD, TENSOR, OF_FOUR, OF_FOUR_TENSOR, OF_TWO, OF_TWO_TENSOR, GPUS };

/* What the emulator is for a graph. Where registers are shared out among blocks there are all. */
static const struct device_limits *emulated(const struct case_graph *g,
                                            const struct device_limits gpus[]) {
    bool shares = g->config && strstr(g->config, "fit=");
    int few = g->tiny && shares ? OF_TWO : OF_FOUR;
    return &gpus[g->tiny ? few + g->tensor : g->tensor ? TENSOR : g->old ? OLD : USUAL];
}

/* Lots from the graphs that the filter lets through. dev: NULL for the emulator. */
static bool run_all(struct cases *c, struct device *dev, struct toolchain *t) {
    uint32_t i = 0;
    int step = c->graph_step ? c->graph_step : 1;
    bool ok = true;
    struct device_limits gpus[GPUS];
    WS_ASSERT(device_limits_for_arch("sm_90a", &gpus[USUAL]));
    WS_ASSERT(device_limits_for_arch("sm_80", &gpus[OLD]));
    WS_ASSERT(device_limits_for_arch("sm_100a", &gpus[TENSOR]));
    for (int i = 0; i < 2; i++) {
        struct device_limits *four = &gpus[OF_FOUR + i], *two = &gpus[OF_TWO + i];
        *four = *two = gpus[i ? TENSOR : USUAL];
        four->units = 4;
        four->regs_unit /= 8;
        four->l2_bytes = 1 << 10; /* what lies far apart is gone from it */
        two->units = 2;
    }
    while (ok && i < c->graphs->n) {
        struct lot l = {.c = c, .a = arena_new()};
        l.ran = map_new(l.a);
        if (dev)
            l.trial = trial_new(l.a, dev, t);
        else
            l.emulation = emulation_new(l.a);
        uint32_t enough = dev ? LOT_DEVICE : LOT_EMULATED;
        for (; i < c->graphs->n && ok && variants_of(&l)->n < enough && l.drives.n < MAX_DRIVES;
             i++) {
            const struct case_graph *g = &c->graphs->at[i];
            const struct device_limits *limits = dev ? device_limits(dev) : emulated(g, gpus);
            if (c->filter && !strstr(g->text, c->filter)) continue;
            if (i % (uint32_t)step != (uint32_t)c->graph_first) continue;
            bool runs = !c->run_step || i / (uint32_t)step % (uint32_t)c->run_step == 0;
            if (g->eager) ok = add_program(&l, g, WS_EAGER, limits, runs);
            enum ws_fusion fusion = g->chained      ? WS_CHAINED
                                    : g->persistent ? WS_PERSISTENT
                                    : g->launches   ? WS_APART
                                                    : WS_FUSE;
            ok = ok && add_program(&l, g, fusion, limits, runs);
        }
        ok = ok && run_lot(&l);
        end_lot(&l);
    }
    return ok;
}

bool cases_on_emulator(struct cases *c) { return run_all(c, NULL, NULL); }

bool cases_on_device(struct cases *c, struct device *dev, struct toolchain *t) {
    return run_all(c, dev, t);
}

bool cases_write_list(const struct map *seen, const char *path) {
    FILE *f = fopen(path, "w");
    if (!f) return false;
    for (uint32_t i = 0; i < seen->n; i++) {
        uint64_t hash;
        memcpy(&hash, seen->entries[i].key, sizeof hash);
        fprintf(f, "%016llx\n", (unsigned long long)hash);
    }
    return fclose(f) == 0;
}
