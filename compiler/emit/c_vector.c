/* c_vector.c: a phase in whole vectors of floats (prelude_vector.h).
 *
 * Where every value of a phase is a float, or a comparison of such, and memory is contiguous (of
 * f32, bf16 or f16), no vectoriser has to find that out, and maxima, masks and stores past the
 * caches become single instructions. Along the columns:
 *
 *     k_v c1[32 / K_LANES];
 *     for (; r0 + 32 <= r_end; r0 += 32)
 *         for (int u = 0; u < 32 / K_LANES; u++)
 *             c1[u] = k_max(c1[u], k_load_v(p0 + (x*4096 + r0 + u*K_LANES)));
 *     a tail of vectors of which the first n lanes count
 *     const float a1 = k_fold_amax(c1 ...)
 *
 * Along the rows, for a tile of them, four columns at a time if only their sums are stored:
 *
 *     for (r4 ...) for (int l = 0; l + K_LANES <= lanes; l += K_LANES)
 *         t1 = k_load_v(c1 + l);  four times: t1 = t1 + k_load_v(p0 + (r*4096 + x));  store t1
 *
 * What is the same for WIDEST neighbours, as r / 64, is one number a vector: uniform. Guards may
 * be. An element goes to the same accumulator whatever K_LANES is, and accumulators are added up by
 * halves: the order of additions does not depend on the machine. With ahead=1 a phase that finds
 * its row in the caches asks for the next one meanwhile; where rows are gone over once, for what
 * lies a page further on, which no core fetches of its own accord. */
#include "emit/c_rows.h"
#include "graph/traits.h"

/* What a value is in a vector loop. A number counts the columns: what is drawn for a vector may
 * begin at one, and an argmax or argmin keeps columns, and knows its number in the end. What goes
 * by lanes (c_lanes.c) is floats or a mask to others, or what these alone are made of. */
enum form { FORM_NONE, FORM_FLOATS, FORM_MASK, FORM_UNIFORM, FORM_NUMBER, FORM_BY_LANES };

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* ---- which phases ---------------------------------------------------------------------------- */

static bool is_float(enum dtype t) { return dtype_opmath(t) == DT_F32; }

/* What the names of loads, stores and roundings end in: prelude_vector.h has them of these. */
static const char *ending(enum dtype t) {
    return t == DT_BF16 ? "_bf16" : t == DT_F16 ? "_f16" : "";
}

/* Vectors lie along this axis. */
static enum axis along(const struct emitter *w) { return w->y->rows_inner ? AXIS_X : AXIS_R; }

static enum form form_of(struct emitter *w, value_id v);

/* What others see of it. */
static enum form seen_form(struct emitter *w, value_id v) {
    enum form f = form_of(w, v);
    enum dtype t = at(w, v)->dtype;
    if (f != FORM_BY_LANES) return f;
    if (!(at(w, v)->mask & MASK_R)) return FORM_NONE; /* a number a row, which lanes alone read */
    return is_float(t) ? FORM_FLOATS : t == DT_BOOL ? FORM_MASK : FORM_NONE;
}

static bool fits(struct emitter *w, value_id v, enum form form) {
    enum form f = seen_form(w, v);
    return f == form || (f == FORM_UNIFORM && form == FORM_FLOATS && is_float(at(w, v)->dtype));
}

/* All operands from `first` on fit the form. */
static bool operands_fit(struct emitter *w, const struct value_node *x, int first, enum form form) {
    for (int a = first; a < x->n_args; a++)
        if (!fits(w, x->args[a], form)) return false;
    return true;
}

/* The sign of a comparison, NULL of anything else. */
static const char *sign_of(enum op op) {
    switch (op_index(op)) {
    case INDEX_EQ: return "==";
    case INDEX_NE: return "!=";
    case INDEX_LT: return "<";
    case INDEX_LE: return "<=";
    case INDEX_GT: return ">";
    case INDEX_GE: return ">=";
    case INDEX_NONE:
    case INDEX_ADD:
    case INDEX_SUB:
    case INDEX_MUL:
    case INDEX_DIV:
    case INDEX_MOD:
    case INDEX_MIN:
    case INDEX_MAX:
    case INDEX_COUNT: break;
    }
    return NULL;
}

/* Is column `counted` of the two operands compared with an integer that is the same for all? */
static bool compares_columns(struct emitter *w, const struct value_node *x, int *counted) {
    if (x->n_args != 2 || !sign_of(x->op)) return false;
    for (*counted = 0; *counted < 2; ++*counted)
        if (form_of(w, x->args[*counted]) == FORM_NUMBER &&
            form_of(w, x->args[!*counted]) == FORM_UNIFORM &&
            dtype_is_index(at(w, x->args[!*counted])->dtype))
            return true;
    return false;
}

