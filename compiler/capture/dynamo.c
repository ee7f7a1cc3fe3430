/* dynamo.c: a frame of a compiled function, segment by segment.
 *
 *     frame at pc -> entries of (code, pc): do the guards of one hold? -> its graph, its values
 *                 -> none: trace, unless there are RECOMPILE_LIMIT already
 *                 -> the instruction that cannot be traced runs as it is; and again
 *
 * Functions that breaking instructions call are compiled on their own. */
#include "capture/dynamo.h"

#include "capture/backend.h"
#include "capture/script.h"

/* -- saying so ----------------------------------------------------------------------------- */

bool dynamo_logs(const struct vm *vm, enum log_name topic) {
    return vm->script->log && vm->logs >> topic & 1;
}

void dynamo_say(struct vm *vm, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(vm->arena, fmt, ap);
    va_end(ap);
    if (vm->script->log) vm->script->log(vm->script->ctx, text);
}

const struct source *code_source(const struct vm *vm, const struct code *c) {
    return prelude_text(c->source->path) ? vm->file : c->source;
}

static const char *place_text(struct vm *vm, const struct code *c, struct span where) {
    return arena_printf(vm->arena, "%s:%u", code_source(vm, c)->path,
                        where.line ? where.line : c->first_line);
}

static const char *guards_listing(struct vm *vm, const struct entry *e) {
    struct buf b = buf_new(e->arena);
    for (uint32_t i = 0; i < e->n_tensors; i++) {
        const struct tensor_guard *g = &e->tensors[i];
        if (!g->place) continue;
        if (!g->tensor) {
            buf_printf(&b, "%s: float\n", g->place->text);
            continue;
        }
        buf_printf(&b, "%s: tensor %s [", g->place->text, dtype_name(g->meta.dtype));
        for (int k = 0; k < g->meta.rank; k++) {
            if (k) buf_puts(&b, ", ");
            ex_print(&b, e->ex, g->meta.size[k]);
        }
        buf_puts(&b, "] stride [");
        for (int k = 0; k < g->meta.rank; k++) {
            if (k) buf_puts(&b, ", ");
            ex_print(&b, e->ex, g->meta.stride[k]);
        }
        buf_printf(&b, "] requires_grad=%s\n", g->requires_grad ? "True" : "False");
    }
    for (uint32_t i = 0; i < e->n_guards; i++) buf_printf(&b, "%s\n", e->guards[i].text);
    for (uint32_t i = 0; i < e->n_symbols; i++) {
        const struct symbol *s = &e->symbols[i];
        if (s->place) buf_printf(&b, "%s == %s\n", ex_str(e->arena, e->ex, s->ex), s->place->text);
        buf_printf(&b, "%lld <= %s\n", (long long)ex_symbol(e->ex, s->ex)->lo,
                   ex_str(e->arena, e->ex, s->ex));
    }
    for (uint32_t i = 0; i < e->n_conditions; i++) {
        ex_print(&b, e->ex, e->conditions[i]);
        buf_putc(&b, '\n');
    }
    return b.p;
}

/* -- what is counted ----------------------------------------------------------------------- */

static void count_entry(struct vm *vm, const struct entry *e) {
    struct script_counts *n = vm->counts;
    if (!e->graph) return;
    struct buf b = buf_new(e->arena);
    graph_print_readable(&b, e->graph);
    struct script_graph g = {.function = e->code->qualname,
                             .text = arena_strdup(vm->home, b.p),
                             .guards = arena_strdup(vm->home, guards_listing(vm, e)),
                             .n_ops = e->n_ops};
    for (const char *s = g.guards; *s; s++) g.n_guards += *s == '\n';
    n->n_calls += e->n_ops;
    vec_push(vm->home, &n->graphs, g);
    if (dynamo_logs(vm, LOG_GRAPH_CODE)) dynamo_say(vm, "%s:\n%s", e->code->qualname, g.text);
    if (dynamo_logs(vm, LOG_GUARDS))
        dynamo_say(vm, "guards of %s:\n%s", e->code->qualname, g.guards);
}

/* Breaks behind each other with nothing compiled between them are one: print(f"{x}") formats, then
 * prints. */
