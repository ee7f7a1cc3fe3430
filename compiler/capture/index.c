/* index.c: x[...] on tensors, one view for each part that is not `:`.
 *
 *   x[0]          select(x, 0, 0)
 *   x[:, 2:4]     slice(x, dim=1, start=2, end=4)
 *   x[..., None]  unsqueeze(x, dim=rank)
 *
 *   x[:, i]       index(x, [i], dims=[1])    where i is a tensor of integers or a list of them
 *
 *   x[True]       unsqueeze(x, dim=0)    of which x[False] takes nothing; a mask of no dimensions
 *                                        is one of them
 *
 *   x[mask, 0] = v   x[:, 0] = where(mask, v, x[:, 0]), as nobody knows how many rows that are
 *
 * Tensors are collected on the way and looked up together at the end; one of no dimensions is a
 * number: x[i, :, j] is then x[i][:, j]. */
#include "capture/vm.h"

/* How many dimensions of the tensor an index uses up. */
static int consumed(struct vm *vm, const struct list *parts) {
    int n = 0;
    for (uint32_t i = 0; i < parts->n; i++) {
        struct py p = parts->at[i];
        bool mask = p.kind == PY_TENSOR && selected_meta(vm, p)->dtype == DT_BOOL;
        bool none = p.kind == PY_NONE || p.kind == PY_ELLIPSIS || p.kind == PY_BOOL;
        n += mask ? tensor_meta(vm, p)->rank : !none;
    }
    return n;
}

static struct py select_at(struct vm *vm, struct py x, int dim, struct py i) {
    struct py size = tensor_size(vm, tensor_meta(vm, x)->size[dim]);
    int64_t k = vm_index(vm, i, "index");
    int64_t n = size.kind == PY_INT ? size.i : k < 0 ? vm_index(vm, size, "a size") : INT64_MAX;
    if (k < -n || k >= n)
        vm_raise(vm, EXC_IndexError, "index %lld is out of bounds for dimension %d with size %lld",
                 (long long)k, dim, (long long)n);
    struct py args[3] = {x, py_int(dim), py_int(k < 0 ? k + n : k)};
    return tensor_call(vm, OP_SELECT, args, 3);
}

/* A dimension of one row, or of none. */
static struct py row_if(struct vm *vm, struct py x, int dim, bool there) {
    struct py unsqueeze[2] = {x, py_int(dim)};
    x = tensor_call(vm, OP_UNSQUEEZE, unsqueeze, 2);
    struct py none[5] = {x, py_int(dim), py_int(0), py_int(0), py_int(1)};
    return there ? x : tensor_call(vm, OP_SLICE, none, 5);
}

static struct py bound(struct vm *vm, struct py v) {
    if (v.kind == PY_NONE || v.kind == PY_SYMINT) return v;
    return py_int(vm_index(vm, v, "slice indices"));
}

static struct py slice_of(struct vm *vm, struct py x, int dim, const struct slice *s) {
    if (s->start.kind == PY_NONE && s->stop.kind == PY_NONE && s->step.kind == PY_NONE) return x;
    int64_t step = s->step.kind == PY_NONE ? 1 : vm_index(vm, s->step, "slice step");
    if (step < 1) vm_raise(vm, EXC_ValueError, "slice step must be positive");
    struct py start = bound(vm, s->start), stop = bound(vm, s->stop);
    struct py args[5] = {x, py_int(dim), start, stop, py_int(step)};
    return tensor_call(vm, OP_SLICE, args, 5);
}

static __attribute__((noreturn)) void refuse_index(struct vm *vm, struct py i) {
    if (i.kind == PY_TENSOR && tensor_meta(vm, i)->dtype == DT_BOOL) selected_refuse(vm);
    if (i.kind == PY_TENSOR)
        vm_raise(vm, EXC_IndexError,
                 "tensors used as indices must be long, int, byte or bool tensors");
    if (i.kind == PY_LIST || i.kind == PY_BOOL)
        vm_refuse(vm,
                  "indexing a tensor by a %s is not supported; integers, tensors of integers, "
                  "slices, None and ... are",
                  type_name(vm, i));
    vm_raise(vm, EXC_TypeError, "tensor indices must be integers, slices, None or ..., not %s",
             type_name(vm, i));
}

/* The index tensors of a subscript and the dimensions of the result that they look up. */
struct lookup {
    struct list tensors, dims;
};

static void add_lookup(struct vm *vm, struct lookup *l, struct py index, int dim) {
    vec_push(vm->arena, &l->tensors, index);
    vec_push(vm->arena, &l->dims, py_int(dim));
}

