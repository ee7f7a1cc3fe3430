/* Calling operators: binding, kinds, dimensions, and the words of each refusal. */
#include "graph_test.h"

static void refused(const char *inputs, const char *call, const char *want) {
    struct arena *a = arena_new();
    const char *why;
    const char *text = arena_printf(a, "graph(%s) {\n  %%r = %s\n  return %%r\n}\n", inputs, call);
    struct graph *g = try_parse(a, text, &why);
    if (g) fail_msg("%s was taken", call);
    if (!strstr(why, want)) fail_msg("%s: expected \"%s\" in\n%s", call, want, why);
    arena_free(a);
}

static void prints(const char *inputs, const char *call, const char *want) {
    struct arena *a = arena_new();
    const char *text = printed(one_op(a, inputs, call));
    if (!strstr(text, want)) fail_msg("%s: expected \"%s\" in\n%s", call, want, text);
    arena_free(a);
}

static void test_binding(void **state) {
    const char *x = "%x: f32[4, 8]";
    prints(x, "softmax(%x, -1)", "softmax(%x, dim=1, dtype=None)");
    prints(x, "softmax(input=%x, axis=0)", "softmax(%x, dim=0, dtype=None)");
    prints(x, "softmax(dim=-2, self=%x)", "softmax(%x, dim=0, dtype=None)");
    prints(x, "sum(%x, 1, keepdims=True)", "sum(%x, dim=[1], keepdim=True, dtype=None)");
    prints(x, "sum(%x)", "sum(%x, dim=None, keepdim=False, dtype=None)");
    prints(x, "view(%x, 2, -1)", "view(%x, size=[2, 16])");
    prints(x, "view(%x, [-1])", "view(%x, size=[32])");
    prints(x, "permute(%x, 1, 0)", "permute(%x, dims=[1, 0])");
    prints(x, "expand(%x, 3, -1, 8)", "expand(%x, size=[3, 4, 8])");
    prints(x, "var(%x, 1, unbiased=False)", "var(%x, dim=[1], correction=False, keepdim=False)");
    prints(x, "layer_norm(%x, 8, eps=1)", "eps=1.0)");
    prints(x, "unsqueeze(%x, -1)", "f32[4, 8, 1] = unsqueeze(%x, dim=2)");
    prints(x, "slice(%x, 1, -3, 100)",
           "f32[4, 3][8, 1] = slice(%x, dim=1, start=5, end=8, step=1)");
    prints(x, "slice(%x, 1, -100, 3)",
           "f32[4, 3][8, 1] = slice(%x, dim=1, start=0, end=3, step=1)");
    prints("%x: f32[s0]", "slice(%x, 0, -3, 1)", "start=min(s0, max(0, s0 - 3)), end=1");
    prints(x, "slice(%x, 0, 3, 1)", "f32[0, 8] = slice(%x, dim=0, start=3, end=1, step=1)");
    prints(x, "slice(%x, 1, None, None, 3)", "f32[4, 3][8, 3]");
    prints("%x: f32[s0]", "slice(%x, 0, -1)",
           "f32[1] = slice(%x, dim=0, start=s0 - 1, end=s0, step=1)");
    prints("%x: f32[s0]", "slice(%x, 0, 0, 4)", "end=min(s0, 4)");
    prints("", "arange(5)", "i64[5] = arange(start=0, end=5, step=1, dtype=None)");
    prints("", "arange(0, 1, 0.25)", "f32[4]");
    prints("", "zeros(2, 3, device='cuda', dtype=f16)",
           "f16[2, 3] = zeros(size=[2, 3], dtype=f16)");
    prints("", "rand(2, 3)", "rand(size=[2, 3], index=0, dtype=None)");
}

/* PyTorch's integers take what stands before a weight's point. */
static void test_weights(void **state) {
    (void)state;
    prints("%x: i64[2, 2]", "addmm(%x, %x, %x, beta=1.7, alpha=-2.5)",
           "addmm(%x, %x, %x, beta=1, alpha=-2)");
    prints("%x: i64[2]", "addcmul(%x, %x, %x, value=0.5)", "addcmul(%x, %x, %x, value=0)");
    prints("%x: f32[2]", "addcmul(%x, %x, %x, value=0.5)", "addcmul(%x, %x, %x, value=0.5)");
}

