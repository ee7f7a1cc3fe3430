/* patience.h: how long a call of the device may take until it counts as hanging.
 *
 * Untried code may run for ever, and code that was right a thousand times may yet: there is always
 * a limit while something is launched. It is generous, because a machine may have other work to do.
 */
#ifndef TUNER_PATIENCE_H
#define TUNER_PATIENCE_H

#include "ws_tune.h"

/* Milliseconds to wait for something that takes about so long; NAN: nobody knows yet. */
double patience_ms(double about_ms);
/* That from now on, for every call. */
void patience_set(struct device *dev, double about_ms);
/* Calls that launch nothing (a context is made, a process starts) take as long as they take. */
void patience_endless(struct device *dev);

#endif
