/* decompose_move.c: the operators that move elements, as cat, pad, flip, gather and index, and as
 * comparisons with positions.
 *
 *   stack([x, y], 1)           cat([unsqueeze(x, 1), unsqueeze(y, 1)], 1)
 *   repeat(x [3], 4)           index(x, [remainder(arange(12), 3)])      an index, not a lookup
 *   index_add(x, 0, i, s)      x + sum over j of (i[j] == position ? s[j] : 0)
 *
 * An index that is arithmetic on arange becomes an index expression when it is lowered. */
#include <string.h>

#include "graph/decompose.h"

static int dim_of(const struct build *b, const struct arg *a) {
    return (int)ex_value(b->g->ex, a->i);
}

static ex number(const struct build *b, int64_t v) { return ex_const(b->g->ex, v); }

struct arg nodes_arg(node_id *at, uint32_t n) {
    struct arg a = {.kind = ARG_NODES};
    a.nodes.at = at;
    a.nodes.n = n;
    return a;
}

node_id iota(struct build *b, ex size) {
    return call(b, OP_ARANGE, arg_int(b->g, 0), arg_ex(size));
}

node_id index_one(struct build *b, node_id x, node_id index, int dim) {
    ex dims[] = {number(b, dim)};
    return call(b, OP_INDEX, arg_node(x), nodes_arg(&index, 1), arg_ints(b->g, dims, 1));
}

node_id cut(struct build *b, node_id x, int dim, ex start, ex end) {
    return call(b, OP_SLICE, arg_node(x), arg_int(b->g, dim), arg_ex(start), arg_ex(end));
}

/* The dimensions of x in another order. */
node_id reorder(struct build *b, node_id x, const int *from) {
    ex dims[WS_MAX_RANK];
    int rank = meta_of(b, x)->rank;
    for (int i = 0; i < rank; i++) dims[i] = number(b, from[i]);
    return call(b, OP_PERMUTE, arg_node(x), arg_ints(b->g, dims, (uint32_t)rank));
}

node_id move_dim(struct build *b, node_id x, int from, int to) {
    int order[WS_MAX_RANK], n = 0;
    for (int i = 0; i < meta_of(b, x)->rank; i++)
        if (i != from) order[n++] = i;
    memmove(order + to + 1, order + to, sizeof *order * (size_t)(n - to));
    order[to] = from;
    return reorder(b, x, order);
}

node_id split_dim(struct build *b, node_id x, int dim, ex outer, ex inner) {
    struct meta m = *meta_of(b, x);
    memmove(&m.size[dim + 1], &m.size[dim], sizeof(ex) * (size_t)(m.rank++ - dim));
    m.size[dim] = outer;
    m.size[dim + 1] = inner;
    return reshape(b, x, &m);
}

node_id join_dims(struct build *b, node_id x, int dim) {
    struct meta m = *meta_of(b, x);
    m.size[dim] = ex_mul(b->g->ex, m.size[dim], m.size[dim + 1]);
    memmove(&m.size[dim + 1], &m.size[dim + 2], sizeof(ex) * (size_t)(m.rank - dim - 2));
    m.rank--;
    return reshape(b, x, &m);
}

static node_id as_vector(struct build *b, node_id x) {
    struct meta flat = {.rank = 1, .size = {meta_numel(b->g->ex, meta_of(b, x))}};
    return reshape(b, x, &flat);
}

/* ---- pieces put together --------------------------------------------------------------------- */

enum { MAX_PIECES = 16 }; /* operands of one cat: a kernel takes so many tensors well */

static node_id concat(struct build *b, node_id *at, uint32_t n, int dim) {
    return n == 1 ? at[0] : call(b, OP_CAT, nodes_arg(at, n), arg_int(b->g, dim));
}

/* At most MAX_PIECES at a time. */
node_id concat_many(struct build *b, node_id *at, uint32_t n, int dim) {
    while (n > MAX_PIECES) {
        uint32_t groups = 0;
        for (uint32_t k = 0; k < n; k += MAX_PIECES)
            at[groups++] = concat(b, at + k, n - k < MAX_PIECES ? n - k : MAX_PIECES, dim);
        n = groups;
    }
    return concat(b, at, n, dim);
}

