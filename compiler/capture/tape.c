/* tape.c: gradients of what a script computed.
 *
 *   y = x * w          tape: graph(%x, %w) { mul }   inputs x, w
 *   loss = f(y)        tape: the graph of f's entry  inputs y
 *   loss.backward()    from the last tape to the first: the joint graph of each, its gradients
 *                      added up at the inputs; leaves keep them in .grad
 *
 * A tape keeps the tensors, not copies: one that was updated in place since is an error. A
 * torch.autograd.Function is a tape whose gradients a function of the program computes. Under
 * create_graph=True the gradients are outputs of tapes themselves. */
#include <stdlib.h>

#include "capture/backend.h"
#include "capture/dynamo.h"
#include "capture/tape_name.h"
#include "graph/autograd.h"

struct tape {
    struct graph *graph;
    uint32_t id;                      /* of its first output: tapes are made in this order */
    struct tensor **inputs, **values; /* values: of the inputs, or copies, which follow them */
    uint32_t *versions;
    uint32_t n_inputs, n_outputs;
    struct tensor **outputs;
    struct bindings bindings;
    struct entry *entry; /* the compiled segment it stands for, or NULL */
    struct py function;  /* gradients of the outputs -> a list of those of the inputs; or UNSET */
    const char *name;    /* if its graph does not say it */
};

struct tape_use {
    struct tape *tape;
    struct tape_use *next;
};

/* Inputs and copies of their values. */
static uint32_t n_held(const struct tape *t) {
    return t->values == t->inputs ? t->n_inputs : 2 * t->n_inputs;
}

bool tape_is_stale(const struct tensor *t) {
    return !t->graph && t->recorded != *tensor_recorded(t);
}

/* Leaves are never updated in place under autograd. */
static void note_use(struct vm *vm, struct tape *t, struct tensor *input) {
    if (tape_is_stale(input))
        vm_refuse(vm, "gradients of a tensor whose memory was updated in place through another "
                      "view of it are not supported; update the tensor itself");
    if (input->requires_grad && !input->tape) return;
    struct tape_use *use = NEW(vm->home, struct tape_use);
    *use = (struct tape_use){t, input->uses};
    input->uses = use;
}

static struct tape *tape_new(struct vm *vm, struct graph *g, struct tensor *const *inputs,
                             uint32_t n_inputs, uint32_t n_outputs) {
    struct tape *t = NEW(vm->home, struct tape);
    *t = (struct tape){.graph = g, .n_inputs = n_inputs, .n_outputs = n_outputs};
    t->inputs = t->values = NEW_ARRAY(vm->home, struct tensor *, t->n_inputs);
    t->versions = NEW_ARRAY(vm->home, uint32_t, t->n_inputs);
    t->outputs = NEW_ARRAY(vm->home, struct tensor *, n_outputs);
    for (uint32_t i = 0; i < t->n_inputs; i++) {
        t->inputs[i] = inputs[i];
        t->versions[i] = inputs[i]->storage->version;
        note_use(vm, t, inputs[i]);
    }
    return t;
}

static void put_output(struct tape *t, uint32_t i, struct tensor *out) {
    t->outputs[i] = out;
    if (!t->id) t->id = out->id;
    out->tape = t;
    out->output = i;
    out->requires_grad = true;
}

void tape_record(struct vm *vm, struct tensor *out) {
    struct tape *t = tape_new(vm, vm->op_graph, vm->op_inputs.at, vm->op_graph->inputs.n, 1);
    put_output(t, 0, out);
}

uint32_t tape_inputs(const struct tape *t, struct tensor *const **inputs, struct py *function) {
    *inputs = t->inputs;
    *function = t->function;
    return n_held(t);
}

/* A copy of what the tensor holds now, that gradients do not go through. */
static struct tensor *copy_of(struct vm *vm, struct tensor *t) {
    struct py args[1] = {py_pointer(PY_TENSOR, t)};
    bool enabled = vm->grad_enabled;
    vm->grad_enabled = false;
    struct tensor *copy = tensor_call(vm, OP_CLONE, args, 1).tensor;
    vm->grad_enabled = enabled;
    return copy;
}

