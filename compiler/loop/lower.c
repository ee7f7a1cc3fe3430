/* lower.c: graph -> loop nests.
 *
 *   %m: f32[8, 1] = amax(%x, dim=(1,), keepdim=True)      b1[i0: 8] = f32 m, reduce r0: 4
 *   %s: f32[8, 4] = sub(%x, %m)                               v0 = load b0[i0, r0] ...
 *                                                         b2[i0: 8, i1: 4] = f32 s
 *                                                             v0 = load b0[i0, i1]
 *                                                             v1 = load b1[i0, 0]; sub
 *
 * Each node has an *access*: the buffer that holds it and, given the node's own multi-index, the
 * index into that buffer. A view changes the access only; nothing is copied. A CREATE node is
 * inlined into its readers.
 *
 * Needs: decomposed graph (G1..G6). */
#include "graph/traits.h"
#include "loop/lower_impl.h"

#include <ctype.h>

static const char *identifier(struct arena *a, const char *name) {
    char *s = arena_strdup(a, name);
    for (char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    return s;
}

buffer_id add_buffer(struct lowering *w, enum buffer_kind kind, int index, node_id node) {
    struct buffer b = {
        .kind = kind, .index = index, .meta = w->g->nodes.at[node].meta, .node = node + 1};
    if (kind != BUFFER_INPUT) meta_contiguous(w->l->ex, &b.meta);
    b.name = arena_printf(w->l->arena, "b%u", w->l->buffers.n);
    vec_push(w->l->arena, &w->l->buffers, b);
    return w->l->buffers.n - 1;
}

inst_id add_inst(struct lowering *w, struct nest *n, struct inst i) {
    vec_push(w->l->arena, &n->insts, i);
    return n->insts.n - 1;
}

static double rounded(enum dtype t, double v) {
    double cell;
    if (!dtype_is_float(t)) return v;
    dtype_store(t, &cell, 0, v);
    return dtype_load(t, &cell, 0);
}

/* Rounded to t. */
inst_id add_const(struct lowering *w, struct nest *n, double v, enum dtype t) {
    struct inst i = {.kind = INST_CONST, .value = rounded(t, v), .dtype = t};
    if (!dtype_is_float(t)) {
        i.whole = int_of_double(t, v);
        i.value = (double)i.whole;
    }
    return add_inst(w, n, i);
}

inst_id add_op(struct lowering *w, struct nest *n, enum op op, enum dtype t, inst_id a, inst_id b,
               inst_id c) {
    struct inst i = {.kind = INST_OP, .op = op, .dtype = t};
    const inst_id args[] = {a, b, c};
    for (int k = 0; k < 3 && args[k] != NO_INST; k++) i.args[i.n_args++] = args[k];
    return add_inst(w, n, i);
}

/* Wrapped to t, or as t, a float, holds it. */
static inst_id add_integer(struct lowering *w, struct nest *n, int64_t v, enum dtype t) {
    if (dtype_is_float(t)) return add_const(w, n, (double)v, t);
    int64_t whole = int_wrap(t, v);
    struct inst i = {.kind = INST_CONST, .value = (double)whole, .whole = whole, .dtype = t};
    return add_inst(w, n, i);
}

/* ---- views: index of the view -> index of what it views -------------------------------------- */

/* The number of the element at `index` among those of dimensions first .. end-1, row-major. */
static ex flat_index(struct exprs *p, const struct meta *m, int first, int end, const ex *index) {
    ex flat = ex_const(p, 0);
    for (int k = first; k < end; k++) flat = ex_add(p, ex_mul(p, flat, m->size[k]), index[k]);
    return flat;
}

static ex row_major(struct exprs *p, const struct meta *m, const ex *index) {
    return flat_index(p, m, 0, m->rank, index);
}

/* Dimensions first .. end-1 of the index whose number is `flat`. */
static void split_index(struct exprs *p, ex flat, const struct meta *to, int first, int end,
                        ex *out) {
    ex below = ex_const(p, 1);
    for (int k = end - 1; k >= first; k--) {
        ex q = ex_div(p, flat, below);
        out[k] = is_one(p, to->size[k]) ? ex_const(p, 0)
                 : k == first           ? q
                                        : ex_mod(p, q, to->size[k]);
        below = ex_mul(p, below, to->size[k]);
    }
}

/* Row-major reinterpretation: flatten `index` over `from`, split over `to`, a run of dimensions
 * after the other that hold as many elements. So a position that only its guard keeps inside, as a
 * window's, stays one where its dimension does. None is empty: decompose has made empty tensors
 * constants. */
static void reshape_index(struct exprs *p, const struct meta *from, const ex *index,
                          const struct meta *to, ex *out) {
    for (int f = from->rank, t = to->rank; t;) {
        int f_end = f, t_end = t--;
        ex held = to->size[t], seen = ex_const(p, 1);
        while (seen != held && (f || t)) {
            if (f && (!t || ex_hint(p, seen) <= ex_hint(p, held)))
                seen = ex_mul(p, seen, from->size[--f]);
            else
                held = ex_mul(p, held, to->size[--t]);
        }
        split_index(p, flat_index(p, from, f, f_end, index), to, t, t_end, out);
    }
}

void view_index(struct lowering *w, const struct node *n, ex *index) {
    struct exprs *p = w->l->ex;
    const struct meta *from = &n->meta, *to = &w->g->nodes.at[n->args[0].node].meta;
    ex out[WS_MAX_RANK];
    switch (op_view(n->op)) {
    case VIEW_VIEW: reshape_index(p, from, index, to, out); break;
    case VIEW_PERMUTE:
        for (int k = 0; k < from->rank; k++) out[ex_value(p, n->args[1].ints.at[k])] = index[k];
        break;
    case VIEW_EXPAND:
        for (int k = 0; k < to->rank; k++)
            out[k] = is_one(p, to->size[k]) ? ex_const(p, 0) : index[k + from->rank - to->rank];
        break;
    case VIEW_SLICE:
        for (int k = 0; k < to->rank; k++) out[k] = index[k];
        {
            int64_t dim = ex_value(p, n->args[1].i);
            out[dim] = ex_add(p, n->args[2].i, ex_mul(p, index[dim], n->args[4].i));
        }
        break;
    case VIEW_UNSQUEEZE: {
        int64_t dim = ex_value(p, n->args[1].i);
        for (int k = 0; k < to->rank; k++) out[k] = index[k < dim ? k : k + 1];
        break;
    }
    case VIEW_SQUEEZE: {
        int64_t dim = ex_value(p, n->args[1].i);
        bool gone = from->rank < to->rank; /* squeezing a dimension that is not 1 changes nothing */
        for (int k = 0; k < to->rank; k++)
            out[k] = gone && k == dim ? ex_const(p, 0) : index[gone && k > dim ? k - 1 : k];
        break;
    }
    }
    memcpy(index, out, sizeof(ex) * to->rank);
}

/* ---- reading a node inside a nest ------------------------------------------------------------ */

inst_id add_cast(struct lowering *w, struct nest *n, inst_id v, enum dtype t, bool rounds) {
    bool narrow = dtype_is_float(t) && (dtype_opmath(t) != t || w->g->in_doubles) &&
                  n->insts.at[v].dtype != t;
    return add_inst(
        w, n,
        (struct inst){
            .kind = INST_CAST, .dtype = t, .rounds = rounds && narrow, .n_args = 1, .args = {v}});
}

/* Element `index` of a random tensor: a function of its number in row-major order. */
static inst_id read_random(struct lowering *w, struct nest *n, const struct node *c,
                           const ex *index) {
    struct exprs *p = w->l->ex;
    enum dtype t = c->meta.dtype, math = dtype_opmath(t);
    ex flat = row_major(p, &c->meta, index);
    struct inst number = {.kind = INST_INDEX, .dtype = DT_I64, .n_index = 1, .index = {flat}};
    struct inst draw = {.kind = INST_OP, .op = c->op, .dtype = math, .n_args = 3};
    draw.args[0] = add_inst(w, n, number);
    struct inst stream =
        number; /* its number may be symbolic: a program that is run again draws anew */
    stream.index[0] = c->args[1].i;
    draw.args[1] = ex_is_const(p, c->args[1].i, NULL)
                       ? add_integer(w, n, ex_value(p, c->args[1].i), DT_I64)
                       : add_inst(w, n, stream);
    draw.args[2] = add_integer(w, n, (int64_t)w->g->seed, DT_I64);
    inst_id v = add_inst(w, n, draw);
    return t == math ? v : add_cast(w, n, v, t, true);
}

static bool is_number(const struct exprs *p, const struct arg *a) {
    return a->kind != ARG_INT || ex_is_const(p, a->i, NULL);
}
static double number_of(const struct exprs *p, const struct arg *a) {
    return a->kind == ARG_INT ? (double)ex_value(p, a->i) : a->kind == ARG_FLOAT ? a->f : a->b;
}

/* start + number * step in doubles, as PyTorch works it out. */
static inst_id read_steps(struct lowering *w, struct nest *n, const struct node *c,
                          struct inst number) {
    double start = number_of(w->l->ex, &c->args[0]), step = number_of(w->l->ex, &c->args[2]);
    number.dtype = DT_F64;
    inst_id k = add_inst(w, n, number), by = add_const(w, n, step, DT_F64);
    inst_id way = add_op(w, n, OP_MUL, DT_F64, k, by, NO_INST);
    inst_id from = add_const(w, n, start, DT_F64);
    return add_cast(w, n, add_op(w, n, OP_ADD, DT_F64, from, way, NO_INST), c->meta.dtype, true);
}

static inst_id read_created(struct lowering *w, struct nest *n, const struct node *c,
                            const ex *index) {
    struct exprs *p = w->l->ex;
    if (c->op == OP_FULL) {
        const struct arg *v = &c->args[1];
        if (v->kind == ARG_INT && !ex_is_const(p, v->i, NULL))
            return add_inst(
                w, n,
                (struct inst){
                    .kind = INST_INDEX, .dtype = c->meta.dtype, .n_index = 1, .index = {v->i}});
        if (v->kind == ARG_INT) return add_integer(w, n, ex_value(p, v->i), c->meta.dtype);
        return add_const(w, n, number_of(p, v), c->meta.dtype);
    }
    if (c->op == OP_RAND || c->op == OP_RANDN) return read_random(w, n, c, index);
    if (c->op == OP_ARANGE) {
        bool whole = c->args[0].kind == ARG_INT && c->args[2].kind == ARG_INT;
        struct inst i = {.kind = INST_INDEX, .dtype = c->meta.dtype, .n_index = 1};
        i.index[0] = whole ? ex_add(p, c->args[0].i, ex_mul(p, index[0], c->args[2].i)) : index[0];
        if (whole) return add_inst(w, n, i);
        if (is_number(p, &c->args[0]) && is_number(p, &c->args[2])) return read_steps(w, n, c, i);
    }
    diag_fail_at(w->d, WS_WRONG, w->g->src, c->where, "%s inside a compiled graph is not supported",
                 op_info(c->op)->name);
    return add_const(w, n, 0, c->meta.dtype);
}

node_id behind_views(struct lowering *w, node_id id, ex *index) {
    for (const struct node *x; (x = &w->g->nodes.at[id], op_info(x->op)->class == VIEW);) {
        view_index(w, x, index);
        id = x->args[0].node;
    }
    return id;
}

inst_id read_node(struct lowering *w, struct nest *n, node_id id, const ex *at, inst_id guard) {
    ex index[WS_MAX_RANK] = {0};
    const struct node *x = &w->g->nodes.at[id];
    enum dtype t = x->meta.dtype;
    memcpy(index, at, sizeof(ex) * x->meta.rank);
    id = behind_views(w, id, index);
    x = &w->g->nodes.at[id];
    if (op_info(x->op)->class == CREATE) return read_created(w, n, x, index);
    WS_ASSERT(w->has_buffer[id]);
    struct inst i = {
        .kind = INST_LOAD, .dtype = t, .buffer = w->buffer_of[id], .n_index = x->meta.rank};
    memcpy(i.index, index, sizeof(ex) * x->meta.rank);
    if (guard != NO_INST) {
        i.guarded = true;
        i.args[i.n_args++] = guard;
    }
    return add_inst(w, n, i);
}

void broadcast_index(struct exprs *p, const struct meta *operand, const ex *index, int rank,
                     ex *out) {
    for (int k = 0; k < operand->rank; k++)
        out[k] = is_one(p, operand->size[k]) ? ex_const(p, 0) : index[k + rank - operand->rank];
}

/* ---- one node, one nest ---------------------------------------------------------------------- */

struct nest begin_nest(struct lowering *w, node_id id) {
    const struct node *x = &w->g->nodes.at[id];
    struct exprs *p = w->l->ex;
    struct nest n = {.name = identifier(w->l->arena, x->name),
                     .origin = x->origin,
                     .where = x->where,
                     .epoch = w->epoch,
                     .chain = id < w->g->chain.n ? w->g->chain.at[id] : 0};
    for (int k = 0; k < x->meta.rank; k++) {
        if (is_one(p, x->meta.size[k])) {
            n.out_index[k] = ex_const(p, 0);
        } else {
            n.out_index[k] =
                ex_index(p, arena_printf(w->l->arena, "i%d", n.n_axes), x->meta.size[k]);
            n.axes[n.n_axes++] = n.out_index[k];
        }
    }
    return n;
}

void end_nest(struct lowering *w, struct nest *n, node_id id) {
    n->out = add_buffer(w, BUFFER_TEMP, 0, id);
    w->buffer_of[id] = n->out;
    w->has_buffer[id] = true;
    vec_push(w->l->arena, &w->l->nests, *n);
}

/* A float in the text of the graph, as `own`, the type of its operator; in doubles as the
 * interpreter has it, which keeps its digits but where the least difference decides. */
static inst_id read_number(struct lowering *w, struct nest *n, enum op op, double v, enum dtype own,
                           enum dtype t) {
    bool compares = op_info(op)->dtype == RULE_BOOL;
    bool divides = op == OP_FMOD || op == OP_REMAINDER || op == OP_FLOOR_DIVIDE;
    if (!w->g->in_doubles || compares) return add_const(w, n, rounded(own, v), t);
    if (divides) v = rounded(dtype_opmath(own), v);
    return add_inst(w, n, (struct inst){.kind = INST_CONST, .value = v, .dtype = t});
}

/* An argument of a pointwise operator: a tensor read at the nest's index, or a number, which has
 * the type of what it is compared with, and else that of the maths: bf16 x times 0.3 is not x times
 * the nearest of bf16. */
static inst_id read_operand(struct lowering *w, struct nest *n, const struct node *x,
                            const struct arg *a, enum dtype t) {
    bool compares = op_info(x->op)->dtype == RULE_BOOL;
    enum dtype own = compares ? graph_common_dtype((struct graph *)w->g, x) : t;
    struct exprs *p = w->l->ex;
    if (a->kind == ARG_NODE) {
        ex index[WS_MAX_RANK] = {0};
        broadcast_index(p, &w->g->nodes.at[a->node].meta, n->out_index, x->meta.rank, index);
        return read_node(w, n, a->node, index, NO_INST);
    }
    if (dtype_is_float(t) && !compares) own = t = dtype_opmath(t);
    if (a->kind == ARG_FLOAT && dtype_is_float(t)) return read_number(w, n, x->op, a->f, own, t);
    if (a->kind == ARG_FLOAT) return add_const(w, n, rounded(own, a->f), t);
    if (a->kind == ARG_BOOL) return add_const(w, n, a->b, t);
    WS_ASSERT(a->kind == ARG_INT);
    int64_t v;
    if (!ex_is_const(p, a->i, &v))
        return add_inst(
            w, n, (struct inst){.kind = INST_INDEX, .dtype = t, .n_index = 1, .index = {a->i}});
    return dtype_is_float(own) ? read_number(w, n, x->op, (double)v, own, t)
                               : add_integer(w, n, int_wrap(own, v), t);
}

/* The type that a pointwise operator computes in: that of its result, or for comparisons the common
 * one of its operands, numbers included: a bool tensor is compared with 2 as integers. */
static enum dtype compute_dtype(struct lowering *w, const struct node *x) {
    bool compares = op_info(x->op)->dtype == RULE_BOOL;
    return compares ? graph_compute_dtype((struct graph *)w->g, x) : x->meta.dtype;
}

inst_id convert(struct lowering *w, struct nest *n, inst_id v, enum dtype t) {
    if (dtype_is_narrow(t) && !dtype_holds(t, n->insts.at[v].dtype))
        return add_cast(w, n, v, t, false);
    if (dtype_opmath(n->insts.at[v].dtype) == dtype_opmath(t)) return v;
    return add_cast(w, n, v, dtype_opmath(t), false);
}

/* Whether x compares with a number that the type of its operands does not hold. */
static bool has_rounded_number(const struct node *x, enum dtype own) {
    for (int k = 0; k < x->n_args; k++)
        if (x->args[k].kind == ARG_FLOAT && rounded(own, x->args[k].f) != x->args[k].f) return true;
    return false;
}

/* What is compared with a number has its own type then, too, though it was not stored: f16 x + 0.1
 * equals 0.1 where x is 0. */
static inst_id as_compared(struct lowering *w, struct nest *n, const struct node *x, inst_id v) {
    if (!op_compares(x->op) || w->g->in_doubles) return v;
    enum dtype own = graph_common_dtype((struct graph *)w->g, x);
    bool rounds = dtype_is_float(own) && dtype_opmath(own) != own && has_rounded_number(x, own);
    struct inst i = {.kind = INST_CAST, .dtype = own, .rounds = true, .n_args = 1, .args = {v}};
    const struct inst *of = &n->insts.at[v];
    bool is_own = of->kind == INST_CAST && of->rounds;
    return rounds && of->dtype == own && !is_own ? add_inst(w, n, i) : v;
}

static void lower_pointwise(struct lowering *w, node_id id) {
    const struct node *x = &w->g->nodes.at[id];
    struct nest n = begin_nest(w, id);
    if (x->op == OP_CAST || x->op == OP_CONVERT) {
        inst_id v = read_operand(w, &n, x, &x->args[0], x->meta.dtype);
        add_cast(w, &n, v, x->meta.dtype, x->op == OP_CAST);
        end_nest(w, &n, id);
        return;
    }
    enum dtype t = compute_dtype(w, x);
    struct inst i = {.kind = INST_OP, .op = x->op, .dtype = x->meta.dtype};
    int n_operands = x->n_args;
    if (x->op == OP_ADD || x->op == OP_SUB) n_operands = 2; /* alpha is 1 */
    for (int k = 0; k < n_operands; k++) {
        bool condition = k < op_first_number(x->op);
        inst_id v = read_operand(w, &n, x, &x->args[k], t);
        if (x->args[k].kind == ARG_NODE) v = as_compared(w, &n, x, v);
        i.args[i.n_args++] = condition ? v : convert(w, &n, v, t);
    }
    add_inst(w, &n, i);
    end_nest(w, &n, id);
}

/* True + True is True, so a sum of bools asks whether any is set, and their product whether all
 * are. A scan adds and multiplies them. */
static enum reduction reduction_of(enum op op, enum dtype t) {
    bool asks = t == DT_BOOL && op_info(op)->class == REDUCE;
    switch (op_fold(op)) {
    case FOLD_SUM: return asks ? REDUCTION_AMAX : REDUCTION_SUM;
    case FOLD_PROD: return asks ? REDUCTION_AMIN : REDUCTION_PROD;
    case FOLD_AMAX: return REDUCTION_AMAX;
    case FOLD_AMIN: return REDUCTION_AMIN;
    case FOLD_M2: return REDUCTION_M2;
    case FOLD_EXPSUM: return REDUCTION_EXPSUM;
    case FOLD_ARGMAX: return REDUCTION_ARGMAX;
    case FOLD_ARGMIN: return REDUCTION_ARGMIN;
    case FOLD_NONE:
    case FOLD_COUNT: break;
    }
    WS_BUG("%s is not a reduction", op_info(op)->name);
}

/* Which dimensions of a tensor of this rank a dim argument names; None or empty means all. */
static uint32_t dims_mask(struct exprs *p, const struct arg *dim, int rank) {
    if (dim->kind == ARG_INT) return 1u << ex_value(p, dim->i);
    uint32_t m = 0;
    if (dim->kind == ARG_INTS)
        for (uint32_t k = 0; k < dim->ints.n; k++) m |= 1u << ex_value(p, dim->ints.at[k]);
    return m ? m : (1u << rank) - 1;
}

/* The number of an element along the reduced dimensions, row-major. */
static inst_id number_along(struct lowering *w, struct nest *n) {
    struct exprs *p = w->l->ex;
    struct inst i = {.kind = INST_INDEX, .dtype = DT_I64, .n_index = 1, .index = {ex_const(p, 0)}};
    for (int k = 0; k < n->n_reduce; k++)
        i.index[0] =
            ex_add(p, ex_mul(p, i.index[0], ex_symbol(p, n->reduce[k])->bound), n->reduce[k]);
    return add_inst(w, n, i);
}

/* Of a row of one element v: v - v is 0 or nan; so is its m2, and its expsum the exponential. */
static void add_own_deviation(struct lowering *w, struct nest *n, enum op op, inst_id v,
                              enum dtype t) {
    inst_id d = add_inst(
        w, n,
        (struct inst){.kind = INST_OP, .op = OP_SUB, .dtype = t, .n_args = 2, .args = {v, v}});
    if (op == OP_EXPSUM)
        add_inst(
            w, n,
            (struct inst){.kind = INST_OP, .op = OP_EXP, .dtype = t, .n_args = 1, .args = {d}});
}

/* The last instruction of nest n, whose operand is v. Every reduced dimension may have size 1: then
 * it is a copy, and where the one element is needs no search. */
static void add_reduction(struct lowering *w, struct nest *n, const struct node *x, inst_id v) {
    enum dtype t = x->meta.dtype;
    struct inst i = {.kind = INST_REDUCE, .reduction = reduction_of(x->op, t), .dtype = t};
    if (!reduction_of_pairs(i.reduction)) {
        i.args[i.n_args++] = convert(w, n, v, t);
        if (n->n_reduce)
            add_inst(w, n, i);
        else if (!reduction_of_values(i.reduction))
            add_own_deviation(w, n, x->op, i.args[0], t);
        return;
    }
    if (!n->n_reduce) {
        add_const(w, n, 0, t);
        return;
    }
    enum dtype own = n->insts.at[v].dtype;
    i.args[i.n_args++] = convert(w, n, v, own == DT_BOOL ? DT_I32 : own);
    i.args[i.n_args++] = number_along(w, n);
    add_inst(w, n, i);
}

static void lower_reduction(struct lowering *w, node_id id) {
    const struct node *x = &w->g->nodes.at[id];
    struct exprs *p = w->l->ex;
    const struct meta *m = &w->g->nodes.at[x->args[0].node].meta;
    struct nest n = begin_nest(w, id);
    uint32_t reduced = dims_mask(p, &x->args[1], m->rank);
    bool keepdim = x->n_args > 2 && x->args[2].kind == ARG_BOOL && x->args[2].b;
    ex index[WS_MAX_RANK] = {0};
    for (int k = 0, o = 0; k < m->rank; k++) {
        if (!(reduced >> k & 1)) {
            index[k] = n.out_index[o++];
            continue;
        }
        if (keepdim) o++;
        if (is_one(p, m->size[k])) {
            index[k] = ex_const(p, 0);
        } else {
            index[k] = ex_index(p, arena_printf(w->l->arena, "r%d", n.n_reduce), m->size[k]);
            n.reduce[n.n_reduce++] = index[k];
        }
    }
    add_reduction(w, &n, x, read_node(w, &n, x->args[0].node, index, NO_INST));
    end_nest(w, &n, id);
}

/* Along a dimension of size 1 a scan is a copy. */
static void lower_scan(struct lowering *w, node_id id) {
    const struct node *x = &w->g->nodes.at[id];
    enum dtype t = x->meta.dtype;
    struct nest n = begin_nest(w, id);
    int64_t dim = ex_value(w->l->ex, x->args[1].i);
    inst_id v = convert(w, &n, read_node(w, &n, x->args[0].node, n.out_index, NO_INST), t);
    if (x->meta.rank && !is_one(w->l->ex, x->meta.size[dim])) {
        n.scan = n.out_index[dim];
        add_inst(w, &n,
                 (struct inst){.kind = INST_SCAN,
                               .reduction = reduction_of(x->op, t),
                               .dtype = t,
                               .n_args = 1,
                               .args = {v}});
    }
    end_nest(w, &n, id);
}

/* The node whose elements, all of them and in row-major order, are those of node `id`, seen through
 * reshapes: id itself, or what its views show. An empty tensor is a constant. */
node_id same_elements(struct lowering *w, node_id id, const ex *at) {
    struct exprs *p = w->l->ex;
    const struct node *x = &w->g->nodes.at[id];
    ex index[WS_MAX_RANK] = {0}, numel = meta_numel(p, &x->meta), flat = row_major(p, &x->meta, at);
    node_id same = id;
    memcpy(index, at, sizeof(ex) * x->meta.rank);
    while (op_info(x->op)->class == VIEW && numel != ex_const(p, 0)) {
        view_index(w, x, index);
        id = x->args[0].node;
        x = &w->g->nodes.at[id];
        if (meta_numel(p, &x->meta) == numel && row_major(p, &x->meta, index) == flat) same = id;
    }
    return same;
}

/* Makes node `id` output number `index`, if a nest computes it and it is none yet. */
static bool becomes_output(struct lowering *w, int index, node_id id) {
    if (!w->has_buffer[id]) return false;
    struct buffer *b = &w->l->buffers.at[w->buffer_of[id]];
    if (b->kind != BUFFER_TEMP) return false;
    b->kind = BUFFER_OUTPUT;
    b->index = index;
    return true;
}

void copy_node(struct lowering *w, node_id id, buffer_id out) {
    const struct node *x = &w->g->nodes.at[id];
    struct nest n = begin_nest(w, id);
    n.name = arena_printf(w->l->arena, "copy_%s", n.name);
    if (meta_numel(w->l->ex, &x->meta) == ex_const(w->l->ex, 0))
        add_const(w, &n, 0, x->meta.dtype); /* an index over no element is not worked out */
    else
        read_node(w, &n, id, n.out_index, NO_INST);
    n.out = out;
    vec_push(w->l->arena, &w->l->nests, n);
}

/* A graph output must be a buffer of its own, dense, written by a nest: views that are not just
 * reshapes, creations, reshapes of outputs and, but where the graph says that they are returned as
 * they are, inputs are copied. The buffer of a reshape has the shape of what it shows. What is
 * returned twice is one buffer, the first output's. */
static void lower_output(struct lowering *w, int index, node_id id) {
    if (graph_first_output(w->g, (uint32_t)index) != (uint32_t)index) return;
    if (graph_returned_input(w->g, (uint32_t)index) < w->g->inputs.n) return;
    struct nest n = begin_nest(w, id);
    if (becomes_output(w, index, same_elements(w, id, n.out_index))) return;
    copy_node(w, id, add_buffer(w, BUFFER_OUTPUT, index, id));
}

/* Nests that nobody reads are left out: what computes the operand of a subscript that became an
 * index by itself. Their buffers go with them. */
static void drop_unread(struct loops *l) {
    bool *read = NEW_ARRAY(l->arena, bool, l->buffers.n);
    buffer_id *now = NEW_ARRAY(l->arena, buffer_id, l->buffers.n), kept = 0;
    for (buffer_id b = 0; b < l->buffers.n; b++) read[b] = l->buffers.at[b].kind != BUFFER_TEMP;
    for (uint32_t k = l->nests.n; k-- > 0;)
        for (uint32_t i = 0; read[l->nests.at[k].out] && i < l->nests.at[k].insts.n; i++)
            if (l->nests.at[k].insts.at[i].kind == INST_LOAD)
                read[l->nests.at[k].insts.at[i].buffer] = true;
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        now[b] = kept;
        if (!read[b]) continue;
        l->buffers.at[kept] = l->buffers.at[b];
        l->buffers.at[kept].name = arena_printf(l->arena, "b%u", kept);
        kept++;
    }
    l->buffers.n = kept;
    for (buffer_id b = 0; b < kept; b++) {
        struct loop_window *x = &l->buffers.at[b].window;
        x->of = now[x->of];
        x->start = now[x->start];
    }
    uint32_t n = 0;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        struct nest x = l->nests.at[k];
        if (!read[x.out]) continue;
        x.out = now[x.out];
        for (uint32_t i = 0; i < x.insts.n; i++) x.insts.at[i].buffer = now[x.insts.at[i].buffer];
        l->nests.at[n++] = x;
    }
    l->nests.n = n;
}

