/* test_graph_channels_last.c: which images between convolutions have their channels innermost, and
 * that no value changes. */
#include "graph_test.h"

/* What the first convolution after another one reads, by its strides: a node of the graph with its
 * channels innermost or not. `moved`: how many results of convolutions are stored in that order. */
static void becomes(const char *text, int moved) {
    struct arena *a = arena_new();
    struct graph *g = graph_simplify(graph_decompose(must_parse(a, text)));
    struct value in[MAX_TEST_VALUES], old[MAX_TEST_VALUES], now[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_eval(g, in, old);
    struct graph *to = graph_channels_last(g);
    const char *why = graph_verify(to, true);
    if (why) fail_msg("%s\n%s", why, printed(to));
    to = graph_simplify(to); /* which leaves what it has made */
    must_eval(to, in, now);
    int found = 0;
    for (node_id n = 0; n < to->nodes.n; n++) {
        const struct node *x = &to->nodes.at[n];
        found += x->op == OP_CONVERT && to->nodes.at[x->args[0].node].meta.dtype == x->meta.dtype;
    }
    if (found != moved) fail_msg("%d, expected %d of\n%s", found, moved, printed(to));
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        assert_int_equal(now[o].n, old[o].n);
        for (int64_t i = 0; i < now[o].n; i++)
            assert_true(value_number(&now[o], i) == value_number(&old[o], i));
    }
    free_values(in, g->inputs.n);
    free_values(old, g->outputs.n);
    free_values(now, g->outputs.n);
    arena_free(a);
}

#define FIRST "graph(%x: bf16[2, 8, 5, 6], %u: bf16[16, 8, 3, 3], %v: bf16[8, 16, 3, 3]) {\n"
#define CONVOLUTION(y, x, w) " %" y " = convolution(%" x ", %" w ", None, 1, 1)\n"

#define POOLED                                                                                     \
    "graph(%x: bf16[2, 8, 6, 6], %u: bf16[16, 8, 3, 3], %v: bf16[8, 16, 3, 3]) {\n" CONVOLUTION(   \
        "a", "x", "u") " %r = relu(%a)\n %p = max_pool(%r, 2)\n" CONVOLUTION("y", "p", "v")        \
        CONVOLUTION(                                                                               \
            "g", "y",                                                                              \
            "u") " %w = windows(%r, [2, 2], [2, 2], [0, 0], [1, 1], False, -inf)\n"                \
                 " %n = view(%w, [2, 16, 3, 3, 4])\n %m = argmax(%n, 4)\n %b = to(%m, dtype=u8)\n" \
                 " %c = view(%b, [2, 16, 3, 3, 1])\n %j = arange(0, 4)\n %h = eq(%c, %j)\n"        \
                 " %f = neg(%g)\n %l = view(%f, [2, 16, 3, 3, 1])\n %o = where(%h, %l, 0)\n %d = " \
                 "view(%o, [2, "                                                                   \
                 "16, 3, 3, 2, 2])\n"

static void test_chains(void **state) {
    (void)state;
    becomes(FIRST CONVOLUTION("a", "x", "u") " %r = relu(%a)\n" CONVOLUTION("y", "r",
                                                                            "v") " return %y\n}\n",
            1);
    /* through a pool, whose windows are those of an image in another order */
    becomes(FIRST CONVOLUTION("a", "x", "u") " %r = max_pool(%a, 2)\n" CONVOLUTION(
                "y", "r", "v") " return %y\n}\n",
            1);
    /* means and variances of channels */
    becomes(
        FIRST CONVOLUTION(
            "a", "x",
            "u") " %r = batch_norm(%a, None, None, None, None, True)\n %m = mean(%a, [0, 2, 3])\n"
                 " %s = sum(%a, [1])\n" CONVOLUTION("y", "r", "v") " return %y, %m, %s\n}\n",
        1);
    /* the place of a maximum among channels, and among all that there is, in the old order */
    becomes(FIRST CONVOLUTION("a", "x", "u") " %r = relu(%a)\n" CONVOLUTION(
                "y", "r", "v") " %c = argmax(%r, 1)\n %k = argmin(%r, 1, True)\n %m = argmax(%r)\n "
                               "%w = argmin(%a)\n"
                               " %h = argmax(%a, 2)\n return %y, %c, %k, %m, %w, %h\n}\n",
            1);
    /* what is read beside it lies so, and what is stored does */
    becomes("graph(%x: bf16[2, 5, 6, 8], %u: bf16[16, 8, 3, 3], %v: bf16[8, 16, 3, 3]) {\n"
            " %p = permute(%x, [0, 3, 1, 2])\n" CONVOLUTION(
                "a", "p",
                "u") " %r = relu(%a)\n" CONVOLUTION("b", "r",
                                                    "v") " %s = add(%b, %p)\n"
                                                         " %t = relu(%s)\n" CONVOLUTION(
                                                             "c", "t",
                                                             "u") " %y = permute(%t, [0, 2, 3, "
                                                                  "1])\n return %c, %y\n}\n",
            2);
    /* of one tap, but pixels that are not neighbours */
    becomes(
        "graph(%x: bf16[2, 8, 4, 6], %u: bf16[16, 8, 3, 3], %v: bf16[8, 16, 1, 1]) {\n" CONVOLUTION(
            "a", "x", "u") " %r = relu(%a)\n %y = convolution(%r, %v, None, 2)\n"
                           " return %y\n}\n",
        1);
    /* f32 in tf32, of which tensor maps take four, is packed for a 1 x 1 convolution, too */
    becomes("graph(%x: f32[2, 8, 4, 6], %u: f32[12, 8, 3, 3], %v: f32[8, 12, 1, 1]) convolutions "
            "tf32 {\n" CONVOLUTION("a", "x", "u") " %r = relu(%a)\n %y = convolution(%r, %v)\n"
                                                  " return %y\n}\n",
            1);
    /* the gradient of a pool, which finds each window's place and puts an image there: %g, and the
     * places, hang together with the image that it is added to */
    becomes(POOLED " %e = pad(%d, [0, 0, 0, 0, 0, 0, 1, 0])\n %k = arange(0, 3)\n"
                   " %i = index(%e, [%k], dims=[2])\n"
                   " %s = sum(%i, [4, 5])\n %t = add(%s, %p)\n" CONVOLUTION("z", "t",
                                                                            "v") " return %z\n}\n",
            2);
    /* in one dimension, and in groups of eight channels */
    becomes("graph(%x: f16[2, 8, 9], %u: f16[16, 8, 3], %v: f16[8, 8, 3]) {\n"
            " %a = convolution(%x, %u, None, 1, 1, 1, False, 0, 1, 1)\n %r = exp(%a)\n"
            " %y = convolution(%r, %v, None, 1, 1, 1, False, 0, 2, 1)\n return %y\n}\n",
            1);
}

