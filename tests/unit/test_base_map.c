/* test_base_map.c: the map finds what was put, iterates in the order of insertion and copies its
 * keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"

static int setup(void **state) { return *state = arena_new(), 0; }
static int teardown(void **state) { return arena_free(*state), 0; }

static void test_put_get(void **state) {
    struct map m = map_new(*state);
    uint64_t v = 99;
    assert_false(map_gets(&m, "x", &v));
    assert_true(map_puts(&m, "x", 1));
    assert_true(map_puts(&m, "y", 2));
    assert_false(map_puts(&m, "x", 3)); /* not new */
    assert_int_equal(m.n, 2);
    assert_true(map_gets(&m, "x", &v));
    assert_int_equal(v, 3);
    assert_true(map_gets(&m, "y", &v));
    assert_int_equal(v, 2);
    assert_false(map_gets(&m, "z", &v));
    assert_int_equal(v, 2); /* a miss leaves it alone */
}

static void test_order_survives_growth(void **state) {
    struct map m = map_new(*state);
    char key[32];
    enum { N = 20000 };
    for (unsigned i = 0; i < N; i++) {
        int n = snprintf(key, sizeof key, "k%u", i * 7919 % N);
        assert_true(map_put(&m, key, (size_t)n, i));
    }
    assert_int_equal(m.n, N);
    for (unsigned i = 0; i < N; i++) {
        snprintf(key, sizeof key, "k%u", i * 7919 % N);
        assert_string_equal(m.entries[i].key, key);
        assert_int_equal(m.entries[i].value, i);
        uint64_t v;
        assert_true(map_gets(&m, key, &v));
        assert_int_equal(v, i);
    }
}

/* Keys are bytes: zeros inside, prefixes of each other and the empty key are all different. */
/* Of as many keys as there was room for, nothing is moved; behind them it grows on. */
static void test_room(void **state) {
    struct map m = map_new(*state);
    char key[32];
    enum { N = 1000 };
    map_reserve(&m, N);
    const struct map_entry *at = m.entries;
    size_t used = arena_used(*state);
    for (unsigned i = 0; i < 2 * N; i++) {
        snprintf(key, sizeof key, "k%u", i);
        if (i == N) assert_ptr_equal(m.entries, at);
        if (i == N) assert_true(arena_used(*state) - used <= N * 16); /* keys alone */
        assert_true(map_puts(&m, key, i));
    }
    map_reserve(&m, 1);
    for (unsigned i = 0; i < 2 * N; i++) {
        uint64_t v;
        snprintf(key, sizeof key, "k%u", i);
        assert_true(map_gets(&m, key, &v));
        assert_int_equal(v, i);
    }
}

static void test_binary_keys(void **state) {
    struct map m = map_new(*state);
    const char *bytes = "a\0b";
    for (size_t n = 0; n <= 3; n++) assert_true(map_put(&m, bytes, n, n));
    for (size_t n = 0; n <= 3; n++) {
        uint64_t v;
        assert_true(map_get(&m, bytes, n, &v));
        assert_int_equal(v, n);
        assert_int_equal(m.entries[n].len, n);
    }
    assert_false(map_get(&m, "a\0c", 3, &(uint64_t){0}));
}

static void test_keys_are_copied(void **state) {
    struct map m = map_new(*state);
    char key[] = "before";
    map_puts(&m, key, 1);
    strcpy(key, "after!");
    assert_true(map_gets(&m, "before", &(uint64_t){0}));
    assert_false(map_gets(&m, "after!", &(uint64_t){0}));
}

/* The store keys kernels by this hash: it may never change. The values are those of XXH3_64bits. */
static void test_hash_is_stable(void **state) {
    assert_int_equal(hash_bytes("", 0), 0x2d06800538d394c2u);
    assert_int_not_equal(hash_bytes("a", 1), hash_bytes("b", 1));
    assert_int_equal(hash_bytes("warpsmith", 9), 0x9c81459b52773001u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_get, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order_survives_growth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_binary_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keys_are_copied, setup, teardown),
        cmocka_unit_test(test_hash_is_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
