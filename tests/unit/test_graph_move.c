/* What moves elements: sizes, values as PyTorch gives them (worked out by hand), and messages. */
#include "graph_test.h"

/* Type and values of a call. Float inputs are 0, 1, 2, ...; integer inputs are `indices`, in order,
 * again and again. */
static void gives(const char *inputs, const char *call, const double *indices, int n_indices,
                  const char *type, const double *want, int64_t n) {
    struct arena *a = arena_new();
    struct graph *g = one_op(a, inputs, call);
    struct value in[MAX_TEST_VALUES], out;
    int next = 0;
    if (strcmp(result_type(g), type))
        fail_msg("%s of %s: %s, expected %s", call, inputs, result_type(g), type);
    random_inputs(g, in);
    for (uint32_t k = 0; k < g->inputs.n; k++) {
        bool whole = !dtype_is_float(g->nodes.at[g->inputs.at[k].node].meta.dtype);
        for (int64_t i = 0; i < in[k].n; i++)
            in[k].v[i] = whole && n_indices ? indices[next++ % n_indices] : (double)i;
    }
    must_eval(g, in, &out);
    assert_int_equal(out.n, n);
    for (int64_t i = 0; i < n; i++)
        if (value_number(&out, i) != want[i])
            fail_msg("%s[%lld] = %.17g, expected %.17g", call, (long long)i, value_number(&out, i),
                     want[i]);
    free_values(in, g->inputs.n);
    value_free(&out);
    arena_free(a);
}

#define LIST(...) (double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double)
#define NONE NULL, 0
#define GIVES(inputs, call, type, ...) gives(inputs, call, NONE, type, LIST(__VA_ARGS__))
#define GIVES_AT(inputs, call, indices, type, ...)                                                 \
    gives(inputs, call, indices, type, LIST(__VA_ARGS__))

static void test_pieces(void **state) {
    GIVES("%x: f32[2, 1], %y: f32[2, 2]", "cat([%x, %y], 1)", "f32[2, 3]", 0, 0, 1, 1, 2, 3);
    GIVES("%x: f32[2, 1], %y: f32[2, 2]", "cat([%x, %y], -1)", "f32[2, 3]", 0, 0, 1, 1, 2, 3);
    GIVES("%x: f32[2], %y: f32[1], %z: f32[0]", "cat([%x, %z, %y, %x])", "f32[5]", 0, 1, 0, 0, 1);
    GIVES("%x: f32[0], %y: f32[1, 2]", "cat([%x, %y])", "f32[1, 2]", 0, 1);
    GIVES("%x: bf16[1], %y: i64[2]", "cat([%y, %x])", "bf16[3]", 0, 1, 0);
    GIVES("%x: f32[2], %y: f32[2]", "stack([%x, %y], -1)", "f32[2, 2]", 0, 0, 1, 1);
    GIVES("%x: f32[2], %y: f32[2]", "stack([%x, %y])", "f32[2, 2]", 0, 1, 0, 1);
    GIVES("%x: f32[], %y: f32[]", "stack([%x, %y])", "f32[2]", 0, 0);
}

static void test_pads(void **state) {
    GIVES("%x: f32[3]", "pad(%x, [1, 2], value=9)", "f32[6]", 9, 0, 1, 2, 9, 9);
    GIVES("%x: f32[2, 2]", "pad(%x, [0, 1, 1, 0])", "f32[3, 3]", 0, 0, 0, 0, 1, 0, 2, 3, 0);
    GIVES("%x: f32[4]", "constant_pad_nd(%x, [-1, -2], 7)", "f32[1]", 1);
    GIVES("%x: f32[4]", "constant_pad_nd(%x, [-2, 1], 7)", "f32[3]", 2, 3, 7);
    GIVES("%x: i64[2]", "constant_pad_nd(%x, [1, 0], 2)", "i64[3]", 2, 0, 1);
    GIVES("%x: f32[1, 4]", "pad(%x, [3, 2], 'reflect')", "f32[1, 9]", 3, 2, 1, 0, 1, 2, 3, 2, 1);
    GIVES("%x: f32[1, 3]", "pad(%x, [1, 4], 'replicate')", "f32[1, 8]", 0, 0, 1, 2, 2, 2, 2, 2);
    GIVES("%x: f32[1, 3]", "pad(%x, [1, 3], 'circular')", "f32[1, 7]", 2, 0, 1, 2, 0, 1, 2);
}

