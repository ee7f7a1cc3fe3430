/* call.c: applying an operator the way a Python program does.
 *
 *   softmax(%x, -1)   -> bind   {self=%x, dim=-1, dtype=None}
 *                     -> check  dim is an integer, dtype may be None
 *                     -> dims   {self=%x, dim=1, dtype=None}
 *                     -> meta   f32[4, 8]
 *
 * graph_bind does the first step and graph_call the rest. Messages of binding are Python's,
 * "softmax() missing ..."; messages about values name the operator, "softmax: dimension 5 ...". */
#include <math.h>
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/traits.h"

struct call {
    struct graph *g;
    const struct op_info *op;
    struct arg args[MAX_PARAMS];
    struct span where;
    struct diag *d;
};

#define call_fail(c, ...)                                                                          \
    (diag_fail_at((c)->d, WS_WRONG, (c)->g->src, (c)->where, __VA_ARGS__), false)

/* ---- kinds ----------------------------------------------------------------------------------- */

static const char *kind_name(enum arg_kind k) {
    switch (k) {
    case ARG_NONE: return "None";
    case ARG_NODE: return "Tensor";
    case ARG_NODES: return "list of Tensors";
    case ARG_INT: return "int";
    case ARG_INTS: return "list of ints";
    case ARG_FLOAT: return "float";
    case ARG_BOOL: return "bool";
    case ARG_DTYPE: return "dtype";
    case ARG_STR: return "str";
    case ARG_GRAPH: return "graph";
    }
    return "?";
}

static const char *param_kind_name(const struct param *p) {
    switch (p->kind) {
    case 'T': return p->list ? "list of Tensors" : "Tensor";
    case '|': return "Tensor or number";
    case 'I':
    case 'D': return p->list ? "list of ints" : "int";
    case 'S': return "number";
    case 'F': return "float";
    case 'B': return "bool";
    case 'Y': return "dtype";
    case 's': return "str";
    case 'G': return "graph";
    }
    WS_BUG("parameter kind '%c'", p->kind);
}

static bool is_number(enum arg_kind k) { return k == ARG_INT || k == ARG_FLOAT || k == ARG_BOOL; }

/* Make a fit p, turning ints into floats and one integer into a list where Python would; false if
 * it cannot. */
static bool coerce(struct graph *g, const struct param *p, struct arg *a) {
    int64_t v;
    if (a->kind == ARG_NONE) return p->optional;
    if (a->kind == ARG_BOOL && (p->kind == 'I' || p->kind == 'D')) *a = arg_int(g, a->b);
    if (p->list && p->kind != 'T' && a->kind == ARG_INT) *a = arg_ints(g, &a->i, 1);
    switch (p->kind) {
    case 'T': return a->kind == (p->list ? ARG_NODES : ARG_NODE);
    case '|': return a->kind == ARG_NODE || is_number(a->kind);
    case 'I':
    case 'D': return a->kind == (p->list ? ARG_INTS : ARG_INT);
    case 'S': return is_number(a->kind);
    case 'F':
        if (a->kind == ARG_INT && ex_is_const(g->ex, a->i, &v)) *a = arg_float((double)v);
        return a->kind == ARG_FLOAT;
    case 'B': return a->kind == ARG_BOOL;
    case 'Y': return a->kind == ARG_DTYPE;
    case 's': return a->kind == ARG_STR;
    case 'G': return a->kind == ARG_GRAPH;
    }
    return false;
}

/* Defaults live in the operator table, which has no expressions: an ARG_INT there is a plain number
 * in f. */
static struct arg default_of(struct graph *g, const struct param *p) {
    return p->def.kind == ARG_INT ? arg_int(g, (int64_t)p->def.f) : arg_copy(g, &p->def);
}

static bool check_kinds(struct call *c) {
    bool tensor = false, operand = false;
    for (int i = 0; i < c->op->n_params; i++) {
        const struct param *p = &c->op->params[i];
        enum arg_kind given = c->args[i].kind;
        if (!coerce(c->g, p, &c->args[i]))
            return call_fail(c, "%s(): argument '%s' must be %s, not %s", c->op->name, p->name,
                             param_kind_name(p), kind_name(given));
        operand |= p->kind == 'T' || p->kind == '|';
        tensor |= c->args[i].kind == ARG_NODE || c->args[i].kind == ARG_NODES;
    }
    if (operand && !tensor)
        return call_fail(c, "%s(): at least one operand must be a Tensor", c->op->name);
    return true;
}

