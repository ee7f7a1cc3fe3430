/* cuda_combine.c: what the threads of a row or column have becomes one number, or, in a scan, what
 * stands before each of them: thread -> warp -> block -> cluster.
 *
 *     a1[0] = k_reduce_row<k_amax, 256>(a1[0], ...);
 *     k_reduce_columns<k_sum, 32, 8, 4>(a1[0], ...);
 *
 * Accumulators are arrays over the thread's rows; each reduction has a region of shared memory of
 * its own, which layout.c counts. */
#include "emit/cuda_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* Accumulators are arrays over the thread's rows even if the value is the same for all of them. */
const char *accumulator_dims(struct emitter *w) {
    return w->y->rows_inner ? arena_printf(w->arena, "[%d][%d]", w->y->ex, w->y->vec)
                            : arena_printf(w->arena, "[%d]", w->y->ex);
}

void open_accumulators(struct emitter *w) {
    open_unrolled(w, "e", w->y->ex);
    if (w->y->rows_inner) open_unrolled(w, "v", w->y->vec);
    w->subscript = w->y->rows_inner ? "[e][v]" : "[e]";
}

/* A tile's values; beyond the row they count as none. */
static void declare_scanned(struct emitter *w, value_id v) {
    const struct layout *y = w->y;
    if (!y->circle) line(w, "%s a%u[%d][%d][%d];", accumulator_type(w, v), v, y->ex, y->ur, y->vec);
    if (columns_exact(w)) return;
    open_unrolled(w, "e", y->ex);
    open_unrolled(w, "u", y->ur);
    open_unrolled(w, "v", y->vec);
    line(w, "a%u[e][u][v] = %s;", v, identity_text(w, v));
    for (int i = 0; i < 3; i++) close_brace(w);
}

/* From tile to tile; of a tile a block each, the totals are added up otherwise. */
static bool carries_error(struct emitter *w, value_id v) {
    return layout_carries_error(w->k, v) && (!w->y->look_back || w->y->circle);
}

/* What the rows have before the first tile: c7[e], or c7[e][v] where vectors lie along x. */
void declare_carries(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        if (at(w, v)->kind != INST_SCAN && !scan_carries(w->k, v)) continue;
        const char *t = accumulator_type(w, v);
        bool lost = carries_error(w, v);
        line(w, lost ? "k_carry<%s> c%u%s;" : "%s c%u%s;", t, v, accumulator_dims(w));
        open_accumulators(w);
        if (lost)
            line(w, "c%u%s = k_carry<%s>{0, 0};", v, w->subscript, t);
        else
            line(w, "c%u%s = %s;", v, w->subscript, identity_text(w, v));
        close_rows(w);
    }
}

/* What a thread has of a tile, with what it has of those before. */
static void put_carried_on(struct emitter *w, value_id v) {
    open_accumulators(w);
    line(w, "k_carry_on<%s>(c%u%s, a%u%s);", reduction_operator(at(w, v)->reduction), v,
         w->subscript, v, w->subscript);
    close_rows(w);
}

/* Vectors along x, whose rows a thread has by itself. */
static void put_scan_alone(struct emitter *w, value_id v) {
    const char *op = reduction_operator(at(w, v)->reduction);
    open_unrolled(w, "e", w->y->ex);
    open_unrolled(w, "v", w->y->vec);
    if (carries_error(w, v)) line(w, "%s t = %s;", accumulator_type(w, v), identity_text(w, v));
    open_unrolled(w, "u", w->y->ur);
    if (carries_error(w, v)) {
        line(w, "t = %s::of(t, a%u[e][u][v]);", op, v);
        line(w, "a%u[e][u][v] = k_after<%s>(c%u[e][v], t);", v, op, v);
        close_brace(w);
        line(w, "k_carry_on<%s>(c%u[e][v], t);", op, v);
    } else {
        line(w, "c%u[e][v] = a%u[e][u][v] = %s::of(c%u[e][v], a%u[e][u][v]);", v, v, op, v, v);
        close_brace(w);
    }
    for (int i = 0; i < 2; i++) close_brace(w);
}

