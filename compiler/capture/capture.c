/* capture.c: the steps of a capture: read, compile, run the module body, make the model and the
 * inputs, trace forward, tidy both graphs. */
#include "capture/capture.h"

#include <string.h>

#include "capture/vm.h"

struct forward {
    struct vm *vm;
    const char *workload;
    const struct code *code;
    VEC(struct py) outputs; /* tensors */
    struct updates updates;
    struct py error; /* an exception that nobody caught, and its text */
    const char *text;
};

/* -- the parts of a workload file ---------------------------------------------------------- */

const char *workload_name(struct arena *a, const char *path) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strlen(base);
    if (n > 3 && !strcmp(base + n - 3, ".py")) n -= 3;
    return arena_strndup(a, base, n);
}

/* What get_inputs() or get_init_inputs() returns; an empty list if there is no such function and it
 * may be left out. */
static struct list *call_list(struct vm *vm, const char *name, bool needed) {
    struct py f, v;
    if (!dict_gets(vm->main->dict, name, &f)) {
        if (needed)
            vm_refuse(vm, "the workload has no function %s(), which returns the list of inputs",
                      name);
        return NEW(vm->arena, struct list);
    }
    v = vm_call0(vm, f);
    if (!py_is_sequence(v)) vm_refuse(vm, "%s() returns '%s', not a list", name, type_name(vm, v));
    return v.list;
}

/* A list and a dict from get_init_inputs() are arguments and named arguments. */
static struct py make_model(struct vm *vm, struct py class) {
    const struct list *init = call_list(vm, "get_init_inputs", false);
    bool both = init->n == 2 && init->at[0].kind == PY_LIST && init->at[1].kind == PY_DICT;
    if (!both) return vm_call(vm, class, &(struct args){.at = init->at, .n = init->n});
    VEC(const char *) names = {0};
    VEC(struct py) values = {0};
    for (uint32_t i = 0; i < init->at[1].dict->entries.n; i++) {
        const struct dict_entry *e = &init->at[1].dict->entries.at[i];
        if (!e->live) continue;
        if (e->key.kind != PY_STR)
            vm_refuse(vm, "get_init_inputs() names an argument that is no string");
        vec_push(vm->arena, &names, e->key.s);
        vec_push(vm->arena, &values, e->value);
    }
    struct args args = {.at = init->at[0].list->at, .n = init->at[0].list->n};
    args.names = names.at, args.named = values.at, args.n_named = names.n;
    return vm_call(vm, class, &args);
}

/* The last module that the file defines: what it defines before are parts of it. */
static bool find_last_module(struct vm *vm, struct py *out) {
    const struct dict *d = vm->main->dict;
    struct py module;
    if (!dict_gets(module_import(vm, "torch.nn")->dict, "Module", &module)) return false;
    for (uint32_t i = d->entries.n; i-- > 0;) {
        const struct dict_entry *e = &d->entries.at[i];
        if (e->live && e->value.kind == PY_CLASS && e->value.class->module == vm->main &&
            class_is(e->value.class, module.class))
            return *out = e->value, true;
    }
    return false;
}

struct py workload_entry(struct vm *vm, const char *workload) {
    struct py f;
    bool model = dict_gets(vm->main->dict, "Model", &f) && f.kind == PY_CLASS;
    if (!model && dict_gets(vm->main->dict, workload, &f) && f.kind == PY_FUNCTION) return f;
    if (!model && dict_gets(vm->main->dict, "forward", &f) && f.kind == PY_FUNCTION) return f;
    if (!model && !find_last_module(vm, &f))
        vm_refuse(
            vm,
            "nothing to compile: a workload has a class Model(nn.Module), or a function %s() or "
            "forward()",
            workload);
    struct py self = make_model(vm, f), eval;
    if (vm->options->eval && attribute_find(vm, self, "eval", &eval)) vm_call0(vm, eval);
    return self;
}

struct list *workload_inputs(struct vm *vm) {
    return call_list(vm, "get_inputs", true);
}

/* forward() of the model, or the function named like the file or forward; its parameters' names
 * follow `skip` of them. */
static struct py find_forward(struct vm *vm, const char *workload, uint32_t *skip) {
    struct py f, self = workload_entry(vm, workload);
    *skip = 0;
    if (self.kind == PY_FUNCTION) return self;
    self.source = place_local(vm, 0, "self");
    *skip = 1;
    if (!attribute_find(vm, self, "forward", &f))
        vm_refuse(vm, "the model, of type '%s', has no method forward()", type_name(vm, self));
    return f;
}

static const struct code *code_of(struct py f) {
    if (f.kind == PY_METHOD) f = f.method->function;
    return f.kind == PY_FUNCTION ? f.function->code : NULL;
}

