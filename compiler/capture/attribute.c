/* attribute.c: o.name for everything that has attributes: where it is looked for and how a function
 * found in a class is bound to the instance. Reading from something with a source gives the result
 * its source. */
#include <string.h>

#include "capture/dynamo.h"

struct class *class_of(const struct vm *vm, struct py v) {
    if (v.kind == PY_INSTANCE) return v.instance->class;
    if (v.kind == PY_TENSOR && v.tensor->kind == INPUT_PARAMETER) return vm->parameter;
    if (v.kind == PY_TUPLE && v.list->is_size) return vm->size;
    return vm->types[v.kind];
}

const char *type_name(const struct vm *vm, struct py v) { return class_of(vm, v)->name; }

bool is_instance(struct vm *vm, struct py v, struct py type) {
    if (type.kind == PY_CLASS) {
        if (type.class == vm->types[PY_INT] && v.kind == PY_BOOL) return true;
        if (type.class == vm->types[PY_BUILTIN] && v.kind == PY_METHOD) return false;
        if (class_is(class_of(vm, v), type.class)) return true;
        if (v.kind == PY_CLASS && v.class->meta && class_is(v.class->meta, type.class)) return true;
    }
    vm_deep(vm);
    vm_work(vm, 1);
    struct py yes;
    if (vm_call_special(vm, type, "__instancecheck__", &v, 1, &yes)) return vm_truth(vm, yes);
    if (type.kind == PY_CLASS) return false;
    if (type.kind != PY_TUPLE)
        vm_raise(vm, EXC_TypeError,
                 "isinstance() arg 2 must be a type, a tuple of types, or a union");
    for (uint32_t i = 0; i < type.list->n; i++)
        if (is_instance(vm, v, type.list->at[i])) return true;
    return false;
}

bool instance_base(struct vm *vm, struct py v, struct py *base) {
    if (v.kind != PY_INSTANCE || v.instance->base.kind == PY_UNSET) return false;
    *base = v.instance->base;
    stamp_attribute(vm, base, v.source, BASE_NAME);
    return true;
}

struct py py_plain(struct vm *vm, struct py v) {
    struct py base;
    return instance_base(vm, v, &base) ? base : v;
}

/* -- reading ------------------------------------------------------------------------------- */

/* What was found in a class, seen from an instance of it (self UNSET: from the class). */
struct py attribute_bind(struct vm *vm, struct py v, struct py self, struct class *class) {
    switch (v.kind) {
    case PY_FUNCTION:
    case PY_BUILTIN: return self.kind == PY_UNSET ? v : py_method(vm->arena, v, self);
    case PY_STATICMETHOD: return *v.wrapped;
    case PY_CLASSMETHOD: {
        struct py own = py_pointer(PY_CLASS, class);
        stamp_attribute(vm, &own, self.kind == PY_INSTANCE ? self.source : NULL, "__class__");
        return py_method(vm->arena, *v.wrapped, own);
    }
    case PY_PROPERTY:
        if (self.kind == PY_UNSET) return v;
        if (v.wrapped[PROPERTY_GET].kind == PY_UNSET)
            vm_raise(vm, EXC_AttributeError, "property of '%s' object has no getter",
                     type_name(vm, self));
        return vm_call1(vm, v.wrapped[PROPERTY_GET], self);
    case PY_INSTANCE: {
        struct py get[2] = {self, py_pointer(PY_CLASS, class)}, out;
        if (self.kind == PY_UNSET) get[0] = py_none;
        return vm_call_special(vm, v, "__get__", get, 2, &out) ? out : v;
    }
    default: return v;
    }
}

static struct py stamp(struct vm *vm, struct py o, const char *name, struct py v) {
    stamp_attribute(vm, &v, o.source, name);
    return v;
}

static bool find_in_object(struct vm *vm, const char *name, struct py *out);
static bool find_in_class(struct vm *vm, struct class *c, const char *name, struct py *out);

static struct py module_name(const struct class *c) {
    return py_str(c->module ? c->module->name : "builtins");
}

static bool is_torch_module(const struct class *c) {
    for (uint32_t i = 0; i < c->n_mro; i++) {
        const struct module *m = c->mro[i]->module;
        if (m && m->prelude && !strcmp(m->name, "torch.nn") && !strcmp(c->mro[i]->name, "Module"))
            return true;
    }
    return false;
}

