/* bench_fiber: what a switch of fibers and the hooks of a kernel cost on this machine, in CPU time:
 * one row "measure,value,unit" each, for bench.sh. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/emulator/emu.h"
#include "tests/emulator/fiber.h"

enum { SWITCHES = 4000000, ROUNDS = 2000, THREADS = 256 };

static const char TEXT[] = "#include \"emulator.h\"\n"
                           "extern \"C\" __global__ void barriers(long long n) {\n"
                           "    for (long long i = 0; i < n; i++) __syncthreads();\n"
                           "}\n"
                           "extern \"C\" __global__ void shuffles(long long n) {\n"
                           "    int v = 0;\n"
                           "    for (long long i = 0; i < n; i++)\n"
                           "        v += __shfl_xor_sync(0xffffffffu, v, 1);\n"
                           "}\n"
                           "extern \"C\" __global__ void stores(long long n) {\n"
                           "    __shared__ volatile float slot[1024];\n"
                           "    for (long long i = 0; i < n; i++) slot[threadIdx.x] = (float)i;\n"
                           "}\n";

struct pair {
    struct fiber main, other;
};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bounce(void *arg) {
    struct pair *p = arg;
    for (;;) fiber_switch(&p->other, &p->main);
}

static void time_switch(void) {
    enum { STACK_BYTES = 65536 };
    struct pair p;
    void *stack = aligned_alloc(16, STACK_BYTES);
    if (!stack) return;
    fiber_init(&p.other, stack, STACK_BYTES, bounce, &p);
    double start = seconds();
    for (int i = 0; i < SWITCHES / 2; i++) fiber_switch(&p.main, &p.other);
    printf("switch between two fibers,%.1f,ns\n", 1e9 * (seconds() - start) / SWITCHES);
    free(stack);
}

/* Nanoseconds of one of the `each` things that the kernel's threads do in a round. */
static bool time_kernel(struct emu_module *m, const char *kernel, double each,
                        const char *measure) {
    long long n = ROUNDS;
    void *args[] = {&n};
    struct emu_launch l = {.kernel = kernel, .threads = {THREADS}, .args = args, .n_args = 1};
    double start = seconds();
    struct emu_report r = emu_run(m, &l);
    if (!r.ok) return fprintf(stderr, "%s\n", r.message), false;
    printf("%s,%.1f,ns\n", measure, 1e9 * (seconds() - start) / ROUNDS / each);
    return true;
}

int main(void) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct emu *e = emu_new();
    time_switch();
    struct emu_module *m =
        emu_open(e, TEXT, (const char *[]){"barriers", "shuffles", "stores"}, 3, &d);
    bool ok =
        m && time_kernel(m, "barriers", THREADS, "__syncthreads of one thread in a block of 256") &&
        time_kernel(m, "shuffles", THREADS, "__shfl_xor_sync of one thread") &&
        time_kernel(m, "stores", THREADS, "judged store of 4 bytes to shared memory");
    if (!m) fputs(d.text, stderr);
    emu_free(e);
    arena_free(a);
    return ok ? 0 : 1;
}
