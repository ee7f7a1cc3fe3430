/* trace.c: one segment of a compiled function (dynamo.h), run over tracked values.
 *
 *   frame f(x, n=2) at 0      x: tensor f32 [100]     tensors   L['x'] f32 [s0] stride [1]
 *                             n: 2, symbolic          symbols   s0 = dim 0 of L['x'], s1 = L['n']
 *       return x[:n] * 2                              graph     slice(%x, 0, 0, s1), mul(.., 2)
 *                                                     guards    s1 <= s0, 2 <= s0, 2 <= s1
 *
 * The frame itself is not touched: a copy of it runs, whose values know their places. */
#include "capture/dynamo.h"

#include "capture/backend.h"
#include "capture/script.h"
#include "graph/traits.h"

void trace_stop(struct vm *vm, const char *what, int limit) {
    vm->trace->endless = true;
    vm_refuse(vm, "%s was traced for %d %s without an end: is this an infinite loop?",
              vm->trace->root.code->qualname, limit, what);
}

/* -- what a trace may change --------------------------------------------------------------- */

static bool trace_owns(const struct vm *vm, const void *p) {
    return vm->trace && arena_owns(vm->trace->entry->arena, p);
}

void vm_need_own(struct vm *vm, const void *object, const char *what) {
    if (vm->trace && !trace_owns(vm, object))
        vm_break(vm, arena_printf(vm->arena, "change of %s that exists outside", what),
                 "make a new one");
}

bool trace_attribute(const struct vm *vm, const struct instance *o, const char *name,
                     struct py *out) {
    const struct trace *t = vm->trace;
    for (uint32_t i = t ? t->effects.n : 0; i-- > 0;) {
        const struct attribute_effect *x = &t->effects.at[i];
        if (x->instance == o && !strcmp(x->name, name)) return *out = x->v, true;
    }
    return false;
}

bool trace_set_attribute(struct vm *vm, struct py o, const char *name, struct py v) {
    if (!vm->trace || o.kind != PY_INSTANCE || trace_owns(vm, o.instance)) return false;
    if (!place_is_known(o.source)) vm_need_own(vm, o.instance, "an object");
    for (uint32_t i = 0; i < vm->trace->effects.n; i++) {
        struct attribute_effect *x = &vm->trace->effects.at[i];
        if (x->instance == o.instance && !strcmp(x->name, name)) return x->v = v, true;
    }
    struct attribute_effect x = {o.instance, o.source, name, v};
    vec_push(vm->arena, &vm->trace->effects, x);
    return true;
}

/* -- symbolic or not ----------------------------------------------------------------------- */

/* What was at that place in earlier traces of this function. */
static struct seen *seen_at(struct vm *vm, const char *text, bool *is_new) {
    for (struct seen *s = vm->trace->code->seen; s; s = s->next)
        if (!strcmp(s->text, text)) return *is_new = false, s;
    struct seen *s = NEW(vm->home, struct seen);
    *s = (struct seen){.next = vm->trace->code->seen, .text = arena_strdup(vm->home, text)};
    vm->trace->code->seen = s;
    return *is_new = true, s;
}

static int dynamic_mode(const struct trace *t) {
    return t->is_static ? DYNAMIC_NEVER : (int)t->entry->how->dynamic;
}

/* The symbol for a number: one that another size of the same value has already, as most equal sizes
 * are equal for a reason. */
static ex symbol_for(struct vm *vm, struct symbol s, int64_t value) {
    struct trace *t = vm->trace;
    for (uint32_t i = 0; i < t->symbols.n && !s.place; i++)
        if (!t->symbols.at[i].place && ex_symbol(vm->ex, t->symbols.at[i].ex)->hint == value)
            return t->symbols.at[i].ex;
    const char *name = arena_printf(vm->arena, "s%u", t->symbols.n);
    s.ex = ex_size(vm->ex, name, 2, value);
    vec_push(vm->arena, &t->symbols, s);
    return s.ex;
}

