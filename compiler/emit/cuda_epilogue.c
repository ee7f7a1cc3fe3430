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
 * 16 bits are exchanged among the four threads of a row first, so that each stores 16 bytes. */
#include "emit/cuda_mma.h"

enum { PAIR = 2, OCTET = 8, QUAD = 4 };

/* Elements that a store puts at once: eight of 16 bits, two, or one. */
static int store_width(struct emitter *w, const struct store_node *s) {
    bool narrow = dtype_bytes(buffer_dtype(w, s->buffer)) == 2;
    if (narrow && w->y->product->warp_columns % (OCTET * QUAD) == 0 &&
        index_is_vector(w->k, s->index, AXIS_N, OCTET))
        return OCTET;
    return index_is_vector(w->k, s->index, AXIS_N, PAIR) ? PAIR : 1;
}

/* Octets of a row that are stored together. */
static int chunk_of(struct emitter *w) {
    for (uint32_t s = 0; s < w->k->stores.n; s++)
        if (store_width(w, &w->k->stores.at[s]) == OCTET) return QUAD;
    return 1;
}

/* Of the epilogue: loads of two neighbours, and what does not vary with n. */
static bool by_pairs(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    return x->kind == INST_LOAD && x->mask & MASK_N && !x->guarded && !x->n_args &&
           load_is_vector(w->k, x, AXIS_N, PAIR);
}

static bool stands_on_dot(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (v == k->dot) return true;
    for (int i = 0; i < x->n_args; i++)
        if (stands_on_dot(k, x->args[i])) return true;
    return false;
}

static bool of_row(struct emitter *w, value_id v) {
    return !(w->k->values.at[v].mask & MASK_N) && !stands_on_dot(w->k, v);
}

static void put_pairs(struct emitter *w) {
    ex n = w->k->axis[AXIS_N], pair = ex_index(w->k->ex, "pair", w->k->bound[AXIS_N]);
    for (uint32_t i = 0; i < w->p->before.n; i++) {
        value_id v = w->p->before.at[i];
        const struct value_node *x = &w->k->values.at[v];
        if (!by_pairs(w, v)) continue;
        const char *t = memory_type(w, buffer_dtype(w, x->buffer));
        line(w, "const k_pack<%s, %d> l%u = k_load<%s, %d>(p%d + (%s));", t, PAIR, v, t, PAIR,
             argument_of(w, x->buffer), ex_text(w, ex_subst(w->k->ex, x->index, &n, &pair, 1)));
    }
}

static void put_element(struct emitter *w, const char *sums, const char *at) {
    value_id dot = w->k->dot;
    line(w, "const float v%u = %s[%s];", dot, sums, at);
    w->where[dot] = LOCAL;
    for (uint32_t i = 0; i < w->p->before.n; i++) {
        value_id v = w->p->before.at[i];
        if (of_row(w, v)) continue;
        if (!by_pairs(w, v)) {
            put_local(w, v);
            continue;
        }
        line(w, "const %s v%u = k_get(l%u, e);", math_type(w->k->values.at[v].dtype), v, v);
        w->where[v] = LOCAL;
    }
}

/* Four pairs of a row's columns, eight apart, become eight neighbours, one octet for each thread of
 * four: what one has at j goes to thread j. */
static void put_octet(struct emitter *w, uint32_t s, const char *type, const char *p,
                      const char *index) {
    open_scope(w);
    line(w, "k_pack<%s, %d> x;", type, OCTET);
    line(w, "k_put(x, &o%u[0][0]);", s);
    line(w, "k_transpose_quad(x.w);");
    line(w, "const k_idx n = column + quad * %d;", OCTET);
    line(w, "if (row < nm && n < nn) k_store<%s, %d, %d>(%s + (%s), x);", type, OCTET,
         w->y->streaming, p, index);
    close_brace(w);
}

