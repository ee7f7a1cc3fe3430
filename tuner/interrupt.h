/* interrupt.h: Ctrl-C ends a run after the row in progress. */
#ifndef TUNER_INTERRUPT_H
#define TUNER_INTERRUPT_H

#include <stdbool.h>

void interrupt_install(
    void); /* from now on SIGINT and SIGTERM only set a flag; a second one kills */
bool interrupted(void);
int interrupt_exit_code(void); /* 130 or 143; 0 if not interrupted */

#endif
