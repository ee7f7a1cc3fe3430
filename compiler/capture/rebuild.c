/* rebuild.c: from the templates at the end of a segment to values.
 *
 *   template  (%mul, [L['x'], 3], s0 + 1)   ->   (output 0, [the tensor at L['x'], 3], 17)
 *
 * What has a place is fetched from there. What the trace made is made again, once however often it
 * is met; everything else exists and is taken as it is. */
#include <stdlib.h>

#include "capture/dynamo.h"

struct made {
    const void *from;
    struct py to;
};

struct rebuild {
    struct vm *vm;
    const struct entry *e;
    const struct py *outputs;
    VEC(struct made) made;
};

static bool is_made_by(const struct entry *e, const void *p) { return arena_owns(e->arena, p); }

/* -- which tensors are needed -------------------------------------------------------------- */

struct collect {
    struct vm *vm;
    struct entry *e;
    struct graph *g;
    struct map seen;
    VEC(struct tensor *) tensors; /* of the graph, that are no input's memory */
};

static void collect_node(struct collect *c, node_id n) {
    if (c->g->nodes.at[n].op == OP_INPUT) return;
    for (uint32_t i = 0; i < c->g->outputs.n; i++)
        if (c->g->outputs.at[i] == n) return;
    vec_push(c->e->arena, &c->g->outputs, n);
}

/* The input whose memory a tensor of the trace is, or NULL. */
static const struct tensor_guard *input_behind(const struct entry *e, const struct tensor *t) {
    for (uint32_t i = 0; i < e->n_tensors; i++)
        if (e->tensors[i].storage && e->tensors[i].storage == t->storage) return &e->tensors[i];
    return NULL;
}

/* Is it a detached tensor of memory that outlives the segment, too, with a gradient of its own? */
static bool has_own_gradient(struct collect *c, const struct tensor *t) {
    bool own = t->graph == c->g && t->own && t->own->version == t->storage->version;
    return own && tensor_carries_gradient(c->vm, t->own->base) &&
           (input_behind(c->e, t) || t->storage->shared);
}

static void lose(struct trace *trace, struct tensor *t) {
    if (!trace->lost || t->made_at < trace->lost->made_at) trace->lost = t;
}

/* A view of an input is taken again from the input, so that it goes on sharing its memory. */
static void collect_tensor(struct collect *c, struct tensor *t) {
    if (t->lost_view || t->selected || has_own_gradient(c, t)) lose(c->vm->trace, t);
    if (t->selected) return;
    if (t->graph != c->g || input_behind(c->e, t)) return;
    for (uint32_t i = 0; i < c->tensors.n; i++) {
        if (c->tensors.at[i] == t) return;
        if (c->tensors.at[i]->storage == t->storage) t->storage->shared = true;
    }
    vec_push(c->e->arena, &c->tensors, t);
}

/* Of tensors that share memory all of it is an output, and they are taken from that: they are to go
 * on sharing it. */
static void collect_nodes(struct collect *c) {
    for (uint32_t i = 0; i < c->tensors.n; i++) {
        struct tensor *t = c->tensors.at[i];
        if (has_own_gradient(c, t)) lose(c->vm->trace, t);
        node_id node = functional_node(c->vm, t);
        collect_node(c, t->storage->shared ? t->storage->base : node);
    }
}

static void collect(void *ctx, struct py v) {
    struct collect *c = ctx;
    if (place_is_known(v.source)) return entry_need_place(c->vm, c->e, v.source);
    if (v.kind == PY_TENSOR) return collect_tensor(c, v.tensor);
    if (!py_is_object(v) || !is_made_by(c->e, v.p)) return;
    if (map_put(&c->seen, &v.p, sizeof v.p, 1)) py_visit(v, collect, c);
}

/* Inputs updated in place, each once, however many places hold it. */
static void collect_updates(struct collect *c) {
    struct entry *e = c->e;
    e->updates = NEW_ARRAY(e->arena, uint32_t, e->n_tensors);
    for (uint32_t i = 0; i < e->n_tensors; i++) {
        const struct tensor_guard *g = &e->tensors[i];
        bool again = false;
        if (!g->tensor || !g->storage || !g->storage->version) continue;
        for (uint32_t k = 0; k < e->n_updates; k++)
            again |= e->tensors[e->updates[k]].tensor == g->tensor;
        if (again) continue;
        e->updates[e->n_updates++] = i;
        collect_node(c, g->storage->base);
    }
}

