/* check.h: everything that must hold for one graph.
 *
 *   the graph verifies, prints and parses back to itself; simplifying and decomposing it keep its
 *   value; it lowers, eager and fused, for a new GPU, an old one and the CPU; every kernel can be
 *   emitted under its default and a few random configs; what is emitted computes the same value on
 *   the emulator and, for some, on the CPU device */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include "runtime/runtime.h"
#include "tests/fuzz/drive.h"

/* FINDING(id, printed) */
#define FINDINGS(FINDING)                                                                          \
    FINDING(FINE, "fine")                                                                          \
    FINDING(WILD, "integers overflow")                                                             \
    FINDING(REFUSED, "refused")                                                                    \
    FINDING(TEXT, "does not print and parse back")                                                 \
    FINDING(VERIFY, "does not verify")                                                             \
    FINDING(REWRITE, "rewriting changed the value")                                                \
    FINDING(EMIT, "not emitted")                                                                   \
    FINDING(COMPILE, "does not compile")                                                           \
    FINDING(EMULATOR, "wrong on the emulator")                                                     \
    FINDING(CPU, "wrong on the CPU")                                                               \
    FINDING(CRASH, "the compiler crashed")                                                         \
    FINDING(TIMEOUT, "took too long")

enum finding {
#define FINDING(id, printed) FOUND_##id,
    FINDINGS(FINDING)
#undef FINDING
};
const char *finding_name(enum finding f);
bool finding_is_bug(enum finding f);

/* FUZZ_COUNT(name, what) */
#define FUZZ_COUNTS(FUZZ_COUNT)                                                                    \
    FUZZ_COUNT(graphs, "graphs")                                                                   \
    FUZZ_COUNT(wild, "not judged: integers overflow")                                              \
    FUZZ_COUNT(refused, "refused by the compiler")                                                 \
    FUZZ_COUNT(kernels, "kernels lowered")                                                         \
    FUZZ_COUNT(configs, "kernels emitted under a config")                                          \
    FUZZ_COUNT(emulated, "programs run on the emulator")                                           \
    FUZZ_COUNT(cpu, "programs run on the CPU")                                                     \
    FUZZ_COUNT(forgiven, "elements that rounding decides")                                         \
    FUZZ_COUNT(bugs, "bugs found")                                                                 \
    FUZZ_COUNT(milliseconds, "milliseconds")

struct fuzz_counts {
#define FUZZ_COUNT(name, what) int64_t name;
    FUZZ_COUNTS(FUZZ_COUNT)
#undef FUZZ_COUNT
};
void fuzz_counts_add(struct fuzz_counts *to, const struct fuzz_counts *from);

/* One graph to check. All choices (values, modes, configs) follow from its text and the seed. */
struct fuzz_case {
    const char *text;
    uint64_t seed;
    bool thorough;   /* every mode and device, more configs: to repeat a failure */
    bool lower_only; /* nothing is run */
};

struct fuzz_verdict {
    enum finding finding;
    char text[6000]; /* what was wrong, in words */
};

/* Where the CPU's part runs; opened once. */
struct fuzz_cpu {
    struct device *dev;
    struct toolchain *toolchain;
};
bool fuzz_cpu_open(struct arena *a, struct fuzz_cpu *cpu, struct diag *d);
void fuzz_cpu_close(struct fuzz_cpu *cpu);

/* Check the cases one after the other, their kernels compiled together. A crash is not caught. The
 * first bug ends it: its case is returned (n if it is not known which), -1 if there is none. */
int fuzz_check(const struct fuzz_case *cases, int n, const struct fuzz_cpu *cpu,
               struct fuzz_verdict *v, struct fuzz_counts *counts);

/* The same in a process of its own, which may crash. A bug among many is pinned to one case; n: it
 * happens only when they are checked together. */
int fuzz_check_safely(const struct fuzz_case *cases, int n, const struct fuzz_cpu *cpu,
                      struct fuzz_verdict *v, struct fuzz_counts *counts);

#endif
