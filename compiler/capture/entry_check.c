/* entry_check.c: do the guards of an entry hold for a frame?
 *
 * Every place is fetched once, bases before what lies in them; then constants, types, lengths and
 * identities are compared, then tensors, which bind the symbolic sizes, then what relates those. */
#include <stdlib.h>

#include "capture/dynamo.h"

/* -- places -------------------------------------------------------------------------------- */

uint32_t place_slot(const struct entry *e, const struct place *p) {
    for (uint32_t i = 0; i < e->n_places; i++)
        if (e->places[i] == p || !strcmp(e->places[i]->path, p->path)) return i;
    WS_BUG("place %s is not among those of its entry", p->text);
}

static bool fetch_attribute(struct vm *vm, struct py base, const char *name, struct py *out) {
    if (base.kind == PY_INSTANCE) {
        if (!strcmp(name, BASE_NAME)) return *out = base.instance->base, true;
        if (dict_gets(base.instance->dict, name, out)) return true;
        if (!strcmp(name, "__dict__")) return *out = py_pointer(PY_DICT, base.instance->dict), true;
        if (!strcmp(name, "__class__"))
            return *out = py_pointer(PY_CLASS, base.instance->class), true;
        return class_find(base.instance->class, name, out);
    }
    if (base.kind == PY_MODULE) return module_find(vm, base.module, name, out);
    return attribute_find(vm, base, name, out);
}

static bool fetch_cell(struct py function, uint32_t index, struct py *out) {
    if (function.kind == PY_METHOD) function = function.method->function;
    if (function.kind != PY_FUNCTION) return false;
    uint32_t own = function.function->code->cells.n;
    if (index < own || index - own >= function.function->code->frees.n) return false;
    *out = function.function->closure[index - own]->v;
    return true;
}

/* A place, given what its base holds. */
static bool fetch(struct vm *vm, const struct frame *f, const struct place *p, struct py base,
                  struct py *out) {
    switch (p->kind) {
    case PLACE_LOCAL: return *out = f->locals[p->index], true;
    case PLACE_STACK: return *out = f->stack[p->index], true;
    case PLACE_CELL:
        if (p->base) return fetch_cell(base, (uint32_t)p->index, out);
        return *out = f->cells[p->index]->v, true;
    case PLACE_GLOBAL: return dict_gets(p->module->dict, p->name, out);
    case PLACE_ATTR: return fetch_attribute(vm, base, p->name, out);
    case PLACE_ITEM:
        if (!py_is_sequence(base) || p->index >= base.list->n) return false;
        return *out = base.list->at[p->index], true;
    case PLACE_KEY: return base.kind == PY_DICT && dict_get(vm->arena, base.dict, *p->key, out);
    case PLACE_OVER:
        if (base.kind != PY_ITER) return false;
        return *out = base.iter->over, true;
    case PLACE_NONE: break;
    }
    return false;
}

/* -- comparing ----------------------------------------------------------------------------- */

static bool same_constant(struct py x, struct py y) {
    if (x.kind != y.kind) return false;
    switch (x.kind) {
    case PY_NONE: return true;
    case PY_BOOL: return x.b == y.b;
    case PY_INT: return x.i == y.i;
    case PY_FLOAT: return !memcmp(&x.f, &y.f, sizeof x.f);
    case PY_STR: return x.s == y.s || !strcmp(x.s, y.s);
    case PY_DTYPE: return x.dtype == y.dtype;
    case PY_RANGE:
        return x.range->start == y.range->start && x.range->stop == y.range->stop &&
               x.range->step == y.range->step;
    default: return false;
    }
}

static bool same_defaults(const struct function *x, const struct function *y) {
    uint32_t n = x->defaults ? x->defaults->n : 0, m = x->kwdefaults ? x->kwdefaults->entries.n : 0;
    for (uint32_t i = 0; i < n; i++)
        if (!py_same(x->defaults->at[i], y->defaults->at[i])) return false;
    for (uint32_t i = 0; i < m; i++)
        if (!py_same(x->kwdefaults->entries.at[i].value, y->kwdefaults->entries.at[i].value))
            return false;
    return true;
}

