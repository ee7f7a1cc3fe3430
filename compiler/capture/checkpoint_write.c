/* checkpoint_write.c: a value as a pickle of protocol 2, its tensors as records (checkpoint.h).
 * What PyTorch's own unpickler takes with weights_only=True, and nothing else, is written.
 *
 *   {"w": tensor of 2}  ->  EMPTY_DICT, "w", _rebuild_tensor_v2((storage 0), 0, (2,), (1,), ...) */
#include <string.h>

#include "capture/checkpoint.h"

struct writer {
    struct vm *vm;
    struct buf b;
    struct map memo; /* address -> number: containers and tensors that were written before */
    struct map keys; /* storage and dtype -> key */
    uint32_t n_memo;
    VEC(const struct storage *) storages;
};

static void put(struct writer *w, uint64_t v, int n) {
    for (int i = 0; i < n; i++) buf_putc(&w->b, (char)(v >> 8 * i & 255));
}

static void put_text(struct writer *w, const char *s) {
    buf_putc(&w->b, 'X');
    put(w, strlen(s), 4);
    buf_puts(&w->b, s);
}

static void put_global(struct writer *w, const char *module, const char *name) {
    buf_printf(&w->b, "c%s\n%s\n", module, name);
}

static void put_int(struct writer *w, int64_t v) {
    if (v >= 0 && v < 256) {
        buf_putc(&w->b, 'K');
        put(w, (uint64_t)v, 1);
    } else if (v >= INT32_MIN && v <= INT32_MAX) {
        buf_putc(&w->b, 'J');
        put(w, (uint64_t)v, 4);
    } else {
        put(w, 0x8a, 1), put(w, 8, 1), put(w, (uint64_t)v, 8);
    }
}

static void put_float(struct writer *w, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    buf_putc(&w->b, 'G');
    for (int i = 8; i-- > 0;) buf_putc(&w->b, (char)(bits >> 8 * i & 255));
}

static void put_bool(struct writer *w, bool v) { put(w, v ? 0x88 : 0x89, 1); }

static void remember(struct writer *w, const void *p) {
    map_put(&w->memo, &p, sizeof p, w->n_memo);
    buf_putc(&w->b, 'r');
    put(w, w->n_memo++, 4);
}

static bool recall(struct writer *w, const void *p) {
    uint64_t at;
    if (!map_get(&w->memo, &p, sizeof p, &at)) return false;
    buf_putc(&w->b, 'j');
    put(w, at, 4);
    return true;
}

static void put_empty_ordered_dict(struct writer *w) {
    put_global(w, "collections", "OrderedDict");
    buf_puts(&w->b, ")R");
}

/* -- tensors ------------------------------------------------------------------------------- */

static const char *storage_class(enum dtype t) {
    switch (t) {
#define STORAGE(dtype, name)                                                                       \
    case DT_##dtype: return name;
        CHECKPOINT_STORAGES(STORAGE)
#undef STORAGE
    default: return NULL;
    }
}

static uint32_t storage_key(struct writer *w, const struct storage *s, enum dtype t) {
    struct {
        const struct storage *s;
        uint64_t dtype;
    } id = {s, (uint64_t)t};
    uint64_t key;
    if (map_get(&w->keys, &id, sizeof id, &key)) return (uint32_t)key;
    map_put(&w->keys, &id, sizeof id, w->storages.n);
    vec_push(w->vm->arena, &w->storages, s);
    return w->storages.n - 1;
}

static void put_numbers(struct writer *w, const struct tensor *t, bool strides) {
    buf_putc(&w->b, '(');
    for (int i = 0; i < t->meta.rank; i++)
        put_int(w, strides ? eager_stride(w->vm, t, i) : eager_size(w->vm, t, i));
    buf_putc(&w->b, 't');
}