/* For WS_LOGS=dynamic: said when the trace is done, as tries that end earlier know less. */
static void note(struct vm *vm, const char *what, ex symbol, const char *why) {
    struct trace *t = vm->trace;
    const char *name = symbol == EX_NONE ? "a symbolic float" : ex_str(vm->arena, vm->ex, symbol);
    const char *text = arena_printf(vm->arena, "%s is %s: %s", what, name, why);
    for (uint32_t i = 0; i < t->notes.n; i++)
        if (!strcmp(t->notes.at[i], text)) return;
    vec_push(vm->arena, &t->notes, text);
}

static void say_notes(struct vm *vm, const struct trace *t) {
    for (uint32_t i = 0; i < t->notes.n; i++)
        dynamo_say(vm, "dynamic in %s (%s:%u): %s\n", t->real->code->qualname,
                   t->real->code->source->path, t->real->code->first_line, t->notes.at[i]);
}

/* Which dimensions of a tensor are symbolic. */
static uint8_t dynamic_dims(struct vm *vm, const struct tensor *t, const struct place *place) {
    int mode = dynamic_mode(vm->trace);
    uint8_t out = mode == DYNAMIC_ALWAYS ? 0xff : t->dynamic;
    if (!place || mode == DYNAMIC_NEVER) return 0;
    bool is_new;
    struct seen *s = seen_at(vm, place->path, &is_new);
    if (is_new) s->rank = t->meta.rank;
    for (int i = 0; i < t->meta.rank && s->rank == t->meta.rank; i++) {
        int64_t size = eager_size(vm, t, i);
        if (!is_new && s->size[i] != size) {
            s->dynamic |= (uint8_t)(1u << i);
            s->size_before[i] = s->size[i];
        }
        s->size[i] = size;
    }
    if (t->kind != INPUT_ARG && mode != DYNAMIC_ALWAYS) return t->dynamic;
    return t->kind == INPUT_ARG ? out | s->dynamic : t->dynamic;
}

static void note_number(struct vm *vm, const struct place *place, const struct seen *s, ex symbol) {
    if (!dynamo_logs(vm, LOG_DYNAMIC)) return;
    const char *why = "dynamic=True";
    if (s->dynamic)
        why = arena_printf(vm->arena, "it was %s, now %s", py_repr(vm, s->v_before),
                           py_repr(vm, s->v));
    note(vm, place->text, symbol, why);
}

/* Dimension `dim` of the tensor at a place: a symbol from now on. */
static void note_size(struct vm *vm, const struct tensor *t, const struct place *place, int dim,
                      ex symbol) {
    if (!dynamo_logs(vm, LOG_DYNAMIC)) return;
    bool is_new;
    const struct seen *s = seen_at(vm, place->path, &is_new);
    const char *why = "dynamic=True";
    if (t->kind == INPUT_ARG && s->dynamic >> dim & 1)
        why = arena_printf(vm->arena, "it was %lld, now %lld", (long long)s->size_before[dim],
                           (long long)s->size[dim]);
    else if (t->dynamic >> dim & 1)
        why = "mark_dynamic";
    note(vm, arena_printf(vm->arena, "dimension %d of %s", dim, place->text), symbol, why);
}

/* An int or a float that is read from a parameter. */
static struct py number_read(struct vm *vm, struct py v) {
    struct trace *t = vm->trace;
    int mode = dynamic_mode(t);
    bool own = v.source->kind == PLACE_LOCAL || v.source->kind == PLACE_STACK;
    if (mode == DYNAMIC_NEVER || !own) return v;
    bool is_new;
    struct seen *s = seen_at(vm, v.source->path, &is_new);
    if (!is_new && !(s->v.kind == v.kind && py_same(s->v, v))) {
        s->dynamic = 1;
        s->v_before = s->v;
    }
    s->v = v;
    struct py out = v;
    if (v.kind == PY_FLOAT && s->dynamic) {
        out.kind = PY_SYMFLOAT;
        note_number(vm, v.source, s, EX_NONE);
    } else if (v.kind == PY_INT && v.i >= 2 && (s->dynamic || mode == DYNAMIC_ALWAYS)) {
        out.kind = PY_SYMINT;
        out.symbolic = symbol_for(vm, (struct symbol){.place = v.source}, v.i);
        note_number(vm, v.source, s, out.symbolic);
    }
    return out;
}

