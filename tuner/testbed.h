/* testbed.h: where the kernels of a program are tried one by one.
 *
 * Every temporary has memory of its own, and a checked run of the default program has filled it: so
 * each kernel finds its inputs in place. From these very inputs the reference says what each kernel
 * should write (ws_alone_of), and how far off that may be: so each is judged alone, the default's
 * first, and what is wrong has the name of a kernel.
 *
 *   kernel k_softmax_2 alone: b7[3, 17] is 0.5, expected 0.25, off by more than 2e-07 (...)
 *
 * A program of one kernel was judged as a whole. What is no tensor of the graph, as the parts of a
 * sum, and all of it where the reference has no memory, is compared with what the default left.
 * While a testbed is open, no call of the device may take much longer than the default program
 * (patience.h). */
#ifndef TUNER_TESTBED_H
#define TUNER_TESTBED_H

#include "tuner/plan.h"

struct testbed {
    struct machine *machine;
    struct data *data;
    const struct plan *plan; /* the default program, loaded */
    struct buffers buffers;
    double default_ms;         /* wall time of one checked run of the default program */
    struct ws_alone alone;     /* of several kernels: what each of them makes of what it reads */
    struct data kernels;       /* its reference */
    struct expected *expected; /* by buffer that is written; owned by kernels or the data, ... */
    bool *taken;               /* ... or, as nothing better is known, what the default left there */
};

enum ws_status testbed_open(struct testbed *t, struct data *x, const struct plan *p,
                            struct arena *a, struct diag *d);
void testbed_close(struct testbed *t);

/* Each of several kernels of a plan alone, whether or not the whole is right. WS_WRONG names the
 * first that is wrong. What is in the memory of outputs is lost. */
enum ws_status testbed_judge(struct data *x, const struct plan *p, struct arena *a,
                             const char **remark, struct diag *d);
/* Of a plan whose outputs are wrong: what that says, as a line. "": there is one kernel. */
const char *testbed_blame(struct data *x, const struct plan *p, struct arena *a);
/* The line that says how many buffers the reference knew; "": there is one kernel. */
const char *testbed_remark(const struct testbed *t, struct arena *a);

/* Poison what the kernel writes, run it, compare. *message as in check_buffer. *spoilt: it wrote
 * where nothing of its own lies, so nothing in place can be relied on. */
enum ws_status testbed_check(struct testbed *t, const struct variant *v, const char **message,
                             bool *spoilt, struct diag *d);
/* Let the default write the kernel's outputs again: another variant may have spoilt them. */
enum ws_status testbed_restore(struct testbed *t, int kernel, struct diag *d);
/* After device_is_lost, or when memory was spoilt: reset the device, and set everything up again.
 */
enum ws_status testbed_recover(struct testbed *t, struct diag *d);

#endif
