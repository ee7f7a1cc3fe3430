/* Random streams against the published test vectors of Philox 4x32-10 (Random123's kat_vectors). */
#include "graph_test.h"

#include "graph/random.h"

static void check(uint32_t c, uint32_t k, const uint32_t want[4]) {
    uint32_t counter[4] = {c, c, c, c}, key[2] = {k, k}, out[4];
    philox(counter, key, out);
    assert_memory_equal(out, want, sizeof out);
}

static void test_known_answers(void **state) {
    check(0, 0, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check(0xffffffff, 0xffffffff, (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    uint32_t counter[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    uint32_t key[2] = {0xa4093822, 0x299f31d0}, out[4];
    uint32_t want[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    philox(counter, key, out);
    assert_memory_equal(out, want, sizeof out);
}

static void test_moments(void **state) {
    enum { N = 200000 };
    double u = 0, z = 0, zz = 0;
    for (int i = 0; i < N; i++) {
        double v = random_uniform(1, 2, (uint64_t)i), w = random_normal(1, 2, (uint64_t)i);
        assert_true(v >= 0 && v < 1 && (float)v == v);
        u += v, z += w, zz += w * w;
    }
    assert_true(fabs(u / N - 0.5) < 0.005);
    assert_true(fabs(z / N) < 0.01);
    assert_true(fabs(zz / N - 1) < 0.02);
}

static void test_streams_differ(void **state) {
    assert_true(random_uniform(0, 0, 5) == random_uniform(0, 0, 5));
    assert_true(random_uniform(0, 0, 5) != random_uniform(0, 1, 5));
    assert_true(random_uniform(0, 0, 5) != random_uniform(1, 0, 5));
    assert_true(random_uniform(0, 0, 5) != random_uniform(0, 0, 5 + (1ull << 32)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_streams_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
