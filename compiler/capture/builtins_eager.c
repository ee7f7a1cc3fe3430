/* builtins_eager.c: what scripts need of torch in C: values of tensors, gradients, devices, and
 * torch.compile. The prelude gives them their PyTorch names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/backend.h"
#include "capture/dynamo.h"
#include "capture/script.h"
#include "graph/autograd.h"

#define SAID(i) (GIVEN(i) && v[i].kind != PY_NONE)

static struct tensor *need_eager(struct vm *vm, struct py v, const char *what) {
    v = tensor_value(vm, v);
    if (!tensor_is_eager(vm, v)) vm_break(vm, what, "keep it in a tensor");
    return v.tensor;
}

/* -- values -------------------------------------------------------------------------------- */

NATIVE(eager_computes) { return py_bool(vm->eager && !vm->tracing); }

/* Has it a value here, as what __init__ makes has in a workload? */
NATIVE(eager_is_known) { return py_bool(tensor_is_eager(vm, tensor_value(vm, v[0]))); }

NATIVE(eager_item) {
    struct tensor *t = need_eager(vm, v[0], "call of Tensor.item()");
    return eager_item(vm, py_pointer(PY_TENSOR, t));
}

static struct py nested(struct vm *vm, const struct tensor *t, const struct value *v, int dim,
                        int64_t at) {
    if (dim == t->meta.rank) return eager_number(t->meta.dtype, v, at);
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    int64_t n = eager_size(vm, t, dim);
    for (int64_t i = 0; i < n; i++)
        vec_push(vm->arena, out.list, nested(vm, t, v, dim + 1, at * n + i));
    return out;
}

NATIVE(eager_tolist) {
    const struct tensor *t = need_eager(vm, v[0], "call of Tensor.tolist()");
    struct value values = eager_values(vm, t);
    struct py out = nested(vm, t, &values, 0, 0);
    value_free(&values);
    return out;
}

NATIVE(eager_storage_offset) {
    return py_int(need_eager(vm, v[0], "call of Tensor.storage_offset()")->offset);
}

NATIVE(eager_data_ptr) {
    const struct tensor *t = need_eager(vm, v[0], "call of Tensor.data_ptr()");
    int64_t at = (int64_t)(uintptr_t)t->storage->bytes;
    return py_int(at + t->offset * dtype_bytes(t->meta.dtype));
}

NATIVE(eager_nonzero) {
    const struct tensor *t = need_eager(vm, v[0], "shape of Tensor.nonzero()");
    if (v[1].i < 0 || v[1].i >= t->meta.rank)
        vm_raise(vm, EXC_IndexError, "Dimension out of range");
    return eager_nonzero(vm, t, (int)v[1].i);
}

NATIVE(eager_from_data) {
    if (!vm->eager) return tensor_constant(vm, v[0], v[1].kind == PY_DTYPE ? &v[1].dtype : NULL);
    if (vm->tracing)
        vm_refuse(vm, "torch.tensor of a list is not supported in a compiled function; "
                      "torch.arange, torch.full and torch.where make constant tensors");
    return eager_data(vm, v[0], v[1].kind == PY_DTYPE ? &v[1].dtype : NULL);
}

NATIVE(eager_holds_complex) { return py_bool(eager_holds_complex(v[0])); }

/* -- gradients ----------------------------------------------------------------------------- */

static void need_all_eager(struct vm *vm, const struct list *l, const char *what) {
    for (uint32_t i = 0; i < l->n; i++) need_eager(vm, l->at[i], what);
}

NATIVE(eager_backward) {
    if (!vm->eager)
        vm_refuse(vm, "Tensor.backward() is not supported in a workload, which is a forward "
                      "function; --mode bwd and --mode train differentiate it");
    need_all_eager(vm, v[0].list, "call of Tensor.backward()");
    tape_backward(vm, v[0].list, v[1].list, vm_truth(vm, v[2]));
    return py_none;
}

