/* test_graph_turned.c: which products are computed the other way round, which must not, and that no
 * value changes. */
#include "graph_test.h"

/* Of inputs %a and %b; want: the operators that there are then. */
static void becomes(const char *inputs, const char *body, const char *want) {
    struct arena *a = arena_new();
    must_become(arena_printf(a, "graph(%s) {\n%s}\n", inputs, body), graph_turn_products, want);
    arena_free(a);
}

static const char *const batches = "%a: f32[6, 5, 7], %b: f32[6, 7, 9]";

static void test_reduced(void **state) {
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = sum(%p, [0], True)\nreturn %r\n",
            "permute permute bmm sum");
    becomes(batches,
            "%x = bmm(%a, %b)\n%v = view(%x, [3, 2, 5, 9])\n%p = permute(%v, [0, 1, 3, 2])\n"
            "%r = sum(%p, [1])\nreturn %r\n",
            "permute permute bmm view sum");
    becomes("%a: f32[5, 7], %b: f32[7, 9]",
            "%x = mm(%a, %b)\n%p = permute(%x, [1, 0])\n%r = amax(%p, 0)\nreturn %r\n",
            "permute permute mm amax");
    /* what reads it reduces, and both do */
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = sum(%p, [0])\n"
            "%m = amax(%p, 1)\nreturn %r, %m\n",
            "permute permute bmm sum amax");
    (void)state;
}

static void test_stays(void **state) {
    becomes(batches, "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\nreturn %p\n", "bmm permute");
    becomes(batches, "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = exp(%p)\nreturn %r\n",
            "bmm permute exp");
    /* someone takes the product as it is */
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = sum(%p, [0])\nreturn %r, %x\n",
            "bmm permute sum");
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [0, 2, 1])\n%r = sum(%p, [0])\n%e = exp(%p)\n"
            "return %r, %e\n",
            "bmm permute sum exp");
    /* other dimensions, and rows that are no longer those of the product */
    becomes(batches,
            "%x = bmm(%a, %b)\n%p = permute(%x, [2, 1, 0])\n%r = sum(%p, [0])\nreturn %r\n",
            "bmm permute sum");
    becomes(batches,
            "%x = bmm(%a, %b)\n%v = view(%x, [3, 10, 9])\n%p = permute(%v, [0, 2, 1])\n"
            "%r = sum(%p, [0])\nreturn %r\n",
            "bmm view permute sum");
    (void)state;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reduced),
                                       cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
