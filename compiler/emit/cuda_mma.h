/* cuda_mma.h: what the emitters of tile programs share. Private to emit/. */
#ifndef WS_EMIT_CUDA_MMA_H
#define WS_EMIT_CUDA_MMA_H

#include "emit/impl.h"
#include "tile/tile.h"

/* cuda_pack.c: a launch that writes operand o at byte `image` of the workspace. */
void emit_cuda_pack(struct emitter *w, const struct operand *o, int64_t image, const char *name);

/* cuda_epilogue.c: from the sums of a warpgroup's thread, an array of that name, what the product's
 * block stores of them; in scope are group, z, m0 and n0. put_again: a function before the kernel
 * that makes one element by plain arithmetic. */
void put_epilogue_of(struct emitter *w, const struct tile_program *t, const char *sums);
void put_again(struct emitter *w, const struct tile_program *t);

#endif
