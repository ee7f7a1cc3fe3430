/* checkpoint_read.c: a value from a pickle of torch.save (checkpoint.h).
 *
 *   ctorch._utils _rebuild_tensor_v2, ((storage 0), 0, (2, 3), (3, 1), False, ...), REDUCE
 *   -> a tensor of 2 x 3
 *
 * A stack machine of what state dicts need: constants, lists, tuples, dicts, tensors. What it names
 * (a storage's class, a function) is no value: it may lie on the stack and in the tuple of an
 * argument, and nowhere else.
 *
 * Invariants:
 * C1. The result holds values alone.
 * C2. A tensor's elements lie in its storage.
 * C3. Storages take no more memory than the file has bytes; all else is charged to the program. */
#include <string.h>

#include "capture/checkpoint.h"

enum named {
#define GLOBAL(id, module, name) NAMED_##id,
    CHECKPOINT_GLOBALS(GLOBAL)
#undef GLOBAL
        NAMED_STORAGE,
    NAMED_LOADED /* a storage itself */
};

/* What is named; a py of kind UNSET points to one. */
struct thing {
    enum named named;
    bool typed; /* NAMED_STORAGE, NAMED_LOADED */
    enum dtype dtype;
    struct storage *storage; /* NAMED_LOADED */
    bool on_cuda;
};

struct reader {
    struct vm *vm;
    struct archive *archive;
    const unsigned char *p, *end;
    VEC(struct py) stack;
    VEC(uint32_t) marks;
    VEC(struct py) memo;
    struct map holds_things; /* tuples that hold a thing, by address */
    struct map storages;     /* by key and dtype */
    uint64_t n_read;         /* bytes of storages so far */
    int to_cuda;             /* -1: as the file says */
};

static void broken(struct reader *r, const char *why) __attribute__((noreturn));
static void broken(struct reader *r, const char *why) {
    vm_raise(r->vm, EXC_RuntimeError, "torch.load: %s is not what torch.save writes: %s",
             r->archive->path, why);
}

/* -- bytes --------------------------------------------------------------------------------- */

static const unsigned char *take(struct reader *r, uint64_t n) {
    if ((uint64_t)(r->end - r->p) < n) broken(r, "the pickle is cut off");
    const unsigned char *p = r->p;
    r->p += n;
    return p;
}

static uint64_t take_number(struct reader *r, int n) {
    const unsigned char *p = take(r, (uint64_t)n);
    uint64_t v = 0;
    for (int i = n; i-- > 0;) v = v << 8 | p[i];
    return v;
}

