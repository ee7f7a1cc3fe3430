/* cuda_epilogue.c: what becomes of a tile's sums, in CUDA C++. A thread has, of each sixteen rows
 * of its warp, two: lane / 4 and 8 on, of each eighth of the warp's columns two neighbours:
 *
 *     for (int f = 0; f < 1; f++)                          sixteen rows
 *     for (int h = 0; h < 2; h++) {                        the row
 *         const k_idx row = first_row + f * 16 + h * 8, m = k_clamp(row, nm - 1);
 *         for (int g = 0; g < 8; g++) {                    a chunk of columns
 *             float o0[4][2];
 *             for (int j = 0; j < 4; j++) {
 *                 const k_pack<k_bf16, 2> l5 = k_load<k_bf16, 2>(p2 + (n));
 *                 for (int e = 0; e < 2; e++) {
 *                     const float v4 = sums[(f * 32 + g * 4 + j) * 4 + h * 2 + e];
 *                     const float v5 = k_get(l5, e), v6 = v4 + v5;
 *                     o0[j][e] = v6;
 *                 }
 *             }
 *             store
 *         }
 *     }
 *
 * What is read lies inside, as m and n do; what is stored is where row and column are. Outputs of
 * 16 bits are exchanged among the four threads of a row first, so that each stores 16 bytes.
 *
 * Four threads have a sector of f32, where rows begin with one. Where these begin elsewhere, as the
 * channels of an image of 254 by 254 pixels do, pairs that lie in an octet's second sector wait for
 * those of the next octet (k_store_sectors): one sector at a time is stored, all of it, but at the
 * ends of the tile's row. Stores of two halves took an H100 more than twice as long. So it is with
 * rows of 16 bits that begin anywhere, as those of 50257 columns do: what four threads have of them
 * moves on to where memory's vectors begin (k_store_row).
 *
 * Nothing hides what is waited for here, and no load of the text goes past a store. So a tile's
 * loads are on their way to L2 while it is multiplied (put_prefetch), and those of several chunks
 * come before the first of them is stored (put_loads_ahead, put_loads_across). */
#include "emit/cuda_epilogue.h"

static bool any_across(struct emitter *w, const struct phase *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->stores.n; i++)
        any |= is_across(w, &w->k->stores.at[f->stores.at[i]]);
    for (uint32_t i = 0; i < f->compute.n; i++)
        any |= is_loaded_across(w, &w->k->values.at[f->compute.at[i]]);
    return any;
}

/* Before both eights of 16 rows, what both have loaded, and what the lower one leaves of its stores
 * for the upper. */
static void begin_sixteen(struct emitter *w, const struct phase *f, int chunk) {
    w->by_sixteens = true;
    for (uint32_t i = 0; i < f->stores.n; i++)
        if (is_across(w, &w->k->stores.at[f->stores.at[i]]))
            line(w, "unsigned lower%u[%d];", f->stores.at[i], chunk);
    if (!words_across(w, f, 1)) return;
    if (!w->ahead) put_loads_across(w, f, arena_printf(w->arena, "g * %d", chunk), chunk);
    for (uint32_t i = 0; next_across(w, f, &i); i++) {
        value_id v = f->compute.at[i];
        line(w, "k_pack<%s, %d> across%u[%d][2];",
             memory_type(w, buffer_dtype(w, w->k->values.at[v].buffer)), PAIR, v, chunk);
        line(w, "#pragma unroll");
        line(w, "for (int j = 0; j < %d; j++) k_turn_rows(across%u[j], rows%u[%sj]);", chunk, v, v,
             w->ahead ? arena_printf(w->arena, "(g - b) * %d + ", chunk) : "");
    }
}

/* Where nothing is reduced there is one, of all. */
struct phase phase_of(struct emitter *w, int n) {
    struct phase f = {.at_hand = w->k->dot};
    if (w->p->phases.n) return w->p->phases.at[n];
    for (uint32_t i = 0; i < w->p->before.n; i++)
        vec_push(w->arena, &f.compute, w->p->before.at[i]);
    for (uint32_t i = 0; i < w->p->row_stores.n; i++)
        vec_push(w->arena, &f.stores, w->p->row_stores.at[i]);
    return f;
}

static bool stands_on_dot(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (v == k->dot) return true;
    if (x->kind == INST_REDUCE) return false; /* it is known by then */
    for (int i = 0; i < x->n_args; i++)
        if (stands_on_dot(k, x->args[i])) return true;
    return false;
}

bool of_row(struct emitter *w, value_id v) {
    return !(w->k->values.at[v].mask & MASK_N) && !stands_on_dot(w->k, v);
}

