/* cuda_chained_between.c: what is between chained products, in CUDA C++: rows take in the sums of a
 * tile, which become terms of the second product. See cuda_chained.c. */
#include "emit/cuda_chained.h"

/* Rows stand on an earlier maximum as long as the one so far is no more above it: e^5.5 is 245,
 * which f16 has, too. So that what the second product has summed up is seldom rescaled. */
static const double MOST_ABOVE = 5.5;

bool chained_is_between(const struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    return x->kind == INST_REDUCE && !is_first_product(w->k, v) && !is_second_product(w->k, v);
}

bool chained_of_row(const struct emitter *w, value_id v) {
    return !(w->k->values.at[v].mask & (MASK_N | MASK_C | MASK_R));
}

static bool of_column(const struct emitter *w, value_id v) {
    return chained_is_of(w->k, v, AXIS_N);
}

/* Is v the same in all elements of a tile, as what a head or a batch has is? */
static bool of_tile(const struct emitter *w, value_id v) {
    return chained_of_row(w, v) && !(w->k->values.at[v].mask & MASK_M);
}

void put_chained_nowhere(struct emitter *w, const struct phase *f) {
    for (value_id v = 0; v < w->k->values.n; v++)
        w->where[v] = chained_is_between(w, v) ? ARRAY : NOWHERE;
    w->subscript = "[f][h]";
    value_id max = chained_maximum(w->k);
    if (max != NO_VALUE && f->at_hand != w->k->second) w->where[max] = CHUNK;
}

static bool ends_within_tile(const struct emitter *w) {
    return !w->whole && kernel_size(w->k, AXIS_N) % w->y->br != 0;
}

/* What v is an exponential of, if it is exp(f - max f): f, without the scale that it has. It is
 * 2^(f log2 e - max f log2 e), a multiply-add of f and a number of the row; where these are so
 * large that the factor has no place, neighbours are so far apart that e^x is 1 or nothing, and 2^x
 * as well: masks have the least number there is. */
static value_id exponent_of(const struct emitter *w, value_id v) {
    const struct value_node *all = w->k->values.at, *x = &all[v];
    value_id max = chained_maximum(w->k);
    double by;
    if (max == NO_VALUE || x->kind != INST_OP || x->op != OP_EXP) return NO_VALUE;
    if (dtype_opmath(x->dtype) != DT_F32) return NO_VALUE;
    const struct value_node *sub = &all[x->args[0]];
    if (sub->kind != INST_OP || sub->op != OP_SUB || sub->args[1] != max) return NO_VALUE;
    return sub->args[0] == all[max].args[0] ? chained_scaled(w->k, max, &by) : NO_VALUE;
}

/* Is the maximum that of `kept`, to be scaled once a row? */
static bool kept_is_scaled(const struct emitter *w, value_id max, double *by) {
    value_id of = chained_scaled(w->k, max, by);
    return of == w->p->kept && of != w->k->values.at[max].args[0];
}

static void open_columns_of_octet(struct emitter *w) {
    open_chained_loop(w, "e", PAIR);
    line(w, "const k_idx column = first_column + g * %d + e, n = %s;", OCTET,
         ends_within_tile(w) ? "k_clamp(column, nn - 1)" : "column");
    line(w, "(void)n;");
}

/* Is v what neighbouring columns have beside each other, so that a thread loads a pair at once? It
 * is then so many elements behind a place that is computed once for the tile: were each address
 * made of its own index, they would take the registers that sums are in. */
static bool loads_pairs(const struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    int64_t step;
    ex rest = x->index;
    if (x->kind != INST_LOAD || x->n_args || !(x->mask & MASK_N) || ends_within_tile(w))
        return false;
    return dtype_bytes(buffer_dtype(w, x->buffer)) <= 4 &&
           index_is_vector(w->k, x->index, AXIS_N, PAIR) &&
           index_take(w->k, &rest, w->k->axis[AXIS_N], &step) && step == 1 &&
           !ex_uses(w->k->ex, rest, w->k->axis[AXIS_N]);
}

/* Of values that are not there yet, and of those of columns alone if so: where their pairs begin,
 * and the pairs of the octet at hand. */
static bool is_pair_at_hand(const struct emitter *w, value_id v, bool columns) {
    return w->where[v] != LOCAL && loads_pairs(w, v) && (!columns || of_column(w, v));
}

