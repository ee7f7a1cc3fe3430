/* test_compile_axes.c: an axis of a workload as a symbol: one graph for all of its sizes, under one
 * hash, and whether it is the graph captured with numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "ws_tune.h"

struct pair {
    struct arena *arena;
    struct diag diag;
    struct ws_captured *numbers, *symbolic; /* NULL: refused */
};

static struct ws_captured *capture_at(struct pair *t, const char *path, const char *axis,
                                      const char *value, const char *symbolic, enum ws_mode mode) {
    struct ws_axis axes[] = {{axis, value}};
    struct ws_options o = {.arena = t->arena,
                           .path = path,
                           .axes = axes,
                           .n_axes = 1,
                           .mode = mode,
                           .symbolic = symbolic};
    t->diag = diag_new(t->arena);
    return ws_capture(&o, NULL, &t->diag);
}

static struct pair open_pair(const char *path, const char *axis, const char *value,
                             enum ws_mode mode) {
    struct pair t = {.arena = arena_new()};
    t.numbers = capture_at(&t, path, axis, value, NULL, mode);
    if (!t.numbers) fail_msg("%s", t.diag.text);
    t.symbolic = capture_at(&t, path, axis, value, axis, mode);
    return t;
}

static struct pair open_text(const char *text, const char *axis, const char *value) {
    char folder[] = "/tmp/axesXXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/f.py", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    struct pair t = open_pair(path, axis, value, WS_FWD);
    remove(path);
    rmdir(folder);
    return t;
}

static struct ws_program *lower(struct pair *t, struct ws_captured *c) {
    struct device_limits gpu;
    assert_true(device_limits_for_arch("sm_90a", &gpu));
    struct ws_program *p = ws_lower(c, &gpu, WS_FUSE, NULL, &t->diag);
    if (!p) fail_msg("%s", t->diag.text);
    return p;
}

