/* split.c: axes of two groups split until both speak of the same ones.
 *
 *   s = softmax(x, 1)                     x[i0: 64] r[r0: 2048]
 *   y = s.view(16, 4, 32, 64) * w         x[i0: 16, i1: 4, i2: 32, i3: 64]
 * ->
 *   one group                             x[i0a: 16, i0b: 4] r[r0a: 32, r0b: 64]
 *
 * What a reshape shows is read at an index like [i0*4 + i1, i2*64 + i3]: no axis of the one is an
 * axis of the other. But in the row-major order of a tensor, an axis of n elements that goes in
 * steps of c takes the stretch from c to c*n: i2 that from 64 to 2048, r0 that from 1 to 2048. An
 * axis is split where one of the other group's begins or ends inside of its stretch, if both are
 * multiples; and where it is divided: the windows of a picture are read at (i0 % 7)*8 + i1 // 8.
 * Then axes of equal steps and sizes are each other.
 *
 * Nests keep their indices, and buffers their shapes: what a nest calls i0 is i0a*4 + i0b of its
 * group. The kernel merges neighbours again wherever its indices let it (kernel/body.c).
 *
 * Two groups are not split for each other
 *   - if they could be fused as they are, and meet in what they share, or one inlined;
 *   - if that would make memory run along different axes, or in pieces of less than a sector;
 *     unless it is a product's, whose tiles have both axes: the phases of a transposed convolution
 *     are filters, and what lies between the pixels of one is stored by the same tile.
 * The depth of a matrix product and the axis of a scan stay whole.
 *
 * Halves that a product has no axis for may be its arms: of stack([zeros, x @ w], 1), or of a
 * transposed convolution of which every other line takes no tap, a thread stores both elements
 * that come of one sum. So may those of what is made of a reduction: of cat([s, exp(s)], 1).
 *
 * What reads a product's phases may end within the last of a stride, as outputs of most transposed
 * convolutions do: of i2 // 2 and i2 % 2 for 255 elements. On a GPU it goes on then to the stride's
 * end, and stores nothing there (kernel/body.c): if it reads nothing else along such an axis. So it
 * is where it begins within a stride: what reads (i2 + 1) // 2 and (i2 + 1) % 2 begins one before,
 * as i2 - 1. */
#include "schedule/fuse.h"

enum {
    MAX_SPLITS = 16,      /* of a pair */
    PIECE_BYTES = 32,     /* what memory is read by */
    SMALL_OPERAND = 16,   /* times smaller than the largest: it may lie as it likes */
    SOON_MOVED = 1 << 18, /* bytes of a pair that a GPU moves, in pieces, while it launches one */
};

/* Where a group touches a buffer: for each of its axes, X before R, by how many elements that goes
 * on; EX_NONE where it does not, or not by a constant step forward. */
struct place {
    buffer_id buffer;
    ex number; /* of the element, in row-major order */
    ex step[2 * GROUP_MAX_AXES];
};

struct places {
    struct fuser *f;
    uint32_t group;
    struct map seen; /* buffer and index */
    VEC(struct place) at;
};

static int axis_count(const struct group *G) { return G->n_x + G->n_r; }
static ex axis_at(const struct group *G, int k) { return k < G->n_x ? G->x[k] : G->r[k - G->n_x]; }