static enum form form_of_op(struct emitter *w, const struct value_node *x) {
    int counted;
    if (compares_columns(w, x, &counted)) return FORM_MASK;
    if (x->op == OP_RAND) {
        bool fit = is_float(x->dtype) && form_of(w, x->args[0]) == FORM_NUMBER;
        return fit ? FORM_FLOATS : FORM_NONE;
    }
    if (!op_takes_vectors(x->op)) return FORM_NONE;
    if (x->op == OP_WHERE) {
        enum form which = seen_form(w, x->args[0]);
        bool fit =
            (which == FORM_MASK || which == FORM_UNIFORM) && operands_fit(w, x, 1, FORM_FLOATS);
        return fit && is_float(x->dtype) ? FORM_FLOATS : FORM_NONE;
    }
    if (x->op == OP_LOGICAL_AND || x->op == OP_LOGICAL_OR || x->op == OP_LOGICAL_NOT)
        return operands_fit(w, x, 0, FORM_MASK) ? FORM_MASK : FORM_NONE;
    if (!operands_fit(w, x, 0, FORM_FLOATS)) return FORM_NONE;
    return x->dtype == DT_BOOL ? FORM_MASK : is_float(x->dtype) ? FORM_FLOATS : FORM_NONE;
}

/* Is it an operand that lies across the columns, and is turned into a tile of the task's own? */
static bool turns(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    return layout_turns(w->k, w->y, v) && dtype_takes_vectors(buffer_dtype(w, x->buffer));
}

/* How far apart in memory neighbours are: 1 or 2; 0 if they are not, or not evenly. */
static int step_of(struct emitter *w, ex index) {
    if (index_runs(w->k, index, along(w), WIDEST)) return 1;
    return index_stride(w->k, index, along(w)) == 2 ? 2 : 0;
}

static enum form form_of_load(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    if (turns(w, v)) return FORM_FLOATS;
    for (int a = 0; a < x->n_args; a++) { /* a guard, subscripts */
        enum form form = seen_form(w, x->args[a]);
        bool mask = form == FORM_MASK && a == 0 && x->guarded;
        if (form != FORM_UNIFORM && !mask) return FORM_NONE;
    }
    bool lies = dtype_takes_vectors(buffer_dtype(w, x->buffer)) && step_of(w, x->index);
    return lies ? FORM_FLOATS : FORM_NONE;
}

/* Comparisons of what grows evenly with the axis, and these together. */
static bool is_mask(struct emitter *w, ex e) {
    ex c, rest, axis = w->k->axis[along(w)];
    enum ex_kind kind = ex_kind(w->k->ex, e);
    if (!ex_uses(w->k->ex, e, axis)) return true;
    if (kind == EX_AND) return is_mask(w, ex_lhs(w->k->ex, e)) && is_mask(w, ex_rhs(w->k->ex, e));
    bool compares = kind == EX_EQ || kind == EX_NE || kind == EX_LT || kind == EX_LE;
    return compares && ex_linear(w->k->ex, ex_lhs(w->k->ex, e), axis, &c, &rest) &&
           ex_is_const(w->k->ex, c, NULL) &&
           ex_linear(w->k->ex, ex_rhs(w->k->ex, e), axis, &c, &rest) &&
           ex_is_const(w->k->ex, c, NULL);
}

static enum form form_of_index(struct emitter *w, const struct value_node *x) {
    if (x->n_args || w->k->wide_index) return FORM_NONE;
    if (x->dtype == DT_BOOL) return is_mask(w, x->index) ? FORM_MASK : FORM_NONE;
    bool counts = dtype_is_index(x->dtype) && !w->y->rows_inner;
    return counts && index_stride(w->k, x->index, AXIS_R) == 1 ? FORM_NUMBER : FORM_NONE;
}

static enum form find_form(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    if (!(x->mask & MASK_R)) { /* not of this loop: one number, or one a row of the tile */
        bool several = w->y->rows_inner && is_row_value(w, v);
        return is_float(x->dtype) ? FORM_FLOATS : several ? FORM_NONE : FORM_UNIFORM;
    }
    if (x->kind == INST_SCAN) {
        bool carries = w->y->rows_inner && layout_carries_error(w->k, v);
        return is_float(x->dtype) && !carries ? FORM_FLOATS : FORM_NONE;
    }
    if (value_is_uniform(w->k, v, along(w), WIDEST)) return FORM_UNIFORM;
    if (x->kind == INST_LOAD) return form_of_load(w, v);
    if (x->kind == INST_INDEX) return form_of_index(w, x);
    if (x->kind == INST_OP) return form_of_op(w, x);
    if (x->kind != INST_CAST || !is_float(x->dtype)) return FORM_NONE;
    if (x->rounds && !dtype_takes_vectors(x->dtype)) return FORM_NONE;
    enum form from = seen_form(w, x->args[0]);
    return from == FORM_FLOATS || from == FORM_MASK ? FORM_FLOATS : FORM_NONE;
}

/* Each is found once: values that share values have very many ways down. */
static enum form form_of(struct emitter *w, value_id v) {
    if (w->forms[v]) return (enum form)(w->forms[v] - 1);
    enum form f = find_form(w, v);
    if (f == FORM_NONE && goes_by_lanes(w, v)) f = FORM_BY_LANES;
    w->forms[v] = (uint8_t)(1 + f);
    return (enum form)(w->forms[v] - 1);
}

/* Of whole vectors, beside each other; others go lane by lane. */
static bool is_vector_store(struct emitter *w, const struct store_node *st) {
    return dtype_takes_vectors(buffer_dtype(w, st->buffer)) &&
           index_runs(w->k, st->index, along(w), WIDEST) && fits(w, st->value, FORM_FLOATS);
}

