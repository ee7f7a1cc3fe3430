/* shrink.h: make a graph that shows a bug smaller. */
#ifndef FUZZ_SHRINK_H
#define FUZZ_SHRINK_H

#include "graph/graph.h"

/* How much is done for it. */
struct shrink_budget {
    int tests;
    double seconds;
};

/* Does the graph of this text still show the bug? */
typedef bool shrink_test(void *ctx, const char *text);

/* The smallest text found within the budget: fewer outputs and nodes, simpler types, row-major
 * inputs, smaller sizes. */
const char *shrink(struct arena *a, const char *text, shrink_test *fails, void *ctx,
                   struct shrink_budget budget);

#endif
