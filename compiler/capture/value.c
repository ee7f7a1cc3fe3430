/* value.c: making and comparing values; dicts; classes and their order of resolution. */
#include "capture/natives.h"

#include <math.h>
#include <string.h>

const struct py py_unset = {.kind = PY_UNSET};
const struct py py_none = {.kind = PY_NONE};
const struct py py_ellipsis = {.kind = PY_ELLIPSIS};
const struct py py_not_implemented = {.kind = PY_NOT_IMPLEMENTED};
const struct py py_true = {.kind = PY_BOOL, .b = true};
const struct py py_false = {.kind = PY_BOOL, .b = false};

struct py py_bool(bool b) {
    return b ? py_true : py_false;
}
struct py py_int(int64_t i) {
    return (struct py){.kind = PY_INT, .i = i};
}
struct py py_symint(ex e) {
    return (struct py){.kind = PY_SYMINT, .symbolic = e};
}
struct py py_float(double f) {
    return (struct py){.kind = PY_FLOAT, .f = f};
}
struct py py_str(const char *s) {
    return (struct py){.kind = PY_STR, .s = s};
}
struct py py_dtype(enum dtype d) {
    return (struct py){.kind = PY_DTYPE, .dtype = d};
}
struct py py_pointer(enum py_kind kind, void *p) {
    return (struct py){.kind = kind, .p = p};
}

struct py py_strf(struct arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return py_str(s);
}

struct py py_list(struct arena *a, enum py_kind kind, const struct py *at, uint32_t n) {
    struct list *l = NEW(a, struct list);
    l->at = NEW_ARRAY(a, struct py, n);
    l->n = l->cap = n;
    if (n) memcpy(l->at, at, n * sizeof *at);
    return py_pointer(kind, l);
}

struct py py_dict(struct arena *a, enum py_kind kind) {
    return py_pointer(kind, dict_new(a));
}

struct py py_range(struct arena *a, int64_t start, int64_t stop, int64_t step) {
    struct range *r = NEW(a, struct range);
    *r = (struct range){start, stop, step};
    return py_pointer(PY_RANGE, r);
}

struct py py_method(struct arena *a, struct py function, struct py self) {
    struct method *m = NEW(a, struct method);
    *m = (struct method){function, self};
    return py_pointer(PY_METHOD, m);
}

struct py py_wrap(struct arena *a, enum py_kind kind, struct py wrapped) {
    struct py *w = NEW(a, struct py);
    *w = wrapped;
    return py_pointer(kind, w);
}

struct py py_property(struct arena *a, struct py get) {
    struct py *w = NEW_ARRAY(a, struct py, N_PROPERTY);
    w[PROPERTY_GET] = get;
    return py_pointer(PY_PROPERTY, w);
}

struct py py_native(struct arena *a, const struct native *native) {
    struct builtin *b = NEW(a, struct builtin);
    b->name = native->name;
    b->native = native;
    return py_pointer(PY_BUILTIN, b);
}

struct py py_constant(struct arena *a, const struct constant *k) {
    switch (k->kind) {
    case CONSTANT_NONE: return py_none;
    case CONSTANT_FALSE: return py_false;
    case CONSTANT_TRUE: return py_true;
    case CONSTANT_ELLIPSIS: return py_ellipsis;
    case CONSTANT_INT: return py_int(k->i);
    case CONSTANT_FLOAT: return py_float(k->f);
    case CONSTANT_STRING: return py_str(k->s);
    case CONSTANT_TUPLE: {
        struct py t = py_list(a, PY_TUPLE, NULL, 0);
        for (uint32_t i = 0; i < k->n; i++) vec_push(a, t.list, py_constant(a, &k->items[i]));
        return t;
    }
    case CONSTANT_CODE: break;
    }
    WS_BUG("a code object is no value");
}

/* -- questions ----------------------------------------------------------------------------- */

bool py_is_number(struct py v) {
    return v.kind == PY_BOOL || v.kind == PY_INT || v.kind == PY_FLOAT;
}

bool py_is_constant(struct py v) {
    return py_is_number(v) || v.kind == PY_STR || v.kind == PY_NONE || v.kind == PY_DTYPE;
}

