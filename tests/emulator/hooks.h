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

/* EMU_LOOK: a read that atomics may come before or behind, whichever. */
enum emu_access { EMU_READ, EMU_WRITE, EMU_ATOMIC, EMU_LOOK };

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
    /* of a whole warp: */
    EMU_LDMATRIX,
    EMU_LDMATRIX_TRANSPOSED,
    EMU_MMA_BF16, /* these in the order of enum emu_matrix */
    EMU_MMA_F16,
    EMU_MMA_TF32,
    EMU_MMA_BYTES, /* and on */
};

/* Of matrix units: what an operand's elements are; of bytes, of which the two operands may have
 * different ones, EMU_BYTES + 4 of the left operand's + that of the right one's. */
enum emu_matrix { EMU_BF16, EMU_F16, EMU_TF32, EMU_BYTES };
enum emu_byte { EMU_S8, EMU_U8, EMU_E4M3, EMU_E5M2 };

/* One wgmma: m 64, k 16 (tf32: 8, bytes: 32), the left operand in registers unless these are
 * NULL. */
struct emu_product {
    float *acc;  /* of integers, ints */
    int n, type; /* emu_matrix */
    const unsigned *a_registers;
    unsigned long long a, b; /* of k_operand */
    int transposed_a, transposed_b, add;
};

/* One tcgen05.mma: see k_tensor_multiply. */
struct emu_tensor_product {
    int kind;
    unsigned sums, what;
    unsigned long long a, b;
    int add;
};

/* Every hook may leave the thread for others, or for ever when it finds a mistake. */
struct emu_host {
    struct emu *emu;
    /* Before the access happens. aligned: the address must be a multiple of min(bytes, 16). */
    void (*access)(struct emu *, const void *at, unsigned bytes, int how, int aligned);
    void (*load)(struct emu *, void *to, const void *at, unsigned bytes);
    void (*load_now)(struct emu *, void *to, const void *at, unsigned bytes);
    void (*look)(struct emu *, void *to, const void *at, unsigned bytes);
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
    /* Tensor maps: the box at `at`, as k_map_load, to the blocks of these bits; 0: to the own. */
    void (*map_prefetch)(struct emu *, const void *map);
    void (*map_load)(struct emu *, void *to, const void *map, void *bar, unsigned blocks, int rank,
                     const int *at, const int *offset); /* through windows: of the tap, or NULL */
    void (*mbar_arrive_at)(struct emu *, void *mine, unsigned rank);
    /* matrix units */
    void (*registers)(struct emu *, unsigned n, int more);
    unsigned long long (*operand)(struct emu *, const void *at, unsigned lead, unsigned stride,
                                  unsigned type);
    void (*wgmma)(struct emu *, const struct emu_product *);
    void (*wgmma_begin)(struct emu *);
    void (*wgmma_commit)(struct emu *);
    void (*wgmma_wait)(struct emu *, unsigned n);
    void (*tensor_make)(struct emu *, void *at, unsigned columns);
    void (*tensor_free)(struct emu *, unsigned sums, unsigned columns);
    void (*tensor_fence)(struct emu *, int after);
    void (*tensor_multiply)(struct emu *, const struct emu_tensor_product *);
    void (*tensor_commit)(struct emu *, void *bar, unsigned blocks);
    /* 16 lanes from that of `at` on, 8 * eights columns: 4 * eights registers of each thread */
    void (*tensor_load)(struct emu *, float *d, unsigned eights, unsigned at);
    void (*tensor_wait)(struct emu *);
    void (*ldmatrix)(struct emu *, unsigned *r, const void *row, int transposed);
    void (*mma)(struct emu *, float *d, const unsigned *a, const unsigned *b, int type);
};

/* A kernel: how to call it, and of each parameter its size and whether it points. */
struct emu_entry {
    const char *name;
    void (*invoke)(void **args);
    const unsigned short *sizes;
    const char *kinds; /* 'v' value, 'p' pointer, 'c' pointer to const, 'm' k_map */
    int n_params;
};

struct emu_module_table {
    struct emu_index *thread, *block, *block_size, *grid_size;
    unsigned char *(*shared)(void); /* the calling host thread's dynamic shared memory */
    const struct emu_entry *entries;
    int n_entries;
};

#endif
