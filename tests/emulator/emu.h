/* emu.h: run generated CUDA kernels on the CPU and say what is wrong with them.
 *
 *     struct emu *e = emu_new();
 *     struct emu_module *m = emu_open(e, text, (const char *[]){"softmax"}, 1, &diag);
 *     float *x = emu_alloc(e, "x", bytes), *y = emu_alloc(e, "y", bytes);
 *     long long n = 1024;
 *     struct emu_launch l = {.kernel = "softmax", .grid = {rows}, .threads = {256},
 *                            .args = (void *[]){&x, &y, &n}, .n_args = 3};
 *     struct emu_report r = emu_check(m, &l);    r.ok, or r.kind, r.block, r.thread, r.line, ...
 *     emu_free(e);
 *
 * The text is the one that NVRTC compiles. Found are: accesses outside every buffer and misaligned
 * ones, writes to what the kernel takes as const, reads of what nobody wrote, two threads or blocks
 * that use the same bytes with no barrier between, barriers that some threads miss, deadlocks, warp
 * collectives whose lanes do not agree, outputs left unwritten, results that depend on the order
 * of threads. Of clusters: remote loads that race, of a rank that is not there, or from a block
 * that may have ended. Of asynchronous copies, which land as late as they may: reads before the
 * wait, a buffer used again before the copy is through with it, bytes that no mbarrier expects, a
 * store of what no k_fence_async_shared has passed on. Of tensor maps and matrix units: boxes that
 * no hardware takes, a stage used again while a wgmma reads it, operands that nobody has waited for
 * or passed on, accumulators (poisoned meanwhile) and registers touched before the wait, threads of
 * a warpgroup that do not agree; wrong swizzles, strides and fragments become wrong numbers. Of
 * tensor memory: sums read before their products are through, or made anew before they are read,
 * lanes and columns that are not the warp's or the block's, instructions that say what cannot be,
 * missing tcgen05 fences, memory that is not given back. Loads by way of the cache of constants
 * (ld.global.nc) of what the launch has written. Not found are other missing fences and proxies.
 *
 * Ownership: emu_free ends the modules and buffers too. One host thread uses an emu at a time. */
#ifndef EMU_EMU_H
#define EMU_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/tensor_map.h"

/* EMU_KIND(name, printed) */
#define EMU_KINDS(EMU_KIND)                                                                        \
    EMU_KIND(OK, "ok")                                                                             \
    EMU_KIND(BAD_LAUNCH, "bad launch")                                                             \
    EMU_KIND(OUT_OF_BOUNDS, "out of bounds")                                                       \
    EMU_KIND(MISALIGNED, "misaligned")                                                             \
    EMU_KIND(STACK, "stack overflow")                                                              \
    EMU_KIND(READ_ONLY, "write to a const buffer")                                                 \
    EMU_KIND(UNWRITTEN_READ, "read of unwritten memory")                                           \
    EMU_KIND(RACE, "race")                                                                         \
    EMU_KIND(DIVERGENT_BARRIER, "divergent barrier")                                               \
    EMU_KIND(DEADLOCK, "deadlock")                                                                 \
    EMU_KIND(WARP, "warp collective")                                                              \
    EMU_KIND(MBARRIER, "mbarrier")                                                                 \
    EMU_KIND(COPY, "asynchronous copy")                                                            \
    EMU_KIND(MATRIX, "matrix unit")                                                                \
    EMU_KIND(UNWRITTEN_OUTPUT, "unwritten output")                                                 \
    EMU_KIND(ORDER, "depends on the order of threads")

enum emu_kind {
#define EMU_KIND(name, printed) EMU_##name,
    EMU_KINDS(EMU_KIND)
#undef EMU_KIND
};
const char *emu_kind_name(enum emu_kind k);

struct emu;
struct emu_module;

struct emu *emu_new(void);
void emu_free(struct emu *e); /* e may be NULL */

/* A buffer that kernels may use, aligned to 256 bytes, poisoned with NaNs; the host reads and
 * writes it as it likes between launches. The name (kept by reference) is for reports. */
void *emu_alloc(struct emu *e, const char *name, size_t bytes);
void emu_release(struct emu *e, void *buffer);

/* Compile the text with the host's C++ compiler and load it. NULL and a diag if it does not
 * compile (WS_WRONG, with the compiler's words) or there is no compiler (WS_MACHINE). One text may
 * hold many kernels: a batch compiles much faster than its kernels one by one. */
struct emu_module *emu_open(struct emu *e, const char *text, const char *const *kernels, int n,
                            struct diag *d);
void emu_close(struct emu_module *m); /* m may be NULL */

/* A k_map argument, which a launch has by value as any other; it counts as one of the buffer, IN
 * where its role is VALUE. As struct tensor_map, whose words see. */
struct emu_map {
    _Alignas(64) void *address;
    long long size[5], stride[5]; /* stride[0] is `bytes` */
    unsigned short box[5];
    short lower[3], upper[3]; /* through windows: corners and steps, as the driver has them */
    unsigned char step[3], windows;
    unsigned char rank, bytes, swizzle, tf32; /* bytes: of an element */
};
struct emu_map emu_map_of(const struct tensor_map *m);

/* In which order the threads of a block get their turn. Clusters run one after another, in the same
 * order, and so do their blocks: each as far as it comes (in random order: some rounds) before the
 * next has its turn. */
enum emu_order { EMU_FORWARD, EMU_REVERSE, EMU_RANDOM };

/* What a kernel does with a buffer. */
enum emu_role {
    EMU_VALUE,   /* not a buffer */
    EMU_IN,      /* read only */
    EMU_OUT,     /* poisoned before; every byte must be written */
    EMU_INOUT,   /* read and written as it is */
    EMU_SCRATCH, /* poisoned before; nothing need be written */
};

struct emu_launch {
    const char *kernel;
    unsigned grid[3], threads[3]; /* a 0 counts as 1 */
    unsigned cluster; /* adjacent blocks in x, as in __cluster_dims__; a 0 counts as 1 */
    size_t shared;    /* bytes of dynamic shared memory */
    void **args;      /* as for cuLaunchKernel; pointers point to or into buffers */
    int n_args;
    const enum emu_role *roles; /* n_args of them. NULL: pointers to const IN, other pointers OUT */
    enum emu_order order;
    uint64_t seed;           /* of EMU_RANDOM */
    bool blocks_communicate; /* through global memory: blocks may use the same bytes */
    bool all_at_work;        /* all blocks of the grid, or clusters, which wait for each other */
    bool order_matters;      /* to rounding (atomics on floats): emu_check compares no outputs */
};

struct emu_report {
    bool ok;
    enum emu_kind kind;
    unsigned block[3], thread; /* thread: its linear index in the block */
    int line;                  /* of the text, in the kernel itself; 0: unknown */
    char message[480];         /* "softmax:12: out of bounds: ..." in one line; "" if ok */
    uint64_t accesses, barriers, switches;
};

/* Run once. The first mistake ends the run. */
struct emu_report emu_run(struct emu_module *m, const struct emu_launch *l);

/* Run forward, in reverse and in random orders from the same buffers; the outputs must be the same
 * to the bit. The buffers keep the last run's. */
struct emu_report emu_check(struct emu_module *m, const struct emu_launch *l);

#endif
