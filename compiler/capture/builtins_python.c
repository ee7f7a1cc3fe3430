/* builtins_python.c: the functions and classes of Python that need no import, and module math.
 *
 * zip, map, filter, enumerate and reversed make their list at once. print formats what it is given,
 * so that a tensor in it is refused, and hands the text to whoever asked for it (capture.h): a
 * compiler has no output of the program's to give. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/vm.h"

static struct py list_of(struct vm *vm, const struct list *l) {
    return py_list(vm->arena, PY_LIST, l->at, l->n);
}

/* -- sequences ----------------------------------------------------------------------------- */

NATIVE(python_len) { return py_int(vm_length(vm, v[0])); }

NATIVE(python_range) {
    int64_t step = GIVEN(2) ? v[2].i : 1;
    if (!step) vm_raise(vm, EXC_ValueError, "range() arg 3 must not be zero");
    return GIVEN(1) ? py_range(vm->arena, v[0].i, v[1].i, step) : py_range(vm->arena, 0, v[0].i, 1);
}

NATIVE(python_slice) {
    struct slice *s = NEW(vm->arena, struct slice);
    *s = GIVEN(1) ? (struct slice){v[0], v[1], GIVEN(2) ? v[2] : py_none}
                  : (struct slice){py_none, v[0], py_none};
    return py_pointer(PY_SLICE, s);
}

NATIVE(python_iter) { return vm_iter(vm, v[0]); }

NATIVE(python_next) {
    struct py out;
    struct py it = v[0].kind == PY_ITER ? v[0] : vm_iter(vm, v[0]);
    if (vm_next(vm, it, &out)) return out;
    if (GIVEN(1)) return v[1];
    if (it.kind == PY_GENERATOR) generator_stop(vm, it.generator);
    vm_raise(vm, EXC_StopIteration, "%s", "");
}

/* Items that are made one by one, and not in a trace, which has no middle to stop in. */
static bool is_lazy(const struct vm *vm, struct py it) {
    bool object = it.kind == PY_ITER && it.iter->over.kind == PY_INSTANCE;
    return !vm->trace && (it.kind == PY_GENERATOR || object);
}

static bool any_lazy(const struct vm *vm, const struct py *its, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) any |= is_lazy(vm, its[i]);
    return any;
}

/* The same, of iterators, by the generator of that name in prelude/itertools.py. */
static struct py lazily(struct vm *vm, const char *name, const struct py *at, uint32_t n) {
    struct py f;
    if (!dict_gets(module_import(vm, "itertools")->dict, name, &f)) WS_BUG("no %s", name);
    return vm_call(vm, f, &(struct args){.at = at, .n = n});
}

NATIVE(python_enumerate) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0), it = vm_iter(vm, v[0]), item;
    int64_t i = GIVEN(1) ? v[1].i : 0;
    struct py both[2] = {it, py_int(i)};
    if (is_lazy(vm, it)) return lazily(vm, "_enumerate", both, 2);
    while (vm_next(vm, it, &item)) {
        struct py pair[2] = {py_int(i++), item};
        vec_push(vm->arena, out.list, py_list(vm->arena, PY_TUPLE, pair, 2));
    }
    return vm_iter(vm, out);
}

/* The next item of each iterator, up to the first that has none: which; n: all have one. */
static uint32_t next_of_all(struct vm *vm, const struct py *its, uint32_t n, struct py *row) {
    uint32_t i = 0;
    while (i < n && vm_next(vm, its[i], &row[i])) i++;
    return i;
}

static struct py *iters_of(struct vm *vm, const struct py *at, uint32_t n) {
    struct py *its = NEW_ARRAY(vm->arena, struct py, n);
    for (uint32_t i = 0; i < n; i++) its[i] = vm_iter(vm, at[i]);
    return its;
}

/* strict=True, and iterator `ended` was the first to end: have all? */
static void need_equal_ends(struct vm *vm, const struct py *its, uint32_t n, uint32_t ended) {
    struct py item;
    if (ended)
        vm_raise(vm, EXC_ValueError, "zip() argument %u is shorter than argument%s", ended + 1,
                 ended > 1 ? arena_printf(vm->arena, "s 1-%u", ended) : " 1");
    for (uint32_t i = 1; i < n; i++)
        if (vm_next(vm, its[i], &item))
            vm_raise(vm, EXC_ValueError, "zip() argument %u is longer than argument%s", i + 1,
                     i > 1 ? arena_printf(vm->arena, "s 1-%u", i) : " 1");
}

NATIVE(python_zip) {
    uint32_t n = rest->n;
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0), *its = iters_of(vm, rest->at, n);
    struct py *row = NEW_ARRAY(vm->arena, struct py, n);
    bool strict = GIVEN(0) && vm_truth(vm, v[0]);
    if (any_lazy(vm, its, n)) {
        if (strict) vm_refuse(vm, "zip(strict=True) of iterators is not supported");
        return lazily(vm, "_zip", its, n);
    }
    uint32_t ended = 0;
    while (n && (ended = next_of_all(vm, its, n, row)) == n)
        vec_push(vm->arena, out.list, py_list(vm->arena, PY_TUPLE, row, n));
    if (strict) need_equal_ends(vm, its, n, ended);
    return vm_iter(vm, out);
}

