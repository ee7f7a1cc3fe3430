/* builtins_torch.c: what torch needs in C: dtypes, properties of tensors, and the few functions
 * that the prelude (prelude.c) is written with. Operators are not here: they come from
 * graph/ops.def by name. */
#include <math.h>
#include <string.h>

#include "capture/vm.h"

#define NATIVE(name)                                                                               \
    static struct py torch_##name(struct vm *vm, const struct py *v, const struct args *raw)
#define GIVEN(i) (v[i].kind != PY_UNSET)

static struct tensor *need_tensor(struct vm *vm, struct py v) {
    if (v.kind != PY_TENSOR)
        vm_raise(vm, EXC_TypeError, "expected a Tensor, not '%s'", type_name(vm, v));
    return v.tensor;
}

/* -- Tensor -------------------------------------------------------------------------------- */

NATIVE(shape) {
    const struct meta *m = tensor_meta(vm, v[0]);
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    out.list->is_size = true;
    for (int i = 0; i < m->rank; i++) vec_push(vm->arena, out.list, tensor_size(vm, m->size[i]));
    return out;
}

NATIVE(make_size) {
    struct list *l = GIVEN(0) ? vm_list(vm, v[0]) : NEW(vm->arena, struct list);
    l->is_size = true;
    return py_pointer(PY_TUPLE, l);
}

static int dimension(struct vm *vm, struct py t, struct py dim) {
    int rank = tensor_meta(vm, t)->rank;
    int64_t d = vm_index(vm, dim, "a dimension");
    if (d < -rank || d >= rank)
        vm_raise(vm, EXC_IndexError,
                 "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                 -rank, rank - 1, (long long)d);
    return (int)(d < 0 ? d + rank : d);
}

NATIVE(size) {
    if (!GIVEN(1)) return torch_shape(vm, v, raw);
    return tensor_size(vm, tensor_meta(vm, v[0])->size[dimension(vm, v[0], v[1])]);
}

NATIVE(stride) {
    const struct meta *m = tensor_meta(vm, v[0]);
    if (GIVEN(1)) return tensor_size(vm, m->stride[dimension(vm, v[0], v[1])]);
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    for (int i = 0; i < m->rank; i++) vec_push(vm->arena, out.list, tensor_size(vm, m->stride[i]));
    return out;
}

NATIVE(tensor_dtype) { return py_dtype(selected_meta(vm, v[0])->dtype); }
NATIVE(ndim) { return py_int(selected_meta(vm, v[0])->rank); }
NATIVE(numel) { return tensor_size(vm, meta_numel(vm->ex, tensor_meta(vm, v[0]))); }
NATIVE(element_size) { return py_int(dtype_bytes(selected_meta(vm, v[0])->dtype)); }
NATIVE(requires_grad) { return py_bool(v[0].tensor->requires_grad); }
NATIVE(is_leaf) {
    const struct tensor *t = v[0].tensor;
    return py_bool(!t->requires_grad || (vm->eager ? !t->tape : t->graph == vm->init));
}
NATIVE(false_) { return py_false; }
NATIVE(tensor_is_float) { return py_bool(dtype_is_float(selected_meta(vm, v[0])->dtype)); }
NATIVE(is_contiguous) { return py_bool(meta_is_contiguous(vm->ex, tensor_meta(vm, v[0]))); }

NATIVE(requires_grad_) {
    v[0].tensor->requires_grad = !GIVEN(1) || vm_truth(vm, v[1]);
    if (v[0].tensor->requires_grad && !dtype_is_float(tensor_meta(vm, v[0])->dtype))
        vm_raise(vm, EXC_RuntimeError,
                 "only Tensors of floating point dtype can require gradients");
    v[0].tensor->version++;
    return v[0];
}

static const struct native tensor_properties[] = {
    {"shape(self)", torch_shape},      {"dtype(self)", torch_tensor_dtype},
    {"ndim(self)", torch_ndim},        {"requires_grad(self)", torch_requires_grad},
    {"is_leaf(self)", torch_is_leaf},  {"is_sparse(self)", torch_false_},
    {"is_xpu(self)", torch_false_},    {"is_mps(self)", torch_false_},
    {"is_xla(self)", torch_false_},    {"is_mkldnn(self)", torch_false_},
    {"is_nested(self)", torch_false_}, {"is_quantized(self)", torch_false_},
};
static const struct native tensor_methods[] = {
    {"size(self, dim?)", torch_size},
    {"stride(self, dim?)", torch_stride},
    {"dim(self)", torch_ndim},
    {"ndimension(self)", torch_ndim},
    {"numel(self)", torch_numel},
    {"nelement(self)", torch_numel},
    {"element_size(self)", torch_element_size},
    {"is_floating_point(self)", torch_tensor_is_float},
    {"is_contiguous(self)", torch_is_contiguous},
    {"requires_grad_(self, requires_grad?)", torch_requires_grad_},
};

/* -- dtype --------------------------------------------------------------------------------- */

NATIVE(dtype_is_float) { return py_bool(dtype_is_float(v[0].dtype)); }
NATIVE(dtype_itemsize) { return py_int(dtype_bytes(v[0].dtype)); }

static const struct native dtype_properties[] = {
    {"is_floating_point(self)", torch_dtype_is_float},
    {"itemsize(self)", torch_dtype_itemsize},
};

static void put_properties(struct vm *vm, enum py_kind self, const struct native *natives,
                           size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *name =
            arena_strndup(vm->arena, natives[i].signature, strcspn(natives[i].signature, "("));
        struct py get = py_native(vm->arena, "", self, &natives[i]);
        dict_puts(vm->arena, vm->types[self]->dict, name, py_wrap(vm->arena, PY_PROPERTY, get));
    }
}

