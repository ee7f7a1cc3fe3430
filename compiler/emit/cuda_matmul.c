/* cuda_matmul.c: a tiled matrix product by multiply-adds with a fused epilogue, in CUDA C++.
 *
 *     for (k_idx next = 0, s = 0;; next += 16, s ^= 1) {
 *         if (next < nr) ra[...], rb[...] = the next panel's factors, in opmath type
 *         if (next) for kk:                                      the panel in the other stage
 *             a[0..3] = quad of As[kk], ...;  acc[i][j] += a[i] * b[j]
 *         if (next >= nr) break;
 *         As[kk][m], Bs[kk][n] of stage s = ra, rb;  barrier
 *     }
 *     for i, j: epilogue values at (m, n); store
 *
 * In parts of the depth (split), each block leaves its sums in the workspace, meets the others of
 * its tile, and has the epilogue of every so manieth unit of each thread's:
 *
 *     k_store_parts<4>(of_part + unit * 1024, acc[i] + j0);  for all units
 *     k_meet_parts<256>(tickets + blockIdx.x / 8, 8, 1);
 *     for (int unit = part; unit < 16; unit += 8)
 *         own[e] = sum of k_load_parts<4>(of_tile + (p * 16 + unit) * 1024) over p; epilogue; store
 *
 * cuda_matmul_panels.c has how factors come to shared memory. */
#include <string.h>

#include "emit/cuda_matmul.h"

enum { LANES_M = 4, LANES_N = 8 };

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* What is above a thread's accumulators (kernel/chain.c) is in local memory, as cuda_fold.c has it:
 * they fill the registers, and need that once in 128 steps of the depth. */
static void open_cells(struct emitter *w, const struct folds *f, int tm, int tn) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
    line(w, "%s (&up)[%d][%d] = k_in_memory(local[i]);", math_type(at(w, w->k->dot)->dtype), tn,
         f->levels);
    line(w, "#pragma unroll");
}

/* ... or, four by four, beside those of the other threads in shared memory, but for four of them
 * where that has no room for these. */
static int folded_in_shared(struct emitter *w) {
    return (w->y->smem - w->y->folded) / (w->y->threads * 4);
}

static void put_folded_in_shared(struct emitter *w, int tm, int tn, const char *each,
                                 const char *after) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    int there = folded_in_shared(w);
    line(w, "#pragma unroll");
    open_brace(w, "for (int q = 0; q < %d; q += %d)", there, QUAD);
    line(w, "%s up[%d], *const at = (%s *)(k_smem + %d) + q * %d + tid * %d;", t, QUAD, t,
         w->y->folded, w->y->threads, QUAD);
    if (strstr(each, "+=")) line(w, "k_get_side_by_side<%s, %d>(up, at);", t, QUAD);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", QUAD);
    line(w, "%s &sum = acc[(q + e) / %d][(q + e) %% %d];", t, tn, tn);
    line(w, "%s;%s", each, after);
    close_brace(w);
    if (strncmp(each, "sum", 3)) line(w, "k_put_side_by_side<%s, %d>(at, up);", t, QUAD);
    close_brace(w);
    if (there == tm * tn) return;
    open_scope(w);
    line(w, "%s (&up)[%d] = kept;", t, QUAD);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", QUAD);
    line(w, "%s &sum = acc[(%d + e) / %d][(%d + e) %% %d];", t, there, tn, there, tn);
    line(w, "%s;%s", each, after);
    close_brace(w);
    close_brace(w);
}

static void declare_folded(struct emitter *w, const struct folds *f, int tm, int tn) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    if (w->y->folded) {
        if (folded_in_shared(w) < tm * tn) line(w, "%s kept[%d];", t, QUAD);
        put_folded_in_shared(w, tm, tn, "up[e] = sum", "");
        return;
    }
    line(w, "%s local[%d][%d][%d];", t, tm, tn, f->levels);
    if (f->levels > 1) line(w, "unsigned folds = 0;");
    open_cells(w, f, tm, tn);
    line(w, "for (int j = 0; j < %d; j++)", tn);
    line(w, "    for (int l = 0; l < %d; l++) up[j][l] = 0;", f->levels);
    close_brace(w);
    int bytes = dtype_bytes(dtype_opmath(at(w, w->k->dot)->dtype));
    add_stack(&w->out->launches[w->out->n_launches - 1], tm * tn * f->levels * bytes);
}

