/* eager.c: tensors with values, and operators computed as the program goes.
 *
 *   y = x[1:] * 2      slice   the same storage, one row further
 *                      mul     graph(%x) { %mul = mul(%x, 2) }, evaluated by the reference of
 *                              graph/, every value rounded to its dtype as it is stored
 *
 * An operator becomes a graph of one node, so that arguments, types, shapes and errors are those of
 * captured graphs. A view is recognised by its decomposition: a chain of VIEW operators.
 *
 * Ownership: memory of tensors is malloc'ed, hangs in vm->storages, and dies with the VM or when a
 * sweep finds nobody who reaches it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture/vm.h"
#include "graph/traits.h"

/* -- memory -------------------------------------------------------------------------------- */

static struct storage *storage_new(struct vm *vm, size_t bytes) {
    struct storage *s = calloc(1, sizeof *s);
    unsigned char *p = s ? large_alloc(bytes) : NULL;
    if (!p) {
        free(s);
        vm_raise(vm, EXC_RuntimeError, "out of memory: %zu bytes for a tensor", bytes);
    }
    *s = (struct storage){.bytes = p, .size = bytes, .next = vm->storages};
    vm->storages = s;
    vm->n_bytes += bytes;
    return s;
}

void eager_close(struct vm *vm) {
    for (struct storage *s = vm->storages, *next; s; s = next) {
        next = s->next;
        free(s->bytes);
        free(s);
    }
    vm->storages = NULL;
    arena_free(vm->op_arena);
    vm->op_arena = NULL;
}

bool tensor_is_eager(const struct vm *vm, struct py t) {
    return !(vm->tracing && vm->eager) && t.kind == PY_TENSOR && !t.tensor->graph;
}

static struct tensor *tensor_in(struct vm *vm, struct storage *s, const struct meta *m,
                                int64_t offset) {
    struct tensor *t = NEW(vm->home, struct tensor);
    *t = (struct tensor){
        .kind = INPUT_ARG, .storage = s, .meta = *m, .offset = offset, .recorded = s->recorded};
    t->id = ++vm->n_tensors;
    return t;
}

/* m's strides are a permutation of the row-major ones, or of other memory's. */
static struct py tensor_of(struct vm *vm, struct meta m, bool keeps_strides) {
    if (!keeps_strides) meta_contiguous(vm->constants, &m);
    int64_t n = ex_value(vm->constants, meta_numel(vm->constants, &m));
    struct storage *s = storage_new(vm, (size_t)n * (size_t)dtype_bytes(m.dtype));
    return py_pointer(PY_TENSOR, tensor_in(vm, s, &m, 0));
}

struct py eager_new(struct vm *vm, enum dtype t, int rank, const int64_t *size) {
    struct meta m = {.dtype = t, .rank = (uint8_t)rank};
    for (int i = 0; i < rank; i++) m.size[i] = ex_const(vm->constants, size[i]);
    return tensor_of(vm, m, false);
}

struct storage *eager_storage(struct vm *vm, uint64_t bytes) {
    return storage_new(vm, bytes);
}

struct py eager_in(struct vm *vm, struct storage *s, enum dtype t, int rank, const int64_t *size,
                   const int64_t *stride, int64_t offset) {
    struct meta m = {.dtype = t, .rank = (uint8_t)rank};
    for (int i = 0; i < rank; i++) {
        m.size[i] = ex_const(vm->constants, size[i]);
        m.stride[i] = ex_const(vm->constants, stride[i]);
    }
    return py_pointer(PY_TENSOR, tensor_in(vm, s, &m, offset));
}

/* -- values -------------------------------------------------------------------------------- */

int64_t eager_size(const struct vm *vm, const struct tensor *t, int dim) {
    return ex_value(vm->constants, t->meta.size[dim]);
}
int64_t eager_stride(const struct vm *vm, const struct tensor *t, int dim) {
    return ex_value(vm->constants, t->meta.stride[dim]);
}
int64_t eager_numel(const struct vm *vm, const struct tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->meta.rank; i++) n *= eager_size(vm, t, i);
    return n;
}

