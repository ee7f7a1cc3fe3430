/* within.c: what sums alone read, and is far larger than they are and what it is made of, is
 * computed within them:
 *
 *   b3[i0: 50257, i1: 768, i2: 4096] = where(b1[i0, i2], b2[i2, i1], 0)
 *   b4[i0: 50257, i1: 768] = reduce sum b3[i0, i1, r0]
 * ->
 *   b4[i0: 50257, i1: 768] = reduce sum where(b1[i0, r0], b2[r0, i1], 0)
 *
 * That is for programs of one kernel an operator: as tensors, the pairs of a source and a place
 * that it may land on take a thousand times the memory of anything else there is. Where several
 * sums read them, each computes them for itself.
 *
 * Needs: loops that no schedule looks at. What is computed within others has no nest any more, and
 * a buffer that nobody writes. */
#include <string.h>

#include "loop/loop.h"

enum {
    FAR = 8,    /* times as many elements */
    LOADS = 12, /* of a nest in the end */
};

/* Who reads a buffer: the places of loads. */
struct reading {
    uint32_t nest;
    inst_id load;
};
struct readings {
    VEC(struct reading) at;
};

static double points(const struct loops *l, const ex *axes, int n) {
    double all = 1;
    for (int i = 0; i < n; i++) all *= (double)ex_hint(l->ex, ex_symbol(l->ex, axes[i])->bound);
    return all;
}

static double elements(const struct loops *l, buffer_id b) {
    return (double)ex_hint(l->ex, meta_numel(l->ex, &l->buffers.at[b].meta));
}

static int count_loads(const struct nest *n) {
    int loads = 0;
    for (inst_id i = 0; i < n->insts.n; i++) loads += n->insts.at[i].kind == INST_LOAD;
    return loads;
}

/* Of few elements many, by operators alone: far more than of each tensor behind it that is not made
 * so, too. small[b]: buffer b is none of those. */
static bool is_far_larger(const struct loops *l, const struct nest *n, const bool *small) {
    double all = points(l, n->axes, n->n_axes);
    for (inst_id i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind == INST_SUBSCRIPT) return false;
        if (x->kind == INST_LOAD && small[x->buffer] && FAR * elements(l, x->buffer) > all)
            return false;
    }
    return l->buffers.at[n->out].kind == BUFFER_TEMP && !n->n_reduce && !n->scan;
}

/* Each index is an axis of its own, or there is one element along it. */
static bool reads_each_once(const struct loops *l, const struct inst *load) {
    int64_t one;
    for (int d = 0; d < load->n_index; d++) {
        if (ex_is_const(l->ex, load->index[d], &one)) continue;
        if (ex_kind(l->ex, load->index[d]) != EX_SYM) return false;
        for (int k = 0; k < d; k++)
            if (load->index[k] == load->index[d]) return false;
    }
    return true;
}

/* Does it read as many elements as n makes, each once, and make few of them? */
static bool is_sum_of(const struct loops *l, const struct nest *n, const struct reading *r) {
    const struct nest *by = &l->nests.at[r->nest];
    const struct inst *load = &by->insts.at[r->load];
    double all = points(l, n->axes, n->n_axes), made = points(l, by->axes, by->n_axes);
    return by->n_reduce && by->epoch == n->epoch && !load->guarded && FAR * made <= all &&
           made * points(l, by->reduce, by->n_reduce) == all && reads_each_once(l, load) &&
           count_loads(by) - 1 + count_loads(n) <= LOADS;
}

static bool goes_within(const struct loops *l, const struct nest *n, const struct readings *read) {
    if (!read->at.n) return false;
    for (uint32_t i = 0; i < read->at.n; i++)
        if (!is_sum_of(l, n, &read->at.at[i])) return false;
    return true;
}

/* The instructions of n for the element that a load reads, behind those of `into`. */
static inst_id add_element(struct loops *l, const struct nest *n, const struct inst *load,
                           struct nest *into) {
    ex from[WS_MAX_RANK], to[WS_MAX_RANK];
    inst_id first = into->insts.n;
    int k = 0;
    for (int d = 0; d < load->n_index; d++) {
        if (ex_kind(l->ex, n->out_index[d]) != EX_SYM) continue;
        from[k] = n->out_index[d];
        to[k++] = load->index[d];
    }
    for (inst_id i = 0; i < n->insts.n; i++) {
        struct inst x = n->insts.at[i];
        for (int a = 0; a < x.n_args; a++) x.args[a] += first;
        for (int d = 0; d < x.n_index; d++) x.index[d] = ex_subst(l->ex, x.index[d], from, to, k);
        vec_push(l->arena, &into->insts, x);
    }
    return into->insts.n - 1;
}

/* Its loads of what n makes become what n computes. */
static void compute_within(struct loops *l, const struct nest *n, struct nest *by) {
    struct nest now = *by;
    inst_id *as = NEW_ARRAY(l->arena, inst_id, by->insts.n);
    now.insts = (__typeof__(now.insts)){0};
    for (inst_id i = 0; i < by->insts.n; i++) {
        struct inst x = by->insts.at[i];
        if (x.kind == INST_LOAD && x.buffer == n->out) {
            as[i] = add_element(l, n, &x, &now);
            continue;
        }
        for (int a = 0; a < x.n_args; a++) x.args[a] = as[x.args[a]];
        as[i] = now.insts.n;
        vec_push(l->arena, &now.insts, x);
    }
    *by = now;
}

static struct readings *all_readings(const struct loops *l, struct arena *a) {
    struct readings *all = NEW_ARRAY(a, struct readings, l->buffers.n);
    for (uint32_t k = 0; k < l->nests.n; k++)
        for (inst_id i = 0; i < l->nests.at[k].insts.n; i++) {
            const struct inst *x = &l->nests.at[k].insts.at[i];
            if (x->kind == INST_LOAD) vec_push(a, &all[x->buffer].at, ((struct reading){k, i}));
        }
    return all;
}

/* The last first: who reads it may be within others by then. */
void loops_within(struct loops *l) {
    bool *gone = NEW_ARRAY(l->arena, bool, l->nests.n),
         *small = NEW_ARRAY(l->arena, bool, l->buffers.n);
    bool any = true;
    memset(small, true, sizeof *small * l->buffers.n);
    for (uint32_t k = 0; k < l->nests.n; k++)
        small[l->nests.at[k].out] = !is_far_larger(l, &l->nests.at[k], small);
    while (any) {
        struct arena *scratch = arena_new();
        struct readings *read = all_readings(l, scratch);
        any = false;
        for (uint32_t k = l->nests.n; k-- > 0 && !any;) {
            const struct nest *n = &l->nests.at[k];
            if (gone[k] || small[n->out] || !goes_within(l, n, &read[n->out])) continue;
            for (uint32_t i = 0; i < read[n->out].at.n; i++)
                compute_within(l, n, &l->nests.at[read[n->out].at.at[i].nest]);
            l->nests.at[k].insts.n = 0;
            any = gone[k] = true;
        }
        arena_free(scratch);
    }
    uint32_t left = 0;
    for (uint32_t k = 0; k < l->nests.n; k++)
        if (!gone[k]) l->nests.at[left++] = l->nests.at[k];
    l->nests.n = left;
}
