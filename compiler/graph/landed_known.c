/* landed_known.c: sums of what lands by an index that the graph itself says, as interpolation's
 * gradients do: each place takes the sources that are known to land there, and compares none.
 *
 *   index_add(zeros [4, C], 0, arange(8) // 2, source [8, C])
 * ->
 *   sum(view(source, [4, 2, C]), 1)
 *
 *   index_add(zeros [5, C], 0, arange(8) * 5 // 8, source [8, C]), of which 2, 2, 1, 2, 1 land
 * ->
 *   first = (arange(6) * 16 + 8) // 10        0, 2, 4, 5, 7, 8
 *   source[first[:5]] + where(first[:5] + 1 < first[1:], source[min(first[:5] + 1, 7)], 0)
 *
 * Needs: an index of integers that no input decides, which never falls. It is computed here, in
 * integers alone: what floats are rounded to is the device's business. */
#include "graph/decompose.h"
#include "graph/graph.h"

enum {
    MOST_SOURCES = 1 << 16, /* that are computed here */
    MOST_EACH = 8,          /* of a place: each is a load */
};

/* first[p]: how many sources land before place p; first[places] is of all. */
struct known {
    int64_t n, places, *first;
    int64_t most, least; /* sources of a place */
};

/* ---- what the index is ----------------------------------------------------------------------- */

/* Is what n comes to known without an input, in integers? */
static bool is_known(const struct graph *g, const struct node *n) {
    enum op_class class = op_info(n->op)->class;
    bool serves = n->op == OP_ARANGE || n->op == OP_FULL || class == POINTWISE || class == VIEW ||
                  class == COMPOSITE;
    for (int d = 0; d < n->meta.rank && serves; d++)
        serves = ex_is_const(g->ex, n->meta.size[d], NULL);
    return serves && !dtype_is_float(n->meta.dtype);
}

/* The graph of `index` alone; NULL: an input has a say in it. */
static struct graph *alone(const struct graph *g, node_id index) {
    bool *needed = NEW_ARRAY(g->arena, bool, index + 1);
    node_id *map = NEW_ARRAY(g->arena, node_id, index + 1);
    needed[index] = true;
    for (node_id i = index + 1; i-- > 0;) {
        const struct node *n = &g->nodes.at[i];
        if (!needed[i]) continue;
        if (!is_known(g, n)) return NULL;
        for (int k = 0; k < n->n_args; k++) {
            if (n->args[k].kind == ARG_NODES) return NULL;
            if (n->args[k].kind == ARG_NODE) needed[n->args[k].node] = true;
        }
    }
    struct graph *to = graph_like(g);
    for (node_id i = 0; i <= index; i++)
        if (needed[i]) map[i] = graph_copy(to, g, i, map);
    vec_push(to->arena, &to->outputs, map[index]);
    return to;
}

/* Counts where sources land; false: they do not come in the order of their places. */
static bool count_first(const struct value *at, struct known *out) {
    int64_t before = 0, place = 0;
    out->most = 0, out->least = INT64_MAX;
    for (int64_t i = 0; i < out->n; i++) {
        if (at->w[i] < before || at->w[i] >= out->places) return false;
        before = at->w[i];
        while (place <= before) out->first[place++] = i;
    }
    while (place <= out->places) out->first[place++] = out->n;
    for (int64_t p = 0; p < out->places; p++) {
        int64_t each = out->first[p + 1] - out->first[p];
        if (each > out->most) out->most = each;
        if (each < out->least) out->least = each;
    }
    return true;
}

static bool find_known(struct build *b, node_id index, ex places, struct known *out) {
    const struct exprs *p = b->g->ex;
    const struct meta *m = meta_of(b, index);
    *out = (struct known){0};
    if (m->rank != 1 || !ex_is_const(p, m->size[0], &out->n) ||
        !ex_is_const(p, places, &out->places))
        return false;
    if (out->n > MOST_SOURCES || out->places > MOST_SOURCES || !out->n || !out->places)
        return false;
    struct graph *own = alone(b->g, index);
    struct diag d = diag_new(b->g->arena);
    struct value at = {0};
    if (!own || !graph_eval(own, NULL, &at, &d)) return false;
    out->first = NEW_ARRAY(b->g->arena, int64_t, out->places + 1);
    bool ok = at.w && at.n == out->n && count_first(&at, out);
    value_free(&at);
    return ok;
}

/* ---- as a formula ---------------------------------------------------------------------------- */

/* first[p] = min(max((mul * p + add) // div, 0), n), but for the ends: the first and the last place
 * have what lies beyond them, too, where an index is clamped. */
struct line {
    int64_t mul, add, div;
    bool but_first, but_last; /* first[0] is 0, first[places] is n, whatever the line says */
};

static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static int64_t on_line(const struct known *k, const struct line *l, int64_t p) {
    int64_t at = floor_of(l->mul * p + l->add, l->div);
    return at < 0 ? 0 : at > k->n ? k->n : at;
}

/* A line of this slope, if there is one; ends: its ends count, too. */
static bool fits(const struct known *k, int64_t mul, int64_t div, bool ends, struct line *out) {
    int64_t low = INT64_MIN, high = INT64_MAX; /* low <= add < high */
    if (mul <= 0 || div <= 0) return false;
    for (int64_t p = !ends; p <= k->places - !ends; p++) {
        int64_t from = div * k->first[p] - mul * p, end = from + div;
        if (k->first[p] > 0 && from > low) low = from;
        if (k->first[p] < k->n && end < high) high = end;
    }
    if (low >= high || (low == INT64_MIN && high == INT64_MAX)) return false;
    *out = (struct line){mul, low == INT64_MIN ? high - 1 : low, div, false, false};
    out->but_first = on_line(k, out, 0) != 0;
    out->but_last = on_line(k, out, k->places) != k->n;
    return true;
}

