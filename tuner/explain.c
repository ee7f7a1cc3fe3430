/* explain.c: `warpsmith explain`: what was captured, under which guards, and which kernels it
 * becomes. Needs no device with --arch. */
#include <stdio.h>

#include "tuner/commands.h"
#include "tuner/machine.h"
#include "tuner/run_script.h"
#include "tuner/sweep.h"

static enum ws_status explain(const struct command_line *line, struct machine *m, struct arena *a,
                              struct diag *d) {
    struct sweep sweep;
    if (sweep_parse(&line->axes, a, &sweep, d) != WS_OK) return d->status;
    if (sweep.n_points > 1)
        return diag_fail(d, WS_USAGE, "explain takes one value an axis; bench sweeps");
    if (line->arch)
        machine_for_arch(line->arch, a, m, d);
    else
        machine_open(line->device, a, m, d);
    if (d->status != WS_OK) return d->status;
    struct stages stages = stages_new(a, line->dump, m->env.logs);
    struct ws_captured *c =
        capture_file(line, sweep_point(&sweep, 0, a), sweep.n_axes, a, &stages, d);
    struct ws_program *p = c ? ws_lower(c, &m->limits, line->fusion, &stages, d) : NULL;
    if (!p) return d->status;
    struct buf b = buf_new(a);
    ws_explain(c, p, &b);
    puts(m->why);
    fputs(b.p, stdout);
    return WS_OK;
}

int explain_command(int argc, char **argv) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct command_line line;
    struct machine m = {0};
    int status = command_line_parse(EXPLAIN, argc, argv, a, &line, &d);
    if (line.help) {
        struct buf b = buf_new(a);
        command_line_help(EXPLAIN, "explain FILE [options]",
                          "explain workloads/softmax.py --arch sm_90a", &b);
        fputs(b.p, stdout);
    } else {
        bool workload = status == WS_OK && script_is_workload(a, line.file);
        if (status == WS_OK)
            status = workload ? explain(&line, &m, a, &d) : run_script(&line, true, a, &d);
        if (status != WS_OK) command_line_fail("explain", &d);
        machine_close(&m);
    }
    arena_free(a);
    return status;
}