static void test_turns(void **state) {
    GIVES("%x: f32[2, 2]", "flip(%x, 0, 1)", "f32[2, 2]", 3, 2, 1, 0);
    GIVES("%x: f32[2, 2]", "flip(%x, [-1])", "f32[2, 2]", 1, 0, 3, 2);
    GIVES("%x: f32[4]", "roll(%x, 1)", "f32[4]", 3, 0, 1, 2);
    GIVES("%x: f32[2, 2]", "roll(%x, -1)", "f32[2, 2]", 1, 2, 3, 0);
    GIVES("%x: f32[2, 3]", "roll(%x, [1, -1], [0, 1])", "f32[2, 3]", 4, 5, 3, 1, 2, 0);
    GIVES("%x: f32[2]", "repeat(%x, 2, 2)", "f32[2, 4]", 0, 1, 0, 1, 0, 1, 0, 1);
    GIVES("%x: f32[2, 2]", "tile(%x, [2])", "f32[2, 4]", 0, 1, 0, 1, 2, 3, 2, 3);
    GIVES("%x: f32[2, 2]", "repeat_interleave(%x, 2)", "f32[8]", 0, 0, 1, 1, 2, 2, 3, 3);
    GIVES("%x: f32[2, 2]", "repeat_interleave(%x, 2, 1)", "f32[2, 4]", 0, 0, 1, 1, 2, 2, 3, 3);
    GIVES("%x: f32[2, 3]", "diagonal(%x, 1)", "f32[2]", 1, 5);
    GIVES("%x: f32[3, 2]", "diagonal(%x, -1)", "f32[2]", 2, 5);
    GIVES("%x: f32[2, 2, 2]", "diagonal(%x, 0, 0, 2)", "f32[2, 2]", 0, 5, 2, 7);
    GIVES("%x: f32[2]", "diag(%x, 1)", "f32[3, 3]", 0, 0, 0, 0, 0, 1, 0, 0, 0);
    GIVES("%x: f32[2]", "diag(%x, -1)", "f32[3, 3]", 0, 0, 0, 0, 0, 0, 0, 1, 0);
    GIVES("", "eye(2, 3)", "f32[2, 3]", 1, 0, 0, 0, 1, 0);
}

static void test_looked_up(void **state) {
    GIVES_AT("%x: f32[3, 2], %i: i64[2, 2]", "gather(%x, 0, %i)", LIST(2, 0, 1, 1), "f32[2, 2]", 4,
             1, 2, 3);
    GIVES_AT("%x: f32[2, 3], %i: i32[2, 1]", "gather(%x, -1, %i)", LIST(2, 0), "f32[2, 1]", 2, 3);
    GIVES_AT("%x: f32[3, 2], %i: i64[2]", "index(%x, [%i], [0])", LIST(-1, 0), "f32[2, 2]", 4, 5, 0,
             1);
    GIVES_AT("%x: f32[2, 3], %i: i64[2]", "index(%x, [%i], [1])", LIST(2, -3), "f32[2, 2]", 2, 0, 5,
             3);
    GIVES_AT("%x: f32[2, 3], %i: i64[2], %j: i64[2]", "index(%x, [%i, %j], [0, 1])",
             LIST(1, 0, 0, 2), "f32[2]", 3, 2);
    /* apart, the indices' dimensions come first: [2, 2, 2] by (:, [2, 1], ...) is not apart */
    GIVES_AT("%x: f32[2, 2, 2], %i: i64[2, 1], %j: i64[1]", "index(%x, [%i, %j], [0, 2])",
             LIST(0, 1, 1), "f32[2, 1, 2]", 1, 3, 5, 7);
    GIVES_AT("%x: f32[2, 2, 2], %i: i64[2, 1]", "index(%x, [%i], [1])", LIST(1, 0),
             "f32[2, 2, 1, 2]", 2, 3, 0, 1, 6, 7, 4, 5);
    GIVES_AT("%x: f32[2, 3], %i: i64[]", "index(%x, [%i], [0])", LIST(1), "f32[3]", 3, 4, 5);
    GIVES_AT("%x: f32[2, 3], %i: i64[2]", "index_select(%x, 1, %i)", LIST(2, 0), "f32[2, 2]", 2, 0,
             5, 3);
    GIVES_AT("%i: i64[1, 2], %w: bf16[3, 2]", "embedding(%i, %w)", LIST(2, 0), "bf16[1, 2, 2]", 4,
             5, 0, 1);
    GIVES_AT("%x: f32[2, 3], %i: i64[3]", "take(%x, %i)", LIST(5, -1, 0), "f32[3]", 5, 5, 0);
    GIVES_AT("%x: f32[2, 3], %i: i64[1, 2]", "take_along_dim(%x, %i, 1)", LIST(1, 2), "f32[2, 2]",
             1, 2, 4, 5);
    GIVES_AT("%x: f32[2, 0], %i: i64[0]", "index(%x, [%i], [1])", LIST(1), "f32[2, 0]");
}

