/* cuda_chained_results.c: what is behind chained products, in CUDA C++: whole rows, and stores. */
#include "emit/cuda_chained.h"

static value_id second_of(const struct emitter *w, int i) { return i ? w->k->twin : w->k->second; }

/* All that rows have come to stands on their last maximum. */
static void put_last_maximum(struct emitter *w) {
    value_id max = chained_maximum(w->k);
    open_chained_loop(w, "f", chained_sixteens(w));
    open_chained_loop(w, "h", 2);
    line(w, "const float most = a%u[f][h] == (-k_inf()) ? 0.0f : a%u[f][h];", max, max);
    line(w, "const float of = fabsf(most) < 1e30f ? most * 1.44269504f : most;");
    line(w, "by[f][h] = most == b%u[f][h] ? 1.0f : k_exp2(l[f][h] - of);", max);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (chained_is_between(w, v) && v != max && kernel_online_maximum(w->k, v) == max)
            line(w, "a%u[f][h] *= by[f][h];", v);
    close_chained_rows(w);
    put_chained_rescaled(w);
}

/* The four threads of a row have a part each; none of a row that has no maximum is a number. In a
 * row that a low number hides all of, each element counts, those of tiles that are left out, too.
 */
static void put_whole_rows(struct emitter *w) {
    value_id max = chained_maximum(w->k);
    if (max != NO_VALUE) put_last_maximum(w);
    open_chained_loop(w, "f", chained_sixteens(w));
    open_chained_loop(w, "h", 2);
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!chained_is_between(w, v) || v == max) continue;
        line(w, "a%u[f][h] = %s;", v,
             chained_reduce_lanes(w, v, arena_printf(w->arena, "a%u[f][h]", v)));
        if (max != NO_VALUE && kernel_online_maximum(w->k, v) == max)
            line(w, "a%u[f][h] += a%u[f][h] - a%u[f][h];", v, max, max);
        if (w->k->hidden != 0 && (w->k->edges.n || chained(w)->skips))
            line(w, "if (a%u[f][h] == %.9ef) a%u[f][h] += hidden;", max, w->k->hidden, v);
    }
    if (max != NO_VALUE) {
        line(w, "const float none = a%u[f][h] - a%u[f][h];", max, max);
        line(w, "#pragma unroll");
        line(w, "for (int g = 0; g < %d; g++) out[(f * %d + g / 2) * 4 + h * 2 + g %% 2] += none;",
             chained_column_octets(w) * 2, chained_column_octets(w));
    }
    close_chained_rows(w);
}

/* Elements that a store puts at once: an octet, of four pairs that a row's threads exchange; two;
 * or one. */
static int store_width(const struct emitter *w, const struct store_node *s) {
    enum { QUAD = 4 };
    if (s->guard) return 1;
    bool narrow = dtype_bytes(buffer_dtype(w, s->buffer)) == 2;
    if (narrow && chained_column_octets(w) % QUAD == 0 &&
        index_is_vector(w->k, s->index, AXIS_C, OCTET))
        return OCTET;
    return index_is_vector(w->k, s->index, AXIS_C, PAIR) ? PAIR : 1;
}

static bool is_of_row_alone(const struct emitter *w, uint32_t store) {
    return !(w->k->stores.at[store].mask & MASK_C);
}

/* What rows have come to: one of a row's threads stores it. */
static void put_row_stores(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *s = &w->k->stores.at[f->stores.at[i]];
        if (!is_of_row_alone(w, f->stores.at[i])) continue;
        const char *also = s->guard ? arena_printf(w->arena, " && %s", ex_text(w, s->guard)) : "";
        line(w, "if (quad == 0 && row < nm%s) k_store1(p%d + (%s), (%s)%s);", also,
             argument_of(w, s->buffer), ex_text(w, s->index), math_type(buffer_dtype(w, s->buffer)),
             ref(w, s->value));
    }
}