void entry_collect_outputs(struct vm *vm, struct entry *e) {
    struct collect c = {.vm = vm, .e = e, .g = vm->graph, .seen = map_new(e->arena)};
    const struct segment_end *end = &e->end;
    collect(&c, end->value);
    for (uint32_t i = 0; !end->returns && i < e->code->locals.n; i++) collect(&c, end->locals[i]);
    for (uint32_t i = 0; !end->returns && i < end->depth; i++) collect(&c, end->stack[i]);
    for (uint32_t i = 0; !end->returns && i < end->n_blocks; i++) collect(&c, end->blocks[i].error);
    for (uint32_t i = 0; i < e->code->cells.n + e->code->frees.n; i++) {
        if (end->cells[i].made) collect(&c, py_pointer(PY_CELL, end->cells[i].made));
        if (end->cells[i].written) collect(&c, end->cells[i].v);
    }
    for (uint32_t i = 0; i < e->n_effects; i++) collect(&c, e->effects[i].v);
    collect_nodes(&c);
    collect_updates(&c);
    e->outputs = c.g->outputs.at;
    e->n_outputs = c.g->outputs.n;
    if (!c.g->outputs.n) return;
    e->outputs = NEW_ARRAY(e->arena, node_id, e->n_outputs);
    memcpy(e->outputs, c.g->outputs.at, e->n_outputs * sizeof *e->outputs);
    e->laid = NEW_ARRAY(e->arena, struct meta, e->n_outputs);
    for (uint32_t i = 0; i < e->n_outputs; i++) {
        const struct meta *m = &c.g->nodes.at[e->outputs[i]].meta;
        if (strides_permute(c.g->ex, m)) e->laid[i] = *m;
    }
}

/* -- making values ------------------------------------------------------------------------- */

static struct py rebuild(struct rebuild *r, struct py v);

static struct list *rebuild_list(struct rebuild *r, const struct list *l) {
    struct list *out = NEW(r->vm->arena, struct list);
    out->is_size = l->is_size;
    out->view = l->view;
    for (uint32_t i = 0; i < l->n; i++) vec_push(r->vm->arena, out, rebuild(r, l->at[i]));
    return out;
}

static void rebuild_dict(struct rebuild *r, const struct dict *from, struct dict *to) {
    for (uint32_t i = 0; i < from->entries.n; i++) {
        struct dict_entry e = from->entries.at[i];
        if (e.live) dict_put(r->vm->arena, to, rebuild(r, e.key), rebuild(r, e.value));
    }
}

static struct py remember(struct rebuild *r, const void *from, struct py to) {
    struct made m = {from, to};
    vec_push(r->vm->arena, &r->made, m);
    return to;
}

static struct py input_tensor(const struct entry *e, const struct tensor_guard *g) {
    return g->place ? e->values[g->slot] : py_pointer(PY_TENSOR, g->tensor);
}

static struct py tensor_at(const struct rebuild *r, node_id n) {
    const struct entry *e = r->e;
    for (uint32_t i = 0; i < e->n_tensors; i++)
        if (e->tensors[i].tensor && e->tensors[i].node == n) return input_tensor(e, &e->tensors[i]);
    for (uint32_t i = 0; i < e->n_outputs; i++)
        if (e->outputs[i] == n) return r->outputs[i];
    WS_BUG("a tensor of a trace that is no output of its graph");
}

static struct py integer(const struct entry *e, ex x) { return py_int(entry_number(e, x)); }

/* One step of a view, on a tensor with values. */
static struct py take_step(const struct rebuild *r, struct py x, const struct view_step *s) {
    struct py args[MAX_PARAMS] = {x};
    for (int i = 1; i < s->n_args; i++) {
        const struct arg *a = &s->args[i];
        if (a->kind == ARG_INT) args[i] = integer(r->e, a->i);
        if (a->kind != ARG_INTS) continue;
        args[i] = py_list(r->vm->arena, PY_LIST, NULL, 0);
        for (uint32_t k = 0; k < a->ints.n; k++)
            vec_push(r->vm->arena, args[i].list, integer(r->e, a->ints.at[k]));
    }
    return tensor_call(r->vm, s->op, args, s->n_args);
}

