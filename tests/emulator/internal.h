/* internal.h: the runtime's own state. launch.c runs grids, block.c the threads of one block,
 * sync.c barriers and warp collectives, memory.c judges accesses, module.c compiles and loads. */
#ifndef EMU_INTERNAL_H
#define EMU_INTERNAL_H

#include "tests/emulator/emu.h"
#include "tests/emulator/fiber.h"
#include "tests/emulator/hooks.h"

enum {
    MAX_THREADS = 1024,
    WARP = 32,
    NAMED_BARRIERS = 16,
    STACK = 128 << 10,  /* bytes of a fiber's stack, with a guard page below */
    RED_ZONE = 4096,    /* bytes on both sides of a buffer, so that a near miss hits no other */
    SPIN_ROUNDS = 4096, /* rounds in which threads only yielded: they wait for ever */
};

/* Who used a byte last and when; a time before the floor of memory.c means never. Two readers are
 * kept, so that one of them is always another thread than the one that writes next. */
struct shadow {
    uint32_t written, read[2]; /* times */
    uint16_t writer, reader[2];
    uint16_t atomic; /* the last write was */
};

struct buffer {
    struct buffer *next;
    const char *name;
    unsigned char *at;
    size_t bytes;
    struct shadow *shadow;
    enum emu_role role; /* in this launch; EMU_VALUE: no argument points here */
};

enum state { READY, AT_BARRIER, AT_NAMED, AT_WARP, DONE };

struct thread {
    struct fiber fiber;
    enum state state;
    const void *frame;  /* of the hook that it sleeps in: where in the kernel it is */
    int line;           /* AT_BARRIER: of the __syncthreads */
    unsigned id, count; /* AT_NAMED */
    bool spun;          /* gave its turn away since it was last resumed */
    /* AT_WARP */
    int op;
    unsigned mask, source;
    uint64_t value, result;
};

struct named_barrier {
    unsigned count, arrived;
    uint32_t *known; /* what the arrived threads know of each thread (sync.c) */
};

struct emu {
    struct buffer *buffers, *last_hit;
    unsigned char *stacks; /* MAX_THREADS of STACK bytes */
    struct emu_host host;
    struct emu_module *modules;
    struct fiber scheduler;

    /* this launch */
    const struct emu_launch *launch;
    struct emu_module *module;
    const struct emu_entry *entry;
    struct emu_report report;
    struct emu_index block;
    unsigned n_threads;
    uint64_t random;

    /* this block */
    struct thread threads[MAX_THREADS];
    unsigned current, n_done;
    const void *frame;                 /* of the hook that runs */
    unsigned n_waiting, first_waiting; /* at __syncthreads */
    unsigned votes, last_votes;        /* true predicates */
    struct named_barrier named[NAMED_BARRIERS];

    /* Time ticks at every synchronisation. Thread t has seen what thread w did before
     * max(full_sync, known[t][w]); known is allocated with the first partial synchronisation. */
    uint32_t now, run_start, block_start, full_sync;
    uint32_t *known;
};

struct emu_module {
    struct emu_module *next;
    struct emu *emu;
    void *library;
    char *folder;
    const struct emu_module_table *table;
    const unsigned char *image, *image_end; /* where it is mapped */
    size_t shared_bytes;                    /* of its thread-local segment: all shared memory */
    /* the calling host thread's copy */
    unsigned char *shared, *dynamic;
    struct shadow *shadow; /* shared_bytes */
};

/* module.c */
bool module_locate_shared(struct emu_module *m);
int module_line(const struct emu_module *m, const void *frame);

/* memory.c */
void memory_poison(void *at, size_t bytes);
void memory_access(struct emu *e, const void *at, unsigned bytes, int how, int aligned);
void memory_load(struct emu *e, void *to, const void *at, unsigned bytes);
void memory_store(struct emu *e, void *at, const void *from, unsigned bytes);
struct buffer *memory_buffer(struct emu *e, const void *at);
bool memory_unwritten(const struct emu *e, const struct buffer *b, size_t *offset);

/* block.c */
void block_run(struct emu *e);
void block_suspend(struct emu *e); /* the current thread waits; returns when it is resumed */
void block_wake(struct emu *e, unsigned t);
void block_yield(struct emu *e);
unsigned char *block_stack(struct emu *e, unsigned t);
/* Record a mistake of thread t (the first one counts) ... */
void block_report(struct emu *e, enum emu_kind kind, unsigned t, const void *frame, const char *fmt,
                  ...) __attribute__((format(printf, 5, 6)));
/* ... and leave the current thread for ever. (Not marked noreturn: before such a call the address
 * sanitizer wants to know the stack, and a fiber's is none that it knows.) */
void block_stop(struct emu *e);

/* sync.c */
void sync_begin_block(struct emu *e);
unsigned sync_block(struct emu *e, int line, int predicate);
void sync_named(struct emu *e, unsigned id, unsigned threads, int wait);
unsigned long long sync_warp(struct emu *e, int op, unsigned mask, unsigned long long value,
                             unsigned source);
bool sync_has_seen(const struct emu *e, unsigned t, unsigned other, uint32_t when);
void sync_thread_done(struct emu *e, unsigned t);
void sync_deadlock(struct emu *e);
void sync_free(struct emu *e);

#endif
