/* compare.c: ==, <, is, in and their relatives. On tensors == and < make nodes; `is` and `in` do
 * not. */
#include <string.h>

#include "capture/vm.h"

/* Are they one object? Of two of a kind a trace depends on the answer. */
static bool identical(struct vm *vm, struct py x, struct py y) {
    if (x.kind == y.kind) {
        guard_same(vm, x);
        guard_same(vm, y);
        if (x.kind == PY_TENSOR && vm->trace) trace_compared(vm, x, y);
    }
    return py_same(x, y);
}

/* Items that are one object are equal, whatever their __eq__ says. */
static bool same_item(struct vm *vm, struct py x, struct py y) {
    return x.kind == PY_INSTANCE ? identical(vm, x, y) : py_same(x, y);
}

/* -- equality ------------------------------------------------------------------------------ */

static bool equal_lists(struct vm *vm, const struct list *x, const struct list *y) {
    if (x->n != y->n) return false;
    for (uint32_t i = 0; i < x->n && i < y->n; i++) /* what compares them may change them */
        if (!same_item(vm, x->at[i], y->at[i]) && !vm_equal(vm, x->at[i], y->at[i])) return false;
    return true;
}

/* Views of dicts are equal as sets are. */
static bool contains_all(struct vm *vm, struct py x, const struct list *items) {
    for (uint32_t i = 0; i < items->n; i++)
        if (!vm_truth(vm, vm_compare(vm, COMPARE_IN, items->at[i], x))) return false;
    return true;
}

static bool equal_dicts(struct vm *vm, const struct dict *x, const struct dict *y) {
    if (x->n != y->n) return false;
    for (uint32_t i = 0; i < x->entries.n; i++) {
        struct dict_entry e = x->entries.at[i];
        struct py v;
        if (e.live && (!dict_get(vm->arena, y, e.key, &v) || !vm_equal(vm, e.value, v)))
            return false;
    }
    return true;
}

static bool equal_numbers(struct py x, struct py y) {
    if (x.kind == PY_INT && y.kind == PY_INT) return x.i == y.i;
    return py_number(x) == py_number(y);
}

static bool equal_ranges(const struct range *x, const struct range *y) {
    int64_t n = range_length(x);
    return n == range_length(y) && (!n || (x->start == y->start && (n == 1 || x->step == y->step)));
}

static bool equal(struct vm *vm, struct py x, struct py y) {
    struct py out;
    bool same;
    if (symint_compare(vm, COMPARE_EQ, x, y, &same)) return same;
    if (py_is_number(x) || py_is_number(y)) x = symint_fix(vm, x), y = symint_fix(vm, y);
    if (x.kind == PY_TENSOR || y.kind == PY_TENSOR) {
        if (py_same(x, y)) return true;
        if (x.kind != y.kind && !py_is_number(x) && !py_is_number(y)) return false;
        if (vm->eager && !vm->tracing)
            return tensor_binary(vm, "==", x, y, false, &out) && vm_truth(vm, out);
        vm_break(vm, "comparison of a tensor's values",
                 "compare with torch.eq and choose with torch.where");
    }
    if (vm_call_special(vm, x, "__eq__", &y, 1, &out) && out.kind != PY_NOT_IMPLEMENTED)
        return vm_truth(vm, out);
    if (vm_call_special(vm, y, "__eq__", &x, 1, &out) && out.kind != PY_NOT_IMPLEMENTED)
        return vm_truth(vm, out);
    x = py_plain(vm, x);
    y = py_plain(vm, y);
    if (x.kind == PY_INSTANCE && y.kind == PY_INSTANCE) return identical(vm, x, y);
    if (py_same(x, y) && py_is_object(x)) return true;
    if (py_is_number(x) && py_is_number(y)) return equal_numbers(x, y);
    if (x.kind != y.kind) return false;
    if (x.kind == PY_STR) str_bytes(vm, x.s);
    x = guard_contents(vm, x);
    y = guard_contents(vm, y);
    if (x.kind == PY_LIST && x.list->view && y.list->view)
        return x.list->n == y.list->n && contains_all(vm, x, y.list);
    if (py_is_sequence(x)) return equal_lists(vm, x.list, y.list);
    if (x.kind == PY_DICT || x.kind == PY_SET) return equal_dicts(vm, x.dict, y.dict);
    if (x.kind == PY_RANGE) return equal_ranges(x.range, y.range);
    return py_same(x, y);
}