/* [True, False, True] as [0, 2]; false: they are not all bools. */
static bool rows_of_bools(struct vm *vm, struct py list, struct list *rows) {
    for (uint32_t i = 0; i < list.list->n; i++) {
        if (list.list->at[i].kind != PY_BOOL) return false;
        if (list.list->at[i].b) vec_push(vm->arena, rows, py_int(i));
    }
    return list.list->n > 0;
}

static bool is_index(struct vm *vm, struct py i) {
    return i.kind == PY_TENSOR && dtype_is_int(selected_meta(vm, i)->dtype);
}

/* [2, 0] as a tensor, and [[2, 0], [1, 1]]; anything else than integers is refused. */
static struct py index_of_list(struct vm *vm, struct py list) {
    struct list numbers = {0}, rows = {0};
    if (rows_of_bools(vm, list, &rows)) list = py_pointer(PY_LIST, &rows);
    for (uint32_t i = 0; i < list.list->n; i++) {
        struct list none = {0};
        struct py at = list.list->at[i];
        if (py_is_sequence(at)) {
            vec_push(vm->arena, &numbers, index_of_list(vm, at));
            continue;
        }
        if (is_index(vm, at) && !tensor_meta(vm, at)->rank) {
            vec_push(vm->arena, &numbers, at);
            continue;
        }
        if (at.kind != PY_INT) refuse_index(vm, list);
        struct py args[2] = {py_pointer(PY_TUPLE, &none), at};
        vec_push(vm->arena, &numbers, tensor_call(vm, OP_FULL, args, 2));
    }
    if (!numbers.n) { /* [] and [False, False]: no rows */
        struct py zero = py_int(0), args[2] = {py_list(vm->arena, PY_TUPLE, &zero, 1), zero};
        return tensor_call(vm, OP_FULL, args, 2);
    }
    struct py all = py_pointer(PY_LIST, &numbers);
    return tensor_call(vm, OP_STACK, &all, 1);
}

/* range(2) likewise. */
static struct py index_of_range(struct vm *vm, const struct range *r) {
    struct py args[4] = {py_int(r->start), py_int(r->stop), py_int(r->step), py_dtype(DT_I64)};
    return tensor_call(vm, OP_ARANGE, args, 4);
}

/* An array of numpy is an object of the prelude that keeps a tensor. */
static struct py of_array(struct vm *vm, struct py v) {
    if (v.kind != PY_INSTANCE) return v;
    const struct module *m = v.instance->class->module;
    bool array = m && m->prelude && !strcmp(m->name, "numpy");
    return array ? attribute_get(vm, v, "_t") : v;
}

/* x[[rows, columns]] is x[rows, columns] in PyTorch, where a short list has more than numbers. */
static bool is_tuple_of_indices(const struct list *l) {
    enum { SHORT = 32 };
    for (uint32_t i = 0; i < l->n && l->n < SHORT; i++) {
        enum py_kind k = l->at[i].kind;
        if (k == PY_TENSOR || k == PY_SLICE || k == PY_ELLIPSIS || k == PY_NONE || k == PY_RANGE ||
            py_is_sequence(l->at[i]))
            return true;
    }
    return false;
}

/* A subscript of a tensor, with tensors for arrays: x[np.array([2, 0])], x[:, order]. */
struct py index_of_arrays(struct vm *vm, struct py i) {
    i = guard_whole(vm, i);
    if (i.kind == PY_LIST && is_tuple_of_indices(i.list)) i.kind = PY_TUPLE;
    if (i.kind != PY_TUPLE) return of_array(vm, i);
    struct py out = py_list(vm->arena, PY_TUPLE, i.list->at, i.list->n);
    for (uint32_t k = 0; k < i.list->n; k++) out.list->at[k] = of_array(vm, i.list->at[k]);
    return out;
}

struct py mask_known(struct vm *vm, struct py mask) {
    enum { FEW = 1 << 16 };
    int64_t n;
    if (mask.kind != PY_TENSOR || mask.tensor->selected || vm->trace) return mask;
    const struct meta *m = tensor_meta(vm, mask);
    bool few = m->dtype == DT_BOOL && ex_is_const(vm->ex, meta_numel(vm->ex, m), &n) && n <= FEW;
    return few ? tensor_value(vm, mask) : mask;
}

