/* pieces.c: what is concatenated is stored where its piece of the whole is.
 *
 *   kernel 0: y = conv(x, w)                     reads x, w; writes y
 *   kernel 1: z = conv(x, v)                     reads x, v; writes z
 *   kernel 2: c = cat([y, z], 1)                 reads y, z; writes c
 * ->
 *   kernel 0: y = conv(x, w)                     reads x, w; writes c[:, :64]
 *   kernel 1: z = conv(x, v)                     reads x, v; writes c[:, 64:]
 *
 * A piece is a WINDOW of the whole then, with the whole's strides; whoever reads it reads it there.
 * All pieces have to be temporaries that kernels of every call write, each of one whole, and begin
 * and go on where sectors of memory do. A kernel that does more than to concatenate stays.
 *
 * Needs: order, on a GPU. Breaks: the memory plan, and which nest writes the whole: none does, and
 * the order of groups is what says that it is there. */
#include "schedule/schedule.h"

enum { MOST_PIECES = 16, SECTOR = 32 };

struct whole {
    const struct nest *n;
    int dim; /* along which pieces follow each other */
    uint32_t pieces;
    buffer_id piece[MOST_PIECES];
    ex begin[MOST_PIECES]; /* along dim */
};

/* The dimension along which a piece is shorter than the whole; -1: it is none, or in more than one.
 */
static int shorter_along(const struct loops *l, const struct meta *piece,
                         const struct meta *whole) {
    int dim = -1;
    if (piece->rank != whole->rank) return -1;
    for (int d = 0; d < whole->rank; d++) {
        if (piece->size[d] == whole->size[d]) continue;
        if (dim >= 0) return -1;
        dim = d;
    }
    return dim >= 0 && ex_is_const(l->ex, piece->size[dim], NULL) ? dim : -1;
}

/* Is i a load of the piece that begins there, for all elements that are its own? */
static bool loads_piece(const struct loops *l, const struct whole *w, const struct inst *x,
                        ex begin, ex end) {
    struct exprs *p = l->ex;
    ex at = w->n->out_index[w->dim];
    ex before = ex_compare(p, EX_LT, at, end);
    ex in = ex_and(p, ex_compare(p, EX_LE, begin, at), before);
    if (x->kind != INST_LOAD) return false;
    for (int d = 0; d < x->n_index; d++)
        if (x->index[d] !=
            (d == w->dim ? ex_sub(p, w->n->out_index[d], begin) : w->n->out_index[d]))
            return false;
    if (!x->guarded) return true;
    const struct inst *guard = &w->n->insts.at[x->args[0]];
    return guard->kind == INST_INDEX &&
           (guard->index[0] == in || (begin == ex_const(p, 0) && guard->index[0] == before));
}

/* The nth piece is what inst i loads, and begins there: behind it those are chosen from that i
 * chooses from otherwise. */
static bool find_pieces(const struct loops *l, struct whole *w, inst_id i, ex begin) {
    struct exprs *p = l->ex;
    const struct meta *whole = &l->buffers.at[w->n->out].meta;
    for (bool last = false; !last;) {
        const struct inst *x = &w->n->insts.at[i], *load = x;
        last = x->kind == INST_LOAD;
        if (!last) {
            if (x->kind != INST_OP || x->op != OP_WHERE) return false;
            load = &w->n->insts.at[x->args[1]];
        }
        if (load->kind != INST_LOAD || w->pieces == MOST_PIECES) return false;
        const struct meta *m = &l->buffers.at[load->buffer].meta;
        int dim = shorter_along(l, m, whole);
        if (dim < 0 || (w->pieces && dim != w->dim) || m->dtype != whole->dtype) return false;
        w->dim = dim;
        ex end = ex_add(p, begin, m->size[dim]);
        if (!last) {
            const struct inst *before = &w->n->insts.at[x->args[0]];
            if (before->kind != INST_INDEX ||
                before->index[0] != ex_compare(p, EX_LT, w->n->out_index[dim], end))
                return false;
            i = x->args[2];
        }
        if (!loads_piece(l, w, load, begin, end)) return false;
        w->piece[w->pieces] = load->buffer;
        w->begin[w->pieces++] = begin;
        begin = end;
    }
    return begin == whole->size[w->dim];
}