/* Tangents of ones where none are given, as for numbers. */
static node_id tangent_of(struct vm *vm, struct py output, struct py given) {
    if (given.kind == PY_TENSOR) return tensor_node(vm, given);
    if (tensor_meta(vm, output)->rank)
        vm_raise(vm, EXC_RuntimeError, "grad can be implicitly created only for scalar outputs");
    return tensor_node(vm, tensor_call(vm, OP_ONES_LIKE, &output, 1));
}

/* Of tracked tensors: nodes of the same graph. */
static struct py graph_grad(struct vm *vm, const struct py *v) {
    const struct list *outputs = v[0].list, *of = v[1].list, *given = v[2].list;
    node_id *at = NEW_ARRAY(vm->arena, node_id, 2 * outputs->n + of->n);
    node_id *tangents = at + outputs->n, *inputs = tangents + outputs->n;
    node_id *grads = NEW_ARRAY(vm->arena, node_id, of->n);
    for (uint32_t i = 0; i < outputs->n; i++) {
        at[i] = tensor_node(vm, outputs->at[i]);
        tangents[i] = tangent_of(vm, outputs->at[i], given->at[i]);
    }
    for (uint32_t i = 0; i < of->n; i++) inputs[i] = tensor_node(vm, of->at[i]);
    struct gradients_wanted want = {at, tangents, inputs, outputs->n, of->n};
    if (!graph_gradients(vm_graph(vm), &want, grads, vm->diag)) vm_leave(vm);
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    for (uint32_t i = 0; i < of->n; i++) {
        bool none = grads[i] == NO_GRADIENT_NODE;
        if (!none && !vm_truth(vm, v[3])) grads[i] = tensor_detached(vm, grads[i]);
        vec_push(vm->arena, out.list, none ? py_none : tensor_new(vm, grads[i]));
    }
    return out;
}

NATIVE(eager_grad) {
    if (!vm->eager) return graph_grad(vm, v);
    need_all_eager(vm, v[0].list, "call of torch.autograd.grad()");
    need_all_eager(vm, v[1].list, "call of torch.autograd.grad()");
    return tape_grad(vm, v[0].list, v[1].list, v[2].list, vm_truth(vm, v[3]));
}

/* Where only a function of the program knows the gradient, a graph has none for it. */
NATIVE(eager_need_values) {
    if (vm->trace)
        vm_break(vm, "call of a torch.autograd.Function", "operators of torch are captured");
    return py_none;
}

/* In the graph of a workload, where every floating argument may be differentiated. */
NATIVE(eager_carries) {
    bool tracked = v[0].kind == PY_TENSOR && !tensor_is_eager(vm, v[0]) &&
                   dtype_is_float(tensor_meta(vm, v[0])->dtype);
    return py_bool(tracked && tensor_carries_gradient(vm, tensor_node(vm, v[0])));
}

NATIVE(eager_record) {
    need_all_eager(vm, v[2].list, "call of a torch.autograd.Function");
    need_all_eager(vm, v[3].list, "call of a torch.autograd.Function");
    tape_record_function(vm, v[0].s, v[1], v[2].list, v[3].list);
    return py_none;
}

NATIVE(eager_hooks) {
    struct tensor *t = need_eager(vm, v[0], "call of Tensor.register_hook()");
    if (!t->hooks) t->hooks = dict_new(vm->home);
    return py_pointer(PY_DICT, t->hooks);
}

NATIVE(eager_grad_hooks) {
    struct tensor *t = need_eager(vm, v[0], "call of Tensor.register_post_accumulate_grad_hook()");
    if (!t->requires_grad)
        vm_raise(vm, EXC_RuntimeError,
                 "cannot register a hook on a tensor that doesn't require gradient");
    if (t->tape)
        vm_raise(vm, EXC_RuntimeError,
                 "post accumulate grad hooks cannot be registered on non-leaf tensors");
    if (!t->grad_hooks) t->grad_hooks = dict_new(vm->home);
    return py_pointer(PY_DICT, t->grad_hooks);
}

