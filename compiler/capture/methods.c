/* methods.c: methods of list, tuple, dict, set and numbers; those of str are in methods_str.c. What
 * is put into a container while tracing has no place outside (invariant V2 of value.h). */
#include <string.h>

#include "capture/vm.h"

#define METHOD(type, name)                                                                         \
    static struct py type##_##name(struct vm *vm, const struct py *v, const struct args *raw)
#define GIVEN(i) (v[i].kind != PY_UNSET)

static struct py stored(const struct vm *vm, struct py v) {
    if (vm->tracing && !v.source) v.source = &place_traced;
    return v;
}

/* -- list and tuple ------------------------------------------------------------------------ */

METHOD(list, append) {
    vec_push(vm->arena, v[0].list, stored(vm, v[1]));
    return py_none;
}

METHOD(list, extend) {
    const struct list *more = vm_list(vm, v[1]);
    for (uint32_t i = 0; i < more->n; i++) vec_push(vm->arena, v[0].list, stored(vm, more->at[i]));
    return py_none;
}

static void insert(struct vm *vm, struct list *l, uint32_t at, struct py v) {
    vec_push(vm->arena, l, v);
    memmove(l->at + at + 1, l->at + at, (l->n - 1 - at) * sizeof *l->at);
    l->at[at] = v;
}

static struct py remove_at(struct list *l, uint32_t at) {
    struct py v = l->at[at];
    memmove(l->at + at, l->at + at + 1, (l->n - 1 - at) * sizeof *l->at);
    l->n--;
    return v;
}

METHOD(list, insert) {
    int64_t n = v[0].list->n, i = vm_index(vm, v[1], "index");
    if (i < 0) i = i + n < 0 ? 0 : i + n;
    insert(vm, v[0].list, (uint32_t)(i > n ? n : i), stored(vm, v[2]));
    return py_none;
}

METHOD(list, pop) {
    int64_t n = v[0].list->n, i = GIVEN(1) ? vm_index(vm, v[1], "index") : -1;
    if (!n) vm_raise(vm, EXC_IndexError, "pop from empty list");
    if (i < -n || i >= n) vm_raise(vm, EXC_IndexError, "pop index out of range");
    return remove_at(v[0].list, (uint32_t)(i < 0 ? i + n : i));
}

static int64_t find(struct vm *vm, const struct list *l, struct py x) {
    for (uint32_t i = 0; i < l->n; i++)
        if (py_same(l->at[i], x) || vm_equal(vm, l->at[i], x)) return i;
    return -1;
}

METHOD(list, index) {
    int64_t i = find(vm, guard_contents(vm, v[0]).list, v[1]);
    if (i < 0)
        vm_raise(vm, EXC_ValueError, "%s is not in %s", py_repr(vm, v[1]), type_name(vm, v[0]));
    return py_int(i);
}

METHOD(list, count) {
    int64_t n = 0;
    const struct list *l = guard_contents(vm, v[0]).list;
    for (uint32_t i = 0; i < l->n; i++)
        n += py_same(l->at[i], v[1]) || vm_equal(vm, l->at[i], v[1]);
    return py_int(n);
}

METHOD(list, remove) {
    int64_t i = find(vm, v[0].list, v[1]);
    if (i < 0) vm_raise(vm, EXC_ValueError, "list.remove(x): x not in list");
    remove_at(v[0].list, (uint32_t)i);
    return py_none;
}

METHOD(list, reverse) {
    struct list *l = v[0].list;
    for (uint32_t i = 0; i < l->n / 2; i++) {
        struct py t = l->at[i];
        l->at[i] = l->at[l->n - 1 - i];
        l->at[l->n - 1 - i] = t;
    }
    return py_none;
}

METHOD(list, copy) {
    const struct list *l = guard_contents(vm, v[0]).list;
    return py_list(vm->arena, PY_LIST, l->at, l->n);
}

METHOD(list, clear) {
    v[0].list->n = 0;
    return py_none;
}

