/* cuda_rows.c: pointwise and reduce block programs as CUDA C++. The text of a softmax row kernel,
 * without its casts:
 *
 *     const int tx = tid / 256, tr = tid % 256;
 *     k_pack<k_f32, 4> p3[1][4];                                   raw loads, kept in registers
 *     for (u) p3[0][u] = k_load<k_f32, 4>(p0 + (x * 4096 + r));    phase 0
 *     for (u, v) a1[0] = k_amax::of(a1[0], k_get(p3[0][u], v));
 *     a1[0] = k_reduce_row<k_amax, 256>(a1[0], ...);
 *     ...
 *
 * Scopes: a value without r lives in an array over the thread's rows (a7[e], or a7[e][v] when
 * vectors lie along x); a value with r lives only inside the innermost loop over (u, e, v). */
#include <string.h>

#include "emit/cuda_rows.h"
#include "graph/random.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* ---- positions ------------------------------------------------------------------------------- */

bool rows_exact(const struct emitter *w) {
    int64_t n;
    return ex_is_const(w->k->ex, w->k->bound[AXIS_X], &n) && n % w->y->bx == 0;
}

/* No thread of any iteration lies beyond the row (of its part of it, when split). */
bool columns_exact(const struct emitter *w) {
    int64_t n;
    if (w->y->hits || !ex_is_const(w->k->ex, w->k->bound[AXIS_R], &n)) return false;
    return n % w->y->br == 0;
}

/* Declare x for row e (and vector element v, if rows run inward). Rows beyond the end repeat the
 * last one: they compute, and do not store. */
void put_x(struct emitter *w, bool element) {
    const struct layout *y = w->y;
    const char *start =
        y->rows_inner ? arena_printf(w->arena, "px * %d + (e * %d + tx) * %d", y->bx, y->t0, y->vec)
                      : arena_printf(w->arena, "px * %d + e * %d + tx", y->bx, y->t0);
    const char *plus = y->rows_inner && element ? " + v" : "";
    if (rows_exact(w))
        line(w, "const k_idx x = %s%s;", start, plus);
    else
        line(w, "const k_idx x = k_clamp(%s, nx - %d)%s;", start, y->rows_inner ? y->vec : 1, plus);
}

void put_own_x(struct emitter *w) {
    put_x(w, true);
    if (w->y->ragged)
        line(w, "if (x < px * %d + (e * %d + tx) * %d) continue;", w->y->bx, w->y->t0, w->y->vec);
}

const char *row_is_real(struct emitter *w) {
    const struct layout *y = w->y;
    return y->rows_inner
               ? arena_printf(w->arena, "px * %d + (e * %d + tx) * %d < nx", y->bx, y->t0, y->vec)
               : arena_printf(w->arena, "px * %d + e * %d + tx < nx", y->bx, y->t0);
}

void open_unrolled(struct emitter *w, const char *name, int n) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int %s = 0; %s < %d; %s++)", name, name, n, name);
}

/* ---- values without r ------------------------------------------------------------------------ */

static const char *array_dims(struct emitter *w, value_id v) {
    if (!is_row_value(w, v)) return "";
    return w->y->rows_inner ? arena_printf(w->arena, "[%d][%d]", w->y->ex, w->y->vec)
                            : arena_printf(w->arena, "[%d]", w->y->ex);
}

static void open_rows(struct emitter *w) {
    open_unrolled(w, "e", w->y->ex);
    if (w->y->rows_inner) open_unrolled(w, "v", w->y->vec);
    put_x(w, true);
    w->subscript = w->y->rows_inner ? "[e][v]" : "[e]";
}

void close_rows(struct emitter *w) {
    if (w->y->rows_inner) close_brace(w);
    close_brace(w);
}

/* Compute a list of values that do not vary with r; those that vary with x into arrays over the
 * rows. */
