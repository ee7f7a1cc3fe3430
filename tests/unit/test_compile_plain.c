/* test_compile_plain.c: the reference's own kernels compute what the reference interpreter does, on
 * random graphs of all operators and types: by C on the CPU, and by CUDA as far as it compiles. Of
 * such graphs single elements are computed on demand, too, and judge those kernels. */
#include <math.h>
#include <stdio.h>

#include "lower_test.h"
#include "reference.h"
#include "tests/fuzz/drive.h"
#include "tests/fuzz/gen.h"

enum { GRAPHS = 24, LONG = 300 };

static struct env env;
static uint64_t compared;
static int64_t judged, asked; /* elements, by sampling */
static struct device *dev;
static struct toolchain *cc, *nvrtc; /* NULL: there is none here */

static void *encoded(const struct meta *m, const struct exprs *p, const struct value *v,
                     size_t *bytes) {
    int64_t size[WS_MAX_RANK], stride[WS_MAX_RANK], most = 1;
    for (int k = 0; k < m->rank; k++) {
        size[k] = ex_value(p, m->size[k]);
        stride[k] = ex_value(p, m->stride[k]);
        most += (size[k] - 1) * stride[k];
    }
    *bytes = (size_t)(v->n ? most : 1) * (size_t)dtype_bytes(m->dtype);
    char *out = calloc(1, *bytes);
    for (int64_t i = 0; i < v->n; i++) {
        size_t at = (size_t)strided_at(m->rank, size, stride, i);
        if (v->w)
            dtype_store_int(m->dtype, out, at, v->w[i]);
        else
            dtype_store(m->dtype, out, at, v->v[i]);
    }
    return out;
}

/* Doubles are added up in another order, and numbers in the text of a graph are rounded to the type
 * of the maths. */
static bool agree(double got, double want, double rms) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    return got == want || fabs(got - want) <= 1e-6 * (fabs(want) + rms);
}

static void check_output(const struct graph *g, uint32_t o, const void *got,
                         const struct value *want, uint64_t seed) {
    enum dtype t = g->nodes.at[g->outputs.at[o]].meta.dtype;
    double rms = drive_rms(want);
    for (int64_t i = 0; i < want->n; i++) {
        bool right = dtype_is_float(t) ? agree(((const double *)got)[i], want->v[i], rms)
                                       : dtype_load_int(t, got, (size_t)i) == want->w[i];
        if (right) continue;
        struct buf b = buf_new(g->arena);
        graph_print(&b, g);
        fprintf(stderr, "%s", b.p);
        fail_msg("seed %llu, out%u[%lld] is %.17g, expected %.17g", (unsigned long long)seed, o,
                 (long long)i,
                 dtype_is_float(t) ? ((const double *)got)[i]
                                   : (double)dtype_load_int(t, got, (size_t)i),
                 value_number(want, i));
    }
}

/* What kernels made, as it lies in memory. */
struct made {
    const struct graph *g;
    void **at;
};

static bool load_made(void *ctx, uint32_t o, const int64_t *at, int64_t n, double *v, int64_t *w,
                      struct diag *d) {
    const struct made *m = ctx;
    enum dtype t = m->g->nodes.at[m->g->outputs.at[o]].meta.dtype;
    for (int64_t k = 0; k < n; k++)
        if (w)
            w[k] = dtype_load_int(t, m->at[o], (size_t)at[k]);
        else
            v[k] = ((const double *)m->at[o])[at[k]];
    return true;
}

static void check_samples(struct graph *g, struct value *in, void **got, uint64_t seed) {
    struct diag d = diag_new(g->arena);
    struct made made = {g, got};
    struct sample_source inputs = {in, load_values}, reference = {&made, load_made};
    struct sample_options o = SAMPLE_DEFAULTS;
    struct sample_verdict v;
    o.seed = seed;
    if (!sample_check(g, &inputs, &reference, &o, &v, &d))
        fail_msg("seed %llu: %s", (unsigned long long)seed, d.text);
    judged += v.judged;
    asked += v.asked;
    if (v.differs)
        fail_msg("seed %llu, out%u[%lld] is %.17g, %.17g by itself, %.3g allowed\n%s",
                 (unsigned long long)seed, v.output, (long long)v.element, v.got, v.want, v.allowed,
                 printed(g));
}

