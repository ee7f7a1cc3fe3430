/* overflow.c: a thread that needs more stack than it has.
 *
 *   float row[1 << 20];     each stack ends in a page that nobody may touch, and the kernels are
 *   row[threadIdx.x] = 1;   compiled to touch every page of a frame, so that this one is hit
 *
 * The signal is handled on a stack of its own, from which the thread is left for ever, like after
 * any other mistake. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include "tests/emulator/internal.h"

enum { HANDLER_STACK = 64 << 10 };

/* A handler has no argument of its own. */
static _Thread_local struct emu *running;

/* Frame pointer and program counter where the signal came. */
static void where(const void *context, uintptr_t *frame, uintptr_t *pc) {
    const ucontext_t *c = context;
#if defined __x86_64__
    *frame = (uintptr_t)c->uc_mcontext.gregs[REG_RBP];
    *pc = (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    *frame = (uintptr_t)c->uc_mcontext.regs[29];
    *pc = (uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    *frame = *pc = 0;
#endif
}

static void handle(int signal, siginfo_t *info, void *context) {
    struct emu *e = running;
    ptrdiff_t at = e ? (unsigned char *)info->si_addr - e->stacks : -1;
    if (at < 0 || (size_t)at >= (size_t)MAX_ALL * STACK || (size_t)at % STACK >= GUARD) {
        sigaction(signal, e ? &e->old_segv : &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        return; /* it happens again, and is somebody else's */
    }
    uintptr_t frame[2];
    where(context, &frame[0], &frame[1]);
    frame[1]++; /* as if it were the address that a call returns to */
    block_report(e, EMU_STACK, e->current, frame, "it has more than %d bytes of local memory",
                 STACK - GUARD);
    block_stop(e);
}

void overflow_watch(struct emu *e) {
    if (!e->handler_stack) e->handler_stack = malloc(HANDLER_STACK);
    WS_ASSERT(e->handler_stack);
    stack_t stack = {.ss_sp = e->handler_stack, .ss_size = HANDLER_STACK};
    struct sigaction action = {.sa_sigaction = handle,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    running = e;
    sigaltstack(&stack, &e->old_stack);
    sigaction(SIGSEGV, &action, &e->old_segv);
}

void overflow_unwatch(struct emu *e) {
    sigaction(SIGSEGV, &e->old_segv, NULL);
    sigaltstack(&e->old_stack, NULL);
    running = NULL;
}
