/* cuda_store.c: the stores of a tile: results of a vector are gathered, and leave at once.
 *
 *     k_f32 o0[4];                                   declare_results
 *     for (v) o0[v] = v5;                            put_element_stores
 *     k_pack<k_f32, 4> w0;                           put_vector_stores
 *     k_put(w0, o0);
 *     k_store<k_f32, 4, 0>(p1 + (x * 4096 + r), w0);
 *
 * What stays as it is where a choice says so (kernel/in_place.c) is not stored there:
 *
 *     if (a2[e]) k_store<k_f32, 4, 0>(p1 + (x * 4096 + r), w0);
 *
 * Those that lie out of step with memory's leave when all of a warp are there, which pass them on
 * to each other:
 *
 *     k_pack<k_f32, 4> w0[1][2];                     declare_shifted_stores
 *     k_put(w0[e][u], o0);                           put_vector_stores
 *     for (u, e) k_store_shifted<k_f32, 4, 0>(p1 + (x * 4095 + r), w0[e][u], nr - r);
 *                                                    put_shifted_stores */
#include "emit/cuda_rows.h"

static bool vector_store(struct emitter *w, const struct store_node *s) {
    return layout_store_is_vector(w->k, w->y, s) || layout_store_reverses(w->k, w->y, s) ||
           layout_store_shifts(w->k, w->y, s);
}

static bool any_shifts(struct emitter *w, const struct phase *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->stores.n; i++)
        any |= layout_store_shifts(w->k, w->y, &w->k->stores.at[f->stores.at[i]]);
    return any;
}

/* Before the loops over a thread's elements: room for those that leave behind them. */
void declare_shifted_stores(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        if (layout_store_shifts(w->k, w->y, st))
            line(w, "k_pack<%s, %d> w%u[%d][%d];", memory_type(w, buffer_dtype(w, st->buffer)),
                 w->y->vec, f->stores.at[i], w->y->ex, w->y->ur);
    }
}

/* Behind them: all threads have got here, those without a column too. */
void put_shifted_stores(struct emitter *w, const struct phase *f) {
    const struct layout *y = w->y;
    if (!any_shifts(w, f)) return;
    open_unrolled(w, "u", y->ur);
    put_r(w);
    open_unrolled(w, "e", y->ex);
    put_x(w, false);
    for (uint32_t i = 0; i < f->stores.n; i++) {
        uint32_t s = f->stores.at[i];
        const struct store_node *st = &w->k->stores.at[s];
        const char *left =
            rows_exact(w) ? "nr - r" : arena_printf(w->arena, "%s ? nr - r : 0", row_is_real(w));
        if (layout_store_shifts(w->k, y, st))
            line(w, "k_store_shifted<%s, %d, %d>(p%d + (%s), w%u[e][u], %s);",
                 memory_type(w, buffer_dtype(w, st->buffer)), y->vec, y->streaming,
                 argument_of(w, st->buffer), ex_text(w, st->index), s, left);
    }
    close_brace(w);
    close_brace(w);
}

/* The results of a vector, before the loop over v: o3[n*v + place] of n stores that lie between
 * each other, of which 3 is the first. */
void declare_results(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->stores.n; i++) {
        uint32_t s = f->stores.at[i];
        const struct store_node *st = &w->k->stores.at[s];
        struct interleaved all = layout_interleaved(w->k, w->y, s);
        if (vector_store(w, st) && all.first == s)
            line(w, "%s o%u[%d];", math_type(buffer_dtype(w, st->buffer)), s, all.n * w->y->vec);
    }
}

static void put_result(struct emitter *w, uint32_t s, const char *value) {
    struct interleaved all = layout_interleaved(w->k, w->y, s);
    if (layout_store_reverses(w->k, w->y, &w->k->stores.at[s]))
        line(w, "o%u[%d - v] = %s;", s, w->y->vec - 1, value);
    else if (all.n == 1)
        line(w, "o%u[v] = %s;", s, value);
    else
        line(w, "o%u[v * %d + %d] = %s;", all.first, all.n, all.place, value);
}

/* "if (a2[e]) " */
static const char *where_stored(struct emitter *w, const struct store_node *st) {
    struct buf b = buf_new(w->arena);
    bool holds;
    value_id c;
    for (int i = 0; (c = store_condition(w->k, st, i, &holds)) != NO_VALUE; i++)
        buf_printf(&b, "%s%s%s", i ? " && " : "if (", holds ? "" : "!", ref(w, c));
    if (b.n) buf_puts(&b, ") ");
    return b.p;
}

/* In it: into the vector, or to memory. */
void put_element_stores(struct emitter *w, const struct phase *f, bool exact) {
    const char *when = exact ? "" : "if (real) ";
    if (w->y->cut) when = exact ? "if (r0 + v < nr) " : "if (real && r0 + v < nr) ";
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        if (vector_store(w, st))
            put_result(w, f->stores.at[i], ref(w, st->value));
        else
            put_store1(w, st, arena_printf(w->arena, "%s%s", when, where_stored(w, st)));
    }
}

