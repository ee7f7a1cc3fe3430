/* cuda_hits.c: reductions to which a source contributes where it lands (kernel/hits.c), in CUDA. A
 * block lists the sources that land in its tiles, in order, with the tile each, and adds what they
 * bring to results in shared memory, where a thread has the same places for all sources:
 *
 *     found |= (unsigned)(lo <= v1 && v1 <= hi) << i;                  of source r
 *     n_hits = k_list_hits<256, 8>(found, place, from, n_hits, ...);
 *     for (int first = 0; first < n_hits; first += 4)                  four under way at a time
 *         if (lands) s5[...] = k_sum::of(s5[...], (float)v4);          at r = hits[first + u]
 *
 * So an index is read once for each block, and an element once for each row that it lands in; the
 * order of additions is that of the sources. */
#include "emit/cuda_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* A thread's elements of a tile lie `threads` apart: neighbours are in neighbouring banks. */
const char *sum_of_hit(struct emitter *w, value_id v) {
    return arena_printf(w->arena, "s%u[(held * %d + v) * %d + tx]", v, w->y->vec, w->y->t0);
}

/* What does not vary with r, and the columns of phase 0 need. */
static void mark_rows(struct emitter *w, value_id v, bool *marks) {
    if (marks[v]) return;
    marks[v] = true;
    for (int a = 0; a < at(w, v)->n_args; a++) mark_rows(w, at(w, v)->args[a], marks);
}

/* Of a tile that a source lands in; or, later, of a tile that is stored. */
void put_rows_of_tile(struct emitter *w, bool for_columns) {
    const struct block *p = w->p;
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    VEC(value_id) some = {0};
    for (uint32_t i = 0; i < p->phases.at[0].reduce.n; i++)
        mark_rows(w, at(w, p->phases.at[0].reduce.at[i])->args[0], marks);
    for (uint32_t i = 0; i < p->before.n; i++)
        if (!for_columns || marks[p->before.at[i]]) vec_push(w->arena, &some, p->before.at[i]);
    put_row_values(w, some.at, some.n);
}

/* Behind the last of the list it is the last again, which then does not land: loads are under way
 * without a branch. */
void open_hit(struct emitter *w) {
    line(w, "const int at = k_clamp(first + u, n_hits * near - 1);");
    line(w, "const int tile = places[at / near] + at %% near;");
    line(w, "const bool lands = at == first + u && tile >= 0 && tile < %d;", w->y->held);
    line(w, "const int held = lands ? tile : 0;");
    line(w, "const k_idx r = hits[at / near], px = first_tile + held;");
    line(w, "(void)r;");
    put_rows_of_tile(w, true);
}

/* The block's results are nothing yet; no thread has any of another. */
static void declare_sums(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    int offset = 0;
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *t = accumulator_type(w, v);
        line(w, "%s *const s%u = (%s *)(k_smem + %d);", t, v, t, offset);
        offset += y->held * y->bx * reduction_bytes(w->k, v);
    }
    if (y->turns) line(w, "#pragma unroll 4");
    open_brace(w, "for (int held = 0; held < %d; held++)", y->held);
    open_unrolled(w, "v", y->vec);
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "%s = %s;", sum_of_hit(w, f->reduce.at[i]), identity_text(w, f->reduce.at[i]));
    close_brace(w);
    close_brace(w);
}

static void declare_lists(struct emitter *w) {
    const struct layout *y = w->y;
    int listed = layout_listed(y);
    line(w, "k_idx *const hits = (k_idx *)(k_smem + %d);", y->ring);
    line(w, "int *const places = (int *)(hits + %d), *const counts = places + %d;", listed, listed);
    line(w, "const int near = %d; /* tiles that a source may land in */",
         layout_tiles_of_hit(w->k, y));
    put_landing_range(
        w, arena_printf(w->arena, "first_tile * %d", y->bx),
        arena_printf(w->arena, "k_clamp((first_tile + %d) * %d, nx) - 1", y->held, y->bx));
}

/* The first of the block's tiles that the source may land in; all of them are looked at if rows
 * begin again along x. */
