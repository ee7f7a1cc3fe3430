/* columns.c: when a kernel of rows may sum up their columns, too.
 *
 *   n = x * rstd; dx = rstd * (g - n * sum(g * n, 1)); dw = sum(g * n, 0); db = sum(g, 0)
 *
 *   {n, sum, dx}        X = [rows]     R = [columns]
 *   {n, dw, db}         X = [columns]  R = [rows]
 *   -> one group        X = [rows]     R = [columns], in which dw and db reduce along X
 *
 * Both read the same elements; apart, each would read them all. The kernel's blocks stay on the
 * device, go over many rows each, and keep what their rows sum up to, for every column, in
 * registers (kernel.h); a second launch adds up the blocks.
 *
 * If both keep some axes, each batch of rows has columns of its own:
 *
 *   t1 = x.sum(3)   X = [i0, i1, i2]  R = [i3]
 *   t2 = x.amax(2)  X = [i0, i1, i3]  R = [i2]
 *   -> one group    X = [i0, i1, i2]  R = [i3], in which t2 reduces along i2
 *
 * Where batches are more than multiprocessors, a block has one to itself and stores its columns.
 *
 * Two groups may become such a one when
 *   - each reduces exactly what the other keeps, but for the batch, and they read some element at
 *     the same place;
 *   - no row needs a finished column;
 *   - memory runs along the rows;
 *   - there are rows for all of the device, and the columns' sums of all blocks are less memory
 *     than what is saved;
 *   - a block's registers hold a row and its columns' sums. */
#include "schedule/fuse.h"

static bool uses_any(struct fuser *f, ex e, const ex *axes, int n) {
    for (int k = 0; k < n; k++)
        if (ex_uses(f->l->ex, e, axes[k])) return true;
    return false;
}

/* Member M of group g, as a member of the merged group: is it a reduction of columns? */
static bool reduces_columns(struct fuser *f, const struct merge *m, uint32_t g,
                            const struct member *M) {
    const struct group *G = group_at(f, g);
    if (m->across && g == m->guest) return member_is_along(f->s, M, G->r, G->n_r);
    return G->columns && member_is_along(f->s, M, G->x + G->n_batch, G->n_x - G->n_batch);
}

bool is_batch_axis(struct fuser *f, const struct merge *m, int k) {
    const struct group *H = group_at(f, m->host), *G = group_at(f, m->guest);
    if (!m->in_batches) return k < H->n_batch;
    for (int i = 0; i < G->n_x; i++)
        for (int j = 0; j < m->n; j++)
            if (m->from[j] == G->x[i] && m->to[j] == H->x[k]) return true;
    return false;
}

void bring_batches_first(struct fuser *f, const struct merge *m, struct group *out) {
    const struct group H = *group_at(f, m->host);
    int n = 0;
    for (int batch = 1; batch >= 0; batch--) {
        for (int k = 0; k < H.n_x; k++)
            if (is_batch_axis(f, m, k) == batch) out->x[n++] = H.x[k];
        if (batch) out->n_batch = n;
    }
}

/* Are the batches whose rows the guest sums up columns of those of the host, if it does? */
static bool batches_agree(struct fuser *f, const struct merge *m) {
    const struct group *H = group_at(f, m->host), *G = group_at(f, m->guest);
    if (!G->columns || (!G->n_batch && !H->n_batch)) return true;
    int found = 0;
    for (int i = 0; i < G->n_batch; i++)
        for (int j = 0; j < m->n; j++)
            for (int k = 0; k < H->n_batch; k++)
                found += m->from[j] == G->x[i] && m->to[j] == H->x[k];
    return G->n_batch == H->n_batch && found == H->n_batch;
}

