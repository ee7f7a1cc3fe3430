/* strided.h: where elements of a tensor lie in memory. */
#ifndef WS_BASE_STRIDED_H
#define WS_BASE_STRIDED_H

#include <stdint.h>

/* Of the i-th element in row-major order, in elements from the first; strides count elements. */
static inline int64_t strided_at(int rank, const int64_t *size, const int64_t *stride, int64_t i) {
    int64_t at = 0;
    for (int k = rank; k-- > 0; i /= size[k]) at += i % size[k] * stride[k];
    return at;
}

#endif
