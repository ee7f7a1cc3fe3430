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

#define NATIVE(name)                                                                               \
    static struct py eager_##name(struct vm *vm, const struct py *v, const struct args *raw)
#define GIVEN(i) (v[i].kind != PY_UNSET && v[i].kind != PY_NONE)

static struct tensor *need_eager(struct vm *vm, struct py v, const char *what) {
    if (v.kind != PY_TENSOR)
        vm_raise(vm, EXC_TypeError, "expected a Tensor, not '%s'", type_name(vm, v));
    v = tensor_value(vm, v);
    if (!tensor_is_eager(vm, v)) vm_break(vm, what, "keep it in a tensor");
    return v.tensor;
}

/* -- values -------------------------------------------------------------------------------- */

NATIVE(computes) { return py_bool(vm->eager && !vm->tracing); }

NATIVE(item_) {
    struct tensor *t = need_eager(vm, v[0], "call of Tensor.item()");
    return eager_item(vm, py_pointer(PY_TENSOR, t));
}

static struct py nested(struct vm *vm, const struct tensor *t, const double *v, int dim,
                        int64_t at) {
    enum dtype d = t->meta.dtype;
    if (dim == t->meta.rank)
        return d == DT_BOOL        ? py_bool(v[at] != 0)
               : dtype_is_float(d) ? py_float(v[at])
                                   : py_int((int64_t)v[at]);
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    int64_t n = eager_size(vm, t, dim);
    for (int64_t i = 0; i < n; i++)
        vec_push(vm->arena, out.list, nested(vm, t, v, dim + 1, at * n + i));
    return out;
}

NATIVE(tolist) {
    const struct tensor *t = need_eager(vm, v[0], "call of Tensor.tolist()");
    double *values = eager_values(vm, t);
    struct py out = nested(vm, t, values, 0, 0);
    free(values);
    return out;
}

NATIVE(storage_offset) {
    return py_int(need_eager(vm, v[0], "call of Tensor.storage_offset()")->offset);
}

NATIVE(data_ptr) {
    const struct tensor *t = need_eager(vm, v[0], "call of Tensor.data_ptr()");
    int64_t at = (int64_t)(uintptr_t)t->storage->bytes;
    return py_int(at + t->offset * dtype_bytes(t->meta.dtype));
}

NATIVE(nonzero_) {
    const struct tensor *t = need_eager(vm, v[0], "shape of Tensor.nonzero()");
    return eager_nonzero(vm, t, (int)vm_index(vm, v[1], "a dimension"));
}

NATIVE(from_data) {
    if (!vm->eager) return tensor_constant(vm, v[0], GIVEN(1) ? &v[1].dtype : NULL);
    if (vm->tracing)
        vm_refuse(vm, "torch.tensor of a list is not supported in a compiled function; "
                      "torch.arange, torch.full and torch.where make constant tensors");
    struct py out = eager_data(vm, v[0], GIVEN(1) ? &v[1].dtype : NULL);
    return out;
}

/* -- gradients ----------------------------------------------------------------------------- */

static void need_all_eager(struct vm *vm, const struct list *l, const char *what) {
    for (uint32_t i = 0; i < l->n; i++) need_eager(vm, l->at[i], what);
}

NATIVE(backward) {
    if (!vm->eager)
        vm_refuse(vm, "Tensor.backward() is not supported in a workload, which is a forward "
                      "function; --mode bwd and --mode train differentiate it");
    need_all_eager(vm, v[0].list, "call of Tensor.backward()");
    tape_backward(vm, v[0].list, v[1].list, vm_truth(vm, v[2]));
    return py_none;
}

NATIVE(grad) {
    need_all_eager(vm, v[0].list, "call of torch.autograd.grad()");
    need_all_eager(vm, v[1].list, "call of torch.autograd.grad()");
    return tape_grad(vm, v[0].list, v[1].list, v[2].list, vm_truth(vm, v[3]));
}

