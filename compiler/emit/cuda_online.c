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
 *     t8[e] = a8[e];  a8[e] = k_reduce_row(a8[e]);      at the end of the row
 *     a11[e] *= k_exp(t8[e] - a8[e]);  a11[e] = k_reduce_row(a11[e]); */
#include "emit/cuda_rows.h"

static void open_accumulators(struct emitter *w) {
    open_unrolled(w, "e", w->y->ex);
    if (w->y->rows_inner) open_unrolled(w, "v", w->y->vec);
    w->subscript = w->y->rows_inner ? "[e][v]" : "[e]";
}

bool is_online_maximum(const struct emitter *w, const struct phase *f, value_id v) {
    for (uint32_t i = 0; i < f->online.n; i++)
        if (kernel_online_maximum(w->k, f->online.at[i]) == v) return true;
    return false;
}

void remember_maximum(struct emitter *w, value_id v) {
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

void rescale_to_row(struct emitter *w, value_id sum) {
    value_id max = kernel_online_maximum(w->k, sum);
    open_accumulators(w);
    const char *s = w->subscript;
    line(w, "a%u%s *= k_exp(t%u%s - a%u%s);", sum, s, max, s, max, s);
    close_rows(w);
}
