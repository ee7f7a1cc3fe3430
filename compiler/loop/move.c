/* move.c: MOVE nodes as nests: the elements of operands under other indices.
 *
 *   %c: f32[5] = cat([%x, %y], dim=0)             b2[i0: 5] = f32 cat
 *                                                     v0 = index i0 < 2 : bool
 *                                                     v1 = load b0[i0] if v0 : f32
 *                                                     v2 = index 2 <= i0 : bool
 *                                                     v3 = load b1[-2 + i0] if v2 : f32
 *                                                     v4 = where(v0, v1, v3) : f32
 *   %e: f32[6, 64] = index(%w, [%i], dims=[0])    b2[i0: 6, i1: 64] = f32 index
 *                                                     v0 = load b1[i0] : i64
 *                                                     v1 = subscript v0 of 100 as $0 : i32
 *                                                     v2 = load b0[$0, i1] : f32
 *
 * Where the integers that index are themselves known from the position (arange and arithmetic on
 * it), the index is that expression and nothing is looked up: x[arange(4) * 2] reads x[2*i0], and
 * memory still runs along it. */
#include "graph/traits.h"
#include "loop/lower_impl.h"

/* ---- guards ---------------------------------------------------------------------------------- */

/* Is i one of 0 .. size-1? */
static ex within(struct exprs *p, ex i, ex size) {
    return ex_and(p, ex_compare(p, EX_LE, ex_const(p, 0), i), ex_compare(p, EX_LT, i, size));
}

inst_id add_condition(struct lowering *w, struct nest *n, ex condition) {
    struct inst i = {.kind = INST_INDEX, .dtype = DT_BOOL, .n_index = 1, .index = {condition}};
    int64_t v;
    if (ex_is_const(w->l->ex, condition, &v)) return v ? NO_INST : add_const(w, n, 0, DT_BOOL);
    return add_inst(w, n, i);
}

static double number_of(struct exprs *p, const struct arg *a) {
    return a->kind == ARG_FLOAT ? a->f : a->kind == ARG_BOOL ? a->b : (double)ex_value(p, a->i);
}

inst_id read_or_fill(struct lowering *w, struct nest *n, node_id id, const ex *index, ex condition,
                     double fill) {
    enum dtype t = w->g->nodes.at[id].meta.dtype;
    inst_id guard = add_condition(w, n, condition);
    inst_id v = read_node(w, n, id, index, guard);
    return guard == NO_INST ? v : add_op(w, n, OP_WHERE, t, guard, v, add_const(w, n, fill, t));
}

/* ---- cat, pad, flip, windows ----------------------------------------------------------------- */

static bool is_zero(struct exprs *p, ex e) { return e == ex_const(p, 0); }

/* An operand's stretch of a cat, and the operand's index there. */
struct piece {
    node_id node;
    ex begin, end;
    ex index[WS_MAX_RANK];
};

/* Pieces of x, in order: one for each operand, as decompose() leaves none that is empty. */
static uint32_t find_pieces(struct lowering *w, const struct nest *n, const struct node *x,
                            int64_t dim, struct piece *out) {
    struct exprs *p = w->l->ex;
    const struct arg *list = &x->args[0];
    ex begin = ex_const(p, 0);
    uint32_t pieces = 0;
    for (uint32_t k = 0; k < list->nodes.n; k++) {
        const struct meta *m = &w->g->nodes.at[list->nodes.at[k]].meta;
        WS_ASSERT(m->rank == x->meta.rank && !is_zero(p, m->size[dim]));
        struct piece *c = &out[pieces++];
        *c = (struct piece){
            .node = list->nodes.at[k], .begin = begin, .end = ex_add(p, begin, m->size[dim])};
        memcpy(c->index, n->out_index, sizeof c->index);
        c->index[dim] = ex_sub(p, n->out_index[dim], begin);
        begin = c->end;
    }
    return pieces;
}

/* Does the last piece go on where the first one ended, in something that is computed and as long as
 * x? So does what is updated in place: x[2:4] = y is cat([x[:2], y, x[4:]]). Read once wherever y
 * is not, a chain of such updates is as long as it is, and not twice as long with each. Memory is
 * read only where it is wanted. */
