/* check.c: see check.h. */
#include "tests/fuzz/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/judge.h"
#include "tests/fuzz/random.h"

/* ---- tables ---------------------------------------------------------------------------------- */

const char *finding_name(enum finding f) {
    static const char *const names[] = {
#define FINDING(id, printed) [FOUND_##id] = printed,
        FINDINGS(FINDING)
#undef FINDING
    };
    return names[f];
}

bool finding_is_bug(enum finding f) {
    return f != FOUND_FINE && f != FOUND_WILD && f != FOUND_REFUSED;
}

void fuzz_counts_add(struct fuzz_counts *to, const struct fuzz_counts *from) {
#define FUZZ_COUNT(name, what) to->name += from->name;
    FUZZ_COUNTS(FUZZ_COUNT)
#undef FUZZ_COUNT
}

bool fuzz_cpu_open(struct arena *a, struct fuzz_cpu *cpu, struct diag *d) {
    struct env env = env_read(a);
    *cpu = (struct fuzz_cpu){0};
    return device_open("cpu", &env, a, d, &cpu->dev, NULL) == WS_OK &&
           toolchain_open(DEVICE_CPU, device_limits(cpu->dev)->arch, &env, a, d, &cpu->toolchain) ==
               WS_OK;
}

void fuzz_cpu_close(struct fuzz_cpu *cpu) {
    if (cpu->toolchain) toolchain_close(cpu->toolchain);
    if (cpu->dev) device_close(cpu->dev);
}

/* ---- one case -------------------------------------------------------------------------------- */

enum { TARGETS = 3, CPU_TARGET = 2 };

struct checking {
    struct arena *a;
    const struct fuzz_case *c;
    const struct fuzz_cpu *cpu;
    struct rng r;
    struct graph *g;
    struct judge *judge;
    struct value *in, *want;            /* the judge's; drives have copies */
    struct drive *programs[TARGETS][2]; /* by target and fusion; NULL: only emitted */
    struct fuzz_verdict *v;
    struct fuzz_counts *counts;
};

static bool found(struct checking *x, enum finding f, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool found(struct checking *x, enum finding f, const char *fmt, ...) {
    va_list ap;
    x->v->finding = f;
    va_start(ap, fmt);
    vsnprintf(x->v->text, sizeof x->v->text, fmt, ap);
    va_end(ap);
    return false;
}

static struct graph *parse(struct checking *x, const char *text, struct diag *d) {
    struct source *s = NEW(x->a, struct source);
    *s = (struct source){"fuzz.graph", text, strlen(text)};
    return graph_parse(x->a, exprs_new(x->a), s, d);
}

static const char *printed(struct checking *x, const struct graph *g) {
    struct buf b = buf_new(x->a);
    graph_print(&b, g);
    return b.p;
}

static bool check_text(struct checking *x) {
    struct diag d = diag_new(x->a);
    x->g = parse(x, x->c->text, &d);
    /* What showed a bug once may be refused now. */
    if (!x->g) return found(x, x->c->thorough ? FOUND_REFUSED : FOUND_TEXT, "%s", d.text);
    const char *wrong = graph_verify(x->g, false), *once = printed(x, x->g);
    if (wrong) return found(x, FOUND_VERIFY, "%s", wrong);
    struct graph *again = parse(x, once, &d);
    if (!again) return found(x, FOUND_TEXT, "%s", d.text);
    const char *twice = printed(x, again);
    return !strcmp(once, twice) || found(x, FOUND_TEXT, "%s\nbecomes\n%s", once, twice);
}

/* Whoever reads an output knows its type and sizes from the captured graph. */
static bool same_outputs(struct checking *x, const struct graph *g, const char *pass) {
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        const struct meta *a = &x->g->nodes.at[x->g->outputs.at[o]].meta;
        const struct meta *b = &g->nodes.at[g->outputs.at[o]].meta;
        bool same = a->dtype == b->dtype && a->rank == b->rank;
        for (int i = 0; same && i < a->rank; i++) same = a->size[i] == b->size[i];
        if (!same)
            return found(x, FOUND_REWRITE, "%s: output %u has another type or shape:\n%s", pass, o,
                         printed(x, g));
    }
    return true;
}

