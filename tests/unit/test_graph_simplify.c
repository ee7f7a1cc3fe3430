/* Simplification removes what is exactly nothing and leaves what only looks like it. */
#include "graph_test.h"

/* The operators left, inputs aside: "exp add" */
static const char *left(struct arena *a, const char *inputs, const char *body) {
    struct graph *g = must_parse(a, arena_printf(a, "graph(%s) {\n%s}\n", inputs, body));
    struct graph *s = graph_simplify(g);
    const char *why = graph_verify(s, false);
    if (why) fail_msg("%s", why);
    assert_string_equal(printed(s), printed(graph_simplify(s)));
    return operators(s);
}

static void leaves(const char *inputs, const char *call, const char *want) {
    struct arena *a = arena_new();
    assert_string_equal(left(a, inputs, arena_printf(a, "%%r = %s\nreturn %%r\n", call)), want);
    arena_free(a);
}

static void test_exact_identities(void **state) {
    const char *x = "%x: f32[4, 8]", *i = "%x: i64[4]";
    leaves(x, "mul(%x, 1)", "");
    leaves(x, "mul(1.0, %x)", "");
    leaves(x, "div(%x, 1)", "");
    leaves(x, "pow(%x, 1)", "");
    leaves(x, "sub(%x, 0)", "");
    leaves(x, "add(%x, -0.0)", "");
    leaves(i, "add(%x, 0)", "");
    leaves(i, "add(0, %x)", "");
    leaves(x, "to(%x, f32)", "");
    leaves(x, "view(%x, 4, 8)", "");
    leaves(x, "expand(%x, 4, 8)", "");
    leaves(x, "permute(%x, 0, 1)", "");
    leaves(x, "slice(%x, 1, 0, 8)", "");
    leaves(x, "squeeze(%x, 0)", "");
}

/* -0.0 + 0 is 0.0; and an operator that changes the type or the shape does something. */
static void test_near_misses(void **state) {
    const char *x = "%x: f32[4, 8]", *i = "%x: i64[4]";
    leaves(x, "add(%x, 0)", "add");
    leaves(x, "add(%x, 0.0)", "add");
    leaves(x, "sub(%x, -0.0)", "sub");
    leaves(x, "sub(0, %x)", "sub");
    leaves(x, "div(1, %x)", "div");
    leaves(x, "mul(%x, 0)", "mul");
    leaves(x, "sub(%x, %x)", "sub");
    leaves(x, "add(%x, -0.0, alpha=2)", "add");
    leaves(i, "mul(%x, 1.0)", "mul");
    leaves(i, "div(%x, 1)", "div");
    leaves("%x: f32[1, 8], %y: f32[4, 1]", "mul(%x, 1)", "");
    leaves("%x: f32[4, 8][1, 4]", "to(%x, f32)", "to"); /* makes it row-major */
    leaves(x, "slice(%x, 1, 0, 8, 2)", "slice");
    leaves(x, "permute(%x, 1, 0)", "permute");
}

static void chain(const char *inputs, const char *body, const char *want) {
    struct arena *a = arena_new();
    const char *got = left(a, inputs, body);
    if (strcmp(got, want)) fail_msg("left: '%s', expected '%s' of\n%s", got, want, body);
    arena_free(a);
}

static void test_chains(void **state) {
    chain("%x: bf16[4]", "%a = to(%x, f32)\n%b = to(%a, bf16)\nreturn %b", "");
    chain("%x: bf16[4]", "%a = to(%x, f32)\n%b = to(%a, f16)\nreturn %b", "to");
    chain("%x: f32[4]", "%a = to(%x, bf16)\n%b = to(%a, f32)\nreturn %b", "to to");
    chain("%x: f32[4]", "%a = to(%x, i64)\n%b = to(%a, f32)\nreturn %b", "to to");
    chain("%x: f32[4]", "%a = neg(%x)\n%b = neg(%a)\n%c = relu(%b)\n%d = relu(%c)\nreturn %d",
          "relu");
    chain("%x: f32[4, 2]",
          "%a = unsqueeze(%x, 0)\n%b = view(%a, 8)\n%c = view(%b, 2, 4)\nreturn %c", "view");
    chain("%x: f32[4, 2]", "%a = permute(%x, 1, 0)\n%b = view(%a, 8)\nreturn %b", "permute view");
    chain("%x: f32[4, 2, 3]", "%a = permute(%x, 1, 2, 0)\n%b = permute(%a, 2, 0, 1)\nreturn %b",
          "");
}

static void test_common_and_dead(void **state) {
    chain("%x: f32[4]", "%a = exp(%x)\n%b = exp(%x)\n%c = add(%a, %b)\n%d = sin(%c)\nreturn %c",
          "exp add");
    chain("%x: f32[4]", "%a = add(%x, 1)\n%b = add(%x, 1.0)\nreturn %a, %b", "add add");
    chain("", "%a = rand(4)\n%b = rand(4)\nreturn %a, %b", "rand rand");
    chain("", "%a = rand(4, index=0)\n%b = rand(4, index=0)\nreturn %a, %b", "rand");
    chain("%x: f32[4], %y: f32[4]", "return %y", "");
}

/* Constants fold as the type computes, not as double does. */
static void test_folding(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph() {\n  %a = full([2], 0.1)\n  %b = add(%a, 0.2)\n"
                                    "  %c = full([2], 7, dtype=i64)\n  %d = mul(%c, 6)\n"
                                    "  %e = to(%b, i64)\n  return %b, %d, %e\n}");
    struct graph *s = graph_simplify(g);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(s->nodes.at[s->outputs.at[i]].op, OP_FULL);
    assert_true(s->nodes.at[s->outputs.at[0]].args[1].f == (double)(0.1f + 0.2f));
    assert_int_equal(ex_value(s->ex, s->nodes.at[s->outputs.at[1]].args[1].i), 42);
    assert_int_equal(ex_value(s->ex, s->nodes.at[s->outputs.at[2]].args[1].i), 0);
    arena_free(a);
    /* bf16 would need its own rounding; a broadcast would need a shape. */
    chain("", "%a = full([2], 0.1, dtype=bf16)\n%b = add(%a, 0.2)\nreturn %b", "full add");
    chain("", "%a = full([2, 1], 1.0)\n%b = full([3], 2.0)\n%c = add(%a, %b)\nreturn %c", "full");
}

/* In place it is the same graph, with an input that was found late, and names are given back. */
static void test_prune_in_place(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[4], %y: f32[4]) {\n  %exp = exp(%x)\n"
                                    "  %sin = sin(%y)\n  %cat = cat([%exp, %exp])\n"
                                    "  return %cat\n}");
    node_id late = graph_input(g, "late", INPUT_ARG, "L['late']", &g->nodes.at[0].meta, 2), cat,
            out;
    assert_true(graph_find(g, "cat", &cat));
    struct diag d = diag_new(a);
    struct arg sum[] = {arg_node(2), arg_node(late)};
    assert_true(graph_call(g, OP_ADD, sum, 2, (struct span){0}, &d, &out));
    g->outputs.at[0] = out;
    vec_push(a, &g->outputs, cat);
    const char *want = printed(graph_prune(g));
    graph_prune_in_place(g);
    assert_string_equal(printed(g), want);
    assert_null(graph_verify(g, false));
    assert_int_equal(g->inputs.n, 2);
    assert_false(graph_find(g, "sin", &out));
    assert_true(graph_find(g, "late", &out) && out == 1);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_identities), cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_chains),           cmocka_unit_test(test_common_and_dead),
        cmocka_unit_test(test_folding),          cmocka_unit_test(test_prune_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