/* Inputs are found again under the name of the parameter they go to. */
static const struct place *parameter_source(struct vm *vm, const struct code *code, uint32_t i,
                                            uint32_t skip) {
    if (code && i + skip < code->n_args)
        return place_local(vm, i + skip, code->locals.at[i + skip]);
    uint32_t rest = code && code->varargs ? code->n_args + code->n_kwonly : 0;
    const char *name = code && code->varargs ? code->locals.at[rest] : "args";
    return place_item(vm, place_local(vm, rest, name), code ? i + skip - code->n_args : i);
}

/* -- tracing ------------------------------------------------------------------------------- */

/* What a mask has picked is returned: the line that made it is to blame. */
static void refuse_selected(struct vm *vm, const struct tensor *t) {
    struct span where = t->graph->nodes.at[t->node].where;
    diag_fail_at(vm->diag, WS_WRONG, vm->file, where,
                 GRAPH_BREAK "data-dependent " SELECTED_SHAPE " at line %u; " SELECTED_INSTEAD,
                 where.line);
    vm_leave(vm);
}

static void collect_outputs(struct forward *t, struct py v) {
    struct vm *vm = t->vm;
    vm_deep(vm);
    vm_work(vm, 1);
    v = py_plain(vm, v);
    if (tensor_is_complex(v))
        vm_refuse(vm, "a tensor of complex numbers cannot be returned from what is compiled; "
                      "torch.view_as_real() of it can");
    if (v.kind == PY_TENSOR && v.tensor->selected) refuse_selected(vm, v.tensor);
    if (v.kind == PY_TENSOR) vec_push(vm->arena, &t->outputs, v);
    struct py iter;
    bool pair = v.kind == PY_INSTANCE && v.instance->class->module &&
                v.instance->class->module->prelude &&
                class_find(v.instance->class, "__iter__", &iter);
    if (pair) v = py_pointer(PY_LIST, vm_list(vm, v)); /* torch.max(x, 1): values and indices */
    if (py_is_sequence(v))
        for (uint32_t i = 0; i < v.list->n; i++) collect_outputs(t, v.list->at[i]);
    if (v.kind == PY_DICT)
        for (uint32_t i = 0; i < v.dict->entries.n; i++)
            if (v.dict->entries.at[i].live) collect_outputs(t, v.dict->entries.at[i].value);
}

/* Inputs updated in place are outputs, too. */
static void add_updates(struct vm *vm, struct updates *updates) {
    struct graph *g = vm->graph;
    updates->first = g->outputs.n;
    for (uint32_t i = 0; i < vm->init_storages.n; i++) {
        const struct storage *s = vm->init_storages.at[i];
        if (!s || !s->version) continue;
        vec_push(vm->arena, &g->outputs, s->base);
        for (uint32_t k = 0; k < g->inputs.n; k++) {
            if (g->inputs.at[k].init != i) continue;
            g->inputs.at[k].becomes = g->outputs.n;
            vec_push(vm->arena, &updates->sources, g->inputs.at[k].source);
        }
    }
}

static void trace_forward(void *ctx) {
    struct forward *t = ctx;
    struct vm *vm = t->vm;
    vm_run_module(vm, vm->main, t->code);
    uint32_t skip;
    struct py forward = find_forward(vm, t->workload, &skip);
    const struct list *inputs = workload_inputs(vm);
    const struct code *code = code_of(forward);

    vm->tracing = true;
    vm->graph->n_random =
        vm->init->n_random; /* random tensors of forward have streams of their own */
    for (uint32_t i = 0; i < inputs->n; i++) {
        struct py *v = &inputs->at[i];
        v->source = parameter_source(vm, code, i, skip);
        guard_value(vm, *v);
        if (v->kind == PY_TENSOR) tensor_node(vm, *v);
    }
    struct py out = vm_call(vm, forward, &(struct args){.at = inputs->at, .n = inputs->n});
    collect_outputs(t, out);
    for (uint32_t i = 0; i < t->outputs.n; i++)
        vec_push(vm->arena, &vm->graph->outputs, tensor_node(vm, t->outputs.at[i]));
    add_updates(vm, &t->updates);
    if (!vm->graph->outputs.n)
        vm_refuse(vm, "%s returns no tensor", skip ? "forward" : t->workload);
}

static void make_text(void *ctx) {
    struct forward *t = ctx;
    t->text = py_text(t->vm, t->error);
}

/* An exception that nobody caught; its text may be made by the program, and fail in turn. */
static void report(struct vm *vm, struct forward *t) {
    t->error = vm->raised;
    t->text = "<exception str() failed>";
    vm_protect(vm, make_text, t);
    if (vm->diag->status == WS_OK) vm_report(vm, t->error, t->text);
}