/* What t was until now is old. */
static void leave_to(struct tensor *old, struct tensor *t) {
    old->requires_grad = t->requires_grad;
    old->id = t->id;
    old->tape = t->tape;
    old->output = t->output;
    old->hooks = t->hooks;
    old->uses = t->uses;
    if (t->tape) t->tape->outputs[t->output] = old;
    for (struct tape_use *use = t->uses; use; use = use->next)
        for (uint32_t i = 0; i < n_held(use->tape); i++)
            if (use->tape->inputs[i] == t) use->tape->inputs[i] = old;
    t->tape = NULL;
    t->hooks = NULL;
    t->uses = NULL;
}

/* The values are copied: a gradient may need them. */
void tape_leave(struct vm *vm, struct tensor *t) {
    struct tensor *old = copy_of(vm, t);
    old->storage->version = t->storage->version;
    leave_to(old, t);
}

void tape_reshape(struct vm *vm, struct tensor *t, const struct tensor *view) {
    if (t->retains_grad)
        vm_refuse(vm, "changing the shape of a tensor in place after its retain_grad() is not "
                      "supported");
    struct tensor *old = NEW(vm->home, struct tensor);
    *old = *t;
    old->grad = NULL;
    old->attributes = NULL;
    leave_to(old, t);
    *t = *view;
    if (t->tape) put_output(t->tape, t->output, t);
}

void tape_move(struct tensor *to, struct tensor *from) {
    if (from->tape) put_output(from->tape, from->output, to);
    to->requires_grad = from->requires_grad;
    to->version++;
}

/* "add" -> "AddBackward0" */
const char *tape_name(const struct tensor *t) {
    const struct tape *x = t->tape;
    if (x->entry) return "CompiledFunctionBackward";
    if (x->name) return x->name;
    return backward_name(x->graph->arena, x->graph, x->graph->nodes.n - 1);
}

void tape_rename(struct tensor *t, const char *name) {
    if (t->tape) t->tape->name = name;
}

static bool is_updated(const struct entry *e, const struct tensor *input) {
    for (uint32_t i = 0; i < e->n_updates; i++) {
        const struct tensor_guard *g = &e->tensors[e->updates[i]];
        if (input == (g->place ? e->values[g->slot].tensor : g->tensor)) return true;
    }
    return false;
}

/* What the graph updates in place has not got its new values yet: gradients begin with the old
 * ones, as the graph did. */
static void keep_updated(struct vm *vm, struct tape *t, const struct entry *e) {
    uint32_t n = t->n_inputs;
    struct tensor **inputs = t->inputs;
    t->inputs = NEW_ARRAY(vm->home, struct tensor *, 2 * n);
    t->values = t->inputs + n;
    for (uint32_t i = 0; i < n; i++) {
        t->inputs[i] = inputs[i];
        t->values[i] = is_updated(e, inputs[i]) ? copy_of(vm, inputs[i]) : inputs[i];
        t->versions[i] = t->values[i]->storage->version;
    }
}

void tape_record_entry(struct vm *vm, struct entry *e, const struct bindings *b,
                       struct tensor *const *inputs, const struct py *outputs) {
    bool needed = false;
    for (uint32_t i = 0; i < e->n_outputs; i++) needed |= e->has_gradient[i];
    if (!needed) return;
    struct tape *t = tape_new(vm, e->graph, inputs, e->graph->inputs.n, e->n_outputs);
    if (e->n_updates) keep_updated(vm, t, e);
    t->entry = e;
    t->bindings = *b; /* so that the forward part, computed again, draws the same numbers */
    for (uint32_t i = 0; i < e->n_outputs; i++) {
        t->outputs[i] = outputs[i].tensor;
        if (e->has_gradient[i]) put_output(t, i, outputs[i].tensor);
    }
}

static struct tensor **tensors_of(struct vm *vm, const struct list *l) {
    struct tensor **out = NEW_ARRAY(vm->arena, struct tensor *, l->n);
    for (uint32_t i = 0; i < l->n; i++) out[i] = l->at[i].tensor;
    return out;
}