static bool as_rewritten(struct checking *x, const struct graph *g, const char *pass) {
    if (!same_outputs(x, g, pass)) return false;
    uint32_t n = g->outputs.n;
    struct value *out = calloc(n, sizeof *out);
    struct diag d = diag_new(x->a);
    bool ok = graph_eval(g, x->in, out, &d);
    for (uint32_t o = 0; o < n && ok; o++) {
        enum dtype t = x->g->nodes.at[x->g->outputs.at[o]].meta.dtype;
        double *got = malloc((size_t)(out[o].n + 1) * sizeof *got);
        for (int64_t i = 0; i < out[o].n; i++) { /* as if it had been stored */
            double cell;
            dtype_store(t, &cell, 0, value_number(&out[o], i));
            got[i] = dtype_load(t, &cell, 0);
        }
        ok = judge_output(x->judge, o, got, &d);
        free(got);
    }
    for (uint32_t o = 0; o < n; o++) value_free(&out[o]);
    free(out);
    return ok || found(x, FOUND_REWRITE, "%s: %s%s", pass, d.text, printed(x, g));
}

/* The values of the inputs: of one graph in eight, infinities, NaNs and negative zeros among them.
 */
static struct value *make_inputs(const struct graph *g, uint64_t seed) {
    static const double specials[] = {INFINITY, -INFINITY, NAN, -0.0, 0, 1};
    struct value *in = drive_inputs(g, seed);
    struct rng r = {seed};
    if (!rng_percent(&r, 12)) return in;
    for (uint32_t k = 0; k < g->inputs.n; k++) {
        const struct meta *m = &g->nodes.at[g->inputs.at[k].node].meta;
        if (!dtype_is_float(m->dtype) || !meta_is_contiguous(g->ex, m)) continue;
        for (int64_t i = 0; i < in[k].n; i++)
            if (rng_percent(&r, 4))
                in[k].v[i] = specials[rng_below(&r, sizeof specials / sizeof *specials)];
    }
    return in;
}

static bool check_value(struct checking *x) {
    struct diag d = diag_new(x->a);
    x->in = make_inputs(x->g, x->c->seed);
    x->want = calloc(x->g->outputs.n, sizeof *x->want);
    if (!graph_eval(x->g, x->in, x->want, &d)) return found(x, FOUND_REFUSED, "%s", d.text);
    struct graph *simple = graph_simplify(x->g);
    const char *wrong = graph_verify(simple, false);
    if (wrong) return found(x, FOUND_VERIFY, "after simplify: %s", wrong);
    struct graph *primitive = graph_decompose(simple);
    wrong = graph_verify(primitive, true);
    if (wrong) return found(x, FOUND_VERIFY, "after decompose: %s", wrong);
    struct graph *last = graph_simplify(primitive);
    wrong = graph_verify(last, true);
    if (wrong) return found(x, FOUND_VERIFY, "after decompose and simplify: %s", wrong);
    struct graph *moved = graph_extrema_first(last);
    wrong = graph_verify(moved, true);
    if (wrong) return found(x, FOUND_VERIFY, "after extrema_first: %s", wrong);
    struct graph *scanned = graph_scans_last(last);
    wrong = graph_verify(scanned, true);
    if (wrong) return found(x, FOUND_VERIFY, "after scans_last: %s", wrong);
    struct graph *divided = graph_divide_softplus(last);
    wrong = graph_verify(divided, true);
    if (wrong) return found(x, FOUND_VERIFY, "after divide_softplus: %s", wrong);
    x->judge = judge_new(x->a, last, x->in, x->want);
    /* What the rewritten graph computes may have been simplified away from it, so that both
     * are asked. */
    const char *wild = judge_wild(x->judge);
    if (!wild) wild = judge_wild(judge_new(x->a, graph_decompose(x->g), x->in, x->want));
    if (wild) return found(x, FOUND_WILD, "%s", wild);
    return as_rewritten(x, simple, "simplify") && as_rewritten(x, primitive, "decompose") &&
           as_rewritten(x, last, "simplify after decompose") &&
           as_rewritten(x, moved, "extrema_first") && as_rewritten(x, scanned, "scans_last") &&
           as_rewritten(x, divided, "divide_softplus");
}

/* ---- programs -------------------------------------------------------------------------------- */