/* -- tidying ------------------------------------------------------------------------------- */

/* Keep the inputs that are used; the init graph computes those, in their order. */
static void tidy(struct vm *vm) {
    graph_prune_in_place(vm->graph);
    strides_forget(vm->graph);
    VEC(bool) grad = {0};
    for (uint32_t i = 0; i < vm->graph->inputs.n; i++) {
        struct graph_input *in = &vm->graph->inputs.at[i];
        vec_push(vm->arena, &vm->init->outputs, vm->init_outputs.at[in->init]);
        vec_push(vm->arena, &grad, vm->input_grad.at[in->init]);
        in->init = i;
    }
    memcpy(&vm->input_grad, &grad, sizeof grad);
    if (vm->init->outputs.n) vm->init = graph_prune(vm->init);
}

static void check(struct graph *g) {
    const char *wrong = graph_verify(g, false);
    if (wrong) WS_BUG("captured graph: %s", wrong);
}

/* Nodes of a graph with long loops before they are rolled: what none has is never touched, and
 * growing to so many would leave as much behind. */
enum { MANY_NODES = 1 << 16 };

/* -- entry --------------------------------------------------------------------------------- */

static bool dump(struct vm *vm, const struct captured *c, struct stages *s, struct diag *d) {
    struct buf b = buf_new(vm->arena);
    bool wanted = s->dump_dir || s->logs >> LOG_GRAPH_CODE & 1; /* it is as large as the graph */
    if (wanted) graph_print(&b, c->graph);
    return (!wanted || stage_dump(s, "fx_graph_readable.txt", LOG_GRAPH_CODE, b.p, d) == WS_OK) &&
           stage_dump(s, "guards.txt", LOG_GUARDS, c->guards, d) == WS_OK;
}

/* Of a package __init__.py runs when a name of it is asked for that is from no part: many need
 * more than the model. A program that fails so may need what it does besides (a table that its
 * parts enter themselves into): then each runs first, as under Python. */
static struct vm *run_forward(struct arena *a, const struct capture_options *o,
                              const struct source *file, const struct code *code, bool whole,
                              struct budget *budget, struct captured *c, struct diag *d) {
    struct vm *vm = vm_new(a, o, file, c->workload, d);
    vm->grad_enabled = true;
    vm->whole_packages = whole;
    graph_reserve(vm->graph, MANY_NODES);
    struct forward t = {.vm = vm, .workload = c->workload, .code = code};
    vm_charge(vm, budget);
    bool ok = vm_protect(vm, trace_forward, &t);
    if (!ok && d->status == WS_OK) report(vm, &t);
    vm_charge(vm, NULL);
    eager_close(vm);
    ex_set_escape(vm->constants, (struct ex_escape){0});
    c->updates = t.updates;
    if (ok) return vm;
    if (whole || !vm->passed_package || capture_broke(d) || budget->end) return NULL;
    struct diag first = *d;
    *d = diag_new(a);
    vm = run_forward(a, o, file, code, true, budget, c, d);
    if (!vm && !capture_broke(d)) *d = first;
    return vm;
}

static struct captured *capture_within(struct arena *a, const struct capture_options *o,
                                       struct budget *budget, struct stages *s, struct diag *d) {
    const struct source *file = source_read(a, o->path, d);
    if (!file) return NULL;
    const struct code *code = frontend_compile(a, file, d);
    if (!code) return NULL;
    if (s) stage_end(s, "frontend");

    struct captured *c = NEW(a, struct captured);
    c->workload = workload_name(a, o->path);
    code = axes_apply(a, code, o, &c->axes, d);
    if (!code) return NULL;
    struct vm *vm = run_forward(a, o, file, code, false, budget, c, d);
    if (!vm) return NULL;
    tidy(vm);
    check(vm->graph);
    if (vm->init->outputs.n) check(vm->init);
    c->graph = vm->graph;
    c->init = vm->init;
    c->guards = guards_text(vm);
    if (s && !dump(vm, c, s, d)) return NULL;
    if (s) stage_end(s, "capture");
    return c;
}

bool capture_broke(const struct diag *d) {
    return d->status == WS_WRONG && !strncmp(d->message, GRAPH_BREAK, strlen(GRAPH_BREAK));
}

struct captured *capture(struct arena *a, const struct capture_options *o, struct stages *s,
                         struct diag *d) {
    struct budget budget = budget_new(o->limits);
    arena_charge(a, &budget);
    struct captured *c = capture_within(a, o, &budget, s, d);
    arena_charge(a, NULL);
    if (!budget.end) return c;
    diag_fail(d, WS_WRONG, "%s: %s", o->path, budget_message(&budget, a));
    return NULL;
}
