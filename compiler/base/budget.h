/* budget.h: how much work a file may make us do that anyone may have written: one account of time,
 * memory and depth, which everything charges that a few lines of a file can make large.
 *
 *     struct budget b = budget_new(&limits);
 *     b.leave = refuse, b.ctx = vm;        leaves by longjmp, so that nobody has to look
 *     arena_charge(arena, &b);             what arena hands out is memory, and a step each time
 *     ...
 *     if (!budget_step(&b, n)) ...         a loop that allocates nothing: n units of about 10 ns
 *     if (!budget_memory(&b, bytes)) ...   memory that is of no arena, before it is allocated
 *     if (budget_deep(&b)) ...             a function that calls itself
 *     ...
 *     arena_charge(arena, NULL);
 *
 * What is counted: running the module body and tracing forward (capture), and lowering what was
 * captured (compile). What is not: tensors, which are compared with what the machine has (the
 * tuner's and the eager interpreter's business), the C compiler, measuring and tuning.
 *
 * Time is processor time of the thread: a busy machine, or Ctrl-Z, makes no program too slow.
 * Depth is measured on the stack itself, so that no way out of a function (return, longjmp) has to
 * count back.
 *
 * The first charge too many ends the budget: it calls leave, which may not come back, or returns
 * false, as all later ones do. By then the message can be made: nothing is refused to that.
 *
 * Ownership: lies on the stack of who begins the work, in whose frame leave ends. */
#ifndef WS_BASE_BUDGET_H
#define WS_BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct arena;

/* What a workload gets unless the user says otherwise. A script is a program that the user runs, as
 * python3 would: it may take as long as it takes, and its values are never freed. */
#define BUDGET_SECONDS 10.0
#define BUDGET_MEMORY ((size_t)1 << 30)
#define BUDGET_SCRIPT_SECONDS 0.0
#define BUDGET_SCRIPT_MEMORY ((size_t)1 << 33)

struct budget_limits {
    double seconds;        /* of processor time; 0: any */
    size_t memory;         /* bytes; 0: any */
    bool (*stopped)(void); /* has the user asked us to end? NULL: nobody can */
};

enum budget_end {
    BUDGET_LASTS,
    BUDGET_OUT_OF_TIME,
    BUDGET_OUT_OF_MEMORY,
    BUDGET_STOPPED, /* by the user */
};

struct budget {
    struct budget_limits limits;
    enum budget_end end;
    size_t memory;      /* bytes charged so far */
    int64_t until_look; /* steps until the clock is looked at */
    clockid_t clock;    /* of the thread that began */
    double begun_s;     /* on it */
    double begun_wall_s;
    uintptr_t stack;          /* where it was when the budget began */
    size_t stack_most;        /* bytes of it that may be used */
    void (*leave)(void *ctx); /* NULL: charges return false */
    void *ctx;
};

/* limits may be NULL: those of a workload. */
struct budget budget_new(const struct budget_limits *limits);

/* Charges; false if that is too much, or something was before. b may be NULL: no limits. */
bool budget_step(struct budget *b, uint64_t n);
bool budget_memory(struct budget *b, size_t bytes);

/* Asked by any thread that works for the one which began, while that waits: is there no time left,
 * or has the user asked us to end? Ends nothing: whoever began charges a step then. */
bool budget_is_over(const struct budget *b);

/* Is the C stack nearly used up? Nothing is charged. */
bool budget_deep(const struct budget *b);

/* Seconds of the thread since the budget began. */
double budget_seconds(const struct budget *b);

/* Why it ended, for the user: "stopped after 10 s ...". */
const char *budget_message(const struct budget *b, struct arena *a);

#endif
