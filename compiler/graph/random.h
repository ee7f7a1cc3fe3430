/* random.h: the generator under random_uniform and random_normal (graph.h), for the device prelude
 * and its test. */
#ifndef WS_GRAPH_RANDOM_H
#define WS_GRAPH_RANDOM_H

#include "graph/graph.h"

enum { RANDOM_BLOCK = 4 }; /* neighbours that are drawn at once */

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