static void put_begin_of_pairs(struct emitter *w, const struct phase *f, bool columns) {
    line(w, "const k_idx n = first_column;");
    line(w, "(void)n;");
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        const struct value_node *x = &w->k->values.at[v];
        if (is_pair_at_hand(w, v, columns))
            line(w, "const %s *const at%u = p%d + (%s);",
                 memory_type(w, buffer_dtype(w, x->buffer)), v, argument_of(w, x->buffer),
                 ex_text(w, x->index));
    }
}

static void put_pairs(struct emitter *w, const struct phase *f, bool columns) {
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        const char *t = memory_type(w, buffer_dtype(w, w->k->values.at[v].buffer));
        if (is_pair_at_hand(w, v, columns))
            line(w, "const k_pack<%s, %d> pair%u = k_load<%s, %d>(at%u + g * %d);", t, PAIR, v, t,
                 PAIR, v, OCTET);
    }
}

static void put_of_pair(struct emitter *w, value_id v) {
    line(w, "const %s v%u = k_get(pair%u, e);", math_type(w->k->values.at[v].dtype), v, v);
    w->where[v] = LOCAL;
}

/* False: v is no exponential of what rows or columns have. */
static bool put_own_exponential(struct emitter *w, value_id v) {
    for (enum axis axis = AXIS_M; axis <= AXIS_N; axis++) {
        struct own own[MOST_OWN];
        int n = chained_own_of(w, axis, own);
        const char *at = axis == AXIS_M ? "[f][h]" : "";
        for (int i = 0; i < n; i++) {
            if (own[i].value != v || !own[i].exponent) continue;
            put_chained_exponential(w, v, arena_printf(w->arena, "scale%u%s", v, at),
                                    arena_printf(w->arena, "l%u%s", v, at));
            return true;
        }
    }
    return false;
}

/* Values of the element at hand that are not there yet; pairs: those that come in pairs are. */
static void put_element(struct emitter *w, const struct phase *f, bool pairs) {
    line(w, "float &at = sums[(f * %d + g) * 4 + h * 2 + e];", chained_octets(w));
    line(w, "const float v%u = at;", f->at_hand);
    w->where[f->at_hand] = LOCAL;
    bool early = f == &w->p->early; /* the other sums are not there yet */
    if (chained_tiles_between(w) > 1 && !early)
        line(w, "float &more_at = more[(f * %d + g) * 4 + h * 2 + e];", chained_octets(w));
    if (w->k->beside != NO_VALUE && !early) {
        line(w, "const float v%u = more_at;", w->k->beside);
        w->where[w->k->beside] = LOCAL;
    }
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (v == f->at_hand || chained_of_row(w, v) || w->where[v] == LOCAL) continue;
        if (pairs && loads_pairs(w, v)) {
            put_of_pair(w, v);
            continue;
        }
        if (put_own_exponential(w, v)) continue;
        value_id exponent = exponent_of(w, v);
        if (exponent == NO_VALUE || w->where[exponent] != LOCAL) {
            put_local(w, v);
            continue;
        }
        line(w, "const float v%u = k_exp2(fmaf(%s, scale[f][h], -l[f][h]));", v, ref(w, exponent));
        w->where[v] = LOCAL;
    }
}

static void put_tile_term(struct emitter *w, value_id v) {
    const char *x = arena_printf(w->arena, "x%u", v);
    double by;
    if (v == chained_maximum(w->k) && kept_is_scaled(w, v, &by)) {
        line(w, "x%u = %s;", v, combine_text(w, v, x, ref(w, w->p->kept)));
        return;
    }
    line(w, "x%u = %s;", v, combine_text(w, v, x, operand_text(w, v)));
}

/* `kept` takes the place of a sum; of none behind the last column. */
static void put_kept(struct emitter *w, const char *at, value_id kept, bool terms) {
    if (!ends_within_tile(w)) {
        line(w, "%s = %s;", at, ref(w, kept));
        return;
    }
    line(w, "%s = column < nn ? (float)%s : %s;", at, ref(w, kept), terms ? "0.0f" : "(-k_inf())");
}

/* Terms take the place of sums; of products one by one the value of the early phase does, and then
 * terms that are not that value. */
static void put_all_kept(struct emitter *w, const struct phase *f) {
    if (f == &w->p->early) {
        put_kept(w, "at", w->p->late.at_hand, true);
        return;
    }
    int early = f == &w->p->late ? chained_early_product(w->p) : 0;
    if (early != 1) put_kept(w, "at", w->k->second_a, true);
    if (early != 2 && w->k->twin != NO_VALUE) put_kept(w, "more_at", w->k->twin_a, true);
}