static bool is_positive(struct fuser *f, ex e) {
    int64_t lo, hi;
    ex_range(f->l->ex, e, &lo, &hi);
    return lo >= 1;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void add_place(struct places *p, buffer_id b, const ex *index) {
    struct exprs *e = p->f->l->ex;
    const struct meta *m = &p->f->l->buffers.at[b].meta;
    const struct group *G = group_at(p->f, p->group);
    struct place x = {.buffer = b};
    ex number = ex_const(e, 0), step, rest;
    for (int d = 0; d < m->rank; d++) number = ex_add(e, ex_mul(e, number, m->size[d]), index[d]);
    for (int k = 0; k < axis_count(G); k++)
        if (ex_linear(e, number, axis_at(G, k), &step, &rest) && is_positive(p->f, step))
            x.step[k] = step;
    x.number = number;
    vec_push(p->f->scratch, &p->at, x);
}

/* What nest n loads, if its indices `from` are `to` in the group: through what is inlined. */
static void add_loads(struct places *p, const struct nest *n, const ex *from, const ex *to,
                      int count) {
    const struct loops *l = p->f->l;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        struct {
            buffer_id b;
            ex index[WS_MAX_RANK];
        } key = {.b = x->buffer};
        if (x->kind != INST_LOAD) continue;
        for (int d = 0; d < x->n_index; d++)
            key.index[d] = ex_subst(l->ex, x->index[d], from, to, count);
        if (!map_put(&p->seen, &key, sizeof key, 1)) continue;
        uint32_t w = p->f->s->writer[x->buffer];
        bool own = w != NO_NEST && p->f->s->group_of[w] == p->group;
        if (!own || !member_of(p->f, w)->inlined) {
            add_place(p, x->buffer, key.index);
            continue;
        }
        const struct nest *inner = nest_at(p->f, w);
        ex axes[WS_MAX_RANK], at[WS_MAX_RANK];
        int rank = 0;
        for (int d = 0; d < x->n_index; d++)
            if (ex_kind(l->ex, inner->out_index[d]) == EX_SYM) {
                axes[rank] = inner->out_index[d];
                at[rank++] = key.index[d];
            }
        add_loads(p, inner, axes, at, rank);
    }
}

static struct places places_of(struct fuser *f, uint32_t g) {
    struct places p = {.f = f, .group = g, .seen = map_new(f->scratch)};
    const struct group *G = group_at(f, g);
    for (uint32_t k = 0; k < G->members.n; k++) {
        const struct member *M = &G->members.at[k];
        const struct nest *n = nest_at(f, M->nest);
        ex index[WS_MAX_RANK];
        if (M->inlined) continue;
        for (int d = 0; d < f->l->buffers.at[n->out].meta.rank; d++)
            index[d] = ex_subst(f->l->ex, n->out_index[d], M->from, M->to, M->n);
        add_place(&p, n->out, index);
        add_loads(&p, n, M->from, M->to, M->n);
    }
    return p;
}

/* ---- splitting ------------------------------------------------------------------------------- */

/* a / b, if b divides a; EX_NONE otherwise. Both are positive. */
static ex quotient(struct fuser *f, ex a, ex b) {
    ex q = ex_div(f->l->ex, a, b);
    return ex_mul(f->l->ex, q, b) == a ? q : EX_NONE;
}

/* The outer and the inner half of an axis split by q: the same ones whenever it is asked. */
static void halves(struct fuser *f, ex axis, ex q, ex *outer, ex *inner) {
    const ex key[2] = {axis, q};
    const char *name = ex_symbol(f->l->ex, axis)->name;
    ex size = ex_symbol(f->l->ex, axis)->bound;
    uint64_t both;
    if (!map_get(&f->halves, key, sizeof key, &both)) {
        ex o = ex_index(f->l->ex, arena_printf(f->s->arena, "%sa", name), quotient(f, size, q));
        ex i = ex_index(f->l->ex, arena_printf(f->s->arena, "%sb", name), q);
        both = (uint64_t)o << 32 | i;
        map_put(&f->halves, key, sizeof key, both);
    }
    *outer = (ex)(both >> 32);
    *inner = (ex)both;
}