/* PyTorch looks for modules and parameters that a module has registered last: a method of its class
 * hides them. self.parameters = nn.ParameterList(...) leaves self.parameters() what it was. */
static bool hidden_by_class(const struct instance *x, struct py of_class, struct py own) {
    if (of_class.kind != PY_FUNCTION || !is_torch_module(x->class)) return false;
    return own.kind == PY_TENSOR ? own.tensor->kind == INPUT_PARAMETER
                                 : own.kind == PY_INSTANCE && is_torch_module(own.instance->class);
}

static bool find_in_exception(struct vm *vm, const struct instance *x, const char *name,
                              struct py *out) {
    if (!class_is(x->class, vm->exceptions[EXC_BaseException])) return false;
    bool none = !strcmp(name, "__cause__") || !strcmp(name, "__traceback__");
    if (none) return *out = py_none, true;
    if (strcmp(name, "__suppress_context__")) return false;
    return *out = py_bool(dict_gets(x->dict, "__cause__", out)), true;
}

/* A property, or an object with __set__: it comes before what the instance itself has. */
static bool is_data_descriptor(struct py of_class) {
    struct py f;
    if (of_class.kind == PY_PROPERTY) return true;
    return of_class.kind == PY_INSTANCE && (class_find(of_class.instance->class, "__set__", &f) ||
                                            class_find(of_class.instance->class, "__delete__", &f));
}

static bool find_in_instance(struct vm *vm, struct py o, const char *name, struct py *out) {
    struct instance *x = o.instance;
    struct py v;
    bool in_class = class_find(x->class, name, &v);
    if (in_class && is_data_descriptor(v)) return *out = attribute_bind(vm, v, o, x->class), true;
    struct py own;
    if (vm->trace && trace_attribute(vm, x, name, out)) return true;
    if (dict_gets(x->dict, name, &own) && !(in_class && hidden_by_class(x, v, own)))
        return *out = stamp(vm, o, name, own), true;
    if (in_class) {
        v = attribute_bind(vm, v, o, x->class);
        *out = v.kind == PY_METHOD || v.kind == PY_FUNCTION ? v : stamp(vm, o, name, v);
        return true;
    }
    if (!strcmp(name, "__class__"))
        return *out = stamp(vm, o, name, py_pointer(PY_CLASS, x->class)), true;
    if (!strcmp(name, "__module__")) return *out = module_name(x->class), true;
    if (!strcmp(name, "__doc__")) return find_in_class(vm, x->class, name, out);
    if (!strcmp(name, "__dict__"))
        return *out = stamp(vm, o, name, py_pointer(PY_DICT, x->dict)), true;
    if (find_in_object(vm, name, &v)) return *out = py_method(vm->arena, v, o), true;
    if (find_in_exception(vm, x, name, out)) return true;
    guard_absent(vm, o, name);
    struct py text = py_str(name);
    return vm_call_special(vm, o, "__getattr__", &text, 1, out);
}

/* What every object has, which a class in between may call on the way up: super().__init__(),
 * object.__setattr__(self, name, value). */
NATIVE(object_end) { return py_none; }

NATIVE(object_new) { return instance_new(vm, v[0].class, rest); }

static void set_plainly(struct vm *vm, struct py o, const char *name, struct py v);

static void delete_plainly(struct vm *vm, struct py o, const char *name);

/* What copies are made of: the class, what it is called with, and the fields. */
NATIVE(object_reduce) {
    struct py parts[3] = {py_pointer(PY_CLASS, class_of(vm, v[0])),
                          py_list(vm->arena, PY_TUPLE, NULL, 0), py_none};
    if (v[0].kind == PY_INSTANCE) parts[2] = py_pointer(PY_DICT, v[0].instance->dict);
    return py_list(vm->arena, PY_TUPLE, parts, 3);
}

NATIVE(object_setattr) {
    set_plainly(vm, v[0], v[1].s, v[2]);
    return py_none;
}

NATIVE(object_delattr) {
    delete_plainly(vm, v[0], v[1].s);
    return py_none;
}

static bool find_in_object(struct vm *vm, const char *name, struct py *out) {
    const struct native *f = native_find(vm, PLACE_OBJECT, name);
    return f && (*out = py_native(vm->arena, f), true);
}

static struct py classes(struct vm *vm, struct class *const *at, uint32_t n) {
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    for (uint32_t i = 0; i < n; i++) vec_push(vm->arena, out.list, py_pointer(PY_CLASS, at[i]));
    return out;
}

