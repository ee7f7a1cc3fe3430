/* test_bytes.c: every target over its corpus, and over files made from it by a few changed bytes.
 *
 *   test_bytes                     tests/fuzz/corpus/<target>/ (all files)
 *   test_bytes TARGET FILE...      one target on these files alone, unchanged */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/random.h"

enum { MUTANTS = 40 };

typedef void target(const uint8_t *data, size_t n);

static const struct {
    const char *name;
    target *run;
} targets[] = {
#define BYTES(name, what) {#name, bytes_##name},
    BYTES_TARGETS(BYTES)
#undef BYTES
};

/* A few bytes changed, dropped or doubled, and now and then the end cut off. */
static size_t mutate(struct rng *r, uint8_t *p, size_t n) {
    static const char special[] = "()[]{}:,.=%#'\"\n\t 09-";
    for (int k = 1 + rng_below(r, 4); k > 0 && n > 0; k--) {
        size_t at = (size_t)rng_below(r, (int)n);
        switch (rng_below(r, 5)) {
        case 0: p[at] = (uint8_t)rng_next(r); break;
        case 1: p[at] = (uint8_t)special[rng_below(r, sizeof special - 1)]; break;
        case 2: memmove(p + at, p + at + 1, --n - at); break;
        case 3: p[at] = p[rng_below(r, (int)n)]; break;
        case 4: n = rng_percent(r, 25) ? at : n; break;
        }
    }
    return n;
}

static void run_file(target *run, const char *path, int mutants) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    const struct source *s = source_read(a, path, &d);
    if (!s) fail_msg("%s", d.text);
    run((const uint8_t *)s->text, s->len);
    struct rng r = {hash_bytes(s->text, s->len)};
    uint8_t *copy = malloc(s->len + 1);
    for (int i = 0; i < mutants; i++) {
        memcpy(copy, s->text, s->len + 1);
        run(copy, mutate(&r, copy, s->len));
    }
    free(copy);
    arena_free(a);
}

static void test_target(void **state) {
    size_t i = (size_t)(uintptr_t)*state;
    char folder[128], path[512];
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", targets[i].name);
    DIR *dir = opendir(folder);
    if (!dir) fail_msg("%s: no such folder", folder);
    int files = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        run_file(targets[i].run, path, MUTANTS);
        files++;
    }
    closedir(dir);
    assert_true(files > 0);
}

int main(int argc, char **argv) {
    enum { N = sizeof targets / sizeof *targets };
    struct CMUnitTest tests[N];
    for (size_t i = 0; i < N; i++) {
        tests[i] = (struct CMUnitTest){targets[i].name, test_target, NULL, NULL, (void *)i};
        if (argc > 2 && !strcmp(argv[1], targets[i].name)) {
            for (int k = 2; k < argc; k++) run_file(targets[i].run, argv[k], 0);
            return 0;
        }
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
