/* guards.c: what must hold when the captured graph is called again, collected while forward reads
 * things.
 *
 *   L['x']: tensor f32 [4096, 4096] stride [4096, 1] requires_grad=False
 *   L['self'].eps == 1e-05
 *   G['dim'] == 4096
 *   len(L['self'].layers) == 3
 *   L['momentum'].item() == 0.1
 *
 * One guard for each fact, tensors first, then values in the order they were first read. */
#include "capture/vm.h"

static void add(struct vm *vm, struct guard g) {
    if (map_puts(&vm->guarded, g.text, 1)) vec_push(vm->arena, &vm->guards, g);
}

void guard_value(struct vm *vm, struct py v) {
    bool range = v.kind == PY_RANGE && vm->trace;
    if (!vm->tracing || !place_is_known(v.source) || !(py_is_constant(v) || range)) return;
    const char *how = v.kind == PY_NONE || v.kind == PY_BOOL ? "is" : "==";
    const char *text = arena_printf(vm->arena, "%s %s %s", v.source->text, how, py_repr(vm, v));
    add(vm, (struct guard){.kind = GUARD_VALUE, .place = v.source, .v = v, .text = text});
}

void guard_numbers(struct vm *vm, const char *source, struct py v) {
    bool one = v.list->n == 1;
    const char *text =
        arena_printf(vm->arena, "%s.%s == %s", source, one ? "item()" : "flatten().tolist()",
                     py_repr(vm, one ? v.list->at[0] : v));
    add(vm, (struct guard){.kind = GUARD_NUMBERS, .v = v, .text = text});
}

static void guard_type(struct vm *vm, struct py v) {
    struct class *c = class_of(vm, v);
    add(vm,
        (struct guard){.kind = GUARD_TYPE,
                       .place = v.source,
                       .v = py_pointer(PY_CLASS, c),
                       .text = arena_printf(vm->arena, "type(%s) is %s", v.source->text, c->name)});
}

static void guard_identity(struct vm *vm, struct py v) {
    const char *text = arena_printf(vm->arena, "%s is %s", v.source->text, py_repr(vm, v));
    add(vm, (struct guard){.kind = GUARD_IDENTITY, .place = v.source, .v = v, .text = text});
}

void guard_same(struct vm *vm, struct py v) {
    bool object =
        v.kind == PY_INSTANCE || py_is_sequence(v) || v.kind == PY_DICT || v.kind == PY_SET;
    if (vm->trace && object && place_is_known(v.source)) guard_identity(vm, v);
}

void guard_read(struct vm *vm, struct py v) {
    guard_value(vm, v);
    if (!vm->trace || !place_is_known(v.source)) return;
    switch (v.kind) {
    case PY_FUNCTION:
    case PY_BUILTIN:
    case PY_CLASS:
    case PY_METHOD:
    case PY_MODULE: guard_identity(vm, v); break;
    case PY_TUPLE:
    case PY_LIST:
    case PY_DICT:
    case PY_SET:
    case PY_SLICE:
    case PY_ITER:
    case PY_SYMFLOAT:
    case PY_INSTANCE: guard_type(vm, v); break;
    default: break; /* constants are done, tensors are guarded when they become inputs */
    }
}

void guard_length(struct vm *vm, struct py v, int64_t n) {
    if (!vm->tracing || !place_is_known(v.source)) return;
    const char *text = arena_printf(vm->arena, "len(%s) == %lld", v.source->text, (long long)n);
    add(vm, (struct guard){.kind = GUARD_LENGTH, .place = v.source, .n = n, .text = text});
}

static bool is_traced_container(const struct vm *vm, struct py v) {
    bool container = py_is_sequence(v) || v.kind == PY_DICT || v.kind == PY_SET;
    return vm->trace && container && place_is_known(v.source);
}

void guard_absent(struct vm *vm, struct py o, const char *name) {
    if (!vm->trace || !place_is_known(o.source)) return;
    const char *text = arena_printf(vm->arena, "not hasattr(%s, '%s')", o.source->text, name);
    add(vm, (struct guard){GUARD_ABSENT, .place = o.source, .v = py_str(name), .text = text});
}

void guard_has(struct vm *vm, struct py v, struct py key, bool has) {
    if (!is_traced_container(vm, v)) return;
    const char *text = arena_printf(vm->arena, "%s %s %s", py_repr(vm, key), has ? "in" : "not in",
                                    v.source->text);
    add(vm, (struct guard){GUARD_HAS, .place = v.source, .v = key, .n = has, .text = text});
}

static void guard_keys(struct vm *vm, struct py v) {
    struct py keys = py_list(vm->arena, PY_LIST, NULL, 0);
    for (uint32_t i = 0; i < v.dict->entries.n; i++)
        if (v.dict->entries.at[i].live) vec_push(vm->arena, keys.list, v.dict->entries.at[i].key);
    const char *text = arena_printf(vm->arena, "list(%s) == %s", v.source->text, py_repr(vm, keys));
    add(vm, (struct guard){GUARD_KEYS, .place = v.source, .v = keys, .text = text});
}

