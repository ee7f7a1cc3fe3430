/* meta_move.c: sizes of what moves elements: pieces put together, padded, turned, repeated, and
 * looked up by integer tensors. Messages are PyTorch's.
 *
 *   cat [2, 3] [2, 5] dim=1              -> [2, 8]
 *   pad [2, 3] by [1, 1]                 -> [2, 5]
 *   index [4, 5, 6] dims=[0, 2], [7, 1] [3]   -> [7, 3, 5]    apart: their dimensions come first */
#include <string.h>

#include "graph/meta_shape.h"

/* ---- helpers --------------------------------------------------------------------------------- */

static void copy_sizes(struct meta *out, const struct meta *m) {
    out->rank = m->rank;
    memcpy(out->size, m->size, sizeof out->size);
}

static const struct meta *list_meta(const struct infer *in, int arg, uint32_t k) {
    return &in->g->nodes.at[in->args[arg].nodes.at[k]].meta;
}

bool meta_is_nothing(const struct graph *g, node_id n) {
    const struct meta *m = &g->nodes.at[n].meta;
    return m->rank == 1 && m->size[0] == ex_const(g->ex, 0);
}

static bool at_most(const struct infer *in, ex a, ex b) { return ex_at_most(in->g->ex, a, b); }

/* A dimension that is looked up must have an element. */
static bool need_element(const struct infer *in, const struct meta *m, int dim,
                         const struct meta *index) {
    ex none = constant(in, 0);
    if (!m->rank || m->size[dim] != none || meta_numel(in->g->ex, index) == none) return true;
    return infer_fail(in, "index is out of bounds for dimension %d with size 0", dim);
}

static bool append_size(const struct infer *in, struct meta *out, ex size) {
    if (out->rank == WS_MAX_RANK)
        return infer_fail(in, "at most %d dimensions are supported", WS_MAX_RANK);
    append(out, size, EX_NONE);
    return true;
}

/* ---- pieces put together --------------------------------------------------------------------- */

static bool need_tensors(const struct infer *in) {
    return in->args[0].nodes.n || infer_fail(in, "expected a non-empty list of Tensors");
}

bool shape_cat(const struct infer *in, struct meta *out) {
    const struct arg *list = &in->args[0];
    if (!need_tensors(in)) return false;
    int dim = dim_at(in, 1);
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        const struct meta *m = list_meta(in, 0, i);
        if (m->rank == 0)
            return infer_fail(in, "zero-dimensional tensor (at position %u) cannot be concatenated",
                              i);
        if (meta_is_nothing(in->g, list->nodes.at[i]) && (out->rank > 1 || !out->rank)) {
            bool last = i + 1 == list->nodes.n && !out->rank;
            if (last) copy_sizes(out, m);
            continue;
        }
        if (!out->rank) {
            copy_sizes(out, m);
            continue;
        }
        if (m->rank != out->rank)
            return infer_fail(in, "Tensors must have same number of dimensions: got %d and %d",
                              out->rank, m->rank);
        for (int k = 0; k < m->rank; k++)
            if (k != dim && m->size[k] != out->size[k])
                return infer_fail(in,
                                  "Sizes of tensors must match except in dimension %d. Expected "
                                  "size %s but got size %s for tensor number %u in the list",
                                  dim, infer_text(in, out->size[k]), infer_text(in, m->size[k]), i);
        out->size[dim] = ex_add(in->g->ex, out->size[dim], m->size[dim]);
    }
    return true;
}

bool shape_stack(const struct infer *in, struct meta *out) {
    if (!need_tensors(in)) return false;
    const struct meta *first = list_meta(in, 0, 0);
    for (uint32_t i = 1; i < in->args[0].nodes.n; i++) {
        const struct meta *m = list_meta(in, 0, i);
        bool same = m->rank == first->rank;
        for (int k = 0; same && k < m->rank; k++) same = m->size[k] == first->size[k];
        if (!same)
            return infer_fail(in,
                              "stack expects each tensor to be equal size, but got %s at entry 0 "
                              "and %s at entry %u",
                              infer_shape(in, first), infer_shape(in, m), i);
    }
    if (first->rank == WS_MAX_RANK)
        return infer_fail(in, "at most %d dimensions are supported", WS_MAX_RANK);
    for (int k = 0; k <= first->rank; k++) {
        if (k == dim_at(in, 1)) append(out, constant(in, in->args[0].nodes.n), EX_NONE);
        if (k < first->rank) append(out, first->size[k], EX_NONE);
    }
    return true;
}

/* ---- padding --------------------------------------------------------------------------------- */

