/* tensor.c: where the VM meets the graphs: operators become nodes, and tensors of the init graph
 * that forward touches become inputs of the captured one.
 *
 *   init:      %randn = randn([8, 64]) ; %to = to(%randn, dtype=bf16)
 *              output 0 is %to (the cast: --dtype bf16)
 *   captured:  %x: bf16[8, 64] = L['x']  (init 0)
 *
 * Graphs have no memory, tensors do: an update in place gives the tensor a new node. That is right
 * as long as nobody else looks at the same memory; where someone may, it is refused. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dynamo.h"
#include "graph/traits.h"

static const double MAX_NUMEL = 17592186044416.0; /* elements of one tensor: 2^44 */

struct graph *vm_graph(const struct vm *vm) {
    return vm->tracing ? vm->graph : vm->eager ? vm->op_graph : vm->init;
}

static struct storage *storage_new(struct vm *vm, node_id base) {
    struct storage *s = NEW(vm->arena, struct storage);
    s->base = base;
    return s;
}

struct py tensor_new_of(struct vm *vm, node_id node, struct storage *memory) {
    struct tensor *t = NEW(vm->arena, struct tensor);
    *t = (struct tensor){.graph = vm_graph(vm), .node = node, .kind = INPUT_ARG, .storage = memory};
    return py_pointer(PY_TENSOR, t);
}

struct py tensor_new(struct vm *vm, node_id node) {
    return tensor_new_of(vm, node, storage_new(vm, node));
}

/* -- init tensors become inputs ------------------------------------------------------------ */

/* "L['self'].linear.weight" -> "linear_weight", "L['xs'][0]" -> "xs_0". */
const char *input_name(struct arena *a, const char *source) {
    static const char self[] = "L['self'].";
    if (!strncmp(source, self, sizeof self - 1))
        source += sizeof self - 1;
    else if (strlen(source) > 3 && source[1] == '[')
        source += 3;
    struct buf b = buf_new(a);
    for (const char *p = source; *p; p++) {
        bool word = isalnum((unsigned char)*p) || *p == '_';
        if (word) buf_putc(&b, *p);
        if (!word && b.n && b.p[b.n - 1] != '_') buf_putc(&b, '_');
    }
    while (b.n && b.p[b.n - 1] == '_') b.p[--b.n] = 0;
    if (!b.n || isdigit((unsigned char)*b.p)) return arena_printf(a, "input_%s", b.p);
    return b.p;
}

/* Values are rounded to --dtype where they are made. */
static node_id init_cast(struct vm *vm, node_id node) {
    enum dtype from = vm->init->nodes.at[node].meta.dtype;
    if (!vm->options->cast || !dtype_is_float(from) || from == vm->options->dtype) return node;
    struct arg args[2] = {arg_node(node), arg_dtype(vm->options->dtype)};
    if (!graph_call(vm->init, OP_CAST, args, 2, vm->init->nodes.at[node].where, vm->diag, &node))
        vm_leave(vm);
    return node;
}

/* Does the tensor fill its storage, each element once? */
static bool is_dense(struct exprs *p, const struct meta *m) {
    ex last = ex_const(p, 1);
    for (int i = 0; i < m->rank; i++)
        last = ex_add(p, last, ex_mul(p, ex_sub(p, m->size[i], ex_const(p, 1)), m->stride[i]));
    return last == meta_numel(p, m);
}

/* What the input looks like: as the cast value, but in the order of memory that the user gave it,
 * as .to(dtype) does in PyTorch. */
static struct meta input_meta(struct vm *vm, node_id node, node_id value) {
    struct meta m = vm->init->nodes.at[node].meta, cast = vm->init->nodes.at[value].meta;
    if (node != value && !is_dense(vm->ex, &m)) return cast;
    m.dtype = cast.dtype;
    return m;
}

/* The input that the tensor is; the number of inputs if it is none yet. A parameter is one of its
 * own, even where it is of another's memory: its gradient is its own. */
static uint32_t find_input(struct vm *vm, struct tensor *t) {
    node_id node = functional_node(vm, t);
    uint32_t i = 0;
    for (; i < vm->init_tensors.n; i++) {
        struct tensor *x = vm->init_tensors.at[i];
        bool plain = t->kind == INPUT_ARG && x->kind == INPUT_ARG;
        if (x == t || (plain && functional_node(vm, x) == node)) break;
    }
    return i;
}

/* Is it one of forward's arguments, or in one, and no attribute of the module? */
static bool is_argument(const struct place *p) {
    if (!place_is_known(p)) return false;
    while (p->base) p = p->base;
    return p->kind == PLACE_LOCAL && strcmp(p->name, "self") != 0;
}

/* Gradients are taken of arguments, and of parameters and other tensors that require them. What is
 * floating among the arguments requires them only where the workload is differentiated: a
 * straight-through quantiser asks x.requires_grad, and passes gradients on, or nothing. */
static node_id input_of(struct vm *vm, struct py t) {
    uint32_t i = find_input(vm, t.tensor);
    if (i < vm->init_tensors.n)
        return vm->init_storages.at[i] ? vm->init_storages.at[i]->base
                                       : vm->graph->inputs.at[i].node;
    node_id node = functional_node(vm, t.tensor);
    node_id value = init_cast(vm, node);
    uint32_t init = vm->init_outputs.n;
    bool named = place_is_known(t.source); /* what no name leads to is a constant of forward() */
    struct meta meta = input_meta(vm, node, value);
    bool argument = is_argument(t.source);
    if (argument && vm->options->differentiated && dtype_has_gradient(meta.dtype))
        t.tensor->requires_grad = true;
    vec_push(vm->arena, &vm->init_tensors, t.tensor);
    vec_push(vm->arena, &vm->init_outputs, value);
    vec_push(vm->arena, &vm->init_storages, (struct storage *)NULL);
    vec_push(vm->arena, &vm->input_grad, t.tensor->requires_grad);
    const char *source = named ? t.source->text : arena_printf(vm->arena, "T[%u]", init);
    enum input_kind kind = argument                  ? INPUT_ARG
                           : t.tensor->requires_grad ? t.tensor->kind
                                                     : INPUT_BUFFER;
    return graph_input(vm->graph, input_name(vm->arena, source), kind, source, &meta, init);
}

