/* internal.h: the runtime's own state. launch.c runs grids, block.c the threads of the blocks of
 * one cluster, cluster.c what these blocks do together, sync.c barriers and warp collectives,
 * mbarrier.c barriers that count bytes too, copy.c asynchronous copies, memory.c judges accesses,
 * overflow.c notices a stack that is too small, module.c compiles and loads. A grid without
 * clusters has clusters of one block. */
#ifndef EMU_INTERNAL_H
#define EMU_INTERNAL_H

#include <signal.h>

#include "tests/emulator/emu.h"
#include "tests/emulator/fiber.h"
#include "tests/emulator/hooks.h"

enum {
    MAX_THREADS = 1024,
    MAX_CLUSTER = 16, /* blocks */
    MAX_ALL = MAX_CLUSTER * MAX_THREADS,
    MAX_MBARRIERS = 64, /* of a block */
    WARP = 32,
    NAMED_BARRIERS = 16,
    STACK = 256 << 10,  /* bytes of a fiber's stack, */
    GUARD = 4096,       /* of these at its end, that nobody may touch (overflow.c) */
    RED_ZONE = 4096,    /* bytes on both sides of a buffer, so that a near miss hits no other */
    SPIN_ROUNDS = 4096, /* rounds in which threads only yielded: they wait for ever */
};

/* Threads are counted through the cluster: thread t of the block of rank r is r * n_threads + t.
 * Copies that an mbarrier waits for are seen by those who waited there, so that it counts as their
 * writer: mbarrier i of rank r is BY_MBARRIER + r * MAX_MBARRIERS + i. What a thread has seen is a
 * row of times, one of each thread and mbarrier of its block. */
enum { BY_MBARRIER = 1 << 15, N_SEEN = MAX_THREADS + MAX_MBARRIERS };

/* Who used a byte last and when; a time before the floor of memory.c means never. Two readers are
 * kept, so that one of them is always another thread than the one that writes next. */
struct shadow {
    uint32_t written, read[2]; /* times */
    uint16_t writer, reader[2];
    uint16_t atomic : 1;       /* the last write was */
    uint16_t copy_writes : 1;  /* an asynchronous copy to here is under way */
    uint16_t copies_read : 14; /* so many from here are */
};

struct buffer {
    struct buffer *next;
    const char *name;
    unsigned char *at;
    size_t bytes;
    struct shadow *shadow;
    enum emu_role role; /* in this launch; EMU_VALUE: no argument points here */
};

/* Where a hook was called: as linked frames that outlive the real ones. */
struct trail {
    const void *frame[8][2]; /* the caller's frame and the return address */
};

enum copy_kind { CP_ASYNC, BULK_LOAD, BULK_STORE, PUT };

struct copy {
    struct copy *next;
    enum copy_kind kind;
    unsigned char *to;
    const unsigned char *from;
    unsigned bytes, valid; /* the first `valid` are copied, the others cleared */
    unsigned thread, group;
    uint16_t writer;     /* who counts as the writer when it has landed */
    unsigned char *data; /* PUT: the value. BULK_STORE: what was read, once it was */
    struct shadow *to_shadow, *from_shadow; /* or NULL */
    struct trail trail;
};

struct mbarrier {
    const unsigned char *at;
    unsigned count, pending;    /* arrivals of a phase; those that miss */
    uint64_t expected, flying;  /* bytes of this phase: asked for, under way */
    unsigned phase, waiting;    /* threads */
    uint32_t made;              /* when */
    struct copy *copies;        /* under way */
    uint32_t *arrived, *passed; /* what those know that came in this phase, in the ones before */
};

enum state { READY, AT_BARRIER, AT_NAMED, AT_WARP, AT_CLUSTER, AT_MBARRIER, DONE };

struct thread {
    struct fiber fiber;
    enum state state;
    const void *frame;         /* of the hook that it sleeps in: where in the kernel it is */
    int line;                  /* AT_BARRIER, AT_CLUSTER: of the call */
    unsigned id, count;        /* AT_NAMED */
    bool arrived;              /* at the cluster's barrier, for which it has not waited yet */
    bool spun;                 /* gave its turn away since it was last resumed */
    struct mbarrier *mbarrier; /* AT_MBARRIER */
    uint32_t fenced;           /* the time of the last k_fence_async_shared */
    struct copy *copies;       /* under way, without mbarrier, the newest first */
    unsigned groups[2];        /* committed, of cp.async and of bulk copies */
    /* AT_WARP */
    int op;
    unsigned mask, source;
    uint64_t value, result;
};

struct named_barrier {
    unsigned count, arrived;
    uint32_t *known; /* what the arrived threads know of each thread (sync.c) */
};

struct block {
    struct emu_index at;
    unsigned rank, first, n_done;      /* its first thread */
    unsigned n_waiting, first_waiting; /* at __syncthreads */
    unsigned votes, last_votes;        /* true predicates */
    struct named_barrier named[NAMED_BARRIERS];
    struct mbarrier mbarriers[MAX_MBARRIERS];
    unsigned n_mbarriers;
    /* Thread t has seen what thread w did before max(full_sync, known[t][w]); known is allocated
     * with the first synchronisation of a part of the block. */
    uint32_t full_sync;
    uint32_t *known;
    /* Of the shared memory. Only the block that runs has its bytes at the module's addresses. */
    struct shadow *shadow;
    unsigned char *saved;
    size_t shared_bytes;
    /* The last load of it by another block: when, whose, where. */
    uint32_t peeked;
    unsigned peeker;
    struct trail peek_trail;
};