/* -- module _warpsmith: what the prelude is written with ----------------------------------- */

NATIVE(refuse) { vm_refuse(vm, "%s", py_text(vm, v[0])); }
NATIVE(graph_break) { vm_break(vm, py_text(vm, v[0]), py_text(vm, v[1])); }

/* op("softmax"): the operator of that name, whatever the prelude has bound the Python name to. */
NATIVE(op) {
    struct builtin *b = NEW(vm->arena, struct builtin);
    if (!op_find(v[0].s, &b->op)) WS_BUG("the prelude uses an operator '%s' that is none", v[0].s);
    b->name = v[0].s;
    return py_pointer(PY_BUILTIN, b);
}

NATIVE(assign) {
    need_tensor(vm, v[0]);
    return tensor_assign(vm, v[0], v[1]);
}

/* x.unsqueeze_(0): the tensor becomes that view of itself. */
NATIVE(reshaped) {
    struct tensor *t = need_tensor(vm, v[0]), old = *t;
    if (!tensor_is_eager(vm, v[0]) && t->graph != vm_graph(vm))
        vm_refuse(vm, "changing the shape of an input in place is not supported");
    *t = *v[1].tensor;
    t->kind = old.kind;
    t->grad = old.grad;
    return v[0];
}

static bool holds_arrays(struct py x) {
    return x.kind == PY_INSTANCE || (py_is_sequence(x) && x.list->n && holds_arrays(x.list->at[0]));
}

/* torch.Tensor([1, 2]) of f32, torch.Tensor(2, 3) of sizes. What has numpy's arrays is made by the
 * prelude. */
NATIVE(make_tensor) {
    static const enum dtype f32 = DT_F32;
    (void)v;
    struct py make;
    if (raw->n == 1 && holds_arrays(raw->at[0]) &&
        dict_gets(module_import(vm, "torch")->dict, "FloatTensor", &make))
        return vm_call1(vm, make, raw->at[0]);
    if (raw->n == 1 && (py_is_sequence(raw->at[0]) || raw->at[0].kind == PY_TENSOR)) {
        if (raw->at[0].kind == PY_TENSOR) return raw->at[0];
        return vm->eager ? eager_data(vm, raw->at[0], &f32) : tensor_constant(vm, raw->at[0], &f32);
    }
    return tensor_call(vm, OP_EMPTY, raw->at, raw->n);
}

