/* test_tuner_data.c: inputs, outputs and the reference of a workload on the device: made by the
 * interpreter or by kernels, compared, trusted, lent and made again. No kernel of the workload
 * runs: what a program would leave is uploaded. */
#include "graph_test.h"
#include "heap_test.h"
#include "machine_test.h"
#include "tuner/data.h"
#include "tuner/guarded.h"

/* Two outputs; the second may be anything where the sum is 0 up to roundings, in row 0 of three. */
#define SMALL                                                                                      \
    "graph(%a: f32[3, 64] = L['a']) {\n  %b = sum(%a, dim=[1])\n  %f = flip(%a, dims=[1])\n"       \
    "  %c = sum(%f, dim=[1])\n  %d = sub(%b, %c)\n  %w = arange(0, 3, 1, dtype=f32)\n"             \
    "  %g = add(%d, %w)\n  %e = reciprocal(%g)\n  return %b, %e\n}\n"
#define SMALL_INPUTS "graph() {\n  %a = randn([3, 64], index=0)\n  return %a\n}\n"

struct bed {
    struct arena *a;
    struct diag d;
    struct ws_program *p;
    struct data x;
};

static struct bed bed_open(const char *graph, const char *inputs) {
    struct bed b = {.a = arena_new()};
    b.d = diag_new(b.a);
    struct ws_captured *c = ws_captured_of(b.a, must_parse(b.a, graph), "test");
    c->init = must_parse(b.a, inputs);
    b.p = ws_lower(c, &machine.limits, WS_FUSE, NULL, &b.d);
    assert_non_null(b.p);
    return b;
}

static void bed_make(struct bed *b) {
    data_open(&b->x, &machine, b->p, b->a);
    if (data_make_inputs(&b->x, &b->d) != WS_OK || data_make_reference(&b->x, &b->d) != WS_OK)
        fail_msg("%s", b->d.text);
}

static void bed_close(struct bed *b) {
    data_close(&b->x);
    assert_null(b->x.machine);
    data_close(&b->x); /* again: nothing */
    arena_free(b->a);
}

/* What should be at element k of output i, and what may be off there. */
static double wanted(const struct bed *b, int i, int64_t k, double *bound) {
    const struct expected *e = &b->x.expected[i];
    struct diag d = diag_new(b->a);
    double want;
    float off;
    device_download(machine.device, &want, e->want + (dptr)k * sizeof want, sizeof want, &d);
    device_download(machine.device, &off, e->bound + (dptr)k * sizeof off, sizeof off, &d);
    assert_int_equal(d.status, WS_OK);
    *bound = off;
    return want;
}

