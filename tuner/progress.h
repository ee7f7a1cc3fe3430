/* progress.h: a bar on a terminal, plain lines elsewhere, all on stderr.
 *
 *   softmax_0  [############..................]  48/120  best 33.9 us  x=1 warps=8 vec=8 */
#ifndef TUNER_PROGRESS_H
#define TUNER_PROGRESS_H

#include <stdbool.h>

struct progress {
    const char *what;
    int total, done;
    bool bar;
    double drawn_ms; /* when the bar was last drawn */
    int quarter;     /* of a plain run: last quarter said */
};

struct progress progress_start(const char *what, int total);
/* One more is done. detail: the rest of the line, "" if there is nothing to say. */
void progress_step(struct progress *p, const char *detail);
void progress_end(struct progress *p); /* removes the bar */

#endif