void tape_record_function(struct vm *vm, const char *name, struct py function,
                          const struct list *inputs, const struct list *outputs) {
    struct tape *t = tape_new(vm, NULL, tensors_of(vm, inputs), inputs->n, outputs->n);
    t->function = function;
    t->name = name;
    for (uint32_t i = 0; i < outputs->n; i++)
        if (dtype_is_float(outputs->at[i].tensor->meta.dtype))
            put_output(t, i, outputs->at[i].tensor);
}

/* The gradients that the last step of a walk has computed, as outputs of its graph. */
static void record_gradients(struct vm *vm, struct graph *g, const struct bindings *b,
                             struct tensor *const *inputs, const struct py *grads) {
    bool needed = false;
    for (uint32_t i = 0; i < g->inputs.n; i++) needed |= inputs[i]->requires_grad;
    if (!needed) return;
    struct graph *own = graph_prune(g);
    for (uint32_t i = 0; i < own->inputs.n; i++) own->inputs.at[i].init = i;
    struct tape *t = tape_new(vm, own, inputs, own->inputs.n, own->outputs.n);
    t->bindings = *b;
    for (uint32_t i = 0; i < t->n_outputs; i++) put_output(t, i, grads[i].tensor);
}

/* -- backward ------------------------------------------------------------------------------ */

struct gradient {
    struct tensor *of;
    struct py grad;
    bool shared; /* the program may hold grad, or another tensor have it */
};

struct backward {
    struct vm *vm;
    const struct list *roots, *tangents; /* of each root a tensor or None */
    bool create_graph;
    VEC(struct gradient) at;
    VEC(struct tape *) tapes;
};

static struct gradient *gradient_of(struct backward *w, struct tensor *t) {
    for (uint32_t i = 0; i < w->at.n; i++)
        if (w->at.at[i].of == t) return &w->at.at[i];
    struct gradient g = {.of = t};
    vec_push(w->vm->arena, &w->at, g);
    return &vec_last(&w->at);
}

static void accumulate(struct backward *w, struct tensor *t, struct py grad, bool shared) {
    struct gradient *g = gradient_of(w, t);
    g->shared = shared && g->grad.kind == PY_UNSET;
    g->grad = g->grad.kind == PY_UNSET ? grad : vm_binary(w->vm, BINARY_ADD, g->grad, grad, false);
}

static void find_tapes(struct backward *w, struct tape *t) {
    if (!t) return;
    for (uint32_t i = 0; i < w->tapes.n; i++)
        if (w->tapes.at[i] == t) return;
    vec_push(w->vm->arena, &w->tapes, t);
    for (uint32_t i = 0; i < t->n_inputs; i++)
        if (t->inputs[i]->requires_grad) find_tapes(w, t->inputs[i]->tape);
}

/* The last made first. */
static int compare_tapes(const void *a, const void *b) {
    const struct tape *x = *(struct tape *const *)a, *y = *(struct tape *const *)b;
    return (x->id < y->id) - (x->id > y->id);
}

static struct py zeros_like(struct vm *vm, const struct tensor *t) {
    int64_t size[WS_MAX_RANK];
    for (int i = 0; i < t->meta.rank; i++) size[i] = eager_size(vm, t, i);
    struct py out = eager_new(vm, t->meta.dtype, t->meta.rank, size);
    memset(out.tensor->storage->bytes, 0, out.tensor->storage->size);
    return out;
}

/* The graph of the gradients alone. The forward part that they need is computed again. */
static struct graph *gradients_graph(struct vm *vm, struct tape *t, uint32_t *n_wanted) {
    bool *wants = NEW_ARRAY(vm->arena, bool, t->n_inputs);
    *n_wanted = 0;
    for (uint32_t i = 0; i < t->n_inputs; i++) {
        wants[i] = t->inputs[i]->requires_grad;
        *n_wanted += wants[i];
    }
    struct diag d = diag_new(vm->arena);
    struct graph *joint = graph_backward(t->graph, wants, &d);
    if (!joint) vm_raise(vm, EXC_RuntimeError, "%s", d.message);
    uint32_t n = joint->outputs.n - *n_wanted;
    memmove(joint->outputs.at, joint->outputs.at + n, *n_wanted * sizeof *joint->outputs.at);
    joint->outputs.n = *n_wanted;
    return graph_prune(joint);
}

