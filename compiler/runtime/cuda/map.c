/* map.c: tensor maps, as the driver encodes them.
 *
 *   bf16 4096 x 128 by 8192, box 64 x 64, swizzle 128, and an address   ->   128 bytes for the TMA
 *
 * They lie with the launch that takes them, and are encoded whenever it is made ready: what was
 * placed elsewhere in between cannot be meant. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

/* A copy does not look at the bits, but that it rounds to tf32 where it is told to. */
static int data_type(const struct tensor_map *m) {
    static const int types[DT_COUNT] = {
        [DT_BOOL] = CU_MAP_DATA_TYPE_UINT8,   [DT_U8] = CU_MAP_DATA_TYPE_UINT8,
        [DT_I8] = CU_MAP_DATA_TYPE_UINT8,     [DT_I16] = CU_MAP_DATA_TYPE_UINT16,
        [DT_I32] = CU_MAP_DATA_TYPE_INT32,    [DT_I64] = CU_MAP_DATA_TYPE_INT64,
        [DT_F8E4M3] = CU_MAP_DATA_TYPE_UINT8, [DT_F8E5M2] = CU_MAP_DATA_TYPE_UINT8,
        [DT_F16] = CU_MAP_DATA_TYPE_FLOAT16,  [DT_BF16] = CU_MAP_DATA_TYPE_BFLOAT16,
        [DT_F32] = CU_MAP_DATA_TYPE_FLOAT32,  [DT_F64] = CU_MAP_DATA_TYPE_FLOAT64,
    };
    return m->tf32 ? CU_MAP_DATA_TYPE_TFLOAT32 : types[m->dtype];
}

static int swizzle_mode(int bytes) {
    return bytes == 128  ? CU_MAP_SWIZZLE_128B
           : bytes == 64 ? CU_MAP_SWIZZLE_64B
           : bytes == 32 ? CU_MAP_SWIZZLE_32B
                         : CU_MAP_SWIZZLE_NONE;
}

/* Up to 13.1 the driver sets a bit for copies through windows of small tensors that must not be
 * set; CUTLASS clears it, too. */
static void clear_bit_of_small(struct cuda_device *c, const struct tensor_map *m,
                               struct cu_tensor_map *out) {
    enum { DRIVER_13_1 = 13010, SMALL = 131072 };
    int64_t bytes = dtype_bytes(m->dtype);
    int driver = 0;
    uint64_t word[2];
    for (int i = 0; i < m->rank; i++) bytes += (m->size[i] - 1) * m->stride[i];
    if (bytes >= SMALL || c->api.driver_version(&driver) != CU_OK || driver > DRIVER_13_1) return;
    memcpy(word, out, sizeof word);
    word[1] &= ~((uint64_t)1 << 21);
    memcpy(out, word, sizeof word);
}

static cu_status encode_windows(struct cuda_device *c, const struct tensor_map *m,
                                const uint64_t *size, const uint64_t *stride,
                                struct cu_tensor_map *out) {
    int lower[TENSOR_MAP_WINDOWS], upper[TENSOR_MAP_WINDOWS];
    uint32_t step[TENSOR_MAP_RANK] = {1, 1, 1, 1, 1};
    for (int d = 0; d < m->rank - 2; d++) {
        lower[d] = (int)m->window[d].first;
        upper[d] = (int)(m->window[d].last - (m->size[d + 1] - 1));
        step[d + 1] = (uint32_t)m->window[d].step;
    }
    cu_status s = c->api.map_encode_windows(
        out, data_type(m), (uint32_t)m->rank, (void *)(uintptr_t)m->address, size, stride, lower,
        upper, (uint32_t)m->box[0], (uint32_t)m->box[1], step, CU_MAP_INTERLEAVE_NONE,
        swizzle_mode(m->swizzle), CU_MAP_L2_PROMOTION_L2_256B, CU_MAP_FLOAT_OOB_FILL_NONE);
    if (s == CU_OK) clear_bit_of_small(c, m, out);
    return s;
}

static cu_status encode(struct cuda_device *c, const struct tensor_map *m,
                        struct cu_tensor_map *out) {
    uint64_t size[TENSOR_MAP_RANK], stride[TENSOR_MAP_RANK];
    uint32_t box[TENSOR_MAP_RANK], step[TENSOR_MAP_RANK];
    for (int i = 0; i < m->rank; i++) {
        size[i] = (uint64_t)m->size[i];
        if (i > 0) stride[i - 1] = (uint64_t)m->stride[i]; /* the element's is not asked for */
        box[i] = (uint32_t)m->box[i];
        step[i] = 1;
    }
    if (m->windows) return encode_windows(c, m, size, stride, out);
    return c->api.map_encode(out, data_type(m), (uint32_t)m->rank, (void *)(uintptr_t)m->address,
                             size, stride, box, step, CU_MAP_INTERLEAVE_NONE,
                             swizzle_mode(m->swizzle), CU_MAP_L2_PROMOTION_L2_256B,
                             CU_MAP_FLOAT_OOB_FILL_NONE);
}

enum ws_status cuda_encode_maps(struct cuda_device *c, const struct launch *l, struct ready *out,
                                struct diag *d) {
    size_t n = 0;
    for (int i = 0; i < l->n_args; i++) n += l->maps[i] != NULL;
    if (!n) return WS_OK;
    out->maps = aligned_alloc(_Alignof(struct cu_tensor_map), n * sizeof *out->maps);
    if (!out->maps) return diag_fail(d, WS_MACHINE, "out of memory for %zu tensor maps", n);
    n = 0;
    for (int i = 0; i < l->n_args; i++) {
        if (!l->maps[i]) continue;
        out->args[i] = &out->maps[n++];
        cu_status s = encode(c, l->maps[i], out->args[i]);
        if (s != CU_OK)
            return cuda_fail(c, d, s, "%s of argument %d of '%s' (%s)",
                             l->maps[i]->windows ? "cuTensorMapEncodeIm2col"
                                                 : "cuTensorMapEncodeTiled",
                             i, l->entry, tensor_map_str(l->maps[i], d->arena));
    }
    return WS_OK;
}
