/* progress.c: the bar is redrawn at most ten times a second; elsewhere each quarter is a line. */
#include "tuner/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ws.h"

enum {
    COLUMNS = 80, /* of a terminal that does not say */
    LONGEST = 512,
    WIDEST_BAR = 30,
    WIDEST_NAME = 30,
};
#define REDRAW_MS 100

/* Time left, if all of the whole takes as long as what is done has taken; NAN if too little is. */
static double seconds_left(const struct progress *p, double now_ms) {
    double share = p->whole.share > 0 ? p->whole.share : 1;
    double done = p->whole.before + share * p->done / (p->most > 0 ? p->most : 1);
    double spent = (now_ms - p->whole.started_ms) / 1e3;
    if (!(p->whole.started_ms > 0) || done < 0.02 || spent < 1) return NAN;
    return spent * (1 - done) / done;
}

/* "size 3 of 10, 2 min left  ", or "". */
static void put_whole(const struct progress *p, double now_ms, char *out, size_t size) {
    double s = seconds_left(p, now_ms);
    char left[32] = "";
    if (s >= 5400)
        snprintf(left, sizeof left, "%.1f h left", s / 3600);
    else if (s >= 90)
        snprintf(left, sizeof left, "%.0f min left", s / 60);
    else if (isfinite(s))
        snprintf(left, sizeof left, "%.0f s left", s);
    const char *where = p->whole.where ? p->whole.where : "";
    snprintf(out, size, "%s%s%s%s", where, *where && *left ? ", " : "", left,
             *where || *left ? "  " : "");
}

void progress_line(const struct progress *p, const char *detail, int columns, double now_ms,
                   char *line, int size) {
    char bar[WIDEST_BAR + 1], whole[96], count[48];
    put_whole(p, now_ms, whole, sizeof whole);
    snprintf(count, sizeof count, "%d of at most %d", p->done, p->most);
    int name = (int)strlen(p->what), wide = columns / 8;
    if (name > WIDEST_NAME) name = WIDEST_NAME;
    if (name > columns / 4) name = columns / 4;
    if (wide > WIDEST_BAR) wide = WIDEST_BAR;
    for (int i = 0; i < wide; i++) bar[i] = i * p->most < p->done * wide ? '#' : '.';
    bar[wide] = 0;
    if (size > columns) size = columns; /* the last column stays free: a full line would wrap */
    snprintf(line, (size_t)size, "%.*s [%s] %s  %s%s", name, p->what, bar, count, whole, detail);
}

static void draw(const struct progress *p, const char *detail, double now_ms) {
    char line[LONGEST];
    struct winsize w = {0};
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : COLUMNS;
    progress_line(p, detail, columns, now_ms, line, sizeof line);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
}

struct progress progress_start(const char *what, int most, struct progress_whole whole) {
    struct progress p = {
        .what = what, .whole = whole, .most = most, .bar = isatty(STDERR_FILENO) && !whole.plain};
    if (p.bar) draw(&p, "", clock_ms());
    return p;
}

void progress_step(struct progress *p, const char *detail) {
    p->done++;
    double now = clock_ms();
    if (p->bar && (now - p->drawn_ms > REDRAW_MS || p->done == p->most)) {
        draw(p, detail, now);
        p->drawn_ms = now;
    }
    int quarter = p->most > 0 ? 4 * p->done / p->most : 4;
    if (!p->bar && quarter > p->quarter && p->most >= 8) {
        char whole[96];
        put_whole(p, now, whole, sizeof whole);
        fprintf(stderr, "%s: %d of at most %d  %s%s\n", p->what, p->done, p->most, whole, detail);
        p->quarter = quarter;
    }
}

void progress_end(struct progress *p) {
    if (p->bar) fputs("\r\033[K", stderr);
    p->bar = false;
}
