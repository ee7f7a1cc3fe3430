/* decompose_view.c: matrix products and attention as mm and bmm, compound views as the six simple
 * ones, creation as full.
 *
 *   linear(x [B, T, K], w [N, K], bias)
 *     -> view [B T, K]; mm with permute(w); view [B, T, N]; add bias */
#include <math.h>
#include <string.h>

#include "graph/decompose.h"

/* ---- matrix products ------------------------------------------------------------------------- */

node_id as_matrix(struct build *b, node_id x) {
    const struct meta *m = meta_of(b, x);
    struct meta flat = {.rank = 2};
    flat.size[0] = ex_const(b->g->ex, 1);
    for (int i = 0; i + 1 < m->rank; i++) flat.size[0] = ex_mul(b->g->ex, flat.size[0], m->size[i]);
    flat.size[1] = m->size[m->rank - 1];
    return reshape(b, x, &flat);
}

/* Expand the batch dimensions to those of `batch` and make them one: [B, m, k] */
static node_id as_batch(struct build *b, node_id x, const ex *batch, int n_batch) {
    const struct meta *m = meta_of(b, x);
    struct meta wide = {.rank = (uint8_t)(n_batch + 2)}, flat = {.rank = 3};
    flat.size[0] = ex_const(b->g->ex, 1);
    for (int i = 0; i < n_batch; i++) {
        wide.size[i] = batch[i];
        flat.size[0] = ex_mul(b->g->ex, flat.size[0], batch[i]);
    }
    for (int i = 0; i < 2; i++)
        wide.size[n_batch + i] = flat.size[1 + i] = m->size[m->rank - 2 + i];
    bool same = m->rank == wide.rank && !memcmp(m->size, wide.size, wide.rank * sizeof(ex));
    if (!same) x = call(b, OP_EXPAND, arg_node(x), arg_ints(b->g, wide.size, wide.rank));
    return reshape(b, x, &flat);
}

/* A vector on the left is a row, on the right a column. One matrix on the right serves a whole
 * batch in one mm. */
node_id expand_matmul(struct build *b, const struct node *n) {
    node_id x = n->args[0].node, y = n->args[1].node;
    bool row = meta_of(b, x)->rank == 1, column = meta_of(b, y)->rank == 1;
    if (row) x = call(b, OP_UNSQUEEZE, arg_node(x), arg_int(b->g, 0));
    if (column) y = call(b, OP_UNSQUEEZE, arg_node(y), arg_int(b->g, 1));
    node_id r;
    if (meta_of(b, y)->rank == 2)
        r = binary(b, OP_MM, as_matrix(b, x), y);
    else {
        int n_batch = n->meta.rank - !row - !column;
        x = as_batch(b, x, n->meta.size, n_batch);
        y = as_batch(b, y, n->meta.size, n_batch);
        r = binary(b, OP_BMM, x, y);
    }
    return reshape(b, r, &n->meta);
}

static node_id permute(struct build *b, node_id x, const int *from, int rank) {
    ex dims[WS_MAX_RANK];
    for (int i = 0; i < rank; i++) dims[i] = ex_const(b->g->ex, from[i]);
    return call(b, OP_PERMUTE, arg_node(x), arg_ints(b->g, dims, (uint32_t)rank));
}

/* Products of narrow integers are added up in i32, of which the result is the low bits. */
node_id expand_product(struct build *b, const struct node *n) {
    if (!dtype_is_narrow(n->meta.dtype)) return KEEP;
    struct arg args[MAX_PARAMS];
    memcpy(args, n->args, (size_t)n->n_args * sizeof *args);
    for (int i = 0; i < 2; i++) args[i] = arg_node(operand(b, n, i));
    return build_call(b, n->op, args, n->n_args);
}

node_id expand_linear(struct build *b, const struct node *n) {
    node_id w = permute(b, n->args[1].node, (int[]){1, 0}, 2);
    node_id y = reshape(b, binary(b, OP_MM, as_matrix(b, n->args[0].node), w), &n->meta);
    return n->args[2].kind == ARG_NODE ? binary(b, OP_ADD, y, n->args[2].node) : y;
}

/* addmm, baddbmm: beta self + alpha mat1 mat2; with beta 0 self is not read, so that its nan does
 * not count */