bool py_is_sequence(struct py v) { return v.kind == PY_LIST || v.kind == PY_TUPLE; }

double py_number(struct py v) {
    return v.kind == PY_FLOAT ? v.f : v.kind == PY_INT ? (double)v.i : (double)v.b;
}

bool py_same(struct py x, struct py y) {
    if (x.kind != y.kind) return false;
    switch (x.kind) {
    case PY_UNSET:
    case PY_NONE:
    case PY_ELLIPSIS:
    case PY_NOT_IMPLEMENTED: return true;
    case PY_BOOL: return x.b == y.b;
    case PY_INT: return x.i == y.i;
    case PY_FLOAT: return x.f == y.f;
    case PY_STR: return !strcmp(x.s, y.s);
    case PY_DTYPE: return x.dtype == y.dtype;
    case PY_METHOD:
        return py_same(x.method->function, y.method->function) &&
               py_same(x.method->self, y.method->self);
    case PY_BUILTIN: /* of an operator there are many */
        return x.p == y.p ||
               (!x.builtin->native && !y.builtin->native && x.builtin->op == y.builtin->op &&
                x.builtin->in_place == y.builtin->in_place);
    default: return x.p == y.p;
    }
}

int64_t range_length(const struct range *r) {
    if (r->step > 0) return r->start < r->stop ? (r->stop - r->start - 1) / r->step + 1 : 0;
    return r->start > r->stop ? (r->start - r->stop - 1) / -r->step + 1 : 0;
}

/* -- dicts --------------------------------------------------------------------------------- */

/* Entries are found by the bytes of their key: a string stands for itself, everything else begins
 * with a control character. Numbers that are equal have equal bytes: 1, 1.0 and True are one key.
 */

enum { KEY_INT = 1, KEY_FLOAT, KEY_TUPLE, KEY_OTHER };
static const uint64_t DELETED = UINT64_MAX;
static const double LARGEST_WHOLE = 4611686018427387904.0; /* 2^62 */

struct dict *dict_new(struct arena *a) {
    struct dict *d = NEW(a, struct dict);
    d->index = map_new(a);
    return d;
}

enum { MAX_KEY_DEPTH = 100 }; /* of tuples inside each other */

static bool key_ok(struct py key, int depth) {
    if (key.kind == PY_INSTANCE && key.instance->base.kind != PY_UNSET) key = key.instance->base;
    if (key.kind == PY_TUPLE) {
        if (depth == MAX_KEY_DEPTH) return false;
        for (uint32_t i = 0; i < key.list->n; i++)
            if (!key_ok(key.list->at[i], depth + 1)) return false;
        return true;
    }
    return key.kind != PY_LIST && key.kind != PY_DICT && key.kind != PY_SET && key.kind != PY_SLICE;
}

bool dict_key_ok(struct py key) { return key_ok(key, 0); }

static void put_tagged(struct buf *b, char tag, const void *p, size_t n) {
    buf_putc(b, tag);
    buf_write(b, p, n);
}

static void put_key(struct buf *b, struct py key) {
    if (py_is_number(key)) {
        double f = py_number(key);
        int64_t i = key.kind == PY_INT ? key.i : key.kind == PY_BOOL ? key.b : 0;
        bool whole = key.kind != PY_FLOAT || (fabs(f) <= LARGEST_WHOLE && f == (double)(int64_t)f);
        if (key.kind == PY_FLOAT && whole) i = (int64_t)f;
        if (whole)
            put_tagged(b, KEY_INT, &i, sizeof i);
        else
            put_tagged(b, KEY_FLOAT, &f, sizeof f);
    } else if (key.kind == PY_STR) {
        buf_puts(b, key.s);
    } else if (key.kind == PY_INSTANCE && key.instance->base.kind != PY_UNSET) {
        put_key(b, key.instance->base);
    } else if (key.kind == PY_TUPLE) {
        put_tagged(b, KEY_TUPLE, &key.list->n, sizeof key.list->n);
        for (uint32_t i = 0; i < key.list->n; i++) {
            struct buf item = buf_new(b->arena);
            put_key(&item, key.list->at[i]);
            buf_write(b, (const char *)&item.n, sizeof item.n);
            buf_write(b, item.p, item.n);
        }
    } else {
        void *p = key.kind == PY_DTYPE                             ? (void *)(uintptr_t)key.dtype
                  : key.kind == PY_NONE || key.kind == PY_ELLIPSIS ? NULL
                  : key.kind == PY_BUILTIN && !key.builtin->native
                      ? (void *)((uintptr_t)key.builtin->op * 2 + key.builtin->in_place)
                      : key.p;
        put_tagged(b, KEY_OTHER, &key.kind, sizeof key.kind);
        buf_write(b, (const char *)&p, sizeof p);
    }
}