static void test_scattered(void **state) {
    GIVES_AT("%x: f32[3], %i: i64[2], %s: f32[2]", "scatter(%x, 0, %i, %s)", LIST(2, 0), "f32[3]",
             1, 1, 0);
    GIVES_AT("%x: f32[2, 2], %i: i64[1, 2]", "scatter(%x, 0, %i, 9)", LIST(1, 0), "f32[2, 2]", 0, 9,
             9, 3);
    GIVES_AT("%x: f32[3], %i: i64[4], %s: f32[4]", "scatter_add(%x, 0, %i, %s)", LIST(1, 1, 0, 1),
             "f32[3]", 2, 5, 2);
    GIVES_AT("%x: f32[2, 2], %i: i64[3], %s: f32[2, 3]", "index_add(%x, 1, %i, %s, alpha=2)",
             LIST(0, 1, 0), "f32[2, 2]", 4, 3, 18, 11);
    GIVES_AT("%i: i64[3]", "one_hot(%i, 3)", LIST(1, 0, 2), "i64[3, 3]", 0, 1, 0, 1, 0, 0, 0, 0, 1);
}

static void test_windows(void **state) {
    GIVES("%x: f32[4]", "windows(%x, [2], [2], [1], [1], value=-1)", "f32[3, 2]", -1, 0, 1, 2, 3,
          -1);
    GIVES("%x: f32[1, 3, 3]", "max_pool(%x, [2])", "f32[1, 1, 1]", 4);
    GIVES("%x: f32[1, 3, 3]", "max_pool(%x, [2], ceil_mode=True)", "f32[1, 2, 2]", 4, 5, 7, 8);
    GIVES("%x: f32[1, 3, 3]", "max_pool(%x, [3], 2, 1)", "f32[1, 2, 2]", 4, 5, 7, 8);
    GIVES("%x: f32[1, 5]", "max_pool(%x, [2], 1, 0, 3, spatial=1)", "f32[1, 2]", 3, 4);
    GIVES("%x: f32[1, 2, 2]", "avg_pool(%x, [2])", "f32[1, 1, 1]", 1.5);
    GIVES("%x: f32[1, 4]", "avg_pool(%x, [2], 2, 1, spatial=1)", "f32[1, 3]", 0, 1.5, 1.5);
    GIVES("%x: f32[1, 4]", "avg_pool(%x, [2], 2, 1, False, False, spatial=1)", "f32[1, 3]", 0, 1.5,
          3);
    GIVES("%x: f32[1, 5]", "avg_pool(%x, [2], 2, 0, True, spatial=1)", "f32[1, 3]", 0.5, 2.5, 4);
    GIVES("%x: f32[1, 4]", "avg_pool(%x, [2], divisor_override=4, spatial=1)", "f32[1, 2]", 0.25,
          1.25);
    GIVES("%x: f32[1, 5]", "adaptive_avg_pool(%x, [2])", "f32[1, 2]", 1, 3);
    GIVES("%x: f32[1, 5]", "adaptive_max_pool(%x, [3])", "f32[1, 3]", 1, 3, 4);
    GIVES("%x: f32[1, 1, 3]", "upsample_nearest(%x, 6)", "f32[1, 1, 6]", 0, 0, 1, 1, 2, 2);
    GIVES("%x: f32[1, 1, 5]", "upsample_nearest(%x, 3)", "f32[1, 1, 3]", 0, 1, 3);
    GIVES("%x: f32[1, 2, 3]", "im2col(%x, [2, 2])", "f32[4, 2]", 0, 1, 1, 2, 3, 4, 4, 5);
    GIVES("%x: f32[5]", "unfold(%x, 0, 3, 2)", "f32[2, 3]", 0, 1, 2, 2, 3, 4);
}

