/* gen_move.c: arguments for operators that move elements: pieces whose other sizes agree, pads that
 * fit, windows within the tensor, integers that are indices.
 *
 *   gather(%x: f32[13, 8], 0, ?)   -> remainder(a new i64[5, 8], 13)
 *   max_pool(%x: f32[2, 9, 8], ?)  -> kernel [3, 1] stride [2, 2] padding [1, 0] ... */
#include <string.h>

#include "tests/fuzz/gen_impl.h"

static struct arg int_arg(struct gen *x, int64_t v) { return arg_int(x->g, v); }

static struct arg ints_arg(struct gen *x, const int64_t *v, int n) {
    ex at[2 * WS_MAX_RANK];
    for (int i = 0; i < n; i++) at[i] = ex_const(x->g->ex, v[i]);
    return arg_ints(x->g, at, (uint32_t)n);
}

static int sizes_of(const struct gen *x, node_id n, int64_t *size) {
    const struct meta *m = meta_at(x, n);
    for (int i = 0; i < m->rank; i++) size[i] = size_at(x, m, i);
    return m->rank;
}

static struct arg nodes_arg(struct gen *x, const node_id *at, uint32_t n) {
    struct arg a = {.kind = ARG_NODES};
    a.nodes.at = NEW_ARRAY(x->g->arena, node_id, n);
    a.nodes.n = n;
    for (uint32_t i = 0; i < n; i++) a.nodes.at[i] = at[i];
    return a;
}

/* Integers of 0 .. n-1, or where they may count from the end now and then of -n .. n-1. */
static node_id index_below(struct gen *x, int64_t n, int rank, const int64_t *size, bool wraps) {
    struct diag d = diag_new(x->g->arena);
    node_id raw = new_input_like(x, percent(x, 80) ? DT_I64 : DT_I32, rank, size), out;
    if (n == 0) return raw;
    struct arg args[] = {arg_node(raw), int_arg(x, n), int_arg(x, n)};
    if (!graph_call(x->g, OP_REMAINDER, args, 2, (struct span){0}, &d, &out)) return raw;
    args[0] = arg_node(out);
    args[2] = int_arg(x, 1);
    if (wraps && percent(x, 30) && graph_call(x->g, OP_SUB, args, 3, (struct span){0}, &d, &out))
        return out;
    return out;
}

static int64_t pick_small(struct gen *x) { return 1 + below(x, 3) * below(x, 4); }

/* ---- pieces, pads, turns --------------------------------------------------------------------- */

static void fit_cat(struct gen *x, struct call *c) {
    node_id at[4];
    int64_t size[WS_MAX_RANK];
    at[0] = tensor_of_rank(x, 1, MAX_GEN_RANK);
    int n = 1 + below(x, 4), rank = sizes_of(x, at[0], size), dim = below(x, rank);
    for (int k = 1; k < n; k++) {
        bool again = percent(x, 20);
        if (c->op == OP_CAT) size[dim] = random_size(x) % 20;
        at[k] = again ? at[0] : new_input_like(x, meta_at(x, at[0])->dtype, rank, size);
    }
    c->args[0] = nodes_arg(x, at, (uint32_t)n);
    c->args[1] = int_arg(x, percent(x, 30) ? dim - rank - (c->op == OP_STACK) : dim);
}

static void fit_pad(struct gen *x, struct call *c) {
    static const char *const modes[] = {"constant", "constant", "reflect", "replicate", "circular"};
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    const char *mode = modes[c->op == OP_PAD ? below(x, 5) : 0];
    int64_t pad[2 * WS_MAX_RANK];
    int n = 1 + below(x, meta_at(x, a)->rank);
    for (int k = 0; k < 2 * n; k++) {
        int64_t size = size_at(x, meta_at(x, a), meta_at(x, a)->rank - 1 - k / 2);
        pad[k] = below(x, size < 9 && *mode != 'c' ? (int)size + 1 : 9);
        if (!strcmp(mode, "constant") && percent(x, 10)) pad[k] = -1;
    }
    int i = 1;
    c->args[0] = arg_node(a);
    c->args[i++] = ints_arg(x, pad, 2 * n);
    if (c->op == OP_PAD) c->args[i++] = arg_str(mode);
    bool fills = !strcmp(mode, "constant") && percent(x, 50);
    c->args[i] = fills ? int_arg(x, below(x, 3)) : c->op == OP_PAD ? arg_none() : arg_float(0.5);
}

