/* run_script.h: scripts under `warpsmith run` and `warpsmith explain`. */
#ifndef TUNER_RUN_SCRIPT_H
#define TUNER_RUN_SCRIPT_H

#include "tuner/machine.h"

/* explain: say at the end what was captured. */
enum ws_status run_script(const struct command_line *line, bool explain, struct arena *a,
                          struct diag *d);

/* The same of a workload whose graph breaks, in compiled segments, if that is what `broke` says and
 * the command line asks for nothing that takes one graph; else the status of `broke`. */
enum ws_status run_broken(const struct command_line *line, bool explain, struct diag *broke,
                          struct arena *a);

#endif
