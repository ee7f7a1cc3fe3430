/* cpu_device.h: what the files of runtime/cpu/ share.
 *
 *   cpu_toolchain.c  C -> shared object through the system's compiler
 *   cpu_scratch.c    the folder that it works in
 *   cpu_device.c     memory, modules, launches, clock
 *   cpu_facts.c      name, caches, cores, vector width
 *   cpu_compare.c    got against reference
 *   cpu_stream.c     cache flush and copy bandwidth
 *   cpu_team.c       the threads that kernels and our own loops run on */
#ifndef WS_RUNTIME_CPU_DEVICE_H
#define WS_RUNTIME_CPU_DEVICE_H

#include "runtime/vtable.h"

enum { MAX_CPUS = 1024 }; /* CPU_SETSIZE */

/* The OpenMP that kernels run on, once a module has brought it; all NULL before. */
struct cpu_team {
    void (*parallel)(void (*fn)(void *), void *arg, unsigned threads, unsigned flags);
    int (*thread)(void); /* within parallel: which one this is, and of how many */
    int (*size)(void);
};

/* See device_keep. */
struct kept {
    struct kept *next;
    char *p, *copy; /* copy: malloc'ed */
    size_t bytes;
};

struct cpu_device {
    struct device base;
    int threads;                /* of every parallel loop: one a physical core */
    int cpus[MAX_CPUS], n_cpus; /* one CPU of every physical core that we may use */
    bool pin;                   /* threads are to be bound to these */
    struct cpu_team team;
    struct kept *kept;    /* malloc'ed */
    unsigned char *flush; /* malloc'ed at first use */
    size_t flush_bytes;
};

/* cpu_scratch.c. A folder of its own for one compile, below tmp; false with errno set. */
struct scratch {
    int fd; /* of the folder; -1: none */
    char path[512];
};
bool scratch_make(struct scratch *f, const char *tmp);
void scratch_remove(struct scratch *f);
/* Remove those of processes that are no more. */
void scratch_sweep(const char *tmp);

/* cpu_facts.c: fills limits and facts. */
enum ws_status cpu_read_facts(struct cpu_device *c, const struct env *env, struct diag *d);

/* cpu_compare.c */
enum ws_status cpu_take(struct device *dev, dptr from, enum dtype dtype, dptr want, int64_t n,
                        double share, dptr bound, struct diag *d);
enum ws_status cpu_share(struct device *dev, enum dtype dtype, dptr want, dptr bound, int64_t n,
                         double *share, struct diag *d);
enum ws_status cpu_compare(struct device *dev, dptr got, struct runs runs, enum dtype dtype,
                           dptr want, int64_t n, dptr bound, struct mismatch *out, struct diag *d);

/* cpu_stream.c */
size_t cpu_flush_size(int64_t cache); /* bytes to sweep where the last-level caches hold so many */
enum ws_status cpu_flush_prepare(struct cpu_device *c, struct diag *d);
void cpu_flush(struct cpu_device *c);
enum ws_status cpu_copy_gbps(struct device *dev, double *gbps, struct diag *d);
void cpu_fill_parallel(const struct cpu_device *c, void *p, int byte, size_t bytes);
void cpu_copy_parallel(const struct cpu_device *c, void *to, const void *from, size_t bytes);

/* cpu_team.c */
void cpu_adopt_team(struct cpu_device *c,
                    void *module); /* a dlopen handle; only the first one's counts */
/* body(arg, i) for 0 <= i < n, on all threads; a thread has a run of neighbours, the same ones
 * every time */
void cpu_each(const struct cpu_device *c, int64_t n, void (*body)(void *arg, int64_t i), void *arg);

double cpu_now_us(void); /* monotonic */

#endif