/* A primitive, unless pieces are empty, of several types or many: those go in two steps. */
node_id expand_cat(struct build *b, const struct node *n) {
    const struct arg *list = &n->args[0];
    node_id *at = NEW_ARRAY(b->g->arena, node_id, list->nodes.n);
    uint32_t full_ones = 0;
    bool alike = true;
    for (uint32_t k = 0; k < list->nodes.n; k++) {
        alike &= meta_of(b, list->nodes.at[k])->dtype == n->meta.dtype;
        if (meta_numel(b->g->ex, meta_of(b, list->nodes.at[k])) != number(b, 0))
            at[full_ones++] = list->nodes.at[k];
    }
    bool plain = alike && full_ones == list->nodes.n;
    if (plain && full_ones > 1 && full_ones <= MAX_PIECES) return KEEP;
    for (uint32_t k = 0; k < full_ones; k++) at[k] = cast(b, at[k], n->meta.dtype);
    return concat_many(b, at, full_ones, dim_of(b, &n->args[1]));
}

node_id expand_stack(struct build *b, const struct node *n) {
    const struct arg *list = &n->args[0];
    node_id *at = NEW_ARRAY(b->g->arena, node_id, list->nodes.n);
    for (uint32_t k = 0; k < list->nodes.n; k++)
        at[k] = call(b, OP_UNSQUEEZE, arg_node(list->nodes.at[k]), n->args[1]);
    return concat_many(b, at, list->nodes.n, dim_of(b, &n->args[1]));
}

/* ---- padding --------------------------------------------------------------------------------- */

node_id expand_constant_pad(struct build *b, const struct node *n) {
    const struct meta *m = meta_of(b, n->args[0].node);
    bool changes = false;
    if (meta_numel(b->g->ex, m) == number(b, 0))
        return full(b, &n->meta, number_of(b, &n->args[2]));
    for (uint32_t k = 0; k < n->args[1].ints.n; k++)
        changes |= n->args[1].ints.at[k] != number(b, 0);
    return changes ? KEEP : n->args[0].node;
}

static node_id flipped(struct build *b, node_id x, int dim) {
    ex dims[] = {number(b, dim)};
    return call(b, OP_FLIP, arg_node(x), arg_ints(b->g, dims, 1));
}

static node_id stretched(struct build *b, node_id x, int dim, ex size) {
    struct meta m = *meta_of(b, x);
    m.size[dim] = size;
    return call(b, OP_EXPAND, arg_node(x), arg_ints(b->g, m.size, m.rank));
}

/* What stands before (or after) x in a dimension of size n, `width` elements wide. */
static node_id border(struct build *b, node_id x, int dim, ex n, ex width, const char *mode,
                      bool before) {
    struct exprs *p = b->g->ex;
    ex zero = number(b, 0), one = number(b, 1), last = ex_sub(p, n, one);
    if (!strcmp(mode, "reflect"))
        return flipped(b,
                       before ? cut(b, x, dim, one, ex_add(p, width, one))
                              : cut(b, x, dim, ex_sub(p, last, width), last),
                       dim);
    if (!strcmp(mode, "replicate"))
        return stretched(b, before ? cut(b, x, dim, zero, one) : cut(b, x, dim, last, n), dim,
                         width);
    return before ? cut(b, x, dim, ex_sub(p, n, width), n) : cut(b, x, dim, zero, width);
}

node_id expand_pad(struct build *b, const struct node *n) {
    const struct arg *pad = &n->args[1];
    const char *mode = n->args[2].s;
    node_id x = n->args[0].node;
    if (!strcmp(mode, "constant")) {
        bool given = n->args[3].kind != ARG_NONE;
        return call(b, OP_CONSTANT_PAD, arg_node(x), *pad, given ? n->args[3] : arg_int(b->g, 0));
    }
    for (uint32_t k = 0; k < pad->ints.n; k += 2) {
        int dim = meta_of(b, x)->rank - 1 - (int)k / 2;
        ex size = meta_of(b, x)->size[dim], zero = number(b, 0);
        node_id at[3];
        uint32_t pieces = 0;
        if (pad->ints.at[k] != zero)
            at[pieces++] = border(b, x, dim, size, pad->ints.at[k], mode, true);
        at[pieces++] = x;
        if (pad->ints.at[k + 1] != zero)
            at[pieces++] = border(b, x, dim, size, pad->ints.at[k + 1], mode, false);
        x = concat(b, at, pieces, dim);
    }
    return x;
}