/* The elements of a view are no longer those that were copied: where there is memory they are. */
static __attribute__((noreturn)) void refuse_stale(struct vm *vm, const struct tensor *t) {
    const char *why = "an update in place of what a view of this kind looks at";
    if (!vm->trace || t->graph != vm_graph(vm)) vm_refuse(vm, "%s is not supported", why);
    vm->trace->n_steps = t->made_at; /* the segment has to end before there is a view */
    vm_break(vm, why, "update the tensor before there is a view of it");
}

node_id tensor_node(struct vm *vm, struct py t) {
    if (t.tensor->selected) selected_refuse(vm);
    if (t.tensor->viewed && t.tensor->viewed->version != t.tensor->viewed_at)
        refuse_stale(vm, t.tensor);
    if (tensor_is_eager(vm, t)) return eager_input(vm, t.tensor);
    if (t.tensor->graph == vm_graph(vm)) return functional_node(vm, t.tensor);
    if (vm->trace) return trace_input(vm, t);
    if (!vm->tracing) vm_refuse(vm, "a tensor made in forward is used outside of it");
    return input_of(vm, t);
}

struct storage *functional_storage(struct vm *vm, struct py t) {
    if (t.tensor->graph == vm_graph(vm)) return t.tensor->storage;
    if (vm->trace) return trace_storage(vm, t);
    node_id input = tensor_node(vm, t);
    struct storage **s = &vm->init_storages.at[find_input(vm, t.tensor)];
    return *s ? *s : (*s = storage_new(vm, input));
}

const struct meta *tensor_meta(struct vm *vm, struct py t) {
    if (tensor_is_eager(vm, t)) return &t.tensor->meta;
    node_id n = tensor_node(vm, t);
    return &vm_graph(vm)->nodes.at[n].meta;
}

struct py tensor_size(struct vm *vm, ex size) {
    int64_t n;
    return ex_is_const(vm->ex, size, &n) ? py_int(n) : py_symint(size);
}

struct py tensor_sizes(struct vm *vm, const struct meta *m, int from) {
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    for (int k = from; k < m->rank; k++) vec_push(vm->arena, out.list, tensor_size(vm, m->size[k]));
    return out;
}

/* -- arguments ----------------------------------------------------------------------------- */

/* p: NULL if the operator has no such parameter, to be refused. */
static bool takes_integers(const struct param *p) {
    return p && (p->kind == 'I' || p->kind == 'D');
}

static struct arg sequence_arg(struct vm *vm, const struct param *p, const struct list *l) {
    struct graph *g = vm_graph(vm);
    if (l->n && l->at[0].kind == PY_TENSOR && !takes_integers(p)) {
        struct arg out = {.kind = ARG_NODES};
        out.nodes.at = NEW_ARRAY(vm->arena, node_id, l->n);
        out.nodes.n = l->n;
        for (uint32_t i = 0; i < l->n; i++) {
            if (l->at[i].kind != PY_TENSOR)
                vm_raise(vm, EXC_TypeError, "expected Tensor as element %u, but got %s", i,
                         type_name(vm, l->at[i]));
            out.nodes.at[i] = tensor_node(vm, l->at[i]);
        }
        return out;
    }
    struct list now = *l; /* an element's __index__ may change the list */
    ex *at = NEW_ARRAY(vm->arena, ex, now.n);
    for (uint32_t i = 0; i < now.n; i++)
        at[i] = now.at[i].kind == PY_SYMINT
                    ? now.at[i].symbolic
                    : ex_const(vm->ex, vm_index(vm, now.at[i], "a size or dimension"));
    return arg_ints(g, at, now.n);
}

static struct arg class_arg(struct vm *vm, struct py v) {
    if (v.class == vm->types[PY_FLOAT]) return arg_dtype(DT_F64);
    if (v.class == vm->types[PY_INT]) return arg_dtype(DT_I64);
    if (v.class == vm->types[PY_BOOL]) return arg_dtype(DT_BOOL);
    if (is_missing(v)) missing_refuse(vm, v);
    vm_raise(vm, EXC_TypeError, "a class is no argument of an operator");
}

static struct arg to_arg(struct vm *vm, const char *name, const struct param *p, struct py v) {
    v = py_plain(vm, v);
    if (v.kind == PY_TENSOR && takes_integers(p)) /* one element, known: F.pad(x, [d // 2, d]) */
        v = py_int(vm_index(vm, v, "a size or dimension"));
    switch (v.kind) {
    case PY_NONE: return arg_none();
    case PY_BOOL: return arg_bool(v.b);
    case PY_INT: return arg_int(vm_graph(vm), v.i);
    case PY_SYMINT: return arg_ex(v.symbolic);
    case PY_FLOAT: return arg_float(v.f);
    case PY_SYMFLOAT: return arg_node(trace_float(vm, v));
    case PY_STR: return arg_str(v.s);
    case PY_DTYPE: return arg_dtype(v.dtype);
    case PY_TENSOR: return arg_node(tensor_node(vm, v));
    case PY_TUPLE:
    case PY_LIST: return sequence_arg(vm, p, v.list);
    case PY_CLASS: return class_arg(vm, v);
    default:
        vm_raise(vm, EXC_TypeError, "%s(): argument of type '%s' is not supported", name,
                 type_name(vm, v));
    }
}

