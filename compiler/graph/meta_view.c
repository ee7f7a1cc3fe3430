/* meta_view.c: sizes and strides of views: the same elements under other indices.
 *
 *   view [4, 6] as [-1, 3]          -> [8, 3]
 *   permute [4, 8] by [1, 0]        -> [8, 4] with strides [1, 8]
 *   slice [4, 8] dim=1, 2:8:3       -> [4, 2] with strides [8, 3] */
#include <string.h>

#include "graph/meta_shape.h"

/* ---- views ----------------------------------------------------------------------------------- */

/* Product of the sizes not crossed out. */
static ex product(const struct infer *in, const ex *size, int n, uint32_t skip) {
    ex r = constant(in, 1);
    for (int i = 0; i < n; i++)
        if (!(skip >> i & 1)) r = ex_mul(in->g->ex, r, size[i]);
    return r;
}

/* Replace the one -1 of a view by what is left of numel. Equal factors other than 0 are cancelled
 * first, so that symbolic sizes need no proof: [s0, 4] viewed as [s0, -1]. */
static bool view_sizes(const struct infer *in, const struct meta *m, struct meta *out) {
    struct exprs *p = in->g->ex;
    uint32_t gone_old = 0, gone_new = 0;
    int hole = -1;
    for (int j = 0; j < out->rank; j++) {
        if (out->size[j] == constant(in, -1)) {
            if (hole >= 0) return infer_fail(in, "only one size can be -1");
            hole = j;
            gone_new |= 1u << j;
        }
        for (int i = 0; i < m->rank; i++)
            if (!(gone_old >> i & 1) && !(gone_new >> j & 1) && m->size[i] == out->size[j] &&
                m->size[i] != constant(in, 0))
                gone_old |= 1u << i, gone_new |= 1u << j;
    }
    ex have = product(in, m->size, m->rank, gone_old);
    ex want = product(in, out->size, out->rank, gone_new);
    bool fits = have == want;
    if (hole >= 0) {
        int64_t k;
        bool known = ex_is_const(p, want, &k);
        out->size[hole] = known && k == 0 ? constant(in, 0) : ex_div(p, have, want);
        fits = known ? k > 0 && ex_divides(p, k, have) : ex_mul(p, out->size[hole], want) == have;
    }
    if (fits) return true;
    if (hole >= 0) out->size[hole] = constant(in, -1);
    struct buf size = buf_new(in->g->arena);
    ex_print(&size, p, product(in, m->size, m->rank, 0));
    return infer_fail(in, "shape '%s' is invalid for input of size %s", infer_shape(in, out),
                      size.p);
}

/* Strides of a view, if the old strides allow one; else EX_NONE: the elements must be read in
 * another order, and the result counts as row-major. Chunks of old dimensions that lie densely
 * behind one another are dealt out to new dimensions from the right (at::computeStride). */
static void view_strides(const struct infer *in, const struct meta *m, struct meta *out) {
    struct exprs *p = in->g->ex;
    ex one = constant(in, 1), have = one, want = one;
    if (meta_is_contiguous(p, m) || !m->rank) return;
    ex base = m->stride[m->rank - 1], stride[WS_MAX_RANK];
    int j = out->rank - 1;
    for (int i = m->rank - 1; i >= 0; i--) {
        have = ex_mul(p, have, m->size[i]);
        bool ends =
            i == 0 || (!is_one(in, m->size[i - 1]) && m->stride[i - 1] != ex_mul(p, have, base));
        if (!ends) continue;
        for (; j >= 0 && (want != have || is_one(in, out->size[j])); j--) {
            stride[j] = ex_mul(p, want, base);
            want = ex_mul(p, want, out->size[j]);
        }
        if (want != have) return;
        if (i > 0) base = m->stride[i - 1];
        have = want = one;
    }
    if (j < 0) memcpy(out->stride, stride, sizeof stride[0] * out->rank);
}

static bool view_as(const struct infer *in, const ex *size, uint32_t n, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    if (n > WS_MAX_RANK)
        return infer_fail(in, "%u dimensions; at most %d are supported", n, WS_MAX_RANK);
    out->rank = (uint8_t)n;
    memcpy(out->size, size, n * sizeof *size);
    for (uint32_t i = 0; i < n; i++) {
        int64_t v;
        if (ex_is_const(in->g->ex, size[i], &v) && v < -1)
            return infer_fail(in, "size %lld is negative", (long long)v);
    }
    if (!view_sizes(in, m, out)) return false;
    view_strides(in, m, out);
    return true;
}

bool shape_view(const struct infer *in, struct meta *out) {
    return view_as(in, in->args[1].ints.at, in->args[1].ints.n, out);
}

bool shape_view_as(const struct infer *in, struct meta *out) {
    return view_as(in, infer_meta(in, 1)->size, infer_meta(in, 1)->rank, out);
}