static void put_folded(struct emitter *w, const struct folds *f, int tm, int tn, bool unfold) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    if (w->y->folded) {
        put_folded_in_shared(w, tm, tn, unfold ? "sum += up[e]" : "up[e] += sum",
                             unfold ? "" : " sum = 0;");
        return;
    }
    open_cells(w, f, tm, tn);
    if (unfold)
        line(w, "for (int j = 0; j < %d; j++) acc[i][j] = k_unfold<k_sum>(up[j], acc[i][j]);", tn);
    else
        line(w, "for (int j = 0; j < %d; j++) k_fold<k_sum, %d>(up[j], acc[i][j], (%s)0, %s);", tn,
             f->radix, t, f->levels > 1 ? "folds" : "0");
    close_brace(w);
    if (!unfold && f->levels > 1) line(w, "folds++;");
}

/* The products of the panel in the other stage, which begins at depth next - k. */
static void put_panel(struct emitter *w, const struct panel *a, const struct panel *b) {
    const int32_t *c = w->p->config.knob;
    int depth = c[KNOB_k], tm = c[KNOB_tm], tn = c[KNOB_tn];
    const char *t = math_type(at(w, w->k->dot)->dtype);
    const struct folds f = layout_depth_folds(w->k, depth, w->y->split);
    line(w, "const %s *const As = panels + (s ^ 1) * %d, *const Bs = As + %d;", t,
         (a->size + b->size) * depth, a->size * depth);
    line(w, "#pragma unroll");
    open_brace(w, "for (int kk = 0; kk < %d; kk++)", depth);
    line(w, "%s a[%d], b[%d];", t, tm, tn);
    put_panel_operands(w, a, tm, "a");
    put_panel_operands(w, b, tn, "b");
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++) %s", tn,
         multiply_add_text(w, value_math(w, w->k->dot), "acc[i][j]", "a[i]", "b[j]"));
    close_brace(w);
    if (f.levels && depth > f.block) {
        open_brace(w, "if (kk %% %d == %d)", f.block, f.block - 1);
        put_folded(w, &f, tm, tn, false);
        close_brace(w);
    }
    close_brace(w);
    if (f.levels && depth > f.block) {
        put_folded(w, &f, tm, tn, false);
    } else if (f.levels) {
        int panels = f.block / depth;
        const char *done = w->y->split > 1 ? "(next - begin)" : "next";
        open_brace(w, "if (%s / %d %% %d == 0)", done, depth, panels);
        put_folded(w, &f, tm, tn, false);
        close_brace(w);
    }
}

/* Where the depth of this block begins and ends, as text. */
struct range {
    const char *begin, *end;
    bool from_0;
};

static struct range put_range(struct emitter *w) {
    const int32_t *c = w->p->config.knob;
    int depth = c[KNOB_k], parts = w->y->split;
    if (parts > 1) {
        line(w, "const int part = (int)blockIdx.x %% %d;", parts);
        line(w, "const long long steps = (nr + %d) / %d;", depth - 1, depth);
        line(w, "const k_idx begin = (k_idx)(part * steps / %d * %d);", parts, depth);
        line(w, "const k_idx end = (k_idx)((part + 1) * steps / %d * %d);", parts, depth);
        return (struct range){"begin", "end", false};
    }
    if (!w->k->edges.n) return (struct range){"0", "nr", true};
    put_depth_range(w, "k_idx", arena_printf(w->arena, "pm * %d", c[KNOB_m]), c[KNOB_m],
                    arena_printf(w->arena, "pn * %d", c[KNOB_n]), c[KNOB_n], "nr");
    line(w, "const k_idx begin = r_from / %d * %d;", depth, depth);
    return (struct range){"begin", "r_end", false};
}

/* The arrays of the panel of a stage, or of a slice of it, counted through all stages. */
static void put_stage(struct emitter *w, const struct panel *const *side, const char *stage,
                      bool is_const) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    line(w, "%s%s *const As = panels + %s * %d, *const Bs = As + %d;", is_const ? "const " : "", t,
         stage, side[0]->apart, side[0]->pitch * side[0]->slice);
}

