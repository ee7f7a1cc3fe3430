/* test_graph_reshaped.c: which results of products are stored as they are reshaped, which are not,
 * and that no value changes. */
#include "graph_test.h"

/* Of inputs; want: the operators that there are then. */
static void becomes(const char *body, const char *want) {
    struct arena *a = arena_new();
    must_become(arena_printf(a,
                             "graph(%%p: f32[6, 5, 7], %%v: f32[6, 7, 4], %%w: f32[12, 3], "
                             "%%u: f32[20, 3]) {\n%s}\n",
                             body),
                graph_store_reshaped, want);
    arena_free(a);
}

#define HEADS "%o = bmm(%p, %v)\n%h = view(%o, [2, 3, 5, 4])\n"

static void test_stored(void **state) {
    (void)state;
    becomes(HEADS "%t = permute(%h, [0, 2, 1, 3])\n%r = view(%t, [10, 12])\n%y = mm(%r, %w)\n"
                  "return %y\n",
            "bmm view permute convert view mm");
    /* read turned, and before it is reshaped */
    becomes(HEADS "%t = permute(%h, [0, 2, 1, 3])\n%r = view(%t, [10, 12])\n"
                  "%c = permute(%r, [1, 0])\n%y = mm(%c, %r)\n%s = sum(%h, [3])\n"
                  "return %y, %s\n",
            "bmm view permute convert permute view permute mm sum");
    /* what is computed, for all who read it so */
    becomes("%h = view(%v, [2, 3, 7, 4])\n%e = exp(%h)\n%t = permute(%e, [0, 2, 1, 3])\n"
            "%r = view(%t, [14, 12])\n%y = mm(%r, %w)\n%s = sum(%t, [3])\nreturn %y, %s\n",
            "view exp permute convert view mm sum");
}

static void test_stays(void **state) {
    (void)state;
    /* rows would be columns, elements a row apart */
    becomes(HEADS "%t = permute(%h, [0, 1, 3, 2])\n%r = view(%t, [6, 20])\n%y = mm(%r, %u)\n"
                  "return %y\n",
            "bmm view permute view mm");
    /* it is returned, in its own order */
    becomes(HEADS "%t = permute(%h, [0, 2, 1, 3])\n%r = view(%t, [10, 12])\n%y = mm(%r, %w)\n"
                  "return %y, %h\n",
            "bmm view permute view mm");
    /* nothing multiplies it, and no product has made it */
    becomes(HEADS "%t = permute(%h, [0, 2, 1, 3])\n%r = view(%t, [10, 12])\n%y = relu(%r)\n"
                  "return %y\n",
            "bmm view permute view relu");
    becomes("%h = view(%v, [2, 3, 7, 4])\n%t = permute(%h, [0, 2, 1, 3])\n"
            "%r = view(%t, [14, 12])\n%y = mm(%r, %w)\nreturn %y\n",
            "view permute view mm");
    /* others read it in its own order */
    becomes("%h = view(%v, [2, 3, 7, 4])\n%e = exp(%h)\n%t = permute(%e, [0, 2, 1, 3])\n"
            "%r = view(%t, [14, 12])\n%y = mm(%r, %w)\n%s = sum(%e, [3])\nreturn %y, %s\n",
            "view exp permute view mm sum");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stored), cmocka_unit_test(test_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