/* A function made again by the same `def` is the same function, if its defaults are; what it closes
 * over has guards of its own. */
static bool same_object(struct py x, struct py y) {
    if (x.kind != y.kind) return false;
    if (x.kind == PY_FUNCTION)
        return x.function == y.function ||
               (x.function->code == y.function->code && same_defaults(x.function, y.function));
    if (x.kind == PY_METHOD)
        return same_object(x.method->function, y.method->function) &&
               x.method->self.kind == y.method->self.kind && x.method->self.p == y.method->self.p;
    return x.p == y.p;
}

static int64_t length_of(struct py v) {
    if (py_is_sequence(v)) return v.list->n;
    if (v.kind == PY_DICT || v.kind == PY_SET) return v.dict->n;
    if (v.kind == PY_ITER) return v.iter->i;
    return -1;
}

static bool has_key(const struct vm *vm, struct py v, struct py key) {
    struct py unused;
    return (v.kind == PY_DICT || v.kind == PY_SET) && dict_get(vm->arena, v.dict, key, &unused);
}

static bool same_keys(struct py v, const struct list *keys) {
    if ((v.kind != PY_DICT && v.kind != PY_SET) || v.dict->n != keys->n) return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < v.dict->entries.n; i++) {
        const struct dict_entry *e = &v.dict->entries.at[i];
        if (e->live && !py_same(e->key, keys->at[n++])) return false;
    }
    return true;
}

static bool has_attribute(struct py o, struct py name) {
    struct py unused;
    return dict_gets(o.instance->dict, name.s, &unused) ||
           class_find(o.instance->class, name.s, &unused);
}

static bool guard_holds(const struct vm *vm, const struct guard *g, struct py v) {
    switch (g->kind) {
    case GUARD_VALUE: return same_constant(g->v, v);
    case GUARD_LENGTH: return length_of(v) == g->n;
    case GUARD_KEYS: return same_keys(v, g->v.list);
    case GUARD_ABSENT: return v.kind == PY_INSTANCE && !has_attribute(v, g->v);
    case GUARD_HAS: return has_key(vm, v, g->v) == (bool)g->n;
    case GUARD_TYPE: return v.kind != PY_UNSET && class_of(vm, v) == g->v.class;
    case GUARD_IDENTITY: return same_object(g->v, v);
    case GUARD_NUMBERS: break; /* a script's tensors have no values while they are traced */
    }
    return false;
}

static const char *guard_failure(struct vm *vm, const struct guard *g, struct py v) {
    const char *source = g->place->text;
    switch (g->kind) {
    case GUARD_VALUE:
        return arena_printf(vm->arena, "%s: expected %s, actual %s", source, py_repr(vm, g->v),
                            py_repr(vm, v));
    case GUARD_LENGTH:
        return arena_printf(vm->arena, "len(%s): expected %lld, actual %lld", source,
                            (long long)g->n, (long long)length_of(v));
    case GUARD_ABSENT: return arena_printf(vm->arena, "%s has .%s now", source, g->v.s);
    case GUARD_KEYS:
    case GUARD_HAS: return arena_printf(vm->arena, "%s has other keys", source);
    case GUARD_TYPE:
        return arena_printf(vm->arena, "type(%s): expected %s, actual %s", source, g->v.class->name,
                            type_name(vm, v));
    case GUARD_IDENTITY: return arena_printf(vm->arena, "%s is another object", source);
    case GUARD_NUMBERS: return arena_printf(vm->arena, "%s has another value", source);
    }
    return "";
}

/* -- tensors ------------------------------------------------------------------------------- */

static int64_t symbol_value(void *ctx, ex sym) {
    const struct entry *e = ctx;
    for (uint32_t i = 0; i < e->n_symbols; i++)
        if (e->symbols[i].ex == sym) return e->symbol_values[i];
    WS_BUG("a symbol that no guard binds");
}

