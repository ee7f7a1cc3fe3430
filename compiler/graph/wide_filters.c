/* wide_filters.c: outputs that lie beside each other, as filters of one convolution.
 *
 *   %c = convolution(%x, %w, %b)                     # %w: f32[16, 32, 7], %c: f32[N, 16, 70]
 *   ->  %v = cat([pad(%w, 0, 1), pad(%w, 1, 0)], ..)            # f32[32, 32, 8]: filter 2*f + q
 *       %y = convolution(%x, %v, stride=[2])                    # f32[N, 32, 35]
 *       %c = view(permute(view(%y, [N, 16, 2, 35]), ..), [N, 16, 70]) + view(%b, [16, 1])
 *
 * Output 2*o + q reads from element 2*o on what tap t - q multiplies, and zeros beyond its taps. A
 * product on matrix units copies each window tap by tap, from the image that all windows share: of
 * few filters that takes longer than to multiply. Windows of two outputs are 8 taps for 2 * 7, in
 * tiles of twice as many columns, of which an eighth are zeros: 32 channels, 3 x 5 x 7, in 16
 * filters take an H200 1823 us, in 96 for 2 x 3 outputs 646; 3 x 7 in 32 filters 2152, in 128 for
 * four 1418; 48, 3 x 3 x 3, in 48 filters 3439, in 96 2004.
 *
 * A transposed convolution without strides is one whose taps run the other way.
 *
 * What is multiplied by the zeros has to be finite: an infinity makes NaN of the outputs beside
 * those that it belongs to.
 *
 * Pays where copying is most of it: what each way takes says whoever asks for it, of the
 * convolution alone. Needs: a captured, simplified graph. Keeps: values, but for roundings. */
#include <math.h>

#include "graph/decompose.h"

enum { MOST_SPATIAL = 3, MOST_COLUMNS = 128, MOST_TOGETHER = 8 };

/* A convolution of one group, and how many outputs are filters, along each dimension. */
struct wide {
    int spatial;
    int64_t filters, channels;
    int64_t taps[MOST_SPATIAL], stride[MOST_SPATIAL], size[MOST_SPATIAL], padding[MOST_SPATIAL];
    int64_t together[MOST_SPATIAL];
};

static bool find_dimension(const struct graph *g, const struct node *n, int k, struct wide *t) {
    const struct meta *w = &g->nodes.at[n->args[1].node].meta;
    uint32_t i = (uint32_t)k;
    t->stride[k] = arg_entry(g, &n->args[3], i, 1);
    t->padding[k] = arg_entry(g, &n->args[4], i, 0);
    t->together[k] = 1;
    if (!ex_is_const(g->ex, w->size[2 + k], &t->taps[k])) return false;
    if (!ex_is_const(g->ex, n->meta.size[n->meta.rank - t->spatial + k], &t->size[k])) return false;
    if (arg_entry(g, &n->args[5], i, 1) != 1) return false;
    if (!n->args[6].b) return true;
    t->padding[k] = t->taps[k] - 1 - t->padding[k];
    return t->stride[k] == 1 && t->padding[k] >= 0 && arg_entry(g, &n->args[7], i, 0) == 0;
}

static bool find_convolution(const struct graph *g, const struct node *n, struct wide *t) {
    if (n->op != OP_CONVOLUTION || n->meta.dtype != DT_F32) return false;
    const struct meta *x = &g->nodes.at[n->args[0].node].meta;
    const struct meta *w = &g->nodes.at[n->args[1].node].meta;
    t->spatial = (int)arg_number(g, &n->args[9]);
    if (x->dtype != DT_F32 || w->dtype != DT_F32 || n->args[8].i != ex_const(g->ex, 1))
        return false;
    bool turned = n->args[6].b;
    if (!ex_is_const(g->ex, w->size[turned], &t->filters) ||
        !ex_is_const(g->ex, w->size[!turned], &t->channels))
        return false;
    for (int k = 0; k < t->spatial; k++)
        if (!find_dimension(g, n, k, t)) return false;
    return true;
}

/* Taps of a window, and outputs. */
static double taps_of(const struct wide *t) {
    double taps = 1;
    for (int k = 0; k < t->spatial; k++)
        taps *= (double)(t->taps[k] + t->stride[k] * (t->together[k] - 1));
    return taps;
}

static int64_t outputs_of(const struct wide *t) {
    int64_t outputs = 1;
    for (int k = 0; k < t->spatial; k++) outputs *= t->together[k];
    return outputs;
}

