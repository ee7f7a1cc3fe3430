/* peel.c: rows whose length the vector does not divide. Such rows begin anywhere in a vector, so
 * each is a head, whole vectors and a tail:
 *
 *     bf16[8192, 50257], vec=8, row 3 starts at element 150771 = 8*18846 + 3:
 *         head 5 elements, 6281 vectors, tail 4 elements
 *
 * A head may be longer, so that vectors fill whole lines of memory.
 *
 * Where a row starts (its start modulo the vector) is the same for all tensors whose rows lie
 * equally far apart: these go by vectors. What begins elsewhere, such as the weights of a layer
 * norm, is read and written one element at a time; or, with shift=1, read by whole vectors all the
 * same, two for each, out of which the elements are put together. For the second to lie in the
 * tensor, a row's whole vectors end a vector before the row does.
 *
 * Columns that are reduced have no heads: their vectors begin anywhere in each row, and are put
 * together likewise. The last vector of a row ends where the row does, and has some columns of the
 * one before, which that thread stores. */
#include "kernel/kernel.h"

/* index = r + *rest, or x + *rest? */
static bool runs_along(const struct kernel *k, ex index, enum axis along, ex *rest) {
    ex c;
    int64_t v;
    return k->axis[along] && ex_linear(k->ex, index, k->axis[along], &c, rest) &&
           ex_is_const(k->ex, c, &v) && v == 1;
}

/* Does index at the head's end lie on a whole vector, for every row? */
static bool is_in_phase(const struct kernel *k, ex index, ex start, int vec) {
    ex rest;
    return runs_along(k, index, AXIS_R, &rest) &&
           ex_divides(k->ex, vec, ex_sub(k->ex, rest, start));
}

/* Neither guard nor subscripts of the load change along the row. */
static bool is_plain(const struct kernel *k, const struct value_node *load) {
    for (int a = 0; a < load->n_args; a++)
        if (k->values.at[load->args[a]].mask & MASK_R) return false;
    return true;
}

static bool has_subscript(const struct kernel *k, ex e) {
    for (uint32_t i = 0; i < k->subscripts.n; i++)
        if (ex_uses(k->ex, e, k->subscripts.at[i].symbol)) return true;
    return false;
}

/* The i-th load or store, if it varies with r and may be a vector. */
static bool access_at(const struct kernel *k, uint32_t i, ex *index, double *bytes) {
    bool store = i >= k->values.n;
    const struct value_node *v = store ? NULL : &k->values.at[i];
    const struct store_node *s = store ? &k->stores.at[i - k->values.n] : NULL;
    if (v && (v->kind != INST_LOAD || !is_plain(k, v))) return false;
    uint8_t mask = v ? v->mask : s->mask;
    if (!(mask & MASK_R)) return false;
    const struct buffer *b = &k->schedule->loops->buffers.at[v ? v->buffer : s->buffer];
    *index = v ? v->index : s->index;
    *bytes = dtype_bytes(b->meta.dtype) * (double)kernel_size(k, AXIS_R);
    if (mask & MASK_X) *bytes *= (double)kernel_size(k, AXIS_X);
    return true;
}

ex kernel_row_start(const struct kernel *k, int vec) {
    ex best = EX_NONE, index, other, start;
    double most = 0, bytes;
    for (uint32_t i = 0; i < k->values.n + k->stores.n; i++) {
        if (!access_at(k, i, &index, &bytes) || !runs_along(k, index, AXIS_R, &start)) continue;
        if (has_subscript(k, start)) continue;
        double total = 0;
        for (uint32_t j = 0; j < k->values.n + k->stores.n; j++)
            if (access_at(k, j, &other, &bytes) && is_in_phase(k, other, start, vec))
                total += bytes;
        if (total > most) best = start, most = total;
    }
    return best;
}

/* Heads end where a vector begins, and, if rows are many lines, where a line of the stored tensors
 * does, so that no two warps write to one. It gains little: softmax over bf16[8192, 50257] took
 * 497 +- 4 us before and 493 after on an H200, which is no more than the noise. */
int kernel_head_unit(const struct kernel *k, ex start, int vec) {
    enum { LINE = 128, MANY = 16 };
    int bytes = 0;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        if (!(s->mask & MASK_R) || !is_in_phase(k, s->index, start, vec)) continue;
        int b = dtype_bytes(k->schedule->loops->buffers.at[s->buffer].meta.dtype);
        if (!bytes || b < bytes) bytes = b;
    }
    int unit = vec;
    while (bytes && unit * bytes < LINE && (int64_t)unit * 2 * MANY <= kernel_size(k, AXIS_R))
        unit *= 2;
    return unit;
}

/* bf16[4099, 4097], vec=8: rows 8 apart begin equally far from a vector, so a thread that has four
 * of them reads its elements of a bias, which go one by one, once for all four. */