static bool find_in_class(struct vm *vm, struct class *c, const char *name, struct py *out) {
    struct py v;
    if (class_find(c, name, &v)) return *out = attribute_bind(vm, v, py_unset, c), true;
    if (!strcmp(name, "__name__") || !strcmp(name, "__qualname__"))
        return *out = py_str(c->name), true;
    if (!strcmp(name, "__module__")) return *out = module_name(c), true;
    if (!strcmp(name, "__doc__")) return *out = c->doc ? py_str(c->doc) : py_none, true;
    if (!strcmp(name, "__dict__")) return *out = py_pointer(PY_DICT, c->dict), true;
    if (!strcmp(name, "__mro__")) return *out = classes(vm, c->mro, c->n_mro), true;
    if (!strcmp(name, "__bases__")) return *out = classes(vm, c->bases, c->n_bases), true;
    if (class_is(c, vm->types[PY_TENSOR]) && operator_find(vm, "Tensor.", name, out)) return true;
    return find_in_object(vm, name, out);
}

static bool find_in_super(struct vm *vm, const struct super *s, const char *name, struct py *out) {
    bool of_class = s->self.kind == PY_CLASS;
    struct class *c = of_class ? s->self.class : class_of(vm, s->self);
    uint32_t i = 0;
    while (i < c->n_mro && c->mro[i] != s->after) i++;
    for (i++; i < c->n_mro; i++) {
        struct py v;
        if (!dict_gets(c->mro[i]->dict, name, &v)) continue;
        return *out = attribute_bind(vm, v, of_class ? py_unset : s->self, c), true;
    }
    struct py f;
    if (!find_in_object(vm, name, &f)) return false;
    return *out = strcmp(name, "__new__") ? py_method(vm->arena, f, s->self) : f, true;
}

static struct py defaults_of(struct vm *vm, const struct function *f) {
    if (!f->defaults || !f->defaults->n) return py_none;
    return py_list(vm->arena, PY_TUPLE, f->defaults->at, f->defaults->n);
}

static struct py closure_of(struct vm *vm, const struct function *f) {
    uint32_t n = f->code->frees.n;
    struct py cells = py_list(vm->arena, PY_TUPLE, NULL, 0);
    for (uint32_t i = 0; i < n; i++)
        vec_push(vm->arena, cells.list, py_pointer(PY_CELL, f->closure[i]));
    return n ? cells : py_none;
}

static bool find_in_function(struct vm *vm, const struct function *f, const char *name,
                             struct py *out) {
    if (f->attributes && dict_gets(f->attributes, name, out)) return true;
    if (!strcmp(name, "__name__")) return *out = py_str(f->code->name), true;
    if (!strcmp(name, "__qualname__")) return *out = py_str(f->code->qualname), true;
    if (!strcmp(name, "__doc__")) return *out = f->code->doc ? py_str(f->code->doc) : py_none, true;
    if (!strcmp(name, "__module__")) return *out = py_str(f->module->name), true;
    if (!strcmp(name, "__defaults__")) return *out = defaults_of(vm, f), true;
    if (!strcmp(name, "__kwdefaults__"))
        return *out = f->kwdefaults ? py_pointer(PY_DICT, f->kwdefaults) : py_none, true;
    if (!strcmp(name, "__closure__")) return *out = closure_of(vm, f), true;
    return false;
}

static bool find_in_method(struct vm *vm, const struct method *m, const char *name,
                           struct py *out) {
    if (!strcmp(name, "__self__")) return *out = m->self, true;
    if (!strcmp(name, "__func__")) return *out = m->function, true;
    return attribute_find(vm, m->function, name, out);
}

static bool find_in_property(struct py o, const char *name, struct py *out) {
    static const char *const names[N_PROPERTY] = {"fget", "fset", "fdel", "__doc__"};
    for (uint32_t i = 0; i < N_PROPERTY; i++) {
        if (strcmp(name, names[i])) continue;
        struct py v = o.wrapped[i], get = o.wrapped[PROPERTY_GET];
        if (i == PROPERTY_DOC && v.kind == PY_UNSET && get.kind == PY_FUNCTION)
            v = get.function->code->doc ? py_str(get.function->code->doc) : py_none;
        return *out = v.kind == PY_UNSET ? py_none : v, true;
    }
    return false;
}