/* inputs are 0, 1, 2 ... each */
static void test_convolutions(void **state) {
    GIVES("%x: f32[1, 4], %w: f32[1, 1, 2]", "convolution(%x, %w, spatial=1)", "f32[1, 3]", 1, 2,
          3);
    GIVES("%x: f32[1, 4], %w: f32[1, 1, 3]", "convolution(%x, %w, None, 2, 1, spatial=1)",
          "f32[1, 2]", 2, 8);
    GIVES("%x: f32[1, 5], %w: f32[1, 1, 2]", "convolution(%x, %w, None, 1, 0, 3, spatial=1)",
          "f32[1, 2]", 3, 4);
    GIVES("%x: f32[2, 3], %w: f32[2, 2, 1]", "convolution(%x, %w, spatial=1)", "f32[2, 3]", 3, 4, 5,
          9, 14, 19);
    GIVES("%x: f32[2, 3], %w: f32[2, 1, 1]", "convolution(%x, %w, groups=2, spatial=1)",
          "f32[2, 3]", 0, 0, 0, 3, 4, 5);
    GIVES("%x: f32[1, 3], %w: f32[1, 1, 2]",
          "convolution(%x, %w, None, 2, 0, 1, True, 1, spatial=1)", "f32[1, 7]", 0, 0, 0, 1, 0, 2,
          0);
    GIVES("%x: f32[1, 3], %w: f32[1, 1, 3]", "convolution(%x, %w, None, 2, 1, 1, True, spatial=1)",
          "f32[1, 5]", 0, 0, 1, 2, 2);
    GIVES("%x: f32[1, 1, 1, 4], %w: f32[1, 1, 1, 2]", "convolve(%x, %w, [1], [0], [1], False, [2])",
          "f32[1, 1, 1, 2]", 1, 2);
}

