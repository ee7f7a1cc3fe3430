/* main.c: the `warpsmith` command. What can be typed is in commands.def. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tuner/command_line.h"
#include "ws_tune.h"

/* The environment is part of every call. */
static enum ws_status check_environment(struct arena *a, struct diag *d) {
    struct env e = env_read(a);
    if (!e.bad_log) return WS_OK;
    return diag_fail(d, WS_USAGE, "WS_LOGS has no '%s'; it takes: %s", e.bad_log, log_names());
}

static int run_command_line(int argc, char **argv) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct command_line line;
    command_function *run;
    const char *name, *text;
    int status = command_line_parse(argc, argv, a, &line, &run, &name, &text, &d);
    if (status == WS_OK && run) status = check_environment(a, &d);
    if (status != WS_OK) command_line_fail(name, &d);
    if (status == WS_OK && text) fputs(text, stdout);
    if (status == WS_OK && run) status = run(&line);
    arena_free(a);
    return status;
}

int main(int argc, char **argv) {
    worker_main(argc - 1, argv + 1);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error like a full disk, not a silent death */
    int status = run_command_line(argc, argv);
    bool failed = ferror(stdout); /* earlier, so that errno is another's by now */
    if ((fflush(stdout) != 0 || failed) && status == WS_OK) {
        if (failed)
            fputs("warpsmith: the output could not be written: a full disk or a closed pipe\n",
                  stderr);
        else
            perror("warpsmith: cannot write the output");
        status = WS_MACHINE;
    }
    exit(status);
}
