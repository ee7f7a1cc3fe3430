/* tensor_map.h: a tensor as a GPU's TMA, which copies boxes of it, is told of it. Plain data; the
 * runtime makes the 128 bytes of it that a kernel takes.
 *
 *   bf16 [128, 4096] in boxes of 64 x 64    rank 2, size {4096, 128}, stride {2, 8192},
 *                                           box {64, 64}, swizzle 128
 *
 * or through windows (the driver's im2col mode): the dimensions are channels, up to three that
 * windows slide along, and images. A box then is box[0] channels of box[1] windows: of positions
 * from window[d].first to window[d].last, window[d].step apart, first along dimension 1, then along
 * the next ones, image by image. A copy says which tap of the windows it wants: how far that is
 * from the first one.
 */
#ifndef WS_BASE_TENSOR_MAP_H
#define WS_BASE_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/dtype.h"

enum { TENSOR_MAP_RANK = 5, TENSOR_MAP_WINDOWS = 3 };

/* Positions of windows along dimension d + 1; they may lie outside of the tensor. */
struct tensor_windows {
    int64_t first, last;
    int step;
};

/* Dimensions are innermost first. What lies outside reads as 0 and is not written. */
struct tensor_map {
    uint64_t address;
    enum dtype dtype;
    bool tf32; /* f32: rounded to tf32 on the way */
    int rank;
    int64_t size[TENSOR_MAP_RANK];   /* elements */
    int64_t stride[TENSOR_MAP_RANK]; /* bytes; that of dimension 0 is the element's */
    int box[TENSOR_MAP_RANK];        /* elements */
    bool windows;
    struct tensor_windows window[TENSOR_MAP_WINDOWS];
    int swizzle; /* bytes of a row whose 16-byte pieces change places: 0 (none),
                                        32, 64, 128 */
};

/* Why no TMA takes it, in a few words; NULL if one does. An address of 0 passes. */
const char *tensor_map_illegal(const struct tensor_map *m, struct arena *a);
/* Above all offsets that a copy through windows can ask for along one dimension. */
int tensor_map_offset_end(const struct tensor_map *m);
/* "bf16 4096 x 128 by 8192, box 64 x 64, swizzle 128": without the address. */
const char *tensor_map_str(const struct tensor_map *m, struct arena *a);

#endif
