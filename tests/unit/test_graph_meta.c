/* Types, shapes and strides of fake tensors follow PyTorch's rules. */
#include "graph/graph_impl.h"
#include "graph_test.h"

static void is(const char *inputs, const char *call, const char *want) {
    struct arena *a = arena_new();
    const char *got = result_type(one_op(a, inputs, call));
    if (strcmp(got, want)) fail_msg("%s of %s: %s, expected %s", call, inputs, got, want);
    arena_free(a);
}

/* "[8, 1]" */
static void strides_are(const char *inputs, const char *call, const char *want) {
    struct arena *a = arena_new();
    struct graph *g = one_op(a, inputs, call);
    struct meta m = result_meta(g);
    memcpy(m.size, m.stride, sizeof m.size);
    struct buf b = buf_new(a);
    graph_print_shape(&b, g, &m);
    if (strcmp(b.p, want)) fail_msg("%s of %s: strides %s, expected %s", call, inputs, b.p, want);
    arena_free(a);
}

/* A dimension into none, one, several and the most parts, anywhere. */
static void test_parts(void **state) {
    for (int rank = 0; rank <= 3; rank++)
        for (int parts = 0; parts <= WS_MAX_RANK; parts++)
            for (int dim = 0; dim < (rank ? rank : 1); dim++) {
                struct arena *a = arena_new();
                struct buf size = buf_new(a), list = buf_new(a), want = buf_new(a);
                for (int k = 0; k < parts; k++) buf_printf(&list, k ? ", %d" : "%d", k ? 1 : 6);
                for (int i = 0; i < rank; i++)
                    buf_printf(&size, i ? ", %d" : "%d", i == dim ? 6 : 5);
                for (int i = 0; i < rank; i++)
                    buf_printf(&want, i ? ", %s" : "%s", i == dim ? list.n ? list.p : "" : "5");
                const char *inputs = arena_printf(a, "%%x: f32[%s]", rank ? size.p : "");
                const char *call =
                    arena_printf(a, "unflatten(%%x, %d, [%s])", dim, parts ? list.p : "");
                const char *why;
                bool may = rank && parts && rank + parts - 1 <= WS_MAX_RANK;
                const char *text =
                    arena_printf(a, "graph(%s) {\n %%y = %s\n return %%y\n}\n", inputs, call);
                struct graph *g = try_parse(a, text, &why);
                if (may)
                    is(inputs, call, arena_printf(a, "f32[%s]", want.p));
                else if (g || !(rank && parts ? strstr(why, "are supported")
                                              : strstr(why, "needs a dimension")))
                    fail_msg("%s: %s", text, g ? "taken" : why);
                arena_free(a);
            }
}