/* Axis k of the group becomes two, the inner one of size q. */
static void split_axis(struct fuser *f, struct group *G, int k, ex q) {
    bool reduced = k >= G->n_x;
    ex *list = reduced ? G->r : G->x, axis = axis_at(G, k), outer, inner;
    int *n = reduced ? &G->n_r : &G->n_x, at = reduced ? k - G->n_x : k;
    halves(f, axis, q, &outer, &inner);
    memmove(&list[at + 1], &list[at], sizeof(ex) * (size_t)(*n - at));
    list[at] = outer;
    list[at + 1] = inner;
    G->n_arms += !reduced && k >= *n - G->n_arms;
    ++*n;
    ex both = ex_add(f->l->ex, ex_mul(f->l->ex, outer, q), inner);
    for (uint32_t m = 0; m < G->members.n; m++)
        for (int i = 0; i < G->members.at[m].n; i++)
            G->members.at[m].to[i] = ex_subst(f->l->ex, G->members.at[m].to[i], &axis, &both, 1);
}

static bool may_split(const struct group *G, int k) {
    bool reduced = k >= G->n_x;
    return !(reduced && (G->matmul || G->scan)) && (reduced ? G->n_r : G->n_x) < GROUP_MAX_AXES;
}

/* Splits axis k of G, which goes in steps of c, where another axis begins or ends: at t. */
static bool split_at(struct fuser *f, struct group *G, int k, ex c, ex t) {
    ex size = ex_symbol(f->l->ex, axis_at(G, k))->bound, one = ex_const(f->l->ex, 1);
    if (!is_positive(f, size)) return false;
    ex q = quotient(f, t, c);
    if (!q || q == one || q == size || !quotient(f, size, q)) return false;
    split_axis(f, G, k, q);
    return true;
}

ex axis_divisor(const struct exprs *p, ex e, ex axis) {
    enum ex_kind kind = ex_kind(p, e);
    if (kind == EX_CONST || kind == EX_SYM || !ex_uses(p, e, axis)) return EX_NONE;
    ex a = ex_lhs(p, e), b = ex_rhs(p, e);
    if ((kind == EX_DIV || kind == EX_MOD) && a == axis) return b;
    ex inside = axis_divisor(p, a, axis);
    return inside ? inside : axis_divisor(p, b, axis);
}

/* What (axis + before) is divided by in e, with before a constant; EX_NONE if by nothing. */
static ex shifted_divisor(struct exprs *p, ex e, ex axis, int64_t *before) {
    enum ex_kind kind = ex_kind(p, e);
    ex factor, rest;
    if (kind == EX_CONST || kind == EX_SYM || !ex_uses(p, e, axis)) return EX_NONE;
    ex a = ex_lhs(p, e), b = ex_rhs(p, e);
    if ((kind == EX_DIV || kind == EX_MOD) && ex_linear(p, a, axis, &factor, &rest) &&
        factor == ex_const(p, 1) && ex_is_const(p, rest, before))
        return b;
    ex inside = shifted_divisor(p, a, axis, before);
    return inside ? inside : shifted_divisor(p, b, axis, before);
}

static bool split_divided(struct fuser *f, struct group *G, const struct place *x) {
    for (int k = 0; k < axis_count(G); k++) {
        bool may = !x->step[k] && may_split(G, k);
        ex d = may ? axis_divisor(f->l->ex, x->number, axis_at(G, k)) : EX_NONE;
        if (d && is_positive(f, d) && split_at(f, G, k, ex_const(f->l->ex, 1), d)) return true;
    }
    return false;
}

/* Splits an axis of the first group where one of the second begins or ends, if there is any. */
static bool split_one(struct fuser *f, const struct places *p, const struct places *by) {
    struct group *G = group_at(f, p->group);
    const struct group *B = group_at(f, by->group);
    for (uint32_t i = 0; i < p->at.n; i++)
        for (uint32_t j = 0; j < by->at.n; j++) {
            const struct place *x = &p->at.at[i], *y = &by->at.at[j];
            if (x->buffer != y->buffer) continue;
            if (split_divided(f, G, x)) return true;
            for (int k = 0; k < axis_count(G); k++)
                for (int n = 0; x->step[k] && may_split(G, k) && n < axis_count(B); n++) {
                    if (!y->step[n]) continue;
                    ex end =
                        ex_mul(f->l->ex, y->step[n], ex_symbol(f->l->ex, axis_at(B, n))->bound);
                    if (!is_positive(f, end)) continue;
                    if (split_at(f, G, k, x->step[k], y->step[n])) return true;
                    if (split_at(f, G, k, x->step[k], end)) return true;
                }
        }
    return false;
}