/* ---- turned and repeated --------------------------------------------------------------------- */

static node_id roll_one(struct build *b, node_id x, int dim, ex shift) {
    struct exprs *p = b->g->ex;
    ex n = meta_of(b, x)->size[dim], s = ex_mod(p, shift, n), from = ex_sub(p, n, s);
    if (s == number(b, 0)) return x;
    node_id at[] = {cut(b, x, dim, from, n), cut(b, x, dim, number(b, 0), from)};
    return concat(b, at, 2, dim);
}

node_id expand_roll(struct build *b, const struct node *n) {
    const struct arg *shifts = &n->args[1], *dims = &n->args[2];
    node_id x = n->args[0].node;
    if (!dims->ints.n)
        return reshape(b, roll_one(b, as_vector(b, x), 0, shifts->ints.at[0]), &n->meta);
    for (uint32_t k = 0; k < dims->ints.n && n->meta.rank; k++)
        x = roll_one(b, x, (int)ex_value(b->g->ex, dims->ints.at[k]), shifts->ints.at[k]);
    return x;
}

/* Dimension dim of x, read at index[0], index[1], ... */
static node_id repeated(struct build *b, node_id x, int dim, ex times) {
    ex size = meta_of(b, x)->size[dim];
    if (times == number(b, 1)) return x;
    if (size == number(b, 1)) return stretched(b, x, dim, times);
    node_id i = iota(b, ex_mul(b->g->ex, times, size));
    return index_one(b, x, call(b, OP_REMAINDER, arg_node(i), arg_ex(size)), dim);
}

/* repeat, tile: the last dimensions of the result are those of x, each some times */
node_id expand_repeat(struct build *b, const struct node *n) {
    const struct arg *times = &n->args[1];
    node_id x = n->args[0].node;
    while (meta_of(b, x)->rank < n->meta.rank)
        x = call(b, OP_UNSQUEEZE, arg_node(x), arg_int(b->g, 0));
    for (int dim = 0; dim < n->meta.rank; dim++) {
        int k = dim - (n->meta.rank - (int)times->ints.n);
        if (k >= 0) x = repeated(b, x, dim, times->ints.at[k]);
    }
    return x;
}

node_id expand_repeat_interleave(struct build *b, const struct node *n) {
    bool flat = n->args[2].kind == ARG_NONE || meta_of(b, n->args[0].node)->rank == 0;
    node_id x = flat ? as_vector(b, n->args[0].node) : n->args[0].node;
    int dim = flat ? 0 : dim_of(b, &n->args[2]);
    if (n->args[1].i == number(b, 1)) return x;
    if (meta_of(b, x)->size[dim] == number(b, 1)) return stretched(b, x, dim, n->args[1].i);
    int64_t times;
    bool some = ex_is_const(b->g->ex, n->args[1].i, &times) && times > 0;
    if (!some || meta_of(b, x)->rank == WS_MAX_RANK) {
        node_id i = iota(b, n->meta.size[dim]);
        return index_one(b, x, call(b, OP_FLOOR_DIVIDE, arg_node(i), n->args[1]), dim);
    }
    /* A view, whose gradient is a sum of neighbours. */
    x = call(b, OP_UNSQUEEZE, arg_node(x), arg_int(b->g, dim + 1));
    x = stretched(b, x, dim + 1, n->args[1].i);
    return call(b, OP_VIEW, arg_node(x), arg_ints(b->g, n->meta.size, (uint32_t)n->meta.rank));
}

/* ---- diagonals ------------------------------------------------------------------------------- */