/* Pairs of f16 are as exact as f32 from a depth of 512 on (kernel/matrix.c), of terms that count.
 */
static bool may_be_wide(const struct wide *t, enum precision precision) {
    enum { OF_PAIRS = 512 };
    double depth = (double)t->channels, all = depth * taps_of(t);
    for (int k = 0; k < t->spatial; k++) depth *= (double)t->taps[k];
    return precision == PRECISION_TF32 || depth >= OF_PAIRS || all < OF_PAIRS;
}

/* ---- what is made of it ---------------------------------------------------------------------- */

/* w [F, C, K..] with filters of each of t->together[k] outputs along dimension k. */
static node_id shifted_filters(struct build *b, const struct wide *t, node_id w, int k) {
    struct exprs *p = b->g->ex;
    node_id at[MOST_TOGETHER];
    for (int64_t q = 0; q < t->together[k]; q++) {
        ex around[2 * MOST_SPATIAL];
        for (int d = 0; d < 2 * t->spatial; d++) around[d] = ex_const(p, 0);
        int first = 2 * (t->spatial - 1 - k); /* paddings of the last dimension come first */
        around[first] = ex_const(p, q * t->stride[k]);
        around[first + 1] = ex_const(p, (t->together[k] - 1 - q) * t->stride[k]);
        node_id v = call(b, OP_CONSTANT_PAD, arg_node(w),
                         arg_ints(b->g, around, 2 * (uint32_t)t->spatial), arg_int(b->g, 0));
        at[q] = call(b, OP_UNSQUEEZE, arg_node(v), arg_int(b->g, 1));
    }
    return join_dims(b, concat_many(b, at, (uint32_t)t->together[k], 1), 0);
}

/* The filters of all of them, whose taps run forward. */
static node_id wide_filters(struct build *b, const struct node *n, const struct wide *t,
                            node_id w) {
    ex dims[MOST_SPATIAL];
    for (int k = 0; k < t->spatial; k++) dims[k] = ex_const(b->g->ex, 2 + k);
    if (n->args[6].b) {
        w = move_dim(b, w, 1, 0);
        w = call(b, OP_FLIP, arg_node(w), arg_ints(b->g, dims, (uint32_t)t->spatial));
    }
    for (int k = 0; k < t->spatial; k++)
        if (t->together[k] > 1) w = shifted_filters(b, t, w, k);
    return w;
}

static node_id convolve_widely(struct build *b, const struct node *n, const struct wide *t,
                               const node_id *map) {
    struct exprs *p = b->g->ex;
    uint32_t dims = (uint32_t)t->spatial;
    ex stride[MOST_SPATIAL], padding[MOST_SPATIAL], one[MOST_SPATIAL], none[MOST_SPATIAL];
    for (int k = 0; k < t->spatial; k++) {
        stride[k] = ex_const(p, t->stride[k] * t->together[k]);
        padding[k] = ex_const(p, t->padding[k]);
        one[k] = ex_const(p, 1), none[k] = ex_const(p, 0);
    }
    node_id y =
        call(b, OP_CONVOLUTION, arg_node(map[n->args[0].node]),
             arg_node(wide_filters(b, n, t, map[n->args[1].node])), arg_none(),
             arg_ints(b->g, stride, dims), arg_ints(b->g, padding, dims), arg_ints(b->g, one, dims),
             arg_bool(false), arg_ints(b->g, none, dims), n->args[8], n->args[9]);
    int channels = n->meta.rank - t->spatial - 1;
    for (int k = t->spatial; k-- > 0;) { /* innermost filters are of the last dimension */
        ex together = ex_const(p, t->together[k]);
        if (t->together[k] == 1) continue;
        y = split_dim(b, y, channels, ex_div(p, meta_of(b, y)->size[channels], together), together);
        y = join_dims(b, move_dim(b, y, channels + 1, channels + 2 + k), channels + 1 + k);
    }
    if (n->args[2].kind != ARG_NODE) return y;
    struct meta column = {.rank = (uint8_t)(t->spatial + 1)};
    for (int k = 0; k <= t->spatial; k++) column.size[k] = ex_const(p, k ? 1 : t->filters);
    return binary(b, OP_ADD, y, reshape(b, map[n->args[2].node], &column));
}

/* ---- whether it pays ------------------------------------------------------------------------- */