/* -- operators ----------------------------------------------------------------------------- */

/* Can the result be the same memory as the first tensor argument? */
static bool may_alias(enum op op) {
    static const enum op composites[] = {
        OP_FLATTEN,    OP_UNFLATTEN, OP_TRANSPOSE, OP_T,       OP_MT,    OP_MOVEDIM, OP_NARROW,
        OP_SELECT,     OP_DETACH,    OP_EXPAND_AS, OP_VIEW_AS, OP_FLOAT, OP_HALF,    OP_DOUBLE,
        OP_CONTIGUOUS, OP_BFLOAT16,  OP_LONG,      OP_INT,     OP_SHORT, OP_CHAR,    OP_BYTE,
        OP_BOOL,       OP_TYPE_AS,   OP_DIAGONAL,  OP_UNFOLD};
    if (op == OP_CAST || op_info(op)->class == VIEW) return true;
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++)
        if (composites[i] == op) return true;
    return false;
}

/* Arguments that say where and how, not what: a compile has one device and one layout. */
static bool is_placement(const char *name) {
    static const char *const names[] = {"device",        "layout",    "pin_memory",
                                        "requires_grad", "generator", "memory_format",
                                        "non_blocking",  "inplace"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* Sizes are 64 bits wide; what no machine can hold must not overflow them. */
static void need_reasonable(struct vm *vm, double numel) {
    if (numel > MAX_NUMEL) vm_refuse(vm, "a tensor of %.3g elements is too large", numel);
}

static double product(const struct py *at, uint32_t n) {
    double p = 1;
    for (uint32_t i = 0; i < n; i++)
        if (at[i].kind == PY_INT && at[i].i > 1) p *= (double)at[i].i;
    return p;
}

/* Sizes asked for: a list, or spread over the positional arguments of an operator that takes sizes.
 */
static void check_sizes(struct vm *vm, enum op op, const struct args *a) {
    const struct op_info *info = op_info(op);
    bool takes_sizes = false;
    for (int i = 0; i < info->n_params; i++)
        takes_sizes |= info->params[i].kind == 'I' && info->params[i].list;
    if (!takes_sizes) return;
    bool self = a->n && a->at[0].kind == PY_TENSOR;
    bool spread = a->n > self && a->at[self].kind == PY_INT;
    if (spread) need_reasonable(vm, product(a->at, a->n));
    for (uint32_t i = 0; i < a->n; i++)
        if (py_is_sequence(a->at[i]))
            need_reasonable(vm, product(a->at[i].list->at, a->at[i].list->n));
    for (uint32_t i = 0; i < a->n_named; i++)
        if (py_is_sequence(a->named[i]))
            need_reasonable(vm, product(a->named[i].list->at, a->named[i].list->n));
}

/* What an operator made of its operands' sizes. */
static void check_result(struct vm *vm, node_id node) {
    const struct meta *m = &vm_graph(vm)->nodes.at[node].meta;
    double numel = 1;
    int64_t n;
    for (int i = 0; i < m->rank; i++)
        if (ex_is_const(vm->ex, m->size[i], &n)) numel *= (double)n;
    need_reasonable(vm, numel);
}

/* A tensor argument, or the first of a list of them. */
static const struct py *tensor_in(const struct py *v) {
    if (v->kind == PY_TENSOR) return v;
    bool list = py_is_sequence(*v) && v->list->n && v->list->at[0].kind == PY_TENSOR;
    return list ? v->list->at : NULL;
}

static const struct py *first_tensor(const struct args *a) {
    for (uint32_t i = 0; i < a->n; i++)
        if (tensor_in(&a->at[i])) return tensor_in(&a->at[i]);
    for (uint32_t i = 0; i < a->n_named; i++)
        if (tensor_in(&a->named[i])) return tensor_in(&a->named[i]);
    return NULL;
}

uint32_t *tensor_recorded(const struct tensor *t) {
    return t->own ? &t->own->recorded : &t->storage->recorded;
}

/* One of whose memory a part has been given a gradient, as well: autograd has to refuse it. */
static bool tensor_needs_grad(const struct py *v) {
    if (v->kind == PY_TENSOR) return v->tensor->requires_grad || tape_is_stale(v->tensor);
    bool grad = false;
    for (uint32_t i = 0; tensor_in(v) && i < v->list->n; i++)
        grad |= v->list->at[i].kind == PY_TENSOR && tensor_needs_grad(&v->list->at[i]);
    return grad;
}

/* torch.zeros(3, requires_grad=True) */
static bool makes_leaf(struct vm *vm, const struct args *a) {
    bool leaf = false;
    for (uint32_t i = 0; i < a->n_named; i++)
        leaf |= !strcmp(a->names[i], "requires_grad") && vm_truth(vm, a->named[i]);
    return leaf;
}

uint32_t tensor_gradient_operands(enum op op, uint32_t n) {
    bool first = op == OP_SET_DATA || op == OP_TYPE_AS || op == OP_VIEW_AS || op == OP_EXPAND_AS;
    return op_ends_gradient(op) ? 0 : first && n ? 1 : n;
}

static bool needs_grad(struct vm *vm, enum op op, const struct args *a) {
    uint32_t n = tensor_gradient_operands(op, a->n);
    bool grad = false;
    for (uint32_t i = 0; i < n; i++) grad |= tensor_needs_grad(&a->at[i]);
    for (uint32_t i = 0; i < a->n_named; i++)
        grad |= !op_ends_gradient(op) && tensor_needs_grad(&a->named[i]);
    return grad || makes_leaf(vm, a);
}

/* Of the positional argument i; sizes may be spread over all that are left: x.view(2, -1). */
static const struct param *param_at(const struct op_info *info, const struct args *a, uint32_t i) {
    uint32_t n = (uint32_t)info->n_params;
    for (uint32_t k = 0; k < n && k < i; k++) {
        const struct param *p = &info->params[k];
        if (takes_integers(p) && p->list && !py_is_sequence(a->at[k])) return p;
    }
    return i < n ? &info->params[i] : NULL;
}

static bool wants_in_place(struct vm *vm, const struct builtin *b, const struct args *a) {
    for (uint32_t i = 0; i < a->n_named; i++)
        if (!strcmp(a->names[i], "inplace") && vm_truth(vm, a->named[i])) return true;
    const struct param *last = a->n ? param_at(op_info(b->op), a, a->n - 1) : NULL;
    if (last && !strcmp(last->name, "inplace") && vm_truth(vm, a->at[a->n - 1]))
        return true; /* F.elu(x, 1.0, True) */
    return b->in_place;
}

/* An operator that the graph refused: an exception where the program computes, else the end. */
static __attribute__((noreturn)) void refuse_call(struct vm *vm) {
    const char *message = vm->diag->message;
    if (!vm->eager || !message) vm_leave(vm);
    bool call = strstr(message, "(): ") || strstr(message, "() ");
    bool range = strstr(message, "out of range") || strstr(message, "to have non-zero size");
    *vm->diag = diag_new(vm->diag->arena);
    if (vm->trace) vm->trace->op_refused = true;
    vm_raise(vm, call ? EXC_TypeError : range ? EXC_IndexError : EXC_RuntimeError, "%s", message);
}

static const struct param *param_named(const struct op_info *info, const char *name) {
    for (int k = 0; k < info->n_params; k++)
        if (!strcmp(info->params[k].name, name)) return &info->params[k];
    return NULL;
}

static bool takes_symbolic_float(const struct args *a) {
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].kind == PY_SYMFLOAT) return true;
    for (uint32_t i = 0; i < a->n_named; i++)
        if (a->named[i].kind == PY_SYMFLOAT) return true;
    return false;
}