static void check_version(struct vm *vm, const struct tape *t, uint32_t input) {
    if (t->values[input]->storage->version != t->versions[input])
        vm_raise(vm, EXC_RuntimeError,
                 "one of the variables needed for gradient computation has been modified by an "
                 "inplace operation");
}

/* Of the inputs whose values the gradients need. */
static void check_versions(struct vm *vm, const struct tape *t, const struct graph *g) {
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i].init < t->n_inputs) check_version(vm, t, g->inputs.at[i].init);
}

/* No gradient goes through a copy. */
static void check_copies(struct vm *vm, const struct tape *t, const struct graph *g) {
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        uint32_t k = g->inputs.at[i].init;
        if (k < t->n_inputs && t->values[k] != t->inputs[k] && t->inputs[k]->requires_grad)
            vm_refuse(vm, "create_graph=True where a compiled function has updated an input that "
                          "requires gradients is not supported");
    }
}

/* The graph of a compiled segment's gradients is compiled once. */
static struct graph *compiled_gradients(struct vm *vm, struct tape *t, const struct backend **how,
                                        void **callable, uint32_t *n_wanted) {
    struct entry *e = t->entry;
    *how = e ? e->how->backend : &backend_eager;
    if (e && e->joint) {
        *callable = e->joint_callable;
        *n_wanted = e->joint->outputs.n;
        return e->joint;
    }
    struct graph *g = gradients_graph(vm, t, n_wanted);
    struct diag d = diag_new(vm->arena);
    *callable = (*how)->compile((*how)->ctx, g, &d);
    if (!*callable) vm_raise(vm, EXC_RuntimeError, "%s", d.message ? d.message : "no backend");
    if (e) e->joint = g, e->joint_callable = *callable;
    return g;
}

/* Is grad as large as t? */
static bool fits(struct vm *vm, const struct tensor *t, const struct tensor *grad) {
    if (grad->meta.rank != t->meta.rank) return false;
    for (int i = 0; i < t->meta.rank; i++)
        if (eager_size(vm, t, i) != eager_size(vm, grad, i)) return false;
    return true;
}

void tape_check_grad(struct vm *vm, const struct tensor *x, struct py v) {
    if (v.kind == PY_NONE) return;
    if (v.kind != PY_TENSOR)
        vm_raise(vm, EXC_TypeError,
                 "assigned grad expected to be a Tensor or None but got grad of type %s",
                 type_name(vm, v));
    if (v.tensor->graph) return;
    if (!fits(vm, x, v.tensor))
        vm_raise(vm, EXC_RuntimeError,
                 "attempting to assign a gradient to a tensor of another size. Please ensure that "
                 "the gradient and the tensor are the same size");
    if (v.tensor->meta.dtype != x->meta.dtype)
        vm_raise(vm, EXC_RuntimeError,
                 "attempting to assign a gradient of type %s to a tensor of type %s",
                 dtype_torch_name(v.tensor->meta.dtype), dtype_torch_name(x->meta.dtype));
}

/* grad in the type of t, as which it goes on. */
static struct py in_type_of(struct vm *vm, const struct tensor *t, struct py grad) {
    struct py args[2] = {grad, py_dtype(t->meta.dtype)};
    return grad.tensor->meta.dtype == t->meta.dtype ? grad : tensor_call(vm, OP_CAST, args, 2);
}

static void check_hook_result(struct vm *vm, const struct tensor *t, struct py to) {
    if (to.kind != PY_TENSOR)
        vm_raise(vm, EXC_TypeError, "expected Variable, but hook returned '%s'", type_name(vm, to));
    if (!fits(vm, t, to.tensor))
        vm_raise(vm, EXC_RuntimeError, "hook has changed the size of value");
    if (to.tensor->meta.dtype != t->meta.dtype)
        vm_raise(vm, EXC_RuntimeError, "hook has changed the type of value");
}