/* Where only a function of the program knows the gradient, a graph has none for it. */
NATIVE(need_values) {
    if (!vm->eager)
        vm_refuse(vm, "gradients of a torch.autograd.Function are not supported in a workload");
    if (vm->tracing)
        vm_break(vm, "call of a torch.autograd.Function", "operators of torch are captured");
    return py_none;
}

NATIVE(record) {
    need_all_eager(vm, v[2].list, "call of a torch.autograd.Function");
    need_all_eager(vm, v[3].list, "call of a torch.autograd.Function");
    tape_record_function(vm, v[0].s, v[1], v[2].list, v[3].list);
    return py_none;
}

NATIVE(hooks) {
    struct tensor *t = need_eager(vm, v[0], "call of Tensor.register_hook()");
    if (!t->hooks) t->hooks = dict_new(vm->home);
    return py_pointer(PY_DICT, t->hooks);
}

NATIVE(retain_grad) {
    struct tensor *t = need_eager(vm, v[0], "call of Tensor.retain_grad()");
    if (!t->requires_grad)
        vm_raise(vm, EXC_RuntimeError, "can't retain_grad on Tensor that has requires_grad=False");
    t->retains_grad = true;
    return py_none;
}

NATIVE(get_grad) {
    if (!vm->eager) return py_none;
    const struct tensor *t = need_eager(vm, v[0], "use of Tensor.grad");
    return t->grad ? py_pointer(PY_TENSOR, t->grad) : py_none;
}

/* "MulBackward0", or None of a leaf */
NATIVE(grad_name) {
    if (!vm->eager) return py_none;
    const struct tensor *t = need_eager(vm, v[0], "use of Tensor.grad_fn");
    return t->tape ? py_str(tape_name(t)) : py_none;
}

NATIVE(grad_mode) { return py_bool(vm->grad_enabled); }
NATIVE(set_grad_mode) {
    bool before = vm->grad_enabled;
    vm->grad_enabled = vm_truth(vm, v[0]);
    return py_bool(before);
}

/* -- devices and seeds --------------------------------------------------------------------- */

NATIVE(seed) {
    if (vm->trace) vm_break(vm, "call of torch.manual_seed()", "seed outside");
    vm->seed = (uint64_t)vm_index(vm, v[0], "a seed");
    vm->n_random = 0;
    if (!vm->eager) vm->seed = vm->options->seed;
    return py_none;
}

/* [seed, tensors drawn]: of all random numbers to come, if given; as they were */
NATIVE(stream) {
    struct py old[2] = {py_int((int64_t)vm->seed), py_int(vm->n_random)};
    if (vm->trace) vm_break(vm, "use of the state of random numbers", "use it outside");
    if (GIVEN(0)) {
        vm->seed = (uint64_t)vm_index(vm, vm_subscript(vm, v[0], py_int(0)), "a seed");
        vm->n_random = (uint32_t)vm_index(vm, vm_subscript(vm, v[0], py_int(1)), "a count");
    }
    return py_list(vm->arena, PY_LIST, old, 2);
}

NATIVE(on_cuda) {
    return py_bool(v[0].kind == PY_TENSOR && tensor_is_eager(vm, v[0]) && v[0].tensor->on_cuda);
}

/* The tensor, said to be on a device: itself if it is there. in_place: whoever holds it sees it. */
NATIVE(move) {
    if (!vm->eager || vm->tracing || v[0].kind != PY_TENSOR) return v[0];
    bool cuda = vm_truth(vm, v[1]) && vm->has_cuda;
    if (vm_truth(vm, v[1]) && !vm->has_cuda && !vm->told_no_cuda && vm->script->log) {
        vm->script->log(vm->script->ctx, "no CUDA device here: cuda means the CPU\n");
        vm->told_no_cuda = true;
    }
    if (v[0].tensor->on_cuda == cuda) return v[0];
    if (GIVEN(2) && vm_truth(vm, v[2])) return v[0].tensor->on_cuda = cuda, v[0];
    struct py copy = tensor_call(vm, OP_CLONE, v, 1);
    copy.tensor->on_cuda = cuda;
    return copy;
}