static node_id plus(struct build *b, node_id x, int64_t v) {
    return v ? call(b, OP_ADD, arg_node(x), arg_int(b->g, v)) : x;
}

static node_id diagonal(struct build *b, node_id x, int64_t offset, int row, int column,
                        ex length) {
    int rank = meta_of(b, x)->rank, low = row < column ? row : column,
        high = row < column ? column : row;
    node_id i = iota(b, length);
    node_id r = plus(b, i, offset < 0 ? -offset : 0), c = plus(b, i, offset > 0 ? offset : 0);
    node_id at[] = {row < column ? r : c, row < column ? c : r};
    ex dims[] = {number(b, low), number(b, high)};
    struct arg where = arg_ints(b->g, dims, 2);
    node_id y = call(b, OP_INDEX, arg_node(x), nodes_arg(at, 2), where);
    return move_dim(b, y, graph_index_position(b->g->ex, &where, rank), rank - 2);
}

node_id expand_diagonal(struct build *b, const struct node *n) {
    return diagonal(b, n->args[0].node, ex_value(b->g->ex, n->args[1].i), dim_of(b, &n->args[2]),
                    dim_of(b, &n->args[3]), n->meta.size[n->meta.rank - 1]);
}

/* column - row, [n, m] */
static node_id distance(struct build *b, ex rows, ex columns) {
    node_id r = call(b, OP_UNSQUEEZE, arg_node(iota(b, rows)), arg_int(b->g, 1));
    return binary(b, OP_SUB, iota(b, columns), r);
}

/* Of a matrix its diagonal, of a vector the matrix with that diagonal: the vector, padded to the
 * matrix's size, where column - row is the offset. */
node_id expand_diag(struct build *b, const struct node *n) {
    node_id x = n->args[0].node;
    int64_t offset = ex_value(b->g->ex, n->args[1].i);
    if (meta_of(b, x)->rank == 2) return diagonal(b, x, offset, 0, 1, n->meta.size[0]);
    ex pad[] = {number(b, 0), number(b, offset < 0 ? -offset : offset)};
    x = call(b, OP_CONSTANT_PAD, arg_node(x), arg_ints(b->g, pad, 2));
    x = call(b, OP_UNSQUEEZE, arg_node(x), arg_int(b->g, offset < 0 ? 0 : 1));
    node_id on = call(b, OP_EQ, arg_node(distance(b, n->meta.size[0], n->meta.size[1])),
                      arg_int(b->g, offset));
    return call(b, OP_WHERE, arg_node(on), arg_node(x), arg_int(b->g, 0));
}

node_id expand_eye(struct build *b, const struct node *n) {
    node_id d = distance(b, n->meta.size[0], n->meta.size[1]);
    return call(b, OP_EQ, arg_node(d), arg_int(b->g, 0));
}

/* ---- looked up ------------------------------------------------------------------------------- */

/* A primitive, but for numbers, which count as vectors of one. */
node_id expand_gather(struct build *b, const struct node *n) {
    node_id x = n->args[0].node, index = n->args[2].node;
    if (meta_of(b, x)->rank && meta_of(b, index)->rank) return KEEP;
    node_id y = call(b, OP_GATHER, arg_node(as_vector(b, x)), arg_int(b->g, 0),
                     arg_node(as_vector(b, index)));
    return reshape(b, y, &n->meta);
}

node_id expand_index_select(struct build *b, const struct node *n) {
    node_id x = n->args[0].node, index = n->args[2].node;
    if (!n->meta.rank)
        return reshape(b, index_one(b, as_vector(b, x), as_vector(b, index), 0), &n->meta);
    return index_one(b, x, as_vector(b, index), dim_of(b, &n->args[1]));
}

