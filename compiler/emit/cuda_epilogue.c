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

/* All that a thread has of a tile, by plain arithmetic: an infinity is no sum of planes. A warp
 * whose sums are not all finite does this instead. No more than 64 terms are added in a row. */
void put_again(struct emitter *w, const struct tile_program *t) {
    const struct kernel *k = w->k;
    if (t->product->n_passes == 1) return;
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    buf_puts(&w->b, "K_FAR void k_again(");
    put_parameters(w);
    buf_puts(&w->b, ", k_idx z, k_idx row, k_idx column) {\n");
    w->indent++;
    line(w, "#pragma unroll 1");
    int each = t->product->warp_columns / 2; /* sums of sixteen rows */
    open_brace(w, "for (int i = 0; i < %d; i++)", product_thread_sums(t->product));
    line(w, "const k_idx m = row + i / %d * 16 + i / 2 %% 2 * 8;", each);
    line(w, "const k_idx n = column + i %% %d / 4 * 8 + i %% 2;", each);
    line(w, "if (m >= %s || n >= %s) continue;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]));
    line(w, "float v%u = 0, of_4096 = 0, of_64 = 0;", k->dot);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (k_idx r = 0; r < %s; r++)", ex_text(w, k->bound[AXIS_R]));
    line(w, "if (r %% 64 == 0) of_4096 += of_64, of_64 = 0;");
    line(w, "if (r %% 4096 == 0) v%u += of_4096, of_4096 = 0;", k->dot);
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    mark_needed(w, k->dot_a, needed);
    mark_needed(w, k->dot_b, needed);
    for (value_id v = 0; v < k->dot; v++)
        if (needed[v]) put_local(w, v);
    line(w, "%s", multiply_add_text(w, DT_F32, "of_64", ref(w, k->dot_a), ref(w, k->dot_b)));
    close_brace(w);
    line(w, "v%u += of_4096 + of_64;", k->dot);
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    w->where[k->dot] = LOCAL;
    for (uint32_t i = 0; i < w->p->before.n; i++) put_local(w, w->p->before.at[i]);
    for (uint32_t s = 0; s < k->stores.n; s++) put_store1(w, &k->stores.at[s], "");
    close_brace(w);
    close_brace(w);
}

/* Opens what is done if all of the warp's sums are finite. */
static void put_if_finite(struct emitter *w, const struct tile_program *t, const char *sums) {
    struct buf b = buf_new(w->arena);
    for (uint32_t i = 0; i < w->k->buffers.n; i++) buf_printf(&b, "p%u, ", i);
    for (uint32_t i = 0; i < w->k->sizes.n; i++)
        buf_printf(&b, "%s, ", ex_text(w, w->k->sizes.at[i]));
    line(w, "bool finite = true;");
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++) finite &= k_isfinite(%s[i]);",
         product_thread_sums(t->product), sums);
    open_brace(w, "if (!__all_sync(0xffffffffu, finite))");
    line(w, "k_again(%sz, first_row, first_column + quad * 2);", b.p);
    close_brace(w);
    open_brace(w, "else");
}

void put_epilogue_of(struct emitter *w, const struct tile_program *t, const char *sums) {
    const struct kernel *k = w->k;
    int octets = t->product->warp_columns / OCTET, chunk = 1,
        *width = NEW_ARRAY(w->arena, int, k->stores.n);
    for (uint32_t s = 0; s < k->stores.n; s++) {
        width[s] = store_width(w, &k->stores.at[s]);
        if (width[s] == OCTET) chunk = QUAD;
    }
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    line(w, "const k_idx nm = %s, nn = %s;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]));
    line(w, "const int quad = tid %% 4;");
    bool wide = w->y->product->n_passes > 1;
    if (wide) put_if_finite(w, t, sums);
    line(w, "#pragma unroll");
    open_brace(w, "for (int f = 0; f < %d; f++)", t->product->warp_rows / 16);
    line(w, "#pragma unroll");
    open_brace(w, "for (int h = 0; h < 2; h++)");
    line(w, "const k_idx row = first_row + f * 16 + h * 8;");
    line(w, "const k_idx m = k_clamp(row, nm - 1);");
    for (uint32_t i = 0; i < w->p->before.n; i++)
        if (of_row(w, w->p->before.at[i])) put_local(w, w->p->before.at[i]);
    line(w, "#pragma unroll");
    open_brace(w, "for (int g = 0; g < %d; g++)", octets / chunk);
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
    put_element(w, sums,
                arena_printf(w->arena, "(f * %d + g * %d + j) * 4 + h * 2 + e", octets, chunk));
    for (uint32_t s = 0; s < k->stores.n; s++)
        line(w, "o%u[j][e] = (%s)%s;", s, math_type(buffer_dtype(w, k->stores.at[s].buffer)),
             ref(w, k->stores.at[s].value));
    close_brace(w);
    close_brace(w);
    for (uint32_t s = 0; s < k->stores.n; s++) put_store(w, s, width[s], chunk);
    close_brace(w);
    close_brace(w);
    close_brace(w);
    if (wide) close_brace(w);
}