static void put_element(struct emitter *w, const struct phase *f, const char *sums,
                        const char *at) {
    value_id dot = f->at_hand;
    line(w, "const %s v%u = %s[%s];", math_type(w->k->values.at[dot].dtype), dot, sums, at);
    w->where[dot] = LOCAL;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (v == dot) continue;
        if (of_row(w, v)) continue;
        enum pair_load how = pair_load(w, v);
        if (how == EACH_OF_PAIR && !is_ahead(w, v)) {
            put_local(w, v);
            continue;
        }
        if (how == EACH_OF_PAIR)
            line(w, "const %s v%u = ahead%u[g - b][j][e];", math_type(w->k->values.at[v].dtype), v,
                 v);
        else if (is_ahead(w, v))
            line(w, "const %s v%u = k_get(ahead%u[g - b][j], e);",
                 math_type(w->k->values.at[v].dtype), v, v);
        else if (how == ACROSS_PAIR)
            line(w, "const %s v%u = k_get(across%u[j][h], e);", math_type(w->k->values.at[v].dtype),
                 v, v);
        else
            line(w, "const %s v%u = k_get(l%u, %s);", math_type(w->k->values.at[v].dtype), v, v,
                 how == TWO_OF_PAIR ? "e" : "0");
        w->where[v] = LOCAL;
    }
}

/* The product's value at z, m and n by plain arithmetic. At most 16 terms are added in a row. */
static void put_plain_sum(struct emitter *w) {
    const struct kernel *k = w->k;
    line(w, "float v%u = 0, of_4096 = 0, of_256 = 0, of_16 = 0;", k->dot);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (k_idx r = 0; r < %s; r++)", ex_text(w, k->bound[AXIS_R]));
    line(w, "if (r %% 16 == 0) of_256 += of_16, of_16 = 0;");
    line(w, "if (r %% 256 == 0) of_4096 += of_256, of_256 = 0;");
    line(w, "if (r %% 4096 == 0) v%u += of_4096, of_4096 = 0;", k->dot);
    const struct value_node *mul = &k->values.at[k->values.at[k->dot].args[0]];
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    mark_needed(w, mul->args[0], needed);
    mark_needed(w, mul->args[1], needed);
    for (value_id v = 0; v < k->dot; v++)
        if (needed[v]) put_local(w, v);
    line(w, "%s",
         multiply_add_text(w, DT_F32, "of_16", ref(w, mul->args[0]), ref(w, mul->args[1])));
    close_brace(w);
    line(w, "v%u += of_4096 + (of_256 + of_16);", k->dot);
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    w->where[k->dot] = LOCAL;
}

/* A chunk of a thread's columns in one row by plain arithmetic: an infinity is no sum of planes. A
 * warp whose sums are not all finite does this instead. */
void put_again(struct emitter *w, const struct tile_program *t) {
    const struct kernel *k = w->k;
    if (!product_may_break(t->product) || k->over || t->product->turned) return;
    const struct phase f = phase_of(w, 0);
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    buf_puts(&w->b, "K_FAR void k_again(");
    put_parameters(w);
    buf_puts(&w->b, ", k_idx z, k_idx m, k_idx column) {\n");
    w->indent++;
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int i = 0; i < %d; i++)", chunk_of(w, &f) * PAIR);
    put_number(w, &t->product->b, "n", "column + i / 2 * 8 + i % 2", ex_text(w, k->bound[AXIS_N]));
    line(w, "if (m >= %s || n >= %s) continue;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]));
    put_plain_sum(w);
    for (uint32_t i = 0; i < f.compute.n; i++) put_local(w, f.compute.at[i]);
    for (uint32_t s = 0; s < k->stores.n; s++) put_guarded_store1(w, &k->stores.at[s]);
    close_brace(w);
    close_brace(w);
}

/* Whether all of the warp's n sums are finite: then 0 times each is 0, in four chains, for they are
 * all that the warp does meanwhile. */
static void put_finite(struct emitter *w, int n, const char *sums) {
    line(w, "float none[4] = {0, 0, 0, 0};");
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++) none[i %% 4] = fmaf(%s[i], 0.0f, none[i %% 4]);", n,
         sums);
    line(w, "const bool finite = __all_sync(0xffffffffu, "
            "none[0] + none[1] + none[2] + none[3] == 0);");
}

static void put_call_again(struct emitter *w, int chunk) {
    struct buf b = buf_new(w->arena);
    for (uint32_t i = 0; i < w->k->buffers.n; i++) buf_printf(&b, "p%u, ", i);
    for (uint32_t i = 0; i < w->k->sizes.n; i++)
        buf_printf(&b, "%s, ", ex_text(w, w->k->sizes.at[i]));
    line(w, "k_again(%sz, row, first_column + g * %d + quad * 2);", b.p, chunk * OCTET);
}

