/* cuda_epilogue_loads.c: what an epilogue reads, in CUDA C++: of pairs of columns, of columns that
 * are neighbours in memory, and before what is waited for:
 *
 *     k_pack<k_bf16, 2> l5[2][4];                       of two chunks, before the first is stored
 *     for (int g = 0; g < 2; g++)
 *         for (int j = 0; j < 4; j++) l5[g][j] = k_load<k_bf16, 2>(p2 + (n)); */
#include "emit/cuda_epilogue.h"

/* The same of a load behind the product, and of bytes, as masks are. */
bool is_loaded_across(struct emitter *w, const struct value_node *x) {
    const struct product *p = w->y->product;
    return x->kind == INST_LOAD && x->mask == (MASK_M | MASK_N) && !x->guarded && !x->n_args &&
           dtype_bytes(buffer_dtype(w, x->buffer)) <= 2 && p->parts == 1 && !p->turned &&
           !operand_has_order(&p->a) && !operand_has_order(&p->b) && !kernel_has_spans(w->k) &&
           kernel_size(w->k, AXIS_M) % QUAD == 0 && load_is_vector(w->k, x, AXIS_M, QUAD);
}

/* Moves *i on to a value that is loaded across; false: there is none from there on. */
bool next_across(struct emitter *w, const struct phase *f, uint32_t *i) {
    while (*i < f->compute.n && !is_loaded_across(w, &w->k->values.at[f->compute.at[*i]])) ++*i;
    return *i < f->compute.n;
}

/* Words of a thread's that what is loaded across of so many octets takes: four rows of each. */
int words_across(struct emitter *w, const struct phase *f, int octets) {
    int bytes = 0;
    for (uint32_t i = 0; next_across(w, f, &i); i++)
        bytes += QUAD * dtype_bytes(buffer_dtype(w, w->k->values.at[f->compute.at[i]].buffer));
    return octets * bytes / 4;
}

/* Of so many octets, the first of which is number `from`, what a thread loads for both eights of 16
 * rows: four rows of a column, as they lie. */
void put_loads_across(struct emitter *w, const struct phase *f, const char *from, int octets) {
    for (uint32_t i = 0; next_across(w, f, &i); i++) {
        value_id v = f->compute.at[i];
        line(w, "k_pack<%s, %d> rows%u[%d];",
             memory_type(w, buffer_dtype(w, w->k->values.at[v].buffer)), QUAD, v, octets);
    }
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", octets);
    line(w, "const int i = tid %% %d / 4;", w->k->limits->warp);
    line(w,
         "const k_idx m = k_clamp(first_row + f * %d - i + quad %% 2 * 8 + quad / 2 * 4, nm - %d);",
         product_sixteens_apart(w->y->product), QUAD);
    line(w, "const k_idx n = k_clamp(first_column + (%s + j) * %d + i, nn - 1);", from, OCTET);
    for (uint32_t i = 0; next_across(w, f, &i); i++) {
        const struct value_node *x = &w->k->values.at[f->compute.at[i]];
        line(w, "rows%u[j] = k_load<%s, %d>(p%d + (%s));", f->compute.at[i],
             memory_type(w, buffer_dtype(w, x->buffer)), QUAD, argument_of(w, x->buffer),
             ex_text(w, x->index));
    }
    close_brace(w);
}

enum pair_load pair_load(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    if (operand_has_order(&w->y->product->b) || x->kind != INST_LOAD || !(x->mask & MASK_N) ||
        x->guarded || x->n_args)
        return EACH_OF_PAIR;
    if (w->by_sixteens && is_loaded_across(w, x)) return ACROSS_PAIR;
    if (load_is_vector(w->k, x, AXIS_N, PAIR)) return TWO_OF_PAIR;
    return load_is_uniform(w->k, x, AXIS_N, PAIR) ? ONE_OF_PAIR : EACH_OF_PAIR;
}

/* A load of two neighbours that the row has to itself. */
static bool is_pair_of_row(struct emitter *w, value_id v) {
    return w->k->values.at[v].mask & MASK_M && pair_load(w, v) == TWO_OF_PAIR;
}

/* A load of an element alone: its neighbours in memory are other rows, as channels are of images
 * where they are innermost. */
