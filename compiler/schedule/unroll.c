/* unroll.c: a short reduction that another one reads becomes straight-line arithmetic on its taps,
 * so that one kernel can do both:
 *
 *   b3[i0, i1, i2] = amax r0: 2, r1: 2 of b0[i0, i1*2 + r0, i2*2 + r1]  a pooling window ...
 *   b4[i0]         = sum r0: 56, r1: 56 of b3[i0, r0, r1]               ... averaged over the image
 * ->
 *   b3[i0, i1, i2] = maximum(maximum(maximum(b0[i0, i1*2, i2*2], ...), ...), ...)
 *
 * A kernel has one kind of rows, so the two would be two kernels, with b3 in memory between them.
 * Only where a single reduction, or a scan of little, is all that comes of it: for a second one
 * the taps would be loaded again. And only if nobody else reads what it reads: two that do are one
 * kernel as they are.
 *
 * On a GPU: a CPU would divide the index of every element by the width of the image, which its
 * compiler makes no vectors of.
 *
 * Needs: loops that no schedule looks at yet. Keeps: which buffers there are. */
#include "schedule/schedule.h"

enum {
    MAX_TAPS = 16,      /* neighbours that each read as many elements in a row still share lines */
    MAX_UNROLLED = 256, /* instructions */
};

struct unroller {
    struct loops *l;
    struct reader_lists readers;
    uint32_t *writer; /* per buffer: the nest that writes it, and one; 0: none */
    uint32_t *seen;   /* per buffer: by which question, of `asked` */
    uint32_t asked;
};

static const struct nest *nest_at(const struct unroller *u, uint32_t n) {
    return &u->l->nests.at[n];
}

/* Is what it goes through so little that a launch takes longer than to load taps one by one, as
 * scans do? */
static bool is_little(const struct unroller *u, const struct nest *n) {
    enum { BYTES = 1 << 20 };
    return buffer_bytes(u->l, n->out) <= BYTES;
}

/* Is nest *found all that reduces or scans what depends on b? *found is NO_NEST until one does. */
static bool leads_to_one(const struct unroller *u, buffer_id b, uint32_t *found) {
    if (u->l->buffers.at[b].kind != BUFFER_TEMP) return false;
    if (u->seen[b] == u->asked) return true;
    u->seen[b] = u->asked;
    for (uint32_t r = u->readers.begin[b]; r < u->readers.begin[b + 1]; r++) {
        uint32_t k = u->readers.nest[r];
        const struct nest *n = nest_at(u, k);
        if (n->matmul || (n->scan && !is_little(u, n))) return false;
        if (!n->n_reduce && !n->scan && !leads_to_one(u, n->out, found)) return false;
        if (!n->n_reduce && !n->scan) continue;
        if (*found != NO_NEST && *found != k) return false;
        *found = k;
    }
    return true;
}

static bool feeds_one_reduction(struct unroller *u, const struct nest *n) {
    uint32_t found = NO_NEST;
    u->asked++;
    return leads_to_one(u, n->out, &found) && found != NO_NEST;
}

/* Does n alone read what it loads, and what element-wise nests before it do? Of tensors smaller
 * than `bytes` it does not matter. */
static bool reads_alone(const struct unroller *u, const struct nest *n, int64_t bytes) {
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind != INST_LOAD || buffer_bytes(u->l, x->buffer) < bytes) continue;
        if (u->readers.begin[x->buffer + 1] - u->readers.begin[x->buffer] > 1) return false;
        if (!u->writer[x->buffer]) continue;
        const struct nest *from = nest_at(u, u->writer[x->buffer] - 1);
        if (!from->n_reduce && !from->scan && !reads_alone(u, from, bytes)) return false;
    }
    return true;
}

static bool is_short(const struct loops *l, const struct nest *n) {
    int64_t taps = 1, size;
    if (!n->n_reduce || n->matmul || !reduction_of_values(n->insts.at[n->insts.n - 1].reduction))
        return false;
    for (int r = 0; r < n->n_reduce; r++) {
        if (!ex_is_const(l->ex, ex_symbol(l->ex, n->reduce[r])->bound, &size)) return false;
        if (size < 1 || size > MAX_TAPS || (taps *= size) > MAX_TAPS) return false;
    }
    for (uint32_t i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_SUBSCRIPT) return false; /* its symbol has one value */
    return taps * n->insts.n <= MAX_UNROLLED;
}

/* What is reduced, where the reduce axes are at `at`: its instructions, and the last one's id. */
static inst_id put_tap(const struct loops *l, struct nest *n, const struct nest *reduced,
                       const ex *at) {
    inst_id first = n->insts.n;
    const struct inst *last = &reduced->insts.at[reduced->insts.n - 1];
    for (uint32_t i = 0; i + 1 < reduced->insts.n; i++) {
        struct inst x = reduced->insts.at[i];
        for (int k = 0; k < x.n_args; k++) x.args[k] += first;
        for (int d = 0; d < WS_MAX_RANK; d++)
            if (x.index[d] != EX_NONE)
                x.index[d] = ex_subst(l->ex, x.index[d], reduced->reduce, at, reduced->n_reduce);
        vec_push(l->arena, &n->insts, x);
    }
    return first + last->args[0];
}

/* The next place along the reduce axes; false behind the last one. */
static bool advance(const struct loops *l, const struct nest *n, ex *at) {
    for (int r = n->n_reduce - 1; r >= 0; r--) {
        int64_t i = ex_value(l->ex, at[r]) + 1;
        bool more = i < ex_value(l->ex, ex_symbol(l->ex, n->reduce[r])->bound);
        at[r] = ex_const(l->ex, more ? i : 0);
        if (more) return true;
    }
    return false;
}

static void unroll(const struct loops *l, struct nest *n) {
    const struct nest reduced = *n;
    const struct inst *last = &reduced.insts.at[reduced.insts.n - 1];
    ex at[WS_MAX_RANK];
    for (int r = 0; r < reduced.n_reduce; r++) at[r] = ex_const(l->ex, 0);
    memset(&n->insts, 0, sizeof n->insts);
    n->n_reduce = 0;
    inst_id all = put_tap(l, n, &reduced, at);
    while (advance(l, &reduced, at)) {
        inst_id tap = put_tap(l, n, &reduced, at);
        struct inst both = {.kind = INST_OP,
                            .op = reduction_step(last->reduction),
                            .dtype = last->dtype,
                            .n_args = 2,
                            .args = {all, tap}};
        all = n->insts.n;
        vec_push(l->arena, &n->insts, both);
    }
}

void schedule_unroll(struct loops *l) {
    struct arena *scratch = arena_within(l->arena);
    struct unroller u = {.l = l,
                         .readers = loops_readers(l, scratch),
                         .writer = NEW_ARRAY(scratch, uint32_t, l->buffers.n),
                         .seen = NEW_ARRAY(scratch, uint32_t, l->buffers.n)};
    for (uint32_t k = 0; k < l->nests.n; k++) u.writer[l->nests.at[k].out] = k + 1;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        struct nest *n = &l->nests.at[k];
        if (is_short(l, n) && !nest_recurs(l, n) && feeds_one_reduction(&u, n) &&
            reads_alone(&u, n, buffer_bytes(l, n->out)))
            unroll(l, n);
    }
    arena_free(scratch);
}