/* Chunk i of a thread's, of which a row has so many. */
static void put_place_of_chunk(struct emitter *w, int of_row) {
    line(w, "const int f = i / %d, h = i / %d %% 2, g = i %% %d;", 2 * of_row, of_row, of_row);
}

static void put_row_number(struct emitter *w) {
    const char *at =
        arena_printf(w->arena, "first_row + f * %d + h * 8", product_sixteens_apart(w->y->product));
    put_number(w, &w->y->product->a, "row", at, "nm");
}

const char *eight_text(struct emitter *w, const char *i) {
    int apart = product_sixteens_apart(w->y->product);
    if (apart == 2 * OCTET) return arena_printf(w->arena, "%s * %d", i, OCTET);
    return arena_printf(w->arena, "(%s / 2 * %d + %s %% 2 * %d)", i, apart, i, OCTET);
}

const char *exchange_text(struct emitter *w, const struct tile_program *t, int byte) {
    if (t->product->in_turn == 1) return arena_printf(w->arena, "ring + %d", byte);
    return arena_printf(w->arena, "ring + %d + own_turn * %d", byte, t->exchange_apart);
}

static void open_loop(struct emitter *w, const char *i, int n) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int %s = 0; %s < %d; %s++)", i, i, n, i);
}

static bool is_load_of_row(struct emitter *w, value_id v) {
    return w->k->values.at[v].kind == INST_LOAD && of_row(w, v);
}

/* What both of 16 rows have alone is loaded before their columns: no load goes past a store of
 * these, and each chunk would wait for it once more. Of few, which take two registers each. */
static void put_loads_of_rows(struct emitter *w, const struct phase *f) {
    enum { MOST = 4 };
    int n = 0;
    for (uint32_t i = 0; i < f->compute.n; i++) n += is_load_of_row(w, f->compute.at[i]);
    w->rows_ahead = n > 0 && n <= MOST;
    for (uint32_t i = 0; i < f->compute.n && w->rows_ahead; i++)
        if (is_load_of_row(w, f->compute.at[i]))
            line(w, "%s row%u[2];", math_type(w->k->values.at[f->compute.at[i]].dtype),
                 f->compute.at[i]);
    if (!w->rows_ahead) return;
    open_loop(w, "h", 2);
    put_row_number(w);
    line(w, "const k_idx m = k_clamp(row, nm - 1);");
    for (uint32_t i = 0; i < f->compute.n; i++)
        if (is_load_of_row(w, f->compute.at[i]))
            line(w, "row%u[h] = %s;", f->compute.at[i], source_text(w, f->compute.at[i]));
    close_brace(w);
}

static void put_row(struct emitter *w, const struct phase *f) {
    put_row_number(w);
    line(w, "const k_idx m = k_clamp(row, nm - 1);");
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    w->subscript = "[f][h]";
    for (value_id v = 0; v < w->k->values.n; v++)
        if (is_epilogue_reduction(w->k, v)) w->where[v] = ARRAY;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (!of_row(w, v)) continue;
        if (!w->rows_ahead || !is_load_of_row(w, v)) {
            put_local(w, v);
            continue;
        }
        line(w, "const %s v%u = row%u[h];", math_type(w->k->values.at[v].dtype), v, v);
        w->where[v] = LOCAL;
    }
}

/* What the element at hand brings to the phase's reductions: of the row, or of the column. */
static void put_terms(struct emitter *w, const struct phase *f) {
    const char *of = w->k->over & MASK_N ? "[f][h]" : "[j][e]";
    const struct layout *y = w->y;
    bool spans = kernel_has_spans(w->k);
    bool beyond = kernel_size(w->k, AXIS_M) % ((int64_t)y->bx * y->cluster) ||
                  kernel_size(w->k, AXIS_N) % y->br || spans || y->product->a.lying;
    if (!f->reduce.n) return;
    if (spans)
        open_brace(w, "if ((unsigned)(column + j * %d + quad * %d + e - span) < %lldu)", OCTET,
                   PAIR, (long long)kernel_span(w->k, AXIS_N));
    else if (beyond)
        open_brace(w, "if (row < nm && column + j * %d + quad * %d + e < nn)", OCTET, PAIR);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *a = arena_printf(w->arena, "a%u%s", v, of);
        if (w->k->values.at[v].reduction == REDUCTION_M2)
            line(w, "%s = k_m2::few(%s, %s);", a, a, operand_text(w, v));
        else
            line(w, "%s = %s;", a, combine_text(w, v, a, operand_text(w, v)));
    }
    if (beyond) close_brace(w);
}

