/* iterate.c: for-loops over anything, lengths, indices and slices of Python's own containers.
 *
 * An iterator walks a list in place, so that a loop that appends to its list sees the new items, as
 * in Python. Everything else becomes a list or a range first. Items of something with a source get
 * theirs: "L['xs'][0]". */
#include <string.h>

#include "capture/vm.h"

/* -- iteration ----------------------------------------------------------------------------- */

static struct py keys_of(struct vm *vm, struct py d) {
    struct py keys = py_list(vm->arena, PY_LIST, NULL, 0);
    for (uint32_t i = 0; i < d.dict->entries.n; i++)
        if (d.dict->entries.at[i].live) vec_push(vm->arena, keys.list, d.dict->entries.at[i].key);
    return keys;
}

size_t str_bytes(struct vm *vm, const char *s) {
    size_t n = strlen(s);
    vm_work(vm, n / 16);
    return n;
}

int64_t str_length(const char *s, size_t bytes) {
    int64_t count = 0;
    for (size_t i = 0; i < bytes; i++) count += (s[i] & 0xc0) != 0x80;
    return count;
}

/* Where the character behind this one begins. */
static const char *str_next(const char *s) {
    do s++;
    while ((*s & 0xc0) == 0x80);
    return s;
}

/* A character of UTF-8 is one item. */
static struct py characters_of(struct vm *vm, const char *s) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    while (*s) {
        const char *next = str_next(s);
        vec_push(vm->arena, out.list, py_str(arena_strndup(vm->arena, s, (size_t)(next - s))));
        s = next;
    }
    return out;
}

static struct py rows_of(struct vm *vm, struct py t) {
    const struct meta *m = tensor_meta(vm, t);
    if (!m->rank) vm_raise(vm, EXC_TypeError, "iteration over a 0-d tensor");
    int64_t n = vm_index(vm, tensor_size(vm, m->size[0]), "a size");
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    for (int64_t i = 0; i < n; i++)
        vec_push(vm->arena, out.list, tensor_subscript(vm, t, py_int(i)));
    return out;
}

static struct py iter_over(struct vm *vm, struct py over) {
    struct iter *it = NEW(vm->arena, struct iter);
    it->over = over;
    return py_pointer(PY_ITER, it);
}

struct py vm_iter(struct vm *vm, struct py v) {
    struct py out;
    switch (v.kind) {
    case PY_ITER:
    case PY_GENERATOR: return v;
    case PY_LIST:
    case PY_TUPLE: guard_length(vm, v, v.list->n); return iter_over(vm, v);
    case PY_RANGE: return iter_over(vm, v);
    case PY_DICT:
    case PY_SET:
        if (!vm->trace) guard_length(vm, v, v.dict->n);
        return iter_over(vm, keys_of(vm, guard_contents(vm, v)));
    case PY_STR: return iter_over(vm, characters_of(vm, v.s));
    case PY_TENSOR: return iter_over(vm, rows_of(vm, v));
    default: break;
    }
    if (vm_call_special(vm, v, "__iter__", NULL, 0, &out))
        return out.kind == PY_INSTANCE ? iter_over(vm, out) : out;
    if (is_missing(v)) missing_refuse(vm, v);
    vm_raise(vm, EXC_TypeError, "'%s' object is not iterable", type_name(vm, v));
}

struct next_call {
    struct py object, item;
};

static bool call_next(struct vm *vm, void *ctx) {
    struct next_call *c = ctx;
    return vm_call_special(vm, c->object, "__next__", NULL, 0, &c->item);
}

/* o.__next__(), with StopIteration as the end. */
static bool next_of_object(struct vm *vm, struct py o, struct py *out) {
    struct next_call c = {.object = o};
    bool end, ok = vm_try(vm, EXC_StopIteration, call_next, &c, &end);
    if (!ok && !end)
        vm_raise(vm, EXC_TypeError, "'%s' object is not an iterator", type_name(vm, o));
    *out = c.item;
    return ok;
}

