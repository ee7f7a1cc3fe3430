/* c_rows.c: pointwise and reduce block programs as C with OpenMP.
 *
 * A task is bx rows (pointwise: bx rows by br columns); tasks are spread over cores. In a task
 * `vec` lanes run in one SIMD loop, along r (columns inner) or along x (rows inner: then a tile of
 * bx rows is in flight at once):
 *
 *     for (r0 = 0; r0 + 32 <= nr; r0 += 32)
 *         #pragma omp simd
 *         for (l = 0; l < 32; l++) c1[l] = k_max(c1[l], p0[x*4096 + r0 + l]);
 *
 * A phase of floats alone is said in whole vectors instead (c_vector.c).
 *
 * Lanes accumulate apart and are combined at the end of the row: the order of additions does not
 * depend on the machine. */
#include "emit/c_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* ---- values without r ------------------------------------------------------------------------ */

static void open_tile_rows(struct emitter *w) {
    line(w, "#pragma omp simd");
    open_brace(w, "for (int l = 0; l < lanes; l++)");
    line(w, "const k_idx x = x0 + l;");
    w->subscript = "[l]";
}

/* Values of a tile's rows, in loops of up to `most`. A loop each is what vectorisers understand
 * best; of hundreds, a compiler takes a minute. */
static void put_tile_values(struct emitter *w, const value_id *list, uint32_t n, uint32_t most) {
    for (uint32_t i = 0; i < n; i += most) {
        uint32_t end = i + most < n ? i + most : n;
        for (uint32_t k = i; k < end; k++)
            line(w, "%s a%u[%d];", math_type(at(w, list[k])->dtype), list[k], w->y->bx);
        open_tile_rows(w);
        for (uint32_t k = i; k < end; k++) {
            line(w, "a%u[l] = %s;", list[k], source_text(w, list[k]));
            w->where[list[k]] = ARRAY;
        }
        close_brace(w);
    }
}

void put_c_row_values(struct emitter *w, const value_id *list, uint32_t n) {
    enum { FEW = 64, AT_ONCE = 16 };
    value_id *tile = NEW_ARRAY(w->arena, value_id, n + 1);
    uint32_t n_tile = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct value_node *x = at(w, list[i]);
        if (x->kind == INST_CONST) continue;
        if (w->y->rows_inner && is_row_value(w, list[i])) {
            tile[n_tile++] = list[i];
            continue;
        }
        line(w, "const %s a%u = %s;", math_type(x->dtype), list[i], source_text(w, list[i]));
        w->where[list[i]] = ARRAY;
    }
    put_tile_values(w, tile, n_tile, n_tile > FEW ? AT_ONCE : 1);
}

/* ---- hits ------------------------------------------------------------------------------------ */

/* The columns, sorted by where they land: those of row i are hits[begin[i]] to hits[begin[i + 1]],
 * in their order. Others land nowhere. */
static void put_hit_lists(struct emitter *w) {
    line(w, "const k_idx rows = %s;", ex_text(w, w->k->landing->rows));
    line(w, "k_idx *restrict begin = k_row(sizeof(k_idx) * (rows + 2LL));");
    line(w, "k_idx *restrict hits = k_row(sizeof(k_idx) * (nr + 1LL));");
    line(w, "for (k_idx i = 0; i < rows + 2; i++) begin[i] = 0;");
    for (int pass = 0; pass < 2; pass++) {
        if (pass) line(w, "for (k_idx i = 1; i < rows + 2; i++) begin[i] += begin[i - 1];");
        open_brace(w, "for (k_idx r = 0; r < nr; r++)");
        const char *counts, *target = put_target(w, &counts);
        line(w,
             pass ? "if (%s && %s >= 0 && %s < rows) hits[begin[%s + 1]++] = r;"
                  : "if (%s && %s >= 0 && %s < rows) begin[%s + 2]++;",
             counts, target, target, target);
        close_brace(w);
    }
}

/* The loops over what may land in a tile and over the tile's rows. Where these are all of one row
 * that it lands on, compilers are told that memory runs along them. */