NATIVE(eager_retain_grad) {
    struct tensor *t = need_eager(vm, v[0], "call of Tensor.retain_grad()");
    if (!t->requires_grad && !tape_is_stale(t))
        vm_raise(vm, EXC_RuntimeError, "can't retain_grad on Tensor that has requires_grad=False");
    if (!t->retains_grad) t->retained = *tensor_recorded(t);
    t->retains_grad = true;
    return py_none;
}

NATIVE(eager_get_grad) {
    if (!vm->eager) return py_none;
    const struct tensor *t = need_eager(vm, v[0], "use of Tensor.grad");
    return t->grad ? py_pointer(PY_TENSOR, t->grad) : py_none;
}

/* "MulBackward0", or None of a leaf */
NATIVE(eager_grad_name) {
    if (!vm->eager) return py_none;
    const struct tensor *t = need_eager(vm, v[0], "use of Tensor.grad_fn");
    return t->tape ? py_str(tape_name(t)) : py_none;
}

NATIVE(eager_grad_mode) { return py_bool(vm->grad_enabled); }
NATIVE(eager_set_grad_mode) {
    bool before = vm->grad_enabled;
    vm->grad_enabled = vm_truth(vm, v[0]);
    return py_bool(before);
}

/* The bits that PyTorch has in its guards, too: bit 0, products of f32 may be of tf32; the rest is
 * for reading back (prelude/torch_backends.py). */
NATIVE(eager_math_flags) { return py_int(vm->math_flags); }
NATIVE(eager_set_math_flags) {
    int64_t changed = vm->math_flags ^ v[0].i;
    if (!changed) return py_none;
    bool precision = changed & 1; /* a workload may set what is for reading back alone */
    if (vm->tracing && (vm->trace || precision))
        vm_break(vm, "change of the precision of products", "change it outside");
    vm->math_flags = v[0].i;
    vm_set_precision(vm);
    return py_none;
}

/* -- devices and seeds --------------------------------------------------------------------- */

NATIVE(eager_seed) {
    if (vm->trace) vm_break(vm, "call of torch.manual_seed()", "seed outside");
    vm->seed = (uint64_t)v[0].i;
    vm->n_random = 0;
    if (!vm->eager) vm->seed = vm->options->seed;
    return py_none;
}

/* [seed, tensors drawn]: of all random numbers to come, if given; as they were */
NATIVE(eager_stream) {
    struct py old[2] = {py_int((int64_t)vm->seed), py_int(vm->n_random)};
    if (vm->trace) vm_break(vm, "use of the state of random numbers", "use it outside");
    if (SAID(0)) {
        vm->seed = (uint64_t)vm_index(vm, vm_subscript(vm, v[0], py_int(0)), "a seed");
        vm->n_random = (uint32_t)vm_index(vm, vm_subscript(vm, v[0], py_int(1)), "a count");
    }
    return py_list(vm->arena, PY_LIST, old, 2);
}

NATIVE(eager_on_cuda) {
    return py_bool(v[0].kind == PY_TENSOR && tensor_is_eager(vm, v[0]) && v[0].tensor->on_cuda);
}

/* The tensor, said to be on a device: itself if it is there. in_place: whoever holds it sees it. */
NATIVE(eager_move) {
    if (!vm->eager || vm->tracing || v[0].kind != PY_TENSOR) return v[0];
    bool cuda = vm_truth(vm, v[1]) && vm->has_cuda;
    if (vm_truth(vm, v[1]) && !vm->has_cuda && !vm->told_no_cuda && vm->script->log) {
        vm->script->log(vm->script->ctx, "no CUDA device here: cuda means the CPU\n");
        vm->told_no_cuda = true;
    }
    if (v[0].tensor->on_cuda == cuda) return v[0];
    if (SAID(2) && vm_truth(vm, v[2])) return v[0].tensor->on_cuda = cuda, v[0];
    struct py copy = tensor_call(vm, OP_CLONE, v, 1);
    copy.tensor->on_cuda = cuda;
    return copy;
}

