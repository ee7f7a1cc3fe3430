/* test_loop_in_turn.c: what every program reads once more, as reductions of more than the chip
 * holds are there before what reads them. */
#include "lower_test.h"

struct test {
    const char *text;
    double on_chip, again; /* bytes */
};

static void check(const struct test *t) {
    struct arena *a = arena_new();
    double again = loops_bytes_again(must_lower(a, t->text, ""), t->on_chip, a);
    if (again != t->again) fail_msg("%s\n%g bytes, expected %g", t->text, again, t->again);
    arena_free(a);
}

static void test_in_turn(void **state) {
    static const struct test tests[] = {
        /* a norm of all: what the chip does not hold */
        {"graph(%x: f32[1024]) {\n %q = mul(%x, %x)\n %s = sum(%q, 0, True)\n %y = mul(%x, %s)\n "
         "return %y\n}\n",
         1024, 3072},
        {"graph(%x: f32[1024]) {\n %q = mul(%x, %x)\n %s = sum(%q, 0, True)\n %y = mul(%x, %s)\n "
         "return %y\n}\n",
         4096, 0},
        /* rows that it holds; columns, of which a line of memory has sixteen */
        {"graph(%x: f32[1024, 256]) {\n %s = sum(%x, 1, True)\n %y = mul(%x, %s)\n return %y\n}\n",
         1024, 0},
        {"graph(%x: f32[1024, 256]) {\n %s = sum(%x, 0, True)\n %y = mul(%x, %s)\n return %y\n}\n",
         32768, 524288},
        {"graph(%x: f32[1024, 256]) {\n %s = sum(%x, 0, True)\n %y = mul(%x, %s)\n return %y\n}\n",
         65536, 0},
        /* another input is read for the first time; and a sum alone is read by nobody */
        {"graph(%x: f32[1024], %z: f32[1024]) {\n %s = sum(%x, 0, True)\n %y = mul(%z, %s)\n "
         "return %y\n}\n",
         1024, 0},
        {"graph(%x: f32[1024]) {\n %s = sum(%x)\n return %s, %x\n}\n", 1024, 0},
        /* something smaller that was made of it */
        {"graph(%x: f32[1024]) {\n %g = gt(%x, 0)\n %s = sum(%x, 0, True)\n %y = where(%g, %s, 0)\n"
         " return %y\n}\n",
         0, 1024},
        /* one behind the other: a pass for each */
        {"graph(%x: f32[1024]) {\n %s = sum(%x, 0, True)\n %d = sub(%x, %s)\n %m = amax(%d, 0, "
         "True)\n %y = mul(%d, %m)\n return %y\n}\n",
         2048, 4096},
        /* in two steps: of a row, then of all rows */
        {"graph(%x: f32[32, 32]) {\n %r = amax(%x, 1)\n %s = sum(%r)\n %y = mul(%x, %s)\n return "
         "%y\n}\n",
         2048, 2048},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) check(&tests[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