/* One of two panels is multiplied while the next one's factors are under way. */
static void put_loop(struct emitter *w, const struct panel *const *side, const struct range *r) {
    int depth = side[0]->depth;
    line(w, "int s = 0;");
    line(w, "#pragma unroll 1");
    open_brace(w, "for (k_idx next = %s;; next += %d, s ^= 1)", r->begin, depth);
    put_stage(w, side, "s", false);
    declare_staged_panels(w, side);
    bool copies = side[0]->copied != NO_VALUE || side[1]->copied != NO_VALUE;
    open_brace(w, "if (next < %s)", r->end);
    put_panel_fetches(w, side, false);
    if (copies) line(w, "k_cp_async_commit();");
    close_brace(w);
    open_brace(w, r->from_0 ? "if (next)" : "if (next > begin)");
    put_panel(w, side[0], side[1]);
    close_brace(w);
    line(w, "if (next >= %s) break;", r->end);
    put_panel_fills(w, side);
    if (copies) line(w, "k_cp_async_wait<0>();");
    line(w, "__syncthreads();");
    close_brace(w);
}

/* ---- panels ahead ---------------------------------------------------------------------------- */

/* At depth k a thread's elements at depth k + 1 are read, of an upright panel a quarter of those at
 * the next four: of this panel, or of the next one; behind the last one of another, for nothing. */
static void put_read(struct emitter *w, const struct panel *const *side, int i, const char *stage) {
    const struct panel *p = side[i];
    int last = p->depth - QUAD;
    const char *t = math_type(at(w, w->k->dot)->dtype), *thread = i ? "tx" : "ty";
    char x = p->letter;
    put_stage(w, side, stage, true);
    line(w, "(void)As, (void)Bs;");
    if (!p->upright) {
        line(w, "const int kk = (k + 1) %% %d;", p->slice);
        put_panel_operands(w, p, p->elements, arena_printf(w->arena, "%c[(k + 1) %% 2]", x));
        return;
    }
    line(w, "const int quad = (k / %d + 1) %% %d;", QUAD, panel_quads(p));
    line(w, "#pragma unroll");
    line(w,
         "for (int i = k < %d ? k %% %d * %d / %d : 0; i < (k < %d ? (k %% %d + 1) * %d / %d : "
         "k == %d ? %d : 0); i++)",
         last, QUAD, p->elements, QUAD, last, QUAD, p->elements, QUAD, p->depth - 1, p->elements);
    line(w,
         "    k_get_side_by_side<%s, %d>(%c[(k / %d + 1) %% 2][i], %cs + %s * %d + i * %d + %s * "
         "%d);",
         t, QUAD, x, QUAD, i ? 'B' : 'A', thread, p->depth, p->size / p->elements * p->depth,
         panel_upright_quad(w, p, thread, "quad"), QUAD);
}

static void put_reads(struct emitter *w, const struct panel *const *side, const char *stage) {
    for (int i = 0; i < 2; i++) {
        open_scope(w);
        put_read(w, side, i, stage);
        close_brace(w);
    }
}

/* In snakes: of two sums that are made one after the other, one factor is in the same register, so
 * that a scheduler has no more than two to fetch. */
static void put_snake(struct emitter *w, const struct panel *a, const struct panel *b) {
    const char *x = a->upright ? "a[k / 4 % 2][i][k % 4]" : "a[k % 2][i]",
               *y = b->upright ? "b[k / 4 % 2][j][k % 4]" : "b[k % 2][j]";
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", a->elements);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", b->elements);
    line(w, "const int j = i %% 2 ? %d - e : e;", b->elements - 1);
    line(w, "%s", multiply_add_text(w, value_math(w, w->k->dot), "acc[i][j]", x, y));
    close_brace(w);
    close_brace(w);
}

/* Copies of the panel at depth `next`, of which the last one may be less than whole. */
static void put_fetches_ahead(struct emitter *w, const struct panel *const *side) {
    int depth = side[0]->depth;
    bool all = ex_divides(w->k->ex, depth, w->k->bound[AXIS_R]);
    if (!all) open_brace(w, "if (next + %d <= nr)", depth);
    put_panel_fetches(w, side, true);
    if (all) return;
    close_brace(w);
    open_brace(w, "else");
    put_panel_fetches(w, side, false);
    close_brace(w);
}

/* Before the last depth of a panel is multiplied all have read it: then the next one is there for
 * all, and copies of the one `stages` further on begin in its place. */