static void test_refusals(void **state) {
    const char *x = "%x: f32[4, 8]", *xy = "%x: f32[4, 8], %y: f32[4, 7]";
    refused(x, "softmax(%x)", "softmax() missing required argument 'dim'");
    refused(x, "softmax(%x, 1, foo=2)", "softmax() got an unexpected keyword argument 'foo'");
    refused(x, "softmax(%x, 1, dim=1)", "softmax() got multiple values for argument 'dim'");
    refused(x, "neg(%x, 1)", "neg() takes 1 positional argument but 2 were given");
    refused(x, "softmax(%x, 1.5)", "softmax(): argument 'dim' must be int, not float");
    refused(x, "softmax(%x, None)", "softmax(): argument 'dim' must be int, not None");
    refused(x, "softmax(2, 1)", "softmax(): argument 'self' must be Tensor, not int");
    refused(x, "view(%x, 1.5)", "view(): argument 'size' must be list of ints, not float");
    refused(x, "add(1, 2)", "add(): at least one operand must be a Tensor");
    refused(x, "softmax(%x, 5)", "softmax: dimension 5 out of range for a tensor of 2 dimensions");
    refused(x, "softmax(%x, -3)",
            "softmax: dimension -3 out of range for a tensor of 2 dimensions");
    refused(x, "unsqueeze(%x, 3)", "unsqueeze: dimension 3 out of range");
    refused(x, "sum(%x, [0, -2])", "sum: dimension 0 appears twice");
    refused("%x: f32[s0]", "sum(%x, s0)", "sum: a dimension must be a constant, not s0");
    refused(xy, "add(%x, %y)", "add: shapes [4, 8] and [4, 7] do not broadcast");
    refused("%x: f32[s0], %y: f32[s1]", "add(%x, %y)",
            "add: shapes [s0] and [s1] do not broadcast");
    refused(x, "view(%x, 5, -1)", "view: shape '[5, -1]' is invalid for input of size 32");
    refused(x, "view(%x, -1, -1)", "view: only one size can be -1");
    refused(x, "view(%x, -2, 4)", "view: size -2 is negative");
    refused(x, "permute(%x, 0)", "permute: 1 dimensions given for a tensor of 2");
    refused(x, "expand(%x, 4, 9)", "expand: size 8 of dimension 1 does not expand to 9");
    refused(x, "expand(%x, -1, 4, 8)", "expand: a new leading dimension cannot have size -1");
    refused(x, "slice(%x, 0, 0, 2, 0)", "slice: step must be a positive constant, not 0");
    refused("%x: f32[]", "slice(%x, 0)", "slice: cannot be applied to a 0-dim tensor");
    refused(x, "select(%x, 0, 4)", "select: index 4 out of range for dimension 0 of size 4");
    refused(x, "narrow(%x, 0, 2, 3)", "narrow: start 2 with length 3 leaves dimension 0 of size 4");
    refused(xy, "mm(%x, %y)",
            "mm: shapes [4, 8] and [4, 7] cannot be multiplied: inner sizes differ");
    refused("%x: f32[8], %y: f32[8]", "mm(%x, %y)", "mm: self must have 2 dimensions, got [8]");
    refused("%x: f32[4, 8], %y: bf16[8, 4]", "matmul(%x, %y)",
            "matmul: operands must be of one type, got f32 and bf16");
    refused("%x: f32[2, 4, 8], %y: f32[3, 8, 4]", "bmm(%x, %y)", "bmm: batch sizes of");
    refused("%x: f32[2, 4], %y: f32[2, 4, 3]", "bmm(%x, %y)",
            "bmm: self must have 3 dimensions, got [2, 4]");
    refused("%x: f32[2, 3, 4], %y: f32[2, 4]", "bmm(%x, %y)",
            "bmm: mat2 must have 3 dimensions, got [2, 4]");
    /* each of the factors alone */
    refused("%x: f32[4, 8], %y: f32[8]", "mm(%x, %y)", "mm: mat2 must have 2 dimensions, got [8]");
    refused("%b: f32[4], %x: f32[8], %y: f32[8, 4]", "addmm(%b, %x, %y)",
            "addmm: mat1 must have 2 dimensions, got [8]");
    refused("%b: f32[4], %x: f32[4, 8], %y: f32[8]", "addmm(%b, %x, %y)",
            "addmm: mat2 must have 2 dimensions, got [8]");
    refused("%b: f32[4], %x: f32[4, 8], %y: f32[2, 8, 4]", "baddbmm(%b, %x, %y)",
            "baddbmm: batch1 must have 3 dimensions, got [4, 8]");
    refused("%b: f32[4], %x: f32[2, 4, 8], %y: f32[8, 4]", "baddbmm(%b, %x, %y)",
            "baddbmm: batch2 must have 3 dimensions, got [8, 4]");
    refused("%b: f32[4], %x: f32[2, 4, 8], %y: f32[3, 8, 4]", "baddbmm(%b, %x, %y)",
            "baddbmm: batch sizes of");
    refused("%x: f32[4, 8], %w: f32[8]", "linear(%x, %w)",
            "linear: weight must have 2 dimensions, got [8]");
    refused("%x: f32[2, 4, 8], %y: f32[3, 8, 4]", "matmul(%x, %y)",
            "matmul: shapes [2] and [3] do not broadcast");
    refused(xy, "linear(%x, %y)", "does not fit a weight of shape [4, 7]");
    refused(x, "layer_norm(%x, [7])", "the input [4, 8] does not end in normalized_shape [7]");
    refused(xy, "layer_norm(%x, [8], %y)", "weight must have the shape [8], not [4, 7]");
    refused("%x: f32[2, 6]", "group_norm(%x, 4)", "6 channels do not split into 4 groups");
    refused("%x: i64[4]", "mean(%x)", "mean: needs a floating-point tensor, got i64");
    refused("%x: f32[0, 2]", "amax(%x, 0)", "amax: Expected reduction dim 0 to have non-zero size");
    refused("%x: f32[2]", "where(%x, 1, 2)", "where: condition must be a bool tensor, got f32");
    refused("%x: bool[2]", "neg(%x)", "neg: a bool tensor has no negative");
    refused("%x: f32[2]", "bitwise_not(%x)", "needs bool or integer tensors, got f32");
    refused("%x: u8[2]", "masked_fill(%x, %x, 300)",
            "value cannot be converted to type uint8 without overflow");
    refused("%x: i8[2]", "clamp(%x, 0, 200)", "to type int8 without overflow: 200");
    refused("%x: f8e4m3[2]", "add(%x, %x)", "not implemented for float8_e4m3fn; convert it first");
    refused("%x: f32[2]", "sum(%x, dtype=f8e5m2)", "not implemented for float8_e5m2");
    refused("%x: i64[4]", "add(%x, %x, alpha=0.5)",
            "add: alpha must be a whole number for i64 tensors, not 0.5");
    refused("%x: i64[4]", "mse_loss(%x, %x)", "mse_loss: needs a floating-point tensor, got i64");
    refused("%x: f32[4, 3], %t: f32[4]", "nll_loss(%x, %t)", "the target must be integers");
    refused("%x: f32[4, 3], %t: i64[3]", "cross_entropy(%x, %t)",
            "target must have the shape [4], not [3]");
    refused("%x: f32[4, 0], %t: i64[4]", "cross_entropy(%x, %t)",
            "the input [4, 0] has no classes");
    refused("%x: f32[4, 3], %m: f32[3]", "batch_norm(%x, %m, %m, training=True)",
            "training=True updates the running statistics, which is not supported");
    refused(x, "mse_loss(%x, %x, 'max')", "reduction is 'none', 'mean' or 'sum', not 'max'");
    refused("%q: f32[5, 4], %k: f32[7, 4], %v: f32[6, 4]",
            "scaled_dot_product_attention(%q, %k, %v)",
            "key [7, 4] and value [6, 4] differ in length");
    refused("%q: f32[5, 4], %m: f32[2, 5, 5]", "scaled_dot_product_attention(%q, %q, %q, %m)",
            "[2, 5, 5] does not broadcast to [5, 5]");
    refused("%q: f32[5, 4]", "scaled_dot_product_attention(%q, %q, %q, dropout_p=0.1)",
            "dropout is not supported");
    refused("%x: f32[4], %m: bool[3]", "masked_fill(%x, %m, 0)",
            "masked_fill: shapes [4] and [3] do not broadcast");
    refused("", "zeros(-1)", "zeros: size -1 is negative");
    refused("", "arange(3, 1)", "the end comes before the start");
    refused("", "zeros(1, 1, 1, 1, 1, 1, 1, 1, 1)", "9 dimensions; at most 8 are supported");
}

