/* Derivatives against central differences in double precision: every operator that has a rule, with
 * and without broadcasting; PyTorch's conventions where there is no derivative. */
#include "autograd_test.h"

#include "graph/derivatives.h"

struct test {
    const char *inputs, *call;
    double lo, hi; /* of floating inputs; 0, 0: -2 .. 2 */
};

/* ---- operators whose operands are all tensors and numbers: from the schema ------------------- */

/* Where it is defined. */
static void domain(enum op op, struct test *t) {
    switch ((int)op) {
    case OP_LOG:
    case OP_LOG2:
    case OP_LOG10:
    case OP_LOG1P:
    case OP_SQRT:
    case OP_RSQRT:
    case OP_POW:
    case OP_XLOGY:
    case OP_KL_DIV:
    case OP_POISSON_NLL_LOSS:
    case OP_GAUSSIAN_NLL_LOSS: t->lo = 0.3, t->hi = 2; break;
    case OP_ACOSH: t->lo = 1.1, t->hi = 3; break;
    case OP_ASIN:
    case OP_ACOS:
    case OP_ATANH: t->lo = -0.9, t->hi = 0.9; break;
    case OP_BCE: t->lo = 0.1, t->hi = 0.9; break;
    }
}

/* "%self: f64[3, 4], %other: f64[4]" and "op(%self, %other)"; the shapes go round. False if op
 * takes anything else. */
static bool generate(struct arena *a, const struct op_info *op, int variant, struct test *t) {
    static const char *const shapes[][3] = {
        {"[3, 4]", "[3, 4]", "[3, 4]"}, {"[3, 4]", "[4]", "[3, 1]"}, {"[4]", "[3, 1]", "[]"}};
    struct buf inputs = buf_new(a), call = buf_new(a);
    int n = 0;
    buf_printf(&call, "%s(", op->name);
    for (int i = 0; i < op->n_params; i++) {
        const struct param *p = &op->params[i];
        if (p->kind != 'T' && p->kind != '|') {
            if (!p->has_default) return false;
            continue;
        }
        if (n == 3) return false;
        bool condition = !strcmp(p->name, "condition") || !strcmp(p->name, "mask");
        buf_printf(&inputs, "%s%%%s: %s%s", n ? ", " : "", p->name, condition ? "bool" : "f64",
                   shapes[variant][n]);
        buf_printf(&call, "%s%%%s", n ? ", " : "", p->name);
        n++;
    }
    buf_putc(&call, ')');
    *t = (struct test){inputs.p, call.p, 0, 0};
    domain(op->id, t);
    return n > 0;
}

static void run(struct arena *a, const struct test *t) {
    bool given = t->lo != t->hi;
    check_graph(one_op(a, t->inputs, t->call), given ? t->lo : -2, given ? t->hi : 2);
}

static bool has_rule(enum op op) {
    enum derivative_kind kind = derivative_of(op)->kind;
    return kind == DERIVATIVE_RULE || kind == DERIVATIVE_CODE;
}

static void test_elementwise(void **state) {
    int cases = 0;
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op_info *op = op_info((enum op)i);
        bool differs = op->elementwise && (has_rule(op->id) || op->class == COMPOSITE) &&
                       op->id != OP_SET_DATA; /* whose gradient is not that of its value */
        for (int v = 0; v < 3 && differs && op->dtype != RULE_BOOL; v++) {
            struct arena *a = arena_new();
            struct test t;
            bool unary = op->n_params == 1 || op->params[1].kind != '|';
            if ((v == 0 || !unary) && generate(a, op, v, &t)) run(a, &t), cases++;
            arena_free(a);
        }
    }
    assert_true(cases >= 60);
}

/* ---- the others ------------------------------------------------------------------------------ */

