/* The verifier finds each broken invariant and names it; graphs are broken by hand here. */
#include "graph_test.h"

static struct graph *sample(struct arena *a) {
    return must_parse(a, "graph(%x: f32[4, 8], %y: f32[8]) {\n"
                         "  %s = softmax(%x, 1)\n  %r = add(%s, %y)\n  return %r\n}");
}

static void broken(struct graph *g, bool decomposed, const char *want) {
    const char *why = graph_verify(g, decomposed);
    if (!why || strncmp(why, want, strlen(want)))
        fail_msg("expected %s..., got %s", want, why ? why : "nothing");
}

static void test_order(void **state) {
    struct arena *a = arena_new();
    struct graph *g = sample(a);
    g->nodes.at[2].args[0].node = 3;
    broken(g, false, "G1: %s uses node 3");
    arena_free(a);
}

static void test_schema(void **state) {
    struct arena *a = arena_new();
    struct graph *g = sample(a);
    g->nodes.at[2].args[1] = arg_float(1);
    broken(g, false, "G2: %s: argument 'dim' is of the wrong kind");
    g = sample(a);
    g->nodes.at[2].n_args = 2;
    broken(g, false, "G2: %s has 2 arguments, softmax takes 3");
    arena_free(a);
}

static void test_meta(void **state) {
    struct arena *a = arena_new();
    struct graph *g = sample(a);
    g->nodes.at[3].meta.dtype = DT_F64;
    broken(g, false, "G3: %r");
    g = sample(a);
    g->nodes.at[3].meta.stride[0] = ex_const(g->ex, 1);
    broken(g, false, "G3: %r");
    g = sample(a);
    g->nodes.at[1].meta.size[0] = ex_const(g->ex, 7);
    broken(g, false, "G3: %r cannot be: test.graph:3:8: add: shapes [4, 8] and [7]");
    arena_free(a);
}

static void test_leaves(void **state) {
    struct arena *a = arena_new();
    struct graph *g = sample(a);
    g->inputs.n = 1;
    broken(g, false, "G4: INPUT nodes and graph.inputs differ");
    g = sample(a);
    g->inputs.at[1].node = 0;
    broken(g, false, "G4: input 1");
    g = sample(a);
    g->outputs.n = 0;
    broken(g, false, "G4: there is no output");
    g = sample(a);
    g->inputs.at[1].becomes = 1;
    broken(g, false, "G4: %y cannot become output 0");
    g = sample(a);
    g->inputs.at[0].becomes = 2;
    broken(g, false, "G4: %x cannot become output 1");
    g = sample(a);
    g->outputs.at[0] = 99;
    broken(g, false, "G4: output 0 is no node");
    arena_free(a);
}

static void test_names(void **state) {
    struct arena *a = arena_new();
    struct graph *g = sample(a);
    g->nodes.at[3].name = "s";
    broken(g, false, "G5: two nodes are called %s");
    g->nodes.at[3].name = "1s";
    broken(g, false, "G5: node 3 has no name");
    arena_free(a);
}

static void test_composites(void **state) {
    struct arena *a = arena_new();
    struct graph *g = sample(a);
    assert_null(graph_verify(g, false));
    broken(g, true, "G6: %s is a composite softmax");
    assert_null(graph_verify(graph_decompose(g), true));
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order), cmocka_unit_test(test_schema),
        cmocka_unit_test(test_meta),  cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_names), cmocka_unit_test(test_composites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
