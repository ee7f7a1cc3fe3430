/* test_compile_limits.c: no number that a program may write makes a size wrap round.
 *
 * Every operator is called with numbers from the ends of 64 bits, at random but always the same:
 * what is refused has one message, what is not has sizes that can be addressed, and becomes
 * primitives and kernels or says why not. Under the sanitizers no arithmetic on the way overflows.
 * Numbers and messages that are known are in a table. */
#include "graph_test.h"
#include "tests/fuzz/random.h"
#include "ws_tune.h"

enum { CALLS = 60, SMALL = 4096 }; /* of each operator; elements that are worth evaluating */

static const int64_t extremes[] = {0,
                                   1,
                                   2,
                                   3,
                                   -1,
                                   -2,
                                   INT32_MAX,
                                   -(int64_t)INT32_MAX,
                                   (int64_t)1 << 31,
                                   (int64_t)1 << 40,
                                   -((int64_t)1 << 40),
                                   (int64_t)1 << 52,
                                   (int64_t)1 << 62,
                                   -((int64_t)1 << 62),
                                   INT64_MAX,
                                   INT64_MIN};
enum { N_EXTREMES = sizeof extremes / sizeof *extremes, N_SMALL = 6 };

static const struct {
    enum dtype dtype;
    int rank;
    int64_t size[5];
} tensors[] = {{DT_F32, 2, {4, 4}},
               {DT_F32, 1, {4}},
               {DT_F32, 4, {1, 2, 4, 4}},
               {DT_F32, 3, {2, 4, 4}},
               {DT_F32, 4, {2, 1, 2, 2}},
               {DT_I64, 1, {4}},
               {DT_I64, 2, {4, 4}},
               {DT_BOOL, 2, {4, 4}},
               {DT_F32, 0, {0}},
               {DT_F32, 2, {1, 4}},
               {DT_F32, 5, {1, 2, 2, 4, 4}}};
enum { N_TENSORS = sizeof tensors / sizeof *tensors };

struct fuzz {
    struct arena *arena;
    struct graph *g;
    struct rng rng;
    struct ws_program *program;
    struct diag diag;
};

static uint32_t pick(struct fuzz *f, uint32_t n) { return (uint32_t)(rng_next(&f->rng) % n); }

/* Mostly small, so that something is accepted, too. */
static ex number(struct fuzz *f) {
    return ex_const(f->g->ex, extremes[pick(f, pick(f, 3) ? N_SMALL : N_EXTREMES)]);
}

static struct arg list(struct fuzz *f) {
    ex at[4];
    uint32_t n = pick(f, 5);
    for (uint32_t i = 0; i < n; i++) at[i] = number(f);
    return arg_ints(f->g, at, n);
}

static struct arg text(struct fuzz *f) {
    static const char *const words[] = {"mean", "sum",     "none",     "constant",
                                        "tanh", "reflect", "circular", "replicate"};
    return arg_str(words[pick(f, 8)]);
}

/* Of the first operand's shape half of the time: what broadcasts is accepted. */
static struct arg tensor(struct fuzz *f, uint32_t first) {
    return arg_node(f->g->inputs.at[pick(f, 2) ? first : pick(f, N_TENSORS)].node);
}

/* What gives back the first of two inputs. */
static struct arg body(struct fuzz *f) {
    struct graph *g = graph_new(f->arena, f->g->ex, NULL);
    struct meta m = {.dtype = DT_F32, .rank = 1};
    m.size[0] = ex_const(g->ex, 2);
    meta_contiguous(g->ex, &m);
    for (uint32_t i = 0; i < 2; i++) graph_input(g, "x", INPUT_ARG, "", &m, i);
    vec_push(f->arena, &g->outputs, g->inputs.at[0].node);
    return (struct arg){.kind = ARG_GRAPH, .graph = g};
}

