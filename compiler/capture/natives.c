/* natives.c: the table of functions in C, and the one way into them.
 *
 *   "insert(self, index: int, object)!"    3 parameters, the second an int; changes its list
 *   [].insert(1)                           TypeError: list.insert() expected 2 arguments, got 1
 *
 * Words are CPython's, and PyTorch's for what torch has of its own. */
#include <string.h>

#include "capture/vm.h"

#undef NATIVE /* there are none here, but their table */

/* -- reading signatures -------------------------------------------------------------------- */

static const char *const kind_names[] = {
#define KIND(id, shown) #id,
    NATIVE_KINDS(KIND)
#undef KIND
};
static const char *const kinds_shown[] = {
#define KIND(id, shown) shown,
    NATIVE_KINDS(KIND)
#undef KIND
};
static const enum py_kind self_kinds[] = {
#define PLACE(id, self, prefix) PY_##self,
    NATIVE_PLACES(PLACE)
#undef PLACE
};
static const char *const prefixes[] = {
#define PLACE(id, self, prefix) prefix,
    NATIVE_PLACES(PLACE)
#undef PLACE
};

static uint32_t bit(enum native_kind k) { return 1u << k; }

/* "int|none" up to n characters */
static uint32_t read_kinds(const char *s, size_t n) {
    uint32_t kinds = 0;
    for (const char *end = s + n; s < end;) {
        size_t len = strcspn(s, "|,)");
        int k = 0;
        while (k < KIND_COUNT && (strlen(kind_names[k]) != len || strncmp(kind_names[k], s, len)))
            k++;
        WS_ASSERT(k < KIND_COUNT);
        kinds |= bit((enum native_kind)k);
        s += len + 1;
    }
    return kinds;
}

static void read_item(struct arena *a, struct native *f, struct native_parameter *params,
                      const char *s, size_t n) {
    size_t name = 0;
    while (name < n && !strchr("?:", s[name])) name++;
    if (n == 1 && *s == '/') {
        f->n_nameless = f->n;
    } else if (n == 1 && *s == '*') {
        f->n_positional = f->n;
    } else if (n > 1 && s[0] == '*' && s[1] == '*') {
        f->named = true;
    } else if (*s == '*') {
        f->rest = true;
        f->n_positional = f->n;
    } else {
        const char *colon = memchr(s, ':', n);
        WS_ASSERT(f->n < MAX_ARGUMENTS);
        params[f->n++] = (struct native_parameter){
            .name = arena_strndup(a, s, name),
            .kinds = colon ? read_kinds(colon + 2, n - (size_t)(colon + 2 - s)) : 0,
            .optional = s[name] == '?'};
    }
}

static void read_signature(struct arena *a, struct native *f) {
    struct native_parameter params[MAX_ARGUMENTS];
    const char *p = strchr(f->signature, '(') + 1, *end = strrchr(f->signature, ')');
    f->n_positional = MAX_ARGUMENTS;
    while (p < end) {
        size_t n = strcspn(p, ",)");
        read_item(a, f, params, p, n);
        p += n;
        p += strspn(p, ", ");
    }
    if (f->n_positional > f->n) f->n_positional = f->n;
    struct native_parameter *own = NEW_ARRAY(a, struct native_parameter, f->n);
    if (f->n) memcpy(own, params, f->n * sizeof *own);
    f->parameters = own;
    f->changes = end[1] == '!';
    f->symbolic = end[1] == '#';
}