/* torch.Size.numel() */
METHOD(tuple, numel) {
    struct py total = py_int(1);
    const struct list *l = guard_contents(vm, v[0]).list;
    for (uint32_t i = 0; i < l->n; i++) total = vm_binary(vm, BINARY_MUL, total, l->at[i], false);
    return total;
}

/* list.__init__(), of a class derived from list */
METHOD(list, fill) { return GIVEN(1) ? list_extend(vm, v, raw) : py_none; }

static const struct native list_methods[] = {
    {"__init__(self, iterable?)!", list_fill},
    {"append(self, object)!", list_append},
    {"extend(self, iterable)!", list_extend},
    {"insert(self, index, object)!", list_insert},
    {"pop(self, index?)!", list_pop},
    {"index(self, value)", list_index},
    {"count(self, value)", list_count},
    {"remove(self, value)!", list_remove},
    {"reverse(self)!", list_reverse},
    {"copy(self)", list_copy},
    {"clear(self)!", list_clear},
};
static const struct native tuple_methods[] = {
    {"index(self, value)", list_index},
    {"count(self, value)", list_count},
    {"numel(self)", tuple_numel},
};

/* -- dict ---------------------------------------------------------------------------------- */

METHOD(dict, get_) {
    struct py out;
    vm_need_key(vm, v[1]);
    if (dict_get(vm->arena, v[0].dict, v[1], &out)) return vm_subscript(vm, v[0], v[1]);
    guard_has(vm, v[0], v[1], false);
    return GIVEN(2) ? v[2] : py_none;
}

static struct py entries(struct vm *vm, struct py d, bool keys, bool values) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    if (!vm->trace) guard_length(vm, d, d.dict->n);
    d = guard_contents(vm, d);
    for (uint32_t i = 0; i < d.dict->entries.n; i++) {
        struct dict_entry e = d.dict->entries.at[i];
        if (!e.live) continue;
        struct py pair[2] = {e.key, values ? vm_subscript(vm, d, e.key) : py_none};
        struct py item = keys && values ? py_list(vm->arena, PY_TUPLE, pair, 2) : pair[values];
        vec_push(vm->arena, out.list, item);
    }
    return out;
}

static struct py view(const char *name, struct py entries) {
    entries.list->view = name;
    return entries;
}
METHOD(dict, keys) { return view("dict_keys", entries(vm, v[0], true, false)); }
METHOD(dict, values) { return view("dict_values", entries(vm, v[0], false, true)); }
METHOD(dict, items) { return view("dict_items", entries(vm, v[0], true, true)); }

METHOD(dict, pop) {
    struct py out;
    vm_need_key(vm, v[1]);
    if (dict_get(vm->arena, v[0].dict, v[1], &out)) {
        dict_delete(vm->arena, v[0].dict, v[1]);
        return out;
    }
    if (GIVEN(2)) return v[2];
    vm_raise_key(vm, v[1]);
}

METHOD(dict, popitem) {
    for (uint32_t i = v[0].dict->entries.n; i-- > 0;) {
        struct dict_entry e = v[0].dict->entries.at[i];
        if (!e.live) continue;
        struct py pair[2] = {e.key, e.value};
        dict_delete(vm->arena, v[0].dict, e.key);
        return py_list(vm->arena, PY_TUPLE, pair, 2);
    }
    vm_raise(vm, EXC_KeyError, "popitem(): dictionary is empty");
}

METHOD(dict, fromkeys) {
    struct py out = py_dict(vm->arena, PY_DICT);
    const struct list *keys = vm_list(vm, v[0]);
    for (uint32_t i = 0; i < keys->n; i++) {
        vm_need_key(vm, keys->at[i]);
        dict_put(vm->arena, out.dict, keys->at[i], GIVEN(1) ? stored(vm, v[1]) : py_none);
    }
    return out;
}

METHOD(dict, setdefault) {
    struct py out;
    vm_need_key(vm, v[1]);
    if (dict_get(vm->arena, v[0].dict, v[1], &out)) return out;
    out = GIVEN(2) ? stored(vm, v[2]) : py_none;
    dict_put(vm->arena, v[0].dict, v[1], out);
    return out;
}

