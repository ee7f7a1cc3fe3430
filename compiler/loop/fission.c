/* fission.c: a loop as two, one behind the other (loop fission), where what one set of carried
 * values stands on is another set, which stands on nothing of the first.
 *
 *   512 steps of  c = f c + g, s = sum of c * d, m = a m + s          c, m: carried
 * ->
 *   512 steps of  c = f c + g, s = sum of c * d                       s: memory of all steps
 *   512 steps of  m = a m + s[t]
 *
 * So goes an mLSTM's gradient: its stabilizer is added to by sums of the whole memory's, which does
 * not stand on it. Each part may be a recurrence where both are none; what a part's steps need not
 * wait for leaves it then (distribute.c). What stands on nothing carried is made in each part that
 * reads it.
 *
 * Part of the pass of recurrence.c, with what that needs. Adds buffers, nests and a loop. */
#include <string.h>

#include "loop/recurrence_impl.h"

enum { MOST_SPLIT = 192 /* nests of a step */ };

struct fission {
    struct loops *l;
    uint32_t loop, first, n; /* its nests are first .. first + n - 1 */
    bool *reads;             /* [i * n + k]: nest i stands on nest k, in this step or by carrying */
    bool *core;              /* by nest: it stands on itself */
    bool *stands;            /* on what is carried */
    int *level;              /* longest chain of such sets behind each other, below it */
    bool *early, *late;      /* stands on nothing carried: the first part, the second reads it */
    buffer_id *copy;         /* by nest: what the second part makes of it for itself; NONE */
    VEC(struct nest) kept;   /* the last of the first part: to memory of all steps */
    VEC(struct nest) second;
};

static const struct nest *nest_at(const struct fission *x, uint32_t i) {
    return &x->l->nests.at[x->first + i];
}

static bool is_carried(const struct loops *l, buffer_id b) {
    return l->buffers.at[b].kind == BUFFER_WINDOW && l->buffers.at[b].window.carried;
}

/* The nest that leaves what is read, in the same step or the one before; NONE. */
static uint32_t maker_of(const struct fission *x, buffer_id read) {
    const struct buffer *b = &x->l->buffers.at[read];
    for (uint32_t i = 0; i < x->n; i++) {
        const struct buffer *out = &x->l->buffers.at[nest_at(x, i)->out];
        if (nest_at(x, i)->out == read) return i;
        if (is_carried(x->l, read) && out->kind == BUFFER_WINDOW && out->window.of == b->window.of)
            return i;
    }
    return NONE;
}

/* ---- which part ------------------------------------------------------------------------------ */

static void find_reads(struct fission *x) {
    uint32_t n = x->n;
    for (uint32_t i = 0; i < n; i++)
        for (inst_id j = 0; j < nest_at(x, i)->insts.n; j++) {
            const struct inst *load = &nest_at(x, i)->insts.at[j];
            uint32_t k = load->kind == INST_LOAD ? maker_of(x, load->buffer) : NONE;
            if (k != NONE) x->reads[i * n + k] = true;
        }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n && x->reads[i * n + k]; j++)
                x->reads[i * n + j] |= x->reads[k * n + j];
    for (uint32_t i = 0; i < n; i++) {
        x->core[i] = x->reads[i * n + i];
        x->stands[i] = x->core[i];
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) x->stands[i] |= x->reads[i * n + k] && x->core[k];
}

/* False: all is of one part. */
static bool find_levels(struct fission *x) {
    uint32_t n = x->n;
    bool any = false;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < n; k++) {
                bool below = x->core[i] && !x->reads[k * n + i];
                if (!x->reads[i * n + k] || !x->core[k] || x->level[i] >= x->level[k] + below)
                    continue;
                x->level[i] = x->level[k] + below;
                more = any = true;
            }
    }
    return any;
}

/* Is nest k of the second part alone, as all that stands on it is, in this step or the next? */
static bool is_late_alone(const struct fission *x, uint32_t k) {
    bool any = false;
    for (uint32_t i = 0; i < x->n; i++) {
        bool read = x->stands[i];
        if (!x->reads[i * x->n + k]) continue;
        for (uint32_t j = 0; j < x->n; j++) read |= x->reads[j * x->n + i];
        if (!read || (x->stands[i] && !x->level[i])) return false;
        any = true;
    }
    return any && !x->stands[k];
}