static const struct test tests[] = {
    {"%x: f64[3, 5]", "cumsum(%x, 1)", 0, 0},
    {"%x: f64[3, 5]", "cumprod(%x, 1)", 0.3, 2},
    {"%x: f64[6, 5], %t: i64[6]", "cross_entropy(%x, %t)", 0, 0},
    {"%x: f64[3, 5, 2], %t: i64[3, 2], %w: f64[5]",
     "cross_entropy(%x, %t, %w, 1, label_smoothing=0.1)", 0.3, 2},
    {"%x: f64[6, 5], %t: f64[6, 5]", "cross_entropy(%x, %t, reduction='none')", 0, 0},
    {"%x: f64[6, 5], %t: i64[6], %w: f64[5]", "nll_loss(%x, %t, %w)", 0.3, 2},
    {"%x: f64[3, 4, 5]", "batch_norm(%x, None, None, training=True)", 0, 0},
    {"%x: f64[3, 4], %y: f64[4]", "add(%x, %y, alpha=2)", 0, 0},
    {"%x: f64[3, 4], %y: f64[4]", "sub(%x, %y, alpha=0.5)", 0, 0},
    {"%x: f64[3]", "sub(1, %x)", 0, 0},
    {"%x: f64[3]", "div(%x, 3)", 0, 0},
    {"%x: f64[3]", "div(3, %x)", 0.5, 2},
    {"%x: f64[3]", "pow(%x, 2)", 0, 0},
    {"%x: f64[3]", "pow(%x, 3)", 0, 0},
    {"%x: f64[3]", "pow(%x, 1)", 0, 0},
    {"%x: f64[3]", "pow(%x, 0)", 0, 0},
    {"%x: f64[3]", "pow(%x, 2.5)", 0.3, 2},
    {"%x: f64[3]", "pow(%x, -1)", 0.3, 2},
    {"%x: f64[3]", "pow(2, %x)", 0, 0},
    {"%x: f64[8]", "maximum(%x, 0.5)", 0, 0},
    {"%x: f64[8]", "fmod(%x, 0.7)", 0, 0},
    {"%c: bool[3, 1], %x: f64[4]", "where(%c, %x, 0.5)", 0, 0},
    {"%x: f64[4]", "to(%x, f64)", 0, 0},
    {"%x: f64[4]", "convert(%x, f64)", 0, 0},
    {"%x: f64[3, 4]", "sum(%x)", 0, 0},
    {"%x: f64[3, 4, 2]", "sum(%x, [0, 2])", 0, 0},
    {"%x: f64[3, 4]", "sum(%x, 1, True)", 0, 0},
    {"%x: f64[]", "sum(%x)", 0, 0},
    {"%x: f64[3, 4]", "amax(%x, 1)", 0, 0},
    {"%x: f64[3, 4]", "amax(%x)", 0, 0},
    {"%x: f64[3, 4]", "amin(%x, [0], True)", 0, 0},
    {"%x: f64[3, 4]", "prod(%x, 1)", 0, 0},
    {"%x: f64[3, 4]", "cummax(%x, 1)", 0, 0},
    {"%x: f64[3, 4]", "cummin(%x, 0)", 0, 0},
    {"%x: f64[5]", "prod(%x)", 0, 0},
    {"%x: f64[3, 4]", "view(%x, [2, 6])", 0, 0},
    {"%x: f64[2, 3, 4]", "permute(%x, [2, 0, 1])", 0, 0},
    {"%x: f64[4, 1]", "expand(%x, [2, 4, 3])", 0, 0},
    {"%x: f64[3, 4]", "unsqueeze(%x, 1)", 0, 0},
    {"%x: f64[3, 1, 4]", "squeeze(%x, 1)", 0, 0},
    {"%x: f64[3, 4], %y: f64[4, 2]", "mm(%x, %y)", 0, 0},
    {"%x: f64[2, 3, 4], %y: f64[2, 4, 2]", "bmm(%x, %y)", 0, 0},
    {"%x: f64[2, 3, 4], %y: f64[5, 4], %z: f64[5]", "linear(%x, %y, %z)", 0, 0},
    {"%x: f64[4], %y: f64[5, 4]", "linear(%x, %y)", 0, 0},
    {"%x: f64[8]", "clamp(%x, -0.5, 0.5)", 0, 0},
    {"%x: f64[8]", "clamp(%x, max=0.25)", 0, 0},
    {"%x: f64[3, 4], %y: f64[4], %z: f64[3, 1]", "clamp(%x, %y, %z)", 0, 0},
    {"%x: f64[3, 4], %y: f64[4]", "clamp(%x, max=%y)", 0, 0},
    {"%x: f64[3, 4], %y: f64[4]", "clamp(%x, min=%y)", 0, 0},
    {"%x: f64[8]", "clamp_min(%x, 0.5)", 0, 0},
    {"%x: f64[8]", "clamp_max(%x, 0.5)", 0, 0},
    {"%x: f64[20]", "relu6(%x)", -2, 8},
    {"%x: f64[20]", "hardtanh(%x)", 0, 0},
    {"%x: f64[20]", "hardsigmoid(%x)", -5, 5},
    {"%x: f64[20]", "hardswish(%x)", -5, 5},
    {"%x: f64[20]", "softplus(%x, beta=2.0, threshold=1)", 0, 0},
    {"%x: f64[8]", "leaky_relu(%x, 0.2)", 0, 0},
    {"%x: f64[8]", "elu(%x, 1.5)", 0, 0},
    {"%x: f64[8]", "gelu(%x)", 0, 0},
    {"%x: f64[8]", "gelu(%x, approximate='tanh')", 0, 0},
    {"%x: f64[3, 4], %y: f64[4], %z: f64[3, 1]", "addcmul(%x, %y, %z, value=0.5)", 0, 0},
    {"%x: f64[3, 4], %y: f64[4]", "lerp(%x, %y, 0.3)", 0, 0},
    {"%x: f64[3, 4], %m: bool[4], %v: f64[]", "masked_fill(%x, %m, %v)", 0, 0},
    {"%x: f64[3, 1], %m: bool[2, 1, 4], %v: f64[]", "masked_fill(%x, %m, %v)", 0, 0},
    {"%x: f64[3, 4]", "softmax(%x, 1)", 0, 0},
    {"%x: f64[3, 4]", "softmax(%x, 0)", 0, 0},
    {"%x: f64[3, 4]", "log_softmax(%x, -1)", 0, 0},
    {"%x: f64[3, 4]", "logsumexp(%x, 1)", 0, 0},
    {"%x: f64[3, 4, 2]", "logsumexp(%x, [0, 2], True)", 0, 0},
    {"%x: f64[3, 4]", "mean(%x)", 0, 0},
    {"%x: f64[3, 4]", "mean(%x, 1, True)", 0, 0},
    {"%x: f64[3, 4]", "var(%x, 1)", 0, 0},
    {"%x: f64[3, 4]", "var(%x, correction=0, keepdim=True)", 0, 0},
    {"%x: f64[3, 4]", "var(%x, 0, correction=0.5)", 0, 0},
    {"%x: f64[3, 4]", "std(%x, 1)", 0, 0},
    {"%x: f64[3, 4]", "norm(%x)", 0, 0},
    {"%x: f64[3, 4]", "norm(%x, 1, 1)", 0, 0},
    {"%x: f64[3, 4]", "norm(%x, 0, 1)", 0, 0},
    {"%x: f64[3, 4]", "norm(%x, 3, [0], True)", 0, 0},
    {"%x: f64[3, 4]", "norm(%x, 0.5, 1)", 0, 0},
    {"%x: f64[3, 4]", "norm(%x, inf, 1)", 0, 0},
    {"%x: f64[3, 4]", "norm(%x, -inf)", 0, 0},
    {"%x: f64[3, 4]", "normalize(%x)", 0, 0},
    {"%x: f64[3, 4]", "normalize(%x, p=1.0, dim=0)", 0, 0},
    {"%x: f64[3, 4]", "max(%x)", 0, 0},
    {"%x: f64[3, 4]", "min(%x)", 0, 0},
    {"%x: f64[3, 4, 2]", "max_dim(%x, 1)", 0, 0},
    {"%x: f64[3, 4]", "min_dim(%x, 0, True)", 0, 0},
    {"%x: f64[3, 8], %y: f64[8], %z: f64[8]", "layer_norm(%x, [8], %y, %z)", 0, 0},
    {"%x: f64[2, 3, 4]", "layer_norm(%x, [3, 4])", 0, 0},
    {"%x: f64[3, 8], %y: f64[8]", "rms_norm(%x, [8], %y)", 0, 0},
    {"%x: f64[2, 6, 3], %y: f64[6], %z: f64[6]", "group_norm(%x, 3, %y, %z)", 0, 0},
    {"%x: f64[2, 3, 4], %m: f64[3], %v: f64[3], %y: f64[3], %z: f64[3]",
     "batch_norm(%x, %m, %v, %y, %z)", 0.3, 2},
    {"%x: f64[3, 4], %y: f64[3, 4]", "mse_loss(%x, %y)", 0, 0},
    {"%x: f64[3, 4], %y: f64[4]", "mse_loss(%x, %y, reduction='sum')", 0, 0},
    {"%x: f64[3, 4], %y: f64[3, 4]", "l1_loss(%x, %y)", 0, 0},
    {"%x: f64[5], %y: f64[5]", "matmul(%x, %y)", 0, 0},
    {"%x: f64[2, 3, 4], %y: f64[4, 2]", "matmul(%x, %y)", 0, 0},
    {"%x: f64[2, 1, 3, 4], %y: f64[3, 4, 2]", "matmul(%x, %y)", 0, 0},
    {"%x: f64[3], %y: f64[2, 4], %z: f64[4, 3]", "addmm(%x, %y, %z, beta=0.5, alpha=2)", 0, 0},
    {"%q: f64[2, 3, 4], %k: f64[2, 5, 4], %v: f64[2, 5, 2]",
     "scaled_dot_product_attention(%q, %k, %v)", 0, 0},
    {"%q: f64[2, 3, 4], %k: f64[1, 3, 4], %v: f64[2, 3, 4]",
     "scaled_dot_product_attention(%q, %k, %v, is_causal=True)", 0, 0},
    {"%x: f64[2, 3, 4]", "flatten(%x, 1)", 0, 0},
    {"%x: f64[2, 12]", "unflatten(%x, 1, [3, -1])", 0, 0},
    {"%x: f64[2, 3, 4]", "transpose(%x, 0, -1)", 0, 0},
    {"%x: f64[2, 3]", "t(%x)", 0, 0},
    {"%x: f64[2, 3]", "mT(%x)", 0, 0},
    {"%x: f64[2, 3, 4]", "movedim(%x, [0, 1], [2, 0])", 0, 0},
    {"%x: f64[4, 1], %y: f64[2, 4, 3]", "expand_as(%x, %y)", 0, 0},
    {"%x: f64[4, 6], %y: f64[8, 3]", "view_as(%x, %y)", 0, 0},
    {"%x: f64[4, 6]", "contiguous(%x)", 0, 0},
    {"%x: f64[4, 6]", "clone(%x)", 0, 0},
    {"%x: f64[4, 5]", "tril(%x)", 0, 0},
    {"%x: f64[4, 5]", "triu(%x, 1)", 0, 0},
    {"%x: f64[4], %y: f64[4]", "type_as(%x, %y)", 0, 0},
    {"%x: f64[4]", "zeros_like(%x)", 0, 0},
    {"%x: f64[2, 3], %y: f64[2, 1]", "cat([%x, %y, %x], 1)", 0, 0},
    {"%x: f64[0], %y: f64[2, 3]", "cat([%x, %y])", 0, 0},
    {"%x: f64[2, 3], %y: f64[2, 3]", "stack([%x, %y], 1)", 0, 0},
    {"%x: f64[3, 4]", "constant_pad_nd(%x, [1, 2, -1, 0], 3)", 0, 0},
    {"%x: f64[3, 4]", "pad(%x, [1, 2], 'reflect')", 0, 0},
    {"%x: f64[3, 4]", "flip(%x, [0])", 0, 0},
    {"%x: f64[3, 9]", "slice(%x, 1, 2, 8, 1)", 0, 0},
    {"%x: f64[9, 2]", "slice(%x, 0, 1, 9, 3)", 0, 0},
    {"%x: f64[3, 4]", "roll(%x, 2, 1)", 0, 0},
    {"%x: f64[2, 3]", "repeat(%x, [2, 2])", 0, 0},
    {"%x: f64[3, 4]", "diagonal(%x, 1)", 0, 0},
    {"%x: f64[2, 7]", "windows(%x, [3], [2], [1], [1], value=2)", 0, 0},
    {"%x: f64[7, 6]", "windows(%x, [2, 3], [1, 2], [0, 1], [2, 1])", 0, 0},
    {"%x: f64[5, 3], %i: i64[2, 3]", "gather(%x, 0, %i)", 0, 0},
    {"%x: f64[9, 3], %i: i64[2, 4]", "index(%x, [%i], [0])", 0, 0},
    {"%x: f64[9, 2, 8], %i: i64[3, 1], %j: i64[4]", "index(%x, [%i, %j], [0, 2])", 0, 0},
    {"%x: f64[9, 8, 3], %i: i64[3], %j: i64[1]", "index(%x, [%i, %j], [0, 1])", 0, 0},
    {"%i: i64[5], %w: f64[9, 3]", "embedding(%i, %w)", 0, 0},
    {"%x: f64[5], %i: i64[6], %s: f64[6]", "scatter_add(%x, 0, %i, %s)", 0, 0},
    {"%x: f64[3, 5], %i: i64[2, 4], %s: f64[3, 4]", "scatter_add(%x, 1, %i, %s)", 0, 0},
    {"%x: f64[2, 5, 3], %i: i64[7], %s: f64[2, 7, 3]", "index_add(%x, 1, %i, %s, alpha=-3)", 0, 0},
    {"%x: f64[5], %i: i64[3]", "scatter(%x, 0, %i, 2)", 0, 0},
    {"%x: f64[1, 5, 5]", "max_pool(%x, [3], [2], [1])", 0, 0},
    {"%x: f64[1, 5, 5]", "avg_pool(%x, [2], [1])", 0, 0},
    {"%x: f64[2, 9]", "max_pool(%x, [2], None, [1], [3], True, 1)", 0, 0},
    {"%x: f64[1, 4, 6]", "adaptive_max_pool(%x, [2, 3])", 0, 0},
    {"%x: f64[1, 7]", "adaptive_max_pool(%x, [3])", 0, 0},
    {"%x: f64[2, 5, 7]", "adaptive_max_pool(%x, [2, 3])", 0, 0},
    {"%x: f64[1, 5, 4]", "adaptive_avg_pool(%x, [2, 3])", 0, 0},
    {"%x: f64[1, 1, 5]", "upsample_nearest(%x, [8])", 0, 0},
    {"%x: f64[2, 2, 2, 5], %w: f64[2, 3, 2, 3]", "convolve(%x, %w, [1], [1], [1], False, [5])", 0,
     0},
    {"%x: f64[1, 1, 2, 5, 4], %w: f64[1, 2, 2, 3, 2]",
     "convolve(%x, %w, [2, 1], [1, 2], [1, 2], False, [3, 4])", 0, 0},
    {"%x: f64[2, 1, 2, 4], %w: f64[1, 3, 2, 3]", "convolve(%x, %w, [3], [1], [2], True, [12])", 0,
     0},
    {"%x: f64[2, 4, 5], %w: f64[6, 2, 3], %b: f64[6]",
     "convolution(%x, %w, %b, 2, 1, 1, False, 0, 2, 1)", 0, 0},
    {"%x: f64[3, 4, 3], %w: f64[3, 1, 2, 2]", "convolution(%x, %w, None, 2, 0, 1, True, 1, 3)", 0,
     0},
    {"%x: f64[0, 4]", "softmax(%x, 1)", 0, 0},
    {"%x: f64[3, 0]", "sum(%x, 1)", 0, 0},
};

