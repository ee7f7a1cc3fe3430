/* test_frontend_golden.c: every FILE.py in a folder compiles to FILE.code, or fails as FILE.err
 * says.
 *
 *   test_frontend_golden [--update] [FOLDER]      --update writes the expected files instead of
 *                                                 comparing */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "frontend/frontend.h"

struct golden {
    const char *folder;
    bool update;
};

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *sibling(struct arena *a, const char *folder, const char *py,
                           const char *ending) {
    return arena_printf(a, "%s/%.*s%s", folder, (int)(strlen(py) - 3), py, ending);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Disassembly, or the error; messages name the file without its folder. */
static const char *outcome(struct arena *a, const char *folder, const char *py, bool *compiled) {
    struct diag d = diag_new(a);
    const struct source *file = source_read(a, arena_printf(a, "%s/%s", folder, py), &d);
    if (!file) fail_msg("%s", d.text);
    struct source src = {py, file->text, file->len};
    const struct code *c = frontend_compile(a, &src, &d);
    *compiled = c != NULL;
    if (!c) {
        assert_int_equal(d.status, WS_WRONG);
        return d.text;
    }
    assert_int_equal(d.status, WS_OK);
    struct buf b = buf_new(a);
    code_print(&b, c);
    return b.p;
}

static bool check_file(struct arena *a, const struct golden *g, const char *py) {
    bool compiled;
    const char *got = outcome(a, g->folder, py, &compiled);
    const char *path = sibling(a, g->folder, py, compiled ? ".code" : ".err");
    if (g->update) {
        remove(sibling(a, g->folder, py, compiled ? ".err" : ".code"));
        write_file(path, got);
        return true;
    }
    struct diag d = diag_new(a);
    const struct source *want = source_read(a, path, &d);
    if (!want) {
        print_error("%s: expected otherwise; now:\n%s", py, got);
        return false;
    }
    if (strcmp(want->text, got) == 0) return true;
    print_error("%s differs; now:\n%s", path, got);
    return false;
}

static void test_folder(void **state) {
    const struct golden *g = *state;
    struct arena *a = arena_new();
    DIR *dir = opendir(g->folder);
    if (!dir) fail_msg("no folder %s: run from the root of the repository", g->folder);
    VEC(const char *) files = {0};
    for (struct dirent *e; (e = readdir(dir));) {
        size_t n = strlen(e->d_name);
        if (n > 3 && strcmp(e->d_name + n - 3, ".py") == 0)
            vec_push(a, &files, arena_strdup(a, e->d_name));
    }
    closedir(dir);
    assert_true(files.n > 0);
    qsort(files.at, files.n, sizeof *files.at, by_name);
    uint32_t n_wrong = 0;
    for (uint32_t i = 0; i < files.n; i++) n_wrong += !check_file(a, g, files.at[i]);
    arena_free(a);
    assert_int_equal(n_wrong, 0);
}

int main(int argc, char **argv) {
    struct golden g = {.folder = "tests/golden/frontend"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--update") == 0)
            g.update = true;
        else
            g.folder = argv[i];
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_folder, &g)};
    return cmocka_run_group_tests_name("frontend_golden", tests, NULL, NULL);
}