static void count_break(struct vm *vm, const struct code *code, uint32_t pc, bool computes,
                        const char *reason, struct span where) {
    if (pc && !computes) return;
    struct script_break b = {arena_strdup(vm->home, reason), code_source(vm, code)->path, where};
    vec_push(vm->home, &vm->counts->breaks, b);
    if (dynamo_logs(vm, LOG_GRAPH_BREAKS))
        dynamo_say(vm, "graph break at %s: %s\n", place_text(vm, code, where), reason);
}

static void refuse_break(struct vm *vm, const struct code *code, const char *reason,
                         struct span where) __attribute__((noreturn));
static void refuse_break(struct vm *vm, const struct code *code, const char *reason,
                         struct span where) {
    struct py text = py_strf(vm->arena, "%s: fullgraph=True, but the graph breaks: %s",
                             place_text(vm, code, where), reason);
    vm_raise_value(vm, vm_call1(vm, py_pointer(PY_CLASS, vm->unsupported), text));
}

/* -- finding an entry ---------------------------------------------------------------------- */

static struct compiled_code *compiled_code_of(struct vm *vm, const struct code *code) {
    for (struct compiled_code *c = vm->codes; c; c = c->next)
        if (c->code == code) return c;
    struct compiled_code *c = NEW(vm->home, struct compiled_code);
    *c = (struct compiled_code){.next = vm->codes, .code = code};
    c->opaque = NEW_ARRAY(vm->home, bool, code->n_instrs);
    vm->codes = c;
    if (dynamo_logs(vm, LOG_BYTECODE)) {
        struct buf b = buf_new(vm->arena);
        code_print(&b, code);
        dynamo_say(vm, "bytecode of %s (%s):\n%s", code->qualname,
                   place_text(vm, code, (struct span){0}), b.p);
    }
    return c;
}

static struct entry *find_entry(struct vm *vm, struct compiled_code *c, struct frame *f,
                                const struct compile_options *how) {
    for (struct entry **at = &c->entries, *e; (e = *at); at = &e->next) {
        if (e->pc != f->pc || e->how != how || entry_check(vm, e, f, false)) continue;
        *at = e->next;
        e->next = c->entries;
        c->entries = e;
        return e;
    }
    return NULL;
}

/* The same, for whoever asked what a check costs: the quickest is kept. */
static struct entry *find_entry_timed(struct vm *vm, struct compiled_code *c, struct frame *f,
                                      const struct compile_options *how) {
    struct script_counts *n = vm->counts;
    double start = clock_ms();
    struct entry *e = find_entry(vm, c, f, how);
    double ms = clock_ms() - start;
    if (e && (!n->n_hits || ms < n->check_ms)) n->check_ms = ms;
    return e;
}

static uint32_t count_entries(const struct compiled_code *c, uint32_t pc) {
    uint32_t n = 0;
    for (const struct entry *e = c->entries; e; e = e->next) n += e->pc == pc;
    return n;
}

/* Why the entries that are there do not fit. */
static const char *why_not(struct vm *vm, const struct compiled_code *c, struct frame *f,
                           const struct compile_options *how) {
    for (struct entry *e = c->entries; e; e = e->next)
        if (e->pc == f->pc && e->how == how) return entry_check(vm, e, f, true);
    return "compiled with other options";
}

/* torch._dynamo.config.NAME */
static struct py config(struct vm *vm, const char *name) {
    struct py v;
    struct module *m = module_import(vm, "torch._dynamo.config");
    return dict_gets(m->dict, name, &v) ? v : py_none;
}

/* The limit has two names; whichever was set counts. */
static uint32_t recompile_limit(struct vm *vm) {
    struct py old = config(vm, "cache_size_limit"), new = config(vm, "recompile_limit");
    struct py limit = old.kind == PY_INT && old.i != RECOMPILE_LIMIT ? old : new;
    return limit.kind == PY_INT && limit.i >= 0 && limit.i < UINT32_MAX ? (uint32_t)limit.i
                                                                        : RECOMPILE_LIMIT;
}

