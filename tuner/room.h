/* room.h: is there memory for a workload's tensors? Asked before any is made: a system that has
 * promised more than it has kills who takes it, without a word. */
#ifndef TUNER_ROOM_H
#define TUNER_ROOM_H

#include "tuner/machine.h"
#include "tuner/sweep.h"

/* WS_MACHINE, with what is needed and what there is, if the inputs, the outputs and, if it is asked
 * for, what is kept of their reference do not fit into the host's memory. A reference that does not
 * fit while it is computed is sampled (data.h). A GPU refuses what its own cannot hold when it is
 * asked for it; a CPU's is the host's. */
enum ws_status room_check(const struct machine *m, const struct ws_captured *c, bool reference,
                          struct diag *d);

/* The same for all points of a sweep, the last first, before the first is tuned. A ladder that ends
 * too far is refused as a whole, for whatever is wrong there. Does nothing for one point. */
enum ws_status room_check_sweep(const struct machine *m, const struct command_line *line,
                                const struct sweep *s, struct diag *d);

#endif
