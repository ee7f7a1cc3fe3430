/* stage.h: what happens at the end of every stage, in one place: its time is recorded, its IR
 * dumped if asked. Passes contain no dump and no timing code; compile.c verifies, then calls
 * stage_end. */
#ifndef WS_BASE_STAGE_H
#define WS_BASE_STAGE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"

enum { STAGE_MAX = 32 };

struct stages {
    struct arena *arena;
    const char *dump_dir; /* NULL: no dumps. Created if missing. */
    uint32_t logs;        /* bits of enum log_name that print to stderr */
    int n, n_dumps;
    struct {
        const char *name;
        double ms;
    } stage[STAGE_MAX];
    double last_ms, last_cpu_ms; /* clocks at the end of the last stage */
};

struct stages stages_new(struct arena *a, const char *dump_dir, uint32_t logs);

/* The stage `name` is over: record the time since the last end. WS_LOGS=stages says it, with the
 * CPU time of the process and of its children that have ended, and the process's largest size. */
void stage_end(struct stages *s, const char *name);

/* Under WS_LOGS=stages: "[stages] bench make_values: 12.3 ms", of what has begun then and is no
 * stage of the pipeline. */
void stage_log(uint32_t logs, const char *what, double begun_ms);

/* Write text to DIR/NN_name, numbered in call order, and to stderr if log bit `log` (-1: none) is
 * on. Returns WS_MACHINE with a diag if the file cannot be written. */
enum ws_status stage_dump(struct stages *s, const char *name, int log, const char *text,
                          struct diag *d);

double clock_ms(void); /* monotonic */

#endif
