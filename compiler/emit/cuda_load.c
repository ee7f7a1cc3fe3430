/* cuda_load.c: the raw loads of a tile: vectors into registers, elements that lie apart, operands
 * that turn in shared memory. Their text, for load v at step u:
 *
 *     k_pack<k_f32, 4> q3[1][4];                           declare_packs
 *     q3[e][u] = k_load<k_f32, 4>(p0 + (x * 4096 + r));    put_loads
 *     k_get(q3[e][u], v)                                   unpack_text
 *
 * What runs backwards is a vector, too, from its last element to its first: k_get(q3[e][u], 3 - v).
 * Neighbours that share elements, as two numbers that are in a byte do, are a shorter vector:
 * k_get(q3[e][u], v / 2). */
#include "emit/cuda_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

enum load_shape {
    WHOLE_VECTOR,
    REVERSED_VECTOR,
    SHIFTED_VECTOR,
    SHARED_VECTOR,
    ELEMENT_BY_ELEMENT,
    ONE_FOR_ALL
};

/* Do so many neighbours each, along r, share an element? Then out has these. */
static bool shares(struct emitter *w, const struct value_node *x, struct run *out, int *each) {
    const struct kernel *k = w->k;
    int n = w->y->vec;
    bool columns = !w->y->rows_inner && !w->y->peel && k->kind != KERNEL_MATMUL;
    bool by_element =
        x->n_args == x->guarded && (!x->guarded || k->values.at[x->args[0]].mask & MASK_R);
    if (!columns || !by_element || n < 2 || n > RUN || !ex_divides(k->ex, n, k->bound[AXIS_R]))
        return false;
    if (!operand_run(k, x, n, out)) return false;
    *each = n / out->width;
    for (int i = 0; i < n; i++)
        if (out->at[i] >= 0 && out->at[i] != i / *each) return false;
    return out->width > 1 && *each > 1;
}

static bool takes_pairs(struct emitter *w, value_id v) {
    return layout_turns_pairs(w->k, w->y, v) && !w->ends;
}

static enum load_shape load_shape(struct emitter *w, const struct value_node *x) {
    enum axis along = w->y->rows_inner ? AXIS_X : AXIS_R;
    if (!(x->mask >> along & 1)) return ONE_FOR_ALL;
    if (takes_pairs(w, (value_id)(x - w->k->values.at))) return WHOLE_VECTOR;
    if (layout_load_is_vector(w->k, w->y, x)) return WHOLE_VECTOR;
    if (layout_load_is_uniform(w->k, w->y, x)) return ONE_FOR_ALL;
    if (layout_load_reverses(w->k, w->y, x)) return REVERSED_VECTOR;
    struct run run;
    int each;
    if (shares(w, x, &run, &each)) return SHARED_VECTOR;
    return layout_load_shifts(w->k, w->y, x) ? SHIFTED_VECTOR : ELEMENT_BY_ELEMENT;
}

static int vector_of(struct emitter *w, const struct value_node *x) {
    enum load_shape s = load_shape(w, x);
    struct run run;
    int each;
    if (s == SHARED_VECTOR) return shares(w, x, &run, &each) ? run.width : 1;
    return s == WHOLE_VECTOR || s == REVERSED_VECTOR || s == SHIFTED_VECTOR ? w->y->vec : 1;
}

/* Each row of the thread has its own; where heads differ, each has columns of its own. */
static bool loads_by_row(const struct emitter *w, const struct value_node *x) {
    return x->mask & MASK_X || (w->y->peel && !w->y->one_head);
}

/* The registers that load v fills; those of heads and tails are others, and those of a tile that
 * is loaded while the one before it is at hand. */
static const char *prefix(const struct emitter *w) { return w->ends ? "end" : w->next ? "n" : "q"; }

const char *pack_name(struct emitter *w, value_id v) {
    return arena_printf(w->arena, "%s%u%s", prefix(w), v, loads_by_row(w, at(w, v)) ? "[e]" : "");
}

static const char *pack_type(struct emitter *w, const struct value_node *x) {
    enum dtype t = buffer_dtype(w, x->buffer);
    return arena_printf(w->arena, "k_pack<%s, %d>", memory_type(w, t), vector_of(w, x));
}

