/* script.c: run a file from top to bottom (script.h). */
#include "capture/script.h"

#include <string.h>

#include "capture/dynamo.h"

struct script {
    struct vm *vm;
    const struct code *code;
    const char *workload; /* whose entry is called; NULL: the file is a script */
    struct py error;
    const char *text;
};

static struct vm *open_vm(struct arena *a, const struct script_options *o,
                          const struct source *file, struct script_counts *counts, struct diag *d) {
    struct capture_options *c = NEW(a, struct capture_options);
    *c = (struct capture_options){.path = o->path,
                                  .eval = o->eval,
                                  .precision = o->precision,
                                  .seed = o->seed,
                                  .print = o->print,
                                  .print_ctx = o->ctx};
    struct vm *vm = vm_new(a, c, file, o->is_workload ? workload_name(a, o->path) : "__main__", d);
    vm->eager = true;
    vm->grad_enabled = true;
    vm->script = o;
    vm->counts = counts;
    vm->logs = o->logs;
    vm->seed = o->seed;
    vm->has_cuda = o->has_cuda;
    return vm;
}

static void put_arguments(struct vm *vm, const struct script_options *o) {
    struct module *sys = module_import(vm, "sys");
    struct py argv = py_list(vm->arena, PY_LIST, NULL, 0);
    vec_push(vm->arena, argv.list, py_str(o->path));
    for (const char *const *s = o->argv; s && *s; s++) vec_push(vm->arena, argv.list, py_str(*s));
    dict_puts(vm->arena, sys->dict, "argv", argv);
}

static void put_open(struct vm *vm) {
    struct py f;
    if (module_find(vm, module_import(vm, "io"), "open", &f))
        dict_puts(vm->arena, vm->builtins, "open", f);
}

/* As a script that ends in torch.compile(entry)(*get_inputs()). */
static void call_workload(struct vm *vm, const char *workload) {
    struct py run, given[2] = {workload_entry(vm, workload)};
    const struct list *inputs = workload_inputs(vm);
    given[1] = py_list(vm->arena, PY_LIST, inputs->at, inputs->n);
    if (!module_find(vm, module_import(vm, "torch._dynamo"), "_run_workload", &run))
        WS_BUG("the prelude has no _run_workload");
    vm_call(vm, run, &(struct args){.at = given, .n = 2});
}

static void run_body(void *ctx) {
    struct script *s = ctx;
    module_import(s->vm, "torch._dynamo");
    put_arguments(s->vm, s->vm->script);
    put_open(s->vm);
    vm_run_module(s->vm, s->vm->main, s->code);
    if (s->workload) call_workload(s->vm, s->workload);
}

static void make_text(void *ctx) {
    struct script *s = ctx;
    s->text = py_text(s->vm, s->error);
}

/* exit(), exit(None), exit(0) */
static bool is_farewell(struct vm *vm, struct py error) {
    struct py code;
    if (!class_is(error.instance->class, vm->exceptions[EXC_SystemExit])) return false;
    return dict_gets(error.instance->dict, "code", &code) &&
           (code.kind == PY_NONE || (code.kind == PY_INT && code.i == 0));
}

/* sys.exit() ends a script; anything else that nobody caught is the user's mistake. */
static void report(struct script *s) {
    struct vm *vm = s->vm;
    if (vm->raised.kind == PY_INSTANCE && is_farewell(vm, vm->raised)) return;
    s->error = vm->raised;
    s->text = "<exception str() failed>";
    vm->tracing = false;
    vm->trace = NULL;
    vm_protect(vm, make_text, s);
    if (vm->diag->status == WS_OK) vm_report(vm, s->error, s->text);
}

bool script_is_workload(struct arena *a, const char *path) {
    struct diag quiet = diag_new(a);
    const struct source *file = source_read(a, path, &quiet);
    const struct code *c = file ? frontend_compile(a, file, &quiet) : NULL;
    for (uint32_t i = 0; c && i < c->names.n; i++)
        if (!strcmp(c->names.at[i], "get_inputs")) return true;
    return !c; /* the workload's path says what is wrong with it */
}

bool workload_has_axes(struct arena *a, const char *path, const struct capture_axis *axes,
                       int n_axes, struct diag *d) {
    const struct source *file = source_read(a, path, d);
    const struct code *c = file ? frontend_compile(a, file, d) : NULL;
    const struct capture_options o = {.path = path, .axes = axes, .n_axes = n_axes};
    const char *text;
    return c && axes_apply(a, c, &o, &text, d);
}

enum ws_status script_run(struct arena *a, const struct script_options *o,
                          struct script_counts *counts, struct diag *d) {
    *counts = (struct script_counts){0};
    static const struct budget_limits limits = {BUDGET_SCRIPT_SECONDS, BUDGET_SCRIPT_MEMORY, NULL};
    const struct source *file = source_read(a, o->path, d);
    if (!file) return d->status;
    struct budget budget = budget_new(o->limits ? o->limits : &limits);
    arena_charge(a, &budget);
    const struct code *code = frontend_compile(a, file, d);
    const char *axes, *workload = o->is_workload ? workload_name(a, o->path) : NULL;
    struct capture_options given = {.path = o->path, .axes = o->axes, .n_axes = o->n_axes};
    if (code && workload) code = axes_apply(a, code, &given, &axes, d);
    arena_charge(a, NULL);
    if (budget.end) diag_fail(d, WS_WRONG, "%s: %s", o->path, budget_message(&budget, a));
    if (!code || budget.end) return d->status;
    struct vm *vm = open_vm(a, o, file, counts, d);
    vm_charge(vm, &budget);
    struct script s = {.vm = vm, .code = code, .workload = workload};
    if (!vm_protect(vm, run_body, &s) && d->status == WS_OK) report(&s);
    vm_charge(vm, NULL);
    eager_close(vm);
    for (uint32_t i = 0; i < vm->trace_arenas.n; i++) arena_free(vm->trace_arenas.at[i]);
    return d->status;
}
