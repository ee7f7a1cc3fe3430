/* test_base_budget.c: a budget ends at the first charge too many, by leaving or by saying so, and
 * whatever is allocated in an arena is charged before it is. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static struct budget with(double seconds, size_t memory) {
    struct budget_limits l = {.seconds = seconds, .memory = memory};
    return budget_new(&l);
}

static void test_memory(void **state) {
    struct arena *a = arena_new();
    struct budget b = with(0, 1000);
    assert_true(budget_memory(&b, 1000));
    assert_false(budget_memory(&b, 1));
    assert_false(budget_memory(&b, 0));
    assert_false(budget_step(&b, 1));
    assert_int_equal(b.end, BUDGET_OUT_OF_MEMORY);
    assert_non_null(strstr(budget_message(&b, a), "--limit-memory"));
    b = with(0, SIZE_MAX);
    assert_true(budget_memory(&b, SIZE_MAX));
    assert_false(budget_memory(&b, SIZE_MAX)); /* no sum is too large to be counted */
    b = with(0, 0);
    assert_true(budget_memory(&b, (size_t)1 << 60));
    assert_true(budget_memory(NULL, SIZE_MAX));
    arena_free(a);
}

static void test_time(void **state) {
    struct arena *a = arena_new();
    struct budget b = with(0.01, 0);
    uint64_t n = 0;
    while (budget_step(&b, 1)) n++;
    assert_true(n > 0);
    assert_true(budget_seconds(&b) >= 0.01);
    assert_int_equal(b.end, BUDGET_OUT_OF_TIME);
    assert_non_null(strstr(budget_message(&b, a), "stopped after 0.01 s"));
    b = with(0, 0);
    assert_true(budget_step(&b, UINT64_MAX));
    assert_true(budget_step(NULL, 1));
    assert_false(budget_is_over(&b));
    assert_false(budget_is_over(NULL));
    b = with(10, 0);
    assert_false(budget_is_over(&b));
    arena_free(a);
}

/* Who helps sees the time of the one that began, not its own. */
static void *work_for(void *budget) {
    while (!budget_is_over(budget)) continue;
    return NULL;
}
static void test_time_of_another(void **state) {
    struct budget b = with(0.05, 0);
    pthread_t helper;
    assert_int_equal(pthread_create(&helper, NULL, work_for, &b), 0);
    while (budget_seconds(&b) < 0.06) continue;
    assert_int_equal(pthread_join(helper, NULL), 0);
    assert_int_equal(b.end, BUDGET_LASTS);
    assert_false(budget_step(&b, UINT64_MAX));
}

static bool asked(void) { return true; }

static void test_stopped(void **state) {
    struct budget_limits l = {.stopped = asked};
    struct budget b = budget_new(&l);
    assert_true(budget_step(&b, 1)); /* nobody has looked yet */
    assert_true(budget_is_over(&b));
    assert_false(budget_step(&b, UINT64_MAX));
    assert_int_equal(b.end, BUDGET_STOPPED);
}

static void leave(void *ctx) { longjmp(*(jmp_buf *)ctx, 1); }

static void allocate_too_much(size_t n) {
    struct arena *a = arena_new();
    struct budget b = with(0, 1 << 20);
    jmp_buf out;
    b.leave = leave, b.ctx = &out;
    arena_charge(a, &b);
    arena_alloc(a, 100);
    if (!setjmp(out)) {
        arena_alloc(a, n);
        fail_msg("%zu bytes were allocated", n);
    }
    assert_true(arena_used(a) < 1000);
    assert_non_null(arena_strdup(a, budget_message(&b, a))); /* nobody leaves twice */
    arena_charge(a, NULL);
    arena_alloc(a, 2 << 20);
    arena_free(a);
}

/* An arena that is charged allocates nothing that is too much, however large. */
static void test_arena(void **state) {
    static const size_t too_much[] = {1 << 20, (size_t)1 << 40, SIZE_MAX - 15, SIZE_MAX};
    for (size_t i = 0; i < sizeof too_much / sizeof *too_much; i++) allocate_too_much(too_much[i]);
}

/* So does a loop that does nothing but allocate, in time. */
static void test_arena_steps(void **state) {
    struct arena *a = arena_new();
    struct budget b = with(0.005, 0);
    jmp_buf out;
    b.leave = leave, b.ctx = &out;
    arena_charge(a, &b);
    if (!setjmp(out))
        for (;;) arena_alloc(a, 1);
    assert_int_equal(b.end, BUDGET_OUT_OF_TIME);
    arena_free(a);
}

static int down(struct budget *b, int n) {
    volatile char frame[1000];
    frame[n % 1000] = 1;
    if (budget_deep(b) || n > 10000000) return n;
    return down(b, n + 1) + (frame[n % 1000] - 1);
}

static void test_depth(void **state) {
    struct budget b = with(0, 0);
    assert_false(budget_deep(&b));
    assert_in_range(down(&b, 0), 100, 1000000);
    assert_false(budget_deep(&b));
    assert_false(budget_deep(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),          cmocka_unit_test(test_time),
        cmocka_unit_test(test_time_of_another), cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_arena),           cmocka_unit_test(test_arena_steps),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