bool vm_equal(struct vm *vm, struct py x, struct py y) {
    vm_deep(vm);
    vm_work(vm, 1);
    return equal(vm, x, y);
}

/* -- order --------------------------------------------------------------------------------- */

static __attribute__((noreturn)) void no_order(struct vm *vm, enum compare_operator op, struct py x,
                                               struct py y) {
    vm_raise(vm, EXC_TypeError, "'%s' not supported between instances of '%s' and '%s'",
             compare_sign(op), type_name(vm, x), type_name(vm, y));
}

static bool by_sign(enum compare_operator op, int sign) {
    return op == COMPARE_LT   ? sign < 0
           : op == COMPARE_LE ? sign <= 0
           : op == COMPARE_GT ? sign > 0
                              : sign >= 0;
}

static bool order_numbers(enum compare_operator op, struct py x, struct py y) {
    if (x.kind == PY_INT && y.kind == PY_INT) return by_sign(op, (x.i > y.i) - (x.i < y.i));
    double a = py_number(x), b = py_number(y);
    if (a != a || b != b) return false;
    return by_sign(op, (a > b) - (a < b));
}

static bool order(struct vm *vm, enum compare_operator op, struct py x, struct py y);

static bool order_lists(struct vm *vm, enum compare_operator op, const struct list *x,
                        const struct list *y) {
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        if (vm_equal(vm, x->at[i], y->at[i])) continue;
        return order(vm, op, x->at[i], y->at[i]);
    }
    return by_sign(op, (x->n > y->n) - (x->n < y->n));
}

static bool is_subset(struct vm *vm, const struct dict *x, const struct dict *y) {
    for (uint32_t i = 0; i < x->entries.n; i++) {
        struct py v;
        if (x->entries.at[i].live && !dict_get(vm->arena, y, x->entries.at[i].key, &v))
            return false;
    }
    return true;
}

static bool order_sets(struct vm *vm, enum compare_operator op, const struct dict *x,
                       const struct dict *y) {
    if (op == COMPARE_GT || op == COMPARE_GE) {
        const struct dict *t = x;
        x = y, y = t;
    }
    return is_subset(vm, x, y) && (op == COMPARE_LE || op == COMPARE_GE || x->n < y->n);
}

static bool order_methods(struct vm *vm, enum compare_operator op, struct py x, struct py y,
                          struct py *out) {
    static const char *const name[] = {[COMPARE_LT] = "__lt__",
                                       [COMPARE_LE] = "__le__",
                                       [COMPARE_GT] = "__gt__",
                                       [COMPARE_GE] = "__ge__"};
    static const enum compare_operator mirror[] = {[COMPARE_LT] = COMPARE_GT,
                                                   [COMPARE_LE] = COMPARE_GE,
                                                   [COMPARE_GT] = COMPARE_LT,
                                                   [COMPARE_GE] = COMPARE_LE};
    if (vm_call_special(vm, x, name[op], &y, 1, out) && out->kind != PY_NOT_IMPLEMENTED)
        return true;
    return vm_call_special(vm, y, name[mirror[op]], &x, 1, out) && out->kind != PY_NOT_IMPLEMENTED;
}

static bool order(struct vm *vm, enum compare_operator op, struct py x, struct py y) {
    struct py out;
    bool holds;
    vm_deep(vm);
    vm_work(vm, 1);
    if (symint_compare(vm, op, x, y, &holds)) return holds;
    if (py_is_number(x) || py_is_number(y)) x = symint_fix(vm, x), y = symint_fix(vm, y);
    if (py_is_number(x) && py_is_number(y)) return order_numbers(op, x, y);
    if (order_methods(vm, op, x, y, &out)) return vm_truth(vm, out);
    x = py_plain(vm, x);
    y = py_plain(vm, y);
    if (py_is_number(x) && py_is_number(y)) return order_numbers(op, x, y);
    if (vm->eager && !vm->tracing && (x.kind == PY_TENSOR || y.kind == PY_TENSOR) &&
        tensor_binary(vm, compare_sign(op), x, y, false, &out))
        return vm_truth(vm, out);
    if (x.kind == PY_TENSOR || y.kind == PY_TENSOR)
        vm_break(vm, "order of a tensor's values",
                 "compare with torch.lt and choose with torch.where");
    if (x.kind != y.kind) no_order(vm, op, x, y);
    if (x.kind == PY_STR) str_bytes(vm, x.s);
    if (x.kind == PY_STR) return by_sign(op, strcmp(x.s, y.s));
    x = guard_contents(vm, x);
    y = guard_contents(vm, y);
    if (py_is_sequence(x)) return order_lists(vm, op, x.list, y.list);
    if (x.kind == PY_SET) return order_sets(vm, op, x.dict, y.dict);
    no_order(vm, op, x, y);
}

