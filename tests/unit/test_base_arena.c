/* test_base_arena.c: memory from an arena is zeroed, aligned and stays where it is; vectors and
 * buffers grow in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static void test_alloc(void **state) {
    struct arena *a = arena_new();
    unsigned char *previous = NULL;
    for (size_t n = 0; n < 300; n++) {
        unsigned char *p = arena_alloc(a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_ptr_not_equal(p, previous);
        for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
        memset(p, 0xab, n);
        previous = p;
    }
    arena_free(a);
}

/* Blocks that need chunks of their own do not disturb what came before. */
static void test_large(void **state) {
    struct arena *a = arena_new();
    char *small = arena_strdup(a, "still here");
    for (size_t n = 1 << 12; n <= 1 << 22; n <<= 1) {
        unsigned char *p = arena_alloc(a, n);
        assert_int_equal(p[0] | p[n / 2] | p[n - 1], 0);
        memset(p, 0xff, n);
    }
    assert_string_equal(small, "still here");
    arena_free(a);
}

/* MB in memory; 0: the system does not say. */
static long resident(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    long all, now = 0;
    if (!f) return 0;
    if (fscanf(f, "%ld %ld", &all, &now) != 2) now = 0;
    fclose(f);
    return now * sysconf(_SC_PAGESIZE) >> 20;
}

/* What is freed is the system's again: stages whose scratch is tens of megabytes follow each
 * other. */
static void test_given_back(void **state) {
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it keeps what is freed for a while */
#endif
    enum { MB = 1 << 20, BYTES = 6 * MB, LEFT = 2 };
    long before = resident();
    for (int i = 0; i < 3; i++) {
        struct arena *a = arena_new(), *small = arena_within(a);
        memset(arena_alloc(a, BYTES), 1, BYTES);
        arena_alloc(small, 1000);
        assert_true(resident() >= before + BYTES / MB - LEFT || !before);
        arena_free(a);
        assert_true(resident() <= before + LEFT);
    }
}

/* Those within another one end with it, or before, in any order; a leak would be found by the
 * sanitizers. */
static void test_within(void **state) {
    struct arena *a = arena_new(), *inner[3];
    for (int i = 0; i < 3; i++) inner[i] = arena_within(a);
    struct arena *deep = arena_within(inner[2]);
    char *text = arena_strdup(deep, "deep");
    arena_free(inner[1]);
    assert_true(arena_owns(deep, text));
    assert_false(arena_owns(a, text));
    arena_free(inner[0]);
    assert_string_equal(text, "deep");
    arena_free(a);
}

static void test_used(void **state) {
    struct arena *a = arena_new();
    assert_int_equal(arena_used(a), 0);
    arena_alloc(a, 100);
    size_t before = arena_used(a);
    assert_in_range(before, 100, 112);
    arena_alloc(a, 1 << 20);
    assert_int_equal(arena_used(a), before + (1 << 20));
    arena_free(a);
    arena_free(NULL);
}

static void test_strings(void **state) {
    struct arena *a = arena_new();
    assert_string_equal(arena_strndup(a, "softmax", 4), "soft");
    assert_string_equal(arena_strndup(a, "", 0), "");
    assert_string_equal(arena_printf(a, "%s_%d", "buf", 7), "buf_7");
    assert_string_equal(arena_printf(a, "%s", ""), "");
    char *wide = arena_printf(a, "%*d", 100000, 1);
    assert_int_equal(strlen(wide), 100000);
    assert_int_equal(wide[99999], '1');
    arena_free(a);
}

static void test_vec(void **state) {
    struct arena *a = arena_new();
    VEC(int64_t) xs = {0};
    for (int64_t i = 0; i < 10000; i++) vec_push(a, &xs, i * i);
    assert_int_equal(xs.n, 10000);
    for (int64_t i = 0; i < 10000; i++) assert_int_equal(xs.at[i], i * i);
    assert_int_equal(vec_last(&xs), 9999 * 9999);
    arena_free(a);
}

static void test_buf(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    assert_string_equal(b.p, "");
    buf_indent(&b, 2);
    buf_puts(&b, "tmp0 = ");
    buf_printf(&b, "load(%s, %d)", "arg0", 3);
    buf_putc(&b, ';');
    assert_string_equal(b.p, "        tmp0 = load(arg0, 3);");
    assert_int_equal(b.n, strlen(b.p));
    struct buf many = buf_new(a);
    for (int i = 0; i < 5000; i++) buf_printf(&many, "%04d", i);
    assert_int_equal(many.n, 20000);
    assert_memory_equal(many.p + 4 * 1234, "12341235", 8);
    buf_write(&many, "\0x", 2); /* zero bytes count */
    assert_int_equal(many.n, 20002);
    arena_free(a);
}

static void test_wrap(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    buf_wrap(&b, "short\n\n  kernel_of_a_long_name  x=1  12 us\nno_blank_at_all_in_it\n  end  ",
             20);
    assert_string_equal(b.p, "short\n\n  kernel_of_a_long_name\n      x=1  12 us\n"
                             "no_blank_at_all_in_it\n  end  ");
    b = buf_new(a);
    buf_wrap(&b, "compiled 15: 1.88 s, waited 0.41 s; total 9.55 s", 20);
    assert_string_equal(b.p, "compiled 15: 1.88 s,\n    waited 0.41 s;\n    total 9.55 s");
    b = buf_new(a);
    buf_wrap(&b, "to the last word", 11);
    assert_string_equal(b.p, "to the last\n    word");
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),      cmocka_unit_test(test_large),
        cmocka_unit_test(test_used),       cmocka_unit_test(test_strings),
        cmocka_unit_test(test_vec),        cmocka_unit_test(test_buf),
        cmocka_unit_test(test_wrap),       cmocka_unit_test(test_within),
        cmocka_unit_test(test_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