struct py trace_read(struct vm *vm, struct py v) {
    if (!place_is_known(v.source)) return v;
    if (v.kind == PY_INT || v.kind == PY_FLOAT) v = number_read(vm, v);
    guard_read(vm, v);
    return v;
}

/* -- inputs -------------------------------------------------------------------------------- */

/* Strides follow sizes: the smallest first, each the product of one already done with its size; a
 * stride that is no such product is a number. */
static void symbolic_strides(struct vm *vm, const struct tensor *t, struct meta *m) {
    bool done[WS_MAX_RANK] = {0};
    for (int k = 0; k < m->rank; k++) {
        int next = m->rank - 1;
        while (done[next]) next--;
        for (int i = next; i-- > 0;)
            if (!done[i] && eager_stride(vm, t, i) < eager_stride(vm, t, next)) next = i;
        int64_t stride = eager_stride(vm, t, next);
        m->stride[next] = ex_const(vm->ex, stride);
        for (int i = 0; i < m->rank; i++) {
            if (!done[i]) continue;
            ex product = ex_mul(vm->ex, m->size[i], m->stride[i]);
            if (ex_hint(vm->ex, product) == stride && stride > 1) m->stride[next] = product;
        }
        done[next] = true;
    }
}

static struct meta input_meta(struct vm *vm, const struct tensor *t, const struct place *place) {
    struct meta m = {.dtype = t->meta.dtype, .rank = t->meta.rank};
    uint8_t dynamic = dynamic_dims(vm, t, place);
    for (int i = 0; i < m.rank; i++) {
        int64_t size = eager_size(vm, t, i);
        struct symbol s = {.tensor = vm->trace->tensors.n, .dim = i};
        bool is_symbol = size >= 2 && dynamic >> i & 1;
        m.size[i] = is_symbol ? symbol_for(vm, s, size) : ex_const(vm->ex, size);
        if (is_symbol) note_size(vm, t, place, i, m.size[i]);
    }
    symbolic_strides(vm, t, &m);
    return m;
}

/* Two tensors of the program that share memory would have to follow each other's updates. updated:
 * only those matter that have been updated already. */
static void need_alone(struct vm *vm, const struct tensor *t, bool updated) {
    const struct trace *tr = vm->trace;
    for (uint32_t i = 0; i < tr->tensors.n; i++) {
        const struct tensor_guard *g = &tr->tensors.at[i];
        bool matters = !updated || (g->storage && g->storage->version);
        if (g->tensor && g->tensor != t && g->tensor->storage == t->storage && matters)
            vm_break(vm, "use of two outside tensors that share memory", "clone one of them");
    }
}

node_id trace_input(struct vm *vm, struct py v) {
    struct trace *tr = vm->trace;
    struct tensor *t = v.tensor;
    const struct place *place = place_is_known(v.source) ? v.source : NULL;
    if (t->graph) vm_refuse(vm, "a tensor of another trace");
    struct tensor_guard g = {.place = place, .tensor = t, .requires_grad = t->requires_grad};
    bool again = false;
    for (uint32_t i = 0; i < tr->tensors.n; i++) {
        const struct tensor_guard *x = &tr->tensors.at[i];
        if (x->tensor != t) continue;
        if (!place || x->place == place || (x->place && !strcmp(x->place->path, place->path)))
            return x->storage ? x->storage->base : x->node;
        g.node = x->node;
        g.storage = x->storage;
        g.meta = x->meta;
        again = true;
    }
    if (!again) {
        g.meta = input_meta(vm, t, place);
        const char *source =
            place ? place->text : arena_printf(vm->arena, "T[%u]", vm->graph->inputs.n);
        g.node = graph_input(vm->graph, input_name(vm->arena, source), t->kind, source, &g.meta,
                             tr->tensors.n);
    }
    need_alone(vm, t, true);
    vec_push(vm->arena, &tr->tensors, g);
    return g.storage ? g.storage->base : g.node;
}

const struct tensor *trace_owner(const struct vm *vm, const struct storage *s) {
    const struct trace *tr = vm->trace;
    for (uint32_t i = 0; tr && s && i < tr->tensors.n; i++)
        if (tr->tensors.at[i].storage == s) return tr->tensors.at[i].tensor;
    return NULL;
}