/* Elements below which threads cost more than they save. */
enum { SMALL = 4096 };

/* Where elements lie: sizes and strides as plain numbers. */
struct walk {
    int rank;
    bool dense;
    int64_t n, offset, size[WS_MAX_RANK], stride[WS_MAX_RANK];
};

static struct walk walk_of(const struct vm *vm, const struct tensor *t) {
    struct walk w = {.rank = t->meta.rank, .dense = true, .n = 1, .offset = t->offset};
    for (int i = w.rank; i-- > 0;) {
        w.size[i] = eager_size(vm, t, i);
        w.stride[i] = eager_stride(vm, t, i);
        if (w.size[i] != 1 && w.stride[i] != w.n) w.dense = false;
        w.n *= w.size[i];
    }
    return w;
}

static size_t place_of(const struct walk *w, int64_t i) {
    return (size_t)(w->offset + (w->dense ? i : strided_at(w->rank, w->size, w->stride, i)));
}

static void read_values(const struct vm *vm, const struct tensor *t, struct value *out) {
    struct walk w = walk_of(vm, t);
#pragma omp parallel for if (w.n > SMALL)
    for (int64_t i = 0; i < w.n; i++)
        if (out->w)
            out->w[i] = dtype_load_int(t->meta.dtype, t->storage->bytes, place_of(&w, i));
        else
            out->v[i] = dtype_load(t->meta.dtype, t->storage->bytes, place_of(&w, i));
}

void eager_write(const struct vm *vm, struct tensor *t, const struct value *from) {
    struct walk w = walk_of(vm, t);
    t->storage->version++;
#pragma omp parallel for if (w.n > SMALL)
    for (int64_t i = 0; i < w.n; i++)
        if (from->w && !dtype_is_float(t->meta.dtype))
            dtype_store_int(t->meta.dtype, t->storage->bytes, place_of(&w, i), from->w[i]);
        else
            dtype_store(t->meta.dtype, t->storage->bytes, place_of(&w, i), value_number(from, i));
}

void eager_fill(const struct vm *vm, struct tensor *t, double v) {
    eager_write(vm, t, &(struct value){.v = &v, .n = 1});
}

struct py eager_item(struct vm *vm, struct py t) {
    int64_t n = eager_numel(vm, t.tensor);
    if (n != 1)
        vm_raise(vm, EXC_RuntimeError, "a Tensor with %lld elements cannot be converted to Scalar",
                 (long long)n);
    double v = 0;
    int64_t w = 0;
    enum dtype d = t.tensor->meta.dtype;
    struct value one = {.v = &v, .n = 1, .w = dtype_is_float(d) ? NULL : &w};
    read_values(vm, t.tensor, &one);
    return eager_number(d, &one, 0);
}

struct py eager_number(enum dtype d, const struct value *v, int64_t i) {
    if (!v->w) return py_float(v->v[i]);
    return d == DT_BOOL ? py_bool(v->w[i]) : py_int(v->w[i]);
}

struct py eager_truth(struct vm *vm, struct py t) {
    int64_t n = eager_numel(vm, t.tensor);
    if (n != 1)
        vm_raise(vm, EXC_RuntimeError, "Boolean value of Tensor with %s is ambiguous",
                 n ? "more than one value" : "no values");
    return eager_item(vm, t);
}

struct value eager_values(struct vm *vm, const struct tensor *t) {
    struct value v;
    if (!value_alloc(&v, t->meta.dtype, eager_numel(vm, t)))
        vm_raise(vm, EXC_RuntimeError, "out of memory for the values of a tensor");
    read_values(vm, t, &v);
    return v;
}

