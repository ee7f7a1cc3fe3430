/* chained.c: a product behind another one, with what is computed between them element by element,
 * and rows reduced along the way, in one kernel:
 *
 *   s = q @ k^T; p = softmax(s); o = p @ v
 *
 *   mm x[i0: 512, i1: 512] r[r0: 64], sub, exp, ...;  mm x[i0: 512, i1: 64] r[r1: 512]
 * ->
 *   one group x[i0: 512, i1: 64] r[r1: 512, r0: 64], of which all but the last product is made anew
 *   where that reads it
 *
 * A block has some rows of both products, and goes along what is between them, r1: the first
 * product's tiles are in its registers alone. Which factor stands on which product is found going
 * back from the second one's; that may be if
 *   - it stands on one product, by nests that nobody else reads, that reduce along as much as the
 *     second product does, if at all, and whose groups have nothing else;
 *   - behind the second product there are no reductions;
 *   - the device multiplies both on its matrix units.
 * Whether what rows come to can be known along the way (kernel/chained.c) is seen in the kernel:
 * who calls this asks, and a chain that has none is undone. A program may have thousands of
 * products: of a chain that is tried only what has to do with its own groups is looked at, and put
 * back.
 *
 * Twins. Two chains may have equal first products, made for each (chain_copies.c), as gradients of
 * keys and of values do. Where the rest of their axes is alike, too, one group has both second
 * products, and the kernel, where equal values are one, makes what is between once:
 *
 *   group x[i0: 512, i1: 64] r[r1: 512, r0: 64] of s1 = q @ k^T, ..., dk = s2^T @ q
 *   group x[i0: 512, i1: 64] r[r1: 512, r0: 64] of s3 = q @ k^T, ..., dv = s4^T @ g
 * ->
 *   group x[i0: 512, i1: 64] r[r1: 512, r0: 64] of both
 *
 * Needs: groups. Breaks group indices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/schedule.h"

enum { MOST_PRODUCTS = 2, MOST_FOUND = 8 };

/* Some of the nests, or of the groups: which they are, and whether one is among them. */
struct marks {
    bool *is;
    VEC(uint32_t) list;
};

/* A group as it was before a chain was tried. */
struct was {
    uint32_t g;
    struct group group;
};

struct chains {
    struct schedule *s;
    const struct device_limits *limits;
    struct reader_lists readers;
    const bool *fixed;          /* per buffer: it would hold the same in every call, made at load */
    struct marks stands;        /* nests by way of which a factor stands on a first product */
    struct marks taken;         /* groups whose members are in the chain */
    struct marks seen;          /* nests, on a way back */
    uint32_t first[MOST_FOUND]; /* products */
    int n_first;
    VEC(struct was) before; /* what the last chain, or twins, took the place of */
    VEC(uint32_t) seconds;  /* of the chains that were made */
    double *us;             /* per nest: of these, what their kernels take */
    chain_reason_fn *reason;
    group_us_fn *group_us;
    void *ctx;
};

static struct marks no_marks(struct arena *a, uint32_t n) {
    return (struct marks){.is = NEW_ARRAY(a, bool, n)};
}

static void add_mark(const struct chains *c, struct marks *m, uint32_t i) {
    if (!m->is[i]) vec_push(c->s->arena, &m->list, i);
    m->is[i] = true;
}

static void clear_marks(struct marks *m) {
    for (uint32_t i = 0; i < m->list.n; i++) m->is[m->list.at[i]] = false;
    m->list.n = 0;
}

static const struct nest *nest_at(const struct chains *c, uint32_t n) {
    return &c->s->loops->nests.at[n];
}

static bool may_be_chained(const struct nest *n) {
    return n->matmul && n->n_reduce &&
           dtype_may_be_chained(n->insts.at[n->insts.n - 1].dtype, n->precision);
}

static bool is_first(const struct chains *c, uint32_t nest) {
    for (int i = 0; i < c->n_first; i++)
        if (c->first[i] == nest) return true;
    return false;
}

static bool known_number(const struct chains *c, const ex *axes, int n) {
    for (int i = 0; i < n; i++) {
        int64_t size;
        if (!ex_is_const(c->s->loops->ex, ex_symbol(c->s->loops->ex, axes[i])->bound, &size) ||
            size < 1)
            return false;
    }
    return true;
}

