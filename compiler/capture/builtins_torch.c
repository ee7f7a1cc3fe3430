/* builtins_torch.c: what torch needs in C: dtypes, properties of tensors, and the few functions
 * that the prelude (prelude.c) is written with. Operators are not here: they come from
 * graph/ops.def by name. */
#include <math.h>
#include <string.h>

#include "capture/vm.h"

/* -- Tensor -------------------------------------------------------------------------------- */

/* Of x[mask] all sizes but the first are known: does `x[mask].shape[-1]` go on to ask for one? */
static bool asks_for_other_than_rows(struct vm *vm, struct py t) {
    const struct frame *f = vm->frame;
    if (!t.tensor->selected || !f || f->pc + 2 >= f->code->n_instrs) return false;
    const struct instr *next = &f->code->instrs[f->pc + 1];
    if (next[0].op != OP_LOAD_CONST || next[1].op != OP_BINARY_SUBSCR) return false;
    const struct constant *c = &f->code->consts[next[0].a];
    return c->kind == CONSTANT_INT && c->i && c->i != -selected_meta(vm, t)->rank;
}

NATIVE(torch_shape) {
    bool others = asks_for_other_than_rows(vm, v[0]); /* the first size is seen by nobody */
    const struct meta *m = others ? selected_meta(vm, v[0]) : tensor_meta(vm, v[0]);
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    out.list->is_size = true;
    for (int i = 0; i < m->rank; i++) vec_push(vm->arena, out.list, tensor_size(vm, m->size[i]));
    return out;
}

NATIVE(torch_selected_places) { return selected_places(vm, v[0], (int)v[1].i); }

NATIVE(torch_make_size) {
    struct list *l = GIVEN(0) ? vm_list(vm, v[0]) : NEW(vm->arena, struct list);
    l->is_size = true;
    return py_pointer(PY_TUPLE, l);
}