bool vm_less(struct vm *vm, struct py x, struct py y) { return order(vm, COMPARE_LT, x, y); }

/* -- membership ---------------------------------------------------------------------------- */

static bool contains(struct vm *vm, struct py o, struct py v) {
    struct py out;
    if (o.kind == PY_DICT || o.kind == PY_SET) v = py_plain(vm, v);
    if (o.kind == PY_DICT || o.kind == PY_SET) {
        vm_need_key(vm, v);
        bool has = dict_get(vm->arena, o.dict, v, &out);
        guard_has(vm, o, v, has);
        return has;
    }
    if (o.kind == PY_STR) {
        v = py_plain(vm, v);
        if (v.kind != PY_STR)
            vm_raise(vm, EXC_TypeError, "'in <string>' requires string as left operand, not %s",
                     type_name(vm, v));
        str_bytes(vm, o.s);
        return strstr(o.s, v.s) != NULL;
    }
    if (o.kind == PY_TENSOR && tensor_binary(vm, "==", o, v, false, &out))
        return vm_truth(vm, vm_call0(vm, attribute_get(vm, out, "any")));
    if (vm_call_special(vm, o, "__contains__", &v, 1, &out)) return vm_truth(vm, out);
    struct py it = vm_iter(vm, o), item;
    while (vm_next(vm, it, &item))
        if (same_item(vm, item, v) || vm_equal(vm, item, v)) return true;
    return false;
}

/* -- any comparison ------------------------------------------------------------------------ */

static struct py equality(struct vm *vm, enum compare_operator op, struct py x, struct py y) {
    struct py out;
    const char *method = op == COMPARE_EQ ? "__eq__" : "__ne__";
    bool tensor = x.kind == PY_TENSOR || y.kind == PY_TENSOR;
    if (tensor && tensor_binary(vm, compare_sign(op), x, y, false, &out)) return out;
    if (vm_call_special(vm, x, method, &y, 1, &out) && out.kind != PY_NOT_IMPLEMENTED) return out;
    if (vm_call_special(vm, y, method, &x, 1, &out) && out.kind != PY_NOT_IMPLEMENTED) return out;
    return py_bool(vm_equal(vm, x, y) == (op == COMPARE_EQ));
}

static struct py ordering(struct vm *vm, enum compare_operator op, struct py x, struct py y) {
    struct py out;
    bool tensor = x.kind == PY_TENSOR || y.kind == PY_TENSOR;
    if (tensor && tensor_binary(vm, compare_sign(op), x, y, false, &out)) return out;
    bool instance = x.kind == PY_INSTANCE || y.kind == PY_INSTANCE;
    if (instance && order_methods(vm, op, x, y, &out)) return out; /* anything, as it likes */
    return py_bool(order(vm, op, x, y));
}

struct py vm_compare(struct vm *vm, enum compare_operator op, struct py x, struct py y) {
    switch (op) {
    case COMPARE_EQ:
    case COMPARE_NE: return equality(vm, op, x, y);
    case COMPARE_LT:
    case COMPARE_LE:
    case COMPARE_GT:
    case COMPARE_GE: return ordering(vm, op, x, y);
    case COMPARE_IS: return py_bool(identical(vm, x, y));
    case COMPARE_IS_NOT: return py_bool(!identical(vm, x, y));
    case COMPARE_IN: return py_bool(contains(vm, y, x));
    case COMPARE_NOT_IN: return py_bool(!contains(vm, y, x));
    case COMPARE_COUNT: break;
    }
    WS_BUG("comparison %d", (int)op);
}
