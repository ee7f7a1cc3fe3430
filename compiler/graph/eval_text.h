/* eval_text.h: operators as the reference interpreter has them, as C over a, b, c: doubles, and
 * 64-bit integers that call ref_maths.h. NULL: not of integers. */
#ifndef WS_GRAPH_EVAL_TEXT_H
#define WS_GRAPH_EVAL_TEXT_H

#include "graph/graph.h"

const char *eval_text(enum op op);
const char *eval_int_text(enum op op);

#endif