/* No gradient comes to the row of padding_idx. */
node_id expand_embedding(struct build *b, const struct node *n) {
    node_id rows = index_one(b, n->args[1].node, n->args[0].node, 0);
    if (n->args[2].kind == ARG_NONE) return rows;
    ex pad = n->args[2].i, count = meta_of(b, n->args[1].node)->size[0];
    int64_t at;
    if (ex_is_const(b->g->ex, pad, &at) && at < 0) pad = ex_add(b->g->ex, pad, count);
    node_id is_pad = call(b, OP_EQ, n->args[0], arg_ex(pad));
    is_pad = call(b, OP_UNSQUEEZE, arg_node(is_pad), arg_int(b->g, -1));
    return call(b, OP_WHERE, arg_node(is_pad), arg_node(unary(b, OP_DETACH, rows)), arg_node(rows));
}

node_id expand_take(struct build *b, const struct node *n) {
    return index_one(b, as_vector(b, n->args[0].node), n->args[1].node, 0);
}

node_id expand_take_along_dim(struct build *b, const struct node *n) {
    node_id x = n->args[0].node, index = n->args[1].node;
    if (n->args[2].kind == ARG_NONE)
        return call(b, OP_GATHER, arg_node(as_vector(b, x)), arg_int(b->g, 0),
                    arg_node(as_vector(b, index)));
    struct meta wide = n->meta;
    int dim = dim_of(b, &n->args[2]);
    index = call(b, OP_EXPAND, arg_node(index), arg_ints(b->g, wide.size, wide.rank));
    if (wide.rank) wide.size[dim] = meta_of(b, x)->size[dim];
    x = call(b, OP_EXPAND, arg_node(x), arg_ints(b->g, wide.size, wide.rank));
    return call(b, OP_GATHER, arg_node(x), n->args[2], arg_node(index));
}

/* ---- scattered -------------------------------------------------------------------------------
 *
 * Every element of the result is a sum over all sources, of which those count that land on it:
 * nothing is added atomically, the result is the same in every run, and what makes the sources and
 * what reads the result fuses with it. Where the index is the same along all other dimensions, a
 * kernel finds these sources without a look at each pair (kernel/hits.c); elsewhere each element of
 * the result costs as many comparisons as there are sources along the dimension. */

/* x, whose dimensions other than dim become those of m: what is missing has the value `fill`. */
static node_id fill_up(struct build *b, node_id x, const struct meta *m, int dim, double fill) {
    struct exprs *p = b->g->ex;
    const struct meta *have = meta_of(b, x);
    ex pad[2 * WS_MAX_RANK];
    bool any = false;
    for (int k = 0; k < m->rank; k++) {
        int at = 2 * (m->rank - 1 - k);
        pad[at] = number(b, 0);
        pad[at + 1] = k == dim ? number(b, 0) : ex_sub(p, m->size[k], have->size[k]);
        any |= pad[at + 1] != number(b, 0);
    }
    if (!any) return x;
    return call(b, OP_CONSTANT_PAD, arg_node(x), arg_ints(b->g, pad, 2 * (uint32_t)m->rank),
                arg_float(fill));
}

/* Dimension dim goes to the end, and one of size 1 comes in its place. */
static node_id sources_last(struct build *b, node_id x, int dim) {
    x = move_dim(b, x, dim, meta_of(b, x)->rank - 1);
    return call(b, OP_UNSQUEEZE, arg_node(x), arg_int(b->g, dim));
}

/* Does source j land on position i? index is [.., 1, .., J], the result [.., S, .., J]. */
static node_id lands(struct build *b, node_id index, ex size, int dim) {
    struct meta column = {.rank = meta_of(b, index)->rank};
    for (int k = 0; k < column.rank; k++) column.size[k] = number(b, 1);
    column.size[dim] = size;
    return binary(b, OP_EQ, index, reshape(b, iota(b, size), &column));
}

static node_id sum_of_landed(struct build *b, node_id hit, node_id src) {
    node_id each = call(b, OP_WHERE, arg_node(hit), arg_node(src), arg_int(b->g, 0));
    int last = meta_of(b, each)->rank - 1;
    return call(b, OP_SUM, arg_node(each), arg_int(b->g, last), arg_bool(false),
                arg_dtype(meta_of(b, src)->dtype));
}

static node_id cut_to(struct build *b, node_id x, const struct meta *m) {
    for (int k = 0; k < m->rank; k++)
        if (meta_of(b, x)->size[k] != m->size[k]) x = cut(b, x, k, number(b, 0), m->size[k]);
    return x;
}