/* Who reads what stands on nothing carried: readers come behind it. */
static void find_shared(struct fission *x) {
    for (uint32_t i = x->n; i-- > 0;) {
        bool late_alone = is_late_alone(x, i);
        x->late[i] |= late_alone;
        x->early[i] |= !late_alone && x->l->buffers.at[nest_at(x, i)->out].kind == BUFFER_WINDOW;
        x->early[i] |= !x->late[i]; /* nobody's */
        bool early = x->stands[i] ? !x->level[i] : x->early[i],
             late = x->stands[i] ? x->level[i] > 0 : x->late[i];
        for (inst_id j = 0; j < nest_at(x, i)->insts.n; j++) {
            const struct inst *load = &nest_at(x, i)->insts.at[j];
            uint32_t k = load->kind == INST_LOAD && !is_carried(x->l, load->buffer)
                             ? maker_of(x, load->buffer)
                             : NONE;
            if (k == NONE || x->stands[k]) continue;
            x->early[k] |= early;
            x->late[k] |= late;
        }
    }
}

static bool is_first(const struct fission *x, uint32_t i) {
    return x->stands[i] ? !x->level[i] : x->early[i];
}

static bool is_second(const struct fission *x, uint32_t i) {
    return x->stands[i] ? x->level[i] > 0 : x->late[i];
}

/* ---- the parts ------------------------------------------------------------------------------- */

/* What the second part reads of the first one's, of the same step. */
static buffer_id kept_of(struct fission *x, buffer_id b, uint32_t maker) {
    const struct buffer *of = &x->l->buffers.at[b];
    struct nest copy;
    if (of->kind == BUFFER_WINDOW && !of->window.carried && !of->window.ring) return b;
    for (uint32_t i = 0; i < x->kept.n; i++)
        if (x->kept.at[i].insts.at[0].buffer == b) return x->kept.at[i].out;
    recurrence_keep(x->l, nest_at(x, maker), b, &copy);
    vec_push(x->l->arena, &x->kept, copy);
    return copy.out;
}

struct nest nest_renewed(const struct loops *l, const struct nest *of) {
    struct exprs *p = l->ex;
    struct nest n = *of;
    ex from[2 * WS_MAX_RANK], to[2 * WS_MAX_RANK];
    int count = 0;
    for (int i = 0; i < n.n_axes + n.n_reduce; i++) {
        ex *axis = i < n.n_axes ? &n.axes[i] : &n.reduce[i - n.n_axes];
        from[count] = *axis;
        *axis = to[count++] = ex_index(p, ex_symbol(p, *axis)->name, ex_symbol(p, *axis)->bound);
    }
    n.insts.at = NEW_ARRAY(l->arena, struct inst, n.insts.n);
    n.insts.cap = n.insts.n;
    memcpy(n.insts.at, of->insts.at, n.insts.n * sizeof *n.insts.at);
    for (inst_id j = 0; j < n.insts.n; j++) {
        struct inst *i = &n.insts.at[j];
        for (int d = 0; d < i->n_index || (d == 0 && i->kind == INST_INDEX); d++)
            i->index[d] = ex_subst(p, i->index[d], from, to, count);
    }
    for (int d = 0; d < l->buffers.at[n.out].meta.rank; d++)
        n.out_index[d] = ex_subst(p, n.out_index[d], from, to, count);
    return n;
}

static bool has_subscript(const struct nest *n) {
    for (inst_id j = 0; j < n->insts.n; j++)
        if (n->insts.at[j].kind == INST_SUBSCRIPT) return true;
    return false;
}

static void put_second(struct fission *x, uint32_t i) {
    struct loops *l = x->l;
    bool both = is_first(x, i);
    struct nest n = both ? nest_renewed(l, nest_at(x, i)) : *nest_at(x, i);
    if (both) {
        struct buffer b = {.kind = BUFFER_TEMP, .meta = l->buffers.at[n.out].meta};
        b.name = arena_printf(l->arena, "b%u", l->buffers.n);
        vec_push(l->arena, &l->buffers, b);
        n.out = x->copy[i] = l->buffers.n - 1;
    }
    for (inst_id j = 0; j < n.insts.n; j++) {
        struct inst *load = &n.insts.at[j];
        uint32_t k = load->kind == INST_LOAD ? maker_of(x, load->buffer) : NONE;
        if (k == NONE || (x->stands[k] ? x->level[k] > 0 : !is_first(x, k))) continue;
        bool anew = x->copy[k] != NONE && !is_carried(l, load->buffer); /* of this step */
        load->buffer = anew ? x->copy[k] : kept_of(x, load->buffer, k);
    }
    vec_push(l->arena, &x->second, n);
}