/* Phase n of what is between: `kept` of it takes the place of the sums. */
static void put_between(struct emitter *w, const struct phase *f, value_id kept, bool terms) {
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "%s x%u = %s;", accumulator_type(w, f->reduce.at[i]), f->reduce.at[i],
             identity_text(w, f->reduce.at[i]));
    put_begin_of_pairs(w, f, false);
    open_chained_loop(w, "g", chained_octets(w));
    put_pairs(w, f, false);
    open_columns_of_octet(w);
    put_element(w, f, true);
    bool ends = ends_within_tile(w);
    if (ends) open_brace(w, "if (column < nn)");
    for (uint32_t i = 0; i < f->reduce.n; i++) put_tile_term(w, f->reduce.at[i]);
    if (ends) close_brace(w);
    if (terms)
        put_all_kept(w, f);
    else if (kept != NO_VALUE)
        put_kept(w, "at", kept, false);
    close_brace(w);
    close_brace(w);
}

/* Do columns have values of their own, which a thread would keep from row to row, and rows are not
 * reduced? */
static bool goes_by_columns(const struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    bool loads = false;
    for (uint32_t i = 0; i < f->compute.n; i++)
        loads |=
            w->k->values.at[f->compute.at[i]].kind == INST_LOAD && of_column(w, f->compute.at[i]);
    return loads && !f->reduce.n && chained_maximum(w->k) == NO_VALUE;
}

/* Does a value of the phase read what columns have of their own? */
static bool reads_own(const struct emitter *w, const struct phase *f, const struct own *own) {
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (own->exponent && v == own->value) return true;
        for (int a = 0; a < w->k->values.at[v].n_args && !own->exponent; a++)
            if (w->k->values.at[v].args[a] == own->value) return true;
    }
    return false;
}

/* Of the pairs of columns of the octet at hand, as the warp has made them: they lie beside each
 * other, so that a warp reads 32 bytes, in one turn of the banks. */
static void put_own_of_pairs(struct emitter *w, const struct phase *f) {
    const struct chained *x = chained(w);
    const char *columns = x->own_apart ? arena_printf(w->arena, "(tiles + %d + s * %d)", x->own_at,
                                                      w->y->br * x->own_floats * 4)
                                       : "columns";
    for (int i = 0, at = 0; i < x->n_own; at += x->own[i++].exponent ? 2 : 1)
        for (int j = 0; j < (x->own[i].exponent ? 2 : 1) && reads_own(w, f, &x->own[i]); j++) {
            line(w, "float own%d[%d];", at + j, PAIR);
            line(w, "k_shared_get(own%d, %s + (%d + g * %d + quad * %d) * 4);", at + j, columns,
                 (at + j) * w->y->br, OCTET, PAIR);
        }
}

/* And of the column at hand. */
static void put_own_of_column(struct emitter *w, const struct phase *f) {
    const struct chained *x = chained(w);
    for (int i = 0, at = 0; i < x->n_own; at += x->own[i++].exponent ? 2 : 1) {
        value_id v = x->own[i].value;
        if (!reads_own(w, f, &x->own[i])) continue;
        if (x->own[i].exponent)
            line(w, "const float scale%u = own%d[e], l%u = own%d[e];", v, at, v, at + 1);
        else
            line(w, "const float v%u = own%d[e];", v, at);
    }
}

/* Terms of all rows of a column, then of the next one. */
static void put_by_columns(struct emitter *w, const struct phase *f) {
    leave_out_chained_own(w, f, AXIS_N);
    put_begin_of_pairs(w, f, true);
    open_chained_loop(w, "g", chained_octets(w));
    put_pairs(w, f, true);
    put_own_of_pairs(w, f);
    open_columns_of_octet(w);
    put_own_of_column(w, f);
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (!(of_column(w, v) || of_tile(w, v)) || w->where[v] == LOCAL) continue;
        if (loads_pairs(w, v))
            put_of_pair(w, v);
        else
            put_local(w, v);
    }
    open_chained_rows(w, f);
    put_element(w, f, false);
    put_all_kept(w, f);
    close_chained_rows(w);
    close_brace(w);
    close_brace(w);
}

