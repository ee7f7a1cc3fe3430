/* body.c: a group of nests becomes one list of values (see kernel.h).
 *
 * Every stored nest and every reduction is expanded at the group's own indices; a load of a buffer
 * that the group itself writes is replaced by the value, expanded at the index read. Equal
 * (instruction, arguments, index) get one value, so what two nests share is computed once.
 * Its axes are then flattened (axes.c). */
#include <math.h>

#include "graph/traits.h"
#include "kernel/builder.h"

/* 32 bits hold an index below this, and what tiles add to it at the end of an axis. */
enum { NARROW_LIMIT = INT32_MAX - (1 << 20) };

struct access {
    buffer_id buffer;
    value_id guard;
    uint32_t in_product; /* as the builder has it */
    ex index[WS_MAX_RANK];
};
#define NO_GUARD NO_VALUE

value_id number(struct builder *w, struct value_node v) {
    uint64_t id;
    struct value_node key; /* no padding in the key */
    memset(&key, 0, sizeof key);
    key.kind = v.kind, key.op = v.op, key.reduction = v.reduction, key.dtype = v.dtype,
    key.rounds = v.rounds, key.n_args = v.n_args, key.guarded = v.guarded, key.over = v.over;
    memcpy(key.args, v.args, sizeof v.args);
    key.number = v.number, key.whole = v.whole, key.buffer = v.buffer, key.index = v.index;
    if (map_get(&w->numbers, &key, sizeof key, &id)) return (value_id)id;
    vec_push(w->k->arena, &w->k->values, v);
    id = w->k->values.n - 1;
    map_put(&w->numbers, &key, sizeof key, id);
    return (value_id)id;
}

/* ---- expansion ------------------------------------------------------------------------------- */

static const struct member *member_of(struct builder *w, uint32_t nest) {
    for (uint32_t m = 0; m < w->g->members.n; m++)
        if (w->g->members.at[m].nest == nest) return &w->g->members.at[m];
    return NULL;
}

static ex offset_of(struct builder *w, buffer_id b, const ex *index) {
    const struct meta *m = &w->l->buffers.at[b].meta;
    ex e = ex_const(w->k->ex, 0);
    for (int d = 0; d < m->rank; d++)
        e = ex_add(w->k->ex, e, ex_mul(w->k->ex, index[d], m->stride[d]));
    return e;
}

/* The subscripts in v's index become its arguments. */
static void add_subscripts(struct builder *w, struct value_node *v) {
    ex syms[64];
    int n = ex_symbols(w->k->ex, v->index, syms, 64);
    for (uint32_t i = 0; i < w->k->subscripts.n; i++)
        for (int s = 0; s < n; s++)
            if (syms[s] == w->k->subscripts.at[i].symbol) {
                WS_ASSERT(v->n_args < MAX_VALUE_ARGS);
                v->args[v->n_args++] = w->k->subscripts.at[i].value;
            }
}

/* The symbol that stands for a subscript: one for each value. */
ex symbol_of(struct builder *w, value_id v) {
    struct kernel *k = w->k;
    for (uint32_t i = 0; i < k->subscripts.n; i++)
        if (k->subscripts.at[i].value == v) return k->subscripts.at[i].symbol;
    struct subscript s = {.value = v};
    s.symbol =
        ex_index(k->ex, arena_printf(k->arena, "$%u", k->subscripts.n), k->values.at[v].index);
    vec_push(k->arena, &k->subscripts, s);
    return s.symbol;
}

/* Both guards; either may be missing. */
static value_id both(struct builder *w, value_id a, value_id b) {
    if (a == NO_GUARD || b == NO_GUARD || a == b) return a == NO_GUARD ? b : a;
    return number(
        w,
        (struct value_node){
            .kind = INST_OP, .op = OP_LOGICAL_AND, .dtype = DT_BOOL, .n_args = 2, .args = {a, b}});
}

/* Is condition v known? Of a window's taps many guards are. */
static bool is_known(const struct builder *w, value_id v, int64_t *holds) {
    const struct value_node *x = &w->k->values.at[v];
    return x->kind == INST_INDEX && ex_is_const(w->k->ex, x->index, holds);
}

/* Is v 0 wherever `guard` does not hold, for what it is made of is read nowhere else? */
static bool is_zero_elsewhere(const struct builder *w, value_id guard, value_id v) {
    const struct value_node *all = w->k->values.at, *x = &all[v];
    if (x->kind == INST_LOAD && x->guarded) {
        const struct value_node *own = &all[x->args[0]];
        bool part = own->kind == INST_OP && own->op == OP_LOGICAL_AND &&
                    (own->args[0] == guard || own->args[1] == guard);
        return x->args[0] == guard || part;
    }
    bool square = x->kind == INST_OP && x->op == OP_MUL && x->args[0] == x->args[1];
    return (x->kind == INST_CAST || square) && is_zero_elsewhere(w, guard, x->args[0]);
}

/* What a choice is, where that is known: of where(guard, v, 0), v is enough if it is 0 elsewhere.
 * NO_VALUE if it is not known, or x is no choice. */
static value_id chosen(struct builder *w, const struct inst *x, const value_id *of) {
    int64_t holds;
    if (x->kind != INST_OP || x->op != OP_WHERE || w->keeps_choices) return NO_VALUE;
    value_id guard = of[x->args[0]], v = of[x->args[1]], other = of[x->args[2]];
    if (is_known(w, guard, &holds)) return holds ? v : other;
    const struct value_node *zero = &w->k->values.at[other];
    if (zero->kind != INST_CONST || zero->number != 0 || !is_zero_elsewhere(w, guard, v))
        return NO_VALUE;
    return w->folds = true, v;
}

/* A nest of this group, to be read at `index` where `guard` holds. Its reduce axes are those of the
 * group; a reduction or scan is read at the group's own rows, which need no guard. */
