/* c_matmul.c: a matrix product with a fused epilogue, in C with OpenMP, by packed panels and blocks
 * of registers (Goto and van de Geijn, Anatomy of high-performance matrix multiplication, 2008).
 *
 * A task is a tile of m rows by n columns, so that threads share out both. k steps of the depth at
 * a time, both factors are evaluated into panels of tm rows and of tn columns, with zeros behind
 * the matrix; then each block of tm*tn sums is made in registers, of panels that the caches have:
 *
 *     for k0: pack b; pack a;
 *         for j0 in columns, step tn:  for i0 in rows, step tm:
 *             c = 0;  for k: for i: c[i][:] += a[k][i] * b[k][:];  sum += c
 *
 * A factor that runs along the depth in memory is packed along it, as vectors go: panels of a are
 * rows then, which single elements are taken of anyway, and those of b are turned afterwards. */
#include "emit/c_matmul.h"

/* Sums of integers wrap. */
static const char *panel_type(enum dtype math) {
    enum dtype t = dtype_opmath(math);
    if (t == DT_I64) return "unsigned long long";
    return t == DT_I32 || t == DT_BOOL ? "unsigned" : math_type(t);
}

/* Is most of what the factor loads contiguous along the depth, and not along its other axis? */
static bool runs_along_depth(struct emitter *w, value_id factor, enum axis other) {
    bool *needed = NEW_ARRAY(w->arena, bool, w->k->values.n);
    int along = 0;
    mark_needed(w, factor, needed);
    for (value_id v = 0; v < w->k->values.n; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD) continue;
        if (load_stride(w->k, x, other) == 1)
            along--;
        else if (load_stride(w->k, x, AXIS_R) == 1)
            along++;
    }
    return along > 0;
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* Which of the depth step kk is. */
static void put_depth(struct panels *q) {
    struct emitter *w = q->w;
    const struct flat_tile *f = q->flat;
    if (!f || flat_depth_in_order(f)) {
        line(w, "const k_idx r = k0 + kk;");
        return;
    }
    line(w, "const k_idx channel = (k0 + kk) / %lld, tap = (k0 + kk) %% %lld;",
         (long long)f->of->taps, (long long)f->of->taps);
    line(w, "const k_idx r = %s;", ex_text(w, im2col_other(w->k, f->of)));
}

/* to[...] = factor, in a loop over `count` neighbours `i` along the axis from `first` on, or, if
 * that is NULL, along the depth. */
static void put_run(struct panels *q, value_id factor, const char *i, const char *count,
                    const char *axis, const char *first, const char *to, bool vectors) {
    struct emitter *w = q->w;
    if (vectors) line(w, "#pragma omp simd");
    open_brace(w, "for (int %s = 0; %s < %s; %s++)", i, i, count, i);
    if (first)
        line(w, "const k_idx %s = %s + %s;", axis, first, i);
    else
        put_depth(q);
    const char *name = put_expression(w, factor);
    line(w, "%s = (%s)%s;", to, q->t, name);
    close_brace(w);
}

/* What runs along the other axis. */
static void put_panel_across(struct panels *q, value_id factor, const char *axis, int width) {
    struct emitter *w = q->w;
    const char *to = arena_printf(w->arena, "to[kk * %d + i]", width);
    const char *all = arena_printf(w->arena, "%d", width);
    open_brace(w, "for (int kk = 0; kk < depth; kk++)");
    put_depth(q);
    open_brace(w, "if (wide == %d)", width);
    put_run(q, factor, "i", all, axis, "at", to, true);
    close_brace(w);
    open_brace(w, "else");
    put_run(q, factor, "i", "wide", axis, "at", to, true);
    line(w, "for (int i = wide; i < %d; i++) %s = 0;", width, to);
    close_brace(w);
    close_brace(w);
}

/* The same of columns by runs, in steps of WIDEST: what a step writes behind its run is written
 * again, or is behind the panel, where the next one will be, or nothing. */
