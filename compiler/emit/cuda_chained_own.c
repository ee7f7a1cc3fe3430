/* cuda_chained_own.c: what rows and columns of chained products have of their own, and exponentials
 * of such numbers, in CUDA C++. */
#include <math.h>
#include <string.h>

#include "emit/cuda_chained.h"

static void open_rows_alone(struct emitter *w) {
    open_chained_loop(w, "f", chained_sixteens(w));
    open_chained_loop(w, "h", 2);
    line(w, "const k_idx row = first_row + f * 16 + h * 8, m = k_clamp(row, nm - 1);");
    line(w, "(void)m;");
}

/* What `own` has, or is made of. */
static bool *find_made_of(struct emitter *w, const struct own *own, int n) {
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    for (int i = 0; i < n; i++)
        mark_needed(w, own[i].exponent ? chained_subtracted(w->k, own[i].value) : own[i].value,
                    marks);
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    return marks;
}

/* exp(x * by - b) is 2^(x * by log2 e - b log2 e), one multiply-add of x: its two numbers. Where b
 * is so large that the factor has no place, as in exponent_of. */
static void put_numbers(struct emitter *w, value_id v, const char *scale, const char *l) {
    double by;
    value_id b = chained_subtracted(w->k, v), mask;
    chained_unscaled(w->k, w->k->values.at[w->k->values.at[v].args[0]].args[0], &mask, &by);
    line(w, "const bool small%u = fabsf(%s) < 1e30f;", v, ref(w, b));
    line(w, "%s = small%u ? %.9ef : %.9ef;", scale, v, by * 1.4426950408889634, by);
    line(w, "%s = small%u ? %s * 1.44269504f : (float)%s;", l, v, ref(w, b), ref(w, b));
}

/* The exponential v of such numbers. */
void put_chained_exponential(struct emitter *w, value_id v, const char *scale, const char *l) {
    double by;
    value_id mask, f = w->k->values.at[w->k->values.at[v].args[0]].args[0],
                   x = chained_unscaled(w->k, f, &mask, &by);
    const char *of = ref(w, x);
    if (mask != NO_VALUE) {
        const struct value_node *where = &w->k->values.at[mask];
        const char *c = ref(w, where->args[0]);
        bool first = w->k->values.at[where->args[1]].kind != INST_CONST ||
                     w->k->values.at[where->args[1]].number != -INFINITY;
        of = first ? arena_printf(w->arena, "(%s ? %s : (-k_inf()))", c, of)
                   : arena_printf(w->arena, "(%s ? (-k_inf()) : %s)", c, of);
    }
    line(w, "const float v%u = k_exp2(fmaf(%s, %s, -%s));", v, of, scale, l);
    w->where[v] = LOCAL;
}

/* What a block's rows have of their own is there once: in registers. */
void put_chained_own_of_rows(struct emitter *w) {
    struct own own[MOST_OWN];
    int n = chained_own(w->k, AXIS_M, own), rows = chained_sixteens(w);
    if (!n) return;
    for (int i = 0; i < n; i++) {
        value_id v = own[i].value;
        if (own[i].exponent)
            line(w, "float scale%u[%d][2], l%u[%d][2];", v, rows, v, rows);
        else
            line(w, "float own%u[%d][2];", v, rows);
    }
    const bool *marks = find_made_of(w, own, n);
    open_rows_alone(w);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v]) put_local(w, v);
    for (int i = 0; i < n; i++) {
        value_id v = own[i].value;
        if (own[i].exponent)
            put_numbers(w, v, arena_printf(w->arena, "scale%u[f][h]", v),
                        arena_printf(w->arena, "l%u[f][h]", v));
        else
            line(w, "own%u[f][h] = %s;", v, ref(w, v));
    }
    close_brace(w);
    close_brace(w);
}

/* A lane has every 32nd column of a tile. */
static int columns_of_lane(const struct emitter *w) {
    int warp = w->k->limits->warp;
    return (w->y->br + warp - 1) / warp;
}

/* Do registers suffice for what the next step's columns load? It is there then when their values
 * are made; else products behind that have to wait for it, or take longer anyway. */
static bool loads_ahead(const struct emitter *w) {
    enum { MOST = 192 };
    const struct chained *x = chained(w);
    return x->n_own && !x->own_apart &&
           chained_tiles_between(w) * w->y->br / 2 + x->n_second * x->columns / 2 <= MOST;
}

static bool is_ahead(const struct emitter *w, value_id v) {
    return w->k->values.at[v].kind == INST_LOAD && chained_is_of(w->k, v, AXIS_N) &&
           !w->k->values.at[v].n_args;
}

static void open_columns_of_lane(struct emitter *w, const char *tile) {
    open_chained_loop(w, "j", columns_of_lane(w));
    line(w, "const int i = j * %d + tid %% %d;", w->k->limits->warp, w->k->limits->warp);
    line(w, "const k_idx column = %s * %d + i, n = k_clamp(column, nn - 1);", tile, w->y->br);
    line(w, "(void)n;");
}

/* What the columns of a step load. */
static void put_columns_ahead(struct emitter *w, const char *step) {
    const bool *marks = find_made_of(w, chained(w)->own, chained(w)->n_own);
    open_brace(w, "if (%s < steps)", step);
    open_columns_of_lane(w, chained_tile_of_step(w, step, true));
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v] && is_ahead(w, v)) line(w, "ahead%u[j] = %s;", v, source_text(w, v));
    close_brace(w);
    close_brace(w);
}

