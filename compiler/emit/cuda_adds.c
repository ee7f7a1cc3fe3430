/* cuda_adds.c: reductions to which a source contributes where it lands, with sort=4 (kernel/hits.c),
 * in CUDA. Nothing is sorted: what sources bring is added up in L2 as whole numbers, of which any
 * order has the same sum, so that the bits are the same in every run:
 *
 *     kernel_x_scales   the exponent of the largest number that lands on each element
 *     kernel_x_adds     atomicAdd(sums + x, (long long)(v * 2^shift)), shift by that exponent
 *     kernel_x          a6[e][v] = (float)(sums[x] * 2^-shift), sums[x] = 0, and what follows
 *
 * Of a sum of 2^n numbers each has 62 - n bits, counted from the largest: more than f32 has. What is
 * loaded as f16 needs no scale, as it is a multiple of 2^-24 less than 2^16, nor do whole numbers.
 * Infinities and nan are bits in a word beside the sum. Sums and words are counters: 0 between
 * launches. */
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
    line(w, "const k_idx r = sources[u], landed = lands ? (k_idx)places[u] : 0;");
    line(w, "(void)r;");
    put_rows_of_tile(w, true);
}

void put_adds(struct emitter *w, const struct phase *f) {
    int bits = layout_adds_bits(w->k);
    open_brace(w, "if (lands)");
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *of = operand_text(w, v), *sum = arena_printf(w->arena, "sums + %u * nx + x", i),
                   *word = arena_printf(w->arena, "words + %u * nx + x", i);
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
    int64_t inner = ex_hint(e, l->inner), spans = layout_spans(w->k);
    line(w, "unsigned places[%d];", w->y->ur);
    line(w, "k_idx sources[%d];", w->y->ur);
    open_unrolled(w, "u", w->y->ur);
    line(w, "const k_idx wanted = ((k_idx)blockIdx.x * %d + u) * %d + (int)threadIdx.x;", w->y->ur,
         THREADS);
    line(w, "const k_idx own = k_clamp(wanted, nr * %lld - 1);", (long long)(inner * spans));
    line(w, "const k_idx r = own / %lld%s;", (long long)inner, spans > 1 ? " % nr" : "");
    const char *counts, *target = put_target(w, &counts);
    line(w, "sources[u] = r;");
    line(w, "places[u] = 0xffffffffu;");
    line(w, "if (wanted == own && %s && %s >= 0 && %s < rows) places[u] = (unsigned)(", counts,
         target, target);
    line(w, "    (%s(k_idx)%s) * %lld + own %% %lld);",
         spans > 1 ? arena_printf(w->arena, "own / (nr * %lld) * rows + ", (long long)inner) : "",
         target, (long long)inner, (long long)inner);
    close_brace(w);
}

static void put_launch(struct emitter *w, const char *what, bool scales) {
    const struct phase *f = &w->p->phases.at[0];
    const struct layout *main_layout = w->y;
    struct layout one = *w->y; /* a thread has an element of each source */
    size_t bytes = w->k->values.n * sizeof *w->where;
    void *where = memcpy(arena_alloc(w->arena, bytes), w->where, bytes);
    int64_t inner = ex_hint(w->k->ex, w->k->landing->inner),
            all = kernel_size(w->k, AXIS_R) * inner * layout_spans(w->k);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    WS_ASSERT(w->out->n_launches < WS_MAX_LAUNCHES);
    *l = (struct ws_launch){.entry = arena_printf(w->arena, "%s_%s", w->k->entry, what),
                            .grid = {tile_count(all, (int64_t)THREADS * w->y->ur), 1, 1},
                            .threads = THREADS};
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", THREADS, l->entry);
    add_arguments(w, l);
    put_parameters(w);
    add_tickets(w, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "k_enter();");
    line(w, "const k_idx nx = %s, nr = %s, rows = %s;", ex_text(w, w->k->bound[AXIS_X]),
         ex_text(w, w->k->bound[AXIS_R]), ex_text(w, w->k->landing->rows));
    put_places(w, f);
    one.ex = one.vec = 1;
    w->y = &one, w->scales = scales;
    put_landings(w);
    w->by_source = true;
    declare_packs(w, f);
    put_loads(w, f);
    put_tile(w, f);
    w->by_source = false;
    w->y = main_layout, w->scales = false;
    close_brace(w);
    memcpy(w->where, where, bytes); /* what was declared is out of scope */
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
