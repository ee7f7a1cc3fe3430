/* edges.c: where the terms of a product count, as far as the graph shows it.
 *
 *     where(m <= n, a @ b, 0)           a term at m > n is wanted by nobody
 *     where(r <= m, a[m, r], 0) @ b     one at r > m is 0
 *
 * Each such condition is an *edge*: a term at (z, m, n, r) counts only where a sum of these, times
 * numbers, is 0 or more. A tile of results then has a range of the depth, which is empty where all
 * of it is masked: it is stored as its epilogue has it, of sums that are 0.
 *
 *     edge n - m >= 0       triu(a @ b): of 32 by 32 tiles 528 have any depth
 *     edge m - r >= 0       tril(a) @ b: the first rows have little of it
 *
 * Masks of what is multiplied are its writer's, another kernel's, as are those of what the writer
 * reads: a factor is 0 in memory where they do not hold. A product's term there is 0 but where the
 * other factor is infinite or no number, and is left out nevertheless.
 *
 * An epilogue's masks count at an element's own place alone: behind a reduction others have read
 * it. Several results share the edges that all of them have. */
#include <stdlib.h>

#include "graph/traits.h"
#include "kernel/builder.h"

enum { MOST_NESTS = 8 }; /* from a factor's mask to the positions that it is made of */

struct edge_list {
    bool reads; /* the product */
    bool asks;  /* what is no edge is a question, if it may be asked */
    int n;
    struct edge at[MOST_EDGES];
};

/* ---- conditions ------------------------------------------------------------------------------ */

static bool same_edge(const struct edge *a, const struct edge *b) {
    return !memcmp(a, b, sizeof *a);
}

/* What is left out is computed for nothing. True, here and below: nothing is left out. */
static bool add_edge(struct edge_list *l, const struct edge *e) {
    for (int i = 0; i < l->n; i++)
        if (same_edge(&l->at[i], e)) return true;
    if (l->n == MOST_EDGES) return false;
    l->at[l->n++] = *e;
    return true;
}

/* The quotient m // n, of a number n, that e is made of; EX_NONE: it has none. */
static ex quotient_in(const struct kernel *k, ex e, ex m) {
    enum ex_kind kind = ex_kind(k->ex, e);
    if (kind == EX_DIV && ex_lhs(k->ex, e) == m && ex_is_const(k->ex, ex_rhs(k->ex, e), NULL))
        return e;
    if (kind != EX_ADD && kind != EX_MUL) return EX_NONE;
    ex q = quotient_in(k, ex_lhs(k->ex, e), m);
    return q ? q : quotient_in(k, ex_rhs(k->ex, e), m);
}

/* e >= 0 without m // n, the place of rows of which several have one (repeats.c):
 *     m // n + rest >= 0   where   m + n * rest >= 0
 *     rest - m // n >= 0   where   n * rest + n - 1 - m >= 0
 * What has it in other ways stays as it is. */
static ex without_quotient(const struct kernel *k, ex e) {
    struct exprs *p = k->ex;
    ex m = k->axis[AXIS_M], q = m ? quotient_in(k, e, m) : EX_NONE;
    if (!q) return e;
    ex n = ex_rhs(p, q), more = ex_sub(p, e, q), less = ex_add(p, e, q);
    if (!ex_uses(p, more, m)) return ex_add(p, ex_mul(p, more, n), m);
    if (ex_uses(p, less, m)) return e;
    ex end = ex_add(p, less, ex_const(p, 1));
    return ex_sub(p, ex_sub(p, ex_mul(p, end, n), ex_const(p, 1)), m);
}

/* e >= 0, if e is a sum of axes times numbers that 32 bits hold wherever a tile is. */
static bool add_positive(const struct kernel *k, struct edge_list *l, ex e) {
    enum { MOST = 1 << 29 };
    struct edge out = {0};
    int64_t reach = 0;
    e = without_quotient(k, e);
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (!index_take(k, &e, k->axis[a], &out.by[a])) return false;
        reach += llabs(out.by[a]) < MOST ? llabs(out.by[a]) * kernel_size(k, (enum axis)a) : MOST;
    }
    if (!ex_is_const(k->ex, e, &out.first)) return false;
    return reach < MOST && llabs(out.first) < MOST && add_edge(l, &out);
}