static value_id expand_member(struct builder *w, const struct member *M, const struct nest *n,
                              const ex *index, value_id guard) {
    ex from[GROUP_MAX_AXES], to[GROUP_MAX_AXES];
    int count = 0;
    for (int d = 0; d < w->l->buffers.at[n->out].meta.rank; d++) {
        if (ex_kind(w->k->ex, n->out_index[d]) != EX_SYM) continue;
        from[count] = n->out_index[d];
        to[count++] = index[d];
    }
    for (int i = 0; i < M->n && n->n_reduce; i++) {
        bool reduced = false;
        for (int r = 0; r < n->n_reduce; r++) reduced |= n->reduce[r] == M->from[i];
        if (!reduced) continue;
        from[count] = M->from[i];
        to[count++] = M->to[i];
    }
    const ex *bound = w->g->r + (n->matmul ? w->g->n_between : 0);
    int n_bound = n->matmul ? w->g->n_r - w->g->n_between : w->g->n_between;
    bool second = group_is_second(w->g, M->nest);
    for (int i = 0; i < count && w->g->n_between && n->n_reduce && !second; i++) {
        bool own = false; /* of what it is reduced along */
        for (int r = 0; r < n->n_reduce; r++) own |= n->reduce[r] == from[i];
        for (int r = 0; r < n_bound && !own; r++) w->captured |= ex_uses(w->k->ex, to[i], bound[r]);
    }
    if (w->taps && n->n_reduce) return expand_taps(w, n, from, to, count);
    bool row = n->n_reduce || n->scan;
    bool across = w->by_rows || (w->g->columns && member_is_along(w->s, M, w->g->x + w->g->n_batch,
                                                                  w->g->n_x - w->g->n_batch));
    bool before =
        w->g->matmul && !w->g->n_between && !n->matmul &&
        member_is_along(w->s, M, w->g->r, w->g->n_r); /* of the vector that it multiplies */
    bool behind = w->g->matmul && (!n->matmul || second) && !before;
    uint8_t over = across ? MASK_X : behind ? BEHIND : MASK_R;
    if (!w->g->persistent) return expand_nest(w, n, from, to, count, row ? NO_GUARD : guard, over);
    bool outside = !w->in_product; /* of a loop's steps a sum is read anywhere */
    w->in_product |= n->n_reduce > 0;
    value_id v = expand_nest(w, n, from, to, count, guard, over);
    w->in_product &= !outside;
    return v;
}

/* Does nest n choose what it reads, as cat does? */
static bool chooses(const struct nest *n) {
    for (uint32_t i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD && n->insts.at[i].guarded) return true;
    return false;
}

static bool is_inside(const struct builder *w, const struct meta *m, const ex *index) {
    for (int d = 0; d < m->rank; d++) {
        int64_t lo, hi, least, most;
        ex_range(w->k->ex, index[d], &lo, &hi);
        ex_range(w->k->ex, m->size[d], &least, &most);
        if (lo < 0 || hi >= least) return false;
    }
    return true;
}

/* Is what the nest makes, another kernel's, made of positions alone, in a few steps? */
static bool is_of_positions(const struct builder *w, uint32_t nest, int deep) {
    enum { MOST = 8 };
    const struct nest *n = nest == NO_NEST ? NULL : &w->l->nests.at[nest];
    if (!n || deep == MOST || n->n_reduce || n->scan) return false;
    for (uint32_t i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD &&
            !is_of_positions(w, w->s->writer[n->insts.at[i].buffer], deep + 1))
            return false;
    return true;
}

/* The value of buffer b at index, both in group axes, where `guard` holds. What itself chooses
 * needs no guard of its reader's where it exists: of a chain of choices, as updates of a[i, j] are,
 * each would have twice the guards of the one that reads it. */
static value_id expand_load(struct builder *w, buffer_id b, enum dtype t, const ex *index,
                            value_id guard) {
    uint32_t nest = w->s->writer[b];
    const struct member *M = nest == NO_NEST ? NULL : member_of(w, nest);
    if (M && w->in_product && w->s->stored[b]) M = NULL;
    struct member own = {.nest = nest, .inlined = true};
    if (!M && w->g->n_between && is_of_positions(w, nest, 0)) M = &own; /* a mask, say */
    if (!M) {
        struct value_node v = {
            .kind = INST_LOAD, .dtype = t, .buffer = b, .index = offset_of(w, b, index)};
        v.guarded = guard != NO_GUARD;
        if (v.guarded) v.args[v.n_args++] = guard;
        add_subscripts(w, &v);
        return number(w, v);
    }
    if (guard != NO_GUARD && chooses(&w->l->nests.at[nest]) &&
        is_inside(w, &w->l->buffers.at[b].meta, index))
        guard = NO_GUARD;
    struct access key = {.buffer = b, .guard = guard, .in_product = w->in_product};
    uint64_t id;
    memcpy(key.index, index, sizeof(ex) * w->l->buffers.at[b].meta.rank);
    if (map_get(&w->expanded, &key, sizeof key, &id)) return (value_id)id;
    id = expand_member(w, M, &w->l->nests.at[nest], index, guard);
    map_put(&w->expanded, &key, sizeof key, id);
    return (value_id)id;
}

/* Whether v comes from memory in this type, or is rounded to it: rounding it changes nothing. */
static bool is_stored_as(const struct builder *w, value_id v, enum dtype t) {
    const struct value_node *x = &w->k->values.at[v];
    return (x->kind == INST_LOAD || (x->kind == INST_CAST && x->rounds)) && x->dtype == t;
}