static void check_graph(struct graph *g, struct value *in, uint64_t seed) {
    struct arena *a = g->arena;
    struct diag d = diag_new(a);
    uint32_t n_in = g->inputs.n, n_out = g->outputs.n;
    struct value *want = calloc(n_out, sizeof *want);
    struct reference *r = reference_lower(g, false, a);
    if (!r || !graph_eval(g, in, want, &d)) {
        free(want);
        return; /* refused by lowering, or an index is out of range */
    }
    compared++;
    dptr *inputs = NEW_ARRAY(a, dptr, n_in), *outputs = NEW_ARRAY(a, dptr, n_out);
    for (uint32_t i = 0; i < n_in; i++) {
        size_t bytes;
        void *p = encoded(&g->nodes.at[g->inputs.at[i].node].meta, g->ex, &in[i], &bytes);
        assert_int_equal(device_alloc(dev, bytes, &inputs[i], &d), WS_OK);
        assert_int_equal(device_upload(dev, inputs[i], p, bytes, &d), WS_OK);
        free(p);
    }
    for (uint32_t o = 0; o < n_out; o++)
        assert_int_equal(device_alloc(dev, (size_t)want[o].n * 8 + 8, &outputs[o], &d), WS_OK);
    if (reference_run(r, dev, cc, inputs, outputs, a, &d) != WS_OK)
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, d.text, r->plain.text);
    void **got = NEW_ARRAY(a, void *, n_out);
    for (uint32_t o = 0; o < n_out; o++) {
        uint32_t first = graph_first_output(r->loops->graph, o);
        got[o] = got[first];
        if (first != o) continue;
        got[o] = malloc((size_t)want[o].n * 8 + 8);
        device_download(dev, got[o], outputs[o], (size_t)want[o].n * 8, &d);
        check_output(g, o, got[o], &want[o], seed);
    }
    check_samples(g, in, got, seed);
    for (uint32_t o = 0; o < n_out; o++)
        if (graph_first_output(r->loops->graph, o) == o) free(got[o]);
    for (uint32_t i = 0; i < n_in; i++) device_free(dev, inputs[i]);
    for (uint32_t o = 0; o < n_out; o++) {
        device_free(dev, outputs[o]);
        value_free(&want[o]);
    }
    free(want);
}

static void check_cuda(struct graph *g, uint64_t seed) {
    struct reference *r = reference_lower(g, true, g->arena);
    struct compiled made;
    if (!r || !nvrtc) return;
    toolchain_compile(nvrtc, "reference.cu", r->plain.text, false, &made);
    if (!made.ok) {
        fprintf(stderr, "%s\n", r->plain.text);
        fail_msg("seed %llu: %s", (unsigned long long)seed, made.log);
    }
    compiled_free(&made);
}

static void test_random_graphs(void **state) {
    uint64_t n = getenv("TEST_LONG") ? LONG : GRAPHS;
    for (uint64_t seed = 1; seed <= n; seed++) {
        struct arena *a = arena_new();
        struct graph *g = gen_graph(a, seed);
        if (!graph_verify(g, false)) {
            struct value *in = drive_inputs(g, seed);
            check_graph(g, in, seed);
            if (seed % 4 == 0) check_cuda(g, seed);
            for (uint32_t i = 0; i < g->inputs.n; i++) value_free(&in[i]);
            free(in);
        }
        arena_free(a);
    }
    assert_true(compared > n / 2);
    assert_true(judged > asked * 9 / 10);
}

/* A number has the digits of the maths, not those of a tensor of few bits beside it. */
static void test_numbers(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: bf16[64], %y: f16[64]) {\n  %m = mul(%x, 0.3)\n"
                                    "  %s = add(%y, 0.1)\n  %d = div(1, %y)\n"
                                    "  %l = gt(%x, 0.3)\n  return %m, %s, %d, %l\n}\n");
    struct value *in = drive_inputs(g, 1);
    uint64_t before = compared;
    check_graph(g, in, 1);
    assert_int_equal(compared, before + 1);
    free_values(in, g->inputs.n);
    free(in);
    arena_free(a);
}

/* Every element alone is what it is among all. */
static void test_random_elements(void **state) {
    uint64_t n = getenv("TEST_LONG") ? 4 * LONG : 4 * GRAPHS, met = 0;
    for (uint64_t seed = 1; seed <= n; seed++) {
        struct arena *a = arena_new();
        struct graph *g = gen_graph(a, seed);
        if (!graph_verify(g, false)) {
            struct graph *h = graph_decompose_but_landings(g);
            struct value *in = drive_inputs(g, seed), *want = calloc(h->outputs.n, sizeof *want);
            struct diag d = diag_new(a);
            if (graph_eval(h, in, want, &d)) must_sample(h, in, want), met++;
            free_values(in, g->inputs.n);
            free_values(want, h->outputs.n);
            free(in);
            free(want);
        }
        arena_free(a);
    }
    assert_true(met > n / 2);
}

int main(void) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    env = env_read(a);
    if (device_open("cpu", &env, a, &d, &dev, NULL) != WS_OK ||
        toolchain_open(DEVICE_CPU, device_limits(dev)->arch, &env, a, &d, &cc) != WS_OK) {
        fprintf(stderr, "%s", d.text);
        return 1;
    }
    struct diag quiet = diag_new(a);
    toolchain_open(DEVICE_CUDA, "sm_90a", &env, a, &quiet, &nvrtc);
    const struct CMUnitTest all[] = {cmocka_unit_test(test_random_graphs),
                                     cmocka_unit_test(test_numbers),
                                     cmocka_unit_test(test_random_elements)};
    int failed = cmocka_run_group_tests(all, NULL, NULL);
    toolchain_close(cc);
    if (nvrtc) toolchain_close(nvrtc);
    device_close(dev);
    arena_free(a);
    return failed;
}