/* a >= b + more, for numbers a and b. */
static bool add_order(const struct kernel *k, struct edge_list *l, ex a, ex b, int more) {
    return add_positive(k, l, ex_sub(k->ex, ex_sub(k->ex, a, b), ex_const(k->ex, more)));
}

static bool is_condition(const struct kernel *k, ex e) { return ex_kind(k->ex, e) >= EX_EQ; }

/* The condition holds, or does not. */
static bool add_condition(const struct kernel *k, struct edge_list *l, ex c, bool holds) {
    enum ex_kind kind = ex_kind(k->ex, c);
    bool equal = (kind == EX_EQ && holds) || (kind == EX_NE && !holds);
    int64_t number;
    if (!is_condition(k, c)) return false;
    ex a = ex_lhs(k->ex, c), b = ex_rhs(k->ex, c);
    bool compares = kind == EX_EQ || kind == EX_NE;
    if (compares && is_condition(k, b)) b = a, a = ex_rhs(k->ex, c);
    if (compares && is_condition(k, a)) {
        bool known = ex_is_const(k->ex, b, &number) && (number == 0 || number == 1);
        return known && add_condition(k, l, a, equal == (number == 1));
    }
    if (kind == EX_AND && holds) {
        bool all = add_condition(k, l, a, true);
        return add_condition(k, l, b, true) && all;
    }
    if (equal) {
        bool all = add_order(k, l, a, b, 0);
        return add_order(k, l, b, a, 0) && all;
    }
    if (kind != EX_LE && kind != EX_LT) return false;
    return holds ? add_order(k, l, b, a, kind == EX_LT) : add_order(k, l, a, b, kind == EX_LE);
}

static bool is_number(const struct kernel *k, value_id v, double *x) {
    const struct value_node *of = &k->values.at[v];
    if (of->kind == INST_CAST) return is_number(k, of->args[0], x);
    return of->kind == INST_CONST && (*x = of->number, true);
}

static bool add_value(const struct kernel *k, struct edge_list *l, value_id v, bool holds);

/* Of mask == 0, of a mask that is a choice between two numbers, what it chooses by, and how if that
 * holds; NO_VALUE: it is none. */
static value_id choice_of(const struct kernel *k, const struct value_node *x, bool *holds) {
    double to, on, off;
    if (x->op != OP_EQ && x->op != OP_NE) return NO_VALUE;
    const struct value_node *of = &k->values.at[x->args[0]];
    if (of->kind != INST_OP || of->op != OP_WHERE || !is_number(k, x->args[1], &to))
        return NO_VALUE;
    if (!is_number(k, of->args[1], &on) || !is_number(k, of->args[2], &off)) return NO_VALUE;
    bool equals = (x->op == OP_EQ) == *holds;
    *holds = (on == to) == equals;
    return (on == to) != (off == to) ? of->args[0] : NO_VALUE;
}

/* What of v the edges do not say, the data may. */
static bool ask(const struct kernel *k, struct edge_list *l, value_id v, bool holds) {
    if (l->asks && may_ask(k, v)) add_edge(l, &(struct edge){.asks = v + 1, .holds = holds});
    return false;
}

/* The same of a value that is a condition. */
static bool add_value(const struct kernel *k, struct edge_list *l, value_id v, bool holds) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_INDEX && x->dtype == DT_BOOL)
        return add_condition(k, l, x->index, holds) || ask(k, l, v, holds);
    if (x->kind == INST_CAST && k->values.at[x->args[0]].dtype == DT_BOOL)
        return add_value(k, l, x->args[0], holds);
    if (x->kind != INST_OP) return ask(k, l, v, holds);
    bool both = x->op == OP_LOGICAL_AND || (x->op == OP_BITWISE_AND && x->dtype == DT_BOOL),
         either = x->op == OP_LOGICAL_OR || (x->op == OP_BITWISE_OR && x->dtype == DT_BOOL);
    if ((both && holds) || (either && !holds)) {
        bool all = add_value(k, l, x->args[0], holds);
        return add_value(k, l, x->args[1], holds) && all;
    }
    if (x->op == OP_LOGICAL_NOT || (x->op == OP_BITWISE_NOT && x->dtype == DT_BOOL))
        return add_value(k, l, x->args[0], !holds);
    value_id by = choice_of(k, x, &holds);
    return by != NO_VALUE ? add_value(k, l, by, holds) : ask(k, l, v, holds);
}