value_id expand_nest(struct builder *w, const struct nest *n, const ex *axes, const ex *places,
                     int count, value_id guard, uint8_t over) {
    value_id *of = NEW_ARRAY(w->k->arena, value_id, n->insts.n);
    ex from[GROUP_MAX_AXES + GROUP_MAX_SUBSCRIPTS], to[GROUP_MAX_AXES + GROUP_MAX_SUBSCRIPTS];
    memcpy(from, axes, sizeof(ex) * (size_t)count);
    memcpy(to, places, sizeof(ex) * (size_t)count);
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        ex index[WS_MAX_RANK];
        for (int d = 0; d < x->n_index && x->kind != INST_SUBSCRIPT; d++)
            index[d] = ex_subst(w->k->ex, x->index[d], from, to, count);
        int64_t holds;
        if ((of[i] = chosen(w, x, of)) != NO_VALUE) continue;
        if (x->kind == INST_LOAD) {
            value_id own = x->guarded ? of[x->args[0]] : NO_GUARD;
            if (own != NO_GUARD && is_known(w, own, &holds) && holds) own = NO_GUARD;
            of[i] = expand_load(w, x->buffer, x->dtype, index, both(w, guard, own));
            continue;
        }
        if (x->kind == INST_REDUCE && w->taps) return of[x->args[0]];
        if (x->kind == INST_CAST && x->rounds && is_stored_as(w, of[x->args[0]], x->dtype)) {
            of[i] = of[x->args[0]];
            continue;
        }
        struct value_node v = {.kind = x->kind,
                               .op = x->op,
                               .reduction = x->reduction,
                               .dtype = x->dtype,
                               .rounds = x->rounds,
                               .over = x->kind == INST_REDUCE ? over : 0,
                               .n_args = x->n_args,
                               .number = x->value,
                               .whole = x->whole};
        for (int a = 0; a < x->n_args; a++) v.args[a] = of[x->args[a]];
        if ((of[i] = fold_positions(w, &v)) != NO_VALUE) continue;
        if (x->kind == INST_INDEX) {
            v.index = index[0];
            add_subscripts(w, &v);
        }
        if (x->kind == INST_SUBSCRIPT) {
            v.index = ex_symbol(w->k->ex, x->index[0])->bound;
            from[count] = x->index[0];
            if (position_inside(w, v.args[0], v.index, &to[count])) {
                of[i] = v.args[0], count++, w->folds = true;
                continue;
            }
        }
        of[i] = number(w, v);
        if (x->kind == INST_SUBSCRIPT) to[count++] = symbol_of(w, of[i]);
    }
    return of[n->insts.n - 1];
}

/* Where the buffer has such an element: axes of a product's group may be longer (schedule/split.c).
 */
static ex store_guard(struct builder *w, buffer_id b, const ex *index) {
    const struct meta *m = &w->l->buffers.at[b].meta;
    struct exprs *p = w->k->ex;
    ex guard = EX_NONE;
    for (int d = 0; d < m->rank; d++) {
        int64_t size, lo, hi;
        if (!w->g->matmul || !ex_is_const(p, m->size[d], &size) || !size) continue;
        ex_range(p, index[d], &lo, &hi);
        if (lo >= 0 && hi < size) continue;
        ex from = ex_compare(p, EX_LE, ex_const(p, 0), index[d]),
           to = ex_compare(p, EX_LT, index[d], m->size[d]), inside = ex_and(p, from, to);
        guard = guard ? ex_and(p, guard, inside) : inside;
    }
    return guard;
}

static bool covers(const struct builder *w, const struct member *M, ex axis) {
    for (int i = 0; i < M->n; i++)
        if (ex_uses(w->k->ex, M->to[i], axis)) return true;
    return false;
}

/* What all points of a recurrence make that have the same of some axes, the first of them stores.
 */
static ex first_guard(struct builder *w, const struct member *M, ex guard) {
    struct exprs *p = w->k->ex;
    for (int i = 0; i < w->g->n_x && w->g->recurrent; i++) {
        if (covers(w, M, w->g->x[i])) continue;
        ex first = ex_compare(p, EX_EQ, w->g->x[i], ex_const(p, 0));
        guard = guard ? ex_and(p, guard, first) : first;
    }
    return guard;
}

/* What a member stores; with arms, at these places of theirs. */
static void expand_store(struct builder *w, const struct member *M, const int64_t *place) {
    const struct nest *n = &w->l->nests.at[M->nest];
    ex index[WS_MAX_RANK], axis[GROUP_MAX_AXES], at[GROUP_MAX_AXES];
    for (int i = 0; i < w->n_arms; i++) {
        const struct arm *x = &w->arms[i];
        axis[i] = x->axis;
        at[i] = arm_place(w->k->ex, x, place[i]);
    }
    for (int d = 0; d < w->l->buffers.at[n->out].meta.rank; d++) {
        index[d] = ex_subst(w->k->ex, n->out_index[d], M->from, M->to, M->n);
        index[d] = ex_subst(w->k->ex, index[d], axis, at, w->n_arms);
    }
    struct store_node st = {.buffer = n->out,
                            .index = offset_of(w, n->out, index),
                            .guard = first_guard(w, M, store_guard(w, n->out, index))};
    st.value = expand_load(w, n->out, w->l->buffers.at[n->out].meta.dtype, index, NO_GUARD);
    vec_push(w->k->arena, &w->k->stores, st);
}

/* At all places along the arms that it covers, the innermost first to go on. A product, which may
 * be stored as well, covers none. */
static void expand_arms(struct builder *w, const struct member *M) {
    int64_t place[GROUP_MAX_AXES] = {0};
    for (int i = 0; i >= 0;) {
        expand_store(w, M, place);
        for (i = w->n_arms - 1; i >= 0; i--) {
            if (covers(w, M, w->arms[i].axis) && ++place[i] < w->arms[i].n) break;
            place[i] = 0;
        }
    }
}

