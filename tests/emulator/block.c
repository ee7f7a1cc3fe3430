/* block.c: the threads of one block take turns.
 *
 * Every thread is a fiber that runs until it waits, ends or is found at fault. Threads that can run
 * are resumed in rounds, in the launch's order: forward and reverse let every thread run ahead of
 * all its neighbours on one side, random orders do what is between. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/emulator/internal.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

unsigned char *block_stack(struct emu *e, unsigned t) { return e->stacks + (size_t)t * STACK; }

void block_suspend(struct emu *e) {
    e->report.switches++;
    fiber_switch(&e->threads[e->current].fiber, &e->scheduler);
}

void block_wake(struct emu *e, unsigned t) { e->threads[t].state = READY; }

void block_yield(struct emu *e) {
    struct thread *t = &e->threads[e->current];
    t->frame = __builtin_frame_address(0);
    t->spun = true;
    block_suspend(e);
}

void block_report(struct emu *e, enum emu_kind kind, unsigned t, const void *frame, const char *fmt,
                  ...) {
    struct emu_report *r = &e->report;
    if (!r->ok) return;
    r->ok = false;
    r->kind = kind;
    r->block[0] = e->block.x, r->block[1] = e->block.y, r->block[2] = e->block.z;
    r->thread = t;
    r->line = module_line(e->module, frame);
    int n = snprintf(r->message, sizeof r->message,
                     "%s:%d: %s: block %u,%u,%u thread %u: ", e->entry->name, r->line,
                     emu_kind_name(kind), e->block.x, e->block.y, e->block.z, t);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->message + n, sizeof r->message - (size_t)n, fmt, ap);
    va_end(ap);
}

void block_stop(struct emu *e) {
    e->threads[e->current].state = DONE;
    block_suspend(e);
}

static void thread_main(void *arg) {
    struct emu *e = arg;
    e->entry->invoke(e->launch->args);
    e->threads[e->current].state = DONE;
    e->n_done++;
    sync_thread_done(e, e->current);
    block_suspend(e);
}

static void resume(struct emu *e, unsigned t) {
    const struct emu_index *size = e->module->table->block_size;
    *e->module->table->thread =
        (struct emu_index){t % size->x, t / size->x % size->y, t / size->x / size->y};
    e->current = t;
    e->threads[t].spun = false;
    fiber_switch(&e->scheduler, &e->threads[t].fiber);
}

/* xorshift64* */
static uint64_t next_random(struct emu *e) {
    e->random ^= e->random >> 12;
    e->random ^= e->random << 25;
    e->random ^= e->random >> 27;
    return e->random * 0x2545f4914f6cdd1d;
}

/* The threads that can run now, in the order of their turns. */
static unsigned line_up(struct emu *e, uint16_t *turns) {
    unsigned n = 0;
    for (unsigned i = 0; i < e->n_threads; i++) {
        unsigned t = e->launch->order == EMU_REVERSE ? e->n_threads - 1 - i : i;
        if (e->threads[t].state == READY) turns[n++] = (uint16_t)t;
    }
    for (unsigned i = n; e->launch->order == EMU_RANDOM && i > 1; i--) {
        unsigned j = (unsigned)(next_random(e) % i);
        uint16_t t = turns[j];
        turns[j] = turns[i - 1];
        turns[i - 1] = t;
    }
    return n;
}

static void begin(struct emu *e) {
    e->n_done = 0;
    sync_begin_block(e);
    memory_poison(e->module->shared, (size_t)(e->module->dynamic - e->module->shared));
    memory_poison(e->module->dynamic, e->launch->shared);
    unsigned char *rest = e->module->dynamic + EMU_SHARED_MAX + EMU_SHARED_RED_ZONE;
    memory_poison(rest, (size_t)(e->module->shared + e->module->shared_bytes - rest));
    for (unsigned t = 0; t < e->n_threads; t++) {
        unsigned char *stack = block_stack(e, t);
        /* What an abandoned thread left there. */
        ASAN_UNPOISON_MEMORY_REGION(stack, STACK);
        e->threads[t] = (struct thread){.state = READY};
        /* Stacks that all began at the same place of a page would share a few cache lines. */
        fiber_init(&e->threads[t].fiber, stack, STACK - t % 64 * 448, thread_main, e);
    }
}

/* Needs e->launch, module, entry, block, n_threads; a mistake is in e->report. */
void block_run(struct emu *e) {
    uint16_t turns[MAX_THREADS];
    unsigned idle_rounds = 0;
    begin(e);
    while (e->n_done < e->n_threads) {
        unsigned n = line_up(e, turns);
        bool moved = false;
        if (n == 0 || idle_rounds > SPIN_ROUNDS) {
            sync_deadlock(e);
            return;
        }
        for (unsigned i = 0; i < n; i++) {
            resume(e, turns[i]);
            if (!e->report.ok) return;
            moved |= !e->threads[turns[i]].spun;
        }
        idle_rounds = moved ? 0 : idle_rounds + 1;
    }
}