/* Or t1 threads: each has column steps that follow one another, which it scans; then what the
 * threads have. */
static void put_scan_columns(struct emitter *w, value_id v, int *smem) {
    const struct layout *y = w->y;
    const char *op = reduction_operator(at(w, v)->reduction), *t = accumulator_type(w, v);
    open_unrolled(w, "e", y->ex);
    line(w, "%s t[%d];", t, y->vec);
    open_unrolled(w, "v", y->vec);
    line(w, "#pragma unroll");
    line(w, "for (int u = 1; u < %d; u++) a%u[e][u][v] = %s::of(a%u[e][u - 1][v], a%u[e][u][v]);",
         y->ur, v, op, v, v);
    line(w, "t[v] = a%u[e][%d][v];", v, y->ur - 1);
    close_brace(w);
    line(w, "k_scan_columns<%s, %d, %d, %d>(t, c%u[e], (%s)%s, (%s *)(k_smem + %d));", op, y->t0,
         y->t1, y->vec, v, t, identity_text(w, v), t, *smem);
    if (y->look_back) put_look_back_columns(w, v, *smem);
    *smem = (*smem + layout_column_slots(w->k, y) * reduction_bytes(w->k, v) + 15) / 16 * 16;
    open_unrolled(w, "v", y->vec);
    if (y->look_back) line(w, "t[v] = %s::of(c%u[e][v], t[v]);", op, v);
    open_unrolled(w, "u", y->ur);
    line(w, "a%u[e][u][v] = %s::of(t[v], a%u[e][u][v]);", v, op, v);
    for (int i = 0; i < 3; i++) close_brace(w);
}

/* A tile's values, combined with all that stands before them. Along r these are a thread's vector,
 * then its row's threads, then the tile's column steps. */
static void put_scan(struct emitter *w, value_id v, int *smem) {
    const struct layout *y = w->y;
    const char *op = reduction_operator(at(w, v)->reduction), *t = accumulator_type(w, v);
    if (y->rows_inner) {
        bool alone = y->t1 == 1 && !y->look_back;
        alone ? put_scan_alone(w, v) : put_scan_columns(w, v, smem);
        return;
    }
    open_unrolled(w, "e", y->ex);
    line(w, "%s t[%d];", t, y->ur);
    put_tile_scan(w, v, "t", arena_printf(w->arena, "c%u[e]", v), smem);
    if (y->look_back) put_look_back(w, v, smem);
    put_scanned(w, v, "t",
                y->look_back ? arena_printf(w->arena, "%s::of(c%u[e], t[u])", op, v) : NULL);
    close_brace(w);
}

void put_tile_scan(struct emitter *w, value_id v, const char *t, const char *carry, int *smem) {
    const struct layout *y = w->y;
    const char *op = reduction_operator(at(w, v)->reduction), *type = accumulator_type(w, v);
    int slots = layout_row_slots(w->k, y) * y->ur;
    open_unrolled(w, "u", y->ur);
    line(w, "#pragma unroll");
    line(w, "for (int v = 1; v < %d; v++) a%u[e][u][v] = %s::of(a%u[e][u][v - 1], a%u[e][u][v]);",
         y->vec, v, op, v, v);
    line(w, "%s[u] = a%u[e][u][%d];", t, v, y->vec - 1);
    close_brace(w);
    line(w, "k_scan_row<%s, %d, %d>(%s, %s, (%s)%s, (%s *)(k_smem + %d) + e * %d);", op, y->t1,
         y->ur, t, carry, type, identity_text(w, v), type, *smem, slots);
    *smem = (*smem + slots * y->ex * reduction_bytes(w->k, v) + 15) / 16 * 16;
}