/* dict.__init__() too: what dict(...) would be made of is added. */
METHOD(dict, update_) {
    if (!raw->n || raw->n > 2) vm_raise(vm, EXC_TypeError, "update expected at most 1 argument");
    struct dict *d = raw->at[0].dict;
    vm_need_own(vm, d, "a container");
    struct args rest = {raw->at + 1, raw->n - 1, raw->names, raw->named, raw->n_named};
    struct py more = vm_call(vm, py_pointer(PY_CLASS, vm->types[PY_DICT]), &rest);
    for (uint32_t i = 0; i < more.dict->entries.n; i++) {
        struct dict_entry e = more.dict->entries.at[i];
        if (e.live) dict_put(vm->arena, d, e.key, stored(vm, e.value));
    }
    return py_none;
}

METHOD(dict, copy) {
    struct py out = py_dict(vm->arena, v[0].kind);
    dict_update(vm->arena, out.dict, guard_contents(vm, v[0]).dict);
    return out;
}

METHOD(dict, clear) {
    *v[0].dict = *dict_new(vm->arena);
    return py_none;
}

static const struct native dict_methods[] = {
    {"get(self, key, default?)", dict_get_},
    {"keys(self)", dict_keys},
    {"values(self)", dict_values},
    {"items(self)", dict_items},
    {"pop(self, key, default?)!", dict_pop},
    {"popitem(self)!", dict_popitem},
    {"setdefault(self, key, default?)!", dict_setdefault},
    {"update(*)", dict_update_},
    {"__init__(*)", dict_update_},
    {"copy(self)", dict_copy},
    {"clear(self)!", dict_clear},
};

/* -- set ----------------------------------------------------------------------------------- */

METHOD(set, add) {
    vm_need_key(vm, v[1]);
    dict_put(vm->arena, v[0].dict, v[1], py_none);
    return py_none;
}

METHOD(set, discard) {
    vm_need_key(vm, v[1]);
    dict_delete(vm->arena, v[0].dict, v[1]);
    return py_none;
}

METHOD(set, remove) {
    vm_need_key(vm, v[1]);
    if (!dict_delete(vm->arena, v[0].dict, v[1])) vm_raise_key(vm, v[1]);
    return py_none;
}

static struct py as_set(struct vm *vm, struct py v) {
    return v.kind == PY_SET ? guard_contents(vm, v)
                            : vm_call1(vm, py_pointer(PY_CLASS, vm->types[PY_SET]), v);
}
METHOD(set, union) { return vm_binary(vm, BINARY_OR, v[0], as_set(vm, v[1]), false); }
METHOD(set, intersection) { return vm_binary(vm, BINARY_AND, v[0], as_set(vm, v[1]), false); }
METHOD(set, difference) { return vm_binary(vm, BINARY_SUB, v[0], as_set(vm, v[1]), false); }

METHOD(set, symmetric_difference) {
    return vm_binary(vm, BINARY_XOR, v[0], as_set(vm, v[1]), false);
}

static bool has_all(struct vm *vm, const struct dict *of, const struct dict *members) {
    struct py unused;
    for (uint32_t i = 0; i < members->entries.n; i++) {
        struct dict_entry e = members->entries.at[i];
        if (e.live && !dict_get(vm->arena, of, e.key, &unused)) return false;
    }
    return true;
}
METHOD(set, issubset) { return py_bool(has_all(vm, as_set(vm, v[1]).dict, as_set(vm, v[0]).dict)); }
METHOD(set, issuperset) {
    return py_bool(has_all(vm, as_set(vm, v[0]).dict, as_set(vm, v[1]).dict));
}
METHOD(set, isdisjoint) {
    return py_bool(!vm_binary(vm, BINARY_AND, v[0], as_set(vm, v[1]), false).dict->n);
}

METHOD(set, update) {
    dict_update(vm->arena, v[0].dict, as_set(vm, v[1]).dict);
    return py_none;
}

METHOD(set, fill) { return GIVEN(1) ? set_update(vm, v, raw) : py_none; }