bool mask_is_constant(struct vm *vm, struct py mask) {
    bool may =
        !vm->trace && (!vm->tracing || tensor_is_constant(vm, mask)); /* in __init__, all is */
    return may && tensor_is_eager(vm, mask_known(vm, mask));
}

/* Where a known mask is set, along dimension k. */
static struct py places(struct vm *vm, struct py mask, int k) {
    static const enum dtype i64 = DT_I64;
    struct py found = eager_nonzero(vm, mask.tensor, k);
    if (vm->eager) return found;
    struct value v = eager_values(vm, found.tensor);
    struct py numbers = py_list(vm->arena, PY_LIST, NULL, 0);
    for (int64_t i = 0; i < v.n; i++) vec_push(vm->arena, numbers.list, py_int(v.w[i]));
    value_free(&v);
    return tensor_constant(vm, numbers, &i64);
}

/* `a[1, None, mask, :2]`: the only mask among the parts, and the same parts with `:` for it. */
struct masked {
    struct py mask, rest;
    int before; /* dimensions of x[rest] in front of the mask's */
};

static bool is_mask(struct vm *vm, struct py v) {
    return v.kind == PY_TENSOR && selected_meta(vm, v)->dtype == DT_BOOL;
}

/* false: no mask, several, or another tensor that is looked up. */
static bool has_one_mask(struct vm *vm, struct py x, struct py i, struct masked *m) {
    const struct list one = {.at = &i, .n = 1}, *parts = i.kind == PY_TUPLE ? i.list : &one;
    int rank = tensor_meta(vm, x)->rank, used = consumed(vm, parts), dim = 0, masks = 0;
    *m = (struct masked){.rest = py_list(vm->arena, PY_TUPLE, NULL, 0)};
    if (used > rank) return false;
    for (uint32_t k = 0; k < parts->n; k++) {
        struct py p = parts->at[k];
        if (is_mask(vm, p)) {
            struct slice *all = NEW(vm->arena, struct slice);
            *all = (struct slice){py_none, py_none, py_none};
            struct py whole = py_pointer(PY_SLICE, all);
            m->mask = p, m->before = dim, masks++;
            for (int d = tensor_meta(vm, p)->rank; d-- > 0;) {
                vec_push(vm->arena, m->rest.list, whole);
                dim++;
            }
            continue;
        }
        vec_push(vm->arena, m->rest.list, p);
        if (p.kind == PY_ELLIPSIS)
            dim += rank - used;
        else if (p.kind == PY_NONE || p.kind == PY_SLICE)
            dim++;
        else if (p.kind != PY_INT)
            return false;
    }
    return masks == 1;
}

/* A tensor of one integer is that integer: beside other tensors it is not one of what is looked up
 * together, x[i, :, j] with i of no dimensions is x[i][:, j]. */
static bool selects_one(struct vm *vm, struct py p) {
    return is_index(vm, p) && !p.tensor->selected && !tensor_meta(vm, p)->rank &&
           tensor_meta(vm, p)->dtype != DT_U8;
}

static bool looks_up(struct py p) {
    return p.kind == PY_TENSOR || p.kind == PY_RANGE || py_is_sequence(p);
}

static struct py index_at(struct vm *vm, struct py x, struct py i, int dim) {
    struct py at = py_int(dim);
    struct py args[3] = {x, py_list(vm->arena, PY_LIST, &i, 1),
                         py_list(vm->arena, PY_LIST, &at, 1)};
    return tensor_call(vm, OP_INDEX, args, 3);
}

