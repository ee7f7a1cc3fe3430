/* match.c: what the patterns of a match statement ask of an object (frontend/compile_match.c).
 * Each function gives a list of what the patterns inside look at, or None. */
#include <string.h>

#include "capture/vm.h"

/* Lists, tuples, ranges and what is derived from them; no text, though it has items. */
static bool is_sequence(struct vm *vm, struct py v) {
    v = py_plain(vm, v);
    return py_is_sequence(v) || v.kind == PY_RANGE;
}

static struct py item(struct vm *vm, struct py v, int64_t i) {
    return vm_subscript(vm, v, py_int(i));
}

/* (subject, n, star): n items; item star, if it is not negative, is a list of all that is left. */
NATIVE(match_sequence) {
    int64_t n = v[1].i, star = v[2].i;
    if (n < 0 || !is_sequence(vm, v[0])) return py_none;
    int64_t length = vm_length(vm, v[0]), others = length - (n - 1);
    if (star < 0 ? length != n : others < 0) return py_none;
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    for (int64_t i = 0; i < n; i++) {
        struct py part = py_list(vm->arena, PY_LIST, NULL, 0);
        for (int64_t k = 0; i == star && k < others; k++)
            vec_push(vm->arena, part.list, item(vm, v[0], i + k));
        int64_t at = star >= 0 && i > star ? i + others - 1 : i;
        vec_push(vm->arena, out.list, i == star ? part : item(vm, v[0], at));
    }
    return out;
}

/* (subject, keys): the values under them, and a dict of all else. */
NATIVE(match_mapping) {
    if (py_plain(vm, v[0]).kind != PY_DICT) return py_none;
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0), others = py_dict(vm->arena, PY_DICT);
    for (uint32_t i = 0; i < v[1].list->n; i++) {
        struct py key = v[1].list->at[i];
        if (!vm_truth(vm, vm_compare(vm, COMPARE_IN, key, v[0]))) return py_none;
        vec_push(vm->arena, out.list, vm_subscript(vm, v[0], key));
    }
    dict_update(vm->arena, others.dict, guard_contents(vm, py_plain(vm, v[0])).dict);
    for (uint32_t i = 0; i < v[1].list->n; i++)
        dict_delete(vm->arena, others.dict, v[1].list->at[i]);
    vec_push(vm->arena, out.list, others);
    return out;
}

/* int(x), str(x) ...: x is the object itself */
static bool matches_itself(const struct vm *vm, const struct class *c) {
    static const enum py_kind kinds[] = {PY_BOOL, PY_INT,   PY_FLOAT, PY_STR,
                                         PY_LIST, PY_TUPLE, PY_DICT,  PY_SET};
    const struct class *known = c->built_in ? c->built_in : c;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (known == vm->types[kinds[i]]) return true;
    return false;
}

static void push_attribute(struct vm *vm, struct list *out, struct py o, struct py name, bool *ok) {
    struct py value = py_unset;
    if (name.kind != PY_STR) vm_raise(vm, EXC_TypeError, "__match_args__ elements must be strings");
    if (*ok) *ok = attribute_find(vm, o, name.s, &value);
    vec_push(vm->arena, out, value);
}

/* (subject, class, n, names): n attributes that __match_args__ says, and those of the names. */
NATIVE(match_class) {
    int64_t n = v[2].i;
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0), known;
    bool ok = true;
    if (v[1].kind != PY_CLASS) vm_raise(vm, EXC_TypeError, "called match pattern must be a class");
    if (!is_instance(vm, v[0], v[1])) return py_none;
    if (!class_find(v[1].class, "__match_args__", &known))
        known = py_list(vm->arena, PY_TUPLE, NULL, 0);
    if (known.kind != PY_TUPLE)
        vm_raise(vm, EXC_TypeError, "%s.__match_args__ must be a tuple (got %s)", v[1].class->name,
                 type_name(vm, known));
    bool itself = n == 1 && !known.list->n && matches_itself(vm, v[1].class);
    if (itself) vec_push(vm->arena, out.list, v[0]);
    if (!itself && n > known.list->n)
        vm_raise(vm, EXC_TypeError, "%s() accepts %u positional sub-pattern%s (%lld given)",
                 v[1].class->name, known.list->n, known.list->n == 1 ? "" : "s", (long long)n);
    for (int64_t i = 0; !itself && i < n; i++)
        push_attribute(vm, out.list, v[0], known.list->at[i], &ok);
    for (uint32_t i = 0; i < v[3].list->n; i++)
        push_attribute(vm, out.list, v[0], v[3].list->at[i], &ok);
    return ok ? out : py_none;
}
