/* cuda_tile.c: the arithmetic of a tile, element by element, with its reductions:
 *
 *     for (v) {
 *         const k_f32 v5 = k_get(q3[e][u], v) * a2[e];  put_element
 *         a7[e] = k_add::of(a7[e], v5);                 put_reductions
 *     } */
#include <string.h>

#include "emit/cuda_rows.h"
#include "graph/random.h"
#include "graph/traits.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

static void mark_wanted(struct emitter *w, value_id v, bool *marks) {
    const struct value_node *x = at(w, v);
    if (marks[v]) return;
    marks[v] = true;
    if (w->carried && v == *w->carried) return;
    if (layout_lands_always(w->k, w->y, v)) return;
    const struct window_tap *tap = layout_tap(w->y, v);
    if (tap && tap->masked) mark_wanted(w, x->args[0], marks);
    if (x->kind == INST_LOAD || x->kind == INST_REDUCE || x->kind == INST_SCAN) return;
    for (int a = 0; a < x->n_args; a++) mark_wanted(w, x->args[a], marks);
}

/* What the phase accumulates and stores, and what that stands on, but not where loads were, unless
 * that is asked of each element. */
static const bool *wanted_elements(struct emitter *w, const struct phase *f) {
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        int n_args = !is_of_vectors(w, f, v) ? at(w, v)->n_args : gathers_vector(w, v) ? 1 : 0;
        for (int a = 0; a < n_args; a++) mark_wanted(w, at(w, v)->args[a], marks);
    }
    for (uint32_t i = 0; i < f->squares.n; i++)
        mark_wanted(w, kernel_online_square(w->k, f->squares.at[i], NULL), marks);
    for (uint32_t i = 0; i < f->across.n; i++)
        for (int a = 0; a < at(w, f->across.at[i])->n_args; a++)
            mark_wanted(w, at(w, f->across.at[i])->args[a], marks);
    for (uint32_t i = 0; i < f->stores.n; i++)
        mark_wanted(w, w->k->stores.at[f->stores.at[i]].value, marks);
    return marks;
}

/* Is all that reads v a draw of which v is the element's number? */
static bool only_numbers_draws(struct emitter *w, value_id v) {
    for (value_id i = v + 1; i < w->k->values.n; i++) {
        const struct value_node *x = at(w, i);
        bool draws = x->kind == INST_OP && op_is_random(x->op);
        for (int a = 0; a < x->n_args; a++)
            if (x->args[a] == v && (a > 0 || !draws)) return false;
    }
    for (uint32_t i = 0; i < w->k->stores.n; i++)
        if (w->k->stores.at[i].value == v) return false;
    return true;
}

/* Is v the number of a random tensor's element, of which the vector has whole blocks? */
static bool numbers_blocks(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    return x->kind == INST_INDEX && !x->n_args && w->y->vec >= RANDOM_BLOCK &&
           layout_load_is_vector(w->k, w->y, x) && only_numbers_draws(w, v);
}

/* Before the loop over v: the block of the vector's first element. Neighbours are drawn from one
 * block, and a compiler that sees the same expression four times computes it once. */
static void put_blocks(struct emitter *w, const struct phase *f, const bool *wanted) {
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (wanted[v] && numbers_blocks(w, v))
            line(w, "const unsigned long long i%u = (unsigned long long)(%s) / %d;", v,
                 ex_text(w, at(w, v)->index), RANDOM_BLOCK);
    }
}

static const char *element_text(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    if (x->kind == INST_LOAD) return unpack_text(w, v);
    bool condition = x->kind == INST_INDEX && x->dtype == DT_BOOL && w->y->windows;
    return condition ? arena_printf(w->arena, "(k_flag)(%s)", condition_at(w, x->index))
                     : value_text(w, v);
}

static void put_element(struct emitter *w, value_id v) {
    if (numbers_blocks(w, v))
        line(w, "const k_number v%u = {i%u + v / %d, v %% %d};", v, v, RANDOM_BLOCK, RANDOM_BLOCK);
    else if (w->carried && v == *w->carried)
        line(w, "const float v%u = k_as_float(named[u]);", v);
    else
        line(w, "const %s v%u = %s;", math_type(at(w, v)->dtype), v, element_text(w, v));
    w->where[v] = LOCAL;
}

/* Is anything done by elements? */
static bool has_elements(struct emitter *w, const struct phase *f) {
    bool any = f->squares.n || f->across.n || f->stores.n;
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        any |= !is_of_vectors(w, f, v) || gathers_vector(w, v);
    }
    return any;
}

/* Is it a sum whose vectors are added up before they are added to it? That divides the length of
 * the chain by theirs. */
static bool sums_vector(struct emitter *w, value_id v) {
    return reduction_rounds(w->k, v) && at(w, v)->kind == INST_REDUCE &&
           at(w, v)->reduction == REDUCTION_SUM && layout_sums_vectors(w->k, w->y);
}

static void put_vector_sums(struct emitter *w, const struct phase *f, bool begin) {
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *part = arena_printf(w->arena, "s%u", v), *acc;
        if (!sums_vector(w, v) || is_of_vectors(w, f, v)) continue;
        acc = arena_printf(w->arena, "a%u[e]", v);
        if (begin)
            line(w, "%s %s = %s;", accumulator_type(w, v), part, identity_text(w, v));
        else
            line(w, "%s = %s;", acc, combine_text(w, v, acc, part));
    }
}