static bool is_alone(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    const uint8_t both = MASK_M | MASK_N; /* and perhaps the batch */
    return x->kind == INST_LOAD && (x->mask & both) == both && !x->guarded && !x->n_args &&
           !operand_has_order(&w->y->product->b) && pair_load(w, v) == EACH_OF_PAIR;
}

/* Is it loaded for several chunks at a time, of which the last is stored long after? */
bool is_ahead(struct emitter *w, value_id v) {
    return w->ahead && !w->by_sixteens && (is_pair_of_row(w, v) || is_alone(w, v));
}

/* How far apart columns' elements of a load lie, if that is a number: then all that a thread loads
 * of a row is one address, and numbers in the loads themselves. 0: it is none. */
static int64_t even_step(struct emitter *w, value_id v) {
    ex step, rest;
    int64_t n;
    bool is = ex_linear(w->k->ex, w->k->values.at[v].index, w->k->axis[AXIS_N], &step, &rest) &&
              ex_is_const(w->k->ex, step, &n);
    return is ? n : 0;
}

bool alone_ahead_evenly(struct emitter *w, const struct phase *f, int chunks, int chunk) {
    bool any = false;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        if (!is_alone(w, f->compute.at[i])) continue;
        if (!even_step(w, f->compute.at[i])) return false;
        any = true;
    }
    return any && chunks_ahead(w, f, chunks, chunk);
}

/* How many chunks' loads of the row's own are under way at a time, before the first chunk is
 * stored: no load goes past a store in the text, nor waits for another. 0: there are none, or too
 * little room for them. */
int chunks_ahead(struct emitter *w, const struct phase *f, int chunks, int chunk) {
    enum { WORDS = 24, ACROSS = 32 }; /* registers beside the sums */
    int words = w->by_sixteens ? words_across(w, f, chunk) : 0,
        most = w->by_sixteens ? ACROSS : WORDS;
    for (uint32_t i = 0; i < f->compute.n && !w->by_sixteens; i++) {
        value_id v = f->compute.at[i];
        bool alone = is_alone(w, v);
        if (!alone && !is_pair_of_row(w, v)) continue;
        int pair = PAIR * (alone ? 4 : dtype_bytes(buffer_dtype(w, w->k->values.at[v].buffer)));
        words += chunk * (pair < 4 ? 1 : pair / 4);
        if (alone) most = ACROSS;
    }
    if (!words || !f->stores.n || kernel_has_spans(w->k)) return 0;
    int n = chunks;
    while (n > 1 && (chunks % n || n * words > most)) n--;
    return n > 1 ? n : 0;
}

/* The load of so many from column `pair` on. */
static const char *pair_text(struct emitter *w, value_id v, int width) {
    const struct value_node *x = &w->k->values.at[v];
    ex n = w->k->axis[AXIS_N], pair = ex_index(w->k->ex, "pair", w->k->bound[AXIS_N]);
    return arena_printf(
        w->arena, "k_load<%s, %d>(p%d + (%s))", memory_type(w, buffer_dtype(w, x->buffer)), width,
        argument_of(w, x->buffer), ex_text(w, ex_subst(w->k->ex, x->index, &n, &pair, 1)));
}

/* A load of columns alone: of two neighbours, or of what they share. */
static bool is_of_columns(struct emitter *w, value_id v) {
    enum pair_load how = pair_load(w, v);
    return (how == TWO_OF_PAIR || how == ONE_OF_PAIR) && !(w->k->values.at[v].mask & MASK_M);
}

static int pair_width(struct emitter *w, value_id v) {
    return pair_load(w, v) == TWO_OF_PAIR ? PAIR : 1;
}

void put_pairs(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        const struct value_node *x = &w->k->values.at[v];
        enum pair_load how = pair_load(w, v);
        if (how == EACH_OF_PAIR || how == ACROSS_PAIR || is_ahead(w, v)) continue;
        const char *t = memory_type(w, buffer_dtype(w, x->buffer));
        int width = pair_width(w, v);
        bool there = w->columns_ahead && is_of_columns(w, v);
        line(w, "const k_pack<%s, %d> l%u = %s;", t, width, v,
             there ? arena_printf(w->arena, "columns%u[g]", v) : pair_text(w, v, width));
    }
}

