/* one_hot.c: a sum to which one column at most adds is that column, looked up:
 *
 *     v3 = eq(target {x}, index r)               s  = subscript(target) of 50257
 *     v5 = where(v3, v4 {x r}, 0)          ->    v4' = v4 at r = s
 *     v6 = reduce sum v5                         v6 = where(0 <= target < 50257, v4', 0)
 *
 * The score of a row's class in a cross entropy is such a sum. A comparison and a selection for
 * each element become one load for each row. */
#include <string.h>

#include "kernel/builder.h"

struct pick {
    struct builder *w;
    const struct value_node *old; /* the values before */
    uint32_t n;
    value_id *now;       /* old -> new */
    ex r;                /* the reduce axis */
    bool *moves;         /* of the old values: varies with it */
    bool *alone;         /* of those: can be computed at one column alone */
    value_id subscript;  /* new: the column */
    value_id *at_column; /* old -> new: the value there, or NO_VALUE */
};

/* ---- which sums ------------------------------------------------------------------------------ */

static void find_moving(struct pick *p) {
    const struct kernel *k = p->w->k;
    p->moves = NEW_ARRAY(k->arena, bool, p->n);
    p->alone = NEW_ARRAY(k->arena, bool, p->n);
    for (value_id v = 0; v < p->n; v++) {
        const struct value_node *x = &p->old[v];
        p->moves[v] = x->index && ex_uses(k->ex, x->index, p->r);
        p->alone[v] = x->kind != INST_SUBSCRIPT && x->kind != INST_SCAN;
        for (int a = 0; a < x->n_args; a++) {
            bool subscript = x->kind == INST_LOAD && a >= x->guarded;
            p->moves[v] |= p->moves[x->args[a]];
            p->alone[v] &= p->alone[x->args[a]] && !(subscript && p->moves[x->args[a]]);
        }
        if (x->kind == INST_REDUCE) p->moves[v] = false;
        if (x->kind == INST_LOAD && x->n_args == MAX_VALUE_ARGS) p->alone[v] = false;
        if (!p->moves[v]) p->alone[v] = true;
    }
}

/* v is sum(where(eq(target, r), value, 0)). */
static bool is_one_hot(const struct pick *p, value_id v, value_id *target, value_id *value) {
    const struct value_node *x = &p->old[v];
    if (x->kind != INST_REDUCE || x->reduction != REDUCTION_SUM || goes_across(x)) return false;
    const struct value_node *choice = &p->old[x->args[0]];
    if (choice->kind != INST_OP || choice->op != OP_WHERE) return false;
    const struct value_node *equal = &p->old[choice->args[0]], *zero = &p->old[choice->args[2]];
    if (equal->kind != INST_OP || equal->op != OP_EQ) return false;
    if (zero->kind != INST_CONST || zero->number != 0) return false;
    int side = p->moves[equal->args[0]] ? 0 : 1;
    const struct value_node *column = &p->old[equal->args[side]];
    *target = equal->args[1 - side];
    *value = choice->args[1];
    return column->kind == INST_INDEX && column->index == p->r && !p->moves[*target] &&
           dtype_is_index(p->old[*target].dtype) &&
           dtype_opmath(p->old[*value].dtype) == dtype_opmath(x->dtype) && p->alone[*value];
}

/* ---- the look-up ----------------------------------------------------------------------------- */

static value_id value_at_column(struct pick *p, value_id v) {
    if (!p->moves[v]) return p->now[v];
    if (p->at_column[v] != NO_VALUE) return p->at_column[v];
    struct value_node x = p->old[v];
    struct exprs *e = p->w->k->ex;
    ex to = symbol_of(p->w, p->subscript);
    for (int a = 0; a < x.n_args; a++) x.args[a] = value_at_column(p, x.args[a]);
    if (x.index && ex_uses(e, x.index, p->r)) {
        x.index = ex_subst(e, x.index, &p->r, &to, 1);
        x.args[x.n_args++] = p->subscript;
    }
    return p->at_column[v] = number(p->w, x);
}

static value_id compare(struct builder *w, enum op op, value_id a, value_id b) {
    struct value_node x = {
        .kind = INST_OP, .op = op, .dtype = DT_BOOL, .n_args = 2, .args = {a, b}};
    return number(w, x);
}

/* A size, as a value of type t. */
static value_id size_value(struct builder *w, ex size, enum dtype t) {
    int64_t n;
    struct value_node x = {.kind = INST_INDEX, .dtype = t, .index = size};
    if (ex_is_const(w->k->ex, size, &n))
        x = (struct value_node){.kind = INST_CONST, .dtype = t, .number = (double)n, .whole = n};
    return number(w, x);
}

