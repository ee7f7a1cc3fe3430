/* npy.h: tensors as NumPy files.
 *
 *   np.load("out0.npy")   float16, float32, ...; bf16, which NumPy has not, is written as float32
 */
#ifndef TUNER_NPY_H
#define TUNER_NPY_H

#include "ws_tune.h"

/* bytes: the tensor's storage, in its strides. WS_MACHINE. */
enum ws_status npy_write(const char *path, const struct ws_tensor_info *t, const void *bytes,
                         struct diag *d);

#endif
