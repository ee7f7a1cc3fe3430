/* beside.c: kernels that reduce, of one shape, become one: small ones, though they have nothing to
 * do with each other, and larger ones that read the same:
 *
 *   a = v[i].sum(1): [2048, 64], of 4     b = w[j].sum(1): [2048, 64], of 4
 * ->
 *   one kernel, each of whose threads has an element of both
 *
 * That saves no byte but a launch, and all that the threads of both wait for is under way at a
 * time. It is so where the cost model has less for one kernel than for both, each of which is
 * small: larger ones are better off with their registers for themselves, unless most of what one of
 * them reads the other does:
 *
 *   a = g.sum(0)        b = (g * x).sum(0), that reads g since recompute.c has it make the product
 *
 * Two groups may become one when
 *   - neither stands on the other, by whatever is between;
 *   - they have as many axes, of the same sizes, in one order;
 *   - both are of the same steps, and run at load, or in each call;
 *   - a kernel can hold the operators, and a launch the arguments of both.
 * Pointwise kernels have done so before (abreast.c); products do not.
 *
 * Needs: order, what runs at load. Breaks group indices, memory. */
#include <math.h>
#include <string.h>

#include "schedule/schedule.h"

/* Two groups: their first nests, and how many each has. Groups do but grow. */
struct pair {
    uint32_t nest[2], members[2];
};

struct beside {
    struct schedule *s;
    group_us_fn *us;
    void *ctx;
    double *takes;   /* us, of the group whose first nest it is; negative: not asked for */
    uint64_t *below; /* [group][n_words] of bits: it stands on these */
    size_t n_words;
    bool *joined;       /* per nest: the first one of a group that was made here */
    int *sizes;         /* per nest: nest_size */
    struct map refused; /* struct pair */
    struct arena *pair; /* what a look at two groups needs, gone when it has ended */
    uint32_t *seen;     /* per buffer: the number of the last look that met it */
    uint32_t looks;
};

/* us: a few launches; and what a kernel takes beside what the cost model counts, which on an H200
 * is all of the 1.1 us of one that sums up 256 elements. */
static const double SMALL = 5, LAUNCH = 1;

static const struct nest *nest_of(const struct beside *b, const struct group *G, uint32_t m) {
    return &b->s->loops->nests.at[G->members.at[m].nest];
}

static bool stands_on(const struct beside *b, uint32_t g, uint32_t h) {
    return b->below[g * b->n_words + h / 64] >> h % 64 & 1;
}

/* Groups are in order: what one stands on has been seen. */
static void find_below(struct beside *b) {
    const struct schedule *s = b->s;
    b->n_words = (s->groups.n + 63) / 64;
    if (!b->below) b->below = NEW_ARRAY(s->arena, uint64_t, s->groups.n * b->n_words);
    memset(b->below, 0, s->groups.n * b->n_words * sizeof *b->below); /* groups become fewer */
    for (uint32_t g = 0; g < s->groups.n; g++)
        for (uint32_t m = 0; m < s->groups.at[g].members.n; m++) {
            const struct nest *n = nest_of(b, &s->groups.at[g], m);
            for (uint32_t i = 0; i < n->insts.n; i++) {
                if (n->insts.at[i].kind != INST_LOAD) continue;
                uint32_t w = s->writer[n->insts.at[i].buffer];
                uint32_t h = w == NO_NEST ? g : s->group_of[w];
                if (h == g) continue;
                for (size_t k = 0; k < b->n_words; k++)
                    b->below[g * b->n_words + k] |= b->below[h * b->n_words + k];
                b->below[g * b->n_words + h / 64] |= UINT64_C(1) << h % 64;
            }
        }
}

static bool same_bounds(const struct exprs *p, const ex *a, const ex *b, int n) {
    for (int i = 0; i < n; i++)
        if (ex_symbol(p, a[i])->bound != ex_symbol(p, b[i])->bound) return false;
    return true;
}

