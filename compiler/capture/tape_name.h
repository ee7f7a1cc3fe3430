/* tape_name.h: see tape_name.c. Private to capture. */
#ifndef WS_CAPTURE_TAPE_NAME_H
#define WS_CAPTURE_TAPE_NAME_H

#include "graph/graph.h"

const char *backward_name(struct arena *a, const struct graph *g, node_id id);

#endif