int64_t entry_number(const struct entry *e, ex x) {
    int64_t n;
    return ex_is_const(e->ex, x, &n) ? n : ex_eval(e->ex, x, symbol_value, (void *)e);
}

static const char *bind_symbols(struct vm *vm, struct entry *e, bool want_text) {
    for (uint32_t i = 0; i < e->n_symbols; i++) {
        const struct symbol *s = &e->symbols[i];
        struct py v = e->values[s->slot];
        if (s->place) {
            if (v.kind != PY_INT)
                return want_text ? arena_printf(vm->arena, "type(%s): expected int, actual %s",
                                                s->place->text, type_name(vm, v))
                                 : "";
            e->symbol_values[i] = v.i;
        } else {
            if (v.kind != PY_TENSOR || v.tensor->meta.rank <= s->dim) return "rank mismatch";
            e->symbol_values[i] = eager_size(vm, v.tensor, s->dim);
        }
        int64_t lo = ex_symbol(e->ex, s->ex)->lo;
        if (e->symbol_values[i] < lo)
            return want_text ? arena_printf(vm->arena, "%s >= %lld, actual %lld",
                                            ex_str(vm->arena, e->ex, s->ex), (long long)lo,
                                            (long long)e->symbol_values[i])
                             : "";
    }
    return NULL;
}

static const char *size_failure(struct vm *vm, const struct tensor_guard *g, const char *what,
                                int dim, int64_t want, int64_t have) {
    return arena_printf(vm->arena, "%s: %s mismatch at index %d: expected %lld, actual %lld",
                        g->place->text, what, dim, (long long)want, (long long)have);
}

static const char *tensor_failure(struct vm *vm, const struct entry *e,
                                  const struct tensor_guard *g, struct py v, bool want_text) {
    if (!g->tensor && v.kind == PY_FLOAT) return NULL;
    if (!g->tensor || v.kind != PY_TENSOR || v.tensor->graph)
        return want_text ? arena_printf(vm->arena, "type(%s): expected Tensor, actual %s",
                                        g->place->text, type_name(vm, v))
                         : "";
    const struct tensor *t = v.tensor;
    if (t->meta.dtype != g->meta.dtype || t->meta.rank != g->meta.rank ||
        t->requires_grad != g->requires_grad || t->kind != g->tensor->kind) {
        if (!want_text) return "";
        if (t->meta.dtype != g->meta.dtype)
            return arena_printf(vm->arena, "%s: dtype mismatch: expected %s, actual %s",
                                g->place->text, dtype_name(g->meta.dtype),
                                dtype_name(t->meta.dtype));
        if (t->meta.rank != g->meta.rank)
            return arena_printf(vm->arena, "%s: rank mismatch: expected %d, actual %d",
                                g->place->text, g->meta.rank, t->meta.rank);
        return arena_printf(vm->arena, "%s: requires_grad mismatch", g->place->text);
    }
    for (int i = 0; i < t->meta.rank; i++) {
        int64_t want = entry_number(e, g->meta.size[i]), have = eager_size(vm, t, i);
        if (want != have) return want_text ? size_failure(vm, g, "size", i, want, have) : "";
    }
    for (int i = 0; i < t->meta.rank; i++) {
        int64_t want = entry_number(e, g->meta.stride[i]), have = eager_stride(vm, t, i);
        if (want != have && eager_size(vm, t, i) != 1)
            return want_text ? size_failure(vm, g, "stride", i, want, have) : "";
    }
    return NULL;
}

static bool aliases_hold(const struct entry *e) {
    for (uint32_t i = 0; i < e->n_aliases; i++) {
        const struct tensor_guard *a = &e->tensors[e->aliases[i].a],
                                  *b = &e->tensors[e->aliases[i].b];
        bool same = e->values[a->slot].p == e->values[b->slot].p;
        if (same == e->aliases[i].differ) return false;
    }
    return true;
}

static struct storage *memory_of(const struct entry *e, uint32_t i) {
    const struct tensor_guard *g = &e->tensors[i];
    if (!g->place) return g->tensor ? g->tensor->storage : NULL;
    struct py v = e->values[g->slot];
    return v.kind == PY_TENSOR ? v.tensor->storage : NULL;
}