void put_scanned(struct emitter *w, value_id v, const char *t, const char *all) {
    const struct layout *y = w->y;
    const char *op = reduction_operator(at(w, v)->reduction);
    open_unrolled(w, "u", y->ur);
    if (all) line(w, "%s[u] = %s;", t, all);
    open_unrolled(w, "v", y->vec);
    line(w, "a%u[e][u][v] = %s::of(%s[u], a%u[e][u][v]);", v, op, t, v);
    for (int i = 0; i < 2; i++) close_brace(w);
}

void declare_accumulators(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        if (at(w, f->reduce.at[i])->kind == INST_SCAN) {
            declare_scanned(w, f->reduce.at[i]);
            continue;
        }
        value_id a = f->reduce.at[i];
        line(w, "%s a%u%s;", accumulator_type(w, a), a, accumulator_dims(w));
        open_accumulators(w);
        line(w, "a%u%s = %s;", a, w->subscript, identity_text(w, a));
        close_rows(w);
    }
}

/* Several reductions of rows that warps or blocks share: all of them wait at one barrier. */
static bool combines_together(const struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    return w->k->kind == KERNEL_REDUCE && !y->rows_inner &&
           (layout_joins_warps(w->k, y) || y->cluster > 1) && !f->online.n &&
           f->reduce.n * (uint32_t)y->ex > 1;
}

static const char *bytes_of(struct emitter *w, const struct phase *f) {
    const char *bytes = "";
    for (uint32_t i = 0; i < f->reduce.n; i++)
        bytes = arena_printf(w->arena, "%s%s(int)sizeof(%s)", bytes, i ? " + " : "",
                             accumulator_type(w, f->reduce.at[i]));
    return bytes;
}

/* Before and behind the barriers: what the warps of a row have, and then the blocks. */
static void put_combines_together(struct emitter *w, const struct phase *f, int *smem) {
    const struct layout *y = w->y;
    int begin = *smem, slots = layout_row_slots(w->k, y);
    bool gives = exchanges(y);
    for (int step = 0; step < (y->cluster > 1 ? 3 : 2); step++) {
        *smem = begin;
        if (step == 1 && slots) line(w, "__syncthreads();");
        if (step == 1 && gives) open_exchange(w, bytes_of(w, f));
        if (step == 2) gives ? close_exchange(w) : line(w, "k_cluster_sync();");
        open_unrolled(w, "e", y->ex);
        for (uint32_t i = 0; i < f->reduce.n; i++) {
            value_id v = f->reduce.at[i];
            const char *op = reduction_operator(at(w, v)->reduction), *t = accumulator_type(w, v);
            int size = reduction_bytes(w->k, v),
                own = (*smem + slots * y->ex * size + 15) / 16 * 16;
            const char *blocks = exchange_slots(w, t, own);
            w->where[v] = ARRAY;
            if (step < 2)
                line(w, "a%u[e] = k_reduce_%s<%s, %d>(a%u[e], (%s *)(k_smem + %d) + e * %d);", v,
                     step ? "parts" : "warps", op, y->t1, v, t, *smem, slots);
            if (step == 1 && gives) put_give(w, arena_printf(w->arena, "a%u[e]", v), blocks);
            if (step == 2 && gives)
                line(w, "a%u[e] = k_reduce_slots<%s, %d>(%s);", v, op, y->cluster, blocks);
            if (step == 1 && !gives && y->cluster > 1)
                line(w, "if (tr == 0) ((%s *)(k_smem + %d))[e * %d + tx] = a%u[e];", t, own, y->t0,
                     v);
            if (step == 2 && !gives)
                line(w, "a%u[e] = k_read_slots<%s, %d>((%s *)(k_smem + %d) + e * %d + tx);", v, op,
                     y->cluster, t, own, y->t0);
            int each = gives ? y->cluster : y->cluster > 1;
            *smem = (own + each * y->t0 * y->ex * size + 15) / 16 * 16;
        }
        close_brace(w);
    }
}

/* Thread -> warp -> block -> cluster. Each reduction has shared memory of its own, so one barrier
 * inside is enough. behind: the last tile of a scan. */
