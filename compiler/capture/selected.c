/* selected.c: x[mask] in a graph, where nobody knows how many rows that has.
 *
 *   picked = loss[mask]     all rows, one for each element of mask; those that count are
 *                           where(mask, loss, 1), and nothing is wanted of the others
 *   picked.mean()           sum(where(mask, picked, 0)) / sum(mask)
 *   x[mask] = y[mask] * 2   x = where(mask, y * 2, x)
 *
 *   picked[:, 0] = 1        what is picked is memory of its own, which nobody else looks at
 *
 *   i, j = torch.where(mask)
 *                           places are picked, too: x[i], y[i] += v and y.index_add_(0, i, v) look
 *                           up and update all rows; those that do not count land nowhere, or add 0
 *
 * Between the mask and the reduction there may be whatever makes each row of that row alone, by the
 * proof of graph/rowwise.c; all that is picked by one mask goes together. Anything else asks for
 * the shape, and is refused as the subscript would be. A trace of a script in which something that
 * was picked is left over ends in front of the subscript. */
#include <math.h>
#include <string.h>

#include "capture/dynamo.h"
#include "graph/traits.h"

const struct meta *selected_meta(struct vm *vm, struct py t) {
    if (!t.tensor->selected) return tensor_meta(vm, t);
    return &t.tensor->graph->nodes.at[t.tensor->node].meta;
}

void selected_refuse(struct vm *vm) { vm_break(vm, SELECTED_SHAPE, SELECTED_INSTEAD); }

static const struct node *node_at(struct vm *vm, node_id n) { return &vm_graph(vm)->nodes.at[n]; }

static struct py call2(struct vm *vm, enum op op, struct py a, struct py b) {
    struct py args[2] = {a, b};
    return tensor_call(vm, op, args, 2);
}

static struct py call3(struct vm *vm, enum op op, struct py a, struct py b, struct py c) {
    struct py args[3] = {a, b, c};
    return tensor_call(vm, op, args, 3);
}

/* ---- picking --------------------------------------------------------------------------------- */

static bool is_mask(struct vm *vm, struct py v) {
    return v.kind == PY_TENSOR && !v.tensor->selected && !tensor_is_eager(vm, v) &&
           tensor_meta(vm, v)->dtype == DT_BOOL;
}

/* The mask's dimensions are x's first. */
static bool has_rows_for(struct vm *vm, const struct meta *x, const struct meta *mask) {
    if (!mask->rank || mask->rank > x->rank) return false;
    for (int k = 0; k < mask->rank; k++)
        if (mask->size[k] != x->size[k]) return false;
    return true;
}

/* x with a number where rows do not count: no gradient goes there. */
static struct py filled(struct vm *vm, const struct selection *s, struct py x, struct py number) {
    struct py rest = call2(vm, OP_FULL_LIKE, x, number), rows = tensor_new(vm, s->rows);
    for (int k = 1; k < tensor_meta(vm, x)->rank; k++)
        rows = call2(vm, OP_UNSQUEEZE, rows, py_int(k));
    return call3(vm, OP_WHERE, rows, x, rest);
}

/* What functions are defined of, and have a slope at, as a rule: of integers, the first index. */
static struct py harmless(enum dtype t) {
    return dtype_is_float(t) ? py_float(1) : t == DT_BOOL ? py_false : py_int(0);
}

static struct py select(struct vm *vm, struct py x, const struct selection *s) {
    struct py out = tensor_new(vm, tensor_node(vm, x));
    out.tensor->requires_grad = x.tensor->requires_grad;
    out.tensor->selected = s;
    if (vm->trace) out.tensor->made_at = vm->trace->n_steps;
    return out;
}

