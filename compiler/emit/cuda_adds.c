/* cuda_adds.c: reductions to which a source contributes where it lands, with sort=4
 * (kernel/hits.c), in CUDA. Nothing is sorted: what sources bring is added up in L2 as whole
 * numbers, of which any order has the same sum, so that the bits are the same in every run:
 *
 *     kernel_x_scales   the exponent of the largest number that lands on each element
 *     kernel_x_adds     atomicAdd(sums + x, (long long)(v * 2^shift)), shift by that exponent
 *     kernel_x          a6[e][v] = (float)(sums[x] * 2^-shift), sums[x] = 0, and what follows
 *
 * Of a sum of 2^n numbers each has 62 - n bits, counted from the largest: more than f32 has. What
 * is loaded as f16 needs no scale, as it is a multiple of 2^-24 less than 2^16, nor do whole
 * numbers. Infinities and nan are bits in a word beside the sum. Sums and words are counters: 0
 * between launches.
 *
 * With sort=5 they are in shared memory of a block that looks at all sources of its elements, in
 * one launch. With sort=3 and several warps so are those of a block, whose sources launches before
 * have found (cuda_turns.c). Those atomics have 32 bits: a sum is two words, and carries. */
#include <string.h>

#include "emit/cuda_rows.h"

enum { THREADS = 256 };

static bool is_whole(struct emitter *w, value_id v) {
    return dtype_is_index(w->k->values.at[v].dtype);
}

static bool any_scales(struct emitter *w, const struct phase *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->reduce.n; i++) any |= !layout_adds_exactly(w->k, f->reduce.at[i]);
    return any;
}

/* Where all sums, and words, begin, by reduction. */
static void put_places(struct emitter *w, const struct phase *f) {
    line(w, "unsigned long long *const sums = (unsigned long long *)tickets;");
    line(w, "unsigned *const words = (unsigned *)(sums + %u * nx);", f->reduce.n);
    line(w, "(void)sums; (void)words;");
}

void open_add(struct emitter *w) {
    line(w, "const bool lands = places[u] != 0xffffffffu;");
    line(w, "const k_idx r = sources[u], landed = %s;",
         layout_brings_same(w->k) ? "elements[u]" : "lands ? (k_idx)places[u] : 0");
    line(w, "(void)r;");
    put_rows_of_tile(w, true);
}

/* What a source brings is kept until the largest of all is known. */
static void keep_adds(struct emitter *w, const struct phase *f) {
    open_brace(w, "if (lands)");
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        line(w, "kept%u[u] = (float)%s;", i, operand_text(w, f->reduce.at[i]));
        line(w, "k_add_scale(words + %d + ((k_idx)places[u] - first), kept%u[u]);",
             (int)i * w->y->bx, i);
    }
    close_brace(w);
}

/* Of a block's sources the one at hand, in shared memory. */
static void put_block_adds(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    int held = y->bx * y->held, all = (int)f->reduce.n * held;
    open_brace(w, "if (lands)");
    line(w, "const int at = (int)(landed - first_tile * %d);", y->bx);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        const char *of = operand_text(w, f->reduce.at[i]);
        int from = (int)i * held;
        if (w->scales)
            line(w, "k_add_scale(words + %d + at, (float)%s);", from, of);
        else
            line(w, "k_add_here<%d>(sums + %d + at, %d, words[%d + at], (float)%s);",
                 layout_adds_bits(w->k), from, all, from, of);
    }
    close_brace(w);
}

/* Nothing is there yet. */
static void clear_sums(struct emitter *w, int all) {
    line(w, "unsigned *const sums = (unsigned *)k_smem, *const words = sums + %d;", 2 * all);
    open_brace(w, "for (int i = tid; i < %d; i += %d)", 3 * all, w->y->threads);
    line(w, "sums[i] = 0;");
    close_brace(w);
}

void put_sums_of_block(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    clear_sums(w, (int)f->reduce.n * y->bx * y->held);
    line(w, "__syncthreads();");
    w->scales = true;
    put_turns_loop(w, f);
    line(w, "__syncthreads();");
    w->scales = false;
    put_turns_loop(w, f);
    line(w, "__syncthreads();");
}

