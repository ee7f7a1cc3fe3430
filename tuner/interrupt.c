/* interrupt.c: signals. The state is of the process, as signals are: the one place with static
 * variables. */
#include "tuner/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;

static void on_interrupt(int sig) { caught = sig; }

void interrupt_install(void) {
    /* SA_RESETHAND: who asks twice does not want to wait. */
    struct sigaction stop = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    struct sigaction old;
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    /* A terminal that goes away: but under nohup nobody minds. */
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &stop, NULL);
}

bool interrupted(void) { return caught != 0; }

int interrupt_exit_code(void) { return caught ? 128 + caught : 0; }
