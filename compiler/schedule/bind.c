/* bind.c: which axes of one group are which of another's, and what may be read of it at these.
 *
 *   guest  y[a, b] = f(x[a, b])       host  z[i] = sum over j of y[i, j]
 *   -> a is i, b is j, as both touch y; y is made at (i, j), where the host reads it
 *
 * The indices with which both touch a common buffer say so; where none do, sizes in order. */
#include "schedule/fuse.h"

struct access {
    buffer_id buffer;
    uint32_t by_columns;
    ex index[WS_MAX_RANK];
};

/* ---- unifying iteration spaces --------------------------------------------------------------- */

bool is_axis(const struct group *g, ex e, bool *reduce) {
    for (int k = 0; k < g->n_x; k++)
        if (g->x[k] == e) return *reduce = false, true;
    for (int k = 0; k < g->n_r; k++)
        if (g->r[k] == e) return *reduce = true, true;
    return false;
}

static ex bound_to(const struct merge *m, ex guest) {
    for (int k = 0; k < m->n; k++)
        if (m->from[k] == guest) return m->to[k];
    return EX_NONE;
}

bool axis_is_taken(struct fuser *f, const struct merge *m, ex host) {
    for (int k = 0; k < m->n; k++)
        if (ex_uses(f->l->ex, m->to[k], host)) return true;
    return false;
}

/* May guest axis g and host axis h be bound: both axes of equal size and in compatible roles? */
static bool may_bind(struct fuser *f, const struct merge *m, ex g, ex h) {
    const struct group *G = group_at(f, m->guest), *H = group_at(f, m->host);
    bool g_reduces, h_reduces;
    if (!is_axis(G, g, &g_reduces) || !is_axis(H, h, &h_reduces)) return false;
    if (axis_bound(f, g) != axis_bound(f, h) || bound_to(m, g) || axis_is_taken(f, m, h))
        return false;
    if (m->across && g_reduces == h_reduces && (g_reduces || !m->in_batches)) return false;
    if (m->makes) return g_reduces && h_reduces;
    if (H->matmul) return !h_reduces;                      /* an epilogue has no depth */
    return m->across || !G->n_r || g_reduces == h_reduces; /* a reducing guest keeps its roles */
}

static void bind(struct merge *m, ex g, ex h) {
    m->from[m->n] = g;
    m->to[m->n++] = h;
}

void try_bind(struct fuser *f, struct merge *m, ex g, ex h) {
    if (may_bind(f, m, g, h)) bind(m, g, h);
}

/* The axis of which e is the position from the end; else EX_NONE. */
static ex from_end(struct fuser *f, ex e) {
    struct exprs *p = f->l->ex;
    ex axes[2], c, rest;
    if (ex_symbols(p, e, axes, 2) < 1 || !ex_symbol(p, axes[0])->bound) return EX_NONE;
    bool falls = ex_linear(p, e, axes[0], &c, &rest) && c == ex_const(p, -1);
    return falls && rest == ex_sub(p, axis_bound(f, axes[0]), ex_const(p, 1)) ? axes[0] : EX_NONE;
}

/* Where one of them has from the end what the other has from the beginning: a flip of what was
 * reduced or scanned is stored backwards. */
static void try_bind_backwards(struct fuser *f, struct merge *m, ex g, ex h) {
    ex back = from_end(f, g), ahead = h;
    if (back == EX_NONE) back = g, ahead = from_end(f, h);
    if (ahead == EX_NONE || !may_bind(f, m, back, ahead)) return;
    ex last = ex_sub(f->l->ex, axis_bound(f, ahead), ex_const(f->l->ex, 1));
    bind(m, back, ex_sub(f->l->ex, last, ahead));
}

/* The index with which a member touches buffer b, in group axes: the first store or load found. */
bool touch(struct fuser *f, uint32_t g, buffer_id b, uint32_t nth, ex *index) {
    const struct group *G = group_at(f, g);
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct member *M = &G->members.at[m];
        const struct nest *n = nest_at(f, M->nest);
        int rank = f->l->buffers.at[b].meta.rank;
        if (M->inlined) continue;
        for (uint32_t i = 0; i <= n->insts.n; i++) {
            bool store = i == n->insts.n;
            const ex *at = store ? n->out_index : n->insts.at[i].index;
            if (store ? n->out != b
                      : (n->insts.at[i].kind != INST_LOAD || n->insts.at[i].buffer != b))
                continue;
            if (nth-- > 0) continue;
            for (int k = 0; k < rank; k++)
                index[k] = ex_subst(f->l->ex, at[k], M->from, M->to, M->n);
            return true;
        }
    }
    return false;
}