static struct py view_of(const struct rebuild *r, struct py x, const struct tensor *t, bool cut) {
    if (x.tensor->requires_grad && cut) x = tensor_call(r->vm, OP_DETACH, &x, 1);
    for (uint32_t i = 0; i < t->n_steps; i++) x = take_step(r, x, &t->steps[i]);
    return x;
}

/* All of the memory that several tensors share. */
static struct py whole_of(struct rebuild *r, const struct storage *s) {
    for (uint32_t i = 0; i < r->made.n; i++)
        if (r->made.at[i].from == s) return r->made.at[i].to;
    return remember(r, s, tensor_at(r, s->base));
}

static struct py rebuild_tensor(struct rebuild *r, struct py v) {
    const struct tensor *t = v.tensor;
    if (!t->graph) return v;
    const struct tensor_guard *g = input_behind(r->e, t);
    struct py out = g                    ? view_of(r, input_tensor(r->e, g), t, !t->requires_grad)
                    : t->storage->shared ? view_of(r, whole_of(r, t->storage), t, t->detached)
                                         : tensor_at(r, t->node);
    return remember(r, v.p, out);
}

/* Inputs that were updated in place get what the graph made of them. All values are taken before
 * the first is written: x and y may have changed places. */
static void write_updates(struct rebuild *r) {
    struct vm *vm = r->vm;
    const struct entry *e = r->e;
    struct value *values = NEW_ARRAY(vm->arena, struct value, e->n_updates);
    for (uint32_t i = 0; i < e->n_updates; i++)
        values[i] = eager_values(vm, tensor_at(r, e->tensors[e->updates[i]].storage->base).tensor);
    for (uint32_t i = 0; i < e->n_updates; i++) {
        eager_write(vm, input_tensor(e, &e->tensors[e->updates[i]]).tensor, &values[i]);
        value_free(&values[i]);
    }
}

static struct py rebuild_function(struct rebuild *r, const struct function *f) {
    struct function *out = NEW(r->vm->arena, struct function);
    *out = *f;
    struct py made = remember(r, f, py_pointer(PY_FUNCTION, out));
    if (f->defaults) out->defaults = rebuild_list(r, f->defaults);
    if (f->kwdefaults) rebuild_dict(r, f->kwdefaults, out->kwdefaults = dict_new(r->vm->arena));
    if (f->attributes) rebuild_dict(r, f->attributes, out->attributes = dict_new(r->vm->arena));
    out->closure = NEW_ARRAY(r->vm->arena, struct cell *, f->code->frees.n);
    for (uint32_t i = 0; i < f->code->frees.n; i++)
        out->closure[i] = rebuild(r, py_pointer(PY_CELL, f->closure[i])).cell;
    return made;
}

static struct py rebuild_instance(struct rebuild *r, const struct instance *o) {
    struct instance *out = NEW(r->vm->arena, struct instance);
    *out = *o;
    out->dict = dict_new(r->vm->arena);
    struct py made = remember(r, o, py_pointer(PY_INSTANCE, out));
    rebuild_dict(r, o->dict, out->dict);
    out->base = rebuild(r, o->base);
    return made;
}

static struct py rebuild_cell(struct rebuild *r, const struct cell *c) {
    struct cell *out = NEW(r->vm->arena, struct cell);
    struct py made = remember(r, c, py_pointer(PY_CELL, out));
    out->v = rebuild(r, c->v);
    return made;
}