/* at: of the sums, which is the chunk's element j, e. */
static void put_values_of_chunk(struct emitter *w, const struct phase *f, const char *sums,
                                const char *at, int chunk) {
    const struct kernel *k = w->k;
    line(w, "const k_idx column = first_column + g * %d;", chunk * OCTET);
    for (uint32_t i = 0; i < f->stores.n; i++)
        line(w, "%s o%u[%d][%d];", math_type(buffer_dtype(w, k->stores.at[f->stores.at[i]].buffer)),
             f->stores.at[i], chunk, PAIR);
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", chunk);
    line(w, "const k_idx pair = k_clamp(column + j * %d + quad * %d, (nn - 1) & ~1);", OCTET, PAIR);
    put_pairs(w, f);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", PAIR);
    if (operand_has_order(&w->y->product->b)) {
        put_number(w, &w->y->product->b, "at",
                   arena_printf(w->arena, "column + j * %d + quad * %d + e", OCTET, PAIR), "nn");
        line(w, "const k_idx n = k_clamp(at, nn - 1);");
    } else {
        line(w, "const k_idx n = k_clamp(pair + e, nn - 1);");
    }
    put_element(w, f, sums, at);
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *s = &k->stores.at[f->stores.at[i]];
        line(w, "o%u[j][e] = (%s)%s;", f->stores.at[i], math_type(buffer_dtype(w, s->buffer)),
             ref(w, s->value));
    }
    put_terms(w, f);
    close_brace(w);
    close_brace(w);
}

/* The same, and its stores: of fewer than four octets none are turned. rest: put_store has it. */
static void put_chunk(struct emitter *w, const struct phase *f, const char *sums, const char *at,
                      int chunk, const char *rest) {
    const struct kernel *k = w->k;
    put_values_of_chunk(w, f, sums, at, chunk);
    for (uint32_t i = 0; i < f->stores.n; i++) {
        int width = store_width(w, &k->stores.at[f->stores.at[i]]);
        put_store(w, f->stores.at[i], width == OCTET && chunk < QUAD ? PAIR : width, chunk, rest);
    }
}

/* Sums that are not all finite are made again. Those of a thread are told by their number. */
static void put_patch(struct emitter *w, const struct tile_program *t, const char *sums) {
    int all = product_thread_sums(t->product), octets = t->product->warp_columns / OCTET;
    put_finite(w, all, sums);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int i = 0; !finite && i < %d; i++)", all);
    line(w, "const int f = i / %d, g = i / 4 %% %d, h = i / 2 %% 2;", 4 * octets, octets);
    put_row_number(w);
    line(w, "const k_idx m = k_clamp(row, nm - 1);");
    line(w, "const k_idx column = first_column + g * %d + quad * 2 + i %% 2;", OCTET);
    line(w, "const k_idx n = k_clamp(column, nn - 1);");
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    put_plain_sum(w);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++) %s[j] = i == j ? v%u : %s[j];", all, sums, w->k->dot,
         sums);
    close_brace(w);
}

/* Columns outermost, so that a thread has what it has of a few of them at a time. */
static void put_columns(struct emitter *w, const struct tile_program *t, const struct phase *f,
                        const char *sums) {
    int sixteens = t->product->warp_rows / 16, octets = t->product->warp_columns / OCTET,
        chunk = chunk_of(w, f);
    open_loop(w, "g", octets / chunk);
    declare_terms(w, f, arena_printf(w->arena, "[%d][%d]", chunk, PAIR));
    open_loop(w, "f", sixteens);
    begin_sixteen(w, f, chunk);
    open_loop(w, "h", 2);
    put_row(w, f);
    put_chunk(w, f, sums,
              arena_printf(w->arena, "(f * %d + g * %d + j) * 4 + h * 2 + e", octets, chunk), chunk,
              NULL);
    close_brace(w);
    close_brace(w);
    put_warp_columns(w, f, chunk);
    close_brace(w);
    w->by_sixteens = false;
}

/* The loop over chunks, each of both eights of 16 rows; close_chunks closes it. */
static void open_chunks(struct emitter *w, const struct phase *f, int chunks, int chunk) {
    w->by_sixteens = true;
    int ahead = chunks_ahead(w, f, chunks, chunk);
    if (ahead)
        open_ahead(w, f, chunks, chunk, ahead);
    else
        open_loop(w, "g", chunks);
}

static void close_chunks(struct emitter *w) {
    close_brace(w);
    if (w->ahead) close_brace(w);
    w->ahead = 0;
}