/* The tensor becomes another value, of another dtype perhaps: Module.half(). */
NATIVE(replace) {
    if (vm->tracing) vm_refuse(vm, "changing the dtype of a module in forward is not supported");
    if (vm->eager) {
        struct tensor *t = v[0].tensor, old = *t;
        *t = *v[1].tensor;
        t->kind = old.kind;
        t->requires_grad = old.requires_grad;
        t->version = old.version + 1;
        t->tape = NULL;
        t->uses = NULL;
        return v[0];
    }
    tensor_share(vm, v[0], v[1]);
    return v[0];
}

/* A tensor of its own, of from's memory. */
static struct py owned(struct vm *vm, struct py from, enum input_kind kind, bool grad) {
    struct tensor *t = need_tensor(vm, from);
    struct py out;
    if (tensor_is_eager(vm, from)) {
        out = py_pointer(PY_TENSOR, NEW(vm->home, struct tensor));
        *out.tensor = *t;
        out.tensor->tape = NULL;
        out.tensor->uses = NULL;
        out.tensor->grad = NULL;
        out.tensor->attributes = NULL;
        out.tensor->id = ++vm->n_tensors;
    } else {
        out = tensor_new(vm, t->node);
        tensor_share(vm, out, from);
    }
    out.tensor->kind = kind;
    out.tensor->requires_grad = grad;
    return out;
}

NATIVE(parameter) {
    if (vm->tracing)
        vm_refuse(vm, "making a parameter in forward is not supported; make it in __init__");
    return owned(vm, v[0], INPUT_PARAMETER, !GIVEN(1) || vm_truth(vm, v[1]));
}

NATIVE(buffer) { return owned(vm, v[0], INPUT_BUFFER, false); }

NATIVE(is_parameter) {
    return py_bool(v[0].kind == PY_TENSOR && v[0].tensor->kind == INPUT_PARAMETER);
}
NATIVE(is_buffer) { return py_bool(v[0].kind == PY_TENSOR && v[0].tensor->kind == INPUT_BUFFER); }

/* An object of the class, before its __init__; value: what it is of a built-in type. */
NATIVE(bare) {
    struct args a = {.at = v + 1, .n = GIVEN(1) && v[0].class->built_in};
    return instance_new(vm, v[0].class, &a);
}
/* The value again. */
NATIVE(plain) { return py_plain(vm, v[0]); }

/* What a function takes: [(name, kind), (name, kind, default), ...], kinds as of module inspect. */
NATIVE(parameters) {
    bool bound = v[0].kind == PY_METHOD;
    struct py f = bound ? v[0].method->function : v[0], out = py_list(vm->arena, PY_LIST, NULL, 0);
    if (f.kind != PY_FUNCTION)
        vm_raise(vm, EXC_ValueError, "no signature found for '%s'", type_name(vm, f));
    const struct code *c = f.function->code;
    uint32_t n = c->n_args + c->n_kwonly,
             given = f.function->defaults ? f.function->defaults->n : 0;
    for (uint32_t k = bound; k < n + c->varargs + c->varkw; k++) {
        uint32_t i = k; /* *args is the first local behind the names, and written before some */
        if (c->varargs && k >= c->n_args && k <= n) i = k == c->n_args ? n : k - 1;
        bool named = i < n, args = i == n && c->varargs;
        int kind = named ? i < c->n_posonly ? 0 : i < c->n_args ? 1 : 3 : args ? 2 : 4;
        struct py row[3] = {py_str(c->locals.at[i]), py_int(kind), py_unset};
        if (i < c->n_args && i + given >= c->n_args)
            row[2] = f.function->defaults->at[i + given - c->n_args];
        if (named && i >= c->n_args && f.function->kwdefaults)
            dict_gets(f.function->kwdefaults, row[0].s, &row[2]);
        vec_push(vm->arena, out.list,
                 py_list(vm->arena, PY_TUPLE, row, 2 + (row[2].kind != PY_UNSET)));
    }
    return out;
}