static bool is_vector_reduction(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    if (is_pair(x))
        return is_float(at(w, x->args[0])->dtype) && fits(w, x->args[0], FORM_FLOATS) &&
               form_of(w, x->args[1]) == FORM_NUMBER;
    return is_float(x->dtype) && reduction_of_values(x->reduction) &&
           operands_fit(w, x, 0, FORM_FLOATS);
}

/* Neighbours are those of a multiple of WIDEST: where the loop begins, and its tiles. */
static bool begins_evenly(const struct layout *y) {
    bool pieces = y->grid_r || y->split > 1;
    return y->vec % WIDEST == 0 && (y->rows_inner || !pieces || y->br % WIDEST == 0);
}

/* Can it be stored lane by lane? What vectors have, or what lanes have by themselves. */
static bool is_lane_store(struct emitter *w, const struct store_node *st) {
    return fits(w, st->value, FORM_FLOATS) || fits(w, st->value, FORM_MASK) ||
           goes_by_lanes(w, st->value);
}

/* Does it go by lanes because of where it lies, which no compiler makes vectors of? Integers beside
 * each other are some to it. */
static bool lies_apart(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    if (x->kind != INST_LOAD || form_of(w, v) != FORM_BY_LANES) return false;
    return x->n_args > x->guarded || index_stride(w->k, x->index, along(w)) < 0;
}

/* Vectors of what is made lane by lane pay where they spare calls of maths; or, of what lies apart,
 * rounding and extrema that keep NaN. */
static bool lanes_pay(struct emitter *w, const struct phase *f) {
    bool apart = false, some = false;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        const struct value_node *x = at(w, f->compute.at[i]);
        apart |= lies_apart(w, f->compute.at[i]);
        if (form_of(w, f->compute.at[i]) != FORM_FLOATS) continue;
        if (x->kind == INST_OP && op_is_expensive(x->op)) return true;
        some |= x->kind == INST_CAST && x->rounds;
    }
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        enum reduction r = at(w, f->reduce.at[i])->reduction;
        some |= r == REDUCTION_AMAX || r == REDUCTION_AMIN;
    }
    return apart && some;
}

bool phase_is_vector(struct emitter *w, uint32_t index) {
    const struct phase *f = &w->p->phases.at[index];
    bool lanes = false;
    if (!begins_evenly(w->y)) return false;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        enum form form = form_of(w, f->compute.at[i]);
        if (form == FORM_NONE) return false;
        lanes |= form == FORM_BY_LANES;
    }
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        if (is_vector_store(w, st)) continue;
        if (!is_lane_store(w, st)) return false;
        lanes = true;
    }
    if (lanes && !lanes_pay(w, f)) return false;
    for (uint32_t i = 0; i < f->reduce.n; i++)
        if (!is_vector_reduction(w, f->reduce.at[i])) return false;
    for (uint32_t i = 0; i < f->across.n; i++)
        if (!is_vector_reduction(w, f->across.at[i])) return false;
    return true;
}

/* ---- one vector ------------------------------------------------------------------------------ */

/* Text of a load from, or a store to, `p`, where t lie: of the first n lanes where `part`. */
static const char *load_of(struct emitter *w, enum dtype t, const char *p, bool part) {
    return arena_printf(w->arena, part ? "k_load_n%s(%s, n)" : "k_load_v%s(%s)", ending(t), p);
}

static void put_store_of(struct emitter *w, enum dtype t, const char *p, const char *value,
                         bool part) {
    line(w, part ? "k_store_n%s(%s, %s, n);" : "k_store_v%s(%s, %s);", ending(t), p, value);
}

/* The same where the kernel keeps numbers of its own. */
static const char *load_at(struct emitter *w, const char *p, bool part) {
    return load_of(w, DT_F32, p, part);
}

static void put_store_at(struct emitter *w, const char *p, const char *value, bool part) {
    put_store_of(w, DT_F32, p, value, part);
}

static const char *place_of(struct emitter *w, buffer_id b, ex index) {
    return arena_printf(w->arena, "p%d + (%s)", argument_of(w, b), ex_text(w, index));
}

/* How the scope names a uniform value, as one number. */
static const char *number_ref(struct emitter *w, value_id v) {
    w->vectors = false;
    const char *s = ref(w, v);
    w->vectors = true;
    return s;
}

static const char *choice_text(struct emitter *w, value_id which, const char *a, const char *b) {
    if (form_of(w, which) == FORM_UNIFORM)
        return arena_printf(w->arena, "(%s ? %s : %s)", number_ref(w, which), a, b);
    return arena_printf(w->arena, "k_select(%s, %s, %s)", ref(w, which), a, b);
}

/* Sizes that are known only when the kernel runs are wider than an index. */
static bool uses_sizes(struct emitter *w, ex e) {
    enum { ENOUGH = 16 };
    ex symbols[ENOUGH];
    int n = ex_symbols(w->k->ex, e, symbols, ENOUGH);
    bool any = n >= ENOUGH;
    for (int i = 0; i < n && !any; i++) {
        any = true;
        for (int a = 0; a < AXIS_COUNT; a++) any &= w->k->axis[a] != symbols[i];
    }
    return any;
}

