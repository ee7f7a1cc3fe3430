/* test_graph_land_first.c: which scans follow what lands, which must not, and that no value
 * changes. */
#include "graph_test.h"

static void becomes(const char *inputs, const char *body, const char *want) {
    struct arena *a = arena_new();
    struct value in[MAX_TEST_VALUES];
    struct graph *g =
        graph_simplify(must_parse(a, arena_printf(a, "graph(%s) {\n%s}\n", inputs, body)));
    struct graph *to = graph_land_first(g);
    const char *why = graph_verify(to, false);
    if (why) fail_msg("%s\n%s", why, printed(to));
    if (strcmp(operators(to), want))
        fail_msg("'%s', expected '%s' of\n%s", operators(to), want, printed(g));
    random_inputs(g, in);
    must_stay_near(g, to, in, 1e-9);
    free_values(in, g->inputs.n);
    arena_free(a);
}

#define X "%x: f32[5, 9, 3], %i: i64[9]"
#define INDEX "%j = remainder(%i, 2)\n"
#define ZEROS "%z = zeros([5, 2, 3], f32)\n"

static void test_moves(void **state) {
    becomes(X,
            INDEX ZEROS "%c = cumsum(%x, 0)\n%y = index_add(%z, 1, %j, %c)\n%e = exp(%y)\n"
                        "return %e\n",
            "remainder zeros index_add cumsum exp");
    becomes(X, INDEX ZEROS "%c = cumsum(%x, -1)\n%y = index_add(%z, -2, %j, %c)\nreturn %y\n",
            "remainder zeros index_add cumsum");
    becomes(X,
            INDEX "%z = full([5, 9, 3], 0.0)\n%c = cumsum(%x, 2)\n"
                  "%y = index_add(%z, 1, %j, %c)\nreturn %y\n",
            "remainder full index_add cumsum");
}

/* Along the same axis, to more rows, beside something, weighted, in 16 bits; or others read it. */
static void test_stays(void **state) {
    becomes(X, INDEX ZEROS "%c = cumsum(%x, 1)\n%y = index_add(%z, 1, %j, %c)\nreturn %y\n",
            "remainder zeros cumsum index_add");
    becomes(X,
            INDEX "%z = zeros([5, 10, 3], f32)\n%c = cumsum(%x, 0)\n"
                  "%y = index_add(%z, 1, %j, %c)\nreturn %y\n",
            "remainder zeros cumsum index_add");
    becomes(X,
            INDEX "%z = full([5, 2, 3], 1.0)\n%c = cumsum(%x, 0)\n"
                  "%y = index_add(%z, 1, %j, %c)\nreturn %y\n",
            "remainder full cumsum index_add");
    becomes(X, INDEX ZEROS "%c = cumsum(%x, 0)\n%y = index_add(%z, 1, %j, %c, 0.5)\nreturn %y\n",
            "remainder zeros cumsum index_add");
    becomes(X, INDEX ZEROS "%c = cumsum(%x, 0)\n%y = index_add(%z, 1, %j, %c)\nreturn %y, %c\n",
            "remainder zeros cumsum index_add");
    becomes("%x: bf16[5, 9, 3], %i: i64[9]",
            INDEX "%z = zeros([5, 2, 3], bf16)\n%c = cumsum(%x, 0)\n"
                  "%y = index_add(%z, 1, %j, %c)\nreturn %y\n",
            "remainder zeros cumsum index_add");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