struct loops *loops_lower(const struct graph *g, struct arena *a, struct diag *d) {
    struct loops *l = NEW(a, struct loops);
    const struct flat *flat = graph_flatten(g);
    if (flat) g = flat->g;
    *l = (struct loops){.arena = a, .ex = g->ex, .graph = g, .epoch = flat ? flat->epoch : NULL};
    struct lowering w = {.g = g, .l = l, .d = d, .flat = flat};
    for (uint32_t k = 0; flat && k < flat->loops.n; k++)
        vec_push(a, &l->steps, flat->loops.at[k].steps);
    w.buffer_of = NEW_ARRAY(a, buffer_id, g->nodes.n);
    w.has_buffer = NEW_ARRAY(a, bool, g->nodes.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        node_id id = g->inputs.at[i].node;
        w.buffer_of[id] = add_buffer(&w, BUFFER_INPUT, (int)i, id);
        w.has_buffer[id] = true;
    }
    for (node_id id = 0; id < g->nodes.n; id++) {
        if (flat) w.epoch = flat->epoch[id];
        switch (op_info(g->nodes.at[id].op)->class) {
        case POINTWISE: lower_pointwise(&w, id); break;
        case REDUCE: lower_reduction(&w, id); break;
        case SCAN: lower_scan(&w, id); break;
        case MATMUL: lower_product(&w, id); break;
        case MOVE: lower_move(&w, id); break;
        case LOOP: lower_step(&w, id); break;
        case VIEW:
        case CREATE:
        case INPUT: break;
        case COMPOSITE:
            if (!g->in_doubles || !op_info(g->nodes.at[id].op)->elementwise)
                WS_BUG("%s was not decomposed", op_info(g->nodes.at[id].op)->name);
            lower_pointwise(&w, id);
            break;
        }
    }
    w.epoch = 2 * l->steps.n;
    for (uint32_t i = 0; i < g->outputs.n; i++) lower_output(&w, (int)i, g->outputs.at[i]);
    drop_unread(l);
    loops_one_term(l);
    loops_trim(l);
    return d->status == WS_OK ? l : NULL;
}
