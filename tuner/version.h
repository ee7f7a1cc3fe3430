/* version.h: what `warpsmith --version` says. */
#ifndef TUNER_VERSION_H
#define TUNER_VERSION_H

#include "ws.h"

#define WS_VERSION "0.2.0"

/* The commit it was built from; "" outside of a git checkout. */
extern const char *const version_revision;

/* Version and revision, what compiled it, and what of compilers, CUDA and devices is found here. */
void version_print(struct buf *b);

#endif