static const struct native support[] = {
    {"parameters(function)", torch_parameters},
    {"bare(class, value?)", torch_bare},
    {"plain(x)", torch_plain},
    {"reshaped(x, view)", torch_reshaped},
    {"refuse(message)", torch_refuse},
    {"graph_break(what, instead)", torch_graph_break},
    {"op(name)", torch_op},
    {"assign(x, value)", torch_assign},
    {"replace(x, value)", torch_replace},
    {"buffer(data)", torch_buffer},
    {"is_parameter(x)", torch_is_parameter},
    {"is_buffer(x)", torch_is_buffer},
};
static const struct native parameter = {"Parameter(data, requires_grad?)", torch_parameter};
static const struct native make_size = {"Size(iterable?)", torch_make_size};
static const struct native make_tensor = {"Tensor(*)", torch_make_tensor};

void support_open(struct vm *vm, struct module *m) {
    natives_put(vm, m->dict, "", PY_UNSET, support, sizeof support / sizeof *support);
    eager_support_open(vm, m);
    dict_puts(vm->arena, m->dict, "Parameter", py_pointer(PY_CLASS, vm->parameter));
}

/* -- torch --------------------------------------------------------------------------------- */

static void put_dtypes(struct vm *vm, struct dict *d) {
    static const char *const alias[] = {"float", "half", "double", "int", "long", "short"};
    for (int t = 0; t < DT_COUNT; t++)
        dict_puts(vm->arena, d, dtype_torch_name((enum dtype)t), py_dtype((enum dtype)t));
    for (size_t i = 0; i < sizeof alias / sizeof *alias; i++) {
        enum dtype t;
        if (dtype_parse(alias[i], &t)) dict_puts(vm->arena, d, alias[i], py_dtype(t));
    }
}

void torch_open(struct vm *vm, struct module *m) {
    put_dtypes(vm, m->dict);
    dict_puts(vm->arena, m->dict, "Tensor", py_pointer(PY_CLASS, vm->types[PY_TENSOR]));
    dict_puts(vm->arena, m->dict, "dtype", py_pointer(PY_CLASS, vm->types[PY_DTYPE]));
    dict_puts(vm->arena, m->dict, "Size", py_pointer(PY_CLASS, vm->size));
    dict_puts(vm->arena, m->dict, "pi", py_float(M_PI));
    dict_puts(vm->arena, m->dict, "e", py_float(M_E));
    dict_puts(vm->arena, m->dict, "inf", py_float(INFINITY));
    dict_puts(vm->arena, m->dict, "nan", py_float(NAN));
    dict_puts(vm->arena, m->dict, "__version__", py_str("2.11"));
}

/* The class Tensor: properties and methods in C, then those of the prelude; operators are found
 * when asked for. */
void tensor_methods_open(struct vm *vm) {
    struct class *c = vm->types[PY_TENSOR];
    put_properties(vm, PY_TENSOR, tensor_properties,
                   sizeof tensor_properties / sizeof *tensor_properties);
    natives_put(vm, c->dict, "Tensor.", PY_TENSOR, tensor_methods,
                sizeof tensor_methods / sizeof *tensor_methods);
    put_properties(vm, PY_DTYPE, dtype_properties,
                   sizeof dtype_properties / sizeof *dtype_properties);
    c->construct = &make_tensor;
    vm->parameter = class_new(vm->arena, "Parameter", c);
    vm->parameter->construct = &parameter;
    vm->parameter->sealed = true;
    vm->size = class_new(vm->arena, "Size", vm->types[PY_TUPLE]);
    vm->size->construct = &make_size;
    vm->size->sealed = true;
}

void tensor_methods_extend(struct vm *vm, const struct module *m) {
    for (uint32_t i = 0; i < m->dict->entries.n; i++) {
        struct dict_entry e = m->dict->entries.at[i];
        if (e.key.s[0] != '_' && (e.value.kind == PY_FUNCTION || e.value.kind == PY_PROPERTY))
            dict_put(vm->arena, vm->types[PY_TENSOR]->dict, e.key, e.value);
    }
}
