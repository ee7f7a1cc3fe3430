/* call.c: calls of everything that can be called, and making classes.
 *
 *   f(1, *xs, k=2)     arguments go to parameters; what is left to *args and **kwargs; the frame
 *                      runs
 *   Model(4)           an instance, then its __init__
 *   len(x)             a native: its arguments are sorted into the order of its signature
 *   torch.exp(x)       an operator: a node of the graph (tensor.c) */
#include <string.h>

#include "capture/vm.h"

/* -- functions ----------------------------------------------------------------------------- */

static int find_name(const char *const *names, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return (int)i;
    return -1;
}

static void put_positional(struct vm *vm, const struct function *fn, const struct args *a,
                           struct py *locals) {
    const struct code *c = fn->code;
    uint32_t n = a->n < c->n_args ? a->n : c->n_args;
    if (n) memcpy(locals, a->at, n * sizeof *locals);
    if (a->n > n && !c->varargs)
        vm_raise(vm, EXC_TypeError, "%s() takes %u positional argument%s but %u %s given",
                 c->qualname, c->n_args, c->n_args == 1 ? "" : "s", a->n,
                 a->n == 1 ? "was" : "were");
    if (c->varargs)
        locals[c->n_args + c->n_kwonly] = py_list(vm->arena, PY_TUPLE, a->at + n, a->n - n);
}

/* The parameter that a keyword names. What is an operator of ATen in PyTorch takes numpy's names,
 * too; it is the caller's affair that norm and split, which are written in Python, do not. */
static int find_parameter(const struct function *fn, const char *name) {
    static const char *const aten[] = {"torch", "torch._tensor", "torch.linalg", "torch.special"};
    const struct code *c = fn->code;
    uint32_t n = c->n_args + c->n_kwonly;
    int k = find_name(c->locals.at, n, name);
    if (k >= 0 || !fn->module->prelude || find_name(aten, 4, fn->module->name) < 0) return k;
    const char *other;
    for (int nth = 0; k < 0 && (other = call_other_name(name, nth)); nth++)
        k = find_name(c->locals.at, n, other);
    return k;
}

static void put_named(struct vm *vm, const struct function *fn, const struct args *a,
                      struct py *locals) {
    const struct code *c = fn->code;
    struct py rest = c->varkw ? py_dict(vm->arena, PY_DICT) : py_unset;
    for (uint32_t i = 0; i < a->n_named; i++) {
        int k = find_parameter(fn, a->names[i]);
        if (k >= 0 && (uint32_t)k >= c->n_posonly) {
            if (locals[k].kind != PY_UNSET)
                vm_raise(vm, EXC_TypeError, "%s() got multiple values for argument '%s'",
                         c->qualname, a->names[i]);
            locals[k] = a->named[i];
        } else if (c->varkw) {
            dict_puts(vm->arena, rest.dict, a->names[i], a->named[i]);
        } else {
            vm_raise(vm, EXC_TypeError, "%s() got an unexpected keyword argument '%s'", c->qualname,
                     a->names[i]);
        }
    }
    if (c->varkw) locals[c->n_args + c->n_kwonly + c->varargs] = rest;
}

/* As CPython: "missing 2 required positional arguments: 'a' and 'b'", of one kind at a time. */
static void raise_missing(struct vm *vm, const struct function *fn, const struct py *locals,
                          bool positional) {
    const struct code *c = fn->code;
    uint32_t from = positional ? 0 : c->n_args, n = 0, k = 0;
    uint32_t to = positional ? c->n_args : c->n_args + c->n_kwonly;
    for (uint32_t i = from; i < to; i++) n += locals[i].kind == PY_UNSET;
    if (!n) return;
    struct buf names = buf_new(vm->arena);
    for (uint32_t i = from; i < to; i++) {
        if (locals[i].kind != PY_UNSET) continue;
        if (k) buf_puts(&names, k + 1 < n ? ", " : n > 2 ? ", and " : " and ");
        buf_printf(&names, "'%s'", c->locals.at[i]);
        k++;
    }
    vm_raise(vm, EXC_TypeError, "%s() missing %u required %s argument%s: %s", c->qualname, n,
             positional ? "positional" : "keyword-only", n > 1 ? "s" : "", names.p);
}