enum { N_TESTS = sizeof tests / sizeof *tests };

static void test_operators(void **state) {
    for (int i = 0; i < N_TESTS; i++) {
        struct arena *a = arena_new();
        run(a, &tests[i]);
        arena_free(a);
    }
}

static bool may_be_floating(const struct op_info *op) {
    bool of_schedule = op->id == OP_M2 || op->id == OP_EXPSUM; /* made of others, after autograd */
    return op->dtype != RULE_BOOL && op->dtype != RULE_I64 && strncmp(op->name, "bitwise_", 8) &&
           !of_schedule;
}

/* A primitive that yields floats has a rule or is said to be flat; whatever has a rule is tested.
 */
static void test_complete(void **state) {
    bool seen[OP_COUNT] = {0};
    for (int i = 0; i < N_TESTS; i++) {
        struct arena *a = arena_new();
        struct graph *g = one_op(a, tests[i].inputs, tests[i].call);
        seen[g->nodes.at[g->outputs.at[0]].op] = true;
        arena_free(a);
    }
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op_info *op = op_info((enum op)i);
        struct arena *a = arena_new();
        struct test t;
        bool primitive = op->class != COMPOSITE && op->class != INPUT && op->class != CREATE &&
                         op->class != LOOP &&          /* test_graph_loop.c */
                         op->id != OP_CONVOLVE_PHASES; /* made where derivatives are there */
        if (primitive && may_be_floating(op) && derivative_of(op->id)->kind == DERIVATIVE_MISSING)
            fail_msg("%s has no derivative", op->name);
        bool tested = seen[i] || op->id == OP_GIVE_GRADIENT; /* test_give_gradient */
        if (has_rule(op->id) && !tested && !generate(a, op, 0, &t))
            fail_msg("no test differentiates %s", op->name);
        arena_free(a);
    }
}