NATIVE(eager_has_cuda) { return py_bool(vm->has_cuda); }
NATIVE(eager_cuda_name) {
    return py_str(vm->script && vm->script->cuda_name ? vm->script->cuda_name : "");
}

/* (9, 0) */
NATIVE(eager_cuda_capability) {
    int n = vm->script && vm->script->cuda_capability ? vm->script->cuda_capability : 80;
    struct py out[2] = {py_int(n / 10), py_int(n % 10)};
    return py_list(vm->arena, PY_TUPLE, out, 2);
}

/* To stderr. */
NATIVE(eager_log) {
    if (vm->script && vm->script->log) vm->script->log(vm->script->ctx, v[0].s);
    return py_none;
}

NATIVE(eager_clock) {
    if (vm->trace) vm_break(vm, "call of time.time()", "measure outside");
    return py_float(vm->eager ? clock_ms() / 1000 : 0);
}

/* -- the machine --------------------------------------------------------------------------- */

extern char **environ;

/* What a script asks of the machine, a workload is not told: it means the same everywhere. */
NATIVE(eager_environment) {
    struct py out = py_dict(vm->arena, PY_DICT);
    for (char **at = environ; vm->eager && at && *at; at++) {
        size_t n = strcspn(*at, "=");
        const char *value = (*at)[n] ? *at + n + 1 : "";
        dict_puts(vm->arena, out.dict, arena_strndup(vm->arena, *at, n),
                  py_str(arena_strdup(vm->arena, value)));
    }
    return out;
}

/* "file", "folder", or "": there is none */
NATIVE(eager_path_kind) {
    struct stat s;
    if (vm->trace) vm_break(vm, "look at a file", "look outside");
    if (!vm->eager || stat(v[0].s, &s)) return py_str("");
    return py_str(S_ISDIR(s.st_mode) ? "folder" : "file");
}

/* The text of a file; None: it cannot be read. */
NATIVE(eager_read_file) {
    struct diag quiet = diag_new(vm->arena);
    if (vm->trace) vm_break(vm, "reading of a file", "read it outside");
    if (!vm->eager) vm_refuse(vm, "reading a file is not supported in a workload");
    const struct source *file = source_read(vm->arena, v[0].s, &quiet);
    return file ? py_str(file->text) : py_none;
}

NATIVE(eager_write_file) {
    if (vm->trace) vm_break(vm, "writing of a file", "write it outside");
    if (!vm->eager) vm_refuse(vm, "writing a file is not supported in a workload");
    FILE *file = fopen(v[0].s, vm_truth(vm, v[2]) ? "a" : "w");
    if (!file) return py_false;
    bool ok = fputs(v[1].s, file) >= 0;
    return py_bool(fclose(file) == 0 && ok);
}

NATIVE(eager_make_folder) {
    if (vm->trace) vm_break(vm, "making of a folder", "make it outside");
    return py_bool(!vm->eager || !mkdir(v[0].s, 0777)); /* a workload writes nothing */
}

NATIVE(eager_working_directory) {
    char path[4096];
    return py_str(vm->eager && getcwd(path, sizeof path) ? arena_strdup(vm->arena, path) : "/");
}

/* torch.set_printoptions(): a number below 0 leaves what is */
NATIVE(eager_print_options) {
    if (vm->trace) vm_break(vm, "call of torch.set_printoptions()", "call it outside");
    struct print_options *o = &vm->print;
    int64_t at[5];
    for (int i = 0; i < 5; i++) at[i] = v[i].i;
    if (at[0] >= 0) o->precision = at[0] < 40 ? (int)at[0] : 40;
    if (at[1] >= 0) o->threshold = at[1];
    if (at[2] >= 0) o->edge = at[2];
    if (at[3] >= 0) o->line = at[3];
    if (at[4] >= 0 && at[4] <= SCIENTIFIC_ALWAYS) o->scientific = (enum scientific)at[4];
    return py_none;
}