static void fit_flip(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    int64_t dims[WS_MAX_RANK], shifts[WS_MAX_RANK];
    int n = 0, i = 1;
    for (int k = 0; k < meta_at(x, a)->rank; k++) {
        if (percent(x, 60)) continue;
        shifts[n] = below(x, 15) - 7;
        dims[n++] = k;
    }
    if (!n) dims[n] = 0, shifts[n++] = below(x, 15) - 7;
    c->args[0] = arg_node(a);
    if (c->op == OP_ROLL) c->args[i++] = ints_arg(x, shifts, n);
    c->args[i] = ints_arg(x, dims, n == 1 && c->op == OP_ROLL && percent(x, 30) ? 0 : n);
}

/* repeat, tile */
static void fit_repeat(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 0, 3);
    int64_t times[WS_MAX_RANK];
    int n = meta_at(x, a)->rank + below(x, 2);
    if (c->op == OP_TILE) n = below(x, MAX_GEN_RANK + 1);
    for (int k = 0; k < n; k++) times[k] = percent(x, 50) ? 1 : below(x, 4);
    c->args[0] = arg_node(a);
    c->args[1] = ints_arg(x, times, n);
}

static void fit_repeat_interleave(struct gen *x, struct call *c) {
    node_id a = any_tensor(x);
    int rank = meta_at(x, a)->rank;
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, 1 + below(x, 4));
    c->args[2] = !rank || percent(x, 20) ? arg_none() : int_arg(x, below(x, rank));
}

static void fit_diagonal(struct gen *x, struct call *c) {
    bool two = c->op == OP_DIAGONAL;
    node_id a = tensor_of_rank(x, two ? 2 : 1, two ? MAX_GEN_RANK : 2);
    int rank = meta_at(x, a)->rank, row = below(x, rank);
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, below(x, 7) - 3);
    c->args[2] = int_arg(x, row);
    c->args[3] = int_arg(x, (row + 1 + below(x, rank - (rank > 1))) % rank);
}

/* ---- looked up ------------------------------------------------------------------------------- */

/* gather, take_along_dim: an index of the tensor's rank, nowhere longer but along the dimension. */
static void fit_gather(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    int64_t size[WS_MAX_RANK];
    int rank = sizes_of(x, a, size), dim = below(x, rank);
    int64_t n = size[dim];
    bool along = c->op == OP_TAKE_ALONG_DIM;
    for (int k = 0; k < rank; k++)
        if (k != dim && percent(x, 25)) size[k] = along ? 1 : size[k] ? 1 + size[k] / 2 : 0;
    size[dim] = pick_small(x);
    c->args[0] = arg_node(a);
    c->args[along ? 2 : 1] = int_arg(x, dim);
    c->args[along ? 1 : 2] = arg_node(index_below(x, n, rank, size, false));
}

static void fit_index(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK), at[WS_MAX_RANK];
    int64_t dims[WS_MAX_RANK], wide[] = {pick_small(x), pick_small(x)};
    int n = 0, rank = below(x, 3);
    for (int k = 0; k < meta_at(x, a)->rank && n < 3; k++) {
        if (percent(x, 50) && !(k + 1 == meta_at(x, a)->rank && !n)) continue;
        int64_t size[] = {percent(x, 30) ? 1 : wide[0], percent(x, 30) ? 1 : wide[1]};
        int drop = rank ? below(x, rank + 1) : 0;
        int64_t limit = size_at(x, meta_at(x, a), k);
        at[n] = index_below(x, limit, rank - drop, size + 2 - rank + drop, true);
        dims[n++] = k;
    }
    c->args[0] = arg_node(a);
    c->args[1] = nodes_arg(x, at, (uint32_t)n);
    c->args[2] = ints_arg(x, dims, n);
}