static void put_loop_ahead(struct emitter *w, const struct panel *const *side,
                           const struct range *r) {
    int depth = side[0]->depth, stages = w->y->stages, tm = w->y->ex, tn = w->y->vec,
        slice = side[0]->slice, many = panel_slices(side[0]);
    const char *t = math_type(at(w, w->k->dot)->dtype);
    const struct folds f = layout_depth_folds(w->k, depth, w->y->split);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int s = 0; s < %d; s++)", stages);
    line(w, "const k_idx next = %s + s * %d;", r->begin, depth);
    put_stage(w, side, many > 1 ? arena_printf(w->arena, "s * %d", many) : "s", false);
    put_fetches_ahead(w, side);
    line(w, "k_cp_async_commit();");
    close_brace(w);
    line(w, "k_cp_async_wait<%d>();", stages - 1);
    line(w, "__syncthreads();");
    line(w, "%s a[2][%d]%s, b[2][%d]%s;", t, tm, side[0]->upright ? "[4]" : "", tn,
         side[1]->upright ? "[4]" : "");
    open_scope(w);
    line(w, "const int k = %d;", slice - 1);
    put_reads(w, side, "0");
    close_brace(w);
    line(w, "int read = 0, after = 1;");
    line(w, "#pragma unroll 1");
    open_brace(w, "for (k_idx done = %s; done < %s;)", r->begin, r->end);
    if (many > 1) line(w, "const bool last = after %% %d == 0; /* slice of a panel */", many);
    const char *at_end =
        arena_printf(w->arena, many > 1 ? "if (k == %d && last)" : "if (k == %d)", slice - 1);
    line(w, "#pragma unroll");
    open_brace(w, "for (int k = 0; k < %d; k++)", slice);
    open_brace(w, "%s", at_end);
    line(w, "k_cp_async_wait<%d>();", stages - 2);
    line(w, "__syncthreads();");
    close_brace(w);
    put_reads(w, side, arena_printf(w->arena, "(k < %d ? read : after)", slice - 1));
    open_brace(w, "%s", at_end);
    line(w, "const k_idx next = done + %d;", (stages - 1) * depth + slice);
    put_stage(w, side, many > 1 ? arena_printf(w->arena, "(read - %d)", many - 1) : "read", false);
    open_brace(w, "if (next < %s)", r->end);
    put_fetches_ahead(w, side);
    close_brace(w);
    line(w, "k_cp_async_commit();");
    close_brace(w);
    put_snake(w, side[0], side[1]);
    close_brace(w);
    line(w, "read = after, after = after == %d ? 0 : after + 1;", stages * many - 1);
    line(w, "done += %d;", slice);
    if (f.levels) {
        const char *terms = r->from_0 ? "done" : arena_printf(w->arena, "(done - %s)", r->begin);
        open_brace(w, "if (%s / %d %% %d == 0)", terms, slice, f.block / slice);
        put_folded(w, &f, tm, tn, false);
        close_brace(w);
    }
    close_brace(w);
}

static void put_main_loop(struct emitter *w) {
    const int32_t *c = w->p->config.knob;
    int depth = c[KNOB_k], tm = c[KNOB_tm], tn = c[KNOB_tn];
    const char *t = math_type(at(w, w->k->dot)->dtype);
    struct panel a, b;
    panels_make(w, &a, &b);
    const struct panel *const side[] = {&a, &b};
    line(w, "%s *const panels = (%s *)k_smem;", t, t);
    line(w, "%s acc[%d][%d];", t, tm, tn);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++) acc[i][j] = 0;", tn);
    close_brace(w);
    const struct folds f = layout_depth_folds(w->k, depth, w->y->split);
    if (f.levels) declare_folded(w, &f, tm, tn);
    const struct range r = put_range(w);
    (w->y->stages ? put_loop_ahead : put_loop)(w, side, &r);
    if (f.levels) put_folded(w, &f, tm, tn, true);
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* Elements of a tile's row, or column, that a thread has side by side. */
static int unit_along(struct emitter *w, enum axis axis) { return tile_thread_unit(w, axis); }

/* Vector stores along an axis where a thread's elements are contiguous, none hangs over the edge,
 * and memory has an instruction for so many. */
static bool vector_store(struct emitter *w, const struct store_node *s, int axis) {
    int unit = unit_along(w, axis);
    return unit > 1 && !s->guard && index_is_vector(w->k, s->index, axis, unit);
}