/* A module of ours is not for programs to write to: its public names, in a dict of their own. */
static struct py names_of(struct vm *vm, const struct module *m) {
    struct dict *d = dict_new(vm->arena);
    for (uint32_t i = 0; i < m->dict->entries.n; i++) {
        const struct dict_entry *e = &m->dict->entries.at[i];
        if (e->live && e->key.kind == PY_STR && e->key.s[0] != '_')
            dict_puts(vm->arena, d, e->key.s, e->value);
    }
    return py_pointer(PY_DICT, d);
}

/* What only one kind of value has, before its class is asked. */
static bool find_own(struct vm *vm, struct py o, const char *name, struct py *out) {
    switch (o.kind) {
    case PY_INSTANCE: return find_in_instance(vm, o, name, out);
    case PY_CLASS:
        if (!find_in_class(vm, o.class, name, out)) return false;
        if (vm->trace && py_is_constant(*out)) *out = stamp(vm, o, name, *out);
        if (out->kind == PY_METHOD && out->method->self.p == o.p)
            out->method->self.source = o.source; /* a classmethod's class */
        return true;
    case PY_SUPER: return find_in_super(vm, o.super, name, out);
    case PY_MODULE:
        if (!strcmp(name, "__dict__") && !o.module->prelude)
            return *out = py_pointer(PY_DICT, o.module->dict), true;
        if (!strcmp(name, "__dict__")) return *out = names_of(vm, o.module), true;
        return module_find(vm, o.module, name, out);
    case PY_FUNCTION: return find_in_function(vm, o.function, name, out);
    case PY_METHOD: return find_in_method(vm, o.method, name, out);
    case PY_SLICE:
        if (!strcmp(name, "start")) return *out = stamp(vm, o, name, o.slice->start), true;
        if (!strcmp(name, "stop")) return *out = stamp(vm, o, name, o.slice->stop), true;
        if (!strcmp(name, "step")) return *out = stamp(vm, o, name, o.slice->step), true;
        return false;
    case PY_PROPERTY: return find_in_property(o, name, out);
    case PY_CELL:
        if (strcmp(name, "cell_contents")) return false;
        if (vm->trace) vm_break(vm, "read of a function's cell", "pass what it holds");
        if (o.cell->v.kind == PY_UNSET) vm_raise(vm, EXC_ValueError, "Cell is empty");
        return *out = o.cell->v, true;
    case PY_BUILTIN:
        if (!strcmp(name, "__name__")) return *out = py_str(o.builtin->name), true;
        return false;
    case PY_TENSOR:
        if (!o.tensor->attributes || !dict_gets(o.tensor->attributes, name, out)) return false;
        return *out = stamp(vm, o, name, *out), true;
    default: break;
    }
    return false;
}

bool attribute_find(struct vm *vm, struct py o, const char *name, struct py *out) {
    if (find_own(vm, o, name, out)) return true;
    if (o.kind == PY_INSTANCE || o.kind == PY_CLASS || o.kind == PY_SUPER || o.kind == PY_MODULE)
        return false;
    struct class *c = class_of(vm, o);
    struct py v;
    if (class_find(c, name, &v)) return *out = attribute_bind(vm, v, o, c), true;
    if (!strcmp(name, "__class__")) return *out = py_pointer(PY_CLASS, c), true;
    if (o.kind != PY_TENSOR || !operator_find(vm, "Tensor.", name, &v)) return false;
    *out = py_method(vm->arena, v, o);
    bool property = !strcmp(name, "T") || !strcmp(name, "mT");
    if (property) *out = vm_call0(vm, *out);
    return true;
}

/* -- names that are not there -------------------------------------------------------------- */

/* "; did you mean: torch.softmax, F.softmax?" from the operator table. */
static __attribute__((noreturn)) void refuse_operator(struct vm *vm, const char *shown,
                                                      const char *python_name) {
    const char *near = op_suggest(vm->arena, python_name);
    vm_refuse(vm, "operator %s is not supported%s%s", shown, near && *near ? "; nearest: " : "",
              near ? near : "");
}

static const char *class_names(struct vm *vm, const struct module *m) {
    struct buf b = buf_new(vm->arena);
    for (uint32_t i = 0; i < m->dict->entries.n; i++) {
        struct dict_entry e = m->dict->entries.at[i];
        if (e.value.kind == PY_CLASS && e.key.s[0] != '_')
            buf_printf(&b, "%s%s", b.n ? ", " : "", e.key.s);
    }
    return b.p;
}