static bool is_update(struct lowering *w, const struct node *x, int64_t dim, const struct piece *c,
                      uint32_t pieces) {
    const struct piece *last = &c[pieces - 1];
    const struct node *head = &w->g->nodes.at[c->node];
    if (pieces < 3 || head->op != OP_SLICE ||
        w->g->nodes.at[head->args[0].node].meta.size[dim] != x->meta.size[dim])
        return false;
    ex at[WS_MAX_RANK], end[WS_MAX_RANK];
    memcpy(at, c->index, sizeof at);
    memcpy(end, last->index, sizeof end);
    node_id id = behind_views(w, c->node, at);
    if (id != behind_views(w, last->node, end)) return false;
    const struct node *source = &w->g->nodes.at[id];
    for (int d = 0; d < source->meta.rank; d++)
        if (at[d] != end[d]) return false;
    return op_info(source->op)->class == CREATE ||
           w->l->buffers.at[w->buffer_of[id]].kind == BUFFER_TEMP;
}

/* Operand k where its stretch is, chosen from the last to the first: the stretches end in order. */
static void lower_cat(struct lowering *w, struct nest *n, const struct node *x) {
    struct exprs *p = w->l->ex;
    int64_t dim = ex_value(p, x->args[1].i);
    struct piece *c = NEW_ARRAY(w->l->arena, struct piece, x->args[0].nodes.n);
    uint32_t pieces = find_pieces(w, n, x, dim, c);
    inst_id *value = NEW_ARRAY(w->l->arena, inst_id, pieces);
    inst_id *inside = NEW_ARRAY(w->l->arena, inst_id, pieces); /* before its end, or in it */
    ex i = n->out_index[dim];
    WS_ASSERT(pieces);
    bool update = is_update(w, x, dim, c, pieces);
    for (uint32_t k = 0; k < pieces; k++) {
        ex before = ex_compare(p, EX_LT, i, c[k].end), in = before;
        bool first = is_zero(p, c[k].begin), rest = update && k + 1 == pieces;
        if (!first) in = ex_and(p, ex_compare(p, EX_LE, c[k].begin, i), before);
        if (update && first) continue;
        inside[k] = rest ? NO_INST : add_condition(w, n, update ? in : before);
        inst_id guard = first || update ? inside[k] : add_condition(w, n, in);
        value[k] = read_node(w, n, c[k].node, c[k].index, guard);
    }
    inst_id v = value[pieces - 1];
    for (uint32_t k = pieces - 1; k-- > (update ? 1 : 0);)
        v = inside[k] == NO_INST ? value[k]
                                 : add_op(w, n, OP_WHERE, x->meta.dtype, inside[k], value[k], v);
    if (v + 1 != n->insts.n) /* the value comes last */
        add_inst(
            w, n,
            (struct inst){.kind = INST_CAST, .dtype = x->meta.dtype, .n_args = 1, .args = {v}});
}

/* pad names dimensions from the last on: [before, after, before, after ...]. */
static void lower_pad(struct lowering *w, struct nest *n, const struct node *x) {
    struct exprs *p = w->l->ex;
    const struct arg *pad = &x->args[1];
    const struct meta *m = &w->g->nodes.at[x->args[0].node].meta;
    ex index[WS_MAX_RANK], condition = ex_const(p, 1);
    for (int k = 0; k < m->rank; k++) {
        uint32_t at = 2 * (uint32_t)(m->rank - 1 - k);
        index[k] = n->out_index[k];
        if (at >= pad->ints.n) continue;
        ex i = ex_sub(p, index[k], pad->ints.at[at]);
        condition = ex_and(p, condition, within(p, i, m->size[k]));
        index[k] = is_one(p, m->size[k]) ? ex_const(p, 0) : i;
    }
    read_or_fill(w, n, x->args[0].node, index, condition, number_of(p, &x->args[2]));
}