static void fit_index_select(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, MAX_GEN_RANK);
    int64_t n = pick_small(x), size[WS_MAX_RANK];
    int rank = sizes_of(x, a, size), dim = below(x, rank);
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, dim);
    c->args[2] = arg_node(index_below(x, size[dim], 1, &n, false));
    size[dim] = n;
    if (c->op != OP_INDEX_ADD) return;
    c->args[3] = arg_node(new_input_like(x, meta_at(x, a)->dtype, rank, size));
    c->args[4] = int_arg(x, 1 + below(x, 2));
}

/* embedding(index, weight); take(tensor, index) */
static void fit_embedding(struct gen *x, struct call *c) {
    bool take = c->op == OP_TAKE;
    node_id a = take ? any_tensor(x) : tensor_of_rank(x, 2, 2);
    int64_t size[] = {pick_small(x), pick_small(x)};
    int64_t n = take ? numel_of(x, meta_at(x, a)) : size_at(x, meta_at(x, a), 0);
    c->args[!take] = arg_node(a);
    c->args[take] = arg_node(index_below(x, n, below(x, 3), size, take));
    if (take) return;
    c->args[2] = c->args[3] = arg_none();
    c->args[4] = arg_float(2);
    c->args[5] = c->args[6] = arg_bool(false);
}

static void fit_scatter(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, 3);
    int64_t size[WS_MAX_RANK];
    int rank = sizes_of(x, a, size), dim = below(x, rank);
    int64_t n = size[dim];
    for (int k = 0; k < rank; k++)
        if (k != dim && percent(x, 25) && size[k]) size[k] = 1 + size[k] / 2;
    size[dim] = pick_small(x);
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, dim);
    c->args[2] = arg_node(index_below(x, n, rank, size, false));
    if (percent(x, 20)) size[below(x, rank)]++;
    bool number = c->op == OP_SCATTER && percent(x, 30);
    c->args[3] =
        number ? int_arg(x, 1) : arg_node(new_input_like(x, meta_at(x, a)->dtype, rank, size));
}

static void fit_one_hot(struct gen *x, struct call *c) {
    int64_t size[] = {pick_small(x), pick_small(x)}, classes = 1 + below(x, 9);
    node_id raw = new_input_like(x, DT_I64, below(x, 3), size), out;
    struct arg args[] = {arg_node(raw), int_arg(x, classes)};
    struct diag d = diag_new(x->g->arena);
    if (!graph_call(x->g, OP_REMAINDER, args, 2, (struct span){0}, &d, &out)) out = raw;
    c->args[0] = arg_node(out);
    c->args[1] = args[1];
}

/* ---- windows --------------------------------------------------------------------------------- */

/* windows, max_pool, avg_pool, im2col: kernel, stride, padding and perhaps dilation. */
static void fit_windows(struct gen *x, struct call *c) {
    bool column = c->op == OP_IM2COL, raw = c->op == OP_WINDOWS, average = c->op == OP_AVG_POOL;
    node_id a = tensor_of_rank(x, column ? 3 : 2, MAX_GEN_RANK);
    const struct meta *m = meta_at(x, a);
    int n = column ? 2 : m->rank == 2 || percent(x, 30) ? 1 : m->rank == 3 ? 2 : 1 + below(x, 3);
    int64_t kernel[3], stride[3], pad[3], dilation[3];
    for (int k = 0; k < n; k++) {
        int64_t size = size_at(x, m, m->rank - n + k);
        kernel[k] = 1 + below(x, size < 4 ? (size ? (int)size : 1) : 4);
        stride[k] = 1 + below(x, 3);
        pad[k] = below(x, (int)kernel[k] / 2 + 1);
        dilation[k] = !average && percent(x, 25) ? 2 : 1;
    }
    int i = 4;
    c->args[0] = arg_node(a);
    c->args[1] = ints_arg(x, kernel, n);
    c->args[2] = ints_arg(x, stride, n);
    c->args[3] = ints_arg(x, pad, n);
    if (!average) c->args[i++] = ints_arg(x, dilation, n);
    if (column) return;
    c->args[i++] = arg_bool(percent(x, 30));
    if (average) c->args[i++] = arg_bool(percent(x, 50));
    if (average) c->args[i++] = percent(x, 15) ? int_arg(x, 3) : arg_none();
    c->args[i] = raw ? arg_float(0.5) : int_arg(x, n);
}