static void put_rows(struct emitter *w, const struct tile_program *t, const struct phase *f,
                     const char *sums) {
    int sixteens = t->product->warp_rows / 16, octets = t->product->warp_columns / OCTET,
        chunk = chunk_of(w, f);
    if (kernel_has_spans(w->k)) open_span(w, t);
    bool across = any_across(w, f); /* both halves of 16 rows are at hand */
    declare_terms(w, f, arena_printf(w->arena, "[%d][2]", sixteens));
    open_loop(w, "f", sixteens);
    if (across) {
        put_loads_of_rows(w, f);
        open_chunks(w, f, octets / chunk, chunk);
        begin_sixteen(w, f, chunk);
    }
    open_loop(w, "h", 2);
    put_row(w, f);
    int ahead = across ? 0 : chunks_ahead(w, f, octets / chunk, chunk);
    if (!across) declare_rests(w, f, "");
    if (ahead) {
        open_ahead(w, f, octets / chunk, chunk, ahead);
    } else if (!across) {
        open_loop(w, "g", octets / chunk);
    }
    put_chunk(w, f, sums,
              arena_printf(w->arena, "(f * %d + g * %d + j) * 4 + h * 2 + e", octets, chunk), chunk,
              across ? NULL : "");
    if (t->product->lines) put_lines(w, f);
    close_brace(w);
    if (ahead) close_brace(w);
    if (ahead) w->ahead = 0;
    if (across) {
        close_chunks(w);
        w->rows_ahead = false;
        open_loop(w, "h", 2);
        put_row_number(w);
    } else {
        put_rests(w, f, "");
    }
    put_warp_rows(w, f);
    close_brace(w);
    close_brace(w);
    put_warp_sums(w, t, f);
    if (kernel_has_spans(w->k)) close_span(w, t, f);
    w->by_sixteens = false;
}

/* Does nothing vary with the row alone but where it is, which is nearer to the next octet of rows
 * than to that of columns? */
static bool rows_are_places(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->compute.n; i++)
        if (of_row(w, f->compute.at[i]) && w->k->values.at[f->compute.at[i]].mask) return false;
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *s = &w->k->stores.at[f->stores.at[i]];
        int64_t row = store_step(w->k, s, AXIS_M, OCTET),
                column = store_step(w->k, s, AXIS_N, OCTET);
        if (row < 0 || column < 0 || row >= column) return false;
    }
    return true;
}

/* Is anything loaded of columns, and nothing of rows that had better come ahead? What a chunk of
 * columns has loaded would be kept for the other row, or loaded again: of two vectors beside 128
 * sums most of a thread's registers are spilled, and each chunk waits for what it has loaded. */
static bool loads_of_columns(struct emitter *w, const struct phase *f, int chunks, int chunk) {
    bool any = false;
    for (uint32_t i = 0; i < f->compute.n; i++) {
        const struct value_node *x = &w->k->values.at[f->compute.at[i]];
        any |= x->kind == INST_LOAD && (x->mask & (MASK_M | MASK_N)) == MASK_N;
    }
    return any && !any_across(w, f) && !chunks_ahead(w, f, chunks, chunk);
}

/* Columns first, of each both rows: where columns are, which takes digits of them, is not kept for
 * the other row. 128 sums and the places of 32 octets are more than a thread has registers for: of
 * pairs that come ahead of a row's stores, compilers move most back between these. A residual
 * behind 3 x 3 x 3 by two of 128 x 32 x 16^3 takes an H200 1441 us so in tf32, 872 by columns. */
static void put_by_columns(struct emitter *w, const struct tile_program *t, const struct phase *f,
                           const char *sums) {
    int octets = t->product->warp_columns / OCTET, chunk = chunk_of(w, f),
        sixteens = t->product->warp_rows / 16;
    bool tall = t->product->in_turn > 1; /* a column's loads are all its rows' */
    if (tall) declare_rests(w, f, arena_printf(w->arena, "[%d][2]", sixteens));
    if (tall) open_loop(w, "g", octets / chunk);
    open_loop(w, "f", sixteens);
    if (!tall) declare_rests(w, f, "[2]");
    if (!tall) open_chunks(w, f, octets / chunk, chunk);
    begin_sixteen(w, f, chunk);
    open_loop(w, "h", 2);
    put_row(w, f);
    put_chunk(w, f, sums,
              arena_printf(w->arena, "(f * %d + g * %d + j) * 4 + h * 2 + e", octets, chunk), chunk,
              tall ? "[f][h]" : "[h]");
    close_brace(w);
    close_chunks(w);
    for (int h = 0; h < 2 && !tall; h++) put_rests(w, f, h ? "[1]" : "[0]");
    close_brace(w);
    for (int i = 0; i < 2 * sixteens && tall; i++)
        put_rests(w, f, arena_printf(w->arena, "[%d][%d]", i / 2, i % 2));
    w->by_sixteens = false;
}