/* repr() of a tensor of complex numbers, by its parts */
NATIVE(eager_complex_text) {
    const struct tensor *real = need_eager(vm, v[0], "print of a tensor"),
                        *imag = need_eager(vm, v[1], "print of a tensor");
    if (!dtype_is_float(real->meta.dtype) || real->meta.dtype != imag->meta.dtype ||
        real->meta.rank != imag->meta.rank)
        vm_raise(vm, EXC_TypeError, "the parts of complex numbers have to be alike");
    for (int i = 0; i < real->meta.rank; i++)
        if (eager_size(vm, real, i) != eager_size(vm, imag, i))
            vm_raise(vm, EXC_TypeError, "the parts of complex numbers have to be alike");
    struct buf b = buf_new(vm->arena);
    tensor_print_complex(vm, &b, real, imag);
    return py_str(b.p);
}

/* -- torch.compile ------------------------------------------------------------------------- */

static const struct backend *find_backend(struct vm *vm, const char *name) {
    const struct script_options *o = vm->script;
    if (o->backend) name = o->backend;
    if (!strcmp(name, "eager")) return &backend_eager;
    if (!strcmp(name, "aot_eager")) return &backend_aot_eager;
    struct buf known = buf_new(vm->arena);
    buf_puts(&known, "eager, aot_eager");
    for (const struct backend *const *b = o->backends; b && *b; b++) {
        if (!strcmp((*b)->name, name)) return *b;
        buf_printf(&known, ", %s", (*b)->name);
    }
    vm_raise(vm, EXC_RuntimeError, "Invalid backend: '%s'; known: %s", name, known.p);
}

static bool same_options(const struct compile_options *x, const struct compile_options *y) {
    return x->dynamic == y->dynamic && x->fullgraph == y->fullgraph && x->backend == y->backend &&
           py_same(x->function, y->function);
}

/* register(backend, dynamic, fullgraph) -> the number of these options. What was compiled under the
 * same is shared: layers of a kind are compiled once, each under a torch.compile of its own. */
NATIVE(eager_register) {
    if (!vm->eager) return py_int(-1);
    struct compile_options *o = NEW(vm->home, struct compile_options);
    *o = (struct compile_options){.fullgraph = SAID(2) && vm_truth(vm, v[2])};
    if (SAID(1)) o->dynamic = vm_truth(vm, v[1]) ? DYNAMIC_ALWAYS : DYNAMIC_NEVER;
    if (v[0].kind == PY_FUNCTION)
        o->function = v[0];
    else if (v[0].kind == PY_STR)
        o->backend = find_backend(vm, v[0].s);
    else
        vm_raise(vm, EXC_TypeError, "a backend is a name or a function, not '%s'",
                 type_name(vm, v[0]));
    for (const struct compile_options *old = vm->compiles; old; old = old->next)
        if (same_options(old, o)) return py_int(old->id);
    o->id = vm->compiles ? vm->compiles->id + 1 : 0;
    o->next = vm->compiles;
    vm->compiles = o;
    return py_int(o->id);
}

static struct args args_of(struct vm *vm, const struct list *args, const struct dict *kwargs) {
    const char **names = NEW_ARRAY(vm->arena, const char *, kwargs->n);
    struct py *named = NEW_ARRAY(vm->arena, struct py, kwargs->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < kwargs->entries.n; i++) {
        struct dict_entry e = kwargs->entries.at[i];
        if (!e.live) continue;
        names[n] = e.key.s;
        named[n++] = e.value;
    }
    return (struct args){args->at, args->n, names, named, n};
}