/* The nest that writes what x loads; NO_NEST: x does not load, or what it loads is an input. */
static uint32_t writer_of(const struct chains *c, const struct inst *x) {
    return x->kind == INST_LOAD ? c->s->writer[x->buffer] : (uint32_t)NO_NEST;
}

/* The products that a nest is made of, element by element; false: of too many, or of others. */
static bool find_first(struct chains *c, uint32_t nest) {
    const struct nest *n = nest_at(c, nest);
    if (c->seen.is[nest]) return true;
    add_mark(c, &c->seen, nest);
    if (n->matmul) {
        if (c->n_first == MOST_FOUND || !may_be_chained(n)) return false;
        c->first[c->n_first++] = nest;
        return true;
    }
    if (n->n_reduce || n->scan) return true;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        uint32_t w = writer_of(c, &n->insts.at[i]);
        if (w != NO_NEST && !find_first(c, w)) return false;
    }
    return true;
}

static int64_t elements_of(const struct chains *c, uint32_t nest) {
    return axes_numel(c->s->loops, nest_at(c, nest)->axes, nest_at(c, nest)->n_axes);
}

/* Products of fewer elements than others lie in memory: what positions add to scores, of all heads
 * and batches alike, may be one. */
static void keep_largest(struct chains *c) {
    int64_t most = 0;
    int kept = 0;
    for (int i = 0; i < c->n_first; i++) {
        int64_t n = elements_of(c, c->first[i]);
        if (n > most) most = n;
    }
    for (int i = 0; i < c->n_first; i++)
        if (elements_of(c, c->first[i]) == most) c->first[kept++] = c->first[i];
    c->n_first = kept;
}

/* Marks the nests that stand on one of these. What rows of another product come to lies in memory,
 * as what other kernels make does. */
static bool mark(struct chains *c, uint32_t nest) {
    const struct nest *n = nest_at(c, nest);
    if (c->seen.is[nest]) return c->stands.is[nest];
    add_mark(c, &c->seen, nest);
    if (is_first(c, nest)) add_mark(c, &c->stands, nest);
    for (uint32_t i = 0; i < n->insts.n && !n->matmul; i++) {
        uint32_t w = writer_of(c, &n->insts.at[i]);
        if (w != NO_NEST && mark(c, w)) add_mark(c, &c->stands, nest);
    }
    return c->stands.is[nest];
}

/* What factor `at` of the second product reads goes back to the first ones. */
static bool go_back(struct chains *c, const struct nest *second, inst_id at,
                    bool (*visit)(struct chains *, uint32_t)) {
    const struct inst *x = &second->insts.at[at];
    bool all = true;
    for (int a = 0; a < x->n_args; a++) all &= go_back(c, second, x->args[a], visit);
    uint32_t w = writer_of(c, x);
    if (w != NO_NEST) all &= visit(c, w);
    return all;
}

/* Is all that the group does to move elements, which a factor can be read through? */
static bool only_moves(const struct chains *c, const struct group *G) {
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_at(c, G->members.at[m].nest);
        if (n->n_reduce || n->scan || n->insts.n != 1 || n->insts.at[0].kind != INST_LOAD ||
            n->insts.at[0].guarded)
            return false;
    }
    return true;
}

/* Is all that the group makes made of positions, as masks are? */
static bool only_positions(const struct chains *c, const struct group *G) {
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_at(c, G->members.at[m].nest);
        if (n->n_reduce || n->scan) return false;
        for (uint32_t i = 0; i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            if (x->kind != INST_LOAD) continue;
            uint32_t w = c->s->writer[x->buffer];
            if (w == NO_NEST || &c->s->groups.at[c->s->group_of[w]] != G) return false;
        }
    }
    return true;
}

/* May the chain take group g, which makes what is only moved, or masks, for it alone? */
static bool may_take(const struct chains *c, uint32_t g, uint32_t second) {
    const struct schedule *s = c->s;
    const struct group *G = &s->groups.at[g];
    bool masks = only_positions(c, G);
    if (!masks && !only_moves(c, G)) return false;
    for (uint32_t m = 0; m < G->members.n; m++) {
        uint32_t w = G->members.at[m].nest;
        const struct nest *x = nest_at(c, w);
        if (s->loops->buffers.at[x->out].kind != BUFFER_TEMP) return false;
        if (x->epoch != nest_at(c, second)->epoch) return false;
        for (uint32_t r = c->readers.begin[x->out]; r < c->readers.begin[x->out + 1]; r++) {
            uint32_t n = c->readers.nest[r];
            if (s->group_of[n] == g) continue;
            if (masks ? !c->stands.is[n] : !is_first(c, n) && n != second) return false;
        }
    }
    return true;
}

