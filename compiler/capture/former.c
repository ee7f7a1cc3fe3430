/* former.c: calls in the forms of earlier versions, which PyTorch still takes.
 *
 *   F.mse_loss(x, y, size_average=False)    F.mse_loss(x, y, reduction='sum')
 *   F.mse_loss(x, y, reduction='elementwise_mean')    reduction='mean'
 *   p.add_(-rate, gradient)                 p.add_(gradient, alpha=-rate)
 *   torch.addmm(b, x, a, m, n)              torch.addmm(x, m, n, beta=b, alpha=a)
 */
#include <string.h>

#include "capture/vm.h"

struct py args_named(const struct args *a, const char *name) {
    for (uint32_t i = 0; i < a->n_named; i++)
        if (!strcmp(a->names[i], name)) return a->named[i];
    return py_unset;
}

/* A loss's arguments with `reduction` for size_average and reduce, which were its names once. */
static struct args name_reduction(struct vm *vm, enum op op, const struct args *a) {
    const struct op_info *info = op_info(op);
    uint32_t behind = 0; /* first parameter that PyTorch has behind size_average */
    bool loss = false;
    for (int i = 0; i < info->n_params; i++) loss |= !strcmp(info->params[i].name, "reduction");
    if (!loss) return *a;
    while (strcmp(info->params[behind].name, "reduction") &&
           strcmp(info->params[behind].name, "ignore_index") &&
           strcmp(info->params[behind].name, "eps"))
        behind++;
    if (a->n > behind)
        vm_refuse(vm, "argument %u of F.%s() is size_average; name those behind it", behind + 1,
                  info->name);
    struct py how = args_named(a, "reduction");
    if (how.kind == PY_STR && !strcmp(how.s, "elementwise_mean"))
        return args_with(vm, a, "reduction", py_str("mean"));
    struct py average = args_named(a, "size_average"), reduce = args_named(a, "reduce");
    if (average.kind == PY_UNSET && reduce.kind == PY_UNSET) return *a;
    struct args out = args_with(vm, a, "size_average", py_unset);
    out = args_with(vm, &out, "reduce", py_unset);
    bool no_average = average.kind == PY_UNSET || average.kind == PY_NONE;
    bool no_reduce = reduce.kind == PY_UNSET || reduce.kind == PY_NONE;
    if (no_average && no_reduce) return out;
    bool one = no_reduce || vm_truth(vm, reduce), mean = no_average || vm_truth(vm, average);
    return args_with(vm, &out, "reduction", py_str(!one ? "none" : mean ? "mean" : "sum"));
}

/* Numbers stood before the tensors that they weigh. */
static struct args tensors_first(struct vm *vm, enum op op, const struct args *a) {
    bool sum = op == OP_ADD || op == OP_SUB, each = op == OP_ADDCMUL || op == OP_ADDCDIV;
    uint32_t tensors = sum ? 2 : 3, n = 0;
    if (!sum && !each && op != OP_ADDMM && op != OP_BADDBMM) return *a;
    if (a->n <= tensors || a->at[a->n - 1].kind != PY_TENSOR) return *a;
    struct args out = *a;
    struct py *at = NEW_ARRAY(vm->arena, struct py, a->n);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].kind == PY_TENSOR) at[n++] = a->at[i];
    if (n != tensors) return *a;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].kind != PY_TENSOR) at[n++] = a->at[i];
    out.at = at;
    return out;
}

struct args args_of_today(struct vm *vm, enum op op, const struct args *a) {
    struct args named = name_reduction(vm, op, a);
    return tensors_first(vm, op, &named);
}