static void put_turned_row(struct emitter *w, const char *number) {
    const struct operand *o = &w->y->product->a;
    if (!o->lying) {
        line(w, "const k_idx row = %s, m = k_clamp(row, nm - 1);", number);
        return;
    }
    put_number(w, o, "row", number, "nm");
    line(w, "const k_idx m = k_clamp(row, nm - 1);");
}

/* What a warpgroup has of its 64 rows' columns goes through shared memory, some columns at a time,
 * of which each warp then stores rows that lie side by side: in threads, only eight of them do. A
 * thread has the same few rows each time. What the next columns have is loaded before all wait for
 * these, as four warps hide nothing of its latency. */
static void put_turned(struct emitter *w, const struct tile_program *t, const struct phase *f,
                       const char *sums) {
    const struct product *p = t->product;
    const struct store_node *s = &w->k->stores.at[f->stores.at[0]];
    int octets = p->warp_columns / OCTET, each = p->turned / OCTET, group = p->group_threads,
        warp = w->k->limits->warp, rows = 2 * p->beside,
        columns = 2 * p->turned * warp / group / rows;
    const char *between =
        p->beside > 1 ? arena_printf(w->arena, " * %d + tid %% %d", p->beside, p->beside) : "";
    const char *column =
        arena_printf(w->arena, "const int c = (j * %d + tid / %d)%s;", group / warp, warp, between);
    const char *of_group = arena_printf(w->arena, "const int of_group = i * %d + tid %% %d / %d;",
                                        warp / p->beside, warp, p->beside);
    const char *row =
        arena_printf(w->arena, "m0 + group * 64 + f * %d + of_group", product_sixteens_apart(p));
    line(w, "float *const turned = (float *)(%s) + group * %d;", exchange_text(w, t, t->exchange),
         p->turned * TURNED_PITCH);
    const struct placing place = placing_of(w, s);
    open_loop(w, "f", p->warp_rows / (2 * OCTET));
    line(w, "k_idx of_row[%d];", rows);
    if (p->a.lying) line(w, "bool is_row[%d];", rows); /* which takes long to find out */
    for (int i = 0; i < place.n_digits; i++) line(w, "int of_m%d[%d];", i, rows);
    open_loop(w, "i", rows);
    line(w, "%s", of_group);
    put_turned_row(w, row);
    put_row_place(w, &place);
    if (p->a.lying) line(w, "is_row[i] = row < nm;");
    close_brace(w);
    declare_columns(w, f, octets);
    if (w->columns_ahead) put_loads_of_columns(w, f, "0", each);
    open_loop(w, "g", octets);
    if (w->columns_ahead) {
        open_brace(w, "if (g %% %d == 0 && g + %d < %d)", each, each, octets);
        put_loads_of_columns(w, f, arena_printf(w->arena, "(g + %d)", each), each);
        close_brace(w);
    }
    open_loop(w, "h", 2);
    put_row(w, f);
    put_values_of_chunk(w, f, sums, arena_printf(w->arena, "(f * %d + g) * 4 + h * 2 + e", octets),
                        1);
    w->columns_ahead = false;
    line(w, "#pragma unroll");
    line(
        w,
        "for (int e = 0; e < %d; e++) turned[(g %% %d * %d + quad * %d + e) * %d + tid / %d * 16 + "
        "tid %% %d / 4 + h * 8] = o%u[0][e];",
        PAIR, each, OCTET, PAIR, TURNED_PITCH, w->k->limits->warp, w->k->limits->warp,
        f->stores.at[0]);
    close_brace(w);
    line(w, "if (g %% %d < %d) continue;", each, each - 1);
    line(w, "k_barrier_sync(%s, %d);", group_barrier(t), group);
    line(w, "float x[%d][%d];", columns, rows);
    open_loop(w, "j", columns);
    line(w, "%s", column);
    open_loop(w, "i", rows);
    line(w, "%s", of_group);
    line(w, "x[j][i] = turned[c * %d + of_group];", TURNED_PITCH);
    close_brace(w);
    close_brace(w);
    line(w, "k_barrier_sync(%s, %d);", group_barrier(t), group);
    open_loop(w, "j", columns);
    line(w, "%s", column);
    line(w, "const k_idx n = first_column + (g - %d) * %d + c;", each - 1, OCTET);
    put_column_place(w, &place);
    open_loop(w, "i", rows);
    const char *is_row = "is_row[i]", *inside = "";
    if (!p->a.lying) {
        line(w, "%s", of_group);
        put_turned_row(w, row);
        is_row = "(row < nm)", inside = put_inside(w, &place);
    }
    line(w, "if (%s & (n < nn)%s) k_store1%s(p%d + (of_row[i] + of_column), x[j][i]);", is_row,
         inside, how_to_store(w), argument_of(w, s->buffer));
    close_brace(w);
    close_brace(w);
    close_brace(w);
    close_brace(w);
}