/* A float of the program is an input of the graph, a tensor of f64, but it widens nothing: the
 * result has the type that a number would make it. */
static node_id as_of_number(struct vm *vm, const struct args *a, node_id node) {
    struct graph *g = vm_graph(vm);
    const struct node *n = &g->nodes.at[node];
    struct arg args[MAX_PARAMS];
    struct meta want;
    struct diag d = diag_new(vm->arena);
    memcpy(args, n->args, sizeof *args * (size_t)n->n_args);
    for (uint32_t i = 0; i < a->n + a->n_named; i++) {
        struct py v = i < a->n ? a->at[i] : a->named[i - a->n];
        if (v.kind != PY_SYMFLOAT) continue;
        for (int k = 0; k < n->n_args; k++)
            if (args[k].kind == ARG_NODE && args[k].node == trace_float(vm, v))
                args[k] = arg_float(0.5);
    }
    n = &g->nodes.at[node];
    if (n->meta.dtype != DT_F64 || !graph_meta(g, n->op, args, vm_line(vm), &d, &want) ||
        !dtype_is_float(want.dtype) || want.dtype == n->meta.dtype)
        return node;
    struct arg to[2] = {arg_node(node), arg_dtype(want.dtype)};
    if (!graph_call(g, OP_CAST, to, 2, vm_line(vm), vm->diag, &node)) vm_leave(vm);
    return node;
}

/* A memory format other than torch.preserve_format: row-major, whichever it is. */
static bool is_format(struct py v) {
    struct py name;
    return v.kind == PY_INSTANCE && dict_gets(v.instance->dict, "name", &name) &&
           name.kind == PY_STR && strcmp(name.s, "preserve_format") != 0;
}

static node_id bind(struct vm *vm, const struct builtin *b, const struct args *a) {
    const struct op_info *info = op_info(b->op);
    if (vm->trace && vm->graph->nodes.n > MAX_TRACE_NODES)
        trace_stop(vm, "operators", MAX_TRACE_NODES);
    struct arg own[2 * MAX_PARAMS], *pos = own, *named = own + MAX_PARAMS;
    const char *own_names[MAX_PARAMS], **names = own_names;
    if (a->n > MAX_PARAMS || a->n_named > MAX_PARAMS) { /* to be refused */
        pos = NEW_ARRAY(vm->arena, struct arg, a->n);
        named = NEW_ARRAY(vm->arena, struct arg, a->n_named);
        names = NEW_ARRAY(vm->arena, const char *, a->n_named);
    }
    uint32_t n_named = 0;
    bool format = false;
    for (uint32_t i = 0; i < a->n; i++)
        pos[i] = to_arg(vm, b->name, param_at(info, a, i), a->at[i]);
    for (uint32_t i = 0; i < a->n_named; i++) {
        format |= !strcmp(a->names[i], "memory_format") && is_format(a->named[i]);
        if (is_placement(a->names[i])) continue;
        names[n_named] = a->names[i];
        named[n_named++] = to_arg(vm, b->name, param_named(info, a->names[i]), a->named[i]);
    }
    struct graph *g = vm_graph(vm);
    const struct source *of_graph = g->src;
    uint32_t before = g->nodes.n;
    struct span where = vm_place(vm, &g->src); /* for what is wrong with it */
    node_id node;
    vm->raised = py_unset;
    bool ok =
        graph_bind(g, b->op, pos, (int)a->n, names, named, (int)n_named, where, vm->diag, &node);
    bool elsewhere = g->src != of_graph;
    g->src = of_graph;
    if (!ok) refuse_call(vm);
    for (uint32_t i = before; elsewhere && i < g->nodes.n; i++) g->nodes.at[i].where = vm_line(vm);
    check_result(vm, node);
    if (!format) strides_follow(vm, node);
    return vm->trace && takes_symbolic_float(a) ? as_of_number(vm, a, node) : node;
}