void expand_group(struct builder *w) {
    for (uint32_t m = 0; m < w->g->members.n; m++) {
        const struct member *M = &w->g->members.at[m];
        if (!w->s->stored[w->l->nests.at[M->nest].out]) continue;
        expand_arms(w, M);
    }
    w->k->unrolled = w->taps || w->n_arms;
    if (w->k->unrolled || w->folds) drop_unused(w);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static uint8_t index_mask(const struct kernel *k, ex index) {
    uint8_t m = 0;
    for (int a = 0; a < AXIS_COUNT; a++)
        if (k->axis[a] && ex_uses(k->ex, index, k->axis[a])) m |= (uint8_t)(1 << a);
    return kernel_has_batches(k) ? m & (uint8_t)~MASK_Z : m;
}

void find_masks(struct kernel *k) {
    for (uint32_t i = 0; i < k->values.n; i++) {
        struct value_node *v = &k->values.at[i];
        v->mask = v->index ? index_mask(k, v->index) : 0;
        v->level = 0;
        v->column = false;
        for (int a = 0; a < v->n_args; a++) {
            const struct value_node *u = &k->values.at[v->args[a]];
            v->mask |= u->mask;
            v->column |= u->column;
            if (u->level > v->level) v->level = u->level;
        }
        if (v->kind == INST_SCAN) v->mask |= MASK_R;
        if (goes_across(v)) {
            v->mask = MASK_R;
            v->column = k->columns = true;
            continue;
        }
        if (v->kind == INST_REDUCE) v->mask &= (uint8_t)~v->over;
        if (v->kind == INST_REDUCE || v->kind == INST_SCAN) v->level++;
        if (v->level > k->levels) k->levels = v->level;
    }
    for (uint32_t i = 0; i < k->stores.n; i++)
        k->stores.at[i].mask = index_mask(k, k->stores.at[i].index);
}

/* ---- strength reduction ---------------------------------------------------------------------- */

/* A division by a row's value becomes a product with its reciprocal, computed once a row:
 *     v5 = div(v3 {x r}, v4 {x})   ->   v5 = reciprocal(v4) {x};  v6 = mul(v3, v5)
 * One more rounding (half an ulp) for one division an element less. So it does in chained products
 * by a column's value, whatever that is made of: terms are rounded to 16 bits then.
 * Needs masks and levels; breaks them. */
static void reduce_divisions(struct builder *w) {
    struct kernel *k = w->k;
    uint32_t n = k->values.n;
    const struct value_node *old = k->values.at;
    value_id *now = NEW_ARRAY(k->arena, value_id, n);
    bool product = k->kind == KERNEL_MATMUL || k->kind == KERNEL_CHAINED;
    uint8_t along = product ? k->over : MASK_R;
    memset(&k->values, 0, sizeof k->values);
    w->numbers = map_new(k->arena);
    for (value_id v = 0; v < n; v++) {
        struct value_node x = old[v];
        const struct value_node *top = &old[x.args[0]], *below = &old[x.args[1]];
        bool division = x.kind == INST_OP && x.op == OP_DIV && dtype_is_float(x.dtype);
        for (int a = 0; a < x.n_args; a++) x.args[a] = now[x.args[a]];
        bool by_row = top->mask & along && !(below->mask & along) && below->level > 0;
        bool by_column = k->kind == KERNEL_CHAINED && top->mask & MASK_M && below->mask & MASK_N &&
                         !(below->mask & MASK_M) && dtype_opmath(x.dtype) == DT_F32;
        if (division && (by_row || by_column)) {
            struct value_node r = {.kind = INST_OP,
                                   .op = OP_RECIPROCAL,
                                   .dtype = x.dtype,
                                   .n_args = 1,
                                   .args = {x.args[1]}};
            x.op = OP_MUL;
            x.args[1] = number(w, r);
        }
        now[v] = number(w, x);
    }
    for (uint32_t s = 0; s < k->stores.n; s++) k->stores.at[s].value = now[k->stores.at[s].value];
    for (uint32_t i = 0; i < k->subscripts.n; i++)
        if (k->subscripts.at[i].value != NO_VALUE) /* a look-up that nobody needed */
            k->subscripts.at[i].value = now[k->subscripts.at[i].value];
    if (!product) return;
    k->dot = now[k->dot];
    k->dot_a = now[k->dot_a];
    k->dot_b = now[k->dot_b];
    if (k->kind != KERNEL_CHAINED) return;
    value_id *const known[] = {&k->second, &k->beside, &k->beside_a, &k->beside_b, &k->twin};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (*known[i] != NO_VALUE) *known[i] = now[*known[i]];
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool listed(const struct kernel *k, buffer_id b) {
    for (uint32_t i = 0; i < k->buffers.n; i++)
        if (k->buffers.at[i] == b) return true;
    return false;
}

static void add_sizes(void *ctx, ex *index) {
    struct kernel *k = ctx;
    ex syms[64];
    int n = ex_symbols(k->ex, *index, syms, 64);
    for (int i = 0; i < n; i++) {
        bool known = ex_symbol(k->ex, syms[i])->bound != EX_NONE;
        for (uint32_t j = 0; j < k->sizes.n; j++) known |= k->sizes.at[j] == syms[i];
        if (!known) vec_push(k->arena, &k->sizes, syms[i]);
    }
}

/* Distinct elements a load touches: at most the buffer, at most the points of its axes. */
static double touched(const struct kernel *k, buffer_id b, uint8_t mask) {
    const struct loops *l = k->schedule->loops;
    double points = 1,
           whole = (double)buffer_bytes(l, b) / dtype_bytes(l->buffers.at[b].meta.dtype);
    for (int a = 0; a < AXIS_COUNT; a++)
        if (mask >> a & 1) points *= (double)kernel_size(k, (enum axis)a);
    points *= (double)kernel_batches(k);
    return points < whole ? points : whole;
}

/* An index as digits: each grows by `step` elements, `most` times. */
struct digits {
    int n;
    struct {
        int64_t step, most;
    } at[2 * GROUP_MAX_AXES];
};

static bool add_digits(const struct kernel *k, ex e, int64_t step, struct digits *d) {
    int64_t number, lo, hi;
    enum ex_kind kind = ex_kind(k->ex, e);
    if (kind == EX_CONST) return true;
    if (kind == EX_ADD)
        return add_digits(k, ex_lhs(k->ex, e), step, d) && add_digits(k, ex_rhs(k->ex, e), step, d);
    if (kind == EX_MUL && ex_is_const(k->ex, ex_rhs(k->ex, e), &number) && number > 0)
        return add_digits(k, ex_lhs(k->ex, e), step * number, d);
    ex_range(k->ex, e, &lo, &hi);
    if (lo < 0 || hi >= INT64_MAX / step || d->n == 2 * GROUP_MAX_AXES) return false;
    int at = d->n++;
    for (; at && d->at[at - 1].step < step; at--) d->at[at] = d->at[at - 1];
    d->at[at].step = step, d->at[at].most = hi;
    return true;
}

/* May two numbers of these digits, of which the first `from` are left out, be so far apart? */
static bool may_be_apart(const struct digits *d, int from, int64_t apart) {
    enum { TRIES = 4 };
    int64_t below = 0; /* what the others make up for */
    if (from == d->n) return apart == 0;
    for (int i = from + 1; i < d->n; i++) below += d->at[i].step * d->at[i].most;
    int64_t step = d->at[from].step, most = d->at[from].most;
    int64_t first = (apart - below) / step - 1, last = (apart + below) / step + 1;
    if (first < -most) first = -most;
    if (last > most) last = most;
    if (last - first > TRIES) return true; /* digits that count the same elements */
    for (int64_t n = first; n <= last; n++)
        if (may_be_apart(d, from + 1, apart - n * step)) return true;
    return false;
}

/* Do two loads never read the same element? Known of those that are a fixed number of elements
 * apart, which their digits do not come to: the halves of a row, taps of windows that have gaps or
 * lie beside each other. */
static bool read_apart(const struct kernel *k, const struct value_node *v,
                       const struct value_node *w) {
    int64_t apart;
    struct digits d = {0};
    if (v->n_args + w->n_args || v->mask != w->mask) return false;
    if (!ex_is_const(k->ex, ex_sub(k->ex, v->index, w->index), &apart)) return false;
    return add_digits(k, v->index, 1, &d) && !may_be_apart(&d, 0, apart);
}

bool *kernel_parts(const struct kernel *k, value_id v) {
    bool *needed = NEW_ARRAY(k->arena, bool, k->values.n);
    needed[v] = true;
    for (value_id i = v + 1; i-- > 0;)
        for (int a = 0; needed[i] && a < k->values.at[i].n_args; a++)
            needed[k->values.at[i].args[a]] = true;
    return needed;
}

/* Is v, of a kernel that runs in each call, the same in all of them? */
static bool is_fixed(const struct kernel *k, value_id v) {
    const bool *needed = kernel_parts(k, v);
    bool loads = false;
    if (k->schedule->groups.at[k->group].at_load) return false;
    for (value_id i = 0; i <= v; i++) {
        const struct value_node *x = &k->values.at[i];
        if (!needed[i]) continue;
        if (x->kind == INST_OP && op_is_random(x->op)) return false;
        if (x->kind == INST_LOAD && !k->schedule->fixed[x->buffer]) return false;
        loads |= x->kind == INST_LOAD;
    }
    return loads;
}

/* By its widest load, and those that read nothing of what others do: more may read the same
 * elements. Taps and arms read others. */
static double bytes_as_it_lies(const struct kernel *k, buffer_id b) {
    const struct loops *l = k->schedule->loops;
    double most = 0, sum = 0, distinct = 0, bytes = dtype_bytes(l->buffers.at[b].meta.dtype);
    VEC(const struct value_node *) parts = {0};
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_LOAD || v->buffer != b) continue;
        double points = touched(k, b, v->mask);
        bool new = points > 1;
        for (uint32_t j = 0; j < parts.n && new; j++) new = read_apart(k, v, parts.at[j]);
        if (new) {
            vec_push(k->arena, &parts, v);
            distinct += points;
        }
        most = fmax(most, points);
        bool again = false;
        for (uint32_t j = 0; j < i && !again; j++)
            again = k->values.at[j].kind == INST_LOAD && k->values.at[j].buffer == b &&
                    k->values.at[j].index == v->index;
        if (!again) sum += points;
    }
    double points = k->unrolled ? sum : fmax(most, distinct);
    return fmin(points * bytes, (double)buffer_bytes(l, b));
}