/* A condition on the axis, for all lanes at once: each comparison between two numbers that grow
 * evenly with it is one of their difference, a number and so much a lane. */
static const char *mask_text(struct emitter *w, ex e) {
    static const char *const signs[] = {
        [EX_EQ] = "==", [EX_NE] = "!=", [EX_LT] = "<", [EX_LE] = "<="};
    struct exprs *p = w->k->ex;
    ex axis = w->k->axis[along(w)], step, rest;
    enum ex_kind kind = ex_kind(p, e);
    if (!ex_uses(p, e, axis)) return arena_printf(w->arena, "k_all(%s)", ex_text(w, e));
    if (kind == EX_AND)
        return arena_printf(w->arena, "(%s & %s)", mask_text(w, ex_lhs(p, e)),
                            mask_text(w, ex_rhs(p, e)));
    ex difference = ex_sub(p, ex_lhs(p, e), ex_rhs(p, e));
    bool linear = ex_linear(p, difference, axis, &step, &rest);
    WS_ASSERT(linear);
    bool wide = w->k->wide_index || uses_sizes(w, rest);
    return arena_printf(w->arena, "(%s(%s) + k_lanes() * %lld %s 0)", wide ? "k_within" : "",
                        ex_text(w, difference), (long long)ex_value(p, step), signs[kind]);
}

static const char *load_text_at(struct emitter *w, const struct value_node *x, bool part) {
    const char *place = place_of(w, x->buffer, x->index);
    enum dtype t = buffer_dtype(w, x->buffer);
    int step = step_of(w, x->index);
    bool masked = x->guarded && seen_form(w, x->args[0]) == FORM_MASK;
    if (step == 1 && !masked) {
        const char *load = load_of(w, t, place, part);
        return x->guarded ? choice_text(w, x->args[0], load, "k_splat(0.0f)") : load;
    }
    const char *which = part ? "k_below(n)" : "k_all(1)";
    if (masked && part) which = arena_printf(w->arena, "(%s & k_below(n))", ref(w, x->args[0]));
    if (masked && !part) which = ref(w, x->args[0]);
    if (x->guarded && !masked)
        which = arena_printf(w->arena, "(%s & k_all(%s))", which, number_ref(w, x->args[0]));
    return arena_printf(w->arena, "k_load_if%s(%s, %s, %d)", ending(t), which, place, step);
}

/* The lane whose column is that number, or one beside them, compared with all. */
static const char *column_mask_text(struct emitter *w, const struct value_node *x, int counted) {
    const char *lane =
        arena_printf(w->arena, "k_near((long long)%s - (%s))", number_ref(w, x->args[!counted]),
                     ex_text(w, at(w, x->args[counted])->index));
    return counted ? arena_printf(w->arena, "(%s %s k_lanes())", lane, sign_of(x->op))
                   : arena_printf(w->arena, "(k_lanes() %s %s)", sign_of(x->op), lane);
}

static const char *vector_text(struct emitter *w, value_id v, bool part) {
    const struct value_node *x = at(w, v);
    bool op = x->kind == INST_OP;
    int counted;
    if (op && compares_columns(w, x, &counted)) return column_mask_text(w, x, counted);
    if (x->kind == INST_LOAD && turns(w, v))
        return load_at(
            w, arena_printf(w->arena, "turned%u + ((x - x_begin)*%d + r - r_begin)", v, w->y->br),
            part);
    if (x->kind == INST_LOAD) return load_text_at(w, x, part);
    if (x->kind == INST_INDEX) return mask_text(w, x->index);
    if (x->kind == INST_CAST && seen_form(w, x->args[0]) == FORM_MASK)
        return choice_text(w, x->args[0], "k_splat(1.0f)", "k_splat(0.0f)");
    if (op && x->op == OP_WHERE)
        return choice_text(w, x->args[0], ref(w, x->args[1]), ref(w, x->args[2]));
    if (op && x->op == OP_RAND)
        return arena_printf(w->arena, "k_rand_v(%s, %s, %s)", ex_text(w, at(w, x->args[0])->index),
                            number_ref(w, x->args[1]), number_ref(w, x->args[2]));
    if (op && x->op == OP_LOGICAL_NOT) return arena_printf(w->arena, "~%s", ref(w, x->args[0]));
    if (op && (x->op == OP_LOGICAL_AND || x->op == OP_LOGICAL_OR))
        return arena_printf(w->arena, "(%s %c %s)", ref(w, x->args[0]),
                            x->op == OP_LOGICAL_AND ? '&' : '|', ref(w, x->args[1]));
    return value_text(w, v);
}

static void put_uniform(struct emitter *w, value_id v) {
    w->vectors = false;
    put_local(w, v);
    w->vectors = true;
    if (at(w, v)->kind != INST_CONST) w->where[v] = UNIFORM;
}

/* One number for the vector; kept once for each lane. */
static void put_one(struct emitter *w, uint32_t index, value_id v, bool part) {
    const char *kept = kept_place(w, v);
    if (computed_before(w, index, v)) {
        line(w, "const %s v%u = *(%s);", math_type(at(w, v)->dtype), v, kept);
        w->where[v] = UNIFORM;
        return;
    }
    put_uniform(w, v);
    if (worth_keeping(w, index, v)) put_store_at(w, kept, ref(w, v), part);
}