static bool pads_fit(const struct infer *in, const struct meta *m, const struct arg *pad) {
    if (pad->ints.n % 2) return infer_fail(in, "Padding length must be divisible by 2");
    return pad->ints.n <= 2u * m->rank ||
           infer_fail(in,
                      "Length of pad should be no more than twice the number of dimensions of the "
                      "input. Pad length is %u while the input has %d dimensions.",
                      pad->ints.n, m->rank);
}

/* constant_pad_nd, and pad with mode='constant' */
bool shape_constant_pad(const struct infer *in, struct meta *out) {
    struct exprs *p = in->g->ex;
    const struct meta *m = infer_meta(in, 0);
    const struct arg *pad = &in->args[1];
    if (!pads_fit(in, m, pad)) return false;
    copy_sizes(out, m);
    for (uint32_t i = 0; i < pad->ints.n; i += 2) {
        int dim = m->rank - 1 - (int)i / 2;
        ex before = pad->ints.at[i], after = pad->ints.at[i + 1];
        out->size[dim] = ex_add(p, ex_add(p, before, m->size[dim]), after);
        if (!at_most(in, constant(in, 0), out->size[dim]))
            return infer_fail(in,
                              "The input size %s, plus negative padding %s and %s, resulted in a "
                              "negative output size, which is invalid. Check dimension %d of your "
                              "input.",
                              infer_text(in, m->size[dim]), infer_text(in, before),
                              infer_text(in, after), dim);
    }
    return true;
}

/* What reflects or wraps around is at hand once: no padding is longer than the input. */
static bool copies_fit(const struct infer *in, const struct meta *m, const char *mode) {
    const struct arg *pad = &in->args[1];
    int spare = !strcmp(mode, "reflect");
    for (uint32_t i = 0; i < pad->ints.n; i++) {
        int dim = m->rank - 1 - (int)i / 2;
        ex longest = ex_sub(in->g->ex, m->size[dim], constant(in, spare));
        if (at_most(in, constant(in, 0), pad->ints.at[i]) && at_most(in, pad->ints.at[i], longest))
            continue;
        if (!strcmp(mode, "replicate") && at_most(in, constant(in, 0), pad->ints.at[i]) &&
            at_most(in, constant(in, 1), m->size[dim]))
            continue;
        return infer_fail(in,
                          spare ? "Padding size should be less than the corresponding input "
                                  "dimension, but got: padding (%s, %s) at dimension %d of input %s"
                                : "Padding value causes wrapping around more than once: padding "
                                  "(%s, %s) at dimension %d of input %s",
                          infer_text(in, pad->ints.at[i & ~1u]),
                          infer_text(in, pad->ints.at[i | 1]), dim, infer_shape(in, m));
    }
    return true;
}

bool shape_pad(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    const char *mode = in->args[2].s;
    if (!strcmp(mode, "constant")) return shape_constant_pad(in, out);
    if (strcmp(mode, "reflect") && strcmp(mode, "replicate") && strcmp(mode, "circular"))
        return infer_fail(in, "Unrecognised padding mode %s", mode);
    if (in->args[3].kind != ARG_NONE && number_at(in, 3) != 0)
        return infer_fail(in, "Padding mode \"%s\" doesn't take in value argument", mode);
    return pads_fit(in, m, &in->args[1]) && copies_fit(in, m, mode) && shape_constant_pad(in, out);
}

/* ---- turned and repeated --------------------------------------------------------------------- */

bool shape_flip(const struct infer *in, struct meta *out) {
    copy_sizes(out, infer_meta(in, 0));
    return true;
}

bool shape_roll(const struct infer *in, struct meta *out) {
    uint32_t shifts = in->args[1].ints.n, dims = in->args[2].ints.n;
    if (!shifts) return infer_fail(in, "`shifts` required");
    for (uint32_t i = 0; i < shifts; i++)
        if (!ex_is_const(in->g->ex, in->args[1].ints.at[i], NULL))
            return infer_fail(in, "a shift must be a constant");
    if (dims != shifts && !(dims == 0 && shifts == 1))
        return infer_fail(in, "shifts and dimensions must align. shifts: %u, dims:%u", shifts,
                          dims);
    return shape_flip(in, out);
}

static bool repeat_sizes(const struct infer *in, const struct meta *m, const ex *times, uint32_t n,
                         struct meta *out) {
    if (n > WS_MAX_RANK) return infer_fail(in, "at most %d dimensions are supported", WS_MAX_RANK);
    for (uint32_t i = 0; i < n; i++) {
        int old = (int)i - (int)(n - m->rank);
        if (!at_most(in, constant(in, 0), times[i]))
            return infer_fail(in, "cannot repeat %s times", infer_text(in, times[i]));
        append(out, old < 0 ? times[i] : ex_mul(in->g->ex, times[i], m->size[old]), EX_NONE);
    }
    return true;
}