static const struct native set_methods[] = {
    {"__init__(self, iterable?)!", set_fill},
    {"add(self, elem)!", set_add},
    {"discard(self, elem)!", set_discard},
    {"remove(self, elem)!", set_remove},
    {"union(self, other)", set_union},
    {"update(self, other)!", set_update},
    {"intersection(self, other)", set_intersection},
    {"copy(self)", dict_copy},
    {"difference(self, other)", set_difference},
    {"symmetric_difference(self, other)", set_symmetric_difference},
    {"issubset(self, other)", set_issubset},
    {"issuperset(self, other)", set_issuperset},
    {"isdisjoint(self, other)", set_isdisjoint},
    {"clear(self)!", dict_clear},
};

/* -- numbers ------------------------------------------------------------------------------- */

METHOD(int, bit_length) {
    int64_t i = v[0].i;
    uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    return py_int(u ? 64 - __builtin_clzll(u) : 0);
}

METHOD(float, is_integer) { return py_bool(v[0].f == __builtin_floor(v[0].f)); }

static const struct native int_methods[] = {{"bit_length(self)", int_bit_length}};
static const struct native float_methods[] = {{"is_integer(self)", float_is_integer}};

/* -- what operators call, for super().__getitem__(key) and the like ------------------------- */

METHOD(container, len) { return py_int(vm_length(vm, v[0])); }
METHOD(container, iter) { return vm_iter(vm, v[0]); }
METHOD(container, contains) { return vm_compare(vm, COMPARE_IN, v[1], v[0]); }
METHOD(container, getitem) { return vm_subscript(vm, v[0], v[1]); }
METHOD(container, eq) { return vm_compare(vm, COMPARE_EQ, v[0], v[1]); }
METHOD(container, repr) { return py_str(py_repr(vm, v[0])); }
METHOD(container, setitem) {
    vm_subscript_set(vm, v[0], v[1], stored(vm, v[2]));
    return py_none;
}
METHOD(container, delitem) {
    vm_subscript_delete(vm, v[0], v[1]);
    return py_none;
}

enum { N_FIXED = 4, N_SHOWN = 6 }; /* of a str; of what does not change */
static const struct native container_methods[] = {
    {"__len__(self)", container_len},
    {"__iter__(self)", container_iter},
    {"__contains__(self, item)", container_contains},
    {"__getitem__(self, key)", container_getitem},
    {"__eq__(self, other)", container_eq},
    {"__repr__(self)", container_repr},
    {"__setitem__(self, key, value)!", container_setitem},
    {"__delitem__(self, key)!", container_delitem},
};

/* dict.fromkeys needs no dict. */
static const struct native dict_class_methods[] = {{"fromkeys(iterable, value?)", dict_fromkeys}};

void methods_open(struct vm *vm) {
#define TABLE(kind, prefix, table)                                                                 \
    natives_put(vm, vm->types[kind]->dict, prefix, kind, table, sizeof table / sizeof *table)
    TABLE(PY_LIST, "list.", list_methods);
    TABLE(PY_TUPLE, "tuple.", tuple_methods);
    TABLE(PY_DICT, "dict.", dict_methods);
    TABLE(PY_SET, "set.", set_methods);
    TABLE(PY_INT, "int.", int_methods);
    TABLE(PY_FLOAT, "float.", float_methods);
    TABLE(PY_LIST, "list.", container_methods);
    TABLE(PY_DICT, "dict.", container_methods);
#undef TABLE
    natives_put(vm, vm->types[PY_STR]->dict, "str.", PY_STR, container_methods, N_FIXED);
    natives_put(vm, vm->types[PY_TUPLE]->dict, "tuple.", PY_TUPLE, container_methods, N_SHOWN);
    natives_put(vm, vm->types[PY_SET]->dict, "set.", PY_SET, container_methods, N_SHOWN);
    struct py fromkeys = py_native(vm->arena, "dict.", PY_UNSET, dict_class_methods);
    dict_puts(vm->arena, vm->types[PY_DICT]->dict, "fromkeys",
              py_wrap(vm->arena, PY_STATICMETHOD, fromkeys));
    methods_str_open(vm);
    generator_open(vm);
}
