/* sweep.c: free the memory of tensors that the program can no longer reach.
 *
 * Values live in arenas and are never freed; the bytes of tensors are, when enough have been made
 * since the last time. Mark what the modules, the running frames and the compiled entries lead to,
 * then free the rest. Called between two instructions, and only where every frame was entered by a
 * call instruction: a function in C may hold tensors that nobody else knows. */
#include <stdlib.h>

#include "capture/dynamo.h"

enum { SWEEP_LEAST = 1 << 28 }; /* bytes made before it is worth it */

struct sweep {
    struct vm *vm;
    struct arena *arena;
    struct map seen;
    VEC(struct py) todo;
};

static bool is_new(struct sweep *s, const void *p) {
    return p && map_put(&s->seen, &p, sizeof p, 1);
}

static void mark(void *ctx, struct py v) {
    struct sweep *s = ctx;
    if (py_is_object(v) && is_new(s, v.p)) vec_push(s->arena, &s->todo, v);
}

static void mark_dict(struct sweep *s, const struct dict *d) {
    for (uint32_t i = 0; d && i < d->entries.n; i++) {
        if (!d->entries.at[i].live) continue;
        mark(s, d->entries.at[i].key);
        mark(s, d->entries.at[i].value);
    }
}

static void mark_cell(struct sweep *s, struct cell *c) {
    if (c) mark(s, py_pointer(PY_CELL, c));
}

static void mark_tensor(struct sweep *s, struct tensor *t) {
    if (t->storage) t->storage->marked = true;
    if (t->grad) mark(s, py_pointer(PY_TENSOR, t->grad));
    if (t->hooks) mark(s, py_pointer(PY_DICT, t->hooks));
    if (!t->tape) return;
    struct tensor *const *inputs;
    struct py function;
    for (uint32_t n = tape_inputs(t->tape, &inputs, &function); n-- > 0;)
        mark(s, py_pointer(PY_TENSOR, inputs[n]));
    mark(s, function);
}

static void mark_class(struct sweep *s, const struct class *c) {
    mark_dict(s, c->dict);
    for (uint32_t i = 0; i < c->n_mro; i++) mark(s, py_pointer(PY_CLASS, c->mro[i]));
}

static void mark_frame(struct sweep *s, const struct frame *f) {
    for (uint32_t i = 0; f->locals && i < f->code->locals.n; i++) mark(s, f->locals[i]);
    for (uint32_t i = 0; i < f->depth; i++) mark(s, f->stack[i]);
    for (uint32_t i = 0; f->cells && i < f->code->cells.n + f->code->frees.n; i++)
        mark_cell(s, f->cells[i]);
    for (uint32_t i = 0; i < f->blocks.n; i++) mark(s, f->blocks.at[i].error);
    mark_dict(s, f->names);
    mark_dict(s, f->module->dict);
}

static void mark_generator(struct sweep *s, const struct generator *g) {
    mark_frame(s, g->frame);
    mark(s, g->result);
}

/* What a value leads to, beside what it holds. */
static void follow(struct sweep *s, struct py v) {
    py_visit(v, mark, s);
    switch (v.kind) {
    case PY_FUNCTION: mark(s, py_pointer(PY_MODULE, v.function->module)); break;
    case PY_CLASS: mark_class(s, v.class); break;
    case PY_INSTANCE: mark(s, py_pointer(PY_CLASS, v.instance->class)); break;
    case PY_MODULE: mark_dict(s, v.module->dict); break;
    case PY_TENSOR: mark_tensor(s, v.tensor); break;
    case PY_GENERATOR: mark_generator(s, v.generator); break;
    default: break;
    }
}

/* Constants of a trace: tensors that no place leads to, and templates. */
static void mark_entry(struct sweep *s, const struct entry *e) {
    const struct segment_end *end = &e->end;
    mark(s, e->function);
    for (uint32_t i = 0; i < e->n_tensors; i++)
        if (!e->tensors[i].place) mark(s, py_pointer(PY_TENSOR, e->tensors[i].tensor));
    mark(s, end->value);
    for (uint32_t i = 0; !end->returns && i < e->code->locals.n; i++) mark(s, end->locals[i]);
    for (uint32_t i = 0; !end->returns && i < end->depth; i++) mark(s, end->stack[i]);
    for (uint32_t i = 0; i < e->code->cells.n + e->code->frees.n; i++) {
        mark_cell(s, end->cells[i].made);
        if (end->cells[i].written) mark(s, end->cells[i].v);
    }
    for (uint32_t i = 0; i < e->n_effects; i++) mark(s, e->effects[i].v);
}

static void mark_roots(struct sweep *s) {
    struct vm *vm = s->vm;
    mark_dict(s, vm->builtins);
    mark_dict(s, vm->main->dict);
    for (uint32_t i = 0; i < vm->modules.n; i++)
        mark(s, py_pointer(PY_MODULE, (void *)(uintptr_t)vm->modules.entries[i].value));
    for (int k = 0; k < PY_KIND_COUNT; k++) mark(s, py_pointer(PY_CLASS, vm->types[k]));
    for (const struct frame *f = vm->frame; f; f = f->caller) mark_frame(s, f);
    for (const struct compiled_code *c = vm->codes; c; c = c->next)
        for (const struct entry *e = c->entries; e; e = e->next) mark_entry(s, e);
    for (const struct compile_options *o = vm->compiles; o; o = o->next) mark(s, o->function);
    mark(s, vm->raised);
}

static void free_unmarked(struct vm *vm) {
    vm->n_bytes = 0;
    for (struct storage **at = &vm->storages, *x; (x = *at);) {
        if (x->marked) {
            vm->n_bytes += x->size;
            x->marked = false;
            at = &x->next;
            continue;
        }
        *at = x->next;
        free(x->bytes);
        free(x);
    }
}

void sweep_if_due(struct vm *vm) {
    if (vm->n_bytes < vm->sweep_at || vm->tracing || !vm->frame->direct) return;
    struct arena *a = arena_new();
    struct sweep s = {.vm = vm, .arena = a, .seen = map_new(a)};
    mark_roots(&s);
    while (s.todo.n) follow(&s, s.todo.at[--s.todo.n]);
    free_unmarked(vm);
    vm->sweep_at = vm->n_bytes * 2 > SWEEP_LEAST ? vm->n_bytes * 2 : SWEEP_LEAST;
    arena_free(a);
}
