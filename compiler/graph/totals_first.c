/* totals_first.c: sums and means of a convolution's result, taken of what it reads.
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
 * has its taps the other way round, and any stride.
 *
 *   %c = convolution(%x, %w, %b)                   # 3x3
 *   %p = avg_pool(%c, [2])
 *   ->  %v = the means of the 2 x 2 filters that are %w moved by 0 or 1 along each dimension  # 4x4
 *       %p = convolution(%x, %v, %b, stride=[2])
 *
 * The mean of neighbours is what the mean of filters makes, a filter that reaches as much further
 * and goes on by what the pool goes on by: of 16 taps for a quarter of the positions, not 9. Behind
 * a transposed one of the pool's own stride all phases are one.
 *
 * What multiplies by numbers, or by a tensor of one element, may stand between, and what adds such
 * to what has a mean. In f32 alone, as pools_first.c says.
 *
 * Pays where the convolution has so much to multiply that it takes longer than more launches do,
 * and a pool's filters less.
 *
 * Needs: a captured, simplified graph. Keeps: values, but for rounding. */
#include "graph/decompose.h"
#include "graph/graph_impl.h"

enum { MOST_SPATIAL = 3, MOST_TAPS = 16 };

/* Of one dimension that is summed up: tap t reads the elements from[t] to end[t] - 1, and all taps
 * those from `first` to `last` - 1. */
struct taps {
    int64_t n, from[MOST_TAPS], end[MOST_TAPS], first, last;
};

/* Of one dimension whose windows have means: the pool's length; the filters', of means that are
 * `step` apart from number `first` on; what else the convolution becomes, and how long its result
 * is. */
struct wide {
    int64_t pool, taps, first, step, stride, padding, size;
};

struct total {
    node_id convolution; /* NO_NODE: there is none */
    int spatial;
    bool summed[MOST_SPATIAL];
    struct taps taps[MOST_SPATIAL];
    double positions; /* that are summed up */
    bool mean, windows;
    struct wide wide[MOST_SPATIAL]; /* windows */
};

/* What tap t of dimension k reads, of so many positions `out` of the result; false: steps that are
 * not one, too many taps, or none of what all read. */