bool shape_repeat(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    const struct arg *times = &in->args[1];
    if (times->ints.n < m->rank)
        return infer_fail(in, "Number of dimensions of repeat dims can not be smaller than number "
                              "of dimensions of tensor");
    return repeat_sizes(in, m, times->ints.at, times->ints.n, out);
}

bool shape_tile(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    const struct arg *times = &in->args[1];
    ex all[WS_MAX_RANK];
    if (times->ints.n >= m->rank) return repeat_sizes(in, m, times->ints.at, times->ints.n, out);
    for (int i = 0; i < m->rank; i++) {
        int k = i - (m->rank - (int)times->ints.n);
        all[i] = k < 0 ? constant(in, 1) : times->ints.at[k];
    }
    return repeat_sizes(in, m, all, m->rank, out);
}

bool shape_repeat_interleave(const struct infer *in, struct meta *out) {
    struct exprs *p = in->g->ex;
    const struct meta *m = infer_meta(in, 0);
    ex times = in->args[1].i;
    if (!at_most(in, constant(in, 0), times)) return infer_fail(in, "repeats can not be negative");
    if (in->args[2].kind == ARG_NONE || !m->rank) {
        append(out, ex_mul(p, meta_numel(p, m), times), EX_NONE);
        return true;
    }
    copy_sizes(out, m);
    out->size[dim_at(in, 2)] = ex_mul(p, out->size[dim_at(in, 2)], times);
    return true;
}

/* ---- diagonals ------------------------------------------------------------------------------- */

/* Elements of the diagonal of [rows, columns] that starts `offset` columns to the right. */
static ex diagonal_length(const struct infer *in, ex rows, ex columns, int64_t offset) {
    struct exprs *p = in->g->ex;
    if (offset < 0) rows = ex_add(p, rows, constant(in, offset));
    if (offset > 0) columns = ex_sub(p, columns, constant(in, offset));
    return ex_max(p, constant(in, 0), ex_min(p, rows, columns));
}

bool shape_diagonal(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    int64_t offset;
    int a = dim_at(in, 2), b = dim_at(in, 3);
    if (m->rank < 2 || a == b)
        return infer_fail(in, "diagonal dimensions cannot be identical %d, %d", a, b);
    if (!ex_is_const(in->g->ex, in->args[1].i, &offset))
        return infer_fail(in, "the offset must be a constant");
    for (int k = 0; k < m->rank; k++)
        if (k != a && k != b) append(out, m->size[k], EX_NONE);
    append(out, diagonal_length(in, m->size[a], m->size[b], offset), EX_NONE);
    return true;
}

bool shape_diag(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    int64_t offset;
    if (m->rank != 1 && m->rank != 2)
        return infer_fail(in, "Supports 1D or 2D tensors. Got %dD", m->rank);
    if (!ex_is_const(in->g->ex, in->args[1].i, &offset))
        return infer_fail(in, "the diagonal must be a constant");
    if (m->rank == 2) {
        append(out, diagonal_length(in, m->size[0], m->size[1], offset), EX_NONE);
        return true;
    }
    ex size = ex_add(in->g->ex, m->size[0], constant(in, offset < 0 ? -offset : offset));
    append(out, size, EX_NONE);
    append(out, size, EX_NONE);
    return true;
}

bool shape_eye(const struct infer *in, struct meta *out) {
    for (int i = 0; i < 2; i++) {
        const struct arg *a = &in->args[in->args[i].kind == ARG_NONE ? 0 : i];
        if (!at_most(in, constant(in, 0), a->i))
            return infer_fail(in, "%s must be greater or equal to 0, got %s", i ? "m" : "n",
                              infer_text(in, a->i));
        append(out, a->i, EX_NONE);
    }
    return true;
}

/* ---- looked up ------------------------------------------------------------------------------- */

/* Of what is not looked up, any type will do. */
static bool need_index(const struct infer *in, int arg) {
    enum dtype d = infer_meta(in, arg)->dtype;
    return dtype_is_index(d) || meta_numel(in->g->ex, infer_meta(in, arg)) == constant(in, 0) ||
           infer_fail(in, "Expected dtype int32/int64 for index, got %s", dtype_name(d));
}