void put_row_values(struct emitter *w, const value_id *list, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct value_node *x = at(w, list[i]);
        if (x->kind == INST_CONST) continue;
        if (is_row_value(w, list[i])) {
            line(w, "%s a%u%s;", math_type(x->dtype), list[i], array_dims(w, list[i]));
            any = true;
        } else {
            const char *text =
                x->kind == INST_LOAD ? load_text(w, list[i]) : value_text(w, list[i]);
            line(w, "const %s a%u = %s;", math_type(x->dtype), list[i], text);
        }
        w->where[list[i]] = ARRAY;
    }
    if (!any) return;
    open_rows(w);
    for (uint32_t i = 0; i < n; i++) {
        const struct value_node *x = at(w, list[i]);
        if (x->kind == INST_CONST || !is_row_value(w, list[i])) continue;
        line(w, "a%u%s = %s;", list[i], w->subscript,
             x->kind == INST_LOAD ? load_text(w, list[i]) : value_text(w, list[i]));
    }
    close_rows(w);
}

/* ---- raw loads of a tile --------------------------------------------------------------------- */

enum load_shape { WHOLE_VECTOR, SHIFTED_VECTOR, ELEMENT_BY_ELEMENT, ONE_FOR_ALL };

static enum load_shape load_shape(struct emitter *w, const struct value_node *x) {
    enum axis along = w->y->rows_inner ? AXIS_X : AXIS_R;
    if (!(x->mask >> along & 1)) return ONE_FOR_ALL;
    if (layout_load_is_vector(w->k, w->y, x)) return WHOLE_VECTOR;
    if (layout_load_is_uniform(w->k, w->y, x)) return ONE_FOR_ALL;
    return layout_load_shifts(w->k, w->y, x) ? SHIFTED_VECTOR : ELEMENT_BY_ELEMENT;
}

static int vector_of(struct emitter *w, const struct value_node *x) {
    enum load_shape s = load_shape(w, x);
    return s == WHOLE_VECTOR || s == SHIFTED_VECTOR ? w->y->vec : 1;
}

/* Each row of the thread has its own; where heads differ, each has columns of its own. */
static bool loads_by_row(const struct emitter *w, const struct value_node *x) {
    return x->mask & MASK_X || (w->y->peel && !w->y->one_head);
}

/* The registers that load v fills; those of heads and tails are others. */
static const char *pack_name(struct emitter *w, value_id v) {
    return arena_printf(w->arena, "%s%u%s", w->ends ? "end" : "q", v,
                        loads_by_row(w, at(w, v)) ? "[e]" : "");
}

static const char *pack_type(struct emitter *w, const struct value_node *x) {
    enum dtype t = w->k->schedule->loops->buffers.at[x->buffer].meta.dtype;
    return arena_printf(w->arena, "k_pack<%s, %d>", memory_type(w, t), vector_of(w, x));
}

const char *whole_pack(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    bool whole = x->kind == INST_LOAD && !layout_tap(w->y, v) && vector_of(w, x) == w->y->vec;
    return whole ? arena_printf(w->arena, "%s[u]", pack_name(w, v)) : NULL;
}

void declare_packs(struct emitter *w, const struct phase *f) {
    declare_windows(w);
    for (uint32_t i = 0; i < f->loads.n; i++) {
        const struct value_node *x = at(w, f->loads.at[i]);
        struct buf dims = buf_new(w->arena);
        if (layout_tap(w->y, f->loads.at[i])) continue;
        if (loads_by_row(w, x)) buf_printf(&dims, "[%d]", w->y->ex);
        buf_printf(&dims, "[%d]", w->y->ur);
        if (load_shape(w, x) == ELEMENT_BY_ELEMENT) buf_printf(&dims, "[%d]", w->y->vec);
        line(w, "%s %s%u%s;", pack_type(w, x), w->ends ? "end" : "q", f->loads.at[i], dims.p);
    }
}

static const char *unpack_text(struct emitter *w, value_id v) {
    const char *pack = pack_name(w, v);
    const struct window_tap *tap = layout_tap(w->y, v);
    if (tap) return tap_text(w, tap);
    switch (load_shape(w, at(w, v))) {
    case WHOLE_VECTOR:
    case SHIFTED_VECTOR: return arena_printf(w->arena, "k_get(%s[u], v)", pack);
    case ELEMENT_BY_ELEMENT: return arena_printf(w->arena, "k_get(%s[u][v], 0)", pack);
    case ONE_FOR_ALL: return arena_printf(w->arena, "k_get(%s[u], 0)", pack);
    }
    return "";
}

/* What a load's guard and subscripts stand on and the phase has to compute at (x, r): all but row
 * values, which are there, and what only other loads need, which are in registers. */
