/* test_compile_judged.c: a reference with a wrong element is refused, with its place and both
 * values, and a right one is not. */
#include "graph_test.h"
#include "judged.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
