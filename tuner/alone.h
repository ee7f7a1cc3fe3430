/* alone.h: each kernel of a plan judged by itself.
 *
 * The plan runs with every temporary in memory of its own, so that each kernel finds there what it
 * has read. From these very inputs the reference says what the kernel should have written, and how
 * far off that may be (ws_alone_of). So a mistake that the outputs do not show is found, and has
 * the name of the kernel that made it, however many are behind it.
 *
 *   kernel k_softmax_2 alone: b7[3, 17] is 0.5, expected 0.25, off by more than 2e-07 (...)
 *
 * A program of one kernel is judged as a whole, but where that goes through all steps of a loop:
 * each step is judged from what the kernel has left in the one before. What is no tensor of the
 * graph, as the parts of a sum, is not judged here, but with the kernel that reads it, whose part
 * of the graph goes on to what it was made of.
 *
 * Errors grow from kernel to kernel, and so do bounds: behind 24 norms nothing is known of an
 * output as a whole. But where each kernel behind it is right from what it has read, it is as right
 * as can be asked for: such an output is judged, kernel by kernel (data.by_kernels). */
#ifndef TUNER_ALONE_H
#define TUNER_ALONE_H

#include "tuner/testbed.h"

/* What the kernels of a program are compared with by alone_judge is lowered, and its texts begun to
 * be compiled, as far as there is room for it now. */
void alone_begin(struct data *x, const struct ws_program *p, struct arena *a);
/* Nobody will ask for kernels of that program any more. */
void alone_end(struct data *x);

/* Of a plan whose outputs are right. WS_WRONG names the first kernel that is wrong. The kernels
 * judged are those whose references are the least work, which together are at most twice that of
 * the reference of the whole, four times where steps of a loop are one; *remark says how many
 * buffers were judged, how many kernels were too much, and how many elements may be anything. "":
 * the whole has said it all. What is in the memory of outputs is lost; x->by_kernels says which of
 * them are right by their kernels. *bed, unless NULL, is where they have run, for testbed_know:
 * open from then on, if any is judged. */
enum ws_status alone_judge(struct data *x, const struct plan *p, struct testbed *bed,
                           struct arena *a, const char **remark, struct diag *d);

/* Of a plan whose outputs are wrong: which kernel is, as a line, or else what was judged; it may
 * take many times as long. "": the whole has said it all. */
const char *alone_blame(struct data *x, const struct plan *p, struct arena *a);

/* A variant has just run, and left something else than the default has: *message. Two right kernels
 * may, beyond any share: a bool, and any value behind a comparison, turns where a rounding decides,
 * as one element of ten million does in the mask of a ReLU behind a batch norm and a residual. The
 * kernel's reference, made now, knows how far off each may be: *message becomes what that finds
 * wrong, or NULL. It stays where the reference would be too much work. */
enum ws_status alone_acquit(struct testbed *t, const struct variant *v, const char **message,
                            struct diag *d);

#endif
