/* tensor_map.c: what the hardware asks of a tensor map; the numbers are those of
 * cuTensorMapEncodeTiled. */
#include "base/tensor_map.h"

#include "base/buf.h"

enum {
    PIECE = 16,     /* bytes: what addresses, strides and rows of a box are multiples of */
    MOST_BOX = 256, /* elements of a box along one dimension */
};
static const int64_t MOST_SIZE = (int64_t)1 << 32;  /* elements along one dimension */
static const int64_t STRIDE_END = (int64_t)1 << 40; /* bytes */

static const char *dimension_illegal(const struct tensor_map *m, int i, struct arena *a) {
    long long size = m->size[i], stride = m->stride[i];
    if (size < 1 || size > MOST_SIZE)
        return arena_printf(a, "the size of dimension %d is %lld, not 1 to 2^32", i, size);
    if (m->box[i] < 1 || m->box[i] > MOST_BOX)
        return arena_printf(a, "the box is %d along dimension %d, not 1 to %d", m->box[i], i,
                            MOST_BOX);
    if (i == 0 && stride != dtype_bytes(m->dtype))
        return arena_printf(a, "the stride of dimension 0 is %lld bytes, not the element's %d",
                            stride, dtype_bytes(m->dtype));
    if (i > 0 && (stride < 0 || stride >= STRIDE_END || stride % PIECE))
        return arena_printf(
            a, "the stride of dimension %d is %lld bytes, not a multiple of %d below 2^40", i,
            stride, PIECE);
    return NULL;
}

const char *tensor_map_illegal(const struct tensor_map *m, struct arena *a) {
    const char *why = NULL;
    if (m->rank < 1 || m->rank > TENSOR_MAP_RANK)
        return arena_printf(a, "the rank is %d, not 1 to %d", m->rank, TENSOR_MAP_RANK);
    if (m->tf32 && m->dtype != DT_F32)
        return arena_printf(a, "elements of %s do not round to tf32", dtype_name(m->dtype));
    for (int i = 0; i < m->rank && !why; i++) why = dimension_illegal(m, i, a);
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
    for (int i = 0; i < rank; i++) buf_printf(&b, i ? " x %d" : ", box %d", m->box[i]);
    if (m->swizzle) buf_printf(&b, ", swizzle %d", m->swizzle);
    return b.p;
}
