/* cuda_split.c: reductions whose rows are spread over blocks, in CUDA. Each block leaves what it
 * has in the workspace as part[block][x]; then a second launch adds that up, or all blocks do,
 * which meet and go on (meet=1), or the last block to come:
 *
 *     if (tr == 0) part1[part * nx + x] = a1[e];
 *     if (!k_is_last_block(tickets + px, 64)) return;
 *     a1[e] = 0;
 *     for (int s = tr; s < 64; s += 32)
 *         for (i ...) k_load_parts<4>(l1[i][e], part1 + (s + i * 8) * nx + x);
 *         for (i ...) a1[e][v] = k_sum::of(a1[e][v], l1[i][e][v]);
 *     a1[e] = k_reduce_columns<k_sum, 32, 8, 1>(a1[e], ...);
 *
 * The second launch has a thread load its parts before it adds the first:
 *
 *     for (int i = 0; i < 17; i++) l1[i] = part1[(tr + i * 8) * nx + x];
 *     for (int i = 0; i < 17; i++) a1[e] = k_sum::of(a1[e], l1[i]);
 *
 * The last block to come takes a fence and two more trips to L2 after the last addition. Where
 * threads lie along rows, which leave few values, these go beside flags instead, for the last block
 * to begin, which takes them up as they come:
 *
 *     const unsigned drawn = k_draw(counter, 64);
 *     ...
 *     if (tr == 0) k_leave_part(words + part, 64, a1[e]);
 *     if (!k_has_drawn_last(drawn, 64)) return;
 *     do k_look_at_parts<256>(l1[e], words + tr, 64, 64 - tr); while (!k_are_there(1, l1[e]));
 *     a1[e] = k_sum::of(0, k_part(l1[e], 0));
 *     a1[e] = k_reduce_row<k_sum, 256>(a1[e], ...);
 *
 * In all of these the order of additions is that of the parts: the same bits in every run. */
#include "emit/cuda_rows.h"

void put_draw(struct emitter *w) {
    line(w, "const unsigned drawn = k_draw(tickets + px, %d);", w->y->split);
}

/* What blocks leave in the workspace: reductions of phase 0, or of all that they meet in. */
static uint32_t phases_parted(const struct emitter *w) {
    return w->y->meets ? block_meetings(w->p) : 1;
}

static long long words_apart(const struct layout *y) { return (long long)y->bx * y->split; }

/* Where the parts of reduction `index` of row e begin. */
static const char *row_words(struct emitter *w, uint32_t index) {
    const struct phase *f = &w->p->phases.at[0];
    const struct layout *y = w->y;
    long long before = 0;
    for (uint32_t i = 0; i < index; i++) before += reduction_words(w->k, f->reduce.at[i]);
    const char *row = y->t0 == 1 ? "e" : arena_printf(w->arena, "e * %d + tx", y->t0);
    bool wide = words_apart(y) * kernel_part_words(w->k) > INT32_MAX;
    return arena_printf(w->arena, "words + (%lld%s + %s) * %d", before * y->bx, wide ? "LL" : "",
                        row, y->split);
}

/* Of each tile of rows there is word[value][its 4 bytes][row][part]; rows beyond the last have
 * words, too. */
static void put_parts_in_words(struct emitter *w, const struct phase *f) {
    line(w,
         "unsigned long long *const words = (unsigned long long *)(tickets + ((nx + %d) / %d + %d) "
         "/ %d * %d) + (long long)px * %lld;",
         w->y->bx - 1, w->y->bx, COUNTERS_OF_LINE - 1, COUNTERS_OF_LINE, COUNTERS_OF_LINE,
         words_apart(w->y) * kernel_part_words(w->k));
    open_brace(w, "if (tr == 0)");
    open_unrolled(w, "e", w->y->ex);
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "k_leave_part(%s + part, %lld, a%u[e]);", row_words(w, i), words_apart(w->y),
             f->reduce.at[i]);
    close_brace(w);
    close_brace(w);
}

