/* c_matmul.c: a plain tiled matrix product with a fused epilogue, in C with OpenMP.
 *
 * A task is a tile of m rows by n columns (n = tn, the SIMD width). The right factor is packed k
 * steps at a time into a panel b[k][tn]; blocks of tm rows keep tm*tn accumulators in registers:
 *
 *     for k0: pack b;  for i0 in rows, step tm:
 *         acc = 0;  for k: for i: acc[i][:] += a(i, k) * b[k][:];  sum += acc */
#include "emit/c_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

static void put_pack(struct emitter *w, const char *t, int tn) {
    open_brace(w, "for (k_idx kk = 0; kk < depth; kk++)");
    line(w, "const k_idx r = k0 + kk;");
    open_brace(w, "for (int j = 0; j < %d; j++)", tn);
    line(w, "const k_idx n = n0 + j < nn ? n0 + j : nn - 1;");
    const char *name = put_expression(w, w->k->dot_b);
    line(w, "b[kk * %d + j] = (%s)%s;", tn, t, name);
    close_brace(w);
    close_brace(w);
}

/* What the micro kernel holds in registers: vectors (prelude_vector.h) where a tile's columns are
 * whole ones on any machine, as compilers keep an array of those in registers and not one of
 * numbers; else numbers. */
struct cells {
    struct emitter *w;
    bool vectors;
    int tn;
};

static struct cells cells_of(struct emitter *w, int tn) {
    bool floats = dtype_opmath(at(w, w->k->dot)->dtype) == DT_F32;
    return (struct cells){.w = w, .vectors = floats && tn % WIDEST == 0, .tn = tn};
}

/* Cell j of a row of `array`, as a value. */
static const char *cell(const struct cells *c, const char *array, const char *row) {
    return arena_printf(c->w->arena,
                        c->vectors ? "k_load_v(%s + %s * %d + j * K_LANES)" : "%s[%s * %d + j]",
                        array, row, c->tn);
}

/* The statement for every cell of a row. */
static void put_row_of_cells(const struct cells *c, const char *statement) {
    if (c->vectors)
        line(c->w, "#pragma GCC unroll %d", c->tn);
    else
        line(c->w, "#pragma omp simd");
    line(c->w, "for (int j = 0; j < width; j++) %s", statement);
}

static void open_rows(struct emitter *w, int tm) {
    line(w, "#pragma GCC unroll %d", tm);
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
}

/* A block of the depth is summed up by itself, and added to `sum` then (kernel/chain.c). */
static void put_micro_kernel(struct emitter *w, const char *t, int tm, int tn, int depth) {
    struct cells c = cells_of(w, tn);
    const char *sum = cell(&c, "sum", "(i0 + i)");
    bool whole = !dtype_is_float(value_math(w, w->k->dot)),
         blocks = depth > DEPTH_AT_ONCE && !whole;
    const char *begun = blocks ? "k0 + k1" : "k0";
    const char *total = arena_printf(w->arena,
                                     whole ? "%s ? k_wrap_add(%s, acc[i][j]) : acc[i][j]"
                                           : "%s ? %s + acc[i][j] : acc[i][j]",
                                     begun, sum);
    open_brace(w, "for (int i0 = 0; i0 < rows; i0 += %d)", tm);
    if (blocks) {
        open_brace(w, "for (k_idx k1 = 0; k1 < depth; k1 += %d)", DEPTH_AT_ONCE);
        line(w, "const k_idx stop = depth - k1 < %d ? depth : k1 + %d;", DEPTH_AT_ONCE,
             DEPTH_AT_ONCE);
    }
    line(w, "enum { width = %d / %s };", tn, c.vectors ? "K_LANES" : "1");
    line(w, "%s acc[%d][width];", c.vectors ? "k_v" : t, tm);
    open_rows(w, tm);
    put_row_of_cells(&c, c.vectors ? "acc[i][j] = k_splat(0);" : "acc[i][j] = 0;");
    close_brace(w);
    if (blocks)
        open_brace(w, "for (k_idx kk = k1; kk < stop; kk++)");
    else
        open_brace(w, "for (k_idx kk = 0; kk < depth; kk++)");
    line(w, "const k_idx r = k0 + kk;");
    open_rows(w, tm);
    line(w, "const k_idx m = m0 + i0 + i < nm ? m0 + i0 + i : nm - 1;");
    const char *name = put_expression(w, w->k->dot_a);
    line(w, "const %s left = (%s)%s;", t, t, name);
    put_row_of_cells(&c,
                     multiply_add_text(w, value_math(w, w->k->dot), "acc[i][j]",
                                       c.vectors ? "k_splat(left)" : "left", cell(&c, "b", "kk")));
    close_brace(w);
    close_brace(w);
    open_rows(w, tm);
    put_row_of_cells(
        &c, c.vectors ? arena_printf(w->arena, "k_store_v(sum + (i0 + i) * %d + j * K_LANES, %s);",
                                     tn, total)
                      : arena_printf(w->arena, "%s = %s;", sum, total));
    close_brace(w);
    if (blocks) close_brace(w);
    close_brace(w);
}

