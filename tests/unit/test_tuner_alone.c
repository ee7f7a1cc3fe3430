/* test_tuner_alone.c: a mistake planted into one of five kernels has the name of that kernel, also
 * where all behind it work on what it left; without one nothing is wrong, and all is judged. A
 * kernel that reads what is no tensor of the graph is judged from what that was made of.
 *
 * The mistake: the element at `place` of what a kernel writes is off by a share of itself. */
#include <stdio.h>

#include "graph_test.h"
#include "tuner/testbed.h"

/* Eager: a kernel for each line. */
#define CHAIN                                                                                      \
    "graph(%a: f32[32, 64] = L['a'], %w: f32[32, 32] = L['w']) {\n"                                \
    "  %b = exp(%a)\n  %c = sum(%b, dim=[1], keepdim=True)\n  %d = log1p(%c)\n"                    \
    "  %e = matmul(%w, %d)\n  %f = sigmoid(%e)\n  return %f\n}\n"
#define CHAIN_INPUTS                                                                               \
    "graph() {\n  %a = randn([32, 64], index=0)\n  %w = rand([32, 32], index=1)\n"                 \
    "  return %a, %w\n}\n"

/* A sum of all that goes along its rows first, in the kernel that reads them anyway. */
#define ROWS                                                                                       \
    "graph(%a: f32[512, 1024] = L['a']) {\n  %b = softmax(%a, dim=1)\n  %c = mul(%b, %a)\n"        \
    "  %d = sum(%c)\n  %e = log(%d)\n  return %e\n}\n"
#define ROWS_INPUTS "graph() {\n  %a = randn([512, 1024], index=0)\n  return %a\n}\n"

static struct machine machine;

struct bed {
    struct arena *a;
    struct diag d;
    struct ws_program *p;
    struct plan plan;
    struct builder builder;
    struct data data;
};

/* `text` with a last statement in the function that it ends with. */
static const char *planted(struct arena *a, const char *text, int arg, int place, double share) {
    const char *end = strrchr(text, '}');
    return arena_printf(a, "%.*s    (*(float *const *)args[%d])[%d] *= %.9gf;\n}\n",
                        (int)(end - text), text, arg, place, 1 + share);
}

static void plant(struct bed *b, int kernel, int place, double share) {
    struct variant *v = b->plan.chosen[kernel];
    assert_true(variant_emit(v, b->a));
    struct ws_source s = v->source;
    const struct ws_launch *l = &s.launches[s.n_launches - 1];
    for (int i = 0; i < l->n_args; i++)
        if (l->args[i].kind == WS_ARG_BUFFER &&
            l->args[i].buffer == b->p->kernels[kernel].writes[0])
            s.text = planted(b->a, v->source.text, i, place, share);
    assert_ptr_not_equal(s.text, v->source.text);
    variant_take_source(v, &s, b->a);
}

static void open_bed(struct bed *b, const char *graph, const char *inputs, enum ws_fusion fusion) {
    *b = (struct bed){.a = arena_new()};
    b->d = diag_new(b->a);
    struct ws_captured *c = ws_captured_of(b->a, must_parse(b->a, graph), "test");
    c->init = must_parse(b->a, inputs);
    b->p = ws_lower(c, &machine.limits, fusion, NULL, &b->d);
    assert_non_null(b->p);
    b->plan = plan_new("planted", b->p, b->a);
    for (int k = 0; k < b->p->n_kernels; k++) {
        const struct config *configs;
        int n, pruned;
        ws_configs(b->p, k, &configs, &n, &pruned);
        b->plan.chosen[k] = NEW(b->a, struct variant);
        *b->plan.chosen[k] = variant_new(b->p, k, &configs[0], b->a);
    }
    data_open(&b->data, &machine, b->p, b->a);
    assert_int_equal(builder_open(&b->builder, &machine, NULL, b->a, &b->d), WS_OK);
}

static void build(struct bed *b) {
    if (plan_begin(&b->plan, &b->builder, &b->d) != WS_OK ||
        plan_finish(&b->plan, &b->builder, &b->d) != WS_OK ||
        data_make_inputs(&b->data, &b->d) != WS_OK || data_make_reference(&b->data, &b->d) != WS_OK)
        fail_msg("%s", b->d.text);
}

static void close_bed(struct bed *b) {
    builder_close(&b->builder);
    plan_unload(&b->plan, &machine);
    data_close(&b->data);
    arena_free(b->a);
}

static void test_right(void **state) {
    struct bed b;
    const char *remark;
    open_bed(&b, CHAIN, CHAIN_INPUTS, WS_EAGER);
    build(&b);
    assert_int_equal(b.p->n_kernels, 5);
    if (testbed_judge(&b.data, &b.plan, b.a, &remark, &b.d) != WS_OK) fail_msg("%s", b.d.text);
    assert_string_equal(remark,
                        "each kernel alone: 5 of the 5 buffers that they write are judged\n");
    close_bed(&b);
}

static void test_planted(void **state) {
    static const double shares[] = {1e-5, 0.5};
    for (int kernel = 0; kernel < 5; kernel++) {
        struct bed b;
        const char *remark;
        open_bed(&b, CHAIN, CHAIN_INPUTS, WS_EAGER);
        plant(&b, kernel, 17, shares[kernel % 2]);
        build(&b);
        assert_int_equal(testbed_judge(&b.data, &b.plan, b.a, &remark, &b.d), WS_WRONG);
        const char *want = arena_printf(b.a, "kernel %s alone: ", b.p->kernels[kernel].name);
        if (!strstr(b.d.text, want)) fail_msg("no '%s' in: %s", want, b.d.text);
        assert_non_null(strstr(b.d.text, "(1 of "));
        assert_string_equal(testbed_blame(&b.data, &b.plan, b.a), b.d.message);
        close_bed(&b);
    }
}

static void test_parts_of_a_sum(void **state) {
    struct bed b;
    const char *remark;
    open_bed(&b, ROWS, ROWS_INPUTS, WS_FUSE);
    build(&b);
    if (testbed_judge(&b.data, &b.plan, b.a, &remark, &b.d) != WS_OK) fail_msg("%s", b.d.text);
    assert_string_equal(remark,
                        "each kernel alone: 1 of the 2 buffers that they write are judged\n");
    close_bed(&b);
}

int main(void) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    if (machine_open("cpu", a, &machine, &d) != WS_OK) {
        fprintf(stderr, "%s", d.text);
        return 1;
    }
    const struct CMUnitTest all[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_planted),
                                     cmocka_unit_test(test_parts_of_a_sum)};
    int failed = cmocka_run_group_tests(all, NULL, NULL);
    machine_close(&machine);
    arena_free(a);
    return failed;
}
