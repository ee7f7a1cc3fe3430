/* totals_first.c: sums and means over all positions of a convolution's result, taken of what it
 * reads.
 *
 *   %c = convolution(%x, %w, %b, padding=[1])      # 3x3, %x: f32[N, C, H, W]
 *   %m = mean(%c, [2, 3])
 *   ->  %s = the means of the H x W elements that each of the 3 x 3 taps reads   # [N, C, 3, 3]
 *       %c = convolution(%s, %w, %b)                                             # [N, F, 1, 1]
 *       %m = mean(%c, [2, 3])
 *
 * A result is linear in x: over all positions of a dimension a tap sums up the elements that it
 * reads there, multiplied with the same weight. These are all but a few at the edges, other ones
 * for each tap: what all taps read is summed up once, and what some read beside it is added, so
 * that nothing cancels. One pass over x then takes the place of the convolution. A transposed one
 * has its taps the other way round, and any stride. What multiplies by numbers, or adds them to
 * what has a mean, may stand between. In f32 alone, as pools_first.c says.
 *
 * Pays where the convolution has so much to multiply that it takes longer than more launches do.
 *
 * Needs: a captured, simplified graph. Keeps: values, but for rounding. */
#include "graph/decompose.h"

#define NONE UINT32_MAX

enum { MOST_SPATIAL = 3, MOST_TAPS = 16 };

/* Of one dimension that is summed up: tap t reads the elements from[t] to end[t] - 1, and all taps
 * those from `first` to `last` - 1. */
struct taps {
    int64_t n, from[MOST_TAPS], end[MOST_TAPS], first, last;
};

struct total {
    node_id convolution; /* NONE: there is none */
    int spatial;
    bool summed[MOST_SPATIAL];
    struct taps taps[MOST_SPATIAL];
    double positions; /* that are summed up */
    bool mean;
};

static const struct node *at(const struct graph *g, node_id n) { return &g->nodes.at[n]; }

/* What tap t of dimension k reads, of so many positions `out` of the result; false: steps that are
 * not one, too many taps, or none of what all read. */
static bool find_taps(const struct graph *g, const struct node *c, int k, int64_t out,
                      struct taps *r) {
    uint32_t i = (uint32_t)k;
    int64_t stride = arg_entry(g, &c->args[3], i, 1), padding = arg_entry(g, &c->args[4], i, 0),
            apart = arg_entry(g, &c->args[5], i, 1), size;
    bool transposed = c->args[6].b;
    const struct meta *x = &at(g, c->args[0].node)->meta, *w = &at(g, c->args[1].node)->meta;
    if (!ex_is_const(g->ex, w->size[2 + k], &r->n) || r->n < 1 || r->n > MOST_TAPS) return false;
    if (!ex_is_const(g->ex, x->size[x->rank - (int)arg_number(g, &c->args[9]) + k], &size))
        return false;
    if (!transposed && stride != 1) return false;
    r->first = 0, r->last = size;
    for (int64_t t = 0; t < r->n; t++) {
        int64_t from = t * apart - padding, end = from + out;
        if (transposed) {
            from = -floor_div(t * apart - padding, stride);
            end = floor_div(out - 1 + padding - t * apart, stride) + 1;
        }
        r->from[t] = from < 0 ? 0 : from;
        r->end[t] = end > size ? size : end;
        if (r->from[t] > r->first) r->first = r->from[t];
        if (r->end[t] < r->last) r->last = r->end[t];
    }
    return r->first < r->last;
}

static bool is_number(const struct arg *a) { return a->kind == ARG_INT || a->kind == ARG_FLOAT; }

/* The operand of what multiplies by a number, or, for a mean, adds one. */
static node_id linear_operand(const struct node *n, bool mean) {
    bool scales = n->op == OP_MUL || n->op == OP_DIV, shifts = n->op == OP_ADD || n->op == OP_SUB;
    if (n->meta.dtype != DT_F32 || !(scales || (shifts && mean))) return NONE;
    if (n->args[0].kind == ARG_NODE && is_number(&n->args[1])) return n->args[0].node;
    if (n->op == OP_MUL && is_number(&n->args[0])) return n->args[1].node;
    return NONE;
}

/* Which dimensions of its operand n sums up; 0: it does something else. */
static uint32_t summed_dims(const struct graph *g, const struct node *n, bool *mean) {
    int rank =
        n->op == OP_INPUT || n->args[0].kind != ARG_NODE ? 0 : at(g, n->args[0].node)->meta.rank;
    *mean = n->op != OP_SUM;
    if (n->meta.dtype != DT_F32 || !rank) return 0;
    if (n->op == OP_SUM || n->op == OP_MEAN) return dims_of(g, n, "dim", rank);
    if (n->op != OP_ADAPTIVE_AVG_POOL) return 0;
    uint32_t dims = 0;
    for (uint32_t k = 0; k < n->args[1].ints.n; k++)
        if (n->args[1].ints.at[k] == ex_const(g->ex, 1))
            dims |= 1U << (rank - (int)n->args[1].ints.n + (int)k);
    return dims;
}

