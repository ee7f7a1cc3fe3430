/* cuda_own.c: reductions to which a source contributes where it lands, with sort=2 (kernel/hits.c),
 * in CUDA. Launches before have sorted the sources, and listed where each row's begin: a thread
 * goes along those of its own vector, and of nobody else, with sums in registers:
 *
 *     for (unsigned from = begin[row]; from < begin[row + 1]; from += 2)
 *         for (u) { r = order[from + u]; ... }             under way together
 *         for (u, e, v) if (lands) a6[e][v] = k_sum::of(a6[e][v], v5);
 *
 * Where rows begin again along x, elements e are those at one place of as many spans, to which the
 * same sources contribute. The order of additions is that of the sources. */
#include "emit/cuda_rows.h"

static bool spans_exact(const struct emitter *w) { return layout_spans(w->k) % w->y->ex == 0; }

static bool tiles_exact(const struct emitter *w) {
    return layout_span(w->k) % (w->y->bx / w->y->ex) == 0;
}

void put_own_hit_x(struct emitter *w, bool element) {
    const char *span = "span0 + e", *v = element ? " + v" : "";
    if (layout_spans(w->k) == 1) {
        line(w, "const k_idx x = place%s;", v);
        return;
    }
    if (!spans_exact(w))
        span = arena_printf(w->arena, "k_clamp(span0 + e, (k_idx)%lld)",
                            (long long)layout_spans(w->k) - 1);
    line(w, "const k_idx x = (%s) * %lld + place%s;", span, (long long)layout_span(w->k), v);
}

const char *own_hit_is_real(struct emitter *w) {
    const char *place = tiles_exact(w) ? "true" : "is_place";
    if (spans_exact(w)) return place;
    return arena_printf(w->arena, "%s && span0 + e < %lld", place, (long long)layout_spans(w->k));
}

/* Where the thread is in all spans; behind the last it is there again, and stores nothing. */
static void put_place(struct emitter *w) {
    const struct layout *y = w->y;
    int tile = y->bx / y->ex;
    long long span = layout_span(w->k);
    line(w, "const k_idx tiles = %lld;", (long long)tile_count(span, tile));
    line(w, "const k_idx span0 = px / tiles * %d, wanted = px %% tiles * %d + tx * %d;", y->ex,
         tile, y->vec);
    if (tiles_exact(w)) {
        line(w, "const k_idx place = wanted;");
    } else {
        line(w, "const bool is_place = wanted < %lld;", span);
        line(w, "const k_idx place = k_clamp(wanted, (k_idx)%lld);", span - y->vec);
        line(w, "(void)is_place;");
    }
    line(w, "(void)span0;");
}

/* Of those that are under way together the last ones may be the row's last again, which then does
 * not land. */
void open_own_hit(struct emitter *w) {
    line(w, "const bool lands = from + u < to;");
    line(w, "const k_idx r = (k_idx)order[lands ? from + u : to - 1];");
    line(w, "(void)r;");
}

static void put_range(struct emitter *w) {
    struct exprs *e = w->k->ex;
    line(w, "unsigned from, to;");
    open_scope(w);
    line(w, "const k_idx x = place;");
    line(w, "const k_idx row = %s;",
         ex_text(w, ex_div(e, w->k->axis[AXIS_X], w->k->landing->inner)));
    line(w, "from = begin[row], to = begin[row + 1];");
    close_brace(w);
}

void put_own_hits(struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    put_place(w);
    if (w->k->lists) put_lists(w);
    put_row_values(w, w->p->before.at, w->p->before.n);
    put_range(w);
    declare_accumulators(w, f);
    w->folds = layout_row_folds(w->k, w->y);
    declare_folds(w, f);
    open_brace(w, "for (; from < to; from += %d)", w->y->ur);
    declare_packs(w, f);
    put_loads(w, f);
    put_tile(w, f);
    put_tile_folds(w, f);
    close_brace(w);
    put_unfolded(w, f);
    for (uint32_t i = 0; i < f->reduce.n; i++) w->where[f->reduce.at[i]] = ARRAY;
    put_row_values(w, f->after.at, f->after.n);
    put_row_stores(w);
}