enum { SHORT_KEY = 32 }; /* bytes: of all but strings and tuples */

static struct buf key_bytes(struct arena *a, struct py key, char *room) {
    if (key.kind == PY_STR) return (struct buf){.p = (char *)(uintptr_t)key.s, .n = strlen(key.s)};
    struct buf b = {.arena = a, .p = room, .cap = SHORT_KEY};
    put_key(&b, key);
    return b;
}

bool dict_gets(const struct dict *d, const char *key, struct py *out) {
    uint64_t i;
    if (!map_gets(&d->index, key, &i) || i == DELETED) return false;
    *out = d->entries.at[i].value;
    return true;
}

bool dict_get(struct arena *a, const struct dict *d, struct py key, struct py *out) {
    char room[SHORT_KEY];
    struct buf b = key_bytes(a, key, room);
    uint64_t i;
    if (!map_get(&d->index, b.p, b.n, &i) || i == DELETED) return false;
    *out = d->entries.at[i].value;
    return true;
}

void dict_put(struct arena *a, struct dict *d, struct py key, struct py value) {
    d->version++;
    char room[SHORT_KEY];
    struct buf b = key_bytes(a, key, room);
    uint64_t i;
    if (map_get(&d->index, b.p, b.n, &i) && i != DELETED) {
        d->entries.at[i].value = value;
        return;
    }
    map_put(&d->index, b.p, b.n, d->entries.n);
    struct dict_entry e = {key, value, true};
    vec_push(a, &d->entries, e);
    d->n++;
}

void dict_puts(struct arena *a, struct dict *d, const char *key, struct py value) {
    dict_put(a, d, py_str(key), value);
}

bool dict_delete(struct arena *a, struct dict *d, struct py key) {
    d->version++;
    char room[SHORT_KEY];
    struct buf b = key_bytes(a, key, room);
    uint64_t i;
    if (!map_get(&d->index, b.p, b.n, &i) || i == DELETED) return false;
    d->entries.at[i].live = false;
    map_put(&d->index, b.p, b.n, DELETED);
    d->n--;
    return true;
}

void dict_update(struct arena *a, struct dict *d, const struct dict *from) {
    for (uint32_t i = 0; i < from->entries.n; i++) {
        struct dict_entry e = from->entries.at[i];
        if (e.live) dict_put(a, d, e.key, e.value);
    }
}

/* -- classes ------------------------------------------------------------------------------- */

struct class *class_new(struct arena *a, const char *name, struct class *base) {
    struct class *c = NEW(a, struct class);
    c->name = name;
    c->dict = dict_new(a);
    class_linearize(a, c, &base, base != NULL);
    return c;
}

/* Is c in the tail of one of the lists? */
static bool in_tail(struct class *const *const *lists, const uint32_t *from, const uint32_t *n,
                    uint32_t n_lists, const struct class *c) {
    for (uint32_t i = 0; i < n_lists; i++)
        for (uint32_t j = from[i] + 1; j < n[i]; j++)
            if (lists[i][j] == c) return true;
    return false;
}

/* The first head that is in no tail; NULL: no order keeps all the promises. */
static struct class *good_head(struct class *const *const *lists, const uint32_t *from,
                               const uint32_t *n, uint32_t n_lists) {
    for (uint32_t i = 0; i < n_lists; i++)
        if (from[i] < n[i] && !in_tail(lists, from, n, n_lists, lists[i][from[i]]))
            return lists[i][from[i]];
    return NULL;
}

