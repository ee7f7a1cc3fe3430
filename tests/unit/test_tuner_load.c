/* test_tuner_load.c: what is made at load is made once, of the parameters as they were then: calls
 * read it, and do not make it again; a check that begins with the load does. On a CPU. */
#include "graph_test.h"
#include "machine_test.h"
#include "part.h"
#include "tuner/plan.h"

/* A norm of rows of weights, and weights that are masked: calls read what these come to alone. */
#define WEIGHTS                                                                                    \
    "graph(%x: f32[24, 48] = L['x'], %v: f32[200, 48] = parameter L['self'].v, "                   \
    "%m: f32[200, 48] = buffer L['self'].m) {\n"                                                   \
    "  %s = mul(%v, %v)\n  %n = sum(%s, dim=[1], keepdim=True)\n  %q = sqrt(%n)\n"                 \
    "  %w = div(%v, %q)\n  %k = mul(%w, %m)\n  %t = t(%k)\n  %y = matmul(%x, %t)\n"
#define PLAIN WEIGHTS "  return %y\n}\n"
#define UPDATED WEIGHTS "  %u = add(%v, 1)\n  return %y, %v = %u\n}\n"
#define INPUTS                                                                                     \
    "graph() {\n  %x = randn([24, 48], index=0)\n  %v = rand([200, 48], index=1)\n"                \
    "  %m = rand([200, 48], index=2)\n  return %x, %v, %m\n}\n"

struct bed {
    struct arena *a;
    struct diag d;
    struct ws_program *p;
    struct plan plan;
    struct builder builder;
    struct data data;
    struct buffers memory;
};

static void open_bed(struct bed *b, const char *graph, bool fixed, enum ws_fusion fusion) {
    struct arena *a = arena_new();
    *b = (struct bed){.a = a, .d = diag_new(a)};
    struct graph *g = must_parse(a, graph);
    g->fixed = fixed;
    struct ws_captured *c = ws_captured_of(a, g, "test");
    c->init = must_parse(a, INPUTS);
    b->p = ws_lower(c, &machine.limits, fusion, NULL, &b->d);
    assert_non_null(b->p);
    b->plan = plan_new("test", b->p, a);
    for (int k = 0; k < b->p->n_kernels; k++) {
        const struct config *configs;
        int n, pruned;
        ws_configs(b->p, k, &configs, &n, &pruned);
        b->plan.chosen[k] = NEW(a, struct variant);
        *b->plan.chosen[k] = variant_new(b->p, k, &configs[0], a);
        b->plan.chosen[k]->is_default = true;
    }
    data_open(&b->data, &machine, b->p, a);
    if (builder_open(&b->builder, &machine, NULL, a, &b->d) != WS_OK ||
        plan_begin(&b->plan, &b->builder, &b->d) != WS_OK ||
        plan_finish(&b->plan, &b->builder, &b->d) != WS_OK ||
        data_make_inputs(&b->data, &b->d) != WS_OK ||
        data_make_reference(&b->data, &b->d) != WS_OK ||
        buffers_place(&b->memory, &b->data, b->p, false, a, &b->d) != WS_OK)
        fail_msg("%s", b->d.text);
}

static void close_bed(struct bed *b) {
    builder_close(&b->builder);
    plan_unload(&b->plan, &machine);
    buffers_free(&b->memory);
    data_close(&b->data);
    arena_free(b->a);
}

static int at_load(const struct bed *b) {
    int n = 0;
    for (int k = 0; k < b->p->n_kernels; k++) n += b->p->kernels[k].at_load;
    return n;
}

static enum ws_status check(struct bed *b, bool again) {
    struct diag d = diag_new(b->a);
    return again ? plan_check_again(&b->plan, &b->data, &b->memory, &d)
                 : plan_check(&b->plan, &b->data, &b->memory, false, &d);
}