static double take_float(struct reader *r) {
    const unsigned char *p = take(r, 8);
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Of two's complement in n bytes. */
static int64_t take_signed(struct reader *r, uint64_t n) {
    if (n > 8) broken(r, "an integer of more than 64 bits");
    uint64_t v = take_number(r, (int)n);
    if (n && n < 8 && v >> (8 * n - 1)) v |= UINT64_MAX << 8 * n;
    return (int64_t)v;
}

static struct py take_text(struct reader *r, uint64_t n) {
    const char *s = (const char *)take(r, n);
    if (memchr(s, 0, n)) broken(r, "a string with a zero byte");
    return py_str(arena_strndup(r->vm->arena, s, n));
}

static const char *take_line(struct reader *r) {
    const unsigned char *newline = memchr(r->p, '\n', (size_t)(r->end - r->p));
    if (!newline) broken(r, "the pickle is cut off");
    const char *s = (const char *)r->p;
    r->p = newline + 1;
    return arena_strndup(r->vm->arena, s, (size_t)((const char *)newline - s));
}

/* -- the stack ----------------------------------------------------------------------------- */

static void push(struct reader *r, struct py v) { vec_push(r->vm->arena, &r->stack, v); }

static uint32_t floor_of(const struct reader *r) {
    return r->marks.n ? r->marks.at[r->marks.n - 1] : 0;
}

static struct py pop(struct reader *r) {
    if (r->stack.n <= floor_of(r)) broken(r, "its stack is empty");
    return r->stack.at[--r->stack.n];
}

static struct py top(struct reader *r) {
    struct py v = pop(r);
    r->stack.n++;
    return v;
}

static bool holds_thing(const struct reader *r, struct py v) {
    uint64_t unused;
    if (v.kind == PY_UNSET) return true;
    return v.kind == PY_TUPLE && map_get(&r->holds_things, &v.p, sizeof v.p, &unused);
}

static struct py need_value(struct reader *r, struct py v) {
    if (holds_thing(r, v)) broken(r, "a name stands where a value has to be");
    return v;
}

/* The topmost n become a tuple. */
static void make_tuple(struct reader *r, uint32_t n) {
    if (r->stack.n - floor_of(r) < n) broken(r, "its stack is empty");
    r->stack.n -= n;
    const struct py *at = r->stack.at + r->stack.n;
    struct py out = py_list(r->vm->arena, PY_TUPLE, at, n);
    bool holds = false;
    for (uint32_t i = 0; i < n; i++) holds |= holds_thing(r, at[i]);
    if (holds) map_put(&r->holds_things, &out.p, sizeof out.p, 1);
    push(r, out);
}

/* How many lie above the mark, which is gone. */
static uint32_t take_mark(struct reader *r) {
    if (!r->marks.n) broken(r, "a mark is missing");
    return r->stack.n - r->marks.at[--r->marks.n];
}

static void append(struct reader *r, uint32_t n) {
    uint32_t from = r->stack.n - n;
    if (from <= floor_of(r) || r->stack.at[from - 1].kind != PY_LIST)
        broken(r, "an item of what is no list");
    struct list *to = r->stack.at[from - 1].list;
    for (uint32_t i = from; i < r->stack.n; i++)
        vec_push(r->vm->arena, to, need_value(r, r->stack.at[i]));
    r->stack.n = from;
}

static void set_items(struct reader *r, uint32_t n) {
    uint32_t from = r->stack.n - n;
    if (n % 2 || from <= floor_of(r) || r->stack.at[from - 1].kind != PY_DICT)
        broken(r, "an item of what is no dict");
    struct dict *to = r->stack.at[from - 1].dict;
    for (uint32_t i = from; i < r->stack.n; i += 2) {
        struct py key = need_value(r, r->stack.at[i]);
        if (!dict_key_ok(key) || key.kind == PY_FLOAT) broken(r, "a key that no dict has");
        dict_put(r->vm->arena, to, key, need_value(r, r->stack.at[i + 1]));
    }
    r->stack.n = from;
}

static void put_memo(struct reader *r, uint64_t at) {
    if (at > r->memo.n) broken(r, "a memo out of order");
    struct py v = top(r);
    if (at == r->memo.n)
        vec_push(r->vm->arena, &r->memo, v);
    else
        r->memo.at[at] = v;
}

static void get_memo(struct reader *r, uint64_t at) {
    if (at >= r->memo.n) broken(r, "a memo that is not there");
    push(r, r->memo.at[at]);
}

/* -- names --------------------------------------------------------------------------------- */

static struct py thing(struct reader *r, struct thing t) {
    struct thing *own = NEW(r->vm->arena, struct thing);
    *own = t;
    return py_pointer(PY_UNSET, own);
}

/* The thing that v is, if it is one of that name; or NULL. */
static const struct thing *is_named(struct py v, enum named named) {
    const struct thing *t = v.kind == PY_UNSET ? v.p : NULL;
    return t && t->named == named ? t : NULL;
}

static struct py find_name(struct reader *r) {
    static const struct {
        const char *module, *name;
    } names[] = {
#define GLOBAL(id, module, name) {module, name},
        CHECKPOINT_GLOBALS(GLOBAL)
#undef GLOBAL
    };
    static const struct {
        enum dtype dtype;
        const char *name;
    } storages[] = {
#define STORAGE(dtype, name) {DT_##dtype, name},
        CHECKPOINT_STORAGES(STORAGE)
#undef STORAGE
    };
    const char *module = take_line(r), *name = take_line(r);
    bool torch = !strcmp(module, "torch");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].module, module) && !strcmp(names[i].name, name))
            return thing(r, (struct thing){.named = (enum named)i});
    for (size_t i = 0; torch && i < sizeof storages / sizeof *storages; i++)
        if (!strcmp(storages[i].name, name))
            return thing(r, (struct thing){
                                .named = NAMED_STORAGE, .typed = true, .dtype = storages[i].dtype});
    for (int d = 0; torch && d < DT_COUNT; d++)
        if (!strcmp(dtype_torch_name((enum dtype)d), name)) return py_dtype((enum dtype)d);
    vm_raise(r->vm, EXC_RuntimeError,
             "torch.load reads tensors, numbers, strings, lists, tuples and dicts; %s holds a "
             "%s.%s, which is not supported",
             r->archive->path, module, name);
}