/* What nest n reads of other groups goes into the chain where it may. */
static void take_read(struct chains *c, uint32_t n, uint32_t second) {
    const struct nest *x = nest_at(c, n);
    for (uint32_t i = 0; i < x->insts.n; i++) {
        uint32_t w = writer_of(c, &x->insts.at[i]), g = w == NO_NEST ? w : c->s->group_of[w];
        if (w == NO_NEST || c->taken.is[g] || g == c->s->group_of[second]) continue;
        if (may_take(c, g, second)) add_mark(c, &c->taken, g);
    }
}

/* Factors that are repeated for several heads, say, are read where they lie, if nobody else wants
 * them as they would be; and masks of positions are made again for each element, as where they
 * leave nothing is known then. */
static void take_moves(struct chains *c, uint32_t second) {
    take_read(c, second, second);
    for (uint32_t i = 0; i < c->stands.list.n; i++) take_read(c, c->stands.list.at[i], second);
}

/* Groups that group g stands on. */
static void mark_below(const struct chains *c, uint32_t g, bool *below) {
    const struct group *G = &c->s->groups.at[g];
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_at(c, G->members.at[m].nest);
        for (uint32_t i = 0; i < n->insts.n; i++) {
            uint32_t w = writer_of(c, &n->insts.at[i]);
            if (w == NO_NEST || below[c->s->group_of[w]]) continue;
            below[c->s->group_of[w]] = true;
            mark_below(c, c->s->group_of[w], below);
        }
    }
}

/* Does group g stand on group h? */
static bool is_below(const struct chains *c, uint32_t g, uint32_t h) {
    struct arena *scratch = arena_within(c->s->arena);
    bool *below = NEW_ARRAY(scratch, bool, c->s->groups.n);
    mark_below(c, g, below);
    bool is = below[h];
    arena_free(scratch);
    return is;
}

/* Does nest n have what rows of what is between come to? */
static bool is_of_rows(const struct chains *c, uint32_t n) {
    return c->stands.is[n] && nest_at(c, n)->n_reduce && !nest_at(c, n)->matmul;
}

/* Why nest n, of a group that has a nest between, cannot be in the chain. */
static const char *between_reason(const struct chains *c, uint32_t n, uint32_t second) {
    const struct schedule *s = c->s;
    const struct nest *x = nest_at(c, n);
    uint32_t own = s->group_of[second];
    if (s->loops->buffers.at[x->out].kind != BUFFER_TEMP)
        return "what is between two products is an output";
    if (x->epoch != nest_at(c, second)->epoch) return "products of other steps";
    if (x->scan || (x->n_reduce && !c->stands.is[n]))
        return "a scan, or another reduction, is between two products";
    for (uint32_t r = c->readers.begin[x->out]; r < c->readers.begin[x->out + 1]; r++) {
        uint32_t g = s->group_of[c->readers.nest[r]];
        if (c->taken.is[g] || g == own) continue;
        if (!is_of_rows(c, n)) return "another kernel reads what is between two products";
        if (is_below(c, own, g)) return "what is behind it would wait for it";
    }
    return NULL;
}

/* All groups that have a nest between have no others but what is read by these alone, or what rows
 * come to. */
static const char *take_groups(struct chains *c, uint32_t second) {
    const struct schedule *s = c->s;
    for (uint32_t i = 0; i < c->stands.list.n; i++)
        add_mark(c, &c->taken, s->group_of[c->stands.list.at[i]]);
    if (c->taken.is[s->group_of[second]])
        return "a product behind a product reads what its own kernel makes";
    for (uint32_t i = 0; i < c->taken.list.n; i++) {
        const struct group *G = &s->groups.at[c->taken.list.at[i]];
        for (uint32_t m = 0; m < G->members.n; m++) {
            const char *bad = between_reason(c, G->members.at[m].nest, second);
            if (bad) return bad;
        }
    }
    return NULL;
}

