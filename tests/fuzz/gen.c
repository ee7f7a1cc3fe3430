/* gen.c: random graphs out of the operator table.
 *
 *   graph(%x: bf16[3, 17][1, 3], %y: bf16[17]) {
 *     %softplus: bf16[3, 17] = softplus(%x, beta=1, threshold=20)
 *     %mul: bf16[3, 17] = mul(%softplus, %y)
 *     %logsumexp: bf16[3, 1] = logsumexp(%mul, dim=[1], keepdim=True)
 *     return %logsumexp, %softplus
 *   }
 *
 * The table says what an operator takes, so an argument is chosen by its kind: a tensor is one of
 * the graph or a new input, a dimension is one of the first tensor's, and so on. Only operators
 * whose sizes must fit each other (products, norms, views) have a function of their own that
 * proposes arguments. Whether a proposal is legal is graph_call's decision: what it refuses is
 * dropped and another operator is tried.
 *
 * Values are kept where rounding does not decide the result, most of the time: logarithms and roots
 * get positive operands, exponentials small ones, divisors are not near zero. */
#include <string.h>

#include "tests/fuzz/gen_impl.h"

/* ---- calls ----------------------------------------------------------------------------------- */

static bool apply(struct gen *x, const struct call *c, node_id *out) {
    struct diag d = diag_new(x->g->arena);
    return graph_call(x->g, c->op, c->args, c->n, (struct span){0}, &d, out);
}

static node_id apply_to(struct gen *x, enum op op, node_id n) {
    struct call c = {.op = op, .args = {arg_node(n)}, .n = 1};
    node_id out;
    return apply(x, &c, &out) ? out : n;
}

static node_id apply_number(struct gen *x, enum op op, node_id n, struct arg number) {
    struct call c = {.op = op, .args = {arg_node(n), number}, .n = 2};
    node_id out;
    return apply(x, &c, &out) ? out : n;
}

static bool is_float(const struct gen *x, node_id n) {
    return dtype_is_float(meta_at(x, n)->dtype);
}

/* Away from zero: |x| + 0.5, and odd integers. */
static node_id nonzero(struct gen *x, node_id n) {
    if (meta_at(x, n)->dtype == DT_BOOL) return n;
    if (!is_float(x, n)) return apply_number(x, OP_BITWISE_OR, n, arg_int(x->g, 1));
    return apply_number(x, OP_ADD, apply_to(x, OP_ABS, n), arg_float(0.5));
}

/* Parameter i of op gets a tensor of which the operator is well defined and well conditioned. */
static node_id tame(struct gen *x, enum op op, int i, node_id n) {
    bool integer = !is_float(x, n);
    switch ((int)op) {
    case OP_LOG:
    case OP_LOG2:
    case OP_LOG10:
    case OP_LOG1P:
    case OP_SQRT:
    case OP_RSQRT:
    case OP_RECIPROCAL: return percent(x, 85) ? nonzero(x, n) : n;
    case OP_DIV: return i == 1 && percent(x, 85) ? nonzero(x, n) : n;
    case OP_ADDCDIV: return i == 2 && percent(x, 85) ? nonzero(x, n) : n;
    case OP_FMOD:
    case OP_REMAINDER:
    case OP_FLOOR_DIVIDE: return i == 1 && (integer || percent(x, 70)) ? nonzero(x, n) : n;
    case OP_EXP:
    case OP_EXP2:
    case OP_EXPM1:
    case OP_TAN: return !integer && percent(x, 60) ? apply_to(x, OP_TANH, n) : n;
    case OP_ASIN:
    case OP_ACOS:
    case OP_ATANH:
    case OP_SINH:
    case OP_COSH: return !integer && percent(x, 80) ? apply_to(x, OP_TANH, n) : n;
    case OP_ACOSH: return percent(x, 85) ? apply_number(x, OP_ADD, nonzero(x, n), arg_float(1)) : n;
    case OP_BCE: return i == 0 ? apply_to(x, OP_SIGMOID, n) : n;
    case OP_XLOGY: return i == 1 && percent(x, 85) ? nonzero(x, n) : n;
    case OP_KL_DIV: return i == 1 && percent(x, 85) ? nonzero(x, n) : n;
    case OP_POISSON_NLL_LOSS: return percent(x, 85) ? nonzero(x, n) : n;
    case OP_GAUSSIAN_NLL_LOSS: return i == 2 && percent(x, 85) ? nonzero(x, n) : n;
    case OP_POW:
        if (i == 0) return percent(x, 85) && !integer ? nonzero(x, n) : n;
        return integer ? apply_to(x, OP_ABS, n) : apply_to(x, OP_TANH, n);
    case OP_CUMPROD:
    case OP_PROD: return !integer && percent(x, 80) ? nonzero(x, apply_to(x, OP_TANH, n)) : n;
    case OP_BATCH_NORM: return i == 2 ? nonzero(x, n) : n;
    }
    return n;
}

