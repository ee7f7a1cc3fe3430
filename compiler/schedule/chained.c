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
 *   - both are of 16 bits, and the device multiplies these on its matrix units.
 * Whether what rows come to can be known along the way (kernel/chained.c) is seen in the kernel:
 * who calls this asks, and a chain that has none is undone.
 *
 * Needs: groups. Breaks group indices. */
#include <string.h>

#include "schedule/schedule.h"

enum { MOST_PRODUCTS = 2 };

struct chains {
    struct schedule *s;
    const struct device_limits *limits;
    bool *stands;                  /* per nest: a factor stands on a first product by way of it */
    bool *taken;                   /* per group: its members are in the chain */
    uint32_t first[MOST_PRODUCTS]; /* products */
    int n_first;
};

static const struct nest *nest_at(const struct chains *c, uint32_t n) {
    return &c->s->loops->nests.at[n];
}

static bool is_narrow_product(const struct nest *n) {
    enum dtype t = n->insts.at[n->insts.n - 1].dtype;
    return n->matmul && n->n_reduce && (t == DT_BF16 || t == DT_F16);
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
static bool find_first(struct chains *c, uint32_t nest, bool *seen) {
    const struct nest *n = nest_at(c, nest);
    if (seen[nest]) return true;
    seen[nest] = true;
    if (n->matmul) {
        if (c->n_first == MOST_PRODUCTS || !is_narrow_product(n)) return false;
        c->first[c->n_first++] = nest;
        return true;
    }
    if (n->n_reduce || n->scan) return true;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        uint32_t w = writer_of(c, &n->insts.at[i]);
        if (w != NO_NEST && !find_first(c, w, seen)) return false;
    }
    return true;
}

/* Marks the nests that stand on one of these. What rows of another product come to lies in memory,
 * as what other kernels make does. */
static bool mark(struct chains *c, uint32_t nest, bool *seen) {
    const struct nest *n = nest_at(c, nest);
    if (seen[nest]) return c->stands[nest];
    seen[nest] = true;
    c->stands[nest] = is_first(c, nest);
    for (uint32_t i = 0; i < n->insts.n && !n->matmul; i++) {
        uint32_t w = writer_of(c, &n->insts.at[i]);
        if (w != NO_NEST && mark(c, w, seen)) c->stands[nest] = true;
    }
    return c->stands[nest];
}