static void open_hits_of_tile(struct emitter *w, const struct c_folds *c) {
    struct exprs *e = w->k->ex;
    ex inner = w->k->landing->inner;
    put_landing_range(w, "x0", "x0 + lanes - 1");
    bool one = layout_lands_always(w->k, w->y, w->k->landing->equal);
    if (one)
        line(w, "const k_idx row = x0 / (%s), first = x0 %% (%s);", ex_text(w, inner),
             ex_text(w, inner));
    open_rows_block(w, c, "k_idx", "h", "begin[lo]", "begin[hi + 1]", 1);
    line(w, "const k_idx r = hits[h];");
    open_tile_rows(w);
    if (!one) return;
    line(w, "const k_idx column = first + l;");
    ex rows = ex_ceildiv(e, w->k->bound[AXIS_X], inner);
    w->x_is = ex_add(e, ex_mul(e, ex_index(e, "row", rows), inner), ex_index(e, "column", inner));
}

/* ---- one phase ------------------------------------------------------------------------------- */

static bool streams(struct emitter *w, const struct store_node *st) {
    return layout_streams(w->k, w->y, st) && !w->y->rows_inner &&
           buffer_dtype(w, st->buffer) == DT_F32 && index_stride(w->k, st->index, AXIS_R) == 1;
}

/* a7 becomes c7, with one more term, and what that has lost. */
static void put_carried(struct emitter *w, value_id v, const char *carry, const char *x) {
    line(w, "k_carry_%s(&c%u%s, &lost%u%s, %s);", dtype_name(value_math(w, v)), v, carry, v, carry,
         x);
    line(w, "a%u[l] = c%u%s + lost%u%s;", v, v, carry, v, carry);
}

/* The arithmetic of one (x, r). In the main loop streamed stores go to lane buffers. */
static void put_element(struct emitter *w, uint32_t index, bool main_loop) {
    const struct phase *f = &w->p->phases.at[index];
    const bool *need = needed_beside_kept(w, index);
    w->subscript = w->y->rows_inner ? "[l]" : "";
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (!need[v]) continue;
        if (computed_before(w, index, v)) {
            line(w, "const %s v%u = *(%s);", math_type(at(w, v)->dtype), v, kept_place(w, v));
            w->where[v] = LOCAL;
            continue;
        }
        put_local(w, v);
        if (worth_keeping(w, index, v)) line(w, "*(%s) = v%u;", kept_place(w, v), v);
    }
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        bool scans = at(w, v)->kind == INST_SCAN;
        const char *acc = arena_printf(w->arena, "%c%u[l]", scans ? 'a' : 'c', v);
        bool later = scans && !w->y->rows_inner; /* combined when the lanes are through */
        if (scans && !later && layout_carries_error(w->k, v))
            put_carried(w, v, "[l]", operand_text(w, v));
        else
            line(w, "%s = %s;", acc,
                 later ? operand_text(w, v) : combine_text(w, v, acc, operand_text(w, v)));
    }
    for (uint32_t i = 0; i < f->across.n; i++) {
        const char *sum = arena_printf(w->arena, "s%u[r]", f->across.at[i]);
        line(w, "%s = %s;", sum,
             combine_text(w, f->across.at[i], sum, operand_text(w, f->across.at[i])));
    }
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        if (main_loop && streams(w, st))
            line(w, "o%u[l] = %s;", f->stores.at[i], ref(w, st->value));
        else
            put_store1(w, st, "");
    }
    for (uint32_t i = 0; i < f->compute.n; i++) w->where[f->compute.at[i]] = NOWHERE;
}

static void open_lanes(struct emitter *w) {
    line(w, "#pragma omp simd");
    open_brace(w, "for (int l = 0; l < lanes; l++)");
    line(w, "const k_idx r = r0 + l;");
}

static void put_accumulators(struct emitter *w, const struct phase *f, int lanes) {
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        line(w, "%s c%u[%d];", accumulator_type(w, v), v, lanes);
        line(w, "for (int l = 0; l < %d; l++) c%u[l] = %s;", lanes, v, identity_text(w, v));
    }
}

/* The loop over columns from r0 on; where accumulators are folded, one over the blocks. */
void open_columns_block(struct emitter *w, const struct c_folds *c, int lanes) {
    const char *end = c->f.levels ? "stop" : "r_end";
    if (c->f.levels) {
        int block = lanes * c->f.block;
        open_brace(w, "while (r0 + %d <= r_end)", lanes);
        line(w, "const k_idx stop = r_end - r0 < %d ? r_end : r0 + %d;", block, block);
    }
    open_brace(w, "for (; r0 + %d <= %s; r0 += %d)", lanes, end, lanes);
}

