/* judged.h: is a reference right that the interpreter did not make?
 *
 *   reference_judge    256 elements of each output, picked by seed, against the same computed on
 *                      demand (graph/sample.h)
 *
 *   out1[3, 70] of the reference is 17.25, but by itself 17.5; doubles may be 4.4e-12 apart
 */
#ifndef WS_JUDGED_H
#define WS_JUDGED_H

#include "graph/sample.h"

/* The inputs and outputs of g, as the reference had and made them; g->seed is that of its random
 * tensors. False: d says which element differs, and by how much, with WS_WRONG, which is a mistake
 * of ours; or that it could not be known. *v: how many were asked for, and how many judged. */
bool reference_judge(struct graph *g, const struct sample_source *inputs,
                     const struct sample_source *outputs, struct sample_verdict *v, struct diag *d);

#endif
