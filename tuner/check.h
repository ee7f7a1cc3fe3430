/* check.h: is what a kernel wrote right?
 *
 * An element is wrong if it is further from its reference, computed in double precision, than the
 * roundings of a right program can take it: a bound of its own, made of the types, of how many
 * additions it passes through, and of the sizes of the terms behind it. graph/bound.c computes it,
 * states the rule, and says where it comes from. Nothing else is a tolerance. */
#ifndef TUNER_CHECK_H
#define TUNER_CHECK_H

#include "ws_tune.h"

/* What n elements of one buffer should be. */
struct expected {
    dptr want;  /* on the device, as dtype_reference says */
    dptr bound; /* f32, on the device; 0: all are equal */
    enum dtype dtype;
    int64_t n;
};

/* Memory for them, for bounds if `bound`. */
enum ws_status expected_alloc(struct device *dev, enum dtype t, bool bound, int64_t n,
                              struct expected *out, struct diag *d);
/* want and bound, which may be NULL, are on the host, in the order of the buffer's storage. */
enum ws_status expected_upload(struct device *dev, enum dtype t, const void *want,
                               const float *bound, int64_t n, struct expected *out, struct diag *d);
/* What a trusted program has left in a buffer; unless share is 0, with bounds of that share of an
 * element's size and of the root mean square of all. */
enum ws_status expected_take(struct device *dev, dptr buffer, enum dtype t, int64_t n, double share,
                             struct expected *out, struct diag *d);
void expected_free(struct device *dev, struct expected *e);

/* runs: NULL where nobody else's memory lies between the elements of `got`.
 * *worst is the element that is furthest off, of its bound. *message is NULL if all is right, else
 * "[3, 17] is 0.5, expected 0.25, off by more than 2e-07 (12 of 4096 elements are wrong)". size: of
 * the tensor, rank of them, for the index; rank 0 prints a flat one. */
enum ws_status check_buffer(struct device *dev, dptr got, const struct runs *runs,
                            const struct expected *e, const int64_t *size, int rank,
                            struct mismatch *worst, const char **message, struct diag *d);

/* Element `at` of a row-major tensor: "[3, 17]". */
void check_print_index(struct buf *b, int64_t at, const int64_t *size, int rank);

#endif
