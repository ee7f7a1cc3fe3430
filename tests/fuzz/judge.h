/* judge.h: is a result what rounding may have made of the reference? */
#ifndef FUZZ_JUDGE_H
#define FUZZ_JUDGE_H

#include "graph/graph.h"

struct judge;

/* g: the decomposed graph; in: its inputs; want: the reference of its outputs. All are kept by
 * reference. */
struct judge *judge_new(struct arena *a, struct graph *g, const struct value *in,
                        const struct value *want);

/* Elements that are nan are none by rounding: results have to be nan there as well. */
void judge_keeps_nan(struct judge *j);

/* Why the reference itself says nothing about this graph: "%x: integer 1e+300", or NULL. */
const char *judge_wild(const struct judge *j);

/* Output o, as it was stored in its type. Fills d if it is wrong. */
bool judge_output(struct judge *j, uint32_t o, const double *got, struct diag *d);

/* How many elements were right only because rounding decides them. */
int64_t judge_forgiven(const struct judge *j);

#endif