NATIVE(python_map) {
    uint32_t n = rest->n + 1;
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0), *row = NEW_ARRAY(vm->arena, struct py, n);
    row[0] = v[1];
    if (rest->n) memcpy(row + 1, rest->at, rest->n * sizeof *row);
    struct py *its = iters_of(vm, row, n);
    if (any_lazy(vm, its, n)) {
        struct py *all = NEW_ARRAY(vm->arena, struct py, n + 1);
        all[0] = v[0];
        memcpy(all + 1, its, n * sizeof *its);
        return lazily(vm, "_map", all, n + 1);
    }
    while (next_of_all(vm, its, n, row) == n) {
        struct py item = vm_call(vm, v[0], &(struct args){.at = row, .n = n});
        vec_push(vm->arena, out.list, item);
    }
    return vm_iter(vm, out);
}

NATIVE(python_filter) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0), it = vm_iter(vm, v[1]), item;
    struct py both[2] = {v[0], it};
    if (is_lazy(vm, it)) return lazily(vm, "_filter", both, 2);
    while (vm_next(vm, it, &item)) {
        struct py keep = v[0].kind == PY_NONE ? item : vm_call1(vm, v[0], item);
        if (vm_truth(vm, keep)) vec_push(vm->arena, out.list, item);
    }
    return vm_iter(vm, out);
}

static void reverse(struct list *l) {
    for (uint32_t i = 0; i < l->n / 2; i++) {
        struct py t = l->at[i];
        l->at[i] = l->at[l->n - 1 - i];
        l->at[l->n - 1 - i] = t;
    }
}

NATIVE(python_reversed) {
    struct py out = list_of(vm, vm_list(vm, v[0]));
    reverse(out.list);
    return vm_iter(vm, out);
}

/* Stable merge sort of l by keys. */
static void merge_sort(struct vm *vm, struct py *at, struct py *keys, uint32_t n, bool down) {
    if (n < 2) return;
    uint32_t half = n / 2, i = 0, j = half, k = 0;
    merge_sort(vm, at, keys, half, down);
    merge_sort(vm, at + half, keys + half, n - half, down);
    struct py *items = NEW_ARRAY(vm->arena, struct py, n),
              *order = NEW_ARRAY(vm->arena, struct py, n);
    while (i < half || j < n) {
        bool right =
            i == half ||
            (j < n && (down ? vm_less(vm, keys[i], keys[j]) : vm_less(vm, keys[j], keys[i])));
        uint32_t from = right ? j++ : i++;
        items[k] = at[from];
        order[k++] = keys[from];
    }
    memcpy(at, items, n * sizeof *at);
    memcpy(keys, order, n * sizeof *keys);
}

/* A copy is sorted: the program's functions may change the list meanwhile. */
static void sort(struct vm *vm, struct list *l, struct py key, struct py down) {
    bool by_key = key.kind != PY_UNSET && key.kind != PY_NONE;
    bool downwards = down.kind != PY_UNSET && vm_truth(vm, down);
    uint32_t n = l->n;
    const struct py *were = l->at;
    struct py *at = NEW_ARRAY(vm->arena, struct py, n), *keys = NEW_ARRAY(vm->arena, struct py, n);
    if (n) memcpy(at, l->at, n * sizeof *at);
    for (uint32_t i = 0; i < n; i++) keys[i] = by_key ? vm_call1(vm, key, at[i]) : at[i];
    merge_sort(vm, at, keys, n, downwards);
    if (l->n != n || l->at != were) vm_raise(vm, EXC_ValueError, "list modified during sort");
    l->at = at;
    l->cap = n;
}

NATIVE(python_sorted) {
    struct py out = list_of(vm, vm_list(vm, v[0]));
    sort(vm, out.list, v[1], v[2]);
    return out;
}

/* list.sort(self, key?, reverse?), here because sorted is. */
NATIVE(python_sort) {
    sort(vm, v[0].list, v[1], v[2]);
    return py_none;
}

/* -- folds --------------------------------------------------------------------------------- */

NATIVE(python_sum) {
    struct py total = GIVEN(1) ? v[1] : py_int(0), it = vm_iter(vm, v[0]), item;
    while (vm_next(vm, it, &item)) total = vm_binary(vm, BINARY_ADD, total, item, false);
    return total;
}

/* v: the key, and what there is for nothing. */
static struct py extreme(struct vm *vm, const struct py *v, const struct args *rest,
                         const char *name, bool largest) {
    struct py best = py_unset, best_key = py_unset;
    bool by_key = GIVEN(0) && v[0].kind != PY_NONE;
    if (!rest->n) vm_raise(vm, EXC_TypeError, "%s expected at least 1 argument, got 0", name);
    if (rest->n > 1 && GIVEN(1))
        vm_raise(vm, EXC_TypeError,
                 "Cannot specify a default for %s() with multiple positional arguments", name);
    struct py all = rest->n == 1 ? rest->at[0] : py_list(vm->arena, PY_TUPLE, rest->at, rest->n);
    struct py it = vm_iter(vm, all), item;
    while (vm_next(vm, it, &item)) {
        struct py k = by_key ? vm_call1(vm, v[0], item) : item;
        bool better = best.kind == PY_UNSET ||
                      (largest ? vm_less(vm, best_key, k) : vm_less(vm, k, best_key));
        if (better) best = item, best_key = k;
    }
    if (best.kind != PY_UNSET) return best;
    if (GIVEN(1)) return v[1];
    vm_raise(vm, EXC_ValueError, "%s() arg is an empty sequence", name);
}

