/* test_graph_slice_scans.c: which scans begin where they are read, which must not, and that no
 * value changes. */
#include "graph_test.h"

static void becomes(const char *inputs, const char *body, const char *want) {
    struct arena *a = arena_new();
    must_become(arena_printf(a, "graph(%s) {\n%s}\n", inputs, body), graph_slice_scans, want);
    arena_free(a);
}

/* Whole numbers: sums are the same in any order. */
#define X "%x: i64[5, 9]"

static void test_moves(void **state) {
    becomes(X, "%c = cumsum(%x, 1)\n%y = slice(%c, 1, 3, 8)\n%n = neg(%y)\nreturn %n\n",
            "slice slice sum cumsum add neg");
    becomes(X, "%c = cumsum(%x, -1)\n%y = slice(%c, -1, 1)\n%n = neg(%y)\nreturn %n\n",
            "slice slice sum cumsum add neg");
    becomes(X, "%c = cumsum(%x, 0)\n%y = slice(%c, 0, 2, 5, 2)\n%n = neg(%y)\nreturn %n\n",
            "slice slice sum cumsum add slice neg");
    becomes(X,
            "%c = cumsum(%x, 1)\n%y = slice(%c, 1, 4, 6)\n%z = slice(%c, 1, 2, 4)\n"
            "%s = sub(%y, %z)\nreturn %s\n",
            "slice slice sum cumsum add slice slice sub");
    becomes("%x: i64[9]", "%c = cumsum(%x, 0)\n%y = slice(%c, 0, 3)\nreturn %y\n",
            "slice slice sum cumsum add");
}

/* Sums of narrow floats are rounded once. */
static void test_narrow(void **state) {
    struct arena *a = arena_new();
    struct value in[MAX_TEST_VALUES];
    struct graph *g = graph_simplify(
        must_parse(a, "graph(%x: bf16[5, 9]) {\n%c = cumsum(%x, 1)\n%y = slice(%c, 1, 3)\n"
                      "%z = neg(%y)\nreturn %z\n}\n"));
    struct graph *to = graph_slice_scans(g);
    assert_string_equal(operators(to), "slice convert slice convert sum cumsum add convert neg");
    random_inputs(g, in);
    must_stay_near(g, to, in, 0.05); /* a step of bf16 at 8 */
    free_values(in, g->inputs.n);
    arena_free(a);
}

/* Others read it, or where it begins; it is cut along another axis; what is cut is no scan; the
 * slice itself is a result, whose rows are as far apart as the scan's. */
static void test_stays(void **state) {
    becomes(X, "%c = cumsum(%x, 1)\n%y = slice(%c, 1, 3)\n%n = neg(%y)\nreturn %n, %c\n",
            "cumsum slice neg");
    becomes(X,
            "%c = cumsum(%x, 1)\n%y = slice(%c, 1, 4, 8)\n%z = slice(%c, 1, 0, 4)\n"
            "%s = sub(%y, %z)\nreturn %s\n",
            "cumsum slice slice sub");
    becomes(X, "%c = cumsum(%x, 1)\n%y = slice(%c, 1, 0, 8)\n%n = neg(%y)\nreturn %n\n",
            "cumsum slice neg");
    becomes(X, "%c = cumsum(%x, 1)\n%y = slice(%c, 0, 2, 5)\n%n = neg(%y)\nreturn %n\n",
            "cumsum slice neg");
    becomes("%x: f32[5, 9]",
            "%c = cumprod(%x, 1)\n%y = slice(%c, 1, 2, 5)\n%n = neg(%y)\nreturn %n\n",
            "cumprod slice neg");
    becomes(X, "%c = cumsum(%x, 1)\n%y = slice(%c, 1, 3, 8)\nreturn %y\n", "cumsum slice");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_narrow),
                                       cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
