/* test_graph_digests.c: what the graph's passes make of every operator, with operands of every
 * shape of operator_cases.h and some types: tests/golden/digests/operators has a line for each, as
 * digest_test.h says. */
#include "digest_test.h"
#include "graph/autograd.h"
#include "operator_cases.h"

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

int main(int argc, char **argv) {
    return digest_main(argc, argv, "test_operators", test_operators);
}
