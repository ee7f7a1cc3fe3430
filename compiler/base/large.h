/* large.h: memory for tensors: hundreds of megabytes that are touched once. Huge pages where the
 * system grants them, since clearing 4 KiB pages one by one costs as much as filling them. */
#ifndef WS_BASE_LARGE_H
#define WS_BASE_LARGE_H

#include <stddef.h>

/* n uninitialised bytes, aligned to 256, to be given to free(); NULL if there are none: systems
 * promise more than they have, and kill who takes it. n may be 0. */
void *large_alloc(size_t n);

#endif