static void put_defaults(struct vm *vm, const struct function *fn, struct py *locals) {
    const struct code *c = fn->code;
    uint32_t n_defaults = fn->defaults ? fn->defaults->n : 0;
    for (uint32_t i = 0; i < c->n_args + c->n_kwonly; i++) {
        if (locals[i].kind != PY_UNSET) continue;
        bool positional = i < c->n_args;
        if (positional && i + n_defaults >= c->n_args) {
            locals[i] = fn->defaults->at[i + n_defaults - c->n_args];
        } else if (!positional && fn->kwdefaults) {
            dict_gets(fn->kwdefaults, c->locals.at[i], &locals[i]);
        }
    }
    raise_missing(vm, fn, locals, true);
    raise_missing(vm, fn, locals, false);
}

/* Functions of the program that are called under torch.compile run in segments (dynamo.h), and what
 * torch.compile was given, if it is ours: the forward of a Sequential. */
static bool is_compiled(struct vm *vm, const struct function *fn) {
    bool given = vm->compiled == fn;
    vm->compiled = NULL;
    bool whole = fn->code->kind == CODE_FUNCTION || fn->code->kind == CODE_LAMBDA;
    return vm->dynamo && !vm->tracing && (given || !fn->module->prelude) && whole &&
           !fn->is_eager && !fn->code->yields;
}

/* The tensors that f(..., out=) names, if f is one of PyTorch's that the prelude has in Python and
 * that knows no out= itself. */
static bool takes_out(const struct function *fn, const struct args *a, struct py *to) {
    static const char *const modules[] = {
        "torch",           "torch._tensor",     "torch._functions",    "torch.linalg",
        "torch.special",   "torch.fft",         "torch._windows",      "torch._complex",
        "torch._C._nn",    "torch._aten",       "torch.nn.functional", "torch.signal.windows",
        "torch._spectral", "torch._polynomials"};
    int k = find_name(a->names, a->n_named, "out");
    if (k < 0 || !fn->module->prelude) return false;
    const struct code *c = fn->code;
    *to = a->named[k];
    return find_name(modules, sizeof modules / sizeof *modules, fn->module->name) >= 0 &&
           find_name(c->locals.at, c->n_args + c->n_kwonly, "out") < 0;
}

static struct py call_function(struct vm *vm, const struct function *fn, const struct args *a) {
    const struct code *c = fn->code;
    struct py to;
    if (takes_out(fn, a, &to)) {
        struct args rest = args_with(vm, a, "out", py_unset);
        return tensor_into(vm, to, call_function(vm, fn, &rest));
    }
    const struct place *source = vm->callee;
    vm->callee = NULL;
    if (vm->n_calls >= MAX_CALLS || vm->n_frames >= MAX_FRAMES)
        vm_raise(vm, EXC_RecursionError,
                 "maximum recursion depth exceeded: %s() is inside %d calls", c->qualname,
                 MAX_CALLS);
    struct frame f = {.code = c, .module = fn->module, .source = source};
    f.compiled = is_compiled(vm, fn);
    f.locals = NEW_ARRAY(vm->arena, struct py, c->locals.n);
    f.stack = NEW_ARRAY(vm->arena, struct py, c->max_stack);
    f.cells = NEW_ARRAY(vm->arena, struct cell *, c->cells.n + c->frees.n);
    for (uint32_t i = 0; i < c->frees.n; i++) f.cells[c->cells.n + i] = fn->closure[i];
    vm->entered = fn->module->prelude ? NULL : c;
    put_positional(vm, fn, a, f.locals);
    put_named(vm, fn, a, f.locals);
    put_defaults(vm, fn, f.locals);
    vm->entered = NULL;
    if (!c->yields) return vm_run(vm, &f);
    bool at_once = vm->trace && c->kind == CODE_GENEXPR;
    return at_once ? generator_all(vm, &f) : generator_new(vm, &f);
}

/* -- instances ----------------------------------------------------------------------------- */