const char *chained_reduce_lanes(struct emitter *w, value_id v, const char *of) {
    return arena_printf(w->arena, "k_reduce_lanes<%s, 1, 4>(%s)",
                        reduction_operator(w->k->values.at[v].reduction), of);
}

/* What is known of a tile: all elements count, by their places, by the data. */
enum { PLACES = 1, DATA = 2 };

/* Is v the same in all elements of such a tile? */
static bool is_known(const struct emitter *w, value_id v, int known, bool *holds) {
    return (known & PLACES && edges_decide(w->k, v, holds)) ||
           (known & DATA && questions_decide(w->k, v, holds));
}

/* Values that nothing but what is known of such a tile is made of are not needed, and loads are not
 * made. */
static void leave_out_parts(struct emitter *w, int known) {
    const struct kernel *k = w->k;
    enum { NO_USER, OF_KNOWN, NEEDED };
    uint8_t *use = NEW_ARRAY(w->arena, uint8_t, k->values.n);
    bool holds;
    for (uint32_t i = 0; i < k->stores.n; i++) use[k->stores.at[i].value] = NEEDED;
    for (value_id v = k->values.n; v-- > 0;) {
        bool idle = is_known(w, v, known, &holds) || use[v] == OF_KNOWN;
        for (int i = 0; i < k->values.at[v].n_args; i++) {
            uint8_t *of = &use[k->values.at[v].args[i]];
            if (!idle || !*of) *of = idle ? OF_KNOWN : NEEDED;
        }
        if (use[v] == OF_KNOWN) w->where[v] = LOCAL;
    }
}

/* What hides elements elsewhere. */
static void know_conditions(struct emitter *w, int known, bool declared) {
    bool holds;
    leave_out_parts(w, known);
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!is_known(w, v, known, &holds)) continue;
        if (!declared) line(w, "const k_flag v%u = %d;", v, holds);
        w->where[v] = LOCAL;
    }
}

/* What rows have so far takes in the tile's. */
static void put_relate_of(struct emitter *w, int known, int n) {
    const struct block *p = w->p;
    const struct phase *first = n == 0 ? &p->phases.at[0] : n == 1 ? &p->early : &p->late;
    value_id max = chained_maximum(w->k);
    bool relative = max != NO_VALUE;
    open_scope(w);
    line(w, "const k_idx first_column = %s * %d%s + quad * %d;",
         chained_tile_of_step(w, "step", false), w->y->br,
         chained(w)->shares > 1 ? " + warp_n" : "", PAIR);
    put_chained_nowhere(w, first);
    know_conditions(w, known, false);
    if (goes_by_columns(w)) {
        put_by_columns(w, first);
        close_brace(w);
        return;
    }
    open_chained_rows(w, first);
    put_between(w, first, relative ? p->kept : w->k->second_a, !relative);
    for (uint32_t i = 0; i < first->reduce.n; i++) {
        value_id v = first->reduce.at[i];
        const char *all = arena_printf(w->arena, "a%u[f][h]", v),
                   *x = arena_printf(w->arena, "x%u", v);
        double scale;
        if (v == max) {
            if (kept_is_scaled(w, v, &scale)) line(w, "x%u *= %.9ef;", v, scale);
            line(w, "const float before = a%u[f][h];", v);
            x = chained_reduce_lanes(w, v, x);
        }
        line(w, "%s = %s;", all, combine_text(w, v, all, x));
    }
    if (relative) {
        line(w, "const bool stays = before != (-k_inf()) && a%u[f][h] - b%u[f][h] <= %.1ff;", max,
             max, MOST_ABOVE);
        line(w, "if (!stays) b%u[f][h] = a%u[f][h] == (-k_inf()) ? 0.0f : a%u[f][h];", max, max,
             max);
        line(w, "const float was = l[f][h];");
        double scale;
        chained_scaled(w->k, max, &scale);
        line(w, "const bool small = fabsf(b%u[f][h]) < 1e30f;", max);
        line(w, "scale[f][h] = small ? %.9ef : %.9ef;", scale * 1.4426950408889634, scale);
        line(w, "l[f][h] = small ? b%u[f][h] * 1.44269504f : b%u[f][h];", max, max);
        line(w, "by[f][h] = before == (-k_inf()) ? 0.0f : k_exp2(was - l[f][h]);");
    }
    close_chained_rows(w);
    if (!relative) {
        close_brace(w);
        return;
    }
    const struct phase *later = &p->phases.at[1];
    put_chained_nowhere(w, later);
    know_conditions(w, known, true);
    open_chained_rows(w, later);
    put_between(w, later, w->k->second_a, true);
    for (uint32_t i = 0; i < later->reduce.n; i++)
        line(w, "a%u[f][h] = a%u[f][h] * by[f][h] + x%u;", later->reduce.at[i], later->reduce.at[i],
             later->reduce.at[i]);
    close_chained_rows(w);
    close_brace(w);
}