void close_columns_block(struct emitter *w, const struct c_folds *c) {
    close_brace(w);
    if (!c->f.levels) return;
    put_c_folds(w, c);
    close_brace(w);
}

/* The same of all columns of a tile of rows, from `first` on, `step` at a time; or of what lands
 * there. */
void open_rows_block(struct emitter *w, const struct c_folds *c, const char *type, const char *name,
                     const char *begin, const char *end, int step) {
    const char *by = step == 1 ? arena_printf(w->arena, "%s++", name)
                               : arena_printf(w->arena, "%s += %d", name, step);
    if (c->f.levels) {
        int block = c->f.block * step;
        open_brace(w, "for (%s block = %s; block < %s; block += %d)", type, begin, end, block);
        line(w, "const %s stop = %s - block < %d ? %s : block + %d;", type, end, block, end, block);
        begin = "block", end = "stop";
    }
    open_brace(w, "for (%s %s = %s; %s < %s; %s)", type, name, begin, name, end, by);
}

void close_rows_block(struct emitter *w, const struct c_folds *c) {
    close_brace(w);
    if (!c->f.levels) return;
    put_c_folds(w, c);
    close_brace(w);
}

/* Accumulators of a row: those of which some have an element. */
static int row_lanes(const struct emitter *w) {
    int64_t nr;
    int lanes = w->y->vec;
    if (!ex_is_const(w->k->ex, w->k->bound[AXIS_R], &nr)) return lanes;
    while (lanes > 1 && lanes / 2 >= nr) lanes /= 2;
    return lanes;
}

/* The elements of a loop from one to another, side by side; `is` says which one number l is. */
static void put_side_by_side(struct emitter *w, uint32_t index, const char *from, const char *to,
                             const char *is, bool reduces) {
    line(w, "#pragma omp simd");
    open_brace(w, "for (int l = %s; l < %s; l++)", from, to);
    line(w, "%s", is);
    put_element(w, index, reduces);
    close_brace(w);
}

/* Columns of which nothing is reduced: tiles in which indices grow evenly, and what is left. */
static void put_even_columns(struct emitter *w, uint32_t index) {
    bool pieces = w->y->grid_r || w->y->split > 1;
    int tile = c_even_tile(w, index, AXIS_R, pieces ? w->y->br & -w->y->br : 1 << 30);
    const char *first = "r_begin";
    if (tile) {
        open_scope(w);
        line(w, "k_idx r0 = r_begin;");
        open_brace(w, "for (; r0 + %d <= r_end; r0 += %d)", tile, tile);
        put_c_places(w, index, AXIS_R, tile, "r0", "l");
        const char *end = arena_printf(w->arena, "%d", tile);
        put_side_by_side(w, index, "0", end, "const k_idx r = r0 + l;", false);
        end_c_places(w);
        close_brace(w);
        first = "r0";
    }
    line(w, "#pragma omp simd");
    open_brace(w, "for (k_idx r = %s; r < r_end; r++)", first);
    put_element(w, index, false);
    close_brace(w);
    if (tile) close_brace(w);
}

/* The lanes of a loop over columns, which begins at a multiple of them; the same in tiles. */
static void put_lanes(struct emitter *w, uint32_t index, int lanes) {
    bool pieces = w->y->grid_r || w->y->split > 1;
    int even = pieces && w->y->br % lanes ? w->y->br & -w->y->br : lanes,
        tile = c_even_tile(w, index, AXIS_R, even < lanes ? even : lanes);
    const char *begin = "0", *end = arena_printf(w->arena, "%d", lanes);
    if (tile) {
        open_brace(w, "for (int t = 0; t < %d; t += %d)", lanes, tile);
        put_c_places(w, index, AXIS_R, tile, "r0 + t", "(l - t)");
        begin = "t", end = arena_printf(w->arena, "t + %d", tile);
    }
    put_side_by_side(w, index, begin, end, "const k_idx r = r0 + l;", true);
    if (!tile) return;
    end_c_places(w);
    close_brace(w);
}