static struct arg argument(struct fuzz *f, const struct param *p, uint32_t first) {
    node_id *nodes = NEW_ARRAY(f->arena, node_id, 2);
    for (int i = 0; i < 2; i++) nodes[i] = tensor(f, first).node;
    bool whole = pick(f, 2);
    if (p->optional && pick(f, 3) == 0) return arg_none();
    switch (p->kind) {
    case 'T':
        if (p->list) return (struct arg){.kind = ARG_NODES, .nodes = {nodes, 1 + pick(f, 2)}};
        return tensor(f, first);
    case '|':
        if (whole) return tensor(f, first);
        return arg_ex(number(f));
    case 'S': return whole ? arg_ex(number(f)) : arg_float(pick(f, 2) ? 1.5 : 1e300);
    case 'D':
    case 'I': return p->list ? list(f) : arg_ex(number(f));
    case 'F': return arg_float(0.5);
    case 'B': return arg_bool(whole);
    case 'Y': return arg_dtype(whole ? DT_F32 : DT_I64);
    case 's': return text(f);
    case 'G': return body(f);
    }
    fail_msg("parameter of kind %c", p->kind);
    return arg_none();
}

static struct graph *new_graph(struct fuzz *f) {
    struct graph *g = graph_new(f->arena, exprs_new(f->arena), NULL);
    for (uint32_t i = 0; i < N_TENSORS; i++) {
        struct meta m = {.dtype = tensors[i].dtype, .rank = (uint8_t)tensors[i].rank};
        for (int k = 0; k < m.rank; k++) m.size[k] = ex_const(g->ex, tensors[i].size[k]);
        meta_contiguous(g->ex, &m);
        graph_input(g, "x", INPUT_ARG, "L['x']", &m, i);
    }
    return g;
}

static double numel(const struct graph *g, node_id id) {
    const struct meta *m = &g->nodes.at[id].meta;
    double n = 1;
    for (int i = 0; i < m->rank; i++) n *= (double)ex_value(g->ex, m->size[i]);
    return n;
}

static bool is_small(const struct graph *g) {
    for (node_id i = 0; i < g->nodes.n; i++)
        if (numel(g, i) > SMALL) return false;
    return true;
}

static void evaluate(struct fuzz *f, const struct graph *g) {
    struct value in[N_TENSORS] = {0}, out[1] = {0};
    struct diag d = diag_new(f->arena);
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        in[i].n = (int64_t)numel(g, g->inputs.at[i].node);
        in[i].v = calloc((size_t)in[i].n + 1, sizeof *in[i].v);
    }
    if (graph_eval(g, in, out, &d)) assert_true((double)out[0].n == numel(g, g->outputs.at[0]));
    value_free(&out[0]);
    for (uint32_t i = 0; i < g->inputs.n; i++) free(in[i].v);
}

static struct ws_program *lower(struct fuzz *f, struct graph *g) {
    struct device_limits limits;
    assert_true(device_limits_for_arch("sm_90a", &limits));
    struct ws_captured *c = ws_captured_of(f->arena, g, "fuzz");
    return ws_lower(c, &limits, WS_FUSE, NULL, &f->diag);
}

/* What was accepted is what it says, and can be gone on with. */
static void check_accepted(struct fuzz *f, node_id id) {
    assert_true(numel(f->g, id) <= 0x1p59);
    vec_push(f->arena, &f->g->outputs, id);
    f->g = graph_prune(f->g);
    const char *why = graph_verify(f->g, false);
    if (why) fail_msg("%s", why);
    if (!is_small(f->g)) return;
    evaluate(f, f->g);
    if (!lower(f, f->g)) assert_non_null(f->diag.message);
}

static bool call_at_random(enum op op, uint64_t seed) {
    struct fuzz f = {.arena = arena_new(), .rng = {seed}};
    struct arg args[MAX_PARAMS];
    const struct op_info *info = op_info(op);
    f.diag = diag_new(f.arena);
    f.g = new_graph(&f);
    uint32_t first = pick(&f, N_TENSORS);
    for (int i = 0; i < info->n_params; i++) args[i] = argument(&f, &info->params[i], first);
    node_id out;
    bool ok = graph_call(f.g, op, args, info->n_params, (struct span){0}, &f.diag, &out);
    if (ok)
        check_accepted(&f, out);
    else
        assert_non_null(f.diag.message);
    arena_free(f.arena);
    return ok;
}