static bool has_conditions_of_places(const struct emitter *w) {
    bool holds;
    for (value_id v = 0; v < w->k->values.n; v++)
        if (is_known(w, v, PLACES, &holds)) return true;
    return false;
}

/* Of a block's tiles most are on one side of an edge, and end before the last column: these ask for
 * none of their elements. */
static void put_relate_by_places(struct emitter *w, int known, int n) {
    const struct kernel *k = w->k;
    bool ends = ends_within_tile(w) && kernel_size(k, AXIS_N) > w->y->br;
    if (w->section || (!ends && !has_conditions_of_places(w))) {
        w->whole = w->section == 2 && ends;
        put_relate_of(w, w->section == 2 ? known | PLACES : known, n);
        w->whole = false;
        return;
    }
    if (n) open_scope(w);
    line(w, "bool whole = true;");
    if (ends)
        line(w, "whole &= (%s + 1) * %d <= nn;", chained_tile_of_step(w, "step", false), w->y->br);
    for (uint32_t i = 0; i < k->edges.n; i++) {
        const struct edge *e = &k->edges.at[i];
        long long m = e->by[AXIS_M], across = e->by[AXIS_N], low = e->first;
        low += (m < 0 ? m * (w->y->bx - 1) : 0) + (across < 0 ? across * (w->y->br - 1) : 0);
        line(w, "whole &= %lld + m0 * (%lld) + %s * (%lld) + z * (%lld) >= 0;", low, m,
             chained_tile_of_step(w, "step", false), across * w->y->br, (long long)e->by[AXIS_Z]);
    }
    open_brace(w, "if (whole)");
    w->whole = ends;
    put_relate_of(w, known | PLACES, n);
    w->whole = false;
    close_brace(w);
    open_brace(w, "else");
    put_relate_of(w, known, n);
    close_brace(w);
    if (n) close_brace(w);
}

/* Of a block's steps those of whole tiles: a part without gaps, as each edge leaves the first ones
 * or the last ones. */
void put_chained_sections(struct emitter *w) {
    const struct kernel *k = w->k;
    int columns = w->y->br;
    line(w, "k_idx whole_from = 0, whole_end = first_step + steps;");
    if (kernel_size(k, AXIS_N) % columns) {
        line(w, "if (nn / %d < whole_end) whole_end = nn / %d;", columns, columns);
    }
    for (uint32_t i = 0; i < k->edges.n; i++) {
        const struct edge *e = &k->edges.at[i];
        long long m = e->by[AXIS_M], across = e->by[AXIS_N] * columns, low = e->first;
        low += (m < 0 ? m * (w->y->bx - 1) : 0) +
               (across < 0 ? (long long)e->by[AXIS_N] * (columns - 1) : 0);
        open_scope(w);
        line(w, "const k_idx low = %lld + m0 * (%lld) + z * (%lld);", low, m,
             (long long)e->by[AXIS_Z]);
        if (across > 0)
            line(w,
                 "if (low < 0 && whole_from < (%lld - low) / %lld) whole_from = (%lld - low) / "
                 "%lld;",
                 across - 1, across, across - 1, across);
        else
            line(w, "if (low < 0) whole_end = 0;");
        if (across < 0)
            line(w, "else if (low / %lld + 1 < whole_end) whole_end = low / %lld + 1;", -across,
                 -across);
        close_brace(w);
    }
    line(w, "int step = 0;");
    line(w, "const int part_end = k_clamp((int)whole_from - first_step, steps);");
    line(w, "const int part_from = (int)whole_end - first_step;");
}

/* And of those that a list has most have all that data may hide. */
void put_chained_relate(struct emitter *w, int n) {
    if (!chained(w)->skips) {
        put_relate_by_places(w, 0, n);
        return;
    }
    open_brace(w, "if (of_step & 1)");
    put_relate_by_places(w, DATA, n);
    close_brace(w);
    open_brace(w, "else");
    put_relate_of(w, 0, n);
    close_brace(w);
}