static struct py call_method(struct vm *vm, const struct method *m, const struct args *a) {
    struct py *at = NEW_ARRAY(vm->arena, struct py, a->n + 1);
    at[0] = m->self;
    if (a->n) memcpy(at + 1, a->at, a->n * sizeof *at);
    struct args with_self = *a;
    with_self.at = at;
    with_self.n++;
    return vm_call(vm, m->function, &with_self);
}

struct py instance_new(struct vm *vm, struct class *c, const struct args *a) {
    if (c->construct) return native_call(vm, c->construct, a);
    if (c->sealed) vm_raise(vm, EXC_TypeError, "cannot create '%s' instances", c->name);
    if (c->built_in && c->built_in == vm->types[PY_TENSOR]) /* a file may have such a class */
        vm_refuse(vm, "a tensor of a class of its own, as %s, is not supported", c->name);
    struct instance *o = NEW(vm->arena, struct instance);
    o->class = c;
    o->dict = dict_new(vm->arena);
    struct py init;
    if (class_is(c, vm->exceptions[EXC_BaseException]))
        dict_puts(vm->arena, o->dict, "args", py_list(vm->arena, PY_TUPLE, a->at, a->n));
    /* A container is filled by its __init__; what never changes is made with its value. */
    bool filled = c->built_in && class_find(c->built_in, "__init__", &init);
    struct args none = {0};
    if (c->built_in) o->base = native_call(vm, c->built_in->construct, filled ? &none : a);
    return py_pointer(PY_INSTANCE, o);
}

/* The object that __new__ of the program makes, if there is such a method. */
static struct py make(struct vm *vm, struct class *c, const struct args *a) {
    struct py new;
    if (!class_find(c, "__new__", &new)) return instance_new(vm, c, a);
    struct method m = {new.kind == PY_STATICMETHOD ? *new.wrapped : new, py_pointer(PY_CLASS, c)};
    return call_method(vm, &m, a);
}

static struct py call_class(struct vm *vm, struct class *c, const struct args *a) {
    struct py call, init, unused;
    if (c->meta && class_find(c->meta, "__call__", &call))
        return vm_call(vm, attribute_bind(vm, call, py_pointer(PY_CLASS, c), NULL), a);
    struct py self = make(vm, c, a);
    if (c->construct || self.kind != PY_INSTANCE || !class_is(self.instance->class, c)) return self;
    if (class_find(c, "__init__", &init)) {
        vm->direct = false; /* self is held here alone */
        struct py result = vm_call(vm, attribute_bind(vm, init, self, c), a);
        if (result.kind != PY_NONE)
            vm_raise(vm, EXC_TypeError, "__init__() should return None, not '%s'",
                     type_name(vm, result));
    } else if ((a->n || a->n_named) && !c->built_in && !class_find(c, "__new__", &unused)) {
        vm_raise(vm, EXC_TypeError, "%s() takes no arguments", c->name);
    }
    return self;
}

/* -- any call ------------------------------------------------------------------------------ */

struct py vm_call(struct vm *vm, struct py f, const struct args *a) {
    struct py call;
    vm_deep(vm);
    vm->callee = f.kind == PY_FUNCTION ? f.source : NULL;
    if (f.kind == PY_FUNCTION) return call_function(vm, f.function, a);
    if (f.kind == PY_METHOD) return call_method(vm, f.method, a);
    if (f.kind == PY_CLASS) return call_class(vm, f.class, a);
    if (f.kind == PY_STATICMETHOD) return vm_call(vm, *f.wrapped, a);
    if (f.kind == PY_BUILTIN)
        return f.builtin->native ? native_call(vm, f.builtin->native, a)
                                 : tensor_op(vm, f.builtin, a);
    if (f.kind == PY_INSTANCE && class_find(f.instance->class, "__call__", &call))
        return vm_call(vm, attribute_bind(vm, call, f, f.instance->class), a);
    vm_raise(vm, EXC_TypeError, "'%s' object is not callable", type_name(vm, f));
}

struct py vm_call0(struct vm *vm, struct py f) {
    return vm_call(vm, f, &(struct args){0});
}

