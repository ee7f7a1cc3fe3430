/* fiber.h: stackful coroutines. A switch costs some nanoseconds where it is written in assembly
 * (x86-64, aarch64) and two system calls elsewhere (ucontext). */
#ifndef EMU_FIBER_H
#define EMU_FIBER_H

#include <stddef.h>

#if !defined __x86_64__ && !defined __aarch64__ && !defined FIBER_UCONTEXT
#define FIBER_UCONTEXT
#endif
#ifdef FIBER_UCONTEXT
#include <ucontext.h>
#endif

struct fiber {
#ifdef FIBER_UCONTEXT
    ucontext_t context;
#else
    void *sp; /* where the registers lie while the fiber sleeps */
#endif
};

/* Make a fiber that runs entry(arg) on the given stack when first switched to. entry never returns:
 * it switches away for the last time. Leaving a fiber for ever needs no call. */
void fiber_init(struct fiber *f, void *stack, size_t bytes, void (*entry)(void *), void *arg);

/* Sleep in `from`, which need not be initialised, and wake `to`. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