static void mark_address(struct emitter *w, value_id v, bool *marks) {
    const struct value_node *x = at(w, v);
    if (marks[v] || !(x->mask & MASK_R)) return;
    if (x->kind == INST_CONST || x->kind == INST_SCAN) return;
    marks[v] = true;
    if (layout_lands_always(w->k, w->y, v)) return;
    for (int a = 0; a < x->n_args && x->kind != INST_LOAD; a++) mark_address(w, x->args[a], marks);
}

/* Before load v: locals for that, in a scope of their own. Returns which values they are. */
static bool *open_address(struct emitter *w, value_id v) {
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    for (int a = 0; a < at(w, v)->n_args; a++) mark_address(w, at(w, v)->args[a], marks);
    for (value_id i = 0; i < v; i++) {
        if (!marks[i]) continue;
        const struct value_node *x = at(w, i);
        line(w, "const %s v%u = %s;", math_type(x->dtype), i,
             x->kind == INST_LOAD ? unpack_text(w, i) : value_text(w, i));
        w->where[i] = LOCAL;
    }
    return marks;
}

/* What the load of a buffer's elements is told, as a template argument: "" for nothing. What is the
 * same for all rows, or all columns, is loaded again and stays. */
const char *load_hint(struct emitter *w, bool once) {
    const char *l2 = once ? l2_hint(w) : "", *l1 = w->y->skip_l1 ? "K_SKIP_L1" : "";
    if (!*l1 && !*l2) return "";
    return arena_printf(w->arena, ", %s%s%s", l1, *l1 && *l2 ? " | " : "", l2);
}

const char *l2_hint(const struct emitter *w) {
    return w->y->leave_l2 ? "K_LEAVE_L2" : w->y->stay_l2 ? "K_STAY_L2" : "";
}

/* Element `place` of a row of the tile in shared memory that belongs to a thread's vector number
 * `vector`. A warp stores a row of the tile, and later reads a column of every vec-th of them:
 * turned by one place a vector, its elements are in as many banks both times. */
static const char *turned_place(struct emitter *w, const char *place, const char *vector) {
    int turn = w->y->t1 < 32 ? 32 / w->y->t1 : 1;
    return arena_printf(w->arena, "(%s + (%s) * %d) %% %du", place, vector, turn, w->y->bx);
}

/* Of the i-th word that a thread reads: row `row` of the tile, and word `at` of it. */
static void put_turned_word(struct emitter *w, int words) {
    int threads = w->y->threads, whole = words / threads;
    if (threads % words == 0)
        line(w, "const unsigned row = i * %d + tid / %du, at = tid %% %du;", threads / words, words,
             words);
    else if (words % threads == 0)
        line(w, "const unsigned row = i / %d, at = i %% %d * %d + tid;", whole, whole, threads);
    else
        line(w, "const unsigned row = (i * %d + tid) / %du, at = (i * %d + tid) %% %du;", threads,
             words, threads, words);
}

/* What lies across goes through shared memory: threads that are neighbours read neighbours, along
 * x, a word each, and later take up what is theirs, along r. All reads of a tile are under way
 * before the first is put down. */
static void put_turn(struct emitter *w, value_id v, int *smem) {
    const struct layout *y = w->y;
    const struct value_node *x = at(w, v);
    const char *m = memory_type(w, w->k->schedule->loops->buffers.at[x->buffer].meta.dtype);
    int many = layout_turn_vector(w->k, y, v), each = y->bx * y->br / y->threads / many;
    line(w, "k_pack<%s, 1> (*const t%u)[%d] = (k_pack<%s, 1> (*)[%d])(k_smem + %d);", m, v, y->bx,
         m, y->bx, *smem);
    *smem += (int)((layout_turn_bytes(w->k, y, v) + 15) / 16 * 16);
    open_scope(w);
    line(w, "k_pack<%s, %d> turned[%d];", m, many, each);
    open_unrolled(w, "i", each);
    put_turned_word(w, y->bx / many);
    line(w, "const k_idx x = k_clamp(px * %d + (k_idx)at * %d, nx - %d);", y->bx, many, many);
    line(w, "const k_idx r = k_clamp(base + (k_idx)row, nr - 1);");
    line(w, "turned[i] = k_load<%s, %d%s>(p%d + (%s));", m, many,
         load_hint(w, kernel_loads_once(w->k, v)), argument_of(w, x->buffer), ex_text(w, x->index));
    close_brace(w);
    open_unrolled(w, "i", each);
    put_turned_word(w, y->bx / many);
    for (int i = 0; i < many; i++)
        line(w, "t%u[row][%s] = k_pick(turned[i], %d);", v,
             turned_place(w, arena_printf(w->arena, i ? "at + %d" : "at", i * y->bx / many),
                          arena_printf(w->arena, "row / %du", y->vec)),
             i);
    close_brace(w);
    close_brace(w);
}

