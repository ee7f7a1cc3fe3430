/* c_keep.c: with keep=1, what a phase has computed and later ones want again waits in memory that
 * stays in a core's caches: a row of it or, where vectors go along x, a tile of rows.
 *
 *     kept8[r*128 + l] = leaky_relu(sin(silu(x)))      the mean goes along x
 *     v8 = kept8[r*128 + l]                            and what differs from it, after that
 *
 * Kept are the last values on the way to what the later phase reduces or stores, if anything
 * expensive is below them; or the expensive ones, where these are fewer. Columns that lie far apart
 * in memory are expensive to load, too: few of them have room in the sets of a cache that they
 * share. */
#include "emit/c_rows.h"
#include "graph/traits.h"

static const struct value_node *at(const struct emitter *w, value_id v) {
    return &w->k->values.at[v];
}

static bool is_expensive(const struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    if (x->kind == INST_LOAD) return w->y->rows_inner && x->mask == (MASK_X | MASK_R);
    return x->kind == INST_OP && op_is_expensive(x->op) && x->mask & MASK_R;
}

/* Per value: the number of the first phase that computes it, 1 and on; 0: none does. */
static uint8_t *first_phases(const struct emitter *w) {
    uint8_t *first = NEW_ARRAY(w->arena, uint8_t, w->k->values.n);
    for (uint32_t i = w->p->phases.n; i-- > 0;)
        for (uint32_t j = 0; j < w->p->phases.at[i].compute.n; j++)
            first[w->p->phases.at[i].compute.at[j]] = (uint8_t)(i + 1);
    return first;
}

/* Per value: is it an expensive one, or made of such? */
static bool *find_costly(const struct emitter *w) {
    bool *costly = NEW_ARRAY(w->arena, bool, w->k->values.n);
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!(at(w, v)->mask & MASK_R)) continue;
        costly[v] = is_expensive(w, v);
        for (int a = 0; a < at(w, v)->n_args; a++) costly[v] |= costly[at(w, v)->args[a]];
    }
    return costly;
}

/* Marks what v is computed of; what is reduced or scanned is there. */
static void mark_args(const struct emitter *w, value_id v, bool *need) {
    const struct value_node *x = at(w, v);
    if (x->kind == INST_REDUCE || x->kind == INST_SCAN) return;
    for (int a = 0; a < x->n_args; a++) need[x->args[a]] = true;
}

/* Marks what the phase reduces and stores. */
static void mark_wanted(const struct emitter *w, uint32_t index, bool *need) {
    const struct phase *f = &w->p->phases.at[index];
    for (uint32_t i = 0; i < f->reduce.n; i++)
        for (int a = 0; a < at(w, f->reduce.at[i])->n_args; a++)
            need[at(w, f->reduce.at[i])->args[a]] = true;
    for (uint32_t i = 0; i < f->across.n; i++)
        for (int a = 0; a < at(w, f->across.at[i])->n_args; a++)
            need[at(w, f->across.at[i])->args[a]] = true;
    for (uint32_t i = 0; i < f->stores.n; i++) need[w->k->stores.at[f->stores.at[i]].value] = true;
}

/* Of what `phase` needs, which values of `candidates` that an earlier one computes does it meet
 * first, on the way down from its results? They are marked in kept; returns how many are new. */
static int keep_for(struct emitter *w, uint32_t phase, const uint8_t *first, const bool *candidates,
                    uint8_t *kept) {
    bool *need = NEW_ARRAY(w->arena, bool, w->k->values.n);
    int n = 0;
    mark_wanted(w, phase, need);
    for (value_id v = w->k->values.n; v-- > 0;) {
        if (!need[v] || !(at(w, v)->mask & MASK_R)) continue;
        bool there = first[v] && first[v] <= phase;
        if (there && candidates[v] && dtype_is_float(at(w, v)->dtype)) {
            n += !kept[v];
            kept[v] = first[v];
            continue;
        }
        mark_args(w, v, need);
    }
    return n;
}

/* Per value: the number of the phase that keeps it, 1 and on; 0: none does. */
static const uint8_t *kept_of(struct emitter *w) {
    if (w->kept) return w->kept;
    const uint8_t *first = first_phases(w);
    bool *costly = find_costly(w), *expensive = NEW_ARRAY(w->arena, bool, w->k->values.n);
    uint8_t *last = NEW_ARRAY(w->arena, uint8_t, w->k->values.n),
            *single = NEW_ARRAY(w->arena, uint8_t, w->k->values.n);
    int n_last = 0, n_single = 0;
    /* Both phases of a scan go along a tile together. */
    bool keeps = w->y->one_read && !(w->k->kind == KERNEL_SCAN && w->y->rows_inner);
    for (value_id v = 0; v < w->k->values.n; v++) expensive[v] = is_expensive(w, v);
    for (uint32_t i = 1; i < w->p->phases.n && keeps; i++) {
        n_last += keep_for(w, i, first, costly, last);
        n_single += keep_for(w, i, first, expensive, single);
    }
    return w->kept = n_last <= n_single ? last : single;
}

bool worth_keeping(struct emitter *w, uint32_t index, value_id v) {
    return kept_of(w)[v] == index + 1;
}

bool computed_before(struct emitter *w, uint32_t index, value_id v) {
    return kept_of(w)[v] && kept_of(w)[v] <= index;
}

const bool *needed_beside_kept(struct emitter *w, uint32_t index) {
    bool *need = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_wanted(w, index, need);
    for (value_id v = w->k->values.n; v-- > 0;)
        if (need[v] && !computed_before(w, index, v)) mark_args(w, v, need);
    return need;
}

const char *kept_place(struct emitter *w, value_id v) {
    if (w->y->rows_inner) return arena_printf(w->arena, "kept%u + (r*%d + l)", v, w->y->bx);
    return arena_printf(w->arena, "kept%u + r", v);
}

void put_row_buffers(struct emitter *w, bool declare) {
    for (value_id v = 0; v < w->k->values.n; v++) {
        const char *t = math_type(at(w, v)->dtype);
        if (!kept_of(w)[v]) continue;
        if (!declare)
            line(w, "free(kept%u);", v);
        else if (w->y->rows_inner)
            line(w, "%s *restrict kept%u = k_row(sizeof(%s) * (long long)nr * %d);", t, v, t,
                 w->y->bx);
        else
            line(w, "%s *restrict kept%u = k_row(sizeof(%s) * (long long)nr);", t, v, t);
    }
}