/* What a thread has of `chunk` octets of a row, from the g-th on. */
static void put_store_of(struct emitter *w, uint32_t number, int chunk) {
    const struct store_node *s = &w->k->stores.at[number];
    int width = store_width(w, s), arg = argument_of(w, s->buffer);
    const char *t = memory_type(w, buffer_dtype(w, s->buffer));
    if (width == OCTET) {
        open_scope(w);
        line(w, "k_pack<%s, %d> x;", t, OCTET);
        line(w, "k_put(x, &o%u[0][0]);", number);
        line(w, "k_transpose_quad(x.w);");
        line(w, "const k_idx c = (g * %d + quad) * %d;", chunk, OCTET);
        line(w, "if (row < nm && c < nc) k_store<%s, %d, 0>(p%d + (%s), x);", t, OCTET, arg,
             ex_text(w, s->index));
        close_brace(w);
        return;
    }
    open_chained_loop(w, "j", chunk);
    line(w, "const k_idx first = (g * %d + j) * %d + quad * %d;", chunk, OCTET, PAIR);
    if (width == PAIR) {
        line(w, "const k_idx c = first;");
        line(w, "k_pack<%s, %d> x;", t, PAIR);
        line(w, "k_put(x, o%u[j]);", number);
        line(w, "if (row < nm && c < nc) k_store<%s, %d, 0>(p%d + (%s), x);", t, PAIR, arg,
             ex_text(w, s->index));
    } else {
        const char *also = s->guard ? arena_printf(w->arena, " && %s", ex_text(w, s->guard)) : "";
        open_chained_loop(w, "e", PAIR);
        line(w, "const k_idx c = first + e;");
        line(w, "if (row < nm && c < nc%s) k_store1(p%d + (%s), o%u[j][e]);", also, arg,
             ex_text(w, s->index), number);
        close_brace(w);
    }
    close_brace(w);
}

void put_chained_results(struct emitter *w) {
    enum { QUAD = 4 };
    const struct kernel *k = w->k;
    const struct phase *f = &w->p->phases.at[w->p->phases.n - 1];
    int chunk = 1;
    for (uint32_t i = 0; i < f->stores.n; i++)
        if (!is_of_row_alone(w, f->stores.at[i]) &&
            store_width(w, &k->stores.at[f->stores.at[i]]) == OCTET)
            chunk = QUAD;
    put_whole_rows(w);
    put_chained_nowhere(w, f);
    open_chained_rows(w, f);
    put_row_stores(w, f);
    open_chained_loop(w, "g", chained_column_octets(w) / chunk);
    for (uint32_t i = 0; i < f->stores.n; i++)
        if (!is_of_row_alone(w, f->stores.at[i]))
            line(w, "%s o%u[%d][%d];",
                 math_type(buffer_dtype(w, k->stores.at[f->stores.at[i]].buffer)), f->stores.at[i],
                 chunk, PAIR);
    open_chained_loop(w, "j", chunk);
    open_chained_loop(w, "e", PAIR);
    line(w, "const int octet = g * %d + j;", chunk);
    line(w, "const k_idx column = octet * %d + quad * %d + e, c = k_clamp(column, nc - 1);", OCTET,
         PAIR);
    for (int p = 0; p < chained(w)->n_second; p++) {
        line(w, "const float v%u = %s[(f * %d + octet) * 4 + h * 2 + e];", second_of(w, p),
             chained_out_of(p), chained_column_octets(w));
        w->where[second_of(w, p)] = LOCAL;
    }
    line(w, "(void)c;");
    for (uint32_t i = 0; i < f->compute.n; i++)
        if (!chained_of_row(w, f->compute.at[i])) put_local(w, f->compute.at[i]);
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *s = &k->stores.at[f->stores.at[i]];
        if (is_of_row_alone(w, f->stores.at[i])) continue;
        line(w, "o%u[j][e] = (%s)%s;", f->stores.at[i], math_type(buffer_dtype(w, s->buffer)),
             ref(w, s->value));
    }
    close_brace(w);
    close_brace(w);
    for (uint32_t i = 0; i < f->stores.n; i++)
        if (!is_of_row_alone(w, f->stores.at[i])) put_store_of(w, f->stores.at[i], chunk);
    close_brace(w);
    close_chained_rows(w);
}
