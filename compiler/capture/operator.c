/* operator.c: arithmetic, as Python does it on numbers and containers; on tensors it makes nodes.
 *
 *   7 // -2 == -4    7 % -2 == -1    2 ** -1 == 0.5    "ab" * 2 == "abab"
 *
 * Integers are 64 bits wide; going past that is an OverflowError, never a wrong number. */
#include <math.h>
#include <string.h>

#include "capture/vm.h"

bool vm_truth(struct vm *vm, struct py v) {
    struct py out;
    switch (v.kind) {
    case PY_NONE: return false;
    case PY_BOOL: return v.b;
    case PY_INT: return v.i != 0;
    case PY_FLOAT: return v.f != 0;
    case PY_STR: return *v.s != 0;
    case PY_TUPLE:
    case PY_LIST:
    case PY_DICT:
    case PY_SET: return vm_length(vm, v) > 0;
    case PY_RANGE: return range_length(v.range) > 0;
    case PY_SYMINT:
        return symint_holds(vm, ex_compare(vm->ex, EX_NE, v.symbolic, ex_const(vm->ex, 0)));
    case PY_SYMFLOAT: return symint_fix(vm, v).f != 0;
    case PY_TENSOR:
        v = tensor_value(vm, v);
        if (tensor_is_eager(vm, v)) return vm_truth(vm, eager_truth(vm, v));
        vm_break(vm, "branch on the value of a tensor",
                 "torch.where(condition, a, b) chooses without leaving the graph");
    case PY_INSTANCE:
        if (vm_call_special(vm, v, "__bool__", NULL, 0, &out)) {
            if (out.kind == PY_BOOL) return out.b;
            vm_raise(vm, EXC_TypeError, "__bool__ should return bool, returned %s",
                     type_name(vm, out));
        }
        if (class_find(v.instance->class, "__len__", &out)) return vm_length(vm, v) != 0;
        return instance_base(vm, v, &out) ? vm_truth(vm, out) : true;
    case PY_CLASS:
        if (is_missing(v)) missing_refuse(vm, v);
        return true;
    default: return true;
    }
}

/* -- integers ------------------------------------------------------------------------------ */

static __attribute__((noreturn)) void overflow(struct vm *vm) {
    vm_raise(vm, EXC_OverflowError, "integers beyond 64 bits are not supported");
}

static struct py int_power(struct vm *vm, int64_t x, int64_t n) {
    if (n < 0) {
        if (!x) vm_raise(vm, EXC_ZeroDivisionError, "0.0 cannot be raised to a negative power");
        return py_float(pow((double)x, (double)n));
    }
    int64_t result = 1;
    for (;; n >>= 1) {
        if (n & 1 && __builtin_mul_overflow(result, x, &result)) overflow(vm);
        if (n <= 1) return py_int(result);
        if (__builtin_mul_overflow(x, x, &x)) overflow(vm);
    }
}

static struct py int_shift(struct vm *vm, int64_t x, int64_t n, bool left) {
    if (n < 0) vm_raise(vm, EXC_ValueError, "negative shift count");
    if (!left) return py_int(x >> (n > 63 ? 63 : n));
    int64_t shifted;
    if (!x) return py_int(0);
    if (n > 62 || __builtin_mul_overflow(x, (int64_t)1 << n, &shifted)) overflow(vm);
    return py_int(shifted);
}

static struct py int_divide(struct vm *vm, enum binary_operator op, int64_t x, int64_t y) {
    if (!y)
        vm_raise(vm, EXC_ZeroDivisionError,
                 op == BINARY_DIV   ? "division by zero"
                 : op == BINARY_MOD ? "integer modulo by zero"
                                    : "integer division or modulo by zero");
    if (op == BINARY_DIV) return py_float((double)x / (double)y);
    if (y == -1) {
        if (x == INT64_MIN) overflow(vm);
        return py_int(op == BINARY_MOD ? 0 : -x);
    }
    int64_t rest = x % y;
    bool down = rest && (rest < 0) != (y < 0);
    return py_int(op == BINARY_MOD ? rest + (down ? y : 0) : x / y - down);
}