void put_chained_first_columns(struct emitter *w) {
    if (!loads_ahead(w)) return;
    const bool *marks = find_made_of(w, chained(w)->own, chained(w)->n_own);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v] && is_ahead(w, v))
            line(w, "%s ahead%u[%d];", math_type(w->k->values.at[v].dtype), v, columns_of_lane(w));
    put_columns_ahead(w, "0");
}

/* What a tile's columns have of their own, made by each warp for its rows. Lanes have read that of
 * the step before when they meet here. */
void put_chained_own_of_columns(struct emitter *w) {
    const struct chained *x = chained(w);
    bool ahead = loads_ahead(w);
    int at = 0;
    if (!x->n_own) return;
    const bool *marks = find_made_of(w, chained(w)->own, chained(w)->n_own);
    if (!x->own_apart) line(w, "__syncwarp();");
    open_columns_of_lane(w, chained_tile_of_step(w, "step", false));
    line(w, "float own[%d];", x->own_floats);
    line(w, "k_zero(own);");
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!marks[v]) continue;
        if (!ahead || !is_ahead(w, v)) {
            put_local(w, v);
            continue;
        }
        line(w, "const %s v%u = ahead%u[j];", math_type(w->k->values.at[v].dtype), v, v);
        w->where[v] = LOCAL;
    }
    for (int i = 0; i < x->n_own; i++) {
        value_id v = x->own[i].value;
        if (x->own[i].exponent)
            put_numbers(w, v, arena_printf(w->arena, "own[%d]", at),
                        arena_printf(w->arena, "own[%d]", at + 1));
        else
            line(w, "own[%d] = %s;", at, ref(w, v));
        at += x->own[i].exponent ? 2 : 1;
    }
    bool ends = w->y->br % w->k->limits->warp != 0;
    for (int i = 0; i < at; i++)
        line(w, "%sk_shared_put(columns + (%d + i) * 4, own[%d]);",
             ends ? arena_printf(w->arena, "if (i < %d) ", w->y->br) : "", i * w->y->br, i);
    close_brace(w);
    line(w, "__syncwarp();");
    if (ahead) put_columns_ahead(w, "step + 1");
}

/* The own values of rows; of columns, where these are gone along. */
int chained_own_of(const struct emitter *w, enum axis axis, struct own *own) {
    const struct chained *x = chained(w);
    if (axis == AXIS_M) return chained_own(w->k, AXIS_M, own);
    memcpy(own, x->own, sizeof x->own);
    return x->n_own;
}

/* Of values along that axis alone: which does somebody read that does not have it from `own`? */
static bool *find_read(struct emitter *w, const struct phase *f, const struct own *own, int n,
                       enum axis axis) {
    const struct kernel *k = w->k;
    bool *read = NEW_ARRAY(w->arena, bool, k->values.n);
    for (uint32_t i = 0; i < f->reduce.n; i++) read[k->values.at[f->reduce.at[i]].args[0]] = true;
    read[k->second_a] = true;
    if (k->twin != NO_VALUE) read[k->twin_a] = true;
    for (uint32_t i = f->compute.n; i-- > 0;) {
        value_id v = f->compute.at[i];
        const struct value_node *x = &k->values.at[v];
        bool has = false, exponent = false;
        for (int j = 0; j < n; j++) {
            has |= own[j].value == v && !own[j].exponent;
            exponent |= own[j].exponent && k->values.at[own[j].value].args[0] == v;
        }
        if (has || (chained_is_of(k, v, axis) && !read[v])) continue;
        exponent &= chained_is_exponent(k, v);
        for (int j = 0; j < x->n_args; j++)
            if (j != 1 || !exponent) read[x->args[j]] = true;
    }
    return read;
}

/* Values along that axis alone that are there, or read by nobody; differences likewise. */
void leave_out_chained_own(struct emitter *w, const struct phase *f, enum axis axis) {
    struct own own[MOST_OWN];
    int n = chained_own_of(w, axis, own);
    if (!n) return;
    const bool *read = find_read(w, f, own, n, axis);
    for (uint32_t i = 0; i < f->compute.n; i++)
        if (chained_is_of(w->k, f->compute.at[i], axis) && !read[f->compute.at[i]])
            w->where[f->compute.at[i]] = LOCAL;
    for (int i = 0; i < n; i++) {
        value_id v = own[i].value, sub = own[i].exponent ? w->k->values.at[v].args[0] : v;
        if (sub == v || chained_is_exponent(w->k, sub)) w->where[sub] = LOCAL;
    }
}

void open_chained_rows(struct emitter *w, const struct phase *f) {
    struct own own[MOST_OWN];
    bool first = f == w->p->phases.at || f == &w->p->early || f == &w->p->late;
    int n = first ? chained_own_of(w, AXIS_M, own) : 0;
    open_rows_alone(w);
    if (n) leave_out_chained_own(w, f, AXIS_M);
    for (int i = 0; i < n; i++)
        if (!own[i].exponent) line(w, "const float v%u = own%u[f][h];", own[i].value, own[i].value);
    for (uint32_t i = 0; i < f->compute.n; i++)
        if (chained_of_row(w, f->compute.at[i]) && w->where[f->compute.at[i]] != LOCAL)
            put_local(w, f->compute.at[i]);
}

void close_chained_rows(struct emitter *w) {
    close_brace(w);
    close_brace(w);
}
