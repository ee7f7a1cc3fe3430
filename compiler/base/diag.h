/* diag.h: one error, said once, where the user made it.
 *
 * Three kinds of failure (house rule 4): our bug aborts through WS_BUG with file:line; the user's
 * mistake and the world's failure are written into a struct diag and travel up as an enum
 * ws_status. The first error wins; later ones are consequences. Library code never prints and never
 * exits: main() prints diag_text(). */
#ifndef WS_BASE_DIAG_H
#define WS_BASE_DIAG_H

#include <stdbool.h>

#include "base/arena.h"

/* Also the exit codes of the command. */
enum ws_status {
    WS_OK = 0,
    WS_WRONG = 1,   /* the workload or its numbers are wrong */
    WS_USAGE = 2,   /* the call is wrong */
    WS_MACHINE = 3, /* the machine cannot do it */
    WS_SLOWER = 4,  /* slower than the baseline */
    WS_NOISY = 5,   /* too noisy to tell */
};

/* A text that errors can point into. */
struct source {
    const char *path;
    const char *text; /* 0-terminated */
    size_t len;
};

/* Half-open range of columns on one line; all 1-based, line 0 = unknown. Columns count bytes. */
struct span {
    uint32_t line, col, end_col;
};

/* The words of a line, from 1 on, without its indentation; line 0 if there is no such. */
struct span source_line(const struct source *src, uint32_t line);

struct diag {
    struct arena *arena;
    enum ws_status status; /* WS_OK until the first error */
    char *text;            /* complete message, several lines, ends in a newline; NULL until then */
    const char *message;   /* what it says, without the place */
};

struct diag diag_new(struct arena *a);

/* Record an error without a place. Returns the status, so `return diag_fail(...)` reads well. */
enum ws_status diag_fail(struct diag *d, enum ws_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Record an error at a place. What is of the program, names and the line, is made fit for a
 * terminal, and few lines are left of many (base/shown.h). The text becomes
 *     workloads/softmax.py:12:15: shape mismatch in add: [4, 8] and [4, 7]
 *         y = x + z
 *             ^^^^^
 * src may be NULL or span.line 0: then only what is known is printed. */
enum ws_status diag_fail_at(struct diag *d, enum ws_status s, const struct source *src,
                            struct span at, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Our own bug: says where and aborts. Never for anything a user or the machine can cause. */
#define WS_BUG(...) ws_bug(__FILE__, __LINE__, __VA_ARGS__)
#define WS_ASSERT(cond)                                                                            \
    do {                                                                                           \
        if (!(cond)) WS_BUG("assertion failed: %s", #cond);                                        \
    } while (0)
void ws_bug(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

/* The whole file in memory, or NULL with a diag (WS_USAGE if it does not exist). */
const struct source *source_read(struct arena *a, const char *path, struct diag *d);

#endif
