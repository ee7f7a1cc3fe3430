/* runtime.h: the only folder that knows a driver. Two halves:
 *
 *   toolchain   source text -> binary (NVRTC -> cubin, cc -> .so). Needs no device; thread-safe.
 *   device      memory, modules, launches, clocks. One thread at a time.
 *
 * Both are vtables with one implementation for cuda (runtime/cuda/) and one for the CPU
 * (runtime/cpu/). Nothing is linked: libcuda, libnvrtc, libcupti and libnvidia-ml are opened at run
 * time. */
#ifndef WS_RUNTIME_H
#define WS_RUNTIME_H

#include <pthread.h>

#include "base/base.h"

/* ---- toolchain ------------------------------------------------------------------------------- */

struct toolchain; /* opaque */

struct compiled {
    bool ok;
    unsigned char *binary; /* malloc'ed: cubin, or the bytes of a shared object */
    size_t size;
    char *log;       /* malloc'ed compiler output, may be "" */
    char *ptx;       /* malloc'ed, CUDA with want_ptx only; else NULL */
    double ms;       /* wall time of this compile */
    bool killed;     /* the compiler was ended from outside: that says nothing about the text */
    bool serialized; /* NVRTC printed C75xx (wgmma serialized and the like): the variant must be
                        refused */
};
void compiled_free(struct compiled *c);

/* kind CUDA: arch is "sm_90a" and so on; fails with WS_MACHINE "libnvrtc.so not found; looked in
 * ...". kind CPU: arch is ignored (-march=native); fails if cc cannot be run. */
enum ws_status toolchain_open(enum device_kind kind, const char *arch, const struct env *env,
                              struct arena *a, struct diag *d, struct toolchain **out);
/* The same compiler in processes of its own, so that its crash or its endless loop on one text is a
 * compile that failed. The CPU's compiler is a process anyway. See worker_main. */
enum ws_status toolchain_open_isolated(enum device_kind kind, const char *arch,
                                       const struct env *env, struct arena *a, struct diag *d,
                                       struct toolchain **out);
void toolchain_close(struct toolchain *t);
/* NVRTC, if it is there, is read from the disk and has compiled a line beside what follows: it is a
 * hundred megabytes. In a process that has just begun, while a driver wakes up. */
struct toolchain_warming {
    struct env env;
    pthread_t thread;
    bool running;
};
void toolchain_warm(struct toolchain_warming *w, const struct env *env);
void toolchain_warmed(struct toolchain_warming *w); /* waits for it */
/* Compilers that are processes of their own are ended, and what they were to compile is refused as
 * "interrupted", soon after stopped() says yes. */
void toolchain_stop_when(struct toolchain *t, bool (*stopped)(void));
/* "NVRTC 13.0.88", "gcc (Debian 12.2.0-14) 12.2.0 -O3 -march=native" */
const char *toolchain_version(const struct toolchain *t);
/* All that decides what it makes of a text: its version, its options, and what of this machine it
 * compiles for, the latter two as a hash: "NVRTC 13.0.88 #1f0c22d9". What it has made, and times of
 * that, are valid for this. */
const char *toolchain_key(const struct toolchain *t, struct arena *a);

/* Compile one translation unit. Thread-safe; does not use the device. Never fails as a call:
 * out->ok tells. */
void toolchain_compile(struct toolchain *t, const char *name, const char *source, bool want_ptx,
                       struct compiled *out);

/* ---- device ---------------------------------------------------------------------------------- */

struct device; /* opaque */

struct device_facts {
    char name[128];  /* "NVIDIA H200", "AMD EPYC 9654" */
    char driver[64]; /* "580.159.03 (CUDA 13.0)", "Linux 6.1" */
    char timer[32];  /* "cupti", "monotonic": what device_time uses */
    char id[64];     /* "cuda:0", "cpu" */
    char uuid[64];   /* of the GPU, or "" */
};

/* name: "cuda:N", "cuda" (= cuda:0), "cpu", or NULL for the default (a GPU if there is one, else
 * the CPU).
 * why: one line, "device cuda:0: NVIDIA H200, sm_90a, 132 multiprocessors (default: a GPU is
 * present)". Errors (WS_MACHINE) say which library is missing and where it was looked for, or that
 * there is no such GPU; a name that is neither is WS_USAGE. CUPTI that is missing or taken by
 * another profiler is an error here too, named as such: there is no silent fallback to another
 * clock. */
enum ws_status device_open(const char *name, const struct env *env, struct arena *a, struct diag *d,
                           struct device **out, const char **why);