/* Reductions between go along what the second product does, and as these axes. */
static const char *reductions_reason(const struct chains *c, uint32_t second) {
    const struct nest *to = nest_at(c, second);
    for (uint32_t k = 0; k < c->stands.list.n; k++) {
        const struct nest *x = nest_at(c, c->stands.list.at[k]);
        if (!is_of_rows(c, c->stands.list.at[k])) continue;
        bool same = x->n_reduce == to->n_reduce;
        for (int i = 0; i < x->n_reduce && same; i++)
            same = ex_symbol(c->s->loops->ex, x->reduce[i])->bound ==
                   ex_symbol(c->s->loops->ex, to->reduce[i])->bound;
        if (!same) return "a reduction between two products goes along other axes";
        if (c->n_first > 1) return "rows are reduced of two products";
    }
    return NULL;
}

/* Two first products are as deep. */
static bool as_deep(const struct chains *c) {
    const struct nest *x = nest_at(c, c->first[0]), *y = nest_at(c, c->first[c->n_first - 1]);
    bool same = x->n_reduce == y->n_reduce;
    for (int i = 0; i < x->n_reduce && same; i++)
        same = ex_symbol(c->s->loops->ex, x->reduce[i])->bound ==
               ex_symbol(c->s->loops->ex, y->reduce[i])->bound;
    return same;
}

static const char *group_reason(const struct chains *c, uint32_t second) {
    const struct group *G = &c->s->groups.at[c->s->group_of[second]];
    const struct nest *first = nest_at(c, c->first[0]);
    if (G->n_arms || G->n_between) return "products with arms, or chained ones";
    for (int i = 0; i < c->n_first; i++) {
        const struct group *H = &c->s->groups.at[c->s->group_of[c->first[i]]];
        if (H->n_arms || H->n_between) return "products with arms, or chained ones";
    }
    if (!known_number(c, G->x, G->n_x) || !known_number(c, G->r, G->n_r) ||
        !known_number(c, first->reduce, first->n_reduce))
        return "chained products need sizes that are known";
    if (!as_deep(c)) return "two first products are not as deep";
    if (G->n_r != nest_at(c, second)->n_reduce) return "the second product's axes are split";
    if (G->n_r + first->n_reduce > GROUP_MAX_AXES) return "too many axes";
    uint32_t members = 0;
    for (uint32_t i = 0; i < c->taken.list.n; i++)
        members += c->s->groups.at[c->taken.list.at[i]].members.n;
    if (members + G->members.n > GROUP_MAX_NESTS) return "too many operators for a kernel";
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_at(c, G->members.at[m].nest);
        if (n->n_reduce && G->members.at[m].nest != second)
            return "a reduction stands behind the second product";
    }
    return NULL;
}

/* At which places what `nest` makes is read on the way from n, whose own are `from`, in `to`. */
static bool find_place(const struct chains *c, uint32_t n, const ex *from, const ex *to, int count,
                       uint32_t nest, ex *index) {
    const struct nest *x = nest_at(c, n);
    for (uint32_t i = 0; i < x->insts.n; i++) {
        const struct inst *load = &x->insts.at[i];
        uint32_t w = writer_of(c, load);
        if (w == NO_NEST || !c->stands.is[w]) continue;
        for (int d = 0; d < load->n_index; d++)
            index[d] = ex_subst(c->s->loops->ex, load->index[d], from, to, count);
        if (w == nest) return true;
        ex own[WS_MAX_RANK], at[WS_MAX_RANK];
        int axes = 0;
        for (int d = 0; d < load->n_index; d++) {
            ex axis = nest_at(c, w)->out_index[d];
            if (ex_kind(c->s->loops->ex, axis) != EX_SYM) continue;
            own[axes] = axis;
            at[axes++] = index[d];
        }
        if (!nest_at(c, w)->matmul && find_place(c, w, own, at, axes, nest, index)) return true;
    }
    return false;
}

/* As the chain's group has it: where it is read, but for the axes that it is reduced along; and
 * what rows come to at its rows, too, where others may read it. */