/* What so many octets' columns have, from octet `first` on. */
void put_loads_of_columns(struct emitter *w, const struct phase *f, const char *first, int octets) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = %s; i < %s + %d; i++)", first, first, octets);
    line(w, "const k_idx pair = k_clamp(first_column + i * %d + quad * %d, (nn - 1) & ~1);", OCTET,
         PAIR);
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (is_of_columns(w, v))
            line(w, "columns%u[i] = %s;", v, pair_text(w, v, pair_width(w, v)));
    }
    close_brace(w);
}

/* Of all octets: where their columns' loads come before those of the octets ahead of them, if there
 * are registers for both. */
void declare_columns(struct emitter *w, const struct phase *f, int octets) {
    enum { SPARE = 64 };
    const struct product *p = w->y->product;
    int registers = product_registers(p, true);
    if (p->makers || p->a.in_registers || (registers && registers - product_thread_sums(p) < SPARE))
        return;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (!is_of_columns(w, v)) continue;
        w->columns_ahead = true;
        line(w, "k_pack<%s, %d> columns%u[%d];",
             memory_type(w, buffer_dtype(w, w->k->values.at[v].buffer)), pair_width(w, v), v,
             octets);
    }
}

/* Where a row's elements that are loaded alone begin, of a thread's first columns. */
static void put_begins(struct emitter *w, const struct phase *f) {
    ex n = w->k->axis[AXIS_N], left = ex_index(w->k->ex, "left", w->k->bound[AXIS_N]);
    bool any = false;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        const struct value_node *x = &w->k->values.at[v];
        if (!is_ahead(w, v) || !is_alone(w, v) || !even_step(w, v)) continue;
        if (!any) line(w, "const k_idx left = first_column + quad * %d;", PAIR);
        any = true;
        line(w, "const %s *const begin%u = p%d + (%s);", memory_type(w, buffer_dtype(w, x->buffer)),
             v, argument_of(w, x->buffer), ex_text(w, ex_subst(w->k->ex, x->index, &n, &left, 1)));
    }
}

/* The load of an element alone, of octet i behind b. */
static const char *alone_text(struct emitter *w, value_id v, int chunk) {
    const char *type = memory_type(w, buffer_dtype(w, w->k->values.at[v].buffer)),
               *behind = arena_printf(w->arena, "((b * %d + i) * %d + e)", chunk, OCTET);
    if (!even_step(w, v)) return source_text(w, v);
    const char *at =
        arena_printf(w->arena, "begin%u + %s * %lld", v, behind, (long long)even_step(w, v));
    if (kernel_size(w->k, AXIS_N) % w->y->br == 0)
        return arena_printf(w->arena, "k_get(k_load<%s, 1, K_HERE>(%s), 0)", type, at);
    return arena_printf(w->arena, "k_get(k_load_if<%s, 1, K_HERE>(left + %s < nn, %s), 0)", type,
                        behind, at);
}

static void put_loads_ahead(struct emitter *w, const struct phase *f, int chunk, int ahead) {
    bool alone = false;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        const struct value_node *x = &w->k->values.at[v];
        if (!is_ahead(w, v)) continue;
        if (is_alone(w, v))
            line(w, "%s ahead%u[%d][%d][%d];", math_type(x->dtype), v, ahead, chunk, PAIR);
        else
            line(w, "k_pack<%s, %d> ahead%u[%d][%d];", memory_type(w, buffer_dtype(w, x->buffer)),
                 PAIR, v, ahead, chunk);
        alone |= is_alone(w, v);
    }
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", ahead * chunk);
    line(w, "const k_idx column = first_column + (b * %d + i) * %d;", chunk, OCTET);
    line(w, "const k_idx pair = k_clamp(column + quad * %d, (nn - 1) & ~1);", PAIR);
    for (uint32_t i = 0; i < f->compute.n; i++)
        if (is_ahead(w, f->compute.at[i]) && !is_alone(w, f->compute.at[i]))
            line(w, "ahead%u[i / %d][i %% %d] = %s;", f->compute.at[i], chunk, chunk,
                 pair_text(w, f->compute.at[i], PAIR));
    if (alone) {
        line(w, "#pragma unroll");
        open_brace(w, "for (int e = 0; e < %d; e++)", PAIR);
        line(w, "const k_idx n = k_clamp(pair + e, nn - 1);");
        for (uint32_t i = 0; i < f->compute.n; i++)
            if (is_ahead(w, f->compute.at[i]) && is_alone(w, f->compute.at[i]))
                line(w, "ahead%u[i / %d][i %% %d][e] = %s;", f->compute.at[i], chunk, chunk,
                     alone_text(w, f->compute.at[i], chunk));
        close_brace(w);
    }
    close_brace(w);
}

