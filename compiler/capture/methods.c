/* methods.c: methods of list, tuple, dict, set and numbers; those of str are in methods_str.c. What
 * is put into a container while tracing has no place outside (invariant V2 of value.h). */
#include <string.h>

#include "capture/vm.h"

static struct py stored(const struct vm *vm, struct py v) {
    if (vm->tracing && !v.source) v.source = &place_traced;
    return v;
}

/* -- list and tuple ------------------------------------------------------------------------ */

NATIVE(list_append) {
    vec_push(vm->arena, v[0].list, stored(vm, v[1]));
    return py_none;
}

NATIVE(list_extend) {
    const struct list *more = vm_list(vm, v[1]);
    for (uint32_t i = 0; i < more->n; i++) vec_push(vm->arena, v[0].list, stored(vm, more->at[i]));
    return py_none;
}

static void insert(struct vm *vm, struct list *l, uint32_t at, struct py v) {
    vm_work(vm, (l->n - at) / 4);
    vec_push(vm->arena, l, v);
    memmove(l->at + at + 1, l->at + at, (l->n - 1 - at) * sizeof *l->at);
    l->at[at] = v;
}

static struct py remove_at(struct vm *vm, struct list *l, uint32_t at) {
    vm_work(vm, (l->n - at) / 4);
    struct py v = l->at[at];
    memmove(l->at + at, l->at + at + 1, (l->n - 1 - at) * sizeof *l->at);
    l->n--;
    return v;
}

NATIVE(list_insert) {
    int64_t n = v[0].list->n, i = v[1].i;
    if (i < 0) i = i + n < 0 ? 0 : i + n;
    insert(vm, v[0].list, (uint32_t)(i > n ? n : i), stored(vm, v[2]));
    return py_none;
}

NATIVE(list_pop) {
    int64_t n = v[0].list->n, i = GIVEN(1) ? v[1].i : -1;
    if (!n) vm_raise(vm, EXC_IndexError, "pop from empty list");
    if (i < -n || i >= n) vm_raise(vm, EXC_IndexError, "pop index out of range");
    return remove_at(vm, v[0].list, (uint32_t)(i < 0 ? i + n : i));
}

static int64_t find(struct vm *vm, const struct list *l, struct py x) {
    vm_work(vm, l->n / 4);
    for (uint32_t i = 0; i < l->n; i++)
        if (py_same(l->at[i], x) || vm_equal(vm, l->at[i], x)) return i;
    return -1;
}

NATIVE(list_index) {
    int64_t i = find(vm, guard_contents(vm, v[0]).list, v[1]);
    if (i < 0)
        vm_raise(vm, EXC_ValueError, "%s is not in %s", py_repr(vm, v[1]), type_name(vm, v[0]));
    return py_int(i);
}

NATIVE(list_count) {
    int64_t n = 0;
    const struct list *l = guard_contents(vm, v[0]).list;
    for (uint32_t i = 0; i < l->n; i++)
        n += py_same(l->at[i], v[1]) || vm_equal(vm, l->at[i], v[1]);
    return py_int(n);
}

NATIVE(list_remove) {
    int64_t i = find(vm, v[0].list, v[1]);
    if (i < 0) vm_raise(vm, EXC_ValueError, "list.remove(x): x not in list");
    if (i < v[0].list->n) remove_at(vm, v[0].list, (uint32_t)i); /* __eq__() may have done so */
    return py_none;
}

NATIVE(list_reverse) {
    struct list *l = v[0].list;
    vm_work(vm, l->n / 4);
    for (uint32_t i = 0; i < l->n / 2; i++) {
        struct py t = l->at[i];
        l->at[i] = l->at[l->n - 1 - i];
        l->at[l->n - 1 - i] = t;
    }
    return py_none;
}

NATIVE(list_copy) {
    const struct list *l = guard_contents(vm, v[0]).list;
    return py_list(vm->arena, PY_LIST, l->at, l->n);
}

NATIVE(list_clear) {
    v[0].list->n = 0;
    return py_none;
}

/* torch.Size.numel() */
NATIVE(tuple_numel) {
    struct py total = py_int(1);
    const struct list *l = guard_contents(vm, v[0]).list;
    for (uint32_t i = 0; i < l->n; i++) total = vm_binary(vm, BINARY_MUL, total, l->at[i], false);
    return total;
}

/* list.__init__(), of a class derived from list */
NATIVE(list_fill) { return GIVEN(1) ? native_list_extend(vm, v, rest) : py_none; }

/* -- dict ---------------------------------------------------------------------------------- */