NATIVE(python_min) { return extreme(vm, v, rest, "min", false); }
NATIVE(python_max) { return extreme(vm, v, rest, "max", true); }

NATIVE(python_any) {
    struct py it = vm_iter(vm, v[0]), item;
    while (vm_next(vm, it, &item))
        if (vm_truth(vm, item)) return py_true;
    return py_false;
}

NATIVE(python_all) {
    struct py it = vm_iter(vm, v[0]), item;
    while (vm_next(vm, it, &item))
        if (!vm_truth(vm, item)) return py_false;
    return py_true;
}

/* -- numbers ------------------------------------------------------------------------------- */

static double to_double(struct vm *vm, struct py x, const char *name) {
    struct py out;
    x = tensor_value(vm, x);
    if (py_is_number(x)) return py_number(x);
    if (tensor_is_eager(vm, x)) return py_number(eager_item(vm, x));
    if (x.kind == PY_TENSOR)
        vm_break(vm, "use of a tensor as a Python number", "compute with torch functions instead");
    if (vm_call_special(vm, x, "__float__", NULL, 0, &out) && out.kind == PY_FLOAT) return out.f;
    if (py_is_number(py_plain(vm, x))) return py_number(py_plain(vm, x));
    vm_raise(vm, EXC_TypeError, "%s must be a number, not '%s'", name, type_name(vm, x));
}

NATIVE(python_abs) {
    struct py out, x = py_plain(vm, v[0]);
    if (v[0].kind == PY_TENSOR) return tensor_call(vm, OP_ABS, v, 1);
    if (x.kind == PY_FLOAT) return py_float(fabs(x.f));
    if (vm_call_special(vm, v[0], "__abs__", NULL, 0, &out)) return out;
    int64_t i = vm_index(vm, v[0], "the argument of abs()");
    return i < 0 ? vm_unary(vm, UNARY_NEG, py_int(i)) : py_int(i);
}

/* To the nearest decimal with so many digits after the point, of the exact value. */
static double round_to(double f, int64_t digits) {
    char text[400];
    if (!isfinite(f) || digits > 323) return f;
    if (digits < -308) return copysign(0, f);
    if (digits >= 0) {
        snprintf(text, sizeof text, "%.*f", (int)digits, f);
        return f != 0 && fabs(f) > 1e22 ? f : strtod(text, NULL);
    }
    double scale = pow(10, (double)-digits);
    return rint(f / scale) * scale;
}

/* round(1250, -2): half to even. */
static struct py round_int(struct vm *vm, struct py v, int64_t digits) {
    int64_t i = v.kind == PY_BOOL ? v.b : v.i, unit = 1;
    if (digits >= 0) return py_int(i);
    for (; digits < 0 && unit < INT64_MAX / 100; digits++) unit *= 10;
    if (digits < 0) return py_int(0);
    int64_t rest = (i % unit + unit) % unit, low = i - rest;
    bool up = 2 * rest > unit || (2 * rest == unit && (low / unit) % 2);
    return py_int(up ? low + unit : low);
}

NATIVE(python_round) {
    struct py x = py_plain(vm, v[0]);
    if (x.kind == PY_TENSOR) return tensor_call(vm, OP_ROUND, &x, 1);
    double f = to_double(vm, x, "the argument of round()");
    if (GIVEN(1) && v[1].kind != PY_NONE) {
        int64_t digits = v[1].i;
        return x.kind == PY_FLOAT ? py_float(round_to(f, digits)) : round_int(vm, x, digits);
    }
    if (x.kind != PY_FLOAT) return py_int((int64_t)vm_index(vm, x, "round()"));
    if (!(fabs(f) < 0x1p62))
        vm_raise(vm, EXC_OverflowError, "cannot convert float %s to integer", py_repr(vm, x));
    return py_int((int64_t)rint(f));
}

static int64_t power_modulo(int64_t x, int64_t n, int64_t m) {
    __int128 result = 1 % m, square = x % m;
    for (; n; n >>= 1, square = square * square % m)
        if (n & 1) result = result * square % m;
    return (int64_t)(result && (result < 0) != (m < 0) ? result + m : result);
}

NATIVE(python_pow) {
    if (!GIVEN(2) || v[2].kind == PY_NONE) return vm_binary(vm, BINARY_POW, v[0], v[1], false);
    if (v[0].kind != PY_INT || v[1].kind != PY_INT || v[2].kind != PY_INT)
        vm_raise(vm, EXC_TypeError,
                 "pow() 3rd argument not allowed unless all arguments are integers");
    if (!v[2].i) vm_raise(vm, EXC_ValueError, "pow() 3rd argument cannot be 0");
    if (v[1].i < 0) vm_refuse(vm, "pow() with a negative exponent and a modulus is not supported");
    return py_int(power_modulo(v[0].i, v[1].i, v[2].i));
}

/* An int in another base, with its prefix. */
static struct py in_base(struct vm *vm, struct py v, const char *spec) {
    return py_str(py_format(vm, v, spec));
}
NATIVE(python_bin) { return in_base(vm, v[0], "#b"); }
NATIVE(python_oct) { return in_base(vm, v[0], "#o"); }
NATIVE(python_hex) { return in_base(vm, v[0], "#x"); }