/* -- storages and tensors ------------------------------------------------------------------ */

/* A byte of a bool is 0 or 1 here. */
static void clean_bools(struct storage *s) {
    for (size_t i = 0; i < s->size; i++) s->bytes[i] = s->bytes[i] != 0;
}

/* ("storage", class, key, place, elements) */
static void load_storage(struct reader *r) {
    struct py id = pop(r);
    const struct py *v = id.kind == PY_TUPLE ? id.list->at : NULL;
    if (!v || id.list->n != 5 || v[0].kind != PY_STR || v[2].kind != PY_STR || v[3].kind != PY_STR)
        broken(r, "a storage of another kind");
    const struct thing *class = is_named(v[1], NAMED_STORAGE);
    if (!class && !is_named(v[1], NAMED_UNTYPED)) broken(r, "a storage of another kind");
    struct thing t = {.named = NAMED_LOADED, .typed = class != NULL};
    if (class) t.dtype = class->dtype;
    const char *name = arena_printf(r->vm->arena, "data/%s", v[2].s);
    const char *key = arena_printf(r->vm->arena, "%d %s", class ? (int)t.dtype : -1, v[2].s);
    uint64_t known;
    t.on_cuda = r->vm->has_cuda && (r->to_cuda < 0 ? !strncmp(v[3].s, "cuda", 4) : r->to_cuda);
    if (map_gets(&r->storages, key, &known)) {
        t.storage = (struct storage *)(uintptr_t)known;
    } else {
        const struct record *record = archive_find(r->archive, name);
        if (!record) broken(r, "the record of a storage is missing");
        r->n_read += record->bytes; /* records may lie over each other */
        if (r->n_read > r->archive->bytes) broken(r, "its storages are more than it has");
        t.storage = eager_storage(r->vm, record->bytes);
        archive_read(r->vm, r->archive, record, t.storage->bytes);
        if (class && t.dtype == DT_BOOL) clean_bools(t.storage);
        map_puts(&r->storages, key, (uint64_t)(uintptr_t)t.storage);
    }
    push(r, thing(r, t));
}

static int64_t need_size(struct reader *r, struct py v) {
    if (v.kind != PY_INT || v.i < 0) broken(r, "a size that is none");
    return v.i;
}