static void put_reductions(struct emitter *w, const struct phase *f) {
    if (w->y->adds) {
        put_adds(w, f);
        return;
    }
    if (w->y->turns) {
        put_turn_sums(w, f);
        return;
    }
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *acc = w->y->held          ? sum_of_hit(w, v)
                          : sums_vector(w, v) ? arena_printf(w->arena, "s%u", v)
                                              : arena_printf(w->arena, "a%u%s", v, w->subscript);
        if (gathers_vector(w, v)) line(w, "c%u[v] = %s;", v, ref(w, at(w, v)->args[0]));
        if (is_of_vectors(w, f, v)) continue;
        if (at(w, v)->kind == INST_SCAN)
            line(w, "a%u[e][u][v] = %s;", v, operand_text(w, v));
        else if (at(w, v)->reduction == REDUCTION_M2 && !w->y->hits && !w->y->peel)
            line(w, "%s = k_add_near(%s, %s, %s);", acc, acc, operand_text(w, v), may_move(w));
        else
            line(w, "%s%s = %s;", w->y->hits ? "if (lands) " : "", acc,
                 combine_text(w, v, acc, operand_text(w, v)));
    }
}

/* One element after the other. */
static void put_each(struct emitter *w, const struct phase *f, const bool *wanted, bool exact) {
    const struct layout *y = w->y;
    const char *moving = y->rows_inner ? "x" : "r";
    open_unrolled(w, "v", y->vec);
    line(w, "const k_idx %s = %s;", moving,
         element_place(w, arena_printf(w->arena, "%s0", moving)));
    w->subscript = y->rows_inner ? "[e][v]" : "[e]";
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        w->where[v] = NOWHERE;
        if (at(w, v)->kind != INST_CONST && wanted[v]) put_element(w, v);
    }
    put_reductions(w, f);
    put_squares(w, f);
    put_column_sums(w, f, exact ? "" : "if (real) ");
    put_element_stores(w, f, exact);
    close_brace(w);
}

/* Of what is only stored, not counted: is anything asked of its elements how far it is? A vector
 * that has such a one is computed again. */
static bool asks_of_vector(struct emitter *w, const struct phase *f, const bool *wanted) {
    bool asks = false;
    for (uint32_t i = 0; i < f->compute.n; i++)
        asks |= wanted[f->compute.at[i]] && asks_if_far(w, f->compute.at[i]);
    return asks && w->y->vec > 1 && !f->reduce.n && !f->squares.n && !f->across.n;
}

/* The elements of a vector. */
static void put_vector(struct emitter *w, const struct phase *f, bool exact) {
    const struct layout *y = w->y;
    const bool *wanted = wanted_elements(w, f);
    put_blocks(w, f, wanted);
    for (uint32_t i = 0; i < f->reduce.n; i++)
        if (gathers_vector(w, f->reduce.at[i]))
            line(w, "%s c%u[%d];", math_type(at(w, at(w, f->reduce.at[i])->args[0])->dtype),
                 f->reduce.at[i], y->vec);
    const char *moving = y->rows_inner ? "x" : "r";
    line(w, "const k_idx %s0 = %s;", moving, moving);
    put_vector_sums(w, f, true);
    w->far_seen = asks_of_vector(w, f, wanted);
    if (w->far_seen) line(w, "float far = 0.0f;");
    put_each(w, f, wanted, exact);
    if (w->far_seen) {
        w->far_seen = false;
        open_brace(w, "if (k_seen_far(far))");
        put_each(w, f, wanted, exact);
        close_brace(w);
    }
    put_vector_sums(w, f, false);
}

static void put_elements(struct emitter *w, const struct phase *f) {
    bool exact = rows_exact(w);
    declare_shifted_stores(w, f);
    open_columns(w);
    open_row(w);
    if (f->stores.n + f->across.n && !exact) line(w, "const bool real = %s;", row_is_real(w));
    declare_results(w, f);
    if (has_elements(w, f)) put_vector(w, f, exact);
    put_best(w, f);
    put_vector_stores(w, f, exact);
    close_row(w);
    close_column(w);
    put_step_folds(w, f);
    close_brace(w);
    put_shifted_stores(w, f);
    for (uint32_t i = 0; i < f->compute.n; i++) w->where[f->compute.at[i]] = NOWHERE;
}

/* The arithmetic of a tile or of the heads and tails. Sums that go along with their maximum take a
 * second look at the registers, when the maximum of all of these is known. */
void put_tile(struct emitter *w, const struct phase *f) {
    if (!f->online.n) {
        put_elements(w, f);
        return;
    }
    struct phase maxima = *f, sums = *f;
    memset(&maxima.reduce, 0, sizeof maxima.reduce);
    memset(&sums.reduce, 0, sizeof sums.reduce);
    sums.stores.n = sums.squares.n = 0;
    for (uint32_t i = 0, next = 0; i < f->reduce.n; i++) {
        bool sum = next < f->online.n && f->online.at[next] == f->reduce.at[i];
        if (sum) next++;
        struct phase *part = sum ? &sums : &maxima;
        vec_push(w->arena, &part->reduce, f->reduce.at[i]);
    }
    open_scope(w);
    remember_maxima(w, f);
    put_elements(w, &maxima);
    rescale_sums(w, f);
    put_elements(w, &sums);
    close_brace(w);
}
