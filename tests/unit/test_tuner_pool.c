/* test_tuner_pool.c: in which order texts are compiled. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/vtable.h"
#include "tuner/compile_pool.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static char order[16];
static int n;

/* The first one waits until all have been added. */
static void noting_compile(struct toolchain *t, const char *name, const char *source, bool want_ptx,
                           struct compiled *out) {
    pthread_mutex_lock(&gate);
    order[n++] = *source;
    pthread_mutex_unlock(&gate);
    out->ok = true;
}

static const struct toolchain_ops ops = {.compile = noting_compile};

static void test_first(void **state) {
    static const char *const later[] = {"b", "c", "d"}, *const sooner[] = {"y", "x"};
    struct toolchain cc = {.ops = &ops, .version = "", .settings = ""};
    struct compile_job *jobs[7];
    int k = 0;
    pthread_mutex_lock(&gate);
    struct compile_pool *p = compile_pool_start(&cc, 1);
    assert_non_null(p);
    jobs[k++] = compile_pool_add(p, "", "a", false);
    for (int i = 0; i < 3; i++) jobs[k++] = compile_pool_add(p, "", later[i], false);
    for (int i = 0; i < 2; i++) jobs[k++] = compile_pool_add_first(p, "", sooner[i]);
    jobs[k++] = compile_pool_add(p, "", "e", false);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < k; i++) assert_true(compile_pool_wait(p, jobs[i]).ok);
    compile_pool_stop(p);
    /* "a" may have been begun before the others were there. */
    assert_true(!strcmp(order, "ayxbcde") || !strcmp(order, "yxabcde"));
}

/* Who was asked for first of nobody's is the last, too: what is added behind is not lost. */
static void test_first_of_none(void **state) {
    struct toolchain cc = {.ops = &ops, .version = "", .settings = ""};
    struct compile_pool *p = compile_pool_start(&cc, 1);
    for (int i = 0; i < 50; i++) {
        n = 0;
        struct compile_job *x = compile_pool_add_first(p, "", "x");
        struct compile_job *y = compile_pool_add(p, "", "y", false);
        assert_true(compile_pool_wait(p, y).ok);
        assert_true(compile_pool_wait(p, x).ok);
    }
    compile_pool_stop(p);
}

static pthread_barrier_t all_at_work, done;

static void waiting_compile(struct toolchain *t, const char *name, const char *source,
                            bool want_ptx, struct compiled *out) {
    out->ok = true;
    if (*source == 'x') return;
    pthread_barrier_wait(&all_at_work);
    pthread_barrier_wait(&done);
}

/* What is first does not wait for others that have begun, however long these take. */
static void test_first_beside_others(void **state) {
    enum { THREADS = 2 };
    static const struct toolchain_ops waiting = {.compile = waiting_compile};
    struct toolchain cc = {.ops = &waiting, .version = "", .settings = ""};
    struct compile_pool *p = compile_pool_start(&cc, THREADS);
    struct compile_job *others[THREADS];
    pthread_barrier_init(&all_at_work, NULL, THREADS + 1);
    pthread_barrier_init(&done, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) others[i] = compile_pool_add(p, "", "a", false);
    pthread_barrier_wait(&all_at_work);
    assert_true(compile_pool_wait(p, compile_pool_add_first(p, "", "x")).ok);
    pthread_barrier_wait(&done);
    for (int i = 0; i < THREADS; i++) assert_true(compile_pool_wait(p, others[i]).ok);
    compile_pool_stop(p);
    pthread_barrier_destroy(&all_at_work);
    pthread_barrier_destroy(&done);
}

int main(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_first),
                                     cmocka_unit_test(test_first_of_none),
                                     cmocka_unit_test(test_first_beside_others)};
    return cmocka_run_group_tests(all, NULL, NULL);
}