static __attribute__((noreturn)) void missing(struct vm *vm, struct py o, const char *name) {
    if (o.kind == PY_MODULE && !strcmp(o.module->name, "torch.nn"))
        vm_refuse(vm, "torch.nn.%s is not supported; supported: %s", name,
                  class_names(vm, o.module));
    if (o.kind == PY_MODULE && !strncmp(o.module->name, "torch", 5)) {
        const char *shown = arena_printf(vm->arena, "%s.%s", o.module->name, name);
        bool functional = !strcmp(o.module->name, "torch.nn.functional");
        refuse_operator(vm, shown, functional ? arena_printf(vm->arena, "F.%s", name) : shown);
    }
    if (o.kind == PY_MODULE)
        vm_raise(vm, EXC_AttributeError, "module '%s' has no attribute '%s'", o.module->name, name);
    if (o.kind == PY_TENSOR) {
        const char *shown = arena_printf(vm->arena, "Tensor.%s", name);
        refuse_operator(vm, shown, shown);
    }
    if (o.kind == PY_CLASS)
        vm_raise(vm, EXC_AttributeError, "type object '%s' has no attribute '%s'", o.class->name,
                 name);
    vm_raise(vm, EXC_AttributeError, "'%s' object has no attribute '%s'", type_name(vm, o), name);
}

bool is_missing(struct py o) {
    return o.kind == PY_CLASS && o.class->module && o.class->module->missing;
}

void missing_refuse(struct vm *vm, struct py o) {
    struct py refuse = py_none;
    dict_gets(o.class->module->dict, "refuse", &refuse);
    vm_call1(vm, refuse, py_str(o.class->name));
    vm_leave(vm); /* which it has done */
}

static struct py missing_part(struct vm *vm, struct py o, const char *name) {
    struct py made = py_none;
    dict_gets(o.class->module->dict, "made", &made);
    return vm_call1(vm, made, py_str(arena_printf(vm->arena, "%s%s", o.class->name, name)));
}

/* The module of ours, or what stands for one (later.py), that the name should be of; NULL: none. */
static const char *owner_of_name(struct py o) {
    const struct module *m = o.kind == PY_CLASS ? o.class->module : NULL;
    if (m && m->prelude && !strcmp(m->name, "later")) return o.class->name;
    return o.kind == PY_MODULE && o.module->prelude && !o.module->missing ? o.module->name : NULL;
}

/* A name that a class may have from a base that is not there. */
static bool find_in_missing_base(struct vm *vm, struct py o, const char *part, struct py *out) {
    for (uint32_t i = 0; o.kind == PY_CLASS && i < o.class->n_mro; i++) {
        struct py base = py_pointer(PY_CLASS, o.class->mro[i]);
        if (is_missing(base)) return *out = missing_part(vm, base, part), true;
    }
    return false;
}

/* What a workload's body reads, forward may never use. */
static bool may_come_later(struct vm *vm, struct py o, const char *name, struct py *out) {
    if (name[0] == '_' || !vm->frame || vm->frame->module->prelude || !vm_in_body(vm)) return false;
    if (find_in_missing_base(vm, o, arena_printf(vm->arena, ".%s", name), out)) return true;
    const char *owner = owner_of_name(o);
    if (!owner || vm_may_be_caught(vm)) return false;
    return *out = module_later(vm, owner, name), true;
}

struct py attribute_get(struct vm *vm, struct py o, const char *name) {
    struct py v = py_unset;
    if (!attribute_find(vm, o, name, &v)) {
        if (is_missing(o)) return missing_part(vm, o, arena_printf(vm->arena, ".%s", name));
        if (may_come_later(vm, o, name, &v)) return v;
        missing(vm, o, name);
    }
    return v;
}

/* -- writing ------------------------------------------------------------------------------- */

static struct dict *attributes_of(struct vm *vm, struct py o) {
    if (o.kind == PY_INSTANCE) return o.instance->dict;
    if (o.kind == PY_CLASS && o.class->module) return o.class->dict;
    if (o.kind == PY_MODULE) return o.module->dict;
    if (o.kind == PY_FUNCTION) {
        if (!o.function->attributes) o.function->attributes = dict_new(vm->arena);
        return o.function->attributes;
    }
    if (o.kind == PY_TENSOR) {
        if (!o.tensor->attributes) o.tensor->attributes = dict_new(vm->arena);
        return o.tensor->attributes;
    }
    return NULL;
}

