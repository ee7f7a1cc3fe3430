/* budget.c: charges are an addition and a comparison; the clock is looked at every 64 Ki steps. */
#include "base/budget.h"

#include <pthread.h>
#include <sys/resource.h>

#include "base/arena.h"

enum { LOOK_EVERY = 1 << 16 };
#define STACK_UNKNOWN ((size_t)8 << 20) /* bytes that a thread has where nobody says */

static double seconds_on(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uintptr_t stack_now(void) { return (uintptr_t)__builtin_frame_address(0); }

/* A quarter is for who began and for functions that do not ask. More than that of 64 MB is no
 * depth that a program means. */
static size_t stack_most(void) {
    struct rlimit r;
    size_t n = STACK_UNKNOWN;
    if (getrlimit(RLIMIT_STACK, &r) == 0 && r.rlim_cur != RLIM_INFINITY) n = (size_t)r.rlim_cur;
    if (n > 8 * STACK_UNKNOWN) n = 8 * STACK_UNKNOWN;
    return n / 4 * 3;
}

struct budget budget_new(const struct budget_limits *limits) {
    static const struct budget_limits workload = {BUDGET_SECONDS, BUDGET_MEMORY, NULL};
    clockid_t clock;
    if (pthread_getcpuclockid(pthread_self(), &clock)) clock = CLOCK_THREAD_CPUTIME_ID;
    return (struct budget){.limits = limits ? *limits : workload,
                           .until_look = LOOK_EVERY,
                           .clock = clock,
                           .begun_s = seconds_on(clock),
                           .begun_wall_s = seconds_on(CLOCK_MONOTONIC),
                           .stack = stack_now(),
                           .stack_most = stack_most()};
}

static bool ended(struct budget *b, enum budget_end why) {
    b->end = why;
    if (b->leave) b->leave(b->ctx);
    return false;
}

double budget_seconds(const struct budget *b) { return seconds_on(b->clock) - b->begun_s; }

static bool is_late(const struct budget *b) {
    return b->limits.seconds > 0 && budget_seconds(b) > b->limits.seconds;
}

/* The clock of another thread is a system call of some 0.3 us. No thread's is ahead of the wall's,
 * which is read in a tenth of that. */
bool budget_is_over(const struct budget *b) {
    if (!b) return false;
    if (b->limits.stopped && b->limits.stopped()) return true;
    if (b->limits.seconds <= 0) return false;
    double wall_s = seconds_on(CLOCK_MONOTONIC) - b->begun_wall_s;
    return wall_s > b->limits.seconds && is_late(b);
}

static bool look(struct budget *b) {
    b->until_look = LOOK_EVERY;
    if (b->limits.stopped && b->limits.stopped()) return ended(b, BUDGET_STOPPED);
    if (is_late(b)) return ended(b, BUDGET_OUT_OF_TIME);
    return true;
}

bool budget_step(struct budget *b, uint64_t n) {
    if (!b) return true;
    if (b->end) return false;
    b->until_look = n < LOOK_EVERY ? b->until_look - (int64_t)n : 0;
    return b->until_look > 0 || look(b);
}

bool budget_memory(struct budget *b, size_t bytes) {
    if (!b) return true;
    if (b->end) return false;
    bool fits = !__builtin_add_overflow(b->memory, bytes, &b->memory);
    if (fits && (!b->limits.memory || b->memory <= b->limits.memory)) return true;
    if (!fits) b->memory = SIZE_MAX;
    return ended(b, BUDGET_OUT_OF_MEMORY);
}

bool budget_deep(const struct budget *b) {
    if (!b) return false;
    uintptr_t now = stack_now();
    return (now < b->stack ? b->stack - now : now - b->stack) > b->stack_most;
}

const char *budget_message(const struct budget *b, struct arena *a) {
    switch (b->end) {
    case BUDGET_LASTS: break;
    case BUDGET_STOPPED: return "interrupted";
    case BUDGET_OUT_OF_TIME:
        return arena_printf(a,
                            "stopped after %g s: is this an infinite loop? --limit-seconds sets "
                            "another limit, 0 none",
                            b->limits.seconds);
    case BUDGET_OUT_OF_MEMORY:
        return arena_printf(a,
                            "stopped: the program made more than %zu MB of values; --limit-memory "
                            "sets another limit, 0 none",
                            b->limits.memory >> 20);
    }
    return "";
}