/* All its dimensions that the mask has as one: (N, ...). */
static struct py rows_of(struct vm *vm, struct py x, int mask_rank) {
    struct py size = tensor_sizes(vm, tensor_meta(vm, x), mask_rank - 1);
    ex n = ex_const(vm->ex, 1);
    for (int k = 0; k < mask_rank; k++) n = ex_mul(vm->ex, n, tensor_meta(vm, x)->size[k]);
    size.list->at[0] = tensor_size(vm, n);
    return call2(vm, OP_VIEW, x, size);
}

/* ---- of one mask ----------------------------------------------------------------------------- */

static bool same_value(const struct graph *g, node_id a, node_id b, int depth);

static bool same_arg(const struct graph *g, const struct arg *a, const struct arg *b, int depth) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case ARG_NODE: return same_value(g, a->node, b->node, depth);
    case ARG_INT: return a->i == b->i;
    case ARG_FLOAT: return a->f == b->f;
    case ARG_BOOL: return a->b == b->b;
    case ARG_DTYPE: return a->dtype == b->dtype;
    case ARG_NONE: return true;
    default: return false;
    }
}

/* Written twice: x[y != 0] and z[y != 0]. */
static bool same_value(const struct graph *g, node_id a, node_id b, int depth) {
    const struct node *x = &g->nodes.at[a], *y = &g->nodes.at[b];
    if (a == b) return true;
    if (!depth || x->op != y->op || x->op == OP_INPUT || x->n_args != y->n_args ||
        op_info(x->op)->class == CREATE)
        return false;
    for (int i = 0; i < x->n_args; i++)
        if (!same_arg(g, &x->args[i], &y->args[i], depth - 1)) return false;
    return true;
}