bool vm_next(struct vm *vm, struct py v, struct py *out) {
    if (v.kind == PY_GENERATOR) return generator_next(vm, v.generator, py_none, out);
    if (v.kind != PY_ITER)
        vm_raise(vm, EXC_TypeError, "'%s' object is not an iterator", type_name(vm, v));
    struct iter *it = v.iter;
    struct py over = it->over;
    vm_tick(vm);
    vm_need_own(vm, it, "an iterator");
    if (over.kind == PY_INSTANCE) return next_of_object(vm, over, out);
    if (over.kind == PY_RANGE) {
        if (it->i >= range_length(over.range)) return false;
        *out = py_int(over.range->start + (int64_t)it->i++ * over.range->step);
        return true;
    }
    if (it->i >= over.list->n) return false;
    *out = over.list->at[it->i];
    stamp_item(vm, out, over.source, it->i);
    it->i++;
    return true;
}

void vm_need_items(struct vm *vm, uint64_t n) {
    if (n > MAX_ITEMS) vm_raise(vm, EXC_MemoryError, "a list of more than %d items", MAX_ITEMS);
}

void vm_need_bytes(struct vm *vm, uint64_t n) {
    if (n > MAX_BYTES) vm_raise(vm, EXC_MemoryError, "a str of more than %d bytes", MAX_BYTES);
}

struct list *vm_list(struct vm *vm, struct py v) {
    struct list *l = NEW(vm->arena, struct list);
    struct py it = vm_iter(vm, v), item;
    while (vm_next(vm, it, &item)) {
        vm_need_items(vm, l->n + 1);
        vec_push(vm->arena, l, item);
    }
    return l;
}

int64_t vm_length(struct vm *vm, struct py v) {
    struct py out;
    switch (v.kind) {
    case PY_LIST:
    case PY_TUPLE: guard_length(vm, v, v.list->n); return v.list->n;
    case PY_DICT:
    case PY_SET: guard_length(vm, v, v.dict->n); return v.dict->n;
    case PY_STR: return str_length(v.s, str_bytes(vm, v.s));
    case PY_RANGE: return range_length(v.range);
    case PY_TENSOR:
        if (!tensor_meta(vm, v)->rank) vm_raise(vm, EXC_TypeError, "len() of a 0-d tensor");
        return vm_index(vm, tensor_size(vm, tensor_meta(vm, v)->size[0]), "a size");
    default: break;
    }
    if (vm_call_special(vm, v, "__len__", NULL, 0, &out)) return vm_index(vm, out, "__len__()");
    if (is_missing(v)) missing_refuse(vm, v);
    vm_raise(vm, EXC_TypeError, "object of type '%s' has no len()", type_name(vm, v));
}

/* -- subscripts ---------------------------------------------------------------------------- */

int64_t vm_index(struct vm *vm, struct py v, const char *what) {
    struct py out;
    if (v.kind == PY_INT) return v.i;
    if (v.kind == PY_BOOL) return v.b;
    if (v.kind == PY_SYMINT || v.kind == PY_SYMFLOAT) v = symint_fix(vm, v);
    if (v.kind == PY_INT) return v.i;
    v = tensor_value(vm, v);
    if (tensor_is_eager(vm, v) && !dtype_is_float(v.tensor->meta.dtype)) {
        out = eager_item(vm, v);
        return out.kind == PY_INT ? out.i : out.b;
    }
    if (v.kind == PY_TENSOR && !tensor_is_eager(vm, v))
        vm_break(vm, "use of a tensor as a number",
                 "keep numbers that shapes and loops need outside tensors");
    if (vm_call_special(vm, v, "__index__", NULL, 0, &out) && out.kind == PY_INT) return out.i;
    if (instance_base(vm, v, &out)) return vm_index(vm, out, what);
    vm_raise(vm, EXC_TypeError, "%s must be an integer, not '%s'", what, type_name(vm, v));
}

static int64_t slice_bound(struct vm *vm, struct py v, int64_t n, int64_t none, int64_t lo,
                           int64_t hi) {
    if (v.kind == PY_NONE) return none;
    int64_t i = vm_index(vm, v, "slice indices");
    if (i < 0) i += n;
    return i < lo ? lo : i > hi ? hi : i;
}