/* Position p of the last source that lands on i, or what changes no maximum: the source there is
 * gathered. */
static node_id last_landed(struct build *b, node_id self, node_id index, node_id src, int dim) {
    node_id far = sources_last(b, index, dim);
    const struct meta *m = meta_of(b, self);
    node_id hit = lands(b, far, m->size[dim], dim);
    node_id order = iota(b, meta_of(b, index)->size[dim]);
    node_id at = call(b, OP_WHERE, arg_node(hit), arg_node(order), arg_int(b->g, INT64_MIN));
    at = call(b, OP_AMAX, arg_node(at), arg_int(b->g, meta_of(b, at)->rank - 1));
    node_id from = call(b, OP_MAXIMUM, arg_node(at), arg_int(b->g, 0));
    node_id v = call(b, OP_GATHER, arg_node(src), arg_int(b->g, dim), arg_node(from));
    return call(b, OP_WHERE, arg_node(call(b, OP_GE, arg_node(at), arg_int(b->g, 0))), arg_node(v),
                arg_node(self));
}

/* Where each source lands among all elements of m, as a vector; -1: nowhere. */
static node_id places_in_all(struct build *b, node_id index, const struct meta *m, int dim) {
    ex stride = number(b, 1);
    node_id at = cast(b, index, DT_I64), place = at;
    for (int k = m->rank - 1; k >= 0; k--) {
        struct meta column = {.rank = m->rank};
        for (int i = 0; i < m->rank; i++) column.size[i] = number(b, i == k ? 0 : 1);
        column.size[k] = m->size[k];
        node_id own = k == dim ? at : reshape(b, iota(b, m->size[k]), &column);
        own = call(b, OP_MUL, arg_node(own), arg_ex(stride));
        place = k == m->rank - 1 ? own : binary(b, OP_ADD, place, own);
        stride = ex_mul(b->g->ex, stride, m->size[k]);
    }
    node_id lands = call(b, OP_GE, arg_node(at), arg_int(b->g, 0));
    return as_vector(b, call(b, OP_WHERE, arg_node(lands), arg_node(place), arg_int(b->g, -1)));
}

/* Has each row of sources along dim one place, as index.view(-1, 1).expand_as(src) says it? */
static bool is_of_rows(const struct build *b, node_id index, int dim) {
    const struct meta *m = meta_of(b, index);
    for (int k = 0; k < m->rank; k++)
        if (k != dim && m->size[k] != number(b, 1) && m->stride[k] != number(b, 0)) return false;
    return true;
}

/* Pairs of a source and a position along dim are too many to compare, and so are each position's.
 * An index of its own for each column, unlike one for whole rows, is nothing by which a kernel
 * could list sources (kernel/hits.c): one of all elements is. */
static bool has_many_pairs(const struct build *b, node_id index, const struct meta *m, int dim) {
    enum { MANY = 1 << 24, OF_ONE = 128 };
    const struct exprs *p = b->g->ex;
    double all = (double)ex_hint(p, meta_numel(b->g->ex, meta_of(b, index)));
    int64_t each = ex_hint(p, meta_of(b, index)->size[dim]), rows = ex_hint(p, m->size[dim]);
    bool columns = meta_numel(b->g->ex, m) != m->size[dim];
    return columns && each >= OF_ONE && all * (double)rows > MANY && !is_of_rows(b, index, dim);
}

/* self + sum over j of (place[j] == i ? src[j] : 0), for all elements i. */
static node_id add_in_all(struct build *b, node_id self, node_id place, node_id src) {
    ex all = meta_numel(b->g->ex, meta_of(b, self));
    node_id hit = lands(b, sources_last(b, place, 0), all, 0);
    return binary(b, OP_ADD, as_vector(b, self),
                  sum_of_landed(b, hit, sources_last(b, as_vector(b, src), 0)));
}

