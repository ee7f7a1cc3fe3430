/* vtable.h: what a backend implements. runtime.c checks arguments and forwards; cuda/ and cpu/
 * embed these structs as their first member.
 *
 * Ownership: devices and toolchains live in the arena given at open; modules are malloc'ed, because
 * a tuner loads thousands of them. Shared libraries stay open until the process ends: drivers keep
 * threads and exit handlers. */
#ifndef WS_RUNTIME_VTABLE_H
#define WS_RUNTIME_VTABLE_H

#include "runtime/runtime.h"

struct toolchain_ops {
    void (*compile)(struct toolchain *t, const char *name, const char *source, bool want_ptx,
                    struct compiled *out);
    void (*close)(struct toolchain *t); /* NULL: nothing is left to undo */
};

struct toolchain {
    const struct toolchain_ops *ops;
    const char *version, *settings;
    bool (*stopped)(void); /* does the user want no more of it? NULL: nobody asks */
};

struct device_ops {
    void (*close)(struct device *);
    enum ws_status (*reset)(struct device *, struct diag *);
    size_t (*memory_left)(struct device *);
    enum ws_status (*alloc)(struct device *, size_t, dptr *, struct diag *);
    void (*free)(struct device *, dptr);
    enum ws_status (*upload)(struct device *, dptr, const void *, size_t, struct diag *);
    enum ws_status (*download)(struct device *, void *, dptr, size_t, struct diag *);
    enum ws_status (*fill)(struct device *, dptr, int, size_t, struct diag *);
    enum ws_status (*keep)(struct device *, dptr, size_t, struct diag *); /* NULL: cannot */
    enum ws_status (*load)(struct device *, const void *, size_t, struct module **, struct diag *);
    void (*unload)(struct device *, struct module *);
    enum ws_status (*function_facts)(struct device *, struct module *, const char *, int, int,
                                     struct function_facts *, struct diag *);
    enum ws_status (*run)(struct device *, const struct launch *, int, struct diag *);
    enum ws_status (*time)(struct device *, const struct launch *, int, int, bool, double *,
                           struct sample_extra *, struct diag *);
    /* NULL: no counters */
    enum ws_status (*count)(struct device *, const struct launch *, int, struct counters *,
                            struct diag *);
    enum ws_status (*compare)(struct device *, dptr, struct runs, enum dtype, dptr, int64_t, dptr,
                              struct mismatch *, struct diag *);
    enum ws_status (*take)(struct device *, dptr, enum dtype, dptr, int64_t, double, dptr,
                           struct diag *);
    enum ws_status (*share)(struct device *, enum dtype, dptr, dptr, int64_t, double *,
                            struct diag *);
    enum ws_status (*find_changed)(struct device *, const dptr *, int, size_t, int, int *,
                                   struct diag *);
    void (*health)(struct device *, struct health *);
    enum ws_status (*copy_gbps)(struct device *, double *, struct diag *);
    void (*limit)(struct device *, double); /* NULL: calls cannot be stopped */
    void (*settle)(struct device *,
                   const struct env *); /* the process is the device's alone; NULL: nothing to do */
};

struct device {
    const struct device_ops *ops;
    struct device_limits limits;
    struct device_facts facts;
    const char *lost; /* NULL, or the sticky error after which only close and reset work */
    enum device_loss loss;
    int generation;        /* resets so far */
    bool (*stopped)(void); /* does the user want calls to end? NULL: nobody asks */
};

/* A launch over no elements does nothing: CUDA refuses an empty grid, so backends skip it and time
 * it as 0. */
static inline bool launch_is_empty(const struct launch *l) {
    return l->grid[0] == 0 || l->grid[1] == 0 || l->grid[2] == 0;
}

/* cuda/ */
enum ws_status cuda_toolchain_open(const char *arch, const struct env *env, struct arena *a,
                                   struct diag *d, struct toolchain **out);
/* How many GPUs the driver shows. WS_MACHINE if there is no working driver: d says why. */
enum ws_status cuda_count(const struct env *env, struct arena *a, struct diag *d, int *count);
enum ws_status cuda_open(int ordinal, bool timed, const struct env *env, struct arena *a,
                         struct diag *d, struct device **out);

/* cpu/ */
enum ws_status cpu_toolchain_open(const struct env *env, struct arena *a, struct diag *d,
                                  struct toolchain **out);
enum ws_status cpu_open(const struct env *env, struct arena *a, struct diag *d,
                        struct device **out);

/* remote/ */
enum ws_status remote_open(const char *name, struct arena *a, struct diag *d, struct device **out,
                           const char **why);
/* NVRTC for arch in worker processes; `real` has told the version. */
struct toolchain *remote_toolchain_open(const struct toolchain *real, const char *arch,
                                        struct arena *a);

/* Fill in what stands at element i of both, and the bound, 0 without one. */
void mismatch_values(struct mismatch *m, enum dtype t, const void *got, const void *want,
                     const float *bound, size_t i);

/* Median of n > 0 numbers; reorders them. */
double median(double *x, int n);

#endif