NATIVE(has_cuda) { return py_bool(vm->has_cuda); }
NATIVE(cuda_name) {
    return py_str(vm->script && vm->script->cuda_name ? vm->script->cuda_name : "");
}

/* To stderr. */
NATIVE(log) {
    if (vm->script && vm->script->log) vm->script->log(vm->script->ctx, v[0].s);
    return py_none;
}

NATIVE(clock) {
    if (vm->trace) vm_break(vm, "call of time.time()", "measure outside");
    return py_float(vm->eager ? clock_ms() / 1000 : 0);
}

/* -- the machine --------------------------------------------------------------------------- */

extern char **environ;

/* What a script asks of the machine, a workload is not told: it means the same everywhere. */
NATIVE(environment) {
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
NATIVE(path_kind) {
    struct stat s;
    if (vm->trace) vm_break(vm, "look at a file", "look outside");
    if (!vm->eager || v[0].kind != PY_STR || stat(v[0].s, &s)) return py_str("");
    return py_str(S_ISDIR(s.st_mode) ? "folder" : "file");
}

/* The text of a file; None: it cannot be read. */
NATIVE(read_file) {
    struct diag quiet = diag_new(vm->arena);
    if (vm->trace) vm_break(vm, "reading of a file", "read it outside");
    if (!vm->eager) vm_refuse(vm, "reading a file is not supported in a workload");
    const struct source *file = source_read(vm->arena, v[0].s, &quiet);
    return file ? py_str(file->text) : py_none;
}

NATIVE(write_file) {
    if (vm->trace) vm_break(vm, "writing of a file", "write it outside");
    if (!vm->eager) vm_refuse(vm, "writing a file is not supported in a workload");
    FILE *file = fopen(v[0].s, vm_truth(vm, v[2]) ? "a" : "w");
    if (!file) return py_false;
    bool ok = fputs(v[1].s, file) >= 0;
    return py_bool(fclose(file) == 0 && ok);
}

NATIVE(make_folder) {
    if (vm->trace) vm_break(vm, "making of a folder", "make it outside");
    return py_bool(vm->eager && !mkdir(v[0].s, 0777));
}

NATIVE(working_directory) {
    char path[4096];
    return py_str(vm->eager && getcwd(path, sizeof path) ? arena_strdup(vm->arena, path) : "/");
}

/* torch.set_printoptions(): a number below 0 leaves what is */
NATIVE(print_options) {
    if (vm->trace) vm_break(vm, "call of torch.set_printoptions()", "call it outside");
    int64_t at[5];
    for (int i = 0; i < 5; i++) at[i] = vm_index(vm, v[i], "a print option");
    struct print_options *o = &vm->print;
    if (at[0] >= 0) o->precision = at[0] < 40 ? (int)at[0] : 40;
    if (at[1] >= 0) o->threshold = at[1];
    if (at[2] >= 0) o->edge = at[2];
    if (at[3] >= 0) o->line = at[3];
    if (at[4] >= 0) o->scientific = (enum scientific)at[4];
    return py_none;
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

/* register(backend, dynamic, fullgraph) -> the number of these options */
NATIVE(register) {
    if (!vm->eager) return py_int(-1);
    struct compile_options *o = NEW(vm->home, struct compile_options);
    *o = (struct compile_options){.next = vm->compiles,
                                  .id = vm->compiles ? vm->compiles->id + 1 : 0,
                                  .fullgraph = GIVEN(2) && vm_truth(vm, v[2])};
    if (GIVEN(1)) o->dynamic = vm_truth(vm, v[1]) ? DYNAMIC_ALWAYS : DYNAMIC_NEVER;
    if (v[0].kind != PY_STR)
        vm_raise(vm, EXC_RuntimeError, "a backend is a name here, not '%s'", type_name(vm, v[0]));
    o->backend = find_backend(vm, v[0].s);
    vm->compiles = o;
    return py_int(o->id);
}

/* call(number, f, args, kwargs) */
NATIVE(call) {
    const struct compile_options *how = compile_options_find(vm, (uint32_t)v[0].i);
    const char **names = NEW_ARRAY(vm->arena, const char *, v[3].dict->n);
    struct py *named = NEW_ARRAY(vm->arena, struct py, v[3].dict->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < v[3].dict->entries.n; i++) {
        struct dict_entry e = v[3].dict->entries.at[i];
        if (!e.live) continue;
        names[n] = e.key.s;
        named[n++] = e.value;
    }
    struct args a = {v[2].list->at, v[2].list->n, names, named, n};
    vm->direct = vm->frame->direct; /* the caller's frame holds all of it */
    return dynamo_call(vm, how, v[1], &a);
}

NATIVE(mark_dynamic) {
    struct tensor *t = need_eager(vm, v[0], "call of mark_dynamic()");
    int64_t d = vm_index(vm, v[1], "a dimension");
    if (d < 0) d += t->meta.rank;
    if (d < 0 || d >= t->meta.rank) vm_raise(vm, EXC_IndexError, "Dimension out of range");
    t->dynamic |= (uint8_t)(1u << d);
    return py_none;
}

NATIVE(forget) {
    if (vm->trace) vm_break(vm, "call of torch._dynamo.reset()", "call it outside");
    vm->codes = NULL;
    return py_none;
}

NATIVE(unsupported) {
    vm->unsupported = v[0].class;
    return py_none;
}

static const struct native natives[] = {
    {"computes()", eager_computes},
    {"item(x)", eager_item_},
    {"tolist(x)", eager_tolist},
    {"storage_offset(x)", eager_storage_offset},
    {"data_ptr(x)", eager_data_ptr},
    {"nonzero(x, dim)", eager_nonzero_},
    {"from_data(data, dtype?)", eager_from_data},
    {"backward(outputs, gradients, create_graph)", eager_backward},
    {"grad(outputs, inputs, gradients, create_graph)", eager_grad},
    {"need_values()", eager_need_values},
    {"record(name, function, inputs, outputs)", eager_record},
    {"hooks(x)", eager_hooks},
    {"retain_grad(x)", eager_retain_grad},
    {"get_grad(x)", eager_get_grad},
    {"grad_name(x)", eager_grad_name},
    {"grad_mode()", eager_grad_mode},
    {"set_grad_mode(mode)", eager_set_grad_mode},
    {"seed(n)", eager_seed},
    {"stream(state?)", eager_stream},
    {"on_cuda(x)", eager_on_cuda},
    {"move(x, cuda, in_place?)", eager_move},
    {"has_cuda()", eager_has_cuda},
    {"cuda_name()", eager_cuda_name},
    {"log(text)", eager_log},
    {"clock()", eager_clock},
    {"environment()", eager_environment},
    {"path_kind(path)", eager_path_kind},
    {"read_file(path)", eager_read_file},
    {"write_file(path, text, append)", eager_write_file},
    {"make_folder(path)", eager_make_folder},
    {"working_directory()", eager_working_directory},
    {"print_options(precision, threshold, edge, line, scientific)", eager_print_options},
    {"register(backend, dynamic, fullgraph)", eager_register},
    {"call(number, f, args, kwargs)", eager_call},
    {"mark_dynamic(x, dim)", eager_mark_dynamic},
    {"forget()", eager_forget},
    {"unsupported(error)", eager_unsupported},
};

void eager_support_open(struct vm *vm, struct module *m) {
    natives_put(vm, m->dict, "", PY_UNSET, natives, sizeof natives / sizeof *natives);
}