static void put_parts(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
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

/* split > 1: the block's partial results go to the workspace as w[part][x], or into words. */
void put_partials(struct emitter *w) {
    int smem = 0;
    const struct phase *f = &w->p->phases.at[0];
    put_combines(w, f, &smem);
    WS_ASSERT(smem <= w->y->smem);
    (w->y->in_words ? put_parts_in_words : put_parts)(w, f);
}

void add_tickets(struct emitter *w, struct ws_launch *l) {
    WS_ASSERT(l->n_args < WS_MAX_ARGS);
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
    buf_puts(&w->b, ", unsigned *tickets");
}

void put_partial_parameters(struct emitter *w, struct ws_launch *l) {
    if (w->k->columns) put_column_parameters(w, l);
    if (w->y->look_back) put_look_back_parameters(w, l);
    if (layout_sorts(w->k, w->y)) put_sort_parameters(w, l);
    if (layout_adds_in_l2(w->y)) add_tickets(w, l);
    if (w->y->split == 1) return;
    int64_t offset = 0;
    for (uint32_t n = 0; n < phases_parted(w) && !w->y->in_words; n++) {
        const struct phase *f = &w->p->phases.at[n];
        for (uint32_t i = 0; i < f->reduce.n; i++) {
            value_id v = f->reduce.at[i];
            buf_printf(&w->b, ", %s *part%u", accumulator_type(w, v), v);
            offset = add_partial(w, l, v, offset);
        }
    }
    if (w->y->last_block || w->y->meets) add_tickets(w, l);
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

/* Parts that a thread looks at at once: as many as it has, in 8 words of all values of its rows, 16
 * registers, or one. */
static int words_at_once(struct emitter *w) {
    enum { WORDS = 8 };
    int n = (w->y->split + w->y->t1 - 1) / w->y->t1,
        most = WORDS / (w->y->ex * kernel_part_words(w->k));
    return n < most ? n : most > 1 ? most : 1;
}

/* Looks until they are there, all at once; tests them the other way round. */
static void await_words(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    line(w, "unsigned there = 0;");
    open_brace(w, "while (!there)");
    open_unrolled(w, "e", y->ex);
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "k_look_at_parts<%d>(l%u[e], %s + s, %lld, %d - s);", y->t1, f->reduce.at[i],
             row_words(w, i), words_apart(y), y->split);
    close_brace(w);
    line(w, "there = 1;");
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = %d; e >= 0; e--)", y->ex - 1);
    for (uint32_t i = f->reduce.n; i-- > 0;)
        line(w, "there = k_are_there(there, l%u[e]);", f->reduce.at[i]);
    close_brace(w);
    line(w, "if (!there) k_look_away();");
    close_brace(w);
}

/* Takes the parts up as they come, and clears their words. */
static void add_words(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    int at_once = words_at_once(w);
    bool once = at_once * y->t1 >= y->split;
    if (once) {
        line(w, "const int s = tr;");
        open_brace(w, "if (s < %d)", y->split);
    } else {
        line(w, "#pragma unroll 1");
        open_brace(w, "for (int s = tr; s < %d; s += %d)", y->split, at_once * y->t1);
    }
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "k_left<%s, %d> l%u[%d];", accumulator_type(w, f->reduce.at[i]), at_once,
             f->reduce.at[i], y->ex);
    await_words(w, f);
    open_unrolled(w, "e", y->ex);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *acc = arena_printf(w->arena, "a%u[e]", v);
        line(w, "#pragma unroll");
        line(w, "for (int u = 0; u < %d; u++)", at_once);
        line(w, "    if (s + u * %d < %d) %s = %s;", y->t1, y->split, acc,
             combine_text(w, v, acc, arena_printf(w->arena, "k_part(l%u[e], u)", v)));
        line(w, "k_clear_parts<%d>(l%u[e], %s + s, %lld, %d - s);", y->t1, v, row_words(w, i),
             words_apart(y), y->split);
    }
    close_brace(w);
    put_part_folds(w, f, at_once);
    close_brace(w);
}

/* Parts that a thread takes up at once: as many as it has, in 64 registers, or one. */
static int parts_taken(struct emitter *w, const struct phase *f) {
    enum { REGISTERS = 64 };
    const struct layout *y = w->y;
    int words = 0, n = (y->split + y->t1 - 1) / y->t1, taken = 1;
    for (uint32_t i = 0; i < f->reduce.n; i++) words += reduction_words(w->k, f->reduce.at[i]);
    while (taken * 2 <= n && taken * 2 * words * y->ex * y->vec <= REGISTERS) taken *= 2;
    return taken;
}