/* ---- behind the product ---------------------------------------------------------------------- */

static void keep_shared(struct edge_list *l, const struct edge_list *with) {
    int n = 0;
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < with->n; j++)
            if (same_edge(&l->at[i], &with->at[j])) {
                l->at[n++] = l->at[i];
                break;
            }
    l->n = n;
}

static void read_as_well(struct edge_list *l, const struct edge_list *of) {
    if (!of->reads) return;
    if (l->reads)
        keep_shared(l, of);
    else
        *l = *of;
}

/* Where the product matters to v, whose arguments are known. */
static struct edge_list wanted_by(const struct kernel *k, const struct edge_list *of, value_id v) {
    const struct value_node *x = &k->values.at[v];
    struct edge_list l = {.reads = v == k->dot};
    for (int a = 0; a < x->n_args && v > k->dot; a++) read_as_well(&l, &of[x->args[a]]);
    if (x->kind != INST_OP || x->op != OP_WHERE || x->level != 1 || of[x->args[0]].reads) return l;
    if (of[x->args[1]].reads != of[x->args[2]].reads)
        add_value(k, &l, x->args[0], of[x->args[1]].reads);
    return l;
}

static void add_wanted(const struct kernel *k, struct edge_list *l) {
    struct edge_list all = {0}, *of = NEW_ARRAY(k->arena, struct edge_list, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) of[v] = wanted_by(k, of, v);
    for (uint32_t s = 0; s < k->stores.n; s++) read_as_well(&all, &of[k->stores.at[s].value]);
    for (int i = 0; i < all.n; i++) add_edge(l, &all.at[i]);
}

/* ---- factors --------------------------------------------------------------------------------- */

static bool is_zero(const struct kernel *k, value_id v) {
    double x;
    return is_number(k, v, &x) && x == 0;
}

/* Where factor v is not known to be 0. */
static void add_factor(const struct kernel *k, struct edge_list *l, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST) add_factor(k, l, x->args[0]);
    if (x->kind == INST_LOAD && x->guarded) add_value(k, l, x->args[0], true);
    if (x->kind != INST_OP || x->op != OP_WHERE) return;
    if (is_zero(k, x->args[2])) {
        add_value(k, l, x->args[0], true);
        add_factor(k, l, x->args[1]);
    } else if (is_zero(k, x->args[1])) {
        add_value(k, l, x->args[0], false);
        add_factor(k, l, x->args[2]);
    }
}

/* ---- what another kernel has written --------------------------------------------------------- */

/* A buffer's element, at places of the group's axes. */
struct written {
    const struct builder *w;
    const struct nest *nest;
    ex from[GROUP_MAX_AXES], to[GROUP_MAX_AXES];
    int n, deep;
};

static bool find_written(const struct written *by, const struct inst *load, struct written *out) {
    const struct builder *w = by->w;
    uint32_t nest = w->s->writer[load->buffer];
    if (load->kind != INST_LOAD || load->guarded || nest == NO_NEST || by->deep == MOST_NESTS)
        return false;
    *out = (struct written){.w = w, .nest = &w->l->nests.at[nest], .deep = by->deep + 1};
    if (out->nest->n_reduce || out->nest->scan) return false;
    for (int d = 0; d < load->n_index; d++) {
        if (ex_kind(w->k->ex, out->nest->out_index[d]) != EX_SYM) continue;
        out->from[out->n] = out->nest->out_index[d];
        out->to[out->n++] = ex_subst(w->k->ex, load->index[d], by->from, by->to, by->n);
    }
    return true;
}