/* The gradient of t is complete: what its hooks make of it. */
static void call_hooks(struct backward *w, struct tensor *t) {
    struct gradient *g = t->hooks ? gradient_of(w, t) : NULL;
    if (!g || g->grad.kind != PY_TENSOR) return;
    struct py grad = g->grad;
    for (uint32_t i = 0; i < t->hooks->entries.n; i++) {
        if (!t->hooks->entries.at[i].live) continue;
        struct py to = vm_call1(w->vm, t->hooks->entries.at[i].value, grad);
        if (to.kind == PY_NONE) continue;
        check_hook_result(w->vm, t, to);
        grad = to;
    }
    g = gradient_of(w, t);
    g->shared |= !py_same(g->grad, grad);
    g->grad = grad;
}

/* An output's gradient, of zeros where nothing needed the output. */
static struct tensor *output_gradient(struct backward *w, struct tensor *out) {
    struct py grad = gradient_of(w, out)->grad;
    return grad.kind == PY_UNSET ? zeros_like(w->vm, out).tensor : grad.tensor;
}

static void step_of_function(struct backward *w, struct tape *t) {
    struct vm *vm = w->vm;
    struct py grads = py_list(vm->arena, PY_LIST, NULL, 0);
    for (uint32_t i = 0; i < t->n_outputs; i++)
        vec_push(vm->arena, grads.list,
                 t->outputs[i] ? py_pointer(PY_TENSOR, output_gradient(w, t->outputs[i]))
                               : py_none);
    struct py out = vm_call1(vm, t->function, grads);
    for (uint32_t i = 0; i < t->n_inputs; i++) {
        struct py grad = out.list->at[i];
        if (!t->inputs[i]->requires_grad || grad.kind == PY_NONE) continue;
        if (grad.kind != PY_TENSOR)
            vm_raise(vm, EXC_RuntimeError, "expected Variable or None (got %s)",
                     type_name(vm, grad));
        if (!fits(vm, t->inputs[i], grad.tensor))
            vm_raise(vm, EXC_RuntimeError,
                     "Function returned an invalid gradient at index %u: its shape is not that of "
                     "the input",
                     i);
        accumulate(w, t->inputs[i], in_type_of(vm, t->inputs[i], grad), true);
    }
}

static void step_of_graph(struct backward *w, struct tape *t) {
    struct vm *vm = w->vm;
    struct tensor **all = NEW_ARRAY(vm->arena, struct tensor *, t->n_inputs + t->n_outputs);
    uint32_t n = t->n_inputs, n_wanted;
    for (uint32_t i = 0; i < t->n_inputs; i++) all[i] = t->values[i];
    for (uint32_t i = 0; i < t->n_outputs; i++) {
        const struct node *out = &t->graph->nodes.at[t->graph->outputs.at[i]];
        if (!dtype_is_float(out->meta.dtype)) continue;
        all[n++] = output_gradient(w, t->outputs[i]);
    }
    const struct backend *how;
    void *callable;
    struct graph *g = compiled_gradients(vm, t, &how, &callable, &n_wanted);
    check_versions(vm, t, g);
    struct tensor **in = NEW_ARRAY(vm->arena, struct tensor *, g->inputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) in[i] = all[g->inputs.at[i].init];
    if (w->create_graph) check_copies(vm, t, g);
    struct py *grads = NEW_ARRAY(vm->arena, struct py, n_wanted);
    run_graph(vm, how, g, callable, &t->bindings, in, grads);
    if (w->create_graph) record_gradients(vm, g, &t->bindings, in, grads);
    for (uint32_t i = 0, k = 0; i < t->n_inputs; i++)
        if (t->inputs[i]->requires_grad) accumulate(w, t->inputs[i], grads[k++], false);
}

static void step_back(struct backward *w, struct tape *t) {
    for (uint32_t i = 0; i < t->n_outputs; i++)
        if (t->outputs[i]) call_hooks(w, t->outputs[i]);
    if (t->graph)
        step_of_graph(w, t);
    else
        step_of_function(w, t);
}

