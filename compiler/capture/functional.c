/* functional.c: updates in place and views, in graphs that have no memory.
 *
 *   row = x[1]          row: storage of x, steps [slice(0, 1, 2), squeeze(0)]
 *   row += 2            %add = add(%row, 2)
 *                       %unsqueeze = unsqueeze(%add, 0)
 *                       %cat = cat([slice(%x, 0, 0, 1), %unsqueeze, slice(%x, 0, 2, 8)])
 *                       x is this now
 *   y = x * row         x and row are looked at again: %cat, and its row
 *
 * All tensors of one memory share a storage, whose value is one node, `base`; each knows the steps
 * of the view from there. An update goes back along the steps to a new base; whoever is used next
 * takes the steps again. What an update of an input makes of it is written back after the call. */
#include <string.h>

#include "capture/dynamo.h"

/* -- steps --------------------------------------------------------------------------------- */

static struct py wrap(struct vm *vm, node_id node) { return tensor_new(vm, node); }

bool functional_keeps_memory(const struct graph *g, const struct node *n) {
    const struct meta *from = &g->nodes.at[n->args[0].node].meta;
    bool copies =
        n->op == OP_VIEW && !meta_is_contiguous(g->ex, from) && meta_is_contiguous(g->ex, &n->meta);
    return op_info(n->op)->class == VIEW && !copies;
}

/* What node does to its first operand, as primitives: a graph of its own in arena a, decomposed.
 * NULL if it may be other memory. */
static struct graph *view_graph(struct vm *vm, node_id node, struct arena *a) {
    struct graph *g = vm_graph(vm), *own = graph_new(a, vm->ex, g->src);
    const struct node *n = &g->nodes.at[node];
    vec_push(a, &own->outputs, graph_copy_alone(own, g, node));
    struct graph *d = graph_decompose(own);
    node_id at = d->outputs.at[0];
    for (; d->nodes.at[at].op != OP_INPUT; at = d->nodes.at[at].args[0].node)
        if (!functional_keeps_memory(d, &d->nodes.at[at])) return NULL;
    bool first = d->inputs.at[0].node == at && d->inputs.at[0].init == 0;
    return first && d->nodes.at[at].meta.dtype == n->meta.dtype ? d : NULL;
}

/* The steps of d as they outlive it. */
static struct arg *kept_args(struct vm *vm, const struct node *n) {
    struct arg *args = NEW_ARRAY(vm->arena, struct arg, n->n_args);
    for (int i = 0; i < n->n_args; i++) {
        args[i] = n->args[i];
        if (args[i].kind == ARG_INTS)
            args[i] = arg_ints(vm_graph(vm), args[i].ints.at, args[i].ints.n);
    }
    return args;
}

static int dim_from_end(const struct exprs *p, const struct arg *a, int rank) {
    int64_t d = ex_value(p, a->i);
    return (int)(d < 0 ? d + rank : d);
}

/* n more steps behind those of parent; where they go. */
static struct view_step *view_of(struct vm *vm, struct py parent, node_id node, uint32_t n,
                                 struct py *out) {
    uint32_t before = parent.tensor->graph == vm_graph(vm) ? parent.tensor->n_steps : 0;
    struct view_step *steps = NEW_ARRAY(vm->arena, struct view_step, before + n);
    if (before) memcpy(steps, parent.tensor->steps, before * sizeof *steps);
    *out = tensor_new_of(vm, node, functional_storage(vm, parent));
    out->tensor->steps = steps;
    out->tensor->n_steps = before + n;
    out->tensor->detached = parent.tensor->graph == vm_graph(vm) && parent.tensor->detached;
    out->tensor->own = out->tensor->detached ? parent.tensor->own : NULL;
    out->tensor->seen = out->tensor->storage->version;
    return steps + before;
}

static void view_by_graph(struct vm *vm, struct py parent, node_id node, const struct graph *d,
                          struct py *out) {
    uint32_t n = 0;
    for (node_id at = d->outputs.at[0]; d->nodes.at[at].op != OP_INPUT;
         at = d->nodes.at[at].args[0].node)
        n++;
    struct view_step *steps = view_of(vm, parent, node, n, out);
    for (node_id at = d->outputs.at[0]; d->nodes.at[at].op != OP_INPUT;
         at = d->nodes.at[at].args[0].node)
        steps[--n] = (struct view_step){d->nodes.at[at].op, kept_args(vm, &d->nodes.at[at]),
                                        d->nodes.at[at].n_args};
}