static bool int_binary(struct vm *vm, enum binary_operator op, int64_t x, int64_t y,
                       struct py *out) {
    int64_t r = 0;
    bool lost = false;
    switch (op) {
    case BINARY_ADD: lost = __builtin_add_overflow(x, y, &r); break;
    case BINARY_SUB: lost = __builtin_sub_overflow(x, y, &r); break;
    case BINARY_MUL: lost = __builtin_mul_overflow(x, y, &r); break;
    case BINARY_AND: r = x & y; break;
    case BINARY_OR: r = x | y; break;
    case BINARY_XOR: r = x ^ y; break;
    case BINARY_DIV:
    case BINARY_FLOORDIV:
    case BINARY_MOD: return *out = int_divide(vm, op, x, y), true;
    case BINARY_POW: return *out = int_power(vm, x, y), true;
    case BINARY_LSHIFT:
    case BINARY_RSHIFT: return *out = int_shift(vm, x, y, op == BINARY_LSHIFT), true;
    case BINARY_MATMUL:
    case BINARY_COUNT: return false;
    }
    if (lost) overflow(vm);
    return *out = py_int(r), true;
}

/* -- floats -------------------------------------------------------------------------------- */

static double float_mod(double x, double y) {
    double m = fmod(x, y);
    if (m == 0) return copysign(0, y);
    return (m < 0) != (y < 0) ? m + y : m;
}

/* The quotient that goes with float_mod: 1.0 // 0.1 is 9. */
static double float_floor_div(double x, double y) {
    double div = (x - float_mod(x, y)) / y, whole = floor(div);
    if (div == 0) return copysign(0, x / y);
    return div - whole > 0.5 ? whole + 1 : whole;
}

static struct py float_power(struct vm *vm, double x, double y) {
    if (x == 0 && y < 0)
        vm_raise(vm, EXC_ZeroDivisionError, "0.0 cannot be raised to a negative power");
    if (x < 0 && y != floor(y)) vm_raise(vm, EXC_ValueError, "complex numbers are not supported");
    return py_float(pow(x, y));
}

static bool float_binary(struct vm *vm, enum binary_operator op, double x, double y,
                         struct py *out) {
    bool divides = op == BINARY_DIV || op == BINARY_FLOORDIV || op == BINARY_MOD;
    if (divides && y == 0)
        vm_raise(vm, EXC_ZeroDivisionError,
                 op == BINARY_DIV   ? "float division by zero"
                 : op == BINARY_MOD ? "float modulo"
                                    : "float floor division by zero");
    switch (op) {
    case BINARY_ADD: *out = py_float(x + y); return true;
    case BINARY_SUB: *out = py_float(x - y); return true;
    case BINARY_MUL: *out = py_float(x * y); return true;
    case BINARY_DIV: *out = py_float(x / y); return true;
    case BINARY_FLOORDIV: *out = py_float(float_floor_div(x, y)); return true;
    case BINARY_MOD: *out = py_float(float_mod(x, y)); return true;
    case BINARY_POW: *out = float_power(vm, x, y); return true;
    default: return false;
    }
}

static bool number_binary(struct vm *vm, enum binary_operator op, struct py x, struct py y,
                          struct py *out) {
    bool logic = op == BINARY_AND || op == BINARY_OR || op == BINARY_XOR;
    if (x.kind == PY_FLOAT || y.kind == PY_FLOAT)
        return float_binary(vm, op, py_number(x), py_number(y), out);
    int64_t i = x.kind == PY_INT ? x.i : x.b, j = y.kind == PY_INT ? y.i : y.b;
    if (!int_binary(vm, op, i, j, out)) return false;
    if (logic && x.kind == PY_BOOL && y.kind == PY_BOOL) *out = py_bool(out->i);
    return true;
}

/* -- containers ---------------------------------------------------------------------------- */

static void need_room(struct vm *vm, struct py x, uint64_t n) {
    if (x.kind == PY_STR)
        vm_need_bytes(vm, n);
    else
        vm_need_items(vm, n);
}