static void seed(struct backward *w, struct tensor *root, struct py tangent, uint32_t number) {
    struct vm *vm = w->vm;
    if (!root->requires_grad)
        vm_raise(vm, EXC_RuntimeError,
                 "element %u of tensors does not require grad and does not have a grad_fn", number);
    if (tangent.kind == PY_TENSOR && !fits(vm, root, tangent.tensor))
        vm_raise(vm, EXC_RuntimeError,
                 "Mismatch in shape: grad_output[%u] has not the shape of output[%u]", number,
                 number);
    if (tangent.kind != PY_TENSOR) {
        if (eager_numel(vm, root) != 1)
            vm_raise(vm, EXC_RuntimeError,
                     "grad can be implicitly created only for scalar outputs");
        tangent = zeros_like(vm, root);
        eager_fill(vm, tangent.tensor, 1);
    }
    accumulate(w, root, in_type_of(vm, root, tangent), true);
    find_tapes(w, root->tape);
}

static void walk_back(void *ctx) {
    struct backward *w = ctx;
    for (uint32_t i = 0; i < w->roots->n; i++)
        seed(w, w->roots->at[i].tensor, w->tangents->at[i], i);
    if (w->tapes.n) qsort(w->tapes.at, w->tapes.n, sizeof *w->tapes.at, compare_tapes);
    for (uint32_t i = 0; i < w->tapes.n; i++) step_back(w, w->tapes.at[i]);
    for (uint32_t i = 0; i < w->at.n; i++)
        if (!w->at.at[i].of->tape) call_hooks(w, w->at.at[i].of);
}

/* An exception on the way leaves the mode as it was. */
static void walk(struct backward *w) {
    struct vm *vm = w->vm;
    bool enabled = vm->grad_enabled;
    vm->grad_enabled = w->create_graph;
    bool ok = vm_protect(vm, walk_back, w);
    vm->grad_enabled = enabled;
    if (!ok) vm_leave(vm);
}

static bool is_view(const struct tensor *t) {
    const struct graph *g = t->tape->graph;
    return g && op_info(g->nodes.at[g->nodes.n - 1].op)->class == VIEW;
}

/* A gradient is of what a tensor is now. One that was updated through another tensor of its memory
 * is another now, which nothing has been computed from; but a view learns of it only when it is
 * looked at, as in PyTorch. */
static bool retains(const struct tensor *t) {
    if (!t->retains_grad) return false;
    return !tape_is_stale(t) || (is_view(t) && t->retained == t->recorded);
}

/* After .grad has what this backward adds to it: a hook may step, and take the gradient away. */
static void call_grad_hooks(struct vm *vm, struct tensor *t) {
    const struct dict *hooks = t->grad_hooks;
    for (uint32_t i = 0; hooks && i < hooks->entries.n; i++)
        if (hooks->entries.at[i].live)
            vm_call1(vm, hooks->entries.at[i].value, py_pointer(PY_TENSOR, t));
}

void tape_backward(struct vm *vm, const struct list *roots, const struct list *tangents,
                   bool create_graph) {
    struct backward w = {vm, roots, tangents, .create_graph = create_graph};
    walk(&w);
    for (uint32_t i = 0; i < w.at.n; i++) {
        struct tensor *t = w.at.at[i].of;
        struct py grad = w.at.at[i].grad;
        if ((t->tape && !retains(t)) || grad.kind != PY_TENSOR || !t->requires_grad) continue;
        if (t->grad) {
            bool enabled = vm->grad_enabled;
            vm->grad_enabled = create_graph;
            grad = vm_binary(vm, BINARY_ADD, py_pointer(PY_TENSOR, t->grad), grad, !create_graph);
            vm->grad_enabled = enabled;
        } else if (w.at.at[i].shared && !create_graph) {
            grad = tensor_call(vm, OP_CLONE, &grad, 1);
        }
        t->grad = grad.tensor;
        call_grad_hooks(vm, t);
    }
}

/* torch.autograd.grad: gradients of the tensors in `of`, which keep none; None of what the roots do
 * not depend on. */
struct py tape_grad(struct vm *vm, const struct list *roots, const struct list *of,
                    const struct list *tangents, bool create_graph) {
    struct backward w = {vm, roots, tangents, .create_graph = create_graph};
    walk(&w);
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    for (uint32_t i = 0; i < of->n; i++) {
        struct py grad = gradient_of(&w, of->at[i].tensor)->grad;
        vec_push(vm->arena, out.list, grad.kind == PY_TENSOR ? grad : py_none);
    }
    return out;
}
