/* winners.h: the store's word on a kernel: the key that its times depend on, and its winner. */
#ifndef TUNER_WINNERS_H
#define TUNER_WINNERS_H

#include "tuner/machine.h"
#include "tuner/store.h"

/* What all keys on this machine share; graph and kernel are "". */
struct store_key winner_machine_key(const struct machine *m, struct arena *a);
/* kernel -1: the whole program. */
struct store_key winner_key(const struct machine *m, const struct ws_captured *c,
                            const struct ws_program *p, int kernel, struct arena *a);

/* *out is the stored config, or NULL with *why. A stored config that the kernel's rules refuse is
 * a miss. */
enum ws_status winner_look_up(struct store *s, const struct store_key *key,
                              const struct ws_program *p, int kernel, const struct config **out,
                              struct store_winner *evidence, const char **why, struct arena *a,
                              struct diag *d);

#endif