static struct member member_of(const struct chains *c, const struct group *G, uint32_t second,
                               uint32_t nest) {
    const struct nest *n = nest_at(c, nest), *first = nest_at(c, c->first[0]);
    struct member M = {.nest = nest, .inlined = !n->n_reduce};
    const struct member *S = NULL;
    ex index[WS_MAX_RANK];
    for (uint32_t m = 0; m < G->members.n; m++)
        if (G->members.at[m].nest == second) S = &G->members.at[m];
    if (is_of_rows(c, nest) && find_place(c, second, S->from, S->to, S->n, nest, index))
        for (int d = 0; d < c->s->loops->buffers.at[n->out].meta.rank; d++) {
            if (ex_kind(c->s->loops->ex, n->out_index[d]) != EX_SYM) continue;
            M.from[M.n] = n->out_index[d];
            M.to[M.n++] = index[d];
        }
    for (int i = 0; i < n->n_reduce; i++) {
        M.from[M.n] = n->reduce[i];
        M.to[M.n++] = is_first(c, nest) ? first->reduce[i] : G->r[i];
    }
    return M;
}

/* Which of what the group makes lies in memory, and whether it runs at load. */
static void settle(const struct chains *c, uint32_t g) {
    struct schedule *s = c->s;
    const struct group *G = &s->groups.at[g];
    for (uint32_t m = 0; m < G->members.n; m++) {
        buffer_id out = nest_at(c, G->members.at[m].nest)->out;
        bool stored = s->loops->buffers.at[out].kind != BUFFER_TEMP;
        for (uint32_t r = c->readers.begin[out]; r < c->readers.begin[out + 1] && !stored; r++)
            stored = s->group_of[c->readers.nest[r]] != g;
        s->stored[out] = stored;
    }
    group_at_load(s, g, c->fixed);
}

/* G takes the place of group `own` and of those that are taken, which have nothing left. */
static void take_place(struct chains *c, uint32_t own, const struct group *G) {
    struct schedule *s = c->s;
    c->before.n = 0;
    add_mark(c, &c->taken, own);
    for (uint32_t i = 0; i < c->taken.list.n; i++) {
        uint32_t g = c->taken.list.at[i];
        struct group *H = &s->groups.at[g];
        vec_push(s->arena, &c->before, ((struct was){g, *H}));
        for (uint32_t m = 0; m < H->members.n; m++) s->group_of[H->members.at[m].nest] = own;
        memset(&H->members, 0, sizeof H->members);
    }
    s->groups.at[own] = *G;
    settle(c, own);
}

static void undo(const struct chains *c) {
    struct schedule *s = c->s;
    for (uint32_t i = 0; i < c->before.n; i++) {
        const struct was *w = &c->before.at[i];
        s->groups.at[w->g] = w->group;
        for (uint32_t m = 0; m < w->group.members.n; m++)
            s->group_of[w->group.members.at[m].nest] = w->g;
    }
    for (uint32_t i = 0; i < c->before.n; i++) settle(c, c->before.at[i].g);
}

static int by_nest(const void *a, const void *b) {
    const struct member *x = a, *y = b;
    return (x->nest > y->nest) - (x->nest < y->nest);
}

static void join(struct chains *c, uint32_t second) {
    struct schedule *s = c->s;
    uint32_t own = s->group_of[second];
    struct group G = s->groups.at[own];
    const struct group *O = &s->groups.at[own];
    const struct nest *first = nest_at(c, c->first[0]);
    memset(&G.members, 0, sizeof G.members);
    for (uint32_t m = 0; m < O->members.n; m++) vec_push(s->arena, &G.members, O->members.at[m]);
    for (uint32_t i = 0; i < c->taken.list.n; i++) {
        const struct group *H = &s->groups.at[c->taken.list.at[i]];
        for (uint32_t m = 0; m < H->members.n; m++)
            vec_push(s->arena, &G.members, member_of(c, O, second, H->members.at[m].nest));
    }
    qsort(G.members.at, G.members.n, sizeof *G.members.at, by_nest);
    G.n_between = G.n_r;
    G.second = second;
    G.twin = NO_NEST;
    for (int i = 0; i < first->n_reduce; i++) G.r[G.n_r++] = first->reduce[i];
    take_place(c, own, &G);
}

static const char *chain_by(struct chains *c, uint32_t second, inst_id factor) {
    const struct nest *n = nest_at(c, second);
    clear_marks(&c->taken);
    clear_marks(&c->stands);
    clear_marks(&c->seen);
    c->n_first = 0;
    if (!go_back(c, n, factor, find_first)) return "";
    keep_largest(c);
    if (!c->n_first || c->n_first > MOST_PRODUCTS) return "";
    clear_marks(&c->seen);
    go_back(c, n, factor, mark);
    const char *bad = take_groups(c, second);
    if (!bad) take_moves(c, second);
    if (!bad) bad = reductions_reason(c, second);
    if (!bad) bad = group_reason(c, second);
    return bad;
}

