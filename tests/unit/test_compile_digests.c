/* test_compile_digests.c: what each stage makes of the graphs of tests/fuzz/cases.h, for a GPU and
 * a CPU: tests/golden/digests/graphs has a line for each, as digest_test.h says. */
#include "digest_test.h"
#include "lower_test.h"
#include "reference.h"
#include "tests/fuzz/cases.h"
#include "tests/fuzz/plain.h"
#include "ws_tune.h"

enum { TEXTS = 4 }; /* of a kernel */

static void print_config(struct buf *to, const struct ws_program *p, int k, const struct config *c,
                         struct arena *a) {
    struct layout y;
    const struct kernel *ir = p->kernels[k].ir;
    buf_printf(to, "%s", config_str(a, c));
    const char *why = kernel_layout(ir, c, &y, a);
    if (why)
        buf_printf(to, ": %s\n", why);
    else
        buf_printf(to, ": %.3g us\n", kernel_cost(ir, &y));
}

static void print_launch(struct buf *to, const struct ws_launch *w) {
    buf_printf(to, "launch %s: %lld x %lld x %lld, threads %d, shared %d, clusters of %d%s",
               w->entry, (long long)w->grid[0], (long long)w->grid[1], (long long)w->grid[2],
               w->threads, w->smem, w->cluster, w->at_load ? ", at load" : "");
    for (int i = 0; i < w->n_args; i++)
        buf_printf(to, " %d:%d:%lld", (int)w->args[i].kind, w->args[i].buffer,
                   (long long)w->args[i].value);
    buf_putc(to, '\n');
}

static void print_text(struct buf *to, const struct ws_program *p, int k, const struct config *c,
                       struct arena *a) {
    struct diag d = diag_new(a);
    struct ws_source s;
    if (ws_emit(p, k, c, a, &s, &d) != WS_OK) {
        buf_puts(to, d.text);
        return;
    }
    buf_puts(to, s.block);
    for (int l = 0; l < s.n_launches; l++) print_launch(to, &s.launches[l]);
    buf_printf(to, "workspace %zu, kept %zu, tickets %zu\n", s.workspace, s.kept, s.tickets);
    const char *body = strstr(s.text, "/* ---- kernel text");
    buf_puts(to, body ? body : s.text);
}

static void print_buffers(struct buf *to, const struct ws_program *p) {
    for (int i = 0; i < p->n_buffers; i++) {
        const struct ws_buffer *x = &p->buffers[i];
        buf_printf(to, "%s %d %d %zu at %zu%s, in place %d, %d steps\n", x->name, (int)x->kind,
                   x->index, x->bytes, x->offset, x->fixed ? ", fixed" : "", x->in_place, x->steps);
    }
    for (int k = 0; k < p->n_kernels; k++) {
        const struct ws_kernel *x = &p->kernels[k];
        buf_printf(to, "%s %s %s %d %d %d, same %d, %.6g bytes %.6g flops:", x->name, x->kind,
                   x->hash, (int)x->at_load, x->loop, x->steps, x->same, x->bytes, x->flops);
        for (int i = 0; i < x->n_reads; i++) buf_printf(to, " %d", x->reads[i]);
        for (int i = 0; i < x->n_writes; i++) buf_printf(to, " > %d", x->writes[i]);
        buf_putc(to, '\n');
    }
    buf_printf(to, "%zu %.6g %.6g %d\n", p->temp_bytes, p->bytes, p->flops, (int)p->may_be_apart);
}

/* The default with each knob at each of some values: refused, and why, or another layout, and for
 * the first of a knob the text. */
static void print_refusals(struct buf *to, const struct ws_program *p, int k,
                           const struct config *c, struct arena *a) {
    static const int values[] = {0, 1, 2, 3, 4, 8, 16, 24, 64, 129, 512, 1024};
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        bool said = false;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            struct config other = *c;
            other.knob[knob] = values[i];
            const char *why = ws_config_illegal(p, k, &other, a);
            if (why)
                buf_printf(to, "%s: %s\n", config_str(a, &other), why);
            else
                print_config(to, p, k, &other, a);
            if (why || said || other.knob[knob] == c->knob[knob]) continue;
            print_text(to, p, k, &other, a);
            said = true;
        }
    }
}

/* The texts of the default of each kernel, and of some of its other configs. */
static void print_kernels(struct line *l, const struct ws_program *p, bool refusals) {
    struct buf bodies = buf_new(l->a), configs = buf_new(l->a), texts = buf_new(l->a);
    struct buf refused = buf_new(l->a);
    int total = 0;
    for (int k = 0; k < p->n_kernels; k++) {
        const struct config *c;
        int n, pruned;
        if (p->kernels[k].same != k) continue;
        kernel_print(&bodies, p->kernels[k].ir);
        ws_configs(p, k, &c, &n, &pruned);
        buf_printf(&configs, "%s: %d, %d pruned\n", p->kernels[k].name, n, pruned);
        for (int i = 0; i < n; i++) print_config(&configs, p, k, &c[i], l->a);
        for (int i = 0; i < n; i += n / TEXTS + 1) print_text(&texts, p, k, &c[i], l->a);
        if (refusals) print_refusals(&refused, p, k, &c[0], l->a);
        total += n;
    }
    add_digest(l, "bodies", &bodies);
    add_digest(l, arena_printf(l->a, "%d configs", total), &configs);
    add_digest(l, "texts", &texts);
    if (refusals) add_digest(l, "refusals", &refused);
}

