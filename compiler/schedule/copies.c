/* copies.c: how large a kernel of two groups would be.
 *
 *   r = cat([x[1:], x[:1]]); y = f(x + r)      x is read at 3 places, and so made 3 times
 *   r = cat([y[1:], y[:1]]); z = f(y + r)      so is y, and x is made 9 times
 *
 * A value that its kernel does not store is made again for each place where it is read. What is
 * read at one place by several is made once. So each step of a stencil multiplies what was there,
 * and a few of them are more than a compiler of kernels takes. Guards are not told apart. */
#include <string.h>

#include "schedule/fuse.h"

struct place { /* where a value is made, in the dimensions of what the kernel makes last */
    ex index[WS_MAX_RANK];
};

struct places {
    VEC(struct place) list;
};

struct copies {
    struct fuser *f;
    const uint32_t *nests; /* of both groups, in nest order */
    uint32_t n;
    struct places *places; /* per nest of these */
};

/* Which of the nests makes b; -1: none. */
static int maker(const struct copies *c, buffer_id b) {
    for (uint32_t i = 0; i < c->n && c->f->s->writer[b] != NO_NEST; i++)
        if (c->nests[i] == c->f->s->writer[b]) return (int)i;
    return -1;
}

/* Where a nest that makes its value at `at` reads another; what is reduced is the same row for all
 * in a kernel. */
static struct place read_at(const struct copies *c, const struct nest *n, const struct place *at,
                            const struct inst *x) {
    struct exprs *p = c->f->l->ex;
    struct place out = {{0}};
    ex from[2 * WS_MAX_RANK], to[2 * WS_MAX_RANK];
    int count = 0;
    for (int k = 0; k < n->n_reduce; k++) {
        from[count] = n->reduce[k];
        to[count++] = c->f->dims[WS_MAX_RANK + k];
    }
    for (int d = 0; d < c->f->l->buffers.at[n->out].meta.rank; d++) {
        if (ex_kind(p, n->out_index[d]) != EX_SYM) continue;
        from[count] = n->out_index[d];
        to[count++] = at->index[d];
    }
    for (int d = 0; d < x->n_index; d++) out.index[d] = ex_subst(p, x->index[d], from, to, count);
    return out;
}

static void note_place(const struct copies *c, struct places *all, struct place new) {
    for (uint32_t i = 0; i < all->list.n; i++)
        if (!memcmp(all->list.at[i].index, new.index, sizeof new.index)) return;
    vec_push(c->f->scratch, &all->list, new);
}

/* Rows are reduced and scanned once, and so is made what nobody in the kernel reads. */
static void end_places(const struct copies *c, uint32_t i) {
    const struct nest *n = nest_at(c->f, c->nests[i]);
    struct places *all = &c->places[i];
    if (all->list.n && !n->n_reduce && n->scan == EX_NONE && !n->matmul) return;
    struct place own;
    memcpy(own.index, c->f->dims, sizeof own.index);
    all->list.n = 0;
    vec_push(c->f->scratch, &all->list, own);
}

/* Does one of the nests read what another makes elsewhere than at its own place? */
static bool reads_elsewhere(const struct copies *c) {
    for (uint32_t i = 0; i < c->n; i++) {
        const struct nest *n = nest_at(c->f, c->nests[i]);
        for (uint32_t k = 0; k < n->insts.n; k++) {
            const struct inst *x = &n->insts.at[k];
            bool own = true;
            for (int d = 0; x->kind == INST_LOAD && own && d < x->n_index; d++)
                own = x->index[d] == n->out_index[d];
            if (!own && maker(c, x->buffer) >= 0) return true;
        }
    }
    return false;
}

/* Would the kernel's body have more values than it may? From the last nest to the first, so that
 * readers are known before what they read. */
static bool too_many_values(const struct copies *c) {
    uint64_t values = 0, size = 0;
    for (uint32_t i = c->n; i-- > 0;) {
        const struct nest *n = nest_at(c->f, c->nests[i]);
        end_places(c, i);
        values += (uint64_t)c->places[i].list.n * n->insts.n;
        size += (uint64_t)c->places[i].list.n * (uint64_t)nest_size(n);
        if (values > GROUP_MAX_VALUES || size > GROUP_MAX_SIZE) return true;
        for (uint32_t k = 0; k < n->insts.n; k++) {
            int made = n->insts.at[k].kind == INST_LOAD ? maker(c, n->insts.at[k].buffer) : -1;
            for (uint32_t p = 0; made >= 0 && p < c->places[i].list.n; p++)
                note_place(c, &c->places[made],
                           read_at(c, n, &c->places[i].list.at[p], &n->insts.at[k]));
        }
    }
    return false;
}

const char *copies_reason(struct fuser *f, const struct merge *m) {
    const struct group *A = group_at(f, m->a), *B = group_at(f, m->b);
    uint32_t *nests = NEW_ARRAY(f->scratch, uint32_t, A->members.n + B->members.n), n = 0;
    for (uint32_t i = 0, j = 0; i < A->members.n || j < B->members.n;) {
        bool from_a = j == B->members.n ||
                      (i < A->members.n && A->members.at[i].nest < B->members.at[j].nest);
        nests[n++] = from_a ? A->members.at[i++].nest : B->members.at[j++].nest;
    }
    struct copies c = {f, nests, n, NEW_ARRAY(f->scratch, struct places, n)};
    return reads_elsewhere(&c) && too_many_values(&c)
               ? "what is read at several places would be made too often"
               : NULL;
}