static void put_turns(struct emitter *w, const struct phase *f, int *smem) {
    bool any = false;
    for (uint32_t i = 0; i < f->loads.n; i++) {
        if (!layout_turns(w->k, w->y, f->loads.at[i])) continue;
        put_turn(w, f->loads.at[i], smem);
        any = true;
    }
    if (any) line(w, "__syncthreads();");
}

/* The load of v into `to`. */
static void put_load_into(struct emitter *w, value_id v, const char *to) {
    const struct value_node *x = at(w, v);
    int vec = vector_of(w, x);
    const char *m = memory_type(w, w->k->schedule->loops->buffers.at[x->buffer].meta.dtype);
    const char *hint = load_hint(w, kernel_loads_once(w->k, v));
    if (layout_turns(w->k, w->y, v)) {
        int many = layout_turn_vector(w->k, w->y, v); /* the first of each come first */
        const char *at = arena_printf(w->arena, "e * %d + tx", w->y->t0);
        if (many > 1)
            at = arena_printf(w->arena, "(unsigned)(%s) / %d + (unsigned)(%s) %% %d * %d", at, many,
                              at, many, w->y->bx / many);
        line(w, "%s = t%u[r - base][%s];", to, v,
             turned_place(w, at, arena_printf(w->arena, "u * %d + tr", w->y->t1)));
        return;
    }
    if (load_shape(w, x) == SHIFTED_VECTOR) {
        if (w->y->rows_inner) hint = arena_printf(w->arena, "%s, true", *hint ? hint : ", 0");
        line(w, "%s = k_load_shifted<%s, %d%s>(p%d, %s);", to, m, vec, hint,
             argument_of(w, x->buffer), ex_text(w, x->index));
        return;
    }
    const char *condition = x->guarded ? arena_printf(w->arena, "%s, ", ref(w, x->args[0])) : "";
    line(w, "%s = k_load%s<%s, %d%s>(%sp%d + (%s));", to, x->guarded ? "_if" : "", m, vec, hint,
         condition, argument_of(w, x->buffer), ex_text(w, x->index));
}

static void put_load(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    const char *moving = w->y->rows_inner ? "x" : "r";
    bool whole = load_shape(w, x) != ELEMENT_BY_ELEMENT, *locals = NULL;
    const char *outer = w->subscript;
    w->subscript = w->y->rows_inner ? "[e][v]" : "[e]";
    if (whole && x->n_args) {
        open_scope(w);
        line(w, "const int v = 0;"); /* the same for the whole vector */
        line(w, "(void)v;");
    } else if (!whole) {
        line(w, "#pragma unroll");
        open_brace(w, "for (int v = 0; v < %d; v++)", w->y->vec);
        line(w, "const k_idx %s_ = %s;", moving, moving);
        line(w, "const k_idx %s = %s_ + v;", moving, moving);
    }
    if (x->n_args) {
        if (!loads_by_row(w, x)) line(w, "const int e = 0;"); /* the same for all rows */
        if (!loads_by_row(w, x)) line(w, "(void)e;");
        locals = open_address(w, v);
    }
    put_load_into(w, v, arena_printf(w->arena, "%s[u]%s", pack_name(w, v), whole ? "" : "[v]"));
    if (x->n_args || !whole) close_brace(w);
    for (value_id i = 0; locals && i < v; i++)
        if (locals[i]) w->where[i] = NOWHERE;
    w->subscript = outer;
}

/* Open the loop over column steps u; declares r (rows inner) or the vector's first column r. Where
 * rows are peeled, that is for open_row. */