/* Along which axis a thread goes through what it has: pixels of a convolution are rows whose
 * neighbours in memory are below each other. */
static int stored_along(struct emitter *w) {
    bool rows = false;
    for (uint32_t s = 0; s < w->k->stores.n; s++) {
        if (vector_store(w, &w->k->stores.at[s], AXIS_N)) return AXIS_N;
        rows |= vector_store(w, &w->k->stores.at[s], AXIS_M);
    }
    return rows ? AXIS_M : AXIS_N;
}

/* Elements i, from i0 on, or j, of a row or a column, whose n or m is known; `sum` is one's. */
static void put_unit(struct emitter *w, int axis, const char *sum) {
    const struct loops *l = w->k->schedule->loops;
    int unit = unit_along(w, axis);
    char along = axis == AXIS_N ? 'n' : 'm', i = axis == AXIS_N ? 'j' : 'i';
    for (uint32_t s = 0; s < w->k->stores.n; s++)
        if (vector_store(w, &w->k->stores.at[s], axis))
            line(w, "%s o%u[%d];", math_type(l->buffers.at[w->k->stores.at[s].buffer].meta.dtype),
                 s, unit);
    line(w, "const k_idx %c0 = %s + t%c * %d + %c0 / %d * %d;", along,
         tile_begin(w, (enum axis)axis), axis == AXIS_N ? 'x' : 'y', unit, i, unit,
         tile_unit_distance(w, axis));
    const char *each = arena_printf(w->arena, "%c", along),
               *first = arena_printf(w->arena, "%c0", along);
    line(w, "#pragma unroll");
    open_brace(w, "for (int %c = 0; %c < %d; %c++)", i, i, unit, i);
    line(w, "const k_idx %c = %c0 + %c;", along, along, i);
    open_brace(w, "if (%s)", tile_stored_if(w, (enum axis)axis, each));
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    line(w, "const %s v%u = %s;", math_type(at(w, w->k->dot)->dtype), w->k->dot, sum);
    w->where[w->k->dot] = LOCAL;
    for (uint32_t b = 0; b < w->p->before.n; b++) put_local(w, w->p->before.at[b]);
    for (uint32_t s = 0; s < w->k->stores.n; s++) {
        const struct store_node *st = &w->k->stores.at[s];
        if (vector_store(w, st, axis))
            line(w, "o%u[%c] = %s;", s, i, ref(w, st->value));
        else
            put_guarded_store1(w, st);
    }
    close_brace(w);
    close_brace(w);
    for (uint32_t s = 0; s < w->k->stores.n; s++) {
        const struct store_node *st = &w->k->stores.at[s];
        if (!vector_store(w, st, axis)) continue;
        const char *m = memory_type(w, l->buffers.at[st->buffer].meta.dtype);
        open_brace(w, "if (%s)", tile_stored_if(w, (enum axis)axis, first));
        line(w, "const k_idx %c = %c0;", along, along);
        line(w, "k_pack<%s, %d> w%u;", m, unit, s);
        line(w, "k_put(w%u, o%u);", s, s);
        line(w, "k_store<%s, %d, %d>(p%d + (%s), w%u);", m, unit, w->y->streaming,
             argument_of(w, st->buffer), ex_text(w, st->index), s);
        close_brace(w);
    }
}

/* Row or column number i, or j, of a thread's; nothing more of it where it hangs over the edge. */
static void put_line(struct emitter *w, int axis, const char *outside) {
    int rows = tile_thread_unit(w, AXIS_M), columns = tile_thread_unit(w, AXIS_N);
    if (axis == AXIS_N)
        line(w, "const k_idx m = %s + ty * %d + i / %d * %d + i %% %d;", tile_begin(w, AXIS_M),
             rows, rows, tile_unit_distance(w, AXIS_M), rows);
    else
        line(w, "const k_idx n = %s + tx * %d + j / %d * %d + j %% %d;", tile_begin(w, AXIS_N),
             columns, columns, tile_unit_distance(w, AXIS_N), columns);
    enum axis across = axis == AXIS_N ? AXIS_M : AXIS_N;
    if (tile_is_shifted(w, across))
        line(w, "if (!(%s)) continue;", tile_stored_if(w, across, across == AXIS_M ? "m" : "n"));
    else
        line(w, axis == AXIS_N ? "if (m >= nm) %s;" : "if (n >= nn) %s;", outside);
}

