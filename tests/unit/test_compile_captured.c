/* test_compile_captured.c: what the tuner sees of a workload: names, sizes, hash; the bytes of the
 * inputs in their dtype and strides; the reference computed from those bytes. */
#include <math.h>
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

/* A workload file for the time of one test. */
struct workload {
    struct arena *arena;
    struct diag diag;
    char path[64];
    struct ws_options options;
};

static void open_workload(struct workload *w, const char *text) {
    char folder[] = "/tmp/capturedXXXXXX";
    assert_non_null(mkdtemp(folder));
    snprintf(w->path, sizeof w->path, "%s/f.py", folder);
    FILE *f = fopen(w->path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    w->arena = arena_new();
    w->diag = diag_new(w->arena);
    w->options = (struct ws_options){.arena = w->arena, .path = w->path, .seed = 1};
}

static void close_workload(struct workload *w) {
    remove(w->path);
    *strrchr(w->path, '/') = 0;
    rmdir(w->path);
    arena_free(w->arena);
}

static struct ws_captured *captured(struct workload *w) {
    struct stages s = stages_new(w->arena, NULL, 0);
    struct ws_captured *c = ws_capture(&w->options, &s, &w->diag);
    if (!c) fprintf(stderr, "%s", w->diag.text);
    assert_non_null(c);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.stage[0].name, "frontend");
    assert_string_equal(s.stage[1].name, "capture");
    return c;
}

static const char scale[] = "import torch\n"
                            "rows = 3\n"
                            "def f(x, w):\n"
                            "    return (x * w).sum(0), x.t() + 1\n"
                            "def get_inputs():\n"
                            "    return [torch.randn(4, rows).t(), torch.full((4,), 0.1)]\n";

static void test_info(void **state) {
    struct workload w;
    open_workload(&w, scale);
    struct ws_captured *c = captured(&w);
    assert_string_equal(c->workload, "f");
    assert_string_equal(c->axes, "rows=3");
    assert_string_equal(c->dtype, "f32");
    assert_string_equal(c->mode, "fwd");
    assert_int_equal(strlen(c->graph_hash), 16);
    assert_int_equal(c->n_inputs, 2);
    assert_int_equal(c->n_outputs, 2);
    struct ws_tensor_info x = ws_input_info(c, 0), out = ws_output_info(c, 0);
    assert_string_equal(x.name, "x");
    assert_int_equal(x.rank, 2);
    assert_int_equal(x.size[0], 3);
    assert_int_equal(x.size[1], 4);
    assert_int_equal(x.stride[0], 1);
    assert_int_equal(x.stride[1], 3);
    assert_int_equal(x.numel, 12);
    assert_int_equal(x.bytes, 48);
    assert_string_equal(out.name, "out0");
    assert_int_equal(out.rank, 1);
    assert_int_equal(out.size[0], 4);
    close_workload(&w);
}

/* Element i, j of input x lies at its strides, and is the random number of its row-major place in
 * randn(4, 3). */
static void test_inputs(void **state) {
    struct workload w;
    open_workload(&w, scale);
    struct ws_captured *c = captured(&w);
    void *bytes[2];
    void *reference[2];
    float *bounds[2];
    assert_int_equal(ws_make_inputs(c, bytes, &w.diag), WS_OK);
    const float *x = bytes[0], *scales = bytes[1];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            assert_true(x[i + 3 * j] == (float)random_normal(1, 0, (uint64_t)(3 * j + i)));
    assert_int_equal(ws_make_reference(c, DEVICE_CPU, bytes, reference, bounds, &w.diag), WS_OK);
    const double *sums = reference[0], *plus = reference[1];
    for (int j = 0; j < 4; j++) {
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += (double)x[i + 3 * j] * (double)scales[j];
            assert_true(fabs(plus[3 * j + i] - ((double)x[i + 3 * j] + 1)) < 1e-12);
        }
        assert_true(fabs(sums[j] - sum) < 1e-12);
    }
    for (int i = 0; i < 2; i++) free(bytes[i]), free(reference[i]), free(bounds[i]);
    close_workload(&w);
}

/* --dtype rounds the values; the reference starts from the rounded ones. */
static void test_cast(void **state) {
    struct workload w;
    open_workload(&w, scale);
    w.options.cast = true;
    w.options.dtype = DT_BF16;
    struct ws_captured *c = captured(&w);
    assert_string_equal(c->dtype, "bf16");
    assert_int_equal(ws_input_info(c, 1).bytes, 8);
    void *bytes[2];
    void *reference[2];
    float *bounds[2];
    assert_int_equal(ws_make_inputs(c, bytes, &w.diag), WS_OK);
    double rounded = dtype_load(DT_BF16, bytes[1], 0);
    assert_true(rounded != 0.1 && fabs(rounded - 0.1) < 1e-3);
    assert_int_equal(ws_make_reference(c, DEVICE_CPU, bytes, reference, bounds, &w.diag), WS_OK);
    double sum = 0;
    for (size_t i = 0; i < 3; i++) sum += dtype_load(DT_BF16, bytes[0], i) * rounded;
    assert_true(fabs(*(double *)reference[0] - sum) < 1e-12);
    for (int i = 0; i < 2; i++) free(bytes[i]), free(reference[i]), free(bounds[i]);
    close_workload(&w);
}

static const char *hash_of(const char *text, bool cast, char *out) {
    struct workload w;
    open_workload(&w, text);
    w.options.cast = cast;
    w.options.dtype = DT_F16;
    strcpy(out, captured(&w)->graph_hash);
    close_workload(&w);
    return out;
}

