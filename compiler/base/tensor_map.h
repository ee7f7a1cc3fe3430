/* tensor_map.h: a tensor as a GPU's TMA, which copies boxes of it, is told of it. Plain data; the
 * runtime makes the 128 bytes of it that a kernel takes.
 *
 *   bf16 [128, 4096] in boxes of 64 x 64    rank 2, size {4096, 128}, stride {2, 8192},
 *                                           box {64, 64}, swizzle 128
 */
#ifndef WS_BASE_TENSOR_MAP_H
#define WS_BASE_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/dtype.h"

enum { TENSOR_MAP_RANK = 5 };

/* Dimensions are innermost first. What lies outside reads as 0 and is not written. */
struct tensor_map {
    uint64_t address;
    enum dtype dtype;
    bool tf32; /* f32: rounded to tf32 on the way */
    int rank;
    int64_t size[TENSOR_MAP_RANK];   /* elements */
    int64_t stride[TENSOR_MAP_RANK]; /* bytes; that of dimension 0 is the element's */
    int box[TENSOR_MAP_RANK];        /* elements */
    int swizzle;                     /* bytes of a row whose 16-byte pieces change places: 0 (none),
                                        32, 64, 128 */
};

/* Why no TMA takes it, in a few words; NULL if one does. An address of 0 passes. */
const char *tensor_map_illegal(const struct tensor_map *m, struct arena *a);
/* "bf16 4096 x 128 by 8192, box 64 x 64, swizzle 128": without the address. */
const char *tensor_map_str(const struct tensor_map *m, struct arena *a);

#endif