/* One column of a tile of rows: in tiles of these, as long as all of it is there. */
static void put_rows_of_tile(struct emitter *w, uint32_t index) {
    int tile = c_even_tile(w, index, AXIS_X, w->y->bx & -w->y->bx);
    const char *first = "0", *is = "const k_idx x = x0 + l;";
    w->subscript = "[l]";
    if (tile) {
        line(w, "int t = 0;");
        open_brace(w, "for (; t + %d <= lanes; t += %d)", tile, tile);
        put_c_places(w, index, AXIS_X, tile, "x0 + t", "(l - t)");
        const char *end = arena_printf(w->arena, "t + %d", tile);
        put_side_by_side(w, index, "t", end, is, false);
        end_c_places(w);
        close_brace(w);
        first = "t";
    }
    put_side_by_side(w, index, first, "lanes", is, false);
}

static void put_columns_loop(struct emitter *w, uint32_t index, const struct c_folds *c) {
    const struct phase *f = &w->p->phases.at[index];
    int lanes = row_lanes(w);
    bool stream = false;
    for (uint32_t i = 0; i < f->stores.n; i++)
        stream |= streams(w, &w->k->stores.at[f->stores.at[i]]);
    if (!f->reduce.n && !stream) {
        put_even_columns(w, index);
        return;
    }
    open_scope(w);
    line(w, "k_idx r0 = r_begin;");
    open_columns_block(w, c, lanes);
    for (uint32_t i = 0; i < f->stores.n; i++)
        if (streams(w, &w->k->stores.at[f->stores.at[i]]))
            line(w, "float o%u[%d] __attribute__((aligned(64)));", f->stores.at[i], lanes);
    put_lanes(w, index, lanes);
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        if (!streams(w, st)) continue;
        open_scope(w);
        line(w, "const k_idx r = r0;");
        line(w, "k_stream(p%d + (%s), o%u, %d);", argument_of(w, st->buffer), ex_text(w, st->index),
             f->stores.at[i], lanes);
        close_brace(w);
    }
    close_columns_block(w, c);
    open_brace(w, "for (int l = 0; r0 + l < r_end; l++)");
    line(w, "const k_idx r = r0 + l;");
    put_element(w, index, false);
    close_brace(w);
    close_brace(w);
}

struct c_folds c_folds_of(struct emitter *w, const struct phase *f, const char *type,
                          const char *cells, const char *at) {
    struct c_folds c = {.f = layout_row_folds(w->k, w->y),
                        .list = f->reduce.at,
                        .n = f->reduce.n,
                        .acc = 'c',
                        .type = type,
                        .cells = cells,
                        .at = at};
    bool any = false;
    for (uint32_t i = 0; i < c.n; i++) any |= reduction_rounds(w->k, c.list[i]);
    if (!any) c.f.levels = 0;
    c.loop = arena_printf(w->arena, "for (int %s = 0; %s < %s; %s++)", at, at, cells, at);
    return c;
}

/* The lanes by halves: what is left is the first. */
static void put_fold_lanes(struct emitter *w, value_id v) {
    for (int half = row_lanes(w) / 2; half > 0; half /= 2) {
        const char *low = arena_printf(w->arena, "c%u[l]", v);
        line(w, "for (int l = 0; l < %d; l++) %s = %s;", half, low,
             combine_text(w, v, low, arena_printf(w->arena, "c%u[l + %d]", v, half)));
    }
}

static void put_scalar_phase(struct emitter *w, uint32_t index) {
    const struct phase *f = &w->p->phases.at[index];
    bool tile = w->y->rows_inner;
    int cells = tile ? w->y->bx : row_lanes(w);
    const struct c_folds c = c_folds_of(w, f, NULL, arena_printf(w->arena, "%d", cells), "l");
    put_accumulators(w, f, cells);
    if (c.f.levels) open_scope(w);
    declare_c_folds(w, &c);
    if (tile) {
        if (w->y->hits) {
            open_hits_of_tile(w, &c);
            put_element(w, index, false);
            w->x_is = EX_NONE;
            close_brace(w);
        } else {
            open_rows_block(w, &c, "k_idx", "r", "r_begin", "r_end", 1);
            put_rows_of_tile(w, index);
        }
        close_rows_block(w, &c);
    } else {
        put_columns_loop(w, index, &c);
    }
    put_c_unfolded(w, &c);
    if (c.f.levels) close_brace(w);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *t = accumulator_type(w, v);
        if (tile) {
            line(w, "%s *a%u = c%u;", t, v, v);
        } else {
            put_fold_lanes(w, v);
            line(w, "%s a%u = c%u[0];", t, v, v);
        }
        w->where[v] = ARRAY;
    }
}

