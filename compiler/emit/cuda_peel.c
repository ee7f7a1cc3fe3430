/* cuda_peel.c: rows that the vector does not divide (kernel/peel.c), in CUDA. Whole vectors begin
 * at the row's head and go through the text of any other row; the elements before and behind them
 * go through it once more, as vectors of one element:
 *
 *     head[0] = k_head<8>(x*50257, nr);  whole[0] = (nr - head[0]) / 8 * 8;
 *     for (u) {
 *         step = base + (u*256 + tr)*8;
 *         if (step < whole[e]) { r = head[e] + step;   ... }
 *     }
 *     for (u) {
 *         step = u*256 + tr;   r = step < head[e] ? step : whole[e] + step;
 *         if (r < ends) ...
 *     }
 *
 * Of blocks that share a row, the first has its ends. Where all rows of a thread have heads of one
 * length, what is the same for all rows is loaded once. */
#include "emit/cuda_rows.h"

void put_row_ends(struct emitter *w) {
    const struct layout *y = w->y;
    line(w, "k_idx head[%d], whole[%d]; /* elements before a row's first vector; in its vectors */",
         y->ex, y->ex);
    open_unrolled(w, "e", y->ex);
    put_x(w, false);
    line(w, "head[e] = k_head<%d>((k_idx)(%s), nr);", y->head_unit, ex_text(w, y->start));
    if (y->slack)
        line(w, "whole[e] = k_max(nr - head[e] - %d, (k_idx)0) / %d * %d;", y->slack, y->vec,
             y->vec);
    else
        line(w, "whole[e] = (nr - head[e]) / %d * %d;", y->vec, y->vec);
    line(w, "(void)x;");
    close_brace(w);
    const char *first = y->grid_r        ? "base == 0 ? nr : 0"
                        : y->cluster > 1 ? "rank == 0 ? nr : 0"
                        : y->split > 1   ? "part == 0 ? nr : 0"
                                         : "nr";
    line(w, "const k_idx ends = %s;", first);
}

void open_ends(struct emitter *w, struct ends_scope *s) {
    s->y = w->y;
    s->ends = *w->y;
    s->ends.ur = layout_ends(w->y);
    s->ends.vec = 1;
    w->y = &s->ends;
    w->ends = true;
}

void close_ends(struct emitter *w, const struct ends_scope *s) {
    w->y = s->y;
    w->ends = false;
}

/* Steps of a block that keeps its share of the row in which every thread has a vector, whatever the
 * head, and even in the last block of a cluster. */
static int64_t sure_steps(const struct emitter *w) {
    const struct layout *y = w->y;
    int64_t nr;
    if (!y->one_read || !ex_is_const(w->k->ex, w->k->bound[AXIS_R], &nr)) return 0;
    int64_t least = nr - y->head_unit + 1 - y->slack - (int64_t)(y->cluster - 1) * y->br;
    return least < 0 ? 0 : least / y->vec / y->t1;
}

void open_row_columns(struct emitter *w) {
    const struct layout *y = w->y;
    if (w->ends) {
        line(w, "const k_idx step = u * %d + tr;", y->t1);
        line(w, "const k_idx r = step < head[e] ? step : whole[e] + step;");
        open_brace(w, "if (r < ends)");
        return;
    }
    int64_t sure = sure_steps(w);
    line(w, "const k_idx step = base + (u * %d + tr) * %d, r = head[e] + step;", y->t1, y->vec);
    if (sure > 0)
        open_brace(w, "if (u < %lld || step < whole[e])", (long long)(sure < y->ur ? sure : y->ur));
    else
        open_brace(w, "if (step < whole[e])");
}

/* Rows beyond the last may differ; they are not stored. */
void open_common_columns(struct emitter *w) {
    open_scope(w);
    line(w, "const int e = 0;");
    open_row_columns(w);
}

void close_common_columns(struct emitter *w) {
    close_brace(w);
    close_brace(w);
}
