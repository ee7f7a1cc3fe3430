/* c_lanes.c: what a phase in vectors (c_vector.c) does lane by lane: loads whose neighbours do not
 * lie beside each other, or that are looked up; integers and conditions made of these; stores of
 * such places.
 *
 *     float lanes3[K_LANES];
 *     for (int b = 0; b < K_LANES; b += 4) {
 *         const long long at3 = r % 44;                r is first + b
 *         for (int e = b; e < b + 4; e++)
 *             lanes3[e] = p1[at3 + (e - b)];
 *     }
 *     const k_v v3 = k_load_v(lanes3);
 *
 * So an index that no vector follows does not cost the phase its vectors of maths, of which a
 * compiler makes calls, one an element. */
#include "emit/c_rows.h"
#include "graph/traits.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

static enum axis along(const struct emitter *w) { return w->y->rows_inner ? AXIS_X : AXIS_R; }

/* Is there a number of it in the scope at hand, whatever the lane? */
static bool is_there(struct emitter *w, value_id v) {
    return !(at(w, v)->mask & MASK_R) || w->where[v] == UNIFORM;
}

static bool find_by_lanes(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    if (!(x->mask & MASK_R)) return true;
    if (x->kind == INST_REDUCE || x->kind == INST_SCAN) return false;
    if (x->kind == INST_OP && op_calls(x->op)) return false;
    for (int a = 0; a < x->n_args; a++)
        if (!goes_by_lanes(w, x->args[a])) return false;
    return true;
}

bool goes_by_lanes(struct emitter *w, value_id v) {
    if (!w->by_lanes[v]) w->by_lanes[v] = find_by_lanes(w, v) ? 1 : 2;
    return w->by_lanes[v] == 1;
}

/* Marks what v is made of, lane by lane, itself among it. */
static void mark_made(struct emitter *w, value_id v, bool *marks) {
    if (marks[v] || is_there(w, v)) return;
    marks[v] = true;
    for (int a = 0; a < at(w, v)->n_args; a++) mark_made(w, at(w, v)->args[a], marks);
}

/* Of so many neighbours, 4 at least, the places are even from the first on; 0: of none. Vectors
 * begin at multiples of their own length. */
static int block_of(struct emitter *w, ex index) {
    enum axis axis = along(w);
    int block = WIDEST;
    if (index_stride(w->k, index, axis) >= 0) return 0; /* all are */
    while (block >= 4 && index_stride_inside(w->k, index, axis, block) < 0) block /= 2;
    return block >= 4 ? block : 0;
}

/* Where a block's first element is, and so the others. */
static const char *put_place(struct emitter *w, ex index, int block, const char *name) {
    if (block_of(w, index) < block) return NULL;
    line(w, "const long long %s = %s;", name, ex_text(w, index));
    return arena_printf(w->arena, "%s + (e - b) * %lldLL", name,
                        (long long)index_stride_inside(w->k, index, along(w), block));
}

static bool is_plain_load(const struct value_node *x) {
    return x->kind == INST_LOAD && x->n_args == x->guarded;
}

/* The blocks of lanes in which marked loads, and the store, grow evenly: they begin at b. */
static void open_blocks(struct emitter *w, const bool *marks, const struct store_node *st,
                        bool part) {
    const char *axis = w->y->rows_inner ? "x" : "r";
    const char *lanes = part ? "n" : "K_LANES";
    int block = st ? block_of(w, st->index) : 0;
    for (value_id v = 0; v < w->k->values.n; v++) {
        int own = marks[v] && is_plain_load(at(w, v)) ? block_of(w, at(w, v)->index) : 0;
        if (own && (!block || own < block)) block = own;
    }
    if (!block) block = WIDEST;
    bool unrolled = !part && block < WIDEST; /* an address each, of which the next is soon known */
    if (unrolled) line(w, "#pragma GCC unroll 16");
    open_brace(w, "for (int b = 0; b < %s; b += %d)", lanes, block);
    line(w, "const k_idx %s = first + b;", axis);
    w->load_at = NEW_ARRAY(w->arena, const char *, w->k->values.n);
    w->store_at = NEW_ARRAY(w->arena, const char *, w->k->stores.n + 1);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v] && is_plain_load(at(w, v)))
            w->load_at[v] = put_place(w, at(w, v)->index, block, arena_printf(w->arena, "at%u", v));
    if (st) w->store_at[st - w->k->stores.at] = put_place(w, st->index, block, "to");
    line(w, "(void)%s;", axis);
    line(w, unrolled ? "#pragma GCC unroll 16" : "#pragma omp simd");
    if (part)
        open_brace(w, "for (int e = b; e < (n < b + %d ? n : b + %d); e++)", block, block);
    else
        open_brace(w, "for (int e = b; e < b + (%d < K_LANES ? %d : K_LANES); e++)", block, block);
}

/* The loops over lanes, in which x or r, and l, are a lane's. Returns where values were outside. */
static uint8_t *open_lane(struct emitter *w, const bool *marks, const struct store_node *st,
                          bool part) {
    const char *axis = w->y->rows_inner ? "x" : "r";
    uint8_t *outside = NEW_ARRAY(w->arena, uint8_t, w->k->values.n);
    for (value_id v = 0; v < w->k->values.n; v++) outside[v] = w->where[v];
    w->vectors = false;
    open_scope(w);
    line(w, "const k_idx first = %s;", axis);
    if (w->y->rows_inner) line(w, "const int first_l = l;");
    open_blocks(w, marks, st, part);
    line(w, "const k_idx %s = first + e;", axis);
    line(w, "(void)%s;", axis);
    if (w->y->rows_inner) {
        line(w, "const int l = first_l + e;");
        line(w, "(void)l;");
    }
    return outside;
}