/* The program that ran last has left output i right, but element `at` so many bounds off. */
static void leave(struct bed *b, int i, int64_t at, double bounds) {
    struct ws_tensor_info t = ws_output_info(b->x.captured, i);
    float *values = test_malloc(t.bytes);
    for (int64_t k = 0; k < t.numel; k++) {
        double bound, want = wanted(b, i, k, &bound);
        values[k] = (float)(k == at ? want + bounds * bound : want);
    }
    if (data_place_output(&b->x, i, &b->x.outputs[i], &b->d) != WS_OK ||
        device_upload(machine.device, b->x.outputs[i], values, t.bytes, &b->d) != WS_OK)
        fail_msg("%s", b->d.text);
    test_free(values);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void test_right_and_wrong(void **state) {
    struct bed b = bed_open(SMALL, SMALL_INPUTS);
    bed_make(&b);
    assert_string_equal(reference_name(b.x.reference), "eval");
    assert_null(data_worst(&b.x).where); /* nothing was compared */
    leave(&b, 0, -1, 0), leave(&b, 1, -1, 0);
    assert_int_equal(data_check_outputs(&b.x, "it", &b.d), WS_OK);

    leave(&b, 0, 2, 0.5);
    assert_int_equal(data_check_outputs(&b.x, "it", &b.d), WS_OK);
    struct data_worst w = data_worst(&b.x);
    assert_string_equal(w.where, "out0[2]");
    assert_true(w.error > 0.4 * w.bound && w.error < 0.6 * w.bound);
    assert_non_null(strstr(data_remark(&b.x), "check: out0[2] is the furthest off, by "));

    leave(&b, 0, 1, 3);
    assert_int_equal(data_check_outputs(&b.x, "it", &b.d), WS_WRONG);
    assert_non_null(strstr(b.d.text, "it is wrong: out0[1] is "));
    assert_non_null(strstr(b.d.text, "(1 of 3 elements is wrong)"));
    bed_close(&b);
}

/* The later of two outputs is compared, too, and named. */
static void test_second_output(void **state) {
    struct bed b = bed_open(SMALL, SMALL_INPUTS);
    bed_make(&b);
    leave(&b, 0, -1, 0), leave(&b, 1, 2, 3);
    assert_int_equal(data_check_outputs(&b.x, "it", &b.d), WS_WRONG);
    assert_non_null(strstr(b.d.text, "out1[2] is "));
    bed_close(&b);
}

/* What may be anything is said, and is judged if the kernels behind it are. */
static void test_unbounded(void **state) {
    struct bed b = bed_open(SMALL, SMALL_INPUTS);
    double bound;
    bed_make(&b);
    wanted(&b, 1, 0, &bound);
    assert_true(isinf(bound));
    leave(&b, 0, -1, 0), leave(&b, 1, -1, 0);
    assert_int_equal(data_check_outputs(&b.x, "it", &b.d), WS_OK);
    struct data_worst w = data_worst(&b.x);
    assert_int_equal(w.unbounded, 1);
    assert_int_equal(w.unjudged, 1);
    assert_string_equal(data_unjudged(&b.x),
                        "check: 1 of 3 elements of out1 have no bound: not judged\n");
    b.x.by_kernels[1] = true;
    w = data_worst(&b.x);
    assert_int_equal(w.unbounded, 1);
    assert_int_equal(w.unjudged, 0);
    assert_string_equal(data_unjudged(&b.x),
                        "check: 1 elements of 1 output, the first of them out1, have no bound as a "
                        "whole: judged kernel by kernel\n");
    bed_close(&b);
}

/* What a trusted program has left is the reference from then on, exactly, or to a share of it. */
static void test_trusted(void **state) {
    for (int shared = 0; shared < 2; shared++) {
        struct bed b = bed_open(SMALL, SMALL_INPUTS);
        bed_make(&b);
        leave(&b, 0, 1, 3), leave(&b, 1, -1, 0); /* wrong: it is not asked whether it is right */
        if (shared) b.x.share[0] = 1e-3;
        for (int i = 0; i < 2; i++) expected_free(machine.device, &b.x.expected[i]);
        assert_int_equal(data_trust_outputs(&b.x, &b.d), WS_OK);
        assert_string_equal(reference_name(b.x.reference), "trusted");
        assert_int_equal(data_check_outputs(&b.x, "it", &b.d), WS_OK);
        float near;
        dptr at = b.x.outputs[0] + 2 * sizeof near;
        device_download(machine.device, &near, at, sizeof near, &b.d);
        near *= 1 + 1e-4f;
        device_upload(machine.device, at, &near, sizeof near, &b.d);
        assert_int_equal(data_check_outputs(&b.x, "it", &b.d), shared ? WS_OK : WS_WRONG);
        bed_close(&b);
    }
}

/* What the device had is gone; the one of this very process would go on having it. */
static void reset(struct bed *b) {
    for (int i = 0; i < b->x.captured->n_inputs; i++) {
        if (b->x.kept[i]) device_keep(machine.device, b->x.inputs[i], 0, &b->d);
        guarded_free(machine.device, b->x.inputs[i]);
    }
    for (int i = 0; i < b->x.captured->n_outputs; i++) {
        struct expected gone = b->x.expected[i];
        guarded_free(machine.device, b->x.memory[i]);
        expected_free(machine.device, &gone);
    }
    device_reset(machine.device, &b->d);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* An input of which an output keeps some holds what a program has left in it, until it is put back.
 */
static void test_kept_places(void **state) {
    struct bed b = bed_open(SMALL, SMALL_INPUTS);
    float was[2], is[2] = {7, 8};
    dptr at = 0, again = 0;
    bed_make(&b);
    device_download(machine.device, was, b.x.inputs[0], sizeof was, &b.d);
    assert_int_equal(data_place_kept(&b.x, 0, &at, &b.d), WS_OK);
    assert_true(at == b.x.inputs[0]);
    device_upload(machine.device, at, is, sizeof is, &b.d);
    assert_int_equal(data_place_kept(&b.x, 0, &again, &b.d), WS_OK);
    assert_int_equal(device_run(machine.device, NULL, 0, &b.d), WS_OK);
    device_download(machine.device, is, again, sizeof is, &b.d);
    assert_true(is[0] == 7 && is[1] == 8);
    assert_int_equal(data_put_back(&b.x, 0, &b.d), WS_OK);
    device_download(machine.device, is, at, sizeof is, &b.d);
    assert_memory_equal(is, was, sizeof is);
    bed_close(&b);
}

/* An output has one place; an input that is updated in place is kept, until its memory is new. */
static void test_places(void **state) {
    struct bed b = bed_open(SMALL, SMALL_INPUTS);
    dptr first = 0, again = 0, input = 0;
    bed_make(&b);
    assert_int_equal(data_place_output(&b.x, 0, &first, &b.d), WS_OK);
    assert_int_equal(data_place_output(&b.x, 0, &again, &b.d), WS_OK);
    assert_true(first && first == again);
    assert_false(b.x.kept[0]);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(data_place_update(&b.x, 0, &input, &b.d), WS_OK);
        assert_true(input == b.x.inputs[0] && b.x.kept[0]);
    }
    reset(&b);
    assert_int_equal(data_restore(&b.x, &b.d), WS_OK);
    assert_false(b.x.kept[0]);
    bed_close(&b);
}

/* ---- inputs and references ------------------------------------------------------------------- */

static void test_fetched(void **state) {
    struct bed b = bed_open(SMALL, SMALL_INPUTS);
    bed_make(&b);
    float first;
    void *host = b.x.host_inputs[0];
    device_download(machine.device, &first, b.x.inputs[0], sizeof first, &b.d);
    assert_int_equal(data_fetch_inputs(&b.x, &b.d), WS_OK);
    assert_ptr_equal(b.x.host_inputs[0], host); /* they were there */
    assert_memory_equal(host, &first, sizeof first);
    free(host), b.x.host_inputs[0] = NULL;
    assert_int_equal(data_fetch_inputs(&b.x, &b.d), WS_OK);
    assert_memory_equal(b.x.host_inputs[0], &first, sizeof first);
    bed_close(&b);
}

/* After a reset all of it is there again, and the reference is the same: the interpreter's, and
 * that of kernels, which make large products sooner. */
static void test_restored(void **state) {
    static const char *const graphs[][2] = {
        {SMALL, SMALL_INPUTS},
        {"graph(%a: f32[768, 768] = L['a']) {\n  %b = matmul(%a, %a)\n  return %b\n}\n",
         "graph() {\n  %a = randn([768, 768], index=0)\n  return %a\n}\n"}};
    for (int i = 0; i < 2; i++) {
        struct bed b = bed_open(graphs[i][0], graphs[i][1]);
        double bound, bound_again, want, want_again;
        float was, is;
        bed_make(&b);
        bool kernels = ws_lower_reference(b.x.captured, DEVICE_CPU) != NULL; /* few cores */
        const char *made = kernels ? "device_f64" : "eval";
        assert_string_equal(reference_name(b.x.reference), made);
        assert_true(kernels == (b.x.judged > 0)); /* some by the interpreter, too */
        want = wanted(&b, 0, 1, &bound);
        device_download(machine.device, &was, b.x.inputs[0], sizeof was, &b.d);
        leave(&b, 0, -1, 0);
        reset(&b);
        assert_int_equal(data_restore(&b.x, &b.d), WS_OK);
        assert_true(!b.x.outputs[0] && !b.x.memory[0]); /* nobody has run since */
        assert_string_equal(reference_name(b.x.reference), made);
        want_again = wanted(&b, 0, 1, &bound_again);
        device_download(machine.device, &is, b.x.inputs[0], sizeof is, &b.d);
        assert_true(was == is && want == want_again && bound == bound_again);
        bed_close(&b);
    }
}

/* A reference that kernels make keeps nothing, of what they are compiled into above all. */
static void test_keeps_no_memory(void **state) {
    enum { WARM = 2, MORE = 2 };
    size_t kept = 0;
    for (int i = 0; i < WARM + MORE; i++) {
        if (i == WARM) kept = heap_in_use();
        struct bed b = bed_open("graph(%a: f32[768, 768] = L['a']) {\n  %b = matmul(%a, %a)\n"
                                "  return %b\n}\n",
                                "graph() {\n  %a = randn([768, 768], index=0)\n  return %a\n}\n");
        bed_make(&b);
        bed_close(&b);
    }
    assert_true(heap_in_use() <= kept);
}

/* What kernels are lent stays the lender's: its inputs come first, and are not freed. */
static void test_lent(void **state) {
    struct bed b = bed_open(SMALL, SMALL_INPUTS);
    struct data lent;
    double bound, bound_lent;
    bed_make(&b);
    data_open_lent(&lent, &b.x, b.x.captured, b.x.inputs, b.a);
    assert_ptr_equal(lent.host_inputs[0], b.x.host_inputs[0]);
    assert_int_equal(data_make_reference(&lent, &b.d), WS_OK);
    struct bed other = {.a = b.a, .x = lent};
    assert_true(wanted(&b, 0, 2, &bound) == wanted(&other, 0, 2, &bound_lent));
    assert_true(bound == bound_lent);
    data_close(&lent);
    leave(&b, 0, -1, 0), leave(&b, 1, -1, 0);
    assert_int_equal(data_check_outputs(&b.x, "it", &b.d), WS_OK);
    bed_close(&b);
}

int main(int argc, char **argv) {
    heap_exact(argv);
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_right_and_wrong), cmocka_unit_test(test_second_output),
        cmocka_unit_test(test_unbounded),       cmocka_unit_test(test_trusted),
        cmocka_unit_test(test_kept_places),     cmocka_unit_test(test_places),
        cmocka_unit_test(test_fetched),         cmocka_unit_test(test_keeps_no_memory),
        cmocka_unit_test(test_restored),        cmocka_unit_test(test_lent)};
    return cmocka_run_group_tests(all, open_cpu, close_cpu);
}