/* (storage, offset, sizes, strides, requires_grad, hooks[, dtype]) */
static struct py make_tensor(struct reader *r, const struct list *a, bool of_type) {
    const struct thing *s = a->n ? is_named(a->at[0], NAMED_LOADED) : NULL;
    if (!s || a->n < (of_type ? 7u : 6u) || a->at[2].kind != PY_TUPLE ||
        a->at[3].kind != PY_TUPLE || a->at[2].list->n != a->at[3].list->n ||
        a->at[4].kind != PY_BOOL || (of_type && a->at[6].kind != PY_DTYPE) ||
        (!of_type && !s->typed))
        broken(r, "a tensor of another kind");
    enum dtype t = of_type ? a->at[6].dtype : s->dtype;
    uint32_t rank = a->at[2].list->n;
    if (rank > WS_MAX_RANK)
        vm_raise(r->vm, EXC_RuntimeError, "at most %d dimensions are supported", WS_MAX_RANK);
    int64_t size[WS_MAX_RANK], stride[WS_MAX_RANK], offset = need_size(r, a->at[1]);
    int64_t last = offset, n = 1, held = (int64_t)(s->storage->size / (size_t)dtype_bytes(t));
    bool empty = false, wrong = false;
    for (uint32_t i = 0; i < rank; i++) {
        size[i] = need_size(r, a->at[2].list->at[i]);
        stride[i] = need_size(r, a->at[3].list->at[i]);
        empty |= !size[i];
    }
    for (uint32_t i = 0; i < rank && !empty; i++) {
        int64_t step;
        wrong |= __builtin_mul_overflow(size[i] - 1, stride[i], &step) ||
                 __builtin_add_overflow(last, step, &last) ||
                 __builtin_mul_overflow(n, size[i], &n) || n > INT64_MAX / 16;
    }
    if (wrong || offset > held || (!empty && last >= held))
        broken(r, "a tensor lies outside of its storage");
    if (of_type && t == DT_BOOL) clean_bools(s->storage);
    struct py out = eager_in(r->vm, s->storage, t, (int)rank, size, stride, offset);
    out.tensor->on_cuda = s->on_cuda;
    out.tensor->requires_grad = a->at[4].b && dtype_has_gradient(t);
    return out;
}

/* (data, requires_grad, hooks) */
static struct py make_parameter(struct reader *r, const struct list *a) {
    if (a->n < 2 || a->at[0].kind != PY_TENSOR || a->at[1].kind != PY_BOOL)
        broken(r, "a parameter of another kind");
    struct tensor *t = NEW(r->vm->arena, struct tensor);
    *t = *a->at[0].tensor;
    t->id = ++r->vm->n_tensors;
    t->kind = INPUT_PARAMETER;
    t->requires_grad = a->at[1].b && dtype_has_gradient(t->meta.dtype);
    return py_pointer(PY_TENSOR, t);
}

static struct py make_size(struct reader *r, const struct list *a) {
    if (a->n != 1 || a->at[0].kind != PY_TUPLE) broken(r, "a size that is none");
    for (uint32_t i = 0; i < a->at[0].list->n; i++) need_size(r, a->at[0].list->at[i]);
    struct py out = py_list(r->vm->arena, PY_TUPLE, a->at[0].list->at, a->at[0].list->n);
    out.list->is_size = true;
    return out;
}

static struct py make_device(struct reader *r, const struct list *a) {
    struct py class;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].kind != (i ? PY_INT : PY_STR)) broken(r, "a device that is none");
    if (!a->n || a->n > 2 || !module_find(r->vm, module_import(r->vm, "torch"), "device", &class))
        broken(r, "a device that is none");
    return vm_call(r->vm, class, &(struct args){.at = a->at, .n = a->n});
}

static void reduce(struct reader *r) {
    struct py args = pop(r), f = pop(r);
    const struct thing *t = f.kind == PY_UNSET ? f.p : NULL;
    if (!t || args.kind != PY_TUPLE) broken(r, "a call of what is no function");
    switch (t->named) {
    case NAMED_TENSOR: return push(r, make_tensor(r, args.list, false));
    case NAMED_TENSOR_OF_TYPE: return push(r, make_tensor(r, args.list, true));
    case NAMED_PARAMETER: return push(r, make_parameter(r, args.list));
    case NAMED_ORDERED_DICT:
        if (args.list->n) broken(r, "a dict that is filled another way");
        return push(r, py_dict(r->vm->arena, PY_DICT));
    case NAMED_SIZE: return push(r, make_size(r, args.list));
    case NAMED_DEVICE: return push(r, make_device(r, args.list));
    case NAMED_UNTYPED:
    case NAMED_STORAGE:
    case NAMED_LOADED: break;
    }
    broken(r, "a call of what is no function");
}