static void put_epilogue(struct emitter *w, int axis) {
    int tm = w->y->ex, tn = w->y->vec, unit = unit_along(w, axis);
    bool across = axis == AXIS_N;
    line(w, "#pragma unroll");
    open_brace(w, across ? "for (int i = 0; i < %d; i++)" : "for (int j = 0; j < %d; j++)",
               across ? tm : tn);
    put_line(w, axis, "break");
    line(w, "#pragma unroll");
    open_brace(
        w, across ? "for (int j0 = 0; j0 < %d; j0 += %d)" : "for (int i0 = 0; i0 < %d; i0 += %d)",
        across ? tn : tm, unit);
    put_unit(w, axis, across ? "acc[i][j0 + j]" : "acc[i0 + i][j]");
    close_brace(w);
    close_brace(w);
}

/* ---- parts of the depth ---------------------------------------------------------------------- */

/* Number `unit` of a thread's, which go along an axis: i and j0, or j and i0. */
static void put_unit_place(struct emitter *w, int axis, int units) {
    const char *line_of = axis == AXIS_N ? "i" : "j", *first = axis == AXIS_N ? "j0" : "i0";
    line(w, "const int %s = unit / %d, %s = unit %% %d * %d;", line_of, units, first, units,
         unit_along(w, axis));
}

static void put_leave(struct emitter *w, int axis, int units, int all) {
    int unit = unit_along(w, axis), threads = w->y->threads;
    line(w, "float *const of_tile = parts + ((long long)(blockIdx.x / %d) * %lld + tid * %d);",
         w->y->split, (long long)w->y->split * all * unit * threads, unit);
    line(w, "#pragma unroll");
    open_brace(w, "for (int unit = 0; unit < %d; unit++)", all);
    put_unit_place(w, axis, units);
    line(w, "float x[%d];", unit);
    line(w, "#pragma unroll");
    line(w, "for (int e = 0; e < %d; e++) x[e] = acc[%s];", unit,
         axis == AXIS_N ? "i][j0 + e" : "i0 + e][j");
    line(w, "k_store_parts<%d>(of_tile + (part * %d + unit) * %d, x);", unit, all, threads * unit);
    close_brace(w);
    line(w, "k_meet_parts<%d>(tickets + blockIdx.x / %d, %d, 1);", threads, w->y->split,
         w->y->split);
}

/* What all parts come to, in their order: the same bits in every run. */
static void put_sum_of_parts(struct emitter *w, int unit, int all) {
    enum { AT_ONCE = 16 };
    int parts = w->y->split, rounds = (parts + AT_ONCE - 1) / AT_ONCE,
        many = (parts + rounds - 1) / rounds;
    line(w, "float own[%d];", unit);
    line(w, "k_zero(own);");
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int first = 0; first < %d; first += %d)", parts, many);
    line(w, "float x[%d][%d];", many, unit);
    line(w, "#pragma unroll");
    line(w, "for (int p = 0; p < %d; p++)", many);
    const char *there = parts % many ? arena_printf(w->arena, "if (first + p < %d) ", parts) : "";
    line(w, "    %sk_load_parts<%d>(x[p], of_tile + ((first + p) * %d + unit) * %d);", there, unit,
         all, unit * w->y->threads);
    line(w, "#pragma unroll");
    line(w, "for (int p = 0; p < %d; p++)", many);
    line(w, "    for (int e = 0; %se < %d; e++) own[e] += x[p][e];",
         parts % many ? arena_printf(w->arena, "first + p < %d && ", parts) : "", unit);
    close_brace(w);
}

static void put_share(struct emitter *w, int axis) {
    int unit = unit_along(w, axis), along = axis == AXIS_N ? w->y->vec : w->y->ex;
    int units = along / unit, all = w->y->ex * w->y->vec / unit;
    put_leave(w, axis, units, all);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int unit = part; unit < %d; unit += %d)", all, w->y->split);
    put_unit_place(w, axis, units);
    put_line(w, axis, "continue");
    put_sum_of_parts(w, unit, all);
    put_unit(w, axis, axis == AXIS_N ? "own[j]" : "own[i]");
    close_brace(w);
}

/* A thread of 64 accumulators has some 128 registers: what folds need besides is not to cost a
 * multiprocessor a block. A few values that no product reads may lie in memory meanwhile. */