/* ---- arguments by kind ----------------------------------------------------------------------- */

static struct arg random_number(struct gen *x, node_id first) {
    static const double floats[] = {0.5, 2.0, -1.5, 1.0, 3.25, 0.125};
    bool whole = !is_float(x, first) || percent(x, 40);
    if (whole) return arg_int(x->g, 1 + below(x, 4));
    return arg_float(floats[below(x, sizeof floats / sizeof *floats)]);
}

static int64_t random_dim(struct gen *x, const struct meta *m) {
    int n = m->rank ? m->rank : 1;
    return below(x, 2 * n) - n;
}

static struct arg random_dims(struct gen *x, const struct meta *m, bool optional) {
    ex dims[WS_MAX_RANK];
    uint32_t n = 0;
    if (optional && percent(x, 20)) return arg_none();
    if (percent(x, 60)) return arg_int(x->g, random_dim(x, m));
    for (int i = 0; i < m->rank; i++)
        if (percent(x, 60)) dims[n++] = ex_const(x->g->ex, i);
    return arg_ints(x->g, dims, n);
}

static struct arg random_string(struct gen *x, const struct param *p) {
    static const char *const reductions[] = {"none", "mean", "sum"};
    bool gelu = !strcmp(p->name, "approximate");
    return arg_str(gelu ? below(x, 2) ? "tanh" : "none" : reductions[below(x, 3)]);
}

/* Numbers of the table's defaults are plain. */
static struct arg default_of(struct gen *x, const struct param *p) {
    return p->def.kind == ARG_INT ? arg_int(x->g, (int64_t)p->def.f) : p->def;
}

/* An argument for parameter i; tensors after the first broadcast with it. */
static struct arg random_arg(struct gen *x, enum op op, int i, node_id *first) {
    const struct param *p = &op_info(op)->params[i];
    if (p->kind == 'T' || p->kind == '|') {
        bool none = p->optional && percent(x, 50);
        if (none) return arg_none();
        if (p->kind == '|' && i && percent(x, 35)) return random_number(x, *first);
        node_id n = tame(x, op, i, i ? companion(x, *first) : any_tensor(x));
        if (i == 0) *first = n;
        return arg_node(n);
    }
    const struct meta *m = meta_at(x, *first);
    bool keep = p->has_default && percent(x, 60);
    switch (p->kind) {
    case 'D': return p->list ? random_dims(x, m, p->optional) : arg_int(x->g, random_dim(x, m));
    case 'B': return arg_bool(strcmp(p->name, "inplace") && below(x, 2));
    case 'S': return keep ? default_of(x, p) : random_number(x, *first);
    case 'F': return default_of(x, p);
    case 'I': return arg_int(x->g, below(x, 5) - 2);
    case 'Y': return p->optional && percent(x, 85) ? arg_none() : arg_dtype(any_dtype(x));
    case 's': return random_string(x, p);
    }
    return arg_none();
}

static struct call call_by_table(struct gen *x, enum op op) {
    const struct op_info *info = op_info(op);
    struct call c = {.op = op, .n = info->n_params};
    node_id first = 0;
    for (int i = 0; i < c.n; i++) c.args[i] = random_arg(x, op, i, &first);
    return c;
}

/* ---- the graph ------------------------------------------------------------------------------- */

bool gen_excludes(enum op op) {
    return op == OP_INPUT || op == OP_SHIFT_LEFT || op == OP_SHIFT_RIGHT || op == OP_EMPTY ||
           op == OP_EMPTY_LIKE || op == OP_RAND || op == OP_RANDN || op == OP_RAND_LIKE ||
           op == OP_RANDN_LIKE || op == OP_NDTR /* gelu's: wrong where it is small, see ops.def */
           || op == OP_ERROR_ROUND || op == OP_ERROR_PRODUCT || op == OP_ERROR_QUOTIENT ||
           op == OP_ERROR_FLIP         /* of errors, which are not negative */
           || op == OP_CONVOLVE_PHASES /* has no derivative, since no user calls it */
           || op == OP_MM_FLOAT8       /* of factors in float8: tests/fuzz/cases_products.c */
           || op == OP_GIVE_GRADIENT || op == OP_TANGENT /* of users' own backward functions */
           ||
           op_info(op)->class == LOOP; /* made of what is unrolled: tests/unit/test_graph_loop.c */
}

/* Classes by weight, then an operator of that class. */
static enum op random_op(struct gen *x) {
    static const enum op_class classes[] = {POINTWISE, POINTWISE, POINTWISE, REDUCE,
                                            SCAN,      VIEW,      MATMUL,    MOVE,
                                            COMPOSITE, COMPOSITE, COMPOSITE, COMPOSITE};
    enum op_class class =
        percent(x, 2) ? CREATE : classes[below(x, sizeof classes / sizeof *classes)];
    for (;;) {
        enum op op = (enum op)below(x, OP_COUNT);
        if (op_info(op)->class == class && !gen_excludes(op)) return op;
    }
}

