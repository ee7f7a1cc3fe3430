/* test_graph_scans_last.c: which scans move behind a concatenation, which must not, and that no
 * value changes. */
#include "graph_test.h"

static void becomes(const char *inputs, const char *body, const char *want) {
    struct arena *a = arena_new();
    must_become(arena_printf(a, "graph(%s) {\n%s}\n", inputs, body), graph_scans_last, want);
    arena_free(a);
}

#define X "%x: f32[5, 9]"
#define ZEROS "%z = full([5, 1], 0.0)\n"

static void test_moves(void **state) {
    becomes(X, ZEROS "%c = cumsum(%x, 1)\n%y = cat([%z, %c], 1)\nreturn %y\n", "full cat cumsum");
    becomes(X,
            ZEROS "%n = slice(%x, 1, 0, 8)\n%c = cumsum(%n, 1)\n%y = cat([%z, %c], -1)\n"
                  "%e = exp(%y)\nreturn %e\n",
            "full slice cat cumsum exp");
    becomes(X, "%o = full([5, 2], 1.0)\n%c = cumprod(%x, 1)\n%y = cat([%o, %c], 1)\nreturn %y\n",
            "full cat cumprod");
    becomes(X, ZEROS "%c = cumsum(%x, 1)\n%y = cat([%z, %z, %c], 1)\nreturn %y\n",
            "full cat cumsum");
    becomes("%x: i32[5, 9]",
            "%z = full([5, 1], 0)\n%c = cumsum(%x, 1)\n%y = cat([%z, %c], 1)\nreturn %y\n",
            "full convert cat cumsum");
}

/* Others read it, it stands elsewhere, goes along another axis, or begins with other numbers. */
static void test_stays(void **state) {
    becomes(X, ZEROS "%c = cumsum(%x, 1)\n%y = cat([%z, %c], 1)\nreturn %y, %c\n",
            "full cumsum cat");
    becomes(X, ZEROS "%c = cumsum(%x, 1)\n%y = cat([%c, %z], 1)\nreturn %y\n", "full cumsum cat");
    becomes(X, ZEROS "%c = cumsum(%x, 0)\n%y = cat([%z, %c], 1)\nreturn %y\n", "full cumsum cat");
    becomes(X, ZEROS "%c = cumprod(%x, 1)\n%y = cat([%z, %c], 1)\nreturn %y\n", "full cumprod cat");
    becomes(X, "%o = full([5, 1], 1.0)\n%c = cumsum(%x, 1)\n%y = cat([%o, %c], 1)\nreturn %y\n",
            "full cumsum cat");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