int kernel_common_unit(const struct kernel *k, const struct layout *y) {
    ex x = k->axis[AXIS_X], next = ex_add(k->ex, x, ex_const(k->ex, y->t0));
    bool shares = false;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *l = &k->values.at[v];
        shares |= l->kind == INST_LOAD && l->mask == MASK_R && !layout_load_is_vector(k, y, l);
    }
    if (y->ex == 1 || !shares) return 0;
    ex apart = ex_sub(k->ex, ex_subst(k->ex, y->start, &x, &next, 1), y->start);
    for (int unit = y->head_unit; unit >= y->vec; unit /= 2)
        if (ex_divides(k->ex, unit, apart)) return unit;
    return 0;
}

int64_t layout_whole_columns(const struct kernel *k, bool peel, int vec) {
    int64_t nr = kernel_size(k, AXIS_R);
    bool known = ex_is_const(k->ex, k->bound[AXIS_R], NULL);
    return peel && known ? nr / vec * vec : nr;
}

int64_t layout_column_tiles(const struct kernel *k, const struct layout *y) {
    return (layout_whole_columns(k, y->peel, y->vec) + y->br - 1) / y->br;
}

int layout_ends(const struct layout *y) {
    return y->peel ? (y->head_unit + y->vec - 2 + y->slack + y->t1 - 1) / y->t1 : 0;
}

bool layout_load_is_vector(const struct kernel *k, const struct layout *y,
                           const struct value_node *load) {
    if (y->peel) return is_plain(k, load) && is_in_phase(k, load->index, y->start, y->vec);
    if (layout_scan_is_cut(k, y)) return load_has_vectors(k, load, AXIS_R, y->vec);
    return load_is_vector(k, load, y->rows_inner ? AXIS_X : AXIS_R, y->vec);
}

bool layout_load_reverses(const struct kernel *k, const struct layout *y,
                          const struct value_node *load) {
    return !y->peel && !y->rows_inner && load_is_reversed(k, load, AXIS_R, y->vec);
}

/* Does a vector hold elements that are stored beside others that are not? */
static bool keeps_elements(const struct kernel *k, const struct layout *y,
                           const struct store_node *s) {
    bool any = false, holds;
    value_id c;
    for (int i = 0; (c = store_condition(k, s, i, &holds)) != NO_VALUE; i++)
        any |= y->rows_inner || k->values.at[c].mask & MASK_R;
    return any;
}

bool layout_store_reverses(const struct kernel *k, const struct layout *y,
                           const struct store_node *s) {
    return !y->peel && !y->rows_inner && !keeps_elements(k, y, s) &&
           index_is_reversed(k, s->index, AXIS_R, y->vec);
}

bool layout_load_is_uniform(const struct kernel *k, const struct layout *y,
                            const struct value_node *load) {
    return !y->peel && y->vec > 1 &&
           load_is_uniform(k, load, y->rows_inner ? AXIS_X : AXIS_R, y->vec);
}

bool layout_load_shifts(const struct kernel *k, const struct layout *y,
                        const struct value_node *load) {
    enum { WORD = 4 };
    enum axis along = y->rows_inner ? AXIS_X : AXIS_R;
    ex rest;
    if (!y->shift || load->kind != INST_LOAD || load->n_args ||
        !runs_along(k, load->index, along, &rest) || dtype_bytes(load->dtype) * y->vec < WORD)
        return false;
    if (!y->rows_inner) return y->peel && !is_in_phase(k, load->index, y->start, y->vec);
    return load->mask & MASK_R && !layout_load_is_vector(k, y, load) &&
           ex_divides(k->ex, y->vec, kernel_extent(k, load->buffer));
}

bool layout_store_is_vector(const struct kernel *k, const struct layout *y,
                            const struct store_node *s) {
    if (layout_interleaved(k, y, (uint32_t)(s - k->stores.at)).n > 1) return true;
    if (y->vec == 1 || keeps_elements(k, y, s)) return false;
    if (y->peel) return is_in_phase(k, s->index, y->start, y->vec);
    if (y->cut) return index_has_vectors(k, s->index, AXIS_R, y->vec);
    return index_is_vector(k, s->index, y->rows_inner ? AXIS_X : AXIS_R, y->vec);
}

/* By whole warps, of rows that are longer than a warp's: both ends of what a warp has go by
 * elements. A max pool to bf16[23712, 2047] takes an H200 92 us by vectors of 8, 99 by 4, and 109
 * by elements; rows of 51 would be ends for the most part. */
bool layout_store_shifts(const struct kernel *k, const struct layout *y,
                         const struct store_node *s) {
    enum { WORD = 4, VECTOR = 16 };
    int bytes = y->vec * dtype_bytes(k->schedule->loops->buffers.at[s->buffer].meta.dtype),
        warp = k->limits->warp;
    ex rest;
    return k->kind == KERNEL_POINTWISE && k->limits->kind != DEVICE_CPU && !y->rows_inner &&
           !s->keeps[0] && !y->peel && y->t1 >= warp && kernel_size(k, AXIS_R) > warp * y->vec &&
           y->vec > 1 && bytes >= WORD && bytes <= VECTOR && !layout_store_is_vector(k, y, s) &&
           runs_along(k, s->index, AXIS_R, &rest) && !has_subscript(k, rest);
}