static struct range slice_range(struct vm *vm, const struct slice *s, int64_t n) {
    int64_t step = s->step.kind == PY_NONE ? 1 : vm_index(vm, s->step, "slice step");
    if (!step) vm_raise(vm, EXC_ValueError, "slice step cannot be zero");
    bool up = step > 0;
    int64_t start = slice_bound(vm, s->start, n, up ? 0 : n - 1, up ? 0 : -1, up ? n : n - 1);
    int64_t stop = slice_bound(vm, s->stop, n, up ? n : -1, up ? 0 : -1, up ? n : n - 1);
    return (struct range){start, stop, step};
}

void slice_bounds(struct vm *vm, const struct slice *s, int64_t n, int64_t *start, int64_t *step,
                  int64_t *count) {
    struct range r = slice_range(vm, s, n);
    *start = r.start;
    *step = r.step;
    *count = range_length(&r);
}

/* The same of a list or tuple, as long as it is once the program's own __index__ has been
 * called. */
static void list_bounds(struct vm *vm, const struct slice *s, const struct list *l, int64_t *start,
                        int64_t *step, int64_t *count) {
    const struct py *from[3] = {&s->start, &s->stop, &s->step};
    struct py at[3];
    for (int k = 0; k < 3; k++)
        at[k] =
            from[k]->kind == PY_NONE ? py_none : py_int(vm_index(vm, *from[k], "slice indices"));
    slice_bounds(vm, &(struct slice){at[0], at[1], at[2]}, l->n, start, step, count);
}

static uint32_t item_index(struct vm *vm, struct py o, struct py i, int64_t n) {
    i = symint_fix(vm, i);
    if (i.kind != PY_INT && i.kind != PY_BOOL && i.kind != PY_INSTANCE && i.kind != PY_TENSOR)
        vm_raise(vm, EXC_TypeError, "%s indices must be integers or slices, not %s",
                 type_name(vm, o), type_name(vm, i));
    int64_t k = vm_index(vm, i, "index");
    if (o.kind == PY_LIST || o.kind == PY_TUPLE) n = o.list->n; /* __index__ may have changed it */
    if (k < -n || k >= n)
        vm_raise(vm, EXC_IndexError, "%s index out of range",
                 o.kind == PY_STR ? "string" : type_name(vm, o));
    return (uint32_t)(k < 0 ? k + n : k);
}

static struct py list_subscript(struct vm *vm, struct py o, struct py i) {
    bool counts = i.kind != PY_INT || i.i < 0 || i.i >= o.list->n;
    if (vm->trace && counts) guard_length(vm, o, o.list->n);
    if (i.kind != PY_SLICE) {
        uint32_t k = item_index(vm, o, i, o.list->n);
        struct py v = o.list->at[k];
        stamp_item(vm, &v, o.source, k);
        return v;
    }
    int64_t start, step, count;
    list_bounds(vm, i.slice, o.list, &start, &step, &count);
    struct py out = py_list(vm->arena, o.kind, NULL, 0);
    out.list->is_size = o.list->is_size;
    for (int64_t k = 0; k < count; k++) {
        struct py v = o.list->at[start + k * step];
        stamp_item(vm, &v, o.source, start + k * step);
        vec_push(vm->arena, out.list, v);
    }
    return out;
}

/* Character k of a str of n in so many bytes, or its end. */
static const char *str_at(const char *s, size_t bytes, int64_t n, int64_t k) {
    if ((size_t)n == bytes) return s + k;
    while (k-- > 0) s = str_next(s);
    return s;
}

