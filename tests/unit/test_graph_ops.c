/* The table of operators alone says what is tested here: every operator whose parameters a schema
 * can fill, on every type, with operands of edge shapes that broadcast in every way, means the same
 * after decomposition as before, and so does each element alone. Operators whose sizes must fit
 * each other have cases of their own in test_graph_decompose.c. */
#include "graph_test.h"
#include "operator_cases.h"

static const enum dtype types[] = {DT_F32, DT_BF16, DT_F64, DT_I64, DT_BOOL, DT_U8, DT_I8};
enum { N_TYPES = sizeof types / sizeof *types };

static bool same_value(double a, double b) {
    return a == b || (a != a && b != b) || fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b)));
}

static void same_results(const struct graph *g, struct graph *h, bool samples) {
    struct value in[MAX_TEST_VALUES], before[1], after[1];
    random_inputs(g, in);
    must_eval(g, in, before);
    must_eval(h, in, after);
    assert_int_equal(before->n, after->n);
    for (int64_t i = 0; i < before->n; i++)
        if (!same_value(value_number(before, i), value_number(after, i)))
            fail_msg("element %lld: %.17g before, %.17g after\n%s\n%s", (long long)i,
                     value_number(before, i), value_number(after, i), printed(g), printed(h));
    if (samples) must_sample(h, in, after);
    free_values(in, g->inputs.n);
    free_values(before, 1);
    free_values(after, 1);
}

static void check(struct graph *g) {
    struct graph *h = graph_decompose(g), *s = graph_simplify(h);
    const char *wrong = graph_verify(h, true);
    if (!wrong) wrong = graph_verify(s, true);
    if (wrong) fail_msg("%s\n%s", wrong, printed(h));
    assert_string_equal(result_type(g), result_type(h));
    assert_string_equal(result_type(g), result_type(s));
    assert_string_equal(printed(must_parse(g->arena, printed(h))), printed(h));
    same_results(g, h, true);
    same_results(h, s, false);
}

/* All shapes for f32, a few of them for each other type, each with every way to fill the rest. An
 * operator may refuse a type or a shape; it must take something. */
static int check_operator(const struct op_info *op) {
    enum { WAYS = 3 };
    int taken = 0;
    for (int k = 0; k < N_TYPES * N_SHAPES; k++) {
        int t = k % N_TYPES, shape = k / N_TYPES;
        if (t && (shape + (int)op->id) % 4 != t % 4) continue;
        for (int way = 0; way < WAYS; way++) {
            struct arena *a = arena_new();
            const char *why, *text = operator_case(a, op, types[t], shape, way);
            struct graph *g = text ? try_parse(a, text, &why) : NULL;
            if (g) check(g), taken++;
            arena_free(a);
        }
    }
    return taken;
}

/* Sizes must fit, or there is no tensor to begin with. A list that must be given is one of sizes.
 */
static bool has_own_cases(const struct op_info *op) {
    static const enum op fitting[] = {OP_MM,        OP_MM_FLOAT8, OP_BMM,           OP_ADDMM,
                                      OP_BADDBMM,   OP_LINEAR,    OP_GROUP_NORM,    OP_BATCH_NORM,
                                      OP_ATTENTION, OP_NLL_LOSS,  OP_CROSS_ENTROPY, OP_CONVOLUTION};
    bool tensor = false, list = false;
    for (int i = 0; i < op->n_params; i++) {
        const struct param *p = &op->params[i];
        tensor |= (p->kind == 'T' || p->kind == '|') && !p->list;
        list |= p->list && !p->has_default;
    }
    for (size_t i = 0; i < sizeof fitting / sizeof *fitting; i++)
        if (op->id == fitting[i]) return true;
    return !tensor || list || takes_indices(op);
}

static void test_every_row(void **state) {
    int cases = 0, missing = 0;
    for (int o = 0; o < OP_COUNT; o++) {
        const struct op_info *op = op_info((enum op)o);
        if (op->class == LOOP) continue; /* test_graph_loop.c */
        int taken = check_operator(op);
        if (!taken && !has_own_cases(op)) {
            print_error("no case of %s(%s)\n", op->name, op->schema);
            missing++;
        }
        cases += taken;
    }
    print_message("             %d graphs\n", cases);
    assert_int_equal(missing, 0);
    assert_true(cases > 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
