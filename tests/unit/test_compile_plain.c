/* test_compile_plain.c: the reference's own kernels compute what the reference interpreter does, on
 * random graphs of all operators and types: by C on the CPU, and by CUDA as far as it compiles. */
#include <math.h>
#include <stdio.h>

#include "lower_test.h"
#include "reference.h"
#include "tests/fuzz/drive.h"
#include "tests/fuzz/gen.h"

enum { GRAPHS = 24, LONG = 300 };

static struct env env;
static uint64_t compared;
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
    for (uint32_t o = 0; o < n_out; o++) {
        if (graph_first_output(r->loops->graph, o) != o) continue;
        void *got = malloc((size_t)want[o].n * 8 + 8);
        device_download(dev, got, outputs[o], (size_t)want[o].n * 8, &d);
        check_output(g, o, got, &want[o], seed);
        free(got);
    }
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
    const struct CMUnitTest all[] = {cmocka_unit_test(test_random_graphs)};
    int failed = cmocka_run_group_tests(all, NULL, NULL);
    toolchain_close(cc);
    if (nvrtc) toolchain_close(nvrtc);
    device_close(dev);
    arena_free(a);
    return failed;
}