/* All loads stand before the first addition: each is a trip to L2, and others need not wait. */
static void load_parts(struct emitter *w, const struct phase *f, int taken) {
    const struct layout *y = w->y;
    bool vectors = rows_exact(w), all = y->split % (y->t1 * taken) == 0;
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "%s l%u[%d][%d][%d];", accumulator_type(w, f->reduce.at[i]), f->reduce.at[i], taken,
             y->ex, y->vec);
    open_unrolled(w, "i", taken);
    if (!all) open_brace(w, "if (s + i * %d < %d)", y->t1, y->split);
    open_unrolled(w, "e", y->ex);
    if (!vectors) open_unrolled(w, "v", y->vec);
    put_x(w, !vectors);
    line(w, "const long long at = (long long)(s + i * %d) * nx + x;", y->t1);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        if (vectors)
            line(w, "k_load_parts<%d>(l%u[i][e], part%u + at);", y->vec, v, v);
        else
            line(w, "l%u[i][e][v] = k_load_part(part%u + at);", v, v);
    }
    if (!vectors) close_brace(w);
    close_brace(w);
    if (!all) close_brace(w);
    close_brace(w);
}

/* Takes the parts up from the workspace. */
static void add_parts(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    int taken = parts_taken(w, f);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int s = tr; s < %d; s += %d)", y->split, y->t1 * taken);
    load_parts(w, f, taken);
    open_unrolled(w, "i", taken);
    if (y->split % (y->t1 * taken)) open_brace(w, "if (s + i * %d < %d)", y->t1, y->split);
    open_unrolled(w, "e", y->ex);
    open_unrolled(w, "v", y->vec);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *acc = arena_printf(w->arena, "a%u[e][v]", v),
                   *part = arena_printf(w->arena, "l%u[i][e][v]", v);
        if (w->k->values.at[v].reduction == REDUCTION_M2)
            part = arena_printf(w->arena, "k_settled(%s)", part);
        line(w, "%s = %s;", acc, combine_text(w, v, acc, part));
    }
    close_rows(w);
    if (y->split % (y->t1 * taken)) close_brace(w);
    close_brace(w);
    put_part_folds(w, f, taken);
    close_brace(w);
}

/* The block whose parts are the last to lie in memory, or that was the last to begin, finishes all
 * rows of its tile. */
void put_last_block(struct emitter *w) {
    const struct layout *y = w->y;
    const struct phase *f = &w->p->phases.at[0];
    int smem = 0;
    line(w,
         y->in_words ? "if (!k_has_drawn_last(drawn, %d)) return;"
                     : "if (!k_is_last_block(tickets + px, %d)) return;",
         y->split);
    start_again(w, f);
    w->folds = layout_part_folds(w->k, (y->split + y->t1 - 1) / y->t1);
    if (!phase_rounds(w, f)) w->folds.levels = 0;
    if (w->folds.levels) open_scope(w);
    declare_folds(w, f);
    (y->in_words ? add_words : add_parts)(w, f);
    put_unfolded(w, f);
    if (w->folds.levels) close_brace(w);
    put_combines(w, f, &smem);
    put_row_values(w, f->after.at, f->after.n);
    put_row_stores(w);
}

static int bytes_of(const struct kernel *k, const value_id *sums, uint32_t n) {
    int bytes = 0;
    for (uint32_t i = 0; i < n; i++) bytes += reduction_bytes(k, sums[i]);
    return bytes;
}

/* Parts that a thread of a second launch has under way at a time: as many as 64 of its registers
 * hold, or 32 in blocks of 1024, which leave it 64. */
static int parts_at_once(int threads, int bytes) {
    enum { MOST = 32 };
    int fit = (threads <= 512 ? 64 : 32) * 4 / bytes;
    return fit > MOST ? MOST : fit > 1 ? fit : 1;
}

/* A trip to memory takes 0.7 us, and all of a second launch some 3: a column's parts are to be
 * under way together, if more threads along them can see to that and are on the device at the same
 * time. */