bool class_linearize(struct arena *a, struct class *c, struct class *const *bases, uint32_t n) {
    uint32_t n_lists = n + 1, left = n;
    struct class *const **lists = NEW_ARRAY(a, struct class *const *, n_lists);
    uint32_t *from = NEW_ARRAY(a, uint32_t, n_lists), *lengths = NEW_ARRAY(a, uint32_t, n_lists);
    for (uint32_t i = 0; i < n; i++) {
        lists[i] = bases[i]->mro;
        lengths[i] = bases[i]->n_mro;
        left += lengths[i];
    }
    lists[n] = c->bases = bases;
    lengths[n] = c->n_bases = n;
    c->mro = NEW_ARRAY(a, struct class *, left + 1);
    c->n_mro = 0;
    c->mro[c->n_mro++] = c;
    while (left) {
        struct class *next = good_head(lists, from, lengths, n_lists);
        if (!next) return false;
        c->mro[c->n_mro++] = next;
        for (uint32_t i = 0; i < n_lists; i++)
            if (from[i] < lengths[i] && lists[i][from[i]] == next) from[i]++, left--;
    }
    return true;
}

bool class_is(const struct class *c, const struct class *ancestor) {
    for (uint32_t i = 0; i < c->n_mro; i++)
        if (c->mro[i] == ancestor) return true;
    return false;
}

bool class_find(const struct class *c, const char *name, struct py *out) {
    for (uint32_t i = 0; i < c->n_mro; i++)
        if (dict_gets(c->mro[i]->dict, name, out)) return true;
    return false;
}

/* -- what values hold ---------------------------------------------------------------------- */

bool py_is_object(struct py v) {
    return v.kind > PY_STR && v.kind != PY_ELLIPSIS && v.kind != PY_NOT_IMPLEMENTED &&
           v.kind != PY_DTYPE && v.p;
}

struct visitor {
    void (*visit)(void *ctx, struct py child);
    void *ctx;
};

static void visit_list(const struct visitor *w, const struct list *l) {
    for (uint32_t i = 0; l && i < l->n; i++) w->visit(w->ctx, l->at[i]);
}

static void visit_dict(const struct visitor *w, const struct dict *d) {
    for (uint32_t i = 0; d && i < d->entries.n; i++) {
        if (!d->entries.at[i].live) continue;
        w->visit(w->ctx, d->entries.at[i].key);
        w->visit(w->ctx, d->entries.at[i].value);
    }
}

static void visit_function(const struct visitor *w, const struct function *f) {
    visit_list(w, f->defaults);
    visit_dict(w, f->kwdefaults);
    visit_dict(w, f->attributes);
    for (uint32_t i = 0; i < f->code->frees.n; i++)
        w->visit(w->ctx, py_pointer(PY_CELL, f->closure[i]));
}

void py_visit(struct py v, void (*visit)(void *ctx, struct py child), void *ctx) {
    const struct visitor w = {visit, ctx};
    switch (v.kind) {
    case PY_TUPLE:
    case PY_LIST: visit_list(&w, v.list); break;
    case PY_DICT:
    case PY_SET: visit_dict(&w, v.dict); break;
    case PY_SLICE:
        visit(ctx, v.slice->start);
        visit(ctx, v.slice->stop);
        visit(ctx, v.slice->step);
        break;
    case PY_ITER: visit(ctx, v.iter->over); break;
    case PY_CELL: visit(ctx, v.cell->v); break;
    case PY_FUNCTION: visit_function(&w, v.function); break;
    case PY_METHOD:
        visit(ctx, v.method->function);
        visit(ctx, v.method->self);
        break;
    case PY_INSTANCE:
        visit_dict(&w, v.instance->dict);
        visit(ctx, v.instance->base);
        break;
    case PY_SUPER: visit(ctx, v.super->self); break;
    case PY_STATICMETHOD:
    case PY_CLASSMETHOD: visit(ctx, *v.wrapped); break;
    case PY_PROPERTY:
        for (uint32_t i = 0; i < N_PROPERTY; i++) visit(ctx, v.wrapped[i]);
        break;
    default: break;
    }
}