static void test_stays(void **state) {
    (void)state;
    /* one that nobody packs: the image of one tap whose pixels are whole units */
    becomes(
        "graph(%x: bf16[2, 8, 4, 6], %u: bf16[16, 8, 3, 3], %v: bf16[8, 16, 1, 1]) {\n" CONVOLUTION(
            "a", "x", "u") " %r = relu(%a)\n %y = convolution(%r, %v)\n"
                           " return %y\n}\n",
        0);
    /* an output in the user's order costs as much as is saved */
    becomes(FIRST CONVOLUTION("a", "x", "u") " %r = relu(%a)\n" CONVOLUTION(
                "y", "r", "v") " return %y, %r\n}\n",
            0);
    becomes(FIRST CONVOLUTION("a", "x", "u") " %y = relu(%a)\n return %y\n}\n", 0);
    /* and so does what else reads the gradient's image: %g is stored as it was */
    becomes(POOLED " %e = pad(%d, [0, 0, 0, 0, 0, 0, 1, 0])\n %s = sum(%e, [4, 5])\n"
                   " %q = sum(%s, [1])\n %z = flip(%s, [2])\n return %q, %z\n}\n",
            1);
    /* channels that no tensor map takes, f32, and one filter a group */
    becomes(
        "graph(%x: bf16[2, 8, 5, 6], %u: bf16[12, 8, 3, 3], %v: bf16[8, 12, 3, 3]) {\n" CONVOLUTION(
            "a", "x", "u") CONVOLUTION("y", "a", "v") " return %y\n}\n",
        0);
    becomes(
        "graph(%x: f32[2, 8, 5, 6], %u: f32[16, 8, 3, 3], %v: f32[8, 16, 3, 3]) {\n" CONVOLUTION(
            "a", "x", "u") CONVOLUTION("y", "a", "v") " return %y\n}\n",
        0);
    /* a weight's gradient in tf32 sums over pixels, and what takes batch statistics, or is read of
     * a concatenation, is made by who packs it */
    becomes("graph(%x: f32[2, 8, 4, 6], %u: f32[12, 8, 3, 3]) convolutions tf32 {\n" CONVOLUTION(
                "a", "x",
                "u") " %r = relu(%a)\n %v = view(%r, [2, 1, 12, 4, 6])\n %p = permute(%v, [2, 1, "
                     "0, 3, 4])\n %q = permute(%v, [1, 2, 0, 3, 4])\n"
                     " %y = convolve(%p, %q, [1, 1], [1, 1], [1, 1], False, [3, 3])\n"
                     " return %y\n}\n",
            0);
    becomes("graph(%x: f32[2, 8, 4, 6], %u: f32[12, 8, 3, 3], %v: f32[8, 12, 3, 3]) convolutions "
            "tf32 {\n" CONVOLUTION("a", "x", "u") " %r = batch_norm(%a, None, None, None, None, "
                                                  "True)\n" CONVOLUTION("y", "r",
                                                                        "v") " return %y\n}\n",
            0);
    becomes("graph(%x: f32[2, 8, 4, 6], %u: f32[12, 8, 3, 3], %v: f32[8, 20, 3, 3]) convolutions "
            "tf32 {\n" CONVOLUTION(
                "a", "x",
                "u") " %c = cat([%a, %x], 1)\n %r = relu(%c)\n" CONVOLUTION("y", "r",
                                                                            "v") " return %y\n}\n",
            0);
    becomes(
        "graph(%x: bf16[2, 8, 5, 6], %u: bf16[16, 8, 3, 3], %v: bf16[16, 1, 3, 3]) {\n" CONVOLUTION(
            "a", "x",
            "u") " %y = convolution(%a, %v, None, 1, 1, 1, False, 0, 16)\n return %y\n}\n",
        0);
    /* what the kernel of such a one makes of its result */
    becomes("graph(%x: bf16[2, 8, 5, 6], %u: bf16[16, 8, 3, 3], %v: bf16[16, 1, 3, 3], %w: "
            "bf16[8, 16, 3, 3]) {\n %a = convolution(%x, %u, None, 1, 1)\n"
            " %d = convolution(%a, %v, None, 1, 1, 1, False, 0, 16)\n %r = relu(%d)\n"
            " %y = convolution(%r, %w, None, 1, 1)\n return %y\n}\n",
            0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chains), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