/* The group, with members of its own. */
static struct group copy_group(struct fuser *f, const struct group *G) {
    struct group out = *G;
    memset(&out.members, 0, sizeof out.members);
    for (uint32_t m = 0; m < G->members.n; m++)
        vec_push(f->s->arena, &out.members, G->members.at[m]);
    return out;
}

/* ---- beyond the end -------------------------------------------------------------------------- */

/* Whole strides of n elements that a group goes through, the first of which begins `before` its
 * axis does; n 0: none. */
struct strides {
    int64_t n, before;
};

/* The axis of so many elements before this one, and on to the end of the last stride; the same one
 * whenever it is asked. */
static ex longer(struct fuser *f, ex axis, int64_t size, struct strides by) {
    const ex key[3] = {axis, EX_NONE, ex_const(f->l->ex, by.before)};
    uint64_t symbol;
    if (!map_get(&f->halves, key, sizeof key, &symbol)) {
        int64_t whole = (by.before + size + by.n - 1) / by.n * by.n;
        symbol = ex_index(f->l->ex, ex_symbol(f->l->ex, axis)->name, ex_const(f->l->ex, whole));
        map_put(&f->halves, key, sizeof key, symbol);
    }
    return (ex)symbol;
}

/* All that the group that writes buffer b goes along where its index has steps of `step`, as one
 * stride, if that begins before the buffer or ends behind it. */
static struct strides beyond_ends(struct fuser *f, uint32_t writer, buffer_id b, ex step) {
    const struct group *H = group_at(f, writer);
    const struct meta *m = &f->l->buffers.at[b].meta;
    for (uint32_t i = 0; i < H->members.n; i++) {
        const struct member *M = &H->members.at[i];
        const struct nest *n = nest_at(f, M->nest);
        ex below = ex_const(f->l->ex, 1);
        for (int d = m->rank - 1; d >= 0 && n->out == b; d--) {
            int64_t size, lo, hi;
            ex_range(f->l->ex, ex_subst(f->l->ex, n->out_index[d], M->from, M->to, M->n), &lo, &hi);
            if (below == step && ex_is_const(f->l->ex, m->size[d], &size) && (lo < 0 || hi >= size))
                return (struct strides){.n = hi - lo + 1, .before = -lo};
            below = ex_mul(f->l->ex, below, m->size[d]);
        }
    }
    return (struct strides){0};
}

/* The strides in which an axis of a group goes through what the product's group writes, if it
 * begins or ends within one. */
static struct strides strides_beyond(struct fuser *f, const struct place *p, ex axis, ex step,
                                     uint32_t product) {
    struct strides by = {0};
    int64_t size;
    ex d = shifted_divisor(f->l->ex, p->number, axis, &by.before);
    if (d && !ex_is_const(f->l->ex, d, &by.n)) return (struct strides){0};
    bool shifted = d && by.before;
    if (!d && step) by = beyond_ends(f, product, p->buffer, step);
    if (by.n < 2 || by.before < 0 || by.before >= by.n ||
        !ex_is_const(f->l->ex, ex_symbol(f->l->ex, axis)->bound, &size))
        return (struct strides){0};
    return shifted || size % by.n ? by : (struct strides){0};
}

/* Makes axes of group g longer that the product's results are read by, in strides of which the
 * first or the last is not whole; true if there is one. */
