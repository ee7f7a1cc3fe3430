/* test_graph_wide_scores.c: which products of f16 and bf16 are summed up in f32, which are stored
 * as they are, and that what is beyond f16 has a softmax. */
#include "graph_test.h"

static void becomes(const char *body, const char *want) {
    for (int i = 0; i < 2; i++) {
        const char *type = i ? "bf16" : "f16";
        struct arena *a = arena_new();
        const char *text =
            arena_printf(a, "graph(%%x: %s[2, 3, 4], %%y: %s[2, 4, 3]) {\n%s}\n", type, type, body);
        struct graph *g = graph_widen_scores(must_parse(a, text));
        assert_true(graph_verify(g, true) == NULL);
        assert_string_equal(operators(g), want);
        arena_free(a);
    }
}

#define PRODUCT "%m = bmm(%x, %y)\n"
#define VIEW "%v = view(%m, [1, 2, 3, 3])\n"

static void test_widens(void **state) {
    becomes(PRODUCT "%c = convert(%m, dtype=f32)\n%e = exp(%c)\nreturn %e\n",
            "convert convert bmm exp");
    becomes(PRODUCT VIEW "%c = convert(%v, dtype=f32)\n%e = exp(%c)\n%n = neg(%c)\nreturn %e, %n\n",
            "convert convert bmm view exp neg");
}

/* It is read as it is, by an operator or whoever called; or rounded by the program. */
static void test_stays(void **state) {
    becomes(PRODUCT "%c = convert(%m, dtype=f32)\n%e = exp(%c)\nreturn %e, %m\n",
            "bmm convert exp");
    becomes(PRODUCT VIEW "%c = convert(%v, dtype=f32)\n%n = neg(%v)\nreturn %c, %n\n",
            "bmm view convert neg");
    becomes(PRODUCT "%c = to(%m, dtype=f32)\n%e = exp(%c)\nreturn %e\n", "bmm to exp");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_widens), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