/* Which of the trace's tensors v is; -1: it has no place of its own. */
static int64_t placed_tensor(struct vm *vm, struct py v) {
    const struct trace *t = vm->trace;
    if (!place_is_known(v.source)) return -1;
    trace_input(vm, v);
    for (uint32_t i = 0; i < t->tensors.n; i++)
        if (t->tensors.at[i].tensor == v.tensor && t->tensors.at[i].place &&
            !strcmp(t->tensors.at[i].place->path, v.source->path))
            return i;
    return -1;
}

void trace_compared(struct vm *vm, struct py x, struct py y) {
    if (x.tensor->graph || y.tensor->graph) return;
    int64_t a = placed_tensor(vm, x), b = placed_tensor(vm, y);
    if (a < 0 || b < 0 || x.tensor == y.tensor) return;
    struct alias two = {(uint32_t)a, (uint32_t)b, .differ = true};
    vec_push(vm->arena, &vm->trace->apart, two);
}

struct storage *trace_storage(struct vm *vm, struct py v) {
    struct trace *tr = vm->trace;
    struct storage *s = NULL;
    trace_input(vm, v);
    need_alone(vm, v.tensor, false);
    for (uint32_t i = 0; i < tr->tensors.n; i++)
        if (tr->tensors.at[i].tensor == v.tensor && tr->tensors.at[i].storage)
            s = tr->tensors.at[i].storage;
    if (!s) s = NEW(vm->arena, struct storage);
    for (uint32_t i = 0; i < tr->tensors.n; i++) {
        struct tensor_guard *g = &tr->tensors.at[i];
        if (g->tensor != v.tensor || g->storage) continue;
        g->storage = s;
        s->base = s->version ? s->base : g->node;
    }
    return s;
}

/* A float as an input of the graph: a tensor without dimensions, which does not widen what it
 * meets. The node behind it is the item() that PyTorch's graph has there. */
node_id trace_float(struct vm *vm, struct py v) {
    struct trace *tr = vm->trace;
    for (uint32_t i = 0; i < tr->tensors.n; i++)
        if (!tr->tensors.at[i].tensor && !strcmp(tr->tensors.at[i].place->path, v.source->path))
            return tr->tensors.at[i].node;
    struct tensor_guard g = {.place = v.source, .meta = {.dtype = DT_F64}};
    node_id in = graph_input(vm->graph, input_name(vm->arena, v.source->text), INPUT_ARG,
                             v.source->text, &g.meta, tr->tensors.n);
    struct arg args[2] = {arg_node(in), arg_dtype(DT_F64)};
    if (!graph_call(vm->graph, OP_CAST, args, 2, vm_line(vm), vm->diag, &g.node)) vm_leave(vm);
    vec_push(vm->arena, &tr->tensors, g);
    return g.node;
}

/* -- the copy of the frame ----------------------------------------------------------------- */

/* An iterator is copied with what it walks, as a trace advances it. */
static struct py copy_iterator(struct vm *vm, struct py v, const struct place *place) {
    struct iter *it = NEW(vm->arena, struct iter);
    *it = *v.iter;
    v.source = place;
    guard_read(vm, v);
    guard_length(vm, v, it->i);
    it->over.source = place_over(vm, place);
    guard_read(vm, it->over);
    return py_pointer(PY_ITER, it);
}

static void copy_frame(struct trace *t) {
    struct vm *vm = t->vm;
    const struct frame *f = t->real;
    const struct code *c = f->code;
    struct frame *r = &t->root;
    *r = (struct frame){.caller = f->caller,
                        .code = c,
                        .module = f->module,
                        .names = f->names,
                        .depth = f->depth,
                        .pc = f->pc};
    r->locals = NEW_ARRAY(vm->arena, struct py, c->locals.n);
    r->stack = NEW_ARRAY(vm->arena, struct py, c->max_stack);
    r->cells = NEW_ARRAY(vm->arena, struct cell *, c->cells.n + c->frees.n);
    for (uint32_t i = 0; i < c->locals.n; i++) {
        r->locals[i] = f->locals[i];
        r->locals[i].source = place_local(vm, i, c->locals.at[i]);
    }
    for (uint32_t i = 0; i < f->depth; i++) {
        struct py v = f->stack[i];
        const struct place *place = place_stack(vm, i);
        v.source = place;
        r->stack[i] = v.kind == PY_ITER ? copy_iterator(vm, v, place) : trace_read(vm, v);
    }
    for (uint32_t i = 0; i < c->cells.n + c->frees.n; i++) {
        r->cells[i] = f->cells[i];
        if (!f->cells[i] || f->cells[i]->shadow) continue;
        struct cell *shadow = NEW(vm->arena, struct cell);
        *shadow = (struct cell){.v = f->cells[i]->v, .traced = true};
        shadow->v.source = place_cell(vm, NULL, i, code_cell_name(c, (int32_t)i));
        f->cells[i]->shadow = shadow;
    }
    for (uint32_t i = 0; i < f->blocks.n; i++) vec_push(vm->arena, &r->blocks, f->blocks.at[i]);
}