/* The row's chunks, so many at a time, from b on: their loads, and the loop over them. */
void open_ahead(struct emitter *w, const struct phase *f, int chunks, int chunk, int ahead) {
    w->ahead = ahead;
    if (!w->by_sixteens) put_begins(w, f);
    line(w, "#pragma unroll");
    open_brace(w, "for (int b = 0; b < %d; b += %d)", chunks, ahead);
    if (w->by_sixteens)
        put_loads_across(w, f, arena_printf(w->arena, "b * %d", chunk), ahead * chunk);
    else
        put_loads_ahead(w, f, chunk, ahead);
    line(w, "#pragma unroll");
    open_brace(w, "for (int g = b; g < b + %d; g++)", ahead);
}

/* The axis along which a vector of what is loaded behind the product lies in memory, if the tile's
 * part of it is such runs; AXIS_COUNT: it is not. */
static enum axis axis_of_runs(struct emitter *w, const struct value_node *x) {
    enum { VECTOR = 16 }; /* bytes */
    const struct product *p = w->y->product;
    if (x->kind != INST_LOAD || x->guarded || x->n_args) return AXIS_COUNT;
    if ((x->mask & (MASK_M | MASK_N)) != (MASK_M | MASK_N)) return AXIS_COUNT;
    int each = VECTOR / dtype_bytes(buffer_dtype(w, x->buffer));
    if (!operand_has_order(&p->a) && load_is_vector(w->k, x, AXIS_M, each)) return AXIS_M;
    if (!operand_has_order(&p->b) && load_is_vector(w->k, x, AXIS_N, each)) return AXIS_N;
    return AXIS_COUNT;
}

/* Before a tile's products: what is loaded behind them is on its way to L2 meanwhile. */
void put_prefetch(struct emitter *w, const struct tile_program *t) {
    const struct product *p = t->product;
    const struct phase f = phase_of(w, 0);
    if (p->parts > 1 || p->tensor) return;
    for (int along = AXIS_M; along <= AXIS_N; along++) {
        bool any = false;
        for (uint32_t i = 0; i < f.compute.n; i++)
            any |= axis_of_runs(w, &w->k->values.at[f.compute.at[i]]) == (enum axis)along;
        if (!any) continue;
        bool of_rows = along == AXIS_N; /* runs are of rows */
        int runs = of_rows ? w->y->bx : w->y->br, run = of_rows ? w->y->br : w->y->bx,
            threads = (p->in_turn > 1 ? 1 : p->warpgroups) * p->group_threads;
        const char *first = of_rows ? "m0" : "n0", *all_runs = of_rows ? "nm" : "nn",
                   *number = of_rows ? "m" : "n", *from = of_rows ? "n" : "m",
                   *all = of_rows ? "nn" : "nm";
        open_scope(w);
        line(w, "const k_idx nm = %s, nn = %s;", ex_text(w, w->k->bound[AXIS_M]),
             ex_text(w, w->k->bound[AXIS_N]));
        line(w, "const k_idx %s = %s0;", from, from);
        open_brace(w, "for (int i = group * %d + tid; i < %d; i += %d)", p->group_threads, runs,
                   threads);
        put_number(w, of_rows ? &p->a : &p->b, number, arena_printf(w->arena, "%s + i", first),
                   all_runs);
        line(w, "if (%s >= %s) continue;", number, all_runs);
        for (uint32_t i = 0; i < f.compute.n; i++) {
            const struct value_node *x = &w->k->values.at[f.compute.at[i]];
            if (axis_of_runs(w, x) != (enum axis)along) continue;
            line(w, "k_prefetch(p%d + (%s), k_clamp(%s - %s0, (k_idx)%d));",
                 argument_of(w, x->buffer), ex_text(w, x->index), all, from, run);
        }
        close_brace(w);
        close_brace(w);
    }
}