static void test_place(void **state) {
    struct arena *a = arena_new();
    const char *why;
    assert_null(try_parse(a,
                          "graph(%x: f32[4, 8], %y: f32[4, 7]) {\n"
                          "  %r = add(%x, %y)\n  return %r\n}\n",
                          &why));
    assert_string_equal(why, "test.graph:2:8: add: shapes [4, 8] and [4, 7] do not broadcast\n"
                             "      %r = add(%x, %y)\n"
                             "           ^^^^^^^^^^^\n");
    arena_free(a);
}

/* The C interface: trailing defaults, random streams, shorthands. */
static void test_graph_call(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: i64[4]) { return %x }");
    struct diag d = diag_new(a);
    node_id n, m;
    struct arg x = arg_node(0);
    assert_true(graph_call(g, OP_SUM, &x, 1, (struct span){0}, &d, &n));
    assert_string_equal(g->nodes.at[n].name, "sum");
    assert_int_equal(g->nodes.at[n].n_args, 4);
    assert_int_equal(g->nodes.at[n].origin, n);
    assert_int_equal(g->nodes.at[graph_op2s(g, OP_MUL, 0, 3)].meta.dtype, DT_I64);
    assert_int_equal(g->nodes.at[graph_op2s(g, OP_MUL, 0, 0.5)].meta.dtype, DT_F32);
    ex two = ex_const(g->ex, 2);
    struct arg size = arg_ints(g, &two, 1), index = arg_int(g, 4);
    const char *names[] = {"index"};
    assert_true(graph_bind(g, OP_RAND, &size, 1, names, &index, 1, (struct span){0}, &d, &n));
    assert_true(graph_bind(g, OP_RAND, &size, 1, NULL, NULL, 0, (struct span){0}, &d, &m));
    assert_int_equal(ex_value(g->ex, g->nodes.at[n].args[1].i), 4);
    assert_int_equal(ex_value(g->ex, g->nodes.at[m].args[1].i), 5);
    assert_string_equal(g->nodes.at[m].name, "rand_1");
    assert_false(graph_call(g, OP_SOFTMAX, &x, 1, (struct span){0}, &d, &n));
    assert_string_equal(d.text, "test.graph: softmax() missing required argument 'dim'\n");
    assert_int_equal(d.status, WS_WRONG);
    arena_free(a);
}