/* What goes by lanes and is wanted in vectors, behind the numbers of which it is made. Is there
 * any? */
static bool put_by_lanes(struct emitter *w, uint32_t index, const bool *need, bool part) {
    const struct phase *f = &w->p->phases.at[index];
    value_id *list = NEW_ARRAY(w->arena, value_id, f->compute.n + 1);
    uint32_t n = 0, n_lanes = 0;
    bool any = false;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (!need[v] || form_of(w, v) != FORM_BY_LANES) continue;
        any = true;
        if (seen_form(w, v) != FORM_NONE && !computed_before(w, index, v)) list[n++] = v;
    }
    for (uint32_t i = 0; i < f->compute.n && any; i++) {
        value_id v = f->compute.at[i];
        if (need[v] && form_of(w, v) == FORM_UNIFORM) put_one(w, index, v, part);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!put_run_load(w, list[i], part)) list[n_lanes++] = list[i];
    if (n_lanes) put_lane_values(w, list, n_lanes, part);
    return any;
}

static void put_values(struct emitter *w, uint32_t index, bool part) {
    const struct phase *f = &w->p->phases.at[index];
    const bool *need = needed_beside_kept(w, index);
    for (uint32_t i = 0; i < f->compute.n; i++) w->where[f->compute.at[i]] = NOWHERE;
    bool lanes = put_by_lanes(w, index, need, part);
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        enum form form = form_of(w, v), seen = seen_form(w, v);
        bool before = computed_before(w, index, v);
        if (form == FORM_NUMBER || seen == FORM_NONE || !need[v]) continue;
        if (form == FORM_UNIFORM) {
            if (!lanes) put_one(w, index, v, part);
            continue;
        }
        const char *kept = kept_place(w, v);
        if (before || form != FORM_BY_LANES)
            line(w, "const %s v%u = %s;", seen == FORM_MASK ? "k_m" : "k_v", v,
                 before ? load_at(w, kept, part) : vector_text(w, v, part));
        w->where[v] = LOCAL;
        if (worth_keeping(w, index, v) && !before) put_store_at(w, kept, ref(w, v), part);
    }
}

static void put_vector_stores(struct emitter *w, const struct phase *f, bool part) {
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        if (!is_vector_store(w, st)) {
            bool vector = seen_form(w, st->value) != FORM_NONE && w->where[st->value] == LOCAL;
            put_lane_store(w, st, vector ? ref(w, st->value) : NULL, part);
            continue;
        }
        const char *p = place_of(w, st->buffer, st->index), *value = ref(w, st->value);
        enum dtype t = buffer_dtype(w, st->buffer);
        if (!part && layout_streams(w->k, w->y, st))
            line(w, "k_stream_v%s(%s, %s);", ending(t), p, value);
        else
            put_store_of(w, t, p, value, part);
    }
}

/* One vector. It is the first n lanes of one where `part`. Its reductions go to c7[u] along the
 * columns, to t7 along the rows. */
static void put_vector(struct emitter *w, uint32_t index, bool part) {
    const struct phase *f = &w->p->phases.at[index];
    bool tile = w->y->rows_inner;
    w->vectors = true;
    put_values(w, index, part);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        if (is_pair(at(w, v))) {
            line(w, "k_keep_%s(&c%u[u], %s, (int)r, %s);", reduction_name(at(w, v)->reduction), v,
                 ref(w, at(w, v)->args[0]), part ? "k_below(n)" : "k_all(1)");
            continue;
        }
        const char *c = arena_printf(w->arena, tile ? "t%u" : "c%u[u]", v),
                   *now = combine_text(w, v, c, ref(w, at(w, v)->args[0]));
        line(w, part && !tile ? "%s = k_first_n(%s, %s, n);" : "%s = %s;", c, now, c);
    }
    for (uint32_t i = 0; i < f->across.n; i++) {
        value_id v = f->across.at[i];
        const char *s = arena_printf(w->arena, "s%u + r", v);
        put_store_at(w, s, combine_text(w, v, load_at(w, s, part), ref(w, at(w, v)->args[0])),
                     part);
    }
    put_vector_stores(w, f, part);
    w->vectors = false;
    for (uint32_t i = 0; i < f->compute.n; i++) w->where[f->compute.at[i]] = NOWHERE;
}

/* ---- along the columns ----------------------------------------------------------------------- */

/* Elements that are read for one row alone, from a place that is known before the row is read. */
static bool is_read_ahead(struct emitter *w, uint32_t index, value_id v) {
    const struct value_node *x = at(w, v);
    if (!w->y->ahead || index != 1 || x->kind != INST_LOAD || x->guarded ||
        x->mask != (MASK_X | MASK_R))
        return false;
    for (int a = 0; a < x->n_args; a++)
        if (at(w, x->args[a])->mask & MASK_R || at(w, x->args[a])->level > 0) return false;
    return true;
}