struct py tensor_subscript(struct vm *vm, struct py x, struct py index) {
    struct py picked;
    struct masked m;
    if (index.kind == PY_TUPLE && !x.tensor->selected && !tensor_is_eager(vm, x) &&
        has_one_mask(vm, x, index, &m) && !m.before &&
        !tensor_is_eager(vm, mask_known(vm, m.mask))) {
        x = tensor_subscript(vm, x, m.rest); /* x[mask, 0] is x[:, 0][mask] */
        index = m.mask;
    }
    if (selected_subscript(vm, x, index, &picked)) return picked;
    const struct list one = {.at = &index, .n = 1},
                      *parts = index.kind == PY_TUPLE ? index.list : &one;
    int rank = tensor_meta(vm, x)->rank, used = consumed(vm, parts), dim = 0;
    bool ellipsis = false, only_numbers = true;
    struct lookup found = {0};
    for (uint32_t i = 0; i < parts->n; i++)
        only_numbers &= !looks_up(parts->at[i]) || selects_one(vm, parts->at[i]);
    if (used > rank)
        vm_raise(vm, EXC_IndexError, "too many indices for tensor of dimension %d", rank);
    for (uint32_t i = 0; i < parts->n; i++) {
        struct py p = parts->at[i];
        switch (p.kind) {
        case PY_ELLIPSIS:
            if (ellipsis)
                vm_raise(vm, EXC_IndexError, "an index can only have a single ellipsis ('...')");
            ellipsis = true;
            dim += rank - used;
            break;
        case PY_NONE: {
            struct py args[2] = {x, py_int(dim++)};
            x = tensor_call(vm, OP_UNSQUEEZE, args, 2);
            break;
        }
        case PY_BOOL: x = row_if(vm, x, dim++, p.i); break;
        case PY_SLICE: x = slice_of(vm, x, dim++, p.slice); break;
        case PY_INT:
        case PY_SYMINT:
        case PY_INSTANCE: x = select_at(vm, x, dim, p); break;
        default:
            if (p.kind == PY_LIST || p.kind == PY_TUPLE) p = index_of_list(vm, p);
            if (p.kind == PY_RANGE) p = index_of_range(vm, p.range);
            p = mask_known(vm, p);
            if (tensor_is_eager(vm, p) && p.tensor->meta.dtype == DT_BOOL) {
                if (!p.tensor->meta.rank) x = row_if(vm, x, dim++, eager_truth(vm, p).i);
                for (int k = 0; k < p.tensor->meta.rank; k++)
                    add_lookup(vm, &found, places(vm, p, k), dim++);
                break;
            }
            if (!is_index(vm, p)) refuse_index(vm, p);
            if (selects_one(vm, p) && !only_numbers) {
                x = index_at(vm, x, p, dim);
                break;
            }
            add_lookup(vm, &found, p, dim++);
        }
    }
    if (!found.tensors.n) return x;
    struct py args[3] = {x, py_pointer(PY_LIST, &found.tensors), py_pointer(PY_LIST, &found.dims)};
    return tensor_call(vm, OP_INDEX, args, 3);
}

/* v without those of its first dimensions that are 1 and that a part of x has not: x[0] = [1.] */
static struct py without_ones(struct vm *vm, struct py v, struct py part) {
    int rank = tensor_meta(vm, part)->rank;
    while (tensor_meta(vm, v)->rank > rank && tensor_meta(vm, v)->size[0] == ex_const(vm->ex, 1))
        v = select_at(vm, v, 0, py_int(0));
    return v;
}

/* v in the type of x, which it has; but where a mask is set, one element of any type is filled in.
 */
static struct py of_type(struct vm *vm, struct py x, struct py i, struct py v) {
    enum dtype to = x.tensor->meta.dtype, from = tensor_meta(vm, v)->dtype;
    bool mask = i.kind == PY_TENSOR && tensor_meta(vm, i)->dtype == DT_BOOL;
    if (from == to) return v;
    if (!mask || eager_numel(vm, v.tensor) != 1)
        vm_raise(vm, EXC_RuntimeError,
                 "Index put requires the source and destination dtypes match, got %s for the "
                 "destination and %s for the source.",
                 dtype_name(to), dtype_name(from));
    struct py cast[2] = {v, py_dtype(to)};
    return tensor_call(vm, OP_CONVERT, cast, 2);
}

/* x[i] = v where i looks elements up: the same subscript of the elements' numbers says which. */
static void scatter(struct vm *vm, struct py x, struct py i, struct py v) {
    struct py n = py_int(eager_numel(vm, x.tensor)), size = py_list(vm->arena, PY_TUPLE, NULL, 0);
    struct py bounds[4] = {py_int(0), n, py_int(1), py_dtype(DT_I64)};
    for (int k = 0; k < x.tensor->meta.rank; k++)
        vec_push(vm->arena, size.list, py_int(eager_size(vm, x.tensor, k)));
    struct py shape[2] = {tensor_call(vm, OP_ARANGE, bounds, 4), size};
    struct py places = tensor_subscript(vm, tensor_call(vm, OP_VIEW, shape, 2), i);
    v = v.kind == PY_TENSOR ? of_type(vm, x, i, v) : eager_data(vm, v, &x.tensor->meta.dtype);
    struct py pair[2] = {without_ones(vm, v, places), places};
    v = tensor_call(vm, OP_EXPAND_AS, pair, 2);
    eager_scatter(vm, x.tensor, places.tensor, v.tensor);
}

