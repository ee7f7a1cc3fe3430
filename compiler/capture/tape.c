/* tape.c: gradients of what a script computed.
 *
 *   y = x * w          tape: graph(%x, %w) { mul }   inputs x, w
 *   loss = f(y)        tape: the graph of f's entry  inputs y
 *   loss.backward()    from the last tape to the first: the joint graph of each, its gradients
 *                      added up at the inputs; leaves keep them in .grad
 *
 * A tape keeps the tensors, not copies: one that was updated in place since is an error. */
#include <ctype.h>
#include <stdlib.h>

#include "capture/backend.h"
#include "capture/dynamo.h"
#include "graph/autograd.h"

struct tape {
    struct graph *graph;
    uint32_t id; /* of its first output: tapes are made in this order */
    struct tensor **inputs;
    uint32_t *versions;
    uint32_t n_inputs, n_outputs;
    struct tensor **outputs;
    struct bindings bindings;
    struct entry *entry; /* the compiled segment it stands for, or NULL */
};

static struct tape *tape_new(struct vm *vm, struct graph *g, struct tensor *const *inputs,
                             uint32_t n_outputs) {
    struct tape *t = NEW(vm->home, struct tape);
    *t = (struct tape){.graph = g, .n_inputs = g->inputs.n, .n_outputs = n_outputs};
    t->inputs = NEW_ARRAY(vm->home, struct tensor *, t->n_inputs);
    t->versions = NEW_ARRAY(vm->home, uint32_t, t->n_inputs);
    t->outputs = NEW_ARRAY(vm->home, struct tensor *, n_outputs);
    for (uint32_t i = 0; i < t->n_inputs; i++) {
        t->inputs[i] = inputs[i];
        t->versions[i] = inputs[i]->storage->version;
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
    struct tape *t = tape_new(vm, vm->op_graph, vm->op_inputs.at, 1);
    put_output(t, 0, out);
}

uint32_t tape_inputs(const struct tape *t, struct tensor *const **inputs) {
    *inputs = t->inputs;
    return t->n_inputs;
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
    struct buf b = buf_new(x->graph->arena);
    const char *name = op_info(x->graph->nodes.at[x->graph->nodes.n - 1].op)->name;
    bool start = true;
    for (const char *s = name; *s; s++) {
        if (*s != '_') buf_putc(&b, start ? (char)toupper((unsigned char)*s) : *s);
        start = *s == '_';
    }
    buf_puts(&b, "Backward0");
    return b.p;
}

void tape_record_entry(struct vm *vm, struct entry *e, const struct bindings *b,
                       struct tensor *const *inputs, const struct py *outputs) {
    bool needed = false;
    for (uint32_t i = 0; i < e->graph->inputs.n; i++) needed |= inputs[i]->requires_grad;
    if (!needed || !vm->grad_enabled) return;
    struct tape *t = tape_new(vm, e->graph, inputs, e->n_outputs);
    t->entry = e;
    t->bindings = *b; /* so that the forward part, computed again, draws the same numbers */
    for (uint32_t i = 0; i < e->n_outputs; i++)
        if (dtype_is_float(outputs[i].tensor->meta.dtype)) put_output(t, i, outputs[i].tensor);
}

/* -- backward ------------------------------------------------------------------------------ */

struct gradient {
    struct tensor *of;
    struct py grad;
};

struct backward {
    struct vm *vm;
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

static void accumulate(struct backward *w, struct tensor *t, struct py grad) {
    struct gradient *g = gradient_of(w, t);
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

/* Of the inputs whose values the gradients need. */
static void check_versions(struct vm *vm, const struct tape *t, const struct graph *g) {
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        uint32_t k = g->inputs.at[i].init;
        if (k < t->n_inputs && t->inputs[k]->storage->version != t->versions[k])
            vm_raise(vm, EXC_RuntimeError,
                     "one of the variables needed for gradient computation has been modified by "
                     "an inplace operation");
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

static void step_back(struct backward *w, struct tape *t) {
    struct vm *vm = w->vm;
    struct tensor **all = NEW_ARRAY(vm->arena, struct tensor *, t->n_inputs + t->n_outputs);
    uint32_t n = t->n_inputs, n_wanted;
    for (uint32_t i = 0; i < t->n_inputs; i++) all[i] = t->inputs[i];
    for (uint32_t i = 0; i < t->n_outputs; i++) {
        const struct node *out = &t->graph->nodes.at[t->graph->outputs.at[i]];
        if (!dtype_is_float(out->meta.dtype)) continue;
        struct py grad = t->outputs[i] ? gradient_of(w, t->outputs[i])->grad : py_unset;
        all[n++] = grad.kind == PY_UNSET ? zeros_like(vm, t->outputs[i]).tensor : grad.tensor;
    }
    const struct backend *how;
    void *callable;
    struct graph *g = compiled_gradients(vm, t, &how, &callable, &n_wanted);
    check_versions(vm, t, g);
    struct tensor **in = NEW_ARRAY(vm->arena, struct tensor *, g->inputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) in[i] = all[g->inputs.at[i].init];
    struct py *grads = NEW_ARRAY(vm->arena, struct py, n_wanted);
    run_graph(vm, how, g, callable, &t->bindings, in, grads);
    for (uint32_t i = 0, k = 0; i < t->n_inputs; i++)
        if (t->inputs[i]->requires_grad) accumulate(w, t->inputs[i], grads[k++]);
}

static void walk(struct backward *w, struct tensor *root, struct py tangent) {
    struct vm *vm = w->vm;
    if (!root->requires_grad)
        vm_raise(vm, EXC_RuntimeError,
                 "element 0 of tensors does not require grad and does not have a grad_fn");
    if (tangent.kind != PY_TENSOR) {
        if (eager_numel(vm, root) != 1)
            vm_raise(vm, EXC_RuntimeError,
                     "grad can be implicitly created only for scalar outputs");
        double one = 1;
        tangent = zeros_like(vm, root);
        eager_write(vm, tangent.tensor, &one);
    }
    bool enabled = vm->grad_enabled;
    vm->grad_enabled = false;
    accumulate(w, root, tangent);
    find_tapes(w, root->tape);
    qsort(w->tapes.at, w->tapes.n, sizeof *w->tapes.at, compare_tapes);
    for (uint32_t i = 0; i < w->tapes.n; i++) step_back(w, w->tapes.at[i]);
    vm->grad_enabled = enabled;
}

void tape_backward(struct vm *vm, struct py root, struct py tangent) {
    struct backward w = {.vm = vm};
    walk(&w, root.tensor, tangent);
    for (uint32_t i = 0; i < w.at.n; i++) {
        struct tensor *t = w.at.at[i].of;
        struct py grad = w.at.at[i].grad;
        if (t->tape || grad.kind != PY_TENSOR || !t->requires_grad) continue;
        if (t->grad) {
            bool enabled = vm->grad_enabled;
            vm->grad_enabled = false;
            grad = vm_binary(vm, BINARY_ADD, py_pointer(PY_TENSOR, t->grad), grad, false);
            vm->grad_enabled = enabled;
        }
        t->grad = grad.tensor;
    }
}

/* torch.autograd.grad: gradients of the tensors in `of`, which keep none. */
struct py tape_grad(struct vm *vm, struct py root, const struct list *of, struct py tangent) {
    struct backward w = {.vm = vm};
    walk(&w, root.tensor, tangent);
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    for (uint32_t i = 0; i < of->n; i++) {
        struct py grad = gradient_of(&w, of->at[i].tensor)->grad;
        if (grad.kind != PY_TENSOR)
            vm_raise(vm, EXC_RuntimeError,
                     "One of the differentiated Tensors appears to not have been used in the "
                     "graph. Set allow_unused=True if this is the desired behavior.");
        vec_push(vm->arena, out.list, grad);
    }
    return out;
}