/* Does every tensor have an attribute of that name, which has a meaning of its own? */
static bool is_of_tensors(struct vm *vm, struct py o, const char *name) {
    struct py v;
    return class_find(class_of(vm, o), name, &v) || operator_find(vm, "Tensor.", name, &v);
}

/* o.__dict__ = v */
static void set_all(struct vm *vm, struct py o, struct py v) {
    vm_need_own(vm, o.p, "an object");
    v = py_plain(vm, v);
    if (v.kind != PY_DICT)
        vm_raise(vm, EXC_TypeError, "__dict__ must be set to a dictionary, not a '%s'",
                 type_name(vm, v));
    o.instance->dict = v.dict;
}

/* o.__class__ = v: who has looked up a name of the class by way of o looks again. */
static void set_class(struct vm *vm, struct py o, struct py v) {
    if (v.kind != PY_CLASS)
        vm_raise(vm, EXC_TypeError, "__class__ must be set to a class, not '%s' object",
                 type_name(vm, v));
    if (!v.class->module || !o.instance->class->module)
        vm_raise(vm, EXC_TypeError,
                 "__class__ assignment only supported for mutable types or ModuleType subclasses");
    vm_need_own(vm, o.instance, "an object");
    o.instance->class = v.class;
    o.instance->dict->version++;
}

void attribute_set(struct vm *vm, struct py o, const char *name, struct py v) {
    struct py pair[2] = {py_str(name), v}, done;
    if (vm_call_special(vm, o, "__setattr__", pair, 2, &done)) return;
    set_plainly(vm, o, name, v);
}

/* What the class of o has for o.name = v (v: one value), or del o.name (none). */
static bool descriptor_takes(struct vm *vm, struct py o, const char *name, const struct py *v) {
    struct py d, unused, given[2] = {o, v ? *v : py_unset};
    enum property_part part = v ? PROPERTY_SET : PROPERTY_DELETE;
    if (o.kind != PY_INSTANCE || !class_find(o.instance->class, name, &d)) return false;
    if (d.kind == PY_INSTANCE)
        return vm_call_special(vm, d, v ? "__set__" : "__delete__", given, v ? 2 : 1, &unused);
    if (d.kind != PY_PROPERTY) return false;
    if (d.wrapped[part].kind == PY_UNSET)
        vm_raise(vm, EXC_AttributeError, "property '%s' of '%s' object has no %s", name,
                 type_name(vm, o), v ? "setter" : "deleter");
    vm_call(vm, d.wrapped[part], &(struct args){.at = given, .n = v ? 2 : 1});
    return true;
}

/* A module's buffer stays one when its name gets another tensor, or None, as in PyTorch: once the
 * tensor does not say so, _ws_buffers does, a dict of names. */
static void keep_buffer(struct vm *vm, struct dict *d, const char *name, struct py v) {
    struct py old, names;
    if (v.kind != PY_NONE && (v.kind != PY_TENSOR || v.tensor->kind == INPUT_PARAMETER)) return;
    if (!dict_gets(d, name, &old) || old.kind != PY_TENSOR) return;
    if (old.tensor->kind != INPUT_BUFFER) return;
    if (!dict_gets(d, "_ws_buffers", &names)) {
        names = py_pointer(PY_DICT, dict_new(vm->arena));
        dict_puts(vm->arena, d, "_ws_buffers", names);
    }
    dict_puts(vm->arena, names.dict, name, py_none);
}

/* Is it what a module's parameters() or children() have? */
static bool is_registered(struct py v) {
    return v.kind == PY_TENSOR ? v.tensor->kind != INPUT_ARG
                               : v.kind == PY_INSTANCE && is_torch_module(v.instance->class);
}

/* A name that has none yet, as after self.bias = None, gets its place among a module's parameters
 * and children with the first one. One that has had one keeps its place: _ws_places has its name
 * once that is None. */
static void keep_place(struct vm *vm, struct dict *d, const char *name, struct py v) {
    struct py old, names, place;
    if (!dict_gets(d, name, &old)) return;
    bool known = dict_gets(d, "_ws_places", &names);
    if (v.kind == PY_NONE && is_registered(old)) {
        if (!known) {
            names = py_pointer(PY_DICT, dict_new(vm->arena));
            dict_puts(vm->arena, d, "_ws_places", names);
        }
        dict_puts(vm->arena, names.dict, name, py_none);
    }
    if (old.kind == PY_NONE && is_registered(v) && !(known && dict_gets(names.dict, name, &place)))
        dict_delete(vm->arena, d, py_str(name));
}

