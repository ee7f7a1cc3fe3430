/* test_compile_operators.c: every operator on every type that it takes: the plain kernels that
 * references are made by compute what the interpreter does. Parameters are filled by the table of
 * operators; those whose sizes must fit each other, or that take indices, have a line of their own
 * below. All are one graph, so that kernels of one text are compiled once. `make test` fills
 * parameters in one way, TEST_LONG in all. */
#include <stdio.h>

#include "lower_test.h"
#include "operator_cases.h"
#include "part.h"
#include "tests/fuzz/gen.h"
#include "tests/fuzz/plain.h"

enum { SHAPE = 3 /* [3, 5], [5], [3, 1] */, WAYS = 3, MOST_INPUTS = 3 };

/* @: the type. */
static const struct {
    const char *inputs, *before, *call;
} fitting[] = {
    {"%x: @[3, 5]", "", "view(%x, [5, 3])"},
    {"%x: @[3, 5]", "", "permute(%x, [1, 0])"},
    {"%x: @[3, 1]", "", "expand(%x, [3, 4])"},
    {"%x: @[3, 1], %y: @[3, 4]", "", "expand_as(%x, %y)"},
    {"%x: @[3, 4], %y: @[2, 6]", "", "view_as(%x, %y)"},
    {"%x: @[2, 6]", "", "unflatten(%x, 1, [2, 3])"},
    {"%x: @[3, 5], %y: @[3, 5]", "", "set_data(%x, %y)"},
    {"%x: @[3, 5], %y: @[3, 5]", "", "give_gradient(%x, %y, [%x], [%y])"},
    {"%x: @[3, 5], %y: @[2, 5]", "", "cat([%x, %y], 0)"},
    {"%x: @[3, 5], %y: @[3, 5]", "", "stack([%x, %y], 1)"},
    {"%x: @[3, 5]", "", "constant_pad_nd(%x, [1, 2], 1)"},
    {"%x: @[3, 5]", "", "pad(%x, [1, 2], mode='reflect')"},
    {"%x: @[3, 5]", "", "roll(%x, [2], [1])"},
    {"%x: @[3, 5]", "", "repeat(%x, [2, 1])"},
    {"%x: @[3, 5]", "", "tile(%x, [2])"},
    {"%x: @[2, 9]", "", "windows(%x, [3], [2], [1], [1], value=1)"},
    {"%x: @[2, 9]", "", "unfold(%x, 1, 4, 2)"},
    {"%x: @[2, 5, 6]", "", "im2col(%x, [2, 3])"},
    {"", "", "full([3], 2, dtype=@)"},
    {"", "", "arange(0, 7, 2, dtype=@)"},
    {"", "", "eye(3, 5, dtype=@)"},
    {"", "", "zeros([3], dtype=@)"},
    {"", "", "tangent([3], 0, dtype=@)"},
    {"", "", "ones([3], dtype=@)"},
    {"%x: @[3, 7], %y: @[7, 4]", "", "mm(%x, %y)"},
    {"%x: f8e4m3[3, 32], %y: f8e5m2[32, 4]", "", "mm_float8(%x, %y)"},
    {"%x: @[2, 3, 7], %y: @[2, 7, 4]", "", "bmm(%x, %y)"},
    {"%x: @[3, 7], %y: @[4, 7], %z: @[4]", "", "linear(%x, %y, %z)"},
    {"%x: @[4], %y: @[3, 7], %z: @[7, 4]", "", "addmm(%x, %y, %z)"},
    {"%x: @[4], %y: @[2, 3, 7], %z: @[2, 7, 4]", "", "baddbmm(%x, %y, %z)"},
    {"%x: @[2, 2, 2, 5], %y: @[2, 3, 2, 3]", "", "convolve(%x, %y, [1], [1], [1], False, [5])"},
    {"%x: @[2, 3, 5, 4], %y: @[4, 3, 3, 2], %z: @[4]", "", "convolution(%x, %y, %z)"},
    {"%x: @[2, 3, 4], %y: @[2, 5, 4], %z: @[2, 5, 4]", "",
     "scaled_dot_product_attention(%x, %y, %z)"},
    {"%x: @[3, 5], %y: @[5]", "", "layer_norm(%x, [5], %y)"},
    {"%x: @[3, 5], %y: @[5]", "", "rms_norm(%x, [5], %y)"},
    {"%x: @[2, 6]", "", "group_norm(%x, 2)"},
    {"%x: @[7, 3], %y: @[3]", "", "batch_norm(%x, None, None, %y, training=True)"},
    {"%x: @[3, 9, 8]", "", "max_pool(%x, [3, 2], [2, 3], [1, 0])"},
    {"%x: @[3, 9, 8]", "", "avg_pool(%x, [3], 2, 1)"},
    {"%x: @[3, 7, 6]", "", "adaptive_avg_pool(%x, [3, 2])"},
    {"%x: @[3, 7, 6]", "", "adaptive_max_pool(%x, [3, 2])"},
    {"%x: @[2, 3, 7]", "", "upsample_nearest(%x, [4])"},
    /* Indices are below 3, whatever the inputs are. */
    {"%x: @[3, 5], %j: i64[2, 5]", "%i = remainder(%j, 3)", "gather(%x, 0, %i)"},
    {"%x: @[3, 5], %j: i64[4]", "%i = remainder(%j, 3)", "index(%x, [%i], [0])"},
    {"%x: @[3, 5], %j: i64[4]", "%i = remainder(%j, 3)", "index_select(%x, 0, %i)"},
    {"%x: @[3, 5], %j: i64[2, 2]", "%i = remainder(%j, 3)", "embedding(%i, %x)"},
    {"%x: @[3, 5], %j: i64[4]", "%i = remainder(%j, 3)", "take(%x, %i)"},
    {"%x: @[3, 5], %j: i64[2, 5]", "%i = remainder(%j, 3)", "take_along_dim(%x, %i, 0)"},
    {"%x: @[3, 5], %j: i64[1, 5], %y: @[1, 5]", "%i = remainder(%j, 3)", "scatter(%x, 0, %i, %y)"},
    {"%x: @[3, 5], %j: i64[7, 5], %y: @[7, 5]", "%i = remainder(%j, 3)",
     "scatter_add(%x, 0, %i, %y)"},
    {"%x: @[3, 5], %j: i64[7], %y: @[7, 5]", "%i = remainder(%j, 3)", "index_add(%x, 0, %i, %y)"},
    {"%j: @[4]", "%i = remainder(%j, 3)", "one_hot(%i, 3)"},
    {"%x: @[4, 3], %j: i64[4]", "%i = remainder(%j, 3)", "nll_loss(%x, %i)"},
    {"%x: @[4, 3], %j: i64[4]", "%i = remainder(%j, 3)", "cross_entropy(%x, %i)"},
};
enum { N_FITTING = sizeof fitting / sizeof *fitting };

