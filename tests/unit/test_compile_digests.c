/* test_compile_digests.c: what the compiler makes of many graphs, as digests of the text of each
 * stage: tests/golden/digests/FILE has a line for each operator, and for each graph of
 * tests/fuzz/cases.h.
 *
 *   amax | 2 of 180 refused, meta 2b1c | parts 5d10 | gradient 77aa | bounds 0c3f
 *   shapes 0, cpu | 1 kernels | nests 82e9 | program b2be | bodies 49ef | 37 configs 4256 | ...
 *
 * A line that differs says which stage has changed. `test_compile_digests --show "shapes 0, cpu"`
 * prints the texts behind it: do so before and after, and compare. UPDATE=1 rewrites the files. */
#include <stdio.h>
#include <stdlib.h>

#include "graph/autograd.h"
#include "lower_test.h"
#include "operator_cases.h"
#include "part.h"
#include "tests/fuzz/cases.h"
#include "ws_tune.h"

static const char *show; /* the key of the line whose texts are printed */

/* ---- lines ----------------------------------------------------------------------------------- */

struct line {
    struct arena *a;
    const char *key;
    struct buf text;
};

static struct line line_of(struct arena *a, const char *key) {
    struct line l = {a, key, buf_new(a)};
    buf_puts(&l.text, key);
    return l;
}

/* Adds "| what 1f3a", of 16 bits: no two texts that one mistake tells apart need more. */
static void add_digest(struct line *l, const char *what, const struct buf *of) {
    buf_printf(&l->text, " | %s %04x", what, (unsigned)(hash_bytes(of->p, of->n) & 0xffff));
    if (show && !strcmp(show, l->key)) printf("---- %s\n%s\n", what, of->p);
}

static void end_line(struct buf *to, const struct line *l) { buf_printf(to, "%s\n", l->text.p); }

static int judge_lines(const char *name, const char *got, struct arena *a) {
    const char *path = arena_printf(a, "tests/golden/digests/%s", name);
    struct diag d = diag_new(a);
    int wrong = 0;
    if (PART > 1) return 0; /* not all lines are there */
    if (getenv("UPDATE")) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        fputs(got, f);
        fclose(f);
        return 0;
    }
    const struct source *want = source_read(a, path, &d);
    if (!want) fail_msg("%s", d.text);
    const char *w = want->text;
    while (*got || *w) {
        size_t n = strcspn(got, "\n"), m = strcspn(w, "\n");
        if ((n != m || memcmp(got, w, n) != 0) && wrong++ < 8)
            print_error("%s says:  %.*s\n  and now: %.*s\n", path, (int)m, w, (int)n, got);
        got += n + (got[n] != 0);
        w += m + (w[m] != 0);
    }
    return wrong;
}

/* ---- operators ------------------------------------------------------------------------------- */

static const enum dtype operand_types[] = {DT_F32, DT_BF16, DT_I64, DT_BOOL};
enum { N_OPERAND_TYPES = sizeof operand_types / sizeof *operand_types, WAYS = 2 };

struct texts {
    struct buf meta, parts, gradient, bounds;
    int refused;
};

static struct graph *primitive(struct graph *g) {
    return graph_simplify(graph_decompose(graph_simplify(g)));
}

static void print_gradient(struct buf *b, const struct graph *g) {
    bool wants[4] = {false};
    struct diag d = diag_new(g->arena);
    for (uint32_t i = 0; i < g->inputs.n; i++)
        wants[i] = dtype_is_float(g->nodes.at[g->inputs.at[i].node].meta.dtype);
    struct graph *joint = graph_backward(g, wants, &d);
    if (joint)
        graph_print(b, primitive(joint));
    else
        buf_puts(b, d.text);
}

static void add_operator(struct texts *s, struct arena *a, const char *text, bool all) {
    struct diag d = diag_new(a);
    struct graph *g = graph_parse(a, exprs_new(a), test_source(a, text), &d);
    buf_puts(&s->meta, text);
    const char *why = g ? graph_verify(g, false) : d.text;
    if (why) {
        buf_puts(&s->meta, why);
        s->refused++;
        return;
    }
    graph_print(&s->meta, g);
    struct graph *parts = primitive(g);
    graph_print(&s->parts, parts);
    buf_printf(&s->parts, "work %.6g, of %.6g bytes\n", graph_work(parts), graph_eval_bytes(g));
    if (!all) return;
    graph_print_readable(&s->meta, g);
    print_gradient(&s->gradient, g);
    for (int stores = 0; stores < 2; stores++) {
        struct rounding how = {stores ? DEVICE_CUDA : DEVICE_CPU, stores != 0, false};
        graph_print(&s->bounds, graph_simplify(graph_bound(parts, how)));
    }
}