/* A warp's lines; nothing is loaded that columns had better have first. */
static void put_gathered(struct emitter *w, const struct tile_program *t, const struct phase *f,
                         const char *sums) {
    const struct product *p = t->product;
    int warp = w->k->limits->warp;
    line(w, "const int line_warp = __shfl_sync(0xffffffffu, tid / %d, 0);", warp);
    line(w, "const k_shared lines = k_in_shared(%s) + (group * %d + line_warp) * %d;",
         exchange_text(w, t, t->exchange + p->lines_at), p->group_threads / warp, p->lines);
    put_rows(w, t, f, sums);
}

static void put_whole(struct emitter *w, const struct tile_program *t, const char *sums) {
    enum { MANY = 16 };
    const struct phase f = phase_of(w, 0);
    int octets = t->product->warp_columns / OCTET, chunk = chunk_of(w, &f);
    bool wide = product_may_break(t->product) && !t->product->turned;
    if (wide) {
        put_finite(w, product_thread_sums(t->product), sums);
        open_brace(w, "if (!finite)"); /* the sums live no more */
        line(w, "#pragma unroll 1");
        open_brace(w, "for (int i = 0; i < %d; i++)",
                   t->product->warp_rows / 16 * 2 * octets / chunk);
        put_place_of_chunk(w, octets / chunk);
        put_row_number(w);
        put_call_again(w, chunk);
        close_brace(w);
        close_brace(w);
        open_brace(w, "else");
    }
    if (t->product->turned)
        put_turned(w, t, &f, sums);
    else if (t->product->lines)
        put_gathered(w, t, &f, sums);
    else if (any_moved_on(w, &f))
        put_rows(w, t, &f, sums);
    else if (!kernel_has_spans(w->k) && t->product->warp_rows > 16 && t->product->in_turn > 1)
        put_by_columns(w, t, &f, sums);
    else if (octets >= MANY && !kernel_has_spans(w->k) &&
             (any_across(w, &f) || !alone_ahead_evenly(w, &f, octets / chunk, chunk)) &&
             (rows_are_places(w, &f) || loads_of_columns(w, &f, octets / chunk, chunk)))
        put_by_columns(w, t, &f, sums);
    else
        put_rows(w, t, &f, sums);
    if (wide) close_brace(w);
}

/* Do some tiles have rows that nobody wants? A thin product's has hardly others, and parts of it
 * would be mostly these. */
bool tile_rows_end(const struct tile_program *t) {
    return t->product->a.rows % t->ring[TILE_A].rows != 0;
}

/* Are all of the warp's eight rows number `eight` such? */
const char *rows_end_text(struct emitter *w, const struct tile_program *t, const char *eight) {
    return arena_printf(w->arena, "first_row - tid %% %d / 4 + %s * %d >= %lld", w->k->limits->warp,
                        eight, OCTET, (long long)t->product->a.rows);
}

/* Octets of a row that a part has at a time: as many as are stored together, or fewer, by pairs,
 * where that leaves the busiest part a quarter less to read: of 128 x 256 in 66 parts 16 would have
 * four octets each, and 50 nothing. */
static int share_chunk(struct emitter *w, const struct tile_program *t, const struct phase *f) {
    int octets = t->product->warp_columns / OCTET, parts = t->product->parts,
        eights = t->product->warp_rows / OCTET, best = chunk_of(w, f), least = 0;
    if (product_may_break(t->product)) return best; /* k_again has as many */
    for (int chunk = QUAD; chunk >= 1; chunk /= 2) {
        int busiest = (eights * octets / chunk + parts - 1) / parts * chunk;
        if (octets % chunk || (least && busiest * 4 > least * 3)) continue;
        least = busiest, best = chunk;
    }
    return best;
}

/* Parts that a thread reads before it adds any up. The registers that its sums were in have what is
 * under way: 32 pairs of 256 threads are the 64 KB that a multiprocessor waits for from L2. */
static int parts_at_once(const struct tile_program *t, int chunk) {
    enum { LEAST = 16, MOST = 32 };
    int pairs = product_thread_sums(t->product) / PAIR, parts = t->product->parts;
    int most = (pairs < LEAST ? LEAST : pairs > MOST ? MOST : pairs) / chunk;
    int rounds = (parts + most - 1) / most;
    return (parts + rounds - 1) / rounds;
}

