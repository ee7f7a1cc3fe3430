/* interrupt.h: Ctrl-C ends a run after the row in progress; a crash of generated code says which.
 */
#ifndef TUNER_INTERRUPT_H
#define TUNER_INTERRUPT_H

#include <stdbool.h>

void interrupt_install(
    void); /* from now on SIGINT and SIGTERM only set a flag; a second one kills */
bool interrupted(void);
int interrupt_exit_code(void); /* 130 or 143; 0 if not interrupted */

/* Generated code on the CPU device runs in this process. While `what` is set, a crash prints that
 * it was that and ends the process with status 1; NULL ends the watch. */
void crash_watch(const char *what);

#endif
