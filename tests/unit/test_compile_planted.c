/* test_compile_planted.c: mistakes that are planted into what the suite's workloads should leave
 * are called wrong: an element of a pointwise result 4 ulp off, a term missing in a sum of 4,096, a
 * wrong mask on a border, a neighbour read in place of an element, an element left out, and one
 * rounded to bf16 on the way.
 *
 * What a kernel with such a mistake would leave is the reference of changed inputs, rounded to the
 * type of the output, or that of the right ones with one element changed. The right result passes.
 *
 * `make test` plants PLANTED; with PLANTED_CSV=FILE, 200 are planted, and written there a row each
 * (scripts/plant_errors.sh). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "runtime/runtime.h"
#include "ws_tune.h"

enum { PLANTED = 29, ALL = 200, MOST = 16 };

/* How the mistake is made. */
enum mistake { ULP, TERM, MASK, NEIGHBOUR, STALE, ROUNDED, MISTAKES };
static const char *const names[MISTAKES] = {"4 ulp",       "a dropped term",  "a mask at a border",
                                            "a neighbour", "an element left", "rounded to bf16"};

static const struct workload {
    const char *name, *axes; /* "rows=8 dim=64" */
    int input;               /* of which an element is changed */
    bool pointwise, sums;    /* of f32 operations rounded once or twice each; sums of 4,096 */
} workloads[] = {
    {"relu", "n=4096", 0, true, false},
    {"relu_chain", "rows=16 dim=64", 0, true, false},
    {"transpose_add", "rows=48 cols=32", 0, true, false},
    {"adamw", "n=1024", 1, true, false},
    {"rope", "batch=1 heads=2 seq=16 dim=32", 0, true, false},
    {"embedding", "batch=2 length=8 dim=32 vocabulary=64", 1, false, false},
    {"gelu_bias", "rows=16 dim=64", 0, false, false},
    {"swiglu", "rows=16 dim=64", 0, false, false},
    {"column_sum", "rows=4096 dim=6", 0, false, true},
    {"full_sum", "n=4096", 0, false, true},
    {"sum_mean", "rows=6 dim=4096", 0, false, true},
    {"cumsum", "rows=4 dim=4096", 0, false, true},
    {"rmsnorm", "rows=4 dim=4096", 0, false, true},
    {"layernorm", "rows=4 dim=4096", 0, false, true},
    {"rmsnorm_residual", "rows=8 dim=128", 0, false, false},
    {"softmax", "rows=8 dim=128", 0, false, false},
    {"log_softmax", "rows=8 dim=128", 0, false, false},
    {"softmax_bwd", "rows=8 dim=128", 0, false, false},
    {"layernorm_bwd", "rows=8 dim=128", 0, false, false},
    {"maxpool", "batch=1 channels=2 size=16", 0, false, false},
    {"batchnorm", "batch=4 channels=4 side=8", 0, false, false},
    {"convolution", "batch=2 channels=8 filters=16 height=8 width=8", 0, false, false},
    {"linear_gelu", "rows=8 inner=64 outer=16", 0, false, false},
    {"mm_softmax", "n=32", 0, false, false},
    {"mm_relu_sum", "rows=8 inner=64 columns=16", 0, false, false},
    {"mlp_swiglu", "rows=8 dim=32 hidden=48", 0, false, false},
    {"qkv_rope", "batch=1 seq=8 heads=2 dim=16", 0, false, false},
    {"lora", "rows=8 inner=64 outer=16 rank=4", 0, false, false},
    {"gemv", "rows=16 inner=64", 0, false, false},
    {"cross_entropy", "rows=8 vocab=64", 0, false, false},
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

/* A workload with what it should leave. */
struct bed {
    struct arena *arena;
    struct diag diag;
    struct ws_captured *c;
    struct device *dev;
    void *inputs[MOST], *want[MOST];
    float *bounds[MOST];
};

static void parse_axes(struct arena *a, const char *text, struct ws_options *o) {
    struct ws_axis *axes = NEW_ARRAY(a, struct ws_axis, MOST);
    char *rest = arena_strdup(a, text);
    for (char *word = strtok(rest, " "); word; word = strtok(NULL, " ")) {
        char *is = strchr(word, '=');
        *is = 0;
        axes[o->n_axes++] = (struct ws_axis){word, is + 1};
    }
    o->axes = axes;
}

static struct bed bed_open(const struct workload *w, struct device *dev, uint64_t seed) {
    struct bed b = {.arena = arena_new(), .dev = dev};
    struct ws_options o = {.arena = b.arena, .seed = seed};
    b.diag = diag_new(b.arena);
    o.path = arena_printf(b.arena, "workloads/%s.py", w->name);
    parse_axes(b.arena, w->axes, &o);
    struct stages s = stages_new(b.arena, NULL, 0);
    b.c = ws_capture(&o, &s, &b.diag);
    if (!b.c || ws_make_inputs(b.c, b.inputs, &b.diag) != WS_OK ||
        ws_make_reference(b.c, DEVICE_CPU, b.inputs, b.want, b.bounds, &b.diag) != WS_OK)
        fail_msg("%s: %s", w->name, b.diag.text);
    return b;
}

static void bed_close(struct bed *b) {
    for (int i = 0; i < b->c->n_inputs; i++) free(b->inputs[i]);
    for (int i = 0; i < b->c->n_outputs; i++) free(b->want[i]), free(b->bounds[i]);
    arena_free(b->arena);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static dptr uploaded(struct bed *b, const void *bytes, size_t n) {
    dptr at = 0;
    if (device_alloc(b->dev, n, &at, &b->diag) != WS_OK ||
        device_upload(b->dev, at, bytes, n, &b->diag) != WS_OK)
        fail_msg("%s", b->diag.text);
    return at;
}

/* Is any element of output i wrong, were these its values? */
static bool is_wrong(struct bed *b, int i, const void *values) {
    struct ws_tensor_info t = ws_output_info(b->c, i);
    enum dtype as = dtype_reference(t.dtype);
    size_t n = (size_t)t.numel;
    char *got = test_malloc(n * (size_t)dtype_bytes(t.dtype));
    for (size_t k = 0; k < n; k++)
        if (as == DT_I64)
            dtype_store_int(t.dtype, got, k, dtype_load_int(as, values, k));
        else
            dtype_store(t.dtype, got, k, dtype_load(as, values, k));
    dptr at = uploaded(b, got, n * (size_t)dtype_bytes(t.dtype));
    dptr want = uploaded(b, b->want[i], n * (size_t)dtype_bytes(as)), bound = 0;
    if (b->bounds[i]) bound = uploaded(b, b->bounds[i], n * sizeof(float));
    struct mismatch m;
    assert_int_equal(device_compare(b->dev, at, t.dtype, want, t.numel, bound, &m, &b->diag),
                     WS_OK);
    device_free(b->dev, at);
    device_free(b->dev, want);
    if (bound) device_free(b->dev, bound);
    test_free(got);
    return m.bad > 0;
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static double draw(uint64_t seed, uint64_t which) { return random_uniform(seed, 77, which); }

static int64_t below(uint64_t seed, uint64_t which, int64_t n) {
    return (int64_t)(draw(seed, which) * (double)n);
}

/* One element of output 0 changed. */
static double off(const struct bed *b, enum mistake how, int64_t at) {
    struct ws_tensor_info t = ws_output_info(b->c, 0);
    const double *want = b->want[0];
    if (how == STALE) return want[at] == 0 ? 1 : 0;
    if (how == ROUNDED) {
        uint16_t half;
        dtype_store(DT_BF16, &half, 0, want[at]);
        return dtype_load(DT_BF16, &half, 0);
    }
    double v = (double)(float)want[at];
    assert_int_equal(t.dtype, DT_F32);
    int exponent;
    frexp(v, &exponent);
    return v + 4 * (v == 0 ? 0x1p-149 : ldexp(1, exponent - 24));
}

/* An element of an input as the mistake reads it. */
static void change_input(const struct bed *b, const struct workload *w, enum mistake how,
                         uint64_t seed) {
    struct ws_tensor_info t = ws_input_info(b->c, w->input);
    float *x = b->inputs[w->input];
    int64_t row = t.rank ? t.size[t.rank - 1] : 1, at = below(seed, 1, t.numel);
    if (how == MASK) at = at / row * row + row - 1; /* the last of its row */
    x[at] = how == NEIGHBOUR ? x[at > 0 ? at - 1 : at + 1] : 0;
}

/* Is the mistake found? *planted: it changes some output. */
static bool is_caught(struct bed *b, const struct workload *w, enum mistake how, uint64_t seed,
                      bool *planted) {
    void *got[MOST];
    float *bounds[MOST];
    bool caught = false;
    *planted = false;
    if (how == ULP || how == STALE || how == ROUNDED) {
        struct ws_tensor_info t = ws_output_info(b->c, 0);
        int64_t at = below(seed, 1, t.numel);
        double *want = b->want[0], *changed = test_malloc((size_t)t.numel * sizeof *changed);
        memcpy(changed, want, (size_t)t.numel * sizeof *changed);
        changed[at] = off(b, how, at);
        *planted = changed[at] != (double)(float)want[at];
        caught = is_wrong(b, 0, changed);
        test_free(changed);
        return caught;
    }
    change_input(b, w, how, seed);
    if (ws_make_reference(b->c, DEVICE_CPU, b->inputs, got, bounds, &b->diag) != WS_OK)
        fail_msg("%s: %s", w->name, b->diag.text);
    for (int i = 0; i < b->c->n_outputs; i++) {
        struct ws_tensor_info t = ws_output_info(b->c, i);
        enum dtype as = dtype_reference(t.dtype);
        for (int64_t k = 0; k < t.numel; k++) {
            double g = dtype_load(as, got[i], (size_t)k), v = dtype_load(as, b->want[i], (size_t)k);
            *planted |= (float)g != (float)v && !(isnan(g) && isnan(v));
        }
        caught |= is_wrong(b, i, got[i]);
        free(got[i]);
        free(bounds[i]);
    }
    return caught;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool suits(const struct workload *w, const struct bed *b, enum mistake how) {
    if (how == ULP) return w->pointwise;
    if (how == TERM) return w->sums;
    if (how == ROUNDED && w->sums) return false; /* which may be off by as much */
    if (how == STALE || how == ROUNDED) return ws_output_info(b->c, 0).dtype == DT_F32;
    return true;
}

static void test_planted(void **state) {
    (void)state;
    const char *path = getenv("PLANTED_CSV");
    int wanted = path ? ALL : PLANTED, planted = 0, caught = 0;
    FILE *csv = path ? fopen(path, "w") : NULL;
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct device *dev;
    assert_int_equal(device_open_untimed("cpu", &env, a, &d, &dev), WS_OK);
    if (csv) fputs("workload,axes,mistake,seed,caught\n", csv);
    for (uint64_t seed = 1; planted < wanted; seed++) {
        const struct workload *w = &workloads[(seed - 1) % WORKLOADS];
        enum mistake how = (enum mistake)((seed - 1 + (seed - 1) / WORKLOADS) % MISTAKES);
        struct bed b = bed_open(w, dev, seed);
        bool is_planted = false, found = false;
        if (w->pointwise && seed / WORKLOADS % 2) how = ULP;
        for (int i = 0; i < b.c->n_outputs; i++)
            if (is_wrong(&b, i, b.want[i])) fail_msg("%s: what is right is wrong", w->name);
        for (int turn = 0; turn < MISTAKES && !suits(w, &b, how); turn++)
            how = (enum mistake)((how + 1) % MISTAKES);
        found = is_caught(&b, w, how, seed, &is_planted);
        if (is_planted) {
            planted++;
            caught += found;
            if (csv)
                fprintf(csv, "%s,%s,%s,%llu,%s\n", w->name, w->axes, names[how],
                        (unsigned long long)seed, found ? "yes" : "no");
            else if (!found)
                print_message("%s %s, seed %llu: %s is not found\n", w->name, w->axes,
                              (unsigned long long)seed, names[how]);
        }
        bed_close(&b);
    }
    if (csv) fclose(csv);
    print_message("%d of %d planted mistakes caught\n", caught, planted);
    device_close(dev);
    arena_free(a);
    assert_true(caught >= planted - (planted + 99) / 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_planted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
