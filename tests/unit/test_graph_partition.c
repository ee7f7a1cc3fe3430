/* Forward and backward together compute what the joint graph does; and what is saved is what moves
 * the fewest bytes. */
#include "autograd_test.h"

#include "graph/flow.h"
#include "graph/partition.h"

static struct partition *must_partition(struct graph *g) {
    struct graph *joint = must_differentiate(g, wants_all(g));
    joint = graph_simplify(graph_decompose(joint));
    struct partition *p = graph_partition(joint, g->inputs.n, g->outputs.n);
    const char *why = graph_verify(p->forward, true);
    if (!why) why = graph_verify(p->backward, true);
    if (why) fail_msg("%s\n%s\n%s", why, printed(p->forward), printed(p->backward));
    assert_int_equal(p->forward->inputs.n, g->inputs.n);
    assert_int_equal(p->backward->outputs.n, joint->outputs.n - g->outputs.n);
    return p;
}

static void same_values(const struct value *a, const struct value *b, const struct partition *p) {
    assert_int_equal(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++)
        if (value_number(a, i) != value_number(b, i))
            fail_msg("element %lld: %.17g jointly, %.17g apart\n%s\n%s", (long long)i,
                     value_number(a, i), value_number(b, i), printed(p->forward),
                     printed(p->backward));
}

/* In doubles, so that nothing is rounded where a saved tensor leaves the forward. */
static void check_values(const struct partition *p, uint32_t n_inputs, uint32_t n_outputs) {
    struct value in[MAX_TEST_VALUES], joint[MAX_TEST_VALUES], forward[MAX_TEST_VALUES];
    struct value saved[MAX_TEST_VALUES], backward[MAX_TEST_VALUES];
    random_inputs(p->joint, in);
    must_eval(p->joint, in, joint);
    must_eval(p->forward, in, forward);
    for (uint32_t i = 0; i < p->saved.n; i++) {
        const struct saved_tensor *s = &p->saved.at[i];
        saved[i] = s->is_input ? in[s->index] : forward[s->index];
    }
    for (uint32_t i = n_inputs; i < p->joint->inputs.n; i++)
        saved[p->saved.n + i - n_inputs] = in[i];
    must_eval(p->backward, saved, backward);
    for (uint32_t i = 0; i < p->joint->outputs.n; i++)
        same_values(&joint[i], i < n_outputs ? &forward[i] : &backward[i - n_outputs], p);
    free_values(in, p->joint->inputs.n);
    free_values(joint, p->joint->outputs.n);
    free_values(forward, p->forward->outputs.n);
    free_values(backward, p->backward->outputs.n);
}

static void test_same_values(void **state) {
    static const char *const graphs[] = {
        "graph(%x: f64[4, 8]) {\n  %a = softmax(%x, 1)\n  return %a\n}\n",
        "graph(%x: f64[4, 8], %w: f64[8], %b: f64[8]) {\n"
        "  %a = layer_norm(%x, [8], %w, %b)\n  %g = gelu(%a)\n  return %g, %a\n}\n",
        "graph(%x: f64[4, 8], %w: f64[6, 8], %b: f64[6]) {\n  %a = linear(%x, %w, %b)\n"
        "  %r = relu(%a)\n  %l = logsumexp(%r, 1)\n  %m = mean(%l)\n  return %m\n}\n",
        "graph(%q: f64[2, 3, 4], %k: f64[2, 5, 4], %v: f64[2, 5, 4]) {\n"
        "  %a = scaled_dot_product_attention(%q, %k, %v)\n  return %a\n}\n",
        "graph(%x: f64[4, 8], %y: f64[4, 8], %n: i64[4, 1]) {\n  %a = add(%x, %n)\n"
        "  %t = transpose(%a, 0, 1)\n  %s = sum(%t, 0)\n  return %s, %n, %x\n}\n",
        "graph(%x: f64[4, 8]) {\n  %d = detach(%x)\n  %e = exp(%d)\n  return %e\n}\n",
    };
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct arena *a = arena_new();
        struct graph *g = must_parse(a, graphs[i]);
        check_values(must_partition(g), g->inputs.n, g->outputs.n);
        arena_free(a);
    }
}