static void put_store(struct emitter *w, uint32_t i, int width, int chunk) {
    const struct store_node *s = &w->k->stores.at[i];
    const char *type = memory_type(w, buffer_dtype(w, s->buffer)), *index = ex_text(w, s->index);
    const char *p = arena_printf(w->arena, "p%d", argument_of(w, s->buffer));
    if (width == OCTET) {
        put_octet(w, i, type, p, index);
        return;
    }
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", chunk);
    if (width == PAIR) {
        line(w, "const k_idx n = column + j * %d + quad * %d;", OCTET, PAIR);
        line(w, "k_pack<%s, %d> x;", type, PAIR);
        line(w, "k_put(x, o%u[j]);", i);
        line(w, "if (row < nm && n < nn) k_store<%s, %d, %d>(%s + (%s), x);", type, PAIR,
             w->y->streaming, p, index);
    } else {
        line(w, "#pragma unroll");
        open_brace(w, "for (int e = 0; e < %d; e++)", PAIR);
        line(w, "const k_idx n = column + j * %d + quad * %d + e;", OCTET, PAIR);
        line(w, "if (row < nm && n < nn) k_store1(%s + (%s), o%u[j][e]);", p, index, i);
        close_brace(w);
    }
    close_brace(w);
}

/* A chunk of a thread's columns in one row by plain arithmetic: an infinity is no sum of planes. A
 * warp whose sums are not all finite does this instead. At most 16 terms are added in a row. */
void put_again(struct emitter *w, const struct tile_program *t) {
    const struct kernel *k = w->k;
    if (t->product->n_passes == 1) return;
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    buf_puts(&w->b, "K_FAR void k_again(");
    put_parameters(w);
    buf_puts(&w->b, ", k_idx z, k_idx m, k_idx column) {\n");
    w->indent++;
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int i = 0; i < %d; i++)", chunk_of(w) * PAIR);
    line(w, "const k_idx n = column + i / 2 * 8 + i %% 2;");
    line(w, "if (m >= %s || n >= %s) continue;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]));
    line(w, "float v%u = 0, of_4096 = 0, of_256 = 0, of_16 = 0;", k->dot);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (k_idx r = 0; r < %s; r++)", ex_text(w, k->bound[AXIS_R]));
    line(w, "if (r %% 16 == 0) of_256 += of_16, of_16 = 0;");
    line(w, "if (r %% 256 == 0) of_4096 += of_256, of_256 = 0;");
    line(w, "if (r %% 4096 == 0) v%u += of_4096, of_4096 = 0;", k->dot);
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    mark_needed(w, k->dot_a, needed);
    mark_needed(w, k->dot_b, needed);
    for (value_id v = 0; v < k->dot; v++)
        if (needed[v]) put_local(w, v);
    line(w, "%s", multiply_add_text(w, DT_F32, "of_16", ref(w, k->dot_a), ref(w, k->dot_b)));
    close_brace(w);
    line(w, "v%u += of_4096 + (of_256 + of_16);", k->dot);
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    w->where[k->dot] = LOCAL;
    for (uint32_t i = 0; i < w->p->before.n; i++) put_local(w, w->p->before.at[i]);
    for (uint32_t s = 0; s < k->stores.n; s++) put_store1(w, &k->stores.at[s], "");
    close_brace(w);
    close_brace(w);
}

/* Whether all of the warp's n sums are finite. */
static void put_finite(struct emitter *w, int n, const char *sums) {
    line(w, "bool finite = true;");
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++) finite &= k_isfinite(%s[i]);", n, sums);
    line(w, "finite = __all_sync(0xffffffffu, finite);");
}

static void put_call_again(struct emitter *w) {
    struct buf b = buf_new(w->arena);
    for (uint32_t i = 0; i < w->k->buffers.n; i++) buf_printf(&b, "p%u, ", i);
    for (uint32_t i = 0; i < w->k->sizes.n; i++)
        buf_printf(&b, "%s, ", ex_text(w, w->k->sizes.at[i]));
    line(w, "k_again(%sz, row, first_column + g * %d + quad * 2);", b.p, chunk_of(w) * OCTET);
}

/* Chunk i of a thread's, of which a row has so many. */
static void put_place_of_chunk(struct emitter *w, int of_row) {
    line(w, "const int f = i / %d, h = i / %d %% 2, g = i %% %d;", 2 * of_row, of_row, of_row);
}

static void put_row_number(struct emitter *w) {
    line(w, "const k_idx row = first_row + f * 16 + h * 8;");
}

static void put_row(struct emitter *w) {
    put_row_number(w);
    line(w, "const k_idx m = k_clamp(row, nm - 1);");
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    for (uint32_t i = 0; i < w->p->before.n; i++)
        if (of_row(w, w->p->before.at[i])) put_local(w, w->p->before.at[i]);
}