/* The tile's sums, which are folded when they have taken enough panels. */
static struct c_folds sums_of(struct emitter *w, int cells, int depth) {
    return (struct c_folds){.f = layout_depth_folds(w->k, depth),
                            .list = &w->k->dot,
                            .n = 1,
                            .acc = 's',
                            .cells = arena_printf(w->arena, "%d", cells),
                            .loop = arena_printf(w->arena, "for (int c = 0; c < %d; c++)", cells),
                            .at = "c",
                            .rows = true};
}

static void put_panel_folds(struct emitter *w, const struct c_folds *c, int depth) {
    int each = (depth + DEPTH_AT_ONCE - 1) / DEPTH_AT_ONCE, panels = c->f.block / each;
    if (!c->f.levels) return;
    open_brace(w, "if (k0 / %d %% %d == %d)", depth, panels, panels - 1);
    put_c_folds(w, c);
    close_brace(w);
}

static void put_epilogue(struct emitter *w, const char *t, int tn) {
    open_brace(w, "for (int i = 0; i < rows && m0 + i < nm; i++)");
    line(w, "const k_idx m = m0 + i;");
    open_brace(w, "for (int j = 0; j < %d && n0 + j < nn; j++)", tn);
    line(w, "const k_idx n = n0 + j;");
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    line(w, "const %s v%u = sum[i * %d + j];", t, w->k->dot, tn);
    w->where[w->k->dot] = LOCAL;
    for (uint32_t i = 0; i < w->p->before.n; i++) put_local(w, w->p->before.at[i]);
    for (uint32_t s = 0; s < w->k->stores.n; s++) put_store1(w, &w->k->stores.at[s], "");
    close_brace(w);
    close_brace(w);
}

void emit_c_matmul(struct emitter *w) {
    const struct kernel *k = w->k;
    const int32_t *c = w->p->config.knob;
    int tm = c[KNOB_tm], tn = c[KNOB_tn], bm = c[KNOB_m], depth = c[KNOB_k];
    enum { LONG = DEPTH_AT_ONCE * DEPTH_AT_ONCE }; /* of which a tile's sums take as many blocks */
    if (depth > LONG) depth = LONG;
    const struct c_folds sums = sums_of(w, bm * tn, depth);
    const char *t = math_type(at(w, k->dot)->dtype);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry, .grid = {1, 1, 1}, .threads = 1};
    add_arguments(w, l);
    buf_putc(&w->b, '\n');
    line(w, "void %s(void *const *args);", k->entry);
    open_brace(w, "void %s(void *const *args)", k->entry);
    put_parameters(w);
    line(w, "const k_idx nm = %s, nn = %s, nr = %s;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]), ex_text(w, k->bound[AXIS_R]));
    line(w, "const k_idx tiles_m = (nm + %d) / %d, tiles_n = (nn + %d) / %d;", bm - 1, bm, tn - 1,
         tn);
    line(w, "const long long tasks = (long long)(%s) * tiles_m * tiles_n;",
         ex_text(w, k->bound[AXIS_Z]));
    line(w, "#pragma omp parallel for schedule(static)");
    open_brace(w, "for (long long task = 0; task < tasks; task++)");
    line(w, "const k_idx z = (k_idx)(task / ((long long)tiles_m * tiles_n)), tile = (k_idx)(task "
            "%% ((long long)tiles_m * tiles_n));");
    line(w, "const k_idx m0 = tile %% tiles_m * %d, n0 = tile / tiles_m * %d;", bm, tn);
    line(w, "const int rows = %d;", bm);
    line(w, "(void)z;");
    line(w, "%s b[%d], sum[%d];", t, depth * tn, bm * tn);
    int64_t shortest, longest;
    ex_range(k->ex, k->bound[AXIS_R], &shortest, &longest);
    if (shortest < 1 || sums.f.levels)
        line(w, "%smemset(sum, 0, sizeof sum);", sums.f.levels ? "" : "if (nr == 0) ");
    if (sums.f.levels) line(w, "%s *const s%u = sum;", t, k->dot);
    put_fold_rows(w, &sums, true);
    declare_c_folds(w, &sums);
    open_brace(w, "for (k_idx k0 = 0; k0 < nr; k0 += %d)", depth);
    line(w, "const k_idx depth = k0 + %d < nr ? %d : nr - k0;", depth, depth);
    put_pack(w, t, tn);
    put_micro_kernel(w, t, tm, tn, depth);
    put_panel_folds(w, &sums, depth);
    close_brace(w);
    put_c_unfolded(w, &sums);
    put_fold_rows(w, &sums, false);
    put_epilogue(w, t, tn);
    close_brace(w);
    close_brace(w);
}