const char *block_sum(struct emitter *w, const struct phase *f, uint32_t i) {
    const struct layout *y = w->y;
    int held = y->bx * y->held, all = (int)f->reduce.n * held;
    return arena_printf(
        w->arena, "k_sum_here<%d>(sums + %d + held * %d + tx, %d, words[%d + held * %d + tx])",
        layout_adds_bits(w->k), (int)i * held, y->bx, all, (int)i * held, y->bx);
}

void put_adds(struct emitter *w, const struct phase *f) {
    if (w->y->turns) {
        put_block_adds(w, f);
        return;
    }
    if (w->y->adds_here) {
        keep_adds(w, f);
        return;
    }
    int bits = layout_adds_bits(w->k);
    open_brace(w, "if (lands)");
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *of = operand_text(w, v),
                   *sum = arena_printf(w->arena, "sums + %u * nx + places[u]", i),
                   *word = arena_printf(w->arena, "words + %u * nx + places[u]", i);
        bool exact = layout_adds_exactly(w->k, v);
        if (w->scales) {
            if (!exact) line(w, "k_add_scale(%s, (float)%s);", word, of);
        } else if (is_whole(w, v)) {
            line(w, "atomicAdd(%s, (unsigned long long)(long long)%s);", sum, of);
        } else if (exact) {
            line(w, "k_add_short(%s, %s, (float)%s);", sum, word, of);
        } else {
            line(w, "k_add_scaled<%d>(%s, *(%s), (float)%s);", bits, sum, word, of);
        }
    }
    close_brace(w);
}

/* Of a thread's sources which they are, and which elements of x they land on; or none. */
static void put_landings(struct emitter *w) {
    struct exprs *e = w->k->ex;
    const struct landing *l = w->k->landing;
    const struct layout *y = w->y;
    long long inner = ex_hint(e, l->inner), spans = y->adds_here ? 1 : layout_spans(w->k);
    line(w, "unsigned places[%d];", y->ur);
    line(w, "k_idx sources[%d], elements[%d];", y->ur, y->ur);
    open_unrolled(w, "u", y->ur);
    if (y->adds_here)
        line(w, "const k_idx wanted = u * %d + tid;", y->threads);
    else
        line(w, "const k_idx wanted = ((k_idx)blockIdx.x * %d + u) * %d + (int)threadIdx.x;", y->ur,
             THREADS);
    line(w, "const k_idx own = k_clamp(wanted, nr * %lld - 1);", inner * spans);
    line(w, "const k_idx r = own / %lld%s;", inner, spans > 1 ? " % nr" : "");
    const char *span = y->adds_here ? "px / tiles"
                       : spans > 1  ? arena_printf(w->arena, "own / (nr * %lld)", inner)
                                    : "0";
    const char *counts, *target = put_target(w, &counts);
    line(w, "const bool lands = wanted == own && %s && %s >= 0 && %s < rows;", counts, target,
         target);
    line(w, "sources[u] = r, elements[u] = %s * %lld + own %% %lld;", span,
         (long long)layout_span(w->k), inner);
    line(w, "const k_idx place = lands ? elements[u] + (k_idx)%s * %lld : -1;", target, inner);
    line(w, "places[u] = place >= %s%s ? (unsigned)place : 0xffffffffu;",
         y->adds_here ? "first" : "0", y->adds_here ? " && place < end" : "");
    line(w, "(void)elements;");
    close_brace(w);
}

/* What a thread's sources bring, an element of each. What is declared for that is out of scope
 * behind it. */
static void put_sources(struct emitter *w, const struct phase *f) {
    const struct layout *all = w->y;
    struct layout one = *all;
    size_t bytes = w->k->values.n * sizeof *w->where;
    void *where = memcpy(arena_alloc(w->arena, bytes), w->where, bytes);
    one.ex = one.vec = 1;
    w->y = &one;
    put_landings(w);
    if (one.adds_here) {
        line(w, "__syncthreads();");
        open_scope(w);
    }
    w->by_source = true;
    declare_packs(w, f);
    put_loads(w, f);
    put_tile(w, f);
    w->by_source = false;
    if (one.adds_here) close_brace(w);
    w->y = all;
    memcpy(w->where, where, bytes);
}

