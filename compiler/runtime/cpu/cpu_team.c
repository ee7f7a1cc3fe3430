/* cpu_team.c: the threads that kernels run on, and our own loops on the same threads.
 *
 * A kernel brings its compiler's OpenMP along, and that need not be ours: ours may be linked
 * statically, or be GCC's where kernels are LLVM's. The threads of an OpenMP spin for milliseconds
 * after a loop, so two of them on the same cores take time from each other: a kernel of 3 us that
 * followed a loop of ours took 3 ms. From the first module on, all runs on that module's threads.
 */
#define _GNU_SOURCE /* dladdr, CPU_SET */
#include <dlfcn.h>
#include <sched.h>
#include <string.h>

#include "runtime/cpu/cpu_device.h"

/* ---- adopting -------------------------------------------------------------------------------- */

static void pin_thread(void *arg) {
    const struct cpu_device *c = arg;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(c->cpus[c->team.thread() % c->n_cpus], &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* Both libgomp and LLVM's have these three. */
void cpu_adopt_team(struct cpu_device *c, void *module) {
    void *parallel = dlsym(module, "GOMP_parallel");
    void *thread = dlsym(module, "omp_get_thread_num"),
         *size = dlsym(module, "omp_get_num_threads");
    Dl_info where;
    if (c->team.parallel || !parallel || !thread || !size) return;
    /* it outlives the module */
    if (!dladdr(parallel, &where) || !dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD)) return;
    memcpy(&c->team.thread, &thread,
           sizeof thread); /* ISO C has no cast from object to function pointer */
    memcpy(&c->team.size, &size, sizeof size);
    memcpy(&c->team.parallel, &parallel, sizeof parallel);
    if (c->pin) c->team.parallel(pin_thread, c, (unsigned)c->threads, 0);
}

/* ---- loops ----------------------------------------------------------------------------------- */

struct loop {
    const struct cpu_device *c;
    int64_t n;
    void (*body)(void *arg, int64_t i);
    void *arg;
};

/* The same iterations go to the same thread every time: pages lie near who touched them first. */
static void run_part(const struct loop *l, int64_t part) {
    int64_t begin = l->n * part / l->c->threads, end = l->n * (part + 1) / l->c->threads;
    for (int64_t i = begin; i < end; i++) l->body(l->arg, i);
}

static void run_parts(void *arg) {
    const struct loop *l = arg;
    for (int i = l->c->team.thread(); i < l->c->threads; i += l->c->team.size()) run_part(l, i);
}

void cpu_each(const struct cpu_device *c, int64_t n, void (*body)(void *arg, int64_t i),
              void *arg) {
    struct loop l = {c, n, body, arg};
    if (c->team.parallel) {
        c->team.parallel(run_parts, &l, (unsigned)c->threads, 0);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int i = 0; i < c->threads; i++) run_part(&l, i);
}
