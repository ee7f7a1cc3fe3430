/* cuda_window.c: windows of vectors that several loads share (kernel/window.c), in CUDA:
 *
 *     s0[e][u][0] = k_load_if<k_bf16, 8>(0 <= r*2 - 1, p0 + (r*2 + x*224 - 8));
 *     s0[e][u][1] = k_load<k_bf16, 8>(p0 + (r*2 + x*224));
 *     ...
 *     const float v1 = (v0 ? k_get(s0[e][u][(v * 2 + 7) / 8], (v * 2 + 7) % 8) : 0);
 */
#include "emit/cuda_rows.h"

static const char *window_type(struct emitter *w, const struct window *s) {
    enum dtype t = buffer_dtype(w, s->buffer);
    return arena_printf(w->arena, "<%s, %d%s>", memory_type(w, t), s->unit,
                        load_hint(w, s->buffer, false));
}

void declare_windows(struct emitter *w) {
    const struct windows *all = w->y->windows;
    for (uint32_t i = 0; all && i < all->all.n; i++) {
        const struct window *s = &all->all.at[i];
        enum dtype t = buffer_dtype(w, s->buffer);
        if (!s->pieces.n) continue;
        const char *rows = s->by_row ? arena_printf(w->arena, "[%d]", w->y->ex) : "";
        line(w, "k_pack<%s, %d> s%u%s[%d][%u];", memory_type(w, t), s->unit, i, rows, w->y->ur,
             s->pieces.n);
    }
}

/* "a || b", or NULL if the piece is read whatever holds. */
static const char *condition_text(struct emitter *w, const struct window_piece *p) {
    struct buf b = buf_new(w->arena);
    int64_t v;
    for (uint32_t i = 0; i < p->when.n; i++) {
        if (ex_is_const(w->k->ex, p->when.at[i], &v) && v) return NULL;
        buf_printf(&b, "%s(%s)", i ? " || " : "", ex_text(w, p->when.at[i]));
    }
    return b.p;
}

static void put_piece(struct emitter *w, uint32_t window, uint32_t piece) {
    struct exprs *p = w->k->ex;
    const struct window *s = &w->y->windows->all.at[window];
    const struct window_piece *x = &s->pieces.at[piece];
    ex at = ex_add(p, s->base, ex_const(p, x->number * s->unit));
    const char *when = condition_text(w, x);
    line(w, "s%u%s[u][%u] = k_load%s%s(%s%sp%d + (%s));", window, s->by_row ? "[e]" : "", piece,
         when ? "_if" : "", window_type(w, s), when ? when : "", when ? ", " : "",
         argument_of(w, s->buffer), ex_text(w, at));
}

bool any_window(const struct emitter *w, bool by_row) {
    const struct windows *all = w->y->windows;
    for (uint32_t i = 0; all && i < all->all.n; i++)
        if (all->all.at[i].pieces.n && all->all.at[i].by_row == by_row) return true;
    return false;
}

void put_windows(struct emitter *w, bool by_row) {
    const struct windows *all = w->y->windows;
    for (uint32_t i = 0; all && i < all->all.n; i++)
        for (uint32_t j = 0; all->all.at[i].by_row == by_row && j < all->all.at[i].pieces.n; j++)
            put_piece(w, i, j);
}

/* Where element v is among all elements of the window; v is known where loops are unrolled. */
static const char *place_text(struct emitter *w, const struct window_tap *t) {
    struct buf b = buf_new(w->arena);
    int step = w->y->vec > 1 ? t->place[1] - t->place[0] : 0, v = 1;
    while (v < w->y->vec && t->place[v] == t->place[0] + v * step) v++;
    if (v >= w->y->vec) return arena_printf(w->arena, "v * %d + %d", step, t->place[0]);
    for (v = 0; v + 1 < w->y->vec; v++) buf_printf(&b, "v == %d ? %d : ", v, t->place[v]);
    buf_printf(&b, "%d", t->place[v]);
    return b.p;
}

const char *tap_text(struct emitter *w, const struct window_tap *t) {
    const struct window *s = &w->y->windows->all.at[t->window];
    const char *element = place_text(w, t);
    const char *get = arena_printf(w->arena, "k_get(s%u%s[u][(%s) / %d], (%s) %% %d)", t->window,
                                   s->by_row ? "[e]" : "", element, s->unit, element, s->unit);
    if (!t->masked) return get;
    return arena_printf(w->arena, "(%s ? %s : 0)", ref(w, w->k->values.at[t->load].args[0]), get);
}

/* The value that is condition e, if the rows have it. */
static value_id row_value_of(const struct emitter *w, ex e) {
    for (value_id v = 0; v < w->k->values.n; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (x->kind == INST_INDEX && x->index == e && w->where[v] == ARRAY) return v;
    }
    return NO_VALUE;
}

/* Comparison e at element v, with what compilers do not find out about whole vectors: the v at
 * which it always holds. */
static const char *comparison_text(struct emitter *w, ex e) {
    struct buf b = buf_new(w->arena);
    int vec = w->y->vec, first = 0, last = vec - 1;
    int64_t known, holds = layout_lanes(w->k, w->y, e, &known);
    value_id row = row_value_of(w, e);
    if (row != NO_VALUE) return ref(w, row);
    if (known + 1 == INT64_C(1) << vec && known != holds)
        return arena_printf(w->arena, "(0x%llx >> v & 1)", (unsigned long long)holds);
    while (last >= 0 && layout_always(w->k, w->y, e, last)) last--;
    while (first < vec && layout_always(w->k, w->y, e, first)) first++;
    if (last < 0) return "1";
    if (last + 1 < vec)
        buf_printf(&b, "(v > %d | %s)", last, ex_text(w, e));
    else if (first > 0)
        buf_printf(&b, "(v < %d | %s)", first, ex_text(w, e));
    else
        buf_printf(&b, "(%s)", ex_text(w, e));
    return b.p;
}

const char *condition_at(struct emitter *w, ex e) {
    if (ex_kind(w->k->ex, e) != EX_AND) return comparison_text(w, e);
    return arena_printf(w->arena, "%s & %s", condition_at(w, ex_lhs(w->k->ex, e)),
                        condition_at(w, ex_rhs(w->k->ex, e)));
}