static value_id look_up(struct pick *p, value_id sum, value_id target, value_id value) {
    struct builder *w = p->w;
    ex size = ex_symbol(w->k->ex, p->r)->bound;
    enum dtype t = p->old[target].dtype, result = p->old[sum].dtype;
    value_id at = p->now[target];
    struct value_node s = {
        .kind = INST_SUBSCRIPT, .dtype = t, .n_args = 1, .args = {at}, .index = size};
    struct value_node zero = {.kind = INST_CONST, .dtype = result};
    p->subscript = number(w, s);
    for (uint32_t i = 0; i < p->n; i++) p->at_column[i] = NO_VALUE;
    value_id there = value_at_column(p, value);
    value_id inside =
        compare(w, OP_LOGICAL_AND, compare(w, OP_GE, at, size_value(w, ex_const(w->k->ex, 0), t)),
                compare(w, OP_LT, at, size_value(w, size, t)));
    struct value_node choice = {.kind = INST_OP,
                                .op = OP_WHERE,
                                .dtype = result,
                                .n_args = 3,
                                .args = {inside, there, number(w, zero)}};
    return number(w, choice);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void mark(const struct kernel *k, value_id v, bool *used) {
    if (used[v]) return;
    used[v] = true;
    for (int a = 0; a < k->values.at[v].n_args; a++) mark(k, k->values.at[v].args[a], used);
}

void renumber(struct kernel *k, const value_id *now, uint32_t subscripts) {
    for (uint32_t s = 0; s < k->stores.n; s++) k->stores.at[s].value = now[k->stores.at[s].value];
    for (uint32_t i = 0; i < subscripts; i++)
        if (k->subscripts.at[i].value != NO_VALUE)
            k->subscripts.at[i].value = now[k->subscripts.at[i].value];
}

const value_id *drop_unused(struct builder *w) {
    struct kernel *k = w->k;
    uint32_t n = k->values.n;
    const struct value_node *old = k->values.at;
    bool *used = NEW_ARRAY(k->arena, bool, n);
    value_id *now = NEW_ARRAY(k->arena, value_id, n);
    for (uint32_t s = 0; s < k->stores.n; s++) mark(k, k->stores.at[s].value, used);
    memset(&k->values, 0, sizeof k->values);
    w->numbers = map_new(k->arena);
    for (value_id v = 0; v < n; v++) {
        struct value_node x = old[v];
        now[v] = NO_VALUE;
        if (!used[v]) continue;
        for (int a = 0; a < x.n_args; a++) x.args[a] = now[x.args[a]];
        now[v] = number(w, x);
    }
    renumber(k, now, k->subscripts.n);
    return now;
}

static bool stores_along(const struct kernel *k, ex r, const bool *moves) {
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (moves[k->stores.at[s].value] || ex_uses(k->ex, k->stores.at[s].index, r)) return true;
    return false;
}

void look_up_one_hot_sums(struct builder *w) {
    struct kernel *k = w->k;
    w->reduces = w->g->n_r > 0;
    if (w->g->n_r != 1 || w->g->matmul || w->g->scan) return;
    struct pick p = {.w = w, .old = k->values.at, .n = k->values.n, .r = w->g->r[0]};
    find_moving(&p);
    value_id target, value;
    uint32_t found = 0, sums = 0;
    for (value_id v = 0; v < p.n; v++) {
        sums += p.old[v].kind == INST_REDUCE;
        found += is_one_hot(&p, v, &target, &value);
    }
    bool all = found == sums;
    if (!found || (all && stores_along(k, p.r, p.moves))) return;
    p.now = NEW_ARRAY(k->arena, value_id, p.n);
    p.at_column = NEW_ARRAY(k->arena, value_id, p.n);
    memset(&k->values, 0, sizeof k->values);
    w->numbers = map_new(k->arena);
    uint32_t subscripts = k->subscripts.n;
    for (value_id v = 0; v < p.n; v++) {
        struct value_node x = p.old[v];
        if (is_one_hot(&p, v, &target, &value)) {
            p.now[v] = look_up(&p, v, target, value);
            continue;
        }
        for (int a = 0; a < x.n_args; a++) x.args[a] = p.now[x.args[a]];
        p.now[v] = number(w, x);
    }
    renumber(k, p.now, subscripts);
    drop_unused(w);
    w->reduces = !all;
}
