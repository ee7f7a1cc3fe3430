/* generated_test.h: what the tests that run generated kernels share: cases of tests/fuzz/cases.h as
 * one cmocka test.
 *
 *     test_compile_... [--every N] [--list FILE] [FILTER]
 *
 *     FILTER      only graphs whose text contains it
 *     --every 4   a quarter of the configs
 *     --list      write a line for each distinct case */
#ifndef GENERATED_TEST_H
#define GENERATED_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "part.h"
#include "tests/fuzz/cases.h"

/* Where a part is taken, of every second graph of it the text is made and not run: a kernel's code
 * is none of ours, and the compiler of it and the emulator take most of the time. The texts of more
 * graphs of the same kinds are made by test_compile_digests. The emulator's own tests run whole. */
enum {
    EVERY = PART > 1 ? 2 * PART : 1,
    GRAPH_STEP = PART > 1 ? 2 * PART : 1,
    RUN_STEP = PART > 1 ? PART / 2 : 1
};

/* make test has a part of what make test-long has: every graph of each, and the default of every
 * kernel, but an eighth of the other configs. */
enum { LONG = 8 };

struct setup {
    const char *filter, *list;
    int every, graph_step;
    struct arena *a;
    case_vec graphs;
    struct map seen;
};

static inline void judge_cases(const struct setup *s, bool ok, const struct cases *c,
                               const char *where) {
    print_message("             %d cases on %s, %u of them distinct\n", c->run, where, s->seen.n);
    if (!ok || c->failed) fail_msg("%d of %d cases failed", c->failed, c->run);
    assert_true(s->filter || c->run > 0);
}

/* A cmocka test: generated CUDA on the emulator. */
static inline void test_emulated(void **state) {
    struct setup *s = *state;
    struct cases c = {.graphs = &s->graphs,
                      .filter = s->filter,
                      .every = s->every,
                      .graph_step = s->graph_step,
                      .run_step = RUN_STEP,
                      .log = stdout,
                      .seen = &s->seen};
    bool ok = cases_on_emulator(&c);
    judge_cases(s, ok, &c, "the emulator");
}

/* A cmocka test: generated C on the CPU device. */
static inline void test_cpu_device(void **state) {
    struct setup *s = *state;
    struct diag d = diag_new(s->a);
    struct env env = env_read(s->a);
    struct device *dev = NULL;
    struct toolchain *t = NULL;
    if (device_open_untimed("cpu", &env, s->a, &d, &dev) != WS_OK ||
        toolchain_open(DEVICE_CPU, device_limits(dev)->arch, &env, s->a, &d, &t) != WS_OK)
        fail_msg("%s", d.text);
    struct cases c = {.graphs = &s->graphs,
                      .filter = s->filter,
                      .every = s->every,
                      .graph_step = s->graph_step,
                      .run_step = RUN_STEP,
                      .log = stdout,
                      .seen = &s->seen};
    bool ok = cases_on_device(&c, dev, t);
    toolchain_close(t);
    device_close(dev);
    judge_cases(s, ok, &c, "the CPU");
}

/* main(): one test on these graphs, in make test-long `every` times fewer configs than they ask
 * for. Of the edges, of which there are many alike, make test has every second graph. */
static inline int generated_main(int argc, char **argv,
                                 void (*graphs)(struct arena *a, case_vec *out), int every,
                                 const char *name, CMUnitTestFunction test) {
    struct arena *a = arena_new();
    struct setup s = {.every = every * EVERY * (is_long() ? 1 : LONG), .a = a, .seen = map_new(a)};
    s.graph_step = GRAPH_STEP * (graphs == cases_edges && !is_long() ? 2 : 1);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--every") && i + 1 < argc)
            s.every = atoi(argv[++i]) > 0 ? atoi(argv[i]) : 1;
        else if (!strcmp(argv[i], "--list") && i + 1 < argc)
            s.list = argv[++i];
        else
            s.filter = argv[i];
    }
    graphs(a, &s.graphs);
    const struct CMUnitTest tests[] = {{name, test, NULL, NULL, &s}};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (s.list && !cases_write_list(&s.seen, s.list)) failed = 1;
    arena_free(a);
    return failed;
}

#endif
