/* again.c: a recurrence is run once more for sums along other axes of its states than its steps
 * have for lanes, where that is cheaper than to store the states of all steps, to be read for this.
 *
 *   512 steps of  b6[i0: 64, i1: 64] = ..                      memory b5
 *                 b11[i0] = sum over r0: 64 of b6[i0, r0] * b12[r0]
 *   b9[i0: 512, i1: 64] = sum over r0: 64 of b5[i0, r0, i1] * b2[i0, r0]
 * ->
 *   512 steps of  b6 = ..                                      in no memory
 *                 b11 = ..
 *   512 steps of  b20[i0, i1] = ..                             the same again, in no memory
 *                 b22[i1] = sum over r0: 64 of b20[r0, i1] * b2[t, r0]
 *
 * A gradient of S = g S + k v^T has sums along both axes of S: so it is read from memory no more.
 *
 * Part of the pass of recurrence.c, behind its readouts. Adds buffers, nests and a loop. */
#include <string.h>

#include "loop/recurrence_impl.h"

struct again {
    struct loops *l;
    uint32_t loop;   /* the copy is the next one */
    buffer_id *copy; /* by buffer that was there before: of the loop, what the copy has for it */
    uint32_t n_buffers;
    bool *needed; /* by nest */
    buffer_id memory;
};

static bool is_of(const struct again *x, uint32_t k) {
    return loop_of(x->l->nests.at[k].epoch) == x->loop;
}

/* ---- which nests ----------------------------------------------------------------------------- */

static bool leaves(const struct again *x, uint32_t k, buffer_id memory) {
    const struct buffer *out = &x->l->buffers.at[x->l->nests.at[k].out];
    return is_of(x, k) && out->kind == BUFFER_WINDOW && out->window.of == memory;
}

/* Does nest k of the loop leave what is read as b, in this step or the one before? */
static bool makes(const struct again *x, uint32_t k, buffer_id b) {
    const struct buffer *read = &x->l->buffers.at[b];
    if (x->l->nests.at[k].out == b) return is_of(x, k);
    return read->kind == BUFFER_WINDOW && read->window.carried && leaves(x, k, read->window.of);
}

/* What leaves the memory, and all that this stands on. */
static void find_needed(struct again *x) {
    for (uint32_t k = 0; k < x->l->nests.n; k++) x->needed[k] = leaves(x, k, x->memory);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = 0; k < x->l->nests.n; k++) {
            const struct nest *n = &x->l->nests.at[k];
            for (inst_id i = 0; i < n->insts.n && x->needed[k]; i++)
                for (uint32_t m = 0; m < x->l->nests.n && n->insts.at[i].kind == INST_LOAD; m++) {
                    if (x->needed[m] || !makes(x, m, n->insts.at[i].buffer)) continue;
                    x->needed[m] = more = true;
                }
        }
    }
}

/* ---- the copy -------------------------------------------------------------------------------- */

static buffer_id copy_of(struct again *x, buffer_id b) {
    struct loops *l = x->l;
    if (x->copy[b] != NONE) return x->copy[b];
    struct buffer made = l->buffers.at[b];
    if (made.kind == BUFFER_WINDOW)
        made.window.of = copy_of(x, made.window.of);
    else if (made.kind == BUFFER_OUTPUT)
        made.kind = BUFFER_STACK;
    made.node = 0;
    made.name = arena_printf(l->arena, "b%u", l->buffers.n);
    vec_push(l->arena, &l->buffers, made);
    return x->copy[b] = l->buffers.n - 1;
}

static void put_copy(struct again *x) {
    struct loops *l = x->l;
    uint32_t n = l->nests.n, end = n;
    while (!is_of(x, end - 1)) end--;
    VEC(struct nest) made = {0};
    for (uint32_t k = 0; k < n; k++) {
        if (!x->needed[k]) continue;
        struct nest copy = nest_renewed(l, &l->nests.at[k]);
        copy.out = copy_of(x, copy.out);
        copy.epoch = 2 * x->loop + 3;
        vec_push(l->arena, &made, copy);
    }
    l->step[x->loop + 1] = ex_index(l->ex, "t", ex_const(l->ex, l->steps.at[x->loop]));
    for (uint32_t i = 0; i < made.n; i++)
        for (inst_id j = 0; j < made.at[i].insts.n; j++) {
            struct inst *load = &made.at[i].insts.at[j];
            bool own = false;
            for (int d = 0; d < load->n_index || (d == 0 && load->kind == INST_INDEX); d++)
                load->index[d] =
                    ex_subst(l->ex, load->index[d], &l->step[x->loop], &l->step[x->loop + 1], 1);
            for (uint32_t k = 0; k < n && load->kind == INST_LOAD; k++)
                own |= makes(x, k, load->buffer);
            if (own) load->buffer = copy_of(x, load->buffer);
        }
    for (uint32_t i = 0; i < made.n; i++) vec_push(l->arena, &l->nests, made.at[i]);
    memmove(&l->nests.at[end + made.n], &l->nests.at[end], (n - end) * sizeof *l->nests.at);
    memcpy(&l->nests.at[end], made.at, made.n * sizeof *made.at);
}

/* ---- the sums -------------------------------------------------------------------------------- */

/* What is read of the memory, by a nest behind the loop or by what that is made of, is the copy's,
 * or again the loop's. */