/* ---- dimensions and bounds ------------------------------------------------------------------- */

/* The tensor whose dimensions D parameters name: the first one; of a list, the first that is not
 * PyTorch's old empty tensor [0]. */
static const struct meta *subject(const struct call *c) {
    const node_id *at;
    for (int i = 0; i < c->op->n_params; i++) {
        int n = arg_nodes(&c->args[i], &at), k = 0;
        while (k + 1 < n && meta_is_nothing(c->g, at[k])) k++;
        if (n) return &c->g->nodes.at[at[k]].meta;
    }
    WS_BUG("%s has a dimension and no tensor", c->op->name);
}

static bool normalize_dim(struct call *c, ex *dim) {
    int rank = subject(c)->rank, n = rank;
    int64_t v;
    if (!ex_is_const(c->g->ex, *dim, &v))
        return call_fail(c, "%s: a dimension must be a constant, not %s", c->op->name,
                         ex_str(c->g->arena, c->g->ex, *dim));
    if (c->op->id == OP_UNSQUEEZE || c->op->id == OP_STACK)
        n++;           /* the new dimension may come last */
    if (n == 0) n = 1; /* PyTorch takes a number for a vector of one */
    if (v < -n || v >= n)
        return call_fail(c, "%s: dimension %lld out of range for a tensor of %d dimension%s",
                         c->op->name, (long long)v, rank, rank == 1 ? "" : "s");
    *dim = ex_const(c->g->ex, v < 0 ? v + n : v);
    return true;
}

static bool normalize_dims(struct call *c) {
    for (int i = 0; i < c->op->n_params; i++) {
        struct arg *a = &c->args[i];
        if (c->op->params[i].kind != 'D') continue;
        if (a->kind == ARG_INT && !normalize_dim(c, &a->i)) return false;
        if (a->kind != ARG_INTS) continue;
        *a = arg_copy(c->g, a);
        uint64_t seen = 0;
        for (uint32_t k = 0; k < a->ints.n; k++) {
            if (!normalize_dim(c, &a->ints.at[k])) return false;
            uint64_t bit = 1ull << ex_value(c->g->ex, a->ints.at[k]);
            if (seen & bit)
                return call_fail(c, "%s: dimension %lld appears twice", c->op->name,
                                 (long long)ex_value(c->g->ex, a->ints.at[k]));
            seen |= bit;
        }
    }
    return true;
}

/* A Python slice bound as 0..size: negative counts from the end, beyond the end is the end. A bound
 * that is one already stays as it is, though nobody tells an expression that a size is not
 * negative.
 */
static ex clamp_bound(struct exprs *p, ex e, ex size) {
    int64_t lo, hi, v;
    if (e == size) return size;
    if (ex_kind(p, e) == EX_MIN && ex_lhs(p, e) == size) return clamp_bound(p, ex_rhs(p, e), size);
    if (ex_kind(p, e) == EX_MIN && ex_rhs(p, e) == size) return clamp_bound(p, ex_lhs(p, e), size);
    if (ex_is_const(p, e, &v) && v < 0) e = ex_add(p, size, e);
    ex_range(p, e, &lo, &hi);
    if (lo < 0) e = ex_max(p, e, ex_const(p, 0));
    ex_range(p, ex_sub(p, size, e), &lo, &hi);
    if (lo >= 0) return e;
    return hi <= 0 ? size : ex_min(p, e, size);
}

