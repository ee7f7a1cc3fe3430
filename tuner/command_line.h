/* command_line.h: the arguments of bench, run, explain and compile.
 *
 *     warpsmith bench FILE --device cpu -D dim=1024,4096 --config "x=1 warps=8"
 *
 * One table (OPTIONS in command_line.c) names every option, says which commands take it and gives
 * its line of --help. */
#ifndef TUNER_COMMAND_LINE_H
#define TUNER_COMMAND_LINE_H

#include "ws.h"

enum command { BENCH = 1, RUN = 2, EXPLAIN = 4, COMPILE = 8 }; /* bits: who takes an option */

struct texts {
    const char **at;
    int n;
};

struct command_line {
    const char *file;
    const char *device, *arch; /* NULL: not given */
    const char *results, *dump, *save, *backend;
    struct texts axes;    /* "dim=1024,4096" as given */
    struct texts configs; /* "kernel: x=1" or "x=1" */
    bool cast;            /* --dtype was given */
    enum dtype dtype;
    enum ws_mode mode;
    enum ws_fusion fusion;
    bool check, explain, retune, no_search, profile, compare_searches, in_process, no_figures, help;
    int search;        /* enum search_strategy */
    double budget_s;   /* INFINITY: none */
    int budget_trials; /* of each kernel; INT_MAX: none */
    uint64_t seed;
    int samples_max;
    double limit_seconds, limit_memory_mb; /* of capturing and lowering; NAN: not given */
};

/* argv[0] is the command. WS_USAGE for whatever is wrong with the call itself, an unknown workload
 * file included: the message then lists the known ones beside it. With --help nothing else is
 * looked at. */
enum ws_status command_line_parse(enum command who, int argc, char **argv, struct arena *a,
                                  struct command_line *out, struct diag *d);

/* What work on its file may take: what was given, else by the environment, else what a workload or
 * a script gets (base/budget.h); no more than until the user interrupts. */
struct budget_limits command_line_limits(const struct command_line *line, bool script);

/* What --help prints: usage, the options of the command, one example. */
void command_line_help(enum command who, const char *usage, const char *example, struct buf *b);

/* Say on stderr why a command failed, after what it has said on stdout. */
void command_line_fail(const char *command, const struct diag *d);

#endif