struct py guard_contents(struct vm *vm, struct py v) {
    if (!is_traced_container(vm, v)) return v;
    if (py_is_sequence(v)) {
        guard_length(vm, v, v.list->n);
        struct py out = py_list(vm->arena, v.kind, v.list->at, v.list->n);
        out.list->is_size = v.list->is_size;
        out.list->view = v.list->view;
        for (uint32_t i = 0; i < v.list->n; i++) stamp_item(vm, &out.list->at[i], v.source, i);
        return out;
    }
    guard_keys(vm, v);
    struct py out = py_dict(vm->arena, v.kind);
    for (uint32_t i = 0; i < v.dict->entries.n; i++) {
        struct dict_entry e = v.dict->entries.at[i];
        if (!e.live) continue;
        if (v.kind == PY_DICT) stamp_key(vm, &e.value, v.source, e.key);
        dict_put(vm->arena, out.dict, e.key, e.value);
    }
    return out;
}

static struct py guard_slice(struct vm *vm, struct py v) {
    static const char *const names[] = {"start", "stop", "step"};
    struct slice *out = NEW(vm->arena, struct slice);
    *out = *v.slice;
    struct py *const parts[] = {&out->start, &out->stop, &out->step};
    for (int i = 0; i < 3; i++) stamp_attribute(vm, parts[i], v.source, names[i]);
    return (struct py){.kind = PY_SLICE, .slice = out, .source = v.source};
}

struct py guard_whole(struct vm *vm, struct py v) {
    if (!vm->trace) return v;
    if (v.kind == PY_SLICE && place_is_known(v.source)) return guard_slice(vm, v);
    if (!py_is_sequence(v)) return v;
    bool deep = false;
    for (uint32_t i = 0; i < v.list->n; i++)
        deep |= py_is_sequence(v.list->at[i]) || v.list->at[i].kind == PY_SLICE;
    v = guard_contents(vm, v);
    if (!deep) return v;
    struct py out = py_list(vm->arena, v.kind, v.list->at, v.list->n);
    out.list->is_size = v.list->is_size;
    for (uint32_t i = 0; i < out.list->n; i++) out.list->at[i] = guard_whole(vm, out.list->at[i]);
    return out;
}

static void put_sizes(struct buf *b, const struct exprs *ex, const struct meta *m, bool strides) {
    buf_putc(b, '[');
    for (int i = 0; i < m->rank; i++) {
        if (i) buf_puts(b, ", ");
        ex_print(b, ex, strides ? m->stride[i] : m->size[i]);
    }
    buf_putc(b, ']');
}

const char *guards_text(struct vm *vm) {
    struct buf b = buf_new(vm->arena);
    const struct graph *g = vm->graph;
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        const struct graph_input *in = &g->inputs.at[i];
        const struct meta *m = &g->nodes.at[in->node].meta;
        buf_printf(&b, "%s: tensor %s ", in->source, dtype_name(m->dtype));
        put_sizes(&b, vm->ex, m, false);
        buf_puts(&b, " stride ");
        put_sizes(&b, vm->ex, m, true);
        buf_printf(&b, " requires_grad=%s\n", vm->input_grad.at[in->init] ? "True" : "False");
    }
    for (uint32_t i = 0; i < vm->guards.n; i++) buf_printf(&b, "%s\n", vm->guards.at[i].text);
    return b.p;
}

/* -- checking ------------------------------------------------------------------------------ */

static const char *mismatch(struct arena *a, const struct exprs *p, const char *source,
                            const char *what, int index, ex expected, ex actual) {
    return arena_printf(a, "%s: %s mismatch at index %d: expected %s, actual %s", source, what,
                        index, ex_str(a, p, expected), ex_str(a, p, actual));
}

const char *guard_check(struct arena *a, const struct exprs *ex, const char *source,
                        const struct meta *then, const struct meta *now) {
    if (then->dtype != now->dtype)
        return arena_printf(a, "%s: dtype mismatch: expected %s, actual %s", source,
                            dtype_name(then->dtype), dtype_name(now->dtype));
    if (then->rank != now->rank)
        return arena_printf(a, "%s: rank mismatch: expected %d, actual %d", source, then->rank,
                            now->rank);
    for (int i = 0; i < then->rank; i++)
        if (then->size[i] != now->size[i])
            return mismatch(a, ex, source, "size", i, then->size[i], now->size[i]);
    for (int i = 0; i < then->rank; i++)
        if (then->stride[i] != now->stride[i])
            return mismatch(a, ex, source, "stride", i, then->stride[i], now->stride[i]);
    return NULL;
}