/* scatter, scatter_add */
node_id expand_scatter(struct build *b, const struct node *n) {
    bool adds = n->op == OP_SCATTER_ADD, number_source = n->args[3].kind != ARG_NODE;
    node_id self = n->args[0].node, index = n->args[2].node, src = n->args[3].node;
    if (meta_numel(b->g->ex, meta_of(b, index)) == number(b, 0)) return self;
    bool flat = !n->meta.rank || !meta_of(b, index)->rank;
    int dim = flat ? 0 : dim_of(b, &n->args[1]);
    if (flat) self = as_vector(b, self), index = as_vector(b, index);
    if (!number_source) {
        if (flat) src = as_vector(b, src);
        src = cut_to(b, src, meta_of(b, index));
        src = fill_up(b, src, meta_of(b, self), dim, 0);
    }
    index = fill_up(b, index, meta_of(b, self), dim, -1);
    node_id r;
    if (number_source) {
        node_id hit = lands(b, sources_last(b, index, dim), meta_of(b, self)->size[dim], dim);
        node_id any = call(b, OP_ANY, arg_node(hit), arg_int(b->g, meta_of(b, hit)->rank - 1));
        struct meta one = {.dtype = n->meta.dtype};
        r = call(b, OP_WHERE, arg_node(any), arg_node(full(b, &one, number_of(b, &n->args[3]))),
                 arg_node(self));
    } else if (adds && has_many_pairs(b, index, meta_of(b, self), dim)) {
        enum dtype t = dtype_opmath(n->meta.dtype);
        node_id place = places_in_all(b, index, meta_of(b, self), dim);
        r = add_in_all(b, cast(b, self, t), place, cast(b, src, t));
    } else if (adds) {
        enum dtype t = dtype_opmath(n->meta.dtype);
        node_id hit = lands(b, sources_last(b, index, dim), meta_of(b, self)->size[dim], dim);
        node_id sum = sum_of_landed(b, hit, cast(b, sources_last(b, src, dim), t));
        r = binary(b, OP_ADD, cast(b, self, t), sum);
    } else {
        r = last_landed(b, self, index, src, dim);
    }
    return reshape(b, r, &n->meta);
}

static bool is_zeros(const struct build *b, node_id x) {
    const struct node *n = &b->g->nodes.at[x];
    if (n->op == OP_CONVERT) n = &b->g->nodes.at[n->args[0].node];
    return n->op == OP_FULL && number_of(b, &n->args[1]) == 0;
}

/* self + alpha * sum over j of (index[j] == i ? source[j] : 0) */
node_id expand_index_add(struct build *b, const struct node *n) {
    enum dtype t = dtype_opmath(n->meta.dtype);
    node_id self = cast(b, n->args[0].node, t), index = as_vector(b, n->args[2].node);
    node_id src = cast(b, n->args[3].node, t);
    if (meta_numel(b->g->ex, meta_of(b, src)) == number(b, 0)) return self;
    int dim = n->meta.rank ? dim_of(b, &n->args[1]) : 0;
    if (!n->meta.rank) self = as_vector(b, self), src = as_vector(b, src);
    ex places = meta_of(b, self)->size[dim];
    node_id sum = land_known(b, index, places, src, dim);
    bool known = sum != KEEP;
    if (!known) {
        struct meta row = {.rank = meta_of(b, self)->rank + 1};
        for (int k = 0; k < row.rank; k++) row.size[k] = number(b, 1);
        row.size[row.rank - 1] = meta_of(b, index)->size[0];
        node_id hit = lands(b, reshape(b, index, &row), places, dim);
        sum = sum_of_landed(b, hit, sources_last(b, src, dim));
    }
    if (number_of(b, &n->args[4]) != 1) sum = call(b, OP_MUL, arg_node(sum), n->args[4]);
    if (!known || !is_zeros(b, self)) sum = binary(b, OP_ADD, self, sum);
    return reshape(b, sum, &n->meta);
}

node_id expand_one_hot(struct build *b, const struct node *n) {
    node_id x = call(b, OP_UNSQUEEZE, arg_node(n->args[0].node), arg_int(b->g, -1));
    return binary(b, OP_EQ, x, iota(b, n->args[1].i));
}