static bool lengthen(struct fuser *f, uint32_t g, uint32_t product) {
    struct exprs *e = f->l->ex;
    struct group *G = group_at(f, g);
    struct places p = places_of(f, g);
    for (uint32_t i = 0; i < p.at.n; i++)
        for (int k = 0; k < G->n_x && group_writes(f, product, p.at.at[i].buffer); k++) {
            ex was = G->x[k];
            struct strides by = strides_beyond(f, &p.at.at[i], was, p.at.at[i].step[k], product);
            if (!by.n) continue;
            G->x[k] = longer(f, was, ex_value(e, ex_symbol(e, was)->bound), by);
            ex at = ex_sub(e, G->x[k], ex_const(e, by.before));
            for (uint32_t m = 0; m < G->members.n; m++)
                for (int j = 0; j < G->members.at[m].n; j++) {
                    ex *to = &G->members.at[m].to[j];
                    *to = ex_subst(e, *to, &was, &at, 1);
                }
            return true;
        }
    return false;
}

/* Is there anything but the product's results, and its own, that the group reads along an axis that
 * became longer? */
static bool reads_beyond(struct fuser *f, uint32_t g, uint32_t product, const struct group *was) {
    const struct group *G = group_at(f, g);
    struct places p = places_of(f, g);
    for (uint32_t i = 0; i < p.at.n; i++) {
        buffer_id b = p.at.at[i].buffer;
        if (group_writes(f, product, b) || group_writes(f, g, b)) continue;
        for (int k = 0; k < G->n_x; k++)
            if (G->x[k] != was->x[k] && ex_uses(f->l->ex, p.at.at[i].number, G->x[k])) return true;
    }
    return false;
}

/* Does what instruction i of the nest computes vary with the axis? */
static bool varies(struct fuser *f, const struct nest *n, inst_id i, ex axis) {
    const struct inst *x = &n->insts.at[i];
    for (int d = 0; d < x->n_index; d++)
        if (ex_uses(f->l->ex, x->index[d], axis)) return true;
    for (int a = 0; a < x->n_args; a++)
        if (varies(f, n, x->args[a], axis)) return true;
    return false;
}

/* Have both factors of the group's product axes of their own? Else it is a reduction like others
 * (kernel/axes.c). */
static bool has_rows_and_columns(struct fuser *f, const struct group *H) {
    for (uint32_t i = 0; i < H->members.n; i++) {
        const struct nest *n = nest_at(f, H->members.at[i].nest);
        bool rows = false, columns = false;
        if (!n->matmul) continue;
        const struct inst *sum = &n->insts.at[n->insts.n - 1];
        const struct inst *mul = &n->insts.at[sum->args[0]];
        if (sum->kind != INST_REDUCE || mul->kind != INST_OP || mul->n_args != 2) return false;
        for (int k = 0; k < n->n_axes; k++) {
            bool left = varies(f, n, mul->args[0], n->axes[k]),
                 right = varies(f, n, mul->args[1], n->axes[k]);
            rows |= left && !right;
            columns |= right && !left;
        }
        return rows && columns;
    }
    return false;
}

static void end_with_strides(struct fuser *f, const struct merge *m, const struct group whole[2]) {
    bool of_b = group_at(f, m->b)->matmul;
    uint32_t product = of_b ? m->b : m->a, g = of_b ? m->a : m->b;
    struct group *G = group_at(f, g), *H = group_at(f, product), before;
    if (f->limits->kind != DEVICE_CUDA || f->eager || !H->matmul || G->matmul) return;
    if (G->scan || !has_rows_and_columns(f, H)) return;
    before = copy_group(f, G);
    bool any = false;
    while (lengthen(f, g, product)) any = true;
    if (any && reads_beyond(f, g, product, &whole[g == m->b])) *G = before;
}

/* ---- arms ------------------------------------------------------------------------------------ */

/* Does the group store along an axis that is no arm in whole sectors, one after the other, and are
 * neighbours along an arm sectors apart? */