/* Bytes from an element to the one that many further along the dimension. */
static int64_t bytes_along(const struct loops *l, const struct meta *m, int dim, ex n) {
    return ex_hint(l->ex, ex_mul(l->ex, n, m->stride[dim])) * dtype_bytes(m->dtype);
}

/* May all pieces be windows of the whole? */
static bool may_lie_there(const struct schedule *s, const struct whole *w, const bool *taken) {
    const struct loops *l = s->loops;
    const struct meta *m = &l->buffers.at[w->n->out].meta;
    for (uint32_t k = 0; k < w->pieces; k++) {
        const struct buffer *b = &l->buffers.at[w->piece[k]];
        uint32_t writer = s->writer[w->piece[k]];
        if (b->kind != BUFFER_TEMP || taken[w->piece[k]] || s->fixed[w->piece[k]] ||
            writer == NO_NEST || s->group_of[writer] == s->group_of[s->writer[w->n->out]])
            return false;
        for (uint32_t i = 0; i < k; i++)
            if (w->piece[i] == w->piece[k]) return false;
        if (!meta_is_contiguous(l->ex, &b->meta) ||
            bytes_along(l, m, w->dim, w->begin[k]) % SECTOR != 0)
            return false;
    }
    return meta_is_contiguous(l->ex, m) && bytes_along(l, m, w->dim, m->size[w->dim]) % SECTOR == 0;
}

static void put_inside(struct schedule *s, const struct whole *w, bool *taken) {
    struct loops *l = s->loops;
    const struct meta *m = &l->buffers.at[w->n->out].meta;
    for (uint32_t k = 0; k < w->pieces; k++) {
        struct buffer *b = &l->buffers.at[w->piece[k]];
        int64_t first = ex_value(l->ex, ex_mul(l->ex, w->begin[k], m->stride[w->dim]));
        b->kind = BUFFER_WINDOW;
        b->window = (struct loop_window){.of = w->n->out, .first = first, .each = 1};
        for (int d = 0; d < m->rank; d++) b->meta.stride[d] = m->stride[d];
        taken[w->piece[k]] = true;
    }
    taken[w->n->out] = true; /* it has a place of its own */
}

/* Is a group's one nest a concatenation whose pieces may be stored where they belong? */
static bool is_whole(const struct schedule *s, const struct group *G, const bool *taken,
                     struct whole *w) {
    const struct loops *l = s->loops;
    if (G->members.n != 1 || G->at_load) return false;
    const struct nest *n = &l->nests.at[G->members.at[0].nest];
    const struct buffer *b = &l->buffers.at[n->out];
    bool plain = !n->n_reduce && n->scan == EX_NONE && loop_of(n->epoch) == NO_LOOP;
    bool constant = true; /* sizes */
    for (int d = 0; d < b->meta.rank; d++) constant &= ex_is_const(l->ex, b->meta.size[d], NULL);
    if (!plain || !constant || taken[n->out] || s->fixed[n->out] ||
        (b->kind != BUFFER_TEMP && b->kind != BUFFER_OUTPUT))
        return false;
    *w = (struct whole){.n = n};
    return find_pieces(l, w, n->insts.n - 1, ex_const(l->ex, 0)) && w->pieces > 1 &&
           may_lie_there(s, w, taken);
}

void schedule_pieces(struct schedule *s) {
    struct loops *l = s->loops;
    bool *taken = NEW_ARRAY(s->arena, bool, l->buffers.n), any = false;
    uint32_t *place = NEW_ARRAY(s->arena, uint32_t, l->nests.n), kept = 0;
    bool *gone = NEW_ARRAY(s->arena, bool, l->nests.n);
    for (uint32_t g = 0; g < s->groups.n; g++) {
        struct whole w;
        if (!is_whole(s, &s->groups.at[g], taken, &w)) continue;
        put_inside(s, &w, taken);
        buf_printf(&s->log, "%s: its %u pieces are stored where they belong\n", w.n->name,
                   w.pieces);
        s->writer[w.n->out] = NO_NEST;
        gone[s->groups.at[g].members.at[0].nest] = any = true;
    }
    if (!any) return;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        place[k] = gone[k] ? NO_NEST : kept;
        if (gone[k]) continue;
        s->writer[l->nests.at[k].out] = kept;
        l->nests.at[kept++] = l->nests.at[k];
    }
    l->nests.n = kept;
    schedule_renumber(s, place);
}
