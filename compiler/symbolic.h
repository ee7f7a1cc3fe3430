/* symbolic.h: graphs whose sizes are symbols, for the files beside it. */
#ifndef WS_SYMBOLIC_H
#define WS_SYMBOLIC_H

#include "ws_tune.h"

/* Fill c->symbols from its graph. */
void symbols_collect(struct ws_captured *c);
/* The text with c's symbols called s0, s1, ... in their order. */
const char *symbols_rename(const struct ws_captured *c, const char *text);

#endif