/* Is v made of bf16 in memory by choices alone? */
static bool is_moved(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    if (x->kind == INST_LOAD) return buffer_dtype(w, x->buffer) == DT_BF16;
    bool choice = x->kind == INST_OP && x->op == OP_WHERE && x->dtype == DT_BF16;
    return choice && is_moved(w, x->args[1]) && is_moved(w, x->args[2]);
}

static const char *put_text(struct emitter *w, uint32_t s, const struct interleaved *all) {
    const struct store_node *st = &w->k->stores.at[s];
    bool moved = all->n == 1 && buffer_dtype(w, st->buffer) == DT_BF16 && is_moved(w, st->value);
    return moved ? "k_put_moved" : "k_put";
}

/* What store s and those between it have gathered in o3[]. */
static void put_vector_store(struct emitter *w, uint32_t s) {
    const struct store_node *st = &w->k->stores.at[s];
    const char *m = memory_type(w, buffer_dtype(w, st->buffer));
    struct interleaved all = layout_interleaved(w->k, w->y, s);
    int n = all.n * w->y->vec;
    if (all.first != s) return;
    if (layout_store_shifts(w->k, w->y, st)) {
        line(w, "%s(w%u[e][u], o%u);", put_text(w, s, &all), s, s);
        return;
    }
    line(w, "k_pack<%s, %d> w%u;", m, n, s);
    line(w, "%s(w%u, o%u);", put_text(w, s, &all), s, s);
    if (w->y->cut && all.n == 1) { /* the row's last one in part */
        line(w, "%sk_store_some<%s, %d, %d>(p%d + (%s), w%u, nr - r);", where_stored(w, st), m, n,
             w->y->streaming, argument_of(w, st->buffer), ex_text(w, st->index), s);
        return;
    }
    const char *before =
        layout_store_reverses(w->k, w->y, st) ? arena_printf(w->arena, " - %d", n - 1) : "";
    line(w, "%sk_store<%s, %d, %d>(p%d + (%s%s), w%u);", where_stored(w, st), m, n, w->y->streaming,
         argument_of(w, st->buffer), ex_text(w, st->index), before, s);
}

/* After the loop over v. */
void put_vector_stores(struct emitter *w, const struct phase *f, bool exact) {
    bool any = false;
    for (uint32_t i = 0; i < f->stores.n; i++)
        any |= vector_store(w, &w->k->stores.at[f->stores.at[i]]);
    if (!any) return;
    if (!exact) open_brace(w, "if (real)");
    for (uint32_t i = 0; i < f->stores.n; i++)
        if (vector_store(w, &w->k->stores.at[f->stores.at[i]]))
            put_vector_store(w, f->stores.at[i]);
    if (!exact) close_brace(w);
}

/* Of values that do not vary with r: a thread's vector, where memory runs along x; else element by
 * element. */
static void put_row_store(struct emitter *w, uint32_t s) {
    const struct store_node *st = &w->k->stores.at[s];
    bool vector = w->y->rows_inner && vector_store(w, st);
    const char *t = math_type(buffer_dtype(w, st->buffer));
    if (!vector && w->y->rows_inner) open_unrolled(w, "v", w->y->vec);
    if (vector) {
        open_scope(w);
        line(w, "%s o%u[%d];", t, s, w->y->vec);
        line(w, "#pragma unroll");
        line(w, "for (int v = 0; v < %d; v++) o%u[v] = (%s)%s;", w->y->vec, s, t,
             ref(w, st->value));
    }
    if (vector) put_x(w, false);
    if (!vector && w->y->rows_inner) put_own_x(w);
    if (vector)
        put_vector_store(w, s);
    else
        put_store1(w, st, where_stored(w, st));
    if (w->y->rows_inner) close_brace(w);
}

/* Stores of values without r: by the first thread of each row. */
void put_row_stores(struct emitter *w) {
    const struct layout *y = w->y;
    if (!w->p->row_stores.n) return;
    open_brace(w, y->cluster > 1 ? "if (tr == 0 && rank == 0)"
                  : y->meets     ? "if (tr == 0 && part == 0)"
                                 : "if (tr == 0)");
    open_unrolled(w, "e", y->ex);
    if (!rows_exact(w)) open_brace(w, "if (%s)", row_is_real(w));
    if (!y->rows_inner) put_x(w, true);
    w->subscript = y->rows_inner ? "[e][v]" : "[e]";
    for (uint32_t i = 0; i < w->p->row_stores.n; i++) put_row_store(w, w->p->row_stores.at[i]);
    close_brace(w);
    if (!rows_exact(w)) close_brace(w);
    close_brace(w);
}
