/* testbed.h: where the kernels of a program are tried one by one.
 *
 * Every temporary has memory of its own, and a checked run of the default program has filled it: so
 * each kernel finds its inputs in place. What a variant writes from these very inputs is compared
 * with what the default has left there, and outputs with the reference. (Where a temporary differs
 * from the default's, the reference of its kernel has the last word: alone_acquit.)
 *
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
    struct expected *expected; /* by buffer that is written; owned by the data, ... */
    bool *taken;               /* ... or else what the default left there */
    int64_t unbounded;         /* elements that had no bound when they were compared */
};

enum ws_status testbed_open(struct testbed *t, struct data *x, const struct plan *p,
                            struct arena *a, struct diag *d);
void testbed_close(struct testbed *t);

/* The same in steps: the memory; a checked run, of which outputs may be wrong (WS_WRONG); and what
 * the plan has left there, for variants to be compared with. expected[] is empty in between, for
 * the caller to use. */
enum ws_status testbed_place(struct testbed *t, struct data *x, const struct plan *p,
                             struct arena *a, struct diag *d);
enum ws_status testbed_run(struct testbed *t, struct diag *d);
enum ws_status testbed_know(struct testbed *t, struct diag *d);

/* Poison what the kernel writes, run it, compare. *message as in check_buffer. *spoilt: it wrote
 * where nothing of its own lies, so nothing in place can be relied on. again: it has been run since
 * its launches were taken, and what it keeps across calls is not made anew. */
enum ws_status testbed_check(struct testbed *t, const struct variant *v, bool again,
                             const char **message, bool *spoilt, struct diag *d);
/* What the kernel has written, as it is. */
enum ws_status testbed_compare(struct testbed *t, const struct variant *v, const char **message,
                               struct diag *d);
/* Let the default write the kernel's outputs again: another variant may have spoilt them. */
enum ws_status testbed_restore(struct testbed *t, int kernel, struct diag *d);
/* After device_is_lost, or when memory was spoilt: reset the device, and set everything up again.
 */
enum ws_status testbed_recover(struct testbed *t, struct diag *d);

#endif
