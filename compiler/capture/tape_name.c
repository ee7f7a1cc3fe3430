/* tape_name.c: what PyTorch calls the gradient of an operator, which printing a tensor shows.
 *
 *   add -> AddBackward0    x.sum(1) -> SumBackward1    F.linear(x, w, b) -> AddmmBackward0
 *
 * An operator of ours may be several of PyTorch's: the name is of the last one. The number at the
 * end tells overloads apart. */
#include <ctype.h>
#include <string.h>

#include "capture/tape_name.h"

/* RENAMED(op, name): where PyTorch's kernel has another name than the function. */
#define RENAMED(NAME)                                                                              \
    NAME(SQUARE, "PowBackward0")                                                                   \
    NAME(NORM, "LinalgVectorNormBackward0")                                                        \
    NAME(LAYER_NORM, "NativeLayerNormBackward0")                                                   \
    NAME(BATCH_NORM, "NativeBatchNormBackward0")                                                   \
    NAME(GROUP_NORM, "NativeGroupNormBackward0")                                                   \
    NAME(RMS_NORM, "MulBackward0")                                                                 \
    NAME(NORMALIZE, "DivBackward0")                                                                \
    NAME(RELU6, "HardtanhBackward0")                                                               \
    NAME(SELU, "EluBackward0")                                                                     \
    NAME(PRELU, "PreluKernelBackward0")                                                            \
    NAME(SOFTSIGN, "DivBackward0")                                                                 \
    NAME(TANHSHRINK, "SubBackward0")                                                               \
    NAME(LOGSIGMOID, "LogSigmoidBackward0")                                                        \
    NAME(LOG1P, "Log1PBackward0")                                                                  \
    NAME(CLAMP_MIN, "ClampBackward1")                                                              \
    NAME(CLAMP_MAX, "ClampBackward1")                                                              \
    NAME(SQUEEZE, "SqueezeBackward1")                                                              \
    NAME(MAX, "MaxBackward1")                                                                      \
    NAME(MIN, "MinBackward1")                                                                      \
    NAME(MAX_DIM, "MaxBackward0")                                                                  \
    NAME(MIN_DIM, "MinBackward0")                                                                  \
    NAME(FLOAT, "ToCopyBackward0")                                                                 \
    NAME(DOUBLE, "ToCopyBackward0")                                                                \
    NAME(HALF, "ToCopyBackward0")                                                                  \
    NAME(BFLOAT16, "ToCopyBackward0")                                                              \
    NAME(CAST, "ToCopyBackward0")                                                                  \
    NAME(CONTIGUOUS, "CloneBackward0")                                                             \
    NAME(FLATTEN, "ViewBackward0")                                                                 \
    NAME(UNFLATTEN, "ViewBackward0")                                                               \
    NAME(VIEW_AS, "ViewBackward0")                                                                 \
    NAME(EXPAND_AS, "ExpandBackward0")                                                             \
    NAME(MOVEDIM, "PermuteBackward0")                                                              \
    NAME(NARROW, "SliceBackward0")

static bool is_tensor(const struct node *n, int i) {
    return i < n->n_args && n->args[i].kind == ARG_NODE;
}

static bool is_given(const struct node *n, int i) {
    return i < n->n_args && n->args[i].kind != ARG_NONE;
}

static int rank(const struct graph *g, const struct node *n, int i) {
    return g->nodes.at[n->args[i].node].meta.rank;
}

static const char *product_name(int a, int b) {
    if (a == 1 && b == 1) return "DotBackward0";
    if (a == 2 && b == 2) return "MmBackward0";
    if (a == 2 && b == 1) return "MvBackward0";
    if (a == 1 && b == 2) return "SqueezeBackward4";
    return a == 2 && b > 2 ? "CloneBackward0" : "UnsafeViewBackward0";
}

static const char *linear_name(int input, bool bias) {
    if (input == 2) return bias ? "AddmmBackward0" : "MmBackward0";
    return bias ? "ViewBackward0" : input == 1 ? "SqueezeBackward4" : "UnsafeViewBackward0";
}

static bool says(const struct node *n, int i, const char *word) {
    return i < n->n_args && n->args[i].kind == ARG_STR && !strcmp(n->args[i].s, word);
}

/* Of a loss that PyTorch computes by other operators: what takes the mean of it, or the sum. */
static const char *folded_name(const struct node *n) {
    return says(n, 2, "mean") ? "MeanBackward0" : says(n, 2, "sum") ? "SumBackward0" : NULL;
}

/* Where the arguments decide; NULL: they do not. */
static const char *name_by_arguments(const struct graph *g, const struct node *n) {
    enum op op = n->op;
    if (op == OP_SUM) return is_given(n, 1) ? "SumBackward1" : NULL;
    if (op == OP_MEAN) return is_given(n, 1) ? "MeanBackward1" : NULL;
    if (op == OP_PROD) return is_given(n, 1) ? "ProdBackward1" : NULL;
    if (op == OP_POW)
        return !is_tensor(n, 0) ? "PowBackward2" : is_tensor(n, 1) ? "PowBackward1" : NULL;
    if (op == OP_SUB) return is_tensor(n, 0) ? NULL : "RsubBackward1";
    if (op == OP_DIV) return is_tensor(n, 0) ? NULL : "MulBackward0";
    if (op == OP_REMAINDER) return is_tensor(n, 1) ? "RemainderBackward1" : NULL;
    if (op == OP_LERP) return is_tensor(n, 2) ? "LerpBackward1" : NULL;
    if (op == OP_SCATTER) return is_tensor(n, 3) ? NULL : "ScatterBackward1";
    if (op == OP_CLAMP) return is_tensor(n, 1) || is_tensor(n, 2) ? NULL : "ClampBackward1";
    if (op == OP_MATMUL) return product_name(rank(g, n, 0), rank(g, n, 1));
    if (op == OP_LINEAR) return linear_name(rank(g, n, 0), is_given(n, 2));
    if (op == OP_PAD) return says(n, 2, "constant") ? "ConstantPadNdBackward0" : NULL;
    if (op == OP_L1_LOSS) return folded_name(n);
    if (op == OP_KL_DIV) return says(n, 2, "batchmean") ? "DivBackward0" : folded_name(n);
    if (op != OP_CROSS_ENTROPY) return NULL;
    if (!dtype_is_float(g->nodes.at[n->args[1].node].meta.dtype))
        return rank(g, n, 0) > 2 ? "NllLoss2DBackward0" : "NllLossBackward0";
    return says(n, 4, "mean") ? "DivBackward1" : NULL;
}

const char *backward_name(struct arena *a, const struct graph *g, node_id id) {
    const struct node *n = &g->nodes.at[id];
    const char *other = name_by_arguments(g, n);
    if (other) return other;
    static const char *const renamed[OP_COUNT] = {
#define NAME(op, name) [OP_##op] = name,
        RENAMED(NAME)
#undef NAME
    };
    if (renamed[n->op]) return renamed[n->op];
    struct buf b = buf_new(a);
    bool start = true;
    for (const char *s = op_info(n->op)->name; *s; s++) {
        if (*s != '_') buf_putc(&b, start ? (char)toupper((unsigned char)*s) : *s);
        start = *s == '_';
    }
    buf_puts(&b, "Backward0");
    return b.p;
}