NATIVE(dict_get) {
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
NATIVE(dict_keys) { return view("dict_keys", entries(vm, v[0], true, false)); }
NATIVE(dict_values) { return view("dict_values", entries(vm, v[0], false, true)); }
NATIVE(dict_items) { return view("dict_items", entries(vm, v[0], true, true)); }

NATIVE(dict_pop) {
    struct py out;
    vm_need_key(vm, v[1]);
    if (dict_get(vm->arena, v[0].dict, v[1], &out)) {
        dict_delete(vm->arena, v[0].dict, v[1]);
        return out;
    }
    if (GIVEN(2)) return v[2];
    vm_raise_key(vm, v[1]);
}

NATIVE(dict_popitem) {
    for (uint32_t i = v[0].dict->entries.n; i-- > 0;) {
        struct dict_entry e = v[0].dict->entries.at[i];
        if (!e.live) continue;
        struct py pair[2] = {e.key, e.value};
        dict_delete(vm->arena, v[0].dict, e.key);
        return py_list(vm->arena, PY_TUPLE, pair, 2);
    }
    vm_raise(vm, EXC_KeyError, "popitem(): dictionary is empty");
}

NATIVE(dict_fromkeys) {
    struct py out = py_dict(vm->arena, PY_DICT);
    const struct list *keys = vm_list(vm, v[0]);
    for (uint32_t i = 0; i < keys->n; i++) {
        vm_need_key(vm, keys->at[i]);
        dict_put(vm->arena, out.dict, keys->at[i], GIVEN(1) ? stored(vm, v[1]) : py_none);
    }
    return out;
}

NATIVE(dict_setdefault) {
    struct py out;
    vm_need_key(vm, v[1]);
    if (dict_get(vm->arena, v[0].dict, v[1], &out)) return out;
    out = GIVEN(2) ? stored(vm, v[2]) : py_none;
    dict_put(vm->arena, v[0].dict, v[1], out);
    return out;
}

/* dict.__init__() too: what dict(...) would be made of is added. */
NATIVE(dict_update) {
    struct args all = *rest;
    all.at = v + 1;
    all.n = GIVEN(1);
    struct py more = vm_call(vm, py_pointer(PY_CLASS, vm->types[PY_DICT]), &all);
    for (uint32_t i = 0; i < more.dict->entries.n; i++) {
        struct dict_entry e = more.dict->entries.at[i];
        if (e.live) dict_put(vm->arena, v[0].dict, e.key, stored(vm, e.value));
    }
    return py_none;
}

NATIVE(dict_copy) {
    struct py out = py_dict(vm->arena, v[0].kind);
    dict_update(vm->arena, out.dict, guard_contents(vm, v[0]).dict);
    return out;
}

NATIVE(dict_clear) {
    *v[0].dict = *dict_new(vm->arena);
    return py_none;
}

/* -- set ----------------------------------------------------------------------------------- */

NATIVE(set_add) {
    vm_need_key(vm, v[1]);
    dict_put(vm->arena, v[0].dict, v[1], py_none);
    return py_none;
}

NATIVE(set_discard) {
    vm_need_key(vm, v[1]);
    dict_delete(vm->arena, v[0].dict, v[1]);
    return py_none;
}

NATIVE(set_remove) {
    vm_need_key(vm, v[1]);
    if (!dict_delete(vm->arena, v[0].dict, v[1])) vm_raise_key(vm, v[1]);
    return py_none;
}

static struct py as_set(struct vm *vm, struct py v) {
    return v.kind == PY_SET ? guard_contents(vm, v)
                            : vm_call1(vm, py_pointer(PY_CLASS, vm->types[PY_SET]), v);
}
/* self op each of the others, a set of its own. */
static struct py set_with(struct vm *vm, enum binary_operator op, struct py self,
                          const struct args *others) {
    struct py out = py_dict(vm->arena, PY_SET);
    dict_update(vm->arena, out.dict, as_set(vm, self).dict);
    for (uint32_t i = 0; i < others->n; i++)
        out = vm_binary(vm, op, out, as_set(vm, others->at[i]), false);
    return out;
}
NATIVE(set_union) { return set_with(vm, BINARY_OR, v[0], rest); }
NATIVE(set_intersection) { return set_with(vm, BINARY_AND, v[0], rest); }
NATIVE(set_difference) { return set_with(vm, BINARY_SUB, v[0], rest); }

NATIVE(set_symmetric_difference) {
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
NATIVE(set_issubset) { return py_bool(has_all(vm, as_set(vm, v[1]).dict, as_set(vm, v[0]).dict)); }
NATIVE(set_issuperset) {
    return py_bool(has_all(vm, as_set(vm, v[0]).dict, as_set(vm, v[1]).dict));
}
NATIVE(set_isdisjoint) {
    return py_bool(!vm_binary(vm, BINARY_AND, v[0], as_set(vm, v[1]), false).dict->n);
}

NATIVE(set_update) {
    for (uint32_t i = 0; i < rest->n; i++)
        dict_update(vm->arena, v[0].dict, as_set(vm, rest->at[i]).dict);
    return py_none;
}

NATIVE(set_fill) {
    if (GIVEN(1)) dict_update(vm->arena, v[0].dict, as_set(vm, v[1]).dict);
    return py_none;
}

static struct py set_become(struct vm *vm, struct py self, struct py now) {
    native_dict_clear(vm, &self, NULL);
    dict_update(vm->arena, self.dict, now.dict);
    return py_none;
}
NATIVE(set_intersection_update) {
    return set_become(vm, v[0], set_with(vm, BINARY_AND, v[0], rest));
}
NATIVE(set_difference_update) { return set_become(vm, v[0], set_with(vm, BINARY_SUB, v[0], rest)); }
NATIVE(set_symmetric_difference_update) {
    return set_become(vm, v[0], vm_binary(vm, BINARY_XOR, v[0], as_set(vm, v[1]), false));
}

/* Any of them, as Python says: the oldest. */
NATIVE(set_pop) {
    for (uint32_t i = 0; i < v[0].dict->entries.n; i++) {
        struct dict_entry e = v[0].dict->entries.at[i];
        if (!e.live) continue;
        dict_delete(vm->arena, v[0].dict, e.key);
        return e.key;
    }
    vm_raise_key(vm, py_str("pop from an empty set"));
}

/* -- numbers ------------------------------------------------------------------------------- */

NATIVE(int_bit_length) {
    int64_t i = v[0].i;
    uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    return py_int(u ? 64 - __builtin_clzll(u) : 0);
}

NATIVE(float_is_integer) { return py_bool(v[0].f == __builtin_floor(v[0].f)); }

/* What numpy.log(2) has, which is a plain number here. */
NATIVE(number_item) { return v[0]; }
static struct py of_numpy(struct vm *vm, const char *name, const struct py *v, uint32_t n) {
    struct py function = py_none;
    dict_gets(module_import(vm, "numpy")->dict, name, &function);
    return vm_call(vm, function, &(struct args){.at = v, .n = n});
}
NATIVE(number_astype) { return of_numpy(vm, "_astype", v, 2); }
NATIVE(number_round) { return of_numpy(vm, "round", v, GIVEN(1) ? 2 : 1); }

/* -- what operators call, for super().__getitem__(key) and the like ------------------------- */

NATIVE(container_len) { return py_int(vm_length(vm, v[0])); }
NATIVE(container_iter) { return vm_iter(vm, v[0]); }
NATIVE(container_contains) { return vm_compare(vm, COMPARE_IN, v[1], v[0]); }
NATIVE(container_getitem) { return vm_subscript(vm, v[0], v[1]); }
NATIVE(container_eq) { return vm_compare(vm, COMPARE_EQ, v[0], v[1]); }
NATIVE(container_repr) { return py_str(py_repr(vm, v[0])); }
NATIVE(container_setitem) {
    vm_subscript_set(vm, v[0], v[1], stored(vm, v[2]));
    return py_none;
}
NATIVE(container_delitem) {
    vm_subscript_delete(vm, v[0], v[1]);
    return py_none;
}

void methods_open(struct vm *vm) {
    static const struct {
        enum py_kind kind;
        enum native_place place;
    } all[] = {{PY_LIST, PLACE_LIST},        {PY_TUPLE, PLACE_TUPLE},
               {PY_DICT, PLACE_DICT},        {PY_SET, PLACE_SET},
               {PY_INT, PLACE_INT},          {PY_FLOAT, PLACE_FLOAT},
               {PY_STR, PLACE_STR},          {PY_GENERATOR, PLACE_GENERATOR},
               {PY_PROPERTY, PLACE_PROPERTY}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        natives_put(vm, vm->types[all[i].kind]->dict, all[i].place);
    struct py fromkeys = py_native(vm->arena, native_find(vm, PLACE_DICT_CLASS, "fromkeys"));
    dict_puts(vm->arena, vm->types[PY_DICT]->dict, "fromkeys",
              py_wrap(vm->arena, PY_STATICMETHOD, fromkeys)); /* needs no dict */
}
