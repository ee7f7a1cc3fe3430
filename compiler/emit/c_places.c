/* c_places.c: a loop along an axis whose indices divide it goes by tiles of neighbours, in each of
 * which they grow evenly:
 *
 *     for (l < 64) c1[l] += p0[x*64 + (r0 + l)/64*32768 + (r0 + l)%64]
 *
 *     const long long at0 = x*64 + r0/64*32768 + r0%64;      r0 is a multiple of 64
 *     for (l < 64) c1[l] += p0[at0 + l]
 *
 * of which a compiler makes vectors, whatever the type, and no division for each element. */
#include "emit/c_rows.h"

/* By how much it grows, if what it stands on is known before the tile. */
static int64_t step_in(struct emitter *w, const struct value_node *load, ex index, enum axis axis,
                       int tile) {
    if (load && load->n_args > load->guarded) return -1; /* subscripts */
    return index_stride_inside(w->k, index, axis, tile);
}

/* Is the index one that divides the axis? */
static bool divides_axis(struct emitter *w, const struct value_node *load, ex index,
                         enum axis axis) {
    bool looked_up = load && load->n_args > load->guarded;
    return !looked_up && index_stride(w->k, index, axis) < 0;
}

/* What a phase does not need, or has from before, it does not load. */
static bool loads(struct emitter *w, uint32_t index, const bool *need, value_id v) {
    return need[v] && w->k->values.at[v].kind == INST_LOAD && !computed_before(w, index, v);
}

int c_even_tile(struct emitter *w, uint32_t index, enum axis axis, int most) {
    enum { LEAST = 8, MOST = 256 };
    const struct phase *f = &w->p->phases.at[index];
    const bool *need = needed_beside_kept(w, index);
    bool any = false;
    int tile = most < MOST ? most : MOST;
    if (w->x_is) return 0;
    for (uint32_t i = 0; i < f->compute.n + f->stores.n; i++) {
        bool store = i >= f->compute.n;
        if (!store && !loads(w, index, need, f->compute.at[i])) continue;
        const struct value_node *x = store ? NULL : &w->k->values.at[f->compute.at[i]];
        ex e = store ? w->k->stores.at[f->stores.at[i - f->compute.n]].index : x->index;
        if (!divides_axis(w, x, e, axis)) continue;
        int own = tile;
        while (own >= LEAST && (most % own || step_in(w, x, e, axis, own) < 0)) own /= 2;
        if (own < LEAST) continue; /* stays as it is */
        tile = own, any = true;
    }
    return any ? tile : 0;
}

static const char *put_place(struct emitter *w, ex index, enum axis axis, int64_t step,
                             const char *name, const char *lane) {
    ex begin = ex_index(w->k->ex, "begin0", w->k->bound[axis]);
    line(w, "const long long %s = %s;", name,
         ex_text(w, ex_subst(w->k->ex, index, &w->k->axis[axis], &begin, 1)));
    return step == 0   ? name
           : step == 1 ? arena_printf(w->arena, "%s + %s", name, lane)
                       : arena_printf(w->arena, "%s + %s * %lldLL", name, lane, (long long)step);
}

void put_c_places(struct emitter *w, uint32_t index, enum axis axis, int tile, const char *first,
                  const char *lane) {
    const struct phase *f = &w->p->phases.at[index];
    const bool *need = needed_beside_kept(w, index);
    if (!w->load_at) {
        line(w, "const k_idx begin0 = %s;", first);
        w->load_at = NEW_ARRAY(w->arena, const char *, w->k->values.n);
        w->store_at = NEW_ARRAY(w->arena, const char *, w->k->stores.n + 1);
    }
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        const struct value_node *x = &w->k->values.at[v];
        if (!loads(w, index, need, v) || w->load_at[v]) continue;
        if (!divides_axis(w, x, x->index, axis)) continue;
        int64_t step = step_in(w, x, x->index, axis, tile);
        if (step < 0) continue;
        w->load_at[v] = put_place(w, x->index, axis, step, arena_printf(w->arena, "at%u", v), lane);
    }
    for (uint32_t i = 0; i < f->stores.n; i++) {
        uint32_t s = f->stores.at[i];
        ex e = w->k->stores.at[s].index;
        int64_t step = step_in(w, NULL, e, axis, tile);
        if (!divides_axis(w, NULL, e, axis) || step < 0) continue;
        w->store_at[s] = put_place(w, e, axis, step, arena_printf(w->arena, "to%u", s), lane);
    }
}

void end_c_places(struct emitter *w) { w->load_at = w->store_at = NULL; }