static const char *fitting_case(struct arena *a, int i, enum dtype t) {
    struct buf b = buf_new(a);
    const char *before = fitting[i].before;
    const char *text =
        arena_printf(a, "graph(%s) {\n  %s%s%%r = %s\n  return %%r\n}\n", fitting[i].inputs, before,
                     *before ? "\n  " : "", fitting[i].call);
    for (; *text; text++) {
        if (*text == '@')
            buf_puts(&b, dtype_name(t));
        else
            buf_putc(&b, *text);
    }
    return b.p;
}

static struct plain_place here;

struct all {
    struct arena *a;
    struct graph *g;
    struct map inputs; /* "f32[3, 5] 0": the first operand -> node of g */
    VEC(struct graph *) cases;
    bool met[OP_COUNT];
};

/* An operator may refuse a type or a shape. */
static void add_case(struct all *x, const char *text) {
    struct diag d = diag_new(x->a);
    struct graph *g = text ? graph_parse(x->a, x->g->ex, test_source(x->a, text), &d) : NULL;
    if (!g || graph_verify(g, false)) return;
    vec_push(x->a, &x->cases, g);
    for (node_id i = 0; i < g->nodes.n; i++) x->met[g->nodes.at[i].op] = true;
}

/* Cases share inputs, so that kernels are the same where these are. */
static node_id input_of(struct all *x, const struct graph *g, uint32_t i) {
    const struct meta *m = &g->nodes.at[g->inputs.at[i].node].meta;
    struct buf key = buf_new(x->a);
    uint64_t node;
    buf_puts(&key, dtype_name(m->dtype));
    for (int k = 0; k < m->rank; k++)
        buf_printf(&key, " %lld", (long long)ex_value(g->ex, m->size[k]));
    buf_printf(&key, ", %u", i);
    if (!map_gets(&x->inputs, key.p, &node)) {
        node = graph_input(x->g, "a", INPUT_ARG, "", m, x->g->inputs.n);
        map_puts(&x->inputs, key.p, node);
    }
    return (node_id)node;
}

