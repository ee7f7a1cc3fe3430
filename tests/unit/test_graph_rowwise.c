/* test_graph_rowwise.c: which outputs have a row for each row of an input, made of that row alone.
 */
#include "graph_test.h"

/* Is it proved, if inputs whose names begin with 'r' have the rows? */
static bool is_rowwise(const char *text) {
    struct arena *a = arena_new();
    struct graph *g = graph_decompose(must_parse(a, text));
    bool *rows = NEW_ARRAY(a, bool, g->inputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) rows[i] = g->nodes.at[i].name[0] == 'r';
    bool yes = graph_is_rowwise(g, rows);
    arena_free(a);
    return yes;
}

static const char *const own[] = {
    "graph(%r: f32[8, 4]) {\n %y = softmax(%r, 1)\n return %y\n}\n",
    "graph(%r: f32[8, 4], %w: f32[4]) {\n %y = layer_norm(%r, [4], %w)\n return %y\n}\n",
    "graph(%r: f32[8, 4], %w: f32[1, 4]) {\n %y = mul(%r, %w)\n return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %y = sum(%r, 1)\n return %y\n}\n",
    "graph(%r: f32[8, 4], %w: f32[6, 4], %b: f32[6]) {\n %y = linear(%r, %w, %b)\n return %y\n}\n",
    "graph(%r: f32[8, 2, 4], %w: f32[4, 3]) {\n %y = matmul(%r, %w)\n return %y\n}\n",
    "graph(%r: i64[8], %t: f32[10, 4]) {\n %y = embedding(%r, %t)\n return %y\n}\n",
    "graph(%r: i64[8]) {\n %y = one_hot(%r, 5)\n return %y\n}\n",
    "graph(%r: f32[8, 4], %r2: i64[8, 1]) {\n %y = gather(%r, 1, %r2)\n return %y\n}\n",
    "graph(%r: f32[8, 4], %r2: i64[8]) {\n %y = cross_entropy(%r, %r2, reduction='none')\n"
    " return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %a = slice(%r, 1, 0, 2)\n %b = flip(%a, [1])\n"
    " %c = cat([%a, %b], 1)\n %d = unsqueeze(%c, 1)\n return %d\n}\n",
    "graph(%r: f32[8, 6]) {\n %a = view(%r, [8, 2, 3])\n %b = permute(%a, [0, 2, 1])\n"
    " return %b\n}\n",
    "graph(%r: f32[8, 6]) {\n %y = cumsum(%r, 1)\n return %y\n}\n",
    "graph(%r: f32[8, 4], %x: f32[4]) {\n %e = expand(%x, [8, 4])\n %y = add(%r, %e)\n"
    " return %y\n}\n",
};

static const char *const mixed[] = {
    "graph(%r: f32[8, 4]) {\n %y = softmax(%r, 0)\n return %y\n}\n",
    "graph(%r: f32[8, 4], %w: f32[8, 4]) {\n %y = mul(%r, %w)\n return %y\n}\n",
    "graph(%r: f32[8], %w: f32[3, 8]) {\n %y = mul(%r, %w)\n return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %y = sum(%r)\n return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %y = sum(%r, 0)\n return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %y = cumsum(%r, 0)\n return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %y = flip(%r, [0])\n return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %y = slice(%r, 0, 2, 8)\n return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %y = view(%r, [4, 8])\n return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %y = permute(%r, [1, 0])\n return %y\n}\n",
    "graph(%r: f32[8, 4]) {\n %y = unsqueeze(%r, 0)\n return %y\n}\n",
    "graph(%r: f32[8, 8], %w: f32[8, 8]) {\n %y = mm(%w, %r)\n return %y\n}\n",
    "graph(%r: f32[8, 4], %x: f32[2, 4]) {\n %y = cat([%r, %x], 0)\n return %y\n}\n",
    "graph(%r: f32[8, 4], %i: i64[3]) {\n %y = index_select(%r, 0, %i)\n return %y\n}\n",
    /* nothing of the rows is in it */
    "graph(%r: f32[8, 4], %x: f32[8, 4]) {\n %y = mul(%x, 2)\n return %y\n}\n",
};

static void test_own_rows(void **state) {
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!is_rowwise(own[i])) fail_msg("not proved:\n%s", own[i]);
}

static void test_mixed_rows(void **state) {
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++)
        if (is_rowwise(mixed[i])) fail_msg("wrongly proved:\n%s", mixed[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_rows),
        cmocka_unit_test(test_mixed_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