static void drop_shadows(const struct trace *t) {
    const struct code *c = t->real->code;
    for (uint32_t i = 0; i < c->cells.n + c->frees.n; i++)
        if (t->real->cells[i]) t->real->cells[i]->shadow = NULL;
}

/* -- the end of a segment ------------------------------------------------------------------ */

/* Is a local read before it is written, from instruction pc on? */
static bool is_live(const struct code *c, uint32_t pc, int32_t local, bool *seen) {
    for (; pc < c->n_instrs && !seen[pc]; pc++) {
        const struct instr *in = &c->instrs[pc];
        seen[pc] = true;
        if ((in->op == OP_LOAD_FAST || in->op == OP_DELETE_FAST) && in->a == local) return true;
        if (in->op == OP_MAKE_CELL && in->b == local) return true;
        if (in->op == OP_STORE_FAST && in->a == local) return false;
        if (opcode_operand((enum opcode)in->op, 0) == OPERAND_JUMP &&
            is_live(c, (uint32_t)in->a, local, seen))
            return true;
        if (in->op == OP_JUMP || in->op == OP_RETURN_VALUE || in->op == OP_RERAISE ||
            in->op == OP_RAISE)
            return false;
    }
    return false;
}

static void end_cells(struct trace *t, struct segment_end *end) {
    struct vm *vm = t->vm;
    const struct code *c = t->root.code;
    uint32_t n = c->cells.n + c->frees.n;
    end->cells = NEW_ARRAY(vm->arena, struct cell_end, n);
    for (uint32_t i = 0; i < n; i++) {
        struct cell *now = t->root.cells[i], *before = t->real->cells[i];
        if (now && now != before) end->cells[i].made = now;
        if (!now || now != before || !before->shadow) continue;
        const struct cell *shadow = before->shadow;
        bool same = shadow->v.kind == before->v.kind && shadow->v.p == before->v.p &&
                    place_is_known(shadow->v.source);
        end->cells[i].written = !same;
        end->cells[i].v = shadow->v;
    }
}

static void end_segment(struct trace *t, bool returns, struct py value) {
    struct vm *vm = t->vm;
    struct segment_end *end = &t->entry->end;
    const struct frame *r = &t->root;
    *end = (struct segment_end){.returns = returns,
                                .value = value,
                                .pc = r->pc,
                                .depth = r->depth,
                                .stack = r->stack,
                                .blocks = r->blocks.at,
                                .n_blocks = r->blocks.n,
                                .grad_enabled = vm->grad_enabled,
                                .autocast = vm->autocast};
    end_cells(t, end);
    end->locals = NEW_ARRAY(vm->arena, struct py, r->code->locals.n);
    for (uint32_t i = 0; !returns && i < r->code->locals.n; i++) {
        bool *seen = NEW_ARRAY(vm->arena, bool, r->code->n_instrs);
        if (is_live(r->code, r->pc, (int32_t)i, seen)) end->locals[i] = r->locals[i];
    }
}

static void run_segment(struct trace *t) {
    struct frame *f = &t->root;
    for (;; f->pc++, t->n_steps++) {
        if (t->n_steps == t->stop_at) return end_segment(t, false, py_unset);
        struct instr in = f->code->instrs[f->pc];
        if (in.op == OP_RETURN_VALUE) return end_segment(t, true, f->stack[f->depth - 1]);
        vm_tick(t->vm);
        vm_step(t->vm, f, in);
    }
}