/* ---- whole programs -------------------------------------------------------------------------- */

static const char *const programs[] = {
    /* layer norm by hand */
    "graph(%x: f64[3, 8], %w: f64[8], %b: f64[8]) {\n  %m = mean(%x, -1, True)\n"
    "  %d = sub(%x, %m)\n  %q = square(%d)\n  %v = mean(%q, -1, True)\n  %e = add(%v, 1e-5)\n"
    "  %r = rsqrt(%e)\n  %n = mul(%d, %r)\n  %s = mul(%n, %w)\n  %o = add(%s, %b)\n"
    "  return %o\n}\n",
    /* RMS norm by hand */
    "graph(%x: f64[3, 8], %w: f64[8]) {\n  %q = pow(%x, 2)\n  %m = mean(%q, -1, True)\n"
    "  %e = add(%m, 1e-6)\n  %r = rsqrt(%e)\n  %n = mul(%x, %r)\n  %o = mul(%n, %w)\n"
    "  return %o\n}\n",
    /* softmax by hand, which the maximum must not disturb */
    "graph(%x: f64[3, 8]) {\n  %m = amax(%x, -1, True)\n  %d = sub(%x, %m)\n  %e = exp(%d)\n"
    "  %s = sum(%e, -1, True)\n  %o = div(%e, %s)\n  return %o\n}\n",
    /* a loss over log_softmax */
    "graph(%x: f64[4, 6], %t: f64[4, 6]) {\n  %l = log_softmax(%x, 1)\n  %p = mul(%l, %t)\n"
    "  %m = mean(%p)\n  %o = neg(%m)\n  return %o\n}\n",
    /* attention by hand, two heads */
    "graph(%x: f64[2, 3, 8], %w: f64[8, 8], %u: f64[8, 8]) {\n  %q0 = matmul(%x, %w)\n"
    "  %q1 = view(%q0, [2, 3, 2, 4])\n  %q = transpose(%q1, 1, 2)\n  %k0 = matmul(%x, %u)\n"
    "  %k1 = view(%k0, [2, 3, 2, 4])\n  %k = permute(%k1, [0, 2, 3, 1])\n"
    "  %s = matmul(%q, %k)\n  %c = div(%s, 2.0)\n  %l = tril(%c)\n  %p = softmax(%l, -1)\n"
    "  %v = matmul(%p, %q)\n  %t = transpose(%v, 1, 2)\n  %o = view(%t, [2, 3, 8])\n"
    "  return %o\n}\n",
    /* a perceptron under a squared loss */
    "graph(%x: f64[4, 6], %w: f64[5, 6], %b: f64[5], %u: f64[2, 5], %y: f64[4, 2]) {\n"
    "  %h = linear(%x, %w, %b)\n  %g = gelu(%h)\n  %z = linear(%g, %u)\n"
    "  %l = mse_loss(%z, %y)\n  return %l\n}\n",
    /* gated SiLU between projections, added to its input */
    "graph(%x: f64[3, 6], %g: f64[6, 8], %u: f64[6, 8], %d: f64[8, 6]) {\n"
    "  %a = mm(%x, %g)\n  %s = silu(%a)\n  %b = mm(%x, %u)\n  %h = mul(%s, %b)\n"
    "  %o = mm(%h, %d)\n  %r = add(%x, %o)\n  return %r, %h\n}\n",
    /* batch norm of its own statistics */
    "graph(%x: f64[4, 3, 5], %w: f64[3], %b: f64[3]) {\n  %m = mean(%x, [0, 2], True)\n"
    "  %v = var(%x, [0, 2], correction=0, keepdim=True)\n  %d = sub(%x, %m)\n"
    "  %e = add(%v, 1e-5)\n  %s = sqrt(%e)\n  %n = div(%d, %s)\n  %w1 = view(%w, [3, 1])\n"
    "  %b1 = view(%b, [3, 1])\n  %y = mul(%n, %w1)\n  %o = add(%y, %b1)\n  return %o\n}\n",
    /* pooling by logsumexp, an absolute loss */
    "graph(%x: f64[4, 6, 3], %y: f64[4, 3]) {\n  %p = logsumexp(%x, 1)\n"
    "  %t = tanh(%p)\n  %l = l1_loss(%t, %y, reduction='sum')\n  return %l\n}\n",
    /* scattered, no two to one element; fewer than there are sources */
    "graph(%x: f64[5], %s: f64[5]) {\n  %a = arange(0, 5)\n  %i = flip(%a, [0])\n"
    "  %y = scatter(%x, 0, %i, %s)\n  return %y\n}\n",
    "graph(%x: f64[5, 3], %s: f64[6, 4]) {\n  %a = arange(0, 4)\n  %b = view(%a, [4, 1])\n"
    "  %i = expand(%b, [4, 3])\n  %y = scatter(%x, 0, %i, %s)\n  return %y\n}\n",
    "graph(%x: f64[3, 5], %s: f64[2, 3]) {\n  %a = arange(1, 4)\n"
    "  %i = expand(%a, [2, 3])\n  %y = scatter(%x, 1, %i, %s)\n  return %y\n}\n",
    /* one value used in many ways, and an output that is an input */
    "graph(%x: f64[4], %y: f64[4]) {\n  %a = mul(%x, %y)\n  %b = add(%a, %x)\n  %c = mul(%b, %a)\n"
    "  %e = mul(%c, %b)\n  return %e, %x, %b, %e\n}\n",
};