static struct py str_subscript(struct vm *vm, struct py o, struct py i) {
    size_t bytes = str_bytes(vm, o.s);
    int64_t n = str_length(o.s, bytes), start, step, count;
    if (i.kind != PY_SLICE) {
        const char *at = str_at(o.s, bytes, n, item_index(vm, o, i, n));
        return py_str(arena_strndup(vm->arena, at, (size_t)(str_next(at) - at)));
    }
    slice_bounds(vm, i.slice, n, &start, &step, &count);
    const char *from = str_at(o.s, bytes, n, count ? start : 0);
    if (step == 1)
        return py_str(arena_strndup(
            vm->arena, from,
            (size_t)(str_at(from, bytes - (size_t)(from - o.s), n - start, count) - from)));
    struct buf b = buf_new(vm->arena);
    struct py chars = (size_t)n == bytes ? py_unset : characters_of(vm, o.s);
    for (int64_t k = 0; k < count; k++)
        if ((size_t)n == bytes)
            buf_putc(&b, o.s[start + k * step]);
        else
            buf_puts(&b, chars.list->at[start + k * step].s);
    return py_str(b.p);
}

static struct py range_subscript(struct vm *vm, struct py o, struct py i) {
    const struct range *r = o.range;
    int64_t n = range_length(r);
    if (i.kind != PY_SLICE) return py_int(r->start + (int64_t)item_index(vm, o, i, n) * r->step);
    struct range s = slice_range(vm, i.slice, n);
    return py_range(vm->arena, r->start + s.start * r->step, r->start + s.stop * r->step,
                    s.step * r->step);
}

/* Has the program given its class an equality of its own? Then the place in memory is no key. */
static void need_identity(struct vm *vm, struct py key) {
    if (key.kind == PY_INSTANCE && key.instance->base.kind == PY_UNSET) guard_same(vm, key);
    struct py equal, hash;
    const struct class *c = key.kind == PY_INSTANCE ? key.instance->class : NULL;
    for (uint32_t i = 0; key.kind == PY_TUPLE && i < key.list->n; i++)
        need_identity(vm, key.list->at[i]);
    if (!c || !c->module || c->module->prelude || !class_find(c, "__eq__", &equal)) return;
    if (equal.kind != PY_FUNCTION) return;
    if (!class_find(c, "__hash__", &hash) || hash.kind == PY_NONE)
        vm_raise(vm, EXC_TypeError, "unhashable type: '%s'", c->name);
    vm_refuse(vm,
              "a key of class %s, which has an __eq__ of its own, is not supported; a tuple of its "
              "attributes is a key",
              c->name);
}

void vm_need_key(struct vm *vm, struct py key) {
    if (!dict_key_ok(key)) vm_raise(vm, EXC_TypeError, "unhashable type: '%s'", type_name(vm, key));
    need_identity(vm, key);
}

static struct py dict_subscript(struct vm *vm, struct py o, struct py i) {
    struct py v;
    i = py_plain(vm, i);
    vm_need_key(vm, i);
    if (!dict_get(vm->arena, o.dict, i, &v)) vm_raise_key(vm, i);
    stamp_key(vm, &v, o.source, i);
    return v;
}

/* Is o of a class derived from dict, whose own [] finds nothing there? */
static bool lacks_key(struct vm *vm, struct py o, struct py i) {
    struct py d, get;
    return instance_base(vm, o, &d) && d.kind == PY_DICT &&
           class_find(o.instance->class, "__getitem__", &get) && get.kind == PY_BUILTIN &&
           class_find(o.instance->class, "__missing__", &get) &&
           !vm_truth(vm, vm_compare(vm, COMPARE_IN, i, d));
}

struct py vm_subscript(struct vm *vm, struct py o, struct py i) {
    struct py out;
    switch (o.kind) {
    case PY_LIST:
    case PY_TUPLE: return list_subscript(vm, o, i);
    case PY_STR: return str_subscript(vm, o, i);
    case PY_RANGE: return range_subscript(vm, o, i);
    case PY_DICT: return dict_subscript(vm, o, i);
    case PY_TENSOR: return tensor_subscript(vm, o, index_of_arrays(vm, i));
    default: break;
    }
    if (lacks_key(vm, o, i) && vm_call_special(vm, o, "__missing__", &i, 1, &out)) return out;
    if (vm_call_special(vm, o, "__getitem__", &i, 1, &out)) return out;
    if (o.kind == PY_CLASS) return o; /* list[int], a type alias */
    vm_raise(vm, EXC_TypeError, "'%s' object is not subscriptable", type_name(vm, o));
}