/* The hash is of the graph: not of the path, the line or the seed; of sizes and dtype. */
static void test_hash(void **state) {
    static const char body[] = "def f(x):\n    return torch.relu(x) + 1\n"
                               "def get_inputs():\n    return [torch.randn(N)]\n";
    char one[256], moved[256], larger[256], a[17], b[17];
    snprintf(one, sizeof one, "import torch\nN = 8\n%s", body);
    snprintf(moved, sizeof moved, "import torch\n# moved\n\nN = 2 * 4\n%s", body);
    snprintf(larger, sizeof larger, "import torch\nN = 16\n%s", body);
    assert_string_equal(hash_of(one, false, a), hash_of(moved, false, b));
    assert_string_not_equal(hash_of(one, false, a), hash_of(larger, false, b));
    assert_string_not_equal(hash_of(one, false, a), hash_of(one, true, b));
}

/* A product's precision, by the file's flags or from outside, is part of its graph, of the kernel,
 * and so of what a store has of it; what it is not said of keeps its hash. */
static void test_precision(void **state) {
    static const char product[] = "def f(x, y):\n    return x @ y\n"
                                  "def get_inputs():\n    return [torch.randn(64, 64)] * 2\n";
    static const struct {
        const char *flag, *given, *used;
    } cases[] = {
        {"", NULL, "f32"},
        {"", "tf32", "tf32"},
        {"", "strict", "strict"},
        {"torch.backends.cuda.matmul.allow_tf32 = True\n", NULL, "tf32"},
        {"torch.backends.cuda.matmul.allow_tf32 = True\n", "f32", "f32"},
        {"torch.set_float32_matmul_precision('high')\n", NULL, "tf32"},
        {"torch.set_float32_matmul_precision('medium')\n", NULL, "tf32"},
        {"torch.set_float32_matmul_precision('highest')\n", NULL, "f32"},
        {"torch.backends.cuda.matmul.fp32_precision = 'tf32'\n", "strict", "strict"},
        {"torch.backends.cudnn.allow_tf32 = True\n", NULL, "f32"},
    };
    char graph[3][17] = {"", "", ""}, kernel[3][17] = {"", "", ""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        enum precision given = PRECISION_F32;
        struct workload w;
        struct device_limits limits;
        snprintf(text, sizeof text, "import torch\n%s%s", cases[i].flag, product);
        open_workload(&w, text);
        if (cases[i].given) assert_true(precision_parse(cases[i].given, &given));
        w.options.precision = cases[i].given ? &given : NULL;
        struct ws_captured *c = captured(&w);
        assert_string_equal(precision_name(c->precision), cases[i].used);
        assert_true(c->graph->convolutions == (cases[i].given ? given : PRECISION_F32));
        assert_true(device_limits_for_arch("sm_90a", &limits));
        struct ws_program *p = ws_lower(c, &limits, WS_FUSE, NULL, &w.diag);
        assert_non_null(p);
        char *g = graph[c->precision], *k = kernel[c->precision];
        if (*k) assert_string_equal(k, p->kernels[0].hash);
        snprintf(g, 17, "%s", c->graph_hash);
        snprintf(k, 17, "%s", p->kernels[0].hash);
        close_workload(&w);
    }
    for (int i = 0; i < 3; i++) {
        assert_string_not_equal(graph[i], graph[(i + 1) % 3]);
        assert_string_not_equal(kernel[i], kernel[(i + 1) % 3]);
    }
}

static void test_seed(void **state) {
    struct workload w;
    open_workload(&w, scale);
    struct ws_captured *c = captured(&w);
    void *one[2], *two[2];
    assert_int_equal(ws_make_inputs(c, one, &w.diag), WS_OK);
    c->seed = 2;
    assert_int_equal(ws_make_inputs(c, two, &w.diag), WS_OK);
    assert_memory_not_equal(one[0], two[0], 48);
    assert_memory_equal(one[1], two[1], 16);
    for (int i = 0; i < 2; i++) free(one[i]), free(two[i]);
    close_workload(&w);
}

/* An expanded input stores each element once; an empty one nothing. */
static void test_odd_inputs(void **state) {
    struct workload w;
    open_workload(
        &w,
        "import torch\n"
        "def f(x, e, n):\n    return x * n, e\n"
        "def get_inputs():\n    return [torch.randn(2, 1).expand(2, 5), torch.ones(0, 3), 2.5]\n");
    struct ws_captured *c = captured(&w);
    assert_int_equal(c->n_inputs, 2);
    assert_int_equal(ws_input_info(c, 0).bytes, 8);
    assert_int_equal(ws_input_info(c, 1).bytes, 0);
    void *bytes[2];
    void *reference[2];
    float *bounds[2];
    assert_int_equal(ws_make_inputs(c, bytes, &w.diag), WS_OK);
    assert_int_equal(ws_make_reference(c, DEVICE_CPU, bytes, reference, bounds, &w.diag), WS_OK);
    const double *y = reference[0];
    for (int i = 0; i < 10; i++) assert_true(y[i] == 2.5 * (double)((float *)bytes[0])[i / 5]);
    for (int i = 0; i < 2; i++) free(bytes[i]), free(reference[i]), free(bounds[i]);
    close_workload(&w);
}

static void test_refusals(void **state) {
    struct workload w;
    open_workload(&w, scale);
    w.options.path = "no/such/file.py";
    assert_null(ws_capture(&w.options, NULL, &w.diag));
    assert_int_equal(w.diag.status, WS_USAGE);
    close_workload(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),       cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_cast),       cmocka_unit_test(test_hash),
        cmocka_unit_test(test_precision),  cmocka_unit_test(test_seed),
        cmocka_unit_test(test_odd_inputs), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