static void test_programs(void **state) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct arena *a = arena_new();
        check_graph(must_parse(a, programs[i]), -2, 2);
        arena_free(a);
    }
}

/* x * detach(x): one of the two is a constant. */
static void test_detach(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[2]) {\n  %c = detach(%x)\n"
                                    "  %y = mul(%x, %c)\n  return %y\n}\n");
    struct graph *joint = must_differentiate(g, (bool[]){true});
    struct value in[] = {{.v = (double[]){3, -2}, .n = 2}, {.v = (double[]){1, 10}, .n = 2}},
                 out[2];
    must_eval(joint, in, out);
    assert_true(value_number(&out[1], 0) == 3 && value_number(&out[1], 1) == -20);
    free_values(out, 2);
    arena_free(a);
}

/* x with the value of 3 * x by set_data, squared: 2 * 3x, and not 3 times as much. */
static void test_set_data(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[2]) {\n  %e = mul(%x, 3)\n"
                                    "  %y = set_data(%x, %e)\n  %z = mul(%y, %y)\n"
                                    "  return %z\n}\n");
    struct graph *joint = must_differentiate(g, (bool[]){true});
    struct value in[] = {{.v = (double[]){3, -2}, .n = 2}, {.v = (double[]){1, 10}, .n = 2}},
                 out[2];
    must_eval(joint, in, out);
    assert_true(value_number(&out[0], 0) == 81 && value_number(&out[0], 1) == 36);
    assert_true(value_number(&out[1], 0) == 18 && value_number(&out[1], 1) == -120);
    free_values(out, 2);
    arena_free(a);
}