/* What factor `at` of the second product reads goes back to the first ones. */
static bool go_back(struct chains *c, const struct nest *second, inst_id at, bool *seen,
                    bool (*visit)(struct chains *, uint32_t, bool *)) {
    const struct inst *x = &second->insts.at[at];
    bool all = true;
    for (int a = 0; a < x->n_args; a++) all &= go_back(c, second, x->args[a], seen, visit);
    uint32_t w = writer_of(c, x);
    if (w != NO_NEST) all &= visit(c, w, seen);
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

/* Factors that are repeated for several heads, say, are read where they lie, if nobody else wants
 * them as they would be; and masks of positions are made again for each element, as where they
 * leave nothing is known then. */
static void take_moves(struct chains *c, uint32_t second) {
    const struct schedule *s = c->s;
    for (uint32_t g = 0; g < s->groups.n; g++) {
        const struct group *G = &s->groups.at[g];
        bool masks = only_positions(c, G);
        bool may = !c->taken[g] && g != s->group_of[second] && (masks || only_moves(c, G));
        for (uint32_t m = 0; m < G->members.n && may; m++)
            may =
                s->loops->buffers.at[nest_at(c, G->members.at[m].nest)->out].kind == BUFFER_TEMP &&
                nest_at(c, G->members.at[m].nest)->epoch == nest_at(c, second)->epoch;
        bool read = false;
        for (uint32_t n = 0; n < s->loops->nests.n && may; n++)
            for (uint32_t i = 0; i < nest_at(c, n)->insts.n && may; i++) {
                const struct inst *x = &nest_at(c, n)->insts.at[i];
                if (x->kind != INST_LOAD || s->writer[x->buffer] == NO_NEST) continue;
                if (s->group_of[s->writer[x->buffer]] != g || s->group_of[n] == g) continue;
                read = true;
                may = masks ? c->stands[n] : is_first(c, n) || n == second;
            }
        if (may && read) c->taken[g] = true;
    }
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

/* Does nest n have what rows of what is between come to? */
static bool is_of_rows(const struct chains *c, uint32_t n) {
    return c->stands[n] && nest_at(c, n)->n_reduce && !nest_at(c, n)->matmul;
}

/* All groups that have a nest between have no others but what is read by these alone, or what rows
 * come to. */
static const char *take_groups(struct chains *c, uint32_t second) {
    const struct schedule *s = c->s;
    const struct loops *l = s->loops;
    uint32_t own = s->group_of[second];
    bool *below = NEW_ARRAY(s->arena, bool, s->groups.n);
    for (uint32_t n = 0; n < l->nests.n; n++)
        if (c->stands[n]) c->taken[s->group_of[n]] = true;
    if (c->taken[own]) return "a product behind a product reads what its own kernel makes";
    mark_below(c, own, below);
    for (uint32_t n = 0; n < l->nests.n; n++) {
        const struct nest *x = &l->nests.at[n];
        bool in = c->taken[s->group_of[n]];
        if (in && l->buffers.at[x->out].kind != BUFFER_TEMP)
            return "what is between two products is an output";
        if (in && x->epoch != l->nests.at[second].epoch) return "products of other steps";
        if (in && (x->scan || (x->n_reduce && !c->stands[n])))
            return "a scan, or another reduction, is between two products";
        for (uint32_t i = 0; i < x->insts.n && !in && s->group_of[n] != own; i++) {
            uint32_t w = writer_of(c, &x->insts.at[i]);
            if (w == NO_NEST || !c->taken[s->group_of[w]]) continue;
            if (!is_of_rows(c, w)) return "another kernel reads what is between two products";
            if (below[s->group_of[n]]) return "what is behind it would wait for it";
        }
    }
    return NULL;
}

/* Reductions between go along what the second product does, and as these axes. */
static const char *reductions_reason(const struct chains *c, uint32_t second) {
    const struct nest *to = nest_at(c, second);
    for (uint32_t n = 0; n < c->s->loops->nests.n; n++) {
        const struct nest *x = nest_at(c, n);
        if (!is_of_rows(c, n)) continue;
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
    for (uint32_t g = 0; g < c->s->groups.n; g++)
        if (c->taken[g]) members += c->s->groups.at[g].members.n;
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
        if (w == NO_NEST || !c->stands[w]) continue;
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

static void join(struct chains *c, uint32_t second) {
    struct schedule *s = c->s;
    uint32_t own = s->group_of[second], kept = 0;
    struct group G = s->groups.at[own];
    const struct nest *first = nest_at(c, c->first[0]);
    VEC(struct member) all = {0};
    for (uint32_t n = 0; n < s->loops->nests.n; n++) {
        if (c->taken[s->group_of[n]]) {
            vec_push(s->arena, &all, member_of(c, &G, second, n));
            continue;
        }
        for (uint32_t m = 0; m < G.members.n; m++)
            if (G.members.at[m].nest == n) vec_push(s->arena, &all, G.members.at[m]);
    }
    memset(&G.members, 0, sizeof G.members);
    for (uint32_t i = 0; i < all.n; i++) vec_push(s->arena, &G.members, all.at[i]);
    G.n_between = G.n_r;
    G.second = second;
    for (int i = 0; i < first->n_reduce; i++) G.r[G.n_r++] = first->reduce[i];
    struct group *groups = NEW_ARRAY(s->arena, struct group, s->groups.n);
    uint32_t *now = NEW_ARRAY(s->arena, uint32_t, s->groups.n);
    for (uint32_t g = 0; g < s->groups.n; g++) {
        if (c->taken[g]) continue;
        groups[kept] = g == own ? G : s->groups.at[g];
        now[g] = kept++;
    }
    uint32_t *group_of = NEW_ARRAY(s->arena, uint32_t, s->loops->nests.n);
    for (uint32_t n = 0; n < s->loops->nests.n; n++) {
        uint32_t g = s->group_of[n];
        group_of[n] = c->taken[g] ? now[own] : now[g];
    }
    s->groups.at = groups;
    s->groups.n = kept;
    s->group_of = group_of;
}

static const char *chain_by(struct chains *c, uint32_t second, inst_id factor) {
    const struct schedule *s = c->s;
    const struct nest *n = nest_at(c, second);
    uint32_t n_nests = s->loops->nests.n;
    c->taken = NEW_ARRAY(s->arena, bool, s->groups.n);
    c->stands = NEW_ARRAY(s->arena, bool, n_nests);
    c->n_first = 0;
    if (!go_back(c, n, factor, NEW_ARRAY(s->arena, bool, n_nests), find_first)) return "";
    if (!c->n_first) return "";
    go_back(c, n, factor, NEW_ARRAY(s->arena, bool, n_nests), mark);
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

/* True: they are one kernel now. */
static bool try_chain(struct chains *c, uint32_t second, inst_id factor,
                      const char *(*reason)(struct schedule *, uint32_t, void *), void *ctx) {
    struct schedule *s = c->s;
    const char *bad = chain_by(c, second, factor);
    if (!bad) {
        struct schedule before = *s;
        uint32_t *group_of = NEW_ARRAY(s->arena, uint32_t, s->loops->nests.n);
        memcpy(group_of, s->group_of, sizeof *group_of * s->loops->nests.n);
        join(c, second);
        bad = reason(s, s->group_of[second], ctx);
        if (bad) {
            s->groups = before.groups;
            s->group_of = group_of;
        } else {
            s->may_be_apart = true;
        }
    }
    log_chain(c, second, bad);
    return !bad;
}

void schedule_chain(struct schedule *s, const struct device_limits *limits,
                    const char *(*reason)(struct schedule *, uint32_t group, void *), void *ctx) {
    struct chains c = {.s = s, .limits = limits};
    if (limits->kind != DEVICE_CUDA || limits->sm < 80) return;
    for (uint32_t n = 0; n < s->loops->nests.n; n++) {
        const struct nest *x = nest_at(&c, n);
        if (!is_narrow_product(x)) continue;
        const struct inst *mul = &x->insts.at[x->insts.at[x->insts.n - 1].args[0]];
        bool factors = mul->kind == INST_OP && mul->op == OP_MUL && mul->n_args == 2;
        for (int side = 0; side < 2 && factors; side++)
            if (try_chain(&c, n, mul->args[side], reason, ctx)) break;
    }
}