NATIVE(python_divmod) {
    struct py pair[2] = {vm_binary(vm, BINARY_FLOORDIV, v[0], v[1], false),
                         vm_binary(vm, BINARY_MOD, v[0], v[1], false)};
    return py_list(vm->arena, PY_TUPLE, pair, 2);
}

/* A number as text, without the blanks around it and the underscores between its digits; NULL if an
 * underscore is elsewhere. */
static const char *tidy_number(struct arena *a, const char *s) {
    struct buf b = buf_new(a);
    while (isspace((unsigned char)*s)) s++;
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1])) n--;
    for (size_t i = 0; i < n; i++) {
        bool between = s[i] == '_' && i && isalnum((unsigned char)s[i - 1]) &&
                       isalnum((unsigned char)s[i + 1]);
        if (s[i] == '_' && !between) return NULL;
        if (s[i] != '_') buf_putc(&b, s[i]);
    }
    return b.n ? b.p : NULL;
}

static bool parse_whole(struct arena *a, const char *s, int base, int64_t *out) {
    char *end;
    errno = 0;
    s = tidy_number(a, s);
    if (!s || isspace((unsigned char)*s)) return false;
    *out = strtoll(s, &end, base);
    return end > s && !*end && !errno;
}

NATIVE(python_int) {
    int64_t i;
    if (!GIVEN(0)) return py_int(0);
    struct py x = tensor_value(vm, py_plain(vm, v[0]));
    if (x.kind == PY_STR) {
        int64_t base = GIVEN(1) ? v[1].i : 10;
        if (base && (base < 2 || base > 36))
            vm_raise(vm, EXC_ValueError, "int() base must be >= 2 and <= 36, or 0");
        if (!parse_whole(vm->arena, x.s, (int)base, &i))
            vm_raise(vm, EXC_ValueError, "invalid literal for int() with base %d: %s", (int)base,
                     py_repr(vm, x));
        return py_int(i);
    }
    if (tensor_is_eager(vm, x)) x = eager_item(vm, x);
    if (x.kind != PY_FLOAT) return py_int(vm_index(vm, x, "the argument of int()"));
    if (!(fabs(x.f) < 0x1p62))
        vm_raise(vm, EXC_OverflowError, "cannot convert float %s to integer", py_repr(vm, x));
    return py_int((int64_t)x.f);
}

NATIVE(python_float) {
    if (!GIVEN(0)) return py_float(0);
    if (v[0].kind != PY_STR) return py_float(to_double(vm, v[0], "the argument of float()"));
    char *end = "?";
    const char *text = tidy_number(vm->arena, v[0].s);
    double f = text && !strpbrk(text, "xXpP(") ? strtod(text, &end) : 0; /* no hexadecimal */
    if (*end)
        vm_raise(vm, EXC_ValueError, "could not convert string to float: %s", py_repr(vm, v[0]));
    return py_float(f);
}

NATIVE(python_bool) { return py_bool(GIVEN(0) && vm_truth(vm, v[0])); }

/* -- text ---------------------------------------------------------------------------------- */

NATIVE(python_str) { return py_str(GIVEN(0) ? py_text(vm, v[0]) : ""); }
NATIVE(python_repr) { return py_str(py_repr(vm, v[0])); }
NATIVE(python_format) { return py_str(py_format(vm, v[0], GIVEN(1) ? v[1].s : "")); }

/* print's sep= or end= */
static const char *print_option(struct py v, const char *dflt) {
    return v.kind == PY_STR ? v.s : dflt;
}

NATIVE(python_print) {
    const char *sep = print_option(v[0], " "), *end = print_option(v[1], "\n");
    if (vm->trace) vm_break(vm, "call of print()", "print outside the compiled function");
    struct buf b = buf_new(vm->arena);
    for (uint32_t i = 0; i < rest->n; i++) {
        if (i) buf_puts(&b, sep);
        buf_puts(&b, py_text(vm, rest->at[i]));
    }
    buf_puts(&b, end);
    struct py text = py_str(b.p), written;
    if (vm_call_special(vm, v[2], "write", &text, 1, &written)) return py_none;
    if (vm->options->print) vm->options->print(vm->options->print_ctx, b.p);
    return py_none;
}

NATIVE(python_exit) {
    struct py leave = attribute_get(vm, py_pointer(PY_MODULE, module_import(vm, "sys")), "exit");
    return GIVEN(0) ? vm_call1(vm, leave, v[0]) : vm_call0(vm, leave);
}

/* Nothing is running where what a workload calls get_inputs is a function in C. */
NATIVE(python_globals) {
    return py_pointer(PY_DICT, (vm->frame ? vm->frame->module : vm->main)->dict);
}

/* What the names of the calling function stand for now; in a module or a class, its names. */
NATIVE(python_locals) {
    const struct frame *f = vm->frame;
    if (!f) return native_python_globals(vm, v, rest);
    const struct code *c = f->code;
    if (f->names) return py_pointer(PY_DICT, f->names);
    struct py out = py_dict(vm->arena, PY_DICT);
    for (uint32_t i = 0; i < c->locals.n; i++)
        if (f->locals[i].kind != PY_UNSET)
            dict_puts(vm->arena, out.dict, c->locals.at[i], f->locals[i]);
    for (uint32_t i = 0; i < c->cells.n + c->frees.n; i++) {
        const char *name = i < c->cells.n ? c->cells.at[i] : c->frees.at[i - c->cells.n];
        if (f->cells[i] && f->cells[i]->v.kind != PY_UNSET)
            dict_puts(vm->arena, out.dict, name, f->cells[i]->v);
    }
    return out;
}