void open_columns(struct emitter *w) {
    const struct layout *y = w->y;
    open_unrolled(w, "u", y->ur);
    if (y->peel) return;
    if (y->hits) {
        open_hit(w);
        return;
    }
    if (y->rows_inner && w->k->kind == KERNEL_SCAN)
        line(w, "const k_idx r = base + tr * %d + u;", y->ur);
    else if (y->rows_inner)
        line(w, "const k_idx r = base + u * %d + tr;", y->t1);
    else
        line(w, "const k_idx r = base + (u * %d + tr) * %d;", y->t1, y->vec);
    if (!columns_exact(w)) open_brace(w, "if (r < r_end)");
}

void close_columns(struct emitter *w) {
    if (!w->y->peel && !w->y->hits && !columns_exact(w)) close_brace(w);
    close_brace(w);
}

/* Inside of that the loop over the thread's rows e. */
void open_row(struct emitter *w) {
    open_unrolled(w, "e", w->y->ex);
    put_x(w, false);
    if (w->y->peel) open_row_columns(w);
}

void close_row(struct emitter *w) {
    if (w->y->peel) close_brace(w);
    close_brace(w);
}

/* All loads of a tile are issued before the first is used. */
void put_loads(struct emitter *w, const struct phase *f) {
    struct phase once = {0}, by_row = {0}; /* loads for all rows of the thread, for each */
    if (!f->loads.n) return;
    for (uint32_t i = 0; i < f->loads.n; i++) {
        value_id v = f->loads.at[i];
        if (layout_tap(w->y, v)) continue;
        if (loads_by_row(w, at(w, v)))
            vec_push(w->arena, &by_row.loads, v);
        else
            vec_push(w->arena, &once.loads, v);
    }
    open_columns(w);
    put_windows(w, false);
    if (once.loads.n) {
        if (w->y->peel) open_common_columns(w);
        for (uint32_t i = 0; i < once.loads.n; i++) put_load(w, once.loads.at[i]);
        if (w->y->peel) close_common_columns(w);
    }
    if (by_row.loads.n || any_window(w, true)) {
        open_row(w);
        put_windows(w, true);
        for (uint32_t i = 0; i < by_row.loads.n; i++) put_load(w, by_row.loads.at[i]);
        close_row(w);
    }
    close_columns(w);
}

/* ---- the arithmetic of a tile ---------------------------------------------------------------- */

static bool vector_store(struct emitter *w, const struct store_node *s) {
    return layout_store_is_vector(w->k, w->y, s);
}

static enum dtype store_dtype(struct emitter *w, const struct store_node *s) {
    return w->k->schedule->loops->buffers.at[s->buffer].meta.dtype;
}

/* The results of a vector that store s and those beside it write: o3[n*v + its place] of n. */
static void declare_results(struct emitter *w, uint32_t s) {
    int place, n = layout_interleaved(w->k, w->y, s, &place);
    if (place == 0)
        line(w, "%s o%u[%d];", math_type(store_dtype(w, &w->k->stores.at[s])), s, n * w->y->vec);
}

static void put_result(struct emitter *w, uint32_t s, const char *value) {
    int place, n = layout_interleaved(w->k, w->y, s, &place), other;
    uint32_t first = s;
    for (uint32_t i = 0; i < w->k->stores.n && place; i++) {
        bool beside = w->k->stores.at[i].buffer == w->k->stores.at[s].buffer;
        if (beside && layout_interleaved(w->k, w->y, i, &other) == n && !other) first = i;
    }
    if (n == 1)
        line(w, "o%u[v] = %s;", s, value);
    else
        line(w, "o%u[v * %d + %d] = %s;", first, n, place, value);
}

/* After the loop over v: o3[] holds the vector's results. */
static void put_vector_store(struct emitter *w, uint32_t s) {
    const struct store_node *st = &w->k->stores.at[s];
    const char *m = memory_type(w, store_dtype(w, st));
    int place, n = layout_interleaved(w->k, w->y, s, &place) * w->y->vec;
    if (place) return;
    line(w, "k_pack<%s, %d> w%u;", m, n, s);
    line(w, "k_put(w%u, o%u);", s, s);
    line(w, "k_store<%s, %d, %d>(p%d + (%s), w%u);", m, n, w->y->streaming,
         argument_of(w, st->buffer), ex_text(w, st->index), s);
}