/* Is the node one step as it is? One that repeats may turn out to be none. */
static bool is_step(const struct graph *g, const struct node *n) {
    return n->op != OP_EXPAND && op_info(n->op)->class == VIEW &&
           g->nodes.at[n->args[0].node].meta.dtype == n->meta.dtype &&
           functional_keeps_memory(g, n);
}

/* A diagonal, of rows that lie one behind the other, as every (columns + 1)th element of these. */
static bool diagonal_view(struct vm *vm, struct py parent, node_id node, struct py *out) {
    struct graph *g = vm_graph(vm);
    const struct node *n = &g->nodes.at[node];
    const struct meta *m = &g->nodes.at[n->args[0].node].meta;
    struct exprs *p = vm->ex;
    int rank = m->rank, order[WS_MAX_RANK], k = 0;
    int row = dim_from_end(p, &n->args[2], rank), column = dim_from_end(p, &n->args[3], rank);
    ex columns = m->size[column], size[WS_MAX_RANK], to[WS_MAX_RANK], next = ex_const(p, 1);
    if (m->stride[row] != ex_mul(p, columns, m->stride[column])) return false;
    for (int i = 0; i < rank; i++)
        if (i != row && i != column) order[k++] = i;
    order[k] = row, order[k + 1] = column;
    for (int i = 0; i < rank; i++) to[i] = ex_const(p, order[i]), size[i] = m->size[order[i]];
    size[rank - 2] = ex_mul(p, m->size[row], columns);
    ex length = n->meta.size[rank - 2], step = ex_add(p, columns, next);
    ex offset = n->args[1].i, zero = ex_const(p, 0);
    if (ex_value(p, offset) < 0) offset = ex_mul(p, ex_sub(p, zero, offset), columns);
    ex end = length == zero
                 ? offset
                 : ex_add(p, ex_add(p, offset, next), ex_mul(p, ex_sub(p, length, next), step));
    bool turned = false;
    for (int i = 0; i < rank; i++) turned |= order[i] != i;
    struct view_step *steps = view_of(vm, parent, node, 2 + turned, out);
    struct arg *args = NEW_ARRAY(vm->arena, struct arg, 9);
    args[1] = arg_ints(g, to, (uint32_t)rank);
    args[3] = arg_ints(g, size, (uint32_t)rank - 1);
    args[5] = arg_int(g, rank - 2), args[6] = arg_ex(offset), args[7] = arg_ex(end);
    args[8] = arg_ex(step);
    if (turned) *steps++ = (struct view_step){OP_PERMUTE, args, 2};
    steps[0] = (struct view_step){OP_VIEW, args + 2, 2};
    steps[1] = (struct view_step){OP_SLICE, args + 4, 5};
    return true;
}

/* The view `node` of parent, if it is one. Composites are told in memory of its own: a loop has
 * thousands. */
bool functional_view(struct vm *vm, struct py parent, node_id node, struct py *out) {
    const struct node *n = &vm_graph(vm)->nodes.at[node];
    if (is_step(vm_graph(vm), n)) {
        *view_of(vm, parent, node, 1, out) = (struct view_step){n->op, n->args, n->n_args};
        return true;
    }
    if (n->op == OP_DIAGONAL) return diagonal_view(vm, parent, node, out);
    struct arena *scratch = arena_new();
    const struct graph *d = view_graph(vm, node, scratch);
    if (d) view_by_graph(vm, parent, node, d, out);
    arena_free(scratch);
    return d;
}

static node_id take_step(struct vm *vm, struct graph *g, node_id from, const struct view_step *s) {
    struct arg args[MAX_PARAMS];
    memcpy(args, s->args, s->n_args * sizeof *args);
    args[0] = arg_node(from);
    node_id out;
    if (!graph_call(g, s->op, args, s->n_args, vm_line(vm), vm->diag, &out)) vm_leave(vm);
    return out;
}

/* The value of all of t's memory, as it is seen through t. */
static node_id memory_of(struct vm *vm, const struct tensor *t, const struct storage *s) {
    if (t->own && t->own->version == s->version) return t->own->base;
    return t->own ? tensor_detached(vm, s->base) : s->base;
}