/* The list without items start .. start+count, and more in their place. */
static void list_splice(struct vm *vm, struct list *l, int64_t start, int64_t count,
                        const struct list *more) {
    struct list out = {0};
    for (int64_t k = 0; k < start; k++) vec_push(vm->arena, &out, l->at[k]);
    for (uint32_t k = 0; more && k < more->n; k++) vec_push(vm->arena, &out, more->at[k]);
    for (int64_t k = start + count; k < l->n; k++) vec_push(vm->arena, &out, l->at[k]);
    *l = out;
}

/* l[a:b:2] = more, which has as many items; or del l[a:b:2] */
static void list_set_steps(struct vm *vm, struct list *l, int64_t start, int64_t step,
                           int64_t count, const struct list *more) {
    if (more && more->n != count)
        vm_raise(vm, EXC_ValueError,
                 "attempt to assign sequence of size %u to extended slice of size %lld", more->n,
                 (long long)count);
    for (int64_t k = 0; more && k < count; k++) l->at[start + k * step] = more->at[k];
    if (more || !count) return;
    int64_t first = step > 0 ? start : start + (count - 1) * step, gap = step > 0 ? step : -step;
    struct list out = {0};
    for (int64_t k = 0; k < l->n; k++) {
        bool goes = k >= first && (k - first) % gap == 0 && (k - first) / gap < count;
        if (!goes) vec_push(vm->arena, &out, l->at[k]);
    }
    *l = out;
}

/* What is assigned to a slice is made before its bounds are taken: making it may change the
 * list. */
static void list_set(struct vm *vm, struct py o, struct py i, const struct py *v) {
    int64_t start, step, count;
    if (i.kind != PY_SLICE) {
        start = item_index(vm, o, i, o.list->n);
        if (v)
            o.list->at[start] = *v;
        else
            list_splice(vm, o.list, start, 1, NULL);
        return;
    }
    const struct list *more = v ? vm_list(vm, *v) : NULL;
    list_bounds(vm, i.slice, o.list, &start, &step, &count);
    if (step != 1)
        list_set_steps(vm, o.list, start, step, count, more);
    else
        list_splice(vm, o.list, start, count, more);
}

void vm_subscript_set(struct vm *vm, struct py o, struct py i, struct py v) {
    struct py pair[2] = {i, v}, out;
    if (o.kind != PY_INSTANCE && o.kind != PY_TENSOR) vm_need_own(vm, o.p, "a container");
    if (o.kind == PY_LIST) {
        o.list->version++;
        list_set(vm, o, i, &v);
    } else if (o.kind == PY_DICT) {
        vm_need_key(vm, i);
        dict_put(vm->arena, o.dict, i, v);
    } else if (o.kind == PY_TENSOR) {
        tensor_subscript_set(vm, o, index_of_arrays(vm, i), v);
    } else if (!vm_call_special(vm, o, "__setitem__", pair, 2, &out)) {
        vm_raise(vm, EXC_TypeError, "'%s' object does not support item assignment",
                 type_name(vm, o));
    }
}

void vm_subscript_delete(struct vm *vm, struct py o, struct py i) {
    struct py out;
    if (o.kind != PY_INSTANCE && o.kind != PY_TENSOR) vm_need_own(vm, o.p, "a container");
    if (o.kind == PY_LIST) {
        o.list->version++;
        list_set(vm, o, i, NULL);
    } else if (o.kind == PY_DICT) {
        vm_need_key(vm, i);
        if (!dict_delete(vm->arena, o.dict, i)) vm_raise_key(vm, i);
    } else if (!vm_call_special(vm, o, "__delitem__", &i, 1, &out)) {
        vm_raise(vm, EXC_TypeError, "'%s' object doesn't support item deletion", type_name(vm, o));
    }
}
