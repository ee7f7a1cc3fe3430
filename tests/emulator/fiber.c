/* fiber.c: switch stacks.
 *
 * A switch is a function call, so only the registers that a callee preserves are saved: pushed on
 * the old stack, popped from the new one. A new fiber's stack is laid out as if it had once
 * switched away in fiber_start, with entry and arg in two of those registers. */
#include "fiber.h"

#include <stdint.h>
#include <string.h>

#ifdef FIBER_UCONTEXT

/* makecontext passes ints: a pointer goes as two. */
static void start(unsigned entry_lo, unsigned entry_hi, unsigned arg_lo, unsigned arg_hi) {
    uintptr_t entry = (uintptr_t)((uint64_t)entry_hi << 32 | entry_lo);
    ((void (*)(void *))entry)((void *)(uintptr_t)((uint64_t)arg_hi << 32 | arg_lo));
}

void fiber_init(struct fiber *f, void *stack, size_t bytes, void (*entry)(void *), void *arg) {
    uint64_t e = (uintptr_t)entry, a = (uintptr_t)arg;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = bytes;
    f->context.uc_link = NULL;
    makecontext(&f->context, (void (*)(void))start, 4, (unsigned)e, (unsigned)(e >> 32),
                (unsigned)a, (unsigned)(a >> 32));
}

void fiber_switch(struct fiber *from, struct fiber *to) {
    swapcontext(&from->context, &to->context);
}

#else

void fiber_start(void);

#ifdef __x86_64__
/* rdi = from, rsi = to. Lowest address first, a sleeping stack holds: r15 r14 r13 r12 rbx rbp rip.
 */
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".hidden fiber_switch\n"
        ".type fiber_switch, @function\n"
        "fiber_switch:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov (%rsi), %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size fiber_switch, . - fiber_switch\n"
        ".hidden fiber_start\n"
        ".type fiber_start, @function\n"
        "fiber_start:\n"
        "    mov %r13, %rdi\n"
        "    call *%r12\n"
        "    ud2\n"
        ".size fiber_start, . - fiber_start\n");
enum { SAVED = 7, ENTRY = 3, ARG = 2, RETURN = 6 }; /* words */
#else
/* x0 = from, x1 = to. x19..x28, x29 (frame), x30 (return), d8..d15. */
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".hidden fiber_switch\n"
        ".type fiber_switch, %function\n"
        "fiber_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    ldr x9, [x1]\n"
        "    mov sp, x9\n"
        "    ldp x19, x20, [sp]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size fiber_switch, . - fiber_switch\n"
        ".hidden fiber_start\n"
        ".type fiber_start, %function\n"
        "fiber_start:\n"
        "    mov x0, x20\n"
        "    blr x19\n"
        "    brk #1\n"
        ".size fiber_start, . - fiber_start\n");
enum { SAVED = 20, ENTRY = 0, ARG = 1, RETURN = 11 };
#endif

void fiber_init(struct fiber *f, void *stack, size_t bytes, void (*entry)(void *), void *arg) {
    uintptr_t top = ((uintptr_t)stack + bytes) & ~(uintptr_t)15;
    uintptr_t *saved = (uintptr_t *)top - SAVED;
    memset(saved, 0, SAVED * sizeof *saved);
    saved[ENTRY] = (uintptr_t)entry;
    saved[ARG] = (uintptr_t)arg;
    saved[RETURN] = (uintptr_t)fiber_start;
    f->sp = saved;
}

#endif