static bool judge_buffer(struct drive *b, const struct ws_buffer *buffer, const double *got,
                         struct diag *d) {
    struct checking *x = b->ctx;
    return judge_output(x->judge, (uint32_t)buffer->index, got, d);
}

/* A new GPU, of some graphs one with tensor memory, and an old one. */
static struct device_limits limits_of(const struct checking *x, int target) {
    enum { TENSOR = 3 };
    const char *const arch[] = {x->c->seed % TENSOR ? "sm_90a" : "sm_100a", "sm_80"};
    struct device_limits l;
    if (target == CPU_TARGET) return *device_limits(x->cpu->dev);
    WS_ASSERT(device_limits_for_arch(arch[target], &l));
    l.sequences = x->c->seed % 2;
    return l;
}

/* The default and about two others. */
static bool pick_config(void *ctx, int config, int n) {
    struct checking *x = ctx;
    int others = x->c->thorough ? 4 : 2;
    return config == 0 || rng_below(&x->r, n - 1) < others;
}

static bool emit_some(struct checking *x, const struct ws_program *p) {
    for (int k = 0; k < p->n_kernels; k++) {
        const struct config *c;
        int n, pruned;
        ws_configs(p, k, &c, &n, &pruned);
        if (!n) return found(x, FOUND_EMIT, "kernel %s has no legal config", p->kernels[k].name);
        for (int i = 0; i < n; i++) {
            struct ws_source s;
            struct diag d = diag_new(x->a);
            if (i && !pick_config(x, i, n)) continue;
            const char *illegal = ws_config_illegal(p, k, &c[i], x->a);
            if (illegal)
                return found(x, FOUND_EMIT, "listed config %s is illegal: %s",
                             config_str(x->a, &c[i]), illegal);
            if (ws_emit(p, k, &c[i], x->a, &s, &d) != WS_OK)
                return found(x, FOUND_EMIT, "%s", d.text);
            x->counts->configs++;
        }
    }
    return true;
}

static bool lower(struct checking *x, int target, enum ws_fusion fusion, bool run) {
    struct diag d = diag_new(x->a);
    struct device_limits *limits = NEW(x->a, struct device_limits);
    *limits = limits_of(x, target);
    struct graph *g = parse(x, x->c->text, &d);
    struct drive *b = drive_begin(x->a, g, make_inputs(g, x->c->seed), limits, fusion, &d);
    if (!b) return found(x, FOUND_REFUSED, "%s", d.text);
    b->judge = judge_buffer;
    b->ctx = x;
    x->counts->kernels += b->p->n_kernels;
    if (!emit_some(x, b->p)) return drive_end(b), false;
    if (run)
        x->programs[target][fusion] = b;
    else
        drive_end(b);
    return true;
}

/* Which of the programs run: one GPU's fused one always; the eager one and the CPU's now and then.
 */
static bool lower_all(struct checking *x) {
    bool all = x->c->thorough;
    int gpu = rng_below(&x->r, 2), cpu_fusion = rng_below(&x->r, 2);
    bool eager = rng_percent(&x->r, 30), cpu = rng_percent(&x->r, 12);
    for (int t = 0; t < TARGETS; t++) {
        for (int f = WS_EAGER; f <= WS_FUSE; f++) {
            bool run =
                t == CPU_TARGET ? cpu && f == cpu_fusion : t == gpu && (f == WS_FUSE || eager);
            if (!lower(x, t, (enum ws_fusion)f, !x->c->lower_only && (all || run))) return false;
        }
    }
    return true;
}

static struct checking *check_compile_time(const struct fuzz_case *c, const struct fuzz_cpu *cpu,
                                           struct fuzz_verdict *v, struct fuzz_counts *counts) {
    struct arena *a = arena_new();
    struct checking *x = NEW(a, struct checking);
    *x = (struct checking){.a = a, .c = c, .cpu = cpu, .r = {c->seed}, .v = v, .counts = counts};
    v->finding = FOUND_FINE;
    counts->graphs++;
    if (check_text(x) && check_value(x)) lower_all(x);
    counts->wild += v->finding == FOUND_WILD;
    counts->refused += v->finding == FOUND_REFUSED;
    return x;
}