static void put_tensor(struct writer *w, const struct tensor *t) {
    const char *class = storage_class(t->meta.dtype);
    bool parameter = t->kind == INPUT_PARAMETER;
    uint32_t key = storage_key(w, t->storage, t->meta.dtype);
    if (parameter) {
        put_global(w, "torch._utils", "_rebuild_parameter");
        buf_putc(&w->b, '(');
    }
    put_global(w, "torch._utils", class ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    buf_puts(&w->b, "((");
    put_text(w, "storage");
    put_global(w, class ? "torch" : "torch.storage", class ? class : "UntypedStorage");
    put_text(w, arena_printf(w->vm->arena, "%u", key));
    put_text(w, t->on_cuda ? "cuda:0" : "cpu");
    put_int(w, (int64_t)t->storage->size / (class ? dtype_bytes(t->meta.dtype) : 1));
    buf_puts(&w->b, "tQ");
    put_int(w, t->offset);
    put_numbers(w, t, false);
    put_numbers(w, t, true);
    put_bool(w, !parameter && t->requires_grad);
    put_empty_ordered_dict(w);
    if (!class) put_global(w, "torch", dtype_torch_name(t->meta.dtype));
    buf_puts(&w->b, "tR");
    if (!parameter) return;
    put_bool(w, t->requires_grad);
    put_empty_ordered_dict(w);
    buf_puts(&w->b, "tR");
}

/* -- values -------------------------------------------------------------------------------- */

static void put_value(struct writer *w, struct py v);

static void put_items(struct writer *w, const struct dict *d) {
    buf_putc(&w->b, '(');
    for (uint32_t i = 0; i < d->entries.n; i++) {
        if (!d->entries.at[i].live) continue;
        put_value(w, d->entries.at[i].key);
        put_value(w, d->entries.at[i].value);
    }
    buf_putc(&w->b, 'u');
}

static void put_list(struct writer *w, const struct list *l, bool tuple) {
    if (l->is_size) put_global(w, "torch", "Size");
    if (!tuple) {
        buf_putc(&w->b, ']');
        remember(w, l);
    }
    buf_putc(&w->b, '(');
    for (uint32_t i = 0; i < l->n; i++) put_value(w, l->at[i]);
    buf_putc(&w->b, tuple ? 't' : 'e');
    if (l->is_size) put(w, 0x85, 1), buf_putc(&w->b, 'R');
}

static bool is_of(const struct instance *o, const char *module, const char *name) {
    return !strcmp(o->class->name, name) && o->class->module && o->class->module->prelude &&
           !strcmp(o->class->module->name, module);
}

static void put_instance(struct writer *w, struct py v) {
    if (is_of(v.instance, "collections", "OrderedDict") && v.instance->base.kind == PY_DICT) {
        put_empty_ordered_dict(w);
        remember(w, v.p);
        put_items(w, v.instance->base.dict);
    } else if (is_of(v.instance, "torch", "device")) {
        put_global(w, "torch", "device");
        put_text(w, py_text(w->vm, v));
        put(w, 0x85, 1), buf_putc(&w->b, 'R');
    } else {
        vm_raise(w->vm, EXC_RuntimeError,
                 "torch.save of an object of class '%s' is not supported; of a model or an "
                 "optimizer, save its state_dict()",
                 type_name(w->vm, v));
    }
}

static void put_value(struct writer *w, struct py v) {
    vm_deep(w->vm);
    vm_tick(w->vm);
    if (py_is_object(v) && recall(w, v.p)) return;
    switch (v.kind) {
    case PY_NONE: buf_putc(&w->b, 'N'); break;
    case PY_BOOL: put_bool(w, v.b); break;
    case PY_INT: put_int(w, v.i); break;
    case PY_FLOAT: put_float(w, v.f); break;
    case PY_STR: put_text(w, v.s); break;
    case PY_DTYPE: put_global(w, "torch", dtype_torch_name(v.dtype)); break;
    case PY_LIST: put_list(w, v.list, false); break;
    case PY_TUPLE: put_list(w, v.list, true); break;
    case PY_DICT:
        buf_putc(&w->b, '}');
        remember(w, v.p);
        put_items(w, v.dict);
        break;
    case PY_TENSOR:
        put_tensor(w, v.tensor);
        remember(w, v.p);
        break;
    case PY_INSTANCE: put_instance(w, v); break;
    default:
        vm_raise(w->vm, EXC_RuntimeError, "torch.save of a '%s' is not supported",
                 type_name(w->vm, v));
    }
}

/* save_state(path, value) */
NATIVE(eager_save_state) {
    if (!vm->eager) vm_refuse(vm, "torch.save is not supported in a workload");
    if (vm->trace) vm_break(vm, "call of torch.save()", "save outside");
    struct writer w = {
        .vm = vm, .b = buf_new(vm->arena), .memo = map_new(vm->arena), .keys = map_new(vm->arena)};
    put(&w, 0x80, 1), put(&w, 2, 1);
    put_value(&w, v[1]);
    buf_putc(&w.b, '.');
    struct archive_writer *a = archive_create(vm, v[0].s);
    archive_put(a, "data.pkl", w.b.p, w.b.n);
    archive_put(a, "byteorder", "little", 6);
    for (uint32_t i = 0; i < w.storages.n; i++)
        archive_put(a, arena_printf(vm->arena, "data/%u", i), w.storages.at[i]->bytes,
                    w.storages.at[i]->size);
    archive_put(a, "version", "3\n", 2);
    archive_close(vm, a);
    return py_none;
}