static struct py concatenate(struct vm *vm, struct py x, struct py y) {
    need_room(vm, x, x.kind == PY_STR ? strlen(x.s) + strlen(y.s) : (size_t)x.list->n + y.list->n);
    if (x.kind == PY_STR) {
        size_t n = strlen(x.s), more = strlen(y.s);
        char *text = arena_alloc(vm->arena, n + more + 1);
        memcpy(text, x.s, n);
        memcpy(text + n, y.s, more);
        return py_str(text);
    }
    struct py out = py_list(vm->arena, x.kind, NULL, 0);
    out.list->is_size = x.list->is_size || y.list->is_size;
    out.list->cap = out.list->n = x.list->n + y.list->n;
    out.list->at = NEW_ARRAY(vm->arena, struct py, out.list->n);
    if (x.list->n) memcpy(out.list->at, x.list->at, x.list->n * sizeof *x.list->at);
    if (y.list->n) memcpy(out.list->at + x.list->n, y.list->at, y.list->n * sizeof *y.list->at);
    return out;
}

static struct py repeat(struct vm *vm, struct py x, int64_t n) {
    size_t each = x.kind == PY_STR ? strlen(x.s) : x.list->n;
    if (n < 0) n = 0;
    if (each) need_room(vm, x, n > MAX_BYTES ? (uint64_t)n : (uint64_t)n * each);
    if (x.kind == PY_STR) {
        char *text = arena_alloc(vm->arena, each * (size_t)n + 1);
        for (int64_t i = 0; each && i < n; i++) memcpy(text + (size_t)i * each, x.s, each);
        return py_str(text);
    }
    struct py out = py_list(vm->arena, x.kind, NULL, 0);
    out.list->is_size = x.list->is_size;
    out.list->cap = out.list->n = (uint32_t)(each * (uint64_t)n);
    out.list->at = NEW_ARRAY(vm->arena, struct py, out.list->n);
    for (int64_t i = 0; each && i < n; i++)
        memcpy(out.list->at + (size_t)i * each, x.list->at, each * sizeof *x.list->at);
    return out;
}

/* Members of x that are (keep) or are not in y. */
static void set_filter(struct vm *vm, const struct dict *x, const struct dict *y, bool keep,
                       struct dict *out) {
    for (uint32_t i = 0; i < x->entries.n; i++) {
        struct dict_entry e = x->entries.at[i];
        struct py v;
        if (e.live && dict_get(vm->arena, y, e.key, &v) == keep)
            dict_put(vm->arena, out, e.key, py_none);
    }
}

static bool set_binary(struct vm *vm, enum binary_operator op, struct py x, struct py y,
                       struct py *out) {
    struct py s = py_dict(vm->arena, PY_SET);
    switch (op) {
    case BINARY_AND: set_filter(vm, x.dict, y.dict, true, s.dict); break;
    case BINARY_SUB: set_filter(vm, x.dict, y.dict, false, s.dict); break;
    case BINARY_OR:
        dict_update(vm->arena, s.dict, x.dict);
        dict_update(vm->arena, s.dict, y.dict);
        break;
    case BINARY_XOR:
        set_filter(vm, x.dict, y.dict, false, s.dict);
        set_filter(vm, y.dict, x.dict, false, s.dict);
        break;
    default: return false;
    }
    return *out = s, true;
}

/* d.keys() and d.items() are sets to &, |, - and ^. */
static bool is_key_view(struct py v) {
    return v.kind == PY_LIST && v.list->view && strcmp(v.list->view, "dict_values") != 0;
}

static struct py as_set(struct vm *vm, struct py v) {
    return v.kind == PY_LIST ? vm_call1(vm, py_pointer(PY_CLASS, vm->types[PY_SET]), v) : v;
}