NATIVE(python_vars) {
    if (!GIVEN(0)) return native_python_locals(vm, v, rest);
    return attribute_get(vm, v[0], "__dict__");
}

static void add_names(struct vm *vm, struct dict *names, const struct dict *d) {
    for (uint32_t i = 0; i < d->entries.n; i++)
        if (d->entries.at[i].live) dict_put(vm->arena, names, d->entries.at[i].key, py_none);
}

/* The names of the object's and its classes' attributes, or of the module's, sorted. */
NATIVE(python_dir) {
    struct py names = py_dict(vm->arena, PY_SET);
    const struct class *c = NULL;
    if (!GIVEN(0)) {
        add_names(vm, names.dict, native_python_locals(vm, v, rest).dict);
    } else if (v[0].kind == PY_MODULE) {
        add_names(vm, names.dict, v[0].module->dict);
        module_operators(vm, v[0].module, names.dict);
    } else {
        if (v[0].kind == PY_INSTANCE) add_names(vm, names.dict, v[0].instance->dict);
        c = v[0].kind == PY_CLASS ? v[0].class : class_of(vm, v[0]);
    }
    for (uint32_t i = 0; c && i < c->n_mro; i++) add_names(vm, names.dict, c->mro[i]->dict);
    return vm_call1(vm, py_native(vm->arena, native_find(vm, PLACE_BUILTINS, "sorted")), names);
}

NATIVE(python_ord) {
    uint32_t code = 0;
    const char *s = v[0].s;
    int n = utf8_decode(s, s + strlen(s), &code);
    if (!n || s[n])
        vm_raise(vm, EXC_TypeError, "ord() expected a character, but string of length %lld found",
                 (long long)vm_length(vm, v[0]));
    return py_int(code);
}

NATIVE(python_chr) {
    int64_t i = v[0].i;
    if (i < 0 || i > 0x10ffff) vm_raise(vm, EXC_ValueError, "chr() arg not in range(0x110000)");
    if (!i || (i >= 0xd800 && i < 0xe000))
        vm_refuse(vm, "chr(%lld) is not supported: texts are of UTF-8, without zeros",
                  (long long)i);
    struct buf b = buf_new(vm->arena);
    utf8_put(&b, (uint32_t)i);
    return py_str(b.p);
}

/* -- containers ---------------------------------------------------------------------------- */

NATIVE(python_list) {
    return GIVEN(0) ? list_of(vm, vm_list(vm, v[0])) : py_list(vm->arena, PY_LIST, NULL, 0);
}

NATIVE(python_tuple) {
    if (!GIVEN(0)) return py_list(vm->arena, PY_TUPLE, NULL, 0);
    const struct list *l = vm_list(vm, v[0]);
    return py_list(vm->arena, PY_TUPLE, l->at, l->n);
}

static void put_key(struct vm *vm, struct dict *d, struct py key, struct py value) {
    vm_need_key(vm, key);
    dict_put(vm->arena, d, key, value);
}

NATIVE(python_set) {
    struct py s = py_dict(vm->arena, PY_SET), it = GIVEN(0) ? vm_iter(vm, v[0]) : py_unset, item;
    while (GIVEN(0) && vm_next(vm, it, &item)) put_key(vm, s.dict, item, py_none);
    return s;
}

NATIVE(python_dict) {
    struct py d = py_dict(vm->arena, PY_DICT), it, item;
    if (v[0].kind == PY_DICT) {
        dict_update(vm->arena, d.dict, guard_contents(vm, v[0]).dict);
    } else if (GIVEN(0) && vm_call_special(vm, v[0], "items", NULL, 0, &item)) {
        d = vm_call1(vm, py_pointer(PY_CLASS, vm->types[PY_DICT]), item);
    } else if (GIVEN(0)) {
        it = vm_iter(vm, v[0]);
        while (vm_next(vm, it, &item)) {
            const struct list *pair = vm_list(vm, item);
            if (pair->n != 2)
                vm_raise(vm, EXC_ValueError,
                         "dictionary update sequence element has length %u; 2 is required",
                         pair->n);
            put_key(vm, d.dict, pair->at[0], pair->at[1]);
        }
    }
    for (uint32_t i = 0; i < rest->n_named; i++)
        dict_puts(vm->arena, d.dict, rest->names[i], rest->named[i]);
    return d;
}

/* -- objects ------------------------------------------------------------------------------- */

NATIVE(python_isinstance) { return py_bool(is_instance(vm, v[0], v[1])); }

/* of: a class, or a tuple of these. */
static bool is_subclass(struct vm *vm, struct py c, struct py of) {
    bool any = false;
    struct py yes;
    vm_deep(vm);
    vm_work(vm, 1);
    if (c.kind != PY_CLASS) vm_raise(vm, EXC_TypeError, "issubclass() arg 1 must be a class");
    if (of.kind == PY_CLASS && class_is(c.class, of.class)) return true;
    if (vm_call_special(vm, of, "__subclasscheck__", &c, 1, &yes)) return vm_truth(vm, yes);
    if (of.kind == PY_CLASS) return false;
    if (of.kind != PY_TUPLE)
        vm_raise(vm, EXC_TypeError, "issubclass() arg 2 must be a class or a tuple of classes");
    for (uint32_t i = 0; !any && i < of.list->n; i++) any = is_subclass(vm, c, of.list->at[i]);
    return any;
}