static bool only_reduces(const struct group *G) {
    return G->n_r && !G->matmul && !G->scan && !G->columns && !G->n_arms && !G->n_between;
}

static bool same_shape(const struct beside *b, const struct group *A, const struct group *B) {
    return A->n_x == B->n_x && A->n_r == B->n_r &&
           same_bounds(b->s->loops->ex, A->x, B->x, A->n_x) &&
           same_bounds(b->s->loops->ex, A->r, B->r, A->n_r);
}

/* What a kernel of both would have. */
struct load {
    uint32_t arguments;
    int size, subscripts;
};

static void count(struct beside *b, const struct group *G, struct load *x) {
    const struct schedule *s = b->s;
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_of(b, G, m);
        x->size += b->sizes[G->members.at[m].nest];
        x->arguments += s->stored[n->out] + (n->n_reduce > 0); /* its parts, were it split */
        for (uint32_t i = 0; i < n->insts.n; i++) {
            const struct inst *at = &n->insts.at[i];
            x->subscripts += at->kind == INST_SUBSCRIPT;
            if (at->kind != INST_LOAD || b->seen[at->buffer] == b->looks) continue;
            b->seen[at->buffer] = b->looks;
            x->arguments += s->stored[at->buffer];
        }
    }
}

static bool kernel_can_hold(struct beside *b, const struct group *A, const struct group *B) {
    struct load x = {0};
    if (A->members.n + B->members.n > GROUP_MAX_NESTS) return false;
    b->looks++;
    count(b, A, &x);
    count(b, B, &x);
    return x.size <= GROUP_MAX_SIZE && x.subscripts <= GROUP_MAX_SUBSCRIPTS &&
           x.arguments <= GROUP_MAX_BUFFERS;
}

static double us_of(struct beside *b, uint32_t g) {
    double *takes = &b->takes[b->s->groups.at[g].members.at[0].nest];
    if (*takes < 0) *takes = b->us(b->s, g, b->ctx);
    return *takes;
}

/* Or made of those that are. */
static bool is_small(struct beside *b, uint32_t g) {
    return b->joined[b->s->groups.at[g].members.at[0].nest] || us_of(b, g) <= SMALL;
}

/* h's axes as g's, which are as many. */
static int along(const struct beside *b, uint32_t g, uint32_t h, ex *from, ex *to) {
    const struct group *A = &b->s->groups.at[g], *B = &b->s->groups.at[h];
    for (int i = 0; i < A->n_x + A->n_r; i++) {
        from[i] = i < B->n_x ? B->x[i] : B->r[i - B->n_x];
        to[i] = i < A->n_x ? A->x[i] : A->r[i - A->n_x];
    }
    return A->n_x + A->n_r;
}

struct reads {
    VEC(const struct inst *) loads; /* of tensors in memory, each place once */
    VEC(ex *) index;                /* by the axes of a group */
    uint32_t group, looks;          /* whose they are; nests that were looked at for them */
};

static void add_read(const struct beside *b, struct reads *out, const struct inst *x, ex *index) {
    for (uint32_t k = 0; k < out->loads.n; k++)
        if (out->loads.at[k]->buffer == x->buffer &&
            !memcmp(out->index.at[k], index, sizeof *index * (size_t)x->n_index))
            return;
    vec_push(b->pair, &out->loads, x);
    vec_push(b->pair, &out->index, index);
}

/* Of a nest whose n axes `from` are `to`; and of those that are inlined into it, at its places. */
static void find_reads(const struct beside *b, struct reads *out, const struct nest *nest,
                       const ex *from, const ex *to, int n) {
    enum { MOST = 256 };
    const struct schedule *s = b->s;
    if (out->looks++ > MOST) return;
    for (uint32_t i = 0; i < nest->insts.n; i++) {
        const struct inst *x = &nest->insts.at[i];
        if (x->kind != INST_LOAD) continue;
        ex *index = NEW_ARRAY(b->pair, ex, x->n_index ? x->n_index : 1);
        for (int d = 0; d < x->n_index; d++)
            index[d] = ex_subst(s->loops->ex, x->index[d], from, to, n);
        uint32_t w = s->writer[x->buffer];
        if (s->stored[x->buffer]) {
            add_read(b, out, x, index);
        } else if (w != NO_NEST && s->group_of[w] == out->group &&
                   !s->loops->nests.at[w].n_reduce) {
            const struct nest *made = &s->loops->nests.at[w];
            find_reads(b, out, made, made->out_index, index, x->n_index);
        }
    }
}