static void log_chain(struct chains *c, uint32_t second, const char *bad) {
    struct buf *b = &c->s->log;
    if (bad && !*bad) return;
    for (int i = 0; i < c->n_first; i++)
        buf_printf(b, "%s%s", i ? "+" : "", nest_at(c, c->first[i])->name);
    buf_printf(b, "  with  %s behind it: ", nest_at(c, second)->name);
    buf_printf(b, bad ? "not fused: %s\n" : "fused, tile by tile\n", bad);
}

/* us that the kernels take which have the members of a chain where they are none. */
static double apart_us(const struct chains *c, uint32_t second) {
    double us = c->group_us(c->s, c->s->group_of[second], c->ctx);
    for (uint32_t i = 0; i < c->taken.list.n; i++)
        us += c->group_us(c->s, c->taken.list.at[i], c->ctx);
    return us;
}

/* True: they are one kernel now. What lies between the products grows with the square of their rows
 * and is memory that others have, so that a guess has to say by some margin that they are faster
 * apart. */
static bool try_chain(struct chains *c, uint32_t second, inst_id factor) {
    const double MARGIN = 1.5;
    struct schedule *s = c->s;
    const char *bad = chain_by(c, second, factor);
    if (bad) return log_chain(c, second, bad), false;
    double saved = c->taken.list.n * LAUNCH_US;
    double apart = c->group_us ? apart_us(c, second) : INFINITY;
    join(c, second);
    bad = c->reason(s, s->group_of[second], &c->us[second], c->ctx);
    if (!bad && c->us[second] > MARGIN * apart + saved) bad = "apart they take less";
    if (bad) {
        undo(c);
    } else {
        s->may_be_apart = true;
        vec_push(s->arena, &c->seconds, second);
    }
    log_chain(c, second, bad);
    return !bad;
}

/* ---- twins ----------------------------------------------------------------------------------- */

/* Of two groups, how the other's axes go along with the own ones. */
struct along {
    int n;
    ex from[2 * GROUP_MAX_AXES], to[2 * GROUP_MAX_AXES];
};

static const struct member *second_member(const struct group *G) {
    for (uint32_t m = 0; m < G->members.n; m++)
        if (G->members.at[m].nest == G->second) return &G->members.at[m];
    WS_BUG("a group has lost its second product");
}

static bool is_first_of(const struct chains *c, const struct group *G, uint32_t nest) {
    return nest_at(c, nest)->matmul && nest_at(c, nest)->n_reduce && !group_is_second(G, nest);
}

/* Have they the same instructions, of the same tensors? Whether these are at the same places is
 * seen in the kernel. */
static bool look_equal(const struct chains *c, uint32_t a, uint32_t b) {
    const struct nest *x = nest_at(c, a), *y = nest_at(c, b);
    if (x->insts.n != y->insts.n || x->n_reduce != y->n_reduce) return false;
    for (uint32_t i = 0; i < x->insts.n; i++) {
        const struct inst *p = &x->insts.at[i], *q = &y->insts.at[i];
        if (p->kind != q->kind || p->op != q->op || p->dtype != q->dtype) return false;
        if (p->kind == INST_LOAD && p->buffer != q->buffer) return false;
    }
    return true;
}

/* At which places of the group's axes its second product has what first product `nest` makes. */
static bool place_in(struct chains *c, uint32_t g, uint32_t nest, ex *index) {
    const struct group *G = &c->s->groups.at[g];
    const struct member *S = second_member(G);
    clear_marks(&c->stands);
    for (uint32_t m = 0; m < G->members.n; m++) add_mark(c, &c->stands, G->members.at[m].nest);
    return find_place(c, G->second, S->from, S->to, S->n, nest, index);
}

static ex bound_of(const struct chains *c, ex axis) {
    return ex_symbol(c->s->loops->ex, axis)->bound;
}

static bool is_mapped(const struct along *t, ex axis) {
    for (int i = 0; i < t->n; i++)
        if (t->from[i] == axis) return true;
    return false;
}

/* Is the axis a part of what others go along with? */
static bool is_used(const struct chains *c, const struct along *t, ex axis) {
    for (int i = 0; i < t->n; i++)
        if (ex_uses(c->s->loops->ex, t->to[i], axis)) return true;
    return false;
}