/* Number or condition i of what is written; EX_NONE: it is not made of positions alone. */
static ex written_ex(const struct written *x, inst_id i) {
    const struct inst *v = &x->nest->insts.at[i];
    struct exprs *p = x->w->k->ex;
    struct written of;
    if (v->dtype != DT_I64 && v->dtype != DT_I32 && v->dtype != DT_BOOL) return EX_NONE;
    if (find_written(x, v, &of)) return written_ex(&of, of.nest->insts.n - 1);
    if (v->kind == INST_CONST) return ex_const(p, v->dtype == DT_BOOL ? v->value != 0 : v->whole);
    if (v->kind == INST_INDEX) return ex_subst(p, v->index[0], x->from, x->to, x->n);
    if (v->kind == INST_CAST && x->nest->insts.at[v->args[0]].dtype == v->dtype)
        return written_ex(x, v->args[0]);
    if (v->kind != INST_OP || v->n_args != 2) return EX_NONE;
    ex a = written_ex(x, v->args[0]), b = a ? written_ex(x, v->args[1]) : EX_NONE, out;
    if (!a || !b) return EX_NONE;
    if (v->op == OP_LOGICAL_AND || (v->op == OP_BITWISE_AND && v->dtype == DT_BOOL))
        return ex_and(p, a, b);
    return op_of_sums(p, v->op, a, b, &out) ? out : EX_NONE;
}

static bool writes_zero(const struct written *x, inst_id i) {
    const struct inst *v = &x->nest->insts.at[i];
    if (v->kind == INST_CAST) return writes_zero(x, v->args[0]);
    return v->kind == INST_CONST && v->value == 0;
}

/* Where instruction i is not known to be 0, and what is known already. */
static ex written_unless_zero(const struct written *x, inst_id i, ex counts) {
    const struct inst *v = &x->nest->insts.at[i];
    struct exprs *p = x->w->k->ex;
    struct written of;
    ex c = EX_NONE;
    if (v->kind == INST_CAST) return written_unless_zero(x, v->args[0], counts);
    if (find_written(x, v, &of)) return written_unless_zero(&of, of.nest->insts.n - 1, counts);
    if (v->kind == INST_LOAD && v->guarded) c = written_ex(x, v->args[0]);
    bool choice = v->kind == INST_OP && v->op == OP_WHERE;
    bool first = choice && writes_zero(x, v->args[1]), last = choice && writes_zero(x, v->args[2]);
    if (first || last) c = written_ex(x, v->args[0]);
    if (c && first) c = ex_compare(p, EX_EQ, c, ex_const(p, 0));
    if (c) counts = counts ? ex_and(p, counts, c) : c;
    return first || last ? written_unless_zero(x, v->args[first ? 2 : 1], counts) : counts;
}