/* Apart from dimension dim, index is nowhere larger than m. */
static bool index_fits(const struct infer *in, const struct meta *m, const struct meta *index,
                       int dim, const char *name) {
    if ((m->rank ? m->rank : 1) != (index->rank ? index->rank : 1))
        return infer_fail(
            in, "Index tensor must have the same number of dimensions as %s tensor: got %s and %s",
            name, infer_shape(in, index), infer_shape(in, m));
    for (int k = 0; k < m->rank && k < index->rank; k++)
        if (k != dim && !at_most(in, index->size[k], m->size[k]))
            return infer_fail(
                in,
                "Size does not match at dimension %d expected index %s to be no larger than %s "
                "%s%s",
                k, infer_shape(in, index), name, infer_shape(in, m),
                dim < 0 ? "" : arena_printf(in->g->arena, " apart from dimension %d", dim));
    return true;
}

bool shape_gather(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0), *index = infer_meta(in, 2);
    int dim = dim_at(in, 1);
    copy_sizes(out, index);
    return need_index(in, 2) && index_fits(in, m, index, dim, "self") &&
           need_element(in, m, dim, index);
}

int graph_index_position(const struct exprs *p, const struct arg *dims, int rank) {
    int first = rank, last = -1;
    for (uint32_t i = 0; i < dims->ints.n; i++) {
        int d = (int)ex_value(p, dims->ints.at[i]);
        if (d < first) first = d;
        if (d > last) last = d;
    }
    return last - first + 1 == (int)dims->ints.n ? first : 0;
}

/* The index tensors broadcast; out becomes their common shape. */
static bool broadcast_indices(const struct infer *in, struct meta *out) {
    const struct arg *list = &in->args[1];
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        const struct meta *m = list_meta(in, 1, i);
        struct meta wide = {.rank = m->rank > out->rank ? m->rank : out->rank};
        if (m->dtype == DT_BOOL || m->dtype == DT_U8)
            return infer_fail(in, "the shape of an index by a mask depends on its values; "
                                  "torch.where keeps the shape");
        if (!dtype_is_index(m->dtype))
            return infer_fail(in,
                              "tensors used as indices must be long, int, byte or bool tensors");
        for (int k = 0; k < wide.rank; k++) {
            int a = k - (wide.rank - out->rank), b = k - (wide.rank - m->rank);
            ex x = a < 0 ? constant(in, 1) : out->size[a], y = b < 0 ? constant(in, 1) : m->size[b];
            if (x != y && !is_one(in, x) && !is_one(in, y))
                return infer_fail(in,
                                  "shape mismatch: indexing tensors could not be broadcast "
                                  "together with shapes %s, %s",
                                  infer_shape(in, out), infer_shape(in, m));
            wide.size[k] = is_one(in, x) ? y : x;
        }
        copy_sizes(out, &wide);
    }
    return true;
}

bool shape_index(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    const struct arg *dims = &in->args[2];
    struct meta wide = {0};
    if (in->args[1].nodes.n != dims->ints.n)
        return infer_fail(in, "%u index tensors for %u dimensions", in->args[1].nodes.n,
                          dims->ints.n);
    if (dims->ints.n > m->rank)
        return infer_fail(in, "too many indices for tensor of dimension %d", m->rank);
    for (uint32_t i = 1; i < dims->ints.n; i++)
        if (ex_value(in->g->ex, dims->ints.at[i - 1]) >= ex_value(in->g->ex, dims->ints.at[i]))
            return infer_fail(in, "dims must rise");
    if (!broadcast_indices(in, &wide)) return false;
    int first = graph_index_position(in->g->ex, dims, m->rank);
    uint32_t indexed = 0;
    for (uint32_t i = 0; i < dims->ints.n; i++) {
        int d = (int)ex_value(in->g->ex, dims->ints.at[i]);
        indexed |= 1u << d;
        if (!need_element(in, m, d, &wide)) return false;
    }
    for (int k = 0, kept = 0; k <= m->rank; k++) {
        bool keep = k < m->rank && !(indexed >> k & 1);
        if (kept == first && (keep || k == m->rank)) {
            for (int i = 0; i < wide.rank; i++)
                if (!append_size(in, out, wide.size[i])) return false;
            first = -1;
        }
        if (keep && !append_size(in, out, m->size[k])) return false;
        kept += keep;
    }
    return true;
}

bool shape_index_select(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0), *index = infer_meta(in, 2);
    int dim = dim_at(in, 1);
    if (index->rank > 1) return infer_fail(in, "Index is supposed to be a vector");
    if (!need_index(in, 2) || !need_element(in, m, dim, index)) return false;
    copy_sizes(out, m);
    ex n = index->rank ? index->size[0] : constant(in, 1);
    if (!m->rank && n != constant(in, 1))
        return infer_fail(in, "Index to scalar can have only 1 value");
    if (m->rank) out->size[dim] = n;
    return true;
}