static bool same_selection(struct vm *vm, const struct selection *a, const struct selection *b) {
    enum { DEPTH = 8 };
    return a == b || same_value(vm_graph(vm), a->mask, b->mask, DEPTH);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Of a mask [T, E], dimension 0: 0 E times, 1 E times, ... */
static struct py all_places(struct vm *vm, const struct meta *mask, int dim) {
    struct py line = py_list(vm->arena, PY_TUPLE, NULL, 0), sizes = tensor_sizes(vm, mask, 0);
    for (int k = 0; k < mask->rank; k++)
        vec_push(vm->arena, line.list, k == dim ? sizes.list->at[k] : py_int(1));
    struct py bounds[4] = {py_int(0), sizes.list->at[dim], py_int(1), py_dtype(DT_I64)};
    struct py at = tensor_call(vm, OP_ARANGE, bounds, 4);
    return rows_of(vm, call2(vm, OP_EXPAND, call2(vm, OP_VIEW, at, line), sizes), mask->rank);
}

struct py selected_places(struct vm *vm, struct py mask, int dim) {
    if (!is_mask(vm, mask) || !tensor_meta(vm, mask)->rank) selected_refuse(vm);
    struct selection *s = NEW(vm->arena, struct selection);
    struct meta m = *tensor_meta(vm, mask);
    s->mask = tensor_node(vm, mask);
    s->rows = tensor_node(vm, rows_of(vm, mask, m.rank));
    struct py at = all_places(vm, &m, dim);
    s->has_place = m.rank == 1;
    s->place = tensor_node(vm, at);
    return select(vm, at, s);
}

/* Places of a mask of one dimension are as good as the mask, which looks nothing up. */
static struct py mask_of_places(struct vm *vm, struct py x, struct py index) {
    if (index.kind != PY_TENSOR || !index.tensor->selected) return index;
    const struct selection *s = index.tensor->selected;
    if (!s->has_place || s->place != index.tensor->node || index.tensor->graph != vm_graph(vm))
        return index;
    struct py mask = tensor_new(vm, s->mask);
    return has_rows_for(vm, tensor_meta(vm, x), tensor_meta(vm, mask)) ? mask : index;
}

bool selected_value(struct vm *vm, struct py x, struct py mask, struct py *v) {
    if (v->kind != PY_TENSOR || !v->tensor->selected) return false;
    if (v->tensor->graph != vm_graph(vm)) selected_refuse(vm);
    struct selection given = {.mask = tensor_node(vm, mask)};
    if (!same_selection(vm, v->tensor->selected, &given) ||
        !has_rows_for(vm, tensor_meta(vm, x), tensor_meta(vm, mask)))
        selected_refuse(vm);
    struct py all = tensor_new(vm, v->tensor->node);
    all.tensor->requires_grad = v->tensor->requires_grad;
    all = call2(vm, OP_VIEW, all, tensor_sizes(vm, tensor_meta(vm, x), 0));
    *v = call2(vm, OP_CAST, all, py_dtype(tensor_meta(vm, x)->dtype));
    return true;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* A call whose selected tensors have become all of their rows. */
struct picked {
    struct args all;
    const struct selection *of;
    VEC(node_id) nodes; /* of these tensors */
};

/* A view of what was picked, as picked[..., 0]: of its values at that version. An update of the
 * view is one of picked, where the index says how. */
struct selected_part {
    struct py of, index; /* UNSET: it is no subscript */
    uint32_t at;
};

static void part_of(struct vm *vm, struct py view, struct py of, struct py index) {
    view.tensor->part = NEW(vm->arena, struct selected_part);
    *view.tensor->part = (struct selected_part){of, index, of.tensor->version};
}

static bool is_stale(const struct tensor *t) {
    for (; t->part; t = t->part->of.tensor)
        if (t->part->of.tensor->version != t->part->at) return true;
    return false;
}

static struct py all_rows(struct vm *vm, struct picked *p, struct py v) {
    if (py_is_sequence(v)) {
        struct py list = py_list(vm->arena, v.kind, v.list->at, v.list->n);
        for (uint32_t i = 0; i < list.list->n; i++)
            if (list.list->at[i].kind == PY_TENSOR)
                list.list->at[i] = all_rows(vm, p, list.list->at[i]);
        return list;
    }
    if (v.kind != PY_TENSOR || !v.tensor->selected) return v;
    bool here = v.tensor->graph == vm_graph(vm) && !is_stale(v.tensor);
    if (!here || (p->of && !same_selection(vm, p->of, v.tensor->selected))) selected_refuse(vm);
    p->of = v.tensor->selected;
    struct py out = tensor_new(vm, v.tensor->node);
    out.tensor->requires_grad = v.tensor->requires_grad;
    vec_push(vm->arena, &p->nodes, out.tensor->node);
    return out;
}

static bool any_selected(const struct py *at, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        any |= at[i].kind == PY_TENSOR && at[i].tensor->selected;
        any |= py_is_sequence(at[i]) && at[i].list->n && at[i].list->at[0].kind == PY_TENSOR &&
               any_selected(at[i].list->at, at[i].list->n);
    }
    return any;
}

static struct picked pick(struct vm *vm, const struct args *a) {
    struct py *at = NEW_ARRAY(vm->arena, struct py, a->n),
              *named = NEW_ARRAY(vm->arena, struct py, a->n_named);
    struct picked p = {0};
    for (uint32_t i = 0; i < a->n; i++) at[i] = all_rows(vm, &p, a->at[i]);
    for (uint32_t i = 0; i < a->n_named; i++) named[i] = all_rows(vm, &p, a->named[i]);
    p.all = (struct args){at, a->n, a->names, named, a->n_named};
    return p;
}

/* The operator on all rows; results are new tensors. */
static struct py apply(struct vm *vm, enum op op, const struct args *a) {
    struct builtin b = {.name = op_info(op)->name, .op = op};
    return tensor_op(vm, &b, a);
}

/* By what was made since the graph had `since` nodes, in a graph of its own: does `to` have a row
 * for each row of what is picked? */
static bool is_rowwise(struct vm *vm, const struct picked *p, node_id since, struct py to) {
    struct graph *g = vm_graph(vm), *own = graph_new(vm->arena, vm->ex, g->src);
    node_id *map = NEW_ARRAY(vm->arena, node_id, g->nodes.n), end = to.tensor->node;
    bool *known = NEW_ARRAY(vm->arena, bool, g->nodes.n);
    VEC(bool) rows = {0};
    for (node_id i = since; i <= end; i++)
        for (int k = 0; k < g->nodes.at[i].n_args; k++) {
            const node_id *at;
            for (int n = arg_nodes(&g->nodes.at[i].args[k], &at); n-- > 0;) {
                if (at[n] >= since || known[at[n]]) continue;
                bool picked = false;
                for (uint32_t j = 0; j < p->nodes.n; j++) picked |= p->nodes.at[j] == at[n];
                known[at[n]] = true;
                map[at[n]] = graph_input(own, "x", INPUT_ARG, "x", &g->nodes.at[at[n]].meta, 0);
                vec_push(vm->arena, &rows, picked);
            }
        }
    for (node_id i = since; i <= end; i++) map[i] = graph_copy(own, g, i, map);
    vec_push(vm->arena, &own->outputs, map[end]);
    return end >= since && graph_is_rowwise(graph_decompose(own), rows.at);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* The argument of that name; NULL if the operator has none. */
static const struct arg *argument(const struct node *n, const char *name) {
    const struct op_info *op = op_info(n->op);
    for (int i = 0; i < n->n_args; i++)
        if (!strcmp(op->params[i].name, name)) return &n->args[i];
    return NULL;
}

/* Does the operator reduce along the rows, perhaps among others? */
static bool reduces_rows(struct vm *vm, const struct node *n) {
    const struct arg *dim = argument(n, "dim");
    return dim ? arg_names_dim(vm->ex, dim, 0) : n->n_args == 1;
}

static struct py extreme(enum dtype t, bool low) {
    if (t == DT_BOOL) return py_bool(!low);
    if (dtype_is_float(t)) return py_float(low ? -INFINITY : INFINITY);
    return py_int(low ? int_least(t) : int_most(t));
}

/* What changes no result of a reduction. */
enum neutral { UNKNOWN, ZERO, ONE, LEAST, MOST, LEAST_FLOAT };
static const enum neutral neutrals[OP_COUNT] = {
    [OP_SUM] = ZERO,  [OP_NORM] = ZERO,
    [OP_ANY] = ZERO,  [OP_PROD] = ONE,
    [OP_ALL] = ONE,   [OP_AMAX] = LEAST,
    [OP_MAX] = LEAST, [OP_AMIN] = MOST,
    [OP_MIN] = MOST,  [OP_LOGSUMEXP] = LEAST_FLOAT,
};

/* UNSET: not known. */
static struct py neutral(enum op op, enum dtype t) {
    switch (neutrals[op]) {
    case ZERO: return t == DT_BOOL ? py_false : py_int(0);
    case ONE: return t == DT_BOOL ? py_true : py_int(1);
    case LEAST: return extreme(t, true);
    case MOST: return extreme(t, false);
    case LEAST_FLOAT: return dtype_is_float(t) ? py_float(-INFINITY) : py_unset;
    case UNKNOWN: break;
    }
    return py_unset;
}

/* What a reduction is told: dimensions, or None, and whether they stay, as of size 1. */
struct dims {
    const struct arg *which;
    struct py list, keep;
};

static struct dims dims_of(struct vm *vm, const struct node *n) {
    struct dims d = {.which = argument(n, "dim"), .list = py_none};
    d.keep = py_bool(argument(n, "keepdim")->b);
    if (d.which->kind == ARG_INTS && d.which->ints.n) {
        d.list = py_list(vm->arena, PY_TUPLE, NULL, 0);
        for (uint32_t i = 0; i < d.which->ints.n; i++)
            vec_push(vm->arena, d.list.list, py_int(ex_value(vm->ex, d.which->ints.at[i])));
    }
    return d;
}

/* How many elements of x are added up: of each row that counts, those of the other dimensions. */
static struct py count(struct vm *vm, const struct picked *p, struct py x, const struct dims *d) {
    const struct meta *m = tensor_meta(vm, x);
    ex others = ex_const(vm->ex, 1);
    for (int k = 1; k < m->rank; k++)
        if (arg_names_dim(vm->ex, d->which, k)) others = ex_mul(vm->ex, others, m->size[k]);
    enum dtype t = m->dtype;
    struct py rows = tensor_new(vm, p->of->rows), sum = tensor_call(vm, OP_SUM, &rows, 1);
    return call2(vm, OP_CAST, call2(vm, OP_MUL, sum, tensor_size(vm, others)), py_dtype(t));
}

static struct py sum(struct vm *vm, const struct picked *p, struct py x, const struct dims *d) {
    return call3(vm, OP_SUM, filled(vm, p->of, x, py_int(0)), d->list, d->keep);
}

static struct py mean(struct vm *vm, const struct picked *p, struct py x, const struct dims *d) {
    return call2(vm, OP_DIV, sum(vm, p, x, d), count(vm, p, x, d));
}

static struct py variance(struct vm *vm, const struct picked *p, struct py x, const struct dims *d,
                          const struct arg *correction) {
    struct dims kept = *d;
    kept.keep = py_true;
    struct py off = call2(vm, OP_SUB, x, mean(vm, p, x, &kept));
    struct py less =
        correction->kind == ARG_FLOAT ? py_float(correction->f) : tensor_size(vm, correction->i);
    return call2(vm, OP_DIV, sum(vm, p, call2(vm, OP_MUL, off, off), d),
                 call2(vm, OP_SUB, count(vm, p, x, d), less));
}

/* In f32 at least, rounded once. */
static bool average(struct vm *vm, const struct picked *p, const struct node *n, struct py *out) {
    enum dtype t = n->meta.dtype;
    if (n->op != OP_MEAN && n->op != OP_VAR && n->op != OP_STD) return false;
    struct dims d = dims_of(vm, n);
    struct py x = call2(vm, OP_CAST, p->all.at[0], py_dtype(dtype_opmath(t)));
    x = n->op == OP_MEAN ? mean(vm, p, x, &d) : variance(vm, p, x, &d, argument(n, "correction"));
    if (n->op == OP_STD) x = tensor_call(vm, OP_SQRT, &x, 1);
    *out = call2(vm, OP_CAST, x, py_dtype(t));
    return true;
}

/* The call with x as its first operand. */
static struct py apply_to(struct vm *vm, const struct picked *p, enum op op, struct py x) {
    struct args a = p->all;
    struct py *at = NEW_ARRAY(vm->arena, struct py, a.n);
    memcpy(at, a.at, a.n * sizeof *at);
    at[0] = x;
    a.at = at;
    return apply(vm, op, &a);
}

/* The least of 64-bit integers, as ~max(~x): kernels know no constant for the largest. */
static struct py least(struct vm *vm, const struct picked *p, enum op op, struct py x) {
    struct py not = tensor_call(vm, OP_BITWISE_NOT, &x, 1);
    not = filled(vm, p->of, not, extreme(DT_I64, true));
    struct py most = apply_to(vm, p, op == OP_MIN ? OP_MAX : OP_AMAX, not );
    return tensor_call(vm, OP_BITWISE_NOT, &most, 1);
}

static bool reduce(struct vm *vm, const struct picked *p, const struct node *n, struct py *out) {
    if (!p->all.n || p->all.at[0].kind != PY_TENSOR || !reduces_rows(vm, n)) return false;
    struct py x = p->all.at[0];
    enum dtype t = tensor_meta(vm, x)->dtype;
    if (average(vm, p, n, out)) return true;
    if (t == DT_I64 && (n->op == OP_MIN || n->op == OP_AMIN))
        return *out = least(vm, p, n->op, x), true;
    struct py value = neutral(n->op, t);
    if (value.kind == PY_UNSET) return false;
    *out = apply_to(vm, p, n->op, filled(vm, p->of, x, value));
    return true;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static const struct py *named(const struct args *a, const char *name) {
    for (uint32_t i = 0; i < a->n_named; i++)
        if (!strcmp(a->names[i], name)) return &a->named[i];
    return NULL;
}

/* Targets of rows that do not count are ignored, as others may be already. */
static struct args ignoring(struct vm *vm, const struct picked *p, struct py ignored) {
    bool by_name = p->all.n < 2;
    struct py target = by_name ? *named(&p->all, "target") : p->all.at[1];
    target = filled(vm, p->of, target, ignored);
    if (by_name) return args_with(vm, &p->all, "target", target);
    struct py *at = NEW_ARRAY(vm->arena, struct py, p->all.n);
    memcpy(at, p->all.at, p->all.n * sizeof *at);
    at[1] = target;
    struct args a = p->all;
    a.at = at;
    return a;
}

/* A loss with a reduction: without it, element by element, and then that one. */
static bool loss(struct vm *vm, const struct picked *p, const struct node *n, struct py *out) {
    const struct arg *reduction = argument(n, "reduction");
    if (!reduction || !strcmp(reduction->s, "none")) return false;
    bool classes = n->op == OP_CROSS_ENTROPY || n->op == OP_NLL_LOSS;
    if (classes && dtype_is_int(node_at(vm, n->args[1].node)->meta.dtype)) {
        struct py ignored = tensor_size(vm, argument(n, "ignore_index")->i);
        struct args a = ignoring(vm, p, ignored);
        return *out = apply(vm, n->op, &a), true;
    }
    bool is_mean = !strcmp(reduction->s, "mean");
    if (!is_mean && strcmp(reduction->s, "sum")) return false;
    struct args a = args_with(vm, &p->all, "reduction", py_str("none"));
    node_id since = vm_graph(vm)->nodes.n;
    struct py each = apply(vm, n->op, &a);
    if (!is_rowwise(vm, p, since, each)) return false;
    each = select(vm, each, p->of);
    *out = tensor_call(vm, is_mean ? OP_MEAN : OP_SUM, &each, 1);
    return true;
}

/* y.index_add(dim, i, v): rows that do not count add 0. */
static bool add_rows(struct vm *vm, enum op op, const struct args *a, struct picked *p,
                     struct py *out) {
    enum { SELF, DIM, INDEX, SOURCE, N };
    bool adds = op == OP_INDEX_ADD || op == OP_SCATTER_ADD;
    if (!adds || a->n < N || a->at[SELF].tensor->selected || !a->at[SOURCE].tensor->selected ||
        !a->at[INDEX].tensor->selected)
        return false;
    struct args all = p->all;
    struct py *at = NEW_ARRAY(vm->arena, struct py, all.n);
    memcpy(at, all.at, all.n * sizeof *at);
    at[SOURCE] = filled(vm, p->of, at[SOURCE], py_int(0));
    all.at = at;
    *out = apply(vm, op, &all);
    return true;
}

/* Does an operand lie along the rows that nobody has picked from it? They would have to be as many
 * as the mask happens to pick. */
static bool meets_rows(struct vm *vm, const struct args *a) {
    int picked = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        bool is = a->at[i].kind == PY_TENSOR && a->at[i].tensor->selected;
        int rank = is ? selected_meta(vm, a->at[i])->rank : 0;
        if (rank > picked) picked = rank;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->at[i].kind != PY_TENSOR || a->at[i].tensor->selected) continue;
        const struct meta *m = tensor_meta(vm, a->at[i]);
        if (picked && m->rank >= picked && m->size[m->rank - picked] != ex_const(vm->ex, 1))
            return true;
    }
    return false;
}

bool selected_op(struct vm *vm, const struct builtin *b, const struct args *a, struct py *out) {
    if (!any_selected(a->at, a->n) && !any_selected(a->named, a->n_named)) return false;
    struct picked p = pick(vm, a);
    if (add_rows(vm, b->op, a, &p, out)) return true;
    if (op_info(b->op)->class == POINTWISE && meets_rows(vm, a)) selected_refuse(vm);
    node_id since = vm_graph(vm)->nodes.n;
    struct py all = apply(vm, b->op, &p.all);
    struct node n = *node_at(vm, since); /* nodes that follow may move it */
    if (reduce(vm, &p, &n, out) || loss(vm, &p, &n, out)) return true;
    if (!op_is_like(b->op) && !is_rowwise(vm, &p, since, all)) selected_refuse(vm);
    bool looked_up = b->op == OP_INDEX && !a->at[0].tensor->selected;
    if (looked_up) all = filled(vm, p.of, all, harmless(tensor_meta(vm, all)->dtype));
    *out = select(vm, all, p.of);
    bool view = op_info(b->op)->class == VIEW && a->n && a->at[0].kind == PY_TENSOR;
    if (view && a->at[0].tensor->selected) part_of(vm, *out, a->at[0], py_unset);
    return true;
}

/* ---- subscripts ------------------------------------------------------------------------------ */

/* picked[:, 0] */
static struct py part(struct vm *vm, struct py x, struct py index) {
    struct picked p = pick(vm, &(struct args){.at = &x, .n = 1});
    node_id since = vm_graph(vm)->nodes.n;
    struct py out = tensor_subscript(vm, p.all.at[0], index);
    if (out.tensor->node < since) return x;
    if (!is_rowwise(vm, &p, since, out)) selected_refuse(vm);
    out = select(vm, out, p.of);
    part_of(vm, out, x, index);
    return out;
}

struct py selected_update(struct vm *vm, struct py x, struct py result) {
    struct selected_part *part = x.tensor->part;
    uint32_t version = x.tensor->version;
    enum dtype type = selected_meta(vm, x)->dtype;
    if (!result.tensor->selected || (part && part->index.kind == PY_UNSET)) selected_refuse(vm);
    if (selected_meta(vm, result)->dtype != type)
        result = call2(vm, OP_CAST, result, py_dtype(type));
    *x.tensor = *result.tensor;
    x.tensor->part = part;
    x.tensor->version = version + 1;
    if (!part) return x;
    part->at = part->of.tensor->version; /* it is no other view that makes it stale */
    selected_subscript_set(vm, part->of, part->index, x);
    part->at = part->of.tensor->version;
    return x;
}

/* By dimensions that all rows have alike: numbers, slices, None. */
static bool is_plain_index(struct py i) {
    bool plain = i.kind != PY_TENSOR;
    for (uint32_t k = 0; py_is_sequence(i) && k < i.list->n; k++)
        plain &= i.list->at[k].kind != PY_TENSOR && !py_is_sequence(i.list->at[k]);
    return plain && i.kind != PY_LIST;
}

void selected_subscript_set(struct vm *vm, struct py x, struct py i, struct py v) {
    struct py given[2] = {x, v};
    struct picked p = pick(vm, &(struct args){.at = given, .n = 2});
    if (!is_plain_index(i)) selected_refuse(vm);
    node_id since = vm_graph(vm)->nodes.n;
    struct py all = tensor_call(vm, OP_CLONE, &p.all.at[0], 1);
    tensor_subscript_set(vm, all, i, p.all.at[1]);
    struct py out = tensor_new(vm, tensor_node(vm, all));
    out.tensor->requires_grad = all.tensor->requires_grad;
    if (!is_rowwise(vm, &p, since, out)) selected_refuse(vm);
    selected_update(vm, x, select(vm, out, p.of));
}

/* x[mask, :] and x[mask, ...] are x[mask]. */
static struct py without_whole_dims(struct py index) {
    uint32_t n = index.kind == PY_TUPLE ? index.list->n : 0;
    for (; n > 1; n--) {
        struct py last = index.list->at[n - 1];
        bool whole = last.kind == PY_SLICE && last.slice->start.kind == PY_NONE &&
                     last.slice->stop.kind == PY_NONE && last.slice->step.kind == PY_NONE;
        if (!whole && last.kind != PY_ELLIPSIS) return index;
    }
    return n ? index.list->at[0] : index;
}

static struct py flat(struct vm *vm, struct py x) {
    struct py minus = py_int(-1);
    return call2(vm, OP_VIEW, x, py_list(vm->arena, PY_TUPLE, &minus, 1));
}

/* Looked up are the numbers of x's elements; those of rows that do not count become one too many,
 * which the result is without. */
static struct py set_places(struct vm *vm, struct py x, struct py at, struct py v) {
    struct py given[2] = {at, v};
    struct picked p = pick(vm, &(struct args){.at = given, .n = 2});
    struct meta m = *tensor_meta(vm, x);
    struct py n = tensor_size(vm, meta_numel(vm->ex, &m)), shape = tensor_sizes(vm, &m, 0);
    at = filled(vm, p.of, p.all.at[0], n);
    v = p.all.at[1];
    v = v.kind == PY_TENSOR ? call2(vm, OP_EXPAND_AS, v, at) : call2(vm, OP_FULL_LIKE, at, v);
    v = call2(vm, OP_CAST, v, py_dtype(m.dtype));
    struct py all = flat(vm, x), begin[5] = {all, py_int(0), py_int(0), py_int(1), py_int(1)};
    struct py both[2] = {all, tensor_call(vm, OP_SLICE, begin, 5)};
    struct py longer = call2(vm, OP_CAT, py_list(vm->arena, PY_LIST, both, 2), py_int(0));
    struct py args[4] = {longer, py_int(0), flat(vm, at), flat(vm, v)};
    struct py set[5] = {tensor_call(vm, OP_SCATTER, args, 4), py_int(0), py_int(0), n, py_int(1)};
    return call2(vm, OP_VIEW, tensor_call(vm, OP_SLICE, set, 5), shape);
}

bool selected_places_set(struct vm *vm, struct py x, struct py *index, struct py v) {
    struct py i = without_whole_dims(*index);
    const struct list one = {.at = &i, .n = 1}, *parts = i.kind == PY_TUPLE ? i.list : &one;
    if (!any_selected(parts->at, parts->n)) return false;
    struct py mask = mask_of_places(vm, x, i);
    if (mask.kind == PY_TENSOR && !mask.tensor->selected) return *index = mask, false;
    struct meta m = *tensor_meta(vm, x);
    struct py bounds[4] = {py_int(0), tensor_size(vm, meta_numel(vm->ex, &m)), py_int(1),
                           py_dtype(DT_I64)};
    struct py numbers =
        call2(vm, OP_VIEW, tensor_call(vm, OP_ARANGE, bounds, 4), tensor_sizes(vm, &m, 0));
    struct py at = tensor_subscript(vm, numbers, i);
    if (!at.tensor->selected) selected_refuse(vm);
    tensor_assign(vm, x, set_places(vm, x, at, v));
    return true;
}

bool selected_subscript(struct vm *vm, struct py x, struct py index, struct py *out) {
    if (x.tensor->selected) return *out = part(vm, x, index), true;
    struct py mask = mask_of_places(vm, x, without_whole_dims(index));
    if (tensor_is_eager(vm, x) || !is_mask(vm, mask) ||
        !has_rows_for(vm, tensor_meta(vm, x), tensor_meta(vm, mask)))
        return false;
    if (mask_is_constant(vm, mask)) return false; /* it takes known rows */
    struct selection *s = NEW(vm->arena, struct selection);
    int rank = tensor_meta(vm, mask)->rank;
    struct py all = rows_of(vm, x, rank);
    s->mask = tensor_node(vm, mask);
    s->rows = tensor_node(vm, rows_of(vm, mask, rank));
    *out = select(vm, filled(vm, s, all, harmless(tensor_meta(vm, x)->dtype)), s);
    return true;
}