static void put_panel_by_runs(struct panels *q, const struct c_runs *runs) {
    struct emitter *w = q->w;
    open_brace(w, "for (int kk = 0; kk < depth; kk++)");
    line(w, "const k_idx r = k0 + kk;");
    line(w, "%s *const row = to + kk * %d;", q->t, q->tn);
    open_c_runs(w, runs, "at", "wide");
    open_brace(w, "for (int j = 0; j < run; j += %d)", WIDEST);
    bool *needed = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_needed(w, w->k->dot_b, needed);
    put_c_run_loads(w, runs, needed, "begin_n + j");
    line(w, "#pragma omp simd");
    open_brace(w, "for (int l = 0; l < %d; l++)", WIDEST);
    line(w, "const k_idx n_x = begin_n + j + l;");
    w->load_if = "j + l < run";
    line(w, "row[i_n + j + l] = (%s)%s;", q->t, put_expression(w, w->k->dot_b));
    w->load_if = NULL;
    w->load_at = NULL;
    close_brace(w);
    close_brace(w);
    close_c_runs(w);
    line(w, "for (int i = wide; i < %d; i++) row[i] = 0;", q->tn);
    close_brace(w);
}

/* Rows of a panel, or of what becomes one: element kk of row i is to[i * step], step a text. */
static void put_panel_along(struct panels *q, value_id factor, const char *axis, int width,
                            const char *to, const char *step, bool vectors) {
    struct emitter *w = q->w;
    open_brace(w, "for (int i = 0; i < wide; i++)");
    line(w, "const k_idx %s = at + i;", axis);
    put_run(q, factor, "kk", "depth", "r", NULL, arena_printf(w->arena, "%s[i * %s]", to, step),
            vectors);
    close_brace(w);
    line(w, "for (int i = wide; i < %d; i++)", width);
    line(w, "    for (int kk = 0; kk < depth; kk++) %s[i * %s] = 0;", to, step);
}

static int a_pitch(const struct panels *q) { return q->a_along ? q->depth + GAP : q->depth; }

static void put_a_panels(struct panels *q) {
    struct emitter *w = q->w;
    open_brace(w, "for (int i0 = 0; i0 < rows; i0 += %d)", q->tm);
    line(w, "%s *const to = a + i0 * %d;", q->t, a_pitch(q));
    line(w, "const int wide = rows - i0 < %d ? rows - i0 : %d;", q->tm, q->tm);
    line(w, "const k_idx at = m0 + i0;");
    if (q->a_along)
        put_panel_along(q, w->k->dot_a, "m", q->tm, "to",
                        arena_printf(w->arena, "%d + kk", a_pitch(q)), true);
    else
        put_panel_across(q, w->k->dot_a, "m", q->tm);
    close_brace(w);
}

/* `turned` into the panel; squares at the end have some steps behind the depth, for which there is
 * room in `turned`, and behind the panel, where the next one is written later, or nothing. */
static void put_turn(struct panels *q, int width) {
    struct emitter *w = q->w;
    open_brace(w, "for (int kk = 0; kk < depth; kk += K_LANES)");
    line(w, "for (int i = 0; i < %d; i += K_LANES)", width);
    line(w, "    k_turn_v(to + kk * %d + i, %d, turned + i * %d + kk, %d);", width, width,
         q->depth + GAP, q->depth + GAP);
    close_brace(w);
}

void put_panel(struct panels *q, value_id factor, const char *axis, int width, bool along) {
    struct emitter *w = q->w;
    if (!along) {
        put_panel_across(q, factor, axis, width);
    } else if (q->turns) {
        put_panel_along(q, factor, axis, width, "turned",
                        arena_printf(w->arena, "%d + kk", q->depth + GAP), true);
        put_turn(q, width);
    } else {
        put_panel_along(q, factor, axis, width, "to", arena_printf(w->arena, "1 + kk * %d", width),
                        false);
    }
}

static void put_b_panels(struct panels *q) {
    struct emitter *w = q->w;
    open_brace(w, "for (int j0 = 0; j0 < columns; j0 += %d)", q->tn);
    line(w, "%s *const to = b + j0 * %d;", q->t, q->depth);
    line(w, "const int wide = columns - j0 < %d ? columns - j0 : %d;", q->tn, q->tn);
    line(w, "const k_idx at = n0 + j0;");
    if (q->runs.length && !q->b_along)
        put_panel_by_runs(q, &q->runs);
    else
        put_panel(q, w->k->dot_b, "n", q->tn, q->b_along);
    close_brace(w);
}

/* ---- a block of registers -------------------------------------------------------------------- */

/* Rows of a block, each of so many vectors. */
static int block_rows(const struct panels *q) { return q->flat ? q->tn : q->tm; }
static int block_vectors(const struct panels *q) { return (q->flat ? q->tm : q->tn) / q->lanes; }