/* torch.randn(8, device="cuda:0") */
static void place_result(struct vm *vm, const struct args *a, struct tensor *t) {
    for (uint32_t i = 0; i < a->n_named; i++)
        if (!strcmp(a->names[i], "device") && a->named[i].kind != PY_NONE)
            t->on_cuda = vm->has_cuda && !strncmp(py_text(vm, a->named[i]), "cuda", 4);
}

/* torch.rand(3, generator=g): [seed, tensors drawn] of g; NULL without one. */
static struct list *own_stream(struct vm *vm, const struct args *a) {
    struct py stream;
    for (uint32_t i = 0; i < a->n_named; i++)
        if (!strcmp(a->names[i], "generator") && a->named[i].kind == PY_INSTANCE &&
            dict_gets(a->named[i].instance->dict, "_stream", &stream)) {
            bool pair = stream.kind == PY_LIST && stream.list->n == 2 &&
                        stream.list->at[0].kind == PY_INT && stream.list->at[1].kind == PY_INT;
            if (!pair) vm_raise(vm, EXC_TypeError, "the state of a generator is [seed, count]");
            return stream.list;
        }
    return NULL;
}

static node_id bind_to_stream(struct vm *vm, const struct builtin *b, const struct args *a) {
    struct list *stream = own_stream(vm, a);
    if (!stream) return bind(vm, b, a);
    struct graph *g = vm->op_graph;
    g->seed = (uint64_t)stream->at[0].i;
    g->n_random = (uint32_t)stream->at[1].i;
    node_id node = bind(vm, b, a);
    stream->at[1] = py_int(g->n_random);
    g->n_random = vm->n_random;
    return node;
}

static struct py compute(struct vm *vm, const struct builtin *b, const struct args *a, bool grad) {
    const struct py *first = first_tensor(a);
    bool leaf = !first || op_ends_gradient(b->op);
    bool keep = grad && vm->grad_enabled && !leaf;
    eager_begin(vm, keep);
    node_id node = bind_to_stream(vm, b, a);
    struct py out = eager_compute(vm, node, first, first && may_alias(b->op));
    if (!first) place_result(vm, a, out.tensor);
    if (first && out.tensor->storage == first->tensor->storage) {
        out.tensor->detached = b->op == OP_DETACH || first->tensor->detached;
        out.tensor->own = b->op == OP_DETACH ? NEW(vm->home, struct detached) : first->tensor->own;
        out.tensor->recorded = *tensor_recorded(out.tensor);
    }
    bool differentiable = dtype_is_float(out.tensor->meta.dtype);
    if (keep && differentiable) tape_record(vm, out.tensor);
    out.tensor->requires_grad = grad && (vm->grad_enabled || leaf) && differentiable;
    return out;
}

/* Can a gradient of node flow on? Not of integers, detached values, buffers, and what is made of
 * them. seen: nodes that were asked before. */
static bool carries_gradient(const struct graph *g, node_id at, bool *seen) {
    const struct node *n = &g->nodes.at[at];
    if (seen[at] || op_ends_gradient(n->op) || !dtype_is_float(n->meta.dtype)) return false;
    seen[at] = true;
    for (uint32_t i = 0; n->op == OP_INPUT && i < g->inputs.n; i++)
        if (g->inputs.at[i].node == at) return g->inputs.at[i].kind != INPUT_BUFFER;
    for (uint32_t i = 0; i < tensor_gradient_operands(n->op, n->n_args); i++) {
        const struct arg *a = &n->args[i];
        if (a->kind == ARG_NODE && carries_gradient(g, a->node, seen)) return true;
        for (uint32_t k = 0; a->kind == ARG_NODES && k < a->nodes.n; k++)
            if (carries_gradient(g, a->nodes.at[k], seen)) return true;
    }
    return false;
}

bool tensor_carries_gradient(struct vm *vm, node_id node) {
    return carries_gradient(vm_graph(vm), node, NEW_ARRAY(vm->arena, bool, node + 1));
}

node_id tensor_detached(struct vm *vm, node_id node) {
    if (!tensor_carries_gradient(vm, node)) return node;
    struct arg arg = arg_node(node);
    if (!graph_call(vm_graph(vm), OP_DETACH, &arg, 1, vm_line(vm), vm->diag, &node)) vm_leave(vm);
    return node;
}

/* x becomes an operator's result, which may be of another type, but of no higher category. */
static struct py update(struct vm *vm, struct py x, struct py result) {
    if (x.tensor->selected) return selected_update(vm, x, result);
    enum dtype from = tensor_meta(vm, result)->dtype, to = tensor_meta(vm, x)->dtype;
    if (dtype_category(from) > dtype_category(to))
        vm_raise(vm, EXC_RuntimeError, "result type %s can't be cast to the desired output type %s",
                 dtype_torch_name(from), dtype_torch_name(to));
    return tensor_assign(vm, x, result);
}

static bool same_shape(const struct meta *x, const struct meta *y) {
    if (x->rank != y->rank) return false;
    for (int i = 0; i < x->rank; i++)
        if (x->size[i] != y->size[i]) return false;
    return true;
}

