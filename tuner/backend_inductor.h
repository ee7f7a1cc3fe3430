/* backend_inductor.h: captured graphs of scripts as compiled kernels on the machine's device. */
#ifndef TUNER_BACKEND_INDUCTOR_H
#define TUNER_BACKEND_INDUCTOR_H

#include "tuner/machine.h"
#include "tuner/store.h"

struct backend_inductor;

/* s may be NULL: binaries are then not kept. All of it lives in a, and in arenas of its own until
 * close. */
enum ws_status backend_inductor_open(struct machine *m, struct store *s, struct arena *a,
                                     struct backend_inductor **out, struct diag *d);
const struct backend *backend_inductor_of(const struct backend_inductor *b);
/* What its kernels found in the store: "2 tuned at this size, 1 in a tuned range, ..." */
const char *backend_inductor_lookups(const struct backend_inductor *b, struct arena *a);
void backend_inductor_close(struct backend_inductor *b); /* b may be NULL */

#endif