static void normalize_slice(struct call *c) {
    struct exprs *p = c->g->ex;
    const struct meta *m = subject(c);
    if (m->rank == 0) return; /* refused by its shape rule */
    ex size = m->size[ex_value(p, c->args[1].i)];
    struct arg *start = &c->args[2], *end = &c->args[3], *step = &c->args[4];
    int64_t n, most = (int64_t)MAX_NUMEL;
    /* a step as long as the dimension is long enough, and its stride has 64 bits */
    if (step->kind == ARG_INT && ex_is_const(p, step->i, &n) && n > most) {
        if (ex_is_const(p, size, &n)) most = n > 1 ? n : 1;
        *step = arg_int(c->g, most);
    }
    *start = arg_ex(start->kind == ARG_NONE ? ex_const(p, 0) : clamp_bound(p, start->i, size));
    *end = arg_ex(end->kind == ARG_NONE ? size : clamp_bound(p, end->i, size));
}

/* What it does not matter how large it is: a diagonal outside of a matrix, a step past the end of a
 * dimension. */
static bool saturates(const char *param) {
    static const char *const names[] = {"diagonal", "offset", "stride", "step"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(param, names[i])) return true;
    return false;
}

/* A number that is compared with values, or with a size by the operator's own rule, as where the
 * steps of a loop begin. */
static bool is_any(const struct op_info *op, const char *param) {
    static const char *const names[] = {"ignore_index", "padding_idx", "divisor_override",
                                        "index",        "shifts",      "first"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(param, names[i])) return true;
    return op->id == OP_NARROW || op->id == OP_SLICE;
}

/* No size, padding or the like is further from 0 than sizes can be: what is made of a few of them
 * has 64 bits. */
static bool bound_number(struct call *c, const struct param *param, ex *at) {
    struct exprs *p = c->g->ex;
    int64_t v;
    if (!ex_is_const(p, *at, &v) || fabs((double)v) <= MAX_NUMEL) return true;
    if (!saturates(param->name)) {
        ex_overflow(p, NULL);
        return call_fail(c, "%s: " TOO_LARGE ": %s is %lld", c->op->name, param->name,
                         (long long)v);
    }
    *at = ex_const(p, (int64_t)copysign(MAX_NUMEL, (double)v));
    return true;
}

static bool bound_numbers(struct call *c) {
    for (int i = 0; i < c->op->n_params; i++) {
        const struct param *param = &c->op->params[i];
        struct arg *a = &c->args[i];
        if (param->kind != 'I' || is_any(c->op, param->name)) continue;
        if (a->kind == ARG_INT && !bound_number(c, param, &a->i)) return false;
        if (a->kind == ARG_INTS) *a = arg_copy(c->g, a);
        for (uint32_t k = 0; a->kind == ARG_INTS && k < a->ints.n; k++)
            if (!bound_number(c, param, &a->ints.at[k])) return false;
    }
    return true;
}

/* Sizes asked for, before anything else is multiplied with them. A -1 may be among them. */
static bool check_sizes(struct call *c) {
    struct exprs *p = c->g->ex;
    for (int i = 0; i < c->op->n_params; i++) {
        const struct arg *a = &c->args[i];
        ex all = ex_const(p, 1);
        double numel = 1;
        int64_t v;
        const char *name = c->op->params[i].name;
        if (c->op->params[i].kind != 'I' || a->kind != ARG_INTS) continue;
        if (saturates(name) || is_any(c->op, name)) continue;
        for (uint32_t k = 0; k < a->ints.n; k++) {
            bool known = ex_is_const(p, a->ints.at[k], &v);
            if (known && v == 0) continue;
            if (known) numel *= fabs((double)v);
            if (numel > MAX_NUMEL || !ex_mul_fits(p, all, a->ints.at[k])) {
                ex_overflow(p, NULL);
                return call_fail(c, "%s: " TOO_LARGE, c->op->name);
            }
            all = ex_mul(p, all, a->ints.at[k]);
        }
    }
    return true;
}