struct args args_with(struct vm *vm, const struct args *a, const char *name, struct py v) {
    const char **names = NEW_ARRAY(vm->arena, const char *, a->n_named + 1);
    struct py *named = NEW_ARRAY(vm->arena, struct py, a->n_named + 1);
    struct args rest = {a->at, a->n, names, named, 0};
    for (uint32_t i = 0; i < a->n_named; i++) {
        if (!strcmp(a->names[i], name)) continue;
        names[rest.n_named] = a->names[i];
        named[rest.n_named++] = a->named[i];
    }
    if (v.kind != PY_UNSET) {
        names[rest.n_named] = name;
        named[rest.n_named++] = v;
    }
    return rest;
}

static struct py apply(struct vm *vm, const struct builtin *b, const struct args *given);

/* Of a tensor without elements, as torch.empty(0), which takes the result's shape. */
static bool takes_shape(struct vm *vm, struct py to) {
    const struct meta *m = tensor_meta(vm, to);
    bool empty = false;
    for (int i = 0; i < m->rank; i++) {
        int64_t n;
        empty |= ex_is_const(vm->ex, m->size[i], &n) && !n;
    }
    return empty && vm->tracing && to.tensor->graph == vm_graph(vm) && !to.tensor->n_steps;
}

static struct py one_into(struct vm *vm, struct py to, struct py result) {
    if (to.kind != PY_TENSOR || result.kind != PY_TENSOR)
        vm_refuse(vm, "out= of what is no tensor is not supported");
    if (same_shape(tensor_meta(vm, to), tensor_meta(vm, result))) return update(vm, to, result);
    if (!takes_shape(vm, to))
        vm_refuse(vm, "out= of another shape than the result is not supported");
    struct py cast[2] = {result, py_dtype(tensor_meta(vm, to)->dtype)};
    tensor_share(vm, to, tensor_call(vm, OP_CAST, cast, 2));
    return to;
}

struct py tensor_into(struct vm *vm, struct py to, struct py result) {
    if (to.kind == PY_NONE) return result;
    if (result.kind == PY_TENSOR) return one_into(vm, to, result);
    struct list *outs = vm_list(vm, to), *results = vm_list(vm, result);
    if (outs->n != results->n)
        vm_raise(vm, EXC_TypeError, "out= takes %u tensors, but there are %u", results->n, outs->n);
    for (uint32_t i = 0; i < outs->n; i++) one_into(vm, outs->at[i], results->at[i]);
    return to;
}

/* f(..., out=to): to becomes the result, as by an update in place. */
static struct py into_out(struct vm *vm, const struct builtin *b, const struct args *a,
                          struct py to) {
    struct args rest = args_with(vm, a, "out", py_unset);
    return tensor_into(vm, to, apply(vm, b, &rest));
}

/* x.float() of floats is x itself. */
static bool converts_nothing(struct vm *vm, enum op op, const struct py *first, struct py out) {
    static const enum op conversions[] = {OP_FLOAT, OP_HALF, OP_DOUBLE, OP_BFLOAT16,
                                          OP_LONG,  OP_INT,  OP_SHORT,  OP_CHAR,
                                          OP_BYTE,  OP_BOOL, OP_TYPE_AS};
    bool found = false;
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
        found |= conversions[i] == op;
    return found && first && tensor_meta(vm, *first)->dtype == tensor_meta(vm, out)->dtype;
}

/* PyTorch's is a view, ours a copy: what is updated in place through it would be lost. */
static bool is_lost_view(const struct vm *vm, enum op op) {
    return op == OP_UNFOLD || op == OP_DIAGONAL ||
           (vm->trace && (op == OP_VIEW_AS || op == OP_EXPAND_AS));
}

void tensor_copies_view(struct vm *vm, struct py x, struct py copy) {
    struct tensor *t = copy.tensor;
    t->lost_view = true;
    t->viewed = tensor_is_eager(vm, x) ? x.tensor->storage : functional_storage(vm, x);
    t->viewed_at = t->viewed->version;
}

void tensor_break_leaf(struct vm *vm, const struct graph *of) {
    if (vm->trace && of == vm_graph(vm))
        vm_break(vm, "a tensor that is made here to require gradients",
                 "make it outside of what is compiled");
}

/* The operator as a node. */
static struct py track(struct vm *vm, const struct builtin *b, const struct args *a,
                       const struct py *first, bool in_place) {
    if (vm->trace && own_stream(vm, a))
        vm_break(vm, "use of a torch.Generator", "torch.manual_seed() seeds compiled functions");
    if (vm->trace && makes_leaf(vm, a)) tensor_break_leaf(vm, vm_graph(vm));
    node_id node = bind(vm, b, a);
    bool grad = needs_grad(vm, b->op, a) && dtype_is_float(vm_graph(vm)->nodes.at[node].meta.dtype);
    bool stops = vm->tracing && !vm->grad_enabled && first;
    /* A workload's arguments require gradients in some modes; they end here in all. */
    node_id ends = stops && (grad || !vm->trace) ? tensor_detached(vm, node) : node;
    struct py out;
    bool alias = first && !in_place && may_alias(b->op);
    bool view = alias && functional_view(vm, *first, node, &out);
    if (view) {
        out.tensor->node = ends;
        if (vm->tracing && (stops || b->op == OP_DETACH)) functional_detach(vm, out.tensor);
    } else {
        out = tensor_new(vm, ends);
    }
    out.tensor->lost_view = !view && is_lost_view(vm, b->op);
    if (!view && (b->op == OP_DIAGONAL || b->op == OP_UNFOLD)) tensor_copies_view(vm, *first, out);
    if (vm->trace) out.tensor->made_at = vm->trace->n_steps;
    if (vm->trace && converts_nothing(vm, b->op, first, out)) return *first;
    out.tensor->requires_grad = grad && !stops;
    return out;
}