static bool stores_sectors(struct fuser *f, uint32_t g, const ex *arms, int n) {
    const struct group *G = group_at(f, g);
    struct places p = places_of(f, g);
    for (uint32_t i = 0; i < p.at.n; i++) {
        const struct place *x = &p.at.at[i];
        int64_t bytes = dtype_bytes(f->l->buffers.at[x->buffer].meta.dtype);
        bool whole = false;
        if (!group_writes(f, g, x->buffer)) continue;
        for (int k = 0; k < G->n_x; k++) {
            bool arm = false;
            for (int a = 0; a < n; a++) arm |= G->x[k] == arms[a];
            int64_t step = x->step[k] ? ex_hint(f->l->ex, x->step[k]) : 0;
            if (arm && ex_uses(f->l->ex, x->number, G->x[k]) && step * bytes < PIECE_BYTES)
                return false;
            whole |= !arm && step == 1 && axes_numel(f->l, &G->x[k], 1) * bytes >= PIECE_BYTES;
        }
        if (!whole) return false;
    }
    return true;
}

/* Does the guest choose among what it reads by these axes alone, as parts of a concatenation do? */
static bool chooses_along(struct fuser *f, uint32_t g, const ex *arms, int n) {
    const struct group *G = group_at(f, g);
    ex last[GROUP_MAX_AXES];
    bool any = false;
    for (int k = 0; k < n; k++)
        last[k] = ex_sub(f->l->ex, ex_symbol(f->l->ex, arms[k])->bound, ex_const(f->l->ex, 1));
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct member *M = &G->members.at[m];
        const struct nest *x = nest_at(f, M->nest);
        for (uint32_t i = 0; i < x->insts.n && !M->inlined; i++) {
            if (x->insts.at[i].kind != INST_LOAD || !x->insts.at[i].guarded) continue;
            const struct inst *guard = &x->insts.at[x->insts.at[i].args[0]];
            if (guard->kind != INST_INDEX) return false;
            ex holds = ex_subst(f->l->ex, guard->index[0], M->from, M->to, M->n);
            holds = ex_subst(f->l->ex, holds, arms, last, n);
            if (!ex_is_const(f->l->ex, holds, NULL)) return false;
            any = true;
        }
    }
    return any;
}

/* May a host's threads store several elements each? A product's, if it is none of few columns; or a
 * reduction's, which the guest stores in parts: in whole sectors, or so little that a launch takes
 * longer. */
static bool may_have_arms(struct fuser *f, const struct merge *m) {
    const struct group *H = group_at(f, m->host), *G = group_at(f, m->guest);
    if (f->limits->kind != DEVICE_CUDA || f->eager || G->n_r || G->scan || G->matmul) return false;
    if (H->matmul) return has_rows_and_columns(f, H);
    return H->n_r && !H->scan && !H->columns;
}

static bool are_arms(struct fuser *f, const struct merge *m, const ex *arms, int n) {
    bool sectors = stores_sectors(f, m->guest, arms, n);
    if (group_at(f, m->host)->matmul) return sectors;
    return (sectors || pair_is_small(f, m->a, m->b)) && chooses_along(f, m->guest, arms, n);
}

/* What reads a product's results, or a reduction's, goes along axes of its own: along those that
 * are short a thread stores all elements that it has the result for, as arms of the host's group.
 * On a GPU, whose kernels have such stores (kernel/body.c). A product's not within a sector of
 * memory: with every other or every third element by a store of its own an H100 takes longer than
 * with a product and a pass. */
void take_arms(struct fuser *f, struct merge *m) {
    enum { MOST = 8 };
    struct group *H = group_at(f, m->host);
    const struct group *G = group_at(f, m->guest);
    ex arms[GROUP_MAX_AXES];
    int n = 0;
    int64_t all = 1, size;
    if (!may_have_arms(f, m)) return;
    for (int k = 0; k < H->n_arms; k++)
        all = sat_mul(all, axes_numel(f->l, &H->x[H->n_x - 1 - k], 1));
    for (int k = 0; k < G->n_x; k++) {
        bool bound = false;
        for (int i = 0; i < m->n; i++) bound |= m->from[i] == G->x[k];
        if (bound) continue;
        if (!ex_is_const(f->l->ex, ex_symbol(f->l->ex, G->x[k])->bound, &size) || size < 2) return;
        if ((all = sat_mul(all, size)) > MOST || H->n_x + n == GROUP_MAX_AXES) return;
        arms[n++] = G->x[k];
    }
    if (!n || !are_arms(f, m, arms, n)) return;
    for (int k = 0; k < n; k++) {
        m->from[m->n] = m->to[m->n] = H->x[H->n_x++] = arms[k];
        m->n++, H->n_arms++;
    }
}

