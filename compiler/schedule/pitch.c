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

enum { PIECE = 16, LINE = 128 /* bytes */, MOST_ROWS = 1 << 16 /* each is judged by itself */ };

static bool uses(const struct loops *l, uint32_t nest, buffer_id b) {
    const struct nest *n = &l->nests.at[nest];
    bool found = n->out == b;
    for (uint32_t i = 0; i < n->insts.n; i++)
        found |= n->insts.at[i].kind == INST_LOAD && n->insts.at[i].buffer == b;
    return found;
}

/* Groups that write or read b are marked. */
static void mark_groups(const struct schedule *s, buffer_id b, bool *marks) {
    for (uint32_t k = 0; k < s->loops->nests.n; k++)
        if (uses(s->loops, k, b)) marks[s->group_of[k]] = true;
}

static int64_t row_of(const struct loops *l, buffer_id b) {
    const struct meta *m = &l->buffers.at[b].meta;
    return ex_value(l->ex, m->size[m->rank - 1]);
}

/* By buffer: may its rows be longer, and do they begin anywhere? */
static bool *find_ragged(const struct schedule *s) {
    const struct loops *l = s->loops;
    bool *ragged = NEW_ARRAY(s->arena, bool, l->buffers.n);
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        const struct buffer *x = &l->buffers.at[b];
        const struct meta *m = &x->meta;
        bool plain = x->kind == BUFFER_TEMP && s->stored[b] && !s->fixed[b] && m->rank >= 2 &&
                     s->writer[b] != NO_NEST && meta_is_contiguous(l->ex, m) &&
                     loop_of(l->nests.at[s->writer[b]].epoch) == NO_LOOP;
        for (int d = 0; d < m->rank && plain; d++) plain = ex_is_const(l->ex, m->size[d], NULL);
        if (!plain) continue;
        int64_t bytes = row_of(l, b) * dtype_bytes(m->dtype),
                rows = ex_value(l->ex, meta_numel(l->ex, m)) / row_of(l, b);
        ragged[b] = bytes > LINE && bytes % PIECE != 0 && rows <= MOST_ROWS;
    }
    for (buffer_id b = 0; b < l->buffers.n; b++)
        if (l->buffers.at[b].kind == BUFFER_WINDOW) ragged[l->buffers.at[b].window.of] = false;
    return ragged;
}

/* Through no window, and in no other shape. */
static bool is_plain(const struct loops *l, const struct inst *load) {
    bool plain = load->kind == INST_LOAD && !load->guarded;
    for (int d = 0; d < load->n_index && plain; d++)
        plain =
            ex_kind(l->ex, load->index[d]) == EX_SYM || ex_is_const(l->ex, load->index[d], NULL);
    return plain;
}

/* By buffer: is it a factor of a product, as it lies? */
static bool *find_factors(const struct schedule *s) {
    const struct loops *l = s->loops;
    bool *factor = NEW_ARRAY(s->arena, bool, l->buffers.n);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        for (uint32_t i = 0; i < n->insts.n && n->n_reduce; i++)
            if (is_plain(l, &n->insts.at[i]) && s->groups.at[s->group_of[k]].matmul)
                factor[n->insts.at[i].buffer] = true;
    }
    return factor;
}

static void set_pitch(struct loops *l, struct meta *m, int64_t pitch) {
    ex stride = ex_const(l->ex, pitch);
    for (int d = m->rank - 1; d-- > 0;) {
        m->stride[d] = stride;
        stride = ex_mul(l->ex, stride, m->size[d]);
    }
}

/* Those whose rows go along with b's, b among them: as long, and in the same kernel, which reads
 * one and writes the other by the same vectors. */
static bool *find_alike(const struct schedule *s, buffer_id b, const bool *ragged) {
    const struct loops *l = s->loops;
    bool *alike = NEW_ARRAY(s->arena, bool, l->buffers.n),
         *groups = NEW_ARRAY(s->arena, bool, s->groups.n);
    mark_groups(s, b, groups);
    for (buffer_id c = 0; c < l->buffers.n; c++)
        for (uint32_t k = 0; k < l->nests.n && ragged[c] && !alike[c]; k++)
            alike[c] = groups[s->group_of[k]] && row_of(l, c) == row_of(l, b) && uses(l, k, c);
    return alike;
}

static void set_pitches(const struct schedule *s, const bool *which, bool lines) {
    struct loops *l = s->loops;
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        if (!which[b]) continue;
        int64_t each = LINE / dtype_bytes(l->buffers.at[b].meta.dtype), row = row_of(l, b);
        set_pitch(l, &l->buffers.at[b].meta, lines ? (row + each - 1) / each * each : row);
    }
}

static double kernels_us(struct schedule *s, const bool *groups, group_us_fn *us, void *ctx) {
    double all = 0;
    for (uint32_t g = 0; g < s->groups.n; g++)
        if (groups[g]) all += us(s, g, ctx);
    return all;
}

void schedule_pitch(struct schedule *s, group_us_fn *us, void *ctx) {
    const double GAIN = 0.98; /* of what a guess may be wrong by, nothing is to be had */
    struct loops *l = s->loops;
    bool *ragged = find_ragged(s);
    const bool *factor = find_factors(s);
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        if (!ragged[b] || !factor[b]) continue;
        const bool *alike = find_alike(s, b, ragged);
        bool *groups = NEW_ARRAY(s->arena, bool, s->groups.n);
        for (buffer_id c = 0; c < l->buffers.n; c++)
            if (alike[c]) mark_groups(s, c, groups), ragged[c] = false;
        double before = kernels_us(s, groups, us, ctx);
        set_pitches(s, alike, true);
        double now = kernels_us(s, groups, us, ctx);
        bool pays = isfinite(now) && now < GAIN * before;
        if (!pays) set_pitches(s, alike, false);
        buf_printf(&s->log, "%s: rows of %lld elements %s\n", l->buffers.at[b].name,
                   (long long)row_of(l, b),
                   pays ? "begin at lines of memory"
                        : "follow each other, as that takes no longer");
    }
}
