/* cuda_online.c: sums of exp(x - max) that go along with the maximum (kernel/online.c), in CUDA.
 * Each thread has a maximum and sums of its own, relative to it, until its part of the row is
 * through:
 *
 *     t8[e] = a8[e];                                    before a chunk
 *     for (u, v) a8[e] = k_amax::of(a8[e], v7);
 *     b8[e] = a8[e] == -inf ? 0 : a8[e];                exp(-inf - -inf) is no number
 *     a11[e] *= k_exp(t8[e] - b8[e]);
 *     for (u, v) a11[e] += k_exp(v7 - b8[e]);
 *     ...
 *     o = k_online_row(o = {a8[e], {a11[e]}}, ...);     at the end of the row
 *
 * Where threads along x share a column, the maximum is combined first: then the sums are made
 * relative to that, and combined like any other. */
#include "emit/cuda_rows.h"

static bool is_online_maximum(const struct emitter *w, const struct phase *f, value_id v) {
    for (uint32_t i = 0; i < f->online.n; i++)
        if (kernel_online_maximum(w->k, f->online.at[i]) == v) return true;
    return false;
}

static void remember_maximum(struct emitter *w, value_id v) {
    line(w, "%s t%u%s;", accumulator_type(w, v), v, accumulator_dims(w));
    open_accumulators(w);
    line(w, "t%u%s = a%u%s;", v, w->subscript, v, w->subscript);
    close_rows(w);
}

void remember_maxima(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++)
        if (is_online_maximum(w, f, f->reduce.at[i])) remember_maximum(w, f->reduce.at[i]);
}

static void rescale_by(struct emitter *w, const struct phase *f, value_id max) {
    line(w, "%s b%u%s;", accumulator_type(w, max), max, accumulator_dims(w));
    open_accumulators(w);
    const char *s = w->subscript;
    line(w, "b%u%s = a%u%s == %s ? 0 : a%u%s;", max, s, max, s, identity_text(w, max), max, s);
    line(w, "const %s scale = k_exp(t%u%s - b%u%s);", accumulator_type(w, max), max, s, max, s);
    for (uint32_t i = 0; i < f->online.n; i++)
        if (kernel_online_maximum(w->k, f->online.at[i]) == max)
            line(w, "a%u%s *= scale;", f->online.at[i], s);
    close_rows(w);
    w->where[max] = CHUNK;
}

void rescale_sums(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++)
        if (is_online_maximum(w, f, f->reduce.at[i])) rescale_by(w, f, f->reduce.at[i]);
}

static void rescale_to_row(struct emitter *w, value_id sum) {
    value_id max = kernel_online_maximum(w->k, sum);
    open_accumulators(w);
    const char *s = w->subscript;
    line(w, "a%u%s *= k_exp(t%u%s - a%u%s);", sum, s, max, s, max, s);
    close_rows(w);
}

/* The maximum and its sums at once. That o.max - o.max is 0, or not a number: as the sum is, then.
 */
static void combine_along_row(struct emitter *w, const struct phase *f, value_id max, int *smem) {
    const struct layout *y = w->y;
    value_id *sums = NEW_ARRAY(w->arena, value_id, f->online.n);
    int n = 0, size = reduction_bytes(w->k, max), slots = layout_warps(w->k, y);
    for (uint32_t i = 0; i < f->online.n; i++)
        if (kernel_online_maximum(w->k, f->online.at[i]) == max) sums[n++] = f->online.at[i];
    const char *t = arena_printf(w->arena, "k_online<%d, %s>", n, accumulator_type(w, max));
    if (exchanges(y)) open_exchange(w, arena_printf(w->arena, "(int)sizeof(%s)", t));
    open_unrolled(w, "e", y->ex);
    line(w, "%s o;", t);
    line(w, "o.max = a%u[e];", max);
    for (int i = 0; i < n; i++) line(w, "o.sum[%d] = a%u[e];", i, sums[i]);
    line(w, "o = k_online_row<%d>(o, (%s *)(k_smem + %d) + e * %d);", y->t1, t, *smem, slots);
    *smem += layout_row_slots(w->k, y) * y->ex * size * (1 + n);
    *smem = (*smem + 15) / 16 * 16;
    if (exchanges(y)) {
        const char *blocks = exchange_slots(w, t, *smem);
        put_give(w, "o", blocks);
        close_brace(w);
        close_exchange(w);
        open_unrolled(w, "e", y->ex);
        line(w, "const %s o = k_online_slots<%d>(%s);", t, y->cluster, blocks);
        *smem = (*smem + y->cluster * y->t0 * y->ex * size * (1 + n) + 15) / 16 * 16;
    }
    line(w, "a%u[e] = o.max;", max);
    for (int i = 0; i < n; i++) line(w, "a%u[e] = o.sum[%d] + (o.max - o.max);", sums[i], i);
    close_brace(w);
}

bool combine_online(struct emitter *w, const struct phase *f, value_id v, int *smem) {
    bool sum = false, max = is_online_maximum(w, f, v);
    for (uint32_t i = 0; i < f->online.n; i++) sum |= f->online.at[i] == v;
    if (!w->y->rows_inner) {
        if (max) combine_along_row(w, f, v, smem);
        return max || sum;
    }
    if (max) remember_maximum(w, v);
    if (sum) rescale_to_row(w, v);
    return false;
}
