/* machine_test.h: the CPU as the tuner's machine, while a group's tests run. Included once, by the
 * test, whose main has open_cpu and close_cpu before and behind them. */
#ifndef MACHINE_TEST_H
#define MACHINE_TEST_H

#include <stdio.h>

#include "tuner/machine.h"

static struct machine machine;
static struct arena *machine_arena;

static int open_cpu(void **state) {
    machine_arena = arena_new();
    struct diag d = diag_new(machine_arena);
    if (machine_open("cpu", machine_arena, &machine, &d) == WS_OK) return 0;
    fputs(d.text, stderr);
    return 1;
}

static int close_cpu(void **state) {
    machine_close(&machine);
    arena_free(machine_arena);
    return 0;
}

#endif