struct py eager_nonzero(struct vm *vm, const struct tensor *mask, int dim) {
    int64_t n = eager_numel(vm, mask), found = 0, below = 1;
    struct value v = eager_values(vm, mask), places;
    if (!value_alloc(&places, DT_I64, n))
        vm_raise(vm, EXC_RuntimeError, "out of memory for the values of a tensor");
    for (int k = mask->meta.rank; k-- > dim + 1;) below *= eager_size(vm, mask, k);
    for (int64_t i = 0; i < n; i++)
        if (value_number(&v, i) != 0) places.w[found++] = i / below % eager_size(vm, mask, dim);
    struct py out = eager_new(vm, DT_I64, 1, &found);
    eager_write(vm, out.tensor, &places);
    value_free(&v);
    value_free(&places);
    return out;
}

void eager_scatter(struct vm *vm, struct tensor *t, const struct tensor *places,
                   const struct tensor *from) {
    int64_t n = eager_numel(vm, places);
    WS_ASSERT(t->meta.dtype == from->meta.dtype);
    struct value at = eager_values(vm, places), v = eager_values(vm, from),
                 all = eager_values(vm, t);
    for (int64_t i = 0; i < n; i++)
        if (all.w)
            all.w[at.w[i]] = v.w[i];
        else
            all.v[at.w[i]] = v.v[i];
    eager_write(vm, t, &all);
    value_free(&at);
    value_free(&v);
    value_free(&all);
}

/* What a node is computed from, in an arena that ends with its use: a loop over the elements of an
 * array asks for each of them. */
static struct graph *pruned_to(struct arena *own, const struct graph *g, node_id node) {
    struct graph whole = *g;
    whole.arena = own;
    memset(&whole.outputs, 0, sizeof whole.outputs);
    vec_push(own, &whole.outputs, node);
    return graph_prune(&whole);
}

/* The values of a node of g, whose inputs are outputs of the init graph; in a graph that ran out of
 * memory or time the capture ends. */
static void evaluate(struct vm *vm, struct graph *g, struct value *out) {
    g->seed = vm->options->seed;
    g->budget = vm->budget;
    struct value *inputs = arena_alloc(g->arena, (g->inputs.n + 1) * sizeof *inputs);
    struct diag d = diag_new(vm->arena);
    for (uint32_t i = 0; i < g->inputs.n; i++)
        evaluate(vm, pruned_to(g->arena, vm->init, vm->init_outputs.at[g->inputs.at[i].init]),
                 &inputs[i]);
    bool ok = graph_eval(g, inputs, out, &d);
    for (uint32_t i = 0; i < g->inputs.n; i++) value_free(&inputs[i]);
    if (ok) return;
    vm_work(vm, UINT64_MAX); /* comes back unless time was what ended it */
    *vm->diag = d;
    vm_leave(vm);
}

/* Does it depend on buffers alone, and constants? Arguments, parameters and what forward draws may
 * be others in the next call. */
static bool of_buffers(const struct graph *g) {
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i].kind != INPUT_BUFFER) return false;
    for (node_id n = 0; n < g->nodes.n; n++)
        if (op_is_random(g->nodes.at[n].op)) return false;
    return true;
}

bool tensor_is_constant(struct vm *vm, struct py t) {
    if (!vm->tracing || vm->eager) return false;
    struct arena *own = arena_within(vm->arena);
    bool known = of_buffers(pruned_to(own, vm->graph, tensor_node(vm, t)));
    arena_free(own);
    return known;
}

/* Elements of an argument that has few of them, as they are: a number that comes as a tensor, or
 * the strides of a few levels; or whatever is made of few integers: lengths, labels. Their values
 * may be part of what the graph is captured for, as a plain number is. */
static bool is_of_few_numbers(struct vm *vm, const struct graph *g) {
    enum { FEW = 64 };
    bool integers = true, kept = g->inputs.n == 1, any = false;
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        const struct meta *m = &g->nodes.at[g->inputs.at[i].node].meta;
        int64_t n;
        if (g->inputs.at[i].kind == INPUT_BUFFER) continue;
        if (g->inputs.at[i].kind != INPUT_ARG) return false;
        if (!ex_is_const(vm->ex, meta_numel(vm->ex, m), &n) || n > FEW) return false;
        integers &= !dtype_is_float(m->dtype);
        any = true;
    }
    for (node_id i = 0; i < g->nodes.n; i++) {
        if (op_is_random(g->nodes.at[i].op)) return false;
        kept &= op_keeps_elements(g->nodes.at[i].op);
    }
    return any && (integers || kept);
}