/* -- one try ------------------------------------------------------------------------------- */

/* Why the trace cannot go on. */
static void note_failure(struct trace *t) {
    struct vm *vm = t->vm;
    if (t->reason) return; /* vm_break said it */
    if (vm->raised.kind == PY_INSTANCE) {
        const struct instance *e = vm->raised.instance;
        t->reason = arena_printf(vm->home, "%s", e->class->name);
        t->where = e->raised_at;
    } else {
        t->reason = vm->diag->message ? arena_strdup(vm->home, vm->diag->message) : "unsupported";
        const struct source *src;
        t->where = vm_place(vm, &src);
    }
}

/* The trace, with the exceptions that the frame handles itself. False if it cannot go on. */
static bool try_segment(struct trace *t) {
    struct vm *vm = t->vm;
    jmp_buf here;
    vm->escape = &here;
    uint32_t n_calls = vm->n_calls, n_frames = vm->n_frames;
    if (setjmp(here)) {
        vm->n_calls = n_calls;
        vm->n_frames = n_frames;
        vm->escape = &here;
        bool refused = vm->raised.kind == PY_UNSET;
        if (refused || !t->root.blocks.n) return note_failure(t), false;
        vm->frame = &t->root;
        struct py raised = vm->raised;
        if (!vm_unwind(vm, &t->root)) {
            vm->raised = raised;
            return note_failure(t), false;
        }
        t->n_steps++;
    } else {
        copy_frame(t);
        vm->frame = &t->root;
    }
    run_segment(t);
    return true;
}

/* What of the VM a trace replaces. */
struct outside {
    struct arena *arena;
    struct exprs *ex;
    struct diag *diag;
    struct frame *frame;
    jmp_buf *escape;
    struct graph *graph;
    const struct compile_options *dynamo;
    uint64_t n_steps;
    uint32_t n_random;
    bool grad_enabled;
    struct autocast autocast;
};

static struct outside enter(struct vm *vm, struct trace *t, struct diag *d) {
    struct outside o = {vm->arena,    vm->ex,           vm->diag,    vm->frame,
                        vm->escape,   vm->graph,        vm->dynamo,  vm->n_steps,
                        vm->n_random, vm->grad_enabled, vm->autocast};
    vm->arena = t->entry->arena;
    vm->ex = t->entry->ex;
    vm->diag = d;
    vm->graph = graph_new(vm->arena, vm->ex, code_source(vm, t->real->code));
    vm->graph->seed = vm->seed;
    vm_set_precision(vm);
    vm->graph->random_base = ex_size(vm->ex, "draws", 0, vm->n_random);
    memset(&vm->guards, 0, sizeof vm->guards);
    vm->guarded = map_new(vm->arena);
    vm->n_steps = 0;
    vm->trace = t;
    vm->tracing = true;
    return o;
}

static void leave(struct vm *vm, const struct outside *o) {
    drop_shadows(vm->trace);
    vm->arena = o->arena;
    vm->ex = o->ex;
    vm->diag = o->diag;
    vm->frame = o->frame;
    vm->escape = o->escape;
    vm->graph = o->graph;
    vm->dynamo = o->dynamo;
    vm->n_steps = o->n_steps;
    vm->n_random = o->n_random;
    vm->grad_enabled = o->grad_enabled;
    vm->autocast = o->autocast;
    vm->raised = py_unset;
    vm->trace = NULL;
    vm->tracing = false;
}

/* -- the entry ----------------------------------------------------------------------------- */

static void add_place(struct vm *vm, struct entry *e, const struct place *p) {
    if (!place_is_known(p)) return;
    for (uint32_t i = 0; i < e->n_places; i++)
        if (!strcmp(e->places[i]->path, p->path)) return;
    if (p->base) add_place(vm, e, p->base);
    const struct place **more = NEW_ARRAY(e->arena, const struct place *, e->n_places + 1);
    if (e->n_places) memcpy(more, e->places, e->n_places * sizeof *more);
    more[e->n_places++] = p;
    e->places = more;
}

void entry_need_place(struct vm *vm, struct entry *e, const struct place *p) {
    add_place(vm, e, p);
}