static void lower_flip(struct lowering *w, struct nest *n, const struct node *x) {
    struct exprs *p = w->l->ex;
    ex index[WS_MAX_RANK];
    memcpy(index, n->out_index, sizeof index);
    for (uint32_t k = 0; k < x->args[1].ints.n && x->meta.rank; k++) {
        int64_t dim = ex_value(p, x->args[1].ints.at[k]);
        index[dim] = ex_sub(p, ex_sub(p, x->meta.size[dim], ex_const(p, 1)), index[dim]);
    }
    read_node(w, n, x->args[0].node, index, NO_INST);
}

/* [..., O, K]: element k of window o is o*stride - padding + k*dilation. */
static void lower_windows(struct lowering *w, struct nest *n, const struct node *x) {
    struct exprs *p = w->l->ex;
    const struct meta *m = &w->g->nodes.at[x->args[0].node].meta;
    int windowed = (int)x->args[1].ints.n, first = m->rank - windowed;
    ex index[WS_MAX_RANK], condition = ex_const(p, 1);
    memcpy(index, n->out_index, sizeof index);
    for (int k = 0; k < windowed; k++) {
        ex o = n->out_index[first + k], e = n->out_index[m->rank + k];
        ex i = ex_add(p, ex_mul(p, o, x->args[2].ints.at[k]), ex_mul(p, e, x->args[4].ints.at[k]));
        i = ex_sub(p, i, x->args[3].ints.at[k]);
        condition = ex_and(p, condition, within(p, i, m->size[first + k]));
        index[first + k] = is_one(p, m->size[first + k]) ? ex_const(p, 0) : i;
    }
    read_or_fill(w, n, x->args[0].node, index, condition, number_of(p, &x->args[6]));
}

/* ---- subscripts ------------------------------------------------------------------------------ */

static bool as_index(struct lowering *w, node_id id, const ex *at, ex *out);

static bool arg_as_index(struct lowering *w, const struct node *x, int k, const ex *at, ex *out) {
    const struct arg *a = &x->args[k];
    ex index[WS_MAX_RANK] = {0};
    if (a->kind == ARG_INT) return *out = a->i, true;
    if (a->kind != ARG_NODE) return false;
    broadcast_index(w->l->ex, &w->g->nodes.at[a->node].meta, at, x->meta.rank, index);
    return as_index(w, a->node, index, out);
}

/* What a CREATE operator makes there. */
static bool created_as_index(struct lowering *w, const struct node *x, const ex *at, ex *out) {
    struct exprs *p = w->l->ex;
    switch (op_create(x->op)) {
    case CREATE_FULL: return x->args[1].kind == ARG_INT && (*out = x->args[1].i, true);
    case CREATE_ARANGE:
        if (x->args[0].kind != ARG_INT || x->args[2].kind != ARG_INT) return false;
        return *out = ex_add(p, x->args[0].i, ex_mul(p, at[0], x->args[2].i)), true;
    case CREATE_RAND:
    case CREATE_RANDN: break;
    }
    return false;
}

/* A cast, or arithmetic on two. */
static bool computed_as_index(struct lowering *w, const struct node *x, const ex *at, ex *out) {
    ex a, b;
    if (x->op == OP_CAST) return arg_as_index(w, x, 0, at, out);
    if (op_index(x->op) == INDEX_NONE) return false;
    return arg_as_index(w, x, 0, at, &a) && arg_as_index(w, x, 1, at, &b) &&
           op_of_indices(w->l->ex, x->op, a, b, out);
}

/* Is the integer tensor `id` at index `at` an expression of that index? Only what no type can
 * overflow is followed. */
static bool as_index(struct lowering *w, node_id id, const ex *at, ex *out) {
    const struct node *x = &w->g->nodes.at[id];
    enum op_class class = op_info(x->op)->class;
    ex index[WS_MAX_RANK] = {0};
    bool found = false;
    int64_t lo, hi;
    if (!dtype_is_int(x->meta.dtype) || dtype_is_narrow(x->meta.dtype)) return false;
    memcpy(index, at, sizeof(ex) * x->meta.rank);
    if (class == VIEW) {
        view_index(w, x, index);
        return as_index(w, x->args[0].node, index, out);
    }
    if (class == CREATE) found = created_as_index(w, x, index, out);
    if (class == POINTWISE) found = computed_as_index(w, x, index, out);
    if (!found || x->op == OP_FULL) return found;
    ex_range(w->l->ex, *out, &lo, &hi);
    return lo > INT32_MIN && hi < INT32_MAX;
}