/* Are all loads of b among the values that are `needed`? */
static bool is_read_for(const struct kernel *k, const bool *needed, buffer_id b) {
    for (value_id i = 0; i < k->values.n; i++)
        if (k->values.at[i].kind == INST_LOAD && k->values.at[i].buffer == b && !needed[i])
            return false;
    return true;
}

static bool is_first_load(const struct kernel *k, value_id v) {
    for (value_id i = 0; i < v; i++)
        if (k->values.at[i].kind == INST_LOAD && k->values.at[i].buffer == k->values.at[v].buffer)
            return false;
    return k->values.at[v].kind == INST_LOAD;
}

/* Of a factor that is the same in all calls these read the image, which is made at load, or what it
 * is made of where that is less: all of it counts at the first buffer that nothing else reads. */
static double bytes_of_fixed(const struct kernel *k, buffer_id b, value_id factor,
                             const bool *needed) {
    double image = dtype_bytes(k->values.at[k->dot].dtype), parts = 0;
    for (value_id i = 0; i <= factor; i++) {
        buffer_id of = k->values.at[i].buffer;
        if (!needed[i] || !is_first_load(k, i) || !is_read_for(k, needed, of)) continue;
        if (!parts && of != b) return 0;
        parts += bytes_as_it_lies(k, of);
    }
    for (int a = 0; a < AXIS_COUNT; a++)
        if (k->values.at[factor].mask >> a & 1) image *= (double)kernel_size(k, (enum axis)a);
    return fmin(parts, image);
}

double kernel_bytes_of(const struct kernel *k, buffer_id b) {
    for (int i = 0; i < 2; i++) {
        value_id factor = i ? k->dot_b : k->dot_a;
        const bool *needed = (i ? k->b_fixed : k->a_fixed) ? kernel_parts(k, factor) : NULL;
        if (needed && is_read_for(k, needed, b)) return bytes_of_fixed(k, b, factor, needed);
    }
    return bytes_as_it_lies(k, b);
}