static void put_phase(struct emitter *w, uint32_t index) {
    const struct phase *f = &w->p->phases.at[index];
    if (!w->y->hits && phase_is_vector(w, index))
        put_vector_phase(w, index);
    else
        put_scalar_phase(w, index);
    if (w->y->split == 1) put_c_row_values(w, f->after.at, f->after.n);
}

/* What a scan has at the piece or row at hand, and, of one that carries what its additions lose,
 * what it has carried there. */
static void put_scan_accumulators(struct emitter *w, value_id v, int lanes) {
    const char *t = accumulator_type(w, v), *none = identity_text(w, v);
    bool tile = w->y->rows_inner;
    if (!layout_carries_error(w->k, v)) {
        line(w, "%s a%u[%d], c%u = %s;", t, v, lanes, v, none);
        if (tile) line(w, "for (int l = 0; l < %d; l++) a%u[l] = c%u;", lanes, v, v);
        return;
    }
    const char *carries = tile ? arena_printf(w->arena, "[%d]", lanes) : "";
    line(w, "%s a%u[%d], c%u%s, lost%u%s;", t, v, lanes, v, carries, v, carries);
    line(w,
         tile ? "for (int l = 0; l < %d; l++) c%u[l] = lost%u[l] = 0;"
              : "(void)%d, c%u = lost%u = 0;",
         lanes, v, v);
}

/* Where a whole piece, or tile, of a scan grows evenly: in both of its phases. */
static void put_scan_places(struct emitter *w, int lanes) {
    enum axis along = w->y->rows_inner ? AXIS_X : AXIS_R;
    for (uint32_t i = 0; i < 2; i++)
        if (c_even_tile(w, i, along, lanes) == lanes)
            put_c_places(w, i, along, lanes, w->y->rows_inner ? "x0" : "r0", "l");
}

/* A scan: both phases on each piece of `vec` columns, the pieces in order; or, along x, on each row
 * of a tile of columns.
 *
 *     for (r0 ...) {
 *         simd: a7[l] = x[r0 + l];
 *         in order: c7 += a7[l], a7[l] = c7;
 *         simd: store a7[l]
 *     } */
static void put_scan(struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    bool tile = w->y->rows_inner;
    int lanes = tile ? w->y->bx : w->y->vec;
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        put_scan_accumulators(w, v, lanes);
    }
    if (tile) {
        open_brace(w, "for (k_idx r = r_begin; r < r_end; r++)");
        put_scan_places(w, lanes);
        open_tile_rows(w);
    } else {
        open_brace(w, "for (k_idx r0 = r_begin; r0 < r_end; r0 += %d)", lanes);
        line(w, "const int lanes = r_end - r0 < %d ? (int)(r_end - r0) : %d;", lanes, lanes);
        put_scan_places(w, lanes);
        open_lanes(w);
    }
    put_element(w, 0, false);
    if (!tile) close_brace(w);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *c = arena_printf(w->arena, "c%u", v), *a = arena_printf(w->arena, "a%u[l]", v);
        w->where[v] = ARRAY;
        if (tile) continue;
        if (layout_carries_error(w->k, v)) {
            open_brace(w, "for (int l = 0; l < lanes; l++)");
            put_carried(w, v, "", a);
            close_brace(w);
        } else {
            line(w, "for (int l = 0; l < lanes; l++) %s = %s, %s = %s;", c,
                 combine_text(w, v, c, a), a, c);
        }
    }
    if (!tile) open_lanes(w);
    put_element(w, 1, false);
    end_c_places(w);
    close_brace(w);
    close_brace(w);
}

static void put_row_stores(struct emitter *w) {
    if (!w->p->row_stores.n) return;
    if (w->y->rows_inner) open_tile_rows(w);
    for (uint32_t i = 0; i < w->p->row_stores.n; i++)
        put_store1(w, &w->k->stores.at[w->p->row_stores.at[i]], "");
    if (w->y->rows_inner) close_brace(w);
}

