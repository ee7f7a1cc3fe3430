/* pitch.c: rows of a temporary begin where vectors do, where kernels are faster then.
 *
 *   b7: temp bf16 [4096, 50257], which a softmax writes and two products read
 * ->
 *   b7: temp bf16 [4096, 50257] stride [50304, 1]
 *
 * Tensor maps, and vectors, take rows of whole pieces of 16 bytes. A factor whose rows are none is
 * written once more by a launch before each product that reads it (kernel/operand.c), and its rows
 * are read element by element elsewhere. All kernels that write or read a temporary are asked what
 * they take with rows of whole lines of memory, and without.
 *
 * Needs: order, on a GPU, and what runs at load. Breaks: the memory plan, and that temporaries are
 * contiguous. */
#include <math.h>

#include "schedule/schedule.h"

enum { PIECE = 16, LINE = 128 /* bytes */ };

/* By buffer: may its rows be longer? */
static bool *find_candidates(const struct schedule *s) {
    const struct loops *l = s->loops;
    bool *may = NEW_ARRAY(s->arena, bool, l->buffers.n);
    for (uint32_t k = 0; k < l->nests.n; k++) { /* a product's own factor */
        const struct nest *n = &l->nests.at[k];
        for (uint32_t i = 0; i < n->insts.n && n->n_reduce; i++)
            if (n->insts.at[i].kind == INST_LOAD && s->groups.at[s->group_of[k]].matmul)
                may[n->insts.at[i].buffer] = true;
    }
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        const struct buffer *x = &l->buffers.at[b];
        const struct meta *m = &x->meta;
        bool plain = x->kind == BUFFER_TEMP && s->stored[b] && !s->fixed[b] && m->rank >= 2 &&
                     s->writer[b] != NO_NEST && meta_is_contiguous(l->ex, m) &&
                     loop_of(l->nests.at[s->writer[b]].epoch) == NO_LOOP;
        for (int d = 0; d < m->rank && plain; d++) plain = ex_is_const(l->ex, m->size[d], NULL);
        if (plain) {
            int64_t row = ex_value(l->ex, m->size[m->rank - 1]) * dtype_bytes(m->dtype);
            plain = row > LINE && row % PIECE != 0;
        }
        may[b] &= plain;
    }
    for (buffer_id b = 0; b < l->buffers.n; b++)
        if (l->buffers.at[b].kind == BUFFER_WINDOW) may[l->buffers.at[b].window.of] = false;
    return may;
}

static bool uses(const struct loops *l, uint32_t nest, buffer_id b) {
    const struct nest *n = &l->nests.at[nest];
    bool found = n->out == b;
    for (uint32_t i = 0; i < n->insts.n; i++)
        found |= n->insts.at[i].kind == INST_LOAD && n->insts.at[i].buffer == b;
    return found;
}

/* What the kernels take that write or read b. */
static double kernels_us(struct schedule *s, buffer_id b, group_us_fn *us, void *ctx) {
    double all = 0;
    bool *counted = NEW_ARRAY(s->arena, bool, s->groups.n);
    for (uint32_t k = 0; k < s->loops->nests.n; k++) {
        if (counted[s->group_of[k]] || !uses(s->loops, k, b)) continue;
        counted[s->group_of[k]] = true;
        all += us(s, s->group_of[k], ctx);
    }
    return all;
}

static void set_pitch(struct loops *l, struct meta *m, int64_t pitch) {
    ex stride = ex_const(l->ex, pitch);
    for (int d = m->rank - 1; d-- > 0;) {
        m->stride[d] = stride;
        stride = ex_mul(l->ex, stride, m->size[d]);
    }
}

void schedule_pitch(struct schedule *s, group_us_fn *us, void *ctx) {
    const double GAIN = 0.98; /* of what a guess may be wrong by, nothing is to be had */
    struct loops *l = s->loops;
    const bool *may = find_candidates(s);
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        if (!may[b]) continue;
        struct meta *m = &l->buffers.at[b].meta;
        int64_t row = ex_value(l->ex, m->size[m->rank - 1]), each = LINE / dtype_bytes(m->dtype);
        double before = kernels_us(s, b, us, ctx);
        set_pitch(l, m, (row + each - 1) / each * each);
        double now = kernels_us(s, b, us, ctx);
        bool pays = isfinite(now) && now < GAIN * before;
        if (!pays) set_pitch(l, m, row);
        buf_printf(&s->log, "%s: rows of %lld elements %s\n", l->buffers.at[b].name, (long long)row,
                   pays ? "begin at lines of memory"
                        : "follow each other, as that takes no longer");
    }
}