/* x * x, of which the program says that the gradient is x times what comes. */
static void test_give_gradient(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[2]) {\n  %c = detach(%x)\n"
                                    "  %e = mul(%c, %c)\n  %t = tangent([2], 0)\n"
                                    "  %d = mul(%t, %c)\n"
                                    "  %y = give_gradient(%e, %t, [%x], [%d])\n"
                                    "  %z = mul(%y, 3)\n  return %z\n}\n");
    struct graph *joint = must_differentiate(g, (bool[]){true});
    struct value in[] = {{.v = (double[]){3, -2}, .n = 2}, {.v = (double[]){1, 10}, .n = 2}},
                 out[2];
    must_eval(joint, in, out);
    assert_true(value_number(&out[0], 0) == 27 && value_number(&out[0], 1) == 12);
    assert_true(value_number(&out[1], 0) == 9 && value_number(&out[1], 1) == -60);
    free_values(out, 2);
    arena_free(a);
}

/* ---- kinks ----------------------------------------------------------------------------------- */

/* The gradient of x under tangents of 1 is `want`. */
static void gradient_is(const char *inputs, const char *call, const double *x, const double *want,
                        int n) {
    struct arena *a = arena_new();
    struct graph *g = one_op(a, inputs, call);
    bool wants[MAX_TEST_VALUES] = {true};
    struct graph *joint = must_differentiate(g, wants);
    struct value in[MAX_TEST_VALUES], out[MAX_TEST_VALUES];
    random_inputs(joint, in);
    for (uint32_t k = 0; k < joint->inputs.n; k++)
        for (int64_t i = 0; i < in[k].n; i++) in[k].v[i] = k >= g->inputs.n ? 1 : x[i];
    must_eval(joint, in, out);
    assert_int_equal(out[1].n, n);
    for (int i = 0; i < n; i++)
        if (!nearly(value_number(&out[1], i), want[i], 1e-9))
            fail_msg("gradient of %s at %g is %g, expected %g\n%s", call, x[i],
                     value_number(&out[1], i), want[i], printed(joint));
    free_values(in, joint->inputs.n);
    free_values(out, joint->outputs.n);
    arena_free(a);
}

#define LIST(...)                                                                                  \
    { __VA_ARGS__ }
#define GRADIENT_IS(inputs, call, x, want)                                                         \
    do {                                                                                           \
        static const double at[] = x, wanted[] = want;                                             \
        _Static_assert(sizeof at == sizeof wanted, "one gradient an element");                     \
        gradient_is(inputs, call, at, wanted, sizeof wanted / sizeof *wanted);                     \
    } while (0)