bool shape_flatten(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    ex size[WS_MAX_RANK + 1];
    uint32_t n = 0;
    int first = dim_at(in, 1), last = dim_at(in, 2);
    if (first > last) return infer_fail(in, "start_dim %d comes after end_dim %d", first, last);
    if (m->rank == 0) size[n++] = constant(in, 1);
    for (int i = 0; i < m->rank; i++)
        if (i <= first || i > last)
            size[n++] = m->size[i];
        else
            size[n - 1] = ex_mul(in->g->ex, size[n - 1], m->size[i]);
    return view_as(in, size, n, out);
}

bool shape_unflatten(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    ex size[2 * WS_MAX_RANK];
    uint32_t n = 0, parts = in->args[2].ints.n;
    if (m->rank == 0 || parts == 0)
        return infer_fail(in, "needs a dimension and sizes to split it into");
    if (parts + m->rank - 1u > WS_MAX_RANK)
        return infer_fail(in, "%u dimensions; at most %d are supported", parts + m->rank - 1u,
                          WS_MAX_RANK);
    for (int i = 0; i < m->rank; i++)
        for (uint32_t k = 0; k < (i == dim_at(in, 1) ? parts : 1); k++)
            size[n++] = i == dim_at(in, 1) ? in->args[2].ints.at[k] : m->size[i];
    return view_as(in, size, n, out);
}

/* ---- other order ----------------------------------------------------------------------------- */

static void swap(int *from, int a, int b) {
    int t = from[a];
    from[a] = from[b];
    from[b] = t;
}

static void movedim_order(struct exprs *p, const struct arg *src, const struct arg *dst, int rank,
                          int *from) {
    uint32_t taken = 0;
    for (int i = 0; i < rank; i++) from[i] = -1;
    for (uint32_t i = 0; i < src->ints.n; i++) {
        int s = (int)ex_value(p, src->ints.at[i]);
        from[ex_value(p, dst->ints.at[i])] = s;
        taken |= 1u << s;
    }
    for (int i = 0, s = 0; i < rank; i++) {
        while (taken >> s & 1) s++;
        if (from[i] < 0) from[i] = s++;
    }
}

void permutation_of(struct exprs *p, enum op op, const struct arg *args, int rank, int *from) {
    for (int i = 0; i < rank; i++) from[i] = i;
    if (rank == 0) return;
    if (op == OP_PERMUTE)
        for (int i = 0; i < rank; i++) from[i] = (int)ex_value(p, args[1].ints.at[i]);
    else if (op == OP_TRANSPOSE)
        swap(from, (int)ex_value(p, args[1].i), (int)ex_value(p, args[2].i));
    else if (op == OP_T)
        swap(from, 0, rank - 1);
    else if (op == OP_MT)
        swap(from, rank - 2, rank - 1);
    else if (op == OP_MOVEDIM)
        movedim_order(p, &args[1], &args[2], rank, from);
    else
        WS_BUG("%s is no permutation", op_info(op)->name);
}

bool shape_permute(const struct infer *in, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    const struct arg *a = in->args;
    enum op op = in->op->id;
    int from[WS_MAX_RANK];
    if (op == OP_PERMUTE && a[1].ints.n != m->rank)
        return infer_fail(in, "%u dimensions given for a tensor of %d", a[1].ints.n, m->rank);
    if (op == OP_T && m->rank > 2)
        return infer_fail(in, "needs at most 2 dimensions, got %s", infer_shape(in, m));
    if (op == OP_MT && m->rank < 2)
        return infer_fail(in, "needs at least 2 dimensions, got %s", infer_shape(in, m));
    if (op == OP_MOVEDIM && a[1].ints.n != a[2].ints.n)
        return infer_fail(in, "%u dimensions cannot move to %u places", a[1].ints.n, a[2].ints.n);
    permutation_of(in->g->ex, op, a, m->rank, from);
    for (int i = 0; i < m->rank; i++) append(out, m->size[from[i]], m->stride[from[i]]);
    return true;
}

/* The same tensor. */
bool shape_alias(const struct infer *in, struct meta *out) {
    *out = *infer_meta(in, 0);
    return true;
}

/* set_data: data, in place of what self was. */
bool shape_set_data(const struct infer *in, struct meta *out) {
    const struct meta *self = infer_meta(in, 0), *data = infer_meta(in, 1);
    bool same = self->rank == data->rank;
    for (int i = 0; same && i < self->rank; i++) same = self->size[i] == data->size[i];
    *out = *data;
    return same ||
           infer_fail(in, "%s is no new value of %s", infer_shape(in, data), infer_shape(in, self));
}

/* ---- repeated, cut, added and dropped dimensions --------------------------------------------- */

static bool expand_to(const struct infer *in, const ex *size, uint32_t n, struct meta *out) {
    const struct meta *m = infer_meta(in, 0);
    if (n > WS_MAX_RANK || n < m->rank)
        return infer_fail(in, "%u sizes given for a tensor of %d dimensions", n, m->rank);
    for (uint32_t i = 0; i < n; i++) {
        int old = (int)i - (int)(n - m->rank);
        bool keep = size[i] == constant(in, -1) || (old >= 0 && size[i] == m->size[old]);
        if (keep && old < 0) return infer_fail(in, "a new leading dimension cannot have size -1");
        if (!keep && old >= 0 && !is_one(in, m->size[old]))
            return infer_fail(in, "size %s of dimension %d does not expand to %s",
                              ex_str(in->g->arena, in->g->ex, m->size[old]), old,
                              ex_str(in->g->arena, in->g->ex, size[i]));
        append(out, keep ? m->size[old] : size[i], keep ? m->stride[old] : constant(in, 0));
    }
    return true;
}

