/* check.h: is what a kernel wrote right? */
#ifndef TUNER_CHECK_H
#define TUNER_CHECK_H

#include "ws_tune.h"

/* What n elements of one buffer should be. */
struct expected {
    dptr want; /* on the device, as dtype_reference says */
    enum dtype dtype;
    int64_t n;
    double rtol, atol;
    double share; /* of the elements: so many integers may be off by one */
};

/* Tolerance for values that should be `want`: see check.c. */
void check_tolerance(enum dtype t, const void *want, int64_t n, double *rtol, double *atol);

/* want is on the host, in the order of the buffer's storage: i64 of integers, f32 of floats. */
enum ws_status expected_upload(struct device *dev, enum dtype t, const void *want, int64_t n,
                               struct expected *out, struct diag *d);
/* Take what the buffer holds now. */
enum ws_status expected_snapshot(struct device *dev, dptr buffer, enum dtype t, int64_t n,
                                 struct expected *out, struct diag *d);
void expected_free(struct device *dev, struct expected *e);

/* *message is NULL if all is right, else "[3, 17] is 0.5, expected 0.25 (12 of 4096 elements ...)".
 * size: of the tensor, rank of them, for the index; rank 0 prints a flat one. */
enum ws_status check_buffer(struct device *dev, dptr got, const struct expected *e,
                            const int64_t *size, int rank, const char **message, struct diag *d);

#endif