/* v as a tensor of the type, and where it is no number the shape, of part. */
static struct py like(struct vm *vm, struct py part, struct py v) {
    struct py pair[2] = {part, v};
    if (v.kind != PY_TENSOR) return tensor_call(vm, OP_FULL_LIKE, pair, 2);
    struct py expand[2] = {without_ones(vm, v, part), part};
    return tensor_call(vm, OP_EXPAND_AS, expand, 2);
}

/* Is v the same for all that the mask picks, as dimension k of x[..., mask, ...], which has `rank`?
 * Then without that, or with one row for each dimension of the mask. */
static bool without_picked(struct vm *vm, struct py *v, int k, int rank, int mask_rank) {
    const struct meta *m = tensor_meta(vm, *v);
    int at = k - (rank - m->rank);
    if (at < 0) return true;
    if (m->rank > rank || m->size[at] != ex_const(vm->ex, 1)) return false;
    for (int d = 1; d < mask_rank; d++) {
        struct py args[2] = {*v, py_int(at)};
        *v = tensor_call(vm, OP_UNSQUEEZE, args, 2);
    }
    return true;
}

/* x[1, mask] = v in a graph, where the shape of x[1, mask] is not known: all of x[1], with v there,
 * which is the same for all rows, or picked by that mask. */
static bool set_masked(struct vm *vm, struct py x, struct py i, struct py v) {
    struct masked m;
    if (!has_one_mask(vm, x, i, &m)) return false;
    struct py part = tensor_subscript(vm, x, m.rest), mask = m.mask;
    int rank = tensor_meta(vm, part)->rank, mask_rank = tensor_meta(vm, mask)->rank;
    if (m.before + mask_rank > rank) return false;
    bool fits = selected_value(vm, part, mask, &v) || v.kind != PY_TENSOR ||
                without_picked(vm, &v, m.before, rank - mask_rank + 1, mask_rank);
    if (!fits && mask_is_constant(vm, mask)) return false;
    if (!fits) selected_refuse(vm);
    for (int k = m.before + mask_rank; k < rank; k++) {
        struct py args[2] = {mask, py_int(tensor_meta(vm, mask)->rank)};
        mask = tensor_call(vm, OP_UNSQUEEZE, args, 2);
    }
    struct py where[3] = {mask, v.kind == PY_TENSOR ? v : like(vm, part, v), part};
    tensor_assign(vm, part, tensor_call(vm, OP_WHERE, where, 3));
    return true;
}

static struct py flat(struct vm *vm, struct py x) {
    struct py minus = py_int(-1), args[2] = {x, py_list(vm->arena, PY_TUPLE, &minus, 1)};
    return tensor_call(vm, OP_VIEW, args, 2);
}

/* Is one whole dimension of x looked up, by integers in one row, and nothing else asked for? Not
 * where gradients go to v: those that are overwritten have some, too, in PyTorch. */
static bool looks_up_one(struct vm *vm, struct py x, struct py i, int *dim, struct py *at) {
    const struct list one = {.at = &i, .n = 1}, *parts = i.kind == PY_TUPLE ? i.list : &one;
    int rank = tensor_meta(vm, x)->rank, used = consumed(vm, parts), d = 0, found = 0;
    for (uint32_t k = 0; k < parts->n; k++) {
        struct py p = parts->at[k];
        if (p.kind == PY_ELLIPSIS) {
            d += rank - used;
        } else if (p.kind == PY_TENSOR) {
            if (!is_index(vm, p) || tensor_meta(vm, p)->rank != 1) return false;
            *at = p, *dim = d++, found++;
        } else if (p.kind == PY_SLICE) {
            const struct slice *all = p.slice;
            if (all->start.kind != PY_NONE || all->stop.kind != PY_NONE ||
                all->step.kind != PY_NONE)
                return false;
            d++;
        } else {
            return false;
        }
    }
    return found == 1;
}

/* x[:, at] = v, as into a cache of keys: index_copy(), for places that may count from the end. */
static struct py with_rows(struct vm *vm, struct py x, int dim, struct py at, struct py v) {
    struct py size = tensor_size(vm, tensor_meta(vm, x)->size[dim]), copy = py_none;
    struct py negative[2] = {at, py_int(0)}, sum[2] = {at, size};
    struct py where[3] = {tensor_call(vm, OP_LT, negative, 2), tensor_call(vm, OP_ADD, sum, 2), at};
    struct py args[4] = {x, py_int(dim), tensor_call(vm, OP_WHERE, where, 3), v};
    dict_gets(module_import(vm, "torch")->dict, "index_copy", &copy);
    return vm_call(vm, copy, &(struct args){.at = args, .n = 4});
}