static struct py rebuild_object(struct rebuild *r, struct py v) {
    struct arena *a = r->vm->arena;
    switch (v.kind) {
    case PY_TUPLE: {
        struct py out = py_pointer(PY_TUPLE, rebuild_list(r, v.list));
        return remember(r, v.p, out);
    }
    case PY_LIST: {
        struct py out = py_list(a, PY_LIST, NULL, 0); /* may contain itself */
        remember(r, v.p, out);
        *out.list = *rebuild_list(r, v.list);
        return out;
    }
    case PY_DICT:
    case PY_SET: {
        struct py out = remember(r, v.p, py_dict(a, v.kind));
        rebuild_dict(r, v.dict, out.dict);
        return out;
    }
    case PY_SLICE: {
        struct slice *s = NEW(a, struct slice);
        *s = (struct slice){rebuild(r, v.slice->start), rebuild(r, v.slice->stop),
                            rebuild(r, v.slice->step)};
        return remember(r, v.p, py_pointer(PY_SLICE, s));
    }
    case PY_RANGE: return py_range(a, v.range->start, v.range->stop, v.range->step);
    case PY_ITER: {
        struct iter *it = NEW(a, struct iter);
        *it = *v.iter;
        it->over = rebuild(r, v.iter->over);
        return remember(r, v.p, py_pointer(PY_ITER, it));
    }
    case PY_CELL: return rebuild_cell(r, v.cell);
    case PY_FUNCTION: return rebuild_function(r, v.function);
    case PY_METHOD: return py_method(a, rebuild(r, v.method->function), rebuild(r, v.method->self));
    case PY_INSTANCE: return rebuild_instance(r, v.instance);
    case PY_SUPER: {
        struct super *s = NEW(a, struct super);
        *s = (struct super){v.super->after, rebuild(r, v.super->self)};
        return py_pointer(PY_SUPER, s);
    }
    default: return v; /* classes, builtins and modules stay in the entry, which lives on */
    }
}

static struct py rebuild(struct rebuild *r, struct py v) {
    if (place_is_known(v.source)) {
        v = r->e->values[place_slot(r->e, v.source)];
        v.source = NULL;
        return v;
    }
    v.source = NULL;
    if (v.kind == PY_SYMINT) return integer(r->e, v.symbolic);
    if (v.kind == PY_SYMFLOAT) return py_float(v.f);
    if (!py_is_object(v) || !is_made_by(r->e, v.p)) return v;
    for (uint32_t i = 0; i < r->made.n; i++)
        if (r->made.at[i].from == v.p) return r->made.at[i].to;
    return v.kind == PY_TENSOR ? rebuild_tensor(r, v) : rebuild_object(r, v);
}

/* -- the frame ----------------------------------------------------------------------------- */

static void finish_cells(struct rebuild *r, struct frame *f) {
    for (uint32_t i = 0; i < f->code->cells.n + f->code->frees.n; i++) {
        const struct cell_end *c = &r->e->end.cells[i];
        if (c->made) f->cells[i] = rebuild(r, py_pointer(PY_CELL, c->made)).cell;
        if (!c->written) continue;
        f->cells[i]->v = rebuild(r, c->v);
        f->cells[i]->version++;
    }
}

static void finish_effects(struct rebuild *r) {
    for (uint32_t i = 0; i < r->e->n_effects; i++) {
        const struct attribute_effect *x = &r->e->effects[i];
        struct py o = r->e->values[place_slot(r->e, x->place)];
        attribute_put(r->vm, o, x->name, rebuild(r, x->v));
    }
}

bool entry_finish(struct vm *vm, const struct entry *e, struct frame *f, const struct py *outputs,
                  struct py *value) {
    const struct segment_end *end = &e->end;
    struct rebuild r = {.vm = vm, .e = e, .outputs = outputs};
    write_updates(&r);
    finish_cells(&r, f);
    struct py *locals = NEW_ARRAY(vm->arena, struct py, f->code->locals.n);
    struct py *stack = NEW_ARRAY(vm->arena, struct py, end->depth);
    for (uint32_t i = 0; !end->returns && i < f->code->locals.n; i++)
        locals[i] = rebuild(&r, end->locals[i]);
    for (uint32_t i = 0; !end->returns && i < end->depth; i++)
        stack[i] = rebuild(&r, end->stack[i]);
    struct py out = end->returns ? rebuild(&r, end->value) : py_unset;
    finish_effects(&r);
    vm->grad_enabled = end->grad_enabled;
    vm->autocast = end->autocast;
    if (end->returns) return *value = out, true;

    f->pc = end->pc;
    f->depth = end->depth;
    if (f->code->locals.n) memcpy(f->locals, locals, f->code->locals.n * sizeof *locals);
    if (end->depth) memcpy(f->stack, stack, end->depth * sizeof *stack);
    f->blocks.n = 0;
    for (uint32_t i = 0; i < end->n_blocks; i++) {
        struct block b = end->blocks[i];
        b.error = rebuild(&r, b.error);
        vec_push(vm->arena, &f->blocks, b);
    }
    return false;
}