static bool at_limit(struct vm *vm, struct compiled_code *c, struct frame *f,
                     const struct compile_options *how) {
    uint32_t n = count_entries(c, f->pc), limit = recompile_limit(vm);
    if (n && dynamo_logs(vm, LOG_RECOMPILES))
        dynamo_say(vm, "recompiling %s at %s: %s\n", c->code->qualname,
                   place_text(vm, c->code, (struct span){0}), why_not(vm, c, f, how));
    if (n && vm_truth(vm, config(vm, "error_on_recompile")))
        vm_raise(vm, EXC_RuntimeError, "Recompiling function %s in %s: %s", c->code->qualname,
                 place_text(vm, c->code, (struct span){0}), why_not(vm, c, f, how));
    if (n < limit) return false;
    if (!c->warned)
        dynamo_say(
            vm,
            "warning: %s (%s) was recompiled %u times, which is the limit; it runs eagerly from "
            "here on. Last reason: %s\n",
            c->code->qualname, place_text(vm, c->code, (struct span){0}), limit,
            why_not(vm, c, f, how));
    return c->warned = true;
}

/* Nothing that is compiled fits the frame: does it run eagerly, as torch.compiler.set_stance() or
 * the limit has it? */
static bool stays_eager(struct vm *vm, struct compiled_code *c, struct frame *f,
                        const struct compile_options *how) {
    if (vm->stance == STANCE_FAIL_ON_RECOMPILE)
        vm_raise(vm, EXC_RuntimeError,
                 "Detected recompile when torch.compile stance is 'fail_on_recompile': %s (%s)",
                 c->code->qualname, place_text(vm, c->code, (struct span){0}));
    return vm->stance != STANCE_DEFAULT || at_limit(vm, c, f, how);
}

/* -- a backend that is a function of the program ------------------------------------------- */

struct py dynamo_call_eagerly(struct vm *vm, struct py f, const struct args *a) {
    const struct compile_options *outer = vm->dynamo;
    vm->dynamo = NULL;
    vm->direct = false;
    struct py out = vm_call(vm, f, a);
    vm->dynamo = outer;
    return out;
}

static struct tensor *input_tensor(struct vm *vm, const struct entry *e, uint32_t i);

/* Of the frame looked at last: the sizes that are symbols, and the tensors. */
static struct py inputs_of(struct vm *vm, const struct entry *e) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    for (uint32_t i = 0; i < e->n_symbols; i++)
        vec_push(vm->arena, out.list, py_int(e->symbol_values[i]));
    for (uint32_t i = 0; i < e->graph->inputs.n; i++)
        vec_push(vm->arena, out.list, py_pointer(PY_TENSOR, input_tensor(vm, e, i)));
    return out;
}

static struct py compile_by_function(struct vm *vm, const struct entry *e) {
    struct py args[] = {graph_rows(vm, e->graph, e->symbols, e->n_symbols), inputs_of(vm, e),
                        py_int(vm->handed_out.n)};
    vec_push(vm->home, &vm->handed_out, e);
    return dynamo_call_eagerly(vm, e->how->function, &(struct args){.at = args, .n = 3});
}

/* Is it what the graph says? Whoever uses it relies on that. */
static bool is_output(struct vm *vm, const struct bindings *b, const struct graph *g, node_id node,
                      struct py v) {
    const struct meta *m = &g->nodes.at[node].meta;
    if (v.kind != PY_TENSOR || !tensor_is_eager(vm, v)) return false;
    if (v.tensor->meta.dtype != m->dtype || v.tensor->meta.rank != m->rank) return false;
    for (int i = 0; i < m->rank; i++)
        if (eager_size(vm, v.tensor, i) != bindings_value(b, g->ex, m->size[i])) return false;
    return true;
}

static void compute_by_function(struct vm *vm, const struct entry *e, const struct bindings *b,
                                struct py *outputs) {
    struct py in = inputs_of(vm, e);
    struct args args = {.at = in.list->at, .n = in.list->n};
    struct py out = dynamo_call_eagerly(vm, e->function, &args);
    if (out.kind == PY_TENSOR) out = py_list(vm->arena, PY_TUPLE, &out, 1);
    if (!py_is_sequence(out) || out.list->n != e->n_outputs)
        vm_raise(vm, EXC_RuntimeError, "what the backend made has to return %u tensor%s",
                 e->n_outputs, e->n_outputs == 1 ? "" : "s");
    for (uint32_t i = 0; i < e->n_outputs; i++) {
        outputs[i] = out.list->at[i];
        if (!is_output(vm, b, e->graph, e->graph->outputs.at[i], outputs[i]))
            vm_raise(vm, EXC_RuntimeError,
                     "output %u of what the backend made is not of the graph's type and shape", i);
    }
}