/* As PyTorch's. */
static void test_conventions(void **state) {
    GRADIENT_IS("%x: f32[3]", "relu(%x)", LIST(-1, 0, 1), LIST(0, 0, 1));
    GRADIENT_IS("%x: f32[3]", "abs(%x)", LIST(-1, 0, 1), LIST(-1, 0, 1));
    GRADIENT_IS("%x: f32[4]", "amax(%x)", LIST(1, 3, 3, 2), LIST(0, 0.5, 0.5, 0));
    GRADIENT_IS("%x: f32[4]", "amin(%x)", LIST(1, 1, 1, 1), LIST(0.25, 0.25, 0.25, 0.25));
    GRADIENT_IS("%x: f32[4]", "max(%x)", LIST(1, 3, 3, 2), LIST(0, 0.5, 0.5, 0));
    GRADIENT_IS("%x: f32[4]", "max_dim(%x, 0)", LIST(1, 3, 3, 2), LIST(0, 1, 0, 0));
    GRADIENT_IS("%x: f32[2, 2]", "min_dim(%x, 1)", LIST(1, 1, 3, 2), LIST(1, 0, 0, 1));
    GRADIENT_IS("%x: f32[1, 5]", "adaptive_max_pool(%x, [2])", LIST(0, 2, 2, 2, 0),
                LIST(0, 1, 1, 0, 0));
    GRADIENT_IS("%x: f32[2], %y: f32[2]", "maximum(%x, %y)", LIST(1, 2), LIST(0.5, 0.5));
    GRADIENT_IS("%x: f32[3]", "minimum(%x, 1)", LIST(0, 1, 2), LIST(1, 0.5, 0));
    GRADIENT_IS("%x: f32[5]", "clamp(%x, -1, 1)", LIST(-2, -1, 0, 1, 2), LIST(0, 0, 1, 0, 0));
    GRADIENT_IS("%x: f32[3]", "clamp_min(%x, 0)", LIST(-1, 0, 1), LIST(0, 0, 1));
    GRADIENT_IS("%x: f32[2], %y: f32[2]", "clamp_min(%x, %y)", LIST(-1, 0), LIST(0.5, 0.5));
    GRADIENT_IS("%x: f32[2]", "atan2(%x, 0)", LIST(0, 2), LIST(0, 0));
    GRADIENT_IS("%x: f32[3], %y: f32[3]", "binary_cross_entropy(%x, %y)", LIST(0, 0.5, 1),
                LIST(0, 0, 0));
    GRADIENT_IS("%x: f32[4]", "relu6(%x)", LIST(0, 1, 6, 7), LIST(0, 1, 0, 0));
    GRADIENT_IS("%x: f32[3]", "hardtanh(%x)", LIST(-1, 0, 1), LIST(0, 1, 0));
    GRADIENT_IS("%x: f32[3]", "leaky_relu(%x, 0.5)", LIST(-1, 0, 1), LIST(0.5, 0.5, 1));
    GRADIENT_IS("%x: f32[3]", "prod(%x)", LIST(0, 2, 3), LIST(6, 0, 0));
    GRADIENT_IS("%x: f32[3]", "prod(%x)", LIST(0, 2, 0), LIST(0, 0, 0));
    GRADIENT_IS("%x: f32[4]", "cumprod(%x, 0)", LIST(2, 0, 3, 0), LIST(1, 8, 0, 0));
    GRADIENT_IS("%x: f32[3]", "cumprod(%x, 0)", LIST(2, 3, 4), LIST(16, 10, 6));
    GRADIENT_IS("%x: f32[4]", "cummax(%x, 0)", LIST(1, 3, 3, 2), LIST(1, 1, 2, 0));
    GRADIENT_IS("%x: f32[1, 4]", "max_pool(%x, [2], [1], [0], [1], False, 1)", LIST(0, 0, 0, 1),
                LIST(1, 1, 0, 1));
    GRADIENT_IS("%x: f32[3]", "norm(%x)", LIST(0, 0, 0), LIST(0, 0, 0));
    GRADIENT_IS("%x: f32[1, 2]", "normalize(%x)", LIST(0, 0), LIST(1e12, 1e12));
    GRADIENT_IS("%x: f32[3]", "std(%x)", LIST(1, 1, 1), LIST(0, 0, 0));
    GRADIENT_IS("%x: f32[2]", "pow(%x, 0)", LIST(0, 1), LIST(0, 0));
    GRADIENT_IS("%x: f32[2]", "pow(%x, 2)", LIST(0, 3), LIST(0, 6));
    GRADIENT_IS("%x: f32[2]", "floor(%x)", LIST(0, 1), LIST(0, 0));
    GRADIENT_IS("%x: f32[2]", "detach(%x)", LIST(0, 1), LIST(0, 0));
    GRADIENT_IS("%x: f32[2]", "sign(%x)", LIST(0, 1), LIST(0, 0));
}

/* Nothing overflows on the way to a finite gradient. */
static void test_large_values(void **state) {
    static const char *const calls[] = {"softplus(%x)", "elu(%x)",        "selu(%x)",
                                        "mish(%x)",     "logsigmoid(%x)", "silu(%x)",
                                        "gelu(%x)",     "tanh(%x)",       "sigmoid(%x)"};
    static const double below[] = {0, 0, 0, 0, 1, 0, 0, 0, 0},
                        above[] = {1, 1, 1.0507009873554805, 1, 0, 1, 1, 0, 0};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        double x[] = {-1000, 1000}, want[] = {below[i], above[i]};
        gradient_is("%x: f32[2]", calls[i], x, want, 2);
    }
    double x[] = {1000, -1000, 1000}, want[] = {0.5, 0, 0.5};
    gradient_is("%x: f32[3]", "logsumexp(%x, 0)", x, want, 3);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Gradients have their operand's type; rules of several steps compute in f32, single ones as they
 * are. */
static void test_types(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: bf16[4, 8], %w: f32[8], %n: i64[8]) {\n"
                                    "  %a = mul(%x, %w)\n"
                                    "  %b = add(%a, %n)\n"
                                    "  return %b, %n\n"
                                    "}\n");
    struct graph *joint = must_differentiate(g, wants_all(g));
    assert_int_equal(joint->inputs.n, 4); /* no tangent of %n */
    assert_int_equal(joint->outputs.n, 4);
    assert_int_equal(joint->nodes.at[joint->outputs.at[2]].meta.dtype, DT_BF16);
    assert_int_equal(joint->nodes.at[joint->outputs.at[3]].meta.dtype, DT_F32);

    const char *one =
        printed(must_differentiate(one_op(a, "%x: bf16[4]", "mul(%x, 2.0)"), (bool[]){true}));
    assert_non_null(strstr(one, "%mul: bf16[4] = mul(%tangent, 2.0)\n  return %r, %mul\n"));
    const char *many =
        printed(must_differentiate(one_op(a, "%x: bf16[4]", "tanh(%x)"), (bool[]){true}));
    assert_non_null(strstr(many, "f32[4] = sub(1, "));
    assert_non_null(strstr(many, "bf16[4] = convert("));
    arena_free(a);
}