static double elements(const struct graph *g, const struct meta *m) {
    return (double)ex_hint(g->ex, meta_numel(g->ex, m));
}

/* Each element of the input, or of the output, meets all taps of a group's channels. */
static double multiplied(const struct graph *g, const struct node *c) {
    const struct meta *x = &at(g, c->args[0].node)->meta, *w = &at(g, c->args[1].node)->meta;
    return elements(g, c->args[6].b ? x : &c->meta) * elements(g, w) /
           (double)ex_hint(g->ex, w->size[0]);
}

static struct total find_total(const struct graph *g, const struct node *n, const uint32_t *uses,
                               double least) {
    struct total none = {.convolution = NONE}, t = none;
    uint32_t dims = summed_dims(g, n, &t.mean);
    if (!dims) return none;
    node_id id = n->args[0].node;
    for (node_id next; (next = linear_operand(at(g, id), t.mean)) != NONE; id = next)
        if (uses[id] != 1) return none;
    const struct node *c = at(g, id);
    if (c->op != OP_CONVOLUTION || c->meta.dtype != DT_F32 || uses[id] != 1) return none;
    if (at(g, c->args[0].node)->meta.dtype != DT_F32 || multiplied(g, c) < least) return none;
    bool any = false;
    t.convolution = id;
    t.spatial = (int)arg_number(g, &c->args[9]);
    t.positions = 1;
    for (int k = 0; k < t.spatial; k++) {
        int dim = c->meta.rank - t.spatial + k;
        int64_t out;
        if (!(dims >> dim & 1) || !ex_is_const(g->ex, c->meta.size[dim], &out)) continue;
        if (!find_taps(g, c, k, out, &t.taps[k]) || t.taps[k].n >= out) continue;
        any = t.summed[k] = true;
        t.positions *= (double)out;
    }
    return any ? t : none;
}

/* ---- what is made of it ---------------------------------------------------------------------- */

static node_id sum_of(struct build *b, node_id x, int dim, int64_t from, int64_t end) {
    struct exprs *p = b->g->ex;
    return reduce(b, OP_SUM, cut(b, x, dim, ex_const(p, from), ex_const(p, end)), one_dim(b, dim),
                  true);
}

/* Do all taps read the same? */
static bool reads_alike(const struct taps *r) {
    bool alike = true;
    for (int64_t t = 0; t < r->n; t++) alike &= r->from[t] == r->first && r->end[t] == r->last;
    return alike;
}

/* The sums of what each tap reads along dimension k of x, in place of that dimension. */
static node_id sums_of_taps(struct build *b, node_id x, int dim, const struct taps *r,
                            bool backward) {
    node_id each[MOST_TAPS], all = sum_of(b, x, dim, r->first, r->last);
    for (int64_t t = 0; t < r->n; t++) {
        node_id sum = all;
        if (r->from[t] < r->first)
            sum = binary(b, OP_ADD, sum, sum_of(b, x, dim, r->from[t], r->first));
        if (r->end[t] > r->last)
            sum = binary(b, OP_ADD, sum, sum_of(b, x, dim, r->last, r->end[t]));
        each[backward ? r->n - 1 - t : t] = sum;
    }
    return concat_many(b, each, (uint32_t)r->n, dim);
}

/* What the convolution reads, summed up: first where all taps read all, at once, then innermost
 * dimensions first. */
static node_id sums_of_input(struct build *b, const struct node *c, const struct total *t,
                             node_id x) {
    struct exprs *p = b->g->ex;
    int first = meta_of(b, x)->rank - t->spatial;
    ex dims[MOST_SPATIAL];
    uint32_t alike = 0;
    for (int k = 0; k < t->spatial; k++) {
        const struct taps *r = &t->taps[k];
        if (!t->summed[k] || !reads_alike(r)) continue;
        if (ex_const(p, r->last - r->first) != meta_of(b, x)->size[first + k])
            x = cut(b, x, first + k, ex_const(p, r->first), ex_const(p, r->last));
        dims[alike++] = ex_const(p, first + k);
    }
    if (alike) x = reduce(b, OP_SUM, x, arg_ints(b->g, dims, alike), true);
    for (int k = t->spatial - 1; k >= 0; k--)
        if (t->summed[k] && !reads_alike(&t->taps[k]))
            x = sums_of_taps(b, x, first + k, &t->taps[k], c->args[6].b);
    if (t->mean) x = scalar(b, OP_MUL, x, 1 / t->positions);
    if (!alike) return x;
    ex size[WS_MAX_RANK];
    const struct meta *m = meta_of(b, x);
    for (int d = 0; d < m->rank; d++) {
        int k = d - first;
        bool one = k >= 0 && t->summed[k] && reads_alike(&t->taps[k]);
        size[d] = one ? ex_const(p, t->taps[k].n) : m->size[d];
    }
    return call(b, OP_EXPAND, arg_node(x), arg_ints(b->g, size, (uint32_t)m->rank));
}

