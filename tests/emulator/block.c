/* block.c: the threads of one cluster's blocks take turns.
 *
 * Every thread is a fiber that runs until it waits, ends or is found at fault. Threads that can run
 * are resumed in rounds, in the launch's order: forward and reverse let every thread run ahead of
 * all its neighbours on one side, random orders do what is between. So do the blocks of a cluster,
 * each of which goes on until all its threads wait. */
#include <limits.h>
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
    const struct emu_index at = e->blocks[t / e->n_threads].at;
    r->block[0] = at.x, r->block[1] = at.y, r->block[2] = at.z;
    r->thread = t % e->n_threads;
    r->line = module_line(e->module, frame);
    int n = snprintf(r->message, sizeof r->message,
                     "%s:%d: %s: block %u,%u,%u thread %u: ", e->entry->name, r->line,
                     emu_kind_name(kind), at.x, at.y, at.z, r->thread);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->message + n, sizeof r->message - (size_t)n, fmt, ap);
    va_end(ap);
}

void block_stop(struct emu *e) {
    e->threads[e->current].state = DONE;
    block_suspend(e);
}

void block_mistake(struct emu *e, enum emu_kind kind, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    block_report(e, kind, e->current, e->frame, "%s", text);
    block_stop(e);
}

static void thread_main(void *arg) {
    struct emu *e = arg;
    e->entry->invoke(e->launch->args);
    e->threads[e->current].state = DONE;
    e->n_done++;
    copy_thread_done(e, e->current);
    matrix_thread_done(e, e->current);
    tensor_thread_done(e, e->current);
    sync_thread_done(e, e->current);
    if (++e->b->n_done == e->n_threads) {
        copy_block_done(e, e->b);
        matrix_block_done(e, e->b);
        tensor_block_done(e, e->b);
        mbarrier_block_done(e, e->b);
        cluster_block_done(e);
    }
    block_suspend(e);
}

static void resume(struct emu *e, unsigned t) {
    const struct emu_index *size = e->module->table->block_size;
    unsigned local = t - e->b->first;
    *e->module->table->thread =
        (struct emu_index){local % size->x, local / size->x % size->y, local / size->x / size->y};
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

static void shuffle(struct emu *e, uint16_t *a, unsigned n) {
    for (unsigned i = n; i > 1; i--) {
        unsigned j = (unsigned)(next_random(e) % i);
        uint16_t t = a[j];
        a[j] = a[i - 1];
        a[i - 1] = t;
    }
}

/* The threads of the block that can run now, in the order of their turns. */
static unsigned line_up(struct emu *e, uint16_t *turns) {
    unsigned n = 0;
    for (unsigned i = 0; i < e->n_threads; i++) {
        unsigned t = e->b->first + (e->launch->order == EMU_REVERSE ? e->n_threads - 1 - i : i);
        if (e->threads[t].state == READY) turns[n++] = (uint16_t)t;
    }
    if (e->launch->order == EMU_RANDOM) shuffle(e, turns, n);
    return n;
}

/* ---- a cluster ------------------------------------------------------------------------------ */

static void begin(struct emu *e) {
    e->n_done = 0;
    e->far = false;
    cluster_begin(e);
    for (unsigned r = 0; r < e->n_blocks; r++) {
        struct block *b = &e->blocks[r];
        b->rank = r;
        b->first = r * e->n_threads;
        b->n_done = 0;
        sync_begin_block(e, b);
    }
    for (unsigned t = 0; t < e->n_threads * e->n_blocks; t++) {
        unsigned char *stack = block_stack(e, t);
        /* What an abandoned thread left there. */
        ASAN_UNPOISON_MEMORY_REGION(stack, STACK);
        e->threads[t] = (struct thread){.state = READY};
        /* Stacks that all began at the same place of a page would share a few cache lines. */
        fiber_init(&e->threads[t].fiber, stack, STACK - t % 64 * 448, thread_main, e);
    }
}

struct progress {
    bool ran, moved; /* did any thread run; did more than give its turn away? */
};

/* Every thread of the block that can run has a turn. Is there reason for another round? */
static bool run_round(struct emu *e, struct progress *p) {
    uint16_t turns[MAX_THREADS];
    unsigned n = line_up(e, turns);
    bool moved = false;
    for (unsigned i = 0; i < n; i++) {
        resume(e, turns[i]);
        if (!e->report.ok) return false;
        moved |= !e->threads[turns[i]].spun;
    }
    p->ran |= n > 0;
    p->moved |= moved;
    return moved && e->report.ok;
}

static bool land_one(struct emu *e, struct progress *p) {
    unsigned n = e->b->n_mbarriers, from = 0;
    bool products = e->launch->order == EMU_REVERSE; /* before copies */
    if (!e->report.ok || n == 0) return false;
    if (e->launch->order == EMU_REVERSE) from = n - 1;
    if (e->launch->order == EMU_RANDOM) from = (unsigned)(next_random(e) % n);
    if (e->launch->order == EMU_RANDOM && e->b->tensor.first) products = next_random(e) % 2;
    bool landed =
        (products && tensor_land_one(e)) || mbarrier_land_one(e, from) || tensor_land_one(e);
    p->ran |= landed;
    p->moved |= landed;
    return landed;
}

static void run_block(struct emu *e, struct block *b, struct progress *p) {
    unsigned rounds = UINT_MAX;
    if (e->n_blocks > 1 && e->launch->order == EMU_RANDOM)
        rounds = 1 + (unsigned)(next_random(e) % 4);
    if (b->n_done == e->n_threads) return;
    e->b = b;
    *e->module->table->block = b->at;
    cluster_enter(e, b);
    while (rounds-- > 0 && (run_round(e, p) || land_one(e, p))) {}
}

/* Each block in turn, in the launch's order. */
static struct progress run_blocks(struct emu *e) {
    struct progress p = {false, false};
    uint16_t turns[MAX_BLOCKS];
    for (unsigned r = 0; r < e->n_blocks; r++)
        turns[r] = (uint16_t)(e->launch->order == EMU_REVERSE ? e->n_blocks - 1 - r : r);
    if (e->launch->order == EMU_RANDOM) shuffle(e, turns, e->n_blocks);
    for (unsigned r = 0; r < e->n_blocks && e->report.ok; r++)
        run_block(e, &e->blocks[turns[r]], &p);
    return p;
}

/* Needs e->launch, module, entry, n_threads, n_blocks and the blocks' places in the grid; a mistake
 * is in e->report. */
void block_run_cluster(struct emu *e) {
    unsigned idle_rounds = 0;
    begin(e);
    while (e->report.ok && e->n_done < e->n_threads * e->n_blocks) {
        struct progress p = run_blocks(e);
        idle_rounds = p.moved ? 0 : idle_rounds + 1;
        if (e->report.ok && (!p.ran || idle_rounds > SPIN_ROUNDS)) sync_deadlock(e);
    }
    copy_drop_all(e);
    matrix_drop_all(e);
    tensor_drop_all(e);
}
