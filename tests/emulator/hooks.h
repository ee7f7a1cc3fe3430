/* hooks.h: what the compiled kernels (C++, emulator.h) and the runtime (C) say to each other.
 *
 * A module is a shared object with two visible symbols: emu_module, of the type below, and
 * emu_connect, which takes the hooks. The runtime calls emu_connect once and, before it resumes a
 * thread, that thread's indices. */
#ifndef EMU_HOOKS_H
#define EMU_HOOKS_H

/* Bytes of dynamic shared memory that a Hopper block may ask for, and that follow them here.
 * Macros, because assembly text uses them. */
#define EMU_SHARED_MAX 232448
#define EMU_SHARED_RED_ZONE 4096

struct emu_index {
    unsigned x, y, z;
};

enum emu_access { EMU_READ, EMU_WRITE, EMU_ATOMIC };

/* Warp collectives: each lane brings a value, the last one computes everyone's result. */
enum emu_collective {
    EMU_SYNCWARP,
    EMU_SHUFFLE, /* `source` is the lane whose value is wanted */
    EMU_BALLOT,
    EMU_MATCH,
    EMU_ADD,
    EMU_AND,
    EMU_OR,
    EMU_XOR,
    EMU_MIN_SIGNED,
    EMU_MAX_SIGNED,
    EMU_MIN_UNSIGNED,
    EMU_MAX_UNSIGNED,
};

/* Every hook may leave the thread for others, or for ever when it finds a mistake. */
struct emu_host {
    struct emu *emu;
    /* Before the access happens. aligned: the address must be a multiple of min(bytes, 16). */
    void (*access)(struct emu *, const void *at, unsigned bytes, int how, int aligned);
    void (*load)(struct emu *, void *to, const void *at, unsigned bytes);
    void (*store)(struct emu *, void *at, const void *from, unsigned bytes);
    /* __syncthreads with a vote: the number of threads whose predicate is true. */
    unsigned (*sync_block)(struct emu *, int line, int predicate);
    /* bar.sync (wait != 0) and bar.arrive id, threads */
    void (*sync_named)(struct emu *, unsigned id, unsigned threads, int wait);
    unsigned long long (*warp)(struct emu *, int op, unsigned mask, unsigned long long value,
                               unsigned source);
    void (*yield)(struct emu *); /* from a loop that waits for another thread */
    /* clusters of blocks */
    unsigned (*cluster_rank)(struct emu *);
    void (*cluster_sync)(struct emu *, int line);
    void (*cluster_arrive)(struct emu *);
    void (*cluster_wait)(struct emu *, int line);
    void (*cluster_load)(struct emu *, void *to, const void *mine, unsigned bytes, unsigned rank);
    /* A value is copied to where `to` and `bar`, its mbarrier, lie in the block of that rank. */
    void (*cluster_put)(struct emu *, void *to, const void *value, unsigned bytes, unsigned rank,
                        void *bar);
    /* mbarriers; an arrival expects that many bytes */
    void (*mbar_init)(struct emu *, void *bar, unsigned count);
    void (*mbar_arrive)(struct emu *, void *bar, unsigned bytes);
    void (*mbar_wait)(struct emu *, void *bar, unsigned parity);
    /* Asynchronous copies. cp_async reads `valid` bytes and clears the rest; a bulk copy to shared
     * memory has an mbarrier, one from it has none. Groups: of cp_async, or of bulk copies. */
    void (*cp_async)(struct emu *, void *to, const void *from, unsigned bytes, unsigned valid);
    void (*bulk)(struct emu *, void *to, const void *from, unsigned bytes, void *bar);
    void (*commit)(struct emu *, int bulk);
    /* until at most n groups are under way; sources: only until they are read */
    void (*wait)(struct emu *, int bulk, unsigned n, int sources);
    void (*fence_async)(struct emu *);
};

/* A kernel: how to call it, and of each parameter its size and whether it points. */
struct emu_entry {
    const char *name;
    void (*invoke)(void **args);
    const unsigned short *sizes;
    const char *kinds; /* 'v' value, 'p' pointer, 'c' pointer to const */
    int n_params;
};

struct emu_module_table {
    struct emu_index *thread, *block, *block_size, *grid_size;
    unsigned char *(*shared)(void); /* the calling host thread's dynamic shared memory */
    const struct emu_entry *entries;
    int n_entries;
};

#endif