/* Does e, or a step on the way to it, leave 32 bits? What depends on an unknown size is judged by
 * the axes, at the hints. */
static bool is_wide(const struct kernel *k, ex e) {
    int64_t lo, hi;
    ex_range(k->ex, e, &lo, &hi);
    if (lo <= -NARROW_LIMIT || (hi >= NARROW_LIMIT && hi < INT64_MAX)) return true;
    if (ex_kind(k->ex, e) == EX_CONST || ex_kind(k->ex, e) == EX_SYM) return false;
    return is_wide(k, ex_lhs(k->ex, e)) || is_wide(k, ex_rhs(k->ex, e));
}

static void widen(void *ctx, ex *index) {
    struct kernel *k = ctx;
    k->wide_index |= is_wide(k, *index);
}

static void find_arguments(struct kernel *k) {
    const struct loops *l = k->schedule->loops;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_LOAD || listed(k, v->buffer)) continue;
        vec_push(k->arena, &k->buffers, v->buffer);
        k->bytes_read += kernel_bytes_of(k, v->buffer);
    }
    if (k->lists && k->kind != KERNEL_SORT) {
        vec_push(k->arena, &k->buffers, k->lists - 1);
        k->bytes_read += (double)buffer_bytes(l, k->lists - 1);
    }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        buffer_id b = k->stores.at[i].buffer;
        if (listed(k, b)) continue; /* another arm */
        vec_push(k->arena, &k->buffers, b);
        k->bytes_written += (double)buffer_bytes(l, b);
    }
    each_index(k, add_sizes, k);
    each_index(k, widen, k);
    for (int a = 0; a < AXIS_COUNT; a++)
        if (k->axis[a]) add_sizes(k, &k->bound[a]);
    for (int a = 0; a < AXIS_COUNT; a++) /* an axis may be longer than any buffer: x[i] * y[j] */
        if (kernel_size(k, (enum axis)a) >= NARROW_LIMIT) k->wide_index = true;
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        buffer_id b = k->buffers.at[i]; /* offsets count elements, as pointers do */
        int64_t elements = buffer_storage(l, b) / dtype_bytes(l->buffers.at[b].meta.dtype);
        if (elements >= NARROW_LIMIT) k->wide_index = true;
    }
}

/* Which way memory runs: bytes of accesses contiguous along x against along r. Elements some steps
 * apart are in one line, too, with that many fewer of them; and windows whose taps are loads of
 * their own (unroll.c), which a GPU has in L1 for one another. */
static void find_inner(struct kernel *k) {
    enum { ON_CPU = 8, ON_GPU = 16 };
    int most = k->limits->kind == DEVICE_CUDA ? ON_GPU : ON_CPU;
    double along[2] = {0, 0};
    for (uint32_t i = 0; i < k->values.n + k->stores.n; i++) {
        bool store = i >= k->values.n;
        if (!store && k->values.at[i].kind != INST_LOAD) continue;
        ex index = store ? k->stores.at[i - k->values.n].index : k->values.at[i].index;
        buffer_id b = store ? k->stores.at[i - k->values.n].buffer : k->values.at[i].buffer;
        uint8_t mask = store ? k->stores.at[i - k->values.n].mask : k->values.at[i].mask;
        double bytes = touched(k, b, mask);
        for (int a = AXIS_X; a <= AXIS_R; a++) {
            int64_t step = store ? index_usual_stride(k, index, (enum axis)a)
                                 : load_usual_stride(k, &k->values.at[i], (enum axis)a);
            if (step >= 1 && step <= most) along[a] += bytes / (double)step;
        }
    }
    /* On a CPU a thread goes along a scanned column by itself: there must be many. On a GPU,
     * neighbours must fill a thread's vector, or half of it. */
    int64_t few = k->limits->kind == DEVICE_CUDA ? 4 : 1024;
    int64_t least = k->kind == KERNEL_SCAN ? few : 2;
    k->rows_inner = !k->columns && (k->kind == KERNEL_REDUCE || k->kind == KERNEL_SCAN) &&
                    along[0] > along[1] && kernel_size(k, AXIS_X) >= least;
    k->rows_inner |= k->landing != NULL; /* a row has sources of its own */
}

/* Does anything along the rows of a scan stand on what they are reduced to? */
static bool scan_wants_rows(const struct kernel *k) {
    if (k->kind != KERNEL_SCAN) return false;
    bool *stands = NEW_ARRAY(k->arena, bool, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        for (int i = 0; i < x->n_args; i++) stands[v] |= stands[x->args[i]];
        if (stands[v] && (x->mask & MASK_R || x->kind == INST_REDUCE)) return true;
        stands[v] |= x->kind == INST_REDUCE;
    }
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->stores.at[i].mask & MASK_R && stands[k->stores.at[i].value]) return true;
    return false;
}

/* "softmax_amax_sub_exp_sum_div": the nests' names, cut at 60 characters, made unique by the
 * group's number. */
static const char *kernel_name_of(struct builder *w) {
    struct buf b = buf_new(w->k->arena);
    buf_puts(&b, "k");
    for (uint32_t m = 0; m < w->g->members.n && b.n < 48; m++)
        buf_printf(&b, "_%s", w->l->nests.at[w->g->members.at[m].nest].name);
    if (b.n > 56) b.p[b.n = 56] = 0;
    buf_printf(&b, "_%u", w->group);
    return b.p;
}

/* A name without its numbers, which tell nests apart that do the same. */
static void put_bare(struct buf *b, const char *name) {
    for (const char *p = name; *p;) {
        size_t digits = *p == '_' ? strspn(p + 1, "0123456789") : 0;
        bool number = digits && (p[1 + digits] == '_' || !p[1 + digits]);
        if (number)
            p += 1 + digits;
        else
            buf_putc(b, *p++);
    }
}

/* "kernel_softmax_amax_sub": the nests' names without numbers, and cut without them, so that what
 * does the same has the same text however many came before it; and without k_, which is how the
 * device prelude's names begin. */
