/* simplify.c: fewer nodes for the same values, bit for bit.
 *
 *   %a = mul(%x, 1)        %x
 *   %b = to(%a, f32)       %x                  casts to the type it has; so does convert
 *   %c = exp(%b)           %c = exp(%x)
 *   %d = exp(%x)           %c                  common subexpressions
 *   %e = neg(%d)           gone if unused
 *
 * One forward walk rewrites each node over already simplified operands; a second keeps what the
 * outputs need. Only exact identities: x + 0 is not x for x = -0.0, so it goes for integers only,
 * while x - 0 and x * 1 always do. */
#include <math.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/loop.h"
#include "graph/traits.h"

struct pass {
    struct graph *to;
    struct map seen; /* operator and arguments -> node */
};

struct joining {
    struct pass pass;
};

static const struct node *node_at(const struct pass *s, node_id n) { return &s->to->nodes.at[n]; }
static const struct node *arg_node_at(const struct pass *s, const struct node *n, int i) {
    return n->args[i].kind == ARG_NODE ? node_at(s, n->args[i].node) : NULL;
}

static bool is_cast(enum op op) { return op == OP_CAST || op == OP_CONVERT; }

static bool meta_same(const struct meta *a, const struct meta *b) {
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->size[i] == b->size[i] && a->stride[i] == b->stride[i];
    return same;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* The one value of every element, if it is known: a number, or a full(). */
static bool constant_value(const struct pass *s, const struct arg *a, double *v) {
    if (a->kind == ARG_INT && !ex_is_const(s->to->ex, a->i, NULL)) return false;
    if (a->kind == ARG_INT || a->kind == ARG_FLOAT || a->kind == ARG_BOOL)
        return *v = arg_number(s->to, a), true;
    if (a->kind != ARG_NODE || node_at(s, a->node)->op != OP_FULL) return false;
    const struct node *full = node_at(s, a->node);
    if (!constant_value(s, &full->args[1], v)) return false;
    *v = value_round(full->meta.dtype, *v);
    return true;
}

static bool is_constant(const struct pass *s, const struct arg *a, double want) {
    double v;
    return constant_value(s, a, &v) && v == want && signbit(v) == signbit(want);
}

/* The value of op on constants, where doubles compute what the type would: +, -, * and / of two f32
 * values rounded twice round right (53 >= 2 * 24 + 2), and integers below 2^53 are exact. */
static bool fold_value(const struct node *n, const double *x, double *v) {
    enum dtype d = n->meta.dtype;
    if (!op_folds(n->op)) return false;
    *v = eval_ref(n->op, x);
    if (d == DT_F32) *v = (float)*v;
    if (is_cast(n->op) && (d == DT_I32 || d == DT_I64))
        *v = trunc(*v) + 0.0; /* an integer 0 has no sign */
    if (dtype_is_narrow(d)) return fabs(*v) < 0x1p53 && (*v = value_round(d, *v), true);
    if (d == DT_I32) return fabs(*v) < 0x1p31;
    if (d == DT_I64) return fabs(*v) < 0x1p53;
    return d == DT_F32 || d == DT_F64;
}

/* fold_value combines values of the result's own type. */
static bool same_types(const struct pass *s, const struct node *n) {
    for (int i = 0; i < n->n_args; i++) {
        const struct node *a = arg_node_at(s, n, i);
        if (a && a->meta.dtype != n->meta.dtype && !is_cast(n->op)) return false;
    }
    return true;
}

static node_id must_call(const struct pass *s, enum op op, const struct node *like,
                         const struct arg *args, int n) {
    struct diag d = diag_new(s->to->arena);
    node_id out;
    if (!graph_call(s->to, op, args, n, like->where, &d, &out))
        graph_refused(s->to, "simplify", &d);
    s->to->nodes.at[out].origin = like->origin;
    return out;
}

/* A number operand as the result's type sees it: 0.1 beside an f32 tensor is the f32 next to it. */
static double as_type(enum dtype d, double v) { return d == DT_F32 ? (float)v : v; }

/* Doubles have integers up to 2^53. */
static bool meets_integers(const struct pass *s, const struct node *n, int i) {
    const struct node *a = arg_node_at(s, n, i);
    return !dtype_is_float(n->meta.dtype) ||
           (a ? !dtype_is_float(a->meta.dtype) : n->args[i].kind == ARG_INT);
}

static bool fold(const struct pass *s, const struct node *n, node_id *out) {
    double x[MAX_PARAMS] = {0}, v;
    const struct op_info *op = op_info(n->op);
    int k = 0;
    if (op->class != POINTWISE || !same_types(s, n)) return false;
    for (int i = 0; i < n->n_args; i++) {
        char kind = op->params[i].kind;
        if (kind != 'T' && kind != '|') continue;
        if (!constant_value(s, &n->args[i], &x[k])) return false;
        if (fabs(x[k]) >= 0x1p53 && meets_integers(s, n, i)) return false;
        x[k] = as_type(is_cast(n->op) ? DT_F64 : n->meta.dtype, x[k]);
        k++;
    }
    for (int i = 0; i < op->n_params; i++)
        if (op->params[i].kind == 'S' && !is_constant(s, &n->args[i], x[k++] = 1)) return false;
    if (!fold_value(n, x, &v)) return false;
    bool whole = !dtype_is_float(n->meta.dtype);
    struct arg args[] = {arg_ints(s->to, n->meta.size, n->meta.rank),
                         whole ? arg_int(s->to, (int64_t)v) : arg_float(v),
                         arg_dtype(n->meta.dtype)};
    *out = must_call(s, OP_FULL, n, args, 3);
    return true;
}

/* ---- identities ------------------------------------------------------------------------------ */

/* Is one operand the constant that leaves the other as it is? If `swaps`, on either side. */
static bool is_neutral(const struct pass *s, const struct node *n, double constant, bool swaps,
                       node_id *out) {
    int side = is_constant(s, &n->args[1], constant) ? 1 : 0;
    if (side == 0 && !(swaps && is_constant(s, &n->args[0], constant))) return false;
    return n->args[1 - side].kind == ARG_NODE && (*out = n->args[1 - side].node, true);
}

static bool casts(const struct pass *s, struct node *n) {
    const struct node *x = arg_node_at(s, n, 0);
    if (!is_cast(x->op)) return false;
    const struct node *y = arg_node_at(s, x, 0);
    if (!dtype_holds(x->meta.dtype, y->meta.dtype)) return false;
    /* what has the type anyway, and is not gone, stores a permutation in its order */
    if (x->meta.dtype == y->meta.dtype) return false;
    n->args[0] = x->args[0]; /* the inner cast changed no value */
    return true;
}

/* view(view(x)) reads x; so does view(unsqueeze(x)), which only adds a dimension of 1. */
static bool views(const struct pass *s, struct node *n) {
    const struct node *x = arg_node_at(s, n, 0);
    if (x->op != OP_VIEW && x->op != OP_UNSQUEEZE && x->op != OP_SQUEEZE) return false;
    n->args[0] = x->args[0];
    return true;
}

static bool permutes(const struct pass *s, struct node *n) {
    const struct node *x = arg_node_at(s, n, 0);
    if (x->op != OP_PERMUTE) return false;
    ex dims[WS_MAX_RANK];
    for (int i = 0; i < n->meta.rank; i++)
        dims[i] = x->args[1].ints.at[ex_value(s->to->ex, n->args[1].ints.at[i])];
    n->args[0] = x->args[0];
    n->args[1] = arg_ints(s->to, dims, n->meta.rank);
    return true;
}

/* Rewrite n over what its operand was made of, until that no longer helps. */
static void skip_operands(const struct pass *s, struct node *n) {
    static bool (*const skip[OP_COUNT])(const struct pass *, struct node *) = {
        [OP_CAST] = casts, [OP_CONVERT] = casts, [OP_VIEW] = views, [OP_PERMUTE] = permutes};
    while (skip[n->op] && skip[n->op](s, n)) {}
}

/* Identities: does n yield one of its operands unchanged, if that has its type and sizes? */
typedef bool identity(const struct pass *s, const struct node *n, node_id *out);

static bool is_operand(const struct pass *s, const struct node *n, node_id *out) {
    return *out = n->args[0].node, true;
}

static bool keeps_order(const struct pass *s, const struct node *n, node_id *out) {
    for (int i = 0; i < n->meta.rank; i++)
        if (ex_value(s->to->ex, n->args[1].ints.at[i]) != i) return false;
    return is_operand(s, n, out);
}

static bool chooses_one(const struct pass *s, const struct node *n, node_id *out) {
    return n->args[1].kind == ARG_NODE && n->args[2].kind == ARG_NODE &&
           n->args[1].node == n->args[2].node && (*out = n->args[1].node, true);
}

/* -(-x) */
static bool is_twice_negated(const struct pass *s, const struct node *n, node_id *out) {
    const struct node *x = arg_node_at(s, n, 0);
    return x->op == OP_NEG && is_operand(s, x, out);
}

/* relu(relu(x)) */
static bool is_done_before(const struct pass *s, const struct node *n, node_id *out) {
    return arg_node_at(s, n, 0)->op == n->op && is_operand(s, n, out);
}

static bool adds_nothing(const struct pass *s, const struct node *n, node_id *out) {
    double nothing = dtype_is_float(n->meta.dtype) ? -0.0 : 0;
    return is_constant(s, &n->args[2], 1) && is_neutral(s, n, nothing, true, out);
}

static bool takes_nothing(const struct pass *s, const struct node *n, node_id *out) {
    return is_neutral(s, n, 0, false, out);
}

static bool is_times_one(const struct pass *s, const struct node *n, node_id *out) {
    return is_neutral(s, n, 1, true, out);
}

/* x / 1, x ** 1 */
static bool is_by_one(const struct pass *s, const struct node *n, node_id *out) {
    return is_neutral(s, n, 1, false, out);
}

static identity *const identities[OP_COUNT] = {
    [OP_CAST] = is_operand,     [OP_CONVERT] = is_operand, [OP_VIEW] = is_operand,
    [OP_EXPAND] = is_operand,   [OP_SLICE] = is_operand,   [OP_SQUEEZE] = is_operand,
    [OP_PERMUTE] = keeps_order, [OP_WHERE] = chooses_one,  [OP_NEG] = is_twice_negated,
    [OP_RELU] = is_done_before, [OP_ADD] = adds_nothing,   [OP_SUB] = takes_nothing,
    [OP_MUL] = is_times_one,    [OP_DIV] = is_by_one,      [OP_POW] = is_by_one,
};

static bool is_unchanged(const struct pass *s, const struct node *n, node_id *out) {
    return identities[n->op] && identities[n->op](s, n, out) &&
           meta_same(&n->meta, &node_at(s, *out)->meta);
}

/* ---- common subexpressions ------------------------------------------------------------------- */

static void put(struct buf *b, const void *p, size_t n) { buf_write(b, p, n); }

static struct buf node_key(const struct pass *s, const struct node *n) {
    struct buf b = buf_new(s->to->arena);
    put(&b, &n->op, sizeof n->op);
    for (int i = 0; i < n->n_args; i++) {
        const struct arg *a = &n->args[i];
        put(&b, &a->kind, sizeof a->kind);
        switch (a->kind) {
        case ARG_NONE: break;
        case ARG_NODE: put(&b, &a->node, sizeof a->node); break;
        case ARG_INT: put(&b, &a->i, sizeof a->i); break;
        case ARG_FLOAT: put(&b, &a->f, sizeof a->f); break;
        case ARG_BOOL: put(&b, &a->b, sizeof a->b); break;
        case ARG_DTYPE: put(&b, &a->dtype, sizeof a->dtype); break;
        case ARG_STR: put(&b, a->s, strlen(a->s) + 1); break;
        case ARG_GRAPH: put(&b, &a->graph, sizeof a->graph); break;
        case ARG_INTS:
            put(&b, &a->ints.n, sizeof a->ints.n);
            put(&b, a->ints.at, a->ints.n * sizeof(ex));
            break;
        case ARG_NODES:
            put(&b, &a->nodes.n, sizeof a->nodes.n);
            put(&b, a->nodes.at, a->nodes.n * sizeof(node_id));
            break;
        }
    }
    return b;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static node_id simplify_node(struct pass *s, const struct graph *from, node_id id,
                             const node_id *map) {
    struct node n = from->nodes.at[id];
    const struct arg *old = n.args;
    node_id out;
    uint64_t seen;
    if (n.op == OP_INPUT) return graph_copy(s->to, from, id, map);
    n.args = NEW_ARRAY(s->to->arena, struct arg, n.n_args);
    for (int i = 0; i < n.n_args; i++) n.args[i] = arg_map(s->to, &old[i], map);
    skip_operands(s, &n);
    struct diag d = diag_new(s->to->arena);
    if (!graph_meta(s->to, n.op, n.args, n.where, &d, &n.meta))
        graph_refused(s->to, "simplify", &d);
    if (is_unchanged(s, &n, &out)) return out;
    bool folded = fold(s, &n, &out);
    struct buf key = node_key(s, folded ? node_at(s, out) : &n);
    if (map_get(&s->seen, key.p, key.n, &seen)) return (node_id)seen;
    if (!folded) out = graph_push(s->to, n, n.name);
    map_put(&s->seen, key.p, key.n, out);
    return out;
}

/* A node as it is, unless there is an equal one. */
static node_id join_node(struct pass *s, const struct graph *from, node_id id, const node_id *map) {
    struct node n = from->nodes.at[id];
    const struct arg *old = n.args;
    uint64_t seen;
    n.args = NEW_ARRAY(s->to->arena, struct arg, n.n_args);
    for (int i = 0; i < n.n_args; i++) n.args[i] = arg_map(s->to, &old[i], map);
    struct diag d = diag_new(s->to->arena);
    if (!graph_meta(s->to, n.op, n.args, n.where, &d, &n.meta)) graph_refused(s->to, "join", &d);
    struct buf key = node_key(s, &n);
    if (map_get(&s->seen, key.p, key.n, &seen)) return (node_id)seen;
    node_id out = graph_push(s->to, n, n.name);
    map_put(&s->seen, key.p, key.n, out);
    return out;
}

/* Only what the outputs need, and every input. */
static struct graph *drop_dead(const struct graph *from) {
    struct graph *to = graph_like(from);
    uint32_t *uses = graph_use_counts(from);
    node_id *map = NEW_ARRAY(from->arena, node_id, from->nodes.n);
    for (uint32_t i = from->nodes.n; i-- > 0;) {
        const struct node *n = &from->nodes.at[i];
        for (int k = 0; !uses[i] && k < n->n_args; k++) {
            const node_id *at;
            int count = arg_nodes(&n->args[k], &at);
            while (count--) uses[at[count]]--;
        }
    }
    for (uint32_t i = 0; i < from->nodes.n; i++)
        if (uses[i] || from->nodes.at[i].op == OP_INPUT) map[i] = graph_copy(to, from, i, map);
    for (uint32_t i = 0; i < from->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[from->outputs.at[i]]);
    return to;
}

static struct graph *simplify_body(struct graph *g, const void *ctx) { return graph_simplify(g); }

struct graph *graph_simplify(struct graph *g) {
    struct pass s = {graph_like(g), map_new(g->arena)};
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    for (uint32_t i = 0; i < g->nodes.n; i++) map[i] = simplify_node(&s, g, i, map);
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(s.to->arena, &s.to->outputs, map[g->outputs.at[i]]);
    struct graph *out = drop_dead(s.to);
    loop_renew_bodies(out, simplify_body, NULL);
    return out;
}

struct joining *joining_new(struct graph *to) {
    struct joining *j = NEW(to->arena, struct joining);
    *j = (struct joining){{to, map_new(to->arena)}};
    return j;
}

void joining_add(struct joining *j, const struct graph *g, const node_id *inputs,
                 node_id *outputs) {
    node_id *map = NEW_ARRAY(j->pass.to->arena, node_id, g->nodes.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) map[g->inputs.at[i].node] = inputs[i];
    for (node_id i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op != OP_INPUT) map[i] = join_node(&j->pass, g, i, map);
    for (uint32_t i = 0; i < g->outputs.n; i++) outputs[i] = map[g->outputs.at[i]];
}

/* Over the inputs of the first; the outputs of all. */
static struct graph *join_all(const struct graph *const *graphs, int n) {
    const struct graph *first = graphs[0];
    struct graph *to = graph_like(first);
    struct joining *j = joining_new(to);
    node_id *inputs = NEW_ARRAY(to->arena, node_id, first->inputs.n);
    for (uint32_t i = 0; i < first->inputs.n; i++)
        inputs[i] = graph_copy(to, first, first->inputs.at[i].node, NULL);
    for (int k = 0; k < n; k++) {
        node_id *outputs = NEW_ARRAY(to->arena, node_id, graphs[k]->outputs.n);
        joining_add(j, graphs[k], inputs, outputs);
        for (uint32_t i = 0; i < graphs[k]->outputs.n; i++)
            vec_push(to->arena, &to->outputs, outputs[i]);
    }
    return to;
}

struct graph *graph_join(const struct graph *a, const struct graph *b) {
    return join_all((const struct graph *const[]){a, b}, 2);
}

struct graph *graph_share(const struct graph *g) {
    return join_all(&g, 1);
}
