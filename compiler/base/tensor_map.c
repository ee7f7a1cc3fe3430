/* tensor_map.c: what the hardware asks of a tensor map; the numbers are those of
 * cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col. */
#include "base/tensor_map.h"

#include "base/buf.h"

enum {
    PIECE = 16,          /* bytes: what addresses, strides and rows of a box are multiples of */
    MOST_BOX = 256,      /* elements of a box along one dimension */
    MOST_WINDOWS = 1024, /* of a box */
    MOST_STEP = 8,
};
static const int64_t MOST_SIZE = (int64_t)1 << 32;  /* elements along one dimension */
static const int64_t STRIDE_END = (int64_t)1 << 40; /* bytes */

static const char *dimension_illegal(const struct tensor_map *m, int i, struct arena *a) {
    long long size = m->size[i], stride = m->stride[i];
    if (size < 1 || size > MOST_SIZE)
        return arena_printf(a, "the size of dimension %d is %lld, not 1 to 2^32", i, size);
    int most = m->windows && i == 1 ? MOST_WINDOWS : MOST_BOX;
    bool boxed = !m->windows || i < 2; /* windows go along the other ones by themselves */
    if (boxed && (m->box[i] < 1 || m->box[i] > most))
        return arena_printf(a, "the box is %d along dimension %d, not 1 to %d", m->box[i], i, most);
    if (i == 0 && stride != dtype_bytes(m->dtype))
        return arena_printf(a, "the stride of dimension 0 is %lld bytes, not the element's %d",
                            stride, dtype_bytes(m->dtype));
    if (i > 0 && (stride < 0 || stride >= STRIDE_END || stride % PIECE))
        return arena_printf(
            a, "the stride of dimension %d is %lld bytes, not a multiple of %d below 2^40", i,
            stride, PIECE);
    return NULL;
}

/* Bits of an offset along one of n dimensions; corners are signed. */
static int offset_bits(int n) { return n == 1 ? 16 : n == 2 ? 8 : 5; }

int tensor_map_offset_end(const struct tensor_map *m) { return 1 << offset_bits(m->rank - 2); }

/* The driver is told of corners: where the first window is, and where the last one is from the
 * tensor's last element. */
static const char *windows_illegal(const struct tensor_map *m, struct arena *a) {
    if (m->rank < 3) return arena_printf(a, "windows of %d dimensions", m->rank - 2);
    int64_t end = (int64_t)1 << (offset_bits(m->rank - 2) - 1);
    for (int d = 0; d < m->rank - 2; d++) {
        const struct tensor_windows *w = &m->window[d];
        int64_t upper = w->last - (m->size[d + 1] - 1);
        if (w->step < 1 || w->step > MOST_STEP)
            return arena_printf(a, "windows are %d apart, not 1 to %d", w->step, MOST_STEP);
        if (w->last < w->first) return arena_printf(a, "there is no window along dimension %d", d);
        if (w->first < -end || w->first >= end || upper < -end || upper >= end)
            return arena_printf(a, "corners of %lld and %lld; they have %d bits",
                                (long long)w->first, (long long)upper, offset_bits(m->rank - 2));
    }
    return NULL;
}

const char *tensor_map_illegal(const struct tensor_map *m, struct arena *a) {
    const char *why = NULL;
    if (m->rank < 1 || m->rank > TENSOR_MAP_RANK)
        return arena_printf(a, "the rank is %d, not 1 to %d", m->rank, TENSOR_MAP_RANK);
    if (m->tf32 && m->dtype != DT_F32)
        return arena_printf(a, "elements of %s do not round to tf32", dtype_name(m->dtype));
    for (int i = 0; i < m->rank && !why; i++) why = dimension_illegal(m, i, a);
    if (!why && m->windows) why = windows_illegal(m, a);
    if (why) return why;
    int row = m->box[0] * dtype_bytes(m->dtype);
    if (row % PIECE)
        return arena_printf(a, "a row of the box has %d bytes, not a multiple of %d", row, PIECE);
    if (m->swizzle != 0 && m->swizzle != 32 && m->swizzle != 64 && m->swizzle != 128)
        return arena_printf(a, "the swizzle is %d bytes, not 0, 32, 64 or 128", m->swizzle);
    if (m->swizzle && row > m->swizzle)
        return arena_printf(a, "a row of the box has %d bytes, more than the swizzle's %d", row,
                            m->swizzle);
    if (m->address % PIECE)
        return arena_printf(a, "the address 0x%llx is no multiple of %d",
                            (unsigned long long)m->address, PIECE);
    return NULL;
}

const char *tensor_map_str(const struct tensor_map *m, struct arena *a) {
    struct buf b = buf_new(a);
    int rank = m->rank < TENSOR_MAP_RANK ? m->rank : TENSOR_MAP_RANK;
    buf_puts(&b, m->tf32 ? "tf32" : dtype_name(m->dtype));
    for (int i = 0; i < rank; i++) buf_printf(&b, i ? " x %lld" : " %lld", (long long)m->size[i]);
    for (int i = 1; i < rank; i++)
        buf_printf(&b, i > 1 ? ", %lld" : " by %lld", (long long)m->stride[i]);
    for (int i = 0; i < (m->windows ? 2 : rank); i++)
        buf_printf(&b, i ? " x %d" : ", box %d", m->box[i]);
    for (int d = 0; m->windows && d < rank - 2; d++)
        buf_printf(&b, "%s%lld to %lld by %d", d ? " x " : ", windows ",
                   (long long)m->window[d].first, (long long)m->window[d].last, m->window[d].step);
    if (m->swizzle) buf_printf(&b, ", swizzle %d", m->swizzle);
    return b.p;
}
