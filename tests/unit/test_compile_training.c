/* --mode train and --mode bwd: what is differentiated, the values of tangents and saved tensors,
 * and the refusals. */
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

struct workload {
    struct arena *arena;
    struct diag diag;
    char path[64];
};

static struct ws_captured *capture_mode(struct workload *w, const char *text, enum ws_mode mode) {
    char folder[] = "/tmp/trainingXXXXXX";
    assert_non_null(mkdtemp(folder));
    snprintf(w->path, sizeof w->path, "%s/f.py", folder);
    FILE *f = fopen(w->path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    w->arena = arena_new();
    w->diag = diag_new(w->arena);
    struct ws_options o = {.arena = w->arena, .path = w->path, .seed = 1, .mode = mode};
    struct stages s = stages_new(w->arena, NULL, 0);
    struct ws_captured *c = ws_capture(&o, &s, &w->diag);
    remove(w->path);
    rmdir(folder);
    return c;
}

static struct ws_captured *must_capture(struct workload *w, const char *text, enum ws_mode mode) {
    struct ws_captured *c = capture_mode(w, text, mode);
    if (!c) fail_msg("%s", w->diag.text);
    return c;
}

static void make_values(struct workload *w, struct ws_captured *c, void **in, void **out) {
    float *bounds[8];
    assert_true(c->n_outputs <= 8);
    if (ws_make_inputs(c, in, &w->diag) != WS_OK ||
        ws_make_reference(c, DEVICE_CPU, in, out, bounds, &w->diag) != WS_OK)
        fail_msg("%s", w->diag.text);
    for (int i = 0; i < c->n_outputs; i++) free(bounds[i]);
}

static void free_all(struct ws_captured *c, void **in, void **out) {
    for (int i = 0; i < c->n_inputs; i++) free(in[i]);
    for (int i = 0; i < c->n_outputs; i++) free(out[i]);
}

static const char model[] = "import torch\nimport torch.nn as nn\n"
                            "class Model(nn.Module):\n"
                            "    def __init__(self):\n"
                            "        super().__init__()\n"
                            "        self.weight = nn.Parameter(torch.randn(4))\n"
                            "        self.register_buffer('shift', torch.randn(4))\n"
                            "    def forward(self, x, n):\n"
                            "        y = torch.exp(x * self.weight) + self.shift\n"
                            "        return y * n, n + 1\n"
                            "def get_inputs():\n"
                            "    return [torch.randn(3, 4), torch.full((3, 4), 2)]\n";

/* Outputs, then the gradients of x and weight; the tangents are random and there is one, as the
 * other output is of integers. */
static void test_train(void **state) {
    struct workload w;
    struct ws_captured *c = must_capture(&w, model, WS_TRAIN);
    assert_string_equal(c->mode, "train");
    assert_int_equal(c->n_inputs, 5);
    assert_int_equal(c->n_outputs, 4);
    assert_string_equal(ws_input_info(c, 4).name, "tangent");
    void *in[5];
    void *out[4];
    make_values(&w, c, in, out);
    const float *x = NULL, *weight = NULL, *tangent = in[4];
    for (int i = 0; i < 4; i++) {
        const char *name = ws_input_info(c, i).name;
        if (!strcmp(name, "x")) x = in[i];
        if (strstr(name, "weight")) weight = in[i];
    }
    assert_true(x && weight);
    assert_true(tangent[0] != 1 && tangent[0] != tangent[1]);
    for (int k = 0; k < 4; k++) {
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            int e = 4 * i + k;
            double g = 2 * tangent[e] * exp((double)x[e] * weight[k]);
            assert_true(fabs(((double *)out[2])[e] - g * weight[k]) < 1e-4);
            sum += g * x[e];
        }
        assert_true(fabs(((double *)out[3])[k] - sum) < 1e-4);
    }
    free_all(c, in, out);
    arena_free(w.arena);
}

/* Of what a module keeps, what requires a gradient gets one: no plain tensor, and no frozen
 * parameter. */
static void test_kept(void **state) {
    struct workload w;
    struct ws_captured *c =
        must_capture(&w,
                     "import torch\nimport torch.nn as nn\n"
                     "scale = torch.randn(4)\n"
                     "class Model(nn.Module):\n"
                     "    def __init__(self):\n"
                     "        super().__init__()\n"
                     "        self.weight = nn.Parameter(torch.randn(4))\n"
                     "        self.frozen = nn.Parameter(torch.randn(4), requires_grad=False)\n"
                     "        self.cache = [torch.randn(4)]\n"
                     "    def forward(self, xs):\n"
                     "        return xs[0] * self.weight * self.frozen * self.cache[0] * scale\n"
                     "def get_inputs():\n"
                     "    return [[torch.randn(3, 4)]]\n",
                     WS_TRAIN);
    assert_int_equal(c->n_outputs, 3);
    struct ws_tensor_info x = ws_output_info(c, 1), weight = ws_output_info(c, 2);
    assert_int_equal(x.rank, 2);
    assert_int_equal(weight.rank, 1);
    arena_free(w.arena);
}

/* The gradients alone, from what the forward saves: the same numbers. */
static void test_bwd(void **state) {
    struct workload w, v;
    struct ws_captured *train = must_capture(&w, model, WS_TRAIN);
    struct ws_captured *bwd = must_capture(&v, model, WS_BWD);
    assert_string_equal(bwd->mode, "bwd");
    assert_int_equal(bwd->n_outputs, 2);
    assert_string_not_equal(train->graph_hash, bwd->graph_hash);
    assert_null(graph_verify(bwd->graph, true));
    void *in[8], *saved[8];
    void *all[4], *gradients[2];
    make_values(&w, train, in, all);
    make_values(&v, bwd, saved, gradients);
    for (int k = 0; k < 2; k++) {
        const double *there = all[2 + k], *here = gradients[k];
        for (int i = 0; i < (k ? 4 : 12); i++) assert_true(fabs(there[i] - here[i]) < 1e-4);
    }
    free_all(train, in, all);
    free_all(bwd, saved, gradients);
    arena_free(w.arena);
    arena_free(v.arena);
}