static void test_lookup(void **state) {
    enum op op;
    assert_true(op_find_python("torch.softmax", &op) && op == OP_SOFTMAX);
    assert_true(op_find_python("Tensor.T", &op) && op == OP_T);
    assert_true(op_find_python("op:+", &op) && op == OP_ADD);
    assert_true(op_find_python("op:r-", &op) && op == OP_SUB);
    assert_true(op_find_python("op:r**", &op) && op == OP_POW);
    assert_true(op_find_python("op:neg", &op) && op == OP_NEG);
    assert_false(op_find_python("torch.soft", &op));
    assert_false(op_find_python("", &op));
    assert_false(op_find_python("torch.", &op));
    assert_true(op_find("to", &op) && op == OP_CAST);
    assert_false(op_find("softmaxx", &op));
}

static void test_suggest(void **state) {
    struct arena *a = arena_new();
    assert_memory_equal(op_suggest(a, "torch.sofmax"), "torch.softmax, ", 15);
    assert_memory_equal(op_suggest(a, "F.softmax2d"), "F.softmax, ", 11);
    assert_string_equal(op_suggest(a, "Tensor.sqrtt"), "Tensor.sqrt");
    assert_string_equal(op_suggest(a, "torch.linalg.svd"), "");
    assert_non_null(op_suggest(a, ""));
    assert_non_null(op_suggest(a, arena_printf(a, "torch.%0300d", 1)));
    arena_free(a);
}

/* One name may reach one operator only, and every operator's own name is its own. */
static void test_names_are_unique(void **state) {
    struct arena *a = arena_new();
    struct map seen = map_new(a);
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op_info *op = op_info((enum op)i);
        assert_true(map_puts(&seen, op->name, 0));
        char *save = NULL, *list = arena_strdup(a, op->python);
        for (char *w = strtok_r(list, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
            enum op found;
            if (!map_puts(&seen, w, 0)) fail_msg("%s is there twice", w);
            assert_true(op_find_python(w, &found) && found == op->id);
        }
        if (op->class == POINTWISE) assert_true(op->elementwise && *op->code);
        for (int k = 0; k < op->n_params; k++)
            assert_non_null(strchr("TIDSFBYGs|", op->params[k].kind));
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binding),    cmocka_unit_test(test_weights),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_place),
        cmocka_unit_test(test_graph_call), cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_suggest),    cmocka_unit_test(test_names_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