/* What h reads, by the axes of g. */
static struct reads reads_of(const struct beside *b, uint32_t g, uint32_t h) {
    const struct group *H = &b->s->groups.at[h];
    ex from[2 * GROUP_MAX_AXES], to[2 * GROUP_MAX_AXES], in[2 * GROUP_MAX_AXES];
    int n = along(b, g, h, from, to);
    struct reads out = {.group = h};
    for (uint32_t m = 0; m < H->members.n; m++) {
        const struct member *M = &H->members.at[m];
        for (int i = 0; i < M->n; i++) in[i] = ex_subst(b->s->loops->ex, M->to[i], from, to, n);
        if (!M->inlined) find_reads(b, &out, nest_of(b, H, m), M->from, in, M->n);
    }
    return out;
}

/* Is most of what one of them reads, in bytes of tensors, read by the other, at the same places? */
static bool reads_the_same(const struct beside *b, uint32_t g, uint32_t h) {
    struct reads of[] = {reads_of(b, g, g), reads_of(b, g, h)};
    double bytes[2] = {0}, both = 0;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < of[side].loads.n; i++) {
            const struct inst *x = of[side].loads.at[i], *y;
            double size = (double)buffer_bytes(b->s->loops, x->buffer);
            bytes[side] += size;
            for (uint32_t k = 0; !side && k < of[1].loads.n; k++) {
                y = of[1].loads.at[k];
                if (y->buffer == x->buffer &&
                    !memcmp(of[0].index.at[i], of[1].index.at[k], sizeof(ex) * (size_t)x->n_index))
                    both += size;
            }
        }
    return 2 * both >= fmin(bytes[0], bytes[1]);
}

static bool is_worth_a_try(struct beside *b, uint32_t g, uint32_t h) {
    if (is_small(b, g) && is_small(b, h)) return true;
    return reads_the_same(b, g, h) && isfinite(us_of(b, g)) && isfinite(us_of(b, h));
}

static bool may_join(struct beside *b, uint32_t g, uint32_t h) {
    const struct group *A = &b->s->groups.at[g], *B = &b->s->groups.at[h];
    return only_reduces(B) && same_shape(b, A, B) && A->at_load == B->at_load &&
           nest_of(b, A, 0)->epoch == nest_of(b, B, 0)->epoch && !stands_on(b, h, g) &&
           kernel_can_hold(b, A, B);
}

/* Members of both, h's along the axes of g. */
static struct group both(const struct beside *b, uint32_t g, uint32_t h) {
    const struct schedule *s = b->s;
    const struct group *A = &s->groups.at[g], *B = &s->groups.at[h];
    struct group out = *A;
    ex from[2 * GROUP_MAX_AXES], to[2 * GROUP_MAX_AXES];
    int n = along(b, g, h, from, to);
    memset(&out.members, 0, sizeof out.members);
    uint32_t i = 0, j = 0;
    while (i < A->members.n || j < B->members.n) { /* in nest order */
        bool first = j == B->members.n ||
                     (i < A->members.n && A->members.at[i].nest < B->members.at[j].nest);
        struct member M = first ? A->members.at[i++] : B->members.at[j++];
        for (int k = 0; k < M.n && !first; k++)
            M.to[k] = ex_subst(s->loops->ex, M.to[k], from, to, n);
        vec_push(b->pair, &out.members, M);
    }
    return out;
}

