/* internal.h: the runtime's own state. launch.c runs grids, block.c the threads of the blocks of
 * one cluster, cluster.c what these blocks do together, sync.c barriers and warp collectives,
 * mbarrier.c barriers that count bytes too, copy.c asynchronous copies, matrix.c and tensor.c
 * products, operand.c what these read in shared memory, memory.c judges accesses,
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
    MAX_BLOCKS = 64,    /* at work at a time, if they have fewer threads */
    MAX_MBARRIERS = 64, /* of a block */
    WARP = 32,
    WARPGROUP = 128,
    MAX_WARPGROUPS = MAX_THREADS / WARPGROUP,
    MAX_CHANGES = 16, /* of a warpgroup's number of registers */
    NAMED_BARRIERS = 16,
    STACK = 256 << 10, /* bytes of a fiber's stack, */
    GUARD = 4096,      /* of these at its end, that nobody may touch (overflow.c) */
    RED_ZONE = 4096,   /* bytes on both sides of a buffer, so that a near miss hits no other */
    BUFFER_HITS = 64,
    SPIN_ROUNDS = 4096, /* rounds in which threads only yielded: they wait for ever */
};

/* Threads are counted through the cluster: thread t of the block of rank r is r * n_threads + t.
 * What copies write that an mbarrier waits for, and what a warpgroup's matrix unit reads, is seen
 * by those who waited there, so that these units count as the writer and the reader: unit i of rank
 * r is BY_UNIT + r * N_UNITS + i, first the warpgroups, then the mbarriers. What a thread has seen
 * is a row of times: of each block of the cluster N_SEEN of them, one of each thread and unit. */
enum {
    N_UNITS = MAX_WARPGROUPS + MAX_MBARRIERS,
    BY_UNIT = 1 << 15,
    N_SEEN = MAX_THREADS + N_UNITS,
};

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

enum copy_kind { CP_ASYNC, BULK_LOAD, BULK_STORE, PUT, MAP_LOAD };

/* A box of a tensor, where a load takes it from. */
struct box {
    struct emu_map map;
    int at[5];
    int offset[3]; /* through windows: of the tap */
};

struct copy {
    struct copy *next;
    enum copy_kind kind;
    unsigned char *to;
    const unsigned char *from;
    unsigned bytes, valid; /* the first `valid` are copied, the others cleared */
    unsigned thread, group;
    uint16_t writer;     /* who counts as the writer when it has landed */
    struct box *box;     /* MAP_LOAD: instead of `from` */
    bool reads;          /* the shadows of what it reads count it */
    unsigned char *data; /* PUT: the value. BULK_STORE: what was read, once it was */
    struct shadow *to_shadow, *from_shadow; /* or NULL */
    struct trail trail;
};

struct mbarrier {
    const unsigned char *at;
    struct block *owner;
    unsigned count, pending;    /* arrivals of a phase; those that miss */
    uint64_t expected, flying;  /* bytes of this phase: asked for, under way */
    unsigned phase, waiting;    /* threads */
    uint32_t made;              /* when */
    struct copy *copies;        /* under way */
    uint32_t *arrived, *passed; /* what those know that came in this phase, in the ones before */
    /* The last arrival from another block that nobody has waited for: when (0: none), in which
     * phase, whose, where. */
    uint32_t far;
    unsigned far_phase, far_thread;
    struct trail far_trail;
};

/* What products of a warpgroup that are under way add to: its threads' registers and, meanwhile,
 * what is in them. */
struct accumulator {
    struct accumulator *next;
    float *at[WARPGROUP];
    int n;
    unsigned users; /* products */
    float *values;  /* 64 rows of n */
};

/* A wgmma of a warpgroup under way. */
struct product {
    struct product *next; /* that was issued later */
    struct emu_product is;
    unsigned group, issued, warps; /* by so many threads; bits of the warps that may read it all */
    struct accumulator *acc;
    struct trail trail;           /* of the first thread that issued it */
    const unsigned *a[WARPGROUP]; /* the left operand, if in registers, and what was in these */
    unsigned was[WARPGROUP][4];
};

struct warpgroup {
    struct product *products; /* under way, the oldest first */
    struct accumulator *accumulators;
    unsigned n_through; /* products before these */
    unsigned waiting;   /* threads at k_wgmma_wait */
    struct {
        unsigned n;
        int more;
    } changes[MAX_CHANGES]; /* of registers */
    unsigned n_changes;
    struct trail change_trail;
};

/* What a thread reads of tensor memory: 16 lanes of columns by eights, into its registers. */
struct tensor_read {
    float *d;
    unsigned eights, at;
    bool waited;
};
enum { MAX_TENSOR_READS = 32 };

struct tensor_cell {
    float value;
    uint32_t written, read; /* times; written: by the unit that multiplies */
    uint16_t reader;
    uint16_t flying;  /* products under way that write it */
    uint16_t reading; /* reads that no fence has followed yet */
    bool begun;       /* products, under way or not, have written it */
};

/* tcgen05 of a block (tensor.c). */
struct tensor {
    struct tensor_cell *cells; /* [column][lane] */
    struct tensor_item *first; /* products and commits under way, the oldest first */
    unsigned base, columns;    /* that the block has */
    bool made, freed;
    struct trail trail; /* of what made it */
};