/* Where the next row is looked up, as next1 for a1. */
static void put_next_subscripts(struct emitter *w, uint32_t index) {
    bool *looked_up = NEW_ARRAY(w->arena, bool, w->k->values.n), any = false;
    for (value_id v = 0; v < w->k->values.n; v++)
        for (int a = 0; a < at(w, v)->n_args && is_read_ahead(w, index, v); a++)
            any = looked_up[at(w, v)->args[a]] = true;
    if (!any) return;
    for (value_id v = 0; v < w->k->values.n; v++)
        if (looked_up[v]) line(w, "%s next%u;", math_type(at(w, v)->dtype), v);
    open_scope(w);
    line(w, "const k_idx next = x + 1 < nx ? x + 1 : x, x = next;");
    put_c_row_values(w, w->p->before.at, w->p->before.n);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (looked_up[v]) line(w, "next%u = a%u;", v, v);
    close_brace(w);
}

/* What lies a page behind the vector at hand. */
static void put_page_ahead(struct emitter *w, uint32_t index) {
    enum { PAGE = 4096 };
    const struct phase *f = &w->p->phases.at[index];
    const char *name = along(w) == AXIS_X ? "x" : "r";
    for (uint32_t i = 0; i < f->loads.n; i++) {
        const struct value_node *x = at(w, f->loads.at[i]);
        if (x->n_args || index_stride(w->k, x->index, along(w)) != 1) continue;
        line(w, "{ const k_idx next = %s + %d, %s = next; k_ahead(%s); }", name,
             PAGE / dtype_bytes(buffer_dtype(w, x->buffer)), name,
             place_of(w, x->buffer, x->index));
    }
}

/* The next row's elements of what the kernel reads, while this one's are in the caches. */
static void put_row_ahead(struct emitter *w, uint32_t index) {
    for (value_id v = 0; v < w->k->values.n; v++) {
        const struct value_node *x = at(w, v);
        if (!is_read_ahead(w, index, v)) continue;
        struct buf there = buf_new(w->arena);
        for (int a = 0; a < x->n_args; a++)
            buf_printf(&there, " const %s a%u = next%u;", math_type(at(w, x->args[a])->dtype),
                       x->args[a], x->args[a]);
        line(w, "{ const long long next = x + 1LL, x = next;%s k_ahead(%s); }", there.p,
             place_of(w, x->buffer, x->index));
    }
}

static void put_ahead(struct emitter *w, uint32_t index) {
    if (!w->y->ahead) return;
    if (kernel_reads_twice(w->k))
        put_row_ahead(w, index);
    else
        put_page_ahead(w, index);
}

/* Stores past the caches go by whole lines of memory: a store that they begin at, or NULL where
 * vectors have to begin elsewhere. */
static const struct store_node *first_stream(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->compute.n; i++) {
        const struct value_node *x = at(w, f->compute.at[i]);
        if (form_of(w, f->compute.at[i]) == FORM_UNIFORM) return NULL;
        if (x->kind != INST_LOAD || turns(w, f->compute.at[i])) continue;
        if (index_stride(w->k, x->index, AXIS_R) != 1) return NULL;
    }
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        if (index_stride(w->k, st->index, AXIS_R) != 1) return NULL;
    }
    for (uint32_t i = 0; i < f->stores.n && !f->reduce.n; i++) {
        const struct store_node *st = &w->k->stores.at[f->stores.at[i]];
        if (layout_streams(w->k, w->y, st)) return st;
    }
    return NULL;
}

static void put_ends(struct emitter *w, uint32_t index, bool has_head) {
    if (has_head) {
        open_brace(w, "for (int end = 0; end < 2; end++)");
        line(w, "const k_idx stop = end ? r_end : r_main;");
        line(w, "k_idx r = end ? r0 : r_begin;");
    } else {
        open_scope(w);
        line(w, "const k_idx stop = r_end;");
        line(w, "k_idx r = r0;");
    }
    open_brace(w, "for (int u = 0; r < stop; u++, r += K_LANES)");
    line(w, "const int n = stop - r < K_LANES ? (int)(stop - r) : K_LANES;");
    line(w, "(void)u;");
    put_vector(w, index, true);
    close_brace(w);
    close_brace(w);
}

/* Where the extremum is, as its number there. */
static void put_pair_fold(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    line(w, "k_pair_f32 a%u = k_fold_%s(c%u, %d / K_LANES);", v, reduction_name(x->reduction), v,
         w->y->vec);
    open_scope(w);
    line(w, "const k_idx r = (k_idx)a%u.at;", v);
    line(w, "a%u.at = %s;", v, ex_text(w, at(w, x->args[1])->index));
    close_brace(w);
    w->where[v] = ARRAY;
}

static void put_fold(struct emitter *w, value_id v) {
    if (is_pair(at(w, v))) {
        put_pair_fold(w, v);
        return;
    }
    const char *low = arena_printf(w->arena, "c%u[u]", v),
               *high = arena_printf(w->arena, "c%u[u + h]", v);
    line(w, "for (int h = %d / K_LANES / 2; h > 0; h /= 2)", w->y->vec);
    line(w, "    for (int u = 0; u < h; u++) %s = %s;", low, combine_text(w, v, low, high));
    line(w, "const float a%u = k_fold_%s(c%u[0]);", v, reduction_name(at(w, v)->reduction), v);
    w->where[v] = ARRAY;
}