/* Is what is updated in place the memory of no other tensor, as it was when it was traced? */
static bool updates_alone(const struct entry *e) {
    bool alone = true;
    for (uint32_t i = 0; i < e->n_updates; i++) {
        struct storage *s = memory_of(e, e->updates[i]);
        alone &= !s->updated;
        s->updated = e->tensors[e->updates[i]].storage;
    }
    for (uint32_t i = 0; e->n_updates && i < e->n_tensors; i++) {
        const struct storage *s = memory_of(e, i);
        alone &= !s || !s->updated || s->updated == e->tensors[i].storage;
    }
    for (uint32_t i = 0; i < e->n_updates; i++) memory_of(e, e->updates[i])->updated = NULL;
    return alone;
}

/* -- what has not changed ------------------------------------------------------------------ */

/* Are the frame's own values those of the last time, tensors aside, and has nothing that the places
 * lead through changed since? */
static bool is_unchanged(struct vm *vm, struct entry *e, const struct frame *f) {
    if (!e->watching) return false;
    for (uint32_t i = 0; i < e->n_watch; i++)
        if (*e->watch[i].version != e->watch[i].then) return false;
    for (uint32_t k = 0; k < e->n_roots; k++) {
        uint32_t i = e->roots[k];
        const struct place *p = e->places[i];
        struct py now, then = e->values[i];
        if (!fetch(vm, f, p, py_unset, &now) || now.kind != then.kind) return false;
        bool same = now.kind == PY_TENSOR || same_constant(now, then) ||
                    (now.kind > PY_STR && now.p == then.p);
        if (now.kind == PY_INT) same = true; /* guards say whether the number matters */
        if (!same) return false;
        e->values[i] = now;
    }
    return true;
}

static int by_address(const void *a, const void *b) {
    const struct watch *x = a, *y = b;
    return (x->version > y->version) - (x->version < y->version);
}

/* Each once: attributes of one object share its dict. How many are left. */
static uint32_t unique_watches(struct entry *e) {
    uint32_t n = 0;
    qsort(e->watch, e->n_watch, sizeof *e->watch, by_address);
    for (uint32_t i = 0; i < e->n_watch; i++)
        if (!n || e->watch[n - 1].version != e->watch[i].version) e->watch[n++] = e->watch[i];
    return n;
}

static void watch(struct entry *e, const uint32_t *version) {
    e->watch[e->n_watch++] = (struct watch){version, *version};
}

/* For n more and a few, or it is not worth it. */
static void room(struct entry *e, uint32_t n) {
    if (e->n_watch + n + 4 > 4 * e->n_places) e->n_watch = unique_watches(e);
    if (e->n_watch + n + 4 > 4 * e->n_places) e->watching = false;
}

/* Where an attribute was looked for in vain: the object and its classes. */
static void watch_absent(struct entry *e) {
    for (uint32_t i = 0; i < e->n_guards && e->watching; i++) {
        if (e->guards[i].kind != GUARD_ABSENT) continue;
        const struct instance *o = e->values[e->guards[i].slot].instance;
        room(e, o->class->n_mro + 1);
        if (!e->watching) return;
        watch(e, &o->dict->version);
        for (uint32_t k = 0; k < o->class->n_mro; k++) watch(e, &o->class->mro[k]->dict->version);
    }
}

