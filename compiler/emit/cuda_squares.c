/* cuda_squares.c: sums of (f - u)^2 that go along with the reductions that u stands on
 * (kernel/online.c), in CUDA. Of a variance, with its mean:
 *
 *     k_squares<float> s7[1];                            by differences from the mean so far
 *     for (u, v) s7[e] = k_add_near(s7[e], v1, v == 0);
 *     a2[e] = k_reduce_row<k_sum, 256>(a2[e], ...);
 *     a4[e] = k_div(a2[e], 4096);
 *     a7[e] = k_squares_about(s7[e], a4[e]);
 *     a7[e] = k_reduce_row<k_sum, 256>(a7[e], ...); */
#include "emit/cuda_rows.h"

void declare_squares(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->squares.n; i++) {
        value_id v = f->squares.at[i];
        const char *t = arena_printf(w->arena, "k_squares<%s>", accumulator_type(w, v));
        line(w, "%s s%u%s;", t, v, accumulator_dims(w));
        open_accumulators(w);
        line(w, "s%u%s = %s{0, 0, 0, 0};", v, w->subscript, t);
        close_rows(w);
    }
}

/* Where n may be a power of two, and the number that elements differ from is to be looked at: at a
 * vector's begin, or a tile's. Loops that are unrolled count in constants. */
const char *may_move(struct emitter *w) {
    const struct layout *y = w->y;
    int steps = w->folds.levels ? layout_fold_steps(y) : y->ur;
    if (!y->rows_inner) return "v == 0";
    if (y->one_read || y->peel || steps & (steps - 1)) return "true";
    return steps < y->ur ? arena_printf(w->arena, "u %% %d == 0", steps) : "u == 0";
}

void put_squares(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->squares.n; i++) {
        value_id v = f->squares.at[i], of = kernel_online_square(w->k, v, NULL);
        const char *s = w->subscript;
        line(w, "s%u%s = k_add_near(s%u%s, (%s)%s, %s);", v, s, v, s, accumulator_type(w, v),
             ref(w, of), may_move(w));
    }
}

void settle_squares(struct emitter *w, const struct phase *f, int *smem, struct phase *rest) {
    struct phase known = {0}, late = {0};
    block_split_after(w->p, f, &known, rest);
    put_row_values(w, known.after.at, known.after.n);
    for (uint32_t i = 0; i < f->squares.n; i++) {
        value_id v = f->squares.at[i], about;
        kernel_online_square(w->k, v, &about);
        line(w, "%s a%u%s;", accumulator_type(w, v), v, accumulator_dims(w));
        open_accumulators(w);
        line(w, "a%u%s = k_squares_about(s%u%s, (%s)%s);", v, w->subscript, v, w->subscript,
             accumulator_type(w, v), ref(w, about));
        close_rows(w);
        vec_push(w->arena, &late.reduce, v);
    }
    put_combines(w, &late, smem);
}