static const char *least_blocks(struct emitter *w) {
    enum { REGISTERS = 128, MOVED = 64 /* bytes */ };
    const int32_t *c = w->p->config.knob;
    int blocks = (int)(w->k->limits->regs_unit / (w->y->threads * REGISTERS));
    bool folds = layout_depth_folds(w->k, c[KNOB_k], w->y->split).levels > 0;
    bool fits = dtype_opmath(at(w, w->k->dot)->dtype) != DT_F64 && c[KNOB_tm] * c[KNOB_tn] == 64;
    if (!folds || !fits || blocks < 2) return "";
    add_stack(&w->out->launches[w->out->n_launches - 1], MOVED);
    return arena_printf(w->arena, ", %d", blocks);
}

/* Warps of 4 by 8 threads, of `down` by `across` in all; rows of threads where these do not fit.
 * Neighbours are pairs in a column: reads of 128 bits are made for half a warp at a time where two
 * of them want the same. */
static void put_threads(struct emitter *w, int down, int across) {
    line(w, "const int tid = (int)threadIdx.x;");
    if (down % LANES_M || across % LANES_N) {
        line(w, "const int tx = tid %% %d, ty = tid / %d;", across, across);
        return;
    }
    int warps = across / LANES_N, warp = w->k->limits->warp, half = warp / 2;
    WS_ASSERT(LANES_M * LANES_N == warp);
    line(w, "const int tx = tid / %d %% %d * %d + tid %% %d / 2;", warp, warps, LANES_N, half);
    line(w, "const int ty = tid / %d / %d * %d + tid %% %d / %d * 2 + tid %% 2;", warp, warps,
         LANES_M, warp, half);
}

static void put_shifted(struct emitter *w, enum axis axis) {
    char x = axis == AXIS_M ? 'm' : 'n';
    int size = w->p->config.knob[axis == AXIS_M ? KNOB_m : KNOB_n];
    if (tile_is_shifted(w, axis))
        line(w, "const k_idx from_%c = k_clamp(p%c * %d, n%c - %d);", x, x, size, x, size);
}

void emit_cuda_matmul(struct emitter *w) {
    const struct kernel *k = w->k;
    const int32_t *c = w->p->config.knob;
    emit_cuda_turned_factors(w);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry,
                            .grid = {w->p->grid, 1, 1},
                            .threads = w->y->threads,
                            .smem = w->y->smem,
                            .together = w->y->split > 1 ? w->y->split : 0};
    add_arguments(w, l);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d%s) %s(", w->y->threads,
               least_blocks(w), k->entry);
    put_parameters(w);
    if (w->y->split > 1) {
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE};
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
        buf_puts(&w->b, ", float *parts, unsigned *tickets");
    }
    put_turned_parameters(w, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
    line(w, "k_enter();");
    put_threads(w, c[KNOB_m] / c[KNOB_tm], c[KNOB_n] / c[KNOB_tn]);
    line(w, "const k_idx nm = %s, nn = %s, nr = %s;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]), ex_text(w, k->bound[AXIS_R]));
    line(w, "const k_idx tiles_m = (nm + %d) / %d, tiles_n = (nn + %d) / %d;", c[KNOB_m] - 1,
         c[KNOB_m], c[KNOB_n] - 1, c[KNOB_n]);
    const char *block = w->y->split > 1
                            ? arena_printf(w->arena, "((k_idx)blockIdx.x / %d)", w->y->split)
                            : "(k_idx)blockIdx.x";
    line(w, "const k_idx tile = %s %% (tiles_m * tiles_n), z = %s / (tiles_m * tiles_n);", block,
         block);
    line(w, "/* bands of 8 tile rows, column by column inside a band: neighbours in time share "
            "operands in L2 */");
    line(w, "const k_idx band = tile / (8 * tiles_n), rows = k_clamp(tiles_m - band * 8, "
            "(k_idx)8), in = "
            "tile - band * 8 * tiles_n;");
    line(w, "const k_idx pm = band * 8 + in %% rows, pn = in / rows;");
    line(w, "(void)z;");
    put_shifted(w, AXIS_M), put_shifted(w, AXIS_N);
    put_main_loop(w);
    int axis = stored_along(w);
    (w->y->split > 1 ? put_share : put_epilogue)(w, axis);
    close_brace(w);
}
