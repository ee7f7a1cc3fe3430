/* graph_rows.c: a captured graph as plain data of Python, for a backend that is a function of the
 * program.
 *
 *   %mul: f32[8, 4] = mul(%x, 2)    ->    ("call_function", "mul", torch.mul, [(0,), 2], {},
 * torch.float32, [8, 4], "f.py:3, code: y = x * 2")
 *
 * (0,) stands for row 0. Symbolic sizes come first, as inputs of their own; what is computed of
 * them has rows, whose target is the name of a function of operator. prelude/torch_fx.py makes a
 * GraphModule of the rows. */
#include <string.h>

#include "capture/dynamo.h"
#include "graph/autograd.h"

struct rows {
    struct vm *vm;
    const struct graph *g;
    struct list *out;
    uint32_t *of_node; /* the row of each */
    ex *symbols;
    uint32_t n_symbols;
    struct map of_expr; /* ex -> row */
};

static struct py reference(struct rows *r, uint32_t row) {
    struct py i = py_int(row);
    return py_list(r->vm->arena, PY_TUPLE, &i, 1);
}

static uint32_t put_row(struct rows *r, const char *op, const char *name, struct py target,
                        struct py args, struct py kwargs, const struct meta *m, const char *where) {
    struct arena *a = r->vm->arena;
    struct py shape = py_none;
    if (m) shape = py_list(a, PY_LIST, NULL, 0);
    for (int i = 0; m && i < m->rank; i++) {
        int64_t size;
        bool known = ex_is_const(r->g->ex, m->size[i], &size);
        vec_push(a, shape.list, known ? py_int(size) : py_str(ex_str(a, r->g->ex, m->size[i])));
    }
    struct py row[] = {py_str(op), py_str(name), target,
                       args,       kwargs,       m ? py_dtype(m->dtype) : py_none,
                       shape,      py_str(where)};
    vec_push(a, r->out, py_list(a, PY_TUPLE, row, sizeof row / sizeof *row));
    return r->out->n - 1;
}

static struct py no_items(struct vm *vm) { return py_list(vm->arena, PY_LIST, NULL, 0); }

static const char *function_of(enum ex_kind k) {
    switch (k) {
    case EX_ADD: return "add";
    case EX_MUL: return "mul";
    case EX_DIV: return "floordiv";
    case EX_MOD: return "mod";
    case EX_MIN: return "min";
    case EX_MAX: return "max";
    default: return NULL;
    }
}

static struct py number(struct rows *r, ex e) {
    int64_t v;
    uint64_t row;
    if (ex_is_const(r->g->ex, e, &v)) return py_int(v);
    for (uint32_t i = 0; i < r->n_symbols; i++)
        if (r->symbols[i] == e) return reference(r, i);
    if (map_get(&r->of_expr, &e, sizeof e, &row)) return reference(r, (uint32_t)row);
    vm_deep(r->vm);
    const char *f = function_of(ex_kind(r->g->ex, e));
    if (!f)
        vm_refuse(r->vm, "a size such as %s is not supported in a backend of the program",
                  ex_str(r->vm->arena, r->g->ex, e));
    struct py args = no_items(r->vm);
    vec_push(r->vm->arena, args.list, number(r, ex_lhs(r->g->ex, e)));
    vec_push(r->vm->arena, args.list, number(r, ex_rhs(r->g->ex, e)));
    const char *name = arena_printf(r->vm->arena, "size_%u", r->out->n);
    row = put_row(r, "call_function", name, py_str(f), args, py_dict(r->vm->arena, PY_DICT), NULL,
                  "");
    map_put(&r->of_expr, &e, sizeof e, row);
    return reference(r, (uint32_t)row);
}

static struct py value(struct rows *r, const struct arg *a) {
    struct py out = no_items(r->vm);
    switch (a->kind) {
    case ARG_NONE: return py_none;
    case ARG_NODE: return reference(r, r->of_node[a->node]);
    case ARG_NODES:
        for (uint32_t i = 0; i < a->nodes.n; i++)
            vec_push(r->vm->arena, out.list, reference(r, r->of_node[a->nodes.at[i]]));
        return out;
    case ARG_INT: return number(r, a->i);
    case ARG_INTS:
        for (uint32_t i = 0; i < a->ints.n; i++)
            vec_push(r->vm->arena, out.list, number(r, a->ints.at[i]));
        return out;
    case ARG_FLOAT: return py_float(a->f);
    case ARG_BOOL: return py_bool(a->b);
    case ARG_DTYPE: return py_dtype(a->dtype);
    case ARG_STR: return py_str(a->s);
    case ARG_GRAPH: break;
    }
    WS_BUG("an argument of no kind");
}

/* "torch.mul", or "Tensor.to" of what has no function. */
static struct py function(struct rows *r, enum op op) {
    const struct op_info *info = op_info(op);
    struct builtin *b = NEW(r->vm->arena, struct builtin);
    size_t n = strcspn(info->python, " ");
    *b = (struct builtin){.op = op,
                          .name = n ? arena_strndup(r->vm->arena, info->python, n)
                                    : arena_printf(r->vm->arena, "aten.%s", info->name)};
    return py_pointer(PY_BUILTIN, b);
}