/* How many GPUs the driver shows, cuda:0 being the first; WS_MACHINE says why none can be used. */
enum ws_status device_gpus(const struct env *env, struct arena *a, struct diag *d, int *count);
/* The same without a clock, so that it works under a debugger or a sanitizer that holds CUPTI:
 * device_time and device_copy_gbps fail with WS_MACHINE. */
enum ws_status device_open_untimed(const char *name, const struct env *env, struct arena *a,
                                   struct diag *d, struct device **out);
/* The same device in a process of its own: a crash, a hang or an illegal access of generated code
 * ends that process, and device_reset starts another. Needs worker_main in the program's main. */
enum ws_status device_open_isolated(const char *name, struct arena *a, struct diag *d,
                                    struct device **out, const char **why);
/* To be called first in the main of a program that opens what is isolated, with its arguments from
 * the first on: workers are the same program, called `PROGRAM worker ...`. Does not return in a
 * worker. */
void worker_main(int argc, char **argv);

void device_close(struct device *dev);

/* After device_is_lost: a fresh context, or a fresh process. All memory, modules and helper buffers
 * of the device are gone (unloading an old module stays legal, running one is an error).
 * WS_MACHINE if the driver does not recover: the process must end. */
enum ws_status device_reset(struct device *dev, struct diag *d);
int device_generation(const struct device *dev); /* how often it was reset */
/* An isolated device: a call that takes longer than this fails, and the device is lost.
 * INFINITY, as at first: calls take as long as they take. Elsewhere nothing is stopped. */
void device_limit(struct device *dev, double ms);
/* An isolated device: a call that is under way fails, and the device is lost, a second after
 * stopped() says yes. The CPU in this process ends device_run behind the launch that is under way.
 * Elsewhere nothing is stopped. */
void device_stop_when(struct device *dev, bool (*stopped)(void));
/* Does it say so? For who makes many short calls. */
bool device_is_stopped(const struct device *dev);
const struct device_limits *device_limits(const struct device *dev);
const struct device_facts *device_facts(const struct device *dev);

/* Memory. A device pointer is an opaque 64-bit number (a host address on the CPU device), 256-byte
 * aligned. */
typedef uint64_t dptr;
size_t device_memory_left(struct device *dev); /* bytes; SIZE_MAX if it is not known */
enum ws_status device_alloc(struct device *dev, size_t bytes, dptr *out, struct diag *d);
void device_free(struct device *dev, dptr p);
enum ws_status device_upload(struct device *dev, dptr to, const void *from, size_t bytes,
                             struct diag *d);
enum ws_status device_download(struct device *dev, void *to, dptr from, size_t bytes,
                               struct diag *d);
enum ws_status device_fill(struct device *dev, dptr p, int byte, size_t bytes,
                           struct diag *d); /* poison: 0xFF */

/* What lies at p now is there again before each device_run and each repetition of device_time,
 * outside of what is timed: for tensors that launches update in place. It takes as much memory
 * again. bytes = 0: no longer; to be said before p is freed. Only the CPU does it. */
enum ws_status device_keep(struct device *dev, dptr p, size_t bytes, struct diag *d);

/* Modules: a binary made ready to launch. */
struct module;
enum ws_status device_load(struct device *dev, const void *binary, size_t size, struct module **out,
                           struct diag *d);
void device_unload(struct device *dev, struct module *m);

struct function_facts {
    int regs;            /* registers a thread; 0 on the CPU */
    int spill_bytes;     /* local memory a thread */
    int smem_static;     /* bytes a block */
    int blocks_per_unit; /* resident blocks at that block size and smem; 0 = cannot launch */
};
enum ws_status device_function_facts(struct device *dev, struct module *m, const char *entry,
                                     int threads, int smem, struct function_facts *out,
                                     struct diag *d);

/* One launch. args[i] points at the i-th argument's value (a dptr or an int64_t), as cuLaunchKernel
 * wants it; unless maps[i] is there, which the argument then is, in the 128 bytes that the device
 * makes of it: a kernel takes it as `const __grid_constant__`. A map that no TMA takes, or on a
 * device that has none, is WS_MACHINE. A CPU entry has the C type  void entry(void *const *args)
 * and finds its parallel loop itself. */