void functional_detach(struct vm *vm, struct tensor *t) {
    t->detached = true;
    t->own = NEW(vm->arena, struct detached);
    t->own->version = UINT32_MAX;
}

/* The node of its graph that a tracked tensor is now. */
node_id functional_node(struct vm *vm, struct tensor *t) {
    if (t->seen == t->storage->version) return t->node;
    t->node = memory_of(vm, t, t->storage);
    for (uint32_t i = 0; i < t->n_steps; i++)
        t->node = take_step(vm, t->graph, t->node, &t->steps[i]);
    t->seen = t->storage->version;
    return t->node;
}

/* -- and back ------------------------------------------------------------------------------ */

static const struct meta *meta_of(struct vm *vm, node_id n) {
    return &vm_graph(vm)->nodes.at[n].meta;
}

static node_id op(struct vm *vm, enum op op, const struct py *v, uint32_t n) {
    return tensor_call(vm, op, v, n).tensor->node;
}

/* The whole with elements start, start+1 .. of dim replaced: pieces side by side. */
static node_id put_slice(struct vm *vm, node_id whole, const struct arg *args, node_id part) {
    int dim = (int)ex_value(vm->ex, args[1].i);
    ex start = args[2].i, size = meta_of(vm, whole)->size[dim],
       stop = ex_add(vm->ex, start, meta_of(vm, part)->size[dim]);
    struct py pieces = py_list(vm->arena, PY_LIST, NULL, 0);
    struct py head[4] = {wrap(vm, whole), py_int(dim), py_int(0), tensor_size(vm, start)};
    struct py tail[4] = {wrap(vm, whole), py_int(dim), tensor_size(vm, stop),
                         tensor_size(vm, size)};
    if (start != ex_const(vm->ex, 0))
        vec_push(vm->arena, pieces.list, tensor_call(vm, OP_SLICE, head, 4));
    vec_push(vm->arena, pieces.list, wrap(vm, part));
    if (stop != size) vec_push(vm->arena, pieces.list, tensor_call(vm, OP_SLICE, tail, 4));
    if (pieces.list->n == 1) return part;
    struct py cat[2] = {pieces, py_int(dim)};
    return op(vm, OP_CAT, cat, 2);
}

/* The same for every step-th element: where an element is one of them, its own in part. */
static node_id put_strided(struct vm *vm, node_id whole, const struct arg *args, node_id part) {
    int dim = (int)ex_value(vm->ex, args[1].i), rank = meta_of(vm, whole)->rank;
    struct py size = tensor_size(vm, meta_of(vm, whole)->size[dim]);
    struct py count = tensor_size(vm, meta_of(vm, part)->size[dim]);
    struct py start = tensor_size(vm, args[2].i), step = tensor_size(vm, args[4].i);
    struct py bounds[4] = {py_int(0), size, py_int(1), py_dtype(DT_I64)};
    struct py at = tensor_call(vm, OP_ARANGE, bounds, 4);
    at = vm_binary(vm, BINARY_SUB, at, start, false);
    struct py rest = vm_binary(vm, BINARY_MOD, at, step, false);
    struct py k = vm_binary(vm, BINARY_FLOORDIV, at, step, false);
    struct py last = vm_binary(vm, BINARY_SUB, count, py_int(1), false);
    struct py in_step = vm_compare(vm, COMPARE_EQ, rest, py_int(0)),
              not_before = vm_compare(vm, COMPARE_GE, at, py_int(0)),
              not_behind = vm_compare(vm, COMPARE_LE, k, last);
    struct py hit = vm_binary(vm, BINARY_AND, vm_binary(vm, BINARY_AND, in_step, not_before, false),
                              not_behind, false);
    struct py clamp[3] = {k, py_int(0), last};
    struct py lookup = tensor_call(vm, OP_CLAMP, clamp, 3), dims = py_int(dim);
    struct py index[3] = {wrap(vm, part), py_list(vm->arena, PY_LIST, &lookup, 1),
                          py_list(vm->arena, PY_LIST, &dims, 1)};
    for (int i = dim + 1; i < rank; i++) {
        struct py unsqueeze[2] = {hit, py_int(-1)};
        hit = tensor_call(vm, OP_UNSQUEEZE, unsqueeze, 2);
    }
    struct py where[3] = {hit, tensor_call(vm, OP_INDEX, index, 3), wrap(vm, whole)};
    return op(vm, OP_WHERE, where, 3);
}

