/* test_graph_views_last.c: which views of scans move behind what is computed on them, which must
 * not, and that no value changes. */
#include "graph_test.h"

static void becomes(const char *body, const char *want) {
    struct arena *a = arena_new();
    must_become(arena_printf(a, "graph(%%x: f32[3, 8, 5], %%w: f32[3, 2, 4, 5]) {\n%s}\n", body),
                graph_views_last, want);
    arena_free(a);
}

#define SCAN "%c = cumsum(%x, 1)\n"
#define SPLIT SCAN "%v = view(%c, [3, 2, 4, 5])\n"

static void test_moves(void **state) {
    becomes(SPLIT "%y = mul(%v, 0.5)\nreturn %y\n", "cumsum mul view");
    becomes(SPLIT "%m = mul(%v, %v)\n%y = exp(%m)\nreturn %y\n", "cumsum mul exp view");
    becomes(SCAN "%v = view(%c, [24, 5])\n%y = neg(%v)\nreturn %y\n", "cumsum neg view");
    becomes(SPLIT "%e = exp(%v)\n%y = mul(%e, %w)\nreturn %y\n", "cumsum exp view mul");
}

/* The axis stays one, or something else is combined with it at once. */
static void test_stays(void **state) {
    becomes(SCAN "%v = view(%c, [3, 8, 5, 1])\n%y = neg(%v)\nreturn %y\n", "cumsum view neg");
    becomes("%c = cumsum(%x, 2)\n%v = view(%c, [3, 2, 4, 5])\n%y = neg(%v)\nreturn %y\n",
            "cumsum view neg");
    becomes(SPLIT "%y = mul(%v, %w)\nreturn %y\n", "cumsum view mul");
    becomes("%c = relu(%x)\n%v = view(%c, [3, 2, 4, 5])\n%y = neg(%v)\nreturn %y\n",
            "relu view neg");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