/* ---- which axis is which --------------------------------------------------------------------- */

static bool is_written(struct fuser *f, const struct merge *m, buffer_id b) {
    return group_writes(f, m->a, b) || group_writes(f, m->b, b);
}

/* What one group reads of the other tells first, then what both read. */
void bind_by_places(struct fuser *f, struct merge *m) {
    const struct group *H = group_at(f, m->host), *G = group_at(f, m->guest);
    struct places h = places_of(f, m->host), g = places_of(f, m->guest);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < h.at.n; i++)
            for (uint32_t j = 0; j < g.at.n; j++) {
                const struct place *x = &h.at.at[i], *y = &g.at.at[j];
                if (x->buffer != y->buffer || is_written(f, m, x->buffer) != (round == 0)) continue;
                for (int k = 0; k < axis_count(H); k++)
                    for (int n = 0; n < axis_count(G); n++)
                        if (x->step[k] && x->step[k] == y->step[n])
                            try_bind(f, m, axis_at(G, n), axis_at(H, k));
            }
}

/* ---- how memory would lie -------------------------------------------------------------------- */

/* An axis of the guest as the host's. */
static ex host_axis(const struct merge *m, ex axis) {
    for (int k = 0; k < m->n; k++)
        if (m->from[k] == axis) return m->to[k];
    return axis;
}

/* An axis of the host as the guest's; EX_NONE if it has none. */
static ex guest_axis(const struct merge *m, ex axis) {
    for (int k = 0; k < m->n; k++)
        if (m->to[k] == axis) return m->from[k];
    return EX_NONE;
}

static ex numel_of(struct fuser *f, const ex *axes, int n) {
    ex numel = ex_const(f->l->ex, 1);
    for (int k = 0; k < n; k++)
        numel = ex_mul(f->l->ex, numel, ex_symbol(f->l->ex, axes[k])->bound);
    return numel;
}

static int inner_axis(struct fuser *f, const struct group *G, const struct place *p) {
    for (int k = 0; k < axis_count(G); k++)
        if (p->step[k] == ex_const(f->l->ex, 1)) return k;
    return -1;
}