/* What a module has under the name of a parameter is one, or None. */
static void need_parameter(struct vm *vm, const struct dict *d, const char *name, struct py v) {
    struct py old;
    if (v.kind != PY_TENSOR || v.tensor->kind == INPUT_PARAMETER) return;
    if (!dict_gets(d, name, &old) || old.kind != PY_TENSOR) return;
    if (old.tensor->kind == INPUT_PARAMETER)
        vm_raise(vm, EXC_TypeError,
                 "cannot assign 'torch.FloatTensor' as parameter '%s' (torch.nn.Parameter or None "
                 "expected)",
                 name);
}

void attribute_put(struct vm *vm, struct py o, const char *name, struct py v) {
    struct dict *d = attributes_of(vm, o);
    if (o.kind == PY_INSTANCE && is_torch_module(o.instance->class)) {
        keep_buffer(vm, d, name, v);
        keep_place(vm, d, name, v);
    }
    dict_puts(vm->arena, d, name, v);
}

/* As object.__setattr__() does. */
static void set_plainly(struct vm *vm, struct py o, const char *name, struct py v) {
    struct dict *d = attributes_of(vm, o);
    if (descriptor_takes(vm, o, name, &v)) return;
    if (o.kind == PY_INSTANCE && !strcmp(name, "__dict__")) return set_all(vm, o, v);
    if (o.kind == PY_INSTANCE && !strcmp(name, "__class__")) return set_class(vm, o, v);
    if (o.kind == PY_CLASS && !strcmp(name, "__name__") && v.kind == PY_STR && o.class->module) {
        o.class->name = v.s;
        return;
    }
    if (trace_set_attribute(vm, o, name, v)) return;
    if (o.kind != PY_INSTANCE) vm_need_own(vm, o.p, "an object");
    if (o.kind == PY_TENSOR && !o.tensor->graph && !strcmp(name, "grad")) {
        tape_check_grad(vm, o.tensor, v);
        o.tensor->grad = v.kind == PY_TENSOR ? v.tensor : NULL;
        return;
    }
    if (o.kind == PY_TENSOR && !o.tensor->graph && !strcmp(name, "data") && v.kind == PY_TENSOR) {
        o.tensor->storage = v.tensor->storage;
        o.tensor->meta = v.tensor->meta;
        o.tensor->offset = v.tensor->offset;
        o.tensor->own = v.tensor->own;
        o.tensor->recorded = v.tensor->recorded;
        o.tensor->version++;
        return;
    }
    if (o.kind == PY_TENSOR && !strcmp(name, "requires_grad")) {
        o.tensor->requires_grad = vm_truth(vm, v);
        o.tensor->version++;
        return;
    }
    if (o.kind == PY_TENSOR && !strcmp(name, "data") && v.kind == PY_TENSOR) {
        tensor_set_data(vm, o, v);
        return;
    }
    if (o.kind == PY_TENSOR && is_of_tensors(vm, o, name))
        vm_refuse(vm, "assigning Tensor.%s is not supported; make a new tensor instead", name);
    if (!d)
        vm_raise(vm, EXC_AttributeError, "'%s' object attribute '%s' is read-only",
                 type_name(vm, o), name);
    if (o.kind == PY_INSTANCE && is_torch_module(o.instance->class)) need_parameter(vm, d, name, v);
    attribute_put(vm, o, name, v);
}

void attribute_delete(struct vm *vm, struct py o, const char *name) {
    struct py text = py_str(name), done;
    if (!vm_call_special(vm, o, "__delattr__", &text, 1, &done)) delete_plainly(vm, o, name);
}

/* As object.__delattr__() does. */
static void delete_plainly(struct vm *vm, struct py o, const char *name) {
    struct dict *d = attributes_of(vm, o);
    if (descriptor_takes(vm, o, name, NULL)) return;
    vm_need_own(vm, o.p, "an object");
    if (!d || !dict_delete(vm->arena, d, py_str(name)))
        vm_raise(vm, EXC_AttributeError, "'%s' object has no attribute '%s'", type_name(vm, o),
                 name);
    struct py names;
    if (dict_gets(d, "_ws_buffers", &names)) dict_delete(vm->arena, names.dict, py_str(name));
}