static void test_every_operator(void **state) {
    int accepted = 0;
    for (int op = 0; op < OP_COUNT; op++) {
        /* what lowering makes of loops: nobody evaluates it */
        bool inner = op == OP_INPUT || op == OP_LOOP_STEP || op == OP_LOOP_STACK;
        for (int i = 0; i < CALLS && !inner; i++)
            accepted += call_at_random((enum op)op, (uint64_t)op * CALLS + (uint64_t)i);
    }
    assert_true(accepted > 1000); /* else it tests little */
}

/* What each call comes to: a shape as PyTorch has it, or the message. Both steps are gone: from a
 * call to its shape, and from that to kernels. */
static void test_known(void **state) {
#define TOO_LARGE "a tensor of such sizes is too large"
    static const struct {
        const char *inputs, *call, *want;
    } cases[] = {
        {"%x: f32[4, 4]", "repeat_interleave(%x, 4611686018427387904)", TOO_LARGE},
        {"%x: f32[4, 4]", "arange(-4611686018427387904, 4611686018427387904, 4611686018427387904)",
         "i64[2]"},
        {"%x: f32[4, 4]", "arange(-9223372036854775808, 9223372036854775807, 1)", "too large"},
        {"%x: f32[4, 4]", "narrow(%x, 0, 4611686018427387904, 4611686018427387904)",
         "leaves dimension 0 of size 4"},
        {"%x: f32[4, 4]",
         "slice(%x, 0, -4611686018427387904, 4611686018427387904, "
         "4611686018427387904)",
         "f32[1, 4]"},
        {"%x: f32[4, 4]", "unfold(%x, 0, 1, 4611686018427387904)", "f32[1, 4, 1]"},
        {"%x: f32[4, 4]", "unfold(%x, 0, 4611686018427387904, 1)", TOO_LARGE},
        {"%x: f32[1, 1, 4, 4]", "im2col(%x, [2, 2], padding=[1099511627776])", "too large"},
        {"%x: f32[1, 1, 4, 4]", "im2col(%x, [1152921504606846976])", "too large"},
        {"%x: f32[1, 1, 4, 4]", "max_pool(%x, [2147483648], padding=[1073741824])",
         "its windows [1, 1, 1, 1, 2147483648, 2147483648] are too large"},
        {"%x: f32[1, 1, 4, 4]", "avg_pool(%x, [2147483648], padding=[1073741824])",
         "its windows [1, 1, 1, 1, 2147483648, 2147483648] are too large"},
        {"%x: f32[1, 1, 4, 4]", "max_pool(%x, [2], stride=[4611686018427387904])",
         "f32[1, 1, 1, 1]"},
        {"%x: f32[1, 1, 4, 4], %y: f32[1, 1, 3, 3]", "convolution(%x, %y, padding=[1099511627776])",
         "too large"},
        {"%x: f32[1, 1, 4, 4], %y: f32[1, 1, 3, 3]",
         "convolution(%x, %y, dilation=[9223372036854775807])", TOO_LARGE},
        {"%x: f32[1, 1, 4, 4], %y: f32[1, 1, 3, 3]", "convolution(%x, %y, spatial=4294967298)",
         "1 to 3 dimensions slide"},
        {"%x: f32[4, 4]", "triu(%x, 9223372036854775807)", "f32[4, 4]"},
        {"%x: f32[4, 4]", "diagonal(%x, -9223372036854775808)", "f32[0]"},
        {"%x: f32[4]", "diag(%x, 9223372036854775807)", "too large"},
        {"%x: f32[4, 4]", "roll(%x, [-9223372036854775808], [0])", "f32[4, 4]"},
        {"%x: f32[4, 4]", "constant_pad_nd(%x, [4611686018427387904, 4611686018427387904])",
         TOO_LARGE},
        {"%x: f32[4, 4]", "repeat(%x, [4611686018427387904, 4])", TOO_LARGE},
        {"%x: f32[1, 4]", "expand(%x, [4611686018427387904, 4])", TOO_LARGE},
        {"%x: f32[1, 1, 4]", "adaptive_avg_pool(%x, [1125899906842624])",
         "f32[1, 1, 1125899906842624]"},
        {"%x: f32[4, 4]", "var(%x, 0, 1e300)", "f32[4]"},
        /* pairs of sources and places, in no memory */
        {"%x: f32[620576625], %i: i64[620576625]", "index_add(%x, 0, %i, %x)", "f32[620576625]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fuzz f = {.arena = arena_new()};
        const char *got;
        f.diag = diag_new(f.arena);
        f.g = try_parse(f.arena,
                        arena_printf(f.arena, "graph(%s) {\n  %%r = %s\n  return %%r\n}\n",
                                     cases[i].inputs, cases[i].call),
                        &got);
        if (f.g) {
            struct buf b = buf_new(f.arena);
            const struct meta *m = &f.g->nodes.at[f.g->outputs.at[0]].meta;
            buf_puts(&b, dtype_name(m->dtype));
            graph_print_shape(&b, f.g, m);
            got = b.p;
            if (!lower(&f, f.g)) fail_msg("%s: %s", cases[i].call, f.diag.text);
        }
        if (!strstr(got, cases[i].want)) fail_msg("%s:\n%s", cases[i].call, got);
        arena_free(f.arena);
    }
#undef TOO_LARGE
}

/* An operator whose result is small, and what it is made of is not, ends where it is lowered. */
static void test_inner_sizes(void **state) {
    struct fuzz f = {.arena = arena_new()};
    f.diag = diag_new(f.arena);
    f.g = must_parse(f.arena, "graph(%x: f32[2147483648, 1], %i: i64[2147483648]) {\n"
                              "  %r = index_add(%x, 0, %i, %x)\n  return %r\n}\n");
    assert_null(lower(&f, f.g));
    assert_int_equal(f.diag.status, WS_WRONG);
    if (!strstr(f.diag.text, "test.graph:2:") || !strstr(f.diag.text, "too large"))
        fail_msg("%s", f.diag.text);
    arena_free(f.arena);
}

static bool always(void) { return true; }

/* Lowering ends with a message where it takes too much, and works again with more. */
static void test_budget(void **state) {
    static const struct {
        struct budget_limits limits;
        const char *want;
    } cases[] = {{{.memory = 1000}, "--limit-memory"},
                 {{.seconds = 1e-9}, "--limit-seconds"},
                 {{.stopped = always}, "interrupted"},
                 {{.memory = 0}, NULL}};
    struct fuzz f = {.arena = arena_new()};
    struct buf b = buf_new(f.arena);
    struct device_limits limits;
    buf_puts(&b, "graph(%x: f32[64, 64]) {\n  %a0 = exp(%x)\n");
    for (int i = 0; i < 300; i++) /* no part of it comes three times on end: it is no loop */
        buf_printf(&b, "  %%a%d = softmax(%%a%d, %d)\n", i + 1, i, __builtin_parity((unsigned)i));
    buf_puts(&b, "  return %a300\n}\n");
    struct ws_captured *c = ws_captured_of(f.arena, must_parse(f.arena, b.p), "deep");
    assert_true(device_limits_for_arch("sm_90a", &limits));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f.diag = diag_new(f.arena);
        c->limits = cases[i].limits;
        const struct ws_program *p = ws_lower(c, &limits, WS_FUSE, NULL, &f.diag);
        if (cases[i].want ? !f.diag.text || !strstr(f.diag.text, cases[i].want) : !p)
            fail_msg("%s: %s", cases[i].want, f.diag.text);
    }
    arena_free(f.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_inner_sizes),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_every_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