static bool find_taps(const struct graph *g, const struct node *c, int k, int64_t out,
                      struct taps *r) {
    uint32_t i = (uint32_t)k;
    int64_t stride = arg_entry(g, &c->args[3], i, 1), padding = arg_entry(g, &c->args[4], i, 0),
            apart = arg_entry(g, &c->args[5], i, 1), size;
    bool transposed = c->args[6].b;
    const struct meta *x = &graph_node(g, c->args[0].node)->meta,
                      *w = &graph_node(g, c->args[1].node)->meta;
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

/* A number, or a tensor of no dimensions. */
static bool is_one(const struct graph *g, const struct arg *a) {
    return a->kind == ARG_INT || a->kind == ARG_FLOAT ||
           (a->kind == ARG_NODE && graph_node(g, a->node)->meta.rank == 0);
}

/* The operand of what multiplies by a number, or, for a mean, adds one. */
static node_id linear_operand(const struct graph *g, node_id id, bool mean) {
    const struct node *n = graph_node(g, id);
    bool scales = n->op == OP_MUL || n->op == OP_DIV, shifts = n->op == OP_ADD || n->op == OP_SUB;
    if (n->meta.dtype != DT_F32 || !n->meta.rank || !(scales || (shifts && mean))) return NO_NODE;
    if (n->args[0].kind == ARG_NODE && is_one(g, &n->args[1])) return n->args[0].node;
    bool either = n->op == OP_MUL || n->op == OP_ADD;
    return either && n->args[1].kind == ARG_NODE && is_one(g, &n->args[0]) ? n->args[1].node
                                                                           : NO_NODE;
}

/* Which dimensions of its operand n sums up; 0: it does something else. */
static uint32_t summed_dims(const struct graph *g, const struct node *n, bool *mean) {
    int rank = n->op == OP_INPUT || n->args[0].kind != ARG_NODE
                   ? 0
                   : graph_node(g, n->args[0].node)->meta.rank;
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
    const struct meta *x = &graph_node(g, c->args[0].node)->meta,
                      *w = &graph_node(g, c->args[1].node)->meta;
    return elements(g, c->args[6].b ? x : &c->meta) * elements(g, w) /
           (double)ex_hint(g->ex, w->size[0]);
}

/* The convolution that n reads, perhaps by way of what is linear; NO_NODE: others read it, too. */
static node_id find_convolution(const struct graph *g, const struct node *n, const uint32_t *uses,
                                bool mean, double least) {
    node_id id = n->args[0].node;
    for (node_id next; (next = linear_operand(g, id, mean)) != NO_NODE; id = next)
        if (uses[id] != 1) return NO_NODE;
    const struct node *c = graph_node(g, id);
    if (c->op != OP_CONVOLUTION || c->meta.dtype != DT_F32 || uses[id] != 1) return NO_NODE;
    bool f32 = graph_node(g, c->args[0].node)->meta.dtype == DT_F32;
    return f32 && multiplied(g, c) >= least ? id : NO_NODE;
}

static bool find_sums(const struct graph *g, const struct node *c, uint32_t dims, struct total *t) {
    bool any = false;
    t->positions = 1;
    for (int k = 0; k < t->spatial; k++) {
        int dim = c->meta.rank - t->spatial + k;
        int64_t out;
        if (!(dims >> dim & 1) || !ex_is_const(g->ex, c->meta.size[dim], &out)) continue;
        if (!find_taps(g, c, k, out, &t->taps[k]) || t->taps[k].n >= out) continue;
        any = t->summed[k] = true;
        t->positions *= (double)out;
    }
    return any;
}

/* Dimension k of pool n behind convolution c. */
static bool find_wide(const struct graph *g, const struct node *c, const struct node *n, int k,
                      struct wide *d) {
    const struct meta *x = &graph_node(g, c->args[0].node)->meta,
                      *w = &graph_node(g, c->args[1].node)->meta;
    uint32_t i = (uint32_t)k;
    int spatial = (int)arg_number(g, &c->args[9]);
    int64_t stride = arg_entry(g, &c->args[3], i, 1), padding = arg_entry(g, &c->args[4], i, 0),
            taps, size, out;
    d->pool = arg_entry(g, &n->args[1], i, 1);
    d->stride = arg_entry(g, &n->args[2], i, d->pool);
    d->padding = padding;
    d->first = 0, d->step = 1;
    if (arg_entry(g, &c->args[5], i, 1) != 1 || !ex_is_const(g->ex, w->size[2 + k], &taps) ||
        !ex_is_const(g->ex, x->size[x->rank - spatial + k], &size) ||
        !ex_is_const(g->ex, n->meta.size[n->meta.rank - spatial + k], &out))
        return false;
    d->taps = taps + d->pool - 1;
    d->size = (size + 2 * padding - d->taps) / d->stride + 1;
    if (!c->args[6].b) return stride == 1 && d->size == out;
    /* Element i of the input counts for window j by the mean that is (j - i) stride + padding. */
    int64_t last = floor_div(taps - 1 - padding, stride),
            first = -floor_div(d->pool - 1 + padding, stride);
    if (d->stride != stride || last < first) return false;
    d->taps = last - first + 1;
    d->first = first * stride + padding + d->pool - 1;
    d->step = stride;
    d->stride = 1;
    d->padding = -first;
    d->size = size + first + last;
    return d->size >= out;
}

static bool is_plain_pool(const struct graph *g, const struct node *n) {
    bool plain = n->op == OP_AVG_POOL && n->meta.dtype == DT_F32 && !n->args[4].b &&
                 n->args[6].kind == ARG_NONE && n->args[0].kind == ARG_NODE;
    for (uint32_t k = 0; plain && k < n->args[3].ints.n; k++)
        plain = n->args[3].ints.at[k] == ex_const(g->ex, 0);
    return plain;
}

/* The wider filters of a pool, if they multiply less. */
static bool find_windows(const struct graph *g, const struct node *c, const struct node *n,
                         struct total *t) {
    const double MUCH = 0.75;
    const struct meta *x = &graph_node(g, c->args[0].node)->meta,
                      *w = &graph_node(g, c->args[1].node)->meta;
    double before = multiplied(g, c), after = before;
    if ((int)arg_number(g, &n->args[7]) != t->spatial) return false;
    for (int k = 0; k < t->spatial; k++) {
        if (!find_wide(g, c, n, k, &t->wide[k])) return false;
        int dim = c->meta.rank - t->spatial + k;
        ex taps = w->size[2 + k], size = (c->args[6].b ? x : &c->meta)->size[dim];
        after *= (double)t->wide[k].taps / (double)ex_value(g->ex, taps);
        if (!c->args[6].b) after *= (double)t->wide[k].size / (double)ex_value(g->ex, size);
    }
    return after < before * MUCH;
}

static struct total find_total(const struct graph *g, const struct node *n, const uint32_t *uses,
                               double least) {
    struct total none = {.convolution = NO_NODE}, t = none;
    t.windows = is_plain_pool(g, n);
    uint32_t dims = summed_dims(g, n, &t.mean);
    if (!dims && !t.windows) return none;
    t.convolution = find_convolution(g, n, uses, t.mean, least);
    if (t.convolution == NO_NODE) return none;
    const struct node *c = graph_node(g, t.convolution);
    t.spatial = (int)arg_number(g, &c->args[9]);
    return (t.windows ? find_windows(g, c, n, &t) : find_sums(g, c, dims, &t)) ? t : none;
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

static struct arg list_of(struct build *b, const struct total *t,
                          int64_t (*of)(const struct wide *)) {
    ex out[MOST_SPATIAL];
    for (int k = 0; k < t->spatial; k++) out[k] = ex_const(b->g->ex, of(&t->wide[k]));
    return arg_ints(b->g, out, (uint32_t)t->spatial);
}

static int64_t pool_of(const struct wide *d) { return d->pool; }
static int64_t one_of(const struct wide *d) { return (void)d, 1; }
static int64_t none_of(const struct wide *d) { return (void)d, 0; }
static int64_t stride_of(const struct wide *d) { return d->stride; }
static int64_t padding_of(const struct wide *d) { return d->padding; }

/* Means of a filter at all places where it counts, of which some are wanted. */
static node_id wide_filters(struct build *b, const struct total *t, node_id w) {
    struct exprs *p = b->g->ex;
    ex around[2 * MOST_SPATIAL];
    for (int k = 0; k < t->spatial; k++) {
        int last = t->spatial - 1 - k; /* whose padding comes first */
        around[2 * last] = around[2 * last + 1] = ex_const(p, t->wide[k].pool - 1);
    }
    w = call(b, OP_CONSTANT_PAD, arg_node(w), arg_ints(b->g, around, 2 * (uint32_t)t->spatial),
             arg_int(b->g, 0));
    w = call(b, OP_AVG_POOL, arg_node(w), list_of(b, t, pool_of), list_of(b, t, one_of),
             list_of(b, t, none_of), arg_bool(false), arg_bool(true), arg_none(),
             arg_int(b->g, t->spatial));
    for (int k = 0; k < t->spatial; k++) {
        const struct wide *d = &t->wide[k];
        ex end = ex_const(p, d->first + (d->taps - 1) * d->step + 1);
        if (d->taps == ex_value(p, meta_of(b, w)->size[2 + k])) continue;
        w = call(b, OP_SLICE, arg_node(w), arg_int(b->g, 2 + k), arg_int(b->g, d->first),
                 arg_ex(end), arg_int(b->g, d->step));
    }
    return w;
}

/* The convolution with these filters, as long as pool n's result. */
static node_id convolve_widely(struct build *b, const struct node *c, const struct node *n,
                               const struct total *t, const node_id *map) {
    struct exprs *p = b->g->ex;
    struct arg bias = c->args[2];
    if (bias.kind == ARG_NODE) bias = arg_node(map[bias.node]);
    node_id y = call(b, OP_CONVOLUTION, arg_node(map[c->args[0].node]),
                     arg_node(wide_filters(b, t, map[c->args[1].node])), bias,
                     list_of(b, t, stride_of), list_of(b, t, padding_of), list_of(b, t, one_of),
                     c->args[6], list_of(b, t, none_of), c->args[8], c->args[9]);
    for (int k = 0; k < t->spatial; k++) {
        int dim = n->meta.rank - t->spatial + k;
        if (meta_of(b, y)->size[dim] != n->meta.size[dim])
            y = cut(b, y, dim, ex_const(p, 0), n->meta.size[dim]);
    }
    return y;
}

/* Node n, of what its operand has become, `x`, whose shape may be another. */
static node_id put_again(struct build *b, const struct node *n, node_id was, node_id x,
                         const node_id *map) {
    struct arg args[16];
    WS_ASSERT(n->n_args <= 16);
    for (int i = 0; i < n->n_args; i++) {
        bool is = n->args[i].kind == ARG_NODE && n->args[i].node == was;
        args[i] = is ? arg_node(x) : arg_map(b->g, &n->args[i], map);
    }
    return build_call(b, n->op, args, n->n_args);
}

/* Total n of the convolution in the new graph, and what stands between. */
static node_id put_total(struct build *b, const struct graph *g, node_id id, const struct total *t,
                         const node_id *map) {
    const struct node *n = graph_node(g, id), *c = graph_node(g, t->convolution);
    node_id x = n->args[0].node, *chain = NEW_ARRAY(b->g->arena, node_id, id + 1);
    int links = 0;
    for (; x != t->convolution; x = linear_operand(g, x, t->mean)) chain[links++] = x;
    node_id out = t->windows ? convolve_widely(b, c, n, t, map) : convolve_sums(b, c, t, map);
    for (; links-- > 0; x = chain[links])
        out = put_again(b, graph_node(g, chain[links]), x, out, map);
    return t->windows ? out : put_again(b, n, x, out, map);
}

static struct graph *rebuild(struct graph *g, double least, bool both) {
    uint32_t n = g->nodes.n;
    const uint32_t *uses = graph_use_counts(g);
    struct total *totals = NEW_ARRAY(g->arena, struct total, n);
    bool *moved = NEW_ARRAY(g->arena, bool, n), any = false;
    for (node_id i = 0; i < n; i++) {
        totals[i] = find_total(g, graph_node(g, i), uses, least);
        if (totals[i].convolution == NO_NODE) continue;
        any = true;
        for (node_id x = graph_node(g, i)->args[0].node;;
             x = linear_operand(g, x, totals[i].mean)) {
            moved[x] = true;
            if (x == totals[i].convolution) break;
        }
    }
    if (!any) return g;
    struct graph *to = graph_like(g);
    struct build b = {.g = to};
    node_id *map = NEW_ARRAY(g->arena, node_id, n);
    for (node_id i = 0; i < n; i++) {
        bool total = totals[i].convolution != NO_NODE;
        if (both || (!total && !moved[i])) map[i] = graph_copy(to, g, i, map);
        if (!total) continue;
        b.where = graph_node(g, i)->where;
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
