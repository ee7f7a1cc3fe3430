/* found.h: a bug as a file that can be run again:
 *
 *   # wrong on the emulator: sm_90a, fused: output 0: element 3 is 1, not 2
 *   #   kernel sum_0, config x=1 r=32 warps=1
 *   # seed 1000017
 *   graph(%x: f32[4] = L['x']) {
 *   ... */
#ifndef FUZZ_FOUND_H
#define FUZZ_FOUND_H

#include "tests/fuzz/check.h"

/* The path of the new file, named after the finding and the graph; NULL if it cannot be written. */
const char *found_write(struct arena *a, const char *folder, const char *graph, uint64_t seed,
                        const struct fuzz_verdict *v);
bool found_read(struct arena *a, const char *path, struct fuzz_case *c, struct diag *d);

#endif