static void put_columns(struct emitter *w, uint32_t index) {
    const struct phase *f = &w->p->phases.at[index];
    const struct store_node *stream = first_stream(w, f);
    int lanes = w->y->vec;
    const struct c_folds c =
        c_folds_of(w, f, "k_v", arena_printf(w->arena, "(%d / K_LANES)", lanes), "u");
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        if (is_pair(at(w, v))) {
            line(w, "k_best c%u[%d / K_LANES];", v, lanes);
            line(w, "for (int u = 0; u < %d / K_LANES; u++)", lanes);
            line(w, "    c%u[u] = k_best_%s((int)r_begin + u * K_LANES);", v,
                 reduction_name(at(w, v)->reduction));
            continue;
        }
        line(w, "k_v c%u[%d / K_LANES];", v, lanes);
        line(w, "for (int u = 0; u < %d / K_LANES; u++) c%u[u] = k_splat(%s);", lanes, v,
             identity_text(w, v));
    }
    open_scope(w);
    put_next_subscripts(w, index);
    if (stream) {
        line(w, "k_idx r_main = r_begin;");
        open_scope(w);
        line(w, "const k_idx r = r_begin;");
        line(w, "r_main += (k_idx)k_head(%s, r_end - r);",
             place_of(w, stream->buffer, stream->index));
        close_brace(w);
    }
    line(w, "k_idx r0 = %s;", stream ? "r_main" : "r_begin");
    declare_c_folds(w, &c);
    open_columns_block(w, &c, lanes);
    line(w, "#pragma GCC unroll 16");
    open_brace(w, "for (int u = 0; u < %d / K_LANES; u++)", lanes);
    line(w, "const k_idx r = r0 + u * K_LANES;");
    put_ahead(w, index);
    put_vector(w, index, false);
    close_brace(w);
    close_columns_block(w, &c);
    put_ends(w, index, stream != NULL);
    put_c_unfolded(w, &c);
    close_brace(w);
    for (uint32_t i = 0; i < f->reduce.n; i++) put_fold(w, f->reduce.at[i]);
}

/* ---- scans ----------------------------------------------------------------------------------- */

/* c7 of a tile, a number for each of its rows. */
static void put_row_accumulators(struct emitter *w, value_id v) {
    line(w, "float c%u[%d] __attribute__((aligned(64)));", v, w->y->bx);
    line(w, "for (int l = 0; l < %d; l++) c%u[l] = %s;", w->y->bx, v, identity_text(w, v));
}

bool scan_is_vector(struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    for (uint32_t i = 0; i < f->reduce.n; i++)
        if (form_of(w, f->reduce.at[i]) != FORM_FLOATS) return false;
    return phase_is_vector(w, 0) && phase_is_vector(w, 1);
}

/* What each scan has at the vector's elements, from what the vector's have among themselves. */
static void put_scanned(struct emitter *w, bool part) {
    const struct phase *f = &w->p->phases.at[0];
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        line(w, "%s scan%u;", layout_carries_error(w->k, v) ? "k_wide" : "k_v", v);
    }
    open_scope(w);
    w->vectors = true;
    put_values(w, 0, part);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *how =
            layout_carries_error(w->k, v) ? "wide" : reduction_name(at(w, v)->reduction);
        line(w, "scan%u = k_scan_%s(%s);", v, how, ref(w, at(w, v)->args[0]));
    }
    put_vector_stores(w, f, part); /* of what does not wait for the scans */
    w->vectors = false;
    close_brace(w);
    for (uint32_t i = 0; i < f->compute.n; i++) w->where[f->compute.at[i]] = NOWHERE;
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *c = arena_printf(w->arena, "c%u", v), *s = arena_printf(w->arena, "scan%u", v);
        w->where[v] = LOCAL;
        if (layout_carries_error(w->k, v)) {
            line(w, "const k_v v%u = k_behind(&%s, %s);", v, c, s);
            continue;
        }
        line(w, "const k_v v%u = %s;", v, combine_text(w, v, c, s));
        line(w, "%s = %s;", c, combine_text(w, v, c, arena_printf(w->arena, "k_last(%s)", s)));
    }
}

/* A vector of neighbouring columns, one element of each: c7 has what these have so far. */
static void put_tile_scan(struct emitter *w, bool part) {
    const struct phase *f = &w->p->phases.at[0];
    line(w, "const k_idx x = x0 + l;");
    if (part) line(w, "const int n = lanes - l;");
    for (uint32_t i = 0; i < f->reduce.n; i++) line(w, "k_v v%u;", f->reduce.at[i]);
    open_scope(w);
    w->vectors = true;
    put_values(w, 0, part);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *c = arena_printf(w->arena, "k_load_v(c%u + l)", v);
        line(w, "v%u = %s;", v, combine_text(w, v, c, ref(w, at(w, v)->args[0])));
        line(w, "k_store_v(c%u + l, v%u);", v, v);
    }
    put_vector_stores(w, f, part); /* of what does not wait for the scans */
    w->vectors = false;
    close_brace(w);
    for (uint32_t i = 0; i < f->compute.n; i++) w->where[f->compute.at[i]] = NOWHERE;
    for (uint32_t i = 0; i < f->reduce.n; i++) w->where[f->reduce.at[i]] = LOCAL;
    put_vector(w, 1, part);
}