enum state {
    READY,
    AT_BARRIER,
    AT_NAMED,
    AT_WARP,
    AT_CLUSTER,
    AT_MBARRIER,
    AT_WARPGROUP,
    DONE,
};

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
    bool begun;                /* k_wgmma_begin since the last wait */
    unsigned products, product_groups; /* issued, committed */
    unsigned through;                  /* AT_WARPGROUP: the groups before this one are to be */
    unsigned n_changes;                /* of registers */
    uint32_t learned, tensor_fenced;   /* times: of the last mbarrier; of k_tensor_fence_after */
    struct tensor_read *tensor_reads;
    unsigned n_tensor_reads;
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
    struct warpgroup warpgroups[MAX_WARPGROUPS];
    struct tensor tensor;
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
    struct buffer *buffers;
    struct buffer *hits[BUFFER_HITS]; /* those found last, by where was asked: see memory_buffer */
    unsigned char *stacks;            /* MAX_ALL of STACK bytes */
    unsigned n_guarded;               /* stacks with a guard */
    void *handler_stack;              /* of overflow.c, */
    stack_t old_stack;                /* and what it found */
    struct sigaction old_segv;
    struct emu_host host;
    struct emu_module *modules;
    struct fiber scheduler;

    /* this launch */
    const struct emu_launch *launch;
    struct emu_module *module;
    const struct emu_entry *entry;
    struct emu_report report;
    unsigned n_threads, n_blocks; /* of a block, at work at a time: a cluster, or all of them */
    unsigned n_cluster;           /* blocks of a cluster */
    uint64_t random;

    /* this cluster */
    struct block blocks[MAX_BLOCKS];
    struct thread *threads;   /* MAX_ALL */
    struct block *b, *live;   /* that runs; whose shared memory is at the module's addresses */
    unsigned current, n_done; /* threads of the cluster */
    const void *frame;        /* of the hook that runs */
    unsigned n_waiting, first_waiting; /* at k_cluster_sync */
    bool far; /* somebody has arrived at an mbarrier of another block: rows tell of all blocks */

    /* Time ticks at every synchronisation. */
    uint32_t now, run_start, cluster_start, cluster_sync;
    unsigned row_blocks; /* rows have room for so many blocks */
    uint32_t *row;       /* one more */
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
void memory_look(struct emu *e, void *to, const void *at, unsigned bytes);
void memory_load_now(struct emu *e, void *to, const void *at, unsigned bytes);
void memory_store(struct emu *e, void *at, const void *from, unsigned bytes);
struct buffer *memory_buffer(struct emu *e, const void *at);
/* As memory_access, of any size; the hook that calls it has set e->frame. */
void memory_judge(struct emu *e, const void *at, unsigned bytes, int how);
void memory_judge_of(struct emu *e, struct block *owner, const void *at, unsigned bytes, int how);
/* Who reads a byte, now. */
void memory_note_read(const struct emu *e, struct shadow *s, uint16_t reader);
/* A read that the current thread asks for, but a unit does. */
void memory_judge_unit(struct emu *e, const void *at, unsigned bytes, unsigned unit);
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
/* Both, of the current thread in the hook that runs. */
void block_mistake(struct emu *e, enum emu_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* sync.c */
void sync_prepare(struct emu *e); /* room for what the launch's threads know */
void sync_begin_block(struct emu *e, struct block *b);
void sync_full(struct emu *e, struct block *b); /* all its threads have met */
/* Thread t brings what it knows to a row, or learns what is in one. */
void sync_give(struct emu *e, unsigned t, uint32_t *to);
void sync_take(struct emu *e, unsigned t, const uint32_t *from);
unsigned sync_block(struct emu *e, int line, int predicate);
void sync_named(struct emu *e, unsigned id, unsigned threads, int wait);
unsigned long long sync_warp(struct emu *e, int op, unsigned mask, unsigned long long value,
                             unsigned source);
/* For the hook of that frame. */
uint64_t sync_warp_in(struct emu *e, const void *frame, int op, unsigned mask, uint64_t value,
                      unsigned source);
/* Thread t has waited for what a unit of its block has done up to now. */
void sync_learn_unit(struct emu *e, unsigned t, unsigned unit);
/* What is known at an mbarrier of that block: it takes up what has been brought. */
void sync_copy_row(const struct emu *e, const struct block *owner, uint32_t *to,
                   const uint32_t *from);
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
struct block *cluster_block(struct emu *e,
                            unsigned rank); /* of the cluster of the block that runs */
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
void mbarrier_arrive_at(struct emu *e, void *mine, unsigned rank);
/* The mistake that reaching for an mbarrier of another block is, or NULL. */
const char *mbarrier_far_mistake(struct emu *e, const void *bar, unsigned rank,
                                 enum emu_kind *kind);
/* `made` was told to the current thread, of whichever block. */
bool mbarrier_is_known(const struct emu *e, const struct mbarrier *b);
void mbarrier_block_done(struct emu *e, struct block *b);
struct mbarrier *mbarrier_at(struct emu *e, struct block *owner, const void *at); /* or ends */
void mbarrier_settle(struct emu *e, struct mbarrier *b); /* ends the phase if it can */
/* The block that runs cannot go on: end a phase whose bytes have all had time to come. */
bool mbarrier_land_one(struct emu *e, unsigned from);
uint16_t mbarrier_as_writer(const struct mbarrier *b);
void mbarrier_describe(const struct emu *e, const struct mbarrier *b, char *text, size_t size);

/* copy.c */
void copy_cp_async(struct emu *e, void *to, const void *from, unsigned bytes, unsigned valid);
void copy_bulk(struct emu *e, void *to, const void *from, unsigned bytes, void *bar);
void copy_put(struct emu *e, void *to, const void *value, unsigned bytes, unsigned rank, void *bar);
void copy_commit(struct emu *e, int bulk);
void copy_wait(struct emu *e, int bulk, unsigned n, int sources);
void copy_fence(struct emu *e);
void copy_box(struct emu *e, const struct box *box, void *to, void *bar, unsigned blocks);
/* What threads have written there has reached what reads shared memory beside them: through a
 * fence, theirs or the current thread's. */
void copy_check_fence(struct emu *e, const char *what, const unsigned char *from, unsigned bytes);
void copy_land_all(struct emu *e, struct mbarrier *b);
void copy_thread_done(struct emu *e, unsigned t);
void copy_block_done(struct emu *e, struct block *b);
void copy_drop_all(struct emu *e); /* at the end of a cluster, whatever it came to */

/* box.c */
void box_prefetch(struct emu *e, const void *map);
void box_load(struct emu *e, void *to, const void *map, void *bar, unsigned blocks, int rank,
              const int *at, const int *offset);
unsigned box_bytes(const struct box *b);
unsigned box_lines(const struct box *b);
/* Line i of a box: n bytes of it, from byte `first` on, are in the tensor, here. */
const unsigned char *box_line(const struct box *b, unsigned i, unsigned *first, unsigned *n);
void box_put(const struct box *b, unsigned char *to); /* into shared memory */

/* operand.c: `word` says where; of its pieces of 16 bytes, of whole groups of eight rows from `row`
 * on. They are judged as read by a unit of the block that runs, marked as being read, and no more,
 * or have been read, as late as now. */
typedef void operand_action(struct emu *e, const unsigned char *at, unsigned unit);
void operand_each(struct emu *e, uint64_t word, bool transposed, unsigned row, unsigned rows,
                  operand_action *act, unsigned unit);
operand_action operand_judge, operand_mark, operand_release, operand_end_reading;
unsigned operand_version(uint64_t word);
/* rows x MMA_MOST_DEPTH of its elements */
void operand_fetch(const struct emu *e, int type, bool left, uint64_t word, bool transposed,
                   unsigned rows, double *to);

/* tensor.c */
void tensor_make(struct emu *e, void *at, unsigned columns);
void tensor_free(struct emu *e, unsigned sums, unsigned columns);
void tensor_fence(struct emu *e, int after);
void tensor_multiply(struct emu *e, const struct emu_tensor_product *p);
void tensor_commit(struct emu *e, void *bar, unsigned blocks);
void tensor_load(struct emu *e, float *d, unsigned eights, unsigned at);
void tensor_wait(struct emu *e);
/* The block that runs cannot go on: end the oldest products that a commit follows. */
bool tensor_land_one(struct emu *e);
void tensor_thread_done(struct emu *e, unsigned t);
void tensor_block_done(struct emu *e, struct block *b);
void tensor_drop_all(struct emu *e);

/* matrix.c */
unsigned long long matrix_operand(struct emu *e, const void *at, unsigned lead, unsigned stride,
                                  unsigned type);
void matrix_wgmma(struct emu *e, const struct emu_product *p);
void matrix_begin(struct emu *e);
void matrix_commit(struct emu *e);
void matrix_wait(struct emu *e, unsigned n);
void matrix_registers(struct emu *e, unsigned n, int more);
void matrix_thread_done(struct emu *e, unsigned t);
void matrix_block_done(struct emu *e, const struct block *b);
void matrix_drop_all(struct emu *e);

/* mma.c */
void mma_ldmatrix(struct emu *e, unsigned *r, const void *row, int transposed);
void mma_multiply(struct emu *e, float *d, const unsigned *a, const unsigned *b, int type);
/* The lanes of a warp have met; the values they bring are theirs of the two hooks above. */
void mma_meet(struct emu *e, struct thread *warp, int op);
/* Of a product's type: one operand's element; bytes of it; the depth of an instruction. */
double mma_number(int type, bool left, const unsigned char *at);
unsigned mma_size(int type);
bool mma_of_integers(int type);
unsigned mma_depth(int type);
enum { MMA_MOST_DEPTH = 32 };
/* *d += a row times a column of mma_depth(type) numbers, about as the units do it: *d, unless it
 * does not count, and the products are aligned to the largest, cut off, and added up; what that
 * comes to is cut off to f32. Integers wrap. */
void mma_add(int type, float *d, bool counts, const double *a, const double *b);

#endif