/* What was added at indices looks up its gradient, and does not ask every place for it. */
static void test_landed(void **state) {
    struct arena *a = arena_new();
    static const char *const calls[] = {"scatter_add(%x, 0, %i, %s)", "index_add(%x, 0, %i, %s)"};
    for (int k = 0; k < 2; k++) {
        struct graph *g = one_op(a, "%x: f64[50], %i: i64[60], %s: f64[60]", calls[k]);
        const char *joint = printed(must_differentiate(g, (bool[]){true, false, true}));
        assert_null(strstr(joint, "where("));
        assert_non_null(strstr(joint, k ? "index_select(%tangent" : "gather(%tangent"));
    }
    arena_free(a);
}

/* Composites in bf16: their parts are differentiated in f32, between conversions. */
static void test_low_precision(void **state) {
    static const char *const calls[] = {"gelu(%x)",     "rms_norm(%x, [4])",
                                        "mean(%x)",     "logsumexp(%x, 0)",
                                        "softsign(%x)", "normalize(%x, dim=0)"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct arena *a = arena_new();
        struct graph *g = one_op(a, "%x: bf16[4]", calls[i]);
        struct graph *joint = must_differentiate(g, (bool[]){true});
        struct meta m = joint->nodes.at[joint->outputs.at[1]].meta;
        assert_int_equal(m.dtype, DT_BF16);
        for (node_id k = g->nodes.n + 1; k < joint->nodes.n; k++) {
            const struct node *n = &joint->nodes.at[k];
            bool moves = n->op == OP_CONVERT || op_info(n->op)->class == VIEW;
            if (!moves && n->meta.dtype == DT_BF16) fail_msg("%%%s\n%s", n->name, printed(joint));
        }
        arena_free(a);
    }
}

/* Only what is asked for is computed, and zeros stand for what is not reached. */
static void test_wants(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[4], %y: f32[4], %z: f32[4]) {\n"
                                    "  %m = mul(%x, %y)\n"
                                    "  return %m\n"
                                    "}\n");
    const char *text = printed(must_differentiate(g, (bool[]){false, true, true}));
    assert_non_null(strstr(text, "mul(%tangent, %x)"));
    assert_null(strstr(text, "mul(%tangent, %y)"));
    assert_non_null(strstr(text, "full(size=[4], fill_value=0.0, dtype=f32"));
    arena_free(a);
}

static void test_symbolic(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[s0, s1], %w: f32[s1]) {\n"
                                    "  %a = softmax(%x, 1)\n"
                                    "  %v = var(%a, 1, keepdim=True)\n"
                                    "  %b = mul(%v, %w)\n"
                                    "  %c = mean(%b)\n"
                                    "  return %c\n"
                                    "}\n");
    struct graph *joint = must_differentiate(g, wants_all(g));
    assert_null(graph_verify(graph_simplify(graph_decompose(joint)), true));
    arena_free(a);
}

/* Windows beside each other have each element once: the gradient has no more elements than they,
 * and not as many for each as a window has. Where windows overlap, as many as may have it. */
static void test_windows(void **state) {
    static const struct {
        const char *text;
        int64_t most; /* elements of the largest tensor */
    } cases[] = {
        {"graph(%x: f32[2, 64, 64]) {\n %y = adaptive_avg_pool(%x, output_size=[1, 1])\n"
         " return %y\n}\n",
         2 * 64 * 64},
        {"graph(%x: f32[2, 64, 64]) {\n %y = avg_pool(%x, [8, 8], [8, 8])\n"
         " return %y\n}\n",
         2 * 64 * 64},
        {"graph(%x: f32[2, 64, 64]) {\n %y = avg_pool(%x, [8, 8], [4, 8])\n"
         " return %y\n}\n",
         2 * 17 * 8 * 8 * 8}, /* 15 windows, and one of zeros on both sides */
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct graph *g = graph_decompose(must_parse(a, cases[i].text)), *joint;
        joint = graph_simplify(graph_decompose(must_differentiate(g, wants_all(g))));
        for (node_id n = 0; n < joint->nodes.n; n++) {
            const struct meta *m = &joint->nodes.at[n].meta;
            if (ex_hint(joint->ex, meta_numel(joint->ex, m)) > cases[i].most)
                fail_msg("more than %lld elements in\n%s", (long long)cases[i].most,
                         printed(joint));
        }
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_elementwise),   cmocka_unit_test(test_operators),
        cmocka_unit_test(test_programs),      cmocka_unit_test(test_detach),
        cmocka_unit_test(test_set_data),      cmocka_unit_test(test_give_gradient),
        cmocka_unit_test(test_complete),      cmocka_unit_test(test_conventions),
        cmocka_unit_test(test_large_values),  cmocka_unit_test(test_types),
        cmocka_unit_test(test_low_precision), cmocka_unit_test(test_landed),
        cmocka_unit_test(test_wants),         cmocka_unit_test(test_symbolic),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