static node_id permute_back(struct vm *vm, const struct arg *args, node_id part) {
    struct py order = py_list(vm->arena, PY_LIST, NULL, 0);
    for (uint32_t i = 0; i < args[1].ints.n; i++)
        for (uint32_t k = 0; k < args[1].ints.n; k++)
            if (ex_value(vm->ex, args[1].ints.at[k]) == i)
                vec_push(vm->arena, order.list, py_int(k));
    struct py v[2] = {wrap(vm, part), order};
    return op(vm, OP_PERMUTE, v, 2);
}

/* What `whole` becomes if the view of it by step s becomes part. */
static node_id step_back(struct vm *vm, const struct view_step *s, node_id whole, node_id part) {
    if (meta_numel(vm->ex, meta_of(vm, part)) == ex_const(vm->ex, 0)) return whole;
    int64_t one;
    struct py v[2] = {wrap(vm, part), py_unset};
    if (s->op == OP_VIEW) {
        v[1] = tensor_sizes(vm, meta_of(vm, whole), 0);
        return op(vm, OP_VIEW, v, 2);
    }
    if (s->op == OP_PERMUTE) return permute_back(vm, s->args, part);
    if (s->op == OP_UNSQUEEZE) {
        v[1] = tensor_size(vm, s->args[1].i);
        return op(vm, OP_SQUEEZE, v, 2);
    }
    if (s->op == OP_SQUEEZE) {
        if (meta_of(vm, whole)->rank == meta_of(vm, part)->rank) return part;
        v[1] = tensor_size(vm, s->args[1].i);
        return op(vm, OP_UNSQUEEZE, v, 2);
    }
    if (s->op == OP_SLICE) {
        if (ex_is_const(vm->ex, s->args[4].i, &one) && one == 1)
            return put_slice(vm, whole, s->args, part);
        return put_strided(vm, whole, s->args, part);
    }
    vm_raise(vm, EXC_RuntimeError,
             "unsupported operation: more than one element of the written-to tensor refers to a "
             "single memory location. Please clone() the tensor before performing the operation.");
}

/* What autograd does not see, as under no_grad() or through .data: the value changes, and gradients
 * go where those of the old value went. */
static node_id behind_autograd(struct vm *vm, node_id old, node_id value,
                               const struct meta *memory) {
    if (!tensor_carries_gradient(vm, old)) return tensor_detached(vm, value);
    struct arg args[2] = {arg_node(old), arg_node(value)};
    node_id out;
    if (!graph_call(vm_graph(vm), OP_SET_DATA, args, 2, vm_line(vm), vm->diag, &out)) vm_leave(vm);
    memcpy(vm_graph(vm)->nodes.at[out].meta.stride, memory->stride, sizeof memory->stride);
    return out;
}

/* x's memory gets the value of node. */
void functional_write(struct vm *vm, struct py x, node_id value, bool unseen) {
    struct tensor *t = x.tensor;
    struct storage *s = functional_storage(vm, x);
    bool tracked = t->graph == vm_graph(vm);
    uint32_t n = tracked ? t->n_steps : 0;
    struct detached *own = tracked ? t->own : NULL;
    node_id *whole = NEW_ARRAY(vm->arena, node_id, n + 1);
    whole[0] = own ? memory_of(vm, t, s) : s->base;
    for (uint32_t i = 0; i + 1 < n; i++)
        whole[i + 1] = take_step(vm, vm_graph(vm), whole[i], &t->steps[i]);
    for (uint32_t i = n; i-- > 0;) value = step_back(vm, &t->steps[i], whole[i], value);
    struct meta memory = *meta_of(vm, s->base);
    value = strides_as(vm, value, &memory); /* it is as it was, whatever the view looked like */
    if (own) own->base = unseen ? behind_autograd(vm, whole[0], value, &memory) : value;
    s->base = unseen || own ? behind_autograd(vm, s->base, value, &memory) : value;
    s->version++;
    if (own) own->version = s->version;
}