/* All of the argument is guarded, whatever of it is read. */
static void guard_argument(struct vm *vm, struct arena *own, const struct graph_input *in) {
    struct value all;
    node_id node = vm->init_outputs.at[in->init];
    evaluate(vm, pruned_to(own, vm->init, node), &all);
    enum dtype t = vm->init->nodes.at[node].meta.dtype;
    struct py numbers = py_list(vm->arena, PY_LIST, NULL, 0);
    for (int64_t i = 0; i < all.n; i++) vec_push(vm->arena, numbers.list, eager_number(t, &all, i));
    value_free(&all);
    guard_numbers(vm, in->source, numbers);
}

static struct py value_of_node(struct vm *vm, struct arena *own, struct py t,
                               const struct graph *from, node_id node, const int64_t *size) {
    const struct meta *m = &from->nodes.at[node].meta;
    struct graph *g = pruned_to(own, from, node);
    bool given = vm->tracing && is_of_few_numbers(vm, g);
    if (vm->tracing && !given && !of_buffers(g)) return t;
    struct value v;
    evaluate(vm, g, &v);
    struct py out = eager_new(vm, m->dtype, m->rank, size);
    eager_write(vm, out.tensor, &v);
    value_free(&v);
    for (uint32_t i = 0; given && i < g->inputs.n; i++)
        if (g->inputs.at[i].kind == INPUT_ARG) guard_argument(vm, own, &g->inputs.at[i]);
    return out;
}

/* What __init__ and get_inputs() make depends on the seed alone, so it has a value, too. So has, in
 * forward, what is made of buffers: a workload's graph is that of a call on the module as __init__
 * left it; and of few numbers that come as a tensor. */
struct py tensor_value(struct vm *vm, struct py t) {
    if (t.kind != PY_TENSOR || vm->eager || vm->trace || t.tensor->selected) return t;
    if (!vm->tracing && t.tensor->graph != vm->init) return t;
    node_id node = vm->tracing ? tensor_node(vm, t) : functional_node(vm, t.tensor);
    const struct graph *from = vm->tracing ? vm->graph : vm->init;
    const struct meta *m = &from->nodes.at[node].meta;
    int64_t size[WS_MAX_RANK];
    for (int i = 0; i < m->rank; i++)
        if (!ex_is_const(vm->ex, m->size[i], &size[i])) return t;
    struct arena *own = arena_within(vm->arena);
    struct py out = value_of_node(vm, own, t, from, node, size);
    arena_free(own);
    return out;
}

/* -- from Python's lists ------------------------------------------------------------------- */

struct data {
    VEC(struct py) v;
    int64_t size[WS_MAX_RANK];
    int rank;
    bool has_float, has_int;
};

static void collect(struct vm *vm, struct data *x, struct py v, int depth) {
    v = tensor_value(vm, v);
    if (v.kind == PY_TENSOR && tensor_is_eager(vm, v)) v = eager_item(vm, v);
    bool sequence = py_is_sequence(v);
    if (!sequence && !py_is_number(v))
        vm_raise(vm, EXC_TypeError, "new(): invalid data type '%s'", type_name(vm, v));
    if (!sequence) {
        if (x->v.n == 0) x->rank = depth;
        if (depth != x->rank) vm_raise(vm, EXC_ValueError, "expected sequence of equal length");
        x->has_float |= v.kind == PY_FLOAT;
        x->has_int |= v.kind == PY_INT;
        vec_push(vm->arena, &x->v, v);
        return;
    }
    if (depth == WS_MAX_RANK)
        vm_raise(vm, EXC_ValueError, "at most %d dimensions are supported", WS_MAX_RANK);
    if (x->v.n == 0) x->size[depth] = v.list->n;
    if (x->size[depth] != v.list->n)
        vm_raise(vm, EXC_ValueError, "expected sequence of length %lld at dim %d (got %u)",
                 (long long)x->size[depth], depth, v.list->n);
    if (!v.list->n) x->rank = depth + 1;
    for (uint32_t i = 0; i < v.list->n; i++) collect(vm, x, v.list->at[i], depth + 1);
}