static void checking_end(struct checking *x) {
    for (int t = 0; t < TARGETS; t++)
        for (int f = 0; f < 2; f++)
            if (x->programs[t][f]) drive_end(x->programs[t][f]);
    for (uint32_t i = 0; x->in && i < x->g->inputs.n; i++) value_free(&x->in[i]);
    for (uint32_t i = 0; x->want && i < x->g->outputs.n; i++) value_free(&x->want[i]);
    free(x->in);
    free(x->want);
    if (x->judge) x->counts->forgiven += judge_forgiven(x->judge);
    arena_free(x->a);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool add_variants(struct emulation *s, struct checking *x) {
    struct diag d = diag_new(x->a);
    for (int t = 0; t < CPU_TARGET; t++)
        for (int f = 0; f < 2; f++)
            if (x->programs[t][f] && !emulation_add_all(s, x->programs[t][f], pick_config, x, &d))
                return found(x, FOUND_EMIT, "%s", d.text);
    return true;
}

static bool emulate(struct emulation *s, uint32_t v) {
    struct drive *b = s->variants.at[v].program;
    struct checking *x = b->ctx;
    struct diag d = diag_new(x->a);
    x->counts->emulated++;
    return emulation_case(s, v, v % 4 == 0, &d) ||
           found(x, FOUND_EMULATOR, "%s, %s: %s", b->p->limits.arch,
                 b == x->programs[0][WS_EAGER] || b == x->programs[1][WS_EAGER] ? "eager" : "fused",
                 d.text);
}

/* The program under its defaults, or under a few other configs as well. */
static bool pick_on_cpu(void *ctx, int config, int n) {
    struct checking *x = ctx;
    return x->c->thorough && pick_config(ctx, config, n);
}

static bool run_on_cpu(struct checking *x, enum ws_fusion f) {
    struct drive *b = x->programs[CPU_TARGET][f];
    struct diag d = diag_new(x->a);
    if (!b) return true;
    struct trial *s = trial_new(x->a, x->cpu->dev, x->cpu->toolchain);
    bool ok = trial_add_all(s, b, pick_on_cpu, x, &d) && trial_compile(s, &d);
    for (uint32_t v = 0; v < s->variants.n && ok; v++) ok = trial_case(s, v, &d);
    trial_free(s);
    x->counts->cpu += ok;
    return ok || found(x, FOUND_CPU, "%s: %s", f == WS_EAGER ? "eager" : "fused", d.text);
}

/* Index of x among the cases. */
static int index_of(struct checking *const *all, int n, const struct checking *x) {
    for (int i = 0; i < n; i++)
        if (all[i] == x) return i;
    return n;
}

/* Everything that runs; the index of the case that failed, -1 if none did. */
static int run_all(struct checking **all, int n, struct arena *a, struct fuzz_verdict *v) {
    struct emulation *s = emulation_new(a);
    struct diag d = diag_new(a);
    int failed = -1;
    for (int i = 0; i < n && failed < 0; i++)
        if (!add_variants(s, all[i])) failed = i;
    if (failed < 0 && s->variants.n && !emulation_compile(s, &d)) {
        v->finding = FOUND_COMPILE;
        snprintf(v->text, sizeof v->text, "%s", d.text);
        failed = n == 1 ? 0 : n;
    }
    for (uint32_t k = 0; k < s->variants.n && failed < 0; k++)
        if (!emulate(s, k)) failed = index_of(all, n, s->variants.at[k].program->ctx);
    emulation_free(s);
    for (int i = 0; i < n && failed < 0; i++)
        for (int f = 0; f < 2 && failed < 0; f++)
            if (!run_on_cpu(all[i], (enum ws_fusion)f)) failed = i;
    return failed;
}

int fuzz_check(const struct fuzz_case *cases, int n, const struct fuzz_cpu *cpu,
               struct fuzz_verdict *v, struct fuzz_counts *counts) {
    struct arena *a = arena_new();
    struct checking **all = NEW_ARRAY(a, struct checking *, n);
    int failed = -1, made = 0;
    for (; made < n && failed < 0; made++) {
        all[made] = check_compile_time(&cases[made], cpu, v, counts);
        if (finding_is_bug(v->finding)) failed = made;
    }
    if (failed < 0) failed = run_all(all, n, a, v);
    for (int i = 0; i < made; i++) checking_end(all[i]);
    arena_free(a);
    if (failed < 0 && n > 1) v->finding = FOUND_FINE;
    return failed;
}