static void combine(struct emitter *w, const struct phase *f, bool behind, int *smem) {
    const struct layout *y = w->y;
    if (combines_together(w, f)) {
        put_combines_together(w, f, smem);
        return;
    }
    struct phase exchanged = {0};
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const struct value_node *x = at(w, v);
        w->where[v] = ARRAY;
        if (x->kind == INST_SCAN) {
            put_scan(w, v, smem);
            continue;
        }
        if (scan_carries(w->k, v) && !behind) {
            put_carried_on(w, v);
            continue;
        }
        if (combine_online(w, f, v, smem)) continue;
        if (exchanges(y)) {
            vec_push(w->arena, &exchanged.reduce, v);
            continue;
        }
        const char *t = accumulator_type(w, v), *op = reduction_operator(x->reduction);
        int size = reduction_bytes(w->k, v);
        int slots = y->rows_inner ? layout_column_slots(w->k, y) : layout_warps(w->k, y);
        open_unrolled(w, "e", y->ex);
        if (y->rows_inner) {
            line(w, "k_reduce_columns<%s, %d, %d, %d>(a%u[e], (%s *)(k_smem + %d) + e * %d);", op,
                 y->t0, y->t1, y->vec, v, t, *smem, slots);
            *smem += slots * y->ex * size;
            if (y->cluster > 1) {
                int rows = y->t0 * y->vec;
                *smem = (*smem + 15) / 16 * 16;
                line(w,
                     "k_reduce_columns_cluster<%s, %d, %d, %d, %d>(a%u[e], (%s *)(k_smem + %d) + e "
                     "* %d, (%s *)(k_smem + %d) + (e * 2 + 1) * %d);",
                     op, y->t0, y->t1, y->vec, y->cluster, v, t, *smem, 2 * rows, t, *smem, rows);
                *smem += 2 * rows * y->ex * size;
            }
        } else {
            line(w, "a%u[e] = k_reduce_row<%s, %d>(a%u[e], (%s *)(k_smem + %d) + e * %d);", v, op,
                 y->t1, v, t, *smem, slots);
            *smem += layout_row_slots(w->k, y) * y->ex * size;
            if (y->cluster > 1) {
                *smem = (*smem + 15) / 16 * 16;
                line(w,
                     "a%u[e] = k_reduce_cluster<%s, %d>(a%u[e], (%s *)(k_smem + %d) + e * %d + tx, "
                     "tr == 0);",
                     v, op, y->cluster, v, t, *smem, y->t0);
                *smem += y->t0 * y->ex * size;
            }
        }
        *smem = (*smem + 15) / 16 * 16;
        close_brace(w);
    }
    if (exchanged.reduce.n) put_combines_together(w, &exchanged, smem);
}

void put_combines(struct emitter *w, const struct phase *f, int *smem) {
    combine(w, f, false, smem);
}

/* Behind the last tile: what a thread has of all of them becomes the rows'. */
void settle_carried(struct emitter *w, int *smem) {
    struct phase all = {0};
    for (uint32_t i = 0; i < w->p->phases.n; i++)
        for (uint32_t j = 0; j < w->p->phases.at[i].reduce.n; j++) {
            value_id v = w->p->phases.at[i].reduce.at[j];
            const char *t = accumulator_type(w, v), *op = reduction_operator(at(w, v)->reduction);
            if (!scan_carries(w->k, v)) continue;
            vec_push(w->arena, &all.reduce, v);
            line(w, "%s a%u%s;", t, v, accumulator_dims(w));
            open_accumulators(w);
            line(w, "a%u%s = k_after<%s>(c%u%s, (%s)%s);", v, w->subscript, op, v, w->subscript, t,
                 identity_text(w, v));
            close_rows(w);
        }
    combine(w, &all, true, smem);
    for (uint32_t i = 0; i < w->p->phases.n; i++) {
        const struct phase *f = &w->p->phases.at[i];
        if (all.reduce.n) put_row_values(w, f->after.at, f->after.n);
    }
}