bool shape_expand(const struct infer *in, struct meta *out) {
    return expand_to(in, in->args[1].ints.at, in->args[1].ints.n, out);
}

bool shape_expand_as(const struct infer *in, struct meta *out) {
    return expand_to(in, infer_meta(in, 1)->size, infer_meta(in, 1)->rank, out);
}

static bool need_dims(const struct infer *in) {
    return infer_meta(in, 0)->rank || infer_fail(in, "cannot be applied to a 0-dim tensor");
}

bool shape_slice(const struct infer *in, struct meta *out) {
    struct exprs *p = in->g->ex;
    int64_t step, lo, hi;
    if (!need_dims(in)) return false;
    if (!ex_is_const(p, in->args[4].i, &step) || step < 1)
        return infer_fail(in, "step must be a positive constant, not %s",
                          ex_str(in->g->arena, p, in->args[4].i));
    int dim = dim_at(in, 1);
    *out = *infer_meta(in, 0);
    ex length = ex_sub(p, in->args[3].i, in->args[2].i);
    ex_range(p, length, &lo, &hi);
    if (lo < 0) length = ex_max(p, length, constant(in, 0));
    out->size[dim] = ex_ceildiv(p, length, in->args[4].i);
    out->stride[dim] = ex_mul(p, out->stride[dim], in->args[4].i);
    return true;
}

bool shape_narrow(const struct infer *in, struct meta *out) {
    struct exprs *p = in->g->ex;
    int64_t start, length, size, lo, hi;
    if (!need_dims(in)) return false;
    int dim = dim_at(in, 1);
    *out = *infer_meta(in, 0);
    bool known = ex_is_const(p, in->args[2].i, &start) && ex_is_const(p, in->args[3].i, &length) &&
                 ex_is_const(p, out->size[dim], &size);
    bool fits;
    if (known) {
        fits = start >= -size && start <= size && length >= 0 &&
               length <= size - (start < 0 ? start + size : start);
    } else {
        ex end = ex_add(p, in->args[2].i, in->args[3].i);
        ex_range(p, ex_sub(p, out->size[dim], end), &lo, &hi);
        fits = lo >= 0;
    }
    if (!fits)
        return infer_fail(in, "start %s with length %s leaves dimension %d of size %s",
                          ex_str(in->g->arena, p, in->args[2].i),
                          ex_str(in->g->arena, p, in->args[3].i), dim,
                          ex_str(in->g->arena, p, out->size[dim]));
    out->size[dim] = in->args[3].i;
    return true;
}

static void drop_dim(struct meta *m, int dim) {
    m->rank--;
    for (int i = dim; i < m->rank; i++)
        m->size[i] = m->size[i + 1], m->stride[i] = m->stride[i + 1];
}

bool shape_select(const struct infer *in, struct meta *out) {
    int64_t index, size, lo, hi;
    if (!need_dims(in)) return false;
    int dim = dim_at(in, 1);
    *out = *infer_meta(in, 0);
    ex_range(in->g->ex, out->size[dim], &lo, &hi);
    bool known = ex_is_const(in->g->ex, out->size[dim], &size);
    if (!known) size = lo;
    if (!ex_is_const(in->g->ex, in->args[2].i, &index) || index >= size || index < -size)
        return infer_fail(in, "index %s out of range for dimension %d of size %s",
                          ex_str(in->g->arena, in->g->ex, in->args[2].i), dim,
                          ex_str(in->g->arena, in->g->ex, out->size[dim]));
    drop_dim(out, dim);
    return true;
}

bool shape_unsqueeze(const struct infer *in, struct meta *out) {
    struct exprs *p = in->g->ex;
    const struct meta *m = infer_meta(in, 0);
    int dim = dim_at(in, 1);
    if (m->rank == WS_MAX_RANK)
        return infer_fail(in, "at most %d dimensions are supported", WS_MAX_RANK);
    for (int i = 0; i <= m->rank; i++) {
        ex step = dim < m->rank ? ex_mul(p, m->size[dim], m->stride[dim]) : constant(in, 1);
        if (i == dim) append(out, constant(in, 1), step);
        if (i < m->rank) append(out, m->size[i], m->stride[i]);
    }
    return true;
}

/* A dimension that is not 1 stays, as in PyTorch. */
bool shape_squeeze(const struct infer *in, struct meta *out) {
    *out = *infer_meta(in, 0);
    int dim = dim_at(in, 1);
    if (out->rank && is_one(in, out->size[dim])) drop_dim(out, dim);
    return true;
}