struct py vm_call1(struct vm *vm, struct py f, struct py x) {
    return vm_call(vm, f, &(struct args){.at = &x, .n = 1});
}

bool vm_call_special(struct vm *vm, struct py x, const char *name, const struct py *y, uint32_t n,
                     struct py *out) {
    struct py f;
    const struct class *c = x.kind == PY_INSTANCE ? x.instance->class
                            : x.kind == PY_CLASS  ? x.class->meta
                                                  : NULL;
    if (!c || !class_find(c, name, &f)) return false;
    *out = vm_call(vm, attribute_bind(vm, f, x, NULL), &(struct args){.at = y, .n = n});
    return true;
}

/* -- classes ------------------------------------------------------------------------------- */

static bool may_derive(const struct vm *vm, const struct class *c) {
    static const enum py_kind kinds[] = {PY_INT,   PY_FLOAT, PY_STR, PY_LIST,
                                         PY_TUPLE, PY_DICT,  PY_SET, PY_TENSOR};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (c == vm->types[kinds[i]]) return true;
    return false;
}

/* What is derived from property, or from a module, is written in Python. */
static struct class *derived_base(struct vm *vm, const char *name) {
    struct py functools = py_pointer(PY_MODULE, module_import_own(vm, "functools"));
    return attribute_get(vm, functools, name).class;
}

/* Generic[T] names parameters; behind it a base that is derived from Generic brings the class. */
static uint32_t without_generic(struct class **bases, uint32_t n) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct class *c = bases[i];
        bool typing = !strcmp(c->name, "Generic") && c->module && c->module->prelude, again = false;
        for (uint32_t k = 0; k < n; k++) again |= k != i && class_is(bases[k], c);
        if (!typing || !again) bases[kept++] = bases[i];
    }
    return kept;
}

static struct class **class_bases(struct vm *vm, const struct args *a, uint32_t *n) {
    struct class **bases = NEW_ARRAY(vm->arena, struct class *, a->n);
    *n = 0;
    for (uint32_t i = 1; i < a->n; i++) {
        struct py b = a->at[i], none;
        if (b.kind == PY_INSTANCE && attribute_find(vm, b, "__mro_entries__", &none))
            continue; /* Sequence, of typing */
        if (b.kind != PY_CLASS)
            vm_raise(vm, EXC_TypeError, "a base class must be a class, not '%s'", type_name(vm, b));
        if (b.class == vm->types[PY_CLASS]) continue; /* a metaclass is a class as others are */
        if (b.class == vm->types[PY_MODULE]) b.class = derived_base(vm, "_Module");
        if (b.class == vm->types[PY_PROPERTY]) b.class = derived_base(vm, "_Property");
        if (b.class->sealed && !may_derive(vm, b.class))
            vm_refuse(
                vm,
                "a class derived from %s is not supported; derive from object or torch.nn.Module",
                b.class->name);
        bases[(*n)++] = b.class;
    }
    *n = without_generic(bases, *n);
    if (!*n) bases[(*n)++] = vm->object;
    return bases;
}

/* Of a metaclass only special methods of its own count, which those of abc and enum have. */
static const struct class *metaclass_of(struct vm *vm, const struct args *a,
                                        struct class *const *bases, uint32_t n) {
    int given = find_name(a->names, a->n_named, "metaclass");
    if (given >= 0) {
        struct py meta = a->named[given], made;
        if (meta.kind != PY_CLASS || meta.class->sealed ||
            class_find(meta.class, "__new__", &made) || class_find(meta.class, "__init__", &made))
            vm_refuse(vm, "metaclasses are not supported");
        return meta.class;
    }
    for (uint32_t i = 0; i < n; i++)
        if (bases[i]->meta) return bases[i]->meta;
    return NULL;
}