/* A loss is differentiated as loss.backward() has it. */
static void test_loss(void **state) {
    struct workload w;
    struct ws_captured *c = must_capture(&w,
                                         "import torch\ndef f(x):\n    return (x * x).sum()\n"
                                         "def get_inputs():\n    return [torch.randn(5)]\n",
                                         WS_TRAIN);
    void *in[2];
    void *out[2];
    make_values(&w, c, in, out);
    assert_true(((float *)in[1])[0] == 1);
    for (int i = 0; i < 5; i++)
        assert_true(((double *)out[1])[i] == 2 * (double)((float *)in[0])[i]);
    free_all(c, in, out);
    arena_free(w.arena);
}

/* What forward is told of requires_grad is what the mode takes: of floating arguments, also in a
 * list, of parameters, and of what is computed of them, but not under no_grad(), of integers,
 * buffers and what is detached. */
static const char asks[] =
    "import torch\nimport torch.nn as nn\n"
    "class Model(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.weight = nn.Parameter(torch.randn(4))\n"
    "        self.register_buffer('shift', torch.randn(4))\n"
    "    def forward(self, x, ys, n):\n"
    "        first = [x.requires_grad, ys[0].requires_grad, ys[1]['z'].requires_grad]\n"
    "        with torch.no_grad():\n"
    "            still, held = x.requires_grad, x * 2\n"
    "        made = [(x + 1).requires_grad, x[:2].requires_grad, x.view(-1).requires_grad]\n"
    "        never = [n.requires_grad, (n + 1).requires_grad, (x > 0).requires_grad,\n"
    "                 self.shift.requires_grad, held.requires_grad, x.detach().requires_grad]\n"
    "        always = [self.weight.requires_grad, (self.weight * n).requires_grad]\n"
    "        assert first + made + [still] == [WANTED] * 7, (first, made, still)\n"
    "        assert x.is_leaf and (x + 1).is_leaf is not WANTED\n"
    "        assert not any(never), never\n"
    "        assert all(always), always\n"
    "        return x + ys[0] + ys[1]['z'] + self.weight * n + held + self.shift\n"
    "def get_inputs():\n"
    "    return [torch.randn(3, 4), [torch.randn(4), {'z': torch.randn(4)}], torch.full((4,), "
    "2)]\n";

static void test_requires_grad(void **state) {
    for (int m = WS_FWD; m <= WS_TRAIN; m++) {
        struct workload w;
        char text[sizeof asks + 32];
        snprintf(text, sizeof text, "WANTED = %s\n%s", m == WS_FWD ? "False" : "True", asks);
        must_capture(&w, text, (enum ws_mode)m);
        arena_free(w.arena);
    }
}

/* A straight-through estimate that is made only where x requires gradients passes them on: the
 * gradient by x is the tangent, not zero. */
static void test_straight_through(void **state) {
    struct workload w;
    struct ws_captured *c =
        must_capture(&w,
                     "import torch\ndef f(x):\n"
                     "    q = torch.round(x).detach()\n"
                     "    return x + (q - x).detach() if x.requires_grad else q + 0 * x\n"
                     "def get_inputs():\n    return [torch.randn(5)]\n",
                     WS_TRAIN);
    void *in[2];
    void *out[2];
    make_values(&w, c, in, out);
    for (int i = 0; i < 5; i++) assert_true(((double *)out[1])[i] == (double)((float *)in[1])[i]);
    free_all(c, in, out);
    arena_free(w.arena);
}

/* Modes are kept apart even where their graphs are alike. */
static void test_hash(void **state) {
    static const char negate[] = "import torch\ndef f(x):\n    return -x\n"
                                 "def get_inputs():\n    return [torch.randn(5)]\n";
    struct workload w[3];
    const char *hash[3];
    for (int m = WS_FWD; m <= WS_TRAIN; m++)
        hash[m] = must_capture(&w[m], negate, (enum ws_mode)m)->graph_hash;
    assert_string_not_equal(hash[WS_FWD], hash[WS_BWD]);
    assert_string_not_equal(hash[WS_FWD], hash[WS_TRAIN]);
    for (int m = 0; m < 3; m++) arena_free(w[m].arena);
}

static void refused(const char *text, const char *why) {
    struct workload w;
    assert_null(capture_mode(&w, text, WS_TRAIN));
    assert_int_equal(w.diag.status, WS_WRONG);
    if (!strstr(w.diag.text, why)) fail_msg("%s, expected %s", w.diag.text, why);
    arena_free(w.arena);
}

static void test_refusals(void **state) {
    refused("import torch\ndef f(x):\n    return x + 1\n"
            "def get_inputs():\n    return [torch.full((5,), 1)]\n",
            "f: nothing to differentiate: no argument or parameter is floating");
    refused("import torch\ndef f(x):\n    return x > 1\n"
            "def get_inputs():\n    return [torch.randn(5)]\n",
            "f: nothing to differentiate: no output is floating");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train),         cmocka_unit_test(test_bwd),
        cmocka_unit_test(test_kept),          cmocka_unit_test(test_loss),
        cmocka_unit_test(test_hash),          cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_requires_grad), cmocka_unit_test(test_straight_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