/* call(number, f, args, kwargs) */
NATIVE(eager_call) {
    const struct compile_options *how = compile_options_find(vm, v[0].i);
    if (!how) vm_raise(vm, EXC_ValueError, "no torch.compile has this number");
    struct args a = args_of(vm, v[2].list, v[3].dict);
    vm->direct = vm->frame && vm->frame->direct; /* the caller's frame holds all of it */
    return dynamo_call(vm, how, v[1], &a);
}

/* f(*args, **kwargs) as torch.compiler.disable() has it: no part of a graph. recursive: nor is what
 * it calls. */
NATIVE(eager_eagerly) {
    if (vm->trace)
        vm_break(vm, "call of a function that torch.compiler.disable() marks",
                 "let it be compiled");
    struct args a = args_of(vm, v[1].list, v[2].dict);
    if (vm_truth(vm, v[3])) return dynamo_call_eagerly(vm, v[0], &a);
    if (v[0].kind == PY_FUNCTION) v[0].function->is_eager = true;
    return vm_call(vm, v[0], &a);
}

/* torch.compiler.set_stance(): what to do where nothing compiled fits; what it was before */
NATIVE(eager_stance) {
    static const char *const names[] = {"default", "force_eager", "eager_on_recompile",
                                        "fail_on_recompile"};
    const char *before = names[vm->stance];
    if (vm->trace) vm_break(vm, "call of torch.compiler.set_stance()", "call it outside");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], v[0].s)) return vm->stance = (enum stance)i, py_str(before);
    vm_raise(vm, EXC_RuntimeError, "invalid torch.compile stance '%s'", v[0].s);
}

/* The names that are there when the text has run as a module's, where those of `names` were before.
 */
NATIVE(eager_run_text) {
    if (!vm->eager) vm_refuse(vm, "text that is run is not supported in a workload");
    if (vm->trace) vm_break(vm, "running of a text", "run it outside");
    struct source *src = NEW(vm->arena, struct source);
    *src = (struct source){arena_strdup(vm->arena, v[0].s), arena_strdup(vm->arena, v[1].s),
                           strlen(v[1].s)};
    struct diag d = diag_new(vm->arena);
    const struct code *code = frontend_compile(vm->arena, src, &d);
    if (!code) vm_raise(vm, EXC_SyntaxError, "%s", d.message ? d.message : "invalid syntax");
    struct module *m = NEW(vm->arena, struct module);
    *m = (struct module){.name = src->path, .dict = v[2].dict};
    dict_puts(vm->arena, m->dict, "__name__", py_str(m->name));
    vm_run_module(vm, m, code);
    return v[2];
}

/* Of a graph that a backend of the program got by this number: see graph_aot_rows() */
NATIVE(eager_aot) {
    if (vm->trace) vm_break(vm, "use of a graph", "use it outside");
    if (v[0].i < 0 || v[0].i >= vm->handed_out.n)
        vm_raise(vm, EXC_ValueError, "no graph has this number");
    return graph_aot_rows(vm, vm->handed_out.at[v[0].i]);
}

/* (exception, file, line): what the innermost `except` that is running handles; None outside of
 * one. */
NATIVE(eager_handled) {
    if (vm->trace) vm_break(vm, "look at the exception that is handled", "look outside");
    for (const struct frame *f = vm->frame; f; f = f->caller)
        for (uint32_t i = f->blocks.n; i-- > 0;) {
            struct py e = f->blocks.at[i].error;
            if (!f->blocks.at[i].handler || e.kind != PY_INSTANCE) continue;
            const struct source *src = e.instance->raised_in;
            struct py out[3] = {e, py_str(src ? src->path : vm->file->path),
                                py_int(e.instance->raised_at.line)};
            return py_list(vm->arena, PY_TUPLE, out, 3);
        }
    return py_none;
}