/* The names of what is saved, blank separated. */
static void saves(const char *graph, const char *want) {
    struct arena *a = arena_new();
    struct partition *p = must_partition(must_parse(a, graph));
    struct buf b = buf_new(a);
    for (uint32_t i = 0; i < p->saved.n; i++)
        buf_printf(&b, "%s%s", i ? " " : "", p->joint->nodes.at[p->saved.at[i].node].name);
    if (strcmp(b.p, want)) fail_msg("saved are '%s', expected '%s'\n%s", b.p, want, graph);
    arena_free(a);
}

static void test_choice(void **state) {
    /* An input is there to be read: pointwise values are computed again. */
    saves("graph(%x: f32[64]) {\n  %e = exp(%x)\n  %s = sin(%e)\n  return %s\n}\n", "x");
    /* So is an output, and nothing is computed again. */
    saves("graph(%x: f32[64]) {\n  %e = exp(%x)\n  return %e\n}\n", "e");
    /* A mask is a quarter of what it is made of, even where that is written twice. */
    saves("graph(%x: f32[64], %y: f32[64]) {\n  %a = add(%x, %y)\n  %r = relu(%a)\n"
          "  return %r\n}\n",
          "le");
    /* A reduction is kept. */
    saves("graph(%x: f32[64, 64]) {\n  %m = amax(%x, 1, True)\n  %d = sub(%x, %m)\n"
          "  %e = exp(%d)\n  %q = sum(%e)\n  return %q\n}\n",
          "x m sum_1"); /* and how many are equal to the maximum */
    /* Nothing is needed. */
    saves("graph(%x: f32[64], %y: f32[64]) {\n  %a = sub(%x, %y)\n  return %a\n}\n", "");
    /* What was expanded is saved small. */
    saves("graph(%x: f32[1, 64], %y: f32[64, 64]) {\n  %e = exp(%x)\n  %b = expand(%e, [64, 64])\n"
          "  %m = mul(%b, %y)\n  return %m\n}\n",
          "x y");
    /* Of attention no tensor of scores, but what rows come to, and the result. */
    saves("graph(%q: bf16[2, 64, 8], %k: bf16[2, 64, 8], %v: bf16[2, 64, 8]) {\n"
          "  %a = scaled_dot_product_attention(%q, %k, %v)\n  return %a\n}\n",
          "q k v amax sum bmm_1");
    /* A deep product is made once. */
    saves("graph(%x: bf16[2048, 512], %w: bf16[512, 2048]) {\n  %y = mm(%x, %w)\n  %e = exp(%y)\n"
          "  %s = sin(%e)\n  return %s\n}\n",
          "x w e");
}

static void test_symbolic(void **state) {
    struct arena *a = arena_new();
    struct partition *p = must_partition(
        must_parse(a, "graph(%x: f32[s0, 8]) {\n  %a = softmax(%x, 1)\n  return %a\n}\n"));
    struct buf b = buf_new(a);
    partition_print(&b, p);
    assert_non_null(strstr(b.p, "bytes, output 0\n"));
    arena_free(a);
}

/* ---- the cut itself -------------------------------------------------------------------------- */

static void test_flow(void **state) {
    struct arena *a = arena_new();
    struct flow *f = flow_new(a, 6);
    static const int edges[][3] = {{0, 1, 16}, {0, 2, 13}, {1, 2, 10}, {2, 1, 4},  {1, 3, 12},
                                   {3, 2, 9},  {2, 4, 14}, {4, 3, 7},  {3, 5, 20}, {4, 5, 4}};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        flow_connect(f, (uint32_t)edges[i][0], (uint32_t)edges[i][1], edges[i][2]);
    bool side[6];
    assert_int_equal(flow_cut(f, 0, 5, side), 23);
    static const bool want[] = {false, false, false, true, false, true};
    assert_memory_equal(side, want, sizeof side);

    f = flow_new(a, 4); /* of two equal cuts the one nearer to the sink */
    flow_connect(f, 0, 1, 5);
    flow_connect(f, 1, 2, FLOW_INFINITE);
    flow_connect(f, 2, 3, 5);
    assert_int_equal(flow_cut(f, 0, 3, side), 5);
    assert_true(!side[1] && !side[2] && side[3]);

    f = flow_new(a, 3); /* no way through */
    flow_connect(f, 0, 1, 5);
    assert_int_equal(flow_cut(f, 0, 2, side), 0);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_values),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_symbolic),
        cmocka_unit_test(test_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
