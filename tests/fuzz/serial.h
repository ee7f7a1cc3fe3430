/* serial.h: the reference's kernels for CUDA on a CPU: their threads one after the other.
 *
 *   extern "C" __global__ void n3(const m_f32 *p0, long long first) { .. }
 *   -> static void n3_thread(const m_f32 *p0, long long first) { .. }
 *      void n3(void *const *args) {
 *          for (threadIdx.x = 0; threadIdx.x < 256; threadIdx.x++)
 *              n3_thread(*(const m_f32 **)args[0], *(long long *)args[1]); } */
#ifndef FUZZ_SERIAL_H
#define FUZZ_SERIAL_H

#include "runtime/runtime.h"

/* Compiles such texts by `cc`, a compiler of C, which outlives it. */
struct toolchain *serial_open(struct toolchain *cc, struct arena *a);

#endif