/* p.add_(step, alpha=-lr * ratio), whose alpha is a tensor: step is what it scales. */
static void scale_by_tensor(struct vm *vm, enum op op, struct args *a) {
    bool sum = op == OP_ADD || op == OP_SUB, product = op == OP_ADDCMUL || op == OP_ADDCDIV;
    if (a->n < 2 || (!sum && !product)) return;
    struct py by = args_named(a, sum ? "alpha" : "value");
    if (by.kind != PY_TENSOR || selected_meta(vm, by)->rank) return;
    struct py *at = NEW_ARRAY(vm->arena, struct py, a->n), one = py_int(1),
              pair[2] = {by, a->at[1]};
    memcpy(at, a->at, a->n * sizeof *at);
    at[1] = tensor_call(vm, OP_MUL, pair, 2);
    a->at = at;
    *a = args_with(vm, a, sum ? "alpha" : "value", one);
}

static struct py apply(struct vm *vm, const struct builtin *b, const struct args *given) {
    struct args all = args_of_today(vm, b->op, given), *a = &all;
    scale_by_tensor(vm, b->op, a);
    struct py to = args_named(a, "out");
    if (to.kind != PY_UNSET) return into_out(vm, b, a, to);
    check_sizes(vm, b->op, a);
    const struct py *first = first_tensor(a);
    bool in_place = first && wants_in_place(vm, b, a);
    struct py out;
    if (!selected_op(vm, b, a, &out)) {
        bool now = vm->eager && !vm->tracing;
        out = now ? compute(vm, b, a, needs_grad(vm, b->op, a)) : track(vm, b, a, first, in_place);
        if (now && converts_nothing(vm, b->op, first, out)) return *first;
    }
    return in_place ? update(vm, *first, out) : out;
}

/* Of a class of the prelude that has a pair of tensors for one, or stands for their dtype. */
bool tensor_is_complex(struct py v) {
    if (v.kind != PY_INSTANCE) return false;
    const struct module *m = v.instance->class->module;
    return m && m->prelude && !strcmp(m->name, "torch._complex");
}

static bool any_complex(const struct py *at, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (tensor_is_complex(at[i])) return true;
        bool list = py_is_sequence(at[i]) && at[i].list->n;
        for (uint32_t k = 0; list && k < at[i].list->n; k++)
            if (tensor_is_complex(at[i].list->at[k])) return true;
    }
    return false;
}

/* torch.exp(z): a module of the prelude has what operators are of such values. */
static struct py prelude_op(struct vm *vm, const char *name, const struct builtin *b,
                            const struct args *a) {
    struct dict *named = dict_new(vm->arena);
    for (uint32_t i = 0; i < a->n_named; i++) dict_puts(vm->arena, named, a->names[i], a->named[i]);
    struct py given[3] = {py_str(b->name), py_list(vm->arena, PY_TUPLE, a->at, a->n),
                          py_pointer(PY_DICT, named)};
    struct py module = py_pointer(PY_MODULE, module_import(vm, name));
    struct args all = {.at = given, .n = 3};
    return vm_call(vm, attribute_get(vm, module, "called"), &all);
}

/* Products and transposed ones of a sparse tensor may be made of its elements (torch.sparse). */
static bool elements_op(struct vm *vm, const struct builtin *b, const struct args *a,
                        struct py *out) {
    static const enum op known[] = {OP_MM, OP_MATMUL, OP_T, OP_TRANSPOSE};
    struct py kept;
    if (!a->n || a->at[0].kind != PY_TENSOR || !a->at[0].tensor->attributes) return false;
    if (!dict_gets(a->at[0].tensor->attributes, "_ws_elements", &kept)) return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (b->op == known[i]) {
            *out = prelude_op(vm, "torch.sparse", b, a);
            return out->kind != PY_NONE;
        }
    return false;
}

/* What an operator reads of lists and slices from outside is guarded: torch.cat(xs) is another one
 * for other xs. */
static struct args guarded_args(struct vm *vm, const struct args *a) {
    struct py *at = NEW_ARRAY(vm->arena, struct py, a->n),
              *named = NEW_ARRAY(vm->arena, struct py, a->n_named);
    for (uint32_t i = 0; i < a->n; i++) at[i] = guard_whole(vm, a->at[i]);
    for (uint32_t i = 0; i < a->n_named; i++) named[i] = guard_whole(vm, a->named[i]);
    return (struct args){at, a->n, a->names, named, a->n_named};
}

struct py tensor_op(struct vm *vm, const struct builtin *b, const struct args *given) {
    struct args own = vm->trace ? guarded_args(vm, given) : *given;
    const struct args *a = &own;
    if (any_complex(a->at, a->n) || any_complex(a->named, a->n_named))
        return prelude_op(vm, "torch._complex", b, a);
    struct py made;
    if (elements_op(vm, b, a, &made)) return made;
    struct args typed;
    if (vm->autocast.standard) typed = default_type_args(vm, b, a), a = &typed;
    if (!vm->autocast.of[0] && !vm->autocast.of[1]) return apply(vm, b, a);
    struct args cast = autocast_args(vm, b, a);
    return autocast_result(vm, b, a, apply(vm, b, &cast));
}

struct py tensor_call(struct vm *vm, enum op op, const struct py *v, uint32_t n) {
    struct builtin b = {.name = op_info(op)->name, .op = op};
    return tensor_op(vm, &b, &(struct args){.at = v, .n = n});
}

/* A symbolic int as an operand: a tensor without dimensions, which does not widen what it meets. */
static struct py symbolic_number(struct vm *vm, struct py v) {
    struct py args[2] = {py_list(vm->arena, PY_TUPLE, NULL, 0), v};
    return tensor_call(vm, OP_FULL, args, 2);
}