/* Bytes of a column's sums that group g brings. */
static int64_t sums_of_column(struct fuser *f, const struct merge *m, uint32_t g) {
    int64_t bytes = 0;
    for (uint32_t k = 0; k < group_at(f, g)->members.n; k++) {
        const struct member *M = &group_at(f, g)->members.at[k];
        const struct nest *n = nest_at(f, M->nest);
        if (!reduces_columns(f, m, g, M)) continue;
        const struct inst *last = &n->insts.at[n->insts.n - 1];
        bytes += reduction_size(last->reduction, last->dtype);
    }
    return bytes;
}

/* Is buffer b read by a member of g with an index that moves along the merged group's columns? */
static bool read_along_columns(struct fuser *f, const struct merge *m, uint32_t g, buffer_id b) {
    const struct group *H = group_at(f, m->host);
    ex index[WS_MAX_RANK];
    for (uint32_t i = 0; touch(f, g, b, i, index); i++)
        for (int d = 0; d < f->l->buffers.at[b].meta.rank; d++)
            if (uses_any(f, ex_subst(f->l->ex, index[d], m->from, m->to, m->n), H->r, H->n_r))
                return true;
    return !touch(f, g, b, 0, index); /* by what is inlined: it may */
}

/* Bytes of a column's elements that the kernel loads. */
static int64_t loads_of_column(struct fuser *f, const struct merge *m) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < f->touched[m->a].list.n + f->touched[m->b].list.n; i++) {
        uint32_t n = f->touched[m->a].list.n;
        buffer_id b =
            i < n ? f->touched[m->a].list.at[i].buffer : f->touched[m->b].list.at[i - n].buffer;
        if (i >= n && group_touches(f, m->a, b)) continue; /* counted */
        if (group_writes(f, m->a, b) || group_writes(f, m->b, b)) continue;
        bool along = (group_reads(f, m->a, b) && read_along_columns(f, m, m->a, b)) ||
                     (group_reads(f, m->b, b) && read_along_columns(f, m, m->b, b));
        if (along) bytes += dtype_bytes(f->l->buffers.at[b].meta.dtype);
    }
    return bytes;
}

/* Half of a multiprocessor's registers may hold the block's row and sums; the other half is for
 * what is computed. Two blocks may share a row; more would wait for each other longer than it takes
 * to read everything twice. On a CPU they lie in its cache. */
const char *columns_too_wide(struct fuser *f, const struct merge *m) {
    const struct group *H = group_at(f, m->host);
    if (!m->across && !batches_agree(f, m)) return "columns are of other batches of rows";
    int64_t columns = axes_numel(f->l, H->r, H->n_r);
    int64_t need =
        columns * (sums_of_column(f, m, m->a) + sums_of_column(f, m, m->b) + loads_of_column(f, m));
    int64_t have = f->limits->kind == DEVICE_CPU
                       ? f->limits->l2_bytes / f->limits->units
                       : f->limits->regs_unit * 4 / 2 * (f->limits->max_cluster > 1 ? 2 : 1);
    if (need <= have) return NULL;
    return arena_printf(f->arena,
                        "a row of %lld columns and their sums take %lld bytes of %lld in registers",
                        (long long)columns, (long long)need, (long long)have);
}

/* By how many elements buffer b is left behind when `axis` moves by one, where that differs, as of
 * i % 512, its first step; -1 if that is no number. */
static int64_t stride_of(struct fuser *f, buffer_id b, const ex *index, ex axis) {
    struct exprs *p = f->l->ex;
    const struct meta *meta = &f->l->buffers.at[b].meta;
    ex offset = ex_const(p, 0), step, rest, zero = ex_const(p, 0), one = ex_const(p, 1);
    int64_t v;
    for (int d = 0; d < meta->rank; d++)
        offset = ex_add(p, offset, ex_mul(p, index[d], meta->stride[d]));
    if (!ex_linear(p, offset, axis, &step, &rest))
        step = ex_sub(p, ex_subst(p, offset, &axis, &one, 1), ex_subst(p, offset, &axis, &zero, 1));
    return ex_is_const(p, step, &v) ? v : -1;
}