static void test_symbolic(void **state) {
    static const char *const cases[][3] = {
        {"%x: f32[s0, 3], %y: f32[s0, 5]", "cat([%x, %y], 1)", "f32[s0, 8]"},
        {"%x: f32[s0], %y: f32[s1]", "cat([%x, %y])", "f32[s0 + s1]"},
        {"%x: f32[s0, 3]", "pad(%x, [1, 1, 0, 2])", "f32[s0 + 2, 5]"},
        {"%i: i64[s0, 4], %w: f32[s1, 64]", "embedding(%i, %w)", "f32[s0, 4, 64]"},
        {"%x: f32[s0, 5], %i: i64[s0, 1]", "gather(%x, 1, %i)", "f32[s0, 1]"},
        {"%x: f32[2, s0, 8]", "max_pool(%x, [2], spatial=1)", "f32[2, s0, 4]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        assert_string_equal(result_type(one_op(a, cases[i][0], cases[i][1])), cases[i][2]);
        arena_free(a);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void refused(const char *inputs, const char *call, const char *message) {
    struct arena *a = arena_new();
    const char *why,
        *text = arena_printf(a, "graph(%s) {\n  %%r = %s\n  return %%r\n}\n", inputs, call);
    assert_null(try_parse(a, text, &why));
    if (!strstr(why, message)) fail_msg("%s: %s\nexpected: %s", call, why, message);
    arena_free(a);
}

static void test_refused(void **state) {
    refused(
        "%x: f32[2, 3], %y: f32[3, 4]", "cat([%x, %y], 1)",
        "cat: Sizes of tensors must match except in dimension 1. Expected size 2 but got size 3 "
        "for tensor number 1 in the list");
    refused("%x: f32[2, 3], %y: f32[3]", "cat([%x, %y])",
            "Tensors must have same number of dimensions: got 2 and 1");
    refused("%x: f32[]", "cat([%x])",
            "zero-dimensional tensor (at position 0) cannot be concatenated");
    refused("%x: f32[2, 3]", "cat([%x, %x], 2)", "dimension 2 out of range");
    refused("%x: f32[2, 3], %y: f32[2, 4]", "stack([%x, %y])",
            "stack expects each tensor to be equal size, but got [2, 3] at entry 0 and [2, 4] at "
            "entry 1");
    refused("%x: f32[1, 2, 8, 8]", "max_pool(%x, [2, 2, 2])",
            "kernel_size must be one int or 2 of them, not 3");
    refused("%x: f32[3]", "pad(%x, [1])", "Padding length must be divisible by 2");
    refused("%x: f32[3]", "pad(%x, [1, 1, 1, 1])",
            "Length of pad should be no more than twice the number of dimensions of the input. Pad "
            "length is 4 while the input has 1 dimensions.");
    refused(
        "%x: f32[3]", "pad(%x, [-2, -2])",
        "The input size 3, plus negative padding -2 and -2, resulted in a negative output size");
    refused("%x: f32[1, 3]", "pad(%x, [3, 0], 'reflect')",
            "Padding size should be less than the corresponding input dimension, but got: padding "
            "(3, 0) at dimension 1 of input [1, 3]");
    refused("%x: f32[1, 3]", "pad(%x, [4, 0], 'circular')",
            "Padding value causes wrapping around more than once");
    refused("%x: f32[1, 3]", "pad(%x, [1, 0], 'mirror')", "Unrecognised padding mode mirror");
    refused("%x: f32[2, 3]", "roll(%x, [1, 2], [0])",
            "shifts and dimensions must align. shifts: 2, dims:1");
    refused("%x: f32[2, 3]", "repeat(%x, 2)",
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor");
    refused("%x: f32[2, 3], %i: i64[3]", "gather(%x, 0, %i)",
            "Index tensor must have the same number of dimensions as self tensor");
    refused(
        "%x: f32[2, 3], %i: i64[2, 4]", "gather(%x, 0, %i)",
        "Size does not match at dimension 1 expected index [2, 4] to be no larger than self [2, "
        "3] apart from dimension 0");
    refused("%x: f32[2, 3], %i: f32[2, 3]", "gather(%x, 0, %i)",
            "Expected dtype int32/int64 for index, got f32");
    refused("%x: f32[2, 3], %i: bool[2]", "index(%x, [%i], [0])",
            "the shape of an index by a mask depends on its values");
    refused("%x: f32[2, 3], %i: u8[2]", "index(%x, [%i], [0])",
            "the shape of an index by a mask depends on its values");
    refused(
        "%x: f32[2, 3], %i: i64[2], %j: i64[3]", "index(%x, [%i, %j], [0, 1])",
        "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]");
    refused("%x: f32[0, 3], %i: i64[2]", "index_select(%x, 0, %i)",
            "index is out of bounds for dimension 0 with size 0");
    refused("%i: f32[2], %w: f32[4, 2]", "embedding(%i, %w)",
            "Expected tensor for argument #1 'indices' to have one of the following scalar types");
    refused("%x: f32[2, 3], %i: i64[2, 3], %s: f16[2, 3]", "scatter(%x, 0, %i, %s)",
            "Expected self.dtype to be equal to src.dtype");
    refused("%i: i64[2]", "one_hot(%i)", "num_classes must be given and positive");
    refused("%x: f32[1, 3, 3]", "max_pool(%x, [3], 1, 2)",
            "pad should be at most half of effective kernel size, but got pad=2, kernel_size=3 and "
            "dilation=1");
    refused("%x: f32[1, 3, 3]", "max_pool(%x, [4])", "Output size is too small");
    refused("%x: f32[1, 4, 4]", "max_pool(%x, [6], stride=[2], ceil_mode=True)",
            "Output size is too small"); /* even of a last window, which may reach out by 1 */
    refused("%x: f32[3, 3]", "max_pool(%x, [2])", "expected 3D or 4D input, but got [3, 3]");
    refused("%x: f32[1, 3, 3]", "avg_pool(%x, [2], 0)", "stride should be greater than zero");
    refused("%x: f32[1, 3, 3]", "avg_pool(%x, [2], divisor_override=0)",
            "divisor must be not zero");
    refused("%x: i64[1, 3, 3]", "avg_pool(%x, [2])", "not implemented for i64");
    refused("%x: f32[1, 4, 8, 8], %w: f32[8, 3, 3, 3]", "convolution(%x, %w)",
            "Given groups=1, weight of size [8, 3, 3, 3], expected input[1, 4, 8, 8] to have 3 "
            "channels, but got 4 channels instead");
    refused(
        "%x: f32[8, 8], %w: f32[8, 3, 3, 3]", "convolution(%x, %w)",
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [8, 8]");
    refused("%x: f32[1, 3, 2, 2], %w: f32[8, 3, 3, 3]", "convolution(%x, %w)",
            "Kernel size can't be greater than actual input size");
    refused("%x: f32[3, 8], %w: f32[8, 3, 3], %b: f32[4]", "convolution(%x, %w, %b, spatial=1)",
            "expected bias to be 1-dimensional with 8 elements, but got bias of size [4] instead");
    refused("%x: f32[3, 8], %w: f32[8, 3, 3]", "convolution(%x, %w, None, 0, spatial=1)",
            "non-positive stride is not supported");
    refused("%x: f32[3, 8], %w: f32[8, 3, 3]", "convolution(%x, %w, groups=3, spatial=1)",
            "Given groups=3, weight of size [8, 3, 3] cannot be divided into them");
    refused("%x: f32[1, 8], %w: f32[1, 3, 3]",
            "convolution(%x, %w, None, 1, 0, 1, True, 1, spatial=1)",
            "output padding must be smaller than either stride or dilation");
    refused("%x: f32[1, 1], %w: f32[1, 3, 3]",
            "convolution(%x, %w, None, 1, 2, 1, True, spatial=1)", "the result would have size -1");
}

/* An index beyond its dimension: PyTorch's message at the call. */
/* What adds dimensions does so up to the most that there may be, and not beyond. */
static void test_most_dimensions(void **state) {
    static const char eight[] = "%x: f32[1, 1, 1, 1, 1, 1, 2, 4]",
                      seven[] = "%x: f32[1, 1, 1, 1, 1, 2, 4]";
    static const struct {
        const char *call, *type; /* of seven; type NULL: too many */
    } calls[] = {
        {"windows(%x, [2], [1], [0], [1], value=0)", "f32[1, 1, 1, 1, 1, 2, 3, 2]"},
        {"windows(%x, [1, 2], [1, 1], [0, 0], [1, 1], value=0)", NULL},
        {"unfold(%x, 6, 3, 1)", "f32[1, 1, 1, 1, 1, 2, 2, 3]"},
        {"unsqueeze(%x, 0)", "f32[1, 1, 1, 1, 1, 1, 2, 4]"},
        {"stack([%x, %x], 0)", "f32[2, 1, 1, 1, 1, 1, 2, 4]"},
        {"expand(%x, [3, 1, 1, 1, 1, 1, 2, 4])", "f32[3, 1, 1, 1, 1, 1, 2, 4]"},
        {"repeat(%x, [2, 1, 1, 1, 1, 1, 1, 1])", "f32[2, 1, 1, 1, 1, 1, 2, 4]"},
        {"view(%x, [2, 1, 1, 1, 1, 1, 2, 2])", "f32[2, 1, 1, 1, 1, 1, 2, 2]"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct arena *a = arena_new();
        if (!calls[i].type) {
            refused(seven, calls[i].call, "");
        } else {
            const char *got = result_type(one_op(a, seven, calls[i].call));
            if (strcmp(got, calls[i].type)) fail_msg("%s: %s", calls[i].call, got);
            if (!strstr(calls[i].call, "expand") && !strstr(calls[i].call, "repeat") &&
                !strstr(calls[i].call, "view"))
                refused(eight, calls[i].call, "");
        }
        arena_free(a);
    }
    refused("%x: f32[1, 1, 1, 1, 1, 1, 2, 4]", "windows(%x, [2], [1], [0], [1], value=0)",
            "at most 8 dimensions");
}

static void out_of_bounds(const char *inputs, const char *call, double index, const char *message) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct graph *g = one_op(a, inputs, call);
    struct value in[MAX_TEST_VALUES], out;
    random_inputs(g, in);
    for (uint32_t k = 0; k < g->inputs.n; k++)
        for (int64_t i = 0; i < in[k].n; i++)
            if (!dtype_is_float(g->nodes.at[g->inputs.at[k].node].meta.dtype)) in[k].v[i] = index;
    assert_false(graph_eval(g, in, &out, &d));
    if (!strstr(d.text, message) || !strstr(d.text, "test.graph:2:") || !strchr(d.text, '^'))
        fail_msg("%s: %s\nexpected: %s", call, d.text, message);
    free_values(in, g->inputs.n);
    arena_free(a);
}

static void test_out_of_bounds(void **state) {
    out_of_bounds("%x: f32[5, 2], %i: i64[3]", "index(%x, [%i], [0])", 7,
                  "index 7 is out of bounds for dimension 0 with size 5");
    out_of_bounds("%x: f32[5, 2], %i: i64[3]", "index(%x, [%i], [1])", -3,
                  "index -3 is out of bounds for dimension 1 with size 2");
    out_of_bounds("%x: f32[5, 2], %i: i64[3, 2]", "gather(%x, 0, %i)", -1,
                  "index -1 is out of bounds for dimension 0 with size 5");
    out_of_bounds("%i: i64[3], %w: f32[5, 2]", "embedding(%i, %w)", 5,
                  "index 5 is out of bounds for dimension 0 with size 5");
    out_of_bounds("%x: f32[5], %i: i64[3], %s: f32[3]", "scatter_add(%x, 0, %i, %s)", 5,
                  "index 5 is out of bounds for dimension 0 with size 5");
    out_of_bounds("%i: i64[3]", "one_hot(%i, 4)", 4,
                  "Class values must be smaller than num_classes");
}

/* Pairs of a source and a place, summed, are found, and put together again they are the same to the
 * last bit, wherever sources land: below and beyond all places, too. */
static void test_landed(void **state) {
    static const char *const graphs[] = {
        "graph(%%s: f32[16, 5]) {\n %%a = arange(0, 16, 1)\n %%r = remainder(%%a, 7)\n"
        " %%j = sub(%%r, %d)\n %%i = view(%%j, [1, 1, 16])\n %%p = arange(0, 4, 1)\n"
        " %%q = view(%%p, [4, 1, 1])\n %%h = eq(%%i, %%q)\n %%t = permute(%%s, [1, 0])\n"
        " %%u = unsqueeze(%%t, 0)\n %%w = where(%%h, %%u, 0)\n %%y = sum(%%w, [2])\n"
        " return %%y\n}\n",
        "graph(%%s: f32[5, 16]) {\n %%a = arange(0, 16, 1)\n %%r = remainder(%%a, 7)\n"
        " %%j = sub(%%r, %d)\n %%i = view(%%j, [1, 1, 16])\n %%p = arange(0, 4, 1)\n"
        " %%q = view(%%p, [1, 4, 1])\n %%h = eq(%%q, %%i)\n %%u = unsqueeze(%%s, 1)\n"
        " %%w = where(%%h, %%u, 0)\n %%y = sum(%%w, [2])\n return %%y\n}\n"};
    for (int k = 0; k < 4; k++) {
        struct arena *a = arena_new();
        struct graph *g = must_parse(a, arena_printf(a, graphs[k / 2], k % 2 ? 2 : 0));
        struct value in[1], out[2];
        struct landed l;
        node_id sum = g->outputs.at[0];
        struct meta m = g->nodes.at[sum].meta;
        assert_true(graph_find_landed(g, sum, &l));
        assert_int_equal(l.dim, k / 2);
        vec_push(a, &g->outputs, graph_land(g, &m, &l, l.index, l.source));
        random_inputs(g, in);
        must_eval(g, in, out);
        assert_int_equal(out[0].n, 20);
        assert_int_equal(out[1].n, 20);
        for (int64_t i = 0; i < 20; i++) assert_true(out[0].v[i] == out[1].v[i]);
        free_values(in, 1);
        free_values(out, 2);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),          cmocka_unit_test(test_pads),
        cmocka_unit_test(test_turns),           cmocka_unit_test(test_looked_up),
        cmocka_unit_test(test_scattered),       cmocka_unit_test(test_windows),
        cmocka_unit_test(test_convolutions),    cmocka_unit_test(test_symbolic),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_out_of_bounds),
        cmocka_unit_test(test_most_dimensions), cmocka_unit_test(test_landed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