static void put_sum_of_parts(struct emitter *w, const struct tile_program *t, int chunk) {
    int octets = t->product->warp_columns / OCTET, parts = t->product->parts,
        pairs = product_thread_sums(t->product) / PAIR, at_once = parts_at_once(t, chunk);
    int threads = t->product->warpgroups * t->product->group_threads;
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int first = 0; first < %d; first += %d)", parts, at_once);
    line(w, "%s x[%d][%d];", sum_type(t), at_once, chunk * PAIR);
    line(w, "#pragma unroll");
    open_brace(w, "for (int p = 0; p < %d; p++)", at_once);
    if (parts % at_once) line(w, "if (first + p >= %d) continue;", parts);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++)", chunk);
    line(w,
         "    k_load_parts<%d>(x[p] + j * %d, of_tile + ((long long)(first + p) * %d + (f * 2 + h) "
         "* %d + g * %d + j) * %d);",
         PAIR, PAIR, pairs, octets, chunk, threads * PAIR);
    close_brace(w);
    line(w, "#pragma unroll");
    open_brace(w, "for (int p = 0; p < %d; p++)", at_once);
    if (parts % at_once) line(w, "if (first + p >= %d) continue;", parts);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++) own[j] += x[p][j];", chunk * PAIR);
    close_brace(w);
    close_brace(w);
}

/* Of the tile's chunks those whose number is this part's, or so many more: sums of all parts, which
 * are added up in their order, the same bits in every run. */
static void put_share(struct emitter *w, const struct tile_program *t) {
    const struct phase f = phase_of(w, 0);
    int eights = t->product->warp_rows / OCTET, octets = t->product->warp_columns / OCTET,
        chunk = share_chunk(w, t, &f), parts = t->product->parts;
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int i = part; i < %d; i += %d)", eights * octets / chunk, parts);
    put_place_of_chunk(w, octets / chunk);
    if (tile_rows_end(t)) line(w, "if (%s) continue;", rows_end_text(w, t, "(f * 2 + h)"));
    line(w, "%s own[%d];", sum_type(t), chunk * PAIR);
    line(w, "k_zero(own);");
    put_sum_of_parts(w, t, chunk);
    put_row(w, &f);
    if (product_may_break(t->product)) {
        put_finite(w, chunk * PAIR, "own");
        open_brace(w, "if (!finite)");
        put_call_again(w, chunk);
        line(w, "continue;");
        close_brace(w);
    }
    put_chunk(w, &f, "own", "j * 2 + e", chunk, NULL);
    close_brace(w);
}

void put_keep(struct emitter *w, const struct tile_program *t, const char *sums) {
    const struct phase *f = &w->p->keep;
    int octets = t->product->warp_columns / OCTET;
    const char *at = arena_printf(w->arena, "(f * %d + g) * 4 + h * 2 + e", octets);
    open_loop(w, "f", t->product->warp_rows / 16);
    open_loop(w, "h", 2);
    put_row(w, f);
    open_loop(w, "g", octets);
    line(w, "const k_idx column = first_column + g * %d + quad * %d;", OCTET, PAIR);
    line(w, "const k_idx pair = k_clamp(column, (nn - 1) & ~1);");
    put_pairs(w, f);
    open_loop(w, "e", PAIR);
    line(w, "const k_idx n = k_clamp(pair + e, nn - 1);");
    put_element(w, f, sums, at);
    line(w, "%s[%s] = %s;", sums, at, ref(w, w->p->kept));
    for (int i = 0; i < 4; i++) close_brace(w);
}

void put_epilogue_of(struct emitter *w, const struct tile_program *t, const char *sums, int phase) {
    const struct phase f = phase_of(w, phase);
    if (!phase) {
        line(w, "const k_idx nm = %s, nn = %s;", ex_text(w, w->k->bound[AXIS_M]),
             ex_text(w, w->k->bound[AXIS_N]));
        line(w, "const int quad = tid %% 4;");
        declare_exchange(w, t);
        bool patches = w->k->over || t->product->turned; /* all warps meet behind it */
        if (patches && product_may_break(t->product)) put_patch(w, t, sums);
    }
    bool whole = t->product->parts == 1 || t->product->whole;
    if (t->product->whole) open_brace(w, "if (cut)");
    if (t->product->parts > 1) put_share(w, t);
    if (t->product->whole) close_brace(w), open_brace(w, "else");
    if (!whole)
        ;
    else if (!w->k->over)
        put_whole(w, t, sums);
    else if (w->k->over & MASK_N)
        put_rows(w, t, &f, sums);
    else
        put_columns(w, t, &f, sums);
    if (t->product->whole) close_brace(w);
}
