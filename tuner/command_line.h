/* command_line.h: the arguments of every command.
 *
 *     warpsmith bench softmax --device cpu -D dim=1024,4096 --config "x=1 warps=8"
 *
 * One table, commands.def, names the commands and options; getopt_long reads them, so that options
 * may be shortened as long as that is unambiguous, and stand before or behind the operands. */
#ifndef TUNER_COMMAND_LINE_H
#define TUNER_COMMAND_LINE_H

#include "ws.h"

enum command_number {
#define COMMAND(id, ...) NUMBER_##id,
#include "tuner/commands.def"
#undef COMMAND
    N_COMMANDS
};

/* Bits: who takes an option. */
enum command {
#define COMMAND(id, ...) id = 1 << NUMBER_##id,
#include "tuner/commands.def"
#undef COMMAND
    WORKLOADS = BENCH | RUN | EXPLAIN | COMPILE,
    EVERY = (1 << N_COMMANDS) - 1,
};
_Static_assert(N_COMMANDS < 31, "a bit of enum command for each");

struct texts {
    const char **at;
    int n;
};

struct command_line {
    enum command command;
    struct texts operands;
    const char *file;          /* of WORKLOADS: where the named workload lies */
    const char *device, *arch; /* NULL: not given */
    const char *results, *dump, *save, *backend;
    const char *map;                /* of history import */
    struct texts base, now;         /* of compare */
    const char *out, *figure, *run; /* of report */
    const char *devices, *part;     /* of suite, as given */
    bool collect;
    struct texts axes;              /* "dim=1024,4096" as given */
    struct texts configs;           /* "kernel: x=1" or "x=1" */
    bool cast;                      /* --dtype was given */
    enum dtype dtype;
    bool precise; /* --precision was given, or by the environment */
    enum precision precision;
    enum ws_mode mode;
    enum ws_fusion fusion;
    bool weights_change; /* between calls */
    bool check, explain, retune, no_search, profile, compare_searches, in_process, no_figures, json,
        markdown, all, eval;
    int search;        /* enum search_strategy */
    double budget_s;   /* INFINITY: none */
    int budget_trials; /* of each kernel; INT_MAX: none */
    uint64_t seed;
    int samples_max;
    double threshold;                      /* relative */
    double older_than;                     /* days; -1: not given */
    double limit_seconds, limit_memory_mb; /* of capturing and lowering; NAN: not given */
};

typedef int command_function(const struct command_line *line);

/* Do what argv says, argv[0] being the program; returns the exit code. WS_USAGE for whatever is
 * wrong with the call itself, an unknown workload included: the message then lists the known ones.
 */
int command_line_run(int argc, char **argv);

/* The same words, read and checked, and nothing done. */
enum ws_status command_line_read(int argc, char **argv, struct arena *a, struct command_line *out,
                                 struct diag *d);

/* What work on its file may take: what was given, else by the environment, else what a workload or
 * a script gets (base/budget.h); no more than until the user interrupts. */
struct budget_limits command_line_limits(const struct command_line *line, bool script);

/* What was given and means nothing for such a file, a workload or a script, is a wrong call. A file
 * that does not parse counts as a workload until its error is said: ask about those afterwards. */
enum ws_status command_line_suits(const struct command_line *line, bool script, struct diag *d);

/* Say on stderr why a command failed, after what it has said on stdout. */
void command_line_fail(const char *command, const struct diag *d);

/* ---- command_help.c: texts from the table ---------------------------------------------------- */

void command_list(struct buf *b);                        /* every command, and what they share */
void command_help(struct buf *b, enum command_number c); /* one */
/* All that begin with these words: "cache"; nothing if none does. */
void command_help_words(struct buf *b, const char *words);

#endif