/* The element of an index tensor at `at`, as an index into a dimension of that size. */
static ex subscript(struct lowering *w, struct nest *n, node_id id, const ex *at, ex size) {
    struct exprs *p = w->l->ex;
    int64_t lo, hi;
    ex e;
    if (is_one(p, size)) return ex_const(p, 0);
    if (as_index(w, id, at, &e) && within(p, e, size) == ex_const(p, 1)) return e;
    int number = 0;
    for (uint32_t i = 0; i < n->insts.n; i++) number += n->insts.at[i].kind == INST_SUBSCRIPT;
    inst_id v = read_node(w, n, id, at, NO_INST);
    ex_range(p, size, &lo, &hi);
    struct inst i = {.kind = INST_SUBSCRIPT,
                     .dtype = hi < INT32_MAX ? DT_I32 : DT_I64,
                     .n_args = 1,
                     .args = {v},
                     .n_index = 1};
    i.index[0] = ex_index(p, arena_printf(w->l->arena, "$%d", number), size);
    add_inst(w, n, i);
    return i.index[0];
}

static void lower_gather(struct lowering *w, struct nest *n, const struct node *x) {
    struct exprs *p = w->l->ex;
    const struct meta *m = &w->g->nodes.at[x->args[0].node].meta;
    ex index[WS_MAX_RANK];
    memcpy(index, n->out_index, sizeof index);
    if (m->rank) {
        int64_t dim = ex_value(p, x->args[1].i);
        index[dim] = subscript(w, n, x->args[2].node, n->out_index, m->size[dim]);
    }
    read_node(w, n, x->args[0].node, index, NO_INST);
}

/* x[:, i, j]: the dimensions of the result are those of the index tensors together, in the place of
 * what they index if that is one stretch, else in front, and those of x that are left. */
static void lower_index(struct lowering *w, struct nest *n, const struct node *x) {
    struct exprs *p = w->l->ex;
    const struct meta *m = &w->g->nodes.at[x->args[0].node].meta;
    const struct arg *list = &x->args[1], *dims = &x->args[2];
    int wide = x->meta.rank - (m->rank - (int)dims->ints.n); /* rank of the indices together */
    int first = graph_index_position(p, dims, m->rank);
    ex index[WS_MAX_RANK], own[WS_MAX_RANK] = {0};
    for (int k = 0, o = 0; k < m->rank; k++) {
        uint32_t i = 0;
        while (i < dims->ints.n && ex_value(p, dims->ints.at[i]) != k) i++;
        if (i == dims->ints.n) {
            if (o == first) o += wide;
            index[k] = n->out_index[o++];
            continue;
        }
        node_id id = list->nodes.at[i];
        broadcast_index(p, &w->g->nodes.at[id].meta, n->out_index + first, wide, own);
        index[k] = subscript(w, n, id, own, m->size[k]);
    }
    read_node(w, n, x->args[0].node, index, NO_INST);
}

void lower_move(struct lowering *w, node_id id) {
    const struct node *x = &w->g->nodes.at[id];
    struct nest n = begin_nest(w, id);
    switch (op_move(x->op)) {
    case MOVE_CAT: lower_cat(w, &n, x); break;
    case MOVE_CONSTANT_PAD: lower_pad(w, &n, x); break;
    case MOVE_FLIP: lower_flip(w, &n, x); break;
    case MOVE_WINDOWS: lower_windows(w, &n, x); break;
    case MOVE_GATHER: lower_gather(w, &n, x); break;
    case MOVE_INDEX: lower_index(w, &n, x); break;
    }
    end_nest(w, &n, id);
}