/* All sizes share a hash, which none of them has as a number; kernels, too. */
static void test_hash(void **state) {
    static const struct {
        const char *path, *axis;
        bool others; /* matrix units need sizes that are numbers: what stands behind a product */
    } cases[] = {{"workloads/softmax.py", "dim", false},
                 {"workloads/softmax.py", "rows", false},
                 {"workloads/layernorm.py", "dim", false},
                 {"workloads/linear_gelu.py", "inner", true},
                 {"workloads/sum_mean.py", "dim", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int mode = WS_FWD; mode <= WS_TRAIN; mode++) {
            struct pair a = open_pair(cases[i].path, cases[i].axis, "96", (enum ws_mode)mode),
                        b = open_pair(cases[i].path, cases[i].axis, "2000", (enum ws_mode)mode);
            const char *why = "";
            assert_non_null(a.symbolic);
            assert_non_null(b.symbolic);
            assert_string_equal(a.symbolic->graph_hash, b.symbolic->graph_hash);
            assert_string_not_equal(a.symbolic->graph_hash, a.numbers->graph_hash);
            assert_string_not_equal(a.numbers->graph_hash, b.numbers->graph_hash);
            assert_int_equal(a.symbolic->n_symbols, 1);
            assert_int_equal(a.numbers->n_symbols, 0);
            if (!ws_captures_same(a.symbolic, a.numbers, &why)) fail_msg("%s", why);
            if (!ws_captures_same(b.symbolic, b.numbers, &why)) fail_msg("%s", why);
            assert_false(ws_captures_same(a.symbolic, b.numbers, &why));
            struct ws_program *p = lower(&a, a.symbolic), *q = lower(&a, a.numbers);
            if (!cases[i].others) assert_int_equal(p->n_kernels, q->n_kernels);
            for (int k = 0; k < p->n_kernels && !cases[i].others; k++)
                assert_string_equal(p->kernels[k].name, q->kernels[k].name);
            arena_free(a.arena);
            arena_free(b.arena);
        }
}

/* A number that follows the axis into the graph is another graph at each size. */
static void test_numbers(void **state) {
    struct pair t = open_text("import torch\ndim = 64\ndef f(x):\n    return x * dim ** -0.5\n"
                              "def get_inputs():\n    return [torch.randn(4, dim)]\n",
                              "dim", "256");
    const char *why = "";
    assert_non_null(t.symbolic);
    assert_true(ws_captures_same(t.symbolic, t.numbers, &why));
    struct pair u = open_text("import torch\ndim = 64\ndef f(x):\n    return x * dim ** -0.5\n"
                              "def get_inputs():\n    return [torch.randn(4, dim)]\n",
                              "dim", "1024");
    assert_string_not_equal(t.symbolic->graph_hash, u.symbolic->graph_hash);
    assert_false(ws_captures_same(t.symbolic, u.numbers, &why));
    assert_non_null(strstr(why, "1024"));
    arena_free(t.arena);
    arena_free(u.arena);

    t = open_text("import torch\nn = 64\ndef f(x):\n    return x + n\n"
                  "def get_inputs():\n    return [torch.randn(n)]\n",
                  "n", "64");
    assert_false(ws_captures_same(t.symbolic, t.numbers, &why));
    assert_string_equal(why, "%add: f32[64] = add(%x, 64, alpha=1)");
    arena_free(t.arena);
}

/* Comparisons are decided by the size at hand, and nothing but the graph counts. */
static void test_branches(void **state) {
    static const char text[] =
        "import torch\ndim = 64\ndef f(x):\n    if x.shape[1] > 100 and dim != 7:\n"
        "        return x * 2\n    return x + 1\n"
        "def get_inputs():\n    return [torch.randn(4, dim)]\n";
    struct pair a = open_text(text, "dim", "64"), b = open_text(text, "dim", "128"),
                c = open_text(text, "dim", "512");
    const char *why = "";
    assert_string_not_equal(a.symbolic->graph_hash, b.symbolic->graph_hash);
    assert_string_equal(b.symbolic->graph_hash, c.symbolic->graph_hash);
    assert_true(ws_captures_same(a.symbolic, a.numbers, &why));
    assert_true(ws_captures_same(b.symbolic, b.numbers, &why));
    arena_free(a.arena);
    arena_free(b.arena);
    arena_free(c.arena);
}

static void test_refused(void **state) {
    struct pair t = open_pair("workloads/rope.py", "dim", "128", WS_FWD);
    assert_null(t.symbolic);
    assert_non_null(strstr(t.diag.message, "s0 // 2"));
    t.symbolic = capture_at(&t, "workloads/softmax.py", "dim", "1", "dim", WS_FWD);
    assert_null(t.symbolic);
    assert_non_null(strstr(t.diag.message, "dim=1 is no size that may vary"));
    arena_free(t.arena);
}

/* Rows are read by whole vectors once their length is known to be a multiple. */
static void test_stepped(void **state) {
    struct pair t = open_pair("workloads/softmax.py", "dim", "4096", WS_FWD);
    struct config c;
    assert_true(config_parse("x=1 r=4096 warps=8 vec=4 keep=1", &c, &t.diag));
    for (int64_t step = 1; step <= 8; step *= 2) {
        struct ws_program *p = lower(&t, ws_captured_stepped(t.symbolic, &step));
        const char *why = ws_config_illegal(p, 0, &c, t.arena);
        if (why) fail_msg("step %lld: %s", (long long)step, why);
        assert_int_equal(ws_config_vectors(p, 0, &c, t.arena), step < 4 ? 0 : 2);
    }
    arena_free(t.arena);
}

static struct ws_captured *parsed(struct arena *a, const char *text) {
    struct diag d = diag_new(a);
    struct source *src = NEW(a, struct source);
    *src = (struct source){.path = "test", .text = text, .len = strlen(text)};
    struct graph *g = graph_parse(a, exprs_new(a), src, &d);
    if (!g) fail_msg("%s", d.text);
    return ws_captured_of(a, g, "graph");
}

/* The hash does not know what symbols are called, as long as their order is the same; names of
 * nodes that look like them stay. */
static void test_names(void **state) {
    struct arena *a = arena_new();
    struct ws_captured *x = parsed(a, "graph(%s3: f32[s2, s5] = L['s3']) {\n  %a: f32[s2, s5] = "
                                      "exp(%s3)\n  return %a\n}\n"),
                       *y = parsed(a, "graph(%s3: f32[s0, s7] = L['s3']) {\n  %a: f32[s0, s7] = "
                                      "exp(%s3)\n  return %a\n}\n"),
                       *z = parsed(a, "graph(%s3: f32[s0, s0] = L['s3']) {\n  %a: f32[s0, s0] = "
                                      "exp(%s3)\n  return %a\n}\n");
    assert_string_equal(x->graph_hash, y->graph_hash);
    assert_string_not_equal(x->graph_hash, z->graph_hash);
    assert_int_equal(x->n_symbols, 2);
    assert_int_equal(z->n_symbols, 1);
    struct pair t = {.arena = a, .diag = diag_new(a)};
    struct ws_program *p = lower(&t, x), *q = lower(&t, y);
    assert_string_equal(p->kernels[0].hash, q->kernels[0].hash);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash),     cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_branches), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_stepped),  cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