/* The axes of H, of which first product `other` is at single ones, as those of G, at which `own` is
 * at the same places; and columns as columns, the depth as the depth. */
static bool map_axes(struct chains *c, uint32_t g, uint32_t own, uint32_t h, uint32_t other,
                     struct along *t) {
    const struct schedule *s = c->s;
    const struct group *G = &s->groups.at[g], *H = &s->groups.at[h];
    ex at[WS_MAX_RANK], of[WS_MAX_RANK];
    int rank = s->loops->buffers.at[nest_at(c, own)->out].meta.rank, used = 0;
    if (rank != s->loops->buffers.at[nest_at(c, other)->out].meta.rank) return false;
    if (!place_in(c, g, own, at) || !place_in(c, h, other, of)) return false;
    for (int d = 0; d < rank; d++) {
        if (of[d] == at[d] && ex_kind(s->loops->ex, of[d]) == EX_CONST) continue;
        if (ex_kind(s->loops->ex, of[d]) != EX_SYM || is_mapped(t, of[d])) return false;
        t->from[t->n] = of[d];
        t->to[t->n++] = at[d];
    }
    struct along places = *t;
    for (int i = 0; i < H->n_x; i++) {
        if (is_mapped(t, H->x[i])) continue;
        while (used < G->n_x && is_used(c, &places, G->x[used])) used++;
        if (used == G->n_x || bound_of(c, G->x[used]) != bound_of(c, H->x[i])) return false;
        t->from[t->n] = H->x[i];
        t->to[t->n++] = G->x[used++];
    }
    if (H->n_r - H->n_between != G->n_r - G->n_between) return false;
    for (int i = 0; i < H->n_between; i++)
        if (!is_mapped(t, H->r[i])) return false;
    for (int i = 0; i < H->n_r - H->n_between; i++) {
        ex a = H->r[H->n_between + i], b = G->r[G->n_between + i];
        if (bound_of(c, a) != bound_of(c, b)) return false;
        t->from[t->n] = a;
        t->to[t->n++] = b;
    }
    return axes_numel(s->loops, G->x, G->n_x) == axes_numel(s->loops, H->x, H->n_x) &&
           axes_numel(s->loops, G->r, G->n_r) == axes_numel(s->loops, H->r, H->n_r);
}

/* Group h goes into group g. */
static void join_twins(struct chains *c, uint32_t g, uint32_t h, const struct along *t) {
    struct schedule *s = c->s;
    struct group G = s->groups.at[g];
    const struct group *H = &s->groups.at[h];
    VEC(struct member) all = {0};
    uint32_t own = 0;
    for (uint32_t m = 0; m < H->members.n; m++) {
        struct member M = H->members.at[m];
        for (int i = 0; i < M.n; i++)
            M.to[i] = ex_subst(s->loops->ex, M.to[i], t->from, t->to, t->n);
        while (own < G.members.n && G.members.at[own].nest < M.nest)
            vec_push(s->arena, &all, G.members.at[own++]);
        vec_push(s->arena, &all, M);
    }
    while (own < G.members.n) vec_push(s->arena, &all, G.members.at[own++]);
    memset(&G.members, 0, sizeof G.members);
    for (uint32_t i = 0; i < all.n; i++) vec_push(s->arena, &G.members, all.at[i]);
    G.twin = H->second;
    clear_marks(&c->taken);
    add_mark(c, &c->taken, h);
    take_place(c, g, &G);
}

/* How the axes of group h go along with those of g; false: they do not, or one waits for the other.
 */
static bool may_be_twins(struct chains *c, uint32_t g, uint32_t h, struct along *t) {
    const struct schedule *s = c->s;
    const struct group *G = &s->groups.at[g], *H = &s->groups.at[h];
    if (G->members.n + H->members.n > GROUP_MAX_NESTS) return false;
    if (nest_at(c, G->second)->epoch != nest_at(c, H->second)->epoch) return false;
    for (uint32_t i = 0; i < G->members.n; i++)
        for (uint32_t j = 0; j < H->members.n; j++) {
            uint32_t own = G->members.at[i].nest, other = H->members.at[j].nest;
            *t = (struct along){0};
            if (is_first_of(c, G, own) && is_first_of(c, H, other) && look_equal(c, own, other) &&
                map_axes(c, g, own, h, other, t))
                return !is_below(c, g, h) && !is_below(c, h, g);
        }
    return false;
}