/* Or a workload, of which one graph is captured? */
NATIVE(eager_is_script) { return py_bool(vm->eager); }
NATIVE(eager_is_differentiated) {
    return py_bool(vm->eager || (vm->options && vm->options->differentiated));
}

static bool is_of_workload(const struct vm *vm) { return !vm->eager || vm->script->is_workload; }

bool vm_in_body(const struct vm *vm) {
    for (const struct frame *f = vm->frame; f; f = f->caller)
        if (!f->module->prelude && !f->names) return false;
    return is_of_workload(vm);
}

NATIVE(eager_in_module_body) { return py_bool(vm_in_body(vm)); }

/* Is what a workload's forward takes still being made: its files, its module, its inputs? */
NATIVE(eager_before_forward) { return py_bool(!vm->tracing && is_of_workload(vm)); }

NATIVE(eager_is_compiling) { return py_bool(vm->tracing); }

/* Names of the backends that are no functions of the program. */
NATIVE(eager_backends) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    vec_push(vm->arena, out.list, py_str("aot_eager"));
    vec_push(vm->arena, out.list, py_str("eager"));
    for (const struct backend *const *b = vm->script ? vm->script->backends : NULL; b && *b; b++)
        vec_push(vm->arena, out.list, py_str((*b)->name));
    return out;
}

/* All graph breaks so far, as (reason, file, line). */
NATIVE(eager_breaks) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    for (uint32_t i = 0; vm->counts && i < vm->counts->breaks.n; i++) {
        const struct script_break *b = &vm->counts->breaks.at[i];
        struct py row[] = {py_str(b->reason), py_str(b->path), py_int(b->where.line)};
        vec_push(vm->arena, out.list, py_list(vm->arena, PY_TUPLE, row, 3));
    }
    return out;
}

/* All graphs so far, as (function, guards, operators). */
NATIVE(eager_graphs) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    for (uint32_t i = 0; vm->counts && i < vm->counts->graphs.n; i++) {
        const struct script_graph *g = &vm->counts->graphs.at[i];
        struct py row[] = {py_str(g->function), py_str(g->guards), py_int(g->n_ops)};
        vec_push(vm->arena, out.list, py_list(vm->arena, PY_TUPLE, row, 3));
    }
    return out;
}

/* Topics of WS_LOGS, from now on. */
NATIVE(eager_set_logs) {
    if (vm->trace) vm_break(vm, "call of torch._logging.set_logs()", "call it outside");
    uint32_t logs = 0;
    for (uint32_t i = 0; i < v[0].list->n; i++) {
        int topic = log_find(v[0].list->at[i].s);
        if (topic < 0)
            vm_raise(vm, EXC_ValueError,
                     "Unrecognized log or artifact name passed to set_logs: %s; known: %s",
                     v[0].list->at[i].s, log_names());
        logs |= 1u << topic;
    }
    vm->logs = logs;
    for (const struct backend *const *b = vm->script ? vm->script->backends : NULL; b && *b; b++)
        if ((*b)->set_logs) (*b)->set_logs((*b)->ctx, logs);
    return py_none;
}

NATIVE(eager_mark_dynamic) {
    struct tensor *t = need_eager(vm, v[0], "call of mark_dynamic()");
    int64_t d = v[1].i;
    if (d < 0) d += t->meta.rank;
    if (d < 0 || d >= t->meta.rank) vm_raise(vm, EXC_IndexError, "Dimension out of range");
    t->dynamic |= (uint8_t)(1u << d);
    return py_none;
}

NATIVE(eager_forget) {
    if (vm->trace) vm_break(vm, "call of torch._dynamo.reset()", "call it outside");
    vm->codes = NULL;
    return py_none;
}

NATIVE(eager_unsupported) {
    if (class_is(v[0].class, vm->exceptions[EXC_BaseException])) vm->unsupported = v[0].class;
    return py_none;
}
