/* meta_shape.c: the sizes of an operator's result, one rule per operator or family.
 *
 *   add [4, 1] [8]          -> [4, 8]      sizes are equal or 1, aligned at the end
 *   sum [4, 8] dim=[1]      -> [4]
 *   mm [4, 8] [8, 3]        -> [4, 3]
 *
 * Two symbolic sizes are equal if they are the same expression: s0 and s1 do not broadcast, nor do
 * s0 and 4. Views set strides; everything else is row-major, which the caller fills in. */
#include <math.h>
#include <string.h>

#include "graph/meta_shape.h"

/* Take over sizes only; strides become row-major later. */
static void copy_sizes(struct meta *out, const struct meta *m) {
    out->rank = m->rank;
    memcpy(out->size, m->size, sizeof out->size);
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

/* out = broadcast(out, m); the rank of out may grow. */
static bool broadcast_into(const struct infer *in, struct meta *out, const struct meta *m) {
    struct meta r = {.rank = out->rank > m->rank ? out->rank : m->rank};
    for (int i = 0; i < r.rank; i++) {
        int a = i - (r.rank - out->rank), b = i - (r.rank - m->rank);
        if (a < 0 || b < 0)
            r.size[i] = a < 0 ? m->size[b] : out->size[a];
        else if (out->size[a] == m->size[b] || is_one(in, m->size[b]))
            r.size[i] = out->size[a];
        else if (is_one(in, out->size[a]))
            r.size[i] = m->size[b];
        else
            return infer_fail(in, "shapes %s and %s do not broadcast", infer_shape(in, out),
                              infer_shape(in, m));
    }
    copy_sizes(out, &r);
    return true;
}

static bool shape_broadcast(const struct infer *in, struct meta *out) {
    for (int i = 0; i < in->op->n_params; i++)
        if (infer_meta(in, i) && !broadcast_into(in, out, infer_meta(in, i))) return false;
    return true;
}

/* Integers take an end that is none of theirs where it leaves all of them as they are. */
static bool shape_clamp(const struct infer *in, struct meta *out) {
    enum dtype d = infer_meta(in, 0)->dtype;
    for (int i = 1; i < in->op->n_params && dtype_is_int(d); i++) {
        bool most = !strcmp(in->op->params[i].name, "max");
        int64_t v;
        if (in->args[i].kind != ARG_INT || !ex_is_const(in->g->ex, in->args[i].i, &v)) continue;
        if (most ? v < int_least(d) : v > int_most(d))
            return infer_fail(in, "Clamp %s value %lld is outside the representable range of %s",
                              in->op->params[i].name, (long long)v, dtype_name(d));
    }
    return shape_broadcast(in, out);
}

/* The first tensor's sizes. */
static bool shape_same(const struct infer *in, struct meta *out) {
    copy_sizes(out, infer_meta(in, 0));
    return true;
}

/* m must broadcast to `to`, and not the other way round. */
static bool broadcast_keeps(const struct infer *in, const struct meta *to, const struct meta *m) {
    struct meta both = {0};
    bool same = broadcast_into(in, &both, to) && broadcast_into(in, &both, m);
    if (!same) return false;
    same = both.rank == to->rank;
    for (int i = 0; same && i < to->rank; i++) same = both.size[i] == to->size[i];
    return same ||
           infer_fail(in, "%s does not broadcast to %s", infer_shape(in, m), infer_shape(in, to));
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool keepdim_of(const struct infer *in) {
    int k;
    return op_param(in->op->id, "keepdim", &k) && in->args[k].b;
}

static uint32_t reduced_dims(const struct infer *in, int rank) {
    int i;
    struct arg all = arg_none();
    return dims_set(in->g->ex, op_param(in->op->id, "dim", &i) ? &in->args[i] : &all, rank);
}

static bool shape_reduce(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    uint32_t set = reduced_dims(in, m->rank);
    bool extremum = in->op->id == OP_AMAX || in->op->id == OP_AMIN || in->op->id == OP_MAX ||
                    in->op->id == OP_MIN || in->op->id == OP_MAX_DIM || in->op->id == OP_MIN_DIM ||
                    in->op->id == OP_ARGMAX || in->op->id == OP_ARGMIN;
    for (int i = 0; i < m->rank; i++) {
        bool reduced = set >> i & 1;
        if (reduced && extremum && m->size[i] == constant(in, 0))
            return in->op->id == OP_MAX || in->op->id == OP_MIN
                       ? infer_fail(in, "Expected reduction dim to be specified, as there is no "
                                        "element. Specify it with the 'dim' argument.")
                       : infer_fail(in, "Expected reduction dim %d to have non-zero size.", i);
        if (!reduced || keepdim_of(in))
            append(out, reduced ? constant(in, 1) : m->size[i], EX_NONE);
    }
    return true;
}

static bool shape_floats(const struct infer *in, struct meta *out) {
    if (!dtype_is_float(infer_meta(in, 0)->dtype))
        return infer_fail(in, "it takes floats, not %s", dtype_name(infer_meta(in, 0)->dtype));
    return shape_reduce(in, out);
}

/* The divisor is size - correction, an integer expression if the size is one. */
static bool shape_var(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    bool whole = in->args[2].kind != ARG_FLOAT || in->args[2].f == floor(in->args[2].f);
    if (!whole && !ex_is_const(in->g->ex, meta_numel(in->g->ex, m), NULL))
        return infer_fail(in, "a fractional correction needs constant sizes, not %s",
                          infer_shape(in, m));
    return shape_reduce(in, out);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *s, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(s, *list)) return true;
    return false;
}

/* Nothing is left of the shape unless the reduction is none. */
static bool reduce_loss(const struct infer *in, struct meta *out) {
    static const char *const three[] = {"none", "mean", "sum", NULL};
    int k;
    bool batch = in->op->id == OP_KL_DIV; /* which has 'batchmean', too */
    op_param(in->op->id, "reduction", &k);
    const char *how = in->args[k].s;
    if (!is_one_of(how, three) && !(batch && !strcmp(how, "batchmean")))
        return infer_fail(in, "reduction is 'none', 'mean'%s or 'sum', not '%s'",
                          batch ? ", 'batchmean'" : "", how);
    if (strcmp(how, "none")) out->rank = 0;
    return true;
}

static bool shape_loss(const struct infer *in, struct meta *out) {
    return shape_broadcast(in, out) && reduce_loss(in, out);
}

static bool has_shape(const struct infer *in, int arg, const ex *size, uint32_t n);

/* input [C] or [N, C, ...], target [N, ...] of indices or probabilities of the input's shape,
 * weight [C] -> [N, ...] */
static bool shape_class_loss(const struct infer *in, struct meta *out) {
    const struct meta *x = infer_meta(in, 0), *t = infer_meta(in, 1);
    int c = x->rank == 1 ? 0 : 1;
    bool probabilities = dtype_is_float(t->dtype);
    if (!x->rank || x->size[c] == constant(in, 0))
        return infer_fail(in, "the input %s has no classes", infer_shape(in, x));
    for (int i = 0; i < x->rank; i++)
        if (i != c) append(out, x->size[i], EX_NONE);
    if (probabilities && in->op->id == OP_NLL_LOSS)
        return infer_fail(in, "the target must be integers, got %s", dtype_name(t->dtype));
    if (!has_shape(in, 1, probabilities ? x->size : out->size, probabilities ? x->rank : out->rank))
        return false;
    if (in->op->id == OP_CROSS_ENTROPY) {
        double smoothing = in->args[5].f;
        if (!(smoothing >= 0 && smoothing <= 1))
            return infer_fail(in, "label_smoothing must be between 0 and 1, got %g", smoothing);
        if (smoothing != 0 && !ex_is_const(in->g->ex, x->size[c], NULL))
            return infer_fail(in, "label_smoothing needs a constant number of classes");
    }
    return has_shape(in, 2, &x->size[c], 1) && reduce_loss(in, out);
}

/* ---- norms ----------------------------------------------------------------------------------- */

static bool has_shape(const struct infer *in, int arg, const ex *size, uint32_t n) {
    const struct meta *m = infer_meta(in, arg);
    if (!m) return true;
    bool same = m->rank == n;
    for (uint32_t i = 0; same && i < n; i++) same = m->size[i] == size[i];
    if (same) return true;
    struct meta want = {.rank = (uint8_t)n};
    memcpy(want.size, size, n * sizeof *size);
    return infer_fail(in, "%s must have the shape %s, not %s", in->op->params[arg].name,
                      infer_shape(in, &want), infer_shape(in, m));
}

/* layer_norm, rms_norm: the last dimensions of the input are normalized_shape, and so is each
 * parameter. */
static bool shape_last_norm(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    const ex *size = in->args[1].ints.at;
    uint32_t n = in->args[1].ints.n;
    bool ends = n >= 1 && n <= m->rank;
    for (uint32_t i = 0; ends && i < n; i++) ends = m->size[m->rank - n + i] == size[i];
    if (!ends) {
        struct buf b = buf_new(in->g->arena);
        graph_print_arg(&b, in->g, &in->args[1]);
        return infer_fail(in, "the input %s does not end in normalized_shape %s",
                          infer_shape(in, m), b.p);
    }
    for (int i = 2; i < in->op->n_params; i++)
        if (!has_shape(in, i, size, n)) return false;
    return shape_same(in, out);
}

/* batch_norm, group_norm: parameters have one element per channel, dimension 1. */
static bool shape_channel_norm(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    if (m->rank < 2)
        return infer_fail(in, "needs at least 2 dimensions, got %s", infer_shape(in, m));
    for (int i = 1; i < in->op->n_params; i++)
        if (!has_shape(in, i, &m->size[1], 1)) return false;
    return shape_same(in, out);
}

static bool shape_group_norm(const struct infer *in, struct meta *out) {
    if (!shape_channel_norm(in, out)) return false;
    int64_t groups;
    if (!ex_is_const(in->g->ex, in->args[1].i, &groups) || groups < 1 ||
        !ex_divides(in->g->ex, groups, out->size[1]))
        return infer_fail(in, "%s channels do not split into %s groups",
                          ex_str(in->g->arena, in->g->ex, out->size[1]),
                          ex_str(in->g->arena, in->g->ex, in->args[1].i));
    return true;
}

static bool shape_batch_norm(const struct infer *in, struct meta *out) {
    if (in->args[5].b)
        if (infer_meta(in, 1) || infer_meta(in, 2))
            return infer_fail(in, "training=True updates the running statistics, which is not "
                                  "supported; without them it normalizes by the input's own");
    if (!in->args[5].b && (!infer_meta(in, 1) || !infer_meta(in, 2)))
        return infer_fail(in, "needs running_mean and running_var when training=False");
    return shape_channel_norm(in, out);
}

static bool shape_triangle(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    if (m->rank < 2)
        return infer_fail(in, "needs at least 2 dimensions, got %s", infer_shape(in, m));
    return shape_same(in, out);
}

/* ---- matrix products ------------------------------------------------------------------------- */

static bool need_rank(const struct infer *in, int i, int rank) {
    const struct meta *m = infer_meta(in, i);
    return m->rank == rank || infer_fail(in, "%s must have %d dimensions, got %s",
                                         in->op->params[i].name, rank, infer_shape(in, m));
}

static bool inner_differ(const struct infer *in, int i, int j) {
    return infer_fail(in, "shapes %s and %s cannot be multiplied: inner sizes differ",
                      infer_shape(in, infer_meta(in, i)), infer_shape(in, infer_meta(in, j)));
}

static bool shape_mm(const struct infer *in, struct meta *out) {
    if (!need_rank(in, 0, 2) || !need_rank(in, 1, 2)) return false;
    const struct meta *a = infer_meta(in, 0), *b = infer_meta(in, 1);
    if (a->size[1] != b->size[0]) return inner_differ(in, 0, 1);
    append(out, a->size[0], EX_NONE);
    append(out, b->size[1], EX_NONE);
    return true;
}

static bool shape_bmm(const struct infer *in, struct meta *out) {
    if (!need_rank(in, 0, 3) || !need_rank(in, 1, 3)) return false;
    const struct meta *a = infer_meta(in, 0), *b = infer_meta(in, 1);
    if (a->size[0] != b->size[0])
        return infer_fail(in, "batch sizes of %s and %s differ", infer_shape(in, a),
                          infer_shape(in, b));
    if (a->size[2] != b->size[1]) return inner_differ(in, 0, 1);
    append(out, a->size[0], EX_NONE);
    append(out, a->size[1], EX_NONE);
    append(out, b->size[2], EX_NONE);
    return true;
}

/* A vector on the left is a row, on the right a column, and its dimension leaves again; what is
 * before the last two dimensions broadcasts. */
static bool shape_matmul(const struct infer *in, struct meta *out) {
    const struct meta *a = infer_meta(in, 0), *b = infer_meta(in, 1);
    if (!a->rank || !b->rank) return infer_fail(in, "both operands need at least 1 dimension");
    if (a->size[a->rank - 1] != b->size[b->rank == 1 ? 0 : b->rank - 2])
        return inner_differ(in, 0, 1);
    struct meta left = *a, right = *b;
    left.rank = a->rank > 2 ? a->rank - 2 : 0;
    right.rank = b->rank > 2 ? b->rank - 2 : 0;
    if (!broadcast_into(in, out, &left) || !broadcast_into(in, out, &right)) return false;
    if (a->rank > 1) append(out, a->size[a->rank - 2], EX_NONE);
    if (b->rank > 1) append(out, b->size[b->rank - 1], EX_NONE);
    return true;
}

static bool shape_linear(const struct infer *in, struct meta *out) {
    const struct meta *x = infer_meta(in, 0), *w = infer_meta(in, 1);
    if (!need_rank(in, 1, 2)) return false;
    if (!x->rank || x->size[x->rank - 1] != w->size[1])
        return infer_fail(in, "an input of shape %s does not fit a weight of shape %s",
                          infer_shape(in, x), infer_shape(in, w));
    if (!has_shape(in, 2, &w->size[0], 1)) return false;
    copy_sizes(out, x);
    out->size[out->rank - 1] = w->size[0];
    return true;
}

/* addmm, baddbmm */
static bool shape_addmm(const struct infer *in, struct meta *out) {
    int rank = in->op->id == OP_ADDMM ? 2 : 3;
    if (!need_rank(in, 1, rank) || !need_rank(in, 2, rank)) return false;
    const struct meta *a = infer_meta(in, 1), *b = infer_meta(in, 2);
    if (a->size[rank - 1] != b->size[rank - 2]) return inner_differ(in, 1, 2);
    if (rank == 3 && a->size[0] != b->size[0])
        return infer_fail(in, "batch sizes of %s and %s differ", infer_shape(in, a),
                          infer_shape(in, b));
    for (int i = 0; i < rank - 1; i++) append(out, a->size[i], EX_NONE);
    append(out, b->size[rank - 1], EX_NONE);
    struct meta product = *out;
    if (!broadcast_keeps(in, &product, infer_meta(in, 0))) return false;
    return true;
}

/* query [..., L, E], key [..., S, E], value [..., S, V] -> [..., L, V]; a mask broadcasts to [...,
 * L, S] */
static bool shape_attention(const struct infer *in, struct meta *out) {
    const struct meta *q = infer_meta(in, 0), *k = infer_meta(in, 1), *v = infer_meta(in, 2);
    const struct meta *mask = infer_meta(in, 3);
    int r = q->rank;
    if (r < 2 || k->rank != r || v->rank != r)
        return infer_fail(in,
                          "query, key and value need the same 2 or more dimensions, got %s, %s, %s",
                          infer_shape(in, q), infer_shape(in, k), infer_shape(in, v));
    if (q->size[r - 1] != k->size[r - 1]) return inner_differ(in, 0, 1);
    if (k->size[r - 2] != v->size[r - 2])
        return infer_fail(in, "key %s and value %s differ in length", infer_shape(in, k),
                          infer_shape(in, v));
    if (in->args[4].f != 0) return infer_fail(in, "dropout_p must be 0: dropout is not supported");
    if (mask && in->args[5].b) return infer_fail(in, "attn_mask and is_causal exclude each other");
    if (in->args[6].kind == ARG_NONE && !ex_is_const(in->g->ex, q->size[r - 1], NULL))
        return infer_fail(in, "a symbolic head size needs a scale");
    struct meta batch[3] = {*q, *k, *v};
    for (int i = 0; i < 3; i++) {
        batch[i].rank -= 2;
        if (!broadcast_into(in, out, &batch[i])) return false;
    }
    struct meta scores = *out;
    append(&scores, q->size[r - 2], EX_NONE);
    append(&scores, k->size[r - 2], EX_NONE);
    if (mask && !broadcast_keeps(in, &scores, mask)) return false;
    append(out, q->size[r - 2], EX_NONE);
    append(out, v->size[r - 1], EX_NONE);
    return true;
}

/* ---- creation -------------------------------------------------------------------------------- */

static bool shape_size(const struct infer *in, struct meta *out) {
    const struct arg *a = &in->args[0];
    if (a->ints.n > WS_MAX_RANK)
        return infer_fail(in, "%u dimensions; at most %d are supported", a->ints.n, WS_MAX_RANK);
    for (uint32_t i = 0; i < a->ints.n; i++) {
        int64_t v;
        if (ex_is_const(in->g->ex, a->ints.at[i], &v) && v < 0)
            return infer_fail(in, "size %lld is negative", (long long)v);
        append(out, a->ints.at[i], EX_NONE);
    }
    return true;
}

/* ceil((end - start) / step) elements. */
static bool shape_arange(const struct infer *in, struct meta *out) {
    struct exprs *p = in->g->ex;
    const struct arg *start = &in->args[0], *end = &in->args[1], *step = &in->args[2];
    int64_t k, from, to; /* whose difference may have 65 bits */
    if (start->kind == ARG_INT && end->kind == ARG_INT && step->kind == ARG_INT &&
        ex_is_const(p, start->i, &from) && ex_is_const(p, end->i, &to) &&
        ex_is_const(p, step->i, &k) && k) {
        __int128 span = (__int128)to - from, n = span / k + (span % k != 0);
        if (span && (span < 0) != (k < 0))
            return infer_fail(in, k > 0 ? "the end comes before the start"
                                        : "the step leads away from the end");
        if (n > (__int128)MAX_NUMEL) ex_overflow(p, NULL);
        append(out, constant(in, n > INT64_MAX ? INT64_MAX : (int64_t)n), EX_NONE);
        return true;
    }
    if (start->kind == ARG_INT && end->kind == ARG_INT && step->kind == ARG_INT &&
        ex_is_const(p, step->i, &k) && k > 0) {
        int64_t lo, hi;
        ex length = ex_sub(p, end->i, start->i);
        ex_range(p, length, &lo, &hi);
        if (hi < 0) return infer_fail(in, "the end comes before the start");
        if (lo < 0) length = ex_max(p, length, constant(in, 0));
        append(out, ex_ceildiv(p, length, step->i), EX_NONE);
        return true;
    }
    for (int i = 0; i < 3; i++)
        if (in->args[i].kind == ARG_INT && !ex_is_const(p, in->args[i].i, NULL))
            return infer_fail(in, "a symbolic range needs integers and a positive constant step");
    double n = ceil((arg_number(in->g, end) - arg_number(in->g, start)) / arg_number(in->g, step));
    if (!(n >= 0 && n < 9e15)) return infer_fail(in, "the step leads away from the end");
    append(out, constant(in, (int64_t)n), EX_NONE);
    return true;
}

/* ---- which rule ------------------------------------------------------------------------------ */

/* Operators element by element, with or without a `reduction`, and reductions and scans have one
 * rule each; these are the others. tests/unit/test_graph_ops.c checks that every operator has a
 * rule. */
static shape_rule *const rules[OP_COUNT] = {
    [OP_VIEW] = shape_view,
    [OP_PERMUTE] = shape_permute,
    [OP_EXPAND] = shape_expand,
    [OP_SLICE] = shape_slice,
    [OP_UNSQUEEZE] = shape_unsqueeze,
    [OP_SQUEEZE] = shape_squeeze,
    [OP_MM] = shape_mm,
    [OP_MM_FLOAT8] = shape_mm,
    [OP_BMM] = shape_bmm,
    [OP_CONVOLVE] = shape_convolve,
    [OP_CONVOLVE_PHASES] = shape_convolve_phases,
    [OP_CONVOLUTION] = shape_convolution,
    [OP_FULL] = shape_size,
    [OP_ARANGE] = shape_arange,
    [OP_RAND] = shape_size,
    [OP_RANDN] = shape_size,
    [OP_GELU] = shape_same,
    [OP_CLAMP] = shape_clamp,
    [OP_CLAMP_MIN] = shape_clamp,
    [OP_CLAMP_MAX] = shape_clamp,
    [OP_NAN_TO_NUM] = shape_same,
    [OP_MASKED_FILL] = shape_broadcast,
    [OP_BITWISE_NOT] = shape_same,
    [OP_FLOAT] = shape_same,
    [OP_HALF] = shape_same,
    [OP_BFLOAT16] = shape_same,
    [OP_DOUBLE] = shape_same,
    [OP_LONG] = shape_same,
    [OP_INT] = shape_same,
    [OP_SHORT] = shape_same,
    [OP_CHAR] = shape_same,
    [OP_BYTE] = shape_same,
    [OP_BOOL] = shape_same,
    [OP_TYPE_AS] = shape_same,
    [OP_SOFTMAX] = shape_same,
    [OP_LOG_SOFTMAX] = shape_same,
    [OP_LOGSUMEXP] = shape_reduce,
    [OP_M2] = shape_floats,
    [OP_EXPSUM] = shape_floats,
    [OP_MEAN] = shape_reduce,
    [OP_VAR] = shape_var,
    [OP_STD] = shape_var,
    [OP_NORM] = shape_reduce,
    [OP_NORMALIZE] = shape_same,
    [OP_MAX] = shape_reduce,
    [OP_MIN] = shape_reduce,
    [OP_MAX_DIM] = shape_reduce,
    [OP_MIN_DIM] = shape_reduce,
    [OP_ANY] = shape_reduce,
    [OP_ALL] = shape_reduce,
    [OP_LAYER_NORM] = shape_last_norm,
    [OP_RMS_NORM] = shape_last_norm,
    [OP_GROUP_NORM] = shape_group_norm,
    [OP_BATCH_NORM] = shape_batch_norm,
    [OP_NLL_LOSS] = shape_class_loss,
    [OP_CROSS_ENTROPY] = shape_class_loss,
    [OP_MATMUL] = shape_matmul,
    [OP_LOOP] = shape_loop,
    [OP_LOOP_STEP] = shape_loop_step,
    [OP_LOOP_STACK] = shape_loop_stack,
    [OP_LINEAR] = shape_linear,
    [OP_ADDMM] = shape_addmm,
    [OP_BADDBMM] = shape_addmm,
    [OP_ATTENTION] = shape_attention,
    [OP_FLATTEN] = shape_flatten,
    [OP_UNFLATTEN] = shape_unflatten,
    [OP_TRANSPOSE] = shape_permute,
    [OP_T] = shape_permute,
    [OP_MT] = shape_permute,
    [OP_MOVEDIM] = shape_permute,
    [OP_NARROW] = shape_narrow,
    [OP_SELECT] = shape_select,
    [OP_EXPAND_AS] = shape_expand_as,
    [OP_VIEW_AS] = shape_view_as,
    [OP_CONTIGUOUS] = shape_same,
    [OP_CLONE] = shape_same,
    [OP_DETACH] = shape_alias,
    [OP_GIVE_GRADIENT] = shape_alias,
    [OP_SET_DATA] = shape_set_data,
    [OP_TRIL] = shape_triangle,
    [OP_TRIU] = shape_triangle,
    [OP_CAT] = shape_cat,
    [OP_CONSTANT_PAD] = shape_constant_pad,
    [OP_FLIP] = shape_flip,
    [OP_WINDOWS] = shape_windows,
    [OP_GATHER] = shape_gather,
    [OP_INDEX] = shape_index,
    [OP_STACK] = shape_stack,
    [OP_PAD] = shape_pad,
    [OP_ROLL] = shape_roll,
    [OP_REPEAT] = shape_repeat,
    [OP_TILE] = shape_tile,
    [OP_REPEAT_INTERLEAVE] = shape_repeat_interleave,
    [OP_DIAGONAL] = shape_diagonal,
    [OP_DIAG] = shape_diag,
    [OP_EYE] = shape_eye,
    [OP_INDEX_SELECT] = shape_index_select,
    [OP_EMBEDDING] = shape_embedding,
    [OP_TAKE] = shape_take,
    [OP_TAKE_ALONG_DIM] = shape_take_along_dim,
    [OP_SCATTER] = shape_scatter,
    [OP_SCATTER_ADD] = shape_scatter,
    [OP_INDEX_ADD] = shape_index_add,
    [OP_ONE_HOT] = shape_one_hot,
    [OP_MAX_POOL] = shape_pool,
    [OP_AVG_POOL] = shape_pool,
    [OP_ADAPTIVE_AVG_POOL] = shape_adaptive_pool,
    [OP_ADAPTIVE_MAX_POOL] = shape_adaptive_pool,
    [OP_UPSAMPLE_NEAREST] = shape_resize,
    [OP_IM2COL] = shape_unfold,
    [OP_UNFOLD] = shape_tensor_unfold,
    [OP_ZEROS] = shape_size,
    [OP_ONES] = shape_size,
    [OP_EMPTY] = shape_size,
    [OP_TANGENT] = shape_size,
    [OP_ZEROS_LIKE] = shape_same,
    [OP_ONES_LIKE] = shape_same,
    [OP_EMPTY_LIKE] = shape_same,
    [OP_FULL_LIKE] = shape_same,
    [OP_RAND_LIKE] = shape_same,
    [OP_RANDN_LIKE] = shape_same,
};

bool infer_size(const struct infer *in, struct meta *out) {
    shape_rule *rule = rules[in->op->id];
    if (!rule && in->op->class == REDUCE) rule = shape_reduce;
    if (!rule && in->op->class == SCAN) rule = shape_same;
    int k;
    if (!rule && op_param(in->op->id, "reduction", &k)) rule = shape_loss;
    if (!rule && in->op->elementwise) rule = shape_broadcast;
    if (!rule) WS_BUG("%s has no shape rule", in->op->name);
    return rule(in, out);
}