static void test_promotion(void **state) {
    is("%x: bf16[4], %y: f32[4]", "add(%x, %y)", "f32[4]");
    is("%x: bf16[4], %y: f16[4]", "add(%x, %y)", "f32[4]");
    is("%x: i32[4], %y: i64[4]", "add(%x, %y)", "i64[4]");
    is("%x: bool[4], %y: bool[4]", "add(%x, %y)", "bool[4]");
    is("%x: i64[4], %y: f16[4]", "mul(%x, %y)", "f16[4]");
    /* A number changes the class only. */
    is("%x: bf16[4]", "add(%x, 1)", "bf16[4]");
    is("%x: bf16[4]", "add(%x, 1.5)", "bf16[4]");
    is("%x: i32[4]", "add(%x, 1)", "i32[4]");
    is("%x: i32[4]", "add(%x, 1.5)", "f32[4]");
    is("%x: bool[4]", "add(%x, 1)", "i64[4]");
    is("%x: bool[4]", "mul(%x, True)", "bool[4]");
    is("%x: f64[4]", "mul(2.0, %x)", "f64[4]");
    /* So does a 0-dim tensor. */
    is("%x: bf16[4], %y: f64[]", "add(%x, %y)", "bf16[4]");
    is("%x: i64[4], %y: f64[]", "add(%x, %y)", "f64[4]");
    is("%x: i32[4], %y: i64[]", "add(%x, %y)", "i32[4]");
    is("%x: f32[], %y: f64[]", "add(%x, %y)", "f64[]");
    is("%x: i32[]", "add(%x, 1)", "i32[]");
    /* alpha has no say. */
    is("%x: f16[4]", "add(%x, %x, alpha=2.5)", "f16[4]");
    is("%x: i64[4]", "div(%x, 2)", "f32[4]");
    is("%x: i64[4]", "floor_divide(%x, 2)", "i64[4]");
    is("%x: i64[4]", "exp(%x)", "f32[4]");
    is("%x: f16[4]", "exp(%x)", "f16[4]");
    is("%x: f16[4], %y: f32[4]", "lt(%x, %y)", "bool[4]");
    is("%c: bool[4], %x: f16[4]", "where(%c, %x, 0.0)", "f16[4]");
    is("%c: bool[4]", "where(%c, 1.0, 0)", "f32[4]");
    is("%x: bool[4]", "sum(%x)", "i64[]");
    is("%x: i32[4]", "sum(%x)", "i64[]");
    is("%x: bf16[4]", "sum(%x)", "bf16[]");
    is("%x: bf16[4]", "sum(%x, dtype=f32)", "f32[]");
    is("%x: i32[4]", "amax(%x)", "i32[]");
    is("%x: bf16[4]", "softmax(%x, 0, dtype=f32)", "f32[4]");
    is("", "full([2], 1)", "i64[2]");
    is("", "full([2], True)", "bool[2]");
    is("", "full([2], 1.0)", "f32[2]");
    is("", "full([2], 1, dtype=bf16)", "bf16[2]");
    is("", "arange(1, 7, 2)", "i64[3]");
    is("", "arange(1.0)", "f32[1]");
    is("", "ones(2)", "f32[2]");
    is("%x: bf16[4]", "zeros_like(%x)", "bf16[4]");
    is("%x: bf16[4], %w: f32[4]", "layer_norm(%x, [4], %w)", "bf16[4]");
    is("%x: i64[4]", "clamp(%x, 0.5)", "f32[4]");
}

static void test_shapes(void **state) {
    is("%x: f32[4, 1], %y: f32[8]", "add(%x, %y)", "f32[4, 8]");
    is("%x: f32[0], %y: f32[1]", "add(%x, %y)", "f32[0]");
    is("%x: f32[], %y: f32[2]", "add(%x, %y)", "f32[2]");
    is("%x: f32[s0, 1], %y: f32[s1]", "add(%x, %y)", "f32[s0, s1]");
    is("%c: bool[3, 1], %x: f32[2]", "where(%c, %x, 1)", "f32[3, 2]");
    is("%x: f32[4, 8]", "sum(%x)", "f32[]");
    is("%x: f32[4, 8]", "sum(%x, [])", "f32[]");
    is("%x: f32[4, 8]", "sum(%x, 0, True)", "f32[1, 8]");
    is("%x: f32[4, 8, 2]", "amax(%x, [0, -1])", "f32[8]");
    is("%x: f32[]", "sum(%x, 0)", "f32[]");
}

static void test_views(void **state) {
    is("%x: f32[s0, 4, s1]", "view(%x, [s0, -1])", "f32[s0, s1*4]");
    is("%x: f32[s0, 4]", "view(%x, [-1])", "f32[s0*4]");
    is("%x: f32[s0*8]", "view(%x, [-1, 8])", "f32[s0, 8]");
    is("%x: f32[0, 4]", "view(%x, [4, 0])", "f32[4, 0]");
    is("%x: f32[1]", "view(%x, [])", "f32[]");
    is("%x: f32[]", "view(%x, [1, 1])", "f32[1, 1]");
    is("%x: f32[4, 8]", "squeeze(%x, 0)", "f32[4, 8]");
    is("%x: f32[4, 1]", "squeeze(%x, -1)", "f32[4]");
    is("%x: f32[10]", "slice(%x, 0, 1, 10, 3)", "f32[3]");
    is("%x: f32[s0]", "slice(%x, 0, 1)", "f32[s0 - 1]");
    strides_are("%x: f32[4, 8]", "permute(%x, 1, 0)", "[1, 8]");
    strides_are("%x: f32[4, 8, 2]", "movedim(%x, 0, 1)", "[2, 16, 1]");
    strides_are("%x: f32[4, 1]", "expand(%x, 2, 4, 8)", "[0, 1, 0]");
    strides_are("%x: f32[4, 8]", "slice(%x, 1, 0, 8, 2)", "[8, 2]");
    strides_are("%x: f32[4, 8]", "unsqueeze(%x, 0)", "[32, 8, 1]");
    strides_are("%x: f32[4, 8]", "unsqueeze(%x, 1)", "[8, 8, 1]");
    strides_are("%x: f32[4, 8][1, 4]", "exp(%x)", "[8, 1]");
    /* A view of strided memory is one where the strides allow it, else row-major. */
    strides_are("%x: f32[4, 8][16, 1]", "view(%x, [4, 2, 4])", "[16, 4, 1]");
    strides_are("%x: f32[4, 8][16, 1]", "view(%x, [2, 2, 8])", "[32, 16, 1]");
    strides_are("%x: f32[4, 8][1, 4]", "view(%x, [32])", "[1]");
    strides_are("%x: f32[s0, 8][16, 1]", "view(%x, [s0, 2, 4])", "[16, 4, 1]");
    strides_are("%x: f32[0, 8]", "exp(%x)", "[8, 1]");
}