/* A line for each vector of the block, row by row. */
static void put_each(struct panels *q, const char *format) {
    int vectors = block_vectors(q);
    for (int i = 0; i < block_rows(q); i++)
        for (int j = 0; j < vectors; j++) {
            struct buf b = buf_new(q->w->arena);
            for (const char *s = format; *s; s++) {
                if (*s == '@')
                    buf_printf(&b, "c%d_%d", i, j);
                else if (*s == '#')
                    buf_printf(&b, "%d", i * vectors + j);
                else
                    buf_putc(&b, *s);
            }
            line(q->w, "%s", b.p);
        }
}

static void put_step(struct panels *q) {
    struct emitter *w = q->w;
    int vectors = block_vectors(q);
    for (int j = 0; j < vectors; j++)
        line(w, "const k_panel b%d = right[kk * %d + %d];", j, vectors, j);
    if (q->flat) line(w, "const %s *const from = left + offset[kk];", q->t);
    for (int i = 0; i < block_rows(q); i++) {
        if (q->flat)
            line(w, "const %s a%d = from[%lld];", q->t, i, (long long)q->flat->of->dim[0].step * i);
        else if (q->a_along)
            line(w, "const %s a%d = left[%d + kk];", q->t, i, i * a_pitch(q));
        else
            line(w, "const %s a%d = left[kk * %d + %d];", q->t, i, q->tm, i);
        for (int j = 0; j < vectors; j++) line(w, "c%d_%d += a%d * b%d;", i, j, i, j);
    }
}

/* Does a sum begin anew within a panel's depth? */
static bool in_chunks(const struct panels *q) {
    return q->depth > DEPTH_AT_ONCE && dtype_is_float(value_math(q->w, q->w->k->dot));
}

/* Do tiles differ in the depth that counts (kernel/edges.c)? */
static bool is_bounded(const struct panels *q) { return q->w->k->edges.n && !q->flat; }

bool is_begun(const struct panels *q) { return !q->once || in_chunks(q); }

/* Registers have subscripts in no language, and compilers keep a small array there or do not: each
 * has a name. And all are this function's: what compilers keep of the loops around would leave too
 * few. Of the depth they sum up as many steps as a chain may have (kernel/chain.c). */
void put_block(struct panels *q) {
    struct emitter *w = q->w;
    bool chunks = in_chunks(q);
    line(w, "typedef %s k_panel __attribute__((vector_size(%d * sizeof(%s)), may_alias));", q->t,
         q->lanes, q->t);
    line(w,
         "static __attribute__((noinline)) void k_block(const %s *left, const k_panel *right, "
         "k_panel *total, %sint depth%s)",
         q->t, q->flat ? "const int *offset, " : "", is_begun(q) ? ", int begun" : "");
    open_scope(w);
    if (chunks) {
        line(w, "int k1 = 0;");
        open_brace(w, "do");
        line(w, "const int stop = depth - k1 < %d ? depth : k1 + %d;", DEPTH_AT_ONCE,
             DEPTH_AT_ONCE);
    }
    put_each(q, "k_panel @ = {0};");
    if (chunks)
        open_brace(w, "for (int kk = k1; kk < stop; kk++)");
    else
        open_brace(w, "for (int kk = 0; kk < depth; kk++)");
    put_step(q);
    close_brace(w);
    if (q->once && !chunks) {
        put_each(q, "total[#] = @;");
    } else {
        open_brace(w, "if (begun)");
        put_each(q, "total[#] += @;");
        close_brace(w);
        open_brace(w, "else");
        put_each(q, "total[#] = @;");
        close_brace(w);
    }
    if (chunks) {
        line(w, "begun = 1, k1 = stop;");
        w->indent--;
        line(w, "} while (k1 < depth);");
    }
    close_brace(w);
}

static void put_call(struct panels *q) {
    line(q->w, "k_block(a + i0 * %d, (const k_panel *)(b + j0 * %d), (k_panel *)cells, depth%s);",
         a_pitch(q), q->depth, is_begun(q) ? is_bounded(q) ? ", k0 > begin" : ", k0 > 0" : "");
}

/* ---- a task ---------------------------------------------------------------------------------- */

static void put_panel_folds(struct panels *q) {
    struct emitter *w = q->w;
    const struct c_folds *c = &q->sums;
    int each = (q->depth + DEPTH_AT_ONCE - 1) / DEPTH_AT_ONCE, panels = c->f.block / each;
    if (!c->f.levels) return;
    open_brace(w, "if (k0 / %d %% %d == %d)", q->depth, panels, panels - 1);
    put_c_folds(w, c);
    close_brace(w);
}

static bool is_of_row(const struct panels *q, value_id v) {
    const struct value_node *x = &q->w->k->values.at[v];
    return v != q->w->k->dot && !(x->mask & MASK_N);
}

