/* cuda_matmul.c: a plain tiled matrix product with a fused epilogue, in CUDA C++.
 *
 *     for k0:  As[k][m], Bs[k][n] <- tiles, in opmath type;  barrier
 *              acc[i][j] += As[k][ty*TM + i] * Bs[k][tx*TN + j];  barrier
 *     for i, j: epilogue values at (m, n); store
 *
 * The factors are any values of (z, m, r) and (z, n, r): a transposed or strided operand is only
 * another index. */
#include "emit/impl.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* Does memory run along the depth for this factor? Then neighbouring threads load neighbouring k.
 */
static bool runs_along_depth(struct emitter *w, value_id v) {
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_needed(w, v, marks);
    for (value_id i = 0; i <= v; i++)
        if (marks[i] && at(w, i)->kind == INST_LOAD && load_stride(w->k, at(w, i), AXIS_R) == 1)
            return true;
    return false;
}

/* Fill one tile: side is "m" or "n", of `size` elements, first at p<side>*size. */
static void put_tile(struct emitter *w, value_id factor, const char *side, const char *array,
                     int size, int depth) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    line(w, "#pragma unroll 4");
    open_brace(w, "for (int i = tid; i < %d; i += %d)", size * depth, w->y->threads);
    if (runs_along_depth(w, factor))
        line(w, "const int kk = i %% %d, ss = i / %d;", depth, depth);
    else
        line(w, "const int ss = i %% %d, kk = i / %d;", size, size);
    line(w, "const k_idx %s = p%s * %d + ss, r = k0 + kk;", side, side, size);
    line(w, "%s t = 0;", t);
    open_brace(w, "if (%s < n%s && r < nr)", side, side);
    const char *name = put_expression(w, factor);
    line(w, "t = (%s)%s;", t, name);
    close_brace(w);
    line(w, "%s[kk * %d + ss] = t;", array, size);
    close_brace(w);
}

/* What is above a thread's accumulators (kernel/chain.c) is in local memory, as cuda_fold.c has it:
 * they fill the registers, and need that once in 128 steps of the depth. */
static void open_cells(struct emitter *w, const struct folds *f, int tm, int tn) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
    line(w, "%s (&up)[%d][%d] = k_in_memory(local[i]);", math_type(at(w, w->k->dot)->dtype), tn,
         f->levels);
    line(w, "#pragma unroll");
}

static void declare_folded(struct emitter *w, const struct folds *f, int tm, int tn) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
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
    open_cells(w, f, tm, tn);
    if (unfold)
        line(w, "for (int j = 0; j < %d; j++) acc[i][j] = k_unfold<k_sum>(up[j], acc[i][j]);", tn);
    else
        line(w, "for (int j = 0; j < %d; j++) k_fold<k_sum, %d>(up[j], acc[i][j], (%s)0, %s);", tn,
             f->radix, t, f->levels > 1 ? "folds" : "0");
    close_brace(w);
    if (!unfold && f->levels > 1) line(w, "folds++;");
}

static void put_main_loop(struct emitter *w) {
    const int32_t *c = w->p->config.knob;
    int bm = c[KNOB_m], bn = c[KNOB_n], depth = c[KNOB_k], tm = c[KNOB_tm], tn = c[KNOB_tn];
    const char *t = math_type(at(w, w->k->dot)->dtype);
    line(w, "%s *As = (%s *)k_smem, *Bs = As + %d;", t, t, bm * depth);
    line(w, "%s acc[%d][%d];", t, tm, tn);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++) acc[i][j] = 0;", tn);
    close_brace(w);
    const struct folds f = layout_depth_folds(w->k, depth);
    if (f.levels) declare_folded(w, &f, tm, tn);
    open_brace(w, "for (k_idx k0 = 0; k0 < nr; k0 += %d)", depth);
    put_tile(w, w->k->dot_a, "m", "As", bm, depth);
    put_tile(w, w->k->dot_b, "n", "Bs", bn, depth);
    line(w, "__syncthreads();");
    line(w, "#pragma unroll");
    open_brace(w, "for (int kk = 0; kk < %d; kk++)", depth);
    line(w, "%s a[%d], b[%d];", t, tm, tn);
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++) a[i] = As[kk * %d + ty * %d + i];", tm, bm, tm);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++) b[j] = Bs[kk * %d + tx * %d + j];", tn, bn, tn);
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
        open_brace(w, "if (k0 / %d %% %d == %d)", depth, panels, panels - 1);
        put_folded(w, &f, tm, tn, false);
        close_brace(w);
    }
    line(w, "__syncthreads();");
    close_brace(w);
    if (f.levels) put_folded(w, &f, tm, tn, true);
}

/* Vector stores along n where a thread's columns are contiguous, none hangs over the edge, and
 * memory has an instruction for so many. */