/* The schedule with g and h as one group; which comes behind all that either stands on. */
static struct schedule joined(const struct beside *b, uint32_t g, uint32_t h) {
    struct schedule s = *b->s;
    s.arena = b->pair;
    uint32_t n = s.loops->nests.n, kept = 0;
    struct group *groups = NEW_ARRAY(s.arena, struct group, s.groups.n);
    s.group_of = NEW_ARRAY(s.arena, uint32_t, n);
    for (uint32_t i = 0; i < b->s->groups.n; i++) {
        if (i == h) continue;
        groups[kept++] = i == g ? both(b, g, h) : b->s->groups.at[i];
    }
    schedule_set_groups(&s, groups, kept, s.groups.n);
    return s;
}

static void put_names(struct buf *log, const struct beside *b, const struct group *G) {
    for (uint32_t m = 0; m < G->members.n; m++)
        buf_printf(log, "%s%s", m ? "+" : "", nest_of(b, G, m)->name);
}

static char *pair_names(const struct beside *b, uint32_t g, uint32_t h) {
    struct buf names = buf_new(b->pair);
    put_names(&names, b, &b->s->groups.at[g]);
    buf_puts(&names, "  beside  ");
    put_names(&names, b, &b->s->groups.at[h]);
    return names.p;
}

/* True: one group has both now, and all indices are others. */
static bool try_join(struct beside *b, uint32_t g, uint32_t h) {
    const struct group *A = &b->s->groups.at[g], *B = &b->s->groups.at[h];
    uint32_t nest = A->members.at[0].nest;
    const struct pair pair = {{nest, B->members.at[0].nest}, {A->members.n, B->members.n}};
    uint64_t known;
    if (map_get(&b->refused, &pair, sizeof pair, &known)) return false;
    const char *names = pair_names(b, g, h);
    double apart = us_of(b, g) + us_of(b, h) + LAUNCH;
    struct schedule s = joined(b, g, h);
    schedule_order(&s);
    schedule_at_load(&s, false);
    bool less = b->us(&s, s.group_of[nest], b->ctx) <= apart;
    buf_printf(&s.log, "%s: %s\n", names,
               less ? "fused, saves a launch" : "not fused: apart they take less");
    if (less) {
        s.arena = b->s->arena;
        *b->s = s;
        uint32_t first = s.groups.at[s.group_of[nest]].members.at[0].nest;
        b->joined[first] = true;
        b->takes[first] = -1;
    } else {
        b->s->log = s.log;
        map_put(&b->refused, &pair, sizeof pair, 1);
    }
    return less;
}

/* False: no pair becomes one. */
static bool join_first(struct beside *b) {
    enum { TRIES = 4 }; /* of one with others: what refuses a few takes long to ask about all */
    for (uint32_t g = 0, n = b->s->groups.n; g < n; g++) {
        if (!only_reduces(&b->s->groups.at[g])) continue;
        int tries = 0;
        for (uint32_t h = g + 1; h < n && tries < TRIES; h++) {
            if (!may_join(b, g, h)) continue;
            b->pair = arena_within(b->s->arena);
            bool worth = is_worth_a_try(b, g, h);
            if (worth && try_join(b, g, h)) return true; /* what it holds is the schedule's now */
            tries += worth;
            arena_free(b->pair);
        }
    }
    return false;
}

void schedule_beside(struct schedule *s, group_us_fn *us, void *ctx) {
    struct beside b = {.s = s, .us = us, .ctx = ctx, .refused = map_new(s->arena)};
    b.joined = NEW_ARRAY(s->arena, bool, s->loops->nests.n);
    b.seen = NEW_ARRAY(s->arena, uint32_t, s->loops->buffers.n);
    b.takes = NEW_ARRAY(s->arena, double, s->loops->nests.n);
    b.sizes = NEW_ARRAY(s->arena, int, s->loops->nests.n);
    for (uint32_t n = 0; n < s->loops->nests.n; n++) {
        b.takes[n] = -1;
        b.sizes[n] = nest_size(&s->loops->nests.at[n]);
    }
    do find_below(&b);
    while (join_first(&b));
}