static void compile_entry(struct vm *vm, struct entry *e) {
    struct diag d = diag_new(e->arena);
    double start = clock_ms();
    if (e->how->function.kind != PY_UNSET)
        e->function = compile_by_function(vm, e);
    else if (!(e->callable = e->how->backend->compile(e->how->backend->ctx, e->graph, &d)))
        vm_raise(vm, EXC_RuntimeError, "backend '%s' failed: %s", e->how->backend->name,
                 d.message ? d.message : "no reason given");
    vm->counts->compile_ms += clock_ms() - start;
}

static struct entry *new_entry(struct vm *vm, struct compiled_code *c, struct frame *f,
                               const struct compile_options *how) {
    struct trace_failure why = {0};
    double start = clock_ms();
    struct entry *e = trace_frame(vm, f, c, how, &why);
    vm->counts->capture_ms += clock_ms() - start;
    bool ends = !e || !e->end.returns;
    if (ends && how->fullgraph) refuse_break(vm, c->code, why.reason, why.where);
    if (ends) count_break(vm, c->code, f->pc, e && e->graph, why.reason, why.where);
    if (!e) {
        c->opaque[f->pc] = true;
        return NULL;
    }
    const char *wrong = entry_check(vm, e, f, true);
    if (wrong) WS_BUG("a new entry of %s does not fit its own frame: %s", c->code->qualname, wrong);
    if (e->graph) compile_entry(vm, e);
    e->next = c->entries;
    c->entries = e;
    count_entry(vm, e);
    return e;
}

/* -- running one --------------------------------------------------------------------------- */

static struct array array_of(const struct vm *vm, const struct tensor *t) {
    struct array x = {.dtype = t->meta.dtype, .rank = t->meta.rank};
    x.bytes = t->storage->bytes + t->offset * dtype_bytes(t->meta.dtype);
    for (int i = 0; i < x.rank; i++) {
        x.size[i] = eager_size(vm, t, i);
        x.stride[i] = eager_stride(vm, t, i);
    }
    return x;
}

static struct bindings bindings_of(struct vm *vm, const struct entry *e) {
    uint32_t n = e->n_symbols;
    ex *symbols = NEW_ARRAY(vm->home, ex, n + 1);
    int64_t *values = NEW_ARRAY(vm->home, int64_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        symbols[i] = e->symbols[i].ex;
        values[i] = e->symbol_values[i];
    }
    symbols[n] = e->random_base;
    values[n] = vm->n_random;
    return (struct bindings){symbols, values, n + (e->n_random > 0), e->n_random > 0};
}

/* The tensor behind input i; a float becomes one without dimensions. */
static struct tensor *input_tensor(struct vm *vm, const struct entry *e, uint32_t i) {
    const struct tensor_guard *g = &e->tensors[e->inputs[i]];
    if (g->tensor) return g->place ? e->values[g->slot].tensor : g->tensor;
    struct py x = eager_new(vm, DT_F64, 0, NULL);
    eager_fill(vm, x.tensor, e->values[g->slot].f);
    return x.tensor;
}

static struct py output_tensor(struct vm *vm, const struct bindings *b, struct graph *g,
                               const struct meta *m) {
    int64_t size[WS_MAX_RANK];
    for (int i = 0; i < m->rank; i++) size[i] = bindings_value(b, g->ex, m->size[i]);
    return eager_new(vm, m->dtype, m->rank, size);
}

/* Outputs of graph g, which `callable` computes. */
void run_graph(struct vm *vm, const struct backend *backend, struct graph *g, void *callable,
               const struct bindings *b, struct tensor *const *inputs, struct py *outputs) {
    struct array *in = NEW_ARRAY(vm->arena, struct array, g->inputs.n),
                 *out = NEW_ARRAY(vm->arena, struct array, g->outputs.n);
    bool on_cuda = false;
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        in[i] = array_of(vm, inputs[i]);
        on_cuda |= inputs[i]->on_cuda;
    }
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        outputs[i] = output_tensor(vm, b, g, &g->nodes.at[g->outputs.at[i]].meta);
        outputs[i].tensor->on_cuda = on_cuda;
        out[i] = array_of(vm, outputs[i].tensor);
    }
    struct diag d = diag_new(vm->arena);
    if (!backend->run(backend->ctx, callable, b, vm->seed, in, out, &d))
        vm_raise(vm, EXC_RuntimeError, "%s", d.message ? d.message : "the backend failed");
}