static bool container_binary(struct vm *vm, enum binary_operator op, struct py x, struct py y,
                             struct py *out) {
    bool xs = py_is_sequence(x) || x.kind == PY_STR, ys = py_is_sequence(y) || y.kind == PY_STR;
    bool xi = x.kind == PY_INT || x.kind == PY_BOOL, yi = y.kind == PY_INT || y.kind == PY_BOOL;
    if (op == BINARY_ADD && xs && x.kind == y.kind) return *out = concatenate(vm, x, y), true;
    if (op == BINARY_MUL && xs && yi)
        return *out = repeat(vm, x, y.kind == PY_INT ? y.i : y.b), true;
    if (op == BINARY_MUL && ys && xi)
        return *out = repeat(vm, y, x.kind == PY_INT ? x.i : x.b), true;
    bool views = is_key_view(x) || is_key_view(y);
    if (views && op != BINARY_ADD && op != BINARY_MUL) x = as_set(vm, x), y = as_set(vm, y);
    if (x.kind == PY_SET && y.kind == PY_SET) return set_binary(vm, op, x, y, out);
    if (op == BINARY_OR && x.kind == PY_DICT && y.kind == PY_DICT) {
        *out = py_dict(vm->arena, PY_DICT);
        dict_update(vm->arena, out->dict, x.dict);
        dict_update(vm->arena, out->dict, y.dict);
        return true;
    }
    if (op == BINARY_MOD && x.kind == PY_STR) return *out = str_percent(vm, x.s, y), true;
    return false;
}

/* `x += y` on a list or a set changes x itself. */
static bool container_in_place(struct vm *vm, enum binary_operator op, struct py x, struct py y) {
    bool changes = (op == BINARY_ADD && x.kind == PY_LIST) ||
                   (op == BINARY_OR && (x.kind == PY_SET || x.kind == PY_DICT));
    if (changes) vm_need_own(vm, x.p, "a container");
    if (op == BINARY_ADD && x.kind == PY_LIST) {
        const struct list *items = vm_list(vm, y);
        x.list->version++;
        for (uint32_t i = 0; i < items->n; i++) vec_push(vm->arena, x.list, items->at[i]);
        return true;
    }
    if (op == BINARY_OR && x.kind == y.kind && (x.kind == PY_SET || x.kind == PY_DICT)) {
        dict_update(vm->arena, x.dict, guard_contents(vm, y).dict);
        return true;
    }
    return false;
}

/* -- any operands -------------------------------------------------------------------------- */

static bool method_binary(struct vm *vm, enum binary_operator op, struct py x, struct py y,
                          bool in_place, struct py *out) {
    const char *m = binary_method(op);
    struct arena *a = vm->arena;
    if (x.kind != PY_INSTANCE && y.kind != PY_INSTANCE) return false;
    if (in_place && vm_call_special(vm, x, arena_printf(a, "__i%s__", m), &y, 1, out) &&
        out->kind != PY_NOT_IMPLEMENTED)
        return true;
    if (vm_call_special(vm, x, arena_printf(a, "__%s__", m), &y, 1, out) &&
        out->kind != PY_NOT_IMPLEMENTED)
        return true;
    return vm_call_special(vm, y, arena_printf(a, "__r%s__", m), &x, 1, out) &&
           out->kind != PY_NOT_IMPLEMENTED;
}

/* int | None is the tuple of both, which isinstance() takes, too. */
static bool is_type(struct py v) {
    return v.kind == PY_CLASS || (v.kind == PY_TUPLE && v.list->n && is_type(v.list->at[0]));
}

static struct py type_union(struct vm *vm, struct py x, struct py y) {
    struct py all = py_list(vm->arena, PY_TUPLE, NULL, 0);
    const struct py sides[2] = {x, y};
    for (int i = 0; i < 2; i++) {
        bool many = sides[i].kind == PY_TUPLE;
        struct py none = py_pointer(PY_CLASS, vm->types[PY_NONE]);
        for (uint32_t k = 0; many && k < sides[i].list->n; k++)
            vec_push(vm->arena, all.list, sides[i].list->at[k]);
        if (!many) vec_push(vm->arena, all.list, sides[i].kind == PY_NONE ? none : sides[i]);
    }
    return all;
}