static enum dtype type_of(const struct vm *vm, const struct data *x, const enum dtype *given) {
    if (given) return *given;
    return x->has_float || x->v.n == 0 ? default_type(vm) : x->has_int ? DT_I64 : DT_BOOL;
}

/* A number of a list as an integer type has it. What does not fit is refused, as PyTorch does. */
static int64_t whole_number(struct vm *vm, struct py v, enum dtype t) {
    int64_t w = v.kind == PY_INT ? v.i : v.kind == PY_BOOL ? v.b : 0;
    if (t == DT_BOOL) return py_number(v) != 0;
    if (v.kind == PY_FLOAT) {
        if (isnan(v.f)) vm_raise(vm, EXC_ValueError, "cannot convert float NaN to integer");
        if (isinf(v.f)) vm_raise(vm, EXC_OverflowError, "cannot convert float infinity to integer");
        // cppcheck-suppress incorrectLogicOperator ; it does not read -0x1p63
        if (!(v.f >= -0x1p63 && v.f < 0x1p63))
            vm_raise(vm, EXC_RuntimeError, "Overflow when unpacking long long");
        w = (int64_t)v.f;
    }
    return w;
}

static bool holds_complex(struct py data, int depth) {
    if (!py_is_sequence(data)) return tensor_is_complex(data);
    for (uint32_t i = 0; depth < WS_MAX_RANK && i < data.list->n; i++)
        if (holds_complex(data.list->at[i], depth + 1)) return true;
    return false;
}
bool eager_holds_complex(struct py data) { return holds_complex(data, 0); }

struct py eager_data(struct vm *vm, struct py data, const enum dtype *dtype) {
    struct data x = {0};
    collect(vm, &x, data, 0);
    enum dtype t = type_of(vm, &x, dtype);
    struct py out = eager_new(vm, t, x.rank, x.size);
    struct value v;
    if (!value_alloc(&v, t, x.v.n))
        vm_raise(vm, EXC_RuntimeError, "out of memory for the values of a tensor");
    for (uint32_t i = 0; i < x.v.n; i++)
        if (v.w)
            v.w[i] = whole_number(vm, x.v.at[i], t);
        else
            v.v[i] = py_number(x.v.at[i]);
    if (x.v.n) eager_write(vm, out.tensor, &v);
    value_free(&v);
    return out;
}

static struct py sizes(struct vm *vm, const int64_t *size, int rank) {
    struct py out = py_list(vm->arena, PY_TUPLE, NULL, 0);
    for (int i = 0; i < rank; i++) vec_push(vm->arena, out.list, py_int(size[i]));
    return out;
}

static bool same_number(struct py a, struct py b) {
    double x = py_number(a), y = py_number(b); /* 0.0 is not -0.0, and nan is nan */
    return a.kind == b.kind && (a.kind == PY_INT ? a.i == b.i : !memcmp(&x, &y, sizeof x));
}

