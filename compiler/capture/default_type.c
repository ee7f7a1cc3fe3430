/* default_type.c: torch.set_default_dtype: the type of results without a floating operand.
 *
 *   torch.set_default_dtype(torch.float64)
 *   torch.ones(2)                  full(..., dtype=f64)
 *   torch.arange(3) / 2            div(cast(%arange, f64), 2)
 *   torch.tensor([0.5])            f64
 *
 * In graphs such a type is an argument or a cast: what reads a graph knows of f32 alone. */
#include <string.h>

#include "capture/dynamo.h"
#include "capture/natives.h"

enum dtype default_type(const struct vm *vm) {
    return vm->autocast.standard ? (enum dtype)(vm->autocast.standard - 1) : DT_F32;
}

static bool is_float_number(struct py v) { return v.kind == PY_FLOAT || v.kind == PY_SYMFLOAT; }

/* Of what decides the result's type. */
struct operands {
    bool tensor, number; /* of floating type */
};

static void look(struct vm *vm, struct operands *x, struct py v) {
    bool list = py_is_sequence(v);
    x->number |= is_float_number(v);
    x->tensor |= v.kind == PY_TENSOR && dtype_is_float(tensor_meta(vm, v)->dtype);
    for (uint32_t i = 0; list && i < v.list->n; i++) {
        struct py item = v.list->at[i];
        x->tensor |= item.kind == PY_TENSOR && dtype_is_float(tensor_meta(vm, item)->dtype);
    }
}

static struct py cast(struct vm *vm, struct py v) {
    if (v.kind != PY_TENSOR) return v;
    struct py args[2] = {v, py_dtype(default_type(vm))};
    return tensor_call(vm, OP_CAST, args, 2);
}

/* where(c, 0.5, 1): numbers that are to have the type become tensors of it. */
static struct py as_tensor(struct vm *vm, struct py v) {
    struct py full[3] = {py_list(vm->arena, PY_TUPLE, NULL, 0), v, py_dtype(default_type(vm))};
    return is_float_number(v) ? tensor_call(vm, OP_FULL, full, 3) : v;
}

static struct args mapped(struct vm *vm, const struct args *a,
                          struct py (*f)(struct vm *vm, struct py v)) {
    struct py *at = NEW_ARRAY(vm->arena, struct py, a->n);
    struct py *named = NEW_ARRAY(vm->arena, struct py, a->n_named);
    for (uint32_t i = 0; i < a->n; i++) at[i] = f(vm, a->at[i]);
    for (uint32_t i = 0; i < a->n_named; i++) named[i] = f(vm, a->named[i]);
    return (struct args){.at = at, .n = a->n, a->names, named, a->n_named};
}

static int place_of_dtype(const struct op_info *op) {
    for (int i = 0; i < op->n_params; i++)
        if (!strcmp(op->params[i].name, "dtype")) return i;
    WS_BUG("%s has no dtype", op->name);
}

/* torch.full((2,), 0.5) is of the type, torch.full((2,), 1) is not. */
static struct args made(struct vm *vm, enum op op, const struct args *a, const struct operands *x) {
    uint32_t place = (uint32_t)place_of_dtype(op_info(op));
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].kind == PY_DTYPE) return *a;
    struct py given = args_named(a, "dtype");
    bool of_numbers = op == OP_FULL || op == OP_ARANGE;
    if ((given.kind != PY_UNSET && given.kind != PY_NONE) || (of_numbers && !x->number)) return *a;
    struct args out = *a;
    if (place < a->n && a->at[place].kind == PY_NONE) out.n = place;
    return args_with(vm, &out, "dtype", py_dtype(default_type(vm)));
}

struct args default_type_args(struct vm *vm, const struct builtin *b, const struct args *a) {
    struct operands x = {0};
    for (uint32_t i = 0; i < a->n; i++) look(vm, &x, a->at[i]);
    for (uint32_t i = 0; i < a->n_named; i++) look(vm, &x, a->named[i]);
    if (x.tensor || b->in_place) return *a;
    switch (op_info(b->op)->dtype) {
    case RULE_FLOAT: return mapped(vm, a, cast);
    case RULE_PROMOTE: return x.number ? mapped(vm, a, cast) : *a;
    case RULE_ARG: return made(vm, b->op, a, &x);
    case RULE_CUSTOM: return b->op == OP_WHERE ? mapped(vm, a, as_tensor) : *a;
    case RULE_SAME:
    case RULE_BOOL:
    case RULE_SUM:
    case RULE_I64: return *a;
    }
    return *a;
}

NATIVE(default_type) { return py_dtype(default_type(vm)); }

NATIVE(set_default_type) {
    if (!dtype_is_float(v[0].dtype))
        vm_raise(vm, EXC_TypeError, "only floating-point types are supported as the default type");
    vm->autocast.standard = v[0].dtype == DT_F32 ? 0 : 1 + (uint8_t)v[0].dtype;
    return py_none;
}