/* at: of the sums, which is the chunk's element j, e. */
static void put_chunk(struct emitter *w, const char *sums, const char *at) {
    const struct kernel *k = w->k;
    int chunk = chunk_of(w);
    line(w, "const k_idx column = first_column + g * %d;", chunk * OCTET);
    for (uint32_t s = 0; s < k->stores.n; s++)
        line(w, "%s o%u[%d][%d];", math_type(buffer_dtype(w, k->stores.at[s].buffer)), s, chunk,
             PAIR);
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", chunk);
    line(w, "const k_idx pair = k_clamp(column + j * %d + quad * %d, (nn - 1) & ~1);", OCTET, PAIR);
    put_pairs(w);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", PAIR);
    line(w, "const k_idx n = k_clamp(pair + e, nn - 1);");
    put_element(w, sums, at);
    for (uint32_t s = 0; s < k->stores.n; s++)
        line(w, "o%u[j][e] = (%s)%s;", s, math_type(buffer_dtype(w, k->stores.at[s].buffer)),
             ref(w, k->stores.at[s].value));
    close_brace(w);
    close_brace(w);
    for (uint32_t s = 0; s < k->stores.n; s++)
        put_store(w, s, store_width(w, &k->stores.at[s]), chunk);
}

static void open_loop(struct emitter *w, const char *i, int n) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int %s = 0; %s < %d; %s++)", i, i, n, i);
}

static void put_whole(struct emitter *w, const struct tile_program *t, const char *sums) {
    int sixteens = t->product->warp_rows / 16, octets = t->product->warp_columns / OCTET,
        chunk = chunk_of(w);
    bool wide = t->product->n_passes > 1;
    if (wide) {
        put_finite(w, product_thread_sums(t->product), sums);
        line(w, "#pragma unroll 1");
        open_brace(w, "for (int i = 0; !finite && i < %d; i++)", sixteens * 2 * octets / chunk);
        put_place_of_chunk(w, octets / chunk);
        put_row_number(w);
        put_call_again(w);
        close_brace(w);
        open_brace(w, "if (finite)");
    }
    open_loop(w, "f", sixteens);
    open_loop(w, "h", 2);
    put_row(w);
    open_loop(w, "g", octets / chunk);
    put_chunk(w, sums,
              arena_printf(w->arena, "(f * %d + g * %d + j) * 4 + h * 2 + e", octets, chunk));
    close_brace(w);
    close_brace(w);
    close_brace(w);
    if (wide) close_brace(w);
}

/* Of the tile's chunks those whose number is this part's, or so many more: sums of all parts, which
 * are added up in their order, the same bits in every run. */
static void put_share(struct emitter *w, const struct tile_program *t) {
    int sixteens = t->product->warp_rows / 16, octets = t->product->warp_columns / OCTET,
        chunk = chunk_of(w), parts = t->product->parts, all = product_thread_sums(t->product);
    int threads = t->product->warpgroups * t->product->group_threads;
    bool wide = t->product->n_passes > 1;
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int i = part; i < %d; i += %d)", sixteens * 2 * octets / chunk, parts);
    put_place_of_chunk(w, octets / chunk);
    line(w, "float own[%d];", chunk * PAIR);
    line(w, "k_zero(own);");
    line(w, "#pragma unroll 4");
    open_brace(w, "for (int p = 0; p < %d; p++)", parts);
    open_loop(w, "j", chunk);
    line(w, "float x[%d];", PAIR);
    line(w,
         "k_load_parts<%d>(x, of_tile + ((long long)p * %d + (f * 2 + h) * %d + g * %d + j) * %d);",
         PAIR, all / 2, octets, chunk, threads * PAIR);
    line(w, "own[j * 2] += x[0], own[j * 2 + 1] += x[1];");
    close_brace(w);
    close_brace(w);
    put_row(w);
    if (wide) {
        put_finite(w, chunk * PAIR, "own");
        open_brace(w, "if (!finite)");
        put_call_again(w);
        line(w, "continue;");
        close_brace(w);
    }
    put_chunk(w, "own", "j * 2 + e");
    close_brace(w);
}

void put_epilogue_of(struct emitter *w, const struct tile_program *t, const char *sums) {
    line(w, "const k_idx nm = %s, nn = %s;", ex_text(w, w->k->bound[AXIS_M]),
         ex_text(w, w->k->bound[AXIS_N]));
    line(w, "const int quad = tid %% 4;");
    if (t->product->parts > 1)
        put_share(w, t);
    else
        put_whole(w, t, sums);
}