/* The same as nodes of a graph: numbers side by side. All equal, they are one. */
static struct py data_nodes(struct vm *vm, struct py data, const enum dtype *dtype) {
    struct data x = {0};
    collect(vm, &x, data, 0);
    enum dtype t = type_of(vm, &x, dtype);
    bool same = true;
    for (uint32_t i = 1; i < x.v.n; i++) same &= same_number(x.v.at[i], x.v.at[0]);
    struct py parts = py_list(vm->arena, PY_LIST, NULL, 0);
    struct py shape = sizes(vm, x.size, x.rank);
    struct py full[3] = {shape, py_int(0), py_dtype(t)};
    for (uint32_t i = 0; i < (same ? x.v.n > 0 : x.v.n); i++) {
        struct py v = x.v.at[i];
        full[0] = same ? shape : sizes(vm, x.size, 0);
        full[1] = dtype_is_float(t) ? py_float(py_number(v))
                  : t == DT_BOOL    ? py_bool(py_number(v) != 0)
                                    : py_int(whole_number(vm, v, t));
        vec_push(vm->arena, parts.list, tensor_call(vm, OP_FULL, full, 3));
    }
    if (!x.v.n) return tensor_call(vm, OP_FULL, full, 3);
    if (same) return parts.list->at[0];
    struct py view[2] = {tensor_call(vm, OP_STACK, &parts, 1), shape};
    return tensor_call(vm, OP_VIEW, view, 2);
}

/* A constant of forward is made outside of it, and an input of its graph. */
struct py tensor_constant(struct vm *vm, struct py data, const enum dtype *dtype) {
    bool tracing = vm->tracing;
    vm->tracing = false;
    struct py made = data_nodes(vm, data, dtype);
    vm->tracing = tracing;
    if (!tracing) return made;
    made.tensor->kind = INPUT_BUFFER;
    return tensor_call(vm, OP_CLONE, &made, 1);
}

/* -- operators ----------------------------------------------------------------------------- */

/* A graph for the next operator. keep: the tape will refer to it. */
void eager_begin(struct vm *vm, bool keep) {
    arena_free(vm->op_arena);
    vm->op_arena = keep ? NULL : arena_new();
    const struct source *src;
    vm_place(vm, &src);
    vm->op_graph = graph_new(keep ? vm->home : vm->op_arena, vm->constants, src);
    vm->op_graph->seed = vm->seed;
    vm->op_graph->n_random = vm->n_random;
    vm->op_graph->stores_values = true;
    memset(&vm->op_inputs, 0, sizeof vm->op_inputs);
}

node_id eager_input(struct vm *vm, struct tensor *t) {
    for (uint32_t i = 0; i < vm->op_inputs.n; i++)
        if (vm->op_inputs.at[i] == t) return vm->op_graph->inputs.at[i].node;
    uint32_t i = vm->op_inputs.n;
    vec_push(vm->op_graph->arena, &vm->op_inputs, t);
    return graph_input(vm->op_graph, "x", t->kind, arena_printf(vm->op_graph->arena, "T[%u]", i),
                       &t->meta, i);
}

static bool same_strides(const struct meta *x, const struct meta *y) {
    if (x->rank != y->rank) return false;
    for (int i = 0; i < x->rank; i++)
        if (x->size[i] != y->size[i] || x->stride[i] != y->stride[i]) return false;
    return true;
}

/* Is one step of a view the same memory? *offset: of its first element in its operand's. */
static bool view_step(const struct graph *g, const struct node *n, int64_t *offset) {
    const struct meta *from = &g->nodes.at[n->args[0].node].meta;
    *offset = 0;
    if (n->op == OP_SLICE)
        *offset = ex_value(g->ex, n->args[2].i) *
                  ex_value(g->ex, from->stride[ex_value(g->ex, n->args[1].i)]);
    return functional_keeps_memory(g, n);
}

/* Is node the same memory as `first`? */
static bool view_of(struct vm *vm, node_id node, const struct tensor *first, int64_t *offset) {
    struct graph *g = vm->op_graph;
    const struct meta *want = &g->nodes.at[node].meta;
    struct graph *d = graph_decompose(g);
    node_id n = d->outputs.at[0];
    *offset = first->offset;
    if (!same_strides(want, &d->nodes.at[n].meta)) return false;
    for (int64_t step; d->nodes.at[n].op != OP_INPUT; n = d->nodes.at[n].args[0].node) {
        if (!view_step(d, &d->nodes.at[n], &step)) return false;
        *offset += step;
    }
    return d->inputs.n && vm->op_inputs.at[d->inputs.at[0].init] == first &&
           d->nodes.at[n].meta.dtype == want->dtype;
}

