/* cuda_split.c: reductions whose rows are spread over blocks, in CUDA. Each block leaves what it
 * has in the workspace as part[block][x]; then a second launch adds that up, or the last block to
 * come:
 *
 *     if (tr == 0) part1[part * nx + x] = a1[e];
 *     if (!k_is_last_block(tickets + px, 64)) return;
 *     a1[e] = 0;
 *     for (int s = tr; s < 64; s += 256) a1[e] = k_sum::of(a1[e], k_load_part(part1 + (s * nx +
 * x))); a1[e] = k_reduce_row<k_sum, 256>(a1[e], ...);
 *
 * Either way the order of additions is that of the parts: the same bits in every run. */
#include "emit/cuda_rows.h"

/* split > 1: the block's partial results go to the workspace as w[part][x]. */
void put_partials(struct emitter *w) {
    const struct layout *y = w->y;
    int smem = 0;
    const struct phase *f = &w->p->phases.at[0];
    put_combines(w, f, &smem);
    WS_ASSERT(smem <= y->smem);
    open_brace(w, "if (tr == 0)");
    open_unrolled(w, "e", y->ex);
    if (!rows_exact(w)) open_brace(w, "if (%s)", row_is_real(w));
    if (y->rows_inner) open_unrolled(w, "v", y->vec);
    put_own_x(w);
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "part%u[(long long)part * nx + x] = a%u%s;", f->reduce.at[i], f->reduce.at[i],
             y->rows_inner ? "[e][v]" : "[e]");
    close_rows(w);
    if (!rows_exact(w)) close_brace(w);
    close_brace(w);
}

void add_tickets(struct emitter *w, struct ws_launch *l) {
    WS_ASSERT(l->n_args < WS_MAX_ARGS);
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
    buf_puts(&w->b, ", unsigned *tickets");
}

void put_partial_parameters(struct emitter *w, struct ws_launch *l) {
    if (w->k->columns) put_column_parameters(w, l);
    if (w->y->look_back) put_look_back_parameters(w, l);
    if (w->y->split == 1) return;
    const struct phase *f = &w->p->phases.at[0];
    int64_t offset = 0;
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        buf_printf(&w->b, ", %s *part%u", accumulator_type(w, f->reduce.at[i]), f->reduce.at[i]);
        offset = add_partial(w, l, f->reduce.at[i], offset);
    }
    if (w->y->last_block) add_tickets(w, l);
}

/* The accumulators hold nothing again. */
static void start_again(struct emitter *w, const struct phase *f) {
    const char *subscript = w->y->rows_inner ? "[e][v]" : "[e]";
    open_unrolled(w, "e", w->y->ex);
    if (w->y->rows_inner) open_unrolled(w, "v", w->y->vec);
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "a%u%s = %s;", f->reduce.at[i], subscript, identity_text(w, f->reduce.at[i]));
    close_rows(w);
}

/* The block whose parts are the last to lie in memory finishes all rows of its tile. */
void put_last_block(struct emitter *w) {
    const struct layout *y = w->y;
    const struct phase *f = &w->p->phases.at[0];
    int smem = 0;
    line(w, "if (!k_is_last_block(tickets + px, %d)) return;", y->split);
    start_again(w, f);
    line(w, "#pragma unroll 4");
    open_brace(w, "for (int s = tr; s < %d; s += %d)", y->split, y->t1);
    open_unrolled(w, "e", y->ex);
    if (y->rows_inner) open_unrolled(w, "v", y->vec);
    put_x(w, true);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *acc = arena_printf(w->arena, "a%u%s", v, y->rows_inner ? "[e][v]" : "[e]");
        line(w, "%s = %s;", acc,
             combine_text(
                 w, v, acc,
                 arena_printf(w->arena, "k_load_part(part%u + ((long long)s * nx + x))", v)));
    }
    close_rows(w);
    close_brace(w);
    put_combines(w, f, &smem);
    put_row_values(w, f->after.at, f->after.n);
    put_row_stores(w);
}

/* How the finish lies: threads along x, as the partial results do, and as many along the parts as
 * it takes to have them all under way. */
static struct layout finish_layout(const struct kernel *k, int split) {
    enum { THREADS = 256, LINE = 32, ENOUGH = 1 << 16 };
    int64_t nx = kernel_size(k, AXIS_X);
    int t1 = 1, widest = THREADS;
    for (int t0 = 1; t0 < LINE && t0 < nx; t0 *= 2) widest /= 2;
    while (t1 < widest && t1 * 2 <= split && nx * t1 < ENOUGH) t1 *= 2;
    return (struct layout){.threads = THREADS,
                           .t0 = THREADS / t1,
                           .t1 = t1,
                           .ex = 1,
                           .ur = 1,
                           .vec = 1,
                           .bx = THREADS / t1,
                           .br = 1,
                           .rows_inner = true,
                           .split = split,
                           .cluster = 1};
}

/* Without last_block, the second launch of a split reduction: adds up the parts, in a fixed order;
 * then the values after the phase. */
void emit_finish(struct emitter *w) {
    const struct layout *main_layout = w->y;
    const struct phase *f = &w->p->phases.at[0];
    struct layout y = finish_layout(w->k, main_layout->split);
    w->y = &y;
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    struct ws_launch *l =
        open_kernel(w, arena_printf(w->arena, "%s_finish", w->k->name), y.threads);
    l->grid[0] = tile_count(kernel_size(w->k, AXIS_X), y.bx);
    for (uint32_t i = 0; i < f->reduce.n; i++)
        l->smem +=
            (layout_column_slots(&y) * reduction_bytes(w->k, f->reduce.at[i]) + 15) / 16 * 16;
    line(w, "const int tr = tid / %d, tx = tid %% %d;", y.t0, y.t0);
    line(w, "const k_idx px = (k_idx)blockIdx.x;");
    line(w, "(void)nr; (void)k_smem;");
    put_row_values(w, w->p->before.at, w->p->before.n);
    declare_accumulators(w, f);
    open_scope(w);
    line(w, "const int e = 0, v = 0;");
    put_x(w, true);
    line(w, "#pragma unroll 8");
    open_brace(w, "for (int s = tr; s < %d; s += %d)", y.split, y.t1);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *acc = arena_printf(w->arena, "a%u[e][v]", v);
        line(w, "%s = %s;", acc,
             combine_text(w, v, acc, arena_printf(w->arena, "part%u[(long long)s * nx + x]", v)));
    }
    close_brace(w);
    close_brace(w);
    int smem = 0;
    put_combines(w, f, &smem);
    WS_ASSERT(smem <= l->smem);
    put_row_values(w, f->after.at, f->after.n);
    put_row_stores(w);
    close_brace(w);
    w->y = main_layout;
}
