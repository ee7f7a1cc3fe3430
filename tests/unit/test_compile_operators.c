/* test_compile_operators.c: every operator whose parameters the table can fill, on every type: the
 * plain kernels that references are made by compute what the interpreter does. All are one graph,
 * so that kernels of one text are compiled once. `make test` has a type of each kind, and one way
 * to fill the parameters; TEST_LONG all types, and all ways. */
#include <stdio.h>

#include "lower_test.h"
#include "operator_cases.h"
#include "tests/fuzz/gen.h"
#include "tests/fuzz/plain.h"

enum { SHAPE = 3 /* [3, 5], [5], [3, 1] */, WAYS = 3, MOST_INPUTS = 3 };

static struct plain_place here;

struct all {
    struct arena *a;
    struct graph *g;
    node_id inputs[DT_COUNT][MOST_INPUTS];
    bool has[DT_COUNT][MOST_INPUTS];
    VEC(struct graph *) cases;
};

static void add_case(struct all *x, enum op op, enum dtype t, int way) {
    struct diag d = diag_new(x->a);
    const char *text = gen_excludes(op) ? NULL : operator_case(x->a, op_info(op), t, SHAPE, way);
    struct graph *g = text ? graph_parse(x->a, x->g->ex, test_source(x->a, text), &d) : NULL;
    if (!g || graph_verify(g, false)) return; /* an operator may refuse a type or a shape */
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        const struct meta *m = &g->nodes.at[g->inputs.at[i].node].meta;
        if (x->has[m->dtype][i]) continue;
        x->has[m->dtype][i] = true;
        x->inputs[m->dtype][i] = graph_input(x->g, "a", INPUT_ARG, "", m, x->g->inputs.n);
    }
    vec_push(x->a, &x->cases, g);
}

static void join_cases(struct all *x) {
    struct joining *j = joining_new(x->g);
    for (uint32_t k = 0; k < x->cases.n; k++) {
        const struct graph *g = x->cases.at[k];
        node_id inputs[MOST_INPUTS], out;
        for (uint32_t i = 0; i < g->inputs.n; i++)
            inputs[i] = x->inputs[g->nodes.at[g->inputs.at[i].node].meta.dtype][i];
        joining_add(j, g, inputs, &out);
        vec_push(x->a, &x->g->outputs, out);
    }
}

static void test_every_operator(void **state) {
    static const enum dtype few[] = {DT_F32, DT_I64, DT_BOOL};
    bool more = getenv("TEST_LONG");
    int n_types = more ? DT_COUNT : (int)(sizeof few / sizeof *few);
    struct all x = {.a = arena_new()};
    x.g = graph_new(x.a, exprs_new(x.a), NULL);
    for (int o = 0; o < OP_COUNT; o++)
        for (int t = 0; t < n_types; t++)
            for (int way = 0; way < (more ? WAYS : 1); way++)
                add_case(&x, (enum op)o, more ? (enum dtype)t : few[t], way);
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
    assert_true(x.cases.n > 300);
    free_values(in, x.g->inputs.n);
    free(in);
    arena_free(x.a);
}

int main(void) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
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