static void put_element_stores(struct emitter *w, const struct phase *f, bool exact) {
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        const char *value = ref(w, st->value);
        if (vector_store(w, st))
            put_result(w, f->stores.at[i], value);
        else
            line(w, "%sk_store1(p%d + (%s), (%s)%s);", exact ? "" : "if (real) ",
                 argument_of(w, st->buffer), ex_text(w, st->index), math_type(store_dtype(w, st)),
                 value);
    }
}

static void mark_wanted(struct emitter *w, value_id v, bool *marks) {
    const struct value_node *x = at(w, v);
    if (marks[v]) return;
    marks[v] = true;
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
        bool draws = x->kind == INST_OP && (x->op == OP_RAND || x->op == OP_RANDN);
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

static void put_reductions(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *acc =
            w->y->hits ? sum_of_hit(w, v) : arena_printf(w->arena, "a%u%s", v, w->subscript);
        if (gathers_vector(w, v)) line(w, "c%u[v] = %s;", v, ref(w, at(w, v)->args[0]));
        if (is_of_vectors(w, f, v)) continue;
        if (at(w, v)->kind == INST_SCAN)
            line(w, "a%u[e][u][v] = %s;", v, operand_text(w, v));
        else
            line(w, "%s%s = %s;", w->y->hits ? "if (lands) " : "", acc,
                 combine_text(w, v, acc, operand_text(w, v)));
    }
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
    open_unrolled(w, "v", y->vec);
    line(w, "const k_idx %s = %s0 + v;", moving, moving);
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

static void put_elements(struct emitter *w, const struct phase *f) {
    bool exact = rows_exact(w);
    open_columns(w);
    open_row(w);
    if (f->stores.n + f->across.n && !exact) line(w, "const bool real = %s;", row_is_real(w));
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        if (vector_store(w, st)) declare_results(w, f->stores.at[i]);
    }
    if (has_elements(w, f)) put_vector(w, f, exact);
    put_best(w, f);
    bool vectors = false;
    for (uint32_t i = 0; i < f->stores.n; i++)
        vectors |= vector_store(w, &w->k->stores.at[f->stores.at[i]]);
    if (vectors) {
        if (!exact) open_brace(w, "if (real)");
        for (uint32_t i = 0; i < f->stores.n; i++)
            if (vector_store(w, &w->k->stores.at[f->stores.at[i]]))
                put_vector_store(w, f->stores.at[i]);
        if (!exact) close_brace(w);
    }
    close_row(w);
    close_columns(w);
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

/* ---- the kernel ------------------------------------------------------------------------------ */

/* The heads and tails of rows are loaded before the rest and counted after it. */
static void put_end_loads(struct emitter *w, const struct phase *f) {
    struct ends_scope s;
    if (!w->y->peel) return;
    open_ends(w, &s);
    declare_packs(w, f);
    put_loads(w, f);
    close_ends(w, &s);
}

static void put_end_elements(struct emitter *w, const struct phase *f) {
    struct ends_scope s;
    if (!w->y->peel) return;
    open_ends(w, &s);
    put_tile(w, f);
    close_ends(w, &s);
}

/* The phase's loads, without those that stand before all rows. */
static struct phase loads_of_row(struct emitter *w, const struct phase *f) {
    struct phase some = {0};
    for (uint32_t i = 0; i < f->loads.n; i++)
        if (!is_of_all_rows(w, f->loads.at[i]) && !layout_copies(w->k, w->y, f->loads.at[i]))
            vec_push(w->arena, &some.loads, f->loads.at[i]);
    return some;
}

static void put_phase(struct emitter *w, uint32_t index, int *smem) {
    const struct phase *f = &w->p->phases.at[index];
    const struct layout *y = w->y;
    bool loops = !y->one_read && !y->grid_r;
    line(w, "/* phase %u */", index);
    declare_accumulators(w, f);
    declare_squares(w, f);
    declare_best(w, f);
    if (y->peel && !y->one_read) open_scope(w);
    put_end_loads(w, f);
    if (y->kept)
        open_slots(w);
    else if (loops)
        open_brace(w, "for (k_idx base = r_begin; base < r_end; base += %d)", y->br);
    else if (y->grid_r && !y->peel)
        open_scope(w);
    put_kept(w, f, index == 0);
    const struct phase loads = loads_of_row(w, f);
    declare_packs(w, &loads);
    put_turns(w, &loads, smem);
    put_loads(w, &loads);
    put_tile(w, f);
    if (y->kept)
        close_slots(w);
    else if (loops || (y->grid_r && !y->peel))
        close_brace(w);
    settle_best(w, f);
    put_end_elements(w, f);
    if (y->peel && !y->one_read) close_brace(w);
    if (y->split > 1) return; /* partial results leave the block here */
    put_combines(w, f, smem);
    struct phase rest = *f;
    if (f->squares.n) settle_squares(w, f, smem, &rest);
    put_row_values(w, rest.after.at, rest.after.n);
}

/* Of values that do not vary with r: a thread's vector, where memory runs along x; else element by
 * element. */
static void put_row_store(struct emitter *w, uint32_t s) {
    const struct store_node *st = &w->k->stores.at[s];
    bool vector = w->y->rows_inner && vector_store(w, st);
    const char *t = math_type(store_dtype(w, st));
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
        put_store1(w, st, "");
    if (w->y->rows_inner) close_brace(w);
}

/* Stores of values without r: by the first thread of each row. */
void put_row_stores(struct emitter *w) {
    const struct layout *y = w->y;
    if (!w->p->row_stores.n) return;
    open_brace(w, y->cluster > 1 ? "if (tr == 0 && rank == 0)" : "if (tr == 0)");
    open_unrolled(w, "e", y->ex);
    if (!rows_exact(w)) open_brace(w, "if (%s)", row_is_real(w));
    if (!y->rows_inner) put_x(w, true);
    w->subscript = y->rows_inner ? "[e][v]" : "[e]";
    for (uint32_t i = 0; i < w->p->row_stores.n; i++) put_row_store(w, w->p->row_stores.at[i]);
    close_brace(w);
    if (!rows_exact(w)) close_brace(w);
    close_brace(w);
}

struct ws_launch *open_kernel(struct emitter *w, const char *name, int threads) {
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = name, .grid = {1, 1, 1}, .threads = threads};
    add_arguments(w, l);
    bool first = w->out->n_launches == 1;
    int blocks = first ? w->p->config.knob[KNOB_blocks] : 0; /* to be on the device together */
    if (first && !blocks) blocks = w->y->fit;
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d", threads);
    if (!first)
        blocks = 1; /* else the compiler has fewer loads under way, to fit in more of them */
    if (blocks) buf_printf(&w->b, ", %d", blocks);
    buf_puts(&w->b, ") ");
    if (first && layout_cluster(w->y) > 1)
        buf_printf(&w->b, "__cluster_dims__(%d, 1, 1) ", w->y->cluster);
    buf_printf(&w->b, "%s(", name);
    put_parameters(w);
    put_partial_parameters(w, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
    line(w, "k_enter();");
    line(w, "const int tid = (int)threadIdx.x;");
    line(w, "const k_idx nx = %s, nr = %s;", ex_text(w, w->k->bound[AXIS_X]),
         ex_text(w, w->k->bound[AXIS_R]));
    return l;
}

static void put_block_position(struct emitter *w) {
    const struct layout *y = w->y;
    if (y->rows_inner)
        line(w, "const int tr = tid / %d, tx = tid %% %d;", y->t0, y->t0);
    else
        line(w, "const int tx = tid / %d, tr = tid %% %d;", y->t1, y->t1);
    if (y->grid_r) {
        if (y->peel && ex_is_const(w->k->ex, w->k->bound[AXIS_R], NULL))
            line(w, "const k_idx tiles = %lld;", (long long)layout_column_tiles(w->k, y));
        else
            line(w, "const k_idx tiles = (nr + %d) / %d;", y->br - 1, y->br);
        line(w, "const k_idx px = (k_idx)blockIdx.x / tiles;");
        line(w, "const k_idx base = ((k_idx)blockIdx.x %% tiles) * %d, r_end = nr;", y->br);
    } else if (y->blocks && y->cluster > 1) {
        if (y->apart)
            line(w, "const int rank = (int)blockIdx.x %% %d;", y->cluster);
        else
            line(w, "const int rank = (int)k_cluster_rank();");
        line(w, "const k_idx base = rank * %d, r_end = k_clamp(base + %d, nr);", y->br, y->br);
        line(w, "(void)tx; (void)tr; (void)nx; (void)r_end; (void)k_smem;");
        return;
    } else if (y->blocks) {
        line(w, "const k_idx base = 0, r_end = nr;");
        line(w, "(void)tx; (void)tr; (void)nx; (void)r_end; (void)k_smem;");
        return;
    } else if (y->cluster > 1) {
        line(w, "const k_idx px = (k_idx)blockIdx.x / %d;", y->cluster);
        line(w, "const int rank = (int)k_cluster_rank();");
        line(w, "const k_idx steps = (nr + %d) / %d;", y->br - 1, y->br);
        line(w, "const k_idx chunk = (steps + %d) / %d * %d;", y->cluster - 1, y->cluster, y->br);
        line(w, "const k_idx %s = rank * chunk;", y->one_read ? "base" : "r_begin");
        line(w, "const k_idx r_end = k_clamp(%s + chunk, nr);", y->one_read ? "base" : "r_begin");
    } else if (y->split > 1) {
        line(w, "const k_idx px = (k_idx)blockIdx.x / %d, part = (k_idx)blockIdx.x %% %d;",
             y->split, y->split);
        line(w, "const k_idx steps = (nr + %d) / %d;", y->br - 1, y->br);
        line(w, "const k_idx chunk = (steps + %d) / %d * %d;", y->split - 1, y->split, y->br);
        line(w, "const k_idx r_begin = part * chunk, r_end = k_clamp(r_begin + chunk, nr);");
    } else if (y->look_back) {
        put_look_back_position(w);
    } else if (w->k->kind == KERNEL_SCAN) {
        line(w, "const k_idx px = (k_idx)blockIdx.x, r_end = nr;");
    } else {
        line(w, "const k_idx px = (k_idx)blockIdx.x;");
        line(w, y->one_read ? "const k_idx base = 0, r_end = nr;"
                            : "const k_idx r_begin = 0, r_end = nr;");
    }
    line(w, "(void)px; (void)tx; (void)tr; (void)nx; (void)r_end; (void)k_smem;");
}

void emit_cuda_rows(struct emitter *w) {
    struct ws_launch *l = open_kernel(w, w->k->name, w->y->threads);
    l->grid[0] = w->p->grid;
    l->smem = w->y->smem;
    l->cluster = layout_cluster(w->y);
    put_block_position(w);
    if (w->y->in_words) put_draw(w);
    if (w->y->hits) {
        put_hits(w);
        close_brace(w);
        if (w->y->split > 1) emit_finish(w);
        return;
    }
    int smem = 0;
    put_mbarriers(w, &smem);
    if (w->y->peel) put_row_ends(w);
    put_row_copies(w);
    if (w->y->blocks) open_block_rows(w);
    put_row_values(w, w->p->before.at, w->p->before.n);
    bool scans = w->k->kind == KERNEL_SCAN; /* then all phases on one tile after the other */
    if (scans) declare_carries(w, &w->p->phases.at[0]);
    if (scans && !w->y->look_back)
        open_brace(w, "for (k_idx base = 0; base < nr; base += %d)", w->y->br);
    bool reads_blocks = layout_cluster(w->y) > 1 && !exchanges(w->y);
    uint32_t last = w->p->phases.n; /* which reduces: blocks read nothing of each other after it */
    while (last > 0 && !w->p->phases.at[last - 1].reduce.n) last--;
    for (uint32_t i = 0; i < w->p->phases.n; i++) {
        put_phase(w, i, &smem);
        if (reads_blocks && !w->y->blocks && i + 1 == last) line(w, "k_cluster_arrive();");
        if (w->y->look_back && i + 1 == last) arrive_look_back(w);
    }
    if (scans && !w->y->look_back) close_brace(w);
    WS_ASSERT(smem <= l->smem); /* layout.c counts the regions that put_combines hands out */
    if (w->y->split > 1) put_partials(w);
    if (w->y->last_block) put_last_block(w);
    if (w->y->split == 1) put_row_stores(w);
    if (w->y->look_back) end_look_back(w);
    if (w->y->blocks) close_block_rows(w);
    if (reads_blocks)
        line(w, "k_cluster_wait(); /* no block may end while another reads its shared memory */");
    close_brace(w);
    if (w->y->split > 1 && !w->y->last_block) emit_finish(w);
    if (w->k->columns) emit_column_finish(w);
}