static void put_partials(struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    if (w->y->rows_inner) open_tile_rows(w);
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "part%u[(long long)part * nx + x] = a%u%s;", f->reduce.at[i], f->reduce.at[i],
             w->y->rows_inner ? "[l]" : "");
    if (w->y->rows_inner) close_brace(w);
}

/* ---- the function ---------------------------------------------------------------------------- */

static void put_partial_parameters(struct emitter *w, struct ws_launch *l) {
    bool columns = w->k->columns;
    const value_id *list = columns ? w->p->across.at : w->p->phases.at[0].reduce.at;
    uint32_t n = columns ? w->p->across.n : w->p->phases.at[0].reduce.n;
    int64_t offset = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *t = accumulator_type(w, list[i]);
        line(w, "%s *restrict part%u = *(%s *const *)args[%d];", t, list[i], t, l->n_args);
        offset = add_partial(w, l, list[i], offset);
    }
}

static struct ws_launch *open_function(struct emitter *w, const char *name) {
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = name, .grid = {1, 1, 1}, .threads = 1};
    add_arguments(w, l);
    buf_putc(&w->b, '\n');
    line(w, "void %s(void *const *args);", name);
    open_brace(w, "void %s(void *const *args)", name);
    put_parameters(w);
    if (w->y->split > 1 || w->k->columns) put_partial_parameters(w, l);
    line(w, "const k_idx nx = %s, nr = %s;", ex_text(w, w->k->bound[AXIS_X]),
         ex_text(w, w->k->bound[AXIS_R]));
    line(w, "(void)nx, (void)nr;");
    return l;
}

static void put_task_range(struct emitter *w) {
    const struct layout *y = w->y;
    line(w, "const k_idx tiles_r = %s;",
         y->grid_r ? arena_printf(w->arena, "(nr + %d) / %d", y->br - 1, y->br)
                   : arena_printf(w->arena, "%d", y->split));
    if (w->k->columns) /* a task's rows sum up their columns */
        line(w, "const long long tasks = %d;", y->blocks);
    else
        line(w, "const long long tasks = ((long long)nx + %d) / %d * tiles_r;", y->bx - 1, y->bx);
}

static void put_task_position(struct emitter *w) {
    const struct layout *y = w->y;
    const char *rows = arena_printf(w->arena, "%d", y->bx);
    if (w->k->columns) {
        line(w, "const k_idx rows = (nx + %d) / %d;", y->blocks - 1, y->blocks);
        rows = "rows";
    }
    line(w, "const k_idx x_begin = (k_idx)(task / tiles_r) * %s, part = (k_idx)(task %% tiles_r);",
         rows);
    line(w, "const k_idx x_end = x_begin + %s < nx ? x_begin + %s : nx;", rows, rows);
    if (y->grid_r)
        line(w, "const k_idx chunk = %d;", y->br);
    else if (y->split > 1)
        line(w, "const k_idx chunk = ((nr + %d) / %d + %d) / %d * %d;", y->br - 1, y->br,
             y->split - 1, y->split, y->br);
    else
        line(w, "const k_idx chunk = nr;");
    line(
        w,
        "const k_idx r_begin = part * chunk, r_end = r_begin + chunk < nr ? r_begin + chunk : nr;");
    line(w, "(void)r_end;");
    if (y->rows_inner) {
        line(w, "const k_idx x0 = x_begin;");
        line(w, "const int lanes = (int)(x_end - x_begin);");
    }
}

static struct c_folds column_folds(struct emitter *w) {
    return (struct c_folds){.f = layout_column_folds(w->k, w->y),
                            .list = w->p->across.at,
                            .n = w->p->across.n,
                            .acc = 's',
                            .cells = "nr",
                            .loop = "for (k_idx r = 0; r < nr; r++)",
                            .at = "r",
                            .rows = true};
}

/* A row of the task is through: `x`. */
static void put_column_folds(struct emitter *w, const struct c_folds *c) {
    if (!c->f.levels) return;
    open_brace(w, "if ((x - x_begin) %% %d == %d)", c->f.block, c->f.block - 1);
    put_c_folds(w, c);
    close_brace(w);
}

/* A task's sums of columns are its part of them, in memory. */
static void put_own_columns(struct emitter *w) {
    for (uint32_t i = 0; i < w->p->across.n; i++) {
        value_id v = w->p->across.at[i];
        line(w, "%s *restrict s%u = part%u + task * (long long)nr;", accumulator_type(w, v), v, v);
        line(w, "for (k_idx r = 0; r < nr; r++) s%u[r] = %s;", v, identity_text(w, v));
    }
}