static void keep_guards(struct trace *t) {
    struct vm *vm = t->vm;
    struct entry *e = t->entry;
    for (uint32_t i = 0; i < vm->guards.n; i++) add_place(vm, e, vm->guards.at[i].place);
    for (uint32_t i = 0; i < t->tensors.n; i++) add_place(vm, e, t->tensors.at[i].place);
    for (uint32_t i = 0; i < t->symbols.n; i++) add_place(vm, e, t->symbols.at[i].place);
    for (uint32_t i = 0; i < t->effects.n; i++) add_place(vm, e, t->effects.at[i].place);
    e->guards = vm->guards.at, e->n_guards = vm->guards.n;
    e->tensors = t->tensors.at, e->n_tensors = t->tensors.n;
    e->symbols = t->symbols.at, e->n_symbols = t->symbols.n;
    e->symbol_values = NEW_ARRAY(e->arena, int64_t, e->n_symbols);
    e->conditions = t->conditions.at, e->n_conditions = t->conditions.n;
    e->effects = t->effects.at, e->n_effects = t->effects.n;
}

static void assign_slots(struct entry *e) {
    e->values = NEW_ARRAY(e->arena, struct py, e->n_places);
    e->bases = NEW_ARRAY(e->arena, uint32_t, e->n_places);
    for (uint32_t i = 0; i < e->n_places; i++)
        e->bases[i] = e->places[i]->base ? place_slot(e, e->places[i]->base) : 0;
    for (uint32_t i = 0; i < e->n_guards; i++)
        e->guards[i].slot = place_slot(e, e->guards[i].place);
    for (uint32_t i = 0; i < e->n_tensors; i++)
        if (e->tensors[i].place) e->tensors[i].slot = place_slot(e, e->tensors[i].place);
    for (uint32_t i = 0; i < e->n_symbols; i++) {
        struct symbol *s = &e->symbols[i];
        s->slot = s->place ? place_slot(e, s->place) : e->tensors[s->tensor].slot;
    }
    e->roots = NEW_ARRAY(e->arena, uint32_t, e->n_places);
    for (uint32_t i = 0; i < e->n_places; i++)
        if (!e->places[i]->base) e->roots[e->n_roots++] = i;
    e->root_guards = NEW_ARRAY(e->arena, uint32_t, e->n_guards);
    for (uint32_t i = 0; i < e->n_guards; i++)
        if (!e->guards[i].place->base) e->root_guards[e->n_root_guards++] = i;
    e->root_tensors = NEW_ARRAY(e->arena, uint32_t, e->n_tensors);
    for (uint32_t i = 0; i < e->n_tensors; i++)
        if (e->tensors[i].place && !e->tensors[i].place->base)
            e->root_tensors[e->n_root_tensors++] = i;
    e->watch = NEW_ARRAY(e->arena, struct watch, 4 * e->n_places);
}

/* Two places that held one tensor must do so again: the graph has one input for both. And so must
 * those that held two, where the program has asked whether they are one. */
static void keep_aliases(const struct trace *t) {
    struct entry *e = t->entry;
    e->aliases = NEW_ARRAY(e->arena, struct alias, e->n_tensors + t->apart.n);
    for (uint32_t i = 0; i < t->apart.n; i++) e->aliases[e->n_aliases++] = t->apart.at[i];
    for (uint32_t i = 0; i < e->n_tensors; i++)
        for (uint32_t k = i + 1; k < e->n_tensors && e->tensors[i].tensor; k++) {
            if (e->tensors[k].tensor != e->tensors[i].tensor || !e->tensors[i].place ||
                !e->tensors[k].place)
                continue;
            e->aliases[e->n_aliases++] = (struct alias){.a = i, .b = k};
            break;
        }
}

/* Which outputs require gradients: those that some way leads to from an input that does, through
 * floating values that are not detached, as under no_grad(). */