/* The same in a graph: a scatter over all elements, in one row. */
static void set_looked_up(struct vm *vm, struct py x, struct py i, struct py part, struct py v) {
    struct py at;
    int dim;
    bool grad = v.kind == PY_TENSOR && v.tensor->requires_grad;
    struct py cast[2] = {like(vm, part, v), py_dtype(tensor_meta(vm, x)->dtype)};
    v = tensor_call(vm, OP_CAST, cast, 2);
    if (looks_up_one(vm, x, i, &dim, &at) &&
        (!grad || tensor_meta(vm, at)->size[0] == ex_const(vm->ex, 1))) {
        tensor_assign(vm, x, with_rows(vm, x, dim, at, v));
        return;
    }
    struct py n = tensor_size(vm, meta_numel(vm->ex, tensor_meta(vm, x)));
    struct py bounds[4] = {py_int(0), n, py_int(1), py_dtype(DT_I64)};
    struct py shape[2] = {tensor_call(vm, OP_ARANGE, bounds, 4),
                          tensor_sizes(vm, tensor_meta(vm, x), 0)};
    struct py places = tensor_subscript(vm, tensor_call(vm, OP_VIEW, shape, 2), i);
    struct py args[4] = {flat(vm, x), py_int(0), flat(vm, places), flat(vm, v)};
    struct py back[2] = {tensor_call(vm, OP_SCATTER, args, 4),
                         tensor_sizes(vm, tensor_meta(vm, x), 0)};
    tensor_assign(vm, x, tensor_call(vm, OP_VIEW, back, 2));
}

/* Is v what `x[i] += w` has made of the view x[i], and x not told of it yet? */
static bool is_own_part(struct py x, struct py v) {
    return v.kind == PY_TENSOR && v.tensor->storage == x.tensor->storage &&
           v.tensor->own == x.tensor->own && v.tensor->recorded == *tensor_recorded(v.tensor) &&
           x.tensor->recorded + 1 == v.tensor->recorded;
}

static bool same_view(const struct vm *vm, const struct tensor *x, const struct tensor *y) {
    if (x->offset != y->offset || x->meta.rank != y->meta.rank) return false;
    for (int k = 0; k < x->meta.rank; k++)
        if (eager_size(vm, x, k) != eager_size(vm, y, k) ||
            eager_stride(vm, x, k) != eager_stride(vm, y, k))
            return false;
    return true;
}

/* x[i] = v where gradients go through: x becomes a scatter of v over what it was. */
static void set_recorded(struct vm *vm, struct py x, struct py i, struct py v) {
    struct tensor *t = x.tensor;
    uint32_t before = t->recorded;
    if (t->requires_grad && !t->tape)
        vm_raise(vm, EXC_RuntimeError,
                 "a view of a leaf Variable that requires grad is being used in an in-place "
                 "operation.");
    bool own = is_own_part(x, v);
    if (own) t->recorded = *tensor_recorded(t);
    struct py part = tensor_subscript(vm, x, i);
    if (own && !same_view(vm, part.tensor, v.tensor)) {
        t->recorded = before;
        part = tensor_subscript(vm, x, i); /* refuses */
    }
    bool view = part.tensor->storage == t->storage;
    set_looked_up(vm, x, i, part, v);
    tape_rename(t, view ? "CopySlices" : "IndexPutBackward0");
}

/* x[i] = v: an update in place of the view x[i]. */
void tensor_subscript_set(struct vm *vm, struct py x, struct py i, struct py v) {
    if (x.tensor->selected) return selected_subscript_set(vm, x, i, v);
    if (!tensor_is_eager(vm, x) && selected_places_set(vm, x, &i, v)) return;
    if (!tensor_is_eager(vm, x) && set_masked(vm, x, i, v)) return;
    bool grad = x.tensor->requires_grad || (v.kind == PY_TENSOR && v.tensor->requires_grad);
    if (tensor_is_eager(vm, x) && vm->grad_enabled && grad) return set_recorded(vm, x, i, v);
    struct py part = tensor_subscript(vm, x, i);
    if (tensor_is_eager(vm, x) && part.tensor->storage != x.tensor->storage)
        return scatter(vm, x, i, v);
    if (!tensor_is_eager(vm, x) && functional_storage(vm, part) != functional_storage(vm, x))
        return set_looked_up(vm, x, i, part, v);
    tensor_assign(vm, part, like(vm, part, v));
}