static void test_products(void **state) {
    is("%x: f32[4, 8], %y: f32[8, 3]", "mm(%x, %y)", "f32[4, 3]");
    is("%x: f32[5, 4, 8], %y: f32[5, 8, 3]", "bmm(%x, %y)", "f32[5, 4, 3]");
    is("%x: f32[8], %y: f32[8]", "matmul(%x, %y)", "f32[]");
    is("%x: f32[8], %y: f32[5, 8, 3]", "matmul(%x, %y)", "f32[5, 3]");
    is("%x: f32[2, 1, 4, 8], %y: f32[5, 8, 3]", "matmul(%x, %y)", "f32[2, 5, 4, 3]");
    is("%x: bf16[2, s0, 8], %y: bf16[3, 8]", "linear(%x, %y)", "bf16[2, s0, 3]");
}

static void test_contiguity(void **state) {
    struct arena *a = arena_new();
    struct graph *g =
        must_parse(a, "graph(%a: f32[4, 8], %b: f32[4, 8][1, 4], %c: f32[1, 8][99, 1],\n"
                      " %d: f32[0, 8][3, 3], %e: f32[s0, s1], %f: f32[])"
                      " { return %a }");
    bool want[] = {true, false, true, true, true, true};
    for (uint32_t i = 0; i < g->inputs.n; i++)
        assert_int_equal(meta_is_contiguous(g->ex, &g->nodes.at[i].meta), want[i]);
    assert_string_equal(ex_str(a, g->ex, meta_numel(g->ex, &g->nodes.at[0].meta)), "32");
    assert_string_equal(ex_str(a, g->ex, meta_numel(g->ex, &g->nodes.at[5].meta)), "1");
    arena_free(a);
}

static void test_compute_dtype(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: bf16[4], %i: i64[4], %c: bool[4]) {\n"
                                    "  %a = add(%x, %i)\n  %b = lt(%i, %x)\n  %d = exp(%i)\n"
                                    "  %e = where(%c, %i, 1)\n  %f = eq(%i, 2)\n"
                                    "  return %a, %b, %d, %e, %f\n}");
    enum dtype want[] = {DT_F32, DT_F32, DT_F32, DT_I64, DT_I64};
    for (uint32_t i = 0; i < g->outputs.n; i++)
        assert_int_equal(graph_compute_dtype(g, &g->nodes.at[g->outputs.at[i]]), want[i]);
    arena_free(a);
}

/* A size of 0 ends no product: the strides of what is beside it are still made. */
static void test_addressable(void **state) {
    static const struct {
        int64_t size[3];
        bool fits;
    } cases[] = {
        {{2, 3, 4}, true},
        {{0, 3, 4}, true},
        {{3, 0, INT64_C(1) << 40}, true},
        {{0, INT64_C(1) << 40, INT64_C(1) << 40}, false},
        {{INT64_C(1) << 40, 0, INT64_C(1) << 40}, false},
        {{2, -1, 4}, false},
    };
    struct arena *a = arena_new();
    struct exprs *p = exprs_new(a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct meta m = {.dtype = DT_F32, .rank = 3};
        for (int k = 0; k < 3; k++)
            m.size[k] = ex_const(p, cases[i].size[k]), m.stride[k] = ex_const(p, 1);
        assert_int_equal(meta_is_addressable(p, &m), cases[i].fits);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addressable), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_promotion),   cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_views),       cmocka_unit_test(test_products),
        cmocka_unit_test(test_contiguity),  cmocka_unit_test(test_compute_dtype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