/* Which stream a random tensor is of is not told: another call draws other numbers. */
static bool is_told(const struct op_info *op, int i) {
    return op->class != CREATE || strcmp(op->params[i].name, "index") != 0;
}

static void put_call(struct rows *r, node_id n) {
    const struct node *node = &r->g->nodes.at[n];
    const struct op_info *op = op_info(node->op);
    struct py args = no_items(r->vm), kwargs = py_dict(r->vm->arena, PY_DICT);
    int told = node->n_args;
    while (told && graph_is_default(r->g, &op->params[told - 1], &node->args[told - 1])) told--;
    bool named = false;
    for (int i = 0; i < told; i++) {
        if (!is_told(op, i)) {
            named = true;
            continue;
        }
        struct py v = value(r, &node->args[i]);
        if (named)
            dict_puts(r->vm->arena, kwargs.dict, op->params[i].name, v);
        else
            vec_push(r->vm->arena, args.list, v);
    }
    struct buf where = buf_new(r->vm->arena);
    graph_print_place(&where, r->g, node->where);
    r->of_node[n] = put_row(r, "call_function", node->name, function(r, node->op), args, kwargs,
                            &node->meta, where.p);
}

struct py graph_rows(struct vm *vm, const struct graph *g, const struct symbol *symbols,
                     uint32_t n) {
    struct py none = py_dict(vm->arena, PY_DICT), all = no_items(vm);
    struct rows r = {.vm = vm, .g = g, .out = all.list, .of_expr = map_new(vm->arena)};
    r.of_node = NEW_ARRAY(vm->arena, uint32_t, g->nodes.n);
    r.symbols = NEW_ARRAY(vm->arena, ex, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = ex_symbol(g->ex, symbols[i].ex)->name;
        r.symbols[i] = symbols[i].ex;
        put_row(&r, "placeholder", name, py_str(name), no_items(vm), none, NULL, "");
        r.n_symbols = i + 1;
    }
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        const struct graph_input *in = &g->inputs.at[i];
        const char *name = graph_readable_name(g, in);
        r.of_node[in->node] = put_row(&r, "placeholder", name, py_str(name), no_items(vm), none,
                                      &g->nodes.at[in->node].meta, "");
    }
    for (node_id i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op != OP_INPUT) put_call(&r, i);
    struct py outputs = no_items(vm), args = no_items(vm);
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(vm->arena, outputs.list, reference(&r, r.of_node[g->outputs.at[i]]));
    vec_push(vm->arena, args.list, outputs);
    put_row(&r, "output", "output", py_str("output"), args, none, NULL, "");
    return all;
}

/* -- after AOTAutograd --------------------------------------------------------------------- */

static struct graph *in_primitives(struct graph *g) {
    return graph_simplify(graph_decompose(graph_simplify(g)));
}

/* The gradients alone, of the inputs that want one; what of the forward they need is computed
 * again. */
static struct graph *gradients_of(struct vm *vm, const struct entry *e, const bool *wants) {
    uint32_t n = 0;
    struct diag d = diag_new(vm->arena);
    struct graph *g = graph_backward(e->graph, wants, &d);
    if (!g) vm_raise(vm, EXC_RuntimeError, "%s", d.message);
    for (uint32_t i = 0; i < e->graph->inputs.n; i++) n += wants[i];
    memmove(g->outputs.at, g->outputs.at + (g->outputs.n - n), n * sizeof *g->outputs.at);
    g->outputs.n = n;
    return in_primitives(graph_prune(g));
}

struct py graph_aot_rows(struct vm *vm, const struct entry *e) {
    struct py out[] = {py_none, py_none, no_items(vm), no_items(vm), no_items(vm)};
    bool *wants = NEW_ARRAY(vm->arena, bool, e->graph->inputs.n), any = false;
    if (e->n_random)
        vm_raise(vm, EXC_RuntimeError,
                 "AOTAutograd of a graph that draws random numbers is not supported");
    for (uint32_t i = 0; i < e->graph->inputs.n; i++) {
        wants[i] = e->tensors[e->inputs[i]].requires_grad;
        vec_push(vm->arena, out[3].list, py_bool(wants[i]));
    }
    for (uint32_t i = 0; i < e->n_outputs; i++) {
        any |= e->has_gradient[i];
        vec_push(vm->arena, out[4].list, py_bool(e->has_gradient[i]));
    }
    out[0] = graph_rows(vm, in_primitives(e->graph), e->symbols, e->n_symbols);
    struct graph *g = any && e->grad_enabled ? gradients_of(vm, e, wants) : NULL;
    if (g) out[1] = graph_rows(vm, g, e->symbols, e->n_symbols);
    for (uint32_t i = 0; g && i < g->inputs.n; i++)
        vec_push(vm->arena, out[2].list, py_int(g->inputs.at[i].init));
    return py_list(vm->arena, PY_TUPLE, out, sizeof out / sizeof *out);
}