static const char *entry_of(struct builder *w) {
    enum { ENOUGH = 53, MOST = 61 };
    struct buf b = buf_new(w->k->arena);
    buf_puts(&b, "kernel");
    for (uint32_t m = 0; m < w->g->members.n && b.n < ENOUGH; m++) {
        buf_putc(&b, '_');
        put_bare(&b, w->l->nests.at[w->g->members.at[m].nest].name);
    }
    if (b.n > MOST) b.p[b.n = MOST] = 0;
    return b.p;
}

/* What is not as the group has it, see struct builder. */
struct form {
    bool by_rows, taps;
    bool thin;             /* a product is a sum like any other */
    bool swaps;            /* its factors change places */
    bool keeps_choices;    /* also where it is known which way they go */
    struct arm arm, below; /* below: of windows */
};

/* Is n a product of which one factor has so few rows, or columns, that to pack the other one for
 * them takes longer than to read it where it lies? */
static bool is_thin(const struct builder *w, const struct nest *n) {
    enum { FEW = 8 };
    const struct inst *loads[2];
    int64_t alone[2] = {1, 1};
    int count = 0;
    for (uint32_t i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD) {
            if (count == 2) return false;
            loads[count++] = &n->insts.at[i];
        }
    for (int a = 0; a < n->n_axes && count == 2; a++) {
        bool used[2] = {false, false};
        for (int f = 0; f < 2; f++)
            for (int d = 0; d < loads[f]->n_index; d++)
                used[f] |= ex_uses(w->k->ex, loads[f]->index[d], n->axes[a]);
        int64_t size = ex_hint(w->k->ex, ex_symbol(w->k->ex, n->axes[a])->bound);
        for (int f = 0; f < 2; f++)
            if (used[f] && !used[!f]) alone[f] *= size;
    }
    return count == 2 && (alone[0] <= FEW || alone[1] <= FEW);
}

/* Such a product of windows may be better made by their taps (taps.c). */
static bool is_thin_product(const struct builder *w) {
    bool thin = false;
    for (uint32_t m = 0; m < w->g->members.n && w->g->matmul; m++) {
        const struct nest *n = &w->l->nests.at[w->g->members.at[m].nest];
        if (n->n_reduce && !n->matmul) return false;
        if (n->n_reduce) thin = is_thin(w, n);
    }
    return thin;
}

static bool has_guards(const struct kernel *k) {
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->stores.at[i].guard) return true;
    return false;
}

/* On a CPU it is, but for filters that nearly fill a vector of eight, of windows so deep that
 * storing what they come to is little beside. */
static bool is_better_by_taps(const struct kernel *taps, const struct kernel *k, struct arena *a) {
    enum { FILTERS = 5, DEEP = 32 };
    if (k->limits->kind != DEVICE_CPU)
        return kernel_least_cost(taps, NULL, a) < kernel_least_cost(k, NULL, a);
    return k->kind != KERNEL_MATMUL || !k->im2col[1][0] || kernel_size(k, AXIS_M) < FILTERS ||
           kernel_size(k, AXIS_R) < DEEP;
}

/* Not of a factor that phases have for themselves, which are its rows, next to taps. */
static void find_windows(struct kernel *k) {
    const struct value_node *mul = &k->values.at[k->values.at[k->dot].args[0]];
    bool gpu = k->limits->kind != DEVICE_CPU;
    for (int i = 0; i < 2; i++) {
        value_id factor = i ? k->dot_b : k->dot_a;
        enum axis own = i ? AXIS_N : AXIS_M;
        if (k->shares && (factor == mul->args[0] || factor == mul->args[1])) continue;
        if (gpu || i) k->im2col[i][0] = im2col_find(k, factor, own, AXIS_R);
        if (gpu) k->im2col[i][1] = im2col_find(k, factor, AXIS_R, own);
    }
}

/* Reductions behind a product go along its axes, which nothing has where a mask that hides all of
 * the product has left no reader of it. */
static bool has_lost_product(const struct kernel *k) {
    bool behind = false, product = false;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        behind |= x->kind == INST_REDUCE && x->over == BEHIND;
        product |= x->kind == INST_REDUCE && x->over == MASK_R;
    }
    return behind && !product;
}

struct kernel *kernel_new(const struct schedule *s, const struct device_limits *limits,
                          struct arena *a) {
    struct kernel *k = NEW(a, struct kernel);
    *k = (struct kernel){.arena = a,
                         .ex = s->loops->ex,
                         .schedule = s,
                         .limits = limits,
                         .known_windows = windows_unknown(a),
                         .ranking = ranking_unknown(a),
                         .beside = NO_VALUE,
                         .twin = NO_VALUE};
    return k;
}

struct builder builder_of(struct kernel *k, uint32_t group) {
    return (struct builder){.k = k,
                            .s = k->schedule,
                            .l = k->schedule->loops,
                            .g = &k->schedule->groups.at[group],
                            .group = group,
                            .numbers = map_new(k->arena),
                            .expanded = map_new(k->arena)};
}

void name_kernel(struct builder *w) {
    w->k->group = w->group;
    w->k->name = kernel_name_of(w);
    w->k->entry = entry_of(w);
}