/* A bit for the tensors that each first product of a second one reads: twins have one in common. */
static uint64_t read_by_first(const struct chains *c, uint32_t second) {
    const struct group *G = &c->s->groups.at[c->s->group_of[second]];
    uint64_t bits = 0;
    for (uint32_t m = 0; m < G->members.n; m++) {
        uint64_t all = 0;
        if (!is_first_of(c, G, G->members.at[m].nest)) continue;
        const struct nest *n = nest_at(c, G->members.at[m].nest);
        for (uint32_t i = 0; i < n->insts.n; i++)
            if (n->insts.at[i].kind == INST_LOAD)
                all = (all + n->insts.at[i].buffer + 1) * UINT64_C(0x9e3779b97f4a7c15);
        bits |= UINT64_C(1) << (all >> 58);
    }
    return bits;
}

/* True: two second products are one kernel's now. */
static bool try_twins(struct chains *c, uint32_t second, uint32_t other) {
    struct schedule *s = c->s;
    uint32_t g = s->group_of[second], h = s->group_of[other];
    struct along t;
    double us = 0;
    if (s->groups.at[g].twin != NO_NEST || s->groups.at[h].twin != NO_NEST) return false;
    if (!may_be_twins(c, g, h, &t)) return false;
    join_twins(c, g, h, &t);
    const char *bad = c->reason(s, g, &us, c->ctx);
    if (!bad && us > c->us[second] + c->us[other]) bad = "they are as fast apart";
    if (bad) undo(c);
    buf_printf(&s->log, "%s  beside  %s: ", nest_at(c, second)->name, nest_at(c, other)->name);
    buf_printf(&s->log, bad ? "not fused: %s\n" : "fused, behind the same products\n", bad);
    return !bad;
}

/* Groups that have nothing left go. */
static void drop_empty(struct schedule *s) {
    uint32_t kept = 0;
    for (uint32_t g = 0; g < s->groups.n; g++) {
        const struct group *G = &s->groups.at[g];
        if (!G->members.n) continue;
        for (uint32_t m = 0; m < G->members.n; m++) s->group_of[G->members.at[m].nest] = kept;
        s->groups.at[kept++] = *G;
    }
    s->groups.n = kept;
}

static void try_sides(struct chains *c, uint32_t n) {
    const struct nest *x = nest_at(c, n);
    if (!may_be_chained(x)) return;
    const struct inst *mul = &x->insts.at[x->insts.at[x->insts.n - 1].args[0]];
    bool factors = mul->kind == INST_OP && mul->op == OP_MUL && mul->n_args == 2;
    for (int side = 0; side < 2 && factors; side++)
        if (try_chain(c, n, mul->args[side])) return;
}

void schedule_chain(struct schedule *s, const struct device_limits *limits, chain_reason_fn *reason,
                    group_us_fn *group_us, void *ctx) {
    if (limits->kind != DEVICE_CUDA || limits->sm < 80) return;
    schedule_order(s);
    schedule_at_load(s, false);
    uint32_t nests = s->loops->nests.n;
    struct chains c = {.s = s,
                       .limits = limits,
                       .readers = loops_readers(s->loops, s->arena),
                       .fixed = values_fixed(s->loops, false, s->arena),
                       .stands = no_marks(s->arena, nests),
                       .taken = no_marks(s->arena, s->groups.n),
                       .seen = no_marks(s->arena, nests),
                       .us = NEW_ARRAY(s->arena, double, nests),
                       .reason = reason,
                       .group_us = group_us,
                       .ctx = ctx};
    for (uint32_t n = 0; n < nests; n++) try_sides(&c, n);
    uint64_t *reads = NEW_ARRAY(s->arena, uint64_t, c.seconds.n);
    for (uint32_t i = 0; i < c.seconds.n; i++) reads[i] = read_by_first(&c, c.seconds.at[i]);
    for (uint32_t i = 0; i < c.seconds.n; i++)
        for (uint32_t j = 0; j < i; j++) {
            uint32_t a = c.seconds.at[i], b = c.seconds.at[j];
            if (!(reads[i] & reads[j])) continue;
            if (!try_twins(&c, a, b)) try_twins(&c, b, a);
        }
    drop_empty(s);
}
