/* interrupt.c: signals. The state is of the process, as signals are: the one place with static
 * variables. */
#include "tuner/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static const char *volatile watched;

static void on_interrupt(int sig) { caught = sig; }

static void say(const char *text) {
    ssize_t ignored = write(2, text, strlen(text));
    (void)ignored;
}

/* Only what is safe in a signal handler. What was measured before is in the store. */
static void on_crash(int sig) {
    if (!watched) {
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    say("\nwarpsmith: generated code crashed: ");
    say(watched);
    say(sig == SIGSEGV  ? " (segmentation fault)"
        : sig == SIGFPE ? " (arithmetic fault)"
        : sig == SIGILL ? " (illegal instruction)"
                        : " (bus error)");
    say("\nwhat was measured before is in the store; this config can be replayed with --config\n");
    _exit(1);
}

void interrupt_install(void) {
    /* SA_RESETHAND: who asks twice does not want to wait. */
    struct sigaction stop = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    struct sigaction crash = {.sa_handler = on_crash};
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    for (int i = 0; i < 4; i++) sigaction(crashes[i], &crash, NULL);
}

bool interrupted(void) { return caught != 0; }

int interrupt_exit_code(void) { return caught ? 128 + caught : 0; }

void crash_watch(const char *what) { watched = what; }
