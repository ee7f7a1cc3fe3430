/* c_flat.c: a product whose columns are windows that stay in a copy of their image (kernel/flat.c):
 *
 *     for channels, some at once:
 *         copy what the tile's windows reach of them, with the zeros around;  pack their filters
 *         for i0 in filters, step tm:  for rows of windows:  for j in blocks of tn of a row:
 *             c = 0;  for k: from = image + offset[k]; for j: c[j][:] += from[j * step] * a[k][:]
 *             sum += c
 *
 * and, of what is complete, the block's sums turned, to lines of neighbours in memory. */
#include "emit/c_matmul.h"

static long long pitch(const struct flat_tile *f, int dim) {
    long long n = 1;
    for (int d = 0; d < dim; d++) n *= (long long)f->positions[d];
    return n;
}

/* Of a dimension, or images: how many there are. */
static long long windows_of(const struct flat_tile *f, int d) {
    return (long long)(d == f->of->n ? f->of->images : f->of->dim[d].windows);
}

void put_flat_tiles(struct panels *q) {
    struct emitter *w = q->w;
    const struct flat_tile *f = q->flat;
    long long tiles = 1, below = 1;
    for (int d = 0; d <= f->of->n; d++) tiles *= (long long)flat_tiles(f, d);
    line(w, "const k_idx tiles_m = (nm + %d) / %d, tiles_n = %lld;", q->m - 1, q->m, tiles);
    line(w, "(void)nn, (void)nr;");
    line(w, "int offset[%d];", q->depth);
    open_brace(w, "for (int kk = 0; kk < %d; kk++)", q->depth);
    line(w, "const int tap = kk %% %lld;", (long long)f->of->taps);
    struct buf b = buf_new(w->arena);
    buf_printf(&b, "kk / %lld * %lld", (long long)f->of->taps, (long long)flat_plane(f));
    for (int d = 0; d < f->of->n; d++) {
        const struct im2col_dim *x = &f->of->dim[d];
        if (x->taps > 1)
            buf_printf(&b, " + tap / %lld %% %lld * %lld", below, (long long)x->taps,
                       (long long)x->apart * pitch(f, d));
        below *= (long long)x->taps;
    }
    line(w, "offset[kk] = %s;", b.p);
    close_brace(w);
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* What v is computed of once the windows' guard holds. */
static void mark_inside(struct emitter *w, value_id v, value_id guard, bool *needed) {
    const struct value_node *x = &w->k->values.at[v];
    if (needed[v]) return;
    needed[v] = true;
    for (int i = 0; i < x->n_args && v != guard; i++) mark_inside(w, x->args[i], guard, needed);
}

/* Where loads of a row of positions begin, 64 bits wide, as of runs (c_runs.c). */
static void put_row_loads(struct panels *q, const bool *needed) {
    struct emitter *w = q->w;
    const struct im2col *of = q->flat->of;
    w->load_at = NEW_ARRAY(w->arena, const char *, w->k->values.n);
    for (value_id v = 0; v < w->k->values.n; v++) {
        const struct value_node *x = &w->k->values.at[v];
        ex step, rest;
        int64_t by = 0;
        if (!needed[v] || x->kind != INST_LOAD) continue;
        ex index = im2col_index(w->k, of, x->index);
        if (!ex_linear(w->k->ex, index, of->at[0], &step, &rest) ||
            !ex_is_const(w->k->ex, step, &by)) {
            w->load_at[v] = ex_text(w, index);
            continue;
        }
        line(w, "const long long at%u_ = %s + (long long)begin * %lld;", v, ex_text(w, rest),
             (long long)by);
        w->load_at[v] = arena_printf(w->arena, "at%u_ + (j + l) * %lldLL", v, (long long)by);
    }
}

/* A row of positions, in steps of WIDEST: what these write behind it is written again as the next
 * one, or is nothing. */
static void put_row(struct panels *q) {
    struct emitter *w = q->w;
    const struct kernel *k = w->k;
    const struct im2col *of = q->flat->of;
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    mark_inside(w, k->dot_b, of->guard, needed);
    put_row_loads(q, needed);
    w->load_if = "j + l >= low && j + l < high";
    open_brace(w, "for (int j = 0; j < %lld; j += %d)", (long long)q->flat->positions[0], WIDEST);
    line(w, "#pragma omp simd");
    open_brace(w, "for (int l = 0; l < %d; l++)", WIDEST);
    for (value_id v = 0; v <= k->dot_b; v++) {
        if (!needed[v]) continue;
        if (v == of->guard) {
            line(w, "const k_flag v%u = (k_flag)(%s);", v, w->load_if);
            w->where[v] = LOCAL;
        } else {
            put_local(w, v);
        }
    }
    line(w, "to[j + l] = (%s)%s;", q->t, ref(w, k->dot_b));
    close_brace(w);
    close_brace(w);
    w->load_if = NULL;
    w->load_at = NULL;
}

/* What is beyond the image along an outer dimension has no positions that count. */
static void put_copy(struct panels *q) {
    struct emitter *w = q->w;
    const struct flat_tile *f = q->flat;
    const struct im2col *of = f->of;
    line(w, "for (int i = 0; i < pictures; i++)");
    line(w, "for (int c = 0; c < channels; c++)");
    for (int d = of->n - 1; d > 0; d--) {
        const struct im2col_dim *x = &of->dim[d];
        line(w, "for (int y%d = 0; y%d < (windows%d - 1) * %lld + %lld; y%d++)", d, d, d,
             (long long)x->step, (long long)((x->taps - 1) * x->apart + 1), d);
    }
    open_scope(w);
    line(w, "const k_idx picture = picture0 + i, channel = c0 + c;");
    line(w, "(void)picture, (void)channel;");
    struct buf place = buf_new(w->arena), inside = buf_new(w->arena);
    buf_printf(&place, "(i * %lld + c) * %lld", (long long)f->channels, (long long)flat_plane(f));
    for (int d = 0; d < of->n; d++) {
        const struct im2col_dim *x = &of->dim[d];
        const char *shift = x->shift ? arena_printf(w->arena, " + (%s)", ex_text(w, x->shift)) : "";
        const char *at = d ? arena_printf(w->arena, "at%d", d) : "begin";
        line(w, "const k_idx %s = window%d * %lld + %lld%s%s;", at, d, (long long)x->step,
             (long long)x->first, d ? arena_printf(w->arena, " + y%d", d) : "", shift);
        if (!d) continue;
        buf_printf(&place, " + y%d * %lld", d, pitch(f, d));
        buf_printf(&inside, "%s%s >= 0 && %s < %lld", inside.n ? " && " : "", at, at,
                   (long long)x->size);
    }
    line(w, "%s *const to = image + (%s);", q->t, place.p);
    line(w, "const k_idx low = begin < 0 ? -begin : 0, high = %s%lld - begin%s;",
         inside.n ? arena_printf(w->arena, "%s ? ", inside.p) : "", (long long)of->dim[0].size,
         inside.n ? " : 0" : "");
    put_row(q);
    close_brace(w);
}

/* ---- filters, blocks, results ---------------------------------------------------------------- */

static void put_filters(struct panels *q) {
    struct emitter *w = q->w;
    open_brace(w, "for (int i0 = 0; i0 < rows; i0 += %d)", q->tm);
    line(w, "%s *const to = a + i0 * %d;", q->t, q->depth);
    line(w, "const int wide = rows - i0 < %d ? rows - i0 : %d;", q->tm, q->tm);
    line(w, "const k_idx at = m0 + i0;");
    put_panel(q, w->k->dot_a, "m", q->tm, q->a_along);
    close_brace(w);
}

/* A line is of the results that lie beside each other of so many dimensions, of which all but the
 * outermost are complete in a tile: of short rows, lest stores be of some bytes far apart. */
static int line_dims(const struct flat_tile *f) {
    enum { ENOUGH = 128 };
    int n = 1;
    int64_t width = f->windows[0];
    while (n <= f->of->n && width < ENOUGH && f->windows[n - 1] == windows_of(f, n - 1))
        width *= f->windows[n++];
    return n;
}

/* Of which there are so many at most; behind them a block may write some that do not count. */
static long long line_width(const struct flat_tile *f, int dims) {
    long long n = 1;
    for (int d = 0; d < dims; d++) n *= (long long)f->windows[d];
    return n;
}

static long long line_pitch(const struct panels *q) {
    return round_up(line_width(q->flat, line_dims(q->flat)), WIDEST) + round_up(q->tn, WIDEST);
}

/* The block's sums, a window's filters beside each other, in the lines of these, from `to` on. */
static void put_turned_block(struct panels *q) {
    struct emitter *w = q->w;
    long long pitch = line_pitch(q);
    if (q->tm % WIDEST == 0 && !strcmp(q->t, "float")) {
        line(w, "for (int i = 0; i < %d; i += K_LANES)", q->tm);
        line(w, "    for (int j = 0; j < %d; j += K_LANES)", q->tn);
        line(w, "        k_turn_v(to + i * %lld + j, %lld, cells + j * %d + i, %d);", pitch, pitch,
             q->tm, q->tm);
    } else {
        line(w, "for (int i = 0; i < %d; i++)", q->tm);
        line(w, "    for (int j = 0; j < %d; j++) to[i * %lld + j] = cells[j * %d + i];", q->tn,
             pitch, q->tm);
    }
}

/* `wide` results of each line, from n0 on. */
static void put_lines(struct panels *q) {
    struct emitter *w = q->w;
    ex n = w->k->axis[AXIS_N];
    bool *all = NEW_ARRAY(w->arena, bool, w->k->values.n);
    for (uint32_t i = 0; i < w->p->before.n; i++) all[w->p->before.at[i]] = true;
    struct c_runs runs = c_runs_of(w, AXIS_N, "n", all, true);
    bool whole = !runs.length;
    if (whole) runs = (struct c_runs){.axis = AXIS_N, .name = "n", .is = n, .x = n};
    if (whole)
        line(w, "const k_idx i_n = 0, run = wide, begin_n = n0;");
    else
        open_c_runs(w, &runs, "n0", "wide");
    open_brace(w, "for (int i = 0; i < %d && i0 + i < rows; i++)", q->tm);
    line(w, "const k_idx m = m0 + i0 + i;");
    put_uniform_values(q);
    open_brace(w, "for (int j = 0; j < run; j += %d)", WIDEST);
    put_c_run_loads(w, &runs, all, "begin_n + j");
    put_c_run_stores(w, &runs, "begin_n + j");
    line(w, "#pragma omp simd");
    open_brace(w, "for (int l = 0; l < %d; l++)", WIDEST);
    line(w, "const k_idx %s = begin_n + j + l;", whole ? "n" : "n_x");
    w->load_if = "j + l < run";
    put_result(q, arena_printf(w->arena, "lines[i * %lld + i_n + j + l]", line_pitch(q)),
               "if (j + l < run) ");
    w->load_if = NULL;
    w->load_at = w->store_at = NULL;
    close_brace(w);
    close_brace(w);
    close_brace(w);
    if (!whole) close_c_runs(w);
}

/* Number d of a tile's windows in the text, and how many there are; of->n: images. */
static const char *number_of(struct panels *q, int d) {
    return d == q->flat->of->n ? "i" : arena_printf(q->w->arena, "x%d", d);
}
static const char *count_of(struct panels *q, int d) {
    return d == q->flat->of->n ? "pictures" : arena_printf(q->w->arena, "windows%d", d);
}

static void put_loop(struct panels *q, int d) {
    const char *x = number_of(q, d);
    line(q->w, "for (int %s = 0; %s < %s; %s++)", x, x, count_of(q, d), x);
}

/* Which number of all windows along dimensions from `d` on the scope is at: below `inner` where the
 * tile begins. */
static const char *window_text(struct panels *q, int d, int inner) {
    const struct flat_tile *f = q->flat;
    int n = f->of->n;
    const char *first = d == n ? "picture0" : arena_printf(q->w->arena, "window%d", d);
    const char *here =
        d < inner ? first : arena_printf(q->w->arena, "%s + %s", first, number_of(q, d));
    if (d == n) return here;
    return arena_printf(q->w->arena, "(%s) * %lld + %s", window_text(q, d + 1, inner),
                        windows_of(f, d), here);
}

static void put_blocks(struct panels *q) {
    struct emitter *w = q->w;
    const struct flat_tile *f = q->flat;
    int n = f->of->n, dims = line_dims(f);
    const char *from = arena_printf(w->arena, "j0 * %lld", (long long)f->of->dim[0].step);
    const char *cells = arena_printf(w->arena, "i0 / %d", q->tm), *to = "0", *wide = "1";
    line(w, "const int last = c0 + channels == %lld;", (long long)f->of->channels);
    open_brace(w, "for (int i0 = 0; i0 < rows; i0 += %d)", q->tm);
    for (int d = n; d >= dims; d--) put_loop(q, d);
    open_scope(w);
    line(w, "const k_idx n0 = %s;", window_text(q, 0, dims));
    for (int d = dims - 1; d > 0; d--) put_loop(q, d);
    open_brace(w, "for (int j0 = 0; j0 < windows0; j0 += %d)", q->tn);
    for (int d = n; d > 0; d--) {
        long long step = d == n ? (long long)(f->channels * flat_plane(f))
                                : (long long)f->of->dim[d].step * pitch(f, d);
        from = arena_printf(w->arena, "%s + %s * %lld", from, number_of(q, d), step);
        cells = arena_printf(w->arena, "(%s) * %lld + %s", cells, (long long)f->windows[d],
                             number_of(q, d));
        if (d < dims)
            to = arena_printf(w->arena, "(%s + %s) * %lld", to, number_of(q, d),
                              windows_of(f, d - 1));
    }
    if (q->once)
        line(w, "%s *const cells = sum;", q->t);
    else
        line(w, "%s *const cells = sum + ((%s) * %lld + j0 / %d) * %d;", q->t, cells,
             (long long)f->blocks, q->tn, q->tm * q->tn);
    line(w,
         "k_block(image + (%s), (const k_panel *)(a + i0 * %d), (k_panel *)cells, offset, "
         "depth%s);",
         from, q->depth, is_begun(q) ? ", c0 > 0" : "");
    line(w, "if (!last) continue;");
    line(w, "%s *const to = lines + (%s + j0);", q->t, to);
    put_turned_block(q);
    close_brace(w);
    line(w, "if (!last) continue;");
    for (int d = dims - 1; d >= 0; d--)
        wide = d == dims - 1 ? count_of(q, d)
                             : arena_printf(w->arena, "%s * %lld", wide, windows_of(f, d));
    line(w, "const int wide = %s;", wide);
    put_lines(q);
    close_brace(w);
    close_brace(w);
}

void put_flat_task(struct panels *q) {
    struct emitter *w = q->w;
    const struct flat_tile *f = q->flat;
    long long below = 1;
    line(w, "(void)z;");
    line(w, "const k_idx m0 = tile %% tiles_m * %d, number = tile / tiles_m;", q->m);
    line(w, "const int rows = (int)(nm - m0 < %d ? nm - m0 : %d);", q->m, q->m);
    for (int d = 0; d <= f->of->n; d++) {
        const char *first = d < f->of->n ? arena_printf(w->arena, "window%d", d) : "picture0";
        const char *count = d < f->of->n ? arena_printf(w->arena, "windows%d", d) : "pictures";
        long long all = windows_of(f, d), each = (long long)f->windows[d];
        line(w, "const k_idx %s = number / %lld %% %lld * %lld;", first, below,
             (long long)flat_tiles(f, d), each);
        line(w, "const int %s = (int)(%lld - %s < %lld ? %lld - %s : %lld);", count, all, first,
             each, all, first, each);
        below *= (long long)flat_tiles(f, d);
    }
    long long image = (long long)(f->windows[f->of->n] * f->channels * flat_plane(f));
    long long sums = q->once ? 1 : (long long)flat_blocks(f) * (q->m / q->tm);
    line(w, "_Alignas(64) %s image[%lld], a[%d];", q->t, image + WIDEST,
         q->m * q->depth + GAP * q->tm);
    line(w, "_Alignas(64) %s sum[%lld], lines[%lld];", q->t,
         sums * q->tm * q->tn + (long long)GAP * q->tm, q->tm * line_pitch(q));
    if (q->turns) line(w, "_Alignas(64) %s turned[%d];", q->t, q->tm * (q->depth + GAP));
    open_brace(w, "for (int c0 = 0; c0 < %lld; c0 += %lld)", (long long)f->of->channels,
               (long long)f->channels);
    line(w, "const int channels = %lld - c0 < %lld ? %lld - c0 : %lld;", (long long)f->of->channels,
         (long long)f->channels, (long long)f->of->channels, (long long)f->channels);
    line(w, "const int depth = channels * %lld;", (long long)f->of->taps);
    line(w, "const k_idx k0 = c0 * %lld;", (long long)f->of->taps);
    put_copy(q);
    put_filters(q);
    put_blocks(q);
    close_brace(w);
}
