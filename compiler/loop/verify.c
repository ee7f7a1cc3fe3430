/* verify.c: the invariants L1..L6 of loop.h. */
#include "loop/loop.h"

/* Is sym a subscript that instruction `id` or one before it made? */
static bool is_subscript(const struct nest *n, uint32_t id, ex sym) {
    for (uint32_t i = 0; i <= id; i++)
        if (n->insts.at[i].kind == INST_SUBSCRIPT && n->insts.at[i].index[0] == sym) return true;
    return false;
}

static const char *check_index(const struct loops *l, const struct nest *n, uint32_t id, ex e) {
    ex syms[64];
    int count = ex_symbols(l->ex, e, syms, 64);
    for (int s = 0; s < count; s++) {
        bool known = !ex_symbol(l->ex, syms[s])->bound || is_subscript(n, id, syms[s]);
        known |= nest_recurs(l, n) && l->step[loop_of(n->epoch)] == syms[s];
        for (int k = 0; k < n->n_axes; k++) known |= n->axes[k] == syms[s];
        for (int k = 0; k < n->n_reduce; k++) known |= n->reduce[k] == syms[s];
        if (!known)
            return arena_printf(l->arena, "L3: %s uses the foreign index %s", n->name,
                                ex_symbol(l->ex, syms[s])->name);
    }
    return NULL;
}

static const char *check_inst(const struct loops *l, const struct nest *n, uint32_t id,
                              const bool *written) {
    const struct inst *i = &n->insts.at[id];
    for (int k = 0; k < i->n_args; k++)
        if (i->args[k] >= id)
            return arena_printf(l->arena, "L2: %s: v%u uses v%u", n->name, id, i->args[k]);
    for (int k = 0; k < i->n_index; k++) {
        const char *bad = check_index(l, n, id, i->index[k]);
        if (bad) return bad;
    }
    if (i->kind == INST_LOAD) {
        if (i->n_index != l->buffers.at[i->buffer].meta.rank)
            return arena_printf(l->arena, "L3: %s: v%u has %u indices", n->name, id, i->n_index);
        if (!written[i->buffer])
            return arena_printf(l->arena, "L4: %s reads %s before it is written", n->name,
                                l->buffers.at[i->buffer].name);
    }
    if (i->kind == INST_REDUCE && (id + 1 != n->insts.n || !n->n_reduce))
        return arena_printf(l->arena, "L5: %s: reduction in the wrong place", n->name);
    if (i->kind == INST_SCAN && (id + 1 != n->insts.n || !n->scan || n->n_reduce))
        return arena_printf(l->arena, "L6: %s: scan in the wrong place", n->name);
    return NULL;
}

static const char *check_axes(const struct loops *l, const struct nest *n, const ex *axes,
                              int count) {
    int64_t v;
    for (int k = 0; k < count; k++) {
        if (ex_kind(l->ex, axes[k]) != EX_SYM || !ex_symbol(l->ex, axes[k])->bound)
            return arena_printf(l->arena, "L1: %s: axis %d is not an index", n->name, k);
        if (ex_is_const(l->ex, ex_symbol(l->ex, axes[k])->bound, &v) && v == 1)
            return arena_printf(l->arena, "L1: %s: axis %d has size 1", n->name, k);
    }
    return NULL;
}

/* Inputs; windows and stacks that no nest writes as a whole. */
static bool is_there(const struct loops *l, buffer_id b) {
    bool windows = l->buffers.at[b].kind == BUFFER_STACK || l->buffers.at[b].kind == BUFFER_WINDOW;
    for (uint32_t k = 0; windows && k < l->nests.n; k++) windows = l->nests.at[k].out != b;
    return windows || l->buffers.at[b].kind == BUFFER_INPUT;
}

const char *loops_verify(const struct loops *l) {
    bool *written = NEW_ARRAY(l->arena, bool, l->buffers.n);
    for (uint32_t i = 0; i < l->buffers.n; i++) written[i] = is_there(l, i);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        const char *bad = check_axes(l, n, n->axes, n->n_axes);
        if (!bad) bad = check_axes(l, n, n->reduce, n->n_reduce);
        for (uint32_t i = 0; !bad && i < n->insts.n; i++) bad = check_inst(l, n, i, written);
        if (bad) return bad;
        if (!n->insts.n || (n->n_reduce && vec_last(&n->insts).kind != INST_REDUCE))
            return arena_printf(l->arena, "L5: %s does not end in its reduction", n->name);
        if (n->scan && vec_last(&n->insts).kind != INST_SCAN)
            return arena_printf(l->arena, "L6: %s does not end in its scan", n->name);
        if (k && n->epoch < l->nests.at[k - 1].epoch)
            return arena_printf(l->arena, "L7: %s comes too late", n->name);
        if (written[n->out])
            return arena_printf(l->arena, "L4: %s is written twice", l->buffers.at[n->out].name);
        written[n->out] = true;
    }
    return NULL;
}
