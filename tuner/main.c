/* main.c: the `warpsmith` command: a table of subcommands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/compare.h"
#include "reports/report.h"
#include "tuner/cache_command.h"
#include "tuner/commands.h"
#include "ws_tune.h"

/* COMMAND(name, function, what it is for) */
#define COMMANDS(COMMAND)                                                                          \
    COMMAND(bench, bench_command, "tune the kernels of a PyTorch file, and time it")               \
    COMMAND(run, run_command, "run a PyTorch file; check and save its outputs")                    \
    COMMAND(explain, explain_command, "graphs, guards and kernels of a PyTorch file")              \
    COMMAND(compile, compile_command, "source and binaries for any GPU; needs none")               \
    COMMAND(ops, ops_command, "the operators that are known, and what becomes of each")            \
    COMMAND(compare, compare_main, "two results against each other")                               \
    COMMAND(report, report_main, "tables, figures and HTML from results")                          \
    COMMAND(cache, cache_command, "look into what tuning has stored")

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
} commands[] = {
#define COMMAND(name, function, what) {#name, function, what},
    COMMANDS(COMMAND)
#undef COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_commands(FILE *out) {
    fputs("usage: warpsmith COMMAND ...\n\n", out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s%s\n", commands[i].name, commands[i].what);
    fputs("\nwarpsmith COMMAND --help says more.\n"
          "example: warpsmith bench workloads/softmax.py -D dim=8192\n",
          out);
}

/* The environment is part of every call. */
static enum ws_status check_environment(void) {
    struct arena *a = arena_new();
    struct env e = env_read(a);
    if (e.bad_log)
        fprintf(stderr, "warpsmith: WS_LOGS has no '%s'; it takes: %s\n", e.bad_log, log_names());
    enum ws_status s = e.bad_log ? WS_USAGE : WS_OK;
    arena_free(a);
    return s;
}

static int run_command_line(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    worker_main(argc - 1, argv + 1);
    if (!strcmp(name, "--help") || !strcmp(name, "help")) return print_commands(stdout), WS_OK;
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) != 0) continue;
        if (check_environment() != WS_OK) return WS_USAGE;
        return commands[i].run(argc - 1, argv + 1);
    }
    if (*name) fprintf(stderr, "warpsmith: no command '%s'\n\n", name);
    print_commands(stderr);
    return WS_USAGE;
}

int main(int argc, char **argv) {
    int status = run_command_line(argc, argv);
    if (fflush(stdout) != 0 && status == WS_OK) {
        perror("warpsmith: cannot write the output");
        status = WS_MACHINE;
    }
    exit(status);
}