struct py vm_binary(struct vm *vm, enum binary_operator op, struct py x, struct py y,
                    bool in_place) {
    struct py out;
    if (symint_possible(vm) && x.kind != PY_TENSOR && y.kind != PY_TENSOR) {
        if (symint_binary(vm, op, x, y, &out)) return out;
        x = symint_fix(vm, x);
        y = symint_fix(vm, y);
    }
    if (py_is_number(x) && py_is_number(y)) {
        if (number_binary(vm, op, x, y, &out)) return out;
    } else if (x.kind == PY_STR && y.kind == PY_TENSOR && op == BINARY_MOD) {
        return str_percent(vm, x.s, y);
    } else if (x.kind == PY_TENSOR || y.kind == PY_TENSOR) {
        if (tensor_binary(vm, binary_sign(op), x, y, in_place, &out)) return out;
        if (op == BINARY_MUL && py_is_sequence(x) && !dtype_is_float(y.tensor->meta.dtype))
            return repeat(vm, x, vm_index(vm, y, "*"));
    } else {
        if (in_place && container_in_place(vm, op, x, y)) return x;
        if (container_binary(vm, op, guard_contents(vm, x), guard_contents(vm, y), &out))
            return out;
    }
    if (op == BINARY_OR && (is_type(x) || is_type(y))) return type_union(vm, x, y);
    if (method_binary(vm, op, x, y, in_place, &out)) return out;
    struct py plain_x = py_plain(vm, x), plain_y = py_plain(vm, y);
    if (plain_x.kind != x.kind || plain_y.kind != y.kind) {
        out = vm_binary(vm, op, plain_x, plain_y, in_place);
        return in_place && out.p == plain_x.p && !py_is_constant(out) ? x
                                                                      : out; /* changed itself */
    }
    bool joins = x.kind == PY_STR || x.kind == PY_LIST || x.kind == PY_TUPLE;
    if (op == BINARY_ADD && joins && y.kind != PY_TENSOR)
        vm_raise(vm, EXC_TypeError, "can only concatenate %s (not \"%s\") to %s", type_name(vm, x),
                 type_name(vm, y), type_name(vm, x));
    vm_raise(vm, EXC_TypeError, "unsupported operand type(s) for %s%s: '%s' and '%s'",
             binary_sign(op), in_place ? "=" : "", type_name(vm, x), type_name(vm, y));
}

static bool tensor_unary(struct vm *vm, enum unary_operator op, struct py x, struct py *out) {
    enum op node;
    if (op == UNARY_POS) return *out = x, true;
    if (op == UNARY_NEG) return *out = tensor_call(vm, OP_NEG, &x, 1), true;
    if (op != UNARY_INVERT || !op_find_python("op:~", &node)) return false;
    return *out = tensor_call(vm, node, &x, 1), true;
}

struct py vm_unary(struct vm *vm, enum unary_operator op, struct py x) {
    struct py out;
    if (op == UNARY_NEG && x.kind == PY_SYMINT && symint_binary(vm, BINARY_SUB, py_int(0), x, &out))
        return out;
    if (op != UNARY_NOT) x = symint_fix(vm, x);
    if (op == UNARY_NOT) return py_bool(!vm_truth(vm, x));
    if (x.kind == PY_TENSOR && tensor_unary(vm, op, x, &out)) return out;
    if (x.kind == PY_FLOAT && op != UNARY_INVERT) return py_float(op == UNARY_NEG ? -x.f : x.f);
    if (x.kind == PY_INT || x.kind == PY_BOOL) {
        int64_t i = x.kind == PY_INT ? x.i : x.b;
        if (op == UNARY_NEG && i == INT64_MIN) overflow(vm);
        return py_int(op == UNARY_NEG ? -i : op == UNARY_INVERT ? ~i : i);
    }
    const char *method = op == UNARY_NEG ? "__neg__" : op == UNARY_POS ? "__pos__" : "__invert__";
    if (vm_call_special(vm, x, method, NULL, 0, &out)) return out;
    if (instance_base(vm, x, &out)) return vm_unary(vm, op, out);
    vm_raise(vm, EXC_TypeError, "bad operand type for unary %s: '%s'", unary_sign(op),
             type_name(vm, x));
}