void put_uniform_values(struct panels *q) {
    struct emitter *w = q->w;
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    for (uint32_t i = 0; i < w->p->before.n; i++)
        if (is_of_row(q, w->p->before.at[i])) put_local(w, w->p->before.at[i]);
}

void put_result(struct panels *q, const char *sum, const char *condition) {
    struct emitter *w = q->w;
    const char *t = math_type(w->k->values.at[w->k->dot].dtype);
    line(w, "const %s v%u = (%s)%s;", t, w->k->dot, t, sum);
    w->where[w->k->dot] = LOCAL;
    for (uint32_t i = 0; i < w->p->before.n; i++)
        if (!is_of_row(q, w->p->before.at[i])) put_local(w, w->p->before.at[i]);
    for (uint32_t s = 0; s < w->k->stores.n; s++) put_store1(w, &w->k->stores.at[s], condition);
}

/* Of a block whose sums are complete. */
static void put_epilogue(struct panels *q) {
    struct emitter *w = q->w;
    open_brace(w, "for (int i = 0; i < %d && i0 + i < rows; i++)", q->tm);
    line(w, "const k_idx m = m0 + i0 + i;");
    line(w, "const int wide = columns - j0 < %d ? columns - j0 : %d;", q->tn, q->tn);
    put_uniform_values(q);
    bool *all = NEW_ARRAY(w->arena, bool, w->k->values.n);
    for (uint32_t i = 0; i < w->p->before.n; i++) all[w->p->before.at[i]] = true;
    struct c_runs runs = c_runs_of(w, AXIS_N, "n", all, true);
    if (runs.length) {
        open_c_runs(w, &runs, "n0 + j0", "wide");
        open_brace(w, "for (int l = 0; l < run; l++)");
        line(w, "const k_idx n_x = begin_n + l;");
        line(w, "const int j = i_n + l;");
    } else {
        open_brace(w, "for (int j = 0; j < wide; j++)");
        line(w, "const k_idx n = n0 + j0 + j;");
    }
    put_result(q, arena_printf(w->arena, "cells[i * %d + j]", q->tn), "");
    close_brace(w);
    if (runs.length) close_c_runs(w);
    close_brace(w);
}

static void open_blocks(struct panels *q) {
    struct emitter *w = q->w;
    open_brace(w, "for (int j0 = 0; j0 < columns; j0 += %d)", q->tn);
    open_brace(w, "for (int i0 = 0; i0 < rows; i0 += %d)", q->tm);
    if (q->once)
        line(w, "%s *const cells = sum;", q->t);
    else
        line(w, "%s *const cells = sum + (j0 * %d + i0 * %d);", q->t, q->m, q->tn);
}

static void close_blocks(struct panels *q) {
    close_brace(q->w);
    close_brace(q->w);
}

static void put_blocks(struct panels *q) {
    struct emitter *w = q->w;
    open_blocks(q);
    put_call(q);
    if (!q->sums.f.levels) {
        if (!q->once) open_brace(w, "if (k0 + depth == %s)", is_bounded(q) ? "r_end" : "nr");
        put_epilogue(q);
        if (!q->once) close_brace(w);
    }
    close_blocks(q);
}

static void put_memory(struct panels *q) {
    struct emitter *w = q->w;
    int cells = q->once ? q->tm * q->tn : q->m * q->n;
    line(w, "_Alignas(64) %s a[%d], b[%d], sum[%d];", q->t, q->m * a_pitch(q),
         q->n * q->depth + (q->turns         ? q->tn * GAP
                            : q->runs.length ? WIDEST
                                             : 0),
         cells);
    if (q->turns) line(w, "_Alignas(64) %s turned[%d];", q->t, q->tn * (q->depth + GAP));
    if (!q->sums.f.levels) return;
    line(w, "memset(sum, 0, sizeof sum);");
    line(w, "%s *const s%u = sum;", q->t, w->k->dot);
    put_fold_rows(w, &q->sums, true);
    declare_c_folds(w, &q->sums);
}

/* Where the depth begins, in whole panels; of a tile without any it is 0 long. */
static void put_begin(struct panels *q) {
    struct emitter *w = q->w;
    if (!is_bounded(q)) {
        line(w, "k_idx k0 = 0;");
        return;
    }
    put_depth_range(w, "k_idx", "m0", q->m, "n0", q->n, "nr");
    line(w, "if (r_from >= r_end) r_from = r_end = 0;");
    line(w, "const k_idx begin = r_from / %d * %d;", q->depth, q->depth);
    line(w, "k_idx k0 = begin;");
}