/* To wake threads and to wait for the last takes some microseconds, as long as one of them takes
 * for TEAM_ELEMENTS: below, it does all. */
void put_team(struct emitter *w, const char *what, const char *elements) {
    enum { TEAM_ELEMENTS = 8192 };
    line(w, "#pragma omp parallel %sif (%s > %d)", what, elements, TEAM_ELEMENTS);
}

/* The second launch of a kernel with column sums. */
static void emit_columns(struct emitter *w) {
    int parts = w->y->blocks;
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    w->subscript = "";
    open_function(w, arena_printf(w->arena, "%s_finish", w->k->entry));
    put_team(w, "for schedule(static) ", arena_printf(w->arena, "(long long)nr * %d", parts));
    open_brace(w, "for (k_idx r = 0; r < nr; r++)");
    for (uint32_t i = 0; i < w->p->across.n; i++) {
        value_id v = w->p->across.at[i];
        put_c_parts(w, v, parts, arena_printf(w->arena, "part%u[(long long)s * nr + r]", v));
    }
    for (uint32_t i = 0; i < w->p->finish.n; i++) put_local(w, w->p->finish.at[i]);
    for (uint32_t i = 0; i < w->p->column_stores.n; i++)
        put_store1(w, &w->k->stores.at[w->p->column_stores.at[i]], "");
    close_brace(w);
    close_brace(w);
}

/* The second launch of a split reduction. */
static void emit_finish(struct emitter *w) {
    const struct layout *main_layout = w->y;
    struct layout y = *main_layout;
    const struct phase *f = &w->p->phases.at[0];
    y.rows_inner = false;
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    w->subscript = "";
    open_function(w, arena_printf(w->arena, "%s_finish", w->k->entry));
    w->y = &y;
    put_team(w, "for schedule(static) ", arena_printf(w->arena, "(long long)nx * %d", y.split));
    open_brace(w, "for (k_idx x = 0; x < nx; x++)");
    put_c_row_values(w, w->p->before.at, w->p->before.n);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        put_c_parts(w, v, y.split, arena_printf(w->arena, "part%u[(long long)s * nx + x]", v));
    }
    put_c_row_values(w, f->after.at, f->after.n);
    put_row_stores(w);
    close_brace(w);
    close_brace(w);
    w->y = main_layout;
}

void emit_c_rows(struct emitter *w) {
    const struct layout *y = w->y;
    const struct c_folds columns = column_folds(w);
    open_function(w, w->k->entry);
    put_task_range(w);
    if (w->y->hits) put_hit_lists(w);
    put_team(w, "", "(long long)nx * nr");
    open_scope(w);
    put_row_buffers(w, true);
    put_fold_rows(w, &columns, true);
    line(w, "#pragma omp for schedule(static) nowait");
    open_brace(w, "for (long long task = 0; task < tasks; task++)");
    put_task_position(w);
    if (w->k->columns) put_own_columns(w);
    declare_c_folds(w, &columns);
    if (w->y->turn) put_turned(w);
    if (!y->rows_inner) open_brace(w, "for (k_idx x = x_begin; x < x_end; x++)");
    w->subscript = y->rows_inner ? "[l]" : "";
    put_c_row_values(w, w->p->before.at, w->p->before.n);
    if (w->k->kind == KERNEL_SCAN) (scan_is_vector(w) ? put_vector_scan : put_scan)(w);
    for (uint32_t i = 0; i < w->p->phases.n && w->k->kind != KERNEL_SCAN; i++) put_phase(w, i);
    if (y->split > 1)
        put_partials(w);
    else
        put_row_stores(w);
    put_column_folds(w, &columns);
    if (!y->rows_inner) close_brace(w);
    put_c_unfolded(w, &columns);
    close_brace(w);
    if (y->streaming) line(w, "k_stream_end();");
    put_row_buffers(w, false);
    put_fold_rows(w, &columns, false);
    close_brace(w);
    if (y->hits) line(w, "free(begin), free(hits);");
    close_brace(w);
    if (y->split > 1) emit_finish(w);
    if (w->k->columns) emit_columns(w);
}
