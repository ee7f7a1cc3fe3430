/* test_compile_parts.c: a kernel's text has in front of it what it uses of its prelude, all of it
 * and nothing else. That what is left compiles, the tests that compile kernels say. */
#include "emit/emit.h"
#include "lower_test.h"

static struct arena *a;

static int set_up(void **state) {
    (void)state;
    a = arena_new();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_free(a);
    return 0;
}

static bool has(bool cuda, const char *text, const char *part) {
    return strstr(prelude_parts(a, cuda, text), part) != NULL;
}

static void test_uses(void **state) {
    (void)state;
    assert_true(has(true, "k_sin(x)", "double k_sin(double"));
    assert_true(has(true, "k_sin(x)", "float k_sin(float")); /* every overload */
    assert_false(has(true, "k_sin(x)", "k_tanh("));
    assert_true(has(true, "k_load<k_f32, 4>(p)", "void k_load_words(")); /* what it calls */
    assert_true(has(true, "k_load<k_f32, 4>(p)", "#define K_LOAD_WORDS"));
    assert_true(has(true, "k_skip(K_SKIP_L1)", "enum { K_SKIP_L1")); /* by a constant */
    assert_true(has(false, "k_bf16 x;", "typedef unsigned short k_bf16, k_f16;")); /* of two */
    assert_false(has(false, "float x; long y;", "typedef")); /* what it is made of is no name */
    assert_false(has(true, "/* k_sin */ \"k_sin\"", "k_sin"));
}

/* A text that uses nothing has the includes alone. */
static void test_nothing(void **state) {
    (void)state;
    assert_string_equal(prelude_parts(a, true, "x"), "");
    assert_string_equal(prelude_parts(a, false, "x"),
                        "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
                        "#include <string.h>\n");
}

/* Names made of pieces: k_shift_left is K_INT2's, which calls k_##name##_l, which K_INTEGER makes.
 */
static void test_pasted(void **state) {
    (void)state;
    assert_true(has(false, "k_shift_left(x, y)", "\nK_INTEGER(long long, l)\n"));
    assert_true(has(false, "k_asin(x)", "\nK_EACH1(asin, asinf)\n"));
    assert_false(has(false, "k_asin(x)", "\nK_EACH1(acos, acosf)\n"));
    assert_true(has(false, "k_fold_amax(x)", "\nK_FOLD(k_fold_amax, k_max)\n"));
    assert_true(has(false, "k_pair_i64 x;", "\nK_PAIR(i64, long long)\n"));
    assert_false(has(false, "k_pair_i64 x;", "\nK_PAIR(f32, float)\n"));
}

/* In the order of the prelude, each once: asked with all of it, it is all there. */
static void test_all(void **state) {
    (void)state;
    const char *whole = prelude_parts(a, false, prelude_c);
    assert_string_equal(prelude_parts(a, false, whole), whole);
    assert_non_null(strstr(whole, "\nK_BEST(argmin, <, k_inf())\n"));
    const char *f = strstr(whole, "typedef float k_f32;"),
               *v = strstr(whole, "\ntypedef float k_v ");
    assert_true(f && v && f < v);
}

int main(void) {
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(test_uses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pasted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all, set_up, tear_down),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
