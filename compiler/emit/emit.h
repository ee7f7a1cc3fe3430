/* emit.h: block program -> source text. Two backends share the expressions (text.c): CUDA C++
 * (cuda_*.c) for NVRTC, C with OpenMP (c_*.c) for cc. Both put what they use of a prelude in front
 * (prelude/ for CUDA; prelude_c.h with prelude_vector.h) that names every operation k_*.
 *
 * The text depends on the block program and nothing else: same input, same bytes. */
#ifndef WS_EMIT_H
#define WS_EMIT_H

#include "emit/source.h"
#include "kernel/kernel.h"

/* Source of the block program in its device's language. Lives in arena a. False with d if an
 * operator has no code. */
bool emit_source(const struct block *p, struct arena *a, struct ws_source *out, struct diag *d);

/* The same of a sequence, of whose parts these are the programs, in order. */
bool emit_sequence(const struct block *const *parts, int n, bool beside, const struct config *c,
                   struct arena *a, struct ws_source *out, struct diag *d);

extern const char prelude_cuda[], prelude_c[]; /* 0-terminated texts of the preludes */

/* parts.c: of CUDA's prelude, or C's, what the text uses, and what that uses. */
const char *prelude_parts(struct arena *a, bool cuda, const char *text);

#endif
