/* autocast.c: torch.autocast: what operators do to the types of their operands under it.
 *
 *   with torch.autocast('cpu', dtype=torch.bfloat16):
 *       y = a @ b           %cast = cast(%a, bf16), %cast_1 = cast(%b, bf16), %mm = mm(...)
 *       F.mse_loss(y, t)    %cast_2 = cast(%y, f32), ...
 *
 * The operators are those of PyTorch's lists, which differ from device to device. What is in none
 * of them promotes its operands as always. f64 and integers stay as they are, and so does what is
 * updated in place. */
#include <string.h>

#include "capture/dynamo.h"
#include "capture/natives.h"

enum policy {
    AS_ALWAYS,
    LOWER, /* products: in the type of autocast */
    WIDE,  /* in f32 */
    NORM,  /* parameters may be wider than the input, whose type the result has */
};

static const enum op lower[] = {OP_MATMUL,  OP_MM,          OP_BMM,   OP_LINEAR,   OP_ADDMM,
                                OP_BADDBMM, OP_CONVOLUTION, OP_PRELU, OP_ATTENTION};
static const enum op wide[] = {OP_PROD,
                               OP_MSE_LOSS,
                               OP_L1_LOSS,
                               OP_SMOOTH_L1_LOSS,
                               OP_HUBER_LOSS,
                               OP_BCE,
                               OP_BCE_LOGITS,
                               OP_KL_DIV,
                               OP_HINGE_EMBEDDING_LOSS,
                               OP_MARGIN_RANKING_LOSS,
                               OP_SOFT_MARGIN_LOSS,
                               OP_POISSON_NLL_LOSS,
                               OP_NLL_LOSS,
                               OP_CROSS_ENTROPY};
static const enum op wide_on_cuda[] = {
    OP_ACOS,       OP_ASIN,       OP_COSH,        OP_SINH,      OP_TAN,
    OP_EXP,        OP_EXPM1,      OP_LOG,         OP_LOG2,      OP_LOG10,
    OP_LOG1P,      OP_RECIPROCAL, OP_RSQRT,       OP_POW,       OP_SQUARE,
    OP_SOFTPLUS,   OP_SOFTMAX,    OP_LOG_SOFTMAX, OP_LOGSUMEXP, OP_SUM,
    OP_CUMSUM,     OP_CUMPROD,    OP_NORM,        OP_NORMALIZE, OP_UPSAMPLE_NEAREST,
    OP_LAYER_NORM, OP_GROUP_NORM};
static const enum op norms[] = {OP_BATCH_NORM, OP_LAYER_NORM, OP_GROUP_NORM, OP_RMS_NORM};

static bool is_one_of(enum op op, const enum op *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == op) return true;
    return false;
}
#define IS_ONE_OF(op, list) is_one_of(op, list, sizeof(list) / sizeof *(list))

static enum policy policy_of(enum op op, bool cuda) {
    if (IS_ONE_OF(op, lower)) return LOWER;
    if (IS_ONE_OF(op, wide) || (cuda && IS_ONE_OF(op, wide_on_cuda))) return WIDE;
    return IS_ONE_OF(op, norms) ? NORM : AS_ALWAYS;
}

/* v in f32 or the type t, if it is a tensor of floating numbers below f64. */
static struct py cast(struct vm *vm, struct py v, enum dtype t) {
    if (v.kind != PY_TENSOR) return v;
    enum dtype from = tensor_meta(vm, v)->dtype;
    if (from == t || (from != DT_F32 && from != DT_F16 && from != DT_BF16)) return v;
    struct py args[2] = {v, py_dtype(t)};
    return tensor_call(vm, OP_CAST, args, 2);
}

static struct args cast_all(struct vm *vm, const struct args *a, enum dtype t) {
    struct py *at = NEW_ARRAY(vm->arena, struct py, a->n);
    struct py *named = NEW_ARRAY(vm->arena, struct py, a->n_named);
    for (uint32_t i = 0; i < a->n; i++) at[i] = cast(vm, a->at[i], t);
    for (uint32_t i = 0; i < a->n_named; i++) named[i] = cast(vm, a->named[i], t);
    return (struct args){.at = at, .n = a->n, a->names, named, a->n_named};
}

static bool is_in_place(struct vm *vm, const struct builtin *b, const struct args *a) {
    bool asked = b->in_place;
    for (uint32_t i = 0; i < a->n_named; i++) {
        asked |= !strcmp(a->names[i], "out") && a->named[i].kind != PY_NONE;
        asked |= !strcmp(a->names[i], "inplace") && vm_truth(vm, a->named[i]);
    }
    return asked;
}

/* Do the tensors of the program lie on a GPU? Those of a workload say cpu and lie where it is
 * compiled for. */
static bool on_cuda(const struct vm *vm) { return vm->eager ? vm->has_cuda : vm->options->cuda; }

static uint8_t *slot(struct vm *vm, bool cuda) {
    return &vm->autocast.of[cuda || (!vm->eager && on_cuda(vm))];
}

static enum policy policy_now(struct vm *vm, const struct builtin *b, const struct args *a) {
    bool cuda = on_cuda(vm), any = vm->autocast.of[cuda] && !is_in_place(vm, b, a);
    return any ? policy_of(b->op, cuda) : AS_ALWAYS;
}

struct args autocast_args(struct vm *vm, const struct builtin *b, const struct args *a) {
    enum policy policy = policy_now(vm, b, a);
    if (policy == AS_ALWAYS) return *a;
    return cast_all(vm, a,
                    policy == LOWER ? (enum dtype)(vm->autocast.of[on_cuda(vm)] - 1) : DT_F32);
}

struct py autocast_result(struct vm *vm, const struct builtin *b, const struct args *a,
                          struct py out) {
    bool norm = policy_now(vm, b, a) == NORM && a->n && a->at[0].kind == PY_TENSOR;
    return norm ? cast(vm, out, tensor_meta(vm, a->at[0])->dtype) : out;
}

NATIVE(autocast_get) {
    int t = *slot(vm, vm_truth(vm, v[0]));
    return t ? py_dtype((enum dtype)(t - 1)) : py_none;
}

/* The type of autocast, or None, from now on; what it was before. */
NATIVE(autocast_set) {
    struct py before = native_autocast_get(vm, v, NULL);
    *slot(vm, vm_truth(vm, v[0])) = v[1].kind == PY_DTYPE ? 1 + (uint8_t)v[1].dtype : 0;
    return before;
}