static void read_of(struct again *x, uint32_t k, buffer_id from, buffer_id to, int deep) {
    struct nest *n = &x->l->nests.at[k];
    for (inst_id i = 0; i < n->insts.n; i++) {
        struct inst *load = &n->insts.at[i];
        if (load->kind != INST_LOAD) continue;
        if (load->buffer == from) load->buffer = to;
        for (uint32_t m = 0; m < k && deep < DEEPEST; m++)
            if (x->l->nests.at[m].out == load->buffer &&
                loop_of(x->l->nests.at[m].epoch) == NO_LOOP &&
                x->l->nests.at[m].epoch > 2 * x->loop + 1)
                read_of(x, m, from, to, deep + 1);
    }
}

static uint32_t nest_of(const struct loops *l, buffer_id out) {
    for (uint32_t k = 0; k < l->nests.n; k++)
        if (l->nests.at[k].out == out) return k;
    WS_BUG("a sum that nobody makes");
}

/* Takes the sum in the copy's steps. */
static bool take(struct again *x, buffer_id sum) {
    buffer_id own = x->copy[x->memory];
    struct saved before = recurrence_save(x->l);
    read_of(x, nest_of(x->l, sum), x->memory, own, 0);
    if (recurrence_readout(x->l, x->loop + 1, nest_of(x->l, sum))) return true;
    recurrence_restore(x->l, before);
    return false;
}

/* Is it read by others than the loop that leaves it, which has that in registers? Not by what
 * nobody reads in turn, as what a sum was of that is taken in steps. */
static bool is_read(const struct loops *l, buffer_id b, uint32_t loop) {
    if (l->buffers.at[b].kind == BUFFER_OUTPUT) return true;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        bool reads = false;
        for (inst_id i = 0; i < n->insts.n && loop_of(n->epoch) != loop; i++) {
            const struct buffer *of = &l->buffers.at[n->insts.at[i].buffer];
            if (n->insts.at[i].kind != INST_LOAD) continue;
            reads |= n->insts.at[i].buffer == b;
            if (of->kind != BUFFER_WINDOW) continue;
            reads |= of->window.of == b || (of->window.carried && of->window.start == b);
        }
        bool left = l->buffers.at[n->out].kind == BUFFER_WINDOW;
        if (reads && (left || is_read(l, n->out, NO_LOOP))) return true;
    }
    return false;
}

static double bytes_of(const struct loops *l, buffer_id b) {
    const struct meta *m = &l->buffers.at[b].meta;
    return (double)ex_hint(l->ex, meta_numel(l->ex, m)) * dtype_bytes(m->dtype);
}

/* Bytes of all steps that the copy reads and leaves: what it has windows of, each once. */
static double moved_again(const struct again *x) {
    const struct loops *l = x->l;
    bool *seen = NEW_ARRAY(l->arena, bool, l->buffers.n);
    double bytes = 0;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        if (loop_of(n->epoch) != x->loop + 1) continue;
        for (inst_id i = 0; i <= n->insts.n; i++) {
            bool load = i < n->insts.n && n->insts.at[i].kind == INST_LOAD;
            buffer_id b = i == n->insts.n ? n->out : load ? n->insts.at[i].buffer : 0;
            const struct loop_window *w = &l->buffers.at[b].window;
            if ((i < n->insts.n && !load) || l->buffers.at[b].kind != BUFFER_WINDOW) continue;
            if (w->carried || w->ring || seen[w->of] || w->of == x->copy[x->memory]) continue;
            seen[w->of] = true;
            bytes += bytes_of(l, w->of);
        }
    }
    return bytes;
}

/* Sums behind the loop that read memory b of it. */
static bool run_again(struct loops *l, uint32_t loop, buffer_id memory, double step_bytes) {
    struct again x = {.l = l, .loop = loop, .memory = memory, .n_buffers = l->buffers.n};
    struct recurrence r;
    struct saved before = recurrence_save(l);
    VEC(buffer_id) sums = {0};
    int taken = 0;
    for (uint32_t k = 0; k < l->nests.n; k++)
        if (recurrence_sums(l, loop, k, memory)) vec_push(l->arena, &sums, l->nests.at[k].out);
    if (!sums.n) return false;
    x.copy = NEW_ARRAY(l->arena, buffer_id, l->buffers.n);
    for (buffer_id b = 0; b < l->buffers.n; b++) x.copy[b] = NONE;
    x.needed = NEW_ARRAY(l->arena, bool, l->nests.n);
    find_needed(&x);
    loops_make_room(l, loop);
    put_copy(&x);
    for (uint32_t i = 0; i < sums.n; i++) taken += take(&x, sums.at[i]);
    double steps = (double)l->steps.at[loop], saved = bytes_of(l, memory);
    if (!is_read(l, memory, loop)) saved *= 2;
    bool worth = taken && !is_read(l, x.copy[memory], loop + 1) && loop_recurs(l, loop + 1, &r) &&
                 saved > step_bytes * steps + moved_again(&x);
    if (!worth) recurrence_restore(l, before);
    return worth;
}

bool recurrence_again(struct loops *l, uint32_t loop, double step_bytes) {
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct buffer *out = &l->buffers.at[l->nests.at[k].out];
        if (loop_of(l->nests.at[k].epoch) == loop && out->kind == BUFFER_WINDOW &&
            !out->window.ring && run_again(l, loop, out->window.of, step_bytes))
            return true;
    }
    return false;
}