const char *whole_pack(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    bool whole = x->kind == INST_LOAD && !layout_tap(w->y, v) && vector_of(w, x) == w->y->vec;
    whole = whole && load_shape(w, x) != REVERSED_VECTOR;
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
        line(w, "%s %s%u%s;", pack_type(w, x), prefix(w), f->loads.at[i], dims.p);
    }
}

/* Those whose guard does not hold are 0. */
static const char *shared_text(struct emitter *w, const struct value_node *x, const char *pack) {
    struct run run;
    int each;
    unsigned holds = 0, all = (1u << w->y->vec) - 1;
    bool known = shares(w, x, &run, &each);
    WS_ASSERT(known);
    for (int i = 0; i < w->y->vec; i++) holds |= (unsigned)(run.at[i] >= 0) << i;
    const char *get = arena_printf(w->arena, "k_get(%s[u], v / %d)", pack, each);
    return holds == all ? get : arena_printf(w->arena, "(0x%x >> v & 1 ? %s : 0)", holds, get);
}

const char *unpack_text(struct emitter *w, value_id v) {
    const char *pack = pack_name(w, v);
    const struct window_tap *tap = layout_tap(w->y, v);
    if (tap) return tap_text(w, tap);
    switch (load_shape(w, at(w, v))) {
    case WHOLE_VECTOR:
    case SHIFTED_VECTOR: return arena_printf(w->arena, "k_get(%s[u], v)", pack);
    case REVERSED_VECTOR:
        return arena_printf(w->arena, "k_get(%s[u], %d - v)", pack, w->y->vec - 1);
    case SHARED_VECTOR: return shared_text(w, at(w, v), pack);
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
const char *load_hint(struct emitter *w, buffer_id b, bool once) {
    if (part_changes(w, b)) return ", K_NOW";
    const char *l2 = once ? l2_hint(w) : "", *l1 = w->y->skip_l1 ? "K_SKIP_L1" : "";
    const char *here = w->here ? "K_HERE" : "";
    if (!*l1 && !*l2 && !*here) return "";
    return arena_printf(w->arena, ", %s%s%s%s%s", l1, *l1 && *l2 ? " | " : "", l2,
                        *here && (*l1 || *l2) ? " | " : "", here);
}

const char *l2_hint(const struct emitter *w) {
    return w->y->leave_l2 ? "K_LEAVE_L2" : w->y->stay_l2 ? "K_STAY_L2" : "";
}

/* Element `place` of a row of the tile in shared memory that belongs to a thread's vector number
 * `vector`. A warp stores a row of the tile, and later reads a column of every vec-th of them:
 * turned by one place a vector, its elements are in as many banks both times. Vectors that begin
 * anywhere would be turned by numbers that each element has to compute: their tile's rows are a
 * word longer instead. */
static int turned_by(const struct emitter *w) {
    int warp = w->k->limits->warp;
    return w->y->peel ? 0 : w->y->t1 < warp ? warp / w->y->t1 : 1;
}

static const char *turned_place(struct emitter *w, const char *place, const char *vector) {
    if (w->y->peel) return place;
    return arena_printf(w->arena, "(%s + (%s) * %d) %% %du", place, vector, turned_by(w), w->y->bx);
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

/* Of load v, what is at (row, at) of the tile, or in the half `half` of a pair of rows. */
static void put_turned_load(struct emitter *w, value_id v, const char *to, const char *half) {
    const struct layout *y = w->y;
    const struct value_node *x = at(w, v);
    int many = layout_turn_vector(w->k, y, v);
    line(w, "const k_idx x = k_clamp(px * %d + (k_idx)at * %d, nx - %d);", y->bx, many, many);
    line(w, "const k_idx r = k_clamp(base + (k_idx)row%s, nr - 1);", half);
    const char *condition =
        x->guarded ? arena_printf(w->arena, "%s, ", ex_text(w, at(w, x->args[0])->index)) : "";
    line(w, "%s = k_load%s<%s, %d%s>(%sp%d + (%s));", to, x->guarded ? "_if" : "",
         memory_type(w, buffer_dtype(w, x->buffer)), many,
         load_hint(w, x->buffer, kernel_loads_once(w->k, v)), condition, argument_of(w, x->buffer),
         ex_text(w, x->index));
}

/* What lies across goes through shared memory: threads that are neighbours read neighbours, along
 * x, a word each, and later take up what is theirs, along r. All reads of a tile are under way
 * before the first is put down. */
static void put_turn(struct emitter *w, value_id v, int *smem) {
    const struct layout *y = w->y;
    const struct value_node *x = at(w, v);
    const char *m = memory_type(w, buffer_dtype(w, x->buffer));
    bool pairs = layout_turns_pairs(w->k, y, v);
    int many = layout_turn_vector(w->k, y, v), columns = layout_turn_columns(y) / (pairs ? 2 : 1);
    int words = y->bx / many, at_once = y->threads % words ? 1 : y->threads / words; /* columns */
    int each = words % y->threads == 0 ? columns * (words / y->threads)
               : at_once > 1           ? (columns + at_once - 1) / at_once
                                       : (columns * words + y->threads - 1) / y->threads;
    bool exact = (int64_t)each * y->threads == (int64_t)columns * words;
    int pitch = layout_turn_pitch(y);
    line(w, "k_pack<%s, %d> (*const t%u)[%d] = (k_pack<%s, %d> (*)[%d])(k_smem + %d);", m,
         pairs ? 2 : 1, v, pitch, m, pairs ? 2 : 1, pitch, *smem);
    *smem += (int)((layout_turn_bytes(w->k, y, v) + 15) / 16 * 16);
    open_scope(w);
    line(w, "k_pack<%s, %d> turned[%d]%s;", m, many, each, pairs ? "[2]" : "");
    open_unrolled(w, "i", each);
    put_turned_word(w, words);
    if (pairs) open_unrolled(w, "h", 2);
    put_turned_load(w, v, pairs ? "turned[i][h]" : "turned[i]", pairs ? " * 2 + h" : "");
    if (pairs) close_brace(w);
    close_brace(w);
    open_unrolled(w, "i", each);
    put_turned_word(w, words);
    if (!exact) open_brace(w, "if (row < %du)", columns);
    if (pairs) {
        const char *vector = arena_printf(w->arena, "row / %du", y->vec / 2),
                   *first = turned_place(w, "at * 2", vector),
                   *next = turned_by(w) % 2 ? turned_place(w, "at * 2 + 1", vector)
                                            : arena_printf(w->arena, "%s + 1", first);
        line(w, "k_put_pairs(t%u[row][%s], t%u[row][%s], turned[i][0], turned[i][1]);", v, first, v,
             next);
    }
    for (int i = 0; i < many && !pairs; i++)
        line(w, "t%u[row][%s] = k_pick(turned[i], %d);", v,
             turned_place(w, arena_printf(w->arena, i ? "at + %d" : "at", i * words),
                          arena_printf(w->arena, "row / %du", y->vec)),
             i);
    if (!exact) close_brace(w);
    close_brace(w);
    close_brace(w);
}

void put_turns(struct emitter *w, const struct phase *f, int *smem) {
    bool any = false;
    for (uint32_t i = 0; i < f->loads.n; i++) {
        if (!layout_turns(w->k, w->y, f->loads.at[i])) continue;
        put_turn(w, f->loads.at[i], smem);
        any = true;
    }
    if (any) line(w, "__syncthreads();");
}

/* A thread's vector of pairs, or, where it may begin within one, out of one more. */
static void put_turned_pairs(struct emitter *w, value_id v, const char *to, const char *place) {
    const char *within = w->y->peel ? "(unsigned)" : "";
    open_unrolled(w, "j", w->y->vec / 2);
    line(w, "const unsigned first = t%u[%s(r - base) / 2 + j][%s].w[0];", v, within, place);
    if (w->y->peel) {
        line(w, "const unsigned next = t%u[%s(r - base) / 2 + j + 1][%s].w[0];", v, within, place);
        line(w, "%s.w[j] = k_funnel(first, next, ((unsigned)(r - base) & 1) * 16);", to);
    } else {
        line(w, "%s.w[j] = first;", to);
    }
    close_brace(w);
}

/* The load of v into `to`. */
static void put_load_into(struct emitter *w, value_id v, const char *to) {
    const struct value_node *x = at(w, v);
    int vec = vector_of(w, x);
    const char *m = memory_type(w, buffer_dtype(w, x->buffer));
    const char *hint = load_hint(w, x->buffer, kernel_loads_once(w->k, v));
    if (layout_turns(w->k, w->y, v) && !w->ends) {
        int many = layout_turn_vector(w->k, w->y, v); /* the first of each come first */
        const char *at = arena_printf(w->arena, "e * %d + tx", w->y->t0),
                   *vector = arena_printf(w->arena, "u * %d + tr", w->y->t1);
        if (takes_pairs(w, v)) {
            put_turned_pairs(w, v, to, turned_place(w, at, vector));
            return;
        }
        if (many > 1)
            at = arena_printf(w->arena, "(unsigned)(%s) / %d + (unsigned)(%s) %% %d * %d", at, many,
                              at, many, w->y->bx / many);
        line(w, "%s = t%u[r - base][%s];", to, v, turned_place(w, at, vector));
        return;
    }
    if (load_shape(w, x) == SHIFTED_VECTOR) {
        if (w->y->rows_inner) hint = arena_printf(w->arena, "%s, true", *hint ? hint : ", 0");
        line(w, "%s = k_load_shifted<%s, %d%s>(p%d, %s);", to, m, vec, hint,
             argument_of(w, x->buffer), ex_text(w, x->index));
        return;
    }
    if (load_shape(w, x) == SHARED_VECTOR) {
        struct run run;
        int each;
        bool known = shares(w, x, &run, &each);
        WS_ASSERT(known);
        line(w, "const k_idx run = r / %d;", w->y->vec);
        line(w, "%s = k_load<%s, %d%s>(p%d + (%s));", to, m, vec, hint, argument_of(w, x->buffer),
             ex_text(w, run.first));
        return;
    }
    if (layout_scan_is_cut(w->k, w->y) && load_shape(w, x) == WHOLE_VECTOR) {
        const char *left =
            x->guarded ? arena_printf(w->arena, "%s ? nr - r : 0", ref(w, x->args[0])) : "nr - r";
        line(w, "%s = k_load_some<%s, %d%s>(p%d + (%s), %s);", to, m, vec, hint,
             argument_of(w, x->buffer), ex_text(w, x->index), left);
        return;
    }
    const char *condition = x->guarded ? arena_printf(w->arena, "%s, ", ref(w, x->args[0])) : "";
    const char *before =
        load_shape(w, x) == REVERSED_VECTOR ? arena_printf(w->arena, " - %d", vec - 1) : "";
    line(w, "%s = k_load%s<%s, %d%s>(%sp%d + (%s%s));", to, x->guarded ? "_if" : "", m, vec, hint,
         condition, argument_of(w, x->buffer), ex_text(w, x->index), before);
}

static void put_load(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    const char *moving = w->y->rows_inner ? "x" : "r";
    bool whole = load_shape(w, x) != ELEMENT_BY_ELEMENT, *locals = NULL;
    const char *outer = w->subscript;
    w->subscript = w->y->rows_inner ? "[e][v]" : "[e]";
    if (load_shape(w, x) == SHARED_VECTOR) {
        open_scope(w);
        put_load_into(w, v, arena_printf(w->arena, "%s[u]", pack_name(w, v)));
        close_brace(w);
        w->subscript = outer;
        return;
    }
    if (whole && x->n_args) {
        open_scope(w);
        line(w, "const int v = 0;"); /* the same for the whole vector */
        line(w, "(void)v;");
    } else if (!whole) {
        line(w, "#pragma unroll");
        open_brace(w, "for (int v = 0; v < %d; v++)", w->y->vec);
        line(w, "const k_idx %s_ = %s;", moving, moving);
        line(w, "const k_idx %s = %s;", moving,
             element_place(w, arena_printf(w->arena, "%s_", moving)));
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