static int64_t largest(struct fuser *f, const struct places *p) {
    int64_t most = 0;
    for (uint32_t i = 0; i < p->at.n; i++) {
        int64_t bytes = buffer_bytes(f->l, p->at.at[i].buffer);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* The axis, as the host's, along which most bytes of a group are neighbours; EX_NONE: none. The
 * factors of a product are tiles, which lie as they like. */
static ex runs_along(struct fuser *f, const struct merge *m, const struct places *p) {
    const struct group *G = group_at(f, p->group);
    int64_t bytes[2 * GROUP_MAX_AXES] = {0};
    int best = 0;
    for (uint32_t i = 0; i < p->at.n; i++) {
        int k = inner_axis(f, G, &p->at.at[i]);
        if (k >= 0 && !(G->matmul && k >= G->n_x))
            bytes[k] += buffer_bytes(f->l, p->at.at[i].buffer);
    }
    for (int k = 1; k < axis_count(G); k++)
        if (bytes[k] > bytes[best]) best = k;
    return axis_count(G) && bytes[best] ? host_axis(m, axis_at(G, best)) : EX_NONE;
}

/* How many elements of a place are neighbours, from the innermost on, along axes that follow each
 * other in a list; `as` says what each is called in the place's group. All of them, if these are
 * all axes; 0 if none is innermost. */
static ex run_along(struct fuser *f, const struct group *G, const struct place *p, const ex *list,
                    const ex *as, int n) {
    ex run = EX_NONE;
    for (int k = n - 1; k >= 0; k--) {
        ex want = run ? run : ex_const(f->l->ex, 1), step = EX_NONE;
        for (int i = 0; i < axis_count(G); i++)
            if (axis_at(G, i) == as[k]) step = p->step[i];
        if (step == want)
            run = ex_mul(f->l->ex, want, ex_symbol(f->l->ex, list[k])->bound);
        else if (run)
            break;
    }
    return run;
}

/* Do the guest's elements lie in pieces smaller than before, and than memory is read by, because
 * its axes take the roles and the order of the host's? */
static bool falls_to_pieces(struct fuser *f, const struct merge *m, const struct place *p) {
    const struct group *H = group_at(f, m->host), *G = group_at(f, m->guest);
    ex as[2 * GROUP_MAX_AXES], own[2 * GROUP_MAX_AXES];
    for (int k = 0; k < axis_count(H); k++) as[k] = guest_axis(m, axis_at(H, k));
    for (int k = 0; k < axis_count(G); k++) own[k] = axis_at(G, k);
    ex x = run_along(f, G, p, H->x, as, H->n_x), r = run_along(f, G, p, H->r, as + H->n_x, H->n_r);
    ex was = run_along(f, G, p, own, own, axis_count(G)), now = r ? r : x;
    if (!was || !now) return false;
    int64_t bytes = dtype_bytes(f->l->buffers.at[p->buffer].meta.dtype);
    bool whole = now == numel_of(f, r ? H->r : H->x, r ? H->n_r : H->n_x);
    return !whole && ex_hint(f->l->ex, now) * bytes < PIECE_BYTES &&
           ex_hint(f->l->ex, now) < ex_hint(f->l->ex, was);
}

static const char *lies_badly(struct fuser *f, const struct merge *m) {
    struct places h = places_of(f, m->host), g = places_of(f, m->guest);
    ex of_host = runs_along(f, m, &h), of_guest = runs_along(f, m, &g);
    int64_t most = largest(f, &h) > largest(f, &g) ? largest(f, &h) : largest(f, &g);
    if (f->limits->kind == DEVICE_CUDA && pair_bytes(f, m->a, m->b) <= SOON_MOVED) return NULL;
    bool little = largest(f, &g) * SMALL_OPERAND < most; /* as what rows come to */
    if (of_host && of_guest && of_host != of_guest && !little)
        return "memory runs along different axes";
    for (uint32_t i = 0; i < g.at.n; i++)
        if (buffer_bytes(f->l, g.at.at[i].buffer) * SMALL_OPERAND >= most &&
            falls_to_pieces(f, m, &g.at.at[i]))
            return "memory would lie in small pieces";
    return NULL;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void split_both(struct fuser *f, const struct merge *m) {
    for (int splits = 0; splits < MAX_SPLITS; splits++) {
        struct places a = places_of(f, m->a), b = places_of(f, m->b);
        if (!split_one(f, &a, &b) && !split_one(f, &b, &a)) return;
    }
}

void plan_split(struct fuser *f, struct merge *m) {
    struct group *A = group_at(f, m->a), *B = group_at(f, m->b), whole[2] = {*A, *B};
    struct merge c = {.a = m->a, .b = m->b, .saved = m->saved, .by_places = true};
    *A = copy_group(f, A);
    *B = copy_group(f, B);
    end_with_strides(f, &c, whole);
    split_both(f, &c);
    plan_fit(f, &c);
    bool product = group_at(f, c.host)->matmul;
    if (!c.why_not && !product) c.why_not = lies_badly(f, &c);
    if (!c.why_not && (m->why_not || they_meet(f, &c))) {
        *m = c;
        for (int side = 0; side < 2; side++) {
            m->split[side] = NEW(f->s->arena, struct group);
            *m->split[side] = side ? *B : *A;
        }
    } else if (m->why_not && c.why_not && strstr(m->why_not, "iteration spaces differ") &&
               !strstr(c.why_not, "iteration spaces differ")) {
        m->why_not = c.why_not;
    }
    *A = whole[0];
    *B = whole[1];
}