void spread_parts(const struct kernel *k, const value_id *sums, uint32_t n, int parts,
                  int64_t columns, struct layout *y) {
    enum { SMEM = 48 << 10 }; /* bytes that a block has unasked */
    const struct device_limits *d = k->limits;
    int bytes = bytes_of(k, sums, n);
    while (y->threads * 2 <= d->max_threads_block && y->threads * 2 * bytes <= SMEM &&
           (parts + y->t1 - 1) / y->t1 > parts_at_once(y->threads, bytes) && y->t1 * 2 <= parts &&
           tile_count(columns, y->t0) * y->threads * 2 <= (int64_t)d->units * d->max_threads_unit)
        y->threads *= 2, y->t1 *= 2;
}

const char *part_at(struct emitter *w, const struct parts *p, value_id v, const char *s) {
    if (p->rows <= 1)
        return arena_printf(w->arena, "part%u[(long long)%s * %s + %s]", v, s, p->width, p->at);
    return arena_printf(w->arena, "part%u[(long long)(%s / %d) * %s + %s * %d + %s %% %d]", v, s,
                        p->rows, p->width, p->at, p->rows, s, p->rows);
}

/* Loads n parts, `from` and every t1th that follows, the last of which a thread may lack if it is
 * beyond `parts`; then adds them. A condition on the addition instead would have the compiler move
 * the load behind it. States of m2 are joined by one division, not by three each. */
static void put_batch(struct emitter *w, const struct parts *p, const char *from, int n,
                      bool exact) {
    for (uint32_t i = 0; i < p->n; i++)
        line(w, "%s l%u[%d];", accumulator_type(w, p->sums[i]), p->sums[i], n);
    open_unrolled(w, "i", n);
    line(w, "const int s = %s + i * %d;", from, p->t1);
    if (p->chunks) line(w, "const int number = s * %d + chunk;", p->chunks);
    for (uint32_t i = 0; i < p->n; i++) {
        value_id v = p->sums[i];
        const char *part = part_at(w, p, v, p->chunks ? "number" : "s");
        if (exact)
            line(w, "l%u[i] = %s;", v, part);
        else
            line(w, "l%u[i] = i < %d || %s < %d ? %s : %s;", v, n - 1, p->chunks ? "number" : "s",
                 p->parts, part, identity_text(w, v));
    }
    close_brace(w);
    uint32_t together = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        value_id v = p->sums[i];
        if (w->k->values.at[v].reduction != REDUCTION_M2) continue;
        const char *sum = arena_printf(w->arena, "a%u%s", v, p->subscript),
                   *all = arena_printf(w->arena, "k_m2_settled<%d>(l%u, 1)", n, v);
        line(w, "%s = %s;", sum, combine_text(w, v, sum, all));
        together++;
    }
    if (together == p->n) return;
    open_unrolled(w, "i", n);
    for (uint32_t i = 0; i < p->n; i++) {
        value_id v = p->sums[i];
        const char *sum = arena_printf(w->arena, "a%u%s", v, p->subscript);
        if (w->k->values.at[v].reduction != REDUCTION_M2)
            line(w, "%s = %s;", sum, combine_text(w, v, sum, arena_printf(w->arena, "l%u[i]", v)));
    }
    close_brace(w);
}

/* What is above the accumulators (kernel/chain.c), which are folded every so many batches; 0: they
 * get all. */
static void put_batch_uppers(struct emitter *w, const struct parts *p, const struct folds *f) {
    for (uint32_t i = 0; i < p->n; i++) {
        value_id v = p->sums[i];
        line(w, "%s up%u[%d];", accumulator_type(w, v), v, f->levels);
        line(w, "for (int i = 0; i < %d; i++) up%u[i] = %s;", f->levels, v, identity_text(w, v));
    }
    line(w, "unsigned folds = 0;");
    line(w, "int since = 0;");
}

static void put_batch_folds(struct emitter *w, const struct parts *p, const struct folds *f,
                            int every) {
    if (every) open_brace(w, "if (++since == %d)", every);
    for (uint32_t i = 0; i < p->n; i++) {
        value_id v = p->sums[i];
        const char *a = arena_printf(w->arena, "a%u%s", v, p->subscript);
        const char *op = reduction_operator(w->k->values.at[v].reduction);
        if (every)
            line(w, "k_fold<%s, %d>(up%u, %s, (%s)%s, folds);", op, f->radix, v, a,
                 accumulator_type(w, v), identity_text(w, v));
        else
            line(w, "%s = k_unfold<%s>(up%u, %s);", a, op, v, a);
    }
    if (!every) return;
    line(w, "folds++, since = 0;");
    close_brace(w);
}