static void put_launch(struct emitter *w, const char *what, bool scales) {
    const struct phase *f = &w->p->phases.at[0];
    int64_t inner = ex_hint(w->k->ex, w->k->landing->inner),
            all = kernel_size(w->k, AXIS_R) * inner * layout_spans(w->k);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    WS_ASSERT(w->out->n_launches < WS_MAX_LAUNCHES);
    *l = (struct ws_launch){.entry = arena_printf(w->arena, "%s_%s", w->k->entry, what),
                            .grid = {tile_count(all, (int64_t)THREADS * w->y->ur), 1, 1},
                            .threads = THREADS};
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", THREADS,
               l->entry);
    add_arguments(w, l);
    put_parameters(w);
    add_tickets(w, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "k_enter();");
    line(w, "const k_idx nx = %s, nr = %s, rows = %s;", ex_text(w, w->k->bound[AXIS_X]),
         ex_text(w, w->k->bound[AXIS_R]), ex_text(w, w->k->landing->rows));
    put_places(w, f);
    w->scales = scales;
    put_sources(w, f);
    w->scales = false;
    close_brace(w);
}

void emit_cuda_adds(struct emitter *w) {
    if (any_scales(w, &w->p->phases.at[0])) put_launch(w, "scales", true);
    put_launch(w, "adds", false);
}

void put_added(struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    put_places(w, f);
    put_row_values(w, w->p->before.at, w->p->before.n);
    declare_accumulators(w, f);
    open_unrolled(w, "e", w->y->ex);
    open_brace(w, "if (%s)", row_is_real(w));
    open_unrolled(w, "v", w->y->vec);
    put_x(w, true);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *sum = arena_printf(w->arena, "sums + %u * nx + x", i),
                   *word = arena_printf(w->arena, "words + %u * nx + x", i);
        if (is_whole(w, v))
            line(w, "a%u[e][v] = (%s)sums[%u * nx + x], sums[%u * nx + x] = 0;", v,
                 accumulator_type(w, v), i, i);
        else if (layout_adds_exactly(w->k, v))
            line(w, "a%u[e][v] = k_take_sum(%s, %s, 24);", v, sum, word);
        else
            line(w, "a%u[e][v] = k_take_scaled<%d>(%s, %s);", v, layout_adds_bits(w->k), sum, word);
        w->where[v] = ARRAY;
    }
    close_brace(w);
    close_brace(w);
    close_brace(w);
    put_row_values(w, f->after.at, f->after.n);
    put_row_stores(w);
}

/* Before all: the block's part of its span, of which nothing is there. */
static void put_sums_here(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    int64_t span = layout_span(w->k);
    int all = (int)f->reduce.n * y->bx;
    line(w, "const k_idx rows = %s, tiles = %lld;", ex_text(w, w->k->landing->rows),
         (long long)tile_count(span, y->bx));
    line(w, "const k_idx first = px / tiles * %lld + px %% tiles * %d;", (long long)span, y->bx);
    line(w, "const k_idx end = k_clamp(first + %d, (px / tiles + 1) * %lld);", y->bx,
         (long long)span);
    line(w, "(void)rows;");
    clear_sums(w, all);
}

void put_added_here(struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    int all = (int)f->reduce.n * w->y->bx, bits = layout_adds_bits(w->k);
    put_sums_here(w, f);
    for (uint32_t i = 0; i < f->reduce.n; i++) line(w, "float kept%u[%d];", i, w->y->ur);
    put_sources(w, f);
    line(w, "__syncthreads();");
    open_unrolled(w, "u", w->y->ur);
    open_brace(w, "if (places[u] != 0xffffffffu)");
    line(w, "const k_idx at = (k_idx)places[u] - first;");
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "k_add_here<%d>(sums + %d + at, %d, words[%d + at], kept%u[u]);", bits,
             (int)i * w->y->bx, all, (int)i * w->y->bx, i);
    close_brace(w);
    close_brace(w);
    line(w, "__syncthreads();");
    put_row_values(w, w->p->before.at, w->p->before.n);
    declare_accumulators(w, f);
    open_unrolled(w, "e", w->y->ex);
    line(w, "const int v = 0, at = e * %d + tx;", w->y->t0);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        line(w, "a%u[e][v] = k_sum_here<%d>(sums + %d + at, %d, words[%d + at]);", f->reduce.at[i],
             bits, (int)i * w->y->bx, all, (int)i * w->y->bx);
        w->where[f->reduce.at[i]] = ARRAY;
    }
    close_brace(w);
    put_row_values(w, f->after.at, f->after.n);
    put_row_stores(w);
}