typedef void bind_function(struct fuser *, struct merge *, ex g, ex h);

static void bind_by_accesses(struct fuser *f, struct merge *m, bind_function *try) {
    ex hi[WS_MAX_RANK], gi[WS_MAX_RANK];
    for (uint32_t x = 0; x < f->touched[m->host].list.n; x++) {
        buffer_id b = f->touched[m->host].list.at[x].buffer;
        for (uint32_t i = 0; i < 4 && touch(f, m->host, b, i, hi); i++)
            for (uint32_t j = 0; j < 4 && touch(f, m->guest, b, j, gi); j++)
                for (int k = 0; k < f->l->buffers.at[b].meta.rank; k++) try(f, m, gi[k], hi[k]);
    }
}

/* What accesses left open is bound in order of the axes, parallel to parallel first. */
static void bind_by_order(struct fuser *f, struct merge *m) {
    const struct group *G = group_at(f, m->guest), *H = group_at(f, m->host);
    for (int i = 0; i < G->n_x + G->n_r; i++) {
        ex g = i < G->n_x ? G->x[i] : G->r[i - G->n_x];
        for (int k = 0; k < H->n_x + H->n_r && !bound_to(m, g); k++)
            try_bind(f, m, g, k < H->n_x ? H->x[k] : H->r[k - H->n_x]);
    }
}

void bind_axes(struct fuser *f, struct merge *m) {
    m->n = 0;
    if (m->by_places) bind_by_places(f, m);
    bind_by_accesses(f, m, try_bind);
    /* on a CPU what is stored backwards would keep all of it from vectors */
    bool backwards = f->limits->kind == DEVICE_CUDA && group_at(f, m->host)->n_r &&
                     !group_at(f, m->guest)->n_r && !f->eager;
    if (backwards) bind_by_accesses(f, m, try_bind_backwards);
    bind_by_order(f, m);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Can buffer b, written by a nest of the merged pair, be read at `index` (in host axes)? A
 * reduction only at its own rows; a pointwise value anywhere, if what it reads can be read there.
 */
static bool readable(struct fuser *f, struct merge *m, buffer_id b, const ex *index);

const struct member *member_of(struct fuser *f, uint32_t nest) {
    const struct group *G = group_at(f, f->s->group_of[nest]);
    for (uint32_t k = 0; k < G->members.n; k++)
        if (G->members.at[k].nest == nest) return &G->members.at[k];
    WS_BUG("nest without a group");
}

/* Own indices of a member in the merged group's axes. */
static ex in_host(struct fuser *f, const struct merge *m, const struct member *M, ex e) {
    ex in_group = ex_subst(f->l->ex, e, M->from, M->to, M->n);
    return ex_subst(f->l->ex, in_group, m->from, m->to, m->n);
}

/* Is M, of group g, a reduction along the merged group's rows, or what covers none of them? */
static bool keeps_columns(struct fuser *f, const struct merge *m, uint32_t g,
                          const struct member *M) {
    const struct group *G = group_at(f, g), *H = group_at(f, m->host);
    bool flipped = m->across && g == m->guest;
    if (!m->across && !G->columns) return false;
    int kept = flipped ? 0 : G->n_batch;
    if (member_is_along(f->s, M, (flipped ? G->r : G->x) + kept,
                        (flipped ? G->n_r : G->n_x) - kept))
        return true;
    for (int i = 0; i < M->n; i++) {
        ex to = in_host(f, m, M, M->from[i]);
        for (int k = 0; k < H->n_x; k++)
            if (ex_uses(f->l->ex, to, H->x[k]) && !is_batch_axis(f, m, k)) return false;
    }
    return true;
}

/* Is it known that load x of nest n reads nothing? */
static bool never_reads(struct fuser *f, const struct nest *n, const struct inst *x, const ex *from,
                        const ex *to, int count) {
    const struct inst *guard = x->guarded ? &n->insts.at[x->args[0]] : NULL;
    int64_t holds;
    return guard && guard->kind == INST_INDEX &&
           ex_is_const(f->l->ex, ex_subst(f->l->ex, guard->index[0], from, to, count), &holds) &&
           !holds;
}

static bool loads_readable(struct fuser *f, struct merge *m, const struct nest *n, const ex *from,
                           const ex *to, int count) {
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        ex index[WS_MAX_RANK];
        if (x->kind != INST_LOAD || never_reads(f, n, x, from, to, count)) continue;
        for (int k = 0; k < x->n_index; k++)
            index[k] = ex_subst(f->l->ex, x->index[k], from, to, count);
        if (!readable(f, m, x->buffer, index)) return false;
    }
    return true;
}