void put_chained_sums(struct emitter *w) {
    for (int p = 0; p < chained_tiles_between(w); p++)
        line(w, "float %s[%d];", chained_sums_of(p), chained_sixteens(w) * chained_octets(w) * 4);
}

/* Terms of 16 bits, and in tf32 those by warpgroups; by warps these stay where the sums were. */
static bool has_terms(const struct emitter *w) {
    return !chained(w)->by_warp || dtype_bytes(chained(w)->c[0].dtype) == 2;
}

static void put_terms_of(struct emitter *w) {
    int each = 4 / dtype_bytes(chained(w)->c[0].dtype); /* of a register */
    for (int p = 0; p < chained(w)->n_second && has_terms(w); p++)
        line(w, "unsigned %s[%d][%d][4];", chained_terms_of(p), chained_sixteens(w),
             chained_octets(w) / each);
}
/* What the second product has summed up stands on another maximum. */
void put_chained_rescaled(struct emitter *w) {
    open_chained_loop(w, "i", chained_sixteens(w) * chained_column_octets(w) * 4);
    line(w, "out[i] *= by[i / %d][i / 2 %% 2];", chained_column_octets(w) * 4);
    close_brace(w);
}

/* Sums of sixteen columns, in 16 bits, are a left factor of a depth of sixteen, and those of eight
 * columns in tf32, in another order, one of eight; by warps each product takes them itself. */
void put_chained_terms(struct emitter *w, int n) {
    bool relative = chained_maximum(w->k) != NO_VALUE;
    if (relative) {
        line(w, "bool moves = false;");
        open_chained_loop(w, "i", 2 * chained_sixteens(w));
        line(w, "moves |= by[i / 2][i %% 2] != 1.0f;");
        close_brace(w);
        open_brace(w, "if (__any_sync(0xffffffffu, moves))");
        put_chained_rescaled(w);
        close_brace(w);
    }
    if (!chained(w)->by_warp && chained_has_step_registers(w)) put_terms_of(w);
    for (int p = 0; p < chained(w)->n_second; p++) {
        if (!has_terms(w) || !chained_is_second(w, n, p)) continue;
        const char *sums = chained_sums_of(n == 1 ? 0 : p); /* the early value lies in the first */
        /* Conversions stay behind branches: in these ptxas has products wait for each other. */
        if (w->p->one_by_one) line(w, "k_wgmma_hold(%s);", sums);
        if (dtype_bytes(chained(w)->c[p].dtype) != 2) {
            open_chained_loop(w, "i", chained_octets(w));
            line(w, "k_left_pairs(%s[0][i], %s + i * 4);", chained_terms_of(p), sums);
            close_brace(w);
            continue;
        }
        open_chained_loop(w, "i", chained_sixteens(w) * chained_octets(w) * 2);
        line(w, "k_pack<%s, 2> x;", memory_type(w, chained(w)->c[p].dtype));
        line(w, "k_put(x, %s + i * 2);", sums);
        line(w, "%s[i / %d][i / 4 %% %d][i %% 4] = x.w[0];", chained_terms_of(p),
             chained_octets(w) * 2, chained_octets(w) / 2);
        close_brace(w);
    }
}

void put_chained_begin(struct emitter *w) {
    int rows = chained_sixteens(w);
    value_id max = chained_maximum(w->k);
    for (int p = 0; p < chained(w)->n_second; p++) {
        line(w, "float %s[%d];", chained_out_of(p), rows * chained_column_octets(w) * 4);
        line(w, "k_zero(%s);", chained_out_of(p));
    }
    if (chained(w)->by_warp || !chained_has_step_registers(w)) {
        put_chained_sums(w);
        put_terms_of(w);
    }
    put_chained_own_of_rows(w);
    put_chained_first_columns(w);
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!chained_is_between(w, v)) continue;
        line(w, "%s a%u[%d][2];", accumulator_type(w, v), v, rows);
        line(w, "#pragma unroll");
        line(w, "for (int i = 0; i < %d; i++) a%u[i / 2][i %% 2] = %s;", rows * 2, v,
             identity_text(w, v));
    }
    if (max != NO_VALUE) {
        line(w, "float b%u[%d][2], by[%d][2], l[%d][2], scale[%d][2];", max, rows, rows, rows,
             rows);
        line(w, "#pragma unroll");
        line(w, "for (int i = 0; i < %d; i++) b%u[i / 2][i %% 2] = 0, l[i / 2][i %% 2] = 0;",
             rows * 2, max);
    }
}