/* Along the columns of a tile, element after element of all of them. */
static void put_tile_scans(struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    for (uint32_t i = 0; i < f->reduce.n; i++) put_row_accumulators(w, f->reduce.at[i]);
    open_brace(w, "for (k_idx r = r_begin; r < r_end; r++)");
    line(w, "int l = 0;");
    open_brace(w, "for (; l + K_LANES <= lanes; l += K_LANES)");
    put_tile_scan(w, false);
    close_brace(w);
    open_brace(w, "if (l < lanes)");
    put_tile_scan(w, true);
    close_brace(w);
    close_brace(w);
}

/* Vector after vector: what a row has so far is added to each. */
void put_vector_scan(struct emitter *w) {
    if (w->y->rows_inner) {
        put_tile_scans(w);
        return;
    }
    const struct phase *f = &w->p->phases.at[0];
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        if (layout_carries_error(w->k, v))
            line(w, "double c%u = 0;", v);
        else
            line(w, "k_v c%u = k_splat(%s);", v, identity_text(w, v));
    }
    line(w, "k_idx r = r_begin;");
    open_brace(w, "for (; r + K_LANES <= r_end; r += K_LANES)");
    put_ahead(w, 0);
    put_scanned(w, false);
    put_vector(w, 1, false);
    close_brace(w);
    open_brace(w, "if (r < r_end)");
    line(w, "const int n = (int)(r_end - r);");
    put_scanned(w, true);
    put_vector(w, 1, true);
    close_brace(w);
}

void put_turned(struct emitter *w) {
    for (value_id v = 0; v < w->k->values.n && phase_is_vector(w, 0); v++) {
        const struct value_node *x = at(w, v);
        if (!turns(w, v)) continue;
        line(w, "float turned%u[%d] __attribute__((aligned(64)));", v, w->y->bx * w->y->br);
        open_scope(w);
        line(w, "const k_idx x = x_begin, r = r_begin;");
        line(w, "k_turn%s(turned%u, %d, %s, %lld, r_end - r, x_end - x);",
             ending(buffer_dtype(w, x->buffer)), v, w->y->br, place_of(w, x->buffer, x->index),
             (long long)index_stride(w->k, x->index, AXIS_R));
        close_brace(w);
    }
}

/* ---- along the rows -------------------------------------------------------------------------- */

/* Where accumulators are folded, the columns at hand are added up first: a chain of its own. */
static void put_tile_vector(struct emitter *w, uint32_t index, bool folds, bool part) {
    const struct phase *f = &w->p->phases.at[index];
    line(w, "const k_idx x = x0 + l;");
    if (part) line(w, "const int n = lanes - l;");
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        if (folds)
            line(w, "k_v t%u = k_splat(%s);", v, identity_text(w, v));
        else
            line(w, "k_v t%u = k_load_v(c%u + l);", v, v);
    }
    open_brace(w, "for (int q = 0; q < columns; q++)");
    line(w, "const k_idx r = r4 + q;");
    if (!part) put_ahead(w, index);
    put_vector(w, index, part);
    close_brace(w);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *t = arena_printf(w->arena, "t%u", v);
        line(w, "k_store_v(c%u + l, %s);", v,
             folds ? combine_text(w, v, arena_printf(w->arena, "k_load_v(c%u + l)", v), t) : t);
    }
}

static void put_rows(struct emitter *w, uint32_t index) {
    const struct phase *f = &w->p->phases.at[index];
    for (uint32_t i = 0; i < f->reduce.n; i++) put_row_accumulators(w, f->reduce.at[i]);
    /* Sums of so many rows stay in registers; what is stored as well would go to as many places. */
    int many = f->stores.n ? 1 : 4;
    const struct c_folds c = c_folds_of(w, f, NULL, arena_printf(w->arena, "%d", w->y->bx), "l");
    const char *end = c.f.levels ? "stop" : "r_end";
    if (c.f.levels) open_scope(w);
    declare_c_folds(w, &c);
    open_rows_block(w, &c, "k_idx", "r4", "r_begin", "r_end", many);
    line(w, "const int columns = %s - r4 < %d ? (int)(%s - r4) : %d;", end, many, end, many);
    line(w, "int l = 0;");
    open_brace(w, "for (; l + K_LANES <= lanes; l += K_LANES)");
    put_tile_vector(w, index, c.f.levels && many > 1, false);
    close_brace(w);
    open_brace(w, "if (l < lanes)");
    put_tile_vector(w, index, c.f.levels && many > 1, true);
    close_brace(w);
    close_rows_block(w, &c);
    put_c_unfolded(w, &c);
    if (c.f.levels) close_brace(w);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        line(w, "float *a%u = c%u;", f->reduce.at[i], f->reduce.at[i]);
        w->where[f->reduce.at[i]] = ARRAY;
    }
}

void put_vector_phase(struct emitter *w, uint32_t index) {
    (w->y->rows_inner ? put_rows : put_columns)(w, index);
}