enum { LAUNCH_MAX_ARGS = 40 };
struct launch {
    struct module *module;
    const char *entry;
    int64_t grid[3];
    int threads;   /* per block, 1-D */
    int smem;      /* dynamic shared memory, bytes */
    bool overlaps; /* its text waits for earlier launches by itself (k_enter): on GPUs that can, its
                      blocks are made ready while the launch before it ends; unless it is the first
                      of a call, and unless WARPSMITH_OVERLAP=0 */
    int n_args;
    void *args[LAUNCH_MAX_ARGS];
    const struct tensor_map *maps[LAUNCH_MAX_ARGS]; /* NULL: args has it */
};

/* Run launches in order and wait. An illegal access or a launch failure is WS_MACHINE; after a
 * sticky CUDA error device_is_lost() is true and the caller must device_reset it. */
enum ws_status device_run(struct device *dev, const struct launch *l, int n, struct diag *d);
bool device_is_lost(const struct device *dev);
enum device_loss {
    DEVICE_FINE,
    DEVICE_POISONED, /* an error that the context keeps: an illegal access, say */
    DEVICE_DIED,     /* the isolated process ended */
    DEVICE_KILLED, /* it was ended by a signal from outside, as the system does when memory is short
                    */
    DEVICE_HUNG,   /* it was ended for it took longer than device_limit */
};
enum device_loss device_loss(const struct device *dev);

/* Time `samples` repetitions of the n launches, after one untimed one. Before each repetition,
 * outside every window, the caches are flushed (L2 / last level) if flush is set. us[s*n + i] is
 * launch i of repetition s in microseconds, from CUPTI kernel records selected by correlation id,
 * or from the monotonic clock on the CPU. A launch whose grid is empty takes 0,
 * one that overlaps what is left after the one before has ended. extra[s] (may be
 * NULL) is what else is known of a repetition. */
struct sample_extra {
    double host_us; /* the host's time to submit it; 0 on the CPU, where a launch is a call */
    double span_us; /* from the start of its first launch to the end of its last, gaps included */
    bool queued;    /* all was submitted before the first launch began: no gap is the host's */
};
enum ws_status device_time(struct device *dev, const struct launch *l, int n, int samples,
                           bool flush, double *us, struct sample_extra *extra, struct diag *d);

/* ---- hardware counters ----------------------------------------------------------------------- */

/* C(name, how the launches of one kernel add up). Bytes, events and cycles are summed; the others
 * are means weighted with the cycles. */
#define COUNTERS(C)                                                                                \
    C(dram_read_bytes, SUM)                                                                        \
    C(dram_write_bytes, SUM) /* what is still in the L2 when the launch ends is not in it */       \
    C(local_bytes, SUM)      /* spilled registers and local arrays, between the SM and its L1 */   \
    C(bank_conflicts, SUM)   /* extra cycles of shared memory */                                   \
    C(instructions, SUM)     /* of whole warps */                                                  \
    C(cycles, SUM)     /* from start to end; the profiler holds the clock: no measure of time */   \
    C(occupancy, MEAN) /* achieved: resident warps / most that fit, 0 to 1 */                      \
    C(l2_hit_pct, MEAN)                                                                            \
    C(l2_busy_pct, MEAN) /* of the L2's busiest part */                                            \
    C(issue_pct, MEAN)   /* cycles in which a scheduler issued an instruction */

/* Where instructions execute; busy is % of the most that the pipe can take. */
#define COUNTER_PIPES(P)                                                                           \
    P(alu, "integer and logic")                                                                    \
    P(fma, "floating point")                                                                       \
    P(xu, "special functions (exp, log, sin, sqrt, divisions, conversions)")                       \
    P(lsu, "loads and stores")                                                                     \
    P(tensor, "matrix multiplication")                                                             \
    P(fp64, "double precision")

/* Why a resident warp issues nothing; % of the cycles that warps were resident. */
#define COUNTER_STALLS(S)                                                                          \
    S(long_scoreboard, "waits for data from global or local memory")                               \
    S(short_scoreboard, "waits for shared memory or a special function")                           \
    S(barrier, "waits for the other warps of its block")                                           \
    S(membar, "waits for a memory fence")                                                          \
    S(wait, "waits out the fixed latency of an instruction")                                       \
    S(math_pipe_throttle, "waits for a busy arithmetic pipe")                                      \
    S(mio_throttle, "waits for the queue of shared memory and special functions")                  \
    S(lg_throttle, "waits for the queue of global and local memory")                               \
    S(gmma, "waits for the matrix units")                                                          \
    S(drain, "waits for its last stores")                                                          \
    S(no_instruction, "waits for its next instruction to be fetched")                              \
    S(branch_resolving, "waits for a branch")                                                      \
    S(not_selected, "could issue, another warp did")