static bool vector_store(struct emitter *w, const struct store_node *s) {
    bool power_of_two = (w->y->vec & (w->y->vec - 1)) == 0;
    return w->y->vec > 1 && power_of_two && index_is_vector(w->k, s->index, AXIS_N, w->y->vec);
}

static void put_epilogue(struct emitter *w) {
    int tm = w->y->ex, tn = w->y->vec;
    const struct loops *l = w->k->schedule->loops;
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
    line(w, "const k_idx m = pm * %d + ty * %d + i;", w->y->bx, tm);
    line(w, "if (m >= nm) break;");
    for (uint32_t s = 0; s < w->k->stores.n; s++)
        if (vector_store(w, &w->k->stores.at[s]))
            line(w, "%s o%u[%d];", math_type(l->buffers.at[w->k->stores.at[s].buffer].meta.dtype),
                 s, tn);
    line(w, "const k_idx n0 = pn * %d + tx * %d;", w->y->br, tn);
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", tn);
    line(w, "const k_idx n = n0 + j;");
    open_brace(w, "if (n < nn)");
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    line(w, "const %s v%u = acc[i][j];", math_type(at(w, w->k->dot)->dtype), w->k->dot);
    w->where[w->k->dot] = LOCAL;
    for (uint32_t i = 0; i < w->p->before.n; i++) put_local(w, w->p->before.at[i]);
    for (uint32_t s = 0; s < w->k->stores.n; s++) {
        const struct store_node *st = &w->k->stores.at[s];
        if (vector_store(w, st))
            line(w, "o%u[j] = %s;", s, ref(w, st->value));
        else
            put_store1(w, st, "");
    }
    close_brace(w);
    close_brace(w);
    for (uint32_t s = 0; s < w->k->stores.n; s++) {
        const struct store_node *st = &w->k->stores.at[s];
        if (!vector_store(w, st)) continue;
        const char *m = memory_type(w, l->buffers.at[st->buffer].meta.dtype);
        open_brace(w, "if (n0 < nn)");
        line(w, "const k_idx n = n0;");
        line(w, "k_pack<%s, %d> w%u;", m, tn, s);
        line(w, "k_put(w%u, o%u);", s, s);
        line(w, "k_store<%s, %d, %d>(p%d + (%s), w%u);", m, tn, w->y->streaming,
             argument_of(w, st->buffer), ex_text(w, st->index), s);
        close_brace(w);
    }
    close_brace(w);
}

/* A thread of 64 accumulators has some 128 registers: what folds need besides is not to cost a
 * multiprocessor a block. */
static const char *least_blocks(struct emitter *w) {
    enum { REGISTERS = 128 };
    const int32_t *c = w->p->config.knob;
    int blocks = (int)(w->k->limits->regs_unit / (w->y->threads * REGISTERS));
    bool folds = layout_depth_folds(w->k, c[KNOB_k]).levels > 0;
    bool fits = dtype_opmath(at(w, w->k->dot)->dtype) != DT_F64 && c[KNOB_tm] * c[KNOB_tn] == 64;
    return folds && fits && blocks > 1 ? arena_printf(w->arena, ", %d", blocks) : "";
}

void emit_cuda_matmul(struct emitter *w) {
    const struct kernel *k = w->k;
    const int32_t *c = w->p->config.knob;
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry,
                            .grid = {w->p->grid, 1, 1},
                            .threads = w->y->threads,
                            .smem = w->y->smem};
    add_arguments(w, l);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d%s) %s(", w->y->threads,
               least_blocks(w), k->entry);
    put_parameters(w);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
    line(w, "k_enter();");
    line(w, "const int tid = (int)threadIdx.x, tx = tid %% %d, ty = tid / %d;",
         c[KNOB_n] / c[KNOB_tn], c[KNOB_n] / c[KNOB_tn]);
    line(w, "const k_idx nm = %s, nn = %s, nr = %s;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]), ex_text(w, k->bound[AXIS_R]));
    line(w, "const k_idx tiles_m = (nm + %d) / %d, tiles_n = (nn + %d) / %d;", c[KNOB_m] - 1,
         c[KNOB_m], c[KNOB_n] - 1, c[KNOB_n]);
    line(w, "const k_idx tile = (k_idx)blockIdx.x %% (tiles_m * tiles_n), z = (k_idx)blockIdx.x / "
            "(tiles_m * tiles_n);");
    line(w, "/* bands of 8 tile rows, column by column inside a band: neighbours in time share "
            "operands in L2 */");
    line(w, "const k_idx band = tile / (8 * tiles_n), rows = k_clamp(tiles_m - band * 8, "
            "(k_idx)8), in = "
            "tile - band * 8 * tiles_n;");
    line(w, "const k_idx pm = band * 8 + in %% rows, pn = in / rows;");
    line(w, "(void)z;");
    put_main_loop(w);
    put_epilogue(w);
    close_brace(w);
}
