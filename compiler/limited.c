/* limited.c: setjmp around a part of the pipeline. */
#include "limited.h"

#include <setjmp.h>
#include <string.h>

struct limited {
    jmp_buf out;
    struct budget budget;
    struct arena *arena;
    struct diag *d;
};

static void out_of_budget(void *ctx) {
    struct limited *l = ctx;
    const char *why = budget_message(&l->budget, l->arena);
    if (l->budget.end == BUDGET_OUT_OF_TIME)
        why = arena_printf(l->arena,
                           "stopped: compiling took more than %g s, which is %d times "
                           "--limit-seconds; 0 is no limit",
                           l->budget.limits.seconds, LIMITED_TIMES);
    diag_fail(l->d, WS_WRONG, "%s", why);
    longjmp(l->out, 1);
}

static void too_large(void *ctx, const char *why) {
    struct limited *l = ctx;
    int n = (int)strlen(why);
    while (n && why[n - 1] == '\n') n--;
    diag_fail(l->d, WS_WRONG, "%.*s", n, why);
    longjmp(l->out, 1);
}

bool run_limited(struct arena *a, struct exprs *ex, const struct budget_limits *limits,
                 void (*work)(void *ctx), void *ctx, struct diag *d) {
    struct limited l = {.budget = budget_new(limits), .arena = a, .d = d};
    l.budget.limits.seconds *= LIMITED_TIMES;
    l.budget.leave = out_of_budget, l.budget.ctx = &l;
    struct ex_escape before = ex_set_escape(ex, (struct ex_escape){too_large, &l});
    arena_charge(a, &l.budget);
    if (!setjmp(l.out)) work(ctx);
    arena_charge(a, NULL);
    ex_set_escape(ex, before);
    return d->status == WS_OK;
}