static bool readable(struct fuser *f, struct merge *m, buffer_id b, const ex *index) {
    uint32_t w = f->s->writer[b];
    if (w == NO_NEST) return true;
    uint32_t g = f->s->group_of[w];
    if (g != m->a && g != m->b) return true;
    const struct nest *n = nest_at(f, w);
    if (n->n_reduce || n->scan) {
        const struct member *M = member_of(f, w);
        if (m->by_columns != keeps_columns(f, m, g, M)) return false;
        for (int k = 0; k < f->l->buffers.at[b].meta.rank; k++)
            if (in_host(f, m, M, n->out_index[k]) != index[k]) return false;
        return true;
    }
    struct access key = {
        .buffer = b,
        .by_columns = m->by_columns}; /* in a diamond of readers each access is followed once */
    memcpy(key.index, index, sizeof(ex) * f->l->buffers.at[b].meta.rank);
    if (!map_put(&m->followed, &key, sizeof key, 1)) return true;
    ex from[WS_MAX_RANK], to[WS_MAX_RANK];
    int count = 0;
    for (int k = 0; k < f->l->buffers.at[b].meta.rank; k++)
        if (ex_kind(f->l->ex, n->out_index[k]) == EX_SYM) {
            from[count] = n->out_index[k];
            to[count++] = index[k];
        }
    return loads_readable(f, m, n, from, to, count);
}

/* Of a nest whose indices are `to` in the host, at each place along a reduction's arms, from the
 * k-th on: which load is chosen there is known. */
static bool readable_at_arms(struct fuser *f, struct merge *m, const struct nest *n, const ex *from,
                             const ex *to, int count, int k) {
    const struct group *H = group_at(f, m->host);
    if (H->matmul || k == H->n_x) return loads_readable(f, m, n, from, to, count);
    int64_t size = ex_hint(f->l->ex, ex_symbol(f->l->ex, H->x[k])->bound);
    for (int64_t i = 0; i < size; i++) {
        ex at[GROUP_MAX_AXES], place = ex_const(f->l->ex, i);
        bool along = false;
        for (int j = 0; j < count; j++) {
            at[j] = ex_subst(f->l->ex, to[j], &H->x[k], &place, 1);
            along |= at[j] != to[j];
        }
        if (!readable_at_arms(f, m, n, from, at, count, k + 1)) return false;
        if (!along) break; /* the same everywhere */
    }
    return true;
}

/* S3 for every member that is not inlined away. */
bool all_readable(struct fuser *f, struct merge *m) {
    m->followed = map_new(f->scratch);
    for (int side = 0; side < 2; side++) {
        uint32_t g = side ? m->b : m->a;
        const struct group *G = group_at(f, g);
        for (uint32_t k = 0; k < G->members.n; k++) {
            const struct member *M = &G->members.at[k];
            if (M->inlined || (m->inline_guest && g == m->guest)) continue;
            ex to[GROUP_MAX_AXES];
            for (int i = 0; i < M->n; i++)
                to[i] = ex_subst(f->l->ex, M->to[i], m->from, m->to, m->n);
            m->by_columns = !nest_at(f, M->nest)->n_reduce && keeps_columns(f, m, g, M);
            const struct group *H = group_at(f, m->host);
            if (!readable_at_arms(f, m, nest_at(f, M->nest), M->from, to, M->n, H->n_x - H->n_arms))
                return false;
        }
    }
    return true;
}