static int random_index(const struct op_info *op) {
    int i;
    if (!op_is_random(op->id)) return -1;
    return op_param(op->id, "index", &i) ? i : -1;
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool has_floats(const struct call *c) {
    const node_id *at;
    for (int i = 0; i < c->op->n_params; i++)
        for (int k = arg_nodes(&c->args[i], &at); k-- > 0;)
            if (dtype_is_float(c->g->nodes.at[at[k]].meta.dtype)) return true;
    return false;
}

/* Weights, which count 1 unless said, of what is made of several products or sums: integers take
 * what stands before the point, as in PyTorch. add() and sub() refuse the others. */
static void cut_weights(struct call *c) {
    if (c->op->class != COMPOSITE || has_floats(c)) return;
    for (int i = 0; i < c->op->n_params; i++) {
        const struct param *p = &c->op->params[i];
        struct arg *a = &c->args[i];
        bool weight = p->kind == 'S' && p->def.kind == ARG_INT && p->def.f == 1;
        if (weight && a->kind == ARG_FLOAT && fabs(a->f) < 0x1p53)
            *a = arg_int(c->g, (int64_t)a->f);
    }
}

/* Arguments as the rules of graph_meta want them. */
static bool normalize(struct call *c) {
    if (!check_kinds(c) || !normalize_dims(c) || !bound_numbers(c) || !check_sizes(c)) return false;
    if (c->op->id == OP_SLICE) normalize_slice(c);
    cut_weights(c);
    return true;
}

static bool make_node(struct call *c, node_id *out) {
    struct graph *g = c->g;
    if (!normalize(c)) return false;
    struct node n = {.op = c->op->id, .n_args = (uint8_t)c->op->n_params, .where = c->where};
    if (!graph_meta(g, n.op, c->args, c->where, c->d, &n.meta)) return false;
    if (n.op == OP_VIEW || n.op == OP_EXPAND)
        c->args[1] = arg_ints(g, n.meta.size, n.meta.rank); /* no -1 is left */
    int64_t index;
    int r = random_index(c->op);
    if (r >= 0 && ex_is_const(g->ex, c->args[r].i, &index) && index >= g->n_random)
        g->n_random = (uint32_t)index + 1;
    n.args = NEW_ARRAY(g->arena, struct arg, n.n_args);
    for (int i = 0; i < n.n_args; i++) n.args[i] = arg_copy(g, &c->args[i]);
    n.origin = g->nodes.n;
    if (ex_overflowed(g->ex)) {
        ex_overflow(g->ex, NULL);
        return call_fail(c, "%s: " TOO_LARGE, c->op->name);
    }
    *out = graph_push(g, n, c->op->name);
    return true;
}

/* Sizes that are too large are refused by a message: nobody leaves on the way. */
static bool apply(struct call *c, node_id *out) {
    struct ex_escape escape = ex_set_escape(c->g->ex, (struct ex_escape){0});
    ex_overflowed(c->g->ex);
    bool ok = make_node(c, out);
    ex_set_escape(c->g->ex, escape);
    return ok;
}

bool graph_call(struct graph *g, enum op op, const struct arg *args, int n_args, struct span where,
                struct diag *d, node_id *out) {
    struct call c = {.g = g, .op = op_info(op), .where = where, .d = d};
    WS_ASSERT(op != OP_INPUT && n_args <= c.op->n_params);
    for (int i = 0; i < c.op->n_params; i++) {
        const struct param *p = &c.op->params[i];
        if (i >= n_args && !p->has_default)
            return call_fail(&c, "%s() missing required argument '%s'", c.op->name, p->name);
        c.args[i] = i < n_args ? args[i] : default_of(g, p);
    }
    return apply(&c, out);
}

/* ---- binding --------------------------------------------------------------------------------- */

/* The other spellings PyTorch takes: numpy's, functional's name of the first operand, and var's
 * older keyword, whose True and False are the corrections 1 and 0. */
static const struct {
    const char *said, *param;
} aliases[] = {
    {"input", "self"},       {"self", "input"},          {"x", "self"},     {"axis", "dim"},
    {"keepdims", "keepdim"}, {"unbiased", "correction"}, {"shape", "size"}, {"ord", "p"},
    {"value", "src"},        {"tensor", "self"}};

const char *call_other_name(const char *said, int nth) {
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++)
        if (!strcmp(aliases[k].said, said) && !nth--) return aliases[k].param;
    return NULL;
}

static int find_param(const struct op_info *op, const char *name) {
    int i;
    if (op_param(op->id, name, &i)) return i;
    const char *other;
    for (int k = 0; (other = call_other_name(name, k)); k++)
        if (op_param(op->id, other, &i)) return i;
    return -1;
}