NATIVE(python_issubclass) { return py_bool(is_subclass(vm, v[0], v[1])); }

/* type(name, bases, namespace): the class that a statement would make. */
static struct py class_of_parts(struct vm *vm, struct py name, const struct args *rest) {
    struct py b = rest->n == 2 ? rest->at[0] : py_unset, d = rest->n == 2 ? rest->at[1] : py_unset;
    if (name.kind != PY_STR || b.kind != PY_TUPLE || d.kind != PY_DICT)
        vm_raise(vm, EXC_TypeError,
                 "type() takes 1 argument, or a name, a tuple of bases and a dict");
    struct py *at = NEW_ARRAY(vm->arena, struct py, b.list->n + 1);
    at[0] = name;
    if (b.list->n) memcpy(at + 1, b.list->at, b.list->n * sizeof *at);
    struct args a = *rest;
    a.at = at;
    a.n = b.list->n + 1;
    return vm_make_class(vm, name.s, d.dict, &a);
}

NATIVE(python_type) {
    if (rest->n || rest->n_named) return class_of_parts(vm, v[0], rest);
    struct py c = py_pointer(PY_CLASS, class_of(vm, v[0]));
    if (v[0].kind == PY_INSTANCE) stamp_attribute(vm, &c, v[0].source, "__class__");
    return c;
}

struct attribute {
    struct py object, value;
    const char *name;
};

static bool find_attribute(struct vm *vm, void *ctx) {
    struct attribute *x = ctx;
    return attribute_find(vm, x->object, x->name, &x->value);
}

/* A property or __getattr__ may raise AttributeError: then there is none. */
static bool has_attribute(struct vm *vm, struct py o, struct py name, struct py *out) {
    struct attribute x = {.object = o, .name = name.s};
    bool raised, found = vm_try(vm, EXC_AttributeError, find_attribute, &x, &raised);
    *out = x.value;
    return found;
}

NATIVE(python_getattr) {
    struct py out;
    if (!GIVEN(2)) return attribute_get(vm, v[0], v[1].s);
    return has_attribute(vm, v[0], v[1], &out) ? out : v[2];
}

NATIVE(python_hasattr) {
    struct py out;
    return py_bool(has_attribute(vm, v[0], v[1], &out));
}

NATIVE(python_setattr) {
    struct py value = v[2];
    if (vm->tracing && !value.source) value.source = &place_traced;
    attribute_set(vm, v[0], v[1].s, value);
    return py_none;
}

NATIVE(python_delattr) {
    attribute_delete(vm, v[0], v[1].s);
    return py_none;
}

NATIVE(python_callable) {
    struct py call;
    bool yes = v[0].kind == PY_FUNCTION || v[0].kind == PY_METHOD || v[0].kind == PY_BUILTIN ||
               v[0].kind == PY_CLASS;
    return py_bool(
        yes || (v[0].kind == PY_INSTANCE && class_find(v[0].instance->class, "__call__", &call)));
}

/* Of what is equal only to itself: equal constants are kept apart or not as it happens, and no
 * program may depend on that. */
NATIVE(python_id) {
    if (py_is_constant(v[0]))
        vm_refuse(vm, "id() of a constant ('%s') is not supported", type_name(vm, v[0]));
    return py_int((int64_t)(intptr_t)v[0].p);
}

enum { HASH_BITS = 61 }; /* hashes of numbers are remainders modulo 2^61 - 1, as CPython's */

static int64_t hash_of_int(int64_t i) {
    const uint64_t modulus = ((uint64_t)1 << HASH_BITS) - 1;
    int64_t h = (int64_t)((i < 0 ? 0 - (uint64_t)i : (uint64_t)i) % modulus);
    if (i < 0) h = -h;
    return h == -1 ? -2 : h;
}

/* m * 2^e, 28 bits of m at a time. */
static int64_t hash_of_float(double f) {
    const uint64_t modulus = ((uint64_t)1 << HASH_BITS) - 1;
    uint64_t h = 0;
    int e;
    if (!isfinite(f)) return isnan(f) ? 0 : f > 0 ? 314159 : -314159;
    for (double m = fabs(frexp(f, &e)); m; e -= 28) {
        h = ((h << 28) & modulus) | h >> (HASH_BITS - 28);
        m *= 1 << 28;
        h += (uint64_t)m;
        m -= (double)(uint64_t)m;
        if (h >= modulus) h -= modulus;
    }
    e = e >= 0 ? e % HASH_BITS : HASH_BITS - 1 - (-1 - e) % HASH_BITS;
    h = ((h << e) & modulus) | h >> (HASH_BITS - e);
    int64_t signed_h = f < 0 ? -(int64_t)h : (int64_t)h;
    return signed_h == -1 ? -2 : signed_h;
}

static int64_t hash_of_text(const char *s) {
    uint64_t h = 14695981039346656037u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211u;
    return (int64_t)(h >> 1);
}

static int64_t hash_of(struct vm *vm, struct py v);