void find_zeros(struct builder *w) {
    for (uint32_t m = 0; m < w->g->members.n; m++) {
        const struct member *M = &w->g->members.at[m];
        const struct nest *n = &w->l->nests.at[M->nest];
        struct written own = {.w = w, .nest = n, .n = M->n};
        if (!n->matmul || !n->n_reduce || M->n > GROUP_MAX_AXES) continue;
        const struct inst *mul = &n->insts.at[n->insts.at[n->insts.n - 1].args[0]];
        if (mul->kind != INST_OP || mul->op != OP_MUL) continue;
        memcpy(own.from, M->from, sizeof(ex) * (size_t)M->n);
        memcpy(own.to, M->to, sizeof(ex) * (size_t)M->n);
        for (int i = 0; i < 2; i++)
            w->k->counts = written_unless_zero(&own, mul->args[i], w->k->counts);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The largest that an edge's sum is at depth 0 for so many rows and columns. */
static int64_t highest(const struct edge *e, int64_t z, int64_t m, int64_t rows, int64_t n,
                       int64_t columns) {
    int64_t down = e->by[AXIS_M] > 0 ? m + rows - 1 : m,
            across = e->by[AXIS_N] > 0 ? n + columns - 1 : n;
    return e->first + e->by[AXIS_Z] * z + e->by[AXIS_M] * down + e->by[AXIS_N] * across;
}

struct depth_range kernel_depth(const struct kernel *k, int64_t z, int64_t m, int64_t rows,
                                int64_t n, int64_t columns) {
    struct depth_range s = {0, kernel_size(k, AXIS_R)};
    for (uint32_t i = 0; i < k->edges.n; i++) {
        const struct edge *e = &k->edges.at[i];
        int64_t top = highest(e, z, m, rows, n, columns), by = e->by[AXIS_R];
        int64_t from = by > 0 && top < 0 ? (by - 1 - top) / by : 0;
        int64_t end = by < 0 && top >= 0 ? top / -by + 1 : by > 0 || top >= 0 ? s.end : 0;
        if (from > s.from) s.from = from;
        if (end < s.end) s.end = end;
    }
    if (s.end <= s.from) s = (struct depth_range){0, 0};
    return s;
}

/* Of rows and columns some that lie all over the product: a part of the terms, but for a few in a
 * thousand. */
double kernel_counts(const struct kernel *k) {
    enum { SAMPLES = 512 };
    int64_t z = kernel_size(k, AXIS_Z), m = kernel_size(k, AXIS_M), n = kernel_size(k, AXIS_N);
    int64_t rows = m < SAMPLES ? m : SAMPLES, columns = n < SAMPLES ? n : SAMPLES;
    double all = 0;
    if (!k->edges.n || !rows || !columns || !z || !kernel_size(k, AXIS_R)) return 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            struct depth_range s = kernel_depth(k, z / 2, (2 * i + 1) * m / (2 * rows), 1,
                                                (2 * j + 1) * n / (2 * columns), 1);
            all += (double)(s.end - s.from);
        }
    return all / ((double)rows * (double)columns * (double)kernel_size(k, AXIS_R));
}

bool add_chained_edges(struct kernel *k, value_id condition, bool holds) {
    struct edge_list l = {.asks = true};
    bool all = add_value(k, &l, condition, holds);
    for (int i = 0; i < l.n; i++) {
        const struct edge *e = &l.at[i];
        bool varies = e->by[AXIS_N] || e->by[AXIS_M] || e->by[AXIS_Z] || e->asks;
        if (varies && k->edges.n < MOST_EDGES)
            vec_push(k->arena, &k->edges, *e);
        else
            all &= !varies && e->first >= 0;
    }
    return all;
}

void find_edges(struct kernel *k) {
    const double WORTH = 0.9; /* windows that reach beyond an image do so at few places */
    struct edge_list l = {0};
    add_wanted(k, &l);
    for (int i = 0; i < 2 && !k->shares; i++) add_factor(k, &l, i ? k->dot_b : k->dot_a);
    if (k->counts && !k->shares) add_condition(k, &l, k->counts, true);
    for (int i = 0; i < l.n; i++) vec_push(k->arena, &k->edges, l.at[i]);
    if (kernel_counts(k) > WORTH) k->edges.n = 0;
}

static bool is_edge(const struct kernel *k, const struct edge *e) {
    for (uint32_t i = 0; i < k->edges.n; i++)
        if (same_edge(&k->edges.at[i], e)) return true;
    return false;
}

/* Does c hold, or not, wherever all edges let terms count? */
static bool edges_say(const struct kernel *k, ex c, bool holds) {
    enum ex_kind kind = ex_kind(k->ex, c);
    if (kind == EX_AND && holds)
        return edges_say(k, ex_lhs(k->ex, c), true) && edges_say(k, ex_rhs(k->ex, c), true);
    struct edge_list l = {0};
    if (kind != EX_LE && kind != EX_LT) return false;
    add_condition(k, &l, c, holds);
    return l.n == 1 && is_edge(k, &l.at[0]);
}

bool edges_decide(const struct kernel *k, value_id v, bool *holds) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind != INST_INDEX || x->dtype != DT_BOOL) return false;
    for (int i = 0; i < 2; i++)
        if (edges_say(k, x->index, *holds = !i)) return true;
    return false;
}
