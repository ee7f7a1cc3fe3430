/* progress.h: a bar on a terminal, plain lines elsewhere, all on stderr.
 *
 *   softmax_0 [######........] 18 of at most 64  size 3 of 10, 2 min left  best 33.9 us x=1 warps=8
 *
 * The line is as long as the terminal is wide. Escape sequences are for terminals that are not
 * "dumb" and users without NO_COLOR. */
#ifndef TUNER_PROGRESS_H
#define TUNER_PROGRESS_H

#include <stdbool.h>

/* What the bar is a part of. Zeros: it is all there is. */
struct progress_whole {
    bool plain;        /* no escape sequences */
    double started_ms; /* clock_ms */
    double before;     /* share of the whole that was done before the bar began, 0 to 1 */
    double share;      /* ... that the bar stands for */
    const char *where; /* "size 3 of 10"; NULL: nothing to say */
};

struct progress {
    const char *what;
    struct progress_whole whole;
    int most, done; /* most: it may end before */
    bool bar;
    double drawn_ms; /* when the bar was last drawn */
    int quarter;     /* of a plain run: last quarter said */
};

struct progress progress_start(const char *what, int most, struct progress_whole whole);
/* One more is done. detail: the rest of the line, "" if there is nothing to say. */
void progress_step(struct progress *p, const char *detail);
void progress_end(struct progress *p); /* removes the bar */

/* The line for a terminal of so many columns, at a time; no longer than that, in bytes. For tests.
 */
void progress_line(const struct progress *p, const char *detail, int columns, double now_ms,
                   char *line, int size);

#endif
