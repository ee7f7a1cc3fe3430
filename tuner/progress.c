/* progress.c: the bar is redrawn at most ten times a second; elsewhere each quarter is a line. */
#include "tuner/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "ws.h"

enum { WIDTH = 30 };
#define REDRAW_MS 100

static void draw(const struct progress *p, const char *detail) {
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++) bar[i] = i * p->total < p->done * WIDTH ? '#' : '.';
    bar[WIDTH] = 0;
    fprintf(stderr, "\r\033[K%.30s  [%s]  %d/%d  %.60s", p->what, bar, p->done, p->total, detail);
    fflush(stderr);
}

struct progress progress_start(const char *what, int total) {
    struct progress p = {.what = what, .total = total, .bar = isatty(2)};
    if (p.bar) draw(&p, "");
    return p;
}

void progress_step(struct progress *p, const char *detail) {
    p->done++;
    double now = clock_ms();
    if (p->bar && (now - p->drawn_ms > REDRAW_MS || p->done == p->total)) {
        draw(p, detail);
        p->drawn_ms = now;
    }
    int quarter = p->total > 0 ? 4 * p->done / p->total : 4;
    if (!p->bar && quarter > p->quarter && p->total >= 8) {
        fprintf(stderr, "%s: %d of %d  %s\n", p->what, p->done, p->total, detail);
        p->quarter = quarter;
    }
}

void progress_end(struct progress *p) {
    if (p->bar) fputs("\r\033[K", stderr);
    p->bar = false;
}