/* class A(B, rate=3): B's __init_subclass__(A, rate=3) */
static void tell_base(struct vm *vm, struct class *c, const struct args *a) {
    struct py hook;
    uint32_t i = 1;
    while (i < c->n_mro && !dict_gets(c->mro[i]->dict, "__init_subclass__", &hook)) i++;
    if (i == c->n_mro) return;
    const char **names = NEW_ARRAY(vm->arena, const char *, a->n_named);
    struct py *named = NEW_ARRAY(vm->arena, struct py, a->n_named);
    struct args told = {.names = names, .named = named};
    for (uint32_t k = 0; k < a->n_named; k++) {
        if (!strcmp(a->names[k], "metaclass")) continue;
        names[told.n_named] = a->names[k];
        named[told.n_named++] = a->named[k];
    }
    vm_call(vm, attribute_bind(vm, hook, py_unset, c), &told);
}

/* These are class methods without being called so. */
static void bind_hooks(struct vm *vm, struct class *c) {
    static const char *const names[] = {"__init_subclass__", "__class_getitem__"};
    struct py f;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dict_gets(c->dict, names[i], &f) && f.kind == PY_FUNCTION)
            dict_puts(vm->arena, c->dict, names[i], py_wrap(vm->arena, PY_CLASSMETHOD, f));
}

/* What the body holds is told the name that it is held by. */
static void name_descriptors(struct vm *vm, struct class *c) {
    for (uint32_t i = 0; i < c->dict->entries.n; i++) {
        struct dict_entry e = c->dict->entries.at[i];
        struct py told[2] = {py_pointer(PY_CLASS, c), e.key}, unused;
        if (e.live && e.value.kind == PY_INSTANCE)
            vm_call_special(vm, e.value, "__set_name__", told, 2, &unused);
    }
}

/* A class without its namespace. a: whatever, then the bases. */
static struct class *class_begin(struct vm *vm, const char *name, const struct args *a) {
    uint32_t n;
    struct class **bases = class_bases(vm, a, &n);
    struct class *c = NEW(vm->arena, struct class);
    c->name = name;
    c->dict = dict_new(vm->arena);
    c->meta = metaclass_of(vm, a, bases, n);
    if (!class_linearize(vm->arena, c, bases, n))
        vm_raise(vm, EXC_TypeError, "cannot create a consistent method resolution order for %s",
                 c->name);
    for (uint32_t i = 0; i < c->n_mro && !c->built_in; i++)
        if (c->mro[i]->sealed) c->built_in = c->mro[i];
    return c;
}

/* What else happens when the namespace is whole. */
static struct py class_end(struct vm *vm, struct class *c, const struct args *a) {
    bind_hooks(vm, c);
    name_descriptors(vm, c);
    tell_base(vm, c, a);
    return py_pointer(PY_CLASS, c);
}

/* a: the body, then the bases. The body runs in a namespace of its own, which becomes the class's.
 */
struct py vm_build_class(struct vm *vm, const struct args *a) {
    const struct function *body = a->at[0].function;
    struct class *c = class_begin(vm, body->code->name, a);
    c->doc = body->code->doc;
    c->module = body->module;

    const struct code *code = body->code;
    struct frame f = {.code = code, .module = body->module, .names = c->dict};
    f.stack = NEW_ARRAY(vm->arena, struct py, code->max_stack);
    f.cells = NEW_ARRAY(vm->arena, struct cell *, code->cells.n + code->frees.n);
    for (uint32_t i = 0; i < code->frees.n; i++) f.cells[code->cells.n + i] = body->closure[i];
    struct py result = vm_run(vm, &f);
    if (result.kind == PY_CELL) result.cell->v = py_pointer(PY_CLASS, c);
    return class_end(vm, c, a);
}

/* type(name, bases, namespace, **options). a: whatever, then the bases. */
struct py vm_make_class(struct vm *vm, const char *name, const struct dict *namespace,
                        const struct args *a) {
    struct class *c = class_begin(vm, name, a);
    c->module = vm->frame ? vm->frame->module : NULL;
    for (uint32_t i = 0; i < namespace->entries.n; i++) {
        const struct dict_entry *e = &namespace->entries.at[i];
        if (e->live && e->key.kind == PY_STR) dict_puts(vm->arena, c->dict, e->key.s, e->value);
    }
    return class_end(vm, c, a);
}