void put_parts_sum(struct emitter *w, const struct parts *p, int threads) {
    int parts = p->chunks ? (p->parts + p->chunks - 1) / p->chunks : p->parts;
    int each = (parts + p->t1 - 1) / p->t1,
        most = parts_at_once(threads, bytes_of(w->k, p->sums, p->n));
    int turns = (each + most - 1) / most, n = (each + turns - 1) / turns, step = n * p->t1;
    int whole = turns > 1 ? (parts - (p->chunks > 0)) / step * step : 0, left = parts - whole;
    const struct folds f = turns > 1 ? layout_part_folds(w->k, each) : (struct folds){0};
    if (f.levels) put_batch_uppers(w, p, &f);
    if (whole) {
        open_brace(w, "for (int from = tr; from < %d; from += %d)", whole, step);
        put_batch(w, p, "from", n, true);
        if (f.levels) put_batch_folds(w, p, &f, f.block / n);
        close_brace(w);
    }
    if (left) {
        open_scope(w);
        put_batch(w, p, whole ? arena_printf(w->arena, "%d + tr", whole) : "tr",
                  (left + p->t1 - 1) / p->t1, left % p->t1 == 0 && !p->chunks);
        close_brace(w);
    }
    if (f.levels) put_batch_folds(w, p, &f, 0);
}

/* All blocks of a row wait for each other's parts, and take up all of them. The block's own
 * reductions had the shared memory in which those of the parts will be, but for a barrier. */
void put_meeting(struct emitter *w, uint32_t phase, int smem) {
    const struct layout *y = w->y;
    const struct phase *f = &w->p->phases.at[phase];
    struct parts parts = {.sums = f->reduce.at,
                          .n = f->reduce.n,
                          .parts = y->split,
                          .t1 = y->t1,
                          .width = "nx",
                          .at = "x",
                          .subscript = "[e]"};
    put_combines(w, f, &smem);
    put_parts(w, f);
    line(w, "k_meet_parts<%d>(tickets + %lld + px, %d, 1);", y->threads,
         1 + (long long)phase * tile_count(kernel_size(w->k, AXIS_X), y->bx), y->split);
    start_again(w, f);
    open_scope(w);
    line(w, "const int e = 0;");
    put_x(w, true);
    put_parts_sum(w, &parts, y->threads);
    close_brace(w);
}

/* How the finish lies: threads along x, as the partial results do, and as many along the parts as
 * it takes to have them all under way. */
static struct layout finish_layout(const struct kernel *k, int split) {
    enum { THREADS = 256, LINE = 32 /* f32 */, ENOUGH = 1 << 16 };
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
    spread_parts(w->k, f->reduce.at, f->reduce.n, y.split, kernel_size(w->k, AXIS_X), &y);
    w->y = &y;
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    struct ws_launch *l =
        open_kernel(w, arena_printf(w->arena, "%s_finish", w->k->entry), y.threads);
    l->grid[0] = tile_count(kernel_size(w->k, AXIS_X), y.bx);
    for (uint32_t i = 0; i < f->reduce.n; i++)
        l->smem +=
            (layout_column_slots(w->k, &y) * reduction_bytes(w->k, f->reduce.at[i]) + 15) / 16 * 16;
    line(w, "const int tr = tid / %d, tx = tid %% %d;", y.t0, y.t0);
    line(w, "const k_idx px = (k_idx)blockIdx.x;");
    line(w, "(void)nr; (void)k_smem;");
    put_row_values(w, w->p->before.at, w->p->before.n);
    declare_accumulators(w, f);
    open_scope(w);
    line(w, "const int e = 0, v = 0;");
    put_x(w, true);
    struct parts parts = {.sums = f->reduce.at,
                          .n = f->reduce.n,
                          .parts = y.split,
                          .t1 = y.t1,
                          .width = "nx",
                          .at = "x",
                          .subscript = "[e][v]"};
    put_parts_sum(w, &parts, y.threads);
    close_brace(w);
    int smem = 0;
    put_combines(w, f, &smem);
    WS_ASSERT(smem <= l->smem);
    put_row_values(w, f->after.at, f->after.n);
    put_row_stores(w);
    close_brace(w);
    w->y = main_layout;
}
