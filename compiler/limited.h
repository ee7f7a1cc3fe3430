/* limited.h: a part of the pipeline that ends in time, in little memory, and with sizes that have
 * 64 bits; or with one message. */
#ifndef WS_LIMITED_H
#define WS_LIMITED_H

#include "base/base.h"

/* What is long for a capture, which follows the program, is not for what is made of it: the
 * gradients of a network of 200 layers take some 5 s to become kernels. */
enum { LIMITED_TIMES = 6 };

/* work(ctx), charged with what it allocates in a, its sizes from ex. False, with a message in d, if
 * it came to an end of its own: out of the budget (limits NULL: a workload's; LIMITED_TIMES its
 * seconds), or where a size overflowed. Passes leave by longjmp: all they make lies in arenas. */
bool run_limited(struct arena *a, struct exprs *ex, const struct budget_limits *limits,
                 void (*work)(void *ctx), void *ctx, struct diag *d);

#endif