/* x, which a kernel has written row-major, as the program's operators would have laid it. */
static struct py laid_as(struct vm *vm, const struct bindings *b, const struct meta *m,
                         struct exprs *p, struct py x) {
    int64_t size[WS_MAX_RANK], stride[WS_MAX_RANK];
    for (int i = 0; i < m->rank; i++) {
        size[i] = bindings_value(b, p, m->size[i]);
        stride[i] = bindings_value(b, p, m->stride[i]);
    }
    struct storage *memory = eager_storage(vm, x.tensor->storage->size);
    struct py out = eager_in(vm, memory, m->dtype, m->rank, size, stride, 0);
    struct value v = eager_values(vm, x.tensor);
    eager_write(vm, out.tensor, &v);
    value_free(&v);
    out.tensor->on_cuda = x.tensor->on_cuda;
    return out;
}

static void compute(struct vm *vm, struct entry *e, struct py *outputs) {
    struct graph *g = e->graph;
    struct bindings b = bindings_of(vm, e);
    if (e->how->function.kind != PY_UNSET) return compute_by_function(vm, e, &b, outputs);
    struct tensor **in = NEW_ARRAY(vm->arena, struct tensor *, g->inputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) in[i] = input_tensor(vm, e, i);
    run_graph(vm, e->how->backend, g, e->callable, &b, in, outputs);
    for (uint32_t i = 0; i < e->n_outputs; i++)
        if (e->laid[i].rank) outputs[i] = laid_as(vm, &b, &e->laid[i], e->ex, outputs[i]);
    vm->n_random += e->n_random;
    tape_record_entry(vm, e, &b, in, outputs);
}

static bool run_entry(struct vm *vm, struct entry *e, struct frame *f, struct py *value) {
    struct py *outputs = NEW_ARRAY(vm->arena, struct py, e->n_outputs);
    if (e->graph) compute(vm, e, outputs);
    return entry_finish(vm, e, f, outputs, value);
}

/* -- a frame ------------------------------------------------------------------------------- */

struct py dynamo_run(struct vm *vm, struct frame *f) {
    struct compiled_code *c = compiled_code_of(vm, f->code);
    const struct compile_options *how = vm->dynamo;
    bool eagerly = false;
    for (;; f->pc++) {
        struct entry *e = NULL;
        if (!eagerly && !c->opaque[f->pc]) {
            e = vm->script->timed ? find_entry_timed(vm, c, f, how) : find_entry(vm, c, f, how);
            vm->counts->n_hits += e != NULL;
            if (!e && !(eagerly = stays_eager(vm, c, f, how))) e = new_entry(vm, c, f, how);
        }
        struct py value;
        if (e && run_entry(vm, e, f, &value)) return value;
        vm_tick(vm);
        sweep_if_due(vm);
        struct instr in = f->code->instrs[f->pc];
        if (in.op == OP_RETURN_VALUE) return f->stack[--f->depth];
        vm_step(vm, f, in);
    }
}

/* -- torch.compile ------------------------------------------------------------------------- */

const struct compile_options *compile_options_find(const struct vm *vm, int64_t id) {
    const struct compile_options *o = vm->compiles;
    while (o && o->id != id) o = o->next;
    return o;
}

struct py dynamo_call(struct vm *vm, const struct compile_options *how, struct py callee,
                      const struct args *a) {
    if (vm->tracing) return vm_call(vm, callee, a); /* part of the trace */
    if (vm->stance == STANCE_EAGER) return dynamo_call_eagerly(vm, callee, a);
    struct py forward;
    if (callee.kind == PY_INSTANCE && attribute_find(vm, callee, "forward", &forward))
        callee = forward;
    const struct compile_options *outer = vm->dynamo;
    struct py f = callee.kind == PY_METHOD ? callee.method->function : callee;
    vm->compiled = f.kind == PY_FUNCTION ? f.function : NULL;
    vm->dynamo = how;
    struct py out = vm_call(vm, callee, a);
    vm->dynamo = outer;
    return out;
}
