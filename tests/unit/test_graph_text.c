/* Golden files of the graph stage, tests/golden/graph/NAME.graph:
 *   prints as itself, or as NAME.print if that exists;
 *   is for people NAME.readable, if that exists;
 *   decomposes to NAME.decomposed and simplifies to NAME.simplified where those exist;
 *   or fails with NAME.err.
 *
 * NAME.joint is the joint graph for the gradients of all floating inputs, NAME.partition what is
 * saved for its backward, the forward and the backward. */
#include "autograd_test.h"

#include "graph/partition.h"

#include <glob.h>
#include <stdio.h>

static const char *golden(struct arena *a, const char *graph_path, const char *suffix) {
    struct diag d = diag_new(a);
    size_t stem = strlen(graph_path) - strlen("graph");
    const char *path = arena_printf(a, "%.*s%s", (int)stem, graph_path, suffix);
    const struct source *s = source_read(a, path, &d);
    return s ? s->text : NULL;
}

static void same_text(const char *path, const char *what, const char *got, const char *want) {
    if (strcmp(got, want)) fail_msg("%s %s:\n%s\nexpected:\n%s", path, what, got, want);
}

static void must_verify(const char *path, struct graph *g, bool decomposed) {
    const char *why = graph_verify(g, decomposed);
    if (why) fail_msg("%s: %s", path, why);
}

static const char *partition_text(struct graph *g) {
    struct graph *joint = must_differentiate(g, wants_all(g));
    joint = graph_simplify(graph_decompose(joint));
    struct partition *p = graph_partition(joint, g->inputs.n, g->outputs.n);
    struct buf b = buf_new(g->arena);
    partition_print(&b, p);
    buf_puts(&b, "\nforward: ");
    graph_print(&b, p->forward);
    buf_puts(&b, "\nbackward: ");
    graph_print(&b, p->backward);
    return b.p;
}

/* Returns the number of expectations checked. */
static int check_file(const char *path) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    const struct source *src = source_read(a, path, &d);
    struct source named = {strrchr(path, '/') + 1, src->text, src->len};
    struct graph *g = graph_parse(a, exprs_new(a), &named, &d);
    const char *want;
    int checks = 1;
    if ((want = golden(a, path, "err"))) {
        if (g) fail_msg("%s parses", path);
        same_text(path, "fails", d.text, want);
        arena_free(a);
        return checks;
    }
    if (!g) fail_msg("%s", d.text);
    must_verify(path, g, false);
    want = golden(a, path, "print");
    same_text(path, "prints", printed(g), want ? want : src->text);
    if ((want = golden(a, path, "readable"))) {
        struct buf b = buf_new(a);
        graph_print_readable(&b, g);
        same_text(path, "reads", b.p, want);
        checks++;
    }
    if ((want = golden(a, path, "decomposed"))) {
        struct graph *h = graph_decompose(g);
        must_verify(path, h, true);
        same_text(path, "decomposed", printed(h), want);
        checks++;
    }
    if ((want = golden(a, path, "simplified"))) {
        struct graph *h = graph_simplify(g);
        must_verify(path, h, false);
        same_text(path, "simplified", printed(h), want);
        same_text(path, "simplified twice", printed(graph_simplify(h)), want);
        checks++;
    }
    if ((want = golden(a, path, "joint"))) {
        same_text(path, "differentiated", printed(must_differentiate(g, wants_all(g))), want);
        checks++;
    }
    if ((want = golden(a, path, "partition"))) {
        same_text(path, "partitioned", partition_text(g), want);
        checks++;
    }
    arena_free(a);
    return checks;
}

static void test_golden_files(void **state) {
    glob_t files;
    int checks = 0;
    assert_int_equal(glob("tests/golden/graph/*.graph", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) checks += check_file(files.gl_pathv[i]);
    globfree(&files);
    assert_true(checks >= 30);
}

/* Every prefix of a graph is refused with a message, and none crashes. */
static void test_prefixes(void **state) {
    static const char text[] = "graph(%x: f32[4, s0][8, 1] = arg 3 L['x,)'], %y: i64[]) {\n"
                               "  %s: f32[4] = mean(%x, dim=[-1], keepdim=False, dtype=None)\n"
                               "  %g = gelu(%s, approximate='ta\\'nh')  # note\n"
                               "  return %g, %x = %s\n}";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        struct arena *a = arena_new();
        const char *why = NULL;
        struct graph *g = try_parse(a, arena_strndup(a, text, n), &why);
        assert_null(g);
        assert_memory_equal(why, "test.graph:", 11);
        arena_free(a);
    }
}

/* Nor does any one wrong character. */
static void test_wrong_characters(void **state) {
    static const char text[] = "graph(%x: f32[4, s0] = buffer L['x']) {\n"
                               "  %s: f32[4] = sum(%x, dim=[1], keepdim=False, dtype=None)\n"
                               "  %a: f32[4] = add(%s, 1.5e-3, alpha=1)\n"
                               "  return %a\n}";
    static const char wrong[] = "%([{}]),=.-'x0 \n\x01\xff";
    for (size_t n = 0; n < sizeof text - 1; n++)
        for (const char *w = wrong; *w; w++) {
            struct arena *a = arena_new();
            char *copy = arena_strdup(a, text);
            const char *why = NULL;
            copy[n] = *w;
            struct graph *g = try_parse(a, copy, &why);
            assert_true(g ? graph_verify(g, false) == NULL : why != NULL);
            arena_free(a);
        }
}

static void test_numbers(void **state) {
    static const char *const texts[] = {"0.1",
                                        "1.0",
                                        "-2.5",
                                        "1e-05",
                                        "1e+16",
                                        "123456789.0",
                                        "1e+300",
                                        "inf",
                                        "-inf",
                                        "nan",
                                        "0.0001",
                                        "5e-324",
                                        "0.30000000000000004",
                                        "-0.0",
                                        "1.7976931348623157e+308"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena *a = arena_new();
        struct graph *g = one_op(a, "%x: f32[4]", arena_printf(a, "mul(%%x, %s)", texts[i]));
        const char *want = arena_printf(a, "mul(%%x, %s)\n", texts[i]);
        if (!strstr(printed(g), want)) fail_msg("%s prints as\n%s", texts[i], printed(g));
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_files),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_wrong_characters),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