static void test_once(void **state) {
    struct bed b;
    struct launches l;
    (void)state;
    open_bed(&b, PLAIN, true, WS_FUSE);
    assert_true(at_load(&b) > 0);
    assert_int_equal(plan_launches(&b.plan, &b.memory, &l, &b.d), WS_OK);
    assert_int_equal(l.n + l.n_load, b.p->n_kernels);
    assert_int_equal(l.n_load, at_load(&b));
    assert_true(l.kept >= 200 * 48 * 4);
    if (check(&b, false) != WS_OK) fail_msg("the program is wrong");
    assert_int_equal(check(&b, true), WS_OK);
    /* Parameters change, which they were said not to: calls do not see it, */
    device_fill(machine.device, b.data.inputs[1], 0, 200 * 48 * 4, &b.d);
    assert_int_equal(check(&b, true), WS_OK);
    assert_int_equal(check(&b, true), WS_OK);
    /* and other arguments, they do; */
    device_fill(machine.device, b.data.inputs[0], 0, 24 * 48 * 4, &b.d);
    assert_int_equal(check(&b, true), WS_WRONG);
    device_upload(machine.device, b.data.inputs[0], b.data.host_inputs[0], 24 * 48 * 4, &b.d);
    assert_int_equal(check(&b, true), WS_OK);
    /* the load does. */
    assert_int_equal(check(&b, false), WS_WRONG);
    device_upload(machine.device, b.data.inputs[1], b.data.host_inputs[1], 200 * 48 * 4, &b.d);
    assert_int_equal(check(&b, true), WS_WRONG);
    assert_int_equal(check(&b, false), WS_OK);
    close_bed(&b);
}

/* A call that writes where something is kept is found by the next. */
static void test_spoilt(void **state) {
    struct bed b;
    (void)state;
    open_bed(&b, PLAIN, true, WS_FUSE);
    assert_int_equal(check(&b, false), WS_OK);
    for (int i = 0; i < b.p->n_buffers; i++)
        if (b.p->buffers[i].fixed && b.p->buffers[i].bytes)
            device_fill(machine.device, b.memory.at[i], 1, b.p->buffers[i].bytes, &b.d);
    assert_int_equal(check(&b, true), WS_WRONG);
    assert_int_equal(check(&b, false), WS_OK);
    close_bed(&b);
}

/* Where nothing is said of parameters, or operators run one by one, all is made in each call. */
static void test_changing(void **state) {
    (void)state;
    for (int eager = 0; eager < 2; eager++) {
        struct bed b;
        struct launches l;
        open_bed(&b, PLAIN, eager, eager ? WS_EAGER : WS_FUSE);
        assert_int_equal(at_load(&b), 0);
        assert_int_equal(plan_launches(&b.plan, &b.memory, &l, &b.d), WS_OK);
        assert_int_equal(l.n_load, 0);
        assert_int_equal(l.kept, 0);
        assert_int_equal(check(&b, false), WS_OK);
        device_fill(machine.device, b.data.inputs[1], 0, 200 * 48 * 4, &b.d);
        assert_int_equal(check(&b, true), WS_WRONG);
        close_bed(&b);
    }
}

/* What the program updates is no constant, nor what is made of it. */
static void test_updated(void **state) {
    struct bed b;
    (void)state;
    open_bed(&b, UPDATED, true, WS_FUSE);
    assert_int_equal(at_load(&b), 0);
    if (check(&b, false) != WS_OK) fail_msg("the program is wrong");
    close_bed(&b);
}

/* Where buffers lie apart, a program keeps what all of its kernels have made at load, and a kernel
 * alone its own. */
static void test_kept_apart(void **state) {
    struct bed b;
    struct buffers apart;
    struct launches l;
    (void)state;
    open_bed(&b, PLAIN, true, WS_EAGER);
    assert_true(b.p->n_kernels > 2);
    for (int k = 0; k < b.p->n_kernels; k++) b.plan.chosen[k]->source.kept = 64;
    assert_int_equal(buffers_place(&apart, &b.data, b.p, true, b.a, &b.d), WS_OK);
    assert_int_equal(plan_launches(&b.plan, &apart, &l, &b.d), WS_OK);
    assert_int_equal(apart.kept.n, b.p->n_kernels);
    assert_int_equal(variant_launches(b.plan.chosen[1], &apart, &l, &b.d), WS_OK);
    assert_int_equal(apart.kept.n, 1);
    assert_int_equal(apart.kept.at[0].kernel, 1);
    buffers_free(&apart);
    close_bed(&b);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once), cmocka_unit_test(test_spoilt), cmocka_unit_test(test_changing),
        cmocka_unit_test(test_updated), cmocka_unit_test(test_kept_apart)};
    return cmocka_run_group_tests_name("tuner_load", tests, open_cpu, close_cpu);
}