/* Entry k of a list of the convolution's, or, where it is summed up, `summed`. */
static struct arg entries(struct build *b, const struct total *t, const struct arg *list,
                          int64_t absent, const int64_t *summed) {
    ex out[MOST_SPATIAL];
    for (int k = 0; k < t->spatial; k++) {
        int64_t v = t->summed[k] ? summed[k] : arg_entry(b->g, list, (uint32_t)k, absent);
        out[k] = ex_const(b->g->ex, v);
    }
    return arg_ints(b->g, out, (uint32_t)t->spatial);
}

/* The convolution, whose windows have all of a dimension that is summed up. */
static node_id convolve_sums(struct build *b, const struct node *c, const struct total *t,
                             const node_id *map) {
    static const int64_t ones[MOST_SPATIAL] = {1, 1, 1}, zeros[MOST_SPATIAL] = {0, 0, 0};
    int64_t padding[MOST_SPATIAL] = {0};
    for (int k = 0; k < t->spatial; k++)
        if (c->args[6].b) padding[k] = t->taps[k].n - 1;
    struct arg bias = c->args[2];
    if (bias.kind == ARG_NODE) {
        bias = arg_node(map[bias.node]);
        if (!t->mean) bias = arg_node(scalar(b, OP_MUL, bias.node, t->positions));
    }
    return call(b, OP_CONVOLUTION, arg_node(sums_of_input(b, c, t, map[c->args[0].node])),
                arg_node(map[c->args[1].node]), bias, entries(b, t, &c->args[3], 1, ones),
                entries(b, t, &c->args[4], 0, padding), entries(b, t, &c->args[5], 1, ones),
                c->args[6], entries(b, t, &c->args[7], 0, zeros), c->args[8], c->args[9]);
}

/* Node n of `from`, of what its operand has become, `x`, whose shape may be another. */
static node_id put_again(struct build *b, const struct node *n, node_id was, node_id x,
                         const node_id *map) {
    struct arg args[16];
    WS_ASSERT(n->n_args <= 16);
    for (int i = 0; i < n->n_args; i++) {
        args[i] = arg_map(b->g, &n->args[i], map);
        if (n->args[i].kind == ARG_NODE && n->args[i].node == was) args[i] = arg_node(x);
    }
    return build_call(b, n->op, args, n->n_args);
}

/* Total n of the convolution in the new graph, and what stands between. */
static node_id put_total(struct build *b, const struct graph *g, node_id id, const struct total *t,
                         const node_id *map) {
    enum { MOST = 64 };
    node_id chain[MOST], x;
    int n = 0;
    for (x = id; x != t->convolution; n++) {
        WS_ASSERT(n < MOST);
        chain[n] = x;
        x = x == id ? at(g, x)->args[0].node : linear_operand(at(g, x), t->mean);
    }
    node_id was = t->convolution, out = convolve_sums(b, at(g, was), t, map);
    for (; n-- > 0; was = chain[n]) out = put_again(b, at(g, chain[n]), was, out, map);
    return out;
}

static struct graph *rebuild(struct graph *g, double least, bool both) {
    uint32_t n = g->nodes.n;
    const uint32_t *uses = graph_use_counts(g);
    struct total *totals = NEW_ARRAY(g->arena, struct total, n);
    bool *moved = NEW_ARRAY(g->arena, bool, n), any = false;
    for (node_id i = 0; i < n; i++) {
        totals[i] = find_total(g, at(g, i), uses, least);
        if (totals[i].convolution == NONE) continue;
        any = true;
        for (node_id x = at(g, i)->args[0].node;; x = linear_operand(at(g, x), totals[i].mean)) {
            moved[x] = true;
            if (x == totals[i].convolution) break;
        }
    }
    if (!any) return g;
    struct graph *to = graph_like(g);
    struct build b = {.g = to};
    node_id *map = NEW_ARRAY(g->arena, node_id, n);
    for (node_id i = 0; i < n; i++) {
        bool total = totals[i].convolution != NONE;
        if (both || (!total && !moved[i])) map[i] = graph_copy(to, g, i, map);
        if (!total) continue;
        b.where = at(g, i)->where;
        node_id out = put_total(&b, g, i, &totals[i], map);
        map[i] = both ? graph_op2(to, OP_MINIMUM, map[i], out) : out;
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return to;
}

struct graph *graph_totals_first(struct graph *g, double least) {
    return rebuild(g, least, false);
}

struct graph *graph_totals_either_way(struct graph *g, double least) {
    return rebuild(g, least, true);
}