static int dimension(struct vm *vm, struct py t, struct py dim) {
    int rank = selected_meta(vm, t)->rank;
    int64_t d = dim.i;
    if (d < -rank || d >= rank)
        vm_raise(vm, EXC_IndexError,
                 "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                 -rank, rank - 1, (long long)d);
    return (int)(d < 0 ? d + rank : d);
}

NATIVE(torch_size) {
    if (v[1].kind != PY_INT) return native_torch_shape(vm, v, rest);
    int d = dimension(vm, v[0], v[1]);
    return tensor_size(vm, (d ? selected_meta(vm, v[0]) : tensor_meta(vm, v[0]))->size[d]);
}

NATIVE(torch_stride) {
    const struct meta *m = tensor_meta(vm, v[0]);
    if (v[1].kind == PY_INT) return tensor_size(vm, m->stride[dimension(vm, v[0], v[1])]);
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    for (int i = 0; i < m->rank; i++) vec_push(vm->arena, out.list, tensor_size(vm, m->stride[i]));
    return out;
}

NATIVE(torch_tensor_dtype) { return py_dtype(selected_meta(vm, v[0])->dtype); }
NATIVE(torch_ndim) { return py_int(selected_meta(vm, v[0])->rank); }
NATIVE(torch_numel) { return tensor_size(vm, meta_numel(vm->ex, tensor_meta(vm, v[0]))); }
NATIVE(torch_element_size) { return py_int(dtype_bytes(selected_meta(vm, v[0])->dtype)); }
NATIVE(torch_requires_grad) {
    const struct tensor *t = v[0].tensor;
    if (vm->trace && !t->graph) trace_input(vm, v[0]); /* under a guard */
    bool outside = vm->tracing && !vm->trace && t->graph == vm->init && !t->selected;
    if (outside && !t->requires_grad) tensor_node(vm, v[0]); /* an argument may from then on */
    return py_bool(t->requires_grad || tape_is_stale(t));
}
NATIVE(torch_is_leaf) {
    const struct tensor *t = v[0].tensor;
    if (tape_is_stale(t)) return py_false;
    return py_bool(!t->requires_grad || (vm->eager ? !t->tape : t->graph == vm->init));
}
NATIVE(torch_false) { return py_false; }
NATIVE(torch_tensor_is_float) { return py_bool(dtype_is_float(selected_meta(vm, v[0])->dtype)); }
NATIVE(torch_is_contiguous) { return py_bool(meta_is_contiguous(vm->ex, tensor_meta(vm, v[0]))); }

NATIVE(torch_requires_grad_) {
    bool wants = !GIVEN(1) || vm_truth(vm, v[1]);
    if (wants && !v[0].tensor->requires_grad) tensor_break_leaf(vm, v[0].tensor->graph);
    v[0].tensor->requires_grad = !GIVEN(1) || vm_truth(vm, v[1]);
    if (v[0].tensor->requires_grad && !dtype_is_float(tensor_meta(vm, v[0])->dtype))
        vm_raise(vm, EXC_RuntimeError,
                 "only Tensors of floating point dtype can require gradients");
    v[0].tensor->version++;
    return v[0];
}

/* -- dtype --------------------------------------------------------------------------------- */

NATIVE(torch_dtype_is_float) { return py_bool(dtype_is_float(v[0].dtype)); }
NATIVE(torch_dtype_is_signed) { return py_bool(v[0].dtype != DT_BOOL && v[0].dtype != DT_U8); }
NATIVE(torch_dtype_itemsize) { return py_int(dtype_bytes(v[0].dtype)); }

/* -- module _warpsmith: what the prelude is written with ----------------------------------- */

NATIVE(torch_refuse) { vm_refuse(vm, "%s", py_text(vm, v[0])); }
NATIVE(torch_graph_break) { vm_break(vm, py_text(vm, v[0]), py_text(vm, v[1])); }

/* op("softmax"): the operator of that name, whatever the prelude has bound the Python name to. */
NATIVE(torch_op) {
    struct builtin *b = NEW(vm->arena, struct builtin);
    if (!op_find(v[0].s, &b->op)) vm_raise(vm, EXC_ValueError, "no operator '%s'", v[0].s);
    b->name = v[0].s;
    return py_pointer(PY_BUILTIN, b);
}

NATIVE(torch_assign) { return tensor_assign(vm, v[0], v[1]); }

/* x.unsqueeze_(0): the tensor becomes that view of itself. */
NATIVE(torch_reshaped) {
    struct tensor *t = v[0].tensor, old = *t;
    if (!tensor_is_eager(vm, v[0]) && t->graph != vm_graph(vm))
        vm_refuse(vm, "changing the shape of an input in place is not supported");
    bool leaf = t->requires_grad && !t->tape;
    if (tensor_is_eager(vm, v[0]) && vm->grad_enabled && leaf)
        vm_raise(vm, EXC_RuntimeError,
                 "a leaf Variable that requires grad is being used in an in-place operation.");
    if (t->tape || t->uses)
        tape_reshape(vm, t, v[1].tensor);
    else
        *t = *v[1].tensor;
    t->kind = old.kind;
    t->grad = old.grad;
    t->attributes = old.attributes;
    t->requires_grad |= old.requires_grad && !old.tape; /* under no_grad(), too */
    return v[0];
}

/* Is the tensor all of its memory, in order? */
NATIVE(torch_fills_memory) {
    const struct tensor *t = v[0].tensor;
    const struct meta *m = tensor_meta(vm, v[0]);
    if (t->lost_view || !meta_is_contiguous(vm->ex, m)) return py_false;
    if (!tensor_is_eager(vm, v[0])) return py_bool(t->graph != vm_graph(vm) || !t->n_steps);
    uint64_t bytes = (uint64_t)ex_value(vm->ex, meta_numel(vm->ex, m)) * dtype_bytes(m->dtype);
    return py_bool(!t->offset && bytes == t->storage->size);
}

/* copy has the elements of a view of x that no steps lead to: neither may be updated in place. */
NATIVE(torch_copy_of_view) {
    tensor_copies_view(vm, v[0], v[1]);
    return v[1];
}

static bool holds_arrays(struct py x) {
    int depth = 0; /* a list may hold itself */
    while (py_is_sequence(x) && x.list->n && depth++ < WS_MAX_RANK) x = x.list->at[0];
    return x.kind == PY_INSTANCE;
}

/* torch.Tensor([1, 2]) of f32, torch.Tensor(2, 3) of sizes. What has numpy's arrays is made by the
 * prelude. */
NATIVE(torch_make_tensor) {
    enum dtype type = default_type(vm);
    struct py make;
    if (rest->n == 1 && holds_arrays(rest->at[0]) &&
        dict_gets(module_import(vm, "torch")->dict, "FloatTensor", &make))
        return vm_call1(vm, make, rest->at[0]);
    bool sequence = rest->n == 1 && py_is_sequence(rest->at[0]) && !rest->at[0].list->is_size;
    if (rest->n == 1 && (sequence || rest->at[0].kind == PY_TENSOR)) {
        if (rest->at[0].kind == PY_TENSOR) return rest->at[0];
        return vm->eager ? eager_data(vm, rest->at[0], &type)
                         : tensor_constant(vm, rest->at[0], &type);
    }
    struct py none = py_int(0); /* torch.Tensor() has no elements */
    return rest->n ? tensor_call(vm, OP_EMPTY, rest->at, rest->n)
                   : tensor_call(vm, OP_EMPTY, &none, 1);
}

/* The tensor becomes another value, of another dtype perhaps: Module.half(). */
NATIVE(torch_replace) {
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
    struct tensor *t = from.tensor;
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

/* One that forward makes is of this call alone: no gradient goes through it, or is asked for. */
static struct py parameter_of_call(struct vm *vm, struct py data, bool grad) {
    if (vm->trace) vm_break(vm, "making a parameter", "make it in __init__");
    struct py out = tensor_call(vm, OP_DETACH, &data, 1);
    out.tensor->kind = INPUT_PARAMETER;
    out.tensor->requires_grad = grad;
    return out;
}

/* A tensor of complex numbers is as its parts are. */
static enum input_kind kind_of(struct vm *vm, struct py v) {
    struct py part = v;
    if (tensor_is_complex(v) && !attribute_find(vm, v, "real", &part)) return INPUT_ARG;
    return part.kind == PY_TENSOR ? part.tensor->kind : INPUT_ARG;
}

NATIVE(torch_parameter) {
    if (tensor_is_complex(v[0])) {
        struct py module = py_pointer(PY_MODULE, module_import(vm, "torch._complex"));
        struct py given[2] = {v[0], GIVEN(1) ? v[1] : py_true};
        return vm_call(vm, attribute_get(vm, module, "parameter"),
                       &(struct args){.at = given, .n = 2});
    }
    if (v[0].kind != PY_TENSOR)
        vm_raise(vm, EXC_TypeError, "Parameter(): argument 'data' must be Tensor, not %s",
                 type_name(vm, v[0]));
    if (vm->tracing) return parameter_of_call(vm, v[0], !GIVEN(1) || vm_truth(vm, v[1]));
    return owned(vm, v[0], INPUT_PARAMETER, !GIVEN(1) || vm_truth(vm, v[1]));
}

/* How often its memory was updated; None of what a mask has picked. */
NATIVE(torch_updates) {
    const struct tensor *t = v[0].tensor;
    return t->selected ? py_none : py_int((int64_t)t->storage->version);
}

NATIVE(torch_buffer) { return owned(vm, v[0], INPUT_BUFFER, false); }

NATIVE(torch_is_parameter) { return py_bool(kind_of(vm, v[0]) == INPUT_PARAMETER); }
NATIVE(torch_is_buffer) { return py_bool(kind_of(vm, v[0]) == INPUT_BUFFER); }

/* An object of the class, before its __init__; value: what it is of a built-in type. */
NATIVE(torch_bare) {
    struct args a = {.at = v + 1, .n = GIVEN(1) && v[0].class->built_in};
    return instance_new(vm, v[0].class, &a);
}
/* The value again. */
NATIVE(torch_plain) { return py_plain(vm, v[0]); }

/* What a function takes: [(name, kind), (name, kind, default), ...], kinds as of module inspect. */
NATIVE(torch_parameters) {
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

void support_open(struct vm *vm, struct module *m) {
    natives_put(vm, m->dict, PLACE_PRIVATE);
    natives_put(vm, m->dict, PLACE_SHARED);
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
    dict_puts(vm->arena, m->dict, "__version__", py_str("2.11.0"));
}

/* The class Tensor: properties and methods in C, then those of the prelude; operators are found
 * when asked for. */
void tensor_methods_open(struct vm *vm) {
    struct class *c = vm->types[PY_TENSOR];
    natives_put(vm, c->dict, PLACE_TENSOR);
    natives_put_properties(vm, c, PLACE_TENSOR_PROPERTIES);
    natives_put_properties(vm, vm->types[PY_DTYPE], PLACE_DTYPE_PROPERTIES);
    c->construct = native_find(vm, PLACE_TYPES, "Tensor");
    vm->parameter = class_new(vm->arena, "Parameter", c);
    vm->parameter->construct = native_find(vm, PLACE_TYPES, "Parameter");
    vm->parameter->sealed = true;
    vm->size = class_new(vm->arena, "Size", vm->types[PY_TUPLE]);
    vm->size->construct = native_find(vm, PLACE_TYPES, "Size");
    vm->size->sealed = true;
}

/* Names with an underscore are the prelude's own, but those that programs call. */
static bool is_method(const char *name) {
    static const char *const called[] = {"_indices", "_values", "_nnz"};
    for (size_t i = 0; i < sizeof called / sizeof *called; i++)
        if (!strcmp(name, called[i])) return true;
    return name[0] != '_' || !strncmp(name, "__", 2);
}

void tensor_methods_extend(struct vm *vm, const struct module *m) {
    for (uint32_t i = 0; i < m->dict->entries.n; i++) {
        struct dict_entry e = m->dict->entries.at[i];
        if (is_method(e.key.s) && (e.value.kind == PY_FUNCTION || e.value.kind == PY_PROPERTY))
            dict_put(vm->arena, vm->types[PY_TENSOR]->dict, e.key, e.value);
    }
}