/* As CPython's: xxHash of the items' hashes. */
static int64_t hash_of_tuple(struct vm *vm, const struct list *items) {
    uint64_t h = 2870177450012600261u;
    for (uint32_t i = 0; i < items->n; i++) {
        h += (uint64_t)hash_of(vm, items->at[i]) * 14029467366897019727u;
        h = (h << 31 | h >> 33) * 11400714785074694791u;
    }
    h += items->n ^ (2870177450012600261u ^ 3527539u);
    return h == UINT64_MAX ? 1546275796 : (int64_t)h;
}

static int64_t hash_of(struct vm *vm, struct py v) {
    struct py own;
    vm_deep(vm);
    vm_work(vm, 1);
    if (vm_call_special(vm, v, "__hash__", NULL, 0, &own)) {
        if (own.kind != PY_INT)
            vm_raise(vm, EXC_TypeError, "__hash__ method should return an integer");
        return hash_of_int(own.i);
    }
    v = py_plain(vm, v);
    if (!dict_key_ok(v) || (v.kind == PY_INSTANCE && class_find(v.instance->class, "__eq__", &own)))
        vm_raise(vm, EXC_TypeError, "unhashable type: '%s'", type_name(vm, v));
    switch (v.kind) {
    case PY_BOOL: return v.b;
    case PY_INT: return hash_of_int(v.i);
    case PY_FLOAT: return hash_of_float(v.f);
    case PY_STR: return hash_of_text(v.s);
    case PY_TUPLE: return hash_of_tuple(vm, v.list);
    case PY_SYMINT:
    case PY_SYMFLOAT: vm_break(vm, "hash of a size", "hash what is known");
    default: return py_is_object(v) ? (int64_t)((uintptr_t)v.p >> 4) : (int64_t)v.kind;
    }
}
NATIVE(python_hash) { return py_int(hash_of(vm, guard_whole(vm, v[0]))); }

static struct py property_of(struct vm *vm, const struct py *parts) {
    struct py *w = NEW_ARRAY(vm->arena, struct py, N_PROPERTY);
    for (uint32_t i = 0; i < N_PROPERTY; i++) w[i] = parts[i].kind == PY_NONE ? py_unset : parts[i];
    return py_pointer(PY_PROPERTY, w);
}
NATIVE(python_property) { return property_of(vm, v); }

/* @size.setter: the property with a setter. */
static struct py property_with(struct vm *vm, struct py property, enum property_part i,
                               struct py f) {
    struct py parts[N_PROPERTY];
    memcpy(parts, property.wrapped, sizeof parts);
    parts[i] = f;
    return property_of(vm, parts);
}
NATIVE(python_getter) { return property_with(vm, v[0], PROPERTY_GET, v[1]); }
NATIVE(python_setter) { return property_with(vm, v[0], PROPERTY_SET, v[1]); }
NATIVE(python_deleter) { return property_with(vm, v[0], PROPERTY_DELETE, v[1]); }
/* -- the text of a program: inspect.getsource() ---------------------------------------------- */

/* A function of the module or class that stands in a file of the program's; NULL: there is none. */
static const struct function *written_in(const struct dict *d, const struct module *m) {
    for (uint32_t i = 0; i < d->entries.n; i++) {
        struct py v = d->entries.at[i].value;
        if (!d->entries.at[i].live) continue;
        if (v.kind == PY_STATICMETHOD || v.kind == PY_CLASSMETHOD || v.kind == PY_PROPERTY)
            v = *v.wrapped;
        if (v.kind == PY_FUNCTION && v.function->module == m) return v.function;
        const struct function *inside =
            v.kind == PY_CLASS && v.class->module == m ? written_in(v.class->dict, m) : NULL;
        if (inside) return inside;
    }
    return NULL;
}

/* The last line up to `line`, or of all for 0, that begins with `class NAME`; 0: none does. */
static uint32_t line_of_class(const char *text, const char *name, uint32_t line) {
    uint32_t at = 0, found = 0;
    size_t n = strlen(name);
    while (text && (!line || at < line)) {
        const char *s = text + strspn(text, " \t");
        at++;
        bool named = !strncmp(s, "class ", 6) && !strncmp(s + 6, name, n);
        if (named && s[6 + n] != '_' && !isalnum((unsigned char)s[6 + n])) found = at;
        text = strchr(text, '\n');
        if (text) text++;
    }
    return found;
}

/* Of a function, class or module the text of its file, and the line that it begins at; 0: all. */
NATIVE(python_source_of) {
    struct py x = v[0].kind == PY_METHOD ? v[0].method->function : v[0];
    const struct function *f = NULL;
    const struct source *source = NULL;
    if (x.kind == PY_FUNCTION) f = x.function;
    if (x.kind == PY_CLASS && x.class->module) f = written_in(x.class->dict, x.class->module);
    if (x.kind == PY_MODULE) f = written_in(x.module->dict, x.module);
    if (x.kind == PY_CLASS && !f && x.class->module)
        f = written_in(x.class->module->dict, x.class->module);
    if (f && !f->module->prelude) source = f->code->source;
    if (!source && x.kind == PY_MODULE && x.module->body) source = x.module->body->source;
    if (!source) vm_raise(vm, EXC_OSError, "could not get source code");
    uint32_t line = x.kind == PY_FUNCTION ? f->code->first_line : 0;
    if (x.kind == PY_CLASS) line = line_of_class(source->text, x.class->name, 0);
    struct py parts[] = {py_str(source->text), py_int(line)};
    return py_list(vm->arena, PY_TUPLE, parts, 2);
}