int64_t bytes_along(struct fuser *f, uint32_t g, const ex *axes, int n) {
    int64_t bytes = 0;
    ex index[WS_MAX_RANK];
    for (uint32_t i = 0; i < f->touched[g].list.n; i++) {
        buffer_id b = f->touched[g].list.at[i].buffer;
        for (int k = 0; k < n && touch(f, g, b, 0, index); k++)
            if (stride_of(f, b, index, axes[k]) == 1) bytes += buffer_bytes(f->l, b);
    }
    return bytes;
}

/* Is each of the guest's axes one of the host's, and none left over? And if batches of rows have
 * columns of their own, do those that the host has already have the same? */
static bool unifies(struct fuser *f, const struct merge *m) {
    const struct group *H = group_at(f, m->host), *G = group_at(f, m->guest);
    if (m->n < G->n_x + G->n_r || G->n_x + G->n_r != H->n_x + H->n_r) return false;
    if (!m->in_batches) return G->n_r == H->n_x && !H->n_batch;
    int batch = 0;
    for (int k = 0; k < H->n_x; k++) {
        bool is = is_batch_axis(f, m, k);
        if (H->columns && is != (k < H->n_batch)) return false;
        batch += is;
    }
    return batch && f->limits->kind == DEVICE_CUDA && !f->eager;
}

/* Why the guest cannot be the columns of the host's rows; NULL if it can. */
static const char *columns_reason(struct fuser *f, struct merge *m) {
    const struct group *H = group_at(f, m->host);
    bind_axes(f, m);
    if (!unifies(f, m)) return "iteration spaces differ";
    if (bytes_along(f, m->host, H->r, H->n_r) < bytes_along(f, m->host, H->x, H->n_x))
        return "memory does not run along the rows";
    if (!all_readable(f, m))
        return depends(f, m->host, m->guest)
                   ? "rows need finished columns"
                   : "a reduction is read at other rows or columns than its own";
    if (!they_meet(f, m)) return "rows and columns share no element";
    int64_t rows = axes_numel(f->l, H->x, H->n_x), columns = axes_numel(f->l, H->r, H->n_r);
    if (rows < f->limits->units)
        return arena_printf(f->arena, "%lld rows cannot fill %d units and sum up columns",
                            (long long)rows, f->limits->units);
    int64_t parts = rows < 2 * f->limits->units ? rows : 2 * f->limits->units, batches = 1;
    for (int k = 0; k < H->n_x && m->in_batches; k++)
        if (is_batch_axis(f, m, k)) batches *= axes_numel(f->l, &H->x[k], 1);
    if (batches > f->limits->units)
        parts = 0; /* a block has all rows of one, and its columns whole */
    int64_t sums = parts * columns * sums_of_column(f, m, m->guest);
    if (sums >= m->saved)
        return arena_printf(f->arena,
                            "columns' sums of %lld blocks are %lld bytes, no less "
                            "than what is saved",
                            (long long)parts, (long long)sums);
    return columns_too_wide(f, m);
}

bool plan_columns(struct fuser *f, struct merge *m) {
    const struct group *A = group_at(f, m->a), *B = group_at(f, m->b);
    if (!A->n_r || !B->n_r || A->matmul || B->matmul || (A->scan && B->scan)) return false;
    if (A->n_arms || B->n_arms) return false;
    for (int way = 0; way < 4; way++) {
        bool side = way % 2;
        struct merge c = {.a = m->a,
                          .b = m->b,
                          .saved = m->saved,
                          .across = true,
                          .in_batches = way >= 2,
                          .by_places = m->by_places};
        c.host = side ? m->b : m->a;
        c.guest = side ? m->a : m->b;
        const struct group *H = group_at(f, c.host), *G = group_at(f, c.guest);
        if (G->columns || G->scan || (H->scan && !c.in_batches)) continue;
        const char *why = columns_reason(f, &c);
        if (!why) {
            *m = c;
            return true;
        }
        if (strcmp(why, "iteration spaces differ") != 0 &&
            strcmp(why, "memory does not run along the rows") != 0)
            m->why_not = why;
    }
    return false;
}