/* What a dict has beside its items: _metadata of a state dict, which says nothing here. */
static void build(struct reader *r) {
    pop(r);
    if (top(r).kind != PY_DICT) broken(r, "attributes of what has none");
}

/* -- opcodes ------------------------------------------------------------------------------- */

/* False: it was the last. */
static bool step(struct reader *r) {
    struct arena *a = r->vm->arena;
    switch (*take(r, 1)) {
    case 0x80: /* PROTO */
        if (*take(r, 1) > 2)
            vm_raise(
                r->vm, EXC_RuntimeError,
                "torch.load reads pickles of protocol 2, as torch.save writes them; %s has another",
                r->archive->path);
        return true;
    case '}': return push(r, py_dict(a, PY_DICT)), true;
    case ']': return push(r, py_list(a, PY_LIST, NULL, 0)), true;
    case ')': return push(r, py_list(a, PY_TUPLE, NULL, 0)), true;
    case '(': return vec_push(a, &r->marks, r->stack.n), true;
    case 't': return make_tuple(r, take_mark(r)), true;
    case 0x85: return make_tuple(r, 1), true;
    case 0x86: return make_tuple(r, 2), true;
    case 0x87: return make_tuple(r, 3), true;
    case 'a': return append(r, 1), true;
    case 'e': return append(r, take_mark(r)), true;
    case 's': return set_items(r, 2), true;
    case 'u': return set_items(r, take_mark(r)), true;
    case 'q': return put_memo(r, take_number(r, 1)), true;
    case 'r': return put_memo(r, take_number(r, 4)), true;
    case 'h': return get_memo(r, take_number(r, 1)), true;
    case 'j': return get_memo(r, take_number(r, 4)), true;
    case 'N': return push(r, py_none), true;
    case 0x88: return push(r, py_true), true;
    case 0x89: return push(r, py_false), true;
    case 'K': return push(r, py_int((int64_t)take_number(r, 1))), true;
    case 'M': return push(r, py_int((int64_t)take_number(r, 2))), true;
    case 'J': return push(r, py_int(take_signed(r, 4))), true;
    case 0x8a: return push(r, py_int(take_signed(r, take_number(r, 1)))), true;
    case 'G': return push(r, py_float(take_float(r))), true;
    case 'X': return push(r, take_text(r, take_number(r, 4))), true;
    case 'c': return push(r, find_name(r)), true;
    case 'Q': return load_storage(r), true;
    case 'R': return reduce(r), true;
    case 'b': return build(r), true;
    case '.': return false;
    default: broken(r, "an opcode that state dicts do not need");
    }
}

/* load_state(path, to_cuda) -> the value; to_cuda: None as the file says */
NATIVE(eager_load_state) {
    if (!vm->eager) vm_refuse(vm, "torch.load is not supported in a workload");
    if (vm->trace) vm_break(vm, "call of torch.load()", "load outside");
    struct reader r = {.vm = vm,
                       .archive = archive_open(vm, v[0].s),
                       .holds_things = map_new(vm->arena),
                       .storages = map_new(vm->arena),
                       .to_cuda = v[1].kind == PY_NONE ? -1 : vm_truth(vm, v[1])};
    const struct record *pickle = archive_find(r.archive, "data.pkl"),
                        *order = archive_find(r.archive, "byteorder");
    if (!pickle) broken(&r, "there is no data.pkl");
    if (order && order->bytes == 3) broken(&r, "its byte order is another");
    unsigned char *bytes = NEW_ARRAY(vm->arena, unsigned char, pickle->bytes + 1);
    archive_read(vm, r.archive, pickle, bytes);
    r.p = bytes;
    r.end = bytes + pickle->bytes;
    while (step(&r)) vm_tick(vm);
    if (r.marks.n || r.stack.n != 1) broken(&r, "the pickle ends in the middle");
    return need_value(&r, pop(&r));
}