/* Slopes are those of all sources to all places, of the distances between them, and what is between
 * the ends. */
static bool find_line(const struct known *k, struct line *out) {
    int64_t n = k->n, places = k->places, from = 0, to = places;
    while (from < places && !k->first[from]) from++;
    while (to > from && k->first[to] == n) to--;
    int64_t rise = k->first[to] - k->first[from];
    for (int ends = 1; ends >= 0; ends--)
        if (fits(k, rise, to - from, ends, out) || fits(k, 2 * n, 2 * places, ends, out) ||
            fits(k, 2 * (n - 1), 2 * (places - 1), ends, out) || fits(k, 1, 1, ends, out))
            return true;
    return false;
}

static node_id plus(struct build *b, node_id x, int64_t v) {
    return v ? call(b, OP_ADD, arg_node(x), arg_int(b->g, v)) : x;
}

/* first[p + `by`] of all places p, as a vector. */
static node_id first_of(struct build *b, const struct known *k, const struct line *l, int64_t by) {
    node_id place = iota(b, ex_const(b->g->ex, k->places)), at = place, end;
    int64_t add = l->add + l->mul * by;
    if (l->mul != 1) at = call(b, OP_MUL, arg_node(at), arg_int(b->g, l->mul));
    at = plus(b, at, add);
    if (l->div != 1) at = call(b, OP_FLOOR_DIVIDE, arg_node(at), arg_int(b->g, l->div));
    if (add < 0) at = call(b, OP_MAXIMUM, arg_node(at), arg_int(b->g, 0));
    if (floor_of(l->mul * (k->places - 1) + add, l->div) > k->n)
        at = call(b, OP_MINIMUM, arg_node(at), arg_int(b->g, k->n));
    if (!by && l->but_first) {
        end = call(b, OP_GT, arg_node(place), arg_int(b->g, 0));
        at = call(b, OP_WHERE, arg_node(end), arg_node(at), arg_int(b->g, 0));
    }
    if (by && l->but_last) {
        end = call(b, OP_LT, arg_node(place), arg_int(b->g, k->places - 1));
        at = call(b, OP_WHERE, arg_node(end), arg_node(at), arg_int(b->g, k->n));
    }
    return at;
}

/* ---- the sums -------------------------------------------------------------------------------- */

/* source[.., first + j, ..], or 0 where a place has no more than j sources. */
static node_id landed(struct build *b, const struct known *k, const struct line *l, node_id source,
                      int dim, int64_t j) {
    node_id first = first_of(b, k, l, 0), at = plus(b, first, j);
    bool beyond = false;
    for (int64_t p = 0; p < k->places; p++) beyond |= k->first[p] + j >= k->n;
    if (beyond) at = call(b, OP_MINIMUM, arg_node(at), arg_int(b->g, k->n - 1));
    node_id x = index_one(b, source, at, dim);
    if (j < k->least) return x;
    struct meta column = {.rank = meta_of(b, source)->rank};
    for (int d = 0; d < column.rank; d++) column.size[d] = ex_const(b->g->ex, 1);
    column.size[dim] = ex_const(b->g->ex, k->places);
    node_id lands = binary(b, OP_LT, plus(b, first, j), first_of(b, k, l, 1));
    return call(b, OP_WHERE, arg_node(reshape(b, lands, &column)), arg_node(x), arg_int(b->g, 0));
}

static node_id sum_known(struct build *b, const struct known *k, const struct line *l,
                         node_id source, int dim) {
    if (k->most == k->least) { /* and so the sources of a place lie together */
        ex places = ex_const(b->g->ex, k->places), each = ex_const(b->g->ex, k->most);
        return call(b, OP_SUM, arg_node(split_dim(b, source, dim, places, each)),
                    arg_int(b->g, dim + 1), arg_bool(false), arg_dtype(meta_of(b, source)->dtype));
    }
    node_id sum = landed(b, k, l, source, dim, 0);
    for (int64_t j = 1; j < k->most; j++)
        sum = binary(b, OP_ADD, sum, landed(b, k, l, source, dim, j));
    return sum;
}

/* Sums have the order of what they are made of, not that in which an index_add has its sources. */
node_id land_known(struct build *b, node_id index, ex places, node_id source, int dim) {
    struct known k;
    struct line l;
    if (!find_known(b, index, places, &k)) return KEEP;
    if (k.most != k.least && (k.most > MOST_EACH || !find_line(&k, &l))) return KEEP;
    const struct node *n = &b->g->nodes.at[source];
    enum dtype t = n->meta.dtype;
    if (n->op == OP_CONVERT) n = &b->g->nodes.at[n->args[0].node];
    if (n->op != OP_PERMUTE) return sum_known(b, &k, &l, source, dim);
    struct arg order = n->args[1];
    source = cast(b, n->args[0].node, t);
    node_id sum = sum_known(b, &k, &l, source, (int)ex_value(b->g->ex, order.ints.at[dim]));
    return call(b, OP_PERMUTE, arg_node(sum), order);
}