static void close_lane(struct emitter *w, const uint8_t *outside) {
    w->load_at = w->store_at = NULL;
    close_brace(w);
    close_brace(w);
    close_brace(w);
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = outside[v];
    w->vectors = true;
}

static void put_made(struct emitter *w, const bool *marks) {
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v]) put_local(w, v);
}

static bool is_flag(struct emitter *w, value_id v) { return at(w, v)->dtype == DT_BOOL; }

void put_lane_values(struct emitter *w, const value_id *list, uint32_t n, bool part) {
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    for (uint32_t i = 0; i < n; i++) {
        line(w, "%s lanes%u[K_LANES] __attribute__((aligned(64)))%s;",
             is_flag(w, list[i]) ? "int32_t" : "float", list[i], part ? " = {0}" : "");
        mark_made(w, list[i], marks);
    }
    uint8_t *outside = open_lane(w, marks, NULL, part);
    put_made(w, marks);
    for (uint32_t i = 0; i < n; i++)
        line(w, is_flag(w, list[i]) ? "lanes%u[e] = -(v%u != 0);" : "lanes%u[e] = v%u;", list[i],
             list[i]);
    close_lane(w, outside);
    for (uint32_t i = 0; i < n; i++) {
        bool flag = is_flag(w, list[i]);
        line(w, "const %s v%u = %sk_load_v(%slanes%u)%s;", flag ? "k_m" : "k_v", list[i],
             flag ? "k_as_m(" : "", flag ? "(const float *)" : "", list[i], flag ? ")" : "");
        w->where[list[i]] = LOCAL;
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

enum { SHORT_RUN = 8 };

static const char *ending(enum dtype t) {
    return t == DT_BF16 ? "_bf16" : t == DT_F16 ? "_f16" : "";
}

/* The loop over the runs of a vector: lane b on, so many lanes, from element `at` of memory on. */
static void open_runs(struct emitter *w, ex index, int64_t length, bool part) {
    const char *axis = along(w) == AXIS_X ? "x" : "r", *end = part ? "n" : "K_LANES";
    open_scope(w);
    line(w, "const k_idx first = %s;", axis);
    open_brace(w, "for (int b = 0, run; b < %s; b += run)", end);
    line(w, "const k_idx %s = first + b;", axis);
    line(w, "const long long at = %s;", ex_text(w, index));
    line(w, "run = (int)(%lld - %s %% %lld);", (long long)length, axis, (long long)length);
    line(w, "if (run > %s - b) run = %s - b;", end, end);
}

static void close_runs(struct emitter *w) {
    close_brace(w);
    close_brace(w);
}

bool put_run_load(struct emitter *w, value_id v, bool part) {
    const struct value_node *x = at(w, v);
    if (x->kind != INST_LOAD || x->n_args) return false;
    enum dtype t = buffer_dtype(w, x->buffer);
    struct c_run run = c_run_of(w, x->index, along(w));
    if (!dtype_takes_vectors(t) || !run.length) return false;
    bool whole = run.length % WIDEST == 0;
    int p = argument_of(w, x->buffer);
    if (run.step == -1 && whole && !part) {
        line(w, "const k_v v%u = k_backwards(k_load_v%s(p%d + (%s) - (K_LANES - 1)));", v,
             ending(t), p, ex_text(w, x->index));
    } else if (run.step == 1 && !whole && run.length >= SHORT_RUN) {
        line(w, "k_v v%u = {0};", v);
        open_runs(w, x->index, run.length, part);
        line(w, "const k_m which = (k_lanes() >= b) & (k_lanes() < b + run);");
        line(w, "v%u = k_as_v(k_as_m(v%u) | k_as_m(k_load_if%s(which, p%d + (at - b), 1)));", v, v,
             ending(t), p);
        close_runs(w);
    } else {
        return false;
    }
    w->where[v] = LOCAL;
    return true;
}

/* Floats, whose runs are the beginnings of vectors. */
static bool put_run_store(struct emitter *w, const struct store_node *st, const char *vector,
                          bool part) {
    enum dtype t = buffer_dtype(w, st->buffer);
    struct c_run run = c_run_of(w, st->index, along(w));
    bool floats = dtype_opmath(at(w, st->value)->dtype) == DT_F32 && dtype_takes_vectors(t);
    if (!vector || !floats || run.step != 1 || run.length < SHORT_RUN) return false;
    open_scope(w);
    line(w, "float stored[2 * K_LANES] __attribute__((aligned(64)));");
    line(w, "k_store_v(stored, %s);", vector);
    open_runs(w, st->index, run.length, part);
    line(w, "k_store_n%s(p%d + at, k_load_v(stored + b), run);", ending(t),
         argument_of(w, st->buffer));
    close_runs(w);
    close_brace(w);
    return true;
}

void put_lane_store(struct emitter *w, const struct store_node *st, const char *vector, bool part) {
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n), flag = is_flag(w, st->value);
    if (put_run_store(w, st, vector, part)) return;
    open_scope(w);
    if (vector) {
        line(w, "float stored[K_LANES] __attribute__((aligned(64)));");
        line(w, flag ? "k_store_v(stored, k_as_v(%s));" : "k_store_v(stored, %s);", vector);
    } else {
        mark_made(w, st->value, marks);
    }
    uint8_t *outside = open_lane(w, marks, st, part);
    if (vector) {
        line(w,
             flag ? "const int v%u = ((const int32_t *)stored)[e] != 0;"
                  : "const float v%u = stored[e];",
             st->value);
        w->where[st->value] = LOCAL;
    }
    put_made(w, marks);
    put_store1(w, st, "");
    close_lane(w, outside);
    close_brace(w);
}