/* Everything that the places go through, and tensors found inside. */
static void watch_places(struct entry *e) {
    e->n_watch = 0;
    e->watching = true;
    for (uint32_t i = 0; i < e->n_places; i++) {
        const struct place *p = e->places[i];
        struct py base = e->values[e->bases[i]], v = e->values[i];
        if (!p->base) continue;
        if (v.kind == PY_TENSOR) watch(e, &v.tensor->version);
        if (py_is_sequence(v)) watch(e, &v.list->version);
        if (v.kind == PY_DICT || v.kind == PY_SET) watch(e, &v.dict->version);
        if (base.kind == PY_INSTANCE) watch(e, &base.instance->dict->version);
        if (base.kind == PY_CLASS) watch(e, &base.class->dict->version);
        if (base.kind == PY_MODULE) watch(e, &base.module->dict->version);
        bool plain = py_is_sequence(base) || base.kind == PY_DICT || base.kind == PY_INSTANCE ||
                     base.kind == PY_CLASS || base.kind == PY_MODULE || p->kind == PLACE_OVER;
        if (!plain) e->watching = false; /* closures: looked at every time */
        struct py own;
        bool of_class = p->kind == PLACE_ATTR && base.kind == PY_INSTANCE &&
                        !dict_gets(base.instance->dict, p->name, &own);
        if (v.kind == PY_ITER) e->watching = false;
        room(e, of_class ? base.instance->class->n_mro : 0);
        for (uint32_t k = 0; of_class && e->watching && k < base.instance->class->n_mro; k++)
            watch(e, &base.instance->class->mro[k]->dict->version);
        if (!e->watching) return;
    }
    for (uint32_t i = 0; i < e->n_places; i++) {
        struct py v = e->values[i];
        if (e->places[i]->base) continue;
        if (py_is_sequence(v)) watch(e, &v.list->version);
        if (v.kind == PY_DICT || v.kind == PY_SET) watch(e, &v.dict->version);
        if (v.kind == PY_ITER) e->watching = false;
    }
    watch_absent(e);
    e->n_watch = unique_watches(e);
}

/* -- all of it ----------------------------------------------------------------------------- */

static const char *check_tensors(struct vm *vm, struct entry *e, bool roots_only, bool want_text) {
    const char *why = bind_symbols(vm, e, want_text);
    for (uint32_t i = 0; !why && i < (roots_only ? e->n_root_tensors : e->n_tensors); i++) {
        const struct tensor_guard *g = &e->tensors[roots_only ? e->root_tensors[i] : i];
        if (!g->place) continue;
        why = tensor_failure(vm, e, g, e->values[g->slot], want_text);
    }
    if (why) return why;
    if (!aliases_hold(e)) return "two tensors are no longer the same, or no longer two";
    if (!updates_alone(e)) return "two tensors share the memory that is updated in place";
    for (uint32_t i = 0; i < e->n_conditions; i++)
        if (!ex_eval(e->ex, e->conditions[i], symbol_value, e))
            return want_text ? arena_printf(vm->arena, "%s does not hold",
                                            ex_str(vm->arena, e->ex, e->conditions[i]))
                             : "";
    return NULL;
}

static const char *check_values(struct vm *vm, struct entry *e, bool roots_only, bool want_text) {
    for (uint32_t i = 0; i < (roots_only ? e->n_root_guards : e->n_guards); i++) {
        const struct guard *g = &e->guards[roots_only ? e->root_guards[i] : i];
        if (!guard_holds(vm, g, e->values[g->slot]))
            return want_text ? guard_failure(vm, g, e->values[g->slot]) : "";
    }
    return NULL;
}

const char *entry_check(struct vm *vm, struct entry *e, struct frame *f, bool want_text) {
    if (e->grad_enabled != vm->grad_enabled) return "grad mode differs";
    if (memcmp(&e->autocast, &vm->autocast, sizeof e->autocast))
        return "torch.autocast or the default type differs";
    if (e->math_flags != vm->math_flags) return "allow_tf32 or float32_matmul_precision differs";
    if (e->n_random && e->seed != vm->seed) return "torch.manual_seed() differs";
    bool quick = is_unchanged(vm, e, f);
    if (!quick) e->watching = false;
    for (uint32_t i = 0; !quick && i < e->n_places; i++)
        if (!fetch(vm, f, e->places[i], e->values[e->bases[i]], &e->values[i]))
            return want_text ? arena_printf(vm->arena, "%s is not there", e->places[i]->text) : "";
    const char *why = check_values(vm, e, quick, want_text);
    if (!why) why = check_tensors(vm, e, quick, want_text);
    if (!why && !quick) watch_places(e);
    return why;
}