static const char *place_text(struct emitter *w, const char *target) {
    if (w->k->landing->wraps) return "0";
    if (!layout_places_all(w->k, w->y))
        return arena_printf(w->arena,
                            "(int)-k_clamp((k_idx)(first_tile - (k_idx)%s * (%s) / %d), (k_idx)0)",
                            target, ex_text(w, w->k->landing->inner), w->y->bx);
    return arena_printf(w->arena, "(int)((k_idx)%s * (%s) / %d - first_tile)", target,
                        ex_text(w, w->k->landing->inner), w->y->bx);
}

/* As many sources as the list has room for, if all of them land here. */
static void put_listing(struct emitter *w) {
    const struct layout *y = w->y;
    int step = y->threads * y->hits;
    line(w, "int n_hits = 0;");
    open_brace(w, "for (; from < r_end && n_hits <= %d; from += %d)", layout_listed(y) - step,
               step);
    line(w, "unsigned found = 0;");
    line(w, "int place[%d];", y->hits);
    open_unrolled(w, "i", y->hits);
    int warp = w->k->limits->warp;
    line(w, "const k_idx own = from + (tid / %d * %d + i) * %d + tid %% %d;", warp, y->hits, warp,
         warp);
    line(w, "const k_idx r = k_clamp(own, r_end - 1);");
    const char *counts, *target = put_target(w, &counts);
    line(w, "const bool lands = own < r_end && %s && %s >= lo && %s <= hi;", counts, target,
         target);
    line(w, "place[i] = lands ? %s : 0;", place_text(w, target));
    line(w, "found |= (unsigned)lands << i;");
    close_brace(w);
    line(w, "n_hits = k_list_hits<%d, %d>(found, place, from, n_hits, hits, places, counts);",
         y->threads, y->hits);
    close_brace(w);
}

static void put_results(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    /* Without a condition between them, what some tiles' results stand on is under way together. */
    bool whole = ex_divides(w->k->ex, (int64_t)y->held * y->bx, w->k->bound[AXIS_X]);
    line(w, "const int own_tiles = %s;",
         whole ? arena_printf(w->arena, "%d", y->held)
               : arena_printf(w->arena, "(int)k_clamp((nx + %d) / %d - first_tile, (k_idx)%d)",
                              y->bx - 1, y->bx, y->held));
    if (y->turns) line(w, "#pragma unroll 8");
    open_brace(w, "for (int held = 0; held < own_tiles; held++)");
    line(w, "const k_idx px = first_tile + held;");
    put_rows_of_tile(w, false);
    declare_accumulators(w, f);
    open_unrolled(w, "v", y->vec);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        line(w, "a%u[0][v] = %s;", f->reduce.at[i],
             y->adds ? block_sum(w, f, i) : sum_of_hit(w, f->reduce.at[i]));
        w->where[f->reduce.at[i]] = ARRAY;
    }
    close_brace(w);
    if (y->split > 1) {
        put_partials(w);
    } else {
        put_row_values(w, f->after.at, f->after.n);
        put_row_stores(w);
    }
    close_brace(w);
}

static void put_lists_loop(struct emitter *w, const struct phase *f) {
    declare_lists(w);
    if (w->y->sorted)
        open_sorted(w);
    else
        open_brace(w, "for (k_idx from = r_begin; from < r_end;)");
    if (w->y->sorted)
        put_sorted_listing(w, place_text(w, "target"));
    else
        put_listing(w);
    open_brace(w, "for (int first = 0; first < n_hits * near; first += %d)", w->y->ur);
    declare_packs(w, f);
    put_loads(w, f);
    put_tile(w, f);
    put_tile_folds(w, f);
    close_brace(w);
    close_brace(w);
    put_unfolded(w, f);
}

void put_hits(struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    line(w, "const k_idx first_tile = px * %d;", w->y->held);
    if (!w->y->adds) declare_sums(w, f);
    w->folds = layout_row_folds(w->k, w->y);
    declare_folds(w, f);
    w->y->adds    ? put_sums_of_block(w, f)
    : w->y->turns ? put_turns_loop(w, f)
                  : put_lists_loop(w, f);
    put_results(w, f);
}