/* A way to have the convolution, and what an output takes so, in the time that its share of a tap
 * takes to be copied: an H200's L2 hands out 5.4 TB/s, in which time f32 is multiplied by 74
 * filters, TF32 by 148. Both go on at a time, and the longer one counts for most. */
struct way {
    int64_t together[MOST_SPATIAL];
    double takes;
};

enum { MOST_WAYS = 3 };

struct ways {
    struct way best[MOST_WAYS]; /* those that take least, first */
    int n;
};

static double takes(const struct wide *t, enum precision precision) {
    double each = precision == PRECISION_TF32 ? 148 : 74, taps = taps_of(t);
    return hypot(taps / (double)outputs_of(t), taps * (double)t->filters / each);
}

static void keep_way(struct ways *w, const struct wide *t, double takes) {
    int at = w->n < MOST_WAYS ? w->n++ : MOST_WAYS;
    for (; at > 0 && w->best[at - 1].takes > takes; at--)
        if (at < MOST_WAYS) w->best[at] = w->best[at - 1];
    if (at == MOST_WAYS) return;
    w->best[at].takes = takes;
    memcpy(w->best[at].together, t->together, sizeof t->together);
}

/* Those with so many outputs along dimension k and those behind it that take less than `most`. */
static void find_ways(struct wide *t, int k, enum precision precision, double most,
                      struct ways *w) {
    if (k == t->spatial) {
        double all = takes(t, precision);
        if (all < most && may_be_wide(t, precision)) keep_way(w, t, all);
        return;
    }
    for (int64_t n = 1; n <= MOST_TOGETHER; n++) {
        t->together[k] = n;
        bool fits = outputs_of(t) * t->filters <= MOST_COLUMNS || n == 1;
        if (fits && t->size[k] % n == 0) find_ways(t, k + 1, precision, most, w);
    }
    t->together[k] = 1;
}

/* Convolution n of g by itself, or t's way of it. */
static struct graph *alone(const struct graph *g, node_id n, const struct wide *t) {
    struct graph *a = graph_like(g);
    node_id c = graph_copy_alone(a, g, n);
    if (t) {
        struct build b = {.g = a, .where = g->nodes.at[n].where};
        struct node copy = a->nodes.at[c];
        node_id *map = NEW_ARRAY(a->arena, node_id, a->nodes.n);
        for (node_id i = 0; i < a->nodes.n; i++) map[i] = i;
        c = convolve_widely(&b, &copy, t, map);
    }
    vec_push(a->arena, &a->outputs, c);
    return graph_prune(a);
}

/* Has convolution n a way that takes much less? Then t is of that. */
static bool pays(const struct graph *g, node_id n, double least_work, graph_us_fn *us, void *ctx,
                 struct wide *t) {
    const double LESS = 0.9, ROUGHLY = 1.2; /* of the time; of what is worth asking for */
    struct ways w = {0};
    const struct meta *m = &g->nodes.at[n].meta;
    if (!find_convolution(g, &g->nodes.at[n], t) || 2 * t->filters > MOST_COLUMNS) return false;
    double outputs = (double)ex_hint(g->ex, meta_numel(g->ex, m));
    if (outputs * taps_of(t) * (double)t->channels < least_work) return false;
    find_ways(t, 0, g->convolutions, ROUGHLY * takes(t, g->convolutions), &w);
    if (!w.n) return false;
    double least = LESS * us(alone(g, n, NULL), ctx);
    int best = MOST_WAYS;
    for (int i = 0; i < w.n; i++) {
        memcpy(t->together, w.best[i].together, sizeof t->together);
        double all = us(alone(g, n, t), ctx);
        if (all < least) least = all, best = i;
    }
    if (best < MOST_WAYS) memcpy(t->together, w.best[best].together, sizeof t->together);
    return best < MOST_WAYS;
}

struct graph *graph_widen_filters(struct graph *g, double least, graph_us_fn *us, void *ctx) {
    uint32_t n = g->nodes.n;
    struct wide *wide = NEW_ARRAY(g->arena, struct wide, n);
    bool *pay = NEW_ARRAY(g->arena, bool, n), any = false;
    for (node_id i = 0; i < n; i++) any |= pay[i] = pays(g, i, least, us, ctx, &wide[i]);
    if (!any) return g;
    struct graph *to = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, n);
    for (node_id i = 0; i < n; i++) {
        struct build b = {.g = to, .where = g->nodes.at[i].where};
        map[i] = pay[i] ? convolve_widely(&b, &g->nodes.at[i], &wide[i], map)
                        : graph_copy(to, g, i, map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return to;
}