/* Gradients and bounds of every second shape. */
static void print_operator(struct buf *to, enum op op) {
    struct arena *a = arena_new();
    struct texts s = {buf_new(a), buf_new(a), buf_new(a), buf_new(a), 0};
    int n = 0;
    for (int t = 0; t < N_OPERAND_TYPES; t++)
        for (int shape = 0; shape < N_SHAPES; shape++)
            for (int way = 0; way < WAYS; way++) {
                const char *text = operator_case(a, op_info(op), operand_types[t], shape, way);
                if (!text) continue;
                add_operator(&s, a, text, (shape + way) % 2 == 0);
                n++;
            }
    if (n) {
        struct line l = line_of(a, op_info(op)->name);
        add_digest(&l, arena_printf(a, "%d of %d refused, meta", s.refused, n), &s.meta);
        add_digest(&l, "parts", &s.parts);
        add_digest(&l, "gradient", &s.gradient);
        add_digest(&l, "bounds", &s.bounds);
        end_line(to, &l);
    }
    arena_free(a);
}

static void test_operators(void **state) {
    struct arena *a = arena_new();
    struct buf all = buf_new(a);
    for (int o = 0; o < OP_COUNT; o += PART)
        if (op_info((enum op)o)->class != INPUT && op_info((enum op)o)->class != LOOP)
            print_operator(&all, (enum op)o);
    int wrong = judge_lines("operators", all.p, a);
    arena_free(a);
    if (wrong) fail_msg("%d lines differ", wrong);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

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

static void print_text(struct buf *to, const struct ws_program *p, int k, const struct config *c,
                       struct arena *a) {
    struct diag d = diag_new(a);
    struct ws_source s;
    if (ws_emit(p, k, c, a, &s, &d) != WS_OK) {
        buf_puts(to, d.text);
        return;
    }
    buf_puts(to, s.block);
    for (int l = 0; l < s.n_launches; l++) {
        const struct ws_launch *w = &s.launches[l];
        buf_printf(to, "launch %s: %lld x %lld x %lld, threads %d, shared %d, clusters of %d%s",
                   w->entry, (long long)w->grid[0], (long long)w->grid[1], (long long)w->grid[2],
                   w->threads, w->smem, w->cluster, w->at_load ? ", at load" : "");
        for (int i = 0; i < w->n_args; i++)
            buf_printf(to, " %d:%d:%lld", (int)w->args[i].kind, w->args[i].buffer,
                       (long long)w->args[i].value);
        buf_putc(to, '\n');
    }
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

/* The texts of the default of each kernel, and of some of its other configs. */
static void print_kernels(struct line *l, const struct ws_program *p) {
    struct buf bodies = buf_new(l->a), configs = buf_new(l->a), texts = buf_new(l->a);
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
        total += n;
    }
    add_digest(l, "bodies", &bodies);
    add_digest(l, arena_printf(l->a, "%d configs", total), &configs);
    add_digest(l, "texts", &texts);
}

static void print_graph(struct buf *to, const char *key, const char *text,
                        const struct device_limits *limits, bool eager) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct line l =
        line_of(a, arena_printf(a, "%s, %s%s", key, limits->arch, eager ? " unfused" : ""));
    struct graph *g = graph_parse(a, exprs_new(a), test_source(a, text), &d);
    if (!g) fail_msg("%s\n%s", d.text, text);
    struct ws_captured captured = {.arena = a, .graph = g, .guards = "", .workload = "test"};
    struct ws_program *p = ws_lower(&captured, limits, eager ? WS_EAGER : WS_FUSE, NULL, &d);
    if (p) {
        struct buf nests = buf_new(a), buffers = buf_new(a);
        loops_print(&nests, p->loops);
        print_buffers(&buffers, p);
        buf_printf(&l.text, " | %d kernels", p->n_kernels);
        add_digest(&l, "nests", &nests);
        add_digest(&l, "program", &buffers);
        print_kernels(&l, p);
    } else {
        buf_printf(&l.text, " | %s", d.text);
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
            print_graph(&all, key, c->text, gpu, c->eager && i % 3 == 0);
            if (!kinds[k].gpu_only) print_graph(&all, key, c->text, &cpu, false);
        }
    }
    int wrong = judge_lines("graphs", all.p, a);
    arena_free(a);
    if (wrong) fail_msg("%d lines differ", wrong);
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "--show")) show = argv[2];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators),
                                       cmocka_unit_test(test_graphs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
