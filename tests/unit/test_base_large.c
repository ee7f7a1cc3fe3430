/* Memory for tensors: aligned, usable to the last byte, refused when absurd. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static void test_large(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 255, 4096, (4u << 20) - 1, 4u << 20, (9u << 20) + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = large_alloc(sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 256, 0);
        memset(p, 0x5a, sizes[i]);
        if (sizes[i]) assert_int_equal(p[sizes[i] - 1], 0x5a);
        free(p);
    }
    assert_null(large_alloc(SIZE_MAX));
    assert_null(large_alloc(SIZE_MAX / 2));
}

/* More than is left is refused, though the system would promise it. */
static void test_too_large(void **state) {
    size_t left = memory_available();
    if (left == SIZE_MAX) skip();
    assert_null(large_alloc(left + left / 8));
    void *p = large_alloc(left / 2);
    assert_non_null(p);
    free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_too_large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
