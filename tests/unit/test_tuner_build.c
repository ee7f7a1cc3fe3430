/* test_tuner_build.c: what the tuner makes of what compilers say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/vtable.h"
#include "tuner/build.h"

/* Machine code whose wgmmas wait for each other, ptxas says. */
static void slow_compile(struct toolchain *t, const char *name, const char *source, bool want_ptx,
                         struct compiled *out) {
    out->ok = out->serialized = true;
    out->log = strdup("ptxas info    : (C7511) wgmma.mma_async instructions are serialized");
    out->binary = malloc(out->size = 1);
}

static const struct toolchain_ops ops = {.compile = slow_compile};

/* A trial is refused for it; a default runs, for it is what others are compared with, and where
 * nothing is tuned there is nothing else. */
static void test_slow_code_of_a_default(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct toolchain cc = {.ops = &ops, .version = "", .settings = ""};
    struct machine m = {
        .arena = a, .toolchain = &cc, .limits = {.kind = DEVICE_CUDA, .arch = "sm_90a"}};
    struct ws_kernel kernel = {.name = "k"};
    struct ws_program p = {.arena = a, .kernels = &kernel, .n_kernels = 1};
    struct config c[2] = {0};
    struct builder b;
    assert_int_equal(builder_open(&b, &m, NULL, a, &d), WS_OK);
    for (int i = 0; i < 2; i++) {
        struct variant v = variant_new(&p, 0, &c[i], a);
        struct ws_source source = {.text = i ? "a" : "b"};
        variant_take_source(&v, &source, a);
        v.is_default = i == 0;
        assert_int_equal(builder_begin(&b, &v, &d), WS_OK);
        assert_int_equal(builder_finish(&b, &v, &d), WS_OK);
        assert_int_equal(variant_refused(&v), i);
        assert_int_equal(v.binary != NULL, !i);
        if (i) assert_non_null(strstr(v.message, "refused: ptxas info    : (C7511)"));
    }
    builder_close(&b);
    arena_free(a);
}

static int n_compiled;

static void count_compile(struct toolchain *t, const char *name, const char *source, bool want_ptx,
                          struct compiled *out) {
    __atomic_fetch_add(&n_compiled, 1, __ATOMIC_RELAXED);
    out->ok = strcmp(source, "bad") != 0;
    out->log = strdup("");
    if (out->ok) out->binary = (unsigned char *)strdup(source), out->size = strlen(source);
}

/* A reference's text is compiled once for a store; what does not compile is never kept. */
static void test_texts_are_kept(void **state) {
    static const struct toolchain_ops counting = {.compile = count_compile};
    static const char *const texts[] = {"one", "bad", "two"};
    char folder[] = "/tmp/test_tuner_build_XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct toolchain cc = {.ops = &counting, .version = "", .settings = ""};
    struct machine m = {
        .arena = a, .toolchain = &cc, .limits = {.kind = DEVICE_CUDA, .arch = "sm_90a"}};
    const char *path = arena_printf(a, "%s/store.db", folder), *note;
    struct store *s = NULL;
    assert_int_equal(store_open(path, a, &d, &s, &note), WS_OK);
    for (int round = 0; round < 2; round++) {
        struct builder b;
        struct builder_text begun[3];
        assert_int_equal(builder_open(&b, &m, s, a, &d), WS_OK);
        n_compiled = 0;
        for (int i = 0; i < 3; i++) builder_begin_text(&b, texts[i], &begun[i]);
        for (int i = 0; i < 3; i++) {
            struct compiled c = builder_finish_text(&b, &begun[i]);
            assert_int_equal(c.ok, i != 1);
            if (c.ok) assert_int_equal(c.size, 3);
            if (c.ok) assert_memory_equal(c.binary, texts[i], 3);
            compiled_free(&c);
        }
        builder_close(&b);
        assert_int_equal(n_compiled, round ? 1 : 3);
    }
    store_close(s);
    remove(path);
    remove(folder);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_slow_code_of_a_default),
                                     cmocka_unit_test(test_texts_are_kept)};
    return cmocka_run_group_tests(all, NULL, NULL);
}