/* What is compared with an extremum of itself, or of what `where` shows of it. */
static void add_peak(struct gen *x) {
    static const enum op comparisons[] = {OP_EQ, OP_NE, OP_GE, OP_LT};
    node_id of = any_tensor(x), shown = of, peak, hit, out;
    struct call below_zero = {.op = OP_LT, .args = {arg_node(of), arg_int(x->g, 0)}, .n = 2};
    if (percent(x, 30) && apply(x, &below_zero, &hit)) {
        struct call w = {
            .op = OP_WHERE, .args = {arg_node(hit), arg_node(of), random_number(x, of)}, .n = 3};
        if (!apply(x, &w, &shown)) return;
    }
    struct call extremum = {
        .op = below(x, 2) ? OP_AMAX : OP_AMIN,
        .args = {arg_node(shown), random_dims(x, meta_at(x, shown), false), arg_bool(true)},
        .n = 3};
    if (!apply(x, &extremum, &peak)) return;
    struct call compare = {
        .op = comparisons[below(x, 4)], .args = {arg_node(of), arg_node(peak)}, .n = 2};
    if (!apply(x, &compare, &hit)) return;
    struct call choose = {
        .op = OP_WHERE, .args = {arg_node(hit), arg_node(of), random_number(x, of)}, .n = 3};
    if (apply(x, &choose, &out)) vec_push(x->g->arena, &x->computed, out);
}

static void add_node(struct gen *x) {
    struct call c;
    node_id out;
    if (percent(x, 4)) return add_peak(x);
    enum op op = random_op(x);
    if (!call_that_fits(x, op, &c)) c = call_by_table(x, op);
    if (!apply(x, &c, &out)) return;
    if (numel_of(x, meta_at(x, out)) > x->most || meta_at(x, out)->rank > 5) return;
    vec_push(x->g->arena, &x->computed, out);
}

/* What nobody uses, the last first, and now and then a node that is used, too. */
static void choose_outputs(struct gen *x) {
    const uint32_t *uses = graph_use_counts(x->g);
    for (uint32_t i = x->computed.n; i-- > 0;) {
        node_id n = x->computed.at[i];
        bool wanted = x->g->outputs.n == 0 || (!uses[n] ? percent(x, 90) : percent(x, 10));
        if (wanted && x->g->outputs.n < MAX_OUTPUTS) vec_push(x->g->arena, &x->g->outputs, n);
    }
}

static struct graph *generated(struct arena *a, uint64_t seed, bool large) {
    static const enum dtype themes[] = {DT_F32,  DT_F32,  DT_F32,  DT_F32, DT_F32,
                                        DT_BF16, DT_BF16, DT_BF16, DT_F16, DT_F16,
                                        DT_F64,  DT_I64,  DT_BOOL, DT_U8,  DT_I8};
    struct gen x = {.r = {seed},
                    .g = graph_new(a, exprs_new(a), NULL),
                    .large = large,
                    .most = large ? INT64_C(1) << 30 : 20000};
    x.theme = themes[below(&x, sizeof themes / sizeof *themes)];
    x.mixed = percent(&x, 15);
    uint32_t n = 1 + (uint32_t)below(&x, MAX_NODES);
    for (int tries = 0; x.computed.n < n && (tries < 200 || !x.computed.n); tries++) add_node(&x);
    choose_outputs(&x);
    return gen_prune(x.g);
}

struct graph *gen_graph(struct arena *a, uint64_t seed) {
    return generated(a, seed, false);
}

struct graph *gen_large_graph(struct arena *a, uint64_t seed) {
    return generated(a, seed, true);
}

static void mark_args(const struct node *n, bool *live) {
    for (int i = 0; i < n->n_args; i++) {
        const struct arg *a = &n->args[i];
        if (a->kind == ARG_NODE) live[a->node] = true;
        for (uint32_t k = 0; a->kind == ARG_NODES && k < a->nodes.n; k++)
            live[a->nodes.at[k]] = true;
    }
}

struct graph *gen_prune(const struct graph *g) {
    struct graph *out = graph_like(g);
    bool *live = NEW_ARRAY(g->arena, bool, g->nodes.n);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    for (uint32_t i = 0; i < g->outputs.n; i++) live[g->outputs.at[i]] = true;
    for (uint32_t n = g->nodes.n; n-- > 0;)
        if (live[n]) mark_args(&g->nodes.at[n], live);
    for (int leaves = 1; leaves >= 0; leaves--)
        for (node_id n = 0; n < g->nodes.n; n++)
            if (live[n] && (g->nodes.at[n].op == OP_INPUT) == leaves)
                map[n] = graph_copy(out, g, n, map);
    for (node_id n = 0; n < out->nodes.n; n++) out->nodes.at[n].origin = n;
    for (uint32_t i = 0; i < out->inputs.n; i++) out->inputs.at[i].init = i;
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &out->outputs, map[g->outputs.at[i]]);
    return out;
}