/* adaptive pools, upsample_nearest: sizes of the last dimensions */
static void fit_resize(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 3, MAX_GEN_RANK);
    int n = meta_at(x, a)->rank - 2 + (c->op != OP_UPSAMPLE_NEAREST && percent(x, 30));
    int64_t size[3];
    for (int k = 0; k < n && k < 3; k++) size[k] = 1 + below(x, 9);
    c->args[0] = arg_node(a);
    c->args[1] = ints_arg(x, size, n < 3 ? n : 3);
}

static void fit_unfold(struct gen *x, struct call *c) {
    node_id a = tensor_of_rank(x, 1, 3);
    int dim = below(x, meta_at(x, a)->rank);
    int64_t n = size_at(x, meta_at(x, a), dim);
    c->args[0] = arg_node(a);
    c->args[1] = int_arg(x, dim);
    c->args[2] = int_arg(x, 1 + below(x, n < 5 ? (n ? (int)n : 1) : 5));
    c->args[3] = int_arg(x, 1 + below(x, 3));
}

static void fit_eye(struct gen *x, struct call *c) {
    c->args[0] = int_arg(x, pick_small(x));
    c->args[1] = percent(x, 50) ? arg_none() : int_arg(x, pick_small(x));
    c->args[2] = percent(x, 50) ? arg_none() : arg_dtype(x->theme);
}

/* ---- which ----------------------------------------------------------------------------------- */

fit_fn *const gen_moves[OP_COUNT] = {
    [OP_CAT] = fit_cat,
    [OP_STACK] = fit_cat,
    [OP_CONSTANT_PAD] = fit_pad,
    [OP_PAD] = fit_pad,
    [OP_FLIP] = fit_flip,
    [OP_ROLL] = fit_flip,
    [OP_REPEAT] = fit_repeat,
    [OP_TILE] = fit_repeat,
    [OP_REPEAT_INTERLEAVE] = fit_repeat_interleave,
    [OP_DIAGONAL] = fit_diagonal,
    [OP_DIAG] = fit_diagonal,
    [OP_GATHER] = fit_gather,
    [OP_TAKE_ALONG_DIM] = fit_gather,
    [OP_INDEX] = fit_index,
    [OP_INDEX_SELECT] = fit_index_select,
    [OP_INDEX_ADD] = fit_index_select,
    [OP_EMBEDDING] = fit_embedding,
    [OP_TAKE] = fit_embedding,
    [OP_SCATTER] = fit_scatter,
    [OP_SCATTER_ADD] = fit_scatter,
    [OP_ONE_HOT] = fit_one_hot,
    [OP_WINDOWS] = fit_windows,
    [OP_MAX_POOL] = fit_windows,
    [OP_AVG_POOL] = fit_windows,
    [OP_IM2COL] = fit_windows,
    [OP_ADAPTIVE_AVG_POOL] = fit_resize,
    [OP_ADAPTIVE_MAX_POOL] = fit_resize,
    [OP_UPSAMPLE_NEAREST] = fit_resize,
    [OP_UNFOLD] = fit_unfold,
    [OP_EYE] = fit_eye,
};