static struct kernel *build(const struct schedule *s, uint32_t group,
                            const struct device_limits *limits, struct form form, struct arena *a) {
    struct kernel *k = kernel_new(s, limits, a);
    struct builder w = builder_of(k, group);
    w.by_rows = form.by_rows;
    w.taps = form.taps;
    w.keeps_choices = form.keeps_choices;
    w.swaps = form.swaps;
    if (form.arm.n) w.arms[w.n_arms++] = form.arm;
    if (form.below.n) w.arms[w.n_arms++] = form.below;
    k->below = form.below.n > 0;
    struct group sums = s->groups.at[group];
    sums.matmul = false;
    sums.n_arms = 0;
    if (form.thin) w.g = &sums;
    for (int i = w.g->n_x - w.g->n_arms; i < w.g->n_x; i++)
        w.arms[w.n_arms++] = all_of(&w, w.g->x[i]);
    name_kernel(&w);
    expand_group(&w);
    if (has_lost_product(k) && !form.keeps_choices)
        return build(s, group, limits, (struct form){.keeps_choices = true}, a);
    /* Stores with guards are those of products. */
    bool plain = !form.by_rows && !form.taps && !form.arm.n && !has_guards(k);
    struct kernel *by_taps = NULL;
    if (plain && is_thin_product(&w)) {
        w.g = &sums;
        struct form taps = {.taps = reduces_windows(&w), .thin = true};
        if (taps.taps) {
            taps.arm = find_filters(&w), taps.below = find_below(&w);
            by_taps = build(s, group, limits, taps, a);
        }
        w.g = &s->groups.at[group];
    }
    struct form other = {.taps = plain && reduces_windows(&w)};
    if (plain) other.arm = find_arm(&w, other.taps);
    if (other.taps) other.below = find_below(&w);
    if (other.taps || other.arm.n) return build(s, group, limits, other, a);
    look_up_one_hot_sums(&w);
    narrow_integers(&w);
    if (w.g->matmul) find_zeros(&w);
    choose_axes(&w);
    find_masks(k);
    join_loads(&w);
    find_masks(k);
    reduce_divisions(&w);
    find_masks(k);
    if (k->kind == KERNEL_CHAINED) {
        for (int i = 0; i < (k->twin == NO_VALUE ? 1 : 2); i++) {
            hoist_factors(&w, i);
            find_masks(k);
        }
        scale_exponents(&w);
        find_masks(k);
        find_chained_edges(k);
    }
    if (w.captured) k->kind = KERNEL_MATMUL;
    k->of_vector = w.g->matmul && k->kind == KERNEL_REDUCE;
    find_landing(k);
    find_lists(&w);
    k->whole_rows = scan_wants_rows(k) || (k->kind == KERNEL_SCAN && k->columns);
    if (k->kind == KERNEL_MATMUL) {
        k->a_fixed = is_fixed(k, k->dot_a);
        k->b_fixed = is_fixed(k, k->dot_b);
        find_edges(k);
    }
    find_arguments(k);
    find_inner(k);
    k->flops = kernel_flops(k);
    find_mirror(k);
    if (k->kind == KERNEL_MATMUL) find_windows(k);
    if (by_taps && is_better_by_taps(by_taps, k, a)) return by_taps;
    return k;
}

/* Sums across rows whose elements are stored, too: whole rows by persistent blocks, one after the
 * other, are read and written faster than strips of columns; if there are rows for all blocks, and
 * registers for the sums. */
static bool goes_by_rows(const struct kernel *k) {
    enum { ROWS_A_UNIT = 8 };
    bool stores = false;
    int64_t rows = kernel_size(k, AXIS_R), columns = kernel_size(k, AXIS_X), bytes = 0;
    if (k->limits->kind != DEVICE_CUDA || k->kind != KERNEL_REDUCE || k->unrolled ||
        !k->rows_inner || k->levels != 1 || rows < ROWS_A_UNIT * k->limits->units)
        return false;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *st = &k->stores.at[i];
        stores |= (st->mask & MASK_R) != 0;
        if (st->mask & MASK_R && (!(st->mask & MASK_X) || k->values.at[st->value].level))
            return false;
    }
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind == INST_REDUCE) bytes += reduction_bytes(k, v);
        if (x->kind == INST_LOAD && x->mask & MASK_X) bytes += dtype_bytes(x->dtype);
    }
    return stores && columns * bytes <= k->limits->regs_unit * 2; /* half of them */
}

/* The kernel with its factors swapped, if the right one is read through windows that had better lie
 * as they are, on the left; else NULL, and what was tried is given back: some megabytes for each
 * convolution. */
static struct kernel *lies_better_swapped(const struct schedule *s, uint32_t group,
                                          const struct kernel *k,
                                          const struct device_limits *limits, struct arena *a) {
    struct arena *scratch = arena_within(a), *own = arena_within(a);
    struct kernel *left = NULL;
    bool in_memory;
    if (windows_may_lie(k, 1, &in_memory, scratch)) {
        struct config best;
        left = build(s, group, limits, (struct form){.swaps = true}, own);
        double least = kernel_least_cost(left, &best, scratch);
        if (best.knob[KNOB_flat] != 2 || least >= kernel_least_cost(k, NULL, scratch)) left = NULL;
    }
    arena_free(scratch);
    if (!left) arena_free(own);
    return left;
}

struct kernel *kernel_build(const struct schedule *s, uint32_t group,
                            const struct device_limits *limits, struct arena *a) {
    if (s->groups.at[group].persistent) return kernel_build_persistent(s, group, limits, a);
    if (s->groups.at[group].recurrent) return kernel_build_recurrence(s, group, limits, a);
    struct kernel *k = build(s, group, limits, (struct form){0}, a),
                  *swapped = lies_better_swapped(s, group, k, limits, a);
    if (swapped) return swapped;
    return goes_by_rows(k) ? build(s, group, limits, (struct form){.by_rows = true}, a) : k;
}

/* ---- shared facts ---------------------------------------------------------------------------- */

int reduction_bytes(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    return reduction_size(x->reduction, x->dtype);
}

bool is_column_store(const struct kernel *k, const struct store_node *s) {
    return k->columns && !(s->mask & MASK_X);
}

bool kernel_has_batches(const struct kernel *k) {
    return (k->kind == KERNEL_REDUCE || k->kind == KERNEL_SCAN) && k->axis[AXIS_Z];
}

int64_t kernel_batches(const struct kernel *k) {
    return kernel_has_batches(k) ? kernel_size(k, AXIS_Z) : 1;
}

int64_t kernel_rows(const struct kernel *k) { return kernel_batches(k) * kernel_size(k, AXIS_X); }

int64_t kernel_size(const struct kernel *k, enum axis x) {
    return k->bound[x] ? ex_hint(k->ex, k->bound[x]) : 1;
}
