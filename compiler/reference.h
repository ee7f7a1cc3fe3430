/* reference.h: values made where kernels run: every operator in doubles, one plain kernel each
 * (emit/plain.c).
 *
 *   reference_lower    graph -> kernels, without a device
 *   reference_run      inputs on a device -> outputs on it; in slices, where memory is short
 */
#ifndef WS_REFERENCE_H
#define WS_REFERENCE_H

#include "emit/plain.h"
#include "runtime/runtime.h"
#include "slices.h"

struct reference {
    struct arena *arena; /* its own */
    const struct loops *loops;
    const struct placement *outputs; /* of the graph; NULL: doubles and integers, row-major */
    struct plain plain;
    size_t memory; /* bytes that temporaries may take; 0: most of what the device has left */
    bool cuda;
};

struct reference_options {
    bool cuda;
    bool exact;  /* the same numbers on every device, or NULL */
    bool sooner; /* NULL where the interpreter is done before a compiler is */
    const struct placement *outputs;
};

/* NULL: the graph, whose sizes are numbers, has no such kernels. It goes with a at the latest. */
struct reference *reference_lower(const struct graph *g, const struct reference_options *o,
                                  struct arena *a);
void reference_free(const struct reference *r); /* NULL: nothing */

/* What texts were compiled into, in one arena: values are made again after a device was reset, of
 * the same texts. By one thread at a time. */
struct reference_binaries {
    struct map at; /* text -> its binary */
};
struct reference_binaries reference_binaries_new(struct arena *a);
bool reference_has_binary(const struct reference_binaries *kept, const char *text);
void reference_keep_binary(struct reference_binaries *kept, const char *text,
                           const struct compiled *made);

/* inputs[i] is memory in the input's type and strides; outputs[i] memory for what the placements
 * say, or, without them, of the first output that is the same tensor, for its elements, as doubles
 * or integers of its type. *slices, unless NULL: in how many it was computed.
 * Texts that `kept` has are not compiled again; NULL: nothing is kept. */
enum ws_status reference_run(const struct reference *r, struct device *dev, struct toolchain *cc,
                             struct reference_binaries *kept, const dptr *inputs,
                             const dptr *outputs, int64_t *slices, struct arena *a, struct diag *d);

#endif
