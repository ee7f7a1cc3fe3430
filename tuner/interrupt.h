/* interrupt.h: Ctrl-C ends a run after the row in progress. */
#ifndef TUNER_INTERRUPT_H
#define TUNER_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP only set a flag; a second one kills. */
void interrupt_install(void);
bool interrupted(void);
int interrupt_exit_code(void); /* 128 + the signal; 0 if not interrupted */

#endif