struct natives natives_new(struct arena *a) {
    static const struct native rows[] = {
#define NATIVE(where, function, text)                                                              \
    {.place = PLACE_##where, .signature = text, .call = native_##function},
#include "capture/natives.def"
#undef NATIVE
    };
    const uint32_t n = sizeof rows / sizeof *rows;
    struct native *at = NEW_ARRAY(a, struct native, n);
    memcpy(at, rows, sizeof rows);
    for (uint32_t i = 0; i < n; i++) {
        struct native *f = &at[i];
        f->leaf = arena_strndup(a, f->signature, strcspn(f->signature, "("));
        f->name = arena_printf(a, "%s%s", prefixes[f->place], f->leaf);
        f->self = self_kinds[f->place];
        read_signature(a, f);
    }
    return (struct natives){at, n};
}

/* -- names --------------------------------------------------------------------------------- */

void natives_put(struct vm *vm, struct dict *d, enum native_place place) {
    for (uint32_t i = 0; i < vm->natives.n; i++)
        if (vm->natives.at[i].place == place)
            dict_puts(vm->arena, d, vm->natives.at[i].leaf,
                      py_native(vm->arena, &vm->natives.at[i]));
}

void natives_put_properties(struct vm *vm, struct class *c, enum native_place place) {
    for (uint32_t i = 0; i < vm->natives.n; i++)
        if (vm->natives.at[i].place == place)
            dict_puts(vm->arena, c->dict, vm->natives.at[i].leaf,
                      py_property(vm->arena, py_native(vm->arena, &vm->natives.at[i])));
}

const struct native *native_find(const struct vm *vm, enum native_place place, const char *name) {
    for (uint32_t i = 0; i < vm->natives.n; i++)
        if (vm->natives.at[i].place == place && !strcmp(vm->natives.at[i].leaf, name))
            return &vm->natives.at[i];
    return NULL;
}

bool native_is_private(struct py v) {
    return v.kind == PY_BUILTIN && v.builtin->native && v.builtin->native->place == PLACE_PRIVATE;
}

/* -- kinds of arguments -------------------------------------------------------------------- */

/* Items that are all of a kind, in a tuple of their own. */
static bool take_items(struct vm *vm, struct py *v, enum py_kind kind, bool none) {
    struct py items = py_plain(vm, *v);
    if (!py_is_sequence(items)) return false;
    items = guard_contents(vm, items);
    for (uint32_t i = 0; i < items.list->n; i++) {
        enum py_kind k = items.list->at[i].kind;
        if (k != kind && !(none && k == PY_NONE)) return false;
    }
    *v = py_list(vm->arena, PY_TUPLE, items.list->at, items.list->n);
    return true;
}

static bool take_dtype(struct vm *vm, struct py *v) {
    static const struct {
        enum py_kind class;
        enum dtype dtype;
    } classes[] = {{PY_FLOAT, DT_F64}, {PY_INT, DT_I64}, {PY_BOOL, DT_BOOL}};
    for (size_t i = 0; v->kind == PY_CLASS && i < sizeof classes / sizeof *classes; i++)
        if (v->class == vm->types[classes[i].class]) return *v = py_dtype(classes[i].dtype), true;
    return v->kind == PY_DTYPE;
}

/* A dict whose keys are all strings, in a dict of its own. */
static bool take_named(struct vm *vm, struct py *v) {
    struct py d = py_plain(vm, *v), own = py_dict(vm->arena, PY_DICT);
    if (d.kind != PY_DICT) return false;
    d = guard_contents(vm, d);
    for (uint32_t i = 0; i < d.dict->entries.n; i++)
        if (d.dict->entries.at[i].live && d.dict->entries.at[i].key.kind != PY_STR) return false;
    dict_update(vm->arena, own.dict, d.dict);
    return *v = own, true;
}

static bool take_int(struct vm *vm, struct py *v) {
    struct py unused, plain = py_plain(vm, *v);
    bool integer = plain.kind == PY_INT || plain.kind == PY_BOOL || plain.kind == PY_SYMINT;
    struct py x = tensor_value(vm, *v);
    bool tensor =
        x.kind == PY_TENSOR && !(tensor_is_eager(vm, x) && dtype_is_float(x.tensor->meta.dtype));
    bool says = v->kind == PY_INSTANCE && class_find(v->instance->class, "__index__", &unused);
    if (!integer && !tensor && !says) return false;
    if (v->kind != PY_INT) *v = py_int(vm_index(vm, *v, "the result of __index__()"));
    return true;
}

static bool take_real(struct vm *vm, struct py *v) {
    struct py x = tensor_value(vm, py_plain(vm, *v)), out;
    if (tensor_is_eager(vm, x)) x = eager_item(vm, x);
    if (x.kind == PY_TENSOR)
        vm_break(vm, "call of math on a tensor",
                 "torch has a function of the same name for tensors");
    if (vm_call_special(vm, x, "__float__", NULL, 0, &out)) x = out;
    if (!py_is_number(x)) return false;
    return *v = py_float(py_number(x)), true;
}

static bool take_kind(struct vm *vm, enum native_kind k, struct py *v) {
    struct py plain;
    switch (k) {
    case KIND_none: return v->kind == PY_NONE;
    case KIND_str:
    case KIND_name:
        plain = py_plain(vm, *v);
        if (plain.kind == PY_STR) *v = plain;
        return plain.kind == PY_STR;
    case KIND_strings: return take_items(vm, v, PY_STR, false);
    case KIND_tensor: return v->kind == PY_TENSOR;
    case KIND_tensors: return take_items(vm, v, PY_TENSOR, false);
    case KIND_gradients: return take_items(vm, v, PY_TENSOR, true);
    case KIND_dtype: return take_dtype(vm, v);
    case KIND_class: return v->kind == PY_CLASS;
    case KIND_sequence:
        plain = py_plain(vm, *v);
        if (py_is_sequence(plain)) *v = plain;
        return py_is_sequence(plain);
    case KIND_named: return take_named(vm, v);
    case KIND_error: return vm_exception(vm, v);
    case KIND_int: return take_int(vm, v);
    case KIND_real: return take_real(vm, v);
    case KIND_COUNT: break;
    }
    WS_BUG("no such kind of argument: %d", (int)k);
}

static const char *kinds_text(struct vm *vm, uint32_t kinds) {
    struct buf b = buf_new(vm->arena);
    for (int k = 1; k <= KIND_COUNT; k++) { /* None comes last */
        int kind = k % KIND_COUNT;
        if (kinds & bit((enum native_kind)kind))
            buf_printf(&b, "%s%s", b.n ? " or " : "", kinds_shown[kind]);
    }
    return b.p;
}

/* Natives of torch, as its own parser of arguments says it. */
static bool is_of_torch(const struct native *f) {
    return f->place == PLACE_PRIVATE || f->place == PLACE_TENSOR || !strcmp(f->name, "Parameter") ||
           f->place == PLACE_TENSOR_PROPERTIES;
}

static void raise_kind(struct vm *vm, const struct native *f, uint32_t i, struct py v)
    __attribute__((noreturn));
static void raise_kind(struct vm *vm, const struct native *f, uint32_t i, struct py v) {
    const struct native_parameter *p = &f->parameters[i];
    bool self = f->self != PY_UNSET;
    if (is_missing(v)) missing_refuse(vm, v);
    const char *type = type_name(vm, v), *want = kinds_text(vm, p->kinds);
    if (is_of_torch(f)) /* which takes None for granted */
        vm_raise(vm, EXC_TypeError, "%s(): argument '%s' must be %s, not %s", f->leaf, p->name,
                 kinds_text(vm, p->kinds & ~bit(KIND_none)), type);
    if (p->kinds == bit(KIND_int))
        vm_raise(vm, EXC_TypeError, "'%s' object cannot be interpreted as an integer", type);
    if (p->kinds & bit(KIND_real)) vm_raise(vm, EXC_TypeError, "must be real number, not %s", type);
    if (p->kinds & bit(KIND_name))
        vm_raise(vm, EXC_TypeError, "attribute name must be string, not '%s'", type);
    if (p->kinds & bit(KIND_error))
        vm_raise(vm, EXC_TypeError,
                 "exceptions must be classes or instances deriving from BaseException, not %s",
                 type);
    if (i >= f->n_positional && p->kinds == (bit(KIND_str) | bit(KIND_none)))
        vm_raise(vm, EXC_TypeError, "%s must be None or a string, not %s", p->name, type);
    if (i >= f->n_positional)
        vm_raise(vm, EXC_TypeError, "%s() argument '%s' must be %s, not %s", f->leaf, p->name, want,
                 type);
    vm_raise(vm, EXC_TypeError, "%s() argument %u must be %s, not %s", f->leaf, i + !self, want,
             type);
}

static void take(struct vm *vm, const struct native *f, uint32_t i, struct py *v) {
    uint32_t kinds = f->parameters[i].kinds;
    if (v->kind == PY_UNSET || !kinds) return;
    for (int k = 0; k < KIND_COUNT; k++)
        if (kinds & bit((enum native_kind)k) && take_kind(vm, (enum native_kind)k, v)) return;
    raise_kind(vm, f, i, *v);
}

/* -- how many ------------------------------------------------------------------------------ */

/* Of those that need no name and are not self. */
static void check_count(struct vm *vm, const struct native *f, const struct args *a) {
    bool self = f->self != PY_UNSET;
    if (a->n_named && !f->named && (f->n_nameless == f->n || f->n == self))
        vm_raise(vm, EXC_TypeError, "%s() takes no keyword arguments", f->name);
    uint32_t most = f->n_positional - self, least = 0, n = a->n - self;
    for (uint32_t i = self; i < f->n_nameless; i++) least += !f->parameters[i].optional;
    bool few = n<least, many = n> most && !f->rest;
    if (!few && !many) return;
    if (!most && !f->rest)
        vm_raise(vm, EXC_TypeError, "%s() takes no arguments (%u given)", f->name, n);
    if (most == 1 && least == 1 && !f->rest)
        vm_raise(vm, EXC_TypeError, "%s() takes exactly one argument (%u given)", f->name, n);
    const char *how = least == most && !f->rest ? "" : few ? "at least " : "at most ";
    uint32_t limit = few ? least : most;
    vm_raise(vm, EXC_TypeError, "%s expected %s%u argument%s, got %u", f->name, how, limit,
             limit == 1 ? "" : "s", n);
}

static uint32_t find_parameter(const struct native *f, const char *name) {
    uint32_t k = f->n_nameless;
    while (k < f->n && strcmp(f->parameters[k].name, name)) k++;
    return k;
}

static void put_named(struct vm *vm, const struct native *f, const struct args *a, struct py *v,
                      struct args *rest) {
    const char **names = f->named ? NEW_ARRAY(vm->arena, const char *, a->n_named) : NULL;
    struct py *values = f->named ? NEW_ARRAY(vm->arena, struct py, a->n_named) : NULL;
    rest->names = names;
    rest->named = values;
    for (uint32_t i = 0; i < a->n_named; i++) {
        const char *name = a->names[i];
        uint32_t k = find_parameter(f, name);
        if (k == f->n && f->named) {
            names[rest->n_named] = name;
            values[rest->n_named++] = a->named[i];
            continue;
        }
        if (k == f->n)
            vm_raise(vm, EXC_TypeError, "%s() got an unexpected keyword argument '%s'", f->name,
                     name);
        if (v[k].kind != PY_UNSET)
            vm_raise(vm, EXC_TypeError, "%s() got multiple values for argument '%s'", f->name,
                     name);
        v[k] = a->named[i];
    }
}

static void check_missing(struct vm *vm, const struct native *f, const struct py *v) {
    for (uint32_t i = 0; i < f->n; i++)
        if (v[i].kind == PY_UNSET && !f->parameters[i].optional)
            vm_raise(vm, EXC_TypeError, "%s() missing required argument '%s' (pos %u)", f->name,
                     f->parameters[i].name, i + (f->self == PY_UNSET));
}

/* -- a call -------------------------------------------------------------------------------- */

static struct py take_self(struct vm *vm, const struct native *f, const struct args *a) {
    const char *type = vm->types[f->self]->name;
    if (!a->n) vm_raise(vm, EXC_TypeError, "unbound method %s() needs an argument", f->name);
    struct py self = a->at[0];
    if (self.kind != f->self) self = py_plain(vm, symint_fix(vm, self));
    if (self.kind != f->self)
        vm_raise(vm, EXC_TypeError,
                 "descriptor '%s' for '%s' objects doesn't apply to a '%s' object", f->leaf, type,
                 type_name(vm, self));
    return self;
}

static void note_change(struct vm *vm, struct py container) {
    vm_need_own(vm, container.p, "a container");
    if (container.kind == PY_LIST) container.list->version++;
    if (container.kind == PY_DICT || container.kind == PY_SET) container.dict->version++;
}

struct py native_call(struct vm *vm, const struct native *f, const struct args *a) {
    struct py v[MAX_ARGUMENTS] = {0};
    struct args rest = {0};
    bool self = f->self != PY_UNSET;
    vm->direct = false;
    struct py first = self ? take_self(vm, f, a) : py_unset;
    check_count(vm, f, a);
    uint32_t n = a->n < f->n_positional ? a->n : f->n_positional;
    if (n) memcpy(v, a->at, n * sizeof *v);
    if (self) v[0] = first;
    rest.at = a->at + n;
    rest.n = a->n - n;
    put_named(vm, f, a, v, &rest);
    check_missing(vm, f, v);
    for (uint32_t i = 0; !f->symbolic && symint_possible(vm) && i < f->n; i++)
        v[i] = symint_fix(vm, v[i]);
    for (uint32_t i = self; i < f->n; i++) take(vm, f, i, &v[i]);
    if (f->changes) note_change(vm, v[0]);
    if (f->self == PY_STR) str_bytes(vm, v[0].s);
    // cppcheck-suppress returnDanglingLifetime ; the value that it returns is none of rest
    return f->call(vm, v, &rest);
}