/* What judges the graph and how far off it may be: its texts, and what of it goes by rows. */
static void print_plain(struct line *l, struct graph *g, bool cuda) {
    struct buf b = buf_new(l->a);
    struct reference_options o = {.cuda = cuda};
    const struct reference *r = reference_lower(plain_with_bound(g), &o, l->a);
    for (uint32_t i = 0; r && i < r->plain.texts.n; i++) buf_puts(&b, r->plain.texts.at[i]);
    for (uint32_t i = 0; r && i < r->plain.launches.n; i++)
        print_launch(&b, &r->plain.launches.at[i]);
    if (r) {
        struct slices s = slices_of(r->loops, l->a);
        buf_printf(&b, "workspace %zu, rows %lld\n", r->plain.workspace, (long long)s.rows);
        for (uint32_t n = 0; s.rows > 1 && n < r->loops->nests.n; n++)
            buf_printf(&b, " %d", (int)s.nests[n]);
        for (uint32_t n = 0; s.rows > 1 && n < r->loops->buffers.n; n++)
            buf_printf(&b, " %d", (int)s.buffers[n]);
    }
    add_digest(l, "plain", &b);
}

static void print_graph(struct buf *to, const char *key, const char *text,
                        const struct device_limits *limits, enum ws_fusion fusion, bool refusals) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct line l = line_of(
        a, arena_printf(a, "%s, %s%s", key, limits->arch, fusion == WS_EAGER ? " unfused" : ""));
    struct graph *g = graph_parse(a, exprs_new(a), test_source(a, text), &d);
    if (!g) fail_msg("%s\n%s", d.text, text);
    struct ws_captured captured = {.arena = a, .graph = g, .guards = "", .workload = "test"};
    struct ws_program *p = ws_lower(&captured, limits, fusion, NULL, &d);
    if (p) {
        struct buf nests = buf_new(a), buffers = buf_new(a);
        loops_print(&nests, p->loops);
        print_buffers(&buffers, p);
        buf_printf(&l.text, " | %d kernels", p->n_kernels);
        add_digest(&l, "nests", &nests);
        add_digest(&l, "program", &buffers);
        print_kernels(&l, p, refusals);
    } else {
        buf_printf(&l.text, " | %s", d.text);
    }
    if (refusals && fusion == WS_FUSE) {
        g = graph_parse(a, exprs_new(a), test_source(a, text), &d);
        print_plain(&l, g, limits->kind == DEVICE_CUDA);
    }
    end_line(to, &l);
    arena_free(a);
}

struct kind {
    const char *name;
    void (*make)(struct arena *a, case_vec *out);
    int step;      /* one graph in so many */
    bool gpu_only; /* for matrix units */
};

#define SEEDED(name, seed, n)                                                                      \
    static void some_##name(struct arena *a, case_vec *out) { cases_##name(a, seed, n, out); }
SEEDED(random_products, 7, 12)
SEEDED(convolutions, 7, 12)
SEEDED(phases, 7, 6)
SEEDED(many_filters, 7, 4)
SEEDED(arms, 7, 6)
SEEDED(random_chained, 7, 10)
static void some_random(struct arena *a, case_vec *out) { cases_random(a, 1, 150, false, out); }
static void some_large(struct arena *a, case_vec *out) { cases_random(a, 1, 300, true, out); }
static void some_chained(struct arena *a, case_vec *out) { cases_chained(a, 11, out); }

static const struct kind kinds[] = {
    {"shapes", cases_shapes, 1, false},
    {"move", cases_move, 1, false},
    {"products", cases_products, 2, false},
    {"tensor", cases_tensor, 3, false},
    {"panels", cases_panels, 2, false},
    {"gradients", cases_gradients, 2, false},
    {"loops", cases_loops, 2, false},
    {"edges", cases_edges, 23, false},
    {"chained", some_chained, 1, false},
    {"random products", some_random_products, 1, false},
    {"convolutions", some_convolutions, 8, true},
    {"phases", some_phases, 1, false},
    {"many filters", some_many_filters, 1, false},
    {"arms", some_arms, 1, false},
    {"random chained", some_random_chained, 1, false},
    {"random", some_random, 1, false},
    {"large", some_large, 1, false},
};

/* Each for one GPU and the CPU, some unfused. */
static void test_graphs(void **state) {
    struct arena *a = arena_new();
    struct buf all = buf_new(a);
    struct device_limits cpu = test_cpu(),
                         gpus[] = {test_gpu("sm_90a"), test_gpu("sm_80"), test_gpu("sm_100a")};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        case_vec graphs = {0};
        kinds[k].make(a, &graphs);
        for (uint32_t i = 0; i < graphs.n; i += (uint32_t)(kinds[k].step * PART)) {
            const struct case_graph *c = &graphs.at[i];
            const char *key = arena_printf(a, "%s %u", kinds[k].name, i);
            const struct device_limits *gpu = &gpus[c->tensor ? 2 : c->old ? 1 : 0];
            enum ws_fusion fusion = c->eager && i % 3 == 0 ? WS_EAGER
                                    : c->chained           ? WS_CHAINED
                                    : c->persistent        ? WS_PERSISTENT
                                    : c->launches          ? WS_APART
                                                           : WS_FUSE;
            print_graph(&all, key, c->text, gpu, fusion, i % 5 == 0);
            if (!kinds[k].gpu_only) print_graph(&all, key, c->text, &cpu, WS_FUSE, i % 5 == 0);
        }
    }
    int wrong = judge_lines("graphs", all.p, a);
    arena_free(a);
    if (wrong) fail_msg("%d lines differ", wrong);
}

int main(int argc, char **argv) { return digest_main(argc, argv, "test_graphs", test_graphs); }