static void put_task(struct panels *q) {
    struct emitter *w = q->w;
    line(w, "const k_idx m0 = tile %% tiles_m * %d, n0 = tile / tiles_m * %d;", q->m, q->n);
    line(w, "const int rows = (int)(nm - m0 < %d ? nm - m0 : %d);", q->m, q->m);
    line(w, "const int columns = (int)(nn - n0 < %d ? nn - n0 : %d);", q->n, q->n);
    line(w, "(void)z;");
    put_memory(q);
    const char *end = is_bounded(q) ? "r_end" : "nr";
    put_begin(q);
    open_brace(w, "do");
    line(w, "const int depth = (int)(%s - k0 < %d ? %s - k0 : %d);", end, q->depth, end, q->depth);
    put_b_panels(q);
    put_a_panels(q);
    put_blocks(q);
    put_panel_folds(q);
    line(w, "k0 += %d;", q->depth);
    w->indent--;
    line(w, "} while (k0 < %s);", end);
    if (!q->sums.f.levels) return;
    put_c_unfolded(w, &q->sums);
    put_fold_rows(w, &q->sums, false);
    open_blocks(q);
    put_epilogue(q);
    close_blocks(q);
}

static struct panels panels_of(struct emitter *w) {
    const struct kernel *k = w->k;
    const int32_t *c = w->p->config.knob;
    enum dtype math = dtype_opmath(k->values.at[k->dot].dtype);
    struct panels q = {.w = w,
                       .t = panel_type(math),
                       .m = c[KNOB_m],
                       .n = c[KNOB_n],
                       .tm = c[KNOB_tm],
                       .tn = c[KNOB_tn],
                       .depth = layout_packed_depth(c[KNOB_k]),
                       .flat = w->y->flat,
                       .a_along = runs_along_depth(w, k->dot_a, AXIS_M),
                       .b_along = runs_along_depth(w, k->dot_b, AXIS_N)};
    if (q.flat) q.depth = (int)(q.flat->channels * q.flat->of->taps);
    q.lanes = layout_block_lanes(k, q.flat ? q.tm : q.tn);
    q.turns = math == DT_F32 &&
              (q.flat ? q.a_along && q.tm % WIDEST == 0 : q.b_along && q.tn % WIDEST == 0);
    q.once = layout_packs_once(k, q.depth);
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    mark_needed(w, k->dot_b, needed);
    q.runs = c_runs_of(w, AXIS_N, "n", needed, false);
    if (q.flat) return q; /* its sums are not folded */
    int cells = q.m * q.n;
    q.sums = (struct c_folds){.f = layout_depth_folds(k, q.depth, 1),
                              .list = &k->dot,
                              .n = 1,
                              .acc = 's',
                              .cells = arena_printf(w->arena, "%d", cells),
                              .loop = arena_printf(w->arena, "for (int c = 0; c < %d; c++)", cells),
                              .at = "c",
                              .rows = true};
    return q;
}

void emit_c_matmul(struct emitter *w) {
    const struct kernel *k = w->k;
    struct panels q = panels_of(w);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry, .grid = {1, 1, 1}, .threads = 1};
    add_arguments(w, l);
    buf_putc(&w->b, '\n');
    put_block(&q);
    line(w, "void %s(void *const *args);", k->entry);
    open_brace(w, "void %s(void *const *args)", k->entry);
    put_parameters(w);
    line(w, "const k_idx nm = %s, nn = %s, nr = %s;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]), ex_text(w, k->bound[AXIS_R]));
    if (q.flat)
        put_flat_tiles(&q);
    else
        line(w, "const k_idx tiles_m = (nm + %d) / %d, tiles_n = (nn + %d) / %d;", q.m - 1, q.m,
             q.n - 1, q.n);
    line(w, "const long long tasks = (long long)(%s) * tiles_m * tiles_n;",
         ex_text(w, k->bound[AXIS_Z]));
    line(w, "#pragma omp parallel for schedule(%s)", is_bounded(&q) ? "dynamic" : "static");
    open_brace(w, "for (long long task = 0; task < tasks; task++)");
    line(w, "const k_idx z = (k_idx)(task / ((long long)tiles_m * tiles_n)), tile = (k_idx)(task "
            "%% ((long long)tiles_m * tiles_n));");
    if (q.flat)
        put_flat_task(&q);
    else
        put_task(&q);
    close_brace(w);
    close_brace(w);
}
