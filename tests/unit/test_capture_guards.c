/* test_capture_guards.c: a guard says whether a tensor is like the one at capture, and if not, why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "capture/capture.h"

struct fixture {
    struct arena *arena;
    struct exprs *ex;
};

static struct meta tensor(const struct fixture *f, enum dtype dtype, int rank,
                          const int64_t *size) {
    struct meta m = {.dtype = dtype, .rank = (uint8_t)rank};
    for (int i = 0; i < rank; i++) m.size[i] = ex_const(f->ex, size[i]);
    meta_contiguous(f->ex, &m);
    return m;
}

static const char *check(const struct fixture *f, struct meta then, struct meta now) {
    return guard_check(f->arena, f->ex, "L['x']", &then, &now);
}

static void test_guard_check(void **state) {
    struct fixture f = {.arena = arena_new()};
    f.ex = exprs_new(f.arena);
    struct meta m = tensor(&f, DT_F32, 2, (int64_t[]){3, 8});
    assert_null(check(&f, m, m));
    assert_null(check(&f, m, tensor(&f, DT_F32, 2, (int64_t[]){3, 8})));
    assert_string_equal(check(&f, m, tensor(&f, DT_F32, 2, (int64_t[]){4, 8})),
                        "L['x']: size mismatch at index 0: expected 3, actual 4");
    assert_string_equal(check(&f, m, tensor(&f, DT_BF16, 2, (int64_t[]){3, 8})),
                        "L['x']: dtype mismatch: expected f32, actual bf16");
    assert_string_equal(check(&f, m, tensor(&f, DT_F32, 1, (int64_t[]){3})),
                        "L['x']: rank mismatch: expected 2, actual 1");
    struct meta turned = m;
    turned.stride[0] = ex_const(f.ex, 1);
    turned.stride[1] = ex_const(f.ex, 3);
    assert_string_equal(check(&f, m, turned),
                        "L['x']: stride mismatch at index 0: expected 8, actual 1");
    arena_free(f.arena);
}

/* A size that is a symbol equals itself and no number. */
static void test_symbolic(void **state) {
    struct fixture f = {.arena = arena_new()};
    f.ex = exprs_new(f.arena);
    struct meta m = tensor(&f, DT_F32, 1, (int64_t[]){3}), s = m;
    s.size[0] = ex_size(f.ex, "s0", 2, 3);
    assert_null(check(&f, s, s));
    assert_string_equal(check(&f, s, m), "L['x']: size mismatch at index 0: expected s0, actual 3");
    arena_free(f.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_guard_check),
                                       cmocka_unit_test(test_symbolic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
