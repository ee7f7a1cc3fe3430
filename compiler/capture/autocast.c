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

static enum policy policy_of(enum op op, bool cuda) {
    switch (op) {
    case OP_MATMUL:
    case OP_MM:
    case OP_BMM:
    case OP_LINEAR:
    case OP_ADDMM:
    case OP_BADDBMM:
    case OP_CONVOLUTION:
    case OP_PRELU:
    case OP_ATTENTION: return LOWER;
    case OP_PROD:
    case OP_MSE_LOSS:
    case OP_L1_LOSS:
    case OP_SMOOTH_L1_LOSS:
    case OP_HUBER_LOSS:
    case OP_BCE:
    case OP_BCE_LOGITS:
    case OP_KL_DIV:
    case OP_HINGE_EMBEDDING_LOSS:
    case OP_MARGIN_RANKING_LOSS:
    case OP_SOFT_MARGIN_LOSS:
    case OP_POISSON_NLL_LOSS:
    case OP_NLL_LOSS:
    case OP_CROSS_ENTROPY: return WIDE;
    case OP_BATCH_NORM:
    case OP_RMS_NORM: return NORM;
    case OP_LAYER_NORM:
    case OP_GROUP_NORM: return cuda ? WIDE : NORM;
    case OP_ACOS:
    case OP_ASIN:
    case OP_COSH:
    case OP_SINH:
    case OP_TAN:
    case OP_EXP:
    case OP_EXPM1:
    case OP_LOG:
    case OP_LOG2:
    case OP_LOG10:
    case OP_LOG1P:
    case OP_RECIPROCAL:
    case OP_RSQRT:
    case OP_POW:
    case OP_SQUARE:
    case OP_SOFTPLUS:
    case OP_SOFTMAX:
    case OP_LOG_SOFTMAX:
    case OP_LOGSUMEXP:
    case OP_SUM:
    case OP_CUMSUM:
    case OP_CUMPROD:
    case OP_NORM:
    case OP_NORMALIZE:
    case OP_UPSAMPLE_NEAREST: return cuda ? WIDE : AS_ALWAYS;
    default: return AS_ALWAYS;
    }
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
        asked |= !strcmp(a->names[i], "out");
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