static bool *outputs_with_gradient(const struct entry *e, const struct graph *g) {
    bool *has = NEW_ARRAY(e->arena, bool, g->nodes.n),
         *out = NEW_ARRAY(e->arena, bool, g->outputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++)
        has[g->inputs.at[i].node] = e->tensors[e->inputs[i]].requires_grad;
    for (node_id i = 0; i < g->nodes.n; i++) {
        const struct node *n = &g->nodes.at[i];
        for (uint32_t k = 0; k < tensor_gradient_operands(n->op, n->n_args); k++) {
            const node_id *at;
            for (int left = arg_nodes(&n->args[k], &at); left-- > 0;) has[i] |= has[at[left]];
        }
        has[i] &= !op_ends_gradient(n->op) && dtype_is_float(n->meta.dtype);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++) out[i] = has[g->outputs.at[i]];
    return out;
}

/* The graph without what nobody needs, and which tensors are its inputs. */
static void keep_graph(struct trace *t) {
    struct entry *e = t->entry;
    struct graph *g = t->vm->graph;
    if (!g->outputs.n) return;
    g = graph_prune(g);
    for (node_id n = 0; n < g->nodes.n; n++) e->n_ops += op_info(g->nodes.at[n].op)->class != INPUT;
    e->inputs = NEW_ARRAY(e->arena, uint32_t, g->inputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        e->inputs[i] = g->inputs.at[i].init;
        g->inputs.at[i].init = i;
    }
    e->n_random = g->n_random;
    e->random_base = g->random_base;
    e->seed = t->vm->seed;
    const char *wrong = graph_verify(g, false);
    if (wrong) WS_BUG("captured graph: %s", wrong);
    e->has_gradient = outputs_with_gradient(e, g);
    e->graph = g;
}

static struct trace *trace_new(struct vm *vm, struct frame *f, struct compiled_code *code,
                               const struct compile_options *how) {
    struct arena *a = arena_new();
    vec_push(vm->home, &vm->trace_arenas, a);
    arena_charge(a, vm->budget);
    struct entry *e = NEW(a, struct entry);
    *e = (struct entry){.arena = a,
                        .ex = vm_sizes(vm, a),
                        .code = f->code,
                        .pc = f->pc,
                        .how = how,
                        .grad_enabled = vm->grad_enabled,
                        .autocast = vm->autocast,
                        .math_flags = vm->math_flags};
    struct trace *t = NEW(a, struct trace);
    *t = (struct trace){.vm = vm, .code = code, .entry = e, .real = f, .stop_at = UINT32_MAX};
    return t;
}

struct entry *trace_frame(struct vm *vm, struct frame *f, struct compiled_code *code,
                          const struct compile_options *how, struct trace_failure *why) {
    uint32_t stop_at = UINT32_MAX;
    bool is_static = false;
    for (;;) {
        struct trace *t = trace_new(vm, f, code, how);
        t->stop_at = stop_at;
        t->is_static = is_static;
        struct diag d = diag_new(t->entry->arena);
        struct outside o = enter(vm, t, &d);
        bool done = try_segment(t);
        vm->escape = NULL; /* of a frame that is gone */
        if (done) {
            keep_guards(t);
            entry_collect_outputs(vm, t->entry);
        }
        if (done && t->lost) {
            done = false;
            t->n_steps = t->lost->made_at;
            t->reason = t->lost->selected ? SELECTED_SHAPE "; " SELECTED_INSTEAD
                                          : "a view of this kind outlives the segment";
            t->where = f->code->spans[f->pc];
        }
        if (done) {
            assign_slots(t->entry);
            keep_aliases(t);
            keep_graph(t);
            say_notes(vm, t);
        }
        leave(vm, &o);
        if (done) return t->entry;
        if (t->endless) vm_raise(vm, EXC_RuntimeError, "%s", t->reason);
        if (t->symbols.n && !is_static && t->op_refused) {
            is_static = true; /* sizes that an operator cannot prove */
            if (dynamo_logs(vm, LOG_DYNAMIC))
                dynamo_say(vm,
                           "dynamic in %s (%s:%u): sizes stay numbers: the operator of line %u "
                           "refuses symbolic ones\n",
                           f->code->qualname, f->code->source->path, f->code->first_line,
                           t->where.line);
            stop_at = UINT32_MAX;
            continue;
        }
        *why = (struct trace_failure){t->reason, t->where};
        if (!t->n_steps) return NULL;
        stop_at = t->n_steps;
    }
}