bool shape_embedding(const struct infer *in, struct meta *out) {
    const struct meta *index = infer_meta(in, 0), *weight = infer_meta(in, 1);
    if (weight->rank != 2) return infer_fail(in, "'weight' must be 2-D");
    if (!dtype_is_index(index->dtype))
        return infer_fail(in,
                          "Expected tensor for argument #1 'indices' to have one of the following "
                          "scalar types: Long, Int; but got %s instead",
                          dtype_name(index->dtype));
    if (in->args[3].kind != ARG_NONE)
        return infer_fail(in, "max_norm changes the weight and is not supported");
    if (in->args[5].b) return infer_fail(in, "scale_grad_by_freq is not supported");
    copy_sizes(out, index);
    return need_element(in, weight, 0, index) && append_size(in, out, weight->size[1]);
}

bool shape_take(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0), *index = infer_meta(in, 1);
    struct meta flat = {.rank = 1, .size = {meta_numel(in->g->ex, m)}};
    if (!need_index(in, 1)) return false;
    copy_sizes(out, index);
    return need_element(in, &flat, 0, index);
}

bool shape_take_along_dim(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0), *index = infer_meta(in, 1);
    struct meta flat = {.rank = 1, .size = {meta_numel(in->g->ex, m)}};
    if (!need_index(in, 1)) return false;
    if (in->args[2].kind == ARG_NONE) {
        append(out, meta_numel(in->g->ex, index), EX_NONE);
        return need_element(in, &flat, 0, index);
    }
    if (m->rank != index->rank)
        return infer_fail(in,
                          "input and indices should have the same number of dimensions, but got %d "
                          "dimensions for input, and %d dimensions for indices",
                          m->rank, index->rank);
    int dim = dim_at(in, 2);
    for (int k = 0; k < m->rank; k++) {
        ex x = m->size[k], y = index->size[k];
        if (k != dim && x != y && !is_one(in, x) && !is_one(in, y))
            return infer_fail(in, "shapes %s and %s do not broadcast apart from dimension %d",
                              infer_shape(in, m), infer_shape(in, index), dim);
        append(out, k == dim || is_one(in, x) ? y : x, EX_NONE);
    }
    return need_element(in, m, dim, index);
}

/* ---- scattered ------------------------------------------------------------------------------- */

static bool need_same_dtype(const struct infer *in, int arg) {
    const struct meta *m = infer_meta(in, 0), *src = infer_meta(in, arg);
    return !src || m->dtype == src->dtype ||
           infer_fail(in, "Expected self.dtype to be equal to %s.dtype, got %s and %s",
                      in->op->params[arg].name, dtype_name(m->dtype), dtype_name(src->dtype));
}

/* scatter, scatter_add */
bool shape_scatter(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0), *index = infer_meta(in, 2), *src = infer_meta(in, 3);
    int dim = dim_at(in, 1);
    if (!need_index(in, 2) || !need_same_dtype(in, 3)) return false;
    if (!index_fits(in, m, index, dim, "self")) return false;
    if (src && !index_fits(in, src, index, -1, "src")) return false;
    copy_sizes(out, m);
    return need_element(in, m, dim, index);
}

bool shape_index_add(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0), *index = infer_meta(in, 2), *src = infer_meta(in, 3);
    int dim = dim_at(in, 1);
    if (!need_index(in, 2) || !need_same_dtype(in, 3)) return false;
    if (index->rank > 1) return infer_fail(in, "Index is supposed to be a vector");
    ex n = index->rank ? index->size[0] : constant(in, 1);
    bool fits = src->rank == m->rank;
    for (int k = 0; fits && k < m->rank; k++) fits = src->size[k] == (k == dim ? n : m->size[k]);
    if (!fits)
        return infer_fail(in,
                          "source of shape %s does not fit self of shape %s with %s indices along "
                          "dimension %d",
                          infer_shape(in, src), infer_shape(in, m), infer_text(in, n), dim);
    copy_sizes(out, m);
    return need_element(in, m, dim, index);
}

bool shape_one_hot(const struct infer *in, struct meta *out) {
    const struct meta *index = infer_meta(in, 0);
    if (index->dtype != DT_I64)
        return infer_fail(in, "one_hot is only applicable to index tensor of type LongTensor.");
    if (!at_most(in, constant(in, 1), in->args[1].i))
        return infer_fail(in,
                          "num_classes must be given and positive: without it the shape depends "
                          "on the values");
    copy_sizes(out, index);
    return append_size(in, out, in->args[1].i);
}