void loops_make_room(struct loops *l, uint32_t loop) {
    const uint32_t behind = 2 * loop + 2;
    uint32_t *epoch = NEW_ARRAY(l->arena, uint32_t, l->graph->nodes.n);
    for (uint32_t k = 0; k < l->nests.n; k++)
        if (l->nests.at[k].epoch >= behind) l->nests.at[k].epoch += 2;
    for (node_id i = 0; i < l->graph->nodes.n && l->epoch; i++)
        epoch[i] = l->epoch[i] + (l->epoch[i] >= behind ? 2 : 0);
    if (l->epoch) l->epoch = epoch;
    vec_push(l->arena, &l->steps, 0);
    memmove(&l->steps.at[loop + 1], &l->steps.at[loop],
            (l->steps.n - 1 - loop) * sizeof *l->steps.at);
    if (!l->recurs) return;
    bool *recurs = NEW_ARRAY(l->arena, bool, l->steps.n);
    ex *step = NEW_ARRAY(l->arena, ex, l->steps.n);
    for (uint32_t k = 0; k < l->steps.n; k++) {
        recurs[k] = l->recurs[k - (k > loop)];
        step[k] = l->step[k - (k > loop)];
    }
    l->recurs = recurs;
    l->step = step;
}

static void put(struct fission *x) {
    struct loops *l = x->l;
    struct loops to = {.nests = {0}};
    for (uint32_t k = 0; k < x->first; k++) vec_push(l->arena, &to.nests, l->nests.at[k]);
    for (uint32_t i = 0; i < x->n; i++)
        if (is_first(x, i)) vec_push(l->arena, &to.nests, *nest_at(x, i));
    for (uint32_t i = 0; i < x->kept.n; i++) vec_push(l->arena, &to.nests, x->kept.at[i]);
    for (uint32_t i = 0; i < x->second.n; i++) {
        x->second.at[i].epoch = 2 * x->loop + 3;
        vec_push(l->arena, &to.nests, x->second.at[i]);
    }
    for (uint32_t k = x->first + x->n; k < l->nests.n; k++)
        vec_push(l->arena, &to.nests, l->nests.at[k]);
    l->nests.at = to.nests.at, l->nests.n = to.nests.n, l->nests.cap = to.nests.cap;
}

bool recurrence_split(struct loops *l, uint32_t loop) {
    struct fission x = {.l = l, .loop = loop};
    while (x.first < l->nests.n && loop_of(l->nests.at[x.first].epoch) != loop) x.first++;
    while (x.first + x.n < l->nests.n && loop_of(nest_at(&x, x.n)->epoch) == loop) x.n++;
    if (x.n > MOST_SPLIT) return false;
    x.reads = NEW_ARRAY(l->arena, bool, x.n *x.n);
    x.core = NEW_ARRAY(l->arena, bool, x.n);
    x.stands = NEW_ARRAY(l->arena, bool, x.n);
    x.level = NEW_ARRAY(l->arena, int, x.n);
    x.early = NEW_ARRAY(l->arena, bool, x.n);
    x.late = NEW_ARRAY(l->arena, bool, x.n);
    x.copy = NEW_ARRAY(l->arena, buffer_id, x.n);
    for (uint32_t i = 0; i < x.n; i++) x.copy[i] = NONE;
    find_reads(&x);
    if (!find_levels(&x)) return false;
    find_shared(&x);
    for (uint32_t i = 0; i < x.n; i++)
        if (is_first(&x, i) && is_second(&x, i) && has_subscript(nest_at(&x, i))) return false;
    loops_make_room(l, loop);
    for (uint32_t i = 0; i < x.n; i++)
        if (is_second(&x, i)) put_second(&x, i);
    put(&x);
    return true;
}