node_id expand_addmm(struct build *b, const struct node *n) {
    double beta = number_of(b, &n->args[3]), alpha = number_of(b, &n->args[4]);
    node_id mm = binary(b, n->op == OP_ADDMM ? OP_MM : OP_BMM, n->args[1].node, n->args[2].node);
    mm = cast(b, mm, dtype_opmath(n->meta.dtype));
    if (alpha != 1) mm = call(b, OP_MUL, arg_node(mm), n->args[4]);
    if (beta == 0) return mm;
    node_id self = operand(b, n, 0);
    if (beta != 1) self = call(b, OP_MUL, arg_node(self), n->args[3]);
    return binary(b, OP_ADD, mm, self);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* 0, 1, ... along one of the last two dimensions: [m, 1] or [1, n] */
static node_id ramp(struct build *b, ex size, int column) {
    node_id r = call(b, OP_ARANGE, arg_int(b->g, 0), arg_ex(size));
    return call(b, OP_UNSQUEEZE, arg_node(r), arg_int(b->g, column ? 0 : 1));
}

/* x where column - row <= diagonal (or >=), else rest */
static node_id keep_triangle(struct build *b, enum op compare, node_id x, struct arg diagonal,
                             struct arg rest) {
    const struct meta *m = meta_of(b, x);
    ex rows = m->size[m->rank - 2], columns = m->size[m->rank - 1];
    node_id row = ramp(b, rows, 0), column = ramp(b, columns, 1);
    node_id keep = call(b, compare, arg_node(binary(b, OP_SUB, column, row)), diagonal);
    return call(b, OP_WHERE, arg_node(keep), arg_node(x), rest);
}

/* softmax(query key^T scale + mask) value; the scores are scaled and normalized in opmath. A row
 * that the mask hides is 0, as in PyTorch, and no nan: what is hidden has a score below all others,
 * so that the row has a softmax, and the weight 0. It is far enough from the least number for what
 * is subtracted from it not to overflow. */
node_id expand_attention(struct build *b, const struct node *n) {
    node_id q = n->args[0].node, k = n->args[1].node, v = n->args[2].node;
    node_id shown = 0; /* the mask of what counts */
    const struct meta *m = meta_of(b, q);
    enum dtype type = dtype_opmath(n->meta.dtype);
    double scale = n->args[6].kind == ARG_FLOAT
                       ? n->args[6].f
                       : 1 / sqrt((double)ex_value(b->g->ex, m->size[m->rank - 1]));
    node_id s = binary(b, OP_MATMUL, q, unary(b, OP_MT, k));
    s = scalar(b, OP_MUL, cast(b, s, type), scale);
    if (n->args[5].b) s = keep_triangle(b, OP_LE, s, arg_int(b->g, 0), arg_float(-INFINITY));
    if (n->args[3].kind == ARG_NODE) {
        shown = n->args[3].node;
        if (meta_of(b, shown)->dtype != DT_BOOL) {
            s = binary(b, OP_ADD, s, cast(b, shown, type));
            shown = call(b, OP_NE, arg_node(s), arg_float(-INFINITY));
        }
        double least = -dtype_largest(type) / 2;
        s = call(b, OP_WHERE, arg_node(shown), arg_node(s), arg_float(least));
    }
    node_id p = call(b, OP_SOFTMAX, arg_node(s), arg_int(b->g, -1));
    if (n->args[3].kind == ARG_NODE)
        p = call(b, OP_WHERE, arg_node(shown), arg_node(p), arg_float(0));
    return binary(b, OP_MATMUL, cast(b, p, n->meta.dtype), v);
}

/* ---- views ----------------------------------------------------------------------------------- */

node_id expand_reshape(struct build *b, const struct node *n) {
    return reshape(b, n->args[0].node, &n->meta);
}

node_id expand_transpose(struct build *b, const struct node *n) {
    int from[WS_MAX_RANK];
    permutation_of(b->g->ex, n->op, n->args, n->meta.rank, from);
    return permute(b, n->args[0].node, from, n->meta.rank);
}

/* A start counted from the end, counted from the beginning. */
static ex from_start(struct build *b, node_id x, ex dim, ex start) {
    int64_t v;
    ex size = meta_of(b, x)->size[ex_value(b->g->ex, dim)];
    bool negative = ex_is_const(b->g->ex, start, &v) && v < 0;
    return negative ? ex_add(b->g->ex, size, start) : start;
}

static node_id slice(struct build *b, const struct node *n, ex length) {
    ex start = from_start(b, n->args[0].node, n->args[1].i, n->args[2].i);
    return call(b, OP_SLICE, n->args[0], n->args[1], arg_ex(start),
                arg_ex(ex_add(b->g->ex, start, length)));
}

node_id expand_narrow(struct build *b, const struct node *n) { return slice(b, n, n->args[3].i); }

node_id expand_select(struct build *b, const struct node *n) {
    node_id one = slice(b, n, ex_const(b->g->ex, 1));
    return call(b, OP_SQUEEZE, arg_node(one), n->args[1]);
}

node_id expand_expand_as(struct build *b, const struct node *n) {
    return call(b, OP_EXPAND, n->args[0], arg_ints(b->g, n->meta.size, n->meta.rank));
}

/* contiguous, clone: nothing to do if row-major; else a cast to the same type, which writes
 * row-major. */
node_id expand_copy(struct build *b, const struct node *n) {
    node_id x = n->args[0].node;
    if (meta_is_contiguous(b->g->ex, meta_of(b, x))) return x;
    return call(b, OP_CAST, arg_node(x), arg_dtype(n->meta.dtype));
}

node_id expand_detach(struct build *b, const struct node *n) { return n->args[0].node; }

/* set_data: what was updated without autograd's knowledge has its new value, and the old gradient.
 */
node_id expand_set_data(struct build *b, const struct node *n) { return n->args[1].node; }

/* ---- creation -------------------------------------------------------------------------------- */

node_id expand_triangle(struct build *b, const struct node *n) {
    enum op compare = n->op == OP_TRIL ? OP_LE : OP_GE;
    return keep_triangle(b, compare, n->args[0].node, n->args[1], arg_int(b->g, 0));
}

node_id expand_fill(struct build *b, const struct node *n) {
    bool ones = n->op == OP_ONES || n->op == OP_ONES_LIKE;
    bool like = n->op == OP_FULL_LIKE;
    if (like && n->args[1].kind == ARG_INT &&
        !dtype_is_float(n->meta.dtype)) /* a double has 53 of its 64 bits */
        return call(b, OP_FULL, arg_ints(b->g, n->meta.size, n->meta.rank), n->args[1],
                    arg_dtype(n->meta.dtype));
    return full(b, &n->meta, like ? number_of(b, &n->args[1]) : ones);
}

node_id expand_random_like(struct build *b, const struct node *n) {
    return call(b, n->op == OP_RAND_LIKE ? OP_RAND : OP_RANDN,
                arg_ints(b->g, n->meta.size, n->meta.rank), n->args[1], arg_dtype(n->meta.dtype));
}
