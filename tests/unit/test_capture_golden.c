/* test_capture_golden.c: every file of tests/golden/capture: NAME.py is captured, and its axes,
 * graph, guards and init graph are those of NAME.graph; where NAME.err is instead, capture fails
 * with that status and message.
 *
 * Options stand in the first line: "# options: -D rows=4 --dtype bf16". UPDATE=1 rewrites what is
 * expected. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/capture.h"

#define FOLDER "tests/golden/capture"

enum { MAX_AXES = 8 };

static char *read_file(struct arena *a, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    struct buf b = buf_new(a);
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_write(&b, chunk, n);
    fclose(f);
    return b.p;
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void read_options(struct arena *a, const char *text, struct capture_options *o,
                         struct capture_axis *axes) {
    static const char start[] = "# options: ";
    if (strncmp(text, start, sizeof start - 1)) return;
    char *line = arena_strndup(a, text + sizeof start - 1, strcspn(text, "\n") - sizeof start + 1),
         *rest;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strtok_r(NULL, " ", &rest);
        assert_non_null(value);
        if (!strcmp(word, "--dtype")) {
            assert_true(dtype_parse(value, &o->dtype));
            o->cast = true;
            continue;
        }
        assert_string_equal(word, "-D");
        assert_true(o->n_axes < MAX_AXES);
        char *equals = strchr(value, '=');
        *equals = 0;
        axes[o->n_axes++] = (struct capture_axis){value, equals + 1};
    }
}

static char *describe(struct arena *a, const struct captured *c) {
    struct buf b = buf_new(a);
    buf_printf(&b, "axes: %s\n\n", c->axes);
    graph_print(&b, c->graph);
    buf_printf(&b, "\n%s\n", c->guards);
    if (c->init->outputs.n) graph_print(&b, c->init);
    return b.p;
}

static int compare(struct arena *a, const char *base, const char *ext, const char *got) {
    const char *other = strcmp(ext, "err") ? "err" : "graph";
    char *path = arena_printf(a, "%s.%s", base, ext);
    if (getenv("UPDATE")) {
        write_file(path, got);
        remove(arena_printf(a, "%s.%s", base, other));
    }
    const char *expected = read_file(a, path);
    if (expected && !strcmp(expected, got)) return 0;
    fprintf(stderr, "%s: %s; got:\n%s", path, expected ? "differs" : "is missing", got);
    return 1;
}

static int check_file(const char *name) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    char *path = arena_printf(a, FOLDER "/%s", name),
         *base = arena_strndup(a, path, strlen(path) - 3);
    struct capture_axis axes[MAX_AXES];
    struct capture_options o = {.path = path, .axes = axes};
    read_options(a, read_file(a, path), &o, axes);
    struct captured *c = capture(a, &o, NULL, &d);
    int wrong =
        c ? compare(a, base, "graph", describe(a, c))
          : compare(a, base, "err", arena_printf(a, "status %d\n%s", (int)d.status, d.text));
    arena_free(a);
    return wrong;
}

static int is_program(const struct dirent *e) {
    size_t n = strlen(e->d_name);
    return n > 3 && !strcmp(e->d_name + n - 3, ".py");
}

static void test_golden(void **state) {
    struct dirent **files;
    int n = scandir(FOLDER, &files, is_program, alphasort), wrong = 0;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        wrong += check_file(files[i]->d_name);
        free(files[i]);
    }
    free(files);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
