/* test_compile_judged.c: a reference with a wrong element is refused, with its place and both
 * values, and a right one is not. Elements that are sampled where there is no memory for more, and
 * their bounds, are those of the whole reference. */
#include "graph_test.h"
#include "judged.h"
#include "ws_backend.h"
#include "ws_tune.h"

#define GRAPH                                                                                      \
    "graph(%x: f32[16, 64], %y: f32[64, 8], %i: i64[16]) {\n  %p = matmul(%x, %y)\n"               \
    "  %s = softmax(%p, 1)\n  %r = rand(16, index=0)\n  %a = add(%i, 1)\n"                         \
    "  return %p, %s, %r, %a\n}\n"

struct judged {
    struct arena *a;
    struct graph *g;
    struct diag d;
    struct value in[3], out[4];
    struct sample_verdict v;
};

static bool is_right(struct judged *j) {
    struct sample_source inputs = {j->in, value_load}, outputs = {j->out, value_load};
    return reference_judge(j->g, &inputs, &outputs, &j->v, &j->d);
}

static void open_graph(struct judged *j) {
    j->a = arena_new();
    j->d = diag_new(j->a);
    j->g = must_parse(j->a, GRAPH);
    j->g->seed = 3;
    random_inputs(j->g, j->in);
    must_eval(j->g, j->in, j->out);
    struct value *i = &j->in[2]; /* integers are integers */
    i->w = calloc((size_t)i->n, sizeof *i->w);
    for (int64_t k = 0; k < i->n; k++) i->w[k] = (int64_t)i->v[k];
}

static void close_graph(struct judged *j) {
    free_values(j->in, 3);
    free_values(j->out, 4);
    arena_free(j->a);
}

static void test_right(void **state) {
    struct judged j;
    open_graph(&j);
    if (!is_right(&j)) fail_msg("%s", j.d.text);
    assert_int_equal(j.v.judged, 128 + 128 + 16 + 16); /* all: no output has 256 */
    close_graph(&j);
}

static void test_wrong(void **state) {
    struct judged j;
    open_graph(&j);
    j.out[1].v[3 * 8 + 5] *= 1 + 1e-9;
    assert_false(is_right(&j));
    assert_int_equal(j.d.status, WS_WRONG);
    assert_non_null(strstr(j.d.text, "a mistake of warpsmith: out1[3, 5] of the reference is"));
    close_graph(&j);
    open_graph(&j);
    j.out[2].v[7] = 0.5;
    assert_false(is_right(&j));
    assert_non_null(strstr(j.d.text, "out2[7] of the reference is 0.5, but by itself"));
    close_graph(&j);
    open_graph(&j);
    j.out[3].w[15]++;
    assert_false(is_right(&j));
    assert_non_null(strstr(j.d.text, "out3[15] of the reference is"));
    close_graph(&j);
}

#define SAMPLED_GRAPH                                                                              \
    "graph(%x: bf16[16, 64], %y: bf16[64, 80]) {\n  %p = matmul(%x, %y)\n"                         \
    "  %s = softmax(%p, 1)\n  %a = argmax(%x, 1)\n  return %s, %a\n}\n"
#define SAMPLED_INPUTS                                                                             \
    "graph() {\n  %x = randn([16, 64], index=0)\n  %y = randn([64, 80], index=1)\n"                \
    "  return %x, %y\n}\n"

static void must_be_same(const struct sample_taken *s, const void *want, const float *bound,
                         bool whole) {
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = s->at[i];
        const double *x = want, *y = s->want;
        const int64_t *v = want, *w = s->want;
        if (whole)
            assert_true(v[at] == w[i]);
        else
            assert_true(fabs(x[at] - y[i]) <= 1e-12 * fabs(x[at]));
        float b = ws_bound_up(s->bound[i]), c = bound ? bound[at] : 0;
        assert_true(fabsf(b - c) <= 1e-6f * c);
    }
}

static void test_sampled(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct ws_captured *c = ws_captured_of(a, must_parse(a, SAMPLED_GRAPH), "test");
    c->init = must_parse(a, SAMPLED_INPUTS);
    void *in[2], *nothing[2] = {NULL, NULL}, *want[2];
    float *bounds[2];
    struct sample_taken taken[2];
    assert_int_equal(ws_make_inputs(c, in, &d), WS_OK);
    assert_int_equal(ws_make_reference(c, DEVICE_CPU, in, want, bounds, &d), WS_OK);
    for (int there = 0; there < 2; there++) { /* inputs that are not are computed as well */
        if (ws_sample_reference(c, DEVICE_CPU, there ? in : nothing, taken, &d) != WS_OK)
            fail_msg("%s", d.text);
        assert_int_equal(taken[0].n, 256);
        assert_int_equal(taken[1].n, 16);
        for (int i = 0; i < 2; i++) {
            must_be_same(&taken[i], want[i], bounds[i], i == 1);
            free(taken[i].at);
            free(taken[i].want);
            free(taken[i].bound);
        }
    }
    for (int i = 0; i < 2; i++) {
        free(in[i]);
        free(want[i]);
        free(bounds[i]);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_wrong),
                                       cmocka_unit_test(test_sampled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