/* Is node x's memory under other strides: a diagonal, or windows? m: its sizes and strides. */
static bool strided_view(const struct vm *vm, node_id node, const struct tensor *x, struct meta *m,
                         int64_t *offset) {
    const struct node *n = &vm->op_graph->nodes.at[node];
    int rank = x->meta.rank, k = 0;
    int64_t v[3];
    *m = n->meta;
    *offset = x->offset;
    if (n->op != OP_DIAGONAL && n->op != OP_UNFOLD) return false;
    for (int i = 0; i < 3; i++) v[i] = ex_value(vm->constants, n->args[i + 1].i);
    int dim = (int)(n->op == OP_UNFOLD ? v[0] : v[1]),
        other = n->op == OP_UNFOLD ? rank : (int)v[2];
    dim += dim < 0 ? rank : 0;
    other += other < 0 ? rank : 0;
    for (int i = 0; i < rank; i++)
        if (n->op == OP_UNFOLD || (i != dim && i != other)) m->stride[k++] = x->meta.stride[i];
    int64_t along = eager_stride(vm, x, dim), across = 0;
    if (n->op == OP_UNFOLD) {
        m->stride[dim] = ex_const(vm->constants, along * v[2]);
        m->stride[k] = ex_const(vm->constants, along);
        return true;
    }
    across = eager_stride(vm, x, other);
    m->stride[k] = ex_const(vm->constants, along + across);
    if (ex_value(vm->constants, meta_numel(vm->constants, m)))
        *offset += v[0] < 0 ? -v[0] * along : v[0] * across;
    return true;
}

static struct py compute(struct vm *vm, node_id node) {
    struct graph *g = vm->op_graph;
    struct value *in = NEW_ARRAY(g->arena, struct value, g->inputs.n), out = {0};
    for (uint32_t i = 0; i < g->inputs.n; i++) in[i] = eager_values(vm, vm->op_inputs.at[i]);
    struct diag d = diag_new(g->arena);
    g->budget = vm->budget;
    bool ok = graph_eval(g, in, &out, &d);
    for (uint32_t i = 0; i < g->inputs.n; i++) value_free(&in[i]);
    if (!ok) {
        vm_work(vm, UINT64_MAX); /* comes back unless time was what ended it */
        vm_raise(vm, strstr(d.message, "out of bounds") ? EXC_IndexError : EXC_RuntimeError, "%s",
                 d.message);
    }
    const struct node *n = &g->nodes.at[node];
    struct py result = tensor_of(vm, n->meta, strides_are_followed(n->op));
    eager_write(vm, result.tensor, &out);
    value_free(&out);
    return result;
}

struct py eager_compute(struct vm *vm, node_id node, const struct py *first, bool alias) {
    struct graph *g = vm->op_graph;
    int64_t offset;
    struct meta strided;
    vm->n_random = g->n_random;
    g->outputs.n = 0;
    vec_push(g->arena, &g->outputs, node);
    struct py out;
    if (alias && strided_view(vm, node, first->tensor, &strided, &offset)) {
        out = py_pointer(PY_TENSOR, tensor_in(vm, first->tensor->storage, &strided, offset));
        out.tensor->lost_view = g->nodes.at[node].op == OP_UNFOLD; /* elements may be shared */
    } else if (alias && view_of(vm, node, first->tensor, &offset))
        out = py_pointer(PY_TENSOR,
                         tensor_in(vm, first->tensor->storage, &g->nodes.at[node].meta, offset));
    else
        out = compute(vm, node);
    for (uint32_t i = 0; i < vm->op_inputs.n; i++)
        out.tensor->on_cuda |= vm->op_inputs.at[i]->on_cuda;
    return out;
}
