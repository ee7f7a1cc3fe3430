/* reference.h: the reference run where kernels run: every operator in doubles, one plain kernel
 * each (emit/plain.c).
 *
 *   reference_lower    graph -> kernels, without a device
 *   reference_run      inputs on a device -> outputs on it
 *   reference_eval     values -> values, through both */
#ifndef WS_REFERENCE_H
#define WS_REFERENCE_H

#include "emit/plain.h"
#include "runtime/runtime.h"

struct reference {
    const struct loops *loops;
    struct plain plain;
    double work; /* elements that instructions are computed for */
    double made; /* elements that nests leave in memory */
};

/* NULL: the graph, whose sizes are numbers, has no such kernels. */
struct reference *reference_lower(struct graph *g, bool cuda, struct arena *a);

/* inputs[i] is memory in the input's type and strides; outputs[i], of the first output that is the
 * same tensor, memory for its elements, row-major, as doubles or integers of its type. */
enum ws_status reference_run(const struct reference *r, struct device *dev, struct toolchain *cc,
                             const dptr *inputs, const dptr *outputs, struct arena *a,
                             struct diag *d);

/* Where large graphs are evaluated. */
struct reference_place {
    struct device *device;
    struct toolchain *toolchain;
};

/* As graph_eval, on a device. False, with d as it was, where that is no gain or not possible: small
 * graphs, those without such kernels, and those that do not fit memory. */
bool reference_eval(struct graph *g, const struct value *inputs, struct value *outputs,
                    const struct reference_place *at, struct diag *d);

#endif