static bool is_dropped(const struct op_info *op, const char *name) {
    for (int i = 0; i < op->n_dropped; i++)
        if (!strcmp(op->dropped[i], name)) return true;
    return false;
}

/* A required list of integers after which neither anything required nor another integer comes. */
static bool may_spread(const struct op_info *op, int i) {
    const struct param *p = &op->params[i];
    if (!p->list || p->kind == 'T' || p->has_default) return false;
    for (int k = i + 1; k < op->n_params; k++) {
        bool integer = op->params[k].kind == 'I' || op->params[k].kind == 'D';
        if (k != random_index(op) && (integer || !op->params[k].has_default)) return false;
    }
    return true;
}

/* x.view(2, 3): the integers from pos on belong to one list. Returns how many were taken. */
static int take_spread(struct call *c, int i, const struct arg *pos, int n, struct arg *out) {
    int k = 0;
    if (may_spread(c->op, i))
        while (k < n && pos[k].kind == ARG_INT) k++;
    if (k < 2) return *out = pos[0], 1;
    ex *at = NEW_ARRAY(c->g->arena, ex, k);
    for (int e = 0; e < k; e++) at[e] = pos[e].i;
    *out = arg_ints(c->g, at, (uint32_t)k);
    return k;
}

static bool bind_positional(struct call *c, const struct arg *pos, int n_pos, bool *given) {
    int at = 0, first = 0;
    /* arange(end) is arange(0, end) */
    if (c->op->id == OP_ARANGE && n_pos == 1)
        c->args[0] = arg_int(c->g, 0), given[0] = true, first = 1;
    for (int i = first; i < c->op->n_params && at < n_pos; i++) {
        at += take_spread(c, i, pos + at, n_pos - at, &c->args[i]);
        given[i] = true;
    }
    if (at < n_pos)
        return call_fail(c, "%s() takes %d positional argument%s but %d were given", c->op->name,
                         c->op->n_params, c->op->n_params == 1 ? "" : "s", n_pos);
    return true;
}

static bool bind_named(struct call *c, const char *const *names, const struct arg *named, int n,
                       bool *given) {
    for (int k = 0; k < n; k++) {
        int i = find_param(c->op, names[k]);
        if (i < 0 && is_dropped(c->op, names[k])) continue;
        if (i < 0)
            return call_fail(c, "%s() got an unexpected keyword argument '%s'", c->op->name,
                             names[k]);
        if (given[i])
            return call_fail(c, "%s() got multiple values for argument '%s'", c->op->name,
                             c->op->params[i].name);
        c->args[i] = named[k];
        given[i] = true;
    }
    return true;
}

/* The next random tensor's index. */
static struct arg random_number(struct graph *g) {
    ex k = ex_const(g->ex, g->n_random);
    if (g->random_base == EX_NONE) return arg_ex(k);
    g->n_random++; /* a symbolic index does not count itself */
    return arg_ex(ex_add(g->ex, g->random_base, k));
}

static bool fill_missing(struct call *c, const bool *given) {
    int r = random_index(c->op);
    for (int i = 0; i < c->op->n_params; i++) {
        const struct param *p = &c->op->params[i];
        if (given[i]) continue;
        if (i == r)
            c->args[i] = random_number(c->g);
        else if (p->has_default)
            c->args[i] = default_of(c->g, p);
        else
            return call_fail(c, "%s() missing required argument '%s'", c->op->name, p->name);
    }
    return true;
}

bool graph_bind(struct graph *g, enum op op, const struct arg *pos, int n_pos,
                const char *const *names, const struct arg *named, int n_named, struct span where,
                struct diag *d, node_id *out) {
    struct call c = {.g = g, .op = op_info(op), .where = where, .d = d};
    bool given[MAX_PARAMS] = {0};
    WS_ASSERT(op != OP_INPUT);
    return bind_positional(&c, pos, n_pos, given) && bind_named(&c, names, named, n_named, given) &&
           fill_missing(&c, given) && apply(&c, out);
}