enum counter_pipe {
#define P(name, text) PIPE_##name,
    COUNTER_PIPES(P)
#undef P
        N_PIPES
};
enum counter_stall {
#define S(name, text) STALL_##name,
    COUNTER_STALLS(S)
#undef S
        N_STALLS
};

/* A counter that the chip does not have is NAN. */
struct counters {
#define C(name, how) double name;
    COUNTERS(C)
#undef C
    double pipe_pct[N_PIPES];
    double stall_pct[N_STALLS];
};

/* What the hardware counts while each of n launches runs, caches flushed before the first as in
 * device_time and nothing left to be written back. out[i] is of launch i; an empty one counts no
 * bytes. The launches run about ten times each, as not all counters fit into one run, and slower
 * than they are: never while timing. WS_MACHINE with one message where there is nothing to count
 * with: the CPU, a driver that keeps counters for administrators, another profiler in the way; it
 * is the same at every call. */
enum ws_status device_count(struct device *dev, const struct launch *l, int n, struct counters *out,
                            struct diag *d);

struct counters counters_unknown(void);
/* Of the launches that make up one kernel. */
struct counters counters_total(const struct counters *c, int n);
/* The busiest pipe, the main reason to wait: -1 if none is known or all are 0. */
int counters_busiest_pipe(const struct counters *c);
int counters_top_stall(const struct counters *c);
const char *counter_pipe_name(int pipe);
const char *counter_pipe_text(int pipe);
const char *counter_stall_name(int stall);
const char *counter_stall_text(int stall);

/* ---- comparing and health -------------------------------------------------------------------- */

/* Compare n elements of type dtype at `got` with reference values at `want` (both on the device),
 * f64 or, of integers and bools, i64 (dtype_reference). An element is bad if
 * !(|got - want| <= bound), NaN matching NaN and inf matching inf of the same sign. `bound` is on
 * the device, too, f32 for each element; 0 where all have to be equal. An infinite one allows
 * anything. */
struct mismatch {
    int64_t bad;       /* how many */
    int64_t unbounded; /* how many have an infinite bound: what they are says nothing */
    int64_t worst; /* first index of the largest |got - want| / bound, NaN mismatches rank first,
                    * then infinities that differ; given even if nothing is bad; -1 if n is 0 */
    double got, want, bound;
    int64_t got_int, want_int; /* the same, exactly, where the type is no float */
};
enum ws_status device_compare(struct device *dev, dptr got, enum dtype dtype, dptr want, int64_t n,
                              dptr bound, struct mismatch *out, struct diag *d);
/* The same where others' memory lies between the elements of `got`: after so many of them, the next
 * so many begin `pitch` elements behind the first of these. */
struct runs {
    int64_t length, pitch;
};
enum ws_status device_compare_runs(struct device *dev, dptr got, struct runs runs, enum dtype dtype,
                                   dptr want, int64_t n, dptr bound, struct mismatch *out,
                                   struct diag *d);

/* What a trusted kernel left, as a reference: n elements of type dtype at `from` become f64 or i64
 * at `want`, and, unless it is 0, the f32 at `bound` that share of an element's size and of the
 * root mean square of all; of what is not finite, of that mean. */
enum ws_status device_take(struct device *dev, dptr from, enum dtype dtype, dptr want, int64_t n,
                           double share, dptr bound, struct diag *d);
/* The least share that none of these bounds exceeds. */
enum ws_status device_share(struct device *dev, enum dtype dtype, dptr want, dptr bound, int64_t n,
                            double *share, struct diag *d);

/* Of n pieces of memory of `bytes` bytes each, wherever they begin: *first is the number of the
 * first that holds anything but `byte`, -1 if none does. One call, however many they are. */
enum ws_status device_find_changed(struct device *dev, const dptr *at, int n, size_t bytes,
                                   int byte, int *first, struct diag *d);

/* Health at this moment. Unknown fields are -1 (NVML missing) and throttle is "". */
struct health {
    int clock_mhz, mem_clock_mhz, temp_c, power_w;
    uint64_t throttle_bits; /* NVML's, without those that are no throttling (idle, clocks set by
                               hand); 0 = none */
    char throttle[64];      /* "none", "sw_power_cap", "hw_slowdown+sw_thermal", ... */
};
void device_health(struct device *dev, struct health *out);

/* Measured copy bandwidth in GB/s, bytes read plus bytes written, by a streaming copy kernel over a
 * buffer far larger than the caches, timed by the same timer. Takes some milliseconds; the caller
 * stores it. */
enum ws_status device_copy_gbps(struct device *dev, double *gbps, struct diag *d);

#endif