bool tensor_binary(struct vm *vm, const char *sign, struct py x, struct py y, bool in_place,
                   struct py *out) {
    struct py pair[2] = {x, y};
    enum op op;
    if (x.kind == PY_SYMINT) x = pair[0] = symbolic_number(vm, x);
    if (y.kind == PY_SYMINT) y = pair[1] = symbolic_number(vm, y);
    bool x_ok = x.kind == PY_TENSOR || x.kind == PY_SYMFLOAT || py_is_number(x);
    bool y_ok = y.kind == PY_TENSOR || y.kind == PY_SYMFLOAT || py_is_number(y);
    bool ok = x_ok && y_ok;
    if (!ok || !op_find_python(arena_printf(vm->arena, "op:%s", sign), &op)) return false;
    *out = tensor_call(vm, op, pair, 2);
    if (in_place && x.kind == PY_TENSOR) *out = update(vm, x, *out);
    return true;
}

/* -- updates in place ---------------------------------------------------------------------- */

static __attribute__((noreturn)) void raise_leaf(struct vm *vm) {
    vm_raise(vm, EXC_RuntimeError,
             "a leaf Variable that requires grad is being used in an in-place operation.");
}

/* Into memory, and so into every view of it. */
static struct py eager_assign(struct vm *vm, struct py x, struct py v) {
    struct tensor *t = x.tensor;
    if (!same_shape(&t->meta, tensor_meta(vm, v)))
        vm_raise(vm, EXC_RuntimeError,
                 "the result of an update in place has another shape than its target");
    bool recorded = vm->grad_enabled && (t->requires_grad || v.tensor->requires_grad);
    if (recorded && t->requires_grad && !t->tape) raise_leaf(vm);
    if (recorded) tape_leave(vm, t);
    struct value values = eager_values(vm, v.tensor);
    eager_write(vm, t, &values);
    value_free(&values);
    if (!recorded) return x;
    tape_move(t, v.tensor);
    t->recorded = ++*tensor_recorded(t);
    return x;
}

struct py tensor_assign(struct vm *vm, struct py x, struct py v) {
    struct tensor *t = x.tensor;
    if (t->lost_view && !vm->trace)
        vm_refuse(vm, "an update in place through Tensor.unfold() or as_strided() is not "
                      "supported");
    if (tensor_is_eager(vm, x)) return eager_assign(vm, x, v);
    if (functional_storage(vm, x)->given)
        vm_refuse(vm, "an update in place of memory that is another tensor's .data, too, is not "
                      "supported; clone() it before");
    bool outside = t->graph != vm_graph(vm);
    if (t->lost_view) {
        vm->trace->n_steps = t->made_at; /* the segment has to end before there is a view */
        vm_break(vm, "update in place through a view of this kind", "update the tensor itself");
    }
    const struct tensor *owner = t->detached ? NULL : trace_owner(vm, t->storage);
    bool grad = t->requires_grad || v.tensor->requires_grad || (owner && owner->requires_grad);
    if (vm->trace && (outside || owner) && vm->grad_enabled && grad) {
        if (outside && t->requires_grad && !t->tape) raise_leaf(vm);
        vm_refuse(vm, "an update in place of an outside tensor that gradients go through");
    }
    if (!same_shape(tensor_meta(vm, x), tensor_meta(vm, v)))
        vm_raise(vm, EXC_RuntimeError,
                 "the result of an update in place has another shape than its target");
    enum dtype want = tensor_meta(vm, x)->dtype;
    if (tensor_meta(vm, v)->dtype != want) {
        struct py cast[2] = {v, py_dtype(want)};
        v = tensor_call(vm, OP_CAST, cast, 2);
    }
    node_id value = tensor_node(vm, v);
    functional_write(vm, x, value, vm->tracing && !vm->grad_enabled);
    t->requires_grad |= !outside && v.tensor->requires_grad;
    return x;
}

void tensor_share(struct vm *vm, struct py x, struct py v) {
    struct tensor *to = x.tensor, *from = v.tensor;
    to->node = tensor_node(vm, v);
    to->storage = functional_storage(vm, v);
    to->seen = to->storage->version;
    to->steps = from->steps;
    to->n_steps = from->graph == to->graph ? from->n_steps : 0;
}

/* Is it computed in this graph, in memory that nobody has outside? */
static bool is_made_here(struct vm *vm, struct py v) {
    const struct graph *g = vm_graph(vm);
    return v.tensor->graph == g && g->nodes.at[functional_storage(vm, v)->base].op != OP_INPUT;
}

/* In forward x is what its input is made to be. What is updated in v's memory from here on would
 * have to be seen in x, and, through other tensors of that memory, the other way round. */
void tensor_set_data(struct vm *vm, struct py x, struct py v) {
    if (!vm->tracing) {
        tensor_share(vm, x, v);
        return;
    }
    if (functional_storage(vm, v) == functional_storage(vm, x) && !v.tensor->n_steps)
        return; /* p.data = p.data, which some clip only if they are asked to */
    if (!same_shape(tensor_meta(vm, x), tensor_meta(vm, v)) ||
        tensor_meta(vm, x)->dtype != tensor_meta(vm, v)->dtype)
        vm_refuse(vm, "assigning Tensor.data of another shape or type is not supported");
    bool alias = v.tensor->n_steps || v.tensor->detached;
    if (alias ? !is_made_here(vm, v) : v.tensor->graph != vm_graph(vm))
        vm_refuse(vm, "assigning Tensor.data the memory of another tensor is not supported; "
                      "copy_() writes into that of this one");
    functional_storage(vm, v)->given = true;
    functional_storage(vm, x)->given |= alias;
    functional_write(vm, x, tensor_node(vm, v), true);
}