/* What a call of a module with hooks does (torch_nn.py); None: it has none. No guard asks. */
NATIVE(python_hooked_call) {
    struct py call;
    return v[0].kind == PY_INSTANCE && dict_gets(v[0].instance->dict, "_ws_call", &call) ? call
                                                                                         : py_none;
}

NATIVE(python_module) {
    struct module *m = NEW(vm->arena, struct module);
    *m = (struct module){.name = v[0].s, .dict = dict_new(vm->arena)};
    dict_puts(vm->arena, m->dict, "__name__", v[0]);
    dict_puts(vm->arena, m->dict, "__doc__", GIVEN(1) ? v[1] : py_none);
    return py_pointer(PY_MODULE, m);
}
NATIVE(python_staticmethod) { return py_wrap(vm->arena, PY_STATICMETHOD, v[0]); }
NATIVE(python_classmethod) { return py_wrap(vm->arena, PY_CLASSMETHOD, v[0]); }

/* super(): the class is in the cell __class__ of the running function, the object is its first
 * parameter. */
NATIVE(python_super) {
    const struct frame *f = vm->frame;
    struct super *s = NEW(vm->arena, struct super);
    if (GIVEN(1)) {
        *s = (struct super){v[0].class, v[1]};
        return py_pointer(PY_SUPER, s);
    }
    struct py class = py_unset;
    for (uint32_t i = 0; f && i < f->code->frees.n; i++)
        if (!strcmp(f->code->frees.at[i], "__class__")) class = f->cells[f->code->cells.n + i]->v;
    if (class.kind != PY_CLASS || !f->code->n_args)
        vm_raise(vm, EXC_RuntimeError, "super(): no arguments");
    *s = (struct super){class.class, f->locals[0]};
    return py_pointer(PY_SUPER, s);
}

/* -- exceptions ---------------------------------------------------------------------------- */

NATIVE(python_exception_init) {
    struct instance *e = v[0].instance;
    dict_puts(vm->arena, e->dict, "args", py_list(vm->arena, PY_TUPLE, rest->at, rest->n));
    if (class_is(e->class, vm->exceptions[EXC_SystemExit]))
        dict_puts(vm->arena, e->dict, "code", rest->n ? rest->at[0] : py_none);
    if (class_is(e->class, vm->exceptions[EXC_StopIteration]) && rest->n)
        dict_puts(vm->arena, e->dict, "value", rest->at[0]);
    return py_none;
}

NATIVE(python_with_traceback) { return v[0]; }

static void put_class(struct vm *vm, struct dict *d, struct class *c) {
    dict_puts(vm->arena, d, c->name, py_pointer(PY_CLASS, c));
}

static void exceptions_open(struct vm *vm) {
    struct class **x = vm->exceptions;
    x[EXC_BaseException] = class_new(vm->arena, "BaseException", vm->object);
    natives_put(vm, x[EXC_BaseException]->dict, PLACE_EXCEPTION);
#define EXCEPTION(name, base) x[EXC_##name] = class_new(vm->arena, #name, x[EXC_##base]);
    EXCEPTIONS(EXCEPTION)
#undef EXCEPTION
    for (int i = 0; i < EXC_COUNT; i++) put_class(vm, vm->builtins, x[i]);
    dict_puts(vm->arena, vm->builtins, "EnvironmentError", py_pointer(PY_CLASS, x[EXC_OSError]));
    dict_puts(vm->arena, vm->builtins, "IOError", py_pointer(PY_CLASS, x[EXC_OSError]));
    dict_puts(vm->arena, x[EXC_StopIteration]->dict, "value", py_none);
}

void builtins_open(struct vm *vm) {
    static const char *const names[] = {
#define KIND(id, name) name,
        PY_KINDS(KIND)
#undef KIND
    };
    struct dict *d = vm->builtins = dict_new(vm->arena);
    vm->object = class_new(vm->arena, "object", NULL);
    for (int k = 0; k < PY_KIND_COUNT; k++)
        vm->types[k] = k == PY_INSTANCE ? vm->object : class_new(vm->arena, names[k], vm->object);
    vm->types[PY_SYMINT] = vm->types[PY_INT];
    vm->types[PY_SYMFLOAT] = vm->types[PY_FLOAT];
    for (int k = 0; k < PY_KIND_COUNT; k++) vm->types[k]->sealed = k != PY_INSTANCE;
    for (int k = 0; k < PY_KIND_COUNT; k++) {
        struct class *c = vm->types[k];
        c->construct = native_find(vm, PLACE_TYPES, c->name);
        if (c->construct && k != PY_TENSOR && k != PY_MODULE) put_class(vm, d, c);
    }
    put_class(vm, d, vm->object);
    dict_puts(vm->arena, d, "frozenset", py_pointer(PY_CLASS, vm->types[PY_SET]));
    dict_puts(vm->arena, d, "__debug__", py_bool(true));
    dict_puts(vm->arena, d, "NotImplemented", py_not_implemented);
    dict_puts(vm->arena, d, "Ellipsis", py_ellipsis);
    natives_put(vm, d, PLACE_BUILTINS);
    exceptions_open(vm);
    methods_open(vm);
}