struct emu {
    struct buffer *buffers, *last_hit;
    unsigned char *stacks; /* MAX_ALL of STACK bytes */
    unsigned n_guarded;    /* stacks with a guard */
    void *handler_stack;   /* of overflow.c, */
    stack_t old_stack;     /* and what it found */
    struct sigaction old_segv;
    struct emu_host host;
    struct emu_module *modules;
    struct fiber scheduler;

    /* this launch */
    const struct emu_launch *launch;
    struct emu_module *module;
    const struct emu_entry *entry;
    struct emu_report report;
    unsigned n_threads, n_blocks; /* of a block, of a cluster */
    uint64_t random;

    /* this cluster */
    struct block blocks[MAX_CLUSTER];
    struct thread *threads;   /* MAX_ALL */
    struct block *b, *live;   /* that runs; whose shared memory is at the module's addresses */
    unsigned current, n_done; /* threads of the cluster */
    const void *frame;        /* of the hook that runs */
    unsigned n_waiting, first_waiting; /* at k_cluster_sync */

    /* Time ticks at every synchronisation. */
    uint32_t now, run_start, cluster_start, cluster_sync;
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
};

/* module.c */
bool module_locate_shared(struct emu_module *m);
int module_line(const struct emu_module *m, const void *frame);
void module_trail(const struct emu_module *m, const void *frame, struct trail *t);

/* memory.c */
void memory_poison(void *at, size_t bytes);
void memory_access(struct emu *e, const void *at, unsigned bytes, int how, int aligned);
void memory_load(struct emu *e, void *to, const void *at, unsigned bytes);
void memory_store(struct emu *e, void *at, const void *from, unsigned bytes);
struct buffer *memory_buffer(struct emu *e, const void *at);
/* As memory_access, of any size; the hook that calls it has set e->frame. */
void memory_judge(struct emu *e, const void *at, unsigned bytes, int how);
void memory_judge_of(struct emu *e, struct block *owner, const void *at, unsigned bytes, int how);
bool memory_is_shared(const struct emu *e, const void *at);
/* What the offset of an address in shared memory is told from, and how that is called. */
const unsigned char *memory_shared_base(const struct emu *e, const void *at, const char **name);
/* NULL: nobody can write there. Shared memory is the owner's. */
struct shadow *memory_shadow(struct emu *e, struct block *owner, const void *at);
bool memory_unwritten(const struct emu *e, const struct buffer *b, size_t *offset);

/* block.c */
void block_run_cluster(struct emu *e);
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
void sync_begin_block(struct emu *e, struct block *b);
void sync_full(struct emu *e, struct block *b); /* all its threads have met */
/* Thread t brings what it knows to a row, or learns what is in one. */
void sync_give(struct emu *e, unsigned t, uint32_t *to);
void sync_take(struct emu *e, unsigned t, const uint32_t *from);
unsigned sync_block(struct emu *e, int line, int predicate);
void sync_named(struct emu *e, unsigned id, unsigned threads, int wait);
unsigned long long sync_warp(struct emu *e, int op, unsigned mask, unsigned long long value,
                             unsigned source);
bool sync_has_seen(const struct emu *e, unsigned t, unsigned other, uint32_t when);
void sync_thread_done(struct emu *e, unsigned t);
void sync_deadlock(struct emu *e);
void sync_free(struct emu *e);
/* "thread 5", or "thread 5 of block 1,0,0" in a cluster; a text that is the caller's to give. */
enum { THREAD_NAME = 64 };
const char *sync_thread_name(const struct emu *e, unsigned t, char *text);

/* cluster.c */
void cluster_prepare(struct emu *e); /* room for the blocks' shared memory */
void cluster_begin(struct emu *e);
void cluster_enter(struct emu *e, struct block *b); /* its bytes are at the module's addresses */
unsigned cluster_rank(struct emu *e);
void cluster_sync(struct emu *e, int line);
void cluster_arrive(struct emu *e);
void cluster_wait(struct emu *e, int line);
void cluster_load(struct emu *e, void *to, const void *mine, unsigned bytes, unsigned rank);
/* Where a block's byte is now that is at `at` while it runs. */
const unsigned char *cluster_bytes(const struct emu *e, const struct block *b, const void *at);
void cluster_block_done(struct emu *e);
void cluster_free(struct emu *e);

/* overflow.c: while kernels run */
void overflow_watch(struct emu *e);
void overflow_unwatch(struct emu *e);

/* mbarrier.c */
void mbarrier_init(struct emu *e, void *at, unsigned count);
void mbarrier_arrive(struct emu *e, void *at, unsigned bytes);
void mbarrier_wait(struct emu *e, void *at, unsigned parity);
struct mbarrier *mbarrier_at(struct emu *e, struct block *owner, const void *at); /* or ends */
void mbarrier_settle(struct emu *e, struct mbarrier *b); /* ends the phase if it can */
/* The block that runs cannot go on: end a phase whose bytes have all had time to come. */
bool mbarrier_land_one(struct emu *e, unsigned from);
uint16_t mbarrier_as_writer(const struct block *owner, const struct mbarrier *b);
void mbarrier_describe(const struct emu *e, const struct mbarrier *b, char *text, size_t size);

/* copy.c */
void copy_cp_async(struct emu *e, void *to, const void *from, unsigned bytes, unsigned valid);
void copy_bulk(struct emu *e, void *to, const void *from, unsigned bytes, void *bar);
void copy_put(struct emu *e, void *to, const void *value, unsigned bytes, unsigned rank, void *bar);
void copy_commit(struct emu *e, int bulk);
void copy_wait(struct emu *e, int bulk, unsigned n, int sources);
void copy_fence(struct emu *e);
void copy_land_all(struct emu *e, struct mbarrier *b);
void copy_thread_done(struct emu *e, unsigned t);
void copy_block_done(struct emu *e, struct block *b);
void copy_drop_all(struct emu *e); /* at the end of a cluster, whatever it came to */

#endif