/* Inputs come first. */
static void join_cases(struct all *x) {
    struct joining *j = joining_new(x->g);
    node_id inputs[MOST_INPUTS], out;
    for (uint32_t k = 0; k < x->cases.n; k++)
        for (uint32_t i = 0; i < x->cases.at[k]->inputs.n; i++) input_of(x, x->cases.at[k], i);
    for (uint32_t k = 0; k < x->cases.n; k++) {
        const struct graph *g = x->cases.at[k];
        for (uint32_t i = 0; i < g->inputs.n; i++) inputs[i] = input_of(x, g, i);
        joining_add(j, g, inputs, &out);
        vec_push(x->a, &x->g->outputs, out);
    }
}

static void must_meet_all(const struct all *x) {
    for (int o = 0; o < OP_COUNT; o++)
        if (!x->met[o] && !gen_excludes((enum op)o))
            fail_msg("no case for %s", op_info((enum op)o)->name);
}

static void test_every_operator(void **state) {
    int ways = is_long() ? WAYS : 1;
    struct all x = {.a = arena_new()};
    x.g = graph_new(x.a, exprs_new(x.a), NULL);
    x.inputs = map_new(x.a);
    for (int t = 0; t < DT_COUNT; t += PART) {
        for (int o = 0; o < OP_COUNT; o++)
            for (int way = 0; way < ways && !gen_excludes((enum op)o); way++)
                add_case(&x, operator_case(x.a, op_info((enum op)o), (enum dtype)t, SHAPE, way));
        for (int i = 0; i < N_FITTING; i++) add_case(&x, fitting_case(x.a, i, (enum dtype)t));
    }
    if (PART == 1) must_meet_all(&x);
    join_cases(&x);
    struct value *in = drive_inputs(x.g, 1);
    struct plain_seen seen;
    const char *wrong = plain_check_graph(&here, x.g, in, 1, &seen);
    unsigned which = 0;
    if (wrong && sscanf(wrong, "out%u", &which) == 1 && which < x.cases.n)
        fail_msg("%s\n%s", wrong, printed(x.cases.at[which]));
    if (wrong) fail_msg("%s", wrong);
    assert_true(seen.slices > 0);
    print_message("             %u cases\n", x.cases.n);
    assert_true(x.cases.n > 1500 / PART);
    free_values(in, x.g->inputs.n);
    free(in);
    arena_free(x.a);
}

int main(void) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    quick_compiler();
    struct env env = env_read(a);
    if (device_open("cpu", &env, a, &d, &here.dev, NULL) != WS_OK ||
        toolchain_open(DEVICE_CPU, device_limits(here.dev)->arch, &env, a, &d, &here.cc) != WS_OK) {
        fprintf(stderr, "%s", d.text);
        return 1;
    }
    const struct CMUnitTest all[] = {cmocka_unit_test(test_every_operator)};
    int failed = cmocka_run_group_tests(all, NULL, NULL);
    toolchain_close(here.cc);
    device_close(here.dev);
    arena_free(a);
    return failed;
}
